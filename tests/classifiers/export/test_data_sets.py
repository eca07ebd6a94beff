"""All formats on published data sets, with their missing values and with values that occur only in the rows to predict."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import naivete
from naivete import C45, TAN, NaiveBayes
from tests.classifiers.export import test_c, test_python, test_sql
from tests.classifiers.export.samples import Sample
from tests.evaluation import data

NAMES = [
    "anneal",
    "autos",
    "balance-scale",
    "breast-cancer",
    "breast-w",
    "car",
    "cmc",
    "colic",
    "credit-a",
    "dermatology",
    "diabetes",
    "ecoli",
    "flare",
    "glass",
    "heart-c",
    "hepatitis",
    "iris",
    "labor",
    "lymph",
    "primary-tumor",
]

HAS_ONNX = all(importlib.util.find_spec(package) is not None for package in ("onnx", "onnxruntime"))


def samples(name: str) -> list[Sample]:
    """Models of half of the rows, with some of the other half."""
    table = naivete.read(data(name))
    target = table.names[-1]
    order = np.random.default_rng(0).permutation(len(table))
    half = len(table) // 2
    train, rest = table.take(np.sort(order[:half])), table.take(np.sort(order[half:])[:60])
    columns = [column for column in table.names if column != target]
    result = []
    for model in (NaiveBayes(), TAN(), C45()):
        with warnings.catch_warnings(action="ignore"):
            model.fit(train[columns], list(train[target]))
            expected = model.predict_proba(rest[columns])
        values: list[list[Any]] = [list(rest[column]) for column in columns]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        result.append(Sample(model, rows, expected, np.zeros(len(rows), bool)))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_data_set(name: str, tmp_path: Path) -> None:
    chosen = samples(name)
    for one in chosen:
        test_python.check(one)
        if test_sql.has_exp():
            test_sql.check(one, "sqlite")
        if HAS_ONNX:
            from tests.classifiers.export import test_onnx

            test_onnx.check(one)
    if test_c.COMPILER is not None:
        test_c.check(chosen, tmp_path)
