"""The skeleton from independence tests: which edges are removed, and which tests are made."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.counts.independence import EnoughCases
from naivete.learners import skeleton as module
from naivete.learners.partial_graph import PartialGraph, Separators
from naivete.learners.skeleton import most_tests, remove_edges
from tests.learners.test_partial_graph import tangled

quick = settings(deadline=None, max_examples=150)


def separates(test: Any) -> bool:
    return hash((sum(test[:2]), sum(test[2:]))) % 3 == 0


@given(tangled(), st.integers(0, 3), st.integers(1, 9), st.lists(st.integers(2, 4), min_size=7, max_size=7), st.booleans())
@quick
def test_edges_are_removed_if_any_initial_neighbors_separate(
    drawn: tuple[PartialGraph, Separators], size: int, most: int, cards: list[int], limited: bool
) -> None:
    graph = drawn[0]
    tests: list[tuple[int, ...]] = []

    def independent(questions: Any) -> Any:
        tests.extend(map(tuple, questions.tolist()))
        return np.array([separates(question) for question in questions.tolist()])

    enough = EnoughCases(np.array(cards), 40.0) if limited else None
    edges, adjacent = graph.edges, {v: set(neighbors) for v, neighbors in graph.adjacent.items()}
    wanted = {
        (a, b): [
            some
            for v, w in ((a, b), (b, a))
            for some in combinations(sorted(adjacent[v] - {w}), size)
            if not limited or prod(cards[m] for m in (a, b, *some)) <= 40
        ]
        for a, b in edges
    }
    at_most = most_tests(graph, size, enough)
    separators = Separators()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_TESTS", most)
        tested = remove_edges(graph, size, independent, separators, enough)
    assert tested == sum(map(bool, wanted.values()))
    assert len(tests) == len(set(tests)) <= at_most
    for a, b in edges:
        separating = [some for some in wanted[a, b] if separates((a, b, *some))]
        assert (b in graph.adjacent[a]) == (not separating)
        if separating:
            assert separators.get(frozenset((a, b)), frozenset()) == frozenset(separating[0])


def test_what_cannot_be_tested_is_not_even_enumerated() -> None:
    graph = PartialGraph.complete(range(40))

    def never(tests: Any) -> Any:
        raise AssertionError(f"{len(tests)} tests are made")

    enough = EnoughCases(np.full(40, 2), 8.0)  # of three variables at most
    assert remove_edges(graph, 12, never, Separators(), enough) == 0
    assert most_tests(graph, 12, enough) == 0
    assert len(graph.edges) == 40 * 39 // 2


def test_an_edge_is_not_tested_any_more_once_its_ends_are_independent() -> None:
    graph = PartialGraph.complete(range(30))
    made = 0

    def independent(tests: Any) -> Any:
        nonlocal made
        made += len(tests)
        return np.ones(len(tests), bool)

    assert remove_edges(graph, 2, independent, Separators()) == 30 * 29 // 2
    assert made == module.FIRST_TESTS * 30 * 29 // 2
    assert not graph.edges
