"""Measures of the quality of posterior probabilities, given the true classes; used by the whole library.

Rows of weight zero are ignored. Quotients 0 / 0 are defined, so that no measure is nan:

- means over classes (macro averages) include only the classes that occur among the rows;
- the precision and F1 of a class that occurs but is never predicted are 0;
- if all rows are of one class, its specificity is 1 (no false positives) and its area under the ROC curve is 1/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete._kernels.codes import Numbers
from naivete.classifiers.losses import Loss
from naivete.evaluation.calibration_bins import Calibration, calibration, calibration_error
from naivete.evaluation.outcomes import Cases, confusion, shares
from naivete.evaluation.roc_curves import Roc, areas, cost_curve, roc

__all__ = [
    "LEAST",
    "Calibration",
    "Cases",
    "Roc",
    "accuracy",
    "areas",
    "brier",
    "calibration",
    "calibration_error",
    "confusion",
    "cost_curve",
    "expected_loss",
    "log_loss",
    "macro_averages",
    "measures",
    "per_class",
    "rmse",
    "roc",
    "shares",
]


LEAST: Final = 2.0**-52
"""The smallest probability in the log loss, so that a case with probability zero adds 52 bits instead of infinity."""


def accuracy(cases: Cases) -> float:
    """Return the share of the rows whose most probable class is the true one.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    float
        The accuracy.

    Examples
    --------
    >>> from naivete.evaluation.measures import accuracy
    >>> from naivete.evaluation.outcomes import Cases
    >>> accuracy(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]))
    0.5
    """
    return cases.mean(cases.decided == cases.truth)


def log_loss(cases: Cases) -> float:
    """Return the mean of -log2 P(true class), in bits; smaller probabilities are replaced by 2^-52.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    float
        The loss.

    Examples
    --------
    >>> from naivete.evaluation.measures import log_loss
    >>> from naivete.evaluation.outcomes import Cases
    >>> log_loss(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]))
    1.5
    """
    return cases.mean(-np.log2(np.maximum(cases.true, LEAST)))


def brier(cases: Cases) -> float:
    """Return the mean over the rows of the sum over the classes of (P(c) - [c is true])^2; at most 2.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    float
        The score.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.

    Examples
    --------
    >>> from naivete.evaluation.measures import brier
    >>> from naivete.evaluation.outcomes import Cases
    >>> brier(Cases.of([0, 1], [[0.5, 0.5], [1.0, 0.0]]))
    1.25
    """
    is_true = np.arange(cases.posterior.shape[1]) == cases.truth[:, None]  # (row, class)
    return cases.mean(((cases.posterior - is_true) ** 2).sum(axis=1))


def rmse(cases: Cases) -> float:
    """Return the square root of the mean of (1 - P(true class))^2.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> from naivete.evaluation.measures import rmse
    >>> from naivete.evaluation.outcomes import Cases
    >>> rmse(Cases.of([0, 1], [[0.5, 0.5], [0.5, 0.5]]))
    0.5
    """
    return float(cases.mean((1 - cases.true) ** 2) ** 0.5)


def expected_loss(cases: Cases, loss: Loss, *, decided: NDArray[np.int64] | None = None) -> float:
    """Return the mean loss of the decisions: the sum of P#(true, decided) loss[decided, true].

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.
    loss : Loss
        The losses, with the classes in the order of the posteriors.
    decided : ndarray of shape (n_rows,) or None, default=None
        The position of the decision for each row; by default the most probable class.

    Returns
    -------
    float
        The mean loss.

    Examples
    --------
    >>> from naivete import Loss
    >>> from naivete.evaluation.measures import expected_loss
    >>> from naivete.evaluation.outcomes import Cases
    >>> expected_loss(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]), Loss.of([[0, 5], [1, 0]], "ab"))
    2.5
    """
    decisions = cases.decided if decided is None else decided
    return loss.of_classifier(confusion(cases.truth, decisions, cases.posterior.shape[1], weight=cases.weight))


def per_class(
    truth: ArrayLike, posterior: ArrayLike, classes: Sequence[Any] | NDArray[Any], *, weight: ArrayLike | None = None
) -> dict[Any, dict[str, float]]:
    """Return precision, recall (sensitivity), specificity, F1, area under the ROC curve and support of each class that occurs.

    For each class against the others: precision TP / (TP + FP), recall TP / (TP + FN), specificity TN / (TN + FP),
    F1 = 2 precision recall / (precision + recall); support is the weight of the rows of the class.

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        The position of the true class of each row among `classes`.
    posterior : array-like of shape (n_rows, n_classes)
        P(class | row).
    classes : sequence of labels
        The labels.
    weight : array-like of shape (n_rows,) or None, default=None
        The weight of each row.

    Returns
    -------
    dict
        The measures by label and by name.

    Examples
    --------
    >>> from naivete.evaluation.measures import per_class
    >>> by_class = per_class([0, 0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    >>> by_class["yes"]
    {'precision': 1.0, 'recall': 0.5, 'specificity': 1.0, 'f1': 0.6666666666666666, 'roc_auc': 0.625, 'support': 2.0}
    """
    cases = Cases.of(truth, posterior, weight, classes=classes)
    by_class = _by_class(cases)
    occurring = np.unique(cases.truth).tolist()
    return {classes[c]: {name: float(values[c]) for name, values in by_class.items()} for c in occurring}


def _by_class(cases: Cases) -> dict[str, Numbers]:
    """Return the measures of all classes, including those that do not occur."""
    counts = confusion(cases.truth, cases.decided, cases.posterior.shape[1], weight=cases.weight)
    right, decided, support = counts.diagonal(), counts.sum(axis=0), counts.sum(axis=1)
    return {
        "precision": _quotient(right, decided),
        "recall": _quotient(right, support),
        "specificity": 1 - _quotient(decided - right, counts.sum() - support),
        "f1": _quotient(2 * right, decided + support),
        "roc_auc": areas(cases),
        "support": support,
    }


def _quotient(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Return the quotient, 0 where the denominator is 0."""
    return np.asarray(np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0))


def macro_averages(cases: Cases) -> dict[str, float]:
    """Return the measures of single classes, averaged over the classes that occur; the balanced accuracy is the mean recall.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    dict of {str: float}
        The measures by name.

    Examples
    --------
    >>> from naivete.evaluation.measures import macro_averages
    >>> from naivete.evaluation.outcomes import Cases
    >>> macro_averages(Cases.of([0, 0, 1], [[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]]))["balanced_accuracy"]
    0.75
    """
    by_class = _by_class(cases)
    occurring = by_class.pop("support") > 0
    means = {name: float(values[occurring].mean()) for name, values in by_class.items()}
    return {"balanced_accuracy": means["recall"], **means}


def measures(
    truth: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Any] | NDArray[Any],
    *,
    loss: Loss | ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> dict[str, float]:
    """Return all measures by name; those of single classes are averaged over the classes that occur.

    The names are "accuracy", "error", those of `macro_averages`, "log_loss" in bits, "log_loss_nats", "brier", "rmse" and
    "calibration_error".

    Parameters
    ----------
    truth : array-like of shape (n_rows,)
        The position of the true class of each row among `classes`.
    posterior : array-like of shape (n_rows, n_classes)
        P(class | row).
    classes : sequence of labels
        The labels.
    loss : Loss, array-like or None, default=None
        A `Loss`, or an array (decided, true); adds "expected_loss", the mean loss of the most probable class, and
        "least_expected_loss", that of the decisions with the least expected loss.
    weight : array-like of shape (n_rows,) or None, default=None
        The weight of each row.

    Returns
    -------
    dict of {str: float}
        The measures by name.

    Examples
    --------
    >>> from naivete.evaluation.measures import measures
    >>> values = measures([0, 1], [[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    >>> values["accuracy"], values["roc_auc"], values["brier"]
    (1.0, 1.0, 0.125)
    """
    cases = Cases.of(truth, posterior, weight, classes=classes)
    macro = macro_averages(cases)
    share_correct, bits = accuracy(cases), log_loss(cases)
    rest = {
        "log_loss": bits,
        "log_loss_nats": bits * math.log(2),
        "brier": brier(cases),
        "rmse": rmse(cases),
        "calibration_error": calibration_error(cases),
    }
    values = {"accuracy": share_correct, "error": 1 - share_correct, **macro, **rest}
    if loss is None:
        return values
    costs = loss.aligned(classes) if isinstance(loss, Loss) else Loss.of(loss, classes)
    least = expected_loss(cases, costs, decided=costs.decide(cases.posterior))
    return {**values, "expected_loss": expected_loss(cases, costs), "least_expected_loss": least}
