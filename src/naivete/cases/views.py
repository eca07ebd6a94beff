"""Views of cases: with some of the features, with an additional computed column, or with half of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import missing_code, narrowest
from naivete.cases.base import Block, Cases
from naivete.cases.memory import MemoryCases
from naivete.variables import CLASS, Variable, Variables

__all__ = [
    "ComputedColumn",
    "Configuration",
    "hash_half",
    "missing_as_states",
    "row_hashes",
    "select_features",
    "transformed_cases",
    "with_column",
]

T = TypeVar("T")

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)


class Change(Protocol):
    """A transformation of blocks."""

    def __call__(self, block: Block) -> Block:
        """Return the transformed block."""


class ComputedColumn(Protocol):
    """A column that is computed from the other columns of a row."""

    def __call__(self, block: Block) -> NDArray[Any]:
        """Return the code of each row of a block; the largest value of the type marks a missing value."""


@dataclass(frozen=True, eq=False)
class Viewed:
    """Cases whose blocks are transformed in every pass."""

    cases: Cases
    variables: Variables
    has_missing: NDArray[np.bool_]
    change: Change
    rows: int | None = None

    def map(self, function: Callable[[Block], T]) -> Iterable[T]:
        """Return the function's value for each transformed block, in the order of the rows."""
        return self.cases.map(_Transformed(function, self.change))

    def fold(self, function: Callable[[Block], T], merge: Callable[[T, T], T]) -> T:
        """Return the function's values for all transformed blocks, merged."""
        return self.cases.fold(_Transformed(function, self.change), merge)


@dataclass(frozen=True, eq=False)
class _Transformed(Generic[T]):
    """A function after a transformation; an object and not a closure, so that it can be sent to other machines."""

    function: Callable[[Block], T]
    change: Change

    def __call__(self, block: Block) -> T:
        return self.function(self.change(block))


def transformed_cases(
    cases: Cases, variables: Variables, has_missing: NDArray[np.bool_], change: Change, *, same_rows: bool = True
) -> Cases:
    """Return the transformed cases: transformed at once where they are in memory, else block by block in every pass."""
    if isinstance(cases, MemoryCases):
        return MemoryCases(variables, change(cases.block), has_missing)
    rows = getattr(cases, "rows", None)
    return Viewed(cases, variables, has_missing, change, rows if same_rows and isinstance(rows, int) else None)


@dataclass(frozen=True)
class _Select:
    features: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        return Block((*(block.codes[x] for x in self.features), block.codes[CLASS]), block.weight)


def select_features(cases: Cases, features: tuple[int, ...]) -> Cases:
    """Return the cases with these features only, in this order, and the class."""
    variables = (*(cases.variables[x] for x in features), cases.variables[CLASS])
    return transformed_cases(cases, variables, cases.has_missing[list(features)], _Select(features))


@dataclass(frozen=True)
class _MissingAsStates:
    cards: tuple[int, ...]

    def __call__(self, block: Block) -> Block:
        filled = (_filled(column, card) for column, card in zip(block.codes[:-1], self.cards, strict=True))
        return Block((*filled, block.codes[CLASS]), block.weight)


def _filled(column: NDArray[Any], card: int) -> NDArray[Any]:
    """Return the codes with the number of states in place of missing values."""
    return np.where(column == missing_code(column.dtype), card, column).astype(narrowest(card + 1))


def missing_as_states(cases: Cases) -> Cases:
    """Return the cases with missing values as an additional, last state of every feature."""
    cards = tuple(v.card for v in cases.variables[:CLASS])
    variables = tuple(Variable(v.name, tuple(range(v.card + 1))) for v in cases.variables[:CLASS])
    return transformed_cases(cases, (*variables, cases.variables[CLASS]), np.zeros(len(cards), np.bool_), _MissingAsStates(cards))


@dataclass(frozen=True)
class _WithColumn:
    column: ComputedColumn

    def __call__(self, block: Block) -> Block:
        return Block((*block.codes[:-1], self.column(block), block.codes[CLASS]), block.weight)


