"""Reader of CSV and other delimited text: a header, then rows of equal length."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.opening import Limits, PathLike, TextBlock, display_name, limit_error, open_file, text_blocks
from naivete.data.files.options import checked_kinds, kinds_given
from naivete.data.files.text_columns import DelimitedColumn, KindError, bare
from naivete.data.table import Kind, Table
from naivete.errors import DataError, ParameterError, quoted
from naivete.variables import check_unique

__all__ = ["Delimited", "checked_delimiter", "checked_missing", "is_tabbed", "read_csv"]

_DELIMITERS: Final = ",;\t|"
_CELLS_AT_ONCE: Final = 1 << 21

Records = tuple[Sequence[int], list[list[str]]]
"""Some rows of raw cells, quotes included, with the line on which each begins."""


def read_csv(
    path: PathLike,
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    missing: Collection[str] = ("",),
    kinds: Mapping[str, Kind] | None = None,
    limits: Limits = Limits(),  # noqa: B008
) -> Table:
    """Read the table of a delimited text file with a header, gzipped or not.

    A column is integers if every text in it is one (no leading zeros, at most 2 to the power of 53), else floating point
    numbers if every text is a finite decimal number, else nominal with its texts exactly as they stand: `01`, `NA`,
    `None` and `True` are texts. Quotes are double quotes, doubled inside quotes; a quoted text may span lines. Empty lines
    are allowed at the end only. A `MixedColumnWarning` names a column in which at least nine values in ten are numbers and the
    others keep it from being numeric; half of the values are enough if the others are usual signs of a missing value (`?`, `NA`).

    Parameters
    ----------
    path : str or path-like
        The file.
    encoding : str, default="utf-8"
        The character encoding.
    delimiter : str or None, default=None
        The character between the cells; by default a tab if the file is named .tsv or .tab, else the one of comma, semicolon, tab
        and bar that is most frequent in the header, outside quotes; the first of these on a tie.
    missing : collection of str, default=("",)
        The texts that stand for a missing value, with or without quotes; by default only the empty one.
    kinds : dict of {str: {"nominal", "numeric"}} or None, default=None
        Columns to be taken as "nominal" (every text is a state as it stands) or "numeric" (every text has to be a number).
    limits : Limits, default=Limits()
        Sizes above which the file is refused.

    Returns
    -------
    Table
        The columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from naivete.data.files.delimited import read_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("country,code,age\\nNA,01,31\\nDE,2,\\n")
    ...     [(column.name, list(column)) for column in read_csv(file).columns]
    [('country', ['NA', 'DE']), ('code', ['01', '2']), ('age', [31.0, None])]
    """
    name = display_name(path)
    with open_file(path) as file:
        mark = checked_delimiter(delimiter) or ("\t" if is_tabbed(path) else None)
        names, records = _header_and_rows(file, name, encoding, mark, limits)
        declared = checked_kinds(kinds_given(kinds), names, name)
        tokens = checked_missing(missing)
        buffer = _RowBuffer(name, [DelimitedColumn(column, name, tokens, declared.get(column), limits) for column in names])
        for lines, rows in records:
            buffer.add(rows, lines)
            if buffer.count * len(names) > limits.cells:
                raise limit_error(name, "cells", limits.cells, f"more than {limits.cells} cells")
    table = buffer.table()
    buffer.warn_if_mixed(table)
    return table


@dataclass(frozen=True)
class Delimited:
    """A reader of delimited files that returns some rows at a time.

    The kind of a column has to be known before its last row is read: it is taken from `kinds`, else from `guessed`. A text in a
    column that was guessed to be numeric raises a `KindError`.

    Parameters
    ----------
    encoding, delimiter, missing, kinds, limits : as in `read_csv`.
    guessed : the kinds of the other columns, guessed from the first rows of the first file.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    missing: Collection[str] = ("",)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    limits: Limits = Limits()  # noqa: RUF009
    guessed: Mapping[str, Kind] = field(default_factory=dict)

    def names(self, file: BinaryIO, name: str) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(_header_and_rows(file, name, self.encoding, self.delimiter, self.limits)[0])

    def guess(self, file: BinaryIO, name: str) -> Delimited | None:
        """Return the reader with kinds guessed from the first rows of this file; None if it has no rows."""
        names, records = _header_and_rows(file, name, self.encoding, self.delimiter, self.limits)
        columns = [DelimitedColumn(column, name, self.missing, self.kinds.get(column), self.limits) for column in names]
        lines, rows = next((some for some in records if some[1]), ([], []))
        if not rows:
            return None
        buffer = _RowBuffer(name, columns)
        buffer.add(rows, lines)
        buffer.warn_if_mixed(buffer.table())
        return replace(self, guessed={column.name: "numeric" if column.numeric else "nominal" for column in columns})

    def widened(self, columns: Collection[str]) -> Delimited:
        """Return the reader with these columns nominal."""
        return replace(self, guessed={**self.guessed, **dict.fromkeys(columns, "nominal")})

    def tables(self, file: BinaryIO, name: str, only: Sequence[str], rows: int, skip: int) -> Iterator[Table]:
        """Iterate over the rows after the first `skip`, with these columns, in tables of `rows` rows; the last may be shorter."""
        names, records = _header_and_rows(file, name, self.encoding, self.delimiter, self.limits)
        positions = {column: position for position, column in enumerate(only)}
        rows_before = skip
        buffer = self._buffer(name, names, positions, rows_before)
        for lines, raw_rows in _after(records, skip):
            for start, count in _steps(len(raw_rows), rows, buffer.count):
                buffer.add(raw_rows[start : start + count], lines[start : start + count])
                if buffer.count == rows:
                    yield self._checked(buffer)
                    rows_before += rows
                    buffer = self._buffer(name, names, positions, rows_before)
        if buffer.count:
            yield self._checked(buffer)

    def _buffer(self, name: str, names: Sequence[str], positions: Mapping[str, int], rows_before: int) -> _RowBuffer:
        kinds = {**{column: None if kind == "numeric" else kind for column, kind in self.guessed.items()}, **self.kinds}
        columns = [DelimitedColumn(c, name, self.missing, kinds.get(c), self.limits) if c in positions else None for c in names]
        return _RowBuffer(name, columns, positions, rows_before)

    def _checked(self, buffer: _RowBuffer) -> Table:
        """Return the table; refuse texts in columns that were guessed to be numeric."""
        table = buffer.table()
        wrong = [column for column in buffer.selected if not column.numeric and column.kind is None]
        if wrong:
            place, column, value = wrong[0].first_text(table)
            problem = f"value {quoted(value)} is not a finite number, but the column is numeric according to the first rows"
            raise KindError(
                f"{place}: column {quoted(column)}: {problem}; declare the column nominal, or numeric if the value is an error, "
                f"with `kinds=`",
                frozenset(column.name for column in wrong),
            )
        return table


