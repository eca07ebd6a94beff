"""A classification tree as a network: the class has one parent, the leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from naivete.counts.counts import Counts
from naivete.learners.tree.nodes import EPSILON, Nodes, Numbers, Positions, ragged
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.network.smoothing import Backoff, Context, backoff_table, normalized, smoothing_of
from naivete.variables import CLASS, Variable, unused_name

__all__ = ["tree_network"]


def tree_network(counts: Counts, nodes: Nodes, smoothing: object) -> Network:
    """Return the network of a tree: the features, the leaf, which is derived from them, and the class, a child of the leaf.

    Numeric features that are split in two keep only the cut points that the tree uses. The features have no parents, because
    the tree does not model them.
    """
    nodes = nodes.compact()
    lasts = _lasts(nodes, len(counts.features))
    inputs = [_recut(variable, lasts[x]) for x, variable in enumerate(counts.variables[:CLASS])]
    tree = _tree(nodes, lasts, inputs)
    leaf = Variable(unused_name("leaf", counts.variables), tuple(range(1, len(tree.leaves) + 1)))
    leaf_position = len(inputs)
    cpts = {x: _marginal(counts, x, lasts[x]) for x in counts.features}
    cpts[leaf_position] = normalized(nodes.totals[tree.leaves], 0)
    cpts[CLASS] = _classes(nodes, tree.leaves, smoothing)
    structure: dict[int, tuple[int, ...]] = {**dict.fromkeys(range(leaf_position + 1), ()), CLASS: (leaf_position,)}
    return Network((*inputs, leaf, counts.variables[CLASS]), structure, cpts, {leaf_position: tree}, check=False)


def _lasts(nodes: Nodes, features: int) -> list[Positions | None]:
    """Return the codes at which a tree splits each feature in two, None where it has a branch for every state."""
    inner = np.flatnonzero(nodes.inner)
    order = inner[np.argsort(nodes.features[inner], kind="stable")]
    each = np.split(nodes.lasts[order], np.searchsorted(nodes.features[order], np.arange(1, features)))
    return [None if np.any(lasts < 0) else np.unique(lasts) for lasts in each[:features]]


def _recut(variable: Variable, lasts: Positions | None) -> Variable:
    """Return a feature with the cut points that the tree uses."""
    if variable.cuts is None or lasts is None:
        return variable
    return replace(variable, cuts=tuple(variable.cuts[c] for c in lasts.tolist() if c < len(variable.cuts)))


def _marginal(counts: Counts, x: int, lasts: Positions | None) -> Numbers:
    """Return P(x) of the remaining intervals with a pseudo-count of one, so that no state has probability zero."""
    variable, n = counts.variables[x], counts.margins()[x, CLASS].sum(axis=1)
    if variable.cuts is not None and lasts is not None:
        codes, last = np.arange(variable.card), len(variable.cuts)
        merged = np.searchsorted(lasts[lasts < last], np.minimum(codes, last), side="left")
        n = np.bincount(merged + np.maximum(codes - last, 0), n)
    return normalized(n + 1.0, 0, in_place=True)


def _tree(nodes: Nodes, lasts: Sequence[Positions | None], inputs: Sequence[Variable]) -> Tree:
    """Return the derived column of the tree, in terms of the states of the features of the network."""
    inner = np.flatnonzero(nodes.inner)
    widths = np.array([v.card for v in inputs], np.int64)[nodes.features[inner]]
    last = np.full(len(inner), -1, np.int64)
    for x, cuts in enumerate(lasts):
        if cuts is not None and len(cuts):
            of_feature = nodes.features[inner] == x
            last[of_feature] = np.searchsorted(cuts, nodes.lasts[inner[of_feature]])
    state = ragged(np.zeros(len(inner), np.int64), widths)
    step = np.where(np.repeat(last, widths) < 0, state, state > np.repeat(last, widths))
    starts = np.zeros(len(nodes), np.int64)
    starts[inner] = np.cumsum(widths) - widths
    return Tree(nodes.features, starts, np.repeat(nodes.firsts[inner], widths) + step, nodes.totals)


def _classes(nodes: Nodes, leaves: Positions, smoothing: object) -> Numbers:
    """Return P(class | leaf); a leaf without cases has the classes of its parent.  # (leaf, class)"""
    parents = nodes.levels()[1]
    empty = (nodes.totals[leaves] <= EPSILON) & (parents[leaves] >= 0)
    n = nodes.weights[np.where(empty, parents[leaves], leaves)]
    smoother = smoothing_of(smoothing)
    if isinstance(smoother, Backoff):
        return backoff_table(n, 1, [0], smoother.m)
    return smoother(n, 1, Context(normalized(n.sum(axis=0, keepdims=True), 1), np.ones(1), float(nodes.totals[0])))
