"""Counting and prediction on a GPU: the same integers, and the same sums of floats, as the other tiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.device import DeviceColumns, device, fused, in_row_blocks, on_device
from naivete._kernels.dispatch import torch_module
from naivete._kernels.layout import Codes, Layout

__all__ = ["gather_on_device", "scatter_columns", "scatter_on_device", "seen_on_device"]

EXACT = 2.0**52
"""Sums of weights below this are exact in float64."""


def scatter_on_device(codes: Codes, layout: Layout, weight: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Count all families, as `counting.scatter`."""
    total = np.zeros(layout.size, np.int64)
    for counts in in_row_blocks(
        codes, lambda columns, rows: scatter_columns(columns, layout, None if weight is None else on_device(weight[rows]))
    ):
        total += counts.cpu().numpy()
    return total


def scatter_columns(columns: DeviceColumns, layout: Layout, weight: Any) -> Any:
    """Return the counts of all families of columns on the device, as a tensor of 64-bit integers there."""
    kernels = fused()
    if kernels is not None:
        return kernels.scatter(columns, layout, weight)
    torch = torch_module()
    counts = torch.zeros(layout.size, dtype=torch.int64, device=device())
    exact = weight is None or float(weight.abs().sum(dtype=torch.float64)) < EXACT
    for family, start, size in zip(layout.families, layout.offsets.tolist(), layout.sizes, strict=True):
        cells, missing = _addresses(columns, family, layout.strides(family))
        weights = weight
        if missing is not None:
            cells, weights = cells[~missing], None if weight is None else weight[~missing]
        if weights is None:
            part = torch.bincount(cells, minlength=size)
        elif exact:
            part = torch.bincount(cells, weights.double(), minlength=size).long()
        else:
            part = torch.zeros(size, dtype=torch.int64, device=device()).scatter_add_(0, cells, weights)
        counts[start : start + size] += part
    return counts


def _addresses(columns: DeviceColumns, members: Any, strides: Any) -> tuple[Any, Any]:
    """Return the cell of each row, and which rows have a missing member; None where none has."""
    torch = torch_module()
    cells, missing = torch.zeros(columns.rows, dtype=torch.int64, device=device()), None
    for v, stride in zip(members, strides, strict=True):
        column = columns.column(v)
        absent = column == (255 if column.dtype == torch.uint8 else -1)
        if bool(absent.any()):
            missing = absent if missing is None else missing | absent
        cells += column.long() * stride
    return cells, missing


def gather_on_device(codes: Codes, layout: Layout, values: NDArray[np.float64], classes: int) -> NDArray[np.float64]:
    """Return the sums over the families of the values in the cells of each row, as `prediction.gather`."""
    tables = on_device(values)
    parts = in_row_blocks(codes, lambda columns, _: _gathered(columns, layout, tables, classes).cpu().numpy())
    return np.concatenate(list(parts))


def _gathered(columns: DeviceColumns, layout: Layout, values: Any, classes: int) -> Any:
    kernels = fused()
    if kernels is not None:
        return kernels.gather(columns, layout, values, classes)
    torch = torch_module()
    joint = torch.zeros((columns.rows, classes), dtype=torch.float64, device=device())
    for family, start, size in zip(layout.families, layout.offsets.tolist(), layout.sizes, strict=True):
        table = values[start : start + size].view(-1, classes)
        strides = [stride // classes for stride in layout.strides(family)[:-1]]
        cells, missing = _addresses(columns, family[:-1], strides)
        if missing is None:
            joint += table[cells]
        else:
            joint += torch.where(missing[:, None], 0.0, table[torch.where(missing, 0, cells)])
    return joint


def seen_on_device(columns: Codes) -> list[NDArray[np.bool_]]:
    """Return which of the 256 values occur in each column of bytes, as `counting.seen`."""
    total = np.zeros((len(columns), 256), bool)
    for part in in_row_blocks(columns, lambda columns, _: _seen_in(columns).cpu().numpy()):
        total |= part
    return list(total)


def _seen_in(columns: DeviceColumns) -> Any:
    store, lines = columns.together()
    return _seen(store[:, : columns.rows])[on_device(lines)]


def _seen(store: Any) -> Any:
    """Return which values occur in each row of a tensor of bytes.  # (column, value)"""
    torch = torch_module()
    occurs = torch.zeros((len(store), 256), dtype=torch.bool, device=store.device)
    largest = int(store.max()) if store.numel() else -1
    if largest < 16:
        for value in range(largest + 1):
            occurs[:, value] = (store == value).any(dim=1)
        return occurs
    step = max(1, (1 << 26) // max(1, len(store)))
    for lo in range(0, store.shape[1], step):
        occurs.scatter_(1, store[:, lo : lo + step].long(), True)
    return occurs
