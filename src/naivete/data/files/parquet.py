"""Reader and writer of Parquet files; pyarrow is imported only when it is needed."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Final

import numpy as np

from naivete.data.files.arrow import KIND, STATES, Converter, check_type, damage
from naivete.data.files.opening import Limits, PathLike, display_name, limit_error, open_file
from naivete.data.files.parquet_pages import check_pages, chunks
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, FileError, quoted
from naivete.storage.atomic import atomic_write
from naivete.variables import check_unique

__all__ = ["arrow_stream", "loaded", "parquet_file", "read_parquet", "write_parquet", "write_row_groups"]

_MAGIC: Final = b"PAR1"
_BUFFER: Final = 1 << 20
"""How many bytes of a column are read at a time; otherwise a column of a row group would be read as a whole."""


def read_parquet(path: PathLike, *, limits: Limits = Limits()) -> Table:  # noqa: B008
    """Read the table of a Parquet file.

    Dictionary columns become nominal columns whose declared states are the whole dictionary. Text columns become nominal columns
    without declared states. Numbers and booleans keep their types; nulls are missing values. Columns of other types are refused. If
    the row groups of a file have different dictionaries, the states are the values of all of them in increasing order.

    Parameters
    ----------
    path : str or path-like
        The file.
    limits : Limits, default=Limits()
        Sizes above which the file is refused.

    Returns
    -------
    Table
        The columns.
    """
    pa, parquet = loaded()
    name = display_name(path)
    with open_file(path) as file:
        with damage(name, pa):
            source = parquet_file(file, name, parquet)
            check_pages(file, chunks(file))
            schema, rows = source.schema_arrow, source.metadata.num_rows
            names = list(schema.names)
        check_unique(names, name)
        if len(names) > limits.columns:
            raise limit_error(name, "columns", limits.columns, f"more than {limits.columns} columns")
        if rows * len(names) > limits.cells:
            raise limit_error(name, "cells", limits.cells, f"more than {limits.cells} cells")
        for field in schema:
            check_type(field, f"{name}: column {quoted(field.name)}", pa)
        columns = tuple(
            _column(source, number, f"{name}: column {quoted(field.name)}", pa, limits) for number, field in enumerate(schema)
        )
    return Table(columns, None, name, None, rows)


def _column(source: Any, number: int, place: str, pa: ModuleType, limits: Limits) -> Column:
    with damage(place, pa):
        data = source.reader.read_column(number)
        if len(data) != source.metadata.num_rows:
            raise ValueError(f"{len(data)} rows, expected {source.metadata.num_rows}")
        return Converter(source.schema_arrow.field(number), place, pa, limits, wide=True).column(data.chunks)


def loaded() -> tuple[ModuleType, ModuleType]:
    """Return the modules pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise FileError("Parquet files and Arrow data need pyarrow; install it with: pip install naivete[parquet]") from error
    return pyarrow, pyarrow.parquet


def parquet_file(file: BinaryIO, name: str, parquet: ModuleType, texts: Iterable[str] = ()) -> Any:
    """Open a Parquet file and read its footer; the columns `texts` will be read as dictionaries."""
    size = file.seek(0, 2)
    file.seek(0)
    if size == 0:
        raise DataError(f"{name}: no header: the file is empty; fetch or write it again")
    if file.read(4) != _MAGIC:
        raise DataError(f"{name}: this is not a Parquet file; pass its `format=`, or fetch it again")
    file.seek(0)
    options = {"page_checksum_verification": True, "pre_buffer": False, "buffer_size": _BUFFER}
    return parquet.ParquetFile(file, read_dictionary=list(texts), **options)


def write_parquet(table: Table, path: PathLike, *, overwrite: bool = False) -> None:
    """Write the table as Parquet; `read_parquet` returns the same columns, but weights cannot be written.

    Parameters
    ----------
    table : Table
        The table; its names have to be texts, and all values of a nominal column have to be of one type.
    path : str or path-like
        The file; it is written completely or not at all.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    """
    write_row_groups([table], path, overwrite=overwrite)


def write_row_groups(tables: Iterable[Table], path: PathLike, *, overwrite: bool = False) -> None:
    """Write tables of the same columns one below the other, each as a row group; at any time only one of them is in memory.

    Parameters
    ----------
    tables : at least one table; the first one determines the types of the columns.
    path : the file; it is written completely or not at all.
    overwrite : whether an existing file may be replaced.
    """
    pa, parquet = loaded()
    name = display_name(path)
    groups = (_arrow_table(table, name, pa) for table in tables)
    atomic_write(Path(path), _file_bytes(groups, name, pa, parquet), overwrite=overwrite)


