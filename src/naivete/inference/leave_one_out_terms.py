"""Terms of families without each row: log P(x | parents, class), estimated from all other rows.

If all weights are whole numbers, a row of weight two counts as two cases, of which one is left out. Otherwise weights say how
important rows are, and a row is left out with its whole weight. The terms of complete cases depend on the cell only and are
computed once for every cell, except with back-off or in sparse tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers, missing
from naivete.cases.base import Block
from naivete.counts.tables import CountTable, DenseTable, SparseTable
from naivete.inference.elimination import log
from naivete.network.conditional_tables import SparseCpt
from naivete.network.smoothing import (
    Backoff,
    ClarkNiblett,
    Context,
    Lidstone,
    MEstimate,
    Smoothing,
    backoff_table,
    discounted,
    normalized,
)
from naivete.variables import CLASS, Family, family

__all__ = ["FamilyTerms", "RemainingClasses", "remaining_classes", "split_infinite"]


class RemainingClasses(NamedTuple):
    """The weights of the classes without each row of a piece."""

    labels: NDArray[np.int64]  # (row)
    left_out: Numbers  # the weight left out, in the class of the row  (row, class)
    frequencies: Numbers  # (row, class)
    totals: Numbers  # (row)
    whole: bool  # whether a whole case is left out for every row


def remaining_classes(piece: Block, classes: Numbers, *, copies: bool = True) -> RemainingClasses:
    """Return the weights of the classes without each row of a piece.

    Parameters
    ----------
    piece : the rows.
    classes : the weight of every class.
    copies : whether at most one case is left out of a row of larger weight, which stands for several equal ones.
    """
    labels = piece.codes[-1].astype(np.int64)
    weight: Numbers | float = 1.0 if piece.weight is None else np.minimum(piece.weight, 1.0) if copies else piece.weight
    left_out = np.zeros((len(piece), len(classes)))
    left_out[np.arange(len(piece)), labels] = weight
    remaining = np.maximum(classes - left_out, 0.0)  # (row, class)
    return RemainingClasses(labels, left_out, normalized(remaining, 1), remaining.sum(axis=1), bool(np.all(weight == 1.0)))


class FamilyTerms:
    """log P(x | parents, class) of one family for each row, estimated without the row; 0 where a member is missing.

    Parameters
    ----------
    table : the counts of the family with the class.
    x, parents : the feature, or the class itself, and its feature parents, the most informative first.
    classes : the weight of every class.
    smoothing : the smoothing.
    cards : the number of states of each variable, the class last.
    """

    def __init__(
        self, table: CountTable, x: int, parents: Sequence[int], classes: Numbers, smoothing: Smoothing, cards: tuple[int, ...]
    ) -> None:
        self.table, self.members, self.smoothing = table, (x, *parents), smoothing
        self.tabulated = None
        if isinstance(table, DenseTable) and not isinstance(smoothing, Backoff) and x != CLASS:
            self.tabulated = _tabulated(table.counts, x, family(x, *parents, CLASS), classes, smoothing, cards)

    def __call__(self, piece: Block, remaining: RemainingClasses) -> Numbers:
        """Return the terms of the rows of a piece.  # (row, class)"""
        if remaining.whole and self.tabulated is not None:
            return _looked_up(piece, self.tabulated, remaining.labels)
        return self._row_by_row(piece, remaining)

    @cached_property
    def _look(self) -> Lookup:
        return _lookup(self.table, self.members[0], self.members[1:])

    def _row_by_row(self, piece: Block, remaining: RemainingClasses) -> Numbers:
        complete = ~np.logical_or.reduce([missing(piece.codes[m]) for m in self.members])
        codes = [np.where(complete, piece.codes[m], 0).astype(np.int64) for m in self.members]
        n, marginal, shorter = self._look(codes[0], codes[1:])
        rows, of_class = np.arange(len(piece)), self.members[0] == CLASS
        left_out = remaining.left_out.sum(axis=1, keepdims=True) if of_class else remaining.left_out
        n[rows, codes[0]] = np.maximum(n[rows, codes[0]] - left_out, 0.0)
        if isinstance(self.smoothing, Backoff):
            p = _backed_off(n, shorter, codes[0], left_out, self.smoothing.m, by_class=not of_class)
        else:
            marginal[rows, codes[0]] = np.maximum(marginal[rows, codes[0]] - left_out.sum(axis=1), 0.0)
            frequencies = np.ones(1) if of_class else remaining.frequencies[:, None, :]
            p = self.smoothing(n, 1, Context(normalized(marginal, 1)[:, :, None], frequencies, remaining.totals[:, None, None]))
        return np.where(complete[:, None], log(p[..., 0] if of_class else p[rows, codes[0]]), 0.0)


def _backed_off(
    n: Numbers, shorter: list[Numbers], code: NDArray[np.int64], left_out: Numbers, m: float, *, by_class: bool
) -> Numbers:
    """Return back-off estimates with the row left out of every context, from the class alone to all parents."""
    rows = np.arange(len(n))
    for context in shorter:
        context[rows, code] = np.maximum(context[rows, code] - left_out, 0.0)
    p = backoff_table(shorter[0] if shorter else n, 1, [2] if by_class else [], m)
    for context in [*shorter[1:], n] if shorter else []:
        p = discounted(context, m, p, 1)
    return p


Tabulated = tuple[Family, _kernels.Layout, Numbers, Numbers]
"""Features, layout, and log P(x | parents, class) without one case of the cell: in the other classes, and in its own class."""


