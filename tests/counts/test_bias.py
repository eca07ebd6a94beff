"""Information without its bias."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from naivete.cases import Block, MemoryCases
from naivete.counts.bias import CASES, LEAST, MANY_STATES, joinable
from naivete.counts.counts import Counts
from naivete.counts.information import arc_information, dependence, plain_dependence, relevance
from naivete.errors import ParameterError
from naivete.learners.fan import fan
from naivete.learners.kdb import kdb
from naivete.learners.tan import tan
from naivete.variables import CLASS
from tests.oracles import cases_of
from tests.strategies import some_cases


@given(own=some_cases(features=(1, 5)))
@settings(deadline=None, max_examples=40)
def test_the_bias_is_the_number_of_parameters_divided_by_twice_the_cases(own: MemoryCases) -> None:
    counts, plain = Counts(own), Counts(own)
    tables = {x: np.asarray(counts.margins()[x, CLASS]).sum(axis=1) for x in counts.features}
    classes = np.count_nonzero(counts.margins()[CLASS,])
    free = {x: max(0, np.count_nonzero(table) - 1) for x, table in tables.items()}

    def corrected(bits: float, freedom: int, cases: float) -> float:
        return max(bits - freedom / (2 * cases * log(2)), LEAST * bits) if cases > 0 else bits

    for x in counts.features:
        expected = corrected(relevance(plain)[x], free[x] * (classes - 1), tables[x].sum())
        assert relevance(counts, bias="corrected")[x] == pytest.approx(expected, abs=1e-12)
        for y in counts.features:
            cases = tables[x].sum() * tables[y].sum() / counts.total
            expected = corrected(dependence(plain)[x, y], free[x] * free[y] * classes, cases)
            assert dependence(counts, bias="corrected")[x, y] == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(relevance(counts), relevance(plain))


def noisy(rows: int, states: int, seed: int = 0) -> MemoryCases:
    """A class, a feature that shows it, a feature that depends on that one, and one of many states that is independent of all."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    first = np.where(rng.random(rows) < 0.8, label, 1 - label)
    second = np.where(rng.random(rows) < 0.8, first, 1 - first)
    return cases_of([2, 2, states, 2], [first, second, rng.integers(0, states, rows), label])


def test_an_independent_feature_of_many_states_is_not_informative() -> None:
    counts = [Counts(noisy(400, 16, seed)) for seed in range(20)]
    plain, corrected = (np.mean([relevance(c, bias=bias) for c in counts], axis=0) for bias in ("plain", "corrected"))
    assert plain[2] > 0.02
    assert corrected[2] < plain[2] / 4
    assert corrected[:2] == pytest.approx(plain[:2], abs=0.005)


def test_features_with_too_few_cases_for_each_state_get_no_arcs() -> None:
    enough = 2 * CASES * (MANY_STATES + 1)
    assert joinable(Counts(noisy(4 * enough, MANY_STATES + 1))).all()
    counts = Counts(noisy(enough - 10, MANY_STATES + 1))
    assert joinable(counts).tolist() == [True, True, False]
    assert joinable(counts, "plain").all()
    for network in (tan(counts), fan(counts), kdb(counts), kdb(counts, theta=-np.inf)):
        assert [set(arc) for arc in network.arcs] == [{0, 1}]
    assert len(tan(counts, bias="plain").arcs) == len(fan(counts, alpha=0.999, bias="plain").arcs) == 2
    assert any(2 in arc for arc in kdb(counts, theta=-np.inf, bias="plain").arcs)


def test_pairs_with_such_features_are_not_counted_and_the_others_as_before() -> None:
    cases = noisy(150, 40)
    counts, whole = Counts(cases), Counts(cases)
    assert tan(counts).arcs == [(0, 1)]
    assert counts.dependence is None
    assert counts.passes <= 3
    assert plain_dependence(counts)[0, 1] == dependence(whole)[0, 1]
    assert not plain_dependence(counts)[2].any()
    assert arc_information(counts, [(0, 1)]) == {(0, 1): dependence(whole)[0, 1]}
    assert arc_information(Counts(cases), [(0, 1)]) == {}


@pytest.mark.parametrize("bias", ["none", None, True, 1])
def test_any_other_bias_is_refused(bias: Any) -> None:
    counts = Counts(noisy(50, 3))
    for function in (relevance, dependence, tan, fan, kdb):
        with pytest.raises(ParameterError, match="bias="):
            function(counts, bias=bias)


def test_weights_count_as_cases() -> None:
    cases = noisy(200, 8)
    twice = MemoryCases(cases.variables, Block(cases.block.codes, np.full(200, 2.0)), cases.has_missing)
    rows = MemoryCases(cases.variables, cases.block.take(np.repeat(np.arange(200), 2)), cases.has_missing)
    assert np.array_equal(relevance(Counts(twice), bias="corrected"), relevance(Counts(rows), bias="corrected"))
    assert np.array_equal(dependence(Counts(twice), bias="corrected"), dependence(Counts(rows), bias="corrected"))
