"""Means and squared deviations of numeric columns in groups of cases: the statistics behind normal densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.column_blocks import map_row_blocks
from naivete.cases.base import Block
from naivete.encoding.discretization import FLOOR
from naivete.variables import Family

__all__ = [
    "FourthMoments",
    "Moments",
    "MomentsIn",
    "Points",
    "PointsIn",
    "Scatter",
    "ScattersIn",
    "ledoit_wolf",
    "merged",
    "normal_dependence",
    "normal_relevance",
    "safe_ratio",
]


CLOSEST = 1 - 1e-12
"""The largest squared correlation; more is rounding."""


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
        mean = safe_ratio((self.weights * self.means).sum(axis=-1, keepdims=True), total)
        with np.errstate(over="ignore"):
            within = self.deviations + self.weights * (self.means - mean) ** 2
        return Moments(total, mean, within.sum(axis=-1, keepdims=True))

    def settled(self) -> tuple[Numbers, Numbers]:
        """Means and variances; where a group has too few cases to tell, those of all along the last axis.

        A variance is at least a thousandth of that of all, or one where all have the same value.
        """
        n, mean, deviations = self.summed()
        whole = np.where(deviations > 0, safe_ratio(deviations, n), 1.0)
        least = np.where(deviations > 0, FLOOR * whole, whole)
        own = np.maximum(safe_ratio(self.deviations, self.weights), least)
        return np.where(self.weights > 0, self.means, mean), np.where(self.weights > 1, own, whole)

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
        group = _groups(block, self.given, self.cards)
        with np.errstate(over="ignore", invalid="ignore"):  # what is too large is refused as a density
            size = int(np.prod(self.cards))
            found = _moments([block.codes[x] for x in self.columns], group, block.weight, size)
        return [own.at(self.cards) for own in found]


FEW_GROUPS = 8
"""Up to this many groups are gone through one after the other, more by adding at places."""


def _moments(columns: Sequence[NDArray[Any]], group: NDArray[np.intp], weight: Numbers | None, size: int) -> list[Moments]:
    """The moments of columns, strip by strip, each merged to those before it."""
    of = _by_group if size <= FEW_GROUPS else _by_place
    found = map_row_blocks(columns, lambda rows, strip: of(strip, group[rows], None if weight is None else weight[rows], size))
    n, means, deviations = (np.stack([part[i] for part in found]) for i in range(3))  # (strip, group, column)
    whole = Moments(n[0], means[0], deviations[0])
    for at in range(1, len(found)):
        whole = whole.merged(Moments(n[at], means[at], deviations[at]))
    return [Moments(*(part[:, j] for part in whole)) for j in range(len(columns))]


def _by_group(strip: Numbers, group: NDArray[np.intp], weight: Numbers | None, size: int) -> tuple[Numbers, Numbers, Numbers]:
    """Weight, mean and squared deviations of each group and column of a strip."""
    found = np.zeros((3, size, strip.shape[1]))
    for g in range(size):
        rows = np.flatnonzero(group == g)
        if len(rows):
            own = strip if len(rows) == len(strip) else strip[rows]
            found[:, g] = _of_rows(own, None if weight is None else weight[rows])
    return found[0], found[1], found[2]


def _of_rows(own: Numbers, weight: Numbers | None) -> tuple[Numbers, Numbers, Numbers]:
    """Weight, mean and squared deviations of each column."""
    heavy = np.ones(len(own)) if weight is None else weight
    n, sums = np.full(own.shape[1], heavy.sum()), heavy @ own
    if np.isnan(sums).any():
        known = ~np.isnan(own)
        n, own = (heavy @ known).astype(np.float64), np.where(known, own, 0.0)
        means = safe_ratio(heavy @ own, n)
        apart = np.where(known, own - means, 0.0)
    else:
        means = safe_ratio(sums, n)
        apart = own - means
    return n, means, np.einsum("ij,ij,i->j", apart, apart, heavy)


def _by_place(strip: Numbers, group: NDArray[np.intp], weight: Numbers | None, size: int) -> tuple[Numbers, Numbers, Numbers]:
    """The same where there are many groups."""
    found = np.zeros((3, size, strip.shape[1]))
    for j in range(strip.shape[1]):
        known = np.flatnonzero(~np.isnan(strip[:, j]))
        own, at = strip[known, j], group[known]
        heavy = np.ones(len(own)) if weight is None else weight[known]
        n = np.bincount(at, heavy, size).astype(np.float64)
        means = safe_ratio(np.bincount(at, own * heavy, size), n)
        apart = own - means[at]
        found[:, :, j] = n, means, np.bincount(at, apart * apart * heavy, size)
    return found[0], found[1], found[2]


def safe_ratio(sums: NDArray[Any], n: Numbers) -> Numbers:
    """The quotient, 0 where nothing was counted."""
    return np.asarray(np.divide(sums, n, out=np.zeros(n.shape), where=n > 0))


class Scatter(NamedTuple):
    """Of some columns in each group: the weight of the cases that know all of them, their means, and their scatter matrix.

    >>> nothing = np.zeros((1, 2, 2))
    >>> one, two = (Scatter(np.ones(1), np.array([mean]), nothing) for mean in ([1.0, 2.0], [3.0, 0.0]))
    >>> one.merged(two).products.tolist()
    [[[2.0, -2.0], [-2.0, 2.0]]]
    """

    weights: Numbers  # (group)
    means: Numbers  # (group, column)
    products: Numbers  # (group, column, column)

    def merged(self, other: Scatter) -> Scatter:
        """The scatter of the cases of both."""
        total = self.weights + other.weights
        share = safe_ratio(other.weights, total)
        apart = other.means - self.means
        means = np.where(self.weights[:, None] > 0, self.means + apart * share[:, None], other.means)
        between = apart[:, :, None] * apart[:, None, :] * (self.weights * share)[:, None, None]
        return Scatter(total, means, self.products + other.products + between)

    def pooled(self) -> Scatter:
        """With one covariance for all groups: that around their own means, in each in proportion to its weight."""
        share = safe_ratio(self.weights, np.full(len(self.weights), self.weights.sum()))
        return Scatter(self.weights, self.means, share[:, None, None] * self.products.sum(axis=0))

    def shrunk(self, share: float | Numbers) -> Scatter:
        """With covariances made smaller by a share, one for all groups or one for each; with 1 the columns are independent."""
        kept = 1.0 - np.broadcast_to(share, self.weights.shape)[:, None, None]
        return Scatter(self.weights, self.means, np.where(np.eye(self.means.shape[1], dtype=bool), 1.0, kept) * self.products)

    def only(self, columns: Sequence[int]) -> Scatter:
        """That of some of the columns."""
        own = list(columns)
        return Scatter(self.weights, self.means[:, own], self.products[:, own][:, :, own])


@dataclass(frozen=True)
class ScattersIn:
    """The scatter of some sets of columns of a block in each configuration of discrete ones that are never missing."""

    sets: tuple[tuple[int, ...], ...]
    given: Family
    cards: tuple[int, ...]

    def __call__(self, block: Block) -> list[Scatter]:
        """The scatter of each set."""
        group = _groups(block, self.given, self.cards)
        with np.errstate(over="ignore", invalid="ignore"):
            return [self._scatter(block, own, group) for own in self.sets]

    def _scatter(self, block: Block, columns: tuple[int, ...], group: NDArray[np.intp]) -> Scatter:
        found = map_row_blocks(
            [block.codes[x] for x in columns],
            lambda rows, strip: self._of_strip(strip, group[rows], None if block.weight is None else block.weight[rows]),
        )
        return reduce(Scatter.merged, found)

    def _of_strip(self, strip: Numbers, group: NDArray[np.intp], weight: Numbers | None) -> Scatter:
        size, d = int(np.prod(self.cards)), strip.shape[1]
        weights, means, products = np.zeros(size), np.zeros((size, d)), np.zeros((size, d, d))
        known = None if not np.isnan(strip.sum()) else ~np.isnan(strip).any(axis=1)
        for g in np.unique(group).tolist():
            rows = np.flatnonzero(group == g) if known is None else np.flatnonzero(known & (group == g))
            own, heavy = strip[rows], np.ones(len(rows)) if weight is None else weight[rows]
            weights[g] = heavy.sum()
            means[g] = safe_ratio(heavy @ own, np.full(d, weights[g]))
            own = own - means[g]
            products[g] = own.T @ (own if weight is None else own * heavy[:, None])
        return Scatter(weights, means, products)


@dataclass(frozen=True, eq=False)
class FourthMoments:
    """In each group the sum over the cases of the fourth power of the length of their standardised numbers."""

    columns: tuple[int, ...]
    given: Family
    cards: tuple[int, ...]
    scatter: Scatter

    def __call__(self, block: Block) -> Numbers:
        """The sums."""
        group = _groups(block, self.given, self.cards)
        matrix = np.stack([block.codes[x] for x in self.columns], axis=1) - self.scatter.means[group]
        sums = np.diagonal(self.scatter.products, axis1=1, axis2=2)
        variances = safe_ratio(sums, np.broadcast_to(self.scatter.weights[:, None], sums.shape))
        lengths = safe_ratio(matrix**2, variances[group]).sum(axis=1) ** 2
        known = ~np.isnan(lengths)
        heavy = lengths[known] if block.weight is None else lengths[known] * block.weight[known]
        return np.bincount(group[known], heavy, len(self.scatter.weights)).astype(np.float64)


def ledoit_wolf(scatter: Scatter, lengths: Numbers) -> Numbers:
    """By which share the correlations of each group are best made smaller; 1 where nothing is known of them.

    Parameters
    ----------
    scatter : of the groups.
    lengths : what `FourthMoments` finds.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, section 3.2; of standardised
    numbers, so that the target has the variances of the columns.
    """
    scale = np.sqrt(np.diagonal(scatter.products, axis1=1, axis2=2))
    correlations = safe_ratio(scatter.products, scale[:, :, None] * scale[:, None, :])
    squares = (correlations**2).sum(axis=(1, 2))
    apart = squares - (np.diagonal(correlations, axis1=1, axis2=2) ** 2).sum(axis=1)  # from the diagonal
    n = np.maximum(scatter.weights, 1.0)
    noise = np.maximum(lengths / n - squares, 0.0) / n
    return np.asarray(np.where(apart > 0, np.minimum(noise / np.where(apart > 0, apart, 1.0), 1.0), 1.0))


def normal_relevance(moments: Moments) -> float:
    """I(X; C) in bits of a number that is normal in each class, taken as normal over all too; at most H(C).

    >>> one = Moments(np.array([2.0, 2.0]), np.array([0.0, 2.0]), np.array([2.0, 2.0]))
    >>> normal_relevance(one)  # the variance falls from 2 to 1
    0.5
    """
    (_, variances), (n, _, deviations) = moments.settled(), moments.summed()
    if not deviations[0] > 0:
        return 0.0
    within = float(np.average(np.log2(variances), weights=moments.weights))
    shares = moments.weights[moments.weights > 0] / n[0]
    return min(max(0.0, 0.5 * (float(np.log2(deviations[0] / n[0])) - within)), float(-(shares * np.log2(shares)).sum()))


def normal_dependence(scatter: Scatter) -> Numbers:
    """I(X; Y | C) = -1/2 sum over c of P(c) log2(1 - rho_c^2), in bits, of all pairs of columns."""
    scale = np.sqrt(np.diagonal(scatter.products, axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, 1.0)
    rho = (scatter.products / scale[:, :, None] / scale[:, None, :]) ** 2
    shares = safe_ratio(scatter.weights, np.full(len(scatter.weights), scatter.weights.sum()))
    bits = -0.5 * np.einsum("g,gij->ij", shares, np.log2(1 - np.minimum(rho, CLOSEST)))
    np.fill_diagonal(bits, 0.0)
    return np.asarray(bits)


def _groups(block: Block, given: Family, cards: tuple[int, ...]) -> NDArray[np.intp]:
    columns = [block.codes[v].astype(np.int64) for v in given]
    return np.ravel_multi_index(columns, cards) if columns else np.zeros(len(block), np.int64)


class Points(NamedTuple):
    """The different values of a column, increasing, and their weight in each group.  # (value), (value, group)"""

    values: Numbers
    weights: Numbers

    def merged(self, other: Points) -> Points:
        """The values of both."""
        return _points(np.concatenate([self.values, other.values]), np.concatenate([self.weights, other.weights]))

    def fewer(self, most: int) -> Points:
        """At most so many, neighbours put together at their mean."""
        if len(self.values) <= most:
            return self
        starts = np.linspace(0, len(self.values), most, endpoint=False).astype(np.int64)
        weights = np.add.reduceat(self.weights, starts, axis=0)
        total = self.weights.sum(axis=1)
        return Points(np.add.reduceat(self.values * total, starts) / np.add.reduceat(total, starts), weights)


def _points(values: Numbers, weights: Numbers) -> Points:
    distinct, place = np.unique(values, return_inverse=True)
    found = np.zeros((len(distinct), weights.shape[1]))
    np.add.at(found, place, weights)
    return Points(distinct, found)


@dataclass(frozen=True)
class PointsIn:
    """The different values of some columns of a block, and their weight in each class."""

    columns: tuple[int, ...]
    classes: int

    def __call__(self, block: Block) -> list[Points]:
        """The values of each column."""
        heavy = np.ones(len(block)) if block.weight is None else block.weight
        every = np.zeros((len(block), self.classes))
        every[np.arange(len(block)), block.codes[-1].astype(np.int64)] = heavy
        known = [~np.isnan(block.codes[x]) for x in self.columns]
        return [_points(block.codes[x][own], every[own]) for x, own in zip(self.columns, known, strict=True)]


Mergeable = TypeVar("Mergeable", Moments, Scatter, Points)


def merged(one: list[Mergeable], two: list[Mergeable]) -> list[Mergeable]:
    """What was found in two blocks, column by column or set by set."""
    return [a.merged(b) for a, b in zip(one, two, strict=True)]
