"""The shared thread pool; results never depend on the number of threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["NUMPY_STEPS", "SERIAL", "cores", "ranges", "run_parallel", "sum_private", "threads"]

Task = TypeVar("Task")

Result = TypeVar("Result")

SERIAL = 1 << 20
"""Work of fewer elementary steps is done by the calling thread: starting others would take longer."""

NUMPY_STEPS = 4
"""A step of a kernel in NumPy takes about as long as this many steps of a compiled one."""


def threads() -> int:
    """Return the number of threads to use: NAIVETE_THREADS, else OMP_NUM_THREADS, else the processors available to the process."""
    for name in ("NAIVETE_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdecimal() and int(text) > 0:
            return int(text)
        if text and name == "NAIVETE_THREADS":
            raise ParameterError(f"the environment variable NAIVETE_THREADS is {text!r}; set it to a positive integer")
    return cores()


def cores() -> int:
    """Return the number of processors on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_worker = threading.local()


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    def mark() -> None:
        _worker.here = True

    return ThreadPoolExecutor(workers, thread_name_prefix="naivete", initializer=mark)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def run_parallel(function: Callable[[Task], Result], tasks: Sequence[Task], work: float = np.inf) -> list[Result]:
    """Return the results of all tasks in order, computed by the shared threads unless the work is too small.

    The calling thread also processes tasks. A call from inside one of the shared threads runs all tasks in that thread.

    Parameters
    ----------
    function : called once with each task.
    tasks : the arguments of the calls.
    work : about how many elementary steps all tasks take together; by default enough to use all threads.

    >>> run_parallel(abs, [1, -2, 3])
    [1, 2, 3]
    """
    serial = len(tasks) < 2 or work < SERIAL or getattr(_worker, "here", False)
    workers = 1 if serial else min(threads(), len(tasks))
    if workers < 2:
        return [function(task) for task in tasks]
    results: list[Any] = [None] * len(tasks)
    remaining = iter(range(len(tasks)))  # shared by the threads: next() is atomic
    failed = threading.Event()

    def run_remaining() -> None:
        for i in remaining:
            if failed.is_set():
                return
            try:
                results[i] = function(tasks[i])
            except BaseException:
                failed.set()
                raise

    helpers = [_pool(threads()).submit(run_remaining) for _ in range(workers - 1)]
    try:
        run_remaining()
    finally:
        for helper in helpers:
            helper.exception()
    for helper in helpers:
        helper.result()
    return results


def ranges(count: int, work: float, each: int = 1, multiple: int = 1) -> list[tuple[int, int]]:
    """Return `range(count)` divided into `each` ranges for every thread, or one range if there is little work.

    Every range starts at a multiple of `multiple`.
    """
    parts = each * threads() if work >= SERIAL else 1
    step = max(multiple, -(-count // parts // multiple) * multiple)
    return [(lo, min(lo + step, count)) for lo in range(0, count, step)]


def sum_private(private: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of the counts that the threads have made separately.  # (part, ...)"""
    total: NDArray[Any] = private[0] if len(private) == 1 else private.sum(axis=0, dtype=private.dtype)
    return total
