"""The tests that a node of a classification tree may make, and what they tell about the class."""

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
NEAR_AVERAGE = 1e-3
ROUNDING = 1e-9


class Logs:
    """x log2 x, looked up where x are counts.

    Parameters
    ----------
    total : the largest x there will be.
    """

    LARGEST = 1 << 22

    def __init__(self, total: float) -> None:
        self.most = int(min(total, self.LARGEST)) + 1

    def __call__(self, x: NDArray[Any]) -> Numbers:
        """x log2 x of every number."""
        if x.dtype.kind == "i" and x.size and x.max() < self.most:
            return np.asarray(self._table[x])
        return self._computed(x)

    @cached_property
    def _table(self) -> Numbers:
        return self._computed(np.arange(self.most))

    @staticmethod
    def _computed(x: NDArray[Any]) -> Numbers:
        return np.asarray(x * np.log2(np.where(x > 0, x, 1)))


class Open(NamedTuple):
    """The nodes that are to be divided: the weight of their cases in each class and in all, and x log2 x of what they hold."""

    weights: Numbers  # (class, node)
    totals: Numbers  # (node)
    least: float
    logs: Logs


class Measured(NamedTuple):
    """What one test tells at every node: whether it may be made, its information gain and its gain ratio in bits."""

    allowed: NDArray[np.bool_]
    gain: Numbers
    ratio: Numbers


class Test(Protocol):
    """The test of one feature at every open node."""

    @property
    def measured(self) -> Measured:
        """What it tells."""

    @property
    def width(self) -> int:
        """How many branches it has."""

    def lasts(self, nodes: Positions) -> Positions:
        """The last code of the first branch at these nodes, -1 where every state has a branch."""

    def known(self, nodes: Positions) -> Numbers:
        """The weight of the cases that know the feature in each branch of these nodes.  # (class, branch, node)"""


@dataclass(frozen=True, eq=False)
class States:
    """A branch for every state."""

    measured: Measured
    width: int
    table: CountTable

    def lasts(self, nodes: Positions) -> Positions:
        """No code is the last of a branch."""
        return np.full(len(nodes), -1)

    def known(self, nodes: Positions) -> Numbers:
        """The cells of the table."""
        return np.asarray(self.table.full_at((CLASS, *_axes(self.table)), nodes), np.float64)


@dataclass(frozen=True, eq=False)
class Cut:
    """Two branches: the codes up to some code, and those above."""

    measured: Measured
    last: Positions  # (node)
    left: Numbers  # (class, node)
    right: Numbers
    width: int = 2

    def lasts(self, nodes: Positions) -> Positions:
        """Where the codes are divided."""
        return self.last[nodes]

    def known(self, nodes: Positions) -> Numbers:
        """The cases on both sides."""
        return np.stack([self.left[:, nodes], self.right[:, nodes]], axis=1)


def state_test(table: CountTable, width: int, nodes: Open, gaps: bool) -> States:
    """The test with a branch for every state of a feature, from its table with the class and the nodes.

    Allowed where at least two branches have cases enough. The gain is that of the cases that know the feature, times their part;
    the ratio is the gain over the entropy of the branches, among which those that lack the value are one more.

    Parameters
    ----------
    table : the counts (class, state, node), or those that occur.
    width : how many states there are.
    nodes : the open nodes.
    gaps : whether cases may lack the value.
    """
    logs = nodes.logs
    classes: NDArray[Any]
    if isinstance(table, SparseTable):
        cells, size = _cells(table), len(nodes.totals)
        bags = cells.counts.sum(axis=0)
        large: NDArray[Any] = np.bincount(cells.nodes[bags >= nodes.least - EPSILON], minlength=size)
        classes = np.stack([np.bincount(cells.nodes, own, size) for own in cells.counts])
        inside: NDArray[Any] = np.bincount(cells.nodes, logs(cells.counts).sum(axis=0), size)
        between: NDArray[Any] = np.bincount(cells.nodes, logs(bags), size)
    else:
        n = table.counts
        bags = n.sum(axis=0)
        large = (bags >= nodes.least - EPSILON).sum(axis=0)
        classes = n.sum(axis=1) if gaps else nodes.weights
        inside = logs(n).sum(axis=(0, 1))
        between = logs(bags).sum(axis=0)
    return States(_measured(nodes, large > 1, classes, inside, between), width, table)


def _measured(nodes: Open, allowed: NDArray[np.bool_], classes: NDArray[Any], inside: Numbers, between: Numbers) -> Measured:
    """Gain and ratio from the sums of x log x over branches and classes and over branches."""
    logs, known = nodes.logs, classes.sum(axis=0)
    bits = logs(known) - logs(classes).sum(axis=0) - between + inside
    gain = np.where(bits < EPSILON, 0.0, bits) / nodes.totals
    return Measured(allowed, gain, _ratio(nodes, gain, known, between))


def _ratio(nodes: Open, gain: Numbers, known: Numbers, between: Numbers) -> Numbers:
    split = nodes.logs(nodes.totals) - between - nodes.logs(np.maximum(nodes.totals - known, 0.0))
    return np.where(split < EPSILON, 0.0, gain * nodes.totals / np.where(split < EPSILON, 1.0, split))


class _Cells(NamedTuple):
    """The cells that are not empty: node, then code, and their class weights."""

    nodes: Positions
    codes: Positions
    counts: NDArray[Any]  # (class, cell)


def _axes(table: CountTable) -> tuple[int, int]:
    """The feature, and the column of the nodes, which is the last before the class."""
    x, node = sorted(m for m in table.members if m != CLASS)
    return x, node


def _cells(table: CountTable) -> _Cells:
    """The cells of a table (class, state, node) in increasing order of nodes, then of codes."""
    x, node = _axes(table)
    (nodes, codes), counts = table.occurring((node, x), by=CLASS)
    return _Cells(nodes, codes, np.ascontiguousarray(counts.T))


