"""Fixtures and settings that all tests share.

Property tests run a tenth of their examples, always the same ones, in the ordinary run. `--hypothesis-seed=N` draws others, and
`NAIVETE_EXAMPLES=long` (`python3 dev.py long`) runs four times the stated number of random examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from naivete.cases import Cases, MemoryCases
from tests import LONG
from tests.oracles import chunked

FEWEST = 4
"""Every property is tried on at least this many examples, or on as many as it states."""
BUSY = [HealthCheck.too_slow]
"""Checks of Hypothesis that fail on a busy machine."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples of all property tests: the same ones in every run unless a seed or the long run asks for others."""
    fixed = not LONG and config.getoption("--hypothesis-seed", default=None) is None
    settings.register_profile("naivete", deadline=None, derandomize=fixed, database=None, suppress_health_check=BUSY)
    settings.load_profile("naivete")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Scale the number of examples of every property test."""
    for item in items:
        test = getattr(item, "obj", None)
        stated = getattr(test, "_hypothesis_internal_use_settings", None)
        if stated is not None:
            test = getattr(test, "__func__", test)
            count = stated.max_examples * 4 if LONG else max(min(stated.max_examples, FEWEST), stated.max_examples // 10)
            checks = {*stated.suppress_health_check, *BUSY}
            test._hypothesis_internal_use_settings = settings(stated, max_examples=count, suppress_health_check=checks)


@pytest.fixture(params=["memory", "chunked"])
def cases(request: pytest.FixtureRequest) -> Callable[[MemoryCases], Cases]:
    """A function that moves rows to the back end under test."""
    backends: dict[str, Any] = {"memory": lambda rows: rows, "chunked": lambda rows: chunked(rows, np.random.default_rng(7))}
    return backends[request.param]


@pytest.fixture(scope="session")
def near() -> Iterator[Any]:
    """A client of a Dask cluster of two threads of this process: it starts quickly, and its tasks can be watched."""
    distributed = pytest.importorskip("distributed")
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, memory_limit=0, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def far() -> Iterator[Any]:
    """A client of a Dask cluster of two processes, as users have them."""
    distributed = pytest.importorskip("distributed")
    options = {"host": "127.0.0.1", "dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["near", pytest.param("far", marks=pytest.mark.slow)])
def dask_client(request: pytest.FixtureRequest) -> Any:
    """A client of a Dask cluster of threads, and in the slow tests also of processes."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def threads_for_processes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let `cluster="local"` start threads instead of processes, which need seconds; the list has every cluster it starts."""
    distributed = pytest.importorskip("distributed")
    opened: list[Any] = []

    def local_cluster(**options: Any) -> Any:
        options |= {"processes": False, "worker_class": None, "host": None}
        opened.append(distributed.LocalCluster(**options))
        return opened[-1]

    monkeypatch.setenv("NAIVETE_THREADS", "1")
    monkeypatch.setattr("naivete.cases.dask.clusters.LocalCluster", local_cluster)
    return opened
