"""The layout of the tables of several families in one flat array, used by counting and by prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers
from naivete._kernels.dispatch import Codes, Struct
from naivete.variables import Family

__all__ = ["ArrayLayout", "Codes", "FamilyArray", "Layout"]


@dataclass(frozen=True)
class Layout:
    """The positions of the tables of several families in one flat array.

    Parameters
    ----------
    families : the members of each table in the order of its axes.
    cards : the number of states of each variable, the class last.

    >>> layout = Layout(((0, -1), (0, 1, -1)), cards=(3, 2, 2))
    >>> layout.size, layout.offsets.tolist(), layout.strides((0, 1, -1)), layout.shape(1)
    (18, [0, 6], (4, 2, 1), (3, 2, 2))
    """

    families: Sequence[Family]
    cards: tuple[int, ...]

    @cached_property
    def sizes(self) -> Sequence[int]:
        """The number of cells of each table."""
        return tuple([prod(map(self.cards.__getitem__, family)) for family in self.families])

    @cached_property
    def largest(self) -> int:
        """The number of cells of the largest table."""
        return max(self.sizes, default=0)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The position of the first cell of each table."""
        return np.cumsum([0, *self.sizes[:-1]], dtype=np.int64)[: len(self.families)]

    @cached_property
    def size(self) -> int:
        """The number of cells of all tables."""
        return sum(self.sizes)

    def strides(self, family: Family) -> tuple[int, ...]:
        """Return the distance in cells between consecutive states of each member."""
        steps, step = [], 1
        for v in reversed(family):
            steps.append(step)
            step *= self.cards[v]
        return tuple(reversed(steps))

    def struct(self, last: int | None) -> Struct:
        """Return the layout as a C struct; `last` is -1 to leave out the class, the last member of each family, else None."""
        if last not in self._structs:
            members = [family[:last] for family in self.families]
            flat = [v % len(self.cards) for family in members for v in family]
            strides = [s for family in self.families for s in self.strides(family)[:last]]
            first = np.cumsum([0, *map(len, members)], dtype=np.int64)
            lists = (np.array(numbers, np.int64) for numbers in (flat, strides, self.offsets, self.sizes))
            self._structs[last] = Struct(first, *lists)
        return self._structs[last]

    @cached_property
    def _structs(self) -> dict[int | None, Struct]:
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the fields; addresses are computed again, as they are not valid in another process."""
        return Layout, (self.families, self.cards)

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of the table of one family."""
        return tuple(map(self.cards.__getitem__, self.families[index]))

    def table(self, flat: NDArray[Any], index: int) -> NDArray[Any]:
        """Return the table of one family, a view of the flat array."""
        start = int(self.offsets[index])
        return flat[start : start + self.sizes[index]].reshape(self.shape(index))


class FamilyArray(Sequence[Family]):
    """Many families in two arrays, a sequence of tuples otherwise.

    Parameters
    ----------
    members : the members of all families, one family after the other.
    first : the position of the first member of each family, and the number of all members.

    >>> families = FamilyArray.of([(0, -1), (0, 1, -1)])
    >>> families[1], len(families), families.take(np.array([1, 0])).members.tolist()
    ((0, 1, -1), 2, [0, 1, -1, 0, -1])
    """

    def __init__(self, members: Integers, first: Integers) -> None:
        self.members, self.first = members, first

    @classmethod
    def of(cls, families: Sequence[Family]) -> FamilyArray:
        """Return the array of some families."""
        first = np.cumsum([0, *map(len, families)], dtype=np.int64)
        return cls(np.array([v for family in families for v in family], np.int64), first)

    @classmethod
    def of_rows(cls, *matrices: Integers) -> FamilyArray:
        """Return the families that are the rows of some matrices; the families of one matrix have the same number of members."""
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.full(len(rows), rows.shape[1]) for rows in matrices)])
        return cls(np.concatenate([rows.ravel() for rows in matrices]), np.cumsum(lengths))

    def __len__(self) -> int:
        return len(self.first) - 1

    @overload
    def __getitem__(self, index: int) -> Family: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Family]: ...
    def __getitem__(self, index: int | slice) -> Family | Sequence[Family]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return tuple(self.members[self.first[index] : self.first[index + 1]].tolist())

    def __iter__(self) -> Iterator[Family]:
        return (self[i] for i in range(len(self)))

    @property
    def lengths(self) -> Integers:
        """The number of members of each family."""
        return np.diff(self.first)

    def between(self, start: int, end: int) -> FamilyArray:
        """Return the families from one position to another, without a copy."""
        return FamilyArray(self.members, self.first[start : end + 1])

    def take(self, positions: Integers) -> FamilyArray:
        """Return the families at some positions."""
        lengths = self.lengths[positions]
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.arange(first[-1]) + np.repeat(self.first[positions] - first[:-1], lengths)
        return FamilyArray(self.members[places], first)


@dataclass(frozen=True)
class ArrayLayout(Layout):
    """The layout of very many families, which are given as an array; sizes and strides are computed for all at once.

    >>> layout = ArrayLayout(FamilyArray.of([(0, -1), (0, 1, -1)]), cards=(3, 2, 2))
    >>> layout.size, layout.offsets.tolist(), layout.struct(None).members[2].tolist()
    (18, [0, 6], [2, 1, 4, 2, 1])
    """

    families: FamilyArray

    @cached_property
    def _strides_and_sizes(self) -> tuple[Integers, Integers]:
        """Return the stride of each member of each family, and the number of cells of each family."""
        members, first = self.families.members, self.families.first
        cards = np.array(self.cards, np.int64)[members]
        strides, sizes = np.ones(len(members), np.int64), np.ones(len(self.families), np.int64)
        for step in range(1, int(self.families.lengths.max(initial=0)) + 1):
            places = first[1:] - step
            within = np.flatnonzero(places >= first[:-1])
            strides[places[within]] = sizes[within]
            sizes[within] *= cards[places[within]]
        return strides, sizes

    @cached_property
    def sizes(self) -> Sequence[int]:
        """The number of cells of each table."""
        sizes: Any = self._strides_and_sizes[1]
        return sizes  # type: ignore[no-any-return]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The position of the first cell of each table."""
        sizes = self._strides_and_sizes[1]
        return np.cumsum(sizes) - sizes

    @cached_property
    def largest(self) -> int:
        """The number of cells of the largest table."""
        return int(self._strides_and_sizes[1].max(initial=0))

    @cached_property
    def size(self) -> int:
        """The number of cells of all tables."""
        return int(self._strides_and_sizes[1].sum())

    def struct(self, last: int | None) -> Struct:
        """Return the layout as a C struct; the class cannot be left out."""
        if last is not None:
            raise NotImplementedError("an ArrayLayout is for counting only")
        strides, sizes = self._strides_and_sizes
        return Struct(self.families.first, self.families.members % len(self.cards), strides, self.offsets, sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the fields; addresses are computed again, as they are not valid in another process."""
        return ArrayLayout, (self.families, self.cards)
