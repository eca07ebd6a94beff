"""The errors of naive Bayes after each of many changes to its terms."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.dispatch import address, compiled
from naivete._kernels.threads import ranges, run_parallel

__all__ = ["Changes", "RelativeLogs", "changed_errors"]

CELLS_AT_ONCE = 1 << 20
"""How many cells the NumPy version computes together."""


class RelativeLogs(NamedTuple):
    """The log-probabilities of the classes for some rows, relative to the class of each row.

    Parameters
    ----------
    codes : the codes of the features.  # (feature, row)
    labels : the class of each row.
    weight : the weight of each row.
    logs : the relative log-probabilities.  # (row, class)
    bounds : a row is wrong if one of its logarithms is at least its bound; infinite for its own class.  # (row, class)
    """

    codes: NDArray[np.int32]
    labels: NDArray[np.int32]
    weight: Integers
    logs: Numbers
    bounds: Numbers


class Changes(NamedTuple):
    """Changes of log-probabilities, which depend on the configuration of some attributes and on the class of a row.

    Parameters
    ----------
    attributes : the features that each change depends on.  # (change, attribute)
    strides : the distance between two states of each attribute among the configurations.
    other_classes : the change in the other classes.  # (change, configuration, class)
    in_class : the change in the class of the row.  # (change, configuration, class)
    """

    attributes: Integers
    strides: Integers
    other_classes: Numbers
    in_class: Numbers


def changed_errors(rows: RelativeLogs, changes: Changes, affected: Integers) -> Integers:
    """Return the weight of the rows that are wrong after each change.

    Parameters
    ----------
    rows : the rows.
    changes : the changes.
    affected : how many rows are evaluated for each change, from the first.

    >>> one = np.ones(2, np.int64)
    >>> rows = RelativeLogs(np.array([[0, 1]], np.int32), np.array([0, 0], np.int32), one, np.array([[0, -1.0]] * 2),
    ...                     np.array([[np.inf, 0.0]] * 2))
    >>> changes = Changes(np.array([[0]]), np.array([1]), np.array([[[0, 2.0], [0, 0]]]), np.zeros((1, 2, 2)))
    >>> changed_errors(rows, changes, np.array([2])).tolist()
    [1]
    """
    library = compiled()
    if library is None:
        return _changed_errors_numpy(rows, changes, affected)
    return _changed_errors_c(library, rows, changes, np.ascontiguousarray(affected, np.int64))


def _changed_errors_c(library: ctypes.CDLL, rows: RelativeLogs, changes: Changes, affected: Integers) -> Integers:
    out = np.zeros(len(affected), np.int64)
    count, cells, classes = changes.other_classes.shape
    arrays = [np.ascontiguousarray(part) for part in (*rows, *changes)]
    codes, labels, weight, logs, bounds, attributes, strides, other_classes, in_class = map(address, arrays)

    def fill(part: tuple[int, int]) -> None:
        table = attributes, strides, changes.attributes.shape[1], other_classes, in_class, cells, classes
        library.naivete_changed_errors(
            codes, rows.codes.shape[1], *table, labels, weight, logs, bounds, address(affected), *part, address(out)
        )

    work = 4.0 * float(affected.sum()) * classes
    run_parallel(fill, ranges(count, work, 8), work)
    return out


def _changed_errors_numpy(rows: RelativeLogs, changes: Changes, affected: Integers) -> Integers:
    out = np.zeros(len(affected), np.int64)
    most = int(affected.max(initial=0))
    step = max(1, CELLS_AT_ONCE // max(1, most * changes.other_classes.shape[2]))
    for start in range(0, len(out), step):
        some = slice(start, start + step)
        cell = np.einsum("kmr,k->mr", rows.codes[changes.attributes[some].T, :most], changes.strides)
        place = np.arange(len(cell))[:, None]
        in_class = changes.in_class[some][place, cell, rows.labels[:most]]
        after = rows.logs[:most] + changes.other_classes[some][place, cell] - in_class[:, :, None]
        wrong = (after >= rows.bounds[:most]).any(axis=2) & (np.arange(most) < affected[some, None])
        out[some] = wrong @ rows.weight[:most]
    return out
