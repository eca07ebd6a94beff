"""Groups of features for hidden variables: given by name or position, or found by their dependence given the class."""

from __future__ import annotations

from collections.abc import Iterable
from math import log

import numpy as np
from numpy.typing import NDArray

from naivete.counts.counts import Counts, informative_features
from naivete.counts.information import dependence
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.learners.kdb import significant
from naivete.learners.parameters import is_integer
from naivete.variables import CLASS, Name

__all__ = ["Group", "found_groups", "given_groups"]

Group = tuple[int, ...]
"""Positions of features, increasing."""


def found_groups(counts: Counts, alpha: float) -> list[Group]:
    """Return groups of features that all depend on one another given the class, the strongest dependence first.

    The pairs of features are visited in decreasing order of I(X; Y | C). The groups of the two features are merged if all features
    of one depend significantly on all of the other, as features with a common hidden parent do. The level holds for all pairs
    together (Bonferroni).
    """
    dependent, groups = _significant(counts, alpha), dict[int, Group]()
    common = dict[Group, NDArray[np.bool_]]()  # the features that all features of a group depend on
    bits, first, second = dependence(counts), *np.nonzero(np.triu(dependent))
    for pair in np.lexsort((second, first, -bits[first, second])).tolist():
        one, two = (groups.get(x, (x,)) for x in (int(first[pair]), int(second[pair])))
        common_one, common_two = (common.get(group, dependent[group[0]]) for group in (one, two))
        if one != two and common_one[list(two)].all():
            both = tuple(sorted((*one, *two)))
            common[both] = common_one & common_two
            groups |= dict.fromkeys(both, both)
    return list(dict.fromkeys(sorted(groups.values(), key=lambda group: (-bits[np.ix_(group, group)].max(), group))))


def _significant(counts: Counts, alpha: float) -> NDArray[np.bool_]:
    """Return which features depend on which, given the class, by a chi-square test of 2 N ln 2 I(X; Y | C).

    N is the weight of the cases in which both are observed. Where values are missing, the pairs that would be significant with
    all cases are counted once more to get N.
    """
    from scipy.special import chdtri

    n, some = len(counts.features), len(informative_features(counts))
    if some < 2:
        return np.zeros((n, n), np.bool_)
    level, bits, margins = alpha / (some * (some - 1) / 2), dependence(counts), counts.margins()
    states = [np.count_nonzero(margins[x, CLASS].sum(axis=1)) for x in counts.features]
    free, which = np.unique(np.maximum(np.array(states) - 1, 0), return_inverse=True)
    limits = chdtri(np.maximum(np.outer(free, free) * np.count_nonzero(margins[CLASS,]), 1), level)
    result = np.triu(2 * counts.total * log(2) * bits > limits[which][:, which], 1)
    if counts.cases.has_missing.any():
        others = significant(counts, {x: np.flatnonzero(result[x]).tolist() for x in counts.features}, level)
        result = np.array([np.isin(counts.features, others[x]) for x in counts.features])
    return np.asarray(result | result.T)


def given_groups(counts: Counts, groups: Iterable[Iterable[Name]]) -> list[Group]:
    """Return groups given by names or positions as positions; refuse them unless they are disjoint and have two features."""
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise ParameterError(f"groups={quoted(groups)}: pass a list of groups of features, or nothing")
    names, result = [v.name for v in counts.variables[:CLASS]], list[Group]()
    for group in groups:
        if isinstance(group, str) or not isinstance(group, Iterable):
            raise ParameterError(f"groups={quoted(groups)}: {quoted(group)} is not a list of features")
        features = tuple(sorted(_position(name, names) for name in group))
        repeated = [x for x in features if features.count(x) > 1 or any(x in other for other in result)]
        if repeated:
            raise ParameterError(f"groups={quoted(groups)}: the feature {quoted(names[repeated[0]])} is there twice")
        if len(features) < 2:
            raise ParameterError(f"groups={quoted(groups)}: {quoted(group)} needs two features at least")
        result.append(features)
    return result


def _position(name: Name, names: list[Name]) -> int:
    if name in names:
        return names.index(name)
    if is_integer(name) and 0 <= name < len(names):
        return int(name)
    raise ParameterError(f"groups: there is no feature {quoted(name)}; {did_you_mean(name, names, 'the features are')}")
