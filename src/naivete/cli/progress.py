"""Progress of long work on standard error: a bar on a terminal where rich is installed, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from naivete.cli.output import escaped

__all__ = ["progress"]

EVERY: Final = 5.0
"""Seconds between two lines."""

Step = Callable[[str], None]


@contextmanager
def progress(what: str, total: int, *, wanted: bool = False) -> Iterator[Step]:
    """A function to be called after every one of `total` steps with what was done.

    Parameters
    ----------
    what : the work, in a word or two.
    total : how many steps there are.
    wanted : show it although standard error is not a terminal.
    """
    if not wanted and not _terminal():
        yield _nothing
        return
    bar = _bar() if _terminal() else None
    if bar is None:
        yield _Lines(what, total)
        return
    with bar:
        task = bar.add_task(escaped(what), total=total, step="")
        yield lambda step: bar.update(task, advance=1, step=escaped(step))


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _nothing(step: str) -> None:
    """Say nothing."""


def _bar() -> Any:
    """The bar of rich, None where it is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    plain = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    return Progress(*plain, TextColumn("{task.fields[step]}", markup=False), console=Console(stderr=True), transient=True)


class _Lines:
    """A line at the end, and every few seconds before."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done, self.told = escaped(what), total, 0, time.monotonic()

    def __call__(self, step: str) -> None:
        """One more step is done."""
        self.done += 1
        now = time.monotonic()
        if now - self.told >= EVERY or self.done == self.total:
            self.told = now
            print(f"naivete: {self.what}: {self.done} of {self.total} ({escaped(step)})", file=sys.stderr, flush=True)
