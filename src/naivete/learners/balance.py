"""The maximally balanced set: the set of features whose weights sum to a vector of the smallest norm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, quoted
from naivete.learners.parameters import checked_integer

__all__ = ["Balanced", "balanced"]

Integers = NDArray[np.int64]

MOST_ON_A_LINE = 44
"""The largest number of features for an exact search with one weight each."""
MOST_IN_SPACE = 40
"""The largest number of features for an exact search with several weights each."""
FEW_CELLS = 1 << 20
"""All sets of a size are enumerated where together they have no more members than this."""
MOST_PAIRS = 1 << 27
"""The largest number of pairs of subsets that are compared in space."""
PIECE = 1 << 19
"""How many subsets are processed at a time."""
BITS = 50
"""Weights are rounded to multiples of 2**-BITS of the largest."""
EQUAL = 1e-12
"""Norms whose relative difference is not larger are equal."""
LARGEST = 1e150
"""The largest weight, whose square is still finite."""


@dataclass(frozen=True)
class Balanced:
    """A balanced set of features.

    Parameters
    ----------
    features : the features, increasing.
    weight : the norm of the sum of their weights.
    exact : whether it is certain that no other set has a smaller weight; False for a local search.
    """

    features: tuple[int, ...]
    weight: float
    exact: bool


def balanced(weights: ArrayLike, size: int | None = None, *, starts: int = 32, random_state: int = 0) -> Balanced:
    """Return the set of features for which the norm of the sum of their weights is smallest.

    The search is exact where possible. With one weight for each feature and up to 44 features it meets in the middle: the sums of
    all subsets of one half of the features are sorted, and for each subset of the other half the closest of them is looked up,
    which takes 2**(n/2) steps. With several weights for each feature (more than two classes) the subsets of one half are sorted
    into cells; this is exact for up to 40 features if at most 2**27 pairs of subsets are close in the first two coordinates.
    Sizes with few sets are enumerated for any number of features. Otherwise a local search starts from several random sets and
    exchanges up to two features at a time while that improves the set; then `exact` is False.

    Weights are rounded to multiples of 2**-50 of the largest, so that their sums do not depend on the order of the features. Sets
    whose weights agree to a relative 1e-12 are equal; then the set that contains the lowest feature which is not in both is
    returned. So a feature of weight zero is always in a set of any size.

    Parameters
    ----------
    weights : the weight of each feature, or a row of weights.  # (feature) or (feature, coordinate)
    size : the number of features of the set; None for any number except 0.
    starts : the number of random sets from which the local search starts.
    random_state : the seed of those sets.

    >>> balanced([3.0, 1.5, -2.0, 5.0], 2)
    Balanced(features=(1, 2), weight=0.5, exact=True)
    >>> balanced([3.0, 1.0, -2.0, -2.0]).features
    (0, 1, 2, 3)

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, definitions 2.2.3 and 2.2.4;
    Horowitz and Sahni (1974), Computing partitions with applications to the knapsack problem.
    """
    steps, shift = _as_integers(_checked(weights))
    _check_settings(len(steps), size, starts, random_state)
    chosen, exact = _chosen(steps, size if len(steps) else 0, starts, random_state)
    total = steps[list(chosen)].sum(axis=0).tolist()
    return Balanced(chosen, math.ldexp(math.hypot(*total), -shift), exact)


def _checked(weights: ArrayLike) -> Numbers:
    """Return the weights as rows of finite numbers.  # (feature, coordinate)"""
    try:
        numbers = np.asarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"weights={quoted(weights)}: a number for each feature, or a row of numbers") from None
    if numbers.ndim not in (1, 2) or (numbers.ndim == 2 and not numbers.shape[1]):
        raise ParameterError(f"weights of shape {numbers.shape}: a number for each feature, or a row of numbers")
    rows = numbers[:, None] if numbers.ndim == 1 else numbers
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise ParameterError(
            f"the weight of feature {bad[0]} is {quoted(rows[bad[0]].tolist())}; "
            "it must be finite: smooth the tables it comes from, or leave the feature out"
        )
    if np.abs(rows).max(initial=0.0) > LARGEST:
        raise ParameterError(f"a weight is {np.abs(rows).max():.3g}; at most {LARGEST:.0e} is allowed: divide all of them")
    return rows