def cut_test(table: CountTable, variable: Variable, nodes: Open) -> Cut:
    """The best division of an ordered feature in two at each node, from its table with the class and the nodes.

    A side needs a tenth of the cases that know the feature over the number of classes, at least as many as a branch needs and
    at most 25. From the gain of the best division log2 of the number of possible ones over the cases is taken away. A threshold
    is the largest value of all cases that is not above the middle between the two neighbours at the node.

    Parameters
    ----------
    table : the counts (class, state, node), or those that occur.
    variable : the feature.
    nodes : the open nodes.
    """
    size, sides = len(nodes.totals), np.zeros((2, *nodes.weights.shape))
    found = Cut(Measured(np.zeros(size, bool), np.zeros(size), np.zeros(size)), np.full(size, -1), sides[0], sides[1])
    runs = _Runs.of(_cells(table))
    if not len(runs.starts):
        return found
    at, which, gain = runs.best(nodes)
    own = runs.cells.nodes[at]
    left, right = runs.two_sums(at, which)
    some = Open(nodes.weights[:, own], nodes.totals[own], nodes.least, nodes.logs)
    between = nodes.logs(left.sum(axis=0)) + nodes.logs(right.sum(axis=0))
    found.measured.allowed[own] = True
    found.measured.gain[own] = gain
    found.measured.ratio[own] = _ratio(some, gain, (left + right).sum(axis=0), between)
    found.last[own] = _thresholds(variable, runs.cells.codes[at], runs.cells.codes[at + 1])
    found.left[:, own], found.right[:, own] = left, right
    return found


class _Runs(NamedTuple):
    """Cells in runs, one for each node, that can be divided after each of their cells."""

    cells: _Cells
    starts: Positions  # (run)
    run: Positions  # (cell)

    @staticmethod
    def of(cells: _Cells) -> _Runs:
        first = np.diff(cells.nodes, prepend=-1) > 0
        return _Runs(cells, np.flatnonzero(first), np.cumsum(first) - 1)

    def best(self, nodes: Open) -> tuple[Positions, Positions, Numbers]:
        """The cell after which it is best to divide, its run and the gain, of the runs where that gains anything."""
        possible, gain = self._gains(nodes)
        near = np.flatnonzero(possible & (gain >= np.maximum.reduceat(gain, self.starts)[self.run] - EPSILON))
        which, first = np.unique(self.run[near], return_index=True)
        at = near[first]
        tried = np.add.reduceat(possible.astype(np.int64), self.starts)[which]
        left = gain[at] - np.log2(tried) / nodes.totals[self.cells.nodes[at]]
        good = (gain[at] > EPSILON) & (left > EPSILON)
        return at[good], which[good], left[good]

    def _gains(self, nodes: Open) -> tuple[NDArray[np.bool_], Numbers]:
        """Whether the cells may be divided after each cell, and what that gains; -1 where they may not."""
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

    def two_sums(self, at: Positions, which: Positions) -> tuple[NDArray[Any], NDArray[Any]]:
        """The class weights of some runs up to a cell and above it, each run summed by itself, whatever lies before."""
        padded = np.concatenate([self.cells.counts, np.zeros_like(self.cells.counts[:, :1])], axis=1)
        bounds = np.stack([self.starts[which], at + 1, self._ends()[which]], axis=1)
        sums = np.add.reduceat(padded, bounds.ravel(), axis=1)
        return sums[:, 0::3], sums[:, 1::3]


def _thresholds(variable: Variable, below: Positions, above: Positions) -> Positions:
    """The last code of the lower branch, where these are the neighbours that are to be divided."""
    cuts = np.array(variable.cuts)
    inner = above < len(cuts)
    low, high = cuts[below[inner]], cuts[above[inner]]
    middle = low / 2 + high / 2 + ROUNDING * (high / 2 - low / 2)
    found = np.where(above < variable.known, below, variable.known - 1)  # "missing" is a state above all numbers
    found[inner] = np.clip(np.searchsorted(cuts, middle, side="right") - 1, below[inner], above[inner] - 1)
    return found


Choice = Callable[[Sequence[Measured], NDArray[np.bool_]], Positions]
"""What the tests of all features tell, and which count for the average, to the feature of each node; -1 for none."""


def greatest_gain(tests: Sequence[Measured], usual: NDArray[np.bool_]) -> Positions:  # noqa: ARG001
    """The feature with the largest information gain, as in ID3; a gain of nothing is a gain."""
    gain = np.stack([np.where(test.allowed, test.gain, -1.0) for test in tests])
    return _first_best(gain, gain.max(axis=0) >= 0)


def greatest_ratio(tests: Sequence[Measured], usual: NDArray[np.bool_]) -> Positions:
    """The feature with the largest gain ratio among those whose gain is at least average, as in C4.5.

    Features of nearly as many states as there are cases do not count for the average, unless there are no others.
    """
    allowed, gain = np.stack([test.allowed for test in tests]), np.stack([test.gain for test in tests])
    counted = allowed & usual[:, None]
    number = counted.sum(axis=0)
    average = np.where(counted, gain, 0.0).sum(axis=0) / np.maximum(number, 1)
    ratio = np.where(allowed & (gain >= average - NEAR_AVERAGE), np.stack([test.ratio for test in tests]), 0.0)
    return _first_best(ratio, (ratio.max(axis=0) > EPSILON) & (number > 0))


def _first_best(values: Numbers, some: NDArray[np.bool_]) -> Positions:
    """The first feature that is as good as the best, -1 where there is none."""
    return np.where(some, np.argmax(values >= values.max(axis=0) - EPSILON, axis=0), -1)
