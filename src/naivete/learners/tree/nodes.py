"""The nodes of a classification tree during growing and pruning, and the rows that reach them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers, narrowest
from naivete.cases.base import Block
from naivete.cases.memory import MemoryCases
from naivete.cases.views import transformed_cases
from naivete.counts.counts import Counts
from naivete.variables import CLASS, Variable

__all__ = ["EPSILON", "Nodes", "Numbers", "Positions", "at_nodes", "grouped", "ragged"]

Positions = NDArray[np.int64]

EPSILON = 1e-6
"""Weights and gains that differ by less are equal, as in J48 of Weka."""

GRID = 2.0**30
"""Shares of rows are multiples of 1 / GRID, so that their products with integer weights, and the sums of these, are exact."""

COPIED_PART = 0.5
"""Rows are copied where no more than this part of them reaches the wanted nodes."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree; the root is node 0, and the children of a node follow each other, after their parent.

    Parameters
    ----------
    features : the feature by which each node is split, -1 at a leaf.
    lasts : the last code of the first of two branches, -1 where every state has a branch.
    firsts : the first child.
    widths : the number of children.
    shares : the share that a node gets of the rows of its parent in which the value is missing.
    weights : the weight of the cases of each class.  # (node, class)
    """

    features: Positions
    lasts: Positions
    firsts: Positions
    widths: Positions
    shares: Numbers
    weights: Numbers

    @staticmethod
    def leaves(weights: Numbers, shares: Numbers) -> Nodes:
        """Return leaves."""
        none = np.full(len(weights), -1, np.int64)
        return Nodes(none, none, none, np.zeros(len(weights), np.int64), shares, weights)

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """Which nodes are not leaves."""
        return self.features >= 0

    @cached_property
    def totals(self) -> Numbers:
        """The weight of the cases at each node."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def wrong(self) -> Numbers:
        """The weight of the cases at each node that do not belong to its most frequent class."""
        return np.asarray(self.totals - self.weights.max(axis=1))

    def children(self, nodes: Positions) -> Positions:
        """Return the children of these inner nodes, one after the other."""
        return ragged(self.firsts[nodes], self.widths[nodes])

    def levels(self, roots: Sequence[int] | Positions = (0,)) -> tuple[list[Positions], Positions]:
        """Return the nodes at and below some nodes, level by level, and the parent of each node below them (-1 for all others)."""
        parents = np.full(len(self), -1, np.int64)
        levels = [np.asarray(roots, np.int64)]
        while True:
            inner = levels[-1][self.inner[levels[-1]]]
            if not len(inner):
                return levels, parents
            levels.append(self.children(inner))
            parents[levels[-1]] = np.repeat(inner, self.widths[inner])

    def compact(self) -> Nodes:
        """Return the nodes that can be reached from the root, renumbered in their order."""
        kept = np.sort(np.concatenate(self.levels()[0]))
        position = np.full(len(self) + 1, -1, np.int64)
        position[kept] = np.arange(len(kept))
        nodes = Nodes(*(getattr(self, name)[kept] for name in FIELDS))
        return replace(nodes, firsts=np.where(nodes.inner, position[nodes.firsts], -1))

    def joined(self, other: Nodes) -> Nodes:
        """Return these nodes followed by others."""
        return Nodes(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in FIELDS))

    def tests(self, wanted: NDArray[np.bool_]) -> Positions:
        """Return the tree in the form that `descend` needs, with a leaf at each of the wanted nodes.  # (node, 3)"""
        return np.stack([np.where(wanted, -1, self.features), self.lasts, self.firsts], axis=1)

    def with_tests_of(self, nodes: Positions, other: Nodes, others: Positions) -> Nodes:
        """Return the tree in which these nodes have the tests and children of other nodes."""
        changed = {name: getattr(self, name).copy() for name in ("features", "lasts", "firsts", "widths")}
        for name, array in changed.items():
            array[nodes] = getattr(other, name)[others]
        return replace(self, **changed)

    def cut(self, nodes: Positions) -> Nodes:
        """Return the tree in which these nodes are leaves."""
        return self.with_tests_of(nodes, Nodes.leaves(self.weights[:1], self.shares[:1]), np.zeros(len(nodes), np.int64))


FIELDS = ("features", "lasts", "firsts", "widths", "shares", "weights")


