"""Drawings of trees and hierarchies of classifiers: boxes from the root down or to the right, and labelled branches."""

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
"""The largest numbers of nodes of a tree and of classifiers of a hierarchy that are drawn; those nearest to the root."""

_WIDTH, _MARGIN = 1040.0, 6.0
_NAME, _LABEL, _SMALL = 13.0, 11.0, 10.5  # sizes of text
_GAP, _FALL = 14.0, 52.0  # distance between adjacent boxes, and between levels
_HIGH = 900.0  # the height of a screen


def tree_svg(network: Network, *, title: object = None, max_width: float = _WIDTH) -> Markup:
    """Return a drawing of a tree or hierarchy as SVG.

    A node of a classification tree shows the feature that it tests, a leaf its class with the probability and the weight of the
    training cases. A node of a hierarchy is a box with the class rates and P(value | class) of the most informative features; a
    branch starts below the class whose cases follow it. The root is at the top if the drawing then fits into `max_width`, else on
    the left.

    Parameters
    ----------
    network : a network that has an outline.
    title : a text above the drawing.
    max_width : the width in pixels that the drawing keeps to where possible.
    """
    tree = outline(network, max_nodes=NODES_UP_TO)
    if any(node.predicting is not None and node.predicting.ranked for node in tree.nodes):
        tree = outline(network, max_nodes=BOXES_UP_TO)
    panels = [node_panel(network, tree, i) for i in range(len(tree.nodes))]
    labels = [shorten(node.branch, 150, _LABEL) if node.depth else "" for node in tree.nodes]
    boxes = node_boxes(tree, panels, labels, down=True)
    down = _right(boxes, labels) <= max_width - 2 * _MARGIN
    if not down:
        boxes = node_boxes(tree, panels, labels, down=False)
    inside = [*_branches(network, tree, panels, boxes, labels, down)]
    inside += [_shifted(box.x, box.y, panel.body) for box, panel in zip(boxes, panels, strict=True)]
    size = _right(boxes, labels if down else [""] * len(labels)), max(box.bottom for box in boxes)
    return _document(network, tree, inside, size, title)


def _right(boxes: Sequence[Box], labels: Sequence[str]) -> float:
    """Return the right end of the boxes and of the labels above them."""
    return max(box.centre + max(box.width, _label_width(label)) / 2 for box, label in zip(boxes, labels, strict=True))


def _document(network: Network, tree: Outline, inside: Sequence[Markup], size: Point, title: object) -> Markup:
    """Return the whole drawing, with its title above and notes below."""
    notes, line = [*_notes(tree)], "" if title is None else shorten(title, 900, 15)
    text_room = max(text_width(line, 15), *(text_width(note, _SMALL) for note in ["", *notes]))
    width, top = 2 * _MARGIN + max(size[0], text_room, 300.0), 40.0 if line else _MARGIN
    bottom = top + size[1]
    body = [text(line, width / 2, 25, "nv-title")] if line else []
    body.append(_shifted((width - size[0]) / 2, top, inside))
    body += [text(note, _MARGIN, bottom + 24 + 16 * i, "nv-small nv-start") for i, note in enumerate(notes)]
    name = network.name(CLASS) if title is None else title
    height = bottom + 16 * len(notes) + 12 + _MARGIN
    return image(name, _description(network, tree, notes), body, width, height, class_="nv-net nv-outline")


def node_boxes(tree: Outline, panels: Sequence[Panel], labels: Sequence[str], *, down: bool) -> list[Box]:
    """Return the rectangle of every node: subtrees do not overlap, and a node is centered over its children.

    In a high drawing with the root on the left, a node is beside its first child, so that the root is at the top.

    Parameters
    ----------
    tree : the outline.
    panels : the contents of the boxes, which give their sizes.
    labels : the labels of the branches, which are drawn before the boxes.
    down : whether the root is at the top, else on the left.
    """
    long = [*map(_label_width, labels)]
    breadths = [_GAP + (max(p.width, label) if down else p.height) for p, label in zip(panels, long, strict=True)]
    thickness = [p.height if down else p.width for p in panels]
    levels = _levels(tree, thickness, [0.0 if down else label for label in long])
    bands = _bands(tree, breadths)
    middles = _middles(tree, breadths, bands, first=not down and bands[0] > _HIGH)
    return [_box(panel, middles[i] - _GAP / 2, levels[tree.nodes[i].depth], down) for i, panel in enumerate(panels)]


def _middles(tree: Outline, breadths: Sequence[float], bands: Sequence[float], *, first: bool) -> list[float]:
    """Return the center of each node within its band: that of all its children, or that of the first."""
    starts, middles = [0.0] * len(bands), [0.0] * len(bands)
    for i, below in enumerate(tree.children):
        left = starts[i] + (0.0 if first else (bands[i] - sum(bands[child] for child in below)) / 2)
        for child in below:
            starts[child] = left
            left += bands[child]
    for i in range(len(bands) - 1, -1, -1):
        ends = [middles[child] for child in tree.children[i]] or [starts[i] + breadths[i] / 2]
        wanted = ends[0] if first else (ends[0] + ends[-1]) / 2
        middles[i] = min(max(wanted, starts[i] + breadths[i] / 2), starts[i] + bands[i] - breadths[i] / 2)
    return middles


