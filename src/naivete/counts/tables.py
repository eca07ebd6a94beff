"""Tables of counts, dense or sparse, with the same methods.

A dense table has a cell for each configuration of its variables, a sparse one only for those that occur: it is used where the
full table would be mostly empty. Callers need not know which one they have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete.counts.configurations import grouped_rows
from naivete.variables import CLASS

__all__ = ["CountTable", "DenseStack", "DenseTable", "SparseStack", "SparseTable", "TableStack"]

OccupiedCells = tuple[dict[int, NDArray[Any]], NDArray[Any]]
"""The codes of every variable in each cell that is not empty, and the counts of these cells."""


@dataclass(frozen=True, eq=False)
class DenseTable:
    """Counts of all configurations of some variables; `np.asarray` gives the array.

    Parameters
    ----------
    members : the variables, one for each axis.
    counts : the counts.

    >>> table = DenseTable((0, 1, CLASS), np.array([[[1, 0], [2, 0]], [[0, 0], [0, 3]]]))
    >>> table.sum(), table.marginal(CLASS, 0).tolist()
    (6.0, [[3, 0], [0, 3]])
    >>> table.occurring((0, 1), by=CLASS)
    ([array([0, 0, 1]), array([0, 1, 1])], array([[1, 0],
           [2, 0],
           [0, 3]]))
    """

    members: tuple[int, ...]
    counts: NDArray[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.counts, dtype, copy=copy)

    def sum(self) -> float:
        """Return the sum of all counts."""
        return float(self.counts.sum())

    def full(self, order: Sequence[int] | None = None) -> NDArray[Any]:
        """Return the counts of all configurations, the axes in this order of the variables."""
        return self.counts if order is None else self.counts.transpose([self.members.index(m) for m in order])

    def full_at(self, order: Sequence[int], states: Integers) -> NDArray[Any]:
        """Return the counts with the axes in this order, of the last variable only for these states."""
        return self.full(order)[..., states]

    def marginal(self, *members: int) -> NDArray[Any]:
        """Return the counts of some variables, the axes in this order, the other variables summed over."""
        others = tuple(axis for axis, m in enumerate(self.members) if m not in members)
        kept = [m for m in self.members if m in members]
        return np.asarray(self.counts.sum(axis=others).transpose([kept.index(m) for m in members]))

    def cells(self) -> OccupiedCells:
        """Return the codes and the counts of the cells that are not empty."""
        places = np.nonzero(self.counts)
        return dict(zip(self.members, places, strict=True)), self.counts[places]

    def occurring(self, members: Sequence[int], by: int) -> tuple[list[Integers], NDArray[Any]]:
        """Return the configurations of some variables that occur, in increasing order, and their counts in each state of `by`.

        All variables of the table other than `by` have to be in `members`.  # codes of each member, (configuration, state)
        """
        counts = self.full((*members, by))
        places = np.nonzero(counts.any(axis=-1))
        return list(places), counts[places]


@dataclass(frozen=True, eq=False)
class SparseTable:
    """Counts of the configurations that occur; the methods are those of `DenseTable`.

    Parameters
    ----------
    members : the variables, in increasing order, the class last.
    cards : the number of states of each variable.
    configurations : the codes of all variables but the last, one row for each configuration that occurs, in increasing order.
        # (configuration, variable)
    counts : the cases of each configuration and state of the last variable.  # (configuration, state)
    """

    members: tuple[int, ...]
    cards: tuple[int, ...]
    configurations: NDArray[np.int32]
    counts: NDArray[Any]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.full().astype(dtype, copy=False)

    def card(self, member: int) -> int:
        """Return the number of states of a variable."""
        return self.cards[self.members.index(member)]

    def sum(self) -> float:
        """Return the sum of all counts."""
        return float(self.counts.sum())

    def full(self, order: Sequence[int] | None = None) -> NDArray[Any]:
        """Return the counts of all configurations, the axes in this order of the variables."""
        return self.marginal(*(self.members if order is None else order))

    def full_at(self, order: Sequence[int], states: Integers) -> NDArray[Any]:
        """Return the counts with the axes in this order, of the last variable only for these states."""
        codes, counts = self.cells()
        position = np.full(self.card(order[-1]), -1)
        position[states] = np.arange(len(states))
        last = position[codes[order[-1]]]
        kept = last >= 0
        table = np.zeros((*map(self.card, order[:-1]), len(states)), self.counts.dtype)
        table[(*(codes[m][kept] for m in order[:-1]), last[kept])] = counts[kept]
        return table

    def marginal(self, *members: int) -> NDArray[Any]:
        """Return the counts of some variables, the axes in this order, the other variables summed over."""
        codes, counts = self.cells()
        table = np.zeros(tuple(map(self.card, members)), self.counts.dtype)
        np.add.at(table, tuple(codes[m] for m in members), counts)
        return table

    def cells(self) -> OccupiedCells:
        """Return the codes and the counts of the cells that are not empty."""
        rows, states = np.nonzero(self.counts)
        codes = {m: column[rows] for m, column in zip(self.members[:-1], self.configurations.T, strict=True)}
        return {**codes, self.members[-1]: states}, self.counts[rows, states]

    def occurring(self, members: Sequence[int], by: int) -> tuple[list[Integers], NDArray[Any]]:
        """Return the configurations of some variables that occur, in increasing order, and their counts in each state of `by`.

        All variables of the table other than `by` have to be in `members`.  # codes of each member, (configuration, state)
        """
        codes, counts = self.cells()
        rows, row_of = grouped_rows([codes[m] for m in members], [self.card(m) for m in members])
        table = np.zeros((len(rows), self.card(by)), self.counts.dtype)
        table[row_of, codes[by]] = counts
        return [codes[m][rows].astype(np.int64) for m in members], table

    def slices(self, v: int, without: int | None = None) -> NDArray[Any]:
        """Return the counts of a variable for each configuration of the others that occurs.  # (configuration, state)

        Parameters
        ----------
        v : the variable.
        without : a variable that is summed over.
        """
        codes, counts = self.cells()
        others = [m for m in self.members if m not in (v, without)]
        keys = [codes[m] for m in others] or [np.zeros(len(counts), np.int64)]
        rows, row_of = grouped_rows(keys, [self.card(m) for m in others] or [1])
        table = np.zeros((len(rows), self.card(v)), self.counts.dtype)
        np.add.at(table, (row_of, codes[v]), counts)
        return table

    def by_parents(
        self, x: int, parents: Sequence[int], allow: Callable[[int], None] = lambda _: None
    ) -> tuple[NDArray[np.int32], Numbers, tuple[int, ...]]:
        """Return the configurations of the feature parents that occur, the counts of x in them, and these parents, increasing.

        The counts have the axes (configuration, x, class), the last of length one where the class is no parent; without feature
        parents there is one configuration.

        Parameters
        ----------
        x : the variable.
        parents : its parents.
        allow : called with the number of cells before they are allocated; may raise an error.
        """
        codes, weight = self.cells()
        features = tuple(sorted(p for p in parents if p != CLASS))
        keys = [codes[p] for p in features]
        rows, row_of = np.zeros(1, np.int64), np.zeros(len(weight), np.int64)
        if keys:
            rows, row_of = grouped_rows(keys, [self.card(p) for p in features])
        given = self.members[-1] == CLASS != x
        classes = self.counts.shape[1] if given else 1
        allow(len(rows) * self.card(x) * classes)
        n = np.zeros((len(rows), self.card(x), classes))
        np.add.at(n, (row_of, codes[x], codes[CLASS] if given else np.zeros_like(row_of)), weight)
        configurations = np.stack([k[rows] for k in keys], axis=1).astype(np.int32) if keys else np.empty((1, 0), np.int32)
        return np.ascontiguousarray(configurations), n, features


CountTable = DenseTable | SparseTable
"""The counts of one family."""


@dataclass(frozen=True, eq=False)
class DenseStack:
    """Dense tables of several families of one shape.

    Parameters
    ----------
    orders : the variables of each family, in the order of its axes.
    counts : the tables; axes that follow one another may be folded into one.  # (family, *shape)
    """

    orders: Sequence[tuple[int, ...]]
    counts: NDArray[Any]

    def tables(self) -> Sequence[CountTable]:
        """Return the table of each family, where no axes are folded."""
        return [DenseTable(order, table) for order, table in zip(self.orders, self.counts, strict=True)]

    def slices(self) -> NDArray[Any]:
        """Return the counts of the last variable in each configuration of the others.  # (family, configuration, state)"""
        return self.counts.reshape(len(self.counts), -1, self.counts.shape[-1])

    def slices_without_first(self) -> NDArray[Any]:
        """Return the same with the first variable summed over."""
        return np.asarray(self.counts.sum(axis=1).reshape(len(self.counts), -1, self.counts.shape[-1]))

    def contingency(self) -> NDArray[Any]:
        """Return the counts of the first two variables in each configuration of the others.  # (family, x, y, configuration)"""
        return self.counts

    def conditional_sums(self, excluded: int | None) -> tuple[NDArray[Any], ...]:
        """Return the counts over (x, c, z), (x, z), (c, z) and z of families of three variables, and the cases of each family.

        A state of z that is excluded has to be the last; its cases are in the cases of the family only.
        """
        n = self.counts[..., :excluded]
        both, other = n.sum(axis=2), n.sum(axis=1)
        return n, both, other, other.sum(axis=1), self.counts.reshape(len(n), -1).sum(axis=1)


