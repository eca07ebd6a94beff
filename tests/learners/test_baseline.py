"""The majority class and the look-up table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from naivete.cases import MemoryCases
from naivete.counts import counts
from naivete.counts.counts import Counts
from naivete.errors import ResourceError
from naivete.inference.predictor import Predictor
from naivete.learners.baseline import lookup, majority
from naivete.variables import CLASS
from tests.oracles import cases_of, chunked, identical, rows_of
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(training=some_cases())
@quick
def test_the_majority_ignores_the_features(training: MemoryCases, cases: Any) -> None:
    network = majority(Counts(cases(training)))
    assert not network.arcs
    assert all(CLASS not in network.parents[x] for x in network.features)
    found = Predictor(network).posterior(training.block.codes[:-1], training.has_missing)[0]
    assert np.allclose(found, network.cpts[CLASS], rtol=0, atol=1e-12)


@given(training=some_cases(has_missing=False, rows=(1, 25), features=(1, 4)))
@quick
def test_a_row_gets_the_classes_of_equal_training_rows(training: MemoryCases, cases: Any, monkeypatch: Any) -> None:
    network = lookup(Counts(cases(training)))
    equals: dict[tuple[Any, ...], Counter[int]] = {}
    for row, weight in rows_of(training.block):
        equals.setdefault(tuple(row[:-1]), Counter())[row[-1]] += weight
    rng = np.random.default_rng(0)
    new = [rng.integers(0, v.card, 20).astype(np.uint8) for v in training.variables[:-1]]
    codes = tuple(np.concatenate([a, b]) for a, b in zip(training.block.codes[:-1], new, strict=True))
    found, impossible = Predictor(network).posterior(codes, training.has_missing)
    for i in range(len(found)):
        known = equals.get(tuple(int(c[i]) for c in codes))
        assert (known is None) == (i in impossible)
        expected = network.cpts[CLASS] if known is None else [float(known[c] / sum(known.values())) for c in range(found.shape[1])]
        assert np.allclose(found[i], expected, rtol=0, atol=1e-12)
    with monkeypatch.context() as patch:
        patch.setattr(counts, "DENSE_CELLS", 0)
        sparse = lookup(Counts(cases(training)))
    assert np.allclose(Predictor(sparse).posterior(codes, training.has_missing)[0], found, rtol=0, atol=1e-12)


@given(training=some_cases())
@quick
def test_back_ends_give_the_same_bits(training: MemoryCases, cases: Any) -> None:
    assert identical(lookup(Counts(training)), lookup(Counts(cases(training))))
    assert identical(majority(Counts(training)), majority(Counts(cases(training))))


def test_sparse_tables_of_streamed_rows_stay_within_the_budget() -> None:
    rng = np.random.default_rng(0)
    cards = [8] * 8 + [2]
    training = cases_of(cards, [rng.integers(0, card, 600).tolist() for card in cards])
    with pytest.raises(ResourceError, match=r"need more than .* bytes for the combinations of states that occur"):
        Counts(chunked(training, rng), budget=20_000).tables([(*range(8), -1)])
