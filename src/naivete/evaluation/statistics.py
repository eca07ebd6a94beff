"""Statistical tests of scores: can a difference between classifiers be due to chance, and is it large enough to matter?

Each function takes arrays of scores or of differences between paired scores and returns a named tuple. The results do not depend
on the order of the observations and are never nan. `wilcoxon` and `friedman` are not those of SciPy, which have no exact p values
with ties and need at least three models.

References
----------
Bouckaert and Frank (2004), Evaluating the replicability of significance tests for comparing learning algorithms.
Conover (1999), Practical nonparametric statistics, section 5.8. Corani and Benavoli (2015), A Bayesian approach for comparing
cross-validated algorithms on multiple data sets, section 2. Demsar (2006), Statistical comparisons of classifiers over multiple
data sets. Friedman (1937), The use of ranks to avoid the assumption of normality. Holm (1979), A simple sequentially rejective
multiple test procedure. Iman and Davenport (1980), Approximations of the critical region of the Friedman statistic. Nadeau and
Bengio (2003), Inference for the generalization error. Nemenyi (1963), Distribution-free multiple comparisons. Pratt (1959),
Remarks on zeros and ties in the Wilcoxon signed rank procedures. Welch (1947), The generalization of 'Student's' problem when
several different population variances are involved. Wilcoxon (1945), Individual comparisons by ranking methods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, fdtrc, ndtr, stdtr
from scipy.stats import rankdata, studentized_range

from naivete.errors import DataError, ParameterError, quoted

__all__ = [
    "Bayesian",
    "Friedman",
    "Nemenyi",
    "TTest",
    "Wilcoxon",
    "bayesian_correlated_t",
    "corrected_t",
    "friedman",
    "holm",
    "nemenyi",
    "paired_t",
    "welch",
    "wilcoxon",
]

Floats: TypeAlias = NDArray[np.float64]

_EXACT_UP_TO: Final = 200
"""The maximal number of differences for which Wilcoxon's p value is exact."""
_EQUAL: Final = 1e-10
"""Values that differ by less than this share of the largest value are tied, so that rounding errors do not affect ranks."""


class TTest(NamedTuple):
    """Student's t, its degrees of freedom, and the two-sided p value.

    Parameters
    ----------
    statistic : float
        The value of t.
    freedom : float
        The degrees of freedom.
    p : float
        The p value.
    """

    statistic: float
    freedom: float
    p: float


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


class Bayesian(NamedTuple):
    """The probabilities of a difference below, within and above the region of practical equivalence (ROPE).

    `mean`, `scale` and `freedom` describe the posterior of the difference, a Student t distribution.

    Parameters
    ----------
    left : float
        The probability of a difference below the region.
    rope : float
        The probability of a difference within the region.
    right : float
        The probability of a difference above the region.
    mean : float
        The mean of the posterior.
    scale : float
        The scale of the posterior.
    freedom : int
        The degrees of freedom of the posterior.
    """

    left: float
    rope: float
    right: float
    mean: float
    scale: float
    freedom: int


def paired_t(differences: ArrayLike) -> TTest:
    """Return Student's paired t: mean / sqrt(variance / J), with J - 1 degrees of freedom for J differences.

    It assumes independent differences. Those of cross-validation or of repeated splits are not independent, because their
    training sets overlap; the test then has far too many false positives: use `corrected_t`. If all differences are zero,
    t = 0 and p = 1; if all are equal but not zero, t is infinite and p = 0.

    Parameters
    ----------
    differences : array-like of shape (n_rounds,)
        The score of one model minus that of the other in each round; at least two.

    Returns
    -------
    TTest
        The statistic, its degrees of freedom and the p value.

    Examples
    --------
    >>> from naivete.evaluation.statistics import paired_t
    >>> test = paired_t([1, 2, 3])  # mean 2, variance 1: t = 2 / sqrt(1/3)
    >>> round(test.statistic**2, 9), test.freedom, round(test.p, 4)
    (12.0, 2, 0.0742)
    """
    return _t_of(differences, 0.0, "paired_t")


