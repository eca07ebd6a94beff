"""The scikit-learn shell: its contract, and the invariants of every classifier."""

from __future__ import annotations

import copy
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError as SklearnNotFitted
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from naivete import _kernels
from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Lookup
from naivete.classifiers.not_fitted import NotFittedError
from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.selective import K2AS, SelectiveNaive
from naivete.classifiers.spectrum import Spectrum
from naivete.data.frames import table_of
from naivete.data.table import Table
from naivete.encoding.discretization import EqualWidth, mdl
from naivete.encoding.encoder import Encoder
from naivete.errors import (
    DataError,
    DataTypeError,
    ImpossibleEvidenceWarning,
    MissingColumnWarning,
    NaiveteError,
    NaiveteWarning,
    ParameterError,
)
from naivete.storage.packed import packed
from tests import LONG, estimator_of
from tests.oracles import identical, many_threads, posterior
from tests.representatives import slow_unless_representative
from tests.strategies import frames

quick = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
ALL: dict[str, NetworkClassifier] = {
    **{entry.name: estimator_of(entry) for entry in REGISTRY},
    "KDB-auto": KDB(k="auto", theta="auto"),
    "TAN-em": TAN(encoder=Encoder(missing="em")),
}
"""The classifiers for which all invariants hold: every one with its default parameters, and some more ways to learn."""
each = pytest.mark.parametrize("classifier", ALL.values(), ids=ALL)
shared = pytest.mark.parametrize(
    "classifier", [pytest.param(classifier, id=name, marks=slow_unless_representative(name)) for name, classifier in ALL.items()]
)
"""For tests of code that all classifiers share."""


def data(seed: int = 0, rows: int = 80, columns: int = 4, gaps: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    X = ((y[:, None] + rng.integers(0, 4, (rows, columns))) % (2 + np.arange(columns) % 3)).astype(float)
    X[:, -1] += rng.normal(0, 0.2, rows).round(2) + y
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.array(["a", "b", "c"])[y]


def same(one: NetworkClassifier, two: NetworkClassifier) -> bool:
    more = packed(one.plain_more()) == packed(two.plain_more())
    return more and identical(one.network_, two.network_) and one.classes_.tolist() == two.classes_.tolist()


@each
def test_order_of_rows_is_irrelevant(classifier: NetworkClassifier) -> None:
    X, y = data()
    weight = np.random.default_rng(1).random(len(y)) + 0.01
    order = np.random.default_rng(2).permutation(len(y))
    assert same(clone(classifier).fit(X, y), clone(classifier).fit(X[order], y[order]))
    assert same(clone(classifier).fit(X, y, weight), clone(classifier).fit(X[order], y[order], weight[order]))


@each
def test_weights_are_copies_and_zero_is_absence(classifier: NetworkClassifier) -> None:
    X, y = data()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    weight[y == "c"] = 0
    X = X.copy()
    X[np.flatnonzero(weight == 0)[0], 0] = 99  # a value that only a row of no weight has
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = clone(classifier).fit(X, y, weight)
    assert same(weighted, clone(classifier).fit(X[rows], y[rows]))
    assert weighted.classes_.tolist() == ["a", "b"]


@each
@pytest.mark.parametrize("seed", range(3))
def test_renaming_states_and_classes_changes_only_their_names(classifier: NetworkClassifier, seed: int) -> None:
    if isinstance(classifier, (SelectiveNaive, K2AS, Spectrum)):
        pytest.skip("rows are drawn by a hash of their codes, so other codes give other draws")
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (60, 4))
    y = (X[:, 0] + rng.integers(0, 2, 60)) % 3
    states, classes = rng.permutation(4), rng.permutation(3)
    one = clone(classifier).fit(X, y)
    two = clone(classifier).fit(states[X], classes[y])
    assert {x: set(p) for x, p in one.network_.parents.items()} == {x: set(p) for x, p in two.network_.parents.items()}
    assert np.allclose(one.predict_proba(X), two.predict_proba(states[X])[:, classes], rtol=0, atol=1e-12)


