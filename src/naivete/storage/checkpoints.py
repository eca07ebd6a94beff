"""Checkpoints of long runs: a run that was killed at any moment can be resumed, and gives the same result to the last bit.

A run is a fixed sequence of steps, each of which is a pass over the rows that accumulates a value. Its folder holds

    lock              locked while a run uses the folder; the number of its process, and whether a run made the folder
    checkpoint.nvc    the fingerprint, the checksums of the finished steps, the position and value of the current one
    step-000.nvc      the final value of the first step, and so on

The .nvc files are archives of packed values. Each is complete or absent, and a step is written before the checkpoint that lists
it, so that any checkpoint that is there after a crash is valid. Files of other names are left alone.
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
from naivete.storage.locks import FolderLock
from naivete.storage.packed import CheckpointError, packed, pieces
from naivete.storage.run_folders import ADVICE, RunFolder, read_packed, write_packed

__all__ = ["Checkpoint", "CheckpointError", "Step"]

_NAME: Final = "checkpoint.nvc"
_STEP: Final = re.compile(r"step-[0-9]{3,9}\.nvc")
_FIELDS: Final = ("fingerprint", "finished", "partial")


class Step:
    """One pass over the rows: its state in an earlier run, and the methods that save its state in this run.

    Attributes
    ----------
    done : whether the step is finished, so that there is nothing to do.
    position : where an unfinished step continues, as it was passed to `save` in an earlier run; None at the beginning.
    value : the final value of a finished step, that of an unfinished one at `position`, or None at the beginning. The first
        `save` sets it to None, so that it does not take memory beside the value that grows.
    """

    def __init__(self, checkpoint: Checkpoint, *, done: bool = False, position: Any = None, value: Any = None) -> None:
        self._checkpoint = checkpoint
        self.done, self.position, self.value = done, position, value

    def save(self, position: object, value: object, *, force: bool = False) -> bool:
        """Write a checkpoint if it is time for one, and return whether it was written.

        Parameters
        ----------
        position : plain values: where the next run continues.
        value : plain values: what the step has accumulated up to that position.
        force : whether to write it in any case.
        """
        self._checkpoint._expect(self)
        self.value = None
        if not (force or self._checkpoint._due()):
            return False
        self._checkpoint._write((position, value))
        return True

    def finish(self, value: object) -> None:
        """Save the final value of the step: now if it is time for a checkpoint, otherwise with the next checkpoint."""
        self._checkpoint._expect(self)
        self._checkpoint._finish(value)
        self.done, self.position, self.value = True, None, value
        if self._checkpoint._due():
            self._checkpoint._write(None)


class Checkpoint(RunFolder):
    """The checkpoints of one run in a folder of their own: a context manager in which `step` returns the steps in order.

    Parameters
    ----------
    folder : the folder; it is made if it does not exist. Two runs cannot use one folder at the same time.
    fingerprint : plain values by name that have to be the same for a run to be resumed: the names, sizes and times of the
        files, the schema, the parameters, the version.
    every : the seconds between two checkpoints, and so about the most work that is repeated.
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
            raise ParameterError("fingerprint: its names have to be strings")
        super().__init__(folder, fingerprint, restart=restart)
        self._every = every
        self._digests: list[str] = []
        self._pending: list[bytes] = []
        self._partial: tuple[Any, Any] | None = None
        self._steps = 0
        self._current: Step | None = None
        self._last = 0.0

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._current = self._partial = None
        self._digests, self._pending = [], []
        super().__exit__(kind, error, traceback)

    def step(self) -> Step:
        """Return the next step in the order of the run: finished, begun or new."""
        self._alive()
        if self._current is not None:
            raise ParameterError(f"{self.folder}: step {self._steps - 1} has to be finished before the next one begins")
        number, self._steps = self._steps, self._steps + 1
        if number < len(self._digests):
            return Step(self, done=True, value=self._finished_value(number))
        position, value = self._partial or (None, None)
        self._current, self._partial = Step(self, position=position, value=value), None
        return self._current

    def finished(self) -> None:
        """Remove the files of the complete run, and the folder if a run made it and nothing else is there."""
        lock = self._alive()
        with _named_errors("cannot be removed", "the run is complete; remove it yourself"):
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

    def resume(self) -> None:
        """Load what an earlier run left."""
        self._steps, self._last = 0, time.monotonic()
        if self.restart:
            with _named_errors("cannot be removed", "remove it yourself, or use another folder"):
                self._remove()
            return
        path = self.folder / _NAME
        if not os.path.lexists(path):
            return
        fingerprint, self._digests, self._partial = _checked(read_packed(path)[0], path)
        self.check_fingerprint(fingerprint, path)

    def _finished_value(self, number: int) -> Any:
        path = self._path(number)
        value, digest = read_packed(path)
        if digest != self._digests[number]:
            raise CheckpointError(f"{path}: it is not the file that {_NAME} lists; {ADVICE}")
        return value

    def _finish(self, value: object) -> None:
        """Keep the value where it cannot change: in its file, or packed until the file is written."""
        if self._due():
            self._flush()
            self._store(pieces(value))
        else:
            self._pending.append(packed(value))
        self._current = None

    def _write(self, partial: tuple[object, object] | None) -> None:
        self._flush()
        content = {"fingerprint": self.fingerprint, "finished": self._digests, "partial": partial}
        write_packed(self.folder / _NAME, pieces(content))
        self._last = time.monotonic()

    def _flush(self) -> None:
        while self._pending:
            self._store([self._pending[0]])
            del self._pending[0]

    def _store(self, contents: Iterable[bytes]) -> None:
        self._digests.append(write_packed(self._path(len(self._digests)), contents))

    def _path(self, number: int) -> Path:
        return self.folder / f"step-{number:03}.nvc"

    def _remove(self) -> None:
        """Remove the checkpoint, and only then the steps that it lists."""
        steps = {path for path in self.folder.iterdir() if _STEP.fullmatch(path.name)} | set(map(self._path, range(self._steps)))
        for path in (self.folder / _NAME, *sorted(steps)):
            path.unlink(missing_ok=True)
            remove_abandoned(path)
            if path.name == _NAME:
                flush_folder(self.folder)


def _checked(content: Any, path: Path) -> tuple[dict[str, Any], list[str], tuple[Any, Any] | None]:
    """The fingerprint, finished steps and unfinished step of a checkpoint, as `Checkpoint._write` writes them."""
    if type(content) is dict and tuple(content) == _FIELDS:
        fingerprint, finished, partial = content.values()
        lists = type(fingerprint) is dict and type(finished) is list
        if lists and all(type(text) is str for text in (*fingerprint, *finished)) and (partial is None or _is_pair(partial)):
            return fingerprint, finished, partial
    raise CheckpointError(f"{path}: it holds packed values, but not a checkpoint; {ADVICE}")


def _is_pair(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2


@contextmanager
def _named_errors(problem: str, advice: str) -> Iterator[None]:
    """Raise errors of the operating system as errors of this library, with the name of the file."""
    try:
        yield
    except OSError as error:
        raise file_error(Path(error.filename or "."), problem, error, advice) from error
