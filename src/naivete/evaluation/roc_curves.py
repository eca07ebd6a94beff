"""ROC curves of a class against the others, the areas under them, and cost curves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from naivete._kernels.codes import Numbers
from naivete.evaluation.outcomes import Cases

__all__ = ["Roc", "areas", "cost_curve", "roc"]


class Roc(NamedTuple):
    """The ROC curve of a class against the others: the rates at decreasing thresholds, and the area under the curve.

    Parameters
    ----------
    false_positive : ndarray of shape (n_thresholds,)
        The share of the rows of other classes whose posterior is at least the threshold.
    true_positive : ndarray of shape (n_thresholds,)
        The share of the rows of the class whose posterior is at least the threshold.
    thresholds : ndarray of shape (n_thresholds,)
        The thresholds, decreasing.
    area : float
        The area under the curve.
    """

    false_positive: Numbers
    true_positive: Numbers
    thresholds: Numbers
    area: float


def roc(cases: Cases, c: int) -> Roc:
    """Return the ROC curve of class `c` against the others; the diagonal if the rows are all of it, or none is.

    The area is the probability that a row of the class has a larger posterior of it than a row of another class, with ties
    counted as one half.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.
    c : int
        The position of the class.

    Returns
    -------
    Roc
        The curve.

    Examples
    --------
    >>> from naivete.evaluation.measures import roc
    >>> from naivete.evaluation.outcomes import Cases
    >>> roc(Cases.of([0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]]), 1).area
    1.0
    """
    from sklearn.metrics import auc, roc_curve

    is_class = cases.truth == c
    if is_class.all() or not is_class.any():
        return Roc(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([np.inf, 0.0]), 0.5)
    false, true, thresholds = roc_curve(is_class, cases.posterior[:, c], sample_weight=cases.weight)
    return Roc(false, true, thresholds, float(auc(false, true)))


def areas(cases: Cases) -> Numbers:
    """Return the area under the ROC curve of each class against the others; 1/2 if all rows are of the class, or none is.

    With the rows ordered by their posterior of a class, each row of the class contributes the weight of the other rows below
    it, and half the weight of those with the same posterior.

    Parameters
    ----------
    cases : Cases
        The posterior probabilities.

    Returns
    -------
    ndarray of shape (n_classes,)
        The areas.

    Examples
    --------
    >>> from naivete.evaluation.measures import areas
    >>> from naivete.evaluation.outcomes import Cases
    >>> areas(Cases.of([0, 1, 1], [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5]])).tolist()
    [1.0, 1.0]
    """
    rows, classes = cases.posterior.shape
    order = cases.posterior.argsort(axis=0)
    posterior = np.take_along_axis(cases.posterior, order, axis=0)
    is_class, weight = cases.truth[order] == np.arange(classes), cases.weight[order]
    others = np.zeros((rows + 1, classes))  # the cumulative weight of the rows of other classes
    np.cumsum(np.where(is_class, 0.0, weight), axis=0, out=others[1:])
    first, last = np.zeros((rows, classes), np.int64), np.full((rows, classes), rows)  # of the rows with the same posterior
    row = np.arange(1, rows)[:, None]
    differs = posterior[1:] != posterior[:-1]
    np.maximum.accumulate(np.where(differs, row, 0), axis=0, out=first[1:])
    np.minimum.accumulate(np.where(differs, row, rows)[::-1], axis=0, out=last[-2::-1])
    below = (np.take_along_axis(others, first, axis=0) + np.take_along_axis(others, last, axis=0)) / 2
    weight = np.where(is_class, weight, 0.0)
    pairs = weight.sum(axis=0) * others[-1]
    return np.asarray(np.divide((weight * below).sum(axis=0), pairs, out=np.full(classes, 0.5), where=pairs > 0))


def cost_curve(curve: Roc) -> tuple[Numbers, Numbers]:
    """Return the vertices of the cost curve of a class: x, and the normalized expected cost of the best threshold.

    x is the probability of the class, weighted with the cost of a false negative and scaled to [0, 1]. A threshold with the
    rates (FP, TP) has the cost (1 - TP) x + FP (1 - x), a line; the curve is the minimum of these lines at each x. Never
    predicting the class has cost x, always predicting it 1 - x.

    Parameters
    ----------
    curve : Roc
        The ROC curve of the class.

    Returns
    -------
    x : ndarray
        The weighted probabilities of the class.
    cost : ndarray
        The normalized expected costs.

    References
    ----------
    Drummond & Holte (2006), Cost curves: an improved method for visualizing classifier performance.

    Examples
    --------
    >>> from naivete.evaluation.measures import cost_curve, roc
    >>> from naivete.evaluation.outcomes import Cases
    >>> perfect = roc(Cases.of([0, 1], [[1.0, 0.0], [0.0, 1.0]]), 1)
    >>> [values.tolist() for values in cost_curve(perfect)]
    [[0.0, 1.0], [0.0, 0.0]]
    """
    start, end = curve.false_positive, 1 - curve.true_positive  # the cost of each threshold at x = 0 and at x = 1
    line = int(np.lexsort((end, start))[0])
    x, y = [0.0], [float(start[line])]
    while (lower := np.flatnonzero(end < end[line])).size:
        cross = (start[lower] - start[line]) / (start[lower] - start[line] + end[line] - end[lower])
        following = lower[np.lexsort((end[lower], cross))[0]]  # the first line to cross, the lowest of several
        x.append(max(x[-1], float(cross.min())))  # rounding errors may put a crossing before the last one
        y.append(float(start[line] + (end[line] - start[line]) * x[-1]))
        line = int(following)
    return np.array([*x, 1.0]), np.array([*y, end[line]])
