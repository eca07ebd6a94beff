from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from naivete.classifiers.augmented import KDB, NaiveBayes
from naivete.classifiers.baselines import Lookup
from naivete.classifiers.predictions import PredictionSummary, can_be_impossible, convert_to_states, kinds_to_read, predict_tables
from naivete.classifiers.specification import classifier_of
from naivete.data.table import Column, Table
from naivete.errors import DataError, MissingColumnWarning
from naivete.variables import Variable


def table(rows: int = 6, **more: object) -> Table:
    return Table((Column("x", np.arange(rows) % 2, ("a", "b")), Column("y", np.arange(rows) % 3, ("p", "q", "r"))), **more)  # type: ignore[arg-type]


LABELS = ["no", "yes", "no", "yes", "yes", "no"]


def parts(whole: Table, rows: int) -> Iterator[Table]:
    return (whole.take(slice(at, at + rows)) for at in range(0, len(whole), rows))


def values(tables: Iterator[Table]) -> dict[object, list[object]]:
    found: dict[object, list[object]] = {}
    for one in tables:
        for column in one.columns:
            found.setdefault(column.name, []).extend(column)
    return found


@pytest.mark.parametrize("rows", [1, 2, 4, 6, 7])
@pytest.mark.parametrize("append", [False, True])
def test_tables_of_any_size_have_the_same_answers(rows: int, append: bool) -> None:
    model = KDB(k=1).fit(table(), LABELS)
    whole = values(predict_tables(model, [table()], append=append))
    assert values(predict_tables(model, parts(table(), rows), append=append)) == whole
    assert list(whole) == [*(("x", "y") if append else ()), "predicted", "P(no)", "P(yes)"]


def test_no_tables_have_no_answers() -> None:
    assert list(predict_tables(NaiveBayes().fit(table(), LABELS), [])) == []


def test_two_tables_at_most_are_alive() -> None:
    model = NaiveBayes().fit(table(), LABELS)
    alive: list[weakref.ref[Table]] = []

    def given() -> Iterator[Table]:
        for _ in range(6):
            one = table()
            alive.append(weakref.ref(one))
            yield one
            del one
            assert sum(ref() is not None for ref in alive) <= 2

    for _ in predict_tables(model, given()):
        pass
    assert len(alive) == 6


@pytest.mark.parametrize(("model", "can"), [(NaiveBayes(), False), (NaiveBayes(smoothing=0), True), (Lookup(), False)])
def test_whether_rows_can_be_impossible(model: NaiveBayes, can: bool) -> None:
    assert can_be_impossible(model.fit(table(), ["no", "yes"] * 3)) == can


def test_sparse_tables_can_be_impossible() -> None:
    wide = Table(tuple(Column(f"x{i}", np.arange(40) * (i + 7) % 40, tuple(map(str, range(40)))) for i in range(5)))
    for smoothing, can in ((0, True), (1, False)):
        model = KDB(k=4, smoothing=smoothing).fit(wide, np.arange(40) % 2)
        assert can_be_impossible(model) == can


def test_all_tables_have_the_column_impossible_or_none() -> None:
    model = NaiveBayes(smoothing=0).fit(table(2), ["no", "yes"])
    strange = Table((Column("x", np.array([0, 0, 0]), ("a",)), Column("y", np.array([0, 0, 1]), ("p", "q"))))
    summary = PredictionSummary()
    found = list(predict_tables(model, parts(strange, 1), summary=summary))
    assert [list(one["impossible"]) for one in found] == [[0], [0], [1]]
    assert (summary.rows, summary.impossible, summary.first_impossible) == (3, 1, 3)
    (one,) = predict_tables(model, [strange])
    assert list(one["impossible"]) == [0, 0, 1]
    (none,) = predict_tables(model, [strange.take(slice(2))])
    assert "impossible" not in none.names


@pytest.mark.parametrize("rows", [1, 4, 6])
def test_the_accuracy_of_all_rows(rows: int) -> None:
    model = NaiveBayes().fit(table(), Column("c", np.array([0, 1, 0, 1, 1, 0]), ("no", "yes")))
    given = Table((*table().columns, Column("c", np.array([0, 1, -1, 1, 1, 0]), ("no", "yes"))))
    summary = PredictionSummary()
    found = values(predict_tables(model, parts(given, rows), summary=summary))
    assert (summary.labelled, summary.unknown_label) == (5, None)
    assert summary.right == sum(a == b for a, b in zip(found["predicted"], given["c"], strict=True))


def test_a_label_that_is_no_class() -> None:
    model = NaiveBayes().fit(table(), Column("c", np.array([0, 1, 0, 1, 1, 0]), ("no", "yes")))
    given = Table((*table().columns, Column("c", np.array([0, 1, 0, 2, 1, 3]), ("no", "yes", "perhaps", "never"))))
    summary = PredictionSummary()
    list(predict_tables(model, parts(given, 2), summary=summary))
    assert summary.unknown_label == "perhaps"


def test_values_that_training_did_not_have_are_told_once() -> None:
    model = NaiveBayes().fit(table(), LABELS)
    strange = Table((Column("x", np.arange(6) % 3, ("a", "b", "z")), table()["y"]))
    summary = PredictionSummary()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        list(predict_tables(model, parts(strange, 1), summary=summary))
    assert len(heard) == 1
    assert summary.unseen_tables == 2


def test_names_that_are_taken() -> None:
    model = NaiveBayes().fit(table().renamed(["predicted", "P(no)"]), LABELS)
    (found,) = predict_tables(model, [table().renamed(["predicted", "P(no)"])], append=True)
    assert found.names == ("predicted", "P(no)", "predicted_", "P(no)_", "P(yes)")


def test_texts_meet_numbers_and_truth_values() -> None:
    variables = [Variable("n", (1, 2)), Variable("b", (False, True)), Variable("t", ("1", "x"))]
    given = Table(
        (
            Column("n", np.array([0, 1, 2]), ("1", "2.0", "x")),
            Column("b", np.array([0, 1, 0]), ("True", "False")),
            Column("t", np.array([0, 1, 0]), ("1", "x")),
        )
    )
    assert [list(column) for column in convert_to_states(given, variables).columns] == [
        [1, 2, "x"],
        [True, False, True],
        ["1", "x", "1"],
    ]


def test_how_text_is_read() -> None:
    variables = [Variable("n", (1, 2)), Variable("t", ("1", "x")), Variable("q", cuts=(0.5,)), Variable(3, ("a",))]
    assert kinds_to_read(variables) == {"t": "nominal", "q": "numeric"}


@pytest.mark.parametrize("word", ["nb", "kdb:k=2", "hc", "c45", "recursive"])
def test_a_missing_column_has_missing_values(word: str) -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 80)
    frame = pd.DataFrame({f"x{i}": np.array(list("abc"))[(label + rng.integers(0, 2, 80)) % 3] for i in range(3)})
    frame["number"] = label + rng.normal(size=80)
    fitted = classifier_of(word).fit(frame, label)
    for gone in (["x1"], ["number", "x0"]):
        with pytest.warns(MissingColumnWarning, match=f"columns seen in training are missing: .*{gone[0]!r}.* treated as missing"):
            posterior = fitted.predict_proba(frame.drop(columns=gone))
        assert np.array_equal(posterior, fitted.predict_proba(frame.assign(**dict.fromkeys(gone))))
    with pytest.raises(DataError, match="columns seen in training are missing"):
        fitted.posteriors(frame.drop(columns="x1"), unseen="error")
    with pytest.raises(DataError, match="columns seen in training are missing"):
        fitted.predict(pd.DataFrame({"other": [1, 2]}))
