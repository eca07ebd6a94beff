"""Info-AS: features selected by their information about the class, given the features selected before."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import log
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete.cases.views import Configuration
from naivete.counts.counts import Counts, informative_features
from naivete.counts.independence import checked_level
from naivete.counts.information import selection_information
from naivete.counts.tables import CountTable, DenseStack, TableStack
from naivete.learners.feature_selection import Trials
from naivete.learners.k2_as import k2_families
from naivete.learners.parameters import checked_choice, checked_flag
from naivete.variables import CLASS, Variable

__all__ = ["METRICS", "info_selection"]

POSITIVE = 1e-12
"""A metric counts as positive above this value."""

Metric = Callable[[Numbers, Numbers, Numbers], Numbers]

METRICS: dict[str, Metric] = {
    "cig": lambda gain, entropy, joint: gain,  # noqa: ARG005
    "cgr": lambda gain, entropy, joint: np.divide(gain, entropy, out=np.zeros_like(gain), where=entropy > 0),  # noqa: ARG005
    "cdc": lambda gain, entropy, joint: np.divide(gain, joint, out=np.zeros_like(gain), where=joint > 0),  # noqa: ARG005
}
"""Metrics of I(A; C | selected), H(A | selected) and H(A, C | selected): gain, gain ratio, complement of the distance."""


class Step(NamedTuple):
    """The information of one more feature, and its counts with the configurations of the selected features and the class."""

    feature: int
    metric: float
    gain: float
    table: CountTable
    selected: Configuration
    column: int

    def together(self) -> NDArray[Any]:
        """Return the counts of the states of the feature in each configuration.  # (configuration, state)"""
        return self.table.marginal(self.column, self.feature)

    def significant(self, alpha: float) -> bool:
        """Whether 2 N ln 2 I(A; C | selected) exceeds the chi-square quantile of the level.

        The degrees of freedom count the states that occur in each configuration.
        """
        from scipy.special import chdtri

        together, classes = self.together(), self.table.marginal(self.column, CLASS)
        degrees = (np.count_nonzero(together, axis=1) - 1).clip(0) * (np.count_nonzero(classes, axis=1) - 1).clip(0)
        freedom = int(degrees[:-1].sum() if self.selected.singles else degrees.sum())
        return bool(freedom > 0 and 2 * float(together.sum()) * log(2) * self.gain > chdtri(freedom, alpha))


def info_selection(
    counts: Counts,
    *,
    metric: str = "cgr",
    stopping_rule: Literal["zero", "chi2"] = "zero",
    alpha: float = 0.05,
    guided: Literal["no", "rises", "stays"] = "no",
    backward: bool = False,
    random_state: int = 0,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> list[int]:
    """Return the features with the most information about the class, given those selected before, in the order of selection.

    The feature with the largest metric is added while the metric is above zero.

    Parameters
    ----------
    counts : the training cases.
    metric : "cig", the conditional information gain I(A; C | selected); "cgr", that over H(A | selected), the gain ratio; "cdc",
        over H(A, C | selected), the complement of the distance.
    stopping_rule : "zero" continues while the metric is above zero; with "chi2" the gain must also be significant at the level
        `alpha`.
    alpha : the significance level for stopping_rule="chi2".
    guided : whether a feature must also improve the accuracy of K2, learned from one half of the cases, on the other half
        ("rises"), or at least not reduce it ("stays"); the feature with the largest metric that satisfies this is added.
    backward : whether features are removed afterwards while that does not reduce the accuracy.
    random_state : the seed of the halves for `guided` and `backward`.
    smoothing, prior : as for `naive`.

    The class equals a; feature b is independent of it:

    >>> from naivete.cases import Block, MemoryCases
    >>> a, b = np.array([0, 0, 1, 1] * 6, np.uint8), np.array([0, 1, 0, 1] * 6, np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a)), np.array([False, False]))
    >>> info_selection(Counts(cases))
    [0]

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 4;
    stopping_rule="chi2": section 6; `guided` and `backward`: section 5.6.
    """
    _check_parameters(metric, stopping_rule, alpha, guided, backward)
    common: dict[str, Any] = {"random_state": random_state, "smoothing": smoothing, "prior": prior}
    trials = Trials(counts, k2_families("k2", None), **common) if guided != "no" or backward else None
    selected = Configuration((), ())
    correct = trials.nothing() if trials is not None and guided != "no" else None
    chain: dict[int, tuple[int, ...]] = {}  # the parents of the selected features in the networks that are evaluated
    while True:
        steps = [s for s in _steps(counts, selected, METRICS[metric]) if s.metric > POSITIVE]
        if stopping_rule == "chi2":
            steps = [s for s in steps if s.significant(alpha)]
        steps.sort(key=lambda s: (-s.metric, s.feature))
        if correct is not None and trials is not None and steps:
            parents, accuracies = trials.additions(chain, [s.feature for s in steps])
            better = [(s, r) for s, r in zip(steps, accuracies, strict=True) if r > correct or (guided == "stays" and r == correct)]
            steps, correct = [s for s, _ in better[:1]], better[0][1] if better else correct
            chain |= {s.feature: parents[s.feature] for s in steps}
        if not steps:
            break
        best = steps[0]
        selected = selected.joined(best.feature, best.together())
    features = list(selected.features)
    return _without_dispensable(trials, features) if backward and trials is not None else features


def _without_dispensable(trials: Trials, selected: list[int]) -> list[int]:
    """Return the features that remain when those are removed, best first, without which the accuracy is not smaller."""
    while selected:
        accuracy, without = trials.removals(selected)
        best = max(without)
        if best < accuracy:
            break
        selected = [x for x in selected if x != selected[without.index(best)]]
    return selected


def _steps(counts: Counts, selected: Configuration, metric: Metric) -> Iterator[Step]:
    """The information of each feature that is not selected, in one pass."""
    remaining = [x for x in informative_features(counts) if x not in selected.features]
    for which, tables in _tables(counts, selected, remaining):
        singles = selected.card - 1 if selected.singles else None
        gains, entropies, joint = selection_information(tables, counts.margins()[CLASS,].sum(), singles=singles)
        values = metric(gains, entropies, joint)
        for i, value, gain, table in zip(which, values.tolist(), gains.tolist(), tables.tables(), strict=True):
            yield Step(remaining[i], value, gain, table, selected, len(counts.features))


def _tables(
    counts: Counts, selected: Configuration, features: Sequence[int]
) -> Iterator[tuple[Sequence[int] | Integers, TableStack]]:
    """The counts of these features with the configurations of the selected ones and the class, those of one shape together."""
    if not selected.features:
        margins, column = counts.margins(), len(counts.features)
        for i, x in enumerate(features):
            yield [i], DenseStack([(x, CLASS, column)], margins[x, CLASS][None, :, :, None])
        return
    has_missing = bool(counts.cases.has_missing[list(selected.features)].any())
    wide = counts.with_column(Variable("selected", tuple(range(selected.card))), selected, has_missing=has_missing)
    orders = [(x, CLASS, len(counts.features)) for x in features]
    yield from wide.table_stacks(orders, [wide.cards(order) for order in orders])


def _check_parameters(metric: object, stopping_rule: object, alpha: object, guided: object, backward: object) -> None:
    checked_choice(metric, "metric", tuple(METRICS))
    checked_choice(stopping_rule, "stopping_rule", ("zero", "chi2"))
    checked_choice(guided, "guided", ("no", "rises", "stays"))
    checked_flag(backward, "backward")
    checked_level(alpha)
