from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from naivete.errors import ParameterError
from naivete.evaluation.calibration_bins import calibration, calibration_error
from naivete.evaluation.outcomes import Cases
from tests.classifiers.test_common import quick


@quick
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.sampled_from([5, 1000]))
def test_calibration_agrees_with_scikit_learn(seed: int, bins: int, each: int, values: int) -> None:
    """Where the rows divide evenly among the bins, which is where quantiles have one definition."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, values + 1, bins * each) / values
    truth = (rng.random(bins * each) < p).astype(int)
    observed, predicted = calibration_curve(truth, p, n_bins=bins, strategy="quantile")
    found = calibration(Cases.of(truth, np.column_stack([1 - p, p])), 1, bins=bins)
    np.testing.assert_allclose(found.predicted, predicted, atol=1e-12)
    np.testing.assert_allclose(found.observed, observed, atol=1e-12)
    assert found.share.sum() == pytest.approx(1, abs=1e-12)


def test_calibration_by_hand() -> None:
    posterior = [[0.9, 0.1], [0.9, 0.1], [0.8, 0.2], [0.4, 0.6]]
    cases = Cases.of([0, 1, 0, 0], posterior)
    found = calibration(cases, bins=2)
    np.testing.assert_allclose(found.predicted, [0.7, 0.9])
    np.testing.assert_allclose(found.observed, [0.5, 0.5])
    assert calibration_error(cases, bins=2) == pytest.approx(0.5 * 0.2 + 0.5 * 0.4)
    assert calibration_error(cases, bins=1) == pytest.approx(0.8 - 0.5)
    for bins in (0, 2.5):
        with pytest.raises(ParameterError, match=f"bins={bins}"):
            calibration(cases, bins=bins)  # type: ignore[arg-type]
