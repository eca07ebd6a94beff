"""Normal densities from moments and scatter matrices: families, informations, and what is left when numbers are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.counts.moments import Moments, Scatter, safe_ratio
from naivete.counts.points import Points
from naivete.network.densities import FAR, Kernel, Normal
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Joint", "joint_of", "kernel", "linear", "normal"]


MOST = 2048
"""How many points a sum of bells may have."""
OPEN = 1e-6
"""Columns of which less than this share of their deviation is their own are taken as a mixture of the others."""
LEFT = 1e-9
"""The least share of its variance that a number keeps when others are known; less is rounding."""


def normal(moments: Moments) -> Normal:
    """The density of a number in each group."""
    return Normal(*moments.means_and_variances())


def kernel(points: Points, moments: Moments) -> Kernel:
    """The sum of bells around the training values of each class, as wide as Silverman's rule has it.

    A class without cases has the values of all. At most `MOST` points are kept, neighbours together.

    References
    ----------
    John and Langley (1995), Estimating continuous distributions in Bayesian classifiers; Silverman (1986), Density estimation,
    section 3.4.2.
    """
    means, variances = moments.means_and_variances()
    some = points.fewer(MOST) if len(points.values) else Points(np.zeros(1), np.ones((1, len(means))))
    n = some.weights.sum(axis=0)
    shares = np.where(n > 0, some.weights, some.weights.sum(axis=1, keepdims=True))
    below = np.cumsum(shares / shares.sum(axis=0), axis=0)
    quarters = [some.values[np.minimum((below < q - 1e-12).sum(axis=0), len(below) - 1)] for q in (0.25, 0.75)]
    deviation = np.sqrt(variances)
    spread = np.where(quarters[1] > quarters[0], np.minimum(deviation, (quarters[1] - quarters[0]) / 1.34), deviation)
    widths = 0.9 * spread * np.maximum(n, 1.0) ** -0.2
    return Kernel(means=means, variances=variances, points=some.values, weights=shares / shares.sum(axis=0), widths=widths)


def linear(scatter: Scatter) -> Normal:
    """The density of the last column given the others, in each group: the regression by least squares.

    Parameters
    ----------
    scatter : of the numeric parents in increasing order, then the number itself.
    """
    alone = normal(Moments(scatter.weights, scatter.means[:, -1], scatter.products[:, -1, -1]))
    if scatter.means.shape[1] == 1:
        return alone
    slopes = np.stack([_slopes(products) for products in scatter.products])
    explained = np.einsum("gk,gk->g", slopes, scatter.products[:, :-1, -1])
    left = safe_ratio(np.maximum(scatter.products[:, -1, -1] - explained, 0.0), scatter.weights)
    enough = scatter.weights > 1
    slopes = np.where(enough[:, None], slopes, 0.0)
    variances = np.where(enough, np.maximum(left, LEFT * alone.variances), alone.variances)
    return Normal(alone.means - np.einsum("gk,gk->g", slopes, scatter.means[:, :-1]), variances, slopes)


def _slopes(products: Numbers) -> Numbers:
    """The coefficients of the last column on the others; of columns that say the same, the smallest ones."""
    scale = np.sqrt(np.diagonal(products))
    scale = np.where(scale > 0, scale, 1.0)
    correlations = products / scale[:, None] / scale[None, :]
    return np.asarray(_solved(correlations[:-1, :-1], correlations[:-1, -1]) * scale[-1] / scale[:-1])


def _solved(correlations: Numbers, right: Numbers) -> Numbers:
    """The solution of a system of correlations; the smallest where they leave it open."""
    try:
        lower = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        lower = np.zeros((1, 1))
    if np.diagonal(lower).min() > OPEN:
        return np.asarray(np.linalg.solve(correlations, right))
    return np.asarray(np.linalg.pinv(correlations, rcond=OPEN**2, hermitian=True) @ right)


class Joint(NamedTuple):
    """The numbers of a network as one normal density in each class."""

    numbers: tuple[int, ...]
    means: Numbers  # (class, number)
    covariances: Numbers  # (class, number, number)

    def logs(self, values: Numbers, known: Sequence[int]) -> Numbers:
        """The logarithms of the density of some of the numbers, the others left out.  # (row, class)"""
        own = list(known)
        found = np.empty((len(values), len(self.means)))
        for c, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            lower = _root(covariance[np.ix_(own, own)])
            away = np.clip(np.linalg.solve(lower, (values - mean[own]).T), -FAR, FAR)
            _, spread = np.linalg.slogdet(lower)
            found[:, c] = -0.5 * (len(own) * np.log(2 * np.pi) + (away * away).sum(axis=0)) - spread
        return found


def _root(covariance: Numbers) -> Numbers:
    """A square root of a covariance matrix; what rounding has made singular keeps a little of its variance."""
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, LEFT * values.max())))


def joint_of(network: Network) -> Joint:
    """The numbers of a network whose only discrete parent is the class, as one density in each class."""
    numbers = tuple(x for x in network.order if x in network.densities)
    at, classes = {x: i for i, x in enumerate(numbers)}, network.variables[CLASS].card
    means, covariances = np.zeros((classes, len(numbers))), np.zeros((classes, len(numbers), len(numbers)))
    for x, i in at.items():
        density = network.densities[x]
        above = [at[p] for p in sorted(network.parents[x]) if p in at]
        slopes = np.broadcast_to(0.0 if density.slopes is None else density.slopes, (classes, len(above)))
        means[:, i] = density.means + np.einsum("ck,ck->c", slopes, means[:, above])
        with_others = np.einsum("ck,ckj->cj", slopes, covariances[:, above, :])
        covariances[:, i, :], covariances[:, :, i] = with_others, with_others
        covariances[:, i, i] = density.variances + np.einsum("ck,ck->c", slopes, with_others[:, above])
    return Joint(numbers, means, covariances)
