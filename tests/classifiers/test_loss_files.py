"""Loss matrices in files: read and refused; Weka's files by Weka itself."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.classifiers.losses import Loss
from naivete.errors import DataError, FileError, NaiveteError, ParameterError
from tests.classifiers.test_common import quick
from tests.data.files.test_weka import JAR, needs_weka


def written(folder: Path, text: str, name: str = "loss.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_read_csv(tmp_path: Path) -> None:
    path = written(tmp_path, "decided,no,yes\nyes,1,0\nno,-0.5,5e0\n?,0.2,0.3\n")
    loss = Loss.read(path)
    assert loss.labels == ("no", "yes")
    assert loss.matrix.tolist() == [[-0.5, 5], [1, 0], [0.2, 0.3]]
    assert Loss.read(path, ["yes", "no"]).matrix.tolist() == [[0, 1], [5, -0.5], [0.3, 0.2]]
    assert Loss.read(path, utility=True).matrix.tolist() == [[0.5, -5], [-1, 0], [-0.2, -0.3]]
    numbers = written(tmp_path, "﻿;0;1\r\nreject;1;1\r\n0;0;5\r\n1;1;0\r\n", "b.csv")
    assert Loss.read(numbers, np.array([0, 1])).labels == (0, 1)
    assert Loss.read(numbers).aligned([0, 1]).matrix.tolist() == [[0, 5], [1, 0], [1, 1]]
    zipped = tmp_path / "c.csv.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert Loss.read(zipped).matrix.tolist() == loss.matrix.tolist()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no header"),
        ("d\na\n", "loss.csv:1: only one column"),
        ("d,a,a\na,0,1\n", "duplicate column names"),
        ("d,a,b\na,0,1\n", "loss.csv: there is no row for deciding 'b'; add it"),
        ("d,a,b\na,0,1\nb,1,0\na,1,1\n", "loss.csv:4: the decision 'a' is there twice, first at"),
        ("d,a,b\na,0,1\nb,1,0\n?,1,1\nreject,1,1\n", "loss.csv:5: the decision 'reject' is there twice"),
        ("d,a,b\na,0,1\nbb,1,0\n", "loss.csv:3: there is no class 'bb'; did you mean b?"),
        ("d,a,b\na,0\nb,1,0\n", "loss.csv:2"),
        ("d,a,b\na,0,x\nb,1,0\n", "loss.csv:2: column 'b': value 'x'"),
        ("d,a,b\na,0,nan\nb,1,0\n", "loss.csv:2: column 'b': value 'nan'"),
        ("d,a,b\na,0,inf\nb,1,0\n", "loss.csv:2: column 'b': value 'inf'"),
        ("d,a,b\na,0,1e305\nb,1,0\n", "loss.csv:2: column 'b': 1e+305 is not a loss"),
        ("d,a,b\na,0,\nb,1,0\n", "loss.csv:2: column 'b': the cell is empty"),
        ("d,a,b\n,0,1\nb,1,0\n", "loss.csv:2: there is no class None"),
    ],
)
def test_csv_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        Loss.read(written(tmp_path, text))
    assert told in str(caught.value)


def test_csv_has_to_have_the_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "d,a,b\na,0,1\nb,1,0\n")
    with pytest.raises(DataError, match=r"loss.csv:1: there is no column for the class 'c'; add it"):
        Loss.read(path, ["a", "b", "c"])
    with pytest.raises(DataError, match=r"loss.csv:1: there is no class 'b'"):
        Loss.read(path, ["a"])
    with pytest.raises(FileError):
        Loss.read(tmp_path / "nowhere.csv")
    with pytest.raises(FileError, match="folder"):
        Loss.read(tmp_path)


SIZED = "% Rows\tColumns\n3\t3\n% Matrix elements\n0.0\t1.0\t2\n3\t0\t4\t\n\n5 6 -7e0\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (SIZED, "a.cost"),
        (SIZED, "a.txt"),
        (SIZED.replace("\n", "\r\n"), "a.cost"),
        ("3 3\n0 1 2\n3 0 4\n5 6 -7\n", "a.cost"),
        ("[0.0 1.0 2; 3 0 4; 5 6 -7]", "a.cost"),
        ("% note\n[0 1 2;\n 3 0 4;\n 5, 6, -7;]\n", "a.csv"),
    ],
)
def test_read_weka(text: str, name: str, tmp_path: Path) -> None:
    """Weka's rows are the true classes."""
    loss = Loss.read(written(tmp_path, text, name), ["c", "a", "b"])
    assert loss.matrix.tolist() == [[0, 3, 5], [1, 0, 6], [2, 4, -7]]
    assert loss.aligned("abc").matrix.tolist() == [[0, 6, 1], [4, -7, 2], [3, 5, 0]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a.cost: no header"),
        ("% nothing\n\n", "a.cost: no header"),
        ("x y\n0 1\n1 0\n", "a.cost:1: 'x y' is not the size of the matrix"),
        ("2\n0 1\n1 0\n", "a.cost:1: '2' is not the size"),
        ("2 3\n0 1 1\n1 0 1\n", "a.cost:1: a matrix of '2 3', but there are 2 labels"),
        ("99999999999 99999999999\n", "a.cost:1: a matrix of"),
        ("2 2\n0 1\n", "a.cost:2: 1 rows for 2 labels"),
        ("2 2\n", "a.cost: 0 rows for 2 labels"),
        ("2 2\n0 1\n1 0\n1 1\n", "a.cost:4: 3 rows for 2 labels"),
        ("2 2\n0 1\n% x\n1 0 0\n", "a.cost:4: 3 numbers for 2 labels"),
        ("2 2\n0 1\n1 a2*3\n", "a.cost:3: 'a2*3' is not a loss"),
        ("2 2\n0 1\nnan 0\n", "a.cost:3: 'nan' is not a loss"),
        ("2 2\n0 1e999\n1 0\n", "a.cost:2: '1e999' is not a loss"),
        ("2 2\n0 1_0\n1 0\n", "a.cost:2: '1_0' is not a loss"),
        ("[0 1; 1 0", "a.cost:1: '[0 1; 1 0': the bracket is never closed"),
        ("[0 1; 1]", "a.cost:1: 1 numbers for 2 labels"),
        ("[]", "a.cost: 0 rows for 2 labels"),
        ("2 2\n0 1\0\n", "a.cost:2: a zero byte"),
    ],
)
def test_weka_is_refused(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        Loss.read(written(tmp_path, text, "a.cost"), ["no", "yes"])
    assert told in str(caught.value)


def test_weka_needs_labels(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"pass labels=, in the order of the ARFF header"):
        Loss.read(written(tmp_path, SIZED, "a.cost"))


@quick
@given(st.text(alphabet="0123 .;,[]%\n\rae-?", max_size=60), st.sampled_from(["a.csv", "a.cost"]))
def test_any_text_is_read_or_refused(tmp_path: Path, text: str, name: str) -> None:
    loss = None
    with suppress(NaiveteError):
        loss = Loss.read(written(tmp_path, text, name), ["0", "a"])
    assert loss is None or loss.labels == ("0", "a")


@needs_weka
def test_weka_agrees_on_what_a_cost_file_means(tmp_path: Path) -> None:
    """Weka's evaluation under a cost file against ours, with costs and errors that are not symmetric."""
    header = "@relation t\n@attribute x {p,q,r}\n@attribute y {no,yes,maybe}\n@data\n"
    rows = ["p,no"] * 9 + ["p,yes"] * 3 + ["p,maybe"] * 2 + ["q,yes"] * 6 + ["q,no"] * 1 + ["r,maybe"] * 5 + ["r,yes"] * 4
    arff = written(tmp_path, header + "\n".join(rows) + "\n", "t.arff")
    cost = written(tmp_path, "% Rows\tColumns\n3\t3\n% Matrix elements\n0 1 2\n10 0 3\n20 5 0\n", "t.cost")
    options = ["-t", str(arff), "-T", str(arff), "-m", str(cost)]
    java = shutil.which("java")
    assert java is not None
    command = [java, "-cp", str(JAR), "weka.classifiers.bayes.NaiveBayes", *options]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("=== Error on test data ===")[1]
    average = float(told.split("Average Cost")[1].split()[0])
    lines = told.split("<-- classified as\n")[1].splitlines()[:3]
    counts = np.array([[float(word) for word in line.split("|")[0].split()] for line in lines])  # (correct, classified)
    loss = Loss.read(cost, ["no", "yes", "maybe"])
    assert (counts != counts.T).any()
    assert loss.of_classifier(counts) == pytest.approx(average, abs=6e-5)
    assert loss.of_classifier(counts.T) != pytest.approx(average, abs=6e-5)
