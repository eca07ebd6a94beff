"""Classification trees whose nodes all keep the weights of the classes: growing one on a sample, and posteriors along its paths.

A tree is an array with three numbers for each node: its column (-1 at a leaf), its test, and its first child; the other children
follow. A test t >= 0 sends codes up to t to the first branch and the others to the second; t = -1 gives every code a branch of
its own; t <= -2 sends the code -2 - t to the first branch and the others to the second. The code after the last one is missing.

A column that had no missing values in training is complete: no branch says anything about a missing value. A row in which it is
missing ends at the node that splits by it, with the counts of that node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import NOTHING, SMALLEST, LeftOut
from naivete._kernels.contexts import left_out_addresses
from naivete._kernels.dispatch import address, columns_struct, compiled, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = ["Growth", "ends_of_rows", "grow_tree", "tree_leaves", "tree_posteriors", "tree_sums"]

_WORD = (1 << 64) - 1
WIDEST = 64
"""The most branches of a node."""


class Growth:
    """How a tree is grown.

    Parameters
    ----------
    m : the weight of the parent's estimate in that of a node.
    many : the number of columns that are drawn at each node.
    deepest : the largest depth.
    always : whether a node is split even if that does not predict the left-out cases better.
    most : the most nodes.
    """

    def __init__(self, m: float, many: int, deepest: int, *, always: bool, most: int) -> None:
        self.m, self.many, self.deepest, self.always, self.most = m, many, deepest, always, most


def tree_leaves(codes: Codes, states: Sequence[int], nodes: Integers) -> Integers:
    """Return the leaf that each row reaches.

    Parameters
    ----------
    codes : the columns.
    states : the number of codes of each; larger codes are missing.
    nodes : the tree.

    >>> tree_leaves([np.array([0, 1, 2, 255], np.uint8)], [3], np.array([[0, 0, 1], [-1, -1, 0], [-1, -1, 0]])).tolist()
    [1, 2, 2, 2]
    """
    library = compiled()
    if library is None:
        return ends_of_rows(codes, states, [False] * len(codes), nodes)
    result = np.zeros(len(codes[0]), np.int64)
    columns, _kept_alive = columns_struct(codes)
    sizes, nodes = np.array(states, np.int64), np.ascontiguousarray(nodes, np.int64)

    def fill(part: tuple[int, int]) -> None:
        library.naivete_tree_leaves(address(columns), address(sizes), address(nodes), *part, address(result))

    work = 16 * len(result)
    run_parallel(fill, ranges(len(result), work, 8, 64), work)
    return result


def ends_of_rows(codes: Codes, states: Sequence[int], complete: Sequence[bool], nodes: Integers) -> Integers:
    """Return the node at which each row ends: a leaf, or one that splits by a complete column that is missing in the row.

    Parameters
    ----------
    codes, states, nodes : as in `tree_leaves`.
    complete : for each column whether it is complete.

    >>> ends_of_rows([np.array([0, 1, 2, 255], np.uint8)], [3], [True], np.array([[0, 0, 1], [-1, -1, 0], [-1, -1, 0]])).tolist()
    [1, 2, 2, 0]
    """
    result, rows = np.zeros(len(codes[0]), np.int64), np.arange(len(codes[0]))
    while len(rows):
        at = result[rows]
        result[rows] = _next_nodes(codes, states, complete, nodes, at, rows)
        rows = rows[result[rows] != at]
    return result


def _next_nodes(
    codes: Codes, states: Sequence[int], complete: Sequence[bool], nodes: Integers, at: Integers, rows: Integers
) -> Integers:
    """Return the children that rows go to from their nodes, or the nodes themselves where rows end."""
    result = at.copy()
    for x in np.unique(nodes[at, 0]).tolist():
        if x < 0:
            continue
        chosen = np.flatnonzero(nodes[at, 0] == x)
        value = np.minimum(codes[x][rows[chosen]], states[x]).astype(np.int64)
        if complete[x]:
            chosen, value = chosen[value < states[x]], value[value < states[x]]
        _, test, first = nodes[at[chosen]].T
        result[chosen] = first + _branch(test, value)
    return result


def _branch(test: Any, value: Integers) -> Integers:
    return np.asarray(np.where(test == -1, value, np.where(test < 0, value != -2 - test, value > test)))


def tree_sums(states: Sequence[int], nodes: Integers, weights: Numbers) -> Numbers:
    """Return the weight of each class in all nodes from those in the leaves.  # (node, class)

    >>> tree_sums([1], np.array([[0, 0, 1], [-1, -1, 0], [-1, -1, 0]]), np.array([[0.0], [2.0], [3.0]])).tolist()
    [[5.0], [2.0], [3.0]]
    """
    result = np.array(weights, np.float64)
    library = compiled()
    if library is not None:
        sizes, nodes = np.array(states, np.int64), np.ascontiguousarray(nodes, np.int64)
        library.naivete_tree_sums(address(sizes), address(nodes), len(nodes), result.shape[1], address(result))
        return result
    for at in np.flatnonzero(nodes[:, 0] >= 0)[::-1].tolist():
        column, test, first = nodes[at].tolist()
        result[at] += result[first : first + (states[column] + 1 if test == -1 else 2)].sum(axis=0)
    return result


def tree_posteriors(
    codes: Codes,
    states: Sequence[int],
    complete: Sequence[bool],
    trees: Sequence[tuple[Integers, Numbers]],
    m: float,
    depths: Sequence[int],
    left_out: LeftOut | None = None,
    used: NDArray[np.bool_] | None = None,
) -> tuple[Numbers, Numbers]:
    """Return the mean over trees of log P(class | node) at the given depths or where a row ends, and of P(class) there.

    P_d = (n + m P_{d-1}) / (N + m) along the path of a row, starting from equal probabilities.

    Parameters
    ----------
    codes, states, complete : as in `ends_of_rows`.
    trees : the nodes of each tree, and the weight of each class in each node.
    m : the weight of the parent's estimate.
    depths : increasing depths.
    left_out : what is left out of the weights for each row; by default nothing.
    used : for which rows each tree is used, a row for which none is uses all; by default all trees for all rows.  # (tree, row)

    Returns
    -------
    The mean logarithms (row, depth, class) and the mean posteriors (row, class).
    """
    rows, classes = len(codes[0]), trees[0][1].shape[1]
    logs, mean = np.zeros((rows, len(depths), classes)), np.zeros((rows, classes))
    library = compiled()
    if library is None:
        shares = np.ones((len(trees), rows)) if used is None else used.astype(np.float64)
        shares[:, shares.sum(axis=0) == 0] = 1.0
        shares /= shares.sum(axis=0)
        for (nodes, weights), share in zip(trees, shares, strict=True):
            posterior = _tree_posteriors_numpy(codes, states, complete, nodes, weights, m, depths, left_out)
            logs += share[:, None, None] * np.log(posterior)
            mean += share[:, None] * posterior[:, -1]
        return logs, mean
    columns, _kept_alive = columns_struct(codes)
    sizes, known, wanted = np.array(states, np.int64), np.array(complete, np.uint8), np.array(depths, np.int64)
    arrays = [(np.ascontiguousarray(nodes), np.ascontiguousarray(weights)) for nodes, weights in trees]
    pointers = np.array([[address(nodes), address(weights)] for nodes, weights in arrays], np.int64).T.copy()
    mask = None if used is None else np.ascontiguousarray(used, np.uint8)
    leave = left_out_addresses(left_out)

    def fill(part: tuple[int, int]) -> int:
        forest = address(columns), address(sizes), address(known), address(pointers[0]), address(pointers[1])
        counts = 0 if mask is None else address(mask), len(arrays), rows, classes, m
        results = address(logs), address(mean)
        return int(library.naivete_tree_posteriors(*forest, *counts, *leave, address(wanted), len(wanted), *part, *results))

    work = 32 * rows * classes * len(trees)
    for status in run_parallel(fill, ranges(rows, work, 4, 64), work):
        require_memory(status)
    return logs, mean


def _tree_posteriors_numpy(
    codes: Codes,
    states: Sequence[int],
    complete: Sequence[bool],
    nodes: Integers,
    weights: Numbers,
    m: float,
    depths: Sequence[int],
    left_out: LeftOut | None,
) -> Numbers:
    """Return P(class | node) along the path of each row in one tree, at some depths or where it ends.  # (row, depth, class)"""
    rows, classes = len(codes[0]), weights.shape[1]
    result, weight = np.empty((rows, len(depths), classes)), np.zeros(rows) if left_out is None else left_out.weight
    p, at, active, written, depth = np.full((rows, classes), 1 / classes), np.zeros(rows, np.int64), np.arange(rows), 0, 0
    while len(active):
        n = weights[at[active]]
        total = n.sum(axis=1) - weight[active]
        if left_out is not None:
            true_class = np.arange(len(active)), left_out.labels[active].astype(np.int64)
            n[true_class] = np.maximum(n[true_class] - weight[active], 0.0)
        estimate = np.maximum((n + m * p[active]) / (np.maximum(total, 0.0) + m)[:, None], SMALLEST)
        p[active] = np.where((total > NOTHING)[:, None], estimate, p[active])
        if written < len(depths) and depths[written] == depth:
            result[:, written] = p
            written += 1
        here = at[active]
        at[active] = _next_nodes(codes, states, complete, nodes, here, active)
        active = active[at[active] != here]
        depth += 1
    result[:, written:] = p[:, None]
    return result


