"""The boxes of the nodes in drawings of trees and hierarchies: tests, leaves, and classifiers with their tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from naivete.display.class_summaries import ClassSummary, Line, summary_lines
from naivete.display.layout import HEIGHT, Box
from naivete.display.markup import COLORS, Markup, bidi_isolated, element, plain, shorten, text_width
from naivete.display.tree_outline import Node, Outline, heading, node_summaries
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Panel", "cases_text", "counted", "node_panel", "text"]

_NAME, _SMALL = 13.0, 10.5  # sizes of text
_ROW = 15.0  # distance between the rows of a table
_ROWS, _COLUMNS, _STATES = 12, 5, 6  # largest numbers in a table
_TOP = 22.0 + 2 * _ROW  # where the numbers of a table begin
_NAMES, _VALUES, _CLASSES = 110.0, 116.0, 84.0  # largest widths of the texts of a table


@dataclass(frozen=True)
class Panel:
    """The box of a node.

    Parameters
    ----------
    width, height : its size.
    body : its contents, relative to its upper left corner.
    ports : where the branch of each class starts, measured from the left.
    """

    width: float
    height: float
    body: Sequence[Markup]
    ports: Mapping[int, float] = field(default_factory=dict)


def node_panel(network: Network, tree: Outline, i: int) -> Panel:
    """Return the box of the node at position i of an outline."""
    node = tree.nodes[i]
    if tree.leaves and node.predicting is not None and not node.predicting.ranked:
        return _leaf(network, node, node.predicting)
    if node.predicting is None and node.sorting is None:
        return _test(network, node)
    return _classifier(network, tree, node)


def _test(network: Network, node: Node) -> Panel:
    below = [cases_text(node.weight), *_cut_off(node)]
    name = shorten(network.name(node.feature), 150, _NAME)
    width = max(70.0, text_width(name, _NAME) + 20, *(text_width(line, _SMALL) + 20 for line in below))
    height = HEIGHT + 13 * (len(below) - 1)
    rect = element("rect", x=0.0, y=0.0, width=width, height=height, rx=7.0, fill_opacity=0.12)
    tooltip = element("title", f"{bidi_isolated(plain(network.name(node.feature)))}: {below[0]}")
    texts = [text(line, width / 2, 30 + 13 * k, "nv-small") for k, line in enumerate(below)]
    return Panel(width, height, [element("g", tooltip, rect, text(name, width / 2, 17, "nv-name"), *texts, class_="nv-node")])


def _leaf(network: Network, node: Node, predicting: ClassSummary) -> Panel:
    labels, best = network.variables[CLASS].labels, predicting.best
    probability = float(predicting.rates[best])
    name, line = shorten(labels[best], 150, _NAME), f"{probability:.2f} of {cases_text(node.weight)}"
    width = max(70.0, text_width(name, _NAME) + 24, text_width(line, _SMALL) + 24)
    colour = f"--k:{COLORS[best]}" if len(labels) <= len(COLORS) else None
    rect = element("rect", x=0.0, y=0.0, width=width, height=HEIGHT, rx=19.0, fill_opacity=0.06 + 0.28 * probability)
    ranked = sorted(range(len(labels)), key=lambda c: (-predicting.rates[c], c))[:8]
    rates = ", ".join(f"{bidi_isolated(shorten(labels[c], 300, _NAME))} {predicting.rates[c]:.4f}" for c in ranked)
    tooltip = element("title", f"{rates}{', ...' * (len(labels) > 8)}: {cases_text(node.weight)}")
    texts = text(name, width / 2, 17, "nv-name"), text(line, width / 2, 30, "nv-small")
    mark = "nv-leaf" if node.weight else "nv-leaf nv-empty"
    return Panel(width, HEIGHT, [element("g", tooltip, rect, *texts, class_=mark, style=colour)])


@dataclass(frozen=True)
class _Part:
    """A summary in a box: its title, the classes that are shown, and the left edge and width of the column of each."""

    title: str
    summary: ClassSummary
    classes: Sequence[int]
    edges: Sequence[float]
    widths: Sequence[float]

    @property
    def right(self) -> float:
        return self.edges[-1] + self.widths[-1]

    @property
    def ports(self) -> dict[int, float]:
        return {c: edge + width / 2 for c, edge, width in zip(self.classes, self.edges, self.widths, strict=True)}


def _classifier(network: Network, tree: Outline, node: Node) -> Panel:
    """Return a box with the summaries of a node side by side, with a column for every class that occurs."""
    summaries = node_summaries(node)
    first = summaries[0][1]
    features = _features(first, network)
    rows = [*summary_lines(network, first, features, max_states=_STATES)]
    names, states = _margin(network, rows)
    parts: list[_Part] = []
    for title, summary in summaries:
        parts.append(_part(network, title, summary, rows, parts[-1].right + 10 if parts else names + states))
    top = shorten(heading(network, tree, node), 260, _NAME)
    foot = [*_foot(network, node, first, features), *_cut_off(node)]
    width = max(parts[-1].right + 6, text_width(top, _NAME) + 16, *(text_width(line, _SMALL) + 16 for line in ["", *foot]))
    bottom = _TOP + _ROW * (len(rows) + 1) + 6
    height = bottom + 13 * len(foot) + 4 * bool(foot)
    rect = element("rect", x=0.0, y=0.0, width=width, height=height, rx=9.0, fill_opacity=0.04)
    body = [element("g", rect, class_="nv-node"), text(top, width / 2, 16, "nv-name"), *_row_names(network, rows, names)]
    for part in parts:
        body += _columns(network, part, [*summary_lines(network, part.summary, features, max_states=_STATES)])
    body += [text(line, 8, bottom + 8 + 13 * k, "nv-small nv-start") for k, line in enumerate(foot)]
    return Panel(width, height, body, parts[0].ports)


def _margin(network: Network, rows: Sequence[Line]) -> tuple[float, float]:
    """Return the widths of the columns of feature names and states."""
    names = ["base rate", *(shorten(network.name(row.feature), _NAMES, _SMALL) for row in rows)]
    states = ["", *(shorten(row.label, _VALUES, _SMALL) for row in rows)]
    return max(text_width(name, _SMALL) for name in names) + 16, max(text_width(state, _SMALL) for state in states) + 8


def _part(network: Network, title: str, summary: ClassSummary, rows: Sequence[Line], left: float) -> _Part:
    classes, labels = summary.classes(_COLUMNS), network.variables[CLASS].labels
    least = max([38.0, *(text_width(_number(v), _SMALL) + 6 for row in rows if not row.probable for v in row.values.tolist())])
    widths = [max(least, text_width(shorten(labels[c], _CLASSES, _SMALL), _SMALL) + 8) for c in classes]
    widths[-1] = max(widths[-1], text_width(title, _SMALL) + 4 - sum(widths[:-1]))
    return _Part(title, summary, classes, [*accumulate(widths[:-1], initial=left)], widths)


def _row_names(network: Network, rows: Sequence[Line], left: float) -> Iterator[Markup]:
    """Yield the texts before the rows of a table: the states, and the name of each feature in its first row."""
    yield text("base rate", 8, _TOP + 11, "nv-small nv-start")
    for k, row in enumerate(rows, start=1):
        if k == 1 or rows[k - 2].feature != row.feature:
            yield _named(network.name(row.feature), 8, _TOP + 11 + _ROW * k, _NAMES, " nv-start")
        yield _named(row.label, left, _TOP + 11 + _ROW * k, _VALUES, " nv-start")


def _columns(network: Network, part: _Part, rows: Sequence[Line]) -> Iterator[Markup]:
    """Yield the heading and the numbers of a summary; probabilities are shaded."""
    yield text(part.title, (part.edges[0] + part.right) / 2, 33, "nv-small")
    for c, edge, width in zip(part.classes, part.edges, part.widths, strict=True):
        yield _named(network.variables[CLASS].labels[c], edge + width / 2, 33 + _ROW, _CLASSES)
        rate = float(part.summary.rates[c])
        yield from _cell(f"{rate:.2f}", Box(edge, _TOP, width, _ROW), 0.04 + 0.4 * rate, "nv-rate")
        for k, row in enumerate(rows, start=1):
            value = float(row.values[c])
            number, shade = (f"{value:.2f}", 0.04 + 0.4 * value) if row.probable else (_number(value), 0.04)
            yield from _cell(number, Box(edge, _TOP + _ROW * k, width, _ROW), shade, "nv-cell")


def _cell(number: str, box: Box, shade: float, mark: str) -> Iterator[Markup]:
    yield element("rect", x=box.x + 1, y=box.y, width=box.width - 2, height=box.height - 1, fill_opacity=shade, class_=mark)
    yield text(number, box.centre, box.y + 11, "nv-small")


def _number(value: float) -> str:
    return f"{value:.4g}"


def _foot(network: Network, node: Node, summary: ClassSummary, features: Sequence[int]) -> Iterator[str]:
    """Yield the lines below the table of a classifier: how it divides cases, and what is left out."""
    if node.feature >= 0:
        yield f"divides cases by {bidi_isolated(shorten(network.name(node.feature), 160, _SMALL))}"
    if any(network.variables[x].card > _STATES for x in features):
        yield f"the first {_STATES} values of a feature"
    if len(features) < len(summary.ranked):
        yield _more(len(summary.ranked) - len(features), "feature")
    classes = len(summary.classes(len(summary.rates))) - len(summary.classes(_COLUMNS))
    if classes:
        yield _more(classes, "class")


def _more(count: int, noun: str) -> str:
    number, plural = counted(count, noun).split(" ")
    return f"and {number} more {plural}"


def _features(summary: ClassSummary, network: Network, most: int = _ROWS) -> list[int]:
    """Return the most informative features, as many as fit into a table, at least one."""
    used = accumulate(2 if x in summary.normals else min(network.variables[x].card, _STATES) for x in summary.ranked)
    return [x for k, (x, rows) in enumerate(zip(summary.ranked, used, strict=True)) if rows <= most or k == 0]


def _cut_off(node: Node) -> list[str]:
    return [f"{counted(node.left_out, 'node')} below left out"] if node.left_out else []


def cases_text(weight: float | None) -> str:
    """Return a number of cases as text.

    >>> cases_text(48.0), cases_text(2.25), cases_text(1.0)
    ('48 cases', '2.25 cases', '1 case')
    """
    shown = f"{weight or 0.0:,.2f}".rstrip("0").rstrip(".")
    return f"{shown} case{'s' * (shown != '1')}"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural where needed.

    >>> counted(2, "class"), counted(1, "node")
    ('2 classes', '1 node')
    """
    return f"{count:,} {noun}{('es' if noun.endswith('s') else 's') * (count != 1)}"


def _named(name: object, x: float, y: float, room: float, mark: str = "") -> Markup:
    """Return a name, shortened where it is too long, with the whole name as tooltip."""
    short = shorten(name, room, _SMALL)
    whole = [] if short == plain(name) else [element("title", shorten(name, 4000, _SMALL, 400))]
    return element("text", short, *whole, x=x, y=y, class_=f"nv-small{mark}")


def text(content: str, x: float, y: float, class_: str) -> Markup:
    """Return a text at a position."""
    return element("text", content, x=x, y=y, class_=class_)
