"""Choosing features by the accuracy of the classifier they make: naive-AS, K2-AS, K2-AS<=."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from naivete.counts.counts import Counts
from naivete.learners.accuracy import majority_correct, trial
from naivete.learners.halves import halves
from naivete.network.estimation import estimate, marginal_tables
from naivete.network.network import Network, SparseCpt
from naivete.variables import CLASS

__all__ = ["Families", "Learner", "Parents", "Trials", "forward", "network_on_selected"]

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
