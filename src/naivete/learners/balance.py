"""The maximally balanced set: the features whose weights come closest to cancelling out."""

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

Whole = NDArray[np.int64]

MOST_ON_A_LINE = 44
MOST_IN_SPACE = 40
FEW_CELLS = 1 << 20
"""Sets of a size are enumerated where all of them together have no more members than this."""
MEETINGS = 1 << 27
"""How many pairs of subsets are looked at in space."""
PIECE = 1 << 19
BITS = 50
EQUAL = 1e-12
LARGEST = 1e150


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

    Weights count as whole multiples of 2**-50 of the largest, so that their sums do not depend on an order. Sets whose weights
    agree to a relative 1e-12 are equal; of these it is the one with the lowest feature that is not in both: the lexicographically
    first of one size, and of any size rather one feature more, so that a feature that weighs nothing is always in.

    Parameters
    ----------
    weights : a number for each feature, or a row of numbers.  # (feature) or (feature, coordinate)
    size : how many features the set has; None for any number but none, whose weight is zero whatever the features are.
    starts : how many random sets the local search begins with.
    random_state : the seed of those.

    >>> balanced([3.0, 1.5, -2.0, 5.0], 2)
    Balanced(features=(1, 2), weight=0.5, exact=True)
    >>> balanced([3.0, 1.0, -2.0, -2.0]).features
    (0, 1, 2, 3)

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, definitions 2.2.3 and 2.2.4;
    Horowitz and Sahni (1974), Computing partitions with applications to the knapsack problem.
    """
    steps, shift = _whole(_checked(weights))
    _check_settings(len(steps), size, starts, random_state)
    chosen, exact = _chosen(steps, size if len(steps) else 0, starts, random_state)
    total = steps[list(chosen)].sum(axis=0).tolist()
    return Balanced(chosen, math.ldexp(math.hypot(*total), -shift), exact)


def _checked(weights: ArrayLike) -> Numbers:
    """The weights as rows of finite numbers.  # (feature, coordinate)"""
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
            "it has to be finite: smooth the tables it comes from, or leave the feature out"
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
            raise ParameterError(f"size={size}: there are {n} features; give at most so many, or None for any number")


def _whole(numbers: Numbers) -> tuple[Whole, int]:
    """The weights as whole multiples of 2**-shift, coarse enough for the sum of all of them."""
    _, exponent = np.frexp(np.abs(numbers).max(initial=0.0))
    shift = min(BITS, 61 - len(numbers).bit_length()) - int(exponent)
    return np.rint(np.ldexp(numbers, shift)).astype(np.int64), shift


def _chosen(steps: Whole, size: int | None, starts: int, random_state: int) -> tuple[tuple[int, ...], bool]:
    """The set, and whether it is certain."""
    n, line = len(steps), steps.shape[1] == 1
    if size is not None and math.comb(n, size) * max(1, size) <= FEW_CELLS:
        return _enumerated(steps, size), True
    if line and n <= MOST_ON_A_LINE:
        return _on_a_line(steps, size), True
    found = _searched(steps, size, starts, random_state)
    met = None if line or n > MOST_IN_SPACE else _in_space(steps, size, float(_squares(steps[list(found)].sum(axis=0))))
    return (found, False) if met is None else (met, True)


def _squares(sums: Whole) -> Numbers:
    """The squared norms; coordinate by coordinate, so that the same sums have the same norm wherever they stand."""
    total = np.zeros(sums.shape[:-1])
    for c in range(sums.shape[-1]):
        own = sums[..., c].astype(np.float64)
        total += own * own
    return total


def _tied(least: float) -> float:
    """The largest squared norm that counts as equal to the least one."""
    return least * (1 + 2 * EQUAL)


def _enumerated(steps: Whole, size: int) -> tuple[int, ...]:
    """The best of all sets of a size, which come in lexicographic order."""
    sets = list(combinations(range(len(steps)), size))
    squares = _squares(steps[np.array(sets, np.int64)].sum(axis=1))
    return sets[int(np.argmax(squares <= _tied(squares.min())))]


