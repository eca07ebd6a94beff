"""The scikit-learn shell around the learners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError as SklearnNotFitted
from sklearn.utils.validation import check_array

from naivete.cases import Block, MemoryCases
from naivete.counts import BUDGET, Counts
from naivete.encoding import Encoded, Encoder, encode
from naivete.errors import (
    DataError,
    DataTypeError,
    ImpossibleEvidenceWarning,
    NaiveteError,
    ParameterError,
    ResourceError,
    nearest,
    shown,
    warn,
)
from naivete.estimation import smoothing_of
from naivete.frames import as_array, is_frame, table_of
from naivete.inference import Predictor, largest
from naivete.information import arc_information, relevance
from naivete.labels import class_name, classes_of, label_values, usable, weights
from naivete.learners import kdb, lookup, majority, naive, tan
from naivete.learners.kdb import chosen
from naivete.network import Network
from naivete.table import Table
from naivete.variables import Name, Variable

SMALL_RANGE = 1 << 16

__all__ = ["KDB", "TAN", "Answers", "Lookup", "Majority", "NaiveBayes", "NetworkClassifier", "NotFittedError"]


class NotFittedError(NaiveteError, SklearnNotFitted):  # type: ignore[misc]
    """The classifier was asked for an answer before it was fitted."""


class Answers(NamedTuple):
    """P(class | row), and which rows no class could have produced."""

    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


class NetworkClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that is a Bayesian network learned from counts.

    Parameters
    ----------
    smoothing : pseudo-count added to every cell of the tables (Lidstone; 1 is Laplace's rule, 0 maximum likelihood), or one of
        "m-estimate", "friedman", "clark-niblett", "backoff", perhaps with a number as in "m-estimate:3".
    prior : P(c) for every class in the order of `classes_`; by default the relative frequencies.
    encoder : how columns become states, an `Encoder`; by default text, categories, booleans and whole numbers with few values
        are nominal, other numbers are cut by the minimum description length principle, missing and unseen values are
        marginalised.
    budget : the most bytes the tables may take; more is refused before anything is allocated.

    Attributes
    ----------
    network_ : the `Network`.
    classes_ : the class labels.
    n_features_in_, feature_names_in_ : the columns seen in fit.
    passes_ : how often `fit` went over the rows; 0 for a classifier that was loaded.
    relevance_ : I(X; C) of every feature, in bits.
    arc_information_ : I(X; Y | C) of every arc between features that was weighed, in bits, by (parent, child).
    """

    network_: Network
    classes_: NDArray[Any]
    n_features_in_: int
    passes_: int
    relevance_: NDArray[np.float64]
    arc_information_: dict[tuple[int, int], float]
    _framed: bool
    _predictor: Predictor
    _warns = True

    def __init__(
        self, *, smoothing: Any = 1.0, prior: Sequence[float] | None = None, encoder: Encoder | None = None, budget: int = BUDGET
    ) -> None:
        self.smoothing = smoothing
        self.prior = prior
        self.encoder = encoder
        self.budget = budget

    @abstractmethod
    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        """The network, and what else was learned on the way, by the name of its attribute."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from cases.

        Parameters
        ----------
        X : the features: a data frame (pandas, polars, pyarrow), array, list of rows, sparse matrix, or `naivete.Table`.
        y : the class of every row; missing ones are refused.
        sample_weight : the weight of every row; a weight of two is the row twice, a weight of zero its absence.
        """
        encoder = self._encoder()
        smoothing_of(self.smoothing)
        _check_budget(self.budget)
        table = table_of(self._checked(X, rows=1))
        _check_size(table)
        table, values, weight = usable(
            table,
            label_values(y, len(table)),
            weights(table.weight if sample_weight is None else sample_weight, len(table)),
            encoder.unlabelled,
        )
        classes, labels = classes_of(values)
        features = encoder.schema(table, labels, len(classes), weight)
        target = Variable(class_name(y, table.names), tuple(classes.tolist()))
        encoded = encode(table, features, unseen=encoder.unseen)
        block = Block((*encoded.codes, labels), weight)
        counts = Counts(MemoryCases((*features, target), block, encoded.gaps), budget=self.budget)
        try:
            network, learned = self._learn(counts)
        except MemoryError as error:
            if isinstance(error, ResourceError):
                raise
            raise ResourceError(f"the machine has no memory left: {error}") from error
        relevant, arcs = relevance(counts), arc_information(counts, network.arcs)
        known = {"passes_": counts.passes, "relevance_": relevant, "arc_information_": arcs, **learned}
        return self._adopt(network, classes, is_frame(X), known)

    def _adopt(self, network: Network, classes: NDArray[Any], framed: bool, known: dict[str, Any]) -> Self:
        """Become the classifier of this network; all at once, so that an interrupted fit leaves the earlier one whole."""
        names = [v.name for v in network.variables[:-1]]
        own = {"network_": network, "classes_": classes, "n_features_in_": len(names), "_framed": framed}
        if framed and all(isinstance(name, str) for name in names):
            own["feature_names_in_"] = np.array(names, object)
        kept = {key: value for key, value in self.__dict__.items() if not key.endswith("_")}
        self.__dict__ = {**kept, **own, **known, "_predictor": Predictor(network)}
        return self

    def _encoder(self) -> Encoder:
        encoder = Encoder() if self.encoder is None else self.encoder
        if not isinstance(encoder, Encoder):
            raise ParameterError(f"encoder={shown(encoder)}: pass a naivete.Encoder or None")
        encoder.check()
        return encoder

    def _checked(self, X: Any, *, rows: int) -> Any:
        """X, refused by scikit-learn's rules for arrays unless it is a frame, which has columns to be judged one by one."""
        if is_frame(X):
            return X
        rows_of_values = as_array(X) if isinstance(X, (list, tuple)) else X  # text and numbers stay what they are
        try:
            return check_array(
                rows_of_values,
                accept_sparse=["csr", "csc"],
                dtype=None,
                ensure_all_finite=False,  # infinity is refused with its column and row
                ensure_min_samples=rows,
                estimator=self,
            )
        except ValueError as error:
            raise DataError(str(error)) from error
        except TypeError as error:
            raise DataTypeError(str(error)) from error

    def _matched(self, X: Any) -> Table:
        """X as a table under the names seen in fit; where either side has no names, the columns are matched by position."""
        framed = is_frame(X)
        only = {v.name for v in self.network_.variables[:-1]} if framed and self._framed else None
        table = table_of(self._checked(X, rows=0), only=only)
        if framed and self._framed:
            return table
        if len(table.columns) != self.n_features_in_:
            raise DataError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )
        if framed != self._framed:
            here, there = ("has feature names", "without") if framed else ("does not have valid feature names", "with")
            warn(
                f"X {here}, but {type(self).__name__} was fitted {there} feature names; the columns are matched by position",
                UserWarning,
            )
        return table.renamed([v.name for v in self.network_.variables[:-1]])

    def answers(self, X: Any, *, unseen: Literal["marginalise", "smooth", "error"] | None = None) -> Answers:
        """The posterior of every row, and the rows that are impossible in every class and answered by the documented rule.

        Parameters
        ----------
        X : the rows.
        unseen : what values that did not occur in training get; by default what the encoder says.
        """
        encoded = self._encoded(X, unseen)
        posterior, impossible = self._predictor.posterior(encoded.codes, encoded.gaps)
        return Answers(posterior, impossible if self._warns else impossible[:0])

    def _posterior(self, X: Any) -> NDArray[np.float64]:
        posterior, impossible = self.answers(X)
        if len(impossible):
            warn(
                f"{len(impossible)} rows have probability zero in every class (the first is row {impossible[0] + 1}); they are "
                "answered by the prior of the classes with the fewest impossible factors; smoothing above 0 avoids this",
                ImpossibleEvidenceWarning,
            )
        return posterior

    def _encoded(self, X: Any, unseen: str | None = None) -> Encoded:
        if not hasattr(self, "network_"):
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet; call 'fit' first")
        return encode(self._matched(X), self.network_.variables[:-1], unseen=unseen or self._encoder().unseen)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of every row, the first of equals."""
        posterior = self._posterior(X)
        return self.classes_[largest(posterior)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """P(class | row), exact also where values are missing.  # (row, class)"""
        return self._posterior(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(class | row).  # (row, class)"""
        with np.errstate(divide="ignore"):
            return np.log(self._posterior(X))

    def predict_joint_log_proba(self, X: Any) -> NDArray[np.float64]:
        """log P(row, class), missing values summed out.  # (row, class)"""
        encoded = self._encoded(X)
        return self._predictor.joint(encoded.codes, encoded.gaps)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _repr_html_(self) -> str:
        """The network drawn, once there is one; before that, what scikit-learn shows of the parameters."""
        if not hasattr(self, "network_"):
            return str(super()._repr_html_inner())
        from naivete.drawing import svg

        return svg(self.network_, information=self.information_, title=repr(self))

    @property
    def information_(self) -> dict[Any, float]:
        """I(X; C) by feature and I(X; Y | C) by arc (parent, child), in bits, as drawings show them."""
        return {**{x: float(bits) for x, bits in enumerate(self.relevance_)}, **self.arc_information_}

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_predictor"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" in state:
            self._predictor = Predictor(self.network_)


def _check_budget(budget: object) -> None:
    if not isinstance(budget, (int, np.integer)) or isinstance(budget, bool) or budget <= 0:
        raise ParameterError(f"budget={shown(budget)}: a number of bytes, at least 1")


def _check_size(table: Table) -> None:
    if not len(table):
        raise DataError(f"{table.source}: found 0 sample(s) (shape=(0, {len(table.columns)})) while a minimum of 1 is required")
    if not table.columns:
        raise DataError(f"{table.source}: found 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required")


class Majority(NetworkClassifier):
    """Answers with the most frequent class: what any other classifier has to beat.

    >>> Majority().fit([["a"], ["b"], ["b"]], ["no", "yes", "yes"]).predict([["a"]]).tolist()
    ['yes']
    """

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

    def _learn(self, counts: Counts) -> tuple[Network, dict[str, Any]]:
        return naive(counts, smoothing=self.smoothing, prior=self.prior), {}


class TAN(NetworkClassifier):
    """Tree augmented naive Bayes: every feature depends on the class and on at most one other feature, chosen optimally.

    Parameters
    ----------
    root : the feature at the root of the tree, by name or position; by default the one that tells most about the class.
    smoothing, prior, encoder, budget : as for `NetworkClassifier`.
    """

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
            close = nearest(root, names)
            raise ParameterError(
                f"root={shown(root)}: there is no such feature" + (f"; did you mean {close[0]!r}?" if close else "")
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
        k, theta = chosen(counts, k=self.k, theta=self.theta, k_max=self.k_max, **common)
        return kdb(counts, k=k, theta=theta, **common), {"k_": k, "theta_": theta}
