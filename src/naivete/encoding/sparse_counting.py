"""Counting a sparse matrix: the tallies of its columns from the stored cells alone; zero is what they leave of a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import narrowest
from naivete._kernels.exact_sums import LimbSums, limbs, nonzero_sums
from naivete.data.frames import SparseMatrix
from naivete.data.table import Kind
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts, in_cells
from naivete.variables import Name, State

__all__ = ["count_sparse_values"]

WIDEST = 2**53


@dataclass(frozen=True, eq=False)
class _Cells:
    """Column by column, the distinct values in increasing order, and the weight of each class at each.

    Parameters
    ----------
    column : the column of each value.
    values : the values.
    weights : the weight of each class at each value.  # (value, class)
    """

    column: NDArray[np.int64]
    values: NDArray[Any]
    weights: LimbSums

    def over(self, classes: slice) -> _Cells:
        """With these classes only."""
        return _Cells(self.column, self.values, {q: part[:, classes] for q, part in self.weights.items()})


def count_sparse_values(
    table: SparseMatrix,
    labels: NDArray[Any],
    classes: Sequence[State],
    weight: NDArray[np.float64] | None,
    kinds: Mapping[Name, Kind],
) -> ValueCounts:
    """The tallies of the columns, equal to those of the dense table; the arguments are those of `count_values`."""
    matrix, width, split = table.matrix, max(1, len(classes)), limbs(weight)
    row = np.repeat(np.arange(len(labels)), np.diff(matrix.indptr))
    known = ~np.isnan(matrix.data) if matrix.dtype.kind == "f" else np.ones(len(row), bool)
    complete = bool(known.all())
    shape = matrix.shape[1], width
    totals = _sums(np.zeros(len(labels), np.uint8), 1, labels, split, width)
    if complete:
        missing = {q: np.zeros(shape, np.int64) for q in split}
        stored = _stored(matrix.indices, matrix.data, shape, labels[row], _at(split, row))
    else:
        gone, there = row[~known], row[known]
        missing = _sums(matrix.indices[~known], shape[0], labels[gone], _at(split, gone), width)
        stored = _stored(matrix.indices[known], matrix.data[known], shape, labels[there], _at(split, there))
    filled = np.bincount(matrix.indices, minlength=shape[0])
    rest = {q: totals[q] - missing[q] - _by_column(stored.column, part, shape) for q, part in stored.weights.items()}
    whole, bounds = _with_zeros(stored, rest, filled < len(labels))
    used = slice(len(classes))
    columns = _tallies(table, whole.over(used), bounds, {q: part[:, used] for q, part in missing.items()}, kinds, complete)
    return ValueCounts(tuple(classes), {q: part[0, used] for q, part in totals.items()}, columns, len(labels))


def _at(split: dict[int, NDArray[np.int64] | None], rows: NDArray[Any]) -> dict[int, NDArray[np.int64] | None]:
    """The limbs of the weights of these rows."""
    return {q: None if limb is None else limb[rows] for q, limb in split.items()}


def _sums(
    group: NDArray[Any], count: int, labels: NDArray[Any], split: dict[int, NDArray[np.int64] | None], classes: int
) -> LimbSums:
    """The weight of each class in each of the groups.  # (group, class)"""
    codes = (group.astype(narrowest(count), copy=False), labels)
    layout = _kernels.Layout(((0, -1),), (max(1, count), classes))
    return {q: _kernels.scatter(codes, layout, limb).reshape(-1, classes)[:count] for q, limb in split.items()}


