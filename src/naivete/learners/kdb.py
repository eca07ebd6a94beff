"""k-dependence Bayesian classifiers: naive Bayes with up to k feature parents for every feature."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.bias import Bias, checked_bias, joinable, occurrence
from naivete.counts.counts import Counts, informative_features
from naivete.counts.independence import checked_level
from naivete.counts.information import dependence, plain_dependence, relevance
from naivete.errors import ParameterError, quoted
from naivete.inference.leave_one_out import leave_one_out_losses
from naivete.learners.parameters import checked_integer, is_integer, is_number
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS, family

__all__ = ["candidates", "chosen_parameters", "dependence_up_to", "kdb", "significant"]

THETAS = 64
"""The most thresholds that theta="auto" tries for each k."""


def kdb(
    counts: Counts,
    *,
    k: int | Literal["auto"] = 2,
    theta: float | Literal["auto", "chi2"] = "chi2",
    alpha: float = 0.05,
    k_max: int = 5,
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the k-dependence network: each feature has the class and at most k earlier features as parents.

    Features are added in decreasing order of I(X; C). Each gets as parents, of those already added, the k with the largest
    I(X; Y | C), where that exceeds `theta`. With k=0 this is naive Bayes. A feature of a single state carries no information and
    is no parent.

    Parameters
    ----------
    counts : the training cases.
    k : the largest number of feature parents; "auto" chooses, of 0 to `k_max`, the one with the smallest leave-one-out error
        (squared error of the probability of the true class).
    theta : by default "chi2": 2 N ln 2 I(X; Y | C), with the plain information, has to be significant at the level `alpha`. A
        number is what the I(X; Y | C) of an arc has to exceed, in bits; with -inf every feature gets all k parents, as in the
        paper. "auto" chooses the number by the same leave-one-out error, together with k where that is "auto" too.
    alpha : the significance level for theta="chi2".
    k_max : the largest k that k="auto" tries.
    bias : "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to
        features that have too few cases for each of their states; "plain" takes them as in the paper.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    The class is the exclusive or of a and b; neither carries information about it alone:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> dict(kdb(Counts(cases), k=1, theta=0.5, bias="plain").parents)
    {-1: (), 0: (-1,), 1: (0, -1)}

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, steps 1-6; theta: the variant of step 5.4.
    """
    k, theta = chosen_parameters(counts, k=k, theta=theta, alpha=alpha, k_max=k_max, bias=bias, smoothing=smoothing, prior=prior)
    dependent = dependence_up_to(counts, k, bias)
    parents = candidates(counts, dependent, k, bias)
    if theta == "chi2":
        parents = significant(counts, parents, alpha, bias)
    else:
        parents = {x: [y for y in features if dependent[x, y] > theta] for x, features in parents.items()}
    structure = {x: (*parents[x], CLASS) for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior)


def candidates(counts: Counts, dependent: Numbers, k: int, bias: Bias = "plain") -> dict[int, list[int]]:
    """Return the k best parents of each feature among those before it, in decreasing order of I(X; C)."""
    density, informative, earlier = (np.zeros(len(counts.features), bool) for _ in range(3))
    density[counts.continuous] = informative[informative_features(counts)] = True
    informative &= joinable(counts, bias)
    parents: dict[int, list[int]] = {}
    for x in np.argsort(-relevance(counts, bias=bias), kind="stable").tolist():
        parents[x] = best(dependent[x], np.flatnonzero(earlier & (density == density[x])), k) if informative[x] else []
        earlier[x] = informative[x]
    return parents


def dependence_up_to(counts: Counts, k: int, bias: Bias) -> Numbers:
    """Return I(X; Y | C) of all pairs, or zeros where no feature may have feature parents."""
    n = len(counts.features)
    return dependence(counts, bias=bias) if k and n > 1 else np.zeros((n, n))


def best(values: Numbers, positions: NDArray[np.int64], count: int) -> list[int]:
    """Return the `count` positions with the largest values, largest first; ties go to the lower position.

    >>> best(np.array([1.0, 3.0, 3.0, 9.0]), np.array([0, 1, 2]), 2)
    [1, 2]
    """
    if count == 0:
        return []
    considered = values[positions]
    if len(positions) > 4 * count:
        positions = positions[considered >= np.partition(considered, len(considered) - count)[len(considered) - count]]
        considered = values[positions]
    return [int(x) for x in positions[np.argsort(-considered, kind="stable")[:count]]]


