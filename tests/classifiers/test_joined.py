"""JoinedNaive as a classifier: what it joined, the contract of scikit-learn, and the same answer wherever the rows are."""

from __future__ import annotations

import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.baselines import Majority
from naivete.classifiers.naive_variants import JoinedNaive
from naivete.data.files import read
from naivete.data.labelled_table import label_table
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from naivete.learners.joined.terms import chain
from naivete.variables import CLASS
from tests.classifiers.test_unrestricted import rows
from tests.evaluation import data
from tests.oracles import identical

ALL: dict[str, NetworkClassifier] = {
    "backward": JoinedNaive(),
    "forward": JoinedNaive(search="forward"),
    "forward-equal": JoinedNaive(search="forward", accept_ties=True, smoothing="backoff"),
    "backward-two": JoinedNaive(accept_ties=True, max_joined=2, smoothing="m-estimate", encoder=Encoder(missing="state")),
}
each = pytest.mark.parametrize("classifier", ALL.values(), ids=ALL)


@each
@pytest.mark.parametrize("has_missing", [False, True], ids=["complete", "has_missing"])
def test_the_groups_are_the_network(classifier: NetworkClassifier, has_missing: bool) -> None:
    X, y = rows(has_missing=has_missing)
    fitted = clone(classifier).fit(X, y)
    structure = {x: ps for group in fitted.groups_ for x, ps in chain(tuple(group)).items()}
    assert {v: ps for v, ps in fitted.network_.parents.items() if ps} == structure
    assert all(type(x) is int for group in fitted.groups_ for x in group)
    assert fitted.groups_ == sorted(sorted(group) for group in fitted.groups_)


def test_parity_needs_joining() -> None:
    X = [list(row) for row in product("01", repeat=3)] * 5
    y = [row[0] != row[2] for row in X]
    joined = JoinedNaive().fit(X, y)
    assert joined.groups_ == [[0, 2], [1]]
    assert joined.score(X, y) == 1.0
    assert JoinedNaive(max_joined=1).fit(X, y).score(X, y) == 0.5


def test_a_missing_member_of_a_group_is_summed_out() -> None:
    """Of the two whose difference is the class one is missing: nothing is known. Where both are known the class is."""
    X = [list(row) for row in product("01", repeat=2)] * 10
    fitted = JoinedNaive().fit(X, [a != b for a, b in X])
    assert fitted.groups_ == [[0, 1]]
    assert np.allclose(fitted.predict_proba([["0", None], [None, "1"], [None, None]]), 0.5)
    assert fitted.predict_proba([["0", "1"]])[0, 1] > 0.9


def test_what_is_deleted_does_not_count() -> None:
    X, y = rows()
    fitted = JoinedNaive(search="forward").fit(X, y)
    used = [x for group in fitted.groups_ for x in group]
    assert 0 < len(used) < 5
    alone = JoinedNaive(search="forward").fit(X.iloc[:, sorted(used)], y)
    assert np.allclose(fitted.predict_proba(X), alone.predict_proba(X.iloc[:, sorted(used)]), rtol=0, atol=1e-12)


def test_nothing_to_tell_is_the_majority() -> None:
    X, y = pd.DataFrame({"a": [1] * 9, "b": ["u"] * 9}), [0, 0, 1] * 3
    for search in ("backward", "forward"):
        fitted = JoinedNaive(search=search).fit(X, y)
        assert fitted.groups_ == []
        assert np.array_equal(fitted.predict_proba(X[:2]), Majority().fit(X, y).predict_proba(X[:2]))


@each
def test_files_read_in_pieces_give_the_same_network(
    classifier: NetworkClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("naivete.cases.sources.ROWS", 37)
    X, y = rows(n=150, has_missing=True)
    weight = np.random.default_rng(1).random(len(y)) * 2
    table = X.assign(y=y, w=weight)
    table.to_parquet(tmp_path / "rows.parquet", index=False)
    table.to_csv(tmp_path / "rows.csv", index=False)
    fitted = clone(classifier).fit(X, table["y"], weight)
    for name in ("rows.parquet", "rows.csv"):
        streamed = clone(classifier).fit_cases(tmp_path / name, "y", weight="w")
        assert streamed.groups_ == fitted.groups_
        assert identical(streamed.network_, fitted.network_)


def test_dask_gives_the_same_network(dask_client: Any) -> None:
    frames = pytest.importorskip("dask.dataframe")
    X, y = rows(has_missing=True)
    table = X.assign(y=y)
    fitted = JoinedNaive().fit(X, table["y"])
    spread = frames.from_pandas(table, npartitions=3)
    assert identical(JoinedNaive().fit_cases(spread, "y", cluster=dask_client).network_, fitted.network_)


def test_a_fitted_classifier_can_be_pickled_and_its_parameters_searched() -> None:
    X, y = rows()
    search = GridSearchCV(JoinedNaive(), {"search": ["backward", "forward"], "max_joined": [1, None]}, cv=2).fit(X, y)
    best = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(best.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert best.network_.parents[CLASS] == ()


@pytest.mark.parametrize("search", ["Backward", None, 3, ["backward"], "bsej"], ids=str)
def test_a_search_that_is_none_is_named(search: Any) -> None:
    X, y = rows(0, 40)
    with pytest.raises(ParameterError, match=r"search=.*choose 'backward' \(BSEJ\) or 'forward' \(FSSJ\)"):
        JoinedNaive(search=search).fit(X, y)


@pytest.mark.filterwarnings("ignore::naivete.errors.UnsuitableColumnWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["kr-vs-kp", "car", "tic-tac-toe"])
def test_joining_helps_where_attributes_interact(name: str) -> None:
    """Ten folds: better than naive Bayes in all of them, or nearly."""
    table = read(data(name))
    cases = label_table(table, table.names[-1])
    X, y = cases.features, np.array(cases.classes)[cases.labels]
    gains = []
    for learn, test in StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        joined, plain = (c.fit(X.take(learn), y[learn]).predict(X.take(test)) for c in (JoinedNaive(), NaiveBayes()))
        gains.append(float((joined == y[test]).mean() - (plain == y[test]).mean()))
    assert np.mean(gains) > 0.05
    assert sum(gain > 0 for gain in gains) >= 9
