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
    """Rows in memory, as one block, which the kernels process with all threads.

    Parameters
    ----------
    variables : tuple of Variable
        The variables, the class last.
    block : Block
        The rows.
    has_missing : ndarray of shape (n_features,)
        Which features have missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Block, Counts, MemoryCases, Variable
    >>> variables = Variable("rain", ("no", "yes")), Variable("wet", ("no", "yes"))
    >>> block = Block((np.array([0, 0, 1, 1], np.uint8), np.array([0, 0, 0, 1], np.uint8)))
    >>> cases = MemoryCases(variables, block, np.array([False]))
    >>> cases.rows, Counts(cases).total
    (4, 4.0)
    """

    variables: Variables
    block: Block
    has_missing: NDArray[np.bool_]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.block)

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for the block.

        Parameters
        ----------
        function : callable
            A function of a block.

        Returns
        -------
        iterable
            The value for the block.
        """
        return [function(self.block)]

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:  # noqa: ARG002
        """Return the function's value for the block; there is nothing to merge.

        Parameters
        ----------
        function : callable
            A function of a block.
        merge : callable
            A function that merges two values; not used here.

        Returns
        -------
        object
            The value for the block.
        """
        return function(self.block)
