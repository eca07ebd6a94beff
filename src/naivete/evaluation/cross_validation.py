"""k-fold cross-validation of several classifiers on the same stratified folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.data.labelled_table import LabelledTable
from naivete.evaluation.data_sets import Given, cases_of, warn_about_columns
from naivete.evaluation.held_out_predictions import Prediction, held_out_predictions
from naivete.evaluation.measures import LEAST, macro_averages
from naivete.evaluation.outcomes import Cases
from naivete.evaluation.protocols import KFold, stratified_folds

__all__ = ["Progress", "Result", "cross_validate", "stratified_folds"]

Progress = Callable[[str], None]
"""Called with the name of a model after each of its folds."""


@dataclass(frozen=True, eq=False)
class Result:
    """The results of a model, fold by fold; the folds of all repetitions follow one another.

    Parameters
    ----------
    model : str
        The name of the model.
    classes : ndarray of shape (n_classes,)
        The class labels.
    accuracies : ndarray of shape (n_folds,)
        The share of cases classified correctly.
    log_losses : ndarray of shape (n_folds,)
        The mean of -log2 P(true class), in bits.
    briers : ndarray of shape (n_folds,)
        The mean over cases of the sum over classes of (P(c) - [c is true])^2.
    rmses : ndarray of shape (n_folds,)
        The root of the mean of (1 - P(true class))^2.
    balanced_accuracies : ndarray of shape (n_folds,)
        The mean over the classes of their recall.
    f1s : ndarray of shape (n_folds,)
        The mean over the classes of their F1.
    roc_aucs : ndarray of shape (n_folds,)
        The mean over the classes of the area under the ROC curve.
    confusion : ndarray of shape (n_classes, n_classes)
        The number of cases by true (rows) and predicted class (columns), over all folds.
    fit_seconds : float
        The time of fitting, of all folds together.
    predict_seconds : float
        The time of prediction, of all folds together.
    unseen : int, default=0
        The number of folds with values that did not occur in training.
    posterior : ndarray of shape (n_rows, n_classes) or None, default=None
        P(class | row) of each row as a test row of the first repetition, where it was to be kept.
    """

    model: str
    classes: NDArray[Any]
    accuracies: NDArray[np.float64]
    log_losses: NDArray[np.float64]
    briers: NDArray[np.float64]
    rmses: NDArray[np.float64]
    balanced_accuracies: NDArray[np.float64]
    f1s: NDArray[np.float64]
    roc_aucs: NDArray[np.float64]
    confusion: NDArray[np.float64]
    fit_seconds: float
    predict_seconds: float
    unseen: int = 0
    posterior: NDArray[np.float64] | None = None

    @property
    def accuracy(self) -> tuple[float, float]:
        """The mean and the standard deviation over the folds."""
        return float(self.accuracies.mean()), float(self.accuracies.std(ddof=1))

    @property
    def log_loss(self) -> float:
        """The mean over the folds, in bits."""
        return float(self.log_losses.mean())

    @property
    def log_loss_nats(self) -> float:
        """The mean over the folds, in nats, as scikit-learn's `log_loss`."""
        return self.log_loss * math.log(2)

    @property
    def balanced_accuracy(self) -> float:
        """The mean over the folds."""
        return float(self.balanced_accuracies.mean())

    @property
    def f1(self) -> float:
        """The mean over the folds."""
        return float(self.f1s.mean())

    @property
    def roc_auc(self) -> float:
        """The mean over the folds."""
        return float(self.roc_aucs.mean())

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
    cases: Given,
    *,
    folds: int = 10,
    random_state: int = 0,
    repeat: int = 1,
    progress: Progress | None = None,
    keep_posteriors: bool = False,
) -> list[Result]:
    """Return the results of the models, trained and tested on the same folds; cut points and structures are learned in each fold.

    Parameters
    ----------
    models : dict of {str: classifier}
        Classifiers that are not fitted yet, by name.
    cases : LabelledTable or tuple (X, y)
        The cases, or (X, y): rows in any form that `fit` takes, and their labels.
    folds : int, default=10
        The number of folds.
    random_state : int, default=0
        The seed of the folds.
    repeat : int, default=1
        The number of repetitions, each with other folds.
    progress : callable or None, default=None
        Called with the name of a model after each of its folds.
    keep_posteriors : bool, default=False
        Whether the results have the posterior probabilities of the first repetition, for curves.

    Returns
    -------
    list of Result
        The results of each model.

    Examples
    --------
    >>> from naivete import NaiveBayes, table_of
    >>> from naivete.evaluation import cross_validate
    >>> cases = table_of([["a"], ["b"]] * 10), ["no", "yes"] * 10
    >>> [result.accuracy for result in cross_validate({"nb": NaiveBayes()}, cases, folds=5)]
    [(1.0, 0.0)]
    """
    labelled = cases_of(cases, "cases")
    warn_about_columns(models.values(), labelled)
    scores = {name: _Scores(name, labelled, keep=keep_posteriors) for name in models}
    for prediction in held_out_predictions(models, labelled, list(KFold(folds, repeat, random_state).splits(labelled))):
        scores[prediction.model].add(prediction)
        if progress is not None:
            progress(prediction.model)
    return [collected.result() for collected in scores.values()]


