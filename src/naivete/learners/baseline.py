"""The two ends that learn no dependence at all and every dependence: the majority class and the look-up table."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts.counts import Counts
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["lookup", "majority"]


def majority(counts: Counts, *, smoothing: object = 1.0, prior: Sequence[float] | None = None) -> Network:
    """The network without arcs: every case belongs to the most frequent class, with the probability of that class.

    Parameters
    ----------
    counts : the training cases.
    smoothing, prior : as for `naive`; smoothing has no effect on the class.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.
    """
    return estimate(counts, {CLASS: (), **dict.fromkeys(counts.features, ())}, smoothing, prior=prior)


def lookup(counts: Counts, *, prior: Sequence[float] | None = None) -> Network:
    """The joint table of all features with the class: a case gets the classes of the training cases that equal it.

    Each feature has the class and all features before it as parents, and nothing is smoothed, so that the product of the
    tables is the relative frequency of the row in the class. A feature of a single state tells nothing and is nobody's
    parent. A row that never occurred has probability zero in every class, each by exactly one factor, and is answered by the
    class frequencies. With missing values, the cases that agree in the known ones count.

    Parameters
    ----------
    counts : the training cases.
    prior : P(c) for every class; by default the relative frequencies.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.
    """
    telling = [x for x in counts.features if counts.variables[x].card > 1]
    earlier = {x: tuple(y for y in telling if y < x) if x in telling else () for x in counts.features}
    structure = {CLASS: (), **{x: (*own, CLASS) for x, own in earlier.items()}}
    return estimate(counts, structure, 0.0, prior=prior)
