"""Measures against scikit-learn's, by hand, and where a class or its opposite is lacking."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from naivete.classifiers.augmented import KDB
from naivete.classifiers.losses import Loss, zero_one
from naivete.data.frames import table_of
from naivete.data.labelled_table import label_table
from naivete.errors import DataError, DataTypeError
from naivete.evaluation import cross_validate, stratified_folds
from naivete.evaluation.measures import (
    Cases,
    accuracy,
    brier,
    calibration,
    confusion,
    expected_loss,
    log_loss,
    measures,
    per_class,
    rmse,
    shares,
)
from tests.classifiers.test_common import data, quick

POKER = (
    [
        "op",
        "op",
        "draw",
        "me",
        "draw",
        "me",
        "me",
        "me",
        "op",
        "op",
        "draw",
        "me",
        "op",
        "op",
        "me",
        "draw",
        "draw",
        "op",
        "op",
        "me",
    ],
    [
        "op",
        "op",
        "op",
        "me",
        "me",
        "me",
        "me",
        "me",
        "op",
        "me",
        "op",
        "draw",
        "draw",
        "op",
        "me",
        "draw",
        "draw",
        "me",
        "op",
        "op",
    ],
)
"""Jensen & Nielsen (2007), table 8.1: what is correct, and what the classifier says."""


@st.composite
def answers(draw: Any, rows: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """True classes, posteriors (some of them equal, some 0) and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k = draw(st.integers(1, rows)), draw(st.integers(2, 5))
    p = rng.integers(0, draw(st.sampled_from([3, 1000])), (n, k)) + rng.integers(0, 2, (n, k)) * 0.5
    p[np.arange(n), rng.integers(0, k, n)] += 1
    weight = rng.integers(0, 4, n).astype(float)
    weight[0] = 1
    return rng.integers(0, draw(st.integers(1, k)), n), p / p.sum(axis=1, keepdims=True), weight


close = pytest.approx


@quick
@given(answers())
def test_agreement_with_scikit_learn(drawn: Any) -> None:
    truth, posterior, weight = drawn
    cases, k = Cases.of(truth, posterior, weight), posterior.shape[1]
    decided = posterior.argmax(axis=1)
    found = measures(truth, posterior, range(k), weight=weight)
    present = np.unique(truth[weight > 0])
    assert found["accuracy"] == close(metrics.accuracy_score(truth, decided, sample_weight=weight), abs=1e-12)
    assert found["error"] == close(1 - found["accuracy"], abs=1e-12)
    theirs = metrics.precision_recall_fscore_support(
        truth, decided, labels=present, average="macro", sample_weight=weight, zero_division=0.0
    )
    assert [found[name] for name in ("precision", "recall", "f1")] == close(theirs[:3], abs=1e-12)
    assert found["recall"] == close(
        metrics.recall_score(truth, decided, labels=present, average="macro", sample_weight=weight), abs=1e-12
    )
    assert found["balanced_accuracy"] == found["recall"]
    bits = metrics.log_loss(truth, posterior, labels=range(k), sample_weight=weight) / np.log(2)
    assert found["log_loss"] == close(bits, abs=1e-12)
    assert found["log_loss_nats"] == close(bits * np.log(2), abs=1e-12)
    assert found["brier"] == close(metrics.mean_squared_error(np.eye(k)[truth], posterior, sample_weight=weight) * k, abs=1e-12)
    assert found["rmse"] == close(
        metrics.mean_squared_error(np.ones(len(truth)), posterior[np.arange(len(truth)), truth], sample_weight=weight) ** 0.5,
        abs=1e-12,
    )
    np.testing.assert_allclose(
        confusion(truth, decided, k, weight=weight),
        metrics.confusion_matrix(truth, decided, labels=range(k), sample_weight=weight),
        atol=1e-12,
    )
    assert accuracy(cases) == found["accuracy"]


@quick
@given(answers())
def test_each_class_agrees_with_scikit_learn(drawn: Any) -> None:
    truth, posterior, weight = drawn
    found = per_class(truth, posterior, [f"c{c}" for c in range(posterior.shape[1])], weight=weight)
    decided = posterior.argmax(axis=1)
    present = np.unique(truth[weight > 0]).tolist()
    assert list(found) == [f"c{c}" for c in present]
    for c in present:
        own, hit, said = found[f"c{c}"], truth == c, decided == c
        theirs = metrics.precision_recall_fscore_support(hit, said, average="binary", sample_weight=weight, zero_division=0.0)
        assert [own["precision"], own["recall"], own["f1"]] == close(theirs[:3], abs=1e-12)
        assert own["support"] == weight[hit].sum()
        if len(present) == 1:
            assert (own["specificity"], own["roc_auc"]) == (1, 0.5)
            continue
        negative = metrics.recall_score(~hit, ~said, sample_weight=weight)
        assert own["specificity"] == close(negative, abs=1e-12)
        assert own["roc_auc"] == close(metrics.roc_auc_score(hit, posterior[:, c], sample_weight=weight), abs=1e-12)


