"""The nodes of a classification tree or of a hierarchy of classifiers, from the root down, read from a network."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Final, Protocol

import numpy as np

from naivete.display.class_summaries import ClassSummary, class_summary
from naivete.errors import ParameterError, quoted
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.graphs import ancestors, markov_blanket, moral
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

__all__ = [
    "MOST",
    "Node",
    "Outline",
    "branch_label",
    "has_outline",
    "heading",
    "node_summaries",
    "outline",
    "relevant_columns",
]

Branch = tuple[int, tuple[int, ...]]  # a child, and the states or classes whose cases go there

MOST = 10_000
"""The default largest number of nodes of an outline."""


@dataclass(frozen=True, eq=False)
class Node:
    """One node of an outline.

    Parameters
    ----------
    parent : the position of its parent, -1 at the root.
    depth : the number of nodes above it.
    branch : the label of the branch from its parent, empty at the root.
    states : the states of the parent's feature, or the classes, whose cases follow this branch.
    feature : the feature by whose value cases are divided, -1 where they are divided by class or not at all.
    predicting : the classifier of the cases that end here; None where none do.
    sorting : the classifier that sorts cases into clusters, one for each class, where it differs from `predicting`.
    weight : the weight of the training cases at this node, None where unknown.
    left_out : the number of nodes below it that are not in the outline.
    """

    parent: int
    depth: int
    branch: str
    states: tuple[int, ...]
    feature: int
    predicting: ClassSummary | None
    sorting: ClassSummary | None
    weight: float | None
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Outline:
    """The nodes of a tree or hierarchy in preorder: each before its children.

    Parameters
    ----------
    nodes : the nodes, the root first.
    total : the number of all nodes, including those that are left out.
    leaves : whether this is a classification tree, in which only leaves have classes.
    """

    nodes: tuple[Node, ...]
    total: int
    leaves: bool

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the children of every node."""
        positions: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes[1:], start=1):
            positions[node.parent].append(i)
        return tuple(map(tuple, positions))


def has_outline(network: Network) -> bool:
    """Return whether a network is a tree or a hierarchy of naive Bayes classifiers, as `outline` needs it."""
    if not any(isinstance(column, (Tree, Hierarchy)) for column in network.derived.values()):
        return False
    last = max(network.derived)
    dense = not network.sparse
    naive = all({*network.parents[x]} <= {last, CLASS} for x in network.inputs)
    return dense and naive and network.parents[CLASS] == (last,)


def outline(network: Network, *, max_nodes: int = MOST) -> Outline:
    """Return the outline of a network that is a tree or a hierarchy.

    A node of a classification tree tests a feature or is a leaf. A node of a hierarchy is a classifier; where it first sorts cases
    into clusters, it has both the clusters and the classifier of the cases that stay.

    Parameters
    ----------
    network : the network of a tree or of a recursive Bayesian classifier.
    max_nodes : the largest number of nodes; those nearest to the root are kept.

    >>> from naivete.variables import Variable
    >>> variables = Variable("sky", ("blue", "grey", "red")), Variable("leaf", (1, 2)), Variable("play", ("no", "yes"))
    >>> tree = Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2, 2]), np.array([4.0, 3.0, 1.0]))
    >>> cpts = {0: np.array([.5, .3, .2]), 1: np.array([.75, .25]), -1: np.array([[0.0, 1.0], [0.8, 0.2]])}
    >>> tree = outline(Network(variables, {0: (), 1: (), -1: (1,)}, cpts, {1: tree}))
    >>> [(node.branch, node.weight) for node in tree.nodes]
    [('', 4.0), ('blue', 3.0), ('grey, red', 1.0)]
    """
    if max_nodes < 1:
        raise ParameterError(f"max_nodes={quoted(max_nodes)}: must be at least 1")
    if not has_outline(network):
        raise ParameterError(
            "network: only a tree or a hierarchy of classifiers has an outline; draw others with naivete.display.network_drawing"
        )
    derived: Any = network.derived[max(network.derived)]
    reader: _Reader = _HierarchyReader(network, derived) if isinstance(derived, Hierarchy) else _TreeReader(network, derived)
    nodes = _preorder(_nearest(reader, network, max_nodes))
    return Outline(tuple(nodes), reader.sizes[0], isinstance(derived, Tree))


