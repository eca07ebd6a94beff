"""The leave-one-out terms of joined features in log P(row, class), and how changes to the features change them.

A feature is a group of attributes that are modeled jointly given the class. So log P(row, class) is a sum with one term for each
group, and a change to the groups replaces a few terms. Each row is left out of the estimates that are applied to it. Terms are
rounded to multiples of 2**-32: then sums are exact, and do not depend on the order of the groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers, missing_code, narrowest
from naivete.cases.base import Block
from naivete.counts.counts import Counts
from naivete.inference.elimination import Elimination
from naivete.inference.leave_one_out_terms import FamilyTerms, RemainingClasses, remaining_classes, split_infinite
from naivete.network.estimation import estimate
from naivete.network.network import Network, Structure
from naivete.network.smoothing import Smoothing
from naivete.variables import CLASS, family

__all__ = [
    "FACTOR",
    "NO_MOVE",
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
    "positions",
    "shape_of",
    "term_of",
]

Group = tuple[int, ...]
"""The attributes of one feature, increasing."""

TABULATED = 1 << 12
"""Up to this many configurations of the attributes and the class, the terms of a group are computed for each of them, not for each
row."""
STEPS = 2.0**32
"""Terms are multiples of 1 / STEPS."""
FACTOR = 1 << 16
"""What each factor of zero adds to a count of zeros; sums that are zero add one to the same count."""


class Move(NamedTuple):
    """A change to the groups: the removed groups, and the new one."""

    removed: tuple[Group, ...]
    new: Group | None

    def applied(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups after the change, ordered by their lowest attributes."""
        return sorted([*(g for g in groups if g not in self.removed), *([] if self.new is None else [self.new])])


NO_MOVE = Move((), None)


def chain(group: Group) -> dict[int, tuple[int, ...]]:
    """Return the parents that model a group jointly given the class: each attribute has all attributes before it as parents.

    >>> chain((2, 5, 7))
    {2: (-1,), 5: (2, -1), 7: (2, 5, -1)}
    """
    return {x: (*group[:i], CLASS) for i, x in enumerate(group)}


class Term(NamedTuple):
    """The term of a group in log P(row, class), relative to the true class of the row, and how many factors are zero."""

    logs: Numbers  # (class, row)
    zeros: NDArray[np.int32] | None  # FACTOR for each zero factor, 1 for a marginal sum of zero  (class, row)

    def changed(self, new: Iterable[Term], removed: Iterable[Term]) -> Term:
        """Return the sum of this term and new terms, minus removed ones."""
        logs, zeros = self
        for sign, terms in ((1, new), (-1, removed)):
            for term in terms:
                logs = logs + term.logs if sign > 0 else logs - term.logs
                if term.zeros is not None:
                    zeros = sign * term.zeros + (0 if zeros is None else zeros)
        return Term(logs, zeros)

    def taken(self, columns: NDArray[np.int64]) -> Term:
        """Return the term with some of the columns."""
        zeros = None if self.zeros is None else self.zeros.take(columns, axis=1)
        return Term(self.logs.take(columns, axis=1), zeros if zeros is not None and zeros.any() else None)


def term_of(logs: Numbers, zeros: NDArray[Any], labels: NDArray[np.int64]) -> Term:
    """Return the term of finite logarithms and counts of zero factors.  # (row, class)"""
    exact = np.rint(logs.T * STEPS) / STEPS
    return Term(exact - exact[labels, np.arange(len(labels))], zeros.T.astype(np.int32) if zeros.any() else None)


