"""What Langley (1993) says about two curves, decided by the accuracies of both on the same pairs of training and test sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from naivete._kernels.codes import Numbers
from naivete.evaluation.statistics import holm, paired_t
from studies.verdicts import INSIDE, REPRODUCED, Cell, chance

__all__ = [
    "DRAWN",
    "LEVEL",
    "NOT_REPRODUCED",
    "UNDECIDED",
    "Crossings",
    "Curves",
    "about",
    "apart",
    "crossed",
    "crossing",
    "crossings",
    "indistinguishable",
    "interval",
    "together",
]


NOT_REPRODUCED: Final = "not reproduced"
UNDECIDED: Final = "undecided"
LEVEL: Final = 0.05
DRAWN: Final = 20
"""The number of pairs in the paper."""
NEAR: Final = 2.0
"""By how many points an accuracy may differ from one that the paper has in words."""
SAME: Final = 1.0
"""Two curves whose difference surely is less than so many points are at the same level."""
_RESAMPLED: Final = 2000


class Curves(NamedTuple):
    """The accuracies of naive Bayes and of the recursive classifier in per cent, pair by pair.

    Parameters
    ----------
    sizes : how many training cases.
    scores : the accuracies.  # (pair, size, 2)
    """

    sizes: tuple[int, ...]
    scores: Numbers

    @property
    def differences(self) -> Numbers:
        """What the recursive classifier has more.  # (pair, size)"""
        return np.asarray(self.scores[:, :, 1] - self.scores[:, :, 0])

    def first(self, pairs: int = DRAWN) -> Curves:
        """The same of the first pairs only."""
        return Curves(self.sizes, self.scores[:pairs])

    def between(self, least: int, most: int) -> Numbers:
        """The mean difference of each pair over the sizes in this range."""
        chosen = [j for j, size in enumerate(self.sizes) if least <= size <= most]
        return np.asarray(self.differences[:, chosen].mean(axis=1))

    def at(self, size: int) -> Numbers:
        """The accuracies with so many training cases.  # (pair, 2)"""
        return self.scores[:, self.sizes.index(size)]


def interval(values: Numbers) -> tuple[float, float]:
    """The mean and half the width of Student's 95 % interval.

    >>> mean, half = interval(np.array([1.0, 2.0, 3.0]))  # 4.303 sqrt(1/3)
    >>> mean, round(half, 3)
    (2.0, 2.484)
    """
    spread = float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()), spread * float(stdtrit(len(values) - 1, 1 - LEVEL / 2))


def about(name: str, printed: float, accuracies: Numbers) -> Cell:
    """An accuracy that the paper has in words, which ours is near, not near, or may be near."""
    mean, half = interval(accuracies)
    off = abs(mean - printed)
    verdict = REPRODUCED if off <= NEAR else UNDECIDED if off <= NEAR + half else NOT_REPRODUCED
    return Cell(name, f"about {printed:g}", (mean, half), verdict)


def apart(name: str, printed: Literal["above", "below"], many: Numbers, few: Numbers | None = None) -> Cell:
    """The claim that the recursive classifier lies above or below the other, from the differences of all pairs.

    Parameters
    ----------
    name : which differences.
    printed : the claim.
    many : the differences, one for each pair.
    few : those of as many pairs as the paper has, where these are not all; what they say becomes the note.
    """
    mean, half = interval(many)
    note = "" if few is None else _told(f"with {len(few)} pairs", few, printed)
    return Cell(name, printed, (mean, half), _side(many, printed), note, paired_t(many).p)


def _side(differences: Numbers, claimed: str) -> str:
    p = paired_t(differences).p
    if p >= LEVEL:
        return UNDECIDED
    return REPRODUCED if (differences.mean() > 0) == (claimed == "above") else NOT_REPRODUCED


def _told(pairs: str, differences: Numbers, claimed: str) -> str:
    mean, half = interval(differences)
    return f"{pairs} {mean:+.2f} ± {half:.2f}, {chance(paired_t(differences).p)}: {_side(differences, claimed)}"


