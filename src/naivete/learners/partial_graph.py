"""Graphs on their way from undirected to directed: the skeleton by independence tests, and the rules that orient it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

from naivete.counts.independence import Independence, Question, Testable

__all__ = ["PartialGraph", "Separators", "sparser"]

Separators = dict[frozenset[int], frozenset[int]]
"""Given what each two variables were found independent."""

FIRST_QUESTIONS = 4
MOST_QUESTIONS = 1 << 15
"""How many questions are asked for each edge at first, and of all edges together in one pass."""


@dataclass
class PartialGraph:
    """Variables, which of them are adjacent, and the arcs among them; an edge with arcs both ways is bidirected.

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
        """All variables adjacent to all others."""
        own = sorted(variables)
        return cls(own, {v: {u for u in own if u != v} for v in own})

    def copy(self) -> PartialGraph:
        """The same edges without any direction."""
        return PartialGraph(self.variables, {v: set(own) for v, own in self.adjacent.items()})

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The adjacent pairs, the lower variable first."""
        return [(a, b) for a in self.variables for b in sorted(self.adjacent[a]) if a < b]

    def remove(self, a: int, b: int) -> None:
        """Take the edge away."""
        self.adjacent[a].discard(b)
        self.adjacent[b].discard(a)

    def directed(self, a: int, b: int) -> bool:
        """Whether there is an arc from a to b only."""
        return (a, b) in self.arcs and (b, a) not in self.arcs

    def undirected(self, a: int, b: int) -> bool:
        """Whether the edge has no direction."""
        return b in self.adjacent[a] and (a, b) not in self.arcs and (b, a) not in self.arcs

    def bidirected(self, a: int, b: int) -> bool:
        """Whether the edge has both directions."""
        return (a, b) in self.arcs and (b, a) in self.arcs

    def parents(self, v: int) -> list[int]:
        """The variables with an arc to this one only."""
        return sorted(u for u in self.adjacent[v] if self.directed(u, v))

    def orient(self, a: int, b: int) -> bool:
        """Give the edge an arc from a to b unless that closes a cycle; whether it is there."""
        if (a, b) in self.arcs:
            return True
        if self.closes(a, b):
            return False
        self.arcs.add((a, b))
        return True

    def settle(self, a: int, b: int) -> bool:
        """Make the edge an arc from a to b only, unless that closes a cycle; whether it is one."""
        if self.closes(a, b):
            return False
        self.arcs.discard((b, a))
        self.arcs.add((a, b))
        return True

    def closes(self, a: int, b: int) -> bool:
        """Whether an arc from a to b would close a cycle: whether arcs lead from b to a."""
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

    def collide(self, separators: Separators) -> None:
        """Orient a -> c <- b where a and b are not adjacent and c did not separate them."""
        for c in self.variables:
            for a, b in combinations(sorted(self.adjacent[c]), 2):
                if b not in self.adjacent[a] and c not in separators.get(frozenset((a, b)), frozenset()):
                    self.orient(a, c)
                    self.orient(b, c)

    def propagate(self, *, eager: bool = False) -> None:
        """Orient what the arcs so far decide, by Meek's rules, until nothing changes.

        Parameters
        ----------
        eager : whether the third rule holds for adjacent variables too, as in CB.
        """
        while any([self._decided(a, b, eager) for a, b in self.edges]):  # noqa: C419
            pass

    def _decided(self, a: int, b: int, eager: bool) -> bool:
        """Orient one edge if a rule says how; whether that was new."""
        if self.undirected(a, b):
            return any(self._demanded(x, y, eager) and self.orient(x, y) for x, y in ((a, b), (b, a)))
        if self.bidirected(a, b):
            return any(self._between(x, y) and self.settle(x, y) for x, y in ((a, b), (b, a)))
        return False

    def _demanded(self, b: int, c: int, eager: bool) -> bool:
        """Whether an undirected edge has to be b -> c."""
        into = self.parents(b)
        if any(c not in self.adjacent[a] for a in into):  # else b would be a collider of a and c
            return True
        if self._between(b, c):  # else there would be a cycle
            return True
        meeting = [a for a in self.parents(c) if self.undirected(a, b)]
        return any(eager or y not in self.adjacent[x] for x, y in combinations(meeting, 2))

    def _between(self, a: int, c: int) -> bool:
        """Whether a -> v -> c for some v."""
        return any(self.directed(v, c) for v in self.adjacent[a] if self.directed(a, v))

    def order(self) -> list[int]:
        """The variables, parents before children, the lower first among equals."""
        left, placed = set(self.variables), list[int]()
        while left:
            v = min(v for v in left if not left.intersection(self.parents(v)))
            placed.append(v)
            left.discard(v)
        return placed


def sparser(
    graph: PartialGraph, size: int, independent: Independence, separators: Separators, testable: Testable | None = None
) -> int:
    """Take away the edges whose ends are independent given `size` of their neighbours; for how many that could be asked.

    The neighbours are those at the beginning, so that the result does not depend on the order of the variables. Every round asks
    the next questions of all edges that are left in one pass, more of them each time; they are made up when their turn comes, as
    there may be very many. What is not `testable` is not asked.
    """
    at_first = {v: sorted(own) for v, own in graph.adjacent.items()}
    waiting = {edge: _questions(*edge, at_first, size, testable or _always) for edge in graph.edges}
    tested, count = 0, FIRST_QUESTIONS if size else 1
    while waiting:
        taken = {edge: list(islice(own, count)) for edge, own in waiting.items()}
        tested = tested or sum(map(bool, taken.values()))
        questions = [question for own in taken.values() for question in own]
        answers = independent(questions) if questions else []
        for (a, b, given), answer in zip(questions, answers, strict=True):
            if answer and frozenset((a, b)) not in separators:
                separators[frozenset((a, b))] = frozenset(given)
        waiting = {edge: waiting[edge] for edge, own in taken.items() if len(own) == count and frozenset(edge) not in separators}
        count = max(1, min(4 * count, MOST_QUESTIONS // max(1, len(waiting))))
    for edge in graph.edges:
        if frozenset(edge) in separators:
            graph.remove(*edge)
    return tested


def _always(_: Sequence[int]) -> bool:
    return True


def _questions(a: int, b: int, adjacent: dict[int, list[int]], size: int, testable: Testable) -> Iterator[Question]:
    """The questions given the neighbours of a, then those given neighbours of b that are not all neighbours of a too."""
    for given in _sets(adjacent[a], 0, size, (a, b), testable):
        yield a, b, given
    for given in _sets(adjacent[b], 0, size, (a, b), testable):
        if not all(_among(u, adjacent[a]) for u in given):
            yield a, b, given


def _among(v: int, increasing: Sequence[int]) -> bool:
    at = bisect_left(increasing, v)
    return at < len(increasing) and increasing[at] == v


def _sets(among: Sequence[int], start: int, size: int, beside: tuple[int, ...], testable: Testable) -> Iterator[tuple[int, ...]]:
    """The sets of so many variables from a place on, in the order of `combinations`, that are testable beside others.

    Nothing is copied: one of these waits for every edge.
    """
    if not testable(beside):
        return
    if not size:
        yield ()
        return
    for place in range(start, len(among)):
        if among[place] not in beside:
            for rest in _sets(among, place + 1, size - 1, (*beside, among[place]), testable):
                yield among[place], *rest


def extended(graph: PartialGraph) -> dict[int, tuple[int, ...]]:
    """Parents that agree with the arcs of the graph and make no new colliders, where there are any (Dor and Tarsi).

    Where there are none, the edges that are left are oriented one after the other without closing a cycle.
    """
    found = _consistent(graph)
    if found is not None:
        return found
    open_edges = [(a, b) for a, b in graph.edges if not graph.directed(a, b) and not graph.directed(b, a)]
    for a, b in open_edges:
        if not graph.settle(a, b):
            graph.settle(b, a)
        graph.propagate()
    return {v: tuple(graph.parents(v)) for v in graph.variables}


def _consistent(graph: PartialGraph) -> dict[int, tuple[int, ...]] | None:
    if any(graph.bidirected(a, b) for a, b in graph.edges):
        return None
    adjacent = {v: set(own) for v, own in graph.adjacent.items()}
    parents: dict[int, tuple[int, ...]] = {}
    left = list(graph.variables)
    while left:
        sink = next((v for v in reversed(left) if _can_be_sink(graph, v, adjacent)), None)
        if sink is None:
            return None
        parents[sink] = tuple(sorted(adjacent[sink]))
        for u in adjacent.pop(sink):
            adjacent[u].discard(sink)
        left.remove(sink)
    return parents


def _can_be_sink(graph: PartialGraph, v: int, adjacent: dict[int, set[int]]) -> bool:
    """Whether all edges of a variable may point to it: no arc leaves it, and its neighbours by open edges know all others."""
    if any(graph.directed(v, u) for u in adjacent[v]):
        return False
    open_to = [u for u in adjacent[v] if graph.undirected(u, v)]
    return all(w == u or w in adjacent[u] for u in open_to for w in adjacent[v])


def ordered(parents: dict[int, tuple[int, ...]], first: Sequence[int] = ()) -> list[int]:
    """The variables, those given first, then parents before children, the lower first among equals."""
    left, placed = {v for v in parents if v not in first}, list(first)
    while left:
        v = min(v for v in left if not left.intersection(parents[v]))
        placed.append(v)
        left.discard(v)
    return placed
