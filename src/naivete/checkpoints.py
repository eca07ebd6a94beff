"""Checkpoints of long runs: a run that was killed at any moment resumes, and gives the same result to the last bit.

A run is a fixed sequence of steps, each a pass over the rows with a growing value. Its folder holds

    lock              locked while a run lives; the number of its process, and whether a run made the folder
    checkpoint.nvc    packed: the fingerprint, the checksums of the finished steps, the position and value of the current one
    step-000.nvc      packed: the final value of the first step, and so on

Each file is whole or absent, and a step is written before the checkpoint that speaks of it, so that whatever checkpoint is
found after a crash can be trusted. Files of other names are left alone.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Final

from naivete.atomic import _flush_folder, _remove_abandoned, atomic_write, file_error
from naivete.container import SUM
from naivete.errors import FileError, ParameterError, shown
from naivete.plain import BOX, LIMITS, CheckpointError, check_magic, packed, pieces, unpacked

try:
    import fcntl

    _LOCKS: ModuleType | None = fcntl
except ImportError:  # pragma: no cover - a system without advisory locks
    _LOCKS = None

__all__ = ["Checkpoint", "CheckpointError", "Step"]

_NAME: Final = "checkpoint.nvc"
_STEP: Final = re.compile(r"step-[0-9]{3,9}\.nvc")
_FIELDS: Final = ("fingerprint", "finished", "partial")
_ADVICE: Final = "use restart=True (--restart) to begin again, or another folder"
_MADE: Final = "made the folder"
_NOTE: Final = re.compile(rf"\0*|([0-9]{{1,20}})\n({_MADE})?")
"""What a lock of ours holds; zeros are what a loss of power may leave."""
_ATTEMPTS: Final = 100
_TOLD: Final = 5
"""How many differences a message names."""


class Step:
    """One pass: what is known of it from an earlier run, and where this run leaves what it knows.

    Attributes
    ----------
    done : whether the step was finished, so that there is nothing to do.
    position : where an unfinished step goes on, as it was given to `save` in an earlier run; None at the beginning.
    value : the final value of a finished step, what an unfinished one had at that position, or None at the beginning.
        The first `save` lets go of it, so that it does not take memory beside the value that grows.
    """

    def __init__(self, checkpoint: Checkpoint, *, done: bool = False, position: Any = None, value: Any = None) -> None:
        self._checkpoint = checkpoint
        self.done, self.position, self.value = done, position, value

    def save(self, position: object, value: object, *, force: bool = False) -> bool:
        """Write a checkpoint if it is time for one, and say whether it was.

        Parameters
        ----------
        position : plain data: what tells the next run where to go on.
        value : plain data: what the step knows up to that position.
        force : write it in any case.
        """
        self._checkpoint._expect(self)
        self.value = None
        if not (force or self._checkpoint._due()):
            return False
        self._checkpoint._write((position, value))
        return True

    def finish(self, value: object) -> None:
        """Keep the final value of the step: in the folder if it is time for a checkpoint, else with the next one."""
        self._checkpoint._expect(self)
        self._checkpoint._finish(value)
        self.done, self.position, self.value = True, None, value
        if self._checkpoint._due():
            self._checkpoint._write(None)


class Checkpoint:
    """The checkpoints of one run in a folder of their own: a context, in which the steps are asked for in order.

    Parameters
    ----------
    folder : where; it is made if need be. Two runs cannot use one folder at the same time.
    fingerprint : plain data by name that has to be the same for a run to be resumed: the names, sizes and times of the files,
        the schema, the parameters, the version.
    every : the seconds between two checkpoints, and so about the most work that is ever repeated.
    restart : whether to begin again, whatever is in the folder.

    >>> import tempfile
    >>> def total(folder, blocks, fails=None):
    ...     with Checkpoint(folder, {"blocks": len(blocks)}, every=0) as checkpoint:
    ...         step = checkpoint.step()
    ...         start, value = step.position or 0, step.value or 0
    ...         for i in range(start, len(blocks)):
    ...             if i == fails:
    ...                 raise KeyboardInterrupt
    ...             value += sum(blocks[i])
    ...             step.save(i + 1, value)
    ...         step.finish(value)
    ...         checkpoint.finished()
    ...         return start, value
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         total(folder, [[1, 2], [3], [4, 5]], fails=2)
    ...     except KeyboardInterrupt:
    ...         total(folder, [[1, 2], [3], [4, 5]])
    (2, 15)
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        fingerprint: Mapping[str, object],
        *,
        every: float = 30.0,
        restart: bool = False,
    ) -> None:
        if not every >= 0:
            raise ParameterError(f"every={shown(every)} has to be a number of seconds, zero or more")
        if not all(type(name) is str for name in fingerprint):
            raise ParameterError("fingerprint: its names have to be texts")
        self.folder = Path(folder)
        self._fingerprint: dict[str, Any] = unpacked(packed(dict(fingerprint)))
        self._every, self._restart = every, restart
        self._lock: _Lock | None = None
        self._digests: list[str] = []
        self._pending: list[bytes] = []
        self._partial: tuple[Any, Any] | None = None
        self._asked = 0
        self._current: Step | None = None
        self._last = 0.0

    def __enter__(self) -> Checkpoint:
        if self._lock is not None:
            raise ParameterError(f"{self.folder}: this checkpoint is in use; make another one")
        self._lock = _Lock(self.folder)
        try:
            self._resume()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._current = self._partial = None
        self._digests, self._pending = [], []
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def step(self) -> Step:
        """The next step, in the order of the run: done, begun, or new."""
        self._alive()
        if self._current is not None:
            raise ParameterError(f"{self.folder}: step {self._asked - 1} has to be finished before the next one is asked for")
        number, self._asked = self._asked, self._asked + 1
        if number < len(self._digests):
            return Step(self, done=True, value=self._finished_value(number))
        position, value = self._partial or (None, None)
        self._current, self._partial = Step(self, position=position, value=value), None
        return self._current

    def finished(self) -> None:
        """The run is complete: remove its files, and the folder if a run made it and nothing else is there."""
        lock = self._alive()
        with _told("cannot be removed", "the run is complete; remove it yourself"):
            self._remove()
            lock.remove()
        self.__exit__(None, None, None)

    def _alive(self) -> _Lock:
        if self._lock is None:
            raise ParameterError(f"{self.folder}: the checkpoint is used outside of its `with`, or after finished()")
        return self._lock

    def _expect(self, step: Step) -> None:
        self._alive()
        if step is not self._current:
            raise ParameterError(f"{self.folder}: the step is finished; ask for the next one with step()")

    def _due(self) -> bool:
        return time.monotonic() - self._last >= self._every

    def _resume(self) -> None:
        """Take over what an earlier run left."""
        self._asked, self._last = 0, time.monotonic()
        if self._restart:
            with _told("cannot be removed", "remove it yourself, or use another folder"):
                self._remove()
            return
        path = self.folder / _NAME
        if not os.path.lexists(path):
            return
        found = _checked(_read(path)[0], path)
        differing = _differences(found["fingerprint"], self._fingerprint)
        if differing:
            raise CheckpointError(f"{path}: it is of another run: {differing}; {_ADVICE}")
        self._digests, self._partial = found["finished"], found["partial"]

    def _finished_value(self, number: int) -> Any:
        path = self._path(number)
        value, digest = _read(path)
        if digest != self._digests[number]:
            raise CheckpointError(f"{path}: it is not the file that {_NAME} speaks of; {_ADVICE}")
        return value

    def _finish(self, value: object) -> None:
        """Keep the value where it cannot change: in its file, or packed until there is one."""
        if self._due():
            self._flush()
            self._store(pieces(value))
        else:
            self._pending.append(packed(value))
        self._current = None

    def _write(self, partial: tuple[object, object] | None) -> None:
        self._flush()
        content = {"fingerprint": self._fingerprint, "finished": self._digests, "partial": partial}
        _write(self.folder / _NAME, pieces(content))
        self._last = time.monotonic()

    def _flush(self) -> None:
        while self._pending:
            self._store([self._pending[0]])
            del self._pending[0]

    def _store(self, parts: Iterable[bytes]) -> None:
        self._digests.append(_write(self._path(len(self._digests)), parts))

    def _path(self, number: int) -> Path:
        return self.folder / f"step-{number:03}.nvc"

    def _remove(self) -> None:
        """Remove the checkpoint, and only then the steps it speaks of."""
        steps = {path for path in self.folder.iterdir() if _STEP.fullmatch(path.name)} | set(map(self._path, range(self._asked)))
        for path in (self.folder / _NAME, *sorted(steps)):
            path.unlink(missing_ok=True)
            _remove_abandoned(path)
            if path.name == _NAME:
                _flush_folder(self.folder)


