"""Rows in files, or in anything else that hands them out table by table: read ahead, counted, and taken up again."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from naivete.data.files import Files, KindError
from naivete.data.labelled import ColumnRoles, LabelledTable
from naivete.data.table import Table
from naivete.errors import FileError, NaiveteWarning, warn
from naivete.storage.checkpoints import Checkpoint

__all__ = ["ROWS", "FileRows", "Progress", "Source", "ahead"]

T = TypeVar("T")

ROWS = 1 << 18
"""How many rows are decoded at a time where no memory budget says otherwise."""

Progress = Callable[[int, int, int | None], None]
"""Told the number of the pass, how many rows of it are done, and how many there are, where that is known."""


class Part(Protocol):
    """Rows that can be read on their own."""

    def tables(self, *, rows: int, only: Collection[str] | None = None, skip: int = 0) -> Iterator[Table]:
        """The rows after the first `skip`, some at a time."""


class Source(Protocol):
    """Where tables come from: parts in an order that never changes."""

    @property
    def pieces(self) -> tuple[Part, ...]:
        """The parts."""

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""


Position = list[int]
"""How far a pass has come: the part, and the rows of it that are done."""


@dataclass(eq=False)
class FileRows:
    """Rows that are read from their source in every pass, some at a time, the next ones while the last are counted.

    Parameters
    ----------
    source : the files.
    division : which columns are the class and the weight.
    rows : how many rows to decode at a time.
    checkpoint : where the state of a pass is saved now and then, if anywhere.
    progress : told how far a pass has come.
    """

    source: Source
    division: ColumnRoles
    rows: int = ROWS
    checkpoint: Checkpoint | None = None
    progress: Progress | None = None
    passes: int = field(default=0, init=False)
    texts: frozenset[str] = field(default=frozenset(), init=False)
    count: int | None = field(default=None, init=False)

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """The function's value for every part, in the order of the rows."""
        self.passes += 1
        with closing(self._parts([0, 0])) as parts:
            for part, _ in parts:
                yield function(part)

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all parts, merged; taken up where a checkpoint left off."""
        self.passes += 1
        step = self.checkpoint.step() if self.checkpoint is not None else None
        position: Position = [0, 0]
        total: Any = None
        if step is not None and (step.done or step.position is not None):
            total, texts = step.value
            self._widen(texts)
            if step.done:
                return total  # type: ignore[no-any-return]
            position = step.position
        while True:
            try:
                return self._folded(function, merge, position, total, step)
            except KindError as error:  # a column that looked like numbers is text: once more from the beginning
                told = str(error).partition(";")[0]
                warn(f"{told}; it is taken as text, and the rows are read again from the beginning", NaiveteWarning)
                self._widen(error.columns)
                position, total = [0, 0], None

    def finished(self) -> None:
        """The work is done: there is nothing to go on with."""
        if self.checkpoint is not None:
            self.checkpoint.finished()

    def _folded(
        self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T], position: Position, total: Any, step: Any
    ) -> T:
        at = position
        try:
            with closing(self._parts(position)) as parts:
                for part, then in parts:
                    value = function(part)
                    total, at = (value if total is None else merge(total, value)), then
                    if step is not None:
                        step.save(at, (total, sorted(self.texts)))
        except Exception:
            raise
        except BaseException:  # asked to end: what was done so far is worth keeping
            if step is not None and total is not None:
                step.save(at, (total, sorted(self.texts)), force=True)
            raise
        if step is not None:
            step.finish((total, sorted(self.texts)))
        return total  # type: ignore[no-any-return]

    def _parts(self, position: Position) -> Generator[tuple[LabelledTable, Position], None, None]:
        """The rows after a position, some at a time, each with the position after it."""
        first, skip = position
        done = sum(getattr(piece, "rows", None) or 0 for piece in self.source.pieces[:first]) + skip
        division = self.division if self._columns is None else replace(self.division, ignore=())
        with closing(ahead(self._tables(position))) as tables:
            for table, then in tables:
                yield division.weighing(table), then
                done += len(table)
                self._told(done)
        if position == [0, 0]:
            self._check_count(done)

    def _told(self, done: int) -> None:
        """Tell how far the pass has come."""
        if self.progress is not None:
            self.progress(self.passes, done, self.source.rows)

    def _check_count(self, done: int) -> None:
        """Refuse a source that does not give the same rows again."""
        if self.count not in (None, done):
            raise FileError(
                f"the cases had {self.count:,} rows in the first pass and {done:,} in the next; where a stream can be read only "
                "once, pass a function that makes it anew, or write it to a file"
            )
        self.count = done

    def _tables(self, position: Position) -> Iterator[tuple[Table, Position]]:
        first, skip = position
        for at, piece in enumerate(self.source.pieces[first:], start=first):
            done = skip if at == first else 0
            for table in piece.tables(rows=self.rows, only=self._columns, skip=done):
                done += len(table)
                yield table, [at, done]

    @property
    def _columns(self) -> frozenset[str] | None:
        """The columns that are read: all but the ignored ones, where their names are known before."""
        return frozenset(self.source.names).difference(self.division.ignore) if isinstance(self.source, Files) else None

    def _widen(self, columns: Collection[str]) -> None:
        """Take these columns as text from now on, in every pass."""
        if columns and isinstance(self.source, Files):
            self.source = self.source.widened(columns)
            self.texts |= set(columns)


def ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """The items, the next one made by another thread while the last is used."""
    ready: queue.Queue[tuple[bool, Any]] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(more: bool, item: Any) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                ready.put((more, item), timeout=0.1)
                return

    def run() -> None:
        try:
            for item in items:
                put(True, item)
                if stop.is_set():
                    return
            put(False, None)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits for the items
            put(False, error)

    worker = threading.Thread(target=run, name="naivete-ahead", daemon=True)
    worker.start()
    try:
        while True:
            more, item = ready.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stop.set()
        worker.join()
