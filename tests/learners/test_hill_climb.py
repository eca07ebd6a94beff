"""Hill climbing: summits are summits, and those of pyAgrum."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import score_of
from naivete.errors import ParameterError
from naivete.learners.hill_climb import _Search, climbed, hill_climb
from naivete.network.graphs import topological
from naivete.variables import CLASS
from tests.learners.test_k2 import gum, gum_data, sampled
from tests.oracles import cases_of, identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
Parents = dict[int, tuple[int, ...]]


def neighbours(parents: Parents, most: int, class_root: bool) -> list[Parents]:
    """Every structure that one arc added, taken away or turned leads to."""
    found = []
    for p, v in permutations(parents, 2):
        parent_sets = {u: set(ps) for u, ps in parents.items()}
        if p in parent_sets[v]:
            parent_sets[v].discard(p)
            found.append(parent_sets)
            turned = {u: set(ps) for u, ps in parent_sets.items()}
            turned[p].add(v)
            found.append(turned)
        elif v not in parent_sets[p]:
            parent_sets[v].add(p)
            found.append(parent_sets)
    fine = [{u: tuple(sorted(ps)) for u, ps in parent_sets.items()} for parent_sets in found]
    return [
        parent_sets
        for parent_sets in fine
        if len(topological(parent_sets)) == len(parent_sets)
        and max(map(len, parent_sets.values())) <= most
        and not (class_root and parent_sets[CLASS])
    ]  # fmt: skip


@given(
    training=some_cases(features=(1, 5), rows=(1, 60), max_card=3, has_missing=False),
    score=st.sampled_from(["k2", "bdeu:2", "bic", "aic"]),
    most=st.sampled_from([1, 2, 9]),
    class_root=st.booleans(),
    tabu=st.sampled_from([0, 5]),
)
@quick
def test_no_single_change_is_better(training: MemoryCases, score: str, most: int, class_root: bool, tabu: int, cases: Any) -> None:
    counts = Counts(cases(training))
    network = hill_climb(counts, criterion=score, max_parents=most, tabu=tabu, class_root=class_root)
    scores = FamilyScores(Counts(training), score_of(score))
    parents: Parents = {v: tuple(sorted(ps)) for v, ps in network.parents.items()}
    reached = scores.total(parents)
    assert reached >= scores.total(dict.fromkeys(parents, ())) - 1e-6
    assert not (class_root and parents[CLASS])
    assert max(map(len, parents.values())) <= most
    for other in neighbours(parents, most, class_root):
        assert scores.total(other) <= reached + 1e-6


@given(
    training=some_cases(features=(2, 5), rows=(5, 60), max_card=3, has_missing=False), score=st.sampled_from(["k2", "bdeu", "bic"])
)
@quick
def test_the_tabu_list_never_gives_a_lower_score(training: MemoryCases, score: str) -> None:
    scores = FamilyScores(Counts(training), score_of(score))
    levels = [scores.total(climbed(scores, tabu=tabu)) for tabu in (0, 3, 10)]
    assert levels[0] <= levels[1] + 1e-6
    assert levels[1] <= levels[2] + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_pyagrum_finds_the_same_maximum(seed: int) -> None:
    table = sampled(seed, 500, 5)
    n = table.shape[1]
    template, frame = gum_data(table)
    learner = gum.BNLearner(frame, template)
    learner.useGreedyHillClimbing()
    learner.useScoreK2()
    learner.useNoPrior()
    theirs = {(f"v{a}", f"v{b}") for a, b in learner.learnBN().arcs()}
    training = cases_of([int(c.max()) + 1 for c in table.T], table.T.tolist())
    name = {**{x: f"v{x}" for x in range(n - 1)}, CLASS: f"v{n - 1}"}
    ours = hill_climb(Counts(training), criterion="k2", tabu=0)
    assert {(name[p], name[v]) for v, parents in ours.parents.items() for p in parents} == theirs
    assert theirs


@pytest.mark.parametrize(("columns", "rows"), [(5, 60), (6, 60), (6, 100), (12, 150)])
def test_hill_climbing_ends_with_missing_values(columns: int, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an arc gains is judged on the cases that know it, so that gains need not agree; it ends all the same."""
    steps = 0
    apply = _Search.apply

    def counted(self: _Search, move: Any) -> None:
        nonlocal steps
        steps += 1
        apply(self, move)

    monkeypatch.setattr(_Search, "apply", counted)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        table = sampled(seed, rows, columns)
        holes = [np.where(rng.random(rows) < 0.55, -1, c).tolist() for c in table.T[:-1]]
        training = cases_of([int(c.max()) + 1 for c in table.T], [*holes, table[:, -1].tolist()])
        for score in ("k2", "bdeu"):
            steps = 0
            assert len(hill_climb(Counts(training), criterion=score).order) == columns
            assert 0 < steps < 400


@given(training=some_cases(features=(2, 5), rows=(2, 30)), score=st.sampled_from(["k2", "bdeu", "aic"]), seed=st.integers(0, 99))
@quick
def test_result_does_not_depend_on_back_end_or_order_of_rows(training: MemoryCases, score: str, seed: int, cases: Any) -> None:
    network = hill_climb(Counts(training), criterion=score)
    order = np.random.default_rng(seed).permutation(len(training.block))
    shuffled = MemoryCases(training.variables, training.block.take(order), training.has_missing)
    assert identical(network, hill_climb(Counts(shuffled), criterion=score))
    assert identical(network, hill_climb(Counts(cases(training)), criterion=score))


@given(training=some_cases(weights="whole"))
@quick
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases) -> None:
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    assert identical(hill_climb(Counts(training)), hill_climb(Counts(twice)))


def test_each_step_is_one_pass_and_max_steps_limits_them() -> None:
    training = cases_of([2, 3, 2, 3, 2, 3], sampled(2, 300).T.tolist())
    for most in range(4):
        counts = Counts(training)
        network = hill_climb(counts, max_steps=most, tabu=0)
        assert sum(map(len, network.parents.values())) <= most
        assert counts.passes <= 3 + 2 * most


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tabu": -1}, "tabu=-1"),
        ({"tabu": None}, "tabu=None"),
        ({"tabu": 2.5}, "tabu=2.5"),
        ({"max_steps": -2}, "max_steps=-2"),
        ({"max_steps": "x"}, "max_steps='x'"),
        ({"max_parents": True}, "max_parents=True"),
        ({"class_root": "yes"}, "class_root='yes'"),
        ({"class_root": None}, "class_root=None"),
        ({"class_root": 1}, "class_root=1"),
        ({"criterion": "bdeau"}, "criterion='bdeau'.*'bdeu'"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        hill_climb(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), **options)
