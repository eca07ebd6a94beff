"""The tables of all pairs of features with the class, from bit planes: the main job of every learner of dependences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete.cases.base import Block, Parts, combined, limbs, summed

__all__ = ["PLANE_STATES", "Pairs", "PlaneBlock", "plane_block", "plane_margins", "plane_pairs"]

PLANE_STATES = 9
"""Up to this many states a feature is counted by bit planes, whose cost grows with the product of the states of a pair."""

PANEL_CELLS = 1 << 21


@dataclass(frozen=True, eq=False)
class Pairs:
    """The tables of all pairs of one group of features with another.

    Parameters
    ----------
    first, second : the features of the groups; where they overlap, only pairs with first < second mean anything.
    tables : the counts.  # (first, second, state of the first, state of the second, class)
    complete : whether no value of these features is missing.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    tables: NDArray[Any]
    complete: bool


@dataclass(frozen=True, eq=False)
class Group:
    """Features with the same number of states, all with or all without missing values, side by side in the planes."""

    features: tuple[int, ...]
    card: int
    gaps: bool
    start: int

    @property
    def width(self) -> int:
        """The planes of one feature: its states but the first, and where it is known."""
        return self.card - 1 + self.gaps

    def planes(self, features: slice) -> slice:
        """The planes of some of the features."""
        return slice(self.start + features.start * self.width, self.start + features.stop * self.width)


PlaneBlock = list[tuple[int, int, _kernels.Planes]]
"""The planes of a block as (limb, bit, planes of the rows whose weight has that bit); one entry where rows have no weights."""


def groups(features: Iterable[int], cards: Sequence[int], missing: NDArray[np.bool_]) -> list[Group]:
    """The features that planes can count, grouped; a feature of one state tells nothing and is left out."""
    members: dict[tuple[int, bool], list[int]] = {}
    for x in features:
        if 2 <= cards[x] <= PLANE_STATES:
            members.setdefault((cards[x], bool(missing[x])), []).append(x)
    found, start = [], 0
    for (card, gaps), own in members.items():
        found.append(Group(tuple(own), card, gaps, start))
        start += len(own) * found[-1].width
    return found


def plane_block(block: Block, grouped: Sequence[Group], classes: int) -> PlaneBlock:
    """The bit planes of a block; of weighted rows, once for each bit of the weights."""
    order = [x for group in grouped for x in group.features]
    cards = [group.card for group in grouped for _ in group.features]
    gaps = [group.gaps for group in grouped for _ in group.features]

    def pack(rows: Block) -> _kernels.Planes:
        return _kernels.pack([rows.codes[x] for x in order], cards, gaps, rows.codes[-1], classes)

    if block.weight is None:
        return [(0, 0, pack(block))]
    found = []
    for q, limb in limbs(block.weight).items():
        assert limb is not None
        for bit in range(32):
            rows = np.flatnonzero(limb >> bit & 1)
            if len(rows):
                found.append((q, bit, pack(block.take(rows))))
    return found


def plane_margins(blocks: Sequence[PlaneBlock], grouped: Sequence[Group]) -> dict[int, NDArray[Any]]:
    """The tables of the grouped features with the class, from the planes of all blocks.  # feature: (state, class)"""
    margins = _total(blocks, _kernels.margins)  # (class, plane)
    classes = _total(blocks, lambda planes: planes.counts)  # (class,)
    found: dict[int, NDArray[Any]] = {}
    for group in grouped:
        planes = group.planes(slice(0, len(group.features)))
        tables = combined({q: _with_first(margins[q][:, planes], classes[q], group) for q in margins})
        found |= dict(zip(group.features, tables, strict=True))
    return found


