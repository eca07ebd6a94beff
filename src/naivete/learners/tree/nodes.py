"""The nodes of a classification tree while it grows and is pruned, and the rows that reach them."""

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
"""Weights and gains that differ by less are equal, as in the programs of Quinlan's descendants."""

GRID = 2.0**30
"""Shares of rows are whole multiples of 1 / GRID, so that their products with whole weights, and the sums of these, are exact."""

TAKEN = 0.5
"""Rows are copied where no more than this part of them is still of interest."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree; the root is node 0, and the children of a node follow each other, after their parent.

    Parameters
    ----------
    features : the feature that each node asks for, -1 at a leaf.
    lasts : the last code of the first of two branches, -1 where every state has a branch of its own.
    firsts : the first child.
    widths : how many children there are.
    shares : the part of the rows of its parent that a node gets of those that lack the value asked for.
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
        """Nodes that ask for nothing."""
        none = np.full(len(weights), -1, np.int64)
        return Nodes(none, none, none, np.zeros(len(weights), np.int64), shares, weights)

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def inner(self) -> NDArray[np.bool_]:
        """Which nodes ask for a feature."""
        return self.features >= 0

    @cached_property
    def totals(self) -> Numbers:
        """The weight of the cases at each node."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def wrong(self) -> Numbers:
        """The weight of the cases at each node that are not of its most frequent class."""
        return np.asarray(self.totals - self.weights.max(axis=1))

    def children(self, nodes: Positions) -> Positions:
        """The children of these inner nodes, one after the other."""
        return ragged(self.firsts[nodes], self.widths[nodes])

    def waves(self, roots: Sequence[int] | Positions = (0,)) -> tuple[list[Positions], Positions]:
        """The nodes at and below some nodes, level by level, and the parent of each below them (-1 of all others)."""
        parents = np.full(len(self), -1, np.int64)
        found = [np.asarray(roots, np.int64)]
        while True:
            inner = found[-1][self.inner[found[-1]]]
            if not len(inner):
                return found, parents
            found.append(self.children(inner))
            parents[found[-1]] = np.repeat(inner, self.widths[inner])

    def compact(self) -> Nodes:
        """The nodes that can be reached from the root, numbered anew in their order."""
        kept = np.sort(np.concatenate(self.waves()[0]))
        place = np.full(len(self) + 1, -1, np.int64)
        place[kept] = np.arange(len(kept))
        own = Nodes(*(getattr(self, name)[kept] for name in FIELDS))
        return replace(own, firsts=np.where(own.inner, place[own.firsts], -1))

    def joined(self, other: Nodes) -> Nodes:
        """These nodes and, after them, others."""
        return Nodes(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in FIELDS))

    def questions(self, wanted: NDArray[np.bool_]) -> Positions:
        """The tree as `descend` wants it, with a leaf at each of the wanted nodes.  # (node, 3)"""
        return np.stack([np.where(wanted, -1, self.features), self.lasts, self.firsts], axis=1)

    def asking(self, nodes: Positions, other: Nodes, others: Positions) -> Nodes:
        """The tree in which these nodes ask what other nodes ask, and have their children."""
        changed = {name: getattr(self, name).copy() for name in ("features", "lasts", "firsts", "widths")}
        for name, array in changed.items():
            array[nodes] = getattr(other, name)[others]
        return replace(self, **changed)

    def cut(self, nodes: Positions) -> Nodes:
        """The tree in which these nodes are leaves."""
        return self.asking(nodes, Nodes.leaves(self.weights[:1], self.shares[:1]), np.zeros(len(nodes), np.int64))


FIELDS = ("features", "lasts", "firsts", "widths", "shares", "weights")


