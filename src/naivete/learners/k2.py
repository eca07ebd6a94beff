"""K2: the best parents of each variable among those before it in an order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from naivete.counts.counts import Counts
from naivete.counts.scores import FamilyScores, Score, score_of
from naivete.errors import ParameterError, quoted
from naivete.learners.parameters import checked_count
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["best_parents", "class_last", "greedy_parents", "k2"]


def k2(
    counts: Counts,
    *,
    order: Sequence[int] | None = None,
    max_parents: int | None = None,
    score: Score | str = "k2",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """The network in which every variable has the parents that K2 finds among the variables before it.

    A variable starts without parents and takes, again and again, the one that raises its score most, until none does. All
    variables take their next parent in the same pass over the data.

    Parameters
    ----------
    counts : the training cases.
    order : all variables, parents before children, the class as -1; by default the class, then the features as they come.
    max_parents : how many parents a variable may have, the class included; by default any number.
    score : "k2", "bdeu" (perhaps with a weight, "bdeu:10"), "bic", "aic", or a function like those of `naivete.counts.scores`.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class where the class has no parents; by default the relative frequencies.

    The class is a or b; put last, it takes both as parents:

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
    found = checked_order(order, counts)
    structure = best_parents(FamilyScores(counts, score_of(score)), found, checked_count(max_parents, "max_parents"))
    return estimate(counts, structure, smoothing, prior=prior)


def checked_order(order: Sequence[int] | None, counts: Counts) -> list[int]:
    """The order, refused unless it has every variable once."""
    variables = [CLASS, *counts.features]
    if order is None:
        return variables
    given: Sequence[Any] = order if isinstance(order, (list, tuple, np.ndarray)) else [order]
    found = [v.item() if isinstance(v, np.generic) else v for v in given]
    if not all(type(v) is int for v in found) or sorted(found) != sorted(variables):
        raise ParameterError(
            f"order={quoted(found)}: every feature 0 .. {len(counts.features) - 1} and the class (-1) have to be there once"
        )
    return found


def best_parents(
    scores: FamilyScores, order: Sequence[int], most: int | None = None, among: Mapping[int, Collection[int]] | None = None
) -> dict[int, tuple[int, ...]]:
    """The parents that greedy search gives each variable of an order among those before it; one pass for each round.

    Parameters
    ----------
    scores : the scores of families.
    order : the variables, parents before children.
    most : how many parents a variable may have.
    among : the variables that each may take as parents; by default any.
    """
    earlier = {v: sorted(u for u in order[:place] if among is None or u in among[v]) for place, v in enumerate(order)}
    return greedy_parents(scores, earlier, most)


def greedy_parents(
    scores: FamilyScores, earlier: Mapping[int, Sequence[int]], most: int | None = None
) -> dict[int, tuple[int, ...]]:
    """The parents that greedy search gives each variable among those that may be its parents, in increasing order."""
    parents: dict[int, list[int]] = {v: [] for v in earlier}
    active = [v for v in earlier if earlier[v] and most != 0]
    while active:
        scores.prepare((v, parents[v], y) for v in active for y in earlier[v] if y not in parents[v])
        active = [v for v in active if _grown(scores, v, parents[v], earlier[v])]
        active = [v for v in active if len(parents[v]) < min(len(earlier[v]), len(earlier[v]) if most is None else most)]
    return {v: class_last(own) for v, own in parents.items()}


def _grown(scores: FamilyScores, v: int, parents: list[int], earlier: Sequence[int]) -> bool:
    """Add the best parent that is left, if it raises the score."""
    left = [y for y in earlier if y not in parents]
    gains = [scores.gain(v, parents, y) for y in left]
    best = max(gains)
    if best <= scores.tolerance:
        return False
    parents.append(next(y for y, gain in zip(left, gains, strict=True) if gain >= best - scores.tolerance))
    return True


def class_last(parents: Sequence[int]) -> tuple[int, ...]:
    """The parents in the order they have, the class behind them.

    >>> class_last([-1, 4, 2])
    (4, 2, -1)
    """
    return (*(p for p in parents if p != CLASS), *(p for p in parents if p == CLASS))
