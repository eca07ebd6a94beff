"""PC against d-separation: an oracle gives back the class of equivalent networks, data what its tests say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.counts.counts import Counts
from naivete.errors import NaiveteWarning, ParameterError, ResourceError
from naivete.learners.copies import copies
from naivete.learners.partial_graph import PartialGraph, extended
from naivete.learners.pc import oracle, pc, pc_graph
from naivete.learners.skeleton import edges_at_once, remove_edges
from naivete.network.graphs import ancestors, cpdag, equivalent
from naivete.variables import CLASS, family
from tests.oracles import cases_of
from tests.strategies import structures


def edges(graph: PartialGraph) -> set[Any]:
    return {family(a, b) for a, b in graph.edges if graph.undirected(a, b)}


def relabelled(parents: dict[int, tuple[int, ...]], new: list[int]) -> dict[int, tuple[int, ...]]:
    """The same graph with other numbers; the class may be anywhere."""
    at = dict(zip(sorted(parents), new, strict=True))
    return {at[v]: tuple(at[p] for p in own) for v, own in parents.items()}


@given(st.data(), st.integers(0, 6))
@settings(max_examples=300, deadline=None)
def test_with_a_d_separation_oracle_the_equivalence_class_is_found_exactly(data: st.DataObject, features: int) -> None:
    drawn = data.draw(structures(features, max_parents=3))
    parents = relabelled(drawn, data.draw(st.permutations(sorted(drawn))))
    graph = pc_graph(parents, oracle(parents))
    expected = cpdag(parents)
    assert graph.arcs == expected.arcs
    assert edges(graph) == expected.edges
    assert equivalent(extended(graph), parents)


def test_exercise_8_1_of_jensen_and_nielsen() -> None:
    """Poker with the opponent's hands hidden: the class has all three observed features as parents (figure 8.2)."""
    names = ["FC", "SC", "MH", "OH0", "OH1", "OH2"]
    fc, sc, mh, oh0, oh1, oh2 = range(len(names))
    poker = {fc: (oh0,), sc: (oh1,), mh: (), oh0: (), oh1: (oh0, fc), oh2: (oh1, sc), CLASS: (oh2, mh)}
    graph = pc_graph([fc, sc, mh, CLASS], oracle(poker))
    assert graph.arcs == {(fc, CLASS), (sc, CLASS), (mh, CLASS)}
    assert edges(graph) == {(fc, sc)}
    assert extended(graph)[CLASS] == (fc, sc, mh)


def test_max_order_limits_the_neighbors() -> None:
    chain = {0: (), 1: (0,), 2: (1,), CLASS: ()}
    assert edges(pc_graph(chain, oracle(chain), max_order=0)) == {(0, 1), (0, 2), (1, 2)}
    assert edges(pc_graph(chain, oracle(chain), max_order=1)) == {(0, 1), (1, 2)}


def test_by_default_rounds_of_too_many_tests_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hidden common cause makes all features dependent, whatever they are conditioned on."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 2000)
    columns = [np.where(rng.random(2000) < 0.6, hidden, rng.integers(0, 2, 2000)).tolist() for _ in range(9)]
    counts = Counts(cases_of([2] * 9, columns))
    made = []

    def watched(graph: PartialGraph, order: int, *rest: Any) -> int:
        made.append(order)
        return remove_edges(graph, order, *rest)

    monkeypatch.setattr("naivete.learners.pc.remove_edges", watched)
    whole = dict(pc(counts, max_order=None).parents)
    assert dict(pc(counts).parents) == whole
    assert max(made) > 3
    made.clear()
    monkeypatch.setattr("naivete.learners.pc.ROUND_TESTS", 36 * 2 * 28)  # 36 edges, pairs of 8 neighbors on either side
    pc(counts)
    assert made == [0, 1, 2]
    made.clear()
    monkeypatch.setattr("naivete.learners.pc.ROUND_TESTS", 0)
    pc(counts)
    assert made == [0, 1]


def test_data_of_a_network_give_its_class_of_equivalent_ones() -> None:
    """a -> b <- c, b -> d, with the class as d: 20,000 cases leave no doubt."""
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)
    b = np.where(rng.random(20_000) < 0.7, np.minimum(a + c, 2), rng.integers(0, 3, 20_000))
    d = np.where(rng.random(20_000) < 0.7, b, rng.integers(0, 3, 20_000))
    training = cases_of([2, 3, 3, 3], [a.tolist(), b.tolist(), c.tolist(), d.tolist()])
    for test in ("g", "chi2"):
        assert dict(pc(Counts(training), alpha=0.001, test=test).parents) == {CLASS: (1,), 0: (), 1: (0, 2), 2: ()}


