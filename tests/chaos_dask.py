"""Workers that are killed, stopped or of another version: `python -m tests.chaos_dask [--runs N] [--seed S] [scenario ...]`.

The scenario "kills" uses one cluster for all its runs. In every second run one of its two workers is killed, in the others both, at
a random moment of a random pass; the model must have the hash of the model that one process learns. The other scenarios lose the
scheduler, all workers for good, or let a worker hang, or have another version of the library: the model must be the same, or an error of the
library must say why, within the time that the library states.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

import naivete
from naivete import KDB, TAN, NaiveBayes, model_hash
from naivete.cases.dask import ClusterError, connected
from naivete.classifiers.base import NetworkClassifier

FILES, ROWS = 40, 4000
MODELS: tuple[Callable[[], NetworkClassifier], ...] = (NaiveBayes, TAN, KDB)
PASSES = {"NaiveBayes": 1, "TAN": 3, "KDB": 3}
SLACK = 60.0
"""Seconds beyond a deadline that a busy machine may need."""


def frame_of_rows(seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Return rows with texts, numbers, missing values and weights that are not whole numbers, and a class `y`."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "text": np.array(["a", "b", "c", "d"])[(hidden + rng.integers(0, 2, rows)) % 4],
            "whole": (hidden * 2 + rng.integers(0, 3, rows)) % 5,
            "number": np.round(hidden + rng.normal(size=rows), 3),
        }
    )
    frame["text"] = frame["text"].where(rng.random(rows) > 0.2, None)
    frame["y"] = np.array(["no", "yes", "perhaps"])[(hidden + (rng.random(rows) < 0.2)) % 3]
    return frame.assign(w=rng.random(rows) * 3)


def write_files(frame: pd.DataFrame, folder: Path, count: int = FILES) -> list[Path]:
    """Write the rows to so many Parquet files, and return their paths."""
    paths = [folder / f"{i:03}.parquet" for i in range(count)]
    for path, rows in zip(paths, np.array_split(np.arange(len(frame)), count), strict=True):
        pq.write_table(pa.Table.from_pandas(frame.iloc[rows], preserve_index=False), path)
    return paths


@dataclass
class At:
    """A progress function that does something once, when a part of the rows of some pass is counted.

    Parameters
    ----------
    number : the number of the pass.
    share : the part of the rows.
    action : what is done then.
    """

    number: int
    share: float
    action: Callable[[], object]
    done: bool = field(default=False, init=False)

    def __call__(self, number: int, rows: int, total: int | None) -> None:
        assert total is not None
        if not self.done and number == self.number and rows >= self.share * total:
            self.done = True
            self.action()


def pids_of(client: Client) -> list[int]:
    """Return the processes of all workers."""
    return list(client.run(os.getpid).values())


def kill(pids: Sequence[int]) -> None:
    """Kill processes."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@dataclass
class Chaos:
    """The rows and the models of one process, with which the models of the cluster are compared.

    Parameters
    ----------
    folder : an empty folder for the files.
    seed : the seed of all random choices.
    """

    folder: Path
    seed: int = 0

    def __post_init__(self) -> None:
        frame = frame_of_rows(self.seed)
        self.rng = np.random.default_rng(self.seed)
        self.paths = write_files(frame, self.folder)
        X, y, w = frame.drop(columns=["y", "w"]), frame["y"], frame["w"]
        self.expected = {make.__name__: model_hash(make().fit(X, y, w)) for make in MODELS}

    def learned(self, make: Callable[[], NetworkClassifier], client: Client, progress: Any = None) -> bool:
        """Learn on a cluster, and return whether the model is the expected one."""
        model = make().fit_cases(self.paths, "y", weight="w", cluster=client, progress=progress)
        return model_hash(model) == self.expected[make.__name__]

    def killed_run(self, client: Client, run: int) -> tuple[bool, str]:
        """Learn while one worker (in even runs) or all workers (in odd runs) of the cluster are killed."""
        client.wait_for_workers(2, timeout=300)
        make = MODELS[run // 2 % len(MODELS)]
        pids = pids_of(client)[: 1 if run % 2 == 0 else None]
        at = At(int(self.rng.integers(1, PASSES[make.__name__] + 1)), float(self.rng.random() * 0.7), lambda: kill(pids))
        same = self.learned(make, client, at)
        text = f"{make.__name__}, {len(pids)} killed in pass {at.number} after {at.share:.0%}"
        return same and at.done, text if at.done else f"{text}: nobody was killed"

    def refused(self, client: Client, at: At | None, seconds: float, message: str) -> tuple[bool, str]:
        """Learn where this must end in an error of the library with these words, within so many seconds."""
        start = time.monotonic()
        try:
            self.learned(TAN, client, at)
        except ClusterError as error:
            taken = time.monotonic() - start
            return message in str(error) and taken < seconds + SLACK, f"refused after {taken:.0f} s: {error}"
        return False, "no error"


@contextmanager
def cluster_of_processes(workers: int = 2, **settings: Any) -> Iterator[Client]:
    """A client of a new cluster of worker processes, which are started again when they end."""
    options = {"host": "127.0.0.1", "dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour", **settings}),
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, memory_limit=0, **options) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def separate_processes(folder: Path, *libraries: Path | None) -> Iterator[tuple[Client, list[subprocess.Popen[bytes]]]]:
    """A client of a scheduler and of workers that nobody starts again, and their processes.

    Parameters
    ----------
    folder : where the scheduler writes its address.
    libraries : for each worker a folder that has another copy of the library; None for this one.
    """
    file = folder / f"scheduler-{time.monotonic_ns()}.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    processes = [_started([*command, "--scheduler-file", str(file)], None)]
    try:
        for library in libraries:
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-nanny"]
            processes.append(_started([*worker, "--no-dashboard", "--nthreads", "1", "--host", "127.0.0.1"], library))
        with ExitStack() as stack:
            client = stack.enter_context(Client(scheduler_file=str(file), set_as_default=False, timeout=120))
            client.wait_for_workers(len(libraries), timeout=300)
            yield client, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _started(command: Sequence[str], library: Path | None) -> subprocess.Popen[bytes]:
    here = [str(Path(naivete.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*([] if library is None else [str(library)]), *here])}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kills(chaos: Chaos, runs: int) -> Iterator[tuple[bool, str]]:
    """Yield the result of every run on one cluster whose workers are killed."""
    with connected("local") as client:
        for run in range(runs):
            yield chaos.killed_run(client, run)


