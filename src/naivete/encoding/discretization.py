"""Discretization: the cut points of one numeric column, from the weight of each class at each of its distinct values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.errors import ParameterError, quoted

__all__ = ["FLOOR", "Cut", "EqualFrequency", "EqualWidth", "distinct", "mdl", "mdl_of_columns", "normal_is_better"]

FLOOR = 1e-3
"""The smallest variance of a continuous feature in a class, as a share of the variance of the column."""
Cut = Callable[[Numbers, Numbers], tuple[float, ...]]
"""A function from distinct increasing values and the weight of each class at each of them (value, class) to cut points."""


def mdl(values: Numbers, table: Numbers) -> tuple[float, ...]:
    """Return the cut points of Fayyad and Irani: split where the class entropy falls most, while that shortens the description.

    A split of N cases into two parts is accepted if the information gain exceeds
    (log2(N - 1) + log2(3^k - 2) - k H + k1 H1 + k2 H2) / N, with k, k1, k2 the classes present and H, H1, H2 the class
    entropies of the whole and the parts. A weight of two counts as two cases.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The distinct values of a column, increasing.
    table : ndarray of shape (n_values, n_classes)
        The weight of each value in each class.

    Returns
    -------
    tuple of float
        The cut points, increasing; none where no split shortens the description.

    References
    ----------
    Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes, sections 3 and 4.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import mdl
    >>> mdl(np.array([1.0, 2.0, 3.0, 4.0]), np.array([[9.0, 0.0], [9.0, 0.0], [0.0, 9.0], [0.0, 9.0]]))
    (2.5,)
    """
    return mdl_of_columns([(values, table)])[0]


def mdl_of_columns(columns: Sequence[tuple[Numbers, Numbers]]) -> list[tuple[float, ...]]:
    """Return the cut points `mdl` of several columns; the intervals of all of them are split together, which takes less time.

    Parameters
    ----------
    columns : the distinct values of each column, increasing, and the weight of each class at each value.  # (value, class)
    """
    below = [np.vstack([np.zeros(table.shape[1]), np.cumsum(table, axis=0, dtype=np.float64)]) for _, table in columns]
    cuts: list[list[float]] = [[] for _ in columns]
    intervals = [(x, 0, len(values)) for x, (values, _) in enumerate(columns)]
    while intervals:
        splits = _best_splits([below[x][start : stop + 1] for x, start, stop in intervals])
        divided = [(x, start, start + split, stop) for (x, start, stop), split in zip(intervals, splits, strict=True) if split]
        for x, _, split, _ in divided:
            cuts[x].append(midpoint(columns[x][0][split - 1], columns[x][0][split]))
        intervals = [(x, a, b) for x, start, split, stop in divided for a, b in ((start, split), (split, stop))]
    return [tuple(sorted(points)) for points in cuts]


def _best_splits(intervals: Sequence[Numbers]) -> list[int]:
    """Return the position of the best split of each interval, 0 where no split is accepted.

    Parameters
    ----------
    intervals : the weight of each class below each position of an interval.  # (position, class)
    """
    result = [0] * len(intervals)
    used = [i for i, below in enumerate(intervals) if len(below) >= 3 and (below[-1] - below[0]).sum() > 1]
    if not used:
        return result
    whole = np.stack([intervals[i][-1] - intervals[i][0] for i in used])  # (interval, class)
    total = whole.sum(axis=1)
    sizes = np.array([len(intervals[i]) - 2 for i in used])
    first, owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(used)), sizes)
    left = np.concatenate([intervals[i][1:-1] - intervals[i][0] for i in used])  # (split, class)
    expected = (_weighted_entropy(left) + _weighted_entropy(whole[owner] - left)) / total[owner]
    smallest = np.flatnonzero(expected == np.minimum.reduceat(expected, first)[owner])
    best = smallest[np.searchsorted(smallest, first)]
    sides = np.stack([whole, left[best], whole - left[best]], axis=1)  # (interval, side, class)
    classes = np.count_nonzero(sides > 0, axis=2).tolist()
    entropies = (_weighted_entropy(sides) / np.maximum(sides.sum(axis=2), 1e-300)).tolist()
    for j, i in enumerate(used):
        k, (h, h1, h2) = classes[j], entropies[j]
        choices = np.log2(3.0 ** k[0] - 2) if k[0] < 600 else k[0] * np.log2(3.0)
        penalty = choices - k[0] * h + k[1] * h1 + k[2] * h2
        if h - expected[best[j]] > max(0.0, (np.log2(total[j] - 1) + penalty) / total[j]):
            result[i] = int(best[j] - first[j]) + 1
    return result


def _weighted_entropy(table: Numbers) -> Numbers:
    """Return the weight times the class entropy in bits, over the last axis."""
    total = table.sum(axis=-1)
    return np.asarray(_xlogx(total) - _xlogx(table).sum(axis=-1))


def _xlogx(x: Numbers) -> Numbers:
    x = np.asarray(x, np.float64)
    return x * np.log2(np.where(x > 0, x, 1.0))


def midpoint(low: float, high: float) -> float:
    """Return a cut point between two neighboring values: at least `low`, below `high`, halfway if floats allow it."""
    middle = float(low / 2 + high / 2)
    return middle if low <= middle < high else float(low)


def distinct(values: Numbers, table: Numbers) -> tuple[float, ...]:  # noqa: ARG001
    """Return a cut point at every value, so that a tree can choose its thresholds among the values, as C4.5 does.

    The last interval, above all values, is empty.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The distinct values of a column, increasing.
    table : ndarray of shape (n_values, n_classes)
        The weight of each value in each class.

    Returns
    -------
    tuple of float
        The cut points, increasing.

    References
    ----------
    Quinlan (1993), C4.5: programs for machine learning.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import distinct
    >>> distinct(np.array([1.0, 2.0]), np.array([[1.0], [1.0]]))
    (1.0, 2.0)
    """
    return tuple(values.tolist())


@dataclass(frozen=True)
class EqualFrequency:
    """Discretize into at most `bins` intervals of about the same weight.

    It is a function of the distinct values of a column and their weights in each class, which returns the cut points.

    Parameters
    ----------
    bins : int, default=10
        The most intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import EqualFrequency
    >>> EqualFrequency(2)(np.array([1.0, 2.0, 3.0]), np.array([[1.0], [1.0], [2.0]]))
    (2.5,)
    """

    bins: int = 10

    def __call__(self, values: Numbers, table: Numbers) -> tuple[float, ...]:
        """Return the cut points."""
        check_bins(self.bins)
        cumulative = np.cumsum(table.sum(axis=1))
        quantiles = cumulative[-1] * np.arange(1, self.bins) / self.bins if len(cumulative) else np.empty(0)
        after = np.unique(np.searchsorted(cumulative[:-1], quantiles * (1 - 1e-12)))
        low, high = values[after[after + 1 < len(values)]], values[after[after + 1 < len(values)] + 1]
        middle = low / 2 + high / 2
        return tuple(np.where((low <= middle) & (middle < high), middle, low).tolist())  # as `midpoint`


@dataclass(frozen=True)
class EqualWidth:
    """Discretize the range of the values into `bins` intervals of the same width.

    It is a function of the distinct values of a column and their weights in each class, which returns the cut points.

    Parameters
    ----------
    bins : int, default=10
        The number of intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import EqualWidth
    >>> EqualWidth(4)(np.array([0.0, 8.0]), np.array([[1.0], [1.0]]))
    (2.0, 4.0, 6.0)
    """

    bins: int = 10

    def __call__(self, values: Numbers, table: Numbers) -> tuple[float, ...]:  # noqa: ARG002
        """Return the cut points."""
        check_bins(self.bins)
        if len(values) < 2:
            return ()
        share = np.arange(1, self.bins) / self.bins
        inner = np.unique(values[0] * (1 - share) + values[-1] * share)
        return tuple(inner[(inner >= values[0]) & (inner < values[-1])].tolist())


def check_bins(bins: object) -> None:
    """Refuse a number of intervals below one."""
    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool) or bins < 1:
        raise ParameterError(f"bins={quoted(bins)}: the number of intervals is a whole number, at least 1")


def normal_is_better(values: Numbers, table: Numbers, cuts: Sequence[float]) -> bool:
    """Return whether a normal density in each class predicts the class better than the intervals do.

    The two are compared by the sum of log P(class | value) over the cases, by leave-one-out, in a naive Bayes classifier with
    this feature only; the table of the intervals has a pseudo-count of one.

    Parameters
    ----------
    values : distinct increasing values.
    table : the weight of each class at each value.  # (value, class)
    cuts : the cut points of the intervals.

    >>> bell = np.array([[1, 0], [4, 0], [6, 0], [4, 1], [1, 1], [1, 4], [0, 6], [0, 4], [0, 1]])
    >>> normal_is_better(np.arange(9.0), bell, (3.5,))
    True
    >>> comb = np.array([[9, 0], [0, 9], [9, 0], [0, 9], [9, 0]])
    >>> normal_is_better(np.arange(5.0), comb, (0.5, 1.5, 2.5, 3.5))
    False
    """
    return _left_out(*_normal_logs(values, table), table) > _left_out(*_interval_logs(values, table, cuts), table)


def _left_out(without: Numbers, every: Numbers, table: NDArray[Any]) -> float:
    """Return the sum of log P(true class | value) over the cases, each left out of the estimates of its class.

    Parameters
    ----------
    without : log P(value | class) estimated without one case of that value and class.  # (value, class)
    every : the same estimated from all cases.  # (value, class)
    table : the weight of each class at each value.  # (value, class)
    """
    prior = table.sum(axis=0)
    with np.errstate(divide="ignore"):
        every = every + np.log(prior)
        without = without + np.log(np.maximum(prior - 1, 0))
    total = 0.0
    for c in range(table.shape[1]):
        rows = np.flatnonzero(table[:, c])
        logs = every[rows]
        logs[:, c] = without[rows, c]
        finite = np.isfinite(logs[:, c])
        logs, weight = logs[finite], table[rows[finite], c]
        total += float(weight @ (logs[:, c] - np.logaddexp.reduce(logs, axis=1)))
    return total


def _normal_logs(values: Numbers, table: NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Return the log density of each value in each class, without one case of that value and with all.  # (value, class)"""
    n = table.sum(axis=0).astype(np.float64)
    mean = (values @ table) / np.maximum(n, 1)
    deviation = values[:, None] - mean
    squares = (deviation**2 * table).sum(axis=0)
    center = float(values @ table.sum(axis=1) / n.sum())
    whole = float((values - center) ** 2 @ table.sum(axis=1) / n.sum()) or 1.0
    fewer = np.maximum(n - 1, 1)
    less = np.where(n > 1, np.maximum((squares - deviation**2 * n / fewer) / fewer, FLOOR * whole), whole)
    every = np.where(n > 1, np.maximum(squares / np.maximum(n, 1), FLOOR * whole), whole)
    return _log_normal(deviation * n / fewer, less), _log_normal(deviation, np.broadcast_to(every, deviation.shape))


def _log_normal(deviation: Numbers, variance: Numbers) -> Numbers:
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + deviation**2 / variance))


def _interval_logs(values: Numbers, table: NDArray[Any], cuts: Sequence[float]) -> tuple[Numbers, Numbers]:
    """Return the log probability of the interval of each value in each class, without one case of that value and with all."""
    interval = np.searchsorted(np.asarray(cuts), values, side="left")
    n = np.zeros((len(cuts) + 1, table.shape[1]))
    np.add.at(n, interval, table)
    total = n.sum(axis=0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(n[interval], 0) / (total - 1 + len(n))), np.log((n[interval] + 1) / (total + len(n)))
