"""Parsers of dates in a Java pattern such as `yyyy-MM-dd HH:mm:ss`; dates are milliseconds since 1970 in UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Final

__all__ = ["ISO", "date_reader"]

ISO: Final = "yyyy-MM-dd'T'HH:mm:ss"
"""The pattern of a date attribute without a pattern."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS: Final = {
    "y": r"(?P<y>[0-9]{1,9})",
    "M": r"(?P<M>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "h": r"(?P<h>[0-9]{1,2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "s": r"(?P<s>[0-9]{1,2})",
    "S": r"(?P<S>[0-9]{1,9})",
    "a": r"(?P<a>[AaPp][Mm])",
    "E": r"[A-Za-z]{1,20}",
    "Z": r"(?P<Z>[+-][0-9]{4})",
    "X": r"(?P<Z>Z|[+-][0-9]{2}:?[0-9]{2})",
}
_MONTH_NAME: Final = r"(?P<N>[A-Za-z]{3,20})"


def date_reader(pattern: str) -> Callable[[str], float]:
    """Return a function that converts a date in this pattern to milliseconds, and raises ValueError with the reason.

    The supported letters of Java's SimpleDateFormat are y M d H h m s S a E Z X; other text is in single quotes.

    >>> date_reader("yyyy-MM-dd")("1970-01-02")
    86400000.0
    """
    regex = re.compile("".join(_regex_parts(pattern)))
    short_year = "yyy" not in pattern and "yy" in pattern

    def milliseconds(text: str) -> float:
        match = regex.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"is not a date of the form {pattern[:60]!r}")
        try:
            return (_moment(match.groupdict(), short_year) - _EPOCH) / timedelta(milliseconds=1)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"is not a date: {error}") from None

    return milliseconds


def _regex_parts(pattern: str) -> list[str]:
    """Return the parts of a regular expression, one for each run of letters and each literal; every repetition is bounded."""
    parts: list[str] = []
    letters: set[str] = set()
    for number, part in enumerate(pattern.split("'")):
        if number % 2:  # in quotes; two quotes are one
            parts.append(re.escape(part or "'"))
            continue
        for letter, run in groupby(part):
            parts.append(_regex_part(letter, len(list(run)), letters))
    if not letters:
        raise ValueError("has no field for a date")
    return parts


def _regex_part(letter: str, length: int, letters: set[str]) -> str:
    if not (letter.isascii() and letter.isalpha()):
        return re.escape(letter * length)
    if letter not in _FIELDS or letter in letters or (letter == "X" and "Z" in letters) or (letter == "Z" and "X" in letters):
        raise ValueError(f"has the letter {letter!r}, {'twice' if letter in letters else 'which is not supported'}")
    letters.add(letter)
    return _MONTH_NAME if letter == "M" and length > 2 else _FIELDS[letter]


def _moment(fields: dict[str, str | None], short_year: bool) -> datetime:
    def number(letter: str, default: int) -> int:
        text = fields.get(letter)
        return default if text is None else int(text)

    year = number("y", 1970)
    if short_year and len(fields["y"] or "") <= 2:
        year += 1900 if year >= 70 else 2000
    name = (fields.get("N") or "")[:3].lower()
    month = _MONTHS.index(name) + 1 if name in _MONTHS else number("M", 1 if not name else 0)
    hour = number("H", number("h", 0) % 12) + (12 if (fields.get("a") or "").lower() == "pm" and "H" not in fields else 0)
    start = datetime(year, month, number("d", 1), hour, number("m", 0), number("s", 0), tzinfo=UTC)
    return start + timedelta(milliseconds=number("S", 0)) - _offset(fields.get("Z"))


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta(0)
    digits = zone[1:].replace(":", "")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if zone[0] == "-" else offset
