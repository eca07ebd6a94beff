"""Blocks of rows of several numeric columns, small enough for the cache, and column statistics computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.dispatch import address
from naivete._kernels.threads import run_parallel

__all__ = ["extremes", "map_row_blocks", "row_major_matrix"]

T = TypeVar("T")

BLOCK_CELLS = 1 << 17
"""The number of cells of a block of rows that is processed at a time."""


def map_row_blocks(columns: Sequence[NDArray[Any]], function: Callable[[slice, Numbers], T]) -> list[T]:
    """Return the values of a function for each block of rows, in the order of the rows.

    Parameters
    ----------
    columns : numeric columns, at least one, of any stride.
    function : called with the slice of rows and the matrix of their values, which it must not modify.  # (row, column)
    """
    rows, matrix = len(columns[0]), row_major_matrix(columns)
    step = max(1, BLOCK_CELLS // len(columns))

    def value(lo: int) -> T:
        part = slice(lo, min(lo + step, rows))
        block = np.stack([column[part] for column in columns], axis=1) if matrix is None else matrix[part]
        return function(part, block.astype(np.float64, copy=False))

    return run_parallel(value, range(0, max(1, rows), step), rows * len(columns))


def row_major_matrix(columns: Sequence[NDArray[Any]]) -> NDArray[Any] | None:
    """Return the row-major matrix whose adjacent columns are given, without a copy; None if there is none.  # (row, column)"""
    first, (step,), size = columns[0], columns[0].strides, columns[0].itemsize
    if not len(first) or step < size * len(columns):
        return None
    start = address(first)
    for j, column in enumerate(columns):
        if column.dtype != first.dtype or column.strides[0] != step or address(column) != start + size * j:
            return None
    return np.lib.stride_tricks.as_strided(first, (len(first), len(columns)), (step, size), writeable=False)


def extremes(columns: Sequence[NDArray[Any]]) -> tuple[Numbers, Numbers]:
    """Return the minimum and the maximum of each column; both are nan if a value is missing, infinite if there are no rows.

    >>> [part.tolist() for part in extremes([np.array([1.0, -2.0]), np.array([3.0, np.nan])])]
    [[-2.0, nan], [1.0, nan]]
    """
    pairs = map_row_blocks(columns, lambda _, block: (block.min(axis=0, initial=np.inf), block.max(axis=0, initial=-np.inf)))
    return np.min([low for low, _ in pairs], axis=0), np.max([high for _, high in pairs], axis=0)
