"""Reader of CSV and other delimited text: a header, then rows of equal length."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.opening import Limits, PathLike, TextBlock, display_name, open_file, over, text_blocks
from naivete.data.files.options import checked_kinds, kinds_given
from naivete.data.files.text_columns import Guess, KindError, bare
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
    are allowed at the end only. A column in which at least nine values in ten are numbers and the others keep it from being
    numeric is reported in a `NaiveteWarning`.

    Parameters
    ----------
    path : the file.
    encoding : the character encoding.
    delimiter : the character between the cells; by default a tab if the file is named .tsv or .tab, else the one of comma,
        semicolon, tab and bar that is most frequent in the header, outside quotes; the first of these on a tie.
    missing : the texts that stand for a missing value, with or without quotes; by default only the empty one.
    kinds : columns to be taken as "nominal" (every text is a state as it stands) or "numeric" (every text has to be a number).
    limits : sizes above which the file is refused.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("country,code,age\\nNA,01,31\\nDE,2,\\n")
    ...     [(column.name, list(column)) for column in read_csv(file).columns]
    [('country', ['NA', 'DE']), ('code', ['01', '2']), ('age', [31.0, None])]
    """
    name = display_name(path)
    with open_file(path) as file:
        mark = checked_delimiter(delimiter) or ("\t" if is_tabbed(path) else None)
        names, records = _begun(file, name, encoding, mark, limits)
        told = checked_kinds(kinds_given(kinds), names, name)
        chunk = _Chunk(name, [Guess(column, name, checked_missing(missing), told.get(column), limits) for column in names])
        for numbers, rows in records:
            chunk.add(rows, numbers)
            if chunk.count * len(names) > limits.cells:
                raise over(name, "cells", limits.cells, f"more than {limits.cells} cells")
    table = chunk.table()
    chunk.warn_if_mixed(table)
    return table


@dataclass(frozen=True)
class Delimited:
    """A reader of delimited files that returns some rows at a time.

    The kind of a column is needed before its last row: a column is numeric or nominal as given by `kinds`, else by `guessed`,
    from the first rows of the first file; a text in a column guessed to be numeric is a `KindError`.

    Parameters
    ----------
    encoding, delimiter, missing, kinds, limits : as in `read_csv`.
    guessed : the kinds of the other columns.
    """

    encoding: str = "utf-8"
    delimiter: str | None = None
    missing: Collection[str] = ("",)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    limits: Limits = Limits()  # noqa: RUF009
    guessed: Mapping[str, Kind] = field(default_factory=dict)

    def names(self, file: BinaryIO, name: str) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(_begun(file, name, self.encoding, self.delimiter, self.limits)[0])

    def guess(self, file: BinaryIO, name: str) -> Delimited | None:
        """Return the reader with kinds guessed from the first rows of this file; None if it has no rows."""
        names, records = _begun(file, name, self.encoding, self.delimiter, self.limits)
        columns = [Guess(column, name, self.missing, self.kinds.get(column), self.limits) for column in names]
        chunk = _Chunk(name, columns)
        numbers, rows = next((found for found in records if found[1]), ([], []))
        if not rows:
            return None
        chunk.add(rows, numbers)
        chunk.warn_if_mixed(chunk.table())
        return replace(self, guessed={guess.name: "numeric" if guess.numeric else "nominal" for guess in columns})

    def widened(self, columns: Collection[str]) -> Delimited:
        """Return the reader with these columns nominal."""
        return replace(self, guessed={**self.guessed, **dict.fromkeys(columns, "nominal")})

    def tables(self, file: BinaryIO, name: str, only: Sequence[str], rows: int, skip: int) -> Iterator[Table]:
        """The rows after the first `skip`, with these columns, in tables of `rows` rows and perhaps a shorter one at the end."""
        names, records = _begun(file, name, self.encoding, self.delimiter, self.limits)
        place = {column: at for at, column in enumerate(only)}
        done = skip
        chunk = self._chunk(name, names, place, done)
        for numbers, found in _after(records, skip):
            for at, some in _steps(len(found), rows, chunk.count):
                chunk.add(found[at : at + some], numbers[at : at + some])
                if chunk.count == rows:
                    yield self._checked(chunk)
                    done += rows
                    chunk = self._chunk(name, names, place, done)
        if chunk.count:
            yield self._checked(chunk)

    def _chunk(self, name: str, names: Sequence[str], place: Mapping[str, int], first: int) -> _Chunk:
        kinds = {**{column: None if kind == "numeric" else kind for column, kind in self.guessed.items()}, **self.kinds}
        columns = [Guess(c, name, self.missing, kinds.get(c), self.limits) if c in place else None for c in names]
        return _Chunk(name, columns, place, first)

    def _checked(self, chunk: _Chunk) -> Table:
        """The table, if every column that was guessed to be numeric is so far."""
        table = chunk.table()
        wrong = [guess for guess in chunk.guesses if not guess.numeric and guess.kind is None]
        if wrong:
            place, column, value = wrong[0].first_text(table)
            told = f"value {quoted(value)} is not a finite number, but the first rows made the column numeric"
            raise KindError(
                f"{place}: column {quoted(column)}: {told}; declare the column nominal, or numeric if the value is an error, "
                f"with `kinds=`",
                frozenset(guess.name for guess in wrong),
            )
        return table


