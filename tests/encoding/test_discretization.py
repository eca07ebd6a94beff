"""Cut points of numeric columns."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.encoding.discretization import EqualFrequency, EqualWidth, mdl, mdl_of_columns, midpoint
from naivete.errors import ParameterError
from tests.oracles import slow_mdl


@st.composite
def weighted_values(draw: st.DrawFn, *, whole: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Distinct increasing values, and the weight of each class at each of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, classes = draw(st.integers(0, 25)), draw(st.integers(1, 4))
    values = np.unique(rng.normal(size=count).round(2))
    means = rng.random((classes, 3))
    table = rng.integers(0, 6, (len(values), classes)) * (rng.random((len(values), classes)) < means[:, len(values) % 3])
    table[np.arange(len(values)), rng.integers(0, classes, len(values))] += 1
    fractional = draw(st.booleans()) if whole is None else not whole
    return values, table * (rng.random(table.shape) + 0.1 if fractional else 1.0)


@given(weighted_values())
@settings(deadline=None, max_examples=200)
def test_mdl_is_fayyad_and_irani(given: tuple[np.ndarray, np.ndarray]) -> None:
    values, table = given
    assert np.allclose(mdl(values, table), slow_mdl(values.tolist(), table.tolist()), rtol=1e-12, atol=1e-12)


@given(st.lists(weighted_values(), max_size=4))
@settings(deadline=None)
def test_columns_that_are_cut_together_have_the_same_cuts(columns: list[tuple[np.ndarray, np.ndarray]]) -> None:
    classes = max((table.shape[1] for _, table in columns), default=1)
    padded = [(values, np.pad(table, ((0, 0), (0, classes - table.shape[1])))) for values, table in columns]
    assert mdl_of_columns(padded) == [mdl(values, table) for values, table in padded]


@given(weighted_values(), st.integers(1, 12), st.sampled_from([EqualFrequency, EqualWidth]))
@settings(deadline=None, max_examples=200)
def test_cuts_increase_and_separate_values(given: tuple[np.ndarray, np.ndarray], bins: int, kind: Any) -> None:
    values, table = given
    cuts = kind(bins)(values, table)
    assert list(cuts) == sorted(set(cuts))
    assert len(cuts) < bins or not cuts
    assert all(values[0] <= c < values[-1] for c in cuts)
    assert all(isinstance(c, float) for c in cuts)


@given(weighted_values(whole=True), st.integers(2, 8))
@settings(deadline=None, max_examples=200)
def test_intervals_of_equal_frequency_hold_about_the_same(given: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    values, table = given
    weight = table.sum(axis=1)
    cuts = EqualFrequency(bins)(values, table)
    if len(values):
        held = np.bincount(np.searchsorted(cuts, values), weight)
        assert held.max() <= weight.sum() / bins + weight.max()


def test_equal_frequency_by_hand() -> None:
    values, ones = np.arange(6.0), np.ones((6, 1))
    assert EqualFrequency(3)(values, ones) == (1.5, 3.5)
    assert EqualFrequency(3)(values[:1], ones[:1]) == ()
    assert EqualFrequency(2)(np.array([0.0, 1.0]), np.array([[9.0], [1.0]])) == (0.5,)
    assert EqualFrequency(3)(np.empty(0), np.empty((0, 1))) == ()
    assert EqualWidth(3)(np.array([4.0]), np.ones((1, 1))) == ()


def test_an_interval_of_one_class_is_never_split_whatever_its_weight() -> None:
    for weight in (0.2, 0.75, 0.8, 1.0, 50.0):
        assert mdl(np.array([1.0, 2.0]), np.full((2, 1), weight)) == ()


def test_the_mdl_criterion_counts_all_of_a_thousand_classes() -> None:
    decided = []
    for each, heavy in product((1.5, 2.5, 3.4), (400.0, 1250.0)):
        table = np.zeros((2, 1000))
        table[0] = each
        table[1, 0] = heavy
        decided.append(mdl(np.arange(2.0), table))
        assert list(decided[-1]) == slow_mdl([0.0, 1.0], table.tolist())
    assert {(), (0.5,)} == set(decided)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_midpoint_separates(one: float, two: float) -> None:
    low, high = sorted((one, two))
    if low < high:
        assert low <= midpoint(low, high) < high
        assert math.isfinite(midpoint(low, high))


@pytest.mark.parametrize(
    "cut", [EqualFrequency(0), EqualWidth(0), EqualWidth(1.5), EqualFrequency(True), EqualWidth("3")], ids=repr
)
def test_a_number_of_intervals_is_whole_and_positive(cut: Any) -> None:
    with pytest.raises(ParameterError, match="bins="):
        cut(np.array([1.0, 2.0]), np.ones((2, 1)))
