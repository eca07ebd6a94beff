"""CSV and its relatives: a header, then rows of equal length; text is kept as it stands, nothing is guessed cell by cell."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, ParameterError, nearest, shown
from naivete.files.guesses import Guess, bare
from naivete.files.opening import Block, Limits, PathLike, blocks, opened, over, title
from naivete.table import Kind, Table
from naivete.variables import check_unique

__all__ = ["checked_delimiter", "is_tabbed", "read_csv"]

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
    """The table of a delimited text file with a header, gzipped or not.

    A column is integers if every text in it is one (no leading zeros, at most 2 to the power of 53), else floating point
    numbers if every text is a finite decimal number, else nominal with its texts exactly as they stand: `01`, `NA`,
    `None` and `True` are texts. Quotes are double quotes, doubled inside quotes; a quoted text may span lines. Empty lines
    are allowed at the end only. A column in which at least nine values in ten are numbers and the others keep it from being
    numeric is told in a `NaiveteWarning`.

    Parameters
    ----------
    path : the file.
    encoding : how its characters are written.
    delimiter : what separates the cells; by default a tab if the file is named .tsv or .tab, else whichever of comma, semicolon,
        tab and bar is most frequent in the header, outside quotes; the first of these on a tie.
    missing : the texts that stand for a missing value, with or without quotes; by default only the empty one.
    kinds : columns to be taken as "nominal" (every text is a state as it stands) or "numeric" (every text has to be a number).
    limits : how much is too much.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "people.csv")
    ...     _ = file.write_text("country,code,age\\nNA,01,31\\nDE,2,\\n")
    ...     [(column.name, list(column)) for column in read_csv(file).columns]
    [('country', ['NA', 'DE']), ('code', ['01', '2']), ('age', [31.0, None])]
    """
    name = title(path)
    with opened(path) as file:
        stream = blocks(file, name, encoding, limits)
        reader = _Reader(name, checked_delimiter(delimiter) or ("\t" if is_tabbed(path) else None), limits)
        columns: list[Guess] = []
        lines: list[NDArray[np.int64]] = []
        count = 0
        for numbers, rows in reader.records(stream):
            if not columns:
                columns = _columns(name, numbers[0], rows.pop(0), _tokens(missing), kinds or {}, limits)
                numbers = numbers[1:]
            for at in range(0, len(rows), step := max(1, _CELLS_AT_ONCE // len(columns))):
                _add(columns, rows[at : at + step], numbers[at : at + step], name)
            lines.append(np.array(numbers, dtype=np.int64))
            count += len(numbers)
            if count * len(columns) > limits.cells:
                raise over(name, "cells", limits.cells, f"more than {limits.cells} cells")
    if not columns:
        raise DataError(f"{name}: no header: the file is empty; its first line has to name the columns")
    table = Table(tuple(column.column() for column in columns), None, name, np.concatenate(lines), count)
    for guess, column in zip(columns, table.columns, strict=True):
        guess.warn_if_mixed(column, table.place)
    return table


def is_tabbed(path: PathLike) -> bool:
    """Whether the name of the file says that tabs separate its cells.

    >>> is_tabbed("a.tsv.gz")
    True
    """
    return os.fsdecode(path).lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def checked_delimiter(delimiter: str | None) -> str | None:
    """The delimiter, if it can be one."""
    if delimiter is None or (len(delimiter) == 1 and delimiter not in '"\r\n\0'):
        return delimiter
    raise ParameterError(f"delimiter={shown(delimiter)} has to be one character, not a quote or a line end")


def _tokens(missing: Collection[str]) -> Collection[str]:
    if isinstance(missing, str) or not all(isinstance(token, str) for token in missing):
        raise ParameterError(f"missing={shown(missing)} has to be a collection of texts, such as ('', 'NA')")
    return missing


def _columns(
    name: str, line: int, header: list[str], missing: Collection[str], kinds: Mapping[str, Kind], limits: Limits
) -> list[Guess]:
    names = list(map(bare, header))
    if len(names) > limits.columns:
        raise over(f"{name}:{line}", "columns", limits.columns, f"more than {limits.columns} columns")
    check_unique(names, f"{name}:{line}")
    for column, kind in kinds.items():
        if column not in names:
            close = nearest(column, names) or names[:20]
            raise ParameterError(f"kinds: {name} has no column {shown(column)}; did you mean one of {shown(close)}?")
        if kind not in ("nominal", "numeric"):
            raise ParameterError(f"kinds: column {shown(column)} is 'nominal' or 'numeric', not {shown(kind)}")
    return [Guess(column, name, missing, kinds.get(column), limits) for column in names]


def _add(columns: list[Guess], rows: list[list[str]], numbers: Sequence[int], name: str) -> None:
    if set(map(len, rows)) != {len(columns)}:
        found, line = next((len(row), line) for row, line in zip(rows, numbers, strict=True) if len(row) != len(columns))
        raise DataError(
            f"{name}:{line}: the row has {found} cells, expected {len(columns)}; "
            "put a cell that holds the delimiter in double quotes, or pass delimiter=... (--delimiter ...)"
        )
    for column, raws in zip(columns, zip(*rows, strict=True), strict=True):
        column.add(raws, numbers)


class _Reader:
    """Cuts lines into records of raw cells; a record with an open quote goes on in the next line."""

    def __init__(self, name: str, delimiter: str | None, limits: Limits) -> None:
        self.name, self.delimiter, self.limits = name, delimiter, limits
        self.cells: list[str] = []
        self.open: list[str] = []  # the pieces of a cell whose quote is not closed yet
        self.length = 0  # of the record, while a quote is open
        self.started = self.opened = self.blank = 0  # lines: of the last record, of its open quote, of an empty line after it

    def records(self, stream: Iterator[Block]) -> Iterator[Records]:
        """The rows, some at a time."""
        for block in stream:
            if self.delimiter is None and block.text.strip("\r\n"):
                self.delimiter = _sniffed(block.text)
            numbers, rows = self._scanned(block) if self.open or '"' in block.text else self._split(block)
            if rows:
                yield numbers, rows
        if self.open:
            raise DataError(f"{self.name}:{self.opened}: the quote opened here is never closed; {_QUOTES}")

    def _split(self, block: Block) -> Records:
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

    def _scanned(self, block: Block) -> Records:
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
            raise DataError(f"{self.name}:{self.opened}: text after a closing quote, in {shown(raw)}; {_QUOTES}")
        self.cells.append(raw)


_QUOTES: Final = "close it before the delimiter, and double the quotes inside quotes"


def _sniffed(text: str) -> str:
    """The delimiter that is most frequent in the first line, outside quotes."""
    header = text.lstrip("\r\n").split("\n", 1)[0].split("\r", 1)[0]
    outside = "".join(header.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)
