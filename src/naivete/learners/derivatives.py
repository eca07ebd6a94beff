"""Dependence derivatives: how far each feature of each case departs from naive Bayes, in bits.

Of a feature x in class c the derivative is dd_c(x) = P(x | its parents, c) / P(x | c): above one where the other features make
the value more likely than it is in the class at large. For two classes their ratio ddr = dd_+ / dd_- tells which class gains by
the dependence, and the product of the ratios over the features, the global dependence factor gdf, is what naive Bayes neglects:
network odds = naive odds x gdf (Zhang 2004), exactly. Where it is one, naive Bayes is right however much its features depend on
each other. All of these are kept as logarithms to base 2.
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

from naivete._kernels.codes import Numbers, missing, narrowest
from naivete._kernels.exact_sums import LIMB, limbs
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.errors import DataError, ParameterError, quoted
from naivete.inference.predictor import Predictor
from naivete.network.network import Network, SparseCpt, check_tabular
from naivete.variables import CLASS

__all__ = ["Contributions", "Derivatives", "contrasts", "contributions", "derivatives", "mean_weights", "naive_part"]

Codes = Sequence[NDArray[Any]]
Gaps = NDArray[np.bool_]
Rows = NDArray[np.intp]

GRID = 2.0**40
ROWS = 1 << 20
PIECE_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class Derivatives:
    """Dependence derivatives of some cases.

    Parameters
    ----------
    logs : log2 dd_c(x) of every case, feature and class; 0 where the feature is missing.  # (row, feature, class)
    """

    logs: Numbers

    @property
    def ratios(self) -> Numbers:
        """log2 ddr(x) for two classes: above zero where the dependence speaks for the second class.  # (row, feature)"""
        if self.logs.shape[2] != 2:
            raise DataError(f"a ratio of derivatives needs two classes, here are {self.logs.shape[2]}; use the logs of each class")
        return np.asarray(contrasts(self.logs)[..., 0])

    @property
    def gdf(self) -> Numbers:
        """log2 of the global dependence factor for two classes; nan where features exclude both of them.  # (row)"""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.ratios.sum(axis=1))

    def mean_weights(self, weight: Numbers | None = None, *, average: str = "logs") -> Numbers:
        """The weight of each feature in these cases, as `mean_weights` has it of all.  # (feature, contrast)

        Parameters
        ----------
        weight : the weight of each case; by default they count the same.
        average : "logs" or "ratios".
        """
        _check_average(average)
        return _mean(_sums(contrasts(self.logs), weight, average), self.logs.shape[1:], average)


@dataclass(frozen=True, eq=False)
class Contributions:
    """What the prior and each feature add to the log posterior odds of some cases, in bits.

    Each is a contrast: for two classes the second against the first, otherwise each class against the mean of all.

    Parameters
    ----------
    prior : of the prior.  # (contrast)
    naive : of each feature if it were independent of the others, log2 P(x | c).  # (row, feature, contrast)
    dependence : what its dependence on the others adds to that, log2 dd_c(x).  # (row, feature, contrast)
    """

    prior: Numbers
    naive: Numbers
    dependence: Numbers

    @property
    def total(self) -> Numbers:
        """The sum of all, log posterior odds of the network; nan where features exclude different classes.  # (row, contrast)"""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.prior + self.naive.sum(axis=1) + self.dependence.sum(axis=1))


def contrasts(logs: Numbers) -> Numbers:
    """Logarithms of the classes relative to each other: for two classes second less first, otherwise less the mean.

    Classes of probability zero have no part in the mean; where both of two have, the contrast is zero.  # (..., contrast)

    >>> contrasts(np.array([[1.0, 3.0]])).tolist(), contrasts(np.array([[1.0, 3.0, 5.0]])).tolist()
    ([[2.0]], [[-2.0, 0.0, 2.0]])
    """
    if logs.shape[-1] == 2:
        return _less(logs[..., 1:], logs[..., :1])
    finite = np.isfinite(logs)
    total = np.where(finite, logs, 0.0).sum(axis=-1, keepdims=True)
    return np.asarray(logs - total / np.maximum(finite.sum(axis=-1, keepdims=True), 1))


