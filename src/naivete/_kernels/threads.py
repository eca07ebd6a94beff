"""The shared threads: as many as the usual conventions say, and never a different result for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError

__all__ = ["SERIAL", "added_up", "cores", "ranges", "run_parallel", "threads"]

Task = TypeVar("Task")

Result = TypeVar("Result")

SERIAL = 1 << 18  # a job of fewer elementary steps is done before a thread would have woken up


def threads() -> int:
    """How many threads to use: NAIVETE_THREADS, else OMP_NUM_THREADS, else the processors this process may run on."""
    for name in ("NAIVETE_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
        if text and name == "NAIVETE_THREADS":
            raise ParameterError(f"NAIVETE_THREADS is {text!r}; it has to be a positive whole number")
    return cores()


def cores() -> int:
    """The processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_worker = threading.local()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    def mark() -> None:
        _worker.here = True

    return ThreadPoolExecutor(workers, thread_name_prefix="naivete", initializer=mark)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_parallel(function: Callable[[Task], Result], tasks: Sequence[Task], work: float = np.inf) -> list[Result]:
    """The results of all tasks in order, made by the shared threads unless the work is too small to be worth it.

    The calling thread takes its part; inside one of the shared threads everything is done on the spot.

    >>> run_parallel(abs, [1, -2, 3])
    [1, 2, 3]
    """
    alone = len(tasks) < 2 or work < SERIAL or getattr(_worker, "here", False)
    workers = 1 if alone else min(threads(), len(tasks))
    if workers < 2:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    waiting = iter(range(len(tasks)))  # next() of it is atomic

    failed = threading.Event()

    def help_out() -> None:
        for at in waiting:
            if failed.is_set():
                return
            try:
                results[at] = function(tasks[at])
            except BaseException:
                failed.set()
                raise

    helpers = [_pool(threads()).submit(help_out) for _ in range(workers - 1)]
    try:
        help_out()
    finally:
        for helper in helpers:
            helper.exception()
    for helper in helpers:
        helper.result()
    return results


def ranges(count: int, work: float, each: int = 1, multiple: int = 1) -> list[tuple[int, int]]:
    """The numbers below count in `each` ranges for every thread, or in one for little work; they begin at multiples."""
    parts = each * threads() if work >= SERIAL else 1
    step = max(multiple, -(-count // parts // multiple) * multiple)
    return [(lo, min(lo + step, count)) for lo in range(0, count, step)]


def added_up(private: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of the counts of all threads."""
    total: NDArray[Any] = private[0] if len(private) == 1 else private.sum(axis=0, dtype=private.dtype)
    return total