def _header_and_rows(
    file: BinaryIO, name: str, encoding: str, delimiter: str | None, limits: Limits
) -> tuple[list[str], Iterator[Records]]:
    """Return the names in the header, and an iterator over the rows after it."""
    records = _Reader(name, delimiter, limits).records(text_blocks(file, name, encoding, limits))
    lines, rows = next(records, ([], []))
    if not rows:
        raise DataError(f"{name}: no header: the file is empty; its first line has to name the columns")
    names = list(map(bare, rows[0]))
    if len(names) > limits.columns:
        raise limit_error(f"{name}:{lines[0]}", "columns", limits.columns, f"more than {limits.columns} columns")
    check_unique(names, f"{name}:{lines[0]}")
    return names, chain([(lines[1:], rows[1:])], records)


def _after(records: Iterator[Records], skip: int) -> Iterator[Records]:
    """Iterate over the rows after the first `skip`."""
    for lines, rows in records:
        if skip < len(rows):
            yield lines[skip:], rows[skip:]
        skip = max(0, skip - len(rows))


def _steps(count: int, rows: int, buffered: int) -> Iterator[tuple[int, int]]:
    """Divide `count` rows into tables of `rows` rows, the first of which already has `buffered` rows.

    Yields the position of the first row of each part and the number of its rows.

    >>> list(_steps(7, 3, 1))
    [(0, 2), (2, 3), (5, 2)]
    """
    start = 0
    while start < count:
        size = min(rows - buffered, count - start)
        yield start, size
        start, buffered = start + size, 0


