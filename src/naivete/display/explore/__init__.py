"""The page of `naivete explore`, which runs a model in the browser: one file, without references to others.

The inference is in JavaScript files beside this one, which do not touch the document and are tested against the library; `page.js`
shows its results.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final

from naivete.display.explore.data import model_values, script_json
from naivete.display.markup import STYLE, Markup, escaped
from naivete.display.network_drawing import Information, svg
from naivete.display.tree_drawing import NODES_UP_TO
from naivete.display.tree_outline import has_outline, outline
from naivete.inference.certainty import Training
from naivete.network.network import Network

__all__ = ["explore_page", "inference_script"]

INFERENCE: Final = (
    "tables",
    "buckets",
    "densities",
    "posterior",
    "contributions",
    "interval",
    "questions",
    "reasons",
    "trees",
    "flips",
    "case",
)
"""The scripts that compute, in the order in which they are run."""


def explore_page(
    network: Network,
    title: object,
    *,
    training: Training | None = None,
    temperature: float = 1.0,
    information: Information | None = None,
    facts: str = "",
) -> Markup:
    """Return an HTML document in which values of the features are chosen and all results are computed.

    Parameters
    ----------
    network : the network of tables and densities, or the tree.
    title : the heading.
    training : the number of cases and the smoothing, for intervals; None where they are not known.
    temperature : the factor of all log-probabilities.
    information : the bits of features and arcs that the drawing shows.
    facts : a line below the heading.
    """
    is_tree = has_outline(network)
    values = {**model_values(network, training, temperature), "outline": _outline(network) if is_tree else None}
    css, script = _file("page.css"), f'(() => {{\n"use strict";\n{inference_script()}\n{_file("page.js")}}})();\n'
    caption = "Marked: the nodes that the case can reach." if is_tree else "Marked: the features that have a value in the case."
    parts = {
        "policy": escaped(_policy(script, css, STYLE)),
        "title": escaped(title),
        "facts": escaped(facts) if facts else "",
        "css": css,
        "script": script,
        "model": script_json(values),
        "drawing-heading": "Tree" if is_tree else "Network",
        "drawing-caption": caption,
        "drawing": _without_style_attributes(svg(network, information=information)),
    }
    return Markup(re.sub(r"\{\{([a-z-]+)\}\}", lambda match: parts[match[1]], _file("page.html")))


@cache
def inference_script() -> str:
    """Return the JavaScript that computes posteriors, contributions, intervals, questions, reasons and flips, without the page."""
    return "\n".join(_file(f"{name}.js") for name in INFERENCE)


@cache
def _file(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _policy(script: str, *styles: str) -> str:
    """Return a content security policy that allows this script and these styles, and nothing else."""
    allowed = " ".join(map(_hash, styles))
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {allowed}; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _without_style_attributes(drawing: str) -> str:
    """Return a drawing whose style attributes, which the policy forbids, are data for the script that sets them."""
    return re.sub(r'(<[a-z]+(?: [a-zA-Z:-]+="[^"<>]*")*) style="', r'\1 data-style="', drawing)


def _outline(network: Network) -> list[dict[str, Any]]:
    """Return the nodes of the drawing of a tree, in the order in which they are drawn."""
    nodes = outline(network, max_nodes=NODES_UP_TO).nodes
    return [{"parent": node.parent, "states": list(node.states), "feature": node.feature} for node in nodes]
