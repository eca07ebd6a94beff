"""All pairs of features with the class, counted in as few passes over the rows as the budget allows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, groupby, repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.exact_sums import sums_as_numbers
from naivete.cases.base import Block
from naivete.counts.bit_planes import (
    PANEL_CELLS,
    Group,
    Panel,
    PlaneCounts,
    groups,
    panels,
    plane_counts,
    plane_margins,
    plane_pairs,
    streamed,
)
from naivete.counts.block_counts import TableCounts, batches, merge_table_counts, table_counts
from naivete.counts.configurations import ConfigurationCounts
from naivete.counts.memory_budget import check_informations, occurring_bytes, panel_bytes
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.tables import DenseTable, SparseTable
from naivete.variables import CLASS, Family, family

if TYPE_CHECKING:
    from naivete.counts.counts import Counts

__all__ = ["count_pairs", "known_pairs"]

T = TypeVar("T")


def count_pairs(counts: Counts) -> Iterator[Pairs | SparsePair]:
    """Yield the tables of all pairs of features with the class, group by group; the margins are counted in the same pass.

    Features with few states are counted by bit planes; pairs with a feature of many states by one dense table each, or by a
    sparse one where the dense one would be mostly empty. Each pass counts as many pairs as fit into a quarter of the budget.
    """
    narrow = groups(counts.features, counts.cards(counts.features), counts.cases.has_missing)
    planes = {(x, CLASS) for group in narrow for x in group.features}
    margins = counts.uncounted(f for f in counts.margin_families if f not in planes)
    classes, share = counts.cards([CLASS])[0], counts.budget // 4
    dense, sparse = _wide_pairs(counts, planes)
    upper = panels(narrow, classes)
    _check(counts, upper, sparse)
    whole = _whole_block(counts) if narrow else None
    dense_batches = batches(dense, [8 * math.prod(counts.cards(f)) for f in dense], share)
    panel_batches = [] if whole is not None else batches(upper, [panel_bytes(p, classes) for p in upper], share)
    sparse_batches = batches(sparse, [occurring_bytes(counts.cards(f), counts.rows) for f in sparse], share)
    for i in range(max(1, len(dense_batches), len(panel_batches), len(sparse_batches))):
        families, some_panels, some_sparse = _nth(dense_batches, i), _nth(panel_batches, i), _nth(sparse_batches, i)
        layout = counts.layout([*(margins if i == 0 else []), *families])
        in_planes = narrow if some_panels or (i == 0 and whole is None) else []
        count = partial(
            _block_counts, grouped=in_planes, wanted=some_panels, layout=layout, sparse={f: counts.cards(f) for f in some_sparse}
        )
        counted, (sums, configurations) = counts.fold(count, _merge)
        flat = sums_as_numbers(sums)
        tables = {f: layout.table(flat, position) for position, f in enumerate(layout.families)}
        strips = plane_pairs(counted, some_panels) if counted is not None else iter(())
        if i == 0:
            counts.keep(DenseTable(f, tables[f].copy()) for f in margins)
            if whole is not None:
                counted, strips = streamed(whole, narrow, upper, classes)
            if counted is not None:
                counts.keep(DenseTable((x, CLASS), table) for x, table in plane_margins(counted, narrow).items())
        yield from strips
        yield from _dense_pairs(counts, families, tables)
        yield from _sparse_pairs(counts, configurations)


def known_pairs(counts: Counts) -> Iterator[Pairs | SparsePair]:
    """Yield the tables of all pairs of features with the class where they were counted before, so that no pass is needed."""
    several = [x for x, card in enumerate(counts.cards(counts.features)) if card > 1]
    families = [(x, y, CLASS) for x, y in combinations(several, 2)]
    check_informations(len(counts.features), [], counts.cards([CLASS])[0], counts.budget)
    for same in batches(families, [8 * math.prod(counts.cards(f)) for f in families], counts.budget // 4):
        yield from _dense_pairs(counts, same, {f: table.full() for f, table in counts.tables(same).items()})


def _wide_pairs(counts: Counts, planes: set[tuple[int, int]]) -> tuple[list[Family], list[Family]]:
    """Return the pairs with a feature of many states, which bit planes do not count: those with a dense table, and the others."""
    several = [x for x, card in enumerate(counts.cards(counts.features)) if card > 1]
    wide = [x for x in several if (x, CLASS) not in planes]
    pairs = sorted({family(x, y, CLASS) for x in wide for y in several if x != y})
    sparse = {f for f in pairs if counts.mostly_empty(math.prod(counts.cards(f)))}
    return [f for f in pairs if f not in sparse], [f for f in pairs if f in sparse]


def _check(counts: Counts, upper: Sequence[Panel], sparse: Sequence[Family]) -> None:
    """Raise an error if the informations of the pairs, or the table of one pair, exceed the budget, before rows are counted."""
    check_informations(len(counts.features), upper, counts.cards([CLASS])[0], counts.budget)
    if sparse:
        sizes = {f: occurring_bytes(counts.cards(f), counts.rows) // 8 for f in sparse}
        largest = max(sparse, key=lambda f: sizes[f])
        counts.check_budget({largest: sizes[largest]})


def _whole_block(counts: Counts) -> Block | None:
    """Return all rows, where they are in memory and have no weights: each panel is then counted only when it is needed."""
    block = getattr(counts.cases, "block", None)
    return block if isinstance(block, Block) and block.weight is None else None


def _dense_pairs(counts: Counts, families: Sequence[Family], tables: Mapping[Family, NDArray[Any]]) -> Iterator[Pairs]:
    """Yield the dense tables of some pairs; those of one feature with features of one shape together, a few at a time."""
    has_missing = counts.cases.has_missing
    for (x, card, second_missing), same in groupby(
        families, key=lambda f: (f[0], counts.variables[f[1]].card, bool(has_missing[f[1]]))
    ):
        size = counts.variables[x].card * card * counts.variables[CLASS].card
        for pairs in batches(list(same), repeat(size), PANEL_CELLS):
            stacked = np.stack([tables[f] for f in pairs])[None]
            yield Pairs(
                np.array([x]), np.array([y for _, y, _ in pairs]), partial(_itself, stacked), not (has_missing[x] or second_missing)
            )


def _sparse_pairs(counts: Counts, configurations: Mapping[Family, ConfigurationCounts]) -> Iterator[SparsePair]:
    has_missing = counts.cases.has_missing
    for members, (rows, sums) in configurations.items():
        table = SparseTable(members, counts.cards(members), rows, sums_as_numbers(sums))
        yield SparsePair(table, complete=not (has_missing[members[0]] or has_missing[members[1]]))


def _itself(tables: NDArray[Any]) -> NDArray[Any]:
    return tables


def _nth(items: Sequence[list[T]], i: int) -> list[T]:
    return items[i] if i < len(items) else []


BlockCounts = tuple[PlaneCounts | None, TableCounts]


def _block_counts(
    block: Block, grouped: list[Group], wanted: list[Panel], layout: _kernels.Layout, sparse: Mapping[Family, tuple[int, ...]]
) -> BlockCounts:
    planes = plane_counts(block, grouped, wanted, layout.cards[CLASS]) if grouped else None
    return planes, table_counts(block, layout, sparse)


def _merge(one: BlockCounts, two: BlockCounts) -> BlockCounts:
    planes = None if one[0] is None or two[0] is None else one[0].merged(two[0])
    return planes, merge_table_counts(one[1], two[1])
