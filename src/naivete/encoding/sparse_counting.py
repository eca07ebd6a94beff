"""Value counts of a sparse matrix from its stored cells alone; the count of zeros in a class is what remains of the class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import narrowest
from naivete._kernels.exact_sums import LARGEST_EXACT, LimbSums, limbs, nonzero_sums
from naivete.data.frames import SparseMatrix
from naivete.data.table import Kind
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts, in_cells
from naivete.variables import Name, State

__all__ = ["count_sparse_values"]


@dataclass(frozen=True, eq=False)
class _DistinctValues:
    """The distinct values of each column, increasing, and the weight of each class at each value.

    Parameters
    ----------
    column : the column of each value.
    values : the values.
    weights : the weight of each class at each value.  # (value, class)
    """

    column: NDArray[np.int64]
    values: NDArray[Any]
    weights: LimbSums

    def of_classes(self, classes: slice) -> _DistinctValues:
        """Return the same values with these classes only."""
        return _DistinctValues(self.column, self.values, {q: part[:, classes] for q, part in self.weights.items()})


def count_sparse_values(
    table: SparseMatrix,
    labels: NDArray[Any],
    classes: Sequence[State],
    weight: NDArray[np.float64] | None,
    kinds: Mapping[Name, Kind],
) -> ValueCounts:
    """Count the values of the columns, with the same result as for the dense table; the parameters are those of `count_values`."""
    matrix, width, split = table.matrix, max(1, len(classes)), limbs(weight)
    row = np.repeat(np.arange(len(labels)), np.diff(matrix.indptr))
    known = ~np.isnan(matrix.data) if matrix.dtype.kind == "f" else np.ones(len(row), bool)
    complete = bool(known.all())
    shape = matrix.shape[1], width
    totals = _sums(np.zeros(len(labels), np.uint8), 1, labels, split, width)
    if complete:
        missing = {q: np.zeros(shape, np.int64) for q in split}
        stored = _stored(matrix.indices, matrix.data, shape, labels[row], _limbs_of(split, row))
    else:
        absent, present = row[~known], row[known]
        missing = _sums(matrix.indices[~known], shape[0], labels[absent], _limbs_of(split, absent), width)
        stored = _stored(matrix.indices[known], matrix.data[known], shape, labels[present], _limbs_of(split, present))
    filled = np.bincount(matrix.indices, minlength=shape[0])
    zeros = {q: totals[q] - missing[q] - _by_column(stored.column, part, shape) for q, part in stored.weights.items()}
    whole, bounds = _with_zeros(stored, zeros, filled < len(labels))
    real = slice(len(classes))  # without classes there is still one cell
    columns = _column_counts(
        table, whole.of_classes(real), bounds, {q: part[:, real] for q, part in missing.items()}, kinds, complete
    )
    return ValueCounts(tuple(classes), {q: part[0, real] for q, part in totals.items()}, columns, len(labels))


def _limbs_of(split: dict[int, NDArray[np.int64] | None], rows: NDArray[Any]) -> dict[int, NDArray[np.int64] | None]:
    """Return the limbs of the weights of these rows."""
    return {q: None if limb is None else limb[rows] for q, limb in split.items()}


def _sums(
    group: NDArray[Any], count: int, labels: NDArray[Any], split: dict[int, NDArray[np.int64] | None], classes: int
) -> LimbSums:
    """Return the weight of each class in each group.  # (group, class)"""
    codes = (group.astype(narrowest(count), copy=False), labels)
    layout = _kernels.Layout(((0, -1),), (max(1, count), classes))
    return {q: _kernels.scatter(codes, layout, limb).reshape(-1, classes)[:count] for q, limb in split.items()}


