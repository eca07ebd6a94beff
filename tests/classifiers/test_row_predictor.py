"""One row at a time: the probabilities are those of `predict_proba` on a table, and rows may be mappings everywhere."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete import (
    AODE,
    KDB,
    TAN,
    DataError,
    DataTypeError,
    Encoder,
    MissingColumnWarning,
    NaiveBayes,
    NotFittedError,
    Spectrum,
    UnseenValueWarning,
)
from naivete._kernels.dispatch import compiled
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.export.sum_of_tables import sum_of_tables
from naivete.classifiers.prepared_tables import PreparedTables, prepared_tables
from naivete.inference.elimination import Elimination
from naivete.network.network import Network
from naivete.variables import Variable
from tests.classifiers.export.samples import (
    any_network,
    classifiers,
    frame,
    network_sample,
    one_state_network,
    one_state_networks,
    sample,
)

same_bits = compiled() is not None
"""Without the compiled kernels, NumPy's exponential function may differ in the last bit."""


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=0 if same_bits else 1e-12)


@pytest.fixture(scope="module", params=[*classifiers(), "kernel"])
def fitted(request: pytest.FixtureRequest) -> tuple[NetworkClassifier, Any, Any, Any]:
    """A fitted classifier, rows, their probabilities in a table, and which rows are complete."""
    if request.param != "kernel":
        return sample(request.param)
    X, y = frame(80)
    model = NaiveBayes(encoder=Encoder(numbers="kernel")).fit(X, y)
    return model, X.to_dict("records"), model.predict_proba(X), np.zeros(80, bool)


@pytest.mark.filterwarnings("ignore")
def test_rows_have_the_probabilities_of_a_table(fitted: tuple[NetworkClassifier, Any, Any, Any]) -> None:
    model, rows, expected, _ = fitted
    predict = model.row_predictor()
    close([list(predict(row).values()) for row in rows], expected)
    assert list(predict(rows[0])) == model.classes_.tolist()
    best = model.classes_[np.argmax(expected, axis=1)].tolist()
    assert [predict.predict(list(row.values())) for row in rows[:3]] == best[:3]
    observed = [{name: value for name, value in row.items() if value is not None} for row in rows[:20]]
    close([predict.probabilities({**row, "unknown": 1}) for row in observed], expected[:20])


@pytest.mark.filterwarnings("ignore")
def test_single_rows_of_every_type_have_the_probabilities_of_a_table(fitted: tuple[NetworkClassifier, Any, Any, Any]) -> None:
    model, rows, expected, complete = fitted
    table = pd.DataFrame(rows)
    close(model.predict_proba(rows), expected)
    for i in [*np.flatnonzero(complete)[:3], 3, 5, 9]:
        for X in (rows[i], [rows[i]], table.iloc[[i]], table.iloc[i], table.iloc[[i]]):
            close(model.predict_proba(X)[0], expected[i])


@given(network=st.one_of(any_network, one_state_networks), seed=st.integers(0, 999))
def test_single_rows_of_random_networks_have_the_bits_of_a_table(network: Network, seed: int) -> None:
    rows = network_sample(network, seed)
    form = sum_of_tables(network)
    if form.tree is not None or form.hierarchy is not None or form.hidden:
        return
    tables = PreparedTables(form, Elimination(network))
    for row, expected in zip(rows.rows, rows.expected, strict=True):
        codes = tables.codes(list(row.values()), {})
        actual = None if codes is None else tables.code_posterior(codes)
        if actual is not None:
            close(actual, expected)


def test_a_network_whose_features_all_have_one_state() -> None:
    network = one_state_network(44237)
    rows = network_sample(network, 0)
    tables = PreparedTables(sum_of_tables(network), Elimination(network))
    for row, expected in zip(rows.rows, rows.expected, strict=True):
        close(tables.code_posterior(tables.codes(list(row.values()), {})), expected)


def test_an_unseen_value_of_a_parent_with_one_state() -> None:
    """The table of a child does not depend on such a parent, and must not be counted twice when its value is unknown."""
    variables = Variable("parent", ("a",)), Variable("child", ("no", "yes")), Variable("class", (0, 1))
    child = np.array([[[0.9, 0.2], [0.1, 0.8]]])
    network = Network(variables, {-1: (), 0: (-1,), 1: (0, -1)}, {-1: np.array([0.5, 0.5]), 0: np.ones((1, 2)), 1: child})
    tables = PreparedTables(sum_of_tables(network), Elimination(network))
    for value in ("a", "b", None):
        codes = tables.codes([value, "no"], {})
        assert codes is not None
        np.testing.assert_allclose(tables.code_posterior(codes), [0.9 / 1.1, 0.2 / 1.1])


@pytest.mark.filterwarnings("ignore")
def test_single_rows_with_missing_values_have_the_bits_of_a_table(fitted: tuple[NetworkClassifier, Any, Any, Any]) -> None:
    model, rows, _, _ = fitted
    table = pd.DataFrame(rows).iloc[8:30]
    expected = model.predict_proba(table)
    for i in range(len(table)):
        close(model.predict_proba(table.iloc[[i]])[0], expected[i])


