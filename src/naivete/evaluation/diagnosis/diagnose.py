"""Comparison of naive Bayes with a network, case by case: its errors, and the arcs that correct them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.augmented import KDB
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.explaining import one_network_classifiers
from naivete.counts.counts import Counts
from naivete.data.frames import is_frame
from naivete.data.labels import checked_weights, label_values, usable_rows
from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError, quoted
from naivete.evaluation.diagnosis.report import UNKNOWN, Diagnosis
from naivete.evaluation.diagnosis.terms import (
    Networks,
    case_terms,
    cross_validated_terms,
    estimated_networks,
    leave_one_out_terms,
    marginal_networks,
)
from naivete.network.network import Network
from naivete.variables import CLASS, Name

__all__ = ["Diagnosis", "diagnose"]


def diagnose(
    model: NetworkClassifier | None,
    X: Any,
    y: Any = None,
    *,
    train: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
) -> Diagnosis:
    """Return the errors of naive Bayes on some cases, their sizes, and the arcs that correct them.

    Naive Bayes is compared with a network whose class has no parents, and with naive Bayes plus each single arc of that network.
    No case is predicted by a model that was trained on it, unless the classifier is passed fitted.

    - A classifier that is not fitted is fitted to the cases, and each case is predicted without itself: by exact leave-one-out,
      with the arcs and cut points of all cases; with continuous features or missing="em", by ten-fold cross-validation.
    - With `train` it is fitted to these cases, and predicts X.
    - A fitted classifier predicts X as it is; naive Bayes and its arcs then take their probabilities from its network.

    A value that has probability zero in all classes, as is possible without smoothing, carries no information; a value that has
    probability zero in some classes only is an error, since the odds are then not a sum of finite terms.

    Parameters
    ----------
    model : NetworkClassifier or None
        A classifier that predicts with one network, such as `KDB`, `TAN` or `K2`; by default `KDB(k=1)`.
    X : array-like, data frame, sparse matrix or Table of shape (n_rows, n_features)
        The cases.
    y : array-like of shape (n_rows,) or None, default=None
        Their classes; without them there are no counts of errors, and a fitted classifier or `train` is needed.
    train : tuple or None, default=None
        The training cases and their classes, (X, y), or also their weights, (X, y, sample_weight).
    sample_weight : array-like of shape (n_rows,) or None, default=None
        The weight of every case of X.

    Returns
    -------
    Diagnosis
        The errors; `cases()`, `features()` and `arcs()` are tables of them, `worst()` lists single cases, `svg()` draws them.

    References
    ----------
    Zhang (2004), The optimality of naive Bayes; Barrow (2011), A method for automatically generating network structure in Bayesian
    classifiers, section 1.5.

    Examples
    --------
    >>> from naivete import diagnose
    >>> from naivete.data.generated import corral
    >>> table = corral()
    >>> diagnose(None, table.without("class"), table["class"])
    Diagnosis(128 cases, 20 changed, correct: naive 108, network 128; leave-one-out; arcs and cut points are those of all cases)
    """
    classifier = KDB(k=1) if model is None else model
    if not isinstance(classifier, NetworkClassifier):
        raise ParameterError(f"model={quoted(model)}: pass a classifier of naivete, such as KDB(k=1) or TAN(), or None")
    if not classifier.one_network:
        raise ParameterError(
            f"{type(classifier).__name__} does not predict with one network, and naive Bayes is compared with the arcs of one; "
            f"choose among {', '.join(one_network_classifiers())}"
        )
    if train is not None:
        return _on_others(copy(classifier), train, X, y, sample_weight)
    if hasattr(classifier, "network_"):
        return _on_cases(classifier, marginal_networks, X, y, sample_weight, "predictions of the fitted model")
    if y is None:
        raise ParameterError(
            f"y is missing, and this {type(classifier).__name__} is not fitted; pass y to learn from these cases, "
            "train=(X, y) to learn from others, or a fitted classifier"
        )
    return _on_themselves(copy(classifier), X, y, sample_weight)


def _on_themselves(model: NetworkClassifier, X: Any, y: Any, sample_weight: Any) -> Diagnosis:
    """Fit the classifier to the cases, and predict each case without itself."""
    batch, _, counts = model.training_counts(X, y, sample_weight)
    network = _checked(model.fit_counts(counts, batch.classes, is_frame(X), len(batch)), batch.classes)
    arcs, options = network.arcs, {"smoothing": model.smoothing, "prior": model.prior}
    if network.densities or model.checked_encoder().missing == "em":

        def learn(others: Counts) -> Networks:
            fitted = copy(model).fit_counts(others, batch.classes, is_frame(X), len(batch))
            return estimated_networks(others, _checked(fitted, batch.classes), arcs=arcs, **options)

        terms, method = cross_validated_terms(counts, learn), "10-fold cross-validation"
    else:
        terms = leave_one_out_terms(counts, estimated_networks(counts, network, arcs=arcs, **options), **options)
        method = "leave-one-out; arcs and cut points are those of all cases"
    rows = _used_rows(X, y, sample_weight, model)
    return Diagnosis(network, tuple(arcs), batch.classes, terms, rows, batch.column, batch.weight, method)


def _used_rows(X: Any, y: Any, sample_weight: Any, model: NetworkClassifier) -> NDArray[np.int64]:
    """Return the numbers of the training rows: those with a label and a positive weight."""
    values = label_values(y, len(y))
    numbers = Table((Column("row", np.arange(1, len(values) + 1)),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows that are left out were reported before
        kept, _, _ = usable_rows(numbers, values, _weight(X, sample_weight, len(values)), model.checked_encoder().unlabelled)
    return np.asarray(kept["row"].values)


def _weight(X: Any, sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    return checked_weights(X.weight if sample_weight is None and isinstance(X, Table) else sample_weight, rows)


def _on_others(model: NetworkClassifier, train: Any, X: Any, y: Any, sample_weight: Any) -> Diagnosis:
    """Fit the classifier to some cases, and predict others."""
    if not isinstance(train, tuple) or len(train) not in (2, 3):
        raise ParameterError("train: pass the training cases and their classes, train=(X, y), or train=(X, y, sample_weight)")
    batch, _, counts = model.training_counts(*train, *([None] if len(train) == 2 else []))
    model.fit_counts(counts, batch.classes, is_frame(train[0]), len(batch))

    def networks(network: Network) -> Networks:
        return estimated_networks(counts, network, model.smoothing, model.prior, network.arcs)

    method = f"predictions of a model trained on {len(batch):,} other cases"
    return _on_cases(model, networks, X, y, sample_weight, method)


def _on_cases(
    model: NetworkClassifier,
    networks: Callable[[Network], Networks],
    X: Any,
    y: Any,
    sample_weight: Any,
    method: str,
) -> Diagnosis:
    """Compare the predictions of a fitted classifier with those of naive Bayes."""
    network = _checked(model, model.classes_)
    parts = list(model.encoded(X))
    codes = [np.concatenate(column) for column in zip(*(part.codes for part in parts), strict=True)]
    terms = case_terms(networks(network), codes, parts[0].has_missing)
    rows = np.arange(1, len(codes[0]) + 1)
    weight = _weight(X, sample_weight, len(rows))
    correct = None if y is None else _labels(y, len(rows), model.classes_, network.name(CLASS))
    return Diagnosis(network, tuple(network.arcs), model.classes_, terms, rows, correct, weight, method)


def _labels(y: Any, rows: int, classes: NDArray[Any], target: Name) -> Column:
    """Return the labels as positions among the classes, other labels after them, -1 where missing."""
    positions = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.empty(rows, np.int64)
    for row, label in enumerate(label_values(y, rows).tolist()):
        missing = label is None or type(label).__name__ in ("NAType", "NaTType") or label != label
        codes[row] = UNKNOWN if missing else positions.setdefault(label, len(positions))
    return Column(target, codes, tuple(positions), "nominal")


def _checked(model: NetworkClassifier, classes: NDArray[Any]) -> Network:
    """Return the network of a fitted classifier; an error where it cannot be compared with naive Bayes."""
    network, name = model.network_, type(model).__name__
    if network.derived:
        raise DataError(
            f"model: {name} predicts by {quoted(network.name(min(network.derived)))}, which is derived from the columns, and not "
            "by dependences between columns; diagnose a network over the columns themselves, such as KDB(k=1) or TAN()"
        )
    if network.parents[CLASS]:
        parent = network.name(network.parents[CLASS][0])
        raise DataError(
            f"model: in this {name} the class {quoted(network.name(CLASS))} depends on {quoted(parent)}; diagnose a network whose "
            "class has no parents, such as KDB(k=1), TAN(), K2() with the class first, or CB and HillClimb with class_root=True"
        )
    if len(classes) < 2:
        raise DataError(f"the class {quoted(network.name(CLASS))} is {quoted(classes.tolist()[0])} in every case; two are needed")
    return network
