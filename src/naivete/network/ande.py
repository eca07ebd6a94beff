"""Averaged n-dependence estimators: the joint counts of up to n + 1 features with the class, and probabilities from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Bools, Numbers
from naivete.network.smoothing import Lidstone, Smoothing, normalized, smoothed
from naivete.variables import CLASS, Family, Variables, family

__all__ = ["AnDE", "Subsumption", "ande_cells", "ande_families"]


class Subsumption(NamedTuple):
    """The pairs of values of two features, of which one value implies the other.

    Parameters
    ----------
    first, second : the features.
    drops_first, drops_second : whether the value of the first or of the second feature is implied.  # (state, state)
    """

    first: int
    second: int
    drops_first: Bools
    drops_second: Bools


@dataclass(frozen=True, eq=False)
class AnDE:
    """The counts of averaged n-dependence estimators, and how probabilities are estimated from them.

    Parameters
    ----------
    n : the number of feature parents of each model of the average.
    variables : the variables, the class last.
    features : the features that are used, those with more than one state.
    tables : the counts of each of the `ande_families`, the axes in increasing order, the class last.
    smoothing : how probabilities are estimated.
    prior : P(c) for every class; None for the relative frequencies.
    min_frequency : values are parents where they occur in at least this many cases.
    subsumption : a value implies another one where they occur together in all cases of the first, and there are at least
        `subsumption` of these; None for never.
    """

    n: int
    variables: Variables
    features: tuple[int, ...]
    tables: Mapping[Family, Numbers]
    smoothing: Smoothing
    prior: Numbers | None
    min_frequency: float
    subsumption: float | None

    def frequencies(self, parents: Family) -> Numbers:
        """Return how often the values of some features occur together.  # (state, ...)"""
        return np.asarray(self.tables[family(*parents, CLASS)].sum(axis=-1))

    def parent_probabilities(self, parents: Family) -> Numbers:
        """Return P(class, parents).  # (state, ..., class)

        A pseudo-count is added to every cell of the joint table, as in the papers. With another smoothing, or where a prior is
        given, this is P(class) P(parents | class), with the parents as one variable.
        """
        n = self.tables[family(*parents, CLASS)]
        if isinstance(self.smoothing, Lidstone) and self.prior is None:
            return normalized((n + self.smoothing.alpha).ravel(), 0).reshape(n.shape)
        classes = self._class_frequencies if self.prior is None else self.prior
        joined = n.reshape(-1, n.shape[-1])
        given_class = smoothed(joined, 0, [1], self.smoothing, self._class_frequencies, self._total)
        return np.asarray((given_class * classes).reshape(n.shape))

    def child_probabilities(self, parents: Family, child: int) -> Numbers:
        """Return P(child | parents, class); the axes are those of the family.  # (state, ..., class)"""
        members = family(*parents, child, CLASS)
        n, axis = self.tables[members], members.index(child)
        weakest = [a for a in reversed(range(n.ndim - 1)) if a != axis]
        return smoothed(n, axis, [*weakest, n.ndim - 1], self.smoothing, self._class_frequencies, self._total)

    @property
    def _total(self) -> float:
        return float(self.tables[CLASS,].sum())

    @property
    def _class_frequencies(self) -> Numbers:
        return normalized(self.tables[CLASS,], 0)

    def subsumptions(self) -> Iterator[Subsumption]:
        """Yield the pairs of features of which some value implies a value of the other.

        Where two values imply each other, that of the second feature is dropped.
        """
        if self.subsumption is None:
            return
        for x, y in combinations(self.features, 2):
            n = self.tables[x, y, CLASS]
            first, second = self.tables[x, CLASS][:, None], self.tables[y, CLASS]
            first_implies = (n == first).all(axis=-1) & (first.sum(axis=-1) >= self.subsumption)
            second_implies = (n == second).all(axis=-1) & (second.sum(axis=-1) >= self.subsumption)
            if first_implies.any() or second_implies.any():
                yield Subsumption(x, y, second_implies & ~first_implies, first_implies)


def ande_families(features: Sequence[int], n: int) -> list[Family]:
    """Return the families that are counted: up to n + 1 features with the class.

    >>> ande_families([0, 2], 1)
    [(-1,), (0, -1), (2, -1), (0, 2, -1)]
    """
    return [(*members, CLASS) for size in range(n + 2) for members in combinations(sorted(features), size)]


def ande_cells(cards: Sequence[int], classes: int, n: int) -> list[int]:
    """Return how many cells the tables of all sets of 0, 1, ..., n + 1 features with the class have together.

    Parameters
    ----------
    cards : the number of states of each feature.
    classes : the number of classes.
    n : the number of feature parents.

    >>> ande_cells([2, 3], 2, 1)
    [2, 10, 12]
    """
    cells = [classes] + [0] * (n + 1)
    for card in cards:
        for size in range(n + 1, 0, -1):
            cells[size] += card * cells[size - 1]
    return cells
