"""k-dependence Bayesian classifiers: naive Bayes with up to k feature parents for every feature."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts
from naivete.counts.independence import checked_level
from naivete.counts.information import dependence, relevance
from naivete.counts.sparse_tables import SparseTable
from naivete.errors import ParameterError, quoted
from naivete.inference.leave_one_out import leave_one_out_losses
from naivete.learners.parameters import checked_integer, is_integer, is_number
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS, family

__all__ = ["chosen_parameters", "kdb"]

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
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    The class is the exclusive or of a and b, of which neither tells anything alone:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> dict(kdb(Counts(cases), k=1).parents)
    {-1: (), 0: (-1,), 1: (0, -1)}

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, steps 1-6; theta: the variant of step 5.4.
    """
    k, theta = chosen_parameters(counts, k=k, theta=theta, alpha=alpha, k_max=k_max, smoothing=smoothing, prior=prior)
    dependent = _dependence(counts, k)
    parents = candidates(counts, dependent, k)
    if theta == "chi2":
        parents = significant(counts, parents, dependent, alpha)
    else:
        parents = {x: [y for y in own if dependent[x, y] > theta] for x, own in parents.items()}
    structure = {x: (*parents[x], CLASS) for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior)


def candidates(counts: Counts, dependent: Numbers, k: int) -> dict[int, list[int]]:
    """The k parents that each feature takes of those before it, the features entering in decreasing I(X; C)."""
    density = np.array([v.density for v in counts.variables[:CLASS]], bool)
    telling = np.array([v.card > 1 for v in counts.variables[:CLASS]], bool) | density
    earlier = np.zeros(len(telling), bool)
    parents: dict[int, list[int]] = {}
    for x in np.argsort(-relevance(counts), kind="stable").tolist():
        parents[x] = best(dependent[x], np.flatnonzero(earlier & (density == density[x])), k) if telling[x] else []
        earlier[x] = telling[x]
    return parents


def _dependence(counts: Counts, k: int) -> Numbers:
    """I(X; Y | C) of all pairs, which naive Bayes does without."""
    n = len(counts.features)
    return dependence(counts) if k and n > 1 else np.zeros((n, n))


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


def significant(counts: Counts, parents: dict[int, list[int]], bits: Numbers, alpha: float) -> dict[int, list[int]]:
    """The parents whose 2 N ln 2 I(X; Y | C) exceeds the chi-square quantile of the level.

    N are the cases that know both, and the degrees of freedom come from the states that occur.
    """
    from scipy.special import chdtri

    tables = counts.tables(family(x, y, CLASS) for x, own in parents.items() for y in own)
    margins = counts.margins()
    states = {x: int(np.count_nonzero(margins[x, CLASS].sum(axis=1))) for x in counts.features}
    classes = int(np.count_nonzero(margins[CLASS,]))

    def convincing(x: int, y: int) -> bool:
        table = tables[family(x, y, CLASS)]
        cases = float((table.counts if isinstance(table, SparseTable) else table).sum())
        freedom = max(1, (states[x] - 1) * (states[y] - 1) * classes)
        return bool(2 * cases * log(2) * bits[x, y] > chdtri(freedom, alpha))

    return {x: [y for y in own if convincing(x, y)] for x, own in parents.items()}


def chosen_parameters(
    counts: Counts,
    *,
    k: int | Literal["auto"],
    theta: float | Literal["auto", "chi2"],
    alpha: float = 0.05,
    k_max: int = 5,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> tuple[int, float | Literal["chi2"]]:
    """The k and theta that `kdb` takes: those given, or in place of "auto" those with the smallest leave-one-out error.

    All candidates are judged in one pass. Ties go to the fewest arcs, then to the smallest k and the largest theta.
    """
    _check(k, k_max, theta, alpha)
    if k != "auto" and theta != "auto":
        return k, theta
    if any(v.density for v in counts.variables):
        raise ParameterError("k='auto' and theta='auto' judge tables by leave-one-out; with numbers='normal' give numbers")
    most = k_max if k == "auto" else k
    dependent = _dependence(counts, most)
    parents = candidates(counts, dependent, most)
    if theta == "chi2":
        parents = significant(counts, parents, dependent, alpha)
    bits = [dependent[x, parents[x]] for x in counts.features]
    sizes = list(range(most + 1)) if k == "auto" else [most]
    given = [-inf] if theta == "chi2" else None if theta == "auto" else [float(theta)]
    settings = [(size, t) for size in sizes for t in (given or thresholds(bits, size))]
    table = np.full((len(bits), most), -inf)  # (feature, parent)
    for row, own in zip(table, bits, strict=True):
        row[: len(own)] = own
    taken = np.array([taking(table, *setting) for setting in settings])  # (setting, feature)
    firsts = sorted(np.unique(taken, axis=0, return_index=True)[1].tolist())
    losses = leave_one_out_losses(counts, parents, taken[firsts], smoothing, prior=prior) if len(firsts) > 1 else [Fraction(0)]
    found = min(zip(losses, firsts, strict=True), key=lambda pair: (pair[0], taken[pair[1]].sum(), pair[1]))[1]
    return settings[found][0], "chi2" if theta == "chi2" else settings[found][1]


def taking(table: Numbers, k: int, theta: float) -> NDArray[np.int64]:
    """How many parents each feature takes, whose informations come in decreasing order, with -inf behind the last.

    >>> taking(np.array([[-inf, -inf], [0.2, -inf], [0.3, 0.1]]), 2, 0.15).tolist()
    [0, 1, 1]
    """
    return np.asarray(np.minimum(k, np.count_nonzero(table > theta, axis=1)))


def thresholds(bits: list[Numbers], size: int) -> list[float]:
    """Thresholds that keep different sets of the best `size` arcs of each feature, from none to all; thinned out if many."""
    found = np.unique(np.concatenate([b[:size] for b in bits])) if bits else np.empty(0)
    if len(found) > THETAS:
        found = found[np.linspace(0, len(found) - 1, THETAS).astype(int)]
    return [*found[::-1].tolist(), -inf]


def _check(k: Any, k_max: Any, theta: Any, alpha: object) -> None:
    if isinstance(k, str) and k == "auto":
        checked_integer(k_max, "k_max")
    elif not is_integer(k) or k < 0:
        raise ParameterError(f"k={quoted(k)}: a whole number, at least 0, or 'auto'")
    named = isinstance(theta, str) and theta in ("auto", "chi2")
    if not named and (not is_number(theta) or theta != theta):
        raise ParameterError(f"theta={quoted(theta)}: a number of bits, 'auto' or 'chi2'")
    checked_level(alpha)
