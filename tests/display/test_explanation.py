"""Explanations as text, sentence, frame, drawing and for `shap`."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from naivete import AODE, C45, ID3, KDB, TAN, Encoder, Explanation, HillClimb, NaiveBayes, ParameterError, Spectrum


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    rng = np.random.default_rng(0)
    colors, shapes = rng.choice(["red", "blue"], 60), rng.choice(["<b>", 'a "b" & c', "ש"], 60)
    y = np.where((colors == "red") ^ (rng.random(60) < 0.2), "yes", "no")
    model = NaiveBayes().fit([*zip(colors.tolist(), shapes.tolist(), strict=True)], y)
    return model.explain([["red", "<b>"], ["blue", None], ["red", "ש"], ["red", 'a "b" & c']])


def test_text_has_a_bar_for_every_contribution(explanation: Explanation) -> None:
    lines = str(explanation).splitlines()
    assert lines[0].startswith("row 0: P(class = yes) = ")
    assert any("x0 = red" in line and line.endswith("+" * 20) for line in lines)
    assert "(1 more rows)" in lines[-1]
    assert repr(explanation) == "<Explanation of 4 rows>"


def test_rows_can_be_chosen(explanation: Explanation) -> None:
    part = explanation[1:3]
    assert len(part) == 2
    assert np.array_equal(part.by_feature.values, explanation.by_feature.values[1:3])
    assert str(explanation[2]).startswith("row 2: ")
    assert len(explanation[-1]) == 1
    assert len(explanation[np.array([True, False, True, False])]) == 2


def test_sentence_names_what_speaks_for_and_against(explanation: Explanation) -> None:
    text = explanation.sentence()
    assert text.startswith("The class is 'yes' with probability 0.")
    assert "For it: x0 = red (+" in text
    assert "For it (compared with 'no'): x0 = red" in explanation[[0, 2, 3]].against("no").sentence()


def test_frame_has_a_column_for_every_feature(explanation: Explanation) -> None:
    frame = explanation.to_frame()
    assert list(frame.columns) == ["class", "probability", "base", "x0", "x1", "log_odds"]
    assert np.allclose(frame[["base", "x0", "x1"]].sum(axis=1), frame["log_odds"], atol=1e-9)
    assert list(explanation.to_frame("family").columns)[3:5] == ["x0 | class", "x1 | class"]
    with pytest.raises(ParameterError, match="by='row': choose 'feature' or 'family'"):
        explanation.to_frame("row")  # type: ignore[arg-type]


def test_features_with_the_names_of_other_columns_of_the_frame() -> None:
    X = pd.DataFrame({"base": ["a", "b"] * 4, "class": ["u", "u", "v", "w"] * 2})
    frame = NaiveBayes().fit(X, [0, 1] * 4).explain(X).to_frame()
    assert list(frame.columns) == ["class_", "probability", "base_", "base", "class", "log_odds"]


def test_drawing_is_valid_and_escaped(explanation: Explanation) -> None:
    for row in range(4):
        ElementTree.fromstring(explanation.svg(row))
    assert "x1 = &lt;b&gt;" in explanation.svg(0)
    assert "<b>" not in explanation.svg(0)
    assert explanation._repr_html_().count("<svg") == 3


def test_many_features_are_summed() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    X = np.where(rng.random((100, 20)) < 0.3, rng.integers(0, 3, (100, 20)), y[:, None]).astype(str)
    explanation = TAN().fit(X.tolist(), y).explain(X[:1].tolist())
    assert "8 others" in str(explanation)
    assert "and 12 more. Against it: " in explanation.sentence()


def test_continuous_values_are_shown_as_numbers() -> None:
    X = np.array([[1000.25], [1001.0], [1002.5], [1003.0]])
    model = NaiveBayes(encoder=Encoder(numbers="normal")).fit(X, [0, 0, 1, 1])
    assert model.explain([[1000.5]]).contributions()[0].value == "1000.5"


def test_the_features_of_a_tree_have_contributions() -> None:
    X = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]] * 5
    explanation = C45().fit(X, [row[0] for row in X]).explain([["a", "x"]])
    assert explanation.contributions()[0][:2] == ("x0", "a")
    assert explanation.by_feature.values[0, 1] == 0
    assert explanation.family_names == ["class | leaf"]


def test_shap_gets_values_and_data(explanation: Explanation) -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed")
    result = explanation.to_shap()
    assert isinstance(result, shap.Explanation)
    assert np.array_equal(result.values, explanation.by_feature.values)
    assert result.feature_names == ["x0", "x1"]


def test_shap_gets_the_standard_errors_of_estimates(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "shap", SimpleNamespace(Explanation=dict))
    X = np.random.default_rng(0).integers(0, 2, (40, 9)).astype(str).tolist()
    estimate = AODE().fit(X, [row[0] for row in X]).explain(X[:2])
    assert np.array_equal(estimate.to_shap()["error_std"], estimate.standard_errors)


def test_without_shap_the_error_says_what_to_install(explanation: Explanation, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ParameterError, match="pip install shap"):
        explanation.to_shap()


def exact_interventional(model: Any, X: np.ndarray, background: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The base and the Shapley values of shap's exact explainer for the log odds of the second class."""
    shap = pytest.importorskip("shap", reason="shap is not installed")

    def log_odds(rows: np.ndarray) -> np.ndarray:
        joint = model.predict_joint_log_proba(rows.astype(int).astype(str).tolist())
        return np.asarray((joint[:, 1] - joint[:, 0]) / np.log(2))

    result = shap.explainers.Exact(log_odds, shap.maskers.Independent(background, max_samples=len(background)))(X)
    return result.base_values, result.values


def test_values_equal_those_of_shap() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = np.where(rng.random((300, 8)) < 0.6, rng.integers(0, 3, (300, 8)), y[:, None]).astype(float)
    for learner in (NaiveBayes(), TAN(), KDB(k=2, theta=-np.inf, bias="plain"), HillClimb(), ID3(smoothing=1)):
        model = learner.fit(X.astype(int).astype(str).tolist(), y)
        base, values = exact_interventional(model, X[:4], X[:50])
        rows, background = (part.astype(int).astype(str).tolist() for part in (X[:4], X[:50]))
        explanation = model.explain(rows, target_class=1, background=background)
        assert np.allclose(explanation.by_feature.base, base, rtol=0, atol=1e-8)
        assert np.allclose(explanation.by_feature.values, values, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("model", "weighted"), [(TAN(), True), (Spectrum(members=1), True), (AODE(), False), (Spectrum(trees=4, boosting=2), False)]
)
def test_only_weighted_means_over_the_other_classes_are_named_so(model: Any, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.choice(["a", "b"], (60, 3)), rng.choice(["u", "v", "w"], 60)
    of_three = model.fit(X, y).explain(X[:2])
    assert ("weighted for this row" in of_three.text()) == weighted
    assert "weighted for this row" not in of_three.against(next(c for c in "uvw" if c not in of_three.target)).text()
    assert "weighted for this row" not in model.fit(X, y == "u").explain(X[:2]).text()
