"""Parquet and Arrow data some rows at a time: runs of row groups of one file, and whatever speaks Arrow's stream protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import ModuleType
from typing import Any, BinaryIO, Final

from naivete.data.files.arrow import Converter, check_type, damage, is_text
from naivete.data.files.opening import Limits, over
from naivete.data.files.options import checked_count, checked_only
from naivete.data.files.parquet import loaded, parquet_file
from naivete.data.table import Table
from naivete.errors import DataError, DataTypeError, NaiveteError, quoted
from naivete.variables import check_unique

__all__ = ["Footer", "RowGroups", "arrow_tables", "footer"]

_FEWEST: Final = 1_000_000
_MOST: Final = 4_000_000
"""A piece of a Parquet file has so many rows, if its row groups allow."""


@dataclass(frozen=True)
class RowGroups:
    """Adjacent row groups of a Parquet file, and how they are read some rows at a time.

    Parameters
    ----------
    start, stop : the first row group, and the one after the last.
    before : how many rows of the file come before them.
    rows : how many rows they have.
    texts : the columns of texts, which are read as dictionaries because that is faster.
    limits : how much is too much.
    """

    start: int
    stop: int
    before: int
    rows: int
    texts: tuple[str, ...]
    limits: Limits

    def tables(self, file: BinaryIO, name: str, only: Sequence[str], rows: int, skip: int) -> Iterator[Table]:
        """The rows after the first `skip`, with these columns, in tables of at most `rows` rows."""
        pa, parquet = loaded()
        with damage(name, pa):
            texts = [text for text in self.texts if text in only]
            source = parquet_file(file, name, parquet, texts)
            leaves, fields = _leaves(source.schema_arrow, pa), {own.name: own for own in source.schema_arrow}
            start, skipped = self._start(source, skip)
        at = self.before + skip
        if start == self.stop:
            return
        makers = [_converter(fields[c], name, pa, self.limits, declared=c not in self.texts) for c in only]
        batches = _batches(source, range(start, self.stop), [leaves[c] for c in only], rows, pa, name)
        for table in _tables(_regrouped(batches, rows, skip - skipped), makers, name, at):
            at += len(table)
            yield table
        if at != self.before + self.rows:
            raise DataError(f"{name}: {at - self.before} rows, expected {self.rows}; fetch or write the file again")

    def _start(self, source: Any, skip: int) -> tuple[int, int]:
        """The row group in which the row after the first `skip` stands, and how many rows come before that group."""
        start, before = self.start, 0
        while start < self.stop and before + source.metadata.row_group(start).num_rows <= skip:
            before += source.metadata.row_group(start).num_rows
            start += 1
        return start, before


@dataclass(frozen=True)
class Footer:
    """What a Parquet file tells before its data is read.

    Parameters
    ----------
    families : the names of the columns, with what their values are: text, number, truth, any, or some other type.
    groups : its row groups in pieces of a good size.
    sizes : their bytes.
    """

    families: dict[str, str]
    groups: tuple[RowGroups, ...]
    sizes: tuple[int, ...]


def footer(file: BinaryIO, name: str, size: int, limits: Limits) -> Footer:
    """The columns and row groups of a Parquet file of so many bytes."""
    pa, parquet = loaded()
    with damage(name, pa):
        source = parquet_file(file, name, parquet)
        schema, metadata = source.schema_arrow, source.metadata
        groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
        rows, weights = [group.num_rows for group in groups], [max(group.total_byte_size, 1) for group in groups]
        if sum(rows) != metadata.num_rows or min(rows, default=0) < 0:
            raise ValueError(f"row groups of {sum(rows)} rows in a file of {metadata.num_rows}")
    check_unique(schema.names, name)
    if len(schema.names) > limits.columns:
        raise over(name, "columns", limits.columns, f"more than {limits.columns} columns")
    texts = tuple(own.name for own in schema if is_text(own.type, pa))
    runs = list(_runs(rows)) or [(0, 0)]
    before, bytes_before = [0, *accumulate(rows)], [0, *accumulate(weights)]
    ends = [size * bytes_before[stop] // bytes_before[-1] if weights else size for _, stop in runs]
    return Footer(
        {own.name: _family(own.type, pa) for own in schema},
        tuple(RowGroups(a, b, before[a], before[b] - before[a], texts, limits) for a, b in runs),
        tuple(end - start for start, end in zip([0, *ends], ends, strict=False)),
    )


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where to cut the row groups, so that each run has between the fewest and the most rows, or is one group.

    >>> list(_runs([600_000, 600_000, 5_000_000, 10]))
    [(0, 2), (2, 3), (3, 4)]
    """
    start = count = 0
    for at, some in enumerate(rows):
        if at > start and (count >= _FEWEST or count + some > _MOST):
            yield start, at
            start, count = at, 0
        count += some
    if start < len(rows):
        yield start, len(rows)


