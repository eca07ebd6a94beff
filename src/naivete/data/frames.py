"""Conversion of data frames, arrays, lists of rows, mappings and sparse matrices to a `Table`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.dispatch import in_device_memory, tensor_of
from naivete.data.records import LARGEST_EXACT, is_records, record_columns, records_of
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, quoted
from naivete.variables import Name, State, check_unique, state_key

__all__ = ["SparseMatrix", "as_array", "is_frame", "table_of", "unmasked"]


def is_frame(X: object) -> bool:
    """Return whether X has named columns: a `Table`, an eager data frame that narwhals supports, or rows that are mappings."""
    if isinstance(X, (Table, np.ndarray)):
        return isinstance(X, Table)
    if isinstance(X, (list, tuple, Mapping)):
        return is_records(X)
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError

    try:
        return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)
    except DuplicateError:  # a data frame, whose names `table_of` refuses
        return True


def table_of(X: Any, *, source: str = "X", only: Collection[Name] | None = None, finite: bool = True) -> Table:
    """Return the data as a `Table`; numbers are not copied.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix, Table, dict or list of dict
        The data. An array on a GPU (of torch, CuPy or another library with DLPack) is copied to the host; its bytes are counted
        where they are if the kernels for a GPU are in use. Dicts map names to values, one row or a list of rows; a name that a row
        does not have is a missing value.
    source : str, default="X"
        The name of the data in messages.
    only : collection of str or None, default=None
        The columns to convert; other columns of a data frame are skipped. Rows that are mappings get exactly these columns.
    finite : bool, default=True
        Whether to refuse infinities in an array; otherwise they are refused when the table is counted or encoded.

    Returns
    -------
    Table
        The columns; those of an array are named x0, x1, ...

    Raises
    ------
    DataError
        If the data are not a table of rows and columns.
    DataTypeError
        If a column holds values that are not numbers, text or booleans.

    Examples
    --------
    >>> from naivete import table_of
    >>> table_of([["sunny", 1.5], ["rain", None]]).names
    ('x0', 'x1')
    """
    if isinstance(X, Table):
        return X
    if is_records(X):
        return _from_records(records_of(X), source, only)
    if is_frame(X):
        return _from_frame(X, source, only)
    if hasattr(X, "toarray"):
        if X.ndim == 2 and X.dtype.kind in "biuf":
            return _from_sparse(X, source)
        X = X.toarray()
    tensor = None
    if not isinstance(X, np.ndarray) and in_device_memory(X):
        tensor = tensor_of(X)
        X = tensor.cpu().numpy()
    array = unmasked(X) if isinstance(X, np.ndarray) else as_array(X)
    if array.ndim != 2:
        raise DataError(f"{source}: expected rows and columns (2 dimensions), got {array.ndim}")
    names = _numbered_names(array.shape[1])
    columns = tuple([_from_array(name, array[:, j], source) for j, name in enumerate(names)])
    if finite and array.dtype.kind == "f" and array.size:
        for name, column in zip(names, columns, strict=True):
            _finite(name, column.values, source)
    if tensor is not None and array.dtype == np.uint8 and columns and _kernels.tier() == "gpu":
        from naivete._kernels.device import register_columns

        register_columns([column.values for column in columns], tensor.T)
    return Table(columns, source=source, rows=len(array))


def unmasked(array: Any) -> Any:
    """Return an array with missing values where a masked array of NumPy is masked; anything else as it is.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True])).tolist()
    [1, None]
    """
    if not (hasattr(array, "filled") and hasattr(array, "mask")):  # numpy.ma is imported by those who use it
        return array
    values = np.array(array.data, None if array.dtype.kind == "f" else object)
    values[np.broadcast_to(array.mask, values.shape)] = None  # nan among floats
    return values


def as_array(X: Any) -> NDArray[Any]:
    """Return rows as an array, of objects if the cells are not all numbers."""
    try:
        array = np.asarray(X)
    except ValueError:
        lengths = sorted({len(row) for row in X if isinstance(row, Sequence)})
        raise DataError(f"X: the rows differ in length ({quoted(lengths)}); every row needs one value for each column") from None
    keep = array.dtype.kind == "b" or (array.dtype.kind in "iuf" and not _has_booleans(X))
    return array if keep else np.asarray(X, dtype=object)


def _has_booleans(X: Any) -> bool:
    """Return whether some cells of a list of rows are booleans, which an array of numbers would turn into numbers."""
    if not isinstance(X, (list, tuple)):
        return False
    return any(isinstance(cell, (bool, np.bool_)) for row in X if isinstance(row, (list, tuple)) for cell in row)


@dataclass(frozen=True, eq=False, repr=False)
class SparseMatrix(Table):
    """A table of numbers that stores only the cells that are not zero; a dense column is made on access.

    `dataclasses.replace` with other columns gives a plain table.
    """

    def __new__(cls, columns: Any = None, *rest: Any, **named: Any) -> Any:
        """Make a sparse matrix, or a plain table if the columns are dense."""
        return object.__new__(cls) if columns is None or isinstance(columns, _DenseColumns) else Table(columns, *rest, **named)

    @classmethod
    def of(cls, matrix: Any, names: tuple[Name, ...], source: str, first: int = 0) -> SparseMatrix:
        """Return a table of a CSR matrix with increasing positions in each row, without duplicates or stored zeros."""
        columns: Any = _DenseColumns(matrix, names)
        return cls(columns, None, source, None, matrix.shape[0], first)

    @property
    def matrix(self) -> Any:
        """The stored cells, as a CSR matrix of scipy."""
        assert isinstance(self.columns, _DenseColumns)
        return self.columns.matrix

    def __post_init__(self) -> None:
        if self.names != _numbered_names(len(self.names)):
            check_unique(self.names, self.source)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns, in order."""
        assert isinstance(self.columns, _DenseColumns)
        return self.columns.names

    def renamed(self, names: Sequence[Name]) -> Table:
        """Return the table with other names for its columns."""
        return SparseMatrix.of(self.matrix, tuple(names), self.source, self.first)

    def take(self, rows: NDArray[Any] | slice) -> Table:
        """Return the table of these rows."""
        start, _, step = rows.indices(len(self)) if isinstance(rows, slice) else (0, 0, 0)
        return SparseMatrix.of(self.matrix[rows], self.names, self.source, self.first + start if step == 1 else 0)


