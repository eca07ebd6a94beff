"""Files of cases that tell somebody when they are opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from typing import BinaryIO

from naivete.data.files.paths import DataFile

__all__ = ["watched"]

Watch = Callable[[str, BinaryIO], AbstractContextManager[None]]


@dataclass(frozen=True)
class _Watched(DataFile):
    """A file that is read in the sight of `watch`."""

    watch: Watch = field(default=lambda _path, _file: nullcontext(), compare=False, repr=False)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file opened for reading; refuse one that is not as it was."""
        with super().opened() as file, self.watch(self.path, file):
            yield file


def watched(file: DataFile, watch: Watch) -> DataFile:
    """The same file; `watch` is entered with its path and the open file as long as it is read."""
    return _Watched(**{own.name: getattr(file, own.name) for own in fields(DataFile)}, watch=watch)
