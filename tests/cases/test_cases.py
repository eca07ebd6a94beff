"""Weights as exact integers, and blocks of rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete._kernels.exact_sums import add_sums, limbs, sum_all, sums_as_numbers
from naivete.cases import Block, MemoryCases
from tests.oracles import cases_of, identical

weights = st.lists(st.floats(5e-324, 1e300), min_size=1, max_size=8)


@given(weights)
@settings(deadline=None, max_examples=200)
def test_the_limbs_of_a_weight_sum_to_it_exactly(own: list[float]) -> None:
    parts = limbs(np.array(own))
    for i, weight in enumerate(own):
        assert sum(int(limb[i]) * Fraction(2) ** (32 * q) for q, limb in parts.items()) == Fraction(weight)
        assert all(0 <= limb[i] < 2**32 for limb in parts.values())


@given(weights, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=100)
def test_sums_of_weights_depend_neither_on_order_nor_on_blocks(own: list[float], random: object) -> None:
    def total(parts: list[list[float]]) -> np.ndarray:
        return sums_as_numbers(sum_all({q: limb.sum(keepdims=True) for q, limb in limbs(np.array(p)).items()} for p in parts))

    shuffled = own.copy()
    random.shuffle(shuffled)
    at = random.randint(0, len(own) - 1)
    assert identical(total([own]), total([shuffled]))
    assert identical(total([own]), total([p for p in (shuffled[:at], shuffled[at:]) if p]))
    assert np.isclose(float(total([own])[0]), float(sum(map(Fraction, own))), rtol=1e-15, atol=0)


def test_whole_weights_give_whole_counts_and_rows_without_weights_need_no_limbs() -> None:
    assert limbs(None) == {0: None}
    assert sums_as_numbers({0: np.array([3])}).dtype == np.int64
    assert sums_as_numbers({0: np.array([1]), -1: np.array([2**31])}).tolist() == [1.5]
    assert sums_as_numbers({-1: np.array([2**33])}).tolist() == [2.0]
    assert sums_as_numbers({2: np.array([1]), 0: np.array([1])}).tolist() == [2.0**64]
    assert add_sums({0: np.array([1])}, {1: np.array([2])}) == {0: np.array([1]), 1: np.array([2])}


def test_a_block_keeps_the_weights_of_its_rows() -> None:
    block = cases_of([2, 2], [[0, 1, 0], [1, 1, 0]], [1.0, 2.0, 0.5]).block
    some = block.take(np.array([2, 0]))
    assert [c.tolist() for c in some.codes] == [[0, 0], [0, 1]]
    assert some.weight is not None
    assert some.weight.tolist() == [0.5, 1.0]
    assert len(some) == 2
    assert Block(block.codes).take(np.array([1])).weight is None


def test_memory_is_one_block() -> None:
    training = cases_of([2, 2], [[0, 1], [1, 1]])
    assert isinstance(training, MemoryCases)
    assert list(training.map(len)) == [2]
    assert training.fold(len, max) == 2
