"""Tables of pairs of features with the class, dense or sparse, with the same methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.counts.entropy_terms import SCALE, EntropyTerms, conditional_informations
from naivete.counts.tables import SparseTable

__all__ = ["PairCounts", "Pairs", "SparsePair"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The tables of all pairs of one group of features with another, each with the class.

    Parameters
    ----------
    first, second : the features of the groups, increasing; where the groups overlap, only pairs with first < second are valid.
    made : returns the tables; called for each use, so that they need not be kept.
    complete : whether no value of these features is missing.
    """

    first: Integers
    second: Integers
    made: Callable[[], NDArray[Any]]
    complete: bool

    @property
    def tables(self) -> NDArray[Any]:
        """The counts.  # (first, second, state of the first, state of the second, class)"""
        return self.made()

    @property
    def valid(self) -> Bools:
        """Which pairs are valid: of a group with itself, one of each two.  # (first, second)"""
        return (self.first[:, None] < self.second) | ~np.isin(self.second, self.first)

    def cell_terms(self, terms: EntropyTerms) -> Integers:
        """Return the sum of the entropy terms of the cells of each pair.  # (first, second)"""
        return terms.sums(self.tables)

    def informations(self, terms: EntropyTerms) -> Numbers:
        """Return I(X; Y | C) of each pair, in bits, over the cases in which both are observed.  # (first, second)"""
        return conditional_informations(terms, self.tables)

    def conditional_counts(self) -> Iterator[PairCounts]:
        """Yield the counts without the class, of the second features given the first ones, then the other way round."""
        rows, columns = np.nonzero(self.valid)
        both = self.tables[rows, columns].sum(axis=-1)  # (pair, state of the first, state of the second)
        first, second = self.first[rows], self.second[columns]
        yield PairCounts(first, second, both, both.shape[1])
        yield PairCounts(second, first, both.swapaxes(1, 2), both.shape[2])


@dataclass(frozen=True, eq=False)
class SparsePair:
    """The sparse table of two features with the class; the methods are those of `Pairs`.

    Parameters
    ----------
    table : the counts.
    complete : whether no value of the two features is missing.
    """

    table: SparseTable
    complete: bool

    valid: ClassVar[Bools] = np.ones((1, 1), bool)

    @property
    def first(self) -> Integers:
        """The first feature."""
        return np.array(self.table.members[:1])

    @property
    def second(self) -> Integers:
        """The second feature."""
        return np.array(self.table.members[1:2])

    def cell_terms(self, terms: EntropyTerms) -> Integers:
        """Return the sum of the entropy terms of the cells, of which empty ones add zero.  # (1, 1)"""
        return terms.sum_of(self.table.counts).reshape(1, 1)

    def informations(self, terms: EntropyTerms) -> Numbers:
        """Return I(X; Y | C) in bits, over the cases in which both features are observed.  # (1, 1)"""
        x, y, c = self.table.members
        classes = self.table.marginal(c)
        share = float(classes.sum()) / terms.total
        sums = self.cell_terms(terms) - terms.sum_of(self.table.marginal(x, c)) - terms.sum_of(self.table.marginal(y, c))
        return np.asarray((sums + terms.sum_of(classes)) / SCALE / (share if share > 0 else 1.0))

    def conditional_counts(self) -> Iterator[PairCounts]:
        """Yield the counts without the class, of each feature in the states of the other that occur."""
        x, y, c = self.table.members
        for parent, child in ((x, y), (y, x)):
            n = self.table.slices(child, without=c)[None]
            yield PairCounts(np.array([parent]), np.array([child]), n, self.table.card(parent))


class PairCounts(NamedTuple):
    """Counts of features in the states of one other feature each.

    Parameters
    ----------
    parents, children : the features.  # (pair)
    counts : the counts.  # (pair, state of the parent, state of the child)
    cards : the number of states of the parents.
    """

    parents: Integers
    children: Integers
    counts: NDArray[Any]
    cards: int
