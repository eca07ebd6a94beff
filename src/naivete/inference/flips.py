"""Flips: the cheapest change of observed values with which another class is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from math import gcd, inf, lcm
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.errors import ResourceError
from naivete.inference.bucket_tree import FORBIDDEN, SMALL, BucketTree, Maxima, bucket_tree, search
from naivete.inference.class_ratios import MOST_CELLS, Pair, beats, class_logs, class_ratios, restricted, winning
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Flip", "cheapest_flip", "whole_costs"]


class Flip(NamedTuple):
    """A row with another predicted class.

    Parameters
    ----------
    states : the states of all features that matter; the others may have any.
    predicted : the class that is predicted for this row.
    cost : the sum of the costs of its states.
    """

    states: dict[int, int]
    predicted: int
    cost: Fraction


def cheapest_flip(network: Network, costs: Mapping[int, Numbers], decided: int, target: int | None = None) -> Flip | None:
    """Return the row with the smallest costs for which another class, or the target class, is predicted; None if there is none.

    Without a target, one rival has to beat the predicted class: for each rival the largest log ratio within each budget of costs is
    the maximum of a sum over families, which is computed by bucket elimination with the budget as one more axis. With a target
    and more than two classes, the target has to beat all others at once: the same maxima are the bounds of a depth-first search.
    Both are exact. Of equally cheap rows that with the largest log ratio is returned.

    Parameters
    ----------
    network : a network of tables without derived columns.
    costs : the cost of each state of every feature: 0 for observed states and for all states of missing features, inf for states
        that must not be chosen.
    decided : the class that is predicted now.
    target : the class that is wanted; by default any other.

    References
    ----------
    Wachter, Mittelstadt and Russell (2018), Counterfactual explanations without opening the black box; Dechter (1999), Bucket
    elimination.
    """
    classes = range(network.variables[CLASS].card)
    pairs = [(c, decided) for c in classes if c != decided] if target is None else [(target, c) for c in classes if c != target]
    if not pairs:
        return None
    tree, unchanged = _tree(network, pairs, costs)
    steps, unit = whole_costs({x: costs[x] for x in tree.order})
    row = _cheapest_rival(tree, steps, pairs) if target is None else _cheapest_target(tree, steps, pairs)
    if row is None:
        return None
    spent = sum(int(steps[x][state]) for x, state in row.items())
    row |= unchanged
    predicted = target if target is not None else winning(class_logs(network, row))
    return Flip(dict(sorted(row.items())), predicted, spent * unit)


def _tree(network: Network, pairs: Sequence[Pair], costs: Mapping[int, Numbers]) -> tuple[BucketTree, dict[int, int]]:
    """Return the sum to maximize, and the states of features that were inserted into it.

    In a large sum the features that cannot change, which have the only allowed state at no cost, are inserted.
    """
    unchanged = {x: int(np.argmin(column)) for x, column in costs.items() if np.isfinite(column).sum() == 1 and column.min() == 0}
    try:
        tree = bucket_tree(network, pairs)
        if tree.cells <= SMALL or not unchanged:
            return tree, {}
    except ResourceError:
        if not unchanged:
            raise
    ratios = class_ratios(network, pairs)
    relevant = {m for ratio in ratios for m in ratio.members}
    cards = {x: network.variables[x].card for x in network.features}
    return BucketTree(restricted(ratios, unchanged), cards), {x: state for x, state in unchanged.items() if x in relevant}


def whole_costs(costs: Mapping[int, Numbers]) -> tuple[dict[int, Integers], Fraction]:
    """Return the costs as multiples of their largest common unit, -1 for infinity, and this unit.

    >>> steps, unit = whole_costs({0: np.array([0, 0.5]), 1: np.array([1.25, np.inf])})
    >>> steps[0].tolist(), steps[1].tolist(), str(unit)
    ([0, 2], [5, -1], '1/4')
    """
    distinct = {cost for column in costs.values() for cost in column.tolist()} - {0, inf}
    exact = {cost: Fraction(repr(cost)) for cost in distinct}
    scale = reduce(lcm, (cost.denominator for cost in exact.values()), 1)
    unit = Fraction(reduce(gcd, (int(cost * scale) for cost in exact.values()), 0) or 1, scale)
    whole = {cost: int(value / unit) for cost, value in exact.items()} | {0.0: 0, inf: FORBIDDEN}
    return {x: np.array([whole[cost] for cost in column.tolist()], np.int64) for x, column in costs.items()}, unit


def _budgets(steps: Mapping[int, Integers], cells: int) -> list[int]:
    """Return budgets to try one after the other: of eight changes, then each four times the one before, up to all changes.

    Large sums begin with two changes, since time and memory are in proportion to the budget. The largest budget for which memory
    suffices is one of them, so that a problem is refused only if there is no flip within it.
    """
    most = sum(max(0, int(column.max())) for column in steps.values())
    smallest = min((int(column[column > 0].min()) for column in steps.values() if (column > 0).any()), default=0)
    budgets = [(8 if cells <= SMALL else 2) * smallest]
    while budgets[-1] < most:
        budgets.append(4 * budgets[-1])
    budgets[-1] = min(budgets[-1], most)
    possible = MOST_CELLS // max(cells, 1) - 1
    return sorted({*budgets, min(most, possible)}) if possible >= smallest else budgets


def _cheapest_rival(tree: BucketTree, steps: Mapping[int, Integers], pairs: Sequence[Pair]) -> dict[int, int] | None:
    """Return the states with the smallest costs for which the first class of any pair beats the second."""
    for budget in _budgets(steps, tree.cells):
        maxima = Maxima(tree, steps, budget)
        total = maxima.total()
        won = _won(total, pairs)
        if won.any():
            spent = int(won.any(axis=0).argmax())
            best = int(np.where(won[:, spent], total[:, spent], -np.inf).argmax())
            return search(maxima, [best], partial(_all_won, pairs=[pairs[best]]), spent)
    return None


def _cheapest_target(tree: BucketTree, steps: Mapping[int, Integers], pairs: Sequence[Pair]) -> dict[int, int] | None:
    """Return the states with the smallest costs for which the first class of every pair beats the second."""
    tried = 0
    for budget in _budgets(steps, tree.cells):
        maxima = Maxima(tree, steps, budget)
        possible = _won(maxima.total(), pairs).all(axis=0)
        for spent in np.flatnonzero(possible).tolist():
            if spent >= tried:
                row = search(maxima, range(len(pairs)), partial(_all_won, pairs=pairs), spent)
                if row is not None:
                    return row
        tried = budget + 1
    return None


def _won(total: Numbers, pairs: Sequence[Pair]) -> Bools:
    """Return whether the first class of each pair beats the second within each budget.  # (pair, budget)"""
    return np.array([[beats(ratio, pair) for ratio in line] for line, pair in zip(total.tolist(), pairs, strict=True)], bool)


def _all_won(sums: Numbers, pairs: Sequence[Pair]) -> bool:
    return all(beats(ratio, pair) for ratio, pair in zip(sums.tolist(), pairs, strict=True))
