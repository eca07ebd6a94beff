"""A table divided into features, class and weights: what learning from files and every experiment start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import narrowest
from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError, close_matches, quoted
from naivete.variables import Name, State

__all__ = ["ColumnRoles", "LabelledTable", "label_table", "small_classes", "unknown_column_error"]

SMALL_RANGE = 1 << 16
LARGEST_WEIGHT = 1e290
"""Above this, sums of many weights might be infinite."""


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Cases with their classes.

    Parameters
    ----------
    features : the table without the class and the weights.
    target : the name of the class.
    classes : the labels that occur, increasing.
    labels : the position of every row's label among them.
    weight : the weight of every row, None where all weigh one.
    dropped : how many rows without a label were left out.
    declared : the labels in the order in which the source declares them, None where it does not.
    """

    features: Table
    target: Name
    classes: NDArray[Any]
    labels: NDArray[Any]
    weight: NDArray[np.float64] | None = None
    dropped: int = 0
    declared: tuple[State, ...] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def y(self) -> NDArray[Any]:
        """The label of every row."""
        return np.asarray(self.classes[self.labels])

    @property
    def column(self) -> Column:
        """The labels under the name of the class."""
        return Column(self.target, self.labels, tuple(self.classes.tolist()), kind="nominal")

    def take(self, rows: NDArray[Any]) -> LabelledTable:
        """These rows only; the classes stay."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, features=self.features.take(rows), labels=self.labels[rows], weight=weight)

    def settled(self) -> LabelledTable:
        """With the classes that occur only."""
        there, labels = np.unique(self.labels, return_inverse=True)
        return self if len(there) == len(self.classes) else replace(self, classes=self.classes[there], labels=labels)


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns of a table are the class and the weight, and which are left out.

    Parameters
    ----------
    target : the column with the class; its values are labels, so numbers that are not whole are refused.
    weight : a column with the weight of every row, which is then no feature; by default the weights of the table, if it has any.
    ignore : columns that are no features.
    drop_unlabelled : leave out the rows without a label instead of refusing them.
    """

    target: Name
    weight: Name = None
    ignore: tuple[Name, ...] = ()
    drop_unlabelled: bool = False

    def of(self, table: Table) -> LabelledTable:
        """The table divided; perhaps no row is left."""
        column = _named(table, self.target)
        if self.weight is not None:
            if self.weight == self.target:
                raise ParameterError(f"the column {quoted(self.target)} cannot be both the class and the weight")
            table = _weighted(table, _named(table, self.weight))
        codes, classes = _labels(column, table)
        unlabelled = np.flatnonzero(codes < 0)
        if len(unlabelled) and not self.drop_unlabelled:
            raise DataError(
                f"{table.place(int(unlabelled[0]))}: column {quoted(self.target)}: no label, as in {len(unlabelled)} rows of "
                f"{len(table)}; fill them in, or leave those rows out with `unlabelled='drop'` of the encoder"
            )
        features = table.without(self.target)
        for name in self.ignore:
            features = features.without(_named(features, name).name)
        if len(unlabelled):
            rows = np.flatnonzero(codes >= 0)
            features, codes = features.take(rows), codes[rows]
        if not features.columns:
            raise DataError(
                f"{table.source}: there are no columns beside the class {quoted(self.target)}; at least one feature is needed"
            )
        declared = column.states if column.declared else None
        return LabelledTable(features, column.name, classes, codes, features.weight, len(unlabelled), declared)

    def weighing(self, table: Table) -> LabelledTable:
        """The table divided, without the rows of weight zero: those that are learned from."""
        cases = self.of(table)
        if cases.weight is None:
            return cases
        _check_weights(cases.features, cases.weight)
        kept = np.flatnonzero(cases.weight > 0)
        return cases if len(kept) == len(cases) else cases.take(kept).settled()


