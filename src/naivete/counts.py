"""Counts of families of variables over cases, exact and in as few passes as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby, repeat
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.cases.base import Block, Cases
from naivete.errors import ResourceError, shown
from naivete.exact import Parts, added, combined, limbs, summed
from naivete.memory import BUDGET, DENSE_CELLS, check_informations, occurring_bytes, panel_bytes
from naivete.pairs import (
    PANEL_CELLS,
    Group,
    OccurringPair,
    Pairs,
    Panel,
    PlaneCounts,
    groups,
    panels,
    plane_counts,
    plane_margins,
    plane_pairs,
    streamed,
)
from naivete.variables import CLASS, Family, Variables, family

__all__ = ["BUDGET", "Counts", "SparseTable", "Table", "grouped_rows"]

T = TypeVar("T")

DENSE_ROWS = 4
"""The table of a pair is counted in full up to this many cells for each row, and up to `DENSE_CELLS` in any case."""


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Counts of the feature configurations that occur, for families whose full table would be mostly empty.

    Parameters
    ----------
    members : the features of the family, increasing.
    configurations : their codes, one row for each configuration that occurs, in increasing order.  # (configuration, feature)
    counts : the cases of each configuration and class.  # (configuration, class)
    """

    members: tuple[int, ...]
    configurations: NDArray[np.int32]
    counts: NDArray[Any]


Table = NDArray[Any] | SparseTable


