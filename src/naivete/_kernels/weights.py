"""Weights of terms in a log-linear model of the class: the loss, its gradient, and the search for the best weights."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.dispatch import address, compiled, require_memory

__all__ = ["fit_weights", "minimized", "temperature", "weighted_loss"]

MEMORY = 10
"""The number of steps from which L-BFGS estimates the curvature."""
TOLERANCE = 1e-9
"""The search stops where a step is expected to improve the loss by less than this share of it."""
RANGE = (0.02, 8.0)
"""The smallest and the largest temperature."""
ROWS = 512
"""The number of rows whose gradients are added up in one part."""


def fit_weights(
    terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, scale: Numbers, strength: Numbers, origin: Numbers, steps: int
) -> Numbers:
    """Return the coefficients and intercepts that minimize the loss of the terms plus 1/2 sum strength (values - origin)^2.

    Parameters
    ----------
    terms : (row, class, term), contiguous.
    labels, weight : the class and the weight of each row.
    scale : divides the variables of the search, one for each coefficient and intercept.
    strength, origin : the penalty of each value, and where it is zero.
    steps : the largest number of steps.
    """
    rows, classes, count = terms.shape
    library = compiled()
    if library is not None:
        values = np.empty(count + classes)
        data = (address(a) for a in (terms, labels, weight))
        penalty = (address(a) for a in (scale, strength, origin))
        require_memory(library.naivete_fit_weights(*data, classes, count, rows, *penalty, steps, TOLERANCE, address(values)))
        return values

    def objective(scaled: Numbers) -> tuple[float, Numbers]:
        values = scaled / scale
        loss, gradient = weighted_loss(terms, labels, weight, values[:count], values[count:])
        difference = values - origin
        return loss + 0.5 * float((strength * difference * difference).sum()), (gradient + strength * difference) / scale

    return minimized(objective, origin * scale, steps) / scale


def minimized(objective: Callable[[Numbers], tuple[float, Numbers]], start: Numbers, steps: int) -> Numbers:
    """Return where a smooth convex function is smallest, by L-BFGS (Liu and Nocedal 1989) with at most so many steps.

    Parameters
    ----------
    objective : returns the value and the gradient at a point.
    start : the first point.
    steps : the largest number of steps; the search also ends where the value hardly changes any more.

    >>> abs(minimized(lambda x: (float((x**2).sum()), 2 * x), np.array([3.0, -4.0]), 20)).round(6).tolist()
    [0.0, 0.0]
    """
    point, (value, gradient) = start, objective(start)
    history: deque[tuple[Numbers, Numbers, float]] = deque(maxlen=MEMORY)
    for _ in range(steps):
        direction = -_inverse_hessian_times(gradient, history)
        slope = float((gradient * direction).sum())
        if slope > -TOLERANCE * max(1.0, abs(value)):
            break
        step = 1.0 if history else min(1.0, 1.0 / float(np.sqrt((gradient * gradient).sum())))
        for _halving in range(40):
            new = point + step * direction
            new_value, new_gradient = objective(new)
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
    return point


def _inverse_hessian_times(gradient: Numbers, history: deque[tuple[Numbers, Numbers, float]]) -> Numbers:
    """Return the product of the approximate inverse Hessian matrix and the gradient."""
    result, shares = gradient.copy(), []
    for moved, turned, product in reversed(history):
        shares.append(float((moved * result).sum()) / product)
        result -= shares[-1] * turned
    if history:
        moved, turned, product = history[-1]
        result *= product / float((turned * turned).sum())
    for (moved, turned, product), share in zip(history, reversed(shares), strict=True):
        result += (share - float((turned * result).sum()) / product) * moved
    return result


def weighted_loss(
    features: Numbers, labels: NDArray[np.uint32], weight: Numbers, coefficients: Numbers, intercepts: Numbers
) -> tuple[float, Numbers]:
    """Return the sum of -weight * log P(label) and its gradient, where the logits are features times coefficients plus intercepts.

    Parameters
    ----------
    features : (row, class, feature), contiguous.
    labels, weight : the class and the weight of each row.
    coefficients, intercepts : one for each feature, one for each class.
    """
    rows, classes, count = features.shape
    loss, gradient, library = 0.0, np.zeros(count + classes), compiled()
    for lo in range(0, rows, ROWS):
        hi = min(lo + ROWS, rows)
        if library is None:
            loss += _weighted_loss_numpy(features[lo:hi], labels[lo:hi], weight[lo:hi], coefficients, intercepts, gradient)
        else:
            arrays = (address(a) for a in (coefficients, intercepts))
            data = (address(a) for a in (features, labels, weight))
            loss += float(library.naivete_weighted_loss(*data, classes, count, *arrays, lo, hi, address(gradient)))
    return loss, gradient


def _weighted_loss_numpy(
    features: Numbers, labels: NDArray[np.uint32], weight: Numbers, coefficients: Numbers, intercepts: Numbers, gradient: Numbers
) -> float:
    rows = np.arange(len(features))
    logits = np.einsum("rcf,f->rc", features, coefficients) + intercepts
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    norm = p.sum(axis=1)
    errors = p / norm[:, None]
    errors[rows, labels] -= 1
    errors *= weight[:, None]
    gradient[: features.shape[2]] += np.einsum("rc,rcf->f", errors, features)
    gradient[features.shape[2] :] += errors.sum(axis=0)
    return float((weight * (np.log(norm) - logits[rows, labels])).sum())


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
        loss = float(library.naivete_temperature(*data, strength, *RANGE, address(result)))
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
        if abs(new - factor) < 1e-9 * factor:
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
