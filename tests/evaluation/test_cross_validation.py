from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.specification import classifier_of
from naivete.data.generated import corral
from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError
from naivete.evaluation import KFold, cross_validate, label_table, stratified_folds
from naivete.evaluation.data_sets import cases_of


def cases(*, weight: list[float] | None = None) -> LabelledTable:
    table = Table(
        (Column("x", np.array([0, 1] * 10), ("a", "b")), Column("c", np.array([0, 1] * 10), ("no", "yes"))),
        None if weight is None else np.array(weight),
    )
    return label_table(table, "c")


@given(st.lists(st.integers(0, 3), min_size=2, max_size=60), st.data())
def test_folds_partition_the_rows_and_spread_every_class(labels: list[int], data: st.DataObject) -> None:
    folds = data.draw(st.integers(2, len(labels)))
    fold = stratified_folds(np.array(labels), folds, data.draw(st.integers(0, 5)))
    sizes = np.bincount(fold, minlength=folds)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1
    for label in set(labels):
        of_label = np.bincount(fold[np.array(labels) == label], minlength=folds)
        assert of_label.max() - of_label.min() <= 1


def test_folds_depend_on_the_seed_alone() -> None:
    labels = np.arange(50) % 3
    assert stratified_folds(labels, 5, 1).tolist() == stratified_folds(labels, 5, 1).tolist()
    assert stratified_folds(labels, 5, 1).tolist() != stratified_folds(labels, 5, 2).tolist()


@pytest.mark.parametrize("folds", [1, 0, 21])
def test_f22_more_folds_than_rows(folds: int) -> None:
    with pytest.raises(ParameterError, match="number of rows, 20"):
        cross_validate({"nb": classifier_of("nb")}, cases(), folds=folds)


def test_f22_a_class_of_one_row_is_classified_once_by_a_model_that_never_saw_it() -> None:
    table = Table((Column("x", np.array([0] * 9 + [1])), Column("c", np.array([0] * 9 + [1]))))
    (result,) = cross_validate({"nb": classifier_of("nb")}, label_table(table, "c"), folds=5)
    assert result.confusion.tolist() == [[9, 0], [1, 0]]
    assert result.log_losses.max() == pytest.approx(52 / 2)
    assert math.isfinite(result.log_loss)


def test_a_perfect_feature_is_found_and_measured() -> None:
    (result,) = cross_validate({"nb": classifier_of("nb:smoothing=0")}, cases(), folds=4)
    assert result.accuracy == (1.0, 0.0)
    assert result.log_loss == result.brier == result.rmse == 0.0
    assert result.confusion.tolist() == [[10, 0], [0, 10]]


def test_the_measures_of_guessing_are_those_of_a_coin() -> None:
    (result,) = cross_validate({"majority": classifier_of("majority")}, cases(), folds=2)
    assert result.accuracy[0] == 0.5
    assert (result.log_loss, result.brier, result.rmse) == pytest.approx((1.0, 0.5, 0.5))
    assert result.confusion.sum() == 20


def test_several_models_on_the_same_folds_with_progress_and_repetition() -> None:
    reports: list[str] = []
    models = {model: classifier_of(model) for model in ("nb", "kdb:k=1")}
    results = cross_validate(models, label_table(corral(), "class"), folds=4, repeat=2, random_state=3, progress=reports.append)
    assert [r.model for r in results] == ["nb", "kdb:k=1"]
    assert all(len(r.accuracies) == 8 and r.confusion.sum() == 256 for r in results)
    assert reports == ["nb", "kdb:k=1"] * 8
    alone = cross_validate({"kdb:k=1": classifier_of("kdb:k=1")}, label_table(corral(), "class"), folds=4, repeat=2, random_state=3)
    assert alone[0].accuracies.tolist() == results[1].accuracies.tolist()


@pytest.mark.parametrize("repeat", [0, -1])
def test_repetitions_are_at_least_one(repeat: int) -> None:
    with pytest.raises(ParameterError, match="repeat"):
        cross_validate({}, cases(), repeat=repeat)