@dataclass(frozen=True, eq=False)
class SparseStack:
    """The sparse table of one family; the methods are those of `DenseStack`, for the configurations that occur.

    Parameters
    ----------
    order : the variables of the family, in the order that its axes should have.
    table : the counts.
    """

    order: tuple[int, ...]
    table: SparseTable

    def tables(self) -> Sequence[CountTable]:
        """Return the table, in a list."""
        return [self.table]

    def slices(self) -> NDArray[Any]:
        """Return the counts of the last variable in each configuration of the others.  # (1, configuration, state)"""
        return self.table.slices(self.order[-1])[None]

    def slices_without_first(self) -> NDArray[Any]:
        """Return the same with the first variable summed over."""
        return self.table.slices(self.order[-1], without=self.order[0])[None]

    def contingency(self) -> NDArray[Any]:
        """Return the counts of the first two variables in each configuration of the others.  # (1, x, y, configuration)"""
        x, y, *given = self.order
        codes, counts = self.table.cells()
        keys = [codes[m] for m in given] or [np.zeros(len(counts), np.int64)]
        _, row_of = grouped_rows(keys, [self.table.card(m) for m in given] or [1])
        table = np.zeros((self.table.card(x), self.table.card(y), int(row_of.max(initial=-1)) + 1), counts.dtype)
        np.add.at(table, (codes[x], codes[y], row_of), counts)
        return table[None]

    def conditional_sums(self, excluded: int | None) -> tuple[NDArray[Any], ...]:
        """Return the counts over (x, c, z), (x, z), (c, z) and z, and the cases of the family; c is the class."""
        x, _, z = self.order
        (_, states), n = self.table.occurring((x, z), by=CLASS)
        kept = n if excluded is None else n[states != excluded]
        other = np.zeros((self.table.card(z), n.shape[1]), n.dtype)
        np.add.at(other, states if excluded is None else states[states != excluded], kept)
        return kept[None], kept.sum(axis=1)[None], other[None], other.sum(axis=1)[None], n.sum(keepdims=True)[0]


TableStack = DenseStack | SparseStack
"""The tables of several families of one shape, or the sparse table of one."""
