"""Counts of all sets of a few features at the level of their values, which replace the rows of a stream.

TAN and KDB learn from the tables of at most two, or k + 1, features with the class. Which of them are needed, and where numbers are
cut, depends on all rows; so the tables of all sets of that many features are kept, with an entry for every distinct value. They are
sums over the rows, hence independent of their number, and can be merged and subtracted exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Integers
from naivete._kernels.exact_sums import LimbSums, add_sums, subtract_sums, sum_all, sums_as_numbers
from naivete.cases.rows import EncodeRows
from naivete.counts.block_counts import table_counts
from naivete.counts.memory_budget import DENSE_CELLS
from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.encoding.feature_tables import FeatureTables, codes_of
from naivete.encoding.value_counts import ColumnCounts, ValueCounts
from naivete.errors import DataError
from naivete.variables import CLASS, Family, State, Variable, state_key

__all__ = ["KnownFamilies", "ValueTables", "bytes_of_rows", "bytes_of_tables", "values_of"]

Values = tuple[tuple[State, ...], ...]
"""The distinct values of each feature."""


def bytes_of_tables(value_counts: ValueCounts, members: int) -> int | None:
    """Return the bytes of the tables of all sets of `members` features; None if one of them is too large to be dense.

    A table has a state for every distinct value of a feature, and one for missing values.
    """
    cards = sorted((len(column.values) + 1 for column in value_counts.columns), reverse=True)
    classes, size = len(value_counts.classes), min(members, len(cards))
    if prod(cards[:size]) * classes > DENSE_CELLS:
        return None
    return 8 * classes * _elementary_symmetric(cards, size)


def _elementary_symmetric(values: Sequence[int], size: int) -> int:
    """Return the sum, over all sets of `size` values, of their products.

    >>> _elementary_symmetric([2, 3, 5], 2)
    31
    """
    sums = [1] + [0] * size
    for value in values:
        for k in range(size, 0, -1):
            sums[k] += value * sums[k - 1]
    return sums[size]


def bytes_of_rows(batches: Iterable[LabelledTable]) -> int:
    """Return the bytes of the values of some batches; sparse matrices, whose rows are always kept, count as none."""
    return sum(_bytes(batch) for batch in batches)


def _bytes(batch: LabelledTable) -> int:
    if isinstance(batch.features, SparseMatrix):
        return 0
    weight = 0 if batch.weight is None else batch.weight.nbytes
    return weight + batch.labels.nbytes + sum(column.values.nbytes for column in batch.features.columns)


@dataclass(frozen=True, eq=False)
class ValueTables:
    """The tables of all sets of some number of features with the class, by value.

    Parameters
    ----------
    members : the number of features of each table, or all features where there are fewer.
    values : the distinct values of each feature; in the tables a state for missing values follows them.
    classes : the class labels.
    sums : the counts of all tables, in one flat array for each limb.
    """

    members: int
    values: Values
    classes: tuple[State, ...]
    sums: LimbSums

    @classmethod
    def of(cls, batches: Sequence[LabelledTable], value_counts: ValueCounts, members: int) -> ValueTables:
        """Return the tables of some batches.

        Parameters
        ----------
        batches : the rows.
        value_counts : the value counts of all of them, and perhaps of other rows.
        members : the number of features of each table.
        """
        values = values_of(value_counts)
        empty = cls(members, values, value_counts.classes, {})
        names = [column.name for column in value_counts.columns]
        variables = [Variable(name, states, missing=True) for name, states in zip(names, values, strict=True)]
        encode = EncodeRows((*variables, Variable(batches[0].target, value_counts.classes)), "marginalise")
        return replace(empty, sums=sum_all(table_counts(encode(batch), empty.layout, {})[0] for batch in batches))

    @cached_property
    def layout(self) -> _kernels.Layout:
        """Where the table of each set of features lies in the flat array."""
        features = range(len(self.values))
        families = tuple((*some, CLASS) for some in combinations(features, min(self.members, len(features))))
        return _kernels.Layout(families, (*(len(states) + 1 for states in self.values), len(self.classes)))

    @property
    def nbytes(self) -> int:
        """The bytes of the counts."""
        return sum(part.nbytes for part in self.sums.values())

    def placed(self, values: Values, classes: tuple[State, ...]) -> ValueTables:
        """Return the same counts with these values and classes, which have all that occur."""
        if (values, classes) == (self.values, self.classes):
            return self
        result = replace(self, values=values, classes=classes, sums={})
        positions = [_positions(old, new) for old, new in zip(self.values, values, strict=True)]
        class_positions = _positions(self.classes, classes)[:-1]
        for q, flat in self.sums.items():
            result.sums[q] = np.zeros(result.layout.size, np.int64)
            for i, family in enumerate(self.layout.families):
                axes = [*(positions[x] for x in family[:-1]), class_positions]
                kept = [np.flatnonzero(axis >= 0) for axis in axes]
                targets = [axis[states] for axis, states in zip(axes, kept, strict=True)]
                result.layout.table(result.sums[q], i)[np.ix_(*targets)] = self.layout.table(flat, i)[np.ix_(*kept)]
        return result

    def plus(self, other: ValueTables, value_counts: ValueCounts) -> ValueTables:
        """Return the counts of both; `value_counts` are those of both."""
        one, two = (tables.placed(values_of(value_counts), value_counts.classes) for tables in (self, other))
        return replace(one, sums=add_sums(one.sums, two.sums))

    def subtract(self, other: ValueTables, value_counts: ValueCounts) -> ValueTables:
        """Return the counts without those of the other; `value_counts` are the remaining ones.

        Rows are refused if a combination of their values was learned fewer times than it would be forgotten. A row that
        was not learned may pass this check.
        """
        sums = subtract_sums(self.sums, other.placed(self.values, self.classes).sums)
        if sums[max(sums)].min(initial=0) < 0:
            raise DataError(
                "some of these rows, with their classes, were learned fewer times than they would be forgotten; "
                "only what was learned can be forgotten"
            )
        return replace(self, sums=sums).placed(values_of(value_counts), value_counts.classes)

    def in_order(self, order: Sequence[int]) -> ValueTables:
        """Return the same counts with the features in another order: first the one at position `order[0]`, and so on."""
        result = replace(self, values=tuple(self.values[x] for x in order), sums={})
        position = {family: i for i, family in enumerate(self.layout.families)}
        for q, flat in self.sums.items():
            result.sums[q] = np.zeros_like(flat)
            for i, family in enumerate(result.layout.families):
                old = [order[x] for x in family[:-1]]
                table = self.layout.table(flat, position[*sorted(old), CLASS])
                axes = [sorted(old).index(x) for x in old]
                result.layout.table(result.sums[q], i)[...] = table.transpose([*axes, len(axes)])
        return result


def values_of(value_counts: ValueCounts) -> Values:
    """Return the distinct values of each feature, in their order in the value counts."""
    return tuple(column.states for column in value_counts.columns)


def _positions(old: Sequence[State], new: Sequence[State]) -> Integers:
    """Return the position of each old value among the new ones, -1 if it is not there, and last that of missing values."""
    position = {state_key(state): i for i, state in enumerate(new)}
    return np.array([*(position.get(state_key(state), -1) for state in old), len(new)], np.int64)


@dataclass(frozen=True, eq=False)
class KnownFamilies:
    """The tables of families, equal to those counted from the encoded rows.

    Parameters
    ----------
    counts : the value counts.
    variables : the schema of the features.
    tables : the tables by value.
    """

    counts: ValueCounts
    variables: Sequence[Variable]
    tables: ValueTables

    pairs_known: ClassVar[bool] = True

    @cached_property
    def single(self) -> FeatureTables:
        """The tables of single features."""
        return FeatureTables(self.counts, self.variables)

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return self.counts.rows

    @cached_property
    def _position(self) -> dict[Family, int]:
        return {family: i for i, family in enumerate(self.tables.layout.families)}

    @cached_property
    def _codes(self) -> list[Integers]:
        """The code of each value of each feature and of missing ones in the schema; -1 if they are not counted."""
        return [_value_codes(column, v) for column, v in zip(self.counts.columns, self.variables, strict=True)]

    def __call__(self, family: Family) -> NDArray[Any] | None:
        """Return the table of a family; None if it has more features than the tables."""
        features = [x for x in family if x != CLASS]
        if len(features) < 2:
            return self.single(family)
        if len(features) > self.tables.members:
            return None
        others = [x for x in range(len(self.variables)) if x not in features]
        some = sorted([*features, *others[: self.tables.members - len(features)]])
        parts = {q: self._table((*some, CLASS), family, flat) for q, flat in self.tables.sums.items()}
        return sums_as_numbers(parts)

    def _table(self, stored: Family, family: Family, flat: Integers) -> Integers:
        """Return the counts of a family from the table of a larger one, with the codes of the schema."""
        table = self.tables.layout.table(flat, self._position[stored])
        table = table.sum(axis=tuple(axis for axis, v in enumerate(stored) if v not in family))
        for axis, x in enumerate(family):
            if x != CLASS:
                table = _recoded(table, axis, self._codes[x], self.variables[x].card)
        return table


def _value_codes(column: ColumnCounts, variable: Variable) -> Integers:
    if variable.left_out:
        return np.zeros(len(column.values) + 1, np.int64)
    codes = codes_of(column, variable)
    assert codes is not None  # every number has a cell of its own
    return np.array([*codes.tolist(), variable.known if variable.missing else -1], np.int64)


def _recoded(table: Integers, axis: int, codes: Integers, card: int) -> Integers:
    """Return the sums of the entries with the same code along one axis; those with a negative code are left out."""
    kept = np.flatnonzero(codes >= 0)
    moved = np.moveaxis(table, axis, 0)
    result = np.zeros((card, *moved.shape[1:]), table.dtype)
    np.add.at(result, codes[kept], moved[kept])
    return np.moveaxis(result, 0, axis)
