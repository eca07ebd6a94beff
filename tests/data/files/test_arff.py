"""ARFF corner cases, and that the quick way to cut rows and the careful one agree."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.data.files import opening, read, read_arff
from naivete.data.files.arff_tokens import Malformed, arff_quoted, single, tokens, unquoted
from naivete.data.files.dates import date_reader
from naivete.data.table import Table
from naivete.errors import DataError


def values(table: Table) -> list[list[object]]:
    return [list(column) for column in table.columns]


def table_of(tmp_path: Path, text: str) -> Table:
    path = tmp_path / "f.arff"
    path.write_bytes(text.encode())
    return read_arff(path)


def test_kinds_of_columns(tmp_path: Path) -> None:
    text = "@relation r\n@attribute a {y,x}\n@attribute b INTEGER\n@attribute c string\n@attribute d date\n@data\nx,1,u,1970-01-01T00:00:01\n"
    table = table_of(tmp_path, text)
    assert [(c.kind, c.declared, c.states) for c in table.columns] == [
        ("nominal", True, ("y", "x")),
        ("numeric", False, None),
        ("nominal", False, ("u",)),
        ("numeric", False, None),
    ]
    assert values(table) == [["x"], [1.0], ["u"], [1000.0]]
    assert table["b"].values.dtype == np.float64
    assert table.lines is not None
    assert table.lines.tolist() == [7]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["D9-LF", "D9-CRLF", "D9-CR"])
def test_line_ends(tmp_path: Path, end: str) -> None:
    text = "@relation r\n\n% note\n@attribute a {x,y}\n@data\nx\n\ny\n"
    table = table_of(tmp_path, text.replace("\n", end))
    assert values(table) == [["x", "y"]]
    assert table.lines is not None
    assert table.lines.tolist() == [6, 8]


def test_sparse_rows_and_weights(tmp_path: Path) -> None:
    """D10: what a sparse row leaves out is the first declared value or zero."""
    head = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@data\n"
    table = table_of(tmp_path, head + "{}\n{0 y}, {2}\n{1 3} {0.5}\n{0 ?, 1 ?}\ny,1\n")
    assert values(table) == [["x", "y", "x", None, "y"], [0.0, 0.0, 3.0, None, 1.0]]
    assert table.weight is not None
    assert table.weight.tolist() == [1, 2, 0.5, 1, 1]


def test_only_a_bare_question_mark_is_missing(tmp_path: Path) -> None:
    """D11."""
    table = table_of(tmp_path, "@relation r\n@attribute a string\n@data\n?\n'?'\nNA\nNone\nnan\nnull\n''\n")
    assert values(table) == [[None, "?", "NA", "None", "nan", "null", ""]]


def test_spellings_of_numbers(tmp_path: Path) -> None:
    table = table_of(tmp_path, "@relation r\n@attribute a real\n@data\n1d\n2.F\n'3'\n 4 \n0x1p3\n-.5e1\n ? \n")
    assert values(table) == [[1.0, 2.0, 3.0, 4.0, 8.0, -5.0, None]]


def test_text_after_types_and_data(tmp_path: Path) -> None:
    table = table_of(tmp_path, "@relation r\n@attribute a real [0,1]\n@DATA 5 % five\n6,\n")
    assert values(table) == [[5.0, 6.0]]


def test_empty_declaration(tmp_path: Path) -> None:
    assert values(table_of(tmp_path, "@relation r\n@attribute a {}\n@data\n?\n")) == [[None]]


def test_gzip_is_found_by_content(tmp_path: Path) -> None:
    path = tmp_path / "f.data"
    path.write_bytes(gzip.compress(b"@relation r\n@attribute a {x}\n@data\nx\n"))
    assert values(read(path)) == [["x"]]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_blocks_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, end: str) -> None:
    text = "@relation r\n@attribute a {x,'y z'}\n@attribute 'ü' string\n@data\nx,ä\n'y z','€,😀'\n\n% c\nx,u\n".replace("\n", end)
    whole = table_of(tmp_path, text)
    monkeypatch.setattr(opening, "_CHUNK", size)
    parts = table_of(tmp_path, text)
    assert values(parts) == values(whole) == [["x", "y z", "x"], ["ä", "€,😀", "u"]]
    assert parts.lines is not None
    assert parts.lines.tolist() == [5, 6, 9]


def test_many_blocks_with_new_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that need a wider type in a later block."""
    monkeypatch.setattr("naivete.data.files.opening._CHUNK", 1 << 16)
    count = 80_000
    table = table_of(tmp_path, "@relation r\n@attribute a string\n@data\n" + "".join(f"v{i % 40_000}\n" for i in range(count)))
    assert len(table) == count
    assert list(table.columns[0])[-1] == f"v{(count - 1) % 40_000}"