def _stored(
    column: NDArray[Any],
    data: NDArray[Any],
    shape: tuple[int, int],
    labels: NDArray[Any],
    split: dict[int, NDArray[np.int64] | None],
) -> _Cells:
    """The distinct values of the stored cells."""
    values, position = _distinct(data)
    count = shape[0] * len(values)
    key = column.astype(np.int64) * len(values) + position
    if count <= 4 * len(data) + (1 << 16):
        parts = _sums(key, count, labels, split, shape[1])
        found = np.flatnonzero(nonzero_sums(parts).any(axis=1))
        parts = {q: part[found] for q, part in parts.items()}
    else:
        found, group = np.unique(key, return_inverse=True)
        parts = _sums(group, len(found), labels, split, shape[1])
    return _Cells(found // max(1, len(values)), values[found % max(1, len(values))], parts)


def _distinct(data: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Increasing values among which all of these are, and the position of each.

    >>> _distinct(np.array([1, 3, 1], np.int8))
    (array([1, 2, 3]), array([0, 2, 0], dtype=uint8))
    """
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    if len(data) == 0:
        return data, np.zeros(0, np.uint8)
    low, high = data.min(), data.max()
    whole = data.dtype.kind != "f" or not (data != np.floor(data)).any()
    if not whole or float(high) - float(low) >= CELLS or max(abs(float(low)), abs(float(high))) > WIDEST:
        return np.unique(data, return_inverse=True)
    numbers = np.arange(int(low), int(high) + 1).astype(data.dtype if data.dtype.itemsize == 8 else np.int64)
    return numbers, (data.astype(numbers.dtype, copy=False) - numbers[0]).astype(narrowest(len(numbers)))


def _by_column(column: NDArray[np.int64], part: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """The sums over the values of each column.  # (column, class)"""
    total = np.zeros(shape, np.int64)
    np.add.at(total, column, part)
    return total


def _with_zeros(stored: _Cells, rest: LimbSums, zero: NDArray[np.bool_]) -> tuple[_Cells, NDArray[np.int64]]:
    """With zero among the values of the columns that have it, at its place; and where each column begins and the last ends."""
    before: NDArray[np.int64] = np.cumsum(zero) - zero
    place = np.arange(len(stored.column)) + before[stored.column] + ((stored.values > 0) & zero[stored.column])
    own = np.bincount(stored.column, minlength=len(zero))
    bounds = np.concatenate([[0], np.cumsum(own + zero)])
    below = np.bincount(stored.column[stored.values < 0], minlength=len(zero))
    at = (bounds[:-1] + below)[zero]
    values = np.zeros(int(bounds[-1]), stored.values.dtype)
    values[place] = stored.values
    weights = {q: np.empty((len(values), part.shape[1]), np.int64) for q, part in stored.weights.items()}
    for q, part in weights.items():
        part[place], part[at] = stored.weights[q], rest[q][zero]
    return _Cells(np.repeat(np.arange(len(zero)), own + zero), values, weights), bounds


def _tallies(
    table: SparseMatrix, cells: _Cells, bounds: NDArray[np.int64], missing: LimbSums, kinds: Mapping[Name, Kind], complete: bool
) -> tuple[ColumnCounts, ...]:
    truth = table.matrix.dtype.kind == "b"
    nothing = {q: part[0] for q, part in missing.items()} if complete and len(bounds) > 1 else None
    found, edges = [], bounds.tolist()
    for j, name in enumerate(table.names):
        own = nothing if nothing is not None else {q: part[j] for q, part in missing.items()}
        found.append(_tally(name, cells, slice(edges[j], edges[j + 1]), own, kinds.get(name), truth))
    return tuple(found)


def _tally(name: Name, cells: _Cells, at: slice, missing: LimbSums, kind: Kind | None, truth: bool) -> ColumnCounts:
    values, exact = cells.values[at], kind == "nominal"
    weights = {q: part[at] for q, part in cells.weights.items()}
    if truth and kind != "numeric":
        return ColumnCounts(name, tuple(values.astype(bool).tolist()), weights, missing, kind, exact=exact)
    tally = ColumnCounts(name, values, weights, missing, kind, None, values, 0, exact)
    return in_cells(tally, exact=False) if len(values) > CELLS and not exact else tally
