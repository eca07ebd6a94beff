"""Counts in nested contexts: both implementations agree with each other and with sums over rows, and leaving out is refitting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_softmax

from naivete import _kernels
from naivete._kernels.contexts import (
    BinnedColumns,
    ContextEstimate,
    ContextFamily,
    FamilyRecords,
    LeftOut,
    binned,
    context_keys,
    context_logs,
    context_tree,
    counted_contexts,
)
from naivete._kernels.dispatch import loaded
from naivete._kernels.weights import SECOND, fit_weights, loss_of_scores

TIERS = ["numpy", *(["c"] if loaded() is not None else [])]
Tier = Any


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """Random codes of up to five columns with missing values, bins, a class, and the parents of each column."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, width, classes = draw(st.integers(1, 60)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    states = rng.integers(1, 6, width)
    codes = [rng.integers(0, s, rows).astype(np.uint8) for s in states]
    for column in codes:
        column[rng.random(rows) < draw(st.sampled_from([0.0, 0.2]))] = 255
    bins = [np.append(rng.integers(0, b, s), b).astype(np.uint32) for s, b in zip(states, rng.integers(1, 4, width), strict=True)]
    order = rng.permutation(width)
    parents = {int(x): tuple(map(int, order[:i][: rng.integers(0, 4)])) for i, x in enumerate(order)}
    labels = rng.integers(0, classes, rows).astype(np.uint32)
    weight = rng.integers(1, 4, rows).astype(np.float64) if draw(st.booleans()) else np.ones(rows)
    least = draw(st.sampled_from([1.0, 2.0, 4.0]))
    return {
        "codes": codes,
        "bins": bins,
        "parents": parents,
        "labels": labels,
        "weight": weight,
        "classes": classes,
        "least": least,
    }


def tree_of(
    codes: Sequence[NDArray[Any]], bins: Any, members: Sequence[int], labels: Any, weight: Any, classes: int, least: float
) -> Any:
    """The tree of contexts of members (parents, then x) from rows."""
    columns = BinnedColumns([*codes, labels], [*bins, np.arange(classes + 1, dtype=np.uint32)])
    cards = [int(bins[v][-1]) + 1 for v in members] + [classes]
    keys = context_keys(columns, [*members, len(codes)], cards)
    distinct, which = np.unique(keys, return_inverse=True)
    return context_tree(distinct, np.bincount(which, weight, len(distinct)), cards, least)


def families_of(t: dict[str, Any], rows: Any = slice(None), weight: Any = None) -> list[ContextFamily]:
    weight = t["weight"] if weight is None else weight
    codes = [c[rows] for c in t["codes"]]
    families = []
    for x, parents in sorted(t["parents"].items()):
        tree = tree_of(codes, t["bins"], [*parents, x], t["labels"][rows], weight[rows], t["classes"], t["least"])
        bins = t["bins"][x]
        margin = np.bincount(binned([codes[x]], [bins])[0], weight[rows], int(bins[-1]) + 1)
        families.append(ContextFamily(x, parents, tree, margin, int(bins[-1])))
    return families


