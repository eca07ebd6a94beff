"""Classification trees and hierarchies of classifiers for `naivete show`, as indented text and as plain values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from naivete.cli.output import counted, escaped, named, text_table
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.display.class_summaries import ClassSummary
    from naivete.display.tree_outline import Node, Outline
    from naivete.network.network import Network

__all__ = ["outline_lines", "outline_record", "outline_section", "outline_size", "size_lines"]

LINES: Final = 2000
"""The largest number of lines, and of rules, of a tree that is printed."""
_NODES, _FEATURES, _CLASSES, _STATES = 200, 6, 12, 20  # the most to print of a hierarchy


def outline_record(network: Network, tables: bool) -> dict[str, Any]:
    """Return a tree or hierarchy as plain values: a list of its nodes, each before its children.

    Parameters
    ----------
    network : the network.
    tables : whether to add P(value | class).
    """
    from naivete.display.tree_outline import outline

    tree = outline(network)
    nodes = [{"node": i, **_node(network, node, tables)} for i, node in enumerate(tree.nodes)]
    return {kind: {**size, "outline": nodes} for kind, size in _size(tree).items()}


def _node(network: Network, node: Node, tables: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "parent": None if node.parent < 0 else node.parent,
        "branch": node.branch,
        "feature": None if node.feature < 0 else network.name(node.feature),
    }
    if node.weight is not None:
        record["weight"] = node.weight
    for name, summary in (("sorting", node.sorting), ("predicting", node.predicting)):
        if summary is not None:
            record[name] = _summary(network, summary, tables)
    return record


def _summary(network: Network, summary: ClassSummary, tables: bool) -> dict[str, Any]:
    rates = {"class": network.variables[CLASS].labels[summary.best], "rates": summary.rates.tolist()}
    if not tables or not summary.ranked:
        return rates
    by_name = {str(network.name(x)): table.tolist() for x, table in summary.tables.items()}
    normals = {
        str(network.name(x)): dict(zip(("mean", "deviation"), parameters.tolist(), strict=True))
        for x, parameters in summary.normals.items()
    }
    return {**rates, "tables": by_name, **({"normals": normals} if normals else {})}


def outline_size(network: Network) -> dict[str, Any]:
    """Return the number of nodes, the depth and, of a tree, the number of leaves; nothing for other networks."""
    from naivete.display.tree_outline import has_outline, outline

    return _size(outline(network)) if has_outline(network) else {}


def _size(tree: Outline) -> dict[str, Any]:
    size: dict[str, Any] = {
        "nodes": tree.total,
        "left_out": tree.total - len(tree.nodes),
        "depth": max(node.depth for node in tree.nodes),
    }
    if not tree.leaves:
        return {"hierarchy": size}
    return {"tree": {**size, "leaves": sum(node.feature < 0 for node in tree.nodes)}}


def size_lines(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the size of a tree or hierarchy as text, with the name of the line."""
    if "tree" in summary:
        size = summary["tree"]
        leaves = "" if size["left_out"] else f"{counted(size['leaves'], 'leaf')}, "
        yield "tree", f"{counted(size['nodes'], 'node')}, {leaves}depth {size['depth']:,}"
    if "hierarchy" in summary:
        size = summary["hierarchy"]
        yield "nodes", f"{counted(size['nodes'], 'classifier')}, depth {size['depth'] + 1:,}"


def outline_lines(network: Network, tables: bool) -> list[str]:
    """Return a tree or hierarchy as indented text.

    Parameters
    ----------
    network : the network.
    tables : whether to print all features of a hierarchy instead of the most informative ones, and the rules of a tree.
    """
    from naivete.display.tree_outline import outline

    tree = outline(network, max_nodes=_NODES)
    if not tree.leaves:
        return [*_hierarchy(network, tree, tables)]

    from naivete.display.rules import tree_text

    lines = tree_text(network).split("\n")
    rules = ["", *_rules(network)] if tables else []
    return [*_first(lines, "line"), *rules]


def outline_section(network: Network, kind: str) -> tuple[str, tuple[str, list[Any]]]:
    """Return the caption of the drawing of a tree or hierarchy, and the section of a page with its rules or its classifiers."""
    from naivete.display.conditional_tables_html import hierarchy_html
    from naivete.display.markup import element
    from naivete.display.tree_outline import outline

    if kind == "hierarchy":
        caption = "Each box is a classifier: the base rates of the classes, and P(value | class) of the most informative features."
        return caption, ("Classifiers", [hierarchy_html(network, outline(network, max_nodes=_NODES))])
    caption = "A leaf shows its class, the probability of this class, and the total weight of its training cases."
    return caption, ("Rules", [element("ul", *(element("li", rule) for rule in _rules(network)))])


def _rules(network: Network) -> list[str]:
    """Return the first rules of a tree."""
    from naivete.display.rules import rules

    return _first(rules(network), "rule")


def _first(lines: list[str], noun: str) -> list[str]:
    more = [f"... and {counted(len(lines) - LINES, noun)} more"] if len(lines) > LINES else []
    return [*map(escaped, lines[:LINES]), *more]


def _hierarchy(network: Network, tree: Outline, tables: bool) -> Iterator[str]:
    """Yield the lines of the classifiers of a hierarchy, each below its parent."""
    from naivete.display.tree_outline import heading, node_summaries

    for node in tree.nodes:
        indent = "|   " * node.depth
        yield indent + escaped(heading(network, tree, node))
        for title, summary in node_summaries(node):
            yield from (f"{indent}  {line}" for line in _summary_lines(network, title, summary, tables))
        if node.feature >= 0:
            yield f"{indent}  splits the cases by {escaped(named(network.name(node.feature)))}"
        if node.left_out:
            yield f"{indent}  {counted(node.left_out, 'classifier')} below left out"


def _summary_lines(network: Network, title: str, summary: ClassSummary, tables: bool) -> list[str]:
    """Return the table of a classifier, with its most informative features."""
    from naivete.display.class_summaries import summary_lines

    labels = network.variables[CLASS].labels
    classes, features = summary.classes(_CLASSES), summary.ranked[: None if tables else _FEATURES]
    rows = [["base rate", "", *(f"{summary.rates[c]:.4f}" for c in classes)]]
    for line in summary_lines(network, summary, features, max_states=None if tables else _STATES):
        numbers = [f"{line.values[c]:.4f}" if line.probable else f"{line.values[c]:.6g}" for c in classes]
        rows.append([named(network.name(line.feature)), line.label, *numbers])
    more = [(len(summary.ranked) - len(features), "feature"), (len(summary.classes(len(labels))) - len(classes), "class")]
    left_out = [f"... and {counted(count, noun)} more" for count, noun in more if count]
    if not tables and any(network.variables[x].card > _STATES for x in features):
        left_out.append(f"(the first {_STATES} states of each feature)")
    return [*text_table([title, "", *(labels[c] for c in classes)], rows, left=(0, 1)), *left_out]
