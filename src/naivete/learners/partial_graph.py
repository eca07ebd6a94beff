"""Partially directed graphs for PC and CB: the skeleton from independence tests, and the rules that orient it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

from naivete.counts.counts import Counts
from naivete.counts.independence import Independence, Question, Testable
from naivete.errors import ResourceError

__all__ = ["PartialGraph", "Separators", "edges_at_once", "extended", "ordered", "remove_edges"]

Separators = dict[frozenset[int], frozenset[int]]
"""For pairs of variables that were found independent, the variables they are independent given."""

FIRST_TESTS = 4
"""How many tests are made for each edge in the first pass of a round."""
PAIR_BYTES = 600
"""About how many bytes the graph and what separates its variables take for each pair of variables."""
TEST_BYTES = 2000
"""About how many bytes the tests of an edge take while they are made."""
MOST_TESTS = 1 << 15
"""How many tests are made for all edges together in one pass."""


@dataclass
class PartialGraph:
    """Variables, their adjacencies, and the arcs among them; an edge with arcs in both directions is bidirected.

    >>> graph = PartialGraph.complete([0, 1, 2])
    >>> graph.remove(0, 1)
    >>> graph.orient(0, 2), graph.orient(1, 2), graph.directed(0, 2), graph.undirected(0, 2)
    (True, True, True, False)
    """

    variables: list[int]
    adjacent: dict[int, set[int]]
    arcs: set[tuple[int, int]] = field(default_factory=set)

    @classmethod
    def complete(cls, variables: Iterable[int]) -> PartialGraph:
        """Return the graph in which all variables are adjacent."""
        every = sorted(variables)
        return cls(every, {v: {u for u in every if u != v} for v in every})

    def without_arcs(self) -> PartialGraph:
        """Return a copy in which all edges are undirected."""
        return PartialGraph(self.variables, {v: set(neighbors) for v, neighbors in self.adjacent.items()})

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The pairs of adjacent variables, the lower variable first."""
        return [(a, b) for a in self.variables for b in sorted(self.adjacent[a]) if a < b]

    def remove(self, a: int, b: int) -> None:
        """Remove an edge."""
        self.adjacent[a].discard(b)
        self.adjacent[b].discard(a)

    def directed(self, a: int, b: int) -> bool:
        """Whether the edge is an arc from a to b."""
        return (a, b) in self.arcs and (b, a) not in self.arcs

    def undirected(self, a: int, b: int) -> bool:
        """Whether there is an edge without arcs."""
        return b in self.adjacent[a] and (a, b) not in self.arcs and (b, a) not in self.arcs

    def bidirected(self, a: int, b: int) -> bool:
        """Whether the edge has arcs in both directions."""
        return (a, b) in self.arcs and (b, a) in self.arcs

    def parents(self, v: int) -> list[int]:
        """Return the variables with an arc to this one, bidirected edges excluded."""
        return sorted(u for u in self.adjacent[v] if self.directed(u, v))

    def orient(self, a: int, b: int) -> bool:
        """Add an arc from a to b unless that closes a cycle; return whether it is in the graph."""
        if (a, b) in self.arcs:
            return True
        if self.closes(a, b):
            return False
        self.arcs.add((a, b))
        return True

    def settle(self, a: int, b: int) -> bool:
        """Make the edge an arc from a to b, removing the reverse one, unless that closes a cycle; return whether it was made."""
        if self.closes(a, b):
            return False
        self.arcs.discard((b, a))
        self.arcs.add((a, b))
        return True

    def closes(self, a: int, b: int) -> bool:
        """Whether an arc from a to b would close a cycle: whether there is a directed path from b to a."""
        seen, waiting = {b}, [b]
        while waiting:
            v = waiting.pop()
            for w in self.adjacent[v]:
                if w not in seen and self.directed(v, w) and {v, w} != {a, b}:
                    if w == a:
                        return True
                    seen.add(w)
                    waiting.append(w)
        return False

    def orient_v_structures(self, separators: Separators) -> None:
        """Orient a -> c <- b where a and b are not adjacent and c is not in the set that separates them."""
        for c in self.variables:
            for a, b in combinations(sorted(self.adjacent[c]), 2):
                if b not in self.adjacent[a] and c not in separators.get(frozenset((a, b)), frozenset()):
                    self.orient(a, c)
                    self.orient(b, c)

    def propagate(self, *, eager: bool = False) -> None:
        """Orient the edges that the arcs determine, by Meek's rules, until nothing changes.

        Parameters
        ----------
        eager : whether the third rule applies to adjacent variables too, as in CB.
        """
        while any([self._oriented_by_rule(a, b, eager) for a, b in self.edges]):  # noqa: C419
            pass

    def _oriented_by_rule(self, a: int, b: int, eager: bool) -> bool:
        """Orient one edge if a rule determines it; return whether it changed."""
        if self.undirected(a, b):
            return any(self._implied(x, y, eager) and self.orient(x, y) for x, y in ((a, b), (b, a)))
        if self.bidirected(a, b):
            return any(self._linked(x, y) and self.settle(x, y) for x, y in ((a, b), (b, a)))
        return False

    def _implied(self, b: int, c: int, eager: bool) -> bool:
        """Whether the rules imply b -> c for an undirected edge."""
        if any(c not in self.adjacent[a] for a in self.parents(b)):  # c -> b would be a new v-structure
            return True
        if self._linked(b, c):  # c -> b would close a cycle
            return True
        shared = [a for a in self.parents(c) if self.undirected(a, b)]
        return any(eager or y not in self.adjacent[x] for x, y in combinations(shared, 2))

    def _linked(self, a: int, c: int) -> bool:
        """Whether a -> v -> c for some v."""
        return any(self.directed(v, c) for v in self.adjacent[a] if self.directed(a, v))

    def order(self) -> list[int]:
        """Return the variables, parents before children, lower variables first where both orders are possible."""
        return ordered({v: tuple(self.parents(v)) for v in self.variables})


