"""A Bayesian network over nominal variables: names, parents and tables; never changed once made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, quoted
from naivete.network.conditional_tables import ConditionalTable, Cpt, DenseConditional, SparseConditional, SparseCpt
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Derived, Hidden, check_derived
from naivete.variables import CLASS, Family, Name, Variables, check_unique, family

__all__ = ["Network", "Structure", "check_tabular", "check_uncomputed", "topological"]

Structure = Mapping[int, tuple[int, ...]]
"""parents[v] for every variable v, the most informative parent first; the class, where it is a parent, last."""


@dataclass(frozen=True, eq=False)
class Network:
    """Variables, parents and conditional tables; the class is the last variable.

    Parameters
    ----------
    variables : the variables, the class last.
    parents : the parents of every variable, the most informative first, the class last; keys 0 .. n-1 and -1 (the class).
    cpts : P(v | parents[v]) for every variable v; the axes are the family in increasing order, the class last.
    derived : how the features come about that are no columns of a table but are made of them: the last ones before the class.
    densities : of each number that is not cut, its density; its table has a single state of probability one.
    check : whether the tables are looked at: `estimate` makes them right, everybody else is checked.
    """

    variables: Variables
    parents: Structure
    cpts: Mapping[int, Cpt]
    derived: Mapping[int, Derived] = field(default_factory=dict)
    densities: Mapping[int, Normal] = field(default_factory=dict)
    check: InitVar[bool] = field(default=True, kw_only=True)

    def __post_init__(self, check: bool) -> None:
        object.__setattr__(self, "derived", MappingProxyType(dict(self.derived)))
        object.__setattr__(self, "densities", MappingProxyType(dict(sorted(self.densities.items()))))
        object.__setattr__(self, "parents", MappingProxyType({v: tuple(p) for v, p in self.parents.items()}))
        object.__setattr__(self, "cpts", MappingProxyType(dict(self.cpts)))
        check_unique([v.name for v in self.variables], "network")
        _check_structure(self.variables, self.parents)
        _check_derived(self)
        _check_densities(self)
        for v in self.parents if check else ():
            _check_cpt(self, v)
        for cpt in self.cpts.values():
            if isinstance(cpt, np.ndarray):
                cpt.setflags(write=False)

    @property
    def features(self) -> range:
        """The feature variables."""
        return range(len(self.variables) - 1)

    @property
    def inputs(self) -> range:
        """The features that are columns of a table; the others are derived from them."""
        return range(len(self.variables) - 1 - len(self.derived))

    @property
    def columns(self) -> Variables:
        """The variables of those."""
        return self.variables[: len(self.inputs)]

    def family(self, v: int) -> Family:
        """The variable and its parents, as the axes of its table."""
        return family(v, *self.parents[v])

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables, parents before children, lower positions first among equals; the class first where it has no parents."""
        return topological(self.parents)

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """The arcs between features, as (parent, child)."""
        return [(p, x) for x in self.features for p in self.parents[x] if p != CLASS]

    def table(self, v: int) -> ConditionalTable:
        """Return P(v | parents) with the methods that dense and sparse tables share."""
        cpt, members = self.cpts[v], self.family(v)
        return SparseConditional(v, members, cpt) if isinstance(cpt, SparseCpt) else DenseConditional(v, members, cpt)

    @cached_property
    def sparse(self) -> frozenset[int]:
        """The variables with a sparse table."""
        return frozenset(v for v, cpt in self.cpts.items() if isinstance(cpt, SparseCpt))

    def full_table(self, v: int) -> NDArray[np.float64]:
        """Return the table of a variable as an array with an axis for each member of its family."""
        return self.table(v).full([self.variables[m].card for m in self.family(v)])

    @property
    def cells(self) -> int:
        """The number of probabilities and of parameters of densities."""
        return sum(self.table(v).size for v in self.cpts) + sum(2 * density.means.size for density in self.densities.values())

    def distributions(self, v: int) -> Iterator[tuple[tuple[str, ...], NDArray[np.float64]]]:
        """Yield P(v | parents), one distribution after the other, each with the labels of the other members of the family.

        A sparse table yields the configurations that occur, then those of the tables of fewer parents that it falls back on; the
        label of a parent that is left out is "any other".
        """
        others = [m for m in self.family(v) if m != v]
        for codes, distribution in self.table(v).distributions():
            yield tuple(self.variables[m].labels[codes[m]] if m in codes else "any other" for m in others), distribution

    def name(self, v: int) -> Name:
        """The name of a variable."""
        return self.variables[v].name

    def __reduce__(self) -> tuple[Any, ...]:
        return Network, (self.variables, dict(self.parents), dict(self.cpts), dict(self.derived), dict(self.densities))


