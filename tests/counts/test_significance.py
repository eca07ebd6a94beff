"""Significant informations: quantiles and p-values are those of scipy, and chance dependences among many pairs are left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.information import dependence
from naivete.counts.significance import (
    chi_square_quantile,
    normal_quantile,
    p_value,
    significant_dependence,
    significant_features,
)
from naivete.variables import Variable


@pytest.fixture(scope="module")
def counts() -> Counts:
    """The class is the parity of columns 0 and 1 and often the value of column 2; the other 20 columns are noise."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (23, 300)).astype(np.uint8)
    labels = codes[0] ^ codes[1]
    copied = rng.random(300) < 0.5
    codes[2, copied] = labels[copied]
    variables = (*(Variable(f"x{i}", (0, 1)) for i in range(23)), Variable("class", (0, 1)))
    return Counts(MemoryCases(variables, Block((*codes, labels)), np.zeros(23, bool)))


@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-6])
def test_quantiles(level: float) -> None:
    z = normal_quantile(level)
    assert z == pytest.approx(norm.isf(level))
    assert p_value(z) == pytest.approx(level)
    freedom = np.array([2, 6, 20, 150])
    np.testing.assert_allclose(chi_square_quantile(freedom, z), chi2.isf(level, freedom), rtol=0.1)


def test_features_that_carry_information_alone_are_significant(counts: Counts) -> None:
    assert significant_features(counts, np.arange(23), 0.05).tolist() == [2]
    assert significant_features(counts, np.arange(3, 23), 0.05).tolist() == []
    assert significant_features(counts, np.arange(0), 0.05).tolist() == []


def test_dependences_by_chance_are_zero(counts: Counts) -> None:
    bits = dependence(counts, bias="corrected")
    kept = significant_dependence(counts, bits, 0.05 / (23 * 22 / 2))
    assert np.argwhere(np.triu(kept)).tolist() == [[0, 1]]
    assert kept[0, 1] == bits[0, 1]
    assert np.count_nonzero(bits) > 100, "without the test all pairs seem to depend on each other"
