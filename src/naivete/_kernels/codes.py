"""Codes, the small integers that represent the states of a column; the code of a missing value; aliases of array types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Bools", "Integers", "Numbers", "absent_code", "missing", "missing_code", "narrowest"]

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]
Bools = NDArray[np.bool_]


def narrowest(card: int) -> type[np.uint8] | type[np.uint16] | type[np.uint32]:
    """Return the narrowest code type for `card` states; its largest value is reserved for missing values."""
    return np.uint8 if card < 256 else np.uint16 if card < 65536 else np.uint32


def missing_code(dtype: DTypeLike) -> int:
    """Return the code of a missing value in a column of this integer type: the largest value of the type."""
    return int(np.iinfo(np.dtype(dtype)).max)


def missing(column: NDArray[Any]) -> Bools:
    """Return whether each entry of a column of codes, or of floating-point numbers, is missing."""
    return np.isnan(column) if column.dtype.kind == "f" else column == missing_code(column.dtype)  # type: ignore[no-any-return]


def absent_code(column: NDArray[Any]) -> float | int:
    """Return what a missing entry of a column has: the largest code of its type, or nan in a column of floating-point numbers."""
    return np.nan if column.dtype.kind == "f" else missing_code(column.dtype)
