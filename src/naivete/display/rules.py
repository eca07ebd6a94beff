"""A classification tree as text: one rule for each leaf, or indented lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from naivete.errors import ParameterError
from naivete.inference.junction import HasNetwork, network_of
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, number_text

__all__ = ["rules", "tree_text"]

States = frozenset[int]


def rules(network: Network | HasNetwork) -> list[str]:
    """Return one rule for each leaf, in the order of `tree_text`: the conditions on the features, and the class.

    In parentheses: the weight of the training cases at the leaf, and the weight of those of other classes. The second is computed
    from the class probabilities of the leaf, so that it includes smoothing.

    Parameters
    ----------
    network : Network or NetworkClassifier
        A tree, as `id3` and `c45` learn it, or the fitted classifier of one.

    Returns
    -------
    list of str
        The rules.

    Examples
    --------
    >>> from naivete.display.rules import rules
    >>> from naivete.classifiers.trees import ID3
    >>> weather = [["sunny", "hot"], ["sunny", "mild"], ["rain", "hot"], ["rain", "mild"]]
    >>> print(*rules(ID3().fit(weather, ["out", "out", "in", "out"])), sep="\\n")
    x0 = rain and x1 = hot -> in (1.0)
    x0 = rain and x1 = mild -> out (1.0)
    x0 = sunny -> out (2.0)
    """
    reader = _Reader(network_of(network))
    lines = []
    for node, _, path in reader.walk():
        if reader.tree.features[node] < 0:
            conditions = " and ".join(_condition(reader.variables[x], states) for x, states in path.items())
            lines.append(f"{conditions or 'always'} -> {reader.leaf_text(node)}")
    return lines


def tree_text(network: Network | HasNetwork) -> str:
    """Return the tree as text: a line for each branch, indented by depth; leaves with their class and weights as in `rules`.

    Parameters
    ----------
    network : Network or NetworkClassifier
        A tree, as `id3` and `c45` learn it, or the fitted classifier of one.

    Returns
    -------
    str
        The tree.

    Raises
    ------
    ParameterError
        If the network is not a tree.

    Examples
    --------
    >>> from naivete import ID3, tree_text
    >>> weather = [["sunny", "hot"], ["sunny", "mild"], ["rain", "hot"], ["rain", "mild"]]
    >>> print(tree_text(ID3().fit(weather, ["out", "out", "in", "out"])))
    x0 = rain
    |   x1 = hot: in (1.0)
    |   x1 = mild: out (1.0)
    x0 = sunny: out (2.0)
    """
    reader = _Reader(network_of(network))
    lines = []
    for node, branches, _ in reader.walk():
        leaf = reader.tree.features[node] < 0
        if branches:
            branch = "|   " * (len(branches) - 1) + branches[-1]
            lines.append(f"{branch}: {reader.leaf_text(node)}" if leaf else branch)
        elif leaf:
            lines.append(f": {reader.leaf_text(node)}")
    return "\n".join(lines)


class _Reader:
    """A network with a classification tree, read from the root down."""

    def __init__(self, network: Network) -> None:
        trees = [column for column in network.derived.values() if isinstance(column, Tree)]
        table = network.cpts[CLASS]
        if len(trees) != 1 or CLASS in network.sparse:
            raise ParameterError("network: only a classification tree can be written as rules; learn one with ID3 or C45")
        self.tree = trees[0]
        self.variables = network.variables
        self.classes = np.asarray(table)  # (leaf, class)

    def leaf_text(self, node: int) -> str:
        """Return the class of a leaf, with the weight of its cases and of those of other classes."""
        rates = self.classes[self.tree.state_of[node]]
        best, weight = int(np.argmax(rates)), float(self.tree.weights[node])
        wrong = weight * (1 - float(rates[best]))
        weights = f"{weight:.1f} / {wrong:.1f} wrong" if wrong >= 0.05 else f"{weight:.1f}"
        return f"{self.variables[CLASS].labels[best]} ({weights})"

    def walk(self) -> Iterator[tuple[int, tuple[str, ...], Mapping[int, States]]]:
        """Yield every node with the branches that lead to it, as texts and as the allowed states of the tested features."""
        stack: list[tuple[int, tuple[str, ...], dict[int, States]]] = [(0, (), {})]
        while stack:
            node, branches, path = stack.pop()
            yield node, branches, path
            x = int(self.tree.features[node])
            if x < 0:
                continue
            below = self.tree.children_of(node)
            for child in np.unique(below)[::-1].tolist():
                states = frozenset(np.flatnonzero(below == child).tolist())
                text = _condition(self.variables[x], states)
                stack.append((child, (*branches, text), {**path, x: path.get(x, states) & states}))


def _condition(variable: Variable, states: States) -> str:
    """Return the text of the condition that a feature has one of these states."""
    name, labels = str(variable.name), variable.labels
    if variable.cuts is None:
        values = [labels[s] for s in sorted(states)]
        return f"{name} = {values[0]}" if len(values) == 1 else f"{name} in {{{', '.join(values)}}}"
    known = sorted(s for s in states if s < variable.known)
    conditions = [_interval(name, variable.cuts, known[0], known[-1])] if known else []
    conditions += [f"{name} is {labels[s]}" for s in sorted(states) if s >= variable.known]
    return " or ".join(conditions) if len(conditions) < 2 else f"({' or '.join(conditions)})"


def _interval(name: str, cuts: Sequence[float], low: int, high: int) -> str:
    """Return the condition that a number lies in the intervals from `low` to `high`."""
    if low == 0 and high == len(cuts):
        return f"{name} is known"
    if low == 0:
        return f"{name} <= {number_text(cuts[high], 10)}"
    over = number_text(cuts[low - 1], 10)
    return f"{name} > {over}" if high == len(cuts) else f"{over} < {name} <= {number_text(cuts[high], 10)}"
