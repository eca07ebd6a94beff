"""Readers of Parquet and Arrow data, some rows at a time: adjacent row groups of a file, and Arrow streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import ModuleType
from typing import Any, BinaryIO, Final

from naivete.data.files.arrow import Converter, check_type, damage, is_text
from naivete.data.files.opening import Limits, limit_error
from naivete.data.files.options import checked_count, checked_only
from naivete.data.files.parquet import loaded, parquet_file
from naivete.data.files.parquet_pages import Chunk, check_pages, chunks
from naivete.data.table import Table
from naivete.errors import DataError, DataTypeError, NaiveteError, quoted
from naivete.variables import check_unique

__all__ = ["Footer", "RowGroups", "arrow_tables", "footer"]

_FEWEST: Final = 1_000_000
_MOST: Final = 4_000_000
"""The smallest and the largest number of rows of a piece of a Parquet file, unless a single row group has more or fewer."""
_DICTIONARY_BYTES: Final = 1 << 20
"""The size of a dictionary above which most programs write the values themselves."""
_POSITION_BYTES: Final = 4


@dataclass(frozen=True)
class RowGroups:
    """A reader of adjacent row groups of a Parquet file that returns some rows at a time.

    Parameters
    ----------
    start, stop : the first row group, and the one after the last.
    before : the number of rows of the file before them.
    rows : the number of their rows.
    texts : the text columns with few distinct values, which are read as dictionaries because that is faster; with many values
        it would take several times the memory.
    plain_texts : the number of the other text columns.
    limits : sizes above which the data is refused.
    """

    start: int
    stop: int
    before: int
    rows: int
    texts: tuple[str, ...]
    plain_texts: int
    limits: Limits

    def tables(self, file: BinaryIO, name: str, only: Sequence[str], rows: int, skip: int) -> Iterator[Table]:
        """Iterate over the rows after the first `skip`, with these columns, in tables of at most `rows` rows."""
        pa, parquet = loaded()
        with damage(name, pa):
            texts = [text for text in self.texts if text in only]
            source = parquet_file(file, name, parquet, texts)
            leaves, fields = _leaves(source.schema_arrow, pa), {field.name: field for field in source.schema_arrow}
            start, skipped = self._start(source, skip)
        rows_before = self.before + skip
        if start == self.stop:
            return
        converters = [_converter(fields[c], name, pa, self.limits, declared=c not in self.texts) for c in only]
        batches = _batches(source, range(start, self.stop), [leaves[c] for c in only], rows, pa, name)
        for table in _tables(_regrouped(batches, rows, skip - skipped), converters, name, rows_before):
            rows_before += len(table)
            yield table
        if rows_before != self.before + self.rows:
            raise DataError(f"{name}: {rows_before - self.before} rows, expected {self.rows}; fetch or write the file again")

    def _start(self, source: Any, skip: int) -> tuple[int, int]:
        """Return the row group that contains the row after the first `skip`, and the number of rows before that group."""
        start, before = self.start, 0
        while start < self.stop and before + source.metadata.row_group(start).num_rows <= skip:
            before += source.metadata.row_group(start).num_rows
            start += 1
        return start, before


@dataclass(frozen=True)
class Footer:
    """The columns and row groups of a Parquet file, as given in its footer.

    Parameters
    ----------
    types : the type of the values of each column by its name: text, number, truth, any (only nulls), or the name of another type.
    groups : its row groups, adjacent ones joined until they have enough rows for a piece.
    sizes : the number of bytes of each of these pieces.
    """

    types: dict[str, str]
    groups: tuple[RowGroups, ...]
    sizes: tuple[int, ...]


def footer(file: BinaryIO, name: str, size: int, limits: Limits) -> Footer:
    """Return the columns and row groups of a Parquet file of `size` bytes."""
    pa, parquet = loaded()
    with damage(name, pa):
        source = parquet_file(file, name, parquet)
        schema, metadata = source.schema_arrow, source.metadata
        stored = chunks(file)
        check_pages(file, stored)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        rows, weights = [group.num_rows for group in groups], [max(group.total_byte_size, 1) for group in groups]
        if sum(rows) != metadata.num_rows or min(rows, default=0) < 0:
            raise ValueError(f"the row groups have {sum(rows)} rows, the file has {metadata.num_rows}")
        leaves = _leaves(schema, pa)
        if len(stored) != len(groups) or any(len(group) < sum(_width(field.type, pa) for field in schema) for group in stored):
            raise ValueError("the row groups of the footer do not have all columns")
    check_unique(schema.names, name)
    if len(schema.names) > limits.columns:
        raise limit_error(name, "columns", limits.columns, f"more than {limits.columns} columns")
    names = tuple(field.name for field in schema if is_text(field.type, pa))
    texts = tuple(name for name in names if all(_has_few_values(group[leaves[name]]) for group in stored))
    runs = list(_runs(rows)) or [(0, 0)]
    before, bytes_before = [0, *accumulate(rows)], [0, *accumulate(weights)]
    ends = [size * bytes_before[stop] // bytes_before[-1] if weights else size for _, stop in runs]
    return Footer(
        {field.name: _type_name(field.type, pa) for field in schema},
        tuple(RowGroups(a, b, before[a], before[b] - before[a], texts, len(names) - len(texts), limits) for a, b in runs),
        tuple(end - start for start, end in zip([0, *ends], ends, strict=False)),
    )


def _has_few_values(chunk: Chunk) -> bool:
    """Return whether a column of a row group is mostly stored as positions in a dictionary, judged by its size."""
    return chunk.decompressed <= _DICTIONARY_BYTES + _POSITION_BYTES * chunk.values


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Divide the row groups into runs that have between the smallest and the largest number of rows, or are one group.

    Yields the first row group of each run and the one after its last.

    >>> list(_runs([600_000, 600_000, 5_000_000, 10]))
    [(0, 2), (2, 3), (3, 4)]
    """
    start = count = 0
    for group, group_rows in enumerate(rows):
        if group > start and (count >= _FEWEST or count + group_rows > _MOST):
            yield start, group
            start, count = group, 0
        count += group_rows
    if start < len(rows):
        yield start, len(rows)