def derivatives(network: Network, naive: Network, codes: Codes, gaps: Gaps, *, conditional: str = "dag") -> Derivatives:
    """The dependence derivatives of a network in some cases, relative to naive Bayes.

    With missing values "its parents" are all known features before x in the order of the network, which is the same where all
    parents are known; a missing feature has the derivative one. So in every case, in bits and for each class,

        log2 P(known features | c) of the network == sum over them of log2 P(x | c) + log2 dd_c(x)

    Parameters
    ----------
    network : the network; its class has no parents.
    naive : naive Bayes over the same variables, such as `naive(counts)` or `naive_part(network)`; the equation holds for any.
    codes : one column for each feature.
    gaps : which features have missing values.
    conditional : "dag" for P(x | its parents, c), or "all" for P(x | all other known features, c), of which the equation does
        not hold: the product over the features is a pseudo-likelihood.

    Where the network and naive Bayes both say that a value is impossible, or the network says so of the values it depends on,
    there is nothing to correct and the derivative is one.

    >>> from naivete.variables import Variable
    >>> own = Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", ("no", "yes"))
    >>> same, half = np.eye(2), np.full((2, 2), 0.5)  # b repeats a in class "yes", and is by lot in class "no"
    >>> prior = np.array([0.5, 0.5])
    >>> network = Network(own, {-1: (), 0: (-1,), 1: (0, -1)}, {-1: prior, 0: half, 1: np.stack([half, same], axis=2)})
    >>> naive = Network(own, {-1: (), 0: (-1,), 1: (-1,)}, {-1: prior, 0: half, 1: half})
    >>> found = derivatives(network, naive, (np.array([0], np.uint8), np.array([0], np.uint8)), np.zeros(2, bool))
    >>> found.ratios.tolist(), found.gdf.tolist()
    ([[0.0, 1.0]], [1.0])

    References
    ----------
    Zhang (2004), The optimality of naive Bayes; Barrow (2011), A method for automatically generating network structure in
    Bayesian classifiers, s1.5, who conditions on all other features.
    """
    _check(network, naive, conditional)
    return Derivatives(_derivatives(network, _alone(naive, codes), codes, gaps, conditional))


def contributions(network: Network, naive: Network, codes: Codes, gaps: Gaps) -> Contributions:
    """The log posterior odds of the network in some cases, split into the prior and two terms for each feature.

    What a feature would say alone, and what its dependence on the others adds: Kononenko's information gains, corrected. Their
    sum is the answer of the network, missing values summed out.

    Parameters
    ----------
    network, naive, codes, gaps : as for `derivatives`; the prior is that of the network.
    """
    _check(network, naive, "dag")
    prior, alone = _log2(np.asarray(network.cpts[CLASS])), _alone(naive, codes)
    return Contributions(contrasts(prior), contrasts(alone), contrasts(_derivatives(network, alone, codes, gaps, "dag")))


def mean_weights(counts: Counts, network: Network, naive: Network, *, conditional: str = "dag", average: str = "logs") -> Numbers:
    """The weight of each feature over all cases, in one pass: the mean of its contrasts, in bits.  # (feature, contrast)

    For two classes the mean of log2 ddr; otherwise of log2 dd_c less its mean over the classes. What a case adds is rounded to a
    multiple of 2**-40, and sums are exact, so that the order of the cases does not matter. The sum over a set of features is the
    weight that `naivete.learners.balance.balanced` makes small.

    Parameters
    ----------
    counts : the cases, on any back end.
    network, naive, conditional : as for `derivatives`.
    average : "logs" for the mean of log2 ddr, or "ratios" for log2 of the mean of ddr, as Barrow has it in definition 2.2.3.
    """
    _check(network, naive, conditional)
    _check_average(average)
    sums = counts.fold(_WeightSums(network, naive, counts.cases.gaps, conditional, average), _added)
    return _mean(sums, (len(network.features), network.variables[CLASS].card), average)


def naive_part(network: Network) -> Network:
    """Naive Bayes with the network's own P(x | c), for a network whose cases are not at hand; the same prior.

    Parameters
    ----------
    network : a network of tables whose class has no parents.
    """
    check_tabular(network, "taking the marginals of its features")
    _check_root(network)
    cards = [network.variables[x].card for x in network.features]
    starts = np.cumsum([0, *cards])
    codes = [np.full(starts[-1], np.iinfo(narrowest(card)).max, narrowest(card)) for card in cards]
    for column, start, card in zip(codes, starts, cards, strict=False):
        column[start : start + card] = np.arange(card)
    joint = np.exp(Predictor(_flat(network)).joint(codes, np.ones(len(cards), bool))) if cards else np.empty((0, 0))
    tables = {x: joint[starts[x] : starts[x + 1]] for x in network.features}
    cpts = {CLASS: network.cpts[CLASS], **{x: own / own.sum(axis=0) for x, own in tables.items()}}
    return Network(network.variables, {CLASS: (), **dict.fromkeys(network.features, (CLASS,))}, cpts)


