"""Rows that the workers of a Dask cluster read and count: each pass is one graph of tasks, with a deadline for progress."""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, TypeVar

import dask
import distributed
from distributed import Client, Future
from distributed.comm import CommClosedError

from naivete.cases.dask.clusters import ClusterError
from naivete.cases.dask.library import check_workers, library
from naivete.cases.dask.tasks import FrameSource, Graph, Job, Outcome, Report, merge_tasks, part_tasks
from naivete.cases.files import START, Position, RepeatedRows
from naivete.data.files import Files, KindError
from naivete.data.labelled_table import LabelledTable
from naivete.errors import DataError, NaiveteError, ParameterError, quoted, warn
from naivete.storage.checkpoints import Step

__all__ = ["DEADLINE", "WORKERS_DEADLINE", "DaskRows"]

T = TypeVar("T")

DEADLINE: Final = 300.0
"""The most seconds in which no task finishes, unless Dask's configuration has another value under `naivete.deadline`."""
WORKERS_DEADLINE: Final = 120.0
"""The most seconds without any worker after the last one was lost, unless Dask's configuration has `naivete.workers-deadline`."""
_TICK: Final = 0.1
_LOOK: Final = 2.0
"""The seconds between two questions to the scheduler how many workers there are, while no task finishes."""


@dataclass(eq=False)
class DaskRows(RepeatedRows):
    """Rows that the workers of a cluster read and count in every pass; finished passes are saved in the checkpoint.

    Parameters
    ----------
    source : the files, which every worker has to see under the same names, or the partitions of a Dask DataFrame.
    roles, rows, checkpoint, progress : as for `RepeatedRows`.
    client : the connection to the cluster.
    deadline : the most seconds in which no task finishes; by default Dask's setting `naivete.deadline`, or 300.
    workers_deadline : the most seconds without any worker after the last one was lost; by default Dask's setting
        `naivete.workers-deadline`, or 120.
    """

    source: Files | FrameSource
    client: Client = field(kw_only=True)
    deadline: float | None = None
    workers_deadline: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.source, FrameSource):
            self.source = self.source.without(self.roles.ignore)

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """Return the function's value for some rows at a time, in order; a limited number of parts is submitted at a time."""
        self.passes += 1
        job, wait = self._job(function, None), self._wait()
        window = 2 * max(1, _cores(self.client) or 1)
        futures: list[Future] = []
        try:
            for part in range(wait.parts):
                if part + window > len(futures) and len(futures) < wait.parts:
                    futures += _submitted(self.client, *part_tasks(job, self.source, len(futures), len(futures) + window))
                yield from wait.value(futures[part]) or ()
                futures[part].release()
        finally:
            _cancel(self.client, futures)

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all rows, merged on the workers."""
        return self.run_pass(partial(self._folded, function, merge))  # type: ignore[no-any-return]

    def _folded(self, function: Any, merge: Any, position: Position, total: Any, step: Step | None) -> Any:  # noqa: ARG002
        """Return the value of a whole pass; on a cluster, a pass that was interrupted starts again."""
        try:
            value = self._merged(self._job(function, merge)) if self._parts else None
        except Exception:
            raise
        except BaseException:  # interrupted: save the passes before this one
            self._save(step, START, None, force=True)
            raise
        if value is None:
            raise DataError("the cases have no rows; there is nothing to learn from")
        return value

    def _merged(self, job: Job) -> Any:
        """Return the value of a pass in one graph; None where there are no rows."""
        wait = self._wait()
        graph, parts = part_tasks(job, self.source, 0, wait.parts, _cores(self.client) or 0)
        merges, reports, last = merge_tasks(job, parts)
        futures = _submitted(self.client, {**graph, **merges}, [last, *reports])
        try:
            wait.for_reports(futures[1:])
            return wait.value(futures[0])
        finally:
            _cancel(self.client, futures)

    def _wait(self) -> _Wait:
        deadline = _seconds("naivete.deadline", DEADLINE) if self.deadline is None else self.deadline
        workers_deadline = self.workers_deadline
        if workers_deadline is None:
            workers_deadline = _seconds("naivete.workers-deadline", WORKERS_DEADLINE)
        return _Wait(self, deadline, workers_deadline, self._workers, self._parts)

    def _job(self, function: Callable[[LabelledTable], Any], merge: Callable[[Any, Any], Any] | None) -> Job:
        names = None if isinstance(self.source, Files) else self.source.names
        roles = replace(self.roles, ignore=())
        return Job(uuid.uuid4().hex, function, merge, roles, self.rows, self.columns, names, library())

    @cached_property
    def _workers(self) -> _Workers:
        check_workers(self.client)
        return _Workers(self.client)

    @property
    def _parts(self) -> int:
        return len(self.source.pieces) if isinstance(self.source, Files) else int(self.source.frame.npartitions)


def _seconds(name: str, default: float) -> float:
    """Return a number of seconds in Dask's configuration."""
    value = dask.config.get(name, default)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={quoted(value)} in Dask's configuration: a number of seconds") from None


