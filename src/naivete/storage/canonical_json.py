"""Canonical JSON: one value has one text, and a text is read without any trust.

Canonical means UTF-8, sorted keys, no blanks, the shortest text of every number, and no NaN or Infinity literals. Infinity is
{"float":"inf"} and a dict among plain values is {"dict":{...}}, so that neither can be taken for the other. Floats are
bit-exact: 0.0 and -0.0 are two values.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import numpy as np

from naivete.errors import quoted

__all__ = [
    "FieldError",
    "Limits",
    "canonical",
    "coded",
    "coded_dict",
    "coded_float",
    "expect",
    "expect_count",
    "expect_keys",
    "items",
    "parsed",
    "plain_dict",
    "scalar",
    "seen",
    "whole",
]

_DIGITS: Final = 80
"""More digits than any integer in a model has."""
_INFINITIES: Final = {"inf": math.inf, "-inf": -math.inf}
_PLAIN: Final[frozenset[type]] = frozenset({str, int, float, bool, type(None)})


class FieldError(Exception):
    """A field of a header and what is wrong with it; never leaves the model file functions."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason


@dataclass(frozen=True)
class Limits:
    """What a model file may ask of the reader, checked before anything is allocated.

    Parameters
    ----------
    file_bytes : the size of the file.
    header_bytes : the size of its header.
    values : how many values, lists and objects the header holds.
    depth : how deep its lists and objects are nested.
    """

    file_bytes: int = 2**31
    header_bytes: int = 2**25
    values: int = 1_500_000
    depth: int = 32


def canonical(header: Any) -> bytes:
    """The one text of a header.

    >>> canonical({"b": 0.1, "a": [True, "é"]})
    b'{"a":[true,"\\xc3\\xa9"],"b":0.1}'
    """
    try:
        text = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_refuse)
        return text.encode()
    except UnicodeEncodeError:
        raise FieldError("header", "a text is not Unicode: it holds half of a surrogate pair") from None


def _refuse(value: object) -> NoReturn:
    assert isinstance(value, _Unreadable)
    raise FieldError("optional", value.reason)


def coded(value: object, field: str, depth: int = 1) -> Any:
    """A plain value as JSON values; what would not come back exactly as it is, is refused.

    >>> coded([1, -math.inf, {"a": None}], "parameters.theta")
    [1, {'float': '-inf'}, {'dict': {'a': None}}]
    """
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) is list:
        return [coded(v, f"{field}[{i}]", _deeper(field, depth)) for i, v in enumerate(value)]
    if type(value) is dict:
        return {"dict": coded_dict(value, field, _deeper(field, depth))}
    if type(value) is float:
        return coded_float(value, field)
    if type(value) is int and abs(value) >= 10**_DIGITS:
        raise FieldError(field, f"an integer of more than {_DIGITS} digits cannot be stored")
    if type(value) not in _PLAIN:
        known = "None, bool, int, float, str, list and dict"
        raise FieldError(field, f"a value of type {type(value).__name__} cannot be stored, only {known}")
    return value


def _deeper(field: str, depth: int) -> int:
    if depth >= Limits.depth:
        raise FieldError(field[:200], f"lists and dicts are nested more than {Limits.depth} deep")
    return depth + 1


def coded_dict(values: object, field: str, depth: int) -> dict[str, Any]:
    """A dict with texts as keys, without the mark of an inner dict."""
    if type(values) is not dict:
        raise FieldError(field, f"a dict was expected, got {type(values).__name__}")
    odd = next((key for key in values if type(key) is not str), None)
    if odd is not None:
        raise FieldError(field, f"the key {quoted(odd)} is not text")
    return {key: coded(value, _member(field, key), depth) for key, value in values.items()}


def coded_float(value: float, field: str) -> float | dict[str, str]:
    """A float as JSON values, infinity included; nan is refused."""
    if math.isnan(value):
        raise FieldError(field, "nan cannot be stored")
    return {"float": "inf" if value > 0 else "-inf"} if math.isinf(value) else value


@dataclass(frozen=True)
class _Unreadable:
    """Stands where the text had something that JSON readers let pass and we do not, until its field is known."""

    reason: str


def parsed(text: bytes, limits: Limits) -> Any:
    """The header as JSON values, with what must not be there marked; size, depth and count are checked before parsing.

    >>> parsed(b'{"k":[1,1.0,true]}', Limits())
    {'k': [1, 1.0, True]}
    """
    if len(text) > limits.header_bytes:
        raise FieldError("header", f"{len(text)} bytes are more than the limit of {limits.header_bytes}")
    _check_extent(text, limits)
    try:
        return json.loads(
            text.decode(),
            parse_int=_parsed_int,
            parse_float=_parsed_float,
            parse_constant=lambda literal: _Unreadable(f"the literal {literal} is not allowed"),
            object_pairs_hook=_parsed_object,
        )
    except json.JSONDecodeError as error:
        raise FieldError("header", f"not JSON: {error.msg} at character {error.pos}") from None
    except UnicodeDecodeError as error:
        raise FieldError("header", f"not UTF-8 at byte {error.start}") from None


