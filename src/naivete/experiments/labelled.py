"""A table divided into features, class and weights: what every experiment starts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, ParameterError, nearest, shown
from naivete.table import Column, Table
from naivete.variables import Name, State

__all__ = ["Labelled", "labelled"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Cases with their classes.

    Parameters
    ----------
    features : the table without the class and the weights.
    target : the name of the class.
    classes : the labels that occur, increasing.
    labels : the position of every row's label among them.
    weight : the weight of every row, None where all weigh one.
    dropped : how many rows without a label were left out.
    """

    features: Table
    target: Name
    classes: NDArray[Any]
    labels: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def y(self) -> NDArray[Any]:
        """The label of every row."""
        return self.classes[self.labels]

    @property
    def column(self) -> Column:
        """The labels under the name of the class."""
        return Column(self.target, self.labels, tuple(self.classes.tolist()), kind="nominal")

    def take(self, rows: NDArray[Any]) -> Labelled:
        """These rows only; the classes stay."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, features=self.features.take(rows), labels=self.labels[rows], weight=weight)


def labelled(table: Table, target: Name, *, weight: Name = None, drop_unlabelled: bool = False) -> Labelled:
    """The table divided into features, class and weights.

    Parameters
    ----------
    table : the table.
    target : the column with the class; its values are labels, so numbers that are not whole are refused.
    weight : a column with the weight of every row, which is then no feature; by default the weights of the table, if it has any.
    drop_unlabelled : leave out the rows without a label instead of refusing them.
    """
    column = _named(table, target)
    if weight is not None:
        if weight == target:
            raise ParameterError(f"the column {shown(target)} cannot be both the class and the weight")
        table = _weighted(table, _named(table, weight))
    codes, classes = _labels(column, table)
    unlabelled = np.flatnonzero(codes < 0)
    if len(unlabelled) and not drop_unlabelled:
        raise DataError(
            f"{table.place(int(unlabelled[0]))}: column {shown(target)}: no label, as in {len(unlabelled)} rows of {len(table)}; "
            "fill them in, or leave those rows out with drop_unlabelled=True (--drop-unlabelled on the command line)"
        )
    features = table.without(target)
    if len(unlabelled):
        rows = np.flatnonzero(codes >= 0)
        features, codes = features.take(rows), codes[rows]
    if not len(codes):
        raise DataError(f"{table.source}: there are no rows with a label to learn from; 0 of {len(table)} have one")
    if not features.columns:
        raise DataError(f"{table.source}: there are no columns beside the class {shown(target)}; at least one feature is needed")
    return Labelled(features, column.name, classes, codes, features.weight, len(unlabelled))


def _named(table: Table, name: Name) -> Column:
    """The column of this name; the error says which there are."""
    try:
        return table[name]
    except ParameterError:
        close = nearest(name, table.names)
        hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
        more = f" and {len(table.names) - 30} more" if len(table.names) > 30 else ""
        listed = ", ".join(map(str, table.names[:30])) + more
        raise ParameterError(f"{table.source}: there is no column {shown(name)}; {hint}The columns are: {listed}") from None


def _weighted(table: Table, column: Column) -> Table:
    if column.states is not None or column.values.dtype.kind == "b":
        raise DataError(f"{table.source}: column {shown(column.name)} cannot be the weight: it holds no numbers")
    values = column.values.astype(np.float64)
    wrong = np.flatnonzero(~(values >= 0))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{table.place(row)}: column {shown(column.name)}: {values[row]} is not a weight; weights are finite and at least 0"
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
    classes, found = np.unique(values[known], return_inverse=True)
    labels = np.full(len(values), -1)
    labels[known] = found
    return labels, classes


def _dtype(states: tuple[State, ...]) -> type:
    return np.str_ if all(isinstance(s, str) for s in states) else object


def _check_whole(column: Column, values: NDArray[Any], known: NDArray[np.bool_], table: Table) -> None:
    broken = np.flatnonzero(known & ((values != np.floor(values)) | (np.abs(values) > 2**53)))
    if len(broken):
        row = int(broken[0])
        raise DataError(
            f"{table.place(row)}: column {shown(column.name)}: {values[row]} is a quantity, not a class; choose another target, "
            f"or declare the column nominal (--kinds {column.name}=nominal on the command line)"
        )
