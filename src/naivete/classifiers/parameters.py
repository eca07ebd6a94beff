"""Checks of parameters that several classifiers share."""

from __future__ import annotations

from typing import Any

import numpy as np

from naivete.errors import ParameterError, quoted

__all__ = ["check_budget", "seed_of"]


def seed_of(random_state: Any) -> int:
    """Return a seed: the number itself, one drawn from a generator, or a new one each time for None."""
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0 or isinstance(random_state, bool):
            raise ParameterError(f"random_state={quoted(random_state)}: a whole number, at least 0")
        return int(random_state)
    from sklearn.utils import check_random_state

    try:
        return int(check_random_state(random_state).randint(2**31))
    except ValueError as error:
        raise ParameterError(f"random_state={quoted(random_state)}: a whole number, a RandomState, or None") from error


def check_budget(budget: object) -> None:
    """Refuse a memory budget that is not a positive whole number of bytes."""
    if not isinstance(budget, (int, np.integer)) or isinstance(budget, bool) or budget <= 0:
        raise ParameterError(f"budget={quoted(budget)}: a number of bytes, at least 1")