def ragged(starts: Positions, lengths: Positions) -> Positions:
    """Runs of successive numbers, one after the other.

    >>> ragged(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths))


@dataclass(frozen=True, eq=False)
class _Places:
    """The rows that reach some nodes of a tree, with the number of the node as one more column before the class.

    A row that lacks a value asked for on the way is divided: it occurs once in each branch, with its share of the weight.

    Parameters
    ----------
    tree : the questions as `descend` wants them, a leaf at each of those nodes.  # (node, 3)
    widths, shares : as for `Nodes`.
    states : the number of each of those nodes, -1 of the others.
    whole : whether the other columns are wanted as well.
    """

    tree: Positions
    widths: Positions
    shares: Numbers
    states: Positions
    whole: bool

    def __call__(self, block: Block) -> Block:
        at = _kernels.descend(block.codes, self.tree)
        stuck = self.tree[at, 0] >= 0
        if stuck.any():
            return self._divided(block, at, stuck)
        states = self.states[at]
        kept = np.flatnonzero(states >= 0)
        if len(kept) > TAKEN * len(at):
            return self._with(block, states, block.weight)  # -1 is the largest code, which means missing
        return self._with(self._taken(block, kept), states[kept], None if block.weight is None else block.weight[kept])

    def _divided(self, block: Block, at: Positions, stuck: NDArray[np.bool_]) -> Block:
        """The block with a row for every part of a row that ends at one of the nodes."""
        rows, share = np.arange(len(at)), np.ones(len(at))
        done: list[tuple[Positions, Positions, Numbers]] = []
        while True:
            here = ~stuck & (self.states[at] >= 0)
            done.append((rows[here], self.states[at[here]], share[here]))
            rows, at, share = self._branches(rows[stuck], at[stuck], share[stuck])
            if not len(rows):
                break
            at = _kernels.descend([c[rows] for c in block.codes], self.tree, at)
            stuck = self.tree[at, 0] >= 0
        rows, states, share = (np.concatenate(parts) for parts in zip(*done, strict=True))
        return self._with(self._taken(block, rows), states, share if block.weight is None else block.weight[rows] * share)

    def _taken(self, block: Block, rows: Positions) -> Block:
        """Some rows, their classes alone where nothing else is wanted."""
        return block.take(rows) if self.whole else Block((block.codes[CLASS][rows],))

    def _with(self, block: Block, states: Positions, weight: Numbers | None) -> Block:
        """The rows with their nodes."""
        own = states.astype(narrowest(int(self.states.max(initial=0)) + 1))
        return Block((*(block.codes[:-1] if self.whole else ()), own, block.codes[CLASS]), weight)

    def _branches(self, rows: Positions, at: Positions, share: Numbers) -> tuple[Positions, Positions, Numbers]:
        """The rows in all branches of the nodes they are at."""
        widths = self.widths[at]
        child = ragged(self.tree[at, 2], widths)
        part = np.rint(np.repeat(share, widths) * self.shares[child] * GRID) / GRID
        some = part > 0
        return np.repeat(rows, widths)[some], child[some], part[some]


def at_nodes(counts: Counts, nodes: Nodes, wanted: Positions, *, whole: bool = True) -> Counts:
    """The counts of the rows that reach the wanted nodes; these are the states of one more feature, in their order.

    Parameters
    ----------
    counts : the cases.
    nodes : the tree.
    wanted : some nodes, none below another.
    whole : whether the other features are wanted as well.
    """
    states = np.full(len(nodes), -1, np.int64)
    states[wanted] = np.arange(len(wanted))
    tree = nodes.questions(states >= 0)
    gaps, before = counts.cases.gaps, counts.variables[:CLASS]
    divides = bool(gaps[np.unique(tree[:, 0][tree[:, 0] >= 0])].any())
    if not whole:
        gaps, before = gaps[:0], ()
    variables = (*before, Variable("node", tuple(range(len(wanted)))), counts.variables[CLASS])
    change = _Places(tree, nodes.widths, nodes.shares, states, whole)
    return counts.over(transformed_cases(counts.cases, variables, np.append(gaps, True), change, same_rows=not divides))


def grouped(counts: Counts, nodes: Nodes) -> Counts:
    """The same counts; rows in memory are put in the order of the nodes they reach, so that later looks find them together."""
    if not isinstance(counts.cases, MemoryCases):
        return counts
    own = counts.cases
    order = np.argsort(_kernels.descend(own.block.codes, nodes.questions(np.zeros(len(nodes), bool))), kind="stable")
    return counts.over(MemoryCases(own.variables, own.block.take(order), own.gaps))
