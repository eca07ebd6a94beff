"""naive-AS: naive Bayes on features selected by accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.counts.counts import Counts, informative_features
from naivete.learners.feature_selection import Families, Trials, forward
from naivete.network.estimation import estimate
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["naive_as", "naive_on_selected", "naive_selection"]


def naive_as(counts: Counts, *, random_state: int = 0, smoothing: object = 1.0, prior: Sequence[float] | None = None) -> Network:
    """Return naive Bayes on the features that make it most accurate: naive-AS.

    Half of the cases are used to learn, half to evaluate. Starting from the most frequent class, the feature with which most
    cases are classified correctly is added, until every addition would reduce that. The final network is learned from all cases;
    the other features have no parents.

    Parameters
    ----------
    counts : the training cases.
    random_state : the seed of the halves.
    smoothing, prior : as for `naive`.

    The class equals a; feature b is independent of it:

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 6, np.uint8), np.array([0, 1, 0, 1] * 6, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> naive_selection(Counts(cases))[0]
    0

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, sections 2 and 5.1; Langley and Sage
    (1994), Induction of selective Bayesian classifiers.
    """
    selected = naive_selection(counts, random_state=random_state, smoothing=smoothing, prior=prior)
    return naive_on_selected(counts, selected, smoothing=smoothing, prior=prior)


def naive_selection(
    counts: Counts, *, random_state: int = 0, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> list[int]:
    """Return the features that naive-AS selects, in the order in which they are added."""
    trials = Trials(counts, _naive_families, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, accept_ties=True, features=informative_features(counts))


def _naive_families(_: Counts) -> Families:
    return lambda _selected, new: dict.fromkeys(new, (CLASS,))


def naive_on_selected(
    counts: Counts, selected: Sequence[int], *, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """Return naive Bayes on some features; the other features are in the network but have no parents."""
    structure = {x: (CLASS,) if x in selected else () for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior)