@each
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "missing"])
def test_a_constant_column_has_no_effect_at_all(classifier: NetworkClassifier, gaps: bool) -> None:
    for seed in range(12) if LONG else [int(gaps)]:
        X, y = data(seed, rows=40, gaps=gaps)
        if gaps:
            X[np.random.default_rng(seed).random(X.shape) < 0.4] = np.nan  # rows without any value among them
        place = seed * 3 % 5
        more = np.insert(X, place, 7.0, axis=1)
        expected = clone(classifier).fit(X, y).predict_proba(X)
        assert identical(expected, clone(classifier).fit(more, y).predict_proba(more))
        if isinstance(classifier, Spectrum):
            continue  # missing values are a state, which may carry information
        more[::2, place] = np.nan
        assert identical(expected, clone(classifier).fit(more, y).predict_proba(more))


@each
def test_a_row_is_the_same_alone_in_a_batch_and_shuffled(classifier: NetworkClassifier) -> None:
    X, y = data(rows=120)
    fitted = clone(classifier).fit(X[:60], y[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NaiveteWarning)
        whole = fitted.predict_proba(X)
        assert all(identical(fitted.predict_proba(X[i : i + 1])[0], whole[i]) for i in range(0, 120, 3))
        order = np.random.default_rng(0).permutation(120)
        assert identical(fitted.predict_proba(X[order]), whole[order])
    assert np.allclose(whole.sum(axis=1), 1, rtol=0, atol=1e-12)


@each
def test_nothing_known_is_the_prior(classifier: NetworkClassifier) -> None:
    X, y = data()
    fitted = clone(classifier).fit(X, y)
    found = fitted.predict_proba(np.full((2, 4), np.nan))
    prior = np.unique(y, return_counts=True)[1] / len(y)
    if fitted.network_.parents[-1] and fitted.network_.derived:
        assert np.allclose(found, prior, rtol=0, atol=1e-9)  # cases are divided in steps
    elif fitted.network_.parents[-1]:  # P(class) follows from its parents
        assert np.allclose(found, posterior(fitted.network_, [None] * 4), rtol=0, atol=1e-12)
    else:
        assert identical(found, np.array([prior, prior]))


@each
def test_kernels_threads_and_hash_seeds_do_not_matter(classifier: NetworkClassifier) -> None:
    X, y = data(rows=60 if isinstance(classifier, Spectrum) and not LONG else 200)  # it is slow without kernels
    one = clone(classifier).fit(X, y)
    answers = one.predict_proba(X)
    with pytest.MonkeyPatch.context() as patch:
        many_threads(patch, 3)
        two = clone(classifier).fit(X, y)
        assert same(one, two)
        assert identical(two.predict_proba(X), answers)
    with _kernels.use("numpy"):
        three = clone(classifier).fit(X, y)
        assert isinstance(classifier, Spectrum) or same(one, three)
        close = 1e-7 if isinstance(classifier, Spectrum) else 1e-15  # the documented 1e-8, with a margin
        assert np.allclose(three.predict_proba(X), answers, rtol=0, atol=close)


@each
def test_sixteen_threads_on_one_model_equal_one(classifier: NetworkClassifier) -> None:
    X, y = data()
    fitted = clone(classifier).fit(X, y)
    expected = fitted.predict_proba(X)
    fresh = pickle.loads(pickle.dumps(fitted))
    with ThreadPoolExecutor(16) as pool:
        assert all(identical(p, expected) for p in pool.map(lambda _: fresh.predict_proba(X), range(32)))


@given(frames(), st.sampled_from(sorted(ALL)))
@quick
def test_every_container_gives_the_same_model(drawn: tuple[dict[str, list[Any]], list[str]], name: str) -> None:
    columns, y = drawn
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    objects = np.empty((len(rows), len(columns)), object)
    objects[:] = rows
    framed = [
        pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}),
        pd.DataFrame(columns).convert_dtypes(),
        pl.DataFrame(columns),
        pa.table(columns),
        table_of(pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()})),
    ]
    models = [clone(ALL[name]).fit(X, y) for X in framed]
    assert all(same(models[0], model) for model in models)
    for one in models:
        assert all(identical(models[0].predict_proba(framed[0]), one.predict_proba(X)) for X in framed)
    arrays = [clone(ALL[name]).fit(X, y) for X in (rows, tuple(map(tuple, rows)), objects)]
    assert all(same(arrays[0], model) for model in arrays)
    assert identical(arrays[0].predict_proba(rows), models[0].predict_proba(framed[0]))


