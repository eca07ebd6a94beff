"""Graphs compared with slow and simple versions: paths, all structures of a few variables, fill counted again at every step."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.network.graphs import (
    ancestors,
    children,
    cpdag,
    d_separated,
    eliminations,
    equivalent,
    interaction_graph,
    junction_tree,
    markov_blanket,
    moral,
    skeleton,
    v_structures,
)
from naivete.variables import CLASS
from tests import LONG

quick = settings(deadline=None, max_examples=60)
Dag = dict[int, tuple[int, ...]]


@st.composite
def dags(draw: st.DrawFn, *, max_size: int = 6) -> Dag:
    """A random acyclic graph, the class anywhere in it."""
    order = draw(st.permutations([*range(draw(st.integers(0, max_size - 1))), CLASS]))
    chance = draw(st.sampled_from([0.2, 0.4, 0.7]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return {v: tuple(p for p in order[:i] if rng.random() < chance) for i, v in enumerate(order)}


@st.composite
def graphs(draw: st.DrawFn, *, max_size: int = 8) -> tuple[dict[int, set[int]], dict[int, int]]:
    """A random undirected graph and numbers of states."""
    members = [*range(draw(st.integers(0, max_size - 1))), CLASS]
    chance = draw(st.sampled_from([0.1, 0.3, 0.6]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = [pair for pair in combinations(members, 2) if rng.random() < chance]
    return interaction_graph([*edges, *((v,) for v in members)]), {v: int(rng.integers(1, 5)) for v in members}


def every_dag(size: int) -> list[Dag]:
    """All acyclic graphs of so many variables."""
    found = {}
    for order in permutations(range(size)):
        choices = [[tuple(sorted(parents)) for k in range(i + 1) for parents in combinations(order[:i], k)] for i in range(size)]
        for parents in product(*choices):
            structure = dict(sorted(zip(order, parents, strict=True)))
            found[tuple(structure.items())] = structure
    return list(found.values())


def active(structure: Dag, trail: tuple[int, ...], observed: set[int]) -> bool:
    """Whether a trail carries information, by the definition."""
    for a, v, b in zip(trail, trail[1:], trail[2:], strict=False):
        meets = a in structure[v] and b in structure[v]
        opened = any(v in ancestors(structure, [k]) for k in observed)
        if (meets and not opened) or (not meets and v in observed):
            return False
    return True


def slow_separated(structure: Dag, x: int, y: int, observed: set[int]) -> bool:
    if x in observed or y in observed:
        return True
    joined = skeleton(structure)
    rest = [v for v in structure if v not in (x, y)]
    trails = ((x, *between, y) for k in range(len(rest) + 1) for between in permutations(rest, k))
    real = (t for t in trails if all((a, b) in joined or (b, a) in joined for a, b in pairwise(t)))
    return x != y and not any(active(structure, t, observed) for t in real)


@given(structure=dags(max_size=5), data=st.data())
@quick
def test_d_separation_is_the_absence_of_active_trails(structure: Dag, data: st.DataObject) -> None:
    observed = set(data.draw(st.lists(st.sampled_from(sorted(structure)), max_size=3)))
    for x, y in product(structure, repeat=2):
        assert d_separated(structure, [x], [y], observed) == slow_separated(structure, x, y, observed)
    xs, ys = (data.draw(st.lists(st.sampled_from(sorted(structure)), max_size=3)) for _ in range(2))
    assert d_separated(structure, xs, ys, observed) == all(d_separated(structure, [x], [y], observed) for x in xs for y in ys)


@given(structure=dags())
@quick
def test_the_markov_blanket_is_the_smallest_separating_set(structure: Dag) -> None:
    for v in structure:
        blanket = markov_blanket(structure, v)
        rest = set(structure) - {v, *blanket}
        assert d_separated(structure, [v], rest, blanket)
        for member in blanket:
            assert not d_separated(structure, [v], {*rest, member}, set(blanket) - {member})


@given(structure=dags())
@quick
def test_children_and_ancestors_invert_parents(structure: Dag) -> None:
    below = children(structure)
    assert {(p, v) for v, parents in structure.items() for p in parents} == {
        (p, v) for p, parents in below.items() for v in parents
    }
    for v in structure:
        above = ancestors(structure, [v])
        assert above == {v}.union(*(ancestors(structure, [p]) for p in structure[v]))


@given(structure=dags())
@quick
def test_separated_in_the_moral_ancestral_graph_is_d_separated(structure: Dag) -> None:
    for x, y in combinations(structure, 2):
        graph = moral({v: structure[v] for v in ancestors(structure, [x, y])})
        reached, waiting = {x}, [x]
        while waiting:
            new = graph[waiting.pop()] - reached
            reached |= new
            waiting += new
        assert (y not in reached) == d_separated(structure, [x], [y])


def slow_order(graph: dict[int, set[int]], cards: dict[int, int], last: set[int]) -> list[int]:
    graph, order = {v: set(parents) for v, parents in graph.items()}, []

    def key(v: int) -> tuple[bool, int, int, int]:
        fill = sum(b not in graph[a] for a, b in combinations(graph[v], 2))
        return v in last, fill, prod(cards[u] for u in (v, *graph[v])), v if v != CLASS else 99

    while graph:
        v = min(graph, key=key)
        for a, b in permutations(graph[v], 2):
            graph[a].add(b)
        for u in graph.pop(v):
            graph[u].discard(v)
        order.append(v)
    return order


@given(drawn=graphs(), data=st.data())
@quick
def test_eliminations_prefer_least_fill_then_smallest_clique_then_lowest_variable(drawn: tuple, data: st.DataObject) -> None:
    graph, cards = drawn
    cards = {v: 2 ** (card - 1) for v, card in cards.items()}
    last = data.draw(st.sets(st.sampled_from(sorted(graph)), max_size=3))
    assert [e.variable for e in eliminations(graph, cards, last)] == slow_order(graph, cards, last)


@given(drawn=graphs(), data=st.data())
@quick
def test_connected_variables_that_are_eliminated_last_share_a_root(drawn: tuple, data: st.DataObject) -> None:
    graph, cards = drawn
    last = data.draw(st.sets(st.sampled_from(sorted(graph)), min_size=1, max_size=3))
    joined = interaction_graph([*((a, b) for a in graph for b in graph[a]), *((v,) for v in graph), last])
    tree = junction_tree(list(eliminations(joined, cards, last)))
    assert any(last <= set(clique.members) and clique.parent < 0 for clique in tree)


def slow_maximal(graph: dict[int, set[int]]) -> set[frozenset[int]]:
    groups = [frozenset(c) for k in range(1, len(graph) + 1) for c in combinations(graph, k)]
    cliques = [c for c in groups if all(b in graph[a] for a, b in combinations(c, 2))]
    return {c for c in cliques if not any(c < d for d in cliques)}


@given(drawn=graphs(max_size=7))
@quick
def test_the_junction_tree_has_the_maximal_cliques_and_running_intersections(drawn: tuple) -> None:
    graph, cards = drawn
    chordal = interaction_graph((step.variable, *step.neighbours) for step in eliminations(graph, cards))
    assert all(graph[v] <= chordal[v] for v in graph)
    tree = junction_tree(list(eliminations(graph, cards)))
    cliques = [frozenset(c.members) for c in tree]
    assert set(cliques) == slow_maximal(chordal)
    assert len(cliques) == len(set(cliques))
    for i, clique in enumerate(tree):
        above = frozenset().union(*cliques[i + 1 :])
        assert set(clique.members[: clique.separator]) == cliques[i] & above
        assert clique.parent > i if clique.separator else clique.parent == -1
        assert clique.parent < 0 or set(clique.members[: clique.separator]) <= cliques[clique.parent]


@given(drawn=graphs(max_size=7))
@quick
def test_the_junction_tree_is_a_maximum_spanning_tree(drawn: tuple) -> None:
    tree = junction_tree(list(eliminations(*drawn)))
    cliques = [frozenset(c.members) for c in tree]
    group = list(range(len(cliques)))
    total = 0
    for a, b in sorted(combinations(range(len(cliques)), 2), key=lambda pair: -len(cliques[pair[0]] & cliques[pair[1]])):
        if group[a] != group[b]:
            total += len(cliques[a] & cliques[b])
            group = [group[a] if g == group[b] else g for g in group]
    assert sum(c.separator for c in tree) == total


@pytest.mark.parametrize("size", [2, 3])
def test_equivalent_structures_have_the_same_separations(size: int) -> None:
    every = every_dag(size)
    observed = [set(k) for n in range(size + 1) for k in combinations(range(size), n)]

    def separations(structure: Dag) -> tuple[bool, ...]:
        return tuple(d_separated(structure, [x], [y], k) for x, y in combinations(range(size), 2) for k in observed)

    facts = [separations(structure) for structure in every]
    for (one, a), (two, b) in product(zip(every, facts, strict=True), repeat=2):
        assert equivalent(one, two) == (a == b)


def test_compelled_arcs_are_those_of_all_equivalent_structures() -> None:
    classes: dict[tuple, list[Dag]] = {}
    for structure in every_dag(4):
        classes.setdefault((skeleton(structure), v_structures(structure)), []).append(structure)
    assert len(classes) == 185  # Gillispie and Perlman (2002), table 1
    for members in classes.values():
        shared = set.intersection(*({(p, v) for v, parents in structure.items() for p in parents} for structure in members))
        expected = frozenset(shared), frozenset(tuple(sorted(e)) for e in skeleton(members[0]) if {e, e[::-1]}.isdisjoint(shared))
        assert all(tuple(cpdag(structure)) == expected for structure in members)


def test_large_stars_and_chains_have_cliques_of_two_variables() -> None:
    n = 20_000 if LONG else 5_000
    star = {CLASS: (), **dict.fromkeys(range(n), (CLASS,))}
    chain = {0: (), **{x: (x - 1,) for x in range(1, n)}}
    for structure in (star, chain):
        tree = junction_tree(list(eliminations(moral(structure), dict.fromkeys(structure, 2))))
        assert max(len(clique.members) for clique in tree) == 2
    assert d_separated(star, [0], range(1, n), [CLASS])
    assert not d_separated(chain, [0], [n - 1])
