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
    """Naive Bayes on the features that make it most accurate: naive-AS.

    Half of the cases learn, half judge. Beginning with the most frequent class alone, the feature with which most is right is
    added, until every addition would lower what is right. The network is learned from all cases; the other features depend on
    nothing.

    Parameters
    ----------
    counts : the training cases.
    random_state : the seed of the halves.
    smoothing, prior : as for `naive`.

    References
    ----------
    Singh and Provan (1995), sections 2 and 5.1; Langley and Sage (1994), Induction of selective Bayesian classifiers.
    """
    selected = naive_selection(counts, random_state=random_state, smoothing=smoothing, prior=prior)
    return naive_on_selected(counts, selected, smoothing=smoothing, prior=prior)


def naive_on_selected(
    counts: Counts, selected: Sequence[int], *, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """Naive Bayes on some features; the others are in it too, but depend on nothing."""
    structure = {x: (CLASS,) if x in selected else () for x in counts.features}
    return estimate(counts, {CLASS: (), **structure}, smoothing, prior=prior)


def naive_selection(
    counts: Counts, *, random_state: int = 0, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> list[int]:
    """The features that naive-AS selects, in the order they enter."""
    trials = Trials(counts, only_class, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, equal=True, features=informative_features(counts))


def only_class(_: Counts) -> Families:
    """The families of naive Bayes."""
    return lambda _selected, new: dict.fromkeys(new, (CLASS,))
