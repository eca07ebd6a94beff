from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from sklearn import metrics

from naivete.evaluation.outcomes import Cases
from naivete.evaluation.roc_curves import Roc, areas, cost_curve, roc
from tests.classifiers.test_common import quick
from tests.evaluation.test_measures import answers


def test_roc_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(2)
    p = rng.integers(0, 20, 100) / 20
    truth = (rng.random(100) < p).astype(int)
    curve = roc(Cases.of(truth, np.column_stack([1 - p, p])), 1)
    for ours, theirs in zip(curve, metrics.roc_curve(truth, p), strict=False):
        np.testing.assert_array_equal(ours, theirs)
    pairs = [(a > b) + (a == b) / 2 for a in p[truth == 1] for b in p[truth == 0]]
    assert curve.area == pytest.approx(np.mean(pairs), abs=1e-12)


@quick
@given(answers())
def test_the_area_of_a_class_is_that_under_its_curve(drawn: Any) -> None:
    cases = Cases.of(*drawn)
    found = areas(cases)
    assert found.shape == (drawn[1].shape[1],)
    assert found.tolist() == pytest.approx([roc(cases, c).area for c in range(len(found))], abs=1e-12)


@quick
@given(answers())
def test_cost_curve_is_the_least_of_all_lines(drawn: Any) -> None:
    truth, posterior, weight = drawn
    curve = roc(Cases.of(truth, posterior, weight), 0)
    x, y = cost_curve(curve)
    grid = np.linspace(0, 1, 101)
    lines = (1 - curve.true_positive)[:, None] * grid + curve.false_positive[:, None] * (1 - grid)
    np.testing.assert_allclose(np.interp(grid, x, y), lines.min(axis=0), atol=1e-12)
    assert (np.diff(x) >= 0).all()
    assert (x[0], x[-1]) == (0, 1)
    assert (y <= np.minimum(x, 1 - x) + 1e-12).all()


def test_lines_that_cross_in_one_point_leave_the_corners_of_a_cost_curve_in_order() -> None:
    false, true = np.array([0, 5, 6, 9, 9]) / 9, np.array([0, 20, 24, 33, 33]) / 33
    x, _ = cost_curve(Roc(false, true, false, 0.5))
    assert (np.diff(x) >= 0).all()
