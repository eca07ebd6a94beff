"""Counting on a cluster: the same hash for every partitioning and with killed workers, and an end to every wait."""

from __future__ import annotations

import itertools
import os
import pickle
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
import psutil  # noqa: E402 - it comes with distributed
from distributed import Client, LocalCluster  # noqa: E402

import naivete  # noqa: E402
from naivete import KDB, TAN, NaiveBayes  # noqa: E402
from naivete.cases.dask import ClusterError, DaskRows, FrameSource, connected, tasks  # noqa: E402
from naivete.cases.dask.library import Library, hash_of_sources, library  # noqa: E402
from naivete.classifiers.base import NetworkClassifier  # noqa: E402
from naivete.classifiers.not_fitted import NotFittedError  # noqa: E402
from naivete.classifiers.partitions import predict_partitions  # noqa: E402
from naivete.classifiers.saving import model_hash  # noqa: E402
from naivete.data.files import KindError, pieces  # noqa: E402
from naivete.data.labelled_table import ColumnRoles, LabelledTable  # noqa: E402
from naivete.encoding.encoder import Encoder  # noqa: E402
from naivete.errors import DataError, FileError, NaiveteWarning, ParameterError  # noqa: E402
from tests import chaos_dask  # noqa: E402
from tests.cases.dask_functions import RELEASED, STARTED, deadly, noted, raising, same, slowly, stuck, warning, whole_numbers  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of killed workers

Make = Callable[[], NetworkClassifier]
MAKERS: list[Make] = [NaiveBayes, TAN, partial(KDB, k=2), partial(KDB, k="auto", theta="auto", k_max=2)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two processes, as anybody's cluster would have them."""
    options = {"host": "127.0.0.1", "dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20, "distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, memory_limit=0, **options) as own,
    ):
        yield own


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as own:
        yield own


