"""Plain values as JSON values and .npy files, and back, exactly.

In the JSON None, booleans, integers of 64 bits, finite floats, strings, lists, and
dicts whose keys are strings in sorted order stand for themselves; a "$" at the beginning of a key is doubled. An object with a key
that begins with a single "$" is any other value:

    {"$int": "-1f..."}                      a larger integer, in hexadecimal
    {"$float": "inf"}                       "inf", "-inf" or "nan"
    {"$fraction": [1, 3]}                   numerator and denominator, in lowest terms
    {"$tuple": [...]}                       a tuple
    {"$dict": [key, value, key, value]}     a dict of other keys, or in another order
    {"$array": ["int64", [2, 3]]}           an array: its type and shape; its numbers are the next ones of the member int64.npy
    {"$record": "column-counts", "rows": 3} the fields of an instance of the class registered with `record("column-counts")`

Nothing is executed or imported when an archive is read, and no class is looked up but those registered with `record`.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError, quoted
from naivete.storage.canonical_json import FieldError, expect, expect_keys, label, shown, whole

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["decoded", "encoded", "record"]

T = TypeVar("T")
_INTEGERS: Final = range(-(2**63), 2**64)
"""The integers that stand for themselves."""
_STRINGS: Final = frozenset({str})
_HEX: Final = re.compile(r"-?[1-9a-f][0-9a-f]*")
_FLOATS: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_DEPTH: Final = 45
"""How deep values may be nested, so that their JSON is at most twice as deep."""
_COLLISIONS: Final = 100
"""How many keys of a dict may have the same hash: a dict of many such keys takes quadratic time."""
_FRACTION_BITS: Final = 2**16
"""The largest numerator and denominator: reducing a fraction takes quadratic time."""
_PIECE: Final = 2**20
_WORD: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_NUMBERS: Final = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
_KNOWN: Final = "None, bool, int, float, str, Fraction, tuple, list, dict, arrays of numbers, and records"
_CLASSES: Final[dict[str, type]] = {}
_RECORDS: Final[dict[type, tuple[str, tuple[str, ...]]]] = {}


def record(word: str) -> Callable[[type[T]], type[T]]:
    """Register a frozen dataclass under a short word, so that its instances can be packed.

    An instance is stored as the word and its fields, and rebuilt by calling the class with them. A class whose instances may come
    from an untrusted source checks in `__post_init__` what its methods rely on.

    Parameters
    ----------
    word : what stands for the class in the data.

    >>> @record("example-point")
    ... @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     y: int
    >>> encoded([Point(1, 2)], frozenset({"$record"}))
    ([{'$record': 'example-point', 'x': 1, 'y': 2}], {})
    """
    if not _WORD.fullmatch(word):
        raise ParameterError(f"record: {quoted(word)} is not a short word of lowercase letters, digits, _ and -; choose one")

    def registered(cls: type[T]) -> type[T]:
        known = _CLASSES.get(word, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError(f"record: the word {word!r} stands for {known.__qualname__} already; choose another")
        _CLASSES[word], _RECORDS[cls] = cls, (word, tuple(field.name for field in dataclasses.fields(cls)))  # type: ignore[arg-type]
        return cls

    return registered


def _each(function: Callable[[Any], Any], values: Iterable[Any], label: Callable[[int], str] = "[{}]".format) -> list[Any]:
    """The function's results; an error names the value it was raised for."""
    results: list[Any] = []
    try:
        for value in values:
            results.append(function(value))  # noqa: PERF401 - the error needs their number
    except FieldError as error:
        raise FieldError(f"{label(len(results))}{error.field}"[:200], error.reason) from None
    return results


def _in_order(keys: list[Any]) -> bool:
    """Whether a dict with these keys is an object in JSON."""
    return _STRINGS.issuperset(map(type, keys)) and keys == sorted(keys)


def _is_tag(key: str) -> bool:
    return key.startswith("$") and not key.startswith("$$")


