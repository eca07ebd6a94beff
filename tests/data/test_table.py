"""Tables as they were read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import _safe_indexing, shuffle
from sklearn.utils.multiclass import type_of_target

from naivete import KDB, TAN, NaiveBayes, read
from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError

WORDS = Column("word", np.array([1, -1, 0], np.int32), ("a", "b"), "nominal")
NUMBERS = Column("number", np.array([1.5, np.nan, 2.0]))
TABLE = Table((WORDS, NUMBERS), np.array([1.0, 2.0, 3.0]), "file.csv", np.array([2, 3, 5]))


def test_columns_give_their_values() -> None:
    assert list(WORDS) == ["b", None, "a"]
    assert list(NUMBERS) == [1.5, None, 2.0]
    assert list(Column("flag", np.array([True, False]))) == [True, False]
    assert WORDS.to_numpy().tolist() == ["b", None, "a"]
    assert NUMBERS.to_numpy() is NUMBERS.values
    assert (len(WORDS), list(WORDS.take(slice(1, 3)))) == (3, [None, "a"])


def test_columns_and_rows_of_tables_by_name() -> None:
    assert TABLE.names == ("word", "number")
    assert TABLE["number"] is NUMBERS
    assert (len(TABLE), TABLE.place(2)) == (3, "file.csv:5")
    assert Table((WORDS,)).place(0) == "table, row 1"
    some = TABLE.take(np.array([2, 0]))
    assert [list(c) for c in some.columns] == [["a", "b"], [2.0, 1.5]]
    assert some.weight is not None
    assert (some.weight.tolist(), some.place(0)) == ([3.0, 1.0], "file.csv:5")
    assert TABLE.renamed(["x", None]).names == ("x", None)
    left = TABLE.without("word").without("number")
    assert (left.columns, len(left)) == ((), 3)
    assert len(left.take(np.array([0]))) == 1
    assert len(Table(())) == 0


def test_columns_are_found_by_name_and_type() -> None:
    both = Table((Column(0, np.array([1])), Column("0", np.array([2]))))
    assert both["0"].values.tolist() == [2]
    assert both[0].values.tolist() == [1]
    with pytest.raises(ParameterError, match=r"file.csv: there is no column 'numbr'; did you mean 'number'\?"):
        TABLE["numbr"]
    with pytest.raises(ParameterError, match=r"the columns are \['word', 'number'\]"):
        TABLE["zzz"]


def test_invalid_tables_are_refused() -> None:
    with pytest.raises(DataError, match="'word' at positions 1, 2"):
        Table((WORDS, WORDS))
    with pytest.raises(DataError, match=r"differ in length: \[1, 3\]"):
        Table((WORDS, Column("x", np.array([1]))))
    with pytest.raises(DataError, match="differ in length"):
        Table((WORDS,), rows=2)


def test_columns_are_arrays_to_numpy() -> None:
    assert np.asarray(WORDS).tolist() == ["b", None, "a"]
    assert np.asarray(NUMBERS) is NUMBERS.values
    assert np.array(NUMBERS) is not NUMBERS.values
    assert np.asarray(Column("x", np.array([1, 2])), float).dtype == float
    assert (WORDS.shape, len(WORDS)) == ((3,), 3)
    with pytest.raises(ValueError, match="column 'word' holds codes"):
        np.array(WORDS, copy=False)


@pytest.mark.parametrize(
    ("states", "codes", "dtype"),
    [
        ((10, 20), [0, 1], np.int64),
        ((True, False), [0, 1], np.bool_),
        ((0.5, 1.5), [1, 0], np.float64),
        ((10, 20), [0, -1], object),
        ((1, True), [0, 1], object),
        (("a", "b"), [0, 1], object),
        ((), [-1, -1], object),
    ],
)
def test_states_of_one_type_are_an_array_of_it(states: Any, codes: list[int], dtype: Any) -> None:
    column = Column("x", np.array(codes), states)
    assert column.to_numpy().dtype == dtype
    assert column.to_numpy().tolist() == list(column)


def test_rows_of_columns() -> None:
    assert (WORDS[0], WORDS[1], WORDS[-1], NUMBERS[1], NUMBERS[2]) == ("b", None, "a", None, 2.0)
    assert isinstance(NUMBERS[0], float)
    for key in (slice(1, 3), [1, 2], np.array([1, 2]), np.array([False, True, True]), NUMBERS != 1.5):
        cut = WORDS[key]
        assert (list(cut), cut.name, cut.states, cut.kind) == ([None, "a"], "word", WORDS.states, "nominal")
    assert len(WORDS[[]]) == 0
    with pytest.raises(IndexError, match="out of bounds"):
        WORDS[3]
    with pytest.raises(IndexError, match="column 'word' has 1 dimension"):
        WORDS[np.array([[0, 1]])]


def test_columns_compare_value_by_value() -> None:
    assert (WORDS == "a").tolist() == [False, False, True]
    assert (WORDS != "a").tolist() == [True, True, False]
    assert (WORDS == ["b", "x", "x"]).tolist() == [True, False, False]
    for column in (WORDS, NUMBERS):
        assert (column != column).tolist() == [False, True, False]
        assert (column == None).tolist() == [False] * 3  # noqa: E711
    assert (NUMBERS == "text").tolist() == [False] * 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(WORDS)


def test_rows_and_columns_of_tables() -> None:
    assert (TABLE.shape, list(TABLE), "word" in TABLE) == ((3, 2), ["word", "number"], True)
    for key in (slice(1, 3), [1, 2], np.array([1, 2]), [False, True, True], TABLE["number"] != 1.5):
        cut = TABLE[key]
        assert [list(c) for c in cut.columns] == [[None, "a"], [None, 2.0]]
        assert cut.weight is not None
        assert (cut.weight.tolist(), cut.place(0)) == ([2.0, 3.0], "file.csv:3")
    flag = Column("flag", np.array([1, 0, 1]), (True, False))
    assert TABLE[flag].shape == (1, 2)
    for names in (["number"], np.array(["number"]), np.array(["number"], object), pd.Index(["number"])):
        assert TABLE[names].columns == (NUMBERS,)
        assert TABLE[names].weight is TABLE.weight
    assert TABLE[["number", "word"]].names == ("number", "word")
    assert (TABLE[[]].shape, TABLE[np.array([], int)].shape) == ((3, 0), (0, 2))
    with pytest.raises(ParameterError, match=r"no column 'numbr'; did you mean 'number'\?"):
        TABLE[["word", "numbr"]]
    with pytest.raises(ParameterError, match="there is no column 0"):
        TABLE[0]
    with pytest.raises(ParameterError, match=r"there is no column \('word', 'number'\)"):
        TABLE["word", "number"]  # type: ignore[call-overload]
    with pytest.raises(IndexError, match="rows are chosen by an array of 1 dimension, not of 2"):
        TABLE[np.zeros((3, 2), bool)]


def test_numbers_that_are_names_come_first() -> None:
    table = Table((Column(0, np.array([5, 6, 7])), Column(1, np.array([8, 9, 10]))))
    assert list(table[1]) == [8, 9, 10]
    assert table[[1]].names == (1,)
    assert table[[1, 2]].shape == (2, 2)
    assert list(table[np.array([1])][0]) == [6]
    assert list(table[[True, True, False]][0]) == [5, 6]


def test_tables_turn_into_arrays_and_frames() -> None:
    mixed = np.asarray(TABLE)
    assert (mixed.dtype, mixed.shape) == (object, (3, 2))
    assert mixed[[0, 2]].tolist() == [["b", 1.5], ["a", 2.0]]
    assert all(value != value for value in mixed[1])
    assert np.asarray(TABLE[["number"]], np.float32).dtype == np.float32
    assert np.asarray(TABLE[[]]).shape == (3, 0)
    with pytest.raises(ValueError, match="always a copy"):
        np.array(TABLE, copy=False)
    assert pd.DataFrame(TABLE.to_dict())["word"].isna().tolist() == [False, True, False]
    assert pl.DataFrame(TABLE.to_dict())["word"].to_list() == ["b", None, "a"]


def test_reprs_are_short() -> None:
    assert repr(WORDS) == "Column('word', nominal, 3 rows: 'b', None, 'a')"
    assert repr(NUMBERS) == "Column('number', float64, 3 rows: 1.5, None, 2.0)"
    assert repr(Column("n", np.arange(9), kind="numeric")) == "Column('n', numeric, 9 rows: 0, 1, 2, 3, 4, ...)"
    assert repr(TABLE) == "Table('file.csv', 3 rows x 2 columns: 'word', 'number')"
    wide = Table(tuple(Column(j, np.arange(1)) for j in range(1000)))
    assert repr(wide) == "Table('table', 1 rows x 1000 columns: 0, 1, 2, 3, 4, ...)"


def test_columns_and_tables_are_pickled() -> None:
    again = pickle.loads(pickle.dumps(TABLE))
    assert (repr(again), list(again["word"])) == (repr(TABLE), list(WORDS))


def patients(path: Path) -> tuple[Table, pd.DataFrame]:
    """A table of text, numbers, whole numbers and missing values, from one file by two readers."""
    rng = np.random.default_rng(1)
    age, sex, ward = rng.normal(50, 15, 240).round(1), rng.choice(["m", "f"], 240), rng.integers(0, 3, 240)
    diagnosis = np.where(age + 10 * (sex == "m") + rng.normal(0, 10, 240) > 55, "flu", "cold")
    frame = pd.DataFrame({"age": age, "sex": sex, "ward": ward, "diagnosis": diagnosis, "weight": rng.integers(1, 4, 240)})
    frame.loc[rng.random(240) < 0.1, "age"] = np.nan
    frame.loc[rng.random(240) < 0.1, "sex"] = None
    frame.to_csv(path, index=False)
    return read(path), pd.read_csv(path)


def split(X: Any, y: Any) -> Any:
    train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    model = NaiveBayes().fit(train, y_train)
    return [*model.predict_proba(test)[:, 1], model.score(test, y_test)]


def folds(X: Any, y: Any) -> Any:
    pairs = [pair for cv in (StratifiedKFold(3), KFold(3)) for pair in cv.split(X, y)]
    parts = [[_safe_indexing(Z, rows) for Z in (X, y) for rows in pair] for pair in pairs]
    return [NaiveBayes().fit(train, a).score(test, b) for train, test, a, b in parts]


def scored(X: Any, y: Any) -> Any:
    scores = cross_validate(KDB(), X, y, cv=3, scoring=["accuracy", "roc_auc", "neg_log_loss", "f1_macro"])
    return [value for key, value in scores.items() if key.startswith("test")]


WORK: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda X, y: NaiveBayes().fit(X, y).predict(X),
    "score": lambda X, y: NaiveBayes().fit(X, y).score(X, y),
    "score of whole numbers": lambda X, y: NaiveBayes().fit(X[["age", "sex"]], X["ward"]).score(X[["age", "sex"]], X["ward"]),
    "weights": lambda X, y: NaiveBayes().fit(X, y, sample_weight=X["weight"]).score(X, y, sample_weight=X["weight"]),
    "metrics": lambda X, y: confusion_matrix(y, NaiveBayes().fit(X, y).predict(X)),
    "curve": lambda X, y: roc_auc_score(y, NaiveBayes().fit(X, y).predict_proba(X)[:, 1]),
    "train_test_split": split,
    "folds": folds,
    "cross_validate": scored,
    "cross_val_score": lambda X, y: cross_val_score(NaiveBayes(), X, y, cv=3),
    "cross_val_score with weights": lambda X, y: cross_val_score(NaiveBayes(), X, y, params={"sample_weight": X["weight"]}),
    "cross_val_score by groups": lambda X, y: cross_val_score(
        NaiveBayes(), X[["age", "sex"]], y, groups=X["ward"], cv=GroupKFold(3)
    ),
    "cross_val_predict": lambda X, y: cross_val_predict(NaiveBayes(), X, y, method="predict_proba"),
    "GridSearchCV": lambda X, y: GridSearchCV(KDB(), {"k": [0, 1, 2]}, cv=3).fit(X, y).cv_results_["mean_test_score"],
    "GridSearchCV's best": lambda X, y: GridSearchCV(KDB(), {"k": [0, 1]}).fit(X, y).predict_proba(X),
    "pipeline": lambda X, y: cross_val_score(
        make_pipeline(FunctionTransformer(lambda t: t[["age", "sex"]]), NaiveBayes()), X, y, cv=3
    ),
    "pipeline of arrays": lambda X, y: make_pipeline(OrdinalEncoder(), NaiveBayes()).fit(X, y).predict_proba(X),
    "calibration": lambda X, y: CalibratedClassifierCV(NaiveBayes(), cv=3).fit(X, y).predict_proba(X),
    "isotonic": lambda X, y: CalibratedClassifierCV(TAN(), method="isotonic", ensemble=False).fit(X, y).predict_proba(X),
    "vote": lambda X, y: VotingClassifier([("a", NaiveBayes()), ("b", TAN())], voting="soft").fit(X, y).predict_proba(X),
    "stack": lambda X, y: StackingClassifier([("a", NaiveBayes())], NaiveBayes(), cv=3).fit(X, y).predict_proba(X),
    "shuffle": lambda X, y: NaiveBayes().fit(*shuffle(X, y, random_state=0)).predict_proba(X),
}


@pytest.mark.parametrize("work", WORK)
def test_scikit_learn_treats_tables_as_frames(work: str, tmp_path: Path) -> None:
    table, frame = patients(tmp_path / "patients.csv")
    ours = WORK[work](table.without("diagnosis"), table["diagnosis"])
    theirs = WORK[work](frame.drop(columns="diagnosis"), frame["diagnosis"])
    np.testing.assert_array_equal(ours, theirs)


def test_frames_made_of_a_table_are_the_table(tmp_path: Path) -> None:
    table, _ = patients(tmp_path / "patients.csv")
    expected = NaiveBayes().fit(table.without("diagnosis"), table["diagnosis"]).predict_proba(table)
    for frame in (pd.DataFrame(table.to_dict()), pl.DataFrame(table.to_dict())):
        features = frame[["age", "sex", "ward", "weight"]]
        np.testing.assert_array_equal(NaiveBayes().fit(features, frame["diagnosis"]).predict_proba(frame), expected)


def test_the_type_of_a_column_is_known_to_scikit_learn() -> None:
    assert type_of_target(Column("y", np.array([0, 1, 2]), ("a", "b", "c"))) == "multiclass"
    assert type_of_target(Column("y", np.array([0, 1, 0]), (True, False))) == "binary"
    assert type_of_target(Column("y", np.array([0.5, 1.5]))) == "continuous"


def test_rows_are_counted_from_the_start_of_the_source() -> None:
    table = Table((Column("a", np.arange(5)), Column("b", np.arange(5))), source="f.parquet", first=10)
    assert table.place(0) == "f.parquet, row 11"
    for cut in (table[["a"]], table.without("a"), table.renamed(["c", "d"])):
        assert cut.place(2) == "f.parquet, row 13"
    assert table[2:].place(0) == table[2:4][0:].place(0) == table[-3:].place(0) == "f.parquet, row 13"
    assert table[1:][1:].place(0) == "f.parquet, row 13"
    assert (table[::2].first, table[np.array([3, 1])].first) == (0, 0)
