"""Counts of families of variables over the cases, exact and in as few passes as possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.exact_sums import sums_as_numbers
from naivete.cases.base import Cases
from naivete.cases.views import ComputedColumn, select_features, with_column
from naivete.counts.block_counts import TableCounts, merge_table_counts, table_counts
from naivete.counts.budget import BUDGET
from naivete.counts.configurations import ConfigurationCounts
from naivete.counts.continuous_sums import ContinuousSums
from naivete.counts.memory_budget import DENSE_CELLS
from naivete.counts.pair_passes import count_pairs, known_pairs
from naivete.counts.pairs import Pairs, SparsePair
from naivete.counts.table_stacks import DENSE_ROWS, table_stacks
from naivete.counts.tables import CountTable, DenseTable, SparseTable, TableStack
from naivete.errors import ResourceError, quoted
from naivete.variables import CLASS, Family, Variable, family

__all__ = ["Counts", "feature_kinds", "informative_features", "stacked", "stacked_margins"]

STACKED_CELLS = 1 << 14
"""The tables of the features with the class are filled up to one size and handled together up to this number of cells."""

T = TypeVar("T")

KnownTables = Callable[[Family], NDArray[Any] | None]
"""Returns the table of a family that has been counted already, else None."""


class Counts(ContinuousSums):
    """How often every combination of values of a family occurs in the cases.

    Each call of `tables` with a family that is not counted yet, and each call of `pairs`, is one pass over the data. Tables are
    kept. Counts are int64, or float64 with exact sums where weights are not whole numbers.

    Parameters
    ----------
    cases : Cases
        The rows, in any back end.
    budget : int, default=2147483648
        The maximal number of bytes of the tables of one call, by default 2 GiB.
    known : callable or None, default=None
        Returns tables that were counted before, such as those of the features with the class, and None for others.
    passes : int, default=0
        The number of passes over the rows that these tables took.

    Attributes
    ----------
    passes : int
        The number of passes over the rows.
    effort : Effort
        How much of the work of the learner is done, shared by all counts of the same rows.
    variables : tuple of Variable
        The variables, the class last.
    dependence : ndarray of shape (n_features, n_features) or None
        The result of `information.dependence`, kept because it takes a pass.
    relevance : ndarray of shape (n_features,) or None
        The result of `information.relevance`.
    subsets : dict of {tuple of int: Counts}
        The results of `subset`, by features.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> block = Block((np.array([0, 0, 1, 1], np.uint8), np.array([0, 0, 0, 1], np.uint8)))
    >>> counts = Counts(MemoryCases(variables, block, np.array([False])))
    >>> counts.tables([(0, -1)])[0, -1].full().tolist()  # rain in the rows, wet in the columns
    [[2, 0], [1, 1]]
    """

    def __init__(self, cases: Cases, *, budget: int = BUDGET, known: KnownTables | None = None, passes: int = 0) -> None:
        super().__init__(cases, passes=passes)
        self.budget = budget
        self._known = known
        self.dependence: Numbers | None = None
        self.relevance: Numbers | None = None
        self._kept: dict[Family, CountTable] = {}
        self._margin_tables: dict[Family, NDArray[Any]] | None = None
        self.subsets: dict[tuple[int, ...], Counts] = {}
        self.class_weighted = False
        """Whether the weights of the rows contain weights of classes: these do not say how many equal rows a row stands for."""

    def over(self, cases: Cases, known: KnownTables | None = None) -> Counts:
        """Return the counts of other cases made from the same rows, with the same budget; their passes are added to these.

        Parameters
        ----------
        cases : Cases
            The other cases.
        known : callable or None, default=None
            Returns tables that were counted before, and None for others.

        Returns
        -------
        Counts
            The counts of these cases.
        """
        counts = Counts(cases, budget=self.budget, known=known)
        counts._passes = self._passes
        counts.effort = self.effort
        counts.class_weighted = self.class_weighted
        return counts

    def copies(self, classes: NDArray[Any]) -> bool:
        """Return whether a row of weight two stands for two equal cases, of which leave-one-out leaves out one.

        Parameters
        ----------
        classes : ndarray
            The table of the class: of whole numbers if all weights are.

        Returns
        -------
        bool
            Whether all weights are whole numbers, and no weights of classes.
        """
        return classes.dtype.kind == "i" and not self.class_weighted

    def only(self, features: Sequence[int]) -> Counts:
        """Return the counts of some features and the class alone; the features are numbered from 0.

        Parameters
        ----------
        features : sequence of int
            The positions of the features.

        Returns
        -------
        Counts
            The counts, which use the tables of these counts where possible.
        """
        position = {CLASS: CLASS, **dict(enumerate(features))}
        return self.over(
            select_features(self.cases, tuple(features)), lambda f: self._without_pass(family(*(position[v] for v in f)))
        )

    def subset(self, features: Sequence[int]) -> Counts:
        """Return the counts of some features and the class alone, the same object for the same features.

        Parameters
        ----------
        features : sequence of int
            The positions of the features.

        Returns
        -------
        Counts
            The counts, as of `only`.
        """
        key = tuple(features)
        if key not in self.subsets:
            self.subsets[key] = self.only(key)
        return self.subsets[key]

    def with_column(self, variable: Variable, column: ComputedColumn, *, has_missing: bool) -> Counts:
        """Return the counts with one more feature, the last before the class, computed row by row.

        Parameters
        ----------
        variable : Variable
            The variable of the new feature.
        column : callable
            Computes the codes of the feature from a block.
        has_missing : bool
            Whether the feature has missing values.

        Returns
        -------
        Counts
            The counts with the new feature.
        """
        new = len(self.features)
        return self.over(
            with_column(self.cases, variable, column, has_missing=has_missing),
            lambda f: None if new in f else self._without_pass(f),
        )

    def _without_pass(self, members: Family) -> NDArray[Any] | None:
        """Return the dense table of a family that needs no pass, else None."""
        table = None if self.uncounted([members]) else self._kept[members]
        return table.counts if isinstance(table, DenseTable) else None

    def conditional_tables(self, families: Mapping[int, Family], smoothing: object) -> dict[int, Numbers]:  # noqa: ARG002
        """Return P(v | the other members of its family) of the variables v for which it has been estimated before: none, here.

        Parameters
        ----------
        families : dict of {int: tuple of int}
            The family of each variable.
        smoothing : float, str or smoothing method
            The smoothing of the tables.

        Returns
        -------
        dict of {int: ndarray}
            The tables by variable.
        """
        return {}

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is known."""
        rows = getattr(self.cases, "rows", None)
        return rows if isinstance(rows, int) else getattr(self._known, "rows", None)

    @property
    def total(self) -> float:
        """The total weight of the cases."""
        return float(self.margins()[CLASS,].sum())

    def tables(self, families: Iterable[Family]) -> dict[Family, CountTable]:
        """Return the table of each family, axes in increasing order with the class last, in at most one pass over the data.

        A table is sparse where the dense one would have too many cells.

        Parameters
        ----------
        families : iterable of tuple of int
            The families: positions of variables in increasing order, -1 for the class last.

        Returns
        -------
        dict of {tuple of int: DenseTable or SparseTable}
            The tables by family.

        Raises
        ------
        ResourceError
            If the tables need more bytes than the budget.
        """
        wanted = list(dict.fromkeys(families))
        new = self.uncounted(wanted)
        if new:
            self.keep(self._counted(new))
        return {f: self._kept[f] for f in wanted}

    def keep(self, tables: Iterable[CountTable]) -> None:
        """Keep the tables of some families.

        Parameters
        ----------
        tables : iterable of DenseTable or SparseTable
            The tables.
        """
        self._kept |= {table.members: table for table in tables}

    def uncounted(self, families: Iterable[Family]) -> list[Family]:
        """Return the families whose tables need a pass; those of the others are kept from now on.

        Parameters
        ----------
        families : iterable of tuple of int
            The families.

        Returns
        -------
        list of tuple of int
            Those that are not counted yet.
        """
        return [f for f in families if f not in self._kept and not self._recalled(f)]

    def _recalled(self, members: Family) -> bool:
        """Keep the table of a family that was counted before; whether it was."""
        table = None if self._known is None else self._known(members)
        if table is not None:
            if 8 * table.size > self.budget:
                self.check_budget({members: table.size})
            self._kept[members] = DenseTable(members, table)
        return table is not None

    def margins(self) -> Mapping[Family, NDArray[Any]]:
        """Return the table of every feature with the class, and of the class alone, as arrays.

        Returns
        -------
        dict of {tuple of int: ndarray}
            The tables by family.
        """
        if self._margin_tables is None:
            self._margin_tables = {f: table.full() for f, table in self.tables(self.margin_families).items()}
        return self._margin_tables

    @cached_property
    def _margins(self) -> frozenset[Family]:
        return frozenset(self.margin_families)

    @cached_property
    def margin_families(self) -> tuple[Family, ...]:
        """Every feature with the class, and the class alone."""
        return *((x, CLASS) for x in self.features), (CLASS,)

    def pairs(self) -> Iterator[Pairs | SparsePair]:
        """Yield the tables of all pairs of features with the class, group by group; the margins are counted in the same pass.

        See `pair_passes.count_pairs`.

        Yields
        ------
        Pairs or SparsePair
            The tables of the pairs of two groups of features, or the sparse table of one pair.
        """
        return known_pairs(self) if getattr(self._known, "pairs_known", False) else count_pairs(self)

    def pairs_to_weigh(self) -> Iterator[Pairs | SparsePair]:
        """Yield the pairs whose informations are not known yet: all of them.

        Yields
        ------
        Pairs or SparsePair
            The tables, as those of `pairs`.
        """
        return self.pairs()

    def _counted(self, families: Sequence[Family]) -> Iterator[CountTable]:
        sparse = {f: self.cards(f) for f in families if math.prod(self.cards(f)) > DENSE_CELLS and f not in self._margins}
        layout = self.layout([f for f in families if f not in sparse])
        flat, configurations = self.flat_tables(layout, sparse)
        yield from (DenseTable(f, layout.table(flat, i)) for i, f in enumerate(layout.families))
        yield from (self.sparse_table(f, counts) for f, counts in configurations.items())

    def flat_tables(
        self, layout: _kernels.Layout, sparse: Mapping[Family, tuple[int, ...]]
    ) -> tuple[NDArray[Any], dict[Family, ConfigurationCounts]]:
        """Return the dense tables of a layout in one flat array, and what occurs of other families, in one pass.

        Parameters
        ----------
        layout : Layout
            The position of each dense table.
        sparse : dict of {tuple of int: tuple of int}
            The other families, with the numbers of states of their members.

        Returns
        -------
        flat : ndarray
            The counts of the dense tables.
        configurations : dict of {tuple of int: tuple}
            The configurations of the other families that occur, and their counts.
        """
        count = partial(table_counts, layout=layout, sparse=sparse, budget=self.budget)
        counted: TableCounts = self.fold(count, partial(merge_table_counts, budget=self.budget))
        return sums_as_numbers(counted[0]), counted[1]

    def sparse_table(self, members: Family, counts: ConfigurationCounts) -> SparseTable:
        """Return the sparse table of a family; an error where it exceeds the budget.

        Parameters
        ----------
        members : tuple of int
            The family.
        counts : tuple
            The configurations that occur, and their counts.

        Returns
        -------
        SparseTable
            The table.
        """
        configurations, sums = counts
        self.check_budget({members: len(configurations) * (self._cards[members[-1]] + len(members))})
        return SparseTable(members, self.cards(members), configurations, sums_as_numbers(sums))

    def table_stacks(
        self, orders: Sequence[Family], shapes: Sequence[tuple[int, ...]] | Numbers
    ) -> Iterator[tuple[Integers, TableStack]]:
        """Yield the tables of many families, which are not kept, in as few passes as a quarter of the budget allows.

        Parameters
        ----------
        orders : sequence of tuple of int
            The members of each family in the order its axes should have; very many are best given as a `FamilyArray`.
        shapes : sequence of tuple of int, or ndarray
            The shape of each table, with the same number of cells; axes that follow one another may be folded into one.

        Yields
        ------
        positions : ndarray of int
            The positions of families of one shape, or of one family with a sparse table.
        tables : DenseStack or SparseStack
            Their tables together; sparse where a dense table would have many more cells than there are rows.
        """
        return table_stacks(self, orders, shapes)

    def layout(self, families: Sequence[Family]) -> _kernels.Layout:
        """Return where the dense tables of some families lie in a flat array; an error where they exceed the budget.

        Parameters
        ----------
        families : sequence of tuple of int
            The families.

        Returns
        -------
        Layout
            The position of each table.
        """
        self.check_budget({f: math.prod(self.cards(f)) for f in families})
        return _kernels.Layout(tuple(families), self._cards)

    def check_budget(self, cells: Mapping[Family, int]) -> None:
        """Raise an error if tables of these families with these numbers of cells exceed the budget, before they are allocated.

        Parameters
        ----------
        cells : dict of {tuple of int: int}
            The number of cells of the table of each family.

        Raises
        ------
        ResourceError
            If the tables need more bytes than the budget.
        """
        needed = 8 * sum(cells.values())
        if needed <= self.budget:
            return
        largest = max(cells, key=lambda f: cells[f])
        names = ", ".join(f"{quoted(self.variables[v].name)} ({self.variables[v].card} states)" for v in largest)
        raise ResourceError(
            f"the tables of {len(cells)} families need {needed:,} bytes, the largest over {names} with {cells[largest]:,} cells "
            f"({8 * cells[largest]:,} bytes); the budget is {self.budget:,} bytes: allow fewer parents, merge rare states, "
            "or raise `budget=`"
        )

    def mostly_empty(self, cells: int) -> bool:
        """Return whether a table of `cells` cells should be sparse: most cells would be empty, or the budget is too small.

        Parameters
        ----------
        cells : int
            The number of cells of the dense table.

        Returns
        -------
        bool
            Whether it should be sparse.
        """
        return cells > DENSE_CELLS and (self.rows is None or cells > DENSE_ROWS * self.rows or 8 * cells > self.budget // 4)


def feature_kinds(counts: Counts) -> list[list[int]]:
    """Return the discrete and the continuous features, each group only if there are some; arcs join features of one group."""
    continuous = set(counts.continuous)
    kinds = [x for x in counts.features if x not in continuous], counts.continuous
    return [features for features in kinds if features]


def informative_features(counts: Counts) -> list[int]:
    """Return the features with more than one state, or with a density; one of a single state carries no information."""
    return [x for x, card in enumerate(counts.cards(counts.features)) if card > 1 or counts.variables[x].density]


def stacked_margins(counts: Counts) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """Yield groups of features and their tables with the class: all in one group if small, else by the number of states.

    Parameters
    ----------
    counts : the counts.

    Yields
    ------
    features : list of int
        The features of the group.
    tables : ndarray of shape (n_features, most states, n_classes)
        Their tables; states that a feature does not have are zero.
    """
    margins = counts.margins()
    tables = [margins[x, CLASS] for x in counts.features]
    groups: dict[int, list[int]] = {}
    together = len(tables) * max(map(np.size, tables), default=0) <= STACKED_CELLS
    for x, table in enumerate(tables):
        groups.setdefault(0 if together else len(table), []).append(x)
    for features in groups.values():
        yield features, stacked([tables[x] for x in features])


def stacked(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return tables of two axes in one array; where one of them has fewer rows than another, the others are zero."""
    result = np.zeros((len(tables), max(map(len, tables)), tables[0].shape[1]), np.result_type(*{table.dtype for table in tables}))
    for rows, table in zip(result, tables, strict=True):
        rows[: len(table)] = table
    return result