class Counts:
    """How often every combination of values of a family occurs in the cases.

    Each call of `tables` that asks for something new, and each call of `pairs`, is one pass over the data; `passes` counts
    them. What was counted is kept. Counts are int64, or float64 with exact sums where weights are not whole numbers.

    Parameters
    ----------
    cases : the rows, in any back end.
    budget : the most bytes that the tables of one request may take.
    known : gives tables that were counted already, such as those of the features with the class while the schema was found,
        and None for others.
    passes : how often the rows were gone through for that.

    Attributes
    ----------
    passes : how often the rows were gone through.
    dependence : what `information.dependence` found, kept because a second look would be a second pass.
    relevance : what `information.relevance` found.
    """

    def __init__(
        self, cases: Cases, *, budget: int = BUDGET, known: Callable[[Family], NDArray[Any] | None] | None = None, passes: int = 0
    ) -> None:
        self.cases = cases
        self.budget = budget
        self.passes = passes
        self._cards = tuple(v.card for v in cases.variables)
        self.dependence: NDArray[np.float64] | None = None
        self.relevance: NDArray[np.float64] | None = None
        self._kept: dict[Family, Table] = {}
        self._known = known

    @property
    def variables(self) -> Variables:
        """The variables, the class last."""
        return self.cases.variables

    @property
    def features(self) -> range:
        """The features."""
        return range(len(self.variables) - 1)

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""
        found = getattr(self.cases, "rows", None)
        return found if isinstance(found, int) else getattr(self._known, "rows", None)

    @property
    def total(self) -> float:
        """The weight of all cases."""
        return float(self.margins()[CLASS,].sum())

    def cards(self, members: Iterable[int]) -> tuple[int, ...]:
        """The number of states of each of these variables."""
        return tuple(self._cards[v] for v in members)

    def tables(self, families: Iterable[Family]) -> dict[Family, Table]:
        """The table of each family, axes in increasing order with the class last, in one pass over the data.

        A family with more cells than fit a table comes as a `SparseTable` of the configurations that occur.
        """
        wanted = list(dict.fromkeys(families))
        new = [f for f in wanted if f not in self._kept and not self._recalled(f)]
        if new:
            self._kept |= self._counted(new)
        return {f: self._kept[f] for f in wanted}

    def _recalled(self, family: Family) -> bool:
        """Keep the table of a family that was counted already; whether it was."""
        table = None if self._known is None else self._known(family)
        if table is not None:
            if 8 * table.size > self.budget:
                self.check_budget({family: table.size})
            self._kept[family] = table
        return table is not None

    def margins(self) -> dict[Family, NDArray[Any]]:
        """The table of every feature with the class, and of the class alone."""
        return self.tables(self.margin_families)  # type: ignore[return-value]

    @cached_property
    def margin_families(self) -> tuple[Family, ...]:
        """Every feature with the class, and the class alone."""
        return *((x, CLASS) for x in self.features), (CLASS,)

    def pairs(self) -> Iterator[Pairs | OccurringPair]:
        """The tables of all pairs of features with the class, group by group; the margins are counted in the same pass.

        Features with few states are counted by bit planes, pairs with a feature of many states one table at a time, those whose
        table would be mostly empty by the configurations that occur; all in as many passes as a quarter of the budget makes of
        them.
        """
        narrow = groups(self.features, self._cards, self.cases.gaps)
        planes = {family(x, CLASS) for group in narrow for x in group.features}
        margins = [f for f in self.margin_families if f not in planes and f not in self._kept and not self._recalled(f)]
        tabled, sparse = self._wide_pairs(planes)
        shared, upper = self.budget // 4, panels(narrow, self._cards[CLASS])
        self.check_pairs(upper, sparse)
        wide = _batches(tabled, [8 * math.prod(self.cards(f)) for f in tabled], shared)
        whole = self._whole_block() if narrow else None
        flat = [] if whole is not None else _batches(upper, [panel_bytes(p, self._cards[CLASS]) for p in upper], shared)
        scarce = _batches(sparse, [occurring_bytes(self.cards(f), self.rows) for f in sparse], shared)
        for at in range(max(1, len(wide), len(flat), len(scarce))):
            tables, own, few = _nth(wide, at), _nth(flat, at), _nth(scarce, at)
            layout = self._layout([*(margins if at == 0 else []), *tables])
            wanted = {f: self.cards(f) for f in few}
            grouped = narrow if own or (at == 0 and whole is None) else []
            count = partial(_pair_counts, grouped=grouped, wanted=own, layout=layout, sparse=wanted)
            counted, parts, occurring = self.fold(count, _pairs_merged)
            found = self._unpacked(combined(parts), layout)
            self._kept |= {f: found[f].copy() for f in margins if at == 0}
            strips = plane_pairs(counted, own) if counted is not None else iter(())
            if whole is not None and at == 0:
                counted, strips = streamed(whole, narrow, upper, self._cards[CLASS])
            if counted is not None and at == 0:
                self._kept |= {family(x, CLASS): table for x, table in plane_margins(counted, narrow).items()}
            yield from strips
            yield from self._table_pairs(tables, found)
            yield from self._occurring_pairs(occurring)

    def check_pairs(self, upper: Sequence[Panel], sparse: Sequence[Family]) -> None:
        """Refuse pairs whose informations, or the table of one of which, exceed the budget, before anything is counted."""
        check_informations(len(self.features), upper, self._cards[CLASS], self.budget)
        if sparse:
            sizes = {f: occurring_bytes(self.cards(f), self.rows) // 8 for f in sparse}
            worst = max(sparse, key=lambda f: sizes[f])
            self.check_budget({worst: sizes[worst]})

    def _whole_block(self) -> Block | None:
        """All rows, where they are at hand and without weights: then no counts of planes have to be kept for other rows."""
        block = getattr(self.cases, "block", None)
        return block if isinstance(block, Block) and block.weight is None else None

    def _table_pairs(self, families: Sequence[Family], tables: dict[Family, NDArray[Any]]) -> Iterator[Pairs]:
        """The tables of these pairs, those of one feature with features of one shape together, a few at a time."""
        gaps = self.cases.gaps
        for (x, card, holes), own in groupby(families, key=lambda f: (f[0], self._cards[f[1]], bool(gaps[f[1]]))):
            size = self._cards[x] * card * self._cards[CLASS]
            for pairs in _batches(list(own), repeat(size), PANEL_CELLS):
                stacked = np.stack([tables[f] for f in pairs])[None]
                yield Pairs(np.array([x]), np.array([y for _, y, _ in pairs]), partial(_itself, stacked), not (gaps[x] or holes))

    def _occurring_pairs(self, found: Mapping[Family, Occurring]) -> Iterator[OccurringPair]:
        gaps = self.cases.gaps
        for (x, y, _), (configurations, parts) in found.items():
            yield OccurringPair(x, y, configurations, combined(parts), not (gaps[x] or gaps[y]))

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """One pass: the function's value for every block, in the order of the rows."""
        self.passes += 1
        return self.cases.map(function)

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """One pass: the function's value for every block, merged."""
        self.passes += 1
        return self.cases.fold(function, merge)

    def _counted(self, families: Sequence[Family]) -> dict[Family, Table]:
        sparse = [f for f in families if math.prod(self.cards(f)) > DENSE_CELLS and len(f) > 2 and f[-1] == CLASS]
        large = set(sparse)
        layout = self._layout([f for f in families if f not in large])
        wanted = {f: self.cards(f) for f in sparse}
        parts, occurring = self.fold(partial(_tables_and_occurring, layout=layout, sparse=wanted), _both_merged)
        found: dict[Family, Table] = {**self._unpacked(combined(parts), layout)}
        for f, (configurations, own) in occurring.items():
            self.check_budget({f: len(configurations) * (self._cards[CLASS] + len(f))})
            found[f] = SparseTable(f[:-1], configurations, combined(own))
        return found

    def _dense(self, families: Sequence[Family]) -> dict[Family, NDArray[Any]]:
        layout = self._layout(families)
        return self._unpacked(combined(self.fold(partial(_scattered, layout=layout), added)), layout)

    def _layout(self, families: Sequence[Family]) -> _kernels.Layout:
        """Where the tables of these families lie, once the budget allows them."""
        self.check_budget({f: math.prod(self.cards(f)) for f in families})
        return _kernels.Layout(tuple(families), self._cards)

    @staticmethod
    def _unpacked(flat: NDArray[Any], layout: _kernels.Layout) -> dict[Family, NDArray[Any]]:
        return {f: layout.table(flat, i) for i, f in enumerate(layout.families)}

    def check_budget(self, cells: Mapping[Family, int]) -> None:
        """Refuse tables of these families and sizes if together they exceed the budget, before anything is allocated."""
        needed = 8 * sum(cells.values())
        if needed <= self.budget:
            return
        worst = max(cells, key=lambda f: cells[f])
        names = ", ".join(f"{shown(self.variables[v].name)} ({self.variables[v].card} states)" for v in worst)
        raise ResourceError(
            f"the tables of {len(cells)} families need {needed:,} bytes, the largest over {names} with {cells[worst]:,} cells "
            f"({8 * cells[worst]:,} bytes); the budget is {self.budget:,} bytes: allow fewer parents, merge rare states, "
            "or raise `budget`"
        )

    def _wide_pairs(self, planes: set[Family]) -> tuple[list[Family], list[Family]]:
        """The pairs with a feature of many states, which planes do not count: those with a full table, and the others."""
        telling = [x for x in self.features if self._cards[x] > 1]
        wide = [x for x in telling if family(x, CLASS) not in planes]
        found = sorted({family(x, y, CLASS) for x in wide for y in telling if x != y})
        large = {f for f in found if self._mostly_empty(math.prod(self.cards(f)))}
        return [f for f in found if f not in large], [f for f in found if f in large]

    def _mostly_empty(self, cells: int) -> bool:
        """Whether a full table has so many cells that listing those that occur is cheaper, or the only way."""
        return cells > DENSE_CELLS and (self.rows is None or cells > DENSE_ROWS * self.rows or 8 * cells > self.budget // 4)


def _itself(tables: NDArray[Any]) -> NDArray[Any]:
    return tables


def _nth(batches: Sequence[list[T]], at: int) -> list[T]:
    return batches[at] if at < len(batches) else []


def _batches(items: Sequence[T], sizes: Iterable[int], room: int) -> list[list[T]]:
    """The items in order, in batches that fit into the room; what is larger stands alone.

    >>> _batches("abcd", [3, 1, 9, 2], 4)
    [['a', 'b'], ['c'], ['d']]
    """
    batches: list[list[T]] = []
    left = 0
    for item, size in zip(items, sizes, strict=False):
        if size > left or not batches:
            batches.append([])
            left = room
        batches[-1].append(item)
        left -= size
    return batches


def _tables_and_occurring(
    block: Block, layout: _kernels.Layout, sparse: dict[Family, tuple[int, ...]]
) -> tuple[Parts, dict[Family, Occurring]]:
    return _scattered(block, layout), {f: _occurring(block, f[:-1], cards) for f, cards in sparse.items()}


def _both_merged(
    one: tuple[Parts, dict[Family, Occurring]], two: tuple[Parts, dict[Family, Occurring]]
) -> tuple[Parts, dict[Family, Occurring]]:
    return added(one[0], two[0]), {f: _united(own, two[1][f]) for f, own in one[1].items()}


PairCounts = tuple[PlaneCounts | None, Parts, dict[Family, "Occurring"]]


def _pair_counts(
    block: Block, grouped: list[Group], wanted: list[Panel], layout: _kernels.Layout, sparse: dict[Family, tuple[int, ...]]
) -> PairCounts:
    planes = plane_counts(block, grouped, wanted, layout.cards[CLASS]) if grouped else None
    return planes, *_tables_and_occurring(block, layout, sparse)


def _pairs_merged(one: PairCounts, two: PairCounts) -> PairCounts:
    planes = None if one[0] is None or two[0] is None else one[0].merged(two[0])
    return planes, *_both_merged(one[1:], two[1:])


def _scattered(block: Block, layout: _kernels.Layout) -> Parts:
    if not layout.families:
        return {0: np.zeros(0, np.int64)}
    return summed(
        {q: _kernels.scatter(part.codes, layout, limb) for q, limb in limbs(part.weight).items()} for part in block.parts()
    )


Occurring = tuple[NDArray[np.int32], Parts]
"""The configurations that occur, in increasing order, and their weight in each class as limbs. # (configuration, class)"""


def _occurring(block: Block, members: Sequence[int], cards: Sequence[int]) -> Occurring:
    columns = [block.codes[x] for x in members]
    known = np.logical_and.reduce([c != np.iinfo(c.dtype).max for c in columns])
    rows, row_of = grouped_rows([c[known] for c in columns], cards[:-1])
    configurations = np.stack([c[known][rows] for c in columns], axis=1).astype(np.int32)
    layout = _kernels.Layout(((0, -1),), (max(1, len(rows)), cards[-1]))
    codes = (row_of.astype(np.uint32), block.codes[-1][known])
    weight = None if block.weight is None else block.weight[known]
    parts = {q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(weight).items()}
    return configurations, {q: flat.reshape(-1, cards[-1])[: len(rows)] for q, flat in parts.items()}


def _united(one: Occurring, two: Occurring) -> Occurring:
    stacked = np.concatenate([one[0], two[0]])
    rows, row_of = grouped_rows(list(stacked.T), (stacked.max(axis=0, initial=0) + 1).tolist())
    parts: Parts = {}
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
