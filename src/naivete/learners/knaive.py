"""k-naive classifiers: features whose dependence cancels out are treated as independent, the others are modeled jointly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

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

__all__ = ["Choice", "balanced_set", "knaive", "knaive_choice", "knaive_on", "knaive_structure"]


class Choice(NamedTuple):
    """The naive features, and the weights that they were chosen by.

    Parameters
    ----------
    balanced : the set of features, its weight, and whether no better set exists for certain.
    weights : the weight of every feature, in bits.  # (feature, contrast)
    """

    balanced: Balanced
    weights: NDArray[np.float64]


def knaive(
    counts: Counts,
    *,
    k: int | None = None,
    strongly_naive: bool = False,
    max_parents: int | None = None,
    shared: bool = False,
    shrinkage: Any = 0.0,
    starts: int = 32,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the k-naive network: k features have the class as their only parent, the others all features before them too.

    The weight of a feature is the mean over the cases of log2 dd_+(x) / dd_-(x), where dd_c(x) = P(x | earlier features, c) /
    P(x | c) is its dependence derivative. The naive features are the set whose weights sum to nearly zero, so that treating them
    as independent changes the odds least. With all features naive this is naive Bayes, with none the full network.

    Parameters
    ----------
    counts : the training cases.
    k : the number of naive features; by default the best balanced set of any size, and all features of weight zero.
    strongly_naive : whether naive features are parents of no other feature; by default they may be (weakly naive).
    max_parents : the largest number of feature parents; None for no limit. Many parents make the counts of tables small.
    shared, shrinkage : as for `full`.
    starts, random_state : of the local search that is used where there are too many features for an exact one, see `balanced`.
    smoothing, prior : as for `naive`.

    Feature b repeats a, so that each is worth nothing beside the other; either may be naive:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, c = np.array([0, 0, 1, 1, 1, 0], np.uint8), np.array([0, 0, 0, 1, 1, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, a, c)), np.array([False, False]))
    >>> dict(knaive(Counts(cases), k=1).parents)
    {-1: (), 0: (-1,), 1: (0, -1)}

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, section 2.2.
    """
    settings = {"max_parents": max_parents, "shared": shared, "shrinkage": shrinkage, "smoothing": smoothing, "prior": prior}
    choice = knaive_choice(counts, k=k, starts=starts, random_state=random_state, **settings)
    return knaive_on(counts, choice.balanced.features, strongly_naive=strongly_naive, **settings)


def knaive_choice(counts: Counts, *, k: Any = None, starts: int = 32, random_state: int = 0, **settings: Any) -> Choice:
    """Return the features that `knaive` treats as naive, and the weights of all; `settings` are those of `knaive_on`."""
    full_network = knaive_on(counts, (), strongly_naive=False, **settings)
    naive_network = naive(counts, smoothing=settings["smoothing"], prior=settings["prior"])
    weights = mean_weights(counts, full_network, naive_network)
    return Choice(balanced_set(weights, k, starts=starts, random_state=random_state), weights)


def balanced_set(weights: NDArray[np.float64], k: Any = None, *, starts: int = 32, random_state: int = 0) -> Balanced:
    """Return the maximally balanced set of k features, given their weights.

    With k=None, the set has any size; the features of weight zero, which depend on nothing, are in it and do not count as a
    balanced set.  # weights: (feature, contrast)
    """
    features = len(weights)
    if k is not None:
        if not is_integer(k) or not 0 <= k <= features:
            raise ParameterError(f"k={quoted(k)}: a whole number from 0 to the number of features, {features}, or None")
        return balanced(weights, int(k), starts=starts, random_state=random_state)
    nonzero = np.flatnonzero(weights.any(axis=1))
    result = balanced(weights[nonzero], None, starts=starts, random_state=random_state)
    chosen = {*np.flatnonzero(~weights.any(axis=1)).tolist(), *nonzero[list(result.features)].tolist()}
    return Balanced(tuple(sorted(chosen)), result.weight, result.exact)


def knaive_on(
    counts: Counts,
    naive_features: Collection[int],
    *,
    strongly_naive: bool,
    max_parents: int | None,
    shared: bool,
    shrinkage: Any,
    smoothing: object,
    prior: Sequence[float] | None,
) -> Network:
    """Return the network with given naive features; the parameters are those of `knaive`."""
    structure = knaive_structure(counts, naive_features, strongly_naive=strongly_naive, max_parents=max_parents)
    return estimate(counts, structure, smoothing, prior=prior, scatter=covariances(counts, shared, shrinkage))


def knaive_structure(
    counts: Counts, naive_features: Collection[int], *, strongly_naive: bool, max_parents: int | None = None
) -> dict[int, tuple[int, ...]]:
    """Return the parents of every variable: the naive features come first, the others in decreasing I(X; C)."""
    checked_flag(strongly_naive, "strongly_naive")
    limit, informative = checked_count(max_parents, "max_parents"), set(informative_features(counts))
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}
    if informative <= set(naive_features):
        return structure
    relevant, dependent = relevance(counts), dependence(counts)
    for kind in feature_kinds(counts):
        features = [x for x in kind if x in informative]
        others = sorted((x for x in features if x not in naive_features), key=lambda x: -relevant[x])
        earlier = [] if strongly_naive else [x for x in features if x in naive_features]
        for x in others:
            parents = best(dependent[x], np.array(sorted(earlier), np.int64), len(earlier) if limit is None else limit)
            structure[x] = (*parents, CLASS)
            earlier.append(x)
    return structure
