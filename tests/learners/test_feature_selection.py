"""Naive-AS, K2-AS and K2-AS<= against the definition: every candidate learned anew and judged row by row."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, Cases, MemoryCases
from naivete.cases.views import select_features
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.inference.predictor import Predictor
from naivete.learners.cb import cb
from naivete.learners.feature_selection import network_on_selected
from naivete.learners.halves import halves
from naivete.learners.k2 import k2
from naivete.learners.k2_as import k2_selection
from naivete.learners.naive import naive
from naivete.learners.naive_as import naive_as, naive_selection
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.oracles import cases_of, chunked, identical, missing
from tests.strategies import some_cases

quick = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)
Learner = Callable[[Counts], Network]
NEAR = 1e-9


def k2_as(counts: Counts, **options: Any) -> Network:
    return network_on_selected(counts, k2_selection(counts, **options), cb)


class DoubtError(Exception):
    """Two classes are so near that rounding decides between them."""


class Judge:
    """The weight that is right when a learner is given one half of the cases and asked about the other."""

    def __init__(self, training: MemoryCases, learner: Learner, seed: int) -> None:
        self.learn, self.judge = halves(Counts(training), seed)
        self.learner = learner
        self.classes = self.learn.tables([(CLASS,)])[CLASS,]

    def rows(self) -> tuple[Block, np.ndarray]:
        assert isinstance(self.judge, MemoryCases)
        block = self.judge.block
        return block, np.ones(len(block)) if block.weight is None else block.weight

    def right(self, features: list[int]) -> Fraction:
        block, weight = self.rows()
        if not features:
            best = int(np.argmax(self.classes))
            return sum((Fraction(float(w)) for w in weight[block.codes[-1] == best]), Fraction(0))
        network = self.learner(Counts(select_features(self.learn.cases, tuple(features))))
        codes = [block.codes[x] for x in features]
        posterior, _ = Predictor(network).posterior(codes, np.array([missing(c).any() for c in codes], bool))
        if posterior.shape[1] > 1 and len(posterior):
            top = np.sort(posterior, axis=1)
            if (top[:, -1] - top[:, -2] < NEAR).any():
                raise DoubtError
        hits = posterior.argmax(axis=1) == block.codes[-1]
        return sum((Fraction(float(w)) for w in weight[hits]), Fraction(0))


def slow_forward(judge: Judge, features: list[int], accept_ties: bool) -> list[int]:
    """Add the feature with which most is right, while that rises, or with `accept_ties` while it does not fall."""
    selected: list[int] = []
    right = judge.right([])
    while len(selected) < len(features):
        tried = {x: judge.right([*selected, x]) for x in features if x not in selected}
        best = max(tried.values())
        if best < right or (best == right and not accept_ties):
            break
        selected.append(min(x for x, r in tried.items() if r == best))
        right = best
    return selected


def telling(training: MemoryCases) -> list[int]:
    return [x for x, v in enumerate(training.variables[:-1]) if v.card > 1]


drawn = some_cases(rows=(2, 40), features=(1, 5), max_card=3, weights="fractional")


@given(training=drawn, seed=st.integers(0, 3), smoothing=st.sampled_from([1.0, 0.3, "m-estimate"]))
@quick
def test_naive_as_is_the_definition(training: MemoryCases, seed: int, smoothing: Any, cases: Any) -> None:
    judge = Judge(training, lambda counts: naive(counts, smoothing=smoothing), seed)
    try:
        expected = slow_forward(judge, telling(training), accept_ties=True)
    except DoubtError:
        assume(False)
    found = naive_selection(Counts(cases(training)), random_state=seed, smoothing=smoothing)
    assert found == expected
    network = naive_as(Counts(cases(training)), random_state=seed, smoothing=smoothing)
    assert dict(network.parents) == {
        CLASS: (),
        **{x: (CLASS,) if x in expected else () for x in range(len(training.variables) - 1)},
    }
    whole = naive(Counts(training), smoothing=smoothing)
    assert all(identical(network.cpts[v], whole.cpts[v]) for v in (*expected, CLASS))


@given(training=drawn, seed=st.integers(0, 3), accept_ties=st.booleans(), most=st.sampled_from([None, 1, 2]))
@quick
def test_k2_as_is_the_definition(training: MemoryCases, seed: int, accept_ties: bool, most: int | None, cases: Any) -> None:
    judge = Judge(training, lambda counts: k2(counts, max_parents=most), seed)
    try:
        expected = slow_forward(judge, telling(training), accept_ties=accept_ties)
    except DoubtError:
        assume(False)
    assert k2_selection(Counts(cases(training)), accept_ties=accept_ties, max_parents=most, random_state=seed) == expected
    network = k2_as(Counts(cases(training)), accept_ties=accept_ties, max_parents=most, random_state=seed)
    final = cb(Counts(select_features(training, tuple(sorted(expected))))) if expected else None
    at = {CLASS: CLASS, **dict(enumerate(sorted(expected)))}
    parents = {} if final is None else {at[v]: tuple(at[p] for p in ps) for v, ps in final.parents.items()}
    assert {v: ps for v, ps in network.parents.items() if ps} == {v: ps for v, ps in parents.items() if ps}
    if final is not None:
        assert all(identical(network.cpts[at[v]], cpt) for v, cpt in final.cpts.items())


def test_without_selected_features_the_most_frequent_class_is_predicted() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(60) % 3 == 0).astype(int)
    training = cases_of([2, 2], [rng.integers(0, 2, 60).tolist(), y.tolist()])
    counts = Counts(training)
    for learner in (cb, naive, k2):
        network = network_on_selected(counts, [], learner)
        assert dict(network.parents) == {CLASS: (), 0: ()}
        assert network.cpts[CLASS].tolist() == [2 / 3, 1 / 3]
        posterior, _ = Predictor(network).posterior([np.array([0, 1], np.uint8)], np.array([False]))
        assert np.allclose(posterior, [[2 / 3, 1 / 3]] * 2)
    assert network_on_selected(counts, [], naive, 1.0, [0.1, 0.9]).cpts[CLASS].tolist() == [0.1, 0.9]


def test_a_feature_that_leaves_the_accuracy_the_same_is_selected_with_accept_ties_only() -> None:
    """x0 says nearly all; x1 is noise that does not change a decision."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    training = cases_of(
        [2, 2, 2], [np.where(rng.random(400) < 0.95, y, 1 - y).tolist(), rng.integers(0, 2, 400).tolist(), y.tolist()]
    )
    assert k2_selection(Counts(training)) == [0]
    assert k2_selection(Counts(training), accept_ties=True) == [0, 1]
    assert naive_selection(Counts(training)) == [0, 1]


