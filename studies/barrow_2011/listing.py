"""The programs in the appendix of Barrow (2011), unchanged with their errors, and their F score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete.learners.balance import balanced
from studies.verdicts import Numbers

__all__ = ["Listing", "accuracy", "f1", "listing_f", "listing_matrix"]

Classes = NDArray[np.int64]

_UNDERFLOW: Final = -1e6
_LEAST: Final = -1000.0
"""Naive Bayes in the listing predicts class 0 where no sum of logarithms is above this."""


class Listing(NamedTuple):
    """The model that the listing learns.

    Every column is sorted independently, the class too, so that rows are mixed up: the first class gets the smallest values of
    every attribute. Densities are divided by the variance, not by the deviation.

    Parameters
    ----------
    rows : the sorted columns.  # (row, attribute)
    means, variances : by class.  # (class, attribute)
    covariances : by class.  # (class, attribute, attribute)
    """

    rows: Numbers
    means: Numbers
    variances: Numbers
    covariances: Numbers

    @classmethod
    def learned(cls, X: Numbers, labels: Classes) -> Listing:
        """Learn from cases of two classes."""
        rows, first = np.sort(X, axis=0), int((labels == 0).sum())
        parts = rows[:first], rows[first:]
        means, variances = (np.stack([f(part, axis=0) for part in parts]) for f in (np.mean, np.var))
        return cls(rows, means, variances, np.stack([np.cov(part.T) for part in parts]))

    def logs(self, values: Numbers) -> Numbers:
        """Return `logNormProb` of each attribute in each class.  # (row, class, attribute)"""
        z = (values - self.means) / np.sqrt(self.variances)
        p = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        with np.errstate(divide="ignore"):
            return np.where(p > 0, np.log(p), _UNDERFLOW) - np.log(self.variances)

    def shifted(self, X: Numbers, given: Sequence[int]) -> Numbers:
        """Return the attributes minus cov (x - mean) / deviation of those given, where cov / variance would be correct.

        # (row, class, attribute)
        """
        columns = list(given)
        z = (X[:, None] - self.means) / np.sqrt(self.variances)
        others = self.covariances * ~np.eye(X.shape[1], dtype=np.bool_)
        return np.asarray(X[:, None] - np.einsum("rcj,cij->rci", z[:, :, columns], others[:, :, columns]))

    def weights(self) -> Numbers:
        """Return `attributeWeight`: the mean of the natural logarithm of ddr over the sorted columns."""
        every = range(self.rows.shape[1])
        derivatives = self.logs(self.shifted(self.rows, every)) - self.logs(self.rows[:, None])
        return np.asarray((derivatives[:, 0] - derivatives[:, 1]).mean(axis=0))

    def naive(self, X: Numbers) -> Classes:
        """Predict by `NaiveBayes`: the class with the largest sum of logarithms."""
        sums = self.logs(X[:, None]).sum(axis=2)
        return np.where(sums.max(axis=1) > _LEAST, sums.argmax(axis=1), 0)

    def full(self, X: Numbers) -> Classes:
        """Predict by `FullBayes`: the class whose sum of logarithms is nearest to zero."""
        return self._nearest(self.logs(self.shifted(X, range(X.shape[1]))))

    def k_naive(self, X: Numbers, held: Sequence[int], *, strongly_naive: bool) -> Classes:
        """Predict by `StrongKNB` with these attributes naive."""
        rest = [x for x in range(X.shape[1]) if x not in held]
        logs = self.logs(self.shifted(X, rest if strongly_naive else range(X.shape[1])))
        logs[..., list(held)] = self.logs(X[:, None])[..., list(held)]
        return self._nearest(logs)

    def _nearest(self, logs: Numbers) -> Classes:
        return np.asarray(np.abs(logs.sum(axis=2)).argmin(axis=1))

    def chosen(self, size: int | None = None) -> tuple[int, ...]:
        """Return `optimalnaivete`: the set of so many attributes, or of any number, whose sum of weights is nearest to zero."""
        return balanced(self.weights(), size).features


def listing_matrix(X: Numbers, labels: Classes, predict: Callable[[Listing, Numbers], Classes], *, seed: int = 0) -> Numbers:
    """Return the error matrix of the listing's cross-validation, which does not test the remainder of a division by ten.

    Parameters
    ----------
    X, labels : the cases of the classes 0 and 1.
    predict : the predictions of a learned model.
    seed : the seed of the order of the cases.
    """
    order, matrix = np.random.default_rng(seed).permutation(len(X)), np.zeros((2, 2))
    size = len(X) // 10
    for i in range(10):
        test = order[i * size : (i + 1) * size]
        train = np.setdiff1d(order, test)
        np.add.at(matrix, (labels[test], predict(Listing.learned(X[train], labels[train]), X[test])), 1)
    return matrix


def accuracy(matrix: Numbers) -> float:
    """Return the share on the diagonal."""
    return float(np.trace(matrix) / matrix.sum())


def f1(matrix: Numbers, c: int) -> float:
    """Return the F score of a class by definition 2.1.1; rows are true, columns predicted.

    >>> f1(np.array([[8.0, 2.0], [2.0, 3.0]]), 0)
    0.8
    """
    return float(2 * matrix[c, c] / (matrix[c].sum() + matrix[:, c].sum()))


def listing_f(matrix: Numbers, c: int) -> float:
    """Return `fscore` of the listing: its precision is the recall, and its recall is a ratio of rates.

    Parameters
    ----------
    matrix : the numbers of cases, true classes as rows, predicted as columns.
    c : the class.

    >>> round(listing_f(np.array([[8.0, 2.0], [2.0, 3.0]]), 0), 3)  # 0.8 and 0.8 / (0.8 + 0.4)
    0.727
    """
    hits, misses = np.diagonal(matrix) / matrix.sum(axis=1), 1 - np.diagonal(matrix) / matrix.sum(axis=1)
    precision, recall = hits[c], hits[c] / (hits[c] + misses[1 - c])
    return float(2 * precision * recall / (precision + recall))
