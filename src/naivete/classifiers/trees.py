"""Classifiers that are classification trees: ID3 and C4.5."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.counts.budget import BUDGET
from naivete.encoding.discretization import distinct
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, quoted, warn
from naivete.network.network import Network

if TYPE_CHECKING:
    from naivete.counts.counts import Counts

__all__ = ["C45", "ID3"]


class ID3(NetworkClassifier):
    """A classification tree that splits by the feature with the largest information gain, until no split has a gain; not pruned.

    `naivete.tree_text(model.network_)` writes the tree as text.

    Parameters
    ----------
    max_depth : int or None, default=None
        The most splits between the root and a leaf; by default any number.
    min_rows : float, default=0
        A node with a smaller weight is not split.
    smoothing : float, str or smoothing method, default=0.0
        The pseudo-count added to every class of a leaf, or another method as for `NetworkClassifier`; by default 0, the relative
        frequencies.
    encoder : Encoder or None, default=None
        How columns are encoded, an `Encoder`; a discretized column has one branch for each interval.

    References
    ----------
    Quinlan (1986), Induction of decision trees.

    Examples
    --------
    >>> from naivete import ID3
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
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, class_weight=class_weight, encoder=encoder, budget=budget)
        self.max_depth = max_depth
        self.min_rows = min_rows

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.tree.id3 import id3

        return id3(counts, **self._arguments()), {}


class C45(NetworkClassifier):
    """A classification tree by gain ratio, with thresholds for numbers, fractional cases for missing values, and pruning.

    The trees are those of C4.5 release 8, as in Weka's J48, except that numbers differ however close they are, where C4.5 treats
    neighbors within 1e-5 as equal. Of a column with more than 16,384 values only some are tried as thresholds.

    Parameters
    ----------
    min_rows : float, default=2
        At least two branches of a split need this weight.
    confidence : float, default=0.25
        The confidence level of the pessimistic error estimate, above 0 and at most 0.5; a smaller one prunes more.
    subtree_raising : bool, default=True
        Whether a node may be replaced by its largest branch.
    prune : bool, default=True
        Whether the tree is pruned.
    max_depth : int or None, default=None
        The most splits between the root and a leaf; by default any number.
    smoothing : float, str or smoothing method, default=0.0
        The pseudo-count added to every class of a leaf, or another method as for `NetworkClassifier`; by default 0, the relative
        frequencies.
    encoder : Encoder or None, default=None
        How columns are encoded, an `Encoder`; by default every value of a numeric column may be a threshold.

    References
    ----------
    Quinlan (1993), C4.5: programs for machine learning; Quinlan (1996), Improved use of continuous attributes in C4.5.

    Examples
    --------
    >>> from naivete import C45
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
        subtree_raising: bool = True,
        prune: bool = True,
        max_depth: int | None = None,
        smoothing: Any = 0.0,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, class_weight=class_weight, encoder=encoder, budget=budget)
        self.min_rows = min_rows
        self.confidence = confidence
        self.subtree_raising = subtree_raising
        self.prune = prune
        self.max_depth = max_depth

    def _encoder(self) -> Encoder:
        encoder = super()._encoder()
        return replace(encoder, cut=distinct) if encoder.cut is None else encoder

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.tree.c45 import c45

        network = c45(counts, **self._arguments())
        if (counts.rows or 0) >= 2 * self.min_rows > counts.total:
            warn(
                f"the total weight of the cases is {counts.total:.6g}, less than two branches of min_rows={quoted(self.min_rows)} "
                "need, so the tree has no split; scale the weights so that they sum to the number of rows",
                NaiveteWarning,
            )
        return network, {}
