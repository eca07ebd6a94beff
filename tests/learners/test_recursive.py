"""The recursive Bayesian classifier: as naive Bayes learned anew from the cases of every node would have it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from naivete.cases import Block, Cases, MemoryCases
from naivete.counts.counts import Counts
from naivete.errors import ParameterError
from naivete.inference.derived_predictor import predictor_of
from naivete.inference.predictor import Predictor, argmax_class, most_probable_class
from naivete.learners.naive import naive
from naivete.learners.recursive import recursive
from naivete.network.derived_columns import Hierarchy
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.oracles import identical
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMOOTHINGS = [1.0, 0.0, 0.1, "m-estimate:2", "clark-niblett", "backoff"]
GAP = 255
PARITY = np.array(list(product([0, 1], repeat=4)), np.uint8)


def cases_of(columns: np.ndarray, labels: Any, weight: np.ndarray | None = None) -> MemoryCases:
    codes = (*np.ascontiguousarray(columns.T), np.asarray(labels, np.uint8))
    variables = tuple(Variable(f"x{i}", tuple(range(int(c[c < 255].max(initial=0)) + 1))) for i, c in enumerate(codes))
    return MemoryCases(variables, Block(codes, weight), np.array([(c == 255).any() for c in codes[:-1]]))


def answers(network: Network, cases: MemoryCases) -> np.ndarray:
    return predictor_of(network).posterior(cases.block.codes, cases.has_missing)[0]


def by_hand(cases: MemoryCases, asked: MemoryCases, how: dict[str, Any], depth: int = 0) -> np.ndarray:
    """The answers to some rows, one node after the other, each with naive Bayes learned from the rows of the node alone.

    Classes whose probabilities differ by no more than rounding are tied, and the first of them is given: the tables of a node are
    the same however they are learned, but their logarithms need not be added in the same order.
    """
    network = naive(Counts(cases), smoothing=how["smoothing"])
    result = Predictor(network).posterior(asked.block.codes, asked.has_missing)[0]
    if depth == how["max_depth"]:
        return result
    given_class = most_probable_class(Predictor(network).posterior(cases.block.codes, cases.has_missing)[0])
    truth = cases.block.codes[CLASS]
    weight = np.ones(len(truth)) if cases.block.weight is None else cases.block.weight
    wrong = given_class != truth
    if not wrong.any() or weight[wrong].sum() <= how["prune"] * weight.sum() or len(set(given_class)) == 1:
        return result
    sent = most_probable_class(result)
    if how["refit"]:
        clusters = Block((*cases.block.codes[:-1], given_class.astype(np.uint8)), cases.block.weight)
        summaries = naive(Counts(MemoryCases(cases.variables, clusters, cases.has_missing)), smoothing=how["smoothing"])
        sent = most_probable_class(Predictor(summaries).posterior(asked.block.codes, asked.has_missing)[0])
    for c in set(given_class.tolist()):
        rows, there = np.flatnonzero(given_class == c), np.flatnonzero(sent == c)
        if (truth[rows] != c).any() and weight[rows].sum() >= how["min_rows"] and len(there):
            inner = MemoryCases(cases.variables, cases.block.take(rows), cases.has_missing)
            result[there] = by_hand(inner, MemoryCases(asked.variables, asked.block.take(there), asked.has_missing), how, depth + 1)
    return result


def known(cases: MemoryCases) -> np.ndarray:
    """The rows in which something that tells anything is known; the others get the prior of the root."""
    telling = [c for c, v in zip(cases.block.codes[:-1], cases.variables, strict=False) if v.card > 1]
    return np.flatnonzero(np.logical_or.reduce([c != 255 for c in telling])) if telling else np.empty(0, int)


TIED = cases_of(
    np.array(
        [
            [1, 2, GAP, 0, 2, 2, 2, 0, 0, 1, 1, 1],
            [0, 0, 2, 0, 0, 1, 1, 2, 1, 0, 2, 1],
            [GAP, GAP, 2, GAP, 1, 2, 1, GAP, GAP, 2, 1, GAP],
        ],
        np.uint8,
    ).T,
    [1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0],
    np.array([3, 1, 2, 1, 1, 3, 2, 2, 1, 3, 3, 2], np.float64),
)
"""In the cluster of class 0 the row (2, 0, 1) has probability 0.9 x 2/3 x 1/9 x 1/2 = 0.1 x 1 x 1 x 1/3 in both classes."""


@example(TIED, 0.0, 2, True, 0, 0.0)
@example(TIED, 0.0, 2, False, 0, 0.0)
@given(
    some_cases(weights="whole"),
    st.sampled_from(SMOOTHINGS),
    st.sampled_from([0, 1, 2, None]),
    st.booleans(),
    st.sampled_from([0, 2, 5]),
    st.sampled_from([0.0, 0.2]),
)
@quick
def test_it_is_naive_bayes_in_every_node(
    cases: MemoryCases, smoothing: Any, max_depth: int | None, refit: bool, min_rows: float, prune: float
) -> None:
    how = {"smoothing": smoothing, "max_depth": max_depth, "refit": refit, "min_rows": min_rows, "prune": prune}
    found, rows = answers(recursive(Counts(cases), **how), cases), known(cases)
    wanted = by_hand(cases, cases, how)
    assert np.allclose(found[rows], wanted[rows], atol=1e-12)


@given(some_cases(), st.sampled_from(SMOOTHINGS), st.booleans())
@quick
def test_without_depth_it_is_naive_bayes(cases: MemoryCases, smoothing: Any, given_prior: bool) -> None:
    classes = cases.variables[CLASS].card
    prior = np.full(classes, 1 / classes) if given_prior and (Counts(cases).margins()[CLASS,] > 0).all() else None
    found = recursive(Counts(cases), max_depth=0, smoothing=smoothing, prior=prior)
    wanted = Predictor(naive(Counts(cases), smoothing=smoothing, prior=prior)).posterior(cases.block.codes, cases.has_missing)[0]
    assert np.allclose(answers(found, cases), wanted, atol=1e-12)


@given(some_cases(has_missing=False, weights="whole"), st.sampled_from([1.0, 0.0, "clark-niblett"]))
@quick
def test_cases_without_contradictions_are_all_learned(cases: MemoryCases, smoothing: Any) -> None:
    """Sent down by the classifiers themselves, and split where these are stuck, every case ends among its own kind."""
    rows = np.stack(cases.block.codes, axis=1)
    _, first = np.unique(rows[:, :-1], axis=0, return_index=True)
    training = MemoryCases(cases.variables, cases.block.take(first), cases.has_missing)
    found = recursive(Counts(training), parity="split", refit=False, min_rows=0, smoothing=smoothing)
    if known(training).size:
        assert np.array_equal(most_probable_class(answers(found, training)), training.block.codes[CLASS])


@given(st.data())
@quick
def test_it_is_the_same_on_every_back_end(cases: Callable[[MemoryCases], Cases], data: st.DataObject) -> None:
    drawn = data.draw(some_cases())
    how = {"parity": data.draw(st.sampled_from(["stop", "split"])), "refit": data.draw(st.booleans())}
    assert identical(recursive(Counts(cases(drawn)), **how), recursive(Counts(drawn), **how))


@given(some_cases(weights="whole"), st.booleans(), st.randoms(use_true_random=False))
@quick
def test_a_weight_of_two_is_the_row_twice_in_any_order(cases: MemoryCases, refit: bool, random: Any) -> None:
    assert cases.block.weight is not None
    rows = np.repeat(np.arange(len(cases.block)), cases.block.weight.astype(int)).tolist()
    random.shuffle(rows)
    twice = MemoryCases(cases.variables, Block(tuple(c[rows] for c in cases.block.codes)), cases.has_missing)
    one, two = (recursive(Counts(own), parity="split", refit=refit) for own in (cases, twice))
    assert identical(one, two)


def depth(network: Network) -> int:
    """How many classifiers a row can go through."""
    cells = network.derived[len(network.inputs)]
    assert isinstance(cells, Hierarchy)
    deepest = np.ones(len(cells.children), int)
    for node in reversed(range(len(deepest))):
        below = cells.children[node][cells.children[node] >= 0]
        deepest[node] += deepest[below].max(initial=0)
    return int(deepest[0])


def test_parity_needs_a_split() -> None:
    labels = PARITY.sum(axis=1) % 2
    cases = cases_of(PARITY, labels)
    stopped, split = (recursive(Counts(cases), parity=word) for word in ("stop", "split"))
    assert depth(stopped) == 1
    assert (argmax_class(answers(stopped, cases)) == labels).mean() == 0.5
    assert np.array_equal(argmax_class(answers(split, cases)), labels)


def test_parity_of_five_bits_among_ten() -> None:
    """As parity5+5: at chance for naive Bayes; divided bit by bit it is learned from a thousand cases in good part."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (3000, 10)).astype(np.uint8)
    labels = rows[:, :5].sum(axis=1) % 2
    train, test = cases_of(rows[:1000], labels[:1000]), cases_of(rows[1000:], labels[1000:])
    right = {
        (parity, refit): (argmax_class(answers(recursive(Counts(train), parity=parity, refit=refit), test)) == labels[1000:]).mean()
        for parity in ("stop", "split")
        for refit in (True, False)
    }
    plain = (argmax_class(Predictor(naive(Counts(train))).posterior(test.block.codes, test.has_missing)[0]) == labels[1000:]).mean()
    assert 0.45 < plain < 0.55
    assert right["split", True] > 0.58
    assert right["split", False] > 0.7


