"""Derived columns: what a network makes of the columns of a table, row by row, before it is asked about the class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.errors import DataError, quoted
from naivete.variables import Variables

__all__ = ["Cells", "Derived", "Hidden", "Shares", "Tree", "check_derived"]

Codes = Sequence[NDArray[Any]]


class Shares(NamedTuple):
    """Rows divided among the states of a derived column: one entry for each row and state that has a share of it."""

    rows: NDArray[np.intp]
    states: NDArray[np.int64]
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class Hidden:
    """A column that nobody ever sees; it is summed out."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The leaf of a classification tree that a row falls to.

    The states of the column are the leaves, numbered in the order of their nodes. A row that lacks the value a node asks for is
    divided among the branches of that node in proportion to the training cases they hold.

    Parameters
    ----------
    features : the feature that each node asks for, -1 at a leaf; node 0 is the root, and a child comes after its parent.
    starts : where the children of each inner node begin in `children`; any number at a leaf.
    children : for each inner node in turn the child of every state of its feature; several states may share a child.
    weights : the weight of the training cases at each node.

    >>> tree = Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2, 2]), np.array([4.0, 3.0, 1.0]))
    >>> tree.column([np.array([0, 2, 255], np.uint8)]).tolist()
    [0, 1, 255]
    >>> tree.divided([np.array([255], np.uint8)])
    Shares(rows=array([0, 0]), states=array([0, 1]), shares=array([0.75, 0.25]))
    """

    features: NDArray[np.int64]  # (node)
    starts: NDArray[np.int64]  # (node)
    children: NDArray[np.int64]  # (inner node, state), ragged
    weights: NDArray[np.float64]  # (node)

    def __post_init__(self) -> None:
        for array in (self.features, self.starts, self.children, self.weights):
            array.setflags(write=False)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.features)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The nodes that are leaves, in order; the states of the column."""
        return np.flatnonzero(self.features < 0)

    @cached_property
    def state_of(self) -> NDArray[np.int64]:
        """The state of each node that is a leaf, -1 of the others."""
        found = np.full(self.nodes, -1, np.int64)
        found[self.leaves] = np.arange(len(self.leaves))
        return found

    def column(self, codes: Codes) -> NDArray[Any]:
        """The leaf of every row, the largest number of its type where a row lacks a value that is asked for."""
        node = np.zeros(len(codes[0]) if len(codes) else 0, np.int64)
        open_rows = np.flatnonzero(self.features[node] >= 0)
        while len(open_rows):
            at = node[open_rows]
            for x in np.unique(self.features[at]).tolist():
                here = open_rows[self.features[at] == x]
                own = codes[x][here]
                known = own != np.iinfo(own.dtype).max
                below = self.children[np.where(known, self.starts[node[here]] + np.where(known, own, 0), 0)]
                node[here] = np.where(known, below, -1)
            at = node[open_rows]
            open_rows = open_rows[(at >= 0) & (self.features[at] >= 0)]
        dtype = narrowest(len(self.leaves))
        return np.where(node < 0, np.iinfo(dtype).max, self.state_of[node]).astype(dtype)

    def divided(self, codes: Codes) -> Shares:
        """The leaves of every row with the share that each has of it, in increasing order of rows, then of leaves."""
        rows: NDArray[Any] = np.arange(len(codes[0]) if len(codes) else 0)
        node, share = np.zeros(len(rows), np.int64), np.ones(len(rows))
        done: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        while len(rows):
            leaf = self.features[node] < 0
            done.append((rows[leaf], self.state_of[node[leaf]], share[leaf]))
            rows, node, share = self._stepped(codes, rows[~leaf], node[~leaf], share[~leaf])
        last = rows, node, share
        rows, states, shares = (np.concatenate([own[i] for own in (*done, last)]) for i in range(3))
        order = np.lexsort((states, rows))
        return Shares(rows[order], states[order], shares[order])

    def _stepped(
        self, codes: Codes, rows: NDArray[np.intp], node: NDArray[np.int64], share: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float64]]:
        """The rows one level further down, those without the value asked for in all branches."""
        below, known = np.full(len(rows), -1, np.int64), np.zeros(len(rows), bool)
        for x in np.unique(self.features[node]).tolist():
            here = np.flatnonzero(self.features[node] == x)
            own = codes[x][rows[here]]
            known[here] = own != np.iinfo(own.dtype).max
            sure = here[known[here]]
            below[sure] = self.children[self.starts[node[sure]] + codes[x][rows[sure]].astype(np.int64)]
        lost = np.flatnonzero(~known)
        first, count, child, part = self._branches
        many = count[node[lost]]
        at = np.repeat(first[node[lost]] - np.cumsum(many) + many, many) + np.arange(many.sum())
        lost = np.repeat(lost, many)
        return (
            np.concatenate([rows[known], rows[lost]]),
            np.concatenate([below[known], child[at]]),
            np.concatenate([share[known], share[lost] * part[at]]),
        )

    @cached_property
    def _branches(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Where the branches of each node begin and how many there are; then for each its child and its share of the cases.

        Branches that no training case reached are left out, unless none was reached.
        """
        inner = np.flatnonzero(self.features >= 0)
        widths = np.diff(np.append(self.starts[inner], len(self.children)))
        pairs = np.unique(np.stack([np.repeat(inner, widths), self.children]), axis=1)
        parents, child = pairs
        weight = self.weights[child]
        total = np.bincount(parents, weight, self.nodes)
        weight = np.where(total[parents] > 0, weight, 1.0)
        part = weight / np.bincount(parents, weight, self.nodes)[parents]
        kept = part > 0
        count = np.bincount(parents[kept], minlength=self.nodes)
        return np.cumsum(count) - count, count, child[kept], part[kept]

    def children_of(self, node: int) -> NDArray[np.int64]:
        """The child of every state of the feature that a node asks for."""
        later = np.flatnonzero(self.features[node + 1 :] >= 0)
        stop = self.starts[node + 1 + later[0]] if len(later) else len(self.children)
        return self.children[self.starts[node] : stop]


@dataclass(frozen=True, eq=False)
class Cells:
    """The naive Bayes classifier of a hierarchy that answers for a row: from the root on, the child of the class it gives.

    A classifier may instead send rows on by the value of a feature; a row without that value is answered by it.

    The states of the column are the classifiers, the root first. Their tables are those of the network: its features and its
    class have this column as a parent.

    Parameters
    ----------
    children : for each classifier and class, or state of its feature, the classifier to go on to, -1 where there is none.
    features : the feature by which each classifier sends rows on, -1 where it does so by class.
    """

    children: NDArray[np.int64]  # (classifier, class or state)
    features: NDArray[np.int64]  # (classifier)

    def __post_init__(self) -> None:
        self.children.setflags(write=False)
        self.features.setflags(write=False)

    def below(self, node: NDArray[np.int64], codes: Codes, decided: NDArray[Any]) -> NDArray[np.int64]:
        """The classifier that each row goes on to from the one where it is, which has decided on a class; -1 at the end."""
        branch = decided.astype(np.int64)
        for x in np.unique(self.features[node]).tolist():
            if x >= 0:
                here = np.flatnonzero(self.features[node] == x)
                own = codes[x][here]
                branch[here] = np.where(own == np.iinfo(own.dtype).max, -1, own.astype(np.int64))
        return np.where(branch < 0, -1, self.children[node, np.maximum(branch, 0)])


Derived = Hidden | Tree | Cells
"""How a derived column comes about."""


def check_derived(derived: Derived, position: int, inputs: int, variables: Variables) -> None:
    """Refuse a derived column that does not fit the variables, or in which a row would never come to an end.

    Parameters
    ----------
    derived : how the column comes about.
    position : which variable it is.
    inputs : how many of the variables are columns of the table.
    variables : the variables, the class last.
    """
    where = f"network: derived column {quoted(variables[position].name)}"
    if isinstance(derived, Tree):
        _check_tree(derived, where, [v.card for v in variables[:inputs]], variables[position].card)
    elif isinstance(derived, Cells):
        cards = [0 if v.density else v.card for v in variables[:inputs]]
        _check_cells(derived, where, cards, variables[position].card, variables[-1].card)
    elif not isinstance(derived, Hidden):
        raise DataError(f"{where}: {quoted(derived)} is not a way to derive a column")


def _check_tree(tree: Tree, where: str, cards: Sequence[int], leaves: int) -> None:
    nodes = tree.nodes
    if not nodes or tree.starts.shape != (nodes,) or tree.weights.shape != (nodes,):
        raise DataError(f"{where}: a feature, a start and a weight are needed for each of at least one node")
    if not np.all(np.isfinite(tree.weights)) or tree.weights.min() < 0:
        raise DataError(f"{where}: weights are numbers, at least 0")
    if len(tree.leaves) != leaves:
        raise DataError(f"{where}: {len(tree.leaves)} leaves where the column has {leaves} states")
    inner = np.flatnonzero(tree.features >= 0)
    if not len(inner):
        return
    if tree.features.max() >= len(cards):
        raise DataError(f"{where}: a node asks for feature {int(tree.features.max())} where there are {len(cards)}")
    width = np.array(cards)[tree.features[inner]]
    if len(tree.children) != width.sum() or np.any(tree.starts[inner] != np.cumsum(width) - width):
        raise DataError(f"{where}: the children are not listed node by node, one for each state of the feature")
    parents = np.repeat(inner, width)
    if not _goes_down(tree.children, parents, nodes, absent=False):
        raise DataError(f"{where}: a node has a child that does not come after it or is none of the {nodes}")
    _check_one_parent(parents, tree.children, where)


def _check_one_parent(parents: NDArray[Any], children: NDArray[Any], where: str) -> None:
    """Refuse what is no tree: then there could be more ways through it than anybody can go."""
    pairs = np.unique(np.stack([children, parents]), axis=1)
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        raise DataError(f"{where}: a node is the child of two others")


def _check_cells(cells: Cells, where: str, cards: Sequence[int], count: int, classes: int) -> None:
    if cells.features.shape != (count,) or cells.features.min() < -1 or cells.features.max() >= len(cards):
        raise DataError(f"{where}: for each of {count} classifiers a feature is needed that exists, or -1")
    asked = [x for x in cells.features.tolist() if x >= 0]
    if not all(cards[x] for x in asked):
        raise DataError(f"{where}: a classifier sends rows on by a number that is not cut")
    width = max([classes, *(cards[x] for x in asked)])
    if cells.children.shape != (count, width):
        raise DataError(f"{where}: children have the shape {cells.children.shape} where {(count, width)} is needed")
    if not _goes_down(cells.children, np.arange(count)[:, None], count, absent=True):
        raise DataError(f"{where}: a classifier has a child that does not come after it or is none of the {count}")
    parents, branches = np.nonzero(cells.children >= 0)
    _check_one_parent(parents, cells.children[parents, branches], where)


def _goes_down(children: NDArray[np.int64], parents: NDArray[np.intp], count: int, *, absent: bool) -> bool:
    """Whether every child comes after its parent, so that whoever goes down arrives."""
    fine = (children > parents) & (children < count)
    return bool(np.all(fine | (children == -1) if absent else fine))