def test_edges_tested_in_parts_give_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, 2, 400)]
    for _ in range(11):
        columns.append(np.where(rng.random(400) < 0.7, columns[rng.integers(len(columns))], rng.integers(0, 2, 400)))
    training = cases_of([2] * 12, [column.tolist() for column in columns])
    expected = dict(pc(Counts(training)).parents)
    for at_once in (1, 7):
        monkeypatch.setattr("naivete.learners.pc.edges_at_once", lambda *_, at_once=at_once: at_once)
        assert dict(pc(Counts(training)).parents) == expected


def test_a_graph_that_exceeds_the_budget_is_refused_before_the_work() -> None:
    training = cases_of([2] * 30, [[0, 1] * 10] * 29 + [[0, 0, 1, 1] * 5])
    counts = Counts(training, budget=100_000)
    with pytest.raises(ResourceError, match=r"PC on \d+ features keeps about .* bytes .* raise `budget=`"):
        edges_at_once(counts, 30, "PC")
    assert counts.passes <= 1


def test_many_columns_of_few_rows_take_limited_work() -> None:
    rng = np.random.default_rng(0)
    training = cases_of([4] * 30, [rng.integers(0, 4, 120).tolist() for _ in range(30)])
    counts = Counts(training)
    assert len(pc(counts, alpha=0.001).variables) == 30
    assert counts.passes < 10


def test_a_copy_of_a_feature_leaves_the_others_as_they_are_and_is_named() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000)
    a = np.where(rng.random(1000) < 0.9, y, 1 - y)
    b = np.where(rng.random(1000) < 0.7, y, rng.integers(0, 3, 1000))
    without = pc(Counts(cases_of([2, 3, 2], [a.tolist(), b.tolist(), y.tolist()])))
    with_copy = cases_of([2, 3, 2, 2], [a.tolist(), b.tolist(), (1 - a).tolist(), y.tolist()])
    with pytest.warns(NaiveteWarning, match=r"a feature is a copy.* 'x2' of 'x0'; PC gives a copy no other parent"):
        found = pc(Counts(with_copy))
    assert dict(found.parents) == {**without.parents, 2: (0,)}
    assert without.parents[0] == (CLASS,)


def test_features_with_equal_tables_that_are_no_copies_are_not_named() -> None:
    a, b = [0, 0, 1, 1] * 20, [0, 1, 0, 1] * 20
    assert copies(Counts(cases_of([2, 2, 2, 2], [a, b, a, [0, 1, 1, 0] * 20])), [0, 1, 2]) == {2: 0}


@pytest.mark.filterwarnings("error")
def test_features_that_are_equal_by_chance_or_because_of_the_class_are_not_reported() -> None:
    """Two features that are the class, and two of which 30 features of few cases have some by chance."""
    y, a = [0] * 40 + [1] * 40, [0] * 40 + [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert list(pc(Counts(cases_of([2, 2, 2], [y, y, y]))).parents[1]) == [0]
    rng = np.random.default_rng(0)
    others = [rng.integers(0, 3, 50).tolist() for _ in range(28)]
    assert list(pc(Counts(cases_of([2] * 2 + [3] * 28 + [2], [a, a, *others, y[:50]]))).parents[1]) == [0]


def test_the_class_has_no_more_parents_than_there_are_cases_for() -> None:
    """Twelve features, too few cases for a test of any of them, are all adjacent to a class of 20 states."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, 150)
    columns = [((y >> (i % 5) & 1) ^ (rng.random(150) < 0.1)).tolist() for i in range(12)]
    training = cases_of([*[2] * 12, 20], [*columns, y.tolist()])
    assert len(pc(Counts(training), max_parents=None).parents[CLASS]) == 12
    parents = pc(Counts(training)).parents
    cards = {**dict.fromkeys(range(12), 2), CLASS: 20}
    assert all(len(p) < 2 or np.prod([cards[m] for m in (v, *p)]) <= 150 for v, p in parents.items())
    assert len(parents[CLASS]) == 2
    assert all(CLASS in parents[x] or x in ancestors(parents, [CLASS]) for x in range(12))
    assert max(len(p) for p in pc(Counts(training), max_parents=1).parents.values()) == 1


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"alpha": 0}, "alpha=0"),
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"alpha": None}, "alpha=None"),
        ({"test": "t"}, "test='t'"),
        ({"max_order": -1}, "max_order=-1"),
        ({"max_order": 0.5}, "max_order=0.5"),
        ({"max_parents": "all"}, "max_parents='all'"),
        ({"max_parents": -1}, "max_parents=-1"),
        ({"smoothing": -1}, "smoothing=-1"),
        ({"prior": [2, 3]}, "prior="),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        pc(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), **options)