def _begun(file: BinaryIO, name: str, encoding: str, delimiter: str | None, limits: Limits) -> tuple[list[str], Iterator[Records]]:
    """The names in the header, and the rows after it."""
    records = _Reader(name, delimiter, limits).records(text_blocks(file, name, encoding, limits))
    numbers, rows = next(records, ([], []))
    if not rows:
        raise DataError(f"{name}: no header: the file is empty; its first line has to name the columns")
    names = list(map(bare, rows[0]))
    if len(names) > limits.columns:
        raise over(f"{name}:{numbers[0]}", "columns", limits.columns, f"more than {limits.columns} columns")
    check_unique(names, f"{name}:{numbers[0]}")
    return names, chain([(numbers[1:], rows[1:])], records)


def _after(records: Iterator[Records], skip: int) -> Iterator[Records]:
    """The rows after the first `skip`."""
    for numbers, rows in records:
        if skip < len(rows):
            yield numbers[skip:], rows[skip:]
        skip = max(0, skip - len(rows))


def _steps(count: int, rows: int, had: int) -> Iterator[tuple[int, int]]:
    """Where to cut `count` rows, and how many to take, if tables have `rows` rows and the first one has some already.

    >>> list(_steps(7, 3, 1))
    [(0, 2), (2, 3), (5, 2)]
    """
    at = 0
    while at < count:
        some = min(rows - had, count - at)
        yield at, some
        at, had = at + some, 0


