"""Maximization of a sum of tables over many discrete variables, by bucket elimination, with a budget for the cost of states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from math import prod
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.errors import ResourceError
from naivete.inference.class_ratios import MOST_CELLS, Pair, Ratio, class_ratios
from naivete.network.graphs import eliminations, interaction_graph
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["FORBIDDEN", "MOST_NODES", "SMALL", "BucketTree", "Maxima", "bucket_tree", "search"]

MOST_NODES = 20_000
"""The largest number of steps of a search."""

FORBIDDEN = -1
"""The cost of a state that must not be chosen."""


class Bucket(NamedTuple):
    """One variable, and the sum of the tables in which it is eliminated.

    Parameters
    ----------
    separator : the variables eliminated later on which the maximum over this one depends, the last one first.
    parent : the first of them to be eliminated, None at a root.
    table : the sum of its own tables.  # (pair, state of each variable of the separator, own state, 1)
    seat : the shape of the message to the parent, broadcast to the axes of its table.
    """

    separator: tuple[int, ...]
    parent: int | None
    table: Numbers
    seat: tuple[int, ...]


class BucketTree:
    """The variables of a sum of tables in an order of elimination, each with the tables that it is eliminated from.

    Naive Bayes has a bucket without separator for each feature; in TAN the separator is the parent, or the child, in the tree.

    Parameters
    ----------
    ratios : the tables.
    cards : the number of states of each variable.

    References
    ----------
    Dechter (1999), Bucket elimination: a unifying framework for reasoning.
    """

    def __init__(self, ratios: Sequence[Ratio], cards: Mapping[int, int]) -> None:
        pairs = len(ratios[0].logs)
        self.ratios = ratios
        self.constant = sum((ratio.logs for ratio in ratios if not ratio.members), np.zeros(pairs))
        steps = list(eliminations(interaction_graph(ratio.members for ratio in ratios), cards))
        self.order = [step.variable for step in steps]
        position = {v: i for i, v in enumerate(self.order)}
        separators = {step.variable: tuple(sorted(step.neighbours, key=position.__getitem__, reverse=True)) for step in steps}
        _check_cells(pairs, [(*separators[v], v) for v in self.order], cards)
        tables = {v: np.zeros((pairs, *(cards[m] for m in (*separators[v], v)))) for v in self.order}
        for ratio in ratios:
            if ratio.members:
                v = min(ratio.members, key=position.__getitem__)
                _add(tables[v], (*separators[v], v), ratio, position)
        self.buckets = {v: _bucket(v, separators, tables, cards) for v in self.order}
        self.children: dict[int, list[int]] = {v: [] for v in self.order}
        for v, bucket in self.buckets.items():
            if bucket.parent is not None:
                self.children[bucket.parent].append(v)
        self.roots = [v for v in self.order if self.buckets[v].parent is None]

    @property
    def cells(self) -> int:
        """The number of cells of all tables."""
        return sum(bucket.table.size for bucket in self.buckets.values())


_trees: WeakKeyDictionary[Network, dict[tuple[Pair, ...], BucketTree]] = WeakKeyDictionary()
"""The small bucket trees of each network, by pairs of classes."""

SMALL = 1 << 16
"""Trees with at most this many cells are kept: to build one of these takes longer than to use it."""


def bucket_tree(network: Network, pairs: Sequence[Pair]) -> BucketTree:
    """Return the bucket tree of the log ratios of pairs of classes, for any values of all features."""
    trees, key = _trees.setdefault(network, {}), tuple(pairs)
    if key in trees:
        return trees[key]
    tree = BucketTree(class_ratios(network, pairs), {x: network.variables[x].card for x in network.features})
    if tree.cells <= SMALL:
        trees[key] = tree
    return tree


def _check_cells(pairs: int, scopes: Sequence[Sequence[int]], cards: Mapping[int, int]) -> None:
    cells = pairs * sum(prod(cards[m] for m in scope) for scope in scopes)
    if cells > MOST_CELLS:
        widest = max(map(len, scopes))
        raise ResourceError(
            f"all combinations of {widest} connected features have to be compared at once, {cells:,} cells in all, and the budget "
            f"is {MOST_CELLS:,}: use a network with fewer arcs, such as NaiveBayes, TAN or KDB with a larger theta"
        )


def _add(table: Numbers, scope: tuple[int, ...], ratio: Ratio, position: Mapping[int, int]) -> None:
    """Add the table of a family to that of a bucket."""
    ordered = sorted(ratio.members, key=position.__getitem__, reverse=True)
    logs = ratio.logs.transpose(0, *(1 + ratio.members.index(m) for m in ordered))
    cards = dict(zip(ratio.members, ratio.logs.shape[1:], strict=True))
    table += logs.reshape(len(logs), *(cards.get(m, 1) for m in scope))


def _bucket(v: int, separators: Mapping[int, tuple[int, ...]], tables: Mapping[int, Numbers], cards: Mapping[int, int]) -> Bucket:
    separator = separators[v]
    parent = separator[-1] if separator else None
    above = () if parent is None else (*separators[parent], parent)
    return Bucket(
        separator, parent, tables[v][..., None], (len(tables[v]), *(cards[m] if m in separator else 1 for m in above), -1)
    )


class Maxima:
    """The maximum of the sum over all choices of states whose costs add up to at most 0, 1, ..., `budget`, for each pair.

    Parameters
    ----------
    tree : the sum.
    costs : the cost of each state of each variable, a whole number; -1 where the state must not be chosen.
    budget : the largest sum of costs.
    """

    def __init__(self, tree: BucketTree, costs: Mapping[int, Integers], budget: int = 0) -> None:
        self.tree, self.budget = tree, budget
        cells = (budget + 1) * tree.cells
        if cells > MOST_CELLS:
            raise ResourceError(
                f"the costs have {budget:,} different sums that have to be compared, {cells:,} cells in all, and the budget is "
                f"{MOST_CELLS:,}: use costs that are multiples of a larger unit, or fewer features (`fixed`)"
            )
        self.costs = {v: np.asarray(costs[v]) for v in tree.order}
        self._groups = {v: _groups(cost) for v, cost in self.costs.items()}
        self.messages: dict[int, Numbers] = {}
        for v in tree.order:
            self.messages[v] = self._message(v)

    def total(self) -> Numbers:
        """Return the maximum of the whole sum within each budget, up to the largest that makes a difference.  # (pair, budget)"""
        messages = [self.messages[v] for v in self.tree.roots]
        constant = self.tree.constant[:, None]
        return np.add.reduce([constant, *messages]) if self.budget == 0 else reduce(self.joined, messages, constant)

    def joined(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the maxima of the sum of two terms that share the budget."""
        return joined(first, second, self.budget + 1)

    def replaced(self, v: int, cost: Integers) -> dict[int, Numbers]:
        """Change the costs of the states of one variable; return the earlier messages, for `restore`."""
        earlier: dict[int, Numbers] = {}
        self.costs[v], self._groups[v] = cost, _groups(cost)
        bucket: int | None = v
        while bucket is not None:
            earlier[bucket] = self.messages[bucket]
            self.messages[bucket] = self._message(bucket)
            bucket = self.tree.buckets[bucket].parent
        return earlier

    def restore(self, v: int, cost: Integers, messages: Mapping[int, Numbers]) -> None:
        """Undo a change of the costs of one variable."""
        self.costs[v], self._groups[v] = cost, _groups(cost)
        self.messages.update(messages)

    def _message(self, v: int) -> Numbers:
        """Return the maximum over one variable, given those of its separator.  # (pair, state of each, budget)"""
        tree, messages = self.tree, self.messages
        table = tree.buckets[v].table  # (pair, state of each, own state, budget)
        for child in tree.children[v]:
            message = messages[child].reshape(tree.buckets[child].seat)
            table = table + message if self.budget == 0 else self.joined(table, message)
        groups = [(cost, states) for cost, states in self._groups[v] if cost <= self.budget]
        if len(groups) == 1 and groups[0][0] == 0:
            return _maximum(table, groups[0][1])
        size = min(self.budget + 1, table.shape[-1] + max((cost for cost, _ in groups), default=0))
        result = np.full((*table.shape[:-2], size), -np.inf)
        for cost, states in groups:
            part = _maximum(table, states)[..., : size - cost]
            within, beyond = result[..., cost : cost + part.shape[-1]], result[..., cost + part.shape[-1] :]
            np.maximum(within, part, out=within)
            if beyond.size:
                np.maximum(beyond, part[..., -1:], out=beyond)
        return result


def _maximum(table: Numbers, states: Any) -> Numbers:
    """Return the maximum over some states, a single one, or all (None), of the last axis but one."""
    if isinstance(states, int):
        return table[..., states, :]
    return np.asarray(np.maximum.reduce(table if states is None else table[..., states, :], axis=-2))


def _groups(costs: Integers) -> Sequence[tuple[int, Any]]:
    """Return the states of each cost, the cheapest first: the only state, a list of several, or None for all."""
    return _grouped(tuple(costs.tolist()))


@lru_cache(1000)
def _grouped(costs: tuple[int, ...]) -> Sequence[tuple[int, Any]]:
    states: dict[int, list[int]] = {}
    for state, cost in enumerate(costs):
        if cost != FORBIDDEN:
            states.setdefault(cost, []).append(state)
    return [(cost, s[0] if len(s) == 1 else None if len(s) == len(costs) else s) for cost, s in sorted(states.items())]


def joined(first: Numbers, second: Numbers, size: int) -> Numbers:
    """Return the maxima of the sum of two terms that share one budget: out[k] = max over j of first[k - j] + second[j].

    Parameters
    ----------
    first, second : the terms, which do not decrease along the last axis, the budget; a larger budget than the last makes no
        difference.
    size : the largest length of the last axis of the result.

    >>> joined(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0]), 10).tolist()
    [0.0, 2.0, 3.0, 5.0]
    """
    if first.shape[-1] < second.shape[-1]:
        first, second = second, first
    n, m = first.shape[-1], second.shape[-1]
    if m == 1:
        return np.asarray(first + second)
    size = min(size, n + m - 1)
    padded = np.full((*first.shape[:-1], n + 2 * m - 2), -np.inf)
    padded[..., m - 1 : m - 1 + n] = first
    if padded.size * m > SMALL:
        return reduce(np.maximum, (padded[..., m - 1 - j : m - 1 - j + size] + second[..., j : j + 1] for j in range(m)))
    strides = (*padded.strides, padded.strides[-1])
    shape = (*first.shape[:-1], size, m)
    windows: Numbers = np.ndarray(shape, np.float64, padded, strides=strides)  # windows[k, i] = padded[k + i]
    return np.asarray(np.maximum.reduce(windows + second[..., None, ::-1], axis=-1))


def search(maxima: Maxima, pairs: Sequence[int], accepted: Callable[[Numbers], bool], budget: int = 0) -> dict[int, int] | None:
    """Return states with costs within the budget whose sums are accepted for all pairs, None if there are none.

    Depth-first search with an upper bound for each pair: the exact maximum for this pair alone, given the states chosen so far.
    With a single pair it never goes back, and the result has the largest sum.

    Parameters
    ----------
    maxima : the sum with its costs.
    pairs : the positions of the pairs that matter, one after the other.
    accepted : whether sums are large enough; if it accepts some, it accepts larger ones.  # (pair,)
    budget : the largest sum of costs, at most that of the maxima.
    """
    tree, rows = maxima.tree, slice(pairs[0], pairs[-1] + 1)
    pending = _pushed(budget, None, [(v, maxima.messages[v][rows]) for v in tree.roots])
    stack: list[_Step] = [_Step(pending, tree.constant[rows], budget, CLASS, 0)]
    states: dict[int, int] = {}  # of the variables chosen so far; those of other branches are overwritten before they are used
    for _ in range(MOST_NODES):
        if not stack:
            return None
        step = stack.pop()
        states[step.variable] = step.state
        if step.pending is None:
            del states[CLASS]
            return states
        stack += _choices(maxima, rows, accepted, step, states)
    raise ResourceError(
        f"the search for a cheapest change that makes one class more probable than all others was given up after {MOST_NODES:,} "
        "steps; fix some features (`fixed`), or leave the target class open"
    )


class _Step(NamedTuple):
    """A choice of a state: what remains to be chosen, the sums and the budget after it, the variable and the state."""

    pending: Any
    sums: Numbers
    budget: int
    variable: int
    state: int


def _choices(
    maxima: Maxima, rows: slice, accepted: Callable[[Numbers], bool], step: _Step, states: Mapping[int, int]
) -> list[_Step]:
    """Return the choices of a state of the next variable that can still be accepted, the most promising last."""
    (v, _, rest), tree = step.pending, maxima.tree
    in_bucket = _cell(tree.buckets[v].table[..., 0], rows, [states[m] for m in tree.buckets[v].separator])  # (pair, state)
    choices = []
    for state, cost in enumerate(maxima.costs[v].tolist()):
        if cost == FORBIDDEN or cost > step.budget:
            continue
        following, budget = rest, step.budget - cost
        for child in tree.children[v]:
            cells = [state if m == v else states[m] for m in tree.buckets[child].separator]
            following = _pushed(budget, following, [(child, _cell(maxima.messages[child], rows, cells))])
        sums = step.sums + in_bucket[:, state]
        bounds = sums if following is None else sums + following[1][:, min(budget, following[1].shape[-1] - 1)]
        if accepted(bounds):
            choices.append((float(bounds.min()), -state, _Step(following, sums, budget, v, state)))
    return [choice for *_, choice in sorted(choices, key=lambda choice: choice[:2])]


def _cell(table: Numbers, rows: slice, states: list[int]) -> Numbers:
    """Return the part of a table for some pairs and the states of the separator."""
    index: Any = (rows, *states)
    return table[index]  # type: ignore[no-any-return]


def _pushed(budget: int, rest: Any, messages: Sequence[tuple[int, Numbers]]) -> Any:
    """Return a linked list of variables to choose states of: (variable, maxima of it and all after it, the others)."""
    for v, message in messages:
        message = message[..., : budget + 1]
        rest = v, message if rest is None else joined(rest[1][..., : budget + 1], message, budget + 1), rest
    return rest