def rows_of(seed: int, n: int, *, gaps: bool = True, weights: int = 2) -> pd.DataFrame:
    """Text, whole and other numbers with dependences, a class `y`, and weights `w`: one, whole, or any."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "text": np.array(["a", "b", "c", "d"])[(hidden + rng.integers(0, 2, n)) % 4],
            "whole": (hidden * 2 + rng.integers(0, 3, n)) % 5,
            "number": np.round(hidden + rng.normal(size=n), 3),
            "truth": hidden > rng.integers(0, 3, n),
        }
    )
    if gaps:
        for name in ("text", "number"):
            frame[name] = frame[name].where(rng.random(n) > 0.3, None)
    frame["y"] = np.array(["no", "yes", "perhaps"])[(hidden + (rng.random(n) < 0.2)) % 3]
    frame["w"] = [np.ones(n), rng.integers(0, 4, n).astype(float), rng.random(n) * 3][weights]
    frame.loc[0, "w"] = 1.0
    return frame


def in_memory(make: Make, frame: pd.DataFrame) -> str:
    return model_hash(make().fit(frame.drop(columns=["y", "w"]), frame["y"], frame["w"]))


def divided(frame: pd.DataFrame, cuts: list[int]) -> Any:
    """A Dask DataFrame of unknown divisions, cut before these rows; cuts that coincide give empty partitions."""
    edges = [0, *sorted(cuts), len(frame)]
    return partitioned([frame.iloc[a:b] for a, b in pairwise(edges)], frame.iloc[:0])


def partitioned(parts: list[pd.DataFrame], meta: pd.DataFrame) -> Any:
    """These partitions as they are."""
    return dd.from_map(same, parts, meta=meta)


def files_of(frame: pd.DataFrame, folder: Path, count: int) -> list[Path]:
    """The rows in so many Parquet files."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{i:03}.parquet" for i in range(count)]
    for path, own in zip(paths, np.array_split(np.arange(len(frame)), count), strict=True):
        pq.write_table(pa.Table.from_pandas(frame.iloc[own], preserve_index=False), path)
    return paths


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    make=st.sampled_from(MAKERS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(3, 60),
    gaps=st.booleans(),
    weights=st.integers(0, 2),
    cuts=st.lists(st.integers(0, 60), max_size=12),
    filed=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::naivete.errors.NaiveteWarning")
def test_one_hash_for_every_partitioning(
    near: Client, tmp_path: Path, make: Make, seed: int, n: int, gaps: bool, weights: int, cuts: list[int], filed: bool
) -> None:
    frame = rows_of(seed, n, gaps=gaps, weights=weights)
    cases = files_of(frame, tmp_path, len(cuts) + 1) if filed else divided(frame, [min(cut, n) for cut in cuts])
    assert model_hash(make().fit_cases(cases, "y", weight="w", cluster=near)) == in_memory(make, frame)


@pytest.mark.slow
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(("gaps", "weights"), [(True, 2), (True, 1), (True, 0), (False, 0)])
def test_one_hash_on_processes(client: Client, tmp_path: Path, make: Make, gaps: bool, weights: int) -> None:
    frame = rows_of(3, 150, gaps=gaps, weights=weights)
    frame = frame.drop(columns="truth")  # which is text in a CSV
    frame.to_csv(tmp_path / "rows.csv", index=False)
    whole = in_memory(make, frame)
    for cases in (dd.from_pandas(frame, npartitions=5), files_of(frame, tmp_path / "parts", 4), tmp_path / "rows.csv"):
        assert model_hash(make().fit_cases(cases, "y", weight="w", cluster=client)) == whole


def test_many_tiny_and_empty_partitions(near: Client) -> None:
    frame = rows_of(5, 200)
    cases = divided(frame, [*range(60), *[7] * 20])
    assert cases.npartitions == 81
    kept: list[int] = []

    def watched(*_: Any) -> None:
        tasks = list(near.cluster.scheduler.tasks.values())
        kept.append(
            sum(own.state == "memory" and any(kind in str(own.key) for kind in ("naivete-part", "naivete-merge")) for own in tasks)
        )

    found = NaiveBayes().fit_cases(cases, "y", weight="w", cluster=near, progress=watched)
    assert model_hash(found) == in_memory(NaiveBayes, frame)
    assert 0 < max(kept) < 40  # eight on each level of the tree, and what two threads work on


@pytest.mark.slow
def test_ten_thousand_partitions(near: Client) -> None:
    frame = rows_of(6, 5000)
    cases = divided(frame, [*range(5000), *[7] * 4999])
    assert cases.npartitions == 10_000
    assert model_hash(NaiveBayes().fit_cases(cases, "y", weight="w", cluster=near)) == in_memory(NaiveBayes, frame)


def test_categories_may_differ_between_partitions(near: Client) -> None:
    frame = rows_of(7, 90, gaps=False)
    parts = [own.assign(text=own["text"].astype("category")) for own in (frame[:30], frame[30:31], frame[31:])]
    meta = frame.iloc[:0].assign(text=frame["text"][:0].astype("category"))
    cases = partitioned(parts, meta)
    whole = in_memory(TAN, frame.assign(text=frame["text"].astype("category")))
    assert model_hash(TAN().fit_cases(cases, "y", weight="w", cluster=near)) == whole


def test_columns_that_are_left_out_are_not_read(near: Client) -> None:
    frame = rows_of(8, 40).assign(date=pd.Timestamp("2020-01-01"))
    cases = divided(frame, [10, 20])
    found = NaiveBayes().fit_cases(cases, "y", weight="w", ignore=["date"], cluster=near)
    assert model_hash(found) == in_memory(NaiveBayes, frame.drop(columns="date"))


def test_a_column_that_turns_out_to_be_text_begins_the_pass_again(dask_client: Client, tmp_path: Path) -> None:
    for i, cells in enumerate(["1", "2", "3", "x"]):
        (tmp_path / f"{i}.csv").write_text("a,b,y\n" + "".join(f"{cells},{j % 2},{j % 3 % 2}\n" for j in range(9)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        found, streamed = (NaiveBayes().fit_cases(tmp_path, "y", cluster=own) for own in (dask_client, None))
    assert model_hash(found) == model_hash(streamed)
    assert found.network_.variables[0].states == ("1", "2", "3", "x")


def test_partitions_are_matched_by_the_names_of_their_columns(near: Client, tmp_path: Path) -> None:
    frame = rows_of(5, 60)
    frame.iloc[:30].to_csv(tmp_path / "0.csv", index=False)
    frame.iloc[30:][frame.columns[::-1]].to_csv(tmp_path / "1.csv", index=False)
    both = pd.concat([pd.read_csv(tmp_path / f"{i}.csv") for i in (0, 1)])
    expected = NaiveBayes().fit(both.drop(columns=["y", "w"]), both["y"], both["w"])
    found = NaiveBayes().fit_cases(dd.read_csv(str(tmp_path / "*.csv")), "y", weight="w", cluster=near)
    assert model_hash(found) == model_hash(expected)


def test_rows_without_any_row_are_refused(near: Client) -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        NaiveBayes().fit_cases(divided(rows_of(1, 3)[:0], [0]), "y", weight="w", cluster=near)


# -- what happens to workers -------------------------------------------------------------------------------------------------


class Killer:
    """A progress that kills a worker once so many rows of some pass are done."""

    def __init__(self, client: Client, at: tuple[int, float]) -> None:
        self.pid = next(iter(client.run(os.getpid).values()))
        self.at, self.killed = at, 0.0

    def __call__(self, number: int, done: int, total: int | None) -> None:
        assert total is not None
        if not self.killed and number == self.at[0] and done >= self.at[1] * total:
            self.killed = done / total
            os.kill(self.pid, signal.SIGKILL)


def killed_fit(client: Client, paths: list[Path], at: tuple[int, float]) -> str:
    """Kill one of the two workers of the cluster in the middle of a pass; its nanny starts another one."""
    client.wait_for_workers(2, timeout=300)
    killer = Killer(client, at)
    found = TAN().fit_cases(paths, "y", weight="w", cluster=client, progress=killer)
    assert killer.killed
    return model_hash(found)


def test_a_lost_worker_changes_nothing(tmp_path: Path) -> None:
    """A worker of threads is lost with its results; the slow tests kill processes."""
    frame = rows_of(11, 240)
    paths, whole, lost = files_of(frame, tmp_path / "parts", 12), in_memory(TAN, frame), []
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}

    def losing(number: int, done: int, total: int | None) -> None:
        assert total is not None
        if not lost and number == 2 and done >= 0.3 * total:
            lost.append(own.workers[0].address)
            own.sync(own.scheduler.remove_worker, lost[0], stimulus_id="lost")

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, memory_limit=0, **options) as own,
        Client(own, set_as_default=False) as client,
    ):
        found = TAN().fit_cases(paths, "y", weight="w", cluster=client, progress=losing)
        assert lost
        assert lost[0] not in client.ncores()
    assert model_hash(found) == whole