@dataclass(frozen=True, eq=False)
class _Half:
    """The sums of some subsets of one half of the features.

    Parameters
    ----------
    masks : the subsets, increasing; the first feature is the highest bit, so that of two equal sets the larger number is wanted.
    sums : the sums of their weights.  # (subset, coordinate)
    """

    masks: Whole
    sums: Whole

    def take(self, which: Any) -> _Half:
        """Some of the subsets."""
        return _Half(self.masks[which], self.sums[which])


def _half(steps: Whole) -> _Half:
    sums = np.zeros((1, steps.shape[1]), np.int64)
    for own in steps[::-1]:
        sums = np.concatenate([sums, sums + own])
    return _Half(np.arange(len(sums)), sums)


def _halves(steps: Whole, size: int | None) -> Iterator[tuple[_Half, _Half]]:
    """Subsets of the two halves of the features, each of the first with each of the second: all sets that are asked for."""
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


def _on_a_line(steps: Whole, size: int | None) -> tuple[int, ...]:
    """The best set where the weights are single numbers."""
    bits = len(steps) - len(steps) // 2
    least = min(_least_on_a_line(one, two) for one, two in _halves(steps, size) if len(one.masks))
    limit = least + int(least * EQUAL)
    return _features(max(_first_on_a_line(one, two, limit, bits) for one, two in _halves(steps, size)), len(steps))


def _pieces(count: int) -> list[slice]:
    return [slice(at, min(at + PIECE, count)) for at in range(0, count, PIECE)]


def _least_on_a_line(one: _Half, two: _Half) -> int:
    """The smallest weight of a set of two subsets."""
    ahead, back = np.sort(one.sums[:, 0]), np.sort(two.sums[:, 0])
    least = []
    for piece in _pieces(len(ahead)):
        own = ahead[piece]
        at = np.searchsorted(back, -own)
        least += [np.abs(own + back[np.maximum(at - 1, 0)]).min(), np.abs(own + back[np.minimum(at, len(back) - 1)]).min()]
    return int(min(least))


def _first_on_a_line(one: _Half, two: _Half, limit: int, bits: int) -> int:
    """The largest number of a set of two subsets whose weight is within the limit, -1 where there is none."""
    back = np.sort(two.sums[:, 0])
    for piece in reversed(_pieces(len(one.masks))):
        own = one.sums[piece, 0]
        near = np.searchsorted(back, limit - own, side="right") > np.searchsorted(back, -limit - own)
        if near.any():
            i = piece.start + int(np.flatnonzero(near)[-1])
            j = np.flatnonzero(np.abs(two.sums[:, 0] + one.sums[i, 0]) <= limit)[-1]
            return int(one.masks[i]) << bits | int(two.masks[j])
    return -1


def _in_space(steps: Whole, size: int | None, known: float) -> tuple[int, ...] | None:
    """The best set, given the squared norm of some set; None where too many pairs of subsets come close.

    Where too many come as close as the known set, the closest of them give a better one first.
    """
    bits = len(steps) - len(steps) // 2
    wide = steps[:, np.argsort(-np.abs(steps).sum(axis=0), kind="stable")]
    pairs = [(_distinct(one), _distinct(two)) for one, two in _halves(wide, size) if len(one.masks)]
    for _ in range(2):
        reach, near = _affordable(pairs, _reach(known))
        known = min([known, *(own.least() for own in near)])
        if _reach(known) <= reach:
            limit = _tied(known)
            return _features(max(_Near(one, two, _reach(limit)).first(limit, bits) for one, two in pairs), len(steps))
    return None


def _affordable(pairs: list[tuple[_Half, _Half]], reach: int) -> tuple[int, list[_Near]]:
    """The pairs of subsets within a reach, or within the largest that is tried and leaves few enough of them; 0 if none does."""
    while reach:
        near = [_Near(one, two, reach) for one, two in pairs]
        count = sum(own.count for own in near)
        if count <= MEETINGS:
            return reach, near
        reach = int(reach * min(0.5, math.sqrt(MEETINGS / count)))
    return 0, []