def grow_tree(
    codes: NDArray[np.uint16],
    states: Sequence[int],
    nominal: Sequence[bool],
    labels: NDArray[np.uint32],
    weight: Numbers,
    classes: int,
    growth: Growth,
    seed: int,
) -> Integers:
    """Return a tree grown on some rows.

    At each node some columns are drawn. Of each numeric one the threshold with the smallest Gini impurity is taken, of a nominal
    one the code that is best separated from the others, or a branch for every code; among these splits the one is made that gives
    the largest sum of log P(class) when every case is left out of its own counts.

    Parameters
    ----------
    codes : the codes of the rows, the number of states where missing.  # (column, row)
    states : the number of codes of each column.
    nominal : whether each column is nominal.
    labels, weight : the class and the weight of each row.
    classes : the number of classes.
    growth : how it is grown.
    seed : of the drawn columns.
    """
    features, rows = codes.shape
    many = min(growth.many, features)
    library = compiled()
    if library is None:
        return _grow_tree_numpy(codes, states, nominal, labels.astype(np.int64), weight, classes, growth, many, seed)
    nodes, sizes, kinds = np.empty((growth.most, 3), np.int64), np.array(states, np.int64), np.array(nominal, np.uint8)
    codes = np.ascontiguousarray(codes)
    made = library.naivete_grow_tree(
        *(address(codes), address(sizes), address(kinds), features, rows, address(labels), address(weight), classes),
        *(growth.m, many, growth.deepest, int(growth.always), seed & _WORD, growth.most, address(nodes)),
    )
    require_memory(made >= 0)
    return nodes[:made].copy()


