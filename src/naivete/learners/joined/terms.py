"""What joined features add to log P(row, class), each row left out of what is learned, and what changes to them add.

A feature is a group of attributes that are modelled jointly given the class, so that log P(row, class) is a sum of one term for
each group, and a change exchanges a few terms. Terms are rounded to multiples of 2**-32: then their sums are exact, and neither
the order of the groups nor the way to them can decide between two classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, narrowest
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.inference.leave_one_out import FamilyTerms, RemainingClasses, remaining_classes, split_infinite
from naivete.inference.predictor import Predictor
from naivete.network.estimation import estimate
from naivete.network.network import Network, Structure
from naivete.network.smoothing import Smoothing
from naivete.variables import CLASS, family

__all__ = [
    "FACTOR",
    "STAY",
    "STEPS",
    "TABULATED",
    "Delta",
    "Group",
    "GroupTerms",
    "Move",
    "Term",
    "chain",
    "delta_of",
    "group_terms",
    "places",
    "shape_of",
    "term_of",
]

Group = tuple[int, ...]
"""Attributes that are one feature, increasing."""

TABULATED = 1 << 12
"""The terms of a group are worked out for each configuration with the class, not for each row, up to so many of them."""
STEPS = 2.0**32
"""Terms are whole numbers of steps, so many to one."""
FACTOR = 1 << 16
"""What a factor of zero counts where those are counted, so that sums which are zero can be counted beside them."""


class Move(NamedTuple):
    """A change to the groups: those that go, and the one that comes."""

    gone: tuple[Group, ...]
    new: Group | None

    def applied(self, groups: Sequence[Group]) -> list[Group]:
        """The groups after the change, by their lowest attributes."""
        return sorted([*(g for g in groups if g not in self.gone), *([] if self.new is None else [self.new])])


STAY = Move((), None)


def chain(group: Group) -> dict[int, tuple[int, ...]]:
    """The parents that make a group joint given the class: each attribute depends on all before it.

    >>> chain((2, 5, 7))
    {2: (-1,), 5: (2, -1), 7: (2, 5, -1)}
    """
    return {x: (*group[:i], CLASS) for i, x in enumerate(group)}


class Term(NamedTuple):
    """What a group adds to log P(row, class), less what it adds in the row's own class, and where that is impossible."""

    logs: Numbers  # (class, row)
    zeros: NDArray[np.int32] | None  # FACTOR for each factor that is zero, 1 where all that is summed is zero  (class, row)

    def changed(self, new: Iterable[Term], gone: Iterable[Term]) -> Term:
        """The sum with and without some other terms."""
        logs, zeros = self
        for sign, terms in ((1, new), (-1, gone)):
            for term in terms:
                logs = logs + term.logs if sign > 0 else logs - term.logs
                if term.zeros is not None:
                    zeros = sign * term.zeros + (0 if zeros is None else zeros)
        return Term(logs, zeros)

    def taken(self, at: NDArray[np.int64]) -> Term:
        """The term of rows that are found here."""
        zeros = None if self.zeros is None else self.zeros.take(at, axis=1)
        return Term(self.logs.take(at, axis=1), zeros if zeros is not None and zeros.any() else None)


def term_of(logs: Numbers, zeros: NDArray[Any], labels: NDArray[np.int64]) -> Term:
    """The term of logarithms whose infinite ones are counted apart.  # (row, class)"""
    exact = np.rint(logs.T * STEPS) / STEPS
    return Term(exact - exact[labels, np.arange(len(labels))], zeros.T.astype(np.int32) if zeros.any() else None)


