"""The recursive Bayesian classifier in the shell of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.learners.recursive import recursive
from naivete.network.network import Network

__all__ = ["Recursive"]


class Recursive(NetworkClassifier):
    """A hierarchy of naive Bayes classifiers, each for the cases that the one above mixes up: RBC (Langley).

    >>> exclusive = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    >>> model = Recursive(parity="split").fit(exclusive, ["no", "yes", "yes", "no"])
    >>> model.predict(exclusive).tolist()
    ['no', 'yes', 'yes', 'no']

    Parameters
    ----------
    min_rows : a cluster of less weight gets no classifier of its own.
    prune : nor do the clusters of a classifier whose share of errors on its own cases does not exceed this.
    max_depth : how many classifiers may come after the first; 0 is naive Bayes, None any number.
    parity : what is done where a classifier gives all its cases one class: "stop", or "split" them by the feature that tells most
        about the class.
    refit : whether cases are sent down by the summaries of the clusters, as the paper has it; else by the classifier whose
        answers made the clusters, which is often more accurate.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`; the prior weighs the classes in every node.
    """

    _dense = True

    def __init__(
        self,
        *,
        min_rows: float = 2,
        prune: float = 0.0,
        max_depth: int | None = None,
        parity: Any = "stop",
        refit: bool = True,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.min_rows = min_rows
        self.prune = prune
        self.max_depth = max_depth
        self.parity = parity
        self.refit = refit

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        found = recursive(
            counts,
            min_rows=self.min_rows,
            prune=self.prune,
            max_depth=self.max_depth,
            parity=self.parity,
            refit=self.refit,
            smoothing=self.smoothing,
            prior=self.prior,
        )
        return found, {}
