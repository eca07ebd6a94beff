"""FSSJ and BSEJ against the definition: every change refitted without each case in turn."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import CategoricalNB

from naivete.cases import Block, Cases, MemoryCases
from naivete.cases.views import select_features
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.inference.predictor import Predictor
from naivete.learners.joined import evaluator as evaluator_module
from naivete.learners.joined import search as module
from naivete.learners.joined.evaluator import MoveEvaluator
from naivete.learners.joined.search import bsej_groups, fssj_groups, joined_naive_on
from naivete.learners.joined.terms import NO_MOVE, Group, Move, chain, delta_of, group_terms
from naivete.learners.naive import naive
from naivete.network.network import Network
from naivete.variables import CLASS
from tests import LONG
from tests.network.test_estimation import smoothings
from tests.oracles import cases_of, chunked, honest_leave_one_out, identical, many_threads, weight_left_out
from tests.strategies import some_cases

quick = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much]
)
NEAR = 1e-8
Bounds = tuple[Fraction, Fraction]
small = some_cases(rows=(1, 14), max_card=3, features=(1, 5))


def fssj(counts: Counts, *, smoothing: Any = 1.0, **options: Any) -> Network:
    return joined_naive_on(counts, fssj_groups(counts, smoothing=smoothing, **options), smoothing=smoothing)


def bsej(counts: Counts, *, smoothing: Any = 1.0, **options: Any) -> Network:
    return joined_naive_on(counts, bsej_groups(counts, smoothing=smoothing, **options), smoothing=smoothing)


def weights(training: MemoryCases) -> np.ndarray:
    return np.ones(len(training.block)) if training.block.weight is None else training.block.weight


def total(weight: np.ndarray) -> Fraction:
    return sum((Fraction(float(w)) for w in weight), Fraction(0))


def honest(training: MemoryCases, groups: Sequence[Group], how: Any, prior: Any = None) -> Bounds:
    """What is wrong when the network of these attributes is refitted without each case: for sure, and with doubtful rows."""
    features = tuple(sorted(x for group in groups for x in group))
    labels, weight = training.block.codes[-1].astype(int), weights(training)
    if features:
        parents = {
            features.index(x): tuple(features.index(p) if p != CLASS else p for p in ps)
            for g in groups
            for x, ps in chain(g).items()
        }
        answers = honest_leave_one_out(select_features(training, features), {CLASS: (), **parents}, how, prior)
    else:
        left = (
            np.bincount(labels, weight, training.variables[-1].card)
            - np.eye(training.variables[-1].card)[labels] * weight_left_out(weight)[:, None]
        )
        left = np.maximum(left, 0)
        answers = np.where(left.sum(axis=1, keepdims=True) > 0, left, 1.0) if prior is None else np.tile(prior, (len(labels), 1))
        answers = answers / answers.sum(axis=1, keepdims=True)
    true = answers[np.arange(len(labels)), labels]
    others = answers.copy()
    others[np.arange(len(labels)), labels] = -1.0
    return total(weight[true < others.max(axis=1) - NEAR]), total(weight[true < others.max(axis=1) + NEAR])


@st.composite
def partitions(draw: st.DrawFn, features: int) -> list[Group]:
    """Some of the features in groups."""
    at = [draw(st.integers(-1, 2)) for _ in range(features)]
    return sorted(tuple(x for x in range(features) if at[x] == g) for g in set(at) - {-1})


def all_moves(groups: Sequence[Group], features: int) -> list[Move]:
    unused = [x for x in range(features) if all(x not in g for g in groups)]
    joins = [Move((g, h), tuple(sorted((*g, *h)))) for g, h in combinations(groups, 2)]
    return [NO_MOVE, *(Move((g,), None) for g in groups), *joins, *(Move((), (x,)) for x in unused)]


@given(training=small, how=smoothings, given_prior=st.booleans(), data=st.data())
@quick
def test_leave_one_out_equals_refitting(
    training: MemoryCases, how: Any, given_prior: bool, data: st.DataObject, cases: Any
) -> None:
    assume(how != "clark-niblett" or not training.has_missing.any())
    n, classes = len(training.variables) - 1, training.variables[-1].card
    prior = np.arange(1, classes + 1) / np.arange(1, classes + 1).sum() if given_prior else None
    groups = data.draw(partitions(n))
    moves = all_moves(groups, n)
    found = MoveEvaluator(Counts(cases(training)), how, prior).wrong(groups, moves)
    for move, wrong in zip(moves, found.tolist(), strict=True):
        low, high = honest(training, move.applied(groups), how, prior)
        assert float(low) - 1e-9 <= wrong <= float(high) + 1e-9, move


@pytest.mark.parametrize("how", [0.0, "m-estimate:0", "backoff:0"], ids=str)
def test_rows_that_no_class_could_have_produced_follow_the_rule_of_prediction(how: Any, cases: Any) -> None:
    """Without smoothing, by the prior of the classes with the fewest impossible factors, whichever groups these are in."""
    for seed in range(3 if LONG else 2):
        rng = np.random.default_rng(seed)
        y = np.repeat([0, 1, 2], [3, 5, 7])
        columns = [rng.integers(-(seed % 2), 4, 15).tolist() for _ in range(4)]
        training = cases_of([4] * 4 + [3], [*columns, y.tolist()], (rng.random(15) + 0.5).tolist() if seed % 3 else None)
        groups = [(0,), (1, 2), (3,)]
        moves = all_moves(groups, 4)
        found = MoveEvaluator(Counts(cases(training)), how, None).wrong(groups, moves)
        for move, wrong in zip(moves, found.tolist(), strict=True):
            low, high = honest(training, move.applied(groups), how)
            assert float(low) - 1e-9 <= wrong <= float(high) + 1e-9, move


def test_a_row_of_small_weight_is_left_out_as_a_whole(cases: Any) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 20)
        columns = [np.where(rng.random(20) < 0.6, y, rng.integers(0, 2, 20)).tolist() for _ in range(3)]
        training = cases_of([2] * 4, [*columns, y.tolist()], (rng.random(20) * 0.2).tolist())
        groups = [(0,), (1,), (2,)]
        moves = all_moves(groups, 3)
        found = MoveEvaluator(Counts(cases(training)), 0.1, None).wrong(groups, moves)
        for move, wrong in zip(moves, found.tolist(), strict=True):
            low, high = honest(training, move.applied(groups), 0.1)
            assert float(low) - 1e-9 <= wrong <= float(high) + 1e-9, move


def test_only_the_terms_of_this_step_are_kept() -> None:
    rng = np.random.default_rng(0)
    training = cases_of([2] * 4, rng.integers(0, 2, (4, 20)).tolist(), (rng.random(20) + 0.1).tolist())
    judge = MoveEvaluator(Counts(training), "backoff", None)
    judge.wrong([(0,), (1,), (2,)], [NO_MOVE, Move(((0,), (1,)), (0, 1))])
    judge.wrong([(0, 1), (2,)], [NO_MOVE, Move(((2,),), None)])
    assert judge.kept is not None
    assert [set(piece.terms) for piece in judge.kept] == [{(0, 1), (2,)}]
    assert set(judge.terms) == {(0, 1), (2,)}


def slow_forward(training: MemoryCases, allowed: Callable[[Group], bool]) -> Callable[[list[Group]], list[list[Group]]]:
    def candidates(groups: list[Group]) -> list[list[Group]]:
        unused = [
            x for x in range(len(training.variables) - 1) if training.variables[x].card > 1 and all(x not in g for g in groups)
        ]
        joins = [(x, g) for x in unused for g in groups if allowed((*g, x))]
        return [
            *(sorted([*groups, (x,)]) for x in unused),
            *(sorted([tuple(sorted((*g, x))), *(h for h in groups if h != g)]) for x, g in joins),
        ]

    return candidates


def slow_backward(_: MemoryCases, allowed: Callable[[Group], bool]) -> Callable[[list[Group]], list[list[Group]]]:
    def candidates(groups: list[Group]) -> list[list[Group]]:
        joins = [(g, h) for g, h in combinations(groups, 2) if allowed((*g, *h))]
        return [
            *([h for h in groups if h != g] for g in groups),
            *(sorted([tuple(sorted((*g, *h))), *(i for i in groups if i not in (g, h))]) for g, h in joins),
        ]

    return candidates


def slow_search(training: MemoryCases, groups: list[Group], candidates: Any, how: Any, accept_ties: bool) -> list[Group]:
    """Refit everything for every candidate; refuse to say where two classes are so near that rounding decides."""

    def wrong(groups: list[Group]) -> Fraction:
        low, high = honest(training, groups, how)
        assume(low == high)
        return low

    now = wrong(groups)
    while now and (found := [(wrong(c), c) for c in candidates(groups)]):
        best = min(w for w, _ in found)
        if best > now or (best == now and not accept_ties):
            break
        now, groups = next((w, c) for w, c in found if w == best)
    return groups


searched = some_cases(rows=(2, 16), max_card=3, features=(1, 4), weights="fractional")


@given(
    training=searched,
    how=st.sampled_from([1.0, 0.3, "m-estimate", "backoff"]),
    accept_ties=st.booleans(),
    most=st.sampled_from([None, 1, 2]),
)
@quick
def test_the_searches_follow_their_definitions(
    training: MemoryCases, how: Any, accept_ties: bool, most: int | None, cases: Any
) -> None:
    def allowed(group: Group) -> bool:
        return most is None or len(group) <= most

    everything = [(x,) for x, v in enumerate(training.variables[:-1]) if v.card > 1]
    for learner, find, slow, start in (
        (fssj, fssj_groups, slow_forward, []),
        (bsej, bsej_groups, slow_backward, everything),
    ):
        expected = slow_search(training, start, slow(training, allowed), how, accept_ties)
        options: Any = {"accept_ties": accept_ties, "max_joined": most, "smoothing": how}
        assert find(Counts(cases(training)), **options) == expected
        network = learner(Counts(cases(training)), **options)
        structure = {CLASS: (), **dict.fromkeys(range(len(training.variables) - 1), ())}
        assert dict(network.parents) == structure | {x: ps for g in expected for x, ps in chain(g).items()}
        assert identical(network, joined_naive_on(Counts(training), expected, smoothing=how))


@pytest.mark.parametrize("search", [bsej_groups, fssj_groups], ids=["backward", "forward"])
@pytest.mark.parametrize("seed", range(6))
def test_changes_kept_as_arrays_give_the_same_groups(search: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    rows = 25 if seed % 2 else 200  # few rows: a change is kept for each row, where it has more configurations
    columns = [rng.integers(0, 3, rows) for _ in range(5)]
    y = np.where(rng.random(rows) < 0.8, (columns[0] + columns[1] * columns[2]) % 3, rng.integers(0, 3, rows))
    weight = rng.integers(1, 4, rows).astype(float) if seed % 3 == 0 else None
    training = cases_of([3] * 6, [*(c.tolist() for c in columns), y.tolist()], weight)
    for accept_ties in (False, True):
        kept = search(Counts(training), accept_ties=accept_ties)
        with monkeypatch.context() as patch:
            patch.setattr(module, "batch_evaluator", lambda *_: None)
            assert search(Counts(training), accept_ties=accept_ties) == kept
        assert kept


@given(training=some_cases(rows=(1, 40), features=(1, 5)), how=smoothings, accept_ties=st.booleans(), seed=st.integers(0, 99))
@quick
def test_result_does_not_depend_on_back_end_order_of_rows_or_kept_terms(
    training: MemoryCases, how: Any, accept_ties: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    for learner in (fssj, bsej):
        network = learner(Counts(training), accept_ties=accept_ties, smoothing=how)
        others: list[Cases] = [shuffled, chunked(training, rng)]
        assert all(identical(network, learner(Counts(other), accept_ties=accept_ties, smoothing=how)) for other in others)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(evaluator_module, "KEPT_SHARE", 1 << 40)
            patch.setattr(evaluator_module, "PIECE_CELLS", 50)
            patch.setattr(evaluator_module, "TABLES_SHARE", 1 << 24)
            many_threads(patch)
            assert identical(network, learner(Counts(training), accept_ties=accept_ties, smoothing=how))
            patch.setattr(evaluator_module, "KEPT_SHARE", 8)
            assert identical(network, learner(Counts(training), accept_ties=accept_ties, smoothing=how))


@given(training=some_cases(weights="whole", rows=(1, 30)), how=smoothings)
@quick
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases, how: Any) -> None:
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    for learner in (fssj, bsej):
        assert identical(learner(Counts(training), smoothing=how), learner(Counts(twice), smoothing=how))


def dependent(rows: int = 90) -> MemoryCases:
    """Three attributes of three states around a class, the first two dependent."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, rows)
    a = np.where(rng.random(rows) < 0.5, y, rng.integers(0, 3, rows))
    b = np.where(rng.random(rows) < 0.5, a, rng.integers(0, 3, rows))
    return cases_of([3] * 4, [a.tolist(), b.tolist(), rng.integers(0, 3, rows).tolist(), y.tolist()])


