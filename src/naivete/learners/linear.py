"""Linear scores of the classes from the values of single features: logistic regression, also fitted without some of the cases.

A nominal feature has one weight for each of its states and each class, missing counted as a state. A numeric feature has one weight
for each class, which multiplies its standardized value, and another one where it is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from naivete._kernels import run_parallel
from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.linear import LinearRows, fit_linear, gram, row_scores
from naivete._kernels.weights import SECOND
from naivete.cases.sample import Sample
from naivete.learners.folds import Folds
from naivete.network.spectrum import Linear
from naivete.variables import CLASS, Variables

__all__ = ["cross_fitted_linear"]

PENALTY = 1.0
"""The penalty of a squared weight, as the default of scikit-learn's `LogisticRegression`."""
STEPS = 15
"""Of L-BFGS: further ones change the loss of other cases little."""
WIDE = 400
"""With more columns than this their products are not computed for the search of the weights."""
MOST_CURVATURES = 1 << 22
"""Nor with more products than this of all classes together."""
LEAST_SHARE = 1e-4
"""The share of cases below the middle of an interval is limited to at least this and at most 1 minus this."""


def cross_fitted_linear(variables: Variables, features: Sequence[int], sample: Sample, folds: Folds) -> tuple[Linear, Numbers]:
    """Return the scores learned from all cases, and the scores of each row learned without the cases of its fold.

    Parameters
    ----------
    variables : the variables, the class last.
    features : the features that are used.
    sample : the cases.
    folds : the rows, and which fold each is in.

    Returns
    -------
    linear : the tables of the features.
    scores : for each row of the folds.  # (row, class)
    """
    design = _Design(variables, tuple(features), sample)
    scores = np.zeros((len(folds.case), variables[CLASS].card))

    def held_out(fold: int) -> Numbers:
        values = design.fitted(sample.weight * (1 - folds.share[:, fold]))
        rows = np.flatnonzero(folds.fold == fold)
        scores[rows] = design.both_classes(row_scores(design.rows, values)[folds.case[rows]])
        return values

    used = [k for k in range(folds.share.shape[1]) if (folds.fold == k).any()]
    fits = run_parallel(held_out, used, 100.0 * len(design.rows.value) * scores.shape[1])
    first = np.mean(fits, axis=0) if fits else None
    return design.linear(design.fitted(sample.weight, first)), scores


def _standardized(weight: Numbers) -> Numbers:
    """Return a number for each interval of a numeric feature, given their weights: its normal score, scaled to variance 1.

    The normal score is the value that a normal variable exceeds as often as cases are above the middle of the interval.
    """
    share = weight / max(float(weight.sum()), 1e-300)
    middles = np.clip(np.cumsum(share) - share / 2, LEAST_SHARE, 1 - LEAST_SHARE)
    scores = ndtri(middles)
    scores -= (share * scores).sum()
    deviation = float(np.sqrt((share * scores * scores).sum()))
    return np.asarray(scores / deviation if deviation > 0 else np.zeros_like(scores))


