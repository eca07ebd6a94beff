"""ID3 and C45 as classifiers: scikit-learn's rules, numbers, missing values, and trees in words."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from naivete import _kernels
from naivete.classifiers.augmented import NaiveBayes
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.trees import C45, ID3
from naivete.display.rules import rules, tree_text
from naivete.encoding.discretization import EqualFrequency, distinct
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from naivete.network.derived_columns import Tree
from naivete.variables import CLASS
from tests.oracles import identical
from tests.strategies import frames

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
ALL: dict[str, NetworkClassifier] = {
    "ID3": ID3(),
    "C45": C45(),
    "C45-unpruned": C45(prune=False, min_rows=1, smoothing=1.0),
}
each = pytest.mark.parametrize("classifier", ALL.values(), ids=ALL)


def tree_of(model: NetworkClassifier) -> Tree:
    (tree,) = model.network_.derived.values()
    assert isinstance(tree, Tree)
    return tree


def drawn(seed: int = 0, rows: int = 300, missing_rate: float = 0.1) -> tuple[pd.DataFrame, np.ndarray]:
    """Words, numbers with few and many values, and holes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "word": np.array(["a", "b", "c"])[np.where(rng.random(rows) < 0.5, y, rng.integers(0, 3, rows))],
            "number": (rng.normal(0, 1, rows) + y).round(2),
            "whole": rng.integers(0, 3, rows) + y,
        }
    )
    return frame.mask(rng.random(frame.shape) < missing_rate), np.array(["x", "y", "z"])[y]


@each
@pytest.mark.parametrize("missing_rate", [0.0, 0.15])
def test_answers_are_averages_over_leaves(classifier: NetworkClassifier, missing_rate: float) -> None:
    """P(class | row): from the root down by hand; where the value is missing, the branches by their cases."""
    X, y = drawn(missing_rate=missing_rate)
    model = clone(classifier).fit(X, y)
    tree, table = tree_of(model), np.asarray(model.network_.cpts[CLASS])
    codes = [next(iter(model.encoded(X))).codes[x] for x in range(X.shape[1])]

    def answer(row: int, node: int) -> np.ndarray:
        x = int(tree.features[node])
        if x < 0:
            return table[tree.state_of[node]]
        below, code = tree.children_of(node), codes[x][row]
        if code != np.iinfo(codes[x].dtype).max:
            return answer(row, int(below[code]))
        kids = np.unique(below)
        weight = tree.weights[kids] / tree.weights[kids].sum()
        return sum(w * answer(row, int(k)) for k, w in zip(kids, weight, strict=True))

    known = np.flatnonzero(X.notna().any(axis=1).to_numpy())[:60]
    expected = np.stack([answer(int(row), 0) for row in known])
    assert model.predict_proba(X)[known] == pytest.approx(expected, abs=1e-9)


@each
def test_order_of_rows_and_kernels_are_irrelevant(classifier: NetworkClassifier) -> None:
    X, y = drawn()
    order = np.random.default_rng(1).permutation(len(y))
    one = clone(classifier).fit(X, y)
    assert identical(one.network_, clone(classifier).fit(X.iloc[order], y[order]).network_)
    with _kernels.use("numpy"):
        assert identical(one.network_, clone(classifier).fit(X, y).network_)
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(again.predict_proba(X), one.predict_proba(X))


@given(frame=frames(min_rows=4))
@quick
def test_weights_are_repetitions(frame: tuple[dict[str, list[Any]], list[str]]) -> None:
    columns, y = frame
    X = pd.DataFrame(columns)
    weight = np.random.default_rng(len(y)).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    encoder = Encoder(cut=distinct, kinds=dict.fromkeys((c for c in X if c.startswith("number")), "numeric"))
    for model in (ID3(encoder=encoder), C45(encoder=encoder)):
        weighed = clone(model).fit(X, y, weight)
        repeated = clone(model).fit(X.iloc[rows].reset_index(drop=True), np.array(y)[rows])
        assert tree_text(weighed.network_) == tree_text(repeated.network_)
        assert np.allclose(weighed.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-12)


def test_thresholds_are_values_of_the_column() -> None:
    X, y = load_iris(return_X_y=True)
    model = C45().fit(X, y)
    for x, variable in enumerate(model.network_.variables[:4]):
        assert set(variable.cuts or ()) <= set(X[:, x])
    assert tree_of(model).nodes == 9
    assert (model.predict(X) == y).sum() == 147


