"""Exact leave-one-out posteriors: each training case is predicted by a network estimated from all other cases.

The counts of a case are subtracted while it is predicted, in its own class and cells only, so that all cases take one pass. If all
weights are whole numbers, a case of weight two counts as two cases, of which one is left out; otherwise every case is left out with
its whole weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers, missing
from naivete._kernels.exact_sums import LIMB, limbs
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.counts.tables import CountTable, SparseTable
from naivete.inference.elimination import Elimination, log
from naivete.inference.leave_one_out_terms import FamilyTerms, remaining_classes, split_infinite
from naivete.inference.predictor import fallback, rows_without_evidence
from naivete.network.estimation import estimate
from naivete.network.graphs import topological
from naivete.network.network import Structure
from naivete.network.smoothing import Smoothing, prior_probabilities, smoothing_of
from naivete.variables import CLASS, Family, family

__all__ = ["BLOCK_CELLS", "LOSSES", "leave_one_out", "leave_one_out_losses", "pieces_of"]

T = TypeVar("T")
BLOCK_CELLS = 1 << 22
"""The number of terms that are computed at a time."""
STEP = 30
"""Losses are rounded to multiples of 2**-STEP, so that their sums are exact in any order."""
LARGEST_LOG = 64
"""The largest log loss of a case, in bits, so that a case of probability zero does not decide alone."""


def leave_one_out(
    counts: Counts, structure: Structure, smoothing: object = 1.0, *, prior: Sequence[float] | None = None
) -> Numbers:
    """Return P(class | row) of every training row, estimated from all other rows; the structure is fixed.  # (row, class)"""
    nested = {x: parents for x, parents in structure.items() if x != CLASS}
    full = np.array([[len(_features(nested[x])) for x in counts.features]])
    terms = _Candidates(counts, nested, full, smoothing_of(smoothing), prior)
    parts = counts.map(lambda block: np.concatenate(terms.over_pieces(block, lambda piece: terms.posteriors(piece)[0])))
    return np.concatenate(list(parts))


def leave_one_out_losses(
    counts: Counts,
    parents: Mapping[int, Sequence[int]],
    candidates: NDArray[np.int64],
    smoothing: object = 1.0,
    *,
    prior: Sequence[float] | None = None,
    exact: bool = True,
    loss: str = "squared",
) -> list[Fraction]:
    """Return the sum over the cases of a loss of P(class | row), each estimated without the case, for several structures.

    Parameters
    ----------
    counts : the training cases.
    parents : the possible feature parents of each feature, best first.
    candidates : how many of those parents each feature has in each structure; -1 for a feature that is not in the structure and no
        parent in it.  # (structure, feature)
    smoothing, prior : as for `estimate`.
    exact : whether missing values are marginalized exactly, which takes a long time for many structures. Otherwise a feature has,
        in each row, only the parents before the first one that is missing, and a missing feature is left out.
    loss : "squared", (1 - P(true class | row))^2; "log", -log2 P(true class | row), at most 64; or "zero-one", 1 where the most
        probable class, the first of equal ones, is not the true one.
    """
    terms = _Candidates(counts, parents, candidates, smoothing_of(smoothing), prior, exact=exact)
    losses = counts.fold(partial(_losses, terms=terms, loss=loss), _losses_added)
    return [total * LARGEST_LOG for total in losses] if loss == "log" else losses


def _squared(posteriors: Numbers, labels: NDArray[np.int64]) -> Numbers:
    return np.asarray((1 - _true_class(posteriors, labels)) ** 2)


def _log(posteriors: Numbers, labels: NDArray[np.int64]) -> Numbers:
    """Return the log loss as a share of the largest one."""
    return np.asarray(-np.log2(np.maximum(_true_class(posteriors, labels), 2.0**-LARGEST_LOG)) / LARGEST_LOG)


def _zero_one(posteriors: Numbers, labels: NDArray[np.int64]) -> Numbers:
    return np.asarray(posteriors.argmax(axis=2) != labels, np.float64)


def _true_class(posteriors: Numbers, labels: NDArray[np.int64]) -> Numbers:
    return np.asarray(posteriors[:, np.arange(len(labels)), labels])


