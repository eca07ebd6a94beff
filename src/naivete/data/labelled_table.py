"""A table divided into features, class labels and weights: the data of every fit from files and of every experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers, missing
from naivete._kernels.exact_sums import LARGEST_EXACT
from naivete.data.labels import encode_classes
from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError, close_matches, quoted
from naivete.variables import Name, State

__all__ = ["ColumnRoles", "LabelledTable", "label_table", "unknown_column_error"]

LARGEST_WEIGHT = 1e290
"""Above this, sums of many weights might be infinite."""


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Cases with their classes.

    Parameters
    ----------
    features : Table
        The table without the class and the weights.
    target : str
        The name of the class.
    classes : ndarray of shape (n_classes,)
        The labels that occur, increasing.
    labels : ndarray of shape (n_rows,)
        The position of every row's label among the classes.
    weight : ndarray of shape (n_rows,) or None, default=None
        The weight of every row, None where all weights are one.
    dropped : int, default=0
        How many rows without a label were left out.
    declared : tuple or None, default=None
        The labels in the order in which the source declares them, None where it does not.
    original : object, default=None
        The features as a data frame or array of another library, where the cases were made of one; for models that need it.
    """

    features: Table
    target: Name
    classes: NDArray[Any]
    labels: NDArray[Any]
    weight: Numbers | None = None
    dropped: int = 0
    declared: tuple[State, ...] | None = None
    original: Any = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def y(self) -> NDArray[Any]:
        """The label of every row."""
        return np.asarray(self.classes[self.labels])

    @property
    def column(self) -> Column:
        """The labels as a column with the name of the class; `fit` takes its codes as they are."""
        return Column(self.target, self.labels, tuple(self.classes.tolist()), kind="nominal")

    def take(self, rows: NDArray[Any]) -> LabelledTable:
        """Return these rows only, with the same classes.

        Parameters
        ----------
        rows : ndarray
            The positions of the rows, or a mask.

        Returns
        -------
        LabelledTable
            The rows.
        """
        weight = None if self.weight is None else self.weight[rows]
        original = None if self.original is None else _rows_of(self.original, rows)
        return replace(self, features=self.features.take(rows), labels=self.labels[rows], weight=weight, original=original)

    def with_present_classes(self) -> LabelledTable:
        """Return the same cases without the classes that do not occur.

        Returns
        -------
        LabelledTable
            The cases.
        """
        present, labels = np.unique(self.labels, return_inverse=True)
        return self if len(present) == len(self.classes) else replace(self, classes=self.classes[present], labels=labels)

    def with_class_weights(self, weights: Mapping[State, float]) -> LabelledTable:
        """Return the same cases, their weights multiplied by those of their classes; a class that is not named has weight one.

        Parameters
        ----------
        weights : dict
            The weights by label.

        Returns
        -------
        LabelledTable
            The cases.
        """
        factors = np.array([float(weights.get(label, 1.0)) for label in self.classes.tolist()])[self.labels]
        return replace(self, weight=factors if self.weight is None else self.weight * factors)

    def without_zero_weights(self) -> LabelledTable:
        """Return the cases whose weight is above zero, with the classes that they have; nothing can be learned from the others.

        Returns
        -------
        LabelledTable
            The cases.
        """
        if self.weight is None or self.weight.all():
            return self
        return self.take(np.flatnonzero(self.weight > 0)).with_present_classes()


