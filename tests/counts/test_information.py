"""Entropies and informations against 50 digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.counts import counts, pairs
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
    wanted = exact_information(table)
    found = conditional_information(table)
    assert abs(found - wanted) <= 1e-12 * max(wanted, 1e-2)
    assert found >= 0
    turned = conditional_information(table.swapaxes(0, 1))
    assert found == turned or table.dtype == np.float64
    assert abs(found - turned) < 1e-14
    assert found <= entropy(table.sum(axis=1)) - entropy(table.sum(axis=(0, 1))) + 1e-12  # H(X | Z)


def test_nothing_tells_nothing() -> None:
    empty = np.zeros((2, 3), np.int64)
    assert entropy(empty) == 0 == information(empty) == conditional_information(empty[..., None])
    assert entropy(np.array([7])) == 0


@tiers
@given(own=some_cases(max_card=11, features=(1, 6)))
@quick
def test_relevance_and_dependence_of_all_features(own: MemoryCases, cases, tier: str) -> None:
    with _kernels.use(tier):
        count = Counts(cases(own))
        relevant, dependent = relevance(count), dependence(count)
    n = len(own.variables) - 1
    cards = [v.card for v in own.variables]
    for x in range(n):
        assert abs(relevant[x] - exact_information(counted(own.block, (x, CLASS), (cards[x], cards[-1]))[..., None])) < 1e-12
        for y in range(x):
            table = counted(own.block, (y, x, CLASS), (cards[y], cards[x], cards[-1]))
            assert abs(dependent[x, y] - exact_information(table)) < 1e-12
    assert (dependent == dependent.T).all()
    assert (np.diag(dependent) == 0).all()
    assert (dependent >= 0).all()
    assert (relevant >= 0).all()


@given(own=some_cases(max_card=11), seed=st.integers(0, 999))
@quick
def test_neither_rows_nor_states_have_an_order(own: MemoryCases, seed: int) -> None:
    rng = np.random.default_rng(seed)
    block = own.block.take(rng.permutation(len(own.block)))
    maps = [np.append(rng.permutation(v.card), np.full(256 - v.card, 255)).astype(np.uint8) for v in own.variables]
    renamed = Block(tuple(m[c] for m, c in zip(maps, block.codes, strict=True)), block.weight)
    one, two = Counts(own), Counts(MemoryCases(own.variables, renamed, own.gaps))
    if own.block.weight is None or (own.block.weight % 1 == 0).all():
        assert identical(relevance(one), relevance(two))
        assert identical(dependence(one), dependence(two))
    else:
        assert np.allclose(relevance(one), relevance(two), atol=1e-12)
        assert np.allclose(dependence(one), dependence(two), atol=1e-12)


@tiers
@given(own=some_cases(max_card=12, features=(2, 6)))
@quick
def test_pairs_by_the_configurations_that_occur_tell_the_same(own: MemoryCases, cases, tier: str) -> None:
    full = dependence(Counts(own))
    with pytest.MonkeyPatch.context() as patch, _kernels.use(tier):
        for name, module, value in (("DENSE_CELLS", counts, 0), ("DENSE_ROWS", counts, 0), ("PLANE_STATES", pairs, 1)):
            patch.setattr(module, name, value)
        count = Counts(cases(own), budget=1 << 14)
        found = dependence(count)
        assert all(isinstance(pair, SparsePair) for pair in Counts(cases(own)).pairs())
    if own.block.weight is None or (own.block.weight % 1 == 0).all() or not own.gaps.any():
        assert identical(found, full)
    else:
        assert np.allclose(found, full, atol=1e-12)


def test_large_counts_are_computed_and_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    own = cases_of([3, 3, 2], [rng.integers(0, 3, 500), rng.integers(0, 3, 500), rng.integers(0, 2, 500)])
    looked_up = dependence(Counts(own)), relevance(Counts(own))
    monkeypatch.setattr("naivete.counts.entropy_terms.TABULATED", 10)
    computed = dependence(Counts(own)), relevance(Counts(own))
    assert all(identical(a, b) for a, b in zip(looked_up, computed, strict=True))


def test_the_information_of_arcs_is_their_dependence() -> None:
    rng = np.random.default_rng(5)
    own = cases_of(
        [3, 12, 2, 2], [rng.integers(0, 3, 200), rng.integers(0, 12, 200), rng.integers(-1, 2, 200), rng.integers(0, 2, 200)]
    )
    count = Counts(own)
    assert arc_information(count, [(0, 1)]) == {}  # nobody has asked for the dependence, and nothing is counted for it
    dependent = dependence(count)
    assert dependence(count) is dependent
    found = arc_information(count, [(0, 1), (1, 2), (2, 0)])
    assert found == {arc: dependent[arc] for arc in [(0, 1), (1, 2), (2, 0)]}