class _ByteQueue(io.RawIOBase):
    """A file object that keeps the written bytes until they are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[bytes] = []
        self.position = 0

    def writable(self) -> bool:
        """Return True; pyarrow checks it before it writes."""
        return True

    def write(self, data: Any) -> int:
        """Append the bytes and return their number."""
        self.parts.append(bytes(data))
        self.position += len(self.parts[-1])
        return len(self.parts[-1])

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self.position

    def taken(self) -> bytes:
        """Return the bytes written since the last call."""
        parts, self.parts = self.parts, []
        return b"".join(parts)


def _file_bytes(groups: Iterator[Any], name: str, pa: ModuleType, parquet: ModuleType) -> Iterator[bytes]:
    """Iterate over the bytes of the file, one row group at a time."""
    first = next(groups, None)
    if first is None:
        raise DataError(f"{name}: there is no table to write, so the columns are not known; write at least one")
    queue = _ByteQueue()
    with parquet.ParquetWriter(queue, first.schema, dictionary_pagesize_limit=1 << 30) as writer:
        writer.write_table(first, row_group_size=max(len(first), 1))
        yield queue.taken()
        for group in groups:
            typed = _with_schema(group, first.schema, name, pa)
            writer.write_table(typed, row_group_size=max(len(group), 1))
            yield queue.taken()
    yield queue.taken()


def arrow_stream(table: Any, requested_schema: object = None) -> object:
    """Return the columns of a table as the capsule of an Arrow stream; the weights of the rows are left out."""
    pa, _ = loaded()
    return _arrow_table(replace(table, weight=None), table.source, pa).__arrow_c_stream__(requested_schema)


def _arrow_table(table: Table, name: str, pa: ModuleType) -> Any:
    """Return the table as a pyarrow table."""
    if table.weight is not None:
        raise DataError(f"{name}: a Parquet file cannot hold the weights of the rows; write ARFF")
    if not table.columns:
        raise DataError(f"{name}: a Parquet file needs at least one column; add one")
    arrays, fields = [], []
    for column in table.columns:
        place = f"{name}: column {quoted(column.name)}"
        if not isinstance(column.name, str):
            raise DataTypeError(f"{place}: the name is not a text; rename the column")
        arrays.append(_array(column, place, pa))
        fields.append(_field(column, arrays[-1], place, pa))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _with_schema(group: Any, schema: Any, name: str, pa: ModuleType) -> Any:
    """Return a later table with the types of the first one."""
    if group.schema.names != schema.names:
        raise DataError(f"{name}: a later table has the columns {quoted(group.schema.names)}, the first {quoted(schema.names)}")
    arrays = []
    for data, field in zip(group.columns, schema, strict=True):
        place = f"{name}: column {quoted(field.name)}"
        try:
            arrays.append(data if data.type == field.type else data.cast(field.type))
        except (pa.ArrowException, NotImplementedError) as error:
            types = f"{data.type} in a later table, {field.type} in the first one"
            raise DataTypeError(f"{place}: the values are {types}; give all tables the same type") from error
        _check_declared(data, field, place)
    return pa.Table.from_arrays(arrays, schema=schema)


def _check_declared(data: Any, field: Any, place: str) -> None:
    """Refuse values that are not among the declared states, which are written with the first table."""
    states = (field.metadata or {}).get(STATES)
    if states is None:
        return
    values = set(data.drop_null().unique().to_pylist()) - set(json.loads(states))
    if values:
        raise DataError(f"{place}: value {quoted(min(values))} is not among those that the first table declares; declare it there")


def _array(column: Column, place: str, pa: ModuleType) -> Any:
    try:
        if column.states is None:
            values = column.values
            missing = np.isnan(values) if values.dtype.kind == "f" else None
            return pa.array(values, mask=missing)
        levels = pa.array(column.states, type=None if column.states else pa.string())
        codes = pa.array(column.values.astype(np.int32), mask=column.values < 0)
        data = pa.DictionaryArray.from_arrays(codes, levels)
        return data if column.declared or not pa.types.is_string(levels.type) else data.cast(pa.string())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise DataTypeError(f"{place}: the values are not all numbers, all booleans or all texts ({quoted(str(error))})") from error


def _field(column: Column, array: Any, place: str, pa: ModuleType) -> Any:
    metadata: dict[bytes, str] = {KIND: column.kind} if column.kind else {}
    if column.declared and pa.types.is_dictionary(array.type) and not pa.types.is_string(array.type.value_type):
        metadata[STATES] = json.dumps(column.states)  # Parquet stores dictionaries of texts only
    field = pa.field(column.name, array.type, metadata=metadata)
    check_type(field, place, pa)
    return field
