"""Tables in files: ARFF, delimited text and Parquet, read and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from naivete.data.files.arff import read_arff
from naivete.data.files.delimited import read_csv
from naivete.data.files.formats import Format, checked_format, format_of
from naivete.data.files.opening import Limits, PathLike, reported_reading
from naivete.data.files.options import checked_kinds, declared, kinds_given
from naivete.data.files.parquet import read_parquet, write_parquet
from naivete.data.files.pieces import Files, Piece, pieces
from naivete.data.files.row_groups import arrow_tables
from naivete.data.files.streaming import chosen_format, write_stream
from naivete.data.files.text_columns import KindError, difference_from_text
from naivete.data.files.writing import write_arff, write_csv
from naivete.data.frames import is_frame, table_of
from naivete.data.table import Kind, Table
from naivete.storage.atomic import atomic_write, file_name

__all__ = [
    "Files",
    "Format",
    "KindError",
    "Limits",
    "Piece",
    "arrow_tables",
    "atomic_write",
    "difference_from_text",
    "format_of",
    "pieces",
    "read",
    "read_arff",
    "read_csv",
    "read_parquet",
    "reported_reading",
    "write",
    "write_arff",
    "write_csv",
    "write_parquet",
    "write_stream",
]

_WRITERS: Final[Mapping[Format, Callable[..., None]]] = {
    "arff": write_arff,
    "csv": write_csv,
    "tsv": write_csv,
    "parquet": write_parquet,
}


def read(
    path: Any,
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = ("",),
    kinds: Mapping[str, Kind] | None = None,
    delimiter: str | None = None,
    widen: bool = False,
    limits: Limits = Limits(),  # noqa: B008
) -> Table:
    """Read the table of a file or of a data frame; gzipped text is decompressed.

    Parameters
    ----------
    path : str, path-like or data frame
        The file; or a data frame (pandas, polars, pyarrow), for which only `kinds` has a meaning.
    format : {"arff", "csv", "tsv", "parquet"} or None, default=None
        The format of the file; by default Parquet is recognized by its content, other formats by the ending of the name, and ARFF
        without such an ending by its content; otherwise the file is delimited text.
    encoding : str, default="utf-8"
        The character encoding of a text file.
    missing : collection of str, default=("",)
        For delimited text, the texts that stand for a missing value.
    kinds : dict of {str: {"nominal", "numeric"}} or None, default=None
        Columns to treat as "nominal" or "numeric", whatever their values or their declaration.
    delimiter : str or None, default=None
        For delimited text, the character between the cells; by default it is derived from the text.
    widen : bool, default=False
        For ARFF, whether nominal values that are not declared are added to the declaration.
    limits : Limits, default=Limits()
        Sizes above which a file is refused.

    Returns
    -------
    Table
        The columns, with the names of the header.

    Raises
    ------
    FileError
        If the file cannot be opened or decompressed.
    DataError
        If the content is not valid; the message names the line.

    Warns
    -----
    MixedColumnWarning
        If nearly all values of a column of text are numbers, or at least half of them and the others are usual signs of a missing
        value, such as `?` and `NA`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "weather.csv")
    ...     _ = path.write_text("sky,wind,play\\nsun,5,yes\\nrain,,no\\n")
    ...     table = read(path)
    >>> table.shape, list(table["wind"])
    ((2, 3), [5.0, None])
    """
    declared_kinds = kinds_given(kinds)
    if not isinstance(path, (str, os.PathLike)) and is_frame(path):
        table = table_of(path, source="frame")
        return declared(table, checked_kinds(declared_kinds, [str(name) for name in table.names], table.source))
    chosen = checked_format(format) or format_of(path)
    if chosen in ("csv", "tsv"):
        mark = delimiter or ("\t" if chosen == "tsv" else None)
        return read_csv(path, encoding=encoding, delimiter=mark, missing=missing, kinds=declared_kinds, limits=limits)
    arff = chosen == "arff"
    table = read_arff(path, encoding=encoding, widen=widen, limits=limits) if arff else read_parquet(path, limits=limits)
    return declared(table, checked_kinds(declared_kinds, [str(name) for name in table.names], table.source))


def write(table: Any, path: PathLike, *, format: Format | None = None, overwrite: bool = False, **options: Any) -> None:
    """Write the table in the format given by the ending of the file name; the file is written completely or not at all.

    Parameters
    ----------
    table : Table, data frame, array-like, dict or list of dict
        The table, or what `table_of` makes a table of.
    path : str or path-like
        The file; .gz at its end compresses ARFF and delimited text.
    format : {"arff", "csv", "tsv", "parquet"} or None, default=None
        The format, if the name does not have such an ending.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    **options : object
        The options of the format. Delimited text: `delimiter`; `missing`, the text that stands for a missing value (""); and
        `spreadsheet_safe`, whether to put an apostrophe before texts that a spreadsheet would read as a formula (False). ARFF:
        `relation`, the name of the relation. Both: `as_text`, whether values that are not texts are converted to texts (False).

    Raises
    ------
    FileError
        If the file cannot be written, or exists and `overwrite` is False.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from naivete import read, table_of, write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(table_of({"sky": "sun", "wind": 5}), Path(folder, "weather.csv"))
    ...     print(read(Path(folder, "weather.csv")).names)
    ('sky', 'wind')
    """
    chosen = chosen_format(file_name(path), format)
    if chosen == "tsv":
        options.setdefault("delimiter", "\t")
    _WRITERS[chosen](table_of(table, source="table"), path, overwrite=overwrite, **options)
