"""Weights of terms: a penalized log-linear model of the class, the temperature of a single term, and mixtures of probabilities."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.contexts import weighted_loss

__all__ = ["fitted_weights", "mixture_shares", "temperature"]

STEPS = 100
MEMORY = 10
"""The number of steps from which L-BFGS estimates the curvature."""
TOLERANCE = 1e-9
PSEUDO_CASES = 2.0
RANGE = (0.02, 8.0)
"""The smallest and the largest temperature."""


def fitted_weights(
    terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, penalties: Numbers, start: Numbers, steps: int = STEPS
) -> tuple[Numbers, Numbers]:
    """Return the coefficients w and intercepts b that minimize the penalized loss of the logits sum_j w_j F_j(c) + b_c.

    The loss is -sum log P(label) + 1/2 sum r_j (w_j - w0_j)^2 + 1/2 |b|^2. The variables are scaled, without which the search
    (L-BFGS) stops too early.

    Parameters
    ----------
    terms : F.  # (row, class, term)
    labels, weight : the class and the weight of each row.
    penalties : r, one for each term.
    start : w0, one for each term.
    steps : the largest number of steps.
    """
    _, classes, count = terms.shape
    terms = np.ascontiguousarray(terms)
    strength = np.append(penalties, np.ones(classes))
    origin = np.append(start, np.zeros(classes))
    squares = np.append(np.einsum("rct,rct,r->t", terms, terms, weight), np.full(classes, weight.sum()))
    scale = np.sqrt(0.1 * squares + strength)

    def objective(scaled: Numbers) -> tuple[float, Numbers]:
        values = scaled / scale
        loss, gradient = weighted_loss(terms, labels, weight, values[:count], values[count:])
        difference = values - origin
        return loss + 0.5 * float(strength @ (difference * difference)), (gradient + strength * difference) / scale

    values = minimized(objective, origin * scale, steps) / scale
    return values[:count], values[count:]


def minimized(objective: Callable[[Numbers], tuple[float, Numbers]], start: Numbers, steps: int) -> Numbers:
    """Return where a smooth convex function is smallest, by L-BFGS (Liu and Nocedal 1989) with at most so many steps.

    Parameters
    ----------
    objective : returns the value and the gradient at a point.
    start : the first point.
    steps : the largest number of steps; the search also ends where the value hardly changes any more.

    >>> minimized(lambda x: (float((x**2).sum()), 2 * x), np.array([3.0, -4.0]), 20).round(6).tolist()
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


def temperature(logs: Numbers, labels: NDArray[np.uint32], weight: Numbers) -> tuple[float, float]:
    """Return the factor of log-probabilities that minimizes the loss, and the loss, in nats.

    The loss is convex in the factor; Newton's method is kept inside the interval that is known to hold the minimum.

    >>> halves = np.log(np.array([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2]]))
    >>> factor, _ = temperature(halves, np.array([0, 0, 1], np.uint32), np.ones(3))
    >>> round(factor, 3)  # (4 ** 0.5) / (1 + 4 ** 0.5) is two thirds
    0.5
    """
    rows = np.arange(len(labels))
    low, high = RANGE
    factor = 1.0
    for _ in range(40):
        _, slope, curvature = _loss(logs, labels, weight, rows, factor)
        low, high = (low, factor) if slope > 0 else (factor, high)
        step = factor - slope / curvature if curvature > 0 else low
        new = step if low < step < high else (low + high) / 2
        if abs(new - factor) < 1e-9 * factor:
            break
        factor = new
    return factor, _loss(logs, labels, weight, rows, factor)[0]


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


def mixture_shares(likelihoods: Numbers, weight: Numbers, steps: int = 50) -> tuple[float, ...]:
    """Return the shares of models in a mixture by expectation-maximization, each with two pseudo-cases.

    Parameters
    ----------
    likelihoods : P(label) of each row by each model, none of which used the row.  # (row, model)
    weight : the weight of each row.
    steps : the number of iterations.
    """
    models = likelihoods.shape[1]
    shares = np.full(models, 1 / models)
    for _ in range(steps):
        joint = likelihoods * shares
        expected = (weight[:, None] * joint / joint.sum(axis=1, keepdims=True)).sum(axis=0)
        shares = (expected + PSEUDO_CASES) / (weight.sum() + PSEUDO_CASES * models)
    return tuple((shares / shares.sum()).tolist())
