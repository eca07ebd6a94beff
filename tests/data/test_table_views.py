"""Views of tables, and data frames as tables."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from naivete import NaiveBayes, ParameterError, read, table_of


@pytest.fixture
def frame():
    return pd.DataFrame(
        {"town": ["<north>", None, "south"], "age": [30.5, np.nan, 20.0], "n": [1, 2, 3], "new": [True, False, True]}
    )


def test_head(frame):
    table = table_of(frame)
    assert table.head(2).shape == (2, 4)
    assert table.head().shape == (3, 4)
    with pytest.raises(ParameterError, match="rows=-1"):
        table.head(-1)


def test_to_pandas_and_polars(frame):
    table = table_of(frame)
    pd.testing.assert_frame_equal(table.to_pandas(), frame, check_dtype=False)
    polars = table.to_polars()
    assert polars.columns == list(frame)
    assert polars["town"].to_list() == ["<north>", None, "south"]
    assert polars["age"].to_list() == [30.5, None, 20.0]
    assert polars.equals(pl.DataFrame(table))
    truths = table_of(pd.DataFrame({"new": [True, None, False]})).to_polars()["new"]
    assert (truths.dtype, truths.to_list()) == (pl.Boolean, [True, None, False])


def test_arrow_stream(frame):
    table = table_of(frame)
    arrow = pa.table(table)
    assert arrow.column("town").to_pylist() == ["<north>", None, "south"]
    assert arrow.column("age").to_pylist() == [30.5, None, 20.0]
    assert arrow.column("n").to_pylist() == [1, 2, 3]
    assert pl.DataFrame(table).shape == (3, 4)
    X, y = table_of(frame[["town", "n"]]), ["a", "b", "a"]
    assert (
        NaiveBayes().fit_cases(table_of(frame.assign(y=y)), "y").predict(table).tolist()
        == NaiveBayes().fit(frame, y).predict(frame).tolist()
    )
    assert NaiveBayes().fit(X, y).n_features_in_ == 2


def test_interchange_protocol(frame):
    columns = table_of(frame).__dataframe__()
    assert (columns.num_rows(), list(columns.column_names())) == (3, list(frame))
    assert columns.get_column_by_name("age").null_count == 1


def test_html(frame):
    html = table_of(frame, source="patients")._repr_html_()
    assert html.startswith("<table><caption>patients: 3 rows, 4 columns</caption>")
    assert "&lt;north&gt;" in html
    assert "<td></td>" in html
    wide = table_of(np.zeros((20, 40)))._repr_html_()
    assert (wide.count("<tr>"), wide.count("<th>")) == (11, 31)


def test_read_of_a_frame(frame):
    for native in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        table = read(native, kinds={"n": "nominal"})
        assert table.names == tuple(frame)
        assert table["n"].kind == "nominal"


def test_without_pandas(frame, monkeypatch):
    table = table_of(frame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ParameterError, match="needs pandas; install it"):
        table.to_pandas()
