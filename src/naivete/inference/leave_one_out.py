"""Exact leave-one-out: what a network would say of each training case had it not seen that case.

A case is taken out of the counts on the fly, in its own class and its own cells only, so that all of them cost one pass. A case
of weight two is two cases, of which one is left out; a case of weight one half is left out whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete._kernels.exact_sums import LIMB, limbs
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.counts.tables import CountTable, DenseTable, SparseTable
from naivete.inference.predictor import Predictor, fallback, rows_without_evidence
from naivete.network.conditional_tables import SparseCpt
from naivete.network.estimation import estimate
from naivete.network.graphs import topological
from naivete.network.network import Structure
from naivete.network.smoothing import (
    Backoff,
    ClarkNiblett,
    Context,
    Lidstone,
    MEstimate,
    Smoothing,
    backoff_table,
    blend,
    checked_prior,
    normalised,
    smoothing_of,
)
from naivete.variables import CLASS, Family, family

__all__ = ["FamilyTerms", "RemainingClasses", "leave_one_out", "leave_one_out_losses", "remaining_classes", "split_infinite"]

T = TypeVar("T")
BLOCK_CELLS = 1 << 22
STEP = 30


def leave_one_out(
    counts: Counts, structure: Structure, smoothing: object = 1.0, *, prior: Sequence[float] | None = None
) -> Numbers:
    """P(class | row) of every training row, estimated from all other rows; the structure stays as given.  # (row, class)"""
    nested = {x: parents for x, parents in structure.items() if x != CLASS}
    full = np.array([[len(_features(nested[x])) for x in counts.features]])
    left = _Left(counts, nested, full, smoothing_of(smoothing), prior)
    parts = counts.map(lambda block: np.concatenate(left.over_pieces(block, lambda piece: left.posteriors(piece)[0])))
    return np.concatenate(list(parts))


def leave_one_out_losses(
    counts: Counts,
    parents: Mapping[int, Sequence[int]],
    candidates: NDArray[np.int64],
    smoothing: object = 1.0,
    *,
    prior: Sequence[float] | None = None,
) -> list[Fraction]:
    """The sum over the cases of (1 - P(true class | row))^2, each estimated without the case, for many structures in one pass.

    Parameters
    ----------
    counts : the training cases.
    parents : for each feature the feature parents it may have, best first.
    candidates : for each structure, how many of those parents each feature takes.  # (structure, feature)
    smoothing, prior : as for `estimate`.
    """
    left = _Left(counts, parents, candidates, smoothing_of(smoothing), prior)
    return counts.fold(partial(_losses, left=left), _losses_added)


def _losses_added(one: list[Fraction], two: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(one, two, strict=True)]


def _losses(block: Block, left: _Left) -> list[Fraction]:
    def of_piece(piece: Block) -> list[Fraction]:
        answers = left.posteriors(piece)  # (structure, row, class)
        wrong = 1 - answers[:, np.arange(len(piece)), piece.codes[-1].astype(np.int64)]
        return _weighted(np.rint(wrong * wrong * 2.0**STEP).astype(np.int64), piece.weight)

    nothing = [Fraction(0)] * len(left.candidates)
    return [sum(own, Fraction(0)) for own in zip(nothing, *left.over_pieces(block, of_piece), strict=True)]


def _weighted(steps: NDArray[np.int64], weight: NDArray[np.float64] | None) -> list[Fraction]:
    """Exact weighted sums of whole numbers, so that they do not depend on the order of the rows."""
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


