"""Interventional Shapley values of any function of a row: by enumeration of coalitions, or estimated from permutations.

In the game of a row, the features of a coalition have the values of the row, and the others those of a background row; the value of
a coalition is the mean over the background rows. Values that are missing in the row are missing in every coalition.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers, absent_code, missing
from naivete._kernels.layout import Codes

__all__ = ["Game", "ShapleyValues"]

CELLS = 1 << 24
"""The largest number of codes of the rows that are evaluated at a time."""


class ShapleyValues(NamedTuple):
    """The Shapley values of one row.

    Parameters
    ----------
    base : the mean over the background rows.
    values : the value of each feature, 0 where the row has a missing value.
    standard_errors : their standard errors; None where the values are exact.
    """

    base: float
    values: Numbers
    standard_errors: Numbers | None


class Game:
    """The interventional game of one row.

    Parameters
    ----------
    function : the value of each of some rows of codes.
    row : the codes of the row, one column of length 1 for each feature.
    background : the codes of the background rows.
    """

    def __init__(self, function: Callable[[Codes], Numbers], row: Codes, background: Codes) -> None:
        self.function = function
        self.row = row
        self.background = background
        self.players = [x for x, column in enumerate(row) if not missing(column)[0]]

    def exact(self) -> ShapleyValues:
        """Return the exact values, from the mean value of each of the 2^n coalitions of the observed features."""
        count, rows = len(self.players), len(self.background[0])
        members = (np.arange(1 << count)[:, None] >> np.arange(count)) & 1 == 1  # (coalition, player)
        chosen = np.repeat(members, rows, axis=0)
        means = self._evaluated(chosen, np.tile(np.arange(rows), len(members))).reshape(len(members), rows).mean(axis=1)
        weights = np.array([factorial(s) * factorial(count - s - 1) / factorial(count) for s in range(count)])
        sizes, values = members.sum(axis=1), np.zeros(len(self.row))
        for j, x in enumerate(self.players):
            without = np.flatnonzero(~members[:, j])
            values[x] = weights[sizes[without]] @ (means[without | 1 << j] - means[without])
        return ShapleyValues(float(means[0]), values, None)

    def estimated(self, permutations: int, seed: int) -> ShapleyValues:
        """Return estimates from random permutations, each with its reverse.

        Along a permutation, the values of a background row are replaced by those of the row one after another, and the change of
        the function at each step is a contribution of that feature. All background rows have the same number of permutations, so
        that the estimates and the base add up to the value of the row. The standard errors are those of the estimates on the same
        background rows, from the variance of pairs of permutations with the same background row.

        Parameters
        ----------
        permutations : the number of permutations for each background row, an even number. With 2 the standard errors are nan.
        seed : the seed of the permutations.
        """
        count, rows, pairs = len(self.players), len(self.background[0]), permutations // 2
        if count < 2:
            return self.exact()._replace(standard_errors=np.zeros(len(self.row)))
        rng = np.random.default_rng(seed)
        first = rng.permuted(np.tile(np.arange(count), (rows * pairs, 1)), axis=1)  # the step at which each player joins
        steps = np.stack([first, count - 1 - first], axis=1).reshape(-1, count)  # (walk, player)
        changes, base = self._changes(steps, np.repeat(np.arange(rows), 2 * pairs))
        means = changes.reshape(rows, pairs, 2, count).mean(axis=2)
        values, errors = np.zeros(len(self.row)), np.zeros(len(self.row))
        values[self.players] = means.mean(axis=(0, 1))
        variance = means.var(axis=1, ddof=1) if pairs > 1 else np.full((rows, count), np.nan)
        errors[self.players] = np.sqrt(variance.sum(axis=0) / pairs) / rows
        return ShapleyValues(base, values, errors)

    def _changes(self, steps: Integers, start: Integers) -> tuple[Numbers, float]:
        """Return the change of the function by each player in each walk, and the mean of the function over the background."""
        walks, count = steps.shape
        rows = len(self.background[0])
        ends = self._evaluated(np.repeat([[False], [True]], [rows, 1], axis=0).repeat(count, axis=1), np.arange(rows + 1) % rows)
        values = np.empty((walks, count + 1))
        values[:, 0], values[:, count] = ends[start], ends[rows]
        size = max(1, CELLS // count**2)
        for lo in range(0, walks, size):
            part = steps[lo : lo + size]
            chosen = part[:, None, :] < np.arange(1, count)[:, None]  # (walk, step, player)
            inner = self._evaluated(chosen.reshape(-1, count), np.repeat(start[lo : lo + size], count - 1))
            values[lo : lo + size, 1:count] = inner.reshape(len(part), -1)
        return np.take_along_axis(np.diff(values, axis=1), steps, axis=1), float(ends[:rows].mean())

    def _evaluated(self, chosen: Bools, start: Integers) -> Numbers:
        """Return the function of rows that have some values of the row and the others of background rows.

        Parameters
        ----------
        chosen : which players have the value of the row.  # (row, player)
        start : the background row of the others.  # (row,)
        """
        columns = [np.full(len(start), absent_code(column), column.dtype) for column in self.row]
        for j, x in enumerate(self.players):
            columns[x] = np.where(chosen[:, j], self.row[x], self.background[x][start])
        first, which = _distinct([columns[x] for x in self.players], len(start))
        return np.asarray(self.function([column[first] for column in columns])[which])


def _distinct(columns: Codes, rows: int) -> tuple[Integers, Integers]:
    """Return the position of one row of each kind, and the kind of each row."""
    if not columns:
        return np.zeros(1, np.int64), np.zeros(rows, np.int64)
    matrix = np.ascontiguousarray(np.stack(columns, axis=1))
    bytes_of_rows = matrix.view(np.dtype((np.void, matrix.dtype.itemsize * matrix.shape[1])))[:, 0]
    _, first, which = np.unique(bytes_of_rows, return_index=True, return_inverse=True)
    return first, which.reshape(-1)
