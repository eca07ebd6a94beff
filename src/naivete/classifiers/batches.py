"""What a classifier keeps of its rows, so that it can learn more of them later, take some out again, or join another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.exact_sums import LIMB, LimbSums, limbs, subtract_sums
from naivete.counts.sparse_tables import grouped_rows
from naivete.data.frames import SparseMatrix
from naivete.data.labelled import LabelledTable
from naivete.data.table import Column, Table
from naivete.encoding.value_counts import ValueCounts, plain_numbers
from naivete.errors import DataError, quoted
from naivete.variables import Name, State

__all__ = ["Kept", "differing", "own_copy"]


@dataclass(frozen=True, eq=False)
class Kept:
    """The tallies of all rows so far, and the rows themselves where tallies do not say enough.

    Parameters
    ----------
    tallies : how often each value occurs in each class.
    batches : the rows; None where the classifier is a function of the tallies.
    target : the name of the class.
    framed : whether the columns came with names.
    """

    tallies: ValueCounts
    batches: tuple[LabelledTable, ...] | None
    target: Name
    framed: bool

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the features."""
        return tuple(tally.name for tally in self.tallies.columns)

    def in_order(self, names: Sequence[Name]) -> Kept:
        """With the features in this order."""
        if self.names == tuple(names):
            return self
        at = [self.names.index(name) for name in names]
        tallies = replace(self.tallies, columns=tuple(self.tallies.columns[i] for i in at))
        batches = self.batches
        if batches is not None:
            batches = tuple(
                replace(b, features=replace(b.features, columns=tuple(b.features.columns[i] for i in at))) for b in batches
            )
        return replace(self, tallies=tallies, batches=batches)

    def plus(self, other: Kept) -> Kept:
        """With the rows of the other."""
        batches = None if self.batches is None or other.batches is None else (*self.batches, *other.batches)
        return replace(self, tallies=self.tallies.merged(other.tallies), batches=batches)

    def less(self, other: Kept) -> Kept:
        """Without the rows of the other; refused where one of them was never learned."""
        batches = self.batches
        if batches is not None and other.batches is not None:
            batches = (_without(batches, other.batches[0]),)
        return replace(self, tallies=self.tallies.less(other.tallies), batches=batches)


def own_copy(batch: LabelledTable) -> LabelledTable:
    """The batch without memory that it shares with what the caller passed, and may change."""
    weight = None if batch.weight is None else batch.weight.copy()
    if isinstance(batch.features, SparseMatrix):
        sparse = batch.features
        features: Table = SparseMatrix.of(sparse.matrix.copy(), sparse.names, sparse.source, sparse.first)
    else:
        columns = tuple(replace(column, values=column.values.copy()) for column in batch.features.columns)
        features = replace(batch.features, columns=columns, weight=weight)
    return replace(batch, features=features, labels=batch.labels.copy(), weight=weight)


def _without(batches: Sequence[LabelledTable], gone: LabelledTable) -> LabelledTable:
    """The rows of the batches less those that are gone: every distinct row once for each limb of the weight it has left."""
    whole = _joined([*batches, gone])
    count = len(whole) - len(gone)
    columns = [_numbered(column) for column in whole.features.columns]
    first, group = grouped_rows([*columns, whole.labels], [*(int(c.max(initial=0)) + 1 for c in columns), len(whole.classes)])
    weight = np.ones(len(whole)) if whole.weight is None else whole.weight
    left = subtract_sums(*(_sums(group[part], weight[part], len(first)) for part in (slice(count), slice(count, None))))
    lacking = left[max(left)] < 0
    if lacking.any():
        row = int(np.argmax(lacking[group[count:]]))
        raise DataError(
            f"{gone.features.place(row)}: this row, with its class, was not learned so often; "
            "only what was learned can be forgotten"
        )
    at = np.concatenate([np.flatnonzero(part) for part in left.values()])
    weights = np.concatenate([np.ldexp(part[part != 0].astype(np.float64), LIMB * q) for q, part in left.items()])
    rows = whole.take(first[at])
    kept = None if np.all(weights == 1) else weights
    return replace(rows, features=replace(rows.features, weight=kept), weight=kept)


def _sums(group: NDArray[np.int64], weight: NDArray[np.float64], count: int) -> LimbSums:
    parts: LimbSums = {}
    for q, limb in limbs(weight).items():
        assert limb is not None
        parts[q] = np.zeros(count, np.int64)
        np.add.at(parts[q], group, limb)
    return parts


def _joined(batches: Sequence[LabelledTable]) -> LabelledTable:
    """The batches one after the other."""
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
    """The columns one after the other, of states where one of them is."""
    first = parts[0]
    if all(part.states is None and part.values.dtype.kind != "b" for part in parts):
        return replace(first, values=np.concatenate([part.values for part in parts]))
    states: dict[tuple[bool, State], int] = {}
    codes = []
    for part in parts:
        listed = _listed(part)
        assert listed.states is not None
        at = [states.setdefault((isinstance(s, bool), s), len(states)) for s in listed.states]
        codes.append(np.array([*at, -1], np.int32)[listed.values])
    kind = next((part.kind for part in parts if part.kind), None)
    declared = any(part.declared for part in parts)
    return Column(first.name, np.concatenate(codes), tuple(s for _, s in states), kind, declared)


def _listed(column: Column) -> Column:
    """The column by its states."""
    if column.states is not None:
        return column
    values = column.values
    known = values == values
    distinct, position = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, np.int32)
    codes[known] = position
    return Column(column.name, codes, plain_numbers(distinct), column.kind)


def _numbered(column: Column) -> NDArray[np.int64]:
    """A number from 0 on for each value, the same for equal ones; a missing one equals another."""
    if column.states is not None:
        return column.values.astype(np.int64) + 1
    return np.unique(column.values, return_inverse=True)[1].astype(np.int64)


def differing(one: dict[str, Any], two: dict[str, Any]) -> str:
    """The settings in which two classifiers differ, with both values; empty where there are none."""
    told = [f"{name}: {quoted(one[name])} and {quoted(two[name])}" for name in one if repr(one[name]) != repr(two.get(name))]
    return "; ".join(told)
