"""Classification trees: ID3 and C4.5, grown level by level from tables of counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.counts.counts import Counts, Table, informative_features
from naivete.errors import ParameterError, ResourceError, quoted
from naivete.learners.k2 import checked_truth
from naivete.learners.pruning import checked_confidence, collapsed, pruned
from naivete.learners.tree_network import tree_network
from naivete.learners.tree_nodes import EPSILON, Nodes, Numbers, Positions, at_nodes, grouped, ragged
from naivete.learners.tree_splits import Choice, Logs, Open, Test, cut_test, greatest_gain, greatest_ratio, state_test
from naivete.network.estimation import smoothing_of
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["c45", "id3"]

MANY_STATES = 0.3
NODE_STATES = 64
SHARED = 16
MANY_NODES = 1 << 12


def id3(counts: Counts, *, max_depth: int | None = None, min_rows: float = 0, smoothing: object = 0.0) -> Network:
    """A classification tree whose nodes ask for the feature with the largest information gain, as a network.

    A node has a branch for every state, or interval, of its feature. It is a leaf when all its cases are of one class or agree
    in all features. The class has one parent, the leaf; a leaf without cases answers as its parent would. Cases that lack
    a value asked for are divided among the branches in proportion to the others.

    Parameters
    ----------
    counts : the training cases.
    max_depth : how many questions may be asked of a case; by default any number.
    min_rows : a node with less weight is not divided; by default every node is that can be.
    smoothing : pseudo-count added to every class of a leaf, or as for `naive`; by default the relative frequencies.

    References
    ----------
    Quinlan (1986), Induction of decision trees; Jensen and Nielsen (2007), section 8.4.
    """
    smoothing_of(smoothing)
    enough = checked_rows(min_rows, zero=True)
    grower = _Grower(counts, greatest_gain, checked_depth(max_depth), enough, 2 * EPSILON, binary=False)
    return tree_network(counts, grower.grown()[0], smoothing)


def c45(
    counts: Counts,
    *,
    min_rows: float = 2,
    confidence: float = 0.25,
    raising: bool = True,
    prune: bool = True,
    max_depth: int | None = None,
    smoothing: object = 0.0,
) -> Network:
    """A classification tree whose nodes ask for the feature with the largest gain ratio, pruned, as a network.

    Among the tests whose information gain is at least average, a node takes the one with the largest gain over the entropy of
    its branches. Nominal features have a branch for every state, numeric ones two, divided at one of their cut points. Cases that
    lack the value are divided among the branches. The tree is then pruned by pessimistic estimates of its errors.

    Parameters
    ----------
    counts : the training cases.
    min_rows : at least two branches of a test need this weight.
    confidence : the level of the upper limit of the error at a leaf, above 0 and at most 0.5; less prunes more.
    raising : whether a node may be replaced by its largest branch, which then takes all its cases.
    prune : whether the tree is pruned; if not, only tests that save no error on the training cases are taken back.
    max_depth : how many questions may be asked of a case; by default any number.
    smoothing : as for `id3`.

    References
    ----------
    Quinlan (1993), C4.5: Programs for machine learning; (1996), Improved use of continuous attributes in C4.5, for release 8.
    """
    smoothing_of(smoothing)
    level, raises = checked_confidence(confidence), checked_truth(raising, "raising")
    least = checked_rows(min_rows)
    grower = _Grower(counts, greatest_ratio, checked_depth(max_depth), 2 * least, least, binary=True)
    nodes, rows = grower.grown()
    nodes = collapsed(nodes)
    if checked_truth(prune, "prune"):
        nodes = pruned(rows, nodes, confidence=level, raising=raises)
    return tree_network(counts, nodes, smoothing)


def checked_depth(value: Any) -> int | None:
    """A depth of at least 0, None for any."""
    if value is None or (isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0):
        return None if value is None else int(value)
    raise ParameterError(f"max_depth={quoted(value)}: a whole number, at least 0, or None for any depth")


def checked_rows(value: Any, *, zero: bool = False) -> float:
    """A weight above 0, or at least 0."""
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if number and 0 <= value < np.inf and (value > 0 or zero):
        return float(value)
    raise ParameterError(f"min_rows={quoted(value)}: a number {'at least' if zero else 'above'} 0")


@dataclass(frozen=True, eq=False)
class _Grower:
    """Grows a tree.

    Parameters
    ----------
    counts : the training cases.
    choice : which test a node makes.
    depth : how many questions may be asked of a case, None for any number.
    enough : the weight from which on a node is divided.
    least : the weight that two branches need.
    binary : whether numeric features are divided in two.
    """

    counts: Counts
    choice: Choice
    depth: int | None
    enough: float
    least: float
    binary: bool

    def grown(self) -> tuple[Nodes, Counts]:
        """The tree, before it is pruned, and the cases in the order in which they were looked at last."""
        rows, nodes = self.counts, Nodes.leaves(self.counts.margins()[CLASS,].astype(np.float64)[None], np.ones(1))
        level, depth = np.zeros(1, np.int64), 0
        while self.depth is None or depth < self.depth:
            level = level[self._divisible(nodes, level)]
            if not len(level):
                break
            if rows is self.counts and len(nodes) > MANY_NODES:
                rows = grouped(rows, nodes)
            kids = []
            for some in np.array_split(level, -(-len(level) // self._together())):
                before = len(nodes)
                nodes = self._divided(rows, nodes, some)
                kids.append(np.arange(before, len(nodes)))
            level, depth = np.concatenate(kids), depth + 1
        return nodes, rows

    @cached_property
    def _logs(self) -> Logs:
        return Logs(self.counts.total)

    def _divisible(self, nodes: Nodes, level: Positions) -> NDArray[np.bool_]:
        """Which nodes have cases enough, of more than one class."""
        weights = nodes.weights[level]
        totals = weights.sum(axis=1)
        return np.asarray((totals >= self.enough - EPSILON) & (totals - weights.max(axis=1) >= EPSILON))

    def _together(self) -> int:
        """How many nodes are divided at a time, so that the tables of all features fit a part of the budget."""
        states = sum(min(v.card, NODE_STATES) for v in self.counts.variables[:CLASS])
        return max(1, self.counts.budget // SHARED // (8 * self.counts.variables[CLASS].card * max(1, states)))

    def _divided(self, rows: Counts, nodes: Nodes, level: Positions) -> Nodes:
        """The tree in which these leaves make the best test there is, those that can make one."""
        weights = np.ascontiguousarray(nodes.weights[level].T)
        there = Open(weights, weights.sum(axis=0), self.least, self._logs)
        tests = self._tests(self._tables(rows, nodes, level), there)
        if not tests:
            return nodes
        usual = np.array([self._usual(x) for x in tests])
        chosen = self.choice([test.measured for test in tests.values()], usual | ~usual.any())
        widths = np.array([test.width for test in tests.values()])[chosen[chosen >= 0]]
        self._check_size(len(nodes) + int(widths.sum()))
        return _extended(nodes, level, weights, list(tests), list(tests.values()), chosen)

    def _check_size(self, nodes: int) -> None:
        """Refuse a tree of so many nodes if it exceeds the budget, before it is made."""
        needed = 8 * nodes * (self.counts.variables[CLASS].card + 5)
        if needed > self.counts.budget:
            raise ResourceError(
                f"the tree would have {nodes:,} nodes, which need {needed:,} bytes; the budget is {self.counts.budget:,} bytes: "
                "merge rare states, set `max_depth` or more `min_rows`, or raise `budget=`"
            )

    def _usual(self, x: int) -> bool:
        variable = self.counts.variables[x]
        return (self.binary and variable.numeric) or variable.card < MANY_STATES * self.counts.total - EPSILON

    def _tests(self, counted: Iterator[tuple[list[int], Sequence[Table]]], there: Open) -> dict[int, Test]:
        """The test of every feature at these nodes, in one pass."""
        found: dict[int, Test] = {}
        for features, tables in counted:
            made = _kernels.run_parallel(lambda own: self._test(*own, there), list(zip(features, tables, strict=True)))
            found |= dict(zip(features, made, strict=True))
        return dict(sorted(found.items()))

    def _test(self, x: int, table: Table, there: Open) -> Test:
        variable = self.counts.variables[x]
        if self.binary and variable.numeric:
            return cut_test(table, variable, there)
        return state_test(table, variable.card, there, bool(self.counts.cases.gaps[x]))

    def _tables(self, rows: Counts, nodes: Nodes, level: Positions) -> Iterator[tuple[list[int], Sequence[Table]]]:
        """The tables of features with the class and these nodes, or what occurs of them.  # (class, state, node)"""
        asked, last = informative_features(self.counts), len(self.counts.features)
        if len(nodes) == 1:
            margins = self.counts.margins()
            yield asked, [margins[x, CLASS].T[:, :, None] for x in asked]
            return
        wide = at_nodes(rows, nodes, level)
        orders = [(CLASS, x, last) for x in asked]
        for which, tables in wide.arranged(orders, [wide.cards(order) for order in orders]):
            yield [asked[i] for i in which], list(tables) if isinstance(tables, np.ndarray) else [tables]


