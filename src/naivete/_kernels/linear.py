"""Linear scores of the classes: rows of a sparse matrix, and the weights that minimize their penalized loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address, compiled, require_memory
from naivete._kernels.weights import CURVATURE_ROWS, TOLERANCE, Metric, factorized, loss_of_scores, minimized

__all__ = ["LinearRows", "fit_linear", "gram", "row_scores"]


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


def gram(rows: LinearRows, weight: Numbers) -> Numbers:
    """Return about X'WX of a matrix X with a last column of ones, from some of its rows.

    Parameters
    ----------
    rows : the matrix without the last column.
    weight : the weight of each row, the diagonal of W.
    """
    size, library = len(rows.base) + 1, compiled()
    result = np.zeros((size, size))
    if library is not None:
        data = (address(a) for a in (*rows, weight))
        require_memory(library.naivete_gram_of_rows(*data, size - 1, len(weight), CURVATURE_ROWS, address(result)))
        return result
    some = np.arange(0, len(weight), len(weight) // CURVATURE_ROWS + 1)
    dense = np.tile(np.append(rows.base, 1.0), (len(some), 1))
    for line, r in zip(dense, some.tolist(), strict=True):
        entries = slice(int(rows.start[r]), int(rows.start[r + 1]))
        np.add.at(line, rows.column[entries], rows.value[entries])
    share = float(weight[some].sum()) / max(float(weight.sum()), 1e-300)
    return np.asarray((dense * weight[some, None]).T @ dense / max(share, 1e-300))


def fit_linear(
    rows: LinearRows,
    labels: NDArray[np.uint32],
    weight: Numbers,
    strength: Numbers,
    origin: Numbers,
    first: Numbers,
    steps: int,
    curvatures: Numbers,
) -> Numbers:
    """Return the weights of the columns and, last, the intercepts that minimize the penalized loss.  # (column + 1, class)

    The logits of a row are its product with the weights plus the intercepts; the penalty is 1/2 sum strength (values - origin)^2.
    If the values are of a single class, there is a second class, whose logits are 0 and whose label is SECOND.

    Parameters
    ----------
    rows : the matrix.
    labels, weight : the class and the weight of each row; rows of weight 0 are not used.
    strength, origin : the penalty of each value, and where it is zero.  # as the result
    first : where the search begins.  # as the result
    steps : the largest number of steps.
    curvatures : about the second derivatives of the penalized loss, by the values of each class (class, column + 1, column + 1) or
        by each value (column + 1, class); the better they are known, the fewer steps are needed.
    """
    values, library = first.copy(), compiled()
    columns, classes = len(rows.base), first.shape[1]
    dense = curvatures.ndim == 3
    if library is not None:
        factor = curvatures.copy() if dense else np.sqrt(curvatures)
        if dense:
            library.naivete_factorize(address(factor), classes, columns + 1)
        data = (address(a) for a in (*rows, labels, weight))
        search = (address(a) for a in (strength, origin, factor))
        sizes = classes, columns, len(labels)
        require_memory(library.naivete_fit_linear(*data, *sizes, *search, dense, steps, TOLERANCE, address(values)))
        return values

    def objective(flat: Numbers) -> tuple[float, Numbers]:
        values = flat.reshape(first.shape)
        loss, gradient = _loss_numpy(rows, labels, weight, values)
        difference = values - origin
        return loss + 0.5 * float((strength * difference * difference).sum()), (gradient + strength * difference).ravel()

    metric = Metric(factorized(curvatures) if dense else np.sqrt(curvatures).reshape(-1, 1, 1))
    return minimized(objective, first.ravel(), metric, steps).reshape(first.shape)


def row_scores(rows: LinearRows, values: Numbers) -> Numbers:
    """Return the products of the rows with the weights of the columns, plus the intercepts, the last values.  # (row, class)"""
    count, classes, library = len(rows.start) - 1, values.shape[1], compiled()
    if library is not None and count:
        values, result = np.ascontiguousarray(values), np.empty((count, classes))
        data = (address(a) for a in rows)
        library.naivete_row_scores(*data, classes, len(rows.base), count, address(values), address(result))
        return result
    result = np.repeat((rows.base @ values[:-1] + values[-1])[None], count, axis=0)
    np.add.at(result, np.repeat(np.arange(count), np.diff(rows.start)), rows.value[:, None] * values[rows.column])
    return result


def _loss_numpy(rows: LinearRows, labels: NDArray[np.uint32], weight: Numbers, values: Numbers) -> tuple[float, Numbers]:
    """Return the sum of -weight * log P(label) and its gradient."""
    loss, errors = loss_of_scores(row_scores(rows, values), labels, weight)
    gradient = np.zeros_like(values)
    np.add.at(gradient, rows.column, rows.value[:, None] * errors[np.repeat(np.arange(len(labels)), np.diff(rows.start))])
    gradient[-1] = errors.sum(axis=0)
    gradient[:-1] += rows.base[:, None] * gradient[-1]
    return loss, gradient
