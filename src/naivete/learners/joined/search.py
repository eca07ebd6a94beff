"""FSSJ and BSEJ: naive Bayes on joined attributes, found by search for the best leave-one-out accuracy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any

from naivete.counts.counts import Counts, informative_features
from naivete.learners.costs import check_kept_bytes
from naivete.learners.joined.batch_evaluator import MOVE_BYTES, batch_evaluator
from naivete.learners.joined.evaluator import MoveEvaluator
from naivete.learners.joined.terms import NO_MOVE, Group, Move, chain
from naivete.learners.parameters import checked_count, checked_flag
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["JOINT_CELLS", "bsej_groups", "fssj_groups", "joined_naive_on"]

JOINT_CELLS = 1 << 16
"""Attributes are not joined if their joint table with the class has more cells than this,"""
BUDGET_SHARE = 16
"""or if it needs more than this part of the budget."""


def fssj_groups(
    counts: Counts,
    *,
    accept_ties: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[Group]:
    """Return the features of naive Bayes on joined attributes by forward search (forward sequential selection and joining).

    A feature is a set of attributes that are modeled jointly given the class; features are ordered by their lowest attributes.
    Starting without features, each step adds an unused attribute as a new feature, or joins it to an existing feature. The change
    with the best leave-one-out accuracy is made, as long as that improves. Ties go to additions before joins, then to lower
    attributes, then to features with lower attributes. Where no attribute alone is better than the most frequent class, nothing
    is added, unless `accept_ties` allows it. Unused attributes have no parents.

    Each step takes two passes, and time proportional to rows x classes x unused attributes x features.

    Parameters
    ----------
    counts : the training cases.
    accept_ties : whether a change that leaves the accuracy the same is made too, unless all cases are classified correctly.
    max_joined : the largest number of attributes of a feature; None for no limit. In any case a joint table has at most
        `JOINT_CELLS` cells.
    smoothing, prior : as for `naive`.

    The class is the exclusive or of a and b, which backward search joins; neither helps alone:

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 5, np.uint8), np.array([0, 1, 0, 1] * 5, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> bsej_groups(Counts(cases)), fssj_groups(Counts(cases), accept_ties=True)
    ([(0, 1)], [(0, 1)])

    References
    ----------
    Pazzani (1995), Searching for dependencies in Bayesian classifiers; Singh and Provan (1995), sections 6 and 7.
    """
    allowed = _allowed(counts, max_joined)

    def moves(groups: Sequence[Group]) -> list[Move]:
        unused = [x for x in informative_features(counts) if all(x not in group for group in groups)]
        joins = [Move((group,), tuple(sorted((*group, x)))) for x in unused for group in groups]
        return [*(Move((), (x,)) for x in unused), *filter(allowed, joins)]

    most = len(counts.features) ** 2 // 4
    return _searched(counts, [], moves, checked_flag(accept_ties, "accept_ties"), smoothing, prior, most)


def bsej_groups(
    counts: Counts,
    *,
    accept_ties: bool = False,
    max_joined: int | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[Group]:
    """Return the features of naive Bayes on joined attributes by backward search (backward sequential elimination and joining).

    A feature is a set of attributes that are modeled jointly given the class. Starting with every attribute as a feature, each
    step removes a feature or joins two. The change with the best leave-one-out accuracy is made, as long as that improves. Ties
    go to eliminations before joins, then to features with lower attributes. Removed attributes have no parents.

    Each step takes two passes, and time proportional to rows x classes x features squared at most: the effect of a change is
    computed once for each cell of a table, not for each row, and rows whose predicted class cannot change are skipped. Rows whose
    weight is not a whole number of cases are evaluated one by one; for rows in memory the terms are kept from step to step if
    those of all pairs of features need at most an eighth of the budget.

    Parameters
    ----------
    counts, accept_ties, max_joined, smoothing, prior : as for `fssj_groups`.

    References
    ----------
    Pazzani (1995), Searching for dependencies in Bayesian classifiers; Singh and Provan (1995), sections 6 and 7.
    """
    allowed = _allowed(counts, max_joined)

    def moves(groups: Sequence[Group]) -> list[Move]:
        joins = [Move(two, tuple(sorted((*two[0], *two[1])))) for two in combinations(groups, 2)]
        return [*(Move((group,), None) for group in groups), *filter(allowed, joins)]

    singles: list[Group] = [(x,) for x in informative_features(counts)]
    most = len(singles) * (len(singles) + 1) // 2
    return _searched(counts, singles, moves, checked_flag(accept_ties, "accept_ties"), smoothing, prior, most)


def _searched(
    counts: Counts,
    groups: list[Group],
    moves_of: Callable[[Sequence[Group]], list[Move]],
    accept_ties: bool,
    smoothing: object,
    prior: Sequence[float] | None,
    most_moves: int,
) -> list[Group]:
    """Make the best move until no case is wrong, or no move is better than none (with `accept_ties`, as good)."""
    check_kept_bytes(counts, "JoinedNaive", MOVE_BYTES * most_moves, "all changes of its features", "use fewer features")
    evaluator = batch_evaluator(counts, smoothing, prior, most_moves)
    if evaluator is None:
        return _evaluated_in_full(MoveEvaluator(counts, smoothing, prior), groups, moves_of, accept_ties)
    evaluator.start(groups)
    while (moves := moves_of(groups)) and (move := evaluator.best(moves, accept_ties)) is not None:
        counts.effort.add(len(moves) * (3 * (counts.rows or counts.total) + 2000))
        evaluator.apply(move)
        groups = move.applied(groups)
    return groups


def _evaluated_in_full(
    evaluator: MoveEvaluator, groups: list[Group], moves_of: Callable[[Sequence[Group]], list[Move]], accept_ties: bool
) -> list[Group]:
    """The same, with the errors of all moves in every step."""
    while moves := moves_of(groups):
        current, *wrong = evaluator.wrong(groups, [NO_MOVE, *moves]).tolist()
        best = min(wrong)
        if current == 0 or best > current or (best == current and not accept_ties):
            break
        groups = moves[wrong.index(best)].applied(groups)
    return groups


def _allowed(counts: Counts, max_joined: Any) -> Callable[[Move], bool]:
    """Return a function that says whether a join is within the limits."""
    limit = checked_count(max_joined, "max_joined", 1)
    cells = min(JOINT_CELLS, counts.budget // (8 * BUDGET_SHARE))

    def small(move: Move) -> bool:
        group = move.new or ()
        return (limit is None or len(group) <= limit) and prod(counts.cards((*group, CLASS))) <= cells

    return small


def joined_naive_on(
    counts: Counts, groups: Sequence[Sequence[int]], *, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """Return naive Bayes on groups of attributes; the other attributes are in the network but have no parents."""
    structure: dict[int, tuple[int, ...]] = {CLASS: (), **dict.fromkeys(counts.features, ())}
    for group in groups:
        structure |= chain(tuple(sorted(group)))
    return estimate(counts, structure, smoothing, prior=prior)
