"""Passes over the rows of a set of cases, counted, and the variables of these cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TypeVar

from naivete.cases.base import Block, Cases
from naivete.counts.effort import Effort
from naivete.variables import Variables

__all__ = ["Passes"]

T = TypeVar("T")


class Passes:
    """The passes that a learner makes over cases.

    Parameters
    ----------
    cases : Cases
        The rows, in any back end.
    passes : int, default=0
        The number of passes that were made before.
    """

    def __init__(self, cases: Cases, *, passes: int = 0) -> None:
        self.cases = cases
        self.variables: Variables = cases.variables
        self.effort = Effort()
        self._passes = [passes]
        self._cards = tuple([v.card for v in cases.variables])

    @property
    def passes(self) -> int:
        """The number of passes over the rows."""
        return self._passes[0]

    @property
    def features(self) -> range:
        """The features."""
        return range(len(self.variables) - 1)

    @cached_property
    def continuous(self) -> list[int]:
        """The continuous features, which have a density instead of states."""
        return [x for x in self.features if self.variables[x].density]

    def cards(self, members: Iterable[int]) -> tuple[int, ...]:
        """Return the number of states of each of these variables.

        Parameters
        ----------
        members : iterable of int
            The positions of the variables.

        Returns
        -------
        tuple of int
            The numbers of states.
        """
        return tuple(map(self._cards.__getitem__, members))

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for every block, in the order of the rows, in one pass.

        Parameters
        ----------
        function : callable
            A function of a block.

        Returns
        -------
        iterable
            The values.
        """
        self._passes[0] += 1
        return self.cases.map(function)

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all blocks, merged, in one pass.

        Parameters
        ----------
        function : callable
            A function of a block.
        merge : callable
            A function that merges two values; it must be associative and commutative.

        Returns
        -------
        object
            The merged value.
        """
        self._passes[0] += 1
        return self.cases.fold(function, merge)
