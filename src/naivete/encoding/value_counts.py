"""How often each value of a column occurs in each class: sums from which the schema follows, and all that naive Bayes needs.

Tallies of parts of the rows can be merged and subtracted again, exactly and in any order. A column of text has a row for every
state. A column of numbers has one for every distinct value, until these are too many: then neighbouring values share a cell,
those that agree in the leading bits of their floating point form, as few bits dropped as make the cells fit. What that gives
depends on the values alone, not on how the rows were divided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.exact_sums import LimbSums, add_sums, nonzero_sums, subtract_sums, sums_as_numbers
from naivete.data.table import Kind
from naivete.errors import DataError, DataTypeError, quoted
from naivete.storage.plain import record
from naivete.variables import Name, State

__all__ = ["CELLS", "ColumnCounts", "ValueCounts", "cells_of", "in_cells", "ordered", "plain_numbers", "state_key"]

CELLS = 1 << 14
"""The most distinct values of a numeric column that are told apart when its cut points are sought."""

WIDEST = 2**53

STATE_BYTES = 400
"""What a state takes as a Python object, in the dictionaries of several columns of tables at a time."""
FEW = 32


def ordered(states: Iterable[State]) -> tuple[State, ...]:
    """The states in an order that does not depend on the rows: booleans, numbers, text, each increasing."""
    return tuple(
        sorted(states, key=lambda s: (0, s, "") if isinstance(s, bool) else (2, 0, s) if isinstance(s, str) else (1, s, ""))
    )


@record("tally")
@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """The weight of each class at each value of one column.

    Parameters
    ----------
    name : the name of the column.
    values : the values that occur: states in the order of `ordered`, or an increasing array of numbers.
    weights : the weight of each class at each value.  # (value, class)
    missing : the weight of each class where the value is missing.  # (class,)
    kind : what the source declares the column to be.
    declared : the states that the source declares, whether they occur or not.
    tops : of numbers, the largest value of each cell, where `values` has the smallest.
    level : of numbers, how many of the trailing bits the values of one cell may differ in; 0 where each has its own.
    exact : of numbers, whether they have to stay apart however many there are.
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
        """Whether the values are plain numbers."""
        return self.tops is not None

    @property
    def vacant(self) -> bool:
        """Whether no value occurs and none is declared."""
        return not len(self.values) and self.declared is None

    @property
    def gaps(self) -> bool:
        """Whether some value is missing."""
        return any(part.any() for part in self.missing.values())

    def merged(self, other: ColumnCounts) -> ColumnCounts:
        """The tally of both sets of rows."""
        missing, exact = add_sums(self.missing, other.missing), self.exact or other.exact
        if self.vacant or other.vacant:  # rows without a value say nothing of its type
            told = other if self.vacant and not (other.vacant and other.numbers) else self
            return replace(told, missing=missing, exact=exact)
        kind = self.kind or other.kind
        if self.numbers and other.numbers:
            return replace(_numbers_merged(self, other), missing=missing, kind=kind, exact=exact)
        one, two = _as_states(self), _as_states(other)
        states = ordered({state_key(s): s for s in (*one.values, *two.values)}.values())
        weights = add_sums(_spread(one, states), _spread(two, states))
        return ColumnCounts(self.name, states, weights, missing, kind, _declared(one, two), exact=exact)

    def less(self, other: ColumnCounts) -> ColumnCounts:
        """The tally without those rows; what no row has any more is gone."""
        if self.level or other.level:
            raise DataError(
                f"column {quoted(self.name)}: rows cannot be taken out again, because its more than {CELLS} distinct numbers were "
                "counted in cells; declare it nominal, cut it beforehand, or learn again from the rows that are left"
            )
        both = self.merged(replace(other, weights={q: -p for q, p in other.weights.items()}))
        weights = subtract_sums(both.weights, {0: np.zeros_like(next(iter(both.weights.values())))})
        missing = subtract_sums(self.missing, other.missing)
        if any(p.min(initial=0) < 0 for p in (weights[max(weights)], missing[max(missing)])):
            raise DataError(f"column {quoted(self.name)}: a value is to be taken out more often than it was learned")
        return replace(both, weights=weights, missing=missing, declared=self.declared).trimmed()

    def trimmed(self) -> ColumnCounts:
        """The tally without the values that do not occur."""
        there = np.asarray(nonzero_sums(self.weights).any(axis=1))
        if there.all():
            return self
        weights = {q: part[there] for q, part in self.weights.items()}
        if isinstance(self.values, tuple):
            return replace(
                self, values=tuple(s for s, own in zip(self.values, there.tolist(), strict=True) if own), weights=weights
            )
        tops = None if self.tops is None else self.tops[there]
        return replace(self, values=self.values[there], tops=tops, weights=weights)

    def among(self, at: NDArray[np.int64], classes: int) -> ColumnCounts:
        """The tally with its classes put at these positions among more of them."""
        return replace(self, weights=_placed(self.weights, at, classes), missing=_placed(self.missing, at, classes))

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The values as the states of a nominal column."""
        return self.values if isinstance(self.values, tuple) else plain_numbers(self.values)

    def curve(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Increasing numbers and the weight of each class at each, as cut points are made from.

        A cell of several values comes as its smallest without weight and its largest with all of it, so that a cut point never
        falls inside.
        """
        assert self.tops is not None
        assert not isinstance(self.values, tuple)
        table = sums_as_numbers(self.weights).astype(np.float64)
        low, high = self.values.astype(np.float64), self.tops.astype(np.float64)
        wide = low < high
        at = np.arange(len(low)) + np.cumsum(wide)
        values, weights = np.empty(len(low) + int(wide.sum())), np.zeros((len(low) + int(wide.sum()), table.shape[1]))
        values[at[wide] - 1], values[at], weights[at] = low[wide], high, table
        return values, weights


