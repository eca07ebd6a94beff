"""Counts of a feature in nested contexts, and what is computed from them for rows of codes.

The contexts of a feature x with the parents p1, p2, ..., the strongest first, are the empty one, the states of p1, the states of
p1 and p2, and so on. `context_tree` arranges the counts of all of them in a tree; `context_logs` estimates P(x | class, context) at
every depth, each depth from its own counts and from the estimate of the depth before (back-off).

Every column is looked up in a table of bins first: `bins[code]`, and `bins[-1]` where the code is missing.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address, columns_struct, compiled, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = [
    "BackOff",
    "Bins",
    "ContextFamily",
    "ContextTree",
    "LeftOut",
    "binned",
    "context_keys",
    "context_logs",
    "context_tree",
    "counted_contexts",
    "left_out_addresses",
]

Bins = Sequence[NDArray[np.uint32]]
"""For each column the bin of every code, and last the bin of a missing value."""
ENTRY = np.dtype([("weight", np.float64), ("cls", np.uint32), ("code", np.uint32)])
NOTHING = 1e-9
"""A weight below this is what rounding errors leave of zero."""
SMALLEST = 1e-30
"""The smallest probability, so that logarithms are finite."""


class BackOff(NamedTuple):
    """Parameters of the discounted back-off estimate.

    P_d = (max(n - delta, 0) + (theta + delta t) P_{d-1}) / (N + theta), where n is the weight of the cases of the class in the
    context with the value x, N of those with any value, and t the number of values that occur.

    Parameters
    ----------
    theta : the weight of the estimate of the shorter context.
    delta : what is subtracted from each count and given to the shorter context.
    least : contexts of less weight are not used.
    """

    theta: float = 0.5
    delta: float = 0.5
    least: float = 3.0


class LeftOut(NamedTuple):
    """What is left out of all counts while a row is predicted: its class, and its weight or a part of it."""

    labels: NDArray[np.uint32]
    weight: Numbers


class Level(NamedTuple):
    """The contexts of one depth; those that extend the same context are side by side, in the order of their last codes."""

    codes: NDArray[np.uint32]  # the last code of each context
    children: Integers  # the first context of the next depth that extends each context, and the end; empty at the last depth
    totals: Numbers  # the weight of each context
    class_starts: Integers  # the first of its entries in `classes`, and the end
    classes: NDArray[Any]  # weight of each class that occurs in the context, and as `code` the number of values of x with it
    cell_starts: Integers  # the first of its entries in `cells`, and the end
    cells: NDArray[Any]  # weight of each value of x with each class, in the order of values and classes


@dataclass(frozen=True, eq=False)
class ContextTree:
    """The counts of one family in all its contexts.

    Parameters
    ----------
    cards : the number of bins of each parent, of x, and the number of classes.
    sizes : the number of contexts, of class entries and of cells at each depth.  # (depth, 3)
    pool : the arrays of all levels one after another, as `naivete_place_contexts` of contexts.c lays them out.
    struct : the addresses of all arrays, as in the C struct `level`; a tree is never copied to another process.
    """

    cards: tuple[int, ...]
    sizes: Integers
    pool: NDArray[np.uint8]
    struct: Integers

    @property
    def depth(self) -> int:
        """The number of parents."""
        return len(self.cards) - 2

    def __reduce__(self) -> Any:
        raise TypeError("a tree of contexts cannot be pickled: build it again from its counts")

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The contexts of each depth."""
        starts = np.array(list(_offsets(self.sizes))).reshape(-1, len(_TYPES)).tolist()
        result = []
        for d, offsets in enumerate(starts):
            lengths = _lengths(*self.sizes[d].tolist(), last=d == self.depth)
            views = (
                self.pool[o : o + length * np.dtype(t).itemsize].view(t)
                for o, length, t in zip(offsets, lengths, _TYPES, strict=True)
            )
            result.append(Level(*views))
        return tuple(result)

    @cached_property
    def lookups(self) -> list[tuple[Integers, Integers, Integers]]:
        """For each depth increasing numbers of (context, class), of (context, x, class) and of (context before, last code)."""
        values, classes = self.cards[-2:]
        result, before = [], np.zeros(1, np.int64)
        for d, level in enumerate(self.levels):
            of_class = np.repeat(np.arange(len(level.codes)), np.diff(level.class_starts))
            of_cell = np.repeat(np.arange(len(level.codes)), np.diff(level.cell_starts))
            cells = (of_cell * values + level.cells["code"]) * classes + level.cells["cls"]
            card = self.cards[d - 1] if d else 1
            result.append((of_class * classes + level.classes["cls"], cells, before * card + level.codes))
            before = np.repeat(np.arange(len(level.codes)), np.diff(level.children)) if len(level.children) else before
        return result

    def child(self, depth: int, context: Integers, code: NDArray[Any]) -> Integers:
        """Return the contexts of the next depth that extend contexts of this depth by one code, -1 where there is none."""
        keys = self.lookups[depth + 1][2]
        wanted = context * self.cards[depth] + code
        return np.where(_found(keys, wanted), np.searchsorted(keys, wanted), -1)