def check_uncomputed(network: Network, doing: str) -> None:
    """Refuse a network that its arcs do not tell: one with a computed column; a hidden one is a variable like any other.

    Parameters
    ----------
    network : the network.
    doing : what cannot be done with such a one.
    """
    computed = [v for v, own in network.derived.items() if not isinstance(own, Hidden)]
    if computed:
        raise DataError(
            f"network: {doing} is not possible with the derived column {quoted(network.name(computed[0]))}: it is computed from "
            "the columns of a row, which no arc tells; ask the classifier itself (predict_proba), or save it as a model (.nvt)"
        )


def check_tabular(network: Network, doing: str) -> None:
    """Refuse a network that its arcs and tables do not tell: one with a computed column, or with numbers that are not cut."""
    check_uncomputed(network, doing)
    if network.densities:
        raise DataError(
            f"network: {doing} is not possible with the number {quoted(network.name(min(network.densities)))}, which has a "
            "density and no states; ask the classifier itself (predict_proba), or learn from numbers that are cut into intervals"
        )


def topological(parents: Structure) -> tuple[int, ...]:
    """The variables in an order in which parents come before children, the class before features, then by position.

    >>> topological({-1: (), 0: (1, -1), 1: (-1,)})
    (-1, 1, 0)
    """
    import heapq

    children: dict[int, list[int]] = {v: [] for v in parents}
    waiting = {v: len(p) for v, p in parents.items()}
    for v, own in parents.items():
        for p in own:
            children[p].append(v)
    ready = [v for v, count in waiting.items() if count == 0]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        v = heapq.heappop(ready)
        order.append(v)
        for child in children[v]:
            waiting[child] -= 1
            if waiting[child] == 0:
                heapq.heappush(ready, child)
    return tuple(order)


def _check_structure(variables: Variables, parents: Structure) -> None:
    expected = {*range(len(variables) - 1), CLASS}
    if set(parents) != expected:
        raise DataError(
            f"network: parents are needed for each of {len(variables)} variables, class included; got {quoted(sorted(parents))}"
        )
    for v, own in parents.items():
        unknown = [p for p in own if p not in expected]
        if unknown:
            raise DataError(f"network: variable {quoted(variables[v].name)} has unknown parents {quoted(unknown)}")
        if v in own or len(set(own)) != len(own):
            raise DataError(f"network: variable {quoted(variables[v].name)} is its own parent or has a parent twice: {quoted(own)}")
    placed = set(topological(parents))
    if placed != expected:
        raise DataError(f"network: the arcs form a cycle: {_cycle(variables, parents, expected - placed)}")


def _check_derived(network: Network) -> None:
    if set(network.derived) != set(network.features) - set(network.inputs):
        raise DataError(f"network: derived columns are the last features before the class, not {quoted(sorted(network.derived))}")
    if len(network.derived) > 1 and not all(isinstance(own, Hidden) for own in network.derived.values()):
        raise DataError("network: a derived column that is computed has to be the only one")
    for v, own in network.derived.items():
        check_derived(own, v, len(network.inputs), network.variables)


def _cycle(variables: Variables, parents: Structure, left: set[int]) -> str:
    v, path = min(left), []
    while v not in path:
        path.append(v)
        v = next(p for p in parents[v] if p in left)
    loop = [*path[path.index(v) :], v]
    return " <- ".join(str(variables[u].name) for u in loop)


def _check_cpt(network: Network, v: int) -> None:
    cpt, members = network.cpts.get(v), network.family(v)
    where = f"network: table of {quoted(network.variables[v].name)}"
    if cpt is None:
        raise DataError(f"{where} is missing")
    shape = tuple(network.variables[m].card for m in members)
    if isinstance(cpt, SparseCpt):
        if cpt.parents != tuple(p for p in members if p not in (v, CLASS)) or members == (CLASS,):
            raise DataError(f"{where}: a sparse table needs the feature parents of its variable, got {cpt.parents}")
        _check_sparse(network, (network.variables[v].card, shape[-1] if CLASS in network.parents[v] else 1), cpt, where)
        return
    if cpt.shape != shape:
        raise DataError(f"{where} has shape {cpt.shape} where its family has {shape}")
    _check_sums(cpt, members.index(v), where)