def label_table(table: Table, target: Name, *, weight: Name = None, drop_unlabelled: bool = False) -> LabelledTable:
    """The table divided into features, class and weights; refused where no row is left.

    Parameters
    ----------
    table : the table.
    target, weight, drop_unlabelled : as for `ColumnRoles`.
    """
    cases = ColumnRoles(target, weight, (), drop_unlabelled).of(table)
    if not len(cases):
        raise DataError(f"{table.source}: there are no rows with a label to learn from; 0 of {len(table)} have one")
    return cases


def _check_weights(table: Table, weight: NDArray[np.float64]) -> None:
    wrong = np.flatnonzero(~(weight < LARGEST_WEIGHT))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{table.place(row)}: the weight {weight[row]} is not a number below {LARGEST_WEIGHT:.0e}; scale the weights "
            "down, or correct it"
        )


def _named(table: Table, name: Name) -> Column:
    """The column of this name; the error says which there are."""
    try:
        return table[name]
    except ParameterError:
        raise unknown_column_error(name, table.names, table.source) from None


def unknown_column_error(name: Name, names: Sequence[Name], source: str) -> ParameterError:
    """The refusal of a column that is not there, with those that are."""
    close = close_matches(name, names)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    listed = ", ".join(map(str, names[:30])) + more
    return ParameterError(f"{source}: there is no column {quoted(name)}; {hint}The columns are: {listed}")


def _weighted(table: Table, column: Column) -> Table:
    if column.states is not None or column.values.dtype.kind == "b":
        raise DataError(f"{table.source}: column {quoted(column.name)} cannot be the weight: it holds no numbers")
    values = column.values.astype(np.float64)
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{table.place(row)}: column {quoted(column.name)}: {values[row]} is not a weight; weights are finite and at least 0"
        )
    return replace(table.without(column.name), weight=values)


def _labels(column: Column, table: Table) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The label of every row among those that occur, increasing; -1 where there is none."""
    if column.states is not None:
        present = np.unique(column.values[column.values >= 0])
        states: NDArray[Any] = np.array([column.states[i] for i in present.tolist()], dtype=_dtype(column.states))
        order = np.argsort(states, kind="stable")
        position = np.full(len(column.states) + 1, -1)
        position[present[order]] = np.arange(len(present))
        return position[column.values], states[order]
    values = column.values
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    if values.dtype.kind == "f":
        _check_whole(column, values, known, table)
        values = np.where(known, values, 0).astype(np.int64)
    quick = small_classes(values) if values.dtype.kind in "iu" and len(values) and known.all() else None
    if quick is not None:
        return quick[1].astype(np.int64), quick[0]
    classes, found = np.unique(values[known], return_inverse=True)
    labels = np.full(len(values), -1)
    labels[known] = found
    return labels, classes


def small_classes(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The classes and codes of whole numbers that lie close together, found without sorting; None where they do not."""
    low, high = int(values.min()), int(values.max())
    if high - low >= SMALL_RANGE:
        return None
    offset = values if low == 0 else values.astype(np.int64) - low
    present = np.flatnonzero(_kernels.seen([offset])[0] if offset.dtype == np.uint8 else np.bincount(offset))
    code_of = np.zeros(int(present[-1]) + 1, narrowest(len(present)))
    code_of[present] = np.arange(len(present))
    dense = len(present) == len(code_of) and offset.dtype == code_of.dtype
    return (present + low).astype(values.dtype), offset if dense else code_of[offset]


def _dtype(states: tuple[State, ...]) -> type:
    return np.str_ if all(isinstance(s, str) for s in states) else object


def _check_whole(column: Column, values: NDArray[Any], known: NDArray[np.bool_], table: Table) -> None:
    broken = np.flatnonzero(known & ((values != np.floor(values)) | (np.abs(values) > 2**53)))
    if len(broken):
        row = int(broken[0])
        raise DataError(
            f"{table.place(row)}: column {quoted(column.name)}: {values[row]} is a quantity, not a class; choose another target, "
            f"or declare the column nominal: `kinds={{{quoted(column.name)}: 'nominal'}}`"
        )