def _check_extent(text: bytes, limits: Limits) -> None:
    """Count and nest the brackets outside strings, without parsing; what JSON accepts of the text is never deeper."""
    bare = np.frombuffer(text.replace(rb"\\", b"__").replace(rb"\"", b"__"), dtype=np.uint8)
    marks = bare[~np.logical_xor.accumulate(bare == ord('"'))]
    opening = (marks == ord("[")) | (marks == ord("{"))
    closing = (marks == ord("]")) | (marks == ord("}"))
    values = int(np.count_nonzero(opening)) + int(np.count_nonzero(marks == ord(",")))
    if values > limits.values:
        raise FieldError("header", f"{values} values are more than the limit of {limits.values}")
    if np.count_nonzero(opening) != np.count_nonzero(closing):
        raise FieldError("header", "not JSON: its brackets do not match")
    depth = int(np.cumsum(np.where(opening, 1, -1)[opening | closing]).max(initial=0))
    if depth > limits.depth:
        raise FieldError("header", f"lists and objects nested {depth} deep are more than the limit of {limits.depth}")


def _parsed_int(text: str) -> int | _Unreadable:
    return int(text) if len(text) <= _DIGITS + 1 else _Unreadable(f"an integer of {len(text)} digits is not allowed")


def _parsed_float(text: str) -> float | _Unreadable:
    value = float(text) if len(text) <= _DIGITS else math.inf
    return value if math.isfinite(value) else _Unreadable(f"the number {quoted(text[:60])} is too large or too long")


def _parsed_object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Unreadable:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(key for key, _ in pairs)
    twice = counts.most_common(1)[0][0]
    return _Unreadable(f"the key {quoted(twice[:60])} occurs twice")


def plain_dict(value: Any, field: str) -> dict[str, Any]:
    """The inverse of `coded_dict`, with every value checked; paths are put together only when something is wrong."""
    found = {}
    for key, inner in expect(value, field, dict, "an object").items():
        try:
            _check_text(key, "")
            found[key] = _plain(inner)
        except FieldError as error:
            raise FieldError(_member(field, key) + error.field, error.reason) from None
    return found


def _plain(value: Any) -> Any:
    if type(value) is list:
        return _plain_list(value)
    if type(value) is dict and value.keys() == {"dict"}:
        return plain_dict(value["dict"], "")
    return scalar(value, "", _PLAIN)


def _plain_list(values: list[Any]) -> list[Any]:
    found = []
    for i, inner in enumerate(values):
        try:
            found.append(_plain(inner))
        except FieldError as error:
            raise FieldError(f"[{i}]{error.field}", error.reason) from None
    return found


def scalar(value: Any, field: str, allowed: frozenset[type]) -> Any:
    """A value that is neither list nor dict, of one of the allowed types and no other: 1, 1.0, True and "1" are four values.

    >>> scalar({"float": "inf"}, "parameters.theta", frozenset({float}))
    inf
    """
    if type(value) is dict and value.keys() == {"float"}:
        value = _infinity(value["float"], field)
    if type(value) not in allowed:
        words = ", ".join(sorted("None" if t is type(None) else t.__name__ for t in allowed))
        _mismatch(value, field, f"one of {words}")
    if type(value) is str:
        _check_text(value, field)
    return value


def _infinity(value: Any, field: str) -> float:
    text: str = expect(value, field, str, "text")
    if text not in _INFINITIES:
        raise FieldError(field, f"{seen(text)} is neither 'inf' nor '-inf'")
    return _INFINITIES[text]


def _check_text(text: str, field: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise FieldError(field, f"the text {seen(text)} is not Unicode: it holds half of a surrogate pair") from None


def items(value: Any, field: str) -> list[Any]:
    """The value, which has to be a list."""
    found: list[Any] = expect(value, field, list, "a list")
    return found


def whole(value: Any, field: str, low: int, high: int) -> int:
    """The value, which has to be an integer from `low` to `high`."""
    number: int = expect(value, field, int, "a whole number")
    if not low <= number <= high:
        raise FieldError(field, f"{number} is not between {low} and {high}")
    return number


def expect(value: Any, field: str, kind: type, words: str) -> Any:
    """The value, which has to be of this very type."""
    if type(value) is not kind:
        _mismatch(value, field, words)
    return value


def expect_count(values: list[Any], field: str, count: int) -> None:
    """Refuse a list of another length."""
    if len(values) != count:
        raise FieldError(field, f"{len(values)} entries where {count} were expected")


def expect_keys(value: Any, field: str, keys: Iterable[str]) -> None:
    """Refuse all but an object with these very keys."""
    found: dict[str, Any] = expect(value, field, dict, "an object")
    unknown, absent = found.keys() - set(keys), set(keys) - found.keys()
    if unknown:
        raise FieldError(field, f"unknown field {seen(min(unknown))}")
    if absent:
        raise FieldError(field, f"the field {seen(min(absent))} is missing")


def _mismatch(value: Any, field: str, words: str) -> NoReturn:
    raise FieldError(field, value.reason if isinstance(value, _Unreadable) else f"{words} was expected, got {seen(value)}")


def seen(value: Any) -> str:
    """The value for a message, in bounded time whatever its size."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return quoted(value[:60] if isinstance(value, str) else value)


def _member(field: str, key: str) -> str:
    return f"{field}.{key}" if key.isidentifier() and len(key) <= 60 else f"{field}[{quoted(key[:60])}]"
