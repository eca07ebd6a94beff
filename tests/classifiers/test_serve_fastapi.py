"""The recipe `examples/serve_fastapi.py`: requests to the application, without a server."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naivete
from tests import ROOT
from tests.inference.test_distribution import patients

pytestmark = pytest.mark.skipif(not (ROOT / "examples").exists(), reason="the recipe is that of a checkout")


@pytest.fixture(scope="module")
def model() -> naivete.NetworkClassifier:
    return naivete.TAN().fit(*patients())


@pytest.fixture(scope="module")
def client(model: naivete.NetworkClassifier, tmp_path_factory: pytest.TempPathFactory) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # of the test client about its own dependencies
            from fastapi.testclient import TestClient
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"the recipe needs fastapi, and its test client httpx (pip install fastapi httpx): {error}")
    path = tmp_path_factory.mktemp("service") / "model.nvt"
    naivete.save(model, path)
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        from serve_fastapi import app_of  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(ROOT / "examples"))
    return TestClient(app_of(str(path)))


def test_rows_are_predicted(client: Any, model: naivete.NetworkClassifier) -> None:
    rows = [{"age": 61.5, "smoker": "yes", "town": "north"}, {"age": None, "smoker": "no"}, {"smoker": "rarely", "age": 30}, {}]
    answers = client.post("/predict", json=rows)
    assert answers.status_code == 200
    frame = pd.DataFrame(rows, columns=["age", "smoker", "town"])
    frame.loc[2, "smoker"] = None  # it did not occur in training
    expected = model.predict_proba(frame)
    for answer, probabilities in zip(answers.json(), expected, strict=True):
        assert [entry["class"] for entry in answer["probabilities"]] == model.classes_.tolist()
        assert np.allclose([entry["probability"] for entry in answer["probabilities"]], probabilities, atol=1e-12)
        assert answer["class"] == model.classes_[probabilities.argmax()]
    assert client.post("/predict", json=rows[0]).json() == answers.json()[0]
    assert client.post("/predict", json=[]).json() == []
    assert client.get("/").json() == {"features": ["age", "smoker", "town"], "classes": ["ill", "well"]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff\xfe\x00", "the body is not JSON"),
        (b"[" * 100_000, "the body is not JSON"),
        (b"3", "row 0: an object with values by name is needed"),
        (b'[{}, "a"]', "row 1: an object"),
        (b'{"aeg": 3}', "row 0: there is no feature 'aeg'; the features are"),
        (b'{"age": [3]}', "row 0: 'age': a text, a number"),
        (b'{"age": NaN}', "row 0: 'age': a text, a number"),
        (b'{"age": "old"}', "row 0: "),
        (b"[" + b"{}," * 1000 + b"{}]", "1,001 rows; at most 1,000"),
    ],
)
def test_bad_bodies_are_refused(client: Any, body: bytes, message: str) -> None:
    answer = client.post("/predict", content=body)
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_large_bodies_are_refused(client: Any) -> None:
    assert client.post("/predict", content=b" " * 1_000_001).status_code == 413


def test_the_server_listens_on_this_machine_only() -> None:
    text = Path(ROOT / "examples" / "serve_fastapi.py").read_text()
    assert 'host="127.0.0.1"' in text
    assert "0.0.0.0" not in text
