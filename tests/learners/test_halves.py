"""Halves: exact, a function of the rows and the seed alone, and by a hash of each row where they do not fit."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, Cases, MemoryCases
from naivete.counts.counts import Counts
from naivete.learners.halves import halves
from naivete.variables import Variable
from tests import LONG
from tests.oracles import cases_of, chunked, rows_of
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
Rows = dict[tuple[int | None, ...], Fraction]


def gathered(cases: Cases) -> Rows:
    """The weight of every different row."""
    found: Counter[Any] = Counter()
    for block in cases.map(lambda block: block):
        for row, weight in rows_of(block):
            found[tuple(row)] += weight  # type: ignore[assignment]
    return dict(found)


def divided(cases: Cases, seed: int, budget: int = 1 << 30) -> tuple[Rows, Rows]:
    learn, judge = halves(Counts(cases, budget=budget), seed)
    return gathered(learn.cases), gathered(judge)


def known(training: MemoryCases) -> MemoryCases:
    """The cases without features of a single state, which halves do not look at."""
    keep = [x for x, v in enumerate(training.variables[:-1]) if v.card > 1]
    codes = (*(training.block.codes[x] for x in keep), training.block.codes[-1])
    return MemoryCases(
        (*(training.variables[x] for x in keep), training.variables[-1]),
        Block(codes, training.block.weight),
        training.has_missing[keep],
    )


@given(own=some_cases(rows=(1, 60)), seed=st.integers(0, 2**40))
@quick
def test_equal_rows_are_shared_out_evenly(own: MemoryCases, seed: int) -> None:
    own = known(own)
    learn, judge = divided(own, seed)
    everything = gathered(own)
    left_over = [0, 0]
    for row, weight in everything.items():
        one, two = learn.get(row, Fraction(0)), judge.get(row, Fraction(0))
        assert float(one + two) == pytest.approx(float(weight), rel=1e-12)
        assert min(one, two) == one.__class__(int(weight / 2))
        left_over[0] += one > two
        left_over[1] += two > one
    assert 0 <= left_over[0] - left_over[1] <= 1
    if all(weight.denominator == 1 for weight in everything.values()):
        assert 0 <= sum(learn.values()) - sum(judge.values()) <= 1


@given(training=some_cases(rows=(1, 60)), seed=st.integers(0, 9), tight=st.booleans())
@quick
def test_only_the_rows_count_not_their_order_place_or_spelling(training: MemoryCases, seed: int, tight: bool) -> None:
    budget = 64 if tight else 1 << 30
    rng = np.random.default_rng(seed)
    expected = divided(training, seed, budget)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    assert divided(shuffled, seed, budget) == expected
    assert divided(chunked(training, rng), seed, budget) == expected
    if training.block.weight is not None and (training.block.weight % 1 == 0).all():
        rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
        twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
        assert divided(twice, seed, budget) == expected


@given(own=some_cases(rows=(1, 60)), seed=st.integers(0, 9), tight=st.booleans())
@quick
def test_a_feature_of_a_single_state_has_no_effect(own: MemoryCases, seed: int, tight: bool) -> None:
    own, budget = known(own), 64 if tight else 1 << 30
    alike = np.where(np.arange(len(own.block)) % 2, 255, 0).astype(np.uint8)
    more = MemoryCases(
        (Variable("alike", ("only",)), *own.variables),
        Block((alike, *own.block.codes), own.block.weight),
        np.append(True, own.has_missing),
    )
    for one, two in zip(divided(own, seed, budget), divided(more, seed, budget), strict=True):
        without: Counter[Any] = Counter()
        for row, weight in two.items():
            without[row[1:]] += weight  # type: ignore[assignment]
        assert dict(without) == one


def test_other_seeds_are_other_halves() -> None:
    training = cases_of([2] * 8, [[int(i >> b & 1) for i in range(128)] for b in range(8)])
    assert len({frozenset(divided(training, seed)[0]) for seed in range(20)}) == 20


def test_rows_that_do_not_fit_go_where_their_hash_says() -> None:
    rng = np.random.default_rng(0)
    training = cases_of([3] * 6, [rng.integers(0, 3, 2000).tolist() for _ in range(6)])
    learn, judge = divided(training, 3, budget=1000)
    assert not set(learn) & set(judge)
    assert {**learn, **judge} == gathered(training)
    assert 800 < sum(learn.values()) < 1200
    assert divided(training, 4, budget=1000)[0] != learn
    exact = divided(training, 3)
    assert sum(exact[0].values()) == sum(exact[1].values()) == 1000


def test_an_empty_block_with_weights_below_one_has_no_effect() -> None:
    training = cases_of([4, 2], [[0, 1, 2, 3], [0, 1, 0, 1]], [0.5, 0.25, 0.5, 0.75])
    for budget in range(4, 800, 4 if LONG else 28):
        expected = divided(training, 1, budget)
        for seed in range(3):
            assert divided(chunked(training, np.random.default_rng(seed), 9), 1, budget) == expected


def test_one_row_learns() -> None:
    learn, judge = divided(cases_of([2, 2], [[1], [0]]), 5)
    assert (learn, judge) == ({(1, 0): 1}, {})
