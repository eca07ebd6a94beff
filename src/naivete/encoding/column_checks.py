"""Checks of the values of columns, before they are counted or encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.column_blocks import extremes
from naivete.data.table import Column, Table
from naivete.errors import DataError, quoted

__all__ = ["as_numbers", "byte_limits", "check_finite"]


def as_numbers(column: Column, table: Table | None = None) -> NDArray[Any]:
    """Return the values of a column as numbers or booleans, nan if missing; refuse text."""
    if column.states is None:
        return column.values
    texts = [s for s in column.states if isinstance(s, str)]
    if texts:
        wrong = next((text for text in texts if not _is_number(text)), None)
        if wrong is None:
            raise DataError(
                f"column {quoted(column.name)}: {quoted(texts[0])} is text, but the column holds numbers; convert its values to "
                "numbers, for instance by `pandas.to_numeric`"
            )
        row = int(np.argmax(column.values == column.states.index(wrong)))
        place = f"row {row + 1}" if table is None else table.place(row)
        raise DataError(
            f"{place}: column {quoted(column.name)}: {quoted(wrong)} is not a number, but the column holds numbers; "
            "correct it, or declare the column nominal before learning"
        )
    return np.append(np.array(column.states, np.float64), np.nan)[column.values]  # type: ignore[no-any-return]


def _is_number(text: str) -> bool:
    """Return whether a text is a number, in Python's notation."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_finite(table: Table, columns: Sequence[Column]) -> dict[int, tuple[float, float]]:
    """Refuse infinities; return the smallest and largest value of each column of floats by its position, nan if one is missing."""
    floats = [i for i, column in enumerate(columns) if column.values.dtype.kind == "f" and len(column)]
    lows, highs = extremes([columns[i].values for i in floats]) if floats else (np.empty(0), np.empty(0))
    for i, low, high in zip(floats, lows.tolist(), highs.tolist(), strict=True):
        column = columns[i]
        if not (-np.inf < low and high < np.inf) and np.isinf(column.values).any():
            row = int(np.argmax(np.isinf(column.values)))
            raise DataError(
                f"{table.place(row)}: column {quoted(column.name)}: {column.values[row]} is infinity, not a finite number; "
                "replace it by a finite value or by a missing one"
            )
    return dict(zip(floats, zip(lows.tolist(), highs.tolist(), strict=True), strict=True))


def byte_limits(columns: Sequence[Column], *, counted: bool = False) -> dict[int, int]:
    """Return one more than the largest value of each column of bytes by its position, 0 if it has no rows; in one pass.

    Without a pass, 0 for every column of bytes, if the columns were `counted` before: then all their values are states.
    """
    byte_columns = [i for i, c in enumerate(columns) if c.states is None and c.values.dtype == np.uint8]
    if not byte_columns or counted:
        return dict.fromkeys(byte_columns, 0)
    seen = np.array(_kernels.seen([columns[i].values for i in byte_columns]))  # (column, byte)
    limits = np.where(seen.any(axis=1), 256 - seen[:, ::-1].argmax(axis=1), 0)
    return dict(zip(byte_columns, limits.tolist(), strict=True))