def with_column(cases: Cases, variable: Variable, column: ComputedColumn, *, has_missing: bool) -> Cases:
    """Return the cases with one more feature, the last before the class.

    Parameters
    ----------
    cases : the cases.
    variable : the name and states of the new feature.
    column : computes it.
    has_missing : whether it has missing values.
    """
    variables = (*cases.variables[:CLASS], variable, cases.variables[CLASS])
    return transformed_cases(cases, variables, np.append(cases.has_missing, has_missing), _WithColumn(column))


@dataclass(frozen=True, eq=False)
class Configuration:
    """Some features as one feature, whose states are the configurations that occur, numbered from 0.

    Parameters
    ----------
    features : the features.
    numbers : a matrix for each feature: the number of the configuration that consists of a configuration of the features before it
        (the row; the first feature has one row) and one of its states (the column), -1 where the two do not occur together.
    singles : whether the last number is shared by all configurations that occur in one row only.

    >>> both = Configuration((0, 1), (np.array([[0, 1]]), np.array([[0, -1], [1, 2]])))
    >>> both(Block((np.array([1, 1, 255], np.uint8), np.array([0, 1, 0], np.uint8), np.zeros(3, np.uint8)))).tolist()
    [1, 2, 255]
    """

    features: tuple[int, ...]
    numbers: tuple[NDArray[np.int64], ...]
    singles: bool = False

    @property
    def card(self) -> int:
        """The number of states."""
        return int(self.numbers[-1].max(initial=0)) + 1

    def __call__(self, block: Block) -> NDArray[Any]:
        """Return the number of each row; missing where a feature is missing or the configuration did not occur."""
        result = np.zeros(len(block), np.int64)
        for x, numbers in zip(self.features, self.numbers, strict=True):
            codes = block.codes[x]
            observed = (codes != missing_code(codes.dtype)) & (result >= 0)
            result = np.where(observed, numbers[np.where(observed, result, 0), np.where(observed, codes, 0)], -1)
        dtype = narrowest(self.card)
        return np.where(result < 0, missing_code(dtype), result).astype(dtype)

    def joined(self, x: int, together: NDArray[Any]) -> Configuration:
        """Return the configurations with one more feature, from the joint counts of the configurations and its states.

        A configuration that occurs once cannot be split further: all of these share the last number.
        """
        occurs, single = together > 0, together == 1 if together.dtype.kind in "iu" else np.zeros(together.shape, bool)
        if self.singles:
            single[-1] = occurs[-1]
        several = occurs & ~single
        numbers = np.where(several, np.cumsum(several.ravel()).reshape(several.shape) - 1, -1)
        numbers[single] = np.count_nonzero(several)
        return Configuration((*self.features, x), (*self.numbers, numbers), bool(single.any()))


def row_hashes(columns: Sequence[NDArray[Any]], seed: int) -> NDArray[np.uint64]:
    """Return a pseudo-random hash of each row, which is the same for equal rows."""
    hashes = np.full(len(columns[-1]), seed & (1 << 64) - 1, np.uint64)
    for column in columns:
        missing = column == missing_code(column.dtype)
        hashes = _mixed(hashes + np.where(missing, np.uint64(2**63), column.astype(np.uint64)))
    return hashes


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finalizer of splitmix64."""
    with np.errstate(over="ignore"):
        z = z + _INCREMENT
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


@dataclass(frozen=True)
class _HashHalf:
    columns: tuple[int, ...]
    seed: int
    which: int

    def __call__(self, block: Block) -> Block:
        hashes = row_hashes([block.codes[v] for v in self.columns], self.seed)
        return block.take(np.flatnonzero((hashes & np.uint64(1)) == self.which))


def hash_half(cases: Cases, columns: tuple[int, ...], seed: int, which: int) -> Cases:
    """Return one half of the rows, 0 or 1, by a hash of these columns; equal rows are in the same half."""
    return transformed_cases(cases, cases.variables, cases.has_missing, _HashHalf(columns, seed, which), same_rows=False)
