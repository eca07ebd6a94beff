"""What every back end offers, and the exact form of weights that makes sums independent of their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.variables import Variables

__all__ = ["Block", "Cases", "Parts", "added", "combined", "limbs", "summed"]

T = TypeVar("T")
Codes = tuple[NDArray[Any], ...]
LIMB = 32
Parts = dict[int, NDArray[np.int64]]
"""Sums of weights as limbs: sum over q of parts[q] * 2**(32 q)."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: one array of codes for each variable, the class last, and perhaps a weight for each row."""

    codes: Codes
    weight: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.codes[-1])

    def take(self, rows: NDArray[Any]) -> Block:
        """The block with these rows only."""
        weight = None if self.weight is None else self.weight[rows]
        return Block(tuple(column[rows] for column in self.codes), weight)


class Cases(Protocol):
    """Rows that can be gone through block by block, in any order and in parallel."""

    @property
    def variables(self) -> Variables:
        """The variables, the class last."""

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Which features have missing values; known from the pass that fixed the schema."""

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """The function's value for every block, in the order of the rows."""

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """The function's values for all blocks, merged; `merge` must be associative and commutative."""


def limbs(weight: NDArray[np.float64] | None) -> dict[int, NDArray[np.int64] | None]:
    """Weights as exact integers: weight = sum over q of limb[q] * 2**(32 q), each limb below 2**32.

    Sums of limbs are sums of integers, so they do not depend on the order of the rows, on chunks or on threads.

    >>> {q: v.tolist() for q, v in limbs(np.array([1.0, 2.5])).items()}
    {0: [1, 2], -1: [0, 2147483648]}
    """
    if weight is None:
        return {0: None}
    _, exponent = np.frexp(weight[weight > 0])
    found: dict[int, NDArray[np.int64] | None] = {}
    top = (int(exponent.max(initial=1)) - 1) // LIMB
    rest = weight.copy()
    for q in range(top, -35, -1):  # 2**(32 * -34) lies below the smallest float
        limb = np.floor(np.ldexp(rest, -LIMB * q))
        if limb.any() or q == top:
            found[q] = limb.astype(np.int64)
            rest -= np.ldexp(limb, LIMB * q)
        if not rest.any():
            break
    return found


def combined(parts: Parts) -> NDArray[Any]:
    """The sums that the limbs stand for: int64 where the weights were whole numbers, else float64.

    The carries are settled first, so that equal sums give equal floats however they were added up.
    """
    if set(parts) == {0}:
        return parts[0]
    low, high = min(parts), max(parts)
    total = np.zeros(parts[high].shape)
    carry = np.zeros(parts[high].shape, np.int64)
    for q in range(low, high + 1):
        value = parts[q] + carry if q in parts else carry
        carry = value >> LIMB
        total += np.ldexp((value & ((1 << LIMB) - 1)).astype(np.float64), LIMB * q)
    return total + np.ldexp(carry.astype(np.float64), LIMB * (high + 1))


def added(one: Parts, two: Parts) -> Parts:
    """The sum of two sums."""
    both = {q: one[q] + two[q] for q in one.keys() & two.keys()}
    return {**one, **two, **both}


def summed(parts: Iterable[Parts]) -> Parts:
    """The sum of many sums, at least one."""
    return reduce(added, parts)
