"""Where naive Bayes errs, by how much, and which arc repairs it: a network compared with naive Bayes, case by case."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete.classifiers.augmented import KDB
from naivete.classifiers.base import NetworkClassifier
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
    """Where naive Bayes errs in some cases, by how much, and which arc repairs it.

    Naive Bayes is compared with a network whose class has no parents, and with itself after each arc of that network alone was
    added. Whoever answers a case has not learned from it, unless a classifier that has is passed fitted.

    - A classifier that is not fitted is fitted to the cases, each of which is then answered without itself: by exact
      leave-one-out, with the arcs and cut points of all cases; where numbers have densities, or missing="em", by ten folds.
    - With `train` it is fitted to these cases, and asked about X.
    - A fitted classifier is asked about X as it is; naive Bayes and its arcs then have the probabilities of its network.

    A value that no class can have, as a smoothing without pseudo-counts may find, tells nothing; one that some class can have and
    another cannot is refused, since then no sum of finite terms gives the odds.

    Parameters
    ----------
    model : a classifier, such as `KDB`, `TAN`, `Full` or `K2`; by default `KDB(k=1)`.
    X : the cases.
    y : their classes; without them nobody knows which answers are right, and a classifier has to be fitted or `train` given.
    train : the cases to learn from, their classes, and perhaps their weights.
    sample_weight : the weight of every case of X.

    >>> from naivete.data.generated import corral
    >>> table = corral()
    >>> found = diagnose(None, table.without("class"), table["class"])
    >>> found
    Diagnosis(128 cases, 20 turned, right: naive 108, network 128; leave-one-out; arcs and cut points are those of all cases)

    References
    ----------
    Zhang (2004), The optimality of naive Bayes; Barrow (2011), A method for automatically generating network structure in
    Bayesian classifiers, s1.5.
    """
    asking = KDB(k=1) if model is None else model
    if not isinstance(asking, NetworkClassifier):
        raise ParameterError(f"model={quoted(model)}: pass a classifier of naivete, such as KDB(k=1) or TAN(), or None")
    if train is not None:
        return _on_others(copy(asking), train, X, y, sample_weight)
    if hasattr(asking, "network_"):
        return _on_cases(asking, marginal_networks, X, y, sample_weight, "answers of the model as it was fitted")
    if y is None:
        raise ParameterError(
            f"y is missing, and this {type(asking).__name__} is not fitted; pass y to learn from these cases, "
            "train=(X, y) to learn from others, or a fitted classifier"
        )
    return _on_themselves(copy(asking), X, y, sample_weight)


def _on_themselves(model: NetworkClassifier, X: Any, y: Any, sample_weight: Any) -> Diagnosis:
    """Learn from the cases, and answer each of them without itself."""
    batch, _, counts = model.training_counts(X, y, sample_weight)
    network = _checked(model.fit_counts(counts, batch.classes, is_frame(X), len(batch)), batch.classes)
    arcs, how = network.arcs, {"smoothing": model.smoothing, "prior": model.prior}
    if network.densities or model.checked_encoder().missing == "em":

        def learn(others: Counts) -> Networks:
            again = copy(model).fit_counts(others, batch.classes, is_frame(X), len(batch))
            return estimated_networks(others, _checked(again, batch.classes), arcs=arcs, **how)

        terms, told = cross_validated_terms(counts, learn), "10 folds, each answered by what the others gave"
    else:
        terms = leave_one_out_terms(counts, estimated_networks(counts, network, arcs=arcs, **how), **how)
        told = "leave-one-out; arcs and cut points are those of all cases"
    rows = _used(X, y, sample_weight, model)
    return Diagnosis(network, tuple(arcs), batch.classes, terms, rows, batch.column, batch.weight, told)


def _used(X: Any, y: Any, sample_weight: Any, model: NetworkClassifier) -> NDArray[np.int64]:
    """The numbers of the rows that were learned from: those with a label and a weight."""
    values = label_values(y, len(y))
    numbers = Table((Column("row", np.arange(1, len(values) + 1)),))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that rows were left out has been told
        kept, _, _ = usable_rows(numbers, values, _weight(X, sample_weight, len(values)), model.checked_encoder().unlabelled)
    return np.asarray(kept["row"].values)


def _weight(X: Any, sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    return checked_weights(X.weight if sample_weight is None and isinstance(X, Table) else sample_weight, rows)


def _on_others(model: NetworkClassifier, train: Any, X: Any, y: Any, sample_weight: Any) -> Diagnosis:
    """Learn from some cases, and answer others."""
    if not isinstance(train, tuple) or len(train) not in (2, 3):
        raise ParameterError("train: pass the cases to learn from and their classes, train=(X, y), perhaps with weights as a third")
    batch, _, counts = model.training_counts(*train, *([None] if len(train) == 2 else []))
    model.fit_counts(counts, batch.classes, is_frame(train[0]), len(batch))

    def networks(network: Network) -> Networks:
        return estimated_networks(counts, network, model.smoothing, model.prior, network.arcs)

    told = f"answers to other cases than the {len(batch):,} that were learned from"
    return _on_cases(model, networks, X, y, sample_weight, told)


def _on_cases(
    model: NetworkClassifier,
    networks: Callable[[Network], Networks],
    X: Any,
    y: Any,
    sample_weight: Any,
    how: str,
) -> Diagnosis:
    """Ask a fitted classifier about cases."""
    network = _checked(model, model.classes_)
    parts = list(model.encoded(X))
    codes = [np.concatenate(column) for column in zip(*(part.codes for part in parts), strict=True)]
    terms = case_terms(networks(network), codes, parts[0].gaps)
    rows = np.arange(1, len(codes[0]) + 1)
    weight = _weight(X, sample_weight, len(rows))
    correct = None if y is None else _labels(y, len(rows), model.classes_, network.name(CLASS))
    return Diagnosis(network, tuple(network.arcs), model.classes_, terms, rows, correct, weight, how)


def _labels(y: Any, rows: int, classes: NDArray[Any], target: Name) -> Column:
    """The labels as positions among the classes, others after them, -1 where missing."""
    at = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.empty(rows, np.int64)
    for row, label in enumerate(label_values(y, rows).tolist()):
        missing = label is None or type(label).__name__ in ("NAType", "NaTType") or label != label
        codes[row] = UNKNOWN if missing else at.setdefault(label, len(at))
    return Column(target, codes, tuple(at), "nominal")


def _checked(model: NetworkClassifier, classes: NDArray[Any]) -> Network:
    """The network of a fitted classifier, refused where there is nothing to compare with naive Bayes."""
    network, name = model.network_, type(model).__name__
    if network.derived:
        raise DataError(
            f"model: {name} answers by {quoted(network.name(min(network.derived)))}, which is derived from the columns, and not "
            "by their dependence; diagnose a network over the columns themselves, such as KDB(k=1) or TAN()"
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
