"""Models with derived columns and densities wherever a classifier goes: streams, schemas, kept structures, labels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import C45, ID3, TAN, Encoder, HiddenNaive, NaiveBayes, Recursive
from naivete.classifiers.saving import load
from naivete.cli import main
from naivete.display.rules import rules, tree_text
from naivete.errors import DataError, NaiveteWarning, ParameterError
from naivete.variables import Variable

pytestmark = pytest.mark.filterwarnings("ignore::naivete.errors.NaiveteWarning")


def table(rows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "leaf": np.array(["a", "b", "c"])[(hidden + (rng.random(rows) < 0.2)) % 3],
            "cell": np.array(["u", "v"])[(hidden > 0).astype(int) ^ (rng.random(rows) < 0.2)],
            "hidden": np.round(hidden + rng.normal(0, 0.4, rows), 2),
        }
    )
    frame["y"] = np.array(["p", "q"])[(hidden == 2).astype(int) ^ (rng.random(rows) < 0.1)]
    return frame


MODELS = ["c45", "id3", "recursive", "recursive:parity=split", "hidden:states=2"]


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_answered_alike_in_one_table_and_in_a_stream(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    fitted, one, two = (str(tmp_path / name) for name in ("m.nvt", "one.csv", "two.csv"))
    assert main(["fit", str(tmp_path / "t.csv"), "--target", "y", "--model", model, "--out", fitted]) == 0
    assert main(["predict", fitted, str(tmp_path / "t.csv"), "--out", one]) == 0
    assert main(["predict", fitted, str(tmp_path / "t.csv"), "--memory", "1GB", "--out", two]) == 0
    assert Path(one).read_text() == Path(two).read_text()
    capsys.readouterr()
    assert len(load(fitted).network_.columns) == 3


@pytest.mark.parametrize("classifier", [C45(), ID3(), Recursive(), HiddenNaive()])
def test_a_fitted_classifier_is_a_schema_by_its_columns(classifier: Any, tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    model = type(classifier)().fit_cases(str(tmp_path / "t.csv"), "y")
    again = type(classifier)().fit_cases(str(tmp_path / "t.csv"), "y", schema=model)
    assert [v.name for v in again.network_.columns] == ["leaf", "cell", "hidden"]
    normal = NaiveBayes(encoder=Encoder(numbers="normal")).fit_cases(str(tmp_path / "t.csv"), "y")
    if not isinstance(classifier, Recursive):
        with pytest.raises(ParameterError, match="learns from tables only"):
            type(classifier)().fit_cases(str(tmp_path / "t.csv"), "y", schema=normal)


@pytest.mark.parametrize("classifier", [C45(), ID3(), Recursive()])
def test_a_structure_that_follows_from_the_cases_cannot_be_kept(classifier: Any) -> None:
    frame = table()
    X, y = frame.drop(columns="y"), frame["y"]
    fitted = classifier.partial_fit(X, y)
    before = fitted.predict_proba(X)
    with pytest.raises(ParameterError, match=r"structure='keep'.*follows from its cases"):
        fitted.partial_fit(X, y, structure="keep")
    assert np.array_equal(fitted.predict_proba(X), before)


def test_a_threshold_that_is_told_is_true() -> None:
    for start, step in ((1_700_000_000_123, 7), (1e9, 1e-5), (0.1, 0.1)):
        values = start + step * np.arange(40)
        model = C45(encoder=Encoder(kinds="numeric")).fit(values[:, None], values > values[19])
        assert model.score(values[:, None], values > values[19]) == 1
        threshold = float(rules(model.network_)[0].split(" -> ")[0].split(" <= ")[1])
        assert values[19] <= threshold < values[20]
        assert f"<= {rules(model.network_)[0].split(' -> ')[0].split(' <= ')[1]}" in tree_text(model.network_)
    assert Variable("t", cuts=(1700000000263.0,)).labels == ("<= 1700000000263", "> 1700000000263")


@pytest.mark.filterwarnings("default::naivete.errors.NaiveteWarning")
def test_weights_that_make_a_tree_of_one_leaf_are_told() -> None:
    frame = table()
    X, y = frame.drop(columns="y"), frame["y"]
    with pytest.warns(NaiveteWarning, match="the total weight of the cases is 1, less than two branches of min_rows=2 need"):
        C45().fit(X, y, sample_weight=np.full(len(y), 1 / len(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NaiveteWarning)
        C45().fit(X[:1], y[:1])
        C45().fit(X, y)


def test_ties_do_not_depend_on_the_order_of_columns() -> None:
    X = [["2", "1", "1"], ["1", "0", "0"], ["0", "2", "1"], ["1", "1", "1"], ["1", "0", "1"], ["1", "1", "1"]]
    y, order = [1, 0, 1, 1, 0, 0], [2, 0, 1]
    one = Recursive().fit(X, y).predict_proba(X)
    two = Recursive().fit([[row[i] for i in order] for row in X], y).predict_proba([[row[i] for i in order] for row in X])
    assert np.allclose(one, two, atol=1e-12)


def test_numbers_far_out_leave_the_answer_to_the_others() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = np.column_stack([rng.normal(y * 5.0), rng.normal(size=200)])
    for model in (NaiveBayes(encoder=Encoder(numbers="normal")), TAN(encoder=Encoder(numbers="normal"))):
        fitted = model.fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error", NaiveteWarning)
            answers = fitted.predict_proba([[5.0, 1e300], [0.0, -1e300], [5.0, 1e150]])
        assert np.all(np.isfinite(answers))
        if isinstance(model, NaiveBayes):
            assert answers[0, 1] > 0.99
            assert answers[1, 0] > 0.99


@pytest.mark.parametrize("kind", [NaiveBayes, TAN, Recursive])
def test_numbers_that_cannot_be_squared_are_refused_by_name(kind: Any) -> None:
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 1e155]
    with pytest.raises(DataError, match="column 'x1': its numbers are too large to be squared"):
        kind(encoder=Encoder(numbers="normal")).fit(X, np.arange(50) % 2)


def test_what_a_number_tells_is_no_more_than_there_is_to_tell() -> None:
    y = np.repeat([0, 1], 50)
    X = (y * 1000.0 + np.random.default_rng(0).normal(size=100))[:, None]
    assert NaiveBayes(encoder=Encoder(numbers="normal")).fit(X, y).relevance_[0] == pytest.approx(1.0)


def test_hidden_variables_have_no_more_states_than_their_features_configurations() -> None:
    frame = table()
    X, y = frame[["leaf", "cell"]], frame["y"]
    with pytest.raises(ParameterError, match="states=7: 'leaf', 'cell' have 6 configurations"):
        HiddenNaive(groups=[[0, 1]], states=7).fit(X, y)
    with pytest.raises(ParameterError, match="alpha="):
        HiddenNaive(groups=[[0, 1]], states=2, alpha=2).fit(X, y)
