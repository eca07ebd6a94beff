"""Half of the cases to learn from, half to judge by; equal rows are shared out evenly, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete._kernels.exact_sums import limbs, sums_as_numbers
from naivete.cases import Block, Cases, MemoryCases
from naivete.cases.views import hash_half, row_hashes
from naivete.counts.counts import Counts, informative_features
from naivete.counts.sparse_tables import SparseCounts, grouped_rows, merge_sparse
from naivete.variables import CLASS

__all__ = ["halves"]


def halves(counts: Counts, seed: int) -> tuple[Counts, Cases]:
    """The counts of one half of the cases, and the cases of the other.

    What the halves are depends on the cases and the seed alone, not on the order of the rows or where they live. Of equal rows
    each half gets the same number; those that are left over, one of each kind at most, are put in an order by a hash of the row
    and dealt out in turn. Where there are more different rows than a quarter of the budget holds, each goes where its hash says.
    Features of a single state make no difference.
    """
    columns = (*informative_features(counts), CLASS)
    distinct = counts.fold(_Distinct(columns, counts.budget // 4), _Merged(counts.budget // 4))
    if distinct is None:
        first, second = (hash_half(counts.cases, columns, seed, which) for which in (0, 1))
        return counts.over(first), second
    one, two = _dealt(distinct, columns, counts, seed)
    return counts.over(one), two


@dataclass(frozen=True)
class _Distinct:
    """The different rows of some columns of a block, and their weights; None where they take too many bytes."""

    columns: tuple[int, ...]
    most: int

    def __call__(self, block: Block) -> SparseCounts | None:
        columns = [_known_or_minus(block.codes[v]) for v in self.columns]
        cards = [int(c.max(initial=0)) + 2 for c in columns]
        rows, row_of = grouped_rows([c + 1 for c in columns], cards)
        found = np.stack([c[rows] for c in columns], axis=1).astype(np.int32)
        parts = {}
        for q, limb in limbs(block.weight).items():
            total = np.zeros((len(rows), 1), np.int64)
            np.add.at(total[:, 0], row_of, 1 if limb is None else limb)
            parts[q] = total
        return _fitting((found, parts), self.most)


@dataclass(frozen=True)
class _Merged:
    most: int

    def __call__(self, one: SparseCounts | None, two: SparseCounts | None) -> SparseCounts | None:
        if one is None or two is None:
            return None
        codes, parts = merge_sparse((one[0] + 1, one[1]), (two[0] + 1, two[1]))
        return _fitting((codes - 1, parts), self.most)


def _fitting(distinct: SparseCounts, most: int) -> SparseCounts | None:
    limbs_of_each = sum(bool(part.any()) for part in distinct[1].values())
    return distinct if distinct[0].nbytes + 8 * len(distinct[0]) * limbs_of_each <= most else None


def _known_or_minus(column: NDArray[Any]) -> NDArray[np.int64]:
    """The codes, -1 where missing."""
    return np.where(column == np.iinfo(column.dtype).max, -1, column.astype(np.int64))


def _dealt(distinct: SparseCounts, columns: tuple[int, ...], counts: Counts, seed: int) -> tuple[Cases, Cases]:
    rows, weight = distinct[0], sums_as_numbers(distinct[1])[:, 0].astype(np.float64)
    own = {v: _stored(column, counts.variables[v].card) for v, column in zip(columns, rows.T, strict=True)}
    evenly = np.floor(weight / 2)
    over = weight - 2 * evenly
    odd = np.flatnonzero(over > 0)
    order = odd[np.argsort(row_hashes([c[odd] for c in own.values()], seed), kind="stable")]
    first, second = evenly.copy(), evenly.copy()
    first[order[::2]] += over[order[::2]]
    second[order[1::2]] += over[order[1::2]]
    alike = np.zeros(len(rows), np.uint8)
    codes = tuple(own.get(v, alike) for v in (*counts.features, CLASS))
    return _with_weight(counts, codes, first), _with_weight(counts, codes, second)


def _stored(column: NDArray[np.int32], card: int) -> NDArray[Any]:
    dtype = narrowest(card)
    return np.where(column < 0, np.iinfo(dtype).max, column).astype(dtype)


def _with_weight(counts: Counts, codes: tuple[NDArray[Any], ...], weight: NDArray[np.float64]) -> MemoryCases:
    rows = np.flatnonzero(weight > 0)
    own = None if np.all(weight[rows] == 1) else weight[rows]
    return MemoryCases(counts.variables, Block(tuple(c[rows] for c in codes), own), counts.cases.gaps)
