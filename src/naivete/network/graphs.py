"""Graphs of networks: orders, separation, equivalence, triangulation and junction trees."""

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
    "EliminationStep",
    "Neighbours",
    "Structure",
    "ancestors",
    "children",
    "cpdag",
    "d_separated",
    "eliminations",
    "equivalent",
    "interaction_graph",
    "junction_tree",
    "markov_blanket",
    "moral",
    "reachable",
    "skeleton",
    "topological",
    "v_structures",
]

Structure = Mapping[int, tuple[int, ...]]
"""structure[v] are the parents of every variable v, the most informative first; the class, if it is a parent, last."""

Neighbours = dict[int, set[int]]
"""The neighbors of every variable of an undirected graph."""

WEIGHT = 1 << 40
"""Logarithms of cards are rounded to multiples of 1 / WEIGHT, so that their sums are exact."""


class EliminationStep(NamedTuple):
    """A variable and its neighbors at its elimination; together they are a clique of the triangulated graph."""

    variable: int
    neighbours: frozenset[int]


class Clique(NamedTuple):
    """A clique of a junction tree.

    Parameters
    ----------
    members : its variables, those eliminated last first, so that the separator comes first.
    separator : the number of variables that it shares with its parent.
    parent : the position of its parent in the tree, -1 at a root.
    """

    members: tuple[int, ...]
    separator: int
    parent: int


class Cpdag(NamedTuple):
    """The arcs of all equivalent networks, as (parent, child), and the edges whose direction differs among them."""

    arcs: frozenset[tuple[int, int]]
    edges: frozenset[Family]


def children(structure: Structure) -> dict[int, list[int]]:
    """Return the children of every variable.

    >>> children({-1: (), 0: (-1,), 1: (0, -1)})
    {-1: [0, 1], 0: [1], 1: []}
    """
    result: dict[int, list[int]] = {v: [] for v in structure}
    for v, parents in structure.items():
        for p in parents:
            result[p].append(v)
    return result


