"""Probabilities from counts: every smoothing compared with its formula, for dense and sparse tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import Block, MemoryCases
from naivete.counts import counts
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.network import estimation
from naivete.network.checks import check_tables
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.network.smoothing import Backoff, ClarkNiblett, Lidstone, MEstimate, prior_probabilities, smoothing_of
from naivete.variables import CLASS, family
from tests.oracles import cases_of, chunked, counted, identical, many_threads, probability
from tests.strategies import some_cases, structures

quick = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMOOTHINGS = [1.0, 0.0, 0.5, "m-estimate", "m-estimate:0", "friedman", "clark-niblett", "backoff", "backoff:0"]
smoothings = st.sampled_from(SMOOTHINGS)


def expected(
    table: np.ndarray, axis: int, parents: tuple[int, ...], members: tuple[int, ...], smoothing: Any, share: Any, total: Any
) -> Any:
    """P(v | parents) of exact counts, by the formulas, cell by cell."""
    v = table.shape[axis]
    whole = table.sum(axis=axis, keepdims=True)
    others = tuple(a for a in range(table.ndim) if a != axis)
    everything = table.sum()
    marginal = (
        table.sum(axis=others, keepdims=True) / everything
        if everything
        else np.full(table.sum(axis=others, keepdims=True).shape, Fraction(1, v))
    )

    def blend(n: np.ndarray, amount: Fraction, base: Any, otherwise: Any) -> np.ndarray:
        sums = n.sum(axis=axis, keepdims=True) + amount
        return np.where(sums > 0, (n + amount * base) / np.where(sums > 0, sums, 1), otherwise)

    if isinstance(smoothing, Lidstone):
        return blend(table, Fraction(smoothing.alpha) * v, Fraction(1, v), Fraction(1, v))
    if isinstance(smoothing, MEstimate):
        return blend(table, Fraction(smoothing.m), marginal, marginal)
    if isinstance(smoothing, ClarkNiblett):
        prior = share if members[-1] == CLASS and members[axis] != CLASS else np.array([Fraction(1)])
        raw = np.where(table > 0, table / np.where(whole > 0, whole, 1), prior / max(total, 1))
        sums = raw.sum(axis=axis, keepdims=True)
        return np.where(sums > 0, raw / np.where(sums > 0, sums, 1), Fraction(1, v))
    features = [p for p in parents if p != CLASS]
    weakest = [*features[::-1], *([CLASS] if CLASS in parents else [])]

    def back(n: np.ndarray, weakest: list[int]) -> np.ndarray:
        if not weakest:
            return (n + 1) / (n.sum(axis=axis, keepdims=True) + v)
        shorter = back(n.sum(axis=members.index(weakest[0]), keepdims=True), weakest[1:])
        half, m, total = Fraction(1, 2), Fraction(smoothing.m), n.sum(axis=axis, keepdims=True)
        discount = np.minimum(n, half)
        mixed = (n - discount + (m + discount.sum(axis=axis, keepdims=True)) * shorter) / np.where(total > 0, total + m, 1)
        return np.where(total > 0, mixed, shorter)

    return back(table, weakest)


@given(training=some_cases(rows=(1, 25), max_card=3), smoothing=smoothings, data=st.data())
@quick
def test_tables_follow_the_formula_of_their_smoothing(
    training: MemoryCases, cases: Any, smoothing: Any, data: st.DataObject
) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    network = estimate(Counts(cases(training)), structure, smoothing)
    total = counted(training.block, (CLASS,), (training.variables[-1].card,))
    for v, parents in structure.items():
        members = family(v, *parents)
        if v == CLASS:
            wanted = total / total.sum()
        else:
            table = counted(training.block, members, [training.variables[m].card for m in members])
            wanted = expected(table, members.index(v), parents, members, smoothing_of(smoothing), total / total.sum(), total.sum())
        assert np.allclose(network.cpts[v], np.broadcast_to(wanted, network.cpts[v].shape).astype(float), rtol=1e-12, atol=1e-300)


@given(training=some_cases(rows=(1, 25), max_card=3), smoothing=smoothings, data=st.data())
@quick
def test_sparse_tables_have_the_probabilities_of_dense_ones(
    training: MemoryCases, cases: Any, smoothing: Any, data: st.DataObject
) -> None:
    structure = data.draw(structures(len(training.variables) - 1, max_parents=3, class_parent=True))
    dense = estimate(Counts(training), structure, smoothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "DENSE_CELLS", 0)
        sparse = estimate(Counts(cases(training)), structure, smoothing)
        patch.setattr(estimation, "COMPRESSED_CELLS", -1)
        patch.setattr(estimation, "COMPRESSION", -1)
        compressed = estimate(Counts(cases(training)), structure, smoothing)
    rng = np.random.default_rng(0)
    rows = [[int(rng.integers(v.card)) for v in training.variables] for _ in range(20)]
    for v, parents in structure.items():
        table = compressed.cpts[v]
        assert isinstance(sparse.cpts[v], SparseCpt) == isinstance(table, SparseCpt) == (len(parents) > 1)
        assert not isinstance(table, SparseCpt) or isinstance(table.rows, CompressedRows) == (v != CLASS and CLASS in parents)
        for row in rows:
            assert np.isclose(probability(dense, v, row), probability(sparse, v, row), rtol=1e-12, atol=0)
            assert np.isclose(probability(dense, v, row), probability(compressed, v, row), rtol=1e-11, atol=0)
    check_tables(compressed)


@given(training=some_cases(rows=(1, 25), max_card=3), sparse=st.booleans(), m=st.sampled_from([0.0, 0.5, 2.0]), data=st.data())
@quick
def test_back_off_sums_to_one_and_has_no_zeros(training: MemoryCases, sparse: bool, m: float, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1, max_parents=3, class_parent=sparse))
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(counts, "DENSE_CELLS", 0)
        network = estimate(Counts(training), structure, Backoff(m))
    for v, parents in structure.items():
        if v != CLASS or parents:
            for _, p in network.table(v).distributions():
                assert (p > 0).all()
                assert np.isclose(p.sum(), 1, rtol=1e-12)


def test_back_off_has_the_formula_of_nested_contexts() -> None:
    """One feature with two parents, by hand: whole counts, a discount of 1/2 for each of t states, the class left out last."""
    rows = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [2, 0, 1, 0], [1, 1, 0, 1]])
    network = estimate(Counts(cases_of([3, 2, 2, 2], rows.T.tolist())), {CLASS: (), 1: (), 2: (), 0: (1, 2, CLASS)}, "backoff")
    laplace = np.array([3, 3, 2]) / 8  # counts 2, 2, 1
    given_class = (np.array([1.5, 0.5, 0.5]) + 2.0 * laplace) / 4.5
    given_strongest = (np.array([1.5, 0.5, 0.5]) + 2.0 * given_class) / 4.5
    given_both = (np.array([1.5, 0.5, 0.0]) + 1.5 * given_strongest) / 3.5
    cpt = np.asarray(network.cpts[0])  # (x, first parent, second parent, class)
    assert np.allclose(cpt[:, 0, 0, 0], given_both, rtol=1e-14)
    assert np.allclose(cpt[:, 1, 1, 0], given_class, rtol=1e-14)  # this context never occurs


@given(training=some_cases(), smoothing=smoothings, seed=st.integers(0, 999), data=st.data())
@quick
def test_the_network_is_bit_identical_for_any_order_and_back_end(
    training: MemoryCases, smoothing: Any, seed: int, data: st.DataObject
) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    rng = np.random.default_rng(seed)
    shuffled = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    with pytest.MonkeyPatch.context() as patch:
        if seed % 2:
            patch.setattr(counts, "DENSE_CELLS", 8)
        one = estimate(Counts(training), structure, smoothing)
        assert identical(one, estimate(Counts(shuffled), structure, smoothing))
        assert identical(one, estimate(Counts(chunked(training, rng)), structure, smoothing))
        with _kernels.use("numpy"):
            assert identical(one, estimate(Counts(training), structure, smoothing))
        many_threads(patch)
        assert identical(one, estimate(Counts(training), structure, smoothing))


@given(training=some_cases(weights="whole"), smoothing=smoothings, data=st.data())
@quick
def test_a_weight_of_two_is_a_row_twice(training: MemoryCases, smoothing: Any, data: st.DataObject) -> None:
    structure = data.draw(structures(len(training.variables) - 1))
    rows = np.repeat(np.arange(len(training.block)), training.block.weight.astype(int))
    twice = MemoryCases(training.variables, Block(training.block.take(rows).codes), training.has_missing)
    assert identical(estimate(Counts(training), structure, smoothing), estimate(Counts(twice), structure, smoothing))


def test_the_class_may_have_parents() -> None:
    training = cases_of([2, 2, 2], [[0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [0, 1, 1, 1, 0]])
    network = estimate(Counts(training), {CLASS: (0,), 0: (), 1: (CLASS,)}, 1.0)
    assert network.cpts[CLASS].tolist() == [[0.5, 0.5], [0.4, 0.6]]
    assert network.cpts[0].tolist() == [3 / 7, 4 / 7]
    for smoothing in SMOOTHINGS:
        assert isinstance(estimate(Counts(training), {CLASS: (0,), 0: (), 1: (CLASS,)}, smoothing), Network)


@pytest.mark.parametrize(
    "prior", [{0: 0, 1: 0}, {0: -1, 1: 2}, {0: np.nan, 1: 1}, {0: "a", 1: 1}, {0: 1e308, 1: 1e308}, {0: [1], 1: 1}]
)
def test_shares_that_cannot_be_normalized(prior: Any) -> None:
    with pytest.raises(ParameterError, match="the shares are finite numbers, none below 0 and not all of them 0"):
        prior_probabilities(prior, [0, 1])


def test_a_prior_by_label_is_normalized() -> None:
    assert prior_probabilities({"a": 3, "b": 1}, ["b", "a"]).tolist() == [0.25, 0.75]
    assert prior_probabilities({0: 0.1, 1: 0.9}, [0, 1]).tolist() == [0.1, 0.9]  # the same bits
    with pytest.raises(ParameterError, match="a share for each of the classes"):
        prior_probabilities({"a": 1}, ["a", "b"])


def test_a_given_prior_replaces_the_frequencies() -> None:
    training = cases_of([2, 2], [[0, 1, 1], [0, 1, 1]])
    assert estimate(Counts(training), {CLASS: (), 0: (CLASS,)}, prior=[0.25, 0.75]).cpts[CLASS].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("prior", [[1.0], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0], "ab", 3, [[0.5, 0.5]], [{}, 1]])
def test_an_invalid_prior_raises(prior: Any) -> None:
    with pytest.raises(ParameterError, match="prior="):
        estimate(Counts(cases_of([2, 2], [[0, 1], [0, 1]])), {CLASS: (), 0: ()}, prior=prior)


@pytest.mark.parametrize(
    ("value", "expected_smoothing"),
    [
        (2, Lidstone(2.0)),
        (np.float32(0.5), Lidstone(0.5)),
        ("lidstone", Lidstone(1.0)),
        ("lidstone:0.25", Lidstone(0.25)),
        ("m-estimate", MEstimate(2.0)),
        ("friedman:3", MEstimate(3.0)),
        ("clark-niblett", ClarkNiblett()),
        ("backoff", Backoff(0.5)),
        ("backoff:2", Backoff(2.0)),
        (Backoff(1.0), Backoff(1.0)),
    ],
)
def test_smoothings_have_names(value: Any, expected_smoothing: Any) -> None:
    assert smoothing_of(value) == expected_smoothing


BAD = [
    -1,
    np.nan,
    np.inf,
    "x",
    "",
    "backoff:x",
    "backoff:-1",
    "clark-niblett:2",
    True,
    None,
    [1.0],
    Lidstone(-1),
    Lidstone(None),
    Backoff("a"),
]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_invalid_smoothings_raise(value: Any) -> None:
    with pytest.raises(ParameterError, match="smoothing="):
        smoothing_of(value)
