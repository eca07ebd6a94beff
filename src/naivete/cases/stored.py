"""Codes of sparse and of wide row-major tables, and their conversion to columns and bit planes, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import missing_code
from naivete._kernels.column_blocks import row_major_matrix

__all__ = ["PART_BYTES", "PlaneOnes", "SparseCodes", "few_ones", "parts_of", "row_major"]

PART_BYTES = 8 << 20
"""The bytes of a table that are made dense, or transposed, at a time."""

INCREMENT = 10
"""The cost of counting one pair of ones in sparse planes, in operations on 64-bit words of dense planes, as measured."""

WIDE = 512
"""A matrix whose rows are at least this many bytes apart is transposed in parts before its columns are read."""


def parts_of(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each part and the row after its last, for parts of at most `PART_BYTES` bytes; at least one part.

    Parameters
    ----------
    rows : the number of rows.
    width : the bytes of a row.
    """
    step = max(1, PART_BYTES // max(1, width))
    return ((lo, min(lo + step, rows)) for lo in range(0, max(1, rows), step))


def row_major(columns: Sequence[NDArray[Any]]) -> NDArray[np.uint8] | None:
    """Return the wide row-major matrix of bytes of which these are all columns; None where there is none."""
    if len(columns) < 2 or columns[0].dtype != np.uint8 or columns[0].strides[0] < WIDE:
        return None
    return row_major_matrix(columns)


def few_ones(matrix: NDArray[np.uint8], features: Sequence[int], cards: Sequence[int]) -> PlaneOnes | None:
    """Return the positions of the ones in the bit planes of a matrix without missing values; None where they are many."""
    ones, (rows, width) = np.count_nonzero(matrix), matrix.shape
    planes = sum(cards) - len(cards)
    if ones * ones / rows * INCREMENT >= planes * planes * rows / 64:
        return None
    nonzero = [np.flatnonzero(matrix[lo:hi] != 0) + lo * width for lo, hi in parts_of(rows, width)]
    row, column = np.divmod(np.concatenate(nonzero), width)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    zeros = np.zeros(width, np.uint8)
    cells = SparseCodes(starts, column.astype(np.int32), matrix[row, column], zeros, zeros != 0)
    plane_ones = PlaneOnes.of(cells, features, cards, [False] * len(features))
    return plane_ones if plane_ones.are_few() else None


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Codes of a table by its stored cells; the largest code of the type means missing.

    Parameters
    ----------
    starts : where the cells of each row begin, and the end of the last.  # (row + 1,)
    columns : the column of each cell, increasing in a row.  # (cell,)
    codes : the code of each cell.  # (cell,)
    zeros : the code of the cells that are not stored, column by column.  # (column,)
    has_missing : which columns have missing values.  # (column,)
    """

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    codes: NDArray[Any]
    zeros: NDArray[Any]
    has_missing: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def missing_code(self) -> int:
        """The code that means missing."""
        return missing_code(self.codes.dtype)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each cell."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: NDArray[Any]) -> SparseCodes:
        """Return the codes of these rows only."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        cells = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return SparseCodes(starts, self.columns[cells], self.codes[cells], self.zeros, self.has_missing)

    def dense(self, lo: int, hi: int) -> NDArray[Any]:
        """Return the codes of the rows from `lo` up to, but not including, `hi`.  # (column, row)"""
        cells = slice(int(self.starts[lo]), int(self.starts[hi]))
        matrix = np.repeat(self.zeros, hi - lo).reshape(len(self.zeros), hi - lo)
        matrix[self.columns[cells], np.repeat(np.arange(hi - lo), np.diff(self.starts[lo : hi + 1]))] = self.codes[cells]
        return matrix

    @cached_property
    def _by_column(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """Where the cells of each column begin, then their rows and codes."""
        order = np.argsort(self.columns, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=len(self.zeros)))])
        return bounds, self.rows[order], self.codes[order]

    def column(self, x: int) -> NDArray[Any]:
        """Return the codes of one column."""
        bounds, rows, codes = self._by_column
        cells = slice(int(bounds[x]), int(bounds[x + 1]))
        values = np.full(len(self), self.zeros[x], self.codes.dtype)
        values[rows[cells]] = codes[cells]
        return values

    def bounds(self) -> Iterator[tuple[int, int]]:
        """Yield the first row of each part and the row after its last, as `parts_of`."""
        return parts_of(len(self), len(self.zeros) * self.codes.itemsize)


