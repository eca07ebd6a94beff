"""K2-AS and K2-AS<=: a network on features selected by the accuracy of K2."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from naivete.counts.counts import Counts, informative_features
from naivete.counts.scores import FamilyScores, Score, score_of
from naivete.learners.cb import cb
from naivete.learners.feature_selection import Families, Learner, Parents, Trials, forward, network_on_selected
from naivete.learners.k2 import greedy_parents
from naivete.learners.parameters import checked_count, checked_flag
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["k2_as", "k2_families", "k2_selection"]


def k2_as(
    counts: Counts,
    *,
    equal: bool = False,
    learner: Learner | None = None,
    score: Score | str = "k2",
    max_parents: int | None = None,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """A network on the features with which K2 is most accurate: K2-AS, and with `equal` K2-AS<=.

    Half of the cases learn, half judge. The feature with which the network of K2, the class first and the features in the order
    they entered, gets most right is added as long as that rises; with `equal` also as long as it does not fall. The final
    network is that of CB on all cases.

    Parameters
    ----------
    counts : the training cases.
    equal : whether a feature that changes nothing is added too.
    learner : what learns the final network from the selected features; by default `cb`.
    score, max_parents : as for `k2`, of the networks on the way.
    random_state : the seed of the halves.
    smoothing, prior : as for `naive`.

    References
    ----------
    Singh and Provan (1995), section 3.
    """
    selected = k2_selection(
        counts, equal=equal, score=score, max_parents=max_parents, random_state=random_state, smoothing=smoothing, prior=prior
    )
    final = learner or (lambda own: cb(own, smoothing=smoothing, prior=prior))
    return network_on_selected(counts, selected, final, smoothing, prior)


def k2_selection(
    counts: Counts,
    *,
    equal: bool = False,
    score: Score | str = "k2",
    max_parents: int | None = None,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[int]:
    """The features that K2-AS selects, in the order they enter; with `equal`, those of K2-AS<=."""
    checked_flag(equal, "equal")
    families = k2_families(score, checked_count(max_parents, "max_parents"))
    trials = Trials(counts, families, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, equal=equal, features=informative_features(counts))


def k2_families(score: Score | str, max_parents: int | None) -> Callable[[Counts], Families]:
    """The families that K2 gives features behind the class and those selected before."""

    def of(counts: Counts) -> Families:
        scores = FamilyScores(counts, score_of(score))

        def parents(selected: Sequence[int], new: Sequence[int]) -> Parents:
            return greedy_parents(scores, {x: [CLASS, *sorted(selected)] for x in new}, max_parents)

        return parents

    return of
