"""A tree or a hierarchy of classifiers as a drawing: boxes from the root down or to the right, branches with their cases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from naivete.display.layout import Box, Point
from naivete.display.markup import Markup, attribute, bidi_isolated, element, image, plain, shorten, text_width
from naivete.display.tree_outline import Outline, outline
from naivete.display.tree_panels import Panel, counted, node_panel, text
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["BOXES_UP_TO", "NODES_UP_TO", "node_boxes", "tree_svg"]

NODES_UP_TO, BOXES_UP_TO = 150, 30
"""How many nodes of a tree, and how many classifiers of a hierarchy, are drawn; those nearest to the root."""

_WIDTH, _MARGIN = 1040.0, 6.0
_NAME, _LABEL, _SMALL = 13.0, 11.0, 10.5  # sizes of text
_GAP, _FALL = 14.0, 52.0  # between neighbours, between levels
_HIGH = 900.0  # more does not fit on a screen


def tree_svg(network: Network, *, title: object = None, max_width: float = _WIDTH) -> Markup:
    """A tree or hierarchy as SVG.

    A node of a classification tree is the feature it asks for, a leaf the class it answers, with its probability and the weight
    of its training cases. A node of a hierarchy is a box with the rates of the classes and P(value | class), those features first
    that tell most, and a branch leaves it below the class whose cases are sent on. The root is on top where the drawing then
    keeps to its width, else on the left.

    Parameters
    ----------
    network : a network that has an outline.
    title : a line above the drawing.
    max_width : the width in pixels that the drawing keeps to where it can.
    """
    found = outline(network, max_nodes=NODES_UP_TO)
    if any(node.answer is not None and node.answer.ranked for node in found.nodes):
        found = outline(network, max_nodes=BOXES_UP_TO)
    panels = [node_panel(network, found, i) for i in range(len(found.nodes))]
    labels = [shorten(node.branch, 150, _LABEL) if node.depth else "" for node in found.nodes]
    boxes = node_boxes(found, panels, labels, down=True)
    down = _right(boxes, labels) <= max_width - 2 * _MARGIN
    if not down:
        boxes = node_boxes(found, panels, labels, down=False)
    inside = [*_branches(network, found, panels, boxes, labels, down)]
    inside += [_shifted(box.x, box.y, panel.body) for box, panel in zip(boxes, panels, strict=True)]
    size = _right(boxes, labels if down else [""] * len(labels)), max(box.bottom for box in boxes)
    return _document(network, found, inside, size, title)


def _right(boxes: Sequence[Box], labels: Sequence[str]) -> float:
    """How far boxes and the labels on top of them reach to the right."""
    return max(box.centre + max(box.width, _label_width(label)) / 2 for box, label in zip(boxes, labels, strict=True))


def _document(network: Network, found: Outline, inside: Sequence[Markup], size: Point, title: object) -> Markup:
    """The drawing with its title above it and what else there is to say below."""
    notes, line = [*_notes(found)], "" if title is None else shorten(title, 900, 15)
    said = max(text_width(line, 15), *(text_width(note, _SMALL) for note in ["", *notes]))
    width, top = 2 * _MARGIN + max(size[0], said, 300.0), 40.0 if line else _MARGIN
    bottom = top + size[1]
    body = [text(line, width / 2, 25, "nv-title")] if line else []
    body.append(_shifted((width - size[0]) / 2, top, inside))
    body += [text(note, _MARGIN, bottom + 24 + 16 * i, "nv-small nv-start") for i, note in enumerate(notes)]
    told = network.name(CLASS) if title is None else title
    height = bottom + 16 * len(notes) + 12 + _MARGIN
    return image(told, _description(network, found, notes), body, width, height, class_="nv-net nv-outline")


def node_boxes(found: Outline, panels: Sequence[Panel], labels: Sequence[str], *, down: bool) -> list[Box]:
    """The rectangle of every node: each subtree has a band of its own, and a node stands in the middle of its children.

    Where a drawing to the right is high, a node stands beside the first of its children, so that the root can be seen.

    Parameters
    ----------
    found : the outline.
    panels : the boxes, of which only the sizes matter.
    labels : the texts of the branches, which stand before their boxes.
    down : whether the root is on top, else on the left.
    """
    long = [*map(_label_width, labels)]
    breadths = [_GAP + (max(p.width, label) if down else p.height) for p, label in zip(panels, long, strict=True)]
    thickness = [p.height if down else p.width for p in panels]
    levels = _levels(found, thickness, [0.0 if down else label for label in long])
    bands = _bands(found, breadths)
    middles = _middles(found, breadths, bands, first=not down and bands[0] > _HIGH)
    return [_box(panel, middles[i] - _GAP / 2, levels[found.nodes[i].depth], down) for i, panel in enumerate(panels)]


def _middles(found: Outline, breadths: Sequence[float], bands: Sequence[float], *, first: bool) -> list[float]:
    """Where each node has its middle: within its band, at that of all its children or at that of the first."""
    starts, middles = [0.0] * len(bands), [0.0] * len(bands)
    for i, below in enumerate(found.children):
        left = starts[i] + (0.0 if first else (bands[i] - sum(bands[child] for child in below)) / 2)
        for child in below:
            starts[child] = left
            left += bands[child]
    for i in range(len(bands) - 1, -1, -1):
        ends = [middles[child] for child in found.children[i]] or [starts[i] + breadths[i] / 2]
        wanted = ends[0] if first else (ends[0] + ends[-1]) / 2
        middles[i] = min(max(wanted, starts[i] + breadths[i] / 2), starts[i] + bands[i] - breadths[i] / 2)
    return middles


def _label_width(label: str) -> float:
    return text_width(label, _LABEL) + 5 if label else 0.0


def _box(panel: Panel, middle: float, level: float, down: bool) -> Box:
    if down:
        return Box(middle - panel.width / 2, level, panel.width, panel.height)
    return Box(level, middle - panel.height / 2, panel.width, panel.height)


def _levels(found: Outline, thickness: Sequence[float], ahead: Sequence[float]) -> list[float]:
    """Where each depth begins: after the thickest box of the one above and the longest label of its own."""
    depths = 1 + max(node.depth for node in found.nodes)
    thick, long = [0.0] * depths, [0.0] * depths
    for node, own, label in zip(found.nodes, thickness, ahead, strict=True):
        thick[node.depth] = max(thick[node.depth], own)
        long[node.depth] = max(long[node.depth], label)
    return [*accumulate((thick[d - 1] + _FALL + long[d] for d in range(1, depths)), initial=0.0)]


def _bands(found: Outline, breadths: Sequence[float]) -> list[float]:
    """How much room each node and all below it take beside one another."""
    bands = [*breadths]
    for i in range(len(bands) - 1, -1, -1):
        bands[i] = max(bands[i], sum(bands[child] for child in found.children[i]))
    return bands


def _branches(
    network: Network, found: Outline, panels: Sequence[Panel], boxes: Sequence[Box], labels: Sequence[str], down: bool
) -> Iterator[Markup]:
    """A line from each node to the label of each of its children, and the label."""
    for i, node in enumerate(found.nodes[1:], start=1):
        box, above, panel = boxes[i], boxes[node.parent], panels[node.parent]
        by = network.name(found.nodes[node.parent].feature)
        told = element("title", f"{bidi_isolated(plain(by))}: {bidi_isolated(shorten(node.branch, 4000, _LABEL, 400))}")
        if down:
            port = panel.ports.get(node.states[0], panel.width / 2) if found.nodes[node.parent].feature < 0 else panel.width / 2
            path = _fall((above.x + port, above.bottom), (box.centre, box.y - 17))
            label = text(labels[i], box.centre, box.y - 6, "nv-label")
        else:
            middle, width = box.y + box.height / 2, _label_width(labels[i])
            path = _glide((above.x + above.width, above.y + above.height / 2), (box.x - width - 9, middle))
            label = text(labels[i], box.x - 5, middle + 4, "nv-label nv-end")
        line = element("path", d=path, stroke_width=1.4, class_="nv-arc nv-arcs")
        yield element("g", told, line, label)


def _fall(a: Point, b: Point) -> str:
    """A swing from a down to b."""
    middle = (a[1] + b[1]) / 2
    return f"M{_pair(a)}C{_pair((a[0], middle))} {_pair((b[0], middle))} {_pair(b)}"


def _glide(a: Point, b: Point) -> str:
    """A swing from a to the right to b, which is short of the next level where labels are short."""
    turn = a[0] + min(_FALL, b[0] - a[0])
    middle = (a[0] + turn) / 2
    return f"M{_pair(a)}C{_pair((middle, a[1]))} {_pair((middle, b[1]))} {_pair((turn, b[1]))}H{attribute(b[0])}"


def _pair(point: Point) -> str:
    return f"{attribute(point[0])} {attribute(point[1])}"


def _notes(found: Outline) -> Iterator[str]:
    if any(node.sorting is not None for node in found.nodes):
        yield "cases go down by the cluster they are sorted into; those of a cluster without a branch are answered where they are"
    elif any(found.nodes[node.parent].feature < 0 for node in found.nodes[1:]):
        yield "cases go down by the class they are given; those of a class without a branch are answered with it"
    if found.total > len(found.nodes):
        yield f"{len(found.nodes):,} of {found.total:,} nodes are shown"


def _description(network: Network, found: Outline, notes: Iterable[str]) -> str:
    name = shorten(network.name(CLASS), 300, _NAME)
    if found.leaves:
        first = f"Classification tree for the class {name} with {counted(found.total, 'node')}."
    else:
        first = f"Hierarchy of {counted(found.total, 'naive Bayes classifier')} for the class {name}."
    return " ".join([first, *(f"{note[0].upper()}{note[1:]}." for note in notes)])


def _shifted(x: float, y: float, body: Iterable[Markup]) -> Markup:
    return element("g", *body, transform=f"translate({attribute(x)},{attribute(y)})")
