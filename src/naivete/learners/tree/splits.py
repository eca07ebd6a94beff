"""The tests by which a node of a classification tree can be split, with their information gains and gain ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from naivete.counts.tables import CountTable, SparseTable
from naivete.learners.tree.nodes import EPSILON, Numbers, Positions
from naivete.variables import CLASS, Variable

__all__ = ["Choice", "Logs", "Measured", "Open", "Test", "cut_test", "greatest_gain", "greatest_ratio", "state_test"]

MOST_SPLIT = 25.0
SPLIT_PART = 0.1
"""A side of a numeric split needs SPLIT_PART of the cases over the number of classes, but at most MOST_SPLIT (C4.5)."""
NEAR_AVERAGE = 1e-3
"""A gain counts as average if it is at most this much smaller."""
ROUNDING = 1e-9
"""By how much thresholds are moved, relative to the distance of the neighbors, to correct rounding."""


class Logs:
    """x log2 x, from a table where x are counts.

    Parameters
    ----------
    total : the largest x.
    """

    LARGEST = 1 << 22

    def __init__(self, total: float) -> None:
        self.size = int(min(total, self.LARGEST)) + 1

    def __call__(self, x: NDArray[Any]) -> Numbers:
        """Return x log2 x of every number."""
        if x.dtype.kind == "i" and x.size and x.max() < self.size:
            return np.asarray(self._table[x])
        return self._computed(x)

    @cached_property
    def _table(self) -> Numbers:
        return self._computed(np.arange(self.size))

    @staticmethod
    def _computed(x: NDArray[Any]) -> Numbers:
        return np.asarray(x * np.log2(np.where(x > 0, x, 1)))


class Open(NamedTuple):
    """The nodes that are to be split: the weights of their cases by class and in total, the smallest branch, and x log2 x."""

    weights: Numbers  # (class, node)
    totals: Numbers  # (node)
    least: float
    logs: Logs


class Measured(NamedTuple):
    """Whether a test is allowed at each node, its information gain and its gain ratio in bits."""

    allowed: NDArray[np.bool_]
    gain: Numbers
    ratio: Numbers


class Test(Protocol):
    """The test of one feature at every open node."""

    @property
    def measured(self) -> Measured:
        """Its gain and gain ratio."""

    @property
    def width(self) -> int:
        """The number of branches."""

    def lasts(self, nodes: Positions) -> Positions:
        """Return the last code of the first of two branches at these nodes, -1 where every state has a branch."""

    def known(self, nodes: Positions) -> Numbers:
        """Return the weights of the cases in which the feature is observed, by branch.  # (class, branch, node)"""


@dataclass(frozen=True, eq=False)
class States:
    """The test with a branch for every state."""

    measured: Measured
    width: int
    table: CountTable

    def lasts(self, nodes: Positions) -> Positions:
        """Return -1 for every node."""
        return np.full(len(nodes), -1)

    def known(self, nodes: Positions) -> Numbers:
        """Return the cells of the table."""
        return np.asarray(self.table.full_at((CLASS, *_axes(self.table)), nodes), np.float64)


@dataclass(frozen=True, eq=False)
class Cut:
    """The test with two branches: the codes up to some code, and those above."""

    measured: Measured
    last: Positions  # (node)
    left: Numbers  # (class, node)
    right: Numbers
    width: int = 2

    def lasts(self, nodes: Positions) -> Positions:
        """Return the last code of the lower branch."""
        return self.last[nodes]

    def known(self, nodes: Positions) -> Numbers:
        """Return the weights of both branches."""
        return np.stack([self.left[:, nodes], self.right[:, nodes]], axis=1)


def state_test(table: CountTable, width: int, nodes: Open, has_missing: bool) -> States:
    """Return the test with a branch for every state of a feature, from its counts with the class and the nodes.

    It is allowed where at least two branches have enough cases. The gain is that of the cases in which the feature is observed,
    times their share; the ratio is the gain over the entropy of the branches, with the cases in which the value is missing as one
    more branch.

    Parameters
    ----------
    table : the counts (class, state, node), dense or sparse.
    width : the number of states.
    nodes : the nodes that are to be split.
    has_missing : whether the feature has missing values.
    """
    logs = nodes.logs
    classes: NDArray[Any]
    if isinstance(table, SparseTable):
        cells, size = _cells(table), len(nodes.totals)
        sizes = cells.counts.sum(axis=0)
        large: NDArray[Any] = np.bincount(cells.nodes[sizes >= nodes.least - EPSILON], minlength=size)
        classes = np.stack([np.bincount(cells.nodes, weights, size) for weights in cells.counts])
        inside: NDArray[Any] = np.bincount(cells.nodes, logs(cells.counts).sum(axis=0), size)
        between: NDArray[Any] = np.bincount(cells.nodes, logs(sizes), size)
    else:
        n = table.counts
        sizes = n.sum(axis=0)
        large = (sizes >= nodes.least - EPSILON).sum(axis=0)
        classes = n.sum(axis=1) if has_missing else nodes.weights
        inside = logs(n).sum(axis=(0, 1))
        between = logs(sizes).sum(axis=0)
    return States(_measured(nodes, large > 1, classes, inside, between), width, table)


