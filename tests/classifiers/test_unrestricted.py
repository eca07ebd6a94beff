"""K2, HillClimb, CB and PC as classifiers: their own parameters, columns in any order, and tables too large to be full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import naivete
from naivete.classifiers.augmented import KDB
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.saving import model_hash
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.counts.scores import BDeu, aic, bic, k2
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from naivete.network.conditional_tables import SparseCpt
from naivete.variables import CLASS
from tests import LONG
from tests.oracles import posterior

ALL: dict[str, NetworkClassifier] = {
    "K2": K2(),
    "K2-relevance": K2(order="relevance", criterion="bdeu:5", max_parents=2),
    "HillClimb": HillClimb(),
    "HillClimb-k2": HillClimb(criterion="k2", class_root=True),
    "CB": CB(),
    "CB-score": CB(stopping_rule="score", class_root=False, test="g"),
    "PC": PC(),
    "SelectiveNaive": SelectiveNaive(),
    "K2AS": K2AS(accept_ties=True),
    "InfoAS": InfoAS(metric="cig"),
}
each = pytest.mark.parametrize("classifier", ALL.values(), ids=ALL)


def rows(seed: int = 0, n: int = 400, has_missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of different strength and number of states around a class, without ties."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    a = np.where(rng.random(n) < 0.7, y, rng.integers(0, 3, n))
    b = np.where(rng.random(n) < 0.6, a, rng.integers(0, 4, n))
    c = np.where(rng.random(n) < 0.8, (a + b) % 2, rng.integers(0, 2, n))
    d = np.where(rng.random(n) < 0.55, y, rng.integers(0, 5, n))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": rng.integers(0, 2, n)}).astype(float)
    if has_missing:
        frame = frame.mask(rng.random(frame.shape) < 0.1)
    return frame, np.array(["x", "y", "z"])[y]


@each
def test_the_accuracy_is_a_method_like_everybodys(classifier: NetworkClassifier) -> None:
    X, y = rows()
    fitted = clone(classifier).fit(X, y)
    assert fitted.score(X, y) == pytest.approx(float((fitted.predict(X) == y).mean()))
    assert cross_val_score(clone(classifier), X, y, cv=2).min() > 0.4


def test_the_criterion_can_be_searched() -> None:
    X, y = rows()
    search = GridSearchCV(HillClimb(), {"criterion": ["k2", "bdeu", "bic", BDeu(5.0)], "tabu": [0, 5]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


def test_an_order_is_given_by_names_or_positions_with_none_for_the_class() -> None:
    X, y = rows()
    ways: list[Any] = [
        ["c", "a", "b", None, "e", "d"],
        [2, 0, 1, -1, 4, 3],
        ("c", 0, "b", None, 4, "d"),
        np.array([2, 0, 1, -1, 4, 3]),
    ]
    models = [K2(order=order).fit(X, y) for order in ways]
    assert len({str(dict(m.network_.parents)) for m in models}) == 1
    assert models[0].network_.parents[CLASS]
    assert not models[0].network_.parents[2]
    first = K2(order=["e", "d", "c", "b", "a"]).fit(X, y)  # the class before all where it is left out
    assert not first.network_.parents[CLASS]
    assert set(first.network_.parents[3]) <= {4, CLASS}
    model = K2(order="relevance").fit(X, y)
    ranked = [-1, *np.argsort(-model.relevance_, kind="stable").tolist()]
    assert all(ranked.index(p) < ranked.index(v) for v, own in model.network_.parents.items() for p in own)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("random", "order='random': choose 'given', 'relevance'"),
        (None, "order=None"),
        (3, "order=3"),
        ({"a": 1}, "order="),
        (["a", "bb", "c", "d", "e"], "there is no feature 'bb'"),
        (["a", "a", "c", "d", "e"], "have to be there once"),
        (["a", "b"], "have to be there once"),
        ([0, 1, 2, 3, 7], "there is no feature 7"),
        ([0, 1, 2, 3, True], "there is no feature True"),
        ([0, 1, 2, 3, [4]], r"there is no feature \[4\]"),
        (["a", "b", "c", "d", "e", None, None], "have to be there once"),
    ],
    ids=str,
)
def test_an_order_that_is_none_is_named(order: Any, said: str) -> None:
    X, y = rows()
    with pytest.raises(ParameterError, match=said):
        K2(order=order).fit(X, y)


@pytest.mark.parametrize("has_missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("name", [name for name in ALL if name not in ("SelectiveNaive", "K2AS", "K2")])
def test_columns_in_another_order_give_the_same_network_in_another_order(name: str, has_missing: bool) -> None:
    """But not K2, which takes the order as given, nor halves, which are drawn by lot from the codes, nor where ties decide."""
    X, y = rows(3, 800, has_missing)
    fitted = clone(ALL[name]).fit(X, y)
    order = ["d", "b", "e", "a", "c"]
    other = clone(ALL[name]).fit(X[order], y)

    def named(model: NetworkClassifier) -> dict[Any, set[Any]]:
        called = {**dict(enumerate(model.feature_names_in_)), CLASS: None}
        return {called[v]: {called[p] for p in fitted} for v, fitted in model.network_.parents.items()}

    assert named(fitted) == named(other)
    assert np.allclose(fitted.predict_proba(X), other.predict_proba(X), rtol=0, atol=1e-12)


@each
@pytest.mark.parametrize(
    ("has_missing", "smoothing"),
    [
        (False, 1.0),
        (True, "backoff"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in ((True, 1.0), (True, "clark-niblett"), (False, "backoff"), (False, "clark-niblett"))
        ),
    ],
)
def test_tables_of_what_occurs_give_the_same_answers_as_full_ones(
    classifier: NetworkClassifier, has_missing: bool, smoothing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = rows(1, 200, has_missing)
    full = clone(classifier).set_params(smoothing=smoothing).fit(X, y)
    monkeypatch.setattr("naivete.counts.table_stacks.FEW_CELLS", 1)
    monkeypatch.setattr("naivete.counts.table_stacks.DENSE_ROWS", 0)
    monkeypatch.setattr("naivete.counts.counts.DENSE_CELLS", 20)
    sparse = clone(classifier).set_params(smoothing=smoothing).fit(X, y)
    assert dict(sparse.network_.parents) == dict(full.network_.parents)
    assert np.allclose(sparse.predict_proba(X), full.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("smoothing", [1.0, 0.0, "backoff", "m-estimate", "clark-niblett"], ids=str)
def test_a_class_whose_table_is_too_large_to_be_full(tmp_path: Path, smoothing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(2, 300)
    order = ["a", "b", "c", "d", "e", None]
    full = K2(order=order, criterion=aic, smoothing=smoothing).fit(X, y)
    assert len(full.network_.parents[CLASS]) >= 2
    monkeypatch.setattr("naivete.counts.counts.DENSE_CELLS", 10)
    sparse = K2(order=order, criterion=aic, smoothing=smoothing).fit(X, y)
    assert isinstance(sparse.network_.cpts[CLASS], SparseCpt)
    assert np.allclose(sparse.predict_proba(X), full.predict_proba(X), rtol=0, atol=1e-9)
    holes = X.mask(np.random.default_rng(0).random(X.shape) < 0.4)[:40]
    found = sparse.predict_proba(holes)
    assert np.allclose(found, full.predict_proba(holes), rtol=0, atol=1e-9)
    for row, answer in zip(holes.to_numpy()[:6], found, strict=False):
        codes = [None if np.isnan(v) else int(v) for v in row]
        assert np.allclose(posterior(sparse.network_, codes), answer, rtol=0, atol=1e-9)
    naivete.save(sparse, tmp_path / "k2.nvt")
    loaded = naivete.load(tmp_path / "k2.nvt")
    assert np.array_equal(loaded.predict_proba(holes), found)
    assert model_hash(loaded) == model_hash(sparse)


def test_passes_are_few_and_counted(tmp_path: Path) -> None:
    """One for the schema; K2 then one for the pairs, one for each further parent, and one for the tables."""
    X, y = rows(0, 300)
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    for most in (1, 2, 3):
        model = K2(max_parents=most).fit_cases(tmp_path / "rows.csv", "y")
        assert model.passes_ <= most + 2
    deepest = K2().fit_cases(tmp_path / "rows.csv", "y")
    assert deepest.passes_ <= max(map(len, deepest.network_.parents.values())) + 3
    for classifier, most in ((PC(), 12), (CB(), 20), (InfoAS(learner="nb"), 10), (SelectiveNaive(), 16), (K2AS(), 40)):
        assert 2 <= clone(classifier).fit_cases(tmp_path / "rows.csv", "y").passes_ <= most


def test_scores_as_functions_are_those_of_their_words() -> None:
    X, y = rows()
    for word, function in (("k2", k2), ("bic", bic), ("aic", aic), ("bdeu:3", BDeu(3.0))):
        one, two = K2(criterion=word).fit(X, y), K2(criterion=function).fit(X, y)
        assert dict(one.network_.parents) == dict(two.network_.parents)
        if word != "mdl":
            assert model_hash(two) == model_hash(K2(criterion=two.criterion).fit(X, y))


def test_a_prior_counts_where_the_class_has_no_parents() -> None:
    X, y = rows()
    for classifier in (K2(), HillClimb(class_root=True), CB(), KDB()):
        fitted = clone(classifier).set_params(prior=[0.2, 0.3, 0.5]).fit(X, y)
        assert fitted.predict_proba(
            np.full((1, 5), np.nan).tolist() and pd.DataFrame([[None] * 5], columns=list("abcde"))
        ).tolist() == [[0.2, 0.3, 0.5]]


def test_many_columns_and_few_rows() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (40, 60 if LONG else 30)), rng.integers(0, 2, 40)
    for classifier in (K2(), HillClimb(max_parents=3), CB(), InfoAS(), K2AS(), SelectiveNaive()):
        assert clone(classifier).set_params(encoder=Encoder(kinds="nominal")).fit(X, y).predict(X).shape == (40,)
