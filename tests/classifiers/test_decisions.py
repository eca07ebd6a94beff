"""The decision layer: scikit-learn's contract, and what may not change a decision."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.baselines import Lookup
from naivete.classifiers.decisions import LossAware, above_thresholds, biased
from naivete.classifiers.losses import Loss, zero_one
from naivete.classifiers.not_fitted import NotFittedError
from naivete.errors import DataError, ParameterError
from tests.classifiers.test_common import data, quick

INNER = [NaiveBayes(), KDB(k=1), TAN(), Lookup(), GaussianNB(), LogisticRegression(max_iter=1000)]
inner = pytest.mark.parametrize("classifier", INNER, ids=lambda c: type(c).__name__)


def cases(rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    return data(3, rows, gaps=False)


@inner
def test_zero_one_is_the_classifier(classifier: Any) -> None:
    X, y = cases()
    plain = clone(classifier).fit(X, y)
    for settings in ({}, {"loss": zero_one}, {"loss": zero_one(["c", "a", "b"])}, {"biases": [0, 0, 0]}, {"thresholds": {}}):
        layer = LossAware(classifier, **settings).fit(X, y)
        assert layer.predict(X).tolist() == plain.predict(X).tolist()
        np.testing.assert_array_equal(layer.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_allclose(layer.predict_log_proba(X[:9]), plain.predict_log_proba(X[:9]), atol=1e-9)
        assert layer.score(X, y) == pytest.approx(plain.score(X, y), abs=1e-15)


@inner
def test_it_decides_for_the_least_expected_loss(classifier: Any) -> None:
    X, y = cases()
    matrix = np.array([[0, 4, 1], [2, 0, 8], [1, 1, 0]])
    layer = LossAware(classifier, loss=matrix).fit(X, y)
    expected = layer.expected_loss(X)
    np.testing.assert_allclose(expected, layer.predict_proba(X) @ matrix.T, atol=1e-12)
    chosen = np.searchsorted(layer.classes_, layer.predict(X))
    assert (expected[np.arange(len(X)), chosen] <= expected.min(axis=1) + 1e-12).all()
    assert layer.predict(X).tolist() != clone(classifier).fit(X, y).predict(X).tolist() or isinstance(classifier, Lookup)


@inner
def test_scale_and_shift_change_no_decision(classifier: Any) -> None:
    X, y = cases()
    matrix = np.array([[0, 4, 1], [2, 0, 8], [1, 1, 0.0]])
    layer = LossAware(classifier, loss=matrix).fit(X, y)
    for other in (matrix * 8, matrix * 2.0**-30, matrix + np.array([1, 2, 4])):
        assert LossAware(layer.classifier_, loss=other).predict(X).tolist() == layer.predict(X).tolist()


@inner
def test_rejecting(classifier: Any) -> None:
    X, y = cases()
    plain = clone(classifier).fit(X, y)
    assert LossAware(plain, reject=0).predict(X).tolist() == [None] * len(X)
    assert LossAware(plain, reject=1).predict(X).tolist() == plain.predict(X).tolist()
    some = LossAware(plain, reject=0.3, reject_label="?").predict(X)
    best = plain.predict_proba(X).max(axis=1)
    clear = abs(best - 0.7) > 1e-9
    assert ((some == "?") == (best < 0.7))[clear].all()  # Chow's rule
    assert (some == plain.predict(X))[some != "?"].all()
    model = LossAware(plain, loss=Loss.of(np.vstack([1 - np.eye(3), np.full(3, 0.3)]), plain.classes_), reject_label="?")
    assert model.predict(X).tolist() == some.tolist()
    assert model.expected_loss(X).shape == (len(X), 4)
    assert model.score(X, y) == np.mean(some == y)


def test_types_of_answers() -> None:
    X, y = cases()
    codes = np.searchsorted(["a", "b", "c"], y)
    assert LossAware(NaiveBayes()).fit(X, codes).predict(X).dtype == codes.dtype
    assert LossAware(NaiveBayes(), reject=0.5, reject_label=-1).fit(X, codes).predict(X).dtype == codes.dtype
    assert LossAware(NaiveBayes(), reject=0.5).fit(X, codes).predict(X).dtype == object
    assert LossAware(NaiveBayes(), reject=0.0, reject_label="unknown").fit(X, y).predict(X).tolist() == ["unknown"] * len(X)
    with pytest.raises(ParameterError, match="reject_label='a' is a class"):
        LossAware(NaiveBayes(), reject=0.5, reject_label="a").fit(X, y).predict(X)


@quick
@given(st.integers(1, 9), st.integers(1, 9), st.lists(st.integers(0, 64), min_size=1, max_size=30))
def test_two_classes_have_a_threshold(false_alarm: int, miss: int, parts: list[int]) -> None:
    """Decide for class 1 if P(1) > c10 / (c10 + c01), with c10 the cost of deciding 1 where 0 is true."""
    p = np.array(parts) / 64
    posterior = np.column_stack([1 - p, p])
    by_loss = Loss.of([[0, miss], [false_alarm, 0]], [0, 1]).decide(posterior)
    assert by_loss.tolist() == [int(part * (false_alarm + miss) > 64 * false_alarm) for part in parts]
    threshold = false_alarm / (false_alarm + miss)
    clear = abs(p - threshold) > 1e-12
    assert (above_thresholds(posterior, [np.nan, threshold]) == by_loss)[clear].all()


def test_thresholds_are_those_of_scikit_learn_for_two_classes() -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0][:, :2], y[y > 0]
    for threshold in (0.2, 0.5, 0.8, 0.95):
        theirs = FixedThresholdClassifier(GaussianNB(), threshold=threshold, pos_label=2, response_method="predict_proba").fit(X, y)
        assert LossAware(GaussianNB(), thresholds={2: threshold}).fit(X, y).predict(X).tolist() == theirs.predict(X).tolist()


def test_thresholds() -> None:
    p = [[0.5, 0.3, 0.2], [0.45, 0.35, 0.2], [0.6, 0.25, 0.15], [0.2, 0.2, 0.6]]
    assert above_thresholds(p, [np.nan, 0.3, 0.1]).tolist() == [2, 1, 2, 2]  # several: the most probable of them
    assert above_thresholds(p, [0.55, np.nan, np.nan]).tolist() == [1, 1, 0, 2]  # none: of those without a threshold
    assert above_thresholds(p, [0.9, 0.9, 0.9]).tolist() == [0, 0, 0, 2]  # none, and each has one: of all
    assert above_thresholds([[0.5, 0.5]], [0.5, 0.25]).tolist() == [1]  # a threshold has to be exceeded


@quick
@given(st.lists(st.integers(0, 64), min_size=1, max_size=20), st.integers(-64, 64))
def test_biases_of_two_classes_are_a_threshold(parts: list[int], bias: int) -> None:
    """Barrow, section 2.1: P(1) + b > P(0) is P(1) > (1 - b) / 2."""
    p = np.array(parts) / 64
    assert biased(np.column_stack([1 - p, p]), [0, bias / 64]).tolist() == [int(2 * part + bias > 64) for part in parts]


def test_biases_by_label() -> None:
    X, y = cases()
    by_label = LossAware(NaiveBayes(), biases={"b": 0.25}).fit(X, y).predict(X).tolist()
    assert by_label == LossAware(NaiveBayes(), biases=[0, 0.25, 0]).fit(X, y).predict(X).tolist()
    assert by_label.count("b") > NaiveBayes().fit(X, y).predict(X).tolist().count("b")
    assert set(LossAware(NaiveBayes(), biases={"b": 1.5}).fit(X, y).predict(X)) == {"b"}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"loss": zero_one, "biases": {}}, "loss and biases are different ways to decide"),
        ({"loss": zero_one, "thresholds": 0.5}, "loss and thresholds are"),
        ({"biases": {}, "thresholds": 0.5}, "biases and thresholds are"),
        ({"biases": {}, "reject": 1}, "reject is a cost, which biases do not use"),
        ({"thresholds": 0.5, "reject": 1}, "reject is a cost, which thresholds do not use"),
        ({"reject": np.nan}, "reject=nan: the cost of rejecting is one finite number"),
        ({"reject": "x"}, "not an array of numbers"),
        ({"loss": [[0, 1], [1, 0]]}, "shape (2, 2) for 3 labels"),
        ({"loss": zero_one("ab")}, "no class 'c'"),
        ({"biases": {"aa": 1}}, "biases: there is no class 'aa'; did you mean a?"),
        ({"biases": [1, 2]}, "3 classes need as many numbers"),
        ({"biases": 1}, "3 classes need as many numbers"),
        ({"biases": {"a": np.nan}}, "finite numbers are needed"),
        ({"thresholds": [0.5, np.inf, 1]}, "finite numbers are needed"),
        ({"thresholds": {"a": "high"}}, "finite numbers are needed"),
    ],
)
def test_parameters_are_refused(settings: Any, told: str) -> None:
    X, y = cases()
    with pytest.raises(ParameterError) as caught:
        LossAware(NaiveBayes(), **settings).fit(X, y)
    assert told in str(caught.value)
    with pytest.raises(ParameterError):
        LossAware(NaiveBayes().fit(X, y), **settings).predict(X)


def test_classifiers_are_refused() -> None:
    X, y = cases()
    with pytest.raises(ParameterError, match="with fit and predict_proba"):
        LossAware("kdb").fit(X, y)
    with pytest.raises(ParameterError, match="KNeighborsClassifier takes no sample_weight"):
        LossAware(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(X)))
    with pytest.raises(ParameterError, match="pass loss="):
        LossAware(NaiveBayes(), biases={}).fit(X, y).expected_loss(X)
    for rows, labels, told in ((len(X), len(X) - 1, "differ in length"), (0, 0, "X has no rows")):
        with pytest.raises(DataError, match=told):
            LossAware(NaiveBayes()).fit(X, y).score(X[:rows], y[:labels])
    for method in ("predict", "predict_proba", "predict_log_proba", "expected_loss"):
        with pytest.raises(NotFittedError):
            getattr(LossAware(NaiveBayes()), method)(X)
    assert not hasattr(LossAware(NaiveBayes()), "classes_")


def test_fitted_classifiers_are_kept() -> None:
    X, y = cases()
    fitted = NaiveBayes().fit(X, y)
    assert LossAware(fitted).predict(X).tolist() == fitted.predict(X).tolist()
    frozen = LossAware(FrozenEstimator(fitted), loss=zero_one).fit(X[:5], y[:5])
    assert frozen.predict(X).tolist() == fitted.predict(X).tolist()
    assert frozen.classes_.tolist() == ["a", "b", "c"]
    again = LossAware(fitted).fit(X[y != "a"], y[y != "a"])
    assert again.classes_.tolist() == ["b", "c"]
    assert fitted.classes_.tolist() == ["a", "b", "c"]


def test_a_fit_that_fails_leaves_the_earlier_one() -> None:
    X, y = cases()
    layer = LossAware(NaiveBayes(), loss=zero_one("abc")).fit(X, y)
    before = layer.predict(X).tolist()
    with pytest.raises(ParameterError, match="no class 'd'"):
        layer.fit(X, np.where(y == "a", "d", y))
    assert layer.predict(X).tolist() == before


def test_a_class_that_is_not_in_training_is_left_out_of_the_loss() -> None:
    X, y = cases()
    keep = y != "b"
    layer = LossAware(NaiveBayes(), loss=Loss.of(1 - np.eye(3), "abc")).fit(X[keep], y[keep])
    assert layer.expected_loss(X).shape == (len(X), 2)
    assert set(layer.predict(X)) <= {"a", "c"}


def test_weights_reach_the_classifier() -> None:
    X, y = cases()
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    layer = LossAware(NaiveBayes()).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(layer.predict_proba(X), NaiveBayes().fit(X, y, sample_weight=weight).predict_proba(X))
    assert layer.score(X, y, weight) == np.average(layer.predict(X) == y, weights=weight)


def test_it_works_inside_scikit_learn() -> None:
    X, y = cases()
    grid = GridSearchCV(LossAware(NaiveBayes(), biases={}), {"classifier__smoothing": [0.1, 1.0], "biases": [{}, {"a": 0.2}]}, cv=2)
    assert grid.fit(X, y).best_score_ > 0
    assert cross_val_predict(LossAware(KDB(k=1), loss=1 - np.eye(3)), X, y, cv=3).shape == y.shape
    layer = LossAware(make_pipeline(StandardScaler(), GaussianNB()), loss=zero_one).fit(X, y)
    assert layer.n_features_in_ == 4
    assert pickle.loads(pickle.dumps(layer)).predict(X).tolist() == layer.predict(X).tolist()
    assert clone(LossAware(NaiveBayes(), loss=zero_one("ab"))).loss.labels == ("a", "b")
    assert LossAware(NaiveBayes()).fit(X, y).predict(X[:0]).shape == (0,)


@pytest.mark.parametrize("label", ["a", np.str_("b")])
def test_a_label_for_rejecting_that_is_a_class_is_refused_by_fit(label: Any) -> None:
    X, y = cases()
    layer = LossAware(NaiveBayes(), reject=0.5, reject_label=label)
    with pytest.raises(ParameterError, match="is a class; choose a value that is not"):
        layer.fit(X, y)
    assert not hasattr(layer, "classifier_")
    LossAware(NaiveBayes(), reject_label=label).fit(X, y)  # nothing is rejected


def test_a_label_for_rejecting_is_one_value() -> None:
    X, y = cases()
    for label in (np.array(["a", "z"]), ["z"]):
        with pytest.raises(ParameterError, match=r"reject_label=.* one hashable value"):
            LossAware(NaiveBayes(), reject=0.5, reject_label=label).fit(X, y)


class Broken(GaussianNB):
    """Answers that are none."""

    def predict_proba(self, X: Any) -> Any:
        said = super().predict_proba(X)
        said[2, 0] = np.nan
        return said


@pytest.mark.parametrize("how", [{}, {"biases": {}}, {"thresholds": 0.5}, {"thresholds": {}}, {"reject": 0.2}])
def test_posteriors_that_are_no_numbers_are_refused(how: Any) -> None:
    X, y = cases()
    layer = LossAware(Broken(), **how).fit(X, y)
    with pytest.raises(DataError, match="posterior, row 3: "):
        layer.predict(X)
