"""Columns of an ARFF file while it is read: words are converted to numbers or codes block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.arff_tokens import BLANKS, single, unquoted
from naivete.data.files.opening import Limits, limit_error
from naivete.data.table import Column
from naivete.errors import DataError, close_matches, quoted

__all__ = ["OMITTED", "ArffColumn", "DateColumn", "NominalColumn", "NumericColumn", "StringColumn"]

OMITTED: Final = "\0"
"""Stands for a value that a sparse row leaves out; files with zero bytes are refused."""

_HEX: Final = ("0x", "-0x", "+0x")


class ArffColumn(Protocol):
    """A column that grows. `convert` has no side effects; if it succeeds for every column of some rows, `add` appends them."""

    name: str

    def fresh(self) -> ArffColumn:
        """Return the same column as the header declares it, without rows."""

    def convert(self, raws: Sequence[str]) -> list[Any] | None:
        """Return the values if all are simple, an empty list if some need parsing, None if a cell is not one word."""

    def add(self, raws: Sequence[str], values: list[Any], lines: Sequence[int]) -> None:
        """Append the rows."""

    def column(self) -> Column:
        """Return the finished column."""


class NominalColumn:
    """A column with declared values: the code of a word is the position of its value in the declaration."""

    declared = True

    def __init__(self, name: str, file: str, states: Sequence[str], *, widen: bool = False, limits: Limits = Limits()) -> None:  # noqa: B008
        self.name, self.file, self.widen, self.limits = name, file, widen, limits
        self.states = tuple(states)
        self.index = {state: code for code, state in enumerate(states)}
        self.codes = {"?": -1}  # of every spelling so far: with and without quotes and blanks
        if states:
            self.codes[OMITTED] = 0
        self.parts: list[NDArray[Any]] = []

    def fresh(self) -> NominalColumn:
        """Return the column with its declared values and no rows."""
        return NominalColumn(self.name, self.file, self.states, widen=self.widen, limits=self.limits)

    def convert(self, raws: Sequence[str]) -> list[Any] | None:
        """Return the codes if every spelling occurred before."""
        try:
            return list(map(self.codes.__getitem__, raws))
        except KeyError:
            return _unparsed(raws, self.codes)

    def add(self, raws: Sequence[str], values: list[Any], lines: Sequence[int]) -> None:
        """Append the codes and keep new spellings."""
        if not values:
            for raw, line in zip(raws, lines, strict=True):
                if raw not in self.codes:
                    self.codes[raw] = self._code(raw, line)
            values = list(map(self.codes.__getitem__, raws))
        self.parts.append(np.array(values, dtype=np.min_scalar_type(-max(len(self.index), 1))))

    def _code(self, raw: str, line: int) -> int:
        if raw.strip(BLANKS) == "?":
            return -1
        if raw == OMITTED:
            raise DataError(
                f"{self._place(line)}: a sparse row leaves out the value, but no first value is declared; write it, or ?"
            )
        value = unquoted(raw)
        return self.index[value] if value in self.index else self._new(value, line)

    def _new(self, value: str, line: int) -> int:
        if not self.widen:
            raise DataError(f"{self._place(line)}: value {quoted(value)} is not declared{self._declared(value)}; {_UNDECLARED}")
        if len(self.index) >= self.limits.states:
            raise limit_error(self._place(line), "states", self.limits.states, f"more than {self.limits.states} distinct values")
        self.index[value] = len(self.index)
        return self.index[value]

    def _place(self, line: int) -> str:
        return f"{self.file}:{line}: column {quoted(self.name)}"

    def _declared(self, value: str) -> str:
        close = close_matches(value, self.index)
        if close:
            return f" (nearest declared: {', '.join(map(quoted, close))})"
        return f" (declared: {quoted(list(self.index)[:20])[1:-1]})"

    def column(self) -> Column:
        """Return the codes with their states."""
        return Column(self.name, _joined(self.parts, np.int8), tuple(self.index), "nominal", self.declared)


_UNDECLARED: Final = "add it to the header or pass `widen=True`"


class StringColumn(NominalColumn):
    """A string column: every distinct text is a state, in order of appearance."""

    declared = False

    def __init__(self, name: str, file: str, *, limits: Limits = Limits()) -> None:  # noqa: B008
        super().__init__(name, file, (), widen=True, limits=limits)

    def fresh(self) -> StringColumn:
        """Return the column without rows."""
        return StringColumn(self.name, self.file, limits=self.limits)


class NumericColumn:
    """A numeric column."""

    def __init__(self, name: str, file: str) -> None:
        self.name, self.file = name, file
        self.parts: list[NDArray[Any]] = []

    def fresh(self) -> NumericColumn:
        """Return the column without rows."""
        return NumericColumn(self.name, self.file)

    def convert(self, raws: Sequence[str]) -> list[Any] | None:
        """Return the numbers if all are decimal numbers or a plain question mark."""
        numbers = plain_numbers(raws, "?")
        return _unparsed(raws, ("?",)) if numbers is None else numbers

    def add(self, raws: Sequence[str], values: list[Any], lines: Sequence[int]) -> None:
        """Append the numbers; refuse other words."""
        if not values:
            values = [self._number(raw, line) for raw, line in zip(raws, lines, strict=True)]
        self.parts.append(np.array(values, dtype=np.float64))

    def _number(self, raw: str, line: int) -> float:
        if raw == OMITTED:
            return 0.0
        if raw.strip(BLANKS) == "?":
            return math.nan
        text = unquoted(raw)
        try:
            return self.number(text)
        except ValueError as error:
            place = f"{self.file}:{line}: column {quoted(self.name)}"
            raise DataError(f"{place}: value {quoted(text)} {error}; correct it, or write ? for a missing value") from error

    def number(self, text: str) -> float:
        """Return the number that a text stands for."""
        return java_number(text)

    def column(self) -> Column:
        """Return the numbers, nan if missing."""
        return Column(self.name, _joined(self.parts, np.float64), kind="numeric")


class DateColumn(NumericColumn):
    """A date column: milliseconds since 1970 in UTC, as in Weka."""

    def __init__(self, name: str, file: str, milliseconds: Callable[[str], float]) -> None:
        super().__init__(name, file)
        self.milliseconds = milliseconds

    def fresh(self) -> DateColumn:
        """Return the column without rows."""
        return DateColumn(self.name, self.file, self.milliseconds)

    def convert(self, raws: Sequence[str]) -> list[Any] | None:
        """Return an empty list, because dates always need parsing."""
        return _unparsed(raws, ("?",))

    def number(self, text: str) -> float:
        """Return the time of a date in milliseconds."""
        return self.milliseconds(text)


def plain_numbers(raws: Sequence[str], missing: str) -> list[float] | None:
    """Return the finite numbers of a column, nan where a word is exactly `missing`; None if a word needs parsing.

    >>> plain_numbers(["1", "2.5e1", "?"], "?")
    [1.0, 25.0, nan]
    >>> plain_numbers(["1", "inf"], "?") is None
    True
    """
    absent = 0
    try:
        numbers = list(map(float, raws))
    except ValueError:
        absent = raws.count(missing)
        if not absent:
            return None
        try:
            numbers = [math.nan if raw == missing else float(raw) for raw in raws]
        except ValueError:
            return None
    values = np.array(numbers)
    whole = "".join(raws)
    plain = whole.isascii() and "_" not in whole and np.isfinite(values).sum() == len(raws) - absent
    return numbers if plain else None


def java_number(text: str) -> float:
    """Return the number as Java reads it, including `1d` and `0x1p3`; refuse nan and infinity.

    >>> java_number("2.5f")
    2.5
    """
    text = text.strip(BLANKS)
    if not text.isascii() or "_" in text:
        raise ValueError("is not a number")
    try:
        value = float.fromhex(text) if text.lower().startswith(_HEX) else float(_without_suffix(text))
    except OverflowError:
        value = math.inf
    except ValueError:
        raise ValueError("is not a number") from None
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    return value


def _without_suffix(text: str) -> str:
    return text[:-1] if text[-1:] in "dDfF" and text[-2:-1] in "0123456789." else text


def _unparsed(raws: Sequence[str], known: Any) -> list[Any] | None:
    """Return an empty list if every cell is one word, else None."""
    return [] if all(raw == OMITTED or single(raw) for raw in set(raws).difference(known)) else None


def _joined(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
