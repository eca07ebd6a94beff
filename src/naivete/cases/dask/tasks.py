"""The graph of a pass, and the tasks in it: one that counts each part of the rows, one that reports on it, and merges of eight."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar

import dask

from naivete.cases.dask.clusters import ClusterError
from naivete.cases.dask.library import Library, library, other_library, worker_address
from naivete.data.files import Files, KindError, Piece
from naivete.data.frames import table_of
from naivete.data.labelled_table import ColumnRoles, LabelledTable
from naivete.data.table import Table
from naivete.encoding.column_codes import matched_columns
from naivete.errors import FileError, NaiveteError, ResourceError, collected_warnings
from naivete.variables import Variable

__all__ = ["FrameSource", "Graph", "Job", "Outcome", "Report", "merge_tasks", "part_tasks", "shared"]

T = TypeVar("T")
Graph = dict[Any, Any]

_FAN_IN: Final = 8
_WARNINGS: Final = 100
"""The most warnings of a pass that are kept."""


@dataclass(frozen=True, eq=False)
class Job:
    """The settings that all tasks of a pass share.

    Parameters
    ----------
    token : distinguishes this pass from all others.
    function, merge : what is folded; without `merge` the values are listed.
    roles : which columns are the class and the weight.
    rows : the number of rows to decode at a time.
    only : the columns to read, None for all.
    names : the columns of a partition, in order; None for files, whose columns are matched when they are read.
    library : the version of this library that submits the pass, which every worker that takes a task must have.
    """

    token: str
    function: Callable[[LabelledTable], Any]
    merge: Callable[[Any, Any], Any] | None
    roles: ColumnRoles
    rows: int
    only: frozenset[str] | None
    names: tuple[Any, ...] | None = None
    library: Library | None = None

    def key(self, task: str) -> str:
        """Return the key of a task of this pass."""
        return f"naivete-{task}-{self.token}"

    def merged(self, total: Any, value: Any) -> Any:
        """Return two values merged; None stands for no rows."""
        if total is None or value is None:
            return value if total is None else total
        return total + value if self.merge is None else self.merge(total, value)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of counting some parts.

    Parameters
    ----------
    value : the merged value; None where the parts have no rows.
    rows : the number of rows that were read.
    error : what was wrong with the first bad part.
    warnings : the warnings of this library.
    """

    value: Any = None
    rows: int = 0
    error: NaiveteError | None = None
    warnings: tuple[Warning, ...] = ()


class Report(NamedTuple):
    """The report on one part, which the client receives during the pass."""

    part: int
    rows: int
    error: NaiveteError | None


@dataclass(frozen=True, eq=False)
class FrameSource:
    """The partitions of a Dask DataFrame."""

    frame: Any
    title = "the Dask DataFrame"

    @property
    def names(self) -> tuple[Any, ...]:
        """The columns."""
        return tuple(self.frame.columns)

    @property
    def rows(self) -> None:
        """The number of rows, which is not known."""
        return

    def without(self, columns: Collection[Any]) -> FrameSource:
        """Return the partitions without these columns."""
        return FrameSource(self.frame[[name for name in self.names if name not in columns]]) if columns else self

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """Return the graph of the data frame, and the keys of some partitions."""
        whole = (first, stop) == (0, self.frame.npartitions)
        frame = (self.frame if whole else self.frame.partitions[first:stop]).optimize()  # dask.optimize mixed up columns in 2026.8
        return dict(frame.__dask_graph__()), list(frame.__dask_keys__())


def part_tasks(job: Job, source: Files | FrameSource, first: int, stop: int, cores: int = 0) -> tuple[Graph, list[Hashable]]:
    """Return the graph that counts some parts, and the keys of its tasks in order.

    Dask distributes many tasks over the workers, but sends a few to the worker that holds their input: so each of a few parts
    gets a copy of the job.
    """
    graph, parts = ({}, list(source.pieces[first:stop])) if isinstance(source, Files) else source.graph(first, stop)
    few = len(parts) <= 2 * cores
    graph[job.key("job")] = (_itself, job)
    keys: list[Hashable] = []
    for number, part in enumerate(parts, start=first):
        keys.append((job.key("part"), number))
        own_job = (job.key("own-job"), number) if few else job.key("job")
        if few:
            graph[own_job] = (_itself, job)
        graph[keys[-1]] = (_checked_count, own_job, number, part)
    return graph, keys


