"""Trees of the contexts of a feature: what they hold, how they lie in memory, and how probabilities are estimated from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address
from naivete._kernels.layout import Codes

__all__ = ["Bins", "ContextEstimate", "ContextFamily", "ContextTree", "LeftOut", "Level", "binned", "contains", "packed_tree"]

Bins = Sequence[NDArray[np.uint32]]
"""For each column the bin of every code, and last the bin of a missing value."""
ENTRY = np.dtype([("weight", np.float64), ("cls", np.uint32), ("code", np.uint32)])
NOTHING = 1e-9
"""A weight below this is what rounding errors leave of zero."""
SMALLEST = 1e-30
"""The smallest probability, so that logarithms are finite."""


class ContextEstimate(NamedTuple):
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
    margin : the weight of each bin of x.
    """

    cards: tuple[int, ...]
    sizes: Integers
    pool: NDArray[np.uint8]
    struct: Integers
    margin: Numbers

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
        return np.where(contains(keys, wanted), np.searchsorted(keys, wanted), -1)


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


def contains(keys: Integers, wanted: Integers) -> NDArray[np.bool_]:
    """Return whether each wanted number is among increasing keys."""
    if not len(keys):
        return np.zeros(wanted.shape, bool)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[place] == wanted)


def binned(codes: Codes, bins: Bins) -> list[NDArray[np.uint32]]:
    """Return the bin of each row in each column."""
    return [table[np.minimum(column, len(table) - 1)] for column, table in zip(codes, bins, strict=True)]


def packed_tree(cards: tuple[int, ...], levels: Sequence[Level]) -> ContextTree:
    """Return the tree with these levels."""
    margin = np.bincount(levels[0].cells["code"], levels[0].cells["weight"], cards[-2]).astype(np.float64)
    sizes = np.array([(len(level.codes), len(level.classes), len(level.cells)) for level in levels], np.int64)
    places = [*_offsets(sizes)]
    last = -(-16 * int(sizes[-1][2]) // 16) * 16
    pool = np.zeros(places[-1] + last, np.uint8)
    for place, array in zip(places, (array for level in levels for array in level), strict=True):
        pool[place : place + array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
    return ContextTree(cards, sizes, pool, np.array(places).reshape(-1, len(_TYPES)) + address(pool), margin)
