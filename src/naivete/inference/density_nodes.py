"""Quadrature of the densities of continuous features: values with weights that stand for all values of a feature."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from weakref import WeakKeyDictionary

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, quoted
from naivete.network.densities import Kernel
from naivete.network.joint_density import joint_of
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["check_class_densities", "density_tables"]

REACH = 9
"""The range of a normal density, in standard deviations on both sides of its mean."""
HALVES = 2
"""The panels of the quadrature in one standard deviation."""
NODES = 8
"""The nodes in each panel."""
MOST_PANELS = 400
"""The most panels for the kernel density of one class."""

_kernel_tables: WeakKeyDictionary[Kernel, Numbers] = WeakKeyDictionary()


def check_class_densities(network: Network, doing: str) -> None:
    """Raise an error if the density of a continuous feature depends on discrete features."""
    for x in network.densities:
        discrete = [p for p in network.parents[x] if p != CLASS and p not in network.densities]
        if discrete:
            raise DataError(
                f"network: {doing} is not possible where the density of {quoted(network.name(x))} depends on the discrete feature "
                f"{quoted(network.name(discrete[0]))}; discretize it (numbers='cut'), or use NaiveBayes or TAN"
            )


def density_tables(network: Network, values: Mapping[int, float]) -> dict[int, Numbers]:
    """Return P(node | observed, class) for the nodes of a quadrature of each unobserved continuous feature.  # (node, class)

    Sums over the nodes are integrals over the feature, exact to about 1e-9 for smooth functions of normal densities.

    Parameters
    ----------
    network : the network, in which densities depend on the class and on continuous features only.
    values : the observed values of continuous features, as codes.
    """
    hidden = [x for x in network.densities if x not in values]
    linked = any(density.slopes is not None for density in network.densities.values())
    normals = _conditional_normals(network, values) if linked and hidden else {}
    classes = network.variables[CLASS].card
    result = {}
    for x in hidden:
        density = network.densities[x]
        if isinstance(density, Kernel):
            result[x] = _kernel_table(density)
        else:
            means, variances = normals[x] if linked else (density.means, density.variances)
            result[x] = _normal_table(*(np.broadcast_to(array, classes) for array in (means, np.sqrt(variances))))
    return result


def _conditional_normals(network: Network, values: Mapping[int, float]) -> dict[int, tuple[Numbers, Numbers]]:
    """Return the means and variances in each class of the unobserved features, given the observed ones."""
    joint = joint_of(network)
    known = [i for i, x in enumerate(joint.features) if x in values]
    hidden = [i for i, x in enumerate(joint.features) if x not in values]
    differences = np.array([values[joint.features[i]] for i in known]) - joint.means[:, known]  # (class, known)
    within = joint.covariances[:, known][:, :, known]
    across = joint.covariances[:, hidden][:, :, known]
    slopes = across @ np.linalg.pinv(within, rcond=1e-12, hermitian=True)  # (class, hidden, known)
    means = joint.means[:, hidden] + np.einsum("chk,ck->ch", slopes, differences)
    total = np.diagonal(joint.covariances, axis1=1, axis2=2)[:, hidden]
    variances = np.maximum(total - np.einsum("chk,chk->ch", slopes, across), 1e-9 * total)
    return {joint.features[i]: (means[:, h], variances[:, h]) for h, i in enumerate(hidden)}


def _normal_table(means: Numbers, deviations: Numbers) -> Numbers:
    steps = np.linspace(-REACH, REACH, 2 * REACH * HALVES + 1)
    nodes, weights = _gauss((means[:, None] + deviations[:, None] * steps).ravel())
    distance = (nodes[:, None] - means) / deviations
    with np.errstate(under="ignore", over="ignore"):
        return _normalized(weights[:, None] * np.exp(-0.5 * distance * distance) / deviations)


def _kernel_table(density: Kernel) -> Numbers:
    """Return the table of a kernel density, which does not depend on other features and is computed once."""
    table = _kernel_tables.get(density)
    if table is None:
        nodes, weights = _gauss(np.concatenate([_occupied(density, c) for c in range(len(density.widths))]))
        with np.errstate(under="ignore"):
            table = _normalized(weights[:, None] * np.exp(density.logs(nodes, None)))
        _kernel_tables[density] = table
    return table


def _occupied(density: Kernel, c: int) -> Numbers:
    """Return the bounds of the intervals, as wide as the kernel, that are near a point of the class."""
    points, width = density.points[density.weights[:, c] > 0], float(density.widths[c])
    while True:
        reach = max(1, round(REACH * float(density.widths[c]) / width))
        cells = np.unique(np.floor(points / width)[:, None] + np.arange(-reach, reach + 2))
        if len(cells) <= MOST_PANELS:
            return np.asarray(cells * width)
        width *= 2


def _gauss(bounds: Numbers) -> tuple[Numbers, Numbers]:
    """Return the nodes and weights of Gauss-Legendre quadrature in the panels between neighboring bounds."""
    bounds = np.unique(bounds)
    nodes, weights = _legendre()
    half = np.diff(bounds)[:, None] / 2
    return (bounds[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()


@cache
def _legendre() -> tuple[Numbers, Numbers]:
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return nodes, weights


def _normalized(table: Numbers) -> Numbers:
    """Return the table with columns that sum to 1."""
    return np.asarray(table / table.sum(axis=0))
