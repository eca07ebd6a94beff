"""Messages in the clique tree of a variable elimination: the posterior probability of every cell of every factor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.inference.elimination import Factor, expanded, marginalized

__all__ = ["propagated"]


def propagated(factors: Mapping[int, Factor], plan: Sequence[tuple[int, frozenset[int]]]) -> tuple[Numbers, dict[int, Numbers]]:
    """Return the log of the product of factors summed over all variables, and the share of each cell of each factor in it.

    Parameters
    ----------
    factors : the factors of some rows by any integer key, with a last axis of length one.
    plan : the order in which the variables are marginalized, and the clique of each step.

    >>> one, two = Factor((0,), np.log([[[0.5], [0.25]]])), Factor((0, 1), np.log([[[[0.5], [0.5]], [[0.75], [0.25]]]]))
    >>> total, shares = propagated({7: one, 8: two}, [(0, frozenset({0, 1})), (1, frozenset({1}))])
    >>> np.exp(total).round(12).tolist(), shares[7][0, :, 0].round(12).tolist()
    ([0.75], [0.666666666667, 0.333333333333])
    """
    waiting = dict(factors)
    step_of: dict[int, int] = {}
    up: dict[int, tuple[Factor, Factor]] = {}
    message_key = min(factors) - 1
    for step, (h, clique) in enumerate(plan):
        used, scope = [key for key, factor in waiting.items() if h in factor.variables], tuple(sorted(clique))
        step_of |= dict.fromkeys(used, step)
        potential = Factor(scope, np.asarray(sum(expanded(waiting.pop(key), scope) for key in used)))
        up[step] = potential, marginalized([potential], h, _log_sum_exp)
        waiting[message_key - step] = up[step][1]  # a message is used like any other factor, with an unused key
    total = np.asarray(sum(factor.logs[:, 0] for factor in waiting.values()))
    down: dict[int, Numbers] = {}
    for step, (potential, message) in reversed(up.items()):
        above = step_of.get(message_key - step)
        outer = np.ones((len(total), 1)) if above is None else _margin(up[above][0], down[above], message.variables)
        down[step] = _share(potential, message, outer)
    return total, {key: _margin(up[step_of[key]][0], down[step_of[key]], factor.variables) for key, factor in factors.items()}


def _log_sum_exp(values: Numbers, axis: int) -> Numbers:
    """Return log(sum(exp(values))) over an axis, the same bits with and without compiled kernels: parameters depend on them."""
    top = values.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(np.log(np.exp(values - top).sum(axis=axis)) + top.squeeze(axis))


def _share(potential: Factor, message: Factor, outer: Numbers) -> Numbers:
    """Return the share of each cell of a clique from the shares of the cells of its message.  # (row, ..., 1)"""
    possible = np.where(np.isneginf(message.logs), 0.0, message.logs)
    with np.errstate(divide="ignore", under="ignore"):
        part = Factor(message.variables, np.log(outer) - possible)
        return np.exp(potential.logs + expanded(part, potential.variables))


def _margin(clique: Factor, shares: Numbers, variables: tuple[int, ...]) -> Numbers:
    """Return the shares of a clique marginalized to some of its variables.  # (row, ..., 1)"""
    return shares.sum(axis=tuple(1 + axis for axis, v in enumerate(clique.variables) if v not in variables))  # type: ignore[no-any-return]
