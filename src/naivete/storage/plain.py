r"""Plain data to bytes and back, exactly: for checkpoints, and for counts that travel between machines.

The layout is that of a `container` whose magic is "\x8bNVC\r\n\x1a\n". Its header is a tree of JSON in which None, booleans,
integers of 64 bits, finite floats, Unicode texts and lists stand for themselves, and an object with one key for all else:

    {"int": "-1f..."}                       a larger integer, in hexadecimal
    {"float": "7ff0000000000000"}           infinity or nan: the bits, the sign first
    {"text": "eda080"}                      a text with half of a surrogate pair: its bytes in hexadecimal
    {"fraction": [1, 3]}                    numerator and denominator, in lowest terms
    {"tuple": [...]}                        a tuple
    {"dict": [key, value, key, value]}      a dict, in its order
    {"array": ["int64", [2, 3]]}            the next of the arrays: its type and its shape
    {"record": ["tally", "rows", 3]}        an instance of the class that goes by this word: its fields, by name

Reading never runs, imports or looks up anything but the classes that were registered under their words with `record`.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ModelFileError, ParameterError, quoted
from naivete.storage.canonical_json import FieldError, Limits, canonical, expect, items, parsed, seen
from naivete.storage.container import Container, up
from naivete.storage.plain_leaves import CODED, INT, array_at, array_pieces, dtype_name, float_of, fraction_of, int_of, text_of

__all__ = ["BOX", "LIMITS", "CheckpointError", "check_magic", "packed", "pieces", "record", "unpacked"]

T = TypeVar("T")


class CheckpointError(ModelFileError):
    """Packed data or a checkpoint is damaged, hostile, of another run, or of a version this library cannot read."""


BOX: Final = Container("checkpoint", b"\x8bNVC\r\n\x1a\n", (1, 0), CheckpointError)
LIMITS: Final = Limits(file_bytes=2**40, header_bytes=2**29, values=2**29, depth=100)
_DEPTH: Final = 45
"""How deep values may be nested, so that their JSON is within the limits."""
_COLLISIONS: Final = 100
"""How many keys of a dict may have one hash, as those of hostile data might all have."""
_WORD: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_KNOWN: Final = "None, bool, int, float, str, Fraction, tuple, list, dict, arrays of numbers or texts, and records"
_CLASSES: Final[dict[str, type]] = {}
_RECORDS: Final[dict[type, tuple[str, tuple[str, ...]]]] = {}


def record(word: str) -> Callable[[type[T]], type[T]]:
    """Register a frozen dataclass or a NamedTuple under a short word, so that its instances can be packed.

    An instance is stored as the word and its fields, and rebuilt by calling the class with them; what the class refuses,
    `unpacked` refuses. So a class checks in `__post_init__` what its methods rely on, if its instances come from strangers.

    Parameters
    ----------
    word : what stands for the class in the data, for ever.

    >>> from typing import NamedTuple
    >>> @record("example-point")
    ... class Point(NamedTuple):
    ...     x: int
    ...     y: int
    >>> unpacked(packed([Point(1, 2)]))
    [Point(x=1, y=2)]
    """
    if not _WORD.fullmatch(word):
        raise ParameterError(f"record: {quoted(word)} is not a short word of lowercase letters, digits, _ and -; choose one")

    def registered(cls: type[T]) -> type[T]:
        names = _field_names(cls)
        known = _CLASSES.get(word, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError(f"record: the word {word!r} stands for {known.__qualname__} already; choose another")
        _CLASSES[word] = cls
        _RECORDS[cls] = word, names
        return cls

    return registered


def _field_names(cls: type) -> tuple[str, ...]:
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names: tuple[str, ...] = cls._fields
        return names
    if dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        fields = dataclasses.fields(cls)
        if all(field.init for field in fields):
            return tuple(field.name for field in fields)
    raise ParameterError(f"record: {cls.__qualname__} is no NamedTuple and no frozen dataclass made from all of its fields")


def packed(value: object) -> bytes:
    """The bytes of a value; equal values of equal types, with dicts in equal order, have equal bytes.

    >>> unpacked(packed({("a", 1): [0.5, -0.0, None]}))
    {('a', 1): [0.5, -0.0, None]}
    """
    return b"".join(pieces(value))


def pieces(value: object) -> Iterator[bytes]:
    """The same bytes in pieces of bounded size, so that large arrays are not copied; the last one is the checksum.

    What cannot be packed is refused at once. The arrays are read while the pieces are.
    """
    writer = _Writer()
    try:
        header = canonical(writer.coded(value, 0))
    except FieldError as error:
        raise CheckpointError(f"value{error.field}: {error.reason}; it cannot be packed, and nothing was written") from None
    if len(header) > LIMITS.header_bytes:
        raise CheckpointError(f"value: its texts and numbers need {len(header)} bytes, more than {LIMITS.header_bytes}; use arrays")
    return BOX.pieces(
        header, chain.from_iterable(map(array_pieces, writer.arrays)), sum(up(array.nbytes) for array in writer.arrays)
    )


def unpacked(data: bytes, where: str = "data", *, advice: str = "get a new copy", limits: Limits = LIMITS) -> Any:
    """The value of these bytes, whoever made them; the arrays are copies that may be written to.

    Parameters
    ----------
    data : what `packed` returned; anything else is refused with a CheckpointError.
    where : what errors call it, such as the name of the file or of the machine.
    advice : what errors recommend.
    limits : the most it may ask for.
    """
    if len(data) > limits.file_bytes:
        raise CheckpointError(f"{where}: {len(data)} bytes are more than the limit of {limits.file_bytes}; pass other limits")
    check_magic(data, where, advice)
    BOX.check(data, where, advice)
    try:
        return _understood(data, limits)
    except FieldError as error:
        raise BOX.blamed(data, where, error, advice) from None


def check_magic(data: bytes, where: str, advice: str = "get a new copy") -> None:
    """Refuse bytes that do not begin like packed ones."""
    if not data.startswith(BOX.magic):
        raise CheckpointError(f"{where}: not data packed by naivete: it begins with {quoted(data[:8])}; {advice}")


def _understood(data: bytes, limits: Limits) -> Any:
    text, start, end = BOX.parts(data)
    tree = parsed(text, limits)
    _check_canonical(tree, text)
    reader = _Reader(data, start, end)
    value = _named(reader.value, tree)
    if reader.at != end:
        raise FieldError("arrays", f"{end - reader.at} bytes belong to no array")
    return value


def _check_canonical(tree: Any, text: bytes) -> None:
    """Refuse another text of the same tree, and with it what JSON readers let pass and `parsed` marked."""
    try:
        if canonical(tree) == text:
            return
    except FieldError as error:
        raise FieldError("header", error.reason) from None
    raise FieldError("header", "not in its canonical form of sorted keys, no blanks and shortest numbers")


def _named(function: Callable[[Any], Any], tree: Any) -> Any:
    try:
        return function(tree)
    except FieldError as error:
        raise FieldError(f"value{error.field}", error.reason) from None


def _each(function: Callable[[Any], Any], values: Sequence[Any], label: Callable[[int], object] = int) -> list[Any]:
    """The function's values; an error says at which of them it was."""
    found = []
    for i, value in enumerate(values):
        try:
            found.append(function(value))
        except FieldError as error:
            raise FieldError(f"[{label(i)}]{error.field}"[:200], error.reason) from None
    return found


