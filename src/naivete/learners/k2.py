"""K2: greedy search for the parents of each variable among those before it in an order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from naivete._kernels.codes import Integers
from naivete.counts.block_counts import batches
from naivete.counts.counts import Counts
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import Score, score_of
from naivete.errors import ParameterError, quoted
from naivete.learners.parent_limits import MaxParents, ParentLimit, checked_limit
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["best_parents", "class_last", "greedy_parents", "k2"]


def k2(
    counts: Counts,
    *,
    order: Sequence[int] | None = None,
    max_parents: MaxParents = None,
    criterion: Score | str = "k2",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """Return the network in which K2 finds the parents of every variable among the variables before it in an order.

    A variable starts without parents. The parent that improves its score most is added repeatedly, until none improves it. With
    N_ijk cases of value k and parent configuration j, and r values, the score of a family is

        log g = sum_j [log (r - 1)! - log (N_ij + r - 1)! + sum_k log N_ijk!]

    All variables take their next parent in the same pass over the data.

    Parameters
    ----------
    counts : the training cases.
    order : all variables, parents before children, the class as -1; by default the class, then the features as they come.
    max_parents : the largest number of parents of a variable, including the class; "auto" for as many as leave one case for each
        cell of its table; None for no limit.
    criterion : the score of families: "k2", "bdeu" (with an equivalent sample size: "bdeu:10"), "bic", "aic",
        or a function like those of `naivete.counts.scores`.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class where the class has no parents; by default the relative frequencies.

    The class is (a or b); last in the order, it gets both as parents:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 5, np.uint8), np.array([0, 1, 0, 1] * 5, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a | b)), np.array([False, False]))
    >>> dict(k2(Counts(cases), order=[0, 1, -1]).parents)
    {0: (), 1: (), -1: (0, 1)}

    References
    ----------
    Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks from data, section 3.1.2.
    """
    structure = best_parents(
        FamilyScores(counts, score_of(criterion, "criterion")),
        checked_order(order, counts),
        checked_limit(max_parents),
    )
    return estimate(counts, structure, smoothing, prior=prior)


def checked_order(order: Sequence[int] | None, counts: Counts) -> list[int]:
    """Return the order as a list; refuse it unless it has every variable exactly once."""
    variables = [CLASS, *counts.features]
    if order is None:
        return variables
    entries: Sequence[Any] = order if isinstance(order, (list, tuple, np.ndarray)) else [order]
    result = [v.item() if isinstance(v, np.generic) else v for v in entries]
    if not all(type(v) is int for v in result) or sorted(result) != sorted(variables):
        raise ParameterError(
            f"order={quoted(result)}: every feature 0 .. {len(counts.features) - 1} and the class (-1) have to be there once"
        )
    return result


def best_parents(
    scores: FamilyScores,
    order: Sequence[int],
    max_parents: MaxParents = None,
    allowed: Mapping[int, Collection[int]] | None = None,
) -> dict[int, tuple[int, ...]]:
    """Return the parents of each variable by greedy search among those before it in an order; one pass for each round.

    Parameters
    ----------
    scores : the scores of families.
    order : the variables, parents before children.
    max_parents : the largest number of parents of a variable, as for `k2`.
    allowed : the variables that each variable may have as parents; by default all.
    """
    earlier = {v: sorted(u for u in order[:i] if allowed is None or u in allowed[v]) for i, v in enumerate(order)}
    return greedy_parents(scores, earlier, max_parents)


def greedy_parents(
    scores: FamilyScores, candidates: Mapping[int, Sequence[int]], max_parents: MaxParents = None
) -> dict[int, tuple[int, ...]]:
    """Return the parents of each variable by greedy search among its candidates, which come in increasing order."""
    parents: dict[int, list[int]] = {v: [] for v in candidates}
    limit = ParentLimit(scores.counts, max_parents)
    active = {v: limit.addable(v, (), np.asarray(some, np.int64)) for v, some in candidates.items()}
    while active := {v: addable for v, addable in active.items() if len(addable)}:
        for some in batches(list(active), map(len, active.values()), scores.most_additions):
            scores.prepare((v, parents[v], active[v]) for v in some)
            for v in some:
                addable = active.pop(v)
                best = _best_parent(scores, v, parents[v], addable)
                if best is not None:
                    parents[v].append(best)
                    active[v] = limit.addable(v, parents[v], addable[addable != best])
    return {v: class_last(chosen) for v, chosen in parents.items()}


def _best_parent(scores: FamilyScores, v: int, parents: list[int], candidates: Integers) -> int | None:
    """Return the first of the candidates that improve the score most, None if none improves it."""
    gains = scores.gains(v, parents, candidates)
    largest = gains.max()
    if largest <= scores.tolerance:
        return None
    return int(candidates[np.argmax(gains >= largest - scores.tolerance)])


def class_last(parents: Sequence[int]) -> tuple[int, ...]:
    """Return the parents in their order, but the class last.

    >>> class_last([-1, 4, 2])
    (4, 2, -1)
    """
    return (*(p for p in parents if p != CLASS), *(p for p in parents if p == CLASS))
