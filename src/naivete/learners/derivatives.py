"""Dependence derivatives: how much the dependence between features changes the evidence of each feature, in bits.

The derivative of a feature x in class c is dd_c(x) = P(x | parents of x, c) / P(x | c). It is above one where the other features
make the value more probable than it is in the class as a whole. For two classes, the ratio ddr = dd_+ / dd_- shows which class
the dependence favors. The product of the ratios over all features is the global dependence factor, gdf, and

    odds of the network = odds of naive Bayes x gdf (Zhang 2004)

holds exactly. Where gdf is one, naive Bayes is right however strongly the features depend on each other. All values are stored as
logarithms to base 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, absent_code, missing, missing_code, narrowest
from naivete._kernels.exact_sums import LIMB, limbs
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.errors import DataError, quoted
from naivete.inference.predictor import Predictor
from naivete.network.network import Network, check_tabular
from naivete.variables import CLASS

__all__ = ["Contributions", "Derivatives", "contrasts", "contributions", "derivatives", "mean_weights", "naive_part"]

Codes = Sequence[NDArray[Any]]
Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]

GRID = 2.0**40
"""Logarithms are rounded to multiples of 1 / GRID before they are summed, which makes the sums exact."""
SUMMED_ROWS = 1 << 20
"""How many rows are summed at a time, so that sums of 16-bit parts fit 64-bit integers."""
PIECE_CELLS = 1 << 20
"""How many derivatives are computed at a time."""


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Dependence derivatives of some cases.

    Parameters
    ----------
    logs : log2 dd_c(x) for every case, feature and class; 0 where the feature is missing.  # (row, feature, class)
    """

    logs: Numbers

    @property
    def ratios(self) -> Numbers:
        """log2 ddr(x) for two classes; above zero where the dependence favors the second class.  # (row, feature)"""
        if self.logs.shape[2] != 2:
            raise DataError(f"a ratio of derivatives needs two classes, here are {self.logs.shape[2]}; use the logs of each class")
        return np.asarray(contrasts(self.logs)[..., 0])

    @property
    def gdf(self) -> Numbers:
        """log2 of the global dependence factor for two classes; nan where features exclude both of them.  # (row)"""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.ratios.sum(axis=1))

    def mean_weights(self, weight: Numbers | None = None) -> Numbers:
        """Return the weight of each feature in these cases, as defined for `mean_weights`.  # (feature, contrast)

        Parameters
        ----------
        weight : the weight of each case; by default all cases have the same weight.
        """
        return _mean(_sums(contrasts(self.logs), weight), self.logs.shape[1:])


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the prior and each feature add to the log posterior odds of some cases, in bits.

    Every value is a contrast: for two classes the second against the first, otherwise each class against the mean of all.

    Parameters
    ----------
    prior : the contribution of the prior.  # (contrast)
    naive : the contribution of each feature alone, from log2 P(x | c).  # (row, feature, contrast)
    dependence : what the dependence of the feature on the others adds, from log2 dd_c(x).  # (row, feature, contrast)
    """

    prior: Numbers
    naive: Numbers
    dependence: Numbers

    @property
    def total(self) -> Numbers:
        """The sum of all contributions, which is the log posterior odds of the network.  # (row, contrast)

        It is nan where features exclude different classes.
        """
        with np.errstate(invalid="ignore"):
            return np.asarray(self.prior + self.naive.sum(axis=1) + self.dependence.sum(axis=1))


def contrasts(logs: Numbers) -> Numbers:
    """Return logarithms relative to the other classes: for two classes second minus first, otherwise minus the mean.

    Classes of probability zero are left out of the mean. Where both of two classes have probability zero, the contrast is zero.
    # (..., contrast)

    >>> contrasts(np.array([[1.0, 3.0]])).tolist(), contrasts(np.array([[1.0, 3.0, 5.0]])).tolist()
    ([[2.0]], [[-2.0, 0.0, 2.0]])
    """
    if logs.shape[-1] == 2:
        return _difference(logs[..., 1:], logs[..., :1])
    finite = np.isfinite(logs)
    total = np.where(finite, logs, 0.0).sum(axis=-1, keepdims=True)
    return np.asarray(logs - total / np.maximum(finite.sum(axis=-1, keepdims=True), 1))


def derivatives(network: Network, naive: Network, codes: Codes, has_missing: Bools) -> Derivatives:
    """Return the dependence derivatives of a network in some cases, relative to naive Bayes.

    In rows with missing values, P(x | parents of x, c) is replaced by P(x | observed features before x in the order of the
    network, c), which is the same where all parents are observed. The derivative of a missing feature is one. So in every row and
    for each class, in bits,

        log2 P(observed features | c) of the network == sum over them of log2 P(x | c) + log2 dd_c(x)

    Where the network and naive Bayes both give a value probability zero, or the network gives probability zero to the values
    it depends on, the derivative is one.

    Parameters
    ----------
    network : the network; its class has no parents.
    naive : naive Bayes over the same variables, such as `naive(counts)` or `naive_part(network)`; the equation holds for any.
    codes : one column for each feature.
    has_missing : which features have missing values.

    In class "yes", b always equals a; in class "no", it is independent of a:

    >>> from naivete.variables import Variable
    >>> variables = Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", ("no", "yes"))
    >>> equal, half = np.eye(2), np.full((2, 2), 0.5)
    >>> prior = np.array([0.5, 0.5])
    >>> network = Network(variables, {-1: (), 0: (-1,), 1: (0, -1)}, {-1: prior, 0: half, 1: np.stack([half, equal], axis=2)})
    >>> naive = Network(variables, {-1: (), 0: (-1,), 1: (-1,)}, {-1: prior, 0: half, 1: half})
    >>> result = derivatives(network, naive, (np.array([0], np.uint8), np.array([0], np.uint8)), np.zeros(2, bool))
    >>> result.ratios.tolist(), result.gdf.tolist()
    ([[0.0, 1.0]], [1.0])

    References
    ----------
    Zhang (2004), The optimality of naive Bayes; Barrow (2011), A method for automatically generating network structure in
    Bayesian classifiers, section 1.5, who conditions on all other features instead.
    """
    _check_networks(network, naive)
    return Derivatives(_log_derivatives(network, _naive_logs(naive, codes), codes, has_missing))


def contributions(network: Network, naive: Network, codes: Codes, has_missing: Bools) -> Contributions:
    """Split the log posterior odds of a network into a term for the prior and two terms for each feature.

    The terms of a feature are what it contributes alone and what its dependence on the other features adds: the information gains
    of Kononenko with a correction. The sum of all terms is the log posterior odds of the network, with missing values
    marginalized.

    Parameters
    ----------
    network, naive, codes, has_missing : as for `derivatives`; the prior is that of the network.
    """
    _check_networks(network, naive)
    prior, naive_logs = _log2(np.asarray(network.cpts[CLASS])), _naive_logs(naive, codes)
    return Contributions(
        contrasts(prior), contrasts(naive_logs), contrasts(_log_derivatives(network, naive_logs, codes, has_missing))
    )


def mean_weights(counts: Counts, network: Network, naive: Network) -> Numbers:
    """Return the weight of each feature: the mean over all cases of its contrasts, in bits.  # (feature, contrast)

    For two classes that is the mean of log2 ddr; otherwise the mean of log2 dd_c minus its mean over the classes. It takes one
    pass. The contrasts are rounded to multiples of 2**-40 and summed exactly, so that the order of the cases does not matter.
    `naivete.learners.balance.balanced` looks for a set of features whose weights sum to nearly zero.

    Parameters
    ----------
    counts : the cases.
    network, naive : as for `derivatives`.
    """
    _check_networks(network, naive)
    sums = counts.fold(_WeightSums(network, naive, counts.cases.has_missing), _added)
    return _mean(sums, (len(network.features), network.variables[CLASS].card))


def naive_part(network: Network) -> Network:
    """Return the naive Bayes network with the same prior and the same P(x | c) as a network, computed without cases.

    Parameters
    ----------
    network : a network of tables whose class has no parents.
    """
    check_tabular(network, "taking the marginals of its features")
    _check_root(network)
    cards = [network.variables[x].card for x in network.features]
    starts = np.cumsum([0, *cards])
    codes = [np.full(starts[-1], missing_code(narrowest(card)), narrowest(card)) for card in cards]
    for column, start, card in zip(codes, starts, cards, strict=False):
        column[start : start + card] = np.arange(card)
    joint = np.exp(Predictor(_with_equal_priors(network)).joint(codes, np.ones(len(cards), bool))) if cards else np.empty((0, 0))
    tables = {x: joint[starts[x] : starts[x + 1]] for x in network.features}
    cpts = {CLASS: network.cpts[CLASS], **{x: table / table.sum(axis=0) for x, table in tables.items()}}
    return Network(network.variables, {CLASS: (), **dict.fromkeys(network.features, (CLASS,))}, cpts)


def _check_networks(network: Network, naive: Network) -> None:
    for checked in (network, naive):
        _check_root(checked)
    if [(v.name, v.card) for v in naive.variables] != [(v.name, v.card) for v in network.variables]:
        raise DataError("naive: its variables are not those of the network; learn both from the same cases")
    arcs = naive.arcs
    if arcs:
        p, x = arcs[0]
        raise DataError(f"naive: there is an arc from {quoted(naive.name(p))} to {quoted(naive.name(x))}; naive Bayes has none")


def _check_root(network: Network) -> None:
    if network.parents[CLASS]:
        raise DataError(
            f"network: the class {quoted(network.name(CLASS))} has the parent {quoted(network.name(network.parents[CLASS][0]))}; "
            "dependence derivatives need P(features | class): learn a network whose class is a root"
        )
    if network.derived:
        raise DataError(
            f"network: {quoted(network.name(min(network.derived)))} is a derived column, which cases do not have; "
            "dependence derivatives need a network over the columns themselves"
        )


def _with_equal_priors(network: Network) -> Network:
    """Return the network with equal priors, so that P(features | c) exists for a class that never occurred."""
    classes = network.variables[CLASS].card
    return replace(network, cpts={**network.cpts, CLASS: np.full(classes, 1 / classes)}, check=False)


def _log_derivatives(network: Network, naive_logs: Numbers, codes: Codes, has_missing: Bools) -> Numbers:
    """log2 dd_c(x), given log2 P(x | c) of naive Bayes.  # (row, feature, class)"""
    result, predictor = np.zeros_like(naive_logs), Predictor(_with_equal_priors(network))
    for x in network.features:
        rows = np.flatnonzero(~missing(codes[x]))
        logs = _logs_given_earlier(predictor, x, codes, has_missing, rows)
        result[rows, x] = _difference(np.where(np.isnan(logs), naive_logs[rows, x], logs), naive_logs[rows, x])
    return result