@dataclass(frozen=True, eq=False)
class _DenseColumns(Sequence[Column]):
    """The columns of a sparse matrix, each made dense on access."""

    matrix: Any
    names: tuple[Name, ...]

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def _by_column(self) -> Any:
        return self.matrix.tocsc()

    @overload
    def __getitem__(self, key: int) -> Column: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[Column]: ...
    def __getitem__(self, key: int | slice) -> Column | Sequence[Column]:
        if isinstance(key, slice):
            return [self[j] for j in range(*key.indices(len(self)))]
        j = range(len(self))[key]
        stored, values = self._by_column, np.zeros(self.matrix.shape[0], self.matrix.dtype)
        cells = slice(stored.indptr[j], stored.indptr[j + 1])
        values[stored.indices[cells]] = stored.data[cells]
        return Column(self.names[j], values)


def _from_sparse(X: Any, source: str) -> SparseMatrix:
    """Return the matrix by rows, with duplicates summed and without stored zeros; it is copied only if it has to change."""
    matrix = X.tocsr()
    if matrix.dtype.kind == "f" and matrix.dtype != np.float64:
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    table = SparseMatrix.of(matrix, _numbered_names(matrix.shape[1]), source)
    if matrix.dtype.kind == "f" and np.isinf(matrix.data).any():
        column = int(matrix.indices[np.isinf(matrix.data)].min())
        _finite(f"x{column}", table.columns[column].values, source)
    return table


@lru_cache(maxsize=8)
def _numbered_names(count: int) -> tuple[Name, ...]:
    """Return the names of columns without names."""
    return tuple(f"x{j}" for j in range(count))


def _from_array(name: Name, values: NDArray[Any], source: str) -> Column:
    kind = values.dtype.kind
    if kind in "biu":
        return Column(name, values)
    if kind == "f":
        return Column(name, values.astype(np.float64, copy=False))
    if kind in "OUT":
        return _from_objects(name, values.tolist(), source)
    raise DataTypeError(f"{source}: column {quoted(name)} holds {values.dtype}; {_advice(kind)}")