def _measured(nodes: Open, allowed: NDArray[np.bool_], classes: NDArray[Any], inside: Numbers, between: Numbers) -> Measured:
    """Return gain and ratio, given the sums of x log2 x over branches and classes (inside) and over branches (between)."""
    logs, known = nodes.logs, classes.sum(axis=0)
    bits = logs(known) - logs(classes).sum(axis=0) - between + inside
    gain = np.where(bits < EPSILON, 0.0, bits) / nodes.totals
    return Measured(allowed, gain, _ratio(nodes, gain, known, between))


def _ratio(nodes: Open, gain: Numbers, known: Numbers, between: Numbers) -> Numbers:
    split = nodes.logs(nodes.totals) - between - nodes.logs(np.maximum(nodes.totals - known, 0.0))
    return np.where(split < EPSILON, 0.0, gain * nodes.totals / np.where(split < EPSILON, 1.0, split))


class _Cells(NamedTuple):
    """The cells that are not empty, in order of nodes, then of codes, and their class weights."""

    nodes: Positions
    codes: Positions
    counts: NDArray[Any]  # (class, cell)


def _axes(table: CountTable) -> tuple[int, int]:
    """Return the feature, and the column of the nodes, which is the last before the class."""
    x, node = sorted(m for m in table.members if m != CLASS)
    return x, node


def _cells(table: CountTable) -> _Cells:
    """Return the cells of a table (class, state, node) in increasing order of nodes, then of codes."""
    x, node = _axes(table)
    (nodes, codes), counts = table.occurring((node, x), by=CLASS)
    return _Cells(nodes, codes, np.ascontiguousarray(counts.T))


def cut_test(table: CountTable, variable: Variable, nodes: Open) -> Cut:
    """Return the best split of an ordered feature in two at each node, from its counts with the class and the nodes.

    A side needs a tenth of the cases in which the feature is observed over the number of classes, but at least as many as any
    branch and at most 25. The gain is reduced by log2 of the number of possible splits over the number of cases. A threshold is
    the largest value of all cases that is not above the middle between the two neighbors at the node.

    Parameters
    ----------
    table : the counts (class, state, node), dense or sparse.
    variable : the feature.
    nodes : the nodes that are to be split.

    References
    ----------
    Quinlan (1996), Improved use of continuous attributes in C4.5, section 2.
    """
    size, sides = len(nodes.totals), np.zeros((2, *nodes.weights.shape))
    result = Cut(Measured(np.zeros(size, bool), np.zeros(size), np.zeros(size)), np.full(size, -1), sides[0], sides[1])
    runs = _Runs.of(_cells(table))
    if not len(runs.starts):
        return result
    cell, which, gain = runs.best(nodes)
    node = runs.cells.nodes[cell]
    left, right = runs.two_sums(cell, which)
    some = Open(nodes.weights[:, node], nodes.totals[node], nodes.least, nodes.logs)
    between = nodes.logs(left.sum(axis=0)) + nodes.logs(right.sum(axis=0))
    result.measured.allowed[node] = True
    result.measured.gain[node] = gain
    result.measured.ratio[node] = _ratio(some, gain, (left + right).sum(axis=0), between)
    result.last[node] = _thresholds(variable, runs.cells.codes[cell], runs.cells.codes[cell + 1])
    result.left[:, node], result.right[:, node] = left, right
    return result


