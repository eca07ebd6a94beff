"""Contributions of discrete features, with tables, to the scores of the classes, in bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Bools, Integers, Numbers, absent_code, missing
from naivete._kernels.counting import RowBlock
from naivete.errors import ResourceError, quoted
from naivete.inference.elimination import Codes, Elimination, log
from naivete.inference.log_odds import BITS, ZERO, bits_of, relative
from naivete.inference.predictor import Predictor
from naivete.inference.shapley import Background, family_values
from naivete.network.derived_columns import Hidden
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["TABLE_CELLS", "DiscreteTerms"]

TABLE_CELLS = 1 << 24
"""The largest number of cells of the tables of one family."""


class _Family(NamedTuple):
    """A family of discrete features with the class.

    Parameters
    ----------
    variable : the variable whose table it is.
    features : the members but for the class.
    strides : the distance between two states of each feature in the tables.
    logs : the relative log-probabilities of each cell, None if there are too many cells.  # (class - 1, cell)
    """

    variable: int
    features: tuple[int, ...]
    strides: tuple[int, ...]
    logs: Numbers | None


class _Game(NamedTuple):
    """The mean of the scores of a family in the background, and the Shapley value of each feature in each cell."""

    mean: Numbers  # (class - 1,)
    values: Numbers  # (feature, class - 1, cell)
    cells: int


class DiscreteTerms:
    """The terms of the families of discrete features with the class, and of families in which a parent is missing.

    Parameters
    ----------
    network : the network.
    predictor : its predictor.
    background : a function that returns the background; it is not called before a contribution of a feature is needed.
    """

    def __init__(self, network: Network, predictor: Predictor, background: Callable[[], Background]) -> None:
        self.network = network
        self.predictor = predictor
        self.background = background
        self.classes = network.variables[CLASS].card

    @cached_property
    def prior(self) -> Numbers:
        """log P(class) relative to the first class.  # (class - 1,)"""
        return relative(bits_of(self.predictor.prior))

    @cached_property
    def mean(self) -> Numbers:
        """The mean of the terms in the background, with the prior if the class has no parents.  # (class - 1,)"""
        root = np.zeros(self.classes - 1) if self.network.parents[CLASS] else self.prior
        return np.asarray(root + sum((game.mean for game in self._games), np.zeros(self.classes - 1)))

    def by_family(self, base: Numbers, parts: Numbers, codes: Codes, has_missing: Bools, position: Mapping[int, int]) -> None:  # noqa: ARG002
        """Add the relative log-probability of each variable given its parents."""
        block = RowBlock(codes, slice(None))
        for family in self.families:
            self._add_family(parts[position[family.variable]], block, family)
        for v, rows, term in self._coupled(codes, has_missing):
            if v in position:
                parts[position[v]][:, rows] += term - (self.prior[:, None] if v == CLASS else 0.0)

    def by_feature(self, base: Numbers, parts: Numbers, codes: Codes, has_missing: Bools, position: Mapping[int, int]) -> None:
        """Add the Shapley values of the features; take the mean of a family with a missing member from the base."""
        block = RowBlock(codes, slice(None))
        for family, game in zip(self.families, self._games, strict=True):
            self._add_game(base, parts, block, family, game, position)
        for v, rows, term in self._coupled(codes, has_missing):
            if v == CLASS:
                self._add_class(parts, codes, rows, position)
            elif v in position:
                parts[position[v]][:, rows] += term

    def _add_family(self, part: Numbers, block: RowBlock, family: _Family) -> None:
        """Add the terms of a family in the rows in which it is complete."""
        if family.logs is None:
            self._add_large(part, block, family)
            return
        address, absent = _address(block, family, family.logs.shape[1])
        shift = self.prior if family.variable == CLASS else np.zeros(self.classes - 1)
        for c, logs in enumerate(family.logs):
            part[c] += _taken(logs, address, absent, -shift[c])

    def _add_large(self, part: Numbers, block: RowBlock, family: _Family) -> None:
        """Add the terms of a family whose table is sparse, in the rows in which the family is complete."""
        absent = np.logical_or.reduce([missing(block.codes[x]) for x in family.features])
        rows = np.flatnonzero(~absent)
        values = {x: block.codes[x][rows] for x in family.features}
        terms = relative(bits_of(self.network.table(family.variable).probability(values, len(rows))).T)
        part[:, rows] += terms - (self.prior[:, None] if family.variable == CLASS else 0.0)

    def _add_game(
        self, base: Numbers, parts: Numbers, block: RowBlock, family: _Family, game: _Game, position: Mapping[int, int]
    ) -> None:
        """Add the Shapley values of a family in the rows in which it is complete; take its mean from the base of the others."""
        address, absent = _address(block, family, game.cells)
        for x, values in zip(family.features, game.values, strict=False):
            for c in range(self.classes - 1):
                parts[position[x], c] += _taken(values[c], address, absent)
        if absent is not None:
            base[:, absent] -= game.mean[:, None]
            if family.variable == CLASS:
                base[:, absent] += self.prior[:, None]

    def _coupled(self, codes: Codes, has_missing: Bools) -> Iterator[tuple[int, Integers, Numbers]]:
        """Yield the terms of families in which a parent is missing, the missing values marginalized, with their rows."""
        elimination = self.predictor.elimination
        for (hidden, touched), rows in elimination.rows_by_component(codes, has_missing).items():
            for v, term in self._chain(elimination, codes, hidden, touched, rows):
                yield v, rows, term

    def _chain(
        self, elimination: Elimination, codes: Codes, hidden: Sequence[int], touched: Sequence[int], rows: Integers
    ) -> Iterator[tuple[int, Numbers]]:
        """Yield each observed variable of a component and its term given the variables before it, by the chain rule."""
        place = {v: i for i, v in enumerate(self.network.order)}
        before = np.zeros((len(rows), self.classes))
        for i, v in enumerate(touched):
            if v not in hidden:
                some = tuple(h for h in hidden if place[h] < place[v])
                after = elimination.contribution(codes, (some, tuple(touched[: i + 1])), rows) * BITS
                yield v, _added(before, after)
                before = after

    def _add_class(self, parts: Numbers, codes: Codes, rows: Integers, position: Mapping[int, int]) -> None:
        """Add the term of the class where one of its parents is missing; the observed features before it share it, in order."""
        columns = [np.full_like(column[rows], absent_code(column)) for column in codes]
        before, absent = np.repeat(log(self.predictor.prior)[None] * BITS, len(rows), axis=0), np.ones(len(columns), bool)
        for v in self.network.order[: self.network.order.index(CLASS)]:
            if v in position:
                columns[v] = codes[v][rows]
                absent[v] = bool(missing(columns[v]).any())
                after = self.predictor.joint(columns, absent) * BITS
                parts[position[v]][:, rows] += _added(before, after)
                before = after

    @cached_property
    def families(self) -> list[_Family]:
        """The families of discrete features, but for the prior."""
        variables = [v for v in (*self.network.features, CLASS) if v not in self._hidden and v not in self.network.densities]
        return [self._family(v) for v in variables if self.network.parents[v] and self.network.family(v)[-1] == CLASS]

    @cached_property
    def _hidden(self) -> frozenset[int]:
        return frozenset(v for v, column in self.network.derived.items() if isinstance(column, Hidden))

    def _family(self, v: int) -> _Family:
        members = self.network.family(v)
        cards = [self.network.variables[m].card for m in members]
        features, cells = members[:-1], prod(cards[:-1])
        strides = tuple(prod(cards[i + 1 : -1]) for i in range(len(features)))
        if cells * self.classes * len(features) > TABLE_CELLS:
            return _Family(v, features, strides, None)
        table = bits_of(self.network.full_table(v)).reshape(cells, self.classes)
        return _Family(v, features, strides, np.ascontiguousarray(relative(table.T)))

    @cached_property
    def _games(self) -> list[_Game]:
        """The game of each family; without values for a family with a hidden column, which is never complete."""
        for family in self.families:
            if family.logs is None:
                raise self._too_large(family)
        observed = [i for i, family in enumerate(self.families) if self._hidden.isdisjoint(family.features)]
        distributions = self.background().distributions([self.families[i].features for i in observed])
        games: list[_Game] = []
        for i, family in enumerate(self.families):
            assert family.logs is not None
            cells = family.logs.shape[1]
            if i not in observed:
                games.append(_Game(np.zeros(self.classes - 1), np.zeros((0, self.classes - 1, 0)), cells))
                continue
            distribution = distributions[observed.index(i)]
            mean, values = family_values(np.moveaxis(family.logs.reshape(-1, *distribution.shape), 0, -1), distribution)
            tables = np.moveaxis(values, -1, 1).reshape(len(values), *family.logs.shape)
            games.append(_Game(mean, np.ascontiguousarray(tables), cells))
        return games

    def _too_large(self, family: _Family) -> ResourceError:
        names = ", ".join(quoted(self.network.name(x)) for x in family.features)
        return ResourceError(
            f"the Shapley values of {names} together need tables of more than {TABLE_CELLS:,} cells; use the contributions of "
            "families (by_family), or learn with fewer parents or fewer states"
        )


def _address(block: RowBlock, family: _Family, cells: int) -> tuple[NDArray[np.intp], Bools | None]:
    """Return the cell of each row, and the rows in which the family is not complete; None if there are none."""
    address, absent = block.address(family.features, family.strides, cells)
    return address.astype(np.intp), absent


def _taken(values: Numbers, address: NDArray[np.intp], absent: Bools | None, shift: float = 0.0) -> Numbers:
    """Return the value of each row, zero where the family is not complete."""
    result = values.take(address, mode="clip")  # without a check of the addresses, which are valid where the family is complete
    if shift:
        result += shift
    if absent is not None:
        result[absent] = 0.0
    return result


def _added(before: Numbers, after: Numbers) -> Numbers:
    """Return what a variable adds to the scores; `ZERO` where it makes a class impossible.  # (row, class) -> (class - 1, row)"""
    with np.errstate(invalid="ignore"):
        terms = np.where(np.isneginf(after), np.where(np.isneginf(before), 0.0, ZERO), after - before)
    return relative(terms.T)
