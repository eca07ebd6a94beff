"""The joint normal density of all continuous features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.network.densities import FAR
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["SMALLEST_REST", "Joint", "joint_of"]

SMALLEST_REST = 1e-9
"""The smallest share of its variance that a feature keeps given others; smaller values are rounding errors."""


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