class _Runs(NamedTuple):
    """The cells in runs, one for each node, that can be split after each of their cells."""

    cells: _Cells
    starts: Positions  # (run)
    run: Positions  # (cell)

    @staticmethod
    def of(cells: _Cells) -> _Runs:
        first = np.diff(cells.nodes, prepend=-1) > 0
        return _Runs(cells, np.flatnonzero(first), np.cumsum(first) - 1)

    def best(self, nodes: Open) -> tuple[Positions, Positions, Numbers]:
        """Return the cell after which a split is best, its run and the gain, for the runs with a positive gain."""
        possible, gain = self._gains(nodes)
        near = np.flatnonzero(possible & (gain >= np.maximum.reduceat(gain, self.starts)[self.run] - EPSILON))
        which, first = np.unique(self.run[near], return_index=True)
        cell = near[first]
        tried = np.add.reduceat(possible.astype(np.int64), self.starts)[which]
        net = gain[cell] - np.log2(tried) / nodes.totals[self.cells.nodes[cell]]
        good = (gain[cell] > EPSILON) & (net > EPSILON)
        return cell[good], which[good], net[good]

    def _gains(self, nodes: Open) -> tuple[NDArray[np.bool_], Numbers]:
        """Return whether a split after each cell is allowed, and its gain; -1 where it is not."""
        counts, logs = self.cells.counts, nodes.logs
        upto = np.cumsum(counts, axis=1)
        left = upto - (upto[:, self.starts] - counts[:, self.starts])[:, self.run]
        whole = left[:, self._ends() - 1]
        right = whole[:, self.run] - left
        below, above, known = left.sum(axis=0), right.sum(axis=0), whole.sum(axis=0)
        least = np.clip(SPLIT_PART * known / len(counts), nodes.least, max(MOST_SPLIT, nodes.least))[self.run] - EPSILON
        possible = (below >= least) & (above >= least)
        before = logs(known) - logs(whole).sum(axis=0)
        bits = before[self.run] - logs(below) - logs(above) + logs(left).sum(axis=0) + logs(right).sum(axis=0)
        gain = np.where(bits < EPSILON, 0.0, bits) / nodes.totals[self.cells.nodes]
        return possible, np.where(possible, gain, -1.0)

    def _ends(self) -> Positions:
        return np.append(self.starts[1:], len(self.run))

    def two_sums(self, cell: Positions, which: Positions) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the class weights of some runs up to a cell and above it, each run summed separately."""
        padded = np.concatenate([self.cells.counts, np.zeros_like(self.cells.counts[:, :1])], axis=1)
        bounds = np.stack([self.starts[which], cell + 1, self._ends()[which]], axis=1)
        sums = np.add.reduceat(padded, bounds.ravel(), axis=1)
        return sums[:, 0::3], sums[:, 1::3]


def _thresholds(variable: Variable, below: Positions, above: Positions) -> Positions:
    """Return the last code of the lower branch for a split between two neighboring codes."""
    cuts = np.array(variable.cuts)
    inner = above < len(cuts)
    low, high = cuts[below[inner]], cuts[above[inner]]
    middle = low / 2 + high / 2 + ROUNDING * (high / 2 - low / 2)
    last = np.where(above < variable.known, below, variable.known - 1)  # "missing" is a state above all numbers
    last[inner] = np.clip(np.searchsorted(cuts, middle, side="right") - 1, below[inner], above[inner] - 1)
    return last


Choice = Callable[[Sequence[Measured], NDArray[np.bool_]], Positions]
"""A function from the tests of all features, and which of them count for the average, to the test of each node, -1 for none."""


def greatest_gain(tests: Sequence[Measured], counted: NDArray[np.bool_]) -> Positions:  # noqa: ARG001
    """Choose the test with the largest information gain, as in ID3; a gain of zero is allowed."""
    gain = np.stack([np.where(test.allowed, test.gain, -1.0) for test in tests])
    return _first_best(gain, gain.max(axis=0) >= 0)


def greatest_ratio(tests: Sequence[Measured], counted: NDArray[np.bool_]) -> Positions:
    """Choose the test with the largest gain ratio among those whose gain is at least average, as in C4.5.

    Features with nearly as many states as cases do not count for the average, unless there are no others.
    """
    allowed, gain = np.stack([test.allowed for test in tests]), np.stack([test.gain for test in tests])
    averaged = allowed & counted[:, None]
    number = averaged.sum(axis=0)
    average = np.where(averaged, gain, 0.0).sum(axis=0) / np.maximum(number, 1)
    ratio = np.where(allowed & (gain >= average - NEAR_AVERAGE), np.stack([test.ratio for test in tests]), 0.0)
    return _first_best(ratio, (ratio.max(axis=0) > EPSILON) & (number > 0))


def _first_best(values: Numbers, some: NDArray[np.bool_]) -> Positions:
    """Return the first test that is as good as the best, -1 where there is none."""
    return np.where(some, np.argmax(values >= values.max(axis=0) - EPSILON, axis=0), -1)
