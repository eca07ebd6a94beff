"""The full network: given the class, every feature may depend on every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts, feature_kinds
from naivete.counts.information import dependence
from naivete.counts.moments import Scatter
from naivete.counts.shrinkage import FourthMoments, ledoit_wolf
from naivete.errors import ParameterError, quoted
from naivete.learners.kdb import candidates
from naivete.learners.parameters import checked_flag, is_number
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["covariances", "full", "full_structure"]


def full(
    counts: Counts,
    *,
    shared: bool = False,
    shrinkage: Any = 0.0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the full network: each feature has the class and all features before it as parents.

    For discrete features this is KDB with k = n - 1, in decreasing order of I(X; C). For continuous features modeled by densities
    it is one multivariate normal density for each class, the quadratic discriminant. Discrete and continuous features are
    independent of each other given the class.

    Parameters
    ----------
    counts : the training cases.
    shared : whether all classes have one covariance matrix of the continuous features, which gives the linear discriminant.
    shrinkage : the share, from 0 to 1, by which covariances are reduced; with 1, continuous features are independent.
        "ledoit-wolf" estimates the share for each class.
    smoothing, prior : as for `naive`.

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a | b)), np.array([False, False]))
    >>> full(Counts(cases)).arcs
    [(0, 1)]

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, proposition 2.
    """
    return estimate(counts, full_structure(counts), smoothing, prior=prior, scatter=covariances(counts, shared, shrinkage))


def full_structure(counts: Counts) -> dict[int, tuple[int, ...]]:
    """Return the structure: discrete features in decreasing order of I(X; C), continuous ones in the order of the columns."""
    structure: dict[int, tuple[int, ...]] = {CLASS: ()}
    for features in feature_kinds(counts):
        if counts.variables[features[0]].density:
            structure |= {x: (*features[:i], CLASS) for i, x in enumerate(features)}
        else:
            parents = candidates(counts, dependence(counts), len(features) - 1)
            structure |= {x: (*parents[x], CLASS) for x in features}
    return structure


@dataclass(frozen=True, eq=False)
class Covariances:
    """A change to scatter matrices: covariances that are shared by the classes, shrunk, or both."""

    shared: bool
    share: float | NDArray[np.float64]

    def __call__(self, scatter: Scatter) -> Scatter:
        """Return the changed scatter."""
        return (scatter.pooled() if self.shared else scatter).shrunk(self.share)


def covariances(counts: Counts, shared: Any, shrinkage: Any) -> Covariances | None:
    """Return the change to the scatter of the continuous features, None where there is none."""
    checked_flag(shared, "shared")
    share = _checked_shrinkage(shrinkage)
    continuous = tuple(counts.continuous)
    if not continuous or (not shared and share == 0.0):
        return None
    if share is not None:
        return Covariances(shared, share)
    (scatter,) = counts.scatters([continuous], (CLASS,))
    used = scatter.pooled() if shared else scatter
    lengths = counts.fold(FourthMoments(continuous, (CLASS,), counts.cards([CLASS]), used), add)
    if shared:
        whole = Scatter(used.weights.sum(keepdims=True), used.means[:1], used.products.sum(axis=0, keepdims=True))
        return Covariances(True, ledoit_wolf(whole, lengths.sum(keepdims=True)))
    return Covariances(False, ledoit_wolf(used, lengths))


def _checked_shrinkage(shrinkage: Any) -> float | None:
    """Return the share, None for "ledoit-wolf"."""
    if isinstance(shrinkage, str) and shrinkage == "ledoit-wolf":
        return None
    if not is_number(shrinkage) or not 0 <= shrinkage <= 1:
        raise ParameterError(f"shrinkage={quoted(shrinkage)}: a share between 0 and 1, or 'ledoit-wolf'")
    return float(shrinkage)