LOSSES: Mapping[str, Callable[[Numbers, NDArray[np.int64]], Numbers]] = {"squared": _squared, "log": _log, "zero-one": _zero_one}
"""The losses of rows, from 0 to 1, from the posteriors (structure, row, class) and the labels.  # (structure, row)"""


def _losses_added(one: list[Fraction], two: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(one, two, strict=True)]


def _losses(block: Block, terms: _Candidates, loss: str) -> list[Fraction]:
    def of_piece(piece: Block) -> list[Fraction]:
        posteriors = terms.posteriors(piece)  # (structure, row, class)
        losses = LOSSES[loss](posteriors, piece.codes[-1].astype(np.int64))
        return _weighted(np.rint(losses * 2.0**STEP).astype(np.int64), piece.weight)

    zeros = [Fraction(0)] * len(terms.candidates)
    return [sum(losses, Fraction(0)) for losses in zip(zeros, *terms.over_pieces(block, of_piece), strict=True)]


def _weighted(steps: NDArray[np.int64], weight: NDArray[np.float64] | None) -> list[Fraction]:
    """Return exact weighted sums of whole numbers, which do not depend on the order of the rows."""
    if weight is None:
        return [Fraction(s) / 2**STEP for s in steps.sum(axis=1).tolist()]
    totals = [Fraction(0)] * len(steps)
    for q, limb in limbs(weight).items():
        assert limb is not None
        for half in (0, LIMB // 2):
            sums = (steps @ (limb >> half & 0xFFFF)).tolist()
            totals = [t + s * Fraction(2) ** (LIMB * q + half - STEP) for t, s in zip(totals, sums, strict=True)]
    return totals


def _features(parents: Sequence[int]) -> tuple[int, ...]:
    return tuple(p for p in parents if p != CLASS)


class _Candidates:
    """The counts of all families that some candidate structure uses, and the leave-one-out posteriors computed from them."""

    def __init__(
        self,
        counts: Counts,
        parents: Mapping[int, Sequence[int]],
        candidates: NDArray[np.int64],
        smoothing: Smoothing,
        prior: Sequence[float] | None,
        *,
        exact: bool = True,
    ) -> None:
        self.parents = {x: _features(parents[x]) for x in counts.features}
        self.candidates = candidates
        self.smoothing = smoothing
        self.has_missing = counts.cases.has_missing
        self.exact = exact or not self.has_missing.any()
        self.used = [self._used(x) for x in counts.features]
        wanted = {(x, q): family(x, *self.parents[x][:q], CLASS) for x in counts.features for q in self.used[x]}
        tables = counts.tables([*wanted.values(), (CLASS,)])
        classes = tables[CLASS,].full()
        self.classes, self.copies = classes.astype(np.float64), counts.copies(classes)
        self.prior = None if prior is None else prior_probabilities(prior, counts.variables[CLASS].states)
        cards = counts.cards([*counts.features, CLASS])
        self.terms = {
            (x, q): FamilyTerms(tables[members], x, self.parents[x][:q], self.classes, smoothing, cards)
            for (x, q), members in wanted.items()
        }
        self.informative = [x for x in counts.features if counts.variables[x].card > 1]
        self.order = self._order(tables, wanted)
        self.widest = max((counts.variables[x].card for x in counts.features), default=1) * len(classes)
        self.eliminations = self._eliminations(counts, prior) if self.has_missing.any() and exact else []

    def _used(self, x: int) -> list[int]:
        """Return the numbers of parents of a feature in the structures, and in rows in which some parents are missing."""
        numbers = sorted(set(self.candidates[:, x].tolist()) - {-1})
        complete = self.exact or not numbers or not self.has_missing[list(self.parents[x])].any()
        return numbers if complete else list(range(max(numbers) + 1))

    def _order(self, tables: Mapping[Family, CountTable], wanted: Mapping[tuple[int, int], Family]) -> list[int]:
        """Return the features in the order in which prediction adds them, so that the first structure gets the same sums."""
        first = self.candidates[0].tolist()
        sparse = {x for x, q in enumerate(first) if q >= 0 and isinstance(tables[wanted[x, q]], SparseTable)}
        return [*(x for x in topological(self._structure(first)) if x != CLASS and x not in sparse), *sorted(sparse)]

    def _structure(self, candidate: Sequence[int]) -> Structure:
        """Return the parents of a candidate.

        A feature that is not in it has no children, so that it may have the class as parent here: it does not matter where it is
        missing, and its terms are not added where it is observed.
        """
        return {CLASS: (), **{x: (*self.parents[x][: max(q, 0)], CLASS) for x, q in enumerate(candidate)}}

    def _eliminations(self, counts: Counts, prior: Sequence[float] | None) -> list[Elimination]:
        """Return the eliminations of the candidate networks, for rows with missing values; their tables contain no such rows."""
        structures = map(self._structure, self.candidates.tolist())
        return [Elimination(estimate(counts, structure, self.smoothing, prior=prior)) for structure in structures]

    def over_pieces(self, block: Block, function: Callable[[Block], T]) -> list[T]:
        """Return the values of a function for pieces of the block; a piece is so small that all terms of its rows fit in memory."""
        terms = sum(map(len, self.used)) + len(self.candidates)
        row_by_row = 0 if all(family_terms.tabulated for family_terms in self.terms.values()) else self.widest
        step = max(1, BLOCK_CELLS // (terms * len(self.classes) + row_by_row))
        return _kernels.run_parallel(function, list(pieces_of(block, step)), work=len(block) * terms * 8)

    def posteriors(self, piece: Block) -> Numbers:
        """Return P(class | row), estimated without the row, for every candidate.  # (candidate, row, class)"""
        remaining = remaining_classes(piece, self.classes, copies=self.copies)
        prior = remaining.frequencies if self.prior is None else np.broadcast_to(self.prior, remaining.frequencies.shape)
        terms = {key: family_terms(piece, remaining) for key, family_terms in self.terms.items()}
        if not self.exact:
            self._shorten(piece, terms)
        return self._posteriors(piece, prior, terms)

    def _shorten(self, piece: Block, terms: dict[tuple[int, int], Numbers]) -> None:
        """Replace the terms of rows in which a parent is missing by those with the parents before it."""
        absent = {x: missing(piece.codes[x]) for x in np.flatnonzero(self.has_missing).tolist()}
        for x, numbers in enumerate(self.used):
            incomplete = np.zeros(len(piece), bool)
            for q in range(1, max(numbers, default=0) + 1):
                parent = self.parents[x][q - 1]
                if parent in absent:
                    incomplete = incomplete | absent[parent]
                if incomplete.any():
                    terms[x, q] = np.where(incomplete[:, None], terms[x, q - 1], terms[x, q])

    def _posteriors(self, piece: Block, prior: Numbers, terms: dict[tuple[int, int], Numbers]) -> Numbers:
        """Return the posteriors of the candidates, each computed from the previous one by replacing the terms that differ."""
        posteriors = np.empty((len(self.candidates), *prior.shape))
        nothing = 0.0, 0  # the terms of a feature that is not in the structure
        split: Mapping[tuple[int, int], Any] = {key: split_infinite(logs) for key, logs in terms.items()}
        joint, zeros = split_infinite(log(prior))
        memory: dict[Any, Numbers] = {}
        previous = np.full(self.candidates.shape[1], -1)
        for i, candidate in enumerate(self.candidates):
            changed = np.flatnonzero(candidate != previous).tolist()
            for x in changed if i else self.order:
                logs, impossible = split.get((x, int(candidate[x])), nothing)
                old, old_impossible = split.get((x, int(previous[x])), nothing)
                joint, zeros = joint + (logs - old), zeros + impossible - old_impossible
            previous = candidate
            whole = np.where(zeros > 0, -np.inf, joint)
            if self.eliminations:
                self.eliminations[i].add(whole, piece.codes[:-1], self.has_missing, memory)
            impossible_rows = np.flatnonzero(np.isneginf(whole.max(axis=1)))
            if len(impossible_rows):
                whole[impossible_rows] = fallback(zeros[impossible_rows], prior[impossible_rows])
            posteriors[i] = _kernels.posterior(whole)
        without_evidence = rows_without_evidence(piece.codes[:-1], self.has_missing, self.informative, len(piece))
        posteriors[:, without_evidence] = prior[without_evidence]
        return posteriors


def pieces_of(block: Block, step: int) -> Iterator[Block]:
    """Yield the rows of a block in pieces of at most `step` rows."""
    return (block.take(np.arange(s, min(len(block), s + step))) for s in range(0, len(block), step))
