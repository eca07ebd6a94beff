"""Canonical JSON: each value has exactly one text, and a text from any source is parsed within limits.

Canonical means UTF-8, sorted keys, no blanks, the shortest text of each number, and no NaN or Infinity literals. Floats are exact
to the last bit: 0.0 and -0.0 are two values.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from naivete.errors import quoted

__all__ = ["FieldError", "Limits", "canonical", "check_extent", "expect", "expect_keys", "label", "parsed", "shown", "whole"]


class FieldError(Exception):
    """A field of a file, and what is wrong with it; the functions that read files turn it into an error with the file's name."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason


@dataclass(frozen=True)
class Limits:
    """The largest file that is read; all limits are checked before memory is allocated.

    Parameters
    ----------
    file_bytes : the size of the file.
    json_bytes : the size of its JSON member.
    values : the number of values, lists and objects in the JSON.
    depth : how deep its lists and objects are nested.
    """

    file_bytes: int = 2**31
    json_bytes: int = 2**25
    values: int = 1_500_000
    depth: int = 32


def canonical(tree: Any, *, errors: str = "strict") -> bytes:
    """Return the canonical text of a tree of JSON values.

    Parameters
    ----------
    tree : the values.
    errors : "surrogatepass" to allow strings with half of a surrogate pair, which are not Unicode.

    >>> canonical({"b": 0.1, "a": [True, "é"]})
    b'{"a":[true,"\\xc3\\xa9"],"b":0.1}'
    """
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        return text.encode(errors=errors)
    except UnicodeEncodeError as error:
        around = text[max(0, error.start - 20) : error.end + 20]
        raise FieldError("", f"a string is not Unicode, it holds half of a surrogate pair: {quoted(around)}") from None


def parsed(text: bytes, limits: Limits, *, errors: str = "strict") -> Any:
    """Return the tree of JSON values of a text, which has to be canonical.

    Parameters
    ----------
    text : the text; its size, depth and number of values are checked before it is parsed.
    limits : the largest text.
    errors : as in `canonical`.

    >>> parsed(b'{"k":[1,1.0,true]}', Limits())
    {'k': [1, 1.0, True]}
    """
    check_extent(text, limits)
    try:
        tree = json.loads(text.decode(errors=errors))
        again = canonical(tree, errors=errors)
    except ValueError as error:  # not JSON, not UTF-8, NaN, an integer of thousands of digits
        raise FieldError("", f"not canonical JSON: {error}") from None
    if again != text:
        start = max(0, _first_difference(again, text) - 20)
        around = text[start : start + 60].decode(errors="replace")
        raise FieldError("", f"not canonical JSON (sorted keys, each once; no blanks; shortest numbers) near {quoted(around)}")
    return tree


def _first_difference(one: bytes, other: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def check_extent(text: bytes, limits: Limits) -> None:
    """Raise a FieldError if a text exceeds the limits; brackets outside of strings are counted without parsing."""
    if len(text) > limits.json_bytes:
        raise FieldError("", f"{len(text)} bytes are more than the limit of {limits.json_bytes}")
    without_escapes = np.frombuffer(text.replace(rb"\\", b"__").replace(rb"\"", b"__"), dtype=np.uint8)
    marks = without_escapes[~np.logical_xor.accumulate(without_escapes == ord('"'))]
    opening = (marks == ord("[")) | (marks == ord("{"))
    closing = (marks == ord("]")) | (marks == ord("}"))
    values = int(np.count_nonzero(opening)) + int(np.count_nonzero(marks == ord(",")))
    if values > limits.values:
        raise FieldError("", f"{values} values are more than the limit of {limits.values}")
    if np.count_nonzero(opening) != np.count_nonzero(closing):
        raise FieldError("", "not JSON: its brackets do not match")
    depth = int(np.cumsum(np.where(opening, 1, -1)[opening | closing]).max(initial=0))
    if depth > limits.depth:
        raise FieldError("", f"lists and objects nested {depth} deep are more than the limit of {limits.depth}")


def expect(value: Any, field: str, kind: type, words: str) -> Any:
    """Return the value; raise a FieldError if it is not of exactly this type."""
    if type(value) is not kind:
        raise FieldError(field, f"{words} was expected, got {shown(value)}")
    return value


def expect_keys(value: Any, field: str, keys: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Raise a FieldError if the value is not an object with all of these keys, perhaps some optional ones, and no others."""
    known = set(expect(value, field, dict, "an object"))
    unknown, absent = known - {*keys, *optional}, set(keys) - known
    if unknown or absent:
        reason = f"unknown field {shown(min(unknown))}" if unknown else f"the field {shown(min(absent))} is missing"
        raise FieldError(field, reason)


def whole(value: Any, field: str, low: int, high: int) -> int:
    """Return the value; raise a FieldError if it is not an integer from `low` to `high`."""
    number: int = expect(value, field, int, "an integer")
    if not low <= number <= high:
        raise FieldError(field, f"{shown(number)} is not between {low} and {high}")
    return number


def label(key: Any) -> str:
    """Return what error messages append to the name of a dict for one of its entries."""
    return f".{key}" if type(key) is str and key.isidentifier() and len(key) <= 60 else f"[{shown(key)}]"


def shown(value: Any) -> str:
    """Return the value as an error message shows it, in bounded time whatever its size."""
    if isinstance(value, str):
        return quoted(value[:60])
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very long integer"
    kinds = {list: "a list", dict: "an object", np.ndarray: "an array", tuple: "a tuple"}
    return kinds.get(type(value)) or quoted(value)
