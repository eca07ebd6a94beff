"""Tests on scores: may a difference between classifiers be chance, and may it be so small that it does not matter?

Every function takes plain arrays of scores or of differences between paired scores, and answers with a small tuple. None of them
looks at the order of the observations, and none answers with nan.

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

_EXACT_UP_TO: Final = 200  # differences, in Wilcoxon's test
_EQUAL: Final = 1e-10  # of the largest value: what differs by less is tied, so that rounding does not decide a rank
_FARTHEST: Final = 80.0  # a range of normal variables whose probability is 0 in floats


class TTest(NamedTuple):
    """Student's t, its degrees of freedom, and the probability of one at least as far from zero, either way."""

    statistic: float
    freedom: float
    p: float


class Wilcoxon(NamedTuple):
    """The smaller of the two sums of ranks, both sums, how many differences are not zero, and the two-sided p value."""

    statistic: float
    positive: float
    negative: float
    pairs: int
    p: float
    exact: bool


class Friedman(NamedTuple):
    """Friedman's chi-square with its freedom and p value, and Iman and Davenport's F with its two freedoms and p value."""

    statistic: float
    freedom: int
    p: float
    f_statistic: float
    f_freedom: tuple[int, int]
    f_p: float


class Nemenyi(NamedTuple):
    """Average ranks (1 is best), the difference that is critical at `alpha`, and the p value of every pair."""

    ranks: tuple[float, ...]
    critical_difference: float
    p: tuple[tuple[float, ...], ...]
    alpha: float
    data_sets: int

    def groups(self) -> list[tuple[int, ...]]:
        """The largest sets of two or more models, from best to worst, of which no two differ by more than is critical.

        >>> Nemenyi((1.0, 3.0, 2.2), 1.25, (), 0.05, 14).groups()
        [(0, 2), (2, 1)]
        """
        order = sorted(range(len(self.ranks)), key=lambda m: self.ranks[m])
        limits = [self.ranks[best] + self.critical_difference for best in order]
        ends = [sum(self.ranks[m] <= limit for m in order) for limit in limits]
        starts = [i for i, end in enumerate(ends) if end > i + 1 and (i == 0 or end > ends[i - 1])]
        return [tuple(order[i : ends[i]]) for i in starts]


class Bayesian(NamedTuple):
    """The probabilities of a difference below, within and above the rope; mean, scale and freedom of its posterior, a t."""

    left: float
    rope: float
    right: float
    mean: float
    scale: float
    freedom: int


def paired_t(differences: ArrayLike) -> TTest:
    """Student's paired t: mean / sqrt(variance / J), with J - 1 degrees of freedom for J differences.

    It takes the differences for independent. Those of cross-validation or of repeated splits are not, as their training sets
    overlap, and the test then finds far too many differences: see `corrected_t`. Differences that are all zero give t = 0 and
    p = 1, differences that are all the same an infinite t and p = 0.

    Parameters
    ----------
    differences : score of the one model less that of the other in every round, at least two.

    >>> test = paired_t([1, 2, 3])  # mean 2, variance 1: t = 2 / sqrt(1/3)
    >>> round(test.statistic**2, 9), test.freedom, round(test.p, 4)
    (12.0, 2, 0.0742)
    """
    return _t_of(differences, 0.0, "paired_t")


def corrected_t(differences: ArrayLike, test_share: float) -> TTest:
    """The corrected resampled t: mean / sqrt(variance (1/J + n_test/n_train)), with J - 1 degrees of freedom.

    The added term, of Nadeau and Bengio (2003, section 3), estimates what the rounds share by learning from the same cases;
    Bouckaert and Frank (2004) use it for repeated cross-validation.

    Parameters
    ----------
    differences : score of the one model less that of the other in every round, at least two.
    test_share : the share of all cases that a round tests on, n_test / (n_test + n_train): 0.1 for ten folds.

    >>> test = corrected_t([1, 2, 3], 1 / 3)  # mean 2, variance 1, 1/3 + 1/2 = 5/6: t = 2 / sqrt(5/6)
    >>> round(test.statistic**2, 9), test.freedom, round(test.p, 4)
    (4.8, 2, 0.1598)
    """
    if not 0 < test_share < 1:
        raise ParameterError(f"corrected_t: test_share={quoted(test_share)} is no share; expected a number between 0 and 1")
    return _t_of(differences, test_share, "corrected_t")


