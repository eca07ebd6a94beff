"""Exact sums of weights by integer arithmetic: the result does not depend on the order of rows, chunks, threads or machines."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "LARGEST_EXACT",
    "LIMB",
    "LimbSums",
    "add_sums",
    "halve_sums",
    "limbs",
    "nonzero_sums",
    "propagate_carries",
    "subtract_sums",
    "sum_all",
    "sums_as_numbers",
]

LARGEST_EXACT = 2**53
"""All whole numbers up to this are exact as floats."""
LIMB = 32
"""The bits of a limb; see `LimbSums`."""
LimbSums = dict[int, NDArray[np.int64]]
"""Sums of weights, represented by integer limbs: sum over q of parts[q] * 2**(32 q)."""


def limbs(weight: NDArray[np.float64] | None) -> dict[int, NDArray[np.int64] | None]:
    """Return the weights as exact integers: weight = sum over q of limb[q] * 2**(32 q), each limb below 2**32.

    Sums of limbs are sums of integers, so they do not depend on the order of the rows, on chunks or on threads.

    >>> {q: v.tolist() for q, v in limbs(np.array([1.0, 2.5])).items()}
    {0: [1, 2], -1: [0, 2147483648]}
    """
    if weight is None:
        return {0: None}
    _, exponent = np.frexp(weight[weight > 0])
    parts: dict[int, NDArray[np.int64] | None] = {}
    top = (int(exponent.max(initial=1)) - 1) // LIMB
    rest = weight.copy()
    for q in range(top, -35, -1):  # 2**(32 * -34) is below the smallest float
        limb = np.floor(np.ldexp(rest, -LIMB * q))
        if limb.any() or q == top:
            parts[q] = limb.astype(np.int64)
            rest -= np.ldexp(limb, LIMB * q)
        if not rest.any():
            break
    return parts


def sums_as_numbers(parts: LimbSums) -> NDArray[Any]:
    """Return the sums that the limbs represent: int64 if all weights were integers, otherwise float64.

    Carries are propagated first, so that equal sums give equal floats whatever the order of the additions.
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


def add_sums(one: LimbSums, two: LimbSums) -> LimbSums:
    """Return the sum of two sums."""
    both = {q: one[q] + two[q] for q in one.keys() & two.keys()}
    return {**one, **two, **both}


def sum_all(parts: Iterable[LimbSums]) -> LimbSums:
    """Return the sum of one or more sums."""
    return reduce(add_sums, parts)


def propagate_carries(parts: LimbSums) -> LimbSums:
    """Return the same sums with carries propagated: all limbs but the highest are in [0, 2**32), so equal sums have equal limbs.

    >>> {q: v.tolist() for q, v in propagate_carries({0: np.array([2**32 + 1]), 1: np.array([1])}).items()}
    {0: [1], 1: [2]}
    """
    low, high = min(parts), max(parts)
    normalized: LimbSums = {}
    carry = np.zeros(parts[high].shape, np.int64)
    for q in range(low, high):
        value = parts[q] + carry if q in parts else carry
        carry = value >> LIMB
        normalized[q] = value - (carry << LIMB)
    return {**normalized, high: parts[high] + carry}


def subtract_sums(one: LimbSums, two: LimbSums) -> LimbSums:
    """Return the difference of two sums with carries propagated; it is negative exactly where the highest limb is negative.

    >>> {q: v.tolist() for q, v in subtract_sums({0: np.array([3])}, {0: np.array([2]), -1: np.array([1])}).items()}
    {-1: [4294967295], 0: [0]}
    """
    return propagate_carries(add_sums(one, {q: -part for q, part in two.items()}))


def halve_sums(parts: LimbSums, times: int) -> LimbSums:
    """Return the sums divided by 2**times, exactly: the bits of every limb move to lower ones.

    Weights that are halved are not integers, although their sums may be; a limb of zeros says so, and all sums of the same weights
    become numbers of the same type.

    >>> {q: v.tolist() for q, v in sorted(halve_sums({0: np.array([5, 4])}, 1).items())}
    {-1: [2147483648, 0], 0: [2, 2]}
    >>> {q: v.tolist() for q, v in sorted(halve_sums({0: np.array([6, 4])}, 1).items())}
    {-1: [0, 0], 0: [3, 2]}
    """
    limb, bits = divmod(times, LIMB)
    halved: LimbSums = {}
    for q, part in parts.items():
        low = (part & ((1 << bits) - 1)) << (LIMB - bits)
        halved = add_sums(halved, {q - limb: part >> bits, **({q - limb - 1: low} if low.any() else {})})
    return halved if set(halved) != {0} else {**halved, -1: np.zeros_like(halved[0])}


def nonzero_sums(parts: LimbSums) -> NDArray[np.bool_]:
    """Return where the sums are not zero; the limbs must be nonnegative, or have their carries propagated."""
    return np.asarray(np.logical_or.reduce([part != 0 for part in parts.values()]))
