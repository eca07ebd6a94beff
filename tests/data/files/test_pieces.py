"""Files in pieces: the values of `read`, some rows at a time, and every fault with its place."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete.data.files import Files, KindError, Limits, arrow_tables, opening, pieces, read, row_groups, write
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, FileError, MixedColumnWarning, NaiveteError, NaiveteWarning, ParameterError

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
TEXT = st.text(alphabet="ab,\"'\n 1.%{}", min_size=1, max_size=3)


def values(tables: Iterable[Table]) -> dict[str, list[Any]]:
    by_column: dict[str, list[Any]] = {}
    for table in tables:
        for column in table.columns:
            by_column.setdefault(str(column.name), []).extend(column)
    return by_column


def streamed(files: Files, rows: int, **options: Any) -> list[Table]:
    return [table for piece in files.pieces for table in piece.tables(rows=rows, **options)]


def nominal(name: str, cells: list[str | None], *, declared: bool = False) -> Column:
    states = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
    return Column(name, np.array([-1 if c is None else states.index(c) for c in cells], np.int32), states, "nominal", declared)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 12))

    def cells(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=rows, max_size=rows))

    columns = (
        nominal("t", cells(st.one_of(st.none(), TEXT))),
        Column("i", np.array(cells(st.integers(-9, 9)), np.int64)),
        Column("x", np.array(cells(st.one_of(st.just(np.nan), st.floats(-1e6, 1e6))), np.float64)),
        nominal("d", cells(st.one_of(st.none(), st.sampled_from("uvw"))), declared=True),
    )
    return Table(columns)


def settled(files: Files, rows: int) -> Files:
    """What a caller does: begin again with the columns widened that turned out to be text."""
    while True:
        try:
            streamed(files, rows)
        except KindError as error:
            files = files.widened(error.columns)
        else:
            return files


@QUICK
@given(
    table=tables(),
    ending=st.sampled_from(["csv", "tsv.gz", "arff", "arff.gz", "parquet"]),
    size=st.sampled_from([3, 40, 1 << 20]),
    data=st.data(),
)
def test_a_stream_has_the_values_of_the_whole(tmp_path: Path, table: Table, ending: str, size: int, data: st.DataObject) -> None:
    """O7, D12: whatever the size of the tables and the blocks, and from whatever row on."""
    path = tmp_path / f"f.{ending}"
    write(table, path, overwrite=True)
    rows = data.draw(st.sampled_from([1, 7, len(table), len(table) + 1]))
    skip = data.draw(st.integers(0, len(table) + 1))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", MixedColumnWarning)
        patch.setattr(opening, "_CHUNK", size)
        parts = streamed(settled(pieces(path), rows), rows, skip=skip)
    whole = read(path)
    assert all(0 < len(part) <= rows for part in parts)
    assert values(parts) == (values([whole[skip:]]) if skip < len(table) else {})
    start = skip
    for part in parts:
        assert part.names == whole.names
        assert [part.place(row) for row in range(len(part))] == [whole.place(start + row) for row in range(len(part))]
        assert [(c.kind, c.declared) for c in part.columns] == [(c.kind, c.declared) for c in whole.columns]
        assert [c.states is None for c in part.columns] == [c.states is None for c in whole.columns]
        start += len(part)


@QUICK
@given(
    several=st.lists(tables(), min_size=1, max_size=3), size=st.integers(1, 13), rows=st.sampled_from([1, 7, 40]), data=st.data()
)
def test_parquet_of_several_files_and_row_groups(
    tmp_path: Path, several: list[Table], size: int, rows: int, data: st.DataObject
) -> None:
    for number, table in enumerate(several):
        write(table, tmp_path / "one.parquet", overwrite=True)
        parquet.write_table(parquet.read_table(tmp_path / "one.parquet"), tmp_path / f"f{number}.parquet", row_group_size=size)
    paths = [tmp_path / f"f{number}.parquet" for number in range(len(several))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_groups, "_FEWEST", 4)
        patch.setattr(row_groups, "_MOST", 8)
        files = pieces(paths)
    only = data.draw(st.sets(st.sampled_from(["t", "i", "x", "d"])))
    expected = values(read(path) for path in paths)
    assert files.rows == sum(map(len, several))
    assert files.size == sum(path.stat().st_size for path in paths) == sum(piece.size for piece in files.pieces)
    assert values(streamed(files, rows)) == expected
    narrow = streamed(files, rows, only=only)
    assert values(narrow) == {name: cells for name, cells in expected.items() if name in only}
    assert sum(map(len, narrow)) == files.rows
    for piece in files.pieces:
        assert piece.rows is not None
        skip = data.draw(st.integers(0, piece.rows + 1))
        whole, rest = values(piece.tables(rows=99)), values(piece.tables(rows=rows, skip=skip))
        assert rest == ({name: cells[skip:] for name, cells in whole.items()} if skip < piece.rows else {})


ARROW = {
    "i": pa.array([1, 2, 3, 4], pa.int8()),
    "j": [1, None, 3, None],
    "u": pa.array([1, 2, 2**64 - 1, 0], pa.uint64()),
    "big": [2**60 + 1, None, 2**60 + 1, 5],
    "x": pa.array([0.5, None, float("nan"), 1], pa.float32()),
    "b": [True, False, True, False],
    "c": [True, None, False, True],
    "s": ["NA", None, "01", "NA"],
    "l": pa.array(["p", "q", None, "p"], pa.large_string()),
    "v": pa.array(["p", "q", None, "p"], pa.string_view()),
    "n": pa.nulls(4),
    "a.b": [1, 2, 3, 4],
    "a": [5, 6, 7, 8],
    "d": pa.DictionaryArray.from_arrays(pa.array([2, 0, None, 2], pa.uint8()), ["a", "b", "c"]),
    "e": pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 0], pa.int8()), pa.array([10, 20, 30])),
}


@pytest.mark.parametrize("rows", [1, 3, 4, 5])
def test_types_of_parquet_and_arrow(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table(ARROW), path, row_group_size=2)
    expected = values([read(path)])
    assert values(streamed(pieces(path), rows)) == expected
    for source in (pa.table(ARROW), lambda: pa.table(ARROW).to_reader(max_chunksize=3)):
        assert values(arrow_tables(source, rows=rows)) == expected
        assert values(arrow_tables(source, rows=rows, only=["s", "a"], skip=1)) == {n: expected[n][1:] for n in ("a", "s")}
    one = next(iter(pieces(path).pieces[0].tables(rows=rows)))
    assert one["i"].values.dtype == np.int8
    assert (one["s"].declared, one["d"].declared, one["s"].kind) == (False, True, "nominal")


def test_narrow_numbers_are_not_copied(tmp_path: Path) -> None:
    data = pa.table({"u": pa.array(range(9), pa.uint8())})
    (table,) = arrow_tables(data, rows=9)
    assert table["u"].values.dtype == np.uint8
    assert np.shares_memory(table["u"].values, data.column("u").chunk(0).to_numpy())


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_frames_as_streams(frames: str) -> None:
    library = pytest.importorskip(frames)
    frame = library.DataFrame({"a": [1, 2, 3, 4], "s": ["x", None, "y", "x"]})
    frame = frame[frame["a"] > 1] if frames == "pandas" else frame.filter(library.col("a") > 1)
    assert values(arrow_tables(frame, rows=2)) == {"a": [2, 3, 4], "s": [None, "y", "x"]}


def test_small_batches_are_joined() -> None:
    data = pa.Table.from_batches([pa.record_batch({"s": [word]}) for word in "abcde"])
    assert [list(table["s"]) for table in arrow_tables(data, rows=2)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [table.place(0) for table in arrow_tables(data, rows=2, name="q")] == ["q, row 1", "q, row 3", "q, row 5"]


def test_only_batches_that_are_too_long_are_divided() -> None:
    data = pa.Table.from_batches([pa.record_batch({"i": list(range(start, stop))}) for start, stop in ((0, 3), (3, 6), (6, 16))])
    assert [(len(table), table.first) for table in arrow_tables(data, rows=4)] == [(3, 0), (3, 3), (4, 6), (4, 10), (2, 14)]
    assert [(len(table), table.first) for table in arrow_tables(data, rows=4, skip=5)] == [(1, 5), (4, 6), (4, 10), (2, 14)]


def test_objects_without_a_stream_are_refused() -> None:
    with pytest.raises(DataTypeError, match="data: 'int' has no Arrow stream"):
        arrow_tables(3, rows=1)

    def failing() -> Any:
        yield pa.record_batch({"a": [1]})
        raise ValueError("the connection is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), failing())
    with pytest.raises(DataError, match=r"data: the Arrow data is damaged: .*the connection is gone"):
        list(arrow_tables(reader, rows=1))


def test_a_long_dictionary_is_cut_to_what_occurs(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table({"s": [f"k{number}" for number in range(1000)]}), path)
    tables = streamed(pieces(path), 10)
    assert [len(table["s"].states or ()) for table in tables] == [10] * 100


def write_parts(tmp_path: Path, *texts: str, ending: str = "csv") -> list[Path]:
    paths = [tmp_path / f"p{number}.{ending}" for number in range(1, len(texts) + 1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    return paths


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_kind_error_and_widened(tmp_path: Path, ending: str) -> None:
    """D13: a guess that was wrong names the file, the line, the column and the value, and all columns it concerns."""
    paths = write_parts(tmp_path, "a,b,c\n1,2,x\n", "b,c,a\n2,z,1\n,5,3\n", "c,a,b\nx,1,2\ny,NA,01\n", ending=ending)
    files = pieces(paths)
    with pytest.raises(KindError) as caught:
        streamed(files, 2)
    assert str(caught.value).startswith(f"{paths[2]}:3: column 'a': value 'NA' is not a finite number")
    assert caught.value.columns == {"a", "b"}
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.columns) == (str(caught.value), caught.value.columns)
    wider = streamed(files.widened(caught.value.columns), 2)
    assert values(wider) == {"a": ["1", "1", "3", "1", "NA"], "b": ["2", "2", None, "2", "01"], "c": ["x", "z", "5", "x", "y"]}
    assert [column.kind for column in wider[0].columns] == ["nominal"] * 3
    assert values(streamed(files, 2, only=["c"])) == {"c": ["x", "z", "5", "x", "y"]}


def test_kinds_replace_guessed_ones(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, "a,b\n1,2\n", "a,b\n1,x\n")
    assert values(streamed(pieces(paths, kinds={"b": "nominal"}), 9)) == {"a": [1, 1], "b": ["2", "x"]}
    with pytest.raises(DataError, match=r"p2\.csv:2: column 'b': value 'x' is not a finite number") as caught:
        streamed(pieces(paths, kinds={"b": "numeric"}), 9)
    assert not isinstance(caught.value, KindError)
    with pytest.raises(ParameterError, match="has no column 'bb'"):
        pieces(paths, kinds={"bb": "numeric"})


@pytest.mark.parametrize("ending", ["parquet", "arff"])
def test_kinds_replace_those_that_a_file_declares(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    write(Table((Column("a", np.array([1.0, 2.0]), kind="numeric"), Column("b", np.array([0, 1]), ("x", "y"), "nominal"))), path)
    for table in (read(path, kinds={"a": "nominal"}), *streamed(pieces(path, kinds={"a": "nominal"}), 9)):
        assert [column.kind for column in table.columns] == ["nominal", "nominal"]
        assert values([table]) == {"a": [1, 2], "b": ["x", "y"]}
    assert [column.kind for column in streamed(pieces(path), 9, only=["a"])[0].columns] == ["numeric"]
    for reads in (read, pieces):
        with pytest.raises(ParameterError, match="has no column 'aa'; did you mean"):
            reads(path, kinds={"aa": "nominal"})
        with pytest.raises(ParameterError, match="has no column 'zz'; the columns are a, b"):
            reads(path, kinds={"zz": "nominal"})
        with pytest.raises(ParameterError, match="column 'a' is 'nominal' or 'numeric', not 'ordinal'"):
            reads(path, kinds={"a": "ordinal"})  # type: ignore[dict-item]
        with pytest.raises(ParameterError, match="kinds='nominal': pass a mapping from the names"):
            reads(path, kinds="nominal")  # type: ignore[arg-type]


def test_all_missing_at_first_is_numeric(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, "a,b\n", "a,b\n,x\n", "a,b\n1,y\n")
    assert values(streamed(pieces(paths), 1)) == {"a": [None, 1], "b": ["x", "y"]}
    assert streamed(pieces(paths[0]), 1) == []


def test_nearly_numeric_columns_are_reported(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path, "a\n" + "1.5\n" * 19 + "NA\n")
    with pytest.warns(MixedColumnWarning, match="19 of 20 values are numbers but 'NA' is not"):
        pieces(path)


HEAD = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@attribute s string\n@data\n"


def test_arff_weights_and_states(tmp_path: Path) -> None:
    other = HEAD.replace("{x,y}", "{z,x}")
    paths = write_parts(
        tmp_path, f"{HEAD}x,1,p\n% note\ny,2,'q, r', {{3}}\n\ny,?,p\n", f"{other}{{2 'u v'}}\nx,1,p\n", ending="arff"
    )
    tables = streamed(pieces(paths), 2)
    assert [None if t.weight is None else t.weight.tolist() for t in tables] == [[1, 3], None, None]
    assert [t["a"].states for t in tables] == [("x", "y"), ("x", "y"), ("z", "x")]
    assert [t.place(len(t) - 1) for t in tables] == [f"{paths[0]}:8", f"{paths[0]}:10", f"{paths[1]}:7"]
    assert values(tables)["s"] == ["p", "q, r", "p", "u v", "p"]
    assert list(streamed(pieces(paths), 2, only=["b"])[0].names) == ["b"]


BAD_THIRD = {
    "csv": ("a,b\n1,2\n", "a,b\n1,2\n3\n", r"p3\.csv:3: the row has 1 cells, expected 2"),
    "arff": (f"{HEAD}x,1,p\n", f"{HEAD}x,1,p\nz,1,p\n", r"p3\.arff:7: column 'a': value 'z' is not declared"),
    "arff.gz": (f"{HEAD}x,1,p\n", f"{HEAD}x,1,p\nx,w,p\n", r"p3\.arff\.gz:7: column 'b': value 'w' is not a number"),
}


@pytest.mark.parametrize("ending", BAD_THIRD)
def test_a_bad_value_in_the_third_file(tmp_path: Path, ending: str) -> None:
    good, bad, message = BAD_THIRD[ending]
    files = pieces(write_parts(tmp_path, good, good, bad, ending=ending))
    with pytest.raises(DataError, match=message):
        streamed(files, 1)


UNLIKE = {
    "D14-lacking": ("age,b\n", "b,agee\n", r"p2\.csv: there is no column 'age', which .*p1\.csv has; did you mean 'agee'\?"),
    "D5-twice": ("a,b\n", "a,a\n", r"p2\.csv:1: duplicate column names"),
    "D1-empty": ("a,b\n", "", r"p2\.csv: no header"),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_files_that_do_not_match(tmp_path: Path, case: str) -> None:
    first, second, message = UNLIKE[case]
    with pytest.raises(DataError, match=message):
        pieces(write_parts(tmp_path, first, second))


def test_extra_columns_are_left_out_with_one_warning(tmp_path: Path) -> None:
    """D14."""
    paths = write_parts(tmp_path, "a,b\n1,2\n", "c,b,a\n9,4,3\n", "b,a,c,d\n6,5,9,9\n")
    with pytest.warns(NaiveteWarning, match=r"2 columns, such as 'c' in .*p2\.csv, are left out") as warned:
        files = pieces(paths)
    assert len(warned) == 1
    assert values(streamed(files, 9)) == {"a": [1, 3, 5], "b": [2, 4, 6]}


def test_types_that_do_not_match(tmp_path: Path) -> None:
    """D13."""
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2\.parquet: column 'a': the values are text, those of .*1\.parquet are number"):
        pieces(tmp_path)
    with pytest.raises(DataError, match=r"p2\.arff: column 'b': the values are nominal, those of .* are numeric"):
        pieces(write_parts(tmp_path, HEAD, HEAD.replace("numeric", "{0,1}"), ending="arff"))
    (path,) = write_parts(tmp_path, "a\n1\n")
    with pytest.raises(DataError, match=r"p1\.csv: the format is csv, that of .*1\.parquet is parquet"):
        pieces([tmp_path / "1.parquet", path])


def test_refused_types_matter_only_where_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table({"st": [{"x": 1, "y": "z"}], "b": [2], "bad": [[1]], "c": ["w"]}), path)
    files = pieces(path)
    assert values(streamed(files, 1, only=["b", "c"])) == {"b": [2], "c": ["w"]}
    with pytest.raises(DataTypeError, match=r"f\.parquet: column 'bad': the type"):
        streamed(files, 1, only=["b", "bad"])


def test_patterns_and_folders(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("b.csv", "a.csv", "deep/c.tsv", "_SUCCESS.csv", ".hidden.csv", "note.txt"):
        (tmp_path / name).write_text(f"n\n{len(name)}\n")
    assert [Path(p.name).name for p in pieces(tmp_path).pieces] == ["a.csv", "b.csv", "c.tsv"]
    assert [Path(p.name).name for p in pieces(str(tmp_path / "?.csv")).pieces] == ["a.csv", "b.csv"]
    assert [Path(p.name).name for p in pieces(str(tmp_path / "**" / "?.?sv")).pieces] == ["a.csv", "b.csv", "c.tsv"]
    assert len(pieces(tmp_path, format="csv").pieces) == 4
    (tmp_path / "x[1].csv").write_text("n\n1\n")
    assert len(pieces(tmp_path / "x[1].csv").pieces) == 1


def test_hive_folders(tmp_path: Path) -> None:
    for year, place in ((2020, "New%20York"), (2021, "Rome"), ("__HIVE_DEFAULT_PARTITION__", "7")):
        folder = tmp_path / f"year={year}" / f"place={place}"
        folder.mkdir(parents=True)
        parquet.write_table(pa.table({"a": [1, 2]}), folder / "f.parquet")
    files = pieces(tmp_path)
    assert files.names == ("a", "year", "place")
    columns = values(streamed(files, 2))
    assert columns["year"] == [2020, 2020, 2021, 2021, None, None]
    assert columns["place"] == ["New York"] * 2 + ["Rome"] * 2 + ["7"] * 2
    assert [t.names for t in streamed(files, 2, only=["place"])] == [("place",)] * 3
    assert values(streamed(pieces(tmp_path, kinds={"year": "nominal"}), 1))["year"][:2] == ["2020", "2020"]
    with pytest.raises(DataError, match="column 'place': the name of the folder is not a whole number"):
        pieces(tmp_path, kinds={"place": "numeric"})
    with pytest.raises(ParameterError, match="column 'year' is 'nominal' or 'numeric', not 'ordinal'"):
        pieces(tmp_path, kinds={"year": "ordinal"})  # type: ignore[dict-item]
    parquet.write_table(pa.table({"a": [1]}), tmp_path / "f.parquet")
    with pytest.raises(DataError, match="its folders give"):
        pieces(tmp_path)


def test_a_column_in_the_file_and_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a=1").mkdir()
    (tmp_path / "a=1" / "f.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match="column 'a' is in the file and in the name of its folder"):
        pieces(tmp_path)


MEANT = {
    "absent": ("none.csv", FileError, "cannot be read: No such file"),
    "pattern": ("*.none", FileError, "no file matches this pattern"),
    "folder": ("empty", FileError, "the folder has no data files"),
    "zero": ("a\0*.csv", FileError, "cannot be a file name"),
}


@pytest.mark.parametrize("case", MEANT)
def test_files_that_are_not_there(tmp_path: Path, case: str) -> None:
    (tmp_path / "empty").mkdir()
    name, error, message = MEANT[case]
    with pytest.raises(error, match=message):
        pieces(os.path.join(tmp_path, name))


def test_parameters(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path, "a,b\n1,2\n")
    (piece,) = pieces(path).pieces
    for options, message in (
        ({"rows": 0}, "rows=0"),
        ({"rows": True}, "rows=True"),
        ({"rows": 1, "skip": -1}, "skip=-1"),
        ({"rows": 1, "only": "a"}, "collection of names"),
        ({"rows": 1, "only": ["aa"]}, "has no column 'aa'; did you mean a"),
    ):
        with pytest.raises(ParameterError, match=message):
            piece.tables(**options)  # type: ignore[arg-type]
    for paths, more, message in (
        ([], {}, "no files are given"),
        (path, {"format": "cvs"}, "format='cvs' is unknown"),
        (path, {"missing": "NA"}, "collection of texts"),
        (path, {"delimiter": ",,"}, "one character"),
    ):
        with pytest.raises(ParameterError, match=message):
            pieces(paths, **more)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"columns: .* has no column 'zz'"):
        pieces(path).widened({"zz"})


def test_a_file_that_is_named_twice(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path, "a\n1\n")
    with pytest.raises(DataError, match="the file is named twice"):
        pieces([path, str(tmp_path / "*.csv")])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_changed(tmp_path: Path, ending: str) -> None:
    """D22."""
    path = tmp_path / f"f.{ending}"
    table = Table((Column("a", np.arange(5)),))
    write(table, path)
    files = pieces(path)
    write(table[:4], path, overwrite=True)
    with pytest.raises(FileError, match=rf"f\.{ending}: the file changed since it was first opened"):
        streamed(files, 2)
    files = pieces(path)
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileError, match="the file changed"):
        streamed(files, 2)
    files = pieces(path)
    path.unlink()
    with pytest.raises(FileError, match="No such file"):
        streamed(files, 2)


def test_pickled_pieces_and_fingerprint(tmp_path: Path) -> None:
    paths = write_parts(tmp_path, "a\n1\n", "a\n2\n")
    files = pieces(paths)
    assert values(streamed(pickle.loads(pickle.dumps(files)), 9)) == {"a": [1, 2]}
    stats = [path.stat() for path in paths]
    expected = [[str(p), s.st_size, s.st_mtime_ns] for p, s in zip(paths, stats, strict=True)]
    assert json.loads(json.dumps(files.fingerprint())) == expected
    assert (files.rows, files.size, len(pickle.dumps(files.pieces[0])) < 2000) == (None, 8, True)


def test_a_corrupt_row_group(tmp_path: Path) -> None:
    """D20: the error names the file and the column; what comes before, and other columns, can be read."""
    path = tmp_path / "f.parquet"
    data = pa.table({"i": list(range(99)), "s": [f"text{number:02}" for number in range(99)]})
    parquet.write_table(data, path, row_group_size=33, compression="none", write_page_checksum=True, use_dictionary=False)
    content = path.read_bytes()
    position = content.index(b"text57")
    path.write_bytes(content[:position] + b"X" + content[position + 1 :])
    (piece,) = pieces(path).pieces
    stream = piece.tables(rows=33)
    assert list(next(stream)["i"]) == list(range(33))
    with pytest.raises(DataError, match=r"f\.parquet: column 's': the Parquet data is damaged"):
        next(stream)
    assert list(next(piece.tables(rows=99, only=["i"]))["i"]) == list(range(99))
    (last,) = piece.tables(rows=99, skip=66)
    assert (last["s"][0], last.place(0)) == ("text66", f"{path}, row 67")


def test_parquet_cut_at_every_byte(tmp_path: Path) -> None:
    """D20."""
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table({"i": [1, None, 3], "s": ["u", None, "v"]}), path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(NaiveteError):
            pieces(path, format="parquet")


def test_dictionaries_that_differ_are_sorted(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    kind = pa.dictionary(pa.int8(), pa.string())
    for lists, states in (((["b", "a"], ["b", "a"]), ("b", "a")), ((["b", "a"], ["a", "c"]), ("a", "b", "c"))):
        with parquet.ParquetWriter(path, pa.schema([("d", kind)])) as writer:
            for levels in lists:
                writer.write_table(pa.table({"d": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), levels)}))
        column = read(path)["d"]
        assert (column.states, list(column)) == (states, [*lists[0], *lists[1]])
        assert [table["d"].states for table in streamed(pieces(path), 2)] == [tuple(levels) for levels in lists]


def test_a_wrong_row_count(tmp_path: Path) -> None:
    """D20."""
    path = tmp_path / "f.parquet"
    parquet.write_table(pa.table({"a": [1, 2, 3]}), path)
    (piece,) = pieces(path).pieces
    with pytest.raises(DataError, match=r"f\.parquet: 3 rows, expected 4"):
        list(replace(piece, reading=replace(piece.reading, rows=4)).tables(rows=2))  # type: ignore[type-var, arg-type]
    assert pieces(path).widened({"a"}) == pieces(path)


def test_limits_of_a_stream(tmp_path: Path) -> None:
    """D17: cells have no limit here; states have, in each table."""
    (path,) = write_parts(tmp_path, "s\nu\nv\nw\n")
    assert len(streamed(pieces(path, limits=Limits(cells=1)), 1)) == 3
    parquet.write_table(pa.table({"a": ["x", "y"], "b": [2, 3]}), tmp_path / "f.parquet")
    with pytest.raises(DataError, match="column 'a': more than 1 distinct values"):
        streamed(pieces(tmp_path / "f.parquet", limits=Limits(states=1)), 2)
    with pytest.raises(DataError, match="more than 1 columns"):
        pieces(tmp_path / "f.parquet", limits=Limits(columns=1))


def test_a_stream_left_early_closes_its_file(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path, "a\n1\n2\n3\n")
    stream = pieces(path).pieces[0].tables(rows=1)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    path.unlink()
