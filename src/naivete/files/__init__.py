"""Tables in files: ARFF, delimited text and Parquet, read and written."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Literal, cast

from naivete.atomic import atomic_write
from naivete.errors import ParameterError, nearest, shown
from naivete.files.arff import read_arff
from naivete.files.delimited import read_csv
from naivete.files.opening import Limits, PathLike, opened, title
from naivete.files.parquet import read_parquet, write_parquet
from naivete.files.tokens import BLANKS
from naivete.files.writing import write_arff, write_csv
from naivete.table import Kind, Table

__all__ = [
    "Format",
    "Limits",
    "atomic_write",
    "read",
    "read_arff",
    "read_csv",
    "read_parquet",
    "write",
    "write_arff",
    "write_csv",
    "write_parquet",
]

Format = Literal["arff", "csv", "tsv", "parquet"]

_EXTENSIONS: Final[Mapping[str, Format]] = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_FORMATS: Final = ("arff", "csv", "tsv", "parquet")
_WRITERS: Final[Mapping[Format, Callable[..., None]]] = {
    "arff": write_arff,
    "csv": write_csv,
    "tsv": write_csv,
    "parquet": write_parquet,
}
_START: Final = 1 << 16


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
    kinds : for delimited text, columns that are to be "nominal" or "numeric" whatever they look like.
    delimiter : for delimited text, what separates the cells.
    widen : for ARFF, whether nominal values that are not declared are added to the declaration.
    limits : how much is too much.
    """
    chosen = _checked(format) or _format_of(path)
    if chosen == "arff":
        return read_arff(path, encoding=encoding, widen=widen, limits=limits)
    if chosen == "parquet":
        return read_parquet(path, limits=limits)
    mark = delimiter or ("\t" if chosen == "tsv" else None)
    return read_csv(path, encoding=encoding, delimiter=mark, missing=missing, kinds=kinds, limits=limits)


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
    chosen = _checked(format) or _named(path)
    if chosen is None:
        endings = ", ".join(_EXTENSIONS)
        raise ParameterError(f"{title(path)}: the name does not tell the format; end it in {endings}, or pass format=")
    if chosen == "tsv":
        options.setdefault("delimiter", "\t")
    _WRITERS[chosen](table, path, overwrite=overwrite, **options)


def _checked(format: str | None) -> Format | None:
    if format is not None and format not in _FORMATS:
        hint = nearest(format, _FORMATS) or _FORMATS
        raise ParameterError(f"format={shown(format)} is unknown; use {' or '.join(map(repr, hint))}")
    return cast("Format | None", format)


def _named(path: PathLike) -> Format | None:
    name = os.fsdecode(path).lower().removesuffix(".gz")
    return next((format for ending, format in _EXTENSIONS.items() if name.endswith(ending)), None)


def _format_of(path: PathLike) -> Format:
    """What the content tells, then the name; delimited text where neither does."""
    start = _start(path)
    if start.startswith(b"PAR1"):
        return "parquet"
    return _named(path) or ("arff" if _is_arff(start) else "csv")


def _start(path: PathLike) -> bytes:
    with opened(path) as file:
        if file.read(2) != b"\x1f\x8b":
            file.seek(0)
            return file.read(_START)
        file.seek(0)
        try:
            return gzip.GzipFile(fileobj=file).read(_START)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return b""  # the reader will say what is wrong


def _is_arff(start: bytes) -> bool:
    lines = (line.strip(BLANKS).lower() for line in start.decode("latin-1").removeprefix("\xef\xbb\xbf").split("\n"))
    return next((line.startswith("@relation") for line in lines if line and not line.startswith("%")), False)