def all_workers_lost(chaos: Chaos, _: int) -> Iterator[tuple[bool, str]]:
    """All workers are killed, and nobody starts others."""
    with dask.config.set({"naivete.workers-deadline": 5}), separate_processes(chaos.folder, None, None) as (client, processes):
        at = At(2, 0.2, lambda: kill([process.pid for process in processes[1:]]))
        yield chaos.refused(client, at, 5, "all workers were lost, and no other has come for 5 seconds")


def scheduler_lost(chaos: Chaos, _: int) -> Iterator[tuple[bool, str]]:
    """The scheduler is killed."""
    with (
        dask.config.set({"naivete.deadline": 20, "distributed.comm.timeouts.connect": "5 s"}),
        separate_processes(chaos.folder, None, None) as (client, processes),
    ):
        yield chaos.refused(client, At(2, 0.2, lambda: kill([processes[0].pid])), 20, "parts were counted in pass 2")


def straggler(chaos: Chaos, _: int) -> Iterator[tuple[bool, str]]:
    """A worker hangs: its tasks are given to another one after Dask's `worker-ttl`, or the wait ends after `naivete.deadline`."""
    with cluster_of_processes(**{"distributed.scheduler.worker-ttl": "5 s"}) as client:
        stopped = pids_of(client)[0]
        at = At(2, 0.2, lambda: os.kill(stopped, signal.SIGSTOP))
        yield chaos.learned(TAN, client, at) and at.done, "a worker that hung was replaced"
    with cluster_of_processes() as client, dask.config.set({"naivete.deadline": 5}):
        pid = pids_of(client)[0]
        yield chaos.refused(client, At(2, 0.2, lambda: os.kill(pid, signal.SIGSTOP)), 5, "these have not finished: tcp://")
        os.kill(pid, signal.SIGCONT)
        yield chaos.learned(TAN, client), "the same cluster, when the worker answered again"


def other_version(chaos: Chaos, _: int) -> Iterator[tuple[bool, str]]:
    """The workers have another version of the library: with another number, other lines, or one that does not compare versions."""
    source = Path(naivete.__file__).parent
    for name, file, old, new, message in (
        ("number", "__init__.py", '__version__ = "', '__version__ = "9.', "has naivete 9."),
        (
            "line",
            "counts/scores.py",
            "from __future__",
            "# changed\nfrom __future__",
            "install the same version of naivete on all machines",
        ),
        (
            "unchecked",
            "cases/dask/library.py",
            "def library()",
            "def other()",
            "install the same version of naivete on all machines",
        ),
    ):
        copy = chaos.folder / name
        shutil.copytree(source, copy / "naivete", ignore=shutil.ignore_patterns("__pycache__"))
        changed = copy / "naivete" / file
        changed.write_text(changed.read_text().replace(old, new))
        with dask.config.set({"naivete.deadline": 60}), separate_processes(chaos.folder, copy, copy) as (client, _processes):
            yield chaos.refused(client, None, 60, message)


SCENARIOS: dict[str, Callable[[Chaos, int], Iterator[tuple[bool, str]]]] = {
    "kills": kills,
    "workers": all_workers_lost,
    "scheduler": scheduler_lost,
    "straggler": straggler,
    "version": other_version,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios, print a line for each run, and return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos_dask", description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []], help=f"{', '.join(SCENARIOS)}; by default all")
    parser.add_argument("--runs", type=int, default=50, help="runs of the scenario kills")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    os.environ["NAIVETE_THREADS"] = "2"  # two workers of the local cluster
    warnings.simplefilter("ignore", ResourceWarning)  # sockets of killed workers
    failures = 0
    for name in options.scenarios or SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            results, longest, start = [], 0.0, time.monotonic()
            for passed, text in SCENARIOS[name](Chaos(Path(folder), options.seed), options.runs):
                now = time.monotonic()
                results.append(passed)
                longest, start, seconds = max(longest, now - start), now, now - start
                print(f"{name} {len(results)}: {'passed' if passed else 'FAILED'} in {seconds:.1f} s: {text}", flush=True)
        print(f"{name}: {sum(results)} of {len(results)} passed, the longest took {longest:.0f} s", flush=True)
        failures += len(results) - sum(results)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
