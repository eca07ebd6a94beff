"""The nodes of a classification tree at which rows end."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.door import address, columns_struct, compiled
from naivete._kernels.layout import Codes
from naivete._kernels.threads import ranges, run_parallel

__all__ = ["descend"]


def descend(codes: Codes, nodes: NDArray[np.int64], start: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The node of a tree at which each row ends: a leaf, or the first node whose question its missing code cannot answer.

    Parameters
    ----------
    codes : the columns; rows come from the first, so there has to be one.
    nodes : for each node the column it asks for (-1 at a leaf), the last code of its first branch (-1 where every code has a
        branch of its own), and its first child, which the others follow.  # (node, 3)
    start : the node from which each row goes down; by default the first.

    >>> tree = np.array([[0, -1, 1], [-1, -1, 0], [1, 4, 3], [-1, -1, 0], [-1, -1, 0]])
    >>> descend([np.array([0, 1, 1, 255], np.uint8), np.array([9, 4, 5, 5], np.uint8)], tree).tolist()
    [1, 3, 4, 0]
    """
    at = np.zeros(len(codes[0]), np.int64) if start is None else np.array(start, np.int64)
    library = compiled()
    if library is None:
        _descend_numpy(codes, nodes, at)
    else:
        _descend_c(library, codes, np.ascontiguousarray(nodes, np.int64), at)
    return at


def _descend_c(library: ctypes.CDLL, codes: Codes, nodes: NDArray[np.int64], at: NDArray[np.int64]) -> None:
    columns, _held = columns_struct(codes)

    def fill(part: tuple[int, int]) -> None:
        library.naivete_descend(address(columns), address(nodes), *part, address(at))

    work = 16 * len(at)
    run_parallel(fill, ranges(len(at), work, 8, 64), work)


def _descend_numpy(codes: Codes, nodes: NDArray[np.int64], at: NDArray[np.int64]) -> None:
    features, lasts, firsts = nodes.T
    rows = np.flatnonzero(features[at] >= 0)
    while len(rows):
        asked = features[at[rows]]
        going = []
        for x in np.unique(asked).tolist():
            here = rows[asked == x]
            own = codes[x][here]
            known = own != np.iinfo(own.dtype).max
            here, own = here[known], own[known].astype(np.int64)
            node = at[here]
            at[here] = firsts[node] + np.where(lasts[node] < 0, own, own > lasts[node])
            going.append(here[features[at[here]] >= 0])
        rows = np.concatenate(going)
