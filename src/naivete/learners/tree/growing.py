"""Growing classification trees level by level from tables of counts."""

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
"""Features with at least this many states for each case are left out of the average gain of C4.5."""
NODE_STATES = 64
"""About how many states of a feature occur at a node at most, to estimate the size of its tables."""
BUDGET_SHARE = 16
"""The tables of the nodes that are split together need at most this part of the budget."""
MANY_NODES = 1 << 12
"""Rows in memory are sorted by their nodes once the tree has more nodes than this."""


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows a classification tree.

    Parameters
    ----------
    counts : the training cases.
    choice : the rule that chooses the split of a node.
    max_depth : the largest number of splits on a path, None for no limit.
    min_split : the weight that a node needs to be split.
    min_branch : the weight that at least two branches of a split need.
    binary : whether numeric features are split in two.
    """

    counts: Counts
    choice: Choice
    max_depth: int | None
    min_split: float
    min_branch: float
    binary: bool

    def grown(self) -> tuple[Nodes, Counts]:
        """Return the tree before pruning, and the cases, perhaps sorted by their nodes."""
        rows, nodes = self.counts, Nodes.leaves(self.counts.margins()[CLASS,].astype(np.float64)[None], np.ones(1))
        level, depth = np.zeros(1, np.int64), 0
        while self.max_depth is None or depth < self.max_depth:
            level = level[self._can_be_split(nodes, level)]
            if not len(level):
                break
            if rows is self.counts and len(nodes) > MANY_NODES:
                rows = grouped(rows, nodes)
            children = []
            for batch in np.array_split(level, -(-len(level) // self._batch_size())):
                before = len(nodes)
                nodes = self._split(rows, nodes, batch)
                children.append(np.arange(before, len(nodes)))
            level, depth = np.concatenate(children), depth + 1
        return nodes, rows

    @cached_property
    def _logs(self) -> Logs:
        return Logs(self.counts.total)

    def _can_be_split(self, nodes: Nodes, level: Positions) -> NDArray[np.bool_]:
        """Return which nodes have enough cases, of more than one class."""
        weights = nodes.weights[level]
        totals = weights.sum(axis=1)
        return np.asarray((totals >= self.min_split - EPSILON) & (totals - weights.max(axis=1) >= EPSILON))

    def _batch_size(self) -> int:
        """Return how many nodes are split together, so that the tables of all features fit a part of the budget."""
        states = sum(min(v.card, NODE_STATES) for v in self.counts.variables[:CLASS])
        return max(1, self.counts.budget // BUDGET_SHARE // (8 * self.counts.variables[CLASS].card * max(1, states)))

    def _split(self, rows: Counts, nodes: Nodes, level: Positions) -> Nodes:
        """Return the tree in which these leaves are split by their best tests; leaves without an allowed test stay leaves."""
        weights = np.ascontiguousarray(nodes.weights[level].T)
        open_nodes = Open(weights, weights.sum(axis=0), self.min_branch, self._logs)
        tests = self._tests(self._tables(rows, nodes, level), open_nodes)
        if not tests:
            return nodes
        counted = np.array([self._counts_for_average(x) for x in tests])
        chosen = self.choice([test.measured for test in tests.values()], counted | ~counted.any())
        widths = np.array([test.width for test in tests.values()])[chosen[chosen >= 0]]
        self._check_size(len(nodes) + int(widths.sum()))
        return _extended(nodes, level, weights, list(tests), list(tests.values()), chosen)

    def _check_size(self, nodes: int) -> None:
        """Refuse a tree of `nodes` nodes, before it is made, if it exceeds the budget."""
        needed = 8 * nodes * (self.counts.variables[CLASS].card + 5)
        if needed > self.counts.budget:
            raise ResourceError(
                f"the tree would have {nodes:,} nodes, which need {needed:,} bytes; the budget is {self.counts.budget:,} bytes: "
                "merge rare states, set `max_depth` or more `min_rows`, or raise `budget=`"
            )

    def _counts_for_average(self, x: int) -> bool:
        variable = self.counts.variables[x]
        return (self.binary and variable.numeric) or variable.card < MANY_STATES * self.counts.total - EPSILON

    def _tests(self, counted: Iterator[tuple[list[int], Sequence[CountTable]]], nodes: Open) -> dict[int, Test]:
        """Return the test of every feature at these nodes, in one pass."""
        tests: dict[int, Test] = {}
        for features, tables in counted:
            new = _kernels.run_parallel(lambda pair: self._test(*pair, nodes), list(zip(features, tables, strict=True)))
            tests |= dict(zip(features, new, strict=True))
        return dict(sorted(tests.items()))

    def _test(self, x: int, table: CountTable, nodes: Open) -> Test:
        variable = self.counts.variables[x]
        if self.binary and variable.numeric:
            return cut_test(table, variable, nodes)
        return state_test(table, variable.card, nodes, bool(self.counts.cases.has_missing[x]))

    def _tables(self, rows: Counts, nodes: Nodes, level: Positions) -> Iterator[tuple[list[int], Sequence[CountTable]]]:
        """The counts of the features with the class and these nodes, dense or sparse.  # (class, state, node)"""
        features, last = informative_features(self.counts), len(self.counts.features)
        if len(nodes) == 1:
            margins = self.counts.margins()
            yield features, [DenseTable((CLASS, x, last), margins[x, CLASS].T[:, :, None]) for x in features]
            return
        wide = at_nodes(rows, nodes, level)
        orders = [(CLASS, x, last) for x in features]
        for which, tables in wide.table_stacks(orders, [wide.cards(order) for order in orders]):
            yield [features[i] for i in which], tables.tables()


def _extended(
    nodes: Nodes, level: Positions, weights: Numbers, features: Sequence[int], tests: Sequence[Test], chosen: Positions
) -> Nodes:
    """Return the tree with the children that the chosen tests give these leaves."""
    inner = np.flatnonzero(chosen >= 0)
    split_nodes, widths = level[inner], np.array([test.width for test in tests])[chosen[inner]]
    firsts = np.cumsum(widths) - widths
    shares = np.zeros(int(widths.sum()))
    below = np.zeros((len(shares), len(weights)))
    lasts = np.full(len(inner), -1)
    for i in np.unique(chosen[inner]).tolist():
        same_test = np.flatnonzero(chosen[inner] == i)
        lasts[same_test] = tests[i].lasts(inner[same_test])
        children = ragged(firsts[same_test], widths[same_test])
        shares[children], below[children] = _completed(tests[i].known(inner[same_test]), weights[:, inner[same_test]])
    changed = {name: getattr(nodes, name).copy() for name in ("features", "lasts", "firsts", "widths")}
    split_features = np.array(features)[chosen[inner]]
    for name, new in (("features", split_features), ("lasts", lasts), ("firsts", firsts + len(nodes)), ("widths", widths)):
        changed[name][split_nodes] = new
    return replace(nodes, **changed).joined(Nodes.leaves(below, shares))


def _completed(known: Numbers, weights: Numbers) -> tuple[Numbers, Numbers]:
    """Return the share of each branch, and its class weights including its share of the cases in which the value is missing."""
    sizes = known.sum(axis=0)  # (branch, node)
    shares = sizes / sizes.sum(axis=0)
    missing = np.maximum(weights - known.sum(axis=1), 0.0)  # (class, node)
    whole = known + shares * missing[:, None, :]
    return shares.T.ravel(), whole.transpose(2, 1, 0).reshape(-1, len(weights))
