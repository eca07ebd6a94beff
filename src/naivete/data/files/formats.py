"""The format of a file: as requested, or by its content and the ending of its name."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Mapping
from typing import Final, Literal, cast

from naivete.data.files.arff_tokens import BLANKS
from naivete.data.files.opening import PathLike, open_file
from naivete.errors import ParameterError, close_matches, quoted

__all__ = ["EXTENSIONS", "Format", "checked_format", "format_of", "named_format"]

Format = Literal["arff", "csv", "tsv", "parquet"]

EXTENSIONS: Final[Mapping[str, Format]] = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_FORMATS: Final = ("arff", "csv", "tsv", "parquet")
_START: Final = 1 << 16


def checked_format(format: str | None) -> Format | None:
    """Return the format; refuse an unknown one."""
    if format is not None and format not in _FORMATS:
        hint = close_matches(format, _FORMATS) or _FORMATS
        raise ParameterError(f"format={quoted(format)} is unknown; use {' or '.join(map(repr, hint))}")
    return cast("Format | None", format)


def named_format(path: PathLike) -> Format | None:
    """Return the format by the ending of the file name, None if it has no known ending.

    >>> named_format("a.TSV.gz"), named_format("a.txt")
    ('tsv', None)
    """
    name = os.fsdecode(path).lower().removesuffix(".gz")
    return next((format for ending, format in EXTENSIONS.items() if name.endswith(ending)), None)


def format_of(path: PathLike) -> Format:
    """Return the format of a file: Parquet by its content, others by the ending of the name, else ARFF by its content, else CSV."""
    start = _start(path)
    if start.startswith(b"PAR1"):
        return "parquet"
    return named_format(path) or ("arff" if _is_arff(start) else "csv")


def _start(path: PathLike) -> bytes:
    with open_file(path) as file:
        if file.read(2) != b"\x1f\x8b":
            file.seek(0)
            return file.read(_START)
        file.seek(0)
        try:
            return gzip.GzipFile(fileobj=file).read(_START)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            return b""  # the reader reports the damage


def _is_arff(start: bytes) -> bool:
    lines = (line.strip(BLANKS).lower() for line in start.decode("latin-1").removeprefix("\xef\xbb\xbf").split("\n"))
    return next((line.startswith("@relation") for line in lines if line and not line.startswith("%")), False)