class GroupTerms:
    """The terms of one group for rows, each estimated without the row.

    Parameters
    ----------
    group : the attributes.
    families : the terms of the attributes given those before them.
    network : the group and the class alone, where missing values have to be summed out: a row has no part in the tables of the
        attributes it does not know all of.
    gaps : which attributes have missing values.
    shape : how many states each attribute has, missing among them, and the class.
    """

    def __init__(
        self,
        group: Group,
        families: Sequence[FamilyTerms],
        network: Network | None,
        gaps: NDArray[np.bool_],
        shape: tuple[int, ...],
    ) -> None:
        self.group, self.families, self.network, self.gaps, self.shape = group, families, network, gaps, shape
        self.table: Term | None = None

    def __call__(self, piece: Block, left: RemainingClasses) -> Term:
        """The terms of the rows of a piece."""
        if self.table is None or not left.whole:
            return self._worked_out(piece, left)
        return self.table.taken(places(self.shape, [piece.codes[x] for x in self.group], left.labels))

    def tabulate(self, features: int, classes: Numbers) -> None:
        """Work out once what leaving out one case makes of every configuration of the attributes and the class."""
        *codes, labels = np.indices(self.shape).reshape(len(self.shape), -1)
        columns = [labels] * (features + 1)
        for x, own, size, gap in zip(self.group, codes, self.shape, self.gaps, strict=False):
            dtype = narrowest(size)
            columns[x] = np.where(gap & (own == size - 1), np.iinfo(dtype).max, own).astype(dtype)
        every = Block(columns)
        self.table = self._worked_out(every, remaining_classes(every, classes))

    def _worked_out(self, piece: Block, left: RemainingClasses) -> Term:
        logs, zeros = split_infinite(self.families[0](piece, left))
        zeros *= FACTOR
        for terms in self.families[1:]:
            more, impossible = split_infinite(terms(piece, left))
            logs, zeros = logs + more, zeros + FACTOR * impossible
        if self.network is not None:
            summed_out = np.zeros_like(logs)
            Predictor(self.network).add_marginalised(summed_out, [piece.codes[x] for x in self.group], self.gaps)
            more, impossible = split_infinite(summed_out)
            logs, zeros = logs + more, zeros + impossible
        return term_of(logs, zeros, left.labels)


def places(shape: Sequence[int], codes: Sequence[NDArray[Any]], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where rows stand among all configurations of some attributes and the class; where there are gaps, missing is the last."""
    at = np.zeros(len(labels), np.int64)
    for column, size in zip(codes, shape, strict=False):
        at = at * size + np.minimum(column, size - 1)
    return at * shape[-1] + labels


class Delta(NamedTuple):
    """What a move adds to the sums, for each configuration of the attributes that it touches and the class."""

    group: Group
    shape: tuple[int, ...]
    logs: Numbers  # (class, configuration)
    reach: float  # no sum changes by more


def delta_of(move: Move, terms: Mapping[Group, GroupTerms]) -> Delta | None:
    """The delta of a move, where the terms of its groups are tabulated and nothing is impossible."""
    touched = ([] if move.new is None else [(1, terms[move.new])]) + [(-1, terms[group]) for group in move.gone]
    if not touched or any(own.table is None or own.table.zeros is not None for _, own in touched):
        return None
    group, shape = touched[0][1].group, touched[0][1].shape
    *states, labels = np.indices(shape).reshape(len(shape), -1)
    logs = np.zeros((shape[-1], len(labels)))
    for sign, own in touched:
        assert own.table is not None
        logs += sign * own.table.logs.take(places(own.shape, [states[group.index(x)] for x in own.group], labels), axis=1)
    return Delta(group, shape, logs, float(np.abs(logs).max()))


def group_terms(counts: Counts, groups: Sequence[Group], classes: Numbers, how: Smoothing) -> dict[Group, GroupTerms]:
    """The terms of many groups, counted in one pass; their tables are not kept."""
    own = counts.only(counts.features)
    parents = dict.fromkeys((x, group[:i]) for group in groups for i, x in enumerate(group))
    tables = own.tables([family(x, *before, CLASS) for x, before in parents])
    cards, gaps = counts.cards([*counts.features, CLASS]), counts.cases.gaps
    families = {
        (x, before): FamilyTerms(tables[family(x, *before, CLASS)], x, before, classes, how, cards) for x, before in parents
    }
    found = {}
    for group in groups:
        shape = shape_of(counts, group)
        chained = [families[x, group[:i]] for i, x in enumerate(group)]
        found[group] = GroupTerms(group, chained, _network(own, group, how), gaps[list(group)], shape)
        if prod(shape) <= min(TABULATED, counts.rows or TABULATED):
            found[group].tabulate(len(counts.features), classes)
    return found


def shape_of(counts: Counts, group: Group) -> tuple[int, ...]:
    """How many states each attribute has, missing among them, and the class."""
    return (*(counts.variables[x].card + int(counts.cases.gaps[x]) for x in group), counts.variables[CLASS].card)


def _network(counts: Counts, group: Group, how: Smoothing) -> Network | None:
    if not counts.cases.gaps[list(group[:-1])].any():
        return None
    structure: Structure = {CLASS: (), **chain(tuple(range(len(group))))}
    return estimate(counts.only(group), structure, how)
