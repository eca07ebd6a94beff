"""Classifiers that are classification trees: ID3 and C4.5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.discretization import distinct
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, quoted, warn
from naivete.learners.tree.c45 import c45
from naivete.learners.tree.id3 import id3
from naivete.network.network import Network

__all__ = ["C45", "ID3"]


class ID3(NetworkClassifier):
    """A classification tree that asks for the feature with the largest information gain, until the classes are told apart.

    `naivete.display.rules.rules` and `naivete.display.rules.tree_text` write the tree of `network_` in words.

    Parameters
    ----------
    max_depth : how many questions may be asked of a case; by default any number.
    min_rows : a node with less weight is not divided; by default every node is that can be.
    smoothing : pseudo-count added to every class of a leaf, or as for `NetworkClassifier`; by default the relative frequencies.
    encoder, budget : as for `NetworkClassifier`; a numeric column has a branch for each interval.

    >>> weather = [["sunny", "hot"], ["sunny", "mild"], ["rain", "hot"], ["rain", "mild"]]
    >>> ID3().fit(weather, ["out", "out", "in", "out"]).predict_proba([["rain", None]]).tolist()
    [[0.5, 0.5]]
    """

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_rows: float = 0,
        smoothing: Any = 0.0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder, budget=budget)
        self.max_depth = max_depth
        self.min_rows = min_rows

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return id3(counts, max_depth=self.max_depth, min_rows=self.min_rows, smoothing=self.smoothing), {}


class C45(NetworkClassifier):
    """A classification tree by gain ratio, with thresholds for numbers, divided cases for missing values, and pruning.

    The trees are those of C4.5, release 8, as J48 of Weka has it, but that numbers are told apart however close they are, where
    C4.5 takes neighbours within 1e-5 as equal. Of a column with more than 16,384 values the thresholds are some of them.

    Parameters
    ----------
    min_rows : at least two branches of a test need this weight.
    confidence : the level of the pessimistic estimate of errors, above 0 and at most 0.5; less prunes more.
    raising : whether a node may be replaced by its largest branch.
    prune : whether the tree is pruned.
    max_depth : how many questions may be asked of a case; by default any number.
    smoothing : pseudo-count added to every class of a leaf, or as for `NetworkClassifier`; by default the relative frequencies.
    encoder : as for `NetworkClassifier`; by default numeric columns may be divided at every value.
    budget : as for `NetworkClassifier`.

    >>> numbers = [[1.5], [2.5], [3.5], [4.5], [5.5], [6.5]]
    >>> tree = C45().fit(numbers, ["low", "low", "low", "high", "high", "high"])
    >>> tree.predict([[3.4], [3.6]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        min_rows: float = 2,
        confidence: float = 0.25,
        raising: bool = True,
        prune: bool = True,
        max_depth: int | None = None,
        smoothing: Any = 0.0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, encoder=encoder, budget=budget)
        self.min_rows = min_rows
        self.confidence = confidence
        self.raising = raising
        self.prune = prune
        self.max_depth = max_depth

    def _encoder(self) -> Encoder:
        encoder = super()._encoder()
        return replace(encoder, cut=distinct) if encoder.cut is None else encoder

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        own = {name: getattr(self, name) for name in C45_PARAMETERS}
        network = c45(counts, **own, smoothing=self.smoothing)
        if (counts.rows or 0) >= 2 * self.min_rows > counts.total:
            warn(
                f"the cases weigh {counts.total:.6g} together, less than two branches of min_rows={quoted(self.min_rows)} need, "
                "so that nothing is asked; weights are cases: scale them to sum to the number of rows",
                NaiveteWarning,
            )
        return network, {}


C45_PARAMETERS = ("min_rows", "confidence", "raising", "prune", "max_depth")
"""What `C45` hands on to its learner as it is, beside what every classifier has."""
