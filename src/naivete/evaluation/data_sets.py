"""The cases of an experiment, in whatever form they are given, by name; and which classes its training sets lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from naivete.data.frames import table_of
from naivete.data.labelled_table import LabelledTable
from naivete.data.labels import class_labels, class_name, encode_classes, usable_rows
from naivete.errors import DataError, DataTypeError, NaiveteError, ParameterError, quoted
from naivete.evaluation.protocols import Split

__all__ = ["Data", "Given", "cases_by_name", "cases_of", "lacking"]

Given = LabelledTable | tuple[Any, Any]
"""Cases, or rows and their labels (X, y)."""
Data = Mapping[str, Given] | Given
"""Cases by name, or one set of them."""

_ACCEPTED: Final = "pass (X, y), labelled(table, target), or several of these by name"
_TOLD: Final = 5
"""How many classes a message names."""


def cases_by_name(data: Data) -> dict[str, LabelledTable]:
    """All cases of an experiment by name; one set of them is called "data".

    >>> list(cases_by_name(([["a"], ["b"]], ["no", "yes"])))
    ['data']
    """
    if not isinstance(data, Mapping):
        return {"data": cases_of(data)}
    if not data:
        raise ParameterError(f"data: at least one set of cases is needed; {_ACCEPTED}")
    return {name: cases_of(own, f"data {quoted(name)}") for name, own in data.items()}


def cases_of(given: object, called: str = "data") -> LabelledTable:
    """The cases; rows and labels are put together as `fit` does it.

    Parameters
    ----------
    given : cases, or rows and labels.
    called : what messages call them.
    """
    if isinstance(given, LabelledTable):
        return given
    if not isinstance(given, tuple) or len(given) != 2:
        kind = "an array" if isinstance(given, np.ndarray) else f"a {type(given).__name__}"
        size = f" of {len(given)}" if isinstance(given, tuple) else ""
        raise ParameterError(f"{called}: {kind}{size} is no cases with labels; {_ACCEPTED}")
    try:
        return _together(*given)
    except DataTypeError as error:
        raise DataTypeError(f"{called}: {error}") from error
    except NaiveteError as error:
        raise DataError(f"{called}: {error}") from error


def _together(X: Any, y: Any) -> LabelledTable:
    table = table_of(X)
    values = class_labels(y, len(table))
    if not len(table) or not table.columns:
        raise DataError(f"X: {len(table)} rows and {len(table.columns)} columns; at least one of each is needed")
    table, values, weight = usable_rows(table, values, table.weight, "error")
    classes, labels = encode_classes(values)
    return LabelledTable(table, class_name(y, table.names), classes, labels.astype(np.int64), weight)


def lacking(name: str, cases: LabelledTable, splits: Iterable[Split]) -> str | None:
    """Which classes do not occur among the training rows of how many splits, for a warning; None where all occur in all."""
    total, absent = 0, np.zeros(len(cases.classes), np.int64)
    for split in splits:
        rows = split.train if cases.weight is None else split.train[cases.weight[split.train] > 0]
        absent += np.bincount(cases.labels[rows], minlength=len(absent)) == 0
        total += 1
    places = np.flatnonzero(absent).tolist()
    if not places:
        return None
    told = ", ".join(f"{quoted(cases.classes.tolist()[c])} ({absent[c]} of {total} splits)" for c in places[:_TOLD])
    more = f" and {len(places) - _TOLD} more" if len(places) > _TOLD else ""
    return (
        f"{name}: the training rows of some splits have no row of the class {told}{more}: there no model can know it, and its "
        "test rows count as wrong"
    )
