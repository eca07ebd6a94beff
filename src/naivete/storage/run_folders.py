"""The folder of a run that can be resumed: one run at a time has it, and its files of packed data are whole or absent."""

from __future__ import annotations

import errno
import os
import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final, Self

from naivete.errors import FileError, ParameterError
from naivete.storage.atomic import atomic_write, file_error
from naivete.storage.container import SUM
from naivete.storage.plain import BOX, LIMITS, CheckpointError, check_magic, packed, unpacked

try:
    import fcntl

    _LOCKS: ModuleType | None = fcntl
except ImportError:  # pragma: no cover - a system without advisory locks
    _LOCKS = None

__all__ = ["ADVICE", "FolderLock", "RunFolder", "read_packed", "write_packed"]

ADVICE: Final = "use `restart=True` to begin again, or another folder"
"""What to do with a folder that cannot be resumed."""
_MADE: Final = "made the folder"
_NOTE: Final = re.compile(rf"\0*|([0-9]{{1,20}})\n({_MADE})?")
"""What a lock of ours holds; zeros are what a loss of power may leave."""
_ATTEMPTS: Final = 100


class RunFolder:
    """A folder that one run holds while it lives: a context, at whose beginning `_resume` takes over what an earlier run left.

    Parameters
    ----------
    folder : where; it is made if need be.
    fingerprint : plain data by name that has to be the same for a run to be resumed.
    restart : whether to begin again, whatever is in the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Mapping[str, object], *, restart: bool = False) -> None:
        self.folder = Path(folder)
        self._fingerprint: dict[str, Any] = unpacked(packed(dict(fingerprint)))
        self._restart = restart
        self._lock: FolderLock | None = None

    @abstractmethod
    def _resume(self) -> None:
        """Take over what an earlier run left."""

    def __enter__(self) -> Self:
        if self._lock is not None:
            raise ParameterError(f"{self.folder}: this checkpoint is in use; make another one")
        self._lock = FolderLock(self.folder)
        try:
            self._resume()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def write_packed(path: Path, parts: Iterable[bytes]) -> str:
    """Write the file, whole or not at all; its checksum comes back."""
    end = bytearray()

    def watched() -> Iterator[bytes]:
        for part in parts:
            end[:] = part[-SUM:]
            yield part

    try:
        atomic_write(path, watched())
    except FileError as error:
        ours = FileError(f"{error}; what was saved before is whole, and running the same again resumes from there")
        ours.errno = error.errno
        raise ours from error
    return end.hex()


def read_packed(path: Path) -> tuple[Any, str]:
    """The value in the file, and its checksum."""
    try:
        data = BOX.content(path, lambda start, where: check_magic(start, where, ADVICE), LIMITS.file_bytes)
    except FileError as error:
        if error.errno != errno.ENOENT:
            raise
        raise CheckpointError(f"{path}: the file is missing; {ADVICE}") from error
    return unpacked(data, str(path), advice=ADVICE), data[-SUM:].hex()


class FolderLock:
    """The lock of a folder, which is made if need be; `made` says whether this run, or one it resumes, made it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "lock"
        try:
            self._descriptor, self.made = self._taken()
        except FileError:
            raise
        except OSError as error:
            raise file_error(folder, "cannot hold checkpoints", error) from error
        except ValueError as error:  # a zero byte
            raise file_error(folder, "cannot hold checkpoints", OSError(str(error)), "give the name of a folder") from error

    def release(self) -> None:
        """Let the next run have the folder."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Remove the lock, and the folder if a run made it and it is empty now."""
        if _LOCKS is None:  # such systems do not remove an open file
            self.release()
        self.path.unlink(missing_ok=True)
        if self.made:
            with suppress(OSError):
                self.folder.rmdir()
        self.release()

    def _taken(self) -> tuple[int, bool]:
        """The open file, locked, and whether a run made the folder; once more where a run that ends removed either."""
        made = False
        for _ in range(_ATTEMPTS):
            made = _make(self.folder) or made
            note = _note(self.path)
            if note is None:
                advice = "use another folder, or remove the file if you do not need it"
                raise FileError(f"{self.path}: this file is not the lock of a run; {advice}")
            try:
                descriptor = _created(self.path) if _LOCKS is None else _locked(self.path, _LOCKS)
            except (FileNotFoundError, FileExistsError):
                continue
            except BlockingIOError as error:
                raise self._refusal() from error
            made = made or note[1] is not None
            return _signed(descriptor, made), made
        raise FileError(f"{self.path}: it keeps being replaced by other runs; use another folder")

    def _refusal(self) -> FileError:
        note = _note(self.path)
        holder = f"process {note[0]}" if note and note[0] else "a process that did not leave its number"
        advice = "wait until it ends or stop it, or use another folder"
        return FileError(f"{self.folder}: another run, {holder}, is using this folder for its checkpoints; {advice}")


def _make(folder: Path) -> bool:
    """Whether the folder had to be made."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is not a folder") from None
        return False
    return True


def _note(path: Path) -> tuple[str | None, str | None] | None:
    """What a lock says: the number of the process that took it last, and that a run made the folder; None of other files."""
    text = ""
    if path.is_file():
        with suppress(OSError), path.open("rb") as file:
            text = file.read(200).decode(errors="replace")
    found = _NOTE.fullmatch(text)
    return found and (found[1], found[2])


def _signed(descriptor: int, made: bool) -> int:
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n{_MADE if made else ''}".encode())
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _locked(path: Path, locks: ModuleType) -> int:
    """The open file, locked until it is closed or the process dies; an error where another process has it, or removed it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    try:
        locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            raise FileNotFoundError(errno.ENOENT, "the lock was removed before it was taken")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _created(path: Path) -> int:
    """The open file where there are no locks: such systems do not remove a file that a living process has open."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError as error:
        raise BlockingIOError(error.errno, "another run has it open") from error
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
