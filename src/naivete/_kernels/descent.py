"""The node of a classification tree that each row reaches."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code
from naivete._kernels.dispatch import address, columns_struct, compiled
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = ["descend"]


def descend(codes: Codes, nodes: NDArray[np.int64], start: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the node of a tree that each row reaches: a leaf, or the first node whose feature is missing in the row.

    Parameters
    ----------
    codes : the columns, at least one.
    nodes : for each node the column of its test (-1 at a leaf), the last code of its first branch (-1 if every code has its
        own branch), and its first child; the other children follow it.  # (node, 3)
    start : the node at which each row starts; by default the first.

    >>> tree = np.array([[0, -1, 1], [-1, -1, 0], [1, 4, 3], [-1, -1, 0], [-1, -1, 0]])
    >>> descend([np.array([0, 1, 1, 255], np.uint8), np.array([9, 4, 5, 5], np.uint8)], tree).tolist()
    [1, 3, 4, 0]
    """
    position = np.zeros(len(codes[0]), np.int64) if start is None else np.array(start, np.int64)
    library = compiled()
    if library is None:
        _descend_numpy(codes, nodes, position)
    else:
        _descend_c(library, codes, np.ascontiguousarray(nodes, np.int64), position)
    return position


def _descend_c(library: ctypes.CDLL, codes: Codes, nodes: NDArray[np.int64], position: NDArray[np.int64]) -> None:
    columns, _kept_alive = columns_struct(codes)

    def fill(part: tuple[int, int]) -> None:
        library.naivete_descend(address(columns), address(nodes), *part, address(position))

    work = 16 * len(position)
    run_parallel(fill, ranges(len(position), work, 8, 64), work)


def _descend_numpy(codes: Codes, nodes: NDArray[np.int64], position: NDArray[np.int64]) -> None:
    features, last_codes, first_children = nodes.T
    rows = np.flatnonzero(features[position] >= 0)
    while len(rows):
        tested = features[position[rows]]
        continuing = []
        for x in np.unique(tested).tolist():
            members = rows[tested == x]
            values = codes[x][members]
            observed = values != missing_code(values.dtype)
            members, values = members[observed], values[observed].astype(np.int64)
            node = position[members]
            position[members] = first_children[node] + np.where(last_codes[node] < 0, values, values > last_codes[node])
            continuing.append(members[features[position[members]] >= 0])
        rows = np.concatenate(continuing)
