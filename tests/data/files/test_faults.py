"""The catalogue of bad data files, one test for each case: a named error that tells the place, or the right table."""

from __future__ import annotations

import codecs
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from naivete.data.files import Limits, read, read_arff, read_csv
from naivete.errors import DataError, FileError, NaiveteError, ParameterError

HEAD = "@relation r\n@attribute a {x,y}\n@attribute b numeric\n@data\n"


def arff(rows: str, head: str = HEAD) -> bytes:
    return (head + rows).encode()


BAD = {
    "D1-empty-arff": ("f.arff", b"", "no header"),
    "D1-empty-csv": ("f.csv", b"", "no header"),
    "D1-empty-gz": ("f.csv.gz", gzip.compress(b""), "no header"),
    "D1-empty-parquet": ("f.parquet", b"", "no header"),
    "D1-only-bom-arff": ("f.arff", codecs.BOM_UTF8, "no header"),
    "D1-only-bom-csv": ("f.csv", codecs.BOM_UTF8, "no header"),
    "D1-only-blank-lines-csv": ("f.csv", b"\n\r\n\n", "no header"),
    "D1-only-comments": ("f.arff", b"% one\n% two\n", "no header"),
    "D1-no-relation": ("f.arff", b"@attribute a {x}\n@data\n", "f.arff:1: no header: expected @relation"),
    "D1-no-data": ("f.arff", b"@relation r\n@attribute a {x}\n", "no header: there is no @data line"),
    "D1-no-attributes": ("f.arff", b"@relation r\n@data\n", "f.arff:2: no header: @data before any @attribute"),
    "D1-relation-of-two-words": ("f.arff", b"@relation r s\n", "f.arff:1: @relation takes one name, found 2 words"),
    "D1-stray-line": ("f.arff", b"@relation r\nhello\n", "f.arff:2: expected @attribute or @data, found 'hello'"),
    "D1-attribute-without-type": ("f.arff", b"@relation r\n@attribute a\n", "f.arff:2: @attribute needs a name and a type"),
    "D1-attribute-of-no-type": ("f.arff", b"@relation r\n@attribute a b\n", "f.arff:2: column 'a': no type 'b'"),
    "D3-row-too-short-arff": ("f.arff", arff("x,1\nx\n"), "f.arff:6: the row has 1 values, expected 2"),
    "D3-row-too-long-arff": ("f.arff", arff("x,1,2\n"), "f.arff:5: the row has 3 values, expected 2"),
    "D3-empty-cell-arff": ("f.arff", arff("x,,1\n"), "f.arff:5: an empty cell"),
    "D3-row-of-a-comma-arff": ("f.arff", arff(",\n"), "f.arff:5: the row has 0 values, expected 2"),
    "D3-brace-in-row": ("f.arff", arff("x,1 }\n"), "f.arff:5: a brace inside a row"),
    "D3-row-too-short-csv": ("f.csv", b"a,b\n1,2\n1\n", "f.csv:3: the row has 1 cells, expected 2"),
    "D3-row-too-long-csv": ("f.csv", b'a,b\n"x\ny",2\n1,2,3\n', "f.csv:4: the row has 3 cells, expected 2"),
    "D3-all-rows-too-long": ("f.csv", b"a,b\n1,2,3\n4,5,6\n", "f.csv:2: the row has 3 cells, expected 2"),
    "D3-empty-line-between": ("f.csv", b"a,b\n1,2\n\n3,4\n", "f.csv:3: an empty line between the rows"),
    "D3-empty-line-between-quotes": ("f.csv", b'a,b\n"1",2\n\n3,4\n', "f.csv:3: an empty line between the rows"),
    "D4-undeclared": ("f.arff", arff("x,1\nZZ,2\n"), "f.arff:6: column 'a': value 'ZZ' is not declared (declared: 'x', 'y')"),
    "D4-nearest": (
        "f.arff",
        b"@relation r\n@attribute a {sunny,rain}\n@data\n'suny'\n",
        "f.arff:4: column 'a': value 'suny' is not declared (nearest declared: 'sunny')",
    ),
    "D4-declared-twice": (
        "f.arff",
        b"@relation r\n@attribute a {x,y,'x'}\n",
        "f.arff:2: column 'a': value 'x' is declared twice",
    ),
    "D5-duplicate-names-arff": (
        "f.arff",
        b"@relation r\n@attribute a {x}\n@attribute b {x}\n@attribute 'a' {x}\n@data\n",
        "duplicate column names: 'a' at positions 1, 3",
    ),
    "D5-duplicate-names-csv": ("f.csv", b'a,b,"a"\n', "f.csv:1: duplicate column names: 'a' at positions 1, 3"),
    "D7-unclosed-quote-arff": ("f.arff", arff("x,1\n'x,2\ny,3\n"), "f.arff:6: the quote ' is never closed"),
    "D7-unclosed-quote-header": ("f.arff", b'@relation "r\n', 'f.arff:1: the quote " is never closed'),
    "D7-stray-escape-arff": ("f.arff", arff("'x\\',2\n"), "f.arff:5: the quote ' is never closed"),
    "D7-quote-inside-value": ("f.arff", arff("do'x',2\n"), "f.arff:5: a quote inside a value"),
    "D7-value-after-quote": ("f.arff", arff("'x'y,2\n"), "f.arff:5: a quote inside a value"),
    "D7-unclosed-quote-csv": ("f.csv", b'a,b\n1,2\n3,"4\n5,6\n', "f.csv:3: the quote opened here is never closed"),
    "D7-text-after-quote-csv": ("f.csv", b'a,b\n"1"x,2\n', "f.csv:2: text after a closing quote"),
    "D7-nul-arff": ("f.arff", arff("x,1\nx,\x002\n"), "f.arff:6: a zero byte"),
    "D7-nul-csv": ("f.csv", b"a,b\r\n1,\x00\r\n", "f.csv:2: a zero byte"),
    "D8-utf16-arff": ("f.arff", HEAD.encode("utf-16"), "byte 0 is not utf-8: b'\\xff"),
    "D8-utf16-csv": ("f.csv", "a,b\n".encode("utf-16"), "encoding='utf-16'"),
    "D8-utf16-without-bom": ("f.csv", "a,b\n".encode("utf-16-le"), "encoding='utf-16'"),
    "D8-latin-1": ("f.csv", "a,b\ngrün,1\n".encode("latin-1"), "byte 6 is not utf-8: b'\\xfcn,1\\n'; pass `encoding='latin-1'`"),
    "D8-mixed": ("f.csv", "a\ngrün\n".encode() + "grün\n".encode("latin-1"), "byte 10 is not utf-8"),
    "D8-cut-character": ("f.csv", "a\ngrü".encode()[:-1], "byte 4 is not utf-8"),
    "D10-relational": ("f.arff", b"@relation r\n@attribute a relational\n", "relational attributes are not supported (line 2)"),
    "D10-weight-negative": ("f.arff", arff("x,1,{-1}\n"), "f.arff:5: the weight '-1' is not a number, at least 0"),
    "D10-weight-text": ("f.arff", arff("x,1,{w}\n"), "f.arff:5: the weight 'w' is not a number"),
    "D10-sparse-cut": ("f.arff", arff("{0 x\n"), "f.arff:5: a sparse row is pairs"),
    "D10-sparse-odd": ("f.arff", arff("{0 x, 1}\n"), "f.arff:5: a sparse row is pairs"),
    "D10-sparse-position": ("f.arff", arff("{2 x}\n"), "f.arff:5: '2' is not the position of a column, 0 to 1"),
    "D10-sparse-order": ("f.arff", arff("{1 3, 0 x}\n"), "f.arff:5: position 0 comes after 1"),
    "D10-sparse-omits-text": (
        "f.arff",
        b"@relation r\n@attribute s string\n@attribute b numeric\n@data\n{1 2}\n",
        "f.arff:5: column 's': a sparse row leaves out the value",
    ),
    "D10-date": (
        "f.arff",
        b"@relation r\n@attribute d date yyyy-MM-dd\n@data\n2001-13-01\n",
        "f.arff:4: column 'd': value '2001-13-01' is not a date",
    ),
    "D10-date-form": ("f.arff", b"@relation r\n@attribute d date\n@data\nx\n", "value 'x' is not a date of the form"),
    "D10-date-pattern": (
        "f.arff",
        b"@relation r\n@attribute d date 'ww'\n",
        "f.arff:2: column 'd': the date pattern 'ww' has the letter 'w'",
    ),
    "D10-date-pattern-twice": ("f.arff", b"@relation r\n@attribute d date 'yyyy yyyy'\n", "has the letter 'y', twice"),
    "D10-date-pattern-empty": ("f.arff", b"@relation r\n@attribute d date ''\n", "has no field for a date"),
    "D10-date-patterns": (
        "f.arff",
        b"@relation r\n@attribute d date yyyy MM\n",
        "f.arff:2: column 'd': a date takes one pattern",
    ),
    "D15-overflow": ("f.arff", arff("x,1\nx,1e999\n"), "f.arff:6: column 'b': value '1e999' is not a finite number"),
    "D15-inf": ("f.arff", arff("x,inf\n"), "f.arff:5: column 'b': value 'inf' is not a finite number"),
    "D15-nan": ("f.arff", arff("x,?\nx,nan\n"), "f.arff:6: column 'b': value 'nan' is not a finite number"),
    "D15-hex-overflow": ("f.arff", arff("x,0x1p9999\n"), "f.arff:5: column 'b': value '0x1p9999' is not a finite number"),
    "D15-text": ("f.arff", arff("x,?\nx,one\n"), "f.arff:6: column 'b': value 'one' is not a number"),
    "D15-underscore": ("f.arff", arff("x,1_0\n"), "f.arff:5: column 'b': value '1_0' is not a number"),
    "D18-unclosed-list": ("f.arff", b"@relation r\n@attribute a {x,y\n@data\n", "f.arff:2: column 'a': the list of values"),
    "D18-nested-list": ("f.arff", b"@relation r\n@attribute a {x,{y}}\n@data\n", "f.arff:2: column 'a': the list of values"),
    "D22-gz-cut": ("f.csv.gz", gzip.compress(b"a,b\n1,2\n")[:-4], "the compressed data is damaged or cut"),
    "D22-gz-damaged": ("f.csv.gz", gzip.compress(b"a,b\n1,2\n")[:10] + b"\xff" * 9, "the compressed data is damaged"),
    "D22-gz-followed": ("f.csv.gz", gzip.compress(b"a,b\n1,2\n") + b"rest", "the compressed data is damaged"),
}


