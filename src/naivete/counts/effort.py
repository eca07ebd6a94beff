"""How far a learner has got, in units of work, and how long a unit takes on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import combinations

import numpy as np

__all__ = ["TABLE_ROWS", "Effort", "seconds_per_unit", "table_units"]

TABLE_ROWS = 1500
"""A table takes, besides its rows, about as long as counting this many rows in it."""
CALIBRATION_ROWS, CALIBRATION_COLUMNS = 1000, 18
"""The size of the table that is counted to measure the speed of this machine."""


class Effort:
    """The work of a learner: how much is done, and how much is expected; the unit is a row that is counted in one table.

    Attributes
    ----------
    done : float
        The units of work that are done.
    expected : float
        The units of work that are expected in all; 0 where that is unknown.
    report : callable or None
        Called with the share of the work that is done, from 0 to 1.

    Examples
    --------
    >>> from naivete.counts.effort import Effort
    >>> effort = Effort()
    >>> effort.expected, effort.report = 200.0, print
    >>> effort.add(50.0)
    0.25
    """

    def __init__(self) -> None:
        self.done = self.expected = 0.0
        self.report: Callable[[float], object] | None = None

    def add(self, units: float) -> None:
        """Add work that is done, and report it.

        Parameters
        ----------
        units : float
            The units of work.
        """
        self.done += units
        if self.report is not None and self.expected > 0:
            self.report(min(self.done / self.expected, 0.99))


def table_units(tables: float, rows: float) -> float:
    """Return the work of counting some tables over some rows.

    >>> table_units(2, 500)
    4000.0
    """
    return float(tables * (rows + TABLE_ROWS))


@cache
def seconds_per_unit() -> float:
    """Return how long a unit of work takes on this machine, measured once by some hundred tests of independence."""
    from naivete.cases import Block, MemoryCases
    from naivete.counts.counts import Counts
    from naivete.counts.independence import data_independence, g
    from naivete.variables import Variable

    rng = np.random.default_rng(0)
    codes = tuple(rng.integers(0, 3, CALIBRATION_ROWS).astype(np.uint8) for _ in range(CALIBRATION_COLUMNS))
    variables = tuple(Variable(str(i), (0, 1, 2)) for i in range(CALIBRATION_COLUMNS))
    counts = Counts(MemoryCases(variables, Block(codes), np.zeros(CALIBRATION_COLUMNS - 1, bool)))
    independent = data_independence(counts, test=g)
    tests = np.array(list(combinations(range(CALIBRATION_COLUMNS - 1), 3)))
    independent(tests)
    times = []
    for _ in range(5):
        started = time.process_time()  # other processes do not matter
        independent(tests)
        times.append(time.process_time() - started)
    return min(times) / table_units(len(tests), CALIBRATION_ROWS)
