"""Groups of features for hidden variables: those a user names, or those that depend on one another given the class."""

from __future__ import annotations

from collections.abc import Iterable
from math import log

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts, informative_features
from naivete.counts.information import dependence
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.kdb import significant
from naivete.learners.parameters import is_integer
from naivete.variables import CLASS, Name

__all__ = ["Group", "found_groups", "given_groups"]

Group = tuple[int, ...]
"""Positions of features, increasing."""


def found_groups(counts: Counts, alpha: float) -> list[Group]:
    """Groups of features that all depend on one another given the class, those with the strongest dependence first.

    Of the pairs of features in decreasing I(X; Y | C), each joins the two, or the groups they are in, if all features of the one
    depend significantly on all of the other: features that a hidden variable mediates do. The level holds for all pairs
    together (Bonferroni).
    """
    dependent, joined = _significant(counts, alpha), dict[int, Group]()
    common = dict[Group, NDArray[np.bool_]]()  # what all features of a group depend on
    bits, first, second = dependence(counts), *np.nonzero(np.triu(dependent))
    for at in np.lexsort((second, first, -bits[first, second])).tolist():
        one, two = (joined.get(x, (x,)) for x in (int(first[at]), int(second[at])))
        beside, beyond = (common.get(group, dependent[group[0]]) for group in (one, two))
        if one != two and beside[list(two)].all():
            both = tuple(sorted((*one, *two)))
            common[both] = beside & beyond
            joined |= dict.fromkeys(both, both)
    return list(dict.fromkeys(sorted(joined.values(), key=lambda group: (-bits[np.ix_(group, group)].max(), group))))


def _significant(counts: Counts, alpha: float) -> NDArray[np.bool_]:
    """Which features depend on which, given the class: 2 N ln 2 I(X; Y | C) against chi-square, N cases that know both.

    Where values are missing, those that are significant at best are counted once more, to know N.
    """
    from scipy.special import chdtri

    n, some = len(counts.features), len(informative_features(counts))
    if some < 2:
        return np.zeros((n, n), np.bool_)
    level, bits, margins = alpha / (some * (some - 1) / 2), dependence(counts), counts.margins()
    states = [np.count_nonzero(margins[x, CLASS].sum(axis=1)) for x in counts.features]
    free, which = np.unique(np.maximum(np.array(states) - 1, 0), return_inverse=True)
    limits = chdtri(np.maximum(np.outer(free, free) * np.count_nonzero(margins[CLASS,]), 1), level)
    found = np.triu(2 * counts.total * log(2) * bits > limits[which][:, which], 1)
    if counts.cases.gaps.any():
        others = significant(counts, {x: np.flatnonzero(found[x]).tolist() for x in counts.features}, bits, level)
        found = np.array([np.isin(counts.features, others[x]) for x in counts.features])
    return np.asarray(found | found.T)


def given_groups(counts: Counts, groups: Iterable[Iterable[Name]]) -> list[Group]:
    """Groups of features by name or position as positions, refused unless they are disjoint and large enough."""
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ParameterError(f"groups={quoted(groups)}: pass a list of groups of features, or nothing")
    names, found = [v.name for v in counts.variables[:CLASS]], list[Group]()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ParameterError(f"groups={quoted(groups)}: {quoted(group)} is no list of features")
        own = tuple(sorted(_position(name, names) for name in group))
        taken = [x for x in own if own.count(x) > 1 or any(x in other for other in found)]
        if taken:
            raise ParameterError(f"groups={quoted(groups)}: the feature {quoted(names[taken[0]])} is there twice")
        if len(own) < 2:
            raise ParameterError(f"groups={quoted(groups)}: {quoted(group)} needs two features at least")
        found.append(own)
    return found


def _position(name: Name, names: list[Name]) -> int:
    if name in names:
        return names.index(name)
    if is_integer(name) and 0 <= name < len(names):
        return int(name)
    close = close_matches(name, names)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ParameterError(f"groups: there is no feature {quoted(name)}{hint}")
