"""Tests of ranks: Wilcoxon's of paired differences, Friedman's and Nemenyi's of several models on several data sets."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc, ndtr
from scipy.stats import rankdata, studentized_range

from naivete.errors import ParameterError, quoted
from naivete.evaluation.checked_scores import Floats, checked_differences, checked_scores, scaled

__all__ = ["Friedman", "Nemenyi", "Wilcoxon", "friedman", "nemenyi", "wilcoxon"]

_EXACT_UP_TO: Final = 200
"""The maximal number of differences for which Wilcoxon's p value is exact."""
_EQUAL: Final = 1e-10
"""Values that differ by less than this share of the largest value are tied, so that rounding errors do not affect ranks."""


class Wilcoxon(NamedTuple):
    """The smaller sum of ranks, both sums, the number of nonzero differences, the two-sided p value, and whether it is exact.

    Parameters
    ----------
    statistic : float
        The smaller sum of ranks.
    positive : float
        The sum of the ranks of positive differences.
    negative : float
        The sum of the ranks of negative differences.
    pairs : int
        The number of nonzero differences.
    p : float
        The two-sided p value.
    exact : bool
        Whether the p value is exact.
    """

    statistic: float
    positive: float
    negative: float
    pairs: int
    p: float
    exact: bool


class Friedman(NamedTuple):
    """Friedman's chi-square and Iman and Davenport's F, each with its degrees of freedom and p value.

    Parameters
    ----------
    statistic : float
        The value of chi-square.
    freedom : int
        Its degrees of freedom.
    p : float
        Its p value.
    f_statistic : float
        The value of F.
    f_freedom : tuple of int
        Its two degrees of freedom.
    f_p : float
        Its p value.
    """

    statistic: float
    freedom: int
    p: float
    f_statistic: float
    f_freedom: tuple[int, int]
    f_p: float


class Nemenyi(NamedTuple):
    """Average ranks (1 is best), the critical difference at level `alpha`, and the p value of each pair of models.

    Parameters
    ----------
    ranks : tuple of float
        The average rank of each model.
    critical_difference : float
        The smallest significant difference of two average ranks.
    p : tuple of tuple of float
        The p value of each pair.
    alpha : float
        The significance level.
    data_sets : int
        The number of data sets.
    """

    ranks: tuple[float, ...]
    critical_difference: float
    p: tuple[tuple[float, ...], ...]
    alpha: float
    data_sets: int

    def groups(self) -> list[tuple[int, ...]]:
        """Return the largest sets of two or more models, best first, whose ranks differ by at most the critical difference.

        Returns
        -------
        list of tuple of int
            The positions of the models of each group.

        Examples
        --------
        >>> from naivete.evaluation.statistics import Nemenyi
        >>> Nemenyi((1.0, 3.0, 2.2), 1.25, (), 0.05, 14).groups()
        [(0, 2), (2, 1)]
        """
        order = sorted(range(len(self.ranks)), key=lambda m: self.ranks[m])
        limits = [self.ranks[best] + self.critical_difference for best in order]
        ends = [sum(self.ranks[m] <= limit for m in order) for limit in limits]
        starts = [i for i, end in enumerate(ends) if end > i + 1 and (i == 0 or end > ends[i - 1])]
        return [tuple(order[i : ends[i]]) for i in starts]


def wilcoxon(differences: ArrayLike, *, pratt: bool = False) -> Wilcoxon:
    """Return Wilcoxon's signed-rank test (1945): the sums of the ranks of positive and of negative differences.

    The absolute differences are ranked; ties have their average rank. Up to 200 differences p is exact, also with ties: the
    share of the 2^J assignments of signs to these ranks whose sum is as extreme. For more, p is that of the normal distribution
    with the same mean and variance, without continuity correction. If all differences are zero, p = 1.

    Parameters
    ----------
    differences : array-like of shape (n_pairs,)
        Differences of paired scores, at least two.
    pratt : bool, default=False
        Whether zeros are removed after ranking (Pratt 1959) instead of before (Wilcoxon).

    Returns
    -------
    Wilcoxon
        The sums of ranks and the p value.

    Examples
    --------
    >>> from naivete.evaluation.statistics import wilcoxon
    >>> wilcoxon([3, -1, 4, 6])  # of 16 signings of the ranks 1, 2, 3, 4, four have a sum of at most 1
    Wilcoxon(statistic=1.0, positive=9.0, negative=1.0, pairs=4, p=0.25, exact=True)
    """
    values, _ = scaled(checked_differences(differences, "wilcoxon"))
    used = values if pratt else values[np.abs(values) > _EQUAL]
    ranks = np.where(np.abs(used) > _EQUAL, _ranks(np.abs(used)), 0.0)
    positive, negative, pairs = float(ranks[used > 0].sum()), float(ranks[used < 0].sum()), int(np.count_nonzero(ranks))
    tail = _exact_tail if pairs <= _EXACT_UP_TO else _normal_tail
    smaller = min(positive, negative)
    return Wilcoxon(smaller, positive, negative, pairs, tail(ranks[ranks > 0], smaller), tail is _exact_tail)


