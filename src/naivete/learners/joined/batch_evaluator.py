"""The best of very many changes to joined features: their effects are computed as arrays and kept from step to step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import FamilyArray
from naivete._kernels.changes import Changes, RelativeLogs, changed_errors
from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.cases.base import Block
from naivete.counts.counts import Counts, informative_features
from naivete.counts.tables import DenseStack
from naivete.inference.elimination import log
from naivete.inference.leave_one_out_terms import remaining_classes, split_infinite
from naivete.learners.joined.terms import FACTOR, STEPS, Group, Move, term_of
from naivete.network.smoothing import Lidstone, prior_probabilities, smoothing_of
from naivete.variables import CLASS

__all__ = ["MOVE_BYTES", "BatchEvaluator", "batch_evaluator"]

MOVE_BYTES = 600
"""About how many bytes a change takes as a Python object, with its place in lists and dictionaries."""
CELLS_AT_ONCE = 1 << 20
"""How many cells are computed together."""


class _Terms(NamedTuple):
    """log P(attributes | class) of a group for each configuration, one case left out: in other classes, and in its own."""

    other_classes: Numbers  # (configuration, class)
    in_class: Numbers  # (configuration, class)


@dataclass(eq=False)
class _Moves:
    """Moves of one shape, and how they change log P(row, class).

    Parameters
    ----------
    moves : the moves.
    changes : the changes, for each configuration of the attributes, or for each row where that takes less memory.
    largest : the largest absolute change relative to the class of the row.  # (move)
    """

    moves: list[Move]
    changes: Changes
    largest: Numbers

    def take(self, kept: Integers) -> _Moves:
        """Return some of the moves."""
        attributes, strides, other_classes, in_class = self.changes
        some = Changes(attributes[kept], strides, other_classes[kept], in_class[kept])
        return _Moves([self.moves[i] for i in kept.tolist()], some, self.largest[kept])


def batch_evaluator(counts: Counts, smoothing: object, prior: Sequence[float] | None, moves: int) -> BatchEvaluator | None:
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
    evaluator = BatchEvaluator(counts, block, method.alpha, prior)
    return evaluator if evaluator.possible else None


class BatchEvaluator:
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
        columns = [*(block.codes[x] for x in counts.features), self.rows]  # the row itself is the last attribute
        self.codes = np.stack([column.astype(np.int32) for column in columns])
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
        self.known: list[_Moves] = []

    def start(self, groups: Sequence[Group]) -> None:
        """Add the terms of the first groups."""
        for some in self._computed([Move((), group) for group in groups]):
            for i in range(len(some.moves)):
                self.logs += self._change(some.changes, i)
        self._keep_terms(groups)

    def best(self, moves: Sequence[Move], accept_ties: bool) -> Move | None:
        """Return the first of the moves with the fewest errors, if it has fewer than there are now (or as many, with ties)."""
        position = {move: i for i, move in enumerate(moves)}
        self._update(position)
        current, errors = self.counts.fold(lambda _: self._errors(position), _one_block)
        best = int(np.argmin(errors))
        fewer = current > 0 and (errors[best] < current or (accept_ties and errors[best] == current))
        return moves[best] if fewer else None

    def _errors(self, position: Mapping[Move, int]) -> tuple[int, Integers]:
        """Return the weight of the rows that are wrong now, and after each move.

        The rows are sorted by the margin of their class: a small change can affect only the first of them.
        """
        margin = np.abs(np.where(np.isinf(self.bounds), -np.inf, self.logs).max(axis=1))
        order = np.argsort(margin, kind="stable")
        weight, logs, bounds = self.weight[order], self.logs[order], self.bounds[order]
        wrong = weight * (logs >= bounds).any(axis=1)
        later = np.append(np.cumsum(wrong[::-1])[::-1], 0)  # the weight of wrong rows from each position on
        rows = RelativeLogs(self.codes[:, order], self.labels[order].astype(np.int32), weight, logs, bounds)
        errors = np.zeros(len(position), np.int64)
        for some in self.known:
            affected = np.searchsorted(margin[order], some.largest, side="right")
            errors[[position[move] for move in some.moves]] = changed_errors(rows, some.changes, affected) + later[affected]
        return int(later[0]), errors

    def apply(self, move: Move) -> None:
        """Make a change."""
        some = next(some for some in self.known if move in some.moves)
        i, group = some.moves.index(move), move.new
        self.logs += self._change(some.changes, i)
        if group is not None:
            by_row = len(some.changes.strides) < len(group)
            self._keep_terms([group]) if by_row else self._keep_changed_terms(group, move.removed, some.changes, i)
        for removed in move.removed:
            del self.terms[removed]

    def _keep_changed_terms(self, group: Group, removed: Sequence[Group], changes: Changes, i: int) -> None:
        """Keep the terms of a new group: those of the groups that it replaces, and the change; sums are exact."""
        shape = self.counts.cards((*group, CLASS))
        other_classes, in_class = changes.other_classes[i].reshape(shape).copy(), changes.in_class[i].reshape(shape).copy()
        for part in removed:
            form = [*(card if x in part else 1 for x, card in zip(group, shape, strict=False)), shape[-1]]
            other_classes += self.terms[part].other_classes.reshape(form)
            in_class += self.terms[part].in_class.reshape(form)
        self.terms[group] = _Terms(other_classes, in_class)

    def _update(self, moves: Mapping[Move, int]) -> None:
        """Keep these moves only, and compute the changes by new ones."""
        kept: list[_Moves] = []
        for some in self.known:
            alive = np.flatnonzero([move in moves for move in some.moves])
            if len(alive):
                kept.append(some if len(alive) == len(some.moves) else some.take(alive))
        known = {move for some in kept for move in some.moves}
        self.known = [*kept, *self._computed([move for move in moves if move not in known])]

    def _change(self, changes: Changes, i: int) -> Numbers:
        """Return the change of all rows by one move, relative to the classes of the rows.  # (row, class)"""
        place = changes.strides @ self.codes[changes.attributes[i]]
        change = changes.other_classes[i, place] - changes.in_class[i, place, self.labels][:, None]
        change[self.rows, self.labels] = 0.0
        return np.asarray(change)

    def _keep_terms(self, groups: Iterable[Group]) -> None:
        """Compute and keep the terms of the current groups."""
        new = [group for group in groups if group not in self.terms]
        for positions, _, terms, shape in self._stacks(new):
            for i, other_classes, in_class in zip(positions.tolist(), terms.other_classes, terms.in_class, strict=True):
                self.terms[new[i]] = _Terms(other_classes.reshape(*shape), in_class.reshape(*shape))

    def _stacks(self, groups: Sequence[Group]) -> Iterator[tuple[Integers, Bools, _Terms, tuple[int, ...]]]:
        """Yield the terms of groups of one shape, some at a time: positions, which cells occur, the terms, and the shape."""
        by_length: dict[int, list[int]] = {}
        for i, group in enumerate(groups):
            by_length.setdefault(len(group), []).append(i)
        for length, same in by_length.items():
            orders = np.array([(*groups[i], CLASS) for i in same], np.int64)
            for positions, tables in self._margins(orders) if length == 1 else self._tables(orders):
                step = max(1, CELLS_AT_ONCE // tables[0].size)
                for start in range(0, len(positions), step):
                    part = tables[start : start + step]
                    yield np.array(same)[positions[start : start + step]], part > 0, _terms(part, self.alpha), part.shape[1:]

    def _margins(self, orders: Integers) -> Iterator[tuple[Integers, NDArray[Any]]]:
        """Yield the tables of single attributes with the class, which are known, those of one shape together."""
        margins = self.counts.margins()
        cards = np.array(self.counts.cards(orders[:, 0].tolist()))
        for card in np.unique(cards):
            positions = np.flatnonzero(cards == card)
            yield positions, np.stack([margins[x, CLASS] for x in orders[positions, 0].tolist()])

    def _tables(self, orders: Integers) -> Iterator[tuple[Integers, NDArray[Any]]]:
        """Yield the tables of groups with the class, those of one shape together; dense, whatever the number of rows."""
        cards = np.array(self.counts.cards([*self.counts.features, CLASS]), np.float64)[orders]
        for positions, stack in self.counts.table_stacks(FamilyArray.of_rows(orders), cards):
            if isinstance(stack, DenseStack):
                yield positions, stack.counts
            else:
                yield positions, stack.table.full(orders[positions[0]].tolist())[None]

    def _computed(self, moves: Sequence[Move]) -> list[_Moves]:
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
                other_classes, in_class = terms.other_classes[rows], terms.in_class[rows]
                for k, axes in enumerate(pattern):
                    form = (-1, *(shape[a] if a in axes else 1 for a in range(len(shape) - 1)), shape[-1])
                    removed = [self.terms[move.removed[k]] for move in some]
                    other_classes -= np.stack([part.other_classes for part in removed]).reshape(form)
                    in_class -= np.stack([part.in_class for part in removed]).reshape(form)
                result.append(self._made(some, [move.new or () for move in some], other_classes, in_class, occurs[rows]))
        return result

    def _removals(self, moves: Sequence[Move]) -> _Moves:
        """Return the changes by removing groups of one shape."""
        groups = [move.removed[0] for move in moves]
        other_classes, in_class = (-np.stack([getattr(self.terms[group], kind) for group in groups]) for kind in _Terms._fields)
        return self._made(moves, groups, other_classes, in_class, np.ones(other_classes.shape, bool))

    def _made(
        self, moves: Sequence[Move], groups: Sequence[Group], other_classes: Numbers, in_class: Numbers, occurs: Bools
    ) -> _Moves:
        """Return moves of one shape with their changes, for each row where there are more configurations than rows."""
        shape, classes = other_classes.shape[1:-1], other_classes.shape[-1]
        other_classes, in_class = (part.reshape(len(moves), -1, classes) for part in (other_classes, in_class))
        occurs = occurs.reshape(len(moves), -1, classes)
        largest = np.zeros(len(moves))
        for label in range(classes):
            change = np.abs(other_classes - in_class[:, :, [label]])
            change[:, :, label] = 0.0
            largest = np.maximum(largest, np.where(occurs[:, :, [label]], change, 0.0).max(axis=(1, 2), initial=0.0))
        attributes, strides = np.array(groups, np.int64), np.cumprod([1, *shape[:0:-1]])[::-1].astype(np.int64)
        if other_classes.shape[1] <= len(self.rows):
            return _Moves(list(moves), Changes(attributes, strides, other_classes, in_class), largest)
        place = np.einsum("kmr,k->mr", self.codes[attributes.T], strides)
        every = np.arange(len(moves))[:, None]
        itself = np.full((len(moves), 1), len(self.codes) - 1)
        changes = Changes(itself, np.ones(1, np.int64), other_classes[every, place], in_class[every, place])
        return _Moves(list(moves), changes, largest)


def _one_block(one: tuple[int, Integers], two: tuple[int, Integers]) -> tuple[int, Integers]:
    """Return the sums; rows in memory are one block, so that nothing has to be added."""
    return one[0] + two[0], one[1] + two[1]


def _terms(tables: NDArray[Any], alpha: float) -> _Terms:
    """Return the terms of groups of one shape from their counts, each attribute given those before it.  # (group, ..., class)"""
    n = tables.astype(np.float64)
    other_classes, in_class = np.zeros(n.shape), np.zeros(n.shape)
    last = n.ndim - 2
    for axis in range(1, last + 1):
        counted = n.sum(axis=tuple(range(axis + 1, last + 1)), keepdims=True)
        smoothed = counted + alpha
        sums = smoothed.sum(axis=axis, keepdims=True)
        in_class += log((np.maximum(counted - 1, 0.0) + alpha) / (sums - (counted >= 1)))
        other_classes += log(smoothed / sums)
    return _Terms(np.rint(other_classes * STEPS) / STEPS, np.rint(in_class * STEPS) / STEPS)


def _by_shape(counts: Counts, moves: Sequence[Move]) -> list[list[Move]]:
    """Return moves that remove groups, those of one shape together."""
    same: dict[tuple[int, ...], list[Move]] = {}
    for move in moves:
        same.setdefault(counts.cards(move.removed[0]), []).append(move)
    return list(same.values())
