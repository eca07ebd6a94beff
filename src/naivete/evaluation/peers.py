"""Classifiers of scikit-learn for comparisons, each with the encoding of the columns that it needs.

They have scikit-learn's default parameters and fixed random seeds, and use one thread. Encodings are learned in `fit`, from the
training rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.data.frames import table_of
from naivete.data.table import Column, Table
from naivete.errors import DataError
from naivete.variables import Name, State

__all__ = [
    "RECIPES",
    "HistBoosting",
    "IntervalNaiveBayes",
    "Peer",
    "forest",
    "hist_boosting",
    "logistic",
    "naive_bayes",
    "one_hot",
    "tree",
]

SEED: Final = 1
"""The seed of the random choices of all classifiers here."""
BINS: Final = 10
"""The number of intervals of a numeric column for `sk:nb`."""
CATEGORIES: Final = 255
"""The most values of a column that histogram gradient boosting treats as categories."""


class Peer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of scikit-learn that takes the rows of a table, for comparisons.

    Texts and other nominal values are encoded by their codes or by one-hot codes, and missing values as each classifier needs it.
    Values that do not occur in training are missing values. A column without a value in training is left out; where there is one
    class or no column, the class frequencies are predicted.

    Parameters
    ----------
    word : the name of the classifier, one of `RECIPES`.
    """

    classes_: NDArray[Any]
    states_: dict[Name, dict[State, int] | None]
    shares_: Numbers
    model_: Any

    def __init__(self, word: str) -> None:
        self.word = word

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels."""
        table = table_of(X)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        self.states_ = {column.name: _states(column) for column in table.columns if _has_values(column)}
        nominal = np.array([states is not None for states in self.states_.values()])
        self.model_ = None
        if len(self.classes_) == 1 or not self.states_:
            self.shares_ = np.bincount(labels, sample_weight, len(self.classes_)) / np.bincount(labels, sample_weight).sum()
            return self
        model = RECIPES[self.word](nominal)
        weighted = {} if sample_weight is None else {_weight_parameter(model): sample_weight}
        self.load()
        try:
            with _one_thread():
                self.model_ = model.fit(self._matrix(table), labels, **weighted)
        except ValueError as error:
            raise DataError(f"{self.word}: scikit-learn: {error}") from error
        return self

    def predict_proba(self, X: Any) -> Numbers:
        """Return P(class | row).  # (row, class)"""
        table = table_of(X)
        if self.model_ is None:
            return np.repeat(self.shares_[None], len(table), axis=0)
        with _one_thread():
            return np.asarray(self.model_.predict_proba(self._matrix(table)))

    def load(self) -> None:
        """Import the modules of scikit-learn that `fit` needs, so that this is no part of the time that it takes."""
        for module in _MODULES[self.word]:
            import_module(f"sklearn.{module}")

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of every row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _matrix(self, table: Table) -> Numbers:
        """Return the rows as numbers: codes of nominal values, nan where a value is missing.  # (row, column)"""
        matrix = np.empty((len(table), len(self.states_)))
        for j, (name, states) in enumerate(self.states_.items()):
            matrix[:, j] = _numbers(table[name]) if states is None else _codes(table[name], states)
        return matrix


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let the body use one thread of OpenMP and of linear algebra.

    Threads of OpenMP that wait for each other keep processors busy. Where other programs use these, histogram gradient boosting
    with two threads took 4 to 15 seconds for 20,000 rows, and .5 seconds with one. The modules that it uses have to be imported.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _has_values(column: Column) -> bool:
    missing = column.values < 0 if column.states is not None else column.values != column.values
    return not missing.all()


def _states(column: Column) -> dict[State, int] | None:
    """Return the codes of the values that occur in a nominal column, None for a column of numbers."""
    if column.states is None and column.kind != "nominal":
        return None
    values = [value for value in dict.fromkeys(column) if value is not None]
    return {value: code for code, value in enumerate(sorted(values, key=lambda v: (str(type(v)), v)))}


def _codes(column: Column, states: Mapping[State, int]) -> Numbers:
    if column.states is not None:
        codes = np.array([*(states.get(value, np.nan) for value in column.states), np.nan])
        return np.asarray(codes[column.values])
    return np.array([np.nan if value is None else states.get(value, np.nan) for value in column])


def _numbers(column: Column) -> Numbers:
    if column.states is None:
        return column.values.astype(np.float64)
    return np.array([np.nan if isinstance(value, str) or value is None else float(value) for value in column])


def _weight_parameter(model: Any) -> str:
    """Return the parameter of `fit` for the weights: of a pipeline, that of its last step."""
    return f"{model.steps[-1][0]}__sample_weight" if hasattr(model, "steps") else "sample_weight"