@shared
def test_labels_come_in_every_container(classifier: NetworkClassifier) -> None:
    X = [["a", 1], ["b", 2], ["a", 2], ["b", 1]]
    y = ["no", "yes", "no", "yes"]
    answers = [
        clone(classifier).fit(X, own).predict(X).tolist()
        for own in (
            y,
            tuple(y),
            np.array(y),
            np.array(y, object),
            pd.Series(y),
            pd.Categorical(y),
            pl.Series(y),
            pa.array(y),
            pa.chunked_array([y]),
        )
    ]
    assert all(a == answers[0] for a in answers)
    for own in ([True, False, True, False], np.array([1, 0, 1, 0], object), pd.Series([3, 4, 3, 4], dtype="Int64")):
        fitted = clone(classifier).fit(X, own)
        assert fitted.classes_.dtype.kind in "bi"
        assert fitted.predict(X).dtype == fitted.classes_.dtype


@shared
def test_what_a_masked_array_masks_is_missing(classifier: NetworkClassifier) -> None:
    rng = np.random.default_rng(0)
    X, y, masked = rng.normal(size=(40, 3)).round(1), rng.integers(0, 2, 40), rng.random((40, 3)) < 0.2
    for array, missing in ((X, np.nan), (X.astype(int), None), (X.astype(str).astype(object), None)):
        plain = array.astype(object if missing is None else float)
        plain[masked] = missing
        one, two = clone(classifier).fit(np.ma.array(array, mask=masked), y), clone(classifier).fit(plain, y)
        assert identical(one.predict_proba(np.ma.array(array, mask=masked)), two.predict_proba(plain))
    with pytest.raises(DataError, match="row 3"):
        clone(classifier).fit(X, np.ma.array(y, mask=np.arange(40) == 2))
    with pytest.raises(DataError, match="row 3"):
        clone(classifier).fit(X, y, np.ma.array(np.ones(40), mask=np.arange(40) == 2))


@shared
def test_sparse_fortran_memmap_and_read_only_input_is_taken_and_left_alone(classifier: NetworkClassifier, tmp_path: Path) -> None:
    X, y = np.random.default_rng(0).integers(0, 3, (40, 5)), np.arange(40) % 2
    stored = np.memmap(tmp_path / "X", X.dtype, "w+", shape=X.shape)
    stored[:] = X
    locked, weight = X.copy(), np.ones(40)
    for array in (locked, weight):
        array.setflags(write=False)
    before = X.copy(), y.copy()
    expected = clone(classifier).fit(X, y)
    for own in (
        np.asfortranarray(X),
        stored,
        locked,
        X[::-1][::-1],
        sparse.csr_array(X),
        sparse.csc_array(X),
        X.tolist(),
        X.astype(np.uint8),
        X.astype(float),
    ):
        fitted = clone(classifier).fit(own, y, weight)
        assert same(fitted, expected)
        assert identical(fitted.predict_proba(own), expected.predict_proba(X))
    assert (before[0] == X).all()
    assert (y == before[1]).all()


@each
def test_copies_and_pickles_answer_alike(classifier: NetworkClassifier) -> None:
    X, y = data()
    fitted = clone(classifier).fit(X, y)
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert same(twin, fitted)
        assert identical(twin.predict_proba(X), fitted.predict_proba(X))
    bare = clone(fitted)
    assert not hasattr(bare, "network_")
    assert repr(bare) == repr(fitted)
    assert isinstance(pickle.loads(pickle.dumps(bare)), type(bare))