def _check(network: Network, naive: Network, conditional: str) -> None:
    if conditional not in ("dag", "all"):
        raise ParameterError(
            f"conditional={quoted(conditional)}: 'dag' for the parents of a feature, or 'all' for all other features"
        )
    for own in (network, naive):
        _check_root(own)
    if [(v.name, v.card) for v in naive.variables] != [(v.name, v.card) for v in network.variables]:
        raise DataError("naive: its variables are not those of the network; learn both from the same cases")
    arcs = naive.arcs
    if arcs:
        p, x = arcs[0]
        raise DataError(f"naive: there is an arc from {quoted(naive.name(p))} to {quoted(naive.name(x))}; naive Bayes has none")


def _check_average(average: str) -> None:
    if average not in ("logs", "ratios"):
        raise ParameterError(f"average={quoted(average)}: 'logs' for the mean of logarithms, or 'ratios' for that of the ratios")


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


def _flat(network: Network) -> Network:
    """The network with equal priors, so that a class that never occurred has probabilities too."""
    classes = network.variables[CLASS].card
    return replace(network, cpts={**network.cpts, CLASS: np.full(classes, 1 / classes)}, check=False)


def _derivatives(network: Network, alone: Numbers, codes: Codes, gaps: Gaps, conditional: str) -> Numbers:
    """log2 dd_c(x) of every row, feature and class, from what naive Bayes says."""
    result, predictor = np.zeros_like(alone), Predictor(_flat(network))
    given = _given_all if conditional == "all" else _given_before
    for x in network.features:
        known = np.flatnonzero(~missing(codes[x]))
        own = given(predictor, x, codes, gaps, known)
        result[known, x] = _less(np.where(np.isnan(own), alone[known, x], own), alone[known, x])
    return result


def _alone(naive: Network, codes: Codes) -> Numbers:
    """log2 P(x | c) of every row, feature and class, 0 where x is missing."""
    result = np.zeros((len(codes[0]) if len(codes) else 0, len(naive.features), naive.variables[CLASS].card))
    for x in naive.features:
        known = np.flatnonzero(~missing(codes[x]))
        result[known, x] = _own(naive, x, codes, known)
    return result


def _given_before(predictor: Predictor, x: int, codes: Codes, gaps: Gaps, rows: Rows) -> Numbers:
    """log2 P(x | the known features before it, c) of rows that know x, nan where those are impossible.  # (row, class)"""
    network = predictor.network
    above = [p for p in network.parents[x] if p != CLASS and gaps[p]]
    lacking = np.logical_or.reduce([np.zeros(len(rows), bool), *(missing(codes[p][rows]) for p in above)])
    result = np.empty((len(rows), predictor.classes))
    result[~lacking] = _own(network, x, codes, rows[~lacking])
    if lacking.any():
        after = set(network.order[network.order.index(x) + 1 :])
        before = [_hidden(column) if v in after else column for v, column in enumerate(codes)]
        result[lacking] = _given_all(predictor, x, before, gaps | np.isin(network.features, list(after)), rows[lacking])
    return result


def _given_all(predictor: Predictor, x: int, codes: Codes, gaps: Gaps, rows: Rows) -> Numbers:
    """log2 P(x | all other known features, c) of rows that know x, nan where those are impossible.  # (row, class)"""
    own = [column[rows] for column in codes]
    without = [_hidden(column) if v == x else column for v, column in enumerate(own)]
    with np.errstate(invalid="ignore"):
        logs = predictor.joint(own, gaps) - predictor.joint(without, gaps | (np.array(predictor.network.features) == x))
    return np.asarray(logs / np.log(2))


