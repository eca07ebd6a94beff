"""Rows on a cluster: Dask's workers count every part where it is, merge in a tree, and only tables travel.

A pass is one graph: a task for each part of the rows, and above them tasks that merge the values of eight. Each task is a pure
function of its part, so that one that runs twice, or again on another machine, changes nothing. What is wrong with the data comes
back as a value, because Dask would take an exception for a fault of the machine. The workers tell how far they are, so that the
waiting here ends when nothing moves any more.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
import warnings
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar

import dask
import distributed
from distributed import Client, Future, LocalCluster

from naivete._kernels.threads import cores, threads
from naivete.cases.files import ROWS, Progress
from naivete.checkpoints import Checkpoint
from naivete.encoding import matched
from naivete.errors import (
    DataError,
    DataTypeError,
    FileError,
    ModelFileError,
    NaiveteError,
    NaiveteWarning,
    ParameterError,
    ResourceError,
    shown,
    warn,
)
from naivete.files import Files, KindError, Piece
from naivete.frames import table_of
from naivete.labelled import Division, Labelled
from naivete.table import Table
from naivete.variables import Variable

__all__ = ["DEADLINE", "ClusterError", "DaskRows", "Failure", "FrameSource", "connected", "shared"]

T = TypeVar("T")
Graph = dict[Any, Any]

DEADLINE: Final = 300.0
"""The most seconds without progress, unless Dask's configuration says otherwise under `naivete.deadline`."""

_FAN_IN: Final = 8
_TOPIC: Final = "naivete"
_TICK: Final = 0.1
_EVERY: Final = 0.5
"""A worker tells how far it is at most so often, in seconds."""
_TOLD: Final = 100
"""How many warnings of a pass are kept."""
_OWN: Final = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.pre-spawn-environ": {},
}
"""How a cluster of our own differs from Dask's defaults; the last would make this process count with one thread as well."""
_ERRORS: Final[dict[str, type[NaiveteError]]] = {
    kind.__name__: kind
    for kind in (DataError, DataTypeError, FileError, ModelFileError, NaiveteError, ParameterError, ResourceError)
}


class ClusterError(FileError):
    """A cluster cannot be reached, was lost, or does not get on with the work."""


