"""What to ask next: the expected information about the class, or the expected reduction of the loss, of unobserved features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers, missing_code, narrowest
from naivete.errors import DataError, quoted
from naivete.inference.class_conditionals import class_conditionals
from naivete.inference.density_nodes import check_class_densities, density_tables
from naivete.inference.predictor import Predictor
from naivete.network.network import Network
from naivete.variables import Variable

__all__ = ["Answers", "answers", "expected_information", "expected_loss_reduction", "predicted_answers", "wider_codes"]


@dataclass(frozen=True)
class Answers:
    """What is known about the class, and the joint probability of the class and of each answer that may be given next.

    Parameters
    ----------
    posterior : P(class | observed).  # (class,)
    tables : P(x, class | observed) of each unobserved feature x; the first axis of a continuous feature are the nodes of a
        quadrature.  # (state, class)
    """

    posterior: Numbers
    tables: Mapping[int, Numbers]

    def calibrated(self, temperature: float) -> Answers:
        """Return the same with all posteriors, now and after each answer, raised to a power and normalized."""
        return Answers(_raised(self.posterior, temperature), {x: _raised(table, temperature) for x, table in self.tables.items()})


def _raised(table: Numbers, power: float) -> Numbers:
    """Return a table with the same sums over the last axis, whose numbers are in proportion to powers of the given ones."""
    total = table.sum(axis=-1, keepdims=True)
    raised = (table / np.where(total > 0, total, 1.0)) ** power
    return np.asarray(total * raised / np.where(total > 0, raised.sum(axis=-1, keepdims=True), 1.0))


def answers(network: Network, values: Mapping[int, float]) -> Answers:
    """Return P(class | observed) and P(x, class | observed) of every unobserved column, exact for any network.

    Parameters
    ----------
    network : the network, without computed columns.
    values : the codes of the observed columns; the distance from the origin for continuous features.
    """
    check_class_densities(network, "a question")
    discrete = {x: int(code) for x, code in values.items() if x not in network.densities}
    continuous = {x: value for x, value in values.items() if x in network.densities}
    logs, given_class = class_conditionals(network, discrete)
    if continuous:
        columns = [np.array([continuous.get(x, np.nan)]) for x in network.features]
        density_logs = np.zeros((1, len(logs)))
        Predictor(network).add_densities(density_logs, columns, np.array([x not in values for x in network.features]))
        logs = logs + density_logs[0]
    posterior = _posterior(logs)
    tables = {x: table.T * posterior for x, table in given_class.items() if x in network.inputs}
    tables |= {x: table * posterior for x, table in density_tables(network, continuous).items()}
    return Answers(posterior, dict(sorted(tables.items())))


def _posterior(logs: Numbers) -> Numbers:
    top = logs.max()
    if np.isneginf(top):
        raise DataError(
            "the observed values have probability 0 in every class, so no question can be chosen; smoothing above 0 avoids this"
        )
    with np.errstate(under="ignore"):
        shares = np.exp(logs - top)
    return np.asarray(shares / shares.sum())


def predicted_answers(predictor: Any, network: Network, schema: Sequence[Variable], values: Mapping[int, float]) -> Answers:
    """Return the same for a classifier that is not one network of tables: its posterior after each possible answer.

    P(x, class | observed) is the probability of the answer x times the posterior that the classifier gives to the observed values
    with this answer. The probability of the answer is that of the predictor if it has a joint probability of rows and classes,
    else that of the network.

    Parameters
    ----------
    predictor : the predictor of the classifier.
    network : a network of the same columns.
    schema : the variables under which rows are encoded.
    values : the codes of the observed columns, under this schema.
    """
    _check_discrete(schema, values)
    hidden = [x for x in range(len(schema)) if x not in values]
    starts = np.cumsum([0, *(schema[x].card for x in hidden)])
    codes = [_column(schema[x], values.get(x), int(starts[-1])) for x in range(len(schema))]
    for x, start in zip(hidden, starts.tolist(), strict=False):
        codes[x][start : start + schema[x].card] = np.arange(schema[x].card)
    has_missing = np.array([x not in values for x in range(len(schema))])
    posterior, _ = predictor.posterior(codes, has_missing)
    if hasattr(predictor, "joint"):
        logs = np.logaddexp.reduce(predictor.joint(codes, has_missing), axis=1)
        shares = {x: _posterior(logs[start : start + schema[x].card]) for x, start in zip(hidden, starts.tolist(), strict=False)}
    else:
        shares = _network_shares(network, schema, values)
    tables = {
        x: posterior[start : start + schema[x].card] * shares[x][:, None] for x, start in zip(hidden, starts.tolist(), strict=False)
    }
    return Answers(posterior[-1], tables)


def _check_discrete(schema: Sequence[Variable], values: Mapping[int, float]) -> None:
    continuous = [variable.name for x, variable in enumerate(schema) if variable.density and x not in values]
    if continuous:
        raise DataError(
            f"the continuous feature {quoted(continuous[0])} is not observed, and questions about continuous features are possible "
            "only where the classifier is a network without computed columns; discretize them (numbers='cut')"
        )


def _column(variable: Variable, value: float | None, rows: int) -> NDArray[Any]:
    """Return a column with the observed or the missing code in all rows: one for each answer, and a last one without answers."""
    dtype: Any = np.float64 if variable.density else narrowest(variable.card)
    return np.full(rows + 1, missing_code(dtype) if value is None else value, dtype)


def _network_shares(network: Network, schema: Sequence[Variable], values: Mapping[int, float]) -> dict[int, Numbers]:
    """Return P(x | observed) of the unobserved columns in the network, whose intervals may join some of the schema's."""
    codes = [wider_codes(variable, network.variables[x]) for x, variable in enumerate(schema)]
    logs, given_class = class_conditionals(network, {x: int(codes[x][int(code)]) for x, code in values.items()})
    weights = _posterior(logs)
    shares = {}
    for x, table in given_class.items():
        share = (weights @ table)[codes[x]] / np.bincount(codes[x])[codes[x]]
        shares[x] = share / share.sum()
    return shares


