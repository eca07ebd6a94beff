"""Graphs of networks: separation, equivalence, and the way from parents over a triangulated graph to a junction tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import log2
from typing import NamedTuple

from naivete.variables import CLASS, Family, family

__all__ = [
    "Clique",
    "Cpdag",
    "Elimination",
    "Neighbours",
    "Parents",
    "ancestors",
    "children",
    "cpdag",
    "d_separated",
    "eliminations",
    "equivalent",
    "interaction_graph",
    "junction_tree",
    "markov_blanket",
    "maximal_cliques",
    "moral",
    "reachable",
    "skeleton",
    "triangulated",
    "v_structures",
]

Parents = Mapping[int, Sequence[int]]
"""parents[v] for every variable v of a directed graph."""

Neighbours = dict[int, set[int]]
"""neighbours[v] for every variable v of an undirected graph."""

WEIGHT = 1 << 40


class Elimination(NamedTuple):
    """A variable, and the neighbours it had when it was eliminated; together they are a clique of the triangulated graph."""

    variable: int
    neighbours: frozenset[int]


class Clique(NamedTuple):
    """A clique of a junction tree.

    Parameters
    ----------
    members : its variables, those eliminated last first, so that it begins with its separator.
    separator : how many of them it shares with its parent.
    parent : the position of its parent in the tree, -1 at a root.
    """

    members: tuple[int, ...]
    separator: int
    parent: int


class Cpdag(NamedTuple):
    """The arcs all equivalent networks have, as (parent, child), and the edges that some have one way and some the other."""

    arcs: frozenset[tuple[int, int]]
    edges: frozenset[Family]


def children(parents: Parents) -> dict[int, list[int]]:
    """The children of every variable.

    >>> children({-1: (), 0: (-1,), 1: (0, -1)})
    {-1: [0, 1], 0: [1], 1: []}
    """
    found: dict[int, list[int]] = {v: [] for v in parents}
    for v, own in parents.items():
        for p in own:
            found[p].append(v)
    return found


def ancestors(parents: Parents, of: Iterable[int]) -> set[int]:
    """The variables from which a directed path leads to one of these, these themselves included.

    >>> sorted(ancestors({-1: (), 0: (-1,), 1: (0,), 2: (0,)}, [1]))
    [-1, 0, 1]
    """
    found, waiting = set(of), list(of)
    while waiting:
        grown = [p for p in parents[waiting.pop()] if p not in found]
        found.update(grown)
        waiting += grown
    return found


def interaction_graph(scopes: Iterable[Iterable[int]]) -> Neighbours:
    """The undirected graph in which the members of each scope are neighbours of one another.

    >>> interaction_graph([(0, 1), (1, 2), (3,)])
    {0: {1}, 1: {0, 2}, 2: {1}, 3: set()}
    """
    found: Neighbours = {}
    for scope in scopes:
        members = set(scope)
        for v in members:
            found.setdefault(v, set()).update(members)
    for v, own in found.items():
        own.discard(v)
    return found


def moral(parents: Parents) -> Neighbours:
    """The moral graph: arcs without direction, and an edge between any two parents of one variable.

    >>> moral({0: (), 1: (), 2: (0, 1)})
    {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
    """
    return interaction_graph((v, *own) for v, own in parents.items())


def eliminations(
    neighbours: Mapping[int, Iterable[int]], cards: Mapping[int, int], last: Iterable[int] = ()
) -> Iterator[Elimination]:
    """The variables one after the other, the one that needs the fewest new edges between its neighbours first (min-fill).

    Of equals the one whose clique has the fewest configurations, then the lower variable, the class as the last. How many
    edges are missing around each variable is kept up to date, so that a tree of n variables takes n log n steps.

    Parameters
    ----------
    neighbours : the undirected graph.
    cards : the number of states of each variable.
    last : variables to be eliminated after all others.

    >>> [e.variable for e in eliminations({0: {1}, 1: {0, 2}, 2: {1}}, {0: 2, 1: 2, 2: 2})]
    [0, 1, 2]
    """
    graph = {v: set(own) for v, own in neighbours.items()}
    late, size = set(last), {v: round(WEIGHT * log2(cards[v])) for v in graph}
    missing = {v: _missing_edges(graph, v) for v in graph}
    weight = {v: size[v] + sum(size[u] for u in own) for v, own in graph.items()}

    def key(v: int) -> tuple[bool, int, int, bool, int]:
        return v in late, missing[v], weight[v], v == CLASS, v

    heap = [key(v) for v in graph]
    heapify(heap)
    while heap:
        top = heappop(heap)
        v = top[-1]
        if v not in graph or top != key(v):
            continue
        touched = _fill_in(graph, v, missing, weight, size) if missing[v] else set()
        around = graph.pop(v)
        for u in around:
            missing[u] -= len(graph[u]) - len(around)
            weight[u] -= size[v]
            graph[u].discard(v)
        for u in (touched | around) - {v}:
            heappush(heap, key(u))
        yield Elimination(v, frozenset(around))


def _missing_edges(graph: Neighbours, v: int) -> int:
    own = graph[v]
    return (len(own) * (len(own) - 1) - sum(len(own & graph[u]) for u in own)) // 2


def _fill_in(graph: Neighbours, v: int, missing: dict[int, int], weight: dict[int, int], size: Mapping[int, int]) -> set[int]:
    """Join all neighbours of v; the variables around which something changed."""
    touched: set[int] = set()
    for a, b in combinations(sorted(graph[v]), 2):
        if b in graph[a]:
            continue
        common = graph[a] & graph[b]
        for w in common:
            missing[w] -= 1
        missing[a] += len(graph[a]) - len(common)
        missing[b] += len(graph[b]) - len(common)
        weight[a] += size[b]
        weight[b] += size[a]
        graph[a].add(b)
        graph[b].add(a)
        touched |= common
        touched |= {a, b}
    return touched


def triangulated(neighbours: Mapping[int, Iterable[int]], cards: Mapping[int, int]) -> Neighbours:
    """The graph with the edges that min-fill elimination adds, so that no cycle of four or more lacks a chord.

    >>> triangulated({0: {1, 3}, 1: {0, 2}, 2: {1, 3}, 3: {0, 2}}, dict.fromkeys(range(4), 2))[1]
    {0, 2, 3}
    """
    return interaction_graph((v, *own) for v, own in eliminations(neighbours, cards))


def junction_tree(steps: Sequence[Elimination]) -> tuple[Clique, ...]:
    """The maximal cliques of the triangulated graph as a tree with the running intersection property, children first.

    What remains of a clique when its own variables are eliminated is its separator, and lies in the clique of the next of them to
    go. Separators are then as large as they can be: it is a maximum spanning tree. Disconnected parts have a root each.

    >>> graph = {0: {1}, 1: {0, 2}, 2: {1}}
    >>> for clique in junction_tree(list(eliminations(graph, {0: 2, 1: 2, 2: 2}))):
    ...     print(clique)
    Clique(members=(1, 0), separator=1, parent=1)
    Clique(members=(2, 1), separator=0, parent=-1)
    """
    at = {step.variable: i for i, step in enumerate(steps)}
    onward = [min((at[u] for u in step.neighbours), default=-1) for step in steps]
    within = {onward[i]: i for i, step in enumerate(steps) if len(step.neighbours) == len(steps[onward[i]].neighbours) + 1}
    first: list[int] = []  # the step whose clique contains that of each step
    final: dict[int, int] = {}  # the last step of each such clique
    for i in range(len(steps)):
        first.append(first[within[i]] if i in within else i)
        final[first[i]] = i
    kept = sorted(final, key=final.__getitem__)
    position = {i: place for place, i in enumerate(kept)}
    return tuple(
        Clique(
            tuple(sorted((steps[i].variable, *steps[i].neighbours), key=at.__getitem__, reverse=True)),
            len(steps[final[i]].neighbours),
            position[first[onward[final[i]]]] if onward[final[i]] >= 0 else -1,
        )
        for i in kept
    )


def maximal_cliques(steps: Sequence[Elimination]) -> list[Family]:
    """The maximal cliques of the triangulated graph.

    >>> maximal_cliques(list(eliminations({0: {1}, 1: {0, 2}, 2: {1}}, {0: 2, 1: 2, 2: 2})))
    [(0, 1), (1, 2)]
    """
    return [family(*clique.members) for clique in junction_tree(steps)]


def reachable(parents: Parents, xs: Iterable[int], given: Iterable[int] = ()) -> set[int]:
    """The variables that some x can tell something about, given the others: all with an active trail to it (Bayes ball).

    References
    ----------
    Koller and Friedman (2009), Probabilistic Graphical Models, algorithm 3.1.

    >>> sorted(reachable({0: (), 1: (), 2: (0, 1)}, [0])), sorted(reachable({0: (), 1: (), 2: (0, 1)}, [0], [2]))
    ([0, 2], [0, 1])
    """
    below, known = children(parents), set(given)
    opened = ancestors(parents, known)
    waiting = [(x, True) for x in xs]
    seen = set(waiting)
    while waiting:
        v, upward = waiting.pop()
        onward = [(c, False) for c in below[v]] if v not in known else []
        if v in opened if not upward else v not in known:
            onward += [(p, True) for p in parents[v]]
        fresh = [step for step in onward if step not in seen]
        seen.update(fresh)
        waiting += fresh
    return {v for v, _ in seen} - known


def d_separated(parents: Parents, xs: Iterable[int], ys: Iterable[int], given: Iterable[int] = ()) -> bool:
    """Whether the graph alone says that xs and ys are independent given the others; what is given is separated from everything.

    >>> chain = {0: (), 1: (0,), 2: (1,)}
    >>> d_separated(chain, [0], [2]), d_separated(chain, [0], [2], given=[1])
    (False, True)
    """
    known = set(given)
    return reachable(parents, set(xs) - known, known).isdisjoint(ys)


def markov_blanket(parents: Parents, v: int) -> Family:
    """The parents and children of v and the other parents of its children: given them, nothing else tells about v.

    >>> markov_blanket({0: (), 1: (), 2: (0, 1), 3: (2,)}, 0)
    (1, 2)
    """
    below = [c for c, own in parents.items() if v in own]
    return family(*{*parents[v], *below, *(p for c in below for p in parents[c])} - {v})


def skeleton(parents: Parents) -> frozenset[Family]:
    """The arcs without their direction.

    >>> sorted(skeleton({0: (), 1: (0,), 2: (1,)}))
    [(0, 1), (1, 2)]
    """
    return frozenset(family(p, v) for v, own in parents.items() for p in own)


def v_structures(parents: Parents) -> frozenset[tuple[int, int, int]]:
    """Every a -> c <- b in which a and b are not joined by an arc, as (a, c, b) with a before b.

    >>> sorted(v_structures({0: (), 1: (), 2: (0, 1)}))
    [(0, 2, 1)]
    """
    joined = skeleton(parents)
    pairs = ((family(a, b), c) for c, own in parents.items() for a, b in combinations(own, 2))
    return frozenset((pair[0], c, pair[1]) for pair, c in pairs if pair not in joined)


def cpdag(parents: Parents) -> Cpdag:
    """The completed partially directed graph: which arcs the independences compel and which could be turned.

    References
    ----------
    Chickering (1995), A transformational characterization of equivalent Bayesian network structures, section 4.

    >>> cpdag({0: (), 1: (0,), 2: (1,)}).edges == {(0, 1), (1, 2)}
    True
    >>> sorted(cpdag({0: (), 1: (), 2: (0, 1)}).arcs)
    [(0, 2), (1, 2)]
    """
    order = {v: place for place, v in enumerate(TopologicalSorter(parents).static_order())}
    compelled: set[tuple[int, int]] = set()
    for y in order:
        own = set(parents[y])
        if not own:
            continue
        x = max(own, key=order.__getitem__)
        onward = {w for w in parents[x] if (w, x) in compelled}
        free = onward <= own and own <= {x, *parents[x]}
        compelled |= {(w, y) for w in (onward if free else own)}
    arcs = {(p, v) for v, own in parents.items() for p in own}
    return Cpdag(frozenset(compelled), frozenset(family(p, v) for p, v in arcs - compelled))


def equivalent(one: Parents, two: Parents) -> bool:
    """Whether two structures say the same independences: the same skeleton and the same v-structures.

    >>> equivalent({0: (), 1: (0,)}, {0: (1,), 1: ()}), equivalent({0: (), 1: ()}, {0: (), 1: (0,)})
    (True, False)
    """
    return set(one) == set(two) and skeleton(one) == skeleton(two) and v_structures(one) == v_structures(two)