def test_missing_values_need_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first single row, rows with missing parents are neither encoded as tables nor planned again."""
    X, y = frame()
    for estimator in (NaiveBayes(), TAN(), KDB(k=2, theta=-np.inf)):
        fitted = estimator.fit(X[["text", "whole", "truth"]], y)
        row = {"text": "low", "whole": None, "truth": True}
        expected = fitted.predict_proba(row)
        with monkeypatch.context() as patched:
            patched.setattr(type(fitted), "encoded", None)
            assert fitted.predict_proba(row).tolist() == expected.tolist()
            patched.setattr(Elimination, "plan", None)
            for X1 in (row, [row], pd.DataFrame([row]), {**row, "truth": False}):
                assert fitted.predict_proba(X1).shape == (1, 3)


def test_a_frame_without_a_column_is_reported_for_every_row() -> None:
    X, y = frame()
    fitted = TAN().fit(X[["text", "whole", "truth"]], y)
    for _ in range(3):
        with pytest.warns(MissingColumnWarning, match="whole"):
            fitted.predict_proba(pd.DataFrame([{"text": "low", "truth": True}]))
        with pytest.warns(UnseenValueWarning, match="text"):
            fitted.predict_proba({"text": "unheard of", "whole": 1})
        with pytest.raises(DataError):
            fitted.predict_proba({"other": 1})


@pytest.fixture(scope="module")
def model() -> TAN:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    a = (y + rng.integers(0, 2, 300)) % 3
    b = (a + rng.integers(0, 2, 300)) % 3
    texts = np.array(["low", "middle", "high"])
    return TAN().fit(pd.DataFrame({"a": texts[a], "b": texts[b], "c": texts[(b + y) % 3], "n": rng.normal(y, 1, 300)}), y)


def test_only_unusual_rows_need_the_predictor(model: TAN, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"a": "low", "b": "high", "c": "low", "n": 0.5}
    predict = model.row_predictor()
    expected = model.predict_proba(pd.DataFrame([row, row]))[0]
    inner = [{**row, name: None} for name in "abc"]
    sums = [model.predict_proba(pd.DataFrame([row, row]))[0] for row in inner]
    monkeypatch.setattr(TAN, "predict_proba", None)
    close(predict.probabilities(row), expected)
    for values, probabilities in zip(inner, sums, strict=True):
        close(predict.probabilities(values), probabilities)
    assert sum(predict({}).values()) == pytest.approx(1)
    monkeypatch.undo()
    assert prepared_tables(AODE().fit([["a"], ["b"]] * 5, [0, 1] * 5)) is None


def test_tables_are_prepared_for_the_second_single_row(model: TAN, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"a": "low", "b": "high", "c": "low", "n": 0.5}
    model.fit(pd.DataFrame([row, {**row, "a": "high"}] * 5), [0, 1] * 5)
    first = model.predict_proba(row)
    second = model.predict_proba(row)
    assert np.array_equal(first, second)
    if same_bits:
        monkeypatch.setattr(TAN, "posteriors", None)
        assert np.array_equal(model.predict_proba(pd.DataFrame([row])), first)
        assert model.predict(row) == [0]


def test_values_are_treated_as_in_a_table(model: TAN) -> None:
    X, y = [["x", 1, True], ["y", 2, False], ["x", 2, False], ["y", 1, True]] * 5, [0, 1, 1, 0] * 5
    own = NaiveBayes().fit(X, y)
    predict = own.row_predictor()
    for row in (["x", 1.0, True], ["y", np.int64(2), np.bool_(False)], [np.str_("x"), float("nan"), None], ["", 2, pd.NA]):
        close(predict.probabilities(row), own.predict_proba([row])[0])
    for row in (["x", True, 1], ["z", 1, True]):  # 1 and True are different values
        with pytest.warns(UnseenValueWarning):
            actual = predict.probabilities(row)
        with pytest.warns(UnseenValueWarning):
            close(actual, own.predict_proba([row])[0])
    strict = NaiveBayes(encoder=Encoder(unseen="error")).fit(X, y).row_predictor()
    with pytest.raises(DataError, match="did not occur in training"):
        strict({"x0": "z", "x1": 1, "x2": True})


def test_whole_numbers_that_floats_cannot_hold() -> None:
    rows = [{"id": 2**53 + i % 3, "b": "xyx"[i % 3]} for i in range(30)]
    y = [i % 3 == 1 for i in range(30)]
    table = pd.DataFrame(rows)
    one, two = NaiveBayes().fit(rows, y), NaiveBayes().fit(table, y)
    assert one.schema_ == two.schema_
    expected = two.predict_proba(table)
    close(one.predict_proba(rows), expected)
    for i in range(3):
        for X in (rows[i], [rows[i]], table[i : i + 1]):
            close(two.predict_proba(X), expected[i : i + 1])
        close(two.row_predictor().probabilities(rows[i]), expected[i])
    with_missing = NaiveBayes().fit([*rows, {"b": "x"}], [*y, True])
    assert with_missing.schema_[0].states == (2**53, 2**53 + 1, 2**53 + 2)
    close(with_missing.predict_proba([rows[1], {"b": "x"}])[0], with_missing.predict_proba(rows[1])[0])


def test_rows_that_do_not_fit_are_refused() -> None:
    model = NaiveBayes().fit([["a", 1.5], ["b", 2.5], ["a", 3.5]] * 20, ["no", "yes", "no"] * 20)
    predict = model.row_predictor()
    with pytest.raises(DataError, match="one value for each of the 2 features"):
        predict(["a"])
    frame = pd.DataFrame({"x0": ["a"], "x1": [1.5]})
    for other in (None, 5, "ab", {"x0", "x1"}, frame, pl.from_pandas(frame), np.array([["a", 1.5]], object), np.array("a")):
        with pytest.raises(DataError, match=f"row: {type(other).__name__} is not a row; pass a mapping"):
            predict(other)
    with pytest.raises(DataError, match="no feature of the model"):
        predict({"X0": "a"})
    with pytest.raises(DataError, match="the values are columns"):
        predict({"x0": ["a", "b"], "x1": [1.0, 2.0]})
    with pytest.raises(DataError, match="is infinity, not a finite number"):
        predict(["a", float("inf")])
    with pytest.raises(DataError, match="row 1: inf is infinity, not a finite number; replace it"):
        model.predict([["a", float("inf")]])
    for rows in ({"X0": "a"}, [{"X0": "a"}], [{"x0": "a"}, {"X0": "a"}]) * 2:  # tables are prepared for the second single row
        with pytest.raises(DataError, match="no column 'X0'; did you mean x0"):
            model.predict_proba(rows)
    with pytest.raises(DataTypeError, match=r"column 'x0', row 2: \[1\] is of type list"):
        model.predict([{"x0": "a"}, {"x0": [1]}])
    with pytest.raises(DataError, match="row 2: 5 is not a mapping"):
        model.predict([{"x0": "a"}, 5])
    with pytest.raises(DataError, match="mapping from names to columns"):
        model.predict({"x0": ["a", "b"], "x1": [1.0, 2.0]})  # columns by name are no rows
    with pytest.raises(NotFittedError):
        NaiveBayes().row_predictor()


def test_a_row_predictor_keeps_the_model_as_it_was() -> None:
    X = [["a"], ["b"]] * 10
    model = Spectrum(members=1, trees=2).fit(X, [0, 1] * 10)
    predict = model.row_predictor()
    before = predict(["a"])
    model.fit(X, [1, 0] * 10)
    assert predict(["a"]) == before
    assert repr(predict) == "RowPredictor(Spectrum(members=1, trees=2), 1 features)"


def test_a_row_predictor_can_be_pickled() -> None:
    model = TAN().fit([["a", 1.5], ["b", 2.5], ["a", 3.5]] * 20, ["no", "yes", "no"] * 20)
    predict = pickle.loads(pickle.dumps(model.row_predictor()))
    assert predict(["a", 2.0]) == model.row_predictor()(["a", 2.0])


def test_mappings_are_rows_in_every_method(model: TAN) -> None:
    records = [{"a": "x", "b": 1.5}, {"b": 2.5}, {"a": "y", "b": None}, {"a": "x"}] * 10
    y = [0, 1, 1, 0] * 10
    table = pd.DataFrame(records)
    one = TAN().fit(records, y)
    two = TAN().fit(table, y)
    assert np.array_equal(one.predict_proba(records), two.predict_proba(table))
    assert one.feature_names_in_.tolist() == ["a", "b"]
    row = {"a": "x"}
    assert str(one.explain(row)) == str(two.explain(table.iloc[3]))
    assert one.score(records, y) == two.score(table, y)
    assert one.posteriors(row).posterior.tolist() == two.predict_proba(row).tolist()
    assert str(one.ask_next({**row, "other": 3})) == str(one.ask_next(row))
    assert str(one.ask_next(pd.Series({"other": 2.5, "a": "x"}))) == str(one.ask_next(row))  # not matched by position
    with pytest.raises(DataError, match="there is no feature 'A'; there are a, b"):
        one.ask_next({"A": "x"})
    assert str(one.ask_next(row)) == str(two.ask_next(table.iloc[3]))
    assert str(one.flip(row)) == str(two.flip([row["a"], None]))
    assert one.predict([{"b": 2.5, "a": "y", "other": 3}]).tolist() == two.predict(table.iloc[2:3].assign(b=2.5)).tolist()
    more = NaiveBayes().partial_fit(records, y).partial_fit(row, [1])
    assert np.array_equal(more.predict_proba(row), NaiveBayes().fit([*records, row], [*y, 1]).predict_proba(row))
