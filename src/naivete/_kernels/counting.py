"""Counting rows: the tables of any families in one pass, and which bytes occur."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.door import address, columns_struct, compiled, remembered, without_numbers
from naivete._kernels.layout import Codes, Layout
from naivete._kernels.threads import SERIAL, added_up, ranges, run_parallel, threads
from naivete.variables import Family

__all__ = ["RowBlock", "scatter", "seen"]


def scatter(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The counts of all families in one pass over the rows; a row with a missing member is left out of that family.

    Parameters
    ----------
    codes : the columns, the class last.
    layout : the families to count.
    weight : how often each row counts; once where None.

    >>> codes = [np.array([0, 0, 1, 255], np.uint8), np.array([0, 1, 1, 1], np.uint8)]
    >>> scatter(codes, Layout(((0, -1), (-1,)), cards=(2, 2))).tolist()
    [1, 1, 0, 1, 1, 3]
    """
    library, codes = compiled(), without_numbers(codes, layout.families)
    if library is None or max(layout.sizes, default=0) >= 1 << 32:
        return _scatter_numpy(codes, layout, weight)
    return _scatter_c(library, codes, layout, None if weight is None else np.ascontiguousarray(weight, np.int64))


def _scatter_c(library: ctypes.CDLL, codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    rows, families, n = len(codes[0]), len(layout.families), len(codes)
    columns, _held = columns_struct(codes)
    struct = layout.struct(None)
    block = min(max(256, (1 << 17) // n // 16 * 16), 4096) if layout.size <= 1 << 15 else 1 << 15
    work, heavy = rows * families, None if weight is None else address(weight)

    def fill(counts: NDArray[np.int64], first: int, last: int, lo: int, hi: int) -> None:
        at = (address(columns), n, struct.address, first, last, lo, hi, min(block, hi - lo))
        remembered(library.naivete_scatter(*at, heavy, address(counts)))

    workers = threads() if work >= SERIAL else 1
    if workers > 1 and layout.size * workers > max(rows, 1 << 16) and families >= workers:
        counts = np.zeros(layout.size, np.int64)
        run_parallel(lambda part: fill(counts, *part, 0, rows), ranges(families, work, 4), work)
        return counts
    parts = ranges(rows, work, 1, 4096) if layout.size <= max(rows, 1 << 20) else [(0, rows)]
    private = np.zeros((max(1, len(parts)), layout.size), np.int64)
    run_parallel(lambda i: fill(private[i], 0, families, *parts[i]), range(len(parts)), work)
    return added_up(private)


def _scatter_numpy(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    counts = np.zeros(layout.size, np.int64)
    tables = list(zip(layout.families, layout.offsets.tolist(), layout.sizes, strict=True))
    block = min(max(8192, 4 * max(layout.sizes, default=1)), 1 << 20)
    for lo in range(0, len(codes[0]), block):  # in one thread: bincount keeps the others waiting
        part, heavy = RowBlock(codes, slice(lo, lo + block)), None if weight is None else weight[lo : lo + block]
        for family, start, size in tables:
            address, missing = part.address(family, layout.strides(family), size)
            if missing is None:
                counts[start : start + size] += _histogram(address, heavy, size)
            else:
                there = ~missing
                counts[start : start + size] += _histogram(address[there], None if heavy is None else heavy[there], size)
    return counts


def _histogram(address: NDArray[Any], weight: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    if weight is None:
        return np.bincount(address, minlength=size)
    if float(np.abs(weight).sum(dtype=np.float64)) < 2.0**52:  # every partial sum is a float without rounding
        return np.bincount(address, weight, minlength=size).astype(np.int64)
    counts = np.zeros(size, np.int64)
    np.add.at(counts, address, weight)
    return counts


class RowBlock:
    """Some rows of the columns; each column is copied to contiguous memory when it is first used."""

    def __init__(self, codes: Codes, rows: slice) -> None:
        self.codes = codes
        self.rows = rows
        self.columns: dict[int, tuple[NDArray[Any], NDArray[np.bool_] | None]] = {}

    def column(self, variable: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The codes of one variable and where they are missing, None where nowhere."""
        if variable not in self.columns:
            column = np.ascontiguousarray(self.codes[variable][self.rows])
            last = np.iinfo(column.dtype).max
            missing = column == last if len(column) and column.max() == last else None
            self.columns[variable] = column, missing
        return self.columns[variable]

    def address(self, members: Family, strides: Sequence[int], size: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
        """The cell of each row, and the rows that have none."""
        dtype = np.uint16 if size < 1 << 16 else np.uint32 if size < 1 << 32 else np.int64
        rows = len(self.codes[0][self.rows])
        address: NDArray[Any] = np.zeros(rows, dtype)
        anywhere: NDArray[np.bool_] | None = None
        for member, stride in zip(members, strides, strict=True):
            column, missing = self.column(member)
            address += np.multiply(column, stride, dtype=dtype, casting="unsafe")
            if missing is not None:
                anywhere = missing if anywhere is None else anywhere | missing
        return address, anywhere


def seen(columns: Codes) -> list[NDArray[np.bool_]]:
    """Which of the 256 values occur in each of the uint8 columns.

    >>> np.flatnonzero(seen([np.array([3, 1, 3], np.uint8)])[0]).tolist()
    [1, 3]
    """
    library = compiled()
    return _seen_numpy(columns) if library is None else _seen_c(library, columns)


def _seen_c(library: ctypes.CDLL, columns: Codes) -> list[NDArray[np.bool_]]:
    struct, held = columns_struct(columns)
    rows = len(held[0]) if held else 0
    parts = ranges(rows, rows * len(held), 1, 1024)
    found = np.zeros((len(parts), len(held), 256), bool)

    def fill(i: int) -> None:
        remembered(library.naivete_seen(address(struct), len(held), *parts[i], address(found[i])))

    run_parallel(fill, range(len(parts)), rows * len(held))
    return list(np.logical_or.reduce(found, axis=0))


def _seen_numpy(columns: Codes) -> list[NDArray[np.bool_]]:
    found = np.zeros((len(columns), 256), bool)

    def look(j: int) -> None:
        for lo in range(0, len(columns[j]), 1 << 16):
            part = np.ascontiguousarray(columns[j][lo : lo + (1 << 16)])
            known = np.flatnonzero(~found[j])  # codes are dense, so there is seldom anything above the first of these
            if not len(known) or (part.max() >= known[0]):
                found[j, part] = True

    run_parallel(look, range(len(columns)), work=sum(map(len, columns)))
    return list(found)
