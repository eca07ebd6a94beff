"""SelectiveNaive, K2AS and InfoAS as classifiers: what they selected, who learns from it, and the lot that divides the cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import naivete
from naivete.classifiers.augmented import KDB, TAN, NaiveBayes
from naivete.classifiers.baselines import Lookup, Majority
from naivete.classifiers.parameters import seed_of
from naivete.classifiers.saving import model_hash
from naivete.classifiers.selective import K2AS, InfoAS, SelectiveNaive
from naivete.classifiers.unrestricted import CB, K2, PC, HillClimb
from naivete.errors import ParameterError
from naivete.variables import CLASS
from tests.classifiers.test_unrestricted import rows
from tests.oracles import identical

WORDS = {"cb": CB, "nb": NaiveBayes, "tan": TAN, "kdb": KDB, "k2": K2, "hc": HillClimb, "pc": PC}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_learns_what_its_classifier_learns(word: str) -> None:
    X, y = rows()
    fitted = InfoAS(learner=word, metric="cig", stopping_rule="chi2").fit(X, y)
    assert 0 < len(fitted.selected_) < 5
    columns = [X.columns[i] for i in sorted(fitted.selected_)]
    alone = WORDS[word]().fit(X[columns], y)
    assert np.allclose(fitted.predict_proba(X), alone.predict_proba(X[columns]), rtol=0, atol=1e-12)
    assert all(not fitted.network_.parents[x] for x in range(5) if x not in fitted.selected_)


@pytest.mark.parametrize(
    "inner",
    [KDB(k=1), KDB(k="auto"), TAN(), Lookup(), Majority(), NaiveBayes(smoothing=0.1), K2(max_parents=1), CB(stopping_rule="score"), InfoAS(learner="nb")],
    ids=repr,
)  # fmt: skip
def test_a_classifier_learns_from_what_is_selected_with_its_own_parameters(inner: Any, tmp_path: Path) -> None:
    X, y = rows()
    fitted = InfoAS(learner=inner, metric="cig", stopping_rule="chi2").fit(X, y)
    columns = [X.columns[i] for i in sorted(fitted.selected_)]
    alone = clone(inner).fit(X[columns], y)
    assert np.allclose(fitted.predict_proba(X), alone.predict_proba(X[columns]), rtol=0, atol=1e-12)
    assert not hasattr(inner, "network_")
    naivete.save(fitted, tmp_path / "m.nvt")
    loaded = naivete.load(tmp_path / "m.nvt")
    assert type(loaded.learner) is type(inner)
    assert loaded.learner.get_params() == inner.get_params()
    assert loaded.selected_ == fitted.selected_
    assert model_hash(loaded.fit(X, y)) == model_hash(fitted)


def test_the_parameters_of_the_learner_can_be_searched() -> None:
    X, y = rows()
    search = GridSearchCV(InfoAS(learner=KDB()), {"learner__k": [0, 1], "metric": ["cig", "cgr"]}, cv=2).fit(X, y)
    assert search.best_estimator_.learner.k in (0, 1)


@pytest.mark.parametrize("classifier", [SelectiveNaive(), K2AS(), InfoAS()], ids=repr)
@pytest.mark.parametrize("learner", ["cb", "tan", KDB(k="auto")], ids=str)
def test_nothing_selected_is_the_majority(classifier: Any, learner: Any) -> None:
    X, y = pd.DataFrame({"a": [1] * 9, "b": ["u"] * 9}), [0, 0, 1] * 3
    model = clone(classifier)
    if "learner" in model.get_params(deep=False):
        model.set_params(learner=learner)
    fitted = model.fit(X, y)
    assert fitted.selected_ == []
    assert np.array_equal(fitted.predict_proba(X[:2]), Majority().fit(X, y).predict_proba(X[:2]))


def test_selected_are_positions_in_the_order_they_entered() -> None:
    X, y = rows()
    for classifier in (SelectiveNaive(), K2AS(accept_ties=True), InfoAS()):
        fitted = clone(classifier).fit(X, y)
        assert sorted(set(fitted.selected_)) == sorted(fitted.selected_)
        assert all(type(x) is int and 0 <= x < 5 for x in fitted.selected_)
        assert fitted.selected_
    first = InfoAS(metric="cig").fit(X, y)
    assert first.selected_[0] == int(np.argmax(first.relevance_))


def test_a_structure_that_is_kept_keeps_what_was_selected() -> None:
    X, y = rows(0, 300)
    model = InfoAS(metric="cig", stopping_rule="chi2", learner="nb").partial_fit(X[:200], y[:200])
    before = list(model.selected_), dict(model.network_.parents)
    model.partial_fit(X[200:], y[200:], structure="keep")
    assert (model.selected_, dict(model.network_.parents)) == before


@pytest.mark.parametrize("kind", [SelectiveNaive, K2AS, lambda **own: InfoAS(guided="rises", **own)], ids=["naive", "k2", "info"])
def test_the_lot_is_the_seeds(kind: Any) -> None:
    X, y = rows(0, 120)
    for seed in (7, np.int64(7), 2**70):
        assert model_hash(kind(random_state=seed).fit(X, y)) == model_hash(kind(random_state=seed).fit(X, y))
    one, two = (kind(random_state=np.random.RandomState(3)).fit(X, y) for _ in range(2))
    assert identical(one.network_, two.network_)
    for state in (None, np.random.RandomState(1)):
        assert kind(random_state=state).fit(X, y).predict(X).shape == (120,)
    assert len({model_hash(SelectiveNaive(random_state=seed).fit(X, y)) for seed in range(6)}) > 1


def test_a_generator_is_saved_as_none(tmp_path: Path) -> None:
    X, y = rows(0, 120)
    fitted = SelectiveNaive(random_state=np.random.RandomState(3)).fit(X, y)
    naivete.save(fitted, tmp_path / "m.nvt")
    loaded = naivete.load(tmp_path / "m.nvt")
    assert loaded.random_state is None
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("state", [-1, 1.5, "x", True, [1, 2], np.random.default_rng(0)], ids=str)
def test_a_seed_is_a_whole_number(state: Any) -> None:
    with pytest.raises(ParameterError, match="random_state="):
        seed_of(state)


@pytest.mark.parametrize("learner", [None, 3, ["cb"], KDB, {"cb": 1}], ids=str)
def test_a_learner_that_is_neither_classifier_nor_specification_is_refused(learner: Any) -> None:
    X, y = rows(0, 40)
    for classifier in (K2AS(learner=learner), InfoAS(learner=learner)):
        with pytest.raises(ParameterError, match=r"learner=.*pass a classifier, or a model specification such as 'kdb:k=1'"):
            classifier.fit(X, y)


def test_a_learner_is_any_model_specification() -> None:
    X, y = rows()
    fitted = InfoAS(learner="kdb:k=1,smoothing=0.5", smoothing=3.0).fit(X, y)
    assert identical(fitted.network_, InfoAS(learner=KDB(k=1, smoothing=0.5), smoothing=3.0).fit(X, y).network_)
    with pytest.raises(ParameterError, match=r"learner: model 'kbd': .*did you mean kdb"):
        InfoAS(learner="kbd").fit(X, y)
    with pytest.raises(ParameterError, match="learner='id3': its network has derived columns; choose"):
        InfoAS(learner="id3").fit(X, y)


def test_more_different_rows_than_memory_holds_are_divided_by_their_hash(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (3000, 6)), columns=list("abcdef"))
    y = pd.Series(np.where(rng.random(3000) < 0.7, X["a"] > 4, X["b"] > 4), name="y")
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet", index=False)
    tight = SelectiveNaive(budget=100_000)
    fitted = tight.fit(X, y)
    assert set(fitted.selected_) >= {0, 1}
    assert model_hash(clone(tight).fit_cases(tmp_path / "rows.parquet", "y")) == model_hash(fitted)
    order = rng.permutation(3000)
    assert model_hash(clone(tight).fit(X.iloc[order], y[order])) == model_hash(fitted)


def test_the_class_is_a_root_of_a_selective_naive_network() -> None:
    X, y = rows()
    network = SelectiveNaive().fit(X, y).network_
    assert network.parents[CLASS] == ()
    assert {p for own in network.parents.values() for p in own} == {CLASS}
