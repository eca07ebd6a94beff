"""Feature selection as transformers, for pipelines with any estimator of scikit-learn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from naivete.classifiers.default_encoder import DefaultEncoderMixin
from naivete.classifiers.documentation import complete_docstring
from naivete.classifiers.parameters import seed_of
from naivete.classifiers.table_input import TableInputMixin
from naivete.counts.budget import BUDGET
from naivete.counts.counts import Counts
from naivete.data.frames import as_array, is_frame
from naivete.data.table import Table
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, warn
from naivete.learners.info_as import info_selection
from naivete.learners.k2_as import k2_selection
from naivete.learners.naive_as import naive_selection
from naivete.network.smoothing import smoothing_of

__all__ = ["InfoSelector", "K2Selector", "NaiveSelector", "Selector"]


class Selector(DefaultEncoderMixin, TableInputMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that keeps the columns it has selected, in the order of the table and with their values unchanged.

    Numbers are discretized and values are counted as in the classifiers, but only to select. A `naivete.Table` stays one; other
    frames become arrays unless `set_output` asks for frames, as everywhere in scikit-learn.

    Parameters
    ----------
    encoder : how columns are encoded, an `Encoder`, as for `NetworkClassifier`.
    budget : the most bytes that the tables may take.

    Attributes
    ----------
    selected_ : the positions of the selected features, in the order in which they were selected.
    n_features_in_ : the number of columns seen in `fit`.
    feature_names_in_ : the names of these columns, where X has names that are strings.
    """

    selected_: list[int]
    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls, Selector)

    @abstractmethod
    def _selection(self, counts: Counts) -> list[int]:
        """Return the selected features, in the order in which they are selected."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select features by the information or accuracy on some cases.

        Parameters
        ----------
        X, y, sample_weight : as for `NetworkClassifier.fit`.
        """
        _, _, counts = self.training_counts(X, y, sample_weight)
        selected = self._selection(counts)
        validate_data(self, X, skip_check_array=True)
        if isinstance(X, Table) and all(isinstance(name, str) for name in X.names):
            self.feature_names_in_ = np.array(X.names, object)
        self.selected_ = selected
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X."""
        check_is_fitted(self)
        if isinstance(X, Table):
            return self._of_table(X)
        frames_wanted = _get_output_config("transform", estimator=self)["dense"] != "default"
        whole = validate_data(
            self,
            as_array(X) if isinstance(X, (list, tuple)) else X,
            reset=False,
            skip_check_array=frames_wanted and is_frame(X),
            dtype=None,
            accept_sparse=["csr", "csc"],
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
        )
        if not self.selected_:
            warn("no feature is selected; the next estimator has nothing to learn from", NaiveteWarning)
            if is_frame(whole) and not hasattr(whole, "iloc"):
                return np.empty((len(whole), 0))  # a polars frame without columns would lose its rows
        return _safe_indexing(whole, self.get_support(indices=True), axis=1)

    def _of_table(self, X: Table) -> Table:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            validate_data(self, X, reset=False, skip_check_array=True)
        known = X.names if names is None else names.tolist()
        return replace(X, columns=tuple(X[known[x]] for x in sorted(self.selected_)))

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return np.isin(np.arange(self.n_features_in_), self.selected_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "selected_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class InfoSelector(Selector):
    """Select the features with the most information about the class, given those already selected, as `InfoAS` does.

    Parameters
    ----------
    metric : "cig" (conditional information gain), "cgr" (gain ratio) or "cdc" (complement of the conditional distance).
    stopping_rule : "zero" selects while the metric is above zero; "chi2" also requires that the gain is significant at the level
        `alpha`.
    alpha : the significance level of stopping_rule="chi2".
    guided : "rises" or "stays" to require that a feature also increases, or does not reduce, the accuracy on half of the cases.
    backward : whether features are removed afterwards as long as that does not reduce the accuracy.
    random_state : the seed of the halves for `guided` and `backward`.

    Examples
    --------
    >>> rows = [["sun", "a", 1], ["sun", "b", 0], ["rain", "a", 0], ["rain", "b", 1]] * 5
    >>> selector = InfoSelector().fit(rows, ["out", "out", "in", "in"] * 5)
    >>> selector.selected_, selector.transform(rows[:2]).tolist()
    ([0], [['sun'], ['sun']])

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 4.
    """

    def __init__(
        self,
        *,
        metric: str = "cgr",
        stopping_rule: Literal["zero", "chi2"] = "zero",
        alpha: float = 0.05,
        guided: Literal["no", "rises", "stays"] = "no",
        backward: bool = False,
        random_state: Any = 0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.metric = metric
        self.stopping_rule = stopping_rule
        self.alpha = alpha
        self.guided = guided
        self.backward = backward
        self.random_state = random_state
        self.encoder = encoder
        self.budget = budget

    def _selection(self, counts: Counts) -> list[int]:
        return info_selection(
            counts,
            metric=self.metric,
            stopping_rule=self.stopping_rule,
            alpha=self.alpha,
            guided=self.guided,
            backward=self.backward,
            random_state=seed_of(self.random_state),
        )


class NaiveSelector(Selector):
    """Select the features that make naive Bayes most accurate on half of the cases, as `SelectiveNaive` does.

    Parameters
    ----------
    random_state : the seed of the halves: a whole number, a RandomState, or None for another one each time.
    smoothing : the smoothing of naive Bayes, as for `NetworkClassifier`.

    Examples
    --------
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> 0 in NaiveSelector().fit(rows, ["out", "out", "in", "in"] * 5).selected_
    True

    References
    ----------
    Langley and Sage (1994), Induction of selective Bayesian classifiers.
    """

    def __init__(
        self, *, random_state: Any = 0, smoothing: Any = 1.0, encoder: Encoder | None = None, budget: int = BUDGET
    ) -> None:
        self.random_state = random_state
        self.smoothing = smoothing
        self.encoder = encoder
        self.budget = budget

    def _selection(self, counts: Counts) -> list[int]:
        smoothing_of(self.smoothing)
        return naive_selection(counts, random_state=seed_of(self.random_state), smoothing=self.smoothing)


class K2Selector(Selector):
    """Select the features with which K2 is most accurate on half of the cases, as `K2AS` does.

    Parameters
    ----------
    accept_ties : whether a feature that leaves the accuracy the same is selected too: K2-AS<=.
    criterion, max_parents : as for `K2`, for the networks of the selection.
    random_state : the seed of the halves: a whole number, a RandomState, or None for another one each time.
    smoothing : the smoothing of these networks, as for `NetworkClassifier`.

    Examples
    --------
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> K2Selector().fit(rows, ["out", "out", "in", "in"] * 5).selected_
    [0]

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 3.
    """

    def __init__(
        self,
        *,
        accept_ties: bool = False,
        criterion: Any = "k2",
        max_parents: int | None = None,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.accept_ties = accept_ties
        self.criterion = criterion
        self.max_parents = max_parents
        self.random_state = random_state
        self.smoothing = smoothing
        self.encoder = encoder
        self.budget = budget

    def _selection(self, counts: Counts) -> list[int]:
        smoothing_of(self.smoothing)
        return k2_selection(
            counts,
            accept_ties=self.accept_ties,
            criterion=self.criterion,
            max_parents=self.max_parents,
            random_state=seed_of(self.random_state),
            smoothing=self.smoothing,
        )
