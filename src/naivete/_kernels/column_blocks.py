"""Numeric columns, copied side by side for blocks of rows that fit into the cache, and their statistics in one pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import run_parallel
from naivete._kernels.codes import Numbers

__all__ = ["extremes", "map_row_blocks"]

T = TypeVar("T")

STRIP_CELLS = 1 << 17


def map_row_blocks(columns: Sequence[NDArray[Any]], function: Callable[[slice, Numbers], T]) -> list[T]:
    """The function's value for each strip of rows, in their order: the rows, and their numbers side by side.

    Parameters
    ----------
    columns : columns of numbers, at least one, of any stride.
    function : is given the rows and a matrix that it must not change.  # (row, column)
    """
    rows, matrix = len(columns[0]), _matrix(columns)
    step = max(1, STRIP_CELLS // len(columns))

    def of(lo: int) -> T:
        own = slice(lo, min(lo + step, rows))
        strip = np.stack([column[own] for column in columns], axis=1) if matrix is None else matrix[own]
        return function(own, strip.astype(np.float64, copy=False))

    return run_parallel(of, range(0, max(1, rows), step), rows * len(columns))


def _matrix(columns: Sequence[NDArray[Any]]) -> NDArray[np.float64] | None:
    """The matrix of which these are neighbouring columns, None where they are something else."""
    first, size = columns[0], 8
    step, start = first.strides[0], first.__array_interface__["data"][0]
    if step < size * len(columns) or any(column.dtype != np.float64 or column.strides[0] != step for column in columns):
        return None
    if any(column.__array_interface__["data"][0] != start + size * j for j, column in enumerate(columns)):
        return None
    return np.lib.stride_tricks.as_strided(first, (len(first), len(columns)), (step, size), writeable=False)


def extremes(columns: Sequence[NDArray[Any]]) -> tuple[Numbers, Numbers]:
    """The smallest and the largest number of each column, both nan where one is missing; infinite where there are no rows.

    >>> [part.tolist() for part in extremes([np.array([1.0, -2.0]), np.array([3.0, np.nan])])]
    [[-2.0, nan], [1.0, nan]]
    """
    found = map_row_blocks(columns, lambda _, strip: (strip.min(axis=0, initial=np.inf), strip.max(axis=0, initial=-np.inf)))
    return np.min([low for low, _ in found], axis=0), np.max([high for _, high in found], axis=0)
