"""Forest augmented naive Bayes (FAN): the arcs of TAN that are significant."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts.bias import Bias, joinable
from naivete.counts.counts import Counts, informative_features
from naivete.counts.independence import checked_level
from naivete.counts.information import dependence, relevance
from naivete.learners.kdb import significant
from naivete.learners.tan import spanning_tree
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["fan"]


def fan(
    counts: Counts,
    *,
    alpha: float = 0.05,
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the forest augmented network: every feature has the class and at most one other feature as parents.

    The maximum spanning tree over I(X; Y | C) is directed away from the feature with the largest I(X; C), as in TAN. An arc stays
    where 2 N ln 2 I(X; Y | C), with the plain information, exceeds the chi-square quantile of the level; what remains is a forest,
    in the extreme naive Bayes.

    Parameters
    ----------
    counts : the training cases.
    alpha : the significance level of an arc; a smaller one keeps fewer arcs.
    bias : "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to
        features that have too few cases for each of their states; "plain" takes them as they are.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    The class is the exclusive or of a and b; d is independent of both:

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> d, a, b = (np.array([row >> place & 1 for row in range(64)], np.uint8) for place in range(3))
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abdc"), Block((a, b, d, a ^ b)), np.zeros(3, bool))
    >>> fan(Counts(cases)).arcs
    [(0, 1)]

    References
    ----------
    Lucas (2004), Restricted Bayesian network structure learning; Ziebart, Dey and Bagnell (2007), Learning selectively conditioned
    forest structures with applications to DBNs and classification.
    """
    checked_level(alpha)
    bits, relevant = dependence(counts, bias=bias), relevance(counts, bias=bias)
    allowed = joinable(counts, bias)
    features = [x for x in informative_features(counts) if allowed[x]]
    root = max(features, key=lambda x: relevant[x], default=0)
    tree = spanning_tree(bits, root, [x for x in features if x != root])
    forest = significant(counts, {x: [parent] for x, parent in tree.items()}, alpha, bias)
    return estimate(counts, {CLASS: (), **{x: (*forest.get(x, ()), CLASS) for x in counts.features}}, smoothing, prior=prior)
