"""What a classifier keeps of its training cases, so that more can be added and some removed again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.exact_sums import LIMB, LimbSums, halve_sums, limbs, subtract_sums
from naivete.classifiers.value_tables import ValueTables, bytes_of_rows, bytes_of_tables
from naivete.counts.configurations import grouped_rows
from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Column, Table
from naivete.encoding.value_counts import ValueCounts, plain_numbers
from naivete.errors import DataError, ResourceError, quoted
from naivete.variables import Name, State, state_key

if TYPE_CHECKING:
    from naivete.classifiers.ages import Ages

__all__ = ["KeptCases", "copied", "differences"]


@dataclass(frozen=True, eq=False)
class KeptCases:
    """The value counts of all cases so far, and tables of several features or the cases themselves where these do not suffice.

    Parameters
    ----------
    value_counts : how often each value occurs in each class.
    batches : the cases; None where the classifier needs only the value counts, or where the tables replace them.
    target : the name of the class variable.
    framed : whether the columns came with names.
    tables : the tables of all sets of some features, which replace the cases; None where there are none.
    ages : the same cases in parts by age, where they lose their weight with age; None where they do not.
    """

    value_counts: ValueCounts
    batches: tuple[LabelledTable, ...] | None
    target: Name
    framed: bool
    tables: ValueTables | None = None
    ages: Ages | None = None

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the features."""
        return tuple(column.name for column in self.value_counts.columns)

    @property
    def classes(self) -> tuple[State, ...]:
        """The class labels."""
        return self.value_counts.classes

    def in_order(self, names: Sequence[Name]) -> KeptCases:
        """Return the same cases with the features in this order."""
        if self.names == tuple(names):
            return self
        order = [self.names.index(name) for name in names]
        value_counts = replace(self.value_counts, columns=tuple(self.value_counts.columns[i] for i in order))
        batches = self.batches
        if batches is not None:
            batches = tuple(
                replace(b, features=replace(b.features, columns=tuple(b.features.columns[i] for i in order))) for b in batches
            )
        tables = None if self.tables is None else self.tables.in_order(order)
        return replace(self, value_counts=value_counts, batches=batches, tables=tables)

    def with_tables(self, members: int) -> KeptCases:
        """Return the same cases as tables of all sets of `members` features."""
        if self.tables is not None or self.batches is None:
            return self
        return replace(self, batches=None, tables=ValueTables.of(self.batches, self.value_counts, members))

    def check_tables(self, members: int, budget: int) -> None:
        """Refuse more values than the tables of all sets of `members` features can have within the budget."""
        needed = bytes_of_tables(self.value_counts, members)
        if needed is not None and needed <= budget:
            return
        widest = max(self.value_counts.columns, key=lambda column: len(column.values))
        size = "more cells than a table may have" if needed is None else f"{needed:,} bytes, and the budget is {budget:,}"
        raise ResourceError(
            f"the counts of all sets of {members} features, which partial_fit keeps in place of the rows, need {size}; the column "
            f"{quoted(widest.name)} has {len(widest.values):,} values so far: raise `budget=`, leave it out, or learn from files "
            "with fit_cases"
        )

    def for_file(self, members: int, budget: int) -> KeptCases:
        """Return the same cases without rows: as tables of all sets of `members` features, which may be refused as too large."""
        if self.batches is not None:
            self.check_tables(members, budget)
        ages = self.ages and replace(self.ages, parts=tuple(part.for_file(members, budget) for part in self.ages.parts))
        return replace(self.with_tables(members), ages=ages)

    def compact(self, members: int | None, budget: int) -> KeptCases:
        """Return the cases as tables of all sets of `members` features if these take fewer bytes than the rows and the budget."""
        if members is None or self.batches is None:
            return self
        needed = bytes_of_tables(self.value_counts, members)
        if needed is None or needed > min(bytes_of_rows(self.batches), budget):
            return self
        return self.with_tables(members)

    def plus(self, other: KeptCases, budget: int) -> KeptCases:
        """Return these cases and those of the other; tables that would exceed the budget are refused."""
        tables = self.tables or other.tables
        if tables is not None:
            one, two = self.with_tables(tables.members), other.with_tables(tables.members)
            assert one.tables is not None
            assert two.tables is not None
            value_counts = one.value_counts.merged(two.value_counts)
            replace(one, value_counts=value_counts).check_tables(tables.members, budget)
            return replace(one, value_counts=value_counts, tables=one.tables.plus(two.tables, value_counts))
        batches = None if self.batches is None or other.batches is None else (*self.batches, *other.batches)
        return replace(self, value_counts=self.value_counts.merged(other.value_counts), batches=batches)

    def subtract(self, other: KeptCases) -> KeptCases:
        """Return these cases without those of the other; a case that is not among them is refused."""
        if self.tables is not None:
            removed = other.with_tables(self.tables.members).tables
            assert removed is not None
            remaining = self.value_counts.subtract(other.value_counts)
            return replace(self, value_counts=remaining, tables=self.tables.subtract(removed, remaining))
        batches = self.batches
        if batches is not None and other.batches is not None:
            batches = (_without(batches, other.batches[0]),)
        return replace(self, value_counts=self.value_counts.subtract(other.value_counts), batches=batches)

    def without_part(self, part: KeptCases, others: Sequence[KeptCases]) -> KeptCases:
        """Return these cases without those of one part, where `others` are all the other parts."""
        if self.tables is not None:
            return self.subtract(part)
        batches = None if self.batches is None else tuple(batch for other in others for batch in other.batches or ())
        return replace(self, value_counts=self.value_counts.subtract(part.value_counts), batches=batches)

    def halved(self, times: int) -> KeptCases:
        """Return these cases, their weights halved `times` times."""
        if not times:
            return self
        batches = None if self.batches is None else tuple(_halved(batch, times) for batch in self.batches)
        tables = None if self.tables is None else replace(self.tables, sums=halve_sums(self.tables.sums, times))
        return replace(self, value_counts=self.value_counts.halved(times), batches=batches, tables=tables)


