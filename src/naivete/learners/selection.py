"""Choosing features by the accuracy of the classifier they make: naive-AS, K2-AS, K2-AS<=."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from naivete.counts.counts import Counts, informative_features
from naivete.counts.scores import FamilyScores, Score, score_of
from naivete.learners.accuracy import majority_correct, trial
from naivete.learners.cb import cb
from naivete.learners.halves import halves
from naivete.learners.k2 import checked_most, checked_truth, greedy_parents
from naivete.network.estimation import estimate, marginal_tables
from naivete.network.network import Network, SparseCpt
from naivete.variables import CLASS

__all__ = ["Learner", "Trials", "k2_as", "k2_selection", "naive_as", "naive_on_selected", "naive_selection", "network_on_selected"]

Learner = Callable[[Counts], Network]
Parents = Mapping[int, tuple[int, ...]]
Families = Callable[[Sequence[int], Sequence[int]], Parents]
"""From selected and new features to the parents of the new ones."""


class Trials:
    """Networks learned from one half of the cases and judged on the other, a feature after the other.

    Parameters
    ----------
    counts : the cases.
    random_state : the seed of the halves.
    family : the parents that a feature gets when it joins features that are there already.
    smoothing, prior : as for `naive`.
    """

    def __init__(
        self,
        counts: Counts,
        family: Callable[[Counts], Families],
        *,
        random_state: int,
        smoothing: object,
        prior: Sequence[float] | None,
    ) -> None:
        self.learn, self.judge = halves(counts, random_state)
        self.smoothing, self.prior = smoothing, prior
        self.parents_of = family(self.learn)
        self._chains: dict[tuple[int, ...], dict[int, tuple[int, ...]]] = {}
        self.counts = counts

    def nothing(self) -> Fraction:
        """The weight that the most frequent class gets right."""
        return majority_correct(self.counts.over(self.judge), self.learn, self.prior)

    def additions(self, selected: Mapping[int, tuple[int, ...]], new: Sequence[int]) -> tuple[Parents, list[Fraction]]:
        """For each new feature its parents, and what is right with it beside those that are selected; two passes."""
        parents = self.parents_of(list(selected), new)
        structure = {CLASS: (), **dict.fromkeys(self.learn.features, ()), **selected, **parents}
        network = estimate(self.learn, structure, self.smoothing, prior=self.prior)
        return parents, trial(self.counts.over(self.judge), network, list(selected), new)

    def removals(self, selected: Sequence[int]) -> tuple[Fraction, list[Fraction]]:
        """What is right with these features, and without each of them."""
        whole = self.whole(selected)
        return whole, [self.whole([x for x in selected if x != gone]) for gone in selected]

    def whole(self, selected: Sequence[int]) -> Fraction:
        """What is right with these features, each with parents among those before it."""
        if not selected:
            return self.nothing()
        return self.additions(self._chain(tuple(selected[:-1])), selected[-1:])[1][0]

    def _chain(self, selected: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
        """The parents of features each of which joins those before it; beginnings that were asked for before are known."""
        if not selected:
            return {}
        if selected not in self._chains:
            before = self._chain(selected[:-1])
            self._chains[selected] = {**before, **self.parents_of(selected[:-1], selected[-1:])}
        return self._chains[selected]


def forward(trials: Trials, *, equal: bool, features: Sequence[int]) -> list[int]:
    """Features in the order they enter: each time the one with which most is right, as long as that rises (or stays equal)."""
    selected: dict[int, tuple[int, ...]] = {}
    right = trials.nothing()
    while len(selected) < len(features):
        left = [x for x in features if x not in selected]
        parents, found = trials.additions(selected, left)
        best = max(found)
        if best < right or (best == right and not equal):
            break
        x, right = left[found.index(best)], best
        selected[x] = parents[x]
    return list(selected)


def only_class(_: Counts) -> Families:
    """The families of naive Bayes."""
    return lambda _selected, new: dict.fromkeys(new, (CLASS,))


def k2_families(score: Score | str, max_parents: int | None) -> Callable[[Counts], Families]:
    """The families that K2 gives features behind the class and those selected before."""

    def of(counts: Counts) -> Families:
        scores = FamilyScores(counts, score_of(score))

        def parents(selected: Sequence[int], new: Sequence[int]) -> Parents:
            return greedy_parents(scores, {x: [CLASS, *sorted(selected)] for x in new}, max_parents)

        return parents

    return of


def naive_selection(
    counts: Counts, *, random_state: int = 0, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> list[int]:
    """The features that naive-AS selects, in the order they enter."""
    trials = Trials(counts, only_class, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, equal=True, features=informative_features(counts))


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
    checked_truth(equal, "equal")
    families = k2_families(score, checked_most(max_parents))
    trials = Trials(counts, families, random_state=random_state, smoothing=smoothing, prior=prior)
    return forward(trials, equal=equal, features=informative_features(counts))


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


def network_on_selected(
    counts: Counts, selected: Sequence[int], learner: Learner, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """The network that a learner makes of some features; the others are in it too, but depend on nothing.

    Where none is selected there is nothing to learn, and the most frequent class answers.
    """
    own = sorted(selected)
    some = counts.only(own)
    found = learner(some) if own else estimate(some, {CLASS: ()}, smoothing, prior=prior)
    at = {CLASS: CLASS, **dict(enumerate(own))}
    parents = {at[v]: tuple(at[p] for p in ps) for v, ps in found.parents.items()}
    cpts: dict[int, Any] = {at[v]: _renumbered(cpt, at) for v, cpt in found.cpts.items()}
    others = [x for x in counts.features if x not in parents]
    structure = {**parents, **dict.fromkeys(others, ())}
    return Network(counts.variables, structure, {**cpts, **marginal_tables(counts, others, smoothing)}, check=False)


def _renumbered(cpt: Any, at: Mapping[int, int]) -> Any:
    if not isinstance(cpt, SparseCpt):
        return cpt
    return SparseCpt(cpt.configurations, cpt.rows, _renumbered(cpt.default, at), tuple(at[p] for p in cpt.parents))
