"""Writers of tables as ARFF or delimited text; values that a format cannot represent are refused."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from naivete.data.files.arff_tokens import arff_quoted
from naivete.data.files.delimited import checked_delimiter, is_tabbed
from naivete.data.files.opening import PathLike, display_name
from naivete.data.table import Column, Table
from naivete.errors import DataError, DataTypeError, quoted
from naivete.storage.atomic import atomic_write
from naivete.variables import Name, State, check_unique

__all__ = ["csv_rows", "write_arff", "write_csv", "write_csv_rows"]

_ROWS: Final = 8192
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r")
_WIDEST: Final = 2**53


def write_arff(
    table: Table, path: PathLike, *, relation: str | None = None, as_text: bool = False, overwrite: bool = False
) -> None:
    """Write the table as ARFF, gzipped if the file name ends in .gz; `read_arff` returns the same columns and weights.

    Columns with declared states become nominal attributes, other nominal columns string attributes, numbers numeric attributes.

    Parameters
    ----------
    table : Table
        The table; its names and nominal values have to be texts.
    path : str or path-like
        The file; it is written completely or not at all.
    relation : str or None, default=None
        The name of the relation, by default the name of the file.
    as_text : bool, default=False
        Whether names and nominal values that are not texts are converted to texts.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    """
    file = display_name(path)
    names = _names(table, file, as_text)
    states = [_written_states(column, file, as_text, arff_quoted) for column in table.columns]
    types = [_type(column, texts) for column, texts in zip(table.columns, states, strict=True)]
    header = [f"@relation {arff_quoted(_text(relation or _stem(path), f'{file}: the relation'))}", ""]
    header += [f"@attribute {arff_quoted(name)} {type_}" for name, type_ in zip(names, types, strict=True)]
    weights = _weights(table, file)

    def blocks() -> Iterator[str]:
        yield "\n".join([*header, "", "@data", ""])
        for start in range(0, len(table), _ROWS):
            columns = [_cells(c, texts, start, "?") for c, texts in zip(table.columns, states, strict=True)]
            ends = weights[start : start + _ROWS] or [""] * len(columns[0])
            yield "".join(f"{','.join(row)}{end}\n" for row, end in zip(zip(*columns, strict=True), ends, strict=True))

    if not table.columns:
        raise DataError(f"{file}: an ARFF file needs at least one column; add one")
    atomic_write(Path(path), _encoded(blocks(), file), overwrite=overwrite)


def write_csv(
    table: Table,
    path: PathLike,
    *,
    delimiter: str | None = None,
    missing: str = "",
    spreadsheet_safe: bool = False,
    as_text: bool = False,
    overwrite: bool = False,
) -> None:
    """Write the table as delimited text with a header, gzipped if the file name ends in .gz.

    A delimited file does not declare which columns are nominal: `read_csv` returns the same values, except that nominal texts that
    look like numbers need `kinds=`. Weights cannot be written.

    Parameters
    ----------
    table : Table
        The table; its names and nominal values have to be texts.
    path : str or path-like
        The file; it is written completely or not at all.
    delimiter : str or None, default=None
        The character between the cells; by default a tab in files named .tsv or .tab, a comma in others.
    missing : str, default=""
        The text that stands for a missing value; no value may be equal to it.
    spreadsheet_safe : bool, default=False
        Whether to put an apostrophe before texts that a spreadsheet would read as a formula (those that begin with = + - @ or a
        tab); it is not removed when the file is read again.
    as_text : bool, default=False
        Whether names and nominal values that are not texts are converted to texts.
    overwrite : bool, default=False
        Whether an existing file may be replaced.
    """
    write_csv_rows(
        [table],
        path,
        delimiter=delimiter,
        missing=missing,
        spreadsheet_safe=spreadsheet_safe,
        as_text=as_text,
        overwrite=overwrite,
    )


def write_csv_rows(
    tables: Iterable[Table],
    path: PathLike,
    *,
    delimiter: str | None = None,
    missing: str = "",
    spreadsheet_safe: bool = False,
    as_text: bool = False,
    overwrite: bool = False,
) -> None:
    """Write tables of the same columns one below the other; only one of them at a time is in memory.

    Parameters
    ----------
    tables : at least one table; their nominal columns may have different states.
    path, delimiter, missing, spreadsheet_safe, as_text, overwrite : as in `write_csv`.
    """
    rows = csv_rows(
        tables,
        display_name(path),
        delimiter=checked_delimiter(delimiter) or ("\t" if is_tabbed(path) else ","),
        missing=missing,
        spreadsheet_safe=spreadsheet_safe,
        as_text=as_text,
    )
    atomic_write(Path(path), _encoded(rows, display_name(path)), overwrite=overwrite)


def csv_rows(
    tables: Iterable[Table], name: str, *, delimiter: str = ",", missing: str = "", spreadsheet_safe: bool = False, as_text: bool
) -> Iterator[str]:
    """Iterate over the header and the rows of tables of the same columns as delimited text, some rows at a time.

    Parameters
    ----------
    tables, delimiter, missing, spreadsheet_safe, as_text : as in `write_csv_rows`.
    name : the name of the output in error messages.
    """
    safe = _safe if spreadsheet_safe else _same
    return _DelimitedRows(name, delimiter, _text(missing, f"{name}: missing"), safe, as_text).written(tables)


class _DelimitedRows:
    """The text of a delimited file, some rows at a time."""

    def __init__(self, file: str, mark: str, missing: str, safe: Callable[[str], str], as_text: bool) -> None:
        self.file, self.mark, self.missing, self.safe, self.as_text = file, mark, missing, safe, as_text
        self.names: list[str] | None = None

    def written(self, tables: Iterable[Table]) -> Iterator[str]:
        """Iterate over the header and the rows."""
        for table in tables:
            yield from self._header(table)
            states = [_written_states(column, self.file, self.as_text, self._value) for column in table.columns]
            missing = self._cell(self.missing)
            for start in range(0, len(table), _ROWS):
                columns = [_cells(c, texts, start, missing) for c, texts in zip(table.columns, states, strict=True)]
                yield "".join(f"{self.mark.join(row)}\n" for row in zip(*columns, strict=True))
        if self.names is None:
            raise DataError(f"{self.file}: there is no table to write, so the columns are not known; write at least one")

    def _header(self, table: Table) -> Iterator[str]:
        """Yield the header before the first table; refuse a table with weights, without columns or with other columns."""
        if table.weight is not None:
            raise DataError(f"{self.file}: a delimited file cannot hold the weights of the rows; write ARFF")
        if not table.columns:
            raise DataError(f"{self.file}: a delimited file needs at least one column; add one")
        names = _names(table, self.file, self.as_text)
        if self.names is None:
            self.names = names
            yield f"{self.mark.join(map(self._cell, names))}\n"
        elif names != self.names:
            raise DataError(f"{self.file}: a later table has the columns {quoted(names)}, the first {quoted(self.names)}")

    def _cell(self, text: str) -> str:
        text = self.safe(text)
        alone = self.names is not None and len(self.names) == 1
        special = any(char in text for char in (self.mark, '"', "\n", "\r")) or (alone and not text)
        return f'"{text.replace(chr(34), chr(34) * 2)}"' if special or text.startswith("\ufeff") else text

    def _value(self, text: str) -> str:
        if text == self.missing:
            raise DataError(f"{self.file}: the value {quoted(text)} is the text for missing values; pass another `missing=`")
        return self._cell(text)


def _stem(path: PathLike) -> str:
    return Path(Path(path).name.removesuffix(".gz")).stem


def _same(text: str) -> str:
    return text


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(_RISKY) else text


def _names(table: Table, file: str, as_text: bool) -> list[str]:
    names = [_plain(name, f"{file}: the name {quoted(name)}", as_text) for name in table.names]
    check_unique(names, file)
    return names


def _written_states(column: Column, file: str, as_text: bool, written: Callable[[str], str]) -> list[str] | None:
    """Return the states of a column as they are written; None for a numeric column."""
    place = f"{file}: column {quoted(column.name)}"
    if column.states is not None:
        return [written(_plain(state, f"{place}: the value {quoted(state)}", as_text)) for state in column.states]
    if column.values.dtype.kind == "b":
        return [written(_plain(state, f"{place}: the value {state}", as_text)) for state in (False, True)]
    _check_numbers(column, place)
    return None


def _plain(value: Name | State, place: str, as_text: bool) -> str:
    if not isinstance(value, str) and not as_text:
        raise DataTypeError(f"{place} is not a text but would be read as one; write Parquet, or pass `as_text=True`")
    return _text(str(value), place)


def _text(text: str, place: str) -> str:
    if "\0" in text or not _is_unicode(text):
        raise DataError(f"{place} has characters that a text file cannot contain; change it")
    return text


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_numbers(column: Column, place: str) -> None:
    values = column.values
    if values.dtype.kind not in "iuf":
        raise DataTypeError(f"{place} holds values of type {values.dtype}; make them numbers or texts")
    if np.isinf(values).any():
        raise DataError(f"{place}, row {int(np.isinf(values).argmax()) + 1}: an infinite value; make it missing or finite")
    if values.dtype.kind in "iu" and len(values) and (int(values.max()) > _WIDEST or int(values.min()) < -_WIDEST):
        raise DataError(f"{place} has integers beyond 2 to the power of 53, which would not be read exactly; make them texts")


def _type(column: Column, states: list[str] | None) -> str:
    if states is None:
        return "numeric"
    return f"{{{','.join(states)}}}" if column.declared or column.states is None else "string"


def _cells(column: Column, states: list[str] | None, start: int, missing: str) -> Sequence[str]:
    values: list[Any] = column.values[start : start + _ROWS].tolist()
    if states is None:
        return [missing if value != value else _shortest(value) for value in values]
    texts = [*states, missing]  # a missing value has the code -1
    return [texts[value] for value in values]


def _shortest(value: float) -> str:
    """Return a number as text that reads back exactly; whole numbers have no decimal point."""
    return repr(value).removesuffix(".0")


def _weights(table: Table, file: str) -> list[str]:
    if table.weight is None:
        return []
    weights = table.weight.tolist()
    if not all(0 <= weight < math.inf for weight in weights):
        raise DataError(f"{file}: the weights have to be finite numbers from 0 up; correct them")
    return [f", {{{_shortest(weight)}}}" for weight in weights]


def _encoded(blocks: Iterator[str], file: str) -> Iterator[bytes]:
    if not file.lower().endswith(".gz"):
        yield from (block.encode() for block in blocks)
        return
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=0) as stream:
        for block in blocks:
            stream.write(block.encode())
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()
