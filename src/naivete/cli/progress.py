"""Progress on standard error: a bar on a terminal if rich is installed, else a line every few seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from naivete.cli.output import escaped

__all__ = ["Bytes", "Passes", "pass_progress", "progress", "reading_progress"]

INTERVAL: Final = 5.0
"""The seconds between two lines."""
DELAY: Final = 1.0
"""The seconds after which the progress of reading a file is shown."""

Step = Callable[[str], None]
Passes = Callable[[int, int, int | None], None]
"""A function of the number of the pass, the rows of it that are done, and the number of rows, None if that is unknown."""


Bytes = Callable[[int, int], None]
"""A function of the bytes of a file that have been read, and of the size of the file."""


@contextmanager
def progress(task: str, total: int, *, wanted: bool = False) -> Iterator[Step]:
    """Show the progress of a task; the context is a function to call after each step, with a label to show.

    Parameters
    ----------
    task : the name of the task.
    total : the number of steps.
    wanted : whether to show progress even if standard error is not a terminal.
    """
    if not wanted and not _terminal():
        yield _no_progress
        return
    bar = _bar() if _terminal() else None
    if bar is None:
        yield _StepLines(task, total)
        return
    with bar:
        bar_id = bar.add_task(escaped(task), total=total, step="")
        yield lambda label: bar.update(bar_id, advance=1, step=escaped(label))


@contextmanager
def pass_progress(task: str, *, wanted: bool = False, share: Callable[[], float] | None = None) -> Iterator[Passes]:
    """Show the progress of passes over the rows; the context is a function to call whenever some rows of a pass are done.

    Parameters
    ----------
    task : the name of the task.
    wanted : whether to show progress even if standard error is not a terminal.
    share : returns the share of the bytes that were read in this pass, from 0 to 1, for files whose number of rows is unknown.
    """
    if not wanted and not _terminal():
        yield _no_pass_progress
        return
    pace = _Pace(share)
    bar = _pass_bar() if _terminal() else None
    if bar is None:
        yield _PassLines(task, pace)
        return
    with bar:
        bar_id = bar.add_task(escaped(task), total=1.0, step="")

        yield _PassBar(bar, bar_id, pace)


@contextmanager
def reading_progress(name: str, *, wanted: bool = False) -> Iterator[Bytes]:
    """Show how much of a file has been read, if that takes long; the context is a function to call after each part.

    Parameters
    ----------
    name : the name of the file.
    wanted : whether to show progress even if standard error is not a terminal.
    """
    if not wanted and not _terminal():
        yield _no_reading_progress
        return
    bar = _pass_bar() if _terminal() else None
    shown = _ByteLines(name) if bar is None else _ByteBar(name, bar)
    try:
        yield shown
    finally:
        if bar is not None:
            bar.stop()


def _no_reading_progress(position: int, size: int) -> None:
    """Do nothing."""


class _ByteLines:
    """Progress of reading a file as lines on standard error, one every few seconds."""

    def __init__(self, name: str) -> None:
        self.name, self.printed = escaped(name), time.monotonic()

    def __call__(self, position: int, size: int) -> None:
        """Report that some bytes have been read."""
        now = time.monotonic()
        if now - self.printed >= INTERVAL:
            self.printed = now
            print(f"naivete: reading {self.name}: {position / size:.0%} of {size / 1e6:,.1f} MB", file=sys.stderr, flush=True)


class _ByteBar:
    """Progress of reading a file as a bar, which appears after a second."""

    def __init__(self, name: str, bar: Any) -> None:
        self.name, self.bar, self.started, self.task = escaped(name), bar, time.monotonic(), None

    def __call__(self, position: int, size: int) -> None:
        """Report that some bytes have been read."""
        if self.task is None:
            if time.monotonic() - self.started < DELAY:
                return
            self.bar.start()
            self.task = self.bar.add_task(f"reading {self.name}", total=size, step="")
        self.bar.update(self.task, completed=position, step=f"{position / size:.0%} of {size / 1e6:,.1f} MB")


def _no_pass_progress(number: int, done: int, total: int | None) -> None:
    """Do nothing."""


class _Pace:
    """The speed of the passes, and the time that the current pass will take."""

    def __init__(self, share: Callable[[], float] | None) -> None:
        self.share = share
        self.number = self.done = self.speed = 0
        self.started = self.last = time.monotonic()
        self.part: float | None = None
        self.work: float | None = None  # the share of the work of a learner that is done, where it is known

    def text(self, number: int, done: int, total: int | None) -> str:
        """Return the text to show when `done` of `total` rows of a pass are done."""
        now = time.monotonic()
        if number != self.number or done < self.done:  # another pass, or the same pass from its beginning
            self.started = self.last
        self.number, self.done, self.last = number, done, now
        seconds = max(now - self.started, 1e-9)
        self.speed = round(done / seconds)
        self.part = min(1.0, done / total) if total else self.share() if self.share is not None else None
        rows = f"pass {number}: {_rows(done, total)}"
        if self.work is not None:
            self.part = self.work
            return f"about {self.work:.0%} of the work, {rows}"
        if self.part is None:
            return rows
        read = "" if total else f", {self.part:.0%} of the bytes"
        return f"{rows}{read}, {_clock(seconds * (1 - self.part) / self.part) if self.part else '?'} left"


def _rows(done: int, total: int | None) -> str:
    """Return the number of rows that are done, as text.

    >>> _rows(12_345_678, 100_000_000), _rows(1_500, 20_000), _rows(2_500_000, None)
    ('12.3 of 100 M rows', '1,500 of 20,000 rows', '2.5 M rows')
    """
    if max(done, total or 0) < 1_000_000:
        return f"{done:,} rows" if total is None else f"{done:,} of {total:,} rows"
    parts = [f"{count / 1e6:,.{0 if count >= 1e8 else 1}f}" for count in (done, total) if count is not None]
    return f"{' of '.join(parts)} M rows"


def _clock(seconds: float) -> str:
    """Return a time in hours, minutes and seconds.

    >>> _clock(42), _clock(3723)
    ('0:42', '1:02:03')
    """
    minutes, rest = divmod(round(min(seconds, 3.6e7)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _PassBar:
    """Progress of passes as a bar: of the rows of a pass, or of the work of a learner where that is known."""

    def __init__(self, bar: Any, task: Any, pace: _Pace) -> None:
        self.bar, self.task, self.pace = bar, task, pace

    def __call__(self, number: int, done: int, total: int | None) -> None:
        """Report that `done` of `total` rows of a pass are done."""
        text = self.pace.text(number, done, total)
        completed = self.pace.part
        self.bar.update(self.task, total=None if completed is None else 1.0, completed=completed or 0.0, step=text)

    def learned(self, share: float) -> None:
        """Report the share of the work of a learner that is done."""
        self.pace.work = share
        self.bar.update(self.task, total=1.0, completed=share)


class _PassLines:
    """Progress of passes as lines on standard error, one every few seconds."""

    def __init__(self, task: str, pace: _Pace) -> None:
        self.task, self.pace, self.printed = escaped(task), pace, time.monotonic()

    def __call__(self, number: int, done: int, total: int | None) -> None:
        """Report that `done` of `total` rows of a pass are done."""
        text = self.pace.text(number, done, total)
        if self.pace.last - self.printed >= INTERVAL:
            self.printed = self.pace.last
            print(f"naivete: {self.task}: {text} ({self.pace.speed:,} rows per second)", file=sys.stderr, flush=True)

    def learned(self, share: float) -> None:
        """Report the share of the work of a learner that is done."""
        self.pace.work, now = share, time.monotonic()
        if now - self.printed >= INTERVAL:
            self.printed = now
            print(f"naivete: {self.task}: about {share:.0%} of the work", file=sys.stderr, flush=True)


def _terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _no_progress(label: str) -> None:
    """Do nothing."""


def _bar() -> Any:
    """Return a progress bar for steps, None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()]
    return Progress(*columns, TextColumn("{task.fields[step]}", markup=False), console=Console(stderr=True), transient=True)


def _pass_bar() -> Any:
    """Return a progress bar for passes, None if rich is not installed."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[step]}", markup=False)]
    return Progress(*columns, console=Console(stderr=True), transient=True)


class _StepLines:
    """Progress of steps as lines on standard error, one every few seconds and one at the end."""

    def __init__(self, task: str, total: int) -> None:
        self.task, self.total, self.done, self.printed = escaped(task), total, 0, time.monotonic()

    def __call__(self, label: str) -> None:
        """Report that one more step is done."""
        self.done += 1
        now = time.monotonic()
        if now - self.printed >= INTERVAL or self.done == self.total:
            self.printed = now
            print(f"naivete: {self.task}: {self.done} of {self.total} ({escaped(label)})", file=sys.stderr, flush=True)
