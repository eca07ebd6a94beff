"""A classification tree in words: one rule for each leaf, or the tree as indented text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from naivete.errors import ParameterError
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, number_text

__all__ = ["rules", "tree_text"]

States = frozenset[int]


def rules(network: Network) -> list[str]:
    """One rule for each leaf, in the order in which the tree is written: what a case has to be like, and its class.

    In brackets stand the weight of the training cases at the leaf and of those of other classes, as the table of the leaf tells;
    smoothing shows in it.

    Parameters
    ----------
    network : a tree, as `id3` and `c45` learn it.

    >>> from naivete.classifiers.trees import ID3
    >>> weather = [["sunny", "hot"], ["sunny", "mild"], ["rain", "hot"], ["rain", "mild"]]
    >>> print(*rules(ID3().fit(weather, ["out", "out", "in", "out"]).network_), sep="\\n")
    x0 = rain and x1 = hot -> in (1.0)
    x0 = rain and x1 = mild -> out (1.0)
    x0 = sunny -> out (2.0)
    """
    reader = _Reader(network)
    lines = []
    for node, _, path in reader.walk():
        if reader.tree.features[node] < 0:
            asked = " and ".join(_condition(network.variables[x], states) for x, states in path.items())
            lines.append(f"{asked or 'always'} -> {reader.answer(node)}")
    return lines


def tree_text(network: Network) -> str:
    """The tree, a line for each branch, indented by its depth; leaves with their class and cases as in `rules`.

    Parameters
    ----------
    network : a tree, as `id3` and `c45` learn it.

    >>> from naivete.classifiers.trees import ID3
    >>> weather = [["sunny", "hot"], ["sunny", "mild"], ["rain", "hot"], ["rain", "mild"]]
    >>> print(tree_text(ID3().fit(weather, ["out", "out", "in", "out"]).network_))
    x0 = rain
    |   x1 = hot: in (1.0)
    |   x1 = mild: out (1.0)
    x0 = sunny: out (2.0)
    """
    reader = _Reader(network)
    lines = []
    for node, trail, _ in reader.walk():
        leaf = reader.tree.features[node] < 0
        if trail:
            branch = "|   " * (len(trail) - 1) + trail[-1]
            lines.append(f"{branch}: {reader.answer(node)}" if leaf else branch)
        elif leaf:
            lines.append(f": {reader.answer(node)}")
    return "\n".join(lines)


class _Reader:
    """A network that is a tree, read from the root down."""

    def __init__(self, network: Network) -> None:
        derived = [own for own in network.derived.values() if isinstance(own, Tree)]
        table = network.cpts[CLASS]
        if len(derived) != 1 or CLASS in network.sparse:
            raise ParameterError("network: only a classification tree can be written as rules; learn one with ID3 or C45")
        self.tree = derived[0]
        self.variables = network.variables
        self.classes = np.asarray(table)  # (leaf, class)

    def answer(self, node: int) -> str:
        """The class of a leaf, with the weight of its cases and of those that are of other classes."""
        own = self.classes[self.tree.state_of[node]]
        best, weight = int(np.argmax(own)), float(self.tree.weights[node])
        wrong = weight * (1 - float(own[best]))
        told = f"{weight:.1f} / {wrong:.1f} wrong" if wrong >= 0.05 else f"{weight:.1f}"
        return f"{self.variables[CLASS].labels[best]} ({told})"

    def walk(self) -> Iterator[tuple[int, tuple[str, ...], Mapping[int, States]]]:
        """Every node with the branches that lead to it, as text and as the states of the features that were asked for."""
        waiting: list[tuple[int, tuple[str, ...], dict[int, States]]] = [(0, (), {})]
        while waiting:
            node, trail, path = waiting.pop()
            yield node, trail, path
            x = int(self.tree.features[node])
            if x < 0:
                continue
            below = self.tree.children_of(node)
            for child in np.unique(below)[::-1].tolist():
                own = frozenset(np.flatnonzero(below == child).tolist())
                text = _condition(self.variables[x], own)
                waiting.append((child, (*trail, text), {**path, x: path.get(x, own) & own}))


def _condition(variable: Variable, states: States) -> str:
    """A feature that has one of some states, in words."""
    name, labels = str(variable.name), variable.labels
    if variable.cuts is None:
        own = [labels[s] for s in sorted(states)]
        return f"{name} = {own[0]}" if len(own) == 1 else f"{name} in {{{', '.join(own)}}}"
    known = sorted(s for s in states if s < variable.known)
    words = [_interval(name, variable.cuts, known[0], known[-1])] if known else []
    words += [f"{name} is {labels[s]}" for s in sorted(states) if s >= variable.known]
    return " or ".join(words) if len(words) < 2 else f"({' or '.join(words)})"


def _interval(name: str, cuts: Sequence[float], low: int, high: int) -> str:
    """A number between two cut points, or on one side of one."""
    if low == 0 and high == len(cuts):
        return f"{name} is known"
    if low == 0:
        return f"{name} <= {number_text(cuts[high], 10)}"
    over = number_text(cuts[low - 1], 10)
    return f"{name} > {over}" if high == len(cuts) else f"{over} < {name} <= {number_text(cuts[high], 10)}"
