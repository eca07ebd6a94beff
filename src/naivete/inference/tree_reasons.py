"""Sufficient reasons and flips of a classification tree, leaf by leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.inference.class_ratios import winning
from naivete.inference.elimination import log
from naivete.inference.flips import Flip, whole_costs
from naivete.inference.reasons import Reason
from naivete.network.derived_columns import Tree
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["cheapest_tree_flip", "is_plain_tree", "sufficient_tree_reason"]


class Leaf(NamedTuple):
    """A leaf: the class that is predicted there, and the states of each tested feature that lead to it."""

    predicted: int
    states: Mapping[int, Bools]


def is_plain_tree(network: Network) -> bool:
    """Return whether the class depends on the leaf of a tree only, and no feature depends on the class or on the leaf."""
    (derived, *others) = [*network.derived.values(), None]
    alone = others == [None] and isinstance(derived, Tree) and network.parents[CLASS] == (len(network.inputs),)
    return alone and not any(network.parents[x] for x in network.inputs)


def leaves(network: Network) -> list[Leaf]:
    """Return the leaves of a tree that some row reaches; a feature may be tested several times on the way."""
    tree = network.derived[len(network.inputs)]
    assert isinstance(tree, Tree)
    logs, result = log(np.asarray(network.cpts[CLASS])), []
    waiting: list[tuple[int, dict[int, Bools]]] = [(0, {})]
    while waiting:
        node, states = waiting.pop()
        x = int(tree.features[node])
        if x < 0:
            result.append(Leaf(winning(logs[int(tree.state_of[node])]), states))
            continue
        children = tree.children_of(node)
        for child in np.unique(children).tolist():
            reaching = (children == child) & states.get(x, True)
            if reaching.any():
                waiting.append((child, {**states, x: reaching}))
    return result


def sufficient_tree_reason(network: Network, values: Mapping[int, int], decided: int) -> Reason:
    """Return observed features whose values exclude every leaf with another class, and no proper subset of them does.

    One observed value after the other is given up, first those that exclude the fewest leaves.

    Parameters
    ----------
    network : the network of a tree.
    values : the codes of the observed features; missing ones can have any value.
    decided : the class that is predicted for these values.

    References
    ----------
    Izza, Ignatiev and Marques-Silva (2022), On tackling explanation redundancy in decision trees, section 4.
    """
    excluding = []  # for each leaf with another class the observed features that exclude it
    for leaf in leaves(network):
        if leaf.predicted != decided:
            excluding.append({x for x, states in leaf.states.items() if x in values and not states[values[x]]})
            if not excluding[-1]:
                reaching = {x: int(np.argmax(states)) for x, states in sorted(leaf.states.items()) if x not in values}
                return Reason(tuple(sorted(values)), reaching)
    kept = set().union(*excluding)
    for x in sorted(kept, key=lambda x: (sum(x in some for some in excluding), x)):
        if all(some & (kept - {x}) for some in excluding):
            kept.remove(x)
    return Reason(tuple(sorted(kept)), None)


def cheapest_tree_flip(network: Network, costs: Mapping[int, Numbers], decided: int, target: int | None = None) -> Flip | None:
    """Return the states with the smallest costs that lead to a leaf with another class, or with the target class.

    Parameters
    ----------
    network : the network of a tree.
    costs, decided, target : as of `naivete.inference.flips.cheapest_flip`.
    """
    steps, unit = whole_costs(costs)
    best: tuple[int, int, dict[int, int]] | None = None
    for leaf in leaves(network):
        if leaf.predicted == decided or (target is not None and leaf.predicted != target):
            continue
        states = {x: _cheapest(steps[x], reaching) for x, reaching in sorted(leaf.states.items())}
        if all(state >= 0 for state in states.values()):
            spent = sum(int(steps[x][state]) for x, state in states.items())
            if best is None or spent < best[0]:
                best = spent, leaf.predicted, states
    return None if best is None else Flip(best[2], best[1], best[0] * unit)


def _cheapest(steps: Integers, reaching: Bools) -> int:
    """Return the cheapest of some states, -1 if none of them may be chosen."""
    allowed = np.flatnonzero(reaching & (steps >= 0))
    return int(allowed[np.argmin(steps[allowed])]) if len(allowed) else -1
