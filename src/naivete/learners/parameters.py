"""Checks of the parameters of learners: return the value, or refuse it with its name and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np

from naivete.errors import ParameterError, quoted

__all__ = [
    "checked_choice",
    "checked_confidence",
    "checked_count",
    "checked_flag",
    "checked_integer",
    "checked_min_rows",
    "checked_share",
    "is_integer",
    "is_number",
]


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer of Python or NumPy; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a real number of Python or NumPy; True and False are not."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def checked_flag(value: object, name: str) -> bool:
    """Return True or False; refuse any other value."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError(f"{name}={quoted(value)}: choose True or False")


def checked_choice(value: object, name: str, choices: Sequence[str]) -> str:
    """Return the value if it is one of the choices."""
    if isinstance(value, str) and value in choices:
        return value
    raise ParameterError(f"{name}={quoted(value)}: choose {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}")


def checked_integer(value: Any, name: str, least: int = 0) -> int:
    """Return the value if it is an integer of at least `least`."""
    if is_integer(value) and value >= least:
        return int(value)
    raise ParameterError(f"{name}={quoted(value)}: a whole number, at least {least}")


def checked_count(value: Any, name: str, least: int = 0) -> int | None:
    """Return the value if it is None, which means no limit, or an integer of at least `least`."""
    if value is None:
        return None
    if is_integer(value) and value >= least:
        return int(value)
    raise ParameterError(f"{name}={quoted(value)}: a whole number, at least {least}, or None for any number")


def checked_min_rows(value: Any, *, zero: bool = False) -> float:
    """Return a weight above 0; with `zero`, of at least 0."""
    if is_number(value) and 0 <= value < np.inf and (value > 0 or zero):
        return float(value)
    raise ParameterError(f"min_rows={quoted(value)}: a number {'at least' if zero else 'above'} 0")


def checked_confidence(value: Any) -> float:
    """Return the confidence level of the pruning of C4.5, above 0 and at most 0.5."""
    if is_number(value) and 0 < value <= 0.5:
        return float(value)
    raise ParameterError(f"confidence={quoted(value)}: a number above 0 and at most 0.5")


def checked_share(value: Any, name: str, meaning: str) -> float:
    """Return a number between 0 and 1, both allowed; `meaning` says in the message what it is."""
    if is_number(value) and 0 <= value <= 1:
        return float(value)
    raise ParameterError(f"{name}={quoted(value)}: {meaning} between 0 and 1")
