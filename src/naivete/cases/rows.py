"""Labelled rows of values, the value counts of all of them, and the cases that they become under a schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.cases.base import Block
from naivete.data.labelled_table import LabelledTable
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.encoding.value_counts import ValueCounts
from naivete.errors import DataError, ResourceError, close_matches, quoted
from naivete.variables import CLASS, Variables

__all__ = ["BatchRows", "EncodeRows", "EncodedCases", "Rows", "count_row_values"]

T = TypeVar("T")

BUDGET = 2 << 30
"""Default limit of the value counts, in bytes."""


class Rows(Protocol):
    """Labelled rows of values that can be read part by part, any number of times: the interface of a back end."""

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """Return the function's value for each part, in the order of the rows."""

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all parts, merged; `merge` must be associative and commutative."""


@dataclass(frozen=True, eq=False)
class BatchRows:
    """Rows kept in memory as the batches in which they came; None where only their value counts were kept."""

    batches: tuple[LabelledTable, ...] | None

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """Return the function's value for each batch."""
        if self.batches is None:
            raise DataError(
                "a column has so many distinct numbers that its cut points need the rows, of which only value counts were kept; "
                "discretize it by mdl or EqualFrequency, or learn from all rows with fit"
            )
        return map(function, self.batches)

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all batches, merged."""
        return reduce(merge, self.map(function))


@dataclass(frozen=True, eq=False)
class EncodeRows:
    """Encodes labelled rows by a schema; an object and not a closure, so that it can be sent to other machines.

    Parameters
    ----------
    variables : the schema, the class last.
    unseen : how values that the schema does not have are encoded, as for `Encoder`.
    """

    variables: Variables
    unseen: str

    def __call__(self, part: LabelledTable) -> Block:
        """Return the codes of the rows, with their weights."""
        codes = encode(part.features, self.variables[:CLASS], unseen=self.unseen).codes
        return Block((*codes, self._labels(part)), part.weight)

    def _labels(self, part: LabelledTable) -> NDArray[Any]:
        """Return the position of each label among the classes of the schema."""
        classes = self.variables[CLASS].states
        position = {label: code for code, label in enumerate(classes)}
        codes = [position.get(label, -1) for label in part.classes.tolist()]
        if -1 in codes:
            raise self._unknown_class(part, codes.index(-1))
        dtype = narrowest(len(classes))
        return np.array(codes, dtype)[part.labels] if codes else part.labels.astype(dtype)

    def _unknown_class(self, part: LabelledTable, code: int) -> DataError:
        row, label = int(np.argmax(part.labels == code)), part.classes.tolist()[code]
        close = close_matches(label, self.variables[CLASS].states)
        return DataError(
            f"{part.features.place(row)}: column {quoted(part.target)}: {quoted(label)} is not a known class"
            + (f" (nearest: {', '.join(map(repr, close))})" if close else "")
            + "; correct it, or learn from all rows without a given schema"
        )


@dataclass(frozen=True, eq=False)
class EncodedCases:
    """Rows of any back end as cases: each part is encoded by the schema in every pass.

    Parameters
    ----------
    rows : the rows.
    variables : the schema, the class last.
    has_missing : which features have missing values.
    unseen : how values that the schema does not have are encoded, as for `Encoder`.
    """

    rows: Rows
    variables: Variables
    has_missing: NDArray[np.bool_]
    unseen: str = "marginalise"

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for each block, in the order of the rows."""
        return self.rows.map(_OfEncoded(function, EncodeRows(self.variables, self.unseen)))

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all blocks, merged."""
        return self.rows.fold(_OfEncoded(function, EncodeRows(self.variables, self.unseen)), merge)


@dataclass(frozen=True, eq=False)
class _OfEncoded(Generic[T]):
    """A function of blocks as a function of labelled tables."""

    function: Callable[[Block], T]
    encode: EncodeRows

    def __call__(self, part: LabelledTable) -> T:
        return self.function(self.encode(part))


@dataclass(frozen=True)
class _ValueCounts:
    """Counts the values of one part of the rows; raises an error if the counts need more bytes than the budget."""

    encoder: Encoder
    budget: int

    def __call__(self, part: LabelledTable) -> ValueCounts:
        labels = part.labels.astype(narrowest(len(part.classes)))
        counts = self.encoder.value_counts(part.features, labels, part.classes.tolist(), part.weight)
        return _within_budget(replace(counts, dropped=part.dropped), self.budget)


@dataclass(frozen=True)
class _Merged:
    """Merges value counts; raises an error if they need more bytes than the budget."""

    budget: int

    def __call__(self, one: ValueCounts, two: ValueCounts) -> ValueCounts:
        return _within_budget(one.merged(two), self.budget)


def _within_budget(counts: ValueCounts, budget: int) -> ValueCounts:
    """Return the value counts; raise an error that names the column with most values if they are too large."""
    if counts.size <= budget:
        return counts
    largest = max(counts.columns, key=lambda column: len(column.values))
    raise ResourceError(
        f"column {quoted(largest.name)} has {len(largest.values):,} distinct values so far, and counting those of all columns "
        f"takes about {counts.size:,} bytes of {budget:,}; leave it out (`ignore=`), declare it numeric (`kinds=`) if it is "
        "a quantity, or allow more (`memory=`, `budget=`)"
    )


def count_row_values(rows: Rows, encoder: Encoder, budget: int = BUDGET) -> ValueCounts:
    """Return the value counts of all rows, from one pass.

    Parameters
    ----------
    rows : the rows; an error is raised if there are none.
    encoder : the settings of the encoding.
    budget : the most bytes that the value counts may take.
    """
    counts: ValueCounts | None = rows.fold(_ValueCounts(encoder, budget), _Merged(budget))
    if counts is None or not counts.rows:
        raise DataError("the cases have no row with a class and a weight above zero; there is nothing to learn from")
    return counts
