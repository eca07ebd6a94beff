"""Tables written one after the other: the same file as the whole table would give, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.data.files import read, write, write_stream
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, FileError, NaiveteError, ParameterError
from tests.data.files.test_pieces import QUICK, nominal, tables, values

ENDINGS = ["csv", "tsv", "csv.gz", "parquet"]


@QUICK
@given(table=tables(), ending=st.sampled_from(ENDINGS), cut=st.integers(0, 12))
def test_one_table_or_many(tmp_path: Path, table: Table, ending: str, cut: int) -> None:
    whole, one, two = (tmp_path / f"{name}.{ending}" for name in ("whole", "one", "two"))
    write(table, whole, overwrite=True)
    assert write_stream([table], one, overwrite=True) == len(table)
    assert one.read_bytes() == whole.read_bytes()
    assert write_stream((part for part in (table[:cut], table[cut:])), two, overwrite=True) == len(table)
    assert values([read(two)]) == values([read(whole)])
    if not ending.endswith(("gz", "parquet")):
        assert two.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("declared", [False, True])
def test_states_may_differ(tmp_path: Path, ending: str, declared: bool) -> None:
    parts = [Table((nominal("a", cells, declared=declared),)) for cells in (["x", None], ["z", "y"], [None], ["x"])]
    path = tmp_path / f"f.{ending}"
    assert write_stream(parts, path) == 6
    column = read(path)["a"]
    assert list(column) == ["x", None, "z", "y", None, "x"]
    assert (column.states == ("x", "y", "z")) == (declared and ending == "parquet")


def test_numbers_take_the_type_of_the_first_table(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    write_stream([Table((Column("a", np.array([1.5])),)), Table((Column("a", np.array([2])),))], path)
    assert list(read(path)["a"]) == [1.5, 2.0]


BAD = {
    "none": ([], DataError, "there is no table to write"),
    "names": ([Table((Column("a", np.arange(2)),)), Table((Column("b", np.arange(2)),))], DataError, "a later table has"),
    "weights": ([Table((Column("a", np.arange(1)),), weight=np.ones(1))], DataError, "cannot hold the weights"),
    "columns": ([Table(())], DataError, "needs at least one column"),
}
BAD_PARQUET = {
    "types": ([Table((Column("a", np.array([1])),)), Table((Column("a", np.array([1.5])),))], DataTypeError, "in a later table"),
    "told": (
        [Table((Column("a", np.array([0]), (n,), "nominal", True),)) for n in (1, 2)],
        DataError,
        "column 'a': value 2 is not among those that the first table declares",
    ),
}


@pytest.mark.parametrize(
    ("parts", "error", "message", "ending"),
    [
        *((*BAD[case], ending) for case in BAD for ending in ENDINGS),
        *((*case, "parquet") for case in BAD_PARQUET.values()),
        ([Table((Column("a", np.arange(2)),))], ParameterError, "an ARFF file declares", "arff"),
        ([Table((Column("a", np.arange(2)),))], ParameterError, "the ending of the name is of no known format", "txt"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, parts: list[Table], error: type[NaiveteError], message: str, ending: str) -> None:
    with pytest.raises(error, match=message):
        write_stream(parts, tmp_path / f"f.{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_source_that_fails_leaves_the_old_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"f.{ending}"
    path.write_bytes(b"old")

    def failing() -> Iterator[Table]:
        yield Table((Column("a", np.arange(3)),))
        raise DataError("p.csv:3: bad")

    with pytest.raises(DataError, match=r"p\.csv:3: bad"):
        write_stream(failing(), path, overwrite=True)
    with pytest.raises(FileError, match="exists already"):
        write_stream(failing(), path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])


def test_each_table_is_a_row_group(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "f.parquet"
    write_stream((Table((Column("a", np.arange(3)),)) for _ in range(4)), path)
    assert parquet.ParquetFile(path).metadata.num_row_groups == 4
