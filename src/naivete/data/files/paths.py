"""Files given by names, patterns and folders, and the columns given by folder names such as `year=2020`."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote

import numpy as np

from naivete.data.files.formats import Format, named_format
from naivete.data.files.opening import PathLike, display_name, open_file
from naivete.data.table import Column, Kind
from naivete.errors import DataError, FileError, ParameterError, quoted

__all__ = ["Constant", "DataFile", "constants_of", "found_files"]

_WHOLE: Final = re.compile(r"-?[1-9][0-9]{0,14}|0")
_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
Keys = Mapping[str, str]
"""Column names and values from the names of folders, such as `year=2020`."""


@dataclass(frozen=True)
class Constant:
    """A column with the same value in all rows of a file: a whole number or a text, None if missing."""

    name: str
    kind: Kind
    value: int | str | None

    def column(self, rows: int) -> Column:
        """Return the column with this number of rows.

        >>> Constant("year", "numeric", 2020).column(2)
        Column('year', int64, 2 rows: 2020, 2020)
        """
        if self.kind == "numeric":
            return Column(self.name, np.full(rows, np.nan if self.value is None else self.value))
        states = () if self.value is None else (self.value,)
        return Column(self.name, np.full(rows, len(states) - 1, np.int8), states, "nominal")


@dataclass(frozen=True)
class DataFile:
    """A file with its size and time of change when it was first opened.

    Parameters
    ----------
    path : the absolute path.
    title : the name of the file in messages.
    size : the number of bytes.
    mtime : the time of the last change, in nanoseconds.
    constants : the columns given by the names of its folders.
    """

    path: str
    title: str
    size: int
    mtime: int
    constants: tuple[Constant, ...] = ()

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file for reading; refuse it if it changed."""
        with open_file(self.path) as file:
            now = os.fstat(file.fileno())
            if (now.st_size, now.st_mtime_ns) != (self.size, self.mtime):
                raise FileError(f"{self.title}: the file changed since it was first opened; start again with the new file")
            yield file


def found_files(paths: PathLike | Sequence[PathLike], format: Format | None) -> list[tuple[Path, Keys]]:
    """Return the files with the columns that their folders give; refuse a file that is named twice."""
    sources = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not sources:
        raise ParameterError("no files are given; name at least one file, pattern or folder")
    files = [file for path in sources for file in _files_of(path, format)]
    seen: dict[str, str] = {}
    for path, _ in files:
        real = os.path.realpath(path)
        if real in seen:
            raise DataError(f"{display_name(path)}: the file is named twice, also as {seen[real]}; its rows would count twice")
        seen[real] = display_name(path)
    return files


def _files_of(path: PathLike, format: Format | None) -> list[tuple[Path, Keys]]:
    name = display_name(path)
    text = os.fsdecode(path)
    if "\0" in text:
        raise FileError(f"{name}: cannot be a file name: embedded null byte; check the name")
    if Path(text).is_dir():
        files = list(_below(Path(text), Path(text), format))
        if not files:
            raise FileError(f"{name}: the folder has no data files; end their names in .parquet, .csv or .arff, or pass `format=`")
        return files
    if Path(text).exists() or not glob.has_magic(text):
        return [(Path(text), {})]
    matches = sorted(glob.glob(text, recursive=True))  # noqa: PTH207 - the pattern may be absolute
    files = [(Path(match), {}) for match in matches if not Path(match).is_dir()]
    if not files:
        raise FileError(f"{name}: no file matches this pattern; check the folder and the pattern")
    return files


def _below(folder: Path, top: Path, format: Format | None) -> Iterator[tuple[Path, Keys]]:
    """Iterate over the data files below a folder in the order of their names."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"{display_name(folder)}: the folder cannot be read: {error.strerror}; check who may read it") from error
    for path in entries:
        if path.name.startswith((".", "_")):
            continue
        if path.is_dir():
            yield from _below(path, top, format)
        elif format is not None or named_format(path) is not None:
            yield path, _keys(path.relative_to(top).parts[:-1])


def _keys(folders: Sequence[str]) -> Keys:
    """Return the columns that the names of folders give.

    >>> _keys(["year=2020", "plain", "place=New%20York"])
    {'year': '2020', 'place': 'New York'}
    """
    pairs = (folder.partition("=") for folder in folders)
    return {unquote(key): unquote(value) for key, equals, value in pairs if key and equals}


def constants_of(files: Sequence[tuple[Path, Keys]], kinds: Mapping[str, Kind]) -> list[tuple[Constant, ...]]:
    """Return the columns that the folders give for each file: whole numbers if all files have whole numbers, else texts."""
    keys = tuple(files[0][1])
    for path, values in files:
        if set(values) != set(keys):
            problem = f"its folders give {quoted(list(values))}, those of {display_name(files[0][0])} give {quoted(list(keys))}"
            raise DataError(f"{display_name(path)}: {problem}; give all files folders of the same key=value names")
    kind_of = {key: _kind(key, files, kinds.get(key)) for key in keys}
    return [tuple(_constant(key, values[key], kind_of[key]) for key in keys) for _, values in files]


def _kind(key: str, files: Sequence[tuple[Path, Keys]], declared: Kind | None) -> Kind:
    text = next((path for path, values in files if values[key] != _NULL and not _WHOLE.fullmatch(values[key])), None)
    if declared == "numeric" and text is not None:
        raise DataError(
            f"{display_name(text)}: column {quoted(key)}: the name of the folder is not a whole number; declare it nominal"
        )
    return declared or ("numeric" if text is None else "nominal")


def _constant(key: str, value: str, kind: Kind) -> Constant:
    if value == _NULL:
        return Constant(key, kind, None)
    return Constant(key, kind, int(value) if kind == "numeric" else value)
