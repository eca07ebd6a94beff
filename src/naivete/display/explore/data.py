"""The values of a network that the page of `naivete explore` needs, as JSON."""

from __future__ import annotations

import base64
import json
import math
from math import prod
from typing import Any

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.display.explained_rows import UNUSUAL
from naivete.errors import ParameterError, ResourceError, quoted
from naivete.inference.certainty import Training
from naivete.inference.explanation import Explainer
from naivete.inference.tree_reasons import is_plain_tree
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Hidden, Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

__all__ = ["MOST_CELLS", "model_values", "script_json"]

MOST_CELLS = 1 << 20
"""The largest number of probabilities in a page, about 11 MB."""


def model_values(network: Network, training: Training | None = None, temperature: float = 1.0) -> dict[str, Any]:
    """Return the network as values that JSON can hold; tables are base64 texts of little-endian doubles.

    Parameters
    ----------
    network : the network, which is not a hierarchy of classifiers.
    training : the number of cases and the smoothing, for intervals; None where they are not known.
    temperature : the factor of all log-probabilities.
    """
    _check(network)
    derived = network.derived.items()
    return {
        "classes": list(network.variables[CLASS].labels),
        "target": str(network.name(CLASS)),
        "inputs": len(network.inputs),
        "variables": [_variable(network.variables[x]) for x in network.features],
        "order": list(network.order),
        "families": [_family(network, v, training) for v in network.order],
        "densities": [_density(network, x, density) for x, density in network.densities.items()],
        "hidden": [x for x, column in derived if isinstance(column, Hidden)],
        "tree": next((_tree(network, column) for _, column in derived if isinstance(column, Tree)), None),
        "temperature": temperature,
        "unusualBelow": _unusual_below(network),
        "training": None if training is None else {"cases": float(training.cases), "knownPrior": training.known_prior},
    }


def script_json(values: object) -> str:
    """Return JSON that can stand inside a script element: no text in it can end the element or the line.

    >>> script_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(values, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _check(network: Network) -> None:
    computed = [column for column in network.derived.values() if not isinstance(column, Hidden)]
    if computed and not is_plain_tree(network):
        raise ParameterError("a hierarchy of classifiers is not one network of tables, and cannot be explored in a page")
    for v in network.order:
        cells = prod(network.variables[m].card for m in network.family(v))
        if cells > MOST_CELLS:
            raise ResourceError(
                f"the table of {quoted(network.name(v))} has {cells:,} cells, and a page is limited to {MOST_CELLS:,} in all; "
                "learn a model with fewer parents"
            )
    total = sum(prod(network.variables[m].card for m in network.family(v)) for v in network.order)
    if total > MOST_CELLS:
        raise ResourceError(f"the tables have {total:,} cells, and a page is limited to {MOST_CELLS:,}; select features first")


def _unusual_below(network: Network) -> float | None:
    """Return the log probability below which a complete row is unusual: fewer than 1 % of the rows drawn from the network are."""
    explainer = Explainer(network)
    rows = explainer.reference
    if not rows:
        return None
    logs = np.sort(np.logaddexp.reduce(explainer.predictor.joint(rows, explainer.has_missing(rows)), axis=1))
    return float(logs[math.ceil(UNUSUAL * len(logs)) - 1])


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": str(variable.name),
        "labels": list(variable.labels),
        "card": variable.card,
        "values": max(variable.known, 1),
        "cuts": None if variable.cuts is None else list(map(float, variable.cuts)),
        "origin": variable.origin,
        "leftOut": variable.left_out,
    }


def _family(network: Network, v: int, training: Training | None) -> dict[str, Any]:
    pseudo = 0.0 if training is None else training.pseudo_cases(network.variables[v].card)
    return {"variable": v, "parents": list(network.parents[v]), "pseudo": pseudo, "table": _numbers(network.full_table(v))}


def _density(network: Network, x: int, density: Normal) -> dict[str, Any]:
    parents = [p for p in network.family(x) if p not in (x, CLASS)]
    kernel = density if isinstance(density, Kernel) else None
    return {
        "variable": x,
        "byClass": CLASS in network.parents[x],
        "discrete": [p for p in parents if p not in network.densities],
        "linked": [p for p in parents if p in network.densities],
        "means": _numbers(density.means),
        "variances": _numbers(density.variances),
        "slopes": None if density.slopes is None else _numbers(density.slopes),
        "points": None if kernel is None else _numbers(kernel.points),
        "weights": None if kernel is None else _numbers(kernel.weights),
        "widths": None if kernel is None else _numbers(kernel.widths),
    }


def _tree(network: Network, tree: Tree) -> dict[str, Any]:
    """Return the nodes of a tree, and the rows over which Shapley values are computed: equal ones once, with their share."""
    nodes, tested = range(tree.nodes), np.unique(tree.features[tree.features >= 0])
    reference = Explainer(network).reference
    rows = np.stack([reference[x].astype(np.int64) for x in tested.tolist()] or [np.zeros(len(reference[0]), np.int64)], axis=1)
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    columns = {str(x): column for x, column in zip(tested.tolist(), distinct.T.tolist(), strict=False)}
    return {
        "background": {"columns": columns, "shares": (counts / counts.sum()).tolist()},
        "features": tree.features.tolist(),
        "children": [tree.children_of(node).tolist() if tree.features[node] >= 0 else [] for node in nodes],
        "weights": tree.weights.tolist(),
        "states": tree.state_of.tolist(),
    }


def _numbers(array: Numbers) -> str:
    return base64.b64encode(np.ascontiguousarray(array, "<f8").tobytes()).decode()
