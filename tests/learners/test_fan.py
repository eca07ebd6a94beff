"""FAN: between naive Bayes and TAN."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chi2

from naivete import FAN, TAN, NaiveBayes
from naivete.counts.counts import Counts
from naivete.counts.information import dependence
from naivete.errors import ParameterError
from naivete.learners.fan import fan
from naivete.learners.tan import tan
from naivete.variables import CLASS, family
from tests.oracles import identical
from tests.strategies import some_cases


@given(some_cases())
@settings(deadline=None, max_examples=40)
def test_the_arcs_are_those_of_tan_that_are_significant(cases: Any) -> None:
    counts = Counts(cases)
    network, tree, bits = fan(counts, alpha=0.2), tan(counts), dependence(counts)
    states = [np.count_nonzero(np.asarray(counts.margins()[x, CLASS]).sum(axis=1)) for x in counts.features]
    classes = np.count_nonzero(counts.margins()[CLASS,])
    for parent, child in tree.arcs:
        if min(counts.variables[parent].card, counts.variables[child].card) < 2:
            continue
        members = family(parent, child, CLASS)
        weight = np.asarray(counts.tables([members])[members]).sum()
        freedom = max(1, (states[parent] - 1) * (states[child] - 1) * classes)
        significant = 2 * weight * log(2) * bits[parent, child] > chi2.isf(0.2, freedom)
        assert ((parent, child) in network.arcs) == significant
    assert set(network.arcs) <= set(tree.arcs)
    assert all(len(parents) <= 2 for parents in network.parents.values())


def test_independent_features_give_naive_bayes_and_dependent_ones_tan() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    independent = rng.integers(0, 3, (400, 4))
    assert identical(FAN(alpha=1e-9).fit(independent, y).network_, NaiveBayes().fit(independent, y).network_)
    chain = np.cumsum(rng.integers(0, 2, (400, 4)), axis=1)
    assert identical(FAN().fit(chain, y).network_, TAN().fit(chain, y).network_)


def test_features_of_one_state_have_no_arcs() -> None:
    constant = np.zeros((20, 2), int)
    y = np.arange(20) % 2
    assert FAN().fit(constant, y).network_.arcs == []


@pytest.mark.parametrize("alpha", [0, 1.5, -1, "x", None, True])
def test_a_level_out_of_range_is_refused(alpha: Any) -> None:
    with pytest.raises(ParameterError, match="alpha="):
        FAN(alpha=alpha).fit([["a"], ["b"]], [0, 1])
