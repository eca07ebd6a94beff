"""Tree augmented naive Bayes (TAN): the maximum spanning tree over the features, given the class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from naivete.counts.bias import Bias, joinable
from naivete.counts.counts import Counts, feature_kinds, informative_features
from naivete.counts.information import dependence, relevance
from naivete.errors import ParameterError, quoted
from naivete.learners.parameters import is_integer
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["tan"]


def tan(
    counts: Counts,
    *,
    root: int | None = None,
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the tree augmented network: every feature except the root has the class and one other feature as parents.

    The tree is the maximum spanning tree over I(X; Y | C), directed away from the root, which gives the network of this form with
    the largest likelihood if the informations are the plain ones. With corrected ones, features that have too few cases for each
    of their states have the class as only parent and no children. A feature of a single state becomes a child of the root, where
    it has no effect. Continuous features that are modeled by densities have a tree of their own.

    Parameters
    ----------
    counts : the training cases.
    root : the feature at the root of the tree; by default the one with the largest I(X; C).
    bias : "corrected" subtracts the bias of the informations, which prefers features with many states; "plain" does not.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    The class is the exclusive or of a and b; neither carries information about it alone:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> tan(Counts(cases)).arcs, tan(Counts(cases), root=1).arcs
    ([(0, 1)], [(1, 0)])

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, theorem 8.1; Friedman, Geiger and Goldszmidt (1997).
    """
    if root is not None and not _is_feature(root, counts.features):
        raise ParameterError(f"root={quoted(root)}: there are {len(counts.features)} features, the first is 0")
    weights, relevant = dependence(counts, bias=bias), relevance(counts, bias=bias)
    single = {x for x in counts.features if counts.variables[x].left_out} | {*np.flatnonzero(~joinable(counts, bias)).tolist()}
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(single, (CLASS,))}
    candidates = set(informative_features(counts))
    for kind in feature_kinds(counts):
        features = [x for x in kind if x not in single or x == root]
        if not features:
            continue
        informative = [x for x in features if x in candidates] or features
        top = root if root in features else max(informative, key=lambda x: relevant[x])
        parent = spanning_tree(weights, top, [x for x in informative if x != top])
        structure |= {x: (parent.get(x, top), CLASS) if x != top else (CLASS,) for x in features}
    return estimate(counts, structure, smoothing, prior=prior)


def _is_feature(root: object, features: range) -> bool:
    return is_integer(root) and root in features


def spanning_tree(weights: NDArray[np.float64], root: int, others: Sequence[int]) -> dict[int, int]:
    """Return the parent of each other node in the maximum spanning tree from a root (Prim); ties go to lower positions.

    >>> spanning_tree(np.array([[0, 3, 1], [3, 0, 2], [1, 2, 0.0]]), 0, [1, 2])
    {1: 0, 2: 1}
    """
    best = weights[root].copy()
    link = np.full(len(best), root)
    outside = np.zeros(len(best), bool)
    outside[list(others)] = True
    parent: dict[int, int] = {}
    for _ in others:
        x = int(np.argmax(np.where(outside, best, -np.inf)))
        parent[x] = int(link[x])
        outside[x] = False
        closer = outside & ((weights[x] > best) | ((weights[x] == best) & (x < link)))
        best[closer], link[closer] = weights[x][closer], x
    return parent