def logistic(nominal: Bools) -> Any:
    """Return a logistic regression on one-hot codes and standardized numbers."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(one_hot(nominal, scale=True), LogisticRegression(max_iter=1000))


def naive_bayes(nominal: Bools) -> Any:
    """Return CategoricalNB, with numbers in ten intervals and missing values as a state."""
    return IntervalNaiveBayes(nominal)


def tree(_: Bools) -> Any:
    """Return a decision tree; codes of nominal values are numbers."""
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=SEED)


def forest(_: Bools) -> Any:
    """Return a random forest of 100 trees; codes of nominal values are numbers."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, random_state=SEED)


def hist_boosting(nominal: Bools) -> Any:
    """Return histogram gradient boosting, with nominal columns as categories."""
    return HistBoosting(nominal)


RECIPES: Final[Mapping[str, Callable[[Bools], Any]]] = {
    "sk:rf": forest,
    "sk:hgb": hist_boosting,
    "sk:logistic": logistic,
    "sk:tree": tree,
    "sk:nb": naive_bayes,
}
"""The classifiers by their words: functions from the nominal columns to an estimator for a matrix of numbers."""


_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "sk:rf": ("ensemble",),
    "sk:hgb": ("ensemble",),
    "sk:logistic": ("linear_model", "compose", "impute", "pipeline", "preprocessing"),
    "sk:tree": ("tree",),
    "sk:nb": ("naive_bayes",),
}
"""The modules of scikit-learn that each of them needs."""


def one_hot(nominal: Bools, *, scale: bool) -> Any:
    """Return one-hot codes, with a category for missing values, and numbers with their median and an indicator where missing."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps = [SimpleImputer(strategy="median", add_indicator=True), *([StandardScaler()] if scale else [])]
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), np.flatnonzero(nominal)), (make_pipeline(*steps), np.flatnonzero(~nominal))
    )


class IntervalNaiveBayes:
    """CategoricalNB; numbers in equal-frequency intervals, and one state for missing values.

    Parameters
    ----------
    nominal : which columns hold codes of nominal values.
    """

    def __init__(self, nominal: Bools) -> None:
        self.nominal = nominal

    def fit(self, X: Numbers, y: Integers, sample_weight: Any = None) -> Self:
        """Learn the intervals and the classifier."""
        from sklearn.naive_bayes import CategoricalNB

        inner = np.arange(1, BINS) / BINS
        self.cuts = [None if n else _quantiles(x, inner) for x, n in zip(X.T, self.nominal, strict=True)]
        self.states = np.array([_largest(x) + 1 if cuts is None else len(cuts) + 1 for x, cuts in zip(X.T, self.cuts, strict=True)])
        self.model = CategoricalNB(min_categories=self.states + 1).fit(self._states(X), y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X: Numbers) -> Numbers:
        """Return P(class | row).  # (row, class)"""
        return np.asarray(self.model.predict_proba(self._states(X)))

    def _states(self, X: Numbers) -> Integers:
        """Return the state of every cell; missing values and codes that do not occur in the training rows have the last one."""
        states = [x if cuts is None else np.searchsorted(cuts, x, "right") for x, cuts in zip(X.T, self.cuts, strict=True)]
        table = np.where(np.isnan(X), self.states, np.stack(states, axis=1))
        return np.asarray(np.minimum(table, self.states).astype(np.int64))


def _quantiles(numbers: Numbers, shares: Numbers) -> Numbers:
    observed = numbers[~np.isnan(numbers)]
    return np.unique(np.quantile(observed, shares)) if len(observed) else np.empty(0)


def _largest(codes: Numbers) -> int:
    return int(np.max(codes[~np.isnan(codes)], initial=0))


class HistBoosting:
    """HistGradientBoostingClassifier; nominal columns of up to 255 values are categories, the others numbers.

    Parameters
    ----------
    nominal : which columns hold codes of nominal values.
    """

    def __init__(self, nominal: Bools) -> None:
        self.nominal = nominal

    def fit(self, X: Numbers, y: Integers, sample_weight: Any = None) -> Self:
        """Learn the classifier."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        categories = [bool(n) and _largest(x) < CATEGORIES for x, n in zip(X.T, self.nominal, strict=True)]
        model = HistGradientBoostingClassifier(categorical_features=categories, random_state=SEED)
        self.model = model.fit(X, y, sample_weight=sample_weight)
        return self

    def predict_proba(self, X: Numbers) -> Numbers:
        """Return P(class | row).  # (row, class)"""
        return np.asarray(self.model.predict_proba(X))