def topological(structure: Structure) -> tuple[int, ...]:
    """Return the variables in an order in which parents come before children; the class before features, then by position.

    Variables on a cycle, and their descendants, are left out.

    >>> topological({-1: (), 0: (1, -1), 1: (-1,)})
    (-1, 1, 0)
    """
    below = children(structure)
    missing = {v: len(parents) for v, parents in structure.items()}
    ready = [v for v, count in missing.items() if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        v = heappop(ready)
        order.append(v)
        for child in below[v]:
            missing[child] -= 1
            if missing[child] == 0:
                heappush(ready, child)
    return tuple(order)


def ancestors(structure: Structure, of: Iterable[int]) -> set[int]:
    """Return the variables from which a directed path leads to one of the given ones, which are included.

    >>> sorted(ancestors({-1: (), 0: (-1,), 1: (0,), 2: (0,)}, [1]))
    [-1, 0, 1]
    """
    result, waiting = set(of), list(of)
    while waiting:
        new = [p for p in structure[waiting.pop()] if p not in result]
        result.update(new)
        waiting += new
    return result


def interaction_graph(scopes: Iterable[Iterable[int]]) -> Neighbours:
    """Return the undirected graph in which the members of each scope are neighbors of one another.

    >>> interaction_graph([(0, 1), (1, 2), (3,)])
    {0: {1}, 1: {0, 2}, 2: {1}, 3: set()}
    """
    graph: Neighbours = {}
    for scope in scopes:
        members = set(scope)
        for v in members:
            graph.setdefault(v, set()).update(members)
    for v, neighbours in graph.items():
        neighbours.discard(v)
    return graph


def moral(structure: Structure) -> Neighbours:
    """Return the moral graph: the arcs without direction, and an edge between any two parents of one variable.

    >>> moral({0: (), 1: (), 2: (0, 1)})
    {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}
    """
    return interaction_graph((v, *parents) for v, parents in structure.items())


def eliminations(
    neighbours: Mapping[int, Iterable[int]], cards: Mapping[int, int], last: Iterable[int] = ()
) -> Iterator[EliminationStep]:
    """Yield the variables in min-fill order: the one that needs the fewest new edges between its neighbors first.

    Ties go to the variable whose clique has the fewest configurations, then to the lower variable, the class last. The number of
    missing edges around each variable is updated after each step, so that a tree of n variables takes n log n steps.

    Parameters
    ----------
    neighbours : the undirected graph.
    cards : the number of states of each variable.
    last : the variables to eliminate after all others.

    >>> [e.variable for e in eliminations({0: {1}, 1: {0, 2}, 2: {1}}, {0: 2, 1: 2, 2: 2})]
    [0, 1, 2]
    """
    graph = {v: set(others) for v, others in neighbours.items()}
    late, size = set(last), {v: round(WEIGHT * log2(cards[v])) for v in graph}
    missing = {v: _missing_edges(graph, v) for v in graph}
    weight = {v: size[v] + sum(size[u] for u in others) for v, others in graph.items()}

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
        yield EliminationStep(v, frozenset(around))


def _missing_edges(graph: Neighbours, v: int) -> int:
    neighbours = graph[v]
    return (len(neighbours) * (len(neighbours) - 1) - sum(len(neighbours & graph[u]) for u in neighbours)) // 2


def _fill_in(graph: Neighbours, v: int, missing: dict[int, int], weight: dict[int, int], size: Mapping[int, int]) -> set[int]:
    """Connect all neighbors of v; return the variables whose neighborhood changed."""
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


def junction_tree(steps: Sequence[EliminationStep]) -> tuple[Clique, ...]:
    """Return the maximal cliques of the triangulated graph as a tree with the running intersection property, children first.

    The separator of a clique are its variables that are eliminated later than the clique; it is part of the clique in which the
    first of them is eliminated. The tree is a maximum spanning tree by the size of separators. Disconnected parts have a root
    each.

    >>> graph = {0: {1}, 1: {0, 2}, 2: {1}}
    >>> for clique in junction_tree(list(eliminations(graph, {0: 2, 1: 2, 2: 2}))):
    ...     print(clique)
    Clique(members=(1, 0), separator=1, parent=1)
    Clique(members=(2, 1), separator=0, parent=-1)
    """
    step_of = {step.variable: i for i, step in enumerate(steps)}
    onward = [min((step_of[u] for u in step.neighbours), default=-1) for step in steps]
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
            tuple(sorted((steps[i].variable, *steps[i].neighbours), key=step_of.__getitem__, reverse=True)),
            len(steps[final[i]].neighbours),
            position[first[onward[final[i]]]] if onward[final[i]] >= 0 else -1,
        )
        for i in kept
    )


def reachable(structure: Structure, xs: Iterable[int], given: Iterable[int] = ()) -> set[int]:
    """Return the variables that are not d-separated from some x: those with an active trail to it (Bayes ball).

    References
    ----------
    Koller and Friedman (2009), Probabilistic Graphical Models, algorithm 3.1.

    >>> sorted(reachable({0: (), 1: (), 2: (0, 1)}, [0])), sorted(reachable({0: (), 1: (), 2: (0, 1)}, [0], [2]))
    ([0, 2], [0, 1])
    """
    below, observed = children(structure), set(given)
    opened = ancestors(structure, observed)
    waiting = [(x, True) for x in xs]
    seen = set(waiting)
    while waiting:
        v, upward = waiting.pop()
        onward = [(c, False) for c in below[v]] if v not in observed else []
        if v in opened if not upward else v not in observed:
            onward += [(p, True) for p in structure[v]]
        new = [step for step in onward if step not in seen]
        seen.update(new)
        waiting += new
    return {v for v, _ in seen} - observed


def d_separated(structure: Structure, xs: Iterable[int], ys: Iterable[int], given: Iterable[int] = ()) -> bool:
    """Return whether the graph implies that xs and ys are independent given the others; given variables are separated from all.

    Parameters
    ----------
    structure : dict of {int: tuple of int}
        The parents of every variable.
    xs : iterable of int
        The positions of some variables.
    ys : iterable of int
        The positions of other variables.
    given : iterable of int, default=()
        The positions of the variables that are given.

    Returns
    -------
    bool
        Whether they are separated.

    Examples
    --------
    >>> from naivete.network.graphs import d_separated
    >>> chain = {0: (), 1: (0,), 2: (1,)}
    >>> d_separated(chain, [0], [2]), d_separated(chain, [0], [2], given=[1])
    (False, True)
    """
    observed = set(given)
    return reachable(structure, set(xs) - observed, observed).isdisjoint(ys)


