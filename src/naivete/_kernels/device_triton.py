"""Fused kernels of the GPU tier, by Triton: codes become ones and zeros in registers, which tensor cores multiply as bytes."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from naivete._kernels.device import DeviceColumns, on_device
from naivete._kernels.layout import Layout

__all__ = ["gather", "gram", "permuted", "scatter", "transpose"]

TILE = 128
"""The number of planes that a program multiplies with the same number of others."""
STEP = 128
"""The number of rows that it multiplies at a time."""
WARPS, STAGES = 8, 3
"""The warps of a program, and how many steps ahead it loads codes."""
WAVES = 4
"""The most programs that should run one after the other on a multiprocessor."""
FEW_CELLS = 64
"""Tables of at most this many cells are counted by comparing every row with every cell, larger ones by atomic additions."""
CLASSES_AT_ONCE = 64
"""The number of classes for which a program adds values; the time of the compiler grows with it."""


@triton.jit
def _permute(pointers, positions, out, width, features, ROWS: tl.constexpr, FEATURES: tl.constexpr):
    offsets = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = offsets < width
    rows = tl.load(positions + offsets, mask=inside, other=-1)
    for i in range(FEATURES):
        x = tl.program_id(1) * FEATURES + i
        if x < features:
            column = tl.load(pointers + 2 * x).to(tl.pointer_type(tl.uint8))
            codes = tl.load(column + rows, mask=rows >= 0, other=255)
            tl.store(out + x.to(tl.int64) * width + offsets, codes, mask=inside)


def permuted(columns: DeviceColumns, positions: Any) -> Any:
    """Return the codes of the rows at the positions, 255 where a position is -1.  # (column, position)"""
    features, width = len(columns), len(positions)
    out = torch.empty((features, width), dtype=torch.uint8, device=positions.device)
    if out.numel():
        grid = (triton.cdiv(width, 1024), triton.cdiv(features, 16))
        _permute[grid](columns.pointers, positions, out, width, features, ROWS=1024, FEATURES=16, num_warps=8)
    return out