@given(st.text(alphabet="ab ,'\"\\%{}?\t\n\r\x00nu01E", max_size=12))
def test_quoting(text: str) -> None:
    """What is quoted is one word, and stands for itself."""
    word = arff_quoted(text)
    assert single(word)
    assert unquoted(word) == text
    assert tokens(word) == [word]


@given(st.text(alphabet="ab ,'\"\\%{}?\t", max_size=16))
def test_split_rows_equal_tokenized_rows(line: str) -> None:
    """Where every cell between commas is one word, cutting word by word finds the same words."""
    cells = line.split(",")
    if all(map(single, cells)):
        assert [word for word in tokens(line) if word != ","] == [cell.strip() for cell in cells]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (r"'\101\7z\400'", "A\x07z\x20" + "0"),
        (r"'\\n'", "\\n"),
        (r"'\\\n'", "\\\n"),
        (r"'\a\b\f\v\q'", "\a\b\f\vq"),
        (r"'\u001E\u0041'", "\x1eu0041"),
        (r'"it\'s"', "it's"),
        (r"a\nb", r"a\nb"),
    ],
)
def test_escapes(raw: str, text: str) -> None:
    assert unquoted(raw) == text


def test_comments_end_a_line() -> None:
    assert tokens("a%b") == ["a"]
    with pytest.raises(Malformed):
        tokens("'a")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss", "1970-01-02T00:00:00", 86_400_000),
        ("dd/MMM/yy", "01/Feb/70", 31 * 86_400_000),
        ("dd/MM/yy", "01/01/05", 1_104_537_600_000),
        ("yyyy-MM-dd hh:mm a", "1970-01-01 01:00 PM", 13 * 3_600_000),
        ("EEE yyyy ''HH'h'", "Thu 1970 '5h", 5 * 3_600_000),
        ("HH:mm:ss.SSS", "00:00:01.5", 1005),
        ("yyyy-MM-dd HH:mm Z", "1970-01-01 00:00 -0100", 3_600_000),
        ("yyyy-MM-dd HH:mmX", "1970-01-01 01:00+01:00", 0),
        ("yyyy-MM-dd HH:mmX", "1970-01-01 01:00Z", 3_600_000),
    ],
)
def test_dates(pattern: str, text: str, expected: float) -> None:
    assert date_reader(pattern)(text) == expected


@pytest.mark.parametrize("text", ["01/Foo/1970", "32/Jan/1970", "01/Jan/0", "01/Jan/999999999"])
def test_no_dates(text: str) -> None:
    with pytest.raises(ValueError, match="is not a date"):
        date_reader("dd/MMM/yyyy")(text)


def test_two_time_zones() -> None:
    with pytest.raises(ValueError, match="'X'"):
        date_reader("Z X")


@pytest.mark.parametrize("keyword", [r"'@d\141ta'", "'@data'", '"@DATA"'])
def test_data_in_quotes_is_refused(tmp_path: Path, keyword: str) -> None:
    path = tmp_path / "f.arff"
    path.write_text(f"@relation r\n@attribute a {{x}}\n{keyword}\nx\n")
    with pytest.raises(DataError, match=r"f\.arff:3: @data is in quotes"):
        read_arff(path)
