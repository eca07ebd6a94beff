"""Trees: both implementations grow the same tree and give the same posteriors, and leaving out is refitting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.contexts import LeftOut
from naivete._kernels.dispatch import loaded
from naivete._kernels.trees import Growth, ends_of_rows, grow_tree, tree_leaves, tree_posteriors

TIERS = ["numpy", *(["c"] if loaded() is not None else [])]


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Random codes with missing values, kinds of columns, and a class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, width, classes = draw(st.integers(1, 80)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    states = rng.integers(1, 7, width).tolist()
    codes = np.stack([rng.integers(0, s + rng.integers(0, 2), rows) for s in states]).astype(np.uint16)
    labels = ((codes[0] + (rng.random(rows) < 0.3)) % classes).astype(np.uint32)
    weight = rng.integers(1, 4, rows).astype(np.float64) if draw(st.booleans()) else np.ones(rows)
    growth = Growth(
        draw(st.sampled_from([0.3, 1.0])), int(rng.integers(1, 5)), int(rng.integers(1, 9)), always=draw(st.booleans()), most=500
    )
    nominal = (rng.random(width) < 0.4).tolist()
    return {
        "codes": codes,
        "states": states,
        "nominal": nominal,
        "labels": labels,
        "weight": weight,
        "classes": classes,
        "growth": growth,
    }


def grown(t: dict[str, Any], seed: int = 3) -> NDArray[np.int64]:
    return grow_tree(t["codes"], t["states"], t["nominal"], t["labels"], t["weight"], t["classes"], t["growth"], seed)


def weights_of(t: dict[str, Any], nodes: NDArray[np.int64], weight: NDArray[Any]) -> NDArray[Any]:
    """The weight of each class in each node, by following every row."""
    result = np.zeros((len(nodes), t["classes"]))
    for row, (y, w) in enumerate(zip(t["labels"], weight, strict=True)):
        at = 0
        while True:
            result[at, y] += w
            x, test, first = nodes[at]
            if x < 0:
                break
            value = min(int(t["codes"][x, row]), t["states"][x])
            at = first + (value if test == -1 else value != -2 - test if test < 0 else value > test)
    return result


@pytest.mark.skipif(len(TIERS) < 2, reason="the C kernels are not installed")
@given(t=tables(), seed=st.integers(0, 2**63))
def test_both_tiers_grow_the_same_tree(t: dict[str, Any], seed: int) -> None:
    results = []
    for tier in ("numpy", "c"):
        with _kernels.use(tier):  # type: ignore[arg-type]
            nodes = grown(t, seed)
            results.append((nodes.tolist(), tree_leaves(list(t["codes"]), t["states"], nodes).tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize("tier", TIERS)
@given(t=tables())
def test_posteriors_of_a_left_out_row_are_those_of_the_other_rows(tier: Any, t: dict[str, Any]) -> None:
    rows, codes, depths = len(t["labels"]), list(t["codes"]), [0, 1, 3, 99]
    with _kernels.use(tier):
        trees = [(nodes, weights_of(t, nodes, t["weight"])) for nodes in (grown(t, seed) for seed in range(3))]
        left_out = LeftOut(t["labels"], np.ones(rows))
        used = np.random.default_rng(0).random((3, rows)) < 0.4
        has_branches = [False] * len(codes)  # missing values are learned like others
        logs, mean = tree_posteriors(codes, t["states"], has_branches, trees, 0.5, depths, left_out, used)
        for row in range(min(rows, 4) if rows > 1 else 0):
            weight, single = t["weight"] - (np.arange(rows) == row), [c[[row]] for c in codes]
            chosen = [tree for tree, one in zip(trees, used[:, row], strict=True) if one] or trees
            again = [(nodes, weights_of(t, nodes, weight)) for nodes, _ in chosen]
            each = [tree_posteriors(single, t["states"], has_branches, [tree], 0.5, depths) for tree in again]
            np.testing.assert_allclose(logs[row], np.mean([one[0][0] for one in each], axis=0), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(mean[row], np.mean([one[1][0] for one in each], axis=0), rtol=1e-10)
            np.testing.assert_allclose(np.exp(each[0][0][0]).sum(axis=1), 1.0, rtol=1e-12)


@given(t=tables())
def test_a_node_is_split_only_if_that_predicts_left_out_cases_better(t: dict[str, Any]) -> None:
    t["growth"].always = False
    t["labels"] = np.zeros_like(t["labels"])
    assert grown(t).tolist() == [[-1, -1, 0]]


@given(t=tables(), seed=st.integers(0, 1000))
def test_a_row_ends_where_a_complete_column_is_missing(t: dict[str, Any], seed: int) -> None:
    """Its posterior is that of a tree in which this node is a leaf; without such values nothing changes, and both tiers agree."""
    states, rng = t["states"], np.random.default_rng(seed)
    complete = (rng.random(len(states)) < 0.6).tolist()
    trained = np.stack([np.minimum(c, s - 1) if one else c for c, s, one in zip(t["codes"], states, complete, strict=True)])
    nodes = grown({**t, "codes": trained}, seed)
    tree, depths = (nodes, weights_of({**t, "codes": trained}, nodes, t["weight"])), [0, 1, 3, 99]
    codes = list(t["codes"])
    ends = ends_of_rows(codes, states, complete, nodes)
    results = []
    for tier in TIERS:
        with _kernels.use(tier):  # type: ignore[arg-type]
            results.append(tree_posteriors(codes, states, complete, [tree], 0.5, depths))
            known = tree_posteriors(list(trained), states, complete, [tree], 0.5, depths)
            before = tree_posteriors(list(trained), states, [False] * len(states), [tree], 0.5, depths)
            assert all(np.array_equal(one, two) for one, two in zip(known, before, strict=True))
            for row in range(min(len(ends), 3)):
                stopped = nodes.copy()
                stopped[ends[row]] = -1, -1, 0
                single = [c[[row]] for c in codes]
                for one, two in zip(
                    tree_posteriors(single, states, [False] * len(states), [(stopped, tree[1])], 0.5, depths),
                    results[-1],
                    strict=True,
                ):
                    assert np.array_equal(one[0], two[row])
    for one, two in zip(results[0], results[-1], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-14)


def test_a_row_ends_at_the_root_of_a_tree_if_its_column_is_missing() -> None:
    nodes, weights = np.array([[0, 0, 1], [-1, -1, 0], [-1, -1, 0]]), np.array([[4.0, 4.0], [4.0, 0.0], [0.0, 4.0]])
    codes = [np.array([0, 255], np.uint8)]
    assert ends_of_rows(codes, [2], [True], nodes).tolist() == [1, 0]
    assert ends_of_rows(codes, [2], [False], nodes).tolist() == [1, 2]
    assert tree_posteriors(codes, [2], [True], [(nodes, weights)], 1.0, [99])[1].tolist() == [[0.9, 0.1], [0.5, 0.5]]
