"""Contributions of the features and of the families of a network to the log odds of the classes, in bits.

All scores are log-probabilities relative to the first class, since posteriors depend on nothing else. Contributions to the log odds
of one class against another are differences of scores. Against all other classes together, they are weighted means of these
differences; `naivete.inference.log_odds.against_rest` gives the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, absent_code, missing
from naivete.errors import DataError, ParameterError
from naivete.inference.certainty import Certainty, Training, sampled_rows
from naivete.inference.continuous_terms import ContinuousTerms
from naivete.inference.derived_predictor import DerivedPredictor, predictor_of
from naivete.inference.discrete_terms import DiscreteTerms
from naivete.inference.elimination import Codes, missing_patterns
from naivete.inference.log_odds import BITS, Attribution, Scores, bits_of, log_odds_of, relative
from naivete.inference.predictor import Predictor, rows_without_evidence
from naivete.inference.shapley import Background, NetworkBackground, RowsBackground
from naivete.inference.tree_terms import TreeTerms
from naivete.network.derived_columns import Hidden, Hierarchy, Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variables

__all__ = ["By", "Explainer"]

By = Literal["feature", "family"]

SAMPLED = 1000
"""The number of rows that are drawn from the network for comparison."""
BLOCK_CELLS = 1 << 21
"""The number of scores that are computed at a time."""


class Explainer:
    """Contributions of the features, or of the families, of a network to the log odds of its classes.

    The terms of a family are the logarithms of its table, which the predictor adds: log P(x | parents, class). The base is then the
    prior. If a parent is missing in a row, the term of x is log P(x | the features before it that are observed, class), where a
    feature is before another in the order of the network; for rows without missing values this is the same number.

    The contributions of the features are the Shapley values of the interventional game: a feature that is absent from a coalition
    is drawn from the background. The base is the mean of the scores in the background. Families with a missing member are left out
    of the game and of the base. If x is observed and a parent is missing, the term described above goes to x as a whole.

    In a classification tree, the class has a single family, and the features that the tree tests share its term. If one of them
    is missing in a row, the base is the prediction without them, and the contributions are its changes when the observed features
    become known in the order of the nodes of the tree.

    Parameters
    ----------
    network : the network.
    background : rows of codes, one column for each column of the table; by default the distribution of the network, or of 1000 rows
        drawn from it if it is a tree or a hierarchy of classifiers.
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

    has_families = True
    no_interval = ""
    """What texts say in place of an interval that cannot be computed."""

    @property
    def variables(self) -> Variables:
        """The variables of the features."""
        return self.network.variables

    @property
    def family_names(self) -> list[str]:
        """The variable and the parents of each family."""
        network = self.network
        return [f"{network.name(v)} | {', '.join(str(network.name(p)) for p in network.parents[v])}" for v in self.terms]

    @property
    def compared_with(self) -> str:
        """The rows with which the typicality of a row is found, in words."""
        return "of the background rows" if self.has_rows else "of rows drawn from the model"

    def note(self, standard_errors: Numbers | None) -> str:  # noqa: ARG002
        """Return nothing: all contributions are exact."""
        return ""

    @cached_property
    def features(self) -> tuple[int, ...]:
        """The features to which contributions are given: all columns, and the classifier that a hierarchy chooses."""
        computed = [v for v, column in self.network.derived.items() if not isinstance(column, Hidden)]
        return (*self.network.inputs, *([] if self._is_tree else computed))

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
            others = [np.full_like(c, absent_code(c)) if x in absent else c for x, c in enumerate(self.reference)]
            reference = np.sort(self._log_probability(others, absent))
            result[rows] = np.searchsorted(reference, logs + 1e-9, side="right") / len(reference)
        return result

    @property
    def has_rows(self) -> bool:
        """Whether the background is rows that were passed."""
        return self._rows is not None

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
        _ = self._start(by), self._discrete.families

    def scores(self, codes: Codes, has_missing: Bools, by: By) -> Scores:
        """Return the scores of some rows."""
        columns, has_missing, residual = self.columns(codes, has_missing)
        if by == "feature" and self._tree is not None:
            residual = np.union1d(residual, np.flatnonzero(~self._tree.observed(columns)))
        terms = self.features if by == "feature" else self.terms
        position = {v: i for i, v in enumerate(terms)}
        parts = np.zeros((len(terms), self.classes - 1, len(columns[0])))
        base = np.repeat(self._start(by)[:, None], len(columns[0]), axis=1)
        if by == "family":
            self._discrete.by_family(base, parts, columns, has_missing, position)
            self._continuous.by_family(base, parts, columns, has_missing, position)
        elif self._tree is not None:
            self._tree.add(parts, columns, np.setdiff1d(np.arange(len(columns[0])), residual), position)
        else:
            self._discrete.by_feature(base, parts, columns, has_missing, position)
            self._continuous.by_feature(base, parts, columns, has_missing, position)
        if len(residual):
            self._add_residual(base, parts, codes, residual, position, by)
        return Scores(base * self.temperature, parts * self.temperature) if self.temperature != 1 else Scores(base, parts)

    def _start(self, by: By) -> Numbers:
        """Return the base of rows without missing values."""
        if by == "family":
            return self._discrete.prior
        return self._discrete.mean + self._continuous.mean if self._tree is None else self._tree.mean

    @cached_property
    def _discrete(self) -> DiscreteTerms:
        return DiscreteTerms(self.network, self._inner, lambda: self._background)

    @cached_property
    def _tree(self) -> TreeTerms | None:
        """The terms of a classification tree, if the network is one."""
        if not self._is_tree:
            return None
        (leaf,) = self.network.parents[CLASS]
        tree = self.network.derived[leaf]
        assert isinstance(tree, Tree)
        return TreeTerms(tree, relative(bits_of(np.asarray(self.network.cpts[CLASS])).T).T, lambda: self._complete_rows)

    @property
    def _is_tree(self) -> bool:
        """Whether the class depends on the leaf of a tree, and nothing else on either."""
        parents = self.network.parents
        if len(parents[CLASS]) != 1 or not isinstance(self.network.derived.get(parents[CLASS][0]), Tree):
            return False
        return not any({CLASS, *parents[CLASS]} & {*parents[x]} for x in self.network.features)

    @cached_property
    def _background(self) -> Background:
        if self._rows is None and not self._hierarchy:
            return NetworkBackground(self.network, self.prior)
        return RowsBackground(self.network, self._complete_rows)

    @cached_property
    def _complete_rows(self) -> Codes:
        """The rows of the background with their derived columns; for a tree, those in which all tested values are observed."""
        rows = self.reference if self._rows is None else self._rows
        columns, _, _ = self.columns(rows, self.has_missing(rows))
        if self._tree is not None:
            observed = self._tree.observed(columns)
            columns = [column[observed] for column in columns]
        if not len(columns[0]):
            raise DataError("background: there are no rows; give at least one without missing values, or none at all")
        return columns

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
        """Add the contributions in rows whose posterior is not the sum of the families."""
        some = [column[rows] for column in codes]
        if by == "feature" and self._tree is not None:
            self._add_in_turn(base, parts, some, rows, position, self._tree.order)
            return
        rest = self._posterior_scores(some) - base[:, rows] - parts[:, :, rows].sum(axis=0)
        computed = [v for v in self.network.derived if v in position]
        column = position[CLASS] if by == "family" and CLASS in position else position[computed[0]] if computed else None
        if column is None:
            base[:, rows] += rest
        else:
            parts[column][:, rows] += rest

    def _add_in_turn(
        self, base: Numbers, parts: Numbers, codes: Codes, rows: NDArray[np.intp], position: dict[int, int], order: Sequence[int]
    ) -> None:
        """Add the changes of the scores when the values of some features become known one after another."""
        columns = [np.full_like(column, absent_code(column)) if x in order else column for x, column in enumerate(codes)]
        base[:, rows] = before = self._posterior_scores(columns)
        for x in order:
            columns[x] = codes[x]
            after = self._posterior_scores(columns)
            parts[position[x]][:, rows] += after - before
            before = after

    def _posterior_scores(self, codes: Codes) -> Numbers:
        return relative(bits_of(self.predictor.posterior(codes, self.has_missing(codes))[0]).T)