def _check_keys(keys: Sequence[Any]) -> None:
    try:
        hashes = Counter(map(hash, keys))
    except TypeError:
        raise FieldError("", "a key of a dict cannot be a list, a dict or an array, or contain one") from None
    if hashes and max(hashes.values()) > _COLLISIONS:
        raise FieldError("", f"more than {_COLLISIONS} keys of a dict have the same hash")


def _is_fraction(kind: type) -> bool:
    """Return whether this is the type of fractions, whose import takes longer than to read a model."""
    return (kind.__module__, kind.__qualname__) == ("fractions", "Fraction")


def _check_fraction(*parts: int) -> None:
    if max(part.bit_length() for part in parts) > _FRACTION_BITS:
        raise FieldError("", f"a fraction of more than {_FRACTION_BITS} bits cannot be stored")


def encoded(value: object, kinds: frozenset[str]) -> tuple[Any, dict[str, Callable[[], Iterator[bytes]]]]:
    """Return the JSON values of a value, and for each .npy member by its name a function that returns its content in pieces.

    Parameters
    ----------
    value : the value; a FieldError is raised if it cannot be stored.
    kinds : the kinds of values allowed beside those that stand for themselves, such as "$tuple".
    """
    encoder = _Encoder(kinds)
    tree = encoder.value(value)
    return tree, {f"{name}.npy": partial(_npy, name, arrays) for name, arrays in sorted(encoder.arrays.items())}


def decoded(tree: Any, contents: Mapping[str, memoryview], kinds: frozenset[str], *, writable: bool) -> Any:
    """Return the value of JSON values and .npy members; a FieldError is raised about any that `encoded` does not return.

    Parameters
    ----------
    tree : the JSON values.
    contents : the content of each .npy member.
    kinds : as in `encoded`.
    writable : whether the arrays may be written to; they are copies in any case.
    """
    decoder = _Decoder(contents, kinds, writable=writable)
    value = decoder.value(tree)
    decoder.check_end()
    return value


