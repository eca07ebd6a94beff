"""Bit planes: one bitmap for every state but the first, and the number of set bits that two bitmaps share in each class."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code
from naivete._kernels.column_blocks import row_major_matrix
from naivete._kernels.dispatch import Struct, address, columns_struct, compiled, require_memory
from naivete._kernels.layout import Codes
from naivete._kernels.sparse import SparsePlanes, sparse_gram, sparse_margins
from naivete._kernels.threads import SERIAL, ranges, run_parallel, sum_private

if TYPE_CHECKING:
    from naivete._kernels.device_planes import DevicePlanes

__all__ = ["AnyPlanes", "Planes", "gram", "margins", "pack"]

WORD = 64
"""The bits of a word of a plane."""

PADDING = 8
"""The number of words of a class is a multiple of this, so that a SIMD vector never crosses a class boundary."""

BATCH_WORDS = 1 << 19
"""The words in one NumPy operation: large enough to amortize the call, small enough for the cache."""


@dataclass(frozen=True)
class Planes:
    """One bitmap for each state of each feature except its first state, over rows that are grouped by class.

    Parameters
    ----------
    words : the bitmaps; row r of a class is bit r % 64 of word r // 64 of the class.  # (plane, word)
    bounds : the first word of each class, and the end of the last class.  # (class + 1,)
    first : the first plane of each feature, and the end of the last feature; if a feature has missing values, its last
        plane marks the rows where it is observed.  # (feature + 1,)
    counts : the number of rows of each class.  # (class,)
    """

    words: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]


AnyPlanes: TypeAlias = "Planes | SparsePlanes | DevicePlanes"


def pack(codes: Codes, cards: Sequence[int], missing: Sequence[bool], labels: NDArray[Any], classes: int) -> Planes:
    """Return the bit planes of feature columns; rows without a label are left out.

    Parameters
    ----------
    codes : the columns.
    cards : the number of states of each column.
    missing : whether a column has missing values and needs a plane that marks the rows where it is observed.
    labels : the class column.
    classes : the number of classes.

    >>> planes = pack([np.array([0, 1, 2, 1], np.uint8)], [3], [False], np.array([1, 0, 1, 1], np.uint8), 2)
    >>> planes.words[:, planes.bounds[:2]].tolist(), planes.counts.tolist()
    ([[1, 4], [0, 2]], [1, 3])
    """
    first = np.cumsum([0, *(card - 1 + bool(absent) for card, absent in zip(cards, missing, strict=True))], dtype=np.int64)
    library = compiled()
    if library is None or len(labels) >= 1 << 32:
        order, counts = _class_order_numpy(labels, classes)
        planes = _empty_planes(first, counts)
        _pack_numpy(codes, cards, missing, order, planes)
    else:
        rows, counts = _class_order_c(library, labels, classes)
        planes = _empty_planes(first, counts)
        _pack_c(library, codes, cards, missing, rows, planes)
    return planes


def _empty_planes(first: NDArray[np.int64], counts: NDArray[np.int64]) -> Planes:
    """Return uninitialized planes, aligned with cache lines."""
    bounds = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(-(-counts // (WORD * PADDING)) * PADDING, out=bounds[1:])
    planes, width = int(first[-1]), int(bounds[-1])
    flat = np.empty(planes * width + 8, np.uint64)
    start = -address(flat) % 64 // 8
    return Planes(flat[start : start + planes * width].reshape(planes, width), bounds, first, counts)


def _class_order_c(library: ctypes.CDLL, labels: NDArray[Any], classes: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the rows sorted by class, those without a label last, and the number of rows of each class.

    A first pass counts the classes in each part of the rows, a second one writes each part to its position.
    """
    column, _kept_alive = columns_struct([labels])
    parts = ranges(len(labels), len(labels), 1, 4096)
    position = np.zeros((len(parts), classes + 1), np.int64)
    order = np.empty(len(labels), np.uint32)

    def fill(i: int, output: int | None) -> None:
        library.naivete_class_order(address(column), *parts[i], classes, address(position[i]), output)

    run_parallel(lambda i: fill(i, None), range(len(parts)), len(labels))
    counts = position.sum(axis=0)
    position[:] = np.cumsum(position.T).reshape(classes + 1, -1).T - position  # by class, then by part
    run_parallel(lambda i: fill(i, address(order)), range(len(parts)), len(labels))
    return order, counts[:classes]


def _bitmaps(planes: Planes) -> Struct:
    return Struct(planes.words, planes.bounds, planes.counts, planes.words.shape[1], len(planes.counts))


