"""Questions to a network, in names and states: posteriors, marginals, probabilities of evidence, most probable explanations.

What is known is a mapping from variables, by name or position, to a state, to a label, or to a number that falls into its
interval; or to likelihoods, by state or in the order of the codes, where the state itself is not known. All answers are exact.
Where several questions are asked, make a `JunctionTree` once and ask that: it keeps what it has planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, quoted
from naivete.inference.junction import Evidence, Given, JunctionTree, evidence_of, position, value_of
from naivete.inference.predictor import Predictor
from naivete.network.network import Network
from naivete.variables import CLASS, Name, State, Variable

__all__ = ["Explanation", "log_likelihoods", "log_probability", "marginals", "most_probable", "posterior", "posteriors"]

Codes = Sequence[NDArray[Any]]
Asked = Name | Sequence[Name]


class Explanation(NamedTuple):
    """The states of the variables that were not observed, and the natural logarithm of their probability with the evidence."""

    states: dict[Name, State]
    log_probability: float


def posterior(network: Network | JunctionTree, of: Asked, given: Given | None = None) -> Numbers:
    """P(of | given): the joint table of one or several variables, with an axis for each in the order asked.

    Parameters
    ----------
    network : the network, or its junction tree.
    of : a variable, or several, by name or position.
    given : what is known.

    >>> network = _sprinkler()
    >>> posterior(network, "rain", {"wet": "yes"}).round(4)
    array([0.687, 0.313])
    >>> posterior(network, ["rain", "sprinkler"], {"wet": "yes"}).round(4)
    array([[0.    , 0.687 ],
           [0.2748, 0.0382]])
    """
    tree = _tree(network)
    return np.array(tree.posterior(_asked(tree.network, of), evidence_of(tree.network, given or {}))[0])


def marginals(network: Network | JunctionTree, given: Given | None = None) -> dict[Name, Numbers]:
    """P(v | given) of every variable v, by name.

    >>> {name: table.round(4).tolist() for name, table in marginals(_sprinkler(), {"wet": "yes"}).items()}
    {'sprinkler': [0.2748, 0.7252], 'rain': [0.687, 0.313], 'wet': [0.0, 1.0]}
    """
    tree = _tree(network)
    return {tree.network.name(v): np.array(table[0]) for v, table in tree.marginals(evidence_of(tree.network, given or {})).items()}


def log_probability(network: Network | JunctionTree, given: Given) -> float:
    """The natural logarithm of P(given), -inf where it is impossible; likelihoods count as they are, whatever they sum to.

    >>> round(float(np.exp(log_probability(_sprinkler(), {"wet": "yes"}))), 4)
    0.524
    """
    tree = _tree(network)
    return float(tree.log_probability(evidence_of(tree.network, given))[0])


def most_probable(network: Network | JunctionTree, given: Given | None = None) -> Explanation:
    """The states of all variables that are not observed which are most probable together, given the rest.

    >>> most_probable(_sprinkler(), {"wet": "yes"}).states
    {'sprinkler': 'yes', 'rain': 'no'}
    """
    tree = _tree(network)
    evidence = evidence_of(tree.network, given or {})
    codes, logs = tree.most_probable(evidence)
    variables = tree.network.variables
    states = {variables[v].name: value_of(variables[v], int(own[0])) for v, own in codes.items() if v not in evidence.codes}
    return Explanation(states, float(logs[0]))


def log_likelihoods(network: Network | JunctionTree, codes: Codes) -> Numbers:
    """The natural logarithm of the probability of what is known of each row, -inf where it is impossible.  # (row,)

    Parameters
    ----------
    network : the network, or its junction tree.
    codes : the codes of all variables, the class last, or of the features only; the largest code of a type means missing.

    >>> log_likelihoods(_sprinkler(), [np.array([1, 255], np.uint8), np.array([0, 1], np.uint8)]).round(4)
    array([-0.9163, -1.6094])
    """
    tree = _tree(network)
    columns = _columns(tree.network, codes)
    answers = np.empty(len(columns[CLASS]))
    complete = ~np.logical_or.reduce([_missing(c) for c in columns[:-1]]) if len(columns) > 1 else np.zeros(len(answers), bool)
    if complete.any():
        answers[complete] = _complete(tree.network, [c[complete] for c in columns])
    for rows, evidence in _patterns(columns, np.flatnonzero(~complete)):
        answers[rows] = tree.log_probability(evidence)[: len(rows)]
    return answers


def posteriors(network: Network | JunctionTree, of: Asked, codes: Codes, gaps: NDArray[np.bool_] | None = None) -> Numbers:
    """P(of | row) for many rows, exactly, all rows that know the same variables together.  # (row, ...)

    A row of probability zero is an error that gives its position, counted from 0.

    Parameters
    ----------
    network : the network, or its junction tree.
    of : a variable, or several, by name or position; what a row tells of them itself counts as evidence.
    codes : the codes of all variables, the class last, or of the features only; the largest code of a type means missing.
    gaps : which columns can have missing values; without it all are looked at.

    >>> posteriors(_sprinkler(), "wet", [np.array([1, 0], np.uint8), np.array([255, 0], np.uint8)]).round(4)
    array([[0.0952, 0.9048],
           [1.    , 0.    ]])
    """
    tree = _tree(network)
    columns, asked = _columns(tree.network, codes), _asked(tree.network, of)
    answers = np.empty((len(columns[CLASS]), *(tree.cards[v] for v in asked)))
    known = None if gaps is None else [*np.flatnonzero(~np.asarray(gaps, bool)).tolist()]
    for rows, evidence in _patterns(columns, np.arange(len(answers)), known or ()):
        answers[rows] = tree.posterior(asked, evidence)[: len(rows)]
    return answers


def _tree(network: Network | JunctionTree) -> JunctionTree:
    return network if isinstance(network, JunctionTree) else JunctionTree(network)


def _asked(network: Network, of: Asked) -> tuple[int, ...]:
    names: Sequence[Any] = of if isinstance(of, (list, tuple)) else [of]
    found = tuple(position(network, name) for name in names)
    if not found or len(set(found)) != len(found):
        raise DataError(f"of={quoted(of)}: one variable or several different ones are needed")
    return found


def _columns(network: Network, codes: Codes) -> list[NDArray[Any]]:
    """The codes of all variables, the class last and missing where it is not given."""
    variables = network.variables
    columns = [np.asarray(c) for c in codes]
    if len(columns) == len(variables) - 1:
        columns.append(np.full(len(columns[0]) if columns else 0, 255, np.uint8))
    if len(columns) != len(variables) or len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise DataError(f"codes: a column of one length is needed for each of {len(variables)} variables, or for all but the class")
    for variable, column in zip(variables, columns, strict=True):
        if column.dtype.kind not in "ui":
            raise DataError(f"codes: column {quoted(variable.name)} is of type {column.dtype}, not of whole numbers")
        wrong = np.flatnonzero(((column >= variable.card) | (column < 0)) & ~_missing(column))
        if len(wrong):
            raise DataError(
                f"codes: row {wrong[0]}: column {quoted(variable.name)} has {column[wrong[0]]} where its codes are "
                f"0 to {variable.card - 1}, or {np.iinfo(column.dtype).max} for missing"
            )
    return columns


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(column == np.iinfo(column.dtype).max)


def _complete(network: Network, columns: list[NDArray[Any]]) -> Numbers:
    """The logarithms of rows that miss at most the class, in one pass of the kernel."""
    joint = Predictor(network).joint(columns[:-1], np.zeros(len(columns) - 1, bool))
    unknown, rows = _missing(columns[CLASS]), np.arange(len(joint))
    top = joint.max(axis=1, initial=-np.inf)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.exp(joint - np.where(np.isneginf(top), 0, top)[:, None]).sum(axis=1)) + top
    return np.where(unknown, total, joint[rows, np.where(unknown, 0, columns[CLASS])])


def _patterns(columns: Codes, rows: NDArray[np.int64], known: Sequence[int] = ()) -> Iterator[tuple[NDArray[np.int64], Evidence]]:
    """The rows that know the same variables, and what they know; a row alone twice, so that its sums are those of many."""
    last = len(columns) - 1
    doubtful = [x for x in range(len(columns)) if x not in set(known)] or [last]
    packed = np.packbits(np.stack([_missing(columns[x])[rows] for x in doubtful], axis=1), axis=1)
    kinds, kind_of = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(kind_of.ravel(), kind="stable")
    bounds = np.searchsorted(kind_of.ravel()[order], np.arange(len(kinds) + 1))
    for kind, start, stop in zip(kinds, bounds[:-1], bounds[1:], strict=True):
        own = rows[order[start:stop]]
        absent = {x for x, gap in zip(doubtful, np.unpackbits(kind, count=len(doubtful)), strict=True) if gap}
        twice = np.resize(own, max(2, len(own)))
        codes = {CLASS if x == last else x: columns[x][twice].astype(np.int64) for x in range(last + 1) if x not in absent}
        yield own, Evidence(len(twice), codes, numbers=twice)


def _sprinkler() -> Network:
    """A network for the examples: the lawn is wet from a sprinkler or from rain, which keeps the sprinkler off."""
    own = tuple(Variable(name, ("no", "yes")) for name in ("sprinkler", "rain", "wet"))
    wet = np.array([[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.0, 1.0]]])  # (sprinkler, rain, wet)
    rain = np.array([0.8, 0.2])
    sprinkler = np.array([[0.5, 0.9], [0.5, 0.1]])  # (sprinkler, rain)
    return Network(own, {0: (1,), 1: (), CLASS: (0, 1)}, {0: sprinkler, 1: rain, CLASS: wet})
