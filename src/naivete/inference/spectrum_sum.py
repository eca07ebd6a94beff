"""The log odds of a spectrum of one structure as a sum over families: its terms, and the Shapley values of its features.

Without further structures, trees and a mixture, log P(class | row) is, up to a constant, a sum over the features x. The term of x
consists of its linear score and its weighted log-probabilities at all depths, which depend on x and its parents only. So each term
is a game of few features, and Shapley values are linear.
"""

from __future__ import annotations

from functools import cached_property
from math import factorial

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code
from naivete._kernels.context_trees import binned
from naivete._kernels.contexts import FamilyRecords, context_logs
from naivete._kernels.layout import Codes
from naivete.inference.log_odds import BITS, Scores, bits_of, relative
from naivete.inference.spectrum_terms import log_prior
from naivete.network.spectrum import Spectrum

__all__ = ["SpectrumSum", "is_sum"]

MEMBERS = 9
"""The largest number of features of a term; 2^9 coalitions are enumerated."""
CELLS = 1 << 20
"""The number of combinations of values that are evaluated at a time."""

Cells = np.ndarray[tuple[int, int], np.dtype[np.uint32]]


def is_sum(spectrum: Spectrum) -> bool:
    """Whether the log odds of two classes are a sum over families of few features."""
    single = not spectrum.members and not any(spectrum.trees) and spectrum.boosted is None and spectrum.mixture is None
    return single and max(map(len, spectrum.main.parents), default=0) < MEMBERS


