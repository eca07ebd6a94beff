"""Contributions for classifiers that are not one network: they equal the enumeration of coalitions, and add up to the log odds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from naivete import AODE, Spectrum
from naivete.errors import DataError, ParameterError
from naivete.inference.coalitions import Game
from naivete.inference.ensemble_explanation import EnsembleExplainer, drawn_rows, network_codes
from naivete.inference.log_odds import posterior_log_odds


def table(rows: int, classes: int, *, numeric: int = 2, nominal: int = 3) -> tuple[list[list[Any]], np.ndarray]:
    """Features that depend on the class and on each other, one in ten values missing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    numbers = rng.normal(size=(rows, numeric)) + 0.7 * y[:, None]
    states = np.where(rng.random((rows, nominal)) < 0.5, rng.integers(0, 3, (rows, nominal)), y[:, None] % 3)
    states[:, -1] = np.where(rng.random(rows) < 0.7, (states[:, 0] + y) % 3, states[:, -1])
    X = [[*map(float, a), *map(str, b)] for a, b in zip(numbers, states, strict=True)]
    return [[None if rng.random() < 0.1 else value for value in row] for row in X], y


def codes_of(model: Any, rows: Any) -> Any:
    (part,) = model.encoded(rows)
    return part.codes


def brute_force(model: Any, rows: Any, background: Any, target: int, other: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The base and the values of each row, by evaluating the predictor for all coalitions."""

    def log_odds(codes: Any) -> np.ndarray:
        posterior = model.predictor_.posterior(codes, np.ones(len(codes), bool))[0]
        targets = np.full(len(posterior), target)
        return posterior_log_odds(posterior, targets, None if other is None else np.full(len(posterior), other))

    codes, others = codes_of(model, rows), codes_of(model, background)
    games = [Game(log_odds, [column[i : i + 1] for column in codes], others).exact() for i in range(len(rows))]
    return np.array([game.base for game in games]), np.array([game.values for game in games])


@pytest.fixture(scope="module")
def two_classes() -> tuple[Any, Any, Any]:
    X, y = table(200, 2)
    return Spectrum(members=1).fit(X, y), X, y


@pytest.fixture(scope="module")
def three_classes() -> tuple[Any, Any, Any]:
    X, y = table(150, 3)
    return Spectrum(members=1, depth=2).fit(X, y), X, y


EMPTY = [None] * 5


def test_a_spectrum_of_one_structure_equals_the_enumeration_of_coalitions(two_classes: Any) -> None:
    model, X, _ = two_classes
    rows, background = [*X[:12], EMPTY, [None, None, None, "1", None]], [*X[50:70], EMPTY, [*EMPTY[:3], "2", None]]
    explanation = model.explain(rows, target_class=1, background=background)
    base, values = brute_force(model, rows, background, 1, None)
    assert np.allclose(explanation.by_feature.base, base, rtol=0, atol=1e-9)
    assert np.allclose(explanation.by_feature.values, values, rtol=0, atol=1e-9)
    assert explanation.standard_errors is None
    expected = posterior_log_odds(explanation.posterior, np.ones(len(rows), int))
    for attribution in (explanation.by_feature, explanation.by_family):
        assert np.allclose(attribution.log_odds, expected, rtol=0, atol=1e-9)


def test_a_missing_value_contributes_nothing(two_classes: Any) -> None:
    model, X, _ = two_classes
    absent = np.array([[value is None for value in row] for row in X[:40]])
    explanation = model.explain(X[:40])
    for attribution in (explanation.by_feature, explanation.by_family):
        assert not attribution.values[absent].any()
        assert attribution.values[~absent].any()
    assert explanation.family_names[0].startswith("x0 | ")
    assert explanation.family_names[0].endswith("class")


def test_pairs_of_classes_and_a_class_against_the_others(three_classes: Any) -> None:
    model, X, _ = three_classes
    rows, background = X[:5], X[20:40]
    pair = model.explain(rows, target_class=2, background=background).against(0)
    base, values = brute_force(model, rows, background, 2, 0)
    assert np.allclose(pair.by_feature.base, base, rtol=0, atol=1e-9)
    assert np.allclose(pair.by_feature.values, values, rtol=0, atol=1e-9)
    explanation = model.explain(rows)
    targets = explanation.posterior.argmax(axis=1)
    assert np.allclose(explanation.log_odds, posterior_log_odds(explanation.posterior, targets), rtol=0, atol=1e-9)
    assert np.allclose(explanation.by_family.log_odds, explanation.log_odds, rtol=0, atol=1e-9)


@pytest.mark.parametrize("learner", [AODE(), Spectrum(members=2, trees=2, boosting=2)], ids=["aode", "spectrum"])
def test_other_classifiers_are_exact_where_few_features_are_observed(learner: Any) -> None:
    X, y = table(120, 3)
    model = learner.fit(X, y)
    explanation = model.explain(X[:3], target_class=1, background=X[50:60])
    base, values = brute_force(model, X[:3], X[50:60], 1, None)
    assert np.allclose(explanation.by_feature.base, base, rtol=0, atol=1e-12)
    assert np.allclose(explanation.by_feature.values, values, rtol=0, atol=1e-12)
    assert np.allclose(explanation.log_odds, posterior_log_odds(explanation.posterior, np.ones(3, int)), rtol=0, atol=1e-9)
    assert explanation.standard_errors is None
    assert "exact Shapley values on 10 background rows" in explanation.text(0)


@pytest.fixture(scope="module")
def wide() -> tuple[Any, Any]:
    X, y = table(150, 2, numeric=3, nominal=8)
    return Spectrum(members=2, trees=2, boosting=3).fit(X, y), X


def test_estimates_add_up_and_are_as_exact_as_they_say(wide: Any) -> None:
    model, X = wide
    rows, background = X[:2], X[100:110]
    explanation = model.explain(rows, target_class=1, background=background, permutations=16)
    attribution = explanation.by_feature
    assert np.allclose(attribution.log_odds, posterior_log_odds(explanation.posterior, np.ones(2, int)), rtol=0, atol=1e-9)
    base, values = brute_force(model, rows, background, 1, None)
    assert np.allclose(attribution.base, base, rtol=0, atol=1e-9)
    errors = attribution.standard_errors
    assert errors is not None
    assert (np.abs(attribution.values - values) <= 5 * errors + 1e-9).all()
    again = model.explain(X[1:3], target_class=1, background=background, permutations=16)
    assert np.allclose(again.by_feature.values[0], attribution.values[1], rtol=0, atol=1e-12)  # whatever the other rows are
    other = model.explain(rows, target_class=1, background=background, permutations=16, random_state=1)
    assert not np.array_equal(other.by_feature.values, attribution.values)
    assert np.array_equal(explanation[1].by_feature.values[0], attribution.values[1])


def test_large_backgrounds_are_sampled(wide: Any, two_classes: Any) -> None:
    model, X = wide
    explanation = model.explain(X[:1], background=X)
    assert "4 permutations of the features for each of 64 of 150 background rows" in explanation.note()
    assert "64 rows drawn from the summary network" in model.explain(X[:1]).note()
    sums = two_classes[0].explain(two_classes[1][:1], background=two_classes[1] * 6)
    assert sums.note() == "The contributions are exact Shapley values on 1,024 of 1,200 background rows."


def test_no_rows_one_class_and_no_information(two_classes: Any) -> None:
    model, X, y = two_classes
    assert model.explain(X[:1])[:0].by_feature.values.shape == (0, 5)
    assert model.explain(X[:1])[:0].by_family.values.shape == (0, 5)
    for learner in (Spectrum(members=1), AODE()):
        single = learner.fit(X, ["only"] * len(X)).explain(X[:2])
        assert np.isposinf(single.log_odds).all()
        assert not single.by_feature.values.any()
        constant = learner.fit([["k"]] * len(X), y).explain([["k"]])
        assert np.isclose(constant.log_odds[0], constant.by_feature.base[0])


def test_drawn_rows_have_the_codes_of_the_table(two_classes: Any) -> None:
    model, X, _ = two_classes
    ensemble = model.ensemble()
    rows = drawn_rows(ensemble, 300, 0)
    codes = codes_of(model, X)
    for variable, column, real in zip(ensemble.variables, rows, codes, strict=True):
        assert column.dtype == real.dtype
        assert column.max() < variable.card
    assert len(np.unique(rows[0])) > ensemble.network.variables[0].card  # finer intervals than those of the network
    for column, variable, real in zip(
        network_codes(ensemble, codes), ensemble.network.variables, zip(*X, strict=True), strict=False
    ):
        absent = np.array([value is None for value in real])
        assert np.array_equal(column == np.iinfo(column.dtype).max, absent)
        assert column[~absent].max() < variable.card


def test_what_is_refused(wide: Any) -> None:
    model, X = wide
    explanation = model.explain(X[:1])
    with pytest.raises(ParameterError, match=r"Spectrum: the log odds are not a sum over families.*use by_feature"):
        explanation.by_family  # noqa: B018
    with pytest.raises(ParameterError, match="not a sum over families"):
        explanation.text(0, "family")
    with pytest.raises(ParameterError, match=r"no interval for this classifier.*fit TAN or KDB"):
        explanation.interval()
    for wrong in (2, 5, 4.0, True):
        with pytest.raises(ParameterError, match=r"permutations=.*: an even number, at least 4"):
            model.explain(X[:1], permutations=wrong)
    with pytest.raises(ParameterError, match="random_state='x'"):
        model.explain(X[:1], random_state="x")
    with pytest.raises(DataError, match="background: there are no rows"):
        EnsembleExplainer(model.ensemble(), [column[:0] for column in codes_of(model, X)])


def test_deep_structures_are_estimated() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = (np.cumsum(rng.integers(0, 2, (400, 11)), axis=1) // 2 + y[:, None]).astype(str).tolist()
    model = Spectrum(members=1, depth=12).fit(X, y)
    assert max(map(len, model.spectrum_.main.parents)) >= 9
    explanation = model.explain(X[:1], background=X[:8])
    assert explanation.standard_errors is not None
    assert np.isclose(explanation.log_odds[0], posterior_log_odds(explanation.posterior, explanation._target)[0], rtol=0, atol=1e-9)