@dataclass(frozen=True)
class Failure:
    """What was wrong with a part of the rows, as a value.

    Parameters
    ----------
    at : the part.
    word : the kind of error.
    message : what it says.
    columns : of a `KindError`, the columns that are text.
    """

    at: int
    word: str
    message: str
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, at: int, error: NaiveteError | MemoryError) -> Failure:
        """The failure that an error is."""
        if not isinstance(error, NaiveteError):
            return cls(
                at, "ResourceError", f"a worker has no memory left for part {at}: {error}; let it read fewer rows (memory=)"
            )
        columns = tuple(sorted(error.columns)) if isinstance(error, KindError) else ()
        word = next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _ERRORS)
        seen = "; the workers have to see the files as they are here" if word == "FileError" else ""
        return cls(at, word, f"{error}{seen}", columns)

    @property
    def error(self) -> NaiveteError:
        """The error again."""
        return KindError(self.message, frozenset(self.columns)) if self.columns else _ERRORS[self.word](self.message)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of some parts: their merged value, None where they have no rows; or the first failure; and all warnings."""

    value: Any = None
    failure: Failure | None = None
    warned: tuple[NaiveteWarning, ...] = ()


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
    function: Callable[[Labelled], Any]
    merge: Callable[[Any, Any], Any] | None
    division: Division
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


def _given(value: T) -> T:
    return value


def _counted(job: Job, at: int, source: Any) -> Outcome:
    """The task of one part: its rows read, divided and folded."""
    teller = _Teller(job.token, at)
    with _collected() as warned:
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
        table = replace(table, columns=tuple(matched(table, [Variable(name) for name in job.names])))
    for start in range(0, len(table), job.rows):
        yield table.take(slice(start, start + job.rows))


def _merged(job: Job, at: int, outcomes: Sequence[Outcome]) -> Outcome:
    """The task that merges some outcomes, the first one of part `at`."""
    warned = tuple({(type(w), str(w)): w for own in outcomes for w in own.warned}.values())[:_TOLD]
    failure = _first_failure([own.failure for own in outcomes if own.failure is not None])
    if failure is not None:
        return Outcome(failure=failure, warned=warned)
    total: Any = None
    try:
        for own in outcomes:
            if own.value is not None:
                total = own.value if total is None else _merge_of(job)(total, own.value)
    except NaiveteError as error:
        return Outcome(failure=Failure.of(at, error), warned=warned)
    _Teller(job.token, at).merged()
    return Outcome(total, warned=warned)


def _merge_of(job: Job) -> Callable[[Any, Any], Any]:
    assert job.merge is not None
    return job.merge


def _first_failure(failures: Sequence[Failure]) -> Failure | None:
    """The failure of the lowest part; where columns turned out to be text, all of them."""
    if not failures:
        return None
    first = min(failures, key=lambda failure: failure.at)
    if not first.columns:
        return first
    return replace(first, columns=tuple(sorted({column for failure in failures for column in failure.columns})))


class _Teller:
    """Tells the client how far a task is."""

    def __init__(self, token: str, at: int) -> None:
        self.token, self.at, self.rows, self.last = token, at, 0, time.monotonic()

    def reading(self, rows: int) -> None:
        """So many rows are done; told now and then."""
        self.rows = rows
        if time.monotonic() - self.last >= _EVERY:
            self._tell("reading")

    def done(self) -> None:
        """The part is done."""
        self._tell("done")

    def merged(self) -> None:
        """Some parts are merged."""
        self._tell("merged")

    def failed(self, failure: Failure) -> None:
        """The part has failed."""
        self._tell("failed", word=failure.word, message=failure.message, columns=list(failure.columns))

    def _tell(self, state: str, **more: Any) -> None:
        self.last = time.monotonic()
        with suppress(ValueError):  # a task that runs outside of a worker has nobody to tell
            said = {"pass": self.token, "at": self.at, "state": state, "rows": self.rows, **more}
            distributed.get_worker().log_event(_TOPIC, said)


class _Log:
    """The warnings of this process while some task runs; shared by all its threads, as the machinery of warnings is."""

    lock = threading.Lock()
    users = 0
    stack = ExitStack()
    seen: list[warnings.WarningMessage]

    @classmethod
    def enter(cls) -> int:
        """Begin to listen; how many warnings there were before."""
        with cls.lock:
            if not cls.users:
                cls.seen = cls.stack.enter_context(warnings.catch_warnings(record=True))
                warnings.simplefilter("always", NaiveteWarning)
            cls.users += 1
            return len(cls.seen)

    @classmethod
    def leave(cls) -> None:
        """Listen no more, and show what is not ours as it would have been shown."""
        with cls.lock:
            cls.users -= 1
            if not cls.users:
                cls.stack.close()
                for other in cls.seen:
                    if not isinstance(other.message, NaiveteWarning):
                        warnings.showwarning(other.message, other.category, other.filename, other.lineno)


@contextmanager
def _collected() -> Iterator[Callable[[], list[NaiveteWarning]]]:
    """The warnings of this library inside the context, which are not shown; a function, to be called before its end."""
    start = _Log.enter()
    try:
        yield lambda: [own.message for own in _Log.seen[start:][:_TOLD] if isinstance(own.message, NaiveteWarning)]
    finally:
        _Log.leave()


class Watch:
    """What the workers tell of one pass.

    Parameters
    ----------
    token : the pass.
    parts, rows : how many parts and rows there are.

    Attributes
    ----------
    changed : set with everything new.
    last : when something was heard last.
    read : how many rows were read.
    done, failures : the parts that are well, and those that are not.
    warned : the warnings that were given.
    """

    def __init__(self, token: str, parts: int, rows: int | None) -> None:
        self.token, self.parts, self.rows = token, parts, rows
        self.changed = threading.Event()
        self.last = time.monotonic()
        self.read = 0
        self.done: set[int] = set()
        self.failures: dict[int, Failure] = {}
        self.warned: set[tuple[type, str]] = set()
        self._read: dict[int, int] = {}
        self._upto = 0

    def hear(self, said: dict[str, Any]) -> None:
        """Take in what a worker said."""
        self.last, at = time.monotonic(), said["at"]
        if said["state"] != "merged":
            before = self._read.get(at, 0)
            self._read[at] = max(said["rows"], before)
            self.read += self._read[at] - before
        if said["state"] == "done":
            self.done.add(at)
        if said["state"] == "failed":
            self.failures[at] = Failure(at, said["word"], said["message"], tuple(said["columns"]))
        self.changed.set()

    def failure(self) -> Failure | None:
        """The first failure, once all parts before it are known to be well."""
        if not self.failures:
            return None
        while self._upto in self.done:
            self._upto += 1
        return _first_failure(list(self.failures.values())) if self._upto in self.failures else None


class _Watches:
    """All passes that are watched in this process; a client has one ear, which it may share among several."""

    lock = threading.Lock()
    by_client: dict[str, dict[str, Watch]] = {}  # noqa: RUF012

    @classmethod
    @contextmanager
    def listening(cls, client: Client, watch: Watch) -> Iterator[None]:
        """The watch hears what the workers say."""
        with cls.lock:
            own = cls.by_client.setdefault(client.id, {})
            own[watch.token] = watch
            if len(own) == 1:
                client.subscribe_topic(_TOPIC, partial(cls.heard, own))
        try:
            yield
        finally:
            with cls.lock:
                del own[watch.token]
                if not own:
                    del cls.by_client[client.id]
                    with suppress(Exception):  # a client that lost its cluster has nothing to unsubscribe from
                        client.unsubscribe_topic(_TOPIC)

    @staticmethod
    def heard(watches: dict[str, Watch], event: tuple[Any, Any]) -> None:
        """Hand on an event, in a thread of the client."""
        said = event[1]
        watch = watches.get(said.get("pass", "")) if isinstance(said, dict) else None
        if watch is not None:
            watch.hear(said)


class Parts(Protocol):
    """Rows in parts that workers can get at."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""

    def __len__(self) -> int:
        """How many parts there are."""

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """A graph, and in it, or in itself, what stands for each of these parts."""


