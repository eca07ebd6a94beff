"""Tests of conditional independence, many in one pass: Pearson's chi-square and the likelihood ratio G."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.block_counts import batches
from naivete.counts.counts import Counts
from naivete.errors import ParameterError, quoted

__all__ = [
    "Independence",
    "Question",
    "Statistic",
    "Testable",
    "checked_level",
    "data_independence",
    "enough_cases",
    "g",
    "pearson",
    "statistic_of",
]

Question = tuple[int, int, tuple[int, ...]]
"""Two variables, and the variables given which their independence is tested."""
Independence = Callable[[Sequence[Question]], Sequence[bool]]
"""Returns for each question whether the two variables are independent; the questions of one call take as few passes as possible."""
Statistic = Callable[[Numbers, Numbers], Numbers]
"""Returns the terms of an approximately chi-square distributed statistic from observed and expected counts, cell by cell."""
Testable = Callable[[Sequence[int]], bool]
"""Whether there are enough cases to test a question about some variables; if not, nor for more variables."""

CASES_PER_CELL = 5
QUESTION_BYTES = 2500
"""About how many bytes a question takes while it is tested."""


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


def data_independence(counts: Counts, *, test: Statistic = pearson, alpha: float = 0.1) -> Independence:
    """Return tests of independence on the cases: variables without significant dependence at the level `alpha` are independent.

    Where there are fewer than five cases for each cell of the table, no test is made, and the variables are taken as dependent.
    """
    checked_level(alpha)
    testable = enough_cases(counts)

    def independent(questions: Sequence[Question]) -> list[bool]:
        tested = [(x, y, given) for x, y, given in dict.fromkeys(questions) if testable((x, y, *given))]
        result: dict[Question, bool] = {}
        for some in batches(tested, repeat(QUESTION_BYTES), counts.budget // 8):
            orders = [(x, y, *given) for x, y, given in some]
            cards = [counts.cards(order) for order in orders]
            for positions, tables in counts.arranged(orders, [(x, y, prod(given)) for x, y, *given in cards]):
                p = p_values(tables.contingency(), test)
                result |= {some[i]: value > alpha for i, value in zip(positions, p.tolist(), strict=True)}
        return [result.get(question, False) for question in questions]

    return independent


def enough_cases(counts: Counts) -> Testable:
    """Return the check whether there are five cases for each cell of the table of some variables."""
    total = counts.total
    return lambda members: total >= CASES_PER_CELL * prod(counts.cards(members))


def p_values(tables: NDArray[Any], test: Statistic) -> Numbers:
    """Return the p-value of each table; the axes are (table, x, y, given).

    The degrees of freedom count the states that occur in each configuration of the given variables.

    >>> p_values(np.array([[[[20], [0]], [[0], [20]]], [[[10], [10]], [[10], [10]]]]), pearson).round(6).tolist()
    [0.0, 1.0]
    """
    from scipy.special import chdtrc

    n = np.asarray(tables, np.float64)
    x, y = n.sum(axis=2, keepdims=True), n.sum(axis=1, keepdims=True)
    total = y.sum(axis=2, keepdims=True)
    expected = x * (y / np.where(total > 0, total, 1.0))
    possible = expected > 0
    cells = np.where(possible, test(n, np.where(possible, expected, 1.0)), 0.0)
    states = np.count_nonzero(x, axis=1)[:, 0] - 1, np.count_nonzero(y, axis=2)[:, 0] - 1  # (table, given)
    freedom = (np.maximum(states[0], 0) * np.maximum(states[1], 0)).sum(axis=-1)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), cells.sum(axis=(1, 2, 3))), 1.0)
