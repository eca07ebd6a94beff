"""Layered layout of directed acyclic graphs: positions of nodes and routes of arcs, with few crossings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple

from naivete.display.crossings import Levels, Links, uncrossed
from naivete.errors import ParameterError

__all__ = ["HEIGHT", "Arc", "Box", "Layout", "Point", "grid", "layering", "layout", "spread"]

Arc = tuple[int, int]
Point = tuple[float, float]

HEIGHT = 38.0
"""The height of a node."""
_GAP, _LANE = 20.0, 13.0  # distance between two nodes, and beside an arc that passes through a layer
_BETWEEN, _PORTS = 34.0, 16.0  # distance between two components, and between two arrow heads at one node
_RELAXATIONS = 120
_SMALL_GRAPH = 60  # up to this number of nodes a drawing keeps to its width


class Box(NamedTuple):
    """A rectangle: its upper left corner and its size."""

    x: float
    y: float
    width: float
    height: float = HEIGHT

    @property
    def centre(self) -> float:
        """The horizontal middle."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height


@dataclass(frozen=True)
class Layout:
    """The position of every node and the route of every arc.

    Parameters
    ----------
    width, height : the size of the drawing.
    boxes : the rectangle of every node.
    routes : the points of every arc, from the lower edge of the parent to the upper edge of the child. Each pair of points at
        positions 2i, 2i + 1 is one curve from a layer to the next; between the pairs the arc goes straight down.
    """

    width: float
    height: float
    boxes: Mapping[int, Box] = field(default_factory=dict)
    routes: Mapping[Arc, tuple[Point, ...]] = field(default_factory=dict)

    @property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of every layer, from top to bottom and from left to right."""
        rows: dict[float, list[int]] = {}
        for v, box in sorted(self.boxes.items(), key=lambda item: (item[1].y, item[1].x)):
            rows.setdefault(box.y, []).append(v)
        return tuple(map(tuple, rows.values()))

    def moved(self, dx: float, dy: float) -> Layout:
        """Return the layout moved by (dx, dy)."""
        boxes = {v: Box(b.x + dx, b.y + dy, b.width, b.height) for v, b in self.boxes.items()}
        routes = {arc: tuple((x + dx, y + dy) for x, y in points) for arc, points in self.routes.items()}
        return Layout(self.width, self.height, boxes, routes)


def layout(
    nodes: Sequence[int],
    arcs: Iterable[Arc],
    *,
    widths: Mapping[int, float] | None = None,
    max_width: float = 1000.0,
    gap: float = 46.0,
) -> Layout:
    """Return a layered layout of a directed acyclic graph: every arc points down and no arc passes behind a node.

    Connected components are laid out separately and placed side by side, largest first; nodes without arcs follow in rows.
    The same graph always gives the same layout.

    Parameters
    ----------
    nodes : the nodes, in the order that breaks ties.
    arcs : the arcs, as (parent, child).
    widths : the width of every node; 96 for all by default.
    max_width : the width that layers keep to where possible; for more than 60 nodes it grows with the square root of their number.
    gap : the smallest distance between two layers.

    >>> layout([0, 1, 2, 3], [(0, 1), (0, 2)]).layers
    ((0,), (1, 2), (3,))
    """
    sizes = dict.fromkeys(nodes, 96.0) if widths is None else widths
    unique_arcs = sorted(set(arcs))
    max_width *= max(1.0, len(nodes) / _SMALL_GRAPH) ** 0.5 if unique_arcs else 1.0
    groups = sorted(_components(nodes, unique_arcs), key=len, reverse=True)
    parts = [_component(g, unique_arcs, sizes, max_width, gap) for g in groups if len(g) > 1]
    single = [v for g in groups if len(g) == 1 for v in g]
    rows = _shelves(parts, max_width)
    return _stacked([*rows, grid(single, sizes, max_width)] if single else rows)


def grid(nodes: Sequence[int], widths: Mapping[int, float], max_width: float) -> Layout:
    """Return the nodes in rows of almost equal length, with columns of equal width."""
    if not nodes:
        return Layout(0, 0)
    width = max(widths[v] for v in nodes)
    most = max(1, int((max_width + _GAP) // (width + _GAP)))
    rows = -(-len(nodes) // most)
    columns = -(-len(nodes) // rows)
    step = HEIGHT + _GAP
    boxes = {v: Box(i % columns * (width + _GAP), i // columns * step, width) for i, v in enumerate(nodes)}
    return Layout(columns * (width + _GAP) - _GAP, rows * step - _GAP, boxes)


def layering(nodes: Sequence[int], arcs: Sequence[Arc], widths: Mapping[int, float], max_width: float) -> dict[int, int]:
    """Return the layer of every node, below all its parents.

    Where a layer is full, nodes that end most open arcs of their parents and start none have priority, then those with the longest
    paths below them.

    >>> layering([0, 1, 2], [(0, 1), (1, 2), (0, 2)], {0: 9, 1: 9, 2: 9}, 100)
    {0: 0, 1: 1, 2: 2}
    """
    parents, children = _neighbors(nodes, arcs)
    layer: dict[int, int] = {}
    heights = _heights(nodes, children)
    for level in range(len(nodes)):
        ready = [v for v in nodes if v not in layer and all(layer.get(p, level) < level for p in parents[v])]
        open_arcs = {v: sum(c not in layer for c in children[v]) for v in layer}
        ends = {v: sum(1 / open_arcs[p] for p in parents[v]) - 0.5 * bool(children[v]) for v in ready}
        ready.sort(key=lambda v, ends=ends: (-ends[v], -heights[v]))  # type: ignore[misc]
        used = _LANE * sum(map(bool, open_arcs.values()))
        for i, v in enumerate(ready):
            used += widths[v] + _GAP
            if i == 0 or used - _GAP <= max_width:
                layer[v] = level
    return _sources_lowered(layer, parents, children, widths, max_width)


def _sources_lowered(
    layer: dict[int, int], parents: Links, children: Links, widths: Mapping[int, float], max_width: float
) -> dict[int, int]:
    """Return the layers with nodes without parents moved down to just above their children, where there is room."""
    lowered = dict(layer)
    used: dict[int, float] = {}
    for v, level in layer.items():
        used[level] = used.get(level, 0.0) + widths[v] + _GAP
    for v, level in layer.items():
        if not parents[v] and children[v]:
            low = min(lowered[c] for c in children[v]) - 1
            lowered[v] = next((n for n in range(low, level, -1) if used[n] + widths[v] <= max_width), level)
            used[lowered[v]] += (widths[v] + _GAP) * (lowered[v] != level)
    rank = {level: i for i, level in enumerate(sorted(set(lowered.values())))}
    return {v: rank[level] for v, level in lowered.items()}


def spread(desired: Sequence[float], weights: Sequence[float], distances: Sequence[float], low: float, high: float) -> list[float]:
    """Return the positions nearest to the desired ones, in weighted least squares, with given minimal distances and bounds.

    Isotonic regression by pooling adjacent violators, after subtraction of the distances.

    Parameters
    ----------
    desired, weights : the desired positions in order, and their weights.
    distances : the smallest distance between each position and the next.
    low, high : the bounds.

    >>> spread([5, 5], [1, 1], [2], 0, 10)
    [4.0, 6.0]
    """
    offsets = list(accumulate(distances, initial=0.0))
    pools: list[tuple[float, float, int]] = []  # (mean, weight, members)
    for position, weight, offset in zip(desired, weights, offsets, strict=True):
        mean, total, members = position - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            left, left_total, left_members = pools.pop()
            mean = (left * left_total + mean * total) / (left_total + total)
            total, members = left_total + total, left_members + members
        pools.append((mean, total, members))
    high = max(low, high - offsets[-1])
    flat = (min(max(mean, low), high) for mean, _, members in pools for _ in range(members))
    return [y + offset for y, offset in zip(flat, offsets, strict=True)]


def _neighbors(nodes: Iterable[int], arcs: Iterable[Arc]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    above: dict[int, list[int]] = {v: [] for v in nodes}
    below: dict[int, list[int]] = {v: [] for v in above}
    for p, c in arcs:
        above[c].append(p)
        below[p].append(c)
    return above, below


def _heights(nodes: Sequence[int], children: Links) -> dict[int, int]:
    """Return the length of the longest path down from every node."""
    heights: dict[int, int] = {}
    remaining = list(nodes)
    while remaining:
        done = [v for v in remaining if all(c in heights for c in children[v])]
        if not done:
            raise ParameterError("layout: the arcs form a cycle; a layered drawing needs a directed acyclic graph")
        heights |= {v: 1 + max((heights[c] for c in children[v]), default=-1) for v in done}
        remaining = [v for v in remaining if v not in heights]
    return heights


def _components(nodes: Sequence[int], arcs: Iterable[Arc]) -> list[list[int]]:
    above, below = _neighbors(nodes, arcs)
    visited: set[int] = set()
    groups: list[list[int]] = []
    for start in nodes:
        stack, members = [start], set[int]()
        while stack:
            v = stack.pop()
            if v not in visited:
                visited.add(v)
                members.add(v)
                stack += above[v] + below[v]
        groups += [[v for v in nodes if v in members]] if members else []
    return groups


def _component(nodes: Sequence[int], arcs: Sequence[Arc], widths: Mapping[int, float], max_width: float, gap: float) -> Layout:
    members = set(nodes)
    inner = [(p, c) for p, c in arcs if c in members]
    layer = layering(nodes, inner, widths, max_width)
    levels, links, ways = _with_lanes(layer, inner)
    above, below = _neighbors((v for level in levels for v in level), links)
    levels = uncrossed(levels, above, below)
    xs = _abscissae(levels, above, below, widths, max_width)
    left = min(xs[v] - widths.get(v, 0.0) / 2 for v in xs)
    xs = {v: x - left for v, x in xs.items()}
    tops = list(accumulate((HEIGHT + _room(level, below, xs, gap) for level in levels), initial=0.0))
    boxes = {v: Box(xs[v] - widths[v] / 2, tops[layer[v]], widths[v]) for v in nodes}
    ports = {arc: x for c in nodes for arc, x in _ports(c, above[c], ways, xs, widths[c]).items()}
    routes = {arc: _route(arc, way, xs, tops[layer[arc[0]] :], ports[arc]) for arc, way in ways.items()}
    return Layout(max(xs[v] + widths.get(v, 0.0) / 2 for v in xs), tops[len(levels) - 1] + HEIGHT, boxes, routes)


def _with_lanes(layer: Mapping[int, int], arcs: Sequence[Arc]) -> tuple[Levels, list[Arc], dict[Arc, list[int]]]:
    """Return levels and links in which every link joins two adjacent layers, and the path of every arc.

    A long arc passes through one virtual node, a lane, in each layer between its ends; the arcs of one parent share their lanes.
    """
    levels: Levels = [[] for _ in range(1 + max(layer.values()))]
    for v, level in layer.items():
        levels[level].append(v)
    lanes: dict[tuple[int, int], int] = {}
    free = 1 + max(layer)
    ways = {}
    for p, c in arcs:
        for level in range(layer[p] + 1, layer[c]):
            if (p, level) not in lanes:
                lanes[p, level] = free + len(lanes)
                levels[level].append(lanes[p, level])
        ways[p, c] = [p, *(lanes[p, level] for level in range(layer[p] + 1, layer[c])), c]
    return levels, sorted({link for way in ways.values() for link in pairwise(way)}), ways


def _abscissae(levels: Levels, above: Links, below: Links, widths: Mapping[int, float], max_width: float) -> dict[int, float]:
    """Return the horizontal center of every node and lane: each level in turn moves towards the adjacent levels."""
    distances = [[_distance(u, v, widths) for u, v in pairwise(level)] for level in levels]
    ends = [(widths.get(level[0], 0.0) / 2, widths.get(level[-1], 0.0) / 2) for level in levels]
    needed = [sum(d) + left + right for d, (left, right) in zip(distances, ends, strict=True)]
    room = max(max_width, *needed) if len(needed) > 1 else max_width
    xs: dict[int, float] = {}
    for level, steps, width in zip(levels, distances, needed, strict=True):
        start = (room - width + widths.get(level[0], 0.0)) / 2
        xs |= dict(zip(level, accumulate(steps, initial=start), strict=True))
    pull = {(u, v): _pull(u, v, widths) for u in below for v in below[u]}
    for i in range(_RELAXATIONS):
        step = 1 if i % 2 else -1
        for level, steps, (left, right) in list(zip(levels, distances, ends, strict=True))[::step]:
            sides = [[(xs[u], pull[u, v]) for u in above[v]] + [(xs[c], pull[v, c]) for c in below[v]] for v in level]
            weights = [sum(w for _, w in side) for side in sides]
            desired = [sum(x * w for x, w in side) / weight for side, weight in zip(sides, weights, strict=True)]
            xs |= dict(zip(level, spread(desired, weights, steps, left, room - right), strict=True))
    for chain in _chains(above, below, widths) * 2:
        _straighten(chain, _bounds(levels, widths, room), xs)
    return xs


def _chains(above: Links, below: Links, widths: Mapping[int, float]) -> list[list[int]]:
    """Return the chains to draw as straight lines: nodes with one child that has one parent, and the lanes of each parent."""
    after = {v: next((c for c in below[v] if c not in widths), None) for v in below if v not in widths}
    after |= {v: c for v, (c, *more) in ((v, b) for v, b in below.items() if b) if not more and len(above[c]) == 1}
    started = {c for c in after.values() if c is not None}
    chains = [[v] for v in after if v not in started]
    for chain in chains:
        while (following := after.get(chain[-1])) is not None:
            chain.append(following)
    return [chain for chain in chains if len(chain) > 1]


def _bounds(levels: Levels, widths: Mapping[int, float], room: float) -> Callable[[int, Mapping[int, float]], Point]:
    """Return a function that gives how far a node can move left and right while the nodes beside it stay."""
    beside = {v: (u, w) for level in levels for u, v, w in zip([None, *level], level, [*level[1:], None], strict=False)}

    def bounds(v: int, xs: Mapping[int, float]) -> Point:
        u, w = beside[v]
        low = widths.get(v, 0.0) / 2 if u is None else xs[u] + _distance(u, v, widths)
        high = room - widths.get(v, 0.0) / 2 if w is None else xs[w] - _distance(v, w, widths)
        return min(low, xs[v]), max(high, xs[v])

    return bounds


def _straighten(chain: Sequence[int], bounds: Callable[[int, Mapping[int, float]], Point], xs: dict[int, float]) -> None:
    """Align the nodes of a chain vertically, in several parts where there is no room for one line."""
    run: list[int] = []
    low, high = -math.inf, math.inf
    for v in chain:
        left, right = bounds(v, xs)
        if max(low, left) > min(high, right):
            _align(run, low, high, xs)
            run, low, high = [], -math.inf, math.inf
        run.append(v)
        low, high = max(low, left), min(high, right)
    _align(run, low, high, xs)


def _align(run: Sequence[int], low: float, high: float, xs: dict[int, float]) -> None:
    middle = min(max(sum(xs[v] for v in run) / len(run), low), high)
    xs.update(dict.fromkeys(run, middle))


def _distance(u: int, v: int, widths: Mapping[int, float]) -> float:
    gap = _GAP if u in widths and v in widths else _LANE
    return (widths.get(u, 0.0) + widths.get(v, 0.0)) / 2 + gap


def _pull(u: int, v: int, widths: Mapping[int, float]) -> float:
    """Return the weight of a link: largest between lanes, which should be straight."""
    return (1.0, 2.0, 8.0)[(u not in widths) + (v not in widths)]


def _room(level: Sequence[int], below: Links, xs: Mapping[int, float], gap: float) -> float:
    """Return the distance to the next level: larger where links go far to the side."""
    far = max((abs(xs[v] - xs[c]) for v in level for c in below[v]), default=0.0)
    return gap + min(0.13 * far, 64.0)


def _ports(
    c: int, above: Sequence[int], ways: Mapping[Arc, Sequence[int]], xs: Mapping[int, float], width: float
) -> dict[Arc, float]:
    """Return where the arcs into a node end: side by side on its upper edge, in the order of their last lanes."""
    incoming = sorted((arc for arc in ways if arc[1] == c), key=lambda arc: xs[ways[arc][-2]])
    step = min(_PORTS, (width - 20) / max(1, len(above) - 1))
    return {arc: xs[c] + step * (i - (len(incoming) - 1) / 2) for i, arc in enumerate(incoming)}


def _route(arc: Arc, way: Sequence[int], xs: Mapping[int, float], tops: Sequence[float], port: float) -> tuple[Point, ...]:
    lanes = [(xs[v], top + dy) for v, top in zip(way[1:-1], tops[1:], strict=False) for dy in (0.0, HEIGHT)]
    return ((xs[arc[0]], tops[0] + HEIGHT), *lanes, (port, tops[len(way) - 1]))


def _shelves(parts: Sequence[Layout], max_width: float) -> list[Layout]:
    """Return the parts side by side, in a new row where one is full."""
    rows: list[list[Layout]] = []
    for part in parts:
        if rows and sum(p.width + _BETWEEN for p in rows[-1]) + part.width <= max_width:
            rows[-1].append(part)
        else:
            rows.append([part])
    return [_beside(row) for row in rows]


def _beside(row: Sequence[Layout]) -> Layout:
    starts = accumulate((p.width + _BETWEEN for p in row), initial=0.0)
    return _joined([p.moved(x, 0) for p, x in zip(row, starts, strict=False)], sum(p.width + _BETWEEN for p in row) - _BETWEEN)


def _stacked(rows: Sequence[Layout]) -> Layout:
    """Return the rows below each other, centered."""
    width = max((row.width for row in rows), default=0.0)
    tops = accumulate((row.height + _BETWEEN for row in rows), initial=0.0)
    return _joined([row.moved((width - row.width) / 2, y) for row, y in zip(rows, tops, strict=False)], width)


def _joined(parts: Sequence[Layout], width: float) -> Layout:
    boxes = {v: box for p in parts for v, box in p.boxes.items()}
    routes = {arc: points for p in parts for arc, points in p.routes.items()}
    return Layout(width, max((box.bottom for box in boxes.values()), default=0.0), boxes, routes)
