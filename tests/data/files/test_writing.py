"""What is written is what was there, or an error: no format changes a name or a value in silence."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.data.files import read, read_arff, read_csv, write, write_arff, write_csv
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, FileError, NaiveteError, ParameterError

NASTY = [
    "a b",
    "a,b",
    "it's",
    'say "x"',
    "{x}",
    "|",
    "<script>",
    "😀",
    "\u202eabc",
    "x" * 10_000,
    "é",
    "e\u0301",
    "\\",
    "%",
    "?",
    "\n",
    "\r",
    "\t",
    " x ",
]
NASTY += ["@data", "=1+1", "\x1b[31m", "\x85", "\u2028", "\x1e", "\ufeffx", "'", '"', "01", "NA", "-"]


def contents(table: Table) -> list[Any]:
    return [(c.name, list(c)) for c in table.columns]


def nominal(name: str, values: list[str | None], *, declared: bool) -> Column:
    states = tuple(dict.fromkeys(v for v in values if v is not None))
    codes = np.array([-1 if v is None else states.index(v) for v in values], dtype=np.int32)
    return Column(name, codes, states, "nominal", declared)


@pytest.mark.parametrize("ending", [".arff", ".csv", ".tsv", ".arff.gz", ".csv.gz", ".parquet"], ids=lambda ending: f"D25{ending}")
def test_nasty_names_and_values(tmp_path: Path, ending: str) -> None:
    columns = [nominal(name, [*NASTY, None], declared=number % 2 == 0) for number, name in enumerate(NASTY)]
    path = tmp_path / f"f{ending}"
    write(Table(tuple(columns)), path)
    assert contents(read(path)) == contents(Table(tuple(columns)))


@pytest.mark.parametrize("ending", [".arff", ".csv", ".tsv"])
def test_one_column_with_missing_values(tmp_path: Path, ending: str) -> None:
    table = Table((nominal("x", [None, "a", None], declared=False),))
    write(table, tmp_path / f"f{ending}")
    assert contents(read(tmp_path / f"f{ending}")) == contents(table)


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=5)
NUMBER = st.one_of(st.just(float("nan")), st.floats(allow_nan=False, allow_infinity=False))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(data=st.data(), rows=st.integers(0, 6), ending=st.sampled_from(["arff", "csv"]), weighted=st.booleans())
def test_round_trip(tmp_path: Path, data: st.DataObject, rows: int, ending: str, weighted: bool) -> None:
    names = data.draw(st.lists(TEXT, min_size=2, max_size=4, unique=True))
    value = TEXT.filter(bool) if ending == "csv" else TEXT
    columns = []
    for name in names:
        if data.draw(st.booleans()):
            columns.append(
                Column(name, np.array(data.draw(st.lists(NUMBER, min_size=rows, max_size=rows)), dtype=float), kind="numeric")
            )
        else:
            values = data.draw(st.lists(st.none() | value, min_size=rows, max_size=rows))
            columns.append(nominal(name, values, declared=ending == "arff" and data.draw(st.booleans())))
    weight = (
        np.array(data.draw(st.lists(st.floats(0, 1e300), min_size=rows, max_size=rows)))
        if weighted and rows and ending == "arff"
        else None
    )
    table = Table(tuple(columns), weight)
    path = tmp_path / f"f.{ending}"
    write(table, path, overwrite=True)
    again = (
        read_arff(path)
        if ending == "arff"
        else read_csv(path, kinds={str(c.name): c.kind or "numeric" for c in columns}, delimiter=",")
    )
    assert contents(again) == contents(table)
    assert [(c.kind, c.declared) for c in again.columns] == [(c.kind, c.declared) for c in columns]
    assert (again.weight is None) == (weight is None)
    assert weight is None or again.weight is None or again.weight.tolist() == weight.tolist()


def test_frames_are_written_like_tables(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sky": ["sun", None], "wind": [5, 7]})
    for table in (frame, frame.to_dict("records")):
        write(table, tmp_path / "a.csv", overwrite=True)
        assert (tmp_path / "a.csv").read_text().splitlines() == ["sky,wind", "sun,5", ",7"]
    with pytest.raises(ParameterError, match="path=5: the name of a file is needed"):
        write(frame, 5)  # type: ignore[arg-type]


def test_exact_text(tmp_path: Path) -> None:
    table = Table(
        (nominal("a b", ["x", None], declared=True), Column("n", np.array([1.0, 0.1]), kind="numeric")), np.array([1.0, 2.5])
    )
    write_arff(table, tmp_path / "f.arff")
    expected = "@relation f\n\n@attribute 'a b' {x}\n@attribute n numeric\n\n@data\nx,1, {1}\n?,0.1, {2.5}\n"
    assert (tmp_path / "f.arff").read_text() == expected
    write_csv(Table(table.columns), tmp_path / "f.csv")
    assert (tmp_path / "f.csv").read_text() == "a b,n\nx,1\n,0.1\n"


def test_whole_numbers_stay_whole_from_csv_to_arff_to_csv(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("n,x\n9,1\n,2.5\n")
    write_arff(read_csv(path), tmp_path / "f.arff")
    write_csv(read_arff(tmp_path / "f.arff"), tmp_path / "g.csv")
    assert (tmp_path / "g.csv").read_text() == "n,x\n9,1\n,2.5\n"


def test_spreadsheet_safe(tmp_path: Path) -> None:
    """C5: cells that a spreadsheet would run get an apostrophe; numbers are left alone."""
    table = Table((nominal("=f", ["=cmd", "+1", "-1", "@x", "\tx", "ok", None], declared=False), Column("n", np.arange(-1, 6))))
    write_csv(table, tmp_path / "f.csv", spreadsheet_safe=True)
    assert (tmp_path / "f.csv").read_text() == "'=f,n\n'=cmd,-1\n'+1,0\n'-1,1\n'@x,2\n'\tx,3\nok,4\n,5\n"


def test_compressed_bytes_are_reproducible(tmp_path: Path) -> None:
    table = Table((Column("n", np.arange(3)),))
    for name in ("a.csv.gz", "b.csv.gz"):
        write(table, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == b"n\n0\n1\n2\n"


def test_missing_text(tmp_path: Path) -> None:
    table = Table((nominal("x", ["", None], declared=False), Column("y", np.arange(2))))
    with pytest.raises(DataError, match="the value '' is the text for missing values"):
        write_csv(table, tmp_path / "f.csv")
    write_csv(table, tmp_path / "f.csv", missing="?")
    assert contents(read_csv(tmp_path / "f.csv", missing=("?",))) == contents(table)


BAD = {
    "infinite": (Table((Column("x", np.array([0, np.inf])),)), DataError, "column 'x', row 2: an infinite value"),
    "wide": (Table((Column("x", np.array([2**60])),)), DataError, "beyond 2 to the power of 53"),
    "objects": (Table((Column("x", np.array([None])),)), DataTypeError, "holds values of type object"),
    "truth": (Table((Column("x", np.array([True])),)), DataTypeError, "the value False is not a text"),
    "integer-state": (Table((Column("x", np.array([0]), (1,)),)), DataTypeError, "column 'x': the value 1 is not a text"),
    "name": (Table((Column(0, np.array([0])),)), DataTypeError, "the name 0 is not a text"),
    "zero-byte": (Table((Column("x", np.array([0]), ("a\0",)),)), DataError, "characters that a text file cannot contain"),
    "surrogate": (Table((Column("\ud800", np.array([0])),)), DataError, "characters that a text file cannot contain"),
    "no-columns": (Table(()), DataError, "needs at least one column"),
}


@pytest.mark.parametrize("ending", [".arff", ".csv"])
@pytest.mark.parametrize(("table", "kind", "message"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_written(tmp_path: Path, table: Table, kind: type[NaiveteError], message: str, ending: str) -> None:
    with pytest.raises(kind, match=message):
        write(table, tmp_path / f"f{ending}")
    assert list(tmp_path.iterdir()) == []


def test_as_text(tmp_path: Path) -> None:
    table = Table((Column(0, np.array([True, False])), Column("0.5", np.array([1, -1]), (1, 2.5))))
    for ending in (".arff", ".csv"):
        write(table, tmp_path / f"f{ending}", as_text=True)
        assert read(tmp_path / f"f{ending}").names == ("0", "0.5")
    assert contents(read(tmp_path / "f.arff")) == [("0", ["True", "False"]), ("0.5", ["2.5", None])]
    with pytest.raises(DataError, match="duplicate"):
        write(Table((Column(0, np.arange(1)), Column("0", np.arange(1)))), tmp_path / "g.csv", as_text=True)


def test_weights(tmp_path: Path) -> None:
    table = Table((Column("x", np.arange(1)),), np.array([-1.0]))
    with pytest.raises(DataError, match="weights have to be finite numbers from 0 up"):
        write(table, tmp_path / "f.arff")
    with pytest.raises(DataError, match="cannot hold the weights"):
        write(table, tmp_path / "f.csv")


def test_overwriting(tmp_path: Path) -> None:
    table = Table((Column("x", np.arange(1)),))
    path = tmp_path / "f.csv"
    write(table, path)
    with pytest.raises(FileError, match="exists already"):
        write(table, path)
    write(table.take(slice(0, 0)), path, overwrite=True)
    assert path.read_text() == "x\n"
    assert list(tmp_path.iterdir()) == [path]


def test_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.csv"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space left"):
        write(Table((Column("x", np.arange(1)),)), path, overwrite=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_formats(tmp_path: Path) -> None:
    table = Table((Column("x", np.arange(2)), Column("y", np.arange(2))))
    with pytest.raises(ParameterError, match="the ending of the name is of no known format"):
        write(table, tmp_path / "f.bin")
    with pytest.raises(ParameterError, match="format='arf' is unknown; use 'arff'"):
        write(table, tmp_path / "f.bin", format="arf")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="unknown; use 'arff' or 'csv'"):
        read(tmp_path / "f.bin", format="xml")  # type: ignore[arg-type]
    write(table, tmp_path / "f.bin", format="tsv")
    assert (tmp_path / "f.bin").read_text() == "x\ty\n0\t0\n1\t1\n"
    assert contents(read(tmp_path / "f.bin")) == contents(table)
    write(table, tmp_path / "g.bin", format="arff")
    assert read(tmp_path / "g.bin")["x"].kind == "numeric"