@pytest.mark.parametrize(("name", "data", "message"), BAD.values(), ids=BAD.keys())
def test_refused(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(NaiveteError) as caught:
        read(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("name", "data"),
    [("f.arff", HEAD.encode()), ("f.csv", b"a,b"), ("f.csv", b"\n\na,b\n\n")],
    ids=["D2-arff", "D2-csv", "D2-csv-blank"],
)
def test_header_without_rows(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    table = read(path)
    assert table.names == ("a", "b")
    assert [len(table), *map(len, table.columns)] == [0, 0, 0]


def test_widen(tmp_path: Path) -> None:
    """D4: on request a value that is not declared is added."""
    path = tmp_path / "f.arff"
    path.write_bytes(arff("x,1\nZZ,2\n"))
    column = read(path, widen=True)["a"]
    assert column.states == ("x", "y", "ZZ")
    assert column.declared
    assert list(column) == ["x", "ZZ"]


@pytest.mark.parametrize("name", ["f.arff", "f.csv"], ids=["D8-bom-arff", "D8-bom-csv"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    text = HEAD.replace("x", "ü") + "ü,1\n" if name == "f.arff" else "a,b\nü,1\n"
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    table = read(path, encoding="utf-8" if encoding == "utf-8-sig" else encoding)
    assert [list(column) for column in table.columns] == [["ü"], [1]]


@pytest.mark.parametrize("encoding", ["no-such", "hex", "a\0b"])
def test_unknown_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"a\n1\n")
    with pytest.raises(ParameterError, match="encoding="):
        read(path, encoding=encoding)


def test_encoding_without_offsets(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match="not utf-16 before byte 8"):
        read(path, encoding="utf-16")


LIMITED = {
    "D17-line-arff": (
        "f.arff",
        HEAD.encode() + b"x," + b"1" * 2000,
        Limits(line=1000),
        "f.arff:5: a line of more than 1000 characters",
    ),
    "D17-line-csv": ("f.csv", b"a\n" + b"1" * 2000 + b"\n2\n", Limits(line=1000), "f.csv:2: a line of more than 1000 characters"),
    "D17-quoted-csv": (
        "f.csv",
        b'a\n"' + b"1\n" * 600,
        Limits(line=1000),
        "f.csv:2: the quote opened here is not closed within 1000",
    ),
    "D17-columns-arff": ("f.arff", HEAD.encode(), Limits(columns=1), "f.arff:3: more than 1 columns"),
    "D17-columns-csv": ("f.csv", b"a,b\n", Limits(columns=1), "f.csv:1: more than 1 columns"),
    "D17-cells-arff": ("f.arff", arff("x,1\nx,2\n"), Limits(cells=3), "f.arff:6: more than 3 cells"),
    "D17-cells-csv": ("f.csv", b"a,b\n1,2\n3,4\n", Limits(cells=3), "more than 3 cells"),
    "D17-states-declared": ("f.arff", HEAD.encode(), Limits(states=1), "f.arff:2: more than 1 declared values"),
    "D17-states-text": (
        "f.arff",
        b"@relation r\n@attribute s string\n@data\nu\nv\n",
        Limits(states=1),
        "f.arff:5: column 's': more than 1 distinct",
    ),
    "D17-states-csv": ("f.csv", b"a\nu\nv\n", Limits(states=1), "column 'a': more than 1 distinct values"),
    "D17-decompressed": (
        "f.csv.gz",
        gzip.compress(b"a\n" * 5000),
        Limits(decompressed=999),
        "decompresses to more than 999 bytes",
    ),
}


@pytest.mark.parametrize(("name", "data", "limits", "message"), LIMITED.values(), ids=LIMITED.keys())
def test_limits(tmp_path: Path, name: str, data: bytes, limits: Limits, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        read(path, limits=limits)
    assert message in str(caught.value)
    assert "raise the limit: Limits(" in str(caught.value)


def test_line_limit_inside_a_block(tmp_path: Path) -> None:
    """D17: a line that is too long between two short ones."""
    path = tmp_path / "f.csv"
    path.write_bytes(b"a\n1\n" + b"2" * 20 + b"\n3\n")
    with pytest.raises(DataError, match=r"f\.csv:3: a line of more than 10 characters"):
        read(path, limits=Limits(line=10))


@pytest.mark.parametrize("value", [0, -1, 1.5, True, None])
def test_limits_are_checked(value: int) -> None:
    with pytest.raises(ParameterError, match="columns has to be a positive integer"):
        Limits(columns=value)


def assert_linear(work: Callable[[int], object], small: int, large: int) -> None:
    """Assert that processor time grows far less than with the square of the size, which would be a ratio of 64 here."""

    def seconds(size: int) -> float:
        start = time.process_time()
        work(size)
        return time.process_time() - start

    work(small)
    assert large == 8 * small
    assert min(seconds(large) for _ in range(3)) < 32 * max(min(seconds(small) for _ in range(3)), 1e-3)


def test_many_distinct_values(tmp_path: Path) -> None:
    """D16: a column of identifiers is read with work in proportion to its length."""

    def file(count: int) -> Path:
        path = tmp_path / f"{count}.csv"
        path.write_text("id,class\n" + "".join(f"k{i},x\n" for i in range(count)))
        return path

    states = read(file(20_000))["id"].states
    assert states is not None
    assert len(states) == 20_000
    assert_linear(lambda count: read(file(count)), 2_000, 16_000)


def test_many_columns(tmp_path: Path) -> None:
    """D17: many columns are read."""
    path = tmp_path / "f.csv"
    path.write_text(",".join(f"c{i}" for i in range(10_000)) + "\n" + ",".join(["1"] * 10_000) + "\n")
    assert len(read(path).columns) == 10_000


@pytest.mark.parametrize(("start", "repeated"), [("", "{"), ("", "{x,"), ("", "'\\"), ("a {", "'x' ")])
def test_adversarial_header(tmp_path: Path, start: str, repeated: str) -> None:
    """D18: work in proportion to the size of the header."""
    path = tmp_path / "f.arff"

    def refuse(count: int) -> None:
        path.write_text(f"@relation r\n@attribute {start}{repeated * count}\n")
        with pytest.raises(DataError):
            read_arff(path)

    assert_linear(refuse, 5_000, 40_000)


def test_unclosed_quote_in_a_long_file(tmp_path: Path) -> None:
    """D7: the line of the opening quote, with work in proportion to the length of the file."""
    path = tmp_path / "f.csv"

    def refuse(count: int) -> None:
        path.write_bytes(b'a,b\n1,"2\n' + b"3,4\n" * count)
        with pytest.raises(DataError, match=r"f\.csv:2: the quote opened here"):
            read_csv(path)

    assert_linear(refuse, 1 << 16, 1 << 19)


@pytest.mark.parametrize("reader", [read, read_arff, read_csv])
class TestWhatIsNoFile:
    """D22: what cannot be read as a file is refused at once."""

    def test_folder(self, tmp_path: Path, reader: type[object]) -> None:
        with pytest.raises(FileError, match="is a folder, not a regular file"):
            reader(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_pipe(self, tmp_path: Path, reader: type[object]) -> None:
        os.mkfifo(tmp_path / "f.csv")
        with pytest.raises(FileError, match="is a pipe, not a regular file"):
            reader(tmp_path / "f.csv")

    def test_device(self, reader: type[object]) -> None:
        with pytest.raises(FileError, match="is a device, not a regular file"):
            reader(os.devnull)

    def test_absent(self, tmp_path: Path, reader: type[object]) -> None:
        with pytest.raises(FileError, match="cannot be read: No such file"):
            reader(tmp_path / "f.csv")

    def test_zero_byte_in_name(self, reader: type[object]) -> None:
        with pytest.raises(FileError, match="cannot be a file name"):
            reader("a\0.csv")

    def test_not_a_name(self, reader: type[object]) -> None:
        with pytest.raises(ParameterError, match="not by 3"):
            reader(3)  # type: ignore[call-arg]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_bytes(b"a\n1\n")
    path.chmod(0)
    with pytest.raises(FileError, match="Permission denied"):
        read(path)


def test_permission_error_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D22: as above, whoever runs the tests."""

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(FileError, match="Permission denied"):
        read(tmp_path / "f.csv")


def test_read_error_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D22: a file that cannot be opened after all leaves nothing open."""
    path = tmp_path / "f.csv"
    path.write_bytes(b"a\n1\n")

    def refuse(*_: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdopen", refuse)
    with pytest.raises(FileError, match="Input/output error"):
        read(path)


def test_changed_while_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D22: a file that grows under the reader."""
    from naivete.data.files import delimited

    path = tmp_path / "f.csv"
    path.write_bytes(b"a,b\n1,2\n")
    original = delimited.text_blocks

    def growing(*arguments: object) -> object:
        with path.open("ab") as file:
            file.write(b"3,4\n")
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(delimited, "text_blocks", growing)
    with pytest.raises(FileError, match="the file changed while it was read"):
        read_csv(path)


def test_removed_while_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D22: a file that disappears is still read whole, because it was open."""
    from naivete.data.files import delimited

    path = tmp_path / "f.csv"
    path.write_bytes(b"a,b\n1,2\n")
    original = delimited.text_blocks

    def removing(*arguments: object) -> object:
        path.unlink()
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(delimited, "text_blocks", removing)
    assert len(read_csv(path)) == 1


def test_long_values_are_cut_in_messages(tmp_path: Path) -> None:
    path = tmp_path / "f.arff"
    path.write_bytes(arff("z" * 10_000 + ",1\n"))
    with pytest.raises(DataError) as caught:
        read(path)
    assert len(str(caught.value)) < len(str(path)) + 300
