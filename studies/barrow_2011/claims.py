"""What Barrow (2011) sees in scatter plots, decided by tests on slopes, differences and correlations."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from naivete.evaluation.statistics import corrected_t, paired_t
from studies.results import Cell
from studies.verdicts import INSIDE, LEVEL, NOT_REPRODUCED, REPRODUCED, UNDECIDED, Numbers, interval, outside

__all__ = ["Line", "clearly_above", "correlated", "flat", "line", "one_more_division", "over_folds", "sloped"]

FLAT: Final = 0.5
"""A line is flat beside another where the interval of its slope is within this share of the other slope."""
WEAK: Final = 0.3
"""A rank correlation is weak where its interval is within this value."""
VISIBLE: Final = 1.0
"""A difference of fewer points cannot be seen in a plot."""


class Line(NamedTuple):
    """The slope of a regression line, half of its 95 % interval, and the p value of slope zero, for unequal variances (HC3)."""

    slope: float
    half: float
    p: float


def line(x: Numbers, y: Numbers, covariate: Numbers | None = None) -> Line:
    """Fit a regression line by least squares.

    Parameters
    ----------
    x, y : the points, at least four, not all with the same x.
    covariate : another variable in the regression.

    >>> fitted = line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 2.0, 4.0]))
    >>> round(fitted.slope, 9), 0.01 < fitted.p < 0.1
    (1.2, True)

    References
    ----------
    MacKinnon and White (1985), Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties.
    """
    design = np.column_stack([x, np.ones(len(x)), *([] if covariate is None else [covariate])])
    inverse = np.linalg.pinv(design)
    coefficients = inverse @ y
    residuals = (y - design @ coefficients) / (1 - np.einsum("rk,kr->r", design, inverse))
    slope, error = float(coefficients[0]), float(np.linalg.norm(inverse[0] * residuals))
    freedom = len(x) - design.shape[1]
    p = float(slope == 0) if error == 0 else 2 * float(stdtr(freedom, -abs(slope) / error))
    return Line(slope, error * float(stdtrit(freedom, 1 - LEVEL / 2)), p)


def sloped(name: str, printed: Literal["rises", "falls"], fitted: Line, note: str = "") -> Cell:
    """Test the claim that a line rises or falls."""
    right = (fitted.slope > 0) == (printed == "rises")
    verdict = UNDECIDED if fitted.p >= LEVEL else REPRODUCED if right else NOT_REPRODUCED
    return Cell(name, printed, (fitted.slope, fitted.half), verdict, note, fitted.p)


def _decided(yes: bool, no: bool) -> str:
    return REPRODUCED if yes else NOT_REPRODUCED if no else UNDECIDED


def flat(name: str, fitted: Line, steep: Line, note: str = "") -> Cell:
    """Test the claim that a line is flat where another is not: its slope is less than half of the other one.

    >>> flat("", Line(1.0, 0.5, 0.01), Line(-4.0, 1.0, 0.01)).verdict, flat("", Line(3.0, 0.5, 0.0), Line(-4.0, 1.0, 0.0)).verdict
    ('reproduced', 'not reproduced')
    """
    most, slope = FLAT * abs(steep.slope), abs(fitted.slope)
    verdict = _decided(slope + fitted.half <= most, slope - fitted.half > most)
    rule = f"flat where the interval of the slope is within {most:.2f}, half of the slope of naive Bayes"
    return Cell(name, "relatively flat", (fitted.slope, fitted.half), verdict, "; ".join(filter(None, (rule, note))), fitted.p)


def clearly_above(name: str, differences: Numbers) -> Cell:
    """Test the claim that one classifier is visibly above another, from the differences in points of all data sets.

    >>> clearly_above("", np.array([0.1, 0.2, -0.1, 0.0])).verdict, clearly_above("", np.array([0.1, 0.2, 0.3, 0.2])).verdict
    ('not reproduced', 'reproduced')
    """
    (mean, half), p = interval(differences), paired_t(differences).p
    return Cell(name, "above", (mean, half), _decided(p < LEVEL and mean > 0, mean + half < VISIBLE), "", p)


def correlated(name: str, x: Numbers, y: Numbers) -> Cell:
    """Test the claim that x and y are weakly related, by Spearman's correlation and Fisher's interval."""
    from scipy.stats import spearmanr

    rho, p = map(float, spearmanr(x, y))
    low, high = np.tanh(np.arctanh(rho) + np.array([-1.96, 1.96]) / math.sqrt(len(x) - 3)).tolist()
    verdict = _decided(max(-low, high) <= WEAK, min(abs(low), abs(high)) > WEAK and low * high > 0)
    return Cell(name, "very weak", f"{rho:+.2f} ({low:+.2f} to {high:+.2f})", verdict, "", p)


def over_folds(name: str, printed: float, differences: Numbers, folds: int) -> Cell:
    """Test the claim that a classifier is so much better than another.

    It is reproduced where the difference significantly has the printed sign; not reproduced where it significantly has the other
    sign, or where its interval contains zero and not the printed difference.

    Parameters
    ----------
    name : the claim.
    printed : the printed difference in points.
    differences : ours in all folds of all divisions; the test is corrected for overlapping training sets.
    folds : the number of folds of a division.
    """
    mean, count = float(differences.mean()), len(differences)
    p = corrected_t(differences, 1 / folds).p
    error = math.sqrt(float(differences.var(ddof=1)) * (1 / count + 1 / (folds - 1)))
    half = error * float(stdtrit(count - 1, 1 - LEVEL / 2))
    verdict = _decided(p < LEVEL and mean * printed > 0, p < LEVEL or abs(printed - mean) > half)
    return Cell(name, printed, (mean, half), verdict, "", p)


def one_more_division(name: str, printed: float, ours: Numbers, note: str = "") -> Cell:
    """Test whether one more division of the same cases may give the printed value, from ours of several divisions."""
    mean, deviation = float(ours.mean()), float(ours.std(ddof=1))
    distance, scale = abs(printed - mean), deviation * math.sqrt(1 + 1 / len(ours))
    p = float(distance == 0) if scale == 0 else 2 * float(stdtr(len(ours) - 1, -distance / scale))
    return Cell(name, printed, (mean, deviation), INSIDE if p >= LEVEL else outside(p), note, p)
