"""Selective k-dependence Bayes: k and the number of features are chosen by leave-one-out, in one pass for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from naivete.counts.bias import Bias, checked_bias
from naivete.counts.counts import Counts, informative_features
from naivete.counts.tables import DenseTable
from naivete.errors import ParameterError
from naivete.inference.leave_one_out import LOSSES, leave_one_out_losses
from naivete.learners.kdb import candidates, dependence_up_to
from naivete.learners.parameters import checked_choice, checked_integer
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["skdb", "skdb_choice"]


def skdb(
    counts: Counts,
    *,
    k_max: int = 5,
    criterion: str = "squared",
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> tuple[Network, int, list[int]]:
    """Return the selective k-dependence network, its k, and its features in decreasing order of I(X; C).

    The structure is that of KDB with `k_max` parents. Of it, the first k parents of each of the first m features are kept, for the
    k and m with the smallest leave-one-out loss; the other features have no parents.

    Parameters
    ----------
    counts : the training cases.
    k_max : the largest k; 0 selects features for naive Bayes.
    criterion : the loss: "squared", (1 - P(true class))^2, "log", -log P(true class), or "zero-one", the number of errors.
    bias : "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to
        features that have too few cases for each of their states; "plain" takes them as in the paper.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    The class is the exclusive or of a and b; d is independent of it:

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b, d = (np.array(list(digits) * 4, np.uint8) for digits in ([0] * 4 + [1] * 4, [0, 0, 1, 1] * 2, [0, 1] * 4))
    >>> variables = tuple(Variable(name, (0, 1)) for name in "abdc")
    >>> skdb(Counts(MemoryCases(variables, Block((a, b, d, a ^ b)), np.zeros(3, bool))))[1:]
    (1, [0, 1])

    References
    ----------
    Martinez, Webb, Chen and Zaidi (2016), Scalable learning of Bayesian network classifiers, algorithm 3.
    """
    k, selected, parents = skdb_choice(counts, k_max=k_max, criterion=criterion, bias=bias, smoothing=smoothing, prior=prior)
    chosen = set(selected)
    margins = counts.margins()
    counts.keep(DenseTable((x,), margins[x, CLASS].sum(axis=1)) for x in counts.features if x not in chosen)
    structure = {x: (*parents[x][:k], CLASS) if x in chosen else () for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior), k, selected


def skdb_choice(
    counts: Counts,
    *,
    k_max: int = 5,
    criterion: str = "squared",
    bias: Bias = "corrected",
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> tuple[int, list[int], dict[int, list[int]]]:
    """Return k, the features in decreasing order of I(X; C), and the parents of all features in the structure with `k_max` parents.

    In a row with missing values, a feature has the parents before the first missing one, as for `kdb`. Equal losses are decided by
    the fewest arcs, then by the smallest k.
    """
    k_max, criterion = checked_integer(k_max, "k_max"), checked_choice(criterion, "criterion", tuple(LOSSES))
    if counts.continuous:
        raise ParameterError("SKDB needs tables for leave-one-out, not densities; choose numbers='cut'")
    parents = candidates(counts, dependence_up_to(counts, k_max, checked_bias(bias)), k_max, bias)
    informative = set(informative_features(counts))
    order = [x for x in parents if x in informative]  # in decreasing order of I(X; C)
    largest = max((len(parents[x]) for x in order), default=0)
    settings = [(k, features) for k in range(largest + 1) for features in range(len(order) + 1)]
    taken = np.array([parents_taken(parents, order[:features], k) for k, features in settings])  # (setting, feature)
    firsts = sorted(np.unique(taken, axis=0, return_index=True)[1].tolist())
    losses = [Fraction(0)]
    if len(firsts) > 1:
        losses = leave_one_out_losses(counts, parents, taken[firsts], smoothing, prior=prior, exact=False, loss=criterion)
    best = min(zip(losses, firsts, strict=True), key=lambda pair: (pair[0], (taken[pair[1]] + 1).sum(), pair[1]))[1]
    k, features = settings[best]
    return k, order[:features], parents


def parents_taken(parents: dict[int, list[int]], features: Sequence[int], k: int) -> NDArray[np.int64]:
    """Return how many parents each feature has if only some features are in the network, with at most k parents; -1 for the others.

    >>> parents_taken({1: [], 0: [1], 2: [0, 1]}, [1, 0], 2).tolist()
    [1, 0, -1]
    """
    taken = np.full(len(parents), -1)
    taken[list(features)] = [min(k, len(parents[x])) for x in features]
    return taken
