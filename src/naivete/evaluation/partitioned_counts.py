"""Counts of rows that are divided into parts: counted once, the counts of each training set are sums or differences of them.

The part of a row, which is the fold of a cross-validation or the step of a learning curve, is joined with its class into one
variable, so that a single pass counts all parts.
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
from naivete.counts.budget import BUDGET
from naivete.counts.counts import Counts
from naivete.counts.pairs import Pairs
from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.data.labels import class_name
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.encoding.feature_tables import FeatureTables
from naivete.encoding.value_counts import CELLS, ColumnCounts, ValueCounts
from naivete.evaluation.fold_information import dependences, relevances
from naivete.variables import CLASS, Family, Variable, state_key

__all__ = ["PartitionedCounts", "all_but_one", "up_to"]

Training = Callable[[NDArray[Any]], NDArray[Any]]
"""Returns the counts of the training sets from those of the parts, along the last axis."""

SHARED_ROWS = 4
"""A table is counted for all parts together if it has at most this many cells per row."""
SHARED_PAIRS = 1 << 23
"""The tables of all pairs are kept for all training sets if they have at most this many cells together."""
FEW_ROWS = 1 << 14
"""Up to this many rows a family is counted with `np.bincount`, which has less overhead than the kernel."""
LARGEST = 2.0**32
"""Whole weights below this are added as single integers, so that differences of their sums are exact too."""


def all_but_one(parts: NDArray[Any]) -> NDArray[Any]:
    """Return the counts of the training sets of cross-validation: all parts but one.

    >>> all_but_one(np.array([1, 2, 4]))
    array([6, 5, 3])
    """
    return np.asarray(parts.sum(axis=-1, keepdims=True) - parts)


def up_to(parts: NDArray[Any]) -> NDArray[Any]:
    """Return the counts of the training sets of a learning curve: each has one part more than the one before.

    >>> up_to(np.array([1, 2, 4]))
    array([1, 3, 7])
    """
    return np.asarray(parts.cumsum(axis=-1))


class PartitionedCounts:
    """Rows that are divided into parts and counted once. Make it with `of`, which checks that this gives exact results.

    Parameters
    ----------
    cases : the cases, in the order of their parts; weights, where there are any, are whole numbers.
    part : the part of each row.
    count : the number of parts, which is also the number of training sets.
    training : how the training sets are made of the parts: `all_but_one` or `up_to`.
    encoder : how columns become states or intervals.
    budget : the maximal number of bytes of the tables of a model.
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
        self.value_counts = encoder.value_counts(cases.features, self.labels, range(self.classes * count), cases.weight)
        self._tables: dict[Family, NDArray[Any]] = {}
        self._cells: dict[tuple[int, ...], NDArray[np.int64]] = {}

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
    ) -> PartitionedCounts | None:
        """Return the partitioned counts, or None where the training sets have to be counted one by one.

        That is so where sums and differences would not be exact, where columns have other types in some training sets, and
        where the counts of all parts would take too much memory. Rows with a negative part are left out.
        """
        if isinstance(cases.features, SparseMatrix) or not cases.features.columns or not _whole(cases.weight):
            return None
        if not _affordable(cases, count, budget):
            return None
        order = np.argsort(part, kind="stable")[np.count_nonzero(part < 0) :]
        if not len(order):
            return None
        cases, part = cases.take(order), part[order]
        parts = cls(cases, part, count, training, encoder or Encoder(), budget)
        exact = all(len(classes) for classes in parts.class_sets) and not any(c.level for c in parts.value_counts.columns)
        return parts if exact and all(map(_same_kind, parts.variables)) else None

    @cached_property
    def class_sets(self) -> list[NDArray[np.int64]]:
        """The classes that occur in each training set, as positions among all classes."""
        return [np.flatnonzero(weights) for weights in self._by_training_set(self.value_counts.weights[0]).T]

    @cached_property
    def rows(self) -> list[int]:
        """The number of rows of each training set."""
        return list(self.training(np.bincount(self.part, minlength=self.count)).tolist())

    @cached_property
    def _missing_counts(self) -> NDArray[Any]:
        """The weight of the missing values.  # (feature, class, part)"""
        missing = np.stack([column.missing[0] for column in self.value_counts.columns])
        return missing.reshape(len(missing), self.classes, self.count)

    @cached_property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values in which training set.  # (feature, training set)"""
        return np.asarray(self.training(self._missing_counts).any(axis=1))

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which features have missing values in which part.  # (feature, part)"""
        return np.asarray(self._missing_counts.any(axis=1))

    @cached_property
    def variables(self) -> list[list[Variable]]:
        """The variable of each feature in each training set.  # (feature, training set)"""
        return [
            self._column_variables(column, has_missing)
            for column, has_missing in zip(self.value_counts.columns, self.has_missing, strict=True)
        ]

    @cached_property
    def varying(self) -> list[int]:
        """The features that are not the same variable in all training sets."""
        return [x for x, row in enumerate(self.variables) if any(v is not self.shared.variables[x] for v in row)]

    @cached_property
    def shared(self) -> Counts:
        """The counts of all rows, with the class and the part as one variable; features distinguish what any training set does."""
        features = tuple(map(_common_refinement, self.variables))
        encoded = encode(self.cases.features, features, unseen=self.encoder.unseen)
        variables = (*features, Variable(self.target, tuple(range(self.classes * self.count))))
        block = Block((*encoded.codes, self.labels), self.cases.weight)
        return Counts(
            MemoryCases(variables, block, encoded.has_missing), budget=self.budget, known=FeatureTables(self.value_counts, features)
        )

    @cached_property
    def pairs(self) -> list[tuple[Pairs, NDArray[Any]]] | None:
        """The tables of all pairs of features in all training sets, or None where they are too large.  # (training set, ...)"""
        cards = sorted(self.shared.cards(self.shared.features))
        if sum(cards) ** 2 * self.classes * self.count > SHARED_PAIRS or not self._fits(cards[-2:]):
            return None
        pairs = self.shared.pairs()  # all are dense: tables that fit are never mostly empty
        return [(p, self._split(p.tables)) for p in pairs if isinstance(p, Pairs)]

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """The total weight of each training set."""
        return np.asarray(self._by_training_set(self.value_counts.weights[0]).sum(axis=0))

    @cached_property
    def margins(self) -> list[NDArray[Any]] | None:
        """The tables of the features with the class, or None where one is too large.  # (training set, state, class)"""
        families = [(x, CLASS) for x in self.shared.features]
        tables = self.tables(families)
        return [tables[f] for f in families] if len(tables) == len(families) else None

    @cached_property
    def relevances(self) -> NDArray[np.float64] | None:
        """I(X; C) of each feature of `shared` in each training set, or None where tables are too large."""
        return None if self.margins is None else relevances(self.margins, self.totals)

    @cached_property
    def dependences(self) -> NDArray[np.float64] | None:
        """I(X; Y | C) of each pair of features of `shared` in each training set, or None where tables are too large."""
        if self.margins is None or self.pairs is None:
            return None
        return dependences(self.pairs, self.margins, self._by_training_set(self.value_counts.weights[0]).T, self.totals)

    def _column_variables(self, column: ColumnCounts, has_missing: NDArray[np.bool_]) -> list[Variable]:
        """Return the variable of a column in each training set, the same one where all have the same values."""
        weights = self._by_training_set(column.weights[0])  # (value, class, training set)
        occurs = weights.any(axis=1)  # (value, training set)
        few = len(column.values) <= self.encoder.max_integer_states  # then it is not left out, however many rows there are
        if few and self.encoder.states(column) is not None and occurs.all() and has_missing.all() == has_missing.any():
            return list(self._schema(column, len(self.cases))) * self.count
        missing = self._by_training_set(column.missing[0])
        variables: list[Variable] = []
        for i, classes in enumerate(self.class_sets):
            training = replace(column, weights={0: weights[:, classes, i]}, missing={0: missing[classes, i]})
            variables += self._schema(training.trimmed(), self.rows[i])
        return variables

    def _schema(self, column: ColumnCounts, rows: int) -> tuple[Variable, ...]:
        return self.encoder.schema(ValueCounts((), {}, (column,), rows))

    def _by_training_set(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return counts by class and training set from counts by class and part.  # (..., class, training set)"""
        return self.training(table.reshape(*table.shape[:-1], self.classes, self.count))

    def _split(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the tables of all training sets from one by class and part.  # (training set, ..., class)"""
        return np.ascontiguousarray(np.moveaxis(self._by_training_set(table.astype(np.int64, copy=False)), -1, 0))

    def _fits(self, cards: Sequence[int]) -> bool:
        cells = math.prod(cards) * self.classes * self.count
        return cells <= max(1 << 12, SHARED_ROWS * len(self.cases)) and 8 * cells <= self.budget // 4

    def tables(self, families: Iterable[Family]) -> dict[Family, NDArray[Any]]:
        """Return the tables of families in all training sets, without those that are too large; all families have the class."""
        wanted = list(families)
        new = [f for f in wanted if f not in self._tables and not self._from_pairs(f) and self._fits(self.shared.cards(f[:-1]))]
        uncounted = []
        for f in new:
            table = self._bincount(f) if len(f) > 2 else None
            if table is None:
                uncounted.append(f)
            else:
                self._tables[f] = self._split(table)
        for f, counted in self.shared.tables(uncounted).items() if uncounted else ():
            self._tables[f] = self._split(counted.full())
        return {f: self._tables[f] for f in wanted if f in self._tables}

    def _bincount(self, f: Family) -> NDArray[np.int64] | None:
        """Return the table of a family by class and part, counted with `np.bincount`; None unless rows are few and complete."""
        if len(self.cases) > FEW_ROWS or self.cases.weight is not None or self.shared.cases.has_missing[list(f[:-1])].any():
            return None
        cards = self.shared.cards(f)
        cells = self.cells(f[:-1]) * cards[-1] + self.labels.astype(np.int64)
        return np.bincount(cells, minlength=math.prod(cards)).reshape(cards)

    def cells(self, features: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the cell of each row in a table of these features; beyond the table where a value is missing."""
        if features not in self._cells:
            cells = self._codes[features[0]]
            for x, card in zip(features[1:], self.shared.cards(features[1:]), strict=True):
                cells = cells * card + self._codes[x]
            self._cells[features] = cells
        return self._cells[features]

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The codes of all features.  # (feature, row)"""
        block: Block = self.shared.cases.block  # type: ignore[attr-defined]
        return np.stack(list(block.codes[:CLASS])).astype(np.int64)

    def _from_pairs(self, f: Family) -> bool:
        """Keep the tables of a pair of features if all pairs have been counted; return whether they have."""
        if len(f) != 3 or not self.__dict__.get("pairs"):
            return False
        for first, second, tables in self._pair_positions:
            for x, y in (f[:2], f[1::-1]):
                if x in first and y in second and (x < y or x not in second):
                    table = tables[:, first[x], second[y]]
                    self._tables[f] = np.ascontiguousarray(table if x < y else table.swapaxes(1, 2))
                    return True
        return False

    @cached_property
    def _pair_positions(self) -> list[tuple[dict[int, int], dict[int, int], NDArray[Any]]]:
        """The positions of the features of each group of pairs on the first two axes of its tables, and the tables."""
        return [
            (*({x: i for i, x in enumerate(features.tolist())} for features in (pairs.first, pairs.second)), tables)  # type: ignore[misc]
            for pairs, tables in self.pairs or ()
        ]


def _whole(weight: NDArray[np.float64] | None) -> bool:
    """Whether weights are positive whole numbers below `LARGEST`."""
    return weight is None or bool(np.all((weight == np.floor(weight)) & (weight > 0) & (weight < LARGEST)))


def _affordable(cases: LabelledTable, count: int, budget: int) -> bool:
    """Whether the value counts of all columns, by class and part, take at most a quarter of the budget."""
    numeric = min(len(cases), CELLS)
    values = sum(numeric if c.states is None and c.kind != "nominal" else len(c.states or c.values) for c in cases.features.columns)
    return 8 * values * len(cases.classes) * count <= budget // 4


def _same_kind(variables: Sequence[Variable]) -> bool:
    """Whether a column is nominal, numeric or left out in all training sets alike, and has values in all."""
    return len({(v.numeric, v.left_out) for v in variables}) == 1 and all(v.known or v.left_out for v in variables)


def _common_refinement(variables: Sequence[Variable]) -> Variable:
    """Return a variable with the cut points, or the states, of all these variables."""
    first = variables[0]
    if all(variable is first or variable == first for variable in variables):
        return first
    missing, other = any(v.missing for v in variables), any(v.other for v in variables)
    if first.numeric:
        cuts = sorted({cut for v in variables for cut in v.cuts or ()})
        return Variable(first.name, cuts=tuple(cuts), missing=missing, other=other)
    states = {state_key(s): s for v in variables for s in v.states}
    return Variable(first.name, tuple(states.values()), missing=missing, other=other)