def corrected_t(differences: ArrayLike, test_share: float) -> TTest:
    """Return the corrected resampled t: mean / sqrt(variance (1/J + n_test/n_train)), with J - 1 degrees of freedom.

    The second term, of Nadeau and Bengio (2003, section 3), estimates the correlation of rounds with overlapping training sets;
    Bouckaert and Frank (2004) use it for repeated cross-validation.

    Parameters
    ----------
    differences : array-like of shape (n_rounds,)
        The score of one model minus that of the other in each round; at least two.
    test_share : float
        The share of the cases in the test set, n_test / (n_test + n_train): 0.1 for ten folds.

    Returns
    -------
    TTest
        The statistic, its degrees of freedom and the p value.

    Examples
    --------
    >>> from naivete.evaluation.statistics import corrected_t
    >>> test = corrected_t([1, 2, 3], 1 / 3)  # mean 2, variance 1, 1/3 + 1/2 = 5/6: t = 2 / sqrt(5/6)
    >>> round(test.statistic**2, 9), test.freedom, round(test.p, 4)
    (4.8, 2, 0.1598)
    """
    if not 0 < test_share < 1:
        raise ParameterError(f"corrected_t: test_share={quoted(test_share)}; expected a number between 0 and 1, exclusive")
    return _t_of(differences, test_share, "corrected_t")


def welch(mean1: float, sd1: float, n1: float, mean2: float, sd2: float, n2: float) -> TTest:
    """Return Welch's t (1947) for the means of two independent samples, from means and standard deviations.

    t = (mean1 - mean2) / sqrt(v1 + v2) with v = sd^2 / n, and (v1 + v2)^2 / (v1^2/(n1 - 1) + v2^2/(n2 - 1)) degrees of freedom.
    If both deviations are zero, p is 1 for equal means and 0 for different ones, with n1 + n2 - 2 degrees of freedom.

    Parameters
    ----------
    mean1 : float
        The mean of the first sample.
    sd1 : float
        The standard deviation of the first sample, with the divisor n - 1.
    n1 : float
        The size of the first sample.
    mean2 : float
        The mean of the second sample.
    sd2 : float
        The standard deviation of the second sample.
    n2 : float
        The size of the second sample.

    Returns
    -------
    TTest
        The statistic, its degrees of freedom and the p value.

    Examples
    --------
    >>> from naivete.evaluation.statistics import welch
    >>> test = welch(3, 2, 4, 1, 2, 4)  # v1 = v2 = 1: t = 2 / sqrt(2), freedom 4 / (2/3)
    >>> round(test.statistic**2, 9), round(test.freedom, 9)
    (2.0, 6.0)
    """
    arguments = (mean1, sd1, n1, mean2, sd2, n2)
    if not (all(map(math.isfinite, arguments)) and min(sd1, sd2) >= 0 and min(n1, n2) >= 2):
        raise DataError(f"welch: {quoted(arguments, 200)}: all must be finite, deviations at least 0 and sizes at least 2")
    unit = max(sd1, sd2) or 1.0
    v1, v2 = (sd1 / unit) ** 2 / n1, (sd2 / unit) ** 2 / n2
    share = v1 / (v1 + v2) if v1 or v2 else 0.0
    freedom = 1 / (share**2 / (n1 - 1) + (1 - share) ** 2 / (n2 - 1)) if v1 or v2 else n1 + n2 - 2
    return _two_sided((mean1 - mean2) / unit, v1 + v2, freedom)


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
    scaled, _ = _scaled(_observations(differences, "wilcoxon"))
    used = scaled if pratt else scaled[np.abs(scaled) > _EQUAL]
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


