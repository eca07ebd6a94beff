"""Intervals of posterior probabilities against sampled tables; how typical a row is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import polygamma

from naivete import C45, KDB, TAN, Encoder, HillClimb, NaiveBayes, ParameterError, Recursive, load, save
from naivete.errors import ModelFileError
from naivete.inference.certainty import Certainty, Training, sampled_rows, trigamma
from naivete.inference.predictor import Predictor
from naivete.network.network import Network
from naivete.network.smoothing import Lidstone
from naivete.variables import CLASS
from tests import LONG
from tests.inference.test_explanation import nominal_data, positive
from tests.inference.test_predictor import class_with_parents, has_missing_of, some_rows
from tests.strategies import networks

some_network = networks(max_features=4, max_card=3).filter(lambda n: len(n.features) > 0) | class_with_parents()


def sampled_log_odds(network: Network, certainty: Certainty, codes: Any, target: np.ndarray, count: int) -> np.ndarray:
    """The log odds with tables drawn from their Dirichlet distributions.  # (sample, row)"""
    rng = np.random.default_rng(0)
    weights = {v: certainty.weight(v) for v in network.cpts}
    rows, samples = np.arange(len(target)), []
    for _ in range(count):
        cpts = {}
        for v, weight in weights.items():
            drawn = rng.gamma(weight)
            cpts[v] = drawn / drawn.sum(axis=network.family(v).index(v), keepdims=True)
        posterior, _ = Predictor(Network(network.variables, network.parents, cpts, check=False)).posterior(
            codes, has_missing_of(codes)
        )
        chosen = posterior[rows, target]
        samples.append(np.log(chosen / (1 - chosen)))
    return np.array(samples)


@given(network=some_network.map(positive).filter(lambda n: n.variables[CLASS].card > 1), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=12)
def test_deviations_are_those_of_sampled_tables(network: Network, seed: int) -> None:
    codes = some_rows(network, seed, 8)
    target = np.random.default_rng(seed).integers(0, network.variables[CLASS].card, 8)
    certainty = Certainty(network, Training(20_000.0, Lidstone(1)))
    posterior, _ = Predictor(network).posterior(codes, has_missing_of(codes))
    deviation = certainty.deviation(codes, has_missing_of(codes), posterior, target)
    samples = sampled_log_odds(network, certainty, codes, target, 400 if LONG else 200)
    assert np.allclose(deviation, samples.std(axis=0), rtol=0.25, atol=2e-3)


@pytest.mark.parametrize("learner", [NaiveBayes(), TAN(), KDB(k=2), HillClimb()], ids=lambda learner: type(learner).__name__)
def test_intervals_hold_the_stated_share_of_sampled_tables(learner: Any) -> None:
    X, y = nominal_data(5, 300)
    model = learner.fit(X, y)
    explanation = model.explain(X[:20])
    interval = explanation.interval(0.9)
    assert np.all((interval[:, 0] < explanation.probability) & (explanation.probability < interval[:, 1]))
    codes = next(iter(model.encoded(X[:20]))).codes
    certainty = Certainty(model.network_, Training(300.0, Lidstone(1)))
    target = explanation.posterior.argmax(axis=1)
    probability = 1 / (1 + np.exp(-sampled_log_odds(model.network_, certainty, codes, target, 600 if LONG else 300)))
    inside = ((probability > interval[:, 0]) & (probability < interval[:, 1])).mean(axis=0)
    assert abs(inside.mean() - 0.9) < 0.03
    assert inside.min() > 0.8


def test_weights_of_trees_without_smoothing_are_counts() -> None:
    X, y = nominal_data(4, 200)
    model = TAN(smoothing=0, bias="plain").fit(X, y)
    certainty = Certainty(model.network_, Training(200.0, Lidstone(0)))
    for v in model.network_.cpts:
        weight = certainty.weight(v)
        assert np.allclose(weight, weight.round(), atol=1e-9)
        assert np.isclose(weight.sum(), 200)


def test_intervals_shrink_with_the_number_of_cases() -> None:
    X, y = nominal_data(4, 100)
    widths = [np.diff(NaiveBayes().fit(X * k, y * k).explain(X[:10]).interval(), axis=1).mean() for k in (1, 16)]
    assert 2.5 < widths[0] / widths[1] < 5.5


def test_continuous_features_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(size=(400, 3)) + y[:, None]
    X[:, 2] += X[:, 0]
    for model in (NaiveBayes(encoder=Encoder(numbers="normal")), TAN(encoder=Encoder(numbers="normal"))):
        model.fit(X, y)
        part = X[:60].copy()
        part[30:, 0] = np.nan
        boot = []
        for _ in range(60):
            rows = rng.integers(0, 400, 400)
            boot.append(type(model)(encoder=model.encoder).fit(X[rows], y[rows]).predict_joint_log_proba(part) @ [-1, 1])
        low, high = model.explain(part, 1).interval(0.95).T
        deviation = (np.log(high / (1 - high)) - np.log(low / (1 - low))) / (2 * 1.96)
        ratio = deviation / np.std(boot, axis=0)
        assert 0.7 < np.median(ratio[:30]) < 1.4
        assert 0.7 < np.median(ratio[30:]) < 1.4
    kernel = NaiveBayes(encoder=Encoder(numbers="kernel")).fit(X, y).explain(X[:5])
    assert np.all(np.diff(kernel.interval(), axis=1) > 0)