@pytest.mark.slow
@pytest.mark.parametrize("scenario", chaos_dask.SCENARIOS)
def test_lost_stopped_and_other_workers(scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten runs; `python -m tests.chaos_dask` has fifty."""
    monkeypatch.setenv("NAIVETE_THREADS", "2")
    results = list(chaos_dask.SCENARIOS[scenario](chaos_dask.Chaos(tmp_path, 12), 10))
    assert [text for passed, text in results if not passed] == []


def test_a_worker_of_another_version_is_refused_before_it_counts(
    near: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    rows = DaskRows(pieces(files_of(rows_of(13, 30), tmp_path / "parts", 3)), ColumnRoles("y"), client=near)
    monkeypatch.setattr(tasks, "library", lambda: Library("9.9", "abc"))
    message = r"the worker .* has naivete 9\.9 \(source files abc\), and the process that learns has naivete \d.*; install the same version"
    for count in (lambda: rows.fold(partial(noted, log=log), int.__add__), lambda: list(rows.map(partial(noted, log=log)))):
        with pytest.raises(ClusterError, match=message):
            count()
    assert not log.exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("('9.9', 'abc')", r"has naivete 9\.9 \(source files abc\)"),
        ("__import__('nowhere')", r"has no naivete, or another version \(No module"),
    ],
)
def test_workers_that_cannot_read_the_tasks_are_refused(
    near: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, message: str
) -> None:
    monkeypatch.setattr("naivete.cases.dask.library._EXPRESSION", answer)
    rows = DaskRows(pieces(files_of(rows_of(13, 30), tmp_path / "parts", 3)), ColumnRoles("y"), client=near)
    with pytest.raises(ClusterError, match=message):
        rows.fold(len, int.__add__)


def test_versions_are_compared_by_their_source_files(tmp_path: Path) -> None:
    hashes = []
    for text in (b"a = 1\n", b"a = 1\r\n", b"a = 2\n"):
        (tmp_path / "module.py").write_bytes(text)
        hashes.append(hash_of_sources(tmp_path))
    assert hashes[0] == hashes[1] != hashes[2]
    assert hash_of_sources(tmp_path / "none") == ""
    assert library().version == naivete.__version__
    assert re.fullmatch(r"naivete \S+ \(source files [0-9a-f]{12}\)", str(library()))


def test_when_all_workers_are_lost_the_wait_ends_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cases.dask.rows._LOOK", 0.05)
    paths = files_of(rows_of(13, 30), tmp_path / "parts", 10)
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}

    def lost(*_: Any) -> None:
        for worker in [*own.scheduler.workers]:
            own.sync(own.scheduler.remove_worker, worker, stimulus_id="lost")

    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, memory_limit=0, **options) as own,
        Client(own, set_as_default=False) as client,
    ):
        rows = DaskRows(pieces(paths), ColumnRoles("y"), client=client, progress=lost, workers_deadline=0.5)
        with pytest.raises(
            ClusterError, match=r"all workers were lost, and no other has come for 0\.5 seconds; .*workers-deadline"
        ):
            rows.fold(slowly, int.__add__)


def test_without_workers_the_wait_ends_and_the_client_stays_usable(tmp_path: Path) -> None:
    paths = files_of(rows_of(13, 30), tmp_path / "parts", 3)
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with LocalCluster(n_workers=0, processes=False, **options) as own, Client(own, set_as_default=False) as client:
        with pytest.raises(
            ClusterError, match=r"no task has finished for 0\.5 seconds; no worker is left; 0 of 3 parts"
        ) as refused:
            DaskRows(pieces(paths), ColumnRoles("y"), client=client, deadline=0.5).fold(len, int.__add__)
        assert isinstance(refused.value, FileError)
        own.scale(1)
        client.wait_for_workers(1, timeout=300)
        assert DaskRows(pieces(paths), ColumnRoles("y"), client=client).fold(len, int.__add__) == 30


def test_when_all_tasks_hang_the_wait_ends(near: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that stands still until a worker runs a task, since only then is there one that has not finished."""
    files = pieces(files_of(rows_of(13, 30), tmp_path / "parts", 3))
    ticks = itertools.count(0, 1000)
    clock = SimpleNamespace(monotonic=lambda: float(next(ticks)) if STARTED.is_set() else 0.0)
    message = r"no task has finished for 100 seconds; .* 2 threads; these have not finished: \S+ \(\d tasks\)"
    STARTED.clear()
    RELEASED.clear()
    try:
        with monkeypatch.context() as patch:
            patch.setattr("naivete.cases.dask.rows.time", clock)
            with pytest.raises(ClusterError, match=message):
                DaskRows(files, ColumnRoles("y"), client=near, deadline=100).fold(stuck, int.__add__)
    finally:
        RELEASED.set()
    assert DaskRows(files, ColumnRoles("y"), client=near).fold(len, int.__add__) == 30


@pytest.mark.slow
def test_when_all_workers_hang_the_wait_ends(client: Client, tmp_path: Path) -> None:
    client.wait_for_workers(2, timeout=300)
    files = pieces(files_of(rows_of(13, 30), tmp_path / "parts", 3))
    pids = [*client.run(os.getpid).values()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(ClusterError, match=r"no task has finished for 0\.5 seconds; the workers have 2 threads"):
            DaskRows(files, ColumnRoles("y"), client=client, deadline=0.5).fold(len, int.__add__)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert DaskRows(files, ColumnRoles("y"), client=client).fold(len, int.__add__) == 30


def killed(part: LabelledTable) -> int:
    raise distributed.KilledWorker("naivete-part", SimpleNamespace(address="tcp://127.0.0.1:9"), 0)


def test_a_task_that_the_scheduler_gave_up_is_an_error_of_the_cluster(near: Client, tmp_path: Path) -> None:
    rows = DaskRows(pieces(files_of(rows_of(13, 30), tmp_path / "parts", 1)), ColumnRoles("y"), client=near)
    with pytest.raises(ClusterError, match=r"one task ended every worker that took it.*give the workers more memory"):
        rows.fold(killed, int.__add__)


@pytest.mark.slow
def test_a_task_that_ends_its_workers_is_an_error_of_the_cluster(
    cluster: LocalCluster, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    rows = DaskRows(pieces(files_of(rows_of(13, 30), tmp_path / "parts", 1)), ColumnRoles("y"), client=client)
    with pytest.raises(ClusterError, match="one task ended every worker that took it"):
        rows.fold(deadly, int.__add__)


def test_a_connection_that_is_lost_while_results_come_is_an_error_of_the_cluster(
    near: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed(*_: Any, **__: Any) -> None:
        raise distributed.comm.CommClosedError("reset by peer")

    rows = DaskRows(pieces(files_of(rows_of(13, 30), tmp_path / "parts", 1)), ColumnRoles("y"), client=near)
    monkeypatch.setattr(near, "_gather", closed)
    with pytest.raises(ClusterError, match="the connection to the cluster was lost: reset by peer"):
        rows.fold(len, int.__add__)


def test_the_deadline_is_a_setting_of_dask(tmp_path: Path, near: Client) -> None:
    rows = DaskRows(pieces(files_of(rows_of(13, 9), tmp_path / "p", 1)), ColumnRoles("y"), client=near)
    assert rows._wait().deadline == 300
    with dask.config.set({"naivete.deadline": 7, "naivete.workers-deadline": 8}):
        assert (rows._wait().deadline, rows._wait().workers_deadline) == (7, 8)
    with dask.config.set({"naivete.deadline": "soon"}), pytest.raises(ParameterError, match=r"naivete\.deadline='soon'"):
        rows.fold(len, int.__add__)


def test_without_a_scheduler_the_wait_ends(tmp_path: Path) -> None:
    paths = files_of(rows_of(14, 40), tmp_path / "parts", 20)
    options = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}, "host": "127.0.0.1"}
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", **options)

    def gone(*_: Any) -> None:
        cluster.close()

    try:
        client = Client(cluster.scheduler_address, set_as_default=False)
        client._timeout = 1  # connecting may take long on a busy machine; connecting again is given up soon
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            rows = DaskRows(pieces(paths), ColumnRoles("y"), client=client, progress=gone, deadline=10)
            with pytest.raises(ClusterError, match=r"of 20 parts were counted in pass 1; check its workers"):
                rows.fold(slowly, int.__add__)
            client.close(timeout=1)
    finally:
        cluster.close()


# -- what is wrong with the data ---------------------------------------------------------------------------------------------


def test_a_poisoned_part_is_named_and_not_tried_again(dask_client: Client, tmp_path: Path) -> None:
    frame = rows_of(15, 60, gaps=False)
    frame.loc[[23, 44], "number"] = None
    paths = files_of(frame, tmp_path / "parts", 6)
    log = tmp_path / "log"
    rows = DaskRows(pieces(paths), ColumnRoles("y", "w"), client=dask_client)
    with pytest.raises(DataError, match=r"002\.parquet, row 4: column 'number': no value"):
        rows.fold(partial(noted, log=log), int.__add__)
    time.sleep(0.3)
    calls = Counter(Path(line).name for line in log.read_text().splitlines())
    assert calls["002.parquet"] == 1
    assert max(calls.values()) == 1


@pytest.mark.parametrize("where", ["csv", "parquet", "frame"])
def test_a_bad_value_is_named_with_its_place(dask_client: Client, tmp_path: Path, where: str) -> None:
    frame = rows_of(16, 40, gaps=False)
    frame["number"] = frame["number"].astype(object if where == "csv" else float)
    frame.loc[[17, 33], "number"] = "tall" if where == "csv" else np.inf
    if where == "frame":
        cases: Any = divided(frame, [10, 20, 30])
        expected = r"partition 1: column 'number', row 8: inf is infinity"
    elif where == "csv":
        for i in range(4):
            frame[10 * i : 10 * i + 10].to_csv(tmp_path / f"{i}.csv", index=False)
        cases, expected = tmp_path, r"1\.csv:9: column 'number': value 'tall' is not a finite number"
    else:
        cases = files_of(frame, tmp_path / "parts", 4)
        expected = r"001\.parquet.*row 8.*inf|001\.parquet, row 8: column 'number': inf"
    reading = {"kinds": {"number": "numeric"}} if where == "csv" else {}
    with pytest.raises(DataError, match=expected):
        TAN().fit_cases(cases, "y", weight="w", cluster=dask_client, **reading)


def test_errors_of_merging_are_named_too(near: Client) -> None:
    parts = [pd.DataFrame({"a": [1, 2], "y": y}) for y in ([0, 1], ["no", "yes"])]
    cases = partitioned(parts, parts[0].astype({"y": object})[:0])
    with pytest.raises(TypeError, match="the class mixes"):
        NaiveBayes().fit_cases(cases, "y", cluster=near)


def test_other_exceptions_come_as_they_are(near: Client) -> None:
    def broken(part: LabelledTable) -> int:
        raise ZeroDivisionError("by hand")

    with pytest.raises(ZeroDivisionError, match="by hand"):
        DaskRows(FrameSource(divided(rows_of(1, 9), [3])), ColumnRoles("y"), client=near).fold(broken, int.__add__)


def test_no_memory_on_a_worker_is_a_failure_of_its_part(near: Client) -> None:
    def greedy(part: LabelledTable) -> int:
        raise MemoryError("1 GB")

    with pytest.raises(MemoryError, match="a worker has no memory left for part 0: 1 GB"):
        DaskRows(FrameSource(divided(rows_of(1, 9), [3])), ColumnRoles("y"), client=near).fold(greedy, int.__add__)


@pytest.mark.parametrize("error", [DataError("x"), ParameterError("x"), FileError("x"), KindError("x", frozenset())], ids=repr)
def test_errors_of_workers_are_the_same_errors_here(dask_client: Client, error: Exception) -> None:
    rows = DaskRows(FrameSource(divided(rows_of(1, 9), [3])), ColumnRoles("y"), client=dask_client)
    with pytest.raises(type(error), match=r"^x") as raised:
        rows.fold(partial(raising, error=error), int.__add__)
    copy = pickle.loads(pickle.dumps(error))  # as it comes from another process
    assert type(raised.value) is type(error) is type(copy)
    assert str(copy) == str(error)


def test_warnings_of_the_workers_are_given_once_here(dask_client: Client) -> None:
    rows = DaskRows(FrameSource(dd.from_pandas(rows_of(17, 40), npartitions=4)), ColumnRoles("y"), client=dask_client)
    for go in (lambda: rows.fold(warning, int.__add__), lambda: sum(rows.map(warning))):
        with pytest.warns(NaiveteWarning) as seen:
            assert go() == 40
        assert [str(own.message) for own in seen] == ["the sea is rough"]


# -- the order of parts, progress and checkpoints ----------------------------------------------------------------------------


def test_map_keeps_the_order(near: Client) -> None:
    frame = rows_of(18, 100)
    rows = DaskRows(FrameSource(divided(frame, [*range(0, 100, 3)])), ColumnRoles("y"), client=near, rows=2)
    assert [value for part in rows.map(whole_numbers) for value in part] == frame["whole"].tolist()


def test_time_that_the_caller_spends_on_a_part_does_not_count_towards_the_deadline(
    near: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("naivete.cases.dask.rows.time", SimpleNamespace(monotonic=lambda: clock[0]))
    rows = DaskRows(FrameSource(divided(rows_of(18, 30), [*range(0, 30, 3)])), ColumnRoles("y"), client=near, deadline=100.0)
    sizes = []
    for size in rows.map(len):
        clock[0] += 1000
        sizes.append(size)
    assert sum(sizes) == 30


def test_map_ends_with_the_first_bad_part(near: Client, tmp_path: Path) -> None:
    frame = rows_of(19, 30, gaps=False)
    frame.loc[12, "number"] = None
    rows = DaskRows(FrameSource(divided(frame, [10, 20])), ColumnRoles("y"), client=near)
    with pytest.raises(DataError, match="partition 1, row 3"):
        list(rows.map(partial(noted, log=tmp_path / "log")))


def test_progress_counts_every_row_once(near: Client, tmp_path: Path) -> None:
    reports: list[tuple[int, int, int | None]] = []
    paths = files_of(rows_of(20, 90), tmp_path / "parts", 9)
    TAN().fit_cases(paths, "y", weight="w", cluster=near, progress=lambda *now: reports.append(now))
    assert {number for number, _, _ in reports} <= {1, 2, 3}
    assert all(done <= 90 and total == 90 for _, done, total in reports)


def test_finished_passes_are_not_repeated(dask_client: Client, tmp_path: Path) -> None:
    frame = rows_of(21, 200)
    paths = files_of(frame, tmp_path / "parts", 8)
    seen: list[int] = []

    def stopped(number: int, done: int, total: int | None) -> None:
        if number == 3:
            raise KeyboardInterrupt

    saved = {"weight": "w", "cluster": dask_client, "checkpoint": tmp_path / "saved", "every": 3600.0}
    with pytest.raises(KeyboardInterrupt):
        TAN().fit_cases(paths, "y", progress=stopped, **saved)
    found = TAN().fit_cases(paths, "y", progress=lambda number, *_: seen.append(number), **saved)
    assert model_hash(found) == in_memory(TAN, frame)
    assert set(seen) <= {3}
    assert not (tmp_path / "saved").exists()


def test_a_run_may_go_on_without_the_cluster(dask_client: Client, tmp_path: Path) -> None:
    frame = rows_of(22, 400)
    paths = files_of(frame, tmp_path / "parts", 10)

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TAN().fit_cases(paths, "y", weight="w", cluster=dask_client, checkpoint=tmp_path / "saved", progress=stopped)
    found = TAN().fit_cases(paths, "y", weight="w", checkpoint=tmp_path / "saved")
    assert model_hash(found) == in_memory(TAN, frame)


# -- clusters ----------------------------------------------------------------------------------------------------------------


def children() -> set[int]:
    """The processes that this one started, but for the one that Python keeps for all its pools."""
    pids = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended since
            if "resource_tracker" not in " ".join(child.cmdline()):
                pids.add(child.pid)
    return pids


def listening() -> set[tuple[str, int]]:
    """Where this process and its children listen."""
    places = set()
    for pid in {os.getpid(), *children()}:
        with suppress(psutil.NoSuchProcess):  # it has ended since
            connections = psutil.Process(pid).net_connections(kind="inet")
            places |= {(own.laddr.ip, own.laddr.port) for own in connections if own.status == psutil.CONN_LISTEN}
    return places


def test_a_cluster_of_our_own_is_alone_and_closed_on_every_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one ordinary test with processes: they also learn, from files and partitions, and their errors come back."""
    monkeypatch.setenv("NAIVETE_THREADS", "2")
    frame = rows_of(3, 60)
    paths, make = files_of(frame, tmp_path, 2), MAKERS[-1]
    before, others = children(), listening()
    with pytest.raises(KeyboardInterrupt), connected("local") as client:  # noqa: PT012
        assert client.run(os.getenv, "NAIVETE_THREADS") == dict.fromkeys(client.ncores(), "1")
        assert list(client.ncores().values()) == [1, 1]
        assert children() - before
        assert {ip for ip, _ in listening() - others} == {"127.0.0.1"}
        services = client.cluster.scheduler.services
        for path in ("status", "info/main/workers.html", "json/counts.json"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"http://127.0.0.1:{services['dashboard'].port}/{path}", timeout=120)
        for cases in (dd.from_pandas(frame, npartitions=2), paths):
            assert model_hash(make().fit_cases(cases, "y", weight="w", cluster=client)) == in_memory(make, frame)
        with pytest.raises(DataError, match=r"000\.parquet, row .*: column 'number': no value"):
            DaskRows(pieces(paths), ColumnRoles("y", "w"), client=client).fold(partial(noted, log=tmp_path / "log"), int.__add__)
        raise KeyboardInterrupt
    assert client.status == "closed"
    assert children() <= before


def test_a_local_cluster_waits_for_processes_that_start_slowly(threads_for_processes: list[LocalCluster]) -> None:
    before = dask.config.get("distributed.deploy.lost-worker-timeout")
    with connected("local"):
        assert len(threads_for_processes) == 1
        assert dask.config.get("distributed.deploy.lost-worker-timeout") == "1 hour"
    assert dask.config.get("distributed.deploy.lost-worker-timeout") == before


def test_local_by_name_with_threads_for_processes(tmp_path: Path, threads_for_processes: list[LocalCluster]) -> None:
    frame = rows_of(23, 50)
    paths = files_of(frame, tmp_path / "parts", 3)
    assert model_hash(NaiveBayes().fit_cases(paths, "y", weight="w", cluster="local")) == in_memory(NaiveBayes, frame)
    assert [cluster.status.name for cluster in threads_for_processes] == ["closed"]


@pytest.mark.slow
def test_local_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAIVETE_THREADS", "1")
    frame, before = rows_of(23, 50), children()
    paths = files_of(frame, tmp_path / "parts", 3)
    assert model_hash(NaiveBayes().fit_cases(paths, "y", weight="w", cluster="local")) == in_memory(NaiveBayes, frame)
    assert children() <= before


def test_a_cluster_may_be_an_address_an_object_or_the_client_there_is(tmp_path: Path, dask_client: Client) -> None:
    cluster = dask_client.cluster
    frame = rows_of(24, 50)
    whole = in_memory(NaiveBayes, frame)
    paths = files_of(frame, tmp_path / "parts", 3)
    for own in (cluster.scheduler_address, cluster, dask_client):
        assert model_hash(NaiveBayes().fit_cases(paths, "y", weight="w", cluster=own)) == whole
    assert dask_client.status == "running"
    with dask_client.as_current():
        assert model_hash(NaiveBayes().fit_cases(dd.from_pandas(frame, npartitions=3), "y", weight="w")) == whole


def test_what_cannot_be_a_cluster_is_refused(tmp_path: Path) -> None:
    frame = rows_of(25, 20)
    paths = files_of(frame, tmp_path / "parts", 1)
    with pytest.raises(ParameterError, match="cluster=17`: pass 'local'"):
        NaiveBayes().fit_cases(paths, "y", cluster=17)
    with dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}):
        with pytest.raises(ClusterError, match=r"cluster='tcp://127\.0\.0\.1:9'`: it cannot be reached"):
            NaiveBayes().fit_cases(paths, "y", cluster="tcp://127.0.0.1:9")
        with pytest.raises(ClusterError, match="cluster='nonsense://x'`: it cannot be reached"):
            NaiveBayes().fit_cases(paths, "y", cluster="nonsense://x")


def test_what_workers_cannot_get_at_is_refused(near: Client, tmp_path: Path) -> None:
    frame = rows_of(26, 20)
    with pytest.raises(ParameterError, match="workers read files and the partitions of a Dask DataFrame"):
        NaiveBayes().fit_cases(frame, "y", cluster=near)
    cases = divided(frame, [10])
    with pytest.raises(ParameterError, match="only runs on files can be resumed"):
        NaiveBayes().fit_cases(cases, "y", cluster=near, checkpoint=tmp_path / "saved")
    with pytest.raises(ParameterError, match="encoding: these are options for reading files"):
        NaiveBayes().fit_cases(cases, "y", cluster=near, encoding="latin-1")
    with pytest.raises(ParameterError, match="the Dask DataFrame: there is no column 'z'"):
        NaiveBayes().fit_cases(cases, "z", cluster=near)


def test_files_that_a_worker_does_not_see(near: Client, tmp_path: Path) -> None:
    paths = files_of(rows_of(27, 20), tmp_path / "parts", 2)
    files = pieces(paths)
    paths[1].unlink()
    with pytest.raises(FileError, match=r"001\.parquet.*the workers have to see the files as they are here"):
        DaskRows(files, ColumnRoles("y"), client=near).fold(len, int.__add__)


def test_two_fits_may_share_a_client(near: Client) -> None:
    rows = [DaskRows(FrameSource(divided(rows_of(i, 30), [10, 20])), ColumnRoles("y"), client=near) for i in range(2)]
    outer = iter(rows[0].map(len))
    assert next(outer) == 10
    assert rows[1].fold(len, int.__add__) == 30
    assert list(outer) == [10, 10]


def test_processes_that_cannot_be_started_are_reported_with_the_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: Any) -> None:
        raise RuntimeError("no new process now")

    monkeypatch.setattr("naivete.cases.dask.clusters.LocalCluster", refused)
    message = r"its processes cannot be started: no new process now; .* needs if __name__ == '__main__': around its statements"
    with pytest.raises(ClusterError, match=message), connected("local"):
        pass


@pytest.mark.slow
def test_an_unguarded_script_is_told_what_to_do(tmp_path: Path) -> None:
    path = files_of(rows_of(28, 20), tmp_path / "parts", 1)[0]
    script = tmp_path / "script.py"
    script.write_text(f"from naivete import NaiveBayes\nNaiveBayes().fit_cases({str(path)!r}, 'y', cluster='local')\n")
    environment = {**os.environ, "NAIVETE_THREADS": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env=environment, check=False)
    assert done.returncode == 1
    assert "ClusterError: `cluster='local'`: its processes cannot be started" in done.stderr
    assert "needs if __name__ == '__main__': around its statements" in done.stderr


# -- prediction --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS[:3])
def test_predictions_of_partitions_are_those_of_the_whole(near: Client, make: Make) -> None:
    frame = rows_of(30, 120)
    X = frame.drop(columns=["y", "w"])
    classifier = make().fit(X, frame["y"])
    cases = divided(frame, [0, 1, 50, 50])
    predicted = predict_partitions(classifier, cases)
    assert list(predicted.columns) == ["predicted", "P(no)", "P(perhaps)", "P(yes)"]
    found = predicted.compute(scheduler=near)
    assert found.index.equals(frame.index)
    assert predicted.dtypes.equals(found.dtypes)
    assert (found["predicted"].to_numpy() == classifier.predict(X)).all()
    assert found.drop(columns="predicted").to_numpy().tobytes() == classifier.predict_proba(X).tobytes()


def test_predictions_need_a_fitted_classifier_and_a_dask_frame() -> None:
    frame = rows_of(31, 20)
    with pytest.raises(NotFittedError):
        predict_partitions(NaiveBayes(), divided(frame, []))
    with pytest.raises(ParameterError, match="pass a Dask DataFrame"):
        predict_partitions(NaiveBayes().fit(frame[["whole"]], frame["y"]), frame)


def test_settings_of_the_encoder_travel(dask_client: Client) -> None:
    frame = rows_of(32, 80)
    make = partial(TAN, encoder=Encoder(missing="state", unlabelled="drop"))
    frame.loc[3, "y"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        found = make().fit_cases(dd.from_pandas(frame, npartitions=4), "y", weight="w", cluster=dask_client)
        assert model_hash(found) == in_memory(make, frame)


# The last test: the processes of the cluster are started again after it.
@pytest.mark.slow
def test_a_killed_worker_changes_nothing(client: Client, tmp_path: Path) -> None:
    frame = rows_of(11, 240)
    paths, whole = files_of(frame, tmp_path / "parts", 12), in_memory(TAN, frame)
    assert killed_fit(client, paths, (2, 0.3)) == whole