class _Left:
    """The counts of all families that some candidate uses, and the leave-one-out terms of rows from them."""

    def __init__(
        self,
        counts: Counts,
        parents: Mapping[int, Sequence[int]],
        candidates: NDArray[np.int64],
        how: Smoothing,
        prior: Sequence[float] | None,
    ) -> None:
        self.parents = {x: _features(parents[x]) for x in counts.features}
        self.candidates = candidates
        self.how = how
        self.used = [sorted(set(candidates[:, x].tolist())) for x in counts.features]
        wanted = {(x, q): family(x, *self.parents[x][:q], CLASS) for x in counts.features for q in self.used[x]}
        tables = counts.tables([*wanted.values(), (CLASS,)])
        classes = tables[CLASS,].full()
        self.classes = classes.astype(np.float64)
        self.prior = None if prior is None else checked_prior(prior, len(classes))
        cards = counts.cards([*counts.features, CLASS])
        self.terms = {
            (x, q): FamilyTerms(tables[members], x, self.parents[x][:q], self.classes, how, cards)
            for (x, q), members in wanted.items()
        }
        self.gaps = counts.cases.gaps
        self.telling = [x for x in counts.features if counts.variables[x].card > 1]
        self.order = self._order(tables, wanted)
        self.widest = max((counts.variables[x].card for x in counts.features), default=1) * len(classes)
        self.predictors = self._predictors(counts, prior) if self.gaps.any() else []

    def _order(self, tables: Mapping[Family, CountTable], wanted: Mapping[tuple[int, int], Family]) -> list[int]:
        """The features in the order in which prediction adds them, so that the first structure gets the very same sums."""
        first = self.candidates[0].tolist()
        structure = {CLASS: (), **{x: (*self.parents[x][:q], CLASS) for x, q in enumerate(first)}}
        sparse = {x for x, q in enumerate(first) if isinstance(tables[wanted[x, q]], SparseTable)}
        return [*(x for x in topological(structure) if x != CLASS and x not in sparse), *sorted(sparse)]

    def _predictors(self, counts: Counts, prior: Sequence[float] | None) -> list[Predictor]:
        """For rows with missing values: the candidates' networks, whose tables such a row has no part in where it counts."""
        structures = (
            {CLASS: (), **{x: (*self.parents[x][:q], CLASS) for x, q in enumerate(candidate)}}
            for candidate in self.candidates.tolist()
        )
        return [Predictor(estimate(counts, structure, self.how, prior=prior)) for structure in structures]

    def over_pieces(self, block: Block, function: Callable[[Block], T]) -> list[T]:
        """The function's values for pieces of the block that are small enough for all terms of their rows."""
        terms = sum(map(len, self.used)) + len(self.candidates)
        row_by_row = 0 if all(own.tabulated for own in self.terms.values()) else self.widest
        step = max(1, BLOCK_CELLS // (terms * len(self.classes) + row_by_row))
        pieces = [block.take(np.arange(s, min(len(block), s + step))) for s in range(0, len(block), step)]
        return _kernels.run_parallel(function, pieces, work=len(block) * terms * 8)

    def posteriors(self, piece: Block) -> Numbers:
        """P(class | row) without the row, for every candidate.  # (candidate, row, class)"""
        left = remaining_classes(piece, self.classes)
        prior = left.frequencies if self.prior is None else np.broadcast_to(self.prior, left.frequencies.shape)
        terms = {key: own(piece, left) for key, own in self.terms.items()}
        return self._answers(piece, prior, terms)

    def _answers(self, piece: Block, prior: Numbers, terms: dict[tuple[int, int], Numbers]) -> Numbers:
        """The posteriors of the candidates, each reached from the one before by exchanging what differs."""
        answers = np.empty((len(self.candidates), *prior.shape))
        split = {key: split_infinite(logs) for key, logs in terms.items()}
        joint, zeros = split_infinite(_log(prior))
        memory: dict[Any, Numbers] = {}
        before = np.full(self.candidates.shape[1], -1)
        for i, candidate in enumerate(self.candidates):
            changed = np.flatnonzero(candidate != before).tolist()
            for x in changed if i else self.order:
                logs, impossible = split[x, int(candidate[x])]
                old, gone = split[x, int(before[x])] if before[x] >= 0 else (0.0, 0)
                joint, zeros = joint + (logs - old), zeros + impossible - gone
            before = candidate
            whole = np.where(zeros > 0, -np.inf, joint)
            if self.predictors:
                self.predictors[i].add_marginalised(whole, piece.codes[:-1], self.gaps, memory)
            nowhere = np.flatnonzero(np.isneginf(whole.max(axis=1)))
            whole[nowhere] = fallback(zeros[nowhere], prior[nowhere]) if len(nowhere) else 0.0
            answers[i] = _kernels.posterior(whole)
        untold = rows_without_evidence(piece.codes[:-1], self.gaps, self.telling, len(piece))
        answers[:, untold] = prior[untold]
        return answers


class RemainingClasses(NamedTuple):
    """What is left of the classes without each row of a piece."""

    labels: NDArray[np.int64]  # (row)
    own: Numbers  # what is left out, in the row's own class  (row, class)
    frequencies: Numbers  # (row, class)
    totals: Numbers  # (row)
    whole: bool  # whether one whole case is left out of every row


def remaining_classes(piece: Block, classes: Numbers) -> RemainingClasses:
    """What is left of the weights of the classes without each row of a piece."""
    labels = piece.codes[-1].astype(np.int64)
    whole = piece.weight is None or bool(piece.weight.min(initial=1.0) >= 1)
    own = np.zeros((len(piece), len(classes)))
    own[np.arange(len(piece)), labels] = 1.0 if piece.weight is None or whole else np.minimum(piece.weight, 1.0)
    left = np.maximum(classes - own, 0.0)  # (row, class)
    return RemainingClasses(labels, own, normalised(left, 1), left.sum(axis=1), whole)


class FamilyTerms:
    """log P(x | parents, class) of one family for rows, each estimated without the row; 0 where the row does not know all of it.

    Parameters
    ----------
    table : the counts of the family with the class.
    x, parents : the feature, and its feature parents, the most informative first.
    classes : the weight of every class.
    how : the smoothing.
    cards : how many states each variable has, the class last.
    """

    def __init__(
        self, table: CountTable, x: int, parents: Sequence[int], classes: Numbers, how: Smoothing, cards: tuple[int, ...]
    ) -> None:
        self.table, self.members, self.how = table, (x, *parents), how
        self.tabulated = None
        if isinstance(table, DenseTable) and not isinstance(how, Backoff):
            self.tabulated = _tabulated(table.counts, x, family(x, *parents, CLASS), classes, how, cards)

    def __call__(self, piece: Block, left: RemainingClasses) -> Numbers:
        """The terms of the rows of a piece.  # (row, class)"""
        if left.whole and self.tabulated is not None:
            return _looked_up(piece, self.tabulated, left.labels)
        return self._row_by_row(piece, left)

    @cached_property
    def _look(self) -> Lookup:
        return _lookup(self.table, self.members[0], self.members[1:])

    def _row_by_row(self, piece: Block, left: RemainingClasses) -> Numbers:
        known = np.logical_and.reduce([piece.codes[m] != np.iinfo(piece.codes[m].dtype).max for m in self.members])
        codes = [np.where(known, piece.codes[m], 0).astype(np.int64) for m in self.members]
        n, marginal, shorter = self._look(codes[0], codes[1:])
        rows, own = np.arange(len(piece)), left.own
        n[rows, codes[0]] = np.maximum(n[rows, codes[0]] - own, 0.0)
        if isinstance(self.how, Backoff):
            p = _backed_off(n, shorter, codes[0], own, self.how.m)
        else:
            marginal[rows, codes[0]] = np.maximum(marginal[rows, codes[0]] - own.sum(axis=1), 0.0)
            context = Context(normalised(marginal, 1)[:, :, None], left.frequencies[:, None, :], left.totals[:, None, None])
            p = self.how(n, 1, context)
        return np.where(known[:, None], _log(p[rows, codes[0]]), 0.0)


def _backed_off(n: Numbers, shorter: list[Numbers], code: NDArray[np.int64], own: Numbers, m: float) -> Numbers:
    """Back-off with the row taken out of every context, from the class up to all parents."""
    rows = np.arange(len(n))
    for context in shorter:
        context[rows, code] = np.maximum(context[rows, code] - own, 0.0)
    base = shorter[0] if shorter else n
    p = backoff_table(base, 1, [2], m)
    for context in [*shorter[1:], n] if shorter else []:
        p = blend(context, m, p, 1)
    return p


Tabulated = tuple[Family, _kernels.Layout, Numbers, Numbers]
"""Features, and log P(x | parents, class) without a case of their cell: in the classes it is not of, and in its own."""


def _tabulated(
    table: NDArray[Any],
    x: int,
    members: Family,
    classes: Numbers,
    how: Lidstone | MEstimate | ClarkNiblett,
    cards: tuple[int, ...],
) -> Tabulated:
    """What leaving out one whole case makes of every cell: it depends on nothing but the cell, so it is worked out once."""
    n, axis = table.astype(np.float64), members.index(x)
    total = classes.sum() - 1
    elsewhere, own = (_shares(c, np.full_like(c, total), 0) for c in (classes, np.maximum(classes - 1, 0.0)))
    exact = table.dtype.kind == "i" and isinstance(how, Lidstone) and float(how.alpha * 2**16).is_integer()
    if exact and isinstance(how, Lidstone):  # sums without rounding may be taken apart
        sums = (n + how.alpha).sum(axis=axis, keepdims=True)
        less = np.maximum(n - 1, 0.0) + how.alpha
        parts = how(n, axis, Context(n, classes, total)), _shares(less, sums - (n >= 1), axis)
    else:
        parts = _state_by_state(n, axis, how, elsewhere, own, total)
    layout = _kernels.Layout(((*range(len(members) - 1), CLASS),), tuple(cards[m] for m in members))
    return members[:-1], layout, _log(parts[0]).ravel(), _log(parts[1]).ravel()


def _shares(n: Numbers, total: Numbers, axis: int) -> Numbers:
    return np.where(total > 0, n / np.where(total > 0, total, 1.0), 1 / n.shape[axis])


def _state_by_state(
    n: Numbers, axis: int, how: Lidstone | MEstimate | ClarkNiblett, elsewhere: Numbers, own: Numbers, total: float
) -> tuple[Numbers, Numbers]:
    """The two tables of `_tabulated`, one state of x after the other."""
    others = tuple(a for a in range(n.ndim) if a != axis)
    marginal = n.sum(axis=others, keepdims=True)
    result = np.empty_like(n), np.empty_like(n)
    for state in range(n.shape[axis]):
        at: Any = (*(slice(None),) * axis, state)
        left, less = marginal.copy(), n.copy()
        left[at] = np.maximum(left[at] - 1, 0.0)
        less[at] = np.maximum(less[at] - 1, 0.0)
        result[0][at] = how(n, axis, Context(normalised(left, axis), elsewhere, total))[at]
        result[1][at] = how(less, axis, Context(normalised(left, axis), own, total))[at]
    return result


def _looked_up(piece: Block, tabulated: Tabulated, labels: NDArray[np.int64]) -> Numbers:
    """The terms of one family for rows that are left out whole.  # (row, class)"""
    members, layout, elsewhere, own = tabulated
    rows = np.arange(len(piece))
    classes, codes = layout.cards[CLASS], [piece.codes[m] for m in members]
    terms = _kernels.gather(codes, layout, elsewhere, classes)
    terms[rows, labels] = _kernels.gather(codes, layout, own, classes)[rows, labels]
    return terms


Lookup = Callable[[NDArray[np.int64], Sequence[NDArray[np.int64]]], tuple[Numbers, Numbers, list[Numbers]]]
"""codes of x and of its parents -> counts (row, x, class), marginal counts (row, x), counts of all shorter contexts."""


def _lookup(table: CountTable, x: int, parents: Sequence[int]) -> Lookup:
    if isinstance(table, SparseTable):
        return _sparse_lookup(table, x, parents)
    n = table.full((*parents, x, CLASS)).astype(np.float64)
    sums = [n.sum(axis=tuple(range(q, len(parents)))) for q in range(len(parents))]
    marginal = n.sum(axis=(*range(len(parents)), n.ndim - 1))

    def look(_: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]) -> tuple[Numbers, Numbers, list[Numbers]]:
        rows = len(_)
        own = n[tuple(codes)] if codes else np.repeat(n[None], rows, axis=0)
        shorter = [s[tuple(codes[:q])] if q else np.repeat(s[None], rows, axis=0) for q, s in enumerate(sums)]
        return own, np.repeat(marginal[None], rows, axis=0), shorter

    return look


