"""Tables in files: ARFF, delimited text and Parquet, read and written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from naivete.data.files.arff import read_arff
from naivete.data.files.delimited import read_csv
from naivete.data.files.formats import EXTENSIONS, Format, checked_format, format_of
from naivete.data.files.opening import Limits, PathLike
from naivete.data.files.options import checked_kinds, declared, kinds_given
from naivete.data.files.parquet import read_parquet, write_parquet
from naivete.data.files.pieces import Files, Piece, pieces
from naivete.data.files.row_groups import arrow_tables
from naivete.data.files.streaming import chosen_format, write_stream
from naivete.data.files.text_columns import KindError
from naivete.data.files.writing import write_arff, write_csv
from naivete.data.table import Kind, Table
from naivete.storage.atomic import atomic_write

__all__ = [
    "Files",
    "Format",
    "KindError",
    "Limits",
    "Piece",
    "arrow_tables",
    "atomic_write",
    "pieces",
    "read",
    "read_arff",
    "read_csv",
    "read_parquet",
    "write",
    "write_arff",
    "write_csv",
    "write_parquet",
    "write_stream",
]

_EXTENSIONS: Final = EXTENSIONS
_WRITERS: Final[Mapping[Format, Callable[..., None]]] = {
    "arff": write_arff,
    "csv": write_csv,
    "tsv": write_csv,
    "parquet": write_parquet,
}


def read(
    path: PathLike,
    *,
    format: Format | None = None,
    encoding: str = "utf-8",
    missing: Collection[str] = ("",),
    kinds: Mapping[str, Kind] | None = None,
    delimiter: str | None = None,
    widen: bool = False,
    limits: Limits = Limits(),  # noqa: B008
) -> Table:
    """The table of a file; gzipped text is decompressed.

    Parameters
    ----------
    path : the file.
    format : "arff", "csv", "tsv" or "parquet"; by default what the file begins with if that tells, else what its name ends in.
    encoding : how the characters of a text file are written.
    missing : for delimited text, the texts that stand for a missing value.
    kinds : columns that are to be "nominal" or "numeric" whatever they look like, or are declared to be.
    delimiter : for delimited text, what separates the cells.
    widen : for ARFF, whether nominal values that are not declared are added to the declaration.
    limits : how much is too much.
    """
    told = kinds_given(kinds)
    chosen = checked_format(format) or format_of(path)
    if chosen in ("csv", "tsv"):
        mark = delimiter or ("\t" if chosen == "tsv" else None)
        return read_csv(path, encoding=encoding, delimiter=mark, missing=missing, kinds=told, limits=limits)
    arff = chosen == "arff"
    table = read_arff(path, encoding=encoding, widen=widen, limits=limits) if arff else read_parquet(path, limits=limits)
    return declared(table, checked_kinds(told, [str(name) for name in table.names], table.source))


def write(table: Table, path: PathLike, *, format: Format | None = None, overwrite: bool = False, **options: Any) -> None:
    """Write the table in the format that the name of the file ends in; the file appears whole or not at all.

    Parameters
    ----------
    table : the table.
    path : the file; .gz at its end compresses ARFF and delimited text.
    format : "arff", "csv", "tsv" or "parquet", if the name does not say it.
    overwrite : whether an existing file may be replaced.
    options : what `write_arff`, `write_csv` or `write_parquet` takes.
    """
    chosen = chosen_format(path, format)
    if chosen == "tsv":
        options.setdefault("delimiter", "\t")
    _WRITERS[chosen](table, path, overwrite=overwrite, **options)
