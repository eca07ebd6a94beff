"""The junction tree for one pattern of evidence, with the tables of the network assigned to its cliques."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.counts.budget import BUDGET
from naivete.errors import ResourceError, quoted
from naivete.network.graphs import Clique, EliminationStep, Neighbours, ancestors, eliminations, interaction_graph, junction_tree
from naivete.network.network import Network

__all__ = ["BUDGET", "WORK", "Part", "Plan", "Planner", "offsets_of", "seat", "steps_of"]

Scopes = dict[int, tuple[int, ...]]

WORK = 4
"""How many tables of the size of the largest clique are needed at the same time."""


class Part(NamedTuple):
    """The table of one variable in a clique.

    Parameters
    ----------
    variable : the variable.
    free : the hidden members of its family, in the order of the axes of the clique.
    fixed : the observed members that have more than one state.
    steps : the distance in cells between neighboring states of each of these.
    offsets : the cells of the configurations of the hidden members, None for a sparse table.
    seat : the shape of the factor, broadcast to the axes of the clique.
    """

    variable: int
    free: tuple[int, ...]
    fixed: tuple[int, ...]
    steps: tuple[int, ...]
    offsets: NDArray[np.int64] | None
    seat: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """A junction tree with the tables of each clique; the last clique is empty and has the tables without an axis.

    Parameters
    ----------
    cliques : the cliques, children before parents.
    shapes : the numbers of states of their members.
    parts : the tables of each clique.
    soft : the variables whose likelihoods belong to each clique.
    query : the clique that contains all queried variables together, -1 for none.
    low, high : bounds of the logarithm of every sum of products of probabilities that is not zero.
    work : the number of cells that one row needs in addition to the tables that are kept.
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
        """The number of cells of all cliques."""
        return sum(map(prod, self.shapes))

    @cached_property
    def widest(self) -> tuple[int, ...]:
        """The members of the largest clique."""
        return max(zip(map(prod, self.shapes), self.cliques, strict=True))[1].members

    @cached_property
    def below(self) -> tuple[tuple[int, ...], ...]:
        """The children of each clique."""
        children: list[list[int]] = [[] for _ in self.cliques]
        for i, clique in enumerate(self.cliques):
            if clique.parent >= 0:
                children[clique.parent].append(i)
        return tuple(map(tuple, children))

    @cached_property
    def splits(self) -> tuple[tuple[int, int], ...]:
        """The numbers of configurations of the separator and of the other members of each clique."""
        ends = [clique.separator for clique in self.cliques]
        return tuple((prod(shape[:end]), prod(shape[end:])) for shape, end in zip(self.shapes, ends, strict=True))

    @cached_property
    def seats(self) -> tuple[tuple[int, ...], ...]:
        """The shape of the message of each clique, broadcast to the axes of its parent."""
        return tuple(seat(self.cliques[c.parent], self.shapes[c.parent], c.members[: c.separator]) for c in self.cliques)

    @cached_property
    def homes(self) -> dict[int, int]:
        """The smallest clique of each hidden variable."""
        homes: dict[int, int] = {}
        for i in sorted(range(len(self.cliques)), key=lambda i: -prod(self.shapes[i])):
            homes.update(dict.fromkeys(self.cliques[i].members, i))
        return homes

    def others(self, i: int, members: Iterable[int]) -> tuple[int, ...]:
        """Return the axes of a clique that belong to other variables than these members."""
        kept = set(members)
        return tuple(axis for axis, m in enumerate(self.cliques[i].members) if m not in kept)


