"""What a reproduction says: printed and own figures side by side, a verdict on each, claims tested again, and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from naivete.evaluation.statistics import corrected_t, paired_t, welch
from studies.pairings import Pairings

__all__ = [
    "BY_BOTH",
    "CLAIMED",
    "INSIDE",
    "LEVEL",
    "MISPRINT",
    "NOT_PRINTED",
    "NOT_RUN",
    "NO_DEVIATION",
    "REPRODUCED",
    "Cell",
    "Claim",
    "Figure",
    "Remark",
    "Reproduction",
    "Sheet",
    "Value",
    "chance",
    "compared",
    "confirmed",
    "recomputed",
    "retested",
    "shown_value",
]

Value = float | tuple[float, float] | str | None
"""A number, a mean with its deviation, a word, or nothing."""

INSIDE: Final = "inside the noise"
NO_DEVIATION: Final = "no deviation printed"
REPRODUCED: Final = "reproduced"
MISPRINT: Final = "misprint"
NOT_PRINTED: Final = "not printed"
NOT_RUN: Final = "not run"
BY_BOTH: Final = "by both tests"

LEVEL: Final = 0.01
"""Two figures whose Welch test gives a smaller p than this differ by more than noise."""
CLAIMED: Final = 0.10
"""The level at which Sahami (1996) calls a difference significant."""


@dataclass(frozen=True)
class Cell:
    """A printed figure beside ours.

    Parameters
    ----------
    name : which figure it is.
    printed, ours : the figures; None where there is none.
    verdict : what may be said of the two, in a few words.
    note : what else a reader should know.
    p : how probable a difference as large is by chance, where that was tested.
    """

    name: str
    printed: Value
    ours: Value
    verdict: str
    note: str = ""
    p: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the printed one, where both are numbers."""
        printed, ours = _centre(self.printed), _centre(self.ours)
        return None if printed is None or ours is None else ours - printed


@dataclass(frozen=True)
class Sheet:
    """Some figures that belong together, shown with so many digits, and perhaps with their differences."""

    title: str
    cells: tuple[Cell, ...]
    digits: int = 1
    differences: bool = False


@dataclass(frozen=True)
class Claim:
    """A model that is said to be better than another, tested again.

    Parameters
    ----------
    name : the claim.
    printed_difference, printed_p : by how much it is better in print, in points, and the p of Welch's test on the printed
        means and deviations.
    difference : by how much the model is better in our run, in points; negative where it is worse.
    plain_p : of the paired t, which takes the folds for independent.
    corrected_p : of the t corrected by Nadeau and Bengio for training sets that overlap.
    verdict : which of the two tests confirm the claim.
    """

    name: str
    printed_difference: float
    printed_p: float
    difference: float
    plain_p: float
    corrected_p: float
    verdict: str


@dataclass(frozen=True)
class Remark:
    """Something to know beside the figures, and of which kind it is: a misprint, a stand-in, what the paper does not say."""

    kind: str
    text: str


@dataclass(frozen=True)
class Figure:
    """Curves of our own where the publication has a drawing.

    Parameters
    ----------
    title : the drawing.
    x, y : what the axes show.
    curves : for each curve its points: x, the mean, and half the width of its 95 % interval.
    """

    title: str
    x: str
    y: str
    curves: Mapping[str, tuple[tuple[float, float, float], ...]]


