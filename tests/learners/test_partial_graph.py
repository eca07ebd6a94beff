"""Graphs on their way from undirected to directed: never a cycle, never an endless loop, whatever the tests say."""

from __future__ import annotations

from graphlib import TopologicalSorter
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.learners.partial_graph import PartialGraph, Separators, extended, ordered

quick = settings(deadline=None, max_examples=150)


@st.composite
def tangled(draw: st.DrawFn) -> tuple[PartialGraph, Separators]:
    """Any undirected graph, with any sets that are said to separate those not adjacent, contradictions among them."""
    n = draw(st.integers(1, 7))
    graph, separators = PartialGraph.complete(range(n)), Separators()
    for a, b in combinations(range(n), 2):
        if draw(st.booleans()):
            graph.remove(a, b)
            others = [v for v in range(n) if v not in (a, b)]
            separators[frozenset((a, b))] = frozenset(draw(st.lists(st.sampled_from(others), unique=True)) if others else [])
    return graph, separators


def acyclic(parents: dict[int, Any]) -> bool:
    return len(list(TopologicalSorter(parents).static_order())) == len(parents)


def directed(graph: PartialGraph) -> dict[int, list[int]]:
    return {v: graph.parents(v) for v in graph.variables}


@given(tangled(), st.booleans(), st.booleans())
@quick
def test_contradictions_end_in_a_graph_without_cycles(drawn: tuple[PartialGraph, Separators], eager: bool, first: bool) -> None:
    graph, separators = drawn
    if first:
        graph.arcs = {(0, v) for v in graph.adjacent[0]}
    skeleton = set(graph.edges)
    graph.orient_v_structures(separators)
    assert acyclic(directed(graph))
    graph.propagate(eager=eager)
    assert acyclic(directed(graph))
    graph.propagate(eager=eager)  # nothing is left to be done
    before = set(graph.arcs)
    graph.propagate(eager=eager)
    assert graph.arcs == before
    order = graph.order()
    assert sorted(order) == graph.variables
    assert all(order.index(p) < order.index(v) for v in graph.variables for p in graph.parents(v))
    parents = extended(graph)
    assert acyclic(parents)
    assert {tuple(sorted((p, v))) for v, own in parents.items() for p in own} == skeleton


@given(tangled())
@quick
def test_an_order_has_parents_first(drawn: tuple[PartialGraph, Separators]) -> None:
    parents = extended(drawn[0])
    first = [drawn[0].variables[-1]] if not parents[drawn[0].variables[-1]] else []
    order = ordered(parents, first)
    assert sorted(order) == drawn[0].variables
    assert order[: len(first)] == first
    assert all(order.index(p) < order.index(v) for v, own in parents.items() for p in own)


@given(tangled(), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.booleans()), max_size=40))
@quick
def test_what_closes_a_cycle_is_what_a_search_of_all_paths_says(
    drawn: tuple[PartialGraph, Separators], changes: list[tuple[int, int, bool]]
) -> None:
    graph = drawn[0]
    for a, b, settles in changes:
        if a in graph.adjacent and b in graph.adjacent[a]:
            below: set[int] = {b}
            for _ in graph.variables:
                below |= {w for v in below for w in graph.adjacent[v] if graph.directed(v, w) and {v, w} != {a, b}}
            assert graph.closes(a, b) == (a in below)
            graph.settle(a, b) if settles else graph.orient(a, b)


def test_the_third_rule_of_cb_is_more_eager() -> None:
    def made() -> PartialGraph:
        graph = PartialGraph.complete([0, 1, 2, 3])
        graph.arcs = {(0, 3), (1, 3)}
        return graph

    eager, usual = made(), made()
    eager.propagate(eager=True)
    usual.propagate()
    assert eager.directed(2, 3)
    assert usual.undirected(2, 3)


def test_propagation_orients_a_bidirected_edge() -> None:
    graph = PartialGraph.complete([0, 1, 2])
    graph.arcs = {(0, 1), (1, 2), (0, 2), (2, 0)}
    graph.propagate()
    assert graph.directed(0, 2)


def test_variables_are_python_integers() -> None:
    assert all(isinstance(v, int) for v in PartialGraph.complete(np.arange(3).tolist()).variables)
