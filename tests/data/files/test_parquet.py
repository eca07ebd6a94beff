"""Parquet: values by value, types that are refused, damage that is named."""

from __future__ import annotations

import builtins
import decimal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naivete.data.files import Limits, read, read_parquet, write_parquet
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, FileError, NaiveteError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def written(tmp_path: Path, columns: dict[str, Any], **options: Any) -> Path:
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table(columns), path, **options)
    return path


def test_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "i": pa.array([1, 2, 3], pa.int8()),
            "j": [1, None, 3],
            "u": pa.array([1, 2, 2**64 - 1], pa.uint64()),
            "big": [2**60 + 1, None, 2**60 + 1],
            "x": pa.array([0.5, None, float("nan")], pa.float32()),
            "b": [True, False, True],
            "c": [True, None, False],
            "s": ["NA", None, "01"],
            "l": pa.array(["p", "q", None], pa.large_string()),
            "n": pa.nulls(3),
            "none": pa.array([None] * 3, pa.int64()),
            "a.b": [1, 2, 3],
        },
    )
    table = read(path)
    assert {str(c.name): list(c) for c in table.columns} == {
        "i": [1, 2, 3],
        "j": [1, None, 3],
        "u": [1, 2, 2**64 - 1],
        "big": [2**60 + 1, None, 2**60 + 1],
        "x": [0.5, None, None],
        "b": [True, False, True],
        "c": [True, None, False],
        "s": ["NA", None, "01"],
        "l": ["p", "q", None],
        "n": [None] * 3,
        "none": [None] * 3,
        "a.b": [1, 2, 3],
    }
    assert [table["i"].values.dtype, table["b"].values.dtype] == [np.int64, np.bool_]
    assert (table["s"].kind, table["s"].declared) == ("nominal", False)
    assert table["i"].kind is None


def test_unused_levels_are_declared(tmp_path: Path) -> None:
    """D21: codes are decoded, unused levels stay as states, numbers stay numbers."""
    text = pa.DictionaryArray.from_arrays(pa.array([2, 0, None], pa.int8()), ["a", "b", "c"])
    number = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array([10, 20, 30]))
    table = read(written(tmp_path, {"t": text, "n": number}))
    assert (table["t"].states, list(table["t"]), table["t"].declared, table["t"].kind) == (
        ("a", "b", "c"),
        ["c", "a", None],
        True,
        "nominal",
    )
    assert list(table["n"]) == [20, None, 10]


def test_pandas_categories(tmp_path: Path) -> None:
    """D21: a categorical of pandas."""
    pd = pytest.importorskip("pandas")
    path = tmp_path / "f.parquet"
    pd.DataFrame({"c": pd.Categorical(["v", None], categories=["u", "v"])}).to_parquet(path)
    assert (read(path)["c"].states, list(read(path)["c"])) == (("u", "v"), ["v", None])


def test_dictionaries_differ_between_row_groups(tmp_path: Path) -> None:
    """D20: the order of one dictionary says nothing about the next."""
    path = tmp_path / "f.parquet"
    kind = pa.dictionary(pa.int8(), pa.string())
    with parquet.ParquetWriter(path, pa.schema([("d", kind)])) as writer:
        for levels in (["a", "b"], ["b", "a"], ["c", "a"]):
            writer.write_table(pa.table({"d": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), levels)}))
    assert list(read(path)["d"]) == ["a", "b", "b", "a", "c", "a"]


def test_no_rows(tmp_path: Path) -> None:
    """D2."""
    levels = pa.DictionaryArray.from_arrays(pa.array([], pa.int8()), pa.array([], pa.string()))
    table = read(written(tmp_path, {"a": pa.array([], pa.int64()), "s": pa.array([], pa.string()), "d": levels}))
    assert (len(table), table.names) == (0, ("a", "s", "d"))


REFUSED = {
    "D20-list": pa.array([[1], [2]]),
    "D20-nested": pa.array([{"x": 1}, {"x": 2}]),
    "D20-decimal": pa.array([decimal.Decimal("1.5"), None]),
    "D20-binary": pa.array([b"a", b"b"]),
    "D20-timestamp": pa.array([datetime(2001, 1, 1, tzinfo=UTC), None]),
    "D20-extension": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, b"1" * 16], pa.binary(16))),
    "D20-dictionary-of-binary": pa.array([b"a", b"b"]).dictionary_encode(),
}


@pytest.mark.parametrize("array", REFUSED.values(), ids=REFUSED.keys())
def test_refused_types(tmp_path: Path, array: Any) -> None:
    path = written(tmp_path, {"good": [1, 2], "bad": array})
    with pytest.raises(DataTypeError, match=r"f\.parquet: column 'bad': the .*type .* is not supported"):
        read(path)


def test_timestamp_hint(tmp_path: Path) -> None:
    with pytest.raises(DataTypeError, match="seconds since"):
        read(written(tmp_path, {"t": REFUSED["D20-timestamp"]}))


def test_extension_types_are_not_loaded(tmp_path: Path) -> None:
    """D20: no code of an extension type runs that the caller has not registered with pyarrow."""
    calls = []

    class Loud(pa.ExtensionType):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(pa.int64(), "test.loud")

        def __arrow_ext_serialize__(self) -> bytes:
            return b""

        @classmethod
        def __arrow_ext_deserialize__(cls, storage: object, serialized: bytes) -> Any:
            calls.append(serialized)
            return cls()

    path = written(tmp_path, {"e": pa.ExtensionArray.from_storage(Loud(), pa.array([1, 2]))})
    calls.clear()
    with pytest.raises(DataTypeError, match="extension type"):
        read(path)
    assert calls == []


