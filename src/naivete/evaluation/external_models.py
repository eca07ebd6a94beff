"""Models of other libraries in experiments: copies of them, the rows that they expect, and their parameter for weights."""

from __future__ import annotations

from copy import copy
from importlib.util import find_spec
from typing import Any

from naivete.classifiers.base import NetworkClassifier
from naivete.data.frames import SparseMatrix
from naivete.data.labelled_table import LabelledTable
from naivete.errors import ParameterError, quoted
from naivete.evaluation.peers import Peer

__all__ = ["rows_for", "unfitted_copy", "weight_parameter"]


def unfitted_copy(model: Any) -> Any:
    """Return a copy of a model with the same parameters, so that nothing learned in one training set is left in the next."""
    from sklearn.base import clone

    if isinstance(model, NetworkClassifier):
        return copy(model)
    return clone(model) if hasattr(model, "get_params") else model


def rows_for(model: Any, cases: LabelledTable) -> Any:
    """Return the features of the cases in a form that a model accepts.

    The classifiers of this library take a `Table`. Others get the rows as they were passed to the experiment: a data frame, an
    array or a sparse matrix. If the cases come from a `Table` with texts as names, others get a pandas data frame, so that
    pipelines can select columns by name.
    """
    if isinstance(model, (NetworkClassifier, Peer)):
        return cases.features
    if cases.original is not None:
        return cases.original
    table = cases.features
    if isinstance(table, SparseMatrix):
        return table.matrix
    named = all(isinstance(name, str) for name in table.names)
    return table.to_pandas() if named and find_spec("pandas") is not None else table


def weight_parameter(model: Any, name: str) -> str:
    """Return the parameter of `fit` for the weights of the rows; of a pipeline, that of its last step.

    Parameters
    ----------
    model : estimator
        The model.
    name : str
        Its name, for the error if it takes no weights.
    """
    from sklearn.utils.validation import has_fit_parameter

    path, inner = "", model
    while hasattr(inner, "steps") or hasattr(getattr(inner, "estimator", None), "steps"):
        inner = inner if hasattr(inner, "steps") else inner.estimator  # a search passes its parameters on to its estimator
        step, inner = inner.steps[-1]
        path += f"{step}__"
    if not has_fit_parameter(inner, "sample_weight"):
        raise ParameterError(
            f"models: {quoted(name)}: {type(inner).__name__} takes no weights (sample_weight), and the cases have weights; choose "
            "another model, or leave out the weights"
        )
    return f"{path}sample_weight"
