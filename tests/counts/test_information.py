"""Entropies and informations compared with 50 digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.counts import bit_planes, counts
from naivete.counts.counts import Counts
from naivete.counts.information import arc_information, conditional_information, dependence, entropy, information, relevance
from naivete.counts.pairs import SparsePair
from naivete.variables import CLASS
from tests.oracles import cases_of, counted, exact_entropy, exact_information, identical, tiers
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def count_tables(draw: st.DrawFn, axes: int) -> np.ndarray:
    shape = tuple(draw(st.integers(1, 4)) for _ in range(axes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.integers(0, draw(st.sampled_from([2, 10, 10**9])), shape)
    table.flat[0] += 1
    return table * 0.37 if draw(st.booleans()) else table


@given(count_tables(2))
@settings(deadline=None, max_examples=150)
def test_entropy_and_information_equal_their_definitions(table: np.ndarray) -> None:
    h, i = entropy(table), information(table)
    exact = float(exact_entropy(table))
    assert abs(h - exact) <= 1e-12 * max(exact, 1e-3)
    wanted = exact_information(table[:, :, None])
    assert abs(i - wanted) <= 1e-12 * max(wanted, 1e-2)
    assert 0 <= i <= min(entropy(table.sum(axis=1)), entropy(table.sum(axis=0))) + 1e-12
    assert i == information(table.T) or table.dtype == np.float64
    assert abs(i - information(table.T)) < 1e-14


@given(count_tables(3))
@settings(deadline=None, max_examples=150)
def test_conditional_information_equals_its_definition(table: np.ndarray) -> None:
    exact = exact_information(table)
    bits = conditional_information(table)
    assert abs(bits - exact) <= 1e-12 * max(exact, 1e-2)
    assert bits >= 0
    swapped = conditional_information(table.swapaxes(0, 1))
    assert bits == swapped or table.dtype == np.float64
    assert abs(bits - swapped) < 1e-14
    assert bits <= entropy(table.sum(axis=1)) - entropy(table.sum(axis=(0, 1))) + 1e-12  # H(X | Z)


def test_empty_tables_and_single_states_have_no_information() -> None:
    empty = np.zeros((2, 3), np.int64)
    assert entropy(empty) == 0 == information(empty) == conditional_information(empty[..., None])
    assert entropy(np.array([7])) == 0


@tiers
@given(training=some_cases(max_card=11, features=(1, 6)))
@quick
def test_relevance_and_dependence_of_all_features(training: MemoryCases, cases, tier: str) -> None:
    with _kernels.use(tier):
        count = Counts(cases(training))
        relevant, dependent = relevance(count), dependence(count)
    n = len(training.variables) - 1
    cards = [v.card for v in training.variables]
    for x in range(n):
        assert abs(relevant[x] - exact_information(counted(training.block, (x, CLASS), (cards[x], cards[-1]))[..., None])) < 1e-12
        for y in range(x):
            table = counted(training.block, (y, x, CLASS), (cards[y], cards[x], cards[-1]))
            assert abs(dependent[x, y] - exact_information(table)) < 1e-12
    assert (dependent == dependent.T).all()
    assert (np.diag(dependent) == 0).all()
    assert (dependent >= 0).all()
    assert (relevant >= 0).all()


@given(training=some_cases(max_card=11), seed=st.integers(0, 999))
@quick
def test_informations_do_not_depend_on_the_order_of_rows_and_states(training: MemoryCases, seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = training.block.take(rng.permutation(len(training.block)))
    maps = [np.append(rng.permutation(v.card), np.full(256 - v.card, 255)).astype(np.uint8) for v in training.variables]
    renamed = Block(tuple(m[c] for m, c in zip(maps, block.codes, strict=True)), block.weight)
    one, two = Counts(training), Counts(MemoryCases(training.variables, renamed, training.has_missing))
    if training.block.weight is None or (training.block.weight % 1 == 0).all():
        assert identical(relevance(one), relevance(two))
        assert identical(dependence(one), dependence(two))
    else:
        assert np.allclose(relevance(one), relevance(two), atol=1e-12)
        assert np.allclose(dependence(one), dependence(two), atol=1e-12)


@tiers
@given(training=some_cases(max_card=12, features=(2, 6)))
@quick
def test_sparse_pairs_have_the_same_informations(training: MemoryCases, cases, tier: str) -> None:
    full = dependence(Counts(training))
    with pytest.MonkeyPatch.context() as patch, _kernels.use(tier):
        for name, module, value in (("DENSE_CELLS", counts, 0), ("DENSE_ROWS", counts, 0), ("PLANE_STATES", bit_planes, 1)):
            patch.setattr(module, name, value)
        count = Counts(cases(training), budget=1 << 14)
        sparse = dependence(count)
        assert all(isinstance(pair, SparsePair) for pair in Counts(cases(training)).pairs())
    if training.block.weight is None or (training.block.weight % 1 == 0).all() or not training.has_missing.any():
        assert identical(sparse, full)
    else:
        assert np.allclose(sparse, full, atol=1e-12)


def test_large_counts_are_computed_and_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    training = cases_of([3, 3, 2], [rng.integers(0, 3, 500), rng.integers(0, 3, 500), rng.integers(0, 2, 500)])
    looked_up = dependence(Counts(training)), relevance(Counts(training))
    monkeypatch.setattr("naivete.counts.entropy_terms.TABULATED", 10)
    computed = dependence(Counts(training)), relevance(Counts(training))
    assert all(identical(a, b) for a, b in zip(looked_up, computed, strict=True))


def test_the_information_of_arcs_is_their_dependence() -> None:
    rng = np.random.default_rng(5)
    training = cases_of(
        [3, 12, 2, 2], [rng.integers(0, 3, 200), rng.integers(0, 12, 200), rng.integers(-1, 2, 200), rng.integers(0, 2, 200)]
    )
    count = Counts(training)
    assert arc_information(count, [(0, 1)]) == {}  # the dependence has not been computed, and no rows are counted
    dependent = dependence(count)
    assert dependence(count) is dependent
    bits = arc_information(count, [(0, 1), (1, 2), (2, 0)])
    assert bits == {arc: dependent[arc] for arc in [(0, 1), (1, 2), (2, 0)]}
