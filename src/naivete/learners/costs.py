"""Estimates of the time and memory that learners take on wide tables, from the numbers of rows, columns and states.

The base is a count of work: how many tables a learner counts and scores. It depends on the data, too: on how many arcs it finds,
and on how many pairs of columns are dependent. The estimates take what is usual, for PC and CB the share of dependent pairs in a
sample, and are within a factor of three of the time that sampled networks of hundreds of columns take. How long a unit of work
takes is measured once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from naivete.counts.counts import Counts, informative_features
from naivete.counts.effort import seconds_per_unit, table_units
from naivete.counts.independence import Statistic, data_independence, enough_cases
from naivete.errors import ResourceError
from naivete.variables import CLASS

__all__ = ["Cost", "Size", "check_kept_bytes", "cost_of", "dependent_share", "size_of"]

SCORED, TESTED = 3000, 4500
"""How many units a table takes besides being counted: to be scored, and to be tested."""
NEGLIGIBLE_BYTES = 1 << 14
"""What a learner keeps is not limited up to so many bytes."""
SAMPLED_PAIRS = 2000
"""How many pairs of columns are tested for the share of dependent ones."""


class Cost(NamedTuple):
    """The time and memory that a learner is expected to take.

    Parameters
    ----------
    units : float
        The work, in rows that are counted in one table.
    counted : float
        The part of it that is reported while it is done.
    bytes : int
        The memory beyond the rows.
    """

    units: float
    counted: float
    bytes: int

    @property
    def seconds(self) -> float:
        """The time on this machine, from the time of a unit of work, which is measured at the first use."""
        return self.units * seconds_per_unit()


class Size(NamedTuple):
    """The size of a table: the rows, and the number of states of each column, the class last."""

    rows: int
    cards: Sequence[int]


def size_of(counts: Counts) -> Size:
    """Return the size of some cases; columns of a single state do not count."""
    features = informative_features(counts)
    return Size(int(counts.rows or counts.total), counts.cards([*features, CLASS]))


def cost_of(learner: str, size: Size, *, dependent: float = 0.1, **parameters: Any) -> Cost:
    """Return what a learner is expected to take on a table.

    Parameters
    ----------
    learner : "hc", "k2", "pc", "cb", "naive-as", "k2-as", "fssj" or "bsej".
    size : the rows and states.
    dependent : the share of the pairs of columns that are dependent, for "pc" and "cb".
    parameters : `tabu` and `max_steps` of hill climbing, `max_order` of PC and CB.

    >>> wide, wider = (cost_of("hc", Size(1000, [3] * n)) for n in (100, 200))
    >>> 2 < wider.units / wide.units < 8
    True
    """
    n, rows = len(size.cards), size.rows
    pairs, classes = n * (n - 1) / 2, size.cards[-1]
    if learner == "hc":
        steps = min(1.15 * n + _number(parameters.get("tabu"), 10), _number(parameters.get("max_steps"), np.inf))
        return _of_tables(steps * n, rows, SCORED / 3, steps * (1.5e6 + 14 * n * n), 90 * n * n)
    if learner == "k2":
        return _of_tables(1.2 * pairs, rows, SCORED, 0, 350 * n * n)
    if learner in ("pc", "cb"):
        tests = pairs + _tests_given_one(n, pairs, dependent) * (parameters.get("max_order", 1) != 0)
        scored = 2.4 * pairs if learner == "cb" else 0.0
        return _of_tables(tests + scored, rows, TESTED, 0, (300 if learner == "pc" else 800) * n * n)
    if learner in ("naive-as", "k2-as"):
        rounds = 3 * sqrt(n) if learner == "naive-as" else sqrt(n)
        return _of_rows(rounds * n * (rows * classes + 2e4), n * rows * classes * 4 + 2e6)
    cells = float(np.mean(size.cards)) ** 2 * classes
    if learner == "fssj":
        return _of_rows(72 * n * (3 * rows + 12000), 72 * n * (600 + 16 * cells))
    return _of_rows(n / 7 * pairs * (3 * rows + 2000), 2 * pairs * (600 + 16 * cells))


def _number(value: object, otherwise: float) -> float:
    """Return a parameter if it is a number; whether it is valid is checked by the learner."""
    return float(value) if isinstance(value, (int, np.integer)) else otherwise


def _of_tables(tables: float, rows: int, each: float, overhead: float, needed: float) -> Cost:
    counted = table_units(tables, rows)
    return Cost(counted + each * tables + overhead, counted, int(needed))


def _of_rows(units: float, needed: float) -> Cost:
    return Cost(units, units, int(needed))


def _tests_given_one(n: int, pairs: float, dependent: float) -> float:
    """Return how many tests given one neighbor are expected: more for each edge, the more neighbors its ends have."""
    neighbors = dependent * n
    return dependent * pairs * (4 + neighbors * (0.5 + dependent))


def dependent_share(counts: Counts, test: Statistic, alpha: float) -> float:
    """Return the share of dependent pairs of columns, from a sample of pairs that is tested in one pass."""
    columns = np.array([*informative_features(counts), CLASS])
    rng = np.random.default_rng(0)
    first = rng.integers(0, len(columns), SAMPLED_PAIRS)
    second = (first + rng.integers(1, max(2, len(columns)), SAMPLED_PAIRS)) % len(columns)
    tests = np.stack([columns[first], columns[second]], axis=1)[first != second]
    possible = tests[enough_cases(counts)(tests)]
    independent = data_independence(counts, test=test, alpha=alpha)(possible)
    return 1 - float(independent.sum()) / max(1, len(tests))


def check_kept_bytes(counts: Counts, learner: str, needed: int, kept: str, advice: str) -> None:
    """Raise an error, before the work, if what a learner keeps needs more than half of the budget; the other half is for tables.

    Parameters
    ----------
    counts : the training cases.
    learner : the name of the learner.
    needed : the bytes that it keeps.
    kept : what they are for.
    advice : what to do, besides a larger budget.
    """
    if needed > NEGLIGIBLE_BYTES and 2 * needed > counts.budget:
        raise ResourceError(
            f"{learner} on {len(counts.features):,} features keeps about {needed:,} bytes for {kept}, and the budget is "
            f"{counts.budget:,} bytes, half of which is for tables; {advice}, or raise `budget=`"
        )