def _advice(kind: str) -> str:
    if kind in "mM":
        return "turn dates into numbers (for instance days since a start) or into words (weekday, month), or remove the column"
    return "values are numbers, text or booleans; convert the column first, for instance by `.astype(float)` or `.astype(str)`"


def _finite(name: Name, values: NDArray[np.float64], source: str) -> NDArray[np.float64]:
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise DataError(_infinite(name, row, values[row], source))
    return values


def _infinite(name: Name, row: int, value: Any, source: str) -> str:
    return (
        f"{source}: column {quoted(name)}, row {row + 1}: {value} is infinity, not a finite number; "
        "replace it by a finite value or by a missing one"
    )


def _from_objects(name: Name, values: list[Any], source: str) -> Column:
    """Return a column of Python values: text and mixed types as states, numbers as numbers."""
    types = set(map(type, values))
    present = {t for t in types if not _is_missing_type(t)}
    if present <= {str}:
        return _from_text(name, values)
    for t in present:
        _check_type(t, name, values, source)
    if all(issubclass(t, (bool, np.bool_)) for t in present):
        return _from_states(name, [None if _is_missing(v) else bool(v) for v in values])
    if all(issubclass(t, numbers.Real) and not issubclass(t, (bool, np.bool_)) for t in present):
        return _from_large_integers(name, values) or Column(name, _numbers(name, values, source))
    for row, value in enumerate(values):
        if isinstance(value, (float, np.floating)) and math.isinf(value):
            raise DataError(_infinite(name, row, value, source))
    return _from_states(name, [_scalar(v) for v in values])


def _is_missing_type(t: type) -> bool:
    return t is type(None) or t.__name__ in ("NAType", "NaTType")


def _is_missing(value: object) -> bool:
    if value is None or _is_missing_type(type(value)) or (isinstance(value, str) and not value):
        return True  # an empty text is a missing value
    return isinstance(value, (float, np.floating)) and bool(value != value)


def _check_type(t: type, name: Name, values: list[Any], source: str) -> None:
    if issubclass(t, (str, bool, np.bool_)) or (issubclass(t, numbers.Real) and t.__name__ not in ("Decimal", "Fraction")):
        return
    row = next(i for i, v in enumerate(values) if type(v) is t)
    kind = "M" if "date" in t.__name__.lower() or "time" in t.__name__.lower() else "O"
    raise DataTypeError(
        f"{source}: column {quoted(name)}, row {row + 1}: {quoted(values[row])} is of type {t.__name__} "
        f"(argument must be a string or a real number); {_advice(kind)}"
    )


def _from_large_integers(name: Name, values: list[Any]) -> Column | None:
    """Return a column of 64-bit integers that floats cannot hold, as states if some are missing; None for all other columns."""
    present = [value for value in values if not _is_missing(value)]
    exact = all(isinstance(value, numbers.Integral) and -(2**63) <= int(value) < 2**63 for value in present)
    if not exact or not _beyond_floats(present):
        return None
    if len(present) == len(values):
        return Column(name, np.array(values, np.int64))
    return _from_states(name, [None if _is_missing(value) else int(value) for value in values])


def _beyond_floats(values: Iterable[Any]) -> bool:
    return any(abs(int(value)) > LARGEST_EXACT for value in values)


def _numbers(name: Name, values: list[Any], source: str) -> NDArray[np.float64]:
    for row, value in enumerate(values):
        if isinstance(value, numbers.Integral) and _beyond_floats([value]):
            raise DataError(
                f"{source}: column {quoted(name)}, row {row + 1}: {quoted(value)} is beyond 2**53 and would lose "
                "digits as a number; pass such identifiers as text"
            )
    return _finite(name, np.array([math.nan if _is_missing(v) else float(v) for v in values], np.float64), source)


def _scalar(value: Any) -> State | None:
    if _is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    return str(value) if isinstance(value, str) else value


