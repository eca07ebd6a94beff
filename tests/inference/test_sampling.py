"""Samples against exact probabilities, with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from naivete.errors import DataError, ParameterError, ResourceError
from naivete.inference import sampling
from naivete.inference.junction import JunctionTree
from naivete.inference.sampling import sample_codes
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.inference.test_junction import any_network, any_structure, arithmetic, both, evidences, weighted
from tests.oracles import identical
from tests.strategies import dense_table

quick = settings(deadline=None, max_examples=30)


def diamond() -> Network:
    """A class in the middle: parents above it, children below, a loop through it."""
    rng = np.random.default_rng(8)
    variables = tuple(Variable(name, tuple(range(card))) for name, card in zip("abcde", (3, 2, 4, 2, 3), strict=True))
    parents: dict[int, tuple[int, ...]] = {0: (), 1: (0,), CLASS: (0, 1), 2: (CLASS,), 3: (1, 2, CLASS)}
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


def as_given(network: Network, evidence: Any) -> dict[Any, Any]:
    hard = {network.name(v): network.variables[v].labels[int(codes[0])] for v, codes in evidence.codes.items()}
    return hard | {network.name(v): own[:, 0] for v, own in evidence.likelihoods.items()}


def check_frequencies(network: Network, codes: tuple[np.ndarray, ...], exact: np.ndarray) -> None:
    cells = np.ravel_multi_index([c.astype(np.int64) for c in codes], exact.shape)
    seen, expected = np.bincount(cells, minlength=exact.size), exact.ravel() / exact.sum() * len(cells)
    assert not seen[expected == 0].any()
    common = expected >= 5
    rest = seen[~common].sum(), expected[~common].sum()
    observed, wanted = np.append(seen[common], rest[0]), np.append(expected[common], rest[1])
    if rest[1] < 5:
        observed, wanted = observed[:-1], wanted[:-1] * observed[:-1].sum() / wanted[:-1].sum()
    assert len(observed) < 2 or chisquare(observed, wanted).pvalue > 1e-6


@both
@pytest.mark.parametrize("given", [{}, {"d": 1}, {"c": 2, "a": 1}, {"e": {0: 0.2, 2: 1.0}, "d": 0}, {"b": [1.0, 0.1]}])
def test_frequencies_are_the_exact_probabilities(given: dict[str, Any], logs: bool) -> None:
    from naivete.inference.junction import evidence_of

    network = diamond()
    with arithmetic(logs):
        codes = sample_codes(network, 20_000, random_state=3, given=given)
    check_frequencies(network, codes, weighted(network, evidence_of(network, given)))


@given(network=any_network, data=st.data())
@quick
def test_rows_of_any_network_agree_with_the_evidence_and_are_possible(network: Network, data: st.DataObject) -> None:
    evidence = data.draw(evidences(network))
    exact = weighted(network, evidence)
    given = {
        v if v >= 0 else CLASS: value
        for v, value in zip((*evidence.codes, *evidence.likelihoods), as_given(network, evidence).values(), strict=True)
    }
    if exact.sum() == 0:
        with pytest.raises(DataError, match="impossible"):
            sample_codes(network, 5, random_state=1, given=given)
        return
    codes = sample_codes(network, 400, random_state=1, given=given)
    check_frequencies(network, codes, exact)


@given(network=any_structure())
@quick
def test_a_seed_gives_the_same_rows_in_narrow_types(network: Network) -> None:
    one, two = (
        sample_codes(network, 50, random_state=9),
        sample_codes(JunctionTree(network), 50, random_state=np.random.default_rng(9)),
    )
    assert all(identical(a, b) for a, b in zip(one, two, strict=True))
    assert [c.dtype for c in one] == [np.uint8] * len(network.variables)
    assert all(c.shape == (50,) for c in one)


def test_many_states_take_a_wider_type_and_no_state_of_probability_zero() -> None:
    weights = np.zeros(1000)
    weights[[3, 700, 999]] = 0.2, 0.5, 0.3
    network = Network((Variable("class", tuple(range(1000))),), {CLASS: ()}, {CLASS: weights})
    (codes,) = sample_codes(network, 5000, random_state=1)
    assert codes.dtype == np.uint16
    assert set(codes.tolist()) == {3, 700, 999}
    assert abs(np.mean(codes == 700) - 0.5) < 0.03


def test_samples_in_blocks_and_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [len(c) for c in sample_codes(diamond(), 0)] == [0] * 5
    monkeypatch.setattr(sampling, "BLOCK_ROWS", 7)
    codes = sample_codes(diamond(), 1000, random_state=2, given={"a": 2})
    assert set(codes[0].tolist()) == {2}
    assert len(set(codes[2].tolist())) > 1


@pytest.mark.parametrize("rows", [-1, 2.5, True, "many"])
def test_the_number_of_rows_is_a_whole_number(rows: Any) -> None:
    with pytest.raises(ParameterError, match="rows="):
        sample_codes(diamond(), rows)


@pytest.mark.parametrize("seed", [-1, 2.5, "one"])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ParameterError, match="random_state="):
        sample_codes(diamond(), 3, seed)


def test_sampling_keeps_to_the_budget() -> None:
    with pytest.raises(ResourceError, match="budget"):
        sample_codes(JunctionTree(diamond(), budget=900), 3, given={"d": 1})
