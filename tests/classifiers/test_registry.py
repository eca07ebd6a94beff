"""Every classifier of the registry is on the command line, in model files and in comparisons."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import naivete
from naivete.classifiers.registry import REGISTRY, Entry, entry_of, help_text, shares_counts, with_densities
from naivete.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::naivete.NaiveteWarning")
each = pytest.mark.parametrize("entry", REGISTRY, ids=[entry.word for entry in REGISTRY])


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    windy = rng.integers(0, 2, 40)
    frame = pd.DataFrame({"windy": windy, "warm": rng.normal(windy).round(1), "sky": rng.choice(["sun", "rain"], 40)})
    frame["play"] = np.where((windy + rng.integers(0, 2, 40)) > 1, "no", "yes")
    path = tmp_path_factory.mktemp("registry") / "cases.csv"
    frame.to_csv(path, index=False)
    return path


@each
def test_every_model_is_fitted_saved_shown_and_used(entry: Entry, cases: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.nvt"
    word = "spectrum:members=1,trees=2" if entry.word == "spectrum" else entry.word
    assert main(["fit", str(cases), "--target", "play", "--model", word, "--out", str(model)]) == 0
    loaded = naivete.load(model)
    assert entry_of(loaded) is entry
    assert all(hasattr(loaded, name) for name in entry.estimator.saved_attributes)
    assert main(["show", str(model), "--tables", "--svg", str(tmp_path / "m.svg"), "--html", str(tmp_path / "m.html")]) == 0
    assert main(["predict", str(model), str(cases), "--out", str(tmp_path / "predictions.csv")]) == 0


def test_all_models_are_compared(cases: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [entry.word for entry in REGISTRY]
    assert main(["evaluate", str(cases), "--target", "play", "--folds", "2", "--models", *words]) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in words)


@each
def test_every_class_is_public_and_in_the_help(entry: Entry) -> None:
    assert getattr(naivete, entry.name) is entry.estimator
    assert entry.name in naivete.__all__
    assert all(example in help_text() for example in entry.help)


def test_the_help_imports_no_classifier() -> None:
    code = (
        "import sys; from naivete.cli import main; main(['--help'])\n"
        "print([m for m in ('sklearn', 'scipy', 'naivete.classifiers.base') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_capabilities_are_those_of_the_class() -> None:
    assert with_densities("normal") == [entry.name for entry in REGISTRY if "normal" in entry.estimator.densities]
    assert with_densities("kernel") == ["NaiveBayes"]

    class Mine(naivete.KDB):
        pass

    assert entry_of(Mine()) is None
    assert [shares_counts(model) for model in (naivete.KDB(), Mine(), object())] == [True, False, False]
