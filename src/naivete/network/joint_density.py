"""The joint normal density of all continuous features."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
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
            covariance = covariance[np.ix_(some, some)]
            root = _cholesky(covariance)
            differences = values - mean[some]
            logs[:, c] = _by_root(differences, root) if root is not None else _by_eigenvalues(differences, covariance)
        return logs


def _cholesky(covariance: Numbers) -> Numbers | None:
    """Return the Cholesky root of a covariance matrix; None if rounding errors make the matrix singular.

    The order of the operations is that of the exported code, which LAPACK does not promise, so that their results have the same
    bits.
    """
    rest, root = covariance.copy(), np.zeros_like(covariance)
    for i in range(len(rest)):
        if not rest[i, i] > 0:
            return None
        root[i, i] = np.sqrt(rest[i, i])
        column = root[i + 1 :, i] = rest[i + 1 :, i] / root[i, i]
        rest[i + 1 :, i + 1 :] -= column[:, None] * column
    return root


def _by_root(differences: Numbers, root: Numbers) -> Numbers:
    """Return the log-densities of rows of differences from the mean, by the Cholesky root of the covariances."""
    rest, logs = differences.copy(), np.zeros(len(differences))
    for i, deviation in enumerate(np.diag(root).tolist()):
        distance = rest[:, i] / deviation
        rest[:, i + 1 :] -= distance[:, None] * root[i + 1 :, i]
        distance = np.clip(distance, -FAR, FAR)
        logs -= 0.5 * (log(2 * pi) + distance * distance) + log(deviation)
    return logs


def _by_eigenvalues(differences: Numbers, covariance: Numbers) -> Numbers:
    """Return the same if rounding errors make the covariances singular: small eigenvalues are raised."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, SMALLEST_REST * values.max()))
    distance = np.clip(np.linalg.solve(root, differences.T), -FAR, FAR)
    _, log_determinant = np.linalg.slogdet(root)
    constant = root.shape[0] * log(2 * pi)
    return np.asarray(-0.5 * (constant + (distance * distance).sum(axis=0)) - log_determinant)


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