@dataclass(frozen=True)
class ColumnRoles:
    """Which columns of a table are the class and the weight, and which are left out.

    Parameters
    ----------
    target : the column with the class; its values are labels, so numbers with a fraction are refused.
    weight : a column with the weight of every row, which is then no feature; by default the weights of the table, if it has any.
    ignore : columns that are no features.
    drop_unlabelled : leave out the rows without a label instead of refusing them.
    class_weight : labels and the weights of these classes, by which the weights of rows are multiplied.
    """

    target: Name
    weight: Name = None
    ignore: tuple[Name, ...] = ()
    drop_unlabelled: bool = False
    class_weight: tuple[tuple[State, float], ...] = ()

    def of(self, table: Table) -> LabelledTable:
        """Divide a table into features, labels and weights; there may be no row with a label."""
        column = _column(table, self.target)
        if self.weight is not None:
            if self.weight == self.target:
                raise ParameterError(f"the column {quoted(self.target)} cannot be both the class and the weight")
            table = _weighted(table, _column(table, self.weight))
        classes, codes = _encoded_labels(column, table)
        unlabelled = np.flatnonzero(codes < 0)
        if len(unlabelled) and not self.drop_unlabelled:
            raise DataError(
                f"{table.place(int(unlabelled[0]))}: column {quoted(self.target)}: no label, as in {len(unlabelled)} rows of "
                f"{len(table)}; fill them in, or leave those rows out with `unlabelled='drop'` of the encoder"
            )
        features = self._features(table)
        if len(unlabelled):
            rows = np.flatnonzero(codes >= 0)
            features, codes = features.take(rows), codes[rows]
        declared = column.states if column.declared else None
        return LabelledTable(features, column.name, classes, codes, features.weight, len(unlabelled), declared)

    def _features(self, table: Table) -> Table:
        features = table.without(self.target)
        for name in self.ignore:
            features = features.without(_column(features, name).name)
        if not features.columns:
            raise DataError(
                f"{table.source}: there are no columns beside the class {quoted(self.target)}; at least one feature is needed"
            )
        return features

    def divide_weighted(self, table: Table) -> LabelledTable:
        """Divide a table and leave out the rows of weight zero, from which nothing can be learned."""
        cases = self.of(table)
        if cases.weight is not None:
            _check_weights(cases.features, cases.weight)
        return (cases.with_class_weights(dict(self.class_weight)) if self.class_weight else cases).without_zero_weights()


def _rows_of(values: Any, rows: NDArray[Any]) -> Any:
    """Return some rows of a data frame of pandas or polars, an array or a sparse matrix."""
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def label_table(table: Table, target: Name, *, weight: Name = None, drop_unlabelled: bool = False) -> LabelledTable:
    """Divide a table into features, labels and weights; refuse one in which no row has a label.

    Parameters
    ----------
    table : Table
        The table.
    target : str
        The name of the column with the class.
    weight : str or None, default=None
        The name of the column with the weight of every row, if there is one.
    drop_unlabelled : bool, default=False
        Whether rows without a label are left out; otherwise they are refused.

    Returns
    -------
    LabelledTable
        The features, labels and weights.
    """
    cases = ColumnRoles(target, weight, (), drop_unlabelled).of(table)
    if not len(cases):
        raise DataError(f"{table.source}: there are no rows with a label to learn from; 0 of {len(table)} have one")
    return cases


def _check_weights(table: Table, weight: Numbers) -> None:
    wrong = np.flatnonzero(~(weight < LARGEST_WEIGHT))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{table.place(row)}: the weight {weight[row]} is not a number below {LARGEST_WEIGHT:.0e}; scale the weights "
            "down, or correct it"
        )


def _column(table: Table, name: Name) -> Column:
    try:
        return table[name]
    except ParameterError:
        raise unknown_column_error(name, table.names, table.source) from None


def unknown_column_error(name: Name, names: Sequence[Name], source: str) -> ParameterError:
    """Return the error for a column that does not exist, with similar names and the names of all columns."""
    close = close_matches(name, names)
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    more = f" and {len(names) - 30} more" if len(names) > 30 else ""
    listed = ", ".join(map(str, names[:30])) + more
    return ParameterError(f"{source}: there is no column {quoted(name)}; {hint}{'The' if close else 'the'} columns are: {listed}")


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


def _encoded_labels(column: Column, table: Table) -> tuple[NDArray[Any], Integers]:
    """Return the classes that occur, increasing, and the code of every row, -1 where it has no label."""
    if column.states is None:
        return _encoded_numbers(column, table)
    classes, codes = encode_classes(column)
    text = classes.dtype == object and len(classes) > 0
    return classes.astype(np.str_) if text else classes, np.where(missing(codes), -1, codes.astype(np.int64))


def _encoded_numbers(column: Column, table: Table) -> tuple[NDArray[Any], Integers]:
    values = column.values
    known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), bool)
    if values.dtype.kind == "f":
        _check_whole(column, values, known, table)
        values = np.where(known, values, 0).astype(np.int64)
    labels = np.full(len(values), -1)
    if not known.any():
        return values[:0], labels
    classes, labels[known] = encode_classes(values[known])
    return classes, labels


def _check_whole(column: Column, values: Numbers, known: NDArray[np.bool_], table: Table) -> None:
    broken = np.flatnonzero(known & ((values != np.floor(values)) | (np.abs(values) > LARGEST_EXACT)))
    if len(broken):
        row = int(broken[0])
        raise DataError(
            f"{table.place(row)}: column {quoted(column.name)}: {values[row]} is a quantity, not a class; choose another target, "
            f"or declare the column nominal: `kinds={{{quoted(column.name)}: 'nominal'}}`"
        )
