"""Boosted trees: both kernels grow the same trees, their loss falls, and rules are learned exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor

from naivete._kernels.boosting import BoostedTrees, Boosting, boost, boosted_scores
from naivete._kernels.dispatch import loaded, use

needs_compiler = pytest.mark.skipif(loaded() is None, reason="the compiled kernels are not installed")
STATES = [3, 12, 2, 7]
NONE_COMPLETE = [False] * 4
NOMINAL = [True, False, True, False]


def table(seed: int, rows: int, classes: int) -> dict[str, Any]:
    """Random codes, the code after the last state among them, and classes that depend on two columns."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, states + 1, rows) for states in STATES]).astype(np.uint16)
    labels = ((codes[0] == 1) + 2 * (codes[1] > 5) + (rng.random(rows) < 0.2)) % classes
    return {
        "codes": codes,
        "states": STATES,
        "nominal": NOMINAL,
        "labels": labels.astype(np.uint32),
        "weight": rng.integers(0, 3, rows).astype(np.float64),
        "scores": np.zeros((rows, classes)),
    }


def all_columns(rounds: int, classes: int) -> np.ndarray:
    """All columns for every tree."""
    return np.tile(np.arange(4, dtype=np.int32), (rounds * (classes - (classes == 2)), 1))


def loss(scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    """The weighted sum of -log P(label)."""
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return float(-(weight * logs[np.arange(len(labels)), labels]).sum())


@needs_compiler
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 4]))
def test_both_kernels_grow_the_same_trees(seed: int, classes: int) -> None:
    data, setting = table(seed, 40, classes), Boosting(rounds=2, depth=3)
    results = {}
    for tier in ("c", "numpy"):
        with use(tier):  # type: ignore[arg-type]
            results[tier] = boost(**data, candidates=all_columns(2, classes), setting=setting)
    (trees, scores), (other, other_scores) = results["c"], results["numpy"]
    assert scores == pytest.approx(other_scores, abs=1e-6)  # equal gains may be decided by rounding
    assert len(trees.starts) == len(other.starts)
    if np.array_equal(trees.nodes, other.nodes):
        assert trees.values == pytest.approx(other.values, abs=1e-9)