def bayesian_correlated_t(differences: ArrayLike, correlation: float, rope: float) -> Bayesian:
    """Return the posterior probabilities that the true difference is below -rope, between -rope and rope, and above rope.

    Corani and Benavoli (2015): with a flat prior, the posterior of the difference is Student's t with J - 1 degrees of freedom
    around the mean, with the squared scale variance (1/J + correlation / (1 - correlation)). With rope = 0 the smaller side is
    half the p value of `corrected_t`. If all differences are equal, one probability is 1; if all are zero and rope = 0, both
    sides have probability 1/2.

    Parameters
    ----------
    differences : array-like of shape (n_rounds,)
        The score of one model minus that of the other in each round; at least two.
    correlation : float
        The correlation of the rounds, below 1; usually the share of the cases in the test set: 0.1 for ten folds.
    rope : float
        Differences up to this size do not matter in practice, in the unit of the scores; 0 for no such region.

    Returns
    -------
    Bayesian
        The three probabilities.

    Examples
    --------
    >>> from naivete.evaluation.statistics import bayesian_correlated_t
    >>> test = bayesian_correlated_t([1, 3], 0.5, 2)  # mean 2, squared scale 2 (1/2 + 1); half lies above the mean
    >>> round(test.scale**2, 9), round(test.right, 9), round(sum(test[:3]), 9)
    (3.0, 0.5, 1.0)
    """
    if not 0 <= correlation < 1:
        raise ParameterError(f"bayesian_correlated_t: correlation={quoted(correlation)}; expected at least 0 and below 1")
    if not 0 <= rope < math.inf:
        raise ParameterError(f"bayesian_correlated_t: rope={quoted(rope)}; expected a finite number, at least 0")
    scaled, unit = _scaled(_observations(differences, "bayesian_correlated_t"))
    mean, variance = _moments(scaled)
    freedom, width = len(scaled) - 1, rope / unit
    if variance == 0:
        left, right = float(mean < -width), float(mean > width)
        if mean == rope == 0:
            left = right = 0.5
        return Bayesian(left, 1 - left - right, right, mean * unit, 0.0, freedom)
    scale = math.sqrt(variance * (1 / len(scaled) + correlation / (1 - correlation)))
    left, right = float(stdtr(freedom, (-width - mean) / scale)), float(stdtr(freedom, (mean - width) / scale))
    return Bayesian(left, max(0.0, 1 - left - right), right, mean * unit, scale * unit, freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for multiple comparisons by Holm's step-down method (1979).

    The smallest of m values is multiplied by m, the next by m - 1, and so on; each is at least the one before it and at most 1.

    Parameters
    ----------
    p_values : sequence of float
        The p values.

    Returns
    -------
    list of float
        The adjusted p values, in the same order.

    Examples
    --------
    >>> from naivete.evaluation.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    if not all(0 <= p <= 1 for p in p_values):
        raise DataError("holm: each p value must be between 0 and 1")
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = adjusted[i] = min(1.0, max(least, (len(p_values) - rank) * p_values[i]))
    return adjusted


def _observations(differences: ArrayLike, test: str) -> Floats:
    values = np.asarray(differences, np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise DataError(f"{test}: expected a list of two or more differences, got the shape {values.shape}")
    if not np.isfinite(values).all():
        position = int(np.argmin(np.isfinite(values)))
        raise DataError(f"{test}: difference {position + 1} is {values[position]}; expected finite numbers")
    return values


def _scaled(values: Floats) -> tuple[Floats, float]:
    """Return the values divided by a power of two, so that squares do not underflow or overflow, and the power."""
    unit = 2.0 ** (math.frexp(float(np.abs(values).max(initial=0.0)))[1] - 1)
    return values / unit, unit


def _moments(scaled: Floats) -> tuple[float, float]:
    """Return mean and variance; the variance is exactly 0 if all values are equal."""
    if scaled.min() == scaled.max():
        return float(scaled[0]), 0.0
    mean = math.fsum(scaled) / len(scaled)
    return mean, math.fsum((scaled - mean) ** 2) / (len(scaled) - 1)


def _t_of(differences: ArrayLike, test_share: float, test: str) -> TTest:
    scaled, _ = _scaled(_observations(differences, test))
    mean, variance = _moments(scaled)
    return _two_sided(mean, variance * (1 / len(scaled) + test_share / (1 - test_share)), len(scaled) - 1)


def _two_sided(difference: float, variance: float, freedom: float) -> TTest:
    t = difference / math.sqrt(variance) if variance else math.copysign(math.inf, difference) if difference else 0.0
    return TTest(t, freedom, min(1.0, 2 * float(stdtr(freedom, -abs(t)))))


def _ranks(values: Floats) -> Floats:
    """Return the ranks of scaled values from 1; ties, up to rounding errors, have their average rank."""
    order = np.argsort(values, kind="stable")
    groups = np.empty(len(values))
    groups[order] = np.cumsum(np.diff(values[order], prepend=-np.inf) > _EQUAL)
    return np.asarray(rankdata(groups), np.float64)


def _rank_table(scores: ArrayLike, higher_is_better: bool, test: str) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise DataError(f"{test}: expected two or more data sets (rows) and models (columns), got the shape {values.shape}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"{test}: the score of model {column + 1} on data set {row + 1} is {values[row, column]}, not finite")
    return np.array([_ranks(_scaled(-row if higher_is_better else row)[0]) for row in values])


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
