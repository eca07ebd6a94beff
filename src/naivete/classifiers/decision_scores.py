"""Scores of the classes of rows as scikit-learn's `decision_function` returns them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.predicting import PredictingMixin

__all__ = ["DecisionScoresMixin"]

LARGEST = 1e100
"""Stands for infinity in scores; their differences and squares are finite."""


class DecisionScoresMixin(PredictingMixin):
    """The method `decision_function`."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log odds of the second class for two classes, the log joint probabilities of the classes for more.

        Log odds are log P(second class | row) - log P(first class | row) in nats, calibrated if the classifier is; above 0 the
        second class is predicted. They keep differences between rows whose probabilities are rounded to 0 or 1. Infinite values, of
        impossible classes, are replaced by 1e100 and -1e100, because scikit-learn's scorers refuse infinity. For three classes or
        more the result is log P(row, class), for `Spectrum` log P(class | row).

        Parameters
        ----------
        X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            The log odds of the second of two classes; for more classes a column for each class.

        Examples
        --------
        >>> from naivete import NaiveBayes
        >>> nb = NaiveBayes().fit([["a"], ["a"], ["b"], ["b"]], ["no", "no", "no", "yes"])
        >>> nb.decision_function([["a"], ["b"]]).round(3).tolist(), nb.predict([["a"], ["b"]]).tolist()
        ([-1.686, -0.588], ['no', 'no'])
        """
        scores = self._log_scores(X)
        if len(self.classes_) != 2:
            return _finite(scores)
        odds = scores[:, 1] - scores[:, 0]
        odds[np.abs(odds) < np.finfo(np.float64).eps] = 0.0  # probabilities of exactly one half
        return _finite(odds * getattr(self, "temperature_", 1.0))

    def _log_scores(self, X: Any) -> NDArray[np.float64]:
        """Return log P(row, class), or log P(class | row) where there is no joint probability or it is zero in every class."""
        if not hasattr(getattr(self, "predictor_", None), "joint"):
            return self.predict_log_proba(X)
        scores = self.predict_joint_log_proba(X)
        impossible = np.isneginf(scores).all(axis=1)
        if impossible.any():
            scores[impossible] = self.predict_log_proba(X)[impossible]
        return scores


def _finite(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(scores, -LARGEST, LARGEST)
