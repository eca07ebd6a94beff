"""Info-AS: choosing features by what they tell about the class beyond those chosen before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.cases.views import Configuration
from naivete.counts import Counts, Table, telling
from naivete.independence import checked_level
from naivete.information import selection_information
from naivete.learners.cb import cb
from naivete.learners.k2 import checked_truth, checked_word
from naivete.learners.selection import Learner, Trials, k2_families, on_selected
from naivete.network import Network
from naivete.occurring import SparseTable
from naivete.variables import CLASS, Variable

__all__ = ["METRICS", "info_as", "info_selection"]

POSITIVE = 1e-12

Metric = Callable[[float, float, float], float]

METRICS: dict[str, Metric] = {
    "cig": lambda gain, own, joint: gain,  # noqa: ARG005
    "cgr": lambda gain, own, joint: gain / own if own > 0 else 0.0,  # noqa: ARG005
    "cdc": lambda gain, own, joint: gain / joint if joint > 0 else 0.0,  # noqa: ARG005
}
"""The metrics from I(A; C | selected), H(A | selected) and H(A, C | selected): gain, gain ratio, complement of the distance."""


class Step(NamedTuple):
    """What one more feature would tell."""

    feature: int
    metric: float
    statistic: float
    freedom: int
    together: NDArray[np.bool_]

    def significant(self, alpha: float) -> bool:
        """Whether 2 N ln 2 I(A; C | selected) exceeds the chi-square quantile of the level."""
        from scipy.special import chdtri

        return bool(self.freedom > 0 and self.statistic > chdtri(self.freedom, alpha))


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
    return on_selected(counts, selected, final, smoothing, prior)


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
    while True:
        steps = [s for s in _steps(counts, found, METRICS[metric]) if s.metric > POSITIVE]
        if stop == "chi2":
            steps = [s for s in steps if s.significant(alpha)]
        steps.sort(key=lambda s: (-s.metric, s.feature))
        if right is not None and trials is not None:
            reached = [(s, trials.whole([*found.features, s.feature])) for s in steps]
            better = [(s, r) for s, r in reached if r > right or (guided == "stays" and r == right)]
            steps, right = [s for s, _ in better[:1]], better[0][1] if better else right
        if not steps:
            break
        found = found.joined(steps[0].feature, steps[0].together)
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


def _steps(counts: Counts, found: Configuration, metric: Metric) -> list[Step]:
    """What each feature that is not selected would tell, in one pass."""
    left = [x for x in telling(counts) if x not in found.features]
    if not left:
        return []
    if not found.features:
        margins = counts.margins()
        return [_step(x, margins[x, CLASS][None], metric) for x in left]
    gaps = bool(counts.cases.gaps[list(found.features)].any())
    wide = counts.with_column(Variable("selected", tuple(range(found.card))), found, gaps=gaps)
    own = len(counts.features)
    orders = [(own, x, CLASS) for x in left]
    steps = []
    for which, tables in wide.arranged(orders, [wide.cards(order) for order in orders]):
        for i, table in zip(which, [tables] if isinstance(tables, SparseTable) else tables, strict=True):
            steps.append(_step(left[i], table, metric, (found.card, counts.variables[left[i]].card)))
    return sorted(steps, key=lambda s: s.feature)


def _step(x: int, table: Table, metric: Metric, shape: tuple[int, int] | None = None) -> Step:
    """What a feature would tell, from its table with the configurations so far and the class."""
    gain, own, joint = selection_information(table)
    if isinstance(table, SparseTable):
        assert shape is not None
        together = np.zeros(shape, bool)
        together[table.configurations[:, 1], table.configurations[:, 0]] = True
        classes = np.zeros((shape[0], table.counts.shape[1]), np.int64)
        np.add.at(classes, table.configurations[:, 1], table.counts > 0)
        cases = float(table.counts.sum())
    else:
        together, classes, cases = table.sum(axis=2) > 0, table.sum(axis=1), float(table.sum())
    freedom = ((together.sum(axis=1) - 1).clip(0) * (np.count_nonzero(classes, axis=1) - 1).clip(0)).sum()
    return Step(x, metric(gain, own, joint), 2 * cases * log(2) * gain, int(freedom), together)


def _check(metric: object, stop: object, alpha: object, guided: object, backward: object) -> None:
    checked_word(metric, "metric", tuple(METRICS))
    checked_word(stop, "stop", ("zero", "chi2"))
    checked_word(guided, "guided", ("no", "rises", "stays"))
    checked_truth(backward, "backward")
    checked_level(alpha)
