"""Rows read from files or from streams of tables: some at a time, the next ones in the background, with checkpoints."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from naivete.data.files import Files, KindError
from naivete.data.labelled_table import ColumnRoles
from naivete.data.table import Table
from naivete.errors import FileError, NaiveteWarning, warn
from naivete.storage.checkpoints import Checkpoint, Step

if TYPE_CHECKING:
    from naivete.cases.spill import Spill

__all__ = ["ROWS", "START", "Chunk", "FileRows", "Position", "Progress", "Read", "RepeatedRows", "Source", "read_ahead"]

T = TypeVar("T")

ROWS = 1 << 18
"""Default number of rows that are decoded at a time."""

Progress = Callable[[int, int, int | None], None]
"""Called with the number of the pass, the rows processed in it, and the total number of rows, or None if that is unknown."""

Position = tuple[int, int]
"""How far a pass has come: the index of the piece of the source, and the number of its rows that were processed."""

START: Position = (0, 0)
"""The position before the first row of a pass."""


class Chunk(NamedTuple):
    """Some consecutive rows of a pass.

    Parameters
    ----------
    part : the rows: a labelled table, or a block of codes.
    position : the position after these rows.
    rows : the number of rows that were read for them from the source, including rows without a label or a weight.
    """

    part: Any
    position: Position
    rows: int


Read = Callable[[Position], Generator[Chunk, None, None]]
"""Reads the rows after a position."""


class PieceOfRows(Protocol):
    """Rows that can be read on their own."""

    def tables(self, *, rows: int, only: Collection[str] | None = None, skip: int = 0) -> Iterator[Table]:
        """Read the rows after the first `skip`, at most `rows` at a time."""


class Source(Protocol):
    """A source of tables, in pieces whose order never changes."""

    @property
    def pieces(self) -> tuple[PieceOfRows, ...]:
        """The pieces."""

    @property
    def rows(self) -> int | None:
        """The number of rows, or None if it is unknown."""


@dataclass(eq=False)
class RepeatedRows:
    """Rows that are read again in every pass: the common part of rows read by this process and by the workers of a cluster.

    Parameters
    ----------
    source : the files.
    roles : which columns are the class and the weight.
    rows : the number of rows to decode at a time.
    checkpoint : where the state of a pass is saved at intervals, if anywhere.
    progress : called after each chunk of rows.
    """

    source: Any
    roles: ColumnRoles
    rows: int = ROWS
    checkpoint: Checkpoint | None = None
    progress: Progress | None = None
    passes: int = field(default=0, init=False)
    text_columns: frozenset[str] = field(default=frozenset(), init=False)

    def finished(self) -> None:
        """Remove the checkpoint: the work is complete."""
        if self.checkpoint is not None:
            self.checkpoint.finished()

    @property
    def columns(self) -> frozenset[str] | None:
        """The columns to read: all but the ignored ones; None where their names are not known in advance."""
        return frozenset(self.source.names).difference(self.roles.ignore) if isinstance(self.source, Files) else None

    def run_pass(self, fold: Callable[[Position, Any, Step | None], T]) -> T:
        """Return the value of a pass, which continues from its checkpoint if it was interrupted.

        Parameters
        ----------
        fold : returns the value of all rows, from a position, the value of the rows before it, and the step to save to.
        """
        self.passes += 1
        step = self.checkpoint.step() if self.checkpoint is not None else None
        position, total = START, None
        if step is not None and (step.done or step.position is not None):
            total, text_columns = step.value
            self._read_as_text(text_columns)
            if step.done:
                return total  # type: ignore[no-any-return]
            position = tuple(step.position)
        while True:
            try:
                value = fold(position, total, step)
                break
            except KindError as error:  # a column that looked numeric holds text: read all rows again
                if error.columns <= self.text_columns:
                    raise
                problem = str(error).partition(";")[0]
                warn(f"{problem}; the column is taken as text, and the rows are read again from the beginning", NaiveteWarning)
                self._read_as_text(error.columns)
                position, total = START, None
        if step is not None:
            step.finish((value, sorted(self.text_columns)))
        return value

    def _save(self, step: Step | None, position: Position, total: Any, *, force: bool = False) -> None:
        if step is not None:
            step.save(list(position), (total, sorted(self.text_columns)), force=force)

    def _read_as_text(self, columns: Collection[str]) -> None:
        """Read these columns as text from now on, in every pass."""
        if columns and isinstance(self.source, Files):
            self.source = self.source.widened(columns)
            self.text_columns |= set(columns)


@dataclass(eq=False)
class FileRows(RepeatedRows):
    """Rows that this process reads in every pass; the next rows are read while the last ones are counted.

    Parameters
    ----------
    source, roles, rows, checkpoint, progress : as for `RepeatedRows`.
    spill : a temporary file for the encoded rows, from which later passes read them; by default every pass reads the source.
    """

    source: Source
    spill: Spill | None = None
    count: int | None = field(default=None, init=False)

    def map(self, function: Callable[[Any], T], read: Read | None = None) -> Iterable[T]:
        """Return the function's value for each chunk, in the order of the rows.

        Parameters
        ----------
        function : applied to the rows of a chunk.
        read : how the rows of the pass are read; by default as labelled tables from the source.
        """
        self.passes += 1
        with closing(self._reported(read or self.read, START)) as chunks:
            for chunk in chunks:
                yield function(chunk.part)

    def fold(self, function: Callable[[Any], T], merge: Callable[[T, T], T], read: Read | None = None) -> T:
        """Return the function's values for all chunks, merged; a pass that was interrupted continues from its checkpoint.

        Parameters
        ----------
        function : applied to the rows of a chunk.
        merge : merges two values.
        read : how the rows of the pass are read; by default as labelled tables from the source.
        """
        return self.run_pass(partial(self._folded, function, merge, read or self.read))

    def read(self, position: Position) -> Generator[Chunk, None, None]:
        """Read the rows after a position as labelled tables; rows of weight zero are left out."""
        roles = self.roles if self.columns is None else replace(self.roles, ignore=())
        with closing(read_ahead(self._tables(position))) as tables:
            for table, then in tables:
                yield Chunk(roles.divide_weighted(table), then, len(table))

    def _folded(
        self,
        function: Callable[[Any], T],
        merge: Callable[[T, T], T],
        read: Read,
        position: Position,
        total: Any,
        step: Step | None,
    ) -> T:
        try:
            with closing(self._reported(read, position)) as chunks:
                for chunk in chunks:
                    value = function(chunk.part)
                    total, position = (value if total is None else merge(total, value)), chunk.position
                    self._save(step, position, total)
        except Exception:
            raise
        except BaseException:  # interrupted: save the work done so far
            if total is not None:
                self._save(step, position, total, force=True)
            raise
        return total  # type: ignore[no-any-return]

    def _reported(self, read: Read, position: Position) -> Generator[Chunk, None, None]:
        """Read the rows after a position, and report the progress after each chunk."""
        first, skipped = position
        done = sum(getattr(piece, "rows", None) or 0 for piece in self.source.pieces[:first]) + skipped
        with closing(read(position)) as chunks:
            for chunk in chunks:
                yield chunk
                done += chunk.rows
                self._report(done)
        if position == START:
            self._check_count(done)

    def _report(self, done: int) -> None:
        if self.progress is not None:
            self.progress(self.passes, done, self.source.rows)

    def _check_count(self, done: int) -> None:
        """Refuse a source that returns another number of rows in a later pass."""
        if self.count not in (None, done):
            raise FileError(
                f"the cases had {self.count:,} rows in the first pass and {done:,} in the next; where a stream can be read only "
                "once, pass a function that makes it anew, or write it to a file"
            )
        self.count = done

    def _tables(self, position: Position) -> Iterator[tuple[Table, Position]]:
        first, skip = position
        for number, piece in enumerate(self.source.pieces[first:], start=first):
            done = skip if number == first else 0
            for table in piece.tables(rows=self.rows, only=self.columns, skip=done):
                done += len(table)
                yield table, (number, done)


def read_ahead(items: Iterator[T]) -> Generator[T, None, None]:
    """Yield the items; another thread produces the next item while the last one is used."""
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
        except Exception as error:  # noqa: BLE001 - raised again by the thread that uses the items
            put(False, error)

    worker = threading.Thread(target=run, name="naivete-read-ahead", daemon=True)
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