def test_pipelines_grids_and_cross_validation() -> None:
    X, y = data(rows=150)
    grid = GridSearchCV(KDB(), {"k": [0, 1, "auto"], "smoothing": [1.0, "backoff"]}, cv=3).fit(X, y, sample_weight=np.ones(150))
    assert grid.best_score_ > 0.5
    piped = make_pipeline(FunctionTransformer(np.round), TAN()).fit(X, y)
    assert piped.score(X, y) > 0.5
    assert cross_val_predict(NaiveBayes(), X, y, cv=3).shape == y.shape
    assert NaiveBayes().fit(X, y).set_params(smoothing=3.0).fit(X, y).smoothing == 3.0


def test_sample_weight_can_be_routed() -> None:
    import sklearn

    X, y = data(rows=90)
    weight = np.arange(90) % 3 + 0.0
    with sklearn.config_context(enable_metadata_routing=True):
        grid = GridSearchCV(
            NaiveBayes().set_fit_request(sample_weight=True).set_score_request(sample_weight=True), {"smoothing": [1.0]}, cv=3
        ).fit(X, y, sample_weight=weight)
    assert same(grid.best_estimator_, NaiveBayes().fit(X, y, weight))


def test_the_kind_of_output_is_no_matter_of_classifiers() -> None:
    import sklearn

    X, y = data()
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(NaiveBayes().fit(X, y).predict_proba(X), np.ndarray)


@each
def test_columns_are_matched_by_name(classifier: NetworkClassifier) -> None:
    X, y = data(gaps=False)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = clone(classifier).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    expected = fitted.predict_proba(frame)
    reordered = frame[["d", "a", "c", "b"]].assign(when=pd.Timestamp("2020-01-01"), target=y)
    assert identical(fitted.predict_proba(reordered), expected)
    without = fitted.predict_proba(frame.assign(b=np.nan))
    with pytest.warns(MissingColumnWarning, match="missing: 'b'") as issued:
        assert identical(fitted.predict_proba(frame.drop(columns="b")), without)
    assert "a value of its own" not in str(issued[0].message), "no value was missing in training"
    learned = clone(classifier).fit(frame.assign(b=frame["b"].where(np.arange(len(frame)) % 3 > 0)), y)
    assert learned.missing_as_value_ == (("b",) if learned.missing_is_a_value else ())
    with pytest.warns(MissingColumnWarning, match="missing: 'b'") as issued:
        learned.predict(frame.drop(columns="b"))
    own = "which is a value of its own, learned in training, in 'b';"
    assert learned.missing_is_a_value == (own in str(issued[0].message))
    with pytest.warns(MissingColumnWarning, match=r"is 'bb' the renamed 'b'\?"):
        assert identical(fitted.predict_proba(frame.rename(columns={"b": "bb"})), without)
    with pytest.warns(UserWarning, match="fitted with feature names"):
        assert identical(fitted.predict_proba(X), expected)
    plain = clone(classifier).fit(X, y)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert identical(plain.predict_proba(frame), expected)
    with pytest.raises(DataError, match=r"X has 3 features, but .* is expecting 4 features"):
        plain.predict(X[:, :3])
    assert not hasattr(fitted.fit(X, y), "feature_names_in_")


def test_weights_of_a_table_count() -> None:
    table = table_of(pd.DataFrame({"a": ["x", "y", "x"]}))
    weighted = Table(table.columns, np.array([1.0, 2.0, 0.0]), "t")
    model = NaiveBayes().fit(weighted, [0, 1, 1])
    assert same(model, NaiveBayes().fit(table, [0, 1, 1], [1.0, 2.0, 0.0]))
    assert same(NaiveBayes().fit(weighted, [0, 1, 1], [1, 1, 1]), NaiveBayes().fit(table, [0, 1, 1]))


