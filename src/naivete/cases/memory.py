"""Encoded rows in memory, as one block."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.cases.base import Block
from naivete.variables import Variables

__all__ = ["MemoryCases"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class MemoryCases:
    """Rows in memory, as one block, which the kernels process with all threads."""

    variables: Variables
    block: Block
    has_missing: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.block)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for the block."""
        return [function(self.block)]

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Return the function's value for the block; there is nothing to merge."""
        return function(self.block)
