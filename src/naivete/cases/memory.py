"""Rows in memory: one block."""

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
    """Rows held in memory; the kernels go through one block with all threads, so there is nothing to divide."""

    variables: Variables
    block: Block
    gaps: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.block)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """The function's value for the block."""
        return [function(self.block)]

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """The function's value for the block; nothing to merge."""
        return function(self.block)
