"""Classifiers whose cost grows fast with the number of columns: an estimate before the work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.learners.costs import Cost

__all__ = ["NOTICE_SECONDS", "CostMixin", "cost_text"]

NOTICE_SECONDS = 10.0
"""An estimate of at least this many seconds is reported to the logger "naivete" before the work begins."""
SLOW_UNIT = 1e-8
"""The seconds of a unit of work on a slow machine: no estimate is made of work that is quick even there."""

_logger = logging.getLogger("naivete")


class CostMixin:
    """A classifier that can estimate its time and memory before the work; by default there is no estimate."""

    _cheaper = ""
    """What the user can do to make the work cheaper, for the message."""

    def _cost(self, counts: Counts, **known: Any) -> Cost | None:  # noqa: ARG002
        """Return the expected cost of learning from these counts; None where it is about that of counting all pairs."""
        return None

    def _probe(self, counts: Counts) -> dict[str, Any]:  # noqa: ARG002
        """Return what the cost depends on besides the size of the table, from a sample of the pairs: nothing, by default."""
        return {}

    def estimate_cost(self, X: Any, y: Any, sample_weight: Any = None) -> Cost | None:
        """Return the time and memory that `fit` is expected to take, without fitting.

        The estimate is for learners whose cost grows faster than the square of the number of columns: K2, HillClimb, PC, CB,
        SelectiveNaive, K2AS and JoinedNaive. It is a count of work, multiplied by the time of a unit of work on this machine.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The features, as for `fit`.
        y : array-like of shape (n_rows,)
            The class of every row.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row.

        Returns
        -------
        Cost or None
            The `seconds` and `bytes`; None for other classifiers.

        Examples
        --------
        >>> from naivete import HillClimb
        >>> cost = HillClimb().estimate_cost([["a", "x"], ["b", "y"]] * 10, ["no", "yes"] * 10)
        >>> cost.seconds < 10
        True
        """
        counts = self.training_counts(X, y, sample_weight)[2]  # type: ignore[attr-defined]
        return self._cost(counts, **self._probe(counts))

    def _announce_cost(self, counts: Counts) -> None:
        """Set the work that is expected, and report an estimate of several seconds to the logger."""
        cost = self._cost(counts)
        if cost is None:
            return
        highest = self._cost(counts, dependent=1.0, remaining=0.5)
        if highest is not None and highest.units * SLOW_UNIT >= NOTICE_SECONDS:
            cost = self._cost(counts, **self._probe(counts)) or cost
            if cost.seconds >= NOTICE_SECONDS:
                _logger.warning(cost_text(type(self).__name__, counts, cost, self._cheaper))
        counts.effort.expected = counts.effort.done + cost.counted


def cost_text(name: str, counts: Counts, cost: Cost, cheaper: str) -> str:
    """Return the estimate as a sentence, with what makes the work cheaper."""
    rows = int(counts.rows or counts.total)
    return (
        f"{name} on {rows:,} rows and {len(counts.features):,} features takes about {_time(cost.seconds)} and "
        f"{_memory(cost.bytes)} (an estimate, within a factor of three for most tables); cheaper: {cheaper}"
    )


def _time(seconds: float) -> str:
    """Return a rounded time.

    >>> _time(12.3), _time(200), _time(9000)
    ('12 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def _memory(number: float) -> str:
    """Return a rounded number of bytes.

    >>> _memory(2e5), _memory(3.2e6), _memory(2.5e9)
    ('less than 1 MB', '3 MB', '2.5 GB')
    """
    if number < 1e6:
        return "less than 1 MB"
    return f"{number / 1e6:.0f} MB" if number < 1e9 else f"{number / 1e9:.1f} GB"
