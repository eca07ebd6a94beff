"""The junction tree for one pattern of evidence, and where the tables of the network enter it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.counts.memory_budget import BUDGET
from naivete.errors import ResourceError, quoted
from naivete.network.graphs import Clique, Elimination, Neighbours, ancestors, eliminations, interaction_graph, junction_tree
from naivete.network.network import Network

__all__ = ["BUDGET", "WORK", "Part", "Plan", "Planner", "offsets_of", "seat", "steps_of"]

Scopes = dict[int, tuple[int, ...]]

WORK = 4


class Part(NamedTuple):
    """The table of one variable in a clique.

    Parameters
    ----------
    variable : the variable.
    free : the hidden members of its family, in the order of the clique's axes.
    fixed : the observed ones that have more than one state.
    steps : how many cells further on the next state of each of these is.
    offsets : the cells of the configurations of the hidden members, None of a sparse table.
    seat : the shape of the factor among the axes of the clique.
    """

    variable: int
    free: tuple[int, ...]
    fixed: tuple[int, ...]
    steps: tuple[int, ...]
    offsets: NDArray[np.int64] | None
    seat: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A junction tree whose cliques know which tables enter them; the last clique is empty and has those without an axis.

    Parameters
    ----------
    cliques : the cliques, children before parents.
    shapes : the numbers of states of their members.
    parts : the tables that enter each.
    soft : the variables whose likelihoods enter each.
    query : the clique that contains all variables asked for together, -1 for none.
    low, high : logarithms between which every sum of products of probabilities lies that is not zero.
    work : the cells that one row takes beside the tables that are kept.
    """

    cliques: tuple[Clique, ...]
    shapes: tuple[tuple[int, ...], ...]
    parts: tuple[tuple[Part, ...], ...]
    soft: tuple[tuple[int, ...], ...]
    query: int
    low: float
    high: float
    work: int

    @cached_property
    def cells(self) -> int:
        """The cells of all cliques."""
        return sum(map(prod, self.shapes))

    @cached_property
    def widest(self) -> tuple[int, ...]:
        """The members of the largest clique."""
        return max(zip(map(prod, self.shapes), self.cliques, strict=True))[1].members

    @cached_property
    def below(self) -> tuple[tuple[int, ...], ...]:
        """The children of each clique."""
        found: list[list[int]] = [[] for _ in self.cliques]
        for i, clique in enumerate(self.cliques):
            if clique.parent >= 0:
                found[clique.parent].append(i)
        return tuple(map(tuple, found))

    @cached_property
    def splits(self) -> tuple[tuple[int, int], ...]:
        """How many configurations the separator of each clique has, and how many the rest."""
        ends = [clique.separator for clique in self.cliques]
        return tuple((prod(shape[:end]), prod(shape[end:])) for shape, end in zip(self.shapes, ends, strict=True))

    @cached_property
    def seats(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each clique's message among the axes of its parent."""
        return tuple(seat(self.cliques[c.parent], self.shapes[c.parent], c.members[: c.separator]) for c in self.cliques)

    @cached_property
    def homes(self) -> dict[int, int]:
        """The smallest clique of each hidden variable."""
        found: dict[int, int] = {}
        for i in sorted(range(len(self.cliques)), key=lambda i: -prod(self.shapes[i])):
            found.update(dict.fromkeys(self.cliques[i].members, i))
        return found

    def others(self, i: int, members: Iterable[int]) -> tuple[int, ...]:
        """The axes of a clique that some members do not have."""
        kept = set(members)
        return tuple(axis for axis, m in enumerate(self.cliques[i].members) if m not in kept)


class Planner:
    """Makes plans for a network, none of which needs more bytes than the budget."""

    def __init__(self, network: Network, budget: int) -> None:
        self.network = network
        self.budget = budget
        self.cards = {v: network.variables[v].card for v in network.parents}
        self._bounds: dict[int, tuple[float, bool]] = {}

    def planned(self, observed: frozenset[int], soft: frozenset[int], of: frozenset[int] | None) -> Plan:
        """The plan for evidence on some variables, hard or soft, and a question about some together, or about each (None)."""
        asked = frozenset(self.cards) if of is None else of
        fixed = observed | {v for v, card in self.cards.items() if card == 1}
        relevant = ancestors(self.network.parents, observed | soft | asked)
        together = asked - fixed if of is not None else frozenset()
        scopes = {
            v: tuple(m for m in (v, *self.network.parents[v]) if m not in fixed) for v in relevant if self.cards[v] > 1
        }  # a variable of one state has probability one
        graph = interaction_graph((*scopes.values(), together))
        if of:
            scopes = self._telling(scopes, graph, together, soft - fixed)
            graph = interaction_graph((*scopes.values(), together))
        steps = list(self._affordable(eliminations(graph, self.cards, together)))
        return self._placed(scopes, soft, together, steps)

    def _telling(self, scopes: Scopes, graph: Neighbours, asked: frozenset[int], soft: frozenset[int]) -> Scopes:
        """The tables that bear on a question: those joined to it, and those that could say that the evidence is impossible."""
        part = _components(graph)
        needed = {part[v] for v in asked | soft}
        needed |= {part[scope[0]] for v, scope in scopes.items() if scope and self._bound(v)[1]}
        return {v: scope for v, scope in scopes.items() if (part[scope[0]] in needed if scope else self._bound(v)[1])}

    def _affordable(self, steps: Iterable[Elimination]) -> Iterator[Elimination]:
        for step in steps:
            self.check((step.variable, *step.neighbours), 0)
            yield step

    def check(self, members: tuple[int, ...], other_cells: int) -> None:
        """Refuse a table over these variables, beside so many other cells, that does not fit into the budget."""
        cells = prod(self.cards[m] for m in members)
        needed = 8 * (WORK * cells + other_cells)
        if needed <= self.budget:
            return
        names = ", ".join(quoted(self.network.name(m)) for m in members[:8]) + (" ..." if len(members) > 8 else "")
        raise ResourceError(
            f"exact inference needs a table over {len(members)} variables together ({names}) of {cells:,} cells, "
            f"{needed:,} bytes in all; the budget is {self.budget:,} bytes: observe some of these variables, ask for "
            "fewer at a time, learn a network with fewer arcs, or raise `budget=`"
        )

    def _placed(self, scopes: Scopes, soft: frozenset[int], asked: frozenset[int], steps: list[Elimination]) -> Plan:
        """The junction tree of the eliminations, each table in the clique in which the first of its variables goes."""
        tree = (*junction_tree(steps), Clique((), 0, -1))
        shapes = tuple(tuple(self.cards[m] for m in clique.members) for clique in tree)
        home = {m: i for i, clique in enumerate(tree) for m in clique.members[clique.separator :]}
        parts: list[list[Part]] = [[] for _ in tree]
        for v, scope in scopes.items():
            i = min((home[m] for m in scope), default=len(tree) - 1)
            parts[i].append(self._part(v, scope, tree[i], shapes[i]))
        likely: list[list[int]] = [[] for _ in tree]
        for v in soft:
            likely[home.get(v, -1)].append(v)
        largest = max(range(len(tree)), key=lambda i: prod(shapes[i]))
        expanded = max((self._expanded(part) for own in parts for part in own if part.offsets is None), default=0)
        self.check(tree[largest].members, expanded)
        return Plan(
            tree,
            shapes,
            tuple(tuple(sorted(own, key=lambda part: (len(part.fixed) > 0, len(part.free)))) for own in parts),
            tuple(map(tuple, likely)),
            min((home[m] for m in asked), default=-1),
            low=sum(self._bound(v)[0] for v in scopes),
            high=sum(log(self.cards[step.variable]) for step in steps),
            work=WORK * prod(shapes[largest]) + expanded,
        )

    def _part(self, v: int, scope: Iterable[int], clique: Clique, shape: tuple[int, ...]) -> Part:
        free = tuple(m for m in clique.members if m in scope)
        steps = steps_of(self.network.family(v), self.cards)
        fixed = tuple(m for m in steps if m not in free and self.cards[m] > 1)
        offsets = None if v in self.network.sparse else offsets_of(free, steps, self.cards)
        return Part(v, free, fixed, tuple(steps[m] for m in fixed), offsets, seat(clique, shape, free))

    def _expanded(self, part: Part) -> int:
        """The cells of a sparse table when its hidden parents are spelt out."""
        return 2 * prod(self.cards[m] for m in {*part.free, part.variable, -1})

    def _bound(self, v: int) -> tuple[float, bool]:
        """The logarithm of the smallest positive probability of a table, and whether it has zeros."""
        if v not in self._bounds:
            table = self.network.table(v)
            self._bounds[v] = log(table.smallest_positive), table.has_zeros
        return self._bounds[v]


def steps_of(members: Sequence[int], cards: Mapping[int, int]) -> dict[int, int]:
    """How many cells apart the states of each member are in a table that has these axes.

    >>> steps_of((0, 1, -1), {0: 2, 1: 3, -1: 4})
    {-1: 1, 1: 4, 0: 12}
    """
    step, found = 1, {}
    for m in reversed(members):
        found[m] = step
        step *= cards[m]
    return found


def offsets_of(members: Iterable[int], steps: Mapping[int, int], cards: Mapping[int, int]) -> NDArray[np.int64]:
    """The cells of the configurations of some members, all others in their first state.

    >>> offsets_of((1, 0), {-1: 1, 1: 4, 0: 12}, {0: 2, 1: 3})
    array([ 0, 12,  4, 16,  8, 20])
    """
    found = np.zeros(1, np.int64)
    for m in members:
        found = (found[:, None] + np.arange(cards[m]) * steps[m]).ravel()
    return found


def seat(clique: Clique, shape: tuple[int, ...], members: Iterable[int]) -> tuple[int, ...]:
    """The shape of a table over some members of a clique among the axes of the clique.

    >>> seat(Clique((4, 2, 7), 1, -1), (2, 3, 5), {2})
    (1, 3, 1)
    """
    own = set(members)
    return tuple(card if m in own else 1 for m, card in zip(clique.members, shape, strict=True))


def _components(graph: Neighbours) -> dict[int, int]:
    """One variable of its connected part, for each variable."""
    part: dict[int, int] = {}
    for v in graph:
        waiting = [v] if v not in part else []
        while waiting:
            u = waiting.pop()
            part[u] = v
            waiting += [w for w in graph[u] if w not in part]
    return part
