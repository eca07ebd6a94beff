"""Classification trees: ID3 and C4.5, grown level by level from tables of counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.counts.counts import Counts, informative_features
from naivete.counts.tables import CountTable, DenseTable
from naivete.errors import ResourceError
from naivete.learners.tree.nodes import EPSILON, Nodes, Numbers, Positions, at_nodes, grouped, ragged
from naivete.learners.tree.splits import Choice, Logs, Open, Test, cut_test, state_test
from naivete.variables import CLASS

__all__ = ["Grower"]

MANY_STATES = 0.3
NODE_STATES = 64
SHARED = 16
MANY_NODES = 1 << 12


@dataclass(frozen=True, eq=False)
class Grower:
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

    def _tests(self, counted: Iterator[tuple[list[int], Sequence[CountTable]]], there: Open) -> dict[int, Test]:
        """The test of every feature at these nodes, in one pass."""
        found: dict[int, Test] = {}
        for features, tables in counted:
            made = _kernels.run_parallel(lambda own: self._test(*own, there), list(zip(features, tables, strict=True)))
            found |= dict(zip(features, made, strict=True))
        return dict(sorted(found.items()))

    def _test(self, x: int, table: CountTable, there: Open) -> Test:
        variable = self.counts.variables[x]
        if self.binary and variable.numeric:
            return cut_test(table, variable, there)
        return state_test(table, variable.card, there, bool(self.counts.cases.gaps[x]))

    def _tables(self, rows: Counts, nodes: Nodes, level: Positions) -> Iterator[tuple[list[int], Sequence[CountTable]]]:
        """The tables of features with the class and these nodes, or what occurs of them.  # (class, state, node)"""
        asked, last = informative_features(self.counts), len(self.counts.features)
        if len(nodes) == 1:
            margins = self.counts.margins()
            yield asked, [DenseTable((CLASS, x, last), margins[x, CLASS].T[:, :, None]) for x in asked]
            return
        wide = at_nodes(rows, nodes, level)
        orders = [(CLASS, x, last) for x in asked]
        for which, tables in wide.arranged(orders, [wide.cards(order) for order in orders]):
            yield [asked[i] for i in which], tables.tables()


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
