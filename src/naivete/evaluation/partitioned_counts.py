"""Rows divided into parts and counted once, so that the counts of every training set are sums or differences.

All rows are counted with their part, the fold of a cross-validation or the step of a learning curve, joined to the class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.cases import Block, MemoryCases
from naivete.counts.counts import BUDGET, Counts
from naivete.counts.pairs import Pairs
from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.data.labels import class_name
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.encoding.feature_tables import FeatureTables
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts, state_key
from naivete.evaluation.fold_information import dependences, relevances
from naivete.variables import CLASS, Family, Variable

__all__ = ["Parts", "all_but_one", "up_to"]

Training = Callable[[NDArray[Any]], NDArray[Any]]
"""From the counts of the parts to those of the training sets, along the last axis."""

SHARED_ROWS = 4
"""A table is counted for all parts together while it has at most this many cells for each row."""
SHARED_PAIRS = 1 << 23
"""The most cells that the tables of all pairs may have together to be kept for all training sets."""
FEW_ROWS = 1 << 14
"""Up to this many rows a family is counted by itself; a kernel counts many at once, but takes its time to begin."""
LARGEST = 2.0**32
"""Weights below this have one limb, so that sums of them stay integers whatever is taken away."""


def all_but_one(parts: NDArray[Any]) -> NDArray[Any]:
    """Training sets of cross-validation: all parts but one.

    >>> all_but_one(np.array([1, 2, 4]))
    array([6, 5, 3])
    """
    return np.asarray(parts.sum(axis=-1, keepdims=True) - parts)


def up_to(parts: NDArray[Any]) -> NDArray[Any]:
    """Training sets of a learning curve: each has one part more.

    >>> up_to(np.array([1, 2, 4]))
    array([1, 3, 7])
    """
    return np.asarray(parts.cumsum(axis=-1))


class Parts:
    """Rows divided into parts, counted once; `of` refuses, with None, what has to be counted honestly.

    Parameters
    ----------
    cases : the cases, in the order of their parts; weights, where there are any, are whole numbers.
    part : the part of every row.
    count : how many parts there are, and training sets.
    training : which parts the training sets have: `all_but_one` or `up_to`.
    encoder : how columns become states.
    budget : the most bytes that the tables of a model may take.
    """

    def __init__(
        self, cases: LabelledTable, part: NDArray[np.int64], count: int, training: Training, encoder: Encoder, budget: int
    ) -> None:
        self.cases, self.part, self.count, self.training = cases, part, count, training
        self.encoder, self.budget = encoder, budget
        self.target = class_name(None, cases.features.names)
        self.classes = len(cases.classes)
        labels = cases.labels.astype(np.int64) * count + part
        self.labels = labels.astype(narrowest(self.classes * count))
        self.tallies = encoder.value_counts(cases.features, self.labels, range(self.classes * count), cases.weight)
        self._tables: dict[Family, NDArray[Any]] = {}
        self._addresses: dict[tuple[int, ...], NDArray[np.int64]] = {}

    @classmethod
    def of(
        cls,
        cases: LabelledTable,
        part: NDArray[np.int64],
        count: int,
        training: Training = all_but_one,
        *,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> Parts | None:
        """The parts, or None where sums of their counts would not be those of honest counting, or no cheaper."""
        if isinstance(cases.features, SparseMatrix) or not cases.features.columns or not _whole(cases.weight):
            return None
        if not _affordable(cases, count, budget):
            return None
        order = np.argsort(part, kind="stable")[np.count_nonzero(part < 0) :]
        if not len(order):
            return None
        cases, part = cases.take(order), part[order]
        parts = cls(cases, part, count, training, encoder or Encoder(), budget)
        fits = all(len(classes) for classes in parts.class_sets) and not any(t.level for t in parts.tallies.columns)
        return parts if fits and all(map(_alike, parts.variables)) else None

    @cached_property
    def class_sets(self) -> list[NDArray[np.int64]]:
        """The classes that occur in each training set, as positions among all."""
        return [np.flatnonzero(own) for own in self._trained(self.tallies.weights[0]).T]

    @cached_property
    def rows(self) -> list[int]:
        """How many rows each training set has."""
        return list(self.training(np.bincount(self.part, minlength=self.count)).tolist())

    @cached_property
    def _gaps(self) -> NDArray[Any]:
        missing = np.stack([tally.missing[0] for tally in self.tallies.columns])
        return missing.reshape(len(missing), self.classes, self.count)

    @cached_property
    def gaps(self) -> NDArray[np.bool_]:
        """Which features have missing values in which training set.  # (feature, training set)"""
        return np.asarray(self.training(self._gaps).any(axis=1))

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which features have missing values in which part.  # (feature, part)"""
        return np.asarray(self._gaps.any(axis=1))

    @cached_property
    def variables(self) -> list[list[Variable]]:
        """Every feature as each training set has it."""
        return [self._each(tally, gaps) for tally, gaps in zip(self.tallies.columns, self.gaps, strict=True)]

    @cached_property
    def unsteady(self) -> list[int]:
        """The features that are not the same variable in all training sets."""
        return [x for x, own in enumerate(self.variables) if any(v is not self.shared.variables[x] for v in own)]

    @cached_property
    def shared(self) -> Counts:
        """The counts of all rows; the class has the part."""
        features = tuple(map(_joined, self.variables))
        encoded = encode(self.cases.features, features, unseen=self.encoder.unseen)
        variables = (*features, Variable(self.target, tuple(range(self.classes * self.count))))
        block = Block((*encoded.codes, self.labels), self.cases.weight)
        return Counts(MemoryCases(variables, block, encoded.gaps), budget=self.budget, known=FeatureTables(self.tallies, features))

    @cached_property
    def pairs(self) -> list[tuple[Pairs, NDArray[Any]]] | None:
        """All pairs with the tables of all training sets, or None where these are too large.  # (training set, ...)"""
        cards = sorted(self.shared.cards(self.shared.features))
        if sum(cards) ** 2 * self.classes * self.count > SHARED_PAIRS or not self._fits(cards[-2:]):
            return None
        every = self.shared.pairs()  # none of tables that fit is mostly empty, and so given by what occurs
        return [(p, self._split(p.tables)) for p in every if isinstance(p, Pairs)]

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """The weight of each training set."""
        return np.asarray(self._trained(self.tallies.weights[0]).sum(axis=0))

    @cached_property
    def margins(self) -> list[NDArray[Any]] | None:
        """The tables of the features with the class, or None where one is too large.  # (training set, state, class)"""
        wanted = [(x, CLASS) for x in self.shared.features]
        found = self.tables(wanted)
        return [found[f] for f in wanted] if len(found) == len(wanted) else None

    @cached_property
    def relevances(self) -> NDArray[np.float64] | None:
        """I(X; C) of every feature in every training set, by the shared variables; None where tables are too large."""
        return None if self.margins is None else relevances(self.margins, self.totals)

    @cached_property
    def dependences(self) -> NDArray[np.float64] | None:
        """I(X; Y | C) of every pair in every training set, by the shared variables; None where tables are too large."""
        if self.margins is None or self.pairs is None:
            return None
        return dependences(self.pairs, self.margins, self._trained(self.tallies.weights[0]).T, self.totals)

    def _each(self, tally: ColumnCounts, gaps: NDArray[np.bool_]) -> list[Variable]:
        """The variable of one column in each training set; made once where no training set lacks anything."""
        weights = self._trained(tally.weights[0])  # (value, class, training set)
        there, rows = weights.any(axis=1), len(self.cases)
        if self.encoder._states(tally) is not None and there.all() and gaps.all() == gaps.any():
            return list(self._schema(tally, rows)) * self.count
        missing = self._trained(tally.missing[0])
        found: list[Variable] = []
        for at, classes in enumerate(self.class_sets):
            own = replace(tally, weights={0: weights[:, classes, at]}, missing={0: missing[classes, at]})
            found += self._schema(own.trimmed(), self.rows[at])
        return found

    def _schema(self, tally: ColumnCounts, rows: int) -> tuple[Variable, ...]:
        return self.encoder.schema(ValueCounts((), {}, (tally,), rows))

    def _trained(self, table: NDArray[Any]) -> NDArray[Any]:
        """Counts by class and training set from counts by class and part.  # (..., class, training set)"""
        return self.training(table.reshape(*table.shape[:-1], self.classes, self.count))

    def _split(self, table: NDArray[Any]) -> NDArray[Any]:
        """The tables of all training sets, one after the other.  # (training set, ..., class)"""
        return np.ascontiguousarray(np.moveaxis(self._trained(table.astype(np.int64, copy=False)), -1, 0))

    def _fits(self, cards: Sequence[int]) -> bool:
        cells = math.prod(cards) * self.classes * self.count
        return cells <= max(1 << 12, SHARED_ROWS * len(self.cases)) and 8 * cells <= self.budget // 4

    def tables(self, families: Iterable[Family]) -> dict[Family, NDArray[Any]]:
        """The tables of all training sets of those families, all with the class, that are small enough."""
        wanted = list(families)
        new = [f for f in wanted if f not in self._tables and not self._recalled(f) and self._fits(self.shared.cards(f[:-1]))]
        slow = []
        for f in new:
            quick = self._quickly(f) if len(f) > 2 else None
            if quick is None:
                slow.append(f)
            else:
                self._tables[f] = self._split(quick)
        for f, table in self.shared.tables(slow).items() if slow else ():
            self._tables[f] = self._split(table.full())
        return {f: self._tables[f] for f in wanted if f in self._tables}

    def _quickly(self, f: Family) -> NDArray[np.int64] | None:
        """The table of a family by part, where there are so few rows that they are counted before a kernel has begun."""
        if len(self.cases) > FEW_ROWS or self.cases.weight is not None or self.shared.cases.gaps[list(f[:-1])].any():
            return None
        cards = self.shared.cards(f)
        cells = self.address(f[:-1]) * cards[-1] + self.labels.astype(np.int64)
        return np.bincount(cells, minlength=math.prod(cards)).reshape(cards)

    def address(self, features: tuple[int, ...]) -> NDArray[np.int64]:
        """The cell of every row in a table of these features; outside of it where a value is missing."""
        found = self._addresses.get(features)
        if found is None:
            found = self._codes[features[0]]
            for x, card in zip(features[1:], self.shared.cards(features[1:]), strict=True):
                found = found * card + self._codes[x]
            self._addresses[features] = found
        return found

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The codes of all features.  # (feature, row)"""
        block: Block = self.shared.cases.block  # type: ignore[attr-defined]
        return np.stack(list(block.codes[:CLASS])).astype(np.int64)

    def _recalled(self, f: Family) -> bool:
        """Keep the tables of a pair of features that were counted with all pairs; whether they were."""
        if len(f) != 3 or not self.__dict__.get("pairs"):
            return False
        for first, second, tables in self._pair_places:
            for x, y in (f[:2], f[1::-1]):
                if x in first and y in second and (x < y or x not in second):
                    own = tables[:, first[x], second[y]]
                    self._tables[f] = np.ascontiguousarray(own if x < y else own.swapaxes(1, 2))
                    return True
        return False

    @cached_property
    def _pair_places(self) -> list[tuple[dict[int, int], dict[int, int], NDArray[Any]]]:
        """Where the features of all pairs are among the tables of these."""
        return [
            (*({x: i for i, x in enumerate(own.tolist())} for own in (pairs.first, pairs.second)), tables)  # type: ignore[misc]
            for pairs, tables in self.pairs or ()
        ]


