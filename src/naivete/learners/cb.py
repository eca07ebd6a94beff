"""CB: independence tests give an order of the variables, and K2 learns a network for it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from naivete.counts.counts import Counts, informative_features
from naivete.counts.family_scores import FamilyScores
from naivete.counts.independence import Statistic, data_independence, enough_cases, statistic_of
from naivete.counts.scores import Score, score_of
from naivete.learners.accuracy import correct
from naivete.learners.k2 import best_parents
from naivete.learners.parameters import checked_choice, checked_count, checked_flag
from naivete.learners.parent_limits import MaxParents, checked_limit
from naivete.learners.partial_graph import PartialGraph, Separators
from naivete.learners.skeleton import edges_at_once, remove_edges
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
    criterion: Score | str = "k2",
    stopping_rule: Literal["accuracy", "score"] = "accuracy",
    class_root: bool = True,
    partial_order: bool = False,
    max_order: int | None = 2,
    max_parents: MaxParents = "auto",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the network that K2 learns for an order of the variables found by independence tests.

    For order = 0, 1, 2, ...:

    1. Starting from the complete graph, remove the edges between variables that are independent given `order` neighbors.
    2. Orient the remaining edges: v-structures, the arcs that follow from them, then each open edge in the direction with the
       better score.
    3. Learn a network with K2 from a topological order of that graph.
    4. Stop if the network is not better than the last one.

    Parameters
    ----------
    counts : the training cases.
    alpha : the significance level of the tests; a larger one keeps more edges.
    test : "g" (likelihood ratio) or "chi2" (Pearson). With fewer than five cases for a cell, a test is skipped.
    criterion : the score of families, as for `k2`.
    stopping_rule : what makes a network better: "accuracy" on the training cases, as in the paper, or the "score" of the network.
    class_root : whether the class is first in the order and so has no parents; without it a network may fit better and classify
        worse.
    partial_order : whether K2 chooses parents only among the remaining neighbors, instead of all earlier variables.
    max_order : the largest number of neighbors to condition on; None for no limit.
    max_parents : the largest number of parents of a variable; "auto" for as many as leave one case for each cell of its table;
        None for no limit, as in the papers.
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
    checked_choice(stopping_rule, "stopping_rule", ("accuracy", "score"))
    for name, flag in (("class_root", class_root), ("partial_order", partial_order)):
        checked_flag(flag, name)
    checked_count(max_order, "max_order")
    checked_limit(max_parents)
    scores = FamilyScores(counts, score_of(criterion, "criterion"))
    independent = data_independence(counts, test=statistic_of(test), alpha=alpha)
    variables = [CLASS, *informative_features(counts)]
    at_once, enough = edges_at_once(counts, len(variables), "CB"), enough_cases(counts)
    graph, separators = PartialGraph.complete(variables), Separators()
    unrelated: Structure = {CLASS: (), **dict.fromkeys(counts.features, ())}
    best: _Candidate | None = None
    order = 0
    while max_order is None or order <= max_order:
        if not remove_edges(graph, order, independent, separators, enough, at_once) and order:
            break
        oriented = _oriented(graph, separators, scores, class_root)
        structure = {**unrelated, **_learned(oriented, scores, max_parents, class_root, partial_order)}
        if best is None or structure != best.structure:
            network = estimate(counts, structure, smoothing, prior=prior) if stopping_rule == "accuracy" else None
            value = correct(counts, network) if network is not None else scores.total(structure)
            if best is not None and value <= best.value:
                break
            best = _Candidate(value, structure, network)
        order += 1
    if best is None:
        best = _Candidate(0, unrelated, None)
    return best.network or estimate(counts, best.structure, smoothing, prior=prior)


class _Candidate(NamedTuple):
    """A structure, its accuracy or score, and its network where the accuracy needed it."""

    value: Fraction | float
    structure: Structure
    network: Network | None


def _oriented(graph: PartialGraph, separators: Separators, scores: FamilyScores, class_root: bool) -> PartialGraph:
    """Return the graph with all edges oriented: v-structures, the arcs that follow, then the direction with the better score."""
    result = graph.without_arcs()
    if class_root:
        result.arcs = {(CLASS, x) for x in result.adjacent[CLASS]}
    result.orient_v_structures(separators)
    result.propagate(eager=True)
    open_edges = [(a, b) for a, b in result.edges if not result.directed(a, b) and not result.directed(b, a)]
    parents = {v: result.parents(v) for v in result.variables}
    scores.prepare((v, parents[v], others) for v, others in _open_neighbors(open_edges).items())
    for a, b in open_edges:
        forward, backward = scores.gain(b, parents[b], a), scores.gain(a, parents[a], b)
        first, second = (a, b) if forward >= backward - scores.tolerance else (b, a)
        if not result.settle(first, second):
            result.settle(second, first)
    return result


def _open_neighbors(edges: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """Return for each variable those that it has an edge with."""
    neighbors: dict[int, list[int]] = {}
    for a, b in edges:
        neighbors.setdefault(a, []).append(b)
        neighbors.setdefault(b, []).append(a)
    return neighbors


def _learned(
    graph: PartialGraph, scores: FamilyScores, max_parents: MaxParents, class_root: bool, partial_order: bool
) -> Structure:
    """Return the parents that K2 finds along a topological order of the oriented graph."""
    order = graph.order()
    if class_root:
        order = [CLASS, *(v for v in order if v != CLASS)]
    return best_parents(scores, order, max_parents, allowed=graph.adjacent if partial_order else None)