def test_errors_of_single_attributes_equal_those_of_scikit_learn() -> None:
    cases = dependent()
    *columns, y = (c.astype(int) for c in cases.block.codes)
    groups = [(0,), (1,), (2,)]
    moves = [NO_MOVE, *(Move((group,), None) for group in (groups if LONG else groups[:1]))]
    found = MoveEvaluator(Counts(cases), 1.0, None).wrong(groups, moves).tolist()
    for move, wrong in zip(moves, found, strict=True):
        X = np.stack([columns[x] for (x,) in move.applied(groups)], axis=1)
        answers = cross_val_predict(CategoricalNB(min_categories=3), X, y, cv=LeaveOneOut())
        assert wrong == (answers != y).sum()


def test_without_smoothing_a_group_is_one_column_to_scikit_learn() -> None:
    cases = dependent(2000)
    *columns, y = (c.astype(int) for c in cases.block.codes)
    network = joined_naive_on(Counts(cases), [(0, 2), (1,)], smoothing=0)
    X = np.stack([3 * columns[0] + columns[2], columns[1]], axis=1)
    expected = CategoricalNB(alpha=1e-12, force_alpha=True).fit(X, y).predict_proba(X)
    found, _ = Predictor(network).posterior(cases.block.codes[:-1], cases.has_missing)
    assert np.allclose(found, expected, rtol=0, atol=1e-9)


