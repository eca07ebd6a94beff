"""Half of the cases for training, half for evaluation; equal rows are divided evenly between the halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete._kernels.exact_sums import limbs, sums_as_numbers
from naivete.cases import Block, Cases, MemoryCases
from naivete.cases.views import hash_half, row_hashes
from naivete.counts.configurations import ConfigurationCounts, grouped_rows, merge_configurations
from naivete.counts.counts import Counts, informative_features
from naivete.variables import CLASS

__all__ = ["halves"]


def halves(counts: Counts, seed: int) -> tuple[Counts, Cases]:
    """Return the counts of one half of the cases, and the cases of the other half.

    The halves depend only on the multiset of the cases and the seed, not on the order of the rows or the back end. Of equal rows
    each half gets the same number; the remaining rows, at most one of each kind, are sorted by a hash of the row and assigned to
    the halves in turn. Where the distinct rows need more than a quarter of the budget, each row is assigned by its hash alone.
    Features of a single state have no effect.
    """
    columns = (*informative_features(counts), CLASS)
    distinct = counts.fold(_Distinct(columns, counts.budget // 4), _Merged(counts.budget // 4))
    if distinct is None:
        first, second = (hash_half(counts.cases, columns, seed, which) for which in (0, 1))
        return counts.over(first), second
    one, two = _divided(distinct, columns, counts, seed)
    return counts.over(one), two


@dataclass(frozen=True)
class _Distinct:
    """The distinct rows of some columns of a block, and their weights; None where they need more than `budget` bytes."""

    columns: tuple[int, ...]
    budget: int

    def __call__(self, block: Block) -> ConfigurationCounts | None:
        columns = [_missing_as_minus_one(block.codes[v]) for v in self.columns]
        cards = [int(c.max(initial=0)) + 2 for c in columns]
        rows, row_of = grouped_rows([c + 1 for c in columns], cards)
        codes = np.stack([c[rows] for c in columns], axis=1).astype(np.int32)
        parts = {}
        for q, limb in limbs(block.weight).items():
            total = np.zeros((len(rows), 1), np.int64)
            np.add.at(total[:, 0], row_of, 1 if limb is None else limb)
            parts[q] = total
        return _within_budget((codes, parts), self.budget)


@dataclass(frozen=True)
class _Merged:
    """The distinct rows of two parts; None where either is None or they need more than `budget` bytes."""

    budget: int

    def __call__(self, one: ConfigurationCounts | None, two: ConfigurationCounts | None) -> ConfigurationCounts | None:
        if one is None or two is None:
            return None
        codes, parts = merge_configurations((one[0] + 1, one[1]), (two[0] + 1, two[1]))
        return _within_budget((codes - 1, parts), self.budget)


def _within_budget(distinct: ConfigurationCounts, budget: int) -> ConfigurationCounts | None:
    limbs_of_each = sum(bool(part.any()) for part in distinct[1].values())
    return distinct if distinct[0].nbytes + 8 * len(distinct[0]) * limbs_of_each <= budget else None


def _missing_as_minus_one(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return the codes, -1 where missing."""
    return np.where(column == missing_code(column.dtype), -1, column.astype(np.int64))


def _divided(distinct: ConfigurationCounts, columns: tuple[int, ...], counts: Counts, seed: int) -> tuple[Cases, Cases]:
    rows, weight = distinct[0], sums_as_numbers(distinct[1])[:, 0].astype(np.float64)
    distinct_codes = {v: _stored(column, counts.variables[v].card) for v, column in zip(columns, rows.T, strict=True)}
    even = np.floor(weight / 2)
    rest = weight - 2 * even
    odd = np.flatnonzero(rest > 0)
    order = odd[np.argsort(row_hashes([c[odd] for c in distinct_codes.values()], seed), kind="stable")]
    first, second = even.copy(), even.copy()
    first[order[::2]] += rest[order[::2]]
    second[order[1::2]] += rest[order[1::2]]
    constant = np.zeros(len(rows), np.uint8)
    codes = tuple(distinct_codes.get(v, constant) for v in (*counts.features, CLASS))
    return _with_weight(counts, codes, first), _with_weight(counts, codes, second)


def _stored(column: NDArray[np.int32], card: int) -> NDArray[Any]:
    dtype = narrowest(card)
    return np.where(column < 0, missing_code(dtype), column).astype(dtype)


def _with_weight(counts: Counts, codes: tuple[NDArray[Any], ...], weight: NDArray[np.float64]) -> MemoryCases:
    rows = np.flatnonzero(weight > 0)
    kept = None if np.all(weight[rows] == 1) else weight[rows]
    return MemoryCases(counts.variables, Block(tuple(c[rows] for c in codes), kept), counts.cases.has_missing)
