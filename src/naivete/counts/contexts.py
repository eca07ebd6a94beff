"""Counts of the configurations of some binned columns and the class that occur, for many lists of columns in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.contexts import BinnedColumns, Bins, context_keys, counted_contexts
from naivete._kernels.dispatch import Columns
from naivete._kernels.exact_sums import LimbSums, limbs, sums_as_numbers
from naivete._kernels.trees import tree_leaves, tree_sums
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.errors import ResourceError
from naivete.variables import CLASS

__all__ = ["LARGEST", "ContextCounts", "ContextRequest", "TreeRequest", "context_counts", "node_weights"]

LARGEST = 2**62
"""The most cells of a table whose configurations can be numbered."""
ROWS_TOGETHER = 1 << 16
"""Tables are counted in one call until they have about this many rows together."""


class ContextRequest(NamedTuple):
    """The columns to be counted together with the class, in order, the bins of all features, and the number of bins of each."""

    columns: tuple[int, ...]
    bins: Bins
    cards: tuple[int, ...]  # the number of classes last


class TreeRequest(NamedTuple):
    """A tree whose leaves are to be counted with the class: its nodes, the number of codes of each column, and of classes."""

    nodes: Integers
    states: tuple[int, ...]
    classes: int


class ContextCounts(NamedTuple):
    """The cells of a table that are not empty: their positions, increasing, and their weights."""

    keys: NDArray[np.uint64]
    weights: Numbers


Request = ContextRequest | TreeRequest
Sums = list[tuple[NDArray[np.uint64], LimbSums]]


def context_counts(counts: Counts, requests: Sequence[Request]) -> list[ContextCounts]:
    """Return the counts of every request, in one pass; missing values are counted in their own bins.

    Where rows are streamed, an error is raised as soon as the counts take more than a third of the budget: what is computed from
    them takes about six times as much, and a memory limit is twice the budget.
    """
    sums = counts.fold(partial(_of_block, requests=tuple(requests)), partial(_merged_within, budget=counts.budget))
    return [ContextCounts(keys, sums_as_numbers(weight).astype(np.float64)) for keys, weight in sums]


def node_weights(request: TreeRequest, leaves: ContextCounts) -> Numbers:
    """Return the weight of each class in every node of a tree from those in its leaves.  # (node, class)"""
    weights = np.zeros(len(request.nodes) * request.classes)
    weights[leaves.keys.astype(np.int64)] = leaves.weights
    return tree_sums(request.states, request.nodes, weights.reshape(-1, request.classes))


def _of_block(block: Block, requests: Sequence[Request]) -> Sums:
    parts = [_of_part(part, requests) for part in block.parts()]
    result = parts[0]
    for part in parts[1:]:
        result = _merged(result, part)
    return result


def _of_part(block: Block, requests: Sequence[Request]) -> Sums:
    features, labels = Columns(block.codes[:CLASS]), block.codes[CLASS]
    weights = {q: limb for q, limb in limbs(block.weight).items() if limb is not None}
    binned = _binned_columns(block, requests)

    def count(positions: range) -> Sums:
        request = requests[positions[0]]
        if isinstance(request, TreeRequest):
            cells = tree_leaves(features, request.states, request.nodes) * request.classes + labels
            if weights:
                return [_added(cells.astype(np.uint64), weights)]
            numbers = np.bincount(cells)
            occurring = np.flatnonzero(numbers)
            return [(occurring.astype(np.uint64), {0: numbers[occurring].astype(np.int64)})]
        chosen = [other for other in requests[positions.start : positions.stop] if isinstance(other, ContextRequest)]
        columns, tables = binned[id(request.bins)], [((*other.columns, len(features)), other.cards) for other in chosen]
        if weights:
            return [_added(context_keys(columns, *table), weights) for table in tables]
        return [(keys, {0: numbers}) for keys, numbers in counted_contexts(columns, tables)]

    counted = run_parallel(count, _together(requests, len(block)), 32.0 * len(block) * len(requests))
    return [sums for some in counted for sums in some]


def _together(requests: Sequence[Request], rows: int) -> list[range]:
    """Return the positions of the requests that are counted in one call: of few rows several ones with the same bins."""
    most, result = max(1, ROWS_TOGETHER // max(1, rows)), []
    for _, group in groupby(range(len(requests)), lambda i: _bins_of(requests[i])):
        positions = list(group)
        size = most if isinstance(requests[positions[0]], ContextRequest) else 1
        result += [range(i, min(i + size, positions[-1] + 1)) for i in range(positions[0], positions[-1] + 1, size)]
    return result


def _bins_of(request: Request) -> int:
    return id(request.bins) if isinstance(request, ContextRequest) else 0


def _binned_columns(block: Block, requests: Sequence[Request]) -> dict[int, BinnedColumns]:
    """Return the columns and the class with the bins of each request, by the identity of the bins, which many requests share."""
    codes, result = Columns(block.codes), {}
    for request in requests:
        if isinstance(request, ContextRequest) and id(request.bins) not in result:
            result[id(request.bins)] = BinnedColumns(codes, (*request.bins, np.arange(request.cards[-1] + 1, dtype=np.uint32)))
    return result


def _added(keys: NDArray[np.uint64], weights: LimbSums) -> tuple[NDArray[np.uint64], LimbSums]:
    """Return the distinct keys and the sums of the weights of each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.empty(0, np.int64)
    return ordered[first], {q: np.add.reduceat(part[order], first) if len(first) else part[:0] for q, part in weights.items()}


def _merged_within(one: Sums, two: Sums, budget: int) -> Sums:
    """Return the counts of two blocks together; an error where they are too large for the budget."""
    for sums in (one, two):
        _check_budget(sums, budget)  # before the memory for both together is taken
    merged = _merged(one, two)
    _check_budget(merged, budget)
    return merged


def _check_budget(sums: Sums, budget: int) -> None:
    taken = sum(keys.nbytes + sum(part.nbytes for part in weights.values()) for keys, weights in sums)
    if 3 * taken > budget:
        raise ResourceError(
            f"the combinations of values that occur take {taken:,} bytes before all rows are read, and three times as much is more "
            f"than the budget of {budget:,} bytes: learn with a smaller depth or fewer members (`depth=`, `members=`), choose "
            "another model, or raise `memory=` or `budget=`"
        )


def _merged(one: Sums, two: Sums) -> Sums:
    return [_merge(*both) for both in zip(one, two, strict=True)]


def _merge(
    one: tuple[NDArray[np.uint64], LimbSums], two: tuple[NDArray[np.uint64], LimbSums]
) -> tuple[NDArray[np.uint64], LimbSums]:
    weights = {}
    for q in one[1].keys() | two[1].keys():
        weights[q] = np.concatenate([part.get(q, np.zeros(len(keys), np.int64)) for keys, part in (one, two)])
    return _added(np.concatenate([one[0], two[0]]), weights)
