from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import DataError, ParameterError
from naivete.evaluation.statistics import (
    Nemenyi,
    bayesian_correlated_t,
    corrected_t,
    friedman,
    holm,
    nemenyi,
    paired_t,
    welch,
    wilcoxon,
)

X = np.array([0.86, 0.84, 0.88, 0.85, 0.87, 0.86, 0.83, 0.88, 0.86, 0.87])
Y = np.array([0.90, 0.91, 0.88, 0.92, 0.90, 0.87, 0.89, 0.93, 0.90, 0.88])

# The ranks of table 6 of Demsar (2006), whose printed averages are 3.143, 2.000, 2.893 and 1.964.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)

steps = st.integers(-20, 20).map(lambda n: n / 64)  # binary fractions: sums and differences are exact
differences = st.lists(steps, min_size=2, max_size=14)
shares = st.sampled_from([0.05, 0.1, 0.25, 1 / 3, 0.5, 0.9])
tables = st.integers(2, 6).flatmap(lambda k: st.lists(st.lists(steps, min_size=k, max_size=k), min_size=2, max_size=9))


def tail(t: float, freedom: float) -> float:
    """Two-sided p of Student's t, by the incomplete beta function in 25 digits."""
    with mpmath.workdps(25):
        square = mpmath.mpf(t) ** 2
        return float(mpmath.betainc(mpmath.mpf(freedom) / 2, 0.5, 0, freedom / (freedom + square), regularized=True))


def test_t_tests_are_those_of_weka() -> None:
    """PairedStats and PairedStatsCorrected of Weka 3.6.14 on these folds, ratio 1/9."""
    assert paired_t(Y - X).p == pytest.approx(0.0010441914318244417, abs=1e-12)
    assert corrected_t(Y - X, 0.1).p == pytest.approx(0.009695505138604761, abs=1e-12)


def test_bayesian_test_is_that_of_baycomp() -> None:
    """two_on_single of baycomp 1.0.3; two runs of five folds have a correlation of 1/5."""
    ten = bayesian_correlated_t(Y - X, 0.1, 0.01)
    assert ten[:3] == pytest.approx((0.0012807301560565833, 0.018380332099325547, 0.9803389377446179), abs=1e-12)
    twice_five = bayesian_correlated_t(Y - X, 0.2, 0.05)
    assert twice_five[:3] == pytest.approx((0.00011745070252177012, 0.7782166242126474, 0.22166592508483085), abs=1e-12)
    without = bayesian_correlated_t(Y - X, 0.1, 0.0)
    assert without[:3] == pytest.approx((0.004847752569302366, 0.0, 0.9951522474306976), abs=1e-12)


def test_nemenyi_is_that_of_scikit_posthocs() -> None:
    """posthoc_nemenyi_friedman of scikit-posthocs 0.17.1."""
    first, second, third, fourth = nemenyi(DEMSAR).p
    assert first == pytest.approx((1.0, 0.08867270928888271, 0.9561771752218107, 0.0741847950687442), abs=1e-12)
    assert second == pytest.approx((0.08867270928888271, 1.0, 0.2592280701547286, 0.999859449385133), abs=1e-12)
    assert third == pytest.approx((0.9561771752218107, 0.2592280701547286, 1.0, 0.22669688602641525), abs=1e-12)
    assert fourth == pytest.approx((0.0741847950687442, 0.999859449385133, 0.22669688602641525, 1.0), abs=1e-12)


def test_baycomp_agrees_where_it_is_installed() -> None:
    baycomp = pytest.importorskip("baycomp", reason="baycomp is installed for this check only")
    rng = np.random.default_rng(1)
    for folds, runs in [(2, 1), (5, 2), (10, 1), (10, 10)]:
        x = rng.normal(0.8, 0.03, folds * runs)
        y = x + rng.normal(0.01, 0.03, folds * runs)
        found = bayesian_correlated_t(y - x, 1 / folds, 0.01)[:3]
        assert found == pytest.approx(baycomp.two_on_single(x, y, rope=0.01, runs=runs), abs=1e-9)
        left, right = baycomp.two_on_single(x, y, rope=0, runs=runs)
        assert corrected_t(y - x, 1 / folds).p == pytest.approx(2 * min(left, right), abs=1e-9)


