"""Marginalization of the missing values of one row, prepared once for each pattern of missing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.elimination import FACTOR_CELLS, Component, Elimination, kept
from naivete.variables import CLASS

__all__ = ["RowElimination"]


@dataclass(frozen=True, eq=False)
class _Sum:
    """One step: the product of factors, summed over a variable.

    Parameters
    ----------
    factors : list of tuple
        The position of each factor, and the shape in which it is added to the others.
    axis : int
        The axis of the variable.
    """

    factors: list[tuple[int, tuple[int, ...]]]
    axis: int


@dataclass(frozen=True, eq=False)
class _Program:
    """The marginalization of a component: tables with the axes of observed members first, steps, and the remaining factors."""

    tables: list[tuple[Numbers, tuple[int, ...]]]
    steps: list[_Sum]
    remaining: list[int]
    has_zeros: bool

    def contribution(self, codes: Sequence[Any]) -> Numbers:
        """Return the log-product of the tables, its missing members marginalized.  # (1, class)"""
        factors = [table[tuple(codes[m] for m in fixed)][None] if fixed else table[None] for table, fixed in self.tables]
        for step in self.steps:
            (first, shape), *others = step.factors
            total = factors[first].reshape(shape)
            for factor, shape in others:
                total = total + factors[factor].reshape(shape)
            top = total.max(axis=step.axis, keepdims=True)
            top = np.where(np.isneginf(top), 0.0, top) if self.has_zeros else top
            factors.append(np.log(np.exp(total - top).sum(axis=step.axis)) + top.squeeze(step.axis))
        result = factors[self.remaining[0]]
        for i in self.remaining[1:]:
            result = result + factors[i]
        return result


class RowElimination:
    """The contributions of missing parents to the joint log-probabilities of one row: the same bits as those of `Elimination`.

    Parameters
    ----------
    elimination : Elimination
        The marginalization for many rows.
    """

    def __init__(self, elimination: Elimination) -> None:
        self._elimination = elimination
        self._programs: dict[Component, _Program | None] = {}

    def contributions(self, codes: Sequence[Any]) -> list[list[float]] | None:
        """Return the contribution of each component of missing variables, in the order in which they are added.

        Parameters
        ----------
        codes : sequence
            The codes of the features, None for those that are missing.

        Returns
        -------
        list of list of float or None
            A logarithm for each class; None if there are sparse tables, or if the tables would be too large.
        """
        if self._elimination.network.sparse:
            return None
        absent = frozenset(x for x, code in enumerate(codes) if code is None)
        components = sorted(self._elimination.components(absent))
        programs = [kept(self._programs, component, self._program) for component in components]
        with np.errstate(divide="ignore", under="ignore"):
            results = [None if program is None else program.contribution(codes)[0].tolist() for program in programs]
        return None if None in results else results  # type: ignore[return-value]

    def _program(self, component: Component) -> _Program | None:
        """Return the marginalization of a component, None if it needs too large a table."""
        hidden, touched = {*component[0]}, component[1]
        variables, plan = self._elimination.network.variables, self._elimination.plan(hidden, touched)
        if max(prod(variables[h].card for h in clique) for _, clique in plan) * self._elimination.classes > FACTOR_CELLS:
            return None
        tables, scopes = zip(*(self._table(v, hidden) for v in touched), strict=True)
        every = [*scopes]
        live, steps = [*range(len(scopes))], []
        for h, _ in plan:
            used = [i for i in live if h in every[i]]
            scope = tuple(sorted({v for i in used for v in every[i]}))
            steps.append(_Sum([(i, self._shape(every[i], scope)) for i in used], 1 + scope.index(h)))
            live = [*(i for i in live if h not in every[i]), len(every)]
            every.append(tuple(v for v in scope if v != h))
        return _Program([*tables], steps, live, any(np.isneginf(table).any() for table, _ in tables))

    def _table(self, v: int, hidden: set[int]) -> tuple[tuple[Numbers, tuple[int, ...]], tuple[int, ...]]:
        """Return the logarithms of a table with the axes of the observed members first, these members, and the hidden ones."""
        logs, features = self._elimination.logs(v), [m for m in self._elimination.network.family(v) if m != CLASS]
        fixed, free = (tuple(m for m in features if (m in hidden) == is_hidden) for is_hidden in (False, True))
        axes = [features.index(m) for m in (*fixed, *free)]
        return (logs.transpose(*axes, logs.ndim - 1), fixed), free

    def _shape(self, variables: tuple[int, ...], scope: tuple[int, ...]) -> tuple[int, ...]:
        sizes: Iterator[int] = (self._elimination.network.variables[v].card if v in variables else 1 for v in scope)
        return (1, *sizes, self._elimination.classes)