class _Scores:
    """The scores of a model, collected fold by fold."""

    def __init__(self, name: str, cases: LabelledTable, *, keep: bool) -> None:
        self.name, self.cases = name, cases
        self.scores: list[tuple[float, ...]] = []
        classes = len(cases.classes)
        self.confusion = np.zeros((classes, classes))
        self.posterior = np.zeros((len(cases), classes)) if keep else None
        self.fit_seconds = self.predict_seconds = 0.0
        self.unseen = 0

    def add(self, prediction: Prediction) -> None:
        """Add the scores of the predictions for one fold."""
        self.fit_seconds += prediction.fit_seconds
        self.predict_seconds += prediction.predict_seconds
        self.unseen += prediction.unseen
        test, weight = prediction.split.test, self.cases.weight
        if self.posterior is not None and prediction.split.repeat == 0:
            self.posterior[test] = prediction.posterior
        self._score(prediction.posterior, self.cases.labels[test], None if weight is None else weight[test])

    def _score(self, posterior: NDArray[np.float64], correct: NDArray[np.int64], weight: NDArray[np.float64] | None) -> None:
        if weight is not None and not weight.any():
            return  # all rows of the fold have weight zero
        predicted = posterior.argmax(axis=1)
        np.add.at(self.confusion, (correct, predicted), 1.0 if weight is None else weight)
        true = posterior[np.arange(len(correct)), correct]
        per_case = np.empty((len(correct), 4))
        per_case[:, 0] = predicted == correct
        per_case[:, 1] = -np.log2(np.maximum(true, LEAST))
        per_case[:, 2] = (posterior**2).sum(axis=1) - 2 * true + 1
        per_case[:, 3] = (1 - true) ** 2
        means = per_case.sum(axis=0) / len(correct) if weight is None else np.average(per_case, axis=0, weights=weight)
        accuracy, log_loss, brier, square = means.tolist()
        macro = macro_averages(Cases.of(correct, posterior, weight))
        by_class = [macro[name] for name in ("balanced_accuracy", "f1", "roc_auc")]
        self.scores.append((accuracy, log_loss, brier, square**0.5, *by_class))

    def result(self) -> Result:
        """Return the result over all folds."""
        accuracies, log_losses, briers, rmses, *by_class = np.array(self.scores, np.float64).reshape(-1, 7).T
        balanced_accuracies, f1s, roc_aucs = by_class
        return Result(
            self.name,
            self.cases.classes,
            accuracies,
            log_losses,
            briers,
            rmses,
            balanced_accuracies,
            f1s,
            roc_aucs,
            self.confusion,
            self.fit_seconds,
            self.predict_seconds,
            self.unseen,
            self.posterior,
        )
