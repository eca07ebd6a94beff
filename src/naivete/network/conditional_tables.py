"""Tables of conditional probabilities, dense or sparse.

A network stores a dense table as an array and a sparse one as a `SparseCpt`. `Network.table` returns a `ConditionalTable`, which
has the same methods for both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete.network.compressed_rows import CompressedRows
from naivete.variables import CLASS, Family

__all__ = ["ConditionalTable", "Cpt", "DenseConditional", "SparseConditional", "SparseCpt"]

Codes = Mapping[int, NDArray[Any]] | Sequence[NDArray[Any]]
"""The codes of each variable in some rows."""


@dataclass(frozen=True, eq=False)
class SparseCpt:
    """P(x | parents) for the configurations of the feature parents that occur in the training cases, and a default for others.

    Parameters
    ----------
    configurations : one row of parent codes for each configuration that occurs, in increasing order.  # (configuration, parent)
    rows : the distributions in those configurations, as an array or compressed.  # (configuration, x, class)
    default : the distributions in every other configuration, or the sparse table of fewer parents that has them.  # (x, class)
    parents : the feature parents, increasing, one for each column of `configurations`.

    Where the class is no parent the last axis has length one; the class itself may be x.
    """

    configurations: NDArray[np.int32]
    rows: Numbers | CompressedRows
    default: Numbers | SparseCpt
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        for array in (self.configurations, self.rows, self.default):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def at(self, configurations: NDArray[Any]) -> Numbers:
        """Return the distributions in some configurations of the parents.  # (row, x, class)"""
        positions = self._positions(configurations)
        if isinstance(self.rows, CompressedRows):
            tables, present = np.array(self._default_at(configurations)), positions >= 0
            tables[present] = self.rows.full(positions[present], tables[present])
            return tables
        absent = np.flatnonzero(positions < 0)
        tables = self.rows[positions] if len(self.rows) else np.empty((len(positions), *self.rows.shape[1:]))
        tables[absent] = self._default_at(configurations[absent])
        return tables

    def _default_at(self, configurations: NDArray[Any]) -> Numbers:
        """Return the distributions that some configurations of the parents have if they do not occur.  # (row, x, class)"""
        if isinstance(self.default, SparseCpt):
            return self.default.at(configurations[:, self._kept])
        return np.broadcast_to(self.default, (len(configurations), *self.default.shape))

    @property
    def _kept(self) -> list[int]:
        """The columns of the parents that the default table has."""
        assert isinstance(self.default, SparseCpt)
        return [self.parents.index(p) for p in self.default.parents]

    def probability(self, configurations: NDArray[Any], states: NDArray[Any]) -> Numbers:
        """Return the probabilities of some states of x, each in one configuration of the parents.  # (row, class)"""
        positions = self._positions(configurations)
        if isinstance(self.default, SparseCpt):
            result = self.default.probability(configurations[:, self._kept], states)
        else:
            result = self.default[states]
        present = np.flatnonzero(positions >= 0)
        at, some = positions[present], states[present]
        rows = self.rows
        result[present] = rows.probability(at, some, result[present]) if isinstance(rows, CompressedRows) else rows[at, some]
        return result

    @property
    def levels(self) -> tuple[list[SparseCpt], Numbers]:
        """This table and the sparse tables it falls back on, one after the other, and the array at the end."""
        tables: list[SparseCpt] = []
        level: Numbers | SparseCpt = self
        while isinstance(level, SparseCpt):
            tables.append(level)
            level = level.default
        return tables, level

    @cached_property
    def _index(self) -> list[tuple[range, Integers, Integers]]:
        """Stages of the search: some columns, their radices, and the sorted keys of (group so far, these columns)."""
        cards = self.configurations.max(axis=0, initial=0).astype(np.int64) + 1
        stages, start = [], 0
        group = np.zeros(len(self.configurations), np.int64)
        while start < len(cards):
            stop, room = start, (1 << 62) // max(1, len(self.configurations))
            while stop < len(cards) and cards[stop] <= room:
                room //= int(cards[stop])
                stop += 1
            columns = range(start, max(stop, start + 1))
            keys, group = np.unique(_keys(group, self.configurations, columns, cards), return_inverse=True)
            stages.append((columns, cards, keys))
            start = columns.stop
        return stages

    def _positions(self, configurations: NDArray[Any]) -> Integers:
        """Return the position of each configuration, -1 where it does not occur."""
        group = np.zeros(len(configurations), np.int64)
        for columns, cards, keys in self._index:
            in_range = (group >= 0) & np.all(configurations[:, columns] < cards[columns], axis=1)
            wanted = np.where(in_range, _keys(group, configurations, columns, cards), -1)
            nearest = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            group = np.where(in_range & (keys[nearest] == wanted), nearest, -1) if len(keys) else np.full(len(wanted), -1)
        return group