def friedman(scores: ArrayLike, *, tie_correction: bool = True) -> Friedman:
    """Return Friedman's test (1937) of the hypothesis that all models have the same expected rank over the data sets.

    With the average ranks R of k models on N data sets, chi-square = (k-1) N^2 sum (R - (k+1)/2)^2 / S with k - 1 degrees of
    freedom, where S is the sum over all ranks r of (r - (k+1)/2)^2. Without ties S = N k (k^2 - 1) / 12, the usual formula;
    with ties it is Conover's (1999). Iman and Davenport's F = (N-1) chi-square / (N (k-1) - chi-square), with k - 1 and
    (k-1)(N-1) degrees of freedom, is less conservative; it is infinite if all data sets have the same ranks. If all scores are
    tied, p is 1.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_models)
        The scores, with at least two data sets and two models.
    tie_correction : bool, default=True
        Whether S is computed from the ranks; otherwise as without ties (Demsar), which is conservative.

    Returns
    -------
    Friedman
        Both statistics with their p values.

    Examples
    --------
    >>> from naivete.evaluation.statistics import friedman
    >>> friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]])[:2]  # the squares sum to 2, S is 4: 2 x 4 x 2 / 4
    (4.0, 2)
    """
    ranks = _rank_table(scores, True, "friedman")
    n, k = ranks.shape
    squares = float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) if tie_correction else n * k * (k * k - 1) / 12
    chi = (k - 1) * n * n * squares / spread if squares > 0 else 0.0
    rest = n * (k - 1) - chi
    f = (n - 1) * chi / rest if rest > 1e-12 * n * k else math.inf
    freedom = (k - 1, (k - 1) * (n - 1))
    return Friedman(chi, k - 1, float(chdtrc(k - 1, chi)), f, freedom, float(fdtrc(*freedom, f)))


def nemenyi(scores: ArrayLike, *, alpha: float = 0.05, higher_is_better: bool = True) -> Nemenyi:
    """Return Nemenyi's test of all pairs of models, which follows Friedman's.

    The difference of two average ranks, divided by sqrt(k (k+1) / (6 N)), is compared with the studentized range of k normal
    variables divided by sqrt(2); see Demsar (2006, section 3.2.2). The level holds for all pairs together.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_models)
        The scores, with at least two data sets and two models.
    alpha : float, default=0.05
        The level of the critical difference.
    higher_is_better : bool, default=True
        Whether the highest score has rank 1; otherwise the lowest.

    Returns
    -------
    Nemenyi
        The ranks, the critical difference and the p values.

    Examples
    --------
    >>> from naivete.evaluation.statistics import nemenyi
    >>> test = nemenyi([[0.9, 0.8], [0.7, 0.6], [0.7, 0.5], [0.2, 0.3]])  # critical: 1.96 sqrt(2 x 3 / (6 x 4))
    >>> test.ranks, round(test.critical_difference, 4), round(test.p[0][1], 4)
    ((1.25, 1.75), 0.98, 0.3173)
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"nemenyi: alpha={quoted(alpha)}; expected a number between 0 and 1, exclusive")
    ranks = _rank_table(scores, higher_is_better, "nemenyi")
    n, k = ranks.shape
    average = ranks.mean(axis=0)
    unit = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    p = np.ones((k, k))
    first, second = np.triu_indices(k, 1)
    p[first, second] = p[second, first] = studentized_range.sf(np.abs(average[first] - average[second]) / unit, k, np.inf)
    critical = float(studentized_range.isf(alpha, k, np.inf)) * unit
    return Nemenyi(tuple(average.tolist()), critical, tuple(map(tuple, p.tolist())), alpha, n)


def _rank_table(scores: ArrayLike, higher_is_better: bool, test: str) -> Floats:
    """Return the rank of each model on each data set; 1 is best."""
    values = checked_scores(scores, test)
    return np.array([_ranks(scaled(-row if higher_is_better else row)[0]) for row in values])


def _ranks(values: Floats) -> Floats:
    """Return the ranks of scaled values from 1; ties, up to rounding errors, have their average rank."""
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values))
    groups[order] = np.cumsum(np.diff(values[order], prepend=-np.inf) > _EQUAL)
    return np.asarray(rankdata(groups), np.float64)


def _exact_tail(ranks: Floats, smaller: float) -> float:
    """Return twice the probability that the sum of randomly chosen ranks, which are multiples of 1/2, is at most `smaller`."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    probabilities = np.zeros(int(doubled.sum()) + 1)
    probabilities[0] = 1.0
    for rank in doubled.tolist():
        probabilities = (probabilities + np.pad(probabilities, (rank, 0))[:-rank]) / 2
    return min(1.0, 2 * math.fsum(probabilities[: round(2 * smaller) + 1]))


def _normal_tail(ranks: Floats, smaller: float) -> float:
    """Return the normal approximation of `_exact_tail`."""
    return min(1.0, 2 * float(ndtr((smaller - ranks.sum() / 2) / math.sqrt((ranks**2).sum() / 4))))