def state_key(state: State) -> tuple[bool, State]:
    """What makes two states the same: 1 and 1.0 are, 1 and True are not."""
    return isinstance(state, bool), state


def _declared(one: ColumnCounts, two: ColumnCounts) -> tuple[State, ...] | None:
    """What both declare: the same, or else all of it in one order for every order of merging."""
    if one.declared is None or two.declared is None:
        return one.declared if two.declared is None else two.declared
    if list(map(state_key, one.declared)) == list(map(state_key, two.declared)):
        return one.declared
    return ordered({state_key(s): s for s in (*one.declared, *two.declared)}.values())


def _as_states(tally: ColumnCounts) -> ColumnCounts:
    """A tally of numbers as one of states."""
    if isinstance(tally.values, tuple):
        return tally
    if tally.level:
        raise DataTypeError(
            f"column {quoted(tally.name)}: some of the rows hold text and others more than {CELLS} distinct numbers; "
            "declare the column nominal, or correct the text"
        )
    return replace(tally, values=tally.states, tops=None)


def plain_numbers(values: NDArray[Any]) -> tuple[State, ...]:
    """Numbers as states: whole ones as integers.

    >>> plain_numbers(np.array([1.0, 2.5]))
    (1, 2.5)
    """
    if len(values) <= FEW:
        return _few_numbers(values.dtype.str, values.tobytes())
    return _plain(values)


@lru_cache(maxsize=4096)
def _few_numbers(dtype: str, content: bytes) -> tuple[State, ...]:
    """The same tuple for all columns that have the same few numbers."""
    return _plain(np.frombuffer(content, dtype))


def _plain(values: NDArray[Any]) -> tuple[State, ...]:
    if values.dtype.kind != "f":
        return tuple(values.tolist())
    return tuple(int(v) if v == np.floor(v) and abs(v) < WIDEST else v for v in values.tolist())


def _spread(tally: ColumnCounts, states: tuple[State, ...]) -> LimbSums:
    """The weights with a row for each of these states."""
    assert isinstance(tally.values, tuple)
    position = {state_key(s): i for i, s in enumerate(states)}
    at = np.array([position[state_key(s)] for s in tally.values], np.int64)
    return _placed({q: part.T for q, part in tally.weights.items()}, at, len(states), transposed=True)


def _placed(parts: LimbSums, at: NDArray[np.int64], count: int, *, transposed: bool = False) -> LimbSums:
    """The parts with their last axis spread over `count` places."""
    found: LimbSums = {}
    for q, part in parts.items():
        wide = np.zeros((*part.shape[:-1], count), np.int64)
        wide[..., at] = part
        found[q] = np.ascontiguousarray(wide.T) if transposed else wide
    return found


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
    both = np.concatenate([one, two])
    return both if both.dtype.kind in "iuf" else both.astype(np.float64)


def in_cells(tally: ColumnCounts, *, exact: bool) -> ColumnCounts:
    """The tally, its values increasing but perhaps repeated, with one row for each cell of the lowest level that fits."""
    assert not isinstance(tally.values, tuple)
    assert tally.tops is not None
    starts, level = cells_of(tally.values, tally.level, None if exact else CELLS)
    if len(starts) == len(tally.values):
        return replace(tally, level=level)
    weights = {q: np.add.reduceat(part, starts, axis=0) for q, part in tally.weights.items()}
    tops = np.maximum.reduceat(tally.tops, starts)
    return replace(tally, values=tally.values[starts], tops=tops, weights=weights, level=level)