def heading(network: Network, tree: Outline, node: Node) -> str:
    """Return a description of the cases at a node of a hierarchy."""
    if node.parent < 0:
        return "all cases"
    x = tree.nodes[node.parent].feature
    if x < 0:
        return f"sorted to {node.branch}"
    return f"{network.name(x)} {'' if network.variables[x].numeric else '= '}{node.branch}"


def node_summaries(node: Node) -> list[tuple[str, ClassSummary]]:
    """Return the titles and the summaries of a node: the clusters it sorts cases into, and the classes it predicts."""
    summaries = [("sorts into", node.sorting), ("predicts" if node.sorting else "classes", node.predicting)]
    return [(title, summary) for title, summary in summaries if summary is not None]


def relevant_columns(network: Network) -> list[int]:
    """Return the columns on which the class can depend when all other columns are observed, in increasing order.

    In a tree these are the tested features, else the columns that are not d-separated from the class; hidden columns are never
    observed.
    """
    derived = [*network.derived.values()]
    if not derived:
        return [*markov_blanket(network.parents, CLASS)]
    if isinstance(derived[0], Tree):
        tested = {*np.unique(derived[0].features).tolist()} - {-1}
        return [x for x in network.inputs if x in tested or CLASS in network.parents[x]]
    if isinstance(derived[0], Hierarchy):
        dividing = {*np.unique(derived[0].features).tolist()}
        return [x for x in network.inputs if x in dividing or network.parents[x]]
    return _unseparated(network)


def _unseparated(network: Network) -> list[int]:
    """Return the columns that are connected to the class in the moral graph, directly or through hidden variables."""
    kept = ancestors(network.parents, [*network.inputs, CLASS])
    adjacent = moral({v: network.parents[v] for v in sorted(kept)})
    reached, stack = {CLASS}, [CLASS]
    while stack:
        new = adjacent[stack.pop()] - reached
        reached |= new
        stack += [v for v in new if v in network.derived]
    return [x for x in network.inputs if x in reached]


def branch_label(variable: Variable, states: Iterable[int]) -> str:
    """Return some states of a variable as text; adjacent intervals are merged.

    >>> petal = Variable("petal", cuts=(1.5, 2.45, 4.9), missing=True)
    >>> branch_label(petal, [0, 1]), branch_label(petal, [2]), branch_label(petal, [2, 3, 4])
    ('<= 2.45', '2.45 .. 4.9', '> 2.45, missing')
    """
    labels, codes = variable.labels, sorted(states)
    if variable.cuts is None:
        return ", ".join(labels[code] for code in codes)
    known, others = [c for c in codes if c < variable.known], [c for c in codes if c >= variable.known]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(known), lambda item: item[1] - item[0])]
    intervals = [_interval(labels[: variable.known], run[0], run[-1]) for run in runs]
    return ", ".join([*intervals, *(labels[code] for code in others)])


def _interval(labels: Sequence[str], first: int, last: int) -> str:
    """Return the text of the union of the intervals from the first to the last."""
    low, high = labels[first].split(" .. ")[0].removeprefix("> "), labels[last].split(" .. ")[-1].removeprefix("<= ")
    if first == last or len(labels) == 1:
        return labels[first]
    if first == 0:
        return "any number" if last == len(labels) - 1 else f"<= {high}"
    return f"> {low}" if last == len(labels) - 1 else f"{low} .. {high}"


_ROOT: Final = (-1, 0, "", ())


class _Reader(Protocol):
    """A tree of numbered nodes; the root is 0."""

    sizes: list[int]

    def branches(self, i: int) -> list[Branch]:
        """Return the children of a node, each with the states or classes whose cases go there."""

    def node(self, i: int) -> Node:
        """Return a node without its position in the tree."""


def _nearest(reader: _Reader, network: Network, most: int) -> list[Node]:
    """Return the nodes nearest to the root, level by level."""
    nodes = [reader.node(0)]
    queue = deque([(0, 0)])
    while queue:
        i, parent = queue.popleft()
        branches = reader.branches(i)
        room = most - len(nodes)
        variable, depth = network.variables[nodes[parent].feature], nodes[parent].depth + 1
        for child, states in branches[:room]:
            queue.append((child, len(nodes)))
            label = branch_label(variable, states)
            nodes.append(replace(reader.node(child), parent=parent, depth=depth, branch=label, states=states))
        left_out = sum(reader.sizes[child] for child, _ in branches[room:])
        nodes[parent] = replace(nodes[parent], left_out=left_out)
    return nodes


