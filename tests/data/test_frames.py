"""One table, whatever the caller's container."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from scipy import sparse

from naivete.data.frames import as_array, is_frame, table_of
from naivete.data.labels import class_labels
from naivete.data.table import Table
from naivete.errors import DataError, DataTypeError
from tests.strategies import frames


def content(table: Table) -> dict[Any, list[Any]]:
    return {column.name: list(column) for column in table.columns}


@given(frames())
@settings(deadline=None, max_examples=40)
def test_every_container_gives_the_same_values(drawn: tuple[dict[str, list[Any]], list[str]]) -> None:
    columns, _ = drawn
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    expected = list(columns.values())
    objects = np.empty((len(rows), len(columns)), object)
    for i, row in enumerate(rows):
        objects[i] = row
    containers = [
        rows,
        tuple(map(tuple, rows)),
        objects,
        pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()}),
        pd.DataFrame(columns).convert_dtypes(),
        pl.DataFrame(columns),
        pa.table(columns),
    ]
    for container in containers:
        converted = list(content(table_of(container)).values())
        assert converted == expected
        same = [[type(v) is bool for v in column] for column in converted]
        assert same == [[type(v) is bool for v in column] for column in expected]


def test_names_come_from_frames_and_are_made_up_for_arrays() -> None:
    assert table_of(pd.DataFrame({"a": [1], 0: [2], None: [3]})).names == ("a", 0, None)
    assert table_of([[1, 2]]).names == ("x0", "x1")
    table = Table(())
    assert table_of(table) is table
    assert [is_frame(x) for x in (table, pd.DataFrame(), [[1]], np.ones((1, 1)), "text", None)] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_numbers_are_not_copied() -> None:
    values = np.arange(6.0).reshape(3, 2)
    values.setflags(write=False)
    assert all(np.shares_memory(column.values, values) for column in table_of(values).columns)


def test_only_the_selected_columns_are_checked() -> None:
    frame = pd.DataFrame({"a": [1, 2], "when": pd.to_datetime(["2020-01-01", "2020-01-02"])})
    assert table_of(frame, only={"a"}).names == ("a",)
    with pytest.raises(DataTypeError, match=r"column 'when' holds Datetime.*days since"):
        table_of(frame)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["a", None, np.nan, pd.NA, pd.NaT, ""], ["a"] + [None] * 5, id="text"),
        pytest.param([1, None, 2.5, pd.NA, pd.NaT, np.nan], [1.0, None, 2.5, None, None, None], id="numbers"),
        pytest.param([True, None, np.bool_(False), np.nan], [True, None, False, None], id="booleans"),
        pytest.param([1, "1", True, 1.0, None], [1, "1", True, 1, None], id="mixed"),
        pytest.param([np.str_("a"), np.int64(3), np.float32(0.5)], ["a", 3, 0.5], id="numpy scalars"),
        pytest.param([None, None], [None, None], id="nothing"),
    ],
)
def test_missing_is_missing_and_types_are_kept(values: list[Any], expected: list[Any]) -> None:
    for container in (np.array([[v] for v in values], object), [[v] for v in values]):
        (column,) = table_of(container).columns
        assert list(column) == expected
        assert [type(v) for v in column] == [type(v) for v in expected]


def test_one_and_true_and_text_are_three_states() -> None:
    (column,) = table_of([[1], [1.0], [True], ["1"]]).columns
    assert column.states == (1, True, "1")
    assert column.values.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("value", "error", "hint"),
    [
        (Decimal("1.5"), DataTypeError, "Decimal"),
        (Fraction(1, 2), DataTypeError, "Fraction"),
        (b"bytes", DataTypeError, "bytes"),
        ({"a": 1}, DataTypeError, "dict"),
        ([1, 2], DataTypeError, "list"),
        (1j, DataTypeError, "complex"),
        (date(2020, 1, 1), DataTypeError, "turn dates into numbers"),
        (datetime(2020, 1, 1), DataTypeError, "turn dates into numbers"),
        (np.datetime64("2020-01-01"), DataTypeError, "turn dates into numbers"),
        (float("inf"), DataError, "infinity"),
        (10**400, DataError, "beyond 2\\*\\*53"),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, (str, type)) else None,
)
def test_cells_that_are_no_values_are_refused_with_column_and_row(value: Any, error: type[Exception], hint: str) -> None:
    cells = np.empty((3, 2), object)
    cells[:] = [[1, 2], [3, 4], [5, 6]]
    cells[1, 1] = value
    frame = pd.DataFrame({"x0": [1, 2, 3], "x1": pd.Series([2, value, 6], dtype=object)})
    for container in (cells, frame):
        with pytest.raises(error, match=rf"X: column 'x1', row 2: .*{hint}"):
            table_of(container)


def test_integers_that_floats_cannot_hold_stay_exact() -> None:
    for values, states in (([2, 2**53 + 1, -(2**62) - 1], None), ([2, None, 2**53 + 1], (2, 2**53 + 1))):
        records = [{"a": value} for value in values]
        for container in (
            records,
            np.array([[value] for value in values], object),
            pd.DataFrame({"a": pd.Series(values, dtype=object)}),
        ):
            (column,) = table_of(container).columns
            assert [*column] == values
            assert column.states == states
    with pytest.raises(DataError, match="row 2: 9007199254740993 is beyond 2\\*\\*53"):
        table_of([{"a": 1.5}, {"a": 2**53 + 1}])


def test_infinity_is_refused_everywhere() -> None:
    cells = np.array([[1.0, 2.0], [3.0, -np.inf]])
    mixed = [["a", 1], ["b", float("inf")]]
    for container in (
        cells,
        pd.DataFrame(cells, columns=["x0", "x1"]),
        pl.DataFrame({"x0": [1, 2], "x1": [1.0, np.inf]}),
        mixed,
        sparse.csr_array(cells),
    ):
        with pytest.raises(DataError, match=r"column 'x1', row 2: -?inf is infinity"):
            table_of(container)
    with pytest.raises(DataError, match="column 'x0', row 2: inf is infinity"):
        table_of([["a"], [float("inf")]])


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]", complex, "S3"])
def test_arrays_of_other_types_are_refused(dtype: Any) -> None:
    with pytest.raises(DataTypeError, match="column 'x0' holds"):
        table_of(np.zeros((2, 1), dtype))


class Unexchangeable(list[str]):
    """Labels of a library whose DLPack method refuses its arrays of text, as that of pyarrow 25 does."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__("abab")
        self.error = error

    def __dlpack_device__(self) -> tuple[int, int]:
        raise self.error("DataType is not compatible with DLPack spec: string")