def _family(kind: Any, pa: ModuleType) -> str:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_integer(inner) or pa.types.is_floating(inner):
        return "number"
    tests = ((is_text(inner, pa), "text"), (pa.types.is_boolean(inner), "truth"), (pa.types.is_null(inner), "any"))
    return next((word for found, word in tests if found), str(kind))


def _leaves(schema: Any, pa: ModuleType) -> dict[str, int]:
    """Where each column begins among the columns as the file stores them, in which a nested one takes several."""
    found, at = {}, 0
    for own in schema:
        found[own.name] = at
        at += _width(own.type, pa)
    return found


def _width(kind: Any, pa: ModuleType) -> int:
    if not pa.types.is_nested(kind):
        return 1
    return sum(_width(kind.field(at).type, pa) for at in range(kind.num_fields))


def _batches(source: Any, groups: Iterable[int], leaves: list[int], rows: int, pa: ModuleType, name: str) -> Iterator[Any]:
    """The record batches; where one cannot be read, the error names the column."""
    wanted = list(groups)
    try:
        with damage(name, pa):
            yield from source.reader.iter_batches(rows, row_groups=wanted, column_indices=leaves, use_threads=True)
    except DataError:
        by_leaf = {at: column for column, at in _leaves(source.schema_arrow, pa).items()}
        for leaf in leaves:
            with damage(f"{name}: column {quoted(by_leaf[leaf])}", pa):
                for batch in source.reader.iter_batches(rows, row_groups=wanted, column_indices=[leaf], use_threads=False):
                    batch.validate()
        raise


def _regrouped(batches: Iterable[Any], rows: int, skip: int) -> Iterator[list[Any]]:
    """The batches after the first `skip` rows: small ones together, large ones cut, at most `rows` rows at a time."""
    held: list[Any] = []
    count = 0
    for batch in batches:
        whole = batch.slice(min(skip, batch.num_rows))
        skip -= min(skip, batch.num_rows)
        for at in range(0, whole.num_rows, rows):
            part = whole.slice(at, rows)
            if held and count + part.num_rows > rows:
                yield held
                held, count = [], 0
            held.append(part)
            count += part.num_rows
            if count == rows:  # at once, so that no more than two batches are alive
                yield held
                held, count = [], 0
    if held:
        yield held


def _converter(own: Any, name: str, pa: ModuleType, limits: Limits, *, declared: bool) -> Converter:
    place = f"{name}: column {quoted(own.name)}"
    check_type(own, place, pa)
    return Converter(own, place, pa, limits, declared=declared)


def _tables(groups: Iterable[list[Any]], makers: list[Converter], name: str, first: int) -> Iterator[Table]:
    places: list[int] = []
    for group in groups:
        places = places or [group[0].schema.get_field_index(maker.field.name) for maker in makers]
        columns = tuple(m.column([batch.column(at) for batch in group]) for m, at in zip(makers, places, strict=True))
        count = sum(batch.num_rows for batch in group)
        yield Table(columns, None, name, None, count, first)
        first += count


def arrow_tables(
    source: Any | Callable[[], Any], *, rows: int, only: Collection[str] | None = None, skip: int = 0, name: str = "data"
) -> Iterator[Table]:
    """The rows of Arrow data in tables of at most `rows` rows, with the columns that a Parquet file of it would give.

    Parameters
    ----------
    source : anything that offers an Arrow stream, as tables of pyarrow, polars, pandas and DuckDB do, or a function that
        returns such a thing.
    rows : the most rows of a table.
    only : the columns to take, by default all; they keep their order.
    skip : how many rows to leave out at the beginning.
    name : what messages call the data.
    """
    pa, _ = loaded()
    checked_count("rows", rows, 1)
    checked_count("skip", skip, 0)
    data = source if hasattr(source, "__arrow_c_stream__") or not callable(source) else source()
    if not hasattr(data, "__arrow_c_stream__"):
        raise DataTypeError(f"{name}: {quoted(type(data).__name__)} offers no Arrow stream; give a table or a reader of pyarrow")
    with damage(name, pa, "Arrow", "make it again"):
        reader = pa.RecordBatchReader.from_stream(data)
    try:
        index = _index(reader.schema)
        fields = {own.name: own for own in reader.schema if own.name not in index}
        check_unique([own for own in reader.schema.names if own not in index], name)
        makers = [_converter(fields[c], name, pa, Limits(), declared=True) for c in checked_only(only, tuple(fields), name)]
    except NaiveteError:
        reader.close()  # what lends the stream may not do anything else before
        raise
    return _tables(_regrouped(_streamed(reader, name, pa), rows, skip), makers, name, skip)


def _streamed(reader: Any, name: str, pa: ModuleType) -> Iterator[Any]:
    with damage(name, pa, "Arrow", "make it again"):
        yield from reader


def _index(schema: Any) -> frozenset[str]:
    """The columns in which pandas hides the labels of its rows."""
    try:
        told = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):
        return frozenset()
    return frozenset(own for own in told if isinstance(own, str) and own.startswith("__index_level_"))
