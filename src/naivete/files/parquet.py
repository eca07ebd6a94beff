"""Parquet, by way of pyarrow, which is loaded only when a Parquet file is read or written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from naivete.atomic import atomic_write
from naivete.errors import DataError, DataTypeError, FileError, NaiveteError, shown
from naivete.files.opening import Limits, PathLike, opened, over, title
from naivete.table import Column, Kind, Table
from naivete.variables import State, check_unique

__all__ = ["read_parquet", "write_parquet"]

_KIND: Final = b"naivete.kind"
_STATES: Final = b"naivete.states"
_WIDEST: Final = 2**53
_MAGIC: Final = b"PAR1"


def read_parquet(path: PathLike, *, limits: Limits = Limits()) -> Table:  # noqa: B008
    """The table of a Parquet file.

    Dictionary columns become nominal ones that declare the whole dictionary; texts become nominal columns that declare
    nothing; numbers and truth values stay what they are; nulls are missing. Columns of other types are refused.

    Parameters
    ----------
    path : the file.
    limits : how much is too much.
    """
    pa, parquet = _arrow()
    name = title(path)
    with opened(path) as file:
        with _damage(name, pa):
            source = _source(file, name, parquet)
            schema, rows = source.schema_arrow, source.metadata.num_rows
            names = list(schema.names)
        check_unique(names, name)
        if len(names) > limits.columns:
            raise over(name, "columns", limits.columns, f"more than {limits.columns} columns")
        if rows * len(names) > limits.cells:
            raise over(name, "cells", limits.cells, f"more than {limits.cells} cells")
        for field in schema:
            _check_type(field, f"{name}: column {shown(field.name)}", pa)
        columns = tuple(_column(source, at, f"{name}: column {shown(field.name)}", pa, limits) for at, field in enumerate(schema))
    return Table(columns, None, name, None, rows)


def write_parquet(table: Table, path: PathLike, *, overwrite: bool = False) -> None:
    """Write the table as Parquet; `read_parquet` gives the same columns back. Weights cannot be written.

    Parameters
    ----------
    table : the table; its names have to be texts, and the values of a nominal column of one type.
    path : the file; it appears whole or not at all.
    overwrite : whether an existing file may be replaced.
    """
    pa, parquet = _arrow()
    name = title(path)
    if table.weight is not None:
        raise DataError(f"{name}: a Parquet file cannot hold the weights of the rows; write ARFF")
    if not table.columns:
        raise DataError(f"{name}: a Parquet file needs at least one column; add one")
    arrays, fields = [], []
    for column in table.columns:
        place = f"{name}: column {shown(column.name)}"
        if not isinstance(column.name, str):
            raise DataTypeError(f"{place}: the name is not a text; rename the column")
        arrays.append(_array(column, place, pa))
        fields.append(_field(column, arrays[-1], place, pa))
    sink = pa.BufferOutputStream()
    with parquet.ParquetWriter(sink, pa.schema(fields), dictionary_pagesize_limit=1 << 30) as writer:
        writer.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), row_group_size=max(len(table), 1))
    atomic_write(Path(path), sink.getvalue().to_pybytes(), overwrite=overwrite)


def _arrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError("Parquet files need pyarrow; install it with: pip install naivete[parquet]") from error
    return pyarrow, pyarrow.parquet


@contextmanager
def _damage(place: str, pa: ModuleType) -> Iterator[None]:
    """Whatever pyarrow finds wrong, as our error."""
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
        raise DataError(f"{place}: the Parquet data is damaged: {shown(str(error))}; fetch or write the file again") from error


def _source(file: BinaryIO, name: str, parquet: ModuleType) -> Any:
    size = file.seek(0, 2)
    file.seek(0)
    if size == 0:
        raise DataError(f"{name}: no header: the file is empty; fetch or write it again")
    if file.read(4) != _MAGIC:
        raise DataError(f"{name}: this is not a Parquet file; give its format, or fetch it again")
    file.seek(0)
    return parquet.ParquetFile(file, page_checksum_verification=True, pre_buffer=False)


def _check_type(field: Any, place: str, pa: ModuleType) -> None:
    """Refuse the columns whose values are neither numbers, truth values nor texts."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType) or b"ARROW:extension:name" in (field.metadata or {}):
        raise DataTypeError(f"{place}: the extension type {shown(str(kind))} is not supported; store the plain values")
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if not any(test(inner) for test in _tests(pa)):
        time = pa.types.is_temporal(inner)
        hint = "store it as a number, such as the seconds since a date" if time else "store it as numbers, truth values or texts"
        raise DataTypeError(f"{place}: the type {shown(str(kind))} is not supported; {hint}")


def _tests(pa: ModuleType) -> tuple[Any, ...]:
    types = pa.types
    return types.is_integer, types.is_floating, types.is_boolean, types.is_string, types.is_large_string, types.is_null