def brute_force(t: dict[str, Any], rule: ContextEstimate, row: int, weight: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The sums of one row computed from all rows with these weights, by masks."""
    columns, classes, total = binned(t["codes"], t["bins"]), t["classes"], weight.sum()
    depth = max(len(p) for p in t["parents"].values())
    sums, first = np.zeros((depth + 1, classes)), np.zeros((len(columns), classes))
    for x, parents in t["parents"].items():
        same = columns[x] == columns[x][row]
        if weight[same].sum() <= 0:
            continue
        p = np.full(classes, (weight[same].sum() + 1) / (total + int(t["bins"][x][-1])))
        context, inside = np.ones(len(weight), bool), True
        for d in range(depth + 1):
            if d and d <= len(parents):
                context &= columns[parents[d - 1]] == columns[parents[d - 1]][row]
                inside &= weight[context].sum() >= max(rule.least, 1e-9)
            if d <= len(parents) and inside:
                for c in range(classes):
                    here = context & (t["labels"] == c)
                    n, big = weight[here & same].sum(), weight[here].sum()
                    kinds = len({v for v, w in zip(columns[x][here], weight[here], strict=True) if w > 0})
                    if big > 0:
                        p[c] = (max(n - rule.delta, 0) + (rule.theta + rule.delta * kinds) * p[c]) / (big + rule.theta)
            sums[d] += np.log(p)
            if not d:
                first[x] = np.log(p)
    return sums, first


@pytest.mark.parametrize("tier", TIERS)
@given(t=tables(), theta=st.sampled_from([0.5, 1.0]), delta=st.sampled_from([0.0, 0.5]))
def test_logs_equal_sums_over_rows_with_and_without_the_row(tier: Tier, t: dict[str, Any], theta: float, delta: float) -> None:
    rule = ContextEstimate(theta, delta, t["least"])
    depth = max(len(p) for p in t["parents"].values())
    prior = np.log(np.random.default_rng(0).dirichlet(np.ones(t["classes"]), len(t["labels"])))
    with _kernels.use(tier):
        families, total = families_of(t), t["weight"].sum()
        arguments = t["codes"], t["bins"], FamilyRecords(families, total), depth, t["classes"], rule, prior
        predicted = context_logs(*arguments, terms=True)
        left_out = context_logs(*arguments, LeftOut(t["labels"], np.minimum(t["weight"], 1.0)), terms=True)
        assert np.array_equal(context_logs(*arguments)[0], predicted[0])
    for row in range(min(len(t["labels"]), 5)):
        for result, weight in ((predicted, t["weight"]), (left_out, t["weight"] - (np.arange(len(t["labels"])) == row))):
            sums, first = brute_force(t, rule, row, weight)
            np.testing.assert_allclose(result[0][row], log_softmax(sums + prior[row], axis=1), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(result[1][row], first, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(len(TIERS) < 2, reason="the C kernels are not installed")
@given(t=tables(), seed=st.integers(0, 1000))
def test_both_tiers_agree(t: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    cards = [int(b[-1]) + 1 for b in t["bins"]]
    terms, count = rng.normal(size=(len(t["labels"]), t["classes"], 3)), 3 + t["classes"]
    strength, origin = rng.random(count) + 0.1, rng.normal(size=count)
    results = []
    for tier in ("numpy", "c"):
        with _kernels.use(tier):  # type: ignore[arg-type]
            trees = [f.tree for f in families_of(t)]
            values = fit_weights(terms, t["labels"], t["weight"], strength, origin, 100)
            axes = list(range(len(cards)))
            requests = [(axes, cards), (axes[:1], cards[:1]), ([*axes, *axes[::-1]], [*cards, *cards[::-1]])]
            counts = [part for table in counted_contexts(BinnedColumns(t["codes"], t["bins"]), requests) for part in table]
            results.append((trees, values, counts))
    one, two = results
    for a, b in zip(one[0], two[0], strict=True):
        assert a.cards == b.cards
        for level, other in zip(a.levels, b.levels, strict=True):
            for array, same in zip(level, other, strict=True):
                assert array.dtype == same.dtype
                assert array.tolist() == same.tolist()
    np.testing.assert_allclose(one[1], two[1], rtol=1e-6, atol=1e-6)  # the same steps
    assert [a.tolist() for a in one[2]] == [a.tolist() for a in two[2]]


@pytest.mark.skipif(len(TIERS) < 2, reason="the C kernels are not installed")
def test_columns_are_prepared_before_threads_share_them() -> None:
    """Addresses of arrays that a second thread makes again would be those of memory that is freed."""
    columns = BinnedColumns([np.array([1, 0, 255], np.uint8)], [np.array([0, 1, 2], np.uint32)])
    prepared = vars(columns)["_structs"]
    assert columns.structs() == [array.ctypes.data for array in prepared]
    assert vars(columns)["_structs"] is prepared


@given(seed=st.integers(0, 1000), classes=st.integers(1, 3))
def test_errors_are_the_derivative_of_the_loss(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    scores, weight = rng.normal(size=(4, classes)), rng.random(4)
    labels = rng.choice([*range(classes), SECOND] if classes == 1 else range(classes), 4).astype(np.uint32)
    _, errors = loss_of_scores(scores, labels, weight)
    for cell in np.ndindex(*scores.shape):
        step = np.zeros_like(scores)
        step[cell] = 1e-6
        up, down = (loss_of_scores(s, labels, weight)[0] for s in (scores + step, scores - step))
        assert errors[cell] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("tier", TIERS)
@given(seed=st.integers(0, 1000))
def test_the_gradient_is_zero_at_the_best_weights(tier: Tier, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, classes, count = int(rng.integers(1, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    features, labels = rng.normal(size=(rows, classes, count)), rng.integers(0, classes, rows).astype(np.uint32)
    weight, strength, origin = rng.random(rows) + 0.5, rng.random(count + classes) + 0.5, rng.normal(size=count + classes)
    with _kernels.use(tier):
        best = fit_weights(features, labels, weight, strength, origin, 200)
    if classes == 1:
        assert np.array_equal(best, origin)
        return
    _, errors = loss_of_scores(np.einsum("rcf,f->rc", features, best[:count]) + best[count:], labels, weight)
    gradient = np.append(np.einsum("rc,rcf->f", errors, features), errors.sum(axis=0))
    np.testing.assert_allclose(gradient + strength * (best - origin), 0.0, atol=1e-2)
