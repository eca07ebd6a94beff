"""Encoded rows in a temporary file: the first pass over the codes writes them, and later passes read them from there.

Decoding Parquet or text costs several times as much as counting. After the first pass, which computes the codes of every row, the
source is not decoded again. The file has no name (it is unlinked when it is made), so the operating system removes it in any
case, also when the process is killed. Its blocks are those of the source, so that all results are the same to the last bit. Each
block holds column after column, and is mapped into memory only while it is used, so that only the columns that a pass needs are
read.
"""

from __future__ import annotations

import mmap
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.cases.base import Block, Cases
from naivete.cases.files import START, Chunk, FileRows, Position
from naivete.cases.memory import MemoryCases
from naivete.cases.rows import EncodedCases, EncodeRows, Rows
from naivete.data.table import Table
from naivete.errors import NaiveteWarning, ParameterError, quoted, warn
from naivete.variables import Variables

__all__ = ["Spill", "SpilledCases", "encode_rows"]

T = TypeVar("T")

_ALIGNED: Final = 64
"""Columns begin at a multiple of this many bytes in the file."""
_PAGE: Final = max(mmap.ALLOCATIONGRANULARITY, _ALIGNED)
"""Blocks begin at a multiple of this many bytes in the file."""


class _StoredColumn(NamedTuple):
    """The place of a column in its block."""

    offset: int
    dtype: np.dtype[Any]


class _StoredBlock(NamedTuple):
    """The place of a block in the file, and the position and number of rows of its chunk."""

    start: int
    size: int
    length: int
    columns: tuple[_StoredColumn, ...]
    weighted: bool
    position: Position
    rows: int


class Spill:
    """A temporary file of encoded rows: a context manager, which removes the file at its end.

    Parameters
    ----------
    limit : the most bytes that the file may take; by default half of the free space of the folder, 0 for no file at all.
    folder : where the file is made; by default the folder that the environment variable NAIVETE_TMPDIR names, else the system's
        temporary folder.

    Attributes
    ----------
    complete : whether the file holds all rows.
    size : the bytes in the file.
    """

    def __init__(self, limit: int | None = None, folder: str | os.PathLike[str] | None = None) -> None:
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ParameterError(f"`disk={quoted(limit)}`: a number of bytes, at least 0")
        self.folder = Path(os.environ.get("NAIVETE_TMPDIR") or folder or tempfile.gettempdir())
        self.limit = limit
        self.complete = False
        self.size = 0
        self._blocks: list[_StoredBlock] = []
        self._file: IO[bytes] | None = None
        self._writing = False
        self._given_up = limit == 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._discard()
        self._given_up = True

    def write(self, chunks: Generator[Chunk, None, None]) -> Generator[Chunk, None, None]:
        """Yield the chunks of a whole pass over blocks, and store them; chunks of a pass that ends early are discarded."""
        if self.complete or self._writing or self._given_up:
            yield from chunks
            return
        self._writing = True
        try:
            with closing(chunks):
                for chunk in chunks:
                    self._store(chunk)
                    yield chunk
            self.complete = not self._given_up
        finally:
            self._writing = False
            if not self.complete:
                self._discard()

    def read(self) -> Generator[Chunk, None, None]:
        """Yield the chunks that were stored."""
        for stored in self._blocks:
            yield Chunk(self._block(stored), stored.position, stored.rows)

    def _store(self, chunk: Chunk) -> None:
        if self._given_up:
            return
        try:
            if self._file is None:
                self.limit = _allowed(self.folder, self.limit)
                self._file = tempfile.TemporaryFile(dir=self.folder, prefix="naivete-", buffering=0)  # noqa: SIM115
            stored, parts = _laid_out(chunk, self.size)
            if stored.start + stored.size > (self.limit or 0):
                self._give_up(f"they need more than the {self.limit:,} bytes of disk space that they may take")
                return
            self._append(stored, parts)
        except OSError as error:
            self._give_up(f"the file cannot be written: {error.strerror or error}")

    def _append(self, stored: _StoredBlock, parts: list[NDArray[Any]]) -> None:
        for place, part in zip(stored.columns, parts, strict=True):
            self._write_at(stored.start + place.offset, part.data.cast("B") if part.size else memoryview(b""))
        self.size = stored.start + stored.size
        self._blocks.append(stored)

    def _write_at(self, offset: int, data: memoryview) -> None:
        assert self._file is not None
        self._file.seek(offset)
        while data:
            data = data[self._file.write(data) :]

    def _block(self, stored: _StoredBlock) -> Block:
        """Map a block into memory, for as long as its arrays are used."""
        assert self._file is not None
        if not stored.length:
            columns: list[NDArray[Any]] = [np.empty(0, column.dtype) for column in stored.columns]
        else:
            mapped = mmap.mmap(self._file.fileno(), stored.size, access=mmap.ACCESS_READ, offset=stored.start)
            columns = [np.frombuffer(mapped, column.dtype, stored.length, column.offset) for column in stored.columns]
        return Block(tuple(columns[:-1]), columns[-1]) if stored.weighted else Block(tuple(columns))

    def _give_up(self, reason: str) -> None:
        self._given_up = True
        self._discard()
        warn(
            f"{self.folder}: the encoded rows are not kept in a temporary file, so that every pass decodes the source again: "
            f"{reason}; allow more (`disk=`), or name another folder in the environment variable NAIVETE_TMPDIR",
            NaiveteWarning,
        )

    def _discard(self) -> None:
        file, self._file, self._blocks, self.size, self.complete = self._file, None, [], 0, False
        if file is not None:
            file.close()


