"""Means and squared deviations of numeric columns in groups of cases: the statistics behind normal densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.cases.base import Block
from naivete.variables import Family

__all__ = ["Moments", "MomentsIn", "merged_moments"]

Numbers = NDArray[np.float64]


class Moments(NamedTuple):
    """Of one column in each group: the weight of the cases that know it, their mean, the sum of their squared deviations.

    >>> pair, single = Moments(*np.array([[2.0], [1.5], [0.5]])), Moments(*np.array([[1.0], [3.0], [0.0]]))
    >>> [float(part[0]) for part in pair.merged(single)]  # 1, 2 and 3
    [3.0, 2.0, 2.0]
    """

    weights: Numbers
    means: Numbers
    deviations: Numbers

    def merged(self, other: Moments) -> Moments:
        """The moments of the cases of both (Chan, Golub and LeVeque)."""
        total = self.weights + other.weights
        share = np.divide(other.weights, total, out=np.zeros_like(total), where=total > 0)
        apart = other.means - self.means
        means = np.where(self.weights > 0, self.means + apart * share, other.means)
        return Moments(total, means, self.deviations + other.deviations + apart**2 * self.weights * share)

    def summed(self) -> Moments:
        """The moments of the groups along the last axis together; the axis stays."""
        if not self.weights.ndim:
            return self
        total = self.weights.sum(axis=-1, keepdims=True)
        mean = _shared((self.weights * self.means).sum(axis=-1, keepdims=True), total)
        within = self.deviations + self.weights * (self.means - mean) ** 2
        return Moments(total, mean, within.sum(axis=-1, keepdims=True))

    def at(self, shape: tuple[int, ...], nodes: Any = slice(None)) -> Moments:
        """The moments in another shape, and of that some along the first axis."""
        weights, means, deviations = (part.reshape(shape)[nodes] for part in self)
        return Moments(weights, means, deviations)


@dataclass(frozen=True)
class MomentsIn:
    """The moments of some columns of a block in each configuration of some discrete ones, none of which is ever missing."""

    columns: tuple[int, ...]
    given: Family
    cards: tuple[int, ...]

    def __call__(self, block: Block) -> list[Moments]:
        """The moments of each column."""
        columns = [block.codes[v].astype(np.int64) for v in self.given]
        group = np.ravel_multi_index(columns, self.cards) if columns else np.zeros(len(block), np.int64)
        return [_moments(block.codes[x], group, block.weight, self.cards) for x in self.columns]


def _moments(column: NDArray[Any], group: NDArray[np.intp], weight: Numbers | None, cards: Sequence[int]) -> Moments:
    known = ~np.isnan(column)
    if not known.all():
        column, group, weight = column[known], group[known], None if weight is None else weight[known]
    size = int(np.prod(cards))
    n = np.bincount(group, weight, size).astype(np.float64)
    heavy = np.ones(1) if weight is None else weight
    means = _shared(np.bincount(group, column * heavy, size), n)
    apart = column - means[group]
    found = np.bincount(group, apart * apart * heavy, size).astype(np.float64)
    return Moments(n.reshape(cards), means.reshape(cards), found.reshape(cards))


def _shared(sums: NDArray[Any], n: Numbers) -> Numbers:
    return np.asarray(np.divide(sums, n, out=np.zeros(n.shape), where=n > 0))


def merged_moments(one: list[Moments], two: list[Moments]) -> list[Moments]:
    """The moments of the cases of two blocks, column by column."""
    return [a.merged(b) for a, b in zip(one, two, strict=True)]
