"""The form from which all export formats are written: a sum over tables and log-densities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal, NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, quoted
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.graphs import EliminationStep, eliminations, interaction_graph
from naivete.network.joint_density import Joint
from naivete.variables import CLASS, Name, State

__all__ = [
    "MARGINALIZED",
    "REFUSED",
    "Gaussian",
    "Input",
    "SumOfTables",
    "Table",
    "comment_text",
    "exact_number",
    "strides",
]

MARGINALIZED: Final = -1
"""The code of a value that is treated as missing and marginalized."""
REFUSED: Final = -2
"""The code of a value for which no probabilities are computed."""


class Input(NamedTuple):
    """A column of the rows, and how its values become codes.

    Parameters
    ----------
    name : the name of the column.
    kind : "states" for nominal columns, "intervals" for discretized numbers, "number" for continuous features, "unused" for
        columns that were left out in training, whose code is always 0.
    states : the values of a nominal column, in the order of their codes.
    cuts : the increasing cut points of a discretized one; the code is the number of cut points below the value.
    origin : the value that is subtracted from a continuous feature.
    missing, unseen : the code of a missing value, and of one that did not occur in training.
    """

    name: Name
    kind: Literal["states", "intervals", "number", "unused"]
    states: tuple[State, ...]
    cuts: tuple[float, ...]
    origin: float
    missing: int
    unseen: int

    @property
    def can_be_missing(self) -> bool:
        """Whether a value can be marginalized."""
        return self.kind != "unused" and (self.missing == MARGINALIZED or (self.kind == "states" and self.unseen == MARGINALIZED))


class Table(NamedTuple):
    """The logarithms of the table of a variable.

    Parameters
    ----------
    variable : the variable, -1 for the class.
    members : the features of its family, in increasing order, without parents that have a single state.
    strides : the distance between the rows of two neighboring states of each member.
    logs : the log-probabilities; the class axis has length one if the class is not in the family.  # (cell, class)
    """

    variable: int
    members: tuple[int, ...]
    strides: tuple[int, ...]
    logs: Numbers

    @property
    def has_zeros(self) -> bool:
        """Whether a probability is zero."""
        return bool(np.isneginf(self.logs).any())


class Gaussian(NamedTuple):
    """The normal density of a continuous feature.

    Parameters
    ----------
    variable : the feature.
    members, strides : its discrete parents, as in `Table`.
    linked : its continuous parents.
    means, deviations, peaks : the mean, the standard deviation and the log-density at the mean; the class axis has length one if
        the class is not a parent.  # (cell, class)
    slopes : the coefficients of the continuous parents.  # (cell, class, parent)
    """

    variable: int
    members: tuple[int, ...]
    strides: tuple[int, ...]
    linked: tuple[int, ...]
    means: Numbers
    deviations: Numbers
    peaks: Numbers
    slopes: Numbers


@dataclass(frozen=True, eq=False)
class SumOfTables:
    """The posterior probabilities of a classifier: tables and densities are added, and the sums are normalized.

    Parameters
    ----------
    title : the model and its parameters.
    target : the name of the class.
    classes : the labels.
    inputs : the columns of the rows.
    cards : the number of states of every feature, derived columns included.
    added : the tables that contain the class, in the order in which they are added.
    constant : the tables without the class that have zeros; added last, since they can make a row impossible.
    densities : the normal densities, in the order in which they are added, after `added`.
    families : all tables, parents before children, for rows in which a parent is missing.
    fallback : the log prior for rows that are impossible in every class; one row, or one for each state of `fallback_column`.
    fallback_column : the derived column by which the row of `fallback` is chosen, if any.
    no_evidence : the probabilities of a row in which all of `evidence` are missing; None if it is computed as any other.
    evidence : the columns with more than one value.
    temperature : the factor of the log-probabilities.
    hidden : the derived columns that are always missing.
    tree, hierarchy : the derived column, the first after the inputs, which is computed from the row, if there is one.
    joint : the joint normal density of the continuous features, if some depend on others.
    """

    title: str
    target: Name
    classes: tuple[State, ...]
    inputs: tuple[Input, ...]
    cards: tuple[int, ...]
    added: tuple[Table, ...]
    constant: tuple[Table, ...]
    densities: tuple[Gaussian, ...]
    families: tuple[Table, ...]
    fallback: Numbers
    fallback_column: int | None
    no_evidence: Numbers | None
    evidence: tuple[int, ...]
    temperature: float
    hidden: tuple[int, ...]
    tree: Tree | None
    hierarchy: Hierarchy | None
    joint: Joint | None

    @property
    def has_zeros(self) -> bool:
        """Whether a row can be impossible in some class."""
        return any(table.has_zeros for table in (*self.added, *self.constant))

    @property
    def inner(self) -> tuple[int, ...]:
        """The features that are parents of others, in increasing order."""
        return tuple(sorted({m for table in self.families for m in table.members if m != table.variable}))

    @property
    def marginalized(self) -> tuple[int, ...]:
        """The features that are parents of others and can be missing, so that a table needs a sum over their states."""
        missing = {x for x, column in enumerate(self.inputs) if column.can_be_missing}
        return tuple(x for x in self.inner if x in missing or x in self.hidden)

    @property
    def used(self) -> tuple[Table, ...]:
        """The tables that some row needs."""
        return self.families if self.marginalized else (*self.added, *self.constant)

    @property
    def sums(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The variables with parents that can be missing, with these parents.

        If one of these parents is missing and the variable is not, a sum over states is needed; otherwise leaving out the tables
        with missing members is exact. Variables that are not connected with the class carry no information and are left out.
        """
        missing, connected = {x for x, column in enumerate(self.inputs) if column.can_be_missing}, self._connected
        pairs = [
            (table.variable, tuple(m for m in table.members if m in missing and m != table.variable)) for table in self.families
        ]
        tables = [(v, parents) for v, parents in pairs if v == CLASS or (v in connected and self.cards[v] > 1)]
        linked = [(d.variable, tuple(p for p in d.linked if p in missing)) for d in self.densities]
        return tuple((v, parents) for v, parents in (*tables, *linked) if parents)

    @property
    def _connected(self) -> set[int]:
        """The features that are connected with the class by common tables."""
        connected: set[int] = set()
        with_class = [t.members for t in self.families if t.variable == CLASS or t.logs.shape[1] == len(self.classes)]
        added = {m for members in with_class for m in members}
        while added:
            connected |= added
            added = {m for table in self.families if connected & set(table.members) for m in table.members} - connected
        return connected

    @property
    def is_plain_tree(self) -> bool:
        """Whether the class depends on the leaf of a tree only."""
        leaf = (len(self.inputs),) if self.tree is not None and self.cards[len(self.inputs)] > 1 else ()
        return self.tree is not None and not self.densities and [table.members for table in self.added] == [leaf]

    def eliminations(self) -> Iterator[EliminationStep]:
        """Yield the features in an order in which missing values can be marginalized, with the features connected to each."""
        return eliminations(interaction_graph(table.members for table in self.families), dict(enumerate(self.cards)))

    def header(self) -> Iterator[str]:
        """Yield lines of plain ASCII that describe the model, its columns and the treatment of values, for a comment."""
        yield f"Model: {comment_text(self.title)}"
        yield f"Class: {comment_text(self.target)}, one of {', '.join(map(comment_text, self.classes))}"
        yield "Columns:"
        for column in self.inputs:
            yield f"  {comment_text(column.name)}: {_description(column)}"