def _write(path: Path, parts: Iterable[bytes]) -> str:
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


def _read(path: Path) -> tuple[Any, str]:
    """The value in the file, and its checksum."""
    try:
        data = BOX.content(path, lambda start, where: check_magic(start, where, _ADVICE), LIMITS.file_bytes)
    except FileError as error:
        if error.errno != errno.ENOENT:
            raise
        raise CheckpointError(f"{path}: the file is missing; {_ADVICE}") from error
    return unpacked(data, str(path), advice=_ADVICE), data[-SUM:].hex()


def _checked(found: Any, path: Path) -> dict[str, Any]:
    """The content of a checkpoint, which has to be what `Checkpoint._write` writes."""
    if type(found) is dict and tuple(found) == _FIELDS:
        fingerprint, finished, partial = found.values()
        whole = partial is None or (type(partial) is tuple and len(partial) == 2)
        lists = type(fingerprint) is dict and type(finished) is list
        if whole and lists and all(type(text) is str for text in (*fingerprint, *finished)):
            return found
    raise CheckpointError(f"{path}: it is packed data, but not a checkpoint; {_ADVICE}")


def _differences(old: dict[str, Any], new: dict[str, Any]) -> str:
    """The fields that differ, for a message; no text where all are equal."""
    names = [name for name in {**new, **old} if not _equal(old.get(name, _ABSENT), new.get(name, _ABSENT))]
    told = [_difference(_shown(name)[1:-1], old.get(name, _ABSENT), new.get(name, _ABSENT)) for name in names[:_TOLD]]
    return ", ".join(told) + (f", and {len(names) - _TOLD} more" if len(names) > _TOLD else "")


