"""Means, squared deviations and scatter matrices of continuous features in groups of cases, for normal densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.column_blocks import map_row_blocks
from naivete.cases.base import Block
from naivete.encoding.discretization import FLOOR
from naivete.variables import Family

__all__ = ["Moments", "MomentsIn", "Scatter", "ScattersIn", "group_of_rows", "merged", "safe_ratio"]

FEW_GROUPS = 8
"""Up to this many groups are summed one after the other, more by their positions."""


class Moments(NamedTuple):
    """Sums of one column in each group: the weight of the cases in which it is observed, their mean, their squared deviations.

    >>> pair, single = Moments(*np.array([[2.0], [1.5], [0.5]])), Moments(*np.array([[1.0], [3.0], [0.0]]))
    >>> [float(part[0]) for part in pair.merged(single)]  # 1, 2 and 3
    [3.0, 2.0, 2.0]
    """

    weights: Numbers
    means: Numbers
    deviations: Numbers

    def merged(self, other: Moments) -> Moments:
        """Return the moments of the cases of both (Chan, Golub and LeVeque)."""
        total = self.weights + other.weights
        share = np.divide(other.weights, total, out=np.zeros_like(total), where=total > 0)
        apart = other.means - self.means
        means = np.where(self.weights > 0, self.means + apart * share, other.means)
        return Moments(total, means, self.deviations + other.deviations + apart**2 * self.weights * share)

    def summed(self) -> Moments:
        """Return the moments of the groups along the last axis together; the axis is kept with length one."""
        if not self.weights.ndim:
            return self
        total = self.weights.sum(axis=-1, keepdims=True)
        mean = safe_ratio((self.weights * self.means).sum(axis=-1, keepdims=True), total)
        with np.errstate(over="ignore"):
            within = self.deviations + self.weights * (self.means - mean) ** 2
        return Moments(total, mean, within.sum(axis=-1, keepdims=True))

    def means_and_variances(self) -> tuple[Numbers, Numbers]:
        """Return means and variances; where a group has too few cases, those of all groups along the last axis.

        A variance is at least a thousandth of that of all groups, or one where all cases have the same value.
        """
        n, mean, deviations = self.summed()
        whole = np.where(deviations > 0, safe_ratio(deviations, n), 1.0)
        least = np.where(deviations > 0, FLOOR * whole, whole)
        variances = np.maximum(safe_ratio(self.deviations, self.weights), least)
        return np.where(self.weights > 0, self.means, mean), np.where(self.weights > 1, variances, whole)

    def at(self, shape: tuple[int, ...], nodes: Any = slice(None)) -> Moments:
        """Return the moments in another shape, and of these some along the first axis."""
        weights, means, deviations = (part.reshape(shape)[nodes] for part in self)
        return Moments(weights, means, deviations)


@dataclass(frozen=True)
class MomentsIn:
    """The moments of some columns of a block in each configuration of discrete variables without missing values.

    Parameters
    ----------
    columns : the continuous features.
    given : the discrete variables.
    cards : the number of states of these.
    """

    columns: tuple[int, ...]
    given: Family
    cards: tuple[int, ...]

    def __call__(self, block: Block) -> list[Moments]:
        """Return the moments of each column."""
        group = group_of_rows(block, self.given, self.cards)
        with np.errstate(over="ignore", invalid="ignore"):  # values that are too large are refused by `Counts.moments`
            columns = _moments([block.codes[x] for x in self.columns], group, block.weight, int(np.prod(self.cards)))
        return [moments.at(self.cards) for moments in columns]


Sums = tuple[Numbers, Numbers, Numbers]
"""Weight, mean and squared deviations of each group and column."""


def _moments(columns: Sequence[NDArray[Any]], group: NDArray[np.intp], weight: Numbers | None, size: int) -> list[Moments]:
    """Return the moments of columns, computed for blocks of rows and merged in their order."""
    sums_of = _by_group if size <= FEW_GROUPS else _by_position
    blocks = map_row_blocks(
        columns, lambda rows, matrix: sums_of(matrix, group[rows], None if weight is None else weight[rows], size)
    )
    whole = reduce(Moments.merged, (Moments(*sums) for sums in blocks))
    return [Moments(*(part[:, j] for part in whole)) for j in range(len(columns))]


def _by_group(matrix: Numbers, group: NDArray[np.intp], weight: Numbers | None, size: int) -> Sums:
    """Return the sums of each group and column, one group after the other."""
    sums = np.zeros((3, size, matrix.shape[1]))
    for g in range(size):
        rows = np.flatnonzero(group == g)
        if len(rows):
            values = matrix if len(rows) == len(matrix) else matrix[rows]
            sums[:, g] = _of_rows(values, None if weight is None else weight[rows])
    return sums[0], sums[1], sums[2]


def _of_rows(values: Numbers, weight: Numbers | None) -> Sums:
    """Return weight, mean and squared deviations of each column."""
    weights = np.ones(len(values)) if weight is None else weight
    n, sums = np.full(values.shape[1], weights.sum()), weights @ values
    if np.isnan(sums).any():
        observed = ~np.isnan(values)
        n, values = (weights @ observed).astype(np.float64), np.where(observed, values, 0.0)
        means = safe_ratio(weights @ values, n)
        deviations = np.where(observed, values - means, 0.0)
    else:
        means = safe_ratio(sums, n)
        deviations = values - means
    return n, means, np.einsum("ij,ij,i->j", deviations, deviations, weights)


def _by_position(matrix: Numbers, group: NDArray[np.intp], weight: Numbers | None, size: int) -> Sums:
    """Return the sums of each group and column, one column after the other, where there are many groups."""
    sums = np.zeros((3, size, matrix.shape[1]))
    for j in range(matrix.shape[1]):
        observed = np.flatnonzero(~np.isnan(matrix[:, j]))
        values, groups = matrix[observed, j], group[observed]
        weights = np.ones(len(values)) if weight is None else weight[observed]
        n = np.bincount(groups, weights, size).astype(np.float64)
        means = safe_ratio(np.bincount(groups, values * weights, size), n)
        deviations = values - means[groups]
        sums[:, :, j] = n, means, np.bincount(groups, deviations * deviations * weights, size)
    return sums[0], sums[1], sums[2]


def safe_ratio(sums: NDArray[Any], n: Numbers) -> Numbers:
    """Return the quotient, 0 where the divisor is 0."""
    return np.asarray(np.divide(sums, n, out=np.zeros(n.shape), where=n > 0))


class Scatter(NamedTuple):
    """Sums of some columns in each group: the weight of the cases in which all are observed, means, and scatter matrix.

    >>> nothing = np.zeros((1, 2, 2))
    >>> one, two = (Scatter(np.ones(1), np.array([mean]), nothing) for mean in ([1.0, 2.0], [3.0, 0.0]))
    >>> one.merged(two).products.tolist()
    [[[2.0, -2.0], [-2.0, 2.0]]]
    """

    weights: Numbers  # (group)
    means: Numbers  # (group, column)
    products: Numbers  # (group, column, column)

    def merged(self, other: Scatter) -> Scatter:
        """Return the scatter of the cases of both."""
        total = self.weights + other.weights
        share = safe_ratio(other.weights, total)
        apart = other.means - self.means
        means = np.where(self.weights[:, None] > 0, self.means + apart * share[:, None], other.means)
        between = apart[:, :, None] * apart[:, None, :] * (self.weights * share)[:, None, None]
        return Scatter(total, means, self.products + other.products + between)

    def pooled(self) -> Scatter:
        """Return the scatter with one covariance matrix for all groups, around their own means, in proportion to their weight."""
        share = safe_ratio(self.weights, np.full(len(self.weights), self.weights.sum()))
        return Scatter(self.weights, self.means, share[:, None, None] * self.products.sum(axis=0))

    def shrunk(self, share: float | Numbers) -> Scatter:
        """Return the scatter with covariances reduced by a share, the same or one for each group; 1 makes columns independent."""
        kept = 1.0 - np.broadcast_to(share, self.weights.shape)[:, None, None]
        return Scatter(self.weights, self.means, np.where(np.eye(self.means.shape[1], dtype=bool), 1.0, kept) * self.products)

    def only(self, columns: Sequence[int]) -> Scatter:
        """Return the scatter of some of the columns."""
        chosen = list(columns)
        return Scatter(self.weights, self.means[:, chosen], self.products[:, chosen][:, :, chosen])


@dataclass(frozen=True)
class ScattersIn:
    """The scatter of sets of columns of a block in each configuration of discrete variables without missing values.

    Parameters
    ----------
    sets : the continuous features of each set.
    given : the discrete variables.
    cards : the number of states of these.
    """

    sets: tuple[tuple[int, ...], ...]
    given: Family
    cards: tuple[int, ...]

    def __call__(self, block: Block) -> list[Scatter]:
        """Return the scatter of each set."""
        group = group_of_rows(block, self.given, self.cards)
        with np.errstate(over="ignore", invalid="ignore"):
            return [self._scatter(block, columns, group) for columns in self.sets]

    def _scatter(self, block: Block, columns: tuple[int, ...], group: NDArray[np.intp]) -> Scatter:
        scatters = map_row_blocks(
            [block.codes[x] for x in columns],
            lambda rows, matrix: self._of_rows(matrix, group[rows], None if block.weight is None else block.weight[rows]),
        )
        return reduce(Scatter.merged, scatters)

    def _of_rows(self, matrix: Numbers, group: NDArray[np.intp], weight: Numbers | None) -> Scatter:
        size, d = int(np.prod(self.cards)), matrix.shape[1]
        weights, means, products = np.zeros(size), np.zeros((size, d)), np.zeros((size, d, d))
        observed = None if not np.isnan(matrix.sum()) else ~np.isnan(matrix).any(axis=1)
        for g in np.unique(group).tolist():
            rows = np.flatnonzero(group == g) if observed is None else np.flatnonzero(observed & (group == g))
            values, row_weights = matrix[rows], np.ones(len(rows)) if weight is None else weight[rows]
            weights[g] = row_weights.sum()
            means[g] = safe_ratio(row_weights @ values, np.full(d, weights[g]))
            values = values - means[g]
            products[g] = values.T @ (values if weight is None else values * row_weights[:, None])
        return Scatter(weights, means, products)


def group_of_rows(block: Block, given: Family, cards: tuple[int, ...]) -> NDArray[np.intp]:
    """Return the number of the configuration of some discrete variables in each row."""
    columns = [block.codes[v].astype(np.int64) for v in given]
    return np.ravel_multi_index(columns, cards) if columns else np.zeros(len(block), np.int64)


class Mergeable(Protocol):
    """Sums over some cases that can be merged with those over others."""

    def merged(self: M, other: M, /) -> M:
        """Return the sums over the cases of both."""


M = TypeVar("M", bound=Mergeable)


def merged(one: list[M], two: list[M]) -> list[M]:
    """Return the sums of two blocks together, column by column or set by set."""
    return [a.merged(b) for a, b in zip(one, two, strict=True)]