def _halved(batch: LabelledTable, times: int) -> LabelledTable:
    """Return the rows with their weights halved `times` times."""
    weight = np.ldexp(np.ones(len(batch)) if batch.weight is None else batch.weight, -times)
    features = batch.features if isinstance(batch.features, SparseMatrix) else replace(batch.features, weight=weight)
    return replace(batch, features=features, weight=weight)


def copied(batch: LabelledTable) -> LabelledTable:
    """Return the batch as a copy, since the caller may change the arrays that were passed."""
    weight = None if batch.weight is None else batch.weight.copy()
    if isinstance(batch.features, SparseMatrix):
        sparse = batch.features
        features: Table = SparseMatrix.of(sparse.matrix.copy(), sparse.names, sparse.source, sparse.first)
    else:
        columns = tuple(replace(column, values=column.values.copy()) for column in batch.features.columns)
        features = replace(batch.features, columns=columns, weight=weight)
    return replace(batch, features=features, labels=batch.labels.copy(), weight=weight)


def _without(batches: Sequence[LabelledTable], removed: LabelledTable) -> LabelledTable:
    """Return the rows of the batches without those of `removed`.

    A removed row takes the place of a row that is equal and has the same weight. Where there is none, the weight of all equal rows
    is reduced: such a row occurs once for each limb of its remaining weight, whose sums are exact.
    """
    whole = _joined([*batches, removed])
    count = len(whole) - len(removed)
    columns = [_numbered(column) for column in whole.features.columns]
    first, group = grouped_rows([*columns, whole.labels], [*(int(c.max(initial=0)) + 1 for c in columns), len(whole.classes)])
    weight = np.ones(len(whole)) if whole.weight is None else whole.weight
    kept, unmatched = _unequal_rows(group, weight, count)
    reduced = np.zeros(len(first), bool)
    reduced[group[unmatched]] = True
    whole_rows, parts = kept[~reduced[group[kept]]], kept[reduced[group[kept]]]
    remaining = subtract_sums(*(_sums(group[rows], weight[rows], len(first)) for rows in (parts, unmatched)))
    negative = remaining[max(remaining)] < 0
    if negative.any():
        row = int(unmatched[np.argmax(negative[group[unmatched]])]) - count
        raise DataError(
            f"{removed.features.place(row)}: this row, with its class, was learned fewer times than it would be forgotten; "
            "only what was learned can be forgotten"
        )
    rows = np.concatenate([whole_rows, *(first[np.flatnonzero(part)] for part in remaining.values())])
    limb_weights = (np.ldexp(part[part != 0].astype(np.float64), LIMB * q) for q, part in remaining.items())
    weights = np.concatenate([weight[whole_rows], *limb_weights])
    left = whole.take(rows)
    row_weights = None if np.all(weights == 1) else weights
    return replace(left, features=replace(left.features, weight=row_weights), weight=row_weights)