def test_scikit_posthocs_agrees_where_it_is_installed() -> None:
    posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs is installed for this check only")
    rng = np.random.default_rng(1)
    for n, k in [(2, 2), (5, 3), (12, 6)]:
        scores = rng.normal(0, 0.1, (n, k)).round(1)
        assert np.abs(np.array(nemenyi(scores).p) - posthocs.posthoc_nemenyi_friedman(scores).to_numpy()).max() < 1e-9


def test_demsar_is_reproduced() -> None:
    """Section 3.2 prints chi-square 9.28, F 3.69, and critical differences 1.25 at 0.05 and 1.12 at 0.10."""
    test = friedman(DEMSAR, tie_correction=False)
    assert round(test.statistic, 2) == 9.28
    assert round(test.f_statistic, 2) == 3.69
    assert test.f_freedom == (3, 39)
    assert test.f_p < 0.05
    ranks = nemenyi(-DEMSAR)
    assert [round(rank, 3) for rank in ranks.ranks] == [3.143, 2.0, 2.893, 1.964]
    assert round(ranks.critical_difference, 2) == 1.25
    assert round(nemenyi(-DEMSAR, alpha=0.1).critical_difference, 2) == 1.12


@pytest.mark.parametrize(("k", "five", "ten"), [(2, 1.960, 1.645), (3, 2.343, 2.052), (5, 2.728, 2.459), (10, 3.164, 2.920)])
def test_critical_values_are_those_of_demsars_table(k: int, five: float, ten: float) -> None:
    """Table 5(a) of Demsar (2006), to its three digits."""
    scores = np.random.default_rng(0).normal(size=(4, k))
    unit = math.sqrt(k * (k + 1) / 24)
    assert nemenyi(scores).critical_difference / unit == pytest.approx(five, abs=1.1e-3)
    assert nemenyi(scores, alpha=0.1).critical_difference / unit == pytest.approx(ten, abs=1.1e-3)


def test_nemenyi_by_quadrature() -> None:
    scores = np.random.default_rng(3).normal(size=(9, 5)) + np.arange(5) / 2
    test = nemenyi(scores)
    for i, j in [(0, 1), (0, 4), (2, 4)]:
        q = abs(test.ranks[i] - test.ranks[j]) / math.sqrt(5 * 6 / (6 * 9)) * math.sqrt(2)

        def largest(z: Any, q: float = q) -> Any:
            return mpmath.npdf(z) * (mpmath.ncdf(z) - mpmath.ncdf(z - q)) ** 4

        assert test.p[i][j] == pytest.approx(float(1 - 5 * mpmath.quad(largest, [-9, -3, 0, 3, 9, 18])), abs=1e-12)


@settings(deadline=None)
@given(differences, shares)
def test_t_by_hand(values: list[float], share: float) -> None:
    """The formula of Nadeau and Bengio, spelled out."""
    n, mean = len(values), sum(values) / len(values)
    variance = sum((d - mean) ** 2 for d in values) / (n - 1)
    for test, factor in [(paired_t(values), 1 / n), (corrected_t(values, share), 1 / n + share / (1 - share))]:
        assert test.freedom == n - 1
        if len(set(values)) > 1:
            assert test.statistic == pytest.approx(mean / math.sqrt(variance * factor), rel=1e-12, abs=1e-12)
            assert test.p == pytest.approx(tail(test.statistic, n - 1), rel=1e-9)
        else:
            assert test.statistic == (0.0 if mean == 0 else math.copysign(math.inf, mean))
            assert test.p == float(mean == 0)


