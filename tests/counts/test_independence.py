"""Tests of independence compared with SciPy, stratum by stratum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency

from naivete.cases import MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.independence import checked_level, data_independence, enough_cases, g, p_values, pearson, statistic_of
from naivete.errors import ParameterError
from naivete.variables import CLASS
from tests.oracles import cases_of, counted
from tests.strategies import some_cases


def slow_p(table: np.ndarray, kind: str) -> float:
    """The p-value of a table (x, y, given) as the sum of scipy's statistics over the strata, of the states that occur."""
    statistic = freedom = 0.0
    for z in range(table.shape[2]):
        stratum = table[:, :, z]
        stratum = stratum[stratum.sum(axis=1) > 0][:, stratum.sum(axis=0) > 0]
        if min(stratum.shape, default=0) > 1:
            result = chi2_contingency(stratum, correction=False, lambda_="pearson" if kind == "chi2" else "log-likelihood")
            statistic, freedom = statistic + result.statistic, freedom + result.dof
    return float(chi2.sf(statistic, freedom)) if freedom else 1.0


@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["chi2", "g"]),
    whole=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_p_values_are_scipys(shape: tuple[int, int, int], seed: int, kind: str, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 12, shape) * (rng.random(shape) < 0.8)
    table = table if whole else table * rng.random(shape)
    p = p_values(np.stack([table, table[::-1]]), statistic_of(kind))
    assert p == pytest.approx([slow_p(table, kind)] * 2, rel=1e-9, abs=1e-300)


@given(training=some_cases(rows=(1, 200), features=(2, 4), max_card=3), data=st.data(), kind=st.sampled_from(["chi2", "g"]))
@settings(max_examples=60, deadline=None)
def test_questions_are_decided_on_the_cases_with_all_variables_observed(
    training: MemoryCases, data: st.DataObject, kind: str
) -> None:
    counts = Counts(training)
    variables = [*counts.features, CLASS]
    x, y, *conditions = data.draw(st.permutations(variables))[: data.draw(st.integers(2, len(variables)))]
    members = (x, y, *conditions)
    cards = counts.cards(members)
    table = counted(training.block, members, cards).astype(float).reshape(*cards[:2], -1)
    p, enough = slow_p(table, kind), counts.total >= 5 * np.prod(cards)
    for alpha in (0.05, 0.5):
        if abs(p - alpha) > 1e-9:
            decision = data_independence(counts, test=statistic_of(kind), alpha=alpha)(np.array([members]))
            assert decision.tolist() == [bool(enough and p > alpha)]
    assert enough_cases(counts)(np.array([members])).tolist() == [enough]


def test_with_fewer_than_five_cases_for_a_cell_variables_are_dependent() -> None:
    column = [0, 1] * 10
    other = [0, 0, 1, 1] * 5
    for rows, independent in ((20, True), (19, False)):
        counts = Counts(cases_of([2, 2, 2], [column[:rows], other[:rows], other[:rows]]))
        assert data_independence(counts, alpha=0.05)(np.array([[0, 1]])).tolist() == [independent]
    counts = Counts(cases_of([2, 2, 2], [column, other, other]))
    assert data_independence(counts)(np.array([[0, 1], [0, CLASS]])).tolist() == [True, True]
    assert counts.passes == 2  # the margins, and one for both tests
    assert data_independence(counts)(np.array([[0, 1, CLASS]])).tolist() == [False]
    assert counts.passes == 2  # there are too few cases


def test_sparse_tables_give_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3, 2000) for _ in range(4)]
    columns[1] = np.where(rng.random(2000) < 0.2, columns[0], columns[1])
    columns[2][rng.random(2000) < 0.2] = -1
    training = cases_of([3] * 4, [c.tolist() for c in columns])
    rounds = [np.array(tests) for tests in ([(0, 1, 2), (0, 2, 1)], [(0, 1, 2, CLASS), (0, CLASS, 1, 2)], [(2, CLASS)])]

    def decisions() -> list[bool]:
        independent = [data_independence(Counts(training), test=test, alpha=0.3) for test in (pearson, g)]
        return [decision for test in independent for tests in rounds for decision in test(tests).tolist()]

    full = decisions()
    monkeypatch.setattr("naivete.counts.table_stacks.FEW_CELLS", 1)
    monkeypatch.setattr("naivete.counts.table_stacks.DENSE_ROWS", 0)
    assert decisions() == full
    assert {True, False} == set(full)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan"), "x", None, True, [0.1]], ids=str)
def test_a_level_is_between_zero_and_one(alpha: Any) -> None:
    with pytest.raises(ParameterError, match=r"alpha=.*a number between 0 and 1"):
        checked_level(alpha)


@pytest.mark.parametrize("test", ["chi", None, 3, ["g"], np.array(["g", "g"])], ids=str)
def test_a_test_is_a_name_or_a_function(test: Any) -> None:
    assert statistic_of("chi2") is pearson
    assert statistic_of(g) is g
    with pytest.raises(ParameterError, match=r"test=.*choose 'chi2' or 'g'"):
        statistic_of(test)