def _naive_logs(naive: Network, codes: Codes) -> Numbers:
    """log2 P(x | c), 0 where x is missing.  # (row, feature, class)"""
    result = np.zeros((len(codes[0]) if len(codes) else 0, len(naive.features), naive.variables[CLASS].card))
    for x in naive.features:
        rows = np.flatnonzero(~missing(codes[x]))
        result[rows, x] = _logs_given_parents(naive, x, codes, rows)
    return result


def _logs_given_earlier(predictor: Predictor, x: int, codes: Codes, has_missing: Bools, rows: Rows) -> Numbers:
    """log2 P(x | observed features before x, c) in rows where x is observed, nan where those are impossible.  # (row, class)"""
    network = predictor.network
    parents = [p for p in network.parents[x] if p != CLASS and has_missing[p]]
    incomplete = np.logical_or.reduce([np.zeros(len(rows), bool), *(missing(codes[p][rows]) for p in parents)])
    result = np.empty((len(rows), predictor.classes))
    result[~incomplete] = _logs_given_parents(network, x, codes, rows[~incomplete])
    if incomplete.any():
        later = set(network.order[network.order.index(x) + 1 :])
        earlier = [_all_missing(column) if v in later else column for v, column in enumerate(codes)]
        result[incomplete] = _logs_given_others(
            predictor, x, earlier, has_missing | np.isin(network.features, list(later)), rows[incomplete]
        )
    return result