def markov_blanket(structure: Structure, v: int) -> Family:
    """Return the parents and children of v and the other parents of its children: v is independent of all others given them.

    Parameters
    ----------
    structure : dict of {int: tuple of int}
        The parents of every variable.
    v : int
        The position of the variable; -1 is the class.

    Returns
    -------
    tuple of int
        The positions, increasing, with the class last.

    Examples
    --------
    >>> from naivete.network.graphs import markov_blanket
    >>> markov_blanket({0: (), 1: (), 2: (0, 1), 3: (2,)}, 0)
    (1, 2)
    """
    below = [c for c, parents in structure.items() if v in parents]
    return family(*{*structure[v], *below, *(p for c in below for p in structure[c])} - {v})


def skeleton(structure: Structure) -> frozenset[Family]:
    """Return the arcs without their direction.

    >>> sorted(skeleton({0: (), 1: (0,), 2: (1,)}))
    [(0, 1), (1, 2)]
    """
    return frozenset(family(p, v) for v, parents in structure.items() for p in parents)


def v_structures(structure: Structure) -> frozenset[tuple[int, int, int]]:
    """Return every a -> c <- b in which a and b are not connected by an arc, as (a, c, b) with a before b.

    >>> sorted(v_structures({0: (), 1: (), 2: (0, 1)}))
    [(0, 2, 1)]
    """
    connected = skeleton(structure)
    pairs = ((family(a, b), c) for c, parents in structure.items() for a, b in combinations(parents, 2))
    return frozenset((pair[0], c, pair[1]) for pair, c in pairs if pair not in connected)


def cpdag(structure: Structure) -> Cpdag:
    """Return the completed partially directed graph: the arcs that equivalent networks share, and those that can be reversed.

    Parameters
    ----------
    structure : dict of {int: tuple of int}
        The parents of every variable.

    Returns
    -------
    Cpdag
        The arcs and the edges.

    References
    ----------
    Chickering (1995), A transformational characterization of equivalent Bayesian network structures, section 4.

    Examples
    --------
    >>> from naivete.network.graphs import cpdag
    >>> cpdag({0: (), 1: (0,), 2: (1,)}).edges == {(0, 1), (1, 2)}
    True
    >>> sorted(cpdag({0: (), 1: (), 2: (0, 1)}).arcs)
    [(0, 2), (1, 2)]
    """
    order = {v: position for position, v in enumerate(TopologicalSorter(structure).static_order())}
    compelled: set[tuple[int, int]] = set()
    for y in order:
        parents = set(structure[y])
        if not parents:
            continue
        x = max(parents, key=order.__getitem__)
        onward = {w for w in structure[x] if (w, x) in compelled}
        reversible = onward <= parents and parents <= {x, *structure[x]}
        compelled |= {(w, y) for w in (onward if reversible else parents)}
    arcs = {(p, v) for v, parents in structure.items() for p in parents}
    return Cpdag(frozenset(compelled), frozenset(family(p, v) for p, v in arcs - compelled))


def equivalent(one: Structure, two: Structure) -> bool:
    """Return whether two structures imply the same independences: they have the same skeleton and the same v-structures.

    Parameters
    ----------
    one : dict of {int: tuple of int}
        The parents of every variable in the first structure.
    two : dict of {int: tuple of int}
        The parents of every variable in the second structure.

    Returns
    -------
    bool
        Whether they are equivalent.

    Examples
    --------
    >>> from naivete.network.graphs import equivalent
    >>> equivalent({0: (), 1: (0,)}, {0: (1,), 1: ()}), equivalent({0: (), 1: ()}, {0: (), 1: (0,)})
    (True, False)
    """
    return set(one) == set(two) and skeleton(one) == skeleton(two) and v_structures(one) == v_structures(two)
