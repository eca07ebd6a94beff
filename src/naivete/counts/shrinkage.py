"""Shrinkage of correlations by the rule of Ledoit and Wolf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.cases.base import Block
from naivete.counts.moments import Scatter, group_of_rows, safe_ratio
from naivete.variables import Family

__all__ = ["FourthMoments", "ledoit_wolf"]


@dataclass(frozen=True, eq=False)
class FourthMoments:
    """The sum over the cases of each group of the fourth power of the length of their standardized values.

    Parameters
    ----------
    columns : the continuous features.
    given : the discrete variables whose configurations are the groups.
    cards : the number of states of these variables.
    scatter : the means and scatter matrices of the columns in each group.
    """

    columns: tuple[int, ...]
    given: Family
    cards: tuple[int, ...]
    scatter: Scatter

    def __call__(self, block: Block) -> Numbers:
        """Return the sums over the rows of a block.  # (group)"""
        group = group_of_rows(block, self.given, self.cards)
        matrix = np.stack([block.codes[x] for x in self.columns], axis=1) - self.scatter.means[group]
        squares = np.diagonal(self.scatter.products, axis1=1, axis2=2)
        variances = safe_ratio(squares, np.broadcast_to(self.scatter.weights[:, None], squares.shape))
        lengths = safe_ratio(matrix**2, variances[group]).sum(axis=1) ** 2
        observed = ~np.isnan(lengths)
        weighted = lengths[observed] if block.weight is None else lengths[observed] * block.weight[observed]
        return np.bincount(group[observed], weighted, len(self.scatter.weights)).astype(np.float64)


def ledoit_wolf(scatter: Scatter, lengths: Numbers) -> Numbers:
    """Return the share by which the correlations of each group should be reduced; 1 where nothing is known of them.

    Parameters
    ----------
    scatter : the scatter matrices of the groups.
    lengths : the sums of `FourthMoments`.

    References
    ----------
    Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, section 3.2; applied to
    standardized values, so that the target has the variances of the columns.
    """
    scale = np.sqrt(np.diagonal(scatter.products, axis1=1, axis2=2))
    correlations = safe_ratio(scatter.products, scale[:, :, None] * scale[:, None, :])
    squares = (correlations**2).sum(axis=(1, 2))
    distance = squares - (np.diagonal(correlations, axis1=1, axis2=2) ** 2).sum(axis=1)  # from the diagonal matrix
    n = np.maximum(scatter.weights, 1.0)
    noise = np.maximum(lengths / n - squares, 0.0) / n
    return np.asarray(np.where(distance > 0, np.minimum(noise / np.where(distance > 0, distance, 1.0), 1.0), 1.0))