@settings(deadline=None)
@given(differences, shares, st.sampled_from([0.0, 1 / 64, 0.25]))
def test_swapping_the_models_mirrors_every_test(values: list[float], share: float, rope: float) -> None:
    other = [-d for d in values]
    for test, mirrored in [(paired_t(values), paired_t(other)), (corrected_t(values, share), corrected_t(other, share))]:
        assert (mirrored.statistic, mirrored.p) == (-test.statistic, test.p)
        assert 0 <= test.p <= 1
    one, two = wilcoxon(values), wilcoxon(other)
    assert (one.positive, one.negative, one.p) == (two.negative, two.positive, two.p)
    here, there = bayesian_correlated_t(values, share, rope), bayesian_correlated_t(other, share, rope)
    assert here[:3] == pytest.approx(there[2::-1], abs=1e-15)
    assert sum(here[:3]) == pytest.approx(1, abs=1e-12)
    assert min(here[:3]) >= 0


@settings(deadline=None)
@given(differences, shares)
def test_corrected_and_bayesian_test_agree_without_a_rope(values: list[float], share: float) -> None:
    posterior, test = bayesian_correlated_t(values, share, 0.0), corrected_t(values, share)
    assert 2 * min(posterior.left, posterior.right) == pytest.approx(test.p, abs=1e-12)
    assert test.p >= paired_t(values).p


@settings(deadline=None)
@given(differences, st.integers(-900, 900))
def test_the_unit_of_the_scores_is_irrelevant(values: list[float], power: int) -> None:
    moved = [math.ldexp(d, power) for d in values]
    assert paired_t(moved) == paired_t(values)
    assert wilcoxon(moved) == wilcoxon(values)
    rope = bayesian_correlated_t(values, 0.1, 0.25)
    assert bayesian_correlated_t(moved, 0.1, math.ldexp(0.25, power))[:3] == rope[:3]


@settings(deadline=None)
@given(st.permutations(range(10)))
def test_the_order_of_the_rounds_is_irrelevant(order: list[int]) -> None:
    values = (Y - X)[order]
    assert corrected_t(values, 0.1) == corrected_t(Y - X, 0.1)
    assert wilcoxon(values) == wilcoxon(Y - X)
    assert bayesian_correlated_t(values, 0.1, 0.01) == bayesian_correlated_t(Y - X, 0.1, 0.01)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=9), st.booleans())
def test_wilcoxon_enumerated(values: list[int], pratt: bool) -> None:
    """All signs of the ranks, ties and zeros as documented."""
    kept = values if pratt else [d for d in values if d]
    magnitudes = sorted(abs(d) for d in kept)
    middle = {m: magnitudes.index(m) + (magnitudes.count(m) + 1) / 2 for m in magnitudes}
    ranks = [middle[abs(d)] for d in kept if d]
    positive = sum(middle[abs(d)] for d in kept if d > 0)
    smaller = min(positive, sum(ranks) - positive)
    sums = [sum(r for r, up in zip(ranks, signs, strict=True) if up) for signs in itertools.product([0, 1], repeat=len(ranks))]
    expected = sum(s <= smaller or s >= sum(ranks) - smaller for s in sums) / len(sums)
    found = wilcoxon(values, pratt=pratt)
    assert (found.statistic, found.positive, found.pairs, found.exact) == (smaller, positive, len(ranks), True)
    assert found.p == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("count", [10, 120, 200, 201, 400])
def test_wilcoxon_equals_scipy(count: int) -> None:
    values = np.random.default_rng(count).normal(0.05, 1, count)
    found, peer = wilcoxon(values), scipy.stats.wilcoxon(values, method="exact" if count <= 200 else "asymptotic")
    assert found.exact == (count <= 200)
    assert found.statistic == peer.statistic
    assert found.p == pytest.approx(peer.pvalue, abs=1e-9)


