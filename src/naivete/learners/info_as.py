"""Info-AS: choosing features by what they tell about the class beyond those chosen before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete.cases.views import Configuration
from naivete.counts.counts import Counts, Table, informative_features
from naivete.counts.independence import checked_level
from naivete.counts.information import selection_information
from naivete.counts.sparse_tables import SparseTable
from naivete.learners.cb import cb
from naivete.learners.feature_selection import Learner, Trials, network_on_selected
from naivete.learners.k2_as import k2_families
from naivete.learners.parameters import checked_choice, checked_flag
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

__all__ = ["METRICS", "info_as", "info_selection"]

POSITIVE = 1e-12


Metric = Callable[[Numbers, Numbers, Numbers], Numbers]

METRICS: dict[str, Metric] = {
    "cig": lambda gain, own, joint: gain,  # noqa: ARG005
    "cgr": lambda gain, own, joint: np.divide(gain, own, out=np.zeros_like(gain), where=own > 0),  # noqa: ARG005
    "cdc": lambda gain, own, joint: np.divide(gain, joint, out=np.zeros_like(gain), where=joint > 0),  # noqa: ARG005
}
"""The metrics from I(A; C | selected), H(A | selected) and H(A, C | selected): gain, gain ratio, complement of the distance."""


class Step(NamedTuple):
    """What one more feature would tell, and its table with the configurations so far and the class."""

    feature: int
    metric: float
    gain: float
    table: Table
    found: Configuration

    def together(self, states: int) -> NDArray[Any]:
        """How often the states of the feature occur with the configurations.  # (configuration, state)"""
        if not isinstance(self.table, SparseTable):
            return np.asarray(self.table.sum(axis=1).T)
        n = np.zeros((self.found.card, states), self.table.counts.dtype)
        n[self.table.configurations[:, 1], self.table.configurations[:, 0]] = self.table.counts.sum(axis=1)
        return n

    def significant(self, states: int, alpha: float) -> bool:
        """Whether 2 N ln 2 I(A; C | selected) exceeds the chi-square quantile of the level.

        The degrees of freedom count the states that occur in each configuration.
        """
        from scipy.special import chdtri

        together = self.together(states)
        if isinstance(self.table, SparseTable):
            classes = np.zeros((self.found.card, self.table.counts.shape[1]), np.int64)
            np.add.at(classes, self.table.configurations[:, 1], self.table.counts > 0)
        else:
            classes = self.table.sum(axis=0).T
        free = (np.count_nonzero(together, axis=1) - 1).clip(0) * (np.count_nonzero(classes, axis=1) - 1).clip(0)
        freedom = int(free[:-1].sum() if self.found.alone else free.sum())
        return bool(freedom > 0 and 2 * float(together.sum()) * log(2) * self.gain > chdtri(freedom, alpha))