def test_the_mean_area_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet(np.ones(4), 200)
    truth = rng.integers(0, 4, 200)
    theirs = metrics.roc_auc_score(truth, posterior, multi_class="ovr", average="macro")
    assert measures(truth, posterior, range(4))["roc_auc"] == close(theirs, abs=1e-12)


@quick
@given(answers())
def test_nothing_is_nan_and_nothing_warns(drawn: Any) -> None:
    truth, posterior, weight = drawn
    k = posterior.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = measures(truth, posterior, range(k), weight=weight, loss=zero_one(range(k)))
    assert all(np.isfinite(value) and type(value) is float for value in found.values())
    assert found["expected_loss"] == found["least_expected_loss"] == close(found["error"], abs=1e-12)
    bounds = {"log_loss": 53, "log_loss_nats": 53, "brier": 2}
    assert all(-1e-12 <= value <= bounds.get(name, 1) + 1e-12 for name, value in found.items())


@quick
@given(answers())
def test_a_weight_of_two_is_the_row_twice(drawn: Any) -> None:
    truth, posterior, weight = drawn
    k, times = posterior.shape[1], weight.astype(int)
    loss = Loss.of(np.arange(k * k).reshape(k, k), range(k))
    weighted = measures(truth, posterior, range(k), weight=weight, loss=loss)
    repeated = measures(np.repeat(truth, times), np.repeat(posterior, times, axis=0), range(k), loss=loss)
    assert weighted == close(repeated, abs=1e-12)
    for c in (None, 0):
        one = calibration(Cases.of(truth, posterior, weight), c, bins=4)
        two = calibration(Cases.of(np.repeat(truth, times), np.repeat(posterior, times, axis=0)), c, bins=4)
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)


def test_poker() -> None:
    """Jensen & Nielsen (2007), section 8.1: an accuracy of 0.6 and table 8.2."""
    truth, decided = ([["me", "draw", "op"].index(word) for word in words] for words in POKER)
    counts = confusion(truth, decided, 3)
    assert counts.tolist() == np.transpose([[5, 1, 2], [1, 2, 1], [1, 2, 5]]).tolist()
    assert np.trace(shares(counts)) == close(0.6)
    assert accuracy(Cases.of(truth, np.eye(3)[decided])) == close(0.6)


def test_barrow() -> None:
    """Barrow (2011): F of the printed matrices by the standard formula, as recomputed beforehand; the printed F mix definitions."""
    for matrix, f in (
        ([[342, 14], [56, 148]], (0.907, 0.809)),
        ([[232, 120], [10, 198]], (0.781, 0.753)),
        ([[333, 14], [24, 185]], (0.946, 0.907)),
    ):
        truth, decided, weight = [0, 0, 1, 1], [0, 1, 0, 1], np.ravel(matrix)
        found = per_class(truth, np.eye(2)[decided], [0, 1], weight=weight)
        assert [round(found[c]["f1"], 3) for c in (0, 1)] == list(f)


def test_cross_validation_has_the_same_definitions() -> None:
    X, y = data(5, 60, gaps=False)
    frame = pd.DataFrame({**{f"x{j}": X[:, j] for j in range(4)}, "class": y})
    cases = label_table(table_of(frame), "class")

    class Told:
        """Answers what it is told: the posteriors that a KDB gives."""

        def __init__(self) -> None:
            self.seen: list[tuple[np.ndarray, np.ndarray]] = []

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Told:
            self.own = KDB(k=1).fit(X, y, sample_weight)
            self.classes_ = self.own.classes_
            return self

        def predict_proba(self, X: Any) -> np.ndarray:
            self.seen.append(self.own.predict_proba(X))
            return self.seen[-1]

    model = Told()
    result = cross_validate({"kdb": model}, cases, folds=3)[0]
    fold = stratified_folds(cases.labels, 3)
    for at, posterior in enumerate(model.seen):
        found = measures(cases.labels[fold == at], posterior, cases.classes)
        ours = [found[name] for name in ("accuracy", "log_loss", "brier", "rmse")]
        theirs = [result.accuracies[at], result.log_losses[at], result.briers[at], result.rmses[at]]
        assert ours == close(theirs, abs=1e-12)


def test_the_floor_of_the_log_loss() -> None:
    assert log_loss(Cases.of([0], [[0.0, 1.0]])) == 52
    assert log_loss(Cases.of([0], [[1.0, 0.0]])) == 0


