"""Selecting features in front of any estimator: scikit-learn's contract, and what the classifiers select."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import estimator_checks

from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.selectors import InfoSelector, K2Selector, NaiveSelector, Selector
from naivete.data.frames import table_of
from naivete.data.generated import corral
from naivete.encoding.discretization import EqualFrequency
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, NaiveteWarning, ParameterError

ALL: dict[str, Selector] = {
    "info": InfoSelector(),
    "info-chi2": InfoSelector(metric="cig", stopping_rule="chi2", alpha=0.1, encoder=Encoder(missing="state")),
    "info-guided": InfoSelector(metric="cdc", guided="stays", backward=True, random_state=3),
    "naive": NaiveSelector(),
    "naive-backoff": NaiveSelector(smoothing="backoff", random_state=None, encoder=Encoder(cut=EqualFrequency(4))),
    "k2": K2Selector(),
    "k2-equal": K2Selector(accept_ties=True, criterion="bic", max_parents=2, smoothing=0.5),
}
each = pytest.mark.parametrize("selector", ALL.values(), ids=ALL)


DEFAULTS = {"info", "naive", "k2"}


@pytest.mark.parametrize(
    "selector",
    [pytest.param(own, id=name, marks=() if name in DEFAULTS else pytest.mark.slow) for name, own in ALL.items()],
)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "check",
    [
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_output_transform_pandas",
        "check_global_set_output_transform_polars",
        "check_dataframe_column_names_consistency",
        "check_n_features_in_after_fitting",
    ],
)
def test_what_check_estimator_leaves_out(selector: Selector, check: str) -> None:
    getattr(estimator_checks, check)(type(selector).__name__, clone(selector))


def frame(rows: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    """A mixed table: the class depends on sky and heat; copy repeats sky; noise and gaps tell nothing."""
    rng = np.random.default_rng(1)
    sky, heat = rng.integers(0, 3, rows), rng.normal(size=rows)
    y = np.where((sky > 0) & (heat > 0), "out", "in")
    text = np.array(["sun", "cloud", "rain"], object)[sky]
    gaps = np.where(rng.random(rows) < 0.3, None, rng.integers(0, 2, rows).astype(str))
    return pd.DataFrame({"noise": rng.integers(0, 2, rows), "sky": text, "copy": text, "heat": heat, "gaps": gaps}), y


@each
def test_every_container_gives_the_same_columns(selector: Selector) -> None:
    X, y = frame()
    fitted = (
        clone(selector).fit(X, y) if selector.random_state is not None else clone(selector).set_params(random_state=1).fit(X, y)
    )
    names = list(fitted.get_feature_names_out())
    kept = sorted(fitted.selected_)
    assert names == [X.columns[x] for x in kept]
    assert fitted.get_support().tolist() == [x in kept for x in range(5)]
    assert {"sky", "heat"} <= set(names) or {"copy", "heat"} <= set(names)
    expected = X.to_numpy()[:, kept]
    for container in (X, pl.from_pandas(X), pa.Table.from_pandas(X), X.to_numpy(), X.to_numpy().tolist()):
        again = clone(fitted).fit(container, y)
        assert again.selected_ == fitted.selected_
        found = again.transform(container)
        assert isinstance(found, np.ndarray)
        known = ~pd.isna(expected)
        assert (pd.isna(found) == ~known).all()
        assert found[known].tolist() == expected[known].tolist()
    table = table_of(X)
    kept_table = clone(fitted).fit(table, y).transform(table)
    assert kept_table.names == tuple(names)


def test_frames_stay_frames_where_asked() -> None:
    X, y = frame()
    fitted = InfoSelector().fit(X, y)
    found = fitted.set_output(transform="pandas").transform(X)
    pd.testing.assert_frame_equal(found, X[[X.columns[x] for x in sorted(fitted.selected_)]])
    polars = pl.from_pandas(X)
    other = InfoSelector().fit(polars, y).set_output(transform="polars").transform(polars)
    assert other.schema == polars.select(found.columns.tolist()).schema
    assert list(fitted.feature_names_in_) == X.columns.tolist()


def test_order_of_entry_is_kept_and_that_of_the_columns_comes_out() -> None:
    X, y = frame()
    fitted = InfoSelector(metric="cig", stopping_rule="chi2").fit(X[["heat", "noise", "sky"]], y)
    assert fitted.selected_ == [2, 0] or fitted.selected_ == [0, 2]
    assert fitted.get_feature_names_out().tolist() == ["heat", "sky"]


@pytest.mark.parametrize(
    ("selector", "classifier"),
    [
        (InfoSelector(metric="cgr"), InfoAS(metric="cgr")),
        (InfoSelector(stopping_rule="chi2", guided="stays"), InfoAS(stopping_rule="chi2", guided="stays", learner="nb")),
        (NaiveSelector(random_state=4), SelectiveNaive(random_state=4)),
        (K2Selector(accept_ties=True, max_parents=2), K2AS(accept_ties=True, max_parents=2)),
    ],
)
def test_selects_what_the_classifier_selects(selector: Selector, classifier: Any) -> None:
    X, y = frame()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    assert clone(selector).fit(X, y).selected_ == clone(classifier).fit(X, y).selected_
    assert clone(selector).fit(X, y, weight).selected_ == clone(classifier).fit(X, y, weight).selected_


@each
def test_a_weight_of_two_is_the_row_twice(selector: Selector) -> None:
    X, y = frame(80)
    fitted = clone(selector).set_params(random_state=0)
    weight = np.random.default_rng(2).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = fitted.fit(X, y, sample_weight=weight).selected_
    assert weighted == clone(fitted).fit(X.iloc[rows], y[rows]).selected_
    assert fitted.fit_transform(X, y, sample_weight=weight).shape == (80, len(weighted))


@pytest.mark.parametrize("final", [LogisticRegression(), RandomForestClassifier(5, random_state=0)], ids=["linear", "forest"])
def test_in_a_pipeline_before_any_estimator(final: Any) -> None:
    X, y = frame()
    pipeline = make_pipeline(InfoSelector(stopping_rule="chi2"), OneHotEncoder(handle_unknown="ignore"), final)
    assert cross_val_score(pipeline, X.drop(columns=["gaps"]).round(0), y, cv=3).mean() > 0.85
    search = GridSearchCV(
        pipeline, {"infoselector__metric": ["cig", "cgr"], "infoselector__encoder": [None, Encoder(max_integer_states=2)]}, cv=2
    )
    assert search.fit(X.drop(columns=["gaps"]).round(0), y).best_score_ > 0.8


def test_tables_that_were_read_stay_tables_in_a_pipeline() -> None:
    from naivete.classifiers.augmented import KDB

    table = corral(random_state=1)
    X, y = table.without("class"), table["class"]
    pipeline = make_pipeline(InfoSelector(), KDB(k=1)).fit(X, y)
    assert pipeline.score(X, y.to_numpy()) > 0.9
    assert "Irrelevant" not in pipeline[-1].feature_names_in_ or "Irrelevant" in pipeline[0].get_feature_names_out()
    with pytest.raises(ParameterError, match="there is no column 'A1'"):
        pipeline[0].transform(X.without("A1"))


def test_sparse_matrices_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (120, 6)) * (rng.random((120, 6)) < 0.5)
    y = X[:, 2] | X[:, 4]
    fitted = NaiveSelector().fit(sparse.csr_matrix(X), y)
    assert fitted.selected_ == NaiveSelector().fit(X, y).selected_
    found = fitted.transform(sparse.csr_matrix(X))
    assert sparse.issparse(found)
    assert (found.toarray() == X[:, fitted.get_support()]).all()


def test_pickles_and_not_fitted() -> None:
    X, y = frame()
    fitted = K2Selector().fit(X, y)
    assert pickle.loads(pickle.dumps(fitted)).transform(X).shape == fitted.transform(X).shape
    for call in ("transform", "get_support", "get_feature_names_out"):
        with pytest.raises(NotFittedError):
            getattr(K2Selector(), call)(*([X] if call == "transform" else []))


def test_nothing_selected_is_said() -> None:
    X = np.tile([[0, 1], [1, 0]], (20, 1))
    y = np.repeat([0, 1], 20)
    fitted = InfoSelector(stopping_rule="chi2").fit(X, y)
    assert fitted.selected_ == []
    with pytest.warns(NaiveteWarning, match="no feature is selected"):
        assert fitted.transform(X).shape == (40, 0)


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        (InfoSelector(metric="gain"), "metric='gain'"),
        (InfoSelector(alpha=2), "alpha=2"),
        (InfoSelector(encoder="mdl"), "encoder='mdl'"),
        (NaiveSelector(random_state=-1), "random_state=-1"),
        (NaiveSelector(smoothing=-1), "smoothing"),
        (K2Selector(criterion="k3"), "criterion='k3'"),
        (K2Selector(max_parents=-1), "max_parents=-1"),
        (K2Selector(budget=0), "budget=0"),
    ],
)
def test_wrong_parameters_are_named(selector: Selector, words: str) -> None:
    X, y = frame(30)
    with pytest.raises(ParameterError, match=words):
        selector.fit(X, y)


def test_labels_are_needed() -> None:
    with pytest.raises(DataError, match="requires y"):
        InfoSelector().fit([[1], [2]])
