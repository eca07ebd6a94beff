"""`explain` of every classifier: the contributions add up to the log odds of its posterior probabilities."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from naivete import AODE, KDB, TAN, Encoder, Lookup, NaiveBayes, NotFittedError, ParameterError, Spectrum
from naivete.classifiers.explaining import explainable
from naivete.classifiers.registry import REGISTRY
from naivete.errors import ResourceError, UnseenValueWarning
from tests.inference.test_explanation import nominal_data

EXPLAINED = [entry.estimator for entry in REGISTRY if entry.estimator.explainable]


@pytest.fixture(scope="module")
def data() -> tuple[list[list[Any]], list[str]]:
    return nominal_data(6, 200)


def log_odds(p: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log2(p) - np.log2(1 - p)


@pytest.mark.parametrize("estimator", EXPLAINED, ids=lambda estimator: estimator.__name__)
@pytest.mark.parametrize("with_missing", [False, True])
def test_contributions_add_up_for_every_classifier(estimator: Any, with_missing: bool, data: Any) -> None:
    X, y = data
    rows = X[:40]
    if with_missing:
        rng = np.random.default_rng(1)
        rows = [[None if rng.random() < 0.3 else value for value in row] for row in rows]
    model = estimator().fit(X, y)
    explanation = model.explain(rows)
    posterior = model.predict_proba(rows)
    assert np.array_equal(explanation.posterior, posterior)
    assert explanation.target.tolist() == model.predict(rows).tolist()
    expected = log_odds(explanation.probability)
    possible = np.abs(expected) < 25  # probabilities of zero count as 2**-100, and 1 - p loses digits
    for attribution in (explanation.by_family, explanation.by_feature):
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


def test_values_that_never_occurred_are_marginalized(data: Any) -> None:
    X, y = data
    model = TAN().fit(X, y)
    unseen, missing = [["new", *X[0][1:]]], [[None, *X[0][1:]]]
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


def test_which_classifiers_can_be_explained(data: Any) -> None:
    X, y = data
    for model in (AODE().fit(X, y), Spectrum(members=2, trees=1).fit(X, y)):
        with pytest.raises(ParameterError, match=r"does not predict with one network.*among Majority, Lookup, NaiveBayes, TAN"):
            model.explain(X[:2])
    with pytest.raises(NotFittedError, match="not fitted"):
        TAN().explain(X)
    assert "TAN" in explainable()


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