def _whole(weight: NDArray[np.float64] | None) -> bool:
    """Whether weights are whole numbers above zero that have a single limb."""
    return weight is None or bool(np.all((weight == np.floor(weight)) & (weight > 0) & (weight < LARGEST)))


def _affordable(cases: LabelledTable, count: int, budget: int) -> bool:
    """Whether the tallies of all columns, by class and part, take at most a quarter of the budget."""
    numbers = min(len(cases), CELLS)
    values = sum(numbers if c.states is None and c.kind != "nominal" else len(c.states or c.values) for c in cases.features.columns)
    return 8 * values * len(cases.classes) * count <= budget // 4


def _alike(own: Sequence[Variable]) -> bool:
    """Whether all training sets see the column as one kind, and in all of them it has a value."""
    return len({v.numeric for v in own}) == 1 and all(v.known for v in own)


def _joined(own: Sequence[Variable]) -> Variable:
    """A variable that can tell apart whatever one of these can."""
    first = own[0]
    if all(variable is first or variable == first for variable in own):
        return first
    missing, other = any(v.missing for v in own), any(v.other for v in own)
    if first.numeric:
        cuts = sorted({cut for v in own for cut in v.cuts or ()})
        return Variable(first.name, cuts=tuple(cuts), missing=missing, other=other)
    states = {state_key(s): s for v in own for s in v.states}
    return Variable(first.name, tuple(states.values()), missing=missing, other=other)
