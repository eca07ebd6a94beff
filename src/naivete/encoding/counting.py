"""Value counts of a table: all columns are counted in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import missing, missing_code, narrowest
from naivete._kernels.exact_sums import LimbSums, limbs, nonzero_sums
from naivete.data.frames import SparseMatrix
from naivete.data.table import Column, Kind, Table
from naivete.encoding.column_checks import as_numbers, byte_limits, check_finite
from naivete.encoding.sparse_counting import count_sparse_values
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts, cells_of, in_cells
from naivete.variables import Name, State, ordered

__all__ = ["count_values"]

ONE_CELL = 64
"""The level at which all numbers share one cell."""


@dataclass(frozen=True, eq=False)
class _Coded:
    """A column by the positions of its values among distinct values; a missing value has the missing code.

    Parameters
    ----------
    values : the distinct values, or the smallest value of each cell.
    codes : the position of each row's value.
    tops : the largest value of each cell; None for states.
    level : as of `ColumnCounts`.
    """

    values: tuple[State, ...] | NDArray[Any]
    codes: NDArray[Any]
    tops: NDArray[Any] | None = None
    level: int = 0


def count_values(
    table: Table,
    labels: NDArray[Any],
    classes: Sequence[State],
    weight: NDArray[np.float64] | None,
    kinds: Mapping[Name, Kind],
    *,
    range_only: bool = False,
) -> ValueCounts:
    """Count the values of the columns of a table by class, in one pass.

    Parameters
    ----------
    table : the features.
    labels : the class of every row, as a position among the classes.
    classes : the labels.
    weight : the weight of every row, above zero.
    kinds : the columns that the caller declares nominal or numeric.
    range_only : whether only the smallest and the largest value are needed of numbers that cannot be states.
    """
    if isinstance(table, SparseMatrix):
        return count_sparse_values(table, labels, classes, weight, kinds)
    sources = [column.without_blank() for column in table.columns]
    ends = check_finite(table, sources)
    limits = byte_limits(sources)
    ranges = {i for i, c in enumerate(sources) if range_only and i in ends and _surely_numeric(c, kinds.get(c.name) or c.kind)}
    coded = [
        _range(sources[i], *ends[i]) if i in ranges else _coded(table, c, kinds.get(c.name) or c.kind, limits.get(i))
        for i, c in enumerate(sources)
    ]
    cards = (*[len(column.values) or 1 for column in coded], max(1, len(classes)))
    families = (*zip(range(len(coded)), repeat(-1)), (-1,))
    layout = _kernels.Layout(families, cards)
    codes = (*[column.codes for column in coded], labels)
    flat = {q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(weight).items()}
    totals = {q: part[layout.offsets[-1] :][: len(classes)] for q, part in flat.items()}
    columns: list[ColumnCounts] = [None] * len(coded)  # type: ignore[list-item]
    for group in _equally_long(coded):
        weights = _stacked(flat, layout, group, len(coded[group[0]].values), len(classes))
        missing = {q: totals[q] - part.sum(axis=1) for q, part in weights.items()}
        whole: list[bool] = np.all(np.any(nonzero_sums(weights), axis=2), axis=1).tolist()
        for i, j in enumerate(group):
            parts = {q: part[i] for q, part in weights.items()}, {q: part[i] for q, part in missing.items()}
            columns[j] = _column_counts(sources[j], coded[j], *parts, kinds.get(sources[j].name), whole[i])
    return ValueCounts(tuple(classes), totals, tuple(columns), len(labels))


def _surely_numeric(column: Column, kind: Kind | None) -> bool:
    """Return whether the numbers of a column cannot be states: they are declared numeric, or one of them has a fraction."""
    if kind is not None or not len(column):
        return kind == "numeric"
    return any(bool((part != np.floor(part))[~np.isnan(part)].any()) for part in (column.values[:1000], column.values))


def _range(column: Column, low: float, high: float) -> _Coded:
    """Return a column of which only the range is kept: all its numbers share one cell."""
    if not np.isnan(low):
        return _Coded(np.array([low]), np.broadcast_to(np.uint8(0), len(column)), np.array([high]), ONE_CELL)
    absent = missing(column.values)
    known = column.values[~absent]
    codes = absent.view(np.uint8) * np.uint8(missing_code(np.uint8))
    if not len(known):
        return _Coded(np.empty(0), codes, np.empty(0))
    return _Coded(known.min(keepdims=True), codes, known.max(keepdims=True), ONE_CELL)


def _equally_long(coded: Sequence[_Coded]) -> Iterable[list[int]]:
    """Group the columns by their numbers of values."""
    groups: dict[int, list[int]] = {}
    for j, column in enumerate(coded):
        groups.setdefault(len(column.values), []).append(j)
    return groups.values()


def _stacked(flat: LimbSums, layout: _kernels.Layout, columns: list[int], values: int, classes: int) -> LimbSums:
    """Return the tables of columns with equally many values.  # (column, value, class)"""
    size = layout.sizes[columns[0]]
    cells = layout.offsets[columns][:, None] + np.arange(size)
    return {q: part[cells].reshape(len(columns), -1, layout.cards[-1])[:, :values, :classes] for q, part in flat.items()}


