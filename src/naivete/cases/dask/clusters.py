"""Which cluster is meant: one that is there, or one of processes on this machine that nobody else can reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import dask
import distributed
from distributed import Client, LocalCluster

from naivete._kernels.threads import cores, threads
from naivete.cases.dask.outcomes import ClusterError
from naivete.errors import ParameterError, quoted

__all__ = ["connected"]

_OWN: Final = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.pre-spawn-environ": {},
}
"""How a cluster of our own differs from Dask's defaults; the last would make this process count with one thread as well."""


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
            raise ParameterError(f"`cluster={quoted(cluster)}`: pass a client that is not asynchronous")
        return cluster
    own = isinstance(cluster, str) and cluster == "local"
    if own:
        cluster = _local(stack)
    if not isinstance(cluster, str) and not hasattr(cluster, "scheduler_address"):
        raise ParameterError(
            f"`cluster={quoted(cluster)}`: pass 'local', the address of a scheduler such as 'tcp://10.0.0.1:8786', a "
            "distributed.Client, or a cluster of Dask"
        )
    try:
        client = Client(cluster, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"`cluster={quoted(cluster)}`: it cannot be reached: {error}; pass the address of a running scheduler, or 'local'"
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
            f"`cluster='local'`: its processes cannot be started: {error}; a script that starts them needs "
            "if __name__ == '__main__': around what it does"
        ) from error
    stack.callback(_closed, cluster)
    return cluster


def _closed(thing: Any) -> None:
    """Close a client or a cluster, also one whose other end is gone."""
    with suppress(OSError, TimeoutError, distributed.TimeoutError):
        thing.close(timeout=30)