def wider_codes(variable: Variable, wider: Variable) -> Integers:
    """Return the code that each code of a variable has in a variable with the same states or fewer intervals."""
    if variable.cuts is None:
        return np.arange(variable.card)
    intervals = np.searchsorted(np.array(wider.cuts or ()), np.array([*variable.cuts, np.inf]), side="left")
    return np.append(intervals, np.arange(wider.known, wider.card))


def expected_information(tables: Sequence[Numbers]) -> Numbers:
    """Return the mutual information of the class and each answer, in bits: H(class) - sum over x of P(x) H(class | x).

    Parameters
    ----------
    tables : P(x, class) of each feature x.  # (state, class)

    >>> expected_information([np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([[0.25, 0.25], [0.25, 0.25]])]).tolist()
    [1.0, 0.0]
    """
    stacked, starts = _stacked(tables)
    conditional = np.add.reduceat(_terms(stacked).sum(axis=1) - _terms(stacked.sum(axis=1)), starts)
    classes = np.add.reduceat(stacked, starts, axis=0)
    return np.asarray(np.maximum(_terms(classes).sum(axis=1) - conditional, 0.0))


def expected_loss_reduction(tables: Sequence[Numbers], loss: Numbers) -> Numbers:
    """Return by how much each answer reduces the expected loss of the best decision, on average.

    Parameters
    ----------
    tables : P(x, class) of each feature x.  # (state, class)
    loss : the loss of each decision for each true class.  # (decision, class)

    >>> expected_loss_reduction([np.array([[0.5, 0.0], [0.0, 0.5]])], np.array([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [0.5]
    """
    stacked, starts = _stacked(tables)
    after = np.add.reduceat((stacked @ loss.T).min(axis=1), starts)
    before = (np.add.reduceat(stacked, starts, axis=0) @ loss.T).min(axis=1)
    return np.asarray(np.maximum(before - after, 0.0))


def _stacked(tables: Sequence[Numbers]) -> tuple[Numbers, Integers]:
    """Return the tables one below the other, and the first row of each."""
    return np.concatenate(tables), np.cumsum([0, *(len(table) for table in tables[:-1])])


def _terms(p: Numbers) -> Numbers:
    """Return -p log2 p, 0 for 0."""
    return np.asarray(-p * np.log2(np.where(p > 0, p, 1.0)))