def _stored(
    column: NDArray[Any],
    data: NDArray[Any],
    shape: tuple[int, int],
    labels: NDArray[Any],
    split: dict[int, NDArray[np.int64] | None],
) -> _DistinctValues:
    """Return the distinct values of the stored cells."""
    values, position = _distinct(data)
    count = shape[0] * len(values)
    key = column.astype(np.int64) * len(values) + position
    if count <= 4 * len(data) + (1 << 16):
        parts = _sums(key, count, labels, split, shape[1])
        occurring = np.flatnonzero(nonzero_sums(parts).any(axis=1))
        parts = {q: part[occurring] for q, part in parts.items()}
    else:
        occurring, group = np.unique(key, return_inverse=True)
        parts = _sums(group, len(occurring), labels, split, shape[1])
    return _DistinctValues(occurring // max(1, len(values)), values[occurring % max(1, len(values))], parts)


def _distinct(data: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return increasing values that include all of the data, and the position of each datum among them.

    >>> _distinct(np.array([1, 3, 1], np.int8))
    (array([1, 2, 3]), array([0, 2, 0], dtype=uint8))
    """
    if data.dtype.kind == "b":
        data = data.view(np.uint8)
    if len(data) == 0:
        return data, np.zeros(0, np.uint8)
    low, high = data.min(), data.max()
    whole = data.dtype.kind != "f" or not (data != np.floor(data)).any()
    if not whole or float(high) - float(low) >= CELLS or max(abs(float(low)), abs(float(high))) > LARGEST_EXACT:
        return np.unique(data, return_inverse=True)
    numbers = np.arange(int(low), int(high) + 1).astype(data.dtype if data.dtype.itemsize == 8 else np.int64)
    return numbers, (data.astype(numbers.dtype, copy=False) - numbers[0]).astype(narrowest(len(numbers)))


def _by_column(column: NDArray[np.int64], part: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the sums over the values of each column.  # (column, class)"""
    total = np.zeros(shape, np.int64)
    np.add.at(total, column, part)
    return total


def _with_zeros(stored: _DistinctValues, zeros: LimbSums, has_zero: NDArray[np.bool_]) -> tuple[_DistinctValues, NDArray[np.int64]]:
    """Insert zero among the values of the columns that have it; return the values and the bounds of the columns."""
    before: NDArray[np.int64] = np.cumsum(has_zero) - has_zero
    place = np.arange(len(stored.column)) + before[stored.column] + ((stored.values > 0) & has_zero[stored.column])
    counts = np.bincount(stored.column, minlength=len(has_zero))
    bounds = np.concatenate([[0], np.cumsum(counts + has_zero)])
    below = np.bincount(stored.column[stored.values < 0], minlength=len(has_zero))
    zero_place = (bounds[:-1] + below)[has_zero]
    values = np.zeros(int(bounds[-1]), stored.values.dtype)
    values[place] = stored.values
    weights = {q: np.empty((len(values), part.shape[1]), np.int64) for q, part in stored.weights.items()}
    for q, part in weights.items():
        part[place], part[zero_place] = stored.weights[q], zeros[q][has_zero]
    return _DistinctValues(np.repeat(np.arange(len(has_zero)), counts + has_zero), values, weights), bounds


def _column_counts(
    table: SparseMatrix,
    cells: _DistinctValues,
    bounds: NDArray[np.int64],
    missing: LimbSums,
    kinds: Mapping[Name, Kind],
    complete: bool,
) -> tuple[ColumnCounts, ...]:
    boolean = table.matrix.dtype.kind == "b"
    no_missing = {q: part[0] for q, part in missing.items()} if complete and len(bounds) > 1 else None
    counts, edges = [], bounds.tolist()
    for j, name in enumerate(table.names):
        column_missing = no_missing if no_missing is not None else {q: part[j] for q, part in missing.items()}
        counts.append(_one_column(name, cells, slice(edges[j], edges[j + 1]), column_missing, kinds.get(name), boolean))
    return tuple(counts)


def _one_column(
    name: Name, cells: _DistinctValues, part_of: slice, missing: LimbSums, kind: Kind | None, boolean: bool
) -> ColumnCounts:
    values, exact = cells.values[part_of], kind == "nominal"
    weights = {q: part[part_of] for q, part in cells.weights.items()}
    if boolean and kind != "numeric":
        return ColumnCounts(name, tuple(values.astype(bool).tolist()), weights, missing, kind, exact=exact)
    counts = ColumnCounts(name, values, weights, missing, kind, None, values, 0, exact)
    return in_cells(counts, exact=False) if len(values) > CELLS and not exact else counts
