"""Counts of one block of rows, dense and sparse, which are added over the blocks; and batches that fit a budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import TypeVar

import numpy as np

from naivete import _kernels
from naivete._kernels.exact_sums import LimbSums, add_sums, limbs, sum_all
from naivete.cases.base import Block
from naivete.counts.configurations import ConfigurationCounts, configuration_counts, merge_configurations
from naivete.errors import ResourceError
from naivete.variables import Family

__all__ = ["TableCounts", "batches", "merge_table_counts", "table_counts"]

T = TypeVar("T")

TableCounts = tuple[LimbSums, dict[Family, ConfigurationCounts]]
"""The counts of dense tables in one flat array, and those of sparse tables."""


def table_counts(
    block: Block, layout: _kernels.Layout, sparse: Mapping[Family, tuple[int, ...]], budget: float = inf
) -> TableCounts:
    """Count the tables of a block; an error is raised where the sparse ones exceed the budget.

    Parameters
    ----------
    block : the rows.
    layout : the dense tables.
    sparse : the families of the sparse tables, with the cards of their members.
    budget : the most bytes that the sparse tables may take.
    """
    counted = ((f, configuration_counts(block, f, cards)) for f, cards in sparse.items())
    return _dense_counts(block, layout), _within(budget, counted, len(sparse))


def merge_table_counts(one: TableCounts, two: TableCounts, budget: float = inf) -> TableCounts:
    """Return the counts of two blocks together; an error is raised where the sparse tables exceed the budget."""
    merged = ((f, merge_configurations(counts, two[1][f])) for f, counts in one[1].items())
    return add_sums(one[0], two[0]), _within(budget, merged, len(one[1]))


def _within(budget: float, tables: Iterable[tuple[Family, ConfigurationCounts]], number: int) -> dict[Family, ConfigurationCounts]:
    """Return the tables by family; an error is raised as soon as they exceed the budget."""
    result, taken = {}, 0
    for family, (configurations, sums) in tables:
        result[family] = configurations, sums
        taken += configurations.nbytes + sum(part.nbytes for part in sums.values())
        if taken > budget:
            raise ResourceError(
                f"the tables of {number} families need more than {taken:,} bytes for the combinations of states that occur; the "
                f"budget is {budget:,} bytes: allow fewer parents, merge rare states, or raise `budget=`"
            )
    return result


def _dense_counts(block: Block, layout: _kernels.Layout) -> LimbSums:
    if not layout.size:
        return {0: np.zeros(0, np.int64)}
    return sum_all(
        {q: _kernels.scatter(part.codes, layout, limb) for q, limb in limbs(part.weight).items()} for part in block.parts()
    )


def batches(items: Sequence[T], sizes: Iterable[int], limit: int) -> list[list[T]]:
    """Return the items in their order, in batches of a total size of at most `limit`; a larger item is a batch of its own.

    >>> batches("abcd", [3, 1, 9, 2], 4)
    [['a', 'b'], ['c'], ['d']]
    """
    result: list[list[T]] = []
    free = 0
    for item, size in zip(items, sizes, strict=False):
        if size > free or not result:
            result.append([])
            free = limit
        result[-1].append(item)
        free -= size
    return result