def remove_edges(
    graph: PartialGraph,
    size: int,
    independent: Independence,
    separators: Separators,
    testable: Testable | None = None,
    at_once: int | None = None,
) -> int:
    """Remove the edges whose ends are independent given `size` of their neighbors; return how many edges could be tested.

    The neighbors are those at the beginning of the call, so that the result does not depend on the order of the variables. Each
    pass makes the next tests of all remaining edges, more of them each time. Tests are generated when they are needed, because
    there may be very many. Sets of variables that are not `testable` are skipped. Only `at_once` edges are tested together, which
    limits the memory and changes nothing else.
    """
    neighbors, edges = {v: sorted(adjacent) for v, adjacent in graph.adjacent.items()}, graph.edges
    step = len(edges) if at_once is None else max(1, at_once)
    tested = 0
    for start in range(0, len(edges), max(1, step)):
        some = {edge: _tests(*edge, neighbors, size, testable or _always) for edge in edges[start : start + step]}
        tested = _separate(some, size, independent, separators) or tested
    for edge in edges:
        if frozenset(edge) in separators:
            graph.remove(*edge)
    return tested


def _separate(
    waiting: dict[tuple[int, int], Iterator[Question]], size: int, independent: Independence, separators: Separators
) -> int:
    """Find what separates the ends of some edges, given the tests of each; return how many edges could be tested."""
    tested, count = 0, FIRST_TESTS if size else 1
    while waiting:
        next_tests = {edge: list(islice(tests, count)) for edge, tests in waiting.items()}
        tested = tested or sum(map(bool, next_tests.values()))
        every = [test for tests in next_tests.values() for test in tests]
        for (a, b, given), result in zip(every, independent(every) if every else [], strict=True):
            if result and frozenset((a, b)) not in separators:
                separators[frozenset((a, b))] = frozenset(given)
        waiting = {
            edge: waiting[edge] for edge, tests in next_tests.items() if len(tests) == count and frozenset(edge) not in separators
        }
        count = max(1, min(4 * count, MOST_TESTS // max(1, len(waiting))))
    return tested


def edges_at_once(counts: Counts, variables: int, learner: str) -> int:
    """Return how many edges can be tested together within the budget; an error if the graph itself exceeds it.

    Parameters
    ----------
    counts : the training cases.
    variables : the number of variables of the graph.
    learner : the name of the learner, for the message.
    """
    pairs = variables * (variables - 1) // 2
    needed = PAIR_BYTES * pairs
    if 2 * needed > counts.budget:
        raise ResourceError(
            f"{learner} on {variables:,} variables keeps about {needed:,} bytes for their {pairs:,} pairs, and the budget is "
            f"{counts.budget:,} bytes, half of which is for tables; leave out features with little information about the class "
            "(see `relevance_` of NaiveBayes), or raise `budget=`"
        )
    return max(1, (counts.budget // 2 - needed) // TEST_BYTES)


def _always(_: Sequence[int]) -> bool:
    return True


def _tests(a: int, b: int, adjacent: dict[int, list[int]], size: int, testable: Testable) -> Iterator[Question]:
    """The tests of an edge given neighbors of a, then given neighbors of b that are not all neighbors of a too."""
    for given in _sets(adjacent[a], 0, size, (a, b), testable):
        yield a, b, given
    for given in _sets(adjacent[b], 0, size, (a, b), testable):
        if not all(_contains(adjacent[a], u) for u in given):
            yield a, b, given


def _contains(increasing: Sequence[int], v: int) -> bool:
    position = bisect_left(increasing, v)
    return position < len(increasing) and increasing[position] == v


def _sets(
    variables: Sequence[int], start: int, size: int, tested: tuple[int, ...], testable: Testable
) -> Iterator[tuple[int, ...]]:
    """The sets of `size` variables from position `start` on that are testable with others, in the order of `combinations`.

    Nothing is copied, because one of these generators is kept for every edge.
    """
    if not testable(tested):
        return
    if not size:
        yield ()
        return
    for i in range(start, len(variables)):
        if variables[i] not in tested:
            for rest in _sets(variables, i + 1, size - 1, (*tested, variables[i]), testable):
                yield variables[i], *rest


def extended(graph: PartialGraph) -> dict[int, tuple[int, ...]]:
    """Return parents that agree with the arcs of the graph and make no new v-structure, where that is possible (Dor and Tarsi).

    Where it is not, the remaining edges are oriented one after the other without closing a cycle.
    """
    consistent = _consistent(graph)
    if consistent is not None:
        return consistent
    open_edges = [(a, b) for a, b in graph.edges if not graph.directed(a, b) and not graph.directed(b, a)]
    for a, b in open_edges:
        if not graph.settle(a, b):
            graph.settle(b, a)
        graph.propagate()
    return {v: tuple(graph.parents(v)) for v in graph.variables}


def _consistent(graph: PartialGraph) -> dict[int, tuple[int, ...]] | None:
    if any(graph.bidirected(a, b) for a, b in graph.edges):
        return None
    adjacent = {v: set(neighbors) for v, neighbors in graph.adjacent.items()}
    parents: dict[int, tuple[int, ...]] = {}
    remaining = list(graph.variables)
    while remaining:
        sink = next((v for v in reversed(remaining) if _can_be_sink(graph, v, adjacent)), None)
        if sink is None:
            return None
        parents[sink] = tuple(sorted(adjacent[sink]))
        for u in adjacent.pop(sink):
            adjacent[u].discard(sink)
        remaining.remove(sink)
    return parents


def _can_be_sink(graph: PartialGraph, v: int, adjacent: dict[int, set[int]]) -> bool:
    """Whether all edges of v may point to it: no arc leaves it, and its undirected neighbors are adjacent to all others."""
    if any(graph.directed(v, u) for u in adjacent[v]):
        return False
    open_to = [u for u in adjacent[v] if graph.undirected(u, v)]
    return all(w == u or w in adjacent[u] for u in open_to for w in adjacent[v])


def ordered(parents: dict[int, tuple[int, ...]], first: Sequence[int] = ()) -> list[int]:
    """Return the variables: those of `first`, then parents before children, lower variables first where both are possible."""
    remaining, order = {v for v in parents if v not in first}, list(first)
    while remaining:
        v = min(v for v in remaining if not remaining.intersection(parents[v]))
        order.append(v)
        remaining.discard(v)
    return order
