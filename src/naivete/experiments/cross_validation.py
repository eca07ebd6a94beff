"""k-fold cross-validation: several classifiers on the same stratified folds, everything learned inside the fold."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import NaiveteWarning, ParameterError, UnseenValueWarning, shown
from naivete.labelled import Labelled

__all__ = ["Progress", "Result", "cross_validate", "stratified_folds"]

Progress = Callable[[str], None]
"""Told the name of a model after each of its folds."""

_LEAST: Final = 2.0**-52
"""The probability that stands for zero in the log loss, so that one impossible case costs 52 bits and not everything."""


def stratified_folds(labels: NDArray[Any], folds: int, random_state: int = 0) -> NDArray[np.int64]:
    """The fold of every row, 0 .. folds-1; every class is spread evenly, and so are the rows.

    The rows are shuffled, put in the order of their classes and dealt out one by one. A class with fewer rows than folds is
    absent from some of them.

    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    rows = len(labels)
    if not 2 <= folds <= rows:
        raise ParameterError(f"folds={shown(folds)}: a whole number between 2 and the number of rows, {rows}")
    shuffled = np.random.default_rng(random_state).permutation(rows)
    dealt = shuffled[np.argsort(labels[shuffled], kind="stable")]
    fold = np.empty(rows, np.int64)
    fold[dealt] = np.arange(rows) % folds
    return fold


@dataclass(frozen=True, eq=False)
class Result:
    """How a model did, fold by fold (the folds of all repetitions in a row).

    Parameters
    ----------
    model : its name.
    classes : the class labels.
    accuracies, log_losses, briers, rmses : one value for each fold: the share of cases classified correctly; the mean of
        -log2 P(true class), in bits; the mean over cases of the sum over classes of (P(c) - [c is true])^2; and the root of the
        mean of (1 - P(true class))^2.
    confusion : the number of cases classified as the row and correctly of the column, over all folds.  # (classified, correct)
    fit_seconds, predict_seconds : the time of all folds.
    unseen : how many folds met values that their training did not have.
    """

    model: str
    classes: NDArray[Any]
    accuracies: NDArray[np.float64]
    log_losses: NDArray[np.float64]
    briers: NDArray[np.float64]
    rmses: NDArray[np.float64]
    confusion: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    unseen: int = 0

    @property
    def accuracy(self) -> tuple[float, float]:
        """The mean over the folds, and the standard deviation."""
        return float(self.accuracies.mean()), float(self.accuracies.std(ddof=1))

    @property
    def log_loss(self) -> float:
        """The mean over the folds, in bits."""
        return float(self.log_losses.mean())

    @property
    def brier(self) -> float:
        """The mean over the folds."""
        return float(self.briers.mean())

    @property
    def rmse(self) -> float:
        """The mean over the folds."""
        return float(self.rmses.mean())


def cross_validate(
    models: Mapping[str, Any],
    cases: Labelled,
    *,
    folds: int = 10,
    random_state: int = 0,
    repeat: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """The results of the models, all trained and tested on the same folds; cut points and structures are learned in each fold.

    Parameters
    ----------
    models : classifiers that are not fitted yet, by name.
    cases : the cases.
    folds : how many parts; each is classified once by a model that has seen the others.
    random_state : the seed of the folds.
    repeat : how many times to divide anew.
    progress : is told of every fold that is done.
    """
    if repeat < 1:
        raise ParameterError(f"repeat={shown(repeat)}: a whole number, at least 1")
    tallies = {name: _Tally(name, len(cases.classes)) for name in models}
    for again in range(repeat):
        fold = stratified_folds(cases.labels, folds, random_state + again)
        for at in range(folds):
            train, test = cases.take(np.flatnonzero(fold != at)), cases.take(np.flatnonzero(fold == at))
            for name, model in models.items():
                tallies[name].add(model, train, test)
                if progress is not None:
                    progress(name)
    return [tally.result(cases.classes) for tally in tallies.values()]


class _Tally:
    """What is known of a model so far."""

    def __init__(self, name: str, classes: int) -> None:
        self.name = name
        self.scores: list[tuple[float, float, float, float]] = []
        self.confusion = np.zeros((classes, classes))
        self.fit_seconds = self.predict_seconds = 0.0
        self.unseen = 0

    def add(self, model: Any, train: Labelled, test: Labelled) -> None:
        """Fit to the one part, classify the other."""
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", NaiveteWarning)
            started = time.perf_counter()
            fitted = model.fit(train.features, train.labels, sample_weight=train.weight)
            learned = time.perf_counter()
            answers = fitted.predict_proba(test.features)
            self.predict_seconds += time.perf_counter() - learned
            self.fit_seconds += learned - started
        self.unseen += any(issubclass(w.category, UnseenValueWarning) for w in told)
        posterior = np.zeros((len(test), len(self.confusion)))
        posterior[:, fitted.classes_] = answers
        self._score(posterior, test.labels, np.ones(len(test)) if test.weight is None else test.weight)

    def _score(self, posterior: NDArray[np.float64], correct: NDArray[np.int64], weight: NDArray[np.float64]) -> None:
        if not weight.any():
            return  # a fold of rows that do not count
        found = posterior.argmax(axis=1)
        np.add.at(self.confusion, (found, correct), weight)
        true = posterior[np.arange(len(correct)), correct]
        squares = (posterior**2).sum(axis=1) - 2 * true + 1
        per_case = np.column_stack([found == correct, -np.log2(np.maximum(true, _LEAST)), squares, (1 - true) ** 2])
        accuracy, log_loss, brier, square = np.average(per_case, axis=0, weights=weight).tolist()
        self.scores.append((accuracy, log_loss, brier, square**0.5))

    def result(self, classes: NDArray[Any]) -> Result:
        """The result, when all folds are done."""
        accuracies, log_losses, briers, rmses = np.array(self.scores, np.float64).reshape(-1, 4).T
        seconds = self.fit_seconds, self.predict_seconds
        return Result(self.name, classes, accuracies, log_losses, briers, rmses, self.confusion, *seconds, self.unseen)
