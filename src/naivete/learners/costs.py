"""Estimates of the time and memory that learners take on wide tables, from the numbers of rows, columns and states.

The base is a count of work: how many tables a learner counts and scores. It depends on the data, too: on how many arcs it finds,
and on how many pairs of columns are dependent. The estimates take what is usual, for PC and CB the shares of dependent pairs in a
sample of the columns, and are within a factor of three of the time that sampled networks of hundreds of columns take. How long a
unit of work takes is measured once.
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

__all__ = ["ROUND_TESTS", "Cost", "Size", "check_kept_bytes", "cost_of", "dependences", "size_of"]

SCORED, TESTED = 3000, 4500
"""How many units a table takes besides being counted: to be scored, and to be tested."""
FIXED = 5e7
"""The units of what does not depend on the size of the table."""
NEGLIGIBLE_BYTES = 1 << 14
"""What a learner keeps is not limited up to this number of bytes."""
SAMPLED_COLUMNS, SAMPLED_NEIGHBORS, SAMPLED_EDGES = 12, 40, 6
"""How many columns are tested with all others, how many of those on which they depend, and of how many of these edges."""
CB_TESTS = 100_000
"""How many tests given two or more neighbors CB is expected to make at most."""
ROUND_TESTS = 1_000_000
"""With max_order="auto", PC makes tests given two or more neighbors as long as a round has at most this many of them."""


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

    def __str__(self) -> str:
        return f"about {self.seconds:.2g} s and {self.bytes / 1e6:.2g} MB"


class Size(NamedTuple):
    """The size of a table: the rows, and the number of states of each column, the class last."""

    rows: int
    cards: Sequence[int]


def size_of(counts: Counts) -> Size:
    """Return the size of some cases; columns of a single state do not count."""
    features = informative_features(counts)
    return Size(int(counts.rows or counts.total), counts.cards([*features, CLASS]))


def cost_of(learner: str, size: Size, *, dependent: float = 0.1, remaining: float = 0.1, **parameters: Any) -> Cost:
    """Return what a learner is expected to take on a table.

    Parameters
    ----------
    learner : "hc", "k2", "pc", "cb", "naive-as", "k2-as", "fssj" or "bsej".
    size : the rows and states.
    dependent, remaining : the share of the pairs of columns that are dependent, and of these, the share that is dependent given
        each of their neighbors, for "pc" and "cb".
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
        order = parameters.get("max_order", "auto")
        tests = pairs + (0.0 if order == 0 else _tests(size, dependent, remaining, order))
        if learner == "cb" and order != 0:  # it often stops before the tests given two neighbors
            tests = min(tests, pairs + _tests(size, dependent, remaining, 1) + CB_TESTS)
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
    return Cost(counted + each * tables + overhead + FIXED, counted, int(needed))


def _of_rows(units: float, needed: float) -> Cost:
    return Cost(units + FIXED, units, int(needed))


def _tests(size: Size, dependent: float, remaining: float, max_order: object) -> float:
    """Return how many tests given one neighbor and more are expected: more for each edge, the more neighbors its ends have."""
    n, card = len(size.cards), float(np.mean(size.cards))
    neighbors = dependent * n
    tests = dependent * n * n / 2 * (4 + neighbors * (0.5 + dependent))
    most = ROUND_TESTS if max_order == "auto" else np.inf
    neighbors *= remaining
    for order in range(2, int(_number(max_order, 8)) + 1):
        sets = neighbors * n * _binomial(neighbors - 1, order)
        if sets > most or card ** (order + 2) > size.rows / 5:
            break
        tests += 0.7 * sets
        neighbors *= 0.85
    return tests


def _binomial(n: float, k: int) -> float:
    """Return the number of sets of k of n, for any number n."""
    return max(0.0, float(np.prod([(n - i) / (i + 1) for i in range(k)])) if n > k else 0.0)


def dependences(counts: Counts, test: Statistic, alpha: float) -> dict[str, float]:
    """Return the shares that the costs of PC and CB depend on, from tests of a few columns with all others, in two passes.

    `dependent` is the share of the pairs of columns that are dependent, `remaining` the share of these that are dependent given
    each of the columns on which the first one depends.
    """
    columns = np.array([*informative_features(counts), CLASS])
    rng, enough, independent = np.random.default_rng(0), enough_cases(counts), data_independence(counts, test=test, alpha=alpha)
    chosen = rng.permutation(columns)[:SAMPLED_COLUMNS].tolist()
    pairs = np.array([(a, b) for a in chosen for b in columns.tolist() if a != b]).reshape(-1, 2)
    dependent = pairs[~independent(pairs)]
    tests, edges = [], []
    for a in chosen:
        neighbors = rng.permutation(dependent[dependent[:, 0] == a, 1])[:SAMPLED_NEIGHBORS].tolist()
        some = [(a, b, c) for b in neighbors[:SAMPLED_EDGES] for c in neighbors if c != b]
        tests += some
        edges += [(a, b) for a, b, _ in some]
    given = np.array(tests, np.int64).reshape(-1, 3)
    possible = enough(given)
    separated = {edges[i] for i in np.flatnonzero(independent(given)).tolist()} if possible.any() else set()
    return {"dependent": len(dependent) / max(1, len(pairs)), "remaining": 1 - len(separated) / max(1, len(set(edges)))}


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
