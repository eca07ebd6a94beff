"""Verdicts: sampling error, misprints, and whether a claim holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from studies.results import Cell
from studies.verdicts import (
    AGREES,
    BY_BOTH,
    INSIDE,
    NOT_PRINTED,
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    WELCH_LEVEL,
    claim,
    compared,
    interval,
    mark,
    one_sided,
    paired,
    recomputed,
    value_text,
)

from naivete.evaluation.statistics import corrected_t, paired_t, welch
from tests.classifiers.test_common import quick

means = st.floats(0, 100)
deviations = st.floats(0, 20)


@quick
@given(means, deviations, means, deviations)
def test_sampling_error_is_decided_by_welch(m1: float, s1: float, m2: float, s2: float) -> None:
    cell = compared("x", (m1, s1), (m2, s2))
    p = welch(m1, s1, 10, m2, s2, 10).p
    assert cell.p == p
    assert (cell.verdict == INSIDE) == (p > WELCH_LEVEL)
    assert cell.difference == m2 - m1


def test_values_without_deviation() -> None:
    assert compared("x", (100, 0), (100, 0)).verdict == INSIDE
    assert compared("x", (100, 0), (99, 0)).verdict == "differs (p < 0.0001)"


def test_the_number_of_our_folds_counts() -> None:
    few, many = (compared("x", (90, 2), (93, 2), folds=(10, n)).p for n in (3, 10))
    assert few is not None
    assert many is not None
    assert few > many


@pytest.mark.parametrize(("difference", "verdict"), [(3.0, BY_BOTH), (-3.0, "not confirmed"), (0.0, "not confirmed")])
def test_a_claim_has_a_direction(difference: float, verdict: str) -> None:
    base = np.array([90.0, 91.0, 92.0, 90.5])
    better = base + difference + np.array([0.1, -0.1, 0.2, -0.2])
    tested = claim("x", better, base, 1 / 4, (5.0, 0.01), 0.1)
    assert tested.verdict == verdict
    assert tested.plain_p == paired_t(better - base).p
    assert tested.corrected_p == corrected_t(better - base, 1 / 4).p
    assert tested.corrected_p >= tested.plain_p
    assert (tested.printed_difference, tested.printed_p) == (5.0, 0.01)


def test_what_differs_in_the_printed_digits_is_a_misprint() -> None:
    assert recomputed("x", 0.1, 0.14, digits=1).verdict == "reproduced"
    assert recomputed("x", 0.10, 0.14, digits=2).verdict == "misprint"
    assert recomputed("x", "MH", "FC").verdict == "misprint"
    assert Cell("x", "MH", 1.0, "").difference is None


def test_no_zero_is_negative() -> None:
    assert value_text(-0.0, 1) == "0.0"


def test_a_pairing_has_a_sign_and_a_significance() -> None:
    apart = [2.0, 2.1, 1.9, 2.0]
    none = [0.0] * 4
    assert paired("x", apart, none, 0.5, (1.0, 5.0, "+")).verdict == AGREES
    assert paired("x", apart, none, 0.5, (-1.0, -5.0, "-")).verdict == "opposite"
    assert paired("x", apart, none, 0.5, (1.0, 1.0, "")).verdict == "same sign, different significance"
    assert paired("x", apart, none, 0.5, (-1.0, -1.0, "")).verdict == "different sign, one is not significant"
    assert paired("x", apart, none, 0.5).verdict == NOT_PRINTED
    assert paired("x", [1.0, -1.0], [0.0, 0.0], 0.5, (0.1, 0.2, "")).verdict == AGREES
    pair = paired("x", apart, none, 0.5)
    assert pair.t > pair.corrected_t > 0
    assert mark(pair.difference, pair.p) == "+"


def test_intervals_are_those_of_student() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    mean, half = interval(values)
    assert (mean - half, mean + half) == pytest.approx((low, high))


def test_one_sided_claims() -> None:
    random = np.random.default_rng(0)
    noise, shifted = random.normal(size=30), random.normal(size=30) + 2
    assert one_sided("", "above", shifted).verdict == REPRODUCED
    assert one_sided("", "below", shifted).verdict == NOT_REPRODUCED
    assert one_sided("", "above", noise, noise[:20]).verdict == UNDECIDED
    assert one_sided("", "above", noise, noise[:20]).note.startswith("with 20 pairs ")
    assert one_sided("", "below", np.zeros(5)).verdict == UNDECIDED
