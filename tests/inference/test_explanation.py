"""Contributions to the log odds: they add up, and Shapley values equal the enumeration of all coalitions."""

from __future__ import annotations

from itertools import combinations, product
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete import C45, ID3, KDB, TAN, Encoder, Explanation, HillClimb, NaiveBayes
from naivete.errors import DataError
from naivete.inference.derived_predictor import predictor_of
from naivete.inference.explanation import Explainer
from naivete.inference.log_odds import against_rest
from naivete.network.conditional_tables import SparseCpt
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.variables import CLASS
from tests import LONG
from tests.inference.test_predictor import class_with_parents, has_missing_of, some_rows
from tests.strategies import deriving_networks, networks

quick = settings(deadline=None, max_examples=40)
BITS = 1 / np.log(2)


def positive(network: Network) -> Network:
    """The network with probabilities above zero: each table is mixed with the uniform distribution."""
    mixed: dict[int, Any] = {}
    for v, cpt in network.cpts.items():
        card = network.variables[v].card
        if isinstance(cpt, SparseCpt):
            levels, last = cpt.levels
            mixed[v] = 0.7 * last + 0.3 / card
            for level in reversed(levels):
                mixed[v] = SparseCpt(
                    level.configurations, 0.7 * level.at(level.configurations) + 0.3 / card, mixed[v], level.parents
                )
        else:
            mixed[v] = 0.7 * cpt + 0.3 / card
    return Network(network.variables, network.parents, mixed, network.derived)


any_network = networks(sparse=True, max_features=5).filter(lambda n: len(n.features) > 0) | class_with_parents()
several_classes = any_network.map(positive).filter(lambda n: n.variables[CLASS].card > 1)


