"""Scores and differences of scores as arrays, checked for the statistical tests, and scaled so that their squares are finite."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.errors import DataError

__all__ = ["Floats", "checked_differences", "checked_scores", "scaled"]

Floats: TypeAlias = NDArray[np.float64]


def checked_differences(differences: ArrayLike, test: str) -> Floats:
    """Return two or more finite differences; an error message begins with the name of the test."""
    values = np.asarray(differences, np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise DataError(f"{test}: expected a list of two or more differences, got the shape {values.shape}")
    if not np.isfinite(values).all():
        position = int(np.argmin(np.isfinite(values)))
        raise DataError(f"{test}: difference {position + 1} is {values[position]}; expected finite numbers")
    return values


def checked_scores(scores: ArrayLike, test: str) -> Floats:
    """Return the finite scores of two or more models on two or more data sets.  # (data set, model)"""
    values = np.asarray(scores, np.float64)
    if values.ndim != 2 or min(values.shape) < 2:
        raise DataError(f"{test}: expected two or more data sets (rows) and models (columns), got the shape {values.shape}")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise DataError(f"{test}: the score of model {column + 1} on data set {row + 1} is {values[row, column]}, not finite")
    return values


def scaled(values: Floats) -> tuple[Floats, float]:
    """Return the values divided by a power of two, so that squares do not underflow or overflow, and the power."""
    unit = 2.0 ** (math.frexp(float(np.abs(values).max(initial=0.0)))[1] - 1)
    return values / unit, unit
