"""Writer of several tables into one file, so that predictions need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from naivete.data.files.formats import EXTENSIONS, Format, checked_format, named_format
from naivete.data.files.opening import PathLike, display_name
from naivete.data.files.parquet import write_row_groups
from naivete.data.files.writing import write_csv_rows
from naivete.data.table import Table
from naivete.errors import ParameterError

__all__ = ["chosen_format", "write_stream"]


def write_stream(
    tables: Iterable[Table], path: PathLike, *, format: Format | None = None, overwrite: bool = False, **options: Any
) -> int:
    """Write tables of the same columns one below the other into one file and return the number of rows.

    The file is written completely or not at all, also when the iterable raises an error. The nominal columns of the tables may
    have different states. In a Parquet file each table is a row group.

    Parameters
    ----------
    tables : at least one table; it may have no rows.
    path : the file; delimited text is gzipped if the name ends in .gz.
    format : "csv", "tsv" or "parquet"; by default by the ending of the name. ARFF is refused: its header needs all rows.
    overwrite : whether an existing file may be replaced.
    options : further parameters of `write_csv` or `write_parquet`.

    >>> import pathlib, tempfile, numpy as np
    >>> from naivete.data.table import Column
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "predictions.csv")
    ...     write_stream((Table((Column("n", np.arange(start, start + 2)),)) for start in (0, 2)), file)
    ...     file.read_text()
    4
    'n\\n0\\n1\\n2\\n3\\n'
    """
    chosen = chosen_format(path, format)
    if chosen == "arff":
        raise ParameterError(
            f"{display_name(path)}: the header of an ARFF file declares the values of all rows; write CSV or Parquet"
        )
    if chosen == "tsv":
        options.setdefault("delimiter", "\t")
    count = 0

    def counted() -> Iterator[Table]:
        nonlocal count
        for table in tables:
            count += len(table)
            yield table

    write_rows = write_row_groups if chosen == "parquet" else write_csv_rows
    write_rows(counted(), path, overwrite=overwrite, **options)
    return count


def chosen_format(path: PathLike, format: str | None) -> Format:
    """Return the format to write: the requested one, else by the ending of the file name."""
    chosen = checked_format(format) or named_format(path)
    if chosen is None:
        endings = ", ".join(EXTENSIONS)
        raise ParameterError(
            f"{display_name(path)}: the ending of the name is of no known format; end it in {endings}, or pass `format=`"
        )
    return chosen
