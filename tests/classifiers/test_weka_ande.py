"""AODE beside AODE and AODEsr of Weka, run as a program of its own: the same probabilities of training rows and of new ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naivete.classifiers.ande import AODE
from naivete.data.files import read_arff, write_arff
from tests.data.files.test_data_sets import FOLDER, needs_data
from tests.data.files.test_weka import JAR, needs_weka

VARIANTS: dict[str, dict[str, Any]] = {
    "AODE -F 1": {"subsumption": None},
    "AODE -F 20": {"subsumption": None, "min_frequency": 20},
    "AODEsr -L -F 1 -C 99": {"subsumption": 100},
    "AODEsr -L -F 5 -C 9": {"subsumption": 10, "min_frequency": 5},
}
"""The options of Weka and the parameters here; a value has to occur more than C times to imply another."""


def weka(options: str, train: Path, test: Path) -> np.ndarray:
    """The probabilities of the classes, as printed with three decimals.  # (row, class)"""
    name, *words = options.split()
    call = [
        "java",
        "-cp",
        str(JAR),
        f"weka.classifiers.bayes.{name}",
        "-t",
        str(train),
        "-T",
        str(test),
        "-p",
        "0",
        "-distribution",
    ]
    printed = subprocess.run([*call, *words], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"^ +\d+ .* ([\d.,*E-]+) *$", printed, re.MULTILINE)
    return np.array([[float(p.replace("*", "")) for p in line.split(",")] for line in lines])


@needs_weka
@needs_data
@pytest.mark.parametrize("options", VARIANTS)
@pytest.mark.parametrize("name", ["vote", "breast-cancer", "kr-vs-kp", "soybean", "tic-tac-toe"])
def test_the_same_probabilities(name: str, options: str, tmp_path: Path) -> None:
    """Two states to nineteen classes, with and without missing values; the first two thirds are learned."""
    table = read_arff(FOLDER / f"{name}.arff.gz")
    order = np.random.default_rng(0).permutation(len(table))
    parts = [table.take(np.sort(order[rows])) for rows in (slice(None, 2 * len(order) // 3), slice(2 * len(order) // 3, None))]
    paths = [tmp_path / "train.arff", tmp_path / "test.arff"]
    for part, path in zip(parts, paths, strict=True):
        write_arff(part, path)
    label = table.names[-1]
    model = AODE(**VARIANTS[options]).fit(parts[0].without(label), list(parts[0][label]))
    theirs = weka(options, *paths)
    ours = model.predict_proba(parts[1].without(label))
    assert theirs.shape[0] == ours.shape[0] > 80
    declared = [str(state) for state in table[label].states]
    ours = np.column_stack([ours[:, [str(c) for c in model.classes_].index(state)] for state in declared])
    assert np.allclose(ours, theirs, rtol=0, atol=6e-4), np.abs(ours - theirs).max(axis=1).argsort()[-5:]
