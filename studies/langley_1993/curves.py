"""What Langley (1993) says about two learning curves, decided by accuracies on the same pairs of training and test sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from naivete.evaluation.statistics import holm, paired_t
from studies.results import Cell
from studies.verdicts import INSIDE, LEVEL, NOT_REPRODUCED, REPRODUCED, UNDECIDED, Numbers, interval, outside, p_text

__all__ = ["Crossings", "Curves", "about", "crossing", "crossing_points", "crossings", "indistinguishable", "together"]

PAPER_PAIRS: Final = 20
"""The number of pairs in the paper."""
NEAR: Final = 2.0
"""An accuracy in words is reproduced within so many points."""
SAME_LEVEL: Final = 1.0
"""Two curves have the same level where the interval of their difference is within so many points."""
_RESAMPLED: Final = 2000


class Curves(NamedTuple):
    """The accuracies of naive Bayes and of the recursive classifier in per cent.

    Parameters
    ----------
    sizes : the numbers of training cases.
    scores : the accuracies.  # (pair, size, 2)
    """

    sizes: tuple[int, ...]
    scores: Numbers

    @property
    def differences(self) -> Numbers:
        """Recursive classifier minus naive Bayes.  # (pair, size)"""
        return np.asarray(self.scores[:, :, 1] - self.scores[:, :, 0])

    def first(self, pairs: int = PAPER_PAIRS) -> Curves:
        """Return the curves of the first pairs."""
        return Curves(self.sizes, self.scores[:pairs])

    def between(self, least: int, most: int) -> Numbers:
        """Return the mean difference of each pair over the sizes in this range."""
        chosen = [j for j, size in enumerate(self.sizes) if least <= size <= most]
        return np.asarray(self.differences[:, chosen].mean(axis=1))

    def at(self, size: int) -> Numbers:
        """Return the accuracies with so many training cases.  # (pair, 2)"""
        return self.scores[:, self.sizes.index(size)]


def about(name: str, printed: float, accuracies: Numbers) -> Cell:
    """Test whether the mean accuracy is near a value that the paper gives in words."""
    mean, half = interval(accuracies)
    distance = abs(mean - printed)
    verdict = REPRODUCED if distance <= NEAR else UNDECIDED if distance <= NEAR + half else NOT_REPRODUCED
    return Cell(name, f"about {printed:g}", (mean, half), verdict)


def together(name: str, curves: Curves, size: int) -> Cell:
    """Test the claim that the curves have the same level with so many cases."""
    differences = curves.differences[:, curves.sizes.index(size)]
    (mean, half), p = interval(differences), paired_t(differences).p
    same = abs(mean) + half <= SAME_LEVEL
    return Cell(name, "0", (mean, half), REPRODUCED if same else NOT_REPRODUCED if p < LEVEL else UNDECIDED, "", p)


def indistinguishable(name: str, curves: Curves) -> Cell:
    """Test the claim that the curves differ significantly at no number of cases (more pairs than the paper has may differ)."""
    p, few = (min(holm([paired_t(column).p for column in some.differences.T])) for some in (curves, curves.first()))
    note = f"the smallest p value, corrected by Holm; with {len(curves.first().scores)} pairs {p_text(few)}"
    return Cell(name, "no", "yes" if p < LEVEL else "no", NOT_REPRODUCED if p < LEVEL else REPRODUCED, note, p)


class Crossings(NamedTuple):
    """The number of training cases from which on the recursive classifier stays above.

    Parameters
    ----------
    point : the crossing of the mean curves, infinite where the recursive classifier is not above at the end.
    range : the central 95 % of the crossings of resampled experiments with all pairs.
    few : the crossings of resampled experiments with 20 pairs, increasing.
    """

    point: float
    range: tuple[float, float]
    few: Numbers


def crossing_points(sizes: Sequence[int], means: Numbers) -> Numbers:
    """Return the size from which on each curve of mean differences stays above zero; infinite where it does not.  # (curve)

    >>> crossing_points((2, 4, 8), np.array([[-1.0, 1.0, 2.0], [1.0, -1.0, 3.0], [1.0, 1.0, 0.0]])).tolist()
    [4.0, 8.0, inf]
    """
    staying = np.logical_and.accumulate(means[:, ::-1] > 0, axis=1)[:, ::-1]
    first = np.where(staying.any(axis=1), staying.argmax(axis=1), len(sizes))
    return np.array([*map(float, sizes), math.inf])[first]


def crossings(curves: Curves, seed: int = 0) -> Crossings:
    """Return where two curves cross, and where they cross in resampled experiments."""
    random, differences = np.random.default_rng(seed), curves.differences
    point = float(crossing_points(curves.sizes, differences.mean(axis=0)[None])[0])
    pairs = len(differences)
    drawn = [_resampled(random, curves, count) for count in (pairs, min(PAPER_PAIRS, pairs))]
    return Crossings(point, _central(drawn[0]), np.sort(drawn[1]))


def _resampled(random: np.random.Generator, curves: Curves, count: int) -> Numbers:
    """Return the crossings of experiments with so many pairs, drawn with replacement."""
    chosen = random.multinomial(count, np.full(len(curves.scores), 1 / len(curves.scores)), _RESAMPLED)
    return crossing_points(curves.sizes, chosen @ curves.differences)


def _central(values: Numbers) -> tuple[float, float]:
    low, high = np.quantile(values, (LEVEL / 2, 1 - LEVEL / 2), method="closest_observation").tolist()
    return low, high


def crossing(name: str, printed: tuple[int, int], ours: Crossings) -> Cell:
    """Test whether experiments with 20 pairs may cross in the printed range of training cases."""
    share = float(np.mean((ours.few >= printed[0]) & (ours.few <= printed[1])))
    note = (
        f"95 % of experiments with {PAPER_PAIRS} pairs cross at {_range(*_central(ours.few))} cases, "
        f"{100 * share:.0f} % of them at {_range(*printed)}; with all pairs at {_range(*ours.range)}"
    )
    return Cell(name, _range(*printed), f"{ours.point:g}", INSIDE if share >= LEVEL else outside(share), note, share)


def _range(low: float, high: float) -> str:
    """Return a range as text.

    >>> _range(8.0, 8.0), _range(3.0, math.inf)
    ('8', '3 to inf')
    """
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
