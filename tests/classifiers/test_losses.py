"""Loss matrices: refused, expected and decided; the poker example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from naivete.classifiers.losses import Loss, zero_one
from naivete.errors import DataError, ParameterError
from naivete.evaluation.measures import confusion, shares
from tests.classifiers.test_common import quick
from tests.evaluation.test_measures import POKER

LABELS = ["me", "draw", "op"]
TABLE_8_2 = np.transpose([[0.25, 0.05, 0.1], [0.05, 0.1, 0.05], [0.05, 0.1, 0.25]])  # printed as (classified, correct)
TABLE_8_3 = {"fold": [0, 0, 0], "call": [3, 1, -1]}
TABLE_8_4 = [[0, 0, -1], [0, 0, -1], [-3, -1, 0]]


def test_poker() -> None:
    """Jensen & Nielsen's table 8.4 holds gains; the expected loss they print, -0.4, is the expected gain."""
    loss = Loss.of(TABLE_8_4, LABELS, utility=True)
    assert loss.matrix.tolist() == [[0, 0, 1], [0, 0, 1], [3, 1, 0]]
    assert loss.of_classifier(TABLE_8_2, utility=True) == pytest.approx(-0.4, abs=1e-15)
    assert loss.of_classifier(TABLE_8_2) == pytest.approx(0.4, abs=1e-15)
    assert Loss.of(TABLE_8_4, LABELS).of_classifier(TABLE_8_2) == pytest.approx(-0.4, abs=1e-15)


def test_poker_from_the_cases() -> None:
    """Table 8.2 from the cases of table 8.1, table 8.4 from the stakes of table 8.3, and -0.4 from both."""
    truth, decided = ([LABELS.index(word) for word in words] for words in POKER)
    counts = confusion(truth, decided, 3)
    np.testing.assert_allclose(shares(counts), TABLE_8_2, atol=1e-15)
    call, fold = np.array(TABLE_8_3["call"]), np.array(TABLE_8_3["fold"])
    followed = np.array([call, call, fold])  # call if and only if the classifier says me or draw
    gains = followed - np.maximum(call, fold)
    assert gains.tolist() == TABLE_8_4
    assert Loss.of(gains, LABELS, utility=True).of_classifier(counts, utility=True) == pytest.approx(-0.4, abs=1e-15)


posteriors = st.integers(2, 5).flatmap(
    lambda k: hnp.arrays(np.int64, st.tuples(st.integers(1, 20), st.just(k)), elements=st.integers(0, 64))
)


def normal(weights: np.ndarray) -> np.ndarray:
    p = weights + 1.0
    return p / p.sum(axis=1, keepdims=True)


@quick
@given(posteriors)
def test_zero_one_decides_for_the_most_probable(weights: np.ndarray) -> None:
    p = normal(weights)
    assert zero_one(range(p.shape[1])).decide(p).tolist() == p.argmax(axis=1).tolist()


def test_zero_one_decides_for_the_most_probable_to_the_last_bit() -> None:
    low = 0.3
    high = np.nextafter(low, 1)
    p = np.array([[low, high, 1 - low - high], [high, low, 1 - low - high], [1e-300, 2e-300, 0.0]])
    assert zero_one("abc").decide(p).tolist() == p.argmax(axis=1).tolist()


@quick
@given(posteriors, st.randoms(use_true_random=False))
def test_expected_is_the_sum_and_decide_its_least(weights: np.ndarray, random: Any) -> None:
    p = normal(weights)
    k = p.shape[1]
    loss = Loss(tuple(range(k)), [[random.randint(-9, 9) for _ in range(k)] for _ in range(k)])
    expected = np.array([[sum(p[r, c] * loss.matrix[d, c] for c in range(k)) for d in range(k)] for r in range(len(p))])
    np.testing.assert_allclose(loss.expected(p), expected, atol=1e-12)
    chosen = loss.decide(p)
    assert (expected[np.arange(len(p)), chosen] <= expected.min(axis=1) + 1e-9).all()


@quick
@given(posteriors, st.randoms(use_true_random=False))
def test_scale_and_shift_change_no_decision(weights: np.ndarray, random: Any) -> None:
    p = np.floor(normal(weights) * 256) / 256  # sums of these are exact, so that ties are ties
    k = p.shape[1]
    matrix = np.array([[random.randint(0, 9) for _ in range(k)] for _ in range(k)], float)
    loss = Loss(tuple(range(k)), matrix).with_reject(3)
    shift = np.array([random.randint(-5, 5) for _ in range(k)], float)
    for other in (loss.matrix * 7, loss.matrix * 2.0**-40, loss.matrix + shift):
        assert Loss(loss.labels, other).decide(p).tolist() == loss.decide(p).tolist()


@quick
@given(posteriors, st.randoms(use_true_random=False))
def test_rejecting_for_nothing_and_for_too_much(weights: np.ndarray, random: Any) -> None:
    p = normal(weights)
    k = p.shape[1]
    loss = Loss(tuple(range(k)), [[0 if c == d else random.randint(1, 9) for c in range(k)] for d in range(k)])
    assert (loss.with_reject(0).decide(p) == k).all()
    assert (loss.with_reject(loss.matrix.max()).decide(p) < k).all()
    assert loss.with_reject(loss.matrix.max()).decide(p).tolist() == loss.decide(p).tolist()
    assert (loss.with_reject(0).decide(np.eye(k)) == k).all()


def test_ties_go_to_the_lower_class_and_to_rejecting() -> None:
    assert zero_one("ab").decide([[0.5, 0.5]]).tolist() == [0]
    assert zero_one("ab").with_reject(0.5).decide([[0.5, 0.5], [0.25, 0.75]]).tolist() == [2, 1]