def test_as_good_as_the_tree_of_scikit_learn() -> None:
    """On iris, on the same ten folds, within two of its standard deviations."""
    X, y = load_iris(return_X_y=True)
    ours, theirs = (cross_val_score(m, X, y, cv=10) for m in (C45(), DecisionTreeClassifier(random_state=0)))
    assert abs(ours.mean() - theirs.mean()) <= 2 * theirs.std()


def test_parameters_can_be_searched() -> None:
    X, y = drawn()
    search = GridSearchCV(C45(), {"confidence": [0.05, 0.25], "min_rows": [2, 10], "subtree_raising": [True, False]}, cv=2).fit(
        X, y
    )
    assert search.best_score_ > 0.5
    assert GridSearchCV(ID3(), {"max_depth": [1, 2, None]}, cv=2).fit(X, y).best_score_ > 0.5


@pytest.mark.parametrize(
    "model", [ID3(min_rows=-1), ID3(max_depth="deep"), C45(confidence=1), C45(subtree_raising="yes"), C45(min_rows=0)]
)
def test_parameters_out_of_range_are_refused(model: NetworkClassifier) -> None:
    X, y = drawn()
    with pytest.raises(ParameterError, match="="):
        model.fit(X, y)


def test_the_encoder_of_the_caller_is_used() -> None:
    X, y = drawn(missing_rate=0.0)
    cut = EqualFrequency(4)
    coarse = C45(encoder=Encoder(cut=cut)).fit(X, y).network_.variables[1]
    allowed = NaiveBayes(encoder=Encoder(cut=cut)).fit(X, y).network_.variables[1]
    assert coarse.cuts
    assert set(coarse.cuts) <= set(allowed.cuts or ())
    intervals = ID3(encoder=Encoder(cut=cut)).fit(X, y)
    assert intervals.network_.variables[1].cuts == allowed.cuts
    with pytest.raises(ParameterError, match="encoder"):
        C45(encoder="distinct").fit(X, y)  # type: ignore[arg-type]


def test_one_class_or_no_telling_feature_is_a_leaf() -> None:
    for model in (ID3(), C45()):
        for X, y in (([["a"], ["b"]], ["x", "x"]), ([["a"], ["a"]], ["x", "y"])):
            leaf = clone(model).fit(X, y)
            assert tree_of(leaf).nodes == 1
            assert tree_text(leaf.network_) == (": x (2.0)" if y[0] == y[1] else ": x (2.0 / 1.0 wrong)")
            assert rules(leaf.network_)[0].startswith("always -> x")


def test_rules_name_what_is_asked_once() -> None:
    """Several thresholds of a column become one interval, and every row fits exactly one rule."""
    x = np.arange(40.0)
    model = C45().fit(pd.DataFrame({"x": x}), np.where((x > 9) & (x <= 29), "in", "out"))
    assert rules(model.network_) == ["x <= 9 -> out (10.0)", "9 < x <= 29 -> in (20.0)", "x > 29 -> out (10.0)"]


def test_rules_of_intervals_and_of_missing_as_a_state() -> None:
    x = np.array([*np.arange(30.0), *[np.nan] * 10])
    y = np.array(["low"] * 15 + ["high"] * 15 + ["none"] * 10)
    encoder = Encoder(cut=EqualFrequency(2), missing="state")
    frame = pd.DataFrame({"x": x})
    three = rules(ID3(encoder=encoder).fit(frame, y).network_)
    assert three == ["x <= 14.5 -> low (15.0)", "x > 14.5 -> high (15.0)", "x is missing -> none (10.0)"]
    two = C45(encoder=Encoder(cut=distinct, missing="state")).fit(frame, y)
    assert rules(two.network_) == ["x <= 14 -> low (15.0)", "x > 14 -> high (15.0)", "x is missing -> none (10.0)"]
    assert (two.predict(frame) == y).all()


def test_the_text_of_a_fitted_tree() -> None:
    model = C45().fit(*drawn())
    assert tree_text(model) == tree_text(model.network_)
    assert rules(model) == rules(model.network_)


def test_only_trees_have_rules() -> None:
    X, y = drawn()
    for words in (rules, tree_text):
        with pytest.raises(ParameterError, match="only a classification tree"):
            words(NaiveBayes().fit(X, y).network_)


@given(seed=st.integers(0, 50))
@quick
def test_the_text_of_a_tree_has_a_line_for_each_branch(seed: int) -> None:
    X, y = drawn(seed, 60)
    model = C45(min_rows=1).fit(X, y)
    tree, lines = tree_of(model), tree_text(model.network_).splitlines()
    assert len(lines) == max(1, tree.nodes - 1)
    assert sum(": " in line for line in lines) == len(tree.leaves) == len(rules(model.network_))
