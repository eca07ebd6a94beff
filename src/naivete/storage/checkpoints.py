"""Checkpoints of long runs: a run that was killed at any moment resumes, and gives the same result to the last bit.

A run is a fixed sequence of steps, each a pass over the rows with a growing value. Its folder holds

    lock              locked while a run lives; the number of its process, and whether a run made the folder
    checkpoint.nvc    packed: the fingerprint, the checksums of the finished steps, the position and value of the current one
    step-000.nvc      packed: the final value of the first step, and so on

Each file is whole or absent, and a step is written before the checkpoint that speaks of it, so that whatever checkpoint is
found after a crash can be trusted. Files of other names are left alone.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from naivete.errors import ParameterError, quoted
from naivete.storage.atomic import file_error, flush_folder, remove_abandoned
from naivete.storage.plain import CheckpointError, packed, pieces
from naivete.storage.run_folders import ADVICE, FolderLock, RunFolder, read_packed, write_packed

__all__ = ["Checkpoint", "CheckpointError", "Step"]

_NAME: Final = "checkpoint.nvc"
_STEP: Final = re.compile(r"step-[0-9]{3,9}\.nvc")
_FIELDS: Final = ("fingerprint", "finished", "partial")
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


class Checkpoint(RunFolder):
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
            raise ParameterError(f"every={quoted(every)} has to be a number of seconds, zero or more")
        if not all(type(name) is str for name in fingerprint):
            raise ParameterError("fingerprint: its names have to be texts")
        super().__init__(folder, fingerprint, restart=restart)
        self._every = every
        self._digests: list[str] = []
        self._pending: list[bytes] = []
        self._partial: tuple[Any, Any] | None = None
        self._asked = 0
        self._current: Step | None = None
        self._last = 0.0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._current = self._partial = None
        self._digests, self._pending = [], []
        super().__exit__(kind, error, traceback)

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

    def _alive(self) -> FolderLock:
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
        found = _checked(read_packed(path)[0], path)
        differing = _differences(found["fingerprint"], self._fingerprint)
        if differing:
            raise CheckpointError(f"{path}: it is of another run: {differing}; {ADVICE}")
        self._digests, self._partial = found["finished"], found["partial"]

    def _finished_value(self, number: int) -> Any:
        path = self._path(number)
        value, digest = read_packed(path)
        if digest != self._digests[number]:
            raise CheckpointError(f"{path}: it is not the file that {_NAME} speaks of; {ADVICE}")
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
        write_packed(self.folder / _NAME, pieces(content))
        self._last = time.monotonic()

    def _flush(self) -> None:
        while self._pending:
            self._store([self._pending[0]])
            del self._pending[0]

    def _store(self, parts: Iterable[bytes]) -> None:
        self._digests.append(write_packed(self._path(len(self._digests)), parts))

    def _path(self, number: int) -> Path:
        return self.folder / f"step-{number:03}.nvc"

    def _remove(self) -> None:
        """Remove the checkpoint, and only then the steps it speaks of."""
        steps = {path for path in self.folder.iterdir() if _STEP.fullmatch(path.name)} | set(map(self._path, range(self._asked)))
        for path in (self.folder / _NAME, *sorted(steps)):
            path.unlink(missing_ok=True)
            remove_abandoned(path)
            if path.name == _NAME:
                flush_folder(self.folder)


def _checked(found: Any, path: Path) -> dict[str, Any]:
    """The content of a checkpoint, which has to be what `Checkpoint._write` writes."""
    if type(found) is dict and tuple(found) == _FIELDS:
        fingerprint, finished, partial = found.values()
        whole = partial is None or (type(partial) is tuple and len(partial) == 2)
        lists = type(fingerprint) is dict and type(finished) is list
        if whole and lists and all(type(text) is str for text in (*fingerprint, *finished)):
            return found
    raise CheckpointError(f"{path}: it is packed data, but not a checkpoint; {ADVICE}")


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
        return quoted(value)
    except ValueError:  # Python does not write out very long integers
        return "a very long number"


@contextmanager
def _told(problem: str, advice: str) -> Iterator[None]:
    """Errors of the operating system as ours, with the name of the file."""
    try:
        yield
    except OSError as error:
        raise file_error(Path(error.filename or "."), problem, error, advice) from error
