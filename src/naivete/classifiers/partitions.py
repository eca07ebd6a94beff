"""Predicting for data frames in partitions, wherever these are."""

from __future__ import annotations

from typing import Any

from naivete.cases.sources import is_dask_frame
from naivete.classifiers.base import NetworkClassifier, NotFittedError
from naivete.errors import ParameterError, quoted
from naivete.inference.predictor import argmax_class

__all__ = ["predict_partitions"]


def predict_partitions(classifier: NetworkClassifier, frame: Any) -> Any:
    """The predicted class of every row and the probability of each class, as a Dask DataFrame with the partitions of the rows.

    The columns are `predicted` and `P(label)` for every label, to the last bit what `predict` and `predict_proba` give for the
    computed frame. Nothing is computed yet.

    Parameters
    ----------
    classifier : a fitted classifier.
    frame : a Dask DataFrame with the columns seen in fit; others are left alone.
    """
    if not hasattr(classifier, "network_"):
        raise NotFittedError(f"this {type(classifier).__name__} instance is not fitted yet; call 'fit' first")
    if not is_dask_frame(frame):
        raise ParameterError(f"frame={quoted(frame)}: pass a Dask DataFrame; `predict` takes all others")
    from naivete.cases.dask import shared

    return frame.map_partitions(_predicted, shared(classifier), meta=_predicted(frame._meta, classifier))


def _predicted(part: Any, classifier: NetworkClassifier) -> Any:
    """The answers for one partition, under its index."""
    posterior = classifier.posteriors(part).posterior
    answers = {"predicted": classifier.classes_[argmax_class(posterior)]}
    answers |= {f"P({label})": posterior[:, i] for i, label in enumerate(classifier.classes_.tolist())}
    return part[[]].assign(**answers).astype({"predicted": classifier.classes_.dtype})
