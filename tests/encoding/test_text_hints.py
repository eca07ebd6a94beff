"""Text columns that perhaps hold numbers or signs of missing values are used, and a warning names them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import NaiveBayes, UnsuitableColumnWarning
from naivete.data.table import Column, Table
from naivete.encoding.encoder import Encoder
from naivete.evaluation import cross_validate
from tests.encoding.test_unsuitable_columns import column, value_counts

N = 400
RNG = np.random.default_rng(0)


def hint_of(values: Any, *, declared: bool = False, encoder: Encoder | None = None, weight: Any = None) -> str | None:
    text = column(values)
    if declared:
        text = Column(text.name, text.values, text.states, "nominal", declared=True)
    counts = value_counts(text, weight=weight)
    hints = (encoder or Encoder()).text_hints(counts)
    return hints[text.name].reason if hints else None


def percent(count: int = 60) -> list[str]:
    return [f"{i % count}%" for i in range(N)]


def with_sign(sign: str, others: list[str], share: int = 10) -> list[str]:
    """The others, with the sign in one of `share` rows."""
    return [others[i % len(others)] if i % share else sign for i in range(N)]


WORDS = ["clerk", "cook", "driver"]


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (percent(), "numbers as text, such as '0%'"),
        ([f"${i % 60:,}.50" for i in range(N)], "numbers as text, such as '$0.50'"),
        (with_sign("?", WORDS), "'?' in 10 % of the rows"),
        (["?" if i % 10 else "clerk" for i in range(N)], "'?' in 90 % of the rows"),
        (with_sign("N/A", WORDS, 100), "'N/A' in 1 % of the rows"),
        (with_sign("NA", WORDS), "'NA' in 10 % of the rows"),
        (with_sign("null", WORDS), "'null' in 10 % of the rows"),
        (with_sign("nan", ["?", "clerk", "cook"], 10), "'?' and 'nan' in 40 % of the rows"),
        (with_sign("-", WORDS), "'-' in 10 % of the rows"),
        (with_sign("?", [str(i) for i in range(40)]), "'?' in 10 % of the rows; all other values are numbers"),
        (with_sign("?", percent()), "numbers as text, such as '1%'; '?' in 10 % of the rows"),
        (with_sign("NA", ["DE", "FR"]), None),  # codes of countries
        (with_sign("-", ["+"]), None),
        (percent(20), None),  # a few levels
        ([f"{i % 60:05}" for i in range(N)], None),
        (WORDS * 40, None),
        (["?"] * N, None),
        (with_sign("?", WORDS)[:40], None),
        (RNG.integers(0, 100, N), None),
        (RNG.normal(size=N), None),
    ],
    ids=lambda value: str(value)[:25],
)
def test_the_hint_at_a_column(values: Any, hint: str | None) -> None:
    assert hint_of(values) == hint


def test_what_is_declared_or_kept_is_meant_so() -> None:
    assert hint_of(percent(), declared=True) is None
    assert hint_of(with_sign("None", WORDS), declared=True) is None
    assert hint_of(with_sign("?", WORDS), declared=True) == "'?' in 10 % of the rows"
    for encoder in (Encoder(keep=("column",)), Encoder(keep=True), Encoder(kinds="nominal"), Encoder(kinds={"column": "nominal"})):
        assert hint_of(percent(), encoder=encoder) is None


def test_shares_of_weights() -> None:
    values = [*with_sign("?", WORDS), None]
    for weight in (np.full(N + 1, 2.0), np.full(N + 1, 0.1)):
        assert (
            hint_of(values, weight=weight) == "'?' in 9.98 % of the rows"
            or hint_of(values, weight=weight) == "'?' in 10 % of the rows"
        )
    assert hint_of(values, weight=np.where(np.array(values) == "?", 9.0, 1.0)) == "'?' in 49.9 % of the rows"


def test_one_warning_with_what_can_be_done() -> None:
    frame = pd.DataFrame(
        {"share": percent(), "job": with_sign("?", WORDS), "id": [f"C{i}" for i in range(N)], "sex": ["f", "m"] * (N // 2)}
    )
    y = RNG.integers(0, 2, N)
    with pytest.warns(UnsuitableColumnWarning) as caught:
        model = NaiveBayes().fit(frame, y)
    (message,) = (str(warning.message) for warning in caught)
    assert message.startswith("columns left out, since new rows have other values: 'id' (")
    assert message.endswith(
        "; columns to check: 'share' (numbers as text, such as '0%'), 'job' ('?' in 10 % of the rows); convert numbers as text to "
        "numbers: as text they are values without an order (to use them so: `keep=('share',)`); '?' counts as a value: if missing "
        "values are meant, replace it by None, or read CSV files with `missing=('', '?')`"
    )
    assert [variable.left_out for variable in model.schema_] == [False, False, True, False]
    with pytest.warns(UnsuitableColumnWarning, match="'share' \\(numbers as text") as caught:
        cross_validate({"nb": NaiveBayes()}, (frame, y), folds=3)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NaiveBayes().fit(frame[["sex"]], y)


def test_a_column_that_is_left_out_gets_no_hint() -> None:
    with pytest.warns(UnsuitableColumnWarning) as caught:
        Encoder().schema(value_counts(column([f"{i},5%" for i in range(N)])))
    assert "columns to check" not in str(caught[0].message)


def test_tables_of_any_source(tmp_path: Any) -> None:
    from naivete import read

    frame = pd.DataFrame({"job": with_sign("?", WORDS), "y": [0, 1] * (N // 2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for cases in (tmp_path / "t.csv", tmp_path / "t.parquet", frame):
        with pytest.warns(UnsuitableColumnWarning, match="'job' \\('\\?' in 10 % of the rows\\)"):
            NaiveBayes().fit_cases(cases, "y")
    assert isinstance(read(tmp_path / "t.csv"), Table)
