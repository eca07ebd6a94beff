"""Export to ONNX: onnxruntime gives the probabilities of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from naivete import KDB, Encoder, NaiveBayes, Network, ParameterError
from naivete.classifiers.export import export
from naivete.classifiers.export.sum_of_tables import sum_of_tables
from naivete.variables import type_word
from tests.classifiers.export.samples import (
    Sample,
    any_network,
    classifiers,
    fitted,
    frame,
    hostile_model,
    network_sample,
    one_state_networks,
    one_state_sample,
    sample,
)

onnx = pytest.importorskip("onnx", reason="onnx is not installed; pip install 'naivete[test-exports]'")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; pip install 'naivete[test-exports]'")

IN_ONNX = [name for name in classifiers() if name not in ("recursive", "hidden")]


def run(model: Any, rows: Sequence[dict[Any, Any]], **options: Any) -> dict[str, Any]:
    """The outputs of the graph by name."""
    session = ort.InferenceSession(export(model, "onnx", **options), providers=["CPUExecutionProvider"])
    form = sum_of_tables(model)
    used = [x for x, column in enumerate(form.inputs) if column.kind != "unused"]
    feed = {}
    for entry, x in zip(session.get_inputs(), used, strict=True):
        values = [[*row.values()][x] for row in rows]
        if entry.type == "tensor(string)":
            feed[entry.name] = np.array([["" if v is None or v != v else str(v)] for v in values], object)
        else:
            absent = [v is None or v == "" for v in values]
            cells = [np.nan if a else 98765.4321 if v == "never seen" else float(v) for v, a in zip(values, absent, strict=True)]
            feed[entry.name] = np.array(cells).reshape(-1, 1)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def check(chosen: Sample) -> np.ndarray:
    """Compare all rows that are not refused, and return which they are."""
    result = run(chosen.model, chosen.rows)
    label, probabilities, exact = result.values()
    assert exact[chosen.complete].all()
    assert np.isnan(probabilities[~exact]).all()
    np.testing.assert_allclose(probabilities[exact], chosen.expected[exact], rtol=0, atol=1e-12)
    classes = [str(c) for c in sum_of_tables(chosen.model).classes]
    assert [str(c) for c in label[exact].tolist()] == [classes[i] for i in probabilities[exact].argmax(axis=1)]
    return np.asarray(exact)


def can_be_in_onnx(network: Network) -> bool:
    model = sum_of_tables(network)
    kinds = [{type_word(s) for s in column.states} for column in model.inputs]
    numbers = [s for column in model.inputs for s in column.states if type(s) in (int, float)]
    texts = [str(text) for v in network.variables for text in (v.name, *v.states)]
    return (
        not model.hidden
        and model.hierarchy is None
        and (model.tree is None or model.is_plain_tree)
        and all(len(kind) <= 1 for kind in kinds)
        and all(float(number) == number for number in numbers)
        and not any("\ud800" <= c <= "\udfff" or c == "\0" for text in texts for c in text)
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(network=any_network.filter(can_be_in_onnx), seed=st.integers(0, 999))
def test_random_networks(network: Network, seed: int) -> None:
    check(network_sample(network, seed))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(network=one_state_networks.filter(can_be_in_onnx), seed=st.integers(0, 999))
def test_columns_with_one_state(network: Network, seed: int) -> None:
    check(network_sample(network, seed))
    assert check(one_state_sample()).all()


@pytest.mark.parametrize("name", IN_ONNX)
def test_classifiers(name: str) -> None:
    exact = check(sample(name))
    if name in ("naive", "unsmoothed", "majority", "normal", "state", "tree", "id3"):
        assert exact.all()


def test_hostile_names_stay_texts() -> None:
    assert check(hostile_model("naive")).all()


def test_contributions_add_up_to_the_scores() -> None:
    chosen = sample("tan")
    result = run(chosen.model, chosen.rows, contributions=True)
    scores = result["contributions"].sum(axis=1)
    odds = np.log2(chosen.expected[:, 1:] / chosen.expected[:, :1])
    exact = result["exact"]
    np.testing.assert_allclose((scores[:, 1:] - scores[:, :1])[exact], odds[exact], atol=1e-9)
    model = onnx.load_from_string(export(chosen.model, "onnx"))
    assert {"class", "text", "number"} <= {entry.value for entry in model.metadata_props}
    assert 'Model: "TAN for `class`"' in model.graph.doc_string


def test_values_that_are_refused() -> None:
    X, y = frame()
    model = KDB(encoder=Encoder(unseen="error")).fit(X, y)
    known = {"text": "low", "whole": 1.0, "truth": True, "number": 0.0, "other": 1000.0}
    rows = [known, {**known, "text": "new"}, {**known, "whole": 17.0}, {**known, "number": np.inf}]
    result = run(model, rows)
    assert result["exact"].tolist() == [True, False, False, False]
    assert np.isnan(result["probabilities"][1:]).all()


def test_the_same_model_gives_the_same_bytes() -> None:
    assert export(fitted("tan"), "onnx") == export(fitted("tan"), "onnx")


def test_models_that_onnx_cannot_hold() -> None:
    for name, message in (("recursive", "a hierarchy of classifiers"), ("hidden", "has hidden variables")):
        with pytest.raises(ParameterError, match=message):
            export(fitted(name), "onnx")
    with pytest.raises(ParameterError, match="several types"):
        export(NaiveBayes().fit([["a"], [1], [True]], ["no", "yes", "no"]), "onnx")
    with pytest.raises(ParameterError, match="contributions=True: a tree"):
        export(fitted("tree"), "onnx", contributions=True)


def test_pipelines_are_converted_by_skl2onnx() -> None:
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from naivete.classifiers.export.skl2onnx_converter import skl2onnx_converter, skl2onnx_parser, skl2onnx_shapes

    options = {"zipmap": [True, False, "columns"]}
    functions = skl2onnx_shapes, skl2onnx_converter
    skl2onnx.update_registered_converter(NaiveBayes, "NaiveteNaiveBayes", *functions, parser=skl2onnx_parser, options=options)
    X, y = frame()
    numbers = X[["number", "other"]].fillna(0.0).to_numpy()
    model = make_pipeline(StandardScaler(), NaiveBayes(encoder=Encoder(numbers="normal"))).fit(numbers, y)
    types = [("numbers", DoubleTensorType([None, 2]))]
    graph = skl2onnx.convert_sklearn(model, initial_types=types, options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    label, probabilities = session.run(None, {"numbers": numbers})
    np.testing.assert_allclose(probabilities, model.predict_proba(numbers), atol=1e-12)
    assert label.tolist() == model.predict(numbers).tolist()
    texts = X[["text"]].fillna("")
    other = NaiveBayes().fit(texts, y)
    types = [("text", StringTensorType([None, 1]))]
    graph = skl2onnx.convert_sklearn(other, initial_types=types, options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
    session = ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"text": texts.to_numpy()})[1], other.predict_proba(texts), atol=1e-12)
