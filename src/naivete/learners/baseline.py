"""Baselines: the majority class, which uses no feature, and the lookup table, which models every dependence."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts.counts import Counts, informative_features
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["lookup", "majority"]


def majority(counts: Counts, *, smoothing: object = 1.0, prior: Sequence[float] | None = None) -> Network:
    """Return the network without arcs: every case gets the class frequencies, whatever its features.

    Parameters
    ----------
    counts : the training cases.
    smoothing, prior : as for `naive`; smoothing has no effect on the class.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> codes = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 1, 1], np.uint8)
    >>> cases = MemoryCases((Variable("x", ("a", "b")), Variable("c", ("no", "yes"))), Block(codes), np.array([False]))
    >>> majority(Counts(cases)).cpts[-1].tolist()
    [0.25, 0.75]

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.
    """
    return estimate(counts, {CLASS: (), **dict.fromkeys(counts.features, ())}, smoothing, prior=prior)


def lookup(counts: Counts, *, prior: Sequence[float] | None = None) -> Network:
    """Return the joint table of all features and the class: a case gets the classes of the training cases that equal it.

    Each feature has the class and all features before it as parents, without smoothing, so that the product of the tables is the
    relative frequency of the row in the class. A feature of a single state carries no information and is no parent. A row that
    never occurred has probability zero in every class, each by exactly one factor, and gets the class frequencies. In a row with
    missing values, the training cases that agree in the observed ones count.

    Parameters
    ----------
    counts : the training cases.
    prior : P(c) for every class; by default the relative frequencies.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b, c = np.array([0, 0, 1], np.uint8), np.array([0, 1, 1], np.uint8), np.array([0, 1, 0], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, c)), np.array([False, False]))
    >>> lookup(Counts(cases)).parents[1], lookup(Counts(cases)).cpts[1][0, :, 1].tolist()  # P(b | a=0, c=1)
    ((0, -1), [0.0, 1.0])

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.
    """
    informative = informative_features(counts)
    parents = {x: tuple(y for y in informative if y < x) if x in informative else () for x in counts.features}
    structure = {CLASS: (), **{x: (*earlier, CLASS) for x, earlier in parents.items()}}
    return estimate(counts, structure, 0.0, prior=prior)
