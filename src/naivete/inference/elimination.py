"""Exact marginalization of missing values by variable elimination, for all rows that miss the same variables together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, missing
from naivete.errors import ResourceError, quoted
from naivete.network.network import Network
from naivete.variables import CLASS, Family

__all__ = ["FACTOR_CELLS", "Component", "Elimination", "Factor", "expanded", "kept", "log", "marginalized", "missing_patterns"]

Codes = Sequence[NDArray[Any]]
Key = TypeVar("Key")
Value = TypeVar("Value")

FACTOR_CELLS = 1 << 22
"""The largest number of cells of the factors that are held at once."""

PATTERNS = 256
"""The number of patterns of missing values, and of their components, for which the order of elimination is kept."""
LOG_CELLS = 1 << 16
"""Tables with at most this many cells are kept as logarithms."""

Component = tuple[tuple[int, ...], tuple[int, ...]]
"""Missing variables that are connected by common families, and the variables whose families contain them."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The logarithm of a factor for some rows: one axis for each unobserved variable, the class last. # (row, ..., class)"""

    variables: tuple[int, ...]
    logs: Numbers


class Elimination:
    """Marginalization of the missing values of rows of codes.

    Parameters
    ----------
    network : the network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.classes = network.variables[CLASS].card
        self._components_of: dict[frozenset[int], list[Component]] = {}
        self._plans: dict[Component, list[tuple[int, frozenset[int]]]] = {}
        self._logs: dict[int, Numbers] = {}

    def add(self, joint: Numbers, codes: Codes, has_missing: Bools, memory: dict[Any, Numbers] | None = None) -> None:
        """Add to the joint log-probabilities of rows the families with missing members, these marginalized.

        A missing feature without children sums to one, so that only rows in which a parent is missing change.

        Parameters
        ----------
        joint : log-probabilities, changed in place.  # (row, class)
        codes : the codes of the features.
        has_missing : which features have missing values.
        memory : contributions computed before; they are shared by networks with the same tables of the same families, for
            the same rows.
        """
        memory = {} if memory is None else memory
        rows_of = self.rows_by_component(codes, has_missing)
        for component in sorted(rows_of):  # in this order, so that a row alone gets the same sum as in a batch
            rows = rows_of[component]
            key = component[0], tuple((v, self.network.parents[v]) for v in component[1]), rows.tobytes()
            if key not in memory:
                memory[key] = self.contribution(codes, component, rows)
            joint[rows] += memory[key]

    def rows_by_component(self, codes: Codes, has_missing: Bools) -> dict[Component, Integers]:
        """Return the rows in which each component of missing variables has to be marginalized."""
        inner = [p for p in self._inner if has_missing[p]]
        if not inner:
            return {}
        if len(codes[0]) == 1:
            absent = frozenset(x for x in np.flatnonzero(has_missing).tolist() if missing(codes[x])[0])
            return {component: np.zeros(1, np.int64) for component in self.components(absent)}
        incomplete = np.flatnonzero(np.logical_or.reduce([missing(codes[x]) for x in inner]))
        rows_of: dict[Component, list[Integers]] = {}
        for absent, rows in missing_patterns([column[incomplete] for column in codes], np.flatnonzero(has_missing).tolist()):
            for component in self.components(absent):
                rows_of.setdefault(component, []).append(incomplete[rows])
        return {component: np.concatenate(parts) for component, parts in rows_of.items()}

    def components(self, absent: frozenset[int]) -> list[Component]:
        """Return the relevant missing variables, grouped by common families, with the variables of those families.

        The contribution of a component does not depend on the others, so it is computed once for all rows that share it.
        """
        return kept(self._components_of, absent, self._grouped)

    def _grouped(self, absent: frozenset[int]) -> list[Component]:
        hidden = self._relevant(absent)
        summing_to_one = absent - hidden
        scopes = {
            v: self._families[v] & hidden
            for v in self.network.order
            if v not in summing_to_one and (self._informative[v] or v in hidden)
        }
        components = []
        while hidden:
            connected, added = set(), {min(hidden)}
            while added:
                connected |= added
                added = {h for scope in scopes.values() if scope & added for h in scope} - connected
            components.append((tuple(sorted(connected)), tuple(v for v, scope in scopes.items() if scope & connected)))
            hidden -= connected
        return components

    @cached_property
    def _inner(self) -> list[int]:
        """The features that are parents of other variables, in increasing order."""
        return sorted({p for parents in self.network.parents.values() for p in parents if p != CLASS})

    @cached_property
    def _families(self) -> dict[int, frozenset[int]]:
        return {v: frozenset(self.network.family(v)) for v in self.network.parents}

    @cached_property
    def _informative(self) -> dict[int, bool]:
        """Whether a variable has more than one state; a single state has probability one whatever the parents are."""
        return {v: self.network.variables[v].card > 1 for v in self.network.parents}

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {v: [] for v in self.network.parents}
        for v, parents in self.network.parents.items():
            for p in parents:
                children[p].append(v)
        return children

    def _relevant(self, absent: frozenset[int]) -> set[int]:
        """Return the missing variables that have an observed informative descendant; the others sum to one."""
        hidden = set(absent)
        for v in reversed(self.network.order):
            if v in hidden and not any(c in hidden or (c not in absent and self._informative[c]) for c in self._children[v]):
                hidden.discard(v)
        return hidden

    def plan(self, hidden: set[int], touched: Sequence[int]) -> list[tuple[int, frozenset[int]]]:
        """Return the order of elimination, smallest clique first, with the clique of each step.

        Parameters
        ----------
        hidden : the variables to eliminate.
        touched : the variables whose families contain them.
        """
        scopes = [frozenset(hidden & self._families[v]) for v in touched]
        remaining, plan = set(hidden), []
        while remaining:
            cliques = {h: frozenset().union(*(s for s in scopes if h in s)) for h in remaining}
            best = min(remaining, key=lambda h: (prod(self.network.variables[m].card for m in cliques[h]), h))
            plan.append((best, cliques[best]))
            scopes = [s for s in scopes if best not in s] + [cliques[best] - {best}]
            remaining.discard(best)
        return plan

    def contribution(self, codes: Codes, component: Component, rows: Integers) -> Numbers:
        """Return the log-product of the families of a component, its missing members marginalized.  # (row, class)"""
        hidden, touched = set(component[0]), component[1]
        plan = kept(self._plans, component, lambda key: self.plan({*key[0]}, key[1]))
        widest = max(prod(self.network.variables[h].card for h in clique) for _, clique in plan) * self.classes
        if widest > FACTOR_CELLS:
            names = ", ".join(quoted(self.network.name(h)) for h in max((c for _, c in plan), key=len))
            raise ResourceError(
                f"marginalizing the missing values of {names} together needs a table of {widest:,} cells for each row, more than "
                f"{FACTOR_CELLS:,}; fill in some of them, or learn a network with fewer arcs between features"
            )
        parts = np.array_split(rows, max(1, len(rows) * widest // FACTOR_CELLS))
        order = [v for v, _ in plan]
        return np.concatenate([self._eliminated([column[part] for column in codes], hidden, touched, order) for part in parts])

    def _eliminated(self, codes: Codes, hidden: set[int], touched: Sequence[int], order: Sequence[int]) -> Numbers:
        factors = [self._factor(codes, v, hidden) for v in touched]
        for h in order:
            used = [f for f in factors if h in f.variables]
            factors = [f for f in factors if h not in f.variables]
            factors.append(marginalized(used, h, _kernels.log_sum_exp))
        return sum((f.logs for f in factors), np.zeros((len(codes[0]), self.classes)))

    def _factor(self, codes: Codes, v: int, hidden: set[int]) -> Factor:
        """Return the table of a family for each row: observed members fixed, hidden members as axes."""
        members = self.network.family(v)
        free = tuple(m for m in members if m in hidden)
        if v in self.network.sparse:
            return Factor(free, self._sparse_factor(codes, v, free))
        logs = self.logs(v)
        features = [m for m in members if m != CLASS]
        fixed = [m for m in features if m not in hidden]
        if not fixed:
            return Factor(free, logs[None].repeat(len(codes[0]), axis=0))
        axes = [features.index(m) for m in (*fixed, *free)]
        index = tuple(codes[m].astype(np.int64) for m in fixed)
        return Factor(free, logs.transpose(*axes, logs.ndim - 1)[index])

    def logs(self, v: int) -> Numbers:
        """Return the logarithms of a dense table, with a class axis; those of small tables are kept."""
        if v in self._logs:
            return self._logs[v]
        logs = _logs_by_class(self.network.full_table(v), self.network.family(v), self.classes)
        if logs.size <= LOG_CELLS:
            self._logs[v] = logs
        return logs

    def _sparse_factor(self, codes: Codes, v: int, free: tuple[int, ...]) -> Numbers:
        rows, cards, table = len(codes[0]), [self.network.variables[m].card for m in free], self.network.table(v)
        grid = np.indices(cards).reshape(len(cards), -1)  # (hidden, configuration)
        completed = {
            m: np.tile(grid[free.index(m)], rows) if m in free else np.repeat(codes[m].astype(np.int64), grid.shape[1])
            for m in table.members
            if m != CLASS
        }
        return log(table.probability(completed, rows * grid.shape[1])).reshape(rows, *cards, -1)


def kept(memory: dict[Key, Value], key: Key, compute: Callable[[Key], Value], most: int = PATTERNS) -> Value:
    """Return a value that was computed before, or compute and keep it; where there are too many, the oldest are forgotten.

    Parameters
    ----------
    memory : the values.
    key : the key of the value.
    compute : a function from the key to the value.
    most : how many values are kept.
    """
    try:
        return memory[key]
    except KeyError:
        value = memory[key] = compute(key)
    if len(memory) > most:
        for old in list(memory)[: 1 + most // 8]:
            memory.pop(old, None)  # another thread may have removed it already
    return value


def missing_patterns(codes: Codes, columns: Sequence[int]) -> Iterator[tuple[frozenset[int], Integers]]:
    """Yield each set of columns that are missing together in some row, with the rows that miss exactly these.

    Parameters
    ----------
    codes : the codes of the features.
    columns : the columns that may have missing values.
    """
    packed = np.packbits(np.stack([missing(codes[x]) for x in columns], axis=1), axis=1)
    patterns, pattern_of = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(pattern_of.ravel(), kind="stable")
    bounds = np.searchsorted(pattern_of.ravel()[order], np.arange(len(patterns) + 1))
    for pattern, start, stop in zip(patterns, bounds[:-1], bounds[1:], strict=True):
        flags = np.unpackbits(pattern, count=len(columns)).astype(bool)
        yield frozenset(np.array(columns)[flags].tolist()), order[start:stop]


def marginalized(factors: Sequence[Factor], h: int, log_sum_exp: Callable[[Numbers, int], Numbers]) -> Factor:
    """Return the product of factors, summed over one variable, in logarithms.

    Parameters
    ----------
    factors : the factors, which contain the variable.
    h : the variable.
    log_sum_exp : sums exponentials over an axis, and returns the logarithms.
    """
    scope = tuple(sorted({v for f in factors for v in f.variables}))
    total = sum(expanded(f, scope) for f in factors)
    assert isinstance(total, np.ndarray)
    return Factor(tuple(v for v in scope if v != h), log_sum_exp(total, 1 + scope.index(h)))


def expanded(factor: Factor, scope: tuple[int, ...]) -> Numbers:
    """Return the logarithms of a factor with an axis for each variable of a scope, of length one where the factor has none."""
    shape = [factor.logs.shape[0], *(1,) * len(scope), factor.logs.shape[-1]]
    for v, size in zip(factor.variables, factor.logs.shape[1:-1], strict=True):
        shape[1 + scope.index(v)] = size
    return factor.logs.reshape(shape)


def log(p: NDArray[Any]) -> Numbers:
    """Return natural logarithms, -inf for 0, as a contiguous array."""
    with np.errstate(divide="ignore"):
        return np.log(np.ascontiguousarray(p))  # type: ignore[no-any-return]


def _logs_by_class(cpt: Numbers, members: Family, classes: int) -> Numbers:
    """Return the logarithms of a dense table, with a class axis even where the family does not contain the class."""
    logs = log(cpt)
    return logs if members[-1] == CLASS else np.repeat(logs[..., None], classes, axis=-1)
