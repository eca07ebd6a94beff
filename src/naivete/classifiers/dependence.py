"""The classifiers: each a learner in the shell of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from naivete.classifiers.base import Answers, NetworkClassifier, NotFittedError
from naivete.counts.counts import BUDGET, Counts
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, close_matches, quoted
from naivete.learners import full, kdb, lookup, majority, naive, tan
from naivete.learners.kdb import chosen_parameters
from naivete.network.network import Network
from naivete.variables import Name

__all__ = ["KDB", "TAN", "Answers", "Full", "Lookup", "Majority", "NaiveBayes", "NetworkClassifier", "NotFittedError"]


class Majority(NetworkClassifier):
    """Answers with the most frequent class: what any other classifier has to beat.

    >>> Majority().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['yes']
    """

    _of_tallies = True

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

    _warns = False  # a row that never occurred is answered by the class frequencies; that is the method

    def __init__(self, *, prior: Sequence[float] | None = None, encoder: Encoder | None = None, budget: int = BUDGET) -> None:
        super().__init__(smoothing=0.0, prior=prior, encoder=encoder, budget=budget)

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return lookup(counts, prior=self.prior), {}


class NaiveBayes(NetworkClassifier):
    """Naive Bayes: given the class, the features are independent.

    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]]
    >>> nb = NaiveBayes().fit(weather, ["out", "in", "out", "in"])
    >>> nb.predict_proba([["sunny", None]]).round(2).tolist()
    [[0.25, 0.75]]
    """

    _of_tallies = True
    _dense = True
    _bells = True

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return naive(counts, smoothing=self.smoothing, prior=self.prior), {}


class TAN(NetworkClassifier):
    """Tree augmented naive Bayes: every feature depends on the class and on at most one other feature, chosen optimally.

    Parameters
    ----------
    root : the feature at the root of the tree, by name or position; by default the one that tells most about the class.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

    _dense = True

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

    _dense = True

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

    _dense = True

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