def _sparse_lookup(table: SparseTable, x: int, parents: Sequence[int]) -> Lookup:
    contexts = [table.by_parents(x, parents[:q]) for q in range(len(parents) + 1)]
    zeros = np.zeros((table.card(x), table.counts.shape[1]))
    finders = [None if not members else SparseCpt(keys, n, zeros, members) for keys, n, members in contexts]
    marginal = contexts[0][1].sum(axis=(0, 2))

    def look(_: NDArray[np.int64], codes: Sequence[NDArray[np.int64]]) -> tuple[Numbers, Numbers, list[Numbers]]:
        rows = len(_)
        found = []
        for (_keys, n, _members), finder in zip(contexts, finders, strict=True):
            if finder is None:
                found.append(np.repeat(n.sum(axis=0)[None], rows, axis=0))
            else:
                found.append(finder.at(np.stack([codes[list(parents).index(p)] for p in finder.parents], axis=1)))
        return found[-1], np.repeat(marginal[None], rows, axis=0), found[:-1]

    return look


def split_infinite(logs: Numbers) -> tuple[Numbers, NDArray[np.int64]]:
    """The finite logarithms, 0 in place of -inf, and where those were, so that they can be taken off again."""
    impossible = np.isneginf(logs)
    return np.where(impossible, 0.0, logs), impossible.astype(np.int64)


def _log(p: NDArray[Any]) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(np.ascontiguousarray(p))  # type: ignore[no-any-return]
