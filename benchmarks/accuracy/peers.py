"""Classifiers of other libraries, each with its default parameters and the encoding of the features that suits it.

Every function takes which columns are nominal and returns an estimator with `fit(X, y)` and `predict_proba(X)` for a matrix of
numbers: nominal columns hold codes, and nan is a missing value. Encodings are learned in `fit`, from the training rows alone.
Random seeds are fixed. To add a peer, write a function and add a line to PEERS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.evaluation.peers import SEED, hist_boosting, logistic, naive_bayes, one_hot, tree

THREADS: Final = 2

Matrix = NDArray[np.float64]
Nominal = NDArray[np.bool_]


@dataclass(frozen=True)
class Peer:
    """A classifier of another library.

    Parameters
    ----------
    package : the package that it needs.
    module : the module that contains the classifier.
    make : a function from the nominal columns to the estimator.
    encoding : a description of the encoding of the features; results are computed again if it changes.
    """

    package: str
    module: str
    make: Callable[[Nominal], Any]
    encoding: str

    @property
    def version(self) -> str | None:
        """The version of the package, None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


def forest(_: Nominal) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(100, n_jobs=THREADS, random_state=SEED)


def forest_one_hot(nominal: Nominal) -> Any:
    from sklearn.pipeline import make_pipeline

    return make_pipeline(one_hot(nominal, scale=False), forest(nominal))


def lightgbm(nominal: Nominal) -> Any:
    from lightgbm import LGBMClassifier

    return _Fitted(
        LGBMClassifier(n_jobs=THREADS, random_state=SEED, verbose=-1), categorical_feature=np.flatnonzero(nominal).tolist()
    )


def xgboost(nominal: Nominal) -> Any:
    from xgboost import XGBClassifier

    types = np.where(nominal, "c", "q").tolist()
    return XGBClassifier(n_jobs=THREADS, random_state=SEED, enable_categorical=True, feature_types=types)


def catboost(nominal: Nominal) -> Any:
    return _CatBoost(nominal)


def ebm(nominal: Nominal) -> Any:
    return _Ebm(nominal)


class _Fitted:
    """An estimator with arguments for its `fit`."""

    def __init__(self, estimator: Any, **arguments: Any) -> None:
        self.estimator = estimator
        self.arguments = arguments

    def fit(self, X: Matrix, y: NDArray[Any]) -> _Fitted:
        self.estimator.fit(X, y, **self.arguments)
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        return np.asarray(self.estimator.predict_proba(X))


class _CatBoost:
    """CatBoostClassifier; a missing nominal value is a category."""

    def __init__(self, nominal: Nominal) -> None:
        self.nominal = nominal

    def fit(self, X: Matrix, y: NDArray[Any]) -> _CatBoost:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(thread_count=THREADS, random_seed=SEED, verbose=False, allow_writing_files=False)
        self.model = model.fit(self._pool(X, y))
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        return np.asarray(self.model.predict_proba(self._pool(X), thread_count=THREADS))

    def _pool(self, X: Matrix, y: NDArray[Any] | None = None) -> Any:
        from catboost import FeaturesData, Pool

        numbers = np.ascontiguousarray(X[:, ~self.nominal], np.float32) if not self.nominal.all() else None
        texts = X[:, self.nominal].astype("S8").astype(object) if self.nominal.any() else None
        return Pool(FeaturesData(num_feature_data=numbers, cat_feature_data=texts), y)


class _Ebm:
    """ExplainableBoostingClassifier; its bags are fitted by threads instead of processes, so that the CPU time is measured."""

    def __init__(self, nominal: Nominal) -> None:
        self.nominal = nominal

    def fit(self, X: Matrix, y: NDArray[Any]) -> _Ebm:
        from interpret.glassbox import ExplainableBoostingClassifier
        from joblib import parallel_config

        types = np.where(self.nominal, "nominal", "continuous").tolist()
        self.model = ExplainableBoostingClassifier(feature_types=types, n_jobs=THREADS, random_state=SEED)
        with parallel_config("threading", n_jobs=THREADS):
            self.model.fit(X, y)
        return self

    def predict_proba(self, X: Matrix) -> Matrix:
        return np.asarray(self.model.predict_proba(X))


NATIVE: Final = "codes of nominal values as categories, missing values as they are"
ONE_HOT: Final = "one-hot codes, missing a category; numbers: median and indicator where missing"
PEERS: Final = {
    "sk:logistic": Peer("scikit-learn", "sklearn.linear_model", logistic, ONE_HOT + ", standardized; max_iter=1000"),
    "sk:hgb": Peer("scikit-learn", "sklearn.ensemble", hist_boosting, NATIVE + ", up to 255 values"),
    "sk:rf": Peer(
        "scikit-learn", "sklearn.ensemble", forest, "100 trees; codes of nominal values as numbers, missing values as they are"
    ),
    "sk:rf-onehot": Peer("scikit-learn", "sklearn.ensemble", forest_one_hot, "100 trees; " + ONE_HOT),
    "sk:tree": Peer("scikit-learn", "sklearn.tree", tree, "codes of nominal values as numbers, missing values as they are"),
    "sk:nb": Peer("scikit-learn", "sklearn.naive_bayes", naive_bayes, "10 equal-frequency intervals; missing a state"),
    "lightgbm": Peer("lightgbm", "lightgbm", lightgbm, NATIVE),
    "xgboost": Peer("xgboost", "xgboost", xgboost, NATIVE),
    "catboost": Peer("catboost", "catboost", catboost, "categories, missing a category; missing numbers as they are"),
    "ebm": Peer("interpret-core", "interpret.glassbox", ebm, NATIVE),
}