def test_rounding_does_not_decide_ranks() -> None:
    """0.9 - 0.8 and 0.8 - 0.7 are two floats, but one difference."""
    assert 0.9 - 0.8 != 0.8 - 0.7
    assert wilcoxon([0.9 - 0.8, 0.7 - 0.8, 0.5]).positive == 1.5 + 3
    assert nemenyi([[0.1 + 0.2, 0.3], [1.0, 1.0]]).ranks == (1.5, 1.5)


@settings(deadline=None)
@given(tables, st.booleans())
def test_ranks_sum_to_what_they_must(scores: list[list[float]], higher: bool) -> None:
    k = len(scores[0])
    test = nemenyi(scores, higher_is_better=higher)
    assert sum(test.ranks) == pytest.approx(k * (k + 1) / 2)
    assert nemenyi(scores, higher_is_better=not higher).ranks == pytest.approx([k + 1 - rank for rank in test.ranks])
    p = np.array(test.p)
    assert (p == p.T).all()
    assert (p.diagonal() == 1).all()
    assert ((p >= 0) & (p <= 1)).all()
    apart = np.abs(np.subtract.outer(test.ranks, test.ranks))
    clear = np.abs(apart - test.critical_difference) > 1e-9
    assert ((p < test.alpha) == (apart > test.critical_difference))[clear].all()


@settings(deadline=None)
@given(tables)
def test_friedman_by_hand(scores: list[list[float]]) -> None:
    ranks = np.array([scipy.stats.rankdata(row) for row in scores])
    n, k = ranks.shape
    test, usual = friedman(scores), friedman(scores, tie_correction=False)
    average = ranks.mean(axis=0)
    assert usual.statistic == pytest.approx(12 * n / (k * (k + 1)) * ((average**2).sum() - k * (k + 1) ** 2 / 4), abs=1e-9)
    assert 0 <= test.p <= usual.p + 1e-12 <= 1 + 1e-12
    assert 0 <= test.f_p <= 1
    if k > 2 and np.ptp(ranks, axis=1).any():
        peer = scipy.stats.friedmanchisquare(*np.array(scores).T)
        assert (test.statistic, test.p) == pytest.approx((peer.statistic, peer.pvalue), abs=1e-9)
    room = n * (k - 1) - test.statistic
    if room > 1e-9:
        f = (n - 1) * test.statistic / room
        assert test.f_statistic == pytest.approx(f)
        assert test.f_p == pytest.approx(scipy.stats.f.sf(f, *test.f_freedom), abs=1e-9)
    else:
        assert (test.f_statistic, test.f_p) == (math.inf, 0.0)


@settings(deadline=None)
@given(tables, st.data())
def test_a_constant_added_to_a_data_set_does_not_change_ranks(scores: list[list[float]], data: st.DataObject) -> None:
    moved = [[s + step for s in row] for row in scores for step in [data.draw(steps)]]
    assert friedman(moved) == friedman(scores)
    assert nemenyi(moved) == nemenyi(scores)


def test_groups_are_the_largest_sets_within_the_critical_difference() -> None:
    def groups(*ranks: float) -> list[tuple[int, ...]]:
        return Nemenyi(ranks, 1.0, (), 0.05, 10).groups()

    assert groups(1.0, 3.0, 5.0) == []
    assert groups(2.0, 2.0, 2.0) == [(0, 1, 2)]
    assert groups(1.0, 1.6, 2.2, 4.0) == [(0, 1), (1, 2)]
    assert groups(4.0, 2.5, 1.0, 1.5, 2.0) == [(2, 3, 4), (3, 4, 1)]


@settings(deadline=None)
@given(st.floats(0.5, 1), st.floats(0, 0.2), st.integers(2, 40), st.floats(0.5, 1), st.floats(0, 0.2), st.integers(2, 40))
def test_welch_equals_scipy(mean1: float, sd1: float, n1: int, mean2: float, sd2: float, n2: int) -> None:
    test, swapped = welch(mean1, sd1, n1, mean2, sd2, n2), welch(mean2, sd2, n2, mean1, sd1, n1)
    assert 0 <= test.p <= 1
    assert (swapped.statistic, swapped.p) == pytest.approx((-test.statistic, test.p))
    if min(sd1, sd2) > 1e-6:
        peer = scipy.stats.ttest_ind_from_stats(mean1, sd1, n1, mean2, sd2, n2, equal_var=False)
        assert (test.statistic, test.p) == pytest.approx((peer.statistic, peer.pvalue), rel=1e-9, abs=1e-9)