def _logs_given_others(predictor: Predictor, x: int, codes: Codes, has_missing: Bools, rows: Rows) -> Numbers:
    """log2 P(x | all other observed features, c) in rows where x is observed, nan where those are impossible.  # (row, class)"""
    observed = [column[rows] for column in codes]
    without = [_all_missing(column) if v == x else column for v, column in enumerate(observed)]
    with np.errstate(invalid="ignore"):
        logs = predictor.joint(observed, has_missing) - predictor.joint(
            without, has_missing | (np.array(predictor.network.features) == x)
        )
    return np.asarray(logs / np.log(2))


def _logs_given_parents(network: Network, x: int, codes: Codes, rows: Rows) -> Numbers:
    """log2 P(x | parents of x, c) in rows where all of them are observed.  # (row, class)"""
    columns = {m: codes[m][rows] for m in network.family(x) if m != CLASS}
    continuous = x in network.densities
    logs = _log_density(network, x, columns) if continuous else _log2(network.table(x).probability(columns, len(rows)))
    return np.broadcast_to(logs, (len(rows), network.variables[CLASS].card))


def _log_density(network: Network, x: int, codes: Mapping[int, NDArray[Any]]) -> Numbers:
    """log2 of the density of a continuous feature.  # (row, class or 1)"""
    density, parents = network.densities[x], [p for p in codes if p != x]
    classes = (np.arange(network.variables[CLASS].card),) if CLASS in network.parents[x] else ()
    states = (*(codes[p].astype(np.int64)[:, None] for p in parents if p not in network.densities), *classes)
    continuous = [codes[p] for p in parents if p in network.densities]
    values = np.stack(continuous, axis=1)[:, None] if continuous else None
    return np.asarray(density.logs(codes[x][:, None], states, values) / np.log(2))


