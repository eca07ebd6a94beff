"""Estimation of sparse tables of variables with so many states that only those that occur are stored; see `CompressedRows`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete.counts.configurations import grouped_rows
from naivete.counts.tables import SparseTable
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.smoothing import DISCOUNT, Backoff, ClarkNiblett, Lidstone, MEstimate, Smoothing, backoff_table, normalized
from naivete.variables import CLASS

__all__ = ["Entries", "compressed_cpt", "entries_of"]


@dataclass(frozen=True, eq=False)
class Entries:
    """The counts of the states of x that occur in the configurations of its feature parents.

    Parameters
    ----------
    parents : the feature parents, increasing.
    configurations : the codes of the parents of each configuration that occurs, in increasing order.  # (configuration, parent)
    starts : the first entry of each configuration, and the number of entries.
    states : the state of x of each entry, increasing in each configuration.
    counts : the cases of each entry in each class.  # (entry, class)
    card : the number of states of x.
    """

    parents: tuple[int, ...]
    configurations: NDArray[np.int32]
    starts: NDArray[np.int64]
    states: NDArray[np.int32]
    counts: NDArray[Any]
    card: int

    @property
    def configuration(self) -> Integers:
        """The configuration of each entry."""
        return np.repeat(np.arange(len(self.configurations)), np.diff(self.starts))

    @property
    def cells(self) -> int:
        """The number of stored probabilities and factors, with the default table."""
        return (len(self.states) + len(self.configurations) + self.card) * int(self.counts.shape[1])

    def totals(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return sums of the entries of each configuration.  # (configuration, class)"""
        return np.add.reduceat(numbers, self.starts[:-1], axis=0) if len(numbers) else numbers[:0]

    def by_state(self) -> Numbers:
        """Return the counts of each state in all configurations.  # (x, class)"""
        table = np.zeros((self.card, self.counts.shape[1]))
        np.add.at(table, self.states, self.counts)
        return table

    def without(self, parent: int) -> Entries:
        """Return the entries of the configurations without one parent."""
        kept = [i for i, p in enumerate(self.parents) if p != parent]
        codes = self.configurations[self.configuration][:, kept]
        return _grouped(tuple(self.parents[i] for i in kept), [*codes.T, self.states], self.counts, self.card)


def entries_of(table: SparseTable, x: int, parents: Sequence[int]) -> Entries:
    """Return the entries of a table that contains the class."""
    features = tuple(sorted(p for p in parents if p != CLASS))
    codes, counts = table.occurring((*features, x), by=CLASS)
    return _grouped(features, codes, counts, table.card(x))


def _grouped(parents: tuple[int, ...], codes: Sequence[NDArray[Any]], counts: NDArray[Any], card: int) -> Entries:
    """Return the entries of rows of codes of the parents and of x, which may be repeated and in any order."""
    cards = [int(column.max(initial=0)) + 1 for column in codes]
    rows, row_of = grouped_rows(codes, cards)
    summed = np.zeros((len(rows), counts.shape[1]), counts.dtype)
    np.add.at(summed, row_of, counts)
    codes = [np.asarray(column)[rows] for column in codes]
    starts, _ = grouped_rows(codes[:-1], cards[:-1]) if parents else (np.zeros(min(1, len(rows)), np.int64), None)
    configurations = np.stack([column[starts] for column in codes[:-1]], axis=1) if parents else np.empty((len(starts), 0))
    bounds = np.append(starts, len(rows)).astype(np.int64)
    return Entries(parents, np.ascontiguousarray(configurations, np.int32), bounds, codes[-1].astype(np.int32), summed, card)


def compressed_cpt(
    entries: Entries, parents: Sequence[int], smoothing: Smoothing, class_frequencies: Numbers, total: float
) -> SparseCpt:
    """Return P(x | parents) of the states that occur, smoothed; the formulas are those of `naivete.network.smoothing`.

    Parameters
    ----------
    entries : the counts.
    parents : all parents, the strongest first; the class is one of them.
    smoothing : the smoothing.
    class_frequencies : the relative frequencies of the classes.
    total : the total weight of the cases.
    """
    n, states, of = entries.counts.astype(np.float64), entries.states, entries.configuration
    sums = entries.totals(n)  # (configuration, class)
    if isinstance(smoothing, Backoff):
        return _backoff(entries, parents, smoothing.m)
    if isinstance(smoothing, MEstimate):
        default = np.repeat(normalized(entries.by_state().sum(axis=1), 0)[:, None], n.shape[1], axis=1)
        return _mixed(entries, n, sums, smoothing.m, default)
    default = np.full((entries.card, n.shape[1]), 1 / entries.card)
    if isinstance(smoothing, Lidstone):
        return _mixed(entries, n, sums, smoothing.alpha * entries.card, default)
    assert isinstance(smoothing, ClarkNiblett)
    absent = class_frequencies / max(total, 1.0)
    shares = np.where(n > 0, n / np.where(sums > 0, sums, 1.0)[of], absent)
    scale = (sums > 0) + (entries.card - entries.totals((n > 0).astype(np.int64))) * absent
    known = scale > 0
    divisor = np.where(known, scale, 1.0)
    values = np.where(known[of], shares / divisor[of], default[states])
    return _cpt(entries, values, np.where(known, absent / divisor * entries.card, 1.0), default)


def _mixed(entries: Entries, n: Numbers, sums: Numbers, m: float, default: Numbers) -> SparseCpt:
    """Return (n + m default) / (N + m), or the default where N + m is zero."""
    of, whole = entries.configuration, sums + m
    known, divisor = whole > 0, np.where(whole > 0, whole, 1.0)
    base = default[entries.states]
    return _cpt(entries, np.where(known[of], (n + m * base) / divisor[of], base), np.where(known, m / divisor, 1.0), default)


def _backoff(entries: Entries, parents: Sequence[int], m: float) -> SparseCpt:
    """Return discounted back-off to the table without the weakest parent, and so on; the class is left out last."""
    n, of = entries.counts.astype(np.float64), entries.configuration
    weakest = next(p for p in reversed(parents) if p != CLASS)
    if len(entries.parents) == 1:
        default: Numbers | SparseCpt = backoff_table(entries.by_state(), 0, [1], m)
        base = np.asarray(default)[entries.states]
    else:
        default = _backoff(entries.without(weakest), [p for p in parents if p != weakest], m)
        kept = [entries.parents.index(p) for p in default.parents]
        base = default.probability(entries.configurations[of][:, kept], entries.states)
    sums, subtracted = entries.totals(n), np.minimum(n, DISCOUNT)
    known, divisor = sums > 0, np.where(sums > 0, sums + m, 1.0)
    moved = m + entries.totals(subtracted)
    values = np.where(known[of], (n - subtracted + moved[of] * base) / divisor[of], base)
    return _cpt(entries, values, np.where(known, moved / divisor, 1.0), default)


def _cpt(entries: Entries, values: Numbers, factors: Numbers, default: Numbers | SparseCpt) -> SparseCpt:
    rows = CompressedRows(entries.starts, entries.states, values, factors)
    return SparseCpt(entries.configurations, rows, default, entries.parents)
