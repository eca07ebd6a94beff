"""k-dependence Bayesian classifiers: naive Bayes with up to k feature parents for every feature."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from naivete.counts import Counts
from naivete.errors import ParameterError, shown
from naivete.estimation import estimate
from naivete.information import dependence, relevance
from naivete.leave_one_out import leave_one_out_losses
from naivete.network import Network
from naivete.variables import CLASS

__all__ = ["kdb"]

Numbers = NDArray[np.float64]
THETAS = 64


def kdb(
    counts: Counts,
    *,
    k: int | Literal["auto"] = 2,
    theta: float | Literal["auto", "chi2"] = -inf,
    alpha: float = 0.05,
    k_max: int = 5,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """A k-dependence network: each feature has the class and at most k earlier features as parents.

    Features enter in decreasing I(X; C). Each takes as parents, among those already in, the k with the largest
    I(X; Y | C), where that exceeds `theta`. With k=0 this is naive Bayes. A feature of a single state tells nothing and is
    nobody's parent.

    Parameters
    ----------
    counts : the training cases.
    k : how many features a feature may depend on; "auto" takes, of 0 .. `k_max`, the one with the smallest leave-one-out error
        (squared, of the probability of the true class).
    theta : an arc needs more information than this, in bits; by default every feature takes all k. "auto" chooses it by the
        same leave-one-out error, together with k where that is "auto" too; "chi2" asks instead that 2 N ln 2 I(X; Y | C) is
        significant at the level `alpha`.
    alpha : the level of theta="chi2".
    k_max : the largest k that k="auto" tries.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, steps 1-6; theta: the variant of step 5.4.
    """
    most = k_max if isinstance(k, str) and k == "auto" else k
    _check(k, most, theta, alpha)
    dependent, relevant = dependence(counts), relevance(counts)
    telling = np.array([v.card > 1 for v in counts.variables[:CLASS]])
    earlier = np.zeros(len(telling), bool)
    parents: dict[int, list[int]] = {}
    for x in np.argsort(-relevant, kind="stable").tolist():
        parents[x] = best(dependent[x], np.flatnonzero(earlier), most) if telling[x] else []
        earlier[x] = telling[x]
    if theta == "chi2":
        parents = {x: _significant(counts, x, parents[x], dependent[x], alpha) for x in parents}
    taken = _taken(counts, parents, dependent, k, most, theta, smoothing, prior)
    structure = {x: (*parents[x][: taken[x]], CLASS) for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior)


def best(values: Numbers, among: NDArray[np.int64], count: int) -> list[int]:
    """The `count` positions with the largest values, decreasing, of those given in increasing order; lower ones win ties.

    >>> best(np.array([1.0, 3.0, 3.0, 9.0]), np.array([0, 1, 2]), 2)
    [1, 2]
    """
    if count == 0:
        return []
    own = values[among]
    if len(among) > 4 * count:
        among = among[own >= np.partition(own, len(own) - count)[len(own) - count]]
        own = values[among]
    return [int(x) for x in among[np.argsort(-own, kind="stable")[:count]]]


def _taken(
    counts: Counts,
    parents: dict[int, list[int]],
    dependent: Numbers,
    k: int | str,
    most: int,
    theta: float | str,
    smoothing: object,
    prior: Sequence[float] | None,
) -> NDArray[np.int64]:
    """How many of its parents each feature keeps."""
    bits = [dependent[x, parents[x]] for x in counts.features]  # decreasing, so that a threshold keeps a beginning
    reach = np.array([len(parents[x]) for x in counts.features], np.int64)
    sizes = [most] if k != "auto" else list(range(most + 1))
    thresholds = [float(theta)] if not isinstance(theta, str) else [-inf] if theta == "chi2" else None
    candidates = np.array(
        [
            [min(size, reach[x], int(np.sum(bits[x] > t))) for x in counts.features]
            for size in sizes
            for t in (_thresholds(bits, size) if thresholds is None else thresholds)
        ],
        np.int64,
    ).reshape(-1, len(counts.features))
    candidates = candidates[sorted(np.unique(candidates, axis=0, return_index=True)[1].tolist())]
    if len(candidates) == 1:
        return candidates[0]  # type: ignore[no-any-return]
    losses = leave_one_out_losses(counts, parents, candidates, smoothing, prior=prior)
    return candidates[min(range(len(losses)), key=lambda i: (losses[i], candidates[i].sum()))]  # type: ignore[no-any-return]


def _thresholds(bits: list[Numbers], size: int) -> list[float]:
    """Thresholds that keep different sets of the best `size` arcs of each feature, from none to all; thinned out if many."""
    found = np.unique(np.concatenate([b[:size] for b in bits])) if bits else np.empty(0)
    if len(found) > THETAS:
        found = found[np.linspace(0, len(found) - 1, THETAS).astype(int)]
    return [*found[::-1].tolist(), -inf]


def _significant(counts: Counts, x: int, parents: list[int], bits: Numbers, alpha: float) -> list[int]:
    """The parents whose information with x exceeds the chi-square quantile of the level, in bits of N cases."""
    from scipy.special import chdtri

    rows = 2 * counts.total * log(2)
    states = {y: (counts.variables[x].card - 1) * (counts.variables[y].card - 1) * counts.variables[CLASS].card for y in parents}
    return [y for y in parents if rows * bits[y] > chdtri(states[y], alpha)]


def _check(k: object, most: object, theta: object, alpha: object) -> None:
    name = "k_max" if isinstance(k, str) and k == "auto" else "k"
    if not isinstance(most, (int, np.integer)) or isinstance(most, bool) or most < 0:
        raise ParameterError(f"{name}={shown(most)}: a whole number, at least 0" + (", or 'auto'" if name == "k" else ""))
    if isinstance(theta, str):
        if theta not in ("auto", "chi2"):
            raise ParameterError(f"theta={shown(theta)}: a number of bits, 'auto' or 'chi2'")
    elif not isinstance(theta, (int, float, np.integer, np.floating)) or isinstance(theta, bool) or theta != theta:
        raise ParameterError(f"theta={shown(theta)}: a number of bits, 'auto' or 'chi2'")
    if not isinstance(alpha, (int, float)) or not 0 < alpha < 1:
        raise ParameterError(f"alpha={shown(alpha)}: a level between 0 and 1")