_TYPES: tuple[Any, ...] = (np.uint32, np.int64, np.float64, np.int64, ENTRY, np.int64, ENTRY)
"""The types of the arrays of a level."""


def _lengths(contexts: int, classes: int, cells: int, *, last: bool = False) -> tuple[int, ...]:
    """Return the lengths of the arrays of a level."""
    return contexts, 0 if last else contexts + 1, contexts, contexts + 1, classes, contexts + 1, cells


def _offsets(sizes: Integers) -> Iterator[int]:
    """Yield the place of each array of each level in a pool, in bytes."""
    start = 0
    for row in sizes.tolist():
        for length, item in zip(_lengths(*row), (4, 8, 8, 8, 16, 8, 16), strict=True):
            yield start
            start += -(-length * item // 16) * 16


class ContextFamily(NamedTuple):
    """A feature with its parents and the counts of its contexts."""

    x: int
    parents: tuple[int, ...]
    tree: ContextTree
    margin: Numbers  # the weight of each bin of x
    states: int  # the number of bins of x that can occur


def binned(codes: Codes, bins: Bins) -> list[NDArray[np.uint32]]:
    """Return the bin of each row in each column."""
    return [table[np.minimum(column, len(table) - 1)] for column, table in zip(codes, bins, strict=True)]


def _columns(codes: Codes, bins: Bins) -> tuple[list[Any], Any]:
    """Return the addresses of columns, look-up tables and their lengths, and what has to be kept alive meanwhile."""
    columns, arrays = columns_struct(codes)
    tables = [np.ascontiguousarray(table, np.uint32) for table in bins]
    pointers, states = np.array([address(t) for t in tables], np.int64), np.array([len(t) - 1 for t in tables], np.int64)
    return [address(columns), address(pointers), address(states)], (columns, arrays, tables, pointers, states)


def context_keys(codes: Codes, bins: Bins, cards: Sequence[int]) -> NDArray[np.uint64]:
    """Return the position of each row in a table whose axes are the binned columns, the last varying fastest.

    >>> context_keys([np.array([1, 0, 255], np.uint8)] * 2, [np.array([0, 1, 2], np.uint32)] * 2, (3, 3)).tolist()
    [4, 0, 8]
    """
    rows = len(codes[0])
    library = compiled()
    if library is None:
        keys = np.zeros(rows, np.uint64)
        for column, card in zip(binned(codes, bins), cards, strict=True):
            keys = keys * np.uint64(card) + column
        return keys
    keys = np.empty(rows, np.uint64)
    struct, _kept_alive = _columns(codes, bins)
    sizes = np.array(cards, np.int64)
    library.naivete_context_keys(*struct, address(sizes), len(sizes), 0, rows, address(keys))
    return keys


class _Scratch(threading.local):
    """Memory that each thread uses again and again."""

    def __init__(self) -> None:
        self.bytes = np.empty(0, np.uint8)

    def at_least(self, size: int) -> NDArray[np.uint8]:
        if len(self.bytes) < size:
            self.bytes = np.empty(size + size // 4, np.uint8)
        return self.bytes


_scratch = _Scratch()
KEPT = 1 << 26
"""The most bytes of scratch memory that a thread keeps."""


def counted_contexts(codes: Codes, bins: Bins, cards: Sequence[int]) -> tuple[NDArray[np.uint64], Integers]:
    """Return the distinct keys of the rows (see `context_keys`), increasing, and how often each occurs.

    >>> codes, bins = [np.array([1, 0, 255, 1], np.uint8)], [np.array([0, 1, 2], np.uint32)]
    >>> [part.tolist() for part in counted_contexts(codes, bins, (3,))]
    [[0, 1, 2], [1, 2, 1]]
    """
    library, rows = compiled(), len(codes[0])
    if library is None:
        distinct, counts = np.unique(context_keys(codes, bins, cards), return_counts=True)
        return distinct, counts.astype(np.int64)
    struct, _kept_alive = _columns(codes, bins)
    sizes, bits = np.array(cards, np.int64), max(1, (math.prod(cards) - 1).bit_length())
    pool = _scratch.at_least(24 * rows) if 24 * rows <= KEPT else np.empty(24 * rows, np.uint8)
    parts = [pool[i * 8 * rows : (i + 1) * 8 * rows] for i in range(3)]
    places = (address(part) for part in parts)
    number = library.naivete_context_counts(*struct, address(sizes), len(sizes), rows, bits, *places)
    return parts[0].view(np.uint64)[:number].copy(), parts[2].view(np.int64)[:number].copy()


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
        return _packed(tuple(cards), _levels_numpy(keys.astype(np.int64), weights, cards, least))
    n, depth = len(keys), len(cards) - 2
    room = np.empty((depth + 1, 3), np.int64)
    space = 1
    for d in range(depth + 1):
        contexts = min(n, space)
        room[d] = contexts, min(n, contexts * cards[-1]), n
        space = min(n + 1, space * cards[d])
    room[:, 0] = np.maximum(room[:, 0], n if depth else 1)  # the first places of the next level are written for all contexts
    levels, made = np.empty((depth + 1, 7), np.int64), np.empty((depth + 1, 7), np.int64)
    axes = np.array(cards, np.int64)
    size = library.naivete_place_contexts(0, address(room), depth, 0, 0)
    pool = _scratch.at_least(size) if size <= KEPT else np.empty(size, np.uint8)
    library.naivete_place_contexts(0, address(room), depth, address(pool), address(levels))
    sizes = np.zeros((depth + 1, 3), np.int64)
    arguments = address(keys), address(weights), n, address(axes), depth, least, address(levels), address(sizes)
    require_memory(library.naivete_contexts(*arguments))
    result = np.empty(library.naivete_place_contexts(0, address(sizes), depth, 0, 0), np.uint8)
    library.naivete_place_contexts(address(levels), address(sizes), depth, address(result), address(made))
    return ContextTree(tuple(cards), sizes, result, made)


def _packed(cards: tuple[int, ...], levels: Sequence[Level]) -> ContextTree:
    """Return the tree with these levels."""
    sizes = np.array([(len(level.codes), len(level.classes), len(level.cells)) for level in levels], np.int64)
    places = [*_offsets(sizes)]
    last = -(-16 * int(sizes[-1][2]) // 16) * 16
    pool = np.zeros(places[-1] + last, np.uint8)
    for place, array in zip(places, (array for level in levels for array in level), strict=True):
        pool[place : place + array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
    return ContextTree(cards, sizes, pool, np.array(places).reshape(-1, len(_TYPES)) + address(pool))


def _levels_numpy(keys: Integers, weights: Numbers, cards: Sequence[int], least: float) -> tuple[Level, ...]:
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


def context_logs(
    codes: Codes,
    bins: Bins,
    families: Sequence[ContextFamily],
    depth: int,
    classes: int,
    total: float,
    rule: BackOff,
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
    families : features with their parents.
    depth : the largest depth; families with fewer parents stay at their last one.
    classes : the number of classes.
    total : the weight of all cases.
    rule : the estimate.
    prior : the logarithm of the prior probability of each class for each row.  # (row, class)
    left_out : what is left out of the counts for each row; by default nothing.
    terms : whether the terms log P_0(x | class) are wanted.

    Returns
    -------
    The log-posteriors (row, depth, class) and the terms (row, family, class), empty if they are not wanted.
    """
    rows = len(codes[0])
    sums, first = np.zeros((rows, depth + 1, classes)), np.zeros((rows, len(families) if terms else 0, classes))
    library = compiled()
    if library is None:
        _context_logs_numpy(binned(codes, bins), families, total, rule, left_out, sums, first)
        logs = sums + prior[:, None]
        logs -= logs.max(axis=2, keepdims=True)
        return logs - np.log(np.exp(logs).sum(axis=2, keepdims=True)), first
    struct, _kept_alive = _columns(codes, bins)
    members = [np.array([f.x, *f.parents], np.int64) for f in families]
    margins = [np.ascontiguousarray(f.margin, np.float64) for f in families]
    records = np.zeros(len(families), [(name, np.int64) for name in "abcd"] + [(name, np.float64) for name in "ef"])
    for i, f in enumerate(families):
        records[i] = address(margins[i]), address(members[i]), address(f.tree.struct), f.tree.depth, f.states, total
    leave, prior = left_out_addresses(left_out), np.ascontiguousarray(prior, np.float64)
    results = address(sums), address(first) if terms else 0

    def fill(part: tuple[int, int]) -> int:
        arguments = len(codes), address(records), len(families), depth, classes, *rule, *leave, address(prior), *part, *results
        return int(library.naivete_context_logs(*struct, *arguments))

    work = 32 * rows * len(families) * classes
    for status in run_parallel(fill, ranges(rows, work, 4, 64), work):
        require_memory(status)
    return sums, first


def left_out_addresses(left_out: LeftOut | None) -> tuple[int, int]:
    """Return the addresses of the labels and weights that are left out, zeros for nothing."""
    return (0, 0) if left_out is None else (address(left_out.labels), address(left_out.weight))


def _context_logs_numpy(
    columns: Sequence[NDArray[Any]],
    families: Sequence[ContextFamily],
    total: float,
    rule: BackOff,
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
    rule: BackOff,
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
        own = np.arange(len(labels)), labels
        total[own] -= left_out
        n[own] -= left_out
        kinds[own] -= n[own] < NOTHING
        n[own] = np.where(n[own] < NOTHING, 0.0, n[own])
    estimate = (np.maximum(n - rule.delta, 0.0) + (rule.theta + rule.delta * kinds) * shorter) / (
        np.maximum(total, 0.0) + rule.theta
    )
    return np.where(total >= NOTHING, np.maximum(estimate, SMALLEST), shorter)


def _found(keys: Integers, wanted: Integers) -> NDArray[np.bool_]:
    if not len(keys):
        return np.zeros(wanted.shape, bool)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[place] == wanted)


def _entries(entries: NDArray[Any], keys: Integers, wanted: Integers) -> NDArray[Any]:
    """Return copies of the entries with these keys, zeros where there is none."""
    result = np.zeros(wanted.shape, ENTRY)
    present = _found(keys, wanted)
    result[present] = entries[np.searchsorted(keys, wanted[present])]
    return result
