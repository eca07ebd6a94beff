"""One contender on some data sets, each in a process of its own; prints one line of JSON for each fold.

The libraries are imported once. Then a process is forked for each data set, so that the measurements of a set do not depend on
the sets before it, and a set that exceeds the limits or crashes does not affect the others.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import contenders, sets
from benchmarks.accuracy.results import Record
from benchmarks.measuring import Peak

SMALLEST: Final = 1e-15
"""The smallest probability of the true class in the log loss."""
SHORT: Final = 0.03
MOST_CALLS: Final = 30
"""A call is repeated until its repetitions take SHORT seconds of CPU time, at most MOST_CALLS times."""
PATIENCE: Final = 30
"""A process is ended after this many times its limit of CPU time, in seconds on the clock."""
FAILED: Final = 3
"""The exit status of a process that has printed why it failed."""

Job = dict[str, Any]


def measures(probabilities: NDArray[np.float64], truth: NDArray[Any]) -> dict[str, float]:
    """Return log loss (nats), error, Brier score (sum over the classes), and the number of cases with true class of probability 0.

    >>> measures(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0]))
    {'log_loss': 0.34657359027997264, 'error': 0.0, 'brier': 0.25, 'zeros': 0}
    """
    if not np.isfinite(probabilities).all():
        raise ValueError("some probabilities are not finite numbers")
    rows = np.arange(len(truth))
    true = probabilities[rows, truth].astype(float)
    rest = probabilities.astype(float)  # minus the indicator of the true class
    rest[rows, truth] -= 1
    return {
        "log_loss": float(-np.log(np.clip(true, SMALLEST, 1)).mean()),
        "error": float((probabilities.argmax(axis=1) != truth).mean()),
        "brier": float((rest**2).sum(axis=1).mean()),
        "zeros": int((true <= 0).sum()),
    }


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of a call, its seconds, and the CPU seconds of all threads; short calls are repeated and averaged."""
    wall, cpu, calls = time.perf_counter(), time.process_time(), 0
    while calls == 0 or (calls < MOST_CALLS and time.process_time() - cpu < SHORT):
        result = work()
        calls += 1
    return result, (time.perf_counter() - wall) / calls, (time.process_time() - cpu) / calls


def run_all(job: Job) -> None:
    """Run a contender on several data sets; after each, print a record with "ended", and with "failed" if it did not succeed."""
    contenders.import_library(job["contender"])
    for name, folds in job["sets"].items():
        child = os.fork()
        if child == 0:
            os._exit(_succeeds(name, folds, job))
        _, status = os.waitpid(child, 0)
        failure = _failure(os.waitstatus_to_exitcode(status), job["cpu_limit"])
        print(json.dumps({"set": name, "ended": True, **({"failed": failure} if failure else {})}), flush=True)


def _succeeds(name: str, folds: list[int], job: Job) -> int:
    """Run a contender on one set within the limits and return the exit status."""
    seconds = int(job["cpu_limit"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    signal.alarm(PATIENCE * seconds)
    try:
        for record in fold_records(name, folds, job):
            print(json.dumps(record), flush=True)
    except Exception as error:  # noqa: BLE001 - any error of a contender is a result
        print(json.dumps({"set": name, "failed": f"{type(error).__name__}: {error}"[:300]}), flush=True)
        return FAILED
    return 0


def _failure(status: int, cpu_limit: float) -> str | None:
    """Return why a process did not end regularly; None if it did or printed the reason itself."""
    if status in (-signal.SIGXCPU, -signal.SIGALRM):
        return f"over {cpu_limit:g} s of CPU time"
    return f"ended with status {status}" if status not in (0, FAILED) else None


def fold_records(name: str, folds: list[int], job: Job) -> Iterator[Record]:
    """Yield the record of each fold."""
    cases = sets.read(name, Path(job["data"]), job["rows"])
    fit, predict = contenders.prepared(job["contender"], cases)
    for split in sets.splits(cases, job["folds"]):
        if split.fold not in folds:
            continue
        peak = Peak()
        _, fit_s, fit_cpu_s = timed(lambda rows=split.train: fit(rows))
        fit_bytes = peak.beyond()
        probabilities, predict_s, predict_cpu_s = timed(lambda rows=split.test: predict(rows))
        yield {
            "set": name,
            "fold": split.fold,
            **measures(probabilities, cases.labels[split.test]),
            "fit_s": fit_s,
            "fit_cpu_s": fit_cpu_s,
            "predict_s": predict_s,
            "predict_cpu_s": predict_cpu_s,
            "fit_bytes": fit_bytes,
            "train": len(split.train),
            "test": len(split.test),
            "features": len(cases.features.columns),
            "classes": len(cases.classes),
        }


if __name__ == "__main__":
    run_all(json.loads(sys.argv[1]))
