"""Tests of conditional independence, many in one pass: Pearson's chi-square and the likelihood ratio G."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import FamilyArray
from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.counts.counts import Counts
from naivete.counts.scores import TABULATED, n_log_n
from naivete.errors import ParameterError, quoted
from naivete.variables import CLASS

__all__ = [
    "EnoughCases",
    "Independence",
    "Statistic",
    "checked_level",
    "data_independence",
    "enough_cases",
    "g",
    "pearson",
    "statistic_of",
]

Independence = Callable[[Integers], Bools]
"""Returns for each row (x, y, given, ...) whether x and y are independent; the tests of one call take as few passes as possible."""
Statistic = Callable[[Numbers, Numbers], Numbers]
"""Returns the terms of an approximately chi-square distributed statistic from observed and expected counts, cell by cell."""

CASES_PER_CELL = 5
"""A test is made only if there are on average at least this many cases for each cell of its table."""
TESTS_AT_ONCE = 1 << 17
"""How many tests are counted together at most."""
CELLS_AT_ONCE = 1 << 17
"""The statistics of tables with this many cells in all are computed together."""


def pearson(observed: Numbers, expected: Numbers) -> Numbers:
    """Return the terms of Pearson's chi-square: (observed - expected)**2 / expected."""
    return np.asarray((observed - expected) * ((observed - expected) / expected))


def g(observed: Numbers, expected: Numbers) -> Numbers:
    """Return the terms of the likelihood ratio G: 2 observed log(observed / expected)."""
    return np.asarray(2 * observed * np.log(np.where(observed > 0, observed, expected) / expected))


def checked_level(alpha: object) -> float:
    """Return a significance level; an error unless it is between 0 and 1."""
    if not isinstance(alpha, (int, float, np.integer, np.floating)) or not 0 < alpha < 1:
        raise ParameterError(f"alpha={quoted(alpha)}: a number between 0 and 1, both excluded, is needed")
    return float(alpha)


def statistic_of(value: object) -> Statistic:
    """Return the statistic for a parameter value: "chi2", "g", or a function.

    >>> statistic_of("g") is g
    True
    """
    if callable(value):
        return value
    if isinstance(value, str) and value in ("chi2", "g"):
        return pearson if value == "chi2" else g
    raise ParameterError(f"test={quoted(value)}: choose 'chi2' or 'g', or pass a function of observed and expected counts")


@dataclass(frozen=True, eq=False)
class EnoughCases:
    """The rule that a test needs five cases for each cell of its table; with fewer, the variables are taken as dependent.

    Parameters
    ----------
    cards : the number of states of each variable, the class last.
    cells : how many cells the table of a test may have.
    """

    cards: Integers
    cells: float

    def __call__(self, tests: Integers) -> Bools:
        """Return whether there are enough cases for each test.  # (test, variable) -> (test)"""
        return np.asarray(self.cards[tests].astype(np.float64).prod(axis=1) <= self.cells)


def enough_cases(counts: Counts) -> EnoughCases:
    """Return the rule that a test needs five cases for each cell of its table."""
    return EnoughCases(np.array(counts.cards([*counts.features, CLASS])), counts.total / CASES_PER_CELL)


def data_independence(counts: Counts, *, test: Statistic = pearson, alpha: float = 0.1) -> Independence:
    """Return tests of independence on the cases: variables without significant dependence at the level `alpha` are independent.

    Where there are fewer than five cases for each cell of the table, no test is made, and the variables are taken as dependent.
    """
    checked_level(alpha)
    enough = enough_cases(counts)

    def independent(tests: Integers) -> Bools:
        result = np.zeros(len(tests), bool)
        possible = np.flatnonzero(enough(tests))
        for start in range(0, len(possible), TESTS_AT_ONCE):
            some = possible[start : start + TESTS_AT_ONCE]
            cards = enough.cards[tests[some]].astype(np.float64)
            shapes = np.stack([cards[:, 0], cards[:, 1], cards[:, 2:].prod(axis=1)], axis=1)
            for positions, tables in counts.table_stacks(FamilyArray.of_rows(tests[some]), shapes):
                result[some[positions]] = p_values(tables.contingency(), test) > alpha
        return result

    return independent


def p_values(tables: NDArray[Any], test: Statistic) -> Numbers:
    """Return the p-value of each table; the axes are (table, x, y, given).

    The degrees of freedom count the states that occur in each configuration of the given variables.

    >>> p_values(np.array([[[[20], [0]], [[0], [20]]], [[[10], [10]], [[10], [10]]]]), pearson).round(6).tolist()
    [0.0, 1.0]
    """
    size = int(np.prod(tables.shape[1:]))
    step = max(1, CELLS_AT_ONCE // max(1, size))
    parts = [_p_values(tables[start : start + step], test) for start in range(0, len(tables), step)]
    return np.concatenate([np.zeros(0), *parts])


def _p_values(tables: NDArray[Any], test: Statistic) -> Numbers:
    from scipy.special import chdtrc

    x, y = tables.sum(axis=2), tables.sum(axis=1)  # (table, state, given)
    total = y.sum(axis=1)
    looked_up = test is g and tables.dtype.kind == "i" and int(total.sum(axis=1).max(initial=0)) < TABULATED
    statistic = _g_statistic(tables, x, y, total) if looked_up else _statistic(tables, x, y, total, test)
    states = np.count_nonzero(x, axis=1) - 1, np.count_nonzero(y, axis=1) - 1  # (table, given)
    freedom = (np.maximum(states[0], 0) * np.maximum(states[1], 0)).sum(axis=-1)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)


def _statistic(tables: NDArray[Any], x: NDArray[Any], y: NDArray[Any], total: NDArray[Any], test: Statistic) -> Numbers:
    """Return the statistic of each table, from observed and expected counts."""
    n = np.asarray(tables, np.float64)
    share = y.astype(np.float64) / np.where(total > 0, total, 1.0)[:, None]
    expected = x.astype(np.float64)[:, :, None] * share[:, None]
    possible = expected > 0
    cells = np.where(possible, test(n, np.where(possible, expected, 1.0)), 0.0)
    return np.asarray(cells.sum(axis=(1, 2, 3)))


def _g_statistic(tables: NDArray[Any], x: NDArray[Any], y: NDArray[Any], total: NDArray[Any]) -> Numbers:
    """Return G of each table of whole numbers: 2 (sum n log n over cells - over x - over y + over the given), looked up.

    What is left of a sum of zero by rounding errors becomes zero.
    """
    terms = n_log_n(1 << int(total.sum(axis=1).max(initial=0)).bit_length())
    cells, rows, columns, given = (terms.take(n).reshape(len(n), -1).sum(axis=1) for n in (tables, x, y, total))
    value = 2 * (cells - rows - columns + given)
    return np.where(value > 1e-13 * given, value, 0.0)