@triton.jit
def _transpose(matrix, rows, features, out, width, ROWS: tl.constexpr, FEATURES: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    f = tl.program_id(1).to(tl.int64) * FEATURES + tl.arange(0, FEATURES)
    inside = (r < rows)[:, None] & (f < features)[None, :]
    codes = tl.load(matrix + r[:, None] * features + f[None, :], mask=inside)
    tl.store(out + f[:, None] * width + r[None, :], tl.trans(codes), mask=tl.trans(inside))


def transpose(matrix: Any, out: Any) -> None:
    """Write a row-major matrix of bytes into columns that have a fixed distance.  # (row, column), (column, row)"""
    rows, features = matrix.shape
    if matrix.numel():
        grid = (triton.cdiv(rows, 128), triton.cdiv(features, 64))
        _transpose[grid](matrix, rows, features, out, out.stride(0), ROWS=128, FEATURES=64, num_warps=4)


@triton.jit
def _gram(
    codes, width, labels, lines, states, tiles, chunks, out, row0, height, column0, breadth, classes,
    SORTED: tl.constexpr, DIAGONAL: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Count a tile of pairs of planes over a chunk of positions, of one class or of two classes at the same time."""
    top = tl.load(tiles + 2 * tl.program_id(0))
    left = tl.load(tiles + 2 * tl.program_id(0) + 1)
    label = tl.load(chunks + 3 * tl.program_id(1))
    first = tl.multiple_of(tl.load(chunks + 3 * tl.program_id(1) + 1), STEP)
    last = tl.load(chunks + 3 * tl.program_id(1) + 2)
    rows = top * TILE + tl.arange(0, TILE)
    columns = left * TILE + tl.arange(0, TILE)
    starts_a = (tl.load(lines + row0 + rows, mask=rows < height, other=0) * width)[:, None]
    state_a = tl.load(states + row0 + rows, mask=rows < height, other=254).to(tl.uint8)[:, None]
    observed_a = state_a == 255
    starts_b = (tl.load(lines + column0 + columns, mask=columns < breadth, other=0) * width)[:, None]
    state_b = tl.load(states + column0 + columns, mask=columns < breadth, other=254).to(tl.uint8)[:, None]
    observed_b = state_b == 255
    steps = tl.arange(0, STEP)
    one = tl.zeros((TILE, TILE), tl.int32)
    two = tl.zeros((TILE, TILE), tl.int32)
    for k in range(first, last, STEP):
        places = (tl.multiple_of(k, STEP) + steps)[None, :]
        a = (tl.load(codes + starts_a + places) == state_a) ^ observed_a
        if DIAGONAL:  # noqa: SIM108
            b = a
        else:
            b = (tl.load(codes + starts_b + places) == state_b) ^ observed_b
        ones = tl.trans(b.to(tl.int8))
        if SORTED:
            one = tl.dot(a.to(tl.int8), ones, one, out_dtype=tl.int32)
        else:
            label_k = tl.load(labels + places)
            one = tl.dot((a & (label_k == label)).to(tl.int8), ones, one, out_dtype=tl.int32)
            two = tl.dot((a & (label_k == label + 1)).to(tl.int8), ones, two, out_dtype=tl.int32)
    inside = (rows < height)[:, None] & (columns < breadth)[None, :]
    cells = out + label * height * breadth + rows[:, None] * breadth + columns[None, :]
    tl.atomic_add(cells, one, mask=inside, sem="relaxed")
    if not SORTED:
        last_rows = tl.minimum(height, (classes - 1 - label) * height)  # 0 where there is no second class
        tl.atomic_add(cells + height * breadth, two, mask=inside & (rows < last_rows)[:, None], sem="relaxed")


def gram(codes: Any, labels: Any, spans: Any, lines: Any, states: Any, rows: range, columns: range, total: Any) -> None:
    """Add the number of positions of each class that two planes share; pairs whose second plane precedes the first may be left out.

    Parameters
    ----------
    codes : the codes.  # (line, position)
    labels : the class of each position; None where they are sorted by class.
    spans : each class with the first position of its rows and their end, multiples of STEP.
    lines, states : of the planes.
    rows, columns : the planes.
    total : the counts.  # (class, rows, columns)
    """
    plan = _plan(rows, columns, tuple(spans if labels is None else spans[::2]), codes.device)  # sorted, or two classes at a time
    for tiles, chunks, diagonal in plan:
        _gram[len(tiles), len(chunks)](
            *(codes, codes.shape[1], codes if labels is None else labels, lines, states, tiles, chunks),
            *(total, rows.start, len(rows), columns.start, len(columns), len(total)),
            SORTED=labels is None, DIAGONAL=diagonal, TILE=TILE, STEP=STEP, num_warps=WARPS, num_stages=STAGES,
        )  # fmt: skip


@lru_cache(64)
def _plan(rows: range, columns: range, spans: tuple[tuple[int, int, int], ...], device: Any) -> list[tuple[Any, Any, bool]]:
    """Return tiles of pairs of planes with chunks of positions, on the device: of planes with themselves, and of others."""
    high, wide = triton.cdiv(len(rows), TILE), triton.cdiv(len(columns), TILE)
    last_column = [columns.start + min(len(columns), (j + 1) * TILE) - 1 for j in range(wide)]
    tiles = [(i, j) for i in range(high) for j in range(wide) if last_column[j] >= rows.start + i * TILE]
    work = sum(last - first for _, first, last in spans)
    diagonal = [(i, j) for i, j in tiles if rows == columns and i == j]
    others = [(i, j) for i, j in tiles if rows != columns or i != j]
    plan = []
    for some, is_diagonal in ((diagonal, True), (others, False)):
        if some and work:
            length = triton.cdiv(triton.cdiv(work, _chunks(len(some), device)), STEP) * STEP
            chunks = [(c, lo, min(lo + length, last)) for c, first, last in spans for lo in range(first, last, length)]
            plan.append((*(on_device(np.array(numbers, np.int64)) for numbers in (some, chunks)), is_diagonal))
    return plan


def _chunks(tiles: int, device: Any) -> int:
    """Return into how many chunks to divide the positions, so that programs of all tiles keep all multiprocessors busy."""
    processors = _processors(device)
    best = max(range(1, WAVES + 1), key=lambda waves: (tiles * (waves * processors // tiles) / (waves * processors), -waves))
    return max(1, best * processors // tiles)


@cache
def _processors(device: Any) -> int:
    return int(torch.cuda.get_device_properties(device).multi_processor_count) if device.type == "cuda" else 2


@triton.jit
def _cells(pointers, members, strides, first, last, rows, inside, ROWS: tl.constexpr):
    """Return the cell of each row in the table of a family, -1 where a member is missing."""
    cells = tl.zeros((ROWS,), tl.int64)
    known = inside
    for i in range(first, last):
        v = tl.load(members + i)
        stride = tl.load(strides + i)
        start = tl.load(pointers + 2 * v)
        if tl.load(pointers + 2 * v + 1) == 0:
            start = tl.multiple_of(start, 128)
            codes = tl.load(start.to(tl.pointer_type(tl.uint8)) + rows, mask=inside, other=255).to(tl.int64)
            known = known & (codes != 255)
            cells += codes * stride
        else:
            wide = tl.load(start.to(tl.pointer_type(tl.int32)) + rows, mask=inside, other=-1).to(tl.int64)
            known = known & (wide >= 0)
            cells += wide * stride
    return tl.where(known, cells, -1)


@triton.jit
def _scatter_few(
    pointers, members, strides, bounds, offsets, families, weight, out, count, span,
    WEIGHTED: tl.constexpr, CELLS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    f = tl.load(families + tl.program_id(0))
    first = tl.load(bounds + f)
    last = tl.load(bounds + f + 1)
    start = tl.program_id(1).to(tl.int64) * span
    numbers = tl.arange(0, CELLS)
    totals = tl.zeros((CELLS,), tl.int64)
    for lo in range(start, tl.minimum(start + span, count), ROWS):
        rows = tl.multiple_of(lo, ROWS) + tl.arange(0, ROWS)
        inside = rows < count
        cells = _cells(pointers, members, strides, first, last, rows, inside, ROWS).to(tl.int32)
        hits = cells[None, :] == numbers[:, None]
        if WEIGHTED:
            weights = tl.load(weight + rows, mask=inside, other=0)
            totals += tl.sum(tl.where(hits, weights[None, :], 0), axis=1)
        else:
            totals += tl.sum(hits.to(tl.int32), axis=1)
    size = tl.load(offsets + f + 1) - tl.load(offsets + f)
    tl.atomic_add(out + tl.load(offsets + f) + numbers, totals, mask=(numbers < size) & (totals != 0), sem="relaxed")


@triton.jit
def _scatter_many(
    pointers, members, strides, bounds, offsets, families, weight, out, count, span,
    WEIGHTED: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    f = tl.load(families + tl.program_id(0))
    first = tl.load(bounds + f)
    last = tl.load(bounds + f + 1)
    table = out + tl.load(offsets + f)
    start = tl.program_id(1).to(tl.int64) * span
    for lo in range(start, tl.minimum(start + span, count), ROWS):
        rows = tl.multiple_of(lo, ROWS) + tl.arange(0, ROWS)
        inside = rows < count
        cells = _cells(pointers, members, strides, first, last, rows, inside, ROWS)
        if WEIGHTED:  # noqa: SIM108
            weights = tl.load(weight + rows, mask=inside, other=0)
        else:
            weights = tl.full((ROWS,), 1, tl.int64)
        tl.atomic_add(table + cells, weights, mask=cells >= 0, sem="relaxed")


def scatter(columns: DeviceColumns, layout: Layout, weight: Any) -> Any:
    """Return the counts of all families as a tensor of 64-bit integers."""
    pointers = columns.pointers
    count = columns.rows
    out = torch.zeros(layout.size, dtype=torch.int64, device=pointers.device)
    if not count or not layout.families:
        return out
    arrays = _family_arrays(layout, None)
    by_cells: dict[int, list[int]] = {}
    for f, size in enumerate(layout.sizes):
        by_cells.setdefault(max(4, triton.next_power_of_2(size)) if size <= FEW_CELLS else 0, []).append(f)
    arguments = out if weight is None else weight
    for cells, families in by_cells.items():
        rows = max(128, 8192 // cells) if cells else 1024
        parts = max(1, min(triton.cdiv(count, 4 * rows), 16 * _processors(pointers.device) // len(families)))
        span = triton.cdiv(triton.cdiv(count, parts), rows) * rows
        grid = (len(families), triton.cdiv(count, span))
        chosen = on_device(np.array(families, np.int64))
        common = (pointers, *arrays, chosen, arguments, out, count, span)
        if cells:
            _scatter_few[grid](*common, WEIGHTED=weight is not None, CELLS=cells, ROWS=rows, num_warps=4)
        else:
            _scatter_many[grid](*common, WEIGHTED=weight is not None, ROWS=rows, num_warps=4)
    return out


def _family_arrays(layout: Layout, last: int | None) -> tuple[Any, ...]:
    """Return members, strides, bounds of the members of each family, and offsets of the tables with their end, on the device."""
    bounds, flat, strides, offsets, _ = layout.struct(last).members
    return tuple(on_device(np.asarray(array)) for array in (flat, strides, bounds, np.append(offsets, layout.size)))


@triton.jit
def _gather(
    pointers, members, strides, bounds, offsets, values, out, count, families, classes,
    CLASSES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = rows < count
    labels = tl.program_id(1) * CLASSES + tl.arange(0, CLASSES)
    totals = tl.zeros((ROWS, CLASSES), tl.float64)
    for f in range(families):
        cells = _cells(pointers, members, strides, tl.load(bounds + f), tl.load(bounds + f + 1), rows, inside, ROWS)
        places = values + tl.load(offsets + f) + cells[:, None] + labels[None, :]
        totals += tl.load(places, mask=(cells >= 0)[:, None] & (labels < classes)[None, :], other=0.0)
    places = out + rows[:, None] * classes + labels[None, :]
    tl.store(places, totals, mask=inside[:, None] & (labels < classes)[None, :])


def gather(columns: DeviceColumns, layout: Layout, values: Any, classes: int) -> Any:
    """Return the sums over the families of the values in the cells of each row.  # (row, class)"""
    out = torch.empty((columns.rows, classes), dtype=torch.float64, device=values.device)
    if columns.rows:
        arrays = _family_arrays(layout, -1)
        width = min(CLASSES_AT_ONCE, triton.next_power_of_2(max(2, classes)))
        rows = max(16, min(128, 2048 // width))
        grid = (triton.cdiv(columns.rows, rows), triton.cdiv(classes, width))
        sizes = columns.rows, len(layout.families), classes
        _gather[grid](columns.pointers, *arrays, values, out, *sizes, CLASSES=width, ROWS=rows, num_warps=4)
    return out