@dataclass(frozen=True, eq=False)
class FileParts:
    """The pieces of files, which every worker opens itself."""

    files: Files

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""
        return self.files.rows

    def __len__(self) -> int:
        return len(self.files.pieces)

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """No graph, and the pieces."""
        return {}, list(self.files.pieces[first:stop])


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
        """How many rows there are is not known."""
        return

    def __len__(self) -> int:
        return int(self.frame.npartitions)

    def without(self, columns: Collection[Any]) -> FrameSource:
        """The partitions without these columns."""
        return FrameSource(self.frame[[name for name in self.names if name not in columns]]) if columns else self

    def graph(self, first: int, stop: int) -> tuple[Graph, list[Any]]:
        """The frame's own graph, and the keys of the partitions."""
        chosen = self.frame if (first, stop) == (0, len(self)) else self.frame.partitions[first:stop]
        best = chosen.optimize()  # not dask.optimize, which gave the wrong columns and partitions in 2026.8
        return dict(best.__dask_graph__()), list(best.__dask_keys__())


def fold_graph(job: Job, parts: Parts, first: int, stop: int, cores: int = 0) -> tuple[Graph, list[Hashable]]:
    """The tasks of some parts, and their keys in order.

    Dask spreads many tasks over the workers, but gives a few to the worker that has what they need: so each of a few parts gets
    a copy of the job.
    """
    graph, sources = parts.graph(first, stop)
    few = len(sources) <= 2 * cores
    graph[_key("job", job)] = (_given, job)
    keys: list[Hashable] = []
    for at, source in enumerate(sources, start=first):
        keys.append((_key("part", job), at))
        own = (_key("own-job", job), at) if few else _key("job", job)
        if few:
            graph[own] = (_given, job)
        graph[keys[-1]] = (_counted, own, at, source)
    return graph, keys


