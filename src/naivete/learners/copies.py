"""Features that are copies of others: the value of one determines the value of the other, in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np

from naivete.counts.counts import Counts
from naivete.counts.tables import CountTable
from naivete.errors import NaiveteWarning, quoted, warn
from naivete.variables import CLASS, family

__all__ = ["copies", "warn_about_copies"]

SHOWN = 5
"""How many copies a warning names."""
CHANCE = 0.05
"""A copy is reported if chance makes fewer copies than this in a table of this size."""


def copies(counts: Counts, features: Sequence[int]) -> dict[int, int]:
    """Return the features that are copies of an earlier feature, and the first feature that they are a copy of.

    Only features whose tables with the class have the same rows, in any order, can be copies of each other; the tables of these
    pairs are counted, in one pass if there are any.

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(n, (0, 1)) for n in "abcd"), Block((a, b, 1 - a, a)), np.array([False] * 3))
    >>> copies(Counts(cases), [0, 1, 2])
    {2: 0}
    """
    pairs = [family(x, y) for group in _similar(counts, features) for x, y in combinations(group, 2)]
    tables = counts.tables(pairs) if pairs else {}
    result: dict[int, int] = {}
    for x, y in pairs:
        if x not in result and y not in result and _one_to_one(tables[x, y]):
            result[y] = x
    return result


def _similar(counts: Counts, features: Sequence[int]) -> Iterator[list[int]]:
    """Yield the groups of at least two features whose tables with the class have the same rows, each row in some position."""
    margins = counts.margins()
    groups: dict[tuple[tuple[float, ...], ...], list[int]] = {}
    for x in features:
        if not counts.variables[x].density:
            rows = tuple(sorted(tuple(row) for row in np.asarray(margins[x, CLASS]).tolist() if any(row)))
            groups.setdefault(rows, []).append(x)
    return (group for group in groups.values() if len(group) > 1)


def _one_to_one(table: CountTable) -> bool:
    """Whether each state of the one variable occurs with one state of the other only, in both directions."""
    occurs = np.asarray(table) > 0
    return bool((occurs.sum(axis=0) <= 1).all() and (occurs.sum(axis=1) <= 1).all())


def _expected_by_chance(counts: Counts, feature: int) -> float:
    """Return how many pairs of features would be copies if all had the counts of this one, in random order within each class.

    Two intervals that follow the class, or few cases, make equal features without any copying.
    """
    from scipy.special import gammaln

    table = np.asarray(counts.margins()[feature, CLASS])
    orders = gammaln(table.sum(axis=0) + 1).sum() - gammaln(table + 1).sum()
    return float(comb(len(counts.features), 2) * np.exp(-orders))


def warn_about_copies(counts: Counts, firsts: dict[int, int], effect: str) -> None:
    """Warn that some features are copies of others, by name.

    Copies that chance may have made, see `_expected_by_chance`, are not named.

    Parameters
    ----------
    counts : the training cases.
    firsts : the feature that each copy is a copy of, as `copies` returns it.
    effect : what the copies mean for the network, for the end of the message.
    """
    firsts = {copy: first for copy, first in firsts.items() if _expected_by_chance(counts, copy) < CHANCE}
    if not firsts:
        return
    names = [v.name for v in counts.variables]
    some = [f"{quoted(names[copy])} of {quoted(names[first])}" for copy, first in list(firsts.items())[:SHOWN]]
    more = f" and {len(firsts) - SHOWN} more" if len(firsts) > SHOWN else ""
    kind = "a feature is a copy" if len(firsts) == 1 else "some features are copies"
    warn(f"{kind}, up to the names of the values: {', '.join(some)}{more}; {effect}", NaiveteWarning)