def info_as(
    counts: Counts,
    *,
    metric: str = "cgr",
    learner: Learner | None = None,
    stop: Literal["zero", "chi2"] = "zero",
    alpha: float = 0.05,
    guided: Literal["no", "rises", "stays"] = "no",
    backward: bool = False,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> Network:
    """A network on the features that tell most about the class beyond those already selected.

    Parameters
    ----------
    counts : the training cases.
    metric : "cig", the conditional information gain I(A; C | selected); "cgr", that over H(A | selected), the gain ratio; "cdc",
        over H(A, C | selected), the complement of the distance.
    learner : what learns the final network from the selected features; by default `cb`.
    stop : "zero" goes on while the metric is above zero; "chi2" also asks that the gain is significant at the level `alpha`.
    alpha : the level of stop="chi2".
    guided : whether a feature must also raise what the network of K2 gets right on half of the cases ("rises"), or at least not
        lower it ("stays"); the feature with the largest metric of which that is true is added.
    backward : whether features are taken away again afterwards as long as that does not lower what is right.
    random_state : the seed of the halves for `guided` and `backward`.
    smoothing, prior : as for `naive`.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 4; stop="chi2": section 6;
    `guided`, `backward` and a `learner` of naive Bayes: section 5.6.
    """
    selected = info_selection(
        counts,
        metric=metric,
        stop=stop,
        alpha=alpha,
        guided=guided,
        backward=backward,
        random_state=random_state,
        smoothing=smoothing,
        prior=prior,
    )
    final = learner or (lambda own: cb(own, smoothing=smoothing, prior=prior))
    return network_on_selected(counts, selected, final, smoothing, prior)


def info_selection(
    counts: Counts,
    *,
    metric: str = "cgr",
    stop: Literal["zero", "chi2"] = "zero",
    alpha: float = 0.05,
    guided: Literal["no", "rises", "stays"] = "no",
    backward: bool = False,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[int]:
    """The features that Info-AS selects, in the order they enter; parameters as for `info_as`."""
    _check(metric, stop, alpha, guided, backward)
    common: dict[str, Any] = {"random_state": random_state, "smoothing": smoothing, "prior": prior}
    trials = Trials(counts, k2_families("k2", None), **common) if guided != "no" or backward else None
    found = Configuration((), ())
    right = trials.nothing() if trials is not None and guided != "no" else None
    chain: dict[int, tuple[int, ...]] = {}  # the parents of the features so far in the networks that are judged
    while True:
        steps = [s for s in _steps(counts, found, METRICS[metric]) if s.metric > POSITIVE]
        if stop == "chi2":
            steps = [s for s in steps if s.significant(counts.variables[s.feature].card, alpha)]
        steps.sort(key=lambda s: (-s.metric, s.feature))
        if right is not None and trials is not None and steps:
            parents, reached = trials.additions(chain, [s.feature for s in steps])
            better = [(s, r) for s, r in zip(steps, reached, strict=True) if r > right or (guided == "stays" and r == right)]
            steps, right = [s for s, _ in better[:1]], better[0][1] if better else right
            chain |= {s.feature: parents[s.feature] for s in steps}
        if not steps:
            break
        best = steps[0]
        found = found.joined(best.feature, best.together(counts.variables[best.feature].card))
    selected = list(found.features)
    return _pruned(trials, selected) if backward and trials is not None else selected


def _pruned(trials: Trials, selected: list[int]) -> list[int]:
    """The features that are left when those are taken away without which no less is right, the most dispensable first."""
    while selected:
        whole, without = trials.removals(selected)
        best = max(without)
        if best < whole:
            break
        selected = [x for x in selected if x != selected[without.index(best)]]
    return selected


def _steps(counts: Counts, found: Configuration, metric: Metric) -> Iterator[Step]:
    """What each feature that is not selected would tell, in one pass."""
    left = [x for x in informative_features(counts) if x not in found.features]
    for which, tables in _tables(counts, found, left):
        alone = found.card - 1 if found.alone else None
        gains, own, joint = selection_information(tables, counts.margins()[CLASS,].sum(), alone=alone)
        values = metric(gains, own, joint)
        each = [tables] if isinstance(tables, SparseTable) else tables
        for i, value, gain, table in zip(which, values.tolist(), gains.tolist(), each, strict=True):
            yield Step(left[i], value, gain, table, found)


def _tables(counts: Counts, found: Configuration, left: Sequence[int]) -> Iterator[tuple[list[int], Table]]:
    """The tables of these features with the configurations so far and the class, those of one shape together."""
    if not found.features:
        yield from (([i], counts.margins()[x, CLASS][None, :, :, None]) for i, x in enumerate(left))
        return
    gaps = bool(counts.cases.gaps[list(found.features)].any())
    wide = counts.with_column(Variable("selected", tuple(range(found.card))), found, gaps=gaps)
    orders = [(x, CLASS, len(counts.features)) for x in left]
    yield from wide.arranged(orders, [wide.cards(order) for order in orders])


def _check(metric: object, stop: object, alpha: object, guided: object, backward: object) -> None:
    checked_choice(metric, "metric", tuple(METRICS))
    checked_choice(stop, "stop", ("zero", "chi2"))
    checked_choice(guided, "guided", ("no", "rises", "stays"))
    checked_flag(backward, "backward")
    checked_level(alpha)
