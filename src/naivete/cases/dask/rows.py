"""Rows on a cluster: each pass is a graph that the workers count and merge, so that only tables travel."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import dask
from distributed import Client, Future

from naivete.cases.dask.events import Watch, Watches
from naivete.cases.dask.graphs import FileParts, FrameSource, Parts, fold_graph, tree
from naivete.cases.dask.tasks import Job
from naivete.cases.dask.waiting import Wait, abandon, cores_of, submitted
from naivete.cases.files import ROWS, Progress
from naivete.data.files import Files, KindError
from naivete.data.labelled_table import ColumnRoles, LabelledTable
from naivete.errors import DataError, ParameterError, quoted
from naivete.storage.checkpoints import Checkpoint

__all__ = ["DEADLINE", "DaskRows"]

T = TypeVar("T")

DEADLINE: Final = 300.0
"""The most seconds without progress, unless Dask's configuration says otherwise under `naivete.deadline`."""


@dataclass(eq=False)
class DaskRows:
    """Rows that the workers of a cluster read and count, in every pass anew.

    Parameters
    ----------
    source : the files, which every worker has to see under the same names, or the partitions of a Dask DataFrame.
    division : which columns are the class and the weight.
    client : the connection to the cluster.
    rows : how many rows a worker decodes at a time.
    checkpoint : where finished passes are saved, if anywhere.
    progress : told how far a pass has come.
    deadline : the most seconds without progress; by default what Dask's configuration has under `naivete.deadline`, or 300.
    """

    source: Files | FrameSource
    division: ColumnRoles
    client: Client
    rows: int = ROWS
    checkpoint: Checkpoint | None = None
    progress: Progress | None = None
    deadline: float | None = None
    passes: int = field(default=0, init=False)
    texts: frozenset[str] = field(default=frozenset(), init=False)

    def __post_init__(self) -> None:
        if isinstance(self.source, FrameSource):
            self.source = self.source.without(self.division.ignore)

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """The function's value for some rows at a time, in order; a bounded number of parts is under way at any time."""
        self.passes += 1
        job, parts = self._job(function, None), self._parts
        window = 2 * max(1, cores_of(self.client) or 1)
        with self._waiting(job, parts) as wait:
            waiting: deque[Future] = deque()
            try:
                for first in range(0, len(parts) + window, window):
                    if first < len(parts):
                        waiting += submitted(self.client, *fold_graph(job, parts, first, min(first + window, len(parts))))
                    while waiting and (len(waiting) > window or first >= len(parts)):
                        yield from wait.value(waiting[0]) or ()
                        waiting.popleft().release()
            finally:
                abandon(self.client, waiting)

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all rows, merged on the workers."""
        self.passes += 1
        step = self.checkpoint.step() if self.checkpoint is not None else None
        if step is not None and step.value is not None:
            total, texts = step.value
            self._widen(texts)
            if step.done:
                return total  # type: ignore[no-any-return]
        try:
            total = self._folded(function, merge)
        except Exception:
            raise
        except BaseException:  # asked to end: the passes before this one are worth keeping
            if step is not None:
                step.save([0, 0], (None, sorted(self.texts)), force=True)
            raise
        if step is not None:
            step.finish((total, sorted(self.texts)))
        return total  # type: ignore[no-any-return]

    def finished(self) -> None:
        """The work is done: there is nothing to go on with."""
        if self.checkpoint is not None:
            self.checkpoint.finished()

    def _folded(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> Any:
        while True:
            try:
                value = self._whole(self._job(function, merge))
            except KindError as error:  # a column that looked like numbers is text: once more from the beginning
                if self.texts >= error.columns:
                    raise
                self._widen(error.columns)
                continue
            if value is None:
                raise DataError("the cases have no rows; there is nothing to learn from")
            return value

    def _whole(self, job: Job) -> Any:
        """The value of a pass in one graph; None where there are no rows."""
        parts = self._parts
        if not len(parts):
            return None
        graph, keys = fold_graph(job, parts, 0, len(parts), cores_of(self.client) or 0)
        above, last = tree(job, keys)
        with self._waiting(job, parts) as wait:
            futures = submitted(self.client, {**graph, **above}, [last])
            try:
                return wait.value(futures[0])
            finally:
                abandon(self.client, futures)

    @contextmanager
    def _waiting(self, job: Job, parts: Parts) -> Iterator[Wait]:
        """A wait for the tasks of this pass, which hears what the workers say."""
        watch = Watch(job.token, len(parts), parts.rows)
        with Watches.listening(self.client, watch):
            yield Wait(self.client, watch, self._patience, self.passes, self.progress)

    def _job(self, function: Callable[[LabelledTable], Any], merge: Callable[[Any, Any], Any] | None) -> Job:
        only = frozenset(self.source.names).difference(self.division.ignore) if isinstance(self.source, Files) else None
        names = None if isinstance(self.source, Files) else self.source.names
        return Job(uuid.uuid4().hex, function, merge, replace(self.division, ignore=()), self.rows, only, names)

    @property
    def _parts(self) -> Parts:
        return FileParts(self.source) if isinstance(self.source, Files) else self.source

    @property
    def _patience(self) -> float:
        told = dask.config.get("naivete.deadline", DEADLINE) if self.deadline is None else self.deadline
        try:
            return float(told)
        except (TypeError, ValueError):
            raise ParameterError(f"naivete.deadline={quoted(told)} in Dask's configuration: a number of seconds") from None

    def _widen(self, columns: Collection[str]) -> None:
        """Take these columns as text from now on, in every pass."""
        if columns and isinstance(self.source, Files):
            self.source = self.source.widened(columns)
            self.texts |= set(columns)
