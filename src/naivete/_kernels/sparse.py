"""Planes of a table that is mostly first states: only the cells that hold are stored, and counted one by one."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.door import Struct, address, columns_struct, compiled
from naivete._kernels.threads import SERIAL, run_parallel, threads

__all__ = ["SparsePlanes", "sparse_gram", "sparse_margins", "sparse_planes"]

AT_ONCE = 1 << 18  # pairs of one numpy operation: enough to be worth the call, few enough for the cache


@dataclass(frozen=True)
class SparsePlanes:
    """Which planes hold in each row, and which rows each plane holds; the planes are those of `pack`.

    Parameters
    ----------
    starts : where the planes of each row begin, and the end of the last.  # (row + 1,)
    members : the planes that hold in each row, increasing.  # (entry,)
    column_starts : where the rows of each plane and class begin, plane by plane, and the end of the last.
        # (plane * class + 1,)
    column_rows : the rows with a label that each plane holds, by class.  # (labelled entry,)
    column_places : where the plane stands in `members` for each of them.  # (labelled entry,)
    counts : how many rows each class has.  # (class,)
    planes : how many planes there are.
    """

    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    column_starts: NDArray[np.int64]
    column_rows: NDArray[np.int32]
    column_places: NDArray[np.int64]
    counts: NDArray[np.int64]
    planes: int


def sparse_planes(starts: NDArray[Any], members: NDArray[Any], labels: NDArray[Any], classes: int, planes: int) -> SparsePlanes:
    """The planes that hold in each row, with their transpose; rows without a label are left out of that.

    Parameters
    ----------
    starts : where the planes of each row begin, and the end of the last.  # (row + 1,)
    members : the planes that hold in each row, increasing.
    labels : the class column, the largest code of its type where there is no label.
    classes : how many classes there are.
    planes : how many planes there are.

    >>> both = sparse_planes(np.array([0, 2, 2, 3]), np.array([0, 1, 1]), np.array([1, 0, 0], np.uint8), 2, 2)
    >>> both.column_starts.tolist(), both.column_rows.tolist(), both.counts.tolist()
    ([0, 0, 1, 2, 3], [0, 2, 0], [2, 1])
    """
    starts, members = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(members, np.int32)
    counts = np.bincount(labels[labels != np.iinfo(labels.dtype).max], minlength=classes)
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
    column, _held = columns_struct([labels])
    before = (address(starts), address(members), address(column), 0, len(labels), classes)
    bounds = np.zeros(planes * classes + 1, np.int64)
    library.naivete_sparse_columns(*before, address(bounds[1:]), None, None)
    np.cumsum(bounds, out=bounds)
    rows, places, at = np.empty(bounds[-1], np.int32), np.empty(bounds[-1], np.int64), bounds[:-1].copy()
    library.naivete_sparse_columns(*before, address(at), address(rows), address(places))
    return bounds, rows, places


def _columns_numpy(
    starts: NDArray[np.int64], members: NDArray[np.int32], labels: NDArray[Any], classes: int, planes: int
) -> _Columns:
    lengths = np.diff(starts)
    label = np.repeat(labels, lengths)
    places = np.flatnonzero(label != np.iinfo(labels.dtype).max)
    key = members[places].astype(np.int64) * classes + label[places]
    bounds = np.zeros(planes * classes + 1, np.int64)
    np.cumsum(np.bincount(key, minlength=planes * classes), out=bounds[1:])
    order = _stable_order(key, planes * classes)
    rows = np.repeat(np.arange(len(labels), dtype=np.int32), lengths)
    return bounds, rows[places[order]], places[order]


def _stable_order(key: NDArray[np.int64], below: int) -> NDArray[np.intp]:
    """The order that sorts the keys, equal ones as they stand; numpy sorts numbers of two bytes in linear time."""
    order = np.argsort(key.astype(np.uint16), kind="stable")
    for shift in range(16, below.bit_length(), 16):
        order = order[np.argsort((key[order] >> shift).astype(np.uint16), kind="stable")]
    return order


def sparse_margins(planes: SparsePlanes) -> NDArray[np.int64]:
    """How many rows of each class each plane holds.  # (class, plane)"""
    return np.ascontiguousarray(np.diff(planes.column_starts).reshape(planes.planes, len(planes.counts)).T)


def sparse_gram(planes: SparsePlanes, rows: slice, columns: slice) -> NDArray[np.int32]:
    """How many rows of each class two planes share: one of `rows`, the other of `columns`.

    A pair of which the second plane comes before the first is left 0.  # (class, rows, columns)
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
        to = address(counts[:, part[0] - rows.start :])
        library.naivete_sparse_gram(incidences.address, *part, columns.start, columns.stop, to, height * width, width)

    run_parallel(fill, *_parts(planes, rows))


def _parts(planes: SparsePlanes, rows: range) -> tuple[list[tuple[int, int]], int]:
    """Ranges of planes of about equal work, and all of it: a row of a plane takes about half of the row's planes."""
    classes = len(planes.counts)
    entries = planes.column_starts[rows.start * classes : rows.stop * classes + 1 : classes]
    done = (entries - entries[0]) * (len(planes.members) // (2 * len(planes.starts)) + 1)
    work = int(done[-1])
    parts = 8 * threads() if work >= SERIAL else 1
    cuts = np.searchsorted(done, np.linspace(0, work, parts + 1)[1:-1])
    edges = sorted({rows.start, rows.stop, *(rows.start + cuts).tolist()})
    return list(pairwise(edges)), work


def _gram_numpy(planes: SparsePlanes, rows: range, columns: range, counts: NDArray[np.int32]) -> None:
    step = max(1, AT_ONCE // (len(planes.counts) * len(columns)))
    for top in range(rows.start, min(rows.stop, columns.stop), step):  # in one thread: bincount keeps the others waiting
        down, across = range(top, min(top + step, rows.stop)), range(max(top, columns.start), columns.stop)
        strip = counts[:, top - rows.start : down.stop - rows.start, across.start - columns.start :]
        for cells in _cells(planes, down, across):
            strip += np.bincount(cells, minlength=strip.size).reshape(strip.shape)


def _cells(planes: SparsePlanes, down: range, across: range) -> Iterator[NDArray[np.int64]]:
    """Yield the cells (class, down, across) of all pairs of planes that contain a row, about `AT_ONCE` at a time."""
    classes = len(planes.counts)
    bounds = planes.column_starts[down.start * classes : down.stop * classes + 1]
    places = planes.column_places[bounds[0] : bounds[-1]]
    lengths = planes.starts[planes.column_rows[bounds[0] : bounds[-1]] + 1] - places
    corners = (np.arange(classes) * len(down) + np.arange(len(down))[:, None]) * len(across) - across.start  # (down, class)
    corner = np.repeat(corners.ravel(), np.diff(bounds))
    cuts = np.searchsorted(np.cumsum(lengths), np.arange(AT_ONCE, lengths.sum(), AT_ONCE))
    for lo, hi in pairwise([0, *cuts.tolist(), len(lengths)]):
        own = lengths[lo:hi]
        ends = np.cumsum(own)
        member = planes.members[np.repeat(places[lo:hi] - ends + own, own) + np.arange(own.sum())]
        cells = np.repeat(corner[lo:hi], own) + member
        whole = across.start <= down.start and across.stop == planes.planes
        yield cells if whole else cells[(member >= across.start) & (member < across.stop)]
