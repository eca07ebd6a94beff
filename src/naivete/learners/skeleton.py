"""The skeleton of PC and CB: edges are removed from a complete graph by independence tests, many of them in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.counts.counts import Counts
from naivete.counts.independence import EnoughCases, Independence
from naivete.learners.costs import check_kept_bytes
from naivete.learners.partial_graph import PartialGraph, Separators

__all__ = ["edges_at_once", "most_tests", "remove_edges"]

FIRST_TESTS = 4
"""How many tests are made for each edge in the first pass of a round."""
PAIR_BYTES = 200
"""About how many bytes the graph and what separates its variables take for each pair of variables."""
TEST_BYTES = 2000
"""About how many bytes the tests of an edge take while they are made."""
MOST_TESTS = 1 << 17
"""How many tests are made for all edges together in one pass."""

Edge = tuple[int, int]


def remove_edges(
    graph: PartialGraph,
    size: int,
    independent: Independence,
    separators: Separators,
    enough: EnoughCases | None = None,
    at_once: int | None = None,
) -> int:
    """Remove the edges whose ends are independent given `size` of their neighbors; return how many edges could be tested.

    The neighbors are those at the beginning of the call, so that the result does not depend on the order of the variables. Each
    pass makes the next tests of all edges that are left, more of them each time: an edge is not tested any more once its ends are
    independent. Tests without `enough` cases are skipped; they are not even enumerated, because there may be very many.

    Parameters
    ----------
    graph : the graph, from which edges are removed.
    size : the number of neighbors to condition on.
    independent : the test.
    separators : what separates the ends of the edges that are removed is added here, unless nothing is needed.
    enough : the rule which tests have enough cases; by default all.
    at_once : how many edges are tested together, which limits the memory and changes nothing else; by default all.
    """
    edges = graph.edges
    step = max(1, len(edges) if at_once is None else at_once)
    neighbors = _Neighbors(graph, enough)
    tested = 0
    for start in range(0, len(edges), step):
        some = edges[start : start + step]
        if size:
            tested += _separate_given(some, size, neighbors, independent, separators, graph)
        else:
            tested += _separate(some, neighbors, independent, graph)
    return tested


def most_tests(graph: PartialGraph, size: int, enough: EnoughCases | None) -> float:
    """Return how many tests a round makes at most: the sets of `size` neighbors of either end of each edge with enough cases."""
    neighbors = _Neighbors(graph, enough)
    return sum(neighbors.sets(v, size, neighbors.limit(a, b)) for a, b in graph.edges for v in (a, b))


class _Neighbors:
    """The neighbors of each variable, fixed for a round, and how many cells they add to a table."""

    def __init__(self, graph: PartialGraph, enough: EnoughCases | None) -> None:
        self.enough = enough
        self.of = {v: np.array(sorted(adjacent), np.int64) for v, adjacent in graph.adjacent.items()}
        highest = max(graph.variables, default=0) + 2  # -1, the class, is the last row and column
        self.are: Bools = np.zeros((highest, highest), bool)
        for v, adjacent in self.of.items():
            self.are[v, adjacent] = True
        self._counted: dict[tuple[int, int, float], float] = {}

    def limit(self, a: int, b: int) -> float:
        """Return how many configurations the conditioning set of an edge may have."""
        return np.inf if self.enough is None else self.enough.cells / float(self.enough.cards[a] * self.enough.cards[b])

    def cards(self, variables: Integers) -> Numbers:
        """Return the number of states of some variables, 1 where it does not matter."""
        return np.ones(len(variables)) if self.enough is None else self.enough.cards[variables].astype(np.float64)

    def conditioning(self, a: int, b: int, size: int) -> Iterator[Integers]:
        """Yield the sets of neighbors of a, then those of neighbors of b that are not all neighbors of a.  # (set, variable)"""
        limit = self.limit(a, b)
        first, second = self.of[a][self.of[a] != b], self.of[b][self.of[b] != a]
        yield from _sets(first, self.cards(first), size, limit)
        for sets in _sets(second, self.cards(second), size, limit):
            yield sets[~self.are[a, sets].all(axis=1)]

    def sets(self, v: int, size: int, limit: float) -> float:
        """Return how many sets of `size` neighbors of a variable have at most `limit` configurations."""
        if (v, size, limit) not in self._counted:
            self._counted[v, size, limit] = _number_of_sets(self.cards(self.of[v]), size, limit)
        return self._counted[v, size, limit]


