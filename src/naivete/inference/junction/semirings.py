"""Products and sums of tables: of probabilities, of logarithms, or of logarithms with the maximum in place of the sum.

The last axis of every table stands for the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers

__all__ = ["LINEAR", "LOG", "MAX", "Semiring", "product", "ratio", "shares"]


class Semiring(NamedTuple):
    """A product and a sum.

    Parameters
    ----------
    logs : whether tables hold logarithms.
    times : the product.
    total : the sum over some axes.
    """

    logs: bool
    times: np.ufunc
    total: Callable[..., Numbers]

    def lifted(self, table: Numbers) -> Numbers:
        """Return probabilities as the numbers of this semiring, which may be logarithms."""
        if not self.logs:
            return table
        with np.errstate(divide="ignore"):
            return np.log(table)


def _log_of_sum(logs: Numbers, axis: Any) -> Numbers:
    """Return the logarithm of the sum of exponentials over some axes, -inf if all terms are zero."""
    top = np.maximum.reduce(logs, axis=axis, keepdims=True)
    top[np.isneginf(top)] = 0
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.add.reduce(np.exp(logs - top), axis=axis))
    return total + top.reshape(total.shape)  # type: ignore[no-any-return]


LINEAR = Semiring(False, np.multiply, np.add.reduce)
LOG = Semiring(True, np.add, _log_of_sum)
MAX = Semiring(True, np.add, np.maximum.reduce)


def product(semiring: Semiring, tables: Iterable[Numbers]) -> Numbers:
    """Return the product of tables, taken pairwise, so that rounding errors grow with the logarithm of their number.

    >>> product(LINEAR, [np.array([[2.0]]), np.array([[3.0], [5.0]]), np.array([[7.0]])])
    array([[42.],
           [70.]])
    """
    waiting: list[tuple[int, Numbers]] = []
    for table in tables:
        level = 0
        while waiting and waiting[-1][0] == level:
            table = semiring.times(waiting.pop()[1], table, order="C")
            level += 1
        waiting.append((level, table))
    while len(waiting) > 1:
        (_, last), (level, before) = waiting.pop(), waiting.pop()
        waiting.append((level, semiring.times(before, last, order="C")))
    return waiting[0][1] if waiting else np.full(1, 0.0 if semiring.logs else 1.0)


def ratio(semiring: Semiring, above: Numbers, below: Numbers) -> Numbers:
    """Return the quotient of two tables, the first of which is zero wherever the second is; 0/0 is 0."""
    if semiring.logs:
        return above - np.where(np.isneginf(below), 0, below)
    return np.asarray(above / (below + (below == 0)))


def shares(semiring: Semiring, table: Numbers) -> Numbers:
    """Return each cell divided by the sum over all axes except the rows, NaN where the sum is zero."""
    axes = tuple(range(table.ndim - 1))
    with np.errstate(invalid="ignore", under="ignore"):
        if semiring.logs:
            table = np.exp(table - table.max(axis=axes))
        return table / table.sum(axis=axes)  # type: ignore[no-any-return]
