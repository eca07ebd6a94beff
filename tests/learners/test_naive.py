"""Naive Bayes, and what equals it."""

from __future__ import annotations

from math import inf
from typing import Any

from hypothesis import HealthCheck, given, settings

from naivete.cases import MemoryCases
from naivete.counts.counts import Counts
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.variables import CLASS
from tests.network.test_estimation import smoothings
from tests.oracles import identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(training=some_cases(), how=smoothings)
@quick
def test_no_dependence_is_naive_bayes_to_the_bit(training: MemoryCases, how: Any, cases: Any) -> None:
    plain = naive(Counts(training), smoothing=how)
    assert all(plain.parents[x] == (CLASS,) for x in plain.features)
    assert identical(plain, kdb(Counts(cases(training)), k=0, smoothing=how))
    assert identical(plain, kdb(Counts(cases(training)), k=3, theta=inf, smoothing=how))
    assert identical(plain, kdb(Counts(cases(training)), k="auto", k_max=0, smoothing=how))
