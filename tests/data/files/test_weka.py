"""The same file through Weka and through `read_arff`: the same rows, or both refuse."""

from __future__ import annotations

import csv
import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from naivete.data.files import read_arff
from naivete.errors import DataError
from tests.data.files.test_data_sets import FOLDER, SETS, cells, needs_data

USUAL = Path("/usr/share/java/weka.jar")
LARGEST = 1_000_000
JAR = Path(os.environ.get("WEKA_JAR", USUAL))

needs_weka = pytest.mark.skipif(
    shutil.which("java") is None or not JAR.exists(), reason="no java, or no weka.jar where WEKA_JAR says or Debian puts it"
)

HEAD = "@relation r\n@attribute a {x,'y z',\"it's\"}\n@attribute n numeric\n@attribute s string\n@data\n"
SAME = {
    "D9-crlf": HEAD.replace("\n", "\r\n") + "x,1,u\r\n'y z',2,v\r\n",
    "D9-cr": HEAD.replace("\n", "\r") + "x,1,u\r'y z',2,v\r",
    "D9-tabs": HEAD + "x\t1\tu\n'y z' 2 v\n x ,\t3 , w \n",
    "D9-trailing-blanks": HEAD.replace("\n", "  \t\n") + "x,1,u   \n",
    "D9-keywords": HEAD.replace("@relation", "@RELATION").replace("@attribute", "@Attribute").replace("numeric", "Real")
    + "x,1,u\n",
    "D9-names": "@relation 'a b'\n@attribute 'p q' { x , y }\n@attribute \"it's\" {'1 ',2}\n@data\nx,2\ny,'1 '\n",
    "D9-escapes": HEAD + "'it\\'s',1,'a\\\\b'\n\"it's\",2,'\\\"q\\\"'\nx,3,\"a\\%b\"\nx,4,'\\101\\x'\nx,5,a\\nb\n",
    "D9-comments": "% one\n\n" + HEAD.replace("@data", "% two\n\n@data % three") + "% four\nx,1,u % five\n\n   \nx,2,v\n",
    "D9-last-line-without-end": HEAD + "x,1,u",
    "D9-comma-at-the-end": HEAD + "x,1,u,\n",
    "D9-row-on-the-data-line": HEAD[:-1] + " x,1,u\n",
    "D9-text-after-the-type": HEAD.replace("numeric", "real [0,1]") + "x,1,u\n",
    "D9-controls": HEAD + "x,\x0b1,\x0cu\n",
    "D9-unicode": HEAD + "x,1,\u00e4\u20ac\nx,2,\u00a0\n",
    "D10-sparse": HEAD + "{2 u}\n{0 'y z', 1 4.5, 2 v}\n{1 ?,2 w}\n",
    "D10-weights": HEAD + "x,1,u,{2.5}\n{0 x, 2 v}, {3}\n",
    "D10-date": "@relation r\n@attribute n numeric\n@attribute d date \"yyyy-MM-dd HH:mm\"\n@data\n1,'2001-02-03 04:05'\n2,?\n",
    "D11-question-marks": HEAD + "?,?,?\nx,1,'?'\nx,2,NA\nx,3,''\n",
    "D12-numbers": HEAD + "x,1d,u\nx,'2',u\nx,0x1p3,u\nx,-1.5e3,u\nx,.5,u\nx,5.,u\nx,+5,u\n",
}
REFUSED = {
    "D3-too-short": HEAD + "x,1\n",
    "D3-two-too-long": HEAD + "x,1,u,v,w\n",
    "D4-undeclared": HEAD + "z,1,u\n",
    "D5-names": "@relation r\n@attribute a {x}\n@attribute a {x}\n@data\nx,x\n",
    "D10-sparse-position": HEAD + "{7 x}\n",
    "D15-text": HEAD + "x,one,u\n",
    "D18-unclosed": "@relation r\n@attribute a {x,y\n@data\nx\n",
    "D1-no-relation": "@attribute a {x,y}\n@data\nx\n",
    "D1-relation-of-two-words": "@relation r s\n@attribute a {x,y}\n@data\nx\n",
}


def weka(path: Path) -> list[list[str]] | None:
    """The rows as Weka saves them in full, with a mark for missing; None where it refuses the file."""
    dense = ["weka.filters.unsupervised.instance.SparseToNonSparse", "-i", str(path)]
    options = ["-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-cp", str(JAR)]
    made = subprocess.run(["java", *options, *dense], capture_output=True, check=False)
    if made.returncode or made.stderr or b"@data" not in made.stdout:
        return None
    return list(csv.reader(made.stdout.decode().split("@data\n", 1)[1].splitlines(), quotechar="'", escapechar="\\"))


def canonical(path: Path) -> Path:
    """The file as `read_arff` understands it, written again, with dates as numbers."""
    from naivete.data.files import write_arff

    again = path.with_name("again.arff")
    write_arff(read_arff(path), again)
    return again


@needs_weka
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SAME.items() if name != "D10-date"])
def test_same_rows(tmp_path: Path, text: str) -> None:
    """Weka reads the file, and the file that we write after reading it, to the same rows."""
    path = tmp_path / "f.arff"
    path.write_bytes(text.encode())
    theirs = weka(path)
    assert theirs is not None
    assert any(theirs)
    assert weka(canonical(path)) == theirs


@needs_weka
def test_same_dates(tmp_path: Path) -> None:
    """D10: a date is the number of milliseconds that Weka has for it."""
    path = tmp_path / "f.arff"
    path.write_text(SAME["D10-date"])
    query = ["weka.filters.unsupervised.attribute.MathExpression", "-E", "A", "-i", str(path)]
    made = subprocess.run(["java", "-Duser.timezone=UTC", "-cp", str(JAR), *query], capture_output=True, check=False)
    assert made.returncode == 0
    assert list(read_arff(path)["d"]) == [981173100000.0, None]
    assert b"2001-02-03 04:05" in made.stdout


def agree(text: str, value: object) -> bool:
    """Whether a cell as Weka prints it, six digits after the point, is this value."""
    if value is None:
        return text == "?"
    return abs(float(text) - value) <= 1e-6 * max(1.0, abs(value)) if isinstance(value, float) else text == value


@needs_weka
@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in SETS if cells(row) <= LARGEST])
def test_data_sets(tmp_path: Path, row: dict[str, str]) -> None:
    """Every data set but the largest, cell by cell."""
    path = tmp_path / "f.arff"
    path.write_bytes(gzip.decompress((FOLDER / row["file"]).read_bytes()))
    theirs = [line for line in weka(path) or [] if line]
    ours = list(zip(*read_arff(path).columns, strict=True))
    assert len(theirs) == len(ours)
    assert all(
        agree(text, value) for line, values in zip(theirs, ours, strict=True) for text, value in zip(line, values, strict=True)
    )


@needs_weka
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_both_refuse(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f.arff"
    path.write_text(text)
    assert weka(path) is None
    with pytest.raises(DataError):
        read_arff(path)
