"""C4.5 beside J48 of Weka, run as a program of its own: the same trees, and the same answers for rows it has not seen."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from naivete.classifiers.trees import C45
from naivete.data.files import read_arff, write_arff
from naivete.data.table import Table
from naivete.display.rules import tree_text
from naivete.network.derived_columns import Tree
from naivete.variables import CLASS
from tests.data.files.test_data_sets import FOLDER, needs_data
from tests.data.files.test_weka import JAR, needs_weka

EXACT = ("iris", "vote", "breast-cancer", "hepatitis", "credit-a", "soybean", "heart-c", "autos")
"""Numbers, states, both, with and without missing values, two to nineteen classes."""

FOLDS = (
    *("vote", "kr-vs-kp", "soybean", "splice", "mushroom", "glass"),
    *("heart-c", "iris", "hepatitis", "breast-cancer", "credit-a", "diabetes"),
)

OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "-S": {"subtree_raising": False},
    "-U": {"prune": False},
    "-M 5 -C 0.1": {"min_rows": 5, "confidence": 0.1},
}


class Branch(NamedTuple):
    """A line of a tree: its depth, question and value, and at a leaf the class and the weight of cases and errors."""

    depth: int
    asked: str
    value: str
    answer: str | None
    cases: float
    wrong: float


LINE = re.compile(
    r"(?P<bars>(?:\|   )*)(?P<asked>.*?(?: =| <=| >) |)(?P<value>.*?)(?:: (?P<answer>.*) \((?P<cases>[\d.]+)(?: ?/ ?(?P<wrong>[\d.]+)(?: wrong)?)?\))?$"
)


def branches(text: str) -> list[Branch]:
    found = [LINE.match(line) for line in text.splitlines() if line.strip()]
    return [
        Branch(len(m["bars"]) // 4, m["asked"].strip(), m["value"], m["answer"], float(m["cases"] or 0), float(m["wrong"] or 0))
        for m in found
        if m is not None
    ]


def j48(*arguments: str) -> str:
    call = ["java", "-cp", str(JAR), "weka.classifiers.trees.J48", *arguments]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def data(name: str) -> Table:
    return read_arff(FOLDER / f"{name}.arff.gz")


def fitted(table: Table, **parameters: Any) -> C45:
    label = table.names[-1]
    return C45(**parameters).fit(table.without(label), list(table[label]))


def same(one: Branch, two: Branch) -> bool:
    """The same question and value, and at a leaf the same cases, as far as they are printed."""
    value = one.value == two.value
    if not value and one.asked[-1] != "=":
        value = float(one.value) == pytest.approx(float(two.value), abs=1e-6, rel=1e-9)
    numbers = abs(one.cases - two.cases) < 0.06 and abs(one.wrong - two.wrong) < 0.06
    return value and numbers and (one.depth, one.asked, one.answer is None) == (two.depth, two.asked, two.answer is None)


def tied(ours: Branch, theirs: Branch, classes: int) -> bool:
    """Whether another class is as frequent: no cases at all, or no more of the class than of all others can be of one."""
    right = ours.cases - ours.wrong
    return ours.cases == 0 or (classes > 1 and right <= ours.wrong + 0.06 and theirs.answer is not None)


@needs_weka
@needs_data
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", EXACT)
def test_the_same_tree(name: str, options: str, tmp_path: Path) -> None:
    """Question by question, with the cases at every leaf; classes that are equally frequent at a leaf may be named otherwise."""
    table, path = data(name), tmp_path / "t.arff"
    path.write_bytes(gzip.decompress((FOLDER / f"{name}.arff.gz").read_bytes()))
    said = j48("-t", str(path), "-no-cv", *options.split())
    theirs = branches(said.split("------------------\n", 1)[1].split("Number of Leaves", 1)[0])
    model = fitted(table, **OPTIONS[options])
    (tree,) = model.network_.derived.values()
    assert isinstance(tree, Tree)
    assert f"Number of Leaves  : \t{len(tree.leaves)}\n" in said
    assert f"Size of the tree : \t{tree.nodes}\n" in said
    ours = branches(tree_text(model.network_))
    assert len(ours) == len(theirs) > 3
    for one, two in zip(ours, theirs, strict=True):
        assert same(one, two), (one, two)
        assert one.answer == two.answer or tied(one, two, len(model.classes_)), (one, two)


def right(said: str) -> int:
    tested = said.split("Error on test data", 1)[1]
    found = re.search(r"Correctly Classified Instances\s+(\d+)", tested)
    return int(found[1]) if found else 0


@needs_weka
@needs_data
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::naivete.UnsuitableColumnWarning")  # constant columns
@pytest.mark.parametrize("name", FOLDS)
def test_ten_folds(name: str, tmp_path: Path) -> None:
    """The same folds for both: accuracies within a point; nearly always they are equal."""
    table = data(name)
    fold = np.random.default_rng(0).permutation(len(table)) % 10
    ours = theirs = 0
    for k in range(10):
        parts = [table.take(np.flatnonzero(which)) for which in (fold != k, fold == k)]
        paths = [tmp_path / f"{word}{k}.arff" for word in ("train", "test")]
        for part, path in zip(parts, paths, strict=True):
            write_arff(part, path)
        theirs += right(j48("-t", str(paths[0]), "-T", str(paths[1])))
        model = fitted(parts[0])
        label = table.names[-1]
        ours += int((model.predict(parts[1].without(label)) == np.array(list(parts[1][label]), object)).sum())
    print(f"{name}: {100 * ours / len(table):.2f} here, {100 * theirs / len(table):.2f} in Weka")
    assert abs(ours - theirs) <= len(table) / 100


@needs_weka
def test_numbers_and_gaps_that_nobody_chose(tmp_path: Path) -> None:
    """A drawn table of numbers with missing values, large enough that thresholds, divided cases and raising all occur."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 3, 500)
    X = np.round(rng.normal(0, 1, (500, 5)) + y[:, None] * np.array([0.9, 0.5, 0.3, 0.1, 0.0]), 2)
    X[rng.random(X.shape) < 0.07] = np.nan
    names = [f"x{i}" for i in range(5)]
    lines = [",".join("?" if np.isnan(v) else repr(float(v)) for v in row) + f",c{c}" for row, c in zip(X, y, strict=True)]
    head = "@relation r\n" + "".join(f"@attribute {n} numeric\n" for n in names) + "@attribute y {c0,c1,c2}\n@data\n"
    path = tmp_path / "t.arff"
    path.write_text(head + "\n".join(lines) + "\n")
    theirs = branches(j48("-t", str(path), "-no-cv").split("------------------\n", 1)[1].split("Number of Leaves", 1)[0])
    model = fitted(read_arff(path))
    ours = branches(tree_text(model.network_))
    assert len(ours) == len(theirs) > 15
    assert all(same(one, two) for one, two in zip(ours, theirs, strict=True))
    assert np.asarray(model.network_.cpts[CLASS]).shape[1] == 3
