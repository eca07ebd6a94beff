"""Messages up and down the tree of cliques that summing out makes: the share of every cell of every factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.predictor import Factor, expanded, summed_out

__all__ = ["propagated"]


def propagated(factors: Mapping[int, Factor], plan: Sequence[tuple[int, frozenset[int]]]) -> tuple[Numbers, dict[int, Numbers]]:
    """The logarithm of the sum of the product of factors over all their variables, and the share of each cell of each in it.

    Parameters
    ----------
    factors : of some rows, with a last axis of length one, by any key.
    plan : the order in which the variables are summed out, and the clique of each step.

    >>> one, two = Factor((0,), np.log([[[0.5], [0.25]]])), Factor((0, 1), np.log([[[[0.5], [0.5]], [[0.75], [0.25]]]]))
    >>> total, shares = propagated({7: one, 8: two}, [(0, frozenset({0, 1})), (1, frozenset({1}))])
    >>> np.exp(total).round(12).tolist(), shares[7][0, :, 0].round(12).tolist()
    ([0.75], [0.666666666667, 0.333333333333])
    """
    waiting = dict(factors)
    home: dict[int, int] = {}
    up: dict[int, tuple[Factor, Factor]] = {}
    below = min(factors) - 1
    for step, (h, clique) in enumerate(plan):
        used, scope = [key for key, own in waiting.items() if h in own.variables], tuple(sorted(clique))
        home |= dict.fromkeys(used, step)
        potential = Factor(scope, np.asarray(sum(expanded(waiting.pop(key), scope) for key in used)))
        up[step] = potential, summed_out([potential], h)
        waiting[below - step] = up[step][1]  # a message is a factor like others, with a key of its own
    total = np.asarray(sum(own.logs[:, 0] for own in waiting.values()))
    down: dict[int, Numbers] = {}
    for step, (potential, message) in reversed(up.items()):
        above = home.get(below - step)
        outer = np.ones((len(total), 1)) if above is None else _margin(up[above][0], down[above], message.variables)
        down[step] = _share(potential, message, outer)
    return total, {key: _margin(up[home[key]][0], down[home[key]], own.variables) for key, own in factors.items()}


def _share(potential: Factor, message: Factor, outer: Numbers) -> Numbers:
    """The share of each cell of a clique, from that of each cell of its message.  # (row, ..., 1)"""
    possible = np.where(np.isneginf(message.logs), 0.0, message.logs)
    with np.errstate(divide="ignore", under="ignore"):
        part = Factor(message.variables, np.log(outer) - possible)
        return np.exp(potential.logs + expanded(part, potential.variables))


def _margin(clique: Factor, shares: Numbers, variables: tuple[int, ...]) -> Numbers:
    """The shares of the cells of some variables of a clique.  # (row, ..., 1)"""
    return shares.sum(axis=tuple(1 + at for at, v in enumerate(clique.variables) if v not in variables))  # type: ignore[no-any-return]
