"""Counts of a feature in nested contexts, and what is computed from them for rows of codes.

The contexts of a feature x with the parents p1, p2, ..., the strongest first, are the empty one, the states of p1, the states of
p1 and p2, and so on. `context_tree` arranges the counts of all of them in a tree; `context_logs` estimates P(x | class, context) at
every depth, each depth from its own counts and from the estimate of the depth before (back-off).

Every column is looked up in a table of bins first: `bins[code]`, and `bins[-1]` where the code is missing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import Bins, ContextEstimate, ContextFamily, ContextTree, LeftOut, binned, packed_tree
from naivete._kernels.contexts_numpy import context_levels, context_logs_numpy
from naivete._kernels.dispatch import address, columns_struct, compiled, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = [
    "BinnedColumns",
    "Bins",
    "ContextEstimate",
    "ContextFamily",
    "ContextTree",
    "FamilyRecords",
    "LeftOut",
    "binned",
    "context_keys",
    "context_logs",
    "context_tree",
    "counted_contexts",
    "left_out_addresses",
]


FAMILY = np.dtype(
    [(name, np.int64) for name in ("margin", "members", "levels", "parents")] + [("states", np.float64), ("total", np.float64)]
)
"""The C struct `family`."""


class FamilyRecords:
    """The C structs of some families, and the arrays to which they point.

    Parameters
    ----------
    families : features with their parents.
    total : the weight of all cases.
    """

    def __init__(self, families: Sequence[ContextFamily], total: float) -> None:
        self.families, self.total = families, total
        self.records = np.zeros(len(families), FAMILY)
        self.kept_alive: list[Any] = []
        for i, family in enumerate(families):
            members, margin = np.array([family.x, *family.parents], np.int64), np.ascontiguousarray(family.margin, np.float64)
            counts = address(margin), address(members), address(family.tree.struct)
            self.records[i] = *counts, family.tree.depth, family.states, total
            self.kept_alive.append((members, margin))


class BinnedColumns:
    """Columns of codes with their bins, prepared for many calls of compiled code, each with some of them.

    Parameters
    ----------
    codes, bins : the columns and their bins.
    """

    def __init__(self, codes: Codes, bins: Bins) -> None:
        self.codes, self.bins = codes, bins
        if compiled() is not None:  # here, not when they are first needed: threads share them
            columns, arrays = columns_struct(codes)
            tables = [np.ascontiguousarray(table, np.uint32) for table in bins]
            pointers = np.array([address(table) for table in tables], np.int64)
            states = np.array([len(table) - 1 for table in tables], np.int64)
            self._structs, self._kept_alive = (columns, pointers, states), (arrays, tables)

    def structs(self) -> list[int]:
        """Return the addresses of the structs, look-up tables and their lengths, valid as long as this object exists."""
        return [address(array) for array in self._structs]


def context_keys(columns: BinnedColumns, members: Sequence[int], cards: Sequence[int]) -> NDArray[np.uint64]:
    """Return the position of each row in a table whose axes are some binned columns, the last varying fastest.

    >>> columns = BinnedColumns([np.array([1, 0, 255], np.uint8)] * 2, [np.array([0, 1, 2], np.uint32)] * 2)
    >>> context_keys(columns, (0, 1), (3, 3)).tolist()
    [4, 0, 8]
    """
    rows = len(columns.codes[0])
    library = compiled()
    if library is None:
        keys = np.zeros(rows, np.uint64)
        chosen = [columns.codes[v] for v in members], [columns.bins[v] for v in members]
        for column, card in zip(binned(*chosen), cards, strict=True):
            keys = keys * np.uint64(card) + column
        return keys
    keys = np.empty(rows, np.uint64)
    axes = np.array([members, cards], np.int64)
    library.naivete_context_keys(*columns.structs(), address(axes), address(axes[1]), axes.shape[1], 0, rows, address(keys))
    return keys


KEPT = 1 << 26
"""The most bytes of scratch memory that a thread keeps."""


class _Scratch(threading.local):
    """Memory that each thread uses again and again."""

    def __init__(self) -> None:
        self.bytes = np.empty(0, np.uint8)

    def at_least(self, size: int) -> NDArray[np.uint8]:
        if len(self.bytes) < size:
            self.bytes = np.empty(max(size, min(size + size // 4, KEPT)), np.uint8)
        return self.bytes


_scratch = _Scratch()


def counted_contexts(
    columns: BinnedColumns, tables: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> list[tuple[NDArray[np.uint64], Integers]]:
    """Return for several tables the distinct keys of the rows (see `context_keys`), increasing, and how often each occurs.

    Parameters
    ----------
    columns : the columns.
    tables : the axes of each table: some columns, and the number of bins of each.

    >>> columns = BinnedColumns([np.array([1, 0, 255, 1], np.uint8)], [np.array([0, 1, 2], np.uint32)])
    >>> [(keys.tolist(), counts.tolist()) for keys, counts in counted_contexts(columns, [([0], [3])])]
    [([0, 1, 2], [1, 2, 1])]
    """
    library, rows = compiled(), len(columns.codes[0])
    if library is None:
        distinct = [np.unique(context_keys(columns, *table), return_counts=True) for table in tables]
        return [(keys, counts.astype(np.int64)) for keys, counts in distinct]
    members, cards = (np.array([number for table in tables for number in table[i]], np.int64) for i in range(2))
    axes, bits, numbers = np.empty((3, len(tables)), np.int64)
    axes[:] = [len(table[1]) for table in tables]
    bits[:] = [max(1, (math.prod(table[1]) - 1).bit_length()) for table in tables]
    room, size = len(tables) * rows, 8 * rows * (2 * len(tables) + 1)
    pool = (_scratch.at_least(size)[:size] if size <= KEPT else np.empty(size, np.uint8)).view(np.uint64)
    keys, counts = pool[:room], pool[room : 2 * room].view(np.int64)
    places = address(keys), address(pool[2 * room :]), address(counts), address(numbers)
    shape = address(members), address(cards), address(axes), address(bits), len(tables), rows
    library.naivete_context_counts(*columns.structs(), *shape, *places)
    ends = np.cumsum(numbers).tolist()
    keys, counts = keys[: ends[-1]].copy(), counts[: ends[-1]].copy()
    return [(keys[start:end], counts[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def context_tree(keys: NDArray[np.uint64], weights: Numbers, cards: Sequence[int], least: float) -> ContextTree:
    """Return the tree of contexts from the counts of the longest ones.

    Parameters
    ----------
    keys : distinct and increasing positions in a table with the axes p1, p2, ..., x, class.
    weights : the weight of each, above zero.
    cards : the number of bins on each axis.
    least : contexts of less weight are left out.
    """
    keys, weights = np.ascontiguousarray(keys, np.uint64), np.ascontiguousarray(weights, np.float64)
    library = compiled()
    if library is None:
        return packed_tree(tuple(cards), context_levels(keys.astype(np.int64), weights, cards, least))
    n, depth = len(keys), len(cards) - 2
    axes, numbers = np.array(cards, np.int64), np.empty((3, depth + 1, 7), np.int64)
    levels, made, room = numbers
    size = library.naivete_contexts_room(n, address(axes), depth, address(room))
    pool = _scratch.at_least(size) if size <= KEPT else np.empty(size, np.uint8)
    sizes, margin = np.empty((depth + 1, 3), np.int64), np.empty(cards[-2])
    places = address(room), address(pool), address(levels), address(sizes), address(margin)
    require_memory(library.naivete_contexts(address(keys), address(weights), n, address(axes), depth, least, *places))
    result = np.empty(library.naivete_place_contexts(0, address(sizes), depth, 0, 0), np.uint8)
    library.naivete_place_contexts(address(levels), address(sizes), depth, address(result), address(made))
    return ContextTree(tuple(cards), sizes, result, made, margin)


def context_logs(
    codes: Codes,
    bins: Bins,
    families: FamilyRecords,
    depth: int,
    classes: int,
    rule: ContextEstimate,
    prior: Numbers,
    left_out: LeftOut | None = None,
    *,
    terms: bool = False,
) -> tuple[Numbers, Numbers]:
    """Return the log-posteriors of the classes at each depth, and the terms of each family at depth 0 if they are wanted.

    The log-posteriors are the logarithms of the prior plus the sum over the families of log P_d(x | class, context), normalized.

    A value of x that never occurred adds nothing. A context that does not occur is left at its longest part that does.

    Parameters
    ----------
    codes, bins : the columns and their bins.
    families : features with their parents, and the weight of all cases.
    depth : the largest depth; families with fewer parents stay at their last one.
    classes : the number of classes.
    rule : the estimate.
    prior : the logarithm of the prior probability of each class for each row.  # (row, class)
    left_out : what is left out of the counts for each row; by default nothing.
    terms : whether the terms log P_0(x | class) are wanted.

    Returns
    -------
    The log-posteriors (row, depth, class) and the terms (row, family, class), empty if they are not wanted.
    """
    rows = len(codes[0])
    sums, first = np.zeros((rows, depth + 1, classes)), np.zeros((rows, len(families.families) if terms else 0, classes))
    library = compiled()
    if library is None:
        context_logs_numpy(binned(codes, bins), families.families, families.total, rule, left_out, sums, first)
        logs = sums + prior[:, None]
        logs -= logs.max(axis=2, keepdims=True)
        return logs - np.log(np.exp(logs).sum(axis=2, keepdims=True)), first
    columns = BinnedColumns(codes, bins)
    struct = columns.structs()
    leave, prior = left_out_addresses(left_out), np.ascontiguousarray(prior, np.float64)
    results = address(sums), address(first) if terms else 0

    def fill(part: tuple[int, int]) -> int:
        records = address(families.records), len(families.families)
        arguments = len(codes), *records, depth, classes, *rule, *leave, address(prior), *part, *results
        return int(library.naivete_context_logs(*struct, *arguments))

    work = 32 * rows * len(families.families) * classes
    for status in run_parallel(fill, ranges(rows, work, 4, 64), work):
        require_memory(status)
    return sums, first


def left_out_addresses(left_out: LeftOut | None) -> tuple[int, int]:
    """Return the addresses of the labels and weights that are left out, zeros for nothing."""
    return (0, 0) if left_out is None else (address(left_out.labels), address(left_out.weight))
