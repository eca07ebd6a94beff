"""Reader of ARFF, the format of Weka, including quotes, escapes, comments, sparse rows, weights and dates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.arff_columns import OMITTED, ArffColumn, DateColumn, NominalColumn, NumericColumn, StringColumn, java_number
from naivete.data.files.arff_tokens import BLANKS, Malformed, tokens, unquoted
from naivete.data.files.dates import ISO, date_reader
from naivete.data.files.opening import Limits, PathLike, TextBlock, display_name, limit_error, open_file, text_blocks
from naivete.data.table import Kind, Table
from naivete.errors import DataError, quoted
from naivete.variables import check_unique

__all__ = ["Arff", "read_arff"]

_CELLS_AT_ONCE: Final = 1 << 21
_NUMERIC: Final = ("numeric", "real", "integer")


def read_arff(path: PathLike, *, encoding: str = "utf-8", widen: bool = False, limits: Limits = Limits()) -> Table:  # noqa: B008
    """Read the table of an ARFF file, gzipped or not.

    Nominal attributes become nominal columns with their declared states; numeric and date attributes become numbers (a date:
    the milliseconds since 1970 in UTC); string attributes become nominal columns without declared states. Only a question mark
    without quotes is missing. A value that a sparse row leaves out is the first declared value, or zero. A number in braces at
    the end of a row is its weight.

    Some input that Weka accepts is refused, because it would move values to other columns or drop them: two commas without a
    value between them, a quote in the middle of a value, and one value too many at the end of a row. Nan and infinity in a
    numeric column and a quoted @data are refused too.

    Parameters
    ----------
    path : str or path-like
        The file.
    encoding : str, default="utf-8"
        The character encoding.
    widen : bool, default=False
        Whether a nominal value that the header does not declare is added to the declaration instead of refused.
    limits : Limits, default=Limits()
        Sizes above which the file is refused.

    Returns
    -------
    Table
        The columns and weights.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from naivete.data.files.arff import read_arff
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "weather.arff")
    ...     _ = file.write_text("@relation r\\n@attribute sky {sun,'light rain'}\\n@attribute t real\\n@data\\n'light rain',?\\n")
    ...     [(column.name, list(column)) for column in read_arff(file).columns]
    [('sky', ['light rain']), ('t', [None])]
    """
    name = display_name(path)
    with open_file(path) as file:
        columns, stream = Arff(encoding, widen, limits).header_and_rows(file, name)
        rows = _Rows(name, columns, limits)
        for block in stream:
            rows.add(block.first, block.lines)
    return rows.table()


@dataclass(frozen=True)
class Arff:
    """A reader of ARFF files that returns some rows at a time.

    Parameters
    ----------
    encoding, widen, limits : as in `read_arff`.
    """

    encoding: str = "utf-8"
    widen: bool = False
    limits: Limits = Limits()  # noqa: RUF009

    def header_and_rows(self, file: BinaryIO, name: str) -> tuple[list[ArffColumn], Iterator[TextBlock]]:
        """Return the columns that the header declares, and the text after it."""
        stream = text_blocks(file, name, self.encoding, self.limits)
        header = _Header(name, self.widen, self.limits)
        columns = header.read(stream)
        return columns, chain([header.rest] if header.rest.lines else [], stream)

    def kinds(self, file: BinaryIO, name: str) -> dict[str, Kind]:
        """Return the kinds of the columns by name."""
        return {
            column.name: "nominal" if isinstance(column, NominalColumn) else "numeric"
            for column in self.header_and_rows(file, name)[0]
        }

    def tables(self, file: BinaryIO, name: str, only: Sequence[str], rows: int, skip: int) -> Iterator[Table]:
        """Iterate over the rows after the first `skip`, with these columns, in tables of `rows` rows; the last may be shorter."""
        columns, stream = self.header_and_rows(file, name)
        chunk = _Rows(name, [column.fresh() for column in columns], self.limits, skip)
        for number, lines in _after(stream, skip):
            start = 0
            while start < len(lines):
                step = rows - chunk.count
                chunk.add(number + start, lines[start : start + step])
                start += step
                if chunk.count == rows:
                    yield chunk.table()[list(only)]
                    chunk = _Rows(name, [column.fresh() for column in columns], self.limits, chunk.first + rows)
        if chunk.count:
            yield chunk.table()[list(only)]


def _after(stream: Iterator[TextBlock], skip: int) -> Iterator[tuple[int, list[str]]]:
    """Iterate over the lines after the first `skip` rows, with the number of the first line."""
    for block in stream:
        start = 0
        while skip and start < len(block.lines):
            skip -= block.lines[start].strip(BLANKS)[:1] not in ("", "%")
            start += 1
        yield block.first + start, block.lines[start:]


class _Header:
    """Reads the lines up to `@data`; each attribute is a column."""

    def __init__(self, name: str, widen: bool, limits: Limits) -> None:
        self.name, self.widen, self.limits = name, widen, limits
        self.columns: list[ArffColumn] = []
        self.names: list[str] = []
        self.related = False
        self.line = 0
        self.rest = TextBlock(0, "")

    def read(self, stream: Iterator[TextBlock]) -> list[ArffColumn]:
        """Return the columns that the header declares; the text after it in its last block is kept in `rest`."""
        for block in stream:
            for position, line in enumerate(block.lines):
                self.line = block.first + position
                words = [word for word in _words(line, f"{self.name}:{self.line}") if word != ","]
                if words and self._take(words):
                    after = line[line.lower().index("@data") + len("@data") :]
                    self.rest = TextBlock(self.line, "".join([after, *block.lines[position + 1 :]]))
                    return self.columns
        raise DataError(f"{self.name}: no header: {self._absent()}; an ARFF file has @relation, @attribute and @data lines")

    def _absent(self) -> str:
        if not self.line:
            return "the file is empty"
        return "there is no @data line" if self.related else "there is no @relation line"

    def _take(self, words: list[str]) -> bool:
        """Process a line, and return whether it is the last one of the header."""
        keyword = unquoted(words[0]).lower()
        if not self.related:
            self._relation(keyword, words)
        elif keyword == "@attribute":
            self._attribute(words)
        elif keyword == "@data":
            if words[0].lower() != keyword:
                raise self._error("@data is in quotes; write it without them")
            if not self.columns:
                raise self._error("no header: @data before any @attribute; declare the columns first")
            check_unique(self.names, self.name)
            return True
        else:
            raise self._error(f"expected @attribute or @data, found {quoted(words[0])}")
        return False

    def _relation(self, keyword: str, words: list[str]) -> None:
        if keyword != "@relation":
            raise self._error(
                f"no header: expected @relation, found {quoted(words[0])}; begin the file with a line `@relation name`"
            )
        if len(words) != 2:
            raise self._error(f"@relation takes one name, found {len(words) - 1} words; put the name in quotes")
        self.related = True

    def _attribute(self, words: list[str]) -> None:
        if len(words) < 3 or words[1] in "{}":
            raise self._error("@attribute needs a name and a type; a name with blanks stands in quotes")
        if len(self.columns) >= self.limits.columns:
            raise limit_error(
                f"{self.name}:{self.line}", "columns", self.limits.columns, f"more than {self.limits.columns} columns"
            )
        name = unquoted(words[1])
        self.names.append(name)
        self.columns.append(self._column(name, words[2:]))

    def _column(self, name: str, words: list[str]) -> ArffColumn:
        kind = unquoted(words[0]).lower()
        if kind == "{":
            return NominalColumn(name, self.name, self._states(name, words), widen=self.widen, limits=self.limits)
        if kind in _NUMERIC:
            return NumericColumn(name, self.name)
        if kind == "string":
            return StringColumn(name, self.name, limits=self.limits)
        if kind == "date":
            return DateColumn(name, self.name, self._dates(name, words[1:]))
        problem = f"no type {quoted(words[0])}; use numeric, string, date or the values in braces"
        if kind == "relational":
            problem = f"relational attributes are not supported (line {self.line}); flatten the table first"
        raise self._error(f"column {quoted(name)}: {problem}")

    def _states(self, name: str, words: list[str]) -> list[str]:
        inner = words[1:-1]
        if words[-1] != "}" or "}" in inner or "{" in inner:
            raise self._error(f"column {quoted(name)}: the list of values is not one pair of braces, closed at the end of the line")
        if len(inner) > self.limits.states:
            raise limit_error(
                f"{self.name}:{self.line}", "states", self.limits.states, f"more than {self.limits.states} declared values"
            )
        states = list(map(unquoted, inner))
        if len(set(states)) < len(states):
            twice = next(state for state, count in Counter(states).items() if count > 1)
            raise self._error(f"column {quoted(name)}: value {quoted(twice)} is declared twice; remove one")
        return states

    def _dates(self, name: str, words: list[str]) -> Callable[[str], float]:
        if len(words) > 1:
            raise self._error(f"column {quoted(name)}: a date takes one pattern; put it in quotes")
        pattern = unquoted(words[0]) if words else ISO
        try:
            return date_reader(pattern)
        except ValueError as error:
            problem = f"column {quoted(name)}: the date pattern {quoted(pattern)} {error}; declare the column as string"
            raise self._error(problem) from error

    def _error(self, problem: str) -> DataError:
        return DataError(f"{self.name}:{self.line}: {problem}")


class _Rows:
    """Reads the rows after `@data`."""

    def __init__(self, name: str, columns: Sequence[ArffColumn], limits: Limits, first: int = 0) -> None:
        self.name, self.columns, self.limits, self.first = name, columns, limits, first
        self.width = len(columns)
        self.count = 0
        self.lines: list[NDArray[np.int64]] = []
        self.weights: dict[int, float] = {}

    def add(self, number: int, lines: list[str]) -> None:
        """Append the rows of some lines: split at the commas, or token by token if that is not enough."""
        step = max(1, _CELLS_AT_ONCE // self.width)
        for start in range(0, len(lines), step):
            some = lines[start : start + step]
            if not self._add_split(number + start, some):
                self._add_words(number + start, some)

    def _add_split(self, first: int, lines: list[str]) -> bool:
        """Append the rows if every cell between commas is one word, in which case the tokens would be the same."""
        numbers = [number for number, line in enumerate(lines, start=first) if line.strip(BLANKS)]
        rows = [line.split(",") for line in lines if line.strip(BLANKS)]
        return not rows or (set(map(len, rows)) == {self.width} and self._append(rows, numbers))

    def _add_words(self, first: int, lines: list[str]) -> None:
        rows: list[list[str]] = []
        numbers: list[int] = []
        for number, line in enumerate(lines, start=first):
            place = f"{self.name}:{number}"
            words = _words(line, place)
            if words:
                row, weight = self._row(words, place)
                if weight is not None:
                    self.weights[self.count + len(rows)] = weight
                rows.append(row)
                numbers.append(number)
        if rows:
            self._append(rows, numbers)

    def _append(self, rows: list[list[str]], numbers: Sequence[int]) -> bool:
        """Append rows of words; return False and append nothing if some cell is not one word."""
        columns = list(zip(*rows, strict=True))
        converted = []
        for column, raws in zip(self.columns, columns, strict=True):
            values = column.convert(raws)
            if values is None:
                return False
            converted.append(values)
        self._count(len(rows), numbers)
        for column, raws, values in zip(self.columns, columns, converted, strict=True):
            column.add(raws, values, numbers)
        return True

    def _count(self, rows: int, numbers: Sequence[int]) -> None:
        self.count += rows
        self.lines.append(np.array(numbers, dtype=np.int64))
        if self.count * self.width > self.limits.cells:
            raise limit_error(f"{self.name}:{numbers[-1]}", "cells", self.limits.cells, f"more than {self.limits.cells} cells")

    def _row(self, words: list[str], place: str) -> tuple[list[str], float | None]:
        words, weight = _without_weight(words, place)
        row = self._sparse(words, place) if words[:1] == ["{"] else self._dense(words, place)
        return row, weight

    def _dense(self, words: list[str], place: str) -> list[str]:
        if words[:1] == [","] or any(a == b == "," for a, b in pairwise(words)):
            raise DataError(f"{place}: an empty cell; write ? for a missing value, '' for an empty text")
        row = [word for word in words if word != ","]
        if "{" in row or "}" in row:
            raise DataError(f"{place}: a brace inside a row; put a value with braces in quotes")
        if len(row) != self.width:
            raise DataError(
                f"{place}: the row has {len(row)} values, expected {self.width}; put a value with blanks or commas in quotes"
            )
        return row

    def _sparse(self, words: list[str], place: str) -> list[str]:
        """Return the row `{2 x, 5 y}` in full."""
        inner = [word for word in words[1:-1] if word != ","]
        if words[-1] != "}" or "{" in inner or "}" in inner or len(inner) % 2:
            raise DataError(f"{place}: a sparse row is pairs of a position and a value in braces, as {{1 x, 3 y}}")
        row = [OMITTED] * self.width
        last = -1
        for position, value in zip(inner[::2], inner[1::2], strict=True):
            column = self._position(position, place)
            if column <= last:
                raise DataError(f"{place}: position {column} comes after {last}; the positions of a sparse row have to increase")
            row[column], last = value, column
        return row

    def _position(self, word: str, place: str) -> int:
        if not (word.isascii() and word.isdigit() and len(word) <= 9 and int(word) < self.width):
            raise DataError(f"{place}: {quoted(word)} is not the position of a column, 0 to {self.width - 1}")
        return int(word)

    def table(self) -> Table:
        """Return the finished table."""
        weight = None
        if self.weights:
            weight = np.ones(self.count)
            weight[list(self.weights)] = list(self.weights.values())
        lines = np.concatenate(self.lines) if self.lines else np.zeros(0, np.int64)
        return Table(tuple(column.column() for column in self.columns), weight, self.name, lines, self.count, self.first)


def _words(line: str, place: str) -> list[str]:
    try:
        return tokens(line)
    except Malformed as error:
        raise DataError(f"{place}: {error}") from error


def _without_weight(words: list[str], place: str) -> tuple[list[str], float | None]:
    """Return the words of the row without its weight, and the weight that follows them in braces."""
    if words[-1] == ",":
        words = words[:-1]  # Weka accepts a comma at the end of a row
    if len(words) < 4 or words[-1] != "}" or words[-3] != "{":
        return words, None
    try:
        weight = java_number(unquoted(words[-2]))
    except ValueError:
        weight = math.nan
    if not weight >= 0:
        raise DataError(f"{place}: the weight {quoted(words[-2])} is not a number, at least 0; correct it")
    rest = words[:-3]
    return (rest[:-1] if rest[-1] == "," else rest), weight