class _Encoder:
    """Turns values into JSON values, and collects the arrays among them by type."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self.arrays: dict[str, list[NDArray[Any]]] = {}
        self.depth = 0

    def value(self, value: Any) -> Any:
        """Return the value as JSON values."""
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()
        kind = type(value)
        if kind in (str, bool) or value is None or (kind is int and value in _INTEGERS) or (kind is float and math.isfinite(value)):
            return value
        encode = _ENCODERS.get(kind) or (
            _Encoder._record if kind in _RECORDS else _Encoder._fraction if _is_fraction(kind) else None
        )
        if encode is None:
            raise FieldError("", f"a value of type {kind.__name__} cannot be stored, only {_KNOWN}")
        if self.depth > _DEPTH:
            raise FieldError("", f"values are nested more than {_DEPTH} deep")
        self.depth += 1
        coded = encode(self, value)
        self.depth -= 1
        if type(coded) is dict and _is_tag(tag := next(iter(coded), "")) and tag not in self.kinds:
            raise FieldError("", f"a value of type {kind.__name__} cannot be stored here")
        return coded

    def _list(self, values: Sequence[Any]) -> list[Any]:
        return list(values) if _STRINGS.issuperset(map(type, values)) else _each(self.value, values)

    def _dict(self, values: dict[Any, Any]) -> dict[str, Any]:
        keys = list(values)
        if _in_order(keys):
            coded = _each(self.value, values.values(), lambda i: label(keys[i]))
            return {f"${key}" if key.startswith("$") else key: value for key, value in zip(keys, coded, strict=True)}
        _check_keys(keys)
        flat = [part for item in values.items() for part in item]
        return {"$dict": _each(self.value, flat, lambda i: label(keys[i // 2]))}

    def _record(self, value: Any) -> dict[str, Any]:
        word, names = _RECORDS[type(value)]
        coded = _each(self.value, (getattr(value, name) for name in names), lambda i: f".{names[i]}")
        return {"$record": word, **dict(zip(names, coded, strict=True))}

    def _fraction(self, value: Fraction) -> dict[str, Any]:
        _check_fraction(value.numerator, value.denominator)
        return {"$fraction": [self.value(value.numerator), self.value(value.denominator)]}

    def _array(self, array: NDArray[Any]) -> dict[str, Any]:
        if array.dtype.name not in _NUMBERS:
            raise FieldError("", f"an array of {array.dtype} cannot be stored, only of numbers and booleans")
        self.arrays.setdefault(array.dtype.name, []).append(array)
        return {"$array": [array.dtype.name, list(array.shape)]}


_ENCODERS: Final[dict[type, Callable[[_Encoder, Any], Any]]] = {
    int: lambda _, value: {"$int": format(value, "x")},
    float: lambda _, value: {"$float": str(value)},
    list: _Encoder._list,
    tuple: lambda encoder, values: {"$tuple": encoder._list(values)},
    dict: _Encoder._dict,
    np.ndarray: _Encoder._array,
}


class _Decoder:
    """Turns JSON values into values, and takes the arrays from the .npy members in their order."""

    def __init__(self, contents: Mapping[str, memoryview], kinds: frozenset[str], *, writable: bool) -> None:
        if list(contents) != sorted(contents):
            raise FieldError(next(iter(contents)), "the members are not in alphabetical order")
        self.numbers = {name: _npy_content(name, content) for name, content in contents.items()}
        self.used: dict[str, int] = {}
        self.kinds, self.copy = kinds, bytearray if writable else bytes

    def value(self, coded: Any) -> Any:
        """Return the value that the JSON values stand for."""
        kind = type(coded)
        if kind is list:
            return _each(self.value, coded)
        if kind is dict:
            return self._object(coded)
        if kind is int and coded not in _INTEGERS:
            raise FieldError("", "an integer of more than 64 bits has to be in hexadecimal")
        return coded

    def check_end(self) -> None:
        """Raise a FieldError about bytes that belong to no array."""
        for name, content in self.numbers.items():
            if self.used.get(name) != len(content):
                raise FieldError(name, f"{len(content) - self.used.get(name, 0)} bytes belong to no array")

    def _object(self, coded: dict[str, Any]) -> Any:
        tag = next((key for key in coded if _is_tag(key)), None)
        if tag is None:
            keys = [key.removeprefix("$") if key.startswith("$$") else key for key in coded]
            return dict(zip(keys, _each(self.value, coded.values(), lambda i: label(keys[i])), strict=True))
        if tag not in self.kinds or (tag != "$record" and len(coded) > 1):
            raise FieldError("", f"values of the kind {shown(tag)} are not known here")
        return _DECODERS[tag](self, coded if tag == "$record" else coded[tag])

    def _list(self, coded: Any) -> list[Any]:
        return _each(self.value, expect(coded, "", list, "a list"))

    def _dict(self, coded: Any) -> dict[Any, Any]:
        flat = self._list(coded)
        keys, values = flat[::2], flat[1::2]
        _check_keys(keys)
        if len(keys) != len(values) or len(set(keys)) != len(keys):
            raise FieldError("", "a dict has a key without a value, or a key twice")
        if _in_order(keys):
            raise FieldError("", "a dict with strings in sorted order as keys has to be an object")
        return dict(zip(keys, values, strict=True))

    def _record(self, coded: dict[str, Any]) -> Any:
        word = expect(coded["$record"], "", str, "the word of a record")
        cls = _CLASSES.get(word)
        if cls is None:
            raise FieldError("", f"no record is called {shown(word)} here")
        names = _RECORDS[cls][1]
        expect_keys(coded, "", ("$record", *names))
        fields = dict(zip(names, _each(self.value, (coded[name] for name in names), lambda i: f".{names[i]}"), strict=True))
        try:
            return cls(**fields)
        except Exception as error:
            raise FieldError("", f"not a record {word!r}: {type(error).__name__}: {str(error)[:200]}") from error

    def _fraction(self, coded: Any) -> Fraction:
        from fractions import Fraction

        parts = self._list(coded)
        if len(parts) != 2 or not type(parts[0]) is type(parts[1]) is int:
            raise FieldError("", "a fraction is not a list of two integers")
        _check_fraction(*parts)
        value = Fraction(parts[0], max(parts[1], 1))
        if [value.numerator, value.denominator] != parts:
            raise FieldError("", "a fraction is not in lowest terms")
        return value

    def _array(self, coded: Any) -> NDArray[Any]:
        if type(coded) is not list or len(coded) != 2:
            raise FieldError("", "an array has to be a list of its type and its shape")
        name = f"{expect(coded[0], '', str, 'the type of an array')}.npy"
        if name not in self.numbers:
            raise FieldError("", f"there is no member {shown(name)} with the numbers of an array")
        dtype = _dtype(coded[0])
        shape = [whole(n, "", 0, 2**63 - 1) for n in expect(coded[1], "", list, "a shape")]
        start, size = self.used.get(name, 0), math.prod(shape) * dtype.itemsize
        content = self.numbers[name][start : start + size]
        if len(content) < size:
            raise FieldError("", f"an array of {size} bytes where only {len(content)} are left in {name}")
        self.used[name] = start + size
        try:
            array = np.frombuffer(self.copy(content), dtype).reshape(shape)
        except ValueError:
            raise FieldError("", f"no array has the shape {shown(tuple(shape))}") from None
        if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise FieldError("", "some of its cells are neither true nor false")
        return array.astype(dtype.newbyteorder("="), copy=False)


def _decoded_int(coded: Any) -> int:
    text = expect(coded, "", str, "an integer in hexadecimal")
    value = int(text, 16) if _HEX.fullmatch(text) else 0
    if value in _INTEGERS:
        raise FieldError("", f"{shown(text)} is not an integer of more than 64 bits in hexadecimal")
    return value


def _decoded_float(coded: Any) -> float:
    if type(coded) is not str or coded not in _FLOATS:
        raise FieldError("", f"{shown(coded)} is none of 'inf', '-inf' and 'nan'")
    return _FLOATS[coded]


_DECODERS: Final[dict[str, Callable[[_Decoder, Any], Any]]] = {
    "$int": lambda _, coded: _decoded_int(coded),
    "$float": lambda _, coded: _decoded_float(coded),
    "$fraction": _Decoder._fraction,
    "$tuple": lambda decoder, coded: tuple(decoder._list(coded)),
    "$dict": _Decoder._dict,
    "$array": _Decoder._array,
    "$record": _Decoder._record,
}


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name).newbyteorder("<")


def _npy_header(dtype: np.dtype[Any], count: int) -> bytes:
    """The header of a .npy file, version 1.0, of a one-dimensional array: 128 bytes."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _npy(name: str, arrays: Sequence[NDArray[Any]]) -> Iterator[bytes]:
    """A .npy file of all numbers of some arrays, in pieces."""
    dtype, waiting, size = _dtype(name), [], 0
    yield _npy_header(dtype, sum(array.size for array in arrays))
    for array in arrays:
        flat = array.astype(dtype, order="C", copy=False).reshape(-1).view(np.uint8)
        for start in range(0, flat.size, _PIECE):
            piece = flat[start : start + _PIECE]
            waiting.append((piece != 0 if dtype.kind == "b" else piece).tobytes())
            size += len(waiting[-1])
            if size >= _PIECE:
                yield b"".join(waiting)
                waiting, size = [], 0
    yield b"".join(waiting)


def _npy_content(name: str, content: memoryview) -> memoryview:
    """The numbers of a .npy file, which has to have exactly the header that `_npy` writes."""
    kind = name.removesuffix(".npy")
    if kind not in _NUMBERS or kind == name:
        raise FieldError(name, "naivete writes no member of this name")
    dtype, numbers = _dtype(kind), content[128:]
    if len(numbers) % dtype.itemsize or content[:128] != _npy_header(dtype, len(numbers) // dtype.itemsize):
        raise FieldError(name, f"its header is not that of an array of {len(numbers)} bytes of {kind}")
    return numbers
