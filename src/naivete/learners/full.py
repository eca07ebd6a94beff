"""The full classifier: given the class, every feature may depend on every other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts, feature_kinds
from naivete.counts.information import dependence
from naivete.counts.moments import FourthMoments, Scatter, ledoit_wolf
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
    """The network without independence: each feature depends on the class and on all features before it.

    On tables that is KDB with k = n - 1, the features in decreasing I(X; C). On numbers that are not cut it is one normal density
    of all of them in each class, the quadratic discriminant. A number and a column of states stay independent given the class.

    Parameters
    ----------
    counts : the training cases.
    shared : whether the classes share one covariance matrix of the numbers, which makes it the linear discriminant.
    shrinkage : by which share covariances are made smaller: 0 not at all, with 1 numbers are independent; "ledoit-wolf" finds the
        share for each class.
    smoothing, prior : as for `naive`.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, proposition 2.
    """
    change = covariances(counts, shared, shrinkage)
    return estimate(counts, full_structure(counts), smoothing, prior=prior, scatter=change)


def full_structure(counts: Counts) -> dict[int, tuple[int, ...]]:
    """All features before each as its parents: of columns of states in decreasing I(X; C), of numbers in their order."""
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
    """Scatter with covariances that are shared, shrunk or both."""

    shared: bool
    share: float | NDArray[np.float64]

    def __call__(self, scatter: Scatter) -> Scatter:
        """The changed scatter."""
        return (scatter.pooled() if self.shared else scatter).shrunk(self.share)


def covariances(counts: Counts, shared: Any, shrinkage: Any) -> Covariances | None:
    """What is to be done to the scatter of the numbers, None where nothing."""
    checked_flag(shared, "shared")
    share = _checked(shrinkage)
    numbers = tuple(x for x in counts.features if counts.variables[x].density)
    if not numbers or (not shared and share == 0.0):
        return None
    if share is not None:
        return Covariances(shared, share)
    (scatter,) = counts.scatters([numbers], (CLASS,))
    own = scatter.pooled() if shared else scatter
    lengths = counts.fold(FourthMoments(numbers, (CLASS,), counts.cards([CLASS]), own), add)
    if shared:
        whole = Scatter(own.weights.sum(keepdims=True), own.means[:1], own.products.sum(axis=0, keepdims=True))
        return Covariances(True, ledoit_wolf(whole, lengths.sum(keepdims=True)))
    return Covariances(False, ledoit_wolf(own, lengths))


def _checked(shrinkage: Any) -> float | None:
    """The share that is given, None where it is to be found."""
    if isinstance(shrinkage, str) and shrinkage == "ledoit-wolf":
        return None
    if not is_number(shrinkage) or not 0 <= shrinkage <= 1:
        raise ParameterError(f"shrinkage={quoted(shrinkage)}: a share between 0 and 1, or 'ledoit-wolf'")
    return float(shrinkage)
