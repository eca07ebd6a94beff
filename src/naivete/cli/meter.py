"""How many bytes of some files have been read, for progress where the number of rows is not known."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import BinaryIO

from naivete.data.files import Files
from naivete.data.files.paths import DataFile

__all__ = ["Meter"]

Watch = Callable[[str, BinaryIO], AbstractContextManager[None]]


@dataclass(frozen=True)
class _WatchedFile(DataFile):
    """A file for which `watch` is entered, with its path and the open file, as long as it is read."""

    watch: Watch = field(default=lambda _path, _file: nullcontext(), compare=False, repr=False)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file for reading; refuse a file that has changed."""
        with super().opened() as file, self.watch(self.path, file):
            yield file


class Meter:
    """The share of the bytes of some files that has been read in the current pass.

    Parameters
    ----------
    files : the files, in the order in which they are read.
    """

    def __init__(self, files: Files) -> None:
        self.size = files.size
        self._before: dict[str, int] = {}
        position = 0
        for file in files.files:
            self._before[file.path] = position
            position += file.size
        self._lock = threading.Lock()
        self._position = 0
        self._open: BinaryIO | None = None

    def watched(self, files: Files) -> Files:
        """Return the same files, which report to this meter when they are read."""

        def watch(file: DataFile) -> DataFile:
            return _WatchedFile(**{item.name: getattr(file, item.name) for item in fields(DataFile)}, watch=self.reading)

        return replace(files, pieces=tuple(replace(piece, file=watch(piece.file)) for piece in files.pieces))

    @contextmanager
    def reading(self, path: str, file: BinaryIO) -> Iterator[None]:
        """Measure the position in a file as long as it is read."""
        with self._lock:
            self._position, self._open = self._before[path], file
        try:
            yield
        finally:
            with self._lock:
                if self._open is file:
                    self._position, self._open = self._position + file.tell(), None

    def share(self) -> float:
        """Return the share of the bytes that has been read, from 0 to 1."""
        with self._lock:
            position = self._position + (self._open.tell() if self._open is not None else 0)
        return min(1.0, position / self.size) if self.size else 1.0
