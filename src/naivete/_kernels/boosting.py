"""Boosted trees: each is fitted to the gradient of the loss of the trees before it, by Newton steps.

Nodes have the format of `naivete._kernels.trees`, with two branches. The values of a node that is no leaf, summed over the trees,
are the change of the log odds of the mean probability of its cases: see boosting.c. References: Friedman (2001), Greedy function
approximation: a gradient boosting machine; Chen and Guestrin (2016), XGBoost: a scalable tree boosting system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address, columns_struct, compiled, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel
from naivete._kernels.trees import ends_of_rows

__all__ = ["BoostedTrees", "Boosting", "boost", "boosted_scores"]

UNITS = 1 << 30
"""Slopes and curvatures are counted in this part of the weight of all rows: their sums are exact, and fit into 32 bits."""


@dataclass(frozen=True)
class Boosting:
    """How trees are boosted.

    Parameters
    ----------
    rounds : the number of trees for each class; two classes have one tree for both.
    depth : the largest depth of a tree.
    rate : multiplies the values of leaves.
    penalty : of the squared value of a leaf.
    least : the least sum of second derivatives in a branch.
    """

    rounds: int = 100
    depth: int = 6
    rate: float = 0.3
    penalty: float = 1.0
    least: float = 1.0


class BoostedTrees(NamedTuple):
    """Trees one after another.

    Parameters
    ----------
    nodes : the nodes of all trees; children are counted from the first node of their tree.  # (node, 3)
    values : the value of each node: that of the rows that end there.
    starts : the first node of each tree, and last the number of nodes.
    """

    nodes: Integers
    values: Numbers
    starts: Integers


def boost(
    codes: NDArray[np.uint16],
    states: Sequence[int],
    nominal: Sequence[bool],
    labels: NDArray[np.uint32],
    weight: Numbers,
    scores: Numbers,
    candidates: NDArray[np.int32],
    setting: Boosting,
) -> tuple[BoostedTrees, Numbers]:
    """Return boosted trees, and the scores of all rows, also of those with weight 0.

    Parameters
    ----------
    codes : (column, row), contiguous; the code after the last state is missing.
    states, nominal : the number of states of each column, and whether it is nominal.
    labels, weight : the class and the weight of each row.
    scores : the first scores.  # (row, class)
    candidates : the columns by which each tree may split.  # (tree, column)
    setting : how they are boosted.
    """
    setting = replace(setting, least=setting.least * (1 - 1e-9))  # sums that are equal but for rounding errors are enough
    scores, library = np.array(scores, np.float64), compiled()
    classes = scores.shape[1]
    unit = max(float(weight.sum()), 1e-300) / UNITS
    if library is None:
        return _boost_numpy(codes, states, nominal, labels, weight, scores, candidates, setting, unit)
    most = len(candidates) * ((2 << setting.depth) - 1)
    nodes, values, starts = np.empty((most, 3), np.int64), np.empty(most), np.zeros(len(candidates) + 1, np.int64)
    sizes, kinds = np.array(states, np.int64), np.array(nominal, np.uint8)
    candidates = np.ascontiguousarray(candidates, np.int32)
    data = (address(a) for a in (codes, sizes, kinds))
    known = address(labels), address(weight), classes, address(candidates), candidates.shape[1]
    rule = setting.rounds, setting.depth, setting.rate, setting.penalty, setting.least, unit, max(states, default=0)
    results = (address(a) for a in (scores, nodes, values, starts))
    require_memory(library.naivete_boost(*data, len(labels), *known, *rule, *results))
    used = int(starts[-1])
    return BoostedTrees(nodes[:used].copy(), values[:used].copy(), starts), scores


def boosted_scores(codes: Codes, states: Sequence[int], complete: Sequence[bool], trees: BoostedTrees, scores: Numbers) -> Numbers:
    """Return the scores with the values of the nodes of all trees added at which the rows end.  # (row, class)

    Parameters
    ----------
    codes, states, complete : as in `naivete._kernels.trees.ends_of_rows`.
    trees : the trees, one for each class in turn; of two classes only the second has trees.
    scores : what they are added to.  # (row, class)
    """
    result, library = np.array(scores, np.float64), compiled()
    rows, classes = result.shape
    first, count = int(classes == 2), len(trees.starts) - 1
    if library is None:
        for i in range(count):
            part = slice(int(trees.starts[i]), int(trees.starts[i + 1]))
            result[:, i % (classes - first) + first] += trees.values[part][ends_of_rows(codes, states, complete, trees.nodes[part])]
        return result
    columns, _kept_alive = columns_struct(codes)
    sizes, known = np.array(states, np.int64), np.array(complete, np.uint8)
    table, arrays = (address(columns), address(sizes), address(known), len(codes)), [address(a) for a in trees]

    def fill(part: tuple[int, int]) -> int:
        return int(library.naivete_boosted_scores(*table, *arrays, count, classes - first, first, classes, *part, address(result)))

    work = 16 * rows * count
    for status in run_parallel(fill, ranges(rows, work, 8, 64), work):
        require_memory(status)
    return result


def _boost_numpy(
    codes: NDArray[np.uint16],
    states: Sequence[int],
    nominal: Sequence[bool],
    labels: NDArray[np.uint32],
    weight: Numbers,
    scores: Numbers,
    candidates: NDArray[np.int32],
    setting: Boosting,
    unit: float,
) -> tuple[BoostedTrees, Numbers]:
    classes = scores.shape[1]
    first = int(classes == 2)
    trees: list[tuple[Integers, Numbers]] = []
    for _ in range(setting.rounds):
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        for c in range(first, classes):
            slope = np.rint(weight / unit * (p[:, c] - (labels == c)))
            curvature = np.rint(weight / unit * (p[:, c] * (1 - p[:, c])))
            units = np.rint(weight / unit)
            cases = np.stack([slope, curvature, units, units * (labels == c)])
            nodes, values, leaf = _grown(codes, states, nominal, cases, candidates[len(trees)], setting, unit)
            scores[:, c] += values[leaf]
            trees.append((nodes, values))
    starts = np.cumsum([0, *(len(values) for _, values in trees)])
    empty = np.empty((0, 3), np.int64), np.empty(0)
    nodes, values = (np.concatenate(parts) for parts in zip(empty, *trees, strict=True))
    return BoostedTrees(nodes, values, starts), scores


def _grown(
    codes: NDArray[np.uint16],
    states: Sequence[int],
    nominal: Sequence[bool],
    cases: Numbers,
    columns: NDArray[np.int32],
    setting: Boosting,
    unit: float,
) -> tuple[Integers, Numbers, Integers]:
    """Return the nodes and values of one tree, and the leaf of each row.

    `cases` are whole numbers of units: the slope, the curvature and the weight of each row, and its weight in the class.
    """
    nodes, values = [[-1, -1, 0]], [0.0]
    leaf = np.zeros(cases.shape[1], np.int64)
    waiting = [(0, np.arange(cases.shape[1]), 0)]
    while waiting:
        at, rows, depth = waiting.pop()
        g, h = cases[:2, rows]
        sums = unit * cases[:, rows].sum(axis=1)
        split = (1e-6, -1, -1)
        if depth < setting.depth and sums[1] >= 2 * setting.least:
            for x in columns.tolist():
                split = max(split, _best_split(codes[x, rows], states[x], nominal[x], x, g, h, setting, unit), key=lambda s: s[0])
        _, column, test = split
        if column < 0:
            values[at] = -setting.rate * sums[0] / (sums[1] + setting.penalty)
            leaf[rows] = at
        else:
            values[at] = _inner_value(sums, setting)
            nodes[at] = [column, test, len(nodes)]
            value = codes[column, rows].astype(np.int64)
            second = value != -2 - test if test < 0 else value > test
            parts = [(len(nodes), rows[~second], depth + 1), (len(nodes) + 1, rows[second], depth + 1)]
            waiting += sorted(parts, key=lambda part: -len(part[1]))  # the nodes of the smaller branch are numbered first
            nodes += [[-1, -1, 0], [-1, -1, 0]]
            values += [0.0, 0.0]
    return np.array(nodes, np.int64), np.array(values), leaf


def _inner_value(sums: Numbers, setting: Boosting) -> float:
    """Return the value of a node that is no leaf: a Newton step with the curvature of the mean probability of its cases."""
    slope, curvature, weight, in_class = map(float, sums)
    p = in_class + slope
    return -setting.rate * slope / (max(p * (weight - p) / weight, curvature) + setting.penalty)


def _best_split(
    codes: NDArray[np.uint16],
    states: int,
    nominal: bool,
    column: int,
    slope: Numbers,
    curvature: Numbers,
    setting: Boosting,
    unit: float,
) -> tuple[float, int, int]:
    """Return the gain of the best split by a column, the column and the test; no gain if there is none."""
    g, h = (np.bincount(codes, part, states + 1).astype(np.float64) for part in (slope, curvature))
    total_g, total_h = slope.sum(), curvature.sum()
    occurs = (g != 0) | (h != 0)
    if not nominal:
        g, h, occurs = np.cumsum(g)[:-1], np.cumsum(h)[:-1], occurs[:-1]

    def score(a: Numbers, b: Numbers) -> Numbers:
        return (unit * a) * (unit * a) / (unit * b + setting.penalty)

    gain = (score(g, h) + score(total_g - g, total_h - h) - score(total_g, total_h)).astype(np.float32)  # rounding errors are equal
    gain[~occurs | (unit * h < setting.least) | (unit * (total_h - h) < setting.least)] = -np.inf
    best = int(gain.argmax()) if len(gain) else 0
    return (float(gain[best]), column, -2 - best if nominal else best) if len(gain) else (-np.inf, -1, -1)