def welch(mean1: float, sd1: float, n1: float, mean2: float, sd2: float, n2: float) -> TTest:
    """Welch's t (1947) for two means of independent samples, from printed means and standard deviations.

    t = (mean1 - mean2) / sqrt(v1 + v2) with v = sd^2 / n, and (v1 + v2)^2 / (v1^2/(n1 - 1) + v2^2/(n2 - 1)) degrees of freedom.
    Two deviations of zero give p = 1 for equal means and p = 0 for different ones, with n1 + n2 - 2 degrees.

    Parameters
    ----------
    mean1, sd1, n1, mean2, sd2, n2 : of the first and of the second sample; the deviations have the divisor n - 1.

    >>> test = welch(3, 2, 4, 1, 2, 4)  # v1 = v2 = 1: t = 2 / sqrt(2), freedom 4 / (2/3)
    >>> round(test.statistic**2, 9), round(test.freedom, 9)
    (2.0, 6.0)
    """
    given = (mean1, sd1, n1, mean2, sd2, n2)
    if not (all(map(math.isfinite, given)) and min(sd1, sd2) >= 0 and min(n1, n2) >= 2):
        raise DataError(f"welch: {quoted(given, 200)}: all must be finite, no deviation negative, and no size below 2")
    unit = max(sd1, sd2) or 1.0
    v1, v2 = (sd1 / unit) ** 2 / n1, (sd2 / unit) ** 2 / n2
    share = v1 / (v1 + v2) if v1 or v2 else 0.0
    freedom = 1 / (share**2 / (n1 - 1) + (1 - share) ** 2 / (n2 - 1)) if v1 or v2 else n1 + n2 - 2
    return _two_sided((mean1 - mean2) / unit, v1 + v2, freedom)


def wilcoxon(differences: ArrayLike, *, pratt: bool = False) -> Wilcoxon:
    """Wilcoxon's signed ranks (1945): magnitudes are ranked, and the ranks of positive and of negative differences summed.

    Ties share the average of their ranks. Up to 200 differences p is exact, ties or not: of all 2^J equally probable ways to
    give signs to these ranks, the share with a sum as extreme. Beyond, the normal distribution with the same mean and variance
    stands for it, without correction for continuity. If no difference is left, p = 1.

    Parameters
    ----------
    differences : of paired scores, at least two.
    pratt : zeros are left out after ranking, as by Pratt (1959), and not before, as by Wilcoxon.

    >>> wilcoxon([3, -1, 4, 6])  # of 16 ways to sign 1, 2, 3 and 4, two have a negative sum of at most 1, two a positive one
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
    """Friedman's test (1937): do the models have the same average rank over the data sets?

    With the average ranks R of k models on N data sets, chi-square = (k-1) N^2 sum (R - (k+1)/2)^2 / S with k - 1 degrees of
    freedom, where S is the sum over all ranks r of (r - (k+1)/2)^2. Without ties S is N k (k^2 - 1) / 12, which gives the usual
    formula; with ties it is Conover's (1999). Iman and Davenport's F = (N-1) chi-square / (N (k-1) - chi-square), with k - 1
    and (k-1)(N-1) degrees, is less conservative; it is infinite where all data sets rank alike. If all is tied, p is 1.

    Parameters
    ----------
    scores : a row for each data set, at least two, and a column for each model, at least two.
    tie_correction : use the ranks' own S; otherwise that of ranks without ties, as Demsar does, which is conservative.

    >>> friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4]])[:2]  # the squares sum to 2, S is 4: 2 x 4 x 2 / 4
    (4.0, 2)
    """
    ranks = _rank_table(scores, True, "friedman")
    n, k = ranks.shape
    squares = float(((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())
    spread = float(((ranks - (k + 1) / 2) ** 2).sum()) if tie_correction else n * k * (k * k - 1) / 12
    chi = (k - 1) * n * n * squares / spread if squares > 0 else 0.0
    room = n * (k - 1) - chi
    f = (n - 1) * chi / room if room > 1e-12 * n * k else math.inf
    freedom = (k - 1, (k - 1) * (n - 1))
    return Friedman(chi, k - 1, float(chdtrc(k - 1, chi)), f, freedom, float(fdtrc(*freedom, f)))


def nemenyi(scores: ArrayLike, *, alpha: float = 0.05, higher_is_better: bool = True) -> Nemenyi:
    """Nemenyi's test of every pair of models after Friedman's: which average ranks are too far apart for chance?

    The difference of average ranks, divided by sqrt(k (k+1) / (6 N)), is compared with the range of k normal variables divided
    by sqrt(2); see Demsar (2006, section 3.2.2). The level holds for all pairs together.

    Parameters
    ----------
    scores : a row for each data set, at least two, and a column for each model, at least two.
    alpha : the level of the critical difference.
    higher_is_better : rank 1 goes to the highest score, otherwise to the lowest.

    >>> test = nemenyi([[0.9, 0.8], [0.7, 0.6], [0.7, 0.5], [0.2, 0.3]])  # critical: 1.96 sqrt(2 x 3 / (6 x 4))
    >>> test.ranks, round(test.critical_difference, 4), round(test.p[0][1], 4)
    ((1.25, 1.75), 0.98, 0.3173)
    """
    if not 0 < alpha < 1:
        raise ParameterError(f"nemenyi: alpha={quoted(alpha)} is no level; expected a number between 0 and 1")
    ranks = _rank_table(scores, higher_is_better, "nemenyi")
    n, k = ranks.shape
    average = ranks.mean(axis=0)
    unit = math.sqrt(k * (k + 1) / (6 * n)) / math.sqrt(2)
    p = np.ones((k, k))
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        p[i, j] = p[j, i] = _range_tail(abs(float(average[i] - average[j])) / unit, k)
    return Nemenyi(tuple(average.tolist()), _range_point(alpha, k) * unit, tuple(map(tuple, p.tolist())), alpha, n)


def bayesian_correlated_t(differences: ArrayLike, correlation: float, rope: float) -> Bayesian:
    """The posterior probabilities that the true difference is below -rope, within the rope, and above it.

    Corani and Benavoli (2015): with a flat prior, the posterior of the difference is Student's t with J - 1 degrees of freedom
    around the mean, its squared scale being variance (1/J + correlation / (1 - correlation)). So without a rope the smaller side
    is half the p of `corrected_t`. Differences that are all the same leave no doubt; all zero without a rope, each side has 1/2.

    Parameters
    ----------
    differences : score of the one model less that of the other in every round, at least two.
    correlation : of the rounds, for which the share of cases tested on is taken: 0.1 for ten folds. Below 1.
    rope : differences up to this, either way, do not matter in practice; in the unit of the scores, 0 for none.

    >>> test = bayesian_correlated_t([1, 3], 0.5, 2)  # mean 2, squared scale 2 (1/2 + 1); half lies above the mean
    >>> round(test.scale**2, 9), round(test.right, 9), round(sum(test[:3]), 9)
    (3.0, 0.5, 1.0)
    """
    if not 0 <= correlation < 1:
        raise ParameterError(f"bayesian_correlated_t: correlation={quoted(correlation)}; expected 0 or more, and below 1")
    if not 0 <= rope < math.inf:
        raise ParameterError(f"bayesian_correlated_t: rope={quoted(rope)}; expected a width, 0 or more")
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
    """The p values adjusted so that all those below a level may be relied on together: Holm's step-down method (1979).

    The smallest of m is multiplied by m, the next by m - 1, and so on, and none is less than the one before it, or above 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    if not all(0 <= p <= 1 for p in p_values):
        raise DataError("holm: every p value lies between 0 and 1")
    for place, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = adjusted[i] = min(1.0, max(least, (len(p_values) - place) * p_values[i]))
    return adjusted