def merge_tasks(job: Job, keys: Sequence[Hashable]) -> tuple[Graph, list[Hashable], Hashable]:
    """Return the graph that merges these parts in a tree, the keys of the reports on the parts, and that of the whole."""
    graph: Graph = {(job.key("report"), number): (_report, number, key) for number, key in enumerate(keys)}
    reports, level, depth = list(graph), list(keys), 0
    while len(level) > 1:
        depth += 1
        groups = [level[i : i + _FAN_IN] for i in range(0, len(level), _FAN_IN)]
        level = [(job.key(f"merge-{depth}"), number) for number in range(len(groups))]
        graph |= {key: (_checked_merge, job.key("job"), group) for key, group in zip(level, groups, strict=True)}
    return graph, reports, level[0]


def shared(value: Any) -> Any:
    """Return the value as one task of the graph of a data frame, which is sent once; itself for versions before 2025.7."""
    old = tuple(map(int, dask.__version__.split(".")[:2])) < (2025, 7)
    return value if old else dask.delayed(value, traverse=False)


def _itself(value: T) -> T:
    return value


def _checked_count(job: Job, number: int, part: Any) -> Outcome:
    """Count one part, unless this worker has another version of the library.

    A version without this function, which would not compare, cannot read the task.
    """
    different = _other_library(job)
    return _count(job, number, part) if different is None else Outcome(error=different)


def _checked_merge(job: Job, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge some outcomes, unless this worker has another version of the library."""
    different = _other_library(job)
    return _merge(job, outcomes) if different is None else Outcome(error=different)


def _other_library(job: Job) -> ClusterError | None:
    """Return an error if this worker has another version of the library than the process that submitted the job."""
    if job.library is None or library() == job.library:
        return None
    return other_library(worker_address(), library(), job.library)


def _count(job: Job, number: int, part: Any) -> Outcome:
    """Count one part: read its rows and fold them."""
    value, rows = None, 0
    with collected_warnings() as warnings:
        try:
            for table in _tables(job, number, part):
                result = job.function(job.roles.divide_weighted(table))
                value, rows = job.merged(value, [result] if job.merge is None else result), rows + len(table)
        except (NaiveteError, MemoryError) as error:
            return Outcome(None, rows, _named(error, number), tuple(warnings[:_WARNINGS]))
    return Outcome(value, rows, None, tuple(warnings[:_WARNINGS]))


def _tables(job: Job, number: int, part: Any) -> Iterator[Table]:
    """Read a piece of a file, or a partition of a data frame, some rows at a time."""
    if isinstance(part, Piece):
        yield from part.tables(rows=job.rows, only=job.only)
        return
    table = table_of(part, source=f"partition {number}")
    if job.names is not None:
        table = replace(table, columns=tuple(matched_columns(table, [Variable(name) for name in job.names])))
    for start in range(0, len(table), job.rows):
        yield table.take(slice(start, start + job.rows))


def _named(error: NaiveteError | MemoryError, number: int) -> NaiveteError:
    """Return the error of a part as the caller should see it."""
    if not isinstance(error, NaiveteError):
        return ResourceError(f"a worker has no memory left for part {number}: {error}; let it read fewer rows (`memory=`)")
    if isinstance(error, FileError) and not isinstance(error, KindError):
        return FileError(f"{error}; the workers have to see the files as they are here")
    return error


def _report(number: int, outcome: Outcome) -> Report:
    return Report(number, outcome.rows, outcome.error)


def _merge(job: Job, outcomes: Sequence[Outcome]) -> Outcome:
    """Merge some outcomes; the first error is that of all of them."""
    rows = sum(outcome.rows for outcome in outcomes)
    distinct = {(type(w), str(w)): w for outcome in outcomes for w in outcome.warnings}
    warnings = tuple(distinct.values())[:_WARNINGS]
    error = next((outcome.error for outcome in outcomes if outcome.error is not None), None)
    if error is not None:
        return Outcome(None, rows, error, warnings)
    value = None
    try:
        for outcome in outcomes:
            value = job.merged(value, outcome.value)
    except NaiveteError as error:
        return Outcome(None, rows, error, warnings)
    return Outcome(value, rows, None, warnings)