def _keys(group: Integers, configurations: NDArray[Any], columns: range, cards: Integers) -> Integers:
    key = group
    for column in columns:
        key = key * cards[column] + configurations[:, column]
    return key


Cpt = Numbers | SparseCpt
"""A conditional table as stored: an array with one axis for each member of the family in increasing order, or a sparse table."""


@dataclass(frozen=True, eq=False)
class ConditionalTable(ABC):
    """P(x | parents).

    Parameters
    ----------
    variable : the variable x.
    members : the family of x, in increasing order, the class last.
    """

    variable: int
    members: Family

    @property
    def parents(self) -> tuple[int, ...]:
        """The feature parents, increasing."""
        return tuple(m for m in self.members if m not in (self.variable, CLASS))

    @property
    def given_class(self) -> bool:
        """Whether the class is a parent."""
        return self.members[-1] == CLASS != self.variable

    def configurations(self, codes: Codes, rows: int) -> Integers:
        """Return the codes of the feature parents in some rows.  # (row, parent)"""
        columns = [np.asarray(codes[p]).astype(np.int64) for p in self.parents]
        return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int64)

    @abstractmethod
    def arrays(self) -> Iterator[Numbers]:
        """Yield the arrays that hold the probabilities."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of probabilities, stored one by one or not."""

    @property
    def has_zeros(self) -> bool:
        """Whether a probability is zero."""
        return not all(array.all() for array in self.arrays())

    @property
    @abstractmethod
    def smallest_positive(self) -> float:
        """A positive number that is at most the smallest probability above zero."""

    @abstractmethod
    def at(self, configurations: Integers) -> Numbers:
        """Return the distributions of x in configurations of the feature parents.  # (row, x, class)

        The last axis has length one where the class is no parent.
        """

    @abstractmethod
    def probability(self, codes: Codes, rows: int) -> Numbers:
        """Return P(x | parents) of the codes of some rows, for each class if it is a parent or x itself.  # (row, class or 1)"""

    @abstractmethod
    def contexts(self, codes: Codes, rows: int) -> tuple[Numbers, Integers]:
        """Return distributions of x, and for each row the position of its own among them.  # (context, x), (row)

        Parameters
        ----------
        codes : the codes of all parents, the class included.
        rows : the number of rows.
        """

    @abstractmethod
    def full(self, cards: Sequence[int]) -> Numbers:
        """Return the array with an axis for each member of the family, whose numbers of states are `cards`."""

    @abstractmethod
    def renumbered(self, positions: Mapping[int, int]) -> Cpt:
        """Return the table for a network in which the variables have other positions, in the same order."""

    @abstractmethod
    def distributions(self) -> Iterator[tuple[dict[int, int], Numbers]]:
        """Yield the codes of the parents, and the distribution of x, one after the other.

        A sparse table yields the configurations that occur, then those of the tables it falls back on, in which the codes of the
        parents that are left out are missing.
        """


@dataclass(frozen=True, eq=False)
class DenseConditional(ConditionalTable):
    """P(x | parents) for all configurations of the parents.

    Parameters
    ----------
    array : the probabilities, with an axis for each member of the family.
    """

    array: Numbers

    @cached_property
    def _rows(self) -> Numbers:
        """The distributions.  # (*feature parents, x, class)"""
        moved = np.moveaxis(self.array, self.members.index(self.variable), len(self.parents))
        return moved if self.given_class else moved[..., None]

    def arrays(self) -> Iterator[Numbers]:
        """Yield the array."""
        yield self.array

    @property
    def size(self) -> int:
        """The number of probabilities."""
        return self.array.size

    @property
    def smallest_positive(self) -> float:
        """The smallest probability above zero."""
        return _smallest_positive(self.array)

    def at(self, configurations: Integers) -> Numbers:
        """Return the distributions of x in configurations of the feature parents.  # (row, x, class)"""
        return self._rows[tuple(configurations.T)] if self.parents else np.repeat(self._rows[None], len(configurations), axis=0)

    def probability(self, codes: Codes, rows: int) -> Numbers:
        """Return P(x | parents) of the codes of some rows, for each class if it is a parent or x itself.  # (row, class or 1)"""
        if self.variable == CLASS:
            return self.at(self.configurations(codes, rows))[..., 0]
        return np.asarray(self._rows[tuple(np.asarray(codes[m]).astype(np.int64) for m in (*self.parents, self.variable))])

    def contexts(self, codes: Codes, rows: int) -> tuple[Numbers, Integers]:
        """Return all distributions of x, and for each row the position of its own among them.  # (context, x), (row)"""
        table = np.moveaxis(self.array, self.members.index(self.variable), -1)
        context = np.zeros(rows, np.int64)
        for m, card in zip((m for m in self.members if m != self.variable), table.shape, strict=False):
            context = context * card + codes[m]
        return table.reshape(-1, table.shape[-1]), context

    def full(self, cards: Sequence[int]) -> Numbers:  # noqa: ARG002
        """Return the array."""
        return self.array

    def renumbered(self, positions: Mapping[int, int]) -> Cpt:  # noqa: ARG002
        """Return the array, which does not depend on positions."""
        return self.array

    def distributions(self) -> Iterator[tuple[dict[int, int], Numbers]]:
        """Yield the codes of the parents, and the distribution of x, one after the other."""
        others = [m for m in self.members if m != self.variable]
        table = np.moveaxis(self.array, self.members.index(self.variable), -1)
        for codes in np.ndindex(*table.shape[:-1]):
            yield dict(zip(others, codes, strict=True)), table[codes]