def test_impossible_rows_are_judged_by_the_rule_of_prediction() -> None:
    """Without smoothing, a row that no class could have produced is answered as prediction answers it, not by the first class."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = np.append(np.zeros(6, int), np.ones(14, int))
        columns = [rng.integers(0, 4, 20).tolist() for _ in range(3)]
        training = cases_of([4, 4, 4, 2], [*columns, y.tolist()], (rng.random(20) + 0.5).tolist())
        judge = Judge(training, lambda counts: naive(counts, smoothing=0), 0)
        try:
            expected = slow_forward(judge, [0, 1, 2], accept_ties=True)
        except DoubtError:
            continue
        assert naive_selection(Counts(training), smoothing=0) == expected


@given(training=some_cases(rows=(1, 40), features=(1, 4)), accept_ties=st.booleans(), seed=st.integers(0, 99))
@quick
def test_result_does_not_depend_on_back_end_or_order_of_rows(training: MemoryCases, accept_ties: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    for learner in (naive_as, lambda counts: k2_as(counts, accept_ties=accept_ties)):
        network = learner(Counts(training))
        others: list[Cases] = [shuffled, chunked(training, rng)]
        assert all(identical(network, learner(Counts(other))) for other in others)


@given(training=some_cases(weights="whole", rows=(1, 30)), accept_ties=st.booleans())
@quick
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases, accept_ties: bool) -> None:
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    assert identical(naive_as(Counts(training)), naive_as(Counts(twice)))
    assert identical(k2_as(Counts(training), accept_ties=accept_ties), k2_as(Counts(twice), accept_ties=accept_ties))


def test_each_feature_that_enters_costs_two_passes() -> None:
    """One for the rows that differ; then all candidates are learned in one pass and judged in another; last the tables."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    columns = [np.where(rng.random(300) < 0.6 + 0.05 * i, y, 1 - y).tolist() for i in range(5)]
    counts = Counts(cases_of([2] * 6, [*columns, y.tolist()]))
    selected = naive_selection(counts)
    assert counts.passes <= 3 + 2 * (len(selected) + 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"accept_ties": "yes"}, "accept_ties='yes'"),
        ({"accept_ties": None}, "accept_ties=None"),
        ({"criterion": "zz"}, "criterion='zz'"),
        ({"max_parents": -3}, "max_parents=-3"),
        ({"smoothing": "no"}, "smoothing='no'"),
        ({"prior": [1.0]}, "prior="),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        k2_as(Counts(cases_of([2, 2], [[0, 1, 1], [0, 1, 1]])), **options)