def parity(repeats: int = 6) -> MemoryCases:
    """The class is whether x0 and x2 differ; x1 tells nothing."""
    rows = np.array([*product((0, 1), repeat=3)] * repeats)
    return cases_of([2] * 4, [*rows.T.tolist(), (rows[:, 0] ^ rows[:, 2]).tolist()])


def test_parity_is_found_by_joining() -> None:
    assert bsej_groups(Counts(parity())) == [(0, 2), (1,)]
    assert bsej_groups(Counts(parity()), max_joined=1) == [(0,), (1,), (2,)]
    assert fssj_groups(Counts(parity())) == []
    assert fssj_groups(Counts(parity()), accept_ties=True) == [(0, 2)]


def test_of_equally_good_changes_the_first_is_made() -> None:
    """Three copies of a column that is nearly the class: the first is taken, and the last is what remains."""
    y = [0, 1] * 10
    copies = [[1, *y[1:]]] * 3
    training = cases_of([2, 2, 2, 2], [*copies, y])
    assert fssj_groups(Counts(training)) == [(0,)]
    assert bsej_groups(Counts(training)) == [(0,), (1,), (2,)]
    assert fssj_groups(Counts(training), accept_ties=True) == [(0,), (1,), (2,)]
    assert bsej_groups(Counts(training), accept_ties=True) == [(2,)]


