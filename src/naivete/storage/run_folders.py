"""The folder of a run that can be resumed: used by one process at a time, its files are complete or absent."""

from __future__ import annotations

import errno
import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from naivete.errors import FileError, ParameterError
from naivete.storage.atomic import atomic_write
from naivete.storage.differences import difference
from naivete.storage.locks import FolderLock
from naivete.storage.packed import PACKED, CheckpointError, packed, unpacked

__all__ = ["ADVICE", "RunFolder", "read_packed", "write_packed"]

ADVICE: Final = "use `restart=True` to begin again, or another folder"
"""What to do about a folder that cannot be resumed."""


class RunFolder:
    """A folder that is locked while a run uses it: a context manager that begins by loading what an earlier run left.

    Parameters
    ----------
    folder : the folder; it is made if it does not exist.
    fingerprint : plain values by name that have to be the same for a run to be resumed.
    restart : whether to begin again, whatever is in the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Mapping[str, object], *, restart: bool = False) -> None:
        self.folder = Path(folder)
        self.fingerprint: dict[str, Any] = unpacked(packed(dict(fingerprint)))
        self.restart = restart
        self._lock: FolderLock | None = None

    @abstractmethod
    def resume(self) -> None:
        """Load what an earlier run left."""

    def check_fingerprint(self, fingerprint: Mapping[str, Any], path: Path) -> None:
        """Raise a CheckpointError if the fingerprint of an earlier run differs from that of this one."""
        differing = difference(fingerprint, self.fingerprint)
        if differing:
            raise CheckpointError(f"{path}: it belongs to another run: {differing}; {ADVICE}")

    def __enter__(self) -> Self:
        if self._lock is not None:
            raise ParameterError(f"{self.folder}: this checkpoint is in use; make another one")
        self._lock = FolderLock(self.folder)
        try:
            self.resume()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def write_packed(path: Path, pieces: Iterable[bytes]) -> str:
    """Write a file of packed pieces, completely or not at all, and return its SHA-256."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for piece in pieces:
            digest.update(piece)
            yield piece

    try:
        atomic_write(path, hashed())
    except FileError as error:
        ours = FileError(f"{error}; what was saved before is complete, and running the same again resumes from there")
        ours.errno = error.errno
        raise ours from error
    return digest.hexdigest()


def read_packed(path: Path) -> tuple[Any, str]:
    """Return the value in a file, and the SHA-256 of the file."""
    try:
        data = PACKED.read(path, advice=ADVICE)
    except FileError as error:
        if error.errno != errno.ENOENT:
            raise
        raise CheckpointError(f"{path}: the file is missing; {ADVICE}") from error
    return unpacked(data, str(path), advice=ADVICE), hashlib.sha256(data).hexdigest()
