"""Rows of a sparse matrix: only the cells that are not zero are kept, and some rows at a time are made dense."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Callable, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases
from naivete.encoding import Encoded, encode, encoded_column, matched, other_type, unseen_message, warn_unseen
from naivete.errors import DataError
from naivete.frames import SparseMatrix
from naivete.table import Column, Table
from naivete.tallies import narrowest
from naivete.variables import Name, Variable, Variables

__all__ = ["SparseBlock", "SparseCases", "SparseCodes", "encoded_cases", "encoded_parts", "sparse_codes"]

T = TypeVar("T")

PART_BYTES = 8 << 20
"""How much of the table is made dense at a time."""

INCREMENT = 10
"""How many word operations of dense planes one increment of sparse planes is worth, as measured."""


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Codes of a table by its stored cells; the largest code of the type means missing.

    Parameters
    ----------
    starts : where the cells of each row begin, and the end of the last.  # (row + 1,)
    columns : the column of each cell, increasing in a row.  # (cell,)
    codes : the code of each cell.  # (cell,)
    zeros : the code of the cells that are not stored, column by column.  # (column,)
    gaps : which columns have missing values.  # (column,)
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    codes: NDArray[Any]
    zeros: NDArray[Any]
    gaps: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def absent(self) -> int:
        """The code that means missing."""
        return int(np.iinfo(self.codes.dtype).max)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each cell."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: NDArray[Any]) -> SparseCodes:
        """The codes of these rows only."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return SparseCodes(starts, self.columns[cells], self.codes[cells], self.zeros, self.gaps)

    def dense(self, lo: int, hi: int) -> NDArray[Any]:
        """The codes of some neighbouring rows.  # (row, column)"""
        own = slice(int(self.starts[lo]), int(self.starts[hi]))
        matrix = np.empty((hi - lo, len(self.zeros)), self.codes.dtype)
        matrix[:] = self.zeros
        matrix[np.repeat(np.arange(hi - lo), np.diff(self.starts[lo : hi + 1])), self.columns[own]] = self.codes[own]
        return matrix

    @cached_property
    def _by_column(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """Where the cells of each column begin, then their rows and codes."""
        order = np.argsort(self.columns, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=len(self.zeros)))])
        return bounds, self.rows[order], self.codes[order]

    def column(self, x: int) -> NDArray[Any]:
        """The codes of one column."""
        bounds, rows, codes = self._by_column
        own = slice(int(bounds[x]), int(bounds[x + 1]))
        values = np.full(len(self), self.zeros[x], self.codes.dtype)
        values[rows[own]] = codes[own]
        return values

    def bounds(self) -> Iterator[tuple[int, int]]:
        """Where parts of a bounded size begin and end; at least one."""
        step = max(1, PART_BYTES // max(1, len(self.zeros) * self.codes.itemsize))
        return ((lo, min(lo + step, len(self))) for lo in range(0, max(1, len(self)), step))


@dataclass(frozen=True, eq=False)
class _Columns(Sequence[NDArray[Any]]):
    """The codes of every variable, the class last; a column is made dense when it is asked for."""

    cells: SparseCodes
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.cells.zeros) + 1

    @overload
    def __getitem__(self, key: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[NDArray[Any]]: ...
    def __getitem__(self, key: int | slice) -> NDArray[Any] | Sequence[NDArray[Any]]:
        if isinstance(key, slice):
            return [self[x] for x in range(*key.indices(len(self)))]
        x = range(len(self))[key]
        return self.labels if x == len(self) - 1 else self.cells.column(x)


@dataclass(frozen=True, eq=False)
class SparseBlock(Block):
    """Rows by their stored cells; a block all the same for whoever asks for its columns."""

    cells: SparseCodes | None = None

    @classmethod
    def of(cls, cells: SparseCodes, labels: NDArray[Any], weight: NDArray[np.float64] | None) -> SparseBlock:
        """The rows with their labels and weights."""
        return cls(_Columns(cells, labels), weight, cells)

    @property
    def stored(self) -> SparseCodes:
        """The stored cells."""
        assert self.cells is not None
        return self.cells

    def take(self, rows: NDArray[Any]) -> Block:
        """The block with these rows only."""
        weight = None if self.weight is None else self.weight[rows]
        return SparseBlock.of(self.stored.take(rows), self.codes[-1][rows], weight)

    def parts(self) -> Iterator[Block]:
        """The rows made dense, some at a time."""
        labels = self.codes[-1]
        for lo, hi in self.stored.bounds():
            weight = None if self.weight is None else self.weight[lo:hi]
            yield Block((*self.stored.dense(lo, hi).T, labels[lo:hi]), weight)

    def packed(
        self, features: Sequence[int], cards: Sequence[int], gaps: Sequence[bool], classes: int
    ) -> _kernels.Planes | _kernels.SparsePlanes:
        """The planes of these features, by their ones where these are few, else as bitmaps."""
        places = _Places.of(self.stored, features, cards, gaps)
        if places.increments() * INCREMENT < places.planes**2 / 2 * len(self) / 64:
            return _kernels.sparse_planes(*places.ones(), self.codes[-1], classes, places.planes)
        return self._bitmaps(features, cards, gaps, classes)

    def _bitmaps(self, features: Sequence[int], cards: Sequence[int], gaps: Sequence[bool], classes: int) -> _kernels.Planes:
        """The bitmaps of some columns after the other, so that never many are dense."""
        step = max(1, PART_BYTES // max(1, len(self) * self.stored.codes.itemsize))
        pieces = [
            _kernels.pack([self.codes[x] for x in features[at]], cards[at], gaps[at], self.codes[-1], classes)
            for at in (slice(lo, lo + step) for lo in range(0, len(features), step))
        ]
        if len(pieces) == 1:
            return pieces[0]
        starts = np.cumsum([0, *(piece.first[-1] for piece in pieces)])
        first = np.concatenate([[0], *(piece.first[1:] + start for piece, start in zip(pieces, starts[:-1], strict=True))])
        return _kernels.Planes(np.concatenate([piece.words for piece in pieces]), pieces[0].bounds, first, pieces[0].counts)


@dataclass(frozen=True, eq=False)
class _Places:
    """Which planes the cells of a sparse table hold.

    Parameters
    ----------
    cells : the table.
    first : the first plane of each column, -1 for one that has none.  # (column,)
    full : the columns of which most rows hold a plane: zero is not their first state, or they have gaps.
    present : of those, the plane that tells where the column is known, -1 where it is known everywhere.
    planes : how many planes there are.
    """

    cells: SparseCodes
    first: NDArray[np.int64]
    full: NDArray[np.int64]
    present: NDArray[np.int64]
    planes: int

    @classmethod
    def of(cls, cells: SparseCodes, features: Sequence[int], cards: Sequence[int], gaps: Sequence[bool]) -> _Places:
        """The places of these features' planes, one feature after the other."""
        own, holes = np.array(features, np.int64), np.array(gaps, bool)
        widths = np.array(cards, np.int64) - 1 + holes
        ends = np.cumsum(widths)
        first = np.full(len(cells.zeros), -1, np.int64)
        first[own] = ends - widths
        full = holes | (cells.zeros[own] != 0)
        return cls(cells, first, own[full], np.where(holes, ends - 1, -1)[full], int(widths.sum()))

    @cached_property
    def _own(self) -> NDArray[np.bool_]:
        """The stored cells of the columns that are mostly first states, other than first states."""
        some = self.first.copy()
        some[self.full] = -1
        return (some[self.cells.columns] >= 0) & (self.cells.codes > 0)

    def increments(self) -> float:
        """About how many pairs of planes the rows hold."""
        lengths = np.diff(np.concatenate([[0], np.cumsum(self._own)])[self.cells.starts]).astype(np.float64)
        lengths += len(self.full) + np.count_nonzero(self.present >= 0)
        return float((lengths * (lengths + 1) / 2).sum())

    def ones(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Where the planes of each row begin, and the planes, increasing in each row."""
        own = self._own
        columns = self.cells.columns[own]
        rows, planes = [self.cells.rows[own]], [self.first[columns] + self.cells.codes[own] - 1]
        for x, present in zip(self.full.tolist(), self.present.tolist(), strict=True):
            codes = self.cells.column(x)
            known = codes != self.cells.absent
            there = np.flatnonzero(known & (codes > 0))
            rows.append(there)
            planes.append(self.first[x] + codes[there].astype(np.int64) - 1)
            if present >= 0:
                rows.append(np.flatnonzero(known))
                planes.append(np.full(len(rows[-1]), present))
        row, plane = np.concatenate(rows), np.concatenate(planes)
        key = row * self.planes + plane
        if (key[1:] < key[:-1]).any():
            key.sort()
            row, plane = key // self.planes, key % self.planes
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self.cells)))])
        return starts, plane.astype(np.int32)


@dataclass(frozen=True, eq=False)
class SparseCases:
    """Rows of a sparse matrix, as one block."""

    variables: Variables
    block: SparseBlock
    gaps: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.block)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """The function's value for every part of the rows, made dense, in their order."""
        return map(function, self.block.parts())

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """The function's value for the block; nothing to merge."""
        return function(self.block)


def encoded_cases(
    table: Table, variables: Variables, labels: NDArray[Any], weight: NDArray[np.float64] | None, unseen: str
) -> Cases:
    """The rows of a table as cases in memory, those of a sparse matrix by their stored cells."""
    if isinstance(table, SparseMatrix):
        cells = sparse_codes(table, variables[:-1], unseen=unseen)
        return SparseCases(variables, SparseBlock.of(cells, labels, weight), cells.gaps)
    encoded = encode(table, variables[:-1], unseen=unseen)
    return MemoryCases(variables, Block((*encoded.codes, labels), weight), encoded.gaps)


def encoded_parts(table: Table, variables: Sequence[Variable], *, unseen: str) -> Iterator[Encoded]:
    """The codes of a table: all at once, or of a sparse matrix some rows at a time."""
    if not isinstance(table, SparseMatrix):
        yield encode(table, variables, unseen=unseen)
        return
    cells = sparse_codes(table, variables, unseen=unseen)
    for lo, hi in cells.bounds():
        yield Encoded(tuple(cells.dense(lo, hi).T), cells.gaps)


def sparse_codes(table: SparseMatrix, variables: Sequence[Variable], *, unseen: str) -> SparseCodes:
    """The codes of a sparse matrix, as `encode` gives them of a dense table; columns of equal states are encoded together."""
    matrix, width = _matching(table, variables), len(variables)
    dtype = narrowest(max((v.card for v in variables), default=1))
    codes, zeros = np.empty(len(matrix.data), dtype), np.zeros(width, dtype)
    stored = np.bincount(matrix.indices, minlength=width)
    strange, missing = np.zeros(width, np.int64), np.zeros(width, bool)
    for columns, cells in _alike(variables, matrix.indices):
        variable = variables[columns[0]]
        values = np.append(matrix.data[cells], np.zeros(1, matrix.dtype))
        own, wrong, gaps = encoded_column(Column(None, values), variable, None, smooth=unseen == "smooth")
        wide = own.astype(dtype)
        wide[own == np.iinfo(own.dtype).max] = np.iinfo(dtype).max
        codes[cells], zeros[columns] = wide[:-1], wide[-1]
        if gaps:
            missing[matrix.indices[cells][np.isnan(values[:-1])]] = True
        if len(wrong) and wrong[-1] == len(values) - 1:  # zero itself: as often as it is not stored
            strange[columns] += matrix.shape[0] - stored[columns]
            wrong = wrong[:-1]
        strange += np.bincount(matrix.indices[cells][wrong], minlength=width)
    _tell_strange(table, variables, strange, unseen)
    smoothed = np.array([v.other and unseen == "smooth" for v in variables], bool)
    kept = np.array([v.missing for v in variables], bool)
    gaps_of = (missing & ~kept) | ((strange > 0) & ~smoothed)
    starts, indices = matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
    return SparseCodes(starts, indices, codes, zeros, gaps_of)


def _matching(table: SparseMatrix, variables: Sequence[Variable]) -> Any:
    """The matrix with the variables' columns, in their order."""
    wanted = [v.name for v in variables]
    if list(table.names) == wanted:
        return table.matrix
    matched(table, variables[:0] if set(wanted) <= set(table.names) else variables)
    at = {name: j for j, name in enumerate(table.names)}
    matrix = table.matrix[:, [at[name] for name in wanted]].tocsr()
    matrix.sort_indices()
    return matrix


def _alike(variables: Sequence[Variable], columns: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """The columns that are encoded alike, and their stored cells."""
    kinds: dict[Any, int] = {}
    kind = np.array([kinds.setdefault(_kind(v), len(kinds)) for v in variables], np.int64)
    if len(kinds) <= 1:
        yield from [(np.arange(len(variables)), slice(None))] * len(kinds)
        return
    of_cell = kind[columns]
    cells, members = np.argsort(of_cell, kind="stable"), np.argsort(kind, kind="stable")
    for i in range(len(kinds)):
        own = slice(*np.searchsorted(of_cell[cells], [i, i + 1]).tolist())
        yield members[slice(*np.searchsorted(kind[members], [i, i + 1]).tolist())], cells[own]


def _kind(variable: Variable) -> Any:
    """What decides how values become codes; 0 and False are two states."""
    truth = tuple(isinstance(s, bool) for s in variable.states)
    return variable.states, truth, variable.cuts, variable.missing, variable.other


def _tell_strange(table: SparseMatrix, variables: Sequence[Variable], strange: NDArray[np.int64], unseen: str) -> None:
    """Refuse, or warn of, the values that did not occur in training."""
    found: dict[Name, int] = {}
    other_types: list[str] = []
    at = {name: j for j, name in enumerate(table.names)} if strange.any() else {}
    for x in np.flatnonzero(strange).tolist():
        variable = variables[x]
        column = table.columns[at[variable.name]]
        if unseen == "error":
            _, wrong, _ = encoded_column(column, variable, None, smooth=False)
            raise DataError(unseen_message(table, column, variable, int(wrong[0])))
        if not (variable.other and unseen == "smooth"):
            found[variable.name] = int(strange[x])
            other_types += other_type(column, variable)
    warn_unseen(found, other_types)