def together(name: str, curves: Curves, size: int) -> Cell:
    """The claim that the curves are at the same level with so many cases."""
    differences = curves.differences[:, curves.sizes.index(size)]
    (mean, half), p = interval(differences), paired_t(differences).p
    surely = abs(mean) + half <= SAME
    return Cell(name, "0", (mean, half), REPRODUCED if surely else NOT_REPRODUCED if p < LEVEL else UNDECIDED, "", p)


def indistinguishable(name: str, curves: Curves) -> Cell:
    """The claim that no number of cases tells the curves apart, which more pairs than the paper has may well do."""
    p, few = (min(holm([paired_t(own).p for own in some.differences.T])) for some in (curves, curves.first()))
    note = f"the smallest p, by Holm; with {len(curves.first().scores)} pairs {chance(few)}"
    return Cell(name, "no", "yes" if p < LEVEL else "no", NOT_REPRODUCED if p < LEVEL else REPRODUCED, note, p)


class Crossings(NamedTuple):
    """Where curves cross: from which number of training cases on the recursive classifier stays above.

    Parameters
    ----------
    found : the crossing of the mean curves, infinite where the recursive classifier is not above at the end.
    sure : the central 95 % of the crossings of as many pairs, drawn again from these.
    few : the crossings of 20 pairs at a time, drawn from these, in increasing order.
    """

    found: float
    sure: tuple[float, float]
    few: Numbers

    def share(self, least: float, most: float) -> float:
        """How many of the experiments with 20 pairs have the crossing in this range."""
        return float(np.mean((self.few >= least) & (self.few <= most)))


def crossed(sizes: Sequence[int], means: Numbers) -> Numbers:
    """From which size on each curve of mean differences stays above zero; infinite where it does not.  # (curve)

    >>> crossed((2, 4, 8), np.array([[-1.0, 1.0, 2.0], [1.0, -1.0, 3.0], [1.0, 1.0, 0.0]])).tolist()
    [4.0, 8.0, inf]
    """
    staying = np.logical_and.accumulate(means[:, ::-1] > 0, axis=1)[:, ::-1]
    first = np.where(staying.any(axis=1), staying.argmax(axis=1), len(sizes))
    return np.array([*map(float, sizes), math.inf])[first]


def crossings(curves: Curves, seed: int = 0) -> Crossings:
    """Where two curves cross, and where they might with other pairs.

    Parameters
    ----------
    curves : the accuracies.
    seed : of the pairs that are drawn.
    """
    draw, differences = np.random.default_rng(seed), curves.differences
    found = crossed(curves.sizes, differences.mean(axis=0)[None])[0]
    drawn = [_again(draw, curves, count) for count in (len(differences), min(DRAWN, len(differences)))]
    low, high = np.quantile(drawn[0], (LEVEL / 2, 1 - LEVEL / 2), method="closest_observation").tolist()
    return Crossings(float(found), (low, high), np.sort(drawn[1]))


def _again(draw: np.random.Generator, curves: Curves, count: int) -> Numbers:
    """The crossings of so many pairs, drawn again and again."""
    chosen = draw.multinomial(count, np.full(len(curves.scores), 1 / len(curves.scores)), _RESAMPLED)
    return crossed(curves.sizes, chosen @ curves.differences)


def crossing(name: str, printed: tuple[int, int], found: Crossings) -> Cell:
    """The crossing beside the printed one, which 20 pairs may well have shown, or not.

    Parameters
    ----------
    name : which curves.
    printed : between which numbers of cases the paper has the crossing.
    found : ours.
    """
    share = found.share(*printed)
    told = f"{printed[0]}" if printed[0] == printed[1] else f"{printed[0]} to {printed[1]}"
    low, high = np.quantile(found.few, (LEVEL / 2, 1 - LEVEL / 2), method="closest_observation").tolist()
    note = (
        f"95 % of experiments with {DRAWN} pairs cross at {_range(low, high)} cases, {100 * share:.0f} % of them at {told}; "
        f"with all pairs at {_range(*found.sure)}"
    )
    return Cell(name, told, f"{found.found:g}", INSIDE if share >= LEVEL else f"outside ({chance(share)})", note, share)


def _range(low: float, high: float) -> str:
    """
    >>> _range(8.0, 8.0), _range(3.0, math.inf)
    ('8', '3 to inf')
    """
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