def _allowed(folder: Path, limit: int | None) -> int:
    """Return the most bytes that a file in the folder may take."""
    free = shutil.disk_usage(folder).free // 2
    return free if limit is None else min(free, limit)


def _laid_out(chunk: Chunk, end: int) -> tuple[_StoredBlock, list[NDArray[Any]]]:
    """Return the place of a chunk's block after `end` bytes, and its columns, the weights last."""
    block: Block = chunk.part
    weights = () if block.weight is None else (block.weight,)
    parts = [np.ascontiguousarray(column) for column in (*block.codes, *weights)]
    places, offset = [], 0
    for part in parts:
        places.append(_StoredColumn(offset, part.dtype))
        offset = -(-(offset + part.nbytes) // _ALIGNED) * _ALIGNED
    size = places[-1].offset + parts[-1].nbytes
    start = -(-end // _PAGE) * _PAGE
    return _StoredBlock(start, size, len(block), tuple(places), bool(weights), chunk.position, chunk.rows), parts


@dataclass(frozen=True, eq=False)
class SpilledCases:
    """Rows of files as cases: encoded by the schema in the first complete pass, and read from the spill in later ones.

    Parameters
    ----------
    rows : the rows.
    spill : the temporary file.
    variables : the schema, the class last.
    has_missing : which features have missing values.
    unseen : how values that the schema does not have are encoded, as for `Encoder`.
    """

    rows: FileRows
    spill: Spill
    variables: Variables
    has_missing: NDArray[np.bool_]
    unseen: str

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for each block, in the order of the rows."""
        return self.rows.map(function, self._read)

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all blocks, merged."""
        return self.rows.fold(function, merge, self._read)

    def _read(self, position: Position) -> Generator[Chunk, None, None]:
        """Read the blocks after a position; only a whole pass can be stored or read from the spill."""
        if position != START:
            return self._encoded(position)
        return self.spill.read() if self.spill.complete else self.spill.write(self._encoded(position))

    def _encoded(self, position: Position) -> Generator[Chunk, None, None]:
        encode = EncodeRows(self.variables, self.unseen)
        with closing(self.rows.read(position)) as chunks:
            for chunk in chunks:
                yield chunk._replace(part=encode(chunk.part))


def encode_rows(rows: Rows, variables: Variables, has_missing: NDArray[np.bool_], unseen: str) -> Cases:
    """Return the rows of any back end as cases.

    The encoded rows of files are kept in a temporary file, if they have one, and those of a table in memory.
    """
    if isinstance(rows, FileRows) and rows.spill is not None:
        return SpilledCases(rows, rows.spill, variables, has_missing, unseen)
    if isinstance(rows, FileRows) and isinstance(getattr(rows.source, "stream", None), Table):
        return MemoryCases(variables, _joined([*rows.map(EncodeRows(variables, unseen))]), has_missing)
    return EncodedCases(rows, variables, has_missing, unseen)


def _joined(blocks: list[Block]) -> Block:
    """Return one block with the rows of all blocks."""
    if len(blocks) == 1:
        return blocks[0]
    weights = [block.weight for block in blocks if block.weight is not None]
    codes = zip(*(block.codes for block in blocks), strict=True)
    return Block(tuple(np.concatenate(column) for column in codes), np.concatenate(weights) if weights else None)
