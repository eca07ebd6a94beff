"""Ages of the cases of a stream: a window of recent cases, or weights that are halved at regular intervals.

Both are exact. The counts of a window are the counts of all its batches, and those of the oldest batch are subtracted. A weight of
1/2, 1/4, ... is a shift of the bits of a count, so that the counts are those of the rows with these weights as `sample_weight`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from naivete.classifiers.batches import KeptCases
from naivete.errors import DataError, ParameterError, quoted

__all__ = ["Ages", "ages_of", "check_ages", "check_older_than"]

EPOCH = 32
"""How many times weights are halved before the cases are kept apart from those before; cases of the epoch before the last are
forgotten, so that the number of bits of the counts does not grow."""
MOST_CASES = 2**53
"""The largest window, half-life or age; a window that is never reached is infinity."""


@dataclass(frozen=True, eq=False)
class Ages:
    """The cases of a stream in parts by age, with the rule by which they lose their weight.

    Parameters
    ----------
    window : a batch is forgotten when this many cases were learned after it; None where weights are halved instead.
    half_life : the weights of all earlier cases are halved each time this many cases were learned; None where there is a window.
    parts : the cases, the oldest first: the batches of the window, or the epochs.
    learned : the number of cases that were learned so far.
    period : how many times the weights of the first cases were halved.
    """

    window: float | None
    half_life: int | None
    parts: tuple[KeptCases, ...] = ()
    learned: int = 0
    period: int = 0

    def plus(self, total: KeptCases | None, batch: KeptCases, members: int | None, budget: int) -> KeptCases:
        """Return the cases with those of one more batch, after those that are too old were removed.

        Parameters
        ----------
        total : the cases so far, None where there are none.
        batch : the new cases.
        members : the number of features of the tables that may replace the rows; None if the rows are needed.
        budget : the most bytes of these tables.
        """
        start = self
        if total is not None and not self.parts:  # the ages of these cases are not known: they are one batch
            start = replace(self, parts=(total,), learned=total.value_counts.rows)
        if self.half_life is None:
            return start._in_window(total, batch, members, budget)
        return start._halved(batch, members, budget)

    def _in_window(self, total: KeptCases | None, batch: KeptCases, members: int | None, budget: int) -> KeptCases:
        whole = batch if total is None else total.plus(batch, budget)
        whole = whole.compact(members, budget)
        parts = (*self.parts, batch)
        if whole.tables is not None:
            parts = tuple(part.compact(members, budget) for part in parts)
        assert self.window is not None
        ages = replace(self, parts=parts, learned=self.learned + batch.value_counts.rows)
        return ages.without_older(whole, self.window)

    def without_older(self, total: KeptCases, age: float) -> KeptCases:
        """Return the cases without the batches after which at least `age` cases were learned; the newest batch stays."""
        parts, younger = self.parts, sum(part.value_counts.rows for part in self.parts)
        while len(parts) > 1:
            younger -= parts[0].value_counts.rows
            if younger < age:
                break
            total, parts = total.without_part(parts[0], parts[1:]), parts[1:]
        return replace(total, ages=replace(self, parts=parts))

    def _halved(self, batch: KeptCases, members: int | None, budget: int) -> KeptCases:
        assert self.half_life is not None
        period = self.learned // self.half_life
        epoch, newest = period // EPOCH, self.period // EPOCH
        parts = self.parts if epoch == newest else self.parts[-1:] if epoch == newest + 1 else ()
        parts = tuple(part.halved(period - self.period) for part in parts)
        same = parts and epoch == newest
        parts = (*parts[:-1], parts[-1].plus(batch, budget)) if same else (*parts, batch)
        parts = tuple(part.compact(members, budget) for part in parts)
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.plus(part, budget)
        ages = replace(self, parts=parts, learned=self.learned + batch.value_counts.rows, period=period)
        return replace(whole.compact(members, budget), ages=ages)


def ages_of(earlier: Ages | None, window: Any, half_life: Any) -> Ages | None:
    """Return the rule for the ages of cases: that of the earlier calls, or a new one; an error if they differ.

    Parameters
    ----------
    earlier : the ages of the cases so far; None if they have none.
    window, half_life : the parameters of `partial_fit`.
    """
    if window is None and half_life is None:
        return earlier
    if window is not None and half_life is not None:
        raise ParameterError(f"window={quoted(window)}, half_life={quoted(half_life)}: choose one of them")
    if half_life is None and not (_is_whole(window) or (isinstance(window, float) and window == math.inf)):
        raise ParameterError(
            f"window={quoted(window)}: a number of cases, from 1 to 2**53, or infinity to forget by `forget` alone"
        )
    if window is None and not _is_whole(half_life):
        raise ParameterError(f"half_life={quoted(half_life)}: a number of cases, from 1 to 2**53")
    if earlier is None:
        return Ages(None if window is None else float(window), None if half_life is None else int(half_life))
    if (earlier.window, earlier.half_life) != (window, half_life):
        rule = f"window={earlier.window:.0f}" if earlier.half_life is None else f"half_life={earlier.half_life}"
        passed = f"window={quoted(window)}" if half_life is None else f"half_life={quoted(half_life)}"
        raise ParameterError(f"{passed}: the earlier calls had {rule}; pass the same, or neither")
    return earlier


def _is_whole(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return number and 1 <= value <= MOST_CASES and value == int(value)


def check_ages(kept: KeptCases, method: str) -> None:
    """Refuse to remove or add single cases where the ages of the cases matter."""
    if kept.ages is not None:
        raise DataError(
            f"{method}: these cases lose their weight with age (window or half_life of partial_fit), and the age of the cases that "
            "were passed is not known; use forget(older_than=...) with a window"
        )


def check_older_than(kept: KeptCases, age: Any) -> None:
    """Refuse an age that is not a number of cases, and cases whose ages are not known."""
    if not _is_whole(age):
        raise ParameterError(f"older_than={quoted(age)}: a number of cases, from 1 to 2**53")
    if kept.ages is not None and kept.ages.half_life is not None:
        raise DataError("forget: with half_life the cases of many batches are kept together; pass window to partial_fit instead")
    if kept.ages is None and kept.batches is None:
        raise DataError(
            f"older_than={age}: the ages of the cases are not known, because their counts are kept together; pass window to every "
            "call of partial_fit, float('inf') to forget nothing before"
        )
