"""The order of the nodes in each level of a layered drawing, chosen so that few arcs cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["Levels", "Links", "uncrossed"]

Levels = list[list[int]]
Links = Mapping[int, Sequence[int]]
SWEEPS = 24
"""How often the levels are put in order, downwards and upwards in turn."""


def uncrossed(levels: Levels, above: Links, below: Links) -> Levels:
    """Return the levels in an order with few crossings of arcs.

    Each sweep sorts every level by the mean position of the neighbors in the level before it, and then exchanges adjacent nodes
    while that removes crossings. The best order of all sweeps is kept.
    """
    current = _depth_first(levels, below)
    best, fewest = current, _crossings(current, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        current = _sorted_by_mean(current, below, -1) if sweep % 2 else _sorted_by_mean(current, above, 1)
        current = _with_exchanges(current, above, below)
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = current, crossings
    return best


def _depth_first(levels: Levels, below: Links) -> Levels:
    """Return every level in the order of a depth-first search, in which the arcs of a tree do not cross."""
    seen: dict[int, None] = {}
    stack = [v for level in reversed(levels) for v in reversed(level)]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen[v] = None
            stack += reversed(below[v])
    order = {v: i for i, v in enumerate(seen)}
    return [sorted(level, key=order.__getitem__) for level in levels]


def _sorted_by_mean(levels: Levels, neighbors: Links, step: int) -> Levels:
    """Return every level sorted by the mean position of the neighbors in the level before it; `step` is 1 downwards, -1 upwards."""
    place: dict[int, float] = {}
    swept: Levels = []
    for level in levels[::step]:
        means = {v: sum(place[u] for u in neighbors[v]) / len(neighbors[v]) for v in level if neighbors[v]}
        members = sorted(level, key=lambda v, index=level.index, m=means: (m.get(v, index(v)), index(v)))  # type: ignore[misc]
        place |= {v: i for i, v in enumerate(members)}
        swept.append(members)
    return swept[::step]


def _with_exchanges(levels: Levels, above: Links, below: Links) -> Levels:
    """Return the levels after exchanges of adjacent nodes that remove crossings, in at most 8 rounds."""
    place = {v: i for level in levels for i, v in enumerate(level)}
    exchanged = [list(level) for level in levels]
    better, rounds = True, 0
    while better and rounds < 8:
        better, rounds = False, rounds + 1
        for level in exchanged:
            for i in range(len(level) - 1):
                u, v = level[i], level[i + 1]
                if sum(_gain([place[w] for w in side[u]], [place[w] for w in side[v]]) for side in (above, below)) > 0:
                    level[i], level[i + 1] = v, u
                    place[u], place[v] = i + 1, i
                    better = True
    return exchanged


def _gain(left: Sequence[int], right: Sequence[int]) -> int:
    """Return by how many the crossings decrease when two adjacent nodes, with neighbors at these positions, are exchanged."""
    return sum((a > b) - (a < b) for a in left for b in right)


def _crossings(levels: Levels, below: Links) -> int:
    """Return the number of crossings of arcs."""
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