def test_welch_without_deviations() -> None:
    assert welch(1, 0, 10, 1, 0, 5) == (0.0, 13, 1.0)
    assert welch(1, 0, 10, 2, 0, 5) == (-math.inf, 13, 0.0)
    assert welch(1.0, 0.0, 10, 0.9, 0.1, 10).freedom == pytest.approx(9)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= a <= min(1, p * len(p_values) + 1e-12) for p, a in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_degenerate_differences() -> None:
    zero, same = [0.0] * 5, [-0.1] * 5
    assert paired_t(zero) == corrected_t(zero, 0.2) == (0.0, 4, 1.0)
    assert paired_t(same) == corrected_t(same, 0.2) == (-math.inf, 4, 0.0)
    assert wilcoxon(zero).p == wilcoxon(zero, pratt=True).p == 1.0
    assert bayesian_correlated_t(zero, 0.2, 0.0)[:3] == (0.5, 0.0, 0.5)
    assert bayesian_correlated_t(zero, 0.2, 0.01)[:3] == (0.0, 1.0, 0.0)
    assert bayesian_correlated_t(same, 0.2, 0.01)[:3] == (1.0, 0.0, 0.0)
    assert bayesian_correlated_t(same, 0.2, 0.5)[:3] == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("values", [[5e-324, 0.0], [1e308, -1e308], [1e-320, 3e-320], [1.0, 1.0 + 2**-52], [1e308, 1e-308]])
def test_extreme_differences_are_never_nan(values: list[float]) -> None:
    for number in (*paired_t(values), *corrected_t(values, 0.9), *wilcoxon(values), *bayesian_correlated_t(values, 0.5, 1.0)):
        assert not math.isnan(number)


@pytest.mark.parametrize("values", [[], [0.5], [[0.1, 0.2]], 0.3, [0.1, math.nan], [math.inf, 0.1]])
def test_what_is_no_list_of_differences_is_refused(values: Any) -> None:
    for test in (paired_t, wilcoxon, lambda v: corrected_t(v, 0.1), lambda v: bayesian_correlated_t(v, 0.1, 0.01)):
        with pytest.raises(DataError, match="difference"):
            test(values)


@pytest.mark.parametrize("scores", [[], [[1.0, 2.0]], [[1.0], [2.0]], [[1.0, 2.0], [math.nan, 1.0]]])
def test_what_is_no_table_of_scores_is_refused(scores: Any) -> None:
    for test in (friedman, nemenyi):
        with pytest.raises(DataError, match="data set"):
            test(scores)


def test_parameters_out_of_range_are_refused() -> None:
    for share in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="test_share"):
            corrected_t([1, 2], share)
    for correlation in (1.0, -0.1, math.nan):
        with pytest.raises(ParameterError, match="correlation"):
            bayesian_correlated_t([1, 2], correlation, 0.1)
    for rope in (-0.1, math.inf, math.nan):
        with pytest.raises(ParameterError, match="rope"):
            bayesian_correlated_t([1, 2], 0.1, rope)
    for alpha in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match="alpha"):
            nemenyi([[1, 2], [2, 1]], alpha=alpha)
    with pytest.raises(DataError, match="p value"):
        holm([0.1, math.nan])
    for wrong in [(1, -1, 5, 1, 1, 5), (1, 1, 1, 1, 1, 5), (math.nan, 1, 5, 1, 1, 5)]:
        with pytest.raises(DataError, match="welch"):
            welch(*wrong)
