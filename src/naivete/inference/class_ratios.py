"""Log ratios of two classes as a sum over families, for complete rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.errors import DataError, ResourceError, quoted
from naivete.inference.elimination import log
from naivete.network.network import Network, check_tabular
from naivete.variables import CLASS

__all__ = ["IMPOSSIBLE", "MOST_CELLS", "TIE", "Pair", "Ratio", "beats", "class_logs", "class_ratios", "restricted", "winning"]

TIE = 1e-9
"""Classes whose log probabilities differ by no more than this are tied; the tie goes to the first of them."""
IMPOSSIBLE = 1e9
"""The log ratio of a possible class and an impossible one, larger than any sum of other terms."""
MOST_CELLS = 1 << 22
"""The largest number of cells of the tables of one problem."""

Pair = tuple[int, int]
"""Two classes; the log ratio is that of the first to the second."""


class Ratio(NamedTuple):
    """log P(v | parents, first class) - log P(v | parents, second class) of one family, for several pairs of classes.

    Parameters
    ----------
    members : the features of the family with more than one state.
    logs : the log ratios; -inf where the first class is impossible.  # (pair, state of each member)
    """

    members: tuple[int, ...]
    logs: Numbers


def class_ratios(network: Network, pairs: Sequence[Pair]) -> list[Ratio]:
    """Return the terms whose sum is log P(row, first) - log P(row, second), for each pair of classes and any complete row.

    Rows in which the first class is impossible have the sum -inf, so that it cannot be larger than the second; if only the second
    is impossible, the sum is at least about `IMPOSSIBLE`.

    Parameters
    ----------
    network : a network of tables, without derived columns.
    pairs : the pairs of classes.
    """
    check_tabular(network, "a sufficient reason or a flip")
    if network.derived:
        raise DataError(
            "sufficient reasons and flips are not possible with hidden variables, whose states are summed over; choose a "
            "classifier without them"
        )
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    ratios = []
    for v in network.order:
        members = network.family(v)
        if CLASS not in members and not network.table(v).has_zeros:
            continue
        logs = _logs(network, v)
        logs = _difference(logs[..., first], logs[..., second]) if members[-1] == CLASS else _possible(logs, len(pairs))
        kept = tuple(m for m in members if m != CLASS and network.variables[m].card > 1)
        ratios.append(Ratio(kept, np.moveaxis(logs, -1, 0).reshape(len(pairs), *(network.variables[m].card for m in kept))))
    return ratios


def restricted(ratios: Sequence[Ratio], states: Mapping[int, int]) -> list[Ratio]:
    """Return the terms for given states of some features, as functions of the other features.

    >>> restricted([Ratio((0, 1), np.arange(6.0).reshape(1, 2, 3))], {0: 1})
    [Ratio(members=(1,), logs=array([[3., 4., 5.]]))]
    """
    return [
        Ratio(
            tuple(m for m in ratio.members if m not in states),
            ratio.logs[(slice(None), *(states.get(m, slice(None)) for m in ratio.members))],
        )
        for ratio in ratios
    ]


def _logs(network: Network, v: int) -> Numbers:
    cells = prod(network.variables[m].card for m in network.family(v))
    if cells > MOST_CELLS:
        raise ResourceError(
            f"the table of {quoted(network.name(v))} has {cells:,} cells, and sufficient reasons and flips are limited to "
            f"{MOST_CELLS:,}; learn a network with fewer parents"
        )
    return log(network.full_table(v))


def _difference(first: Numbers, second: Numbers) -> Numbers:
    if first.min() > -np.inf and second.min() > -np.inf:
        return np.asarray(first - second)
    with np.errstate(invalid="ignore"):
        logs = np.where(np.isneginf(second), IMPOSSIBLE, first - second)
    return np.where(np.isneginf(first), -np.inf, logs)


def _possible(logs: Numbers, pairs: int) -> Numbers:
    """Return 0 where a value is possible, -inf where it is not, for every pair."""
    return np.repeat(np.where(np.isneginf(logs), -np.inf, 0.0)[..., None], pairs, axis=-1)


def class_logs(network: Network, states: Mapping[int, int]) -> Numbers:
    """Return log P(row, class) up to a term that is the same for all classes, for the states of the features that matter.

    Parameters
    ----------
    network : a network of tables, without derived columns.
    states : the states of the members of the families with the class; features with a single state may be left out.
    """
    logs = np.zeros(network.variables[CLASS].card)
    for v in network.order:
        *members, last = network.family(v)
        if last == CLASS:
            logs += log(network.full_table(v)[tuple(states.get(m, 0) for m in members)])
    return logs


def beats(ratio: float, pair: Pair) -> bool:
    """Return whether the first class of a pair is predicted rather than the second; a tie goes to the lower one.

    >>> beats(0.1, (1, 0)), beats(0.0, (1, 0)), beats(0.0, (0, 1))
    (True, False, True)
    """
    return ratio > TIE or (ratio >= -TIE and pair[0] < pair[1])


def winning(logs: Numbers) -> int:
    """Return the class with the largest log probability, the first of those that are tied.

    >>> winning(np.log([0.2, 0.4, 0.4]))
    1
    """
    return int(np.argmax(logs >= logs.max() - TIE))
