"""K2-AS and K2-AS<=: features selected by the accuracy of K2."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from naivete.counts.counts import Counts, informative_features
from naivete.counts.family_scores import FamilyScores
from naivete.counts.scores import Score, score_of
from naivete.learners.feature_selection import Families, Parents, Trials, forward
from naivete.learners.k2 import greedy_parents
from naivete.learners.parameters import checked_count, checked_flag
from naivete.variables import CLASS

__all__ = ["k2_families", "k2_selection"]


def k2_selection(
    counts: Counts,
    *,
    accept_ties: bool = False,
    criterion: Score | str = "k2",
    max_parents: int | None = None,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[int]:
    """Return the features with which K2 is most accurate, in the order in which they are added: K2-AS, with `accept_ties` K2-AS<=.

    Half of the cases are used to learn, half to evaluate. Starting from the most frequent class, the feature with which the
    network of K2 classifies most cases correctly is added while that improves; with `accept_ties`, also while it stays the same.
    The order of K2 is the class, then the features in the order in which they were added.

    Parameters
    ----------
    counts : the training cases.
    accept_ties : whether a feature that does not change the accuracy is added too.
    criterion, max_parents : as for `k2`, for the networks that are evaluated.
    random_state : the seed of the halves.
    smoothing, prior : as for `naive`.

    The class equals a; feature b is independent of it:

    >>> import numpy as np
    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1] * 6, np.uint8), np.array([0, 1, 0, 1] * 6, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> k2_selection(Counts(cases))
    [0]

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 3.
    """
    checked_flag(accept_ties, "accept_ties")
    families = k2_families(criterion, checked_count(max_parents, "max_parents"))
    trials = Trials(counts, families, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, accept_ties=accept_ties, features=informative_features(counts))


def k2_families(criterion: Score | str, max_parents: int | None) -> Callable[[Counts], Families]:
    """Return the families that K2 gives new features after the class and the features selected before."""

    def families(counts: Counts) -> Families:
        scores = FamilyScores(counts, score_of(criterion, "criterion"))

        def parents(selected: Sequence[int], new: Sequence[int]) -> Parents:
            return greedy_parents(scores, {x: [CLASS, *sorted(selected)] for x in new}, max_parents)

        return parents

    return families
