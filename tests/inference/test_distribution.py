"""Labelled results of queries and samples, against arrays, and against the classifiers whose networks are queried."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from naivete.classifiers.registry import REGISTRY
from naivete.classifiers.spectrum import Spectrum
from naivete.classifiers.trees import ID3
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, ParameterError
from naivete.inference.distribution import Distribution
from naivete.inference.queries import log_probability, marginals, most_probable, posterior
from naivete.inference.sampled_table import sample
from naivete.inference.sampling import sample_codes
from naivete.network.network import Network
from naivete.variables import Variable
from tests.inference.test_junction import joint_table, marginal
from tests.inference.test_queries import weather


def patients(rows: int = 80, *, missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(5)
    ill = rng.random(rows) < 0.4
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows) + 20.5 * ill,
            "smoker": np.where(rng.random(rows) < 0.3 + 0.4 * ill, "yes", "no"),
            "town": rng.choice(["north", "south"], rows),
        }
    )
    if missing:
        frame.loc[::7, "town"] = None
    return frame, np.where(ill, "ill", "well")


ONE_NETWORK = [
    entry
    for entry in REGISTRY
    if entry.estimator.one_network and entry.name not in ("ID3", "C45", "Recursive", "JoinedNaive", "KNaive", "Lookup", "Full")
]


@pytest.mark.parametrize("entry", ONE_NETWORK, ids=lambda entry: entry.name)
def test_the_class_of_a_classifier_has_the_probabilities_of_predict_proba(entry: Any) -> None:
    frame, labels = patients()
    model = entry.estimator().fit(frame, labels)
    for row in ({}, {"age": 61}, {"smoker": "yes", "town": "north"}, {"age": 25.5, "smoker": "no", "town": "south"}):
        expected = model.predict_proba(row or pd.DataFrame({name: [None] for name in frame}, dtype=object))[0]
        result = posterior(model, "class", row)
        assert list(result) == model.classes_.tolist()
        assert np.allclose(result, expected, atol=1e-12)


def test_results_of_a_classifier_equal_enumeration() -> None:
    model = next(entry for entry in REGISTRY if entry.name == "TAN").estimator().fit(*patients())
    joint = joint_table(model.network_)
    assert np.allclose(posterior(model, ["town", "class"]), marginal(joint, (2, -1)), atol=1e-12)
    ill = joint[..., 0]
    assert posterior(model, "smoker", {"class": "ill"})["yes"] == pytest.approx(ill.sum(axis=(0, 2))[1] / ill.sum())
    assert marginals(model)["town"]["south"] == pytest.approx(joint.sum(axis=(0, 1, 3))[1])
    assert log_probability(model, {"class": "ill"}) == pytest.approx(math.log(ill.sum()))
    best = np.unravel_index(joint.argmax(), joint.shape)
    states = most_probable(model).states
    assert [states[v.name] for v in model.network_.variables] == [
        v.labels[int(code)] for v, code in zip(model.network_.variables, best, strict=True)
    ]


@pytest.mark.parametrize("name", ["Spectrum", "AODE", "A2DE"])
def test_classifiers_that_are_not_one_network_are_refused(name: str) -> None:
    entry = next(entry for entry in REGISTRY if entry.name == name)
    model = (Spectrum(members=1) if name == "Spectrum" else entry.estimator()).fit(*patients())
    message = rf"{name} does not predict with one network.*predict_proba.*model\.network_.*not those that {name} predicts"
    for query in (
        lambda: posterior(model, "class"),
        lambda: marginals(model),
        lambda: most_probable(model),
        lambda: log_probability(model, {}),
        lambda: sample(model, 3),
    ):
        with pytest.raises(ParameterError, match=message):
            query()
    assert posterior(model.network_, "class").to_numpy().sum() == pytest.approx(1)


def test_trees_and_models_that_are_not_fitted_are_refused() -> None:
    with pytest.raises(DataError, match=r"derived column.*use the classifier \(predict_proba\)"):
        posterior(ID3().fit(*patients()), "smoker")
    with pytest.raises(DataError, match="derived column"):
        sample(ID3().fit(*patients()), 3)
    with pytest.raises(ParameterError, match="call `fit` first"):
        sample(ID3(), 3)


def test_a_distribution_is_a_mapping_and_an_array() -> None:
    rain = posterior(weather(), "rain", {"out": "go"})
    assert rain.to_dict() == dict(rain) == {"no": rain["no"], "yes": rain["yes"]}
    assert np.array_equal(np.asarray(rain), rain.to_numpy())
    assert repr(rain) == f"P(rain | out=go)\n  no   {rain['no']:.6f}\n  yes  {rain['yes']:.6f}"
    series = rain.to_pandas()
    assert (series.index.name, series.name, series.to_dict()) == ("rain", "probability", dict(rain))
    rain.to_numpy()[0] = 7
    assert rain["no"] < 1
    with pytest.raises(KeyError, match="no state 'maybe'"):
        rain["maybe"]
    assert rain.get("maybe") is None


def test_a_joint_distribution_has_tuples_of_states() -> None:
    table = posterior(weather(), ["out", "degrees"])
    assert len(table) == 8
    assert table["go", "10 .. 20"] == table["go", 15] == table.to_numpy()[1, 1]
    assert table["stay", "missing"] == table["stay", None] == table.to_numpy()[0, 3]
    assert table.to_pandas()["go", "10 .. 20"] == table["go", 15]
    assert table.to_pandas().index.names == ["out", "degrees"]
    assert repr(table).splitlines()[:2] == ["P(out, degrees)", f"  stay  <= 10     {table['stay', 3]:.6f}"]
    with pytest.raises(KeyError, match="a tuple with a state of each"):
        table["go"]


def test_states_that_are_equal_as_keys_stay_apart() -> None:
    mixed = posterior(weather(), "mixed", {"mixed": [0.1, 0.2, 0.3, 0.4]})
    assert len(mixed.to_dict()) == 4
    assert [mixed[state] for state in mixed] == mixed.to_numpy().tolist()
    assert [round(mixed[state], 6) for state in (True, 1, "often")] == [0.1, 0.2, 0.4]
    assert "(code 1)" in repr(mixed)


def test_many_states_are_shortened_and_markup_is_escaped() -> None:
    many = Distribution([Variable("<b>", tuple(range(25)))], np.full(25, 0.04), "P(<b>)")
    assert repr(many).splitlines()[-1] == "  ... and 5 more"
    assert "<b>" not in many._repr_html_()
    assert "and 5 more" in many._repr_html_()
    strange = Distribution([Variable("a", ("x\n\x1b[1m", "y"))], np.array([0.5, 0.5]), "P(a)")
    assert "\x1b" not in repr(strange)
    assert len(repr(strange).splitlines()) == 3


def test_a_sample_has_the_states_of_its_codes() -> None:
    network = weather()
    table, codes = sample(network, 200, 3), sample_codes(network, 200, 3)
    assert table.names == ("rain", "degrees", "mixed", "out")
    for variable, column, drawn in zip(network.variables[:2], table.columns[:2], codes[:2], strict=True):
        expected = [None if c == variable.known else variable.labels[c] for c in drawn.tolist()]
        assert list(column) == expected
    assert None in list(table["degrees"])
    assert {type(value) for value in table["mixed"]} == {bool, int, str}


def test_a_sample_of_a_classifier_can_be_learned_from() -> None:
    frame, labels = patients(missing=True)
    model = next(entry for entry in REGISTRY if entry.name == "KDB").estimator(encoder=Encoder(missing="state")).fit(frame, labels)
    table = sample(model, 400, random_state=0, given={"smoker": "yes"})
    assert set(table["smoker"]) == {"yes"}
    assert None in set(table["town"])
    assert table.to_pandas().shape == (400, 4)
    share = float(np.mean(table["class"] == "ill"))
    assert abs(share - posterior(model, "class", {"smoker": "yes"})["ill"]) < 0.1
    model.fit(table.without("class").without("smoker"), table["class"].to_numpy())


def test_a_sample_of_densities_has_numbers() -> None:
    frame, labels = patients()
    naive = next(entry for entry in REGISTRY if entry.name == "NaiveBayes").estimator(encoder=Encoder(numbers="normal"))
    model = naive.fit(frame, labels)
    table = sample(model, 500, random_state=0)
    ill = np.asarray(table["class"] == "ill")
    ages = table["age"].to_numpy()
    assert ages.dtype == np.float64
    assert abs(ages[ill].mean() - frame["age"][labels == "ill"].mean()) < 3
    with pytest.raises(DataError, match="continuous feature 'age'"):
        sample(model, 5, given={"class": "ill"})


def test_hidden_and_unused_columns() -> None:
    variables = (Variable("unused", (), left_out=True), Variable("class", ("a", "b")))
    network = Network(variables, {0: (), -1: ()}, {0: np.array([1.0]), -1: np.array([0.5, 0.5])})
    assert list(sample(network, 3, 0)["unused"]) == [None] * 3
    model = next(entry for entry in REGISTRY if entry.name == "HiddenNaive").estimator().fit(*patients())
    assert sample(model, 3, 0).names == ("age", "smoker", "town", "class")