@pytest.mark.parametrize("error", [BufferError, TypeError, ValueError])
def test_labels_that_dlpack_cannot_exchange_are_in_ordinary_memory(error: type[Exception]) -> None:
    assert class_labels(Unexchangeable(error), 4).tolist() == list("abab")


def test_shapes_that_are_no_tables_are_refused() -> None:
    for container in (np.zeros(3), np.zeros((1, 1, 1)), [1, 2]):
        with pytest.raises(DataError, match="2 dimensions"):
            table_of(container)
    with pytest.raises(DataError, match="rows differ in length"):
        as_array([[1, 2], [3]])


def test_duplicate_names_are_refused_with_their_positions() -> None:
    for frame in (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), pa.table([[1], [2], [3]], names=["a", "b", "a"])):
        assert is_frame(frame)
        with pytest.raises(DataError, match="X: duplicate column names: 'a' at positions 1, 3"):
            table_of(frame)


def test_names_that_are_no_scalars_are_refused() -> None:
    with pytest.raises(DataTypeError, match=r"named \('a', 'b'\)"):
        table_of(pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])))


CATEGORIES = [
    pd.DataFrame({"a": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"])}),
    pl.DataFrame({"a": pl.Series(["x", None, "y"], dtype=pl.Enum(["z", "y", "x"]))}),
    pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([2, None, 1]), ["z", "y", "x"])}),
]


@pytest.mark.parametrize("frame", CATEGORIES, ids=["pandas", "polars", "pyarrow"])
def test_unused_categories_are_declared_states(frame: Any) -> None:
    (column,) = table_of(frame).columns
    assert column.states == ("z", "y", "x")
    assert column.declared
    assert list(column) == ["x", None, "y"]


def test_categories_of_all_kinds() -> None:
    for values, states in ([[3, None, 1], (5, 3, 1)], [[0.5, None, 1.5], (1.5, 0.5)], [[True, None, False], (True, False)]):
        (column,) = table_of(pd.DataFrame({"a": pd.Categorical(values, categories=states)})).columns
        assert (column.states, list(column)) == (states, values)
    (column,) = table_of(pd.DataFrame({"a": pd.Categorical(["x", "", None], categories=["", "x"])})).columns
    assert (column.states, list(column)) == (("x",), ["x", None, None])
    (column,) = table_of(pl.DataFrame({"a": pl.Series(["q", None, "p"], dtype=pl.Categorical)})).columns
    assert list(column) == ["q", None, "p"]
    with pytest.raises(DataTypeError, match="column 'a' has the category Interval"):
        table_of(pd.DataFrame({"a": pd.cut([1, 2, 3], 2)}))


def test_frames_with_nullable_columns() -> None:
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], "Int64"),
            "b": pd.array([True, None], "boolean"),
            "s": pd.array(["x", None], "string"),
            "f": pd.array([0.5, None], "Float64"),
        }
    )
    assert content(table_of(frame)) == {"i": [1.0, None], "b": [True, None], "s": ["x", None], "f": [0.5, None]}
    assert content(table_of(pl.DataFrame({"b": [True, False], "n": [None, None]}))) == {"b": [True, False], "n": [None, None]}


def test_columns_of_lists_are_refused() -> None:
    with pytest.raises(DataTypeError, match="column 'a' holds List"):
        table_of(pl.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(DataTypeError, match="column 'a' holds"):
        table_of(pl.DataFrame({"a": [Decimal("1.5"), Decimal("2.5")]}))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64, bool])
def test_sparse_matrices_are_read_exactly(dtype: Any) -> None:
    cells = np.array([[0, 1, 0], [3, 0, 7], [0, 0, 0]]).astype(dtype)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.csr_matrix):
        assert [c.values.tolist() for c in table_of(kind(cells)).columns] == cells.T.tolist()
    wide = sparse.csr_array(np.array([[0, 300], [-1, 0.5]]))
    assert [c.values.tolist() for c in table_of(wide).columns] == [[0, -1], [300, 0.5]]
