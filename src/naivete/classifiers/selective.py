"""Classifiers that select their features first: by accuracy (naive-AS, K2-AS) or by information (Info-AS)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.parameters import seed_of
from naivete.counts.counts import BUDGET, Counts
from naivete.counts.scores import score_of
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.cb import cb
from naivete.learners.feature_selection import Learner, network_on_selected
from naivete.learners.hill_climb import hill_climb
from naivete.learners.info_as import info_selection
from naivete.learners.k2 import k2
from naivete.learners.k2_as import k2_selection
from naivete.learners.kdb import kdb
from naivete.learners.naive import naive
from naivete.learners.naive_as import naive_on_selected, naive_selection
from naivete.learners.pc import pc
from naivete.learners.tan import tan
from naivete.network.network import Network

__all__ = ["K2AS", "LEARNERS", "InfoAS", "SelectiveNaive"]

LEARNERS: dict[str, Callable[..., Network]] = {
    "cb": cb,
    "nb": naive,
    "tan": tan,
    "kdb": kdb,
    "k2": k2,
    "hc": hill_climb,
    "pc": pc,
}
"""What may learn the final network from the selected features, with its usual parameters."""


class SelectiveNaive(NetworkClassifier):
    """Naive Bayes on the features that make it most accurate on a half of the cases that it was not learned from: naive-AS.

    The features in the order they entered are `selected_` afterwards, by position.

    Parameters
    ----------
    random_state : the seed of the halves: a whole number, a RandomState, or None for another one each time.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    saved_attributes = ("selected_",)

    def __init__(
        self,
        *,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        selected = naive_selection(counts, random_state=seed_of(self.random_state), **common)
        return naive_on_selected(counts, selected, **common), {"selected_": selected}


class Selecting(NetworkClassifier):
    """A classifier that selects features and hands them to a learner."""

    learner: Any

    def _final(self) -> Learner:
        """What learns from the selected features."""
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        if isinstance(self.learner, NetworkClassifier):
            return lambda counts: self.learner._learn(counts)[0]
        if isinstance(self.learner, str) and self.learner in LEARNERS:
            return partial(LEARNERS[self.learner], **common)
        close = close_matches(self.learner, LEARNERS)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ParameterError(
            f"learner={quoted(self.learner)}: choose one of {', '.join(map(repr, LEARNERS))}, or a classifier of naivete{hint}"
        )


class K2AS(Selecting):
    """A network on the features with which K2 is most accurate on a half of the cases that it was not learned from: K2-AS.

    The features in the order they entered are `selected_` afterwards, by position.

    Parameters
    ----------
    equal : whether a feature that changes nothing is selected too: K2-AS<=.
    learner : what learns the final network: "cb", "nb", "tan", "kdb", "k2", "hc", "pc", or a classifier with its parameters.
    criterion, max_parents : as for `K2`, of the networks on the way.
    random_state : the seed of the halves.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    saved_attributes = ("selected_",)

    def __init__(
        self,
        *,
        equal: bool = False,
        learner: Any = "cb",
        criterion: Any = "k2",
        max_parents: int | None = None,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.equal = equal
        self.learner = learner
        self.criterion = criterion
        self.max_parents = max_parents
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        final = self._final()
        selected = k2_selection(
            counts,
            equal=self.equal,
            score=score_of(self.criterion, "criterion"),
            max_parents=self.max_parents,
            random_state=seed_of(self.random_state),
            smoothing=self.smoothing,
            prior=self.prior,
        )
        return network_on_selected(counts, selected, final, self.smoothing, self.prior), {"selected_": selected}


class InfoAS(Selecting):
    """A network on the features that tell most about the class beyond those already selected: Info-AS.

    The features in the order they entered are `selected_` afterwards, by position.

    Parameters
    ----------
    metric : "cig" (conditional information gain), "cgr" (gain ratio) or "cdc" (complement of the conditional distance).
    learner : what learns the final network: "cb", "nb", "tan", "kdb", "k2", "hc", "pc", or a classifier with its parameters.
    stop : "zero" goes on while the metric is above zero; "chi2" also asks that the gain is significant at the level `alpha`.
    alpha : the level of stop="chi2".
    guided : "rises" or "stays" to ask that a feature also raises, or does not lower, the accuracy on half of the cases.
    backward : whether features are taken away again afterwards as long as that does not lower the accuracy.
    random_state : the seed of the halves for `guided` and `backward`.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    saved_attributes = ("selected_",)

    def __init__(
        self,
        *,
        metric: str = "cgr",
        learner: Any = "cb",
        stop: Any = "zero",
        alpha: float = 0.05,
        guided: Any = "no",
        backward: bool = False,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.metric = metric
        self.learner = learner
        self.stop = stop
        self.alpha = alpha
        self.guided = guided
        self.backward = backward
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        final = self._final()
        selected = info_selection(
            counts,
            metric=self.metric,
            stop=self.stop,
            alpha=self.alpha,
            guided=self.guided,
            backward=self.backward,
            random_state=seed_of(self.random_state),
            smoothing=self.smoothing,
            prior=self.prior,
        )
        return network_on_selected(counts, selected, final, self.smoothing, self.prior), {"selected_": selected}
