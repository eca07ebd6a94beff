"""All pairs of features counted on a GPU: the planes of `planes.pack` as products of matrices of ones and zeros."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.device import (
    ALIGNED,
    DeviceColumns,
    columns_on_device,
    device,
    fits,
    fused,
    in_row_blocks,
    is_kept,
    on_device,
    padded_store,
    streamed_blocks,
)
from naivete._kernels.device_counting import scatter_on_device
from naivete._kernels.dispatch import torch_module
from naivete._kernels.layout import Codes, Layout

__all__ = ["DevicePlanes", "device_gram", "device_margins", "device_planes"]

FEW_CLASSES = 4
"""Up to this many classes all rows are read once for each class; with more classes they are sorted by class first."""

PRODUCT_ROWS = 2048
"""The number of rows of one product of float16 planes: up to this, counts are exact in float16."""

PLANE_BYTES = 1 << 30
"""The bytes of the planes of ones and zeros that exist at a time where the kernels are not fused."""


@dataclass(frozen=True, eq=False)
class RowCodes:
    """The codes of some rows on the device: sorted by class, or in the order of the rows with the class of each.

    Parameters
    ----------
    codes : the codes, padded with the code for missing.  # (line, position)
    lines : the line of each feature.
    labels : the class of each position; None where they are sorted.
    bounds : the first position of each class, and the end of the last: multiples of `ALIGNED`; or 0 and the end of all.
    """

    codes: Any
    lines: NDArray[np.int64]
    labels: Any
    bounds: tuple[int, ...]

    def spans(self, classes: int) -> list[tuple[int, int, int]]:
        """Return each class with the positions among which its rows are."""
        if self.labels is not None:
            return [(c, 0, self.bounds[-1]) for c in range(classes)]
        return [(c, lo, hi) for c, (lo, hi) in enumerate(zip(self.bounds[:-1], self.bounds[1:], strict=True))]


@dataclass(frozen=True, eq=False)
class DevicePlanes:
    """The planes of features, one for each state but the first, and one for "observed" where values are missing.

    Parameters
    ----------
    columns : the codes of the features, and those of the class.
    rows : the rows that count; None for all.
    first : the first plane of each feature, and the end of the last.  # (feature + 1,)
    cards : the number of states of each feature.
    missing : whether a feature has missing values.
    classes : the number of classes.
    """

    columns: Codes
    rows: NDArray[Any] | None
    first: NDArray[np.int64]
    cards: tuple[int, ...]
    missing: tuple[bool, ...]
    classes: int

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """The number of rows of each class."""
        layout = Layout(((-1,),), (max(1, self.classes),))
        return scatter_on_device(self.columns[-1:], layout, self.row_weights())[: self.classes]

    def row_weights(self) -> NDArray[np.int64] | None:
        """Return 1 for the rows that count and 0 for others; None where all count."""
        if self.rows is None:
            return None
        weight = np.zeros(len(self.columns[-1]), np.int64)
        weight[self.rows] = 1
        return weight

    @cached_property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The feature of each plane, and its state; 255 for "observed"."""
        features = np.repeat(np.arange(len(self.cards)), np.diff(self.first))
        states = [[*range(1, card), *([255] if absent else [])] for card, absent in zip(self.cards, self.missing, strict=True)]
        return features, np.array([s for some in states for s in some], np.uint8)

    def members_on(self, lines: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return the line and the state of each plane, on the device, where the features are on these lines."""
        key = lines.tobytes()
        if key not in self._members_on:
            features, states = self.members
            self._members_on[key] = on_device(lines[features]), on_device(states)
        return self._members_on[key]

    @cached_property
    def _members_on(self) -> dict[bytes, tuple[Any, Any]]:
        return {}

    def parts(self) -> Iterator[RowCodes]:
        """Yield the codes in blocks of rows, which are kept on the device if all of them fit into its memory."""
        if self._parts:
            yield from self._parts
            return
        parts: list[RowCodes] = []
        fit: bool | None = None
        streamed = not is_kept(self.columns) and self.classes <= FEW_CLASSES and all(c.dtype == np.uint8 for c in self.columns)
        for part in self._streamed() if streamed else in_row_blocks(self.columns, self._part):
            fit = fits(self.columns) if fit is None else fit  # after the first copy has begun
            if fit:
                parts.append(part)
            yield part
        self._parts.extend(parts)

    @cached_property
    def _parts(self) -> list[RowCodes]:
        return []

    def _streamed(self) -> Iterator[RowCodes]:
        """Yield blocks of rows that are copied while earlier blocks are counted."""
        labels = None
        for rows, store in streamed_blocks(self.columns[:-1]):
            labels = labels or columns_on_device(self.columns[-1:])
            part = self._labels(labels.lines[0][0][0], rows)
            yield RowCodes(store, np.arange(len(store)), part, (0, store.shape[1]))

    def _part(self, columns: DeviceColumns, rows: slice) -> RowCodes:
        features = DeviceColumns(columns.lines[:-1], columns.rows)
        if self.classes <= FEW_CLASSES:
            codes, lines = features.together()
            store, line = columns.lines[-1]
            return RowCodes(codes, lines, self._labels(store[line], slice(0, columns.rows), rows.start), (0, codes.shape[1]))
        positions, bounds = self._positions(columns.column(-1), rows)
        return RowCodes(_permuted(features, positions), np.arange(len(features)), None, bounds)

    def _labels(self, labels: Any, rows: slice, first: int = 0) -> Any:
        """Return the classes of rows of a padded column, that of row `first` at its start: missing for rows that do not count."""
        width = -(-(rows.stop - rows.start) // ALIGNED) * ALIGNED
        if self.rows is None:
            return labels[rows.start : rows.start + width]
        chosen = padded_store(1, width)[0].fill_(255)
        index = self._rows_in(slice(first + rows.start, first + rows.stop))
        chosen[index] = labels[rows.start : rows.stop][index]
        return chosen

    def _positions(self, labels: Any, rows: slice) -> tuple[Any, tuple[int, ...]]:
        """Return the row at each position, sorted by class and -1 for padding, and the bounds of the classes."""
        torch = torch_module()
        index = None if self.rows is None else self._rows_in(rows)
        order, counts = _class_order(labels if index is None else labels[index], self.classes)
        index = order if index is None else index[order]
        bounds = (0, *np.cumsum([-(-count // ALIGNED) * ALIGNED for count in counts]).tolist())
        positions = torch.full((bounds[-1],), -1, dtype=torch.int64, device=device())
        start = 0
        for lo, count in zip(bounds, counts, strict=False):
            positions[lo : lo + count] = index[start : start + count]
            start += count
        return positions, bounds

    def _rows_in(self, rows: slice) -> Any:
        """Return the chosen rows of a block, counted from its first."""
        assert self.rows is not None
        lo, hi = np.searchsorted(self.rows, [rows.start, rows.stop])
        return on_device(self.rows[lo:hi].astype(np.int64) - rows.start)


def _class_order(labels: Any, classes: int) -> tuple[Any, list[int]]:
    """Return the rows sorted by class, in a stable order, and the number of rows of each class."""
    torch = torch_module()
    missing = 255 if labels.dtype == torch.uint8 else -1
    keys = torch.where(labels == missing, classes, labels.int()) if classes > 254 else labels
    order = torch.sort(keys, stable=True).indices
    counts = torch.bincount(labels[labels != missing].int(), minlength=classes)
    return order, counts.tolist()


def _permuted(columns: DeviceColumns, positions: Any) -> Any:
    """Return the codes of the rows at the positions, the code for missing where a position is -1.  # (column, position)"""
    torch, kernels = torch_module(), fused()
    if kernels is not None:
        return kernels.permuted(columns, positions)
    result = torch.empty((len(columns), len(positions)), dtype=torch.uint8, device=device())
    padding, clipped = positions < 0, positions.clamp(min=0)
    for v, line in enumerate(result):
        line.copy_(columns.column(v)[clipped])
        line.masked_fill_(padding, 255)
    return result


def device_planes(
    codes: Codes,
    cards: Sequence[int],
    missing: Sequence[bool],
    labels: NDArray[Any],
    classes: int,
    rows: NDArray[Any] | None = None,
) -> DevicePlanes:
    """Return the planes of feature columns, as `planes.pack`; of some rows, in increasing order, where they are given."""
    widths = [card - 1 + bool(absent) for card, absent in zip(cards, missing, strict=True)]
    first = np.cumsum([0, *widths], dtype=np.int64)
    return DevicePlanes((*codes, labels), rows, first, tuple(cards), tuple(map(bool, missing)), classes)


def device_margins(planes: DevicePlanes) -> NDArray[np.int64]:
    """Return the number of rows of each class in each plane.  # (class, plane)"""
    classes, features = planes.classes, len(planes.cards)
    layout = Layout(tuple((x, -1) for x in range(features)), (*planes.cards, max(1, classes)))
    flat = scatter_on_device(planes.columns, layout, planes.row_weights())
    totals = np.empty((classes, int(planes.first[-1])), np.int64)
    for x, (card, absent) in enumerate(zip(planes.cards, planes.missing, strict=True)):
        table, start = layout.table(flat, x)[:, :classes], int(planes.first[x])
        totals[:, start : start + card - 1] = table[1:].T
        if absent:
            totals[:, start + card - 1] = table.sum(axis=0)
    return totals


def device_gram(planes: DevicePlanes, rows: range, columns: range) -> NDArray[np.int32]:
    """Return the number of rows of each class that two planes share, as `planes.gram`.  # (class, rows, columns)"""
    torch, kernels = torch_module(), fused()
    total = torch.zeros((planes.classes, len(rows), len(columns)), dtype=torch.int32, device=device())
    for part in planes.parts():
        add = _add_products if kernels is None else kernels.gram
        add(part.codes, part.labels, part.spans(planes.classes), *planes.members_on(part.lines), rows, columns, total)
    counts: NDArray[np.int32] = total.cpu().numpy()
    return counts


def _add_products(codes: Any, labels: Any, spans: Any, lines: Any, states: Any, rows: range, columns: range, total: Any) -> None:
    """Add the products of the planes of each class, some positions at a time; the arguments are those of `device_triton.gram`."""
    torch = torch_module()
    height = max(1, len(rows) + len(columns))
    cuda = device().type == "cuda"
    step = max(PRODUCT_ROWS, PLANE_BYTES // (2 if cuda else 4) // height // PRODUCT_ROWS * PRODUCT_ROWS)
    for c, first, last in spans:
        for start in range(first, last, step):
            part = slice(start, min(start + step, last))
            chosen = None if labels is None else labels[part] == c
            left = _ones(codes[:, part], lines[rows.start : rows.stop], states[rows.start : rows.stop], chosen, cuda)
            right = _ones(codes[:, part], lines[columns.start : columns.stop], states[columns.start : columns.stop], None, cuda)
            if cuda:
                total[c] += torch.bmm(left, right.transpose(1, 2)).sum(dim=0, dtype=torch.int32)
            else:
                total[c] += (left @ right.T).int()  # float32: exact below 2**24 rows


def _ones(codes: Any, lines: Any, states: Any, chosen: Any, cuda: bool) -> Any:
    """Return planes as ones and zeros: float16 in batches of rows on a GPU, else float32.  # ([batch,] plane, row)"""
    torch = torch_module()
    values = codes[lines]
    ones = torch.where(states[:, None] == 255, values != 255, values == states[:, None])
    if chosen is not None:
        ones &= chosen
    if not cuda:
        return ones.float()
    width = ones.shape[1]
    padded = torch.nn.functional.pad(ones, (0, -width % PRODUCT_ROWS))
    return padded.half().view(len(ones), -1, PRODUCT_ROWS).transpose(0, 1)