@dataclass(frozen=True, eq=False)
class PlaneOnes:
    """The positions of the ones in the bit planes of a sparse table.

    A feature has a plane for each state but its first, and if it has missing values a plane of the rows in which it is observed.

    Parameters
    ----------
    cells : the table.
    first : the first plane of each column, -1 for one that has none.  # (column,)
    full : the columns in which most rows have a one: zero is not their first state, or they have missing values.
    present : for each of those, the plane of the rows in which it is observed, -1 where it is observed in all.
    planes : the number of planes.
    """

    cells: SparseCodes
    first: NDArray[np.int64]
    full: NDArray[np.int64]
    present: NDArray[np.int64]
    planes: int

    @classmethod
    def of(cls, cells: SparseCodes, features: Sequence[int], cards: Sequence[int], has_missing: Sequence[bool]) -> PlaneOnes:
        """Return the ones of the planes of these features, one feature after the other."""
        columns, missing = np.array(features, np.int64), np.array(has_missing, bool)
        widths = np.array(cards, np.int64) - 1 + missing
        ends = np.cumsum(widths)
        first = np.full(len(cells.zeros), -1, np.int64)
        first[columns] = ends - widths
        full = missing | (cells.zeros[columns] != 0)
        return cls(cells, first, columns[full], np.where(missing, ends - 1, -1)[full], int(widths.sum()))

    def are_few(self) -> bool:
        """Return whether counting pairs of ones is cheaper than counting the bits of 64-bit words."""
        return self.pairs() * INCREMENT < self.planes**2 / 2 * len(self.cells) / 64

    def packed(self, labels: NDArray[Any], classes: int) -> _kernels.SparsePlanes:
        """Return the planes as lists of ones."""
        return _kernels.sparse_planes(*self.ones(), labels, classes, self.planes)

    @cached_property
    def _stored_ones(self) -> NDArray[np.bool_]:
        """Which stored cells have a one, in the columns where cells that are not stored have none.  # (cell,)"""
        first = self.first.copy()
        first[self.full] = -1
        return (first[self.cells.columns] >= 0) & (self.cells.codes > 0)

    def pairs(self) -> float:
        """Return approximately the number of pairs of ones in the same row."""
        lengths = np.diff(np.concatenate([[0], np.cumsum(self._stored_ones)])[self.cells.starts]).astype(np.float64)
        lengths += len(self.full) + np.count_nonzero(self.present >= 0)
        return float((lengths * (lengths + 1) / 2).sum())

    def ones(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where the list of each row begins, and the lists: the planes in which the row has a one, increasing."""
        stored = self._stored_ones
        columns = self.cells.columns[stored]
        rows, planes = [self.cells.rows[stored]], [self.first[columns] + self.cells.codes[stored] - 1]
        for x, present in zip(self.full.tolist(), self.present.tolist(), strict=True):
            codes = self.cells.column(x)
            observed = codes != self.cells.missing_code
            nonzero = np.flatnonzero(observed & (codes > 0))
            rows.append(nonzero)
            planes.append(self.first[x] + codes[nonzero].astype(np.int64) - 1)
            if present >= 0:
                rows.append(np.flatnonzero(observed))
                planes.append(np.full(len(rows[-1]), present))
        row, plane = np.concatenate(rows), np.concatenate(planes)
        key = row * self.planes + plane
        if (key[1:] < key[:-1]).any():
            key.sort()
            row, plane = key // self.planes, key % self.planes
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(self.cells)))])
        return starts, plane.astype(np.int32)