def _extended(
    nodes: Nodes, level: Positions, weights: Numbers, features: Sequence[int], tests: Sequence[Test], chosen: Positions
) -> Nodes:
    """The tree with the children that the chosen tests give these leaves."""
    inner = np.flatnonzero(chosen >= 0)
    at, widths = level[inner], np.array([test.width for test in tests])[chosen[inner]]
    firsts = np.cumsum(widths) - widths
    shares = np.zeros(int(widths.sum()))
    below = np.zeros((len(shares), len(weights)))
    lasts = np.full(len(inner), -1)
    for i in np.unique(chosen[inner]).tolist():
        own = np.flatnonzero(chosen[inner] == i)
        lasts[own] = tests[i].lasts(inner[own])
        parts, whole = _completed(tests[i].known(inner[own]), weights[:, inner[own]])
        place = ragged(firsts[own], widths[own])
        shares[place], below[place] = parts, whole
    changed = {name: getattr(nodes, name).copy() for name in ("features", "lasts", "firsts", "widths")}
    asked = np.array(features)[chosen[inner]]
    for name, new in (("features", asked), ("lasts", lasts), ("firsts", firsts + len(nodes)), ("widths", widths)):
        changed[name][at] = new
    return replace(nodes, **changed).joined(Nodes.leaves(below, shares))


def _completed(known: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """The share of each branch, and its class weights with its part of the cases that lack the value, branch by branch."""
    bags = known.sum(axis=0)  # (branch, node)
    parts = bags / bags.sum(axis=0)
    lacking = np.maximum(weights - known.sum(axis=1), 0.0)  # (class, node)
    whole = known + parts * lacking[:, None, :]
    return parts.T.ravel(), whole.transpose(2, 1, 0).reshape(-1, len(weights))
