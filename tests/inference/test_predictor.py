"""Posteriors against enumeration, for every pattern of missing values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.errors import NaiveteWarning, ResourceError
from naivete.inference import elimination
from naivete.inference.predictor import Predictor, argmax_class
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests import LONG
from tests.oracles import identical, joint, missing, posterior, tiers
from tests.strategies import dense_table, networks

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def some_rows(network: Network, seed: int, count: int = 12) -> tuple[np.ndarray, ...]:
    """Codes of random rows, about a third of the values missing."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, v.card, count).astype(np.uint8) for v in network.variables[:-1]]
    for c in codes:
        c[rng.random(count) < rng.choice([0, 0.4, 0.8])] = 255
    return tuple(codes)


def has_missing_of(codes: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.array([missing(c).any() for c in codes], bool)


@st.composite
def class_with_parents(draw: st.DrawFn) -> Network:
    """A network in which some features are parents of the class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    variables = (*tuple(Variable(name, tuple(range(draw(st.integers(1, 3))))) for name in "abcd"), Variable("class", (0, 1, 2)))
    parents = {0: (), 1: (0,), CLASS: (1, 0), 2: (1, CLASS), 3: (2, 0)}
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


any_network = networks(sparse=True).filter(lambda n: len(n.features) > 0) | class_with_parents()


@tiers
@given(network=any_network, seed=st.integers(0, 999))
@quick
def test_posteriors_equal_enumeration(network: Network, seed: int, tier: str) -> None:
    codes = some_rows(network, seed)
    with _kernels.use(tier):
        posteriors, impossible = Predictor(network).posterior(codes, has_missing_of(codes))
        logs = Predictor(network).joint(codes, has_missing_of(codes))
    assert np.isfinite(posteriors).all()
    assert np.allclose(posteriors.sum(axis=1), 1, rtol=0, atol=1e-12)
    for i in range(len(posteriors)):
        row = [None if missing(c)[i] else int(c[i]) for c in codes]
        expected = posterior(network, row)
        assert (expected is None) == (i in impossible)
        if expected is not None:
            assert np.allclose(posteriors[i], expected, rtol=0, atol=1e-12)
            with np.errstate(divide="ignore"):
                exact = np.log(np.array([float(p) for p in joint(network, row)]))
            assert np.array_equal(np.isneginf(logs[i]), np.isneginf(exact))
            known = np.isfinite(exact)
            assert np.allclose(logs[i][known] - logs[i].max(), exact[known] - exact.max(), atol=1e-10)
        elif CLASS in network.parents and not network.parents[CLASS]:
            assert (
                set(np.flatnonzero(posteriors[i])) <= set(np.flatnonzero(network.cpts[CLASS]))
                or not network.cpts[CLASS][posteriors[i] > 0].any()
            )


@given(network=any_network, seed=st.integers(0, 999))
@quick
def test_a_row_alone_in_a_batch_or_shuffled_has_the_same_bits(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, count=33)
    predictor = Predictor(network)
    whole, _ = predictor.posterior(codes, has_missing_of(codes))
    order = np.random.default_rng(seed).permutation(33)
    turned = tuple(c[order] for c in codes)
    assert identical(predictor.posterior(turned, has_missing_of(turned))[0], whole[order])
    for i in range(33):
        alone = tuple(c[i : i + 1] for c in codes)
        assert identical(predictor.posterior(alone, has_missing_of(alone))[0], whole[i : i + 1])


@pytest.mark.parametrize("seed", range(4))
def test_large_cards_and_batches_keep_the_bits_of_a_row(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    cards = (17, 40, 9, 23)
    classes = int(rng.integers(1, 4))
    variables = (*tuple(Variable(f"x{i}", tuple(range(c))) for i, c in enumerate(cards)), Variable("class", tuple(range(classes))))
    parents = {CLASS: (), 0: (CLASS,), 1: (0, CLASS), 2: (1, CLASS), 3: (0, 1)}
    network = Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})
    codes = some_rows(network, seed, count=300)
    predictor = Predictor(network)
    whole, _ = predictor.posterior(codes, has_missing_of(codes))
    for i in range(0, 300, 7):
        alone = tuple(c[i : i + 1] for c in codes)
        assert identical(predictor.posterior(alone, has_missing_of(alone))[0], whole[i : i + 1])
    monkeypatch.setattr(elimination, "FACTOR_CELLS", 17 * 40 * 23 * classes)
    assert identical(predictor.posterior(codes, has_missing_of(codes))[0], whole)


@given(network=any_network)
@quick
def test_a_row_without_a_value_gets_the_prior_itself(network: Network) -> None:
    codes = tuple(np.full(3, 255, np.uint8) for _ in network.features)
    posteriors, _ = Predictor(network).posterior(codes, np.ones(len(codes), bool))
    if network.parents[CLASS]:
        assert np.allclose(posteriors[0], posterior(network, [None] * len(codes)), atol=1e-12)
    else:
        assert all(identical(row, network.cpts[CLASS]) for row in posteriors)


@given(network=any_network, seed=st.integers(0, 999))
@quick
def test_a_missing_value_is_the_sum_over_its_values(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, count=6)
    x = seed % len(codes)
    hidden = tuple(np.full_like(c, 255) if i == x else c for i, c in enumerate(codes))
    predictor = Predictor(network)
    summed = np.exp(predictor.joint(hidden, has_missing_of(hidden)))
    each = []
    for value in range(network.variables[x].card):
        filled = tuple(np.full_like(c, value) if i == x else c for i, c in enumerate(codes))
        each.append(np.exp(predictor.joint(filled, has_missing_of(filled))))
    assert np.allclose(summed, np.sum(each, axis=0), rtol=1e-12, atol=1e-300)


def test_evidence_that_is_d_separated_has_no_effect() -> None:
    rng = np.random.default_rng(1)
    variables = (*tuple(Variable(n, (0, 1)) for n in "abc"), Variable("class", (0, 1)))
    parents = {CLASS: (), 0: (CLASS,), 1: (0,), 2: (1,)}
    network = Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})
    predictor = Predictor(network)
    for a in (0, 1):
        known = [
            predictor.posterior((np.array([a], np.uint8), *(np.array([v], np.uint8) for v in rest)), np.ones(3, bool))[0]
            for rest in product((0, 1, 255), repeat=2)
        ]
        assert all(np.allclose(k, known[0], atol=1e-15) for k in known if np.isfinite(k).all())


def test_impossible_evidence_gives_the_prior_of_the_classes_with_the_fewest_impossible_factors() -> None:
    variables = (Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("class", (0, 1, 2)))
    certain = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    half = np.array([[0.0, 0.5, 0.5], [1.0, 0.5, 0.5]])
    parents = {CLASS: (), 0: (CLASS,), 1: (CLASS,)}
    network = Network(variables, parents, {CLASS: np.array([0.5, 0.2, 0.3]), 0: certain, 1: half})
    rows = (np.array([0, 1, 0], np.uint8), np.array([0, 0, 1], np.uint8))
    posteriors, impossible = Predictor(network).posterior(rows, np.zeros(2, bool))
    assert impossible.tolist() == [0, 2]
    assert posteriors.round(12).tolist() == [[0.0, 0.4, 0.6], [0.0, 0.4, 0.6], [0.5, 0.2, 0.3]]


def test_where_the_prior_of_the_best_classes_is_zero_they_share() -> None:
    variables = (Variable("a", (0, 1)), Variable("class", (0, 1)))
    network = Network(variables, {CLASS: (), 0: (CLASS,)}, {CLASS: np.array([1.0, 0.0]), 0: np.array([[0.0, 1.0], [1.0, 0.0]])})
    posteriors, impossible = Predictor(network).posterior((np.array([0], np.uint8),), np.zeros(1, bool))
    assert impossible.tolist() == [0]
    assert np.isfinite(posteriors).all()
    assert posteriors.sum() == 1


def test_many_features_are_finite() -> None:
    n = 100_000 if LONG else 8_000
    rng = np.random.default_rng(0)
    variables = (*tuple(Variable(i, (0, 1)) for i in range(n)), Variable("class", (0, 1)))
    tables = rng.uniform(0.01, 0.99, (n, 2))
    cpts = {CLASS: np.array([0.5, 0.5]), **{x: np.stack([tables[x], 1 - tables[x]]) for x in range(n)}}
    network = Network(variables, {CLASS: (), **dict.fromkeys(range(n), (CLASS,))}, cpts)
    codes = tuple(rng.integers(0, 2, (n, 4)).astype(np.uint8))
    posteriors, impossible = Predictor(network).posterior(codes, np.zeros(n, bool))
    assert np.isfinite(posteriors).all()
    assert np.allclose(posteriors.sum(axis=1), 1, atol=1e-12)
    assert len(impossible) == 0


def test_an_error_about_a_large_clique_names_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    variables = (*tuple(Variable(n, tuple(range(4))) for n in "abc"), Variable("class", (0, 1)))
    parents = {CLASS: (), 0: (CLASS,), 1: (CLASS,), 2: (0, 1, CLASS)}
    network = Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})
    monkeypatch.setattr(elimination, "FACTOR_CELLS", 8)
    codes = tuple(np.array([c], np.uint8) for c in (255, 255, 1))
    with pytest.raises(ResourceError, match=r"the missing values of 'a', 'b' together needs a table of 32 cells"):
        Predictor(network).posterior(codes, np.array([True, True, False]))


def test_no_rows_give_no_predictions() -> None:
    variables = (Variable("a", (0, 1)), Variable("class", (0, 1, 2)))
    network = Network(variables, {CLASS: (), 0: ()}, {CLASS: np.full(3, 1 / 3), 0: np.full(2, 0.5)})
    posteriors, impossible = Predictor(network).posterior((np.empty(0, np.uint8),), np.zeros(1, bool))
    assert posteriors.shape == (0, 3)
    assert len(impossible) == 0 == len(argmax_class(posteriors))


def test_equal_classes_go_to_the_first() -> None:
    assert argmax_class(np.array([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])).tolist() == [0, 1]


def test_sixteen_threads_on_one_predictor_equal_one() -> None:
    rng = np.random.default_rng(0)
    variables = (*tuple(Variable(f"x{i}", tuple(range(3))) for i in range(6)), Variable("class", (0, 1)))
    parents = {CLASS: (), **{x: (*range(max(0, x - 2), x), CLASS) for x in range(6)}}
    network = Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})
    codes = some_rows(network, 5, count=200)
    expected = Predictor(network).posterior(codes, has_missing_of(codes))[0]
    shared = Predictor(network)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: shared.posterior(codes, has_missing_of(codes))[0], range(64)))
    assert all(identical(a, expected) for a in answers)


def test_impossible_rows_get_the_prior_of_a_class_with_parents() -> None:
    """P(c) = .5 * .8 + .5 * 1 = .9 for the first class; the row a = 0, b = 1 is impossible."""
    variables = (Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", ("x", "y")))
    tables = {0: np.array([0.5, 0.5]), 1: np.array([[1.0, 0.0], [0.5, 0.5]]), CLASS: np.array([[0.8, 0.2], [1.0, 0.0]])}
    network = Network(variables, {0: (), 1: (0,), CLASS: (0,)}, tables)
    codes = (np.array([0], np.uint8), np.array([1], np.uint8), np.array([0], np.uint8))
    posteriors, impossible = Predictor(network).posterior(codes, np.zeros(2, bool))
    assert impossible.tolist() == [0]
    assert np.allclose(posteriors, [[0.9, 0.1]])


def test_a_prior_beyond_the_budget_is_replaced_by_a_uniform_one_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = (Variable("a", (0, 1)), Variable("b", (0, 1)), Variable("c", ("x", "y")))
    tables = {0: np.array([0.5, 0.5]), 1: np.array([[1.0, 0.0], [0.5, 0.5]]), CLASS: np.array([[0.8, 0.2], [1.0, 0.0]])}
    network = Network(variables, {0: (), 1: (0,), CLASS: (0,)}, tables)
    monkeypatch.setattr(elimination, "FACTOR_CELLS", 2)
    codes = (np.array([0], np.uint8), np.array([1], np.uint8), np.array([0], np.uint8))
    with pytest.warns(NaiveteWarning, match=r"prior .* of 'c' .* uniform .* marginalizing .* 'a'"):
        posteriors, impossible = Predictor(network).posterior(codes, np.zeros(2, bool))
    assert impossible.tolist() == [0]
    assert posteriors.tolist() == [[0.5, 0.5]]