def is_tabbed(path: PathLike) -> bool:
    """Whether the name of the file says that tabs separate its cells.

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


class _Chunk:
    """Some rows of a file while they are read.

    Parameters
    ----------
    name : the file.
    columns : a column for each cell of a row, None where it is not asked for.
    place : where the columns stand in the table; as in the file by default.
    first : how many rows of the file come before these.
    """

    def __init__(self, name: str, columns: Sequence[Guess | None], place: Mapping[str, int] | None = None, first: int = 0) -> None:
        self.name, self.columns, self.first = name, columns, first
        asked = [column for column in columns if column is not None]
        self.guesses = asked if place is None else sorted(asked, key=lambda column: place[column.name])
        self.lines: list[NDArray[np.int64]] = []
        self.count = 0

    def add(self, rows: list[list[str]], numbers: Sequence[int]) -> None:
        """Append rows of raw cells with the lines on which they begin."""
        for at in range(0, len(rows), step := max(1, _CELLS_AT_ONCE // len(self.columns))):
            self._add(rows[at : at + step], numbers[at : at + step])
        self.lines.append(np.array(numbers, dtype=np.int64))
        self.count += len(rows)

    def _add(self, rows: list[list[str]], numbers: Sequence[int]) -> None:
        width = len(self.columns)
        if set(map(len, rows)) != {width}:
            found, line = next((len(row), line) for row, line in zip(rows, numbers, strict=True) if len(row) != width)
            raise DataError(
                f"{self.name}:{line}: the row has {found} cells, expected {width}; "
                "put a cell that holds the delimiter in double quotes, or pass `delimiter=`"
            )
        for column, raws in zip(self.columns, zip(*rows, strict=True), strict=True):
            if column is not None:
                column.add(raws, numbers)

    def table(self) -> Table:
        """The finished table."""
        lines = np.concatenate(self.lines) if self.lines else np.zeros(0, np.int64)
        return Table(tuple(guess.column() for guess in self.guesses), None, self.name, lines, self.count, self.first)

    def warn_if_mixed(self, table: Table) -> None:
        """Warn of columns that are nearly numeric."""
        for guess, column in zip(self.guesses, table.columns, strict=True):
            guess.warn_if_mixed(column, table.place)


class _Reader:
    """Splits lines into records of raw cells; a record with an open quote continues on the next line."""

    def __init__(self, name: str, delimiter: str | None, limits: Limits) -> None:
        self.name, self.delimiter, self.limits = name, delimiter, limits
        self.cells: list[str] = []
        self.open: list[str] = []  # the pieces of a cell whose quote is not closed yet
        self.length = 0  # of the record, while a quote is open
        self.started = self.opened = self.blank = 0  # lines: of the last record, of its open quote, of an empty line after it

    def records(self, stream: Iterator[TextBlock]) -> Iterator[Records]:
        """The rows, some at a time."""
        for block in stream:
            if self.delimiter is None and block.text.strip("\r\n"):
                self.delimiter = _sniffed(block.text)
            numbers, rows = self._scanned(block) if self.open or '"' in block.text else self._split(block)
            if rows:
                yield numbers, rows
        if self.open:
            raise DataError(f"{self.name}:{self.opened}: the quote opened here is never closed; {_QUOTES}")

    def _split(self, block: TextBlock) -> Records:
        """The records of a block without quotes."""
        texts = [line.rstrip("\r\n") for line in block.lines]
        numbers: Sequence[int] = range(block.first, block.first + len(texts))
        if self.blank or "" in texts:
            numbers = [number for number, text in zip(numbers, texts, strict=True) if self._filled(number, text)]
            texts = [text for text in texts if text]
        if texts:
            self.started = numbers[-1]
        return numbers, [text.split(self.delimiter) for text in texts]

    def _filled(self, number: int, text: str) -> bool:
        """Whether this line holds something; refuse one that does after an empty line, unless that stood before the header."""
        if not text:
            self.blank = self.blank or number
            return False
        if self.blank and self.started:
            raise DataError(f"{self.name}:{self.blank}: an empty line between the rows; remove it, or write all its cells")
        self.started, self.blank = number, 0
        return True

    def _scanned(self, block: TextBlock) -> Records:
        """The records that end in a block with quotes, or in which a quote is open."""
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
            self._cut(line, number)
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
            raise over(f"{self.name}:{self.opened}", "line", self.limits.line, problem)

    def _cut(self, line: str, number: int) -> None:
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
        self._piece(first, "", number)
        for piece in rest:
            self._piece(piece, self.delimiter or "", number)
        if self.open:
            self.open.append(line[len(body) :])

    def _piece(self, piece: str, before: str, number: int) -> None:
        odd = piece.count('"') % 2 == 1
        if self.open:
            self.open.append(before + piece)
            if odd:
                self._close("".join(self.open))
                self.open = []
        elif not piece.startswith('"'):
            self.cells.append(piece)
        elif odd:
            self.open, self.opened = [piece], number
        else:
            self.opened = number
            self._close(piece)

    def _close(self, raw: str) -> None:
        if raw[-1] != '"' or '"' in raw[1:-1].replace('""', ""):
            raise DataError(f"{self.name}:{self.opened}: text after a closing quote, in {quoted(raw)}; {_QUOTES}")
        self.cells.append(raw)


_QUOTES: Final = "close it before the delimiter, and double the quotes inside quotes"


def _sniffed(text: str) -> str:
    """The delimiter that is most frequent in the first line, outside quotes."""
    header = text.lstrip("\r\n").split("\n", 1)[0].split("\r", 1)[0]
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)