def test_impossible_rows_are_answered_by_the_rule_and_flagged() -> None:
    X = [["a", "p"], ["b", "q"], ["b", "q"]]
    fitted = NaiveBayes(smoothing=0).fit(X, [0, 1, 1])
    with pytest.warns(ImpossibleEvidenceWarning, match=r"1 rows .* \(the first is row 2\)"):
        found = fitted.predict_proba([["a", "p"], ["a", "q"]])
    assert np.allclose(found, [[1, 0], [1 / 3, 2 / 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Lookup().fit(X, [0, 1, 1]).predict_proba([["a", "q"]]).tolist() == [[1 / 3, 2 / 3]]
        assert fitted.predict_log_proba([["a", "p"]]).tolist() == [[0.0, -inf]]


def test_rows_without_a_label_can_be_left_out() -> None:
    X, y = [["a"], ["b"], ["a"], ["z"]], ["no", "yes", "no", None]
    with pytest.warns(NaiveteWarning, match="1 row without a label was left out"):
        fitted = NaiveBayes(encoder=Encoder(unlabelled="drop")).fit(X, y)
    assert same(fitted, NaiveBayes().fit(X[:3], y[:3]))
    with pytest.raises(DataError, match="no row has both a label and a weight"), pytest.warns(NaiveteWarning):
        NaiveBayes(encoder=Encoder(unlabelled="drop")).fit(X[:1], [None])


def test_the_root_of_a_tree_can_be_named() -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    assert TAN(root="c").fit(frame, y).network_.parents[2] == (-1,)
    assert TAN(root=1).fit(frame, y).network_.parents[1] == (-1,)
    with pytest.raises(ParameterError, match="root='zz': there is no such feature; the features are "):
        TAN(root="zz").fit(frame, y)


def test_the_base_class_learns_nothing() -> None:
    with pytest.raises(TypeError, match="abstract"):
        NetworkClassifier()


def test_an_unfitted_classifier_is_drawn_by_its_parameters_and_a_fitted_one_as_a_network() -> None:
    assert "KDB" in KDB()._repr_html_()
    X, y = data()
    assert "<svg" in KDB().fit(X, y)._repr_html_()
    assert len(KDB().fit(X, y).information_) >= 4


@each
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"])
def test_every_method_of_an_unfitted_classifier_says_so(classifier: NetworkClassifier, method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet") as error:
        getattr(clone(classifier), method)([["a"]])
    assert isinstance(error.value, NaiveteError)
    assert isinstance(error.value, SklearnNotFitted)


def test_one_number_is_the_weight_of_every_row() -> None:
    X, y = data()
    assert same(KDB().fit(X, y, 2.0), KDB().fit(X, y, np.full(len(y), 2.0)))


def test_what_cannot_be_made_an_array_is_refused_by_our_own_error() -> None:
    class Broken:
        def __array__(self, *_: Any, **__: Any) -> np.ndarray:
            raise TypeError("not today")

    with pytest.raises(DataTypeError, match="not today"):
        NaiveBayes().fit(Broken(), [0, 1])


def test_what_auto_chose_can_be_read() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (300, 5))
    y = X[:, 0] ^ X[:, 1]
    auto = KDB(k="auto", theta="auto").fit(X, y)
    assert isinstance(auto.k_, int)
    assert identical(auto.network_, KDB(k=auto.k_, theta=auto.theta_).fit(X, y).network_)
    assert (KDB(k=1).fit(X, y).k_, KDB(k=1).fit(X, y).theta_) == (1, "chi2")
    assert KDB(theta=-inf).fit(X, y).theta_ == -inf
    assert KDB(k="auto", theta="chi2").fit(X, y).theta_ == "chi2"


def test_the_settings_of_the_encoder_can_be_searched() -> None:
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        KDB(k=1, encoder=Encoder()), {"encoder__cut": [mdl, EqualWidth(3)], "encoder__max_integer_states": [0, 20]}, cv=3
    )
    search.fit(X, y)
    assert search.best_score_ > 0.85
    assert search.best_estimator_.encoder is not search.estimator.encoder
    with pytest.raises(ParameterError, match="no setting 'fwe'"):
        Encoder().set_params(fwe=3)