def test_the_search_ends_when_all_cases_are_classified_correctly() -> None:
    y = [0, 1] * 10
    training = cases_of([2, 2, 2], [y, y, y])
    assert fssj_groups(Counts(training), accept_ties=True) == [(0,)]
    assert bsej_groups(Counts(training), accept_ties=True) == [(0,), (1,)]


def test_backward_search_with_max_joined_one_only_removes_attributes() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 200)
    columns = [np.where(rng.random(200) < 0.5 + 0.1 * i, y, 1 - y).tolist() for i in range(4)]
    counts = Counts(cases_of([2] * 5, [*columns, y.tolist()]))
    groups = bsej_groups(counts, max_joined=1)
    assert all(len(group) == 1 for group in groups)
    whole, found = naive(counts), bsej(counts, max_joined=1)
    assert all(identical(found.cpts[x], whole.cpts[x]) for (x,) in groups)


def test_attributes_with_a_large_joint_table_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = parity()
    monkeypatch.setattr(module, "JOINT_CELLS", 7)
    assert bsej_groups(Counts(cases)) == [(0,), (1,), (2,)]
    monkeypatch.setattr(module, "JOINT_CELLS", 8)
    assert bsej_groups(Counts(cases)) == [(0, 2), (1,)]
    assert bsej_groups(Counts(cases, budget=1024 - 1)) == [(0,), (1,), (2,)]
    assert bsej_groups(Counts(cases, budget=1024)) == [(0, 2), (1,)]