@dataclass(frozen=True)
class Reproduction:
    """A published experiment beside ours.

    Parameters
    ----------
    name : what `naivete reproduce` calls it.
    title : the publication.
    about : how it was run, a sentence each.
    sheets, claims, remarks : the figures, the claims and what else there is to know.
    summary : the outcome in a line.
    pairings : printed differences between methods beside ours.
    figures : drawings.
    claimed : what the claims say, for the heading of their table.
    claimed_level : at which level the publication calls a difference significant.
    """

    name: str
    title: str
    about: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    claims: tuple[Claim, ...]
    remarks: tuple[Remark, ...]
    summary: str
    pairings: tuple[Pairings, ...] = ()
    figures: tuple[Figure, ...] = ()
    claimed: str = "better than k = 0"
    claimed_level: float = CLAIMED

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The figures of all sheets."""
        return tuple(cell for sheet in self.sheets for cell in sheet.cells)


def compared(
    name: str, printed: tuple[float, float], ours: tuple[float, float], *, folds: tuple[int, int] = (10, 10), note: str = ""
) -> Cell:
    """Two means with their deviations over so many folds, and whether their difference is noise by Welch's test.

    >>> compared("k = 0", (86.2, 1.9), (88.0, 1.6)).verdict, compared("k = 0", (86.2, 1.9), (91.0, 1.6)).verdict
    ('inside the noise', 'outside (p < 0.0001)')
    """
    p = welch(*printed, folds[0], *ours, folds[1]).p
    return Cell(name, printed, ours, INSIDE if p > LEVEL else f"outside ({chance(p)})", note, p)


def recomputed(name: str, printed: Value, ours: Value, *, digits: int = 3, note: str = "") -> Cell:
    """A figure that follows from others in the same publication: where it differs in the printed digits, it is a misprint.

    >>> recomputed("H", 0.918, 0.9183).verdict, recomputed("H", 0.735, 0.9449).verdict, recomputed("H", None, 0.5).verdict
    ('reproduced', 'misprint', 'not printed')
    """
    if printed is None:
        return Cell(name, printed, ours, NOT_PRINTED, note)
    same = shown_value(printed, digits) == shown_value(ours, digits)
    return Cell(name, printed, ours, REPRODUCED if same else MISPRINT, note)


def retested(name: str, better: Sequence[float], base: Sequence[float], printed: Sequence[tuple[float, float]]) -> Claim:
    """The claim that a model is better than a base, from the scores in per cent of both on the same folds.

    Parameters
    ----------
    name : the claim.
    better, base : the scores of the model and of the base, fold by fold.
    printed : mean and deviation of the model and of the base, over ten folds.

    >>> claim = retested("k = 1", [91.0, 92.0, 93.0], [90.0, 90.0, 90.0], [(93.9, 1.3), (86.2, 1.9)])
    >>> round(claim.plain_p, 4), round(claim.corrected_p, 4), claim.verdict  # mean 2, variance 1: t^2 = 12 and 4.8
    (0.0742, 0.1598, 'by the plain test only')
    """
    differences = np.asarray(better, np.float64) - np.asarray(base, np.float64)
    plain, corrected = paired_t(differences), corrected_t(differences, 1 / len(differences))
    (mean, deviation), (base_mean, base_deviation) = printed
    own = welch(mean, deviation, 10, base_mean, base_deviation, 10).p
    verdict = confirmed(float(differences.mean()), plain.p, corrected.p)
    return Claim(name, mean - base_mean, own, float(differences.mean()), plain.p, corrected.p, verdict)


def confirmed(difference: float, plain: float, corrected: float, level: float = CLAIMED) -> str:
    """Which of the two tests confirm that a difference is above zero.

    >>> confirmed(1.0, 0.01, 0.2), confirmed(-1.0, 0.01, 0.02)
    ('by the plain test only', 'not confirmed')
    """
    if difference <= 0 or plain >= level:
        return "not confirmed"
    return BY_BOTH if corrected < level else "by the plain test only"


def chance(p: float) -> str:
    """A p value in words.

    >>> chance(0.01234), chance(0.000001)
    ('p = 0.0123', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.3g}"


def shown_value(value: Value, digits: int) -> str:
    """A value as text.

    >>> shown_value((88.4, 10.5), 1), shown_value(-0.4, 1), shown_value("op", 1), shown_value(None, 1)
    ('88.4 ± 10.5', '-0.4', 'op', '-')
    """
    if value is None or isinstance(value, str):
        return value or "-"
    if isinstance(value, tuple):
        return f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"
    return f"{value + 0.0:.{digits}f}"


def _centre(value: Value) -> float | None:
    if isinstance(value, tuple):
        return value[0]
    return None if value is None or isinstance(value, str) else value
