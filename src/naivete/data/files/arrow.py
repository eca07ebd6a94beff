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

from naivete.data.files.opening import Limits, over
from naivete.data.table import Column, Kind
from naivete.errors import DataError, DataTypeError, NaiveteError, quoted
from naivete.variables import State

__all__ = ["KIND", "STATES", "Converter", "check_type", "damage", "is_text", "merged_states"]

KIND: Final = b"naivete.kind"
STATES: Final = b"naivete.states"
_WIDEST: Final = 2**53


@contextmanager
def damage(place: str, pa: ModuleType, what: str = "Parquet", advice: str = "fetch or write the file again") -> Iterator[None]:
    """Raise errors of pyarrow as errors of this library."""
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
        raise DataError(f"{place}: the {what} data is damaged: {quoted(str(error))}; {advice}") from error


def check_type(field: Any, place: str, pa: ModuleType) -> None:
    """Refuse the columns whose values are neither numbers, booleans nor texts."""
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
    """Whether the values of this type are texts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_view(kind, pa)


def _is_view(kind: Any, pa: ModuleType) -> bool:
    return bool(pa.types.is_string_view(kind))


def merged_states(lists: Sequence[Sequence[State]]) -> tuple[State, ...]:
    """The states of a column that was declared several times: as declared where all agree, else all of them in order.

    Booleans come before numbers and these before texts, each increasing.

    >>> merged_states([("b", "a"), ("b", "a")]), merged_states([("b", "a"), ("c",)])
    (('b', 'a'), ('a', 'b', 'c'))
    """
    distinct = {tuple((type(state) is bool, state) for state in states): tuple(states) for states in lists}
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    states = {(isinstance(state, bool), state): state for states in distinct.values() for state in states}
    return tuple(sorted(states.values(), key=_rank))


def _rank(state: State) -> tuple[int, State]:
    return (0 if isinstance(state, bool) else 2 if isinstance(state, str) else 1), state


@dataclass
class Converter:
    """Turns the data of one column, or one chunk of it after the other, into columns of a table.

    Parameters
    ----------
    field : the column as its schema describes it: name, type and notes.
    place : what messages say about where the column is.
    pa : pyarrow.
    limits : how much is too much.
    wide : whether whole numbers of fewer bits become 64 bits.
    declared : whether a dictionary declares its values; not so where texts were asked for as a dictionary.
    """

    field: Any
    place: str
    pa: ModuleType
    limits: Limits
    wide: bool = False
    declared: bool = True

    def __post_init__(self) -> None:
        kind, types = self.field.type, self.pa.types
        self._known: tuple[Any, list[Any]] | None = None  # the last dictionary and its values
        self._kind = _kind(self.field)
        self._told = (self.field.metadata or {}).get(STATES)
        self._plain = self._told is None and (types.is_integer(kind) or types.is_float64(kind))

    def column(self, arrays: Sequence[Any]) -> Column:
        """The column of these arrays, end to end; they are checked first."""
        if self._plain and len(arrays) == 1 and not arrays[0].null_count:
            return Column(self.field.name, self._widened(arrays[0].to_numpy()), kind=self._kind)
        with damage(self.place, self.pa):
            for array in arrays:
                array.validate(full=True)
            return self._column(arrays)

    def _column(self, arrays: Sequence[Any]) -> Column:
        pa, name, kind, told = self.pa, self.field.name, self._kind, self._told
        if pa.types.is_dictionary(self.field.type):
            return self._coded(arrays if self.declared else list(map(_shrunk, arrays)), "nominal", self.declared)
        if is_text(self.field.type, pa):
            return self._coded([_encoded(array, pa) for array in arrays], "nominal", False)
        if told:
            return self._coded([array.dictionary_encode() for array in arrays], "nominal", True, _levels(told))
        if pa.types.is_null(self.field.type):
            return Column(name, np.full(sum(map(len, arrays)), math.nan), kind=kind)
        gaps = any(array.null_count for array in arrays)
        if gaps and not pa.types.is_floating(self.field.type) and not self._fits(arrays):
            return self._coded([array.dictionary_encode() for array in arrays], kind, False)
        return Column(name, self._numbers(arrays, gaps), kind=kind)

    def _fits(self, arrays: Sequence[Any]) -> bool:
        """Whether integers with missing values survive as floating point numbers."""
        if not self.pa.types.is_integer(self.field.type):
            return False
        ends = self.pa.compute.min_max(self.pa.chunked_array(arrays)).as_py()
        return ends["max"] is None or (ends["max"] <= _WIDEST and ends["min"] >= -_WIDEST)

    def _numbers(self, arrays: Sequence[Any], gaps: bool) -> NDArray[Any]:
        """Return the numbers or booleans, nan if null; without a copy if possible."""
        pa = self.pa
        if gaps or pa.types.is_floating(self.field.type):
            arrays = [array.cast(pa.float64(), safe=False) for array in arrays]
        parts = [array.to_numpy(zero_copy_only=False) for array in arrays]
        values = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, self.field.type.to_pandas_dtype())])
        return self._widened(values)

    def _widened(self, values: NDArray[Any]) -> NDArray[Any]:
        narrow = self.wide and values.dtype.kind in "iu" and values.dtype != np.uint64
        return values.astype(np.int64) if narrow else values

    def _coded(self, arrays: Sequence[Any], kind: Kind | None, declared: bool, told: Sequence[State] = ()) -> Column:
        """Codes by value, so that equal values in several dictionaries are one state; a null or NaN is missing, not a state."""
        lists = [self._values(array) for array in arrays]
        states = tuple(told) or (
            merged_states([_there(levels) for levels in lists])
            if declared
            else tuple(dict.fromkeys(state for levels in lists for state in _there(levels)))
        )
        if len(states) > self.limits.states:
            raise over(self.place, "states", self.limits.states, f"more than {self.limits.states} distinct values")
        position = {state: code for code, state in enumerate(states)}
        if told and not all(state in position for levels in lists for state in _there(levels)):
            raise ValueError("a value that is not among the declared ones")
        parts = [self._codes(array, levels, position) for array, levels in zip(arrays, lists, strict=True)]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, np.int32)])
        return Column(self.field.name, codes, states, kind, declared)

    def _values(self, array: Any) -> list[Any]:
        """The values of a dictionary; those of the last one are kept, since one dictionary serves many chunks."""
        if self._known is None or not self._known[0].equals(array.dictionary):
            if len(array.dictionary) > self.limits.states:
                raise over(self.place, "states", self.limits.states, f"more than {self.limits.states} distinct values")
            self._known = array.dictionary, array.dictionary.to_pylist()
        return self._known[1]

    def _codes(self, array: Any, levels: list[Any], position: dict[State, int]) -> NDArray[Any]:
        codes = [-1 if level is None or level != level else position[level] for level in levels]
        indices = array.indices
        if codes == list(range(len(codes))):
            if indices.null_count:
                indices = indices.cast("int32").fill_null(-1)
            found = indices.to_numpy(zero_copy_only=False)
            return found if found.dtype.kind == "i" else found.astype(np.int32)  # type: ignore[no-any-return]
        table = np.array([*codes, -1], dtype=np.int32)  # the last one is for null
        return table[indices.cast("int64").fill_null(len(codes)).to_numpy(zero_copy_only=False)]  # type: ignore[no-any-return]


def _kind(field: Any) -> Kind | None:
    told = (field.metadata or {}).get(KIND)
    return "nominal" if told == b"nominal" else "numeric" if told == b"numeric" else None


def _levels(told: bytes) -> list[State]:
    """The declared states that are not texts, as `write_parquet` notes them."""
    levels = json.loads(told)
    if not isinstance(levels, list) or {type(level) for level in levels} not in ({int}, {float}, {bool}):
        raise ValueError("the declared values are not a list of numbers")
    if len(set(levels)) < len(levels) or not all(map(math.isfinite, levels)):
        raise ValueError("the declared values repeat or are not finite")
    return levels


def _encoded(array: Any, pa: ModuleType) -> Any:
    return (array.cast(pa.large_string()) if _is_view(array.type, pa) else array).dictionary_encode()


def _there(levels: list[Any]) -> list[State]:
    """The values of a dictionary without repetition, nulls and NaN."""
    return list(dict.fromkeys(level for level in levels if level is not None and level == level))


def _shrunk(array: Any) -> Any:
    """The array with a dictionary no longer than itself."""
    return array.dictionary_decode().dictionary_encode() if len(array.dictionary) > len(array) else array