def is_tabbed(path: PathLike) -> bool:
    """Return whether the file is tab-separated according to the ending of its name.

    >>> is_tabbed("a.tsv.gz")
    True
    """
    return os.fsdecode(path).lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def checked_delimiter(delimiter: str | None) -> str | None:
    """Return the delimiter; refuse one that is not a single character."""
    if delimiter is None or (len(delimiter) == 1 and delimiter not in '"\r\n\0'):
        return delimiter
    raise ParameterError(f"`delimiter={quoted(delimiter)}` has to be one character, not a quote or a line end")


def checked_missing(missing: Collection[str]) -> Collection[str]:
    """Return the texts that stand for a missing value; refuse other values."""
    if isinstance(missing, str) or not all(isinstance(token, str) for token in missing):
        raise ParameterError(f"missing={quoted(missing)} has to be a collection of texts, such as ('', 'NA')")
    return missing


class _RowBuffer:
    """Rows of a file that become one table.

    Parameters
    ----------
    name : the name of the file in messages.
    columns : a column for each cell of a row, None for columns that are not selected.
    positions : the positions of the selected columns in the table; by default as in the file.
    rows_before : the number of rows of the file before these.
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[DelimitedColumn | None],
        positions: Mapping[str, int] | None = None,
        rows_before: int = 0,
    ) -> None:
        self.name, self.columns, self.rows_before = name, columns, rows_before
        selected = [column for column in columns if column is not None]
        self.selected = selected if positions is None else sorted(selected, key=lambda column: positions[column.name])
        self.lines: list[NDArray[np.int64]] = []
        self.count = 0

    def add(self, rows: list[list[str]], lines: Sequence[int]) -> None:
        """Append rows of raw cells with the lines on which they begin."""
        for start in range(0, len(rows), step := max(1, _CELLS_AT_ONCE // len(self.columns))):
            self._add(rows[start : start + step], lines[start : start + step])
        self.lines.append(np.array(lines, dtype=np.int64))
        self.count += len(rows)

    def _add(self, rows: list[list[str]], lines: Sequence[int]) -> None:
        width = len(self.columns)
        if set(map(len, rows)) != {width}:
            cells, line = next((len(row), line) for row, line in zip(rows, lines, strict=True) if len(row) != width)
            raise DataError(
                f"{self.name}:{line}: the row has {cells} cells, expected {width}; "
                "put a cell that holds the delimiter in double quotes, or pass `delimiter=`"
            )
        for column, raws in zip(self.columns, zip(*rows, strict=True), strict=True):
            if column is not None:
                column.add(raws, lines)

    def table(self) -> Table:
        """Return the table of all rows."""
        lines = np.concatenate(self.lines) if self.lines else np.zeros(0, np.int64)
        columns = tuple(column.column() for column in self.selected)
        return Table(columns, None, self.name, lines, self.count, self.rows_before)

    def warn_if_mixed(self, table: Table) -> None:
        """Warn of columns that are nearly numeric."""
        for selected, column in zip(self.selected, table.columns, strict=True):
            selected.warn_if_mixed(column, table.place)


class _Reader:
    """Splits lines into records of raw cells; a record with an open quote continues on the next line."""

    def __init__(self, name: str, delimiter: str | None, limits: Limits) -> None:
        self.name, self.delimiter, self.limits = name, delimiter, limits
        self.cells: list[str] = []
        self.open: list[str] = []  # the parts of a cell whose quote is not closed yet
        self.length = 0  # characters of the record, while a quote is open
        self.started = self.opened = self.blank = 0  # line numbers: of the last record, its open quote, an empty line after it

    def records(self, stream: Iterator[TextBlock]) -> Iterator[Records]:
        """Iterate over the rows, some at a time."""
        for block in stream:
            if self.delimiter is None and block.text.strip("\r\n"):
                self.delimiter = _sniffed(block.text)
            lines, rows = self._scanned(block) if self.open or '"' in block.text else self._split(block)
            if rows:
                yield lines, rows
        if self.open:
            raise DataError(f"{self.name}:{self.opened}: the quote opened here is never closed; {_QUOTES}")

    def _split(self, block: TextBlock) -> Records:
        """Return the records of a block without quotes."""
        texts = [line.rstrip("\r\n") for line in block.lines]
        numbers: Sequence[int] = range(block.first, block.first + len(texts))
        if self.blank or "" in texts:
            numbers = [number for number, text in zip(numbers, texts, strict=True) if self._filled(number, text)]
            texts = [text for text in texts if text]
        if texts:
            self.started = numbers[-1]
        return numbers, [text.split(self.delimiter) for text in texts]

    def _filled(self, number: int, text: str) -> bool:
        """Return whether this line is not empty; refuse a row after an empty line, unless that is before the header."""
        if not text:
            self.blank = self.blank or number
            return False
        if self.blank and self.started:
            raise DataError(f"{self.name}:{self.blank}: an empty line between the rows; remove it, or write all its cells")
        self.started, self.blank = number, 0
        return True

    def _scanned(self, block: TextBlock) -> Records:
        """Return the records that end in a block with quotes, or in which a quote is open."""
        if '"' not in block.text:
            self.open.append(block.text)
            self._check_length(block.text)
            return [], []
        numbers: list[int] = []
        rows: list[list[str]] = []
        for number, line in enumerate(block.lines, start=block.first):
            if not self.open:
                self.cells, self.length = [], 0
                if not self._filled(number, line.rstrip("\r\n")):
                    continue
            self._add_line(line, number)
            if self.open:
                self._check_length(line)
            else:
                numbers.append(self.started)
                rows.append(self.cells)
        return numbers, rows

    def _check_length(self, line: str) -> None:
        self.length += len(line)
        if self.length > self.limits.line:
            problem = f"the quote opened here is not closed within {self.limits.line} characters; {_QUOTES}"
            raise limit_error(f"{self.name}:{self.opened}", "line", self.limits.line, problem)

    def _add_line(self, line: str, number: int) -> None:
        """Add the cells of a line. A cell in quotes is complete when the number of its quotes is even."""
        if self.open and '"' not in line:
            self.open.append(line)
            return
        body = line.rstrip("\r\n")
        if not self.open and body[0] == '"' == body[-1]:
            texts = body[1:-1].split(f'"{self.delimiter}"')
            if body.count('"') == 2 * len(texts):  # every cell is in quotes and none has quotes inside
                self.cells = texts
                return
        first, *rest = body.split(self.delimiter)
        self._add_part(first, "", number)
        for part in rest:
            self._add_part(part, self.delimiter or "", number)
        if self.open:
            self.open.append(line[len(body) :])

    def _add_part(self, part: str, before: str, number: int) -> None:
        odd = part.count('"') % 2 == 1
        if self.open:
            self.open.append(before + part)
            if odd:
                self._close("".join(self.open))
                self.open = []
        elif not part.startswith('"'):
            self.cells.append(part)
        elif odd:
            self.open, self.opened = [part], number
        else:
            self.opened = number
            self._close(part)

    def _close(self, raw: str) -> None:
        if raw[-1] != '"' or '"' in raw[1:-1].replace('""', ""):
            raise DataError(f"{self.name}:{self.opened}: text after a closing quote, in {quoted(raw)}; {_QUOTES}")
        self.cells.append(raw)


_QUOTES: Final = "close it before the delimiter, and double the quotes inside quotes"


def _sniffed(text: str) -> str:
    """Return the delimiter that is most frequent in the first line, outside quotes."""
    header = text.lstrip("\r\n").split("\n", 1)[0].split("\r", 1)[0]
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)
