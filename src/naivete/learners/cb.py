"""CB: independence tests give an order, K2 gives a network for it, as long as the networks get better."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from naivete.counts.counts import Counts, informative_features
from naivete.counts.independence import Statistic, data_independence, enough_cases, statistic_of
from naivete.counts.scores import FamilyScores, Score, score_of
from naivete.learners.accuracy import correct
from naivete.learners.k2 import best_parents
from naivete.learners.parameters import checked_choice, checked_count, checked_flag
from naivete.learners.partial_graph import PartialGraph, Separators, sparser
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["cb"]

Structure = dict[int, tuple[int, ...]]


def cb(
    counts: Counts,
    *,
    alpha: float = 0.1,
    test: Statistic | str = "g",
    score: Score | str = "k2",
    stop: Literal["accuracy", "score"] = "accuracy",
    class_root: bool = True,
    partial_order: bool = False,
    max_order: int | None = 2,
    max_parents: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """The network that K2 finds for an order of the variables which tests of independence suggest.

    Beginning with all variables adjacent, edges between variables that are independent given 0, 1, 2, ... neighbours are taken
    away. What is left is oriented: colliders, what they entail, and each open edge the way that scores higher. A topological
    order of that goes to K2. It goes on with larger sets of neighbours as long as the networks get better.

    Parameters
    ----------
    counts : the training cases.
    alpha : the level of the tests; more leaves more edges.
    test : "g" (likelihood ratio) or "chi2" (Pearson). Where there are fewer than five cases for a cell nothing is tested.
    score : the score of families, as for `k2`.
    stop : what better means: "accuracy" on the training cases, as the paper has it, or the "score" of the network.
    class_root : whether the class comes first in the order, and so has no parents; without it a network may fit better and
        classify worse.
    partial_order : whether K2 may choose parents only among the neighbours that the tests left, instead of all earlier variables.
    max_order : the most neighbours to condition on; None for any number.
    max_parents : how many parents a variable may have; by default any number.
    smoothing, prior : as for `naive`.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 20, np.uint8), np.array([0, 1, 0, 1] * 20, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> dict(cb(Counts(cases)).parents)
    {-1: (), 0: (-1,), 1: ()}

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 3; Singh and Valtorta (1995),
    Construction of Bayesian network structures from data.
    """
    checked_choice(stop, "stop", ("accuracy", "score"))
    for name, truth in (("class_root", class_root), ("partial_order", partial_order)):
        checked_flag(truth, name)
    for name, most in (("max_order", max_order), ("max_parents", max_parents)):
        checked_count(most, name)
    scores = FamilyScores(counts, score_of(score))
    independent = data_independence(counts, test=statistic_of(test), alpha=alpha)
    graph, separators = PartialGraph.complete([CLASS, *informative_features(counts)]), Separators()
    unrelated: Structure = {CLASS: (), **dict.fromkeys(counts.features, ())}
    best: _Found | None = None
    order = 0
    while max_order is None or order <= max_order:
        if not sparser(graph, order, independent, separators, enough_cases(counts)) and order:
            break
        oriented = _oriented(graph, separators, scores, class_root)
        structure = {**unrelated, **_learned(oriented, scores, max_parents, class_root, partial_order)}
        if best is None or structure != best.structure:
            network = estimate(counts, structure, smoothing, prior=prior) if stop == "accuracy" else None
            value = correct(counts, network) if network is not None else scores.total(structure)
            if best is not None and value <= best.value:
                break
            best = _Found(value, structure, network)
        order += 1
    if best is None:
        best = _Found(0, unrelated, None)
    return best.network or estimate(counts, best.structure, smoothing, prior=prior)


class _Found(NamedTuple):
    """A structure, how good it is, and its network where that was needed to tell."""

    value: Fraction | float
    structure: Structure
    network: Network | None


def _oriented(graph: PartialGraph, separators: Separators, scores: FamilyScores, class_root: bool) -> PartialGraph:
    """Every edge with a direction: colliders, what follows from them, then the way that scores higher."""
    own = graph.copy()
    if class_root:
        own.arcs = {(CLASS, x) for x in own.adjacent[CLASS]}
    own.collide(separators)
    own.propagate(eager=True)
    left = [(a, b) for a, b in own.edges if not own.directed(a, b) and not own.directed(b, a)]
    parents = {v: own.parents(v) for v in own.variables}
    scores.prepare((v, parents[v], u) for edge in left for v, u in (edge, edge[::-1]))
    for a, b in left:
        onwards, back = scores.gain(b, parents[b], a), scores.gain(a, parents[a], b)
        first, second = (a, b) if onwards >= back - scores.tolerance else (b, a)
        if not own.settle(first, second):
            own.settle(second, first)
    return own


def _learned(graph: PartialGraph, scores: FamilyScores, most: int | None, class_root: bool, partial_order: bool) -> Structure:
    """K2's parents along an order of the oriented graph."""
    order = graph.order()
    if class_root:
        order = [CLASS, *(v for v in order if v != CLASS)]
    return best_parents(scores, order, most, among=graph.adjacent if partial_order else None)
