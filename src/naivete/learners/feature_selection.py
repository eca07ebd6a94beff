"""The common parts of the learners that select features: trials on halves of the cases, forward search, the final network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from naivete.counts.counts import Counts
from naivete.learners.accuracy import AdditionAccuracy, majority_correct
from naivete.learners.halves import halves
from naivete.network.estimation import estimate, marginal_tables
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["Families", "Learner", "Parents", "Trials", "forward", "network_on_selected"]

Learner = Callable[[Counts], Network]
Parents = Mapping[int, tuple[int, ...]]
Families = Callable[[Sequence[int], Sequence[int]], Parents]
"""A function from selected and new features to the parents of the new ones."""


class Trials:
    """The accuracy of networks that are learned from one half of the cases and evaluated on the other.

    Parameters
    ----------
    counts : the cases.
    families : a function from the counts of the training half to `Families`.
    random_state : the seed of the halves.
    smoothing, prior : as for `naive`.
    """

    def __init__(
        self,
        counts: Counts,
        families: Callable[[Counts], Families],
        *,
        random_state: int,
        smoothing: object,
        prior: Sequence[float] | None,
    ) -> None:
        self.train, test = halves(counts, random_state)
        self.test = counts.over(test)
        self._accuracy = AdditionAccuracy(self.test)
        self.smoothing, self.prior = smoothing, prior
        self.parents_of = families(self.train)
        self._chains: dict[tuple[int, ...], dict[int, tuple[int, ...]]] = {}

    def nothing(self) -> Fraction:
        """Return the weight that the most frequent class classifies correctly."""
        return majority_correct(self.test, self.train, self.prior)

    def additions(self, selected: Mapping[int, tuple[int, ...]], new: Sequence[int]) -> tuple[Parents, list[Fraction]]:
        """Return for each new feature its parents, and the weight that is correct with it and the selected ones; two passes."""
        parents = self.parents_of(list(selected), new)
        structure = {CLASS: (), **dict.fromkeys(self.train.features, ()), **selected, **parents}
        network = estimate(self.train, structure, self.smoothing, prior=self.prior)
        rows = self.test.rows or self.test.total
        self.train.effort.add(len(new) * (2 * rows * self.train.cards([CLASS])[0] + 2e4))
        return parents, self._accuracy.correct(network, list(selected), new)

    def removals(self, selected: Sequence[int]) -> tuple[Fraction, list[Fraction]]:
        """Return the weight that is correct with these features, and without each of them."""
        return self.whole(selected), [self.whole([x for x in selected if x != removed]) for removed in selected]

    def whole(self, selected: Sequence[int]) -> Fraction:
        """Return the weight that is correct with these features, each with parents among those before it."""
        if not selected:
            return self.nothing()
        return self.additions(self._chain(tuple(selected[:-1])), selected[-1:])[1][0]

    def _chain(self, selected: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
        """Return the parents of features, each among those before it; the results for shorter sequences are kept."""
        if not selected:
            return {}
        if selected not in self._chains:
            before = self._chain(selected[:-1])
            self._chains[selected] = {**before, **self.parents_of(selected[:-1], selected[-1:])}
        return self._chains[selected]


def forward(trials: Trials, *, accept_ties: bool, features: Sequence[int]) -> list[int]:
    """Return the selected features: the one with the best accuracy is added while that improves (or with `accept_ties`, stays)."""
    selected: dict[int, tuple[int, ...]] = {}
    correct = trials.nothing()
    while len(selected) < len(features):
        remaining = [x for x in features if x not in selected]
        parents, accuracies = trials.additions(selected, remaining)
        best = max(accuracies)
        if best < correct or (best == correct and not accept_ties):
            break
        x, correct = remaining[accuracies.index(best)], best
        selected[x] = parents[x]
    return list(selected)


def network_on_selected(
    counts: Counts, selected: Sequence[int], learner: Learner, smoothing: object = 1.0, prior: Sequence[float] | None = None
) -> Network:
    """Return the network that a learner makes of the selected features; the other features have no parents and no children.

    Where no feature is selected, the network has no arcs, and every case gets the class frequencies.
    """
    features = sorted(selected)
    restricted = counts.only(features)
    learned = learner(restricted) if features else estimate(restricted, {CLASS: ()}, smoothing, prior=prior)
    position = {CLASS: CLASS, **dict(enumerate(features))}
    parents = {position[v]: tuple(position[p] for p in family) for v, family in learned.parents.items()}
    cpts: dict[int, Any] = {position[v]: learned.table(v).renumbered(position) for v in learned.cpts}
    others = [x for x in counts.features if x not in parents]
    structure = {**parents, **dict.fromkeys(others, ())}
    return Network(counts.variables, structure, {**cpts, **marginal_tables(counts, others, smoothing)}, check=False)
