"""The data sets of an experiment in all accepted forms, and the classes that are absent from training sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from naivete.classifiers.base import NetworkClassifier
from naivete.data.frames import table_of
from naivete.data.labelled_table import LabelledTable
from naivete.data.labels import class_labels, class_name, encode_classes, usable_rows
from naivete.encoding.encoder import Encoder
from naivete.encoding.text_hints import TextHint
from naivete.encoding.unsuitable_columns import Unsuitable
from naivete.errors import DataError, DataTypeError, NaiveteError, ParameterError, quoted
from naivete.evaluation.protocols import Split
from naivete.variables import Name

__all__ = ["Data", "Given", "cases_by_name", "cases_of", "lacking", "warn_about_columns"]

Given = LabelledTable | tuple[Any, Any]
"""Cases, or rows and their labels (X, y)."""
Data = Mapping[str, Given] | Given
"""Cases by name, or one set of them."""

_ACCEPTED: Final = "pass (X, y), label_table(table, target), or several of these by name"
_NAMED: Final = 5
"""The maximal number of classes that a message names."""


def cases_by_name(data: Data) -> dict[str, LabelledTable]:
    """Return the data sets of an experiment by name; a single data set is called "data".

    >>> list(cases_by_name(([["a"], ["b"]], ["no", "yes"])))
    ['data']
    """
    if not isinstance(data, Mapping):
        return {"data": cases_of(data)}
    if not data:
        raise ParameterError(f"data: at least one data set is needed; {_ACCEPTED}")
    return {name: cases_of(cases, f"data {quoted(name)}") for name, cases in data.items()}


def cases_of(cases: object, name: str = "data") -> LabelledTable:
    """Return labelled cases; rows and labels (X, y) are checked and combined in the same way as by `fit`.

    Parameters
    ----------
    cases : labelled cases, or a tuple of rows and labels.
    name : the name of the cases in error messages.
    """
    if isinstance(cases, LabelledTable):
        return cases
    if not isinstance(cases, tuple) or len(cases) != 2:
        kind = "an array" if isinstance(cases, np.ndarray) else f"a {type(cases).__name__}"
        size = f" of {len(cases)}" if isinstance(cases, tuple) else ""
        raise ParameterError(f"{name}: {kind}{size} is not a set of cases with labels; {_ACCEPTED}")
    try:
        return _labelled(*cases)
    except DataTypeError as error:
        raise DataTypeError(f"{name}: {error}") from error
    except NaiveteError as error:
        raise DataError(f"{name}: {error}") from error


def _labelled(X: Any, y: Any) -> LabelledTable:
    table = table_of(X)
    rows, values = len(table), class_labels(y, len(table))
    if not len(table) or not table.columns:
        raise DataError(f"X: {len(table)} rows and {len(table.columns)} columns; at least one of each is needed")
    table, values, weight = usable_rows(table, values, table.weight, "error")
    classes, labels = encode_classes(values)
    original = X if len(table) == rows and _is_indexable(X) else None
    return LabelledTable(table, class_name(y, table.names), classes, labels.astype(np.int64), weight, original=original)


def _is_indexable(X: Any) -> bool:
    """Return whether rows of X can be selected by an array of positions: a pandas or polars frame, an array, a CSR matrix."""
    library = type(X).__module__.partition(".")[0]
    return (library in ("pandas", "polars") and getattr(X, "ndim", 2) == 2 and hasattr(X, "columns")) or (
        getattr(X, "ndim", 0) == 2 and (isinstance(X, np.ndarray) or getattr(X, "format", "") == "csr")
    )


def lacking(name: str, cases: LabelledTable, splits: Iterable[Split]) -> str | None:
    """Return the text of a warning about classes that do not occur in some training sets; None if all occur in all."""
    total, absent = 0, np.zeros(len(cases.classes), np.int64)
    for split in splits:
        rows = split.train if cases.weight is None else split.train[cases.weight[split.train] > 0]
        absent += np.bincount(cases.labels[rows], minlength=len(absent)) == 0
        total += 1
    positions = np.flatnonzero(absent).tolist()
    if not positions:
        return None
    listed = ", ".join(f"{quoted(cases.classes.tolist()[c])} ({absent[c]} of {total} splits)" for c in positions[:_NAMED])
    more = f" and {len(positions) - _NAMED} more" if len(positions) > _NAMED else ""
    return (
        f"{name}: the training rows of some splits have no row of the class {listed}{more}: models cannot "
        "predict it there, and its test rows count as errors"
    )


def warn_about_columns(models: Iterable[Any], cases: LabelledTable) -> None:
    """Name the columns that the models leave out because they are unsuitable, and hints at others, in one warning before the work.

    Each training set decides again, without a warning.
    """
    encoders: list[Encoder] = []
    for model in models:
        encoder = model.checked_encoder() if isinstance(model, NetworkClassifier) else None
        if encoder is not None and encoder not in encoders:
            encoders.append(encoder)
    unsuitable: dict[Name, Unsuitable] = {}
    hints: dict[Name, TextHint] = {}
    rows = cases.without_zero_weights()
    for encoder in encoders:
        counts = encoder.value_counts(rows.features, np.zeros(len(rows), np.uint8), [0], rows.weight)
        unsuitable |= encoder.unsuitable(counts)
        hints |= encoder.text_hints(counts)
    Encoder.warn_about_columns(unsuitable, hints)
