"""Naive Bayes and its augmentations: the class is the root and a parent of every feature."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.parameters import seed_of
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners.full import full
from naivete.learners.kdb import chosen_parameters, kdb
from naivete.learners.knaive import knaive_choice, knaive_on
from naivete.learners.naive import naive
from naivete.learners.tan import tan
from naivete.network.network import Network
from naivete.variables import Name

__all__ = ["KDB", "TAN", "Full", "KNaive", "NaiveBayes"]


class NaiveBayes(NetworkClassifier):
    """Naive Bayes: given the class, the features are independent.

    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]]
    >>> nb = NaiveBayes().fit(weather, ["out", "in", "out", "in"])
    >>> nb.predict_proba([["sunny", None]]).round(2).tolist()
    [[0.25, 0.75]]
    """

    learns_from_value_counts = True
    shares_counts = True
    densities = ("normal", "kernel")

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return naive(counts, smoothing=self.smoothing, prior=self.prior), {}


class TAN(NetworkClassifier):
    """Tree augmented naive Bayes: every feature depends on the class and on at most one other feature, chosen optimally.

    Parameters
    ----------
    root : the feature at the root of the tree, by name or position; by default the one that tells most about the class.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    shares_counts = True
    densities = ("normal",)

    def __init__(
        self,
        *,
        root: Name = None,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.root = root

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        names = [v.name for v in counts.variables[:-1]]
        root: Any = names.index(self.root) if isinstance(self.root, str) and self.root in names else self.root
        if isinstance(root, str):
            close = close_matches(root, names)
            raise ParameterError(
                f"root={quoted(root)}: there is no such feature" + (f"; did you mean {close[0]!r}?" if close else "")
            )
        return tan(counts, root=root, smoothing=self.smoothing, prior=self.prior), {}


class KDB(NetworkClassifier):
    """A k-dependence Bayesian classifier: every feature depends on the class and on at most k other features.

    What was chosen where "auto" was asked for is `k_` and `theta_` afterwards.

    Parameters
    ----------
    k : how many features a feature may depend on; 0 is naive Bayes; "auto" chooses it by leave-one-out, up to `k_max`.
    theta : an arc needs more information than this, in bits; "auto" chooses it by leave-one-out, "chi2" by significance.
    alpha : the level of theta="chi2".
    k_max : the largest k that "auto" tries.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    shares_counts = True
    saved_attributes = ("k_", "theta_")
    densities = ("normal",)

    def __init__(
        self,
        *,
        k: Any = 2,
        theta: Any = -inf,
        alpha: float = 0.05,
        k_max: int = 5,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.k = k
        self.theta = theta
        self.alpha = alpha
        self.k_max = k_max

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        common: dict[str, Any] = {"alpha": self.alpha, "smoothing": self.smoothing, "prior": self.prior}
        k, theta = chosen_parameters(counts, k=self.k, theta=self.theta, k_max=self.k_max, **common)
        return kdb(counts, k=k, theta=theta, **common), {"k_": k, "theta_": theta}


class Full(NetworkClassifier):
    """Everything may depend on everything: the joint table of columns of states, the quadratic discriminant of numbers.

    Numbers that rise together in one class, and against each other in the other:

    >>> rows = [[0, 0.1], [1, 0.9], [2, 2.2], [3, 2.8], [0, 2.9], [1, 2.2], [2, 0.8], [3, 0.1]]
    >>> normal = Encoder(numbers="normal", kinds="numeric")
    >>> Full(encoder=normal).fit(rows, ["with"] * 4 + ["against"] * 4).predict([[0, 0], [0, 3]]).tolist()
    ['with', 'against']

    Parameters
    ----------
    shared : whether the classes share one covariance matrix of the numbers, which makes it the linear discriminant.
    shrinkage : by which share covariances are made smaller, from 0 to 1, or "ledoit-wolf".
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    densities = ("normal",)

    def __init__(
        self,
        *,
        shared: bool = False,
        shrinkage: Any = 0.0,
        smoothing: Any = 1.0,
        prior: Sequence[float] | None = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(smoothing=smoothing, prior=prior, encoder=encoder, budget=budget)
        self.shared = shared
        self.shrinkage = shrinkage

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        common: dict[str, Any] = {"smoothing": self.smoothing, "prior": self.prior}
        return full(counts, shared=self.shared, shrinkage=self.shrinkage, **common), {}


class KNaive(NetworkClassifier):
    """Between naive Bayes and the full network: k features in which dependence cancels are held naive (Barrow).

    Afterwards `naive_` has these features by position; `weights_` the weight of every feature in bits, for more than two classes
    a row of them; `weight_` that of the set, and `exact_` whether no other set of that size has less.

    Parameters
    ----------
    k : how many features are held naive; by default as many as are best balanced.
    strong : whether naive features influence nothing; else they may be parents of the others.
    max_parents : on how many others a feature may depend; by default on any number.
    shared, shrinkage : as for `Full`.
    starts, random_state : of the local search where there are too many features for the best set.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    saved_attributes = ("naive_",)
    densities = ("normal",)
    naive_: list[int]
    weights_: NDArray[np.float64]
    weight_: float
    exact_: bool

    def __init__(
        self,
        *,
        k: int | None = None,
        strong: bool = False,
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
        self.max_parents = max_parents
        self.shared = shared
        self.shrinkage = shrinkage
        self.starts = starts
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        how = {name: getattr(self, name) for name in ("max_parents", "shared", "shrinkage", "smoothing", "prior")}
        seed = seed_of(self.random_state)
        asked = {name: getattr(self, name) for name in ("k", "starts")}
        found, weights = knaive_choice(counts, **asked, random_state=seed, **how)
        network = knaive_on(counts, found.features, strong=self.strong, **how)
        told = {"naive_": list(found.features), "weights_": weights, "weight_": found.weight, "exact_": found.exact}
        return network, told
