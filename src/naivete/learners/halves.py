"""Half of the cases to learn from, half to judge by; equal rows are shared out evenly, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.cases import Block, Cases, MemoryCases
from naivete.cases.views import hash_half, row_hashes
from naivete.counts import Counts
from naivete.exact import combined, limbs
from naivete.occurring import Occurring, grouped_rows, united
from naivete.tallies import narrowest

__all__ = ["halves"]


def halves(counts: Counts, seed: int) -> tuple[Counts, Cases]:
    """The counts of one half of the cases, and the cases of the other.

    What the halves are depends on the cases and the seed alone, not on the order of the rows or where they live. Of equal rows
    each half gets the same number; those that are left over, one of each kind at most, are put in an order by a hash of the row
    and dealt out in turn. Where there are more different rows than a quarter of the budget holds, each goes where its hash says.
    """
    distinct = counts.fold(_Distinct(counts.budget // 4), _Merged(counts.budget // 4))
    if distinct is None:
        return counts.over(hash_half(counts.cases, seed, 0)), hash_half(counts.cases, seed, 1)
    one, two = _dealt(distinct, counts, seed)
    return counts.over(one), two


@dataclass(frozen=True)
class _Distinct:
    """The different rows of a block and their weights; None where they take too many bytes."""

    most: int

    def __call__(self, block: Block) -> Occurring | None:
        columns = [_known_or_minus(c) for c in block.codes]
        cards = [int(c.max(initial=0)) + 2 for c in columns]
        rows, row_of = grouped_rows([c + 1 for c in columns], cards)
        found = np.stack([c[rows] for c in columns], axis=1).astype(np.int32) if columns else np.empty((0, 0), np.int32)
        parts = {}
        for q, limb in limbs(block.weight).items():
            total = np.zeros((len(rows), 1), np.int64)
            np.add.at(total[:, 0], row_of, 1 if limb is None else limb)
            parts[q] = total
        return _fitting((found, parts), self.most)


@dataclass(frozen=True)
class _Merged:
    most: int

    def __call__(self, one: Occurring | None, two: Occurring | None) -> Occurring | None:
        if one is None or two is None:
            return None
        codes, parts = united((one[0] + 1, one[1]), (two[0] + 1, two[1]))
        return _fitting((codes - 1, parts), self.most)


def _fitting(distinct: Occurring, most: int) -> Occurring | None:
    return distinct if distinct[0].nbytes + 8 * len(distinct[0]) * len(distinct[1]) <= most else None


def _known_or_minus(column: NDArray[Any]) -> NDArray[np.int64]:
    """The codes, -1 where missing."""
    return np.where(column == np.iinfo(column.dtype).max, -1, column.astype(np.int64))


def _dealt(distinct: Occurring, counts: Counts, seed: int) -> tuple[Cases, Cases]:
    rows, weight = distinct[0], combined(distinct[1])[:, 0].astype(np.float64)
    codes = tuple(_stored(column, v.card) for column, v in zip(rows.T, counts.variables, strict=True))
    evenly = np.floor(weight / 2)
    over = weight - 2 * evenly
    odd = np.flatnonzero(over > 0)
    order = odd[np.argsort(row_hashes(Block(tuple(c[odd] for c in codes)), seed), kind="stable")]
    first, second = evenly.copy(), evenly.copy()
    first[order[::2]] += over[order[::2]]
    second[order[1::2]] += over[order[1::2]]
    return tuple(_with_weight(counts, codes, own) for own in (first, second))  # type: ignore[return-value]


def _stored(column: NDArray[np.int32], card: int) -> NDArray[Any]:
    dtype = narrowest(card)
    return np.where(column < 0, np.iinfo(dtype).max, column).astype(dtype)


def _with_weight(counts: Counts, codes: tuple[NDArray[Any], ...], weight: NDArray[np.float64]) -> MemoryCases:
    rows = np.flatnonzero(weight > 0)
    own = None if np.all(weight[rows] == 1) else weight[rows]
    return MemoryCases(counts.variables, Block(tuple(c[rows] for c in codes), own), counts.cases.gaps)
