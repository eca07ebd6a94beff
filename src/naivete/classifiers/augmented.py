"""Naive Bayes and its augmentations: the class is the root and a parent of every feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.class_weights import ClassWeight
from naivete.classifiers.parameters import seed_of
from naivete.counts.budget import BUDGET
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError, did_you_mean, quoted
from naivete.network.network import Network
from naivete.variables import Name

if TYPE_CHECKING:
    from naivete.counts.bias import Bias
    from naivete.counts.counts import Counts
    from naivete.network.smoothing import Prior

__all__ = ["FAN", "KDB", "SKDB", "TAN", "Full", "KNaive", "NaiveBayes"]


class NaiveBayes(NetworkClassifier):
    """Naive Bayes: given the class, the features are independent.

    If all features have tables, the fitted classifier has the attributes of scikit-learn's CategoricalNB too.

    Attributes
    ----------
    class_log_prior_ : ndarray of shape (n_classes,)
        log P(c) of every class.
    feature_log_prob_ : list of ndarray of shape (n_classes, n_categories)
        log P(category | c), an array for each feature.
    n_categories_ : ndarray of shape (n_features,)
        The number of categories of every feature.
    class_count_ : ndarray of shape (n_classes,)
        The total weight of the cases of every class; not known if it was loaded and has a `prior`.
    category_count_ : list of ndarray of shape (n_classes, n_categories)
        The total weight of the cases with each category, an array for each feature; known after fitting, not after loading.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 8.1; Langley, Iba and Thompson (1992), An analysis of
    Bayesian classifiers.

    Examples
    --------
    >>> from naivete import NaiveBayes
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["sunny", "mild"], ["rain", "hot"]]
    >>> nb = NaiveBayes().fit(weather, ["out", "in", "out", "in"])
    >>> nb.predict_proba([["sunny", None]]).round(2).tolist()
    [[0.25, 0.75]]
    """

    learns_from_value_counts = True
    shares_counts = True
    densities = ("normal", "kernel")

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.naive import naive

        return naive(counts, **self._arguments()), {}


class TAN(NetworkClassifier):
    """Tree augmented naive Bayes: every feature has the class and at most one other feature as parents.

    The arcs between features are a maximum spanning tree over I(X; Y | C).

    Parameters
    ----------
    root : str, int or None, default=None
        The feature at the root of the tree, by name or position; by default the one with the largest I(X; C).
    bias : {"corrected", "plain"}, default="corrected"
        "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to features
        that have too few cases for each of their states; "plain" takes them as in the paper.

    References
    ----------
    Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers; Jensen and Nielsen (2007), Bayesian networks and decision
    graphs, theorem 8.1.

    Examples
    --------
    >>> from naivete import TAN
    >>> rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    >>> tan = TAN().fit(rows, ["even", "odd", "odd", "even"])  # neither feature alone carries information about the class
    >>> tan.network_.arcs, tan.predict([["1", "0"]]).tolist()
    ([(0, 1)], ['odd'])
    """

    shares_counts = True
    densities = ("normal",)

    def __init__(
        self,
        *,
        root: Name = None,
        bias: Bias = "corrected",
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.root = root
        self.bias = bias

    def max_table_features(self) -> int | None:
        """Return how many features the tables have from which the classifier learns: two.

        Returns
        -------
        int
            The number.
        """
        return 2

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.tan import tan

        names = [v.name for v in counts.variables[:-1]]
        root: Any = names.index(self.root) if isinstance(self.root, str) and self.root in names else self.root
        if isinstance(root, str):
            raise ParameterError(f"root={quoted(root)}: there is no such feature; {did_you_mean(root, names, 'the features are')}")
        return tan(counts, **self._arguments(root=root)), {}


class FAN(NetworkClassifier):
    """Forest augmented naive Bayes: TAN without the arcs that are not significant.

    Parameters
    ----------
    alpha : float, default=0.05
        The significance level of an arc; a smaller one keeps fewer arcs.
    bias : {"corrected", "plain"}, default="corrected"
        "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to features
        that have too few cases for each of their states; "plain" takes them as in the paper.

    References
    ----------
    Lucas (2004), Restricted Bayesian network structure learning; Ziebart, Dey and Bagnell (2007), Learning selectively conditioned
    forest structures with applications to DBNs and classification.

    Examples
    --------
    >>> from naivete import FAN
    >>> rows = [["0", "0", "a"], ["0", "1", "a"], ["1", "0", "a"], ["1", "1", "a"]] * 4
    >>> rows += [[x, y, "b"] for x, y, _ in rows]
    >>> fan = FAN().fit(rows, ["even", "odd", "odd", "even"] * 8)  # the third feature is independent of all others
    >>> fan.network_.arcs, fan.predict([["1", "0", None]]).tolist()
    ([(0, 1)], ['odd'])
    """

    shares_counts = True

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        bias: Bias = "corrected",
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.alpha = alpha
        self.bias = bias

    def max_table_features(self) -> int | None:
        """Return how many features the tables have from which the classifier learns: two.

        Returns
        -------
        int
            The number.
        """
        return 2

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.fan import fan

        return fan(counts, **self._arguments()), {}


class KDB(NetworkClassifier):
    """k-dependence Bayesian classifier: every feature has the class and at most k other features as parents.

    Parameters
    ----------
    k : int or "auto", default=2
        How many features may be parents of a feature; 0 is naive Bayes; "auto" chooses k by leave-one-out, up to `k_max`.
    theta : float, "chi2" or "auto", default="chi2"
        Which arcs are strong enough: "chi2" those that are significant; a number those with more information than this, in bits;
        "auto" chooses the number by leave-one-out. With -inf every feature gets k parents, or all earlier features if there
        are fewer.
    alpha : float, default=0.05
        The significance level of theta="chi2".
    k_max : int, default=5
        The largest k that k="auto" tries.
    bias : {"corrected", "plain"}, default="corrected"
        "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to features
        that have too few cases for each of their states; "plain" takes them as in the paper.

    Attributes
    ----------
    k_ : int
        The k that was used.
    theta_ : float or "chi2"
        The theta that was used; "chi2" where that is the rule.

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers.

    Examples
    --------
    >>> from naivete import KDB
    >>> rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]] * 5
    >>> kdb = KDB(k="auto").fit(rows, ["even", "odd", "odd", "even"] * 5)
    >>> kdb.k_, kdb.predict([["1", "0"]]).tolist()
    (1, ['odd'])
    """

    shares_counts = True
    saved_attributes = ("k_", "theta_")
    densities = ("normal",)

    def __init__(
        self,
        *,
        k: Any = 2,
        theta: Any = "chi2",
        alpha: float = 0.05,
        k_max: int = 5,
        bias: Bias = "corrected",
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.k = k
        self.theta = theta
        self.alpha = alpha
        self.k_max = k_max
        self.bias = bias

    def max_table_features(self) -> int | None:
        """Return how many features the tables have from which the classifier learns: k + 1; None where "auto" needs the rows.

        Returns
        -------
        int or None
            The number.
        """
        return self.k + 1 if isinstance(self.k, int) and self.theta != "auto" else None

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.kdb import chosen_parameters, kdb

        k, theta = chosen_parameters(counts, **self._arguments())
        return kdb(counts, **self._arguments(k=k, theta=theta)), {"k_": k, "theta_": theta}


class SKDB(NetworkClassifier):
    """Selective k-dependence Bayesian classifier: KDB with k and the number of features chosen by leave-one-out.

    Features enter in decreasing order of I(X; C). The losses of all numbers of features and all k up to `k_max` come from one pass
    over the rows, in which each case is left out of the counts while it is predicted.

    Parameters
    ----------
    k_max : int, default=5
        The largest k; 0 selects features for naive Bayes.
    criterion : {"squared", "log", "zero-one"}, default="squared"
        The loss that is minimized: "squared", the squared error of the probability of the true class, as in the paper; "log", the
        log loss, where a case counts at most 64 bits; or "zero-one", the number of errors.
    bias : {"corrected", "plain"}, default="corrected"
        "corrected" subtracts the bias of the informations, which prefers features with many states, and gives no arcs to features
        that have too few cases for each of their states; "plain" takes them as in the paper.

    Attributes
    ----------
    k_ : int
        The k that was chosen.
    selected_ : list of int
        The positions of the features that were chosen, in decreasing order of I(X; C); the others have no arcs.

    References
    ----------
    Martinez, Webb, Chen and Zaidi (2016), Scalable learning of Bayesian network classifiers.

    Examples
    --------
    >>> from naivete import SKDB
    >>> rows = [["0", "0", "x"], ["0", "1", "x"], ["1", "0", "x"], ["1", "1", "x"]] * 5
    >>> rows += [[a, b, "y"] for a, b, _ in rows]
    >>> skdb = SKDB().fit(rows, ["even", "odd", "odd", "even"] * 10)  # the third feature is independent of all others
    >>> skdb.k_, skdb.selected_, skdb.predict([["1", "0", "y"]]).tolist()
    (1, [0, 1], ['odd'])
    """

    saved_attributes = ("k_", "selected_")
    k_: int
    selected_: list[int]

    def __init__(
        self,
        *,
        k_max: int = 5,
        criterion: str = "squared",
        bias: Bias = "corrected",
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.k_max = k_max
        self.criterion = criterion
        self.bias = bias

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.skdb import skdb

        network, k, selected = skdb(counts, **self._arguments())
        return network, {"k_": k, "selected_": selected}


class Full(NetworkClassifier):
    """No independence assumptions: the joint table of nominal features, the quadratic discriminant of continuous ones.

    Parameters
    ----------
    shared : bool, default=False
        Whether the classes share one covariance matrix of the continuous features, which gives the linear discriminant.
    shrinkage : float or "ledoit-wolf", default=0.0
        The share by which covariances are shrunk to zero, from 0 to 1, or "ledoit-wolf".

    References
    ----------
    Sahami (1996), Learning limited dependence Bayesian classifiers, proposition 2; Ledoit and Wolf (2004), A well-conditioned
    estimator for large-dimensional covariance matrices.

    Examples
    --------
    Two numbers that are positively correlated in one class and negatively in the other:

    >>> from naivete import Encoder, Full
    >>> rows = [[0, 0.1], [1, 0.9], [2, 2.2], [3, 2.8], [0, 2.9], [1, 2.2], [2, 0.8], [3, 0.1]]
    >>> normal = Encoder(numbers="normal", kinds="numeric")
    >>> Full(encoder=normal).fit(rows, ["with"] * 4 + ["against"] * 4).predict([[0, 0], [0, 3]]).tolist()
    ['with', 'against']
    """

    densities = ("normal",)

    def __init__(
        self,
        *,
        shared: bool = False,
        shrinkage: Any = 0.0,
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.shared = shared
        self.shrinkage = shrinkage

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.full import full

        return full(counts, **self._arguments()), {}


class KNaive(NetworkClassifier):
    """Between naive Bayes and the full network: k features whose dependences cancel stay naive, the others are modelled jointly.

    Parameters
    ----------
    k : int or None, default=None
        How many features stay naive; by default the number whose dependences cancel best.
    strongly_naive : bool, default=False
        Whether naive features have no children either; otherwise they may be parents of the other features.
    max_parents : int or None, default=None
        How many features may be parents of a feature; by default any number.
    shared : bool, default=False
        Whether the classes share one covariance matrix of the continuous features, as for `Full`.
    shrinkage : float or "ledoit-wolf", default=0.0
        The share by which covariances are shrunk to zero, from 0 to 1, or "ledoit-wolf", as for `Full`.
    starts : int, default=32
        How often the local search starts, where there are too many features to find the best set exactly.
    random_state : int, RandomState instance or None, default=0
        The seed of these starts.

    Attributes
    ----------
    naive_ : list of int
        The positions of the naive features.
    weights_ : ndarray of shape (n_features,) or (n_classes - 1, n_features)
        The dependence derivative of every feature in bits; with more than two classes one row for each class but the first.
    weight_ : float
        The absolute sum of the derivatives of the naive features.
    exact_ : bool
        Whether no other set of that size has a smaller sum.

    References
    ----------
    Barrow (2011), A method for automatically generating network structure in Bayesian classifiers, section 2.2.

    Examples
    --------
    >>> from naivete import KNaive
    >>> rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]] * 5
    >>> model = KNaive(k=0).fit(rows, ["even", "odd", "odd", "even"] * 5)  # no naive feature: the full network
    >>> model.naive_, model.predict([["1", "0"]]).tolist()
    ([], ['odd'])
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
        strongly_naive: bool = False,
        max_parents: int | None = None,
        shared: bool = False,
        shrinkage: Any = 0.0,
        starts: int = 32,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        prior: Prior = None,
        calibration: str | None = None,
        class_weight: ClassWeight = None,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        super().__init__(
            smoothing=smoothing, prior=prior, calibration=calibration, class_weight=class_weight, encoder=encoder, budget=budget
        )
        self.k = k
        self.strongly_naive = strongly_naive
        self.max_parents = max_parents
        self.shared = shared
        self.shrinkage = shrinkage
        self.starts = starts
        self.random_state = random_state

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        from naivete.learners.knaive import knaive_choice, knaive_on

        chosen, weights = knaive_choice(counts, **self._arguments("strongly_naive", random_state=seed_of(self.random_state)))
        selection = ("k", "starts", "random_state")
        network = knaive_on(counts, chosen.features, **self._arguments(*selection))
        learned = {"naive_": list(chosen.features), "weights_": weights, "weight_": chosen.weight, "exact_": chosen.exact}
        return network, learned
