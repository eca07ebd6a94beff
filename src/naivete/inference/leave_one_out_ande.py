"""Exact leave-one-out of averaged n-dependence estimators: each case is predicted from the joint counts of all other cases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Numbers, missing, missing_code, narrowest
from naivete.cases.base import Block
from naivete.counts.tables import DenseTable
from naivete.inference.elimination import log
from naivete.inference.leave_one_out import BLOCK_CELLS, pieces_of
from naivete.inference.leave_one_out_networks import LeaveOneOut
from naivete.inference.leave_one_out_terms import FamilyTerms, RemainingClasses, remaining_classes
from naivete.network.ande import AnDE
from naivete.network.smoothing import Lidstone
from naivete.variables import CLASS, Family, family

__all__ = ["LeaveOneOutAnDE"]


class LeaveOneOutAnDE:
    """log P(row, class) of the average up to a term that is the same for all classes, estimated without the row.

    Minimum frequency and subsumption are decided without the row too. A value that another value of the row implies occurs with it
    in the row itself, so that leaving out the row only lowers the number of cases from which the implication is assumed.

    The tables of a model of the average are made when it is needed and then given up, so that they take no more memory than one
    model.

    Parameters
    ----------
    ande : the model, estimated from all cases.
    naive : leave-one-out of the naive Bayes network, which predicts rows whose values are too rare.
    """

    def __init__(self, ande: AnDE, naive: LeaveOneOut) -> None:
        self.ande, self.naive, self.classes = ande, naive, naive.classes
        self.cards = tuple(v.card for v in ande.variables)

    def __call__(self, block: Block) -> Numbers:
        """Return the logarithms of the rows of a block, each without its weight in the block.  # (row, class)"""
        kept = self._without_implied(block)
        others = np.arange(len(block))
        joint = np.full((len(block), len(self.classes)), -np.inf)
        for n in range(self.ande.n, 0, -1):
            if len(others):
                joint[others] = self._average(n, kept.take(others))
                others = others[np.isneginf(joint[others].max(axis=1))]
        if len(others):
            joint[others] = self.naive(block.take(others))
        return joint

    def _average(self, n: int, block: Block) -> Numbers:
        """Return the logarithm of the mean over the models with n parents that qualify; -inf where none does.  # (row, class)"""
        step = max(1, BLOCK_CELLS // (2 * len(self.classes) + max(self.cards) * len(self.classes)))
        pieces = [(piece, remaining_classes(piece, self.classes, copies=False)) for piece in pieces_of(block, step)]
        work = len(block) * len(self.ande.features) * len(self.classes) * 8
        total, used = np.full((len(block), len(self.classes)), -np.inf), np.zeros((len(block), 1))
        for parents in combinations(self.ande.features, n):
            model = _Model(self.ande, parents, self.classes)
            logs = np.concatenate(_kernels.run_parallel(model, pieces, work=work))
            total = np.logaddexp(total, logs[:, :-1])
            used[:, 0] += logs[:, -1]
        return np.asarray(total - np.log(np.maximum(used, 1)))

    @cached_property
    def _implications(self) -> list[tuple[int, int, Bools, Bools]]:
        """The pairs of features, and where the value of the first implies that of the second, and the other way round.

        This is without regard to the number of cases.
        """
        found = []
        for x, y in combinations(self.ande.features, 2) if self.ande.subsumption is not None else ():
            n, first, second = (self.ande.tables[members] for members in ((x, y, CLASS), (x, CLASS), (y, CLASS)))
            equal = (n == first[:, None]).all(axis=-1), (n == second).all(axis=-1)
            if equal[0].any() or equal[1].any():
                found.append((x, y, *equal))
        return found

    def _without_implied(self, block: Block) -> Block:
        """Return the rows with values that another value of the row implies as missing."""
        codes, left_out, least = block.codes, _weight(block), self.ande.subsumption or 0.0
        dropped: dict[int, Bools] = {}
        for x, y, first_equal, second_equal in self._implications:
            observed = ~(missing(codes[x]) | missing(codes[y]))
            values = tuple(np.where(observed, codes[v], 0).astype(np.int64) for v in (x, y))
            first, second = (
                observed & equal[values] & (self.ande.frequencies((v,))[value] - left_out >= least)
                for v, value, equal in zip((x, y), values, (first_equal, second_equal), strict=True)
            )
            dropped[x] = dropped.get(x, False) | (second & ~first)
            dropped[y] = dropped.get(y, False) | first
        columns = [
            np.where(dropped[v], column.dtype.type(missing_code(column.dtype)), column) if v in dropped else column
            for v, column in enumerate(codes[:-1])
        ]
        return Block((*columns, codes[-1]), block.weight)


class _Model:
    """One model of the average, without each row.

    Parameters
    ----------
    ande : the average.
    parents : the parents of all other features.
    classes : the weight of every class.
    """

    def __init__(self, ande: AnDE, parents: Family, classes: Numbers) -> None:
        self.parents, self.least, self.alpha = parents, ande.min_frequency, 0.0
        self.counts = ande.tables[family(*parents, CLASS)]
        cards = tuple(v.card for v in ande.variables)
        children = [x for x in ande.features if x not in parents]
        families = [(x, family(*parents, x, CLASS)) for x in children]
        self.terms = [FamilyTerms(_table(f, ande.tables[f]), x, parents, classes, ande.smoothing, cards) for x, f in families]
        self.prior, self.joined = ande.prior, None
        if isinstance(ande.smoothing, Lidstone) and ande.prior is None:
            self.alpha = ande.smoothing.alpha
        else:  # P(class) P(parents | class), with the parents as one variable
            joined = self.counts.reshape(-1, self.counts.shape[-1])
            self.joined = FamilyTerms(_table((0, CLASS), joined), 0, (), classes, ande.smoothing, joined.shape)

    def __call__(self, part: tuple[Block, RemainingClasses]) -> Numbers:
        """Return log P(row, class), -inf where the parents do not qualify, and whether they qualify.  # (row, class + 1)"""
        piece, remaining = part
        absent = np.logical_or.reduce([missing(piece.codes[x]) for x in self.parents])
        values = tuple(np.where(absent, 0, piece.codes[x]).astype(np.int64) for x in self.parents)
        counts = np.maximum(self.counts[values] - remaining.left_out, 0.0)  # (row, class)
        qualified = ~absent & (self.counts.sum(axis=-1)[values] - _weight(piece) >= self.least)
        logs = self._parents(piece, remaining, counts, values)
        for terms in self.terms:
            logs = logs + terms(piece, remaining)
        return np.column_stack([np.where(qualified[:, None], logs, -np.inf), qualified])

    def _parents(self, piece: Block, remaining: RemainingClasses, counts: Numbers, values: Sequence[NDArray[np.int64]]) -> Numbers:
        """Return log P(class, parents).  # (row, class)"""
        if self.joined is None:
            size = self.counts.size
            total = np.maximum(self.counts.sum() - _weight(piece), 0.0)[:, None] + self.alpha * size
            return log(np.where(total > 0, (counts + self.alpha) / np.where(total > 0, total, 1.0), 1 / size))
        states = self.counts.shape[:-1]
        code = np.ravel_multi_index(tuple(values), states).astype(narrowest(int(np.prod(states))))
        prior = remaining.frequencies if self.prior is None else self.prior
        return log(np.asarray(prior)) + self.joined(Block((code, piece.codes[-1]), piece.weight), remaining)


def _weight(block: Block) -> Numbers:
    """Return the weight of each row."""
    return np.ones(len(block)) if block.weight is None else block.weight


def _table(members: Family, counts: Numbers) -> DenseTable:
    """Return a table of counts, as whole numbers where all are whole."""
    whole = not (counts % 1).any() and counts.max(initial=0.0) < 2**53
    return DenseTable(members, counts.astype(np.int64) if whole else counts)