def _check_settings(n: int, size: int | None, starts: int, random_state: int) -> None:
    checked_integer(starts, "starts", 1)
    checked_integer(random_state, "random_state")
    if size is not None:
        checked_integer(size, "size")
        if size > n:
            raise ParameterError(f"size={size}: there are {n} features; choose at most {n}, or None for any number")


def _as_integers(numbers: Numbers) -> tuple[Integers, int]:
    """Return the weights as integer multiples of 2**-shift, such that the sum of all fits 64 bits, and the shift."""
    _, exponent = np.frexp(np.abs(numbers).max(initial=0.0))
    shift = min(BITS, 61 - len(numbers).bit_length()) - int(exponent)
    return np.rint(np.ldexp(numbers, shift)).astype(np.int64), shift


def _chosen(steps: Integers, size: int | None, starts: int, random_state: int) -> tuple[tuple[int, ...], bool]:
    """Return the set, and whether it is exact."""
    n, one_weight = len(steps), steps.shape[1] == 1
    if size is not None and math.comb(n, size) * max(1, size) <= FEW_CELLS:
        return _enumerated(steps, size), True
    if one_weight and n <= MOST_ON_A_LINE:
        return _on_a_line(steps, size), True
    local = _searched(steps, size, starts, random_state)
    bound = float(_squares(steps[list(local)].sum(axis=0)))
    exact = None if one_weight or n > MOST_IN_SPACE else _in_space(steps, size, bound)
    return (local, False) if exact is None else (exact, True)


def _squares(sums: Integers) -> Numbers:
    """Return the squared norms, summed coordinate by coordinate, so that equal sums have exactly equal norms."""
    total = np.zeros(sums.shape[:-1])
    for c in range(sums.shape[-1]):
        coordinate = sums[..., c].astype(np.float64)
        total += coordinate * coordinate
    return total


def _tied(least: float) -> float:
    """Return the largest squared norm that counts as equal to the smallest."""
    return least * (1 + 2 * EQUAL)


def _enumerated(steps: Integers, size: int) -> tuple[int, ...]:
    """Return the best of all sets of a size, the lexicographically first of equals."""
    sets = list(combinations(range(len(steps)), size))
    squares = _squares(steps[np.array(sets, np.int64)].sum(axis=1))
    return sets[int(np.argmax(squares <= _tied(squares.min())))]


@dataclass(frozen=True, eq=False)
class _Half:
    """The sums of some subsets of one half of the features.

    Parameters
    ----------
    masks : the subsets as bits, increasing; the first feature is the highest bit, so that ties go to the larger number.
    sums : the sums of their weights.  # (subset, coordinate)
    """

    masks: Integers
    sums: Integers

    def take(self, which: Any) -> _Half:
        """Return some of the subsets."""
        return _Half(self.masks[which], self.sums[which])


def _half(steps: Integers) -> _Half:
    sums = np.zeros((1, steps.shape[1]), np.int64)
    for weight in steps[::-1]:
        sums = np.concatenate([sums, sums + weight])
    return _Half(np.arange(len(sums)), sums)


def _halves(steps: Integers, size: int | None) -> Iterator[tuple[_Half, _Half]]:
    """Pairs of collections of subsets of the two halves; the unions of a subset from each are all sets of the wanted size."""
    middle = len(steps) // 2
    one, two = _half(steps[:middle]), _half(steps[middle:])
    if size is None:
        yield one, two.take(slice(1, None))
        yield one.take(slice(1, None)), two.take(slice(0, 1))
        return
    first, second = np.bitwise_count(one.masks), np.bitwise_count(two.masks)
    for count in range(max(0, size - (len(steps) - middle)), min(middle, size) + 1):
        yield one.take(np.flatnonzero(first == count)), two.take(np.flatnonzero(second == size - count))


def _features(mask: int, n: int) -> tuple[int, ...]:
    return tuple(x for x in range(n) if mask >> (n - 1 - x) & 1)