def exact_log_odds(network: Network, codes: Any, target: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
    joint = predictor_of(network).joint(codes, has_missing_of(codes)) * BITS
    rows = np.arange(len(target))
    top = joint[rows, target]
    if other is not None:
        return np.asarray(top - joint[rows, other])
    joint[rows, target] = -np.inf
    return np.asarray(top - np.logaddexp2.reduce(joint, axis=1))


@given(network=several_classes, seed=st.integers(0, 999))
@quick
def test_contributions_add_up_to_the_log_odds(network: Network, seed: int) -> None:
    codes = some_rows(network, seed)
    rng = np.random.default_rng(seed)
    target, other = rng.integers(0, network.variables[CLASS].card, (2, 12))
    explainer = Explainer(network)
    for by in ("feature", "family"):
        for against in (None, other):
            result = explainer.attribution(codes, has_missing_of(codes), target, against, by)  # type: ignore[arg-type]
            expected = exact_log_odds(network, codes, target, against)
            assert np.allclose(result.log_odds, expected, rtol=0, atol=1e-9)


@given(network=deriving_networks().map(positive).filter(lambda n: n.variables[CLASS].card > 1), seed=st.integers(0, 999))
@quick
def test_contributions_add_up_with_derived_columns(network: Network, seed: int) -> None:
    codes = some_rows(Network(network.variables, network.parents, network.cpts, check=False), seed)[: len(network.inputs)]
    target = np.random.default_rng(seed).integers(0, network.variables[CLASS].card, 12)
    posterior, _ = predictor_of(network).posterior(codes, has_missing_of(codes))
    chosen = posterior[np.arange(12), target]
    expected = np.log2(chosen / (1 - chosen))
    for by in ("feature", "family"):
        result = Explainer(network).attribution(codes, has_missing_of(codes), target, None, by)  # type: ignore[arg-type]
        assert np.allclose(result.log_odds, expected, rtol=0, atol=1e-9)


def scores_of(network: Network, rows: np.ndarray) -> np.ndarray:
    """Log-probabilities of rows without missing values relative to the first class, in bits.  # (row, class)"""
    joint = predictor_of(network).joint([column.astype(np.uint8) for column in rows.T], np.zeros(rows.shape[1], bool)) * BITS
    return np.asarray(joint - joint[:, :1])


def enumerated(network: Network, row: np.ndarray, background: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The base and the Shapley values of the scores by enumeration of all coalitions.  # (class), (feature, class)"""
    features = range(len(row))

    def worth(coalition: tuple[int, ...]) -> np.ndarray:
        rows = background.copy()
        rows[:, list(coalition)] = row[list(coalition)]
        return np.asarray(weights @ scores_of(network, rows))

    worths = {c: worth(c) for size in range(len(row) + 1) for c in combinations(features, size)}
    values = np.zeros((len(row), network.variables[CLASS].card))
    for coalition in worths:
        for j in set(features).difference(coalition):
            weight = factorial(len(coalition)) * factorial(len(row) - len(coalition) - 1) / factorial(len(row))
            values[j] += weight * (worths[tuple(sorted((*coalition, j)))] - worths[coalition])
    return worths[()], values


def check_against_enumeration(network: Network, rows: np.ndarray, background: np.ndarray | None) -> None:
    columns = [column.astype(np.uint8) for column in rows.T]
    if background is None:
        explainer = Explainer(network)
        drawn = np.array(list(product(*(range(v.card) for v in network.variables[:-1]))))
        joint = predictor_of(network).joint([c.astype(np.uint8) for c in drawn.T], np.zeros(drawn.shape[1], bool))
        weights = np.exp(joint).sum(axis=1)
    else:
        explainer = Explainer(network, [c.astype(np.uint8) for c in background.T])
        drawn, weights = background, np.full(len(background), 1 / len(background))
    classes = network.variables[CLASS].card
    expected = [enumerated(network, row, drawn, weights) for row in rows]
    for target in range(1, classes):
        result = explainer.attribution(
            columns, np.zeros(len(columns), bool), np.full(len(rows), target), np.zeros(len(rows), np.int64)
        )
        for i, (base, values) in enumerate(expected):
            assert np.allclose(result.base[i], base[target], rtol=0, atol=1e-9)
            assert np.allclose(result.values[i], values[:, target], rtol=0, atol=1e-9)


@given(network=several_classes, seed=st.integers(0, 999), given_rows=st.booleans())
@settings(deadline=None, max_examples=25)
def test_shapley_values_equal_enumeration(network: Network, seed: int, given_rows: bool) -> None:
    rng = np.random.default_rng(seed)
    cards = [v.card for v in network.variables[:-1]]
    rows, background = rng.integers(0, cards, (2, len(cards))), rng.integers(0, cards, (7, len(cards)))
    check_against_enumeration(network, rows, background if given_rows else None)


LEARNERS = {"naive Bayes": NaiveBayes(), "TAN": TAN(), "KDB": KDB(k=2), "hill climbing": HillClimb()}


def nominal_data(features: int = 10, rows: int = 400, classes: int = 3, seed: int = 0) -> tuple[list[list[str]], list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, rows)
    columns = [labels]
    for _ in range(features):
        chosen = columns[rng.integers(len(columns))]
        columns.append(np.where(rng.random(rows) < 0.6, (chosen + 1) % 3, rng.integers(0, 3, rows)))
    return [[f"v{value}" for value in row] for row in np.array(columns[1:]).T.tolist()], [f"c{c}" for c in labels.tolist()]


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_learned_networks_equal_enumeration(learner: Any) -> None:
    X, y = nominal_data(10 if LONG else 8)
    model = learner.fit(X, y)
    rows = np.stack(next(iter(model.encoded(X[:2]))).codes, axis=1).astype(np.int64)
    background = np.stack(next(iter(model.encoded(X[:20]))).codes, axis=1).astype(np.int64)
    check_against_enumeration(model.network_, rows, background)


@given(
    network=deriving_networks()
    .map(positive)
    .filter(lambda n: n.variables[CLASS].card > 1 and isinstance(n.derived[len(n.inputs)], Tree)),
    seed=st.integers(0, 999),
)
@settings(deadline=None, max_examples=25)
def test_shapley_values_of_trees_equal_enumeration(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = [v.card for v in network.columns]
    rows, background = rng.integers(0, cards, (2, len(cards))), rng.integers(0, cards, (9, len(cards)))
    check_against_enumeration(network, rows, background)


@pytest.mark.parametrize("learner", [C45(), ID3(smoothing=1)], ids=["C45", "ID3"])
def test_features_of_learned_trees_have_contributions(learner: Any) -> None:
    X, y = nominal_data(6, 300)
    model = learner.fit(X, y)
    rows = np.stack(next(iter(model.encoded(X[:3]))).codes, axis=1).astype(np.int64)
    background = np.stack(next(iter(model.encoded(X[:30]))).codes, axis=1).astype(np.int64)
    check_against_enumeration(model.network_, rows, background)
    explanation = model.explain([[None, *X[0][1:]], [None] * 6, X[1]])
    assert explanation.feature_names == [f"x{i}" for i in range(6)]
    chosen = explanation.probability
    assert np.allclose(explanation.log_odds, np.log2(chosen / (1 - chosen)), rtol=0, atol=1e-9)
    assert np.all(explanation.by_feature.values[1] == 0)
    assert np.isclose(model.feature_importances_.sum(), 1)


@given(seed=st.integers(0, 99_999), classes=st.integers(2, 6), scale=st.sampled_from([0.0, 1.0, 30.0, 1000.0]))
@quick
def test_weights_of_the_other_classes(seed: int, classes: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    base, end = rng.normal(0, scale, (2, classes, 5))
    target, rows = rng.integers(0, classes, 5), np.arange(5)
    start, weights = against_rest(base, end, target)
    others = np.ones((classes, 5), bool)
    others[target, rows] = False
    assert np.all(weights[target, rows] == 0)
    assert np.allclose(weights.sum(axis=0), -1)
    assert weights.max() <= 0
    rest = np.where(others, end, -np.inf)
    expected = end[target, rows] - np.logaddexp2.reduce(rest, axis=0)
    change = end - base
    assert np.allclose(start + change[target, rows] + (weights * change).sum(axis=0), expected, rtol=1e-13, atol=1e-9)


def test_probabilities_of_zero_give_finite_contributions() -> None:
    model = NaiveBayes(smoothing=0).fit([["a"], ["a"], ["b"]], ["x", "y", "y"])
    explanation = model.explain([["a"], ["b"]], target_class="y")
    assert np.isfinite(explanation.by_feature.values).all()
    assert np.isclose(explanation.log_odds[0], 0)
    assert explanation.log_odds[1] > 50


@pytest.mark.parametrize(("numbers", "linked"), [("normal", False), ("normal", True), ("kernel", False)])
def test_continuous_features_equal_enumeration(numbers: str, linked: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=60) > 1).astype(int)
    model = (TAN if linked else NaiveBayes)(encoder=Encoder(numbers=numbers)).fit(X, y)
    background = X[:9]
    explanation = model.explain(X[:5], target_class=1, background=background)
    for i in range(5):
        values = np.zeros(3)
        for size in range(3):
            for coalition in combinations(range(3), size):
                for j in set(range(3)).difference(coalition):
                    rows = background.copy()
                    rows[:, list(coalition)] = X[i, list(coalition)]
                    more = rows.copy()
                    more[:, j] = X[i, j]
                    odds = [np.diff(model.predict_joint_log_proba(r), axis=1).mean() * BITS for r in (rows, more)]
                    values[j] += (odds[1] - odds[0]) * factorial(size) * factorial(2 - size) / 6
        assert np.allclose(explanation.by_feature.values[i], values, rtol=0, atol=1e-9)
    X[::3, 0], X[1::4, 1] = np.nan, np.nan
    explanation = model.explain(X, target_class=1)
    expected = np.diff(model.predict_joint_log_proba(X), axis=1)[:, 0] * BITS
    assert np.allclose(explanation.by_feature.log_odds, expected, rtol=0, atol=1e-9)
    assert np.allclose(explanation.by_family.log_odds, expected, rtol=0, atol=1e-9)


def test_a_background_without_rows_is_refused() -> None:
    X, y = nominal_data(3, 50)
    model = TAN().fit(X, y)
    with pytest.raises(DataError, match="background: there are no rows"):
        model.explain(X[:2], background=np.empty((0, 3), object)).by_feature  # noqa: B018
    hidden = [[None, *row[1:]] for row in X[:5]]
    with pytest.raises(DataError, match="background: no row has observed values of 'x0'"):
        model.explain(X[:2], background=hidden).by_feature  # noqa: B018
    assert isinstance(model.explain(X[:2]), Explanation)
