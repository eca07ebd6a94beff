"""Printed differences between two methods with their paired t, beside ours, and whether sign and significance agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import stdtr

from naivete.evaluation.statistics import corrected_t, paired_t

__all__ = ["AGREES", "NOT_THERE", "SIGN_ONLY", "Pairing", "Pairings", "mark", "p_of", "paired"]

AGREES: Final = "agrees"
SIGN_ONLY: Final = "same sign, other significance"
OTHER_SIGN: Final = "other sign, one is noise"
OPPOSITE: Final = "opposite"
NOT_THERE: Final = "not printed"
LEVEL: Final = 0.05


@dataclass(frozen=True)
class Pairing:
    """A difference of two methods over the same divisions, printed and ours.

    Parameters
    ----------
    name : which data set, and which method is compared.
    printed_difference, printed_t, printed_mark : as printed, in points; None, None and "" where nothing is.
    difference, t, p : ours: the mean of the differences, and the paired t, which takes the divisions for independent.
    corrected, corrected_p : the t that Nadeau and Bengio correct for training sets that overlap.
    verdict : whether the paired t agrees with the printed one.
    """

    name: str
    printed_difference: float | None
    printed_t: float | None
    printed_mark: str
    difference: float
    t: float
    p: float
    corrected: float
    corrected_p: float
    verdict: str


@dataclass(frozen=True)
class Pairings:
    """Differences that belong together."""

    title: str
    pairs: tuple[Pairing, ...]


def mark(difference: float, p: float, level: float = LEVEL) -> str:
    """The sign of a difference that is significant, "" where it is not.

    >>> mark(-1.0, 0.01), mark(1.0, 0.01), mark(1.0, 0.2)
    ('-', '+', '')
    """
    return "" if p >= level or not difference else "-" if difference < 0 else "+"


def p_of(t: float, freedom: int) -> float:
    """The two-sided p of a printed t.

    >>> round(p_of(-2.045, 29), 3)
    0.05
    """
    return float(2 * stdtr(freedom, -abs(t)))


def paired(
    name: str,
    method: Sequence[float],
    base: Sequence[float],
    test_share: float,
    printed: tuple[float, float, str] | None = None,
) -> Pairing:
    """The scores of a method less those of a base, division by division, beside the printed difference, t and mark.

    >>> own = paired("x", [1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 1 / 3, (1.5, 2.9, ""))
    >>> round(own.t**2, 9), round(own.corrected**2, 9), own.verdict  # mean 2, variance 1, as for the two tests
    (12.0, 4.8, 'agrees')
    """
    differences = np.asarray(method, np.float64) - np.asarray(base, np.float64)
    mean = float(differences.mean())
    plain, corrected = paired_t(differences), corrected_t(differences, test_share)
    difference, t, own = printed or (None, None, "")
    verdict = NOT_THERE if difference is None else _verdict(difference, own, mean, mark(mean, plain.p))
    return Pairing(name, difference, t, own, mean, plain.statistic, plain.p, corrected.statistic, corrected.p, verdict)


def _verdict(printed: float, printed_mark: str, ours: float, our_mark: str) -> str:
    """Whether sign and significance agree; two differences that are both no more than noise agree whatever their signs."""
    if printed_mark == our_mark:
        return AGREES
    if printed_mark and our_mark:
        return OPPOSITE
    return SIGN_ONLY if printed * ours > 0 else OTHER_SIGN