def _all_missing(column: NDArray[Any]) -> NDArray[Any]:
    return np.full_like(column, absent_code(column))


def _difference(one: Numbers, two: Numbers) -> Numbers:
    """The difference of logarithms, zero where both are -inf."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(one) & np.isneginf(two), 0.0, one - two)


def _log2(p: Numbers) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(p))


@dataclass(frozen=True, eq=False)
class _WeightSums:
    """The sums over the rows of a block of the contrasts of all features, and of the weights of the rows."""

    network: Network
    naive: Network
    has_missing: Bools

    def __call__(self, block: Block) -> list[Fraction]:
        step = max(1, PIECE_CELLS // max(1, len(self.network.features) * self.network.variables[CLASS].card))
        pieces = ((part, start) for part in block.parts() for start in range(0, max(1, len(part)), step))
        return reduce(_added, (self._of_piece(part.take(np.arange(len(part))[start : start + step])) for part, start in pieces))

    def _of_piece(self, piece: Block) -> list[Fraction]:
        codes = piece.codes[:-1]
        logs = _log_derivatives(self.network, _naive_logs(self.naive, codes), codes, self.has_missing)
        return _sums(contrasts(logs), piece.weight)


def _added(one: list[Fraction], two: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(one, two, strict=True)]


def _sums(logs: Numbers, weight: Numbers | None) -> list[Fraction]:
    """Exact weighted sums over the rows of each feature and contrast, followed by the sum of the weights."""
    if weight is not None:
        logs, weight = logs[weight > 0], weight[weight > 0]
    infinite = np.flatnonzero(~np.isfinite(logs).all(axis=(0, 2)))
    if len(infinite):
        raise DataError(
            f"feature {infinite[0]}: a case has probability zero, or nearly so, with or without the other features, "
            "so that there is no mean of the derivatives; use a smoothing above 0, or shrinkage for continuous features"
        )
    values = (np.rint(logs * GRID) / GRID).reshape(len(logs), math.prod(logs.shape[1:]))
    columns = np.column_stack([values, np.ones(len(logs))])
    totals = [Fraction(0)] * columns.shape[1]
    for start in range(0, len(columns), SUMMED_ROWS):
        rows = slice(start, start + SUMMED_ROWS)
        weights = [(1, np.ones(len(columns[rows]), np.int64))] if weight is None else list(_parts_of_16_bits(weight[rows]))
        for sign in (1, -1):
            for unit, part in _parts_of_16_bits(np.maximum(sign * columns[rows], 0.0)):
                for weight_unit, weight_part in weights:
                    totals = _added(totals, [sign * unit * weight_unit * s for s in (weight_part @ part).tolist()])
    return totals


def _parts_of_16_bits(numbers: Numbers) -> Iterator[tuple[Fraction, NDArray[np.int64]]]:
    """Nonnegative numbers as sums of a unit times 16-bit integers."""
    for q, limb in limbs(numbers).items():
        assert limb is not None
        yield from ((Fraction(2) ** (LIMB * q + low), limb >> low & 0xFFFF) for low in (0, LIMB // 2))


def _mean(sums: list[Fraction], shape: tuple[int, ...]) -> Numbers:
    *values, total = sums
    features, classes = shape
    means = np.array([float(s / total) if total else 0.0 for s in values])
    return means.reshape(features, 1 if classes == 2 else classes)
