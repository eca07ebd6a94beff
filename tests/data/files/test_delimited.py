"""Delimited text: what becomes a number, what stays text, and how records are cut."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.data.files import Limits, opening, read, read_csv
from naivete.data.table import Column
from naivete.errors import DataError, MixedColumnWarning, NaiveteWarning, ParameterError


def column_of(tmp_path: Path, cells: list[str], **options: object) -> Column:
    path = tmp_path / "f.csv"
    path.write_bytes("\n".join(["x,y", *(f"{cell},1" for cell in cells), ""]).encode())
    return read_csv(path, **options)["x"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        (["1", "-2", "0"], np.int64),
        (["9007199254740992"], np.int64),
        (["1", "", "3"], np.float64),
        (["", ""], np.float64),
        (["1.5", "2"], np.float64),
        (["1e5", "-0.25", ".5", "5."], np.float64),
        (["1.0"], np.float64),
        ([" 1", "2 "], np.int64),
        (['"1"', "2"], np.int64),
        (['"1.5"', '""'], np.float64),
    ],
    ids=lambda value: f"D12-{value}",
)
def test_numbers(tmp_path: Path, cells: list[str], dtype: type) -> None:
    column = column_of(tmp_path, cells)
    assert column.states is None
    assert column.kind is None
    assert column.values.dtype == dtype
    expected = [None if not cell.strip('"') else float(cell.strip('"')) for cell in cells]
    assert list(column) == expected


@pytest.mark.parametrize(
    "cells",
    [
        ["01", "1"],
        ["-01"],
        ["1", "1.0", "x"],
        ["+1"],
        ["1_0"],
        ["True", "true"],
        ["NA", "None", "nan", "null", "?"],
        ["1e999"],
        ["inf"],
        ["9007199254740993"],
        ["9" * 400],
        ["1.5", "100000000000000000000"],
        ["٣"],
    ],
    ids=lambda cells: f"D12-{cells[0][:20]}",
)
def test_text_stays_verbatim(tmp_path: Path, cells: list[str]) -> None:
    column = column_of(tmp_path, cells)
    assert column.kind == "nominal"
    assert not column.declared
    assert list(column) == cells


@pytest.mark.parametrize("quote", ["", '"'])
def test_text_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quote: str) -> None:
    """D12: the texts that looked like numbers come back as they were."""
    monkeypatch.setattr(opening, "_CHUNK", 7)
    cells = ["1.0", "1", "1e5", "", "007", "2"]
    column = column_of(tmp_path, [f"{quote}{cell}{quote}" for cell in cells])
    assert list(column) == ["1.0", "1", "1e5", None, "007", "2"]


def test_missing_tokens(tmp_path: Path) -> None:
    """D11: only what is configured is missing, also where it looks like a number."""
    assert list(column_of(tmp_path, ["NA", "1", "-9", '"NA"'], missing=("NA", "-9"))) == [None, 1.0, None, None]
    assert list(column_of(tmp_path, ["NA", ""], missing=())) == ["NA", ""]


def test_kinds(tmp_path: Path) -> None:
    column = column_of(tmp_path, ["1", "2.0", ""], kinds={"x": "nominal"})
    assert (column.kind, list(column)) == ("nominal", ["1", "2.0", None])
    column = column_of(tmp_path, ["1", "2", ""], kinds={"x": "numeric"})
    assert (column.kind, column.values.dtype, list(column)) == ("numeric", np.float64, [1.0, 2.0, None])


NUMBERS = [str(i / 4) for i in range(19)]


@pytest.mark.parametrize(
    ("strange", "message"),
    [
        (["NA"], "f.csv:21: column 'x': 19 of 20 values are numbers but 'NA' is not, so the column is taken as text; "
         "pass `missing=('', 'NA')` or `kinds={'x': 'numeric'}`"),
        (["?"], "pass `missing=('', '?')`"),
        (["nan"], "but 'nan' is not"),
        (["inf"], "but 'inf' is not"),
        (["NA", "?"], "19 of 21 values are numbers but 'NA' and '?' are not"),
        (['"1,5"'], "but '1,5' is not, so the column is taken as text; correct it, or pass `kinds="),
        (["1e999"], "correct it, or pass `kinds={'x': 'numeric'}` to have such values refused"),
        (["NA", "", "NA"], "f.csv:21: column 'x': 19 of 21 values are numbers but 'NA' is not"),
        (["?"] * 19, "19 of 38 values are numbers but '?' is not"),
        (["N/A"] * 5 + ["none"] * 2, "19 of 26 values are numbers but 'N/A' and 'none' are not"),
    ],
)  # fmt: skip
def test_a_column_that_is_nearly_numeric_is_reported(tmp_path: Path, strange: list[str], message: str) -> None:
    """D11: it stays text all the same."""
    with pytest.warns(NaiveteWarning) as warned:
        column = column_of(tmp_path, [*NUMBERS, *strange])
    assert column.kind == "nominal"
    assert [Path(warning.filename).name for warning in warned] == ["test_delimited.py"]
    assert message in str(warned[0].message)
    assert isinstance(warned[0].message, MixedColumnWarning)
    assert warned[0].message.column == "x"


def test_many_texts_among_numbers(tmp_path: Path) -> None:
    with pytest.warns(NaiveteWarning, match="95 of 100 values are numbers but 'a', 'b', 'c' and 2 others are not.*; correct them"):
        column_of(tmp_path, ["1.5"] * 95 + list("abcde"))


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["1"] * 8 + ["NA"], {}),
        (["1"] * 17 + ["few"] * 2, {}),
        (["1"] * 19 + ["NA"] * 20, {}),
        (["1"] * 17 + ["NA"] + ["few"] * 2, {}),
        (["12345"] * 40 + ["01234"], {}),
        (["12345"] * 40 + ["NA", "01234"], {}),
        (["1"] * 40 + ["9" * 20], {}),
        (["1"] * 40 + ["NA"], {"missing": ("NA",)}),
        (["1"] * 40 + ["NA"], {"kinds": {"x": "nominal"}}),
        (["NA"] * 40, {}),
        ([""] * 40 + ["NA"], {}),
    ],
)
def test_columns_without_a_warning(tmp_path: Path, cells: list[str], options: dict[str, object]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column_of(tmp_path, cells, **options)


@pytest.mark.parametrize("value", ["1e999", "inf", "nan", "x", "01"], ids=lambda value: f"D15-{value}")
def test_declared_numeric(tmp_path: Path, value: str) -> None:
    with pytest.raises(DataError, match=rf"f\.csv:4: column 'x': value '{value}' is not a finite number"):
        column_of(tmp_path, ["1", "", value], kinds={"x": "numeric"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"xx": "nominal"}}, "has no column 'xx'"),
        ({"kinds": {"x": "ordinal"}}, "'nominal' or 'numeric', not 'ordinal'"),
        ({"delimiter": ""}, "delimiter=''"),
        ({"delimiter": ",,"}, "one character"),
        ({"delimiter": '"'}, "not a quote"),
        ({"missing": "NA"}, "collection of texts"),
        ({"missing": (1,)}, "collection of texts"),
    ],
)
def test_parameters(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        column_of(tmp_path, ["1"], **options)


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("f.csv", "a;b,c;d\n", ("a", "b,c", "d")),
        ("f.csv", '"a,b,c";d\n', ("a,b,c", "d")),
        ("f.csv", "a|b\n", ("a", "b")),
        ("f.csv", "a;b,c\n", ("a;b", "c")),
        ("f.csv", "a\tb\n", ("a", "b")),
        ("f.csv", "a\n", ("a",)),
        ("f.tsv", "a,b,c\td\n", ("a,b,c", "d")),
        ("f.txt", "a;b\r", ("a", "b")),
        ("f.csv", ",b\n", ("", "b")),
    ],
)
def test_delimiters(tmp_path: Path, name: str, text: str, names: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert read(path).names == names


def test_delimiter_parameter(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_bytes(b"a:b,c\n")
    assert read(path, delimiter=":").names == ("a", "b,c")
    assert read(path, format="csv").names == ("a:b,c",)
    assert read(tmp_path / "f.tsv", format="tsv").names == ("a:b,c",)


def test_lines_of_records(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b'a,b\r\n"1\r\n2",x\r\n3,"y""z"\r\n\r\n')
    table = read_csv(path)
    assert [list(column) for column in table.columns] == [["1\r\n2", "3"], ["x", 'y"z']]
    assert table.lines is not None
    assert table.lines.tolist() == [2, 4]
    assert table.place(1) == f"{path}:4"


def test_quotes_in_the_middle_are_characters(tmp_path: Path) -> None:
    assert list(column_of(tmp_path, ['5" pipe', 'a"b"'])) == ['5" pipe', 'a"b"']


TEXT = st.text(alphabet='ab",;\n\r 1.', max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6),
    form=st.sampled_from([(csv.QUOTE_ALL, "\n"), (csv.QUOTE_ALL, "\r\n"), (csv.QUOTE_MINIMAL, "\r\n")]),
    size=st.integers(1, 40),
)
def test_agrees_with_the_csv_module(tmp_path: Path, rows: list[tuple[str, ...]], form: tuple[int, str], size: int) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=form[0], lineterminator=form[1])  # type: ignore[arg-type]
    writer.writerows([("x", "y", "z"), *rows])
    path = tmp_path / "f.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening, "_CHUNK", size)
        table = read_csv(path, missing=(), kinds=dict.fromkeys("xyz", "nominal"), limits=Limits())
    assert list(zip(*table.columns, strict=True)) == rows
