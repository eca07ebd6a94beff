"""The leaves of packed data, both ways: numbers and texts as JSON that holds them exactly, arrays as their bytes."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.storage.canonical_json import FieldError, expect, expect_count, items, seen, whole
from naivete.storage.container import up

__all__ = ["CODED", "INT", "array_at", "array_pieces", "dtype_name", "float_of", "fraction_of", "int_of", "text_of"]

INT: Final = range(-(2**63), 2**64)
"""The integers that stand for themselves."""
_FRACTION_BITS: Final = 2**16
"""The largest numerators and denominators, as common divisors of larger ones take long to find."""
_PIECE: Final = 2**20
_HEX: Final = re.compile(r"-?[1-9a-f][0-9a-f]*")
_TEXTS: Final = re.compile(r"U([1-9][0-9]{0,8})")
_NUMBERS: Final = {
    dtype: np.dtype(dtype).newbyteorder("<")
    for dtype in (
        *("bool", "int8", "int16", "int32", "int64"),
        *("uint8", "uint16", "uint32", "uint64", "float32", "float64"),
    )
}


def _same(value: Any) -> Any:
    return value


def _coded_int(value: int) -> Any:
    return value if value in INT else {"int": format(value, "x")}


def _coded_float(value: float) -> Any:
    return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}


def _coded_text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"text": value.encode(errors="surrogatepass").hex()}
    return value


def _coded_fraction(value: Fraction) -> Any:
    _check_fraction(value.numerator, value.denominator)
    return {"fraction": [_coded_int(value.numerator), _coded_int(value.denominator)]}


CODED: Final[dict[type, Callable[[Any], Any]]] = {
    type(None): _same,
    bool: _same,
    int: _coded_int,
    float: _coded_float,
    str: _coded_text,
    Fraction: _coded_fraction,
}
"""What makes JSON values of the scalars, by their types."""


def _check_fraction(*parts: int) -> None:
    if max(part.bit_length() for part in parts) > _FRACTION_BITS:
        raise FieldError("", f"a fraction of more than {_FRACTION_BITS} bits cannot be packed")


def int_of(coded: Any) -> int:
    """The large integer of a text in hexadecimal."""
    text: str = expect(coded, "", str, "an integer in hexadecimal")
    value = int(text, 16) if _HEX.fullmatch(text) else 0
    if value in INT:
        raise FieldError("", f"{seen(text)} is not a large integer in hexadecimal")
    return value


def float_of(coded: Any) -> float:
    """Infinity or nan, of its bits in hexadecimal."""
    data = _from_hex(coded)
    value: float = struct.unpack(">d", data)[0] if len(data) == 8 else 0.0
    if math.isfinite(value):
        raise FieldError("", f"{seen(coded)} is neither infinity nor nan")
    return value


def text_of(coded: Any) -> str:
    """The text with half of a surrogate pair, of its bytes in hexadecimal."""
    try:
        text = _from_hex(coded).decode(errors="surrogatepass")
    except UnicodeDecodeError:
        text = ""
    if _coded_text(text) != {"text": coded}:
        raise FieldError("", f"{seen(coded)} is not a text with half of a surrogate pair")
    return text


def _from_hex(coded: Any) -> bytes:
    text: str = expect(coded, "", str, "a text in hexadecimal")
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if data.hex() != text:
        raise FieldError("", f"{seen(text)} is not hexadecimal")
    return data


def fraction_of(coded: Any, value: Callable[[Any], Any]) -> Fraction:
    """The fraction of two JSON values, each of which `value` makes a value."""
    expect_count(items(coded, ""), "", 2)
    top, bottom = map(value, coded)
    if not type(top) is type(bottom) is int:
        raise FieldError("", "the parts of a fraction are not whole numbers")
    _check_fraction(top, bottom)
    found = Fraction(top, max(bottom, 1))
    if (found.numerator, found.denominator) != (top, bottom):
        raise FieldError("", "a fraction is not in its lowest terms")
    return found


def dtype_name(dtype: np.dtype[Any]) -> str:
    """What stands for the type of an array; refuse one that cannot be packed."""
    if dtype.kind == "U" and dtype.itemsize:
        return f"U{dtype.itemsize // 4}"
    if dtype.name not in _NUMBERS:
        raise FieldError("", f"an array of {dtype} cannot be packed, only of numbers, booleans and texts")
    return dtype.name


def _dtype(name: Any) -> np.dtype[Any]:
    text: str = expect(name, "", str, "the type of an array")
    if text in _NUMBERS:
        return _NUMBERS[text]
    width = _TEXTS.fullmatch(text)
    if width is None or int(width[1]) >= 2**29:  # numpy's limit is 2**31 bytes
        raise FieldError("", f"there are no arrays of {seen(text)}")
    return np.dtype(f"<{text}")


def array_pieces(array: NDArray[Any]) -> Iterator[bytes]:
    """The bytes of the array in C order, little-endian, in pieces, and the padding."""
    flat = array.astype(_dtype(dtype_name(array.dtype)), order="C", copy=False).reshape(-1).view(np.uint8)
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        yield (piece != 0 if array.dtype.kind == "b" else piece).tobytes()
    yield bytes(up(flat.size) - flat.size)


def array_at(coded: Any, data: bytes, at: int, end: int) -> tuple[NDArray[Any], int]:
    """The array of a type and a shape whose bytes begin at a place of the data, and where the next one begins."""
    expect_count(items(coded, ""), "", 2)
    dtype, shape = _dtype(coded[0]), [whole(n, "", 0, 2**63 - 1) for n in items(coded[1], "")]
    size = math.prod(shape) * dtype.itemsize
    after = at + up(size)
    if after > end:
        raise FieldError("", f"an array of {size} bytes where only {end - at} are left")
    if any(data[at + size : after]):
        raise FieldError("", "the bytes after an array have to be zero up to a multiple of 8")
    flat = np.frombuffer(data, dtype, size // dtype.itemsize, at)
    _check_cells(flat)
    try:
        return flat.reshape(shape).astype(dtype.newbyteorder("=")), after
    except ValueError:
        raise FieldError("", f"no array has the shape {seen(tuple(shape))}") from None


def _check_cells(flat: NDArray[Any]) -> None:
    """Refuse bytes that are neither true nor false, and numbers that are no characters."""
    if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
        raise FieldError("", "some of its cells are neither true nor false")
    if flat.dtype.kind == "U" and flat.view("<u4").max(initial=0) > 0x10FFFF:
        raise FieldError("", "some of its cells are not text")
