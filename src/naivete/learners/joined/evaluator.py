"""What is wrong, each case judged without itself, after each of many changes to joined features: two passes for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete._kernels.exact_sums import LimbSums, add_sums, limbs, sum_all, sums_as_numbers
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.inference.leave_one_out import RemainingClasses, remaining_classes, split_infinite
from naivete.inference.predictor import argmax_class, fallback
from naivete.learners.joined.terms import (
    FACTOR,
    STEPS,
    TABULATED,
    Delta,
    Group,
    GroupTerms,
    Move,
    Term,
    delta_of,
    group_terms,
    places,
    shape_of,
    term_of,
)
from naivete.network.smoothing import checked_prior, smoothing_of
from naivete.variables import CLASS

__all__ = ["Judge"]


PIECE_CELLS = 1 << 20
"""How many terms of the groups that are there are held for the rows that are looked at together."""
KEPT = 8
"""The terms of rows in memory are kept from step to step where they take at most this part of the budget."""
TABLES = 4
"""The tables of groups that are tried together take at most about this part of the budget."""


class Judge:
    """Says how much is wrong, each case judged without itself, for changes to groups of attributes.

    Parameters
    ----------
    counts : the cases.
    smoothing, prior : as for `estimate`.
    """

    def __init__(self, counts: Counts, smoothing: object, prior: Sequence[float] | None) -> None:
        self.counts, self.how = counts, smoothing_of(smoothing)
        self.classes = counts.margins()[CLASS,].astype(np.float64)
        self.prior = None if prior is None else checked_prior(prior, len(self.classes))
        self.kept: list[_Piece] | None = [] if self._keeps() else None
        self.terms: dict[Group, GroupTerms] = {}
        self.deltas: dict[Move, Delta | None] = {}

    def wrong(self, groups: Sequence[Group], moves: Sequence[Move]) -> NDArray[Any]:
        """The weight that is wrong after each move; as a sum of limbs it is zero exactly where all is right."""
        for piece in self.kept or ():
            piece.forget({*groups, *(move.new for move in moves)})
        return np.concatenate([self._wrong(tuple(groups), batch) for batch in self._batches(moves)])

    def _wrong(self, groups: tuple[Group, ...], moves: Sequence[Move]) -> NDArray[Any]:
        named = dict.fromkeys([*groups, *(move.new for move in moves if move.new is not None)])
        new = [group for group in named if group not in self.terms]
        self.terms = {group: own for group, own in self.terms.items() if group in named}
        self.terms |= group_terms(self.counts, new, self.classes, self.how)
        self.deltas = {move: self.deltas[move] if move in self.deltas else delta_of(move, self.terms) for move in moves}
        trial = _Trial(self.classes, self.prior, self._piece_rows, groups, self.deltas, self.terms, self.kept)
        return sums_as_numbers(self.counts.fold(trial, add_sums))

    def _keeps(self) -> bool:
        """Whether the rows are at hand and the terms of all groups of one step may be kept for the next."""
        n, block = len(self.counts.features), getattr(self.counts.cases, "block", None)
        cells = n * (n + 1) // 2 * len(self.classes)
        return isinstance(block, Block) and 8 * cells * len(block) <= self.counts.budget // KEPT

    @property
    def _piece_rows(self) -> int:
        """How many rows are looked at together: all states of a feature may be needed for each of them."""
        cards = self.counts.cards(self.counts.features)
        return max(1, PIECE_CELLS // (len(self.classes) * (len(cards) + max(cards, default=1))))

    def _batches(self, moves: Sequence[Move]) -> Iterable[list[Move]]:
        """The moves in order, those together whose tables fit the budget."""
        batch_of = np.cumsum([self._bytes(move.new) for move in moves]) // max(1, self.counts.budget // TABLES)
        return ([move for move, _ in own] for _, own in groupby(zip(moves, batch_of.tolist(), strict=True), key=lambda m: m[1]))

    def _bytes(self, group: Group | None) -> int:
        """What the counts of a group take, with what is worked out from them for each cell, or for each cell and class."""
        cells = 0 if group is None else prod(shape_of(self.counts, group))
        return cells * (32 + (16 * len(self.classes) if cells <= TABULATED else 0))


@dataclass(eq=False)
class _Piece:
    """Some rows, what is left of the classes without each, and the terms of groups that are known of them."""

    block: Block
    left: RemainingClasses
    prior: Numbers  # (row, class)
    terms: dict[Group, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            logs, zeros = split_infinite(np.log(self.prior))
        self.nothing = term_of(logs, FACTOR * zeros, self.left.labels)
        states = np.arange(self.prior.shape[1])
        self.bounds = np.where(states[:, None] < self.left.labels, 0.0, 0.5 / STEPS)  # (class, row)
        self.limbs = limbs(self.block.weight)

    def forget(self, but: set[Any]) -> None:
        """Forget all terms but those of these groups."""
        self.terms = {group: term for group, term in self.terms.items() if group in but}

    def term(self, group: Group, terms: Mapping[Group, GroupTerms]) -> Term:
        """The term of a group."""
        return self.terms[group] if group in self.terms else terms[group](self.block, self.left)

    def wrong(self, total: Term) -> list[int]:
        """The limbs of the weight of the rows whose own class is not the first of those with the largest sum."""
        missed = (total.logs >= self.bounds).any(axis=0) if total.zeros is None else self._missed(total, total.zeros)
        return [int(np.count_nonzero(missed)) if limb is None else int(limb[missed].sum()) for limb in self.limbs.values()]

    def _missed(self, total: Term, zeros: NDArray[np.int32]) -> NDArray[np.bool_]:
        """The same where some classes are impossible, and rows in which all are follow the rule of prediction."""
        whole = np.where(zeros > 0, -np.inf, total.logs).T
        nowhere = np.flatnonzero(np.isneginf(whole.max(axis=1)))
        whole[nowhere] = fallback(zeros.T[nowhere] // FACTOR, self.prior[nowhere]) if len(nowhere) else 0.0
        return np.asarray(argmax_class(whole) != self.left.labels)


class _Ranked:
    """The rows of a piece, those first whose class is decided by the least, so that a small change concerns the first only."""

    def __init__(self, piece: _Piece, base: Term) -> None:
        rivals = base.logs.copy()
        rivals[piece.left.labels, np.arange(len(piece.block))] = -np.inf
        slack = np.abs(rivals.max(axis=0))
        order = np.argsort(slack, kind="stable")
        self.slack, self.logs, self.bounds = slack[order], base.logs[:, order], piece.bounds[:, order]
        self.block, self.labels = piece.block.take(order), piece.left.labels[order]
        missed = (self.logs >= self.bounds).any(axis=0)
        ones = np.ones(len(order), np.int64)
        self.weights = [ones if limb is None else limb[order] for limb in piece.limbs.values()]
        self.later = [np.append(np.cumsum((own * missed)[::-1])[::-1], 0) for own in self.weights]

    def wrong(self, delta: Delta) -> list[int]:
        """The limbs of the weight that is wrong after a change."""
        first = int(np.searchsorted(self.slack, delta.reach, side="right"))
        at = places(delta.shape, [self.block.codes[x][:first] for x in delta.group], self.labels[:first])
        missed = (self.logs[:, :first] + delta.logs.take(at, axis=1) >= self.bounds[:, :first]).any(axis=0)
        return [int(own[:first][missed].sum() + later[first]) for own, later in zip(self.weights, self.later, strict=True)]


@dataclass(frozen=True, eq=False)
class _Trial:
    """The weight of the rows of a block that are wrong after each move."""

    classes: Numbers
    prior: Numbers | None
    piece_rows: int
    groups: tuple[Group, ...]
    moves: Mapping[Move, Delta | None]
    terms: Mapping[Group, GroupTerms]
    kept: list[_Piece] | None

    def __call__(self, block: Block) -> LimbSums:
        starts = range(0, max(1, len(block)), self.piece_rows)
        if self.kept is None:
            return sum_all(_kernels.run_parallel(lambda start: self._judged(self._piece(block, start)), starts))
        if not self.kept:
            self.kept.extend(self._piece(block, start) for start in starts)
        return sum_all(_kernels.run_parallel(self._judged, self.kept))

    def _piece(self, block: Block, start: int) -> _Piece:
        rows = block.take(np.arange(start, min(len(block), start + self.piece_rows)))
        left = remaining_classes(rows, self.classes)
        prior = left.frequencies if self.prior is None else np.broadcast_to(self.prior, left.frequencies.shape)
        return _Piece(rows, left, prior)

    def _judged(self, piece: _Piece) -> LimbSums:
        self._hold(piece, self.groups)
        base = piece.nothing.changed([piece.terms[group] for group in self.groups], ())
        ranked = _Ranked(piece, base) if piece.left.whole and base.zeros is None else None
        if self.kept is not None:
            self._hold(piece, [m.new for m, delta in self.moves.items() if m.new is not None and (delta is None or ranked is None)])
        moved = partial(self._moved, piece, base, ranked)
        found = _kernels.run_parallel(moved, list(self.moves), 8.0 * piece.prior.size * len(self.moves))
        return {q: np.array([own[i] for own in found], np.int64) for i, q in enumerate(piece.limbs)}

    def _hold(self, piece: _Piece, groups: Sequence[Group]) -> None:
        """Work out the terms of these groups and hold them."""
        new = [group for group in groups if group not in piece.terms]
        terms = _kernels.run_parallel(partial(piece.term, terms=self.terms), new, 8.0 * piece.prior.size * len(new))
        piece.terms.update(zip(new, terms, strict=True))

    def _moved(self, piece: _Piece, base: Term, ranked: _Ranked | None, move: Move) -> list[int]:
        delta = self.moves[move]
        if ranked is not None and delta is not None:
            return ranked.wrong(delta)
        new = () if move.new is None else (piece.term(move.new, self.terms),)
        return piece.wrong(base.changed(new, [piece.terms[group] for group in move.gone]))
