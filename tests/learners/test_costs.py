"""Estimates of work: within a factor of three of what is counted, and what follows from them."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from benchmarks.wide_job import sampled

from naivete import CB, K2, K2AS, PC, HillClimb, JoinedNaive, NaiveBayes, SelectiveNaive
from naivete.classifiers import costs
from naivete.counts.counts import Counts
from naivete.counts.effort import seconds_per_unit
from naivete.errors import ResourceError
from naivete.learners.costs import Size, cost_of
from naivete.learners.hill_climb import hill_climb
from naivete.learners.joined.search import bsej_groups
from tests.oracles import cases_of

LEARNERS: list[Any] = [HillClimb(), K2(), PC(), CB()]


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    X, y = sampled(1000, 60)
    return X.astype(str), y


@pytest.mark.parametrize("model", LEARNERS, ids=lambda model: type(model).__name__)
def test_the_work_is_within_a_factor_of_three_of_the_estimate(table: tuple[Any, Any], model: Any) -> None:
    cases, _, counts = model.training_counts(*table, None)
    cost = model._cost(counts, **model._probe(counts))
    shares: list[float] = []
    counts.effort.done, counts.effort.report = 0.0, shares.append
    model.fit_counts(counts, cases.classes, False, len(cases))
    assert 1 / 3 < counts.effort.done / cost.counted < 3
    assert shares == sorted(shares)
    assert 0.2 < shares[-1] < 1


@pytest.mark.parametrize("model", [*LEARNERS, SelectiveNaive(), K2AS(), JoinedNaive(), JoinedNaive(search="forward")], ids=str)
def test_a_long_work_is_announced(model: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 4)).astype(str), rng.integers(0, 2, 60)
    with caplog.at_level(logging.WARNING, "naivete"):
        model.fit(X, y)
        assert not caplog.records
        monkeypatch.setattr(costs, "NOTICE_SECONDS", 0.0)
        model.fit(X, y)
    name = type(model).__name__
    assert [record.getMessage().startswith(f"{name} on 60 rows and 4 features takes about 0 s") for record in caplog.records] == [
        True
    ]
    assert "; cheaper: " in caplog.records[0].getMessage()


def test_an_estimate_without_fitting(table: tuple[Any, Any]) -> None:
    cost = HillClimb().estimate_cost(*table)
    assert cost is not None
    assert cost.seconds == pytest.approx(cost.units * seconds_per_unit())
    assert cost.bytes > 0
    assert NaiveBayes().estimate_cost(*table) is None


@pytest.mark.parametrize("learner", ["hc", "k2", "pc", "cb", "naive-as", "k2-as", "fssj", "bsej"])
def test_estimates_grow_with_rows_columns_and_states(learner: str) -> None:
    small = cost_of(learner, Size(1000, [3] * 100))
    for larger in (Size(9000, [3] * 100), Size(1000, [3] * 300)):
        assert cost_of(learner, larger).units > 1.2 * small.units
    assert cost_of(learner, Size(1000, [3] * 300)).bytes > 1.5 * small.bytes


@pytest.mark.parametrize("learner", [hill_climb, bsej_groups], ids=["hill_climb", "bsej"])
def test_what_a_search_keeps_has_to_fit_half_of_the_budget(learner: Any) -> None:
    counts = Counts(cases_of([2] * 31, [[0, 1] * 10] * 30 + [[0, 0, 1, 1] * 5]), budget=50_000)
    counts.margins()
    with pytest.raises(ResourceError, match=r"on 30 features keeps about .* bytes .* the budget is 50,000 bytes.*raise `budget=`"):
        learner(counts)
    assert counts.passes <= 1
