"""Counting a table: the tallies of its columns, all in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import narrowest
from naivete._kernels.column_blocks import extremes
from naivete._kernels.exact_sums import LimbSums, limbs, nonzero_sums
from naivete.data.frames import SparseMatrix
from naivete.data.table import Column, Kind, Table
from naivete.encoding.sparse_counting import count_sparse_values
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts, cells_of, in_cells, ordered, state_key
from naivete.errors import DataError, quoted
from naivete.variables import Name, State

__all__ = ["as_numbers", "byte_limits", "check_finite", "count_values"]


WHOLE = 64
"""The level at which all numbers are one cell."""


@dataclass(frozen=True, eq=False)
class _Coded:
    """A column by positions among values of its own; the largest code of its type means missing."""

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
    """The tallies of a table's columns, all counted in one pass.

    Parameters
    ----------
    table : the features.
    labels : the class of every row, as a position among the classes.
    classes : the labels.
    weight : the weight of every row, above zero.
    kinds : the columns that the caller declares nominal or numeric.
    range_only : whether of numbers that cannot be states no more is needed than the smallest and the largest.
    """
    if isinstance(table, SparseMatrix):
        return count_sparse_values(table, labels, classes, weight, kinds)
    taken = [column.without_blank() for column in table.columns]
    ends = check_finite(table, taken)
    limits = byte_limits(taken)
    wide = {i for i, c in enumerate(taken) if range_only and i in ends and _surely_numeric(c, kinds.get(c.name) or c.kind)}
    coded = [
        _ends(taken[i], *ends[i]) if i in wide else _coded(table, c, kinds.get(c.name) or c.kind, limits.get(i))
        for i, c in enumerate(taken)
    ]
    cards = (*(max(1, len(own.values)) for own in coded), max(1, len(classes)))
    families = (*((i, -1) for i in range(len(coded))), (-1,))
    layout = _kernels.Layout(families, cards)
    codes = (*(own.codes for own in coded), labels)
    flat = {q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(weight).items()}
    totals = {q: part[layout.offsets[-1] :][: len(classes)] for q, part in flat.items()}
    columns: list[ColumnCounts] = [None] * len(coded)  # type: ignore[list-item]
    for at in _alike(coded):
        own = [coded[j] for j in at]
        weights = _stacked(flat, layout, at, len(own[0].values), len(classes))
        missing = {q: totals[q] - part.sum(axis=1) for q, part in weights.items()}
        whole: list[bool] = np.all(np.any(nonzero_sums(weights), axis=2), axis=1).tolist()
        for i, j in enumerate(at):
            parts = {q: part[i] for q, part in weights.items()}, {q: part[i] for q, part in missing.items()}
            columns[j] = _tally(taken[j], own[i], *parts, kinds.get(taken[j].name), whole[i])
    return ValueCounts(tuple(classes), totals, tuple(columns), len(labels))


def _surely_numeric(column: Column, kind: Kind | None) -> bool:
    """Whether the numbers of a column cannot be states: they are declared numeric, or one of them has a fraction."""
    if kind is not None or not len(column):
        return kind == "numeric"
    return any(bool((part != np.floor(part))[~np.isnan(part)].any()) for part in (column.values[:1000], column.values))


def _ends(column: Column, low: float, high: float) -> _Coded:
    """A column of which only the ends are kept: all its numbers are one cell."""
    if not np.isnan(low):
        return _Coded(np.array([low]), np.broadcast_to(np.uint8(0), len(column)), np.array([high]), WHOLE)
    missing = np.isnan(column.values)
    known = column.values[~missing]
    if not len(known):
        return _Coded(np.empty(0), np.full(len(missing), 255, np.uint8), np.empty(0))
    return _Coded(known.min(keepdims=True), missing.view(np.uint8) * np.uint8(255), known.max(keepdims=True), WHOLE)


def _alike(coded: Sequence[_Coded]) -> Iterable[list[int]]:
    """The columns with equally many values."""
    found: dict[int, list[int]] = {}
    for j, own in enumerate(coded):
        found.setdefault(len(own.values), []).append(j)
    return found.values()


def _stacked(flat: LimbSums, layout: _kernels.Layout, at: list[int], values: int, classes: int) -> LimbSums:
    """The tables of columns with equally many values.  # (column, value, class)"""
    size = layout.sizes[at[0]]
    cells = layout.offsets[at][:, None] + np.arange(size)
    return {q: part[cells].reshape(len(at), -1, layout.cards[-1])[:, :values, :classes] for q, part in flat.items()}


