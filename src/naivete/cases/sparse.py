"""Encoded rows of a sparse matrix: only the stored cells are kept, and a few rows at a time are made dense."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import missing_code, narrowest
from naivete.cases import stored
from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases
from naivete.cases.stored import PlaneOnes, SparseCodes
from naivete.data.frames import SparseMatrix
from naivete.data.table import Column, Table
from naivete.encoding.column_codes import (
    Encoded,
    encode,
    encoded_column,
    matched_columns,
    other_type_message,
    unseen_message,
    warn_unseen,
)
from naivete.errors import DataError
from naivete.variables import Name, Variable, Variables

__all__ = ["SparseBlock", "SparseCases", "encoded_cases", "encoded_parts", "sparse_codes"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Columns(Sequence[NDArray[Any]]):
    """The codes of every variable, the class last; a column is made dense when it is read."""

    cells: SparseCodes
    labels: NDArray[Any]

    def __len__(self) -> int:
        return len(self.cells.zeros) + 1

    @overload
    def __getitem__(self, key: int) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[NDArray[Any]]: ...
    def __getitem__(self, key: int | slice) -> NDArray[Any] | Sequence[NDArray[Any]]:
        if isinstance(key, slice):
            return [self[x] for x in range(*key.indices(len(self)))]
        x = range(len(self))[key]
        return self.labels if x == len(self) - 1 else self.cells.column(x)


@dataclass(frozen=True, eq=False)
class SparseBlock(Block):
    """A block of rows by their stored cells."""

    cells: SparseCodes | None = None

    @classmethod
    def of(cls, cells: SparseCodes, labels: NDArray[Any], weight: NDArray[np.float64] | None) -> SparseBlock:
        """Return the rows with their labels and weights."""
        return cls(_Columns(cells, labels), weight, cells)

    @property
    def stored(self) -> SparseCodes:
        """The stored cells."""
        assert self.cells is not None
        return self.cells

    def take(self, rows: NDArray[Any]) -> Block:
        """Return the block with these rows only."""
        weight = None if self.weight is None else self.weight[rows]
        return SparseBlock.of(self.stored.take(rows), self.codes[-1][rows], weight)

    def parts(self) -> Iterator[Block]:
        """Return the rows made dense, some at a time."""
        labels = self.codes[-1]
        for lo, hi in self.stored.bounds():
            weight = None if self.weight is None else self.weight[lo:hi]
            yield Block((*self.stored.dense(lo, hi), labels[lo:hi]), weight)

    def packed(
        self,
        features: Sequence[int],
        cards: Sequence[int],
        has_missing: Sequence[bool],
        classes: int,
        rows: NDArray[np.intp] | None = None,
    ) -> _kernels.AnyPlanes:
        """Return the bit planes of these features: as lists of ones where these are few, else as bitmaps."""
        if rows is not None:
            return self.take(rows).packed(features, cards, has_missing, classes)
        plane_ones = PlaneOnes.of(self.stored, features, cards, has_missing)
        return (
            plane_ones.packed(self.codes[-1], classes)
            if plane_ones.are_few()
            else self._bitmaps(features, cards, has_missing, classes)
        )

    def _bitmaps(self, features: Sequence[int], cards: Sequence[int], has_missing: Sequence[bool], classes: int) -> _kernels.Planes:
        """Return the bitmaps; only a few columns are dense at a time."""
        step = max(1, stored.PART_BYTES // max(1, len(self) * self.stored.codes.itemsize))
        pieces = [
            _kernels.pack([self.codes[x] for x in features[part]], cards[part], has_missing[part], self.codes[-1], classes)
            for part in (slice(lo, lo + step) for lo in range(0, len(features), step))
        ]
        if len(pieces) == 1:
            return pieces[0]
        starts = np.cumsum([0, *(piece.first[-1] for piece in pieces)])
        first = np.concatenate([[0], *(piece.first[1:] + start for piece, start in zip(pieces, starts[:-1], strict=True))])
        return _kernels.Planes(np.concatenate([piece.words for piece in pieces]), pieces[0].bounds, first, pieces[0].counts)


@dataclass(frozen=True, eq=False)
class SparseCases:
    """Rows of a sparse matrix, as one block."""

    variables: Variables
    block: SparseBlock
    has_missing: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.block)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for each part of the rows, made dense, in order."""
        return map(function, self.block.parts())

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Return the function's value for the block; there is nothing to merge."""
        return function(self.block)


def encoded_cases(
    table: Table,
    variables: Variables,
    labels: NDArray[Any],
    weight: NDArray[np.float64] | None,
    unseen: str,
    has_missing: NDArray[np.bool_] | None = None,
) -> Cases:
    """Return the rows of a table as cases in memory, those of a sparse matrix by their stored cells."""
    if isinstance(table, SparseMatrix) and not any(v.density for v in variables):
        cells = sparse_codes(table, variables[:-1], unseen=unseen)
        return SparseCases(variables, SparseBlock.of(cells, labels, weight), cells.has_missing)
    encoded = encode(table, variables[:-1], unseen=unseen, has_missing=has_missing)
    return MemoryCases(variables, Block((*encoded.codes, labels), weight), encoded.has_missing)


