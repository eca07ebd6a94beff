"""Bit planes of a table in which most cells have the first state: only the bits that are set are stored and counted."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code
from naivete._kernels.dispatch import Struct, address, columns_struct, compiled
from naivete._kernels.threads import SERIAL, run_parallel, threads

__all__ = ["SparsePlanes", "sparse_gram", "sparse_margins", "sparse_planes"]

BATCH_PAIRS = 1 << 18
"""The pairs in one NumPy operation: large enough to amortize the call, small enough for the cache."""


@dataclass(frozen=True)
class SparsePlanes:
    """The planes that are set in each row, and the rows in which each plane is set; the planes are those of `pack`.

    Parameters
    ----------
    starts : the first entry of each row in `members`, and the end of the last row.  # (row + 1,)
    members : the planes that are set in each row, increasing.  # (entry,)
    column_starts : the first entry of each plane and class in `column_rows`, plane by plane, and the end of the last.
        # (plane * class + 1,)
    column_rows : the labelled rows in which each plane is set, by class.  # (labelled entry,)
    column_places : the position of each of these entries in `members`.  # (labelled entry,)
    counts : the number of rows of each class.  # (class,)
    planes : the number of planes.
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    column_starts: NDArray[np.int64]
    column_rows: NDArray[np.int32]
    column_places: NDArray[np.int64]
    counts: NDArray[np.int64]
    planes: int


def sparse_planes(starts: NDArray[Any], members: NDArray[Any], labels: NDArray[Any], classes: int, planes: int) -> SparsePlanes:
    """Return the planes that are set in each row, and their transpose, which leaves out the rows without a label.

    Parameters
    ----------
    starts : the first entry of each row in `members`, and the end of the last row.  # (row + 1,)
    members : the planes that are set in each row, increasing.
    labels : the class column; the largest code of its type means that there is no label.
    classes : the number of classes.
    planes : the number of planes.

    >>> both = sparse_planes(np.array([0, 2, 2, 3]), np.array([0, 1, 1]), np.array([1, 0, 0], np.uint8), 2, 2)
    >>> both.column_starts.tolist(), both.column_rows.tolist(), both.counts.tolist()
    ([0, 0, 1, 2, 3], [0, 2, 0], [2, 1])
    """
    starts, members = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(members, np.int32)
    counts = np.bincount(labels[labels != missing_code(labels.dtype)], minlength=classes)
    library = compiled()
    if library is None:
        columns = _columns_numpy(starts, members, labels, classes, planes)
    else:
        columns = _columns_c(library, starts, members, labels, classes, planes)
    return SparsePlanes(starts, members, *columns, counts, planes)


_Columns = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]


def _columns_c(
    library: ctypes.CDLL,
    starts: NDArray[np.int64],
    members: NDArray[np.int32],
    labels: NDArray[Any],
    classes: int,
    planes: int,
) -> _Columns:
    column, _kept_alive = columns_struct([labels])
    arguments = (address(starts), address(members), address(column), 0, len(labels), classes)
    bounds = np.zeros(planes * classes + 1, np.int64)
    library.naivete_sparse_columns(*arguments, address(bounds[1:]), None, None)
    np.cumsum(bounds, out=bounds)
    rows, places, position = np.empty(bounds[-1], np.int32), np.empty(bounds[-1], np.int64), bounds[:-1].copy()
    library.naivete_sparse_columns(*arguments, address(position), address(rows), address(places))
    return bounds, rows, places


def _columns_numpy(
    starts: NDArray[np.int64], members: NDArray[np.int32], labels: NDArray[Any], classes: int, planes: int
) -> _Columns:
    lengths = np.diff(starts)
    label = np.repeat(labels, lengths)
    places = np.flatnonzero(label != missing_code(labels.dtype))
    key = members[places].astype(np.int64) * classes + label[places]
    bounds = np.zeros(planes * classes + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=planes * classes), out=bounds[1:])
    order = _stable_order(key, planes * classes)
    rows = np.repeat(np.arange(len(labels), dtype=np.int32), lengths)
    return bounds, rows[places[order]], places[order]


