"""Classifiers of scikit-learn in comparisons: their encodings, and the words by which they are named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_info, threadpool_limits

from naivete.classifiers.registry import PEERS
from naivete.classifiers.specification import parse_spec, split_specs
from naivete.data.frames import table_of
from naivete.errors import ParameterError
from naivete.evaluation import cross_validate
from naivete.evaluation.peers import RECIPES, Peer


def rows(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    label = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "text": np.where(rng.random(n) < 0.1, None, np.array(list("abc"))[(label + rng.integers(0, 2, n)) % 3]),
            "number": np.where(rng.random(n) < 0.1, np.nan, label + rng.normal(size=n)),
            "truth": rng.random(n) < 0.3 + 0.4 * label,
            "empty": np.nan,
            "y": np.array(["no", "yes"])[label],
        }
    )


FRAME = rows()
X, Y = FRAME.drop(columns="y"), FRAME["y"]


def test_the_registry_names_the_recipes() -> None:
    assert list(PEERS) == list(RECIPES)


@pytest.mark.parametrize("word", PEERS)
def test_mixed_columns_missing_and_unseen_values(word: str) -> None:
    fitted = Peer(word).fit(X[:80], Y[:80])
    new = X[80:].assign(text=["never seen", *X["text"][81:]])
    probabilities = fitted.predict_proba(table_of(new))
    assert probabilities.shape == (40, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (fitted.predict(new) == Y[80:]).mean() > 0.55
    weight = np.repeat([0.1, 1.0], 40)  # of the first and of the last rows
    weighted = Peer(word).fit(X[:80], Y[:80], sample_weight=weight).predict_proba(new)
    assert not np.allclose(weighted, probabilities)


@pytest.mark.parametrize("word", PEERS)
def test_one_class_in_training(word: str) -> None:
    fitted = Peer(word).fit(X[:5], ["a"] * 5)
    assert fitted.predict(X[:2]).tolist() == ["a", "a"]
    assert Peer(word).fit(X[["empty"]][:3], ["a", "b", "b"]).predict(X[["empty"]][:1]).tolist() == ["b"]


def test_names_of_columns_and_order_of_states_do_not_matter() -> None:
    fitted = Peer("sk:nb").fit(X, Y)
    assert np.array_equal(fitted.predict_proba(X[["truth", "text", "empty", "number"]]), fitted.predict_proba(X))


def test_cross_validation_beside_other_models() -> None:
    results = cross_validate({word: Peer(word) for word in ("sk:nb", "sk:tree")}, (X, Y), folds=2)
    assert [result.model for result in results] == ["sk:nb", "sk:tree"]
    assert results[0].accuracy[0] > 0.55


def test_words() -> None:
    assert [str(spec) for spec in split_specs(["nb,sk:rf", "SK:tree"])] == ["nb", "sk:rf", "sk:tree"]
    with pytest.raises(ParameterError, match="random forest is for comparison only"):
        parse_spec("sk:rf")
    with pytest.raises(ParameterError, match="scikit-learn's classifiers here are sk:rf, sk:hgb"):
        split_specs(["sk:svm"])


def test_a_pipeline_of_scikit_learn() -> None:
    pipeline = make_pipeline(OneHotEncoder(handle_unknown="ignore"), BernoulliNB())
    (result,) = cross_validate({"pipeline": pipeline}, (X[["text", "truth"]], Y), folds=2)
    assert result.accuracy[0] > 0.55


class _CountsThreads:
    """A classifier that notes the most threads of a library that it may use."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def _note(self) -> None:
        self.threads.append(max(library["num_threads"] for library in threadpool_info()))

    def fit(self, X: np.ndarray, y: np.ndarray) -> _CountsThreads:
        self._note()
        self.classes = len(np.unique(y))
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        self._note()
        return np.full((len(X), self.classes), 1 / self.classes)


def test_one_thread_is_used_so_that_threads_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    model = _CountsThreads()
    monkeypatch.setattr("naivete.evaluation.peers.RECIPES", {**RECIPES, "sk:hgb": lambda _: model})
    with threadpool_limits(2):
        Peer("sk:hgb").fit(X, Y).predict_proba(X)
        assert model.threads == [1, 1]
        assert max(library["num_threads"] for library in threadpool_info()) == 2


def test_the_libraries_are_loaded_before_their_threads_are_limited() -> None:
    """In a process of its own, in which scikit-learn was not imported before."""
    code = (
        "from threadpoolctl import threadpool_info; from naivete.evaluation.peers import Peer, RECIPES; "
        "[Peer(word).load() for word in RECIPES]; before = len(threadpool_info()); "
        "X = [['a', 1.5], ['b', 2.5], ['a', 3.5], ['b', 1.0]] * 10; y = [0, 1, 1, 0] * 10; "
        "[Peer(word).fit(X, y).predict_proba(X) for word in RECIPES]; print(before == len(threadpool_info()))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "True"
