"""Dependence derivatives: Zhang's identity, enumeration, missing values, and means on every back end."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, Cases, MemoryCases
from naivete.counts.counts import Counts
from naivete.errors import DataError
from naivete.inference.predictor import Predictor
from naivete.learners import derivatives as module
from naivete.learners.derivatives import Derivatives, contrasts, contributions, derivatives, mean_weights, naive_part
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.network.densities import Normal
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.oracles import cases_of, chunked, identical, joint, missing
from tests.strategies import deriving_networks, networks, some_cases

quick = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
some_network = networks(sparse=True).filter(lambda n: len(n.features) > 0)
seeds = st.integers(0, 2**32 - 1)


def some_rows(network: Network, seed: int, *, count: int = 12, has_missing: bool = True) -> tuple[np.ndarray, ...]:
    """Codes of random rows, perhaps with missing values."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, v.card, count).astype(np.uint8) for v in network.variables[:-1]]
    for c in codes:
        c[rng.random(count) < rng.choice([0, 0.4, 0.8])] = 255 if has_missing else c[0]
    return tuple(codes)


def has_missing_of(codes: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([np.isnan(c).any() if c.dtype.kind == "f" else missing(c).any() for c in codes], bool)


def naive_like(network: Network, seed: int) -> Network:
    """Naive Bayes with any tables above zero, and the prior of the network."""
    rng = np.random.default_rng(seed)
    tables = {x: rng.random((network.variables[x].card, network.variables[CLASS].card)) + 0.05 for x in network.features}
    cpts = {CLASS: network.cpts[CLASS], **{x: table / table.sum(axis=0) for x, table in tables.items()}}
    return Network(network.variables, {CLASS: (), **dict.fromkeys(network.features, (CLASS,))}, cpts)


def conditional(network: Network, row: Sequence[int | None], c: int) -> Fraction:
    """P(known values | class), by enumeration."""
    classes = network.variables[CLASS].card
    return joint(replace(network, cpts={**network.cpts, CLASS: np.full(classes, 1 / classes)}), row)[c] / Fraction(1 / classes)


def log2(p: Fraction) -> float:
    return math.log2(p.numerator) - math.log2(p.denominator) if p else -math.inf


def rows_of(codes: Sequence[np.ndarray]) -> list[list[int | None]]:
    return [[None if missing(c)[i] else int(c[i]) for c in codes] for i in range(len(codes[0]))]


@given(network=some_network, seed=seeds)
@quick
def test_the_sum_of_derivatives_is_the_difference_from_naive_bayes(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, count=8)
    other = naive_like(network, seed)
    found = derivatives(network, other, codes, has_missing_of(codes)).logs
    for i, row in enumerate(rows_of(codes)):
        for c in range(network.variables[CLASS].card):
            expected = log2(conditional(network, row, c))
            alone = sum(math.log2(other.cpts[x][value, c]) for x, value in enumerate(row) if value is not None)
            if math.isfinite(expected):
                assert abs(found[i, :, c].sum() + alone - expected) < 1e-10
            else:
                assert found[i, :, c].sum() == -math.inf


@given(network=some_network, seed=seeds)
@quick
def test_each_feature_is_conditioned_on_the_observed_features_before_it(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, count=6)
    other = naive_like(network, seed)
    found = derivatives(network, other, codes, has_missing_of(codes)).logs
    for i, row in enumerate(rows_of(codes)):
        for x, c in product(network.features, range(network.variables[CLASS].card)):
            if row[x] is None:
                assert found[i, x, c] == 0
                continue
            place = network.order.index(x)
            upto = [value if network.order.index(y) <= place else None for y, value in enumerate(row)]
            before = conditional(network, [None if y == x else value for y, value in enumerate(upto)], c)
            if before:
                expected = log2(conditional(network, upto, c) / before) - math.log2(other.cpts[x][row[x], c])
                assert found[i, x, c] == pytest.approx(expected, abs=1e-10)


@given(network=networks(class_parent=True, sparse=True).filter(lambda n: len(n.features) > 0), seed=seeds)
@quick
def test_complete_rows_have_the_quotient_of_two_tables(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, has_missing=False)
    other = naive_like(network, seed)
    found = derivatives(network, other, codes, has_missing_of(codes)).logs
    dense = {x: cpt for x, cpt in network.cpts.items() if x != CLASS and isinstance(cpt, np.ndarray)}
    for i, row in enumerate(rows_of(codes)):
        for x, cpt in dense.items():
            with np.errstate(divide="ignore"):
                expected = np.log2(cpt[tuple(row[m] for m in network.family(x)[:-1])]) - np.log2(other.cpts[x][row[x]])
            assert np.array_equal(found[i, x], expected)


@given(network=networks(sparse=True).filter(lambda n: len(n.features) > 0 and n.variables[CLASS].card == 2), seed=seeds)
@quick
def test_the_odds_of_the_network_are_those_of_naive_bayes_times_the_factor(network: Network, seed: int) -> None:
    """Zhang (2004), with missing values summed out."""
    assume(np.asarray(network.cpts[CLASS]).min() > 0)
    codes = some_rows(network, seed)
    other = naive_like(network, seed)
    found = derivatives(network, other, codes, has_missing_of(codes))
    whole, alone = (Predictor(n).joint(codes, has_missing_of(codes)) / math.log(2) for n in (network, other))
    possible = np.isfinite(whole).all(axis=1)
    odds, naive_odds = whole[possible, 1] - whole[possible, 0], alone[possible, 1] - alone[possible, 0]
    assert np.abs(naive_odds + found.gdf[possible] - odds).max(initial=0) < 1e-10


@given(network=some_network, seed=seeds)
@quick
def test_contributions_sum_to_the_posterior(network: Network, seed: int) -> None:
    assume(np.asarray(network.cpts[CLASS]).min() > 0)
    codes = some_rows(network, seed)
    other = naive_like(network, seed)
    found = contributions(network, other, codes, has_missing_of(codes))
    whole = Predictor(network).joint(codes, has_missing_of(codes)) / math.log(2)
    possible = np.isfinite(whole).all(axis=1)
    assert found.total.shape == (len(codes[0]), 1 if whole.shape[1] == 2 else whole.shape[1])
    assert np.abs(found.total[possible] - contrasts(whole[possible])).max(initial=0) < 1e-10
    assert np.array_equal(
        found.dependence, contrasts(derivatives(network, other, codes, has_missing_of(codes)).logs), equal_nan=True
    )


def test_contributions_by_hand() -> None:
    """b repeats a in class 1 and is by lot in class 0: a says nothing, b nothing alone, one bit for class 1 by what it repeats."""
    network, other = repeating()
    codes = np.array([0, 1], np.uint8), np.array([0, 1], np.uint8)
    found = contributions(network, other, codes, np.zeros(2, bool))
    assert found.prior.tolist() == [-2.0]
    assert found.naive[..., 0].tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert found.dependence[..., 0].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert found.total.tolist() == [[-1.0], [-1.0]]


def repeating() -> tuple[Network, Network]:
    variables = (Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("class", (0, 1)))
    half, prior = np.full((2, 2), 0.5), np.array([0.8, 0.2])
    network = Network(
        variables, {CLASS: (), 0: (CLASS,), 1: (0, CLASS)}, {CLASS: prior, 0: half, 1: np.stack([half, np.eye(2)], axis=2)}
    )
    return network, Network(variables, {CLASS: (), 0: (CLASS,), 1: (CLASS,)}, {CLASS: prior, 0: half, 1: half})


def test_a_feature_that_is_impossible_in_a_class_has_derivative_zero() -> None:
    network, other = repeating()
    codes = np.array([0], np.uint8), np.array([1], np.uint8)
    found = derivatives(network, other, codes, np.zeros(2, bool))
    assert found.logs.tolist() == [[[0.0, 0.0], [0.0, -math.inf]]]
    assert found.gdf.tolist() == [-math.inf]
    with pytest.raises(DataError, match="feature 1: a case has probability zero, or nearly so"):
        found.mean_weights()


def test_an_impossible_value_has_derivative_one() -> None:
    """In class 1 the value 1 of a never occurs, with or without dependence."""
    variables = (Variable("a", (0, 1)), Variable("class", (0, 1)))
    network = Network(variables, {CLASS: (), 0: (CLASS,)}, {CLASS: np.array([0.5, 0.5]), 0: np.array([[0.5, 1.0], [0.5, 0.0]])})
    found = derivatives(network, network, (np.array([1], np.uint8),), np.zeros(1, bool))
    assert found.logs.tolist() == [[[0.0, 0.0]]]


@given(network=networks().filter(lambda n: len(n.features) > 0))
@quick
def test_the_naive_part_has_the_marginals_of_the_network(network: Network) -> None:
    found = naive_part(network)
    assert identical(found.cpts[CLASS], network.cpts[CLASS])
    for x in network.features:
        assert found.parents[x] == (CLASS,)
        for value, c in product(range(network.variables[x].card), range(network.variables[CLASS].card)):
            row = [value if y == x else None for y in network.features]
            assert found.cpts[x][value, c] == pytest.approx(float(conditional(network, row, c)), abs=1e-12)


@given(network=some_network, seed=seeds)
@quick
def test_a_row_alone_has_the_same_bits_as_in_a_batch(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, count=17)
    other = naive_like(network, seed)
    whole = derivatives(network, other, codes, has_missing_of(codes)).logs
    for i in range(17):
        alone = tuple(c[i : i + 1] for c in codes)
        assert identical(derivatives(network, other, alone, has_missing_of(alone)).logs, whole[i : i + 1])


def learned(counts: Counts) -> tuple[Network, Network]:
    return kdb(counts, k=2), naive(counts)


@given(training=some_cases())
@quick
def test_means_are_those_of_the_derivatives_on_every_back_end(cases: Callable[[MemoryCases], Cases], training: MemoryCases) -> None:
    counts = Counts(cases(training))
    network, other = learned(counts)
    before = counts.passes
    found = mean_weights(counts, network, other)
    assert counts.passes == before + 1
    rows = derivatives(network, other, training.block.codes[:-1], training.has_missing)
    assert identical(found, rows.mean_weights(training.block.weight))
    each = contrasts(rows.logs)
    expected = np.average(each, axis=0, weights=training.block.weight)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-10)