def _random_numbers(seed: int) -> Any:
    """Yield the numbers of splitmix64."""
    state = seed & _WORD
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
        yield z ^ (z >> 31)


def _grow_tree_numpy(
    codes: NDArray[np.uint16],
    states: Sequence[int],
    nominal: Sequence[bool],
    labels: Integers,
    weight: Numbers,
    classes: int,
    growth: Growth,
    many: int,
    seed: int,
) -> Integers:
    random, drawn = _random_numbers(seed), list(range(len(codes)))
    nodes = [[-1, -1, 0]]
    stack = [(0, np.arange(codes.shape[1]), 0, np.full(classes, 1 / classes))]
    while stack:
        node, rows, depth, parent = stack.pop()
        here = np.bincount(labels[rows], weight[rows], classes).astype(np.float64)
        if np.count_nonzero(here) < 2 or depth >= growth.deepest:
            continue
        best = -np.inf if growth.always else _left_out_sum(here[None], parent, growth.m)
        estimate = (here + growth.m * parent) / (here.sum() + growth.m)
        column, threshold = -1, -1
        for j in range(many):
            pick = j + next(random) % (len(drawn) - j)
            drawn[j], drawn[pick] = drawn[pick], drawn[j]
            x = drawn[j]
            size = states[x] + 1
            values = codes[x][rows].astype(np.int64)
            if values.min() == values.max():
                continue
            cells = np.bincount(values * classes + labels[rows], weight[rows], size * classes).astype(np.float64)
            table = cells.reshape(size, classes)
            several = nominal[x] and size <= WIDEST and len(nodes) + size <= growth.most
            score, cut = (_left_out_sum(table, estimate, growth.m) if several else -np.inf), -1
            code, left = _purest_code(table, here) if nominal[x] else _purest_cut(table)
            two = _left_out_sum(np.stack([left, here - left]), estimate, growth.m)
            if two > score + NOTHING:
                score, cut = two, -2 - code if nominal[x] else code
            if score > best + NOTHING:
                best, column, threshold = score, x, cut
        branches = 0 if column < 0 else states[column] + 1 if threshold == -1 else 2
        if column < 0 or len(nodes) + branches > growth.most:
            continue
        first = len(nodes)
        nodes[node] = [column, threshold, first]
        nodes += [[-1, -1, 0] for _ in range(branches)]
        value = codes[column][rows].astype(np.int64)
        which = _branch(threshold, value)
        stack += [(first + b, rows[which == b], depth + 1, estimate) for b in range(branches)]
    return np.array(nodes, np.int64)


def _purest_cut(table: Numbers) -> tuple[int, Numbers]:
    """Return the last code of the first of two branches with the smallest Gini impurity, and its class weights."""
    occurring = np.flatnonzero(table.sum(axis=1) > 0)[:-1]
    left = np.cumsum(table, axis=0)[occurring]
    best = int(np.argmax(_purity(left, table.sum(axis=0))))
    return int(occurring[best]), left[best]


def _purest_code(table: Numbers, here: Numbers) -> tuple[int, Numbers]:
    """Return the code whose separation from the others has the smallest Gini impurity, and its class weights."""
    occurring = np.flatnonzero(table.sum(axis=1) > 0)
    best = int(occurring[np.argmax(_purity(table[occurring], here))])
    return best, table[best]


def _purity(left: Numbers, here: Numbers) -> Numbers:
    right = here - left
    return np.asarray((left * left).sum(axis=1) / left.sum(axis=1) + (right * right).sum(axis=1) / right.sum(axis=1))


def _left_out_sum(parts: Numbers, parent: Numbers, m: float) -> float:
    """Return the sum of n log P(class) over some parts of the cases, each case left out of its own counts.  # (part, class)"""
    total = np.maximum(parts.sum(axis=1, keepdims=True) - 1, 0.0)
    p = (np.maximum(parts - 1, 0.0) + m * parent) / (total + m)
    return float(np.where(parts > 0, parts * np.log(p), 0.0).sum())