def _tally(column: Column, own: _Coded, weights: LimbSums, missing: LimbSums, told: Kind | None, whole: bool) -> ColumnCounts:
    kind = told or column.kind
    declared = column.states if column.declared else None
    tally = ColumnCounts(column.name, own.values, weights, missing, kind, declared, own.tops, own.level, kind == "nominal")
    if not whole:
        tally = tally.trimmed()
    if tally.numbers:
        return in_cells(tally, exact=tally.exact) if len(tally.values) > CELLS else tally
    states = ordered(tally.values)
    if list(map(state_key, states)) == list(map(state_key, tally.values)):
        return tally
    position = {state_key(s): i for i, s in enumerate(tally.values)}
    order = [position[state_key(s)] for s in states]
    return replace(tally, values=states, weights={q: part[order] for q, part in tally.weights.items()})


def _coded(table: Table, column: Column, kind: Kind | None, limit: int | None) -> _Coded:
    """The column by positions among its values."""
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
    """The numbers below a count, the same array for every column that has them."""
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
        distinct = distinct + 0.0  # there is one zero
    starts, level = cells_of(distinct, 0, None if exact else CELLS)
    cell = np.zeros(len(distinct), np.int64)
    cell[starts[1:]] = 1
    codes = np.full(len(values), np.iinfo(narrowest(len(starts))).max, narrowest(len(starts)))
    codes[known] = np.cumsum(cell)[position]
    tops = np.maximum.reduceat(distinct, starts) if len(starts) else distinct
    return _Coded(distinct[starts], codes, tops, level)


def as_numbers(column: Column, table: Table | None = None) -> NDArray[Any]:
    """The values of a column as numbers or booleans."""
    if column.states is None:
        return column.values
    wrong = next((s for s in column.states if isinstance(s, str)), None)
    if wrong is not None:
        row = int(np.argmax(column.values == column.states.index(wrong)))
        place = f"row {row + 1}" if table is None else table.place(row)
        raise DataError(
            f"{place}: column {quoted(column.name)}: {quoted(wrong)} is not a number, but the column is declared numeric; "
            "correct it, or declare the column nominal"
        )
    return np.append(np.array(column.states, np.float64), np.nan)[column.values]  # type: ignore[no-any-return]


def check_finite(table: Table, columns: Sequence[Column]) -> dict[int, tuple[float, float]]:
    """Refuse infinities, whatever the table was made of; the smallest and largest of each column of floats, nan with gaps."""
    at = [i for i, column in enumerate(columns) if column.values.dtype.kind == "f" and len(column)]
    lows, highs = extremes([columns[i].values for i in at]) if at else (np.empty(0), np.empty(0))
    for i, low, high in zip(at, lows.tolist(), highs.tolist(), strict=True):
        column = columns[i]
        if not (-np.inf < low and high < np.inf) and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise DataError(
                f"{table.place(row)}: column {quoted(column.name)}: {column.values[row]} is infinity, not a number to learn from; "
                "replace it by a finite value or by a missing one"
            )
    return dict(zip(at, zip(lows.tolist(), highs.tolist(), strict=True), strict=True))


def byte_limits(columns: Sequence[Column]) -> dict[int, int]:
    """The number above the largest byte of each column of bytes, 0 where it has no rows; all found in one pass."""
    at = [i for i, c in enumerate(columns) if c.values.dtype == np.uint8 and c.states is None]
    if not at:
        return {}
    seen = np.array(_kernels.seen([columns[i].values for i in at]))  # (column, byte)
    limits = np.where(seen.any(axis=1), 256 - seen[:, ::-1].argmax(axis=1), 0)
    return dict(zip(at, limits.tolist(), strict=True))
