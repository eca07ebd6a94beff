"""Decisions by expected loss, with a reject option, biases or thresholds, for any classifier with posterior probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from naivete._kernels.codes import Numbers
from naivete.classifiers.losses import Loss, finite, zero_one
from naivete.classifiers.not_fitted import NotFittedError
from naivete.data.labels import checked_weights, label_values
from naivete.errors import DataError, ParameterError, did_you_mean, quoted

__all__ = ["LossAware", "above_thresholds", "biased"]

PerClass = Mapping[Any, float] | Sequence[float] | NDArray[Any] | float


class LossAware(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decide by expected loss, by biases or by thresholds; the posterior probabilities of the classifier are not changed.

    At most one of `loss`, `biases` and `thresholds` is given; without any, every wrong decision costs one.

    - loss: the decision d with the smallest sum over c of P(c | row) loss[d, c]; on a tie, the first class.
    - reject: a row is rejected where rejecting costs no more than the expected loss of the best class. If wrong decisions cost
      one, these are the rows whose most probable class has P <= 1 - reject (Chow's rule).
    - biases: the class with the largest P(c | row) + b_c.
    - thresholds: the most probable of the classes with P(c | row) > t_c; where there is none, the most probable of the classes
      without a threshold, or of all classes where each has one.

    Parameters
    ----------
    classifier : classifier with `predict_proba`
        The classifier. `fit` fits a copy of it. A fitted classifier can be used without `fit`; scikit-learn's `FrozenEstimator`
        prevents that it is fitted again.
    loss : Loss, array-like, dict, callable or None, default=None
        A `Loss`, an array (decided, true) in the order of the sorted labels, a mapping from (decided, true) to costs, or a function
        from labels to a `Loss`, such as `zero_one`. Labels of a `Loss` that did not occur in training are ignored.
    reject : float or None, default=None
        The cost of deciding for no class; replaces the reject row of the loss, if it has one.
    reject_label : object, default=None
        What `predict` returns for a rejected row; `fit` refuses a class label.
    biases : dict, sequence of float or None, default=None
        The bias b_c of each class by label (others 0), or one for each class in the order of the sorted labels.
    thresholds : dict, sequence of float, float or None, default=None
        The threshold t_c of each class by label, or one for each class in the order of the sorted labels, or one number for all.

    Attributes
    ----------
    classifier_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        Its class labels.

    References
    ----------
    Jensen and Nielsen (2007), Bayesian networks and decision graphs, section 8.1 (losses); Chow (1970), On optimum recognition
    error and reject tradeoff; Elkan (2001), The foundations of cost-sensitive learning; Barrow (2011), A method for automatically
    generating network structure in Bayesian classifiers, section 2.1 (biases).

    Examples
    --------
    >>> from naivete import LossAware, NaiveBayes
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], ["no", "yes", "yes", "yes"]
    >>> careful = LossAware(NaiveBayes(smoothing=0), loss=[[0, 1], [5, 0]]).fit(X, y)  # a wrong "yes" costs 5
    >>> careful.predict_proba([["a"]]).round(2).tolist(), careful.expected_loss([["a"]]).round(2).tolist()
    ([[0.5, 0.5]], [[0.5, 2.5]])
    >>> careful.predict([["a"], ["b"]]).tolist()
    ['no', 'yes']
    >>> LossAware(NaiveBayes(smoothing=0), reject=0.25).fit(X, y).predict([["a"], ["b"]]).tolist()
    [None, 'yes']
    """

    classifier_: Any

    def __init__(
        self,
        classifier: Any,
        *,
        loss: Loss | ArrayLike | Callable[[Any], Loss] | None = None,
        reject: float | None = None,
        reject_label: Any = None,
        biases: PerClass | None = None,
        thresholds: PerClass | None = None,
    ) -> None:
        self.classifier = classifier
        self.loss = loss
        self.reject = reject
        self.reject_label = reject_label
        self.biases = biases
        self.thresholds = thresholds

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a copy of the classifier, with the weights.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            The class of every row.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row.

        Returns
        -------
        self : LossAware
            The fitted estimator.
        """
        self._check_parameters()
        if not hasattr(self.classifier, "fit") or not hasattr(self.classifier, "predict_proba"):
            raise ParameterError(f"classifier={quoted(self.classifier)}: pass a classifier with fit and predict_proba")
        if sample_weight is not None and not has_fit_parameter(self.classifier, "sample_weight"):
            raise ParameterError(
                f"{type(self.classifier).__name__} takes no sample_weight; leave it out or take another classifier"
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted = clone(self.classifier).fit(X, y, **weights)
        self._rule(fitted.classes_)
        self.classifier_ = fitted
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the decision for every row: a class, or `reject_label` where the row is rejected.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The decisions: an array of the type of the labels, or of objects if `reject_label` is of another type.
        """
        labels = np.asarray(self._fitted().classes_)
        rule, rejects = self._rule(labels)
        decided = rule(self.predict_proba(X))
        if not rejects:
            return np.asarray(labels[decided])
        return _with_reject_label(labels, self.reject_label)[decided]

    def predict_proba(self, X: Any) -> Numbers:
        """Return P(class | row) of the classifier.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The posterior probabilities.
        """
        posterior = self._fitted().predict_proba(X)
        return np.asarray(posterior, np.float64)

    def predict_log_proba(self, X: Any) -> Numbers:
        """Return log P(class | row) of the classifier.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The natural logarithms of the posterior probabilities.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def expected_loss(self, X: Any) -> Numbers:
        """Return the expected loss of every decision; the last column is that of rejecting, if possible.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_decisions)
            The expected losses, in the order of `classes_`.
        """
        loss = self._loss(self._fitted().classes_)
        if loss is None:
            raise ParameterError("biases and thresholds have no losses; pass loss= to get the expected loss of decisions")
        return loss.expected(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows with a correct decision; a rejected row is not correct.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            The true class of every row.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row.

        Returns
        -------
        float
            The share of the rows, weighted by `sample_weight`.
        """
        decided = self.predict(X)
        if not len(decided):
            raise DataError("X has no rows; a score needs at least one")
        correct = decided.astype(object) == label_values(y, len(decided)).astype(object)
        return float(np.average(correct, weights=checked_weights(sample_weight, len(correct))))

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels."""
        return np.asarray(self._attribute("classes_"))

    @property
    def n_features_in_(self) -> int:
        """The number of features seen in `fit`."""
        return int(self._attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the features seen in `fit`, where they had names."""
        return np.asarray(self._attribute("feature_names_in_"))

    def _attribute(self, name: str) -> Any:
        return getattr(getattr(self, "classifier_", self.classifier), name)

    def _fitted(self) -> Any:
        """Return the copy that was fitted here, or the given classifier if that is fitted."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} instance is not fitted yet; call 'fit' first")
        return getattr(self, "classifier_", self.classifier)

    def __sklearn_is_fitted__(self) -> bool:
        if hasattr(self, "classifier_"):
            return True
        try:
            check_is_fitted(self.classifier)
        except (ValueError, TypeError):  # scikit-learn's NotFittedError is a ValueError
            return False
        return True

    def _check_parameters(self) -> None:
        rules = [name for name in ("loss", "biases", "thresholds") if getattr(self, name) is not None]
        if len(rules) > 1:
            raise ParameterError(f"{' and '.join(rules)} are different ways to decide; pass one of them")
        if self.reject is not None and rules not in ([], ["loss"]):
            raise ParameterError(f"reject is a cost, which {rules[0]} do not use; pass reject with a loss, or alone")

    def _loss(self, classes: NDArray[Any]) -> Loss | None:
        """Return the loss for these classes, or None where biases or thresholds decide."""
        if self.biases is not None or self.thresholds is not None:
            return None
        costs = zero_one if self.loss is None else self.loss
        costs = costs(classes) if callable(costs) else costs
        loss = costs.aligned(classes) if isinstance(costs, Loss) else Loss.of(costs, classes)
        return loss if self.reject is None else loss.with_reject(self.reject)

    def _rule(self, classes: NDArray[Any]) -> tuple[Callable[[Numbers], NDArray[np.int64]], bool]:
        """Return a function from posteriors to the positions of the decisions, and whether one of the decisions is to reject."""
        self._check_parameters()
        if (loss := self._loss(classes)) is not None:
            if loss.rejects:
                _check_reject_label(classes, self.reject_label)
            return loss.decide, loss.rejects
        if self.biases is not None:
            return partial(biased, biases=_per_class(self.biases, classes, "biases", others=0.0)), False
        thresholds = _per_class(self.thresholds, classes, "thresholds", others=np.nan)
        return partial(above_thresholds, thresholds=thresholds), False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.classifier, "fit"):
            inner = get_tags(self.classifier)
            tags.input_tags = inner.input_tags
            tags.classifier_tags = inner.classifier_tags
            tags.non_deterministic = inner.non_deterministic
        return tags


def biased(posterior: ArrayLike, biases: ArrayLike) -> NDArray[np.int64]:
    """Return the position of the class with the largest P(c | row) + b_c; on a tie, the first.

    >>> biased([[0.625, 0.375], [0.75, 0.25]], [0, 0.25 + 0.125]).tolist()
    [1, 0]
    """
    return np.asarray((finite(np.asarray(posterior, np.float64)) + np.asarray(biases)).argmax(axis=1), np.int64)


def above_thresholds(posterior: ArrayLike, thresholds: ArrayLike) -> NDArray[np.int64]:
    """Return the position of the most probable class above its threshold, else of those without one (nan), else of all.

    >>> above_thresholds([[0.75, 0.25], [0.875, 0.125]], [np.nan, 0.2]).tolist()
    [1, 0]
    """
    probabilities, limits = finite(np.asarray(posterior, np.float64)), np.asarray(thresholds, np.float64)
    unlimited = np.isnan(limits)
    above = np.asarray(probabilities > limits)  # False where there is no threshold
    fallback = unlimited if unlimited.any() else np.ones(len(limits), bool)
    allowed = np.where(above.any(axis=1, keepdims=True), above, fallback)
    return np.asarray(np.where(allowed, probabilities, -1.0).argmax(axis=1), np.int64)


def _check_reject_label(labels: NDArray[Any], reject_label: Any) -> None:
    if not isinstance(reject_label, Hashable):
        raise ParameterError(
            f"reject_label={quoted(reject_label)}: it takes the place of a label, so it must be one hashable value"
        )
    if reject_label in labels.tolist():
        raise ParameterError(f"reject_label={quoted(reject_label)} is a class; choose a value that is not")


def _with_reject_label(labels: NDArray[Any], reject_label: Any) -> NDArray[Any]:
    """Return the labels followed by the reject label, in the type of the labels where it fits both."""
    last = np.asarray(reject_label)
    if last.ndim == 0 and last.dtype.kind == labels.dtype.kind:
        return np.append(labels, last)
    decisions = np.empty(len(labels) + 1, object)
    decisions[:-1], decisions[-1] = labels, reject_label
    return decisions


def _per_class(values: PerClass | None, classes: NDArray[Any], name: str, others: float) -> Numbers:
    """Return one number for each class."""
    labels = classes.tolist()
    if not isinstance(values, Mapping):
        numbers = _finite(values, name)
        if numbers.shape != (len(labels),) and (numbers.ndim or name == "biases"):
            raise ParameterError(f"{name}={quoted(values)}: {len(labels)} classes need as many numbers, or pass a mapping by label")
        return np.broadcast_to(numbers, len(labels))
    unknown = [label for label in values if label not in labels]
    if unknown:
        hint = did_you_mean(unknown[0], labels, "the classes are", count=3)
        raise ParameterError(f"{name}: there is no class {quoted(unknown[0])}; {hint}")
    numbers = np.full(len(labels), others)
    numbers[[labels.index(label) for label in values]] = _finite(list(values.values()), name)
    return numbers


def _finite(values: Any, name: str) -> Numbers:
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise ParameterError(f"{name}={quoted(values)}: finite numbers are needed, one for each class")
    return numbers
