"""Memory of reading: a first block of distinct texts stays within the limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from naivete import NaiveBayes, model_hash
from naivete.cases.sources import LEAST_ROWS, plan_reading
from naivete.data.files import pieces
from naivete.data.files.row_groups import RowGroups


def frame_of_texts(rows: int, columns: int, width: int) -> pd.DataFrame:
    """Columns of texts that all differ, one of few texts, a number and a class."""
    rng = np.random.default_rng(0)
    texts = {f"t{j}": [f"{i:0{width}x}" for i in rng.permutation(rows)] for j in range(columns)}
    few = np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]
    return pd.DataFrame({**texts, "few": few, "number": rng.integers(0, 4, rows), "y": rng.integers(0, 2, rows)})


def test_columns_of_distinct_texts_are_not_read_as_dictionaries(tmp_path: Path) -> None:
    frame = frame_of_texts(40_000, 1, 40)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame[:50].to_csv(tmp_path / "rows.csv", index=False)
    files = pieces(tmp_path / "rows.parquet")
    reading = files.pieces[0].reading
    assert isinstance(reading, RowGroups)
    assert (reading.texts, files.texts, files.overhead > 0) == (("few",), 1, True)
    assert (pieces(tmp_path / "rows.csv").texts, pieces(tmp_path / "rows.csv").overhead) == (2, 0)
    some = frame.drop(columns="t0").assign(t0=frame["t0"].str[-1] + "x" * 60)  # few texts that are long
    some.to_parquet(tmp_path / "some.parquet")
    assert pieces(tmp_path / "some.parquet").texts == 0
    learned = NaiveBayes().fit_cases(tmp_path / "some.parquet", "y")
    assert model_hash(learned) == model_hash(NaiveBayes().fit(some.drop(columns="y"), some["y"]))


def test_fewer_rows_are_read_at_a_time_where_texts_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("naivete.cases.sources.resident", lambda: 80_000_000)
    without, one, ten = (plan_reading(400_000_000, 20, 1 << 30, texts=texts).rows for texts in (0, 1, 10))
    assert without > one > ten > LEAST_ROWS
    taken = plan_reading(400_000_000, 20, 1 << 30, overhead=64 << 20)
    assert taken.budget == plan_reading(400_000_000, 20, 1 << 30).budget - (32 << 20)


LEARN = """
import re, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
from naivete import NaiveBayes, ResourceError
try:
    NaiveBayes().fit_cases(sys.argv[1], "y", memory=int(sys.argv[2]))
except ResourceError as error:
    assert "distinct values so far" in str(error), error
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("memory", [250_000_000, 400_000_000])
@pytest.mark.parametrize(("rows", "columns", "width"), [(1_000_000, 1, 8), (1_000_000, 1, 40), (200_000, 10, 12)])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_distinct_texts_stay_within_the_memory(
    tmp_path: Path, ending: str, rows: int, columns: int, width: int, memory: int
) -> None:
    frame, path = frame_of_texts(rows, columns, width), tmp_path / f"rows.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=rows)
    done = subprocess.run([sys.executable, "-c", LEARN, str(path), str(memory)], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= memory