def ragged(starts: Positions, lengths: Positions) -> Positions:
    """Return runs of successive numbers, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths))


@dataclass(frozen=True, eq=False)
class _AtNodes:
    """The rows that reach some nodes of a tree, with the number of the node as one more column before the class.

    A row in which a value on its path is missing is divided: it occurs once in each branch, with its share of the weight.

    Parameters
    ----------
    tree : the tree in the form that `descend` needs, with a leaf at each of those nodes.  # (node, 3)
    widths, shares : as for `Nodes`.
    states : the number of each of those nodes, -1 for the others.
    whole : whether the other columns are kept.
    """

    tree: Positions
    widths: Positions
    shares: Numbers
    states: Positions
    whole: bool

    def __call__(self, block: Block) -> Block:
        node = _kernels.descend(block.codes, self.tree)
        incomplete = self.tree[node, 0] >= 0  # the value of the feature of the node is missing
        if incomplete.any():
            return self._divided(block, node, incomplete)
        states = self.states[node]
        kept = np.flatnonzero(states >= 0)
        if len(kept) > COPIED_PART * len(node):
            return self._with(block, states, block.weight)  # -1 is the largest code, which means missing
        return self._with(self._taken(block, kept), states[kept], None if block.weight is None else block.weight[kept])

    def _divided(self, block: Block, node: Positions, incomplete: NDArray[np.bool_]) -> Block:
        """Return the block with a row for every part of a row that ends at one of the nodes."""
        rows, share = np.arange(len(node)), np.ones(len(node))
        done: list[tuple[Positions, Positions, Numbers]] = []
        while True:
            here = ~incomplete & (self.states[node] >= 0)
            done.append((rows[here], self.states[node[here]], share[here]))
            rows, node, share = self._branches(rows[incomplete], node[incomplete], share[incomplete])
            if not len(rows):
                break
            node = _kernels.descend([c[rows] for c in block.codes], self.tree, node)
            incomplete = self.tree[node, 0] >= 0
        rows, states, share = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return self._with(self._taken(block, rows), states, share if block.weight is None else block.weight[rows] * share)

    def _taken(self, block: Block, rows: Positions) -> Block:
        """Return some rows, only their classes where nothing else is needed."""
        return block.take(rows) if self.whole else Block((block.codes[CLASS][rows],))

    def _with(self, block: Block, states: Positions, weight: Numbers | None) -> Block:
        """Return the rows with their nodes."""
        column = states.astype(narrowest(int(self.states.max(initial=0)) + 1))
        return Block((*(block.codes[:-1] if self.whole else ()), column, block.codes[CLASS]), weight)

    def _branches(self, rows: Positions, node: Positions, share: Numbers) -> tuple[Positions, Positions, Numbers]:
        """Return the rows in all branches of their nodes."""
        widths = self.widths[node]
        child = ragged(self.tree[node, 2], widths)
        part = np.rint(np.repeat(share, widths) * self.shares[child] * GRID) / GRID
        positive = part > 0
        return np.repeat(rows, widths)[positive], child[positive], part[positive]


def at_nodes(counts: Counts, nodes: Nodes, wanted: Positions, *, whole: bool = True) -> Counts:
    """Return the counts of the rows that reach the wanted nodes, which are the states of one more feature.

    Parameters
    ----------
    counts : the cases.
    nodes : the tree.
    wanted : some nodes, none below another.
    whole : whether the other features are kept.
    """
    states = np.full(len(nodes), -1, np.int64)
    states[wanted] = np.arange(len(wanted))
    tree = nodes.tests(states >= 0)
    has_missing, before = counts.cases.has_missing, counts.variables[:CLASS]
    divides = bool(has_missing[np.unique(tree[:, 0][tree[:, 0] >= 0])].any())
    if not whole:
        has_missing, before = has_missing[:0], ()
    variables = (*before, Variable("node", tuple(range(len(wanted)))), counts.variables[CLASS])
    change = _AtNodes(tree, nodes.widths, nodes.shares, states, whole)
    return counts.over(transformed_cases(counts.cases, variables, np.append(has_missing, True), change, same_rows=not divides))


def grouped(counts: Counts, nodes: Nodes) -> Counts:
    """Return the same counts, with rows in memory sorted by the nodes they reach, which makes later passes faster."""
    if not isinstance(counts.cases, MemoryCases):
        return counts
    cases = counts.cases
    order = np.argsort(_kernels.descend(cases.block.codes, nodes.tests(np.zeros(len(nodes), bool))), kind="stable")
    return counts.over(MemoryCases(cases.variables, cases.block.take(order), cases.has_missing))
