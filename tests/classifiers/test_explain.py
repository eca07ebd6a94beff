"""`explain` of every classifier: the contributions add up to the log odds of its posterior probabilities."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from naivete import AODE, KDB, TAN, Encoder, Lookup, NaiveBayes, NotFittedError, ParameterError, Spectrum
from naivete.classifiers.registry import REGISTRY
from naivete.errors import ResourceError, UnseenValueWarning
from naivete.inference import certainty
from tests.inference.test_explanation import nominal_data

EXPLAINED = [entry.estimator for entry in REGISTRY]


@pytest.fixture(scope="module")
def data() -> tuple[list[list[Any]], list[str]]:
    return nominal_data(6, 200)


def log_odds(p: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log2(p) - np.log2(1 - p)


@pytest.mark.parametrize("estimator", EXPLAINED, ids=lambda estimator: estimator.__name__)
def test_contributions_add_up_for_every_classifier(estimator: Any, data: Any) -> None:
    X, y = data
    rng = np.random.default_rng(1)
    complete = X[:40] if estimator.one_network else X[:8]
    with_missing = [[None if rng.random() < 0.3 else value for value in row] for row in complete]
    model = estimator().fit(X, y)
    for rows in (complete, with_missing):
        explanation = model.explain(rows)
        posterior = model.predict_proba(rows)
        assert np.array_equal(explanation.posterior, posterior)
        assert explanation.target.tolist() == model.predict(rows).tolist()
        expected = log_odds(explanation.probability)
        possible = np.abs(expected) < 25  # probabilities of zero count as 2**-100, and 1 - p loses digits
        for attribution in (explanation.by_family, explanation.by_feature) if estimator.one_network else (explanation.by_feature,):
            assert np.allclose(attribution.log_odds[possible], expected[possible], rtol=0, atol=1e-7)


def test_the_target_class_and_pairs_of_classes(data: Any) -> None:
    X, y = data
    model = KDB(k=2).fit(X, y)
    explanation = model.explain(X[:20], target_class="c1")
    assert set(explanation.target) == {"c1"}
    pair = explanation.against("c2")
    joint = model.predict_joint_log_proba(X[:20]) / np.log(2)
    assert np.allclose(pair.log_odds, joint[:, 1] - joint[:, 2], rtol=0, atol=1e-9)
    assert np.allclose(pair.by_family.log_odds, pair.log_odds, rtol=0, atol=1e-9)
    with pytest.raises(ParameterError, match=r"target_class='c9' is not a class of the model; did you mean c"):
        model.explain(X[:2], target_class="c9")
    with pytest.raises(ParameterError, match=r"other='c1' is the class that is explained"):
        explanation.against("c1")


def test_calibrated_probabilities_are_explained(data: Any) -> None:
    X, y = data
    model = TAN(calibration="leave-one-out").fit(X, y)
    explanation = model.explain(X[:20])
    posterior = model.predict_proba(X[:20])
    assert np.array_equal(explanation.posterior, posterior)
    p = posterior.max(axis=1)
    assert np.allclose(explanation.log_odds, log_odds(p), rtol=0, atol=1e-9)
    assert np.allclose(explanation.by_family.log_odds, explanation.log_odds, rtol=0, atol=1e-9)


def test_values_that_never_occurred_are_marginalized(data: Any, ensembles: list[Any]) -> None:
    X, y = data
    unseen, missing = [["new", *X[0][1:]]], [[None, *X[0][1:]]]
    for model in (TAN().fit(X, y), Spectrum(members=1).fit(X, y), *ensembles):
        with pytest.warns(UnseenValueWarning):
            one = model.explain(unseen)
        two = model.explain(missing)
        assert np.array_equal(one.by_feature.values, two.by_feature.values)
        assert one.by_feature.values[0, 0] == 0


def test_naive_bayes_contributions_are_weights_of_evidence() -> None:
    X, y = [["a"], ["a"], ["b"], ["b"]], ["yes", "yes", "yes", "no"]
    model = NaiveBayes().fit(X, y)
    explanation = model.explain([["a"]], target_class="yes")
    assert np.isclose(explanation.by_family.base[0], np.log2(3))
    assert np.isclose(explanation.by_family.values[0, 0], np.log2((3 / 5) / (1 / 3)))


def test_an_interval_that_is_too_expensive_is_said_to_be_absent(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data
    explanation = KDB(k=2).fit(X, y).explain(X[:1])
    monkeypatch.setattr(certainty, "TABLE_CELLS", 1)
    assert "(no interval: its tables are too large)" in explanation.text()
    assert "(no interval: its tables are too large)" in explanation.sentence()
    assert explanation.to_dict()["interval"] is None


@pytest.fixture(scope="module")
def ensembles(data: Any) -> list[Any]:
    X, y = data
    return [AODE().fit(X, y), Spectrum(members=2, trees=2, boosting=2).fit(X, y)]


def test_texts_of_a_classifier_that_is_not_one_network(data: Any, ensembles: list[Any]) -> None:
    X, _ = data
    for model, network in zip(ensembles, ("naive Bayes network", "summary network"), strict=True):
        explanation = model.explain(X[:2])
        assert "(no interval for this classifier)" in explanation.text()
        assert "(no interval for this classifier)" in explanation.sentence()
        assert f"exact Shapley values on 64 rows drawn from the {network}" in explanation.text()
        assert explanation.svg().startswith("<svg")
        record = explanation.to_dict()
        assert (record["interval"], record["by_family"], record["note"]) == (None, None, explanation.note())
        assert ((explanation.typicality >= 0) & (explanation.typicality <= 1)).all()


def test_estimated_contributions_have_standard_errors() -> None:
    X, y = nominal_data(10, 120)
    explanation = AODE().fit(X, y).explain(X[:2])
    errors = explanation.standard_errors
    assert errors is not None
    assert errors.shape == (2, 10)
    frame = explanation.to_frame()
    assert np.array_equal(frame["x3_standard_error"], errors[:, 3])
    assert explanation.contributions()[0].standard_error > 0  # type: ignore[operator]
    assert "The contributions are estimated from 4 permutations of the features for each of 64 rows" in explanation.text()
    assert f"their standard errors are at most {errors[0].max():.2g} bits" in explanation.note(0)
    assert "it (estimated): " in explanation.sentence()


def test_rows_are_unusual_in_the_network_beside_the_classifier() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 300)
    X = np.repeat(np.where(rng.random((300, 1)) < 0.001, 1 - first[:, None], first[:, None]), 6, axis=1).astype(str)
    model = Spectrum(members=1).fit(X.tolist(), first)
    usual, unusual = model.explain([["0"] * 6, ["0", "1", "0", "1", "0", "1"]]).typicality
    assert unusual < 0.01 < usual
    assert "less than 1% of rows drawn from the summary network are as improbable" in model.explain([["0", "1"] * 3]).text()


def test_models_that_are_not_fitted_are_refused(data: Any) -> None:
    for model in (TAN(), Spectrum(), AODE()):
        with pytest.raises(NotFittedError, match="not fitted"):
            model.explain(data[0])


def test_a_pickled_or_refitted_model_is_explained_anew(data: Any) -> None:
    X, y = data
    model = TAN().fit(X, y)
    first = model.explain(X[:5]).by_feature.values
    assert np.array_equal(pickle.loads(pickle.dumps(model)).explain(X[:5]).by_feature.values, first)
    model.fit(X[:100], y[:100])
    fresh = TAN().fit(X[:100], y[:100])
    assert np.array_equal(model.explain(X[:5]).by_feature.values, fresh.explain(X[:5]).by_feature.values)


def test_tables_that_are_too_large_are_refused_for_features_only() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (300, 5)).astype(str).tolist()
    y = rng.integers(0, 2, 300)
    X, y = [*X, *X], [*y, *(1 - y)]
    explanation = Lookup().fit(X, y).explain(X[:3])
    assert np.allclose(explanation.by_family.log_odds, 0)
    with pytest.raises(ResourceError, match="use the contributions of families"):
        explanation.by_feature  # noqa: B018


def test_sparse_matrices_are_explained() -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.integers(0, 2, (40, 4)))
    model = NaiveBayes(encoder=Encoder(kinds="nominal")).fit(X, rng.integers(0, 2, 40))
    assert np.allclose(model.explain(X).by_feature.values, model.explain(X.toarray()).by_feature.values)


def test_a_single_class_is_drawn_without_bars() -> None:
    """The log odds of the only class are infinite."""
    explanation = TAN().fit([["a", 1], ["b", 2]], ["x", "x"]).explain([["a", 1]])
    assert "+inf" in explanation.svg()
    assert "<svg" in explanation._repr_html_()


def test_only_estimated_rows_are_called_estimated() -> None:
    """A row with few observed values is explained exactly, also beside rows that are not."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 10)).astype(float)
    model = AODE().fit(X, X[:, 0] > 1)
    few = np.full(10, np.nan)
    few[:3] = 2
    explanation = model.explain(np.stack([few, X[0]]))
    assert "(estimated)" not in explanation.sentence(0)
    assert "(estimated)" in explanation.sentence(1)
