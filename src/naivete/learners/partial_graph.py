"""Partially directed graphs for PC and CB: the rules that orient the edges of a skeleton."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush

__all__ = ["PartialGraph", "Separators", "extended", "ordered"]

Separators = dict[frozenset[int], frozenset[int]]
"""For pairs of variables that were found independent, the variables they are independent given; none for pairs not listed."""

LOST_ARCS = 32
"""After this many directed arcs became bidirected, it is computed again which variables can be reached from which."""


class PartialGraph:
    """Variables, their adjacencies, and the arcs among them; an edge with arcs in both directions is bidirected.

    Parameters
    ----------
    variables : the variables, increasing.
    adjacent : the neighbors of each variable.
    arcs : pairs of neighbors, the first of which points to the second.

    >>> graph = PartialGraph.complete([0, 1, 2])
    >>> graph.remove(0, 1)
    >>> graph.orient(0, 2), graph.orient(1, 2), graph.directed(0, 2), graph.undirected(0, 2)
    (True, True, True, False)
    """

    def __init__(self, variables: list[int], adjacent: dict[int, set[int]], arcs: Iterable[tuple[int, int]] = ()) -> None:
        self.variables, self.adjacent = variables, adjacent
        self._place: dict[tuple[int, int], int] | None = None  # of each edge, until one is removed
        self._bit = {v: 1 << i for i, v in enumerate(variables)}
        self.arcs = set(arcs)

    @classmethod
    def complete(cls, variables: Iterable[int]) -> PartialGraph:
        """Return the graph in which all variables are adjacent."""
        every = sorted(variables)
        return cls(every, {v: {u for u in every if u != v} for v in every})

    @property
    def arcs(self) -> set[tuple[int, int]]:
        """The arcs, as a copy; assign a set to change them."""
        return {(a, b) for a, targets in self._to.items() for b in targets}

    @arcs.setter
    def arcs(self, arcs: Iterable[tuple[int, int]]) -> None:
        self._to: dict[int, set[int]] = {v: set() for v in self.variables}
        self._from: dict[int, set[int]] = {v: set() for v in self.variables}
        self._reach = dict.fromkeys(self.variables, 0)  # bits of at least all variables that a directed path leads to
        self._lost = 0  # how many directed arcs became bidirected since `_reach` was exact
        for a, b in arcs:
            self._add(a, b)

    def _add(self, a: int, b: int) -> None:
        """Add an arc; `_reach` of all variables that lead to it grows."""
        self._to[a].add(b)
        self._from[b].add(a)
        if a in self._to[b]:
            self._lost += 1
            return
        bit, below = self._bit[a], self._reach[b] | self._bit[b]
        if self._reach[a] | below != self._reach[a]:
            for u in self.variables:
                if u == a or self._reach[u] & bit:
                    self._reach[u] |= below

    def _refresh(self) -> None:
        """Make `_reach` exact: children before parents."""
        waiting = {v: len(self._to[v] - self._from[v]) for v in self.variables}
        ready = [v for v, children in waiting.items() if not children]
        while ready:
            v = ready.pop()
            below = 0
            for w in self._to[v] - self._from[v]:
                below |= self._reach[w] | self._bit[w]
            self._reach[v] = below
            for u in self._from[v] - self._to[v]:
                waiting[u] -= 1
                if not waiting[u]:
                    ready.append(u)
        self._lost = 0

    def without_arcs(self) -> PartialGraph:
        """Return a copy in which all edges are undirected."""
        return PartialGraph(self.variables, {v: set(neighbors) for v, neighbors in self.adjacent.items()})

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The pairs of adjacent variables, the lower variable first."""
        return [(a, b) for a in self.variables for b in sorted(self.adjacent[a]) if a < b]

    def remove(self, a: int, b: int) -> None:
        """Remove an edge without arcs."""
        self.adjacent[a].discard(b)
        self.adjacent[b].discard(a)
        self._place = None

    def directed(self, a: int, b: int) -> bool:
        """Whether the edge is an arc from a to b."""
        return b in self._to[a] and a not in self._to[b]

    def undirected(self, a: int, b: int) -> bool:
        """Whether there is an edge without arcs."""
        return b in self.adjacent[a] and b not in self._to[a] and a not in self._to[b]

    def bidirected(self, a: int, b: int) -> bool:
        """Whether the edge has arcs in both directions."""
        return b in self._to[a] and a in self._to[b]

    def parents(self, v: int) -> list[int]:
        """Return the variables with an arc to this one, bidirected edges excluded."""
        return sorted(self._from[v] - self._to[v])

    def orient(self, a: int, b: int) -> bool:
        """Add an arc from a to b unless that closes a cycle; return whether it is in the graph."""
        if b in self._to[a]:
            return True
        if self.closes(a, b):
            return False
        self._add(a, b)
        return True

    def settle(self, a: int, b: int) -> bool:
        """Make the edge an arc from a to b, removing the reverse one, unless that closes a cycle; return whether it was made."""
        if self.closes(a, b):
            return False
        self._to[b].discard(a)
        self._from[a].discard(b)
        self._add(a, b)
        return True

    def closes(self, a: int, b: int) -> bool:
        """Whether an arc from a to b would close a cycle: whether a directed path other than their edge leads from b to a."""
        bit = self._bit[a]
        if not self._reach[b] & bit:
            return False
        if self._lost >= LOST_ARCS:
            self._refresh()
        below = [w for w in self._to[b] - self._from[b] if w != a and self._reach[w] & bit]
        if not self._lost:
            return bool(below)
        seen = {b, *below}
        while below:
            v = below.pop()
            for w in self._to[v] - self._from[v]:
                if w == a:
                    return True
                if w not in seen and self._reach[w] & bit:
                    seen.add(w)
                    below.append(w)
        return False

    def orient_v_structures(self, separators: Separators) -> None:
        """Orient a -> c <- b where a and b are not adjacent and c is not in the set that separates them."""
        nothing: frozenset[int] = frozenset()
        for c in self.variables:
            into = self._from[c]
            for a in sorted(self.adjacent[c]):
                for b in sorted(b for b in self.adjacent[c] - self.adjacent[a] if b > a):
                    if (a not in into or b not in into) and c not in separators.get(frozenset((a, b)), nothing):
                        self.orient(a, c)
                        self.orient(b, c)

    def propagate(self, *, eager: bool = False, changed: Iterable[int] | None = None) -> None:
        """Orient the edges that the arcs determine, by Meek's rules, until nothing changes.

        The edges are visited in their order, again and again; an edge of which no neighboring edge has changed is skipped.

        Parameters
        ----------
        eager : whether the third rule applies to adjacent variables too, as in CB.
        changed : the variables whose edges have changed since the last propagation; by default all.
        """
        if self._place is None:
            self._place = {edge: i for i, edge in enumerate(self.edges)}
        place, edges = self._place, list(self._place)
        now = self._places(self.variables if changed is None else changed, place)
        while now:
            later: set[int] = set()
            waiting = sorted(now)  # a sorted list is a heap
            while waiting:
                i = heappop(waiting)
                now.discard(i)
                if self._oriented_by_rule(*edges[i], eager):
                    near = self._places(edges[i], place) - now
                    later |= {j for j in near if j <= i}
                    for j in near:
                        if j > i:
                            now.add(j)
                            heappush(waiting, j)
            now = later

    def _places(self, variables: Iterable[int], place: Mapping[tuple[int, int], int]) -> set[int]:
        """Return the positions of the edges of some variables."""
        return {place[(v, u) if v < u else (u, v)] for v in variables for u in self.adjacent[v]}

    def _oriented_by_rule(self, a: int, b: int, eager: bool) -> bool:
        """Orient one edge if a rule determines it; return whether it changed."""
        if self.undirected(a, b):
            return any(self._implied(x, y, eager) and self.orient(x, y) for x, y in ((a, b), (b, a)))
        if self.bidirected(a, b):
            return any(self._linked(x, y) and self.settle(x, y) for x, y in ((a, b), (b, a)))
        return False

    def _implied(self, b: int, c: int, eager: bool) -> bool:
        """Whether the rules imply b -> c for an undirected edge."""
        if not self._from[b] - self._to[b] <= self.adjacent[c]:  # c -> b would be a new v-structure
            return True
        if self._linked(b, c):  # c -> b would close a cycle
            return True
        shared = ((self._from[c] - self._to[c]) & self.adjacent[b]) - self._to[b] - self._from[b]
        if eager:
            return len(shared) > 1
        return any(len(shared - self.adjacent[x]) > 1 for x in shared)  # x itself, and another one

    def _linked(self, a: int, c: int) -> bool:
        """Whether a -> v -> c for some v."""
        return not (self._to[a] - self._from[a]).isdisjoint(self._from[c] - self._to[c])

    def order(self) -> list[int]:
        """Return the variables, parents before children, lower variables first where both orders are possible."""
        return ordered({v: tuple(self.parents(v)) for v in self.variables})


def extended(graph: PartialGraph) -> dict[int, tuple[int, ...]]:
    """Return parents that agree with the arcs of the graph and make no new v-structure, where that is possible (Dor and Tarsi).

    Where it is not, the remaining edges are oriented one after the other without closing a cycle.
    """
    consistent = _consistent(graph)
    if consistent is not None:
        return consistent
    open_edges = [(a, b) for a, b in graph.edges if not graph.directed(a, b) and not graph.directed(b, a)]
    for i, (a, b) in enumerate(open_edges):
        if not graph.settle(a, b):
            graph.settle(b, a)
        graph.propagate(changed=(a, b) if i else None)
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
