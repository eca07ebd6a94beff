"""Heat maps of conditional tables: the probability of each value, for each configuration of the parents and each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.markup import Markup, bidi_isolated, element, image, plain, shorten, text_width
from naivete.errors import ParameterError, quoted
from naivete.network.network import Network, check_uncomputed
from naivete.variables import CLASS

__all__ = ["Heatmap", "Panel", "heatmap_of", "shade"]

ROWS, STATES, PANELS = 60, 30, 20
"""The largest numbers of rows, of columns and of panels that are drawn."""
CELL, WIDE_CELL, LINE, GAP, TOP = 58.0, 112.0, 26.0, 22.0, 34.0
NAMES, WIDTH = 260.0, 980.0
"""The largest widths of the names of rows, and of the panels side by side."""


class Panel(NamedTuple):
    """The probabilities for one class.

    Parameters
    ----------
    name : str
        The class; empty if the table has a single panel.
    cells : ndarray of shape (n_configurations, n_states)
        The probabilities, a row for each configuration of the parents; NaN where the table has none.
    """

    name: str
    cells: Numbers


class Heatmap(NamedTuple):
    """P(value | parents, class) of one feature, to be drawn with a shade for each probability.

    Parameters
    ----------
    title : str
        The probabilities that are shown.
    states : tuple of str
        The labels of the values, one for each column.
    rows : tuple of str
        The values of the parents, one text for each row; the classes if the class is the only parent.
    panels : tuple of Panel
        The tables, one for each class; a single one if the class is the only parent, or no parent.
    """

    title: str
    states: tuple[str, ...]
    rows: tuple[str, ...]
    panels: tuple[Panel, ...]

    def svg(self) -> str:
        """Return the drawing as SVG.

        Returns
        -------
        str
            The drawing.
        """
        return str(_drawing(self))

    def _repr_html_(self) -> str:
        return self.svg()


def heatmap_of(network: Network, v: int) -> Heatmap:
    """Return the heat map of the conditional table of a variable.

    Parameters
    ----------
    network : a network without computed columns.
    v : a variable with a table.
    """
    check_uncomputed(network, "a heat map")
    if v in network.densities:
        raise ParameterError(
            f"a heat map shows a table, and {quoted(network.name(v))} is continuous; discretize it (numbers='cut')"
        )
    others = [m for m in network.family(v) if m != v]
    by_class = len(others) > 1 and others[-1] == CLASS
    parents = others[:-1] if by_class else others
    cells: dict[str, dict[str, Numbers]] = {}
    for labels, probabilities in network.distributions(v):
        name = labels[-1] if by_class else ""
        cells.setdefault(name, {})[_row_name(network, parents, labels)] = probabilities
    states, rows = network.variables[v].labels, tuple(dict.fromkeys(row for panel in cells.values() for row in panel))
    absent = np.full(len(states), np.nan)
    classes = network.variables[CLASS].labels if by_class else ("",)
    panels = [Panel(c, np.array([cells.get(c, {}).get(row, absent) for row in rows])) for c in classes]
    given = ", ".join(bidi_isolated(plain(network.name(m))) for m in others)
    name = bidi_isolated(plain(network.name(v)))
    return Heatmap(f"P({name} | {given})" if given else f"P({name})", states, rows, tuple(_titled(network, panels)))


def _row_name(network: Network, parents: Sequence[int], labels: Sequence[str]) -> str:
    """Return a configuration of the parents as text."""
    return ", ".join(f"{network.name(m)} = {label}" for m, label in zip(parents, labels, strict=False)) or "all cases"


def _titled(network: Network, panels: Sequence[Panel]) -> Iterator[Panel]:
    for name, cells in panels:
        yield Panel(f"{network.name(CLASS)} = {name}" if name else "", cells)


def shade(p: float) -> float:
    """Return the opacity of a cell with this probability: at most 0.6, on which text is legible on light and on dark pages.

    >>> shade(0.0), shade(0.5), shade(1.0)
    (0.0, 0.3, 0.6)
    """
    return round(0.6 * p, 3)


class _Layout(NamedTuple):
    """Positions: where the cells of the first panel begin, the width of a cell, and the height of the head of a panel."""

    left: float
    cell: float
    head: float


def _drawing(heatmap: Heatmap) -> Markup:
    rows, states, panels = heatmap.rows[:ROWS], heatmap.states[:STATES], heatmap.panels[:PANELS]
    names = [shorten(row, NAMES, 11) for row in rows]
    cell = min(WIDE_CELL, max(CELL, *(text_width(state, 10.5) + 6 for state in states)))
    layout = _Layout(22 + max(text_width(name, 11) for name in names), cell, 44.0 if panels[0].name else 26.0)
    panel_width, panel_height = cell * len(states) + GAP, layout.head + LINE * len(rows) + GAP
    side_by_side = max(1, min(len(panels), int((WIDTH - layout.left) // panel_width)))
    width = max(layout.left + side_by_side * panel_width, 24 + min(WIDTH, text_width(heatmap.title, 15)))
    height = TOP + panel_height * -(-len(panels) // side_by_side)
    body = [element("text", shorten(heatmap.title, width - 20, 15, 120), x=12.0, y=22.0, class_="nv-title nv-start")]
    for i, panel in enumerate(panels):
        top = TOP + panel_height * (i // side_by_side)
        if i % side_by_side == 0:
            body += _row_names(names, rows, layout.left, top + layout.head)
        body += _panel(panel, states, rows, layout._replace(left=layout.left + panel_width * (i % side_by_side)), top)
    more = _left_out(heatmap)
    if more:
        body.append(element("text", more, x=12.0, y=height + 4, class_="nv-small nv-start"))
    return image(heatmap.title, _description(heatmap), body, width, height + 16 * bool(more), class_="nv-net nv-heatmap")


def _row_names(names: Sequence[str], rows: Sequence[str], left: float, top: float) -> Iterator[Markup]:
    for i, (name, row) in enumerate(zip(names, rows, strict=True)):
        yield element("text", name, element("title", row), x=left - 10, y=top + LINE * i + 17, class_="nv-label nv-end")


def _panel(panel: Panel, states: Sequence[str], rows: Sequence[str], layout: _Layout, top: float) -> Iterator[Markup]:
    """Yield the names of the class and of the columns, and the cells."""
    left, cell, head = layout
    if panel.name:
        name, style = shorten(panel.name, cell * len(states) + GAP - 4, 11), "nv-label nv-start"
        yield element("text", name, element("title", panel.name), x=left, y=top + 14, class_=style, font_weight="600")
    for j, state in enumerate(states):
        label = shorten(state, cell - 4, 10.5)
        yield element("text", label, element("title", state), x=left + cell * (j + 0.5), y=top + head - 7, class_="nv-small")
    for i, row in enumerate(rows):
        for j, state in enumerate(states):
            p = float(panel.cells[i, j])
            if not np.isnan(p):
                tooltip = f"{', '.join(filter(None, [panel.name, row]))}: P({state}) = {p:.4f}"
                yield from _cell(p, tooltip, left + cell * j, top + head + LINE * i, cell)


def _cell(p: float, tooltip: str, x: float, y: float, width: float) -> Iterator[Markup]:
    shaded = {"class_": "nv-cell", "fill_opacity": f"{shade(p):g}"}
    yield element("rect", element("title", tooltip), x=x + 1, y=y + 1, width=width - 2, height=LINE - 2, rx=3, **shaded)
    yield element("text", f"{p:.2f}", x=x + width / 2, y=y + 17, class_="nv-label", pointer_events="none")


def _left_out(heatmap: Heatmap) -> str:
    counts = [("rows", heatmap.rows, ROWS), ("values", heatmap.states, STATES), ("classes", heatmap.panels, PANELS)]
    return "; ".join(f"{most} of {len(shown):,} {name} are drawn" for name, shown, most in counts if len(shown) > most)


def _description(heatmap: Heatmap) -> str:
    """Return the first probabilities in words, for screen readers."""
    lines = []
    for panel in heatmap.panels[:PANELS]:
        for row, cells in islice(zip(heatmap.rows, panel.cells, strict=True), ROWS):
            shown = zip(heatmap.states[:STATES], cells.tolist(), strict=False)
            values = ", ".join(f"{state} {p:.2f}" for state, p in shown if not np.isnan(p))
            lines.append(f"{', '.join(filter(None, [panel.name, row]))}: {values}")
    return plain("; ".join(lines))