class Planner:
    """Builds plans for a network within a memory budget in bytes."""

    def __init__(self, network: Network, budget: int) -> None:
        self.network = network
        self.budget = budget
        self.cards = {v: network.variables[v].card for v in network.parents}
        self._bounds: dict[int, tuple[float, bool]] = {}

    def planned(self, observed: frozenset[int], soft: frozenset[int], of: frozenset[int] | None) -> Plan:
        """Return the plan for hard and soft evidence on some variables and a query of some together, or of each variable (None)."""
        queried = frozenset(self.cards) if of is None else of
        fixed = observed | {v for v, card in self.cards.items() if card == 1}
        relevant = ancestors(self.network.parents, observed | soft | queried)
        together = queried - fixed if of is not None else frozenset()
        scopes = {
            v: tuple(m for m in (v, *self.network.parents[v]) if m not in fixed) for v in relevant if self.cards[v] > 1
        }  # the only state of a variable has probability one
        graph = interaction_graph((*scopes.values(), together))
        if of:
            scopes = self._informative(scopes, graph, together, soft - fixed)
            graph = interaction_graph((*scopes.values(), together))
        steps = list(self._affordable(eliminations(graph, self.cards, together)))
        return self._placed(scopes, soft, together, steps)

    def _informative(self, scopes: Scopes, graph: Neighbours, queried: frozenset[int], soft: frozenset[int]) -> Scopes:
        """Return the tables that a query depends on: those connected to it, and those that can make the evidence impossible."""
        part = _components(graph)
        needed = {part[v] for v in queried | soft}
        needed |= {part[scope[0]] for v, scope in scopes.items() if scope and self._bound(v)[1]}
        return {v: scope for v, scope in scopes.items() if (part[scope[0]] in needed if scope else self._bound(v)[1])}

    def _affordable(self, steps: Iterable[EliminationStep]) -> Iterator[EliminationStep]:
        for step in steps:
            self.check((step.variable, *step.neighbours), 0)
            yield step

    def check(self, members: tuple[int, ...], other_cells: int) -> None:
        """Raise an error if a table of these variables, with this number of other cells, does not fit into the budget."""
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

    def _placed(self, scopes: Scopes, soft: frozenset[int], queried: frozenset[int], steps: list[EliminationStep]) -> Plan:
        """Return the junction tree of the eliminations, each table in the clique of its first eliminated variable."""
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
        expanded = max((self._expanded(part) for clique_parts in parts for part in clique_parts if part.offsets is None), default=0)
        self.check(tree[largest].members, expanded)
        return Plan(
            tree,
            shapes,
            tuple(tuple(sorted(some, key=lambda part: (len(part.fixed) > 0, len(part.free)))) for some in parts),
            tuple(map(tuple, likely)),
            min((home[m] for m in queried), default=-1),
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
        """Return the number of cells of a sparse table that is expanded over its hidden parents."""
        return 2 * prod(self.cards[m] for m in {*part.free, part.variable, -1})

    def _bound(self, v: int) -> tuple[float, bool]:
        """Return the logarithm of the smallest positive probability of a table, and whether it has zeros."""
        if v not in self._bounds:
            table = self.network.table(v)
            self._bounds[v] = log(table.smallest_positive), table.has_zeros
        return self._bounds[v]


def steps_of(members: Sequence[int], cards: Mapping[int, int]) -> dict[int, int]:
    """Return the distance in cells between neighboring states of each member of a table with these axes.

    >>> steps_of((0, 1, -1), {0: 2, 1: 3, -1: 4})
    {-1: 1, 1: 4, 0: 12}
    """
    step, steps = 1, {}
    for m in reversed(members):
        steps[m] = step
        step *= cards[m]
    return steps


def offsets_of(members: Iterable[int], steps: Mapping[int, int], cards: Mapping[int, int]) -> NDArray[np.int64]:
    """Return the cells of the configurations of some members, all others in their first state.

    >>> offsets_of((1, 0), {-1: 1, 1: 4, 0: 12}, {0: 2, 1: 3})
    array([ 0, 12,  4, 16,  8, 20])
    """
    offsets = np.zeros(1, np.int64)
    for m in members:
        offsets = (offsets[:, None] + np.arange(cards[m]) * steps[m]).ravel()
    return offsets


def seat(clique: Clique, shape: tuple[int, ...], members: Iterable[int]) -> tuple[int, ...]:
    """Return the shape of a table of some members of a clique, broadcast to the axes of the clique.

    >>> seat(Clique((4, 2, 7), 1, -1), (2, 3, 5), {2})
    (1, 3, 1)
    """
    kept = set(members)
    return tuple(card if m in kept else 1 for m, card in zip(clique.members, shape, strict=True))


def _components(graph: Neighbours) -> dict[int, int]:
    """Return one representative of the connected component of each variable."""
    part: dict[int, int] = {}
    for v in graph:
        waiting = [v] if v not in part else []
        while waiting:
            u = waiting.pop()
            part[u] = v
            waiting += [w for w in graph[u] if w not in part]
    return part
