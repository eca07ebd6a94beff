"""The ways of selecting features as transformers, to stand before any estimator of scikit-learn."""

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

from naivete.classifiers.parameters import seed_of
from naivete.classifiers.table_input import TableInputMixin
from naivete.counts.counts import BUDGET, Counts
from naivete.counts.scores import score_of
from naivete.data.frames import as_array, is_frame
from naivete.data.table import Table
from naivete.encoding.encoder import Encoder
from naivete.errors import NaiveteWarning, warn
from naivete.learners.info_as import info_selection
from naivete.learners.k2_as import k2_selection
from naivete.learners.naive_as import naive_selection
from naivete.network.estimation import smoothing_of

__all__ = ["InfoSelector", "K2Selector", "NaiveSelector", "Selector"]


class Selector(TableInputMixin, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that keeps the columns it has selected, in the order of the table and with the values they have.

    Numbers are cut and values are counted as the classifiers do, only to select; what comes out is what went in. A
    `naivete.Table` stays one, other frames become arrays unless `set_output` asks for frames, as scikit-learn has it.

    Parameters
    ----------
    encoder : how columns become states, an `Encoder`, as for `NetworkClassifier`.
    budget : the most bytes the tables may take.

    Attributes
    ----------
    selected_ : the positions of the selected features, in the order they entered.
    n_features_in_, feature_names_in_ : the columns seen in fit.
    """

    selected_: list[int]
    n_features_in_: int

    @abstractmethod
    def _selection(self, counts: Counts) -> list[int]:
        """The selected features, in the order they enter."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Select from cases.

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
        """The selected columns of X."""
        check_is_fitted(self)
        if isinstance(X, Table):
            return self._of_table(X)
        asked = _get_output_config("transform", estimator=self)["dense"] != "default"
        whole = validate_data(
            self,
            as_array(X) if isinstance(X, (list, tuple)) else X,
            reset=False,
            skip_check_array=asked and is_frame(X),
            dtype=None,
            accept_sparse=["csr", "csc"],
            ensure_all_finite=not get_tags(self).input_tags.allow_nan,
        )
        if not self.selected_:
            warn("no feature is selected; what follows has nothing to learn from", NaiveteWarning)
            if is_frame(whole) and not hasattr(whole, "iloc"):
                return np.empty((len(whole), 0))  # a frame of polars without columns would forget its rows
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
    """Keeps the features that tell most about the class beyond those already selected: the first half of `InfoAS`.

    Parameters
    ----------
    metric : "cig" (conditional information gain), "cgr" (gain ratio) or "cdc" (complement of the conditional distance).
    stop : "zero" goes on while the metric is above zero; "chi2" also asks that the gain is significant at the level `alpha`.
    alpha : the level of stop="chi2".
    guided : "rises" or "stays" to ask that a feature also raises, or does not lower, the accuracy on half of the cases.
    backward : whether features are taken away again afterwards as long as that does not lower the accuracy.
    random_state : the seed of the halves for `guided` and `backward`.
    encoder, budget : as for `Selector`.

    >>> rows = [["sun", "a", 1], ["sun", "b", 0], ["rain", "a", 0], ["rain", "b", 1]] * 5
    >>> selector = InfoSelector().fit(rows, ["out", "out", "in", "in"] * 5)
    >>> selector.selected_, selector.transform(rows[:2]).tolist()
    ([0], [['sun'], ['sun']])
    """

    def __init__(
        self,
        *,
        metric: str = "cgr",
        stop: Literal["zero", "chi2"] = "zero",
        alpha: float = 0.05,
        guided: Literal["no", "rises", "stays"] = "no",
        backward: bool = False,
        random_state: Any = 0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.metric = metric
        self.stop = stop
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
            stop=self.stop,
            alpha=self.alpha,
            guided=self.guided,
            backward=self.backward,
            random_state=seed_of(self.random_state),
        )


class NaiveSelector(Selector):
    """Keeps the features that make naive Bayes most accurate on a half of the cases: the first half of `SelectiveNaive`.

    Parameters
    ----------
    random_state : the seed of the halves.
    smoothing : that of naive Bayes, as for `NetworkClassifier`.
    encoder, budget : as for `Selector`.
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
    """Keeps the features with which K2 is most accurate on a half of the cases: the first half of `K2AS`.

    Parameters
    ----------
    equal : whether a feature that changes nothing is selected too: K2-AS<=.
    criterion, max_parents : as for `K2`, of the networks on the way.
    random_state : the seed of the halves.
    smoothing : that of the networks, as for `NetworkClassifier`.
    encoder, budget : as for `Selector`.
    """

    def __init__(
        self,
        *,
        equal: bool = False,
        criterion: Any = "k2",
        max_parents: int | None = None,
        random_state: Any = 0,
        smoothing: Any = 1.0,
        encoder: Encoder | None = None,
        budget: int = BUDGET,
    ) -> None:
        self.equal = equal
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
            equal=self.equal,
            score=score_of(self.criterion, "criterion"),
            max_parents=self.max_parents,
            random_state=seed_of(self.random_state),
            smoothing=self.smoothing,
        )
