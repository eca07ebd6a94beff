"""The classifiers that others are compared with: the most frequent class, and a table of the training cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.network.network import Network

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.network.smoothing import Prior

__all__ = ["Lookup", "Majority"]


class Majority(NetworkClassifier):
    """Predict the most frequent class, whatever the features: the baseline for all other classifiers.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.

    Examples
    --------
    >>> from naivete import Majority
    >>> Majority().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['yes']
    """

    learns_from_value_counts = True
    shares_counts = True

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.baseline import majority

        return majority(counts, **self._arguments()), {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class Lookup(NetworkClassifier):
    """Predict from the training cases that equal the row in all observed features; from all cases where no case does.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, introduction of chapter 8.

    Examples
    --------
    >>> from naivete import Lookup
    >>> Lookup().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['no']
    """

    shares_counts = True
    reports_impossible = False  # predicting a new row by the class frequencies is the method itself

    def __init__(
        self,
        *,
        prior: Prior = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=0.0, prior=prior, class_weight=class_weight, encoder=encoder, budget=budget)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.baseline import lookup

        return lookup(counts, **self._arguments()), {}
