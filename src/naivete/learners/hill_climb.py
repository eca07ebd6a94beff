"""Hill climbing with a tabu list: an unrestricted network by single changes of arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete.counts.counts import Counts, informative_features
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import Score, score_of
from naivete.learners.costs import check_kept_bytes
from naivete.learners.k2 import class_last
from naivete.learners.parameters import checked_count, checked_flag, checked_integer
from naivete.network.estimation import estimate
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["climbed", "hill_climb"]

Truths = NDArray[np.bool_]
_WORD = (1 << 64) - 1
MATRIX_BYTES = 60
"""About how many bytes the search takes for each pair of variables: gains, arcs, ancestors, and what is computed from them."""


def hill_climb(
    counts: Counts,
    *,
    criterion: Score | str = "bdeu",
    max_parents: int | None = None,
    tabu: int = 10,
    max_steps: int | None = None,
    class_root: bool = False,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the network found by hill climbing: one arc is added, removed or reversed in each step.

    Starting without arcs, each step makes the change that improves the score of the network most. At a local maximum the search
    continues for `tabu` steps with the change that reduces the score least, never to a structure that it has visited, and finally
    returns the best structure. Each step is one pass, in which the changes of the families that changed last are scored.

    Parameters
    ----------
    counts : the training cases.
    criterion : the score of families, as for `k2`; "bdeu", "bic" and "aic" are the same for equivalent structures.
    max_parents : the largest number of parents of a variable; None for no limit.
    tabu : after how many steps without a better structure the search ends; 0 stops at the first local maximum.
    max_steps : the largest number of changes; None for no limit.
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
    scores = FamilyScores(counts, score_of(criterion, "criterion"))
    structure = climbed(
        scores, max_parents=checked_count(max_parents, "max_parents"), tabu=tabu, steps=max_steps, class_root=class_root
    )
    return estimate(counts, structure, smoothing, prior=prior)


class Move(NamedTuple):
    """A change of one arc: "add", "remove" or "reverse"."""

    kind: str
    parent: int
    child: int


class Arcs(NamedTuple):
    """Some arcs, in increasing order of parents, then children."""

    parents: Integers
    children: Integers

    def where(self, chosen: Truths) -> Arcs:
        """Return some of the arcs."""
        return Arcs(self.parents[chosen], self.children[chosen])

    def at(self, position: int) -> tuple[int, int]:
        """Return the parent and the child of one arc."""
        return int(self.parents[position]), int(self.children[position])


@dataclass
class _Search:
    """The current structure of the search, with the gains of all changes.

    Variables are numbered from 0, the class first, so that ties go to it and then to the lower columns.
    """

    scores: FamilyScores
    variables: list[int]
    max_parents: int
    class_root: bool

    def __post_init__(self) -> None:
        n = len(self.variables)
        self.arcs = np.zeros((n, n), bool)  # (parent, child)
        self.ancestors = np.eye(n, dtype=bool)  # (ancestor, variable); each is an ancestor of itself
        self.gains = np.full((n, n), np.nan)  # of adding parent to child, or of removing it where the arc exists
        self.hash, self.visited = 0, {0}
        self.ids = np.array(self.variables)
        self.has_missing = bool(self.scores.counts.cases.has_missing.any())
        self.path_scores = {(v, frozenset[int]()): 0.0 for v in self.variables}

    def _score(self, addable: Truths, reversible: Arcs) -> None:
        """Score the allowed changes whose gains are not known, in one pass."""
        wanted = addable | self.arcs
        wanted[reversible.children, reversible.parents] = True
        wanted &= np.isnan(self.gains)
        additions: list[tuple[int, list[int], Integers]] = []
        positions: list[tuple[Integers, int]] = []
        for v in np.flatnonzero(wanted.any(axis=0)).tolist():
            parents = self.ids[self.arcs[:, v]].tolist()
            candidates = np.flatnonzero(wanted[:, v])
            new = candidates[~self.arcs[candidates, v]]
            for some in (new, *candidates[self.arcs[candidates, v]][:, None]):
                if len(some):
                    others = parents if some is new else [p for p in parents if p != self.variables[some[0]]]
                    additions.append((self.variables[v], others, self.ids[some]))
                    positions.append((some, v))
        self.scores.prepare(additions)
        for (some, v), addition in zip(positions, additions, strict=True):
            gains = self.scores.gains(*addition)
            self.gains[some, v] = self._consistent(some, v, -gains if self.arcs[some[0], v] else gains)

    def best(self) -> tuple[float, Move] | None:
        """Return the change that improves the score most (or reduces it least) and does not lead to a visited structure."""
        kinds = self._moves()
        limit = self.scores.tolerance
        while True:
            top = {kind: float(gains.max(initial=-np.inf)) for kind, (gains, _) in kinds.items()}
            value = max(top.values())
            if value == -np.inf:
                return None
            kind = next(k for k in kinds if top[k] >= value - limit)
            gains, arcs = kinds[kind]
            position = int(np.argmax(gains >= value - limit))
            move = Move(kind, *(divmod(position, len(self.ids)) if arcs is None else arcs.at(position)))
            if self._after(move) not in self.visited:
                return value, move
            gains.flat[position] = -np.inf

    def _moves(self) -> dict[str, tuple[Numbers, Arcs | None]]:
        """The gains of all allowed changes of each kind: of additions as a matrix, -inf where not allowed, else of some arcs."""
        room = self.arcs.sum(axis=0) < self.max_parents
        if self.class_root:
            room[0] = False
        addable = ~(self.arcs | self.ancestors.T)
        addable &= room
        present = Arcs(*np.nonzero(self.arcs))
        reversible = present.where(room[present.parents] & ~self._with_another_path(present))
        self._score(addable, reversible)
        reversed_gains = self.gains[reversible.parents, reversible.children] + self.gains[reversible.children, reversible.parents]
        return {
            "add": (np.where(addable, self.gains, -np.inf), None),
            "remove": (self.gains[present.parents, present.children], present),
            "reverse": (reversed_gains, reversible),
        }

    def _with_another_path(self, present: Arcs) -> Truths:
        """Return beside which arcs another path leads from parent to child, so that reversing them would close a cycle."""
        below = self.ancestors[present.parents] & self.arcs.T[present.children]  # parents of the child that the parent leads to
        return np.asarray(np.count_nonzero(below, axis=1) > 1)  # each is an ancestor of itself

    def _after(self, move: Move) -> int:
        """Return the hash of the structure that a change leads to."""
        changed = self.hash ^ _arc_hash(move.parent, move.child)
        return changed ^ _arc_hash(move.child, move.parent) if move.kind == "reverse" else changed

    def apply(self, move: Move) -> None:
        """Make the change; the gains of the families that changed become unknown."""
        if self.has_missing:
            for p, v in [(move.parent, move.child), (move.child, move.parent)][: 2 if move.kind == "reverse" else 1]:
                self._keep_path_score(p, v)
        self.hash = self._after(move)
        self.visited.add(self.hash)
        self.arcs[move.parent, move.child] = move.kind == "add"
        if move.kind == "reverse":
            self.arcs[move.child, move.parent] = True
            self.gains[:, move.parent] = np.nan
        self.gains[:, move.child] = np.nan
        if move.kind == "add":
            self.ancestors |= self.ancestors[:, [move.parent]] & self.ancestors[[move.child]]
        else:
            self.ancestors = _ancestors(self.arcs)

    def _consistent(self, some: Integers, v: int, gains: Numbers) -> Numbers:
        """Return the gains of changes of a family: differences of two path scores where both are known, else the gains.

        With missing values, the gains of different changes come from different cases and need not be consistent. Each family
        keeps the score of the path on which it was reached first; otherwise the search could gain on a closed path.
        """
        if not self.has_missing:
            return gains
        child, parents = self.variables[v], frozenset(self.ids[self.arcs[:, v]].tolist())
        known = [self.path_scores.get((child, parents ^ {p})) for p in self.ids[some].tolist()]
        score = self.path_scores[child, parents]
        return np.array([gain if other is None else other - score for other, gain in zip(known, gains.tolist(), strict=True)])

    def _keep_path_score(self, p: int, v: int) -> None:
        """Keep the score of the family that a change leads to, relative to the family without parents."""
        child, parents = self.variables[v], frozenset(self.variables[q] for q in np.flatnonzero(self.arcs[:, v]))
        new_score = self.path_scores[child, parents] + float(self.gains[p, v])
        self.path_scores.setdefault((child, parents ^ {self.variables[p]}), new_score)

    def structure(self, arcs: NDArray[np.bool_]) -> dict[int, tuple[int, ...]]:
        """Return the parents of the variables, given the matrix of the arcs."""
        parents = {v: [self.variables[p] for p in np.flatnonzero(arcs[:, i])] for i, v in enumerate(self.variables)}
        return {v: class_last(some) for v, some in parents.items()}


def _arc_hash(parent: int, child: int) -> int:
    """Return a 64-bit hash of an arc (the finalizer of splitmix64); that of a structure is the exclusive or over its arcs."""
    z = (parent << 32 | child) + 0x9E3779B97F4A7C15 & _WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _WORD
    return z ^ z >> 31


def _ancestors(arcs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which variables are ancestors of which; each is an ancestor of itself.  # (ancestor, variable)"""
    parents = {v: tuple(np.flatnonzero(column).tolist()) for v, column in enumerate(arcs.T)}
    reach = np.eye(len(arcs), dtype=bool)
    for v in topological(parents):
        reach[:, v] |= reach[:, parents[v]].any(axis=1)
    return reach


def climbed(
    scores: FamilyScores, *, max_parents: int | None = None, tabu: int = 10, steps: int | None = None, class_root: bool = False
) -> dict[int, tuple[int, ...]]:
    """Return the best structure that hill climbing finds, starting without arcs."""
    variables = [CLASS, *informative_features(scores.counts)]
    kept = MATRIX_BYTES * len(variables) ** 2
    check_kept_bytes(scores.counts, "HillClimb", kept, "the gains of all arcs", "use fewer features (see InfoAS)")
    search = _Search(scores, variables, len(variables) if max_parents is None else max_parents, class_root)
    score = best_score = 0.0
    best, remaining = search.arcs.copy(), tabu
    while steps is None or steps > 0:
        step = search.best()
        if step is None:
            break
        gain, move = step
        improved = score + gain > best_score + scores.tolerance
        remaining = tabu if improved else remaining - 1
        if remaining < 0:
            break
        search.apply(move)
        score += gain
        if improved:
            best_score, best = score, search.arcs.copy()
        steps = None if steps is None else steps - 1
    return {CLASS: (), **dict.fromkeys(scores.counts.features, ()), **search.structure(best)}
