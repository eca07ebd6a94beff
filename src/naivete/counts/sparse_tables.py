"""The configurations that occur: counts of families whose full table would be mostly empty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.exact_sums import LimbSums, limbs
from naivete.cases.base import Block
from naivete.variables import CLASS, Family

__all__ = ["SparseCounts", "SparseTable", "grouped_rows", "merge_sparse", "sparse_counts_of"]


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Counts of the configurations that occur, for families whose full table would be mostly empty.

    Parameters
    ----------
    members : the members of the family but the last, increasing.
    configurations : their codes, one row for each configuration that occurs, in increasing order.  # (configuration, member)
    counts : the cases of each configuration and state of the last member.  # (configuration, state)
    last : the last member, which is the class where the family contains it.
    """

    members: tuple[int, ...]
    configurations: NDArray[np.int32]
    counts: NDArray[Any]
    last: int = CLASS

    def cells(self) -> tuple[dict[int, NDArray[Any]], NDArray[Any]]:
        """The codes of every member in each cell that is not empty, and the cases in it."""
        rows, states = np.nonzero(self.counts)
        codes = {m: column[rows] for m, column in zip(self.members, self.configurations.T, strict=True)}
        return {**codes, self.last: states}, self.counts[rows, states]

    def slices(self, v: int, card: int, without: int | None = None) -> NDArray[Any]:
        """The counts of a member for each configuration of the others that occurs, one of them perhaps summed out."""
        codes, weight = self.cells()
        others = [codes[m] for m in (*self.members, self.last) if m not in (v, without)]
        if not others:
            others = [np.zeros(len(weight), np.int64)]
        rows, row_of = grouped_rows(others, [int(c.max(initial=0)) + 1 for c in others])
        n = np.zeros((len(rows), card), self.counts.dtype)
        np.add.at(n, (row_of, codes[v]), weight)
        return n


SparseCounts = tuple[NDArray[np.int32], LimbSums]
"""The configurations that occur, in increasing order, and their weight in each state of the last member as limbs."""


def sparse_counts_of(block: Block, members: Family, cards: Sequence[int]) -> SparseCounts:
    """The configurations of all members but the last that occur in a block, with the cases of each state of the last."""
    columns = [block.codes[x] for x in members]
    known = np.logical_and.reduce([c != np.iinfo(c.dtype).max for c in columns])
    rows, row_of = grouped_rows([c[known] for c in columns[:-1]], cards[:-1])
    configurations = np.stack([c[known][rows] for c in columns[:-1]], axis=1).astype(np.int32)
    layout = _kernels.Layout(((0, -1),), (max(1, len(rows)), cards[-1]))
    codes = (row_of.astype(np.uint32), columns[-1][known])
    weight = None if block.weight is None else block.weight[known]
    parts = {q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(weight).items()}
    return configurations, {q: flat.reshape(-1, cards[-1])[: len(rows)] for q, flat in parts.items()}


def merge_sparse(one: SparseCounts, two: SparseCounts) -> SparseCounts:
    """What occurs in two blocks."""
    stacked = np.concatenate([one[0], two[0]])
    rows, row_of = grouped_rows(list(stacked.T), (stacked.max(axis=0, initial=0) + 1).tolist())
    parts: LimbSums = {}
    for q in one[1].keys() | two[1].keys():
        total = np.zeros((len(rows), next(iter(one[1].values())).shape[1]), np.int64)
        for start, part in ((0, one[1].get(q)), (len(one[0]), two[1].get(q))):
            if part is not None:
                np.add.at(total, row_of[start : start + len(part)], part)
        parts[q] = total
    return stacked[rows], parts


def grouped_rows(columns: Sequence[NDArray[Any]], cards: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One row of each distinct configuration, in increasing order of configurations, and the group of every row.

    The configuration of the columns so far is kept as a dense number, so that no product of cards can overflow.

    >>> grouped_rows([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    (array([1, 0]), array([1, 0, 1]))
    """
    group = np.zeros(len(columns[0]), np.int64)
    count = 1
    rows = np.zeros(min(1, len(group)), np.int64)
    for column, card in zip(columns, cards, strict=True):
        if count * card >= 1 << 62:
            _, rows, group = np.unique(group, return_index=True, return_inverse=True)
            count = len(rows)
        group = group * card + column
        count *= card
    _, rows, group = np.unique(group, return_index=True, return_inverse=True)
    return rows, group