def significant(counts: Counts, parents: dict[int, list[int]], alpha: float, bias: Bias = "plain") -> dict[int, list[int]]:
    """Return the parents for which 2 N ln 2 I(X; Y | C), with the plain information, exceeds the chi-square quantile of the level.

    N is the weight of the cases in which both features are observed; the degrees of freedom count the states that occur.
    """
    from scipy.special import chdtri

    if not any(parents.values()):
        return parents
    bits = dependence(counts) if bias == "plain" else plain_dependence(counts)
    has_missing, total = counts.cases.has_missing, counts.total
    arcs = [(x, y) for x, features in parents.items() for y in features]
    incomplete = {(x, y): family(x, y, CLASS) for x, y in arcs if has_missing[x] or has_missing[y]}
    tables = counts.tables(incomplete.values())
    cases = np.array([tables[incomplete[arc]].sum() if arc in incomplete else total for arc in arcs])
    states, _, classes, _ = occurrence(counts)
    x, y = np.array(arcs).T
    freedom = np.maximum(1.0, (states[x] - 1) * (states[y] - 1) * classes)
    exceeds = 2 * cases * log(2) * bits[x, y] > chdtri(freedom, alpha)
    kept = {arc for arc, strong in zip(arcs, exceeds.tolist(), strict=True) if strong}
    return {x: [y for y in features if (x, y) in kept] for x, features in parents.items()}


def chosen_parameters(
    counts: Counts,
    *,
    k: int | Literal["auto"],
    theta: float | Literal["auto", "chi2"],
    alpha: float = 0.05,
    k_max: int = 5,
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> tuple[int, float | Literal["chi2"]]:
    """Return the k and theta that `kdb` uses: where they are "auto", those with the smallest leave-one-out error.

    All candidates are evaluated in one pass. In a row with missing values, a feature has the parents before the first missing one;
    exact marginalization would take most of the time. Ties go to the fewest arcs, then to the smallest k and the largest theta.
    """
    _check(k, k_max, theta, alpha)
    checked_bias(bias)
    if k != "auto" and theta != "auto":
        return k, theta
    if counts.continuous:
        raise ParameterError(
            "k='auto' and theta='auto' need tables for leave-one-out; with numbers='normal' set k and theta to numbers"
        )
    largest = k_max if k == "auto" else k
    dependent = dependence_up_to(counts, largest, bias)
    parents = candidates(counts, dependent, largest, bias)
    if theta == "chi2":
        parents = significant(counts, parents, alpha, bias)
    bits = [dependent[x, parents[x]] for x in counts.features]
    sizes = list(range(largest + 1)) if k == "auto" else [largest]
    fixed = [-inf] if theta == "chi2" else None if theta == "auto" else [float(theta)]
    settings = [(size, t) for size in sizes for t in (fixed or thresholds(bits, size))]
    table = np.full((len(bits), largest), -inf)  # (feature, parent)
    for row, feature_bits in zip(table, bits, strict=True):
        row[: len(feature_bits)] = feature_bits
    arcs = np.array([parents_taken(table, *setting) for setting in settings])  # (setting, feature)
    firsts = sorted(np.unique(arcs, axis=0, return_index=True)[1].tolist())
    losses = (
        leave_one_out_losses(counts, parents, arcs[firsts], smoothing, prior=prior, exact=False)
        if len(firsts) > 1
        else [Fraction(0)]
    )
    best_setting = min(zip(losses, firsts, strict=True), key=lambda pair: (pair[0], arcs[pair[1]].sum(), pair[1]))[1]
    return settings[best_setting][0], "chi2" if theta == "chi2" else settings[best_setting][1]


def parents_taken(table: Numbers, k: int, theta: float) -> NDArray[np.int64]:
    """Return how many parents each feature has, given I(X; Y | C) of its candidates in decreasing order, filled up with -inf.

    >>> parents_taken(np.array([[-inf, -inf], [0.2, -inf], [0.3, 0.1]]), 2, 0.15).tolist()
    [0, 1, 1]
    """
    return np.asarray(np.minimum(k, np.count_nonzero(table > theta, axis=1)))


def thresholds(bits: list[Numbers], size: int) -> list[float]:
    """Return thresholds that keep different sets of arcs, from none to all `size` of each feature; at most THETAS of them."""
    values = np.unique(np.concatenate([b[:size] for b in bits])) if bits else np.empty(0)
    if len(values) > THETAS:
        values = values[np.linspace(0, len(values) - 1, THETAS).astype(int)]
    return [*values[::-1].tolist(), -inf]


def _check(k: Any, k_max: Any, theta: Any, alpha: object) -> None:
    if isinstance(k, str) and k == "auto":
        checked_integer(k_max, "k_max")
    elif not is_integer(k) or k < 0:
        raise ParameterError(f"k={quoted(k)}: a whole number, at least 0, or 'auto'")
    named = isinstance(theta, str) and theta in ("auto", "chi2")
    if not named and (not is_number(theta) or theta != theta):
        raise ParameterError(f"theta={quoted(theta)}: a number of bits, 'auto' or 'chi2'")
    checked_level(alpha)
