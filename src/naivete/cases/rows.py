"""Rows of values, wherever they are, and the cases they become under a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.cases.base import Block
from naivete.data.labelled import LabelledTable
from naivete.encoding.encoder import Encoder, encode
from naivete.encoding.value_counts import ValueCounts
from naivete.errors import DataError, ResourceError, close_matches, quoted
from naivete.variables import CLASS, Variables

__all__ = ["BatchRows", "EncodedCases", "Rows", "count_row_values"]

T = TypeVar("T")

BUDGET = 2 << 30
"""The most bytes of tallies, unless something else is said."""


class Rows(Protocol):
    """Labelled rows of values that can be gone through part by part, as often as asked. A back end is this and nothing else."""

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """The function's value for every part, in the order of the rows."""

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all parts, merged; `merge` must be associative and commutative."""


@dataclass(frozen=True, eq=False)
class BatchRows:
    """Rows kept in memory as the batches they came in; None where only their sums were kept."""

    batches: tuple[LabelledTable, ...] | None

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """The function's value for every batch."""
        if self.batches is None:
            raise DataError(
                "a column has so many distinct numbers that its cut points need the rows, of which only sums were kept; cut it "
                "by mdl or EqualFrequency, or learn from all rows by fit"
            )
        return map(function, self.batches)

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all batches, merged."""
        return reduce(merge, self.map(function))


@dataclass(frozen=True, eq=False)
class EncodedCases:
    """Rows of any back end as cases: every part is encoded by the schema when its turn comes.

    Parameters
    ----------
    rows : the rows.
    variables : the schema, the class last.
    gaps : which features have missing values.
    unseen : what a value that the schema does not have gets, as for `Encoder`.
    """

    rows: Rows
    variables: Variables
    gaps: NDArray[np.bool_]
    unseen: str = "marginalise"

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """The function's value for every block, in the order of the rows."""
        return self.rows.map(_Encoded(function, self.variables, self.unseen))

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all blocks, merged."""
        return self.rows.fold(_Encoded(function, self.variables, self.unseen), merge)


@dataclass(frozen=True, eq=False)
class _Encoded(Generic[T]):
    """A function of codes as one of values; an object and not a closure, so that it can travel to other machines."""

    function: Callable[[Block], T]
    variables: Variables
    unseen: str

    def __call__(self, part: LabelledTable) -> T:
        codes = encode(part.features, self.variables[:CLASS], unseen=self.unseen).codes
        return self.function(Block((*codes, self._labels(part)), part.weight))

    def _labels(self, part: LabelledTable) -> NDArray[Any]:
        """The labels by their position among the classes of the schema."""
        classes = self.variables[CLASS].states
        position = {label: code for code, label in enumerate(classes)}
        at = [position.get(label, -1) for label in part.classes.tolist()]
        if -1 in at:
            row = int(np.argmax(part.labels == at.index(-1)))
            label = part.classes.tolist()[at.index(-1)]
            close = close_matches(label, classes)
            raise DataError(
                f"{part.features.place(row)}: column {quoted(part.target)}: {quoted(label)} is not a known class"
                + (f" (nearest: {', '.join(map(repr, close))})" if close else "")
                + "; correct it, or learn from all rows without a given schema"
            )
        return np.array(at, narrowest(len(classes)))[part.labels] if at else part.labels.astype(narrowest(len(classes)))


@dataclass(frozen=True)
class _Tallied:
    """The tallies of one part of the rows, refused where they need more bytes than this."""

    encoder: Encoder
    budget: int

    def __call__(self, part: LabelledTable) -> ValueCounts:
        labels = part.labels.astype(narrowest(len(part.classes)))
        tallies = self.encoder.tallied(part.features, labels, part.classes.tolist(), part.weight)
        return _fitting(replace(tallies, dropped=part.dropped), self.budget)


@dataclass(frozen=True)
class _Merged:
    """Tallies merged as long as they fit into their bytes."""

    budget: int

    def __call__(self, one: ValueCounts, two: ValueCounts) -> ValueCounts:
        return _fitting(one.merged(two), self.budget)


def _fitting(tallies: ValueCounts, budget: int) -> ValueCounts:
    """The tallies, refused where they are too large, with the column that has most values."""
    if tallies.size <= budget:
        return tallies
    worst = max(tallies.columns, key=lambda tally: len(tally.values))
    raise ResourceError(
        f"column {quoted(worst.name)} has {len(worst.values):,} distinct values so far, and telling those of all columns apart "
        f"takes about {tallies.size:,} bytes of {budget:,}; leave it out (`ignore=`), declare it numeric (`kinds=`) if it is "
        "a quantity, or allow more (`memory=`, `budget=`)"
    )


def count_row_values(rows: Rows, encoder: Encoder, budget: int = BUDGET) -> ValueCounts:
    """The tallies of all rows, in one pass; refused where there are none, and where they need more bytes than this."""
    tallies: ValueCounts | None = rows.fold(_Tallied(encoder, budget), _Merged(budget))
    if tallies is None or not tallies.rows:
        raise DataError("the cases have no row with a class and a weight above zero; there is nothing to learn from")
    return tallies