class _Writer:
    """Turns values into JSON values, and keeps the arrays on the way."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []

    def coded(self, value: object, depth: int) -> Any:
        """The value as JSON values."""
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            value = value.item()
        kind = type(value)
        if kind in CODED:
            return CODED[kind](value)
        if depth > _DEPTH:
            raise FieldError("", f"values are nested more than {_DEPTH} deep")
        if kind is list:
            return self._coded_list(value, depth)
        if kind is tuple:
            return {"tuple": self._coded_list(value, depth)}
        if kind is dict:
            return {"dict": self._coded_dict(value, depth)}
        if kind is np.ndarray:
            return {"array": self._coded_array(value)}
        if kind in _RECORDS:
            return {"record": self._coded_record(value, depth)}
        raise FieldError("", f"a value of type {kind.__name__} cannot be packed, only {_KNOWN}")

    def _coded_list(self, values: Any, depth: int, label: Callable[[int], object] = int) -> list[Any]:
        return _each(lambda value: self.coded(value, depth + 1), values, label)

    def _coded_dict(self, values: Any, depth: int) -> list[Any]:
        _check_keys(list(values))
        flat = [part for item in values.items() for part in item]
        return self._coded_list(flat, depth, lambda i: _label(flat[i - i % 2], i // 2))

    def _coded_array(self, array: Any) -> list[Any]:
        name = dtype_name(array.dtype)
        self.arrays.append(array)
        return [name, list(array.shape)]

    def _coded_record(self, value: Any, depth: int) -> list[Any]:
        word, names = _RECORDS[type(value)]
        flat = [part for name in names for part in (name, getattr(value, name))]
        return [word, *self._coded_list(flat, depth, lambda i: names[i // 2])]


def _label(key: object, place: int) -> str:
    """What errors call an entry of a dict: its key where that is text, else its place."""
    return quoted(key) if type(key) is str else f"entry {place}"


def _check_keys(keys: list[Any]) -> None:
    """Refuse keys that cannot be some, and those that were made to take a dict for ever."""
    try:
        hashes = Counter(map(hash, keys))
    except TypeError:
        raise FieldError("", "a key of a dict cannot be a list, a dict or an array, or hold one") from None
    if hashes and max(hashes.values()) > _COLLISIONS:
        raise FieldError("", f"more than {_COLLISIONS} keys of a dict have the same hash")


class _Reader:
    """Turns JSON values into values, and takes the arrays in their order; `at` is where the next one begins."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def value(self, coded: Any) -> Any:
        """The value that the JSON values stand for."""
        kind = type(coded)
        if kind is list:
            return _each(self.value, coded)
        if kind is dict:
            tag, *others = coded or [""]
            if others or tag not in _TAGS:
                raise FieldError("", f"there are no values of the kind {seen(tag)}")
            return _TAGS[tag](self, coded[tag])
        if kind is int and coded not in INT:
            raise FieldError("", "an integer of more than 64 bits has to be in hexadecimal")
        return coded

    def _tuple(self, coded: Any) -> tuple[Any, ...]:
        return tuple(_each(self.value, items(coded, "")))

    def _dict(self, coded: Any) -> dict[Any, Any]:
        flat = _each(self.value, items(coded, ""))
        keys, values = flat[::2], flat[1::2]
        _check_keys(keys)
        if len(keys) != len(values) or len(set(keys)) != len(keys):
            raise FieldError("", "a dict has a key without a value, or a key twice")
        return dict(zip(keys, values, strict=True))

    def _record(self, coded: Any) -> Any:
        word, *flat = items(coded, "") or [None]
        cls = _CLASSES.get(expect(word, "", str, "the word of a record"))
        if cls is None:
            raise FieldError("", f"no record goes by the word {seen(word)} here")
        names = _RECORDS[cls][1]
        if tuple(flat[::2]) != names or len(flat) != 2 * len(names):
            raise FieldError("", f"the fields of a record {word!r} are not {', '.join(names)}")
        fields = dict(zip(names, _each(self.value, flat[1::2], lambda i: names[i]), strict=True))
        try:
            return cls(**fields)
        except Exception as error:
            raise FieldError("", f"not a record {word!r}: {type(error).__name__}: {str(error)[:200]}") from error

    def _array(self, coded: Any) -> NDArray[Any]:
        array, self.at = array_at(coded, self.data, self.at, self.end)
        return array


_TAGS: Final[dict[str, Callable[[_Reader, Any], Any]]] = {
    "int": lambda _, coded: int_of(coded),
    "float": lambda _, coded: float_of(coded),
    "text": lambda _, coded: text_of(coded),
    "fraction": lambda reader, coded: fraction_of(coded, reader.value),
    "tuple": _Reader._tuple,
    "dict": _Reader._dict,
    "array": _Reader._array,
    "record": _Reader._record,
}
