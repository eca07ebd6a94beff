"""The k-naive classifier in the shell of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.selective import seed_of
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.learners.knaive import knaive_choice, knaive_on
from naivete.network.network import Network

__all__ = ["KNaive"]


class KNaive(NetworkClassifier):
    """Between naive Bayes and the full network: k features in which dependence cancels are held naive (Barrow).

    Afterwards `naive_` has these features by position; `weights_` the weight of every feature in bits, for more than two classes
    a row of them; `weight_` that of the set, and `exact_` whether no other set of that size has less.

    Parameters
    ----------
    k : how many features are held naive; by default as many as are best balanced.
    strong : whether naive features influence nothing; else they may be parents of the others.
    conditional : "dag" for derivatives given the features before, or "all" for those given all others.
    average : "logs" for the mean of the logarithms, or "ratios" for the logarithm of the mean.
    max_parents : on how many others a feature may depend; by default on any number.
    shared, shrinkage : as for `Full`.
    starts, random_state : of the local search where there are too many features for the best set.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    _dense = True
    naive_: list[int]
    weights_: NDArray[np.float64]
    weight_: float
    exact_: bool

    def __init__(
        self,
        *,
        k: int | None = None,
        strong: bool = False,
        conditional: Any = "dag",
        average: Any = "logs",
        max_parents: int | None = None,
        shared: bool = False,
        shrinkage: Any = 0.0,
        starts: int = 32,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.k = k
        self.strong = strong
        self.conditional = conditional
        self.average = average
        self.max_parents = max_parents
        self.shared = shared
        self.shrinkage = shrinkage
        self.starts = starts
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        how = {name: getattr(self, name) for name in ("max_parents", "shared", "shrinkage", "smoothing", "prior")}
        seed = seed_of(self.random_state)
        asked = {name: getattr(self, name) for name in ("k", "conditional", "average", "starts")}
        found, weights = knaive_choice(counts, **asked, random_state=seed, **how)
        network = knaive_on(counts, found.features, strong=self.strong, **how)
        told = {"naive_": list(found.features), "weights_": weights, "weight_": found.weight, "exact_": found.exact}
        return network, told
