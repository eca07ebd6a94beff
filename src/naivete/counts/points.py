"""Distinct values of continuous features and their weights: the points of kernel densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.cases.base import Block

__all__ = ["Points", "PointsIn"]


class Points(NamedTuple):
    """The distinct values of a column, increasing, and their weight in each class.  # (value), (value, class)"""

    values: Numbers
    weights: Numbers

    def merged(self, other: Points) -> Points:
        """Return the values of both."""
        return _points(np.concatenate([self.values, other.values]), np.concatenate([self.weights, other.weights]))

    def fewer(self, most: int) -> Points:
        """Return at most `most` points; neighbors are joined at their mean."""
        if len(self.values) <= most:
            return self
        starts = np.linspace(0, len(self.values), most, endpoint=False).astype(np.int64)
        weights = np.add.reduceat(self.weights, starts, axis=0)
        total = self.weights.sum(axis=1)
        return Points(np.add.reduceat(self.values * total, starts) / np.add.reduceat(total, starts), weights)


def _points(values: Numbers, weights: Numbers) -> Points:
    distinct, position = np.unique(values, return_inverse=True)
    sums = np.zeros((len(distinct), weights.shape[1]))
    np.add.at(sums, position, weights)
    return Points(distinct, sums)


@dataclass(frozen=True)
class PointsIn:
    """The distinct values of some columns of a block, and their weight in each class."""

    columns: tuple[int, ...]
    classes: int

    def __call__(self, block: Block) -> list[Points]:
        """Return the points of each column."""
        weight = np.ones(len(block)) if block.weight is None else block.weight
        by_class = np.zeros((len(block), self.classes))
        by_class[np.arange(len(block)), block.codes[-1].astype(np.int64)] = weight
        observed = [~np.isnan(block.codes[x]) for x in self.columns]
        return [_points(block.codes[x][rows], by_class[rows]) for x, rows in zip(self.columns, observed, strict=True)]