class _Absent:
    """Stands for a field that is not there."""

    def __repr__(self) -> str:
        return "absent"


_ABSENT: Final = _Absent()


def _equal(old: Any, new: Any) -> bool:
    return old is not _ABSENT and new is not _ABSENT and packed(old) == packed(new)


def _difference(name: str, old: Any, new: Any) -> str:
    """Where and how two values differ, as deep inside as both have the same form."""
    for key in _shared(old, new):
        if not _equal(old[key], new[key]):
            return _difference(f"{name}[{_shown(key)}]", old[key], new[key])
    return f"{name} was {_shown(old)} and is now {_shown(new)}"


def _shared(old: Any, new: Any) -> Iterable[Any]:
    """The keys or places that two dicts or lists have in common, if they have no others."""
    if type(old) is type(new) is dict and old.keys() == new.keys():
        return list(old)
    same = type(old) is type(new) and type(old) in (list, tuple) and len(old) == len(new)
    return range(len(old)) if same else ()


def _shown(value: object) -> str:
    try:
        return shown(value)
    except ValueError:  # Python does not write out very long integers
        return "a very long number"


@contextmanager
def _told(problem: str, advice: str) -> Iterator[None]:
    """Errors of the operating system as ours, with the name of the file."""
    try:
        yield
    except OSError as error:
        raise file_error(Path(error.filename or "."), problem, error, advice) from error


class _Lock:
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
