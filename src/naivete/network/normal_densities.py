"""Densities estimated from moments, scatter matrices and points, and the joint normal density of all continuous features."""

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


MOST_POINTS = 2048
"""The maximal number of points of a kernel density."""
SINGULAR = 1e-6
"""A column is a linear combination of others if its deviation from the best one is below this share of its deviation."""
SMALLEST_REST = 1e-9
"""The smallest share of its variance that a feature keeps given others; smaller values are rounding errors."""


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


class Joint(NamedTuple):
    """The continuous features of a network as one joint normal density in each class."""

    features: tuple[int, ...]
    means: Numbers  # (class, feature)
    covariances: Numbers  # (class, feature, feature)

    def logs(self, values: Numbers, observed: Sequence[int]) -> Numbers:
        """Return the logarithms of the density of some of the features, the others marginalized.  # (row, class)

        Parameters
        ----------
        values : the values of the observed features.  # (row, feature)
        observed : the positions of these features in `features`.
        """
        some = list(observed)
        logs = np.empty((len(values), len(self.means)))
        for c, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            lower = _root(covariance[np.ix_(some, some)])
            distance = np.clip(np.linalg.solve(lower, (values - mean[some]).T), -FAR, FAR)
            _, log_determinant = np.linalg.slogdet(lower)
            logs[:, c] = -0.5 * (len(some) * np.log(2 * np.pi) + (distance * distance).sum(axis=0)) - log_determinant
        return logs


def _root(covariance: Numbers) -> Numbers:
    """Return a square root of a covariance matrix; if rounding errors make it singular, small eigenvalues are raised."""
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        return np.asarray(vectors * np.sqrt(np.maximum(values, SMALLEST_REST * values.max())))


def joint_of(network: Network) -> Joint:
    """Return the joint density in each class of the continuous features of a network; their only discrete parent is the class."""
    features = tuple(x for x in network.order if x in network.densities)
    position, classes = {x: i for i, x in enumerate(features)}, network.variables[CLASS].card
    means, covariances = np.zeros((classes, len(features))), np.zeros((classes, len(features), len(features)))
    for x, i in position.items():
        density = network.densities[x]
        parents = [position[p] for p in sorted(network.parents[x]) if p in position]
        slopes = np.broadcast_to(0.0 if density.slopes is None else density.slopes, (classes, len(parents)))
        means[:, i] = density.means + np.einsum("ck,ck->c", slopes, means[:, parents])
        with_others = np.einsum("ck,ckj->cj", slopes, covariances[:, parents, :])
        covariances[:, i, :], covariances[:, :, i] = with_others, with_others
        covariances[:, i, i] = density.variances + np.einsum("ck,ck->c", slopes, with_others[:, parents])
    return Joint(features, means, covariances)
