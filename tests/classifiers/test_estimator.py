"""What scikit-learn documents for its estimators, without being derived from its classes."""

from __future__ import annotations

import pickle
from math import inf
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

from naivete import KDB, TAN, Encoder, InfoAS, NaiveBayes, ParameterError


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (90, 3))
    return X, (X[:, 0] + rng.integers(0, 2, 90)) % 2


def test_parameters_are_read_and_set_also_those_of_inner_objects() -> None:
    model = InfoAS(learner=KDB(k=1), encoder=Encoder(missing="state"))
    params = model.get_params()
    assert params["learner__k"] == 1
    assert params["encoder__missing"] == "state"
    assert set(model.get_params(deep=False)) == {name for name in params if "__" not in name}
    assert model.set_params(learner__k=2, alpha=0.1, encoder__missing="omit") is model
    assert (model.learner.k, model.alpha, model.encoder.missing) == (2, 0.1, "omit")
    with pytest.raises(ParameterError, match="Invalid parameter 'depth' for estimator KDB"):
        KDB().set_params(depth=3)


def test_the_repr_shows_the_parameters_that_were_changed() -> None:
    assert repr(NaiveBayes()) == "NaiveBayes()"
    assert repr(KDB(theta=-inf, k=1)) == "KDB(k=1, theta=-inf)"
    long = repr(KDB(k="auto", theta="auto", alpha=0.01, k_max=3, bias="plain", smoothing="m-estimate:2", prior=[0.25, 0.75]))
    assert long == (
        "KDB(alpha=0.01, bias='plain', k='auto', k_max=3, prior=[0.25, 0.75],\n    smoothing='m-estimate:2', theta='auto')"
    )


def test_scikit_learn_recognises_a_classifier(table: tuple[Any, Any]) -> None:
    X, y = table
    tags = get_tags(TAN())
    assert is_classifier(TAN())
    assert tags.target_tags.required
    assert tags.input_tags.categorical
    assert not isinstance(TAN(), BaseEstimator)
    fitted = TAN(bias="plain").fit(X, y)
    assert repr(clone(fitted)) == repr(fitted)
    assert not hasattr(clone(fitted), "network_")
    copied = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copied.predict_proba(X), fitted.predict_proba(X))


def test_accuracy_counts_weights(table: tuple[Any, Any]) -> None:
    X, y = table
    model, weight = NaiveBayes().fit(X, y), np.arange(90.0)
    right = model.predict(X) == y
    assert model.score(X, y) == right.mean()
    assert model.score(X, y, weight) == pytest.approx((right * weight).sum() / weight.sum())


def test_meta_estimators_accept_them(table: tuple[Any, Any]) -> None:
    X, y = table
    vote = VotingClassifier([("nb", NaiveBayes()), ("tan", TAN())], voting="soft").fit(X, y)
    mean = (NaiveBayes().fit(X, y).predict_proba(X) + TAN().fit(X, y).predict_proba(X)) / 2
    np.testing.assert_allclose(vote.predict_proba(X), mean)
    calibrated = CalibratedClassifierCV(NaiveBayes(), cv=3).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1)


def test_notebooks_show_the_parameters_of_unfitted_classifiers_also_in_a_pipeline() -> None:
    assert "smoothing" in KDB(smoothing="backoff:7")._repr_html_()
    html = make_pipeline(FunctionTransformer(), KDB(smoothing="backoff:7"))._repr_html_()
    assert "KDB" in html
    assert "backoff:7" in html


def test_metadata_requests_are_checked_and_survive_cloning() -> None:
    with pytest.raises(RuntimeError, match="only available when metadata routing is enabled"):
        NaiveBayes().set_fit_request(sample_weight=True)
    with sklearn.config_context(enable_metadata_routing=True):
        model = NaiveBayes().set_fit_request(sample_weight=True).set_partial_fit_request(sample_weight="weight")
        with pytest.raises(TypeError, match="Unexpected args"):
            model.set_score_request(weights=True)
        requests = clone(model.set_score_request(sample_weight=False)).get_metadata_routing()
        assert requests.fit.requests == {"sample_weight": True}
        assert requests.partial_fit.requests == {
            **dict.fromkeys(("classes", "half_life", "structure", "window")),
            "sample_weight": "weight",
        }
        assert requests.score.requests == {"sample_weight": False}
