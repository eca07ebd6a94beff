"""The lock of a folder that only one process at a time may use."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Final

from naivete.errors import FileError
from naivete.storage.atomic import file_error

try:
    import fcntl

    _LOCKS: ModuleType | None = fcntl
except ImportError:  # pragma: no cover - a system without advisory locks
    _LOCKS = None

__all__ = ["FolderLock"]

_MADE: Final = "made the folder"
_NOTE: Final = re.compile(rf"(?:([0-9]{{1,20}})\n({_MADE})?)?\0*")
"""The content of a lock file: the process that holds it, and whether a run made the folder; zeros after a power failure."""
_ATTEMPTS: Final = 100


class FolderLock:
    """A locked file in a folder; the folder is made if it does not exist.

    Attributes
    ----------
    made : whether this run, or the one that it resumes, made the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "lock"
        try:
            self._descriptor, self.made = self._taken()
        except FileError:
            raise
        except OSError as error:
            raise file_error(folder, "cannot hold checkpoints", error) from error
        except ValueError as error:  # a zero byte in the name
            raise file_error(folder, "cannot hold checkpoints", OSError(str(error)), "give the name of a folder") from error

    def release(self) -> None:
        """Unlock the folder."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Remove the lock, and the folder if a run made it and it is empty now.

        The empty folder stays if a run is killed just after it made the folder, or just before it removes it.
        """
        if _LOCKS is None:  # such systems do not remove an open file
            self.release()
        self.path.unlink(missing_ok=True)
        if self.made:
            with suppress(OSError):
                self.folder.rmdir()
        self.release()

    def _taken(self) -> tuple[int, bool]:
        """The open and locked file, and whether a run made the folder; tried again if a run that ends removes either."""
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
        holder = f"process {int(note[0])}" if note and note[0] else "a process of unknown number"
        advice = "wait until it ends or stop it, or use another folder"
        return FileError(f"{self.folder}: another run, {holder}, is using this folder for its checkpoints; {advice}")


def _make(folder: Path) -> bool:
    """Make the folder if it does not exist, and return whether it had to be made."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is not a folder") from None
        return False
    return True


def _note(path: Path) -> tuple[str | None, str | None] | None:
    """The content of a lock file: the process that took it last, and that a run made the folder; None for any other file."""
    text = ""
    if path.is_file():
        with suppress(OSError), path.open("rb") as file:
            text = file.read(200).decode(errors="replace")
    match = _NOTE.fullmatch(text)
    return match and (match[1], match[2])


def _signed(descriptor: int, made: bool) -> int:
    """Write the note over the one of an earlier run; it is never shorter, so that a kill at any moment leaves a complete note."""
    note = f"{os.getpid():020}\n{_MADE if made else ''}".encode()
    try:
        os.write(descriptor, note)
        os.ftruncate(descriptor, len(note))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _locked(path: Path, locks: ModuleType) -> int:
    """Open and lock the file until it is closed or the process ends; an error if another process holds or removed it."""
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
    """Create and open the file on a system without locks, which does not remove a file that another process has open."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError as error:
        raise BlockingIOError(error.errno, "another run has it open") from error
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
