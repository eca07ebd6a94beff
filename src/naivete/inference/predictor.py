"""Network + codes -> joint and posterior probabilities of the classes, exact for any pattern of missing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers, missing
from naivete.errors import DataError, ResourceError, quoted
from naivete.network.densities import Normal
from naivete.network.network import Network
from naivete.network.normal_densities import Joint, joint_of
from naivete.variables import CLASS, Family

__all__ = ["Predictor", "argmax_class", "fallback", "most_probable_class", "rows_without_evidence"]

Codes = Sequence[NDArray[Any]]

FACTOR_CELLS = 1 << 22


Component = tuple[tuple[int, ...], tuple[int, ...]]
"""Missing variables that hang together, and the variables whose families they touch."""


@dataclass(frozen=True, eq=False)
class Factor:
    """The logarithm of a factor for some rows: one axis for each unobserved variable, the class last. # (row, ..., class)"""

    variables: tuple[int, ...]
    logs: Numbers


class Predictor:
    """Answers about the class of rows of codes, from a network.

    Rows without missing values: one pass of the kernel over the families. Missing values are summed out exactly, all rows of
    one pattern together; what has no observed descendant sums to one and is never touched.

    Parameters
    ----------
    network : the network.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.classes = network.variables[CLASS].card

    @cached_property
    def _own(self) -> list[int]:
        """The variables whose families contain the class: with all features known, no other family tells anything about it."""
        return [v for v in self.network.order if self.network.family(v)[-1] == CLASS]

    @cached_property
    def _apart(self) -> list[int]:
        """The variables whose families do not contain the class, but for columns computed from the row, which are no event."""
        return [v for v in self.network.order if self.network.family(v)[-1] != CLASS and v not in self.network.derived]

    @cached_property
    def _forbidding(self) -> list[int]:
        """Those of them that make rows impossible, which has to be said although it tells nothing about the class."""
        return [v for v in self._apart if self.network.table(v).has_zeros]

    @cached_property
    def _dense(self) -> tuple[_kernels.Layout, Numbers]:
        """The logarithms of the dense tables that contain the class, the class innermost, in one flat array."""
        dense = [v for v in self._own if v not in self.network.sparse]
        flat = [_log(np.asarray(self.network.cpts[v])).ravel() for v in dense]
        cards = tuple(v.card for v in self.network.variables)
        return _kernels.Layout(tuple(map(self.network.family, dense)), cards), np.concatenate([*flat, np.empty(0)])

    @cached_property
    def _sparse(self) -> list[int]:
        return [v for v in self._own if v in self.network.sparse]

    @cached_property
    def _telling(self) -> list[int]:
        return [x for x in self.network.features if self.network.variables[x].card > 1 or x in self.network.densities]

    def joint(self, codes: Codes, gaps: NDArray[np.bool_]) -> Numbers:
        """log P(row, class), -inf where impossible; `gaps` says which features have missing values.  # (row, class)"""
        self._check(codes)
        joint = self._weighed(codes, gaps)
        for v in self._apart:
            self._add_family(joint, codes, v)
        return joint

    def _check(self, codes: Codes) -> None:
        """Refuse rows that lack columns of the network, before anything compiled looks for them."""
        if len(codes) < len(self.network.features):
            raise DataError(
                f"{len(codes)} columns of codes where the network has {len(self.network.features)} features; where some are "
                "derived, naivete.inference.derived_predictor.predictor adds them"
            )

    def _weighed(self, codes: Codes, gaps: NDArray[np.bool_]) -> Numbers:
        """log P(row, class) up to what is the same for all classes.  # (row, class)"""
        joint = _kernels.gather(codes, *self._dense, self.classes)
        for v in self._sparse:
            self._add_family(joint, codes, v)
        self._add_densities(joint, codes, gaps)
        self.add_marginalised(joint, codes, gaps)
        return joint

    def _add_densities(self, joint: Numbers, codes: Codes, gaps: NDArray[np.bool_]) -> None:
        """Add the logarithms of the densities; where numbers depend on missing ones, what is left when these are summed out."""
        numbers = list(self.network.densities)
        linked = any(density.slopes is not None for density in self.network.densities.values())
        if not (linked and gaps[numbers].any()):
            for x, density in self.network.densities.items():
                self._add_density(joint, codes, x, density, slice(None))
            return
        for absent, rows in _patterns(codes, numbers):
            if absent:
                known = [i for i, x in enumerate(self._joint.features) if x not in absent]
                values = np.stack([codes[self._joint.features[i]][rows] for i in known], axis=1) if known else None
                joint[rows] += 0.0 if values is None else self._joint.logs(values, known)
            else:
                for x, density in self.network.densities.items():
                    self._add_density(joint, codes, x, density, rows)

    @cached_property
    def _joint(self) -> Joint:
        return joint_of(self.network)

    def _add_density(self, joint: Numbers, codes: Codes, x: int, density: Normal, rows: Any) -> None:
        """Add the logarithms of the density of a number in those of some rows that know it and all its parents."""
        above = [p for p in self.network.family(x) if p not in (x, CLASS)]
        some = np.arange(len(joint))[rows]
        some = some[~np.logical_or.reduce([missing(codes[m][some]) for m in (x, *above)])]
        at = tuple(codes[p][some].astype(np.int64) for p in above if p not in self.network.densities)
        given = CLASS in self.network.parents[x]
        values = codes[x][some][:, None] if given else codes[x][some]
        linked = [codes[p][some] for p in above if p in self.network.densities]
        numbers = np.stack(linked, axis=1) if linked else None  # (row, number)
        logs = density.logs(values, at, numbers[:, None] if given and numbers is not None else numbers)
        joint[some] += logs if given else logs[:, None]

    def add_marginalised(
        self, joint: Numbers, codes: Codes, gaps: NDArray[np.bool_], memory: dict[Any, Numbers] | None = None
    ) -> None:
        """Add what the families with missing members contribute, row by row, the missing members summed out.

        A missing feature that is nobody's parent sums to one, so that only rows which miss a parent have anything to add.
        `memory` keeps contributions for other networks that have the same tables of the same families, and the same rows.
        """
        memory = {} if memory is None else memory
        places = self.places(codes, gaps)
        for component in sorted(places):  # in this order, so that a row alone gets the same sum as in a batch
            own = places[component]
            key = component[0], tuple((v, self.network.parents[v]) for v in component[1]), own.tobytes()
            if key not in memory:
                memory[key] = self._contribution(codes, component, own)
            joint[own] += memory[key]

    def places(self, codes: Codes, gaps: NDArray[np.bool_]) -> dict[Component, NDArray[np.int64]]:
        """The rows that miss variables which matter and hang together, for each set of such variables."""
        inner = sorted({p for parents in self.network.parents.values() for p in parents if p != CLASS and gaps[p]})
        if not inner:
            return {}
        rows = np.flatnonzero(np.logical_or.reduce([missing(codes[x]) for x in inner]))
        places: dict[Component, list[NDArray[np.int64]]] = {}
        for pattern, own in _patterns([c[rows] for c in codes], np.flatnonzero(gaps).tolist()):
            for component in self._components(pattern):
                places.setdefault(component, []).append(rows[own])
        return {component: np.concatenate(own) for component, own in places.items()}

    def posterior(self, codes: Codes, gaps: NDArray[np.bool_]) -> tuple[Numbers, NDArray[np.int64]]:
        """P(class | row), and the rows that have probability zero in every class.

        Those are answered by the prior of the classes with the fewest impossible factors. A row without a single known value
        gets the prior itself; a feature of a single state tells nothing.
        """
        self._check(codes)
        joint = self._weighed(codes, gaps)
        for v in self._forbidding:
            self._add_family(joint, codes, v)
        certain = len(joint) and joint.min() == -np.inf
        impossible = np.flatnonzero(np.isneginf(joint.max(axis=1))) if certain else np.empty(0, np.int64)
        if len(impossible):
            joint[impossible] = self._fallback([column[impossible] for column in codes])
        result = _kernels.posterior(joint)
        if not self.network.parents[CLASS]:
            result[rows_without_evidence(codes, gaps, self._telling, len(result))] = np.asarray(self.network.cpts[CLASS])
        return result, impossible

    def _add_family(self, joint: Numbers, codes: Codes, v: int) -> None:
        """Add log P(v | parents) to the rows in which no feature of the family is missing."""
        table, known = self.network.table(v), self._known(codes, v)
        cells = self.network.variables[v].card * self.classes if v in self.network.sparse else 1
        for rows in np.array_split(known, max(1, len(known) * cells // FACTOR_CELLS)):
            own = {m: codes[m][rows] for m in table.members if m != CLASS}
            joint[rows] += _log(table.probability(own, len(rows)))

    def _known(self, codes: Codes, v: int) -> NDArray[np.intp]:
        """The rows in which no feature of the family is missing."""
        members = [m for m in self.network.family(v) if m != CLASS]
        return np.flatnonzero(~np.logical_or.reduce([missing(codes[m]) for m in members]))

    def _fallback(self, codes: Codes) -> Numbers:
        """The logarithms that answer impossible rows, by the documented rule."""
        layout, values = self._dense
        zeros = _kernels.gather(codes, layout, np.isneginf(values).astype(np.float64), self.classes)
        for x in self._sparse:
            own = np.zeros_like(zeros)
            self._add_family(own, codes, x)
            zeros += np.isneginf(own)
        above = self.network.parents[CLASS]
        cell = above[0] if len(above) == 1 and above[0] in self.network.derived else None
        return fallback(zeros, self.prior if cell is None else np.asarray(self.network.cpts[CLASS])[codes[cell].astype(np.int64)])

    @cached_property
    def prior(self) -> Numbers:
        """P(class): its table, or where it has parents what is left when everything else is summed out."""
        if not self.network.parents[CLASS]:
            return np.asarray(self.network.cpts[CLASS])
        nothing = [np.full(1, 255, np.uint8) for _ in self.network.features]
        try:
            joint = self._weighed((*nothing, np.zeros(1, np.uint8)), np.ones(len(nothing), bool))
        except ResourceError:
            return np.full(self.classes, 1 / self.classes)
        return np.asarray(_kernels.posterior(joint)[0])

    def _contribution(self, codes: Codes, component: Component, rows: NDArray[np.int64]) -> Numbers:
        """What the families of a component contribute to these rows, its missing members summed out.  # (row, class)"""
        hidden, touched = set(component[0]), list(component[1])
        plan = self.plan(hidden, touched)
        widest = max(prod(self.network.variables[h].card for h in clique) for _, clique in plan) * self.classes
        if widest > FACTOR_CELLS:
            names = ", ".join(quoted(self.network.name(h)) for h in max((c for _, c in plan), key=len))
            raise ResourceError(
                f"summing out missing values of {names} together needs a table of {widest:,} cells for each row; "
                "fill in some of them, or learn a network with fewer arcs between features"
            )
        parts = np.array_split(rows, max(1, len(rows) * widest // FACTOR_CELLS))
        order = [v for v, _ in plan]
        return np.concatenate([self._eliminated([column[part] for column in codes], hidden, touched, order) for part in parts])

    def _components(self, missing: frozenset[int]) -> list[Component]:
        """The missing variables that matter, those that meet in a family together, with the families they touch.

        What one component contributes does not depend on the others, so rows that share a component share its work.
        """
        hidden = self._relevant(missing)
        gone = missing - hidden
        left = {v: self._families[v] & hidden for v in self.network.order if v not in gone and (self._speaks[v] or v in hidden)}
        found = []
        while hidden:
            own, grown = set(), {min(hidden)}
            while grown:
                own |= grown
                grown = {h for scope in left.values() if scope & grown for h in scope} - own
            found.append((tuple(sorted(own)), tuple(v for v, scope in left.items() if scope & own)))
            hidden -= own
        return found

    @cached_property
    def _families(self) -> dict[int, frozenset[int]]:
        return {v: frozenset(self.network.family(v)) for v in self.network.parents}

    @cached_property
    def _speaks(self) -> dict[int, bool]:
        """Whether a variable has more than one state; one of a single state has probability one whatever its parents are."""
        return {v: self.network.variables[v].card > 1 for v in self.network.parents}

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {v: [] for v in self.network.parents}
        for v, parents in self.network.parents.items():
            for p in parents:
                children[p].append(v)
        return children

    def _relevant(self, missing: frozenset[int]) -> set[int]:
        """The missing variables that have an observed descendant with something to say; the others sum to one."""
        hidden = set(missing)
        for v in reversed(self.network.order):
            if v in hidden and not any(c in hidden or (c not in missing and self._speaks[c]) for c in self._children[v]):
                hidden.discard(v)
        return hidden

    def plan(self, hidden: set[int], touched: list[int]) -> list[tuple[int, frozenset[int]]]:
        """The order in which to sum out, smallest clique first, and the clique of each step."""
        scopes = [frozenset(hidden & set(self.network.family(v))) for v in touched]
        left, plan = set(hidden), []
        while left:
            cliques = {h: frozenset().union(*(s for s in scopes if h in s)) for h in left}
            best = min(left, key=lambda h: (prod(self.network.variables[m].card for m in cliques[h]), h))
            plan.append((best, cliques[best]))
            scopes = [s for s in scopes if best not in s] + [cliques[best] - {best}]
            left.discard(best)
        return plan

    def _eliminated(self, codes: Codes, hidden: set[int], touched: list[int], order: list[int]) -> Numbers:
        factors = [self._factor(codes, v, hidden) for v in touched]
        for h in order:
            used = [f for f in factors if h in f.variables]
            factors = [f for f in factors if h not in f.variables]
            factors.append(summed_out(used, h))
        return sum((f.logs for f in factors), np.zeros((len(codes[0]), self.classes)))

    def _factor(self, codes: Codes, v: int, hidden: set[int]) -> Factor:
        """The rows' slices of a table: observed members fixed, hidden ones as axes."""
        members = self.network.family(v)
        free = tuple(m for m in members if m in hidden)
        if v in self.network.sparse:
            return Factor(free, self._sparse_factor(codes, v, free))
        logs = _logs(self.network.full_table(v), members, self.classes)
        features = [m for m in members if m != CLASS]
        fixed = [m for m in features if m not in hidden]
        axes = [features.index(m) for m in (*fixed, *free)]
        index = tuple(codes[m].astype(np.int64) for m in fixed)
        own = logs.transpose(*axes, logs.ndim - 1)[index] if fixed else logs[None].repeat(len(codes[0]), axis=0)
        return Factor(free, own)

    def _sparse_factor(self, codes: Codes, x: int, free: tuple[int, ...]) -> Numbers:
        rows, cards, table = len(codes[0]), [self.network.variables[m].card for m in free], self.network.table(x)
        grid = np.indices(cards).reshape(len(cards), -1)  # (hidden, configuration)
        everywhere = {
            m: np.tile(grid[free.index(m)], rows) if m in free else np.repeat(codes[m].astype(np.int64), grid.shape[1])
            for m in table.members
            if m != CLASS
        }
        return _log(table.probability(everywhere, rows * grid.shape[1])).reshape(rows, *cards, -1)


def fallback(zeros: NDArray[Any], prior: Numbers) -> Numbers:
    """The logarithms that answer impossible rows: the prior of the classes with the fewest impossible factors, else -inf.

    Where the prior of all these is zero they share.  # (row, class)
    """
    fewest = zeros == zeros.min(axis=1, keepdims=True)
    logs = np.where(fewest, _log(prior), -np.inf)
    return np.where(np.isneginf(logs.max(axis=1, keepdims=True)), np.where(fewest, 0.0, -np.inf), logs)


def rows_without_evidence(codes: Codes, gaps: NDArray[np.bool_], telling: Sequence[int], rows: int) -> NDArray[np.intp]:
    """The rows in which none of these features is known, so that the answer is the prior itself."""
    if not gaps[list(telling)].all():
        return np.empty(0, np.intp)
    return np.flatnonzero(np.broadcast_to(np.logical_and.reduce([missing(codes[x]) for x in telling], axis=0), rows))


def argmax_class(posterior: Numbers) -> NDArray[np.intp]:
    """The most probable class of each row, the first of equals."""
    return np.asarray(posterior.argmax(axis=1))


def most_probable_class(posterior: Numbers) -> NDArray[np.intp]:
    """The most probable class of each row, the first of those that differ by no more than rounding."""
    return argmax_class(np.round(posterior, 12))


def _log(p: NDArray[Any]) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.log(np.ascontiguousarray(p))  # type: ignore[no-any-return]


def _logs(cpt: Numbers, members: Family, classes: int) -> Numbers:
    """The logarithms of a dense table, with a class axis even where the family has none."""
    logs = _log(cpt)
    return logs if members[-1] == CLASS else np.repeat(logs[..., None], classes, axis=-1)


def _patterns(codes: Codes, gaps: list[int]) -> Iterator[tuple[frozenset[int], NDArray[np.int64]]]:
    """The rows that miss exactly the same values, for each set of missing values."""
    packed = np.packbits(np.stack([missing(codes[x]) for x in gaps], axis=1), axis=1)
    kinds, kind_of = np.unique(packed, axis=0, return_inverse=True)
    order = np.argsort(kind_of.ravel(), kind="stable")
    bounds = np.searchsorted(kind_of.ravel()[order], np.arange(len(kinds) + 1))
    for kind, start, stop in zip(kinds, bounds[:-1], bounds[1:], strict=True):
        flags = np.unpackbits(kind, count=len(gaps)).astype(bool)
        yield frozenset(np.array(gaps)[flags].tolist()), order[start:stop]


def summed_out(factors: list[Factor], h: int) -> Factor:
    """The product of the factors, summed over one variable, in logarithms."""
    scope = tuple(sorted({v for f in factors for v in f.variables}))
    total = sum(expanded(f, scope) for f in factors)
    assert isinstance(total, np.ndarray)
    axis = 1 + scope.index(h)
    top = total.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(np.exp(total - top).sum(axis=axis)) + top.squeeze(axis)
    return Factor(tuple(v for v in scope if v != h), logs)


def expanded(factor: Factor, scope: tuple[int, ...]) -> Numbers:
    """The logarithms of a factor with an axis for each variable of a scope, of length one where the factor has none."""
    shape = [factor.logs.shape[0], *(1,) * len(scope), factor.logs.shape[-1]]
    for v, size in zip(factor.variables, factor.logs.shape[1:-1], strict=True):
        shape[1 + scope.index(v)] = size
    return factor.logs.reshape(shape)