def _reach(square: float) -> int:
    """How far from zero a coordinate of a sum with such a squared norm can be."""
    return int(math.sqrt(square) * (1 + 1e-9)) + 1


def _distinct(half: _Half) -> _Half:
    """Of the subsets with the same sums the last."""
    order = np.lexsort((half.masks, *half.sums.T))
    sums = half.sums[order]
    last = np.append(np.any(sums[1:] != sums[:-1], axis=1), True)
    return half.take(np.sort(order[last]))


class _Near:
    """The pairs of subsets, one of each half, whose sums nearly cancel in the first two coordinates.

    The second half is sorted by cells of the first coordinate, so wide that two of them hold all that may cancel a sum, and
    within a cell by the second coordinate.

    Parameters
    ----------
    one, two : subsets of the first and of the second half.
    reach : how far from zero either coordinate of both together may be.
    """

    def __init__(self, one: _Half, two: _Half, reach: int) -> None:
        self.one, self.two = one, two
        width = 2 * reach + 1
        cells, cell = np.unique(two.sums[:, 0] // width, return_inverse=True)
        heights, height = np.unique(two.sums[:, 1], return_inverse=True)
        keys = cell * len(heights) + height
        self._order = np.argsort(keys, kind="stable")
        wanted = (-reach - one.sums[:, 0]) // width + np.arange(2)[:, None]  # (cell, subset)
        at = np.searchsorted(cells, wanted)
        there = cells[np.minimum(at, len(cells) - 1)] == wanted
        low = np.searchsorted(heights, -reach - one.sums[:, 1])
        high = np.searchsorted(heights, reach - one.sums[:, 1], side="right")
        start, stop = (np.searchsorted(keys[self._order], at * len(heights) + height) for height in (low, high))
        self._start, self._counts = start.ravel(), np.where(there, stop - start, 0).ravel()

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return int(self._counts.sum())

    def _pairs(self) -> Iterator[tuple[Whole, Whole, Numbers]]:
        """The pairs, as positions in the halves, and their squared norms; some at a time."""
        some = np.flatnonzero(self._counts)
        ends = np.cumsum(self._counts[some])
        for part in np.split(some, np.searchsorted(ends, np.arange(PIECE, ends[-1] if len(ends) else 0, PIECE))):
            counts = self._counts[part]
            ahead = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            i = np.repeat(part, counts) % len(self.one.masks)
            j = self._order[np.repeat(self._start[part], counts) + ahead]
            yield i, j, _squares(self.one.sums[i] + self.two.sums[j])

    def least(self) -> float:
        """The smallest squared norm."""
        return min((float(squares.min(initial=np.inf)) for _, _, squares in self._pairs()), default=np.inf)

    def first(self, limit: float, bits: int) -> int:
        """The largest number of a set whose squared norm is within the limit, -1 where there is none."""
        found = -1
        for i, j, squares in self._pairs():
            fits = squares <= limit
            found = max(found, int((self.one.masks[i[fits]] << bits | self.two.masks[j[fits]]).max(initial=-1)))
        return found


def _searched(steps: Whole, size: int | None, starts: int, random_state: int) -> tuple[int, ...]:
    """The best set that descents from random sets end in."""
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


def _descend(steps: Whole, inside: NDArray[np.bool_], free: bool, rng: np.random.Generator) -> None:
    """Move features in or out, two at a time or one, as long as that makes the norm smaller; exchange them where not `free`."""
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
    """With which features x may change sides; with itself: alone. Something has to stay inside."""
    if not free:
        return np.asarray(inside != inside[x])
    change = np.where(inside, -1, 1)
    both = change + change[x]
    both[x] = change[x]
    return np.asarray(np.count_nonzero(inside) + both > 0)
