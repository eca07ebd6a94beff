"""Which informations are significant: chi-square tests of all features, and of all pairs of them, that allow for their number.

2 n ln 2 times an information that is estimated from counts has, for independent variables, about a chi-square distribution. Its
quantiles are those of Wilson and Hilferty (1931), which need no import; with two or more degrees of freedom and levels down to 1e-6
they are at most 10 % too large.
"""

from __future__ import annotations

from math import erfc, log, sqrt
from typing import Any, Final

import numpy as np

from naivete._kernels import run_parallel
from naivete._kernels.codes import Integers, Numbers
from naivete.counts.bias import ROWS, occurrence
from naivete.counts.counts import Counts
from naivete.counts.information import plain_dependence, relevance

__all__ = ["significant_dependence", "significant_features"]

LARGEST_QUANTILE: Final = 40.0
"""Larger normal quantiles than this are not looked for: their level is smaller than the smallest float."""


def p_value(z: float) -> float:
    """Return the probability that a standard normal variable is larger.

    >>> round(p_value(1.96), 3)
    0.025
    """
    return erfc(z / sqrt(2)) / 2


def normal_quantile(level: float) -> float:
    """Return the number, at least 0, that a standard normal variable exceeds with this probability.

    >>> round(normal_quantile(0.025), 2)
    1.96
    """
    low, high = 0.0, LARGEST_QUANTILE
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if p_value(middle) > level else (low, middle)
    return high


def chi_square_quantile(freedom: Any, z: float) -> Any:
    """Return the quantiles of chi-square distributions that belong to a quantile of the normal distribution.

    >>> chi_square_quantile(np.array([4, 10]), normal_quantile(0.05)).round(1).tolist()  # 9.5 and 18.3
    [9.5, 18.3]
    """
    spread = 2 / (9 * np.maximum(freedom, 1.0))
    return np.maximum(freedom, 1.0) * (1 - spread + z * np.sqrt(spread)) ** 3


def significant_features(counts: Counts, features: Integers, rate: float) -> Integers:
    """Return those of some features whose information about the class is significant, in their order.

    Among those that are returned, at most the share `rate` is expected to carry no information.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate.
    """
    states, cases, classes, _ = occurrence(counts)
    freedom = np.maximum((states[features] - 1) * (classes - 1), 1.0)
    ratio, spread = 2 * log(2) * cases[features] * relevance(counts)[features] / freedom, 2 / (9 * freedom)
    p = np.array([p_value(z) for z in ((np.cbrt(ratio) - 1 + spread) / np.sqrt(spread)).tolist()])
    passed = np.flatnonzero(np.sort(p) <= rate * np.arange(1, len(p) + 1) / max(len(p), 1))
    return features[p <= np.sort(p)[passed[-1]]] if len(passed) else features[:0]


def significant_dependence(counts: Counts, bits: Numbers, level: float) -> Numbers:
    """Return the given I(X; Y | C) of all pairs of features, a matrix, with zeros where it is not significant at a level.

    Parameters
    ----------
    counts : the counts; the plain estimates are tested. No value may be missing.
    bits : the informations, for instance without their bias.
    level : the probability that independent features pass the test.
    """
    states, _, classes, total = occurrence(counts)
    plain, result, z = plain_dependence(counts), np.empty_like(bits), normal_quantile(level)

    def test(start: int) -> None:
        part = slice(start, start + ROWS)
        least = chi_square_quantile(np.outer(states[part] - 1, (states - 1) * classes), z)
        result[part] = np.where(2 * log(2) * total * plain[part] > least, bits[part], 0.0)

    run_parallel(test, range(0, len(bits), ROWS), 16 * bits.size)  # by rows: no other matrices of this size
    return result
