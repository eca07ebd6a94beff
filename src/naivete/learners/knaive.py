"""k-naive classifiers: the features in which dependence cancels are held naive, the others are modelled jointly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts, feature_kinds, informative_features
from naivete.counts.information import dependence, relevance
from naivete.errors import ParameterError, quoted
from naivete.learners.balance import Balanced, balanced
from naivete.learners.derivatives import mean_weights
from naivete.learners.full import covariances
from naivete.learners.kdb import best
from naivete.learners.naive import naive
from naivete.learners.parameters import checked_count, checked_flag, is_integer
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Choice", "knaive", "knaive_choice", "knaive_structure"]


class Choice(NamedTuple):
    """The features that are held naive, and how that was found.

    Parameters
    ----------
    balanced : the set among all features, its weight, and whether it is certainly the best.
    weights : the weight of every feature, in bits.  # (feature, contrast)
    """

    balanced: Balanced
    weights: NDArray[np.float64]


def knaive(
    counts: Counts,
    *,
    k: int | None = None,
    strong: bool = False,
    conditional: Literal["dag", "all"] = "dag",
    average: Literal["logs", "ratios"] = "logs",
    max_parents: int | None = None,
    shared: bool = False,
    shrinkage: Any = 0.0,
    starts: int = 32,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """The k-naive classifier: k features depend on the class alone, the others on all before them.

    The k features are those whose dependence derivatives, on average over the cases, come closest to cancelling out. With all
    features it is naive Bayes, with none the full network. Weakly naive features may be parents of the others, strongly naive
    ones are nobody's.

    Parameters
    ----------
    counts : the training cases.
    k : how many features are held naive; by default as many as are best balanced, beside those that depend on nothing anyway.
    strong : whether naive features influence nothing.
    conditional : whether a derivative is conditional on the features before it, or on "all" others, as the thesis has it.
    average : the mean over the cases of the logarithms of the ratios, or the logarithm of the mean of the "ratios", as the thesis
        has it.
    max_parents : on how many others a feature may depend; by default on any number. For tables, where many make the counts thin.
    shared, shrinkage : as for `full`.
    starts, random_state : of the local search where there are too many features for the best set.
    smoothing, prior : as for `naive`.

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, section 2.2.
    """
    how = {"max_parents": max_parents, "shared": shared, "shrinkage": shrinkage, "smoothing": smoothing, "prior": prior}
    choice = knaive_choice(counts, k=k, conditional=conditional, average=average, starts=starts, random_state=random_state, **how)
    return knaive_on(counts, choice.balanced.features, strong=strong, **how)


def knaive_choice(
    counts: Counts,
    *,
    k: Any = None,
    conditional: str = "dag",
    average: str = "logs",
    starts: int = 32,
    random_state: int = 0,
    **how: Any,
) -> Choice:
    """The features that are held naive: the maximally balanced set of that size, or of any size."""
    if k is not None and (not is_integer(k) or not 0 <= k <= len(counts.features)):
        raise ParameterError(f"k={quoted(k)}: a whole number from 0 to the number of features, {len(counts.features)}, or None")
    whole = knaive_on(counts, (), strong=False, **how)
    plain = naive(counts, smoothing=how["smoothing"], prior=how["prior"])
    weights = mean_weights(counts, whole, plain, conditional=conditional, average=average)
    search = {"starts": starts, "random_state": random_state}
    return Choice(_any_size(weights, search) if k is None else balanced(weights, int(k), **search), weights)


def _any_size(weights: NDArray[np.float64], search: dict[str, int]) -> Balanced:
    """The best balanced set of those that weigh something, and all that weigh nothing, which depend on nothing anyway."""
    heavy = np.flatnonzero(weights.any(axis=1))
    found = balanced(weights[heavy], None, **search)
    features = sorted({*np.flatnonzero(~weights.any(axis=1)).tolist(), *heavy[list(found.features)].tolist()})
    return Balanced(tuple(features), found.weight, found.exact)


def knaive_on(
    counts: Counts,
    held: Collection[int],
    *,
    strong: bool,
    max_parents: int | None,
    shared: bool,
    shrinkage: Any,
    smoothing: object,
    prior: Sequence[float] | None,
) -> Network:
    """The network in which these features are held naive."""
    structure = knaive_structure(counts, held, strong=strong, max_parents=max_parents)
    return estimate(counts, structure, smoothing, prior=prior, scatter=covariances(counts, shared, shrinkage))


def knaive_structure(
    counts: Counts, held: Collection[int], *, strong: bool, max_parents: int | None = None
) -> dict[int, tuple[int, ...]]:
    """The class as parent of all; of the features that are not held, all before them too, those that are held first."""
    checked_flag(strong, "strong")
    most, told = checked_count(max_parents, "max_parents"), set(informative_features(counts))
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}
    if told <= set(held):
        return structure
    relevant, dependent = relevance(counts), dependence(counts)
    for features in feature_kinds(counts):
        own = [x for x in features if x in told]
        rest = sorted((x for x in own if x not in held), key=lambda x: -relevant[x])
        before = [] if strong else [x for x in own if x in held]
        for x in rest:
            parents = best(dependent[x], np.array(sorted(before), np.int64), len(before) if most is None else most)
            structure[x] = (*parents, CLASS)
            before.append(x)
    return structure
