"""Weights of terms in a log-linear model of the class: the loss, its gradient, and the search for the best weights."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.dispatch import address, compiled, require_memory

__all__ = ["CURVATURE_ROWS", "SECOND", "TOLERANCE", "Metric", "fit_weights", "loss_of_scores", "minimized", "temperature"]

MEMORY = 10
"""The number of steps from which L-BFGS estimates the change of the curvature."""
TOLERANCE = 1e-7
"""The search stops where a step is expected to improve the loss by less than about this share of it."""
CURVATURE_ROWS = 512
"""The curvature at the start of a search is estimated from about this many rows."""
LEAST_PIVOT = 1e-12
"""The smallest pivot of a Cholesky factorization, as a share of the diagonal element."""
RANGE = (0.02, 8.0)
"""The smallest and the largest temperature."""
FACTOR_TOLERANCE = 1e-8
"""The search for a temperature stops where it changes by less than this share."""
SECOND = np.uint32(0xFFFFFFFF)
"""The label of the class without scores, where a single class has scores."""


@dataclass(frozen=True, eq=False)
class Metric:
    """Coordinates in which a function is about a sphere: L' values, where L L' is about its second derivative.

    Parameters
    ----------
    factor : lower triangular matrices L, one for each block of values; value j of block b is number j * blocks + b.
    """

    factor: Numbers

    @cached_property
    def _inverse(self) -> Numbers:
        return np.asarray(np.linalg.inv(self.factor), np.float64)

    def _blocks(self, values: Numbers) -> Numbers:
        return values.reshape(self.factor.shape[1], self.factor.shape[0])

    def point(self, values: Numbers) -> Numbers:
        """Return the coordinates of some values."""
        return np.asarray(np.einsum("bji,jb->ib", self.factor, self._blocks(values))).ravel()

    def values(self, point: Numbers) -> Numbers:
        """Return the values that have some coordinates."""
        return np.asarray(np.einsum("bji,jb->ib", self._inverse, self._blocks(point))).ravel()

    def gradient(self, gradient: Numbers) -> Numbers:
        """Return the derivative by the coordinates, given that by the values."""
        return np.asarray(np.einsum("bij,jb->ib", self._inverse, self._blocks(gradient))).ravel()


def fit_weights(
    terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, strength: Numbers, origin: Numbers, steps: int
) -> Numbers:
    """Return the coefficients and intercepts that minimize the loss of the terms plus 1/2 sum strength (values - origin)^2.

    Parameters
    ----------
    terms : (row, class, term), contiguous.
    labels, weight : the class and the weight of each row; rows of weight 0 are not used.
    strength, origin : the penalty of each value, above zero, and where it is zero: of the coefficients, then of the intercepts.
    steps : the largest number of steps.
    """
    classes, count = terms.shape[1:]
    if classes == 1:
        return origin.copy()
    if classes != 2:
        return _fitted(terms, labels, weight, strength, origin, steps)
    # the scores of the second class minus those of the first: half of the work
    one, two = strength[count:]
    labels = np.where(labels == 1, 0, SECOND).astype(np.uint32)
    start = np.append(origin[:count], origin[-1] - origin[-2])
    strength = np.append(strength[:count], one * two / (one + two))
    values = _fitted(terms[:, 1:] - terms[:, :1], labels, weight, strength, start, steps)
    moved = values[-1] - start[-1]
    return np.concatenate([values[:-1], origin[count:] + np.array([-two, one]) * moved / (one + two)])


def _fitted(terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, strength: Numbers, origin: Numbers, steps: int) -> Numbers:
    """Return the same. Beside a single class with terms there is a second class, whose scores are 0 and whose label is SECOND."""
    rows, classes, count = terms.shape
    library = compiled()
    if library is not None:
        terms, weight = np.ascontiguousarray(terms), np.ascontiguousarray(weight)
        strength, origin = np.ascontiguousarray(strength, np.float64), np.ascontiguousarray(origin, np.float64)
        values = np.empty(count + classes)
        data = (address(a) for a in (terms, labels, weight))
        search = address(strength), address(origin), CURVATURE_ROWS, steps, TOLERANCE, address(values)
        require_memory(library.naivete_fit_weights(*data, classes, count, rows, *search))
        return values

    def objective(values: Numbers) -> tuple[float, Numbers]:
        loss, errors = loss_of_scores(np.einsum("rcf,f->rc", terms, values[:count]) + values[count:], labels, weight)
        difference = values - origin
        gradient = np.append(np.einsum("rc,rcf->f", errors, terms), errors.sum(axis=0))
        return loss + 0.5 * float((strength * difference * difference).sum()), gradient + strength * difference

    used = np.flatnonzero(weight)
    some = used[:: len(used) // CURVATURE_ROWS + 1]
    curvature = _curvature(terms[some], weight[some] * (weight.sum() / max(float(weight[some].sum()), 1e-300)), origin)
    metric = Metric(factorized((curvature + np.diag(strength))[None]))
    return minimized(objective, origin, metric, steps)


def factorized(matrices: Numbers) -> Numbers:
    """Return the Cholesky factors of symmetric matrices; a pivot that rounding errors make too small or negative is replaced.

    >>> factorized(np.array([[[4.0, 2.0], [2.0, 1.0 - 1e-17]]])).round(3).tolist()  # singular
    [[[2.0, 0.0], [1.0, 0.0]]]
    """
    try:
        factors = np.asarray(np.linalg.cholesky(matrices), np.float64)
    except np.linalg.LinAlgError:
        factors = np.tril(matrices)
        for factor in factors:
            for i, row in enumerate(factor):
                for j in range(i):
                    row[j] = (row[j] - row[:j] @ factor[j, :j]) / factor[j, j]
                row[i] = np.sqrt(max(row[i] - row[:i] @ row[:i], LEAST_PIVOT * row[i]))
    return factors


def _curvature(terms: Numbers, weight: Numbers, values: Numbers) -> Numbers:
    """Return the second derivative of the loss."""
    rows, classes, count = terms.shape
    logits = np.einsum("rcf,f->rc", terms, values[:count]) + values[count:]
    ones = np.broadcast_to(np.eye(classes), (rows, classes, classes))
    design = np.concatenate([terms, ones], axis=2)  # terms and intercepts
    if classes == 1:
        logits, design = np.pad(logits, ((0, 0), (0, 1))), np.pad(design, ((0, 0), (0, 1), (0, 0)))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    deviation = design - np.einsum("rc,rcj->rj", p, design)[:, None]
    return np.asarray(np.einsum("rc,rci,rcj->ij", p * weight[:, None], deviation, deviation))


def loss_of_scores(scores: Numbers, labels: NDArray[np.uint32], weight: Numbers) -> tuple[float, Numbers]:
    """Return the sum of -weight * log P(label), and its derivative by the scores.

    Parameters
    ----------
    scores : logarithms of unnormalized probabilities; of a single class, relative to the class SECOND.  # (row, class)
    labels, weight : the class and the weight of each row.
    """
    classes = scores.shape[1]
    if classes == 1:
        scores = np.column_stack([scores, np.zeros(len(scores))])
    position = np.arange(len(labels)), np.where(labels == SECOND, 1, labels)
    logits = scores - scores.max(axis=1, keepdims=True)
    p = np.exp(logits)
    norm = p.sum(axis=1)
    errors = p / norm[:, None]
    errors[position] -= 1
    return float((weight * (np.log(norm) - logits[position])).sum()), (errors * weight[:, None])[:, :classes]


def minimized(objective: Callable[[Numbers], tuple[float, Numbers]], start: Numbers, metric: Metric, steps: int) -> Numbers:
    """Return where a smooth convex function is smallest, by L-BFGS (Liu and Nocedal 1989) with at most `steps` steps.

    Parameters
    ----------
    objective : returns the value and the gradient at a point.
    start : the first point.
    metric : coordinates of the search.
    steps : the largest number of steps; the search also ends where the value hardly changes any more.

    >>> unit = Metric(np.ones((2, 1, 1)))
    >>> abs(minimized(lambda x: (float((x**2).sum()), 2 * x), np.array([3.0, -4.0]), unit, 20)).round(6).tolist()
    [0.0, 0.0]
    """

    def at(point: Numbers) -> tuple[float, Numbers]:
        value, gradient = objective(metric.values(point))
        return value, metric.gradient(gradient)

    point = metric.point(start)
    value, gradient = at(point)
    history: deque[tuple[Numbers, Numbers, float]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        direction = -_inverse_hessian_times(gradient, history)
        slope = float((gradient * direction).sum())
        if slope > -TOLERANCE * max(1.0, abs(value)):
            break
        step = 1.0
        for _halving in range(40):
            new = point + step * direction
            new_value, new_gradient = at(new)
            if new_value <= value + 1e-4 * step * slope:
                break
            step /= 2
        else:
            break
        moved, turned = new - point, new_gradient - gradient
        product = float((moved * turned).sum())
        if product > 1e-12 * float((turned * turned).sum()):
            history.append((moved, turned, product))
        point, value, gradient = new, new_value, new_gradient
    return metric.values(point)


def _inverse_hessian_times(gradient: Numbers, history: deque[tuple[Numbers, Numbers, float]]) -> Numbers:
    """Return the product of the approximate inverse Hessian matrix and the gradient."""
    result, shares = gradient.copy(), []
    for moved, turned, product in reversed(history):
        shares.append(float((moved * result).sum()) / product)
        result -= shares[-1] * turned
    for (moved, turned, product), share in zip(history, reversed(shares), strict=True):
        result += (share - float((turned * result).sum()) / product) * moved
    return result


def temperature(logs: Numbers, labels: NDArray[np.uint32], weight: Numbers, strength: float = 0.0) -> tuple[float, float]:
    """Return the factor of log-probabilities that minimizes the loss plus 1/2 strength (factor - 1)^2, and this minimum, in nats.

    It is convex in the factor; Newton's method is kept inside the interval that is known to hold the minimum.

    Parameters
    ----------
    logs : the log-probabilities.  # (row, class)
    labels, weight : the class and the weight of each row.
    strength : of the penalty.

    >>> halves = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]]))
    >>> factor, _ = temperature(halves, np.array([0, 0, 1], np.uint32), np.ones(3))
    >>> round(factor, 3)  # (4 ** 0.5) / (1 + 4 ** 0.5) is two thirds
    0.5
    """
    library = compiled()
    if library is not None:
        place, strides, result = address(logs), (n // logs.itemsize for n in logs.strides), np.empty(1)
        labels, weight = np.ascontiguousarray(labels), np.ascontiguousarray(weight)
        sizes = logs.shape[1], len(labels)
        data = place, *strides, address(labels), address(weight), *sizes
        loss = float(library.naivete_temperature(*data, strength, *RANGE, FACTOR_TOLERANCE, address(result)))
        require_memory(not math.isnan(loss))
        return float(result[0]), loss
    rows = np.arange(len(labels))
    low, high = RANGE
    factor = 1.0
    for _ in range(40):
        _, slope, curvature = _loss(logs, labels, weight, rows, factor)
        slope, curvature = slope + strength * (factor - 1), curvature + strength
        low, high = (low, factor) if slope > 0 else (factor, high)
        step = factor - slope / curvature if curvature > 0 else low
        new = step if low < step < high else (low + high) / 2
        if abs(new - factor) < FACTOR_TOLERANCE * factor:
            break
        factor = new
    return factor, _loss(logs, labels, weight, rows, factor)[0] + 0.5 * strength * (factor - 1) ** 2


def _loss(
    logs: Numbers, labels: NDArray[np.uint32], weight: Numbers, rows: NDArray[np.int64], factor: float
) -> tuple[float, float, float]:
    """Return the loss, its slope and its curvature at a temperature."""
    logits = factor * logs
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    norm = p.sum(axis=1, keepdims=True)
    p /= norm
    mean = (p * logs).sum(axis=1)
    spread = (p * (logs - mean[:, None]) ** 2).sum(axis=1)
    loss = np.log(norm[:, 0]) - logits[rows, labels]
    return float((weight * loss).sum()), float((weight * (mean - logs[rows, labels])).sum()), float((weight * spread).sum())
