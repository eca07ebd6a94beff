"""Leave-one-out by subtraction against honest refitting."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.counts import counts
from naivete.counts.counts import Counts
from naivete.inference.leave_one_out import leave_one_out, leave_one_out_losses
from naivete.inference.leave_one_out_networks import LeaveOneOut
from naivete.network.estimation import estimate
from naivete.network.graphs import topological
from naivete.variables import CLASS
from tests.network.test_estimation import smoothings
from tests.oracles import cases_of, chunked, honest_leave_one_out, identical, many_threads, observed_structure, weight_left_out
from tests.strategies import some_cases, structures

module = import_module("naivete.inference.leave_one_out")
quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
own_cases = some_cases(rows=(1, 14), max_card=3, features=(1, 4))


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@given(training=own_cases, how=smoothings, data=st.data())
@quick
def test_leaving_out_by_subtraction_equals_refitting(training: MemoryCases, dense: bool, how: Any, data: st.DataObject) -> None:
    assume(how != "clark-niblett" or not training.has_missing.any())
    structure = data.draw(structures(len(training.variables) - 1, max_parents=3, class_parent=True))
    with pytest.MonkeyPatch.context() as patch:
        if not dense:
            patch.setattr(counts, "DENSE_CELLS", 0)
        found = leave_one_out(Counts(training), structure, how)
        wanted = honest_leave_one_out(training, structure, how)
    assert np.allclose(found, wanted, rtol=0, atol=1e-11)
    if dense and (training.block.weight is None or (training.block.weight == np.rint(training.block.weight)).all()):
        assert np.array_equal(found, wanted)  # counts without rounding give the same bits


@given(training=own_cases, how=smoothings, data=st.data())
@quick
def test_a_given_prior_is_kept(training: MemoryCases, how: Any, data: st.DataObject) -> None:
    assume(how != "clark-niblett" or not training.has_missing.any())
    structure = data.draw(structures(len(training.variables) - 1, class_parent=True))
    prior = np.full(training.variables[-1].card, 1 / training.variables[-1].card)
    found = leave_one_out(Counts(training), structure, how, prior=prior)
    assert np.allclose(found, honest_leave_one_out(training, structure, how, prior), rtol=0, atol=1e-11)


@given(training=own_cases, how=smoothings, seed=st.integers(0, 99), data=st.data())
@quick
def test_losses_of_many_structures_in_one_pass(training: MemoryCases, how: Any, seed: int, data: st.DataObject) -> None:
    assume(how != "clark-niblett" or not training.has_missing.any())
    n = len(training.variables) - 1
    nested = data.draw(structures(n, max_parents=3, class_parent=True))
    parents = {x: nested[x][:-1] for x in range(n)}
    rng = np.random.default_rng(seed)
    candidates = np.array([[rng.integers(0, len(parents[x]) + 1) for x in range(n)] for _ in range(4)])
    count = Counts(training)
    losses = leave_one_out_losses(count, parents, candidates, how)
    labels = training.block.codes[-1].astype(int)
    weight = np.ones(len(labels)) if training.block.weight is None else training.block.weight
    quick_losses = leave_one_out_losses(count, parents, candidates, how, exact=False)
    for taken, loss, quick_loss in zip(candidates, losses, quick_losses, strict=True):
        structure = {CLASS: (), **{x: (*parents[x][: taken[x]], CLASS) for x in range(n)}}
        true = honest_leave_one_out(training, structure, how)[np.arange(len(labels)), labels]
        assert abs(float(loss) - float((weight * (1 - true) ** 2).sum())) < 1e-8 * (1 + weight.sum())
        by_row = [leave_one_out(count, observed_structure(training, structure, row), how)[row] for row in range(len(labels))]
        true = np.array(by_row)[np.arange(len(labels)), labels]
        assert abs(float(quick_loss) - float((weight * (1 - true) ** 2).sum())) < 1e-8 * (1 + weight.sum())
    assert losses == leave_one_out_losses(Counts(chunked(training, rng)), parents, candidates, how)
    order = rng.permutation(len(labels))
    shuffled = MemoryCases(training.variables, training.block.take(order), training.has_missing)
    assert losses == leave_one_out_losses(Counts(shuffled), parents, candidates, how)


@pytest.mark.parametrize("loss", ["squared", "log", "zero-one"])
@pytest.mark.parametrize("exact", [True, False])
@given(training=some_cases(rows=(1, 8), max_card=3, features=(1, 4), weights=None), seed=st.integers(0, 99), data=st.data())
@settings(quick, max_examples=15)
def test_losses_of_structures_without_some_features(
    loss: str, exact: bool, training: MemoryCases, seed: int, data: st.DataObject
) -> None:
    n = len(training.variables) - 1
    nested = data.draw(structures(n, max_parents=2, class_parent=True))
    order = [v for v in topological(nested) if v != CLASS]
    rng = np.random.default_rng(seed)
    candidates = np.array([[rng.integers(0, len(nested[x])) for x in range(n)] for _ in range(4)])
    for candidate in candidates:
        candidate[order[rng.integers(0, n + 1) :]] = -1  # parents come before their children
    losses = leave_one_out_losses(Counts(training), {x: nested[x][:-1] for x in range(n)}, candidates, loss=loss, exact=exact)
    labels = training.block.codes[-1].astype(int)
    for taken, found in zip(candidates, losses, strict=True):
        structure = {CLASS: (), **{x: (*nested[x][: taken[x]], CLASS) if taken[x] >= 0 else () for x in range(n)}}
        posterior = honest_leave_one_out(training, structure, 1.0)
        for row in () if exact else range(len(labels)):
            posterior[row] = honest_leave_one_out(training, observed_structure(training, structure, row), 1.0)[row]
        true = posterior[np.arange(len(labels)), labels]
        if loss == "zero-one":  # classes that are equally probable up to rounding may be decided either way
            posterior[np.arange(len(labels)), labels] = -1
            ahead = posterior.max(axis=1) - true
            assert (ahead > 1e-9).sum() <= found <= (ahead > -1e-9).sum()
        else:
            expected = (1 - true) ** 2 if loss == "squared" else -np.log2(np.maximum(true, 2.0**-64))
            assert abs(float(found) - expected.sum()) < 1e-6


def test_the_log_loss_of_an_impossible_case_is_64_bits() -> None:
    """Without the only case of its class, the class has probability zero."""
    training = cases_of([2, 2], [[0, 0, 0, 1], [0, 0, 0, 1]])
    candidates = np.array([[-1], [0]])
    losses = leave_one_out_losses(Counts(training), {0: ()}, candidates, 0.0, loss="log")
    assert [float(loss) for loss in losses] == pytest.approx([64 + 3 * np.log2(1.5), 64])


@given(training=some_cases(rows=(1, 14), max_card=3, features=(1, 4), weights="whole"), how=smoothings, data=st.data())
@quick
def test_a_weight_of_two_is_two_cases_of_which_one_is_left_out(training: MemoryCases, how: Any, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1, class_parent=True))
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    assert identical(leave_one_out(Counts(training), structure, how)[rows], leave_one_out(Counts(twice), structure, how))


def test_many_small_pieces_and_threads_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    training = cases_of(
        [3, 3, 2, 2], [rng.integers(-1, 3, 60), rng.integers(0, 3, 60), rng.integers(0, 2, 60), rng.integers(0, 2, 60)]
    )
    structure = {CLASS: (), 0: (CLASS,), 1: (0, CLASS), 2: (1, 0, CLASS)}
    whole = leave_one_out(Counts(training), structure, "backoff")
    monkeypatch.setattr(module, "BLOCK_CELLS", 100)
    many_threads(monkeypatch)
    assert identical(leave_one_out(Counts(training), structure, "backoff"), whole)
    assert identical(leave_one_out(Counts(chunked(training, rng)), structure, "backoff"), whole)


def test_weights_of_any_size_are_summed_exactly() -> None:
    steps = np.array([[2**30, 3, 1]])
    assert module._weighted(steps, None) == [Fraction(2**30 + 4, 2**30)]
    weight = np.array([2.0**40 + 0.5, 2.0**-60, 1e300])
    exact = sum(Fraction(int(s)) * Fraction(float(w)) for s, w in zip(steps[0], weight, strict=True)) / 2**30
    assert module._weighted(steps, weight) == [exact]


def test_a_single_row_leaves_nothing() -> None:
    training = cases_of([2, 2], [[1], [0]])
    assert leave_one_out(Counts(training), {CLASS: (), 0: (CLASS,)}).tolist() == [[0.5, 0.5]]


def test_a_hundred_features_without_smoothing_stay_finite() -> None:
    rng = np.random.default_rng(0)
    training = cases_of([9] * 100 + [2], [*(rng.integers(0, 9, 12) for _ in range(100)), rng.integers(0, 2, 12)])
    found = leave_one_out(Counts(training), {CLASS: (), **dict.fromkeys(range(100), (CLASS,))}, 0.0)
    assert np.isfinite(found).all()
    assert np.allclose(found.sum(axis=1), 1)


def test_clark_and_niblett_with_missing_values_keep_the_share_of_all_cases() -> None:
    """A family with a missing member takes P(c) / N from all cases, the one left out included: nearly, not exactly, honest."""
    rng = np.random.default_rng(4)
    training = cases_of([3, 3, 2], [rng.integers(-1, 3, 80), rng.integers(-1, 3, 80), rng.integers(0, 2, 80)])
    structure = {CLASS: (), 0: (CLASS,), 1: (0, CLASS)}
    found = leave_one_out(Counts(training), structure, "clark-niblett")
    assert np.allclose(found, honest_leave_one_out(training, structure, "clark-niblett"), rtol=0, atol=2e-2)


positive = st.sampled_from([1.0, 0.5, "backoff", "backoff:2"])
"""Smoothings without zeros. By the others a row can be impossible without itself, and its posterior is a matter of convention."""


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@given(training=some_cases(rows=(1, 14), max_card=3, features=(2, 4)), how=positive, data=st.data())
@quick
def test_any_network_of_tables_has_exact_leave_one_out(training: MemoryCases, dense: bool, how: Any, data: st.DataObject) -> None:
    """The class may have parents, and features need not have it as a parent."""
    structure = data.draw(structures(len(training.variables) - 1, max_parents=2))
    above = [x for x, parents in structure.items() if x != CLASS and not parents]
    if above:
        structure[CLASS] = tuple(data.draw(st.lists(st.sampled_from(above), unique=True, max_size=2)))
    with pytest.MonkeyPatch.context() as patch:
        if not dense:
            patch.setattr(counts, "DENSE_CELLS", 4)
        count = Counts(training)
        network = estimate(count, structure, how)
        left_out = LeaveOneOut(count, network, how, None)
        weight = training.block.weight
        block = Block(training.block.codes, None if weight is None else weight_left_out(weight))
        posterior = _kernels.posterior(left_out(block))
        wanted = honest_leave_one_out(training, structure, how)
    assert np.allclose(posterior, wanted, rtol=0, atol=1e-10)
