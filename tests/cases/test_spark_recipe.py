"""The recipe for Spark: the same model with Spark's interface in place of it, and with Spark itself where there is one."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete import KDB, TAN, NaiveBayes
from naivete.classifiers.saving import model_hash
from naivete.data.labelled_table import ColumnRoles, LabelledTable
from naivete.errors import DataError, ParameterError
from tests import ROOT

pa = pytest.importorskip("pyarrow")
RECIPE = ROOT / "examples" / "spark_recipe.py"


@pytest.fixture(scope="module")
def recipe() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("spark_recipe", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["spark_recipe"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["spark_recipe"]


@dataclass
class FakeFrame:
    """What the recipe asks of a Spark DataFrame: each partition, in batches of a few rows, through a function."""

    partitions: list[Any]
    batch: int = 7

    def mapInArrow(self, function: Callable[[Iterator[Any]], Iterator[Any]], schema: str) -> FakeFrame:  # noqa: N802
        assert schema == "cell binary"
        done = [list(function(iter(own.to_batches(max_chunksize=self.batch) if len(own) else []))) for own in self.partitions]
        return FakeFrame([pa.Table.from_batches(own, pa.schema([("cell", pa.binary())])) for own in done])

    def toLocalIterator(self) -> Iterator[tuple[Any, ...]]:  # noqa: N802
        for own in self.partitions:
            yield from zip(*(column.to_pylist() for column in own.columns), strict=True)


def rows_of(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    hidden = rng.integers(0, 3, n)
    text = np.array(["a", "b", "c"])[(hidden + rng.integers(0, 2, n)) % 3]
    columns = {"text": text, "whole": hidden * 2 + rng.integers(0, 3, n), "number": np.round(hidden + rng.normal(size=n), 3)}
    frame = pd.DataFrame(columns)
    frame["number"] = frame["number"].where(rng.random(n) > 0.2)
    return frame.assign(y=np.array(["no", "yes"])[(hidden + (rng.random(n) < 0.2)) % 2], w=rng.random(n) * 3)


def spread(frame: pd.DataFrame, cuts: list[int]) -> FakeFrame:
    edges = [0, *cuts, len(frame)]
    return FakeFrame([pa.Table.from_pandas(frame[a:b], preserve_index=False) for a, b in pairwise(edges)])


@pytest.mark.parametrize("make", [NaiveBayes, TAN, partial(KDB, k=2), partial(KDB, k="auto")])
@pytest.mark.parametrize("cuts", [[], [1, 2, 50], [30, 30, 90]])
def test_the_model_is_that_of_the_rows_in_memory(recipe: Any, make: Callable[[], Any], cuts: list[int]) -> None:
    frame = rows_of(120)
    whole = make().fit(frame.drop(columns=["y", "w"]), frame["y"], frame["w"])
    assert model_hash(make().fit_cases(recipe.SparkRows(spread(frame, cuts)), "y", weight="w")) == model_hash(whole)


def test_map_keeps_the_order(recipe: Any) -> None:
    frame = rows_of(40)

    def whole_numbers(part: LabelledTable) -> list[int]:
        return part.features["whole"].values.tolist()  # type: ignore[no-any-return]

    rows = recipe.SparkRows(spread(frame, [10, 11]), ColumnRoles("y"), rows=3)
    assert [value for part in rows.map(whole_numbers) for value in part] == frame["whole"].tolist()


def test_an_invalid_value_is_reported(recipe: Any) -> None:
    frame = rows_of(40)
    frame.loc[33, "number"] = np.inf
    with pytest.raises(DataError, match=r"the Spark DataFrame.*number"):
        NaiveBayes().fit_cases(recipe.SparkRows(spread(frame, [10])), "y", weight="w")


def test_invalid_parameters_are_refused(recipe: Any, tmp_path: Path) -> None:
    rows = recipe.SparkRows(spread(rows_of(9), []))
    with pytest.raises(DataError, match="nothing to learn from"):
        NaiveBayes().fit_cases(recipe.SparkRows(FakeFrame([])), "y")
    with pytest.raises(ParameterError, match="cluster='local': SparkRows does not use it"):
        NaiveBayes().fit_cases(rows, "y", cluster="local")
    with pytest.raises(ParameterError, match=r"checkpoint=.*SparkRows does not use it"):
        NaiveBayes().fit_cases(rows, "y", checkpoint=str(tmp_path))
    with pytest.raises(ParameterError, match="encoding: these are options for reading files"):
        NaiveBayes().fit_cases(rows, "y", encoding="utf-8")


@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed")
def test_with_spark_itself(tmp_path: Path) -> None:
    frame = rows_of(120).drop(columns="w")
    for i in range(3):
        frame[40 * i : 40 * i + 40].to_parquet(tmp_path / f"{i}.parquet", index=False)
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    command = [sys.executable, str(RECIPE), str(tmp_path), "y"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[-1] == model_hash(TAN().fit(frame.drop(columns="y"), frame["y"]))
