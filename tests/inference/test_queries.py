"""Questions in names and states against the joint table, and what is said of questions that cannot be answered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import DataError, ParameterError
from naivete.inference.junction import JunctionTree
from naivete.inference.predictor import Predictor
from naivete.inference.queries import log_likelihoods, log_probability, marginals, most_probable, posterior, posteriors
from naivete.inference.sampled_table import sample
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.inference.test_junction import any_network, any_structure, evidences, joint_table, marginal, weighted
from tests.oracles import identical, missing

quick = settings(deadline=None, max_examples=40)


def weather() -> Network:
    """Rain, a temperature in three intervals, an outlook in text with truth values and numbers among its states, and the class."""
    variables = (
        Variable("rain", ("no", "yes")),
        Variable("degrees", cuts=(10.0, 20.0), missing=True),
        Variable("mixed", (True, 1, "1", "often")),
        Variable("out", ("stay", "go")),
    )
    rng = np.random.default_rng(4)
    rain, degrees, mixed = np.array([0.75, 0.25]), rng.dirichlet(np.ones(4), 2), np.full(4, 0.25)
    out = rng.dirichlet([1, 1], (2, 4, 4))
    return Network(variables, {0: (), 1: (0,), 2: (), CLASS: (0, 1, 2)}, {0: rain, 1: degrees, 2: mixed, CLASS: out})


def rows_with_missing(network: Network, seed: int, count: int = 30) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    table = joint_table(network)
    cells = np.unravel_index(rng.choice(table.size, count, p=table.ravel() / table.sum()), table.shape)
    codes = [c.astype(np.uint8) for c in cells]
    for c in codes:
        c[rng.random(count) < rng.choice([0, 0.3, 0.7])] = 255
    return codes


@given(network=any_structure(max_features=4), data=st.data())
@quick
def test_queries_by_name_equal_queries_by_position(network: Network, data: st.DataObject) -> None:
    evidence = data.draw(evidences(network))
    exact = weighted(network, evidence)
    words: dict[Any, Any] = {}
    for v, codes in evidence.codes.items():
        variable, code = network.variables[v], int(codes[0])
        words[data.draw(st.sampled_from([variable.name, v]))] = data.draw(
            st.sampled_from([variable.states[code], variable.labels[code]])
        )
    for v, own in evidence.likelihoods.items():
        states = dict(zip(network.variables[v].states, own[:, 0].tolist(), strict=True))
        words[network.name(v)] = data.draw(st.sampled_from([states, own[:, 0], own[:, 0].tolist()]))
    if exact.sum() == 0:
        assert log_probability(network, words) == -math.inf
        with pytest.raises(DataError, match="the evidence is impossible"):
            most_probable(network, words)
        return
    assert log_probability(network, words) == pytest.approx(math.log(exact.sum()), rel=1e-12, abs=1e-12)
    of = [network.name(CLASS), *(network.name(x) for x in network.features[:1])]
    assert np.allclose(posterior(network, of, words), marginal(exact, (CLASS, *network.features[:1])) / exact.sum(), atol=1e-12)
    each = marginals(JunctionTree(network), words)
    assert list(each) == [v.name for v in network.variables]
    assert all(np.allclose(each[network.name(v)], marginal(exact, (v,)) / exact.sum(), atol=1e-12) for v in network.parents)
    answer = most_probable(network, words)
    assert answer.log_probability == pytest.approx(math.log(exact.max()), rel=1e-12, abs=1e-12)
    assert set(answer.states) == {network.name(v) for v in network.parents if v not in evidence.codes}


@given(network=any_network, seed=st.integers(0, 999))
@quick
def test_many_rows_equal_enumeration(network: Network, seed: int) -> None:
    codes = rows_with_missing(network, seed)
    of = [network.name(CLASS), *(network.name(x) for x in network.features[-1:])]
    joint = joint_table(network)
    logs, tables = log_likelihoods(network, codes), posteriors(network, of, codes, np.array([missing(c).any() for c in codes]))
    for i in range(len(logs)):
        exact = joint
        for axis, c in enumerate(codes):
            if c[i] != 255:
                shape = [-1 if a == axis else 1 for a in range(joint.ndim)]
                exact = exact * (np.arange(joint.shape[axis]) == c[i]).reshape(shape)
        assert logs[i] == pytest.approx(math.log(exact.sum()), rel=1e-12, abs=1e-12)
        assert np.allclose(tables[i], marginal(exact, (CLASS, *network.features[-1:])) / exact.sum(), atol=1e-12)


@given(network=any_network.filter(lambda n: len(n.features) > 0), seed=st.integers(0, 999))
@quick
def test_the_class_of_many_rows_is_what_the_predictor_says(network: Network, seed: int) -> None:
    codes = rows_with_missing(network, seed)[:-1]
    expected, _ = Predictor(network).posterior(codes, np.array([missing(c).any() for c in codes]))
    assert np.allclose(posteriors(network, CLASS, codes), expected, atol=1e-12)


@given(network=any_network, seed=st.integers(0, 999))
@quick
def test_rows_alone_or_shuffled_have_the_same_bits(network: Network, seed: int) -> None:
    codes = rows_with_missing(network, seed)
    whole, logs = posteriors(network, 0, codes), log_likelihoods(network, codes)
    order = np.random.default_rng(seed).permutation(len(logs))
    assert identical(posteriors(network, 0, [c[order] for c in codes]), whole[order])
    assert identical(log_likelihoods(network, [c[order] for c in codes]), logs[order])
    for i in range(0, len(logs), 7):
        alone = [c[i : i + 1] for c in codes]
        assert identical(posteriors(network, 0, alone), whole[i : i + 1])
        assert identical(log_likelihoods(network, alone), logs[i : i + 1])


def test_numbers_fall_into_intervals_and_states_keep_their_type() -> None:
    network = weather()
    for number, label in [(-3, "<= 10"), (10, "<= 10"), (10.5, "10 .. 20"), (np.float32(20), "10 .. 20"), (1e9, "> 20")]:
        assert np.array_equal(posterior(network, "degrees", {"degrees": number}), posterior(network, "degrees", {"degrees": label}))
    assert posterior(network, "degrees", {"degrees": None}).to_numpy().tolist() == [0, 0, 0, 1]
    assert posterior(network, "degrees", {"degrees": math.nan}).to_numpy().tolist() == [0, 0, 0, 1]
    for value, code in [(True, 0), (1, 1), (1.0, 1), (np.int64(1), 1), ("1", 2), ("often", 3), ("True", 0), (np.bool_(True), 0)]:
        assert posterior(network, "mixed", {"mixed": value}).to_numpy().argmax() == code
    assert set(most_probable(network).states) == {"rain", "degrees", "mixed", "out"}
    assert most_probable(network, {"degrees": 11}).states.keys() == {"rain", "mixed", "out"}


def test_positions_stand_for_variables_that_have_no_such_name() -> None:
    network = weather()
    assert np.array_equal(posterior(network, 3), posterior(network, "out"))
    assert np.array_equal(posterior(network, -1), posterior(network, "out"))
    turned = Network(
        (Variable(1, (0, 1)), Variable(0, (0, 1, 2))), {0: (), CLASS: ()}, {0: np.array([0.5, 0.5]), CLASS: np.ones(3) / 3}
    )
    assert len(posterior(turned, 0)) == 3
    assert len(posterior(turned, 1)) == 2


def test_soft_evidence_is_combined_with_the_network() -> None:
    """0.75 x 0.3 against 0.25 x 0.9."""
    found = posterior(weather(), "rain", {"rain": {"no": 0.3, "yes": 0.9}})
    assert np.allclose(found, [0.5, 0.5])
    assert log_probability(weather(), {"rain": {"yes": 2}}) == pytest.approx(math.log(0.5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rian": "yes"}, r"no variable 'rian'; did you mean 'rain'\?"),
        ({7: "yes"}, r"no variable 7; it has \['rain'"),
        ({True: "yes"}, "no variable True"),
        ({"rain": "yess"}, r"'rain' has no state 'yess'; did you mean 'yes'\?"),
        ({"rain": 3}, r"'rain' has no state 3; it has \('no', 'yes'\)"),
        ({"rain": True}, "no state True"),
        ({"rain": None}, "'rain' has no value; leave it out"),
        ({"degrees": math.inf}, "'degrees' has no state inf"),
        ({"degrees": "hot"}, "'degrees' has no state 'hot'"),
        ({"rain": "yes", 0: "no"}, "'rain' is given twice"),
        ({"rain": [1, 2, 3]}, "one number for each of its 2 states"),
        ({"rain": [0, 0]}, "not all 0"),
        ({"rain": [-1, 1]}, "not negative"),
        ({"rain": [math.nan, 1]}, "finite"),
        ({"rain": ["a", "b"]}, "are not numbers"),
        ({"rain": {"maybe": 1}}, "no state 'maybe'"),
        ({"rain": {"yes": "much"}}, "are not numbers"),
    ],
)
def test_unknown_variables_and_states_are_reported(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        posterior(weather(), "out", given)


def test_evidence_may_be_a_row_of_a_frame() -> None:
    row = pd.DataFrame({"rain": ["yes"], "degrees": [12.5]}).iloc[0]
    assert posterior(weather(), "out", row) == posterior(weather(), "out", {"rain": "yes", "degrees": 12.5})
    assert sample(weather(), 3, 0, given=row)["rain"].to_numpy().tolist() == ["yes"] * 3
    with pytest.raises(DataError, match=r"given=\['yes'\]: a mapping from variables to values is needed"):
        posterior(weather(), "out", ["yes"])


@pytest.mark.parametrize("of", [[], ["rain", "rain"], ["rain", 0], "snow", [["rain"]], True])
def test_queries_need_distinct_known_variables(of: Any) -> None:
    with pytest.raises(DataError):
        posterior(weather(), of)


def test_codes_are_checked_before_they_are_used() -> None:
    network = weather()
    good = [np.zeros(3, np.uint8) for _ in range(4)]
    for codes, message in [
        (good[:2], "each of 4 variables"),
        ([*good[:3], np.zeros(2, np.uint8)], "of one length"),
        ([*good[:3], np.zeros(3)], "not of whole numbers"),
        ([np.array([0, 2, 0], np.uint8), *good[1:]], "row 1: column 'rain' has 2"),
        ([np.array([0, -1, 0], np.int8), *good[1:]], "row 1: column 'rain' has -1"),
    ]:
        with pytest.raises(DataError, match=message):
            posteriors(network, "out", codes)
    assert posteriors(network, "out", [c[:0] for c in good]).shape == (0, 2)
    assert log_likelihoods(network, [c[:0] for c in good]).shape == (0,)
    assert posteriors(network, "out", good, np.zeros(4, bool)).tolist() == [[1, 0]] * 3


def test_an_impossible_row_is_reported_and_has_no_likelihood() -> None:
    variables = (Variable("a", ("no", "yes")), Variable("b", (0, 1)), Variable("class", ("p", "q")))
    parents: dict[int, tuple[int, ...]] = {CLASS: (), 0: (CLASS,), 1: ()}
    network = Network(
        variables, parents, {CLASS: np.array([0.5, 0.5]), 0: np.array([[1.0, 1.0], [0.0, 0.0]]), 1: np.array([0.5, 0.5])}
    )
    codes = [np.array([0, 0, 1], np.uint8), np.full(3, 255, np.uint8)]
    with pytest.raises(DataError, match="the evidence is impossible: row 2: a=yes has probability 0"):
        posteriors(network, "class", codes)
    assert np.isneginf(log_likelihoods(network, codes)).tolist() == [False, False, True]
    assert np.isneginf(log_likelihoods(network, [codes[0], np.zeros(3, np.uint8)])).tolist() == [False, False, True]


def test_no_warning_escapes_whatever_numpy_is_told_to_do() -> None:
    network = weather()
    with np.errstate(all="raise"):
        posterior(network, "rain", {"out": "go"})
        marginals(network, {"degrees": 3, "mixed": [0, 0, 1e-300, 1e-310]})
        most_probable(network, {"mixed": {"often": 1}})


class Fitted:
    """Anything with a network in `network_`, as fitted classifiers have."""

    def __init__(self, network: Network) -> None:
        self.network_ = network


def test_queries_accept_a_fitted_classifier() -> None:
    network, known = weather(), {"rain": "yes"}
    model = Fitted(network)
    assert identical(posterior(model, "out", known).to_numpy(), posterior(network, "out", known).to_numpy())
    assert identical(marginals(model, known)["out"].to_numpy(), marginals(network, known)["out"].to_numpy())
    assert log_probability(model, known) == log_probability(network, known)
    assert most_probable(model, known) == most_probable(network, known)
    codes = rows_with_missing(network, 0)
    assert identical(log_likelihoods(model, codes), log_likelihoods(network, codes))
    assert identical(posteriors(model, "out", codes), posteriors(network, "out", codes))
    assert sample(model, 5, 0).to_pandas().equals(sample(network, 5, 0).to_pandas())


def test_a_classifier_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"a network, its junction tree or a fitted classifier is needed, got object; .*fit"):
        posterior(object(), "out")  # type: ignore[arg-type]
