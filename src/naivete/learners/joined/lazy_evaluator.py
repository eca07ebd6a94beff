"""The best of very many changes to joined features, found by lazy evaluation: most changes are ruled out by a bound.

A change can make right only rows that are wrong now, so that its errors are at least those of now less the wrong rows that it makes
right. These few rows are evaluated for all changes together, the other rows only for changes that may be the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import FamilyArray
from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.cases.base import Block
from naivete.counts.counts import Counts, informative_features
from naivete.inference.elimination import log
from naivete.inference.leave_one_out_terms import remaining_classes, split_infinite
from naivete.learners.joined.terms import FACTOR, STEPS, Group, Move, term_of
from naivete.network.smoothing import Lidstone, prior_probabilities, smoothing_of
from naivete.variables import CLASS

__all__ = ["LazyEvaluator", "lazy_evaluator"]

MOVE_BYTES = 600
"""About how many bytes a change takes as a Python object, with its place in lists and dictionaries."""
CELLS_AT_ONCE = 1 << 20
"""How many cells are computed together."""


class _Terms(NamedTuple):
    """log P(attributes | class) of a group for each configuration, one case left out: in other classes, and in its own."""

    other: Numbers  # (configuration, class)
    own: Numbers  # (configuration, class)


@dataclass(eq=False)
class _Changes:
    """The change of log P(row, class) by some moves of one shape, for each configuration of the attributes or for each row.

    Parameters
    ----------
    moves : the moves.
    attributes : the attributes of the configurations.  # (move, attribute)
    strides : the distance between two states of each attribute among the configurations; none where there is a cell for each row.
    other, own : the changes in the other classes, and in the class of the row.  # (move, configuration or row, class)
    largest : the largest absolute change relative to the class of the row.  # (move)
    """

    moves: list[Move]
    attributes: Integers
    strides: Integers | None
    other: Numbers
    own: Numbers
    largest: Numbers

    def take(self, kept: Integers) -> _Changes:
        """Return some of the moves."""
        moves = [self.moves[i] for i in kept.tolist()]
        return _Changes(
            moves, self.attributes[kept], self.strides, self.other[kept], self.own[kept], self.largest[kept]
        )

    def parts(self, rows: int) -> Iterator[Integers]:
        """Yield the positions of some moves at a time, for the evaluation of so many rows."""
        step = max(1, CELLS_AT_ONCE // max(1, rows * self.other.shape[2]))
        return (np.arange(start, min(start + step, len(self.moves))) for start in range(0, len(self.moves), step))


def lazy_evaluator(counts: Counts, smoothing: object, prior: Sequence[float] | None, moves: int) -> LazyEvaluator | None:
    """Return an evaluator where it can be used, else None.

    The rows have to be in memory, without missing values, each of them at least one whole case, and the smoothing has to be a
    pseudo-count of which multiples have no rounding errors. What is kept of all moves has to fit into a quarter of the budget.
    """
    block, method = getattr(counts.cases, "block", None), smoothing_of(smoothing)
    features, classes = informative_features(counts), counts.margins()[CLASS,]
    exact = isinstance(method, Lidstone) and method.alpha > 0 and float(method.alpha * 2**16).is_integer()
    if not isinstance(block, Block) or not exact or classes.dtype.kind != "i" or counts.continuous:
        return None
    if counts.cases.has_missing[features].any() or (block.weight is not None and block.weight.min(initial=1.0) < 1):
        return None
    most = max(counts.cards(features), default=1)
    if moves * (MOVE_BYTES + 16 * most * most * len(classes)) > counts.budget // 4:
        return None
    assert isinstance(method, Lidstone)
    evaluator = LazyEvaluator(counts, block, method.alpha, prior)
    return evaluator if evaluator.possible else None


class LazyEvaluator:
    """Finds the change of naive Bayes on groups of attributes with the fewest leave-one-out errors.

    Parameters
    ----------
    counts : the cases.
    block : their rows.
    alpha : the pseudo-count.
    prior : P(c) for every class; by default the relative frequencies.

    Attributes
    ----------
    possible : whether no class is impossible without one of its cases.
    """

    def __init__(self, counts: Counts, block: Block, alpha: float, prior: Sequence[float] | None) -> None:
        self.counts, self.alpha = counts, alpha
        classes = counts.margins()[CLASS,].astype(np.float64)
        remaining = remaining_classes(block, classes)
        self.labels, self.rows = remaining.labels, np.arange(len(block))
        self.weight = np.ones(len(block), np.int64) if block.weight is None else block.weight.astype(np.int64)
        self.codes = np.stack([block.codes[x] for x in counts.features]) if len(counts.features) else np.zeros((0, len(block)), int)
        shares = remaining.frequencies
        if prior is not None:
            shares = np.broadcast_to(prior_probabilities(prior, counts.variables[CLASS].states), shares.shape)
        logs, zeros = split_infinite(log(shares))
        self.possible = not zeros.any()
        self.logs = np.ascontiguousarray(term_of(logs, FACTOR * zeros, self.labels).logs.T)  # (row, class)
        states = np.arange(len(classes))
        self.bounds = np.where(states < self.labels[:, None], 0.0, 0.5 / STEPS)
        self.bounds[self.rows, self.labels] = np.inf
        self.terms: dict[Group, _Terms] = {}
        self.changes: list[_Changes] = []

    def start(self, groups: Sequence[Group]) -> None:
        """Add the terms of the first groups."""
        for changes in self._computed([Move((), group) for group in groups]):
            for i in range(len(changes.moves)):
                self.logs += self._change(changes, np.array([i]), self.rows)[0]
        self._keep_terms(groups)

    def best(self, moves: Sequence[Move], accept_ties: bool) -> Move | None:
        """Return the first of the moves with the fewest errors, if it has fewer than there are now (or as many, with ties)."""
        position = {move: i for i, move in enumerate(moves)}
        self._update(position)
        wrong = (self.logs >= self.bounds).any(axis=1)
        current = int(self.weight[wrong].sum())
        if not current:
            return None
        limit = current if accept_ties else current - 1
        least = np.full(len(moves), np.iinfo(np.int64).max)
        places: list[tuple[Integers, _Changes]] = []
        for changes in self.changes:
            at = np.array([position[move] for move in changes.moves])
            least[at] = current - self._made_right(changes, self.rows[wrong])
            places.append((at, changes))
        owner = np.zeros(len(moves), np.int64)
        index = np.zeros(len(moves), np.int64)
        for number, (at, _) in enumerate(places):
            owner[at], index[at] = number, np.arange(len(at))
        ranked = _Ranked(self.logs, self.bounds, self.rows[~wrong])
        found, chosen = limit + 1, len(moves)
        for i in np.lexsort((np.arange(len(moves)), least)).tolist():
            if least[i] > min(limit, found) or (least[i] == found and i > chosen):
                break
            errors = int(least[i]) + self._made_wrong(places[owner[i]][1], int(index[i]), ranked, found - int(least[i]))
            if (errors, i) < (found, chosen):
                found, chosen = errors, i
        return moves[chosen] if found <= limit else None

    def apply(self, move: Move) -> None:
        """Make a change."""
        changes, i = next((c, c.moves.index(move)) for c in self.changes if move in c.moves)
        self.logs += self._change(changes, np.array([i]), self.rows)[0]
        for group in move.removed:
            del self.terms[group]
        if move.new is not None:
            self._keep_terms([move.new])

    def _update(self, moves: Mapping[Move, int]) -> None:
        """Keep the changes of these moves only, and compute those of new ones."""
        kept: list[_Changes] = []
        for changes in self.changes:
            alive = np.flatnonzero([move in moves for move in changes.moves])
            if len(alive):
                kept.append(changes if len(alive) == len(changes.moves) else changes.take(alive))
        known = {move for changes in kept for move in changes.moves}
        self.changes = [*kept, *self._computed([move for move in moves if move not in known])]

    def _made_right(self, changes: _Changes, wrong: Integers) -> Integers:
        """Return the weight of the wrong rows that each move makes right."""
        result = np.zeros(len(changes.moves), np.int64)
        for some in changes.parts(len(wrong)):
            missed = (self.logs[wrong] + self._change(changes, some, wrong) >= self.bounds[wrong]).any(axis=2)
            result[some] = (~missed) @ self.weight[wrong]
        return result

    def _made_wrong(self, changes: _Changes, i: int, ranked: _Ranked, enough: int) -> int:  # noqa: ARG002
        """Return the weight of the right rows that a move makes wrong."""
        rows = ranked.within(float(changes.largest[i]))
        missed = (self.logs[rows] + self._change(changes, np.array([i]), rows)[0] >= self.bounds[rows]).any(axis=1)
        return int(self.weight[rows[missed]].sum())

    def _change(self, changes: _Changes, some: Integers, rows: Integers) -> Numbers:
        """Return the change of some rows by some moves, relative to the classes of the rows.  # (move, row, class)"""
        place = self._configurations(changes.attributes[some], changes.strides, rows)
        moves, labels = some[:, None], self.labels[rows]
        change = changes.other[moves, place]
        change -= changes.own[moves, place, labels][:, :, None]
        change[:, np.arange(len(rows)), labels] = 0.0
        return change

    def _configurations(self, attributes: Integers, strides: Integers | None, rows: Integers) -> Integers:
        """Return the configuration of attributes in some rows, or the rows where each has its own cell.  # (move, row)"""
        if strides is None:
            return np.broadcast_to(rows, (len(attributes), len(rows)))
        place = np.zeros((len(attributes), len(rows)), np.int64)
        for j, stride in enumerate(strides.tolist()):
            place += stride * self.codes[attributes[:, j, None], rows].astype(np.int64)
        return place

    def _keep_terms(self, groups: Iterable[Group]) -> None:
        """Compute and keep the terms of the current groups."""
        new = [group for group in groups if group not in self.terms]
        for positions, _, terms, shape in self._stacks(new):
            for i, other, own in zip(positions.tolist(), terms.other, terms.own, strict=True):
                self.terms[new[i]] = _Terms(other.reshape(*shape), own.reshape(*shape))

    def _stacks(self, groups: Sequence[Group]) -> Iterator[tuple[Integers, Bools, _Terms, tuple[int, ...]]]:
        """Yield the terms of groups of one shape, some at a time: positions, which cells occur, the terms, and the shape."""
        by_length: dict[int, list[int]] = {}
        for i, group in enumerate(groups):
            by_length.setdefault(len(group), []).append(i)
        for same in by_length.values():
            orders = np.array([(*groups[i], CLASS) for i in same], np.int64)
            cards = np.array(self.counts.cards([*self.counts.features, CLASS]), np.float64)[orders]
            for positions, stack in self.counts.arranged(FamilyArray.of_rows(orders), cards):
                shape = tuple(cards[positions[0]].astype(int).tolist())
                tables = np.stack([table.full(orders[p].tolist()) for p, table in zip(positions, stack.tables(), strict=True)])
                step = max(1, CELLS_AT_ONCE // prod(shape))
                for start in range(0, len(positions), step):
                    part = tables[start : start + step]
                    yield np.array(same)[positions[start : start + step]], part > 0, _terms(part, self.alpha), shape

    def _computed(self, moves: Sequence[Move]) -> list[_Changes]:
        """Return the changes by some moves."""
        result = [self._removals(same) for same in _by_shape(self.counts, [m for m in moves if m.new is None])]
        new = [(move, move.new) for move in moves if move.new is not None]
        for positions, occurs, terms, shape in self._stacks([group for _, group in new]):
            patterns: dict[tuple[tuple[int, ...], ...], list[int]] = {}
            for i, p in enumerate(positions.tolist()):
                move, group = new[p]
                patterns.setdefault(tuple(tuple(group.index(x) for x in some) for some in move.removed), []).append(i)
            for pattern, rows in patterns.items():
                some = [new[p][0] for p in positions[rows].tolist()]
                other, own = terms.other[rows], terms.own[rows]
                for k, axes in enumerate(pattern):
                    form = (-1, *(shape[a] if a in axes else 1 for a in range(len(shape) - 1)), shape[-1])
                    removed = [self.terms[move.removed[k]] for move in some]
                    other -= np.stack([part.other for part in removed]).reshape(form)
                    own -= np.stack([part.own for part in removed]).reshape(form)
                result.append(self._made(some, [move.new or () for move in some], other, own, occurs[rows]))
        return result

    def _removals(self, moves: Sequence[Move]) -> _Changes:
        """Return the changes by removing groups of one shape."""
        groups = [move.removed[0] for move in moves]
        other, own = (-np.stack([getattr(self.terms[group], kind) for group in groups]) for kind in ("other", "own"))
        return self._made(moves, groups, other, own, np.ones(other.shape, bool))

    def _made(
        self, moves: Sequence[Move], groups: Sequence[Group], other: NDArray[Any], own: NDArray[Any], occurs: Bools
    ) -> _Changes:
        """Return changes of one shape, for each row where there are more configurations than rows."""
        shape, classes = other.shape[1:-1], other.shape[-1]
        other, own, occurs = (part.reshape(len(moves), -1, classes) for part in (other, own, occurs))
        largest = np.zeros(len(moves))
        for label in range(classes):
            change = np.abs(other - own[:, :, [label]])
            change[:, :, label] = 0.0
            largest = np.maximum(largest, np.where(occurs[:, :, [label]], change, 0.0).max(axis=(1, 2), initial=0.0))
        attributes, strides = np.array(groups, np.int64), np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
        if other.shape[1] <= len(self.rows):
            return _Changes(list(moves), attributes, strides, other, own, largest)
        place = self._configurations(attributes, strides, self.rows)
        every = np.arange(len(moves))[:, None]
        return _Changes(list(moves), attributes, None, other[every, place], own[every, place], largest)


class _Ranked:
    """Rows that are right, sorted by the margin of their class: a small change can affect only the first of them."""

    def __init__(self, logs: Numbers, bounds: Numbers, rows: Integers) -> None:
        margin = -np.where(np.isinf(bounds[rows]), -np.inf, logs[rows]).max(axis=1, initial=-np.inf)
        order = np.argsort(margin, kind="stable")
        self.rows, self.margin = rows[order], margin[order]

    def within(self, change: float) -> Integers:
        """Return the rows that a change of this size can affect."""
        return self.rows[: int(np.searchsorted(self.margin, change, side="right"))]


def _terms(tables: NDArray[Any], alpha: float) -> _Terms:
    """Return the terms of groups of one shape from their counts, each attribute given those before it.  # (group, ..., class)"""
    n = tables.astype(np.float64)
    other, own = np.zeros(n.shape), np.zeros(n.shape)
    last = n.ndim - 2
    for axis in range(1, last + 1):
        counted = n.sum(axis=tuple(range(axis + 1, last + 1)), keepdims=True)
        smoothed = counted + alpha
        sums = smoothed.sum(axis=axis, keepdims=True)
        own += log((np.maximum(counted - 1, 0.0) + alpha) / (sums - (counted >= 1)))
        other += log(smoothed / sums)
    return _Terms(np.rint(other * STEPS) / STEPS, np.rint(own * STEPS) / STEPS)


def _by_shape(counts: Counts, moves: Sequence[Move]) -> list[list[Move]]:
    """Return moves that remove groups, those of one shape together."""
    same: dict[tuple[int, ...], list[Move]] = {}
    for move in moves:
        same.setdefault(counts.cards(move.removed[0]), []).append(move)
    return list(same.values())
