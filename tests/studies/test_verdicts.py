"""Verdicts: what is noise, what is a misprint, and what a claim is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.verdicts import BY_BOTH, INSIDE, LEVEL, Cell, compared, recomputed, retested, shown_value

from naivete.evaluation.statistics import corrected_t, paired_t, welch
from tests.classifiers.test_common import quick

means = st.floats(0, 100)
deviations = st.floats(0, 20)


@quick
@given(means, deviations, means, deviations)
def test_noise_is_what_welch_says(m1: float, s1: float, m2: float, s2: float) -> None:
    cell = compared("x", (m1, s1), (m2, s2))
    p = welch(m1, s1, 10, m2, s2, 10).p
    assert cell.p == p
    assert (cell.verdict == INSIDE) == (p > LEVEL)
    assert cell.difference == m2 - m1


def test_equal_figures_without_deviation_are_inside_and_different_ones_outside() -> None:
    assert compared("x", (100, 0), (100, 0)).verdict == INSIDE
    assert compared("x", (100, 0), (99, 0)).verdict == "outside (p < 0.0001)"


def test_the_number_of_our_folds_counts() -> None:
    few, many = (compared("x", (90, 2), (93, 2), folds=(10, n)).p for n in (3, 10))
    assert few is not None
    assert many is not None
    assert few > many


@pytest.mark.parametrize(("difference", "verdict"), [(3.0, BY_BOTH), (-3.0, "not confirmed"), (0.0, "not confirmed")])
def test_a_claim_has_a_direction(difference: float, verdict: str) -> None:
    base = np.array([90.0, 91.0, 92.0, 90.5])
    better = base + difference + np.array([0.1, -0.1, 0.2, -0.2])
    claim = retested("x", better.tolist(), base.tolist(), [(95, 1), (90, 1)])
    assert claim.verdict == verdict
    assert claim.plain_p == paired_t(better - base).p
    assert claim.corrected_p == corrected_t(better - base, 1 / 4).p
    assert claim.corrected_p >= claim.plain_p
    assert math.isclose(claim.printed_difference, 5)


def test_what_differs_in_the_printed_digits_is_a_misprint() -> None:
    assert recomputed("x", 0.1, 0.14, digits=1).verdict == "reproduced"
    assert recomputed("x", 0.10, 0.14, digits=2).verdict == "misprint"
    assert recomputed("x", "MH", "FC").verdict == "misprint"
    assert Cell("x", "MH", 1.0, "").difference is None


def test_no_zero_is_negative() -> None:
    assert shown_value(-0.0, 1) == "0.0"