def _pack_c(
    library: ctypes.CDLL, codes: Codes, cards: Sequence[int], missing: Sequence[bool], order: NDArray[np.uint32], planes: Planes
) -> None:
    columns, _kept_alive = columns_struct(codes)
    bitmaps = _bitmaps(planes)
    sizes, has_missing = np.array(cards, np.int64), np.array(missing, np.uint8)
    arguments = (address(columns), len(codes), address(sizes), address(has_missing), address(planes.first), address(order))
    work = len(order) * len(codes)

    def fill(part: tuple[int, int]) -> None:
        require_memory(library.naivete_pack(*arguments, bitmaps.address, *part))

    run_parallel(fill, ranges(planes.words.shape[1], work, 8, 16), work)


def _class_order_numpy(labels: NDArray[Any], classes: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return the rows sorted by class, in a stable order, and the number of rows of each class."""
    counts = np.bincount(labels[labels != missing_code(labels.dtype)], minlength=classes)
    if classes > 8:
        return np.argsort(labels, kind="stable")[: counts.sum()], counts
    return np.concatenate([np.flatnonzero(labels == c) for c in range(classes)]), counts


def _pack_numpy(codes: Codes, cards: Sequence[int], missing: Sequence[bool], order: NDArray[np.intp], planes: Planes) -> None:
    out = planes.words.view(np.uint8)
    dtypes = {c.dtype for c in codes}
    groups = [_ColumnGroup(np.flatnonzero([c.dtype == dtype for c in codes]), codes, cards, missing) for dtype in dtypes]
    step = max(512, min(1 << 14, (1 << 20) // max(1, len(codes)) // 512 * 512))
    starts, tasks = np.cumsum(planes.counts) - planes.counts, []
    for start, count, word in zip(starts.tolist(), planes.counts.tolist(), planes.bounds.tolist(), strict=False):
        tasks += [(start + lo, min(step, count - lo), word * 8 + lo // 8) for lo in range(0, count, step)]

    def fill(task: tuple[int, int, int]) -> None:
        start, count, lo = task
        hi = lo + -(-count // 512) * WORD
        for group in groups:
            chunk = group.rows(order[start : start + count], (hi - lo) * 8)
            for members, state in group.states:
                rows = chunk if len(members) == len(chunk) else chunk[members]
                out[planes.first[group.columns[members]] + (state - 1), lo:hi] = np.packbits(rows == state, 1, "little")
            if len(group.incomplete):
                observed = chunk[group.incomplete] != group.missing_code
                out[planes.first[group.columns[group.incomplete] + 1] - 1, lo:hi] = np.packbits(observed, 1, "little")

    run_parallel(fill, tasks, work=len(order) * len(out))


class _ColumnGroup:
    """Columns of one data type, which NumPy packs together.

    `states` holds every state but the first with the positions of the columns that have it, `incomplete` the positions of
    the columns with missing values, which need a plane that marks the observed rows.
    """

    def __init__(self, columns: NDArray[np.intp], codes: Codes, cards: Sequence[int], missing: Sequence[bool]) -> None:
        self.columns, self.codes = columns, [codes[j] for j in columns]
        sizes = np.array(cards)[columns]
        self.states = [(np.flatnonzero(sizes > state), state) for state in range(1, int(sizes.max()))]
        self.incomplete = np.flatnonzero(np.array(missing)[columns])
        self.missing_code = missing_code(self.codes[0].dtype)
        self.matrix = row_major_matrix(self.codes)

    def rows(self, rows: NDArray[np.intp], width: int) -> NDArray[Any]:
        """Return the codes of the rows, padded with the code for missing to the width.  # (column, row)"""
        chunk = np.full((len(self.codes), width), self.missing_code, self.codes[0].dtype)
        if self.matrix is not None:
            chunk[:, : len(rows)] = self.matrix.take(rows, 0).T if self.matrix.flags.c_contiguous else self.matrix[rows].T
            return chunk
        for line, column in zip(chunk, self.codes, strict=True):
            line[: len(rows)] = column[rows]
        return chunk


def margins(planes: AnyPlanes) -> NDArray[np.int64]:
    """Return the number of set bits of each plane in each class.  # (class, plane)"""
    if isinstance(planes, SparsePlanes):
        return sparse_margins(planes)
    if not isinstance(planes, Planes):
        from naivete._kernels.device_planes import device_margins

        return device_margins(planes)
    library = compiled()
    return _margins_numpy(planes) if library is None else _margins_c(library, planes)


def _margins_c(library: ctypes.CDLL, planes: Planes) -> NDArray[np.int64]:
    count, width = planes.words.shape
    totals = np.empty((len(planes.counts), count), np.int64)
    bitmaps = _bitmaps(planes)

    def fill(part: tuple[int, int]) -> None:
        library.naivete_margins(bitmaps.address, *part, count, address(totals))

    work = count * width
    run_parallel(fill, ranges(count, work, 2, 4), work)
    return totals


def _margins_numpy(planes: Planes) -> NDArray[np.int64]:
    totals = np.empty((len(planes.counts), len(planes.words)), np.int64)
    for c, (lo, hi) in enumerate(zip(planes.bounds[:-1].tolist(), planes.bounds[1:].tolist(), strict=True)):
        totals[c] = np.bitwise_count(planes.words[:, lo:hi]).sum(axis=1, dtype=np.int64)
    return totals


def gram(planes: AnyPlanes, rows: slice, columns: slice) -> NDArray[np.int32]:
    """Return the number of rows of each class that two planes share, for each plane of `rows` and each plane of `columns`.

    Pairs whose second plane precedes the first may be left 0.  # (class, rows, columns)
    """
    if isinstance(planes, SparsePlanes):
        return sparse_gram(planes, rows, columns)
    library, height = compiled(), int(planes.first[-1])
    down, across = range(*rows.indices(height)), range(*columns.indices(height))
    if not isinstance(planes, Planes):
        from naivete._kernels.device_planes import device_gram

        return device_gram(planes, down, across)
    return _gram_numpy(planes, down, across) if library is None else _gram_c(library, planes, down, across)


def _gram_c(library: ctypes.CDLL, planes: Planes, rows: range, columns: range) -> NDArray[np.int32]:
    shape = len(planes.counts), len(rows), len(columns)
    width, cells = planes.words.shape[1], shape[1] * shape[2]
    work = cells * width // 4
    bitmaps = _bitmaps(planes)

    def fill(counts: NDArray[np.int32], row: tuple[int, int], words: tuple[int, int]) -> None:
        lo, hi = (rows.start + r for r in row)
        output = address(counts[:, row[0] :])
        library.naivete_gram(bitmaps.address, lo, hi, columns.start, columns.stop, *words, output, cells, shape[2])

    if work < SERIAL or cells * shape[0] > width * 64:  # many pairs of short planes: each thread takes some rows of the result
        counts = np.zeros(shape, np.int32)
        run_parallel(lambda row: fill(counts, row, (0, width)), ranges(shape[1], work, 16, 4), work)
        return counts
    parts = ranges(width, work, 1, PADDING)
    private = np.zeros((len(parts), *shape), np.int32)
    run_parallel(lambda i: fill(private[i], (0, shape[1]), parts[i]), range(len(parts)), work)
    return sum_private(private)


def _gram_numpy(planes: Planes, rows: range, columns: range) -> NDArray[np.int32]:
    counts = np.zeros((len(planes.counts), len(rows), len(columns)), np.int32)
    spans = _spans(planes.bounds.tolist())
    longest = max((span[-1][2] - span[0][1] for span in spans), default=1)
    wide = max(1, min(len(columns), BATCH_WORDS // longest))
    high = max(1, min(len(rows), BATCH_WORDS // (wide * longest)))

    def fill(strip: tuple[int, int]) -> None:
        top, bottom = strip
        down = slice(rows.start + top, rows.start + bottom)
        shared = np.empty(high * wide * longest, np.uint64)
        ones = np.empty(shared.shape, np.uint8)
        for span in spans:
            lo, hi = span[0][1], span[-1][2]
            for left in range(max(0, down.start - columns.start), len(columns), wide):
                right = min(left + wide, len(columns))
                across = slice(columns.start + left, columns.start + right)
                shape = bottom - top, right - left, hi - lo
                both, bits = shared[: prod(shape)], ones[: prod(shape)]
                np.bitwise_and(planes.words[down, None, lo:hi], planes.words[None, across, lo:hi], out=both.reshape(shape))
                np.bitwise_count(both, out=bits)
                for c, start, end in span:
                    counts[c, top:bottom, left:right] += _sums(bits.reshape(shape)[..., start - lo : end - lo])

    work = len(rows) * len(columns) * planes.words.shape[1]
    run_parallel(fill, [(top, min(top + high, len(rows))) for top in range(0, len(rows), high)], work)
    return counts


def _spans(bounds: list[int]) -> list[list[tuple[int, int, int]]]:
    """Return groups of at most 512 consecutive words; each group lists its classes with their first word and their end.

    >>> _spans([0, 8, 8, 1000])
    [[(0, 0, 8)], [(2, 8, 520)], [(2, 520, 1000)]]
    """
    spans: list[list[tuple[int, int, int]]] = []
    for c, (start, end) in enumerate(pairwise(bounds)):
        for lo in range(start, end, 512):
            hi = min(lo + 512, end)
            if not spans or hi - spans[-1][0][1] > 512:
                spans.append([])
            spans[-1].append((c, lo, hi))
    return spans


def _sums(ones: NDArray[np.uint8]) -> NDArray[Any]:
    """Return sums over the last axis of at most 512 numbers up to 64; for short axes a matrix product is faster than a sum."""
    if ones.shape[-1] >= 256:
        total: NDArray[Any] = np.add.reduce(ones, axis=-1, dtype=np.uint16)
    else:
        total = (ones @ np.ones(ones.shape[-1], np.float32)).astype(np.int32)
    return total
