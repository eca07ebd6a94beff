"""Verdicts: does a printed value differ from ours by more than sampling error, is it a misprint, does a claim hold?"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from naivete.evaluation.statistics import corrected_t, paired_t, welch
from studies.results import Cell, Claim, Pairing, Value

__all__ = [
    "claim",
    "compared",
    "confirmed",
    "interval",
    "mark",
    "one_sided",
    "outside",
    "p_of",
    "p_text",
    "paired",
    "recomputed",
    "value_text",
]

Numbers = NDArray[np.float64]

INSIDE: Final = "within sampling error"
NO_DEVIATION: Final = "no deviation printed"
REPRODUCED: Final = "reproduced"
NOT_REPRODUCED: Final = "not reproduced"
UNDECIDED: Final = "undecided"
MISPRINT: Final = "misprint"
NOT_PRINTED: Final = "not printed"
NOT_RUN: Final = "not run"
BY_BOTH: Final = "by both tests"
NOT_CONFIRMED: Final = "not confirmed"
AGREES: Final = "agrees"
OPPOSITE: Final = "opposite"

WELCH_LEVEL: Final = 0.01
"""Two printed and own means differ by more than sampling error where the p value of Welch's test is smaller."""
LEVEL: Final = 0.05
"""The level of all other tests."""


