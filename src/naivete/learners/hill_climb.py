"""Hill climbing with a tabu list: the modern way to an unrestricted network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.counts.counts import Counts, informative_features
from naivete.counts.scores import FamilyScores, Score, score_of
from naivete.learners.k2 import class_last
from naivete.learners.parameters import checked_count, checked_flag, checked_integer
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["climbed", "hill_climb"]

Truths = NDArray[np.bool_]
_WORD = (1 << 64) - 1


def hill_climb(
    counts: Counts,
    *,
    score: Score | str = "bdeu",
    max_parents: int | None = None,
    tabu: int = 10,
    max_steps: int | None = None,
    class_root: bool = False,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """The network that the best single changes lead to: an arc added, taken away or turned round, as long as the score rises.

    On a summit the search goes on for `tabu` steps downhill, never to a structure where it has been, and returns to the best one.
    Each step is one pass, in which all additions to the variable that changed are scored.

    Parameters
    ----------
    counts : the training cases.
    score : as for `k2`; "bdeu", "bic" and "aic" do not care which of two equivalent structures it is.
    max_parents : how many parents a variable may have; by default any number.
    tabu : for how many steps without a better structure the search goes on; 0 stops on the first summit.
    max_steps : the most changes; by default any number.
    class_root : whether the class must have no parents.
    smoothing, prior : as for `naive`.

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 5, np.uint8), np.array([0, 1, 0, 1] * 5, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> dict(hill_climb(Counts(cases)).parents)
    {-1: (), 0: (-1,), 1: ()}

    References
    ----------
    Heckerman, Geiger and Chickering (1995), section 7; Glover (1989), Tabu search, part I.
    """
    checked_integer(tabu, "tabu")
    checked_count(max_steps, "max_steps")
    checked_flag(class_root, "class_root")
    scores = FamilyScores(counts, score_of(score))
    structure = climbed(scores, most=checked_count(max_parents, "max_parents"), tabu=tabu, steps=max_steps, class_root=class_root)
    return estimate(counts, structure, smoothing, prior=prior)


class Move(NamedTuple):
    """A change of one arc."""

    kind: str
    parent: int
    child: int


@dataclass
class _Search:
    """A structure on its way, with the gains of all changes.

    Variables are numbered from 0, the class first, so that ties go to it and then to the lower columns.
    """

    scores: FamilyScores
    variables: list[int]
    most: int
    class_root: bool

    def __post_init__(self) -> None:
        n = len(self.variables)
        self.arcs = np.zeros((n, n), bool)  # (parent, child)
        self.above = np.eye(n, dtype=bool)  # (ancestor or itself, variable)
        self.gains = np.full((n, n), np.nan)  # of adding parent to child, or of taking it away where the arc is there
        self.mark, self.visited = 0, {0}
        self.uneven = bool(self.scores.counts.cases.gaps.any())
        self.heights = {(v, frozenset[int]()): 0.0 for v in self.variables}

    def _scored(self, addable: Truths, turnable: Truths) -> None:
        """Score the legal changes whose gains are not known, in one pass."""
        wanted = np.isnan(self.gains) & (addable | self.arcs | turnable.T)
        pairs = np.argwhere(wanted.T).tolist()
        parents = {v: [self.variables[p] for p in np.flatnonzero(self.arcs[:, v])] for v in {v for v, _ in pairs}}
        asked = [(self.variables[v], _less(parents[v], self.variables[p]), self.variables[p]) for v, p in pairs]
        self.scores.prepare(asked)
        for (v, p), question in zip(pairs, asked, strict=True):
            gain = self.scores.gain(*question)
            gain = -gain if self.arcs[p, v] else gain
            self.gains[p, v] = self._between_heights(self.variables[v], parents[v], self.variables[p], gain)

    def best(self) -> tuple[float, Move] | None:
        """The change that raises the score most (or lowers it least) and leads to no structure where the search has been."""
        tables = dict(self._moves())
        limit = self.scores.tolerance
        while True:
            top = {kind: float(table.max(initial=-np.inf)) for kind, table in tables.items()}
            value = max(top.values())
            if value == -np.inf:
                return None
            kind = next(k for k in ("add", "drop", "turn") if top[k] >= value - limit)
            parent, child = np.argwhere(tables[kind] >= value - limit)[0].tolist()
            move = Move(kind, parent, child)
            if self._after(move) not in self.visited:
                return value, move
            tables[kind][parent, child] = -np.inf

    def _moves(self) -> Iterator[tuple[str, Numbers]]:
        """The gains of all legal changes of each kind.  # (parent, child)"""
        room = self.arcs.sum(axis=0) < self.most
        if self.class_root:
            room[0] = False
        addable = ~self.arcs & ~self.above.T & room
        ways = self.above.astype(np.float32) @ self.arcs.astype(np.float32)  # how many parents of a child lie below a variable
        turnable = self.arcs & room[:, None] & (ways < 2)  # no other way from parent to child, or turning would close a cycle
        self._scored(addable, turnable)
        yield "add", np.where(addable, self.gains, -np.inf)
        yield "drop", np.where(self.arcs, self.gains, -np.inf)
        yield "turn", np.where(turnable, self.gains + self.gains.T, -np.inf)

    def _after(self, move: Move) -> int:
        """The mark of the structure that a change leads to."""
        mark = self.mark ^ _mark(move.parent, move.child)
        return mark ^ _mark(move.child, move.parent) if move.kind == "turn" else mark

    def apply(self, move: Move) -> None:
        """Make the change; the gains of what changed are not known any more."""
        if self.uneven:
            for p, v in [(move.parent, move.child), (move.child, move.parent)][: 2 if move.kind == "turn" else 1]:
                self._keep_height(p, v)
        self.mark = self._after(move)
        self.visited.add(self.mark)
        self.arcs[move.parent, move.child] = move.kind == "add"
        if move.kind == "turn":
            self.arcs[move.child, move.parent] = True
            self.gains[:, move.parent] = np.nan
        self.gains[:, move.child] = np.nan
        self.above = _above(self.arcs)

    def _between_heights(self, v: int, parents: list[int], p: int, gain: float) -> float:
        """What a change gains: the difference of two heights where both are known, else the gain itself.

        With missing values gains are of different cases and need not agree: without a height for each family, that of the way on
        which it was reached first, the search could go round and round and gain each time.
        """
        known = self.heights.get((v, frozenset(parents) ^ {p})) if self.uneven else None
        return gain if known is None else known - self.heights[v, frozenset(parents)]

    def _keep_height(self, p: int, v: int) -> None:
        """Keep how high the family that a change leads to lies above that without parents."""
        own = frozenset(self.variables[q] for q in np.flatnonzero(self.arcs[:, v]))
        at = self.variables[v], own ^ {self.variables[p]}
        self.heights.setdefault(at, self.heights[self.variables[v], own] + float(self.gains[p, v]))

    def structure(self, arcs: NDArray[np.bool_]) -> dict[int, tuple[int, ...]]:
        own = {v: [self.variables[p] for p in np.flatnonzero(arcs[:, i])] for i, v in enumerate(self.variables)}
        return {v: class_last(parents) for v, parents in own.items()}


def _less(parents: list[int], p: int) -> list[int]:
    return [q for q in parents if q != p] if p in parents else parents


def _mark(parent: int, child: int) -> int:
    """A number for an arc, as if drawn by lot (the finisher of splitmix64); a structure is marked by the exclusive or of all."""
    z = (parent << 32 | child) + 0x9E3779B97F4A7C15 & _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31


def _above(arcs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which variables are ancestors of which, each its own."""
    reach = arcs | np.eye(len(arcs), dtype=bool)
    while True:
        further = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        if np.array_equal(further, reach):
            return reach
        reach = further


def climbed(
    scores: FamilyScores, *, most: int | None = None, tabu: int = 10, steps: int | None = None, class_root: bool = False
) -> dict[int, tuple[int, ...]]:
    """The best structure that hill climbing finds from no arcs at all."""
    variables = [CLASS, *informative_features(scores.counts)]
    search = _Search(scores, variables, len(variables) if most is None else most, class_root)
    level = highest = 0.0
    best, left = search.arcs.copy(), tabu
    while steps is None or steps > 0:
        found = search.best()
        if found is None:
            break
        gain, move = found
        higher = level + gain > highest + scores.tolerance
        left = tabu if higher else left - 1
        if left < 0:
            break
        search.apply(move)
        level += gain
        if higher:
            highest, best = level, search.arcs.copy()
        steps = None if steps is None else steps - 1
    return {CLASS: (), **dict.fromkeys(scores.counts.features, ()), **search.structure(best)}
