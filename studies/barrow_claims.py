"""What Barrow (2011) sees in scatter plots, decided by tests: lines through them, differences, and their spread."""

from __future__ import annotations

import math
from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from naivete._kernels.codes import Numbers
from naivete.evaluation.statistics import corrected_t, paired_t
from studies.langley_claims import LEVEL, NOT_REPRODUCED, SAME, UNDECIDED, interval
from studies.verdicts import INSIDE, REPRODUCED, Cell, chance

__all__ = ["Line", "beside", "clearly", "correlated", "flat", "line", "over_folds", "sloped"]


FLAT: Final = 0.5
"""A line is flat beside another where its slope surely is less than this share of the other one."""
WEAK: Final = 0.3
"""A rank correlation that surely is less than this is weak."""


class Line(NamedTuple):
    """A line through points by least squares: its slope, half the width of the 95 % interval, and the p of none.

    Parameters
    ----------
    slope, half, p : with deviations that allow for points that scatter more in some places than in others (HC3).
    """

    slope: float
    half: float
    p: float


def line(x: Numbers, y: Numbers, beside: Numbers | None = None) -> Line:
    """The line through some points.

    Parameters
    ----------
    x, y : the points, at least four, not all with the same x.
    beside : something else that y depends on, which is allowed for.

    >>> own = line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 2.0, 4.0]))
    >>> round(own.slope, 9), 0.01 < own.p < 0.1
    (1.2, True)

    References
    ----------
    MacKinnon and White (1985), Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample
    properties.
    """
    design = np.column_stack([x, np.ones(len(x)), *([] if beside is None else [beside])])
    solve = np.linalg.pinv(design)
    found = solve @ y
    left = (y - design @ found) / (1 - np.einsum("rk,kr->r", design, solve))
    slope, deviation, freedom = float(found[0]), float(np.linalg.norm(solve[0] * left)), len(x) - design.shape[1]
    p = float(slope == 0) if deviation == 0 else 2 * float(stdtr(freedom, -abs(slope) / deviation))
    return Line(slope, deviation * float(stdtrit(freedom, 1 - LEVEL / 2)), p)


def sloped(name: str, printed: Literal["rises", "falls"], own: Line, note: str = "") -> Cell:
    """The claim that a line rises or falls."""
    right = (own.slope > 0) == (printed == "rises")
    verdict = UNDECIDED if own.p >= LEVEL else REPRODUCED if right else NOT_REPRODUCED
    return Cell(name, printed, (own.slope, own.half), verdict, note, own.p)


def flat(name: str, own: Line, steep: Line, note: str = "") -> Cell:
    """The claim that a line is flat where another is not: it rises or falls less than half as much.

    >>> flat("", Line(1.0, 0.5, 0.01), Line(-4.0, 1.0, 0.01)).verdict, flat("", Line(3.0, 0.5, 0.0), Line(-4.0, 1.0, 0.0)).verdict
    ('reproduced', 'not reproduced')
    """
    most = FLAT * abs(steep.slope)
    surely, surely_not = abs(own.slope) + own.half <= most, abs(own.slope) - own.half > most
    verdict = REPRODUCED if surely else NOT_REPRODUCED if surely_not else UNDECIDED
    told = f"flat where the slope surely is within {most:.2f}, half of that of naive Bayes"
    return Cell(name, "relatively flat", (own.slope, own.half), verdict, "; ".join(filter(None, (told, note))), own.p)


def clearly(name: str, differences: Numbers) -> Cell:
    """The claim that one is clearly above another, which eyes would not see of less than a point.

    Parameters
    ----------
    name : the claim.
    differences : of every data set, in points.

    >>> clearly("", np.array([0.1, 0.2, -0.1, 0.0])).verdict, clearly("", np.array([0.1, 0.2, 0.3, 0.2])).verdict
    ('not reproduced', 'reproduced')
    """
    (mean, half), p = interval(differences), paired_t(differences).p
    verdict = NOT_REPRODUCED if mean + half < SAME else UNDECIDED
    return Cell(name, "above", (mean, half), REPRODUCED if p < LEVEL and mean > 0 else verdict, "", p)


def correlated(name: str, x: Numbers, y: Numbers) -> Cell:
    """The claim that x and y are related weakly, if at all, by Spearman's correlation and Fisher's interval."""
    from scipy.stats import spearmanr

    rho, p = map(float, spearmanr(x, y))
    low, high = np.tanh(np.arctanh(rho) + np.array([-1.96, 1.96]) / math.sqrt(len(x) - 3)).tolist()
    surely, surely_not = max(-low, high) <= WEAK, min(abs(low), abs(high)) > WEAK and low * high > 0
    verdict = REPRODUCED if surely else NOT_REPRODUCED if surely_not else UNDECIDED
    return Cell(name, "very weak", f"{rho:+.2f} ({low:+.2f} to {high:+.2f})", verdict, "", p)


def over_folds(name: str, printed: float, differences: Numbers, folds: int) -> Cell:
    """The claim that a classifier is so much better than another, from the differences in points of every fold.

    It is reproduced where the difference surely has the printed sign, and not where it surely has the other one, or where it
    may have none and surely is not the printed one.

    Parameters
    ----------
    name : the claim.
    printed : the difference that is printed.
    differences : ours of all folds of all divisions; the test is corrected for training sets that overlap.
    folds : of a division.
    """
    mean, count = float(differences.mean()), len(differences)
    p = corrected_t(differences, 1 / folds).p
    deviation = math.sqrt(float(differences.var(ddof=1)) * (1 / count + 1 / (folds - 1)))
    half = deviation * float(stdtrit(count - 1, 1 - LEVEL / 2))
    verdict = NOT_REPRODUCED if p < LEVEL or abs(printed - mean) > half else UNDECIDED
    return Cell(name, printed, (mean, half), REPRODUCED if p < LEVEL and mean * printed > 0 else verdict, "", p)


def beside(name: str, printed: float, ours: Numbers, note: str = "") -> Cell:
    """A printed figure beside those of several divisions of the same cases: may one more division give it?

    Parameters
    ----------
    name, printed, note : the figure.
    ours : ours, one for each division.
    """
    mean, deviation = float(ours.mean()), float(ours.std(ddof=1))
    away, scale = abs(printed - mean), deviation * math.sqrt(1 + 1 / len(ours))
    p = float(away == 0) if scale == 0 else 2 * float(stdtr(len(ours) - 1, -away / scale))
    return Cell(name, printed, (mean, deviation), INSIDE if p >= LEVEL else f"outside ({chance(p)})", note, p)
