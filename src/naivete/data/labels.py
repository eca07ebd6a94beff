"""Class labels and weights of rows: checked, and the labels coded by their positions among the classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Integers, Numbers, missing_code, narrowest
from naivete._kernels.dispatch import host_copy
from naivete._kernels.exact_sums import LARGEST_EXACT
from naivete.data.frames import is_frame, unmasked
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, NaiveteWarning, quoted, warn
from naivete.variables import Name, State

__all__ = ["checked_weights", "class_labels", "class_name", "encode_classes", "label_values", "usable_rows", "warn_left_out"]

Labels = NDArray[Any] | Column
SMALL_RANGE = 1 << 16
"""Integer labels in a smaller range than this are counted instead of sorted."""
FEW_CLASSES = 20
"""Up to this many classes scikit-learn accepts labels that are text or booleans without a warning."""


def label_values(y: Any, rows: int) -> NDArray[Any]:
    """Return the label of every row as one array of one type."""
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None; pass the class of every row")
    if isinstance(y, str):
        raise DataError(f"y={quoted(y)}: y should be a 1d array with the label of every row; pass the column, not its name")
    if isinstance(y, Table) or (is_frame(y) and not hasattr(y, "iloc")):
        raise DataError("y is a table; pass one column of it")
    try:
        values = unmasked(y) if isinstance(y, np.ndarray) else _label_array(y)
        if type(values) is not np.ndarray or values.ndim != 1 or values.dtype.kind not in "biufOU":
            from sklearn.utils.validation import column_or_1d

            values = column_or_1d(values, warn=True)
    except ValueError as error:
        raise DataError(f"y: {error}; pass one label for each row") from error
    _check_length(len(values), rows)
    return values.astype(object) if values.dtype.kind == "T" else np.asarray(values)


def class_labels(y: Any, rows: int) -> Labels:
    """Return the label of every row: a nominal column as it is, because its values are coded already, or else an array."""
    if isinstance(y, Column) and y.states is not None:
        _check_length(len(y), rows)
        return y
    return label_values(y, rows)


def _check_length(labels: int, rows: int) -> None:
    if labels != rows:
        raise DataError(f"X and y differ in length: inconsistent numbers of samples: {rows} rows, {labels} labels")


def _label_array(y: Any) -> NDArray[Any]:
    y = host_copy(y)
    if hasattr(y, "to_pylist"):
        y = y.to_pylist()  # of pyarrow, whose arrays with missing values numpy does not accept
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    if not isinstance(y, (list, tuple)):
        return np.asarray(y)
    mixed = len({_label_type(v) for v in y}) > 1
    return np.array(y, dtype=object) if mixed else np.asarray(y)


def checked_weights(sample_weight: Any, rows: int) -> Numbers | None:
    """Return the weights of the rows, finite, at least 0 and not all 0; None where there are none."""
    if sample_weight is None:
        return None
    try:
        weight = np.array(unmasked(host_copy(sample_weight)), np.float64)
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


def usable_rows(table: Table, labels: Labels, weight: Numbers | None, unlabelled: str) -> tuple[Table, Labels, Numbers | None]:
    """Return the rows that have a label and a weight above zero, with their labels and weights.

    Parameters
    ----------
    table : the features.
    labels : the labels as from `class_labels` or `label_values`.
    weight : the weights, or None.
    unlabelled : "drop" to leave out rows without a label with a warning, "error" to refuse them.
    """
    without = _unlabelled(labels)
    if len(without) and unlabelled != "drop":
        listed = ", ".join(str(row + 1) for row in without[:5])
        where = f"row {listed}" if len(without) == 1 else f"{len(without)} rows, the first are {listed}"
        raise DataError(
            f"y has no label in {where}: {quoted(labels[without[0]])} (Input y contains NaN, "
            "infinity or missing values); leave them out yourself or with encoder=Encoder(unlabelled='drop')"
        )
    if len(without):
        warn_left_out(len(without))
    keep = np.ones(len(labels), bool) if weight is None else weight > 0
    keep[without] = False
    if not keep.any():
        raise DataError(f"{table.source}: no row has both a label and a weight above zero; there is nothing to learn from")
    if keep.all():
        return table, labels, weight
    return table.take(np.flatnonzero(keep)), labels[keep], None if weight is None else weight[keep]


def warn_left_out(count: int) -> None:
    """Warn that rows without a label were left out."""
    rows = "1 row without a label was" if count == 1 else f"{count:,} rows without a label were"
    warn(f"{rows} left out", NaiveteWarning)


def _unlabelled(labels: Labels) -> Integers:
    """Return the positions of the rows without a label."""
    if isinstance(labels, Column):
        return np.flatnonzero(labels.values < 0)
    if labels.dtype.kind == "O":
        return np.flatnonzero([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in labels.tolist()])
    return np.flatnonzero(~np.isfinite(labels)) if labels.dtype.kind == "f" else np.empty(0, np.int64)


def encode_classes(labels: Labels) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes that occur, increasing, and the code of every row, its position among them.

    The codes have the narrowest type; a missing label of a nominal column has the missing code. Labels of several types are
    refused.

    >>> encode_classes(np.array([3, 1, 3]))
    (array([1, 3]), array([1, 0, 1], dtype=uint8))
    """
    if isinstance(labels, Column):
        return _encoded_states(labels)
    if not len(labels):
        return labels, np.zeros(0, np.uint8)
    values = _of_one_type(labels) if labels.dtype.kind == "O" else labels
    if values.dtype.kind == "f" and np.all(values == np.floor(values)) and np.all(np.abs(values) <= LARGEST_EXACT):
        values = values.astype(np.int64)  # 1.0 is the label 1, as in a file
    if values.dtype.kind in "iu" and (encoded := _encoded_integers(values)):
        return encoded
    classes, codes = np.unique(values, return_inverse=True)
    if values.dtype.kind not in "bOU" or len(classes) > FEW_CLASSES:
        _check_classification(values)
    return classes, codes.astype(narrowest(len(classes)))


