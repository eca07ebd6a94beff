"""Contributions of the features and of the families of a network to the log odds of the classes, in bits.

All scores are log-probabilities relative to the first class, since posteriors depend on nothing else. Contributions to the log odds
of one class against another are differences of scores. Against all other classes together, they are weighted means of these
differences; `naivete.inference.log_odds.against_rest` gives the weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code
from naivete._kernels.counting import RowBlock
from naivete.errors import DataError, ParameterError, ResourceError, quoted
from naivete.inference.certainty import Certainty, Training, sampled_rows
from naivete.inference.continuous_terms import ContinuousTerms
from naivete.inference.derived_predictor import DerivedPredictor, predictor_of
from naivete.inference.elimination import Codes, Elimination, log, missing_patterns
from naivete.inference.log_odds import Attribution, Scores, log_odds_of
from naivete.inference.predictor import Predictor, rows_without_evidence
from naivete.inference.shapley import Background, NetworkBackground, RowsBackground, family_values
from naivete.network.derived_columns import Hidden, Hierarchy
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["By", "Explainer"]

By = Literal["feature", "family"]

BITS = 1 / np.log(2)
ZERO = -100.0
"""The logarithm in bits that stands for a probability of zero, so that contributions are finite."""
TABLE_CELLS = 1 << 24
"""The largest number of cells of the tables of one family."""
SAMPLED = 1000
"""The number of rows that are drawn from the network for comparison."""
BLOCK_CELLS = 1 << 21
"""The number of scores that are computed at a time."""


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


class Explainer:
    """Contributions of the features, or of the families, of a network to the log odds of its classes.

    The terms of a family are the logarithms of its table, which the predictor adds: log P(x | parents, class). The base is then the
    prior. If a parent is missing in a row, the term of x is log P(x | the features before it that are observed, class), where a
    feature is before another in the order of the network; for rows without missing values this is the same number.

    The contributions of the features are the Shapley values of the interventional game: a feature that is absent from a coalition
    is drawn from the background. The base is the mean of the scores in the background. Families with a missing member are left out
    of the game and of the base. If x is observed and a parent is missing, the term described above goes to x as a whole.

    Parameters
    ----------
    network : the network.
    background : rows of codes, one column for each column of the table; by default the distribution of the network, or of 1000 rows
        drawn from it if it is a hierarchy of classifiers.
    temperature : the factor of all log-probabilities.
    training : the number of cases and the smoothing, for intervals; None where they are not known.
    """

    def __init__(
        self, network: Network, background: Codes | None = None, temperature: float = 1.0, training: Training | None = None
    ) -> None:
        self.network = network
        self.classes = network.variables[CLASS].card
        self.temperature = temperature
        self.training = training
        self.predictor = predictor_of(network)
        self._inner = Predictor(network)
        self._rows = background
        self._hidden = frozenset(v for v, column in network.derived.items() if isinstance(column, Hidden))

    @cached_property
    def prior(self) -> Numbers:
        """P(class)."""
        return self._inner.prior

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """The variables whose families are the terms: features with parents, and the class if it has parents.

        Families without the class add something only if a parent is missing.
        """
        return (*(x for x in self.features if self.network.parents[x]), *([CLASS] if self.network.parents[CLASS] else []))

    @cached_property
    def features(self) -> tuple[int, ...]:
        """The features to which contributions are given: all columns, then the columns computed from them."""
        return tuple(x for x in self.network.features if x not in self._hidden)

    def attribution(
        self, codes: Codes, has_missing: Bools, target: Integers, other: Integers | None = None, by: By = "feature"
    ) -> Attribution:
        """Return contributions to the log odds of a class in each row, against the other classes together or against one of them.

        Parameters
        ----------
        codes : one column of codes for each column of the table.
        has_missing : which columns have missing values.
        target : the class of each row.
        other : the class against which it is compared in each row; by default all others together.
        by : whether the terms are the features or the families.
        """
        count = len(self.features if by == "feature" else self.terms)
        values, base = np.empty((count, len(target))), np.empty(len(target))
        step = max(64, min(8192, BLOCK_CELLS // max(1, (count + 1) * self.classes)))

        def fill(lo: int) -> None:
            part = slice(lo, lo + step)
            scores = self.scores([column[part] for column in codes], has_missing, by)
            base[part], values[:, part] = log_odds_of(scores, target[part], None if other is None else other[part])

        self._prepare(by)
        _kernels.run_parallel(fill, range(0, len(target), step), work=values.size * self.classes)
        return Attribution(base, values.T)

    def deviation(self, codes: Codes, has_missing: Bools, posterior: Numbers, target: Integers) -> Numbers:
        """Return the standard deviation of the log odds of a class in each row, in bits.

        The parameters of the network have Dirichlet distributions, as `Certainty` describes.
        """
        if self.training is None:
            raise ParameterError("intervals need the number of training cases, which this model file does not have; fit it again")
        if self._hierarchy:
            raise ParameterError(
                "intervals need the number of training cases in each table, which a hierarchy of classifiers lacks"
            )
        columns, has_missing, residual = self.columns(codes, has_missing)
        result = self._certainty.deviation(columns, has_missing, posterior, target)
        if len(residual):
            some = [column[residual] for column in codes]
            result[residual] = self._certainty.divided_deviation(some, posterior[residual], target[residual])
        return np.asarray(result * (self.temperature * BITS))

    @property
    def has_intervals(self) -> bool:
        """Whether `deviation` is possible."""
        return self.training is not None and not self._hierarchy

    @property
    def _hierarchy(self) -> bool:
        return any(isinstance(column, Hierarchy) for column in self.network.derived.values())

    @cached_property
    def _certainty(self) -> Certainty:
        assert self.training is not None
        return Certainty(self.network, self.training)

    def typicality(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return the share of other rows that are at most as probable as each row, all with the same values missing.

        The other rows are those of the background, or rows drawn from the network.
        """
        result = np.empty(len(codes[0]))
        columns = np.flatnonzero(has_missing).tolist()
        patterns = missing_patterns(codes, columns) if columns else [(frozenset[int](), np.arange(len(result)))]
        for absent, rows in patterns:
            logs = self._log_probability([column[rows] for column in codes], absent)
            others = [np.full_like(c, _absent(c)) if x in absent else c for x, c in enumerate(self.reference)]
            reference = np.sort(self._log_probability(others, absent))
            result[rows] = np.searchsorted(reference, logs + 1e-9, side="right") / len(reference)
        return result

    @cached_property
    def reference(self) -> Codes:
        """The rows of the background or, without these, 1000 rows drawn from the network."""
        return self._rows if self._rows is not None and len(self._rows[0]) else sampled_rows(self.network, SAMPLED, seed=0)

    def has_missing(self, codes: Codes) -> Bools:
        """Return which columns have missing values."""
        return np.array([bool(missing(column).any()) for column in codes], bool)

    def _log_probability(self, codes: Codes, absent: frozenset[int]) -> Numbers:
        has_missing = np.array([x in absent for x in self.network.inputs], bool) | self.has_missing(codes)
        return np.asarray(np.logaddexp.reduce(self.predictor.joint(codes, has_missing), axis=1))

    def _prepare(self, by: By) -> None:
        """Compute the tables, which the threads share."""
        _ = self._relative_prior, self._families, self._continuous
        if by == "feature":
            _ = self._games

    def scores(self, codes: Codes, has_missing: Bools, by: By) -> Scores:
        """Return the scores of some rows."""
        columns, has_missing, residual = self.columns(codes, has_missing)
        rows = len(columns[0])
        terms = self.features if by == "feature" else self.terms
        position = {v: i for i, v in enumerate(terms)}
        parts = np.zeros((len(terms), self.classes - 1, rows))
        base = np.repeat(self._start(by)[:, None], rows, axis=1)
        block = RowBlock(columns, slice(None))
        for i, family in enumerate(self._families):
            if by == "family":
                self._add_family(parts[position[family.variable]], block, family)
            else:
                self._add_game(base, parts, block, family, self._games[i], position)
        continuous = self._continuous.by_feature if by == "feature" else self._continuous.by_family
        continuous(base, parts, columns, has_missing, position)
        self._add_coupled(parts, columns, has_missing, position, by)
        if len(residual):
            self._add_residual(base, parts, codes, residual, position, by)
        return Scores(base * self.temperature, parts * self.temperature) if self.temperature != 1 else Scores(base, parts)

    def _start(self, by: By) -> Numbers:
        """Return the base of rows without missing values."""
        if by == "family":
            return self._relative_prior
        root = np.zeros(self.classes - 1) if self.network.parents[CLASS] else self._relative_prior
        return root + sum((game.mean for game in self._games), np.zeros(self.classes - 1)) + self._continuous.mean

    def _add_family(self, part: Numbers, block: RowBlock, family: _Family) -> None:
        """Add the terms of a family in the rows in which it is complete."""
        if family.logs is None:
            self._add_large(part, block, family)
            return
        address, absent = block.address(family.features, family.strides, family.logs.shape[1])
        shift = self._relative_prior if family.variable == CLASS else np.zeros(self.classes - 1)
        for c, logs in enumerate(family.logs):
            part[c] += _taken(logs, address, absent, -shift[c])

    def _add_large(self, part: Numbers, block: RowBlock, family: _Family) -> None:
        """Add the terms of a family whose table is sparse, in the rows in which the family is complete."""
        absent = np.logical_or.reduce([missing(block.codes[x]) for x in family.features])
        rows = np.flatnonzero(~absent)
        values = {x: block.codes[x][rows] for x in family.features}
        terms = _relative(_bits(self.network.table(family.variable).probability(values, len(rows))).T)
        part[:, rows] += terms - (self._relative_prior[:, None] if family.variable == CLASS else 0.0)

    def _add_game(
        self, base: Numbers, parts: Numbers, block: RowBlock, family: _Family, game: _Game, position: dict[int, int]
    ) -> None:
        """Add the Shapley values of a family in the rows in which it is complete; take its mean from the base of the others."""
        address, absent = block.address(family.features, family.strides, game.cells)
        for x, values in zip(family.features, game.values, strict=False):
            for c in range(self.classes - 1):
                parts[position[x], c] += _taken(values[c], address, absent)
        if absent is not None:
            base[:, absent] -= game.mean[:, None]
            if family.variable == CLASS:
                base[:, absent] += self._relative_prior[:, None]

    def _add_coupled(self, parts: Numbers, codes: Codes, has_missing: Bools, position: dict[int, int], by: By) -> None:
        """Add the terms of families in which a parent is missing, the missing values marginalized."""
        elimination = self._inner.elimination
        for (hidden, touched), rows in elimination.rows_by_component(codes, has_missing).items():
            for v, term in self._chain(elimination, codes, hidden, touched, rows):
                if v == CLASS:
                    self._add_class(parts, codes, rows, term, position, by)
                elif v in position:
                    parts[position[v]][:, rows] += term

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

    def _add_class(self, parts: Numbers, codes: Codes, rows: Integers, term: Numbers, position: dict[int, int], by: By) -> None:
        """Add the term of the class where one of its parents is missing; the observed features before it share it, in order."""
        if by == "family":
            parts[position[CLASS]][:, rows] += term - self._relative_prior[:, None]
            return
        columns = [np.full_like(column[rows], _absent(column)) for column in codes]
        before, absent = np.repeat(log(self.prior)[None] * BITS, len(rows), axis=0), np.ones(len(columns), bool)
        for v in self.network.order[: self.network.order.index(CLASS)]:
            if v in position:
                columns[v] = codes[v][rows]
                absent[v] = bool(missing(columns[v]).any())
                after = self._inner.joint(columns, absent) * BITS
                parts[position[v]][:, rows] += _added(before, after)
                before = after

    @cached_property
    def _relative_prior(self) -> Numbers:
        return _relative(_bits(self.prior))

    @cached_property
    def _families(self) -> list[_Family]:
        """The families of discrete features, but for the prior."""
        continuous = self.network.densities
        return [self._family(v) for v in self.terms if v not in continuous and self.network.family(v)[-1] == CLASS]

    def _family(self, v: int) -> _Family:
        members = self.network.family(v)
        cards = [self.network.variables[m].card for m in members]
        features, cells = members[:-1], prod(cards[:-1])
        strides = tuple(prod(cards[i + 1 : -1]) for i in range(len(features)))
        if cells * self.classes * len(features) > TABLE_CELLS:
            return _Family(v, features, strides, None)
        table = _bits(self.network.full_table(v)).reshape(cells, self.classes)
        return _Family(v, features, strides, np.ascontiguousarray(_relative(table.T)))

    @cached_property
    def _games(self) -> list[_Game]:
        """The game of each family; without values for a family with a hidden column, which is never complete."""
        for family in self._families:
            if family.logs is None:
                raise self._too_large(family)
        observed = [i for i, family in enumerate(self._families) if self._hidden.isdisjoint(family.features)]
        distributions = self._background.distributions([self._families[i].features for i in observed])
        games: list[_Game] = []
        for i, family in enumerate(self._families):
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

    @cached_property
    def _background(self) -> Background:
        if self._rows is None and not self._hierarchy:
            return NetworkBackground(self.network, self.prior)
        rows = self.reference if self._rows is None else self._rows
        if not len(rows[0]):
            raise DataError("background: there are no rows; give at least one, or none for the distribution of the model")
        columns, _, residual = self.columns(rows, self.has_missing(rows))
        if len(residual):
            complete = np.setdiff1d(np.arange(len(columns[0])), residual)
            columns = [column[complete] for column in columns]
        return RowsBackground(self.network, columns)

    @cached_property
    def _continuous(self) -> ContinuousTerms:
        return ContinuousTerms(self.network, lambda: self._background)

    def columns(self, codes: Codes, has_missing: Bools) -> tuple[Codes, Bools, NDArray[np.intp]]:
        """Return all columns, which of them have missing values, and the rows whose posterior is not the sum of the families.

        These are rows that a tree divides among several leaves, and rows without an observed value; their derived columns are
        missing. What the other terms do not explain is given to the class, or to the derived column.
        """
        predictor = self.predictor
        if not isinstance(predictor, DerivedPredictor):
            predictor.check(codes)
            return list(codes[: len(self.network.features)]), has_missing, np.empty(0, np.intp)
        columns, has_missing, divided = predictor.columns(codes, has_missing)
        empty = rows_without_evidence(codes, has_missing, predictor.informative, len(codes[0]))
        return columns, has_missing, np.union1d(divided, empty)

    def _add_residual(
        self, base: Numbers, parts: Numbers, codes: Codes, rows: NDArray[np.intp], position: dict[int, int], by: By
    ) -> None:
        some = [column[rows] for column in codes]
        posterior, _ = self.predictor.posterior(some, self.has_missing(some))
        rest = _relative(_bits(posterior).T) - base[:, rows] - parts[:, :, rows].sum(axis=0)
        computed = [v for v in self.network.derived if v in position]
        column = position[CLASS] if by == "family" and CLASS in position else position[computed[0]] if computed else None
        if column is None:
            base[:, rows] += rest
        else:
            parts[column][:, rows] += rest


