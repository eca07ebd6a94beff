"""Posterior probabilities with the true classes, checked once, and confusion matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete._kernels.codes import Numbers
from naivete.data.labels import checked_weights
from naivete.errors import DataError, quoted

__all__ = ["Cases", "confusion", "shares"]


_SUM: Final = 1e-6
"""The maximal deviation of the sum of probabilities from 1."""


class Cases(NamedTuple):
    """Checked posterior probabilities of rows with known classes; rows of weight zero are left out.

    Parameters
    ----------
    truth : ndarray of shape (n_rows,)
        The position of the true class of each row.
    posterior : ndarray of shape (n_rows, n_classes)
        P(class | row).
    weight : ndarray of shape (n_rows,)
        The weight of each row.
    """

    truth: NDArray[np.int64]
    posterior: Numbers
    weight: Numbers

    @classmethod
    def of(
        cls,
        truth: ArrayLike,
        posterior: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Cases:
        """Return the checked cases; raise a DataError if shapes do not fit or probabilities are not valid.

        Parameters
        ----------
        truth : array-like of shape (n_rows,)
            The position of the true class of each row.
        posterior : array-like of shape (n_rows, n_classes)
            P(class | row).
        weight : array-like of shape (n_rows,) or None, default=None
            The weight of each row; by default 1.
        classes : sequence of labels or None, default=None
            The labels, whose number is checked.

        Returns
        -------
        Cases
            The rows whose weight is above zero.

        Examples
        --------
        >>> from naivete.evaluation.outcomes import Cases
        >>> Cases.of([0, 1], [[0.5, 0.5], [0.25, 0.75]], [1, 0]).truth.tolist()
        [0]
        """
        probabilities = _posterior(posterior)
        codes = _codes(truth, *probabilities.shape)
        if classes is not None and probabilities.shape[1] != len(classes):
            raise DataError(
                f"posteriors of {probabilities.shape[1]} classes, but {len(classes)} labels; pass one label for each class"
            )
        weights = checked_weights(weight, len(codes))
        if weights is None:
            return cls(codes, probabilities, np.ones(len(codes)))
        keep = weights > 0
        return cls(codes[keep], probabilities[keep], weights[keep])

    @property
    def decided(self) -> NDArray[np.int64]:
        """The most probable class of each row, the first of equally probable ones."""
        return np.asarray(self.posterior.argmax(axis=1), np.int64)

    @property
    def true(self) -> Numbers:
        """P(true class | row)."""
        return np.asarray(self.posterior[np.arange(len(self.truth)), self.truth])

    def mean(self, per_row: NDArray[Any]) -> float:
        """Return the weighted mean over the rows.

        Parameters
        ----------
        per_row : ndarray of shape (n_rows,)
            A value for each row.

        Returns
        -------
        float
            The mean.
        """
        return float((per_row * self.weight).sum() / self.weight.sum())


def _posterior(posterior: ArrayLike) -> Numbers:
    probabilities = np.asarray(posterior, np.float64)
    if probabilities.ndim != 2 or 0 in probabilities.shape:
        raise DataError(f"posteriors of shape {probabilities.shape}; at least one row and one class are needed to measure anything")
    wrong = np.flatnonzero(~(probabilities >= 0).all(axis=1) | ~(abs(probabilities.sum(axis=1) - 1) <= _SUM))
    if len(wrong):
        listed = quoted(probabilities[wrong[0]].tolist())
        raise DataError(
            f"posterior, row {wrong[0] + 1}: {listed}: probabilities are at least 0 and add up to 1; pass predict_proba's"
        )
    return probabilities


def _codes(truth: ArrayLike, rows: int, classes: int) -> NDArray[np.int64]:
    codes = np.asarray(truth)
    if codes.shape != (rows,):
        raise DataError(f"true classes of shape {codes.shape} for {rows} rows of posteriors; one for each row is needed")
    if codes.dtype.kind not in "iub":
        raise DataError(
            f"true classes of type {codes.dtype}; pass their numbers among the classes, as of np.searchsorted(classes, y)"
        )
    wrong = np.flatnonzero((codes < 0) | (codes >= classes))
    if len(wrong):
        raise DataError(
            f"true class, row {wrong[0] + 1}: {codes[wrong[0]]} is not between 0 and {classes - 1}; pass numbers of classes"
        )
    return codes.astype(np.int64)


def confusion(truth: ArrayLike, decided: ArrayLike, classes: int, *, weight: ArrayLike | None = None) -> Numbers:
    """Return the confusion matrix: the number of cases by true and predicted class.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        The position of the true class of each row.
    decided : array-like of shape (n_rows,)
        The position of the predicted class of each row; `classes` for a rejected row, which adds a last column.
    classes : int
        The number of classes.
    weight : array-like of shape (n_rows,) or None, default=None
        The weight of each row.

    Returns
    -------
    ndarray of shape (n_classes, n_classes) or (n_classes, n_classes + 1)
        The numbers, true classes in the rows, predicted classes in the columns.

    References
    ----------
    Jensen & Nielsen (2007), Bayesian Networks and Decision Graphs, section 8.1; their table 8.2 is transposed.

    Examples
    --------
    >>> from naivete.evaluation.outcomes import confusion
    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    predicted = np.asarray(decided)
    codes, decisions = _codes(truth, len(predicted), classes), _codes(predicted, len(predicted), classes + 1)
    if not len(codes):
        raise DataError("no rows; at least one is needed to measure anything")
    columns = classes + bool((decisions == classes).any())
    cells = np.bincount(codes * columns + decisions, checked_weights(weight, len(codes)), classes * columns)
    return cells.reshape(classes, columns).astype(np.float64)


def shares(counts: ArrayLike) -> Numbers:
    """Return the shares of the cells of a confusion matrix: the counts divided by their sum.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_decisions)
        The number of cases by true and predicted class.

    Returns
    -------
    ndarray of shape (n_classes, n_decisions)
        The shares.

    Examples
    --------
    >>> from naivete.evaluation.outcomes import shares
    >>> shares([[1, 0], [1, 2]]).tolist()
    [[0.25, 0.0], [0.25, 0.5]]
    """
    numbers = np.asarray(counts, np.float64)
    if not numbers.sum() > 0:
        raise DataError("a confusion matrix without cases has no relative frequencies; at least one case is needed")
    return np.asarray(numbers / numbers.sum())