@dataclass(frozen=True, eq=False)
class _Design:
    """The cases of a sample as rows of a matrix.

    Parameters
    ----------
    variables : the variables, the class last.
    features : the features that are used.
    sample : the cases.
    """

    variables: Variables
    features: tuple[int, ...]
    sample: Sample

    @cached_property
    def codes(self) -> list[Integers]:
        """The codes of each feature, with that of missing values after those of the states."""
        return [np.minimum(self.sample.codes[x], self.variables[x].card).astype(np.int64) for x in self.features]

    @cached_property
    def encodings(self) -> list[tuple[Integers, Numbers]]:
        """For each feature the columns of its codes, and the value of each code in its column."""
        result, columns = [], 0
        for x, codes in zip(self.features, self.codes, strict=True):
            variable = self.variables[x]
            weight = np.bincount(codes, self.sample.weight, variable.card + 1).astype(np.float64)
            column, value = np.arange(variable.card + 1), np.ones(variable.card + 1)
            if variable.cuts:
                column = np.append(np.zeros(variable.card, np.int64), 1)
                value[:-1] = _standardized(weight[:-1])
            result.append((column + columns, value))
            columns += int(column[-1]) + 1
        return result

    @cached_property
    def rows(self) -> LinearRows:
        """The matrix. The most frequent state of a nominal feature is in the base, so that rows of this state have no entries."""
        columns = int(self.encodings[-1][0][-1]) + 1 if self.encodings else 0
        base = np.zeros(columns)
        parts: list[tuple[Integers, Integers, Numbers]] = []
        for x, codes, (column, value) in zip(self.features, self.codes, self.encodings, strict=True):
            if self.variables[x].cuts:
                chosen = np.flatnonzero(value[codes])
            else:
                usual = int(np.bincount(codes, self.sample.weight).argmax())
                base[column[usual]] = 1.0
                chosen = np.flatnonzero(codes != usual)
                parts.append((chosen, np.full(len(chosen), column[usual]), np.full(len(chosen), -1.0)))
            parts.append((chosen, column[codes[chosen]], value[codes[chosen]]))
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        row, column, value = (np.concatenate(arrays) for arrays in zip(empty, *parts, strict=True))
        order = np.argsort(row, kind="stable")
        start = np.zeros(len(self.sample.labels) + 1, np.int64)
        np.cumsum(np.bincount(row, minlength=len(self.sample.labels)), out=start[1:])
        return LinearRows(start, column[order].astype(np.uint32), value[order], base)

    def fitted(self, weight: Numbers, first: Numbers | None = None) -> Numbers:
        """Return the weights of the columns and the intercepts, learned from cases of these weights.  # (column + 1, class)

        With two classes they are those of the second class minus those of the first, in one column.

        Intercepts are drawn to the logarithms of the class frequencies, weights to zero.
        """
        rows, classes = self.rows, self.variables[CLASS].card
        if classes == 1:
            return np.zeros((len(rows.base) + 1, 1))
        logs = np.log(np.bincount(self.sample.labels, weight, classes) + 0.5)
        labels, strength, intercepts = self.sample.labels, PENALTY, logs - np.log(weight.sum() + classes / 2)
        if classes == 2:  # one column of differences: half of the work
            labels, strength, intercepts = np.where(labels == 1, 0, SECOND).astype(np.uint32), PENALTY / 2, logs[1:] - logs[:1]
        origin = np.zeros((len(rows.base) + 1, len(intercepts)))
        origin[-1] = intercepts
        strengths = np.full(origin.shape, strength)
        share = np.exp(logs - logs.max())
        share /= share.sum()
        curvatures = self.curvatures(share[-origin.shape[1] :], strength, float(weight.sum()))
        return fit_linear(rows, labels, weight, strengths, origin, origin if first is None else first, STEPS, curvatures)

    @cached_property
    def gram(self) -> Numbers:
        """About X'X / n of the matrix with a last column of ones, or the squares of its columns where it has many columns."""
        rows, weight = self.rows, self.sample.weight
        total = max(float(weight.sum()), 1e-300)
        size, classes = len(rows.base) + 1, self.variables[CLASS].card
        if size <= WIDE and classes * size * size <= MOST_CURVATURES:
            return gram(rows, weight) / total
        row = np.repeat(np.arange(len(weight)), np.diff(rows.start))
        return np.append(np.bincount(rows.column, weight[row] * rows.value**2, len(rows.base)) / total, 1.0)

    def curvatures(self, share: Numbers, strength: float, total: float) -> Numbers:
        """Return the second derivatives of the penalized loss where all columns have the weight zero; see `fit_linear`.

        Parameters
        ----------
        share : the share of the cases in each class that has weights.
        strength : of the penalty.
        total : the weight of the cases.
        """
        scale = share * (1 - share) * total
        if self.gram.ndim == 1:
            return np.outer(self.gram, scale) + strength
        return scale[:, None, None] * self.gram + strength * np.eye(len(self.gram))

    def linear(self, values: Numbers) -> Linear:
        """Return the tables of the weights of columns; a single column of weights is the difference of two classes."""
        values = self.both_classes(values)
        tables = (values[column] * value[:, None] for column, value in self.encodings)
        return Linear(tuple(tables), values[-1])

    def both_classes(self, values: Numbers) -> Numbers:
        """Return values of all classes; of two classes, given those of the second minus those of the first."""
        return np.column_stack([-values / 2, values / 2]) if self.variables[CLASS].card == 2 else values
