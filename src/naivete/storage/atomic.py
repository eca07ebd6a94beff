"""Files that are complete or absent: written under a temporary name beside the target, flushed, then renamed."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from naivete.errors import FileError, ParameterError, quoted

if TYPE_CHECKING:
    from pathlib import Path

try:
    import fcntl

    _LOCKS: ModuleType | None = fcntl
except ImportError:  # pragma: no cover - a system without advisory locks
    _LOCKS = None

__all__ = ["atomic_write", "file_error", "file_name", "flush_folder", "remove_abandoned"]

_UNTOUCHED: Final = "the file was left as it was"
_ADVICE: Final = {
    errno.ENOSPC: "free some space and try again",
    errno.EDQUOT: "free some of your quota and try again",
    errno.EACCES: "choose a file and a folder you may use",
    errno.EPERM: "choose a file and a folder you may use",
    errno.EROFS: "choose a folder that is not read-only",
    errno.ENOENT: "check the name, and that the folder exists",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder; give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its symbolic links form a loop",
    errno.EINVAL: "give the name of a regular file",
}
_OLD: Final = 3600.0
"""Seconds after which a temporary file counts as abandoned on a system without file locks."""


def atomic_write(path: Path, data: bytes | Iterable[bytes], *, overwrite: bool = True) -> None:
    """Write a file so that any reader, at any time and after any crash, finds the complete old or the complete new content.

    A failure leaves the old file as it was. Temporary files of a killed process are removed by the next save of that file.
    A symbolic link is followed; the permissions of an existing file are kept.

    Parameters
    ----------
    path : the file; its folder has to exist.
    data : the content, at once or in pieces.
    overwrite : whether an existing file may be replaced.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder, "a.bin"), [b"ab", b"cd"])
    ...     Path(folder, "a.bin").read_bytes()
    b'abcd'
    """
    try:
        target = _resolved(path)
        mode = _mode(target, overwrite)
        remove_abandoned(target)
        _save(target, [data] if isinstance(data, bytes) else data, mode, overwrite)
    except FileError:
        raise
    except FileExistsError as error:
        advice = "choose another name, or allow overwriting with `overwrite=True`"
        raise file_error(path, "exists already", error, advice) from error
    except OSError as error:
        raise file_error(path, "cannot be written", error) from error


def file_name(path: Any) -> str:
    """Return the name of a file as text; anything but text and paths is refused.

    >>> file_name(b"model.nvt")
    'model.nvt'
    """
    try:
        return os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"path={quoted(path)}: the name of a file is needed, as text or a path") from None


def file_error(path: str | os.PathLike[str], problem: str, error: OSError, advice: str | None = None) -> FileError:
    """Return an error of the operating system as a FileError: the file, the problem, the reason and the next step.

    >>> file_error("a.nvt", "cannot be written", OSError(errno.ENOSPC, "No space left on device"))
    FileError('a.nvt: cannot be written: No space left on device; free some space and try again')
    """
    todo = advice or _ADVICE.get(error.errno or 0, _UNTOUCHED)
    ours = FileError(f"{path}: {problem}: {error.strerror or error}; {todo}")
    ours.errno = error.errno
    return ours


def _resolved(path: Path) -> Path:
    try:
        from pathlib import Path

        return Path(path).resolve()
    except (ValueError, RuntimeError) as error:  # a zero byte, or a loop of links
        raise OSError(errno.EINVAL, str(error)) from error


def _mode(target: Path, overwrite: bool) -> int | None:
    """The permissions of the file to be replaced, None if there is none; an error if it must not be replaced."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "not a regular file")
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "overwriting was not allowed")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is read-only")
    return stat.S_IMODE(mode)


def _save(target: Path, pieces: Iterable[bytes], mode: int | None, overwrite: bool) -> None:
    with _temporary(target) as (file, temporary):
        if mode is not None and stat.S_IMODE(temporary.stat().st_mode) != mode:
            temporary.chmod(mode)
        for piece in pieces:
            _write(file, piece)
        os.fsync(file.fileno())
        if _LOCKS is None:  # such systems do not rename an open file
            file.close()
        _rename(temporary, target, overwrite)
    flush_folder(target.parent)


def _write(file: FileIO, piece: bytes) -> None:
    left = memoryview(piece)
    while left:
        left = left[file.write(left) :]


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[FileIO, Path]]:
    """A new file beside the target, locked while it is open, and removed afterwards in any case."""
    file, temporary = _created(target)
    try:
        yield file, temporary
    finally:
        _discard(file, temporary)


def _created(target: Path) -> tuple[FileIO, Path]:
    while True:
        temporary = target.with_name(f"{_prefix(target)}{os.urandom(8).hex()}.tmp")
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        file = os.fdopen(descriptor, "wb", buffering=0)
        try:
            if _held(file, temporary):
                return file, temporary
        except OSError:
            _discard(file, temporary)
            raise
        file.close()  # another save removed it as abandoned before it was locked: try again


def _held(file: FileIO, temporary: Path) -> bool:
    """Lock the new file, and return False if it was removed before that."""
    if _LOCKS is not None:
        with suppress(OSError):  # a file system without locks, where nothing is removed as abandoned either
            _LOCKS.flock(file.fileno(), _LOCKS.LOCK_EX)
    try:
        return os.path.samestat(os.fstat(file.fileno()), temporary.stat())
    except FileNotFoundError:
        return False


def _discard(file: FileIO, temporary: Path) -> None:
    with suppress(OSError):
        file.close()
    with suppress(OSError):
        temporary.unlink()


def _prefix(target: Path) -> str:
    """How the names of the temporary files of a target begin: short whatever the length of its name."""
    import hashlib

    return f".nvt-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _rename(temporary: Path, target: Path, overwrite: bool) -> None:
    if overwrite:
        temporary.replace(target)
        return
    try:
        target.hardlink_to(temporary)  # fails, in one step, if the file has appeared meanwhile
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _mode(target, overwrite)
        temporary.replace(target)


def flush_folder(folder: Path) -> None:
    """Flush new and removed names of a folder to disk; if that is impossible, a crash may bring back the old complete files."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_abandoned(target: Path) -> None:
    """Remove the temporary files of this target whose processes have ended; errors are ignored, as they do not prevent saving."""
    prefix = _prefix(target)
    with suppress(OSError):
        for other in list(target.parent.iterdir()):
            if other.name.startswith(prefix) and other.name.endswith(".tmp"):
                _remove_if_abandoned(other)


def _remove_if_abandoned(temporary: Path) -> None:
    with suppress(OSError):
        if _LOCKS is None:
            if time.time() - temporary.stat().st_mtime > _OLD:
                temporary.unlink()
            return
        with temporary.open("rb") as file:
            _LOCKS.flock(file.fileno(), _LOCKS.LOCK_EX | _LOCKS.LOCK_NB)  # fails while the process runs
            temporary.unlink()
