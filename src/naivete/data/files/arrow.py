"""Conversion of Arrow data to columns; the callers import pyarrow and pass it as a parameter."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.opening import Limits, limit_error
from naivete.data.table import Column, Kind
from naivete.errors import DataError, DataTypeError, NaiveteError, quoted
from naivete.variables import State, ordered, state_key

__all__ = ["KIND", "STATES", "Converter", "check_type", "damage", "is_text", "merged_states"]

KIND: Final = b"naivete.kind"
STATES: Final = b"naivete.states"
_POLARS_CATEGORICAL: Final = b"_PL_CATEGORICAL"
_WIDEST: Final = 2**53


@contextmanager
def damage(place: str, pa: ModuleType, kind: str = "Parquet", advice: str = "fetch or write the file again") -> Iterator[None]:
    """Raise errors of pyarrow as errors of this library.

    Parameters
    ----------
    place : the file or the column, for the message.
    pa : pyarrow.
    kind : the kind of data.
    advice : what the user can do.
    """
    try:
        yield
    except NaiveteError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        TypeError,
        LookupError,
        ArithmeticError,
        MemoryError,
        RecursionError,
    ) as error:
        raise DataError(f"{place}: the {kind} data is damaged: {quoted(str(error))}; {advice}") from error


def check_type(field: Any, place: str, pa: ModuleType) -> None:
    """Refuse a column whose values are neither numbers nor booleans nor texts."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}):
        raise DataTypeError(f"{place}: the extension type {quoted(str(kind))} is not supported; store the plain values")
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    types = pa.types
    plain = types.is_integer(inner) or types.is_floating(inner) or types.is_boolean(inner) or types.is_null(inner)
    if not plain and not is_text(inner, pa):
        time = types.is_temporal(inner)
        hint = "store it as a number, such as the seconds since a date" if time else "store it as numbers, booleans or texts"
        raise DataTypeError(f"{place}: the type {quoted(str(kind))} is not supported; {hint}")