def _check_densities(network: Network) -> None:
    for v, own in network.parents.items():
        if (v == CLASS or not network.variables[v].density) and any(network.variables[p].density for p in own):
            raise DataError(f"network: {quoted(network.variables[v].name)} has states and a parent that is a number without cuts")
    numbers = {x for x in network.features if network.variables[x].density}
    if set(network.densities) != numbers:
        raise DataError(f"network: a density is needed for each number that is not cut, {quoted(sorted(numbers))}, and no other")
    for v, density in network.densities.items():
        _check_normal(network, v, density, f"network: density of {quoted(network.variables[v].name)}")


def _check_normal(network: Network, v: int, cpt: Normal, where: str) -> None:
    numbers = [p for p in network.parents[v] if network.variables[p].density]
    shape = tuple(network.variables[m].card for m in network.family(v) if m != v and m not in numbers)
    if (cpt.slopes is None) != (not numbers) or (cpt.slopes is not None and cpt.slopes.shape != (*shape, len(numbers))):
        raise DataError(f"{where} needs a slope for each of {len(numbers)} numeric parents in each configuration of the others")
    if cpt.slopes is not None and not np.all(np.isfinite(cpt.slopes)):
        raise DataError(f"{where} has a slope that is no number")
    if isinstance(cpt, Kernel) != network.variables[v].kernel or (isinstance(cpt, Kernel) and network.parents[v] != (CLASS,)):
        raise DataError(f"{where}: a sum of bells is for a number that asks for it, and whose only parent is the class")
    if isinstance(cpt, Kernel):
        cpt.check(network.variables[CLASS].card, where)
    if cpt.means.shape != shape or cpt.variances.shape != shape:
        raise DataError(f"{where} has shapes {cpt.means.shape} and {cpt.variances.shape} where its parents have {shape}")
    if not np.all(np.isfinite(cpt.means)) or not np.all(np.isfinite(cpt.variances)) or not cpt.variances.min(initial=1) > 0:
        raise DataError(f"{where} has a mean that is no number, or a variance that is not above zero")


def _check_sums(table: NDArray[np.float64], axis: int, where: str) -> None:
    if not table.min(initial=0) >= 0 or not np.all(np.abs(table.sum(axis=axis) - 1) <= 1e-9):
        raise DataError(f"{where} has negative or non-finite entries, or rows that do not sum to 1")


def _check_sparse(network: Network, inner: tuple[int, int], cpt: SparseCpt, where: str) -> None:
    count = len(cpt.configurations)
    if cpt.configurations.shape != (count, len(cpt.parents)) or cpt.rows.shape != (count, *inner):
        raise DataError(f"{where}: the shapes of the sparse table do not agree with its family")
    _check_sums(cpt.rows, 1, where)
    if isinstance(cpt.default, SparseCpt):
        if not set(cpt.default.parents) < set(cpt.parents) or list(cpt.default.parents) != sorted(cpt.default.parents):
            raise DataError(f"{where}: a sparse table backs off to some of its own parents, not to {cpt.default.parents}")
        _check_sparse(network, inner, cpt.default, where)
    elif cpt.default.shape != inner:
        raise DataError(f"{where}: the shapes of the sparse table do not agree with its family")
    else:
        _check_sums(cpt.default, 0, where)
    cards = np.array([network.variables[p].card for p in cpt.parents])
    if count and (cpt.configurations.min() < 0 or np.any(cpt.configurations.max(axis=0) >= cards)):
        raise DataError(f"{where}: a parent configuration is out of range")
    if count > 1:
        rows = cpt.configurations
        step = np.argmax(rows[1:] != rows[:-1], axis=1)
        ahead = np.take_along_axis(rows[1:] - rows[:-1], step[:, None], axis=1)
        if not np.all(ahead > 0):
            raise DataError(f"{where}: the parent configurations are not in increasing order or not unique")
