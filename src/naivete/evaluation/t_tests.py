"""Tests of mean differences by Student's t: paired, corrected for overlapping training sets, of two samples, and Bayesian."""

from __future__ import annotations

import math
from typing import NamedTuple

from numpy.typing import ArrayLike
from scipy.special import stdtr

from naivete.errors import DataError, ParameterError, quoted
from naivete.evaluation.checked_scores import Floats, checked_differences, scaled

__all__ = ["Bayesian", "TTest", "bayesian_correlated_t", "corrected_t", "paired_t", "welch"]


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
    values, unit = scaled(checked_differences(differences, "bayesian_correlated_t"))
    mean, variance = _moments(values)
    freedom, width = len(values) - 1, rope / unit
    if variance == 0:
        left, right = float(mean < -width), float(mean > width)
        if mean == rope == 0:
            left = right = 0.5
        return Bayesian(left, 1 - left - right, right, mean * unit, 0.0, freedom)
    scale = math.sqrt(variance * (1 / len(values) + correlation / (1 - correlation)))
    left, right = float(stdtr(freedom, (-width - mean) / scale)), float(stdtr(freedom, (mean - width) / scale))
    return Bayesian(left, max(0.0, 1 - left - right), right, mean * unit, scale * unit, freedom)


def _t_of(differences: ArrayLike, test_share: float, test: str) -> TTest:
    values, _ = scaled(checked_differences(differences, test))
    mean, variance = _moments(values)
    return _two_sided(mean, variance * (1 / len(values) + test_share / (1 - test_share)), len(values) - 1)


def _moments(values: Floats) -> tuple[float, float]:
    """Return mean and variance; the variance is exactly 0 if all values are equal."""
    if values.min() == values.max():
        return float(values[0]), 0.0
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((values - mean) ** 2) / (len(values) - 1)


def _two_sided(difference: float, variance: float, freedom: float) -> TTest:
    t = difference / math.sqrt(variance) if variance else math.copysign(math.inf, difference) if difference else 0.0
    return TTest(t, freedom, min(1.0, 2 * float(stdtr(freedom, -abs(t)))))
