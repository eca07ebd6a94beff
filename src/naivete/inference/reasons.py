"""Sufficient reasons: observed values that decide the class, whatever the values of all other features are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Integers, Numbers
from naivete.errors import ResourceError
from naivete.inference.bucket_tree import FORBIDDEN, BucketTree, Maxima, bucket_tree, search
from naivete.inference.class_ratios import IMPOSSIBLE, TIE, Pair, Ratio, beats, class_ratios, restricted
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Reason", "sufficient_reason"]


class Reason(NamedTuple):
    """Observed features whose values decide the class, or all of them if even these do not.

    Parameters
    ----------
    features : the features of the reason, in increasing order.
    counterexample : if all observed values together do not decide the class: values of the other features with which another
        class is predicted; None if the reason is sufficient.
    """

    features: tuple[int, ...]
    counterexample: dict[int, int] | None


def sufficient_reason(network: Network, values: Mapping[int, int], decided: int) -> Reason:
    """Return observed features whose values decide the class whatever all others are; without any of them they do not.

    The class is decided if for every possible completion it is more probable than each other class, where ties go to the first
    class. For each rival the largest log ratio over all completions is the maximum of a sum over families, which is computed by
    bucket elimination. One observed value after the other is given up, the least important first, if the class is still decided.

    For naive Bayes with two classes no smaller set is sufficient; in general no proper subset is.

    Parameters
    ----------
    network : a network of tables without derived columns.
    values : the codes of the observed features; the others are missing, and can have any value.
    decided : the class that is predicted for these values.

    References
    ----------
    Shih, Choi and Darwiche (2018), A symbolic approach to explaining Bayesian network classifiers; Marques-Silva et al. (2020),
    Explaining naive Bayes and other linear classifiers with polynomial time and delay.
    """
    pairs = [(rival, decided) for rival in range(network.variables[CLASS].card) if rival != decided]
    if not pairs:
        return Reason((), None)
    try:
        tree = bucket_tree(network, pairs)
    except ResourceError:
        return _reason_of_wide_network(network, values, pairs)
    cards = {x: network.variables[x].card for x in tree.order}
    free = {x: np.zeros(cards[x], np.int64) for x in tree.order}
    maxima = Maxima(tree, {x: _only(cards[x], values[x]) if x in values else free[x] for x in tree.order})
    counterexample = _counterexample(maxima, pairs, values)
    if counterexample is not None:
        return Reason(tuple(sorted(values)), counterexample)
    kept = []
    for x in _least_important_first(maxima, tree.ratios, values):
        earlier = maxima.replaced(x, free[x])
        if _winning_rival(maxima.total(), pairs) is not None:
            maxima.restore(x, _only(cards[x], values[x]), earlier)
            kept.append(x)
    return Reason(tuple(sorted(kept)), None)


def _reason_of_wide_network(network: Network, values: Mapping[int, int], pairs: Sequence[Pair]) -> Reason:
    """Return the same where the tables of all features together are too large.

    Values that are still part of the reason are inserted into the tables first, and what remains is often narrow enough.
    """
    ratios = class_ratios(network, pairs)
    cards = {x: network.variables[x].card for x in network.features}
    maxima = _maxima(ratios, cards, values)
    counterexample = _counterexample(maxima, pairs, values)
    if counterexample is not None:
        return Reason(tuple(sorted(values)), counterexample)

    def decides(features: Collection[int]) -> bool:
        return _winning_rival(_maxima(ratios, cards, {x: values[x] for x in features}).total(), pairs) is None

    kept: list[int] = []
    tested = _least_important_first(maxima, ratios, values)
    while tested:
        count = _longest_prefix(len(tested), lambda n: decides([*kept, *tested[n:]]))  # noqa: B023
        kept += tested[count : count + 1]
        tested = tested[count + 1 :]
    return Reason(tuple(sorted(kept)), None)


def _longest_prefix(most: int, holds: Callable[[int], bool]) -> int:
    """Return the largest n up to `most` for which holds(n), which is true for 0 and, once false, false for all larger n.

    A test of n > 1 that needs too much memory counts as false.

    >>> [_longest_prefix(9, lambda n: n <= limit) for limit in (0, 1, 5, 9)]
    [0, 1, 5, 9]
    """

    def safe(n: int) -> bool:
        try:
            return holds(n)
        except ResourceError:
            if n == 1:
                raise
            return False

    low, step = 0, 1
    while low < most and safe(min(low + step, most)):
        low, step = min(low + step, most), 2 * step
    high = min(low + step, most) if low < most else most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if safe(middle) else (low, middle)
    return low


def _maxima(ratios: Sequence[Ratio], cards: Mapping[int, int], values: Mapping[int, int]) -> Maxima:
    """Return the maxima over all features without a given value."""
    tree = BucketTree(restricted(ratios, values), cards)
    return Maxima(tree, {x: np.zeros(cards[x], np.int64) for x in tree.order})


def _counterexample(maxima: Maxima, pairs: Sequence[Pair], values: Mapping[int, int]) -> dict[int, int] | None:
    """Return values of missing features with which a rival is predicted, None if there are none."""
    rival = _winning_rival(maxima.total(), pairs)
    if rival is None:
        return None
    row = search(maxima, [rival], lambda sums: beats(sums[0], pairs[rival])) or {}
    return {x: state for x, state in sorted(row.items()) if x not in values}


def _only(card: int, state: int) -> Integers:
    """Return the costs of the states of a variable that has to be in one of them."""
    costs = np.full(card, FORBIDDEN)
    costs[state] = 0
    return costs


def _winning_rival(total: Numbers, pairs: Sequence[Pair]) -> int | None:
    """Return the position of the first pair whose first class can be predicted, None if there is none."""
    return next((i for i, pair in enumerate(pairs) if beats(float(total[i, -1]), pair)), None)


def _least_important_first(maxima: Maxima, ratios: Sequence[Ratio], values: Mapping[int, int]) -> list[int]:
    """Return the observed features by the share of the distance to a rival that one of them can take away by itself."""
    row = dict(values)
    if any(x not in values for x in maxima.tree.order):
        row = (search(maxima, [0], lambda _: True) or {}) | row
    terms: dict[int, Numbers] = {}
    for ratio in ratios:
        for x in ratio.members:
            if x in values:
                cells = ratio.logs[(slice(None), *(slice(None) if m == x else row.get(m, 0) for m in ratio.members))]
                terms[x] = terms[x] + cells if x in terms else cells  # (pair, state)
    distance = np.maximum(-maxima.total()[:, -1], TIE)
    importance = {x: float((_largest_gain(cells, values[x]) / distance).max()) for x, cells in terms.items()}
    return sorted(importance, key=lambda x: (importance[x], x))


def _largest_gain(cells: Numbers, state: int) -> Numbers:
    """Return by how much the log ratio of each pair can grow if one feature changes.  # (pair,)"""
    now = cells[:, state]
    possible = np.isfinite(now)
    return np.where(possible, cells.max(axis=1) - np.where(possible, now, 0.0), IMPOSSIBLE)
