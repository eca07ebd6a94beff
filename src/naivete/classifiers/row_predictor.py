"""Prediction of one row at a time, without arrays."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence, Set
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from naivete._kernels import tier
from naivete.data.records import LARGEST_EXACT, is_record, record_of
from naivete.errors import DataError
from naivete.variables import Name, State

if TYPE_CHECKING:
    from naivete.classifiers.base import NetworkClassifier
    from naivete.classifiers.prepared_tables import PreparedTables

__all__ = ["LazyTables", "Posteriors", "RowPredictor", "one_row"]


_NO_ROWS: Final = np.empty(0, np.int64)


class Posteriors(NamedTuple):
    """P(class | row), and the positions of the rows that have probability zero in every class.

    Parameters
    ----------
    posterior : ndarray of shape (n_rows, n_classes)
        P(class | row).
    impossible : ndarray of int
        The positions of the rows that have probability zero in every class.
    """

    posterior: NDArray[np.float64]
    impossible: NDArray[np.int64]


class RowPredictor:
    """A function from one row to the probabilities of the classes: what `NetworkClassifier.row_predictor` returns.

    It keeps the model as it was when it was made; fitting the classifier again does not change it.

    Parameters
    ----------
    model : NetworkClassifier
        The fitted classifier.
    """

    def __init__(self, model: NetworkClassifier) -> None:
        from naivete.classifiers.prepared_tables import prepared_tables

        self._model = copy.copy(model)
        self.classes: tuple[State, ...] = tuple(model.classes_.tolist())
        self._names: list[Name] = [variable.name for variable in model.schema_]
        self._tables = prepared_tables(model)
        self._values = itemgetter(*self._names) if len(self._names) > 1 else None

    def __reduce__(self) -> tuple[type[RowPredictor], tuple[NetworkClassifier]]:
        return RowPredictor, (self._model,)

    def __repr__(self) -> str:
        return f"RowPredictor({self._model!r}, {len(self._names)} features)"

    def __call__(self, row: Any) -> dict[State, float]:
        """Return P(class | row) by class label.

        Parameters
        ----------
        row : a mapping from names to values, in which features may be left out and other names are ignored; a pandas Series with
            names as labels; or a sequence of the values of all features in order. None, NaN and empty texts are missing values.
        """
        return dict(zip(self.classes, self.probabilities(row), strict=True))

    def predict(self, row: Any) -> State:
        """Return the most probable class of a row; of classes with equal probability, the first.

        Parameters
        ----------
        row : dict, pandas.Series or sequence
            The values of the features, by name or in the order of `fit`.

        Returns
        -------
        class label
            The class.
        """
        probabilities = self.probabilities(row)
        return self.classes[probabilities.index(max(probabilities))]

    def probabilities(self, row: Any) -> list[float]:
        """Return P(class | row) in the order of `classes`.

        Parameters
        ----------
        row : dict, pandas.Series or sequence
            The values of the features, by name or in the order of `fit`.

        Returns
        -------
        list of float
            The probabilities.
        """
        values = self._row_values(row)
        probabilities = None if self._tables is None else self._tables.posterior(values)
        if probabilities is None:
            record = dict(zip(self._names, values, strict=True))
            if not is_record(record):
                raise DataError("row: the values are columns; pass one value for each name, and many rows to predict_proba")
            return self._model.predict_proba(record)[0].tolist()  # type: ignore[no-any-return]
        return probabilities

    def _row_values(self, row: Any) -> Sequence[Any]:
        """Return the values of all features, None if the row does not have one."""
        if type(row) is dict and self._values is not None:
            try:
                return self._values(row)  # type: ignore[no-any-return]
            except KeyError:
                pass  # a feature is left out
        if not isinstance(row, Mapping):
            row = record_of(row, self._names) or row
        if isinstance(row, Mapping):
            if row and not any(name in row for name in self._names):
                raise DataError(f"row: no feature of the model is among {list(row)[:5]}; the model has {self._names[:5]}")
            return [row.get(name) for name in self._names]
        if isinstance(row, (str, bytes, Set)) or not isinstance(row, Iterable) or len(getattr(row, "shape", (0,))) != 1:
            raise DataError(
                f"row: {type(row).__name__} is not a row; pass a mapping by name, or a list of the values of all features"
            )
        values = row.tolist() if hasattr(row, "tolist") else list(row)
        if len(values) != len(self._names) or any(isinstance(value, (list, tuple)) for value in values):
            raise DataError(f"row: one value for each of the {len(self._names)} features is needed, or a mapping by name")
        return values


class LazyTables:
    """The prepared tables of a fitted classifier, made when the second single row is predicted: often the first is the only one."""

    def __init__(self) -> None:
        self._rows = 0
        self._prepared = False
        self._tables: PreparedTables | None = None

    def posterior(self, model: NetworkClassifier, values: Sequence[Any]) -> Posteriors | None:
        """Return the posterior probabilities of a row of familiar or missing values, None if its values have to be checked.

        They are the same bits as those of the compiled kernels. NumPy's exponential function may differ in the last bit, so
        without the kernels all rows are left to the predictor.
        """
        if tier() != "c":
            return None
        self._rows += 1
        if self._rows > 1 and not self._prepared:  # several threads may prepare the same tables
            from naivete.classifiers.prepared_tables import prepared_tables

            self._tables = prepared_tables(model)
            self._prepared = True
        if self._tables is None:
            return None
        unseen: dict[Name, int] = {}
        codes = self._tables.codes(values, unseen)
        if codes is None or unseen or all(code is None for code in codes):
            return None
        probabilities = self._tables.code_posterior(codes)
        if probabilities is not None:
            return Posteriors(np.array([probabilities]), _NO_ROWS)
        return model.code_posteriors(*self._tables.arrays(codes))


def one_row(X: Any, names: Sequence[Name], named: bool) -> Sequence[Any] | None:
    """Return the values of all features if X is a single row of a usual type that needs no checks, else None.

    Parameters
    ----------
    X : the rows: an array, a list, a mapping, or a pandas data frame.
    names : the names of the features.
    named : whether the classifier was fitted with names.
    """
    if type(X) is list and len(X) == 1:
        row = X[0]
        if type(row) is list and not named and len(row) == len(names):
            return row
        X = row if type(row) is dict else None
    if type(X) is dict:
        values = [X.get(name) for name in names]
        return values if any(name in X for name in names) else None  # a row without known names may have to be refused
    if type(X) is np.ndarray:
        usual = not named and X.shape == (1, len(names)) and X.dtype.kind in "biufOU"
        return X[0].tolist() if usual else None
    if named and hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2 and len(X) == 1:
        return _frame_row(X, names)
    record = record_of(X, names)
    return None if record is None else [record.get(name) for name in names]


def _frame_row(frame: Any, names: Sequence[Name]) -> Sequence[Any] | None:
    """Return the values of a pandas data frame with one row.

    None if names occur twice, if a column is missing, which needs a warning, or if whole numbers could lose digits.
    """
    columns = frame.columns.tolist()
    row = [value.item() if isinstance(value, np.generic) else value for value in frame.iloc[0].tolist()]
    record = dict(zip(columns, row, strict=True))
    if (
        len(record) != len(columns)
        or not all(name in record for name in names)
        or any(type(value) is float and abs(value) > LARGEST_EXACT for value in row)
    ):
        return None
    return [record.get(name) for name in names]