@pytest.mark.parametrize(
    "states", ["[1", "{}", "[]", '["a"]', "[1, 1]", "[NaN]", "[2]", "[" * 100_000], ids=lambda states: states[:5]
)
def test_hostile_metadata(tmp_path: Path, states: str) -> None:
    """The metadata with the declared states of a numeric column are checked."""
    field = pa.field("n", pa.int64(), metadata={"naivete.states": states})
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.Table.from_arrays([pa.array([1, 2])], schema=pa.schema([field])), path)
    with pytest.raises(DataError, match="column 'n'"):
        read(path)


def test_cut_at_every_byte(tmp_path: Path) -> None:
    """D20: bad footer, truncated page."""
    path = written(tmp_path, {"i": [1, None, 3], "s": ["u", None, "v"]})
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(NaiveteError):
            read(path, format="parquet")


def test_damaged_page_names_the_column(tmp_path: Path) -> None:
    path = written(
        tmp_path, {"i": list(range(100)), "s": [f"text{i}" for i in range(100)]}, compression="none", write_page_checksum=True
    )
    data = path.read_bytes()
    position = data.index(b"text57")
    path.write_bytes(data[:position] + b"X" + data[position + 1 :])
    with pytest.raises(DataError, match=r"f\.parquet: column 's': the Parquet data is damaged"):
        read(path)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = written(tmp_path, {"s": ["text57"]}, compression="none", write_statistics=False)
    path.write_bytes(path.read_bytes().replace(b"text57", b"\xff\xfext57"))
    with pytest.raises(DataError, match="column 's'"):
        read(path)


def test_wrong_row_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D20."""
    path = written(tmp_path, {"i": [1, 2, 3]})
    original = parquet.ParquetFile

    class Lying:
        def __init__(self, *arguments: Any, **options: Any) -> None:
            self.file = original(*arguments, **options)
            self.schema_arrow, self.reader = self.file.schema_arrow, self.file.reader
            self.metadata = type("Metadata", (), {"num_rows": 4})

    monkeypatch.setattr(parquet, "ParquetFile", Lying)
    with pytest.raises(DataError, match="3 rows, expected 4"):
        read(path)


def test_not_parquet(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="this is not a Parquet file"):
        read_parquet(path)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(columns=1), "more than 1 columns"),
        (Limits(cells=3), "more than 3 cells"),
        (Limits(states=1), "column 's': more than 1 distinct"),
    ],
    ids=["D17-columns", "D17-cells", "D17-states"],
)
def test_limits(tmp_path: Path, limits: Limits, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(written(tmp_path, {"i": [1, 2], "s": ["u", "v"]}), limits=limits)


def test_found_by_content(tmp_path: Path) -> None:
    path = written(tmp_path, {"i": [1]})
    assert read(path.rename(tmp_path / "f.csv")).names == ("i",)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, {"i": [1]})
    original = builtins.__import__

    def absent(name: str, *arguments: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(FileError, match=r"pip install naivete\[parquet\]"):
        read(path)


def test_import_does_not_import_pyarrow() -> None:
    import subprocess

    code = "import sys, naivete.data.files; sys.exit('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_round_trip(tmp_path: Path) -> None:
    columns = (
        Column("declared", np.array([0, -1, 2], np.int8), ("b", "a", "unused"), "nominal", True),
        Column("text", np.array([1, 0, -1], np.int8), ("x", "y"), "nominal"),
        Column("number", np.array([1.5, np.nan, -2.0]), kind="numeric"),
        Column("integer", np.array([1, 2**60, 3])),
        Column("truth", np.array([True, False, True])),
        Column("levels", np.array([0, 1, 0]), (10, 20), "nominal", True),
        Column("codes", np.array([0, 1, 0]), kind="nominal"),
        Column("never", np.array([-1, -1, -1]), (), "nominal", True),
        Column("😀 <&>,'\"{}|\n", np.array([0, 1, 2])),
    )
    path = tmp_path / "f.parquet"
    write_parquet(Table(columns), path)
    again = read_parquet(path)
    assert [(c.name, c.kind, c.declared, c.states, list(c)) for c in again.columns] == [
        (c.name, c.kind, c.declared, c.states if c.name != "text" else ("y", "x"), list(c)) for c in columns
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (Table((Column("m", np.array([0, 1]), ("1", 1)),)), "column 'm': the values are not all"),
        (Table((Column(0, np.array([0, 1])),)), "column 0: the name is not a text"),
        (Table((Column("t", np.array(["2001-01-01"], "datetime64[s]")),)), "column 't': the type"),
        (Table((Column("x", np.array([1.0])),), weight=np.ones(1)), "weights"),
        (Table(()), "at least one column"),
    ],
    ids=["mixed", "name", "time", "weights", "no-columns"],
)
def test_what_cannot_be_written(tmp_path: Path, table: Table, message: str) -> None:
    path = tmp_path / "f.parquet"
    with pytest.raises(NaiveteError, match=message):
        write_parquet(table, path)
    assert list(tmp_path.iterdir()) == []