def _submitted(client: Client, graph: Graph, keys: list[Hashable]) -> list[Future]:
    """Submit a graph, and return the futures of these keys."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # the tables of a large model
        return list(client.get(graph, keys, sync=False, retries=0))


def _cancel(client: Client, futures: Sequence[Future]) -> None:
    """Cancel the tasks that still have to run; a cluster that is lost has nothing to cancel."""
    with suppress(Exception):
        pending = [future for future in futures if future.status == "pending"]
        if pending and client.status == "running":
            client.sync(client._cancel, pending, callback_timeout=5)


def _cores(client: Client) -> int | None:
    """Return the number of threads of all workers; None where the scheduler does not answer."""
    threads = _answer(client, "ncores")
    return None if threads is None else int(sum(threads.values()))


def _answer(client: Client, question: str) -> Any:
    """Return what the scheduler says about its workers, by worker; None where it does not answer."""
    with suppress(Exception):
        if client.status == "running":
            return client.sync(getattr(client.scheduler, question), callback_timeout=5)
    return None


@dataclass(eq=False)
class _Wait:
    """The wait for the tasks of one pass.

    Parameters
    ----------
    owner : the rows.
    deadline : the wait ends with an error when no task finishes for this many seconds.
    workers_deadline : it ends, too, when there was a worker and there has been none for this many seconds.
    workers : whether there are workers.
    parts : the number of parts of the pass.
    """

    owner: DaskRows
    deadline: float
    workers_deadline: float
    workers: _Workers
    parts: int
    reports: dict[int, Report] = field(default_factory=dict)
    warned: set[tuple[type, str]] = field(default_factory=set)

    def for_reports(self, futures: Sequence[Future]) -> None:
        """Wait for the reports on all parts; the error of the first bad part is raised once all parts before it are counted."""
        first_unknown = 0
        for finished in self._finished(futures):
            self.reports |= {report.part: report for report in self._fetched(finished)}
            if self.owner.progress is not None:
                rows = sum(report.rows for report in self.reports.values())
                self.owner.progress(self.owner.passes, rows, self.owner.source.rows)
            while first_unknown in self.reports:
                if self.reports[first_unknown].error is not None:
                    raise self._error(first_unknown)
                first_unknown += 1

    def value(self, future: Future) -> Any:
        """Wait for the value of a task; an error in the data is raised, and each warning of a pass is issued once."""
        outcome: Outcome = next(self._fetched(finished)[0] for finished in self._finished([future]))
        for warning in outcome.warnings:
            if (type(warning), str(warning)) not in self.warned:
                self.warned.add((type(warning), str(warning)))
                warn(warning)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _error(self, part: int) -> NaiveteError:
        """Return the error of a part; where columns hold text, with the columns of all parts that were counted."""
        error = self.reports[part].error
        assert error is not None
        if not isinstance(error, KindError):
            return error
        others = [report.error.columns for report in self.reports.values() if isinstance(report.error, KindError)]
        return KindError(error.message, frozenset().union(*others))

    def _finished(self, futures: Sequence[Future]) -> Iterator[list[Future]]:
        """Yield the futures as they finish, those that finished at the same time together."""
        ready: queue.SimpleQueue[Future] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(ready.put)
        waiting, last = len(futures), time.monotonic()
        self.workers.seen()
        while waiting:
            finished = _drained(ready)
            if finished:
                yield finished
                waiting, last = waiting - len(finished), time.monotonic()
                self.workers.seen()
            else:
                self._check(last)

    def _check(self, last: float) -> None:
        """Raise an error if there is no hope that a task will finish, or if none has finished since long before."""
        if self.owner.client.status in ("closing", "closed"):
            raise self._lost("the connection to the cluster was lost")
        if time.monotonic() - last > self.deadline:
            raise self._stalled()
        if self.workers.lost(self.workers_deadline):
            problem = f"all workers were lost, and no other has come for {self.workers_deadline:g} seconds"
            raise self._lost(problem, _ADVICE.format("naivete.workers-deadline"))

    def _fetched(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks that are finished."""
        if any(future.status == "cancelled" for future in futures):
            raise self._lost("the cluster dropped the work")
        try:
            return self._gathered(futures)
        except distributed.KilledWorker as error:
            problem = f"one task ended every worker that took it, perhaps for lack of memory: {error}"
            raise self._lost(problem, "give the workers more memory, or let them read fewer rows at a time (`memory=`)") from error
        except (distributed.TimeoutError, TimeoutError) as error:
            raise self._stalled() from error
        except (concurrent.futures.CancelledError, asyncio.CancelledError) as error:
            raise self._lost("the cluster dropped the work") from error
        except CommClosedError as error:
            raise self._lost(f"the connection to the cluster was lost: {error}") from error
        except (ImportError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "deserialization" not in str(error):
                raise
            raise self._lost(f"the cluster cannot read the work: {error}", "install the same naivete on all machines") from error

    def _gathered(self, futures: Sequence[Future]) -> list[Any]:
        """Return the results of tasks; those that were lost with their worker are computed again, and waited for as all others."""
        client, start = self.owner.client, time.monotonic()
        results = asyncio.run_coroutine_threadsafe(client.gather(list(futures), asynchronous=True), client.loop.asyncio_loop)
        try:
            while not concurrent.futures.wait([results], _TICK).done:
                self._check(start)
            return list(results.result())
        finally:
            results.cancel()

    def _stalled(self) -> ClusterError:
        problem = f"no task has finished for {self.deadline:g} seconds; {_state(self.owner.client)}"
        return self._lost(problem, _ADVICE.format("naivete.deadline"))

    def _lost(self, problem: str, advice: str = "check its workers, and run the same again") -> ClusterError:
        address = getattr(self.owner.client.scheduler, "address", None) or "without an address"
        counted = f"{len(self.reports)} of {self.parts} parts were counted in pass {self.owner.passes}"
        return ClusterError(f"cluster {address}: {problem}; {counted}; {advice}")


_ADVICE: Final = "check its workers, and run the same again, or wait longer: dask.config.set({{'{}': SECONDS}})"
_NAMED: Final = 3
"""The most workers that a message names."""


def _state(client: Client) -> str:
    """Return in words how many workers a cluster has, and which of them have not finished their tasks."""
    cores, tasks = _cores(client), _answer(client, "processing") or {}
    if cores is None:
        return "the scheduler does not answer"
    if not cores:
        return "no worker is left"
    busy = [f"{address} ({len(keys)} tasks)" for address, keys in tasks.items() if keys]
    names = ", ".join(busy[:_NAMED]) + (", ..." if len(busy) > _NAMED else "")
    return f"the workers have {cores} threads" + (f"; these have not finished: {names}" if busy else "")


class _Workers:
    """Whether a cluster still has workers: the scheduler is asked from time to time while no task finishes.

    Parameters
    ----------
    client : the connection to the cluster.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asked = self._seen = time.monotonic()
        self._had_some = bool(_cores(client))

    def seen(self) -> None:
        """Measure the time without workers from now on."""
        self._seen = time.monotonic()

    def lost(self, deadline: float) -> bool:
        """Return whether there were workers, and there has been none for `deadline` seconds."""
        now = time.monotonic()
        if now - self._asked < _LOOK:
            return False
        cores, self._asked = _cores(self._client), now
        self._had_some |= bool(cores)
        if cores != 0:  # without an answer, nothing is known about the workers
            self._seen = now
        return self._had_some and now - self._seen > deadline


def _drained(ready: queue.SimpleQueue[Future]) -> list[Future]:
    """Return what is in the queue, after a short wait where it is empty."""
    finished = []
    with suppress(queue.Empty):
        finished.append(ready.get(timeout=_TICK))
        while True:
            finished.append(ready.get_nowait())
    return finished
