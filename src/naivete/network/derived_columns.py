"""Derived columns of a network, which are computed from the columns of a table row by row, or hidden."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers, missing, missing_code, narrowest
from naivete.errors import DataError, quoted
from naivete.variables import Variables

__all__ = ["Derived", "Hidden", "Hierarchy", "Shares", "Tree", "check_derived"]

Codes = Sequence[NDArray[Any]]


class Shares(NamedTuple):
    """Rows divided among the states of a derived column: one entry for each row and each state with a share of it."""

    rows: NDArray[np.intp]
    states: Integers
    shares: Numbers


@dataclass(frozen=True)
class Hidden:
    """A column that is never observed; predictions marginalize it."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The leaf of a classification tree that a row belongs to.

    The states of the column are the leaves, numbered in the order of their nodes. A row in which the feature of a node is missing
    is divided among the branches of that node in proportion to their training cases.

    Parameters
    ----------
    features : the feature that each node tests, -1 at a leaf; node 0 is the root, and a child comes after its parent.
    starts : the position of the first child of each inner node in `children`; any number at a leaf.
    children : for each inner node in turn the child of every state of its feature; several states may share a child.
    weights : the weight of the training cases at each node.

    >>> tree = Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2, 2]), np.array([4.0, 3.0, 1.0]))
    >>> tree.column([np.array([0, 2, 255], np.uint8)]).tolist()
    [0, 1, 255]
    >>> tree.divided([np.array([255], np.uint8)])
    Shares(rows=array([0, 0]), states=array([0, 1]), shares=array([0.75, 0.25]))
    """

    features: Integers  # (node)
    starts: Integers  # (node)
    children: Integers  # (inner node, state), ragged
    weights: Numbers  # (node)

    def __post_init__(self) -> None:
        for array in (self.features, self.starts, self.children, self.weights):
            array.setflags(write=False)

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.features)

    @cached_property
    def leaves(self) -> Integers:
        """The nodes that are leaves, in order; the states of the column."""
        return np.flatnonzero(self.features < 0)

    @cached_property
    def state_of(self) -> Integers:
        """The state of each node that is a leaf, -1 of the others."""
        states = np.full(self.nodes, -1, np.int64)
        states[self.leaves] = np.arange(len(self.leaves))
        return states

    def column(self, codes: Codes) -> NDArray[Any]:
        """Return the leaf of every row, the code of a missing value where the feature of a node on its way is missing."""
        node = np.zeros(len(codes[0]) if len(codes) else 0, np.int64)
        rows = np.flatnonzero(self.features[node] >= 0)  # at inner nodes
        while len(rows):
            nodes = node[rows]
            for x in np.unique(self.features[nodes]).tolist():
                here = rows[self.features[nodes] == x]
                states = codes[x][here]
                observed = ~missing(states)
                child = self.children[np.where(observed, self.starts[node[here]] + np.where(observed, states, 0), 0)]
                node[here] = np.where(observed, child, -1)
            nodes = node[rows]
            rows = rows[(nodes >= 0) & (self.features[nodes] >= 0)]
        dtype = narrowest(len(self.leaves))
        return np.where(node < 0, missing_code(dtype), self.state_of[node]).astype(dtype)

    def divided(self, codes: Codes) -> Shares:
        """Return the leaves of every row with their shares of it, in increasing order of rows, then of leaves."""
        rows: NDArray[Any] = np.arange(len(codes[0]) if len(codes) else 0)
        node, share = np.zeros(len(rows), np.int64), np.ones(len(rows))
        done: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
        while len(rows):
            leaf = self.features[node] < 0
            done.append((rows[leaf], self.state_of[node[leaf]], share[leaf]))
            rows, node, share = self._stepped(codes, rows[~leaf], node[~leaf], share[~leaf])
        last = rows, node, share
        rows, states, shares = (np.concatenate([part[i] for part in (*done, last)]) for i in range(3))
        order = np.lexsort((states, rows))
        return Shares(rows[order], states[order], shares[order])

    def _stepped(
        self, codes: Codes, rows: NDArray[np.intp], node: Integers, share: Numbers
    ) -> tuple[NDArray[np.intp], Integers, Numbers]:
        """Return the rows one level further down; rows in which the feature of the node is missing in all branches."""
        child, observed = np.full(len(rows), -1, np.int64), np.zeros(len(rows), bool)
        for x in np.unique(self.features[node]).tolist():
            here = np.flatnonzero(self.features[node] == x)
            observed[here] = ~missing(codes[x][rows[here]])
            known = here[observed[here]]
            child[known] = self.children[self.starts[node[known]] + codes[x][rows[known]].astype(np.int64)]
        divided = np.flatnonzero(~observed)
        first, count, branch_child, branch_share = self.branches
        counts = count[node[divided]]
        branch = np.repeat(first[node[divided]] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        divided = np.repeat(divided, counts)
        return (
            np.concatenate([rows[observed], rows[divided]]),
            np.concatenate([child[observed], branch_child[branch]]),
            np.concatenate([share[observed], share[divided] * branch_share[branch]]),
        )

    @cached_property
    def branches(self) -> tuple[Integers, Integers, Integers, Numbers]:
        """The first branch and the number of branches of each node; the child and the share of the cases of each branch.

        Branches without training cases are left out, unless all branches of a node are without.
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

    def children_of(self, node: int) -> Integers:
        """Return the child of every state of the feature that a node tests."""
        later = np.flatnonzero(self.features[node + 1 :] >= 0)
        stop = self.starts[node + 1 + later[0]] if len(later) else len(self.children)
        return self.children[self.starts[node] : stop]


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The naive Bayes classifier of a hierarchy that predicts the class of a row.

    From the root on, a row is passed to the child for the class that a classifier predicts, or for the value of a feature; if that
    value is missing, or there is no child, the classifier predicts the class itself.

    The states of the column are the classifiers, the root first. Their tables are those of the network: its features and its
    class have this column as a parent.

    Parameters
    ----------
    children : for each classifier and class, or state of its feature, the next classifier, -1 where there is none.
    features : the feature by which each classifier passes rows on, -1 where it does so by class.
    """

    children: Integers  # (classifier, class or state)
    features: Integers  # (classifier)

    def __post_init__(self) -> None:
        self.children.setflags(write=False)
        self.features.setflags(write=False)

    def below(self, node: Integers, codes: Codes, decided: NDArray[Any]) -> Integers:
        """Return the next classifier of each row, -1 where there is none.

        Parameters
        ----------
        node : the current classifier of each row.
        codes : the codes of each feature.
        decided : the class that the current classifier predicts for each row.
        """
        branch = decided.astype(np.int64)
        for x in np.unique(self.features[node]).tolist():
            if x >= 0:
                here = np.flatnonzero(self.features[node] == x)
                states = codes[x][here]
                branch[here] = np.where(missing(states), -1, states.astype(np.int64))
        return np.where(branch < 0, -1, self.children[node, np.maximum(branch, 0)])


Derived = Hidden | Tree | Hierarchy
"""The definition of a derived column."""


def check_derived(derived: Derived, position: int, inputs: int, variables: Variables) -> None:
    """Raise an error if a derived column does not fit the variables, or is no tree.

    Parameters
    ----------
    derived : the definition of the column.
    position : its position among the variables.
    inputs : the number of variables that are columns of the table.
    variables : the variables, the class last.
    """
    where = f"network: derived column {quoted(variables[position].name)}"
    if isinstance(derived, Tree):
        _check_tree(derived, where, [v.card for v in variables[:inputs]], variables[position].card)
    elif isinstance(derived, Hierarchy):
        cards = [0 if v.density else v.card for v in variables[:inputs]]
        _check_hierarchy(derived, where, cards, variables[position].card, variables[-1].card)
    elif not isinstance(derived, Hidden):
        raise DataError(f"{where}: {quoted(derived)} is not a definition of a derived column")


def _check_tree(tree: Tree, where: str, cards: Sequence[int], leaves: int) -> None:
    nodes = tree.nodes
    if not nodes or tree.starts.shape != (nodes,) or tree.weights.shape != (nodes,):
        raise DataError(f"{where}: a feature, a start and a weight are needed for each of at least one node")
    if not np.all(np.isfinite(tree.weights)) or tree.weights.min() < 0:
        raise DataError(f"{where}: weights have to be finite and at least 0")
    if len(tree.leaves) != leaves:
        raise DataError(f"{where}: {len(tree.leaves)} leaves where the column has {leaves} states")
    inner = np.flatnonzero(tree.features >= 0)
    if not len(inner):
        return
    if tree.features.max() >= len(cards):
        raise DataError(f"{where}: a node tests feature {int(tree.features.max())} where there are {len(cards)}")
    width = np.array(cards)[tree.features[inner]]
    if len(tree.children) != width.sum() or np.any(tree.starts[inner] != np.cumsum(width) - width):
        raise DataError(f"{where}: the children are not listed node by node, one for each state of the feature")
    parents = np.repeat(inner, width)
    if not _goes_down(tree.children, parents, nodes, absent=False):
        raise DataError(f"{where}: a node has a child that does not come after it or is none of the {nodes}")
    _check_one_parent(parents, tree.children, where)


def _check_one_parent(parents: NDArray[Any], children: NDArray[Any], where: str) -> None:
    """Raise an error if a node has two parents: the number of paths could then grow exponentially."""
    pairs = np.unique(np.stack([children, parents]), axis=1)
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        raise DataError(f"{where}: a node is the child of two others")


def _check_hierarchy(hierarchy: Hierarchy, where: str, cards: Sequence[int], count: int, classes: int) -> None:
    if hierarchy.features.shape != (count,) or hierarchy.features.min() < -1 or hierarchy.features.max() >= len(cards):
        raise DataError(f"{where}: for each of {count} classifiers a feature is needed that exists, or -1")
    tested = [x for x in hierarchy.features.tolist() if x >= 0]
    if not all(cards[x] for x in tested):
        raise DataError(f"{where}: a classifier passes rows on by a continuous feature")
    width = max([classes, *(cards[x] for x in tested)])
    if hierarchy.children.shape != (count, width):
        raise DataError(f"{where}: children have the shape {hierarchy.children.shape} where {(count, width)} is needed")
    if not _goes_down(hierarchy.children, np.arange(count)[:, None], count, absent=True):
        raise DataError(f"{where}: a classifier has a child that does not come after it or is none of the {count}")
    parents, branches = np.nonzero(hierarchy.children >= 0)
    _check_one_parent(parents, hierarchy.children[parents, branches], where)


def _goes_down(children: Integers, parents: NDArray[np.intp], count: int, *, absent: bool) -> bool:
    """Whether every child comes after its parent, so that there are no cycles."""
    valid = (children > parents) & (children < count)
    return bool(np.all(valid | (children == -1) if absent else valid))
