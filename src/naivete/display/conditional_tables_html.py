"""The conditional tables of a network, or of the classifiers of a hierarchy, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import Final

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.class_summaries import ClassSummary, Line, normal_parameters, summary_lines
from naivete.display.markup import Markup, bidi_isolated, element, plain, shorten
from naivete.display.tree_outline import Outline, heading, node_summaries
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["conditional_table_html", "hierarchy_html"]


_BAR: Final = "background:linear-gradient(var(--nv-feature,#3b7dd8),var(--nv-feature,#3b7dd8)) 0 100%/{}% 3px no-repeat"


def conditional_table_html(network: Network, v: int, *, max_columns: int = 24, max_states: int = 40) -> Markup:
    """P(v | parents) as an HTML table: a row for every state, a column for every configuration of the parents and the class.

    Of a number with a density the rows are its mean and deviation. Works inside and outside a page. What is beyond `max_columns`
    and `max_states` is left out, and a line below says so.
    """
    others = [m for m in network.family(v) if m != v]
    every, columns, total = _columns(network, v, max_columns)
    states, cell = every[:max_states], _number if v in network.densities else _probability
    heads = [_head_row(network, m, [labels[: i + 1] for labels, _ in columns]) for i, m in enumerate(others)]
    rows = [
        element("tr", element("th", shorten(state, 200, 14), scope="row", title=plain(state)), *(cell(p[i]) for _, p in columns))
        for i, state in enumerate(states)
    ]
    left_out = [("columns", len(columns), total), ("states", len(states), len(every))]
    cuts = [f"{shown:,} of {full:,} {what} are shown" for what, shown, full in left_out if shown < full]
    given = ", ".join(bidi_isolated(shorten(network.name(m), 160, 14)) for m in others)
    name = bidi_isolated(shorten(network.name(v), 300, 14))
    caption = "; ".join([f"P({name} | {given})" if given else f"P({name})", *cuts])
    return element("table", element("caption", caption), element("thead", *heads), element("tbody", *rows), class_="cpt")


def _columns(network: Network, v: int, most: int) -> tuple[Sequence[str], list[tuple[tuple[str, ...], Numbers]], int]:
    """What the rows of a table are, its columns with the labels of their configuration, and how many of them there are in all."""
    if v in network.densities:
        told = [(labels, np.array([mean, deviation])) for labels, mean, deviation in islice(normal_parameters(network, v), most)]
        return ("mean", "deviation"), told, network.densities[v].means.size
    own = network.variables[v]
    return own.labels, list(islice(network.distributions(v), most)), network.table(v).size // own.card


def _head_row(network: Network, m: int, prefixes: Sequence[tuple[str, ...]]) -> Markup:
    groups = [(key[-1], len(list(same))) for key, same in groupby(prefixes)]
    first = element("th", shorten(network.name(m), 160, 14), scope="row", title=plain(network.name(m)))
    table_cells = [
        element("th", shorten(label, 46 + 80 * span, 14), colspan=span, scope="colgroup", title=plain(label))
        for label, span in groups
    ]
    return element("tr", first, *table_cells)


def _number(p: float) -> Markup:
    return element("td", f"{p:.4g}", class_="num")


def _probability(p: float) -> Markup:
    return element("td", f"{p:.3f}", style=_BAR.format(f"{100 * p:.1f}"), class_="num")


def hierarchy_html(
    network: Network, found: Outline, *, max_features: int = 20, max_classes: int = 12, max_states: int = 40
) -> Markup:
    """The classifiers of a hierarchy, one inside the other, each with its rates and P(value | class); they open on a click.

    Parameters
    ----------
    network : the network.
    found : its outline.
    max_features, max_classes, max_states : what is beyond is left out, of features what tells least; a line says so.
    """
    inside: list[list[Markup]] = [[] for _ in found.nodes]
    for i in range(len(found.nodes) - 1, -1, -1):
        node = found.nodes[i]
        tables = [_summary_html(network, word, own, max_features, max_classes, max_states) for word, own in node_summaries(node)]
        by = (
            []
            if node.feature < 0
            else [element("p", f"sends cases on by {bidi_isolated(shorten(network.name(node.feature), 300, 14))}")]
        )
        more = [element("p", f"{node.left_out:,} classifiers below are left out")] if node.left_out else []
        told = element("summary", shorten(heading(network, found, node), 900, 14))
        whole = element("details", told, *tables, *by, *more, *reversed(inside[i]), open=None if node.depth else "open")
        inside[node.parent if i else 0].append(whole)
    return inside[0][-1]


def _summary_html(network: Network, word: str, summary: ClassSummary, features: int, classes: int, states: int) -> Markup:
    """A summary as a table: a line for the base rates, then one for each value of the features that tell most."""
    columns, occurring = summary.classes(classes), summary.classes(len(summary.rates))
    labels = network.variables[CLASS].labels
    heads = [element("th", shorten(labels[c], 126, 14), scope="col", title=plain(labels[c])) for c in columns]
    rates = element(
        "tr", element("th", "base rate", scope="row", colspan=2), *(_probability(float(summary.rates[c])) for c in columns)
    )
    rows = [_line(network, line, columns) for line in summary_lines(network, summary, summary.ranked[:features], max_states=states)]
    left_out = [("features", min(features, len(summary.ranked)), len(summary.ranked)), ("classes", len(columns), len(occurring))]
    cuts = [f"{shown:,} of {full:,} {what} are shown" for what, shown, full in left_out if shown < full]
    many = any(network.variables[x].card > states for x in summary.ranked[:features])
    cuts += [f"of a feature the first {states:,} states are shown"] if many else []
    head = element("tr", element("th", word, scope="col", colspan=2), *heads)
    caption = element("caption", "; ".join(cuts)) if cuts else Markup("")
    return element("table", caption, element("thead", head), element("tbody", rates, *rows), class_="cpt")


def _line(network: Network, line: Line, columns: Sequence[int]) -> Markup:
    name, values = network.name(line.feature), [float(line.values[c]) for c in columns]
    names = [element("th", shorten(own, 200, 14), scope="row", title=plain(own)) for own in (name, line.label)]
    return element("tr", *names, *(_probability(v) if line.probable else _number(v) for v in values))
