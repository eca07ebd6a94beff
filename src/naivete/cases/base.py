"""Blocks of encoded rows, and the interface of all back ends of cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.cases.stored import few_ones, parts_of, row_major
from naivete.variables import Variables

__all__ = ["Block", "Cases"]

T = TypeVar("T")
Codes = Sequence[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: an array of codes for each variable, the class last, and optionally a weight for each row.

    Parameters
    ----------
    codes : sequence of ndarray
        The codes of each variable, the class last; the largest value of the integer type means missing.
    weight : ndarray of shape (n_rows,) or None, default=None
        The weight of each row; None where all are 1.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block
    >>> block = Block((np.array([0, 1, 255], np.uint8), np.array([1, 0, 1], np.uint8)))
    >>> len(block), len(block.take(np.array([0, 2])))
    (3, 2)
    """

    codes: Codes
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.codes[-1])

    def take(self, rows: NDArray[Any]) -> Block:
        """Return the block with these rows only.

        Parameters
        ----------
        rows : ndarray
            The positions of the rows, or a mask.

        Returns
        -------
        Block
            The rows.
        """
        weight = None if self.weight is None else self.weight[rows]
        return Block(tuple(column[rows] for column in self.codes), weight)

    def parts(self) -> Iterable[Block]:
        """Return the rows in parts with contiguous columns, in order: one part, or several where wide rows are transposed.

        Returns
        -------
        iterable of Block
            The parts.
        """
        matrix = row_major(self.codes[:-1])
        if matrix is None or _kernels.on_gpu(matrix.size):
            return (self,)
        return (self._transposed(matrix, lo, hi) for lo, hi in parts_of(*matrix.shape))

    def _transposed(self, matrix: NDArray[Any], lo: int, hi: int) -> Block:
        weight = None if self.weight is None else self.weight[lo:hi]
        return Block((*np.ascontiguousarray(matrix[lo:hi].T), self.codes[-1][lo:hi]), weight)

    def packed(
        self,
        features: Sequence[int],
        cards: Sequence[int],
        has_missing: Sequence[bool],
        classes: int,
        rows: NDArray[np.intp] | None = None,
    ) -> _kernels.AnyPlanes:
        """Return the bit planes of these features, with a plane "present" for those that have missing values.

        Parameters
        ----------
        features : sequence of int
            The positions of the features.
        cards : sequence of int
            The number of states of each of these features.
        has_missing : sequence of bool
            Whether each of these features has missing values.
        classes : int
            The number of classes.
        rows : ndarray or None, default=None
            The positions of the rows that count, in increasing order; all by default.

        Returns
        -------
        Planes or SparsePlanes
            The bit planes, one bit for each row.
        """
        if _kernels.on_gpu(len(self) * len(features) ** 2 // 2):
            from naivete._kernels.device_planes import device_planes

            return device_planes([self.codes[x] for x in features], cards, has_missing, self.codes[-1], classes, rows)
        if rows is not None:
            return self.take(rows).packed(features, cards, has_missing, classes)
        matrix = None if any(has_missing) else row_major(self.codes[:-1])
        plane_ones = None if matrix is None else few_ones(matrix, features, cards)
        if plane_ones is not None:
            return plane_ones.packed(self.codes[-1], classes)
        return _kernels.pack([self.codes[x] for x in features], cards, has_missing, self.codes[-1], classes)


class Cases(Protocol):
    """Encoded rows that can be processed block by block, in any order and in parallel."""

    @property
    def variables(self) -> Variables:
        """The variables, the class last."""

    @property
    def has_missing(self) -> NDArray[np.bool_]:
        """Which features have missing values; known from the pass that fixed the schema."""

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for each block, in the order of the rows."""

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all blocks, merged; `merge` must be associative and commutative."""