def _with_first(margins: NDArray[np.int64], classes: NDArray[np.int64], group: Group) -> NDArray[np.int64]:
    """The counts of all states: the first is what the others leave of the known rows.  # (feature, state, class)"""
    planes = margins.reshape(len(classes), -1, group.width)
    others = planes[:, :, : group.card - 1]
    known = planes[:, :, -1] if group.gaps else classes[:, None]
    first = known - others.sum(axis=2)
    return np.ascontiguousarray(np.concatenate([first[:, :, None], others], axis=2).transpose(1, 2, 0))


def plane_pairs(blocks: Sequence[PlaneBlock], grouped: Sequence[Group]) -> Iterator[Pairs]:
    """The tables of all pairs of the grouped features, panel by panel, from the planes of all blocks."""
    margins = _total(blocks, _kernels.margins)  # (class, plane)
    classes = _total(blocks, lambda planes: planes.counts)  # (class,)
    for one, two in combinations_with_replacement(grouped, 2):
        for rows, columns in _panels(one, two, max(map(len, classes.values()))):
            here, there = one.planes(rows), two.planes(columns)
            gram = _total(blocks, partial(_kernels.gram, rows=here, columns=there))
            tables = {q: _completed(g, margins[q][:, here], margins[q][:, there], classes[q], one, two) for q, g in gram.items()}
            first, second = np.array(one.features[rows]), np.array(two.features[columns])
            yield Pairs(first, second, combined(tables), not (one.gaps or two.gaps))


def _total(blocks: Sequence[PlaneBlock], count: Callable[[_kernels.Planes], NDArray[Any]]) -> Parts:
    def parts() -> Iterator[Parts]:
        for block in blocks:
            for q, bit, planes in block:
                counted = count(planes)
                yield {q: counted if bit == 0 and len(blocks) == 1 else counted.astype(np.int64) << bit}

    return summed(parts())


def _panels(one: Group, two: Group, classes: int) -> Iterator[tuple[slice, slice]]:
    """Slices of the two groups whose tables together stay small; of a group with itself only the upper part."""
    step = max(1, PANEL_CELLS // (len(two.features) * one.card * two.card * classes))
    for start in range(0, len(one.features), step):
        stop = min(len(one.features), start + step)
        yield slice(start, stop), slice(start if one is two else 0, len(two.features))


def _completed(
    gram: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], classes: NDArray[Any], one: Group, two: Group
) -> NDArray[Any]:
    """Full tables from the counts of the states after the first: the first is what is left of the margins.

    The margins are those of the rows in which the other feature is known: the counts with its last plane where it has
    missing values, else its plain margins.  # (first, second, a, b, class)
    """
    c, v, w = len(classes), one.card, two.card
    n, m = gram.shape[1] // one.width, gram.shape[2] // two.width
    split = gram.reshape(c, n, one.width, m, two.width)
    a_alone, b_alone = rows.reshape(c, n, one.width), columns.reshape(c, m, two.width)
    own = split[:, :, : v - 1, :, : w - 1]
    of_a = split[:, :, : v - 1, :, w - 1] if two.gaps else a_alone[:, :, : v - 1, None]
    of_b = split[:, :, v - 1, :, : w - 1] if one.gaps else b_alone[:, None, :, : w - 1]
    if one.gaps and two.gaps:
        of_all = split[:, :, v - 1, :, w - 1]
    elif one.gaps:
        of_all = a_alone[:, :, v - 1, None]
    else:
        of_all = b_alone[:, None, :, w - 1] if two.gaps else classes[:, None, None]
    tables = np.empty((c, v, w, n, m), np.result_type(classes, gram, np.int32))
    for a in range(1, v):
        left = tables[:, a, 0]
        left[...] = of_a[:, :, a - 1]
        for b in range(1, w):
            tables[:, a, b] = own[:, :, a - 1, :, b - 1]
            left -= tables[:, a, b]
    for b in range(w):
        first = tables[:, 0, b]
        first[...] = of_b[..., b - 1] if b else of_all - of_b.sum(axis=-1)
        for a in range(1, v):
            first -= tables[:, a, b]
    return tables.transpose(3, 4, 1, 2, 0)
