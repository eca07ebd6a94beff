"""Progress of long work on standard error: a bar on a terminal where rich is installed, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from naivete.cli.output import escaped

__all__ = ["Passes", "pass_progress", "progress"]

EVERY: Final = 5.0
"""Seconds between two lines."""

Step = Callable[[str], None]
Passes = Callable[[int, int, int | None], None]
"""Told the number of the pass, how many rows of it are done, and how many there are, where that is known."""


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


@contextmanager
def pass_progress(what: str, *, wanted: bool = False, share: Callable[[], float] | None = None) -> Iterator[Passes]:
    """A function to be called whenever some rows of a pass are done.

    Parameters
    ----------
    what : the work, in a word or two.
    wanted : show it although standard error is not a terminal.
    share : the share of the bytes that were read in this pass, from 0 to 1, for files that do not tell how many rows they have.
    """
    if not wanted and not _terminal():
        yield _nothing_of_passes
        return
    pace = _Pace(share)
    bar = _bar_of_passes() if _terminal() else None
    if bar is None:
        yield _PassLines(what, pace)
        return
    with bar:
        task = bar.add_task(escaped(what), total=1.0, step="")

        def told(number: int, done: int, total: int | None) -> None:
            text = pace.told(number, done, total)
            bar.update(task, total=None if pace.part is None else 1.0, completed=pace.part or 0.0, step=text)

        yield told


def _nothing_of_passes(number: int, done: int, total: int | None) -> None:
    """Say nothing."""


class _Pace:
    """How far the passes have come, how fast, and how long the one at hand will take."""

    def __init__(self, share: Callable[[], float] | None) -> None:
        self.share = share
        self.number = self.done = self.speed = 0
        self.started = self.last = time.monotonic()
        self.part: float | None = None

    def told(self, number: int, done: int, total: int | None) -> str:
        """What to say after so many rows of a pass."""
        now = time.monotonic()
        if number != self.number or done < self.done:  # another pass, or the same one again
            self.started = self.last
        self.number, self.done, self.last = number, done, now
        took = max(now - self.started, 1e-9)
        self.speed = round(done / took)
        self.part = min(1.0, done / total) if total else self.share() if self.share is not None else None
        told = f"pass {number}: {_rows(done, total)}"
        if self.part is None:
            return told
        read = "" if total else f", {self.part:.0%} of the bytes"
        return f"{told}{read}, {_clock(took * (1 - self.part) / self.part) if self.part else '?'} left"


def _rows(done: int, total: int | None) -> str:
    """How many rows are done.

    >>> _rows(12_345_678, 100_000_000), _rows(1_500, 20_000), _rows(2_500_000, None)
    ('12.3 of 100 M rows', '1,500 of 20,000 rows', '2.5 M rows')
    """
    if max(done, total or 0) < 1_000_000:
        return f"{done:,} rows" if total is None else f"{done:,} of {total:,} rows"
    parts = [f"{count / 1e6:,.{0 if count >= 1e8 else 1}f}" for count in (done, total) if count is not None]
    return f"{' of '.join(parts)} M rows"


def _clock(seconds: float) -> str:
    """The time in hours, minutes and seconds.

    >>> _clock(42), _clock(3723)
    ('0:42', '1:02:03')
    """
    minutes, rest = divmod(round(min(seconds, 3.6e7)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _PassLines:
    """A line every few seconds."""

    def __init__(self, what: str, pace: _Pace) -> None:
        self.what, self.pace, self.spoke = escaped(what), pace, time.monotonic()

    def __call__(self, number: int, done: int, total: int | None) -> None:
        """So many rows of a pass are done."""
        text = self.pace.told(number, done, total)
        if self.pace.last - self.spoke >= EVERY:
            self.spoke = self.pace.last
            print(f"naivete: {self.what}: {text} ({self.pace.speed:,} rows per second)", file=sys.stderr, flush=True)


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


def _bar_of_passes() -> Any:
    """The bar of rich for work in passes, None where it is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    plain = [TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[step]}", markup=False)]
    return Progress(*plain, console=Console(stderr=True), transient=True)


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
