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
    encoder : Encoder or None, default=None
        How columns are encoded, as for `NetworkClassifier`.
    budget : int, default=2147483648
        The most bytes that the tables may take, by default 2 GiB.

    Attributes
    ----------
    selected_ : list of int
        The positions of the selected features, in the order in which they were selected.
    n_features_in_ : int
        The number of columns seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of these columns, where X has names that are strings.
    """

    selected_: list[int]
    n_features_in_: int

    def __init_subclass__(cls, **options: Any) -> None:
        complete_docstring(cls, Selector)
        super().__init_subclass__(**options)

    @abstractmethod
    def _selection(self, counts: Counts) -> list[int]:
        """Return the selected features, in the order in which they are selected."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select features by the information or accuracy on some cases.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The features, as for `NetworkClassifier.fit`.
        y : array-like of shape (n_rows,), default=None
            The class of every row; it is required.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            The weight of every row.

        Returns
        -------
        self : Selector
            The fitted selector.
        """
        _, _, counts = self.training_counts(X, y, sample_weight)
        selected = self._selection(counts)
        validate_data(self, X, skip_check_array=True)
        if isinstance(X, Table) and all(isinstance(name, str) for name in X.names):
            self.feature_names_in_ = np.array(X.names, object)
        self.selected_ = selected
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows, with the columns seen in `fit`.

        Returns
        -------
        array, sparse matrix, data frame or Table of shape (n_rows, n_selected)
            The selected columns with their values unchanged, in the order of the table.

        Warns
        -----
        NaiveteWarning
            If no feature is selected.
        """
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
    metric : {"cig", "cgr", "cdc"}, default="cgr"
        "cig" (conditional information gain), "cgr" (gain ratio) or "cdc" (complement of the conditional distance).
    stopping_rule : {"zero", "chi2"}, default="zero"
        "zero" selects while the metric is above zero; "chi2" also requires that the gain is significant at the level `alpha`.
    alpha : float, default=0.05
        The significance level of stopping_rule="chi2".
    guided : {"no", "rises", "stays"}, default="no"
        "rises" or "stays" to require that a feature also increases, or does not reduce, the accuracy on half of the cases; "no" to
        require nothing more.
    backward : bool, default=False
        Whether features are removed afterwards as long as that does not reduce the accuracy.
    random_state : int, RandomState instance or None, default=0
        The seed of the halves for `guided` and `backward`.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 4.

    Examples
    --------
    >>> from naivete import InfoSelector
    >>> rows = [["sun", "a", 1], ["sun", "b", 0], ["rain", "a", 0], ["rain", "b", 1]] * 5
    >>> selector = InfoSelector().fit(rows, ["out", "out", "in", "in"] * 5)
    >>> selector.selected_, selector.transform(rows[:2]).tolist()
    ([0], [['sun'], ['sun']])
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
    random_state : int, RandomState instance or None, default=0
        The seed of the halves: a whole number, a RandomState, or None for another one each time.
    smoothing : float, str or smoothing method, default=1.0
        The smoothing of naive Bayes, as for `NetworkClassifier`.

    References
    ----------
    Langley and Sage (1994), Induction of selective Bayesian classifiers.

    Examples
    --------
    >>> from naivete import NaiveSelector
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> 0 in NaiveSelector().fit(rows, ["out", "out", "in", "in"] * 5).selected_
    True
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
    accept_ties : bool, default=False
        Whether a feature that leaves the accuracy the same is selected too: K2-AS<=.
    criterion : {"k2", "bdeu", "bic", "aic"}, str or callable, default="k2"
        The score of families, as for `K2`, for the networks of the selection.
    max_parents : int or None, default=None
        How many parents a variable of these networks may have; by default any number.
    random_state : int, RandomState instance or None, default=0
        The seed of the halves: a whole number, a RandomState, or None for another one each time.
    smoothing : float, str or smoothing method, default=1.0
        The smoothing of these networks, as for `NetworkClassifier`.

    References
    ----------
    Singh and Provan (1995), Efficient learning of selective Bayesian network classifiers, section 3.

    Examples
    --------
    >>> from naivete import K2Selector
    >>> rows = [["sun", "a"], ["sun", "b"], ["rain", "a"], ["rain", "b"]] * 5
    >>> K2Selector().fit(rows, ["out", "out", "in", "in"] * 5).selected_
    [0]
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