def _own(network: Network, x: int, codes: Codes, rows: Rows) -> Numbers:
    """log2 P(x | its parents, c) of rows that know all of them.  # (row, class)"""
    cpt = network.cpts[x]
    own = {m: codes[m][rows] for m in network.family(x) if m != CLASS}
    if x in network.densities:
        logs = _density(network, x, own)
    elif isinstance(cpt, SparseCpt):
        tables = cpt.at(np.stack([own[p] for p in cpt.parents], axis=1).astype(np.int64))
        logs = _log2(tables[np.arange(len(tables)), own[x].astype(np.int64)])
    else:
        logs = _log2(cpt if CLASS in network.parents[x] else cpt[..., None])[tuple(c.astype(np.int64) for c in own.values())]
    return np.broadcast_to(logs, (len(rows), network.variables[CLASS].card))


def _density(network: Network, x: int, codes: Mapping[int, NDArray[Any]]) -> Numbers:
    """The logarithms of the density of a number, to base 2.  # (row, class or 1)"""
    density, above = network.densities[x], [p for p in codes if p != x]
    classes = (np.arange(network.variables[CLASS].card),) if CLASS in network.parents[x] else ()
    at = (*(codes[p].astype(np.int64)[:, None] for p in above if p not in network.densities), *classes)
    linked = [codes[p] for p in above if p in network.densities]
    numbers = np.stack(linked, axis=1)[:, None] if linked else None
    return np.asarray(density.logs(codes[x][:, None], at, numbers) / np.log(2))


def _hidden(column: NDArray[Any]) -> NDArray[Any]:
    return np.full_like(column, np.nan if column.dtype.kind == "f" else np.iinfo(column.dtype).max)


def _less(one: Numbers, two: Numbers) -> Numbers:
    """The difference of logarithms, zero where both are of zero."""
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
    gaps: Gaps
    conditional: str
    average: str

    def __call__(self, block: Block) -> list[Fraction]:
        step = max(1, PIECE_CELLS // max(1, len(self.network.features) * self.network.variables[CLASS].card))
        pieces = ((part, at) for part in block.parts() for at in range(0, max(1, len(part)), step))
        return reduce(_added, (self._of_piece(part.take(np.arange(len(part))[at : at + step])) for part, at in pieces))

    def _of_piece(self, piece: Block) -> list[Fraction]:
        codes = piece.codes[:-1]
        logs = _derivatives(self.network, _alone(self.naive, codes), codes, self.gaps, self.conditional)
        return _sums(contrasts(logs), piece.weight, self.average)


def _added(one: list[Fraction], two: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(one, two, strict=True)]


def _sums(logs: Numbers, weight: Numbers | None, average: str) -> list[Fraction]:
    """Exact weighted sums over the rows of what is averaged of each feature and contrast, and the sum of the weights."""
    if weight is not None:
        logs, weight = logs[weight > 0], weight[weight > 0]
    with np.errstate(over="ignore"):
        values = np.exp2(logs) if average == "ratios" else np.rint(logs * GRID) / GRID
    infinite = np.flatnonzero(~np.isfinite(values).all(axis=(0, 2)))
    if len(infinite):
        raise DataError(
            f"feature {infinite[0]}: a case has probability zero, or nearly so, with or without the other features, "
            "so that there is no mean of the derivatives; use a smoothing above 0, or of densities some shrinkage"
        )
    flat = np.column_stack([values.reshape(len(values), math.prod(values.shape[1:])), np.ones(len(values))])
    totals = [Fraction(0)] * flat.shape[1]
    for at in range(0, len(flat), ROWS):
        own = slice(at, at + ROWS)
        shares = [(1, np.ones(len(flat[own]), np.int64))] if weight is None else list(_halves(weight[own]))
        for sign in (1, -1):
            for unit, part in _halves(np.maximum(sign * flat[own], 0.0)):
                for other, share in shares:
                    totals = _added(totals, [sign * unit * other * s for s in (share @ part).tolist()])
    return totals


def _halves(numbers: Numbers) -> Iterator[tuple[Fraction, NDArray[np.int64]]]:
    """Numbers from zero up as sums of a unit times whole numbers of 16 bits."""
    for q, limb in limbs(numbers).items():
        assert limb is not None
        yield from ((Fraction(2) ** (LIMB * q + low), limb >> low & 0xFFFF) for low in (0, LIMB // 2))


def _mean(sums: list[Fraction], shape: tuple[int, ...], average: str) -> Numbers:
    *own, total = sums
    features, classes = shape
    means = np.array([float(s / total) if total else float(average == "ratios") for s in own])
    found = _log2(means) if average == "ratios" else means
    return found.reshape(features, 1 if classes == 2 else classes)
