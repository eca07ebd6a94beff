"""Rows as mappings from names to values: one of them, a list of them, or a row of a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from naivete.errors import DataError, did_you_mean, quoted
from naivete.variables import Name

__all__ = ["LARGEST_EXACT", "is_record", "is_records", "record_columns", "record_of", "records_of"]

LARGEST_EXACT = 2**53
"""Larger whole numbers lose digits as floating-point numbers."""
_COLUMNS = (list, tuple, np.ndarray, dict)


def is_record(X: object) -> bool:
    """Return whether X is one row: a mapping from names to values, not to columns of values.

    >>> is_record({"wind": 3, "sky": "grey"}), is_record({"wind": [3, 5]})
    (True, False)
    """
    if not isinstance(X, Mapping) or hasattr(X, "shape"):  # a sparse matrix may be a dictionary of its cells
        return False
    return not any(isinstance(value, _COLUMNS) or hasattr(value, "iloc") for value in X.values())


def is_records(X: object) -> bool:
    """Return whether X is one row or a list of rows, each a mapping from names to values."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and isinstance(X[0], Mapping)
    return is_record(X)


def records_of(X: Any) -> list[Mapping[Name, Any]]:
    """Return the rows of X, for which `is_records` is true, as a list; refuse a list that holds anything else too."""
    if not isinstance(X, (list, tuple)):
        return [X]
    for row, record in enumerate(X):
        if not isinstance(record, Mapping) or hasattr(record, "shape"):
            raise DataError(f"X, row {row + 1}: {quoted(record)} is not a mapping from names to values, as the first row is")
    return list(X)


def record_of(X: Any, names: Sequence[Name]) -> Mapping[Name, Any] | None:
    """Return a row of a pandas data frame, a Series whose labels are names of columns, as a mapping; None for anything else."""
    if getattr(X, "ndim", None) != 1 or not (hasattr(X, "iloc") and hasattr(X, "to_dict")):
        return None
    known = set(names)
    return X.to_dict() if any(label in known for label in X.keys()) else None  # noqa: SIM118


def record_columns(records: Sequence[Mapping[Name, Any]], names: Sequence[Name] | None = None) -> dict[Name, list[Any]]:
    """Return the values of each name, None where a row does not have it.

    Parameters
    ----------
    records : the rows.
    names : the names; by default all that occur, in the order in which they occur first. Others are left out, but rows that have
        none of the names are refused.
    """
    if names is None:
        names = list(dict.fromkeys(name for record in records for name in record))
    else:
        known = set(names)
        for row, record in enumerate(records):
            if record and not any(name in known for name in record):
                first = next(iter(record))
                raise DataError(f"X, row {row + 1}: there is no column {quoted(first)}; {did_you_mean(first, names)}")
    return {name: [record.get(name) for record in records] for name in names}
