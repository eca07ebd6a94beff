"""What runs on a worker: the task that counts one part of the rows, and the task that merges the outcomes of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from naivete.cases.dask.outcomes import Failure, Outcome, first_failure
from naivete.cases.dask.progress import TOLD, Teller, collected
from naivete.data.files import Piece
from naivete.data.frames import table_of
from naivete.data.labelled_table import ColumnRoles, LabelledTable
from naivete.data.table import Table
from naivete.encoding.column_codes import matched_columns
from naivete.errors import NaiveteError
from naivete.variables import Variable

__all__ = ["Job", "counted", "given", "merged"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Job:
    """What every task of a pass has to know.

    Parameters
    ----------
    token : tells this pass from all others.
    function, merge : what is folded; without `merge` the values are listed.
    division : which columns are the class and the weight.
    rows : how many rows to decode at a time.
    only : the columns to read, None for all.
    names : the columns of a partition, in order; None for files, which are matched already.
    """

    token: str
    function: Callable[[LabelledTable], Any]
    merge: Callable[[Any, Any], Any] | None
    division: ColumnRoles
    rows: int
    only: frozenset[str] | None
    names: tuple[Any, ...] | None = None

    def folded(self, tables: Iterable[Table], tell: Callable[[int], None]) -> Any:
        """The value of some tables; None where they have no rows."""
        total: Any = None
        done = 0
        for table in tables:
            value = self.function(self.division.weighing(table))
            done += len(table)
            total = self._with(total, value)
            tell(done)
        return total

    def _with(self, total: Any, value: Any) -> Any:
        if self.merge is None:
            return [*(total or ()), value]
        return value if total is None else self.merge(total, value)


def given(value: T) -> T:
    """The task that hands a value to others."""
    return value


def counted(job: Job, at: int, source: Any) -> Outcome:
    """The task of one part: its rows read, divided and folded."""
    teller = Teller(job.token, at)
    with collected() as warned:
        try:
            value = job.folded(_tables(source, at, job), teller.reading)
        except (NaiveteError, MemoryError) as error:
            failure = Failure.of(at, error)
            teller.failed(failure)
            return Outcome(failure=failure, warned=tuple(warned()))
        teller.done()
        return Outcome(value, warned=tuple(warned()))


def _tables(source: Any, at: int, job: Job) -> Iterator[Table]:
    """The rows of a piece of a file, or of a partition of a data frame, some at a time."""
    if isinstance(source, Piece):
        yield from source.tables(rows=job.rows, only=job.only)
        return
    table = table_of(source, source=f"partition {at}")
    if job.names is not None:
        table = replace(table, columns=tuple(matched_columns(table, [Variable(name) for name in job.names])))
    for start in range(0, len(table), job.rows):
        yield table.take(slice(start, start + job.rows))


def merged(job: Job, at: int, outcomes: Sequence[Outcome]) -> Outcome:
    """The task that merges some outcomes, the first one of part `at`."""
    warned = tuple({(type(w), str(w)): w for own in outcomes for w in own.warned}.values())[:TOLD]
    failure = first_failure([own.failure for own in outcomes if own.failure is not None])
    if failure is not None:
        return Outcome(failure=failure, warned=warned)
    total: Any = None
    try:
        for own in outcomes:
            if own.value is not None:
                total = own.value if total is None else _merge_of(job)(total, own.value)
    except NaiveteError as error:
        return Outcome(failure=Failure.of(at, error), warned=warned)
    Teller(job.token, at).merged()
    return Outcome(total, warned=warned)


def _merge_of(job: Job) -> Callable[[Any, Any], Any]:
    assert job.merge is not None
    return job.merge