def _type_name(kind: Any, pa: ModuleType) -> str:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(inner) or pa.types.is_floating(inner):
        return "number"
    tests = ((is_text(inner, pa), "text"), (pa.types.is_boolean(inner), "truth"), (pa.types.is_null(inner), "any"))
    return next((name for passed, name in tests if passed), str(kind))


def _leaves(schema: Any, pa: ModuleType) -> dict[str, int]:
    """Return the position of each column among the stored columns, of which a nested column has several."""
    positions, position = {}, 0
    for field in schema:
        positions[field.name] = position
        position += _width(field.type, pa)
    return positions


def _width(kind: Any, pa: ModuleType) -> int:
    if not pa.types.is_nested(kind):
        return 1
    return sum(_width(kind.field(number).type, pa) for number in range(kind.num_fields))


def _batches(source: Any, groups: Iterable[int], leaves: list[int], rows: int, pa: ModuleType, name: str) -> Iterator[Any]:
    """Iterate over the record batches; if one cannot be read, the error names the column."""
    row_groups = list(groups)
    try:
        with damage(name, pa):
            yield from source.reader.iter_batches(rows, row_groups=row_groups, column_indices=leaves, use_threads=True)
    except DataError:
        by_leaf = {leaf: column for column, leaf in _leaves(source.schema_arrow, pa).items()}
        for leaf in leaves:
            with damage(f"{name}: column {quoted(by_leaf[leaf])}", pa):
                for batch in source.reader.iter_batches(rows, row_groups=row_groups, column_indices=[leaf], use_threads=False):
                    batch.validate()
        raise


def _regrouped(batches: Iterable[Any], rows: int, skip: int) -> Iterator[list[Any]]:
    """Iterate over lists of batches of together at most `rows` rows, after the first `skip` rows.

    Small batches are joined, large ones divided.
    """
    held: list[Any] = []
    count = 0
    for batch in batches:
        remaining = batch.slice(min(skip, batch.num_rows))
        skip -= min(skip, batch.num_rows)
        for start in range(0, remaining.num_rows, rows):
            part = remaining.slice(start, rows)
            if held and count + part.num_rows > rows:
                yield held
                held, count = [], 0
            held.append(part)
            count += part.num_rows
            if count == rows:  # at once, so that at most two batches are in memory
                yield held
                held, count = [], 0
    if held:
        yield held


def _converter(field: Any, name: str, pa: ModuleType, limits: Limits, *, declared: bool) -> Converter:
    place = f"{name}: column {quoted(field.name)}"
    check_type(field, place, pa)
    return Converter(field, place, pa, limits, declared=declared)


def _tables(groups: Iterable[list[Any]], converters: list[Converter], name: str, first: int) -> Iterator[Table]:
    positions: list[int] = []
    for group in groups:
        positions = positions or [group[0].schema.get_field_index(converter.field.name) for converter in converters]
        columns = tuple(
            converter.column([batch.column(position) for batch in group])
            for converter, position in zip(converters, positions, strict=True)
        )
        count = sum(batch.num_rows for batch in group)
        yield Table(columns, None, name, None, count, first)
        first += count


def arrow_tables(
    source: Any | Callable[[], Any], *, rows: int, only: Collection[str] | None = None, skip: int = 0, name: str = "data"
) -> Iterator[Table]:
    """Iterate over the rows of Arrow data in tables of at most `rows` rows; types are converted as in Parquet files.

    Parameters
    ----------
    source : an object with an Arrow stream, such as a table of pyarrow, polars, pandas or DuckDB, or a function that returns one.
    rows : the largest number of rows of a table.
    only : the columns to read, by default all; they keep their order.
    skip : the number of rows to leave out at the beginning.
    name : the name of the data in messages.
    """
    pa, _ = loaded()
    checked_count("rows", rows, 1)
    checked_count("skip", skip, 0)
    data = source if hasattr(source, "__arrow_c_stream__") or not callable(source) else source()
    if not hasattr(data, "__arrow_c_stream__"):
        raise DataTypeError(f"{name}: {quoted(type(data).__name__)} has no Arrow stream; pass a table or a reader of pyarrow")
    with damage(name, pa, "Arrow", "make it again"):
        reader = pa.RecordBatchReader.from_stream(data)
    try:
        index = _index(reader.schema)
        fields = {field.name: field for field in reader.schema if field.name not in index}
        check_unique([column for column in reader.schema.names if column not in index], name)
        converters = [_converter(fields[c], name, pa, Limits(), declared=True) for c in checked_only(only, tuple(fields), name)]
    except NaiveteError:
        reader.close()  # its owner may not do anything else before
        raise
    return _tables(_regrouped(_streamed(reader, name, pa), rows, skip), converters, name, skip)


def _streamed(reader: Any, name: str, pa: ModuleType) -> Iterator[Any]:
    with damage(name, pa, "Arrow", "make it again"):
        yield from reader


def _index(schema: Any) -> frozenset[str]:
    """Return the columns in which pandas stores the index of its rows."""
    try:
        columns = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        return frozenset()
    return frozenset(column for column in columns if isinstance(column, str) and column.startswith("__index_level_"))