class GroupTerms:
    """Computes the terms of one group for rows, each estimated without the row.

    Parameters
    ----------
    group : the attributes.
    families : the terms of the attributes given those before them.
    network : a network of the group and the class, where missing values have to be marginalized; a row with a missing member of
        a family is not counted in its table.
    has_missing : which attributes have missing values.
    shape : the number of states of each attribute, including missing, and of the class.
    """

    def __init__(
        self,
        group: Group,
        families: Sequence[FamilyTerms],
        network: Network | None,
        has_missing: NDArray[np.bool_],
        shape: tuple[int, ...],
    ) -> None:
        self.group, self.families, self.network, self.has_missing, self.shape = group, families, network, has_missing, shape
        self.table: Term | None = None

    def __call__(self, piece: Block, remaining: RemainingClasses) -> Term:
        """Return the terms of some rows."""
        if self.table is None or not remaining.whole:
            return self._computed(piece, remaining)
        return self.table.taken(positions(self.shape, [piece.codes[x] for x in self.group], remaining.labels))

    def tabulate(self, features: int, classes: Numbers) -> None:
        """Compute the terms of every configuration of the attributes and the class once, one case left out."""
        *codes, labels = np.indices(self.shape).reshape(len(self.shape), -1)
        columns = [labels] * (features + 1)
        for x, states, size, has_missing in zip(self.group, codes, self.shape, self.has_missing, strict=False):
            dtype = narrowest(size)
            columns[x] = np.where(has_missing & (states == size - 1), missing_code(dtype), states).astype(dtype)
        configurations = Block(columns)
        self.table = self._computed(configurations, remaining_classes(configurations, classes))

    def _computed(self, piece: Block, remaining: RemainingClasses) -> Term:
        logs, zeros = split_infinite(self.families[0](piece, remaining))
        zeros *= FACTOR
        for terms in self.families[1:]:
            more, impossible = split_infinite(terms(piece, remaining))
            logs, zeros = logs + more, zeros + FACTOR * impossible
        if self.network is not None:
            marginalized = np.zeros_like(logs)
            Elimination(self.network).add(marginalized, [piece.codes[x] for x in self.group], self.has_missing)
            more, impossible = split_infinite(marginalized)
            logs, zeros = logs + more, zeros + impossible
        return term_of(logs, zeros, remaining.labels)


def positions(shape: Sequence[int], codes: Sequence[NDArray[Any]], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each row among all configurations of some attributes and the class; missing is the last state."""
    position = np.zeros(len(labels), np.int64)
    for column, size in zip(codes, shape, strict=False):
        position = position * size + np.minimum(column, size - 1)
    return position * shape[-1] + labels


class Delta(NamedTuple):
    """The change of log P(row, class) by a move, for each configuration of the affected attributes and the class."""

    group: Group
    shape: tuple[int, ...]
    logs: Numbers  # (class, configuration)
    largest: float  # the largest absolute change


def delta_of(move: Move, terms: Mapping[Group, GroupTerms]) -> Delta | None:
    """Return the change by a move, None where a term of its groups is not tabulated or has zero factors."""
    affected = ([] if move.new is None else [(1, terms[move.new])]) + [(-1, terms[group]) for group in move.removed]
    if not affected or any(part.table is None or part.table.zeros is not None for _, part in affected):
        return None
    group, shape = affected[0][1].group, affected[0][1].shape
    *states, labels = np.indices(shape).reshape(len(shape), -1)
    logs = np.zeros((shape[-1], len(labels)))
    for sign, part in affected:
        assert part.table is not None
        columns = positions(part.shape, [states[group.index(x)] for x in part.group], labels)
        logs += sign * part.table.logs.take(columns, axis=1)
    return Delta(group, shape, logs, float(np.abs(logs).max()))


def group_terms(counts: Counts, groups: Sequence[Group], classes: Numbers, smoothing: Smoothing) -> dict[Group, GroupTerms]:
    """Return the terms of many groups, counted in one pass; the counts are not kept."""
    copy = counts.only(counts.features)
    parents = dict.fromkeys((x, group[:i]) for group in groups for i, x in enumerate(group))
    tables = copy.tables([family(x, *before, CLASS) for x, before in parents])
    cards, has_missing = counts.cards([*counts.features, CLASS]), counts.cases.has_missing
    families = {
        (x, before): FamilyTerms(tables[family(x, *before, CLASS)], x, before, classes, smoothing, cards) for x, before in parents
    }
    terms = {}
    for group in groups:
        shape = shape_of(counts, group)
        chained = [families[x, group[:i]] for i, x in enumerate(group)]
        terms[group] = GroupTerms(group, chained, _network(copy, group, smoothing), has_missing[list(group)], shape)
        if prod(shape) <= min(TABULATED, counts.rows or TABULATED):
            terms[group].tabulate(len(counts.features), classes)
    return terms


def shape_of(counts: Counts, group: Group) -> tuple[int, ...]:
    """Return the number of states of each attribute, including missing, and of the class."""
    return (*(counts.variables[x].card + int(counts.cases.has_missing[x]) for x in group), counts.variables[CLASS].card)


def _network(counts: Counts, group: Group, smoothing: Smoothing) -> Network | None:
    if not counts.cases.has_missing[list(group[:-1])].any():
        return None
    structure: Structure = {CLASS: (), **chain(tuple(range(len(group))))}
    return estimate(counts.only(group), structure, smoothing)
