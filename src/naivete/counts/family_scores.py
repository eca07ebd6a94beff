"""The scores of many families and the gains of new parents, counted in one pass and computed with arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import FamilyArray
from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.counts.counts import Counts
from naivete.counts.pairs import PairCounts
from naivete.counts.scores import Score, looked_up
from naivete.counts.tables import TableStack
from naivete.variables import CLASS, Family, family

__all__ = ["Addition", "FamilyScores"]

TOLERANCE = 2.0**-36
"""Differences of scores up to this, times the number of cases, are rounding errors."""
OBSERVED_SHARE = 0.5
"""A parent is possible if it is observed in at least this share of the cases in which the variable is."""
ADDITION_BYTES = 400
"""About how many bytes an addition takes while its gain is computed, besides its table."""
SCORE_BYTES = 400
"""About how many bytes the score of a family takes that is kept, with its key."""
CELLS_AT_ONCE = 1 << 17
"""The scores of tables with this many cells in all are computed together."""

Addition = tuple[int, Iterable[int], Sequence[int] | Integers]
"""A variable, its parents, and the candidates for one more parent."""


class _Request(NamedTuple):
    """The additions whose gains are computed: a family, and the candidates for one more parent of its variable."""

    v: int
    parents: Family
    new: Integers

    def orders(self) -> Integers:
        """Return the family with each of the candidates, which come first, so that they can be summed over; the variable last."""
        others = np.broadcast_to(np.array([*self.parents, self.v], np.int64), (len(self.new), len(self.parents) + 1))
        return np.concatenate([self.new[:, None], others], axis=1)


class FamilyScores:
    """The scores of families; families that are requested together are counted in one pass, and gains of parents are kept.

    What is kept takes at most about an eighth of the budget, and what one call of `prepare` adds to it; `most_additions` limits
    that.

    Parameters
    ----------
    counts : the cases.
    score : the score of a family.

    Attributes
    ----------
    tolerance : differences up to this are rounding errors; scores that are equal within it are ties.
    """

    def __init__(self, counts: Counts, score: Score) -> None:
        self.counts = counts
        margins = counts.margins()
        self.score = looked_up(score, margins[CLASS,])
        self.tolerance = TOLERANCE * max(1.0, counts.total)
        self._cards = np.array(counts.cards([*counts.features, CLASS]), np.int64)
        self._has_missing: Bools = np.append(counts.cases.has_missing, False)
        self._weights = np.array([*(margins[x, CLASS].sum() for x in counts.features), margins[CLASS,].sum()], np.float64)
        self._scores: dict[tuple[int, Family], float] = {}
        self._observed: dict[Family, float] = {}  # the weight of the cases in which all members are observed
        self._gains: dict[tuple[int, Family], Numbers] = {}  # of each variable as one more parent, nan where unknown
        self._first: Numbers | None = None

    def value(self, v: int, parents: Iterable[int]) -> float:
        """Return the score of a variable with these parents, over the cases in which all of them are observed."""
        key = v, family(*parents)
        self._score_families([key])
        return self._scores[key]

    def gain(self, v: int, parents: Iterable[int], new: int) -> float:
        """Return by how much a new parent improves the score of a variable, over the cases in which it is observed, too.

        Minus infinity where the variable and all its parents are observed in fewer than half of the cases in which the variable
        is: too many cases would be ignored.
        """
        return float(self.gains(v, parents, [new])[0])

    def gains(self, v: int, parents: Iterable[int], new: Sequence[int] | Integers) -> Numbers:
        """Return by how much each of some new parents improves the score of a variable, as `gain`."""
        key = v, family(*parents)
        if not key[1] and self._first is not None:
            return np.asarray(self._first[new, v])
        if key not in self._gains or np.isnan(self._gains[key][new]).any():
            self.prepare([(*key, new)])
        return self._gains[key][new]

    def prepare(self, additions: Iterable[Addition]) -> None:
        """Compute the gains of many additions in one pass."""
        if 8 * len(self._cards) * len(self._gains) + SCORE_BYTES * len(self._scores) > self.counts.budget // 8:
            for kept in (self._scores, self._observed, self._gains):
                kept.clear()
        requests = [_Request(v, family(*parents), np.asarray(new, np.int64)) for v, parents, new in additions]
        firsts = sum(len(request.new) for request in requests if not request.parents)
        if firsts and self._first is None and 4 * firsts > len(self._cards) ** 2:
            self._first = self._first_gains()
        unknown = [self._unknown(request) for request in requests if request.parents or self._first is None]
        self._compute([request for request in unknown if len(request.new)])

    def _unknown(self, request: _Request) -> _Request:
        """Return the request without the candidates whose gains are known."""
        row = self._gains.setdefault((request.v, request.parents), np.full(len(self._cards), np.nan))
        return request._replace(new=request.new[np.isnan(row[request.new])])

    @property
    def most_additions(self) -> int:
        """How many additions `prepare` can compute at once within a quarter of the budget; at least one for each variable."""
        return max(len(self._cards), self.counts.budget // 4 // ADDITION_BYTES)

    def total(self, structure: dict[int, Family]) -> float:
        """Return the score of a whole structure, that of each family scaled to the weight of all cases."""
        self._score_families([(v, family(*parents)) for v, parents in structure.items()])
        return sum(
            self._scores[v, family(*parents)] / self._observed_share(family(v, *parents))
            for v, parents in sorted(structure.items())
        )

    def _observed_share(self, members: Family) -> float:
        """Return the share of the cases in which all members are observed."""
        if not self._has_missing[list(members)].any():
            return 1.0
        return max(self._observed[members] / self.counts.total, 1e-300)

    def _score_families(self, families: Iterable[tuple[int, Family]]) -> None:
        """Count families and keep their scores."""
        self._count([key for key in dict.fromkeys(families) if key not in self._scores], [])

    def _compute(self, requests: Sequence[_Request]) -> None:
        """Compute the gains of these requests, and keep them.

        A candidate without missing values gains the difference to the score of the family without it; for one with missing values
        the family without it is scored on the cases in which the candidate is observed.
        """
        bases = dict.fromkeys((request.v, request.parents) for request in requests)
        scores, gains = self._count([key for key in bases if key not in self._scores], requests)
        start = 0
        for request in requests:
            end = start + len(request.new)
            base = self._scores[request.v, request.parents]
            row = self._gains[request.v, request.parents]
            row[request.new] = np.where(self._has_missing[request.new], gains[start:end], scores[start:end] - base)
            start = end

    def _count(self, families: Sequence[tuple[int, Family]], requests: Sequence[_Request]) -> tuple[Numbers, Numbers]:
        """Keep the scores of families; return the scores of the requests, and the gains of candidates with missing values."""
        if not families and not requests:
            return np.zeros(0), np.zeros(0)
        orders = [*(request.orders() for request in requests), *(np.array([[*parents, v]]) for v, parents in families)]
        shapes = np.concatenate([*map(self._shapes, orders[: len(requests)]), *(self._shape(*key)[None] for key in families)])
        additions = sum(len(request.new) for request in requests)
        every = FamilyArray.of_rows(*orders)
        scores, gains = np.zeros(len(every)), np.full(len(every), np.nan)
        for positions, tables in self.counts.table_stacks(every, shapes):
            scores[positions], observed = self._scored(tables, shapes[positions[0]])
            with_missing = positions < additions
            with_missing[with_missing] = self._has_missing[every.members[every.first[positions[with_missing]]]]
            if with_missing.any():
                variables = every.members[every.first[positions + 1] - 1]
                base = self._scored_without_first(tables, shapes[positions[0]])
                gain = np.where(observed >= OBSERVED_SHARE * self._weights[variables], scores[positions] - base, -np.inf)
                gains[positions] = np.where(with_missing, gain, np.nan)
            for i in np.flatnonzero(positions >= additions).tolist():
                v, parents = families[positions[i] - additions]
                self._scores[v, parents] = float(scores[positions[i]])
                self._observed[family(v, *parents)] = float(observed[i])
        return scores[:additions], gains[:additions]

    def _scored(self, tables: TableStack, shape: Numbers) -> tuple[Numbers, Numbers]:
        """Return the score of each table, and the weight of its cases."""
        n = tables.slices()
        parts = [(self.score(part, int(shape[0] * shape[1])), part.sum(axis=(1, 2))) for part in _parts(n)]
        return np.concatenate([score for score, _ in parts]), np.concatenate([weight for _, weight in parts]).astype(np.float64)

    def _scored_without_first(self, tables: TableStack, shape: Numbers) -> Numbers:
        """Return the score of each table with the first variable summed over."""
        return np.concatenate([self.score(part, int(shape[1])) for part in _parts(tables.slices_without_first())])

    def _first_gains(self) -> Numbers:
        """Return the gains of all first parents, from one pass over all pairs.  # (parent, variable), the class last"""
        n = len(self._cards)
        gains = np.full((n, n), -np.inf)
        for pairs in self.counts.pairs():
            for pair in pairs.conditional_counts():
                gains[pair.parents, pair.children] = self._pair_gains(pair)
        for x in self.counts.features:
            table = self.counts.margins()[x, CLASS]
            feature, classes = np.array([x]), np.array([CLASS])
            gains[CLASS, x] = self._pair_gains(PairCounts(classes, feature, table.T[None], table.shape[1]))[0]
            gains[x, CLASS] = self._pair_gains(PairCounts(feature, classes, table[None], table.shape[0]))[0]
        return gains

    def _pair_gains(self, pair: PairCounts) -> Numbers:
        """Return the gains of one parent for each variable; minus infinity where both are observed in too few cases."""
        gains = self.score(pair.counts, pair.cards) - self.score(pair.counts.sum(axis=1, keepdims=True), 1)
        return np.where(pair.counts.sum(axis=(1, 2)) >= OBSERVED_SHARE * self._weights[pair.children], gains, -np.inf)

    def _shapes(self, orders: Integers) -> Numbers:
        """Return the states of the new parent, the configurations of the other parents, and the states of the variable."""
        cards = self._cards[orders].astype(np.float64)
        return np.stack([cards[:, 0], cards[:, 1:-1].prod(axis=1), cards[:, -1]], axis=1)

    def _shape(self, v: int, parents: Family) -> Numbers:
        """Return the shape of the table of a family without a new parent."""
        return np.array([1.0, float(prod(self.counts.cards(parents))), float(self._cards[v])])


def _parts(tables: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield some tables at a time, so that what is computed from them fits the cache.  # (table, configuration, state)"""
    step = max(1, CELLS_AT_ONCE // max(1, tables[0].size))
    return (tables[start : start + step] for start in range(0, len(tables), step))