def _stable_order(key: NDArray[np.int64], below: int) -> NDArray[np.intp]:
    """Return the order that sorts the keys, stable for equal keys; NumPy sorts 16-bit integers in linear time."""
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, below.bit_length(), 16):
        order = order[np.argsort((key[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def sparse_margins(planes: SparsePlanes) -> NDArray[np.int64]:
    """Return the number of rows of each class in which each plane is set.  # (class, plane)"""
    return np.ascontiguousarray(np.diff(planes.column_starts).reshape(planes.planes, len(planes.counts)).T)


def sparse_gram(planes: SparsePlanes, rows: slice, columns: slice) -> NDArray[np.int32]:
    """Return the number of rows of each class that two planes share, for each plane of `rows` and each plane of `columns`.

    Pairs whose second plane precedes the first are left 0.  # (class, rows, columns)
    """
    library = compiled()
    down, across = range(*rows.indices(planes.planes)), range(*columns.indices(planes.planes))
    counts = np.zeros((len(planes.counts), len(down), len(across)), np.int32)
    if counts.size and library is None:
        _gram_numpy(planes, down, across, counts)
    elif counts.size and library is not None:
        _gram_c(library, planes, down, across, counts)
    return counts


def _gram_c(library: ctypes.CDLL, planes: SparsePlanes, rows: range, columns: range, counts: NDArray[np.int32]) -> None:
    classes, height, width = counts.shape
    arrays = planes.starts, planes.members, planes.column_starts, planes.column_rows, planes.column_places
    incidences = Struct(*arrays, classes)

    def fill(part: tuple[int, int]) -> None:
        output = address(counts[:, part[0] - rows.start :])
        library.naivete_sparse_gram(incidences.address, *part, columns.start, columns.stop, output, height * width, width)

    run_parallel(fill, *_parts(planes, rows))


def _parts(planes: SparsePlanes, rows: range) -> tuple[list[tuple[int, int]], int]:
    """Return ranges of planes of about equal work, and the total work: an entry costs about half the planes of its row."""
    classes = len(planes.counts)
    entries = planes.column_starts[rows.start * classes : rows.stop * classes + 1 : classes]
    done = (entries - entries[0]) * (len(planes.members) // (2 * len(planes.starts)) + 1)
    work = int(done[-1])
    parts = 8 * threads() if work >= SERIAL else 1
    cuts = np.searchsorted(done, np.linspace(0, work, parts + 1)[1:-1])
    edges = sorted({rows.start, rows.stop, *(rows.start + cuts).tolist()})
    return list(pairwise(edges)), work


def _gram_numpy(planes: SparsePlanes, rows: range, columns: range, counts: NDArray[np.int32]) -> None:
    step = max(1, BATCH_PAIRS // (len(planes.counts) * len(columns)))
    for top in range(rows.start, min(rows.stop, columns.stop), step):  # in one thread: bincount holds the interpreter lock
        down, across = range(top, min(top + step, rows.stop)), range(max(top, columns.start), columns.stop)
        strip = counts[:, top - rows.start : down.stop - rows.start, across.start - columns.start :]
        for cells in _cells(planes, down, across):
            strip += np.bincount(cells, minlength=strip.size).reshape(strip.shape)


def _cells(planes: SparsePlanes, down: range, across: range) -> Iterator[NDArray[np.int64]]:
    """Yield the cells (class, down, across) of all pairs of planes that share a row, about `BATCH_PAIRS` at a time."""
    classes = len(planes.counts)
    bounds = planes.column_starts[down.start * classes : down.stop * classes + 1]
    places = planes.column_places[bounds[0] : bounds[-1]]
    lengths = planes.starts[planes.column_rows[bounds[0] : bounds[-1]] + 1] - places
    corners = (np.arange(classes) * len(down) + np.arange(len(down))[:, None]) * len(across) - across.start  # (down, class)
    corner = np.repeat(corners.ravel(), np.diff(bounds))
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(BATCH_PAIRS, lengths.sum(), BATCH_PAIRS))
    for lo, hi in pairwise([0, *cuts.tolist(), len(lengths)]):
        length = lengths[lo:hi]
        ends = np.cumsum(length)
        member = planes.members[np.repeat(places[lo:hi] - ends + length, length) + np.arange(length.sum())]
        cells = np.repeat(corner[lo:hi], length) + member
        whole = across.start <= down.start and across.stop == planes.planes
        yield cells if whole else cells[(member >= across.start) & (member < across.stop)]
