"""Pipelines and estimators of scikit-learn in experiments, on data frames, arrays and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import naivete
from naivete.errors import ParameterError
from naivete.evaluation import KFold, compare, cross_validate, label_table, run
from tests.inference.test_distribution import patients


def one_hot(**options: Any) -> Pipeline:
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(**options))


def by_name() -> Pipeline:
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["smoker", "town"]), (StandardScaler(), ["age"]))
    return make_pipeline(columns, LogisticRegression())


def expected(model: Any, X: pd.DataFrame, y: np.ndarray, folds: KFold) -> list[float]:
    """The accuracies of fitting and predicting by hand."""
    cases = label_table(as_table(X, y), "class")
    scores = []
    for split in folds.splits(cases):
        fitted = model.fit(X.iloc[split.train], y[split.train])
        scores.append(float(np.mean(fitted.predict(X.iloc[split.test]) == y[split.test])))
    return scores


def as_table(X: pd.DataFrame, y: np.ndarray, weight: Any = None) -> naivete.Table:
    columns = naivete.table_of(X.assign(**{"class": y})).columns
    return naivete.Table(columns, weight=weight)


def test_pipelines_on_frames_equal_those_fitted_by_hand() -> None:
    X, y = patients()
    models = {"one-hot": one_hot(), "by name": by_name(), "naive": naivete.NaiveBayes()}
    results = run(models, (X, y), KFold(4), jobs=1)
    assert results.models == tuple(models)
    for name in ("one-hot", "by name"):
        assert results.scores("data", name) == expected(models[name], X, y, KFold(4))
    validated = cross_validate(models, (X, y), folds=4)
    assert [result.accuracies.tolist() for result in validated] == [results.scores("data", name) for name in models]
    scores = {name: results.scores("data", name) for name in models}
    assert compare(scores, baseline="naive", test_share=1 / 3).baseline == "naive"


def test_frames_tables_and_polars_give_the_same_results() -> None:
    X, y = patients()
    models = {"by name": by_name()}
    reference = run(models, (X, y), KFold(3), jobs=1).scores("data", "by name", "log_loss")
    table = label_table(as_table(X, y), "class")
    assert run(models, table, KFold(3), jobs=1).scores("data", "by name", "log_loss") == pytest.approx(reference)
    polars = pytest.importorskip("polars")
    frame = polars.from_dict({name: X[name].tolist() for name in X})
    assert run(models, (frame, y), KFold(3), jobs=1).scores("data", "by name", "log_loss") == pytest.approx(reference)


def test_arrays_and_sparse_matrices() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice(["a", "b"], 60)
    dense = run({"gauss": GaussianNB()}, (X, y), KFold(3), jobs=1).scores("data", "gauss", "log_loss")
    frame = run({"gauss": GaussianNB()}, (pd.DataFrame(X, columns=list("uvw")), y), KFold(3), jobs=1)
    assert frame.scores("data", "gauss", "log_loss") == pytest.approx(dense)
    counts = sparse.csr_matrix(rng.integers(0, 2, (60, 5)).astype(float))
    stored = run({"lr": LogisticRegression()}, (counts, y), KFold(3), jobs=1).scores("data", "lr", "log_loss")
    full = run({"lr": LogisticRegression()}, (counts.toarray(), y), KFold(3), jobs=1).scores("data", "lr", "log_loss")
    assert stored == pytest.approx(full, rel=1e-4)


def test_models_get_the_labels_themselves() -> None:
    """Weights and priors by label, of scikit-learn's classifiers and of ours, with and without shared counts."""
    X, y = patients()
    models = {
        "weighted": one_hot(class_weight={"ill": 5.0, "well": 1.0}),
        "naive": naivete.NaiveBayes(class_weight={"ill": 5.0}),
        "prior": naivete.NaiveBayes(prior={"ill": 0.5, "well": 0.5}),
    }
    results = run(models, (X, y), KFold(3), jobs=1)
    assert results.scores("data", "weighted") == expected(models["weighted"], X, y, KFold(3))
    assert results.scores("data", "prior") == expected(models["prior"], X, y, KFold(3))
    assert results.scores("data", "naive") == expected(models["naive"], X, y, KFold(3))


def test_models_are_not_changed() -> None:
    X, y = patients()
    pipeline = one_hot(warm_start=True)
    run({"pipeline": pipeline}, (X, y), KFold(3), jobs=1)
    assert not hasattr(pipeline[-1], "coef_")


def test_weights_reach_the_last_step() -> None:
    X, y = patients()
    weight = np.where(y == "ill", 3.0, 1.0)
    cases = label_table(as_table(X, y, weight), "class")
    search = GridSearchCV(one_hot(), {"logisticregression__C": [1.0]}, cv=2)
    results = run({"pipeline": one_hot(), "search": search}, cases, KFold(3), jobs=1)
    splits = list(KFold(3).splits(cases))
    by_hand = []
    for split in splits:
        fitted = one_hot().fit(X.iloc[split.train], y[split.train], logisticregression__sample_weight=weight[split.train])
        right = fitted.predict(X.iloc[split.test]) == y[split.test]
        by_hand.append(float(np.average(right, weights=weight[split.test])))
    assert results.scores("data", "pipeline") == pytest.approx(by_hand)
    assert results.scores("data", "search") == pytest.approx(by_hand)
    neighbors = make_pipeline(OneHotEncoder(handle_unknown="ignore"), KNeighborsClassifier())
    with pytest.raises(ParameterError, match="'neighbors': KNeighborsClassifier takes no weights"):
        run({"neighbors": neighbors}, cases, KFold(3), jobs=1)


def test_a_run_of_pipelines_is_resumed_and_other_parameters_are_noticed(tmp_path: Path) -> None:
    X, y = patients()
    first = run({"pipeline": one_hot()}, (X, y), KFold(3), jobs=1, folder=tmp_path)
    calls: list[tuple[int, int, str]] = []
    again = run({"pipeline": one_hot()}, (X, y), KFold(3), jobs=1, folder=tmp_path, progress=lambda *call: calls.append(call))
    assert again.scores("data", "pipeline") == first.scores("data", "pipeline")
    assert calls[0][:2] == (3, 3)
    with pytest.raises(naivete.NaiveteError, match="models"):
        run({"pipeline": one_hot(C=0.5)}, (X, y), KFold(3), jobs=1, folder=tmp_path)


def test_several_processes() -> None:
    X, y = patients()
    one, two = (run({"by name": by_name()}, (X, y), KFold(3), jobs=jobs).scores("data", "by name") for jobs in (1, 2))
    assert one == two
