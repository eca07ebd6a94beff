"""The layout of the tables of several families in one flat array, used by counting and by prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.dispatch import Codes, Struct
from naivete.variables import Family

__all__ = ["Codes", "Layout"]


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

    families: tuple[Family, ...]
    cards: tuple[int, ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple([prod(map(self.cards.__getitem__, family)) for family in self.families])

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
