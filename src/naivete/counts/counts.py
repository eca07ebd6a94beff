"""Counts of families of variables over cases, exact and in as few passes as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby, repeat
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.exact_sums import LimbSums, add_sums, limbs, sum_all, sums_as_numbers
from naivete.cases.base import Block, Cases
from naivete.cases.views import ComputedColumn, select_features, with_column
from naivete.counts.memory_budget import BUDGET, DENSE_CELLS, check_informations, occurring_bytes, panel_bytes
from naivete.counts.moments import Moments, MomentsIn, Points, PointsIn, Scatter, ScattersIn, merged
from naivete.counts.pairs import (
    PANEL_CELLS,
    Group,
    Pairs,
    Panel,
    PlaneCounts,
    SparsePair,
    groups,
    panels,
    plane_counts,
    plane_margins,
    plane_pairs,
    streamed,
)
from naivete.counts.sparse_tables import SparseCounts, SparseTable, merge_sparse, sparse_counts_of
from naivete.errors import DataError, ResourceError, quoted
from naivete.variables import CLASS, Family, Variable, Variables, family

__all__ = ["BUDGET", "Counts", "Table", "feature_kinds", "informative_features"]

T = TypeVar("T")

FEW_CELLS = 1 << 12
DENSE_ROWS = 4
"""The table of a pair is counted in full up to this many cells for each row, and up to `DENSE_CELLS` in any case."""


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
        self._passes = [passes]
        self._cards = tuple(v.card for v in cases.variables)
        self.dependence: NDArray[np.float64] | None = None
        self.relevance: NDArray[np.float64] | None = None
        self._kept: dict[Family, Table] = {}
        self._moments: dict[tuple[int, Family], Moments] = {}
        self._scatters: dict[tuple[tuple[int, ...], Family], Scatter] = {}
        self._known = known

    @property
    def passes(self) -> int:
        """How often the rows were gone through."""
        return self._passes[0]

    def over(self, cases: Cases, known: Callable[[Family], NDArray[Any] | None] | None = None) -> Counts:
        """Counts of the same rows seen differently, with the same budget; their passes are passes of these."""
        counts = Counts(cases, budget=self.budget, known=known)
        counts._passes = self._passes
        return counts

    def only(self, features: Sequence[int]) -> Counts:
        """The counts of these features and the class, as if there were no others; the features are numbered from 0."""
        own = tuple(features)
        return self.over(
            select_features(self.cases, own), lambda f: self._remembered(family(*(v if v == CLASS else own[v] for v in f)))
        )

    def with_column(self, variable: Variable, column: ComputedColumn, *, gaps: bool) -> Counts:
        """The counts with one more feature, the last before the class, computed row by row."""
        own = len(self.features)
        return self.over(with_column(self.cases, variable, column, gaps=gaps), lambda f: None if own in f else self._remembered(f))

    def _remembered(self, family: Family) -> NDArray[Any] | None:
        """A table that needs no pass."""
        if family not in self._kept and not self._recalled(family):
            return None
        table = self._kept[family]
        return table if isinstance(table, np.ndarray) else None

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
        return tuple(map(self._cards.__getitem__, members))

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
    def _margins(self) -> frozenset[Family]:
        return frozenset(self.margin_families)

    @cached_property
    def margin_families(self) -> tuple[Family, ...]:
        """Every feature with the class, and the class alone."""
        return *((x, CLASS) for x in self.features), (CLASS,)

    def moments(self, columns: Sequence[int], given: Family) -> dict[int, Moments]:
        """The moments of numbers in each configuration of discrete variables that are never missing, in one pass."""
        self._moments |= self._moments_of_scatters(given)
        new = tuple(x for x in columns if (x, given) not in self._moments)
        found: list[Moments] = self.fold(MomentsIn(new, given, self.cards(given)), merged) if new else []
        self._check_squares(new, [own.deviations for own in found])
        self._moments |= {(x, given): own for x, own in zip(new, found, strict=True)}
        return {x: self._moments[x, given] for x in columns}

    def _moments_of_scatters(self, given: Family) -> dict[tuple[int, Family], Moments]:
        """What is known already, of columns without gaps among columns without gaps."""
        cards, found = self.cards(given), dict[tuple[int, Family], Moments]()
        for (own, others), scatter in self._scatters.items():
            if others == given and not self.cases.gaps[list(own)].any():
                for j, x in enumerate(own):
                    moments = Moments(scatter.weights, scatter.means[:, j], scatter.products[:, j, j])
                    found[x, given] = self._moments.get((x, given), moments.at(cards))
        return found

    def points(self, columns: Sequence[int]) -> dict[int, Points]:
        """The different values of numbers, and their weight in each class, in one pass."""
        own = tuple(columns)
        found: list[Points] = self.fold(PointsIn(own, self._cards[CLASS]), merged) if own else []
        return dict(zip(own, found, strict=True))

    def scatters(self, sets: Sequence[Sequence[int]], given: Family) -> list[Scatter]:
        """The scatter of sets of numbers in each configuration of discrete variables that are never missing, in one pass."""
        wanted = [tuple(own) for own in sets]
        new = tuple(own for own in dict.fromkeys(wanted) if (own, given) not in self._scatters)
        found: list[Scatter] = self.fold(ScattersIn(new, given, self.cards(given)), merged) if new else []
        for own, scatter in zip(new, found, strict=True):
            self._check_squares(own, np.moveaxis(np.diagonal(scatter.products, axis1=1, axis2=2), 1, 0))
        self._scatters |= {(own, given): scatter for own, scatter in zip(new, found, strict=True)}
        return [self._scatters[own, given] for own in wanted]

    def _check_squares(self, columns: Sequence[int], squares: Iterable[NDArray[np.float64]]) -> None:
        for x, own in zip(columns, squares, strict=True):
            if not np.isfinite(own).all():
                raise DataError(
                    f"column {quoted(self.variables[x].name)}: its numbers are too large to be squared, as a density needs; "
                    "scale it, or cut it (numbers='cut')"
                )

    def pairs(self) -> Iterator[Pairs | SparsePair]:
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
            found = self._unpacked(sums_as_numbers(parts), layout)
            self._kept |= {f: found[f].copy() for f in margins if at == 0}
            strips = plane_pairs(counted, own) if counted is not None else iter(())
            if whole is not None and at == 0:
                counted, strips = streamed(whole, narrow, upper, self._cards[CLASS])
            if counted is not None and at == 0:
                self._kept |= {family(x, CLASS): table for x, table in plane_margins(counted, narrow).items()}
            yield from strips
            yield from self._table_pairs(tables, found)
            yield from self._occurring_pairs(occurring)

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """The pairs whose informations are not known yet: all of them."""
        return self.pairs()

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

    def _occurring_pairs(self, found: Mapping[Family, SparseCounts]) -> Iterator[SparsePair]:
        gaps = self.cases.gaps
        for (x, y, _), (configurations, parts) in found.items():
            yield SparsePair(x, y, configurations, sums_as_numbers(parts), not (gaps[x] or gaps[y]))

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """One pass: the function's value for every block, in the order of the rows."""
        self._passes[0] += 1
        return self.cases.map(function)

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """One pass: the function's value for every block, merged."""
        self._passes[0] += 1
        return self.cases.fold(function, merge)

    def _counted(self, families: Sequence[Family]) -> dict[Family, Table]:
        sparse = {f: self.cards(f) for f in families if self._cells(f) > DENSE_CELLS and f not in self._margins}
        layout = self._layout([f for f in families if f not in sparse])
        parts, occurring = self.fold(partial(_tables_and_occurring, layout=layout, sparse=sparse), _both_merged)
        found: dict[Family, Table] = {**self._unpacked(sums_as_numbers(parts), layout)}
        return found | {f: self._listed(f, *own) for f, own in occurring.items()}

    def _listed(self, members: Family, configurations: NDArray[np.int32], parts: LimbSums) -> SparseTable:
        self.check_budget({members: len(configurations) * (self._cards[members[-1]] + len(members))})
        return SparseTable(members[:-1], configurations, sums_as_numbers(parts), members[-1])

    def arranged(self, orders: Sequence[Family], shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[list[int], Table]]:
        """The tables of many families that are looked at once and not kept, in as few passes as a quarter of the budget allows.

        Parameters
        ----------
        orders : the members of each family in the order its axes should have.
        shapes : what each table is folded into, with as many cells.

        Yields
        ------
        The positions of families of one shape, and their tables together (family, *shape); or the position of a family whose
        full table would have many more cells than there are rows, and its `SparseTable`.
        """
        few = max(FEW_CELLS, DENSE_ROWS * (self.rows or DENSE_CELLS))
        sizes = [math.prod(shape) for shape in shapes]
        large = {i for i, size in enumerate(sizes) if size > few and size > self._cards[CLASS] * max(self.cards(orders[i]))}
        order = sorted(range(len(orders)), key=lambda i: (shapes[i], i))
        bytes_of = [occurring_bytes(self.cards(orders[i]), self.rows) if i in large else 8 * sizes[i] for i in order]
        for batch in _batches(order, bytes_of, self.budget // 4):
            dense = [i for i in batch if i not in large]
            layout = self._layout([orders[i] for i in dense])
            sparse = {family(*orders[i]): self.cards(family(*orders[i])) for i in batch if i in large}
            parts, occurring = self.fold(partial(_tables_and_occurring, layout=layout, sparse=sparse), _both_merged)
            flat, start = sums_as_numbers(parts), 0
            for shape, same in groupby(dense, key=lambda i: shapes[i]):
                which = list(same)
                cells = len(which) * sizes[which[0]]
                yield which, flat[start : start + cells].reshape(-1, *shape)
                start += cells
            for i in batch:
                if i in large:
                    yield [i], self._listed(family(*orders[i]), *occurring[family(*orders[i])])

    def _cells(self, members: Family) -> int:
        return math.prod(self.cards(members))

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
        names = ", ".join(f"{quoted(self.variables[v].name)} ({self.variables[v].card} states)" for v in worst)
        raise ResourceError(
            f"the tables of {len(cells)} families need {needed:,} bytes, the largest over {names} with {cells[worst]:,} cells "
            f"({8 * cells[worst]:,} bytes); the budget is {self.budget:,} bytes: allow fewer parents, merge rare states, "
            "or raise `budget=`"
        )

    def _wide_pairs(self, planes: set[Family]) -> tuple[list[Family], list[Family]]:
        """The pairs with a feature of many states, which planes do not count: those with a full table, and the others."""
        informative_features = [x for x in self.features if self._cards[x] > 1]
        wide = [x for x in informative_features if family(x, CLASS) not in planes]
        found = sorted({family(x, y, CLASS) for x in wide for y in informative_features if x != y})
        large = {f for f in found if self._mostly_empty(math.prod(self.cards(f)))}
        return [f for f in found if f not in large], [f for f in found if f in large]

    def _mostly_empty(self, cells: int) -> bool:
        """Whether a full table has so many cells that listing those that occur is cheaper, or the only way."""
        return cells > DENSE_CELLS and (self.rows is None or cells > DENSE_ROWS * self.rows or 8 * cells > self.budget // 4)


def feature_kinds(counts: Counts) -> list[list[int]]:
    """The features with states, and those with densities, where there are some of both; arcs join features of one kind."""
    both: list[list[int]] = [[], []]
    for x in counts.features:
        both[counts.variables[x].density].append(x)
    return [features for features in both if features]


def informative_features(counts: Counts) -> list[int]:
    """The features with more than one state, or with a density; one of a single state tells nothing."""
    return [x for x in counts.features if counts.variables[x].card > 1 or counts.variables[x].density]


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
) -> tuple[LimbSums, dict[Family, SparseCounts]]:
    return _scattered(block, layout), {f: sparse_counts_of(block, f, cards) for f, cards in sparse.items()}


def _both_merged(
    one: tuple[LimbSums, dict[Family, SparseCounts]], two: tuple[LimbSums, dict[Family, SparseCounts]]
) -> tuple[LimbSums, dict[Family, SparseCounts]]:
    return add_sums(one[0], two[0]), {f: merge_sparse(own, two[1][f]) for f, own in one[1].items()}


PairCounts = tuple[PlaneCounts | None, LimbSums, dict[Family, SparseCounts]]


def _pair_counts(
    block: Block, grouped: list[Group], wanted: list[Panel], layout: _kernels.Layout, sparse: dict[Family, tuple[int, ...]]
) -> PairCounts:
    planes = plane_counts(block, grouped, wanted, layout.cards[CLASS]) if grouped else None
    return planes, *_tables_and_occurring(block, layout, sparse)


def _pairs_merged(one: PairCounts, two: PairCounts) -> PairCounts:
    planes = None if one[0] is None or two[0] is None else one[0].merged(two[0])
    return planes, *_both_merged(one[1:], two[1:])


def _scattered(block: Block, layout: _kernels.Layout) -> LimbSums:
    if not layout.families:
        return {0: np.zeros(0, np.int64)}
    return sum_all(
        {q: _kernels.scatter(part.codes, layout, limb) for q, limb in limbs(part.weight).items()} for part in block.parts()
    )
