"""A classifier's answers as tables, however many tables the rows come in; and what is to be told once all were answered."""

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
    "predict_table",
    "predict_tables",
]


class Predictions(NamedTuple):
    """The labels, the probability of each for every row, and the rows that are impossible in every class."""

    labels: tuple[State, ...]
    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


@dataclass
class PredictionSummary:
    """What is known of the answers so far.

    Attributes
    ----------
    rows : how many rows were answered.
    impossible : how many of them had probability zero in every class.
    first_impossible : the first of these, counted from 1.
    labelled, right : how many rows came with their class, and how many of these were given it.
    stranger : the first label that is no class of the model, None where there is none.
    unseen_tables : how many tables had values that did not occur in training.
    """

    rows: int = 0
    impossible: int = 0
    first_impossible: int | None = None
    labelled: int = 0
    right: int = 0
    stranger: State | None = None
    unseen_tables: int = 0

    def add(self, table: Table, target: Name, answers: Predictions) -> None:
        """Add the rows of a table and their answers."""
        if len(answers.impossible) and self.first_impossible is None:
            self.first_impossible = self.rows + int(answers.impossible[0]) + 1
        self.impossible += len(answers.impossible)
        self.rows += len(answers.posterior)
        if target in table.names:
            self._score(table[target], answers)

    def _score(self, column: Column, answers: Predictions) -> None:
        rows, labels = _labels(column, answers.labels)
        self.labelled += len(rows)
        self.right += int((argmax_class(answers.posterior)[rows] == labels).sum())
        if self.stranger is None and len(rows) and labels.min() < 0:
            self.stranger = next(iter(column.take(rows[labels < 0][:1])))

    def _heard(self, told: Sequence[warnings.WarningMessage]) -> None:
        """Pass warnings on, but those of values that did not occur in training for the first table that has such only."""
        unseen = False
        for warning in told:
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
    told: PredictionSummary | None = None,
) -> Iterator[Table]:
    """The answers to the rows of each table: the class `predicted`, P(c) for every class, and perhaps `impossible`.

    The column `impossible` marks rows that have probability zero in every class. All tables have it or none. The answers to a
    single table have it if such a row is there. Those to several tables cannot wait for the last row: they have it if such rows
    can be, which is so where the network has a probability of zero, as without smoothing.

    Parameters
    ----------
    classifier : the classifier.
    tables : the rows; of several tables two are in memory at any time.
    unseen : what values that did not occur in training get; by default what the encoder says.
    append : whether the answers come behind the columns of the table. Names that are taken get an underscore.
    told : where to keep what is known of all answers.

    >>> from naivete.classifiers.augmented import NaiveBayes
    >>> table = Table((Column("x", np.array([0, 1, 1]), ("a", "b")),))
    >>> model = NaiveBayes().fit(table, ["no", "yes", "yes"])
    >>> [list(part["predicted"]) for part in predict_tables(model, [table.take(slice(2)), table.take(slice(2, 3))])]
    [['no', 'yes'], ['yes']]
    """
    told = PredictionSummary() if told is None else told
    target = classifier.network_.variables[CLASS].name
    parts = iter(tables)
    first = list(islice(parts, 2))
    flagged = can_be_impossible(classifier) if len(first) > 1 else None
    for table in _followed(first, parts):
        answers = _listening(classifier, table, unseen, told)
        told.add(table, target, answers)
        yield _output(table if append else None, answers, bool(len(answers.impossible)) if flagged is None else flagged)


def _followed(first: list[Table], rest: Iterator[Table]) -> Iterator[Table]:
    """The tables of the list, each let go of at once, and then the rest."""
    while first:
        yield first.pop(0)
    yield from rest


def predict_table(classifier: NetworkClassifier, table: Table, unseen: str | None = None) -> Predictions:
    """The answers to the rows of a table."""
    posterior, impossible = classifier.posteriors(table, unseen=unseen)  # type: ignore[arg-type]
    return Predictions(classifier.network_.variables[CLASS].states, posterior, impossible)


def _listening(classifier: NetworkClassifier, table: Table, unseen: str | None, told: PredictionSummary) -> Predictions:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        answers = predict_table(classifier, table, unseen)
    told._heard(found)
    return answers


def can_be_impossible(classifier: NetworkClassifier) -> bool:
    """Whether some row can have probability zero in every class: whether the network has a probability of zero."""
    return classifier.reports_impossible and any(classifier.network_.table(v).has_zeros for v in classifier.network_.cpts)


def kinds_to_read(features: Sequence[Variable]) -> dict[str, Kind]:
    """How delimited text has to be read so that its columns meet the variables; those with numbers for states stay open."""
    kinds: dict[str, Kind] = {}
    for variable in features:
        if isinstance(variable.name, str) and (variable.numeric or any(isinstance(s, str) for s in variable.states)):
            kinds[variable.name] = "numeric" if variable.numeric else "nominal"
    return kinds


def convert_to_states(table: Table, features: Sequence[Variable]) -> Table:
    """The table with texts in place of which the model has numbers or truth values turned into these."""
    states = {v.name: v.states for v in features if v.states and not any(isinstance(s, str) for s in v.states)}
    return replace(table, columns=tuple(_met(c, states[c.name]) if c.name in states else c for c in table.columns))


def _met(column: Column, states: tuple[State, ...]) -> Column:
    if column.states is None:
        return column
    by_text = {str(s): s for s in states}
    by_number: dict[float, State] = {float(s): s for s in states if not isinstance(s, (bool, str))}
    return replace(column, states=tuple(_met_state(s, by_text, by_number) for s in column.states))


def _met_state(state: State, by_text: dict[str, State], by_number: dict[float, State]) -> State:
    if not isinstance(state, str) or state in by_text:
        return by_text.get(str(state), state)
    try:
        return by_number.get(float(state), state)
    except ValueError:
        return state


def _labels(column: Column, classes: tuple[State, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that have a value, and the position of each among the classes, -1 where it is none."""
    position = {_text(label): i for i, label in enumerate(classes)}
    if column.states is not None:
        values: list[Any] = list(column.states)
        codes, rows = column.values, np.flatnonzero(column.values >= 0)
    else:
        distinct, codes = np.unique(column.values, return_inverse=True)
        values, rows = distinct.tolist(), np.flatnonzero(column.values == column.values)
    return rows, np.array([position.get(_text(value), -1) for value in values], np.int64)[codes[rows]]


def _text(value: State) -> str:
    """The value as a file of text has it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _output(table: Table | None, answers: Predictions, flagged: bool) -> Table:
    """The answers as a table, perhaps behind the columns of another."""
    before = () if table is None else table.columns
    taken = {str(column.name) for column in before}
    columns = [Column(_free("predicted", taken), argmax_class(answers.posterior), answers.labels, "nominal", declared=True)]
    columns += [Column(_free(f"P({label})", taken), answers.posterior[:, i]) for i, label in enumerate(answers.labels)]
    if flagged:
        flags = np.zeros(len(answers.posterior), np.int64)
        flags[answers.impossible] = 1
        columns.append(Column(_free("impossible", taken), flags))
    return Table((*before, *columns), rows=len(answers.posterior))


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that no column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