@pytest.mark.parametrize("tier", [pytest.param("c", marks=needs_compiler), "numpy"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_scores_of_rows_are_the_values_of_their_leaves(tier: str, classes: int) -> None:
    data = table(1, 60, classes)
    with use(tier):  # type: ignore[arg-type]
        trees, scores = boost(**data, candidates=all_columns(4, classes), setting=Boosting(rounds=4))
        codes = [np.where(c == s, 65535, c).astype(np.uint16) for c, s in zip(data["codes"], STATES, strict=True)]  # missing codes
        again = boosted_scores(codes, STATES, NONE_COMPLETE, trees, data["scores"])
        assert again == pytest.approx(scores, abs=1e-12)
        many = boosted_scores([np.tile(c, 5) for c in codes], STATES, NONE_COMPLETE, trees, np.tile(data["scores"], (5, 1)))
    assert np.array_equal(many, np.tile(again, (5, 1))), "many rows at once have the scores of few rows"


@pytest.mark.parametrize("classes", [2, 4])
def test_more_rounds_lower_the_loss_and_rows_without_weight_do_not_matter(classes: int) -> None:
    data = table(2, 200, classes)
    losses = []
    for rounds in (0, 5, 30):
        _, scores = boost(**data, candidates=all_columns(rounds, classes), setting=Boosting(rounds=rounds))
        losses.append(loss(scores, data["labels"], data["weight"]))
    assert losses[0] > losses[1] > losses[2]
    used = data["weight"] > 0
    other = {**data, "labels": np.where(used, data["labels"], 0).astype(np.uint32)}
    one, two = (boost(**d, candidates=all_columns(5, classes), setting=Boosting(rounds=5))[1] for d in (data, other))
    assert (one == two).all()


def test_one_round_is_the_regression_tree_of_the_gradient() -> None:
    """Without penalty and with equal second derivatives a round is scikit-learn's least-squares tree of the residuals."""
    rng = np.random.default_rng(4)
    codes = np.stack([rng.permutation(64) for _ in range(3)]).astype(np.uint16)
    labels = ((codes[0] > 30) ^ (codes[1] > 20)).astype(np.uint32)
    setting = Boosting(rounds=1, depth=3, rate=1.0, penalty=1e-12, least=0.25)
    candidates = np.arange(3, dtype=np.int32)[None]
    _, scores = boost(codes, [64] * 3, [False] * 3, labels, np.ones(64), np.zeros((64, 2)), candidates, setting)
    peer = GradientBoostingRegressor(n_estimators=1, learning_rate=1.0, max_depth=3, init="zero")
    peer.fit(codes.T, labels - 0.5)
    assert scores[:, 1] == pytest.approx(4 * peer.predict(codes.T), abs=1e-6)  # a Newton step divides by 1/4


def test_trees_split_only_by_their_candidates() -> None:
    data = table(3, 100, 3)
    candidates = np.full((6, 1), 1, np.int32)
    trees, _ = boost(**data, candidates=candidates, setting=Boosting(rounds=2))
    assert set(trees.nodes[:, 0].tolist()) <= {-1, 1}
    assert isinstance(trees, BoostedTrees)


@given(st.integers(0, 10_000), st.sampled_from([2, 3]), st.lists(st.booleans(), min_size=4, max_size=4))
def test_a_row_gets_the_value_of_the_node_that_asks_for_a_missing_value_of_a_complete_column(
    seed: int, classes: int, complete: list[bool]
) -> None:
    data = table(seed, 60, classes)
    whole = [np.minimum(c, s - 1) if one else c for c, s, one in zip(data["codes"], STATES, complete, strict=True)]
    trees, _ = boost(**{**data, "codes": np.stack(whole)}, candidates=all_columns(4, classes), setting=Boosting(rounds=4, depth=3))
    codes = list(data["codes"])
    expected = data["scores"].copy()
    for i, start in enumerate(trees.starts[:-1].tolist()):
        for row in range(60):
            at = start
            while (column := int(trees.nodes[at, 0])) >= 0:
                value, test = int(codes[column][row]), int(trees.nodes[at, 1])
                if complete[column] and value == STATES[column]:
                    break
                at = start + int(trees.nodes[at, 2]) + (value != -2 - test if test < 0 else value > test)
            expected[row, i % (classes - (classes == 2)) + (classes == 2)] += trees.values[at]
    for tier in ("numpy", *(["c"] if loaded() is not None else [])):
        with use(tier):  # type: ignore[arg-type]
            few = boosted_scores(codes, STATES, complete, trees, data["scores"])
            many = boosted_scores([np.tile(c, 5) for c in codes], STATES, complete, trees, np.tile(data["scores"], (5, 1)))
            assert np.array_equal(few, expected)
            assert np.array_equal(many, np.tile(few, (5, 1)))
            known = boosted_scores(whole, STATES, complete, trees, data["scores"])
            assert np.array_equal(known, boosted_scores(whole, STATES, NONE_COMPLETE, trees, data["scores"]))


def test_the_values_of_a_node_sum_to_the_log_odds_of_its_cases() -> None:
    """Not to the mean of the log odds of its leaves, which grow with every round if the classes are separated."""
    codes = np.repeat(np.arange(4), 100).astype(np.uint16)[None]
    labels = (codes[0] == 1).astype(np.uint32)
    setting = Boosting(rounds=800, depth=1, rate=0.02, penalty=1e-9, least=1e-9)
    data = {"labels": labels, "weight": np.ones(400), "scores": np.zeros((400, 2))}
    trees, scores = boost(codes, [4], [True], **data, candidates=np.zeros((800, 1), np.int32), setting=setting)
    missing = boosted_scores([np.array([4], np.uint16)], [4], [True], trees, np.zeros((1, 2)))
    assert missing[0, 1] == pytest.approx(np.log(1 / 3), abs=0.02)
    assert scores[:, 1].mean() < -3
