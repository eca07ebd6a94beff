"""Graphs against slow and obvious versions: paths, all structures of a few variables, fill counted anew at every step."""

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
    maximal_cliques,
    moral,
    skeleton,
    triangulated,
    v_structures,
)
from naivete.variables import CLASS

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
        choices = [[tuple(sorted(own)) for k in range(i + 1) for own in combinations(order[:i], k)] for i in range(size)]
        for own in product(*choices):
            parents = dict(sorted(zip(order, own, strict=True)))
            found[tuple(parents.items())] = parents
    return list(found.values())


def active(parents: Dag, trail: tuple[int, ...], known: set[int]) -> bool:
    """Whether a trail carries information, by the definition."""
    for a, v, b in zip(trail, trail[1:], trail[2:], strict=False):
        meets = a in parents[v] and b in parents[v]
        opened = any(v in ancestors(parents, [k]) for k in known)
        if (meets and not opened) or (not meets and v in known):
            return False
    return True


def slow_separated(parents: Dag, x: int, y: int, known: set[int]) -> bool:
    if x in known or y in known:
        return True
    joined = skeleton(parents)
    rest = [v for v in parents if v not in (x, y)]
    trails = ((x, *between, y) for k in range(len(rest) + 1) for between in permutations(rest, k))
    real = (t for t in trails if all((a, b) in joined or (b, a) in joined for a, b in pairwise(t)))
    return x != y and not any(active(parents, t, known) for t in real)


@given(parents=dags(max_size=5), data=st.data())
@quick
def test_d_separation_is_the_absence_of_active_trails(parents: Dag, data: st.DataObject) -> None:
    known = set(data.draw(st.lists(st.sampled_from(sorted(parents)), max_size=3)))
    for x, y in product(parents, repeat=2):
        assert d_separated(parents, [x], [y], known) == slow_separated(parents, x, y, known)
    xs, ys = (data.draw(st.lists(st.sampled_from(sorted(parents)), max_size=3)) for _ in range(2))
    assert d_separated(parents, xs, ys, known) == all(d_separated(parents, [x], [y], known) for x in xs for y in ys)


@given(parents=dags())
@quick
def test_the_markov_blanket_is_the_least_set_that_separates(parents: Dag) -> None:
    for v in parents:
        blanket = markov_blanket(parents, v)
        rest = set(parents) - {v, *blanket}
        assert d_separated(parents, [v], rest, blanket)
        for member in blanket:
            assert not d_separated(parents, [v], {*rest, member}, set(blanket) - {member})


@given(parents=dags())
@quick
def test_children_and_ancestors_turn_parents_around(parents: Dag) -> None:
    below = children(parents)
    assert {(p, v) for v, own in parents.items() for p in own} == {(p, v) for p, own in below.items() for v in own}
    for v in parents:
        above = ancestors(parents, [v])
        assert above == {v}.union(*(ancestors(parents, [p]) for p in parents[v]))


@given(parents=dags())
@quick
def test_separated_in_the_moral_ancestral_graph_is_d_separated(parents: Dag) -> None:
    for x, y in combinations(parents, 2):
        graph = moral({v: parents[v] for v in ancestors(parents, [x, y])})
        reached, waiting = {x}, [x]
        while waiting:
            fresh = graph[waiting.pop()] - reached
            reached |= fresh
            waiting += fresh
        assert (y not in reached) == d_separated(parents, [x], [y])


def slow_order(graph: dict[int, set[int]], cards: dict[int, int], last: set[int]) -> list[int]:
    graph, order = {v: set(own) for v, own in graph.items()}, []

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
def test_eliminations_take_the_least_fill_then_the_smallest_clique_then_the_lowest(drawn: tuple, data: st.DataObject) -> None:
    graph, cards = drawn
    cards = {v: 2 ** (card - 1) for v, card in cards.items()}
    last = data.draw(st.sets(st.sampled_from(sorted(graph)), max_size=3))
    assert [e.variable for e in eliminations(graph, cards, last)] == slow_order(graph, cards, last)


@given(drawn=graphs(), data=st.data())
@quick
def test_variables_that_are_joined_and_go_last_are_together_at_a_root(drawn: tuple, data: st.DataObject) -> None:
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
def test_the_junction_tree_has_the_maximal_cliques_and_runs_through_intersections(drawn: tuple) -> None:
    graph, cards = drawn
    chordal = triangulated(graph, cards)
    assert all(graph[v] <= chordal[v] for v in graph)
    tree = junction_tree(list(eliminations(graph, cards)))
    cliques = [frozenset(c.members) for c in tree]
    assert set(cliques) == slow_maximal(chordal)
    assert len(cliques) == len(set(cliques))
    assert {frozenset(c) for c in maximal_cliques(list(eliminations(graph, cards)))} == set(cliques)
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
    known = [set(k) for n in range(size + 1) for k in combinations(range(size), n)]

    def says(parents: Dag) -> tuple[bool, ...]:
        return tuple(d_separated(parents, [x], [y], k) for x, y in combinations(range(size), 2) for k in known)

    facts = [says(parents) for parents in every]
    for (one, a), (two, b) in product(zip(every, facts, strict=True), repeat=2):
        assert equivalent(one, two) == (a == b)


def test_compelled_arcs_are_those_of_all_equivalent_structures() -> None:
    classes: dict[tuple, list[Dag]] = {}
    for parents in every_dag(4):
        classes.setdefault((skeleton(parents), v_structures(parents)), []).append(parents)
    assert len(classes) == 185  # Gillispie and Perlman (2002), table 1
    for members in classes.values():
        shared = set.intersection(*({(p, v) for v, own in parents.items() for p in own} for parents in members))
        expected = frozenset(shared), frozenset(tuple(sorted(e)) for e in skeleton(members[0]) if {e, e[::-1]}.isdisjoint(shared))
        assert all(tuple(cpdag(parents)) == expected for parents in members)


def test_a_star_and_a_chain_of_many_variables_take_no_time() -> None:
    n = 20_000
    star = {CLASS: (), **dict.fromkeys(range(n), (CLASS,))}
    chain = {0: (), **{x: (x - 1,) for x in range(1, n)}}
    for parents in (star, chain):
        tree = junction_tree(list(eliminations(moral(parents), dict.fromkeys(parents, 2))))
        assert max(len(clique.members) for clique in tree) == 2
    assert d_separated(star, [0], range(1, n), [CLASS])
    assert not d_separated(chain, [0], [n - 1])
