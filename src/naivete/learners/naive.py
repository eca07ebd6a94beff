"""Naive Bayes: the class is the only parent of every feature."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts.counts import Counts
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["naive"]


def naive(counts: Counts, *, smoothing: object = 1.0, prior: Sequence[float] | None = None) -> Network:
    """Return the naive Bayes network: P(x_1, ..., x_n, c) = P(c) times the product of P(x_i | c).

    Parameters
    ----------
    counts : the training cases.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> codes = np.array([0, 0, 1], np.uint8), np.array([0, 0, 1], np.uint8)
    >>> cases = MemoryCases((Variable("x", ("a", "b")), Variable("c", ("no", "yes"))), Block(codes), np.array([False]))
    >>> naive(Counts(cases)).cpts[0].tolist()  # P(x | c): rows are the states of x, columns the classes
    [[0.75, 0.3333333333333333], [0.25, 0.6666666666666666]]

    References
    ----------
    Langley, Iba and Thompson (1992), An analysis of Bayesian classifiers; Jensen and Nielsen (2007), Bayesian networks and
    decision graphs, section 8.1.
    """
    return estimate(counts, {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}, smoothing, prior=prior)