class SpectrumSum:
    """The scores of the classes of a spectrum, relative to the first class and in bits, as sums over families.

    Parameters
    ----------
    spectrum : the model, for which `is_sum` holds.
    background : the rows from which the values of absent features are drawn.
    """

    def __init__(self, spectrum: Spectrum, background: Codes) -> None:
        self.spectrum = spectrum
        self.background = background

    @property
    def families(self) -> list[tuple[int, ...]]:
        """The features of the term of each feature: its parents, and the feature last."""
        return [(*parents, x) for x, parents in enumerate(self.spectrum.main.parents)]

    @cached_property
    def constant(self) -> Numbers:
        """The scores before any feature is added: the weighted prior and the intercepts.  # (class - 1,)"""
        model, slices = self.spectrum, self.spectrum.slices
        prior = log_prior(model, 1, None)[0] * model.coefficients[slices.main].sum()
        linear = model.linear.intercepts * model.coefficients[slices.linear.start]
        return relative((prior + linear + model.intercepts) * BITS)

    @cached_property
    def unknown(self) -> Numbers:
        """The scores of the class frequencies, predicted where nothing is observed, minus the sum of all terms.  # (class - 1,)"""
        weights = self.spectrum.class_weights
        columns = [np.full(1, missing_code(np.uint32), np.uint32) for _ in self.families]
        terms = np.sum(self._terms(columns), axis=0)[:, 0]
        return np.asarray(relative(bits_of(weights / weights.sum())) - self.constant - terms)

    def by_family(self, codes: Codes) -> Scores:
        """Return the terms of the features; that of a missing value is a part of the base."""
        terms, absent = np.stack(self._terms(codes)), np.stack([missing(column) for column in codes])
        base = self.constant[:, None] + (terms * absent[:, None]).sum(axis=0)
        base[:, ~self._observed(codes).any(axis=0)] += self.unknown[:, None]
        return Scores(base, np.where(absent[:, None], 0.0, terms))

    def by_feature(self, codes: Codes) -> Scores:
        """Return the Shapley values of the features, and as base the mean in the background, with the same values missing."""
        rows = len(codes[0])
        base, parts = np.repeat(self.constant[:, None], rows, axis=1), np.zeros((len(codes), len(self.constant), rows))
        bins = self.spectrum.main.bins
        in_rows, in_background = np.stack(binned(codes, bins), axis=1), np.stack(binned(self.background, bins), axis=1)
        absent = np.stack([missing(column) for column in codes], axis=1)  # (row, feature)
        for x, members in enumerate(self.families if rows else ()):
            kinds, which = np.unique(absent[:, members], axis=0, return_inverse=True)
            for kind, fixed in enumerate(kinds):
                chosen = np.flatnonzero(which.reshape(-1) == kind)
                mean, values = self._game(x, in_rows[chosen][:, members], in_background[:, members], fixed)
                base[:, chosen] += mean
                for j, member in enumerate(members):
                    parts[member][:, chosen] += values[j]
            linear = self._linear(x, codes[x])
            mean = np.where(absent[:, x], linear, self._linear(x, self.background[x]).mean(axis=1, keepdims=True))
            base += mean
            parts[x] += linear - mean
        self._add_unknown(base, parts, codes)
        return Scores(base, parts)

    def _observed(self, codes: Codes) -> Bools:
        """Return which informative values are observed.  # (feature, row)"""
        features = self.spectrum.informative
        return np.array([~missing(codes[x]) for x in features], bool).reshape(len(features), len(codes[0]))

    def _add_unknown(self, base: Numbers, parts: Numbers, codes: Codes) -> None:
        """Add the difference of the class frequencies to the sum of the terms, where nothing is observed.

        In the game this concerns coalitions without an informative feature, with background rows in which all informative features
        of the row are missing. By symmetry all these features have the same part of the difference.
        """
        observed, absent = self._observed(codes), ~self._observed(self.background)
        counts = observed.sum(axis=0)
        share = (absent.astype(np.int64).T @ observed == counts).mean(axis=0)  # of background rows with nothing that is observed
        base += self.unknown[:, None] * share
        for x, seen in zip(self.spectrum.informative, observed, strict=True):
            parts[x] -= self.unknown[:, None] * (share * seen / np.maximum(counts, 1))

    def _terms(self, codes: Codes) -> list[Numbers]:
        """Return the term of each feature.  # (class - 1, row)"""
        bins = np.stack(binned(codes, self.spectrum.main.bins), axis=1)
        return [self._context(x, bins[:, members]).T + self._linear(x, codes[x]) for x, members in enumerate(self.families)]

    def _linear(self, x: int, column: Integers) -> Numbers:
        """Return the linear scores of one feature.  # (class - 1, row)"""
        if x not in self.spectrum.informative:
            return np.zeros((len(self.constant), len(column)))
        table = self.spectrum.linear.tables[self.spectrum.informative.index(x)]
        weight = self.spectrum.coefficients[self.spectrum.slices.linear.start] * BITS
        return relative(table[np.minimum(column, len(table) - 1)].T * weight)

    def _context(self, x: int, cells: Cells) -> Numbers:
        """Return the weighted log-probabilities of a feature at all depths, given bins of its parents and its own.

        # (cell, member) -> (cell, class - 1)
        """
        model = self.spectrum
        if not len(cells):
            return np.empty((0, len(self.constant)))
        weights = model.coefficients[model.slices.main].copy()
        if x in model.features:
            weights[0] += model.coefficients[model.slices.features][model.features.index(x)]
        family = model.main.families[x]._replace(x=cells.shape[1] - 1, parents=tuple(range(cells.shape[1] - 1)))
        columns = [np.ascontiguousarray(column) for column in cells.T]
        same = [np.arange(int(model.main.bins[v][-1]) + 2, dtype=np.uint32) for v in self.families[x]]
        families, prior = FamilyRecords([family], float(model.class_weights.sum())), np.zeros((len(cells), model.classes))
        logs, _ = context_logs(columns, same, families, model.depth, model.classes, model.main.rule, prior)
        return relative(np.einsum("rdc,d->cr", logs, weights * BITS)).T

    def _game(self, x: int, in_rows: Cells, in_background: Cells, fixed: Bools) -> tuple[Numbers, Numbers]:
        """Return the base and the Shapley values of the members in the term of a feature, for rows with the same members missing.

        Parameters
        ----------
        x : the feature.
        in_rows, in_background : the bins of the members in the rows and in the background.  # (row, member)
        fixed : which members are missing in the rows; these are missing in every coalition.

        Returns
        -------
        base : (class - 1, row).
        values : (member, class - 1, row).
        """
        players = np.flatnonzero(~fixed)
        coalitions = np.tile(fixed, (1 << len(players), 1))  # (coalition, member)
        coalitions[:, players] = (np.arange(len(coalitions))[:, None] >> np.arange(len(players))) & 1 == 1
        base, values = np.empty((len(self.constant), len(in_rows))), np.zeros((len(fixed), len(self.constant), len(in_rows)))
        step = max(1, CELLS // (len(coalitions) * len(in_background)))
        for lo in range(0, len(in_rows), step):
            means = self._means(x, in_rows[lo : lo + step], in_background, coalitions)
            base[:, lo : lo + step] = means[0].T
            for j, member in enumerate(players):
                values[member][:, lo : lo + step] = _joining(means, j, len(players)).T
        return base, values

    def _means(self, x: int, in_rows: Cells, in_background: Cells, coalitions: Bools) -> Numbers:
        """Return the mean term over the background where the members of each coalition have the values of the row.

        # (coalition, row, class - 1)
        """
        strides = np.cumprod([1, *self.spectrum.main.cards(x)[:-2]]).astype(np.uint64)
        row_keys, background_keys = in_rows * strides, in_background * strides
        kinds: list[tuple[Integers, Numbers]] = []  # the kind of each row, and the share of each kind of background row
        keys = []
        for chosen in coalitions:
            first, which = np.unique(row_keys[:, chosen].sum(axis=1), return_inverse=True)
            rest, counts = np.unique(background_keys[:, ~chosen].sum(axis=1), return_counts=True)
            kinds.append((which.reshape(-1), counts / counts.sum()))
            keys.append((first[:, None] + rest).reshape(-1))
        distinct, position = np.unique(np.concatenate(keys), return_inverse=True)
        cells = distinct[:, None] // strides % np.array(self.spectrum.main.cards(x)[:-1], np.uint64)
        terms = self._context(x, cells.astype(np.uint32))
        ends = np.cumsum([0, *map(len, keys)])
        result = np.empty((len(coalitions), len(in_rows), len(self.constant)))
        for i, (which, share) in enumerate(kinds):
            part = terms[position[ends[i] : ends[i + 1]]].reshape(int(which.max()) + 1, len(share), len(self.constant))
            result[i] = np.einsum("pbc,b->pc", part, share)[which]
        return result


def _joining(means: Numbers, player: int, players: int) -> Numbers:
    """Return the weighted mean of what a player adds to the coalitions without it; bit j of a position is player j."""
    positions = np.arange(len(means))
    without = positions[positions >> player & 1 == 0]
    sizes = np.array([int(position).bit_count() for position in without])
    weights = np.array([factorial(size) * factorial(players - size - 1) / factorial(players) for size in range(players)])
    return np.asarray(np.tensordot(weights[sizes], means[without | 1 << player] - means[without], axes=1))
