"""The columns of an ARFF file while it is read: words in, numbers or codes out, block by block."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from naivete.data.files.arff_tokens import BLANKS, single, unquoted
from naivete.data.files.opening import Limits, over
from naivete.data.table import Column
from naivete.errors import DataError, close_matches, quoted

__all__ = ["OMITTED", "Cells", "Dates", "Nominal", "Numbers", "Text"]

OMITTED: Final = "\0"
"""Stands for a value that a sparse row leaves out; a zero byte never comes from a file."""

_HEX: Final = ("0x", "-0x", "+0x")


class Cells(Protocol):
    """A column that grows. `look` first, without a trace; when every column of the rows could be cut, `add` what was found."""

    name: str

    def fresh(self) -> Cells:
        """The same column as the header declares it, without rows."""

    def look(self, raws: Sequence[str]) -> list[Any] | None:
        """The values where all are known at once, an empty list where some need thought, None where some are not one word."""

    def add(self, raws: Sequence[str], found: list[Any], lines: Sequence[int]) -> None:
        """Append the rows."""

    def column(self) -> Column:
        """The finished column."""


class Nominal:
    """A column with declared values: a word becomes the position of its value in the declaration."""

    declared = True

    def __init__(self, name: str, file: str, states: Sequence[str], *, widen: bool = False, limits: Limits = Limits()) -> None:  # noqa: B008
        self.name, self.file, self.widen, self.limits = name, file, widen, limits
        self.states = tuple(states)
        self.index = {state: code for code, state in enumerate(states)}
        self.codes = {"?": -1}  # every spelling met so far: with and without quotes and blanks
        if states:
            self.codes[OMITTED] = 0
        self.parts: list[NDArray[Any]] = []

    def fresh(self) -> Nominal:
        """The column with its declared values and no rows."""
        return Nominal(self.name, self.file, self.states, widen=self.widen, limits=self.limits)

    def look(self, raws: Sequence[str]) -> list[Any] | None:
        """The codes, where every spelling was met before."""
        try:
            return list(map(self.codes.__getitem__, raws))
        except KeyError:
            return _need_thought(raws, self.codes)

    def add(self, raws: Sequence[str], found: list[Any], lines: Sequence[int]) -> None:
        """Append the codes, learning new spellings."""
        if not found:
            for raw, line in zip(raws, lines, strict=True):
                if raw not in self.codes:
                    self.codes[raw] = self._code(raw, line)
            found = list(map(self.codes.__getitem__, raws))
        self.parts.append(np.array(found, dtype=np.min_scalar_type(-max(len(self.index), 1))))

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
            raise over(self._place(line), "states", self.limits.states, f"more than {self.limits.states} distinct values")
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
        """The codes with their states."""
        return Column(self.name, _joined(self.parts, np.int8), tuple(self.index), "nominal", self.declared)


_UNDECLARED: Final = "add it to the header or pass widen=True"


class Text(Nominal):
    """A string column: every distinct text is a state, in the order of appearance."""

    declared = False

    def __init__(self, name: str, file: str, *, limits: Limits = Limits()) -> None:  # noqa: B008
        super().__init__(name, file, (), widen=True, limits=limits)

    def fresh(self) -> Text:
        """The column without texts."""
        return Text(self.name, self.file, limits=self.limits)


class Numbers:
    """A numeric column."""

    def __init__(self, name: str, file: str) -> None:
        self.name, self.file = name, file
        self.parts: list[NDArray[Any]] = []

    def fresh(self) -> Numbers:
        """The column without numbers."""
        return Numbers(self.name, self.file)

    def look(self, raws: Sequence[str]) -> list[Any] | None:
        """The numbers, where they are all written plainly."""
        found = plain_numbers(raws, "?")
        return _need_thought(raws, ("?",)) if found is None else found

    def add(self, raws: Sequence[str], found: list[Any], lines: Sequence[int]) -> None:
        """Append the numbers; refuse what is none."""
        if not found:
            found = [self._number(raw, line) for raw, line in zip(raws, lines, strict=True)]
        self.parts.append(np.array(found, dtype=np.float64))

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
        """The number that a text stands for."""
        return java_number(text)

    def column(self) -> Column:
        """The numbers, NaN where missing."""
        return Column(self.name, _joined(self.parts, np.float64), kind="numeric")


class Dates(Numbers):
    """A date column: milliseconds since 1970 in universal time, as Weka counts them."""

    def __init__(self, name: str, file: str, milliseconds: Callable[[str], float]) -> None:
        super().__init__(name, file)
        self.milliseconds = milliseconds

    def fresh(self) -> Dates:
        """The column without dates."""
        return Dates(self.name, self.file, self.milliseconds)

    def look(self, raws: Sequence[str]) -> list[Any] | None:
        """Nothing: a date always needs thought."""
        return _need_thought(raws, ("?",))

    def number(self, text: str) -> float:
        """The time that a date stands for."""
        return self.milliseconds(text)


def plain_numbers(raws: Sequence[str], missing: str) -> list[float] | None:
    """The finite numbers of a column, NaN where a word is exactly `missing`; None where a word needs a closer look.

    >>> plain_numbers(["1", "2.5e1", "?"], "?")
    [1.0, 25.0, nan]
    >>> plain_numbers(["1", "inf"], "?") is None
    True
    """
    gone = 0
    try:
        found = list(map(float, raws))
    except ValueError:
        gone = raws.count(missing)
        if not gone:
            return None
        try:
            found = [math.nan if raw == missing else float(raw) for raw in raws]
        except ValueError:
            return None
    values = np.array(found)
    whole = "".join(raws)
    plain = whole.isascii() and "_" not in whole and np.isfinite(values).sum() == len(raws) - gone
    return found if plain else None


def java_number(text: str) -> float:
    """The number as Java reads it, so also `1d` and `0x1p3`, but never a NaN or an infinity.

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


def _need_thought(raws: Sequence[str], known: Any) -> list[Any] | None:
    """An empty list if every new word is one word, else None."""
    return [] if all(raw == OMITTED or single(raw) for raw in set(raws).difference(known)) else None


def _joined(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype)