def _observations(differences: ArrayLike, test: str) -> Floats:
    values = np.asarray(differences, np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise DataError(f"{test}: expected a list of two or more differences, got the shape {values.shape}")
    if not np.isfinite(values).all():
        place = int(np.argmin(np.isfinite(values)))
        raise DataError(f"{test}: difference {place + 1} is {values[place]}; expected finite numbers")
    return values


def _scaled(values: Floats) -> tuple[Floats, float]:
    """The values over a power of two, so that squares neither vanish nor overflow; and the power."""
    unit = 2.0 ** (math.frexp(float(np.abs(values).max(initial=0.0)))[1] - 1)
    return values / unit, unit


def _moments(scaled: Floats) -> tuple[float, float]:
    """Mean and variance, the latter exactly 0 where all values are the same."""
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
    """The ranks of scaled values from 1, ties averaged."""
    order = np.argsort(values, kind="stable")
    group = np.cumsum(np.diff(values[order], prepend=-np.inf) > _EQUAL) - 1
    sizes = np.bincount(group)
    ranks = np.empty(len(values))
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks


def _rank_table(scores: ArrayLike, higher_is_better: bool, test: str) -> Floats:
    values = np.asarray(scores, np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise DataError(f"{test}: expected two or more data sets (rows) and models (columns), got the shape {values.shape}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"{test}: the score of model {column + 1} on data set {row + 1} is {values[row, column]}, not finite")
    return np.array([_ranks(_scaled(-row if higher_is_better else row)[0]) for row in values])


def _exact_tail(ranks: Floats, smaller: float) -> float:
    """Twice the probability that the sum of a random half of the ranks is at most this; ranks are multiples of 1/2."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled.tolist():
        chances = (chances + np.pad(chances, (rank, 0))[:-rank]) / 2
    return min(1.0, 2 * math.fsum(chances[: round(2 * smaller) + 1]))


def _normal_tail(ranks: Floats, smaller: float) -> float:
    """The same, about."""
    return min(1.0, 2 * float(ndtr((smaller - ranks.sum() / 2) / math.sqrt((ranks**2).sum() / 4))))


def _range_tail(q: float, k: int) -> float:
    """The probability that k standard normal variables spread over more than q.

    k times the integral over the largest, z, of phi(z) [Phi(z)^(k-1) - (Phi(z) - Phi(z-q))^(k-1)], by the trapezoidal rule,
    which is exact to rounding for integrands like this one.
    """
    if q <= 0:
        return 1.0
    q, step = min(q, _FARTHEST), 1 / 16
    z = np.arange(-12, q + 12, step)
    below = ndtr(z)
    with np.errstate(divide="ignore"):
        some_farther = -np.expm1((k - 1) * np.log1p(-np.minimum(ndtr(z - q) / below, 1.0)))
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return min(1.0, step * k * float((density * below ** (k - 1) * some_farther).sum()))


def _range_point(alpha: float, k: int) -> float:
    """The q whose tail is alpha, by bisection."""
    low, high = 0.0, _FARTHEST
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _range_tail(middle, k) > alpha else (low, middle)
    return middle