def test_a_step_takes_two_passes() -> None:
    counts = Counts(chunked(parity(), np.random.default_rng(0)))
    counts.margins()
    assert bsej_groups(counts) == [(0, 2), (1,)]
    assert counts.passes == 1 + 2 * 2
    counts = Counts(parity())
    counts.margins()
    assert bsej_groups(counts) == [(0, 2), (1,)]
    assert counts.passes == 1 + 2 * 2


def test_transformations_of_blocks_can_be_pickled() -> None:
    training = cases_of([3, 3, 2], [[0, 1, 2, -1, 1], [0, -1, 2, 1, 1], [0, 1, 1, 0, 1]])
    counts = Counts(training)
    for how in (1.0, "backoff", "m-estimate"):
        judge = MoveEvaluator(counts, how, None)
        terms = group_terms(counts, [(0,), (0, 1)], judge.classes, judge.smoothing)
        moves = {move: delta_of(move, terms) for move in (NO_MOVE, Move(((0,),), (0, 1)))}
        trial = evaluator_module._Errors(judge.classes, judge.copies, None, 2, ((0,),), moves, terms, None)
        there = pickle.loads(pickle.dumps(trial))
        assert there(training.block)[0].tolist() == trial(training.block)[0].tolist()


def test_features_of_one_state_are_left_out() -> None:
    training = cases_of([1, 2, 2], [[0] * 8, [0, 1] * 4, [0, 1] * 4])
    assert bsej_groups(Counts(training)) == [(1,)]
    assert fssj_groups(Counts(training), accept_ties=True) == [(1,)]
    nothing = cases_of([1, 2], [[0] * 8, [0, 1] * 4])
    assert bsej_groups(Counts(nothing)) == fssj_groups(Counts(nothing)) == []


@pytest.mark.parametrize("learner", [fssj, bsej])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_joined": 0}, "max_joined=0"),
        ({"max_joined": 1.5}, "max_joined=1.5"),
        ({"max_joined": True}, "max_joined=True"),
        ({"accept_ties": "yes"}, "accept_ties='yes'"),
        ({"smoothing": "no"}, "smoothing='no'"),
        ({"prior": [1.0]}, "prior="),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_refused_by_name(learner: Any, options: Any, named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        learner(Counts(parity()), **options)
