"""Tables of all pairs of features with the class, counted by bit planes.

A bit plane has one bit for each row: whether a feature has a certain state in that row. The number of rows in which two features
have certain states is the number of bits that are set in both planes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers
from naivete._kernels.exact_sums import LIMB, LimbSums, add_sums, limbs, sums_as_numbers
from naivete.cases.base import Block
from naivete.counts.pairs import Pairs
from naivete.storage.values import record

__all__ = [
    "PLANE_STATES",
    "Group",
    "Panel",
    "PlaneCounts",
    "groups",
    "panels",
    "plane_counts",
    "plane_margins",
    "plane_pairs",
    "streamed",
]

PLANE_STATES = 9
"""Features with at most this many states are counted by bit planes, whose cost grows with the product of the states of a pair."""

PANEL_CELLS = 1 << 21
"""The maximal number of cells of the tables of a panel."""
STRIP_CELLS = 1 << 19
"""The maximal number of cells of the tables of a strip, which fit the cache."""


@dataclass(frozen=True, eq=False)
class Group:
    """Features with the same number of states, all with or all without missing values, whose planes follow one another.

    Parameters
    ----------
    features : the features.
    card : their number of states.
    has_missing : whether they have missing values.
    start : the position of their first plane.
    """

    features: tuple[int, ...]
    card: int
    has_missing: bool
    start: int

    @cached_property
    def width(self) -> int:
        """The number of planes of a feature: one for each state but the first, and one for "observed" if it has missing values."""
        return self.card - 1 + self.has_missing

    def planes(self, features: slice) -> slice:
        """Return the positions of the planes of some of the features."""
        return slice(self.start + features.start * self.width, self.start + features.stop * self.width)


@dataclass(frozen=True, eq=False)
class Panel:
    """Some features of one group with some of another: pairs that are counted together.

    Parameters
    ----------
    one, two : the groups.
    rows, columns : the positions of the features in the first and the second group.
    """

    one: Group
    two: Group
    rows: slice
    columns: slice

    @property
    def planes(self) -> tuple[slice, slice]:
        """The planes of the features of both groups."""
        return self.one.planes(self.rows), self.two.planes(self.columns)

    @property
    def cells(self) -> int:
        """The number of pairs of planes."""
        here, there = self.planes
        return int(here.stop - here.start) * int(there.stop - there.start)

    def strips(self, classes: int) -> Iterator[Panel]:
        """Yield the panel in strips whose tables fit the cache; of a group with itself only the upper part."""
        width = self.columns.stop - self.columns.start
        step = max(1, STRIP_CELLS // (width * self.one.card * self.two.card * classes))
        for start in range(self.rows.start, self.rows.stop, step):
            rows = slice(start, min(self.rows.stop, start + step))
            yield Panel(self.one, self.two, rows, slice(start, self.columns.stop) if self.one is self.two else self.columns)


@record("plane-counts")
@dataclass(frozen=True, eq=False)
class PlaneCounts:
    """The counts of the planes of some rows; those of two sets of rows can be merged.

    Parameters
    ----------
    margins : the number of rows of each class in each plane.  # (class, plane)
    classes : the number of rows of each class.  # (class,)
    grams : for each panel, the number of rows of each class in both planes of a pair.  # (class, plane, plane)
    """

    margins: LimbSums
    classes: LimbSums
    grams: tuple[LimbSums, ...]

    def merged(self, other: PlaneCounts) -> PlaneCounts:
        """Return the counts of both sets of rows."""
        grams = tuple(add_sums(_wide(a), _wide(b)) for a, b in zip(self.grams, other.grams, strict=True))
        return PlaneCounts(add_sums(self.margins, other.margins), add_sums(self.classes, other.classes), grams)


def _wide(parts: LimbSums) -> LimbSums:
    return {q: part.astype(np.int64, copy=False) for q, part in parts.items()}


def groups(features: Iterable[int], cards: Sequence[int], missing: Bools) -> list[Group]:
    """Return the groups of features that are counted by planes; features with one state carry no information and are left out."""
    members: dict[tuple[int, bool], list[int]] = {}
    for x in features:
        if 2 <= cards[x] <= PLANE_STATES:
            members.setdefault((cards[x], bool(missing[x])), []).append(x)
    result, start = [], 0
    for (card, has_missing), same in members.items():
        result.append(Group(tuple(same), card, has_missing, start))
        start += len(same) * result[-1].width
    return result


def panels(grouped: Sequence[Group], classes: int) -> list[Panel]:
    """Return all pairs of features of the groups, in panels; of a group with itself only the upper part."""
    result = []
    for one, two in combinations_with_replacement(grouped, 2):
        step = max(1, PANEL_CELLS // (len(two.features) * one.card * two.card * classes))
        for start in range(0, len(one.features), step):
            rows = slice(start, min(len(one.features), start + step))
            result.append(Panel(one, two, rows, slice(start if one is two else 0, len(two.features))))
    return result


def plane_counts(block: Block, grouped: Sequence[Group], wanted: Sequence[Panel], classes: int) -> PlaneCounts:
    """Return the counts of a block for some panels; for weighted rows, one bit of the weights after the other."""
    return reduce(PlaneCounts.merged, (_counted(*part, wanted) for part in _packed(block, grouped, classes)))


def _packed(block: Block, grouped: Sequence[Group], classes: int) -> Iterator[tuple[int, int, _kernels.AnyPlanes]]:
    """Yield (limb, bit, planes of the rows whose weight has that bit), only once for rows without weights."""
    order = [x for group in grouped for x in group.features]
    cards = [group.card for group in grouped for _ in group.features]
    has_missing = [group.has_missing for group in grouped for _ in group.features]
    for q, limb in limbs(block.weight).items():
        bits = [0] if limb is None else [b for b in range(LIMB) if (limb >> b & 1).any()] or [0]
        for bit in bits:
            rows = None if limb is None else np.flatnonzero(limb >> bit & 1)
            yield q, bit, block.packed(order, cards, has_missing, classes, rows)


def _counted(q: int, bit: int, planes: _kernels.AnyPlanes, wanted: Sequence[Panel]) -> PlaneCounts:
    def shifted(counts: NDArray[Any]) -> LimbSums:
        return {q: counts if bit == 0 else counts.astype(np.int64) << bit}

    grams = tuple(shifted(_kernels.gram(planes, *panel.planes)) for panel in wanted)
    return PlaneCounts(shifted(_kernels.margins(planes)), shifted(planes.counts), grams)


def streamed(block: Block, grouped: Sequence[Group], wanted: Sequence[Panel], classes: int) -> tuple[PlaneCounts, Iterator[Pairs]]:
    """Return the margins of a block without weights, and its pairs, whose panels are counted one after the other."""
    ((q, bit, planes),) = _packed(block, grouped, classes)
    counts = _counted(q, bit, planes, ())
    grams: Iterator[dict[int, Any]] = ({q: _kernels.gram(planes, *panel.planes)} for panel in wanted)
    return counts, _strips(counts, wanted, grams)


def plane_margins(counts: PlaneCounts, grouped: Sequence[Group]) -> dict[int, NDArray[Any]]:
    """Return the tables of the features of the groups with the class.  # feature: (state, class)"""
    tables: dict[int, NDArray[Any]] = {}
    for group in grouped:
        planes = group.planes(slice(0, len(group.features)))
        sums = {q: _with_first(margins[:, planes], counts.classes[q], group) for q, margins in counts.margins.items()}
        tables |= dict(zip(group.features, sums_as_numbers(sums), strict=True))
    return tables


