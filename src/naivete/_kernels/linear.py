"""Linear scores of the classes: rows of a sparse matrix, and the weights that minimize their penalized loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address, compiled, require_memory
from naivete._kernels.weights import TOLERANCE, minimized

__all__ = ["LinearRows", "fit_linear"]

SECOND = np.uint32(0xFFFFFFFF)
"""The label of the class without weights, where a single class has weights."""


class LinearRows(NamedTuple):
    """A matrix of which every row is the same vector plus some entries.

    Parameters
    ----------
    start : row r has the entries start[r] up to start[r + 1].  # (row + 1)
    column, value : the position and the value of each entry.
    base : the vector to which they are added.  # (column)
    """

    start: Integers
    column: NDArray[np.uint32]
    value: Numbers
    base: Numbers


def fit_linear(
    rows: LinearRows,
    labels: NDArray[np.uint32],
    weight: Numbers,
    scale: Numbers,
    strength: Numbers,
    origin: Numbers,
    first: Numbers,
    steps: int,
) -> Numbers:
    """Return the weights of the columns and, last, the intercepts that minimize the penalized loss.  # (column + 1, class)

    The logits of a row are its product with the weights plus the intercepts; the penalty is 1/2 sum strength (values - origin)^2.
    If the values are of a single class, there is a second class, whose logits are 0 and whose label is SECOND.

    Parameters
    ----------
    rows : the matrix.
    labels, weight : the class and the weight of each row; rows of weight 0 are not used.
    scale : multiplies the variables of the search.  # as the result
    strength, origin : the penalty of each value, and where it is zero.  # as the result
    first : where the search begins.  # as the result
    steps : the largest number of steps.
    """
    values, library = first.copy(), compiled()
    columns, classes = len(rows.base), first.shape[1]
    if library is not None:
        data = (address(a) for a in (*rows, labels, weight))
        penalty = (address(a) for a in (scale, strength, origin))
        sizes = classes, columns, len(labels)
        require_memory(library.naivete_fit_linear(*data, *sizes, *penalty, steps, TOLERANCE, address(values)))
        return values

    def objective(scaled: Numbers) -> tuple[float, Numbers]:
        values = scaled.reshape(first.shape) / scale
        loss, gradient = _loss_numpy(rows, labels, weight, values)
        difference = values - origin
        gradient = (gradient + strength * difference) / scale
        return loss + 0.5 * float((strength * difference * difference).sum()), gradient.ravel()

    return minimized(objective, (first * scale).ravel(), steps).reshape(first.shape) / scale


def _loss_numpy(rows: LinearRows, labels: NDArray[np.uint32], weight: Numbers, values: Numbers) -> tuple[float, Numbers]:
    """Return the sum of -weight * log P(label) and its gradient."""
    row = np.repeat(np.arange(len(labels)), np.diff(rows.start))
    logits = np.repeat((rows.base @ values[:-1] + values[-1])[None], len(labels), axis=0)
    np.add.at(logits, row, rows.value[:, None] * values[rows.column])
    if values.shape[1] == 1:
        logits = np.column_stack([logits, np.zeros(len(labels))])
    position = np.arange(len(labels)), np.where(labels == SECOND, 1, labels)
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits)
    norm = p.sum(axis=1)
    loss = float((weight * (np.log(norm) - logits[position])).sum())
    errors = p / norm[:, None]
    errors[position] -= 1
    errors = (errors * weight[:, None])[:, : values.shape[1]]
    gradient = np.zeros_like(values)
    np.add.at(gradient, rows.column, rows.value[:, None] * errors[row])
    gradient[-1] = errors.sum(axis=0)
    gradient[:-1] += rows.base[:, None] * gradient[-1]
    return loss, gradient
