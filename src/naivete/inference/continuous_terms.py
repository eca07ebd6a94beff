"""Contributions of continuous features, modelled by normal and kernel densities, to the scores of the classes, in bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers, missing
from naivete.inference.elimination import Codes, missing_patterns
from naivete.inference.log_odds import BITS
from naivete.inference.shapley import Background
from naivete.network.densities import Kernel, Normal
from naivete.network.joint_density import joint_of
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["ContinuousTerms"]


class _Quadratic(NamedTuple):
    """The relative log-density of a family of continuous features: a quadratic function of the distances from the means.

    Parameters
    ----------
    members : the continuous features of the family.
    means : their means in the background.
    covariance : their covariance matrix in the background.
    linear : the coefficients of the distances.  # (class - 1, member)
    quadratic : the coefficients of the products of two distances.  # (class - 1, member, member)
    mean : the mean of the function in the background.  # (class - 1,)
    """

    members: tuple[int, ...]
    means: Numbers
    covariance: Numbers
    linear: Numbers
    quadratic: Numbers
    mean: Numbers

    def values(self, rows: Numbers) -> Numbers:
        """Return the Shapley values of the members.  # (row, member) -> (member, class - 1, row)

        In the game of a product of two distances, each of the two features gets half of what it adds alone and with the other.
        """
        distance = (rows - self.means).T  # (member, row)
        products = np.einsum("kij,jr->ikr", self.quadratic, distance) * distance[:, None]
        expected = np.einsum("kij,ij->ik", self.quadratic, self.covariance)
        return np.asarray(self.linear.T[:, :, None] * distance[:, None] + products - expected[:, :, None])


class ContinuousTerms:
    """The terms of the continuous features of a network.

    Parameters
    ----------
    network : the network.
    background : a function that returns the background; it is not called before a contribution of a feature is needed.
    """

    def __init__(self, network: Network, background: Callable[[], Background]) -> None:
        self.network = network
        self.background = background
        self.classes = network.variables[CLASS].card
        self.densities = {x: d for x, d in network.densities.items() if CLASS in network.parents[x]}
        self.linked = any(density.slopes is not None for density in network.densities.values())

    @cached_property
    def mean(self) -> Numbers:
        """The sum of the means of all terms in the background.  # (class - 1,)"""
        kernels = sum(self._kernel_means.values(), np.zeros(self.classes - 1))
        return np.asarray(sum((quadratic.mean for quadratic in self._quadratics.values()), kernels))

    def by_family(self, base: Numbers, parts: Numbers, codes: Codes, has_missing: Bools, position: Mapping[int, int]) -> None:  # noqa: ARG002
        """Add the relative log-density of each continuous feature given its parents."""
        for x, rows, terms in self._complete(codes, has_missing):
            parts[position[x]][:, rows] += terms
        self._add_joint(parts, codes, has_missing, position)

    def by_feature(self, base: Numbers, parts: Numbers, codes: Codes, has_missing: Bools, position: Mapping[int, int]) -> None:
        """Add the Shapley values of the continuous features; take the mean of a family with a missing member from the base."""
        for x, rows, terms in self._complete(codes, has_missing):
            mean = self._quadratics[x].mean if x in self._quadratics else self._kernel_means.get(x, np.zeros(self.classes - 1))
            rest = terms - mean[:, None]  # what is left for x itself
            if x in self._quadratics and len(self._quadratics[x].members) > 1:
                family = self._quadratics[x]
                values = family.values(np.stack([codes[m][rows] for m in family.members], axis=1))
                for m, value in zip(family.members, values, strict=True):
                    if m != x:
                        parts[position[m]][:, rows] += value
                        rest -= value
            parts[position[x]][:, rows] += rest
            absent = np.ones(base.shape[1], bool)
            absent[rows] = False
            base[:, absent] -= mean[:, None]
        self._add_joint(parts, codes, has_missing, position)

    def _complete(self, codes: Codes, has_missing: Bools) -> list[tuple[int, Integers, Numbers]]:
        """Return, for each feature, the rows in which its family is complete, and its terms there.  # (class - 1, row)"""
        used = np.ones(len(codes[0]), bool)
        if self._marginalized(has_missing):
            used = ~np.logical_or.reduce([missing(codes[x]) for x in self.network.densities])
        return [(x, *self._terms(codes, x, density, used)) for x, density in self.densities.items()]

    def _marginalized(self, has_missing: Bools) -> bool:
        """Return whether missing values of continuous features have to be marginalized, because others depend on them."""
        return self.linked and bool(has_missing[list(self.network.densities)].any())

    def _terms(self, codes: Codes, x: int, density: Normal, used: Bools) -> tuple[Integers, Numbers]:
        parents = [p for p in self.network.family(x) if p not in (x, CLASS)]
        absent = np.logical_or.reduce([missing(codes[m]) for m in (x, *parents)])
        rows = np.flatnonzero(used & ~absent)
        context = tuple(codes[p][rows].astype(np.int64) for p in parents if p not in self.network.densities)
        linked = [codes[p][rows] for p in parents if p in self.network.densities]
        regressors = np.stack(linked, axis=1)[:, None] if linked else None
        logs = density.logs(codes[x][rows][:, None], context, regressors) * BITS  # (row, class)
        return rows, np.ascontiguousarray((logs[:, 1:] - logs[:, :1]).T)

    def _add_joint(self, parts: Numbers, codes: Codes, has_missing: Bools, position: Mapping[int, int]) -> None:
        """Add log f(x | observed continuous features before x, class) where one of them is missing and others depend on it."""
        if not self._marginalized(has_missing):
            return
        joint = joint_of(self.network)
        for absent, rows in missing_patterns(codes, list(joint.features)):
            observed = [i for i, x in enumerate(joint.features) if x not in absent]
            before = np.zeros((self.classes - 1, len(rows)))
            for count in range(1, len(observed) + 1) if absent else ():
                some = observed[:count]
                logs = joint.logs(np.stack([codes[joint.features[i]][rows] for i in some], axis=1), some).T * BITS
                after = logs[1:] - logs[0]
                x = joint.features[some[-1]]
                if x in position:
                    parts[position[x]][:, rows] += after - before
                before = after

    @cached_property
    def _kernel_means(self) -> dict[int, Numbers]:
        kernels = [x for x, density in self.densities.items() if isinstance(density, Kernel)]
        logs = {x: self.background().mean_logs(x) * BITS for x in kernels}
        return {x: np.asarray(mean[1:] - mean[0]) for x, mean in logs.items()}

    @cached_property
    def _quadratics(self) -> dict[int, _Quadratic]:
        """The families of normal densities that depend on the class alone and on continuous features."""
        return {
            x: self._quadratic(x, density)
            for x, density in self.densities.items()
            if not isinstance(density, Kernel) and density.means.ndim == 1
        }

    def _quadratic(self, x: int, density: Normal) -> _Quadratic:
        members = tuple(sorted(m for m in self.network.family(x) if m in self.network.densities))
        moments = self.background().moments(members)
        covariance = moments.products - np.outer(moments.means, moments.means)
        slopes = np.zeros((self.classes, len(members)))  # of x minus its mean, as a function of the members
        slopes[:, members.index(x)] = 1.0
        if density.slopes is not None:
            slopes[:, [i for i, m in enumerate(members) if m != x]] = -density.slopes
        rest = density.means - slopes @ moments.means
        scale = BITS / density.variances
        constant = -0.5 * BITS * np.log(density.variances) - 0.5 * scale * rest**2
        linear = (scale * rest)[:, None] * slopes
        quadratic = -0.5 * scale[:, None, None] * slopes[:, :, None] * slopes[:, None, :]
        constant, linear, quadratic = (np.asarray(a[1:] - a[0]) for a in (constant, linear, quadratic))
        return _Quadratic(
            members, moments.means, covariance, linear, quadratic, constant + np.einsum("kij,ij->k", quadratic, covariance)
        )
