"""The classifiers that others are compared with: the most frequent class, and a table of the training cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.learners.baseline import lookup, majority
from naivete.network.network import Network

__all__ = ["Lookup", "Majority"]


class Majority(NetworkClassifier):
    """Answers with the most frequent class: what any other classifier has to beat.

    >>> Majority().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['yes']
    """

    learns_from_value_counts = True
    shares_counts = True

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return majority(counts, smoothing=self.smoothing, prior=self.prior), {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class Lookup(NetworkClassifier):
    """Looks the row up among the training cases: the classes of those that equal it, or of all where none does.

    >>> Lookup().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['no']
    """

    shares_counts = True
    reports_impossible = False  # a row that never occurred is answered by the class frequencies; that is the method

    def __init__(self, *, prior: Sequence[float] | None = None, encoder: Encoder | None = None, budget: int = BUDGET) -> None:
        super().__init__(smoothing=0.0, prior=prior, encoder=encoder, budget=budget)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return lookup(counts, prior=self.prior), {}