def _unequal_rows(group: NDArray[Any], weight: NDArray[np.float64], count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first `count` rows and the others, both without the pairs of one of each that agree in group and weight."""
    order = np.lexsort((weight, group))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(group[order]) != 0) | (np.diff(weight[order]) != 0)
    same = np.empty(len(order), np.int64)  # the number of the set of rows that agree
    same[order] = np.cumsum(new) - 1
    sides = slice(count), slice(count, None)
    pairs = np.minimum(*(np.bincount(same[side], minlength=int(new.sum())) for side in sides))
    kept, others = (np.flatnonzero(_position_among_equals(same[side]) >= pairs[same[side]]) for side in sides)
    return kept, others + count


def _position_among_equals(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many equal numbers precede each of them.

    >>> _position_among_equals(np.array([5, 3, 5, 5])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    result = np.empty(len(numbers), np.int64)
    result[order] = np.arange(len(numbers)) - np.searchsorted(ordered, ordered)
    return result


def _sums(group: NDArray[np.int64], weight: NDArray[np.float64], count: int) -> LimbSums:
    parts: LimbSums = {}
    for q, limb in limbs(weight).items():
        assert limb is not None
        parts[q] = np.zeros(count, np.int64)
        np.add.at(parts[q], group, limb)
    return parts


def _joined(batches: Sequence[LabelledTable]) -> LabelledTable:
    """Return the rows of all batches as one batch."""
    tables = [batch.features for batch in batches]
    columns = tuple(_column([table.columns[j] for table in tables]) for j in range(len(tables[0].columns)))
    classes = sorted({label for batch in batches for label in batch.classes.tolist()})
    position = {label: i for i, label in enumerate(classes)}
    labels = [np.array([position[c] for c in batch.classes.tolist()], np.int64)[batch.labels] for batch in batches]
    weight = None
    if any(batch.weight is not None for batch in batches):
        weight = np.concatenate([np.ones(len(b)) if b.weight is None else b.weight for b in batches])
    rows = sum(map(len, batches))
    features = Table(columns, weight, tables[0].source, None, rows)
    return LabelledTable(features, batches[0].target, np.array(classes, batches[0].classes.dtype), np.concatenate(labels), weight)


def _column(parts: Sequence[Column]) -> Column:
    """Return the values of all parts as one column, which is nominal where one of them is."""
    first = parts[0]
    if all(part.states is None and part.values.dtype.kind != "b" for part in parts):
        return replace(first, values=np.concatenate([part.values for part in parts]))
    states: dict[tuple[bool, State], int] = {}
    codes = []
    for part in parts:
        nominal = _nominal(part)
        assert nominal.states is not None
        new_codes = [states.setdefault(state_key(s), len(states)) for s in nominal.states]
        codes.append(np.array([*new_codes, -1], np.int32)[nominal.values])
    kind = next((part.kind for part in parts if part.kind), None)
    declared = any(part.declared for part in parts)
    return Column(first.name, np.concatenate(codes), tuple(s for _, s in states), kind, declared)


def _nominal(column: Column) -> Column:
    """Return the column as codes of its distinct values."""
    if column.states is not None:
        return column
    values = column.values
    observed = values == values
    distinct, position = np.unique(values[observed], return_inverse=True)
    codes = np.full(len(values), -1, np.int32)
    codes[observed] = position
    return Column(column.name, codes, plain_numbers(distinct), column.kind)


def _numbered(column: Column) -> NDArray[np.int64]:
    """Return a code from 0 for each value; equal values have equal codes, and so have all missing ones."""
    if column.states is not None:
        return column.values.astype(np.int64) + 1
    return np.unique(column.values, return_inverse=True)[1].astype(np.int64)


def differences(one: dict[str, Any], two: dict[str, Any]) -> str:
    """Return the parameters in which two classifiers differ, each with both values; empty where there are none."""
    return "; ".join(
        f"{name}: {quoted(one[name])} and {quoted(two[name])}" for name in one if repr(one[name]) != repr(two.get(name))
    )
