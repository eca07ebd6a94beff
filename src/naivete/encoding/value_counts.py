"""Value counts: the weight of each class at each value of each column.

The schema follows from them, and naive Bayes needs nothing else. The counts of parts of the rows can be merged and subtracted,
exactly and in any order. A column of text has an entry for every state. A column of numbers has one for every distinct value; if
there are too many, neighboring values share a cell: those that agree in the leading bits of their floating-point representation,
with as few trailing bits dropped as necessary. The cells depend on the values alone, not on how the rows were divided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.exact_sums import LARGEST_EXACT, LimbSums, add_sums, halve_sums, nonzero_sums, subtract_sums, sums_as_numbers
from naivete.data.table import Kind
from naivete.errors import DataError, DataTypeError, quoted
from naivete.storage.values import record
from naivete.variables import Name, State, ordered, state_key, type_word

__all__ = ["CELLS", "ColumnCounts", "ValueCounts", "cells_of", "in_cells", "plain_numbers"]

CELLS = 1 << 14
"""The largest number of values, or cells of values, that are kept of a numeric column."""

STATE_BYTES = 400
"""About how many bytes a state needs as a Python object, with its entries in dictionaries."""
SHARED_STATES = 32
"""Tuples of at most this many numeric states are shared between columns."""


@record("column-counts")
@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """The weight of each class at each value of one column.

    Parameters
    ----------
    name : the name of the column.
    values : the values that occur: states in the order of `ordered`, or an increasing array of numbers.
    weights : the weight of each class at each value.  # (value, class)
    missing : the weight of each class where the value is missing.  # (class,)
    kind : "nominal" or "numeric" if the source or the encoder declares it.
    declared : the states that the source declares, whether they occur or not.
    tops : for numbers, the largest value of each cell; `values` has the smallest. None for states.
    level : for numbers, the number of trailing bits in which the values of one cell may differ; 0 if each value has its own cell.
    exact : for numbers, whether every value keeps its own cell, however many there are.
    """

    name: Name
    values: tuple[State, ...] | NDArray[Any]
    weights: LimbSums
    missing: LimbSums
    kind: Kind | None = None
    declared: tuple[State, ...] | None = None
    tops: NDArray[Any] | None = None
    level: int = 0
    exact: bool = False

    @property
    def numbers(self) -> bool:
        """Whether the values are numbers, not states."""
        return self.tops is not None

    @property
    def empty(self) -> bool:
        """Whether no value occurs and none is declared."""
        return not len(self.values) and self.declared is None

    @property
    def has_missing(self) -> bool:
        """Whether some value is missing."""
        return any(part.any() for part in self.missing.values())

    def merged(self, other: ColumnCounts) -> ColumnCounts:
        """Return the counts of both sets of rows."""
        missing, exact = add_sums(self.missing, other.missing), self.exact or other.exact
        if self.empty or other.empty:  # a column without values has no type
            typed = other if self.empty and not (other.empty and other.numbers) else self
            return replace(typed, missing=missing, exact=exact)
        kind = self.kind or other.kind
        if self.numbers and other.numbers:
            return replace(_numbers_merged(self, other), missing=missing, kind=kind, exact=exact)
        one, two = _as_states(self), _as_states(other)
        states = ordered({state_key(s): s for s in (*one.values, *two.values)}.values())
        weights = add_sums(_spread(one, states), _spread(two, states))
        return ColumnCounts(self.name, states, weights, missing, kind, _declared(one, two), exact=exact)

    def subtract(self, other: ColumnCounts) -> ColumnCounts:
        """Return the counts without those rows; values that no longer occur are removed."""
        if self.level or other.level:
            raise DataError(
                f"column {quoted(self.name)}: rows cannot be subtracted, because its more than {CELLS} distinct numbers were "
                "counted in cells; declare it nominal, discretize it beforehand, or fit again on the remaining rows"
            )
        both = self.merged(replace(other, weights={q: -p for q, p in other.weights.items()}))
        weights = subtract_sums(both.weights, {0: np.zeros_like(next(iter(both.weights.values())))})
        missing = subtract_sums(self.missing, other.missing)
        if any(p.min(initial=0) < 0 for p in (weights[max(weights)], missing[max(missing)])):
            raise DataError(f"column {quoted(self.name)}: a value is to be subtracted more often than it was counted")
        return replace(both, weights=weights, missing=missing, declared=self.declared).trimmed()

    def trimmed(self) -> ColumnCounts:
        """Return the counts without the values that do not occur."""
        occurs = np.asarray(nonzero_sums(self.weights).any(axis=1))
        if occurs.all():
            return self
        weights = {q: part[occurs] for q, part in self.weights.items()}
        if isinstance(self.values, tuple):
            return replace(
                self, values=tuple(s for s, kept in zip(self.values, occurs.tolist(), strict=True) if kept), weights=weights
            )
        tops = None if self.tops is None else self.tops[occurs]
        return replace(self, values=self.values[occurs], tops=tops, weights=weights)

    def placed(self, positions: NDArray[np.int64], classes: int) -> ColumnCounts:
        """Return the counts with their classes at these positions among `classes` of them."""
        return replace(self, weights=_placed(self.weights, positions, classes), missing=_placed(self.missing, positions, classes))

    def halved(self, times: int) -> ColumnCounts:
        """Return the counts divided by 2**times."""
        return replace(self, weights=halve_sums(self.weights, times), missing=halve_sums(self.missing, times))

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The values as the states of a nominal column."""
        return self.values if isinstance(self.values, tuple) else plain_numbers(self.values)

    def class_weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return increasing numbers and the weight of each class at each, the input of discretization.  # (value,), (value, class)

        A cell of several values is represented by its smallest value without weight and its largest with all the weight, so
        that no cut point falls inside.
        """
        assert self.tops is not None
        assert not isinstance(self.values, tuple)
        table = sums_as_numbers(self.weights).astype(np.float64)
        low, high = self.values.astype(np.float64), self.tops.astype(np.float64)
        wide = low < high
        position = np.arange(len(low)) + np.cumsum(wide)
        values, weights = np.empty(len(low) + int(wide.sum())), np.zeros((len(low) + int(wide.sum()), table.shape[1]))
        values[position[wide] - 1], values[position], weights[position] = low[wide], high, table
        return values, weights


def _declared(one: ColumnCounts, two: ColumnCounts) -> tuple[State, ...] | None:
    """Return the declared states of both, in an order that does not depend on the order of merging."""
    if one.declared is None or two.declared is None:
        return one.declared if two.declared is None else two.declared
    if list(map(state_key, one.declared)) == list(map(state_key, two.declared)):
        return one.declared
    return ordered({state_key(s): s for s in (*one.declared, *two.declared)}.values())


def _as_states(counts: ColumnCounts) -> ColumnCounts:
    """Return counts of numbers as counts of states."""
    if isinstance(counts.values, tuple):
        return counts
    if counts.level:
        raise DataTypeError(
            f"column {quoted(counts.name)}: some of the rows hold text and others more than {CELLS} distinct numbers; "
            "declare the column nominal, or correct the text"
        )
    return replace(counts, values=counts.states, tops=None)


def plain_numbers(values: NDArray[Any]) -> tuple[State, ...]:
    """Return numbers as states, whole numbers as integers.

    >>> plain_numbers(np.array([1.0, 2.5]))
    (1, 2.5)
    """
    if len(values) <= SHARED_STATES:
        return _few_numbers(values.dtype.str, values.tobytes())
    return _plain(values)


@lru_cache(maxsize=4096)
def _few_numbers(dtype: str, content: bytes) -> tuple[State, ...]:
    """Return the same tuple for all columns with the same numbers."""
    return _plain(np.frombuffer(content, dtype))


def _plain(values: NDArray[Any]) -> tuple[State, ...]:
    if values.dtype.kind != "f":
        return tuple(values.tolist())
    return tuple(int(v) if v == np.floor(v) and abs(v) < LARGEST_EXACT else v for v in values.tolist())


def _spread(counts: ColumnCounts, states: tuple[State, ...]) -> LimbSums:
    """Return the weights with a row for each of these states."""
    assert isinstance(counts.values, tuple)
    position = {state_key(s): i for i, s in enumerate(states)}
    positions = np.array([position[state_key(s)] for s in counts.values], np.int64)
    return _placed({q: part.T for q, part in counts.weights.items()}, positions, len(states), transposed=True)


def _placed(parts: LimbSums, positions: NDArray[np.int64], count: int, *, transposed: bool = False) -> LimbSums:
    """Return the parts with their last axis at these positions among `count`."""
    placed: LimbSums = {}
    for q, part in parts.items():
        wide = np.zeros((*part.shape[:-1], count), np.int64)
        wide[..., positions] = part
        placed[q] = np.ascontiguousarray(wide.T) if transposed else wide
    return placed


def _numbers_merged(one: ColumnCounts, two: ColumnCounts) -> ColumnCounts:
    values = _joined(one.values, two.values)
    tops = _joined(one.tops, two.tops)
    count = len(one.values)
    weights: LimbSums = {}
    for q in one.weights.keys() | two.weights.keys():
        rows = next(iter(one.weights.values())).shape[1]
        weights[q] = np.zeros((len(values), rows), np.int64)
        if q in one.weights:
            weights[q][:count] = one.weights[q]
        if q in two.weights:
            weights[q][count:] = two.weights[q]
    order = np.argsort(values, kind="stable")
    whole = replace(one, values=values[order], tops=tops[order], weights={q: w[order] for q, w in weights.items()})
    return in_cells(replace(whole, level=max(one.level, two.level)), exact=one.exact or two.exact)


def _joined(one: Any, two: Any) -> NDArray[Any]:
    """Return the numbers of both; small whole numbers are floats in a part of the rows without large ones, and stay exact."""
    if {one.dtype.kind, two.dtype.kind} == {"f", "i"}:
        one, two = (_as_integers(part) for part in (one, two))
    both = np.concatenate([one, two])
    return both if both.dtype.kind in "iuf" else both.astype(np.float64)


def _as_integers(values: NDArray[Any]) -> NDArray[Any]:
    whole = values.dtype.kind == "f" and bool(np.all((values == np.floor(values)) & (np.abs(values) <= LARGEST_EXACT)))
    return values.astype(np.int64) if whole else values


def in_cells(counts: ColumnCounts, *, exact: bool) -> ColumnCounts:
    """Return counts of increasing, perhaps repeated values with one entry for each cell of the lowest level that fits."""
    assert not isinstance(counts.values, tuple)
    assert counts.tops is not None
    starts, level = cells_of(counts.values, counts.level, None if exact else CELLS)
    if len(starts) == len(counts.values):
        return replace(counts, level=level)
    weights = {q: np.add.reduceat(part, starts, axis=0) for q, part in counts.weights.items()}
    tops = np.maximum.reduceat(counts.tops, starts)
    return replace(counts, values=counts.values[starts], tops=tops, weights=weights, level=level)


def cells_of(values: NDArray[Any], level: int, most: int | None) -> tuple[NDArray[np.int64], int]:
    """Return where the cells of increasing values begin, and their level: the given one, or higher if there are too many cells.

    >>> cells_of(np.array([1.0, 1.0, 1.5, 2.0]), 0, 3)
    (array([0, 2, 3]), 0)
    >>> cells_of(np.array([1.0, 1.25, 1.5, 2.0]), 0, 3)
    (array([0, 2, 3]), 51)
    """
    if len(values) == 0:
        return np.empty(0, np.int64), level
    if level == 0:
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        if most is None or len(starts) <= most:
            return starts, 0
    keys = _sortable(values)
    apart = keys[1:] ^ keys[:-1]
    digits = np.zeros(len(apart), np.int64)  # the highest bit in which two neighbors differ
    for bits in (32, 16, 8, 4, 2, 1):
        high = (apart >> np.uint64(bits)) > 0
        digits[high] += bits
        apart = np.where(high, apart >> np.uint64(bits), apart)
    digits += apart > 0
    if most is not None:
        cells = len(values) - np.cumsum(np.bincount(digits, minlength=65))  # cells at each level
        level = max(level, int(np.argmax(cells <= most)))
    return np.flatnonzero(np.concatenate([[True], digits > level])), level


def _sortable(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the bits of floating-point numbers as integers in the same order."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


@record("value-counts")
@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The value counts of all columns of some rows.

    Parameters
    ----------
    classes : the labels that occur, increasing.
    weights : the weight of each class.  # (class,)
    columns : the counts of every feature.
    rows : the number of rows.
    dropped : the number of rows without a label that were left out.
    """

    classes: tuple[State, ...]
    weights: LimbSums
    columns: tuple[ColumnCounts, ...]
    rows: int
    dropped: int = 0

    @property
    def size(self) -> int:
        """About how many bytes the counts and the schema derived from them need."""
        cells = 8 * len(self.weights) * len(self.classes)
        return sum(
            len(counts.values) * (cells + (STATE_BYTES if isinstance(counts.values, tuple) else 16)) for counts in self.columns
        )

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values."""
        owners = [i for i, counts in enumerate(self.columns) for _ in counts.missing]
        parts = [part for counts in self.columns for part in counts.missing.values()]
        has_missing = np.zeros(len(self.columns), np.bool_)
        if parts:
            np.logical_or.at(has_missing, owners, np.any(parts, axis=1))
        return has_missing

    def merged(self, other: ValueCounts) -> ValueCounts:
        """Return the counts of both sets of rows."""
        if not self.rows or not other.rows:  # an empty set of rows has no types
            empty, full = (self, other) if other.rows else (other, self)
            full = replace(full, dropped=self.dropped + other.dropped)
            return full if set(empty.classes) <= set(full.classes) else full.with_classes((*full.classes, *empty.classes))
        names, others = ([column.name for column in counts.columns] for counts in (self, other))
        if names != others:
            raise DataError(f"the rows have different columns: {quoted(names)} and {quoted(others)}; give all rows the same ones")
        classes = (*self.classes, *other.classes)
        one, two = self.with_classes(classes), other.with_classes(classes)
        columns = tuple(a.merged(b) for a, b in zip(one.columns, two.columns, strict=True))
        dropped = self.dropped + other.dropped
        return ValueCounts(one.classes, add_sums(one.weights, two.weights), columns, self.rows + other.rows, dropped)

    def subtract(self, other: ValueCounts) -> ValueCounts:
        """Return the counts without those rows, with the same classes."""
        unknown = [label for label in other.classes if label not in self.classes]
        if unknown:
            raise DataError(f"a case of the class {quoted(unknown[0])} is to be subtracted more often than it was counted")
        two = other.with_classes(self.classes)
        columns = tuple(a.subtract(b) for a, b in zip(self.columns, two.columns, strict=True))
        return ValueCounts(self.classes, subtract_sums(self.weights, two.weights), columns, self.rows - other.rows)

    def halved(self, times: int) -> ValueCounts:
        """Return the counts divided by 2**times; the number of rows stays."""
        columns = tuple(column.halved(times) for column in self.columns)
        return replace(self, weights=halve_sums(self.weights, times), columns=columns)

    def with_classes(self, labels: Iterable[State]) -> ValueCounts:
        """Return the counts with these classes added, all increasing; refuse labels of several types."""
        classes = ordered({state_key(c): c for c in (*self.classes, *labels)}.values())
        if classes == self.classes:
            return self
        kinds = {type_word(c): c for c in classes}
        if len(kinds) > 1:
            listed = " and ".join(f"{kind} ({quoted(value)})" for kind, value in kinds.items())
            raise DataTypeError(f"the class mixes {listed}; the labels have to be of one type")
        positions = np.array([classes.index(c) for c in self.classes], np.int64)
        columns = tuple(column.placed(positions, len(classes)) for column in self.columns)
        return replace(self, classes=classes, weights=_placed(self.weights, positions, len(classes)), columns=columns)
