"""Predictions for Dask DataFrames, partition by partition."""

from __future__ import annotations

from typing import Any

from naivete.cases.sources import is_dask_frame
from naivete.classifiers.base import NetworkClassifier
from naivete.classifiers.estimator import check_fitted
from naivete.errors import ParameterError, quoted
from naivete.inference.predictor import argmax_class

__all__ = ["predict_partitions"]


def predict_partitions(classifier: NetworkClassifier, frame: Any) -> Any:
    """Return the predicted class of every row and P(class | row) as a Dask DataFrame with the partitions of the rows.

    The columns are `predicted` and `P(label)` for every label, exactly what `predict` and `predict_proba` give for the computed
    frame. Nothing is computed until the result is.

    Parameters
    ----------
    classifier : NetworkClassifier
        A fitted classifier.
    frame : dask.dataframe.DataFrame
        A Dask DataFrame with the columns seen in `fit`; other columns are ignored.

    Returns
    -------
    dask.dataframe.DataFrame
        The columns `predicted` and `P(label)`, with the index and the partitions of the frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from dask import dataframe
    >>> from naivete import NaiveBayes, predict_partitions
    >>> rows = pd.DataFrame({"sky": ["sun", "rain", "sun", "rain"]})
    >>> model = NaiveBayes().fit(rows, ["out", "in", "out", "in"])
    >>> predict_partitions(model, dataframe.from_pandas(rows, npartitions=2)).compute(scheduler="sync")["predicted"].tolist()
    ['out', 'in', 'out', 'in']
    """
    check_fitted(classifier)
    if not is_dask_frame(frame):
        raise ParameterError(f"frame={quoted(frame)}: pass a Dask DataFrame; `predict` takes other tables")
    from naivete.cases.dask import shared

    return frame.map_partitions(_predicted, shared(classifier), meta=_predicted(frame._meta, classifier))


def _predicted(part: Any, classifier: NetworkClassifier) -> Any:
    """Return the predictions for one partition, with its index."""
    posterior = classifier.posteriors(part).posterior
    columns = {"predicted": classifier.classes_[argmax_class(posterior)]}
    columns |= {f"P({label})": posterior[:, i] for i, label in enumerate(classifier.classes_.tolist())}
    return part[[]].assign(**columns).astype({"predicted": classifier.classes_.dtype})