def _taken(values: Numbers, address: NDArray[np.integer], absent: Bools | None, shift: float = 0.0) -> Numbers:
    """Return the value of each row, zero where the family is not complete."""
    if absent is None:
        return values.take(address) + shift if shift else values.take(address)
    result = values.take(np.where(absent, 0, address)) + shift
    result[absent] = 0.0
    return result


def _bits(probabilities: Numbers) -> Numbers:
    """Return logarithms in bits; `ZERO` for a probability of zero."""
    logs = log(probabilities) * BITS
    return np.where(np.isneginf(logs), ZERO, logs)


def _relative(logs: Numbers) -> Numbers:
    """Return the scores relative to the first class.  # (class, ...) -> (class - 1, ...)"""
    return np.asarray(logs[1:] - logs[0])


def _added(before: Numbers, after: Numbers) -> Numbers:
    """Return what a variable adds to the scores; `ZERO` where it makes a class impossible.  # (row, class) -> (class - 1, row)"""
    with np.errstate(invalid="ignore"):
        terms = np.where(np.isneginf(after), np.where(np.isneginf(before), 0.0, ZERO), after - before)
    return _relative(terms.T)


def _absent(column: NDArray[np.generic]) -> float | int:
    return np.nan if column.dtype.kind == "f" else missing_code(column.dtype)
