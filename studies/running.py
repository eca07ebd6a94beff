"""Helpers to run experiments: evaluation with progress, several processes, and no warnings about small training sets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from naivete import NaiveteWarning
from naivete.evaluation import LabelledTable, Progress, Protocol, Results, run

__all__ = ["in_parallel", "quiet", "results_of"]

Task = TypeVar("Task")
Result = TypeVar("Result")


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the warnings of the library: small training sets lack classes and values, which the reports mention."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        yield


def results_of(
    models: Mapping[str, Any],
    name: str,
    cases: LabelledTable,
    protocol: Protocol,
    progress: Progress,
    folder: Path | None = None,
) -> Results:
    """Evaluate models on a data set; `folder` keeps finished divisions, so that an interrupted run continues."""
    finished = 0

    def report(now: int, _: int, step: str) -> None:
        nonlocal finished
        for _ in range(now - finished):
            progress(step or name)
        finished = now

    with quiet():
        return run(models, {name: cases}, protocol, folder=folder, progress=report)


def in_parallel(function: Callable[[Task], Result], tasks: Mapping[str, Task], progress: Progress, jobs: int) -> list[Result]:
    """Return the results of named tasks in their order, computed by so many processes."""
    from joblib import Parallel, cpu_count, delayed, parallel_config  # type: ignore[import-untyped]

    results = []
    with parallel_config(backend="loky", inner_max_num_threads=1):
        work = Parallel(min(jobs, cpu_count()), return_as="generator")(delayed(function)(task) for task in tasks.values())
        for name, result in zip(tasks, work, strict=True):
            results.append(result)
            progress(name)
    return results
