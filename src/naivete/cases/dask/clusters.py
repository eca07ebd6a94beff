"""Connections to a Dask cluster: a running one, or one of processes on this machine that no other machine can reach."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final

import dask
import distributed
from distributed import Client, LocalCluster

from naivete._kernels.threads import cores, threads
from naivete.errors import FileError, ParameterError, quoted

__all__ = ["ClusterError", "connected"]

_LOCAL_SETTINGS: Final = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.worker-ttl": "120 s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.nanny.pre-spawn-environ": {},
}
"""Settings of a local cluster that are not Dask's defaults. The tasks of a process that does not answer for as long as the second
setting are given to another one, before the wait for them ends. The last default would limit this process to one thread too."""
_LOST_WORKERS = {"distributed.deploy.lost-worker-timeout": "1 hour"}
"""A process that died is started again. Where that takes longer than this time, by default 15 s, Dask gives it up for ever."""


class ClusterError(FileError):
    """A cluster cannot be reached, was lost, or makes no progress."""


@contextmanager
def connected(cluster: Any) -> Iterator[Client]:
    """Return a client of the cluster; at the end of the context, what was opened for it is closed.

    Parameters
    ----------
    cluster : a `distributed.Client`; a cluster object of Dask; the address of a scheduler; "local" for a cluster of processes on
        this machine that no other machine can reach; or None for the current client if there is one, else "local".
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
    local = isinstance(cluster, str) and cluster == "local"
    if local:
        cluster = _local_cluster(stack)
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
    stack.callback(_close, client)
    if local:
        client.register_plugin(_OneThread())
    return client


class _OneThread(distributed.WorkerPlugin):  # type: ignore[misc]
    """Limits each worker to one thread, since there is one worker for each core; `LocalCluster(env=...)` would limit this
    process too."""

    name = "naivete-one-thread"

    def setup(self, worker: Any) -> None:  # noqa: ARG002
        """Set the number of threads in the process of the worker."""
        os.environ["NAIVETE_THREADS"] = "1"


class _Nanny(distributed.Nanny):  # type: ignore[misc]
    """A worker process whose web server listens on the loopback interface only, also in older versions of Dask."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "dashboard": False, "dashboard_address": "127.0.0.1:0"})


def _local_cluster(stack: ExitStack) -> LocalCluster:
    """Start one process for each core, or for each of NAIVETE_THREADS, on the loopback interface, without a dashboard."""
    stack.enter_context(dask.config.set(_LOST_WORKERS))  # read when a process is lost, so until the cluster is closed
    try:
        with dask.config.set(_LOCAL_SETTINGS):
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
            "if __name__ == '__main__': around its statements"
        ) from error
    stack.callback(_close, cluster)
    return cluster


def _close(connection: Any) -> None:
    """Close a client or a cluster, also one that has lost its connection."""
    with suppress(OSError, TimeoutError, distributed.TimeoutError):
        connection.close(timeout=30)
