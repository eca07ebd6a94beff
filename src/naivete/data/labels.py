"""The class column and the weights: labels of one type, one for each row that is learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import narrowest
from naivete.data.frames import is_frame
from naivete.data.labelled import small_classes
from naivete.data.table import Table
from naivete.errors import DataError, DataTypeError, NaiveteWarning, quoted, warn
from naivete.variables import Name

__all__ = ["checked_weights", "class_name", "encode_classes", "label_values", "usable_rows"]


def label_values(y: Any, rows: int) -> NDArray[Any]:
    """The label of every row, as one array of one type."""
    from sklearn.utils.validation import column_or_1d

    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None; pass the class of every row")
    if isinstance(y, Table) or (is_frame(y) and not hasattr(y, "iloc")):
        raise DataError("y is a table; pass one column of it")
    try:
        values = column_or_1d(y if isinstance(y, np.ndarray) else _label_array(y), warn=True)
    except ValueError as error:
        raise DataError(f"y: {error}; pass one label for each row") from error
    if len(values) != rows:
        raise DataError(f"X and y differ in length: inconsistent numbers of samples: {rows} rows, {len(values)} labels")
    return values.astype(object) if values.dtype.kind == "T" else np.asarray(values)


def _label_array(y: Any) -> NDArray[Any]:
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()  # of pyarrow, whose arrays with missing values numpy does not take
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    if not isinstance(y, (list, tuple)):
        return np.asarray(y)
    mixed = len({_label_kind(v) for v in y}) > 1
    return np.array(y, dtype=object) if mixed else np.asarray(y)


def checked_weights(sample_weight: Any, rows: int) -> NDArray[np.float64] | None:
    """The weights as numbers, one for each row, finite and at least 0, not all 0; None where there are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.array(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise DataTypeError(f"sample_weight={quoted(sample_weight)}: one number for each row is needed") from None
    if weight.ndim == 0:
        weight = np.full(rows, float(weight))
    if weight.shape != (rows,):
        raise DataError(f"sample_weight has shape {weight.shape}, X has {rows} rows; one weight for each row is needed")
    wrong = np.flatnonzero(~(weight >= 0) | np.isinf(weight))
    if len(wrong):
        raise DataError(f"sample_weight, row {wrong[0] + 1}: {weight[wrong[0]]} is not a weight; weights are finite and at least 0")
    if not weight.any():
        raise DataError("sample_weight is zero in every row; there is nothing to learn from")
    if weight.max() > np.finfo(np.float64).max / rows:
        raise DataError(
            f"sample_weight, row {int(weight.argmax()) + 1}: {weight.max()} is too large for sums; scale the weights down"
        )
    return weight


def usable_rows(
    table: Table, values: NDArray[Any], weight: NDArray[np.float64] | None, unlabelled: str
) -> tuple[Table, NDArray[Any], NDArray[np.float64] | None]:
    """The rows to learn from: those with a label and a weight above zero."""
    without = _unlabelled(values)
    if len(without) and unlabelled != "drop":
        listed = ", ".join(str(row + 1) for row in without[:5])
        raise DataError(
            f"y has no label in {len(without)} rows, the first are {listed}: {quoted(values[without[0]])} (Input y contains NaN, "
            "infinity or missing values); leave them out yourself or with encoder=Encoder(unlabelled='drop')"
        )
    if len(without):
        warn(f"{len(without)} rows without a label were left out", NaiveteWarning)
    keep = np.ones(len(values), bool) if weight is None else weight > 0
    keep[without] = False
    if not keep.any():
        raise DataError(f"{table.source}: no row has both a label and a weight above zero; there is nothing to learn from")
    if keep.all():
        return table, values, weight
    return table.take(np.flatnonzero(keep)), values[keep], None if weight is None else weight[keep]


def _unlabelled(values: NDArray[Any]) -> NDArray[np.intp]:
    """The rows without a label."""
    if values.dtype.kind == "O":
        return np.flatnonzero([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in values.tolist()])
    return np.flatnonzero(~np.isfinite(values)) if values.dtype.kind == "f" else np.empty(0, np.intp)


def encode_classes(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The classes that occur, increasing, and the rows' codes among them in the narrowest type; several types are refused."""
    from sklearn.utils.multiclass import check_classification_targets

    if values.dtype.kind == "O":
        values = _of_one_type(values)
    if values.dtype.kind == "f" and np.all(values == np.floor(values)) and np.all(np.abs(values) <= 2**53):
        values = values.astype(np.int64)  # 1.0 is the label 1, as in a file
    found = small_classes(values) if values.dtype.kind in "iu" else None
    if found is not None:
        return found
    if values.dtype.kind not in "biufOU":
        raise DataTypeError(f"y holds {values.dtype} (Unknown label type); labels are text, whole numbers or truth values")
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise DataError(f"y: {error}") from error
    classes, codes = np.unique(values, return_inverse=True)
    return classes, codes.astype(narrowest(len(classes)))


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Labels that came as Python objects, as an array of their type; several types, and types that are no labels, are refused."""
    kinds: dict[str, int] = {}
    for row, value in enumerate(values.tolist()):
        kinds.setdefault(_label_kind(value), row)
    listed = " and ".join(f"{kind} (first in row {row + 1}: {quoted(values[row])})" for kind, row in kinds.items())
    if len(kinds) > 1:
        raise DataTypeError(f"y mixes {listed}; the labels have to be of one type")
    if "type" in listed.split(" (")[0]:
        raise DataTypeError(f"y holds {listed} (Unknown label type); labels are text, whole numbers or truth values")
    return values if "text" in kinds else np.array(values.tolist())


def _label_kind(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "truth values"
    if isinstance(value, (int, np.integer)):
        return "whole numbers"
    return "numbers with a point" if isinstance(value, (float, np.floating)) else f"values of type {type(value).__name__}"


def class_name(y: Any, names: Sequence[Name]) -> str:
    """The name of the class: that of the column of labels where it has one, else "class", in any case no feature's.

    >>> class_name(["yes", "no"], ["outlook", "class"])
    'class_'
    """
    own = getattr(y, "name", None)
    name = own if isinstance(own, str) else "class"
    while name in names:
        name += "_"
    return name