def _number_of_sets(cards: Numbers, size: int, limit: float) -> float:
    """Return how many sets of `size` variables have at most `limit` configurations.

    >>> _number_of_sets(np.array([2.0, 2.0, 3.0]), 2, 5)
    1.0
    """
    numbers: dict[tuple[int, float], float] = {(0, 1.0): 1.0}  # of sets, by size and configurations
    for card in cards.tolist():
        for (length, cells), number in list(numbers.items()):
            if length < size and cells * card <= limit:
                key = length + 1, cells * card
                numbers[key] = numbers.get(key, 0.0) + number
    return sum(number for (length, _), number in numbers.items() if length == size)


def _sets(variables: Integers, cards: Numbers, size: int, limit: float) -> Iterator[Integers]:
    """Yield the sets of `size` variables with at most `limit` configurations, in the order of `combinations`.  # (set, variable)"""
    if len(variables) < size or cards.min(initial=np.inf) ** size > limit:
        return
    if size == 1:
        yield variables[cards <= limit][:, None]
        return
    for i in range(len(variables) - size + 1):
        for rest in _sets(variables[i + 1 :], cards[i + 1 :], size - 1, limit / cards[i]):
            yield np.concatenate([np.full((len(rest), 1), variables[i]), rest], axis=1)


@dataclass
class _Waiting:
    """The conditioning sets of an edge that have not been tested yet."""

    parts: Iterator[Integers]
    rest: list[Integers] = field(default_factory=list)

    def take(self, count: int, size: int) -> Integers:
        """Return the next sets, at most `count`; fewer only if there are no more."""
        ready = sum(map(len, self.rest))
        while ready < count and (part := next(self.parts, None)) is not None:
            self.rest.append(part)
            ready += len(part)
        joined = self.rest[0] if len(self.rest) == 1 else np.concatenate([np.empty((0, size), np.int64), *self.rest])
        self.rest = [joined[count:]]
        return joined[:count]


def _separate(edges: list[Edge], neighbors: _Neighbors, independent: Independence, graph: PartialGraph) -> int:
    """Remove the edges whose ends are independent given nothing; return how many could be tested."""
    tests = np.array(edges, np.int64).reshape(-1, 2)
    possible = np.ones(len(tests), bool) if neighbors.enough is None else neighbors.enough(tests)
    tests = tests[possible]
    for a, b in tests[independent(tests)].tolist() if len(tests) else ():
        graph.remove(a, b)
    return len(tests)


def _separate_given(
    edges: list[Edge], size: int, neighbors: _Neighbors, independent: Independence, separators: Separators, graph: PartialGraph
) -> int:
    """Remove the edges whose ends are independent given some neighbors; return how many could be tested."""
    waiting: Mapping[Edge, _Waiting] = {edge: _Waiting(neighbors.conditioning(*edge, size)) for edge in edges}
    tested, count, first = 0, FIRST_TESTS, True
    while waiting:
        sets = {edge: unfinished.take(count, size) for edge, unfinished in waiting.items()}
        some = [edge for edge, given in sets.items() if len(given)]
        tested += len(some) if first else 0
        first = False
        separated = _first_separators(some, [sets[edge] for edge in some], independent)
        for a, b in separated:
            separators[frozenset((a, b))] = separated[a, b]
            graph.remove(a, b)
        waiting = {edge: waiting[edge] for edge in some if len(sets[edge]) == count and edge not in separated}
        count = max(1, min(4 * count, MOST_TESTS // max(1, len(waiting))))
    return tested


def _first_separators(edges: list[Edge], sets: list[Integers], independent: Independence) -> dict[Edge, frozenset[int]]:
    """Return the first set given which the ends of an edge are independent, for the edges that have one."""
    if not edges:
        return {}
    lengths = np.array([len(given) for given in sets])
    given = np.concatenate(sets)
    tests = np.concatenate([np.repeat(np.array(edges, np.int64), lengths, axis=0), given], axis=1)
    positions = np.flatnonzero(independent(tests))
    owners, firsts = np.unique(np.repeat(np.arange(len(edges)), lengths)[positions], return_index=True)
    chosen = given[positions[firsts]].tolist()
    return {edges[owner]: frozenset(members) for owner, members in zip(owners.tolist(), chosen, strict=True)}


def edges_at_once(counts: Counts, variables: int, learner: str) -> int:
    """Return how many edges can be tested together within the budget; an error if the graph itself exceeds it.

    Parameters
    ----------
    counts : the training cases.
    variables : the number of variables of the graph.
    learner : the name of the learner, for the message.
    """
    needed = PAIR_BYTES * variables * (variables - 1) // 2
    advice = "leave out features with little information about the class (see `relevance_` of NaiveBayes)"
    check_kept_bytes(counts, learner, needed, "the graph of all pairs", advice)
    return max(1, (counts.budget // 2 - needed) // TEST_BYTES)