def _column_counts(
    column: Column, coded: _Coded, weights: LimbSums, missing: LimbSums, kind: Kind | None, all_occur: bool
) -> ColumnCounts:
    kind = kind or column.kind
    declared = column.states if column.declared else None
    counts = ColumnCounts(column.name, coded.values, weights, missing, kind, declared, coded.tops, coded.level, kind == "nominal")
    if not all_occur:
        counts = counts.trimmed()
    if counts.numbers:
        return in_cells(counts, exact=counts.exact) if len(counts.values) > CELLS else counts
    states = ordered(counts.values)
    if all(one is two for one, two in zip(states, counts.values, strict=True)):
        return counts
    position = {id(s): i for i, s in enumerate(counts.values)}
    order = [position[id(s)] for s in states]
    return replace(counts, values=states, weights={q: part[order] for q, part in counts.weights.items()})


def _coded(table: Table, column: Column, kind: Kind | None, limit: int | None) -> _Coded:
    """Return the column by the positions of its values."""
    values = column.values
    if column.states is not None:
        if kind == "numeric":
            return _coded_numbers(as_numbers(column, table), exact=False)
        return _Coded(column.states, values.astype(narrowest(len(column.states)), copy=False))  # -1 becomes the largest code
    if values.dtype == np.bool_:
        if kind == "numeric":
            numbers = np.array([0, 1])
            return _Coded(numbers, values.view(np.uint8), numbers)
        return _Coded((False, True), values.view(np.uint8))
    if limit is not None and limit < 256:
        numbers = _below(limit)
        return _Coded(numbers, values, numbers)
    return _coded_numbers(values, exact=kind == "nominal")


@cache
def _below(count: int) -> NDArray[np.int64]:
    """Return the integers below a count; the same array for every column that has them."""
    numbers = np.arange(count)
    numbers.setflags(write=False)
    return numbers


def _coded_numbers(values: NDArray[Any], *, exact: bool) -> _Coded:
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < max(256, min(len(values), CELLS)):
            wide = values if values.dtype.itemsize == 8 else values.astype(np.int64)  # room for the difference
            numbers = np.array(range(low, high + 1), values.dtype if values.dtype.itemsize == 8 else np.int64)
            return _Coded(numbers, (wide - wide.dtype.type(low)).astype(narrowest(len(numbers))), numbers)
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    distinct, position = np.unique(values[known], return_inverse=True)
    if distinct.dtype.kind == "f":
        distinct = distinct + 0.0  # -0.0 becomes 0.0
    starts, level = cells_of(distinct, 0, None if exact else CELLS)
    cell = np.zeros(len(distinct), np.int64)
    cell[starts[1:]] = 1
    dtype = narrowest(len(starts))
    codes = np.full(len(values), missing_code(dtype), dtype)
    codes[known] = np.cumsum(cell)[position]
    tops = np.maximum.reduceat(distinct, starts) if len(starts) else distinct
    return _Coded(distinct[starts], codes, tops, level)
