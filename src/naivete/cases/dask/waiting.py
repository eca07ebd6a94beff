"""Handing work to a cluster and waiting for it, as long as something moves; what ends the waiting else says what to do."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import dask
import distributed
from distributed import Client, Future

from naivete.cases.dask.events import Watch
from naivete.cases.dask.graphs import Graph
from naivete.cases.dask.outcomes import ClusterError, Outcome
from naivete.cases.files import Progress
from naivete.errors import warn

__all__ = ["Wait", "abandon", "cores_of", "submitted"]

_TICK: Final = 0.1
_AGAIN: Final = "look after its workers, and run the same again"


def submitted(client: Client, graph: Graph, keys: list[Hashable]) -> list[Future]:
    """The tasks of these keys, which the cluster begins to work on."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # the tables of a large model
        return list(client.get(graph, keys, sync=False, retries=0))


def abandon(client: Client, futures: Iterable[Future]) -> None:
    """Let go of tasks, and stop what is still to run."""
    for future in futures:
        with suppress(Exception):
            if future.status == "pending" and client.status == "running":
                client.sync(client._cancel, [future], callback_timeout=5)
            future.release()


def cores_of(client: Client) -> int | None:
    """The threads of all workers; None where the scheduler does not answer."""
    with suppress(Exception):
        if client.status == "running":
            return int(sum(client.sync(client.scheduler.ncores, callback_timeout=5).values()))
    return None


@dataclass(frozen=True, eq=False)
class Wait:
    """The waiting for the tasks of one pass.

    Parameters
    ----------
    client : the connection to the cluster.
    watch : what the workers tell of the pass.
    patience : the most seconds without progress.
    number : which pass it is, for messages.
    progress : told how far the pass has come.
    """

    client: Client
    watch: Watch
    patience: float
    number: int
    progress: Progress | None = None

    def value(self, future: Future) -> Any:
        """The value of a task; a failure is raised, and each warning of a pass given once."""
        outcome = self._awaited(future)
        if outcome.failure is None or not outcome.failure.columns:  # else the pass begins again
            for warning in outcome.warned:
                if (type(warning), str(warning)) not in self.watch.warned:
                    self.watch.warned.add((type(warning), str(warning)))
                    warn(warning)
        if outcome.failure is not None:
            raise outcome.failure.error
        return outcome.value

    def _awaited(self, future: Future) -> Outcome:
        """The outcome of a task, waited for as long as something moves."""
        watch = self.watch
        watch.last = time.monotonic()
        future.add_done_callback(lambda _: watch.changed.set())
        while future.status in ("pending", "lost"):  # what was lost with a worker is made again
            watch.changed.wait(_TICK)
            watch.changed.clear()
            if self.progress is not None and watch.read:
                self.progress(self.number, watch.read, watch.rows)
            failure = watch.failure()
            if failure is not None:
                return Outcome(failure=failure)
            if self.client.status in ("closing", "closed"):
                raise ClusterError(f"{self._address}: the connection to the cluster was lost; {self._counted}; {_AGAIN}")
            if time.monotonic() - watch.last > self.patience:
                raise self._stalled()
        return self._fetched(future)

    def _fetched(self, future: Future) -> Outcome:
        """The outcome of a task that is no longer pending."""
        if future.status not in ("finished", "error"):
            raise ClusterError(f"{self._address}: the cluster dropped the work; {self._counted}; {_AGAIN}")
        try:
            return future.result(timeout=self.patience)  # type: ignore[no-any-return]
        except distributed.KilledWorker as error:
            raise ClusterError(
                f"{self._address}: one task ended every worker that took it, perhaps for lack of memory: {error}; give the "
                "workers more memory, or let them read fewer rows at a time (`memory=`)"
            ) from error
        except (distributed.TimeoutError, TimeoutError) as error:
            raise self._stalled() from error
        except (ImportError, RuntimeError) as error:
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise ClusterError(
                    f"{self._address}: the cluster cannot read the work: {error}; install the same naivete on all machines"
                ) from error
            raise

    def _stalled(self) -> ClusterError:
        cores = cores_of(self.client)
        there = "no worker is left" if cores == 0 else f"the workers have {cores} threads"
        if cores is None:
            there = "the scheduler does not answer"
        return ClusterError(
            f"{self._address}: nothing has moved for {self.patience:g} seconds; {there}; {self._counted}; {_AGAIN}, or "
            "wait longer: dask.config.set({'naivete.deadline': SECONDS})"
        )

    @property
    def _counted(self) -> str:
        return f"{len(self.watch.done)} of {self.watch.parts} parts were counted in pass {self.number}"

    @property
    def _address(self) -> str:
        return f"cluster {getattr(self.client.scheduler, 'address', None) or 'without an address'}"
