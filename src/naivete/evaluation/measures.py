"""How good answers are: measures of posteriors against the true classes, one definition of each for the whole library.

Rows of weight zero count as absent. What would be 0 / 0 is defined here, so that no measure is ever nan:

- means over classes (`macro`) go over the classes that occur among the rows; one that does not occur is left out;
- the precision and F of a class that occurs but is never decided are 0;
- where all rows are of one class, its specificity is 1 (nothing was called it wrongly) and its area is 1/2 (nothing to order).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from naivete._kernels.codes import Numbers
from naivete.classifiers.losses import Loss
from naivete.errors import ParameterError, quoted
from naivete.evaluation.outcomes import Cases, confusion, shares

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
    "measures",
    "per_class",
    "rmse",
    "roc",
    "shares",
]


LEAST: Final = 2.0**-52
"""The probability that stands for zero in the log loss, so that one impossible case costs 52 bits and not everything."""


def accuracy(cases: Cases) -> float:
    """The share of the rows whose most probable class is the true one; the error is what it lacks to 1.

    >>> accuracy(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]))
    0.5
    """
    return cases.mean(cases.decided == cases.truth)


def log_loss(cases: Cases) -> float:
    """The mean of -log2 P(true class), in bits; a probability below 2^-52 counts as that.

    >>> log_loss(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]))
    1.5
    """
    return cases.mean(-np.log2(np.maximum(cases.true, LEAST)))


def brier(cases: Cases) -> float:
    """The mean over the rows of the sum over the classes of (P(c) - [c is true])^2; at most 2.

    >>> brier(Cases.of([0, 1], [[0.5, 0.5], [1.0, 0.0]]))
    1.25

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability.
    """
    hit = np.arange(cases.posterior.shape[1]) == cases.truth[:, None]
    return cases.mean(((cases.posterior - hit) ** 2).sum(axis=1))


def rmse(cases: Cases) -> float:
    """The root of the mean of (1 - P(true class))^2.

    >>> rmse(Cases.of([0, 1], [[0.5, 0.5], [0.5, 0.5]]))
    0.5
    """
    return float(cases.mean((1 - cases.true) ** 2) ** 0.5)


class Roc(NamedTuple):
    """A class against the rest: both rates while the threshold on its posterior falls, and the area under the curve."""

    false_positive: Numbers
    true_positive: Numbers
    thresholds: Numbers
    area: float


def roc(cases: Cases, c: int) -> Roc:
    """The curve of class `c` against the rest, from (0, 0) to (1, 1); the diagonal where rows of it, or of others, are lacking.

    The area is the probability that a row of the class has a larger posterior of it than a row of another, ties counted half.

    >>> roc(Cases.of([0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]), 1).area
    1.0
    """
    from sklearn.metrics import auc, roc_curve

    hit = cases.truth == c
    if hit.all() or not hit.any():
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([np.inf, 0.0]), 0.5)
    false, true, thresholds = roc_curve(hit, cases.posterior[:, c], sample_weight=cases.weight)
    return Roc(false, true, thresholds, float(auc(false, true)))


def areas(cases: Cases) -> Numbers:
    """The area of every class against the rest, without the curves; 1/2 where rows of it, or of others, are lacking.

    In the order of the posteriors of a class, each of its rows is above the weight of the others below it and half of that of
    its equals.

    >>> areas(Cases.of([0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]])).tolist()
    [1.0, 1.0]
    """
    rows, classes = cases.posterior.shape
    order = cases.posterior.argsort(axis=0)
    said = np.take_along_axis(cases.posterior, order, axis=0)
    hit, weight = cases.truth[order] == np.arange(classes), cases.weight[order]
    others = np.zeros((rows + 1, classes))  # the weight of the others among so many rows
    np.cumsum(np.where(hit, 0.0, weight), axis=0, out=others[1:])
    first, last = np.zeros((rows, classes), np.int64), np.full((rows, classes), rows)  # of the rows with an equal posterior
    place = np.arange(1, rows)[:, None]
    differs = said[1:] != said[:-1]
    np.maximum.accumulate(np.where(differs, place, 0), axis=0, out=first[1:])
    np.minimum.accumulate(np.where(differs, place, rows)[::-1], axis=0, out=last[-2::-1])
    below = (np.take_along_axis(others, first, axis=0) + np.take_along_axis(others, last, axis=0)) / 2
    own = np.where(hit, weight, 0.0)
    both = own.sum(axis=0) * others[-1]
    return np.asarray(np.divide((own * below).sum(axis=0), both, out=np.full(classes, 0.5), where=both > 0))


def cost_curve(curve: Roc) -> tuple[Numbers, Numbers]:
    """The corners of a class's cost curve: x, and the normalised expected cost of the best threshold for it.

    x is the probability that a row is of the class, weighted with the cost of missing it and scaled to 0 .. 1. A threshold with
    the rates (FP, TP) costs (1 - TP) x + FP (1 - x), a line; the curve is the smallest of these lines at every x. Never and
    always deciding for the class cost x and 1 - x.

    >>> perfect = roc(Cases.of([0, 1], [[1.0, 0.0], [0.0, 1.0]]), 1)
    >>> [values.tolist() for values in cost_curve(perfect)]
    [[0.0, 1.0], [0.0, 0.0]]

    References
    ----------
    Drummond & Holte (2006), Cost curves: an improved method for visualizing classifier performance.
    """
    start, end = curve.false_positive, 1 - curve.true_positive  # of each threshold's line, at x = 0 and at x = 1
    line = int(np.lexsort((end, start))[0])
    x, y = [0.0], [float(start[line])]
    while (lower := np.flatnonzero(end < end[line])).size:
        cross = (start[lower] - start[line]) / (start[lower] - start[line] + end[line] - end[lower])
        at = lower[np.lexsort((end[lower], cross))[0]]  # the line that is first to be below, the lowest of several
        x.append(max(x[-1], float(cross.min())))  # lines that cross in one point may do so a rounding error too early
        y.append(float(start[line] + (end[line] - start[line]) * x[-1]))
        line = int(at)
    return np.array([*x, 1.0]), np.array([*y, end[line]])


class Calibration(NamedTuple):
    """Bins of rows with similar posteriors: their mean, how often it came true, and the share of the rows in the bin."""

    predicted: Numbers
    observed: Numbers
    share: Numbers


def calibration(cases: Cases, c: int | None = None, *, bins: int = 10) -> Calibration:
    """What was said against what came true, in bins with the same number of rows.

    Equal posteriors are in one bin, so that there are fewer bins where there are few different ones.

    Parameters
    ----------
    cases : the answers.
    c : the class whose posterior is looked at; by default that of the class decided, which came true where it was right.
    bins : how many bins.

    >>> calibration(Cases.of([0, 1, 1, 1], [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0], [0.0, 1.0]]), 1, bins=2).observed.tolist()
    [0.5, 1.0]
    """
    if bins != int(bins) or bins < 1:
        raise ParameterError(f"bins={quoted(bins)}: a whole number, at least 1")
    said = cases.posterior.max(axis=1) if c is None else cases.posterior[:, c]
    came = cases.truth == (cases.decided if c is None else c)
    order = np.argsort(said, kind="stable")
    reached = np.cumsum(cases.weight[order])
    wanted = reached[-1] * np.arange(1, int(bins)) / bins * (1 - 1e-12)  # so that rounding moves no border
    at = np.searchsorted(said[order[np.searchsorted(reached, wanted)]], said)
    mass, predicted, observed = (np.bincount(at, cases.weight * of, bins) for of in (np.ones(len(said)), said, came))
    there = mass > 0
    return Calibration(predicted[there] / mass[there], observed[there] / mass[there], mass[there] / mass.sum())


def calibration_error(cases: Cases, *, bins: int = 10) -> float:
    """The expected calibration error: the mean over the bins of |how often it came true - mean posterior| of the class decided.

    >>> calibration_error(Cases.of([0, 1], [[0.75, 0.25], [0.75, 0.25]]))
    0.25

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks; bins of equal frequency: Nixon et al. (2019).
    """
    found = calibration(cases, bins=bins)
    return float((found.share * abs(found.observed - found.predicted)).sum())


def expected_loss(cases: Cases, loss: Loss, *, decided: NDArray[np.int64] | None = None) -> float:
    """The mean loss of the decisions, sum of P#(classified, correct) loss[classified, correct].

    Parameters
    ----------
    cases : the answers.
    loss : the losses, of the classes in the order of the posteriors.
    decided : the number of the decision for every row; by default the most probable class.

    >>> expected_loss(Cases.of([0, 1], [[0.5, 0.5], [0.75, 0.25]]), Loss.of([[0, 5], [1, 0]], "ab"))
    2.5
    """
    found = cases.decided if decided is None else decided
    return loss.of_classifier(confusion(cases.truth, found, cases.posterior.shape[1], weight=cases.weight))


def per_class(
    truth: ArrayLike, posterior: ArrayLike, classes: Sequence[Any] | NDArray[Any], *, weight: ArrayLike | None = None
) -> dict[Any, dict[str, float]]:
    """Precision, recall (= sensitivity), specificity, F, area and support of every class that occurs, by its label.

    With the numbers of a class against the rest: precision TP / (TP + FP), recall TP / (TP + FN), specificity TN / (TN + FP),
    F = 2 precision recall / (precision + recall); support is the weight of its rows.

    >>> found = per_class([0, 0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    >>> found["yes"]
    {'precision': 1.0, 'recall': 0.5, 'specificity': 1.0, 'f': 0.6666666666666666, 'area': 0.625, 'support': 2.0}
    """
    cases = Cases.of(truth, posterior, weight, classes=classes)
    each = _by_class(cases)
    there = np.unique(cases.truth).tolist()
    return {classes[c]: {name: float(values[c]) for name, values in each.items()} for c in there}


def _by_class(cases: Cases) -> dict[str, Numbers]:
    """The measures of all classes, those that do not occur among them."""
    counts = confusion(cases.truth, cases.decided, cases.posterior.shape[1], weight=cases.weight)
    right, decided, support = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
    return {
        "precision": _share(right, decided),
        "recall": _share(right, support),
        "specificity": 1 - _share(decided - right, counts.sum() - support),
        "f": _share(2 * right, decided + support),
        "area": areas(cases),
        "support": support,
    }


def _share(some: Numbers, all_of_them: Numbers) -> Numbers:
    """The quotient, 0 where there is nothing to divide by."""
    return np.asarray(np.divide(some, all_of_them, out=np.zeros(len(some)), where=all_of_them > 0))


def measures(
    truth: ArrayLike,
    posterior: ArrayLike,
    classes: Sequence[Any] | NDArray[Any],
    *,
    loss: Loss | ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> dict[str, float]:
    """All measures by name, one row of a tidy frame; those of single classes are the means over the classes that occur.

    Parameters
    ----------
    truth : the number of the true class of every row, in the order of `classes`.
    posterior : P(class | row).  # (row, class)
    classes : the labels.
    loss : a `Loss`, or an array (decided, true); adds "expected_loss", that of the most probable class, and
        "least_expected_loss", that of deciding for what is expected to cost least.
    weight : the weight of every row.

    >>> found = measures([0, 1], [[0.75, 0.25], [0.25, 0.75]], ["no", "yes"])
    >>> found["accuracy"], found["area"], found["brier"]
    (1.0, 1.0, 0.125)
    """
    cases = Cases.of(truth, posterior, weight, classes=classes)
    each = _by_class(cases)
    there = each["support"] > 0
    macro = {name: float(each[name][there].mean()) for name in ("precision", "recall", "specificity", "f", "area")}
    right = accuracy(cases)
    rest = {
        "log_loss": log_loss(cases),
        "brier": brier(cases),
        "rmse": rmse(cases),
        "calibration_error": calibration_error(cases),
    }
    found = {"accuracy": right, "error": 1 - right, **macro, **rest}
    if loss is None:
        return found
    costs = loss.aligned(classes) if isinstance(loss, Loss) else Loss.of(loss, classes)
    least = expected_loss(cases, costs, decided=costs.decide(cases.posterior))
    return {**found, "expected_loss": expected_loss(cases, costs), "least_expected_loss": least}