def _tabulated(
    table: NDArray[Any],
    x: int,
    members: Family,
    classes: Numbers,
    smoothing: Lidstone | MEstimate | ClarkNiblett,
    cards: tuple[int, ...],
) -> Tabulated:
    """Return the terms of every cell with one whole case left out; they depend on the cell only, so they are computed once."""
    n, axis = table.astype(np.float64), members.index(x)
    total = classes.sum() - 1
    other_classes, in_class = (_shares(c, np.full_like(c, total), 0) for c in (classes, np.maximum(classes - 1, 0.0)))
    exact = table.dtype.kind == "i" and isinstance(smoothing, Lidstone) and float(smoothing.alpha * 2**16).is_integer()
    if exact and isinstance(smoothing, Lidstone):  # the sums have no rounding errors, so a case can be subtracted
        sums = (n + smoothing.alpha).sum(axis=axis, keepdims=True)
        reduced = np.maximum(n - 1, 0.0) + smoothing.alpha
        parts = smoothing(n, axis, Context(n, classes, total)), _shares(reduced, sums - (n >= 1), axis)
    else:
        parts = _state_by_state(n, axis, smoothing, other_classes, in_class, total)
    layout = _kernels.Layout(((*range(len(members) - 1), CLASS),), tuple(cards[m] for m in members))
    return members[:-1], layout, log(parts[0]).ravel(), log(parts[1]).ravel()


def _shares(n: Numbers, total: Numbers, axis: int) -> Numbers:
    return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / n.shape[axis])


def _state_by_state(
    n: Numbers, axis: int, smoothing: Lidstone | MEstimate | ClarkNiblett, other_classes: Numbers, in_class: Numbers, total: float
) -> tuple[Numbers, Numbers]:
    """Return the two tables of `_tabulated`, computed state by state of x."""
    others = tuple(a for a in range(n.ndim) if a != axis)
    marginal = n.sum(axis=others, keepdims=True)
    result = np.empty_like(n), np.empty_like(n)
    for state in range(n.shape[axis]):
        index: Any = (*(slice(None),) * axis, state)
        reduced_marginal, reduced = marginal.copy(), n.copy()
        reduced_marginal[index] = np.maximum(reduced_marginal[index] - 1, 0.0)
        reduced[index] = np.maximum(reduced[index] - 1, 0.0)
        frequencies = normalized(reduced_marginal, axis)
        result[0][index] = smoothing(n, axis, Context(frequencies, other_classes, total))[index]
        result[1][index] = smoothing(reduced, axis, Context(frequencies, in_class, total))[index]
    return result


def _looked_up(piece: Block, tabulated: Tabulated, labels: NDArray[np.int64]) -> Numbers:
    """Return the terms of one family for rows that are left out as a whole.  # (row, class)"""
    members, layout, other_classes, in_class = tabulated
    rows = np.arange(len(piece))
    classes, codes = layout.cards[CLASS], [piece.codes[m] for m in members]
    terms = _kernels.gather(codes, layout, other_classes, classes)
    terms[rows, labels] = _kernels.gather(codes, layout, in_class, classes)[rows, labels]
    return terms


Lookup = Callable[[NDArray[np.int64], Sequence[NDArray[np.int64]]], tuple[Numbers, Numbers, list[Numbers]]]
"""codes of x and of its parents -> counts (row, x, class), marginal counts (row, x), counts of all shorter contexts."""


def _lookup(table: CountTable, x: int, parents: Sequence[int]) -> Lookup:
    if isinstance(table, SparseTable):
        return _sparse_lookup(table, x, parents)
    n = table.full((*parents, CLASS))[..., None] if x == CLASS else table.full((*parents, x, CLASS))
    n = n.astype(np.float64)
    sums = [n.sum(axis=tuple(range(q, len(parents)))) for q in range(len(parents))]
    marginal = n.sum(axis=(*range(len(parents)), n.ndim - 1))

    def look(_: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]) -> tuple[Numbers, Numbers, list[Numbers]]:
        rows = len(_)
        counts = n[tuple(codes)] if codes else np.repeat(n[None], rows, axis=0)
        shorter = [s[tuple(codes[:q])] if q else np.repeat(s[None], rows, axis=0) for q, s in enumerate(sums)]
        return counts, np.repeat(marginal[None], rows, axis=0), shorter

    return look


def _sparse_lookup(table: SparseTable, x: int, parents: Sequence[int]) -> Lookup:
    contexts = [table.by_parents(x, parents[:q]) for q in range(len(parents) + 1)]
    zeros = np.zeros((table.card(x), 1 if x == CLASS else table.counts.shape[1]))
    finders = [None if not members else SparseCpt(keys, n, zeros, members) for keys, n, members in contexts]
    marginal = contexts[0][1].sum(axis=(0, 2))

    def look(_: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]) -> tuple[Numbers, Numbers, list[Numbers]]:
        rows = len(_)
        counts = []
        for (_keys, n, _members), finder in zip(contexts, finders, strict=True):
            if finder is None:
                counts.append(np.repeat(n.sum(axis=0)[None], rows, axis=0))
            else:
                counts.append(finder.at(np.stack([codes[list(parents).index(p)] for p in finder.parents], axis=1)))
        return counts[-1], np.repeat(marginal[None], rows, axis=0), counts[:-1]

    return look


def split_infinite(logs: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """Return the logarithms with 0 in place of -inf, and 1 where they were -inf, so that both can be subtracted again."""
    impossible = np.isneginf(logs)
    return np.where(impossible, 0.0, logs), impossible.astype(np.int64)
