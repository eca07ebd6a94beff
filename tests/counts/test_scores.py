"""Scores compared with 50 digits, and scores of families with counts by a dictionary."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.cases import Block, MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import BDeu, aic, bic, k2, likelihood, score_of
from naivete.errors import ParameterError
from naivete.variables import CLASS, Variable, family
from tests.oracles import counted
from tests.strategies import some_cases

counts_of_families = st.lists(
    st.lists(st.one_of(st.just(0), st.integers(0, 20), st.integers(0, 10**9)), min_size=3, max_size=3), min_size=1, max_size=4
)


def exact_dirichlet(n: list[list[int]], a: mpmath.mpf) -> mpmath.mpf:
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for row in n:
            full = len(row) * a
            total += mpmath.loggamma(full) - mpmath.loggamma(sum(row) + full)
            total += sum(mpmath.loggamma(c + a) - mpmath.loggamma(a) for c in row)
        return total


def close(value: float, exact: mpmath.mpf) -> bool:
    return abs(mpmath.mpf(value) - exact) <= 1e-12 * max(abs(exact), mpmath.mpf(1) / 10)


@given(n=counts_of_families)
@settings(max_examples=300, deadline=None)
def test_k2_and_bdeu_equal_fifty_digits(n: list[list[int]]) -> None:
    table = np.array(n)
    assert close(float(k2(table, len(n))), exact_dirichlet(n, mpmath.mpf(1)))
    for weight, configurations in ((1.0, len(n)), (10.0, 4 * len(n)), (0.5, 100_000)):
        a = weight / (configurations * 3)
        assert close(float(BDeu(weight)(table, configurations)), exact_dirichlet(n, mpmath.mpf(a)))


@pytest.mark.parametrize("row", [[10**9, 0], [10**9 - 1, 1], [10**9, 10**9], [10**9, 3], [1, 0], [0, 0]], ids=str)
def test_a_billion_cases_lose_no_digits(row: list[int]) -> None:
    for a, found in ((1.0, k2(np.array([row]), 1)), (0.05, BDeu(0.1)(np.array([row]), 1))):
        exact = exact_dirichlet([row], mpmath.mpf(a))
        assert abs(mpmath.mpf(float(found)) - exact) <= 1e-12 * abs(exact)


@given(n=counts_of_families)
@settings(max_examples=200, deadline=None)
def test_likelihood_and_its_penalties(n: list[list[int]]) -> None:
    with mpmath.workdps(60):
        exact = sum(mpmath.mpf(c) * mpmath.log(mpmath.mpf(c) / sum(row)) for row in n for c in row if c)
        cases = max(1, sum(map(sum, n)))
        table = np.array(n)
        assert close(float(likelihood(table)), mpmath.mpf(exact))
        assert abs(float(aic(table, 7)) - (exact - 14)) <= 1e-12 * max(1, abs(exact))
        assert abs(float(bic(table, 7)) - (exact - 7 * mpmath.log(cases))) <= 1e-12 * max(1, abs(exact), mpmath.log(cases) * 7)


@given(cases=some_cases(weights=None), data=st.data(), score=st.sampled_from([k2, BDeu(2.0), bic, aic]))
@settings(max_examples=100, deadline=None)
def test_scores_and_gains_are_those_of_the_cases_with_the_family_observed(cases: MemoryCases, data: st.DataObject, score) -> None:
    counts = Counts(cases)
    scores = FamilyScores(counts, score)
    variables = [*counts.features, CLASS]
    v = data.draw(st.sampled_from(variables))
    others = [u for u in variables if u != v]
    parents = data.draw(st.lists(st.sampled_from(others), unique=True, max_size=3))
    members = family(v, *parents)
    table = np.moveaxis(counted(cases.block, members, counts.cards(members)), members.index(v), -1).astype(float)
    n = table.reshape(-1, table.shape[-1])
    assert scores.value(v, parents) == pytest.approx(float(score(n, len(n))), rel=1e-12, abs=1e-9)
    new = data.draw(st.sampled_from([u for u in others if u not in parents] or [None]))
    if new is not None:
        wide = family(v, new, *parents)
        full = counted(cases.block, wide, counts.cards(wide)).astype(float)
        fewer = np.moveaxis(full.sum(axis=wide.index(new)), members.index(v), -1).reshape(n.shape)
        after = np.moveaxis(full, wide.index(v), -1).reshape(-1, n.shape[1])
        expected = float(score(after, len(after)) - score(fewer, len(fewer)))
        observed = counted(cases.block, (v,), counts.cards((v,))).sum()
        if new != CLASS and cases.has_missing[new] and 2 * full.sum() < observed:
            expected = -np.inf
        assert scores.gain(v, parents, new) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_sparse_tables_have_the_scores_of_full_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)

    codes = tuple(rng.integers(0, 5, 200).astype(np.uint8) for _ in range(5))
    has_missing = np.array([False, True, False, True])
    for x in (1, 3):
        codes[x][rng.random(200) < 0.2] = 255
    cases = MemoryCases(tuple(Variable(f"x{i}", tuple(range(5))) for i in range(5)), Block(codes), has_missing)
    keys = [(v, tuple(u for u in (0, 1, 2, 3, CLASS) if u not in (v, w)), w) for v in (0, 1, CLASS) for w in (2, 3)]
    full = FamilyScores(Counts(cases), k2)
    full.prepare((v, parents, [new]) for v, parents, new in keys)
    monkeypatch.setattr("naivete.counts.table_stacks.FEW_CELLS", 1)
    monkeypatch.setattr("naivete.counts.table_stacks.DENSE_ROWS", 0)
    sparse = FamilyScores(Counts(cases), k2)
    sparse.prepare((v, parents, [new]) for v, parents, new in keys)
    for key in keys:
        assert sparse.gain(*key) == pytest.approx(full.gain(*key), rel=1e-12, abs=1e-10)


def test_names_of_scores() -> None:
    assert score_of("k2") is k2
    assert score_of("bdeu:4") == BDeu(4.0)
    for name in ("bdue", "bdeu:-1", "bdeu:x", "k2:3", 7):
        with pytest.raises(ParameterError, match="score="):
            score_of(name)


@given(cases=some_cases(features=(2, 5), max_card=12), score=st.sampled_from([k2, BDeu(2.0), bic]))
@settings(max_examples=100, deadline=None)
def test_all_first_gains_of_one_pass_equal_those_computed_one_by_one(cases: MemoryCases, score) -> None:
    counts = Counts(cases)
    variables = [*counts.features, CLASS]
    keys = [(v, (), new) for v in variables for new in variables if v != new]
    together, single = FamilyScores(counts, score), FamilyScores(Counts(cases), score)
    together.prepare((v, parents, [new]) for v, parents, new in keys)
    assert together._first is not None
    for key in keys:
        if min(counts.cards((key[0], key[2]))) > 1:
            assert together.gain(*key) == pytest.approx(single.gain(*key), rel=1e-9, abs=1e-8)


def test_a_variable_that_is_observed_in_few_cases_is_no_parent() -> None:
    """A column observed in 5 of 500 rows must not replace columns that are informative in the other rows."""
    from naivete.learners.hill_climb import hill_climb
    from naivete.learners.k2 import k2 as k2_network

    rng = np.random.default_rng(1)
    codes = [rng.integers(0, 2, 500).astype(np.uint8) for _ in range(4)]
    codes[0] = codes[3].copy()  # where it is observed, it determines the class
    codes[0][5:] = 255
    has_missing = np.array([True, False, False])
    cases = MemoryCases(tuple(Variable(f"x{i}", (0, 1)) for i in range(4)), Block(tuple(codes)), has_missing)
    scores = FamilyScores(Counts(cases), k2)
    assert scores.gain(CLASS, (), 0) == -np.inf
    assert scores.gain(0, (), CLASS) > 0
    for network in (hill_climb(Counts(cases), criterion="k2"), k2_network(Counts(cases), order=[0, 1, 2, CLASS])):
        assert 0 not in network.parents[CLASS]