@given(training=some_cases(weights="fractional"), seed=seeds)
@quick
def test_means_have_the_same_bits_however_the_rows_are_divided_and_ordered(training: MemoryCases, seed: int) -> None:
    rng = np.random.default_rng(seed)
    network, other = learned(Counts(training))
    found = mean_weights(Counts(training), network, other)
    turned = MemoryCases(training.variables, training.block.take(rng.permutation(len(training.block))), training.has_missing)
    for moved in (turned, chunked(turned, rng, 5)):
        assert identical(mean_weights(Counts(moved), network, other), found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PIECE_CELLS", 8)
        patch.setattr(module, "SUMMED_ROWS", 2)
        assert identical(mean_weights(Counts(training), network, other), found)


@given(training=some_cases(weights="whole"))
@quick
def test_a_weight_of_two_is_a_row_twice_and_of_zero_no_row(training: MemoryCases) -> None:
    weight = training.block.weight - 1
    assume(weight.any())
    times = np.repeat(np.arange(len(weight)), weight.astype(int))
    network, other = learned(Counts(training))
    rows = derivatives(network, other, training.block.codes[:-1], training.has_missing)
    assert identical(rows.mean_weights(weight), Derivatives(rows.logs[times]).mean_weights())
    repeated = MemoryCases(training.variables, Block(tuple(c[times] for c in training.block.codes)), training.has_missing)
    weighed = MemoryCases(training.variables, Block(training.block.codes, weight), training.has_missing)
    one, two = (mean_weights(Counts(c), network, other) for c in (repeated, weighed))
    assert identical(one, two)


def test_what_is_folded_can_travel() -> None:
    training = cases_of([2, 2, 2], [[0, 1, 0, 1, 1], [0, 1, 0, 0, 1], [0, 1, 1, 0, 1]])
    network, other = learned(Counts(training))
    sums = module._WeightSums(network, other, training.has_missing)
    assert pickle.loads(pickle.dumps(sums))(training.block) == sums(training.block)


def test_features_of_a_network_without_arcs_have_weight_zero() -> None:
    training = cases_of([2, 3, 3], [[0, 1, 0, 1, 1, 0], [0, 1, 2, 0, 1, 2], [0, 1, 2, 0, 1, 1]])
    other = naive(Counts(training))
    found = mean_weights(Counts(training), other, other)
    assert found.shape == (2, 3)
    assert np.abs(found).max() < 1e-12


def linear_network(rng: np.random.Generator) -> Network:
    """A feature of three states, and three numbers that depend on the class and on each other."""
    variables = (*(Variable(f"n{i}", origin=0.0) for i in range(3)), Variable("x", (0, 1, 2)), Variable("class", (0, 1)))
    parents = {CLASS: (), 0: (CLASS,), 1: (0, CLASS), 2: (0, 1, CLASS), 3: (CLASS,)}
    sure = {x: np.ones((1,) * (len(parents[x])) + (2,)) for x in range(3)}
    table = rng.random((3, 2)) + 0.1
    densities = {
        0: Normal(rng.normal(size=2), rng.random(2) + 0.5),
        1: Normal(rng.normal(size=2), rng.random(2) + 0.5, rng.normal(size=(2, 1))),
        2: Normal(rng.normal(size=2), rng.random(2) + 0.5, rng.normal(size=(2, 2))),
    }
    return Network(variables, parents, {CLASS: np.array([0.3, 0.7]), 3: table / table.sum(axis=0), **sure}, densities=densities)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lacking", [0.0, 0.4])
def test_the_identity_holds_for_numbers(seed: int, lacking: float) -> None:
    rng = np.random.default_rng(seed)
    network = linear_network(rng)
    alone = {x: Normal(rng.normal(size=2), rng.random(2) + 0.5) for x in range(3)}
    cpts = {CLASS: network.cpts[CLASS], 3: network.cpts[3], **{x: np.ones((1, 2)) for x in range(3)}}
    other = Network(network.variables, {CLASS: (), **dict.fromkeys(range(4), (CLASS,))}, cpts, densities=alone)
    codes = [*rng.normal(size=(3, 40)), rng.integers(0, 3, 40).astype(np.uint8)]
    for column in codes:
        column[rng.random(40) < lacking] = np.nan if column.dtype.kind == "f" else 255
    whole, naive_joint = (Predictor(n).joint(codes, has_missing_of(codes)) / math.log(2) for n in (network, other))
    found = derivatives(network, other, codes, has_missing_of(codes))
    assert np.abs(naive_joint + found.logs.sum(axis=1) - whole).max() < 1e-10
    assert np.abs(contributions(network, other, codes, has_missing_of(codes)).total - contrasts(whole)).max() < 1e-10


def test_no_rows_and_no_features() -> None:
    network, other = repeating()
    nothing = (np.empty(0, np.uint8), np.empty(0, np.uint8))
    found = derivatives(network, other, nothing, np.zeros(2, bool))
    assert found.logs.shape == (0, 2, 2)
    assert found.mean_weights().tolist() == [[0.0], [0.0]]
    bare = Network((Variable("class", (0, 1, 2)),), {CLASS: ()}, {CLASS: np.full(3, 1 / 3)})
    assert derivatives(bare, bare, (), np.zeros(0, bool)).logs.shape == (0, 0, 3)
    assert naive_part(bare).cpts[CLASS].tolist() == [1 / 3] * 3


def test_bad_inputs_are_refused() -> None:
    network, _ = repeating()
    codes, has_missing = (np.zeros(1, np.uint8), np.zeros(1, np.uint8)), np.zeros(2, bool)
    counts = Counts(cases_of([2, 2, 2], [[0, 1], [0, 1], [0, 1]]))
    with pytest.raises(DataError, match="naive: there is an arc from 'a' to 'b'"):
        derivatives(network, network, codes, has_missing)
    with pytest.raises(DataError, match="naive: its variables are not those of the network"):
        derivatives(network, naive(counts), codes, has_missing)
    turned = estimate(counts, {0: (), 1: (CLASS,), CLASS: (0,)})
    with pytest.raises(DataError, match="the class 'x2' has the parent 'x0'"):
        contributions(turned, turned, codes, has_missing)


@given(network=deriving_networks())
@quick
def test_derived_columns_are_refused(network: Network) -> None:
    with pytest.raises(DataError, match="derived"):
        derivatives(network, network, (), np.zeros(0, bool))
    with pytest.raises(DataError, match="derived"):
        naive_part(network)


def test_ratios_need_two_classes() -> None:
    with pytest.raises(DataError, match="needs two classes, here are 3"):
        _ = Derivatives(np.zeros((1, 1, 3))).ratios


def test_a_case_of_weight_zero_may_be_impossible() -> None:
    network, other = repeating()
    codes = np.array([0, 0], np.uint8), np.array([1, 0], np.uint8)
    rows = derivatives(network, other, codes, np.zeros(2, bool))
    assert rows.mean_weights(np.array([0.0, 3.0])).tolist() == [[0.0], [1.0]]