def test_a_row_alone_costs_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    p = normal(rng.integers(0, 99, (500, 7)))
    loss = Loss(tuple(range(7)), rng.normal(size=(8, 7)))
    whole = loss.expected(p)
    assert all((loss.expected(p[r : r + 1])[0] == whole[r]).all() for r in range(len(p)))
    assert loss.expected(p[:0]).shape == (0, 8)
    assert loss.decide(p[:0]).shape == (0,)


def test_aligned() -> None:
    loss = Loss.of([[0, 1, 2], [3, 0, 4], [5, 6, 0], [7, 8, 9]], ["2", "0", "1"])
    other = loss.aligned(np.array([0, 2]))
    assert other.labels == (0, 2)
    assert other.matrix.tolist() == [[0, 3], [1, 0], [8, 7]]
    assert other.rejects
    with pytest.raises(ParameterError, match="no class 5, only '2', '0', '1'; add its row"):
        loss.aligned([0, 5])


def test_mapping() -> None:
    costs = {("a", "b"): 2, ("b", "a"): -1, ("?", "a"): 0.5, ("reject", "b"): 0.25}
    assert Loss.of(costs, ["a", "b"]).matrix.tolist() == [[0, 2], [-1, 0], [0.5, 0.25]]
    assert Loss.of({("?", "a"): 2, ("a", "?"): 3}, ["a", "?"]).matrix.tolist() == [[0, 3], [2, 0]]  # ? is a class here


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ([[0, 1]], "shape (1, 2) for 2 labels"),
        ([[0, 1], [1, 0], [1, 1], [2, 2]], "shape (4, 2)"),
        ([0, 1], "shape (2,)"),
        ([[0, 1], [1]], "is not an array of numbers"),
        ([[0, "x"], [1, 0]], "is not an array of numbers"),
        ([[0, np.nan], [1, 0]], "('a', 'b'), decided and true: nan is not a loss"),
        ([[0, 1], [1, 0], [np.inf, 1]], "('reject', 'a'), decided and true: inf is not a loss"),
        ({("a", "b"): 1}, "('b', 'a'), decided and true, has no cost"),
        ({("a", "b"): 1, ("b", "a"): 1, ("?", "a"): 1}, "('reject', 'b'), decided and true, has no cost"),
        ({("a", "c"): 1}, "there is no class 'c'; the classes are a, b"),
        ({"a": 1}, "'a' is not a pair"),
        ({("a", "b"): np.nan}, "nan is not a loss"),
        ({("a", "b"): None}, "nan is not a loss|not a loss"),
    ],
)
def test_refused(costs: Any, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Loss.of(costs, ["a", "b"])
    assert any(word in str(caught.value) for word in told.split("|"))


def test_labels_are_refused() -> None:
    for labels, told in ([["a", "a"], "the label 'a' is there twice"], [[], "no labels"]):
        with pytest.raises(ParameterError, match=told):
            zero_one(labels)
    with pytest.raises(ParameterError, match="one finite number"):
        zero_one("ab").with_reject(np.nan)
    with pytest.raises(DataError, match=r"shape \(2, 3\)"):
        zero_one("ab").expected(np.ones((2, 3)))
    for counts in ([[1], [2]], [[1, 2]], [[1, 0], [0, 1], [1, 1]], [[0, 0], [0, 0]], [[-1, 2], [1, 1]], 3, [[1, np.nan], [1, 1]]):
        with pytest.raises(DataError, match="confusion matrix"):
            zero_one("ab").of_classifier(counts)


def test_a_loss_does_not_change() -> None:
    own = np.zeros((2, 2))
    loss = Loss(("a", "b"), own)
    own[0, 1] = 5
    assert not loss.matrix.any()
    with pytest.raises(ValueError, match="read-only"):
        loss.matrix[0, 0] = 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_posteriors_that_are_no_numbers_are_refused(wrong: float) -> None:
    loss = zero_one("ab")
    posterior = [[0.5, 0.5], [wrong, 0.5]]
    for ask in (loss.decide, loss.expected, loss.with_reject(0.1).decide):
        with pytest.raises(DataError, match=r"posterior, row 2: \[.*finite numbers"):
            ask(posterior)


@pytest.mark.parametrize(
    ("costs", "labels", "told"),
    [
        ([[0, 1], [1, 0]], 2, "labels=2: give the classes in a list"),
        ([[0, 1], [1, 0]], None, "labels=None: give the classes in a list"),
        ([[0, 1], [1, 0]], [["a"], ["b"]], "is no label"),
        ({("a", "b"): 1, ("b", "a"): 1}, [["a"], ["b"]], "is no label"),
        ([[0, 1], [1, 0]], np.array([["a"], ["b"]]), "is no label"),
        ([[0, 10**400], [1, 0]], "ab", "is not an array of numbers"),
        ({("a", "b"): 10**400, ("b", "a"): 1}, "ab", "is not an array of numbers"),
        ({("a", "b"): None, ("b", "a"): 1}, "ab", "None is not a loss"),
        ([[0, 1j], [1, 0]], "ab", "is not an array of numbers"),
        (np.array([[0, 1j], [1, 0]]), "ab", "is not an array of numbers"),
        (object(), "ab", "is not an array of numbers"),
        (None, "ab", "shape ()"),
        ({"a": 1}, "ab", "is not a pair"),
        ({("a", "z"): 1}, "ab", "there is no class 'z'"),
    ],
)
def test_what_is_no_loss_is_told_by_a_named_error(costs: Any, labels: Any, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Loss.of(costs, labels)
    assert told in str(caught.value)


def test_classes_that_are_none_are_told_by_a_named_error() -> None:
    for ask in (zero_one, zero_one("ab").aligned):
        with pytest.raises(ParameterError, match="give the classes in a list"):
            ask(3)  # type: ignore[operator]