def test_rows_that_a_tree_divides_have_an_interval() -> None:
    X, y = nominal_data(4, 300, classes=2)
    model = C45().fit(X, y)
    whole, divided, empty = model.explain([X[0], [None, *X[0][1:]], [None] * 4]).interval()
    for low, high in (whole, divided, empty):
        assert 0 < low < high < 1
    assert np.diff(empty) < np.diff(whole)


def test_hierarchies_have_no_interval() -> None:
    X, y = nominal_data(4, 300, classes=2)
    explanation = Recursive().fit(X, y).explain(X[:2])
    assert "interval" not in explanation.sentence()
    with pytest.raises(ParameterError, match="which a hierarchy of classifiers lacks"):
        explanation.interval()


def test_the_number_of_cases_is_saved(tmp_path: Any) -> None:
    X, y = nominal_data(3, 50)
    model = TAN().fit(X, y, sample_weight=np.full(50, 2.0))
    assert model.cases_ == 100
    save(model, tmp_path / "m.nvt")
    loaded = load(tmp_path / "m.nvt")
    assert np.array_equal(loaded.explain(X[:5]).interval(), model.explain(X[:5]).interval())
    with pytest.raises(ParameterError, match="level=95: a number between 0 and 1"):
        loaded.explain(X[:2]).interval(95)
    model.cases_ = float("inf")
    save(model, tmp_path / "bad.nvt")
    with pytest.raises(ModelFileError, match=r"notes.cases: inf is not a positive number"):
        load(tmp_path / "bad.nvt")


def test_a_known_prior_adds_no_uncertainty() -> None:
    X, y = nominal_data(3, 50, classes=2)
    share = [y.count("c0") / 50, y.count("c1") / 50]
    widths = [np.diff(NaiveBayes(prior=prior).fit(X, y).explain(X).interval(), axis=1).mean() for prior in (None, share)]
    assert widths[1] < widths[0]


def test_rows_unlike_the_training_data_are_flagged() -> None:
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 2000)
    X = np.where(rng.random((2000, 8)) < 0.03, rng.integers(0, 3, (2000, 8)), hidden[:, None]).astype(str)
    y = hidden % 2
    model = TAN().fit(X.tolist(), y)
    odd = [["0", "1", "2", "0", "1", "2", "0", "1"]]
    for background in (None, X.tolist()):
        explanation = model.explain([*X.tolist(), *odd], background=background)
        assert explanation.unusual[-1]
        assert ("background rows" if background else "rows drawn from the model") in explanation.sentence(len(X))
        assert explanation.unusual[:-1].mean() < 0.04
    part = model.explain([["0", None, None, "0", None, None, None, None], [None] * 8])
    assert not part.unusual.any()
    assert model.explain(odd).typicality[0] == model.explain(odd).typicality[0]


@pytest.mark.parametrize("numbers", ["normal", "kernel"])
def test_drawn_rows_have_the_distribution_of_the_network(numbers: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 2)) + 3 * y[:, None]
    X[:, 1] += X[:, 0]
    model = (TAN if numbers == "normal" else NaiveBayes)(encoder=Encoder(numbers=numbers)).fit(X, y)
    drawn = np.stack(sampled_rows(model.network_, 4000, 0), axis=1) + [v.origin for v in model.network_.variables[:-1]]
    assert np.allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.3)
    assert np.allclose(drawn.std(axis=0), X.std(axis=0), rtol=0.15)
    assert not model.explain(X[:20]).unusual.all()
    assert model.explain([[100.0, -100.0]]).unusual[0]


@pytest.mark.parametrize("learner", [TAN(smoothing=0), NaiveBayes(smoothing=0), C45()], ids=["tan", "nb", "c45"])
def test_impossible_classes_have_no_part_in_the_interval(learner: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4))
    y = (X[:, 0] + rng.integers(0, 2, 60)) % 3
    rows = X.astype(str).astype(object)
    learner.fit(rows, y)
    rows[rng.random(rows.shape) < 0.3] = None
    with np.errstate(all="raise"):
        low, high = np.asarray(learner.explain(rows).interval()).T
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()


def test_trigamma_is_that_of_scipy() -> None:
    x = np.concatenate([np.exp(np.random.default_rng(0).uniform(-30, 30, 1000)), np.arange(1, 50) / 2])
    np.testing.assert_allclose(trigamma(x), polygamma(1, x), rtol=2e-15)
    assert trigamma(np.zeros(1)) == np.inf
