"""The NumPy versions of the kernels of contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import (
    ENTRY,
    NOTHING,
    SMALLEST,
    ContextEstimate,
    ContextFamily,
    ContextTree,
    LeftOut,
    Level,
    contains,
)

__all__ = ["context_levels", "context_logs_numpy"]


def context_levels(keys: Integers, weights: Numbers, cards: Sequence[int], least: float) -> tuple[Level, ...]:
    *parents, values, classes = cards
    below = values * classes
    prefix, rest = keys // below, keys % below
    levels: list[Level] = []
    children_of: Integers | None = None  # the context of this depth that each context of the next one extends
    for d in range(len(parents), -1, -1):
        cells, which = np.unique(prefix * below + rest, return_inverse=True)
        sums = np.bincount(which, weights, len(cells))
        contexts, context_of = np.unique(cells // below, return_inverse=True)
        totals = np.bincount(context_of, sums, len(contexts))
        kept = (totals >= least) if d else np.ones(len(contexts), bool)
        number = np.cumsum(kept) - 1
        used = kept[context_of]
        cell_context, cell, weight = number[context_of[used]], cells[used] % below, sums[used]
        pairs, pair_of = np.unique(cell_context * classes + cell % classes, return_inverse=True)
        of_class = np.empty(len(pairs), ENTRY)
        of_class["weight"], of_class["cls"] = np.bincount(pair_of, weight, len(pairs)), pairs % classes
        of_class["code"] = np.bincount(pair_of, minlength=len(pairs))
        entries = np.empty(len(cell), ENTRY)
        entries["weight"], entries["cls"], entries["code"] = weight, cell % classes, cell // classes
        count = int(kept.sum())
        last = (contexts % parents[d - 1] if d else contexts)[kept].astype(np.uint32)
        if children_of is None:
            children = np.empty(0, np.int64)
        else:
            position = number[np.searchsorted(contexts, children_of)]
            children = np.searchsorted(position, np.arange(count + 1))
        starts = [np.searchsorted(of, np.arange(count + 1)) for of in (pairs // classes, cell_context)]
        levels.insert(0, Level(last, children, np.asarray(totals[kept], np.float64), starts[0], of_class, starts[1], entries))
        if d:
            children_of = contexts[kept] // parents[d - 1]
            prefix = prefix // parents[d - 1]
    return tuple(levels)


def context_logs_numpy(
    columns: Sequence[NDArray[Any]],
    families: Sequence[ContextFamily],
    total: float,
    rule: ContextEstimate,
    left_out: LeftOut | None,
    sums: Numbers,
    first: Numbers,
) -> None:
    classes = sums.shape[2]
    weight = np.zeros(len(sums)) if left_out is None else left_out.weight
    for i, (x, parents, tree, margin, states) in enumerate(families):
        value = columns[x].astype(np.int64)
        remaining = margin[value] - weight
        rows = np.flatnonzero(remaining >= NOTHING)
        p = np.repeat(((remaining[rows] + 1) / (total - weight[rows] + states))[:, None], classes, axis=1)
        context, active = np.zeros(len(rows), np.int64), np.arange(len(rows))  # active: those whose context still occurs
        for d in range(sums.shape[1]):
            if d <= len(parents) and len(active):
                chosen = rows[active]
                labels = None if left_out is None else left_out.labels[chosen].astype(np.int64)
                p[active] = _backed_off(tree, d, context, value[chosen], p[active], rule, labels, weight[chosen])
            logs = np.log(p)
            sums[rows, d] += logs
            if not d and first.size:
                first[rows, i] = logs
            if d < len(parents) and len(active):
                child = tree.child(d, context, columns[parents[d]][rows[active]].astype(np.int64))
                used = (
                    (child >= 0) & (tree.levels[d + 1].totals[np.maximum(child, 0)] - weight[rows[active]] >= rule.least)
                    if len(tree.levels[d + 1].totals)
                    else np.zeros(len(active), bool)
                )
                active, context = active[used], child[used]
            else:
                active = active[:0]


def _backed_off(
    tree: ContextTree,
    depth: int,
    context: Integers,
    value: Integers,
    shorter: Numbers,
    rule: ContextEstimate,
    labels: Integers | None,
    left_out: Numbers,
) -> Numbers:
    """Return the estimates of one depth from those of the depth before, for rows in contexts that occur.  # (row, class)"""
    values, classes = tree.cards[-2:]
    level, (class_keys, cell_keys, _) = tree.levels[depth], tree.lookups[depth]
    every = np.arange(classes)
    of_class = _entries(level.classes, class_keys, context[:, None] * classes + every)
    cells = _entries(level.cells, cell_keys, (context[:, None] * values + value[:, None]) * classes + every)
    n, total, kinds = cells["weight"], of_class["weight"], of_class["code"].astype(np.float64)
    if labels is not None:
        true_class = np.arange(len(labels)), labels
        total[true_class] -= left_out
        n[true_class] -= left_out
        kinds[true_class] -= n[true_class] < NOTHING
        n[true_class] = np.where(n[true_class] < NOTHING, 0.0, n[true_class])
    estimate = (np.maximum(n - rule.delta, 0.0) + (rule.theta + rule.delta * kinds) * shorter) / (
        np.maximum(total, 0.0) + rule.theta
    )
    return np.where(total >= NOTHING, np.maximum(estimate, SMALLEST), shorter)


def _entries(entries: NDArray[Any], keys: Integers, wanted: Integers) -> NDArray[Any]:
    """Return copies of the entries with these keys, zeros where there is none."""
    result = np.zeros(wanted.shape, ENTRY)
    present = contains(keys, wanted)
    result[present] = entries[np.searchsorted(keys, wanted[present])]
    return result
