"""One fitted classifier used by many threads at once: every result is the one of a single thread, whatever was computed before."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import naivete
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.registry import REGISTRY
from naivete.errors import DataError, ParameterError, ResourceError
from tests import estimator_of
from tests.classifiers.export.samples import frame

THREADS = 8
QUICK = ("KDB", "HillClimb", "Spectrum")
MODELS = [pytest.param(entry, id=entry.name, marks=() if entry.name in QUICK else pytest.mark.slow) for entry in REGISTRY]


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Let the interpreter change threads as often as it can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def rows() -> pd.DataFrame:
    return frame(12, seed=5)[0]


def calls(model: NetworkClassifier) -> dict[str, Callable[[], Any]]:
    """Uses of a fitted classifier by name; none of them changes it."""
    table = rows()
    records: list[dict[str, Any]] = table.to_dict("records")
    predict = model.row_predictor()
    target = model.network_.name(-1)
    return {
        "predict_proba": lambda: model.predict_proba(table).tobytes(),
        "single rows": lambda: [model.predict_proba(record).tobytes() for record in records],
        "frames of one row": lambda: [model.predict_proba(table[i : i + 1]).tobytes() for i in range(3)],
        "row_predictor": lambda: [predict.probabilities(record) for record in records],
        "another row_predictor": lambda: [model.row_predictor()(record) for record in records[:3]],
        "explain": lambda: str(model.explain(records[0])),
        "ask_next": lambda: str(model.ask_next({"text": "low"})),
        "flip": lambda: str(model.flip(records[1])),
        "sufficient_reason": lambda: str(model.sufficient_reason(records[2])),
        "importances": lambda: model.feature_importances_.tobytes(),
        "posterior": lambda: str(naivete.posterior(model, target, {"text": "low"})),
        "most_probable": lambda: str(naivete.most_probable(model, {"truth": True})),
        "sample": lambda: str(naivete.sample(model, 5, random_state=3).to_pandas()),
        "attributes": lambda: (str(model.tables_), str(model.parents_), str(model.information_)),
        "drawing": lambda: model._repr_html_(),
    }


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the message of the error with which the library refuses it."""
    try:
        return call()
    except (AttributeError, DataError, ParameterError, ResourceError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("entry", MODELS)
def test_results_of_many_threads_are_those_of_one(entry: Any, tmp_path: Path) -> None:
    X, y = frame(120)
    path = tmp_path / "model.nvt"
    with warnings.catch_warnings(action="ignore"):
        naivete.save(estimator_of(entry).fit(X, y), path)
        alone = {name: outcome(call) for name, call in calls(naivete.load(path)).items()}
        assert sum("Error: " in str(result) for result in alone.values()) <= 6  # what this kind of model does not have
        shared = calls(naivete.load(path))  # nothing is kept yet
        ready = threading.Barrier(THREADS)

        def use(first: int) -> dict[str, Any]:
            names = [*shared]
            ready.wait()
            return {name: outcome(shared[name]) for name in names[first % len(names) :] + names[: first % len(names)]}

        with ThreadPoolExecutor(THREADS) as pool:
            results = [*pool.map(use, [0, 0, 0, 1, 2, 3, 5, 8])]
    for result in results:
        for name, value in alone.items():
            assert result[name] == value, name
