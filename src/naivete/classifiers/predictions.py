"""Predictions as tables, for rows that come in one table or in many, and a summary of all of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.data.table import Column, Kind, Table
from naivete.errors import UnseenValueWarning, warn
from naivete.inference.predictor import argmax_class
from naivete.variables import CLASS, Name, State, Variable

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier

__all__ = [
    "PredictionSummary",
    "Predictions",
    "can_be_impossible",
    "convert_to_states",
    "kinds_to_read",
    "label_positions",
    "predict_table",
    "predict_tables",
]


class Predictions(NamedTuple):
    """The labels, P(class | row), and the positions of the rows that have probability zero in every class."""

    labels: tuple[State, ...]
    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


@dataclass
class PredictionSummary:
    """Counts over the predictions so far.

    Attributes
    ----------
    rows : the number of rows.
    impossible : the number of rows with probability zero in every class.
    first_impossible : the first of these, counted from 1.
    labelled, right : the number of rows whose class is known, and of those that were predicted correctly.
    unknown_label : the first label that is not a class of the model, None where there is none.
    unseen_tables : the number of tables with values that did not occur in training.
    """

    rows: int = 0
    impossible: int = 0
    first_impossible: int | None = None
    labelled: int = 0
    right: int = 0
    unknown_label: State | None = None
    unseen_tables: int = 0

    def add(self, table: Table, target: Name, predictions: Predictions) -> None:
        """Add the rows of a table and their predictions."""
        if len(predictions.impossible) and self.first_impossible is None:
            self.first_impossible = self.rows + int(predictions.impossible[0]) + 1
        self.impossible += len(predictions.impossible)
        self.rows += len(predictions.posterior)
        if target in table.names:
            self._score(table[target], predictions)

    def _score(self, column: Column, predictions: Predictions) -> None:
        rows, labels = label_positions(column, predictions.labels)
        self.labelled += len(rows)
        self.right += int((argmax_class(predictions.posterior)[rows] == labels).sum())
        if self.unknown_label is None and len(rows) and labels.min() < 0:
            self.unknown_label = next(iter(column.take(rows[labels < 0][:1])))

    def _pass_on(self, caught: Sequence[warnings.WarningMessage]) -> None:
        """Issue the warnings again; those about values that did not occur in training only for the first table with such values."""
        unseen = False
        for warning in caught:
            is_unseen = isinstance(warning.message, UnseenValueWarning)
            unseen = unseen or is_unseen
            if not is_unseen or not self.unseen_tables:
                warn(warning.message if isinstance(warning.message, Warning) else str(warning.message))
        self.unseen_tables += unseen


def predict_tables(
    classifier: NetworkClassifier,
    tables: Iterable[Table],
    *,
    unseen: str | None = None,
    append: bool = False,
    summary: PredictionSummary | None = None,
) -> Iterator[Table]:
    """Yield for each table the predicted class (`predicted`), P(c) for every class, and where needed a column `impossible`.

    The column `impossible` marks rows that have probability zero in every class. All tables have it or none. A single table has
    it if there is such a row. With several tables it has to be decided before the last row is read: they have it if such rows
    are possible, that is if the network has a probability of zero, as without smoothing.

    Parameters
    ----------
    classifier : the fitted classifier.
    tables : the rows; of several tables two are in memory at any time.
    unseen : what is done with values that did not occur in training; by default what the encoder says.
    append : whether the columns of the table come before the predictions. Names that are taken get an underscore.
    summary : a summary to add the predictions to.

    >>> from naivete.classifiers.augmented import NaiveBayes
    >>> table = Table((Column("x", np.array([0, 1, 1]), ("a", "b")),))
    >>> model = NaiveBayes().fit(table, ["no", "yes", "yes"])
    >>> [list(part["predicted"]) for part in predict_tables(model, [table.take(slice(2)), table.take(slice(2, 3))])]
    [['no', 'yes'], ['yes']]
    """
    summary = PredictionSummary() if summary is None else summary
    target = classifier.network_.variables[CLASS].name
    parts = iter(tables)
    first = list(islice(parts, 2))
    flagged = can_be_impossible(classifier) if len(first) > 1 else None
    for table in _chained(first, parts):
        predictions = _with_warnings_passed_on(classifier, table, unseen, summary)
        summary.add(table, target, predictions)
        yield _output(table if append else None, predictions, bool(len(predictions.impossible)) if flagged is None else flagged)


def _chained(first: list[Table], rest: Iterator[Table]) -> Iterator[Table]:
    """Yield the tables of the list, which keeps none of them in memory, and then the rest."""
    while first:
        yield first.pop(0)
    yield from rest


def predict_table(classifier: NetworkClassifier, table: Table, unseen: str | None = None) -> Predictions:
    """Return the predictions for the rows of a table."""
    posterior, impossible = classifier.posteriors(table, unseen=unseen)  # type: ignore[arg-type]
    return Predictions(classifier.network_.variables[CLASS].states, posterior, impossible)


def _with_warnings_passed_on(
    classifier: NetworkClassifier, table: Table, unseen: str | None, summary: PredictionSummary
) -> Predictions:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predictions = predict_table(classifier, table, unseen)
    summary._pass_on(caught)
    return predictions


def can_be_impossible(classifier: NetworkClassifier) -> bool:
    """Return whether some row can have probability zero in every class: whether the network has a probability of zero."""
    return classifier.reports_impossible and any(classifier.network_.table(v).has_zeros for v in classifier.network_.cpts)


def kinds_to_read(features: Sequence[Variable]) -> dict[str, Kind]:
    """Return how columns of delimited text have to be read to match the variables; those whose states are numbers are left out."""
    kinds: dict[str, Kind] = {}
    for variable in features:
        if isinstance(variable.name, str) and (variable.numeric or any(isinstance(s, str) for s in variable.states)):
            kinds[variable.name] = "numeric" if variable.numeric else "nominal"
    return kinds


def convert_to_states(table: Table, features: Sequence[Variable]) -> Table:
    """Return the table with text converted to numbers or booleans where the states of the model are these."""
    states = {v.name: v.states for v in features if v.states and not any(isinstance(s, str) for s in v.states)}
    return replace(table, columns=tuple(_converted(c, states[c.name]) if c.name in states else c for c in table.columns))


def _converted(column: Column, states: tuple[State, ...]) -> Column:
    if column.states is None:
        return column
    by_text = {str(s): s for s in states}
    by_number: dict[float, State] = {float(s): s for s in states if not isinstance(s, (bool, str))}
    return replace(column, states=tuple(_converted_state(s, by_text, by_number) for s in column.states))


def _converted_state(state: State, by_text: dict[str, State], by_number: dict[float, State]) -> State:
    if not isinstance(state, str) or state in by_text:
        return by_text.get(str(state), state)
    try:
        return by_number.get(float(state), state)
    except ValueError:
        return state


def label_positions(column: Column, classes: tuple[State, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows with a label, and the position of each label among the classes, -1 where it is not a class."""
    position = {_text(label): i for i, label in enumerate(classes)}
    if column.states is not None:
        values: list[Any] = list(column.states)
        codes, rows = column.values, np.flatnonzero(column.values >= 0)
    else:
        distinct, codes = np.unique(column.values, return_inverse=True)
        values, rows = distinct.tolist(), np.flatnonzero(column.values == column.values)
    return rows, np.array([position.get(_text(value), -1) for value in values], np.int64)[codes[rows]]


def _text(value: State) -> str:
    """Return the value as it is written in a text file."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _output(table: Table | None, predictions: Predictions, flagged: bool) -> Table:
    """Return the predictions as a table, after the columns of another where one is given."""
    before = () if table is None else table.columns
    taken = {str(column.name) for column in before}
    posterior, labels = predictions.posterior, predictions.labels
    columns = [Column(_free("predicted", taken), argmax_class(posterior), labels, "nominal", declared=True)]
    columns += [Column(_free(f"P({label})", taken), posterior[:, i]) for i, label in enumerate(labels)]
    if flagged:
        flags = np.zeros(len(posterior), np.int64)
        flags[predictions.impossible] = 1
        columns.append(Column(_free("impossible", taken), flags))
    return Table((*before, *columns), rows=len(posterior))


def _free(name: str, taken: set[str]) -> str:
    """Return the name, with underscores added where a column has it already."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