def _on_a_line(steps: Integers, size: int | None) -> tuple[int, ...]:
    """Return the best set where each feature has one weight."""
    bits = len(steps) - len(steps) // 2
    least = min(_least_on_a_line(one, two) for one, two in _halves(steps, size) if len(one.masks))
    limit = least + int(least * EQUAL)
    return _features(max(_first_on_a_line(one, two, limit, bits) for one, two in _halves(steps, size)), len(steps))


def _pieces(count: int) -> list[slice]:
    return [slice(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]


def _least_on_a_line(one: _Half, two: _Half) -> int:
    """Return the smallest weight of the union of a subset from each half."""
    first, second = np.sort(one.sums[:, 0]), np.sort(two.sums[:, 0])
    least: list[int] = []
    for piece in _pieces(len(first)):
        sums = first[piece]
        position = np.searchsorted(second, -sums)
        neighbors = (np.maximum(position - 1, 0), np.minimum(position, len(second) - 1))
        least.extend(np.abs(sums + second[near]).min() for near in neighbors)
    return int(min(least))


def _first_on_a_line(one: _Half, two: _Half, limit: int, bits: int) -> int:
    """Return the largest mask of a union whose weight is within the limit, -1 where there is none."""
    second = np.sort(two.sums[:, 0])
    for piece in reversed(_pieces(len(one.masks))):
        sums = one.sums[piece, 0]
        near = np.searchsorted(second, limit - sums, side="right") > np.searchsorted(second, -limit - sums)
        if near.any():
            i = piece.start + int(np.flatnonzero(near)[-1])
            j = np.flatnonzero(np.abs(two.sums[:, 0] + one.sums[i, 0]) <= limit)[-1]
            return int(one.masks[i]) << bits | int(two.masks[j])
    return -1


def _in_space(steps: Integers, size: int | None, known: float) -> tuple[int, ...] | None:
    """Return the best set, given the squared norm of some set; None where too many pairs of subsets are close.

    Where too many pairs are within the bound of the known set, the closest of them give a better bound first.
    """
    bits = len(steps) - len(steps) // 2
    wide = steps[:, np.argsort(-np.abs(steps).sum(axis=0), kind="stable")]
    pairs = [(_distinct(one), _distinct(two)) for one, two in _halves(wide, size) if len(one.masks)]
    for _ in range(2):
        radius, near = _affordable(pairs, _radius(known))
        known = min([known, *(pair.least() for pair in near)])
        if _radius(known) <= radius:
            limit = _tied(known)
            return _features(max(_Near(one, two, _radius(limit)).first(limit, bits) for one, two in pairs), len(steps))
    return None


def _affordable(pairs: list[tuple[_Half, _Half]], radius: int) -> tuple[int, list[_Near]]:
    """Return the pairs of subsets within a radius; it is reduced until there are few enough pairs (0 if that fails)."""
    while radius:
        near = [_Near(one, two, radius) for one, two in pairs]
        count = sum(pair.count for pair in near)
        if count <= MOST_PAIRS:
            return radius, near
        radius = int(radius * min(0.5, math.sqrt(MOST_PAIRS / count)))
    return 0, []


def _radius(square: float) -> int:
    """Return the largest absolute coordinate of a sum with such a squared norm."""
    return int(math.sqrt(square) * (1 + 1e-9)) + 1


def _distinct(half: _Half) -> _Half:
    """Return, of the subsets with the same sums, the last."""
    order = np.lexsort((half.masks, *half.sums.T))
    sums = half.sums[order]
    last = np.append(np.any(sums[1:] != sums[:-1], axis=1), True)
    return half.take(np.sort(order[last]))


class _Near:
    """The pairs of subsets, one of each half, whose sums nearly cancel in the first two coordinates.

    The second half is sorted by cells of the first coordinate, wide enough that two cells contain all candidates for a sum, and
    within a cell by the second coordinate.

    Parameters
    ----------
    one, two : subsets of the first and of the second half.
    radius : the largest absolute value of both coordinates of a sum.
    """

    def __init__(self, one: _Half, two: _Half, radius: int) -> None:
        self.one, self.two = one, two
        width = 2 * radius + 1
        cells, cell = np.unique(two.sums[:, 0] // width, return_inverse=True)
        heights, height = np.unique(two.sums[:, 1], return_inverse=True)
        keys = cell * len(heights) + height
        self._order = np.argsort(keys, kind="stable")
        wanted = (-radius - one.sums[:, 0]) // width + np.arange(2)[:, None]  # (cell, subset)
        position = np.searchsorted(cells, wanted)
        exists = cells[np.minimum(position, len(cells) - 1)] == wanted
        low = np.searchsorted(heights, -radius - one.sums[:, 1])
        high = np.searchsorted(heights, radius - one.sums[:, 1], side="right")
        start, stop = (np.searchsorted(keys[self._order], position * len(heights) + height) for height in (low, high))
        self._start, self._counts = start.ravel(), np.where(exists, stop - start, 0).ravel()

    @property
    def count(self) -> int:
        """The number of pairs."""
        return int(self._counts.sum())

    def _pairs(self) -> Iterator[tuple[Integers, Integers, Numbers]]:
        """The pairs, as positions in the halves, and their squared norms, in pieces."""
        some = np.flatnonzero(self._counts)
        ends = np.cumsum(self._counts[some])
        for part in np.split(some, np.searchsorted(ends, np.arange(PIECE, ends[-1] if len(ends) else 0, PIECE))):
            counts = self._counts[part]
            ahead = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            i = np.repeat(part, counts) % len(self.one.masks)
            j = self._order[np.repeat(self._start[part], counts) + ahead]
            yield i, j, _squares(self.one.sums[i] + self.two.sums[j])

    def least(self) -> float:
        """Return the smallest squared norm."""
        return min((float(squares.min(initial=np.inf)) for _, _, squares in self._pairs()), default=np.inf)

    def first(self, limit: float, bits: int) -> int:
        """Return the largest mask of a set whose squared norm is within the limit, -1 where there is none."""
        largest = -1
        for i, j, squares in self._pairs():
            fits = squares <= limit
            largest = max(largest, int((self.one.masks[i[fits]] << bits | self.two.masks[j[fits]]).max(initial=-1)))
        return largest


def _searched(steps: Integers, size: int | None, starts: int, random_state: int) -> tuple[int, ...]:
    """Return the best set that local searches from random sets end in."""
    ends = []
    for start in range(starts):
        rng = np.random.default_rng([random_state, start])
        count = int(rng.integers(1, len(steps) + 1)) if size is None else size
        inside = np.zeros(len(steps), bool)
        inside[rng.permutation(len(steps))[:count]] = True
        _descend(steps, inside, size is None, rng)
        ends.append((float(_squares(steps[inside].sum(axis=0))), inside.tobytes()))
    limit = _tied(min(ends)[0])
    best = max(inside for square, inside in ends if square <= limit)
    return tuple(np.flatnonzero(np.frombuffer(best, bool)).tolist())


def _descend(steps: Integers, inside: NDArray[np.bool_], free: bool, rng: np.random.Generator) -> None:
    """Add or remove one or two features (or exchange two, if not `free`) while that reduces the norm."""
    signed = np.where(inside, -1, 1)[:, None] * steps
    total = steps[inside].sum(axis=0)
    square, better = float(_squares(total)), True
    while better:
        better = False
        for x in rng.permutation(len(steps)).tolist():
            after = total + signed[x] + signed
            after[x] = total + signed[x]
            squares = np.where(_allowed(inside, x, free), _squares(after), np.inf)
            y = int(np.argmin(squares))
            if squares[y] < square:
                square, total, better = float(squares[y]), after[y], True
                for moved in {x, y}:
                    inside[moved] = not inside[moved]
                    signed[moved] = -signed[moved]


def _allowed(inside: NDArray[np.bool_], x: int, free: bool) -> NDArray[np.bool_]:
    """Return with which features x may be moved, with x itself meaning alone; the set must not become empty."""
    if not free:
        return np.asarray(inside != inside[x])
    change = np.where(inside, -1, 1)
    both = change + change[x]
    both[x] = change[x]
    return np.asarray(np.count_nonzero(inside) + both > 0)
