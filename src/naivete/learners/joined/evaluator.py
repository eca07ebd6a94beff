"""The leave-one-out errors after each of many changes to joined features, in two passes for all changes together."""

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
from naivete.inference.leave_one_out_terms import RemainingClasses, remaining_classes, split_infinite
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
    positions,
    shape_of,
    term_of,
)
from naivete.network.smoothing import prior_probabilities, smoothing_of
from naivete.variables import CLASS

__all__ = ["MoveEvaluator"]


PIECE_CELLS = 1 << 20
"""How many terms of the current groups are held for the rows that are evaluated together."""
KEPT_SHARE = 8
"""The terms of rows in memory are kept from step to step where they need at most this part of the budget."""
TABLES_SHARE = 4
"""The tables of groups that are evaluated together need about this part of the budget at most."""


class MoveEvaluator:
    """Computes the leave-one-out errors of naive Bayes on groups of attributes after each of some changes.

    Parameters
    ----------
    counts : the cases.
    smoothing, prior : as for `estimate`.
    """

    def __init__(self, counts: Counts, smoothing: object, prior: Sequence[float] | None) -> None:
        self.counts, self.smoothing = counts, smoothing_of(smoothing)
        classes = counts.margins()[CLASS,]
        self.classes, self.copies = classes.astype(np.float64), counts.copies(classes)
        self.prior = None if prior is None else prior_probabilities(prior, counts.variables[CLASS].states)
        self.kept: list[_Piece] | None = [] if self._keeps() else None
        self.terms: dict[Group, GroupTerms] = {}
        self.deltas: dict[Move, Delta | None] = {}

    def wrong(self, groups: Sequence[Group], moves: Sequence[Move]) -> NDArray[Any]:
        """Return the weight of the cases that are classified wrongly after each move; zero if and only if none is."""
        for piece in self.kept or ():
            piece.keep_only({*groups, *(move.new for move in moves)})
        return np.concatenate([self._wrong(tuple(groups), batch) for batch in self._batches(moves)])

    def _wrong(self, groups: tuple[Group, ...], moves: Sequence[Move]) -> NDArray[Any]:
        needed = dict.fromkeys([*groups, *(move.new for move in moves if move.new is not None)])
        new = [group for group in needed if group not in self.terms]
        self.terms = {group: terms for group, terms in self.terms.items() if group in needed}
        self.terms |= group_terms(self.counts, new, self.classes, self.smoothing)
        self.deltas = {move: self.deltas[move] if move in self.deltas else delta_of(move, self.terms) for move in moves}
        errors = _Errors(self.classes, self.copies, self.prior, self._piece_rows, groups, self.deltas, self.terms, self.kept)
        return sums_as_numbers(self.counts.fold(errors, add_sums))

    def _keeps(self) -> bool:
        """Whether the rows are in memory and the terms of all groups of one step may be kept for the next."""
        n, block = len(self.counts.features), getattr(self.counts.cases, "block", None)
        cells = n * (n + 1) // 2 * len(self.classes)
        return isinstance(block, Block) and 8 * cells * len(block) <= self.counts.budget // KEPT_SHARE

    @property
    def _piece_rows(self) -> int:
        """How many rows are evaluated together; all states of a feature may be needed for each of them."""
        cards = self.counts.cards(self.counts.features)
        return max(1, PIECE_CELLS // (len(self.classes) * (len(cards) + max(cards, default=1))))

    def _batches(self, moves: Sequence[Move]) -> Iterable[list[Move]]:
        """The moves in order, in batches whose tables fit the budget."""
        batch_of = np.cumsum([self._bytes(move.new) for move in moves]) // max(1, self.counts.budget // TABLES_SHARE)
        return ([move for move, _ in batch] for _, batch in groupby(zip(moves, batch_of.tolist(), strict=True), key=lambda m: m[1]))

    def _bytes(self, group: Group | None) -> int:
        """Return the memory that the counts of a group need, with the values computed for each cell, or for each cell and class."""
        cells = 0 if group is None else prod(shape_of(self.counts, group))
        return cells * (32 + (16 * len(self.classes) if cells <= TABULATED else 0))


@dataclass(eq=False)
class _Piece:
    """Some rows, the class counts without each row, and the terms of some groups."""

    block: Block
    remaining: RemainingClasses
    prior: Numbers  # (row, class)
    terms: dict[Group, Term] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            logs, zeros = split_infinite(np.log(self.prior))
        self.prior_term = term_of(logs, FACTOR * zeros, self.remaining.labels)
        states = np.arange(self.prior.shape[1])
        self.bounds = np.where(states[:, None] < self.remaining.labels, 0.0, 0.5 / STEPS)  # (class, row)
        self.limbs = limbs(self.block.weight)

    def keep_only(self, groups: set[Any]) -> None:
        """Drop all terms except those of these groups."""
        self.terms = {group: term for group, term in self.terms.items() if group in groups}

    def term(self, group: Group, terms: Mapping[Group, GroupTerms]) -> Term:
        """Return the term of a group."""
        return self.terms[group] if group in self.terms else terms[group](self.block, self.remaining)

    def wrong(self, total: Term) -> list[int]:
        """Return the limbs of the weight of the rows whose true class is not the first of those with the largest sum."""
        missed = (total.logs >= self.bounds).any(axis=0) if total.zeros is None else self._missed(total, total.zeros)
        return [int(np.count_nonzero(missed)) if limb is None else int(limb[missed].sum()) for limb in self.limbs.values()]

    def _missed(self, total: Term, zeros: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which rows are wrong where some classes are impossible; where all are, the fallback of prediction applies."""
        logs = np.where(zeros > 0, -np.inf, total.logs).T
        impossible = np.flatnonzero(np.isneginf(logs.max(axis=1)))
        logs[impossible] = fallback(zeros.T[impossible] // FACTOR, self.prior[impossible]) if len(impossible) else 0.0
        return np.asarray(argmax_class(logs) != self.remaining.labels)


class _Ranked:
    """The rows of a piece, sorted by the margin of their class, so that a small change can affect only the first rows."""

    def __init__(self, piece: _Piece, base: Term) -> None:
        rivals = base.logs.copy()
        rivals[piece.remaining.labels, np.arange(len(piece.block))] = -np.inf
        margin = np.abs(rivals.max(axis=0))
        order = np.argsort(margin, kind="stable")
        self.margin, self.logs, self.bounds = margin[order], base.logs[:, order], piece.bounds[:, order]
        self.block, self.labels = piece.block.take(order), piece.remaining.labels[order]
        missed = (self.logs >= self.bounds).any(axis=0)
        ones = np.ones(len(order), np.int64)
        self.weights = [ones if limb is None else limb[order] for limb in piece.limbs.values()]
        self.later = [np.append(np.cumsum((weight * missed)[::-1])[::-1], 0) for weight in self.weights]

    def wrong(self, delta: Delta) -> list[int]:
        """Return the limbs of the weight that is wrong after a change."""
        first = int(np.searchsorted(self.margin, delta.largest, side="right"))
        columns = positions(delta.shape, [self.block.codes[x][:first] for x in delta.group], self.labels[:first])
        missed = (self.logs[:, :first] + delta.logs.take(columns, axis=1) >= self.bounds[:, :first]).any(axis=0)
        return [int(weight[:first][missed].sum() + later[first]) for weight, later in zip(self.weights, self.later, strict=True)]


@dataclass(frozen=True, eq=False)
class _Errors:
    """The weight of the rows of a block that are classified wrongly after each move."""

    classes: Numbers
    copies: bool  # all weights are whole numbers
    prior: Numbers | None
    piece_rows: int
    groups: tuple[Group, ...]
    moves: Mapping[Move, Delta | None]
    terms: Mapping[Group, GroupTerms]
    kept: list[_Piece] | None

    def __call__(self, block: Block) -> LimbSums:
        starts = range(0, max(1, len(block)), self.piece_rows)
        if self.kept is None:
            return sum_all(_kernels.run_parallel(lambda start: self._evaluated(self._piece(block, start)), starts))
        if not self.kept:
            self.kept.extend(self._piece(block, start) for start in starts)
        return sum_all(_kernels.run_parallel(self._evaluated, self.kept))

    def _piece(self, block: Block, start: int) -> _Piece:
        rows = block.take(np.arange(start, min(len(block), start + self.piece_rows)))
        remaining = remaining_classes(rows, self.classes, copies=self.copies)
        shape = remaining.frequencies.shape
        return _Piece(rows, remaining, remaining.frequencies if self.prior is None else np.broadcast_to(self.prior, shape))

    def _evaluated(self, piece: _Piece) -> LimbSums:
        self._hold(piece, self.groups)
        base = piece.prior_term.changed([piece.terms[group] for group in self.groups], ())
        ranked = _Ranked(piece, base) if piece.remaining.whole and base.zeros is None else None
        if self.kept is not None:
            self._hold(piece, [m.new for m, delta in self.moves.items() if m.new is not None and (delta is None or ranked is None)])
        moved = partial(self._moved, piece, base, ranked)
        wrong = _kernels.run_parallel(moved, list(self.moves), 8.0 * piece.prior.size * len(self.moves))
        return {q: np.array([limbs_of_move[i] for limbs_of_move in wrong], np.int64) for i, q in enumerate(piece.limbs)}

    def _hold(self, piece: _Piece, groups: Sequence[Group]) -> None:
        """Compute the terms of these groups and keep them in the piece."""
        new = [group for group in groups if group not in piece.terms]
        terms = _kernels.run_parallel(partial(piece.term, terms=self.terms), new, 8.0 * piece.prior.size * len(new))
        piece.terms.update(zip(new, terms, strict=True))

    def _moved(self, piece: _Piece, base: Term, ranked: _Ranked | None, move: Move) -> list[int]:
        delta = self.moves[move]
        if ranked is not None and delta is not None:
            return ranked.wrong(delta)
        new = () if move.new is None else (piece.term(move.new, self.terms),)
        return piece.wrong(base.changed(new, [piece.terms[group] for group in move.removed]))