def comment_text(value: object) -> str:
    r"""Return a value as text of printable ASCII without characters that could end a comment in any of the languages.

    >>> print(comment_text("a*/??/\n\u202eb"))
    "a\u002a/\u003f\u003f/\n\u202eb"
    """
    text = json.dumps(value if isinstance(value, (str, int, float, bool, type(None))) else str(value))
    return text.replace("*", "\\u002a").replace("?", "\\u003f").replace("\x7f", "\\u007f")


def exact_number(value: float, language: str) -> float:
    """Return a number as a float of the same value; raise an error if there is none.

    >>> exact_number(3, "C")
    3.0
    """
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        number = np.nan
    if number != value:
        raise ParameterError(
            f"{quoted(value)} cannot be stored as a double-precision number, which an export to {language} needs; export to Python"
        )
    return number


def _description(column: Input) -> str:
    if column.kind == "unused":
        return "not used"
    kinds = {
        "states": f"nominal, {len(column.states)} values",
        "intervals": f"numeric, {len(column.cuts)} cut points",
        "number": "numeric, normal density",
    }
    missing = "a missing value is marginalized" if column.missing == MARGINALIZED else "missing is a value of its own"
    unseen = {MARGINALIZED: "as a missing one", REFUSED: "refused"}.get(column.unseen, "as one value of its own")
    return f"{kinds[column.kind]}; {missing}" + (f"; a value that is not listed is treated {unseen}" if column.states else "")


def strides(cards: Sequence[int]) -> tuple[int, ...]:
    """Return the distance between two neighboring states of each variable in a flat table, the last one innermost.

    >>> strides([2, 3, 4])
    (12, 4, 1)
    """
    return tuple(prod(cards[i + 1 :]) for i in range(len(cards)))
