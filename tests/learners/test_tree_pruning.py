"""Pruning: the estimate of errors against the binomial distribution and the book, the rest against a slow version with rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from naivete.cases import MemoryCases
from naivete.counts.counts import Counts
from naivete.learners.tree.c45 import c45
from naivete.learners.tree.pruning import added_errors
from tests.learners.test_tree import EPS, Node, Row, Slow, check, drawn, numbered, rows_of, tree_of
from tests.oracles import cases_of, identical

quick = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(cases=st.floats(1, 1e4), confidence=st.floats(0.01, 0.5))
@quick
def test_without_errors_the_limit_is_that_of_the_binomial(cases: float, confidence: float) -> None:
    """At the upper limit of the rate, no error in N cases has probability CF."""
    rate = added_errors(np.array([cases]), np.zeros(1), confidence)[0] / cases
    assert (1 - rate) ** cases == pytest.approx(confidence)
    if cases == int(cases):
        assert binom.cdf(0, int(cases), rate) == pytest.approx(confidence)


@given(cases=st.floats(30, 1e4), part=st.floats(0, 1), confidence=st.floats(0.05, 0.5))
@quick
def test_with_errors_the_limit_is_that_of_the_normal(cases: float, part: float, confidence: float) -> None:
    """The limit p solves f = p - z sqrt(p (1 - p) / N), f with half an error more: Wilson's interval."""
    wrong = 1 + part * (cases - 2)
    rate = (wrong + added_errors(np.array([cases]), np.array([wrong]), confidence)[0]) / cases
    z = norm.ppf(1 - confidence)
    assert rate - z * np.sqrt(rate * (1 - rate) / cases) == pytest.approx((wrong + 0.5) / cases, abs=1e-9)


@pytest.mark.parametrize(("cases", "wrong", "rate"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)])
def test_the_rates_of_the_book(cases: float, wrong: float, rate: float) -> None:
    """Quinlan (1993), section 4.2; the last by the exact distribution there, by the normal one here, as in the program."""
    found = (wrong + added_errors(np.array([float(cases)]), np.array([float(wrong)]), 0.25)[0]) / cases
    assert found == pytest.approx(rate, abs=0.0006 if wrong == 0 else 0.006)


@given(cases=st.floats(0.1, 1e4), one=st.floats(0, 1), two=st.floats(0, 1), confidence=st.floats(0.01, 0.5))
@quick
def test_the_limit_lies_between_what_was_seen_and_all(cases: float, one: float, two: float, confidence: float) -> None:
    less, more = (np.array([part * cases]) for part in sorted((one, two)))
    whole = np.array([cases])
    low, high = less + added_errors(whole, less, confidence), more + added_errors(whole, more, confidence)
    assert low >= less - 1e-9
    assert high <= cases + 1e-6 or cases < 1.5
    if cases >= 1.5:
        assert low <= high + 1e-6


def expected(dist: list[float], confidence: float) -> float:
    total = sum(dist)
    wrong = total - max(dist)
    return wrong + float(added_errors(np.array([total]), np.array([wrong]), confidence)[0]) if total > EPS else 0.0


class Pruner:
    """Pruning by the definitions, one node after the other, on a tree that keeps its rows."""

    def __init__(self, confidence: float, subtree_raising: bool) -> None:
        self.confidence = confidence
        self.subtree_raising = subtree_raising

    def training_errors(self, node: Node) -> float:
        return sum(map(self.training_errors, node.kids)) if node.kids else node.wrong

    def collapse(self, node: Node) -> None:
        if node.kids and self.training_errors(node) >= node.wrong - 1e-3:
            node.feature, node.kids = None, []
        for kid in node.kids:
            self.collapse(kid)

    def errors(self, node: Node, rows: list[Row] | None = None) -> float:
        """The expected errors of a subtree, perhaps with other rows."""
        if not node.kids:
            return expected((node if rows is None else Node(rows, node.classes)).dist, self.confidence)
        parts = [None] * len(node.kids) if rows is None else node.divide(rows)
        return sum(self.errors(kid, part) for kid, part in zip(node.kids, parts, strict=True))

    def fill(self, node: Node, rows: list[Row]) -> None:
        node.rows = rows
        for kid, part in zip(node.kids, node.divide(rows) if node.kids else [], strict=True):
            self.fill(kid, part)

    def prune(self, node: Node) -> None:
        if not node.kids:
            return
        for kid in node.kids:
            self.prune(kid)
        most = max(kid.total for kid in node.kids)
        largest = [kid for kid in node.kids if kid.total >= most - EPS][-1]
        branch = self.errors(largest, node.rows) if self.subtree_raising else np.inf
        leaf, whole = expected(node.dist, self.confidence), self.errors(node)
        if leaf < whole + 0.1 + EPS and leaf < branch + 0.1 + EPS:
            node.feature, node.kids = None, []
        elif branch < whole + 0.1 + EPS:
            node.feature, node.last, node.kids = largest.feature, largest.last, largest.kids
            self.fill(node, node.rows)
            self.prune(node)


@given(
    own=drawn,
    which=st.integers(0, 15),
    least=st.sampled_from([1, 2]),
    confidence=st.sampled_from([0.1, 0.25, 0.5]),
    subtree_raising=st.booleans(),
    prune=st.sampled_from([True, True, False]),
)
@settings(quick, max_examples=150)
def test_c45_prunes_by_the_definition(
    own: MemoryCases, which: int, least: float, confidence: float, subtree_raising: bool, prune: bool, cases: Any
) -> None:
    own = numbered(own, which)
    rows, pruner = rows_of(own), Pruner(confidence, subtree_raising)
    slow = Slow(own.variables, least, ratio=True, size=sum(w for _, _, w in rows)).grown(rows)
    pruner.collapse(slow)
    if prune:
        pruner.prune(slow)
    check(c45(Counts(cases(own)), min_rows=least, confidence=confidence, subtree_raising=subtree_raising, prune=prune), slow)


def noisy(seed: int, *, has_missing: bool = False) -> MemoryCases:
    """Six columns that each tell a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 200)
    columns = [np.where(rng.random(200) < 0.3, y, rng.integers(0, 2, 200)) for _ in range(6)]
    for column in columns if has_missing else ():
        column[rng.random(200) < 0.1] = 255
    training = cases_of([2] * 7, [*(column.tolist() for column in columns), y.tolist()])
    return MemoryCases(training.variables, training.block, np.full(6, has_missing))


@pytest.mark.parametrize(("seed", "has_missing"), [(10, False), (43, False), (31, True), (52, True)])
def test_branches_are_raised(seed: int, has_missing: bool) -> None:
    """Raising changes these trees, and the slow version raises the same branches."""
    training = noisy(seed, has_missing=has_missing)
    raised = c45(Counts(training))
    assert not identical(raised, c45(Counts(training), subtree_raising=False))
    slow = Slow(training.variables, 2, ratio=True, size=200.0).grown(rows_of(training))
    pruner = Pruner(0.25, True)
    pruner.collapse(slow)
    pruner.prune(slow)
    check(raised, slow)


def test_one_pass_for_each_round_without_missing_values() -> None:
    training = noisy(10)
    counts, plain = Counts(training), Counts(training)
    c45(counts)
    tree = tree_of(c45(plain, subtree_raising=False))
    assert plain.passes < counts.passes <= plain.passes + 2 * tree.nodes


def test_less_confidence_prunes_more() -> None:
    training = noisy(10)
    sizes = [tree_of(c45(Counts(training), confidence=c)).nodes for c in (0.001, 0.25, 0.5)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] < tree_of(c45(Counts(training), prune=False)).nodes
