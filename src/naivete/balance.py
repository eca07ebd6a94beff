"""The maximally balanced set: the features whose weights come closest to cancelling out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete.errors import ParameterError, shown

__all__ = ["Balanced", "balanced"]

Whole = NDArray[np.int64]
Numbers = NDArray[np.float64]

MOST_ON_A_LINE = 44
MOST_IN_SPACE = 40
FEW_SETS = 1 << 17
MEETINGS = 1 << 27
PIECE = 1 << 19
BITS = 44
EQUAL = 1e-12


@dataclass(frozen=True)
class Balanced:
    """A set of features that balance each other.

    Parameters
    ----------
    features : the features, increasing.
    weight : the norm of the sum of their weights.
    exact : whether no other set has a smaller weight for certain; False where it comes from a local search.
    """

    features: tuple[int, ...]
    weight: float
    exact: bool


def balanced(weights: ArrayLike, size: int | None = None, *, starts: int = 32, random_state: int = 0) -> Balanced:
    """The set of features for which the norm of the sum of their weights is smallest.

    It is found exactly by meeting in the middle: the sums of all subsets of one half of the features are sorted, and each subset
    of the other half looks for those that nearly cancel it. That takes 2**(n/2) steps for weights on a line, up to 44 features.
    For weights in space (more than two classes) the subsets of a half are sorted into cells; up to 40 features, and only where
    no more than 2**27 pairs of subsets lie close enough in the first two coordinates. Sizes of which there are few sets are
    enumerated whatever the number of features. Everything else is a local search from several random sets, which exchanges up
    to two features at a time as long as that helps, and says that it is one.

    Weights count as whole multiples of 2**-44 of the largest, so that their sums do not depend on an order. Sets whose weights
    agree to a relative 1e-12 are equal; of these it is the one with the lowest feature that is not in both: the lexicographically
    first of one size, and of any size rather one feature more, so that a feature that weighs nothing is always in.

    Parameters
    ----------
    weights : a number for each feature, or a row of numbers.  # (feature) or (feature, coordinate)
    size : how many features the set has; None for any number but none, whose weight is zero whatever the features are.
    starts : how many random sets the local search begins with.
    random_state : the seed of those.

    >>> balanced([3.0, 1.0, -2.0, 5.0], 2)
    Balanced(features=(1, 2), weight=1.0, exact=True)
    >>> balanced([3.0, 1.0, -2.0, -2.0]).features
    (0, 1, 2, 3)

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, definitions 2.2.3 and 2.2.4;
    Horowitz and Sahni (1974), Computing partitions with applications to the knapsack problem.
    """
    numbers = _checked(weights, size, starts, random_state)
    steps, shift = _whole(numbers)
    chosen, exact = _chosen(steps, size if len(steps) else 0, starts, random_state)
    total = steps[list(chosen)].sum(axis=0).tolist()
    return Balanced(chosen, math.ldexp(math.hypot(*total), -shift), exact)


def _checked(weights: ArrayLike, size: int | None, starts: int, random_state: int) -> Numbers:
    """The weights as rows of numbers."""
    try:
        numbers = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"weights={shown(weights)}: a number for each feature, or a row of numbers") from None
    if numbers.ndim not in (1, 2) or (numbers.ndim == 2 and not numbers.shape[1]):
        raise ParameterError(f"weights have shape {numbers.shape}; (feature) or (feature, coordinate) is needed")
    rows = numbers.reshape(len(numbers), -1) if numbers.size else np.zeros((len(numbers), 1))
    with np.errstate(over="ignore"):
        bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        large = not np.isfinite((rows**2 if rows.shape[1] > 1 else np.abs(rows)).sum()) and not len(bad)
    if len(bad) or large:
        what = f"the weight of feature {bad[0]} is {shown(rows[bad[0]].tolist())}" if len(bad) else "the weights add up to infinity"
        raise ParameterError(f"{what}; finite weights are needed: smooth the tables they come from, or leave the feature out")
    for name, value, least in (("size", size, 0), ("starts", starts, 1), ("random_state", random_state, 0)):
        if name == "size" and value is None:
            continue
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
            raise ParameterError(f"{name}={shown(value)}: a whole number, at least {least}")
    if size is not None and size > len(rows):
        raise ParameterError(f"size={size}: there are only {len(rows)} features")
    return rows


def _whole(numbers: Numbers) -> tuple[Whole, int]:
    """The weights as whole multiples of 2**-shift, coarse enough for the sum of all of them."""
    _, exponent = np.frexp(np.abs(numbers).max(initial=0.0))
    shift = min(BITS, 61 - len(numbers).bit_length()) - int(exponent)
    return np.rint(np.ldexp(numbers, shift)).astype(np.int64), shift


def _chosen(steps: Whole, size: int | None, starts: int, random_state: int) -> tuple[tuple[int, ...], bool]:
    """The set, and whether it is certain."""
    n, line = len(steps), steps.shape[1] == 1
    if size is not None and math.comb(n, size) <= FEW_SETS:
        return _enumerated(steps, size), True
    if line and n <= MOST_ON_A_LINE:
        return _on_a_line(steps, size), True
    found = _searched(steps, size, starts, random_state)
    if not line and n <= MOST_IN_SPACE:
        met = _in_space(steps, size, _squares(steps[list(found)].sum(axis=0)))
        return (found, False) if met is None else (met, True)
    return found, False


def _enumerated(steps: Whole, size: int) -> tuple[int, ...]:
    """The best of all sets of a size; they come in lexicographic order."""
    squares = np.empty(math.comb(len(steps), size))
    for at, own in enumerate(_batches(len(steps), size)):
        squares[at * PIECE : at * PIECE + len(own)] = _squares(steps[own].sum(axis=1))
    best = int(np.argmax(squares <= _tied(squares.min())))
    return next(own for at, own in enumerate(combinations(range(len(steps)), size)) if at == best)
