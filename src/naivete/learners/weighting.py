"""Weights of terms: a penalized log-linear model of the class, the temperature of a single term, and mixtures of probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.weights import fit_weights, temperature

__all__ = ["fitted_weights", "mixture_shares", "temperature"]

STEPS = 100
"""The most steps by default."""


def fitted_weights(
    terms: Numbers, labels: NDArray[np.uint32], weight: Numbers, penalties: Numbers, start: Numbers, steps: int = STEPS
) -> tuple[Numbers, Numbers]:
    """Return the coefficients w and intercepts b that minimize the penalized loss of the logits sum_j w_j F_j(c) + b_c.

    The loss is -sum log P(label) + 1/2 sum r_j (w_j - w0_j)^2 + 1/2 |b|^2.

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
    values = fit_weights(terms, labels, weight, strength, origin, steps)
    return values[:count], values[count:]


def mixture_shares(likelihoods: Numbers, weight: Numbers, pseudo_cases: Sequence[float], steps: int = 100) -> tuple[float, ...]:
    """Return the shares of models in a mixture that make its predictions most likely.

    They maximize sum weight log(likelihoods times shares) + sum pseudo_cases log(shares). This is concave, and its multiplier of
    the condition that the shares sum to 1 is known, the weight of all cases, so that Newton's method finds the maximum.

    Parameters
    ----------
    likelihoods : P(label) of each row by each model, none of which used the row.  # (row, model)
    weight : the weight of each row.
    pseudo_cases : how many cases each model has predicted alone beforehand.
    steps : the most iterations.
    """
    total = float(weight.sum() + sum(pseudo_cases))
    weight, before = weight / total, np.array(pseudo_cases, np.float64) / total

    def value(shares: Numbers) -> float:
        return float((weight * np.log(likelihoods @ shares)).sum() + (before * np.log(shares)).sum() - shares.sum())

    shares = before / before.sum()
    current = value(shares)
    for _ in range(steps):
        ratio = likelihoods / (likelihoods @ shares)[:, None]
        slope = (weight[:, None] * ratio).sum(axis=0) + before / shares - 1.0
        curvature = (weight[:, None] * ratio).T @ ratio + np.diag(before / shares**2)
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(shares)), slope)  # not singular if two models are equal
        down = step < 0
        length = min(1.0, 0.9 * float((-shares[down] / step[down]).min())) if down.any() else 1.0
        while (new := value(shares + length * step)) < current and length > 1e-9:
            length /= 2
        if new - current <= 1e-9:
            break
        shares, current = shares + length * step, new
    return tuple((shares / shares.sum()).tolist())
