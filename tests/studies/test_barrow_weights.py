"""The weights of the thesis: derivatives given all other attributes, averaged as logarithms or as ratios."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from sklearn.datasets import load_iris
from studies.barrow_2011.weights import ThesisKNaive, derivatives_given_others, thesis_weights

from naivete import Encoder
from naivete.cases import MemoryCases
from naivete.counts.counts import Counts
from naivete.errors import DataError
from naivete.learners.derivatives import contrasts
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.learners.test_derivatives import (
    conditional,
    has_missing_of,
    log2,
    naive_like,
    repeating,
    rows_of,
    seeds,
    some_network,
    some_rows,
)
from tests.oracles import cases_of
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=20)


@given(network=some_network, seed=seeds)
@quick
def test_derivatives_equal_those_by_enumeration(network: Network, seed: int) -> None:
    assume(np.asarray(network.cpts[CLASS]).min() > 0)
    codes = some_rows(network, seed, count=6)
    other = naive_like(network, seed)
    logs = derivatives_given_others(network, other, codes, has_missing_of(codes)).logs
    for i, row in enumerate(rows_of(codes)):
        for x, c in product(network.features, range(network.variables[CLASS].card)):
            if row[x] is None:
                assert logs[i, x, c] == 0
                continue
            rest = conditional(network, [None if y == x else value for y, value in enumerate(row)], c)
            alone = math.log2(other.cpts[x][row[x], c])
            expected = log2(conditional(network, row, c) / rest) - alone if rest else 0.0
            assert logs[i, x, c] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("ratios", [False, True])
@given(cases=some_cases())
@quick
def test_weights_are_weighted_means(ratios: bool, cases: MemoryCases) -> None:
    counts = Counts(cases)
    assume((counts.margins()[CLASS,] > 0).all())
    network, other = kdb(counts, k=2), naive(counts)
    each = contrasts(derivatives_given_others(network, other, cases.block.codes[:-1], cases.has_missing).logs)
    mean = np.average(2.0**each if ratios else each, axis=0, weights=cases.block.weight)
    assert np.allclose(thesis_weights(counts, network, other, ratios=ratios), np.log2(mean) if ratios else mean, atol=1e-9)


@pytest.mark.parametrize("ratios", [False, True])
def test_the_classifier_works_for_more_than_two_classes(ratios: bool) -> None:
    X, y = load_iris(return_X_y=True)
    model = ThesisKNaive(encoder=Encoder(numbers="normal", kinds="numeric"), shrinkage=0.1, ratios=ratios).fit(X, y)
    assert model.weights_.shape == (4, 3)
    assert model.exact_
    assert model.score(X, y) > 0.93


def test_an_infinite_derivative_is_refused() -> None:
    network, other = repeating()
    with pytest.raises(DataError, match="zero or infinite"):
        thesis_weights(Counts(cases_of([2, 2, 2], [[0, 1], [1, 1], [0, 1]])), network, other, ratios=False)