def p_text(p: float) -> str:
    """
    Return a p value as text.

    >>> p_text(0.01234), p_text(0.000001)
    ('p = 0.0123', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.3g}"


def value_text(value: Value, digits: int) -> str:
    """Return a value as text.

    >>> value_text((88.4, 10.5), 1), value_text(-0.4, 1), value_text("op", 1), value_text(None, 1)
    ('88.4 ± 10.5', '-0.4', 'op', '-')
    """
    if value is None or isinstance(value, str):
        return value or "-"
    if isinstance(value, tuple):
        return f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"
    return f"{value + 0.0:.{digits}f}"


def outside(p: float) -> str:
    """Return the verdict on a value that differs by more than sampling error."""
    return f"differs ({p_text(p)})"


def compared(
    name: str, printed: tuple[float, float], ours: tuple[float, float], *, folds: tuple[int, int] = (10, 10), note: str = ""
) -> Cell:
    """Compare two means with their deviations over so many folds by Welch's test.

    >>> compared("k = 0", (86.2, 1.9), (88.0, 1.6)).verdict, compared("k = 0", (86.2, 1.9), (91.0, 1.6)).verdict
    ('within sampling error', 'differs (p < 0.0001)')
    """
    p = welch(*printed, folds[0], *ours, folds[1]).p
    return Cell(name, printed, ours, INSIDE if p > WELCH_LEVEL else outside(p), note, p)


def recomputed(name: str, printed: Value, ours: Value, *, digits: int = 3, note: str = "") -> Cell:
    """Compare a value with what follows from other values of the same publication: a difference is a misprint.

    >>> recomputed("H", 0.918, 0.9183).verdict, recomputed("H", 0.735, 0.9449).verdict, recomputed("H", None, 0.5).verdict
    ('reproduced', 'misprint', 'not printed')
    """
    if printed is None:
        return Cell(name, printed, ours, NOT_PRINTED, note)
    same = value_text(printed, digits) == value_text(ours, digits)
    return Cell(name, printed, ours, REPRODUCED if same else MISPRINT, note)


def claim(name: str, better: ArrayLike, base: ArrayLike, test_share: float, printed: tuple[float, float], level: float) -> Claim:
    """Test the claim that a model is better than a base.

    Parameters
    ----------
    name : the claim.
    better, base : the accuracies in per cent of both on the same divisions.
    test_share : the share of the cases that each division tests on.
    printed : the printed difference and its p value.
    level : the level at which the publication calls a difference significant.

    >>> tested = claim("k = 1", [91.0, 92.0, 93.0], [90.0, 90.0, 90.0], 1 / 3, (7.7, 0.001), 0.1)
    >>> round(tested.plain_p, 4), round(tested.corrected_p, 4), tested.verdict  # mean 2, variance 1: t^2 = 12 and 4.8
    (0.0742, 0.1598, 'by the paired test only')
    """
    pair = paired(name, better, base, test_share)
    verdict = confirmed(pair.difference, pair.p, pair.corrected_p, level)
    return Claim(name, *printed, pair.difference, pair.p, pair.corrected_p, verdict)


def confirmed(difference: float, plain_p: float, corrected_p: float, level: float) -> str:
    """Return which of the two tests confirm that a difference is above zero.

    >>> confirmed(1.0, 0.01, 0.2, 0.05), confirmed(-1.0, 0.01, 0.02, 0.05)
    ('by the paired test only', 'not confirmed')
    """
    if difference <= 0 or plain_p >= level:
        return NOT_CONFIRMED
    return BY_BOTH if corrected_p < level else "by the paired test only"


def mark(difference: float, p: float) -> str:
    """Return the sign of a significant difference, "" for one that is not significant.

    >>> mark(-1.0, 0.01), mark(1.0, 0.01), mark(1.0, 0.2)
    ('-', '+', '')
    """
    return "" if p >= LEVEL or not difference else "-" if difference < 0 else "+"


def p_of(t: float, freedom: int) -> float:
    """Return the two-sided p value of a printed t.

    >>> round(p_of(-2.045, 29), 3)
    0.05
    """
    return float(2 * stdtr(freedom, -abs(t)))


def paired(
    name: str,
    method: ArrayLike,
    base: ArrayLike,
    test_share: float,
    printed: tuple[float, float, str] | None = None,
) -> Pairing:
    """Compare a method with a base on the same divisions, beside the printed difference, t and mark.

    >>> pair = paired("x", [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 1 / 3, (1.5, 2.9, ""))
    >>> round(pair.t**2, 9), round(pair.corrected_t**2, 9), pair.verdict  # mean 2, variance 1
    (12.0, 4.8, 'agrees')
    """
    differences = np.asarray(method, np.float64) - np.asarray(base, np.float64)
    mean = float(differences.mean())
    plain, corrected = paired_t(differences), corrected_t(differences, test_share)
    difference, t, printed_mark = printed or (None, None, "")
    verdict = NOT_PRINTED if difference is None else _agreement(difference, printed_mark, mean, mark(mean, plain.p))
    tests = plain.statistic, plain.p, corrected.statistic, corrected.p
    return Pairing(name, difference, t, printed_mark, mean, *tests, verdict)


def _agreement(printed: float, printed_mark: str, ours: float, our_mark: str) -> str:
    """Return whether sign and significance agree; two differences that are not significant agree whatever their signs."""
    if printed_mark == our_mark:
        return AGREES
    if printed_mark and our_mark:
        return OPPOSITE
    return "same sign, different significance" if printed * ours > 0 else "different sign, one is not significant"


def interval(values: Numbers) -> tuple[float, float]:
    """Return the mean and half the width of Student's 95 % interval.

    >>> mean, half = interval(np.array([1.0, 2.0, 3.0]))  # 4.303 sqrt(1/3)
    >>> mean, round(half, 3)
    (2.0, 2.484)
    """
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()), error * float(stdtrit(len(values) - 1, 1 - LEVEL / 2))


def one_sided(name: str, printed: Literal["above", "below"], differences: Numbers, few: Numbers | None = None) -> Cell:
    """Test the claim that one classifier is above or below another.

    Parameters
    ----------
    name : which differences.
    printed : the claim.
    differences : one for each pair of training and test sets.
    few : those of as many pairs as the paper has, where these are not all; their result becomes the note.
    """
    note = ""
    if few is not None:
        mean, half = interval(few)
        note = f"with {len(few)} pairs {mean:+.2f} ± {half:.2f}, {p_text(paired_t(few).p)}: {_side(few, printed)}"
    return Cell(name, printed, interval(differences), _side(differences, printed), note, paired_t(differences).p)


def _side(differences: Numbers, claimed: str) -> str:
    if paired_t(differences).p >= LEVEL:
        return UNDECIDED
    return REPRODUCED if (differences.mean() > 0) == (claimed == "above") else NOT_REPRODUCED
