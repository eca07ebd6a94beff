"""Export to Python: the probabilities are those of the library, bit for bit."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete import KDB, Encoder, Full, NaiveBayes, Network
from naivete._kernels.dispatch import compiled
from naivete.classifiers.export import export
from naivete.inference.predictor import Predictor
from naivete.variables import Variable
from tests.classifiers.export.samples import (
    Sample,
    any_network,
    classifiers,
    frame,
    hostile_model,
    network_sample,
    one_state_networks,
    sample,
)


def module_of(program: str) -> dict[str, Any]:
    """The names of an exported file, which may import from the standard library only."""
    names: dict[str, Any] = {"__name__": "exported"}
    exec(compile(program, "exported.py", "exec"), names)
    return names


def check(sample: Sample) -> None:
    module = module_of(export(sample.model, "python"))
    actual = np.array([module["predict_proba"](row) for row in sample.rows])
    if compiled() is not None:
        np.testing.assert_array_equal(actual, sample.expected)
    else:  # NumPy's exponential function may differ in the last bit
        np.testing.assert_allclose(actual, sample.expected, rtol=0, atol=1e-12)
    labels = [module["CLASSES"][i] for i in actual.argmax(axis=1)]
    assert [module["predict"](row) for row in sample.rows] == labels


@given(network=any_network, seed=st.integers(0, 999))
def test_random_networks(network: Network, seed: int) -> None:
    check(network_sample(network, seed))


@given(network=one_state_networks, seed=st.integers(0, 999))
def test_columns_with_one_state(network: Network, seed: int) -> None:
    check(network_sample(network, seed))


@pytest.mark.parametrize("name", classifiers())
def test_classifiers(name: str) -> None:
    check(sample(name))


def test_missing_continuous_parents_are_marginalized() -> None:
    X, y = frame()
    rows = X[["whole", "number", "other"]].astype(float)
    model = Full(encoder=Encoder(numbers="normal", kinds={"whole": "numeric"})).fit(rows, y)
    check(Sample(model, rows.to_dict("records"), model.predict_proba(rows), np.zeros(len(X), bool)))


def test_many_continuous_parents() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(200, 12)) @ rng.normal(size=(12, 12))
    numbers[rng.random(numbers.shape) < 0.02] = np.nan
    X = pd.DataFrame(numbers, columns=list("abcdefghijkl"))
    model = Full(encoder=Encoder(numbers="normal")).fit(X, rng.integers(0, 3, 200))
    check(Sample(model, X.to_dict("records"), model.predict_proba(X), np.zeros(len(X), bool)))


def test_missing_parents_of_a_column_with_one_state() -> None:
    names = [Variable(name, tuple("ab"[:card])) for name, card in (("x", 2), ("y", 2), ("one", 1), ("z", 2), ("class", 2))]
    half, certain = np.full((2, 2), 0.5), np.array([[0.9, 0.2], [0.1, 0.8]])
    cpts = {0: certain, 1: half, 2: np.ones((2, 2, 1)), 3: certain.T, -1: half[0]}
    network = Network(tuple(names), {0: (-1,), 1: (-1,), 2: (0, 1), 3: (0,), -1: ()}, cpts)
    module = module_of(export(network, "python"))
    codes = [np.array([code], np.uint8) for code in (255, 255, 0, 1)]
    expected = Predictor(network).posterior(codes, np.array([True, True, False, False]))[0]
    np.testing.assert_allclose([module["predict_proba"]({"one": "a", "z": "b"})], expected, rtol=0, atol=0 if compiled() else 1e-12)


def test_hostile_names_stay_texts() -> None:
    hostile = hostile_model()
    program = export(hostile.model, "python")
    assert program.isascii()
    tree = ast.parse(program)
    assert {type(node).__name__ for node in tree.body} == {"Expr", "ImportFrom", "Assign", "FunctionDef"}
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"bisect", "itertools", "math"}
    assert "import os" not in [line.strip() for line in program.splitlines()]
    called = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not called & {"open", "exec", "eval", "compile", "__import__", "getattr", "globals", "input"}
    check(hostile)


def test_values_that_are_refused() -> None:
    X, y = frame()
    module = module_of(export(KDB(encoder=Encoder(unseen="error")).fit(X, y), "python"))
    for row, message in (
        ({"text": "never seen"}, "column 'text': 'never seen' did not occur in training"),
        ({"number": float("inf")}, "column 'number': inf is not a finite number"),
        ({"number": "3"}, "column 'number': '3' is not a number"),
        ({"number": 10**400}, "column 'number': an integer is too large for a number"),
    ):
        with pytest.raises(ValueError, match=message):
            module["predict_proba"](row)


def test_scalars_of_numpy_are_values() -> None:
    X, y = frame()
    module = module_of(export(NaiveBayes().fit(X, y), "python"))
    row = {"text": "low", "whole": 1, "truth": True, "number": 0.5}
    scalars = {"text": np.str_("low"), "whole": np.int64(1), "truth": np.bool_(True), "number": np.float32(0.5)}
    assert module["predict_proba"](scalars) == module["predict_proba"](row)
    missing = module["predict_proba"]({})
    assert module["predict_proba"]({"text": pd.NA, "whole": pd.NA, "truth": pd.NA, "number": pd.NaT}) == missing
    with pytest.raises(ValueError, match="column 'number': inf is not a finite number"):
        module["predict_proba"]({"number": np.float32("inf")})


def test_the_header_describes_the_model() -> None:
    X, y = frame()
    model = NaiveBayes(encoder=Encoder(missing="state", unseen="smooth")).fit(X, y)
    program = export(model, "python")
    assert '# Model: "NaiveBayes for `class`"' in program
    assert '# Class: "class", one of "maybe", "no", "yes"' in program
    described = "nominal, 3 values; missing is a value of its own; a value that is not listed is treated as one value of its own"
    assert f'#   "text": {described}\n' in program
    assert '#   "number": numeric, ' in program
    assert program == export(model, "python")