def _label_width(label: str) -> float:
    return text_width(label, _LABEL) + 5 if label else 0.0


def _box(panel: Panel, middle: float, level: float, down: bool) -> Box:
    if down:
        return Box(middle - panel.width / 2, level, panel.width, panel.height)
    return Box(level, middle - panel.height / 2, panel.width, panel.height)


def _levels(tree: Outline, thickness: Sequence[float], ahead: Sequence[float]) -> list[float]:
    """Return where each depth begins: after the thickest box of the depth above and the longest label."""
    depths = 1 + max(node.depth for node in tree.nodes)
    thick, long = [0.0] * depths, [0.0] * depths
    for node, size, label in zip(tree.nodes, thickness, ahead, strict=True):
        thick[node.depth] = max(thick[node.depth], size)
        long[node.depth] = max(long[node.depth], label)
    return [*accumulate((thick[d - 1] + _FALL + long[d] for d in range(1, depths)), initial=0.0)]


def _bands(tree: Outline, breadths: Sequence[float]) -> list[float]:
    """Return the breadth of the subtree of each node."""
    bands = [*breadths]
    for i in range(len(bands) - 1, -1, -1):
        bands[i] = max(bands[i], sum(bands[child] for child in tree.children[i]))
    return bands


def _branches(
    network: Network, tree: Outline, panels: Sequence[Panel], boxes: Sequence[Box], labels: Sequence[str], down: bool
) -> Iterator[Markup]:
    """Yield the line from each node to each of its children, with its label."""
    for i, node in enumerate(tree.nodes[1:], start=1):
        box, above, panel = boxes[i], boxes[node.parent], panels[node.parent]
        feature = network.name(tree.nodes[node.parent].feature)
        tooltip = element("title", f"{bidi_isolated(plain(feature))}: {bidi_isolated(shorten(node.branch, 4000, _LABEL, 400))}")
        if down:
            port = panel.ports.get(node.states[0], panel.width / 2) if tree.nodes[node.parent].feature < 0 else panel.width / 2
            path = _curve_down((above.x + port, above.bottom), (box.centre, box.y - 17))
            label = text(labels[i], box.centre, box.y - 6, "nv-label")
        else:
            middle, width = box.y + box.height / 2, _label_width(labels[i])
            path = _curve_right((above.x + above.width, above.y + above.height / 2), (box.x - width - 9, middle))
            label = text(labels[i], box.x - 5, middle + 4, "nv-label nv-end")
        line = element("path", d=path, stroke_width=1.4, class_="nv-arc nv-arcs")
        yield element("g", tooltip, line, label)


def _curve_down(a: Point, b: Point) -> str:
    """Return the path of a curve from a down to b."""
    middle = (a[1] + b[1]) / 2
    return f"M{_pair(a)}C{_pair((a[0], middle))} {_pair((b[0], middle))} {_pair(b)}"


def _curve_right(a: Point, b: Point) -> str:
    """Return the path of a curve from a to the right to b, with a straight end where the label is short."""
    turn = a[0] + min(_FALL, b[0] - a[0])
    middle = (a[0] + turn) / 2
    return f"M{_pair(a)}C{_pair((middle, a[1]))} {_pair((middle, b[1]))} {_pair((turn, b[1]))}H{attribute(b[0])}"


def _pair(point: Point) -> str:
    return f"{attribute(point[0])} {attribute(point[1])}"


def _notes(tree: Outline) -> Iterator[str]:
    if any(node.sorting is not None for node in tree.nodes):
        yield "a case follows the branch of its cluster; cases of a cluster without a branch are classified where they are"
    elif any(tree.nodes[node.parent].feature < 0 for node in tree.nodes[1:]):
        yield "a case follows the branch of its predicted class; where that class has no branch, it is the final prediction"
    if tree.total > len(tree.nodes):
        yield f"{len(tree.nodes):,} of {tree.total:,} nodes are shown"


def _description(network: Network, tree: Outline, notes: Iterable[str]) -> str:
    name = shorten(network.name(CLASS), 300, _NAME)
    if tree.leaves:
        first = f"Classification tree for the class {name} with {counted(tree.total, 'node')}."
    else:
        first = f"Hierarchy of {counted(tree.total, 'naive Bayes classifier')} for the class {name}."
    return " ".join([first, *(f"{note[0].upper()}{note[1:]}." for note in notes)])


def _shifted(x: float, y: float, body: Iterable[Markup]) -> Markup:
    return element("g", *body, transform=f"translate({attribute(x)},{attribute(y)})")
