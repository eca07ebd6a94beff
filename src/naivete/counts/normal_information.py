"""Informations of continuous features that are normal in each class."""

from __future__ import annotations

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.counts.moments import Moments, Scatter, safe_ratio

__all__ = ["normal_dependence", "normal_relevance"]

LARGEST_CORRELATION = 1 - 1e-12
"""The largest squared correlation; values above it are rounding errors."""


def normal_relevance(moments: Moments) -> float:
    """Return I(X; C) in bits of a feature that is normal in each class and taken as normal over all cases; at most H(C).

    >>> one = Moments(np.array([2.0, 2.0]), np.array([0.0, 2.0]), np.array([2.0, 2.0]))
    >>> normal_relevance(one)  # the variance is reduced from 2 to 1
    0.5
    """
    (_, variances), (n, _, deviations) = moments.means_and_variances(), moments.summed()
    if not deviations[0] > 0:
        return 0.0
    within = float(np.average(np.log2(variances), weights=moments.weights))
    shares = moments.weights[moments.weights > 0] / n[0]
    return min(max(0.0, 0.5 * (float(np.log2(deviations[0] / n[0])) - within)), float(-(shares * np.log2(shares)).sum()))


def normal_dependence(scatter: Scatter) -> Numbers:
    """Return I(X; Y | C) = -1/2 sum over c of P(c) log2(1 - rho_c^2), in bits, of all pairs of columns."""
    scale = np.sqrt(np.diagonal(scatter.products, axis1=1, axis2=2))
    scale = np.where(scale > 0, scale, 1.0)
    squared = (scatter.products / scale[:, :, None] / scale[:, None, :]) ** 2
    shares = safe_ratio(scatter.weights, np.full(len(scatter.weights), scatter.weights.sum()))
    bits = -0.5 * np.einsum("g,gij->ij", shares, np.log2(1 - np.minimum(squared, LARGEST_CORRELATION)))
    np.fill_diagonal(bits, 0.0)
    return np.asarray(bits)