def test_weights_are_used_in_training_and_measures() -> None:
    heavy = cases(weight=[3.0, 1.0] * 10)
    (result,) = cross_validate({"majority": classifier_of("majority")}, heavy, folds=2)
    assert result.accuracy[0] == 0.75
    assert result.confusion.tolist() == [[30, 0], [10, 0]]


def test_a_fold_of_weightless_rows_is_left_out() -> None:
    one = cases(weight=[0.0] * 2 + [1.0] * 18)
    (result,) = cross_validate({"majority": classifier_of("majority")}, one, folds=20)
    assert len(result.accuracies) == 18


def test_training_without_weight_is_refused() -> None:
    with pytest.raises(DataError, match="zero in every row"):
        cross_validate({"nb": classifier_of("nb")}, cases(weight=[1.0] + [0.0] * 19), folds=2)


def test_unseen_values_are_counted_not_warned_of() -> None:
    table = Table((Column("x", np.arange(6), tuple("abcdef")), Column("c", np.array([0, 1] * 3))))
    (result,) = cross_validate({"nb": classifier_of("nb")}, label_table(table, "c"), folds=3)
    assert result.unseen == 3


class Spy:
    """A classifier that notes what it is trained on."""

    def __init__(self) -> None:
        self.seen: list[set[float]] = []
        self.classes_ = np.array([0, 1])

    def fit(self, X: Table, y: Any, sample_weight: Any = None) -> Spy:
        self.seen.append(set(X["id"].values.tolist()))
        return self

    def predict_proba(self, X: Table) -> Any:
        assert not self.seen[-1] & set(X["id"].values.tolist())
        return np.full((len(X), 2), 0.5)


def test_training_never_sees_the_tested_rows() -> None:
    spy = Spy()
    table = Table((Column("id", np.arange(12.0)), Column("c", np.array([0, 1] * 6))))
    cross_validate({"spy": spy}, label_table(table, "c"), folds=3)
    assert len(spy.seen) == 3
    assert all(len(seen) == 8 for seen in spy.seen)


def test_every_accuracy_is_that_of_scikit_learn_on_the_same_folds() -> None:
    from sklearn.model_selection import cross_validate as one_by_one

    data = label_table(corral(), "class")
    models = {model: classifier_of(model) for model in ("nb", "tan", "kdb:k=1", "kdb:k=2", "kdb:k=3")}
    splits = [(split.train, split.test) for split in KFold(5, 2, 7).splits(data)]
    for result in cross_validate(models, data, folds=5, repeat=2, random_state=7):
        found = one_by_one(models[result.model], data.features, data.labels, cv=splits, scoring="accuracy")
        assert result.accuracies.tolist() == found["test_score"].tolist()


def test_folds_have_the_measures_of_scikit_learn() -> None:
    from sklearn import metrics

    rng = np.random.default_rng(4)
    X = rng.integers(0, 3, (90, 3))
    y = (X[:, 0] + rng.integers(0, 2, 90)) % 3
    (result,) = cross_validate({"nb": NaiveBayes()}, (X, y), folds=3, keep_posteriors=True)
    assert result.posterior is not None
    folds = [split.test for split in KFold(3, 1, 0).splits(cases_of((X, y), "cases"))]
    decided = result.posterior.argmax(axis=1)
    by_fold = {
        "balanced_accuracies": [metrics.balanced_accuracy_score(y[f], decided[f]) for f in folds],
        "f1s": [metrics.f1_score(y[f], decided[f], average="macro") for f in folds],
        "roc_aucs": [metrics.roc_auc_score(y[f], result.posterior[f], multi_class="ovr") for f in folds],
    }
    for name, values in by_fold.items():
        assert getattr(result, name) == pytest.approx(values, abs=1e-12)
    nats = [metrics.log_loss(y[f], result.posterior[f], labels=range(3)) for f in folds]
    assert result.log_loss_nats == pytest.approx(np.mean(nats), abs=1e-12)