@dataclass(frozen=True, eq=False)
class SparseConditional(ConditionalTable):
    """P(x | parents) for the configurations of the feature parents that occur, with a default for others.

    Parameters
    ----------
    cpt : the probabilities.
    """

    cpt: SparseCpt

    @property
    def size(self) -> int:
        """The number of probabilities in the configurations that occur, and of the default."""
        levels, last = self.cpt.levels
        return (1 + sum(len(level.configurations) for level in levels)) * last.size

    @property
    def smallest_positive(self) -> float:
        """A positive number that is at most the smallest probability above zero."""
        levels, last = self.cpt.levels
        smallest = _smallest_positive(last)
        for level in reversed(levels):
            if isinstance(level.rows, CompressedRows):
                smallest = min(_smallest_positive(level.rows.values), _smallest_positive(level.rows.factors) * smallest)
            else:
                smallest = min(_smallest_positive(level.rows), smallest)
        return smallest

    def arrays(self) -> Iterator[Numbers]:
        """Yield the distributions in the configurations that occur, or the numbers that give them, then the default."""
        levels, last = self.cpt.levels
        for level in levels:
            rows = level.rows
            yield from (
                part for part in ((rows.values, rows.factors) if isinstance(rows, CompressedRows) else (rows,)) if part.size
            )
        yield last

    def at(self, configurations: Integers) -> Numbers:
        """Return the distributions of x in configurations of the feature parents.  # (row, x, class)"""
        return self.cpt.at(configurations)

    def probability(self, codes: Codes, rows: int) -> Numbers:
        """Return P(x | parents) of the codes of some rows, for each class if it is a parent or x itself.  # (row, class or 1)"""
        configurations = self.configurations(codes, rows)
        if self.variable == CLASS:
            return self.cpt.at(configurations)[..., 0]
        return self.cpt.probability(configurations, np.asarray(codes[self.variable]).astype(np.int64))

    def contexts(self, codes: Codes, rows: int) -> tuple[Numbers, Integers]:
        """Return the distributions of x that the rows need, and for each row the position of its own among them."""
        distinct, context = np.unique(self.configurations(codes, rows), axis=0, return_inverse=True)
        tables = np.moveaxis(self.cpt.at(distinct), 1, 2)  # (configuration, class, x)
        position = context.ravel() * tables.shape[1] + (codes[CLASS] if self.given_class else 0)
        return tables.reshape(-1, tables.shape[-1]), position

    def full(self, cards: Sequence[int]) -> Numbers:
        """Return the array with an axis for each member of the family, whose numbers of states are `cards`."""
        axis, count = self.members.index(self.variable), len(self.parents)
        parent_cards = [card for m, card in zip(self.members, cards, strict=True) if m in self.parents]
        rows = self.cpt.at(np.indices(parent_cards).reshape(count, prod(parent_cards)).T)  # (configuration, x, class)
        return np.moveaxis(rows.reshape(*parent_cards, cards[axis], *cards[count + 1 :]), count, axis)

    def renumbered(self, positions: Mapping[int, int]) -> Cpt:
        """Return the table for a network in which the variables have other positions, in the same order."""
        levels, cpt = self.cpt.levels
        result: Cpt = cpt
        for level in reversed(levels):
            result = SparseCpt(level.configurations, level.rows, result, tuple(positions[p] for p in level.parents))
        return result

    def distributions(self) -> Iterator[tuple[dict[int, int], Numbers]]:
        """Yield the codes of the parents, and the distribution of x, one after the other."""
        levels, last = self.cpt.levels
        for level in levels:
            rows_of = level.rows
            one_by_one = (level.at(row[None])[0] for row in level.configurations)
            tables = one_by_one if isinstance(rows_of, CompressedRows) else rows_of
            for configuration, rows in zip(level.configurations.tolist(), tables, strict=True):
                yield from self._by_class(dict(zip(level.parents, configuration, strict=True)), rows)
        yield from self._by_class({}, last)

    def _by_class(self, codes: dict[int, int], rows: Numbers) -> Iterator[tuple[dict[int, int], Numbers]]:
        for c in range(rows.shape[1]):
            yield {**codes, CLASS: c} if self.given_class else codes, rows[:, c]


def _smallest_positive(array: Numbers) -> float:
    smallest = float(array.min(initial=1))
    return smallest if smallest > 0 else float(array[array > 0].min(initial=1))