@pytest.mark.parametrize("parity", ["stop", "split"])
@pytest.mark.parametrize("refit", [True, False])
def test_depth_is_bounded_by_the_different_rows(parity: Any, refit: bool) -> None:
    """Duplicates and contradictions are no reason to go on."""
    rng = np.random.default_rng(3)
    columns = np.repeat(rng.integers(0, 2, (20, 5)).astype(np.uint8), 50, axis=0)
    cases = cases_of(columns, rng.integers(0, 2, 1000))
    found = recursive(Counts(cases), parity=parity, refit=refit, min_rows=0)
    assert depth(found) <= 2 * 20
    same = cases_of(np.zeros((100, 3), np.uint8), rng.integers(0, 2, 100))
    assert depth(recursive(Counts(same), parity=parity, refit=refit, min_rows=0)) == 1


def test_the_prior_changes_the_class_probabilities() -> None:
    """A prior of twice the odds answers as the cases of that class twice would."""
    rng = np.random.default_rng(1)
    columns = rng.integers(0, 3, (60, 3)).astype(np.uint8)
    labels = (columns[:, 0] > 0).astype(int) ^ (rng.random(60) < 0.3)
    cases = cases_of(columns, labels)
    shares = np.bincount(labels) / 60
    tilted = shares * [1, 2] / (shares * [1, 2]).sum()
    plain, given_prior = (recursive(Counts(cases), max_depth=0, prior=p) for p in (None, tilted))
    odds = answers(given_prior, cases) / answers(plain, cases)
    assert np.allclose(odds[:, 1] / odds[:, 0], 2)
    assert np.allclose(recursive(Counts(cases), prior=shares).cpts[CLASS], recursive(Counts(cases)).cpts[CLASS])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_rows": -1}, "min_rows=-1: a number at least 0"),
        ({"min_rows": "many"}, "min_rows='many'"),
        ({"prune": 1.5}, "between 0 and 1"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"max_depth": 1.5}, "max_depth=1.5"),
        ({"parity": "odd"}, "choose 'stop' or 'split'"),
        ({"refit": "yes"}, "refit='yes'"),
        ({"smoothing": -1}, "smoothing=-1"),
        ({"prior": [0.5, 0.1]}, "prior="),
    ],
)
def test_parameters_out_of_range_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        recursive(Counts(cases_of(PARITY, PARITY[:, 0])), **given)
