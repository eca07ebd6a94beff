"""Queries of a network in names and states: posteriors, marginals, probabilities of evidence, most probable explanations.

Evidence (`given`) is a mapping from variables, by name or position, to a state, a label, or a number, which stands for its
interval; or to likelihoods, by state or in the order of the codes, if the state is uncertain. All results are exact. All functions
accept a network, its junction tree or a fitted classifier that is one network; the probabilities are those of the network, without
the calibration of the classifier. For several queries, make a `JunctionTree` once: it keeps its plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, missing, missing_code
from naivete.errors import DataError, quoted
from naivete.inference.distribution import Distribution
from naivete.inference.elimination import missing_patterns
from naivete.inference.junction import Evidence, Given, HasNetwork, JunctionTree, evidence_of, junction_tree_of, position, value_of
from naivete.inference.predictor import Predictor
from naivete.network.network import Network
from naivete.variables import CLASS, Name, State

__all__ = ["MostProbable", "log_likelihoods", "log_probability", "marginals", "most_probable", "posterior", "posteriors"]

Codes = Sequence[NDArray[Any]]
Variables = Name | Sequence[Name]
Model = Network | JunctionTree | HasNetwork


class MostProbable(NamedTuple):
    """The states of the variables that were not observed, and the natural logarithm of their probability with the evidence.

    Parameters
    ----------
    states : dict
        The states by the name of the variable.
    log_probability : float
        The logarithm.
    """

    states: dict[Name, State]
    log_probability: float


def posterior(network: Model, of: Variables, given: Given | None = None) -> Distribution:
    """Return P(of | given): the joint distribution of one or several variables, by their states.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier. Classifiers that do not predict with one network are refused.
    of : str, int or sequence of these
        A variable, or several, by name or position.
    given : dict or None, default=None
        The evidence: a state, label or number by the name or position of a variable, or likelihoods where the state is uncertain.
        By default nothing is observed.

    Returns
    -------
    Distribution
        The probabilities by state; `numpy.asarray` of it has an axis for each variable, in the order of `of`.

    Raises
    ------
    DataError
        If a variable or state is unknown, or the evidence has probability zero.
    ParameterError
        If the classifier does not predict with one network.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable, posterior
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> posterior(network, "rain", {"wet": "yes"})
    P(rain | wet=yes)
      no   0.363636
      yes  0.636364
    >>> posterior(network, ["rain", "wet"]).to_numpy().round(4)
    array([[0.72, 0.08],
           [0.06, 0.14]])
    """
    tree = junction_tree_of(network)
    positions, evidence = _positions(tree.network, of), evidence_of(tree.network, given)
    return _distribution(tree.network, positions, tree.posterior(positions, evidence)[0], evidence)


def marginals(network: Model, given: Given | None = None) -> dict[Name, Distribution]:
    """Return P(v | given) of every variable v, by name.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    given : dict or None, default=None
        The evidence, as for `posterior`. By default nothing is observed.

    Returns
    -------
    dict of {str: Distribution}
        The distributions.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable, marginals
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> {name: table.to_numpy().round(4).tolist() for name, table in marginals(network).items()}
    {'rain': [0.8, 0.2], 'wet': [0.78, 0.22]}
    """
    tree = junction_tree_of(network)
    evidence = evidence_of(tree.network, given)
    tables = tree.marginals(evidence)
    return {tree.network.name(v): _distribution(tree.network, (v,), table[0], evidence) for v, table in tables.items()}


def _distribution(network: Network, positions: tuple[int, ...], table: Numbers, evidence: Evidence) -> Distribution:
    variables = network.variables
    names = ", ".join(str(variables[v].name) for v in positions)
    known = [f"{variables[v].name}={variables[v].labels[int(codes[0])]}" for v, codes in evidence.codes.items()]
    known += [f"likelihoods of {variables[v].name}" for v in evidence.likelihoods]
    title = f"P({names} | {', '.join(known)})" if known else f"P({names})"
    return Distribution([variables[v] for v in positions], table, title)


def log_probability(network: Model, given: Given) -> float:
    """Return the natural logarithm of P(given), -inf if it is impossible; likelihoods are used without normalization.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    given : dict
        The evidence, as for `posterior`.

    Returns
    -------
    float
        The logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable, log_probability
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> round(float(np.exp(log_probability(network, {"wet": "yes"}))), 4)
    0.22
    """
    tree = junction_tree_of(network)
    return float(tree.log_probability(evidence_of(tree.network, given))[0])


def most_probable(network: Model, given: Given | None = None) -> MostProbable:
    """Return the jointly most probable states of all variables that are not observed, given the evidence.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    given : dict or None, default=None
        The evidence, as for `posterior`. By default nothing is observed.

    Returns
    -------
    MostProbable
        `states`, the states by name, and `log_probability`, the natural logarithm of their probability together with the evidence.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable, most_probable
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> most_probable(network, {"wet": "yes"}).states
    {'rain': 'yes'}
    """
    tree = junction_tree_of(network)
    evidence = evidence_of(tree.network, given)
    codes, logs = tree.most_probable(evidence)
    variables = tree.network.variables
    states = {variables[v].name: value_of(variables[v], int(c[0])) for v, c in codes.items() if v not in evidence.codes}
    return MostProbable(states, float(logs[0]))


def log_likelihoods(network: Model, codes: Codes) -> Numbers:
    """Return the natural logarithm of the probability of the observed values of each row, -inf where impossible.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    codes : sequence of ndarray of shape (n_rows,)
        The codes of all variables, the class last, or of the features only; the largest code of a type means missing.

    Returns
    -------
    ndarray of shape (n_rows,)
        The logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable
    >>> from naivete.inference.queries import log_likelihoods
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> log_likelihoods(network, [np.array([1, 255], np.uint8)]).round(4)  # in the second row nothing is observed
    array([-1.6094,  0.    ])
    """
    tree = junction_tree_of(network)
    columns = _columns(tree.network, codes)
    results = np.empty(len(columns[CLASS]))
    complete = ~np.logical_or.reduce([missing(c) for c in columns[:-1]]) if len(columns) > 1 else np.zeros(len(results), bool)
    if complete.any():
        results[complete] = _complete(tree.network, [c[complete] for c in columns])
    for rows, evidence in _patterns(columns, np.flatnonzero(~complete)):
        results[rows] = tree.log_probability(evidence)[: len(rows)]
    return results


def posteriors(network: Model, of: Variables, codes: Codes, has_missing: NDArray[np.bool_] | None = None) -> Numbers:
    """Return P(of | row) for many rows, computed together for rows with the same observed variables.

    A row of probability zero is an error that reports its position, counted from 0.

    Parameters
    ----------
    network : Network, JunctionTree or NetworkClassifier
        The network, its junction tree, or a fitted classifier.
    of : str, int or sequence of these
        A variable, or several, by name or position; their observed values in a row are evidence too.
    codes : sequence of ndarray of shape (n_rows,)
        The codes of all variables, the class last, or of the features only; the largest code of a type means missing.
    has_missing : ndarray of shape (n_columns,) or None, default=None
        Which columns can have missing values; by default all are checked.

    Returns
    -------
    ndarray of shape (n_rows, n_states, ...)
        The probabilities, with an axis for each variable of `of`.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Network, Variable
    >>> from naivete.inference.queries import posteriors
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> network = Network(variables, {0: (), -1: (0,)}, {0: np.array([0.8, 0.2]), -1: np.array([[0.9, 0.1], [0.3, 0.7]])})
    >>> posteriors(network, "wet", [np.array([1, 255], np.uint8)]).round(4)
    array([[0.3 , 0.7 ],
           [0.78, 0.22]])
    """
    tree = junction_tree_of(network)
    columns, queried = _columns(tree.network, codes), _positions(tree.network, of)
    results = np.empty((len(columns[CLASS]), *(tree.cards[v] for v in queried)))
    known = None if has_missing is None else [*np.flatnonzero(~np.asarray(has_missing, bool)).tolist()]
    for rows, evidence in _patterns(columns, np.arange(len(results)), known or ()):
        results[rows] = tree.posterior(queried, evidence)[: len(rows)]
    return results


def _positions(network: Network, of: Variables) -> tuple[int, ...]:
    names: Sequence[Any] = of if isinstance(of, (list, tuple)) else [of]
    positions = tuple(position(network, name) for name in names)
    if not positions or len(set(positions)) != len(positions):
        raise DataError(f"of={quoted(of)}: one variable or several different ones are needed")
    return positions


def _columns(network: Network, codes: Codes) -> list[NDArray[Any]]:
    """Return the codes of all variables, the class last; it is missing in all rows if `codes` has no column for it."""
    variables = network.variables
    columns = [np.asarray(c) for c in codes]
    if len(columns) == len(variables) - 1:
        columns.append(np.full(len(columns[0]) if columns else 0, missing_code(np.uint8), np.uint8))
    if len(columns) != len(variables) or len({c.shape for c in columns}) != 1 or columns[0].ndim != 1:
        raise DataError(f"codes: a column of one length is needed for each of {len(variables)} variables, or for all but the class")
    for variable, column in zip(variables, columns, strict=True):
        if column.dtype.kind not in "ui":
            raise DataError(f"codes: column {quoted(variable.name)} is of type {column.dtype}, not of whole numbers")
        wrong = np.flatnonzero(((column >= variable.card) | (column < 0)) & ~missing(column))
        if len(wrong):
            raise DataError(
                f"codes: row {wrong[0]}: column {quoted(variable.name)} has {column[wrong[0]]} where its codes are "
                f"0 to {variable.card - 1}, or {missing_code(column.dtype)} for missing"
            )
    return columns


def _complete(network: Network, columns: list[NDArray[Any]]) -> Numbers:
    """Return the log-probabilities of rows in which at most the class is missing, in one pass of the kernel."""
    joint = Predictor(network).joint(columns[:-1], np.zeros(len(columns) - 1, bool))
    unknown, rows = missing(columns[CLASS]), np.arange(len(joint))
    top = joint.max(axis=1, initial=-np.inf)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.exp(joint - np.where(np.isneginf(top), 0, top)[:, None]).sum(axis=1)) + top
    return np.where(unknown, total, joint[rows, np.where(unknown, 0, columns[CLASS])])


def _patterns(columns: Codes, rows: NDArray[np.int64], known: Sequence[int] = ()) -> Iterator[tuple[NDArray[np.int64], Evidence]]:
    """Yield the rows with the same observed variables, and their evidence; a single row is doubled, to round as in a batch."""
    last = len(columns) - 1
    checked = [x for x in range(len(columns)) if x not in set(known)] or [last]
    for absent, positions in missing_patterns([column[rows] for column in columns], checked):
        same = rows[positions]
        twice = np.resize(same, max(2, len(same)))
        codes = {CLASS if x == last else x: columns[x][twice].astype(np.int64) for x in range(last + 1) if x not in absent}
        yield same, Evidence(len(twice), codes, numbers=twice)
