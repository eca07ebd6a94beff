"""Posterior probabilities of averaged n-dependence estimators."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers, missing, missing_code
from naivete._kernels.layout import Codes, Layout
from naivete.inference.elimination import log
from naivete.inference.predictor import Predictor
from naivete.network.ande import AnDE, Subsumption
from naivete.variables import CLASS, Family, family

__all__ = ["AnDEPredictor"]


class _Model(NamedTuple):
    """One model of the average: all other features depend on the class and the same parents.

    Parameters
    ----------
    parents : the parents.
    frequencies : how often the values of the parents occur together.
    layout : the families of the parents and of each other feature.
    logs : log P(class, parents) and log P(feature | parents, class), in that layout.
    """

    parents: Family
    frequencies: Numbers
    layout: Layout
    logs: Numbers

    def qualified(self, codes: Codes, least: float) -> Bools:
        """Return the rows in which the parents are observed and their values occur together in at least `least` cases."""
        absent = np.logical_or.reduce([missing(codes[x]) for x in self.parents])
        values = tuple(np.where(absent, 0, codes[x]).astype(np.int64) for x in self.parents)
        return np.asarray(~absent & (self.frequencies[values] >= least))


class AnDEPredictor:
    """Posterior probabilities of averaged n-dependence estimators.

    P(row, class) is the mean over the sets s of n features of P(class, x_s) times the product of P(x_j | class, x_s) over the other
    features j. A set is used where its values are observed and occur together often enough. A row without such a set, or impossible
    in all of them, is predicted with n - 1 parents, finally with none, which is naive Bayes. A missing value is left out of the
    products, and so is a value that another value of the row implies.

    Parameters
    ----------
    ande : the model.
    naive : the predictor of the naive Bayes network.
    """

    def __init__(self, ande: AnDE, naive: Predictor) -> None:
        self.ande = ande
        self.naive = naive
        self.classes = ande.variables[CLASS].card
        self._models: dict[int, list[_Model]] = {}

    def models(self, n: int) -> list[_Model]:
        """Return the models with n parents; their tables are computed when they are first needed."""
        if n not in self._models:
            self._models[n] = [self._model(parents) for parents in combinations(self.ande.features, n)]
        return self._models[n]

    def _model(self, parents: Family) -> _Model:
        children = [x for x in self.ande.features if x not in parents]
        families = (family(*parents, CLASS), *(family(*parents, x, CLASS) for x in children))
        tables = [self.ande.parent_probabilities(parents), *(self.ande.child_probabilities(parents, x) for x in children)]
        layout = Layout(families, tuple(v.card for v in self.ande.variables))
        return _Model(parents, self.ande.frequencies(parents), layout, np.concatenate([log(table).ravel() for table in tables]))

    @cached_property
    def _subsumptions(self) -> list[Subsumption]:
        return list(self.ande.subsumptions())

    def joint(self, codes: Codes, has_missing: Bools) -> Numbers:
        """Return log P(row, class), the logarithm of the average.  # (row, class)"""
        joint, others = self._averages(codes)
        if len(others):
            joint[others] = self.naive.joint([column[others] for column in codes], has_missing)
        return joint

    def posterior(self, codes: Codes, has_missing: Bools, temperature: float = 1.0) -> tuple[Numbers, Integers]:
        """Return P(class | row), and the rows that have probability zero in every class, with naive Bayes too.  # (row, class)

        The probabilities are raised to the power `temperature`, and normalized.
        """
        joint, others = self._averages(codes)
        result = np.empty_like(joint)
        averaged = np.setdiff1d(np.arange(len(joint)), others, assume_unique=True)
        result[averaged] = _kernels.posterior(joint[averaged] if temperature == 1 else joint[averaged] * temperature)
        result[others], impossible = self.naive.posterior([column[others] for column in codes], has_missing, temperature)
        return result, others[impossible]

    def _averages(self, codes: Codes) -> tuple[Numbers, Integers]:
        """Return the log-averages, with n parents or fewer, and the rows that are left for naive Bayes."""
        self.naive.check(codes)
        codes = self._without_implied(codes)
        others = np.arange(len(codes[0]))
        joint = np.full((len(others), self.classes), -np.inf)
        for n in range(self.ande.n, 0, -1):
            if len(others):
                joint[others] = self._average(n, [column[others] for column in codes])
                others = others[np.isneginf(joint[others].max(axis=1))]
        return joint, others

    def _average(self, n: int, codes: Codes) -> Numbers:
        """Return the logarithm of the mean over the models with n parents that qualify; -inf where none does.  # (row, class)"""
        rows = len(codes[0])
        total, used = np.full((rows, self.classes), -np.inf), np.zeros((rows, 1))
        for model in self.models(n):
            qualified = model.qualified(codes, self.ande.min_frequency)
            if qualified.any():
                logs = _kernels.gather(codes, model.layout, model.logs, self.classes)
                logs[~qualified] = -np.inf
                total = np.logaddexp(total, logs)
                used[qualified] += 1
        return np.asarray(total - np.log(np.maximum(used, 1)))

    def _without_implied(self, codes: Codes) -> Codes:
        """Return the codes with values that another value of the row implies as missing."""
        dropped: dict[int, Bools] = {}
        for first, second, drops_first, drops_second in self._subsumptions:
            observed = ~(missing(codes[first]) | missing(codes[second]))
            values = tuple(np.where(observed, codes[x], 0).astype(np.int64) for x in (first, second))
            for x, drops in ((first, drops_first), (second, drops_second)):
                dropped[x] = dropped.get(x, False) | (observed & drops[values])
        if not dropped:
            return codes
        return [
            np.where(dropped[x], column.dtype.type(missing_code(column.dtype)), column) if x in dropped else column
            for x, column in enumerate(codes)
        ]
