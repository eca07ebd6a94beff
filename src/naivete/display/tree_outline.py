"""What a tree or a hierarchy of classifiers looks like from its root down: nodes as plain data, read off a network."""

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

Branch = tuple[int, tuple[int, ...]]  # the child, and the states or classes whose cases go there

MOST = 10_000
"""The most nodes of an outline, unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Node:
    """One node of an outline.

    Parameters
    ----------
    parent : the position of its parent, -1 at the root.
    depth : how many nodes are above it.
    branch : which cases of its parent come here, the empty text at the root.
    states : the codes of those cases: states of the parent's feature, or classes.
    feature : the feature by whose value cases are sent on, -1 where they are sent on by class or not at all.
    answer : what answers about the cases that end here; None where none do.
    sorting : the clusters that cases are sent on by, one for each class, where that is not done by the answer itself.
    weight : the weight of the training cases that came here, None where nobody knows.
    left_out : how many nodes below it are not in the outline.
    """

    parent: int
    depth: int
    branch: str
    states: tuple[int, ...]
    feature: int
    answer: ClassSummary | None
    sorting: ClassSummary | None
    weight: float | None
    left_out: int = 0


@dataclass(frozen=True, eq=False)
class Outline:
    """The nodes of a tree or hierarchy, each before its children, the children of a node in their order.

    Parameters
    ----------
    nodes : the nodes, the root first.
    total : how many nodes there are, also those that are left out.
    leaves : whether cases are sent down by questions alone, so that what answers is a leaf.
    """

    nodes: tuple[Node, ...]
    total: int
    leaves: bool

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the children of every node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes[1:], start=1):
            found[node.parent].append(i)
        return tuple(map(tuple, found))


def has_outline(network: Network) -> bool:
    """Whether a network is a tree or a hierarchy of naive Bayes classifiers, so that `outline` can tell what it looks like."""
    if not any(isinstance(own, (Tree, Hierarchy)) for own in network.derived.values()):
        return False
    place = max(network.derived)
    dense = not network.sparse
    naive = all({*network.parents[x]} <= {place, CLASS} for x in network.inputs)
    return dense and naive and network.parents[CLASS] == (place,)


def outline(network: Network, *, max_nodes: int = MOST) -> Outline:
    """The tree or hierarchy that a network is.

    The nodes of a classification tree ask for a feature, or are leaves. Those of a hierarchy are classifiers; one whose cases are
    sent on by summaries of clusters has both, the clusters and the classifier that answers the cases that stay.

    Parameters
    ----------
    network : the network of a tree or of a recursive Bayesian classifier.
    max_nodes : the most nodes; those nearest to the root are kept.

    >>> from naivete.variables import Variable
    >>> own = Variable("sky", ("blue", "grey", "red")), Variable("leaf", (1, 2)), Variable("play", ("no", "yes"))
    >>> tree = Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2, 2]), np.array([4.0, 3.0, 1.0]))
    >>> cpts = {0: np.array([.5, .3, .2]), 1: np.array([.75, .25]), -1: np.array([[0.0, 1.0], [0.8, 0.2]])}
    >>> found = outline(Network(own, {0: (), 1: (), -1: (1,)}, cpts, {1: tree}))
    >>> [(node.branch, node.weight) for node in found.nodes]
    [('', 4.0), ('blue', 3.0), ('grey, red', 1.0)]
    """
    if max_nodes < 1:
        raise ParameterError(f"max_nodes={quoted(max_nodes)}: at least 1")
    if not has_outline(network):
        raise ParameterError(
            "network: only a tree or a hierarchy of classifiers has an outline; draw others with naivete.display.network_drawing"
        )
    derived: Any = network.derived[max(network.derived)]
    reader: _Reader = _CellsReader(network, derived) if isinstance(derived, Hierarchy) else _TreeReader(network, derived)
    found = _preorder(_nearest(reader, network, max_nodes))
    return Outline(tuple(found), reader.sizes[0], isinstance(derived, Tree))


def heading(network: Network, found: Outline, node: Node) -> str:
    """Which cases come to a node of a hierarchy."""
    if node.parent < 0:
        return "all cases"
    x = found.nodes[node.parent].feature
    if x < 0:
        return f"sorted to {node.branch}"
    return f"{network.name(x)} {'' if network.variables[x].numeric else '= '}{node.branch}"


def node_summaries(node: Node) -> list[tuple[str, ClassSummary]]:
    """The summaries of a classifier, each with a word: what it sorts cases into, and what it answers."""
    told = [("sorts into", node.sorting), ("answers" if node.sorting else "classes", node.answer)]
    return [(word, own) for word, own in told if own is not None]


def relevant_columns(network: Network) -> list[int]:
    """The columns of the table that can matter for the class when all others are known, in increasing order.

    In a tree those that it asks for; else those that the arcs do not separate from the class, hidden columns never being known.
    """
    derived = [*network.derived.values()]
    if not derived:
        return [*markov_blanket(network.parents, CLASS)]
    if isinstance(derived[0], Tree):
        asked = {*np.unique(derived[0].features).tolist()} - {-1}
        return [x for x in network.inputs if x in asked or CLASS in network.parents[x]]
    if isinstance(derived[0], Hierarchy):
        sent = {*np.unique(derived[0].features).tolist()}
        return [x for x in network.inputs if x in sent or network.parents[x]]
    return _unseparated(network)


def _unseparated(network: Network) -> list[int]:
    """The columns of the table that hidden ones do not separate from the class: in the moral graph a way leads through these."""
    kept = ancestors(network.parents, [*network.inputs, CLASS])
    near = moral({v: network.parents[v] for v in sorted(kept)})
    found, waiting = {CLASS}, [CLASS]
    while waiting:
        new = near[waiting.pop()] - found
        found |= new
        waiting += [v for v in new if v in network.derived]
    return [x for x in network.inputs if x in found]


def branch_label(variable: Variable, states: Iterable[int]) -> str:
    """Some states of a variable in words: names one after the other, neighbouring intervals as one.

    >>> petal = Variable("petal", cuts=(1.5, 2.45, 4.9), missing=True)
    >>> branch_label(petal, [0, 1]), branch_label(petal, [2]), branch_label(petal, [2, 3, 4])
    ('<= 2.45', '2.45 .. 4.9', '> 2.45, missing')
    """
    labels, codes = variable.labels, sorted(states)
    if variable.cuts is None:
        return ", ".join(labels[code] for code in codes)
    known, others = [c for c in codes if c < variable.known], [c for c in codes if c >= variable.known]
    runs = [[code for _, code in run] for _, run in groupby(enumerate(known), lambda own: own[1] - own[0])]
    words = [_interval(labels[: variable.known], run[0], run[-1]) for run in runs]
    return ", ".join([*words, *(labels[code] for code in others)])


def _interval(labels: Sequence[str], first: int, last: int) -> str:
    """The intervals from the first to the last as one."""
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

    def branches(self, at: int) -> list[Branch]:
        """The children of a node, each with the cases that go there."""

    def node(self, at: int) -> Node:
        """What is to be told of a node, wherever it stands."""


def _nearest(reader: _Reader, network: Network, most: int) -> list[Node]:
    """The nodes nearest to the root, level by level."""
    found = [reader.node(0)]
    waiting = deque([(0, 0)])
    while waiting:
        at, place = waiting.popleft()
        branches = reader.branches(at)
        room = most - len(found)
        by, depth = network.variables[found[place].feature], found[place].depth + 1
        for child, states in branches[:room]:
            waiting.append((child, len(found)))
            label = branch_label(by, states)
            found.append(replace(reader.node(child), parent=place, depth=depth, branch=label, states=states))
        left_out = sum(reader.sizes[child] for child, _ in branches[room:])
        found[place] = replace(found[place], left_out=left_out)
    return found


def _preorder(nodes: Sequence[Node]) -> Iterator[Node]:
    """Nodes that are in order level by level, each followed by those below it."""
    below: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes[1:], start=1):
        below[node.parent].append(i)
    waiting, places = [0], {-1: -1}
    while waiting:
        i = waiting.pop()
        places[i] = len(places) - 1
        yield replace(nodes[i], parent=places[nodes[i].parent])
        waiting += reversed(below[i])


def _grouped(children: Iterable[int]) -> list[Branch]:
    """The children that there are, in the order of the states that lead to them."""
    states: dict[int, list[int]] = {}
    for state, child in enumerate(children):
        states.setdefault(child, []).append(state)
    return [(child, tuple(own)) for child, own in states.items() if child >= 0]


def _sizes(below: Sequence[Iterable[int]]) -> list[int]:
    """How many nodes there are from each node down; children come after their parents."""
    sizes = [1] * len(below)
    for at in range(len(below) - 1, -1, -1):
        sizes[at] += sum(sizes[child] for child in below[at])
    return sizes


class _TreeReader:
    """A classification tree."""

    def __init__(self, network: Network, tree: Tree) -> None:
        self.network = network
        self.tree = tree
        asking = [tree.features[at] >= 0 for at in range(tree.nodes)]
        self.sizes = _sizes([np.unique(tree.children_of(at)).tolist() if asking[at] else [] for at in range(tree.nodes)])

    def branches(self, at: int) -> list[Branch]:
        x = int(self.tree.features[at])
        return _grouped(self.tree.children_of(at).tolist()) if x >= 0 else []

    def node(self, at: int) -> Node:
        x = int(self.tree.features[at])
        answer = class_summary(self.network, int(self.tree.state_of[at])) if x < 0 else None
        return Node(*_ROOT, x, answer, None, float(self.tree.weights[at]))


class _CellsReader:
    """A hierarchy of classifiers; one that only sorts cases and the one that answers in its place are one node."""

    def __init__(self, network: Network, cells: Hierarchy) -> None:
        self.network = network
        self.cells = cells
        first = int(np.argmax(np.asarray(network.cpts[max(network.derived)])))
        self.answering = _answering(cells, network.variables[CLASS].card, first)
        self.sizes = _sizes([[child for child, _ in self.branches(at)] for at in range(len(cells.features))])

    def branches(self, at: int) -> list[Branch]:
        x = int(self.cells.features[at])
        below = self.cells.children[at, : self.network.variables[x].card].tolist()
        return [own for own in _grouped(below) if own[0] != self.answering.get(at)]

    def node(self, at: int) -> Node:
        own, answering = class_summary(self.network, at), self.answering.get(at)
        if answering is None:
            return Node(*_ROOT, int(self.cells.features[at]), own, None, None)
        answer = class_summary(self.network, answering) if answering in self.cells.children[at] else None
        return Node(*_ROOT, -1, answer, own, None)


def _answering(cells: Hierarchy, classes: int, first: int) -> dict[int, int]:
    """The classifier that answers in the place of each that only sorts; nothing where the hierarchy is of another making.

    `recursive` numbers the nodes of a depth in the order of their parents: first those that sort, then a classifier for every
    node. What does not come out like this is left as it stands, so that a classifier is a node.

    Parameters
    ----------
    cells : the hierarchy.
    classes : how many classes there are.
    first : the classifier that answers at the root.
    """
    below = cells.children.tolist()
    sorts = [x < 0 and min(own[:classes]) >= 0 for x, own in zip(cells.features.tolist(), below, strict=True)]
    level, start, found = [0], 0, dict[int, int]()
    while level:
        routers = [at for at in level if sorts[at]]
        answers = range(start + len(routers), start + len(routers) + len(level))
        entries = [at if sorts[at] else own for at, own in zip(level, answers, strict=True)]
        if level != entries or routers != [*range(start, answers.start)] or answers.stop > len(below):
            return {}
        found |= {at: own for at, own in zip(level, answers, strict=True) if sorts[at]}
        level = [child for at in level for child in below[at] if child >= 0 and child != found.get(at)]
        start = answers.stop
    ends = all(max(below[own]) < 0 for own in found.values())
    return found if ends and start == len(below) and first == found.get(0, 0) else {}
