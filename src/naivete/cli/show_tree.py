"""Trees and hierarchies of classifiers for `naivete show`: as indented text, and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.output import counted, escaped, named, text_table
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.display.class_summaries import ClassSummary
    from naivete.display.tree_outline import Node, Outline
    from naivete.network.network import Network

__all__ = ["outline_described", "outline_section", "outline_size", "outline_told", "size_lines"]

LINES: Final = 2000
"""The most lines of a tree that are printed, and the most rules."""
_NODES, _FEATURES, _CLASSES, _STATES = 200, 6, 12, 20  # of a hierarchy; features and states unless all tables are printed


def outline_described(network: Network, tables: bool) -> dict[str, Any]:
    """A tree or hierarchy as plain values: its nodes one after the other, each before its children.

    Parameters
    ----------
    network : the network.
    tables : whether P(value | class) is told too.
    """
    from naivete.display.tree_outline import outline

    found = outline(network)
    nodes = [{"node": i, **_node(network, node, tables)} for i, node in enumerate(found.nodes)]
    return {kind: {**size, "outline": nodes} for kind, size in _size(found).items()}


def _node(network: Network, node: Node, tables: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "parent": None if node.parent < 0 else node.parent,
        "branch": node.branch,
        "feature": None if node.feature < 0 else network.name(node.feature),
    }
    if node.weight is not None:
        told["weight"] = node.weight
    for word, own in (("sorting", node.sorting), ("answer", node.answer)):
        if own is not None:
            told[word] = _summary(network, own, tables)
    return told


def _summary(network: Network, own: ClassSummary, tables: bool) -> dict[str, Any]:
    rates = {"class": network.variables[CLASS].labels[own.best], "rates": own.rates.tolist()}
    if not tables or not own.ranked:
        return rates
    listed = {str(network.name(x)): table.tolist() for x, table in own.tables.items()}
    normals = {str(network.name(x)): dict(zip(("mean", "deviation"), t.tolist(), strict=True)) for x, t in own.normals.items()}
    return {**rates, "tables": listed, **({"normals": normals} if normals else {})}


def outline_size(network: Network) -> dict[str, Any]:
    """Return the number of nodes and the depth of a tree or hierarchy, of a tree also its leaves; empty for other networks."""
    from naivete.display.tree_outline import has_outline, outline

    return _size(outline(network)) if has_outline(network) else {}


def _size(found: Outline) -> dict[str, Any]:
    size: dict[str, Any] = {
        "nodes": found.total,
        "left_out": found.total - len(found.nodes),
        "depth": max(node.depth for node in found.nodes),
    }
    if not found.leaves:
        return {"hierarchy": size}
    return {"tree": {**size, "leaves": sum(node.feature < 0 for node in found.nodes)}}


def size_lines(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the size of a tree or hierarchy as text, with the name of the line."""
    if "tree" in summary:
        size = summary["tree"]
        leaves = "" if size["left_out"] else f"{counted(size['leaves'], 'leaf')}, "
        yield "tree", f"{counted(size['nodes'], 'node')}, {leaves}depth {size['depth']:,}"
    if "hierarchy" in summary:
        size = summary["hierarchy"]
        yield "nodes", f"{counted(size['nodes'], 'classifier')}, depth {size['depth'] + 1:,}"


def outline_told(network: Network, tables: bool) -> list[str]:
    """A tree or hierarchy as indented text.

    Parameters
    ----------
    network : the network.
    tables : whether all features of a hierarchy are told, instead of those that tell most; of a tree the rules.
    """
    from naivete.display.tree_outline import outline

    found = outline(network, max_nodes=_NODES)
    if not found.leaves:
        return [*_hierarchy(network, found, tables)]

    from naivete.display.rules import tree_text

    summary_lines = tree_text(network).split("\n")
    rules = ["", *_rules(network)] if tables else []
    return [*_first(summary_lines, "line"), *rules]


def outline_section(network: Network, kind: str) -> tuple[str, tuple[str, list[Any]]]:
    """For a page: what to say below the drawing of a tree or hierarchy, and a section with its rules or its classifiers."""
    from naivete.display.conditional_tables_html import hierarchy_html
    from naivete.display.markup import element
    from naivete.display.tree_outline import outline

    if kind == "hierarchy":
        caption = "Each box is a classifier: the base rates, and P(value | class) of the features that tell most."
        return caption, ("Classifiers", [hierarchy_html(network, outline(network, max_nodes=_NODES))])
    caption = "A leaf tells its class, the probability of that class, and the weight of its training cases."
    return caption, ("Rules", [element("ul", *(element("li", rule) for rule in _rules(network)))])


def _rules(network: Network) -> list[str]:
    """The rules of a tree, the first ones where there are many."""
    from naivete.display.rules import rules

    return _first(rules(network), "rule")


def _first(summary_lines: list[str], what: str) -> list[str]:
    more = [f"... and {counted(len(summary_lines) - LINES, what)} more"] if len(summary_lines) > LINES else []
    return [*map(escaped, summary_lines[:LINES]), *more]


def _hierarchy(network: Network, found: Outline, tables: bool) -> Iterator[str]:
    """The classifiers, each below the one that sends it its cases."""
    from naivete.display.tree_outline import heading, node_summaries

    for node in found.nodes:
        indent = "|   " * node.depth
        yield indent + escaped(heading(network, found, node))
        for word, own in node_summaries(node):
            yield from (f"{indent}  {line}" for line in _summary_told(network, word, own, tables))
        if node.feature >= 0:
            yield f"{indent}  sends cases on by {escaped(named(network.name(node.feature)))}"
        if node.left_out:
            yield f"{indent}  {counted(node.left_out, 'classifier')} below left out"


def _summary_told(network: Network, word: str, own: ClassSummary, tables: bool) -> list[str]:
    """A summary as a table, with the features that tell most."""
    from naivete.display.class_summaries import summary_lines

    labels = network.variables[CLASS].labels
    classes, features = own.classes(_CLASSES), own.ranked[: None if tables else _FEATURES]
    rows = [["base rate", "", *(f"{own.rates[c]:.4f}" for c in classes)]]
    for line in summary_lines(network, own, features, max_states=None if tables else _STATES):
        numbers = [f"{line.values[c]:.4f}" if line.probable else f"{line.values[c]:.6g}" for c in classes]
        rows.append([named(network.name(line.feature)), line.label, *numbers])
    more = [(len(own.ranked) - len(features), "feature"), (len(own.classes(len(labels))) - len(classes), "class")]
    left_out = [f"... and {counted(count, what)} more" for count, what in more if count]
    if not tables and any(network.variables[x].card > _STATES for x in features):
        left_out.append(f"(of a feature the first {_STATES} states)")
    return [*text_table([word, "", *(labels[c] for c in classes)], rows, left=(0, 1)), *left_out]
