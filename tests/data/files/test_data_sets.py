"""The 84 data sets of the project: their files hold what their manifest says."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from naivete.data.files import read, read_arff
from tests import ROOT

BESIDE = ROOT.parent / "shared" / "data"
FOLDER = Path(os.environ.get("NAIVETE_DATA", BESIDE))
MANIFEST = FOLDER / "manifest.csv"
SETS = list(csv.DictReader(MANIFEST.read_text(encoding="utf-8").splitlines())) if MANIFEST.exists() else []
SLOW = 200_000

needs_data = pytest.mark.skipif(not SETS, reason="no data sets where NAIVETE_DATA says or beside the repository")


def cells(row: dict[str, str]) -> int:
    return int(row["rows"]) * (int(row["features"]) + 1)


@needs_data
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["name"], marks=[pytest.mark.slow] if cells(row) > SLOW else []) for row in SETS]
)
def test_values_are_those_of_the_manifest(row: dict[str, str]) -> None:
    table = read_arff(FOLDER / row["file"])
    *features, label = table.columns
    assert label.states is not None
    measured = {
        "rows": len(table),
        "features": len(features),
        "classes": len(np.unique(label.values[label.values >= 0])),
        "classes_declared": len(label.states),
        "missing_values": sum(int((c.values < 0).sum() if c.states is not None else np.isnan(c.values).sum()) for c in features),
        "numeric_features": sum(c.kind == "numeric" for c in features),
        "max_nominal_values": max((len(c.states) for c in features if c.states is not None), default=0),
    }
    assert measured == {key: int(row[key] or 0) for key in measured}


@needs_data
def test_manifest_is_read_as_text() -> None:
    """The manifest itself: hashes and notes stay text, counts are integers."""
    table = read(MANIFEST)
    assert len(table) == len(SETS) == 84
    assert list(table["sha256"]) == [row["sha256"] for row in SETS]
    assert list(table["rows"]) == [int(row["rows"]) for row in SETS]