def _check_classification(values: NDArray[Any]) -> None:
    from sklearn.utils.multiclass import check_classification_targets

    if values.dtype.kind not in "biufOU":
        raise DataTypeError(f"y holds {values.dtype} (Unknown label type); labels are text, whole numbers or booleans")
    try:
        check_classification_targets(values)
    except ValueError as error:
        raise DataError(f"y: {error}") from error


def _encoded_states(column: Column) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes and codes of a nominal column; each state is looked at once."""
    assert column.states is not None
    present = np.flatnonzero(np.bincount(column.values + 1, minlength=1)[1:])
    states = [column.states[i] for i in present.tolist()]
    _check_type(states, lambda i: int(np.argmax(column.values == present[i])))
    order = sorted(range(len(states)), key=lambda i: states[i])
    dtype = narrowest(len(states))
    code_of = np.full(len(column.states) + 1, missing_code(dtype), dtype)  # the last one is for missing, -1
    code_of[present[order]] = np.arange(len(states))
    classes = np.array([states[i] for i in order], object if states and isinstance(states[0], str) else None)
    return classes, code_of[column.values]


def _encoded_integers(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Return the classes and codes of integers in a small range, found without sorting; None for other integers."""
    low, high = int(values.min()), int(values.max())
    if high - low >= SMALL_RANGE:
        return None
    offset = values if low == 0 else values.astype(np.int64) - low
    present = np.flatnonzero(_kernels.seen([offset])[0] if offset.dtype == np.uint8 else np.bincount(offset))
    code_of = np.zeros(int(present[-1]) + 1, narrowest(len(present)))
    code_of[present] = np.arange(len(present))
    unchanged = len(present) == len(code_of) and offset.dtype == code_of.dtype
    return (present + low).astype(values.dtype), offset if unchanged else code_of[offset]


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels that are Python objects as an array of their type."""
    listed = values.tolist()
    text = _check_type(listed, lambda row: row) == "text"
    return values if text else np.array(listed)


def _check_type(labels: Sequence[State], row_of: Callable[[int], int]) -> str | None:
    """Return the type of the labels in words, None where there are none; refuse several types and other types.

    Parameters
    ----------
    labels : the labels.
    row_of : a function that gives the row, counted from 0, in which the label at a position occurs first.
    """
    first: dict[str, int] = {}
    for position, label in enumerate(labels):
        first.setdefault(_label_type(label), position)
    listed = " and ".join(
        f"{name} (first in row {row_of(position) + 1}: {quoted(labels[position])})" for name, position in first.items()
    )
    if len(first) > 1:
        raise DataTypeError(f"y mixes {listed}; the labels have to be of one type")
    name = next(iter(first), None)
    if name is not None and name.startswith("values of type"):
        raise DataTypeError(f"y holds {listed} (Unknown label type); labels are text, whole numbers or booleans")
    return name


def _label_type(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, (bool, np.bool_)):
        return "booleans"
    if isinstance(value, (int, np.integer)):
        return "whole numbers"
    return "numbers with a fraction" if isinstance(value, (float, np.floating)) else f"values of type {type(value).__name__}"


def class_name(y: Any, names: Sequence[Name]) -> str:
    """Return the name of the class: that of the column of labels if it has one, else "class"; never the name of a feature.

    >>> class_name(["yes", "no"], ["outlook", "class"])
    'class_'
    """
    name = getattr(y, "name", None)
    if not isinstance(name, str):
        name = "class"
    while name in names:
        name += "_"
    return name
