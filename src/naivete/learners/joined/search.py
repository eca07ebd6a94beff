"""Features joined, added and taken away by accuracy: Pazzani's FSSJ and BSEJ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any

from naivete.counts.counts import Counts, informative_features
from naivete.learners.joined.evaluator import Judge
from naivete.learners.joined.terms import STAY, Group, Move, chain
from naivete.learners.parameters import checked_count, checked_flag
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["JOINT_CELLS", "bsej", "bsej_groups", "fssj", "fssj_groups", "joined_naive_on"]

JOINT_CELLS = 1 << 16
"""Attributes whose joint table with the class would have more cells than this are not joined."""
SHARE = 16
"""Nor are those whose joint table would take more than this part of a budget that is smaller than most."""


def fssj(
    counts: Counts,
    *,
    equal: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Naive Bayes on joined attributes, built up: forward sequential selection and joining.

    Beginning with the most frequent class alone, each step adds an attribute that is not used yet as a feature of its own, or
    joins it to a feature that is there; the change after which most cases are right, each judged by what all others teach,
    is made as long as that rises. Of equally good ones the first is made: additions before joins, lower attributes first, then
    features by their lowest attributes. Where no attribute alone is better than the most frequent class nothing is added, unless
    `equal` allows it. The attributes of a feature are modelled jointly given the class, each depending on those before it;
    attributes that are not used depend on nothing.

    Each step takes two passes, and time in proportion to rows x classes x unused attributes x features.

    Parameters
    ----------
    counts : the training cases.
    equal : whether a change is made too after which as much is right as before, unless that is everything.
    max_joined : at most how many attributes a feature may have; by default any number, as long as the joint table has at most
        `JOINT_CELLS` cells.
    smoothing, prior : as for `naive`.

    References
    ----------
    Pazzani (1995), Searching for dependencies in Bayesian classifiers; Singh and Provan (1995), sections 6 and 7.
    """
    groups = fssj_groups(counts, equal=equal, max_joined=max_joined, smoothing=smoothing, prior=prior)
    return joined_naive_on(counts, groups, smoothing=smoothing, prior=prior)


def bsej(
    counts: Counts,
    *,
    equal: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Naive Bayes on joined attributes, cut down: backward sequential elimination and joining.

    Beginning with every attribute as a feature, each step takes a feature away or joins two; the change after which most cases
    are right, each judged by what all others teach, is made as long as that rises. Of equally good ones the first is made:
    eliminations before joins, and features by their lowest attributes. The attributes of a feature are modelled jointly given
    the class, each depending on those before it; attributes that were taken away depend on nothing.

    Each step takes two passes, and time in proportion to rows x classes x features squared at most: what a change adds is worked
    out once for each cell of a table, not for each row, and rows whose class it cannot turn are passed over. Rows that weigh
    less than one case are worked out one by one; their terms are kept from step to step where they are in memory and the terms
    of all pairs of features take at most an eighth of the budget.

    Parameters
    ----------
    counts, equal, max_joined, smoothing, prior : as for `fssj`.

    References
    ----------
    Pazzani (1995), Searching for dependencies in Bayesian classifiers; Singh and Provan (1995), sections 6 and 7.
    """
    groups = bsej_groups(counts, equal=equal, max_joined=max_joined, smoothing=smoothing, prior=prior)
    return joined_naive_on(counts, groups, smoothing=smoothing, prior=prior)


def fssj_groups(
    counts: Counts,
    *,
    equal: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[Group]:
    """The attributes of every feature that FSSJ makes, by the lowest of each."""
    allowed = _allowed(counts, max_joined)

    def moves(groups: Sequence[Group]) -> list[Move]:
        unused = [x for x in informative_features(counts) if all(x not in group for group in groups)]
        joins = [Move((group,), tuple(sorted((*group, x)))) for x in unused for group in groups]
        return [*(Move((), (x,)) for x in unused), *filter(allowed, joins)]

    return _climbed(Judge(counts, smoothing, prior), [], moves, checked_flag(equal, "equal"))


def bsej_groups(
    counts: Counts,
    *,
    equal: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[Group]:
    """The attributes of every feature that BSEJ leaves, by the lowest of each."""
    allowed = _allowed(counts, max_joined)

    def moves(groups: Sequence[Group]) -> list[Move]:
        joins = [Move(two, tuple(sorted((*two[0], *two[1])))) for two in combinations(groups, 2)]
        return [*(Move((group,), None) for group in groups), *filter(allowed, joins)]

    return _climbed(
        Judge(counts, smoothing, prior), [(x,) for x in informative_features(counts)], moves, checked_flag(equal, "equal")
    )


def _climbed(judge: Judge, groups: list[Group], moves_of: Callable[[Sequence[Group]], list[Move]], equal: bool) -> list[Group]:
    """The groups after the best move, again and again until all is right, or none is better than to stay (or none as good)."""
    while moves := moves_of(groups):
        stay, *wrong = judge.wrong(groups, [STAY, *moves]).tolist()
        best = min(wrong)
        if stay == 0 or best > stay or (best == stay and not equal):
            break
        groups = moves[wrong.index(best)].applied(groups)
    return groups


def _allowed(counts: Counts, max_joined: Any) -> Callable[[Move], bool]:
    """Whether a join keeps within the limits."""
    most = checked_count(max_joined, "max_joined", 1)
    cells = min(JOINT_CELLS, counts.budget // (8 * SHARE))

    def small(move: Move) -> bool:
        group = move.new or ()
        return (most is None or len(group) <= most) and prod(counts.cards((*group, CLASS))) <= cells

    return small


def joined_naive_on(
    counts: Counts, groups: Sequence[Sequence[int]], *, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """Naive Bayes on groups of attributes; the others are in it too, but depend on nothing."""
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, ())}
    for group in groups:
        structure |= chain(tuple(sorted(group)))
    return estimate(counts, structure, smoothing, prior=prior)
