"""HTML tables of the conditional probabilities of a network, or of the classifiers of a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from typing import Final

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.class_summaries import ClassSummary, Line, normal_parameters, summary_lines
from naivete.display.heatmap import shade
from naivete.display.markup import Markup, bidi_isolated, element, plain, shorten
from naivete.display.tree_outline import Outline, heading, node_summaries
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["conditional_table_html", "hierarchy_html"]


_SHADE: Final = "background:color-mix(in srgb,var(--nv-feature,#3b7dd8) {:.3g}%,transparent)"


def conditional_table_html(network: Network, v: int, *, max_columns: int = 24, max_states: int = 40) -> Markup:
    """Return P(v | parents) as an HTML table: a row for every state, a column for every configuration of the parents.

    Each cell has a shade for its probability. The rows of a variable with a normal density are its mean and standard deviation. The
    caption gives the number of columns and states that are left out.

    Parameters
    ----------
    network : the network.
    v : the variable.
    max_columns, max_states : the largest numbers of columns and rows.
    """
    others = [m for m in network.family(v) if m != v]
    labels, columns, total = _columns(network, v, max_columns)
    states, cell = labels[:max_states], _number if v in network.densities else _probability
    heads = [_head_row(network, m, [parents[: i + 1] for parents, _ in columns]) for i, m in enumerate(others)]
    rows = [
        element("tr", element("th", shorten(state, 200, 14), scope="row", title=plain(state)), *(cell(p[i]) for _, p in columns))
        for i, state in enumerate(states)
    ]
    left_out = [("columns", len(columns), total), ("states", len(states), len(labels))]
    limits = [_limit_text(*entry) for entry in left_out if entry[1] < entry[2]]
    parent_names = ", ".join(bidi_isolated(shorten(network.name(m), 160, 14)) for m in others)
    name = bidi_isolated(shorten(network.name(v), 300, 14))
    caption = "; ".join([f"P({name} | {parent_names})" if parent_names else f"P({name})", *limits])
    return element("table", element("caption", caption), element("thead", *heads), element("tbody", *rows), class_="cpt")


def _columns(network: Network, v: int, most: int) -> tuple[Sequence[str], list[tuple[tuple[str, ...], Numbers]], int]:
    """Return the labels of the rows, the first columns with the labels of the parents, and the number of all columns."""
    if v in network.densities:
        normals = islice(normal_parameters(network, v), most)
        columns = [(labels, np.array([mean, deviation])) for labels, mean, deviation in normals]
        return ("mean", "deviation"), columns, network.densities[v].means.size
    variable = network.variables[v]
    return variable.labels, list(islice(network.distributions(v), most)), network.table(v).size // variable.card


def _limit_text(name: str, shown: int, total: int) -> str:
    return f"{shown:,} of {total:,} {name} are shown"


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
    return element("td", f"{p:.3f}", style=_SHADE.format(100 * shade(p)), class_="num")


def hierarchy_html(
    network: Network, tree: Outline, *, max_features: int = 20, max_classes: int = 12, max_states: int = 40
) -> Markup:
    """Return the classifiers of a hierarchy as nested HTML details elements, each with its rates and P(value | class).

    The root is open, the others open on a click.

    Parameters
    ----------
    network : the network.
    tree : its outline.
    max_features, max_classes, max_states : the largest numbers in a table; the most informative features are kept, and the caption
        gives the numbers that are left out.
    """
    parts: list[str] = []
    following = [node.depth for node in tree.nodes[1:]] + [0]
    for node, next_depth in zip(tree.nodes, following, strict=True):
        parts.append("<details>" if node.depth else '<details open="open">')
        parts.append(element("summary", shorten(heading(network, tree, node), 900, 14)))
        parts += [
            _summary_html(network, title, summary, max_features, max_classes, max_states) for title, summary in node_summaries(node)
        ]
        if node.feature >= 0:
            parts.append(element("p", f"divides cases by {bidi_isolated(shorten(network.name(node.feature), 300, 14))}"))
        if node.left_out:
            parts.append(element("p", f"{node.left_out:,} classifiers below are left out"))
        parts.append("</details>" * (node.depth - next_depth + 1))
    return Markup("".join(parts))


def _summary_html(network: Network, title: str, summary: ClassSummary, features: int, classes: int, states: int) -> Markup:
    """Return a summary as a table: the base rates, then P(value | class) of the most informative features."""
    columns, occurring = summary.classes(classes), summary.classes(len(summary.rates))
    labels = network.variables[CLASS].labels
    heads = [element("th", shorten(labels[c], 126, 14), scope="col", title=plain(labels[c])) for c in columns]
    rates = element(
        "tr", element("th", "base rate", scope="row", colspan=2), *(_probability(float(summary.rates[c])) for c in columns)
    )
    rows = [
        _table_row(network, line, columns) for line in summary_lines(network, summary, summary.ranked[:features], max_states=states)
    ]
    left_out = [("features", min(features, len(summary.ranked)), len(summary.ranked)), ("classes", len(columns), len(occurring))]
    limits = [_limit_text(*entry) for entry in left_out if entry[1] < entry[2]]
    many = any(network.variables[x].card > states for x in summary.ranked[:features])
    limits += [f"of a feature the first {states:,} states are shown"] if many else []
    head = element("tr", element("th", title, scope="col", colspan=2), *heads)
    caption = element("caption", "; ".join(limits)) if limits else Markup("")
    return element("table", caption, element("thead", head), element("tbody", rates, *rows), class_="cpt")


def _table_row(network: Network, line: Line, columns: Sequence[int]) -> Markup:
    name, values = network.name(line.feature), [float(line.values[c]) for c in columns]
    names = [element("th", shorten(text, 200, 14), scope="row", title=plain(text)) for text in (name, line.label)]
    return element("tr", *names, *(_probability(v) if line.probable else _number(v) for v in values))
