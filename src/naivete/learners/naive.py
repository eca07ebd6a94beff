"""Naive Bayes: the class is the only parent of every feature."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts import Counts
from naivete.estimation import estimate
from naivete.network import Network
from naivete.variables import CLASS

__all__ = ["naive"]


def naive(counts: Counts, *, smoothing: object = 1.0, prior: Sequence[float] | None = None) -> Network:
    """The naive Bayes network: P(c) times the product of P(x | c) over the features.

    Parameters
    ----------
    counts : the training cases.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.estimation`.
    prior : P(c) for every class; by default the relative frequencies.
    """
    return estimate(counts, {CLASS: (), **dict.fromkeys(counts.features, (CLASS,))}, smoothing, prior=prior)
