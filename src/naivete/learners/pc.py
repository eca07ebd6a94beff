"""PC: a graph from independence tests on data, or from a d-separation oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np

from naivete._kernels.codes import Bools, Integers
from naivete.counts.counts import Counts, informative_features
from naivete.counts.independence import EnoughCases, Independence, Statistic, data_independence, enough_cases, statistic_of
from naivete.learners.copies import copies, warn_about_copies
from naivete.learners.costs import ROUND_TESTS
from naivete.learners.k2 import class_last
from naivete.learners.parent_limits import MaxParents, ParentLimit, checked_limit, limited
from naivete.learners.partial_graph import PartialGraph, Separators, extended
from naivete.learners.skeleton import edges_at_once, most_tests, remove_edges
from naivete.network.estimation import estimate
from naivete.network.graphs import d_separated
from naivete.network.network import Network, Structure
from naivete.variables import CLASS

__all__ = ["MaxOrder", "oracle", "pc", "pc_graph"]

MaxOrder = int | Literal["auto"] | None
"""A number of neighbors, None for any number, or "auto": as many as take at most `ROUND_TESTS` tests."""


def pc(
    counts: Counts,
    *,
    alpha: float = 0.05,
    test: Statistic | str = "g",
    max_order: MaxOrder = "auto",
    max_parents: MaxParents = "auto",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the network whose structure is found by independence tests.

    The skeleton: starting from the complete graph, an edge is removed if its ends are independent given 0, 1, 2, ... of their
    neighbors. Then v-structures are oriented, then the arcs that follow from them by Meek's rules. The remaining edges are oriented
    so that no new v-structure arises.

    A copy of a feature would make both independent of all others, the class included, since each is independent of them given the
    other. So copies take no part in the tests: their only parent is the first of them, and a warning
    names those that chance does not explain.

    Parameters
    ----------
    counts : the training cases.
    alpha : the significance level of the tests; a larger one keeps more edges.
    test : "g" (likelihood ratio) or "chi2" (Pearson). With fewer than five cases for a cell, a test is skipped.
    max_order : the largest number of neighbors to condition on; None for no limit; "auto" for 0 and 1, and for more as long as
        each number takes at most a million tests: one for each set of this size of neighbors of either end of an edge with enough
        cases.
    max_parents : the largest number of parents of a variable; "auto" for as many as leave one case for each cell of its table;
        None for no limit. The strongest parents are kept, and the other arcs are reversed or left out.
    smoothing, prior : as for `naive`.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 20, np.uint8), np.array([0, 1, 0, 1] * 20, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a & b)), np.array([False, False]))
    >>> dict(pc(Counts(cases)).parents)
    {-1: (0, 1), 0: (), 1: ()}

    References
    ----------
    Spirtes, Glymour and Scheines (1993), Causation, prediction and search; Jensen and Nielsen (2007), exercise 8.1; Colombo and
    Maathuis (2014), for neighbors that are fixed at the beginning of each round; Dor and Tarsi (1992), for the orientation.
    """
    checked_limit(max_order, "max_order")
    checked_limit(max_parents)
    independent = data_independence(counts, test=statistic_of(test), alpha=alpha)
    features = informative_features(counts)
    copied = copies(counts, features)
    warn_about_copies(counts, copied, "PC gives a copy no other parent than that feature, and no influence on the class")
    tested = [CLASS, *(x for x in features if x not in copied)]
    at_once = edges_at_once(counts, len(tested), "PC")
    graph = pc_graph(tested, independent, max_order=max_order, enough=enough_cases(counts), at_once=at_once)
    parents: dict[int, tuple[int, ...]] = {**dict.fromkeys(counts.features, ()), **extended(graph)}
    parents = limited(counts, parents, ParentLimit(counts, max_parents))
    parents |= {copy: (first,) for copy, first in copied.items()}
    return estimate(counts, {v: class_last(family) for v, family in sorted(parents.items())}, smoothing, prior=prior)


def pc_graph(
    variables: Iterable[int],
    independent: Independence,
    *,
    max_order: MaxOrder = None,
    enough: EnoughCases | None = None,
    at_once: int | None = None,
) -> PartialGraph:
    """Return the partially directed graph of some variables: arcs where the independences determine them, edges elsewhere.

    Parameters
    ----------
    variables : the variables.
    independent : the independence test, from data or from an `oracle`.
    max_order : the largest number of neighbors to condition on, as for `pc`.
    enough : the rule which tests have enough cases; by default all.
    at_once : how many edges are tested together; by default all.

    >>> graph = pc_graph([0, 1, 2], oracle({0: (), 1: (), 2: (0, 1)}))
    >>> sorted(graph.arcs)
    [(0, 2), (1, 2)]
    """
    graph, separators = PartialGraph.complete(variables), Separators()
    order = 0
    while _within(graph, order, max_order, enough) and remove_edges(graph, order, independent, separators, enough, at_once):
        order += 1
    graph.orient_v_structures(separators)
    graph.propagate()
    return graph


def _within(graph: PartialGraph, order: int, max_order: MaxOrder, enough: EnoughCases | None) -> bool:
    """Whether tests given `order` neighbors are to be made."""
    if max_order == "auto":
        return order < 2 or most_tests(graph, order, enough) <= ROUND_TESTS
    return max_order is None or order <= max_order


def oracle(parents: Structure) -> Independence:
    """Return an independence test by d-separation in a known structure, which may have more variables than are tested.

    >>> oracle({0: (), 1: (0,), 2: (1,)})(np.array([[0, 2]])).tolist()
    [False]
    >>> oracle({0: (), 1: (0,), 2: (1,)})(np.array([[0, 2, 1]])).tolist()
    [True]
    """
    separated: Callable[..., bool] = d_separated

    def independent(tests: Integers) -> Bools:
        return np.array([separated(parents, [a], [b], given) for a, b, *given in tests.tolist()], bool)

    return independent
