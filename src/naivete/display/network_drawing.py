"""Drawings of networks: self-contained SVG without ids, scripts or references, in which all text is escaped."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from naivete.display.layout import HEIGHT, Arc, Box, Layout, Point, grid, layout
from naivete.display.markup import Markup, attribute, bidi_isolated, element, image, plain, shorten, text_width
from naivete.display.tree_drawing import tree_svg
from naivete.display.tree_outline import has_outline, relevant_columns
from naivete.errors import ParameterError, quoted
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Information", "lone_features", "svg"]

Information = Mapping[Any, float]
"""Information in bits: of an arc under the key (parent, child), of a feature about the class under the feature.

Variables are given by name, or all of them by position.
"""

ARCS_UP_TO, NODES_UP_TO, LABELS_UP_TO, LONE_UP_TO = 200, 600, 80, 24
"""The largest numbers of nodes with arcs, of nodes, of labelled arcs, and of features without arcs that are drawn."""

_WIDTH, _MARGIN, _PAD = 1040.0, 6.0, 18.0
_MOST_BITS = 1e12  # larger values cannot be informations and are not shown
_NAME, _SMALL = 13.0, 10.5  # sizes of text
_NAME_WIDTH = 230.0  # largest width of a name, about 28 characters


def svg(
    network: Network, *, information: Information | None = None, title: object = None, max_width: float | None = None
) -> Markup:
    """Return a drawing of the network as SVG: features in layers below the class, every arc pointing down.

    If the class is a parent of every feature, it is drawn above a frame around all features; otherwise its arcs are drawn one by
    one. Features outside the Markov blanket of the class have a dashed outline, hidden variables a dotted one. Features without
    arcs are drawn pale below the others, or left out if there are more than 24. With more than 200 nodes the features are listed
    in rows without arcs, with more than 600 only the most relevant. A note gives what is left out. A classification tree or a
    hierarchy of classifiers is drawn by `naivete.display.tree_drawing`.

    Parameters
    ----------
    network : Network
        The network.
    information : dict or None, default=None
        Bits of arcs, under (parent, child), shown as labels and widths; bits of a feature about the class, under the feature, shown
        as shades.
    title : str or None, default=None
        A text above the drawing.
    max_width : float or None, default=None
        The width in pixels that the drawing keeps to where possible, 1040 by default.

    Returns
    -------
    Markup
        The drawing.
    """
    if max_width is not None and not max_width > 0:
        raise ParameterError(f"svg: max_width must be a positive number of pixels, got {quoted(max_width)}")
    if has_outline(network):
        return tree_svg(network, title=title, max_width=max_width or _WIDTH)
    bits = {key: float(b) for key, b in _by_position(network, information or {}).items() if abs(b) <= _MOST_BITS}
    picture = _picture(network, bits, max_width or _WIDTH)
    return _document(network, picture, bits, title)


def lone_features(network: Network) -> list[int]:
    """Return the features without arcs."""
    parents = {p for family in network.parents.values() for p in family}
    return [x for x in network.features if x not in parents and not network.parents[x]]


@dataclass(frozen=True)
class _Picture:
    """The contents of a drawing.

    Parameters
    ----------
    places : the layout of the variables with arcs.
    alone, lone : the features without arcs, and their layout.
    outside : the features outside the Markov blanket of the class.
    framed : whether the class is drawn above a frame around all features.
    notes : the remarks below the drawing.
    """

    places: Layout
    alone: tuple[int, ...]
    lone: Layout
    outside: frozenset[int]
    framed: bool
    notes: tuple[str, ...]


def _picture(network: Network, bits: Mapping[int | Arc, float], max_width: float) -> _Picture:
    alone = lone_features(network)
    joined = sorted({*network.features}.difference(alone))
    outside = frozenset(joined).difference(relevant_columns(network), network.derived)
    framed = all(CLASS in network.parents[x] for x in joined)
    nodes = [*joined] if framed else [*joined, CLASS]
    arcs = [(p, v) for v in nodes for p in network.parents[v] if not (framed and p == CLASS)]
    widths = {v: _node_width(network, v) for v in nodes}
    room = max_width - 2 * (_PAD + _MARGIN)
    if len(nodes) <= ARCS_UP_TO or not arcs:
        gap = 56.0 if any(arc in bits for arc in arcs) and len(arcs) <= LABELS_UP_TO else 46.0
        notes, drawn = [], nodes if arcs else _most_relevant(nodes, bits)
        places = layout(drawn, arcs, widths=widths, max_width=room, gap=gap)
    else:
        notes, drawn = [f"{len(arcs):,} arcs between {len(nodes):,} variables are not drawn"], _most_relevant(nodes, bits)
        places = grid(drawn, widths, room)
    if len(drawn) < len(nodes):
        notes.append(f"{len(drawn):,} of {len(nodes):,} variables are shown")
    lone = grid(alone, {x: _node_width(network, x) for x in alone}, room) if len(alone) <= LONE_UP_TO else Layout(0, 0)
    return _Picture(
        places, tuple(alone), lone, outside, framed, (*notes, *_remarks(network, outside, len(alone), bool(lone.boxes)))
    )


def _remarks(network: Network, outside: Collection[int], alone: int, alone_drawn: bool) -> Iterator[str]:
    """Yield the remarks on hidden variables, features outside the Markov blanket, and features without arcs."""
    if network.derived:
        yield f"dotted: {_counted(len(network.derived), 'hidden variable')}"
    if outside:
        name = bidi_isolated(shorten(network.name(CLASS), 160, _SMALL))
        yield f"dashed: {_features(len(outside))} outside the Markov blanket of {name}: no influence once all others are known"
    if alone:
        yield f"{'pale' if alone_drawn else 'left out'}: {_features(alone)} without arcs"


def _features(count: int) -> str:
    return _counted(count, "feature")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _most_relevant(nodes: Sequence[int], bits: Mapping[int | Arc, float]) -> list[int]:
    kept = sorted(nodes, key=lambda v: (v != CLASS, -bits.get(v, 0.0)))[:NODES_UP_TO]
    return sorted(kept)


def _node_width(network: Network, v: int) -> float:
    least = text_width(_states(network, v), _SMALL) + 30 if v == CLASS or v in network.derived else 70.0
    return max(least, text_width(shorten(network.name(v), _NAME_WIDTH, _NAME), _NAME) + 22)


def _states(network: Network, v: int) -> str:
    variable = network.variables[v]
    kind = "class, " if v == CLASS else "hidden, " if v in network.derived else ""
    return "continuous" if variable.density else f"{kind}{_counted(variable.card, 'state')}"


def _document(network: Network, picture: _Picture, bits: Mapping[int | Arc, float], title: object) -> Markup:
    body, width, height = _body(network, picture, bits, None if title is None else shorten(title, 900, 15))
    name = network.name(CLASS) if title is None else title
    return image(name, _description(network, picture), body, width, height)


def _body(
    network: Network, picture: _Picture, bits: Mapping[int | Arc, float], title: str | None
) -> tuple[list[Markup], float, float]:
    """Return the elements from top to bottom (title, class and frame, features, legend), and the width and height."""
    places, legend = picture.places, _legend(bits, network, picture)
    frame = (places.width + 2 * _PAD, places.height + 2 * _PAD)
    note_width = max((text_width(note, _SMALL) for note in picture.notes), default=0.0)
    least = max(460.0 if legend else 300.0, _node_width(network, CLASS) + 264, text_width(title or "", 15), note_width)
    width = 2 * _MARGIN + max(frame[0], picture.lone.width, least)
    top = _MARGIN if title is None else 40.0
    body = [] if title is None else [_text(title, width / 2, 25, "nv-title")]
    if picture.framed:
        body += _header(network, width, top, frame, bool(picture.alone))
        top += HEIGHT + (34 + _PAD if places.boxes else 0)
    body.append(_shifted((width - places.width) / 2, top, *_contents(network, picture, bits)))
    top += places.height + (_PAD if picture.framed and places.boxes else 8)
    if picture.lone.boxes:
        top += 18
        body.append(_shifted((width - picture.lone.width) / 2, top, *_lone(network, picture.lone, bits)))
        top += picture.lone.height + 8
    top += 22
    body += [_shifted(_MARGIN, top + 20.0 * i, line) for i, line in enumerate(legend)]
    return body, width, top + 20.0 * len(legend) - (16 if legend else 22) + _MARGIN


def _shifted(x: float, y: float, *parts: Markup) -> Markup:
    return element("g", *parts, transform=f"translate({attribute(x)},{attribute(y)})")


def _description(network: Network, picture: _Picture) -> str:
    count, arcs = len(network.inputs), len(network.arcs)
    name = shorten(network.name(CLASS), 300, _NAME)
    hidden = f" and {_counted(len(network.derived), 'hidden variable')}" if network.derived else ""
    first = f"Bayesian network of the class {name} and {count} features{hidden} with {arcs} arcs between them."
    second = "The class is drawn among the features."
    if picture.framed:
        second = f"The class is a parent of every feature{' that has arcs' * bool(picture.alone)}."
    return " ".join([first, second, *(f"{note}." for note in picture.notes)])


def _header(network: Network, width: float, top: float, frame: tuple[float, float], some: bool) -> list[Markup]:
    """Return the class, the frame around the features, and one arrow that represents the arcs to all of them."""
    node_width = _node_width(network, CLASS)
    node = _node(network, CLASS, Box((width - node_width) / 2, top, node_width), 0.22)
    if frame[0] <= 2 * _PAD:
        note = "no informative features" if network.features else "no features"
        return [node, _text(note, width / 2 + node_width / 2 + 12, top + 23, "nv-small nv-start")]
    y = top + HEIGHT
    stem = element("path", d=f"M{attribute(width / 2)} {attribute(y)}V{attribute(y + 27)}", stroke_width=2.0)
    arrow = element("g", stem, _head(width / 2, y + 34, 2.0), class_="nv-arc nv-given")
    legend = _text(f"class \u2192 every feature{' in the frame' * some}", width / 2 + 14, y + 21, "nv-small nv-start")
    outline = element("rect", class_="nv-frame", x=(width - frame[0]) / 2, y=y + 34, width=frame[0], height=frame[1], rx=14.0)
    return [outline, arrow, legend, node]


def _contents(network: Network, picture: _Picture, bits: Mapping[int | Arc, float]) -> list[Markup]:
    """Return the arcs, then the nodes, then the labels of the arcs."""
    places = picture.places
    labels = _labels(places, bits)
    strongest = max((b for key, b in bits.items() if isinstance(key, tuple)), default=0.0)
    arcs = [_arc(network, arc, points, bits, strongest, list(labels.values())) for arc, points in places.routes.items()]
    marks = {**dict.fromkeys(picture.outside, " nv-outside"), **dict.fromkeys(network.derived, " nv-hidden")}
    shades = _shades(places, bits)
    nodes = [_node(network, v, box, shades[v], marks.get(v, "")) for v, box in places.boxes.items()]
    numbers = [_text(f"{bits[arc]:.2f}", box.centre, box.y + 10, "nv-small") for arc, box in labels.items()]
    return [element("g", *arcs, class_="nv-arcs"), *nodes, *numbers]


def _lone(network: Network, places: Layout, bits: Mapping[int | Arc, float]) -> list[Markup]:
    """Return the nodes of the features without arcs."""
    shades = _shades(places, bits)
    return [_node(network, x, box, shades[x], " nv-lone") for x, box in places.boxes.items()]


def _shades(places: Layout, bits: Mapping[int | Arc, float]) -> dict[int, float]:
    most = max((b for key, b in bits.items() if not isinstance(key, tuple)), default=0.0)
    shades = {v: 0.05 + 0.45 * max(0.0, bits.get(v, 0.0)) / most if most > 0 else 0.12 for v in places.boxes}
    return {**shades, CLASS: 0.22}


def _node(network: Network, v: int, box: Box, shade: float, mark: str = "") -> Markup:
    name, states = network.name(v), _states(network, v)
    return element(
        "g",
        element("title", f"{bidi_isolated(plain(name))}: {states}"),
        element("rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=19.0 if v == CLASS else 7.0, fill_opacity=shade),
        _text(shorten(name, _NAME_WIDTH, _NAME), box.centre, box.y + 17, "nv-name"),
        _text(states, box.centre, box.y + 30, "nv-small"),
        class_="nv-node nv-class" if v == CLASS else f"nv-node{mark}",
        data_variable=v,
    )


def _text(text: str, x: float, y: float, class_: str) -> Markup:
    return element("text", text, x=x, y=y, class_=class_)


def _arc(
    network: Network, arc: Arc, points: Sequence[Point], bits: Mapping[int | Arc, float], strongest: float, labels: Sequence[Box]
) -> Markup:
    width = 1.0 + 3.0 * max(0.0, bits.get(arc, 0.0)) / strongest if strongest > 0 else 1.4
    (x, y), tip = points[-1], 5.5 + width
    parent, child = (bidi_isolated(shorten(network.name(v), 300, _NAME)) for v in arc)
    amount = f": {bits[arc]:.4f} bits" if arc in bits else ""
    path = element("path", d=_path([*points[:-1], (x, y - tip)], labels), stroke_width=width)
    return element(
        "g",
        element("title", f"{parent} \u2192 {child}{amount}"),
        path,
        _head(x, y, width),
        class_="nv-arc nv-given" if CLASS in arc else "nv-arc",
    )


def _head(x: float, y: float, width: float) -> Markup:
    side, back = 2.6 + 0.7 * width, 7.5 + width
    corners = [(x, y), (x - side, y - back), (x + side, y - back)]
    return element("polygon", points=" ".join(f"{attribute(a)},{attribute(b)}" for a, b in corners))


def _path(points: Sequence[Point], labels: Sequence[Box]) -> str:
    """Return curves from layer to layer, joined by straight lines through the layers, interrupted at labels."""
    lines = [f"M{_pair(a)}L{_pair(b)}" for a, b in zip(points[1::2], points[2::2], strict=False)]
    curves = [piece for a, b in zip(points[::2], points[1::2], strict=True) for piece in _pieces(a, b, labels)]
    return "".join([*curves, *lines])


def _pair(point: Point) -> str:
    return f"{attribute(point[0])} {attribute(point[1])}"


def _on_curve(a: Point, b: Point, t: float) -> Point:
    """Return the point at t of the cubic curve from a to b that starts and ends vertically."""
    s = 3 * t * t - 2 * t * t * t
    return a[0] + (b[0] - a[0]) * s, a[1] + (b[1] - a[1]) * (1.5 * t * (1 - t) + t**3)


def _pieces(a: Point, b: Point, labels: Sequence[Box], steps: int = 48) -> list[str]:
    """Return the parts of the curve from a to b that are not under labels."""
    near = [box for box in labels if a[1] <= box.bottom and box.y <= b[1]]
    inside = [any(_within(_on_curve(a, b, i / steps), box) for box in near) for i in range(steps + 1)]
    runs: list[tuple[int, int]] = []
    start = 0
    for i, hidden in enumerate([*inside, True]):
        if hidden:
            runs += [(start, i - 1)] if i - 1 > start else []
            start = i + 1
    return [_subcurve(a, b, first / steps, last / steps) for first, last in runs]


def _within(point: Point, box: Box) -> bool:
    return box.x <= point[0] <= box.x + box.width and box.y <= point[1] <= box.bottom


def _subcurve(a: Point, b: Point, t: float, u: float) -> str:
    """Return the part from t to u of the curve as a cubic curve, whose control points are the blossoms at ttt, ttu, tuu, uuu."""
    middle = (a[1] + b[1]) / 2
    corners = (a, (a[0], middle), (b[0], middle), b)
    controls = [_blossom(corners, values) for values in ((t, t, t), (t, t, u), (t, u, u), (u, u, u))]
    return f"M{_pair(controls[0])}C{' '.join(map(_pair, controls[1:]))}"


def _blossom(points: Sequence[Point], values: Sequence[float]) -> Point:
    for t in values:
        points = [((1 - t) * p[0] + t * q[0], (1 - t) * p[1] + t * q[1]) for p, q in pairwise(points)]
    return points[0]


def _labels(places: Layout, bits: Mapping[int | Arc, float]) -> dict[Arc, Box]:
    """Return the box of the label of every arc on its last curve: without overlap of labels, and with few arcs below it."""
    routes = {arc: points for arc, points in places.routes.items() if arc in bits}
    if len(routes) > LABELS_UP_TO:
        return {}
    samples = {
        arc: [_on_curve(a, b, i / 16) for a, b in zip(points[::2], points[1::2], strict=True) for i in range(17)]
        for arc, points in places.routes.items()
    }
    placed: dict[Arc, Box] = {}
    for arc, points in routes.items():
        width = text_width(f"{bits[arc]:.2f}", _SMALL) + 4
        spots = [_spot(points[-2], points[-1], t / 20, width) for t in (10, 11, 12, 13, 14, 15, 16, 9, 8, 7)]
        free = [box for box in spots if not any(_overlap(box, other) for other in placed.values())]
        if free:
            top, bottom = points[-2][1], points[-1][1]
            others = [p for other, sampled in samples.items() if other != arc for p in sampled if top <= p[1] <= bottom]
            placed[arc] = min(free, key=lambda box, o=others: sum(_within(p, box) for p in o))  # type: ignore[misc]
    return placed


def _spot(a: Point, b: Point, t: float, width: float) -> Box:
    x, y = _on_curve(a, (b[0], b[1] - 7), t)
    return Box(x - width / 2, y - 6.5, width, 13.0)


def _overlap(a: Box, b: Box) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.bottom and b.y < a.bottom


def _legend(bits: Mapping[int | Arc, float], network: Network, picture: _Picture) -> list[Markup]:
    """Return the lines below the drawing: the meaning of shades and widths, and what is not shown."""
    nodes = {*picture.places.boxes, *picture.lone.boxes}
    relevance = [b for key, b in bits.items() if not isinstance(key, tuple) and key in nodes]
    strength = [b for key, b in bits.items() if isinstance(key, tuple) and key in picture.places.routes]
    lines = []
    if relevance:
        shades = [element("rect", x=16.0 * i, y=-10.0, width=16.0, height=11.0, fill_opacity=0.05 + 0.09 * i) for i in range(6)]
        name = shorten(network.name(CLASS), 160, _SMALL)
        meaning = f"information about {bidi_isolated(name)}: up to {max(relevance):.3f} bits"
        lines.append(element("g", element("g", *shades, class_="nv-node"), _text(meaning, 106, 0, "nv-small nv-start")))
    if strength:
        lines.append(
            element(
                "g",
                _wedge(),
                _text(f"information of an arc given the class: up to {max(strength):.3f} bits", 106, 0, "nv-small nv-start"),
            )
        )
    return [*lines, *(_text(note, 0, 0, "nv-small nv-start") for note in picture.notes)]


def _wedge() -> Markup:
    return element("g", element("polygon", points="0,-4.5 96,-6 96,-2 0,-3.5"), class_="nv-arc nv-arcs")


def _by_position(network: Network, information: Information) -> dict[Any, float]:
    """Return the information by the positions of variables, if all its keys are names."""
    position: dict[Any, int] = {network.name(v): v for v in (*network.features, CLASS)}
    named = all((name in position) for key in information for name in (key if isinstance(key, tuple) else (key,)))
    if not named:
        return dict(information)
    return {tuple(position[n] for n in key) if isinstance(key, tuple) else position[key]: bits for key, bits in information.items()}
