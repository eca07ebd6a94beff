"""The conditional tables of a network as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import Final

from naivete.markup import Safe, cut, element, isolated, plain
from naivete.network import Network, cells

__all__ = ["tables_html"]

_BAR: Final = "background:linear-gradient(var(--nv-feature,#3b7dd8),var(--nv-feature,#3b7dd8)) 0 100%/{}% 3px no-repeat"


def tables_html(network: Network, v: int, *, max_columns: int = 24, max_states: int = 40) -> Safe:
    """P(v | parents) as an HTML table: a row for every state, a column for every configuration of the parents and the class.

    Works inside and outside a page. What is beyond `max_columns` and `max_states` is left out, and a line below says so.
    """
    others = [m for m in network.family(v) if m != v]
    columns = list(islice(network.distributions(v), max_columns))
    states = network.variables[v].labels[:max_states]
    total = cells(network.cpts[v]) // network.variables[v].card
    heads = [_head_row(network, m, [labels[: i + 1] for labels, _ in columns]) for i, m in enumerate(others)]
    rows = [
        element(
            "tr", element("th", cut(state, 200, 14), scope="row", title=plain(state)), *(_probability(p[i]) for _, p in columns)
        )
        for i, state in enumerate(states)
    ]
    left_out = [("columns", len(columns), total), ("states", len(states), network.variables[v].card)]
    cuts = [f"{shown:,} of {full:,} {what} are shown" for what, shown, full in left_out if shown < full]
    given = ", ".join(isolated(cut(network.name(m), 160, 14)) for m in others)
    name = isolated(cut(network.name(v), 300, 14))
    caption = "; ".join([f"P({name} | {given})" if given else f"P({name})", *cuts])
    return element("table", element("caption", caption), element("thead", *heads), element("tbody", *rows), class_="cpt")


def _head_row(network: Network, m: int, prefixes: Sequence[tuple[str, ...]]) -> Safe:
    groups = [(key[-1], len(list(same))) for key, same in groupby(prefixes)]
    first = element("th", cut(network.name(m), 160, 14), scope="row", title=plain(network.name(m)))
    cells = [
        element("th", cut(label, 46 + 80 * span, 14), colspan=span, scope="colgroup", title=plain(label))
        for label, span in groups
    ]
    return element("tr", first, *cells)


def _probability(p: float) -> Safe:
    return element("td", f"{p:.3f}", style=_BAR.format(f"{100 * p:.1f}"), class_="num")