def plane_pairs(counts: PlaneCounts, wanted: Sequence[Panel]) -> Iterator[Pairs]:
    """Return the tables of the pairs of some panels, strip by strip."""
    return _strips(counts, wanted, counts.grams)


def _strips(counts: PlaneCounts, wanted: Sequence[Panel], panel_grams: Iterable[LimbSums]) -> Iterator[Pairs]:
    classes = len(next(iter(counts.classes.values())))
    for panel, grams in zip(wanted, panel_grams, strict=True):
        for strip in panel.strips(classes):
            first, second = np.array(panel.one.features[strip.rows]), np.array(panel.two.features[strip.columns])
            made = partial(_strip_tables, counts, grams, panel, strip)
            yield Pairs(first, second, made, not (panel.one.has_missing or panel.two.has_missing))


def _strip_tables(counts: PlaneCounts, grams: LimbSums, panel: Panel, strip: Panel) -> NDArray[Any]:
    here, there = strip.planes
    top, first = (side.start for side in panel.planes)
    down, across = slice(here.start - top, here.stop - top), slice(there.start - first, there.stop - first)
    tables = {
        q: _completed(
            gram[:, down, across],
            counts.margins[q][:, here],
            counts.margins[q][:, there],
            counts.classes[q],
            panel.one,
            panel.two,
        )
        for q, gram in grams.items()
    }
    return sums_as_numbers(tables)


def _with_first(margins: Integers, classes: Integers, group: Group) -> Integers:
    """Return the counts of all states; that of the first is the observed rows less the others.  # (feature, state, class)"""
    planes = margins.reshape(len(classes), -1, group.width)
    others = planes[:, :, : group.card - 1]
    observed = planes[:, :, -1] if group.has_missing else classes[:, None]
    first = observed - others.sum(axis=2)
    return np.ascontiguousarray(np.concatenate([first[:, :, None], others], axis=2).transpose(1, 2, 0))


def _completed(
    gram: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], classes: NDArray[Any], one: Group, two: Group
) -> NDArray[Any]:
    """Return full tables from the counts of all states but the first, whose counts are the margins less the others.

    The margins of a feature are those of the rows in which the other is observed: the counts with its last plane if it has
    missing values, else the plain margins.  # (first, second, a, b, class)
    """
    c, v, w = len(classes), one.card, two.card
    n, m = gram.shape[1] // one.width, gram.shape[2] // two.width
    split = gram.reshape(c, n, one.width, m, two.width)
    a_alone, b_alone = rows.reshape(c, n, one.width), columns.reshape(c, m, two.width)
    both = split[:, :, : v - 1, :, : w - 1]
    of_a = split[:, :, : v - 1, :, w - 1] if two.has_missing else a_alone[:, :, : v - 1, None]
    of_b = split[:, :, v - 1, :, : w - 1] if one.has_missing else b_alone[:, None, :, : w - 1]
    if one.has_missing and two.has_missing:
        of_all = split[:, :, v - 1, :, w - 1]
    elif one.has_missing:
        of_all = a_alone[:, :, v - 1, None]
    else:
        of_all = b_alone[:, None, :, w - 1] if two.has_missing else classes[:, None, None]
    tables = np.empty((v, w, c, n, m), np.result_type(classes, gram, np.int32))
    for a in range(1, v):
        remaining = tables[a, 0]
        remaining[...] = of_a[:, :, a - 1]
        for b in range(1, w):
            tables[a, b] = both[:, :, a - 1, :, b - 1]
            remaining -= tables[a, b]
    for b in range(w):
        first = tables[0, b]
        first[...] = of_b[..., b - 1] if b else of_all - of_b.sum(axis=-1)
        for a in range(1, v):
            first -= tables[a, b]
    return tables.transpose(3, 4, 0, 1, 2)
