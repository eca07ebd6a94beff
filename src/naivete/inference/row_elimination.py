"""Marginalization of the missing values of one row, prepared once for each pattern of missing values, without arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import exp, inf, log, prod
from operator import add, itemgetter, mul
from typing import Any, Final, NamedTuple

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.inference.elimination import Component, Elimination
from naivete.variables import CLASS

__all__ = ["LookupTable", "RowSum", "lookup_table", "row_sum"]

Logs = Sequence[float]
Factor = Callable[[Sequence[Any], list[Logs]], Logs]
"""A function from the codes of a row and the results of earlier steps to the logarithms of a factor, in the cells of its step."""

MOST_RESULTS: Final = 1 << 11
"""The largest number of contributions of a component that are computed in advance, for all values of its observed neighbors."""
MOST_CELLS: Final = 1 << 16
"""The largest number of prepared logarithms of a component."""
MOST_TERMS: Final = 1 << 11
"""The largest number of terms of the sums of a component; larger sums are faster with arrays."""


class LookupTable(NamedTuple):
    """The contributions of connected missing variables for all values of their observed neighbors.

    Parameters
    ----------
    members : tuple of int
        The observed members of the tables that contain the missing variables.
    logs : list of sequence of float
        A logarithm for each class; one row for each combination of their states, the last member innermost.
    """

    members: tuple[int, ...]
    logs: list[Logs]


def lookup_table(elimination: Elimination, component: Component) -> LookupTable | None:
    """Return the contributions of connected missing variables, None if their observed neighbors have too many combinations.

    Parameters
    ----------
    elimination : Elimination
        The marginalization for many rows.
    component : Component
        The missing variables, and the variables whose families contain them.
    """
    (hidden, touched), network = component, elimination.network
    members = sorted({m for v in touched for m in network.family(v) if m != CLASS} - {*hidden})
    cards = [network.variables[m].card for m in members]
    if prod(cards) * elimination.classes > MOST_RESULTS:
        return None
    states = np.indices(cards).reshape(len(cards), -1)  # (member, combination)
    rows = np.arange(prod(cards))
    codes = [np.zeros(len(rows), np.int64)] * len(network.features)
    for m, column in zip(members, states, strict=True):
        codes[m] = column
    return LookupTable(tuple(members), [*map(tuple, elimination.contribution(codes, component, rows).tolist())])


class _Step(NamedTuple):
    """The sum of a product of factors over one variable, whose states are neighboring cells."""

    card: int
    factors: list[Factor]


class RowSum(NamedTuple):
    """A sum that is computed for each row: the contribution of connected missing variables to the its log-probabilities.

    The results have the same bits as those of `Elimination`.
    """

    steps: list[_Step]

    def contribution(self, codes: Sequence[Any]) -> Logs:
        """Return the logarithm, in each class, of the product of the tables, its missing members marginalized.

        Parameters
        ----------
        codes : sequence
            The codes of the features, None for those that are missing.
        """
        results: list[Logs] = []
        for card, (first, *others) in self.steps:
            total = first(codes, results)
            for factor in others:
                total = [*map(add, total, factor(codes, results))]
            results.append([_log_sum(total[cell : cell + card]) for cell in range(0, len(total), card)])
        return results[-1]


def _log_sum(logs: Logs) -> float:
    top = max(logs)
    return top if top == -inf else log(reduce(add, [exp(a - top) for a in logs])) + top


def row_sum(elimination: Elimination, component: Component) -> RowSum | None:
    """Return the sum over the states of connected missing variables, None if it is too large.

    Parameters
    ----------
    elimination : Elimination
        The marginalization for many rows.
    component : Component
        The missing variables, and the variables whose families contain them.
    """
    (hidden, touched), variables = component, elimination.network.variables
    classes, plan = elimination.classes, elimination.plan({*hidden}, touched)
    cells_of = {h: classes * prod(variables[m].card for m in clique) for h, clique in plan}
    waiting: list[tuple[int, tuple[int, ...]]] = [(v, _free(elimination, v, hidden)) for v in touched]
    fixed = [prod(variables[m].card for m in elimination.network.family(v) if m != CLASS and m not in hidden) for v in touched]
    if sum(cells_of.values()) > MOST_TERMS or max(fixed) * len(fixed) * max(cells_of.values()) > MOST_CELLS:
        return None
    steps: list[_Step] = []
    for h, clique in plan:
        scope = (*sorted(clique - {h}), h)
        shape = (classes, *(variables[m].card for m in scope))
        used = [(v, free) for v, free in waiting if h in free]
        factors = [
            _message(v - len(variables), _cells(free, scope, shape))
            if v >= len(variables)
            else _table(elimination, v, scope, shape)
            for v, free in used
        ]
        waiting = [item for item in waiting if h not in item[1]] + [(len(variables) + len(steps), scope[:-1])]
        steps.append(_Step(variables[h].card, factors))
    return RowSum(steps)


def _free(elimination: Elimination, v: int, hidden: Sequence[int]) -> tuple[int, ...]:
    return tuple(m for m in elimination.network.family(v) if m in hidden)


def _cells(free: Sequence[int], scope: Sequence[int], shape: Sequence[int]) -> Integers:
    """Return, for each cell of a step, the cell of a factor with fewer variables; axes: the class, then the variables."""
    axes = (0, *(1 + scope.index(m) for m in free))
    index = np.ravel_multi_index([np.indices(shape)[axis] for axis in axes], [shape[axis] for axis in axes])
    return np.asarray(index.ravel(), np.int64)


def _message(step: int, cells: Integers) -> Factor:
    if np.array_equal(cells, np.arange(len(cells))):
        return lambda _, results: results[step]
    expand = itemgetter(*cells.tolist())
    return lambda _, results: expand(results[step])


def _table(elimination: Elimination, v: int, scope: Sequence[int], shape: Sequence[int]) -> Factor:
    """Return the table of a variable, which depends on the codes of its observed members."""
    features = [m for m in elimination.network.family(v) if m != CLASS]
    fixed, free = ([m for m in features if (m in scope) == is_free] for is_free in (False, True))
    logs: Numbers = elimination.logs(v)
    cards = [logs.shape[features.index(m)] for m in fixed]
    logs = logs.transpose(*(features.index(m) for m in fixed), logs.ndim - 1, *(features.index(m) for m in free))
    rows = logs.reshape(prod(cards), -1)[:, _cells(free, scope, shape)].tolist()
    if not fixed:
        return lambda _codes, _results: rows[0]
    if len(fixed) == 1:
        (only,) = fixed
        return lambda codes, _results: rows[codes[only]]
    members, strides = itemgetter(*fixed), [prod(cards[i + 1 :]) for i in range(len(cards))]
    return lambda codes, _results: rows[sum(map(mul, members(codes), strides))]
