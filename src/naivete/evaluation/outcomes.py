"""Answers beside the true classes: checked once, without the rows that do not count, and counted by decision and class."""

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


class Cases(NamedTuple):
    """Answers that were looked at: rows of weight zero are gone.

    Parameters
    ----------
    truth : the number of the true class of every row.
    posterior : P(class | row).  # (row, class)
    weight : the weight of every row.
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
        """The answers, refused where they are none, or not about these classes.

        >>> Cases.of([0, 1], [[0.5, 0.5], [0.25, 0.75]], [1, 0]).truth.tolist()
        [0]
        """
        answers = _posterior(posterior)
        codes = _codes(truth, *answers.shape)
        if classes is not None and answers.shape[1] != len(classes):
            raise DataError(f"posteriors of {answers.shape[1]} classes, but {len(classes)} labels; pass one for each class")
        counted = checked_weights(weight, len(codes))
        if counted is None:
            return cls(codes, answers, np.ones(len(codes)))
        keep = counted > 0
        return cls(codes[keep], answers[keep], counted[keep])

    @property
    def decided(self) -> NDArray[np.int64]:
        """The most probable class of every row, the first of equals."""
        return np.asarray(self.posterior.argmax(axis=1), np.int64)

    @property
    def true(self) -> Numbers:
        """P(true class | row)."""
        return np.asarray(self.posterior[np.arange(len(self.truth)), self.truth])

    def mean(self, per_row: NDArray[Any]) -> float:
        """The weighted mean over the rows."""
        return float((per_row * self.weight).sum() / self.weight.sum())


def _posterior(posterior: ArrayLike) -> Numbers:
    answers = np.asarray(posterior, np.float64)
    if answers.ndim != 2 or 0 in answers.shape:
        raise DataError(f"posteriors of shape {answers.shape}; at least one row and one class are needed to measure anything")
    wrong = np.flatnonzero(~(answers >= 0).all(axis=1) | ~(abs(answers.sum(axis=1) - 1) <= _SUM))
    if len(wrong):
        listed = quoted(answers[wrong[0]].tolist())
        raise DataError(
            f"posterior, row {wrong[0] + 1}: {listed}: probabilities are at least 0 and add up to 1; pass predict_proba's"
        )
    return answers


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
    """The number of cases by decision and true class, P#(classified, correct) before it is divided by their sum.

    Parameters
    ----------
    truth : the number of the true class of every row.
    decided : the number of the class decided; `classes` is to reject, which adds a last row.
    classes : how many classes there are.
    weight : the weight of every row.

    >>> confusion([0, 0, 1], [0, 1, 1], 2).tolist()
    [[1.0, 0.0], [1.0, 1.0]]

    References
    ----------
    Jensen & Nielsen (2007), Bayesian Networks and Decision Graphs, section 8.1, table 8.2.
    """
    found = np.asarray(decided)
    codes, decisions = _codes(truth, len(found), classes), _codes(found, len(found), classes + 1)
    if not len(codes):
        raise DataError("no rows; at least one is needed to measure anything")
    rows = classes + bool((decisions == classes).any())
    cells = np.bincount(decisions * classes + codes, checked_weights(weight, len(codes)), rows * classes)
    return cells.reshape(rows, classes).astype(np.float64)


def shares(counts: ArrayLike) -> Numbers:
    """P#(classified, correct): the counts divided by their sum.

    >>> shares([[1, 0], [1, 2]]).tolist()
    [[0.25, 0.0], [0.25, 0.5]]
    """
    numbers = np.asarray(counts, np.float64)
    if not numbers.sum() > 0:
        raise DataError("a confusion matrix without cases has no shares; count at least one")
    return np.asarray(numbers / numbers.sum())