def test_one_class_and_one_row() -> None:
    found = measures([0], [[1.0]], ["only"])
    assert (found["accuracy"], found["recall"], found["specificity"], found["roc_auc"]) == (1, 1, 1, 0.5)
    wrong = measures([0, 0], [[0.25, 0.75]] * 2, ["a", "b"])  # all of one class, and all called the other
    assert (wrong["accuracy"], wrong["precision"], wrong["recall"], wrong["f1"], wrong["specificity"]) == (0, 0, 0, 0, 1)


def test_absent_classes_are_left_out_of_the_means() -> None:
    truth, posterior = [0, 0, 1], [[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]]
    two = measures(truth, posterior, ["a", "b"])
    three = measures(truth, np.column_stack([posterior, np.zeros(3)]), ["a", "b", "c"])
    assert three == close(two, abs=1e-15)
    assert list(per_class(truth, np.column_stack([posterior, np.zeros(3)]), ["a", "b", "c"])) == ["a", "b"]


def test_expected_loss_of_decisions() -> None:
    truth, posterior = [0, 0, 1, 1], np.array([[0.75, 0.25], [0.5, 0.5], [0.875, 0.125], [0.25, 0.75]])
    loss = Loss.of([[0, 5], [1, 0]], ["b", "a"])
    found = measures(truth, posterior, ["b", "a"], loss=loss)
    assert found["expected_loss"] == 5 / 4
    assert found["least_expected_loss"] == (1 + 1 + 5 + 0) / 4
    assert measures(truth, posterior, ["b", "a"], loss=[[0, 5], [1, 0]]) == found
    turned = measures(1 - np.array(truth), posterior[:, ::-1], ["a", "b"], loss=loss)
    assert turned["least_expected_loss"] == found["least_expected_loss"]
    rejecting = loss.with_reject(0.5)
    assert expected_loss(Cases.of(truth, posterior), rejecting, decided=rejecting.decide(posterior)) == 3 * 0.5 / 4
    assert measures(truth, posterior, ["b", "a"], loss=rejecting)["expected_loss"] == 5 / 4


def test_confusion_with_rejected_rows() -> None:
    assert confusion([0, 1, 1], [0, 2, 2], 2, weight=[1, 2, 0.5]).tolist() == [[1, 0, 0], [0, 0, 2.5]]


@pytest.mark.parametrize(
    ("truth", "posterior", "weight", "message"),
    [
        ([], np.zeros((0, 2)), None, "at least one row"),
        ([0], [0.5, 0.5], None, "posteriors of shape"),
        ([0, 1], [[0.5, 0.5]], None, "one for each row"),
        ([2], [[0.5, 0.5]], None, "true class, row 1: 2 is not between 0 and 1"),
        ([-1], [[0.5, 0.5]], None, "true class, row 1: -1"),
        ([0.0], [[0.5, 0.5]], None, "true classes of type float64"),
        (["a"], [[0.5, 0.5]], None, "true classes of type"),
        ([0, 0], [[0.5, 0.5], [0.5, 0.6]], None, "posterior, row 2: "),
        ([0], [[np.nan, 1]], None, "posterior, row 1"),
        ([0], [[-0.5, 1.5]], None, "posterior, row 1"),
        ([0], [[0.5, 0.5]], [0], "zero in every row"),
        ([0], [[0.5, 0.5]], [-1], "not a weight"),
        ([0], [[0.5, 0.5]], [np.nan], "not a weight"),
        ([0], [[0.5, 0.5]], [1, 1], "one weight for each row"),
        ([0], [[0.25, 0.25, 0.5]], None, "posteriors of 3 classes, but 2 labels"),
    ],
)
def test_refused(truth: Any, posterior: Any, weight: Any, message: str) -> None:
    with pytest.raises((DataError, DataTypeError)) as caught:
        measures(truth, posterior, ["a", "b"], weight=weight)
    assert message in str(caught.value)


def test_empty_confusion_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        confusion(np.zeros(0, int), np.zeros(0, int), 2)
    with pytest.raises(DataError, match="without cases"):
        shares([[0, 0], [0, 0]])


def test_single_measures() -> None:
    cases = Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]])
    assert (accuracy(cases), log_loss(cases), brier(cases)) == (0.5, 1.5, 0.5 * 0.5 + 0.5 * 1.125)
    assert rmse(cases) == close(((0.25 + 0.5625) / 2) ** 0.5)


def test_measures_of_a_fold_do_not_call_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its metrics look at every argument again: for the small folds of an experiment that is most of the time."""
    for name in ("roc_curve", "auc", "precision_recall_fscore_support", "confusion_matrix", "roc_auc_score"):
        monkeypatch.setattr(metrics, name, lambda *_, **__: pytest.fail("scikit-learn was asked"))
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), 50)
    assert 0 < measures(np.arange(50) % 3, posterior, range(3), loss=zero_one(range(3)))["roc_auc"] < 1