def cells_of(values: NDArray[Any], level: int, most: int | None) -> tuple[NDArray[np.int64], int]:
    """Where the cells of increasing values begin, and their level: at least the given one, higher where there are too many.

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
    digits = np.zeros(len(apart), np.int64)  # up to which bit two neighbours differ
    for bits in (32, 16, 8, 4, 2, 1):
        high = (apart >> np.uint64(bits)) > 0
        digits[high] += bits
        apart = np.where(high, apart >> np.uint64(bits), apart)
    digits += apart > 0
    if most is not None:
        left = len(values) - np.cumsum(np.bincount(digits, minlength=65))  # cells at each level
        level = max(level, int(np.argmax(left <= most)))
    return np.flatnonzero(np.concatenate([[True], digits > level])), level


def _sortable(values: NDArray[Any]) -> NDArray[np.uint64]:
    """The bits of floating point numbers as integers in the same order."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)


@record("tallies")
@dataclass(frozen=True, eq=False)
class ValueCounts:
    """The tallies of all columns of some rows.

    Parameters
    ----------
    classes : the labels that occur, increasing.
    weights : the weight of each class.  # (class,)
    columns : the tally of every feature.
    rows : how many rows there are.
    dropped : how many rows without a label were left out.
    """

    classes: tuple[State, ...]
    weights: LimbSums
    columns: tuple[ColumnCounts, ...]
    rows: int
    dropped: int = 0

    @property
    def size(self) -> int:
        """About how many bytes these and the schema that is made of them take."""
        cells = 8 * len(self.weights) * len(self.classes)
        return sum(len(tally.values) * (cells + (STATE_BYTES if isinstance(tally.values, tuple) else 16)) for tally in self.columns)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which features have missing values."""
        return np.array([tally.gaps for tally in self.columns], np.bool_)

    def merged(self, other: ValueCounts) -> ValueCounts:
        """The tallies of both sets of rows."""
        if not self.rows or not other.rows:  # rows that are none have no types to agree on
            empty, full = (self, other) if other.rows else (other, self)
            full = replace(full, dropped=self.dropped + other.dropped)
            return full if set(empty.classes) <= set(full.classes) else full.over((*full.classes, *empty.classes))
        names, others = ([tally.name for tally in own.columns] for own in (self, other))
        if names != others:
            raise DataError(f"the rows have different columns: {quoted(names)} and {quoted(others)}; give all rows the same ones")
        classes = (*self.classes, *other.classes)
        one, two = self.over(classes), other.over(classes)
        columns = tuple(a.merged(b) for a, b in zip(one.columns, two.columns, strict=True))
        dropped = self.dropped + other.dropped
        return ValueCounts(one.classes, add_sums(one.weights, two.weights), columns, self.rows + other.rows, dropped)

    def less(self, other: ValueCounts) -> ValueCounts:
        """The tallies without those rows; the classes stay."""
        strange = [label for label in other.classes if label not in self.classes]
        if strange:
            raise DataError(f"a case of the class {quoted(strange[0])} is to be taken out more often than it was learned")
        two = other.over(self.classes)
        columns = tuple(a.less(b) for a, b in zip(self.columns, two.columns, strict=True))
        return ValueCounts(self.classes, subtract_sums(self.weights, two.weights), columns, self.rows - other.rows)

    def over(self, labels: Iterable[State]) -> ValueCounts:
        """The tallies with these classes beside its own, all increasing; labels of several types are refused."""
        classes = tuple(sorted({state_key(c): c for c in (*self.classes, *labels)}.values(), key=_sort_key))
        if classes == self.classes:
            return self
        kinds = {_label_type(c): c for c in classes}
        if len(kinds) > 1:
            listed = " and ".join(f"{kind} ({quoted(value)})" for kind, value in kinds.items())
            raise DataTypeError(f"the class mixes {listed}; the labels have to be of one type")
        at = np.array([classes.index(c) for c in self.classes], np.int64)
        columns = tuple(tally.among(at, len(classes)) for tally in self.columns)
        return replace(self, classes=classes, weights=_placed(self.weights, at, len(classes)), columns=columns)


def _sort_key(label: State) -> tuple[str, State]:
    return _label_type(label), label


def _label_type(label: State) -> str:
    return "text" if isinstance(label, str) else "truth values" if isinstance(label, bool) else "numbers"