def is_text(kind: Any, pa: ModuleType) -> bool:
    """Return whether the values of this type are texts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind, pa)


def _is_view(kind: Any, pa: ModuleType) -> bool:
    return bool(pa.types.is_string_view(kind))


def merged_states(lists: Sequence[Sequence[State]]) -> tuple[State, ...]:
    """Return the states of a column with several declarations: as declared if all are equal, else all states, sorted.

    Booleans come before numbers, and numbers before texts, each in increasing order.

    >>> merged_states([("b", "a"), ("b", "a")]), merged_states([("b", "a"), ("c",)])
    (('b', 'a'), ('a', 'b', 'c'))
    """
    distinct = {tuple(state_key(state) for state in states): tuple(states) for states in lists}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    states = {state_key(state): state for states in distinct.values() for state in states}
    return ordered(states.values())


@dataclass
class Converter:
    """Converts the Arrow arrays of one column, chunk by chunk or all at once, to columns of a table.

    Parameters
    ----------
    field : the column in the schema: name, type and metadata.
    place : the file and the column, for messages.
    pa : pyarrow.
    limits : sizes above which the data is refused.
    wide : whether integers of fewer bits are converted to 64 bits.
    declared : whether a dictionary declares the states; False if texts were read as a dictionary. The dictionary of a Categorical
        of polars is in the order of the rows and declares none.
    """

    field: Any
    place: str
    pa: ModuleType
    limits: Limits
    wide: bool = False
    declared: bool = True

    def __post_init__(self) -> None:
        kind, types = self.field.type, self.pa.types
        self._dictionary: tuple[Any, list[Any]] | None = None  # the last dictionary and its values
        self._kind = _kind(self.field)
        metadata = self.field.metadata or {}
        self.declared = self.declared and not any(key.startswith(_POLARS_CATEGORICAL) for key in metadata)
        self._declared_states = metadata.get(STATES)
        self._plain = self._declared_states is None and (types.is_integer(kind) or types.is_float64(kind))

    def column(self, arrays: Sequence[Any]) -> Column:
        """Return the column of these arrays, concatenated; they are checked first."""
        if self._plain and len(arrays) == 1 and not arrays[0].null_count:
            return Column(self.field.name, self._widened(arrays[0].to_numpy()), kind=self._kind)
        with damage(self.place, self.pa):
            for array in arrays:
                array.validate(full=True)
            return self._column(arrays)

    def _column(self, arrays: Sequence[Any]) -> Column:
        pa, name, kind, states = self.pa, self.field.name, self._kind, self._declared_states
        if pa.types.is_dictionary(self.field.type):
            return self._coded(arrays if self.declared else list(map(_shrunk, arrays)), "nominal", self.declared)
        if is_text(self.field.type, pa):
            return self._coded([_encoded(array, pa) for array in arrays], "nominal", False)
        if states:
            return self._coded([array.dictionary_encode() for array in arrays], "nominal", True, _parsed_states(states))
        if pa.types.is_null(self.field.type):
            return Column(name, np.full(sum(map(len, arrays)), math.nan), kind=kind)
        missing = any(array.null_count for array in arrays)
        if missing and not pa.types.is_floating(self.field.type) and not self._fits(arrays):
            return self._coded([array.dictionary_encode() for array in arrays], kind, False)
        return Column(name, self._numbers(arrays, missing), kind=kind)

    def _fits(self, arrays: Sequence[Any]) -> bool:
        """Return whether integers with missing values are exact as floating point numbers."""
        if not self.pa.types.is_integer(self.field.type):
            return False
        ends = self.pa.compute.min_max(self.pa.chunked_array(arrays)).as_py()
        return ends["max"] is None or (ends["max"] <= _WIDEST and ends["min"] >= -_WIDEST)

    def _numbers(self, arrays: Sequence[Any], missing: bool) -> NDArray[Any]:
        """Return the numbers or booleans, nan if null; without a copy if possible."""
        pa = self.pa
        if missing or pa.types.is_floating(self.field.type):
            arrays = [array.cast(pa.float64(), safe=False) for array in arrays]
        parts = [array.to_numpy(zero_copy_only=False) for array in arrays]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, self.field.type.to_pandas_dtype())])
        return self._widened(values)

    def _widened(self, values: NDArray[Any]) -> NDArray[Any]:
        narrow = self.wide and values.dtype.kind in "iu" and values.dtype != np.uint64
        return values.astype(np.int64) if narrow else values

    def _coded(self, arrays: Sequence[Any], kind: Kind | None, declared: bool, states: Sequence[State] = ()) -> Column:
        """Return the column with codes by value, so that equal values in several dictionaries are one state.

        Nulls and NaN are missing values, not states.
        """
        dictionaries = [self._values(array) for array in arrays]
        all_states = tuple(states) or (
            merged_states([_distinct(values) for values in dictionaries])
            if declared
            else tuple(dict.fromkeys(value for values in dictionaries for value in _distinct(values)))
        )
        self._check_count(len(all_states))
        code_of = {state: code for code, state in enumerate(all_states)}
        if states and not all(value in code_of for values in dictionaries for value in _distinct(values)):
            raise ValueError("a value that is not among the declared ones")
        parts = [self._codes(array, values, code_of) for array, values in zip(arrays, dictionaries, strict=True)]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, np.int32)])
        return Column(self.field.name, codes, all_states, kind, declared)

    def _check_count(self, states: int) -> None:
        if states > self.limits.states:
            raise limit_error(self.place, "states", self.limits.states, f"more than {self.limits.states} distinct values")

    def _values(self, array: Any) -> list[Any]:
        """Return the values of a dictionary; the last ones are kept, since many chunks have the same dictionary."""
        if self._dictionary is None or not self._dictionary[0].equals(array.dictionary):
            self._check_count(len(array.dictionary))
            self._dictionary = array.dictionary, array.dictionary.to_pylist()
        return self._dictionary[1]

    def _codes(self, array: Any, values: list[Any], code_of: dict[State, int]) -> NDArray[Any]:
        codes = [-1 if value is None or value != value else code_of[value] for value in values]
        indices = array.indices
        if codes == list(range(len(codes))):
            if indices.null_count:
                indices = indices.cast("int32").fill_null(-1)
            unchanged = indices.to_numpy(zero_copy_only=False)
            return unchanged if unchanged.dtype.kind == "i" else unchanged.astype(np.int32)  # type: ignore[no-any-return]
        recoded = np.array([*codes, -1], dtype=np.int32)  # the last one is for null
        return recoded[indices.cast("int64").fill_null(len(codes)).to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]


def _kind(field: Any) -> Kind | None:
    kind = (field.metadata or {}).get(KIND)
    return "nominal" if kind == b"nominal" else "numeric" if kind == b"numeric" else None


def _parsed_states(metadata: bytes) -> list[State]:
    """Return the declared states that are not texts, from the metadata that `write_parquet` writes."""
    states = json.loads(metadata)
    if not isinstance(states, list) or {type(state) for state in states} not in ({int}, {float}, {bool}):
        raise ValueError("the declared values are not a list of numbers")
    if len(set(states)) < len(states) or not all(map(math.isfinite, states)):
        raise ValueError("the declared values are repeated or not finite")
    return states


def _encoded(array: Any, pa: ModuleType) -> Any:
    return (array.cast(pa.large_string()) if _is_view(array.type, pa) else array).dictionary_encode()


def _distinct(values: list[Any]) -> list[State]:
    """Return the distinct values of a dictionary without null and NaN."""
    return list(dict.fromkeys(value for value in values if value is not None and value == value))


def _shrunk(array: Any) -> Any:
    """Return the array with a dictionary that is not longer than the array."""
    return array.dictionary_decode().dictionary_encode() if len(array.dictionary) > len(array) else array
