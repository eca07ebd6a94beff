"""The order of the nodes on each level of a layered drawing, with few crossings of arcs."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["Levels", "Links", "uncrossed"]

Levels = list[list[int]]
Links = Mapping[int, Sequence[int]]
SWEEPS = 24


def uncrossed(levels: Levels, above: Links, below: Links) -> Levels:
    """The levels in an order with few crossings: sweeps by the mean position of the neighbours, then exchanges of neighbours."""
    current = _depth_first(levels, below)
    best, fewest = current, _crossings(current, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        current = _swept(current, below, -1) if sweep % 2 else _swept(current, above, 1)
        current = _exchanged(current, above, below)
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _depth_first(levels: Levels, below: Links) -> Levels:
    """Every level in the order of a search in depth, which leaves trees without a crossing."""
    seen: dict[int, None] = {}
    stack = [v for level in reversed(levels) for v in reversed(level)]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen[v] = None
            stack += reversed(below[v])
    order = {v: i for i, v in enumerate(seen)}
    return [sorted(level, key=order.__getitem__) for level in levels]


def _swept(levels: Levels, neighbours: Links, step: int) -> Levels:
    """Every level sorted by the mean position of its neighbours in the level before it; `step` is 1 downwards, -1 upwards."""
    place: dict[int, float] = {}
    swept: Levels = []
    for level in levels[::step]:
        means = {v: sum(place[u] for u in neighbours[v]) / len(neighbours[v]) for v in level if neighbours[v]}
        own = sorted(level, key=lambda v, at=level.index, m=means: (m.get(v, at(v)), at(v)))  # type: ignore[misc]
        place |= {v: i for i, v in enumerate(own)}
        swept.append(own)
    return swept[::step]


def _exchanged(levels: Levels, above: Links, below: Links) -> Levels:
    """Neighbours in a level change places as long as that removes crossings."""
    place = {v: i for level in levels for i, v in enumerate(level)}
    own = [list(level) for level in levels]
    better, rounds = True, 0
    while better and rounds < 8:
        better, rounds = False, rounds + 1
        for level in own:
            for i in range(len(level) - 1):
                u, v = level[i], level[i + 1]
                if sum(_gain([place[w] for w in side[u]], [place[w] for w in side[v]]) for side in (above, below)) > 0:
                    level[i], level[i + 1] = v, u
                    place[u], place[v] = i + 1, i
                    better = True
    return own


def _gain(left: Sequence[int], right: Sequence[int]) -> int:
    """How many crossings two members lose when they change places, from the positions of their neighbours."""
    return sum((a > b) - (a < b) for a in left for b in right)


def _crossings(levels: Levels, below: Links) -> int:
    total = 0
    for upper, lower in pairwise(levels):
        place = {v: i for i, v in enumerate(lower)}
        seen: list[int] = []
        for v in upper:
            ends = [place[c] for c in below[v]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total