def _from_text(name: Name, values: Iterable[Any]) -> Column:
    rows = list(values)
    index: dict[Any, int] = {value: i for i, value in enumerate(v for v in dict.fromkeys(rows) if not _is_missing(v))}
    states = tuple(index)
    codes = np.fromiter((index.get(v, -1) for v in rows), np.int32, len(rows))
    return Column(name, codes, tuple(str(s) for s in states), kind="nominal")


def _from_states(name: Name, values: list[State | None]) -> Column:
    """Return a nominal column of values of several types; True and 1 are different states."""
    index: dict[tuple[bool, State], int] = {}
    codes = np.empty(len(values), np.int32)
    for i, v in enumerate(values):
        codes[i] = -1 if v is None else index.setdefault(state_key(v), len(index))
    return Column(name, codes, tuple(v for _, v in index), kind="nominal")


def _from_records(records: Sequence[Mapping[Name, Any]], source: str, only: Collection[Name] | None) -> Table:
    columns = record_columns(records, None if only is None else list(only))
    return Table(tuple(_from_objects(name, values, source) for name, values in columns.items()), source=source, rows=len(records))


def _from_frame(X: Any, source: str, only: Collection[Name] | None) -> Table:
    import narwhals.stable.v2 as nw

    names = list(getattr(X, "column_names", getattr(X, "columns", ())))
    check_unique(names, source)
    if only is not None and not set(only) <= set(names):
        only = None  # all columns, so that the error can list them
    frame = nw.from_native(X, eager_only=True)
    columns = []
    for j, name in enumerate(frame.columns):
        if not isinstance(name, (str, int, float, type(None))):
            raise DataTypeError(f"{source}: a column is named {quoted(name)}; names are text or numbers")
        if only is None or name in only:
            columns.append(_from_series(name, frame[:, j], nw, source))
    return Table(tuple(columns), source=source, rows=len(frame))


def _from_series(name: Name, series: Any, nw: Any, source: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, (nw.Categorical, nw.Enum)):
        if isinstance(dtype, nw.Categorical) and series.implementation.is_polars():  # its categories are in the order of the rows
            return _from_text(name, series.to_list())
        return _from_categories(name, series, source)
    if dtype == nw.Boolean:
        values = series.to_list()
        return (
            Column(name, np.array(values, np.bool_))
            if None not in values and not _any_na(values)
            else _from_objects(name, values, source)
        )
    if dtype.is_integer():
        return Column(name, series.to_numpy()) if series.null_count() == 0 else _from_objects(name, series.to_list(), source)
    if dtype.is_float():
        return Column(name, _finite(name, np.asarray(series.to_numpy(), np.float64), source))
    if dtype == nw.String:
        return _from_objects(name, series.to_list(), source)
    if dtype == nw.Object:
        return _from_objects(name, series.to_list(), source)
    if series.null_count() == len(series):  # a column without a type
        return _from_text(name, [None] * len(series))
    if dtype.is_temporal():
        raise DataTypeError(f"{source}: column {quoted(name)} holds {dtype}; {_advice('M')}")
    raise DataTypeError(f"{source}: column {quoted(name)} holds {dtype}; {_advice('O')}")


def _any_na(values: list[Any]) -> bool:
    return any(_is_missing(v) for v in values)


def _from_categories(name: Name, series: Any, source: str) -> Column:
    """Return a categorical column with its categories as declared states, also those that never occur."""
    categories: list[State] = []
    for value in series.cat.get_categories().to_list():
        category = _scalar(value)
        if isinstance(category, (str, int, float, bool)):
            categories.append(category)
        elif value != "":  # empty text is a missing value
            raise DataTypeError(f"{source}: column {quoted(name)} has the category {quoted(value)}; {_advice('O')}")
    column = _from_objects(name, series.to_list(), source)
    known = column.states if column.states is not None else tuple(sorted({v for v in column if v is not None}))
    keys = {state_key(c): i for i, c in enumerate(categories)}
    code_of = np.array([keys[state_key(s)] for s in known] + [-1], np.int32)
    codes = column.values if column.states is not None else _positions(column.values, known)
    return Column(name, code_of[codes], tuple(categories), kind="nominal", declared=True)


def _positions(values: NDArray[Any], known: tuple[Any, ...]) -> NDArray[np.int64]:
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    return np.where(missing, -1, np.searchsorted(np.array(known), values))