def _column(source: Any, at: int, place: str, pa: ModuleType, limits: Limits) -> Column:
    field = source.schema_arrow.field(at)
    kind = _kind(field)
    with _damage(place, pa):
        data = source.reader.read_column(at)
        if len(data) != source.metadata.num_rows:
            raise ValueError(f"{len(data)} rows, expected {source.metadata.num_rows}")
        data.validate(full=True)
        if pa.types.is_dictionary(data.type):
            return _coded(field.name, data.unify_dictionaries(), "nominal", True, place, limits)
        if pa.types.is_string(data.type) or pa.types.is_large_string(data.type):
            return _coded(field.name, data.dictionary_encode().unify_dictionaries(), "nominal", False, place, limits)
        if told := (field.metadata or {}).get(_STATES):
            return _coded(
                field.name, data.dictionary_encode().unify_dictionaries(), "nominal", True, place, limits, _levels(told)
            )
        if pa.types.is_null(data.type):
            return Column(field.name, np.full(len(data), math.nan), kind=kind)
        if data.null_count and not pa.types.is_floating(data.type) and not _fits(data):
            return _coded(field.name, data.dictionary_encode().unify_dictionaries(), kind, False, place, limits)
        return Column(field.name, _numbers(data, pa), kind=kind)


def _kind(field: Any) -> Kind | None:
    told = (field.metadata or {}).get(_KIND)
    return "nominal" if told == b"nominal" else "numeric" if told == b"numeric" else None


def _levels(told: bytes) -> list[State]:
    """The declared states that are not texts, as `write_parquet` notes them."""
    levels = json.loads(told)
    if not isinstance(levels, list) or {type(level) for level in levels} not in ({int}, {float}, {bool}):
        raise ValueError("the declared values are not a list of numbers")
    if len(set(levels)) < len(levels) or not all(map(math.isfinite, levels)):
        raise ValueError("the declared values repeat or are not finite")
    return levels


def _fits(data: Any) -> bool:
    """Whether integers with missing values survive as floating point numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_integer(data.type):
        return False
    ends = pc.min_max(data).as_py()
    return ends["max"] is None or (ends["max"] <= _WIDEST and ends["min"] >= -_WIDEST)


def _numbers(data: Any, pa: ModuleType) -> NDArray[Any]:
    """The numbers or truth values, NaN where null."""
    if pa.types.is_floating(data.type):
        return data.cast(pa.float64()).to_numpy()  # type: ignore[no-any-return]
    if data.null_count:
        return data.cast(pa.float64(), safe=False).to_numpy()  # type: ignore[no-any-return]
    values = data.to_numpy()
    narrow = values.dtype.kind in "iu" and values.dtype != np.uint64
    return values.astype(np.int64) if narrow else values  # type: ignore[no-any-return]


def _coded(
    name: str, data: Any, kind: Kind | None, declared: bool, place: str, limits: Limits, told: Sequence[State] = ()
) -> Column:
    """Codes by value, so that equal values in several dictionaries are one state; a null or NaN is missing, not a state."""
    levels: list[Any] = data.chunk(0).dictionary.to_pylist() if data.num_chunks else []
    if len(levels) > limits.states:
        raise over(place, "states", limits.states, f"more than {limits.states} distinct values")
    states = {state: code for code, state in enumerate(told)}
    codes = [-1 if level is None or level != level else states.setdefault(level, len(states)) for level in levels]
    if told and len(states) > len(told):
        raise ValueError("a value that is not among the declared ones")
    table = np.array([*codes, -1], dtype=np.int32)  # the last one is for null
    parts = [chunk.indices.cast("int64").fill_null(len(codes)).to_numpy(zero_copy_only=False) for chunk in data.chunks]
    return Column(name, table[np.concatenate(parts)] if parts else table[:0], tuple(states), kind, declared)


def _array(column: Column, place: str, pa: ModuleType) -> Any:
    try:
        if column.states is None:
            values = column.values
            gone = np.isnan(values) if values.dtype.kind == "f" else None
            return pa.array(values, mask=gone)
        levels = pa.array(column.states, type=None if column.states else pa.string())
        codes = pa.array(column.values.astype(np.int32), mask=column.values < 0)
        data = pa.DictionaryArray.from_arrays(codes, levels)
        return data if column.declared or not pa.types.is_string(levels.type) else data.cast(pa.string())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataTypeError(
            f"{place}: the values are not all numbers, all truth values or all texts ({shown(str(error))})"
        ) from error


def _field(column: Column, array: Any, place: str, pa: ModuleType) -> Any:
    metadata: dict[bytes, str] = {_KIND: column.kind} if column.kind else {}
    if column.declared and pa.types.is_dictionary(array.type) and not pa.types.is_string(array.type.value_type):
        metadata[_STATES] = json.dumps(column.states)  # the format keeps dictionaries of texts only
    field = pa.field(column.name, array.type, metadata=metadata)
    _check_type(field, place, pa)
    return field
