"""Shapley values of the families of a network: games of few features, whose values are tables.

The log odds of two classes are a sum over families, and Shapley values are linear, so the value of a feature is the sum of its
values in the games of the families that contain it. In the interventional game of a family, the features of a coalition have the
values of the row, and the others are drawn from the background, jointly and independently of the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import factorial
from typing import NamedTuple, Protocol

import numpy as np

from naivete import _kernels
from naivete._kernels.codes import Numbers, missing
from naivete._kernels.layout import Codes, Layout
from naivete.errors import DataError, quoted
from naivete.inference.certainty import discrete_part
from naivete.inference.junction import Evidence, JunctionTree
from naivete.network.densities import Kernel
from naivete.network.joint_density import joint_of
from naivete.network.network import Network

__all__ = ["Background", "Moments", "NetworkBackground", "RowsBackground", "family_values"]


class Moments(NamedTuple):
    """E[z] and E[z z'] of some continuous features in the background."""

    means: Numbers  # (feature,)
    products: Numbers  # (feature, feature)


class Background(Protocol):
    """The distribution from which the values of absent features are drawn."""

    def distributions(self, families: Sequence[tuple[int, ...]]) -> list[Numbers]:
        """Return the joint distribution of the members of each family, with an axis for each."""

    def moments(self, members: tuple[int, ...]) -> Moments:
        """Return the first and second moments of some continuous features."""

    def mean_logs(self, x: int) -> Numbers:
        """Return the mean of log f(x | class) of a continuous feature with a kernel density, for each class."""


def family_values(logs: Numbers, distribution: Numbers) -> tuple[Numbers, Numbers]:
    """Return the mean of a function of some features, and the Shapley value of each feature for every cell.

    Parameters
    ----------
    logs : the function, with an axis for each feature and one for the classes.
    distribution : the joint distribution of the features in the background.

    >>> mean, values = family_values(np.array([[[0.0], [4.0]], [[2.0], [6.0]]]), np.full((2, 2), 0.25))
    >>> mean.tolist(), values[:, 1, 1, 0].tolist()  # (class), (feature, ..., class)
    ([3.0], [1.0, 2.0])
    """
    members = range(distribution.ndim)
    games = {
        chosen: _expected(logs, distribution, chosen) for size in range(len(members) + 1) for chosen in combinations(members, size)
    }
    values = np.zeros((len(members), *logs.shape))
    for chosen, game in games.items():
        weight = _weight(len(chosen), len(members))
        for j in members:
            if j not in chosen:
                values[j] += weight * (games[tuple(sorted((*chosen, j)))] - game)
    return games[()].reshape(-1), values


def _weight(size: int, players: int) -> float:
    """Return the weight of a coalition of this size that a player joins."""
    return factorial(size) * factorial(players - size - 1) / factorial(players) if size < players else 0.0


def _expected(logs: Numbers, distribution: Numbers, chosen: tuple[int, ...]) -> Numbers:
    """Return the mean over the features that are not chosen; their axes have length one."""
    absent = tuple(a for a in range(distribution.ndim) if a not in chosen)
    weights = distribution.sum(axis=chosen, keepdims=True)
    return np.asarray((logs * weights[..., None]).sum(axis=absent, keepdims=True))


class NetworkBackground:
    """The distribution of the features in the network itself.

    Parameters
    ----------
    network : the network; columns that are computed from the row count as features.
    prior : P(class).
    """

    def __init__(self, network: Network, prior: Numbers) -> None:
        self.network = network
        self.prior = prior
        self.tree = JunctionTree(discrete_part(network))

    def distributions(self, families: Sequence[tuple[int, ...]]) -> list[Numbers]:
        """Return the joint distribution of the members of each family, with an axis for each."""
        return [self.tree.posterior(members, Evidence())[0] if members else np.ones(()) for members in families]

    def moments(self, members: tuple[int, ...]) -> Moments:
        """Return the moments of the mixture over the classes of the normal densities."""
        joint = joint_of(self.network)
        chosen = [joint.features.index(x) for x in members]
        means = joint.means[:, chosen]  # (class, feature)
        products = joint.covariances[:, chosen][:, :, chosen] + means[:, :, None] * means[:, None, :]
        return Moments(self.prior @ means, np.einsum("c,cij->ij", self.prior, products))

    def mean_logs(self, x: int) -> Numbers:
        """Return the mean over the points of the kernel density, in proportion to their shares in all classes."""
        density = self.network.densities[x]
        assert isinstance(density, Kernel)
        return np.asarray((density.weights @ self.prior) @ density.logs(density.points, ()))


class RowsBackground:
    """The empirical distribution of rows of codes.

    Parameters
    ----------
    network : the network.
    codes : one column for each feature of the network; a family uses the rows in which all its members are observed.
    """

    def __init__(self, network: Network, codes: Codes) -> None:
        self.network = network
        self.codes = codes

    def distributions(self, families: Sequence[tuple[int, ...]]) -> list[Numbers]:
        """Return the relative frequencies of the cells of each family, with an axis for each member."""
        layout = Layout(tuple(families), tuple(v.card for v in self.network.variables))
        nothing = np.zeros(len(self.codes[0]), np.uint8)  # in place of the class
        counts = _kernels.scatter([*self.codes, nothing], layout)
        return [self._frequencies(layout.table(counts, i), members) for i, members in enumerate(families)]

    def _frequencies(self, counts: Numbers, members: tuple[int, ...]) -> Numbers:
        total = counts.sum() if members else 1
        if not total:
            names = ", ".join(quoted(self.network.name(x)) for x in members)
            raise DataError(f"background: no row has observed values of {names}; add rows in which they are not missing")
        return np.asarray(counts / total if members else np.ones(()))

    def moments(self, members: tuple[int, ...]) -> Moments:
        """Return the mean values and mean products over the rows in which all members are observed."""
        rows = self._observed(members)
        return Moments(rows.mean(axis=0), rows.T @ rows / len(rows))

    def mean_logs(self, x: int) -> Numbers:
        """Return the mean over the rows in which the feature is observed."""
        return np.asarray(self.network.densities[x].logs(self._observed((x,))[:, 0], ()).mean(axis=0))

    def _observed(self, members: tuple[int, ...]) -> Numbers:
        rows: Numbers = np.stack([self.codes[x] for x in members], axis=1)
        rows = rows[~np.logical_or.reduce(missing(rows), axis=1)]
        self._frequencies(np.ones(len(rows)), members)
        return rows
