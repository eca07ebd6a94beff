"""Columns of a delimited file while it is read; whether they are numeric is decided after the last row."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.opening import Limits, limit_error
from naivete.data.table import Column, Kind, Table
from naivete.errors import DataError, MixedColumnWarning, quoted, warn

__all__ = ["DelimitedColumn", "KindError", "bare", "difference_from_text"]

_BETWEEN: Final = "\0"
_NOT_CANONICAL: Final = re.compile(r"\x00[ \t]*(?:\+|-?0[0-9])")
_INTEGER: Final = re.compile(r"[ \t]*-?[0-9]+[ \t]*")
_CODE: Final = re.compile(r"[ \t]*[+-]?[0-9]+[ \t]*")
_WIDEST: Final = 2.0**53
_MIXED_VALUES: Final = 10
_MIXED_SHARE: Final = 0.9
"""A column of at least this many values, of which at least this share are numbers, was perhaps meant to be numeric."""
_MISSING_SHARE: Final = 0.5
_USUAL_MISSING: Final = frozenset(("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "missing", "unknown"))
"""Other programs write missing values in this way; where all other texts are such, this share of numbers is enough."""


class KindError(DataError):
    """Columns that were guessed to be numeric from the first rows of a stream turned out to be text.

    Parameters
    ----------
    message : the text of the error.
    columns : all such columns of the rows read so far, for `Files.widened`.
    """

    def __init__(self, message: str, columns: frozenset[str]) -> None:
        super().__init__(message, columns)
        self.message, self.columns = message, columns

    def __str__(self) -> str:
        return self.message


def bare(raw: str) -> str:
    """Return the text of a cell without the quotes around it.

    >>> bare('"a ""b"" c"'), bare("d")
    ('a "b" c', 'd')
    """
    return raw[1:-1].replace('""', '"') if raw.startswith('"') else raw


class DelimitedColumn:
    """A column that is numeric until a value is not a number.

    As long as all values are numbers, it keeps the numbers and their concatenated texts. With the first text that is not a number
    it becomes a nominal column, which includes the kept texts. `01`, `+1`, `1e999`, `nan` and integers beyond 2 to the power of
    53 are texts.

    Parameters
    ----------
    name : the name of the column.
    file : the file, for messages.
    missing : the texts that stand for a missing value.
    kind : "nominal" keeps every text as it is, "numeric" refuses other texts than numbers, None decides by the values.
    limits : sizes above which the file is refused.
    """

    def __init__(self, name: str, file: str, missing: Collection[str], kind: Kind | None, limits: Limits) -> None:
        self.name, self.file, self.missing, self.kind, self.limits = name, file, frozenset(missing), kind, limits
        self.numbers: list[NDArray[np.float64]] = []
        self.texts: list[str] = []
        self.integers = True
        self.numeric = kind != "nominal"
        self.quick = self.missing == {""} or all(_numbers([token], _BETWEEN + token) is None for token in self.missing)
        self.codes: dict[str, int] = {}
        self.index: dict[str, int] = {}
        self.parts: list[NDArray[Any]] = []

    def add(self, raws: Sequence[str], lines: Sequence[int]) -> None:
        """Append cells as they are in the file, quotes included."""
        if self.numeric and self._add_numbers(raws):
            return
        if self.kind == "numeric":
            raise self._no_number(raws, lines)
        if self.numeric:
            self._turn_to_text()
        self._add_text(raws)

    def _add_numbers(self, raws: Sequence[str]) -> bool:
        whole = _BETWEEN + _BETWEEN.join(raws)
        values = _numbers(raws, whole) if self.quick else None  # no missing value looks like a number
        if values is None:
            values = self._numbers_with_missing(raws)
            if values is None:
                return False
        if self.integers:
            self.integers = "." not in whole and "e" not in whole and "E" not in whole
        self.numbers.append(values)
        if self.kind is None:
            self.texts.append(whole)
        return True

    def _numbers_with_missing(self, raws: Sequence[str]) -> NDArray[np.float64] | None:
        """Return the numbers, nan if missing; None if a text is neither."""
        texts = [bare(raw) for raw in raws]
        observed = [text for text in texts if text not in self.missing]
        numbers = _numbers(observed, _BETWEEN + _BETWEEN.join(observed))
        if numbers is None:
            return None
        values = np.full(len(texts), math.nan)
        values[[text not in self.missing for text in texts]] = numbers
        return values

    def _no_number(self, raws: Sequence[str], lines: Sequence[int]) -> DataError:
        texts = list(map(bare, raws))
        row, text = next(
            (row, text) for row, text in enumerate(texts) if text not in self.missing and _numbers([text], _BETWEEN + text) is None
        )
        problem = f"{self.file}:{lines[row]}: column {quoted(self.name)}: value {quoted(text)} is not a finite number"
        if missing := self._missing_parameter([text]):
            return DataError(f"{problem}; correct it, or pass {missing} if it stands for a missing value")
        return DataError(f"{problem}; correct it, or declare the column nominal: `kinds={{{quoted(self.name)}: 'nominal'}}`")

    def _turn_to_text(self) -> None:
        self.numeric = False
        for joined in self.texts:
            self._add_text(joined.split(_BETWEEN)[1:])
        self.numbers, self.texts = [], []

    def _add_text(self, raws: Sequence[str]) -> None:
        try:
            codes = list(map(self.codes.__getitem__, raws))
        except KeyError:
            for raw in raws:
                if raw not in self.codes:
                    self.codes[raw] = self._code(bare(raw))
            codes = list(map(self.codes.__getitem__, raws))
        self.parts.append(np.array(codes, dtype=np.min_scalar_type(-max(len(self.index), 1))))

    def _code(self, text: str) -> int:
        if text in self.missing:
            return -1
        if text not in self.index:
            if len(self.index) >= self.limits.states:
                place = f"{self.file}: column {quoted(self.name)}"
                raise limit_error(place, "states", self.limits.states, f"more than {self.limits.states} distinct values")
            self.index[text] = len(self.index)
        return self.index[text]

    def column(self) -> Column:
        """Return the finished column: codes of text, integers, or numbers with nan if missing."""
        if not self.numeric:
            codes = np.concatenate(self.parts) if self.parts else np.zeros(0, np.int8)
            return Column(self.name, codes, tuple(self.index), "nominal")
        values = np.concatenate(self.numbers) if self.numbers else np.zeros(0)
        if self.integers and len(values) and not np.isnan(values).any() and self.kind is None:
            return Column(self.name, values.astype(np.int64))
        return Column(self.name, values, kind=self.kind)

    def first_text(self, table: Table) -> tuple[str, str, str]:
        """Return the first value of a finished nominal column that is not a number: its place, the column, the value."""
        codes = [self.index[text] for text in _no_numbers(list(self.index))]
        row = int(np.isin(table[self.name].values, codes).argmax())
        return table.place(row), self.name, str(table[self.name][row])

    def warn_if_mixed(self, column: Column, place: Callable[[int], str]) -> None:
        """Warn if the finished column is taken as text although nearly all of its values are numbers.

        There is no warning for codes of digits only, such as `01` or a number of 20 digits, which are meant to be text.

        Parameters
        ----------
        column : the finished column.
        place : a function that gives the place of a row for messages.
        """
        if self.kind is not None or column.states is None:
            return
        counts = np.bincount(column.values[column.values >= 0], minlength=len(self.index))
        strange = self._strange(counts)
        if not strange:
            return
        codes = [self.index[text] for text in strange]
        first = int(np.isin(column.values, codes).argmax())
        problem = f"{counts.sum() - counts[codes].sum():,} of {counts.sum():,} values are numbers but {_listed(strange)} not"
        text = f"{place(first)}: column {quoted(self.name)}: {problem}, so the column is taken as text; {self._advice(strange)}"
        warn(MixedColumnWarning(text, self.name))

    def _strange(self, counts: NDArray[np.int64]) -> list[str]:
        """Return the texts among many numbers; an empty list if they are not few, or if they are codes."""
        total = int(counts.sum())
        strange, others, share = [], 0, _MISSING_SHARE
        for text in _no_numbers(list(self.index)) if total >= _MIXED_VALUES else ():
            strange.append(text)
            others += int(counts[self.index[text]])
            if text.strip().lower() not in _USUAL_MISSING:
                share = _MIXED_SHARE
            if others > math.floor(total * (1 - share) + 1e-9) or _CODE.fullmatch(text):
                return []
        return strange

    def _advice(self, strange: Sequence[str]) -> str:
        kinds = f"`kinds={{{quoted(self.name)}: 'numeric'}}`"
        missing = self._missing_parameter(strange)
        if missing:
            return f"pass {missing} or {kinds}"
        return f"correct {'it' if len(strange) == 1 else 'them'}, or pass {kinds} to have such values refused"

    def _missing_parameter(self, strange: Sequence[str]) -> str | None:
        """Return the parameter that declares these texts as missing values; None if they have digits or are more than three."""
        if len(strange) > 3 or any(char.isdigit() for text in strange for char in text):
            return None
        tokens = tuple(dict.fromkeys([*sorted(self.missing), *strange]))
        return f"`missing={quoted(tokens)}`"


def _listed(strange: Sequence[str]) -> str:
    """Return the first texts and the verb of a sentence about them.

    >>> _listed(["NA"]), _listed(["NA", "?"]), _listed(["a", "b", "c", "d", "e"])
    ("'NA' is", "'NA' and '?' are", "'a', 'b', 'c' and 2 others are")
    """
    if len(strange) == 1:
        return f"{quoted(strange[0])} is"
    rest = len(strange) - 3
    *first, last = [*map(quoted, strange[:3]), *([f"{rest} other{'s' if rest > 1 else ''}"] if rest > 0 else [])]
    return f"{', '.join(first)} and {last} are"


def difference_from_text(states: Sequence[object]) -> str | None:
    """Return how delimited text would give other values than these of a file with types; None if it gives the same.

    Files with types keep texts and booleans as they are; in delimited text, values that are all numbers are numeric, and
    booleans are texts.

    >>> difference_from_text(("1", "2.5")), difference_from_text(("01", "02")), difference_from_text((1, 2))
    ('numbers stored as text', None, None)
    """
    if any(isinstance(state, bool) for state in states):
        return "booleans, which are texts in delimited text"
    texts = [state for state in states if isinstance(state, str)]
    if texts and len(texts) == len(states) and _numbers(texts, _BETWEEN + _BETWEEN.join(texts)) is not None:
        return "numbers stored as text"
    return None


def _no_numbers(texts: Sequence[str]) -> Iterator[str]:
    """Iterate over the texts that are not numbers, found by bisection."""
    if _numbers(texts, _BETWEEN + _BETWEEN.join(texts)) is not None:
        return
    if len(texts) == 1:
        yield texts[0]
        return
    yield from _no_numbers(texts[: len(texts) // 2])
    yield from _no_numbers(texts[len(texts) // 2 :])


def _numbers(texts: Sequence[str], whole: str) -> NDArray[np.float64] | None:
    """Return the numbers if every text is a finite decimal number, else None; `whole` is the texts, each after a zero byte."""
    if not whole.isascii() or "_" in whole or _NOT_CANONICAL.search(whole):
        return None
    try:
        values = np.array(list(map(float, texts)), dtype=np.float64)
    except ValueError:
        return None
    largest = np.abs(values).max(initial=0.0)
    if largest < _WIDEST:
        return values
    return None if not np.isfinite(largest) or _beyond(texts, values) else values


def _beyond(texts: Sequence[str], values: NDArray[np.float64]) -> bool:
    """Return whether some integer is too large to be represented exactly."""
    long = [texts[position] for position in np.flatnonzero(abs(values) >= _WIDEST).tolist()]
    return any(_INTEGER.fullmatch(text) and abs(int(text)) > _WIDEST for text in long)