def encoded_parts(table: Table, variables: Sequence[Variable], *, unseen: str) -> Iterator[Encoded]:
    """Return the codes of a table: all at once, or of a sparse matrix some rows at a time."""
    if not isinstance(table, SparseMatrix) or any(v.density for v in variables):  # densities need every number
        yield encode(table, variables, unseen=unseen)
        return
    cells = sparse_codes(table, variables, unseen=unseen)
    for lo, hi in cells.bounds():
        yield Encoded(tuple(cells.dense(lo, hi)), cells.has_missing)


def sparse_codes(table: SparseMatrix, variables: Sequence[Variable], *, unseen: str) -> SparseCodes:
    """Return the codes of a sparse matrix, equal to those of `encode`; columns with equal schemas are encoded together."""
    matrix, width = _matching(table, variables), len(variables)
    dtype = narrowest(max((v.card for v in variables), default=1))
    codes, zeros = np.empty(len(matrix.data), dtype), np.zeros(width, dtype)
    stored = np.bincount(matrix.indices, minlength=width)
    unseen_counts, missing = np.zeros(width, np.int64), np.zeros(width, bool)
    for columns, cells in _columns_by_schema(variables, matrix.indices):
        variable = variables[columns[0]]
        values = np.append(matrix.data[cells], np.zeros(1, matrix.dtype))
        encoded, wrong, some_missing = encoded_column(Column(None, values), variable, smooth=unseen == "smooth")
        widened = encoded.astype(dtype)
        widened[encoded == missing_code(encoded.dtype)] = missing_code(dtype)
        codes[cells], zeros[columns] = widened[:-1], widened[-1]
        if some_missing:
            missing[matrix.indices[cells][np.isnan(values[:-1])]] = True
        if len(wrong) and wrong[-1] == len(values) - 1:  # zero itself, once for each cell that is not stored
            unseen_counts[columns] += matrix.shape[0] - stored[columns]
            wrong = wrong[:-1]
        unseen_counts += np.bincount(matrix.indices[cells][wrong], minlength=width)
    _report_unseen(table, variables, unseen_counts, unseen)
    smoothed = np.array([v.other and unseen == "smooth" for v in variables], bool)
    kept = np.array([v.missing for v in variables], bool)
    has_missing = (missing & ~kept) | ((unseen_counts > 0) & ~smoothed)
    starts, indices = matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
    return SparseCodes(starts, indices, codes, zeros, has_missing)


def _matching(table: SparseMatrix, variables: Sequence[Variable]) -> Any:
    """Return the matrix with the variables' columns, in their order."""
    wanted = [v.name for v in variables]
    if list(table.names) == wanted:
        return table.matrix
    matched_columns(table, variables[:0] if set(wanted) <= set(table.names) else variables)
    position = {name: j for j, name in enumerate(table.names)}
    matrix = table.matrix[:, [position[name] for name in wanted]].tocsr()
    matrix.sort_indices()
    return matrix


def _columns_by_schema(variables: Sequence[Variable], columns: NDArray[Any]) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Yield the columns that are encoded in the same way, with their stored cells."""
    kinds: dict[Any, int] = {}
    kind = np.array([kinds.setdefault(_schema(v), len(kinds)) for v in variables], np.int64)
    if len(kinds) <= 1:
        yield from [(np.arange(len(variables)), slice(None))] * len(kinds)
        return
    of_cell = kind[columns]
    cells, members = np.argsort(of_cell, kind="stable"), np.argsort(kind, kind="stable")
    for i in range(len(kinds)):
        stored = slice(*np.searchsorted(of_cell[cells], [i, i + 1]).tolist())
        yield members[slice(*np.searchsorted(kind[members], [i, i + 1]).tolist())], cells[stored]


def _schema(variable: Variable) -> Any:
    """Return the properties of a variable that determine the codes of values; 0 and False are different states."""
    truth = tuple(isinstance(s, bool) for s in variable.states)
    return variable.states, truth, variable.cuts, variable.missing, variable.other, variable.left_out


def _report_unseen(table: SparseMatrix, variables: Sequence[Variable], unseen_counts: NDArray[np.int64], unseen: str) -> None:
    """Warn about values that did not occur in training, or raise an error."""
    reported: dict[Name, int] = {}
    other_types: list[str] = []
    position = {name: j for j, name in enumerate(table.names)} if unseen_counts.any() else {}
    for x in np.flatnonzero(unseen_counts).tolist():
        variable = variables[x]
        column = table.columns[position[variable.name]]
        if unseen == "error":
            _, wrong, _ = encoded_column(column, variable, smooth=False)
            raise DataError(unseen_message(table, column, variable, int(wrong[0])))
        if not (variable.other and unseen == "smooth"):
            reported[variable.name] = int(unseen_counts[x])
            other_types += other_type_message(column, variable)
    warn_unseen(reported, other_types)
