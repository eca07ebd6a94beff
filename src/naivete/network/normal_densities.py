"""Densities estimated from moments, scatter matrices and points."""

from __future__ import annotations

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.counts.moments import Moments, Scatter, safe_ratio
from naivete.counts.points import Points
from naivete.network.densities import Kernel, Normal
from naivete.network.joint_density import SMALLEST_REST

__all__ = ["kernel", "linear", "normal"]


MOST_POINTS = 2048
"""The maximal number of points of a kernel density."""
SINGULAR = 1e-6
"""A column is a linear combination of others if its deviation from the best one is below this share of its deviation."""


def normal(moments: Moments) -> Normal:
    """Return the normal density of a feature in each group."""
    return Normal(*moments.means_and_variances())


def kernel(points: Points, moments: Moments) -> Kernel:
    """Return the kernel density around the training values of each class, with the bandwidth of Silverman's rule.

    A class without cases has the values of all classes. At most `MOST_POINTS` points are kept; neighbors are joined.

    References
    ----------
    John and Langley (1995), Estimating continuous distributions in Bayesian classifiers; Silverman (1986), Density estimation,
    section 3.4.2.
    """
    means, variances = moments.means_and_variances()
    some = points.fewer(MOST_POINTS) if len(points.values) else Points(np.zeros(1), np.ones((1, len(means))))
    n = some.weights.sum(axis=0)
    shares = np.where(n > 0, some.weights, some.weights.sum(axis=1, keepdims=True))
    cumulative = np.cumsum(shares / shares.sum(axis=0), axis=0)
    lower, upper = (some.values[np.minimum((cumulative < q - 1e-12).sum(axis=0), len(cumulative) - 1)] for q in (0.25, 0.75))
    deviation = np.sqrt(variances)
    spread = np.where(upper > lower, np.minimum(deviation, (upper - lower) / 1.34), deviation)
    widths = 0.9 * spread * np.maximum(n, 1.0) ** -0.2
    return Kernel(means=means, variances=variances, points=some.values, weights=shares / shares.sum(axis=0), widths=widths)


def linear(scatter: Scatter) -> Normal:
    """Return the density of the last column given the others, in each group: the regression by least squares.

    Parameters
    ----------
    scatter : the scatter of the continuous parents in increasing order, then of the feature itself.
    """
    alone = normal(Moments(scatter.weights, scatter.means[:, -1], scatter.products[:, -1, -1]))
    if scatter.means.shape[1] == 1:
        return alone
    slopes = np.stack([_slopes(products) for products in scatter.products])
    explained = np.einsum("gk,gk->g", slopes, scatter.products[:, :-1, -1])
    rest = safe_ratio(np.maximum(scatter.products[:, -1, -1] - explained, 0.0), scatter.weights)
    enough = scatter.weights > 1
    slopes = np.where(enough[:, None], slopes, 0.0)
    variances = np.where(enough, np.maximum(rest, SMALLEST_REST * alone.variances), alone.variances)
    return Normal(alone.means - np.einsum("gk,gk->g", slopes, scatter.means[:, :-1]), variances, slopes)


def _slopes(products: Numbers) -> Numbers:
    """Return the coefficients of the last column on the others; the smallest ones where they are not unique."""
    scale = np.sqrt(np.diagonal(products))
    scale = np.where(scale > 0, scale, 1.0)
    correlations = products / scale[:, None] / scale[None, :]
    return np.asarray(_solved(correlations[:-1, :-1], correlations[:-1, -1]) * scale[-1] / scale[:-1])


def _solved(correlations: Numbers, right: Numbers) -> Numbers:
    """Return the solution of a system of correlations; the smallest one where it is not unique."""
    try:
        lower = np.linalg.cholesky(correlations)
    except np.linalg.LinAlgError:
        lower = np.zeros((1, 1))
    if np.diagonal(lower).min() > SINGULAR:
        return np.asarray(np.linalg.solve(correlations, right))
    return np.asarray(np.linalg.pinv(correlations, rcond=SINGULAR**2, hermitian=True) @ right)
