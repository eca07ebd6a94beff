"""Counting: the tables of several families in one pass over the rows, and the byte values that occur in a column."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code
from naivete._kernels.dispatch import address, columns_struct, compiled, on_gpu, require_memory, without_continuous
from naivete._kernels.layout import Codes, Layout
from naivete._kernels.threads import NUMPY_STEPS, SERIAL, ranges, run_parallel, sum_private, threads
from naivete.variables import Family

__all__ = ["RowBlock", "scatter", "seen"]


def scatter(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Count all families in one pass over the rows; a family ignores the rows in which one of its members is missing.

    Parameters
    ----------
    codes : the columns, the class last.
    layout : the families to count.
    weight : the integer weight of each row; 1 if None.

    >>> codes = [np.array([0, 0, 1, 255], np.uint8), np.array([0, 1, 1, 1], np.uint8)]
    >>> scatter(codes, Layout(((0, -1), (-1,)), cards=(2, 2))).tolist()
    [1, 1, 0, 1, 1, 3]
    """
    library, codes = compiled(), without_continuous(codes, layout.families)
    if on_gpu(len(codes[0]) * len(layout.families)):
        from naivete._kernels.device_counting import scatter_on_device

        return scatter_on_device(codes, layout, weight)
    if library is None or layout.largest >= 1 << 32:
        return _scatter_numpy(codes, layout, weight)
    return _scatter_c(library, codes, layout, None if weight is None else np.ascontiguousarray(weight, np.int64))


def _scatter_c(library: ctypes.CDLL, codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    rows, families, n = len(codes[0]), len(layout.families), len(codes)
    columns, _kept_alive = columns_struct(codes)
    struct = layout.struct(None)
    block = min(max(256, (1 << 17) // n // 16 * 16), 4096) if layout.size <= 1 << 15 else 1 << 15
    work, weights = rows * families, None if weight is None else address(weight)

    def fill(counts: NDArray[np.int64], first: int, last: int, lo: int, hi: int) -> None:
        arguments = (address(columns), n, struct.address, first, last, lo, hi, min(block, hi - lo))
        require_memory(library.naivete_scatter(*arguments, weights, address(counts)))

    workers = threads() if work >= SERIAL else 1
    if workers > 1 and layout.size * workers > max(rows, 1 << 16) and families >= workers:
        counts = np.zeros(layout.size, np.int64)
        run_parallel(lambda part: fill(counts, *part, 0, rows), ranges(families, work, 4), work)
        return counts
    parts = ranges(rows, work, 1, 4096) if layout.size <= max(rows, 1 << 20) else [(0, rows)]
    private = np.zeros((max(1, len(parts)), layout.size), np.int64)
    run_parallel(lambda i: fill(private[i], 0, families, *parts[i]), range(len(parts)), work)
    return sum_private(private)


def _scatter_numpy(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    counts = np.zeros(layout.size, np.int64)
    tables = list(zip(layout.families, layout.offsets.tolist(), layout.sizes, strict=True))
    block = min(max(8192, 4 * layout.largest), 1 << 20)
    for lo in range(0, len(codes[0]), block):  # in one thread: bincount holds the interpreter lock
        part, weights = RowBlock(codes, slice(lo, lo + block)), None if weight is None else weight[lo : lo + block]
        for family, start, size in tables:
            address, missing = part.address(family, layout.strides(family), size)
            if missing is None:
                counts[start : start + size] += _histogram(address, weights, size)
            else:
                observed = ~missing
                observed_weights = None if weights is None else weights[observed]
                counts[start : start + size] += _histogram(address[observed], observed_weights, size)
    return counts


def _histogram(address: NDArray[Any], weight: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    if weight is None:
        return np.bincount(address, minlength=size)
    if float(np.abs(weight).sum(dtype=np.float64)) < 2.0**52:  # every partial sum is exact in float64
        return np.bincount(address, weight, minlength=size).astype(np.int64)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, address, weight)
    return counts


class RowBlock:
    """A block of rows; each column is copied to contiguous memory when it is first used."""

    def __init__(self, codes: Codes, rows: slice) -> None:
        self.codes = codes
        self.rows = rows
        self.columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_] | None]] = {}

    def column(self, variable: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return the codes of one variable and the mask of missing ones; the mask is None if none is missing."""
        if variable not in self.columns:
            column = np.ascontiguousarray(self.codes[variable][self.rows])
            last = missing_code(column.dtype)
            missing = column == last if len(column) and column.max() == last else None
            self.columns[variable] = column, missing
        return self.columns[variable]

    def address(self, members: Family, strides: Sequence[int], size: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """Return the cell of each row, and the mask of rows with a missing member; the mask is None if there are none."""
        dtype = np.uint16 if size < 1 << 16 else np.uint32 if size < 1 << 32 else np.int64
        rows = len(self.codes[0][self.rows])
        address: NDArray[Any] = np.zeros(rows, dtype)
        any_missing: NDArray[np.bool_] | None = None
        for member, stride in zip(members, strides, strict=True):
            column, missing = self.column(member)
            address += np.multiply(column, stride, dtype=dtype, casting="unsafe")
            if missing is not None:
                any_missing = missing if any_missing is None else any_missing | missing
        return address, any_missing


def seen(columns: Codes) -> list[NDArray[np.bool_]]:
    """Return which of the 256 values occur in each of the uint8 columns.

    >>> np.flatnonzero(seen([np.array([3, 1, 3], np.uint8)])[0]).tolist()
    [1, 3]
    """
    library = compiled()
    if on_gpu(sum(map(len, columns))):
        from naivete._kernels.device_counting import seen_on_device

        return seen_on_device(columns)
    return _seen_numpy(columns) if library is None else _seen_c(library, columns)


def _seen_c(library: ctypes.CDLL, columns: Codes) -> list[NDArray[np.bool_]]:
    struct, arrays = columns_struct(columns)
    rows = len(arrays[0]) if arrays else 0
    parts = ranges(rows, rows * len(arrays), 1, 1024)
    occurs = np.zeros((len(parts), len(arrays), 256), bool)

    def fill(i: int) -> None:
        require_memory(library.naivete_seen(address(struct), len(arrays), *parts[i], address(occurs[i])))

    run_parallel(fill, range(len(parts)), rows * len(arrays))
    return list(np.logical_or.reduce(occurs, axis=0))


def _seen_numpy(columns: Codes) -> list[NDArray[np.bool_]]:
    occurs = np.zeros((len(columns), 256), bool)

    def fill(j: int) -> None:
        for lo in range(0, len(columns[j]), 1 << 16):
            part = np.ascontiguousarray(columns[j][lo : lo + (1 << 16)])
            unseen = np.flatnonzero(~occurs[j])  # codes are dense, so values above the first unseen one are rare
            if not len(unseen) or (part.max() >= unseen[0]):
                occurs[j, part] = True

    run_parallel(fill, range(len(columns)), work=NUMPY_STEPS * sum(map(len, columns)))
    return list(occurs)
