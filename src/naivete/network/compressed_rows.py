"""Distributions of a variable of many states: only the states that occur in a configuration of the parents are stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers

__all__ = ["CompressedRows"]


@dataclass(frozen=True, eq=False)
class CompressedRows:
    """P(x | parents) in the configurations of a sparse table, state by state.

    In every smoothing the probability of a state that does not occur in a configuration is that of the default table, times
    a factor of the configuration. So the states that occur and the factors suffice.

    Parameters
    ----------
    starts : the position of the first state of each configuration, and the number of all states.  # (configuration + 1,)
    states : the states that occur, increasing in each configuration.  # (entry,)
    values : their probabilities.  # (entry, class)
    factors : by which the probabilities of all other states in the default table are multiplied.  # (configuration, class)
    """

    starts: NDArray[np.int64]
    states: NDArray[np.int32]
    values: Numbers
    factors: Numbers

    def __post_init__(self) -> None:
        for array in (self.starts, self.states, self.values, self.factors):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.factors)

    @cached_property
    def configuration(self) -> Integers:
        """The configuration of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def _keys(self) -> tuple[int, Integers]:
        """The number of states that the keys allow for, and a key of each entry, increasing."""
        card = int(self.states.max(initial=0)) + 1
        return card, self.configuration * card + self.states

    def probability(self, positions: Integers, states: NDArray[Any], default: Numbers) -> Numbers:
        """Return the probabilities of some states, each in one configuration.  # (row, class)

        Parameters
        ----------
        positions : the positions of the configurations.
        states : the states.
        default : the probabilities of these states in the default table.  # (row, class)
        """
        card, keys = self._keys
        wanted = positions * card + states
        entry = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        result = self.factors[positions] * default
        if len(keys):
            listed = (keys[entry] == wanted) & (states < card)
            result[listed] = self.values[entry[listed]]
        return result

    def full(self, positions: Integers, default: Numbers) -> Numbers:
        """Return the distributions in some configurations.  # (row, x, class)

        Parameters
        ----------
        positions : the positions of the configurations.
        default : the distributions of the default table in these configurations.  # (row, x, class)
        """
        result = default * self.factors[positions][:, None]
        lengths = self.starts[positions + 1] - self.starts[positions]
        row = np.repeat(np.arange(len(positions)), lengths)
        entry = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(self.starts[positions], lengths)
        result[row, self.states[entry]] = self.values[entry]
        return result

    def sums(self, default: Numbers) -> Numbers:
        """Return the sum of each distribution, given the default probabilities of the entries.  # (configuration, class)"""
        listed, rest = (np.zeros_like(self.factors) for _ in range(2))
        np.add.at(listed, self.configuration, self.values)
        np.add.at(rest, self.configuration, default)
        return listed + self.factors * (1 - rest)