def _preorder(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yield nodes that are ordered by level in preorder."""
    below: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes[1:], start=1):
        below[node.parent].append(i)
    stack, positions = [0], {-1: -1}
    while stack:
        i = stack.pop()
        positions[i] = len(positions) - 1
        yield replace(nodes[i], parent=positions[nodes[i].parent])
        stack += reversed(below[i])


def _grouped(children: Iterable[int]) -> list[Branch]:
    """Return the children, each with the states that lead to it, in the order of the states; -1 is no child."""
    states: dict[int, list[int]] = {}
    for state, child in enumerate(children):
        states.setdefault(child, []).append(state)
    return [(child, tuple(codes)) for child, codes in states.items() if child >= 0]


def _sizes(below: Sequence[Iterable[int]]) -> list[int]:
    """Return the number of nodes in the subtree of each node; children come after their parents."""
    sizes = [1] * len(below)
    for i in range(len(below) - 1, -1, -1):
        sizes[i] += sum(sizes[child] for child in below[i])
    return sizes


class _TreeReader:
    """A classification tree."""

    def __init__(self, network: Network, tree: Tree) -> None:
        self.network = network
        self.tree = tree
        below = [np.unique(tree.children_of(i)).tolist() if tree.features[i] >= 0 else [] for i in range(tree.nodes)]
        self.sizes = _sizes(below)

    def branches(self, i: int) -> list[Branch]:
        x = int(self.tree.features[i])
        return _grouped(self.tree.children_of(i).tolist()) if x >= 0 else []

    def node(self, i: int) -> Node:
        x = int(self.tree.features[i])
        predicting = class_summary(self.network, int(self.tree.state_of[i])) if x < 0 else None
        return Node(*_ROOT, x, predicting, None, float(self.tree.weights[i]))


class _HierarchyReader:
    """A hierarchy of classifiers; one that only sorts cases and the one that predicts in its place are one node."""

    def __init__(self, network: Network, cells: Hierarchy) -> None:
        self.network = network
        self.cells = cells
        first = int(np.argmax(np.asarray(network.cpts[max(network.derived)])))
        self.predicting = _predicting(cells, network.variables[CLASS].card, first)
        self.sizes = _sizes([[child for child, _ in self.branches(i)] for i in range(len(cells.features))])

    def branches(self, i: int) -> list[Branch]:
        x = int(self.cells.features[i])
        below = self.cells.children[i, : self.network.variables[x].card].tolist()
        return [branch for branch in _grouped(below) if branch[0] != self.predicting.get(i)]

    def node(self, i: int) -> Node:
        summary, predicting = class_summary(self.network, i), self.predicting.get(i)
        if predicting is None:
            return Node(*_ROOT, int(self.cells.features[i]), summary, None, None)
        prediction = class_summary(self.network, predicting) if predicting in self.cells.children[i] else None
        return Node(*_ROOT, -1, prediction, summary, None)


def _predicting(cells: Hierarchy, classes: int, first: int) -> dict[int, int]:
    """Return the classifier that predicts in place of each one that only sorts; empty for hierarchies of other origin.

    `recursive` numbers the nodes of one depth in the order of their parents: first those that sort, then a classifier for every
    node. A hierarchy with other numbers is kept as it is: every classifier is a node.

    Parameters
    ----------
    cells : the hierarchy.
    classes : the number of classes.
    first : the classifier that predicts at the root.
    """
    below = cells.children.tolist()
    sorts = [x < 0 and min(children[:classes]) >= 0 for x, children in zip(cells.features.tolist(), below, strict=True)]
    level, start, predicting = [0], 0, dict[int, int]()
    while level:
        routers = [i for i in level if sorts[i]]
        candidates = range(start + len(routers), start + len(routers) + len(level))
        entries = [i if sorts[i] else node for i, node in zip(level, candidates, strict=True)]
        if level != entries or routers != [*range(start, candidates.start)] or candidates.stop > len(below):
            return {}
        predicting |= {i: node for i, node in zip(level, candidates, strict=True) if sorts[i]}
        level = [child for i in level for child in below[i] if child >= 0 and child != predicting.get(i)]
        start = candidates.stop
    ends = all(max(below[node]) < 0 for node in predicting.values())
    return predicting if ends and start == len(below) and first == predicting.get(0, 0) else {}