def tree(job: Job, keys: Sequence[Hashable]) -> tuple[Graph, Hashable]:
    """The tasks that merge these keys, a few at a time, and the last of them."""
    graph: Graph = {}
    level, depth, width = list(keys), 0, 1
    while len(level) > 1:
        depth, width = depth + 1, width * _FAN_IN
        above: list[Hashable] = []
        for at in range(0, len(level), _FAN_IN):
            above.append((_key(f"merge-{depth}", job), at // _FAN_IN))
            graph[above[-1]] = (_merged, _key("job", job), at // _FAN_IN * width, level[at : at + _FAN_IN])
        level = above
    return graph, level[0]


def _key(what: str, job: Job) -> str:
    return f"naivete-{what}-{job.token}"


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
    division: Division
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

    def map(self, function: Callable[[Labelled], T]) -> Iterable[T]:
        """The function's value for some rows at a time, in order; a bounded number of parts is under way at any time."""
        self.passes += 1
        job, parts = self._job(function, None), self._parts
        window = 2 * max(1, self._cores() or 1)
        watch = Watch(job.token, len(parts), parts.rows)
        with _Watches.listening(self.client, watch):
            waiting: deque[Future] = deque()
            try:
                for first in range(0, len(parts) + window, window):
                    if first < len(parts):
                        graph, keys = fold_graph(job, parts, first, min(first + window, len(parts)))
                        waiting += self._submitted(graph, keys)
                    while waiting and (len(waiting) > window or first >= len(parts)):
                        yield from self._value(self._awaited(waiting[0], watch), watch) or ()
                        waiting.popleft().release()
            finally:
                self._abandon(waiting)

    def fold(self, function: Callable[[Labelled], T], merge: Callable[[T, T], T]) -> T:
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

    def _folded(self, function: Callable[[Labelled], T], merge: Callable[[T, T], T]) -> Any:
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
        graph, keys = fold_graph(job, parts, 0, len(parts), self._cores() or 0)
        above, last = tree(job, keys)
        watch = Watch(job.token, len(parts), parts.rows)
        with _Watches.listening(self.client, watch):
            futures = self._submitted({**graph, **above}, [last])
            try:
                return self._value(self._awaited(futures[0], watch), watch)
            finally:
                self._abandon(futures)

    def _submitted(self, graph: Graph, keys: list[Hashable]) -> list[Future]:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # the tables of a large model
            return list(self.client.get(graph, keys, sync=False, retries=0))

    @staticmethod
    def _value(outcome: Outcome, watch: Watch) -> Any:
        """The value; a failure is raised, and each warning of a pass given once."""
        if outcome.failure is None or not outcome.failure.columns:  # else the pass begins again
            for warning in outcome.warned:
                if (type(warning), str(warning)) not in watch.warned:
                    watch.warned.add((type(warning), str(warning)))
                    warn(warning)
        if outcome.failure is not None:
            raise outcome.failure.error
        return outcome.value

    def _awaited(self, future: Future, watch: Watch) -> Outcome:
        """The outcome of a task, waited for as long as something moves."""
        watch.last = time.monotonic()
        future.add_done_callback(lambda _: watch.changed.set())
        while future.status in ("pending", "lost"):  # what was lost with a worker is made again
            watch.changed.wait(_TICK)
            watch.changed.clear()
            if self.progress is not None and watch.read:
                self.progress(self.passes, watch.read, watch.rows)
            failure = watch.failure()
            if failure is not None:
                return Outcome(failure=failure)
            if self.client.status in ("closing", "closed"):
                raise ClusterError(f"{self._address}: the connection to the cluster was lost; {self._counted(watch)}; {_AGAIN}")
            if time.monotonic() - watch.last > self._patience:
                raise self._stalled(watch)
        return self._fetched(future, watch)

    def _fetched(self, future: Future, watch: Watch) -> Outcome:
        """The outcome of a task that is no longer pending."""
        if future.status not in ("finished", "error"):
            raise ClusterError(f"{self._address}: the cluster dropped the work; {self._counted(watch)}; {_AGAIN}")
        try:
            return future.result(timeout=self._patience)  # type: ignore[no-any-return]
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"{self._address}: one task ended every worker that took it, perhaps for lack of memory: {error}; give the "
                "workers more memory, or let them read fewer rows at a time (memory=)"
            ) from error
        except (distributed.TimeoutError, TimeoutError) as error:
            raise self._stalled(watch) from error
        except (ImportError, RuntimeError) as error:
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise ClusterError(
                    f"{self._address}: the cluster cannot read the work: {error}; install the same naivete on all machines"
                ) from error
            raise

    def _stalled(self, watch: Watch) -> ClusterError:
        cores = self._cores()
        there = "no worker is left" if cores == 0 else f"the workers have {cores} threads"
        if cores is None:
            there = "the scheduler does not answer"
        return ClusterError(
            f"{self._address}: nothing has moved for {self._patience:g} seconds; {there}; {self._counted(watch)}; {_AGAIN}, or "
            "wait longer: dask.config.set({'naivete.deadline': SECONDS})"
        )

    def _counted(self, watch: Watch) -> str:
        return f"{len(watch.done)} of {watch.parts} parts were counted in pass {self.passes}"

    def _cores(self) -> int | None:
        """The threads of all workers; None where the scheduler does not answer."""
        with suppress(Exception):
            if self.client.status == "running":
                return int(sum(self.client.sync(self.client.scheduler.ncores, callback_timeout=5).values()))
        return None

    def _abandon(self, futures: Iterable[Future]) -> None:
        """Let go of tasks, and stop what is still to run."""
        for future in futures:
            with suppress(Exception):
                if future.status == "pending" and self.client.status == "running":
                    self.client.sync(self.client._cancel, [future], callback_timeout=5)
                future.release()

    def _job(self, function: Callable[[Labelled], Any], merge: Callable[[Any, Any], Any] | None) -> Job:
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
            raise ParameterError(f"naivete.deadline={shown(told)} in Dask's configuration: a number of seconds") from None

    @property
    def _address(self) -> str:
        return f"cluster {getattr(self.client.scheduler, 'address', None) or 'without an address'}"

    def _widen(self, columns: Collection[str]) -> None:
        """Take these columns as text from now on, in every pass."""
        if columns and isinstance(self.source, Files):
            self.source = self.source.widened(columns)
            self.texts |= set(columns)


_AGAIN: Final = "look after its workers, and run the same again"


def shared(value: Any) -> Any:
    """The value as one task of the graph of a data frame, so that it travels once; as it is where Dask is too old for that."""
    old = tuple(map(int, dask.__version__.split(".")[:2])) < (2025, 7)
    return value if old else dask.delayed(value, traverse=False)


@contextmanager
def connected(cluster: Any) -> Iterator[Client]:
    """A client of the cluster; what was opened for it is closed at the end, what was given is left as it was.

    Parameters
    ----------
    cluster : a `distributed.Client`; a cluster object of Dask; the address of a scheduler; "local" for a cluster of processes on
        this machine that nobody else can reach; or None for the client that is there already, or else "local".
    """
    with ExitStack() as stack:
        yield _client(cluster, stack)


def _client(cluster: Any, stack: ExitStack) -> Client:
    if cluster is None:
        try:
            cluster = distributed.get_client()
        except ValueError:
            cluster = "local"
    if isinstance(cluster, Client):
        if cluster.asynchronous:
            raise ParameterError(f"cluster={shown(cluster)}: pass a client that is not asynchronous")
        return cluster
    own = isinstance(cluster, str) and cluster == "local"
    if own:
        cluster = _local(stack)
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise ParameterError(
            f"cluster={shown(cluster)}: pass 'local', the address of a scheduler such as 'tcp://10.0.0.1:8786', a "
            "distributed.Client, or a cluster of Dask"
        )
    try:
        client = Client(cluster, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"cluster={shown(cluster)}: it cannot be reached: {error}; pass the address of a running scheduler, or 'local'"
        ) from error
    stack.callback(_closed, client)
    if own:
        client.register_plugin(_OneThread())
    return client


class _OneThread(distributed.WorkerPlugin):  # type: ignore[misc]
    """Lets a worker count with one thread, since there is one for each core.

    `LocalCluster(env=...)` would set that in this process too.
    """

    name = "naivete-one-thread"

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Say so in the process of the worker."""
        os.environ["NAIVETE_THREADS"] = "1"


class _Nanny(distributed.Nanny):  # type: ignore[misc]
    """A worker process whose own little web server stays on the loopback interface too, which older versions did not see to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "dashboard": False, "dashboard_address": "127.0.0.1:0"})


def _local(stack: ExitStack) -> LocalCluster:
    """A cluster of one process for each core, or for each of NAIVETE_THREADS, on the loopback interface, without a dashboard."""
    try:
        with dask.config.set(_OWN):
            cluster = LocalCluster(
                n_workers=threads() if os.environ.get("NAIVETE_THREADS") else cores(),  # OMP_NUM_THREADS may be Dask's own 1
                threads_per_worker=1,
                processes=True,
                worker_class=_Nanny,
                host="127.0.0.1",
                dashboard_address=None,
                scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                memory_limit=0,
            )
    except (OSError, RuntimeError) as error:
        raise ClusterError(
            f"cluster='local': its processes cannot be started: {error}; a script that starts them needs "
            "if __name__ == '__main__': around what it does"
        ) from error
    stack.callback(_closed, cluster)
    return cluster


def _closed(thing: Any) -> None:
    """Close a client or a cluster, also one whose other end is gone."""
    with suppress(OSError, TimeoutError, distributed.TimeoutError):
        thing.close(timeout=30)
