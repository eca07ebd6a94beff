"""Plain values to bytes and back: the identity for values that can be packed, and a named error for all others."""

from __future__ import annotations

import io
import json
import math
import random
import struct
import zipfile
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from naivete.errors import ModelFileError, ParameterError
from naivete.storage import packed as packing
from naivete.storage.canonical_json import Limits
from naivete.storage.packed import PACKED, CheckpointError, packed, pieces, unpacked
from naivete.storage.values import record
from tests.fuzz_model import archived, npy


@record("test-tally")
@dataclass(frozen=True, eq=False)
class Tally:
    rows: int
    counts: Any = None

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError("rows below zero")


@record("test-point")
@dataclass(frozen=True)
class Point:
    x: Any
    y: Any


@record("test-slots")
@dataclass(frozen=True, slots=True)
class Slots:
    a: Any


def exact(value: Any) -> Any:
    """A value with the types, bits and orders that == does not see."""
    kind = type(value).__name__
    if isinstance(value, np.ndarray):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return kind, "nan" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, list | tuple):
        return kind, [exact(v) for v in value]
    if isinstance(value, Point):
        return kind, exact(value.x), exact(value.y)
    if isinstance(value, dict):
        return kind, [(exact(k), exact(v)) for k, v in value.items()]
    if isinstance(value, Tally):
        return kind, value.rows, exact(value.counts)
    if isinstance(value, Slots):
        return kind, exact(value.a)
    return kind, value


any_text = st.text(st.characters(), max_size=5) | st.text(st.characters(categories=["Cs", "L"]), max_size=3)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-(2**200), 2**200), st.floats(), any_text, st.fractions())
keys = st.recursive(scalars, lambda inner: st.tuples(inner, inner) | st.builds(Point, inner, inner), max_leaves=4)
dtypes = st.sampled_from(["?", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "u4", "<u8", "<f4", ">f8"])
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
values = st.recursive(
    scalars | arrays,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(Tally, st.integers(0, 9), inner),
        st.builds(Point, inner, inner),
        st.builds(Slots, inner),
    ),
    max_leaves=12,
)


def native(value: Any) -> Any:
    """The value with its arrays in the byte order of the machine, as they come back."""
    if isinstance(value, np.ndarray):
        return value.astype(value.dtype.newbyteorder("="))
    if isinstance(value, Point):
        return Point(native(value.x), native(value.y))
    if isinstance(value, list | tuple):
        return type(value)(map(native, value))
    if isinstance(value, dict):
        return {k: native(v) for k, v in value.items()}
    if isinstance(value, Tally):
        return Tally(value.rows, native(value.counts))
    return Slots(native(value.a)) if isinstance(value, Slots) else value


def parts(data: bytes) -> tuple[bytes, dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        contents = {name: file.read(name) for name in file.namelist() if name != "sha256"}
    return contents.pop("value.json"), contents


def forged(tree: Any, arrays: dict[str, bytes] | None = None, version: str = "[1,0]") -> bytes:
    """Packed data with fitting checksums and any content."""
    text = tree if isinstance(tree, bytes) else json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return archived({"value.json": b'{"format":%s,"value":%s}' % (version.encode(), text), **(arrays or {})})


# Packing and unpacking is the identity


@given(values)
@settings(max_examples=150, deadline=None)
def test_round_trip(value: Any) -> None:
    data = packed(value)
    back = unpacked(data)
    assert exact(back) == exact(native(value))
    assert packed(back) == data == packed(native(value))


SAMPLE = {
    "none": None,
    ("tuple", 1): [True, False, 0, -1, 2**63, 2**64 - 1, -(2**63)],
    2**64: [-(2**63) - 1, 10**5000, -(16**40)],
    0.5: [math.inf, -math.inf, math.nan, 0.0, -0.0, 5e-324, 1.7976931348623157e308],
    "text": ["", "é\0\u2028\U0001f600", "\ud800", "a\udfffb", "\ud83d\ude00", '"\\[{', "tuple"],
    Fraction(1, 3): Fraction(-(7**3000), 2**1074),
    "array": np.arange(6, dtype=np.int64).reshape(2, 3),
    "bool": np.array([True, False, True]),
    "empty": (np.zeros((0, 3), np.float32), [], (), {}),
    "scalar": np.array(2.5),
    "record": Tally(3, {"q": np.array([1, 2], np.uint16)}),
    Point(1, (2,)): Slots(None),
    "$tuple": {"$": 1},
    None: {1: {}, "b": {"b": 1, "a": 2}},
}


def test_round_trip_of_a_sample() -> None:
    data = packed(SAMPLE)
    assert exact(unpacked(data)) == exact(SAMPLE)
    assert data == b"".join(pieces(SAMPLE))


def test_anybody_can_read_the_arrays() -> None:
    one, two = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([7, -8], np.int32)
    text, arrays = parts(packed({"a": one, "b": [two, 0.5]}))
    assert json.loads(text) == {
        "format": [1, 0],
        "value": {"a": {"$array": ["int32", [2, 3]]}, "b": [{"$array": ["int32", [2]]}, 0.5]},
    }
    assert np.load(io.BytesIO(arrays["int32.npy"]), allow_pickle=False).tolist() == [0, 1, 2, 3, 4, 5, 7, -8]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((1, 1.0), (1, True), (0, False), (1, "1"), (0.0, -0.0), ([], ()), ({}, []), (math.inf, "inf"), ((1, 2), Point(1, 2))),
        *((Fraction(2), 2), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.array([1]), [1]), (np.array(1), 1), (None, "")),
        (np.array([1], np.int32), np.array([1], np.int64)),
        *((["$int", "5"], {"$int": "5"}), (np.zeros((0, 2)), np.zeros((2, 0))), ({"$tuple": []}, ())),
    ],
)
def test_different_values_have_different_bytes(one: Any, other: Any) -> None:
    assert packed(one) != packed(other)
    assert exact(unpacked(packed(one))) == exact(one)
    assert exact(unpacked(packed(other))) == exact(other)


def test_scalars_of_numpy_are_plain_ones() -> None:
    ours = [np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.float64(-0.0), np.bool_(True), np.str_("é"), np.float16(0.5)]
    assert exact(unpacked(packed(ours))) == exact([-3, 2**64 - 1, float(np.float32(0.1)), -0.0, True, "é", 0.5])


def test_arrays_in_any_layout_have_the_same_bytes() -> None:
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    same = (np.asfortranarray(array), array[::-1][::-1], array.astype(">i4"), np.repeat(array, 2, axis=2)[:, :, ::2])
    assert {packed(other) for other in same} == {packed(array)}


def test_bytes_that_count_as_true_are_true() -> None:
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert exact(unpacked(packed(odd))) == exact(np.array([False, True, True, True]))


def test_large_arrays_come_in_pieces() -> None:
    array = np.arange(400_003, dtype=np.int64)
    found = list(pieces([array, array]))
    assert max(map(len, found)) <= 2**21
    assert exact(unpacked(b"".join(found))) == exact([array, array])


def test_arrays_come_back_as_copies_that_may_be_written_to() -> None:
    data = packed([np.arange(3), np.array([0.5])])
    for array in unpacked(data):
        array[0] = 7
        assert array.flags.aligned
    assert [array[0] for array in unpacked(data)] == [0, 0.5]


# What cannot be packed is refused


def nested(depth: int, value: Any = 0) -> Any:
    for _ in range(depth):
        value = (value,)
    return value


def test_as_deep_as_can_be_packed_can_be_read() -> None:
    for leaf in (0, np.zeros((1, 1)), Fraction(10**30, 7), {1: 2}, Point(1, Fraction(2**70))):
        deepest = max(depth for depth in range(60) if can_be_packed(nested(depth, leaf)))
        assert 40 < deepest < 50
        assert exact(unpacked(packed(nested(deepest, leaf)))) == exact(nested(deepest, leaf))


def can_be_packed(value: Any) -> bool:
    try:
        packed(value)
    except CheckpointError as error:
        assert "deep" in str(error)  # noqa: PT017
        return False
    return True


COLLIDING = [i * (2**61 - 1) for i in range(200)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "^value: a value of type set"),
        ([0, {"a": (b"x",)}], r"^value\[1\]\.a\[0\]: a value of type bytes"),
        ({1: {"b c": object}}, r"^value\[1\]\['b c'\]: a value of type type"),
        ([Point(1, print)], r"^value\[0\]\.y: a value of type builtin"),
        (np.array(["a"]), "an array of <U1"),
        (np.array([None]), "an array of object"),
        (np.array([1j]), "an array of complex128"),
        (np.array(["2020-01-01"], "M8[D]"), "an array of datetime64"),
        (np.array([1], np.float16), "an array of float16"),
        (np.zeros(1, [("a", "i4")]), "an array of "),
        (np.ma.array([1]), "type MaskedArray"),
        (np.datetime64(5, "ns"), "type datetime64"),
        (np.zeros(1, [("a", "i4")])[0], "type void"),
        (1j, "type complex"),
        (dict.fromkeys(COLLIDING), "more than 100 keys"),
        (nested(60), "more than 45 deep"),
        (Fraction(1, 2**70000), "a fraction of more than 65536 bits"),
    ],
)
def test_what_cannot_be_packed(value: Any, words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        packed(value)


def test_endless_values_are_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match="deep"):
        packed(endless)


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "PACKED", replace(PACKED, limits=Limits(json_bytes=10)))
    with pytest.raises(CheckpointError, match="more than the limit of 10"):
        packed("x" * 10)


# Records


def test_words_are_short_and_stand_for_one_class() -> None:
    for word in ("", "Tally", "a b", "x" * 40, "é"):
        with pytest.raises(ParameterError, match="short word"):
            record(word)
    with pytest.raises(ParameterError, match="'test-point' stands for Point already"):
        record("test-point")(Slots)
    assert record("test-slots")(Slots) is Slots


# Damage


GOOD = packed({("a", 1): [0.5, Fraction(1, 3), 2**70], "t": Tally(2, np.arange(3, dtype=np.int16)), "n": [math.inf, "\ud800"]})


def test_truncated_at_every_byte_and_every_byte_changed() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(CheckpointError, match=r"^f\.nvc: "):
            unpacked(GOOD[:length], "f.nvc")
    for at in range(len(GOOD)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(GOOD)
            data[at] ^= change
            with pytest.raises(CheckpointError, match=r"^f\.nvc: .*; run it again$"):
                unpacked(bytes(data), "f.nvc", advice="run it again")
    for data in (GOOD + b"\n", GOOD + GOOD, b"\x80\x04N.", b"PK\x03\x04", b"\x8bNVC\r\n\x1a\n"):
        with pytest.raises(CheckpointError, match=r"^data: "):
            unpacked(data)


def test_errors_are_those_of_model_files() -> None:
    assert issubclass(CheckpointError, ModelFileError)


def test_versions() -> None:
    words = {"[2,3]": r"the file has format 2\.3 and this naivete reads 1\.0; update", "[0,1]": r"there is no format 0\.1"}
    for version, expected in words.items():
        with pytest.raises(CheckpointError, match=expected):
            unpacked(forged(1, version=version))
    for version in ("1", "[1]", "[1,0,0]", "[1,true]", "[-1,0]", "{}"):
        with pytest.raises(CheckpointError, match="m: format: "):
            unpacked(forged(1, version=version), "m")
    with pytest.raises(CheckpointError, match=r"'\$set' .*; the file has format 1\.7 and this naivete reads 1\.0; update"):
        unpacked(forged({"$set": []}, version="[1,7]"))


BODY = {"int64.npy": npy(np.arange(2))}
NONE: dict[str, bytes] = {}
HOSTILE: dict[str, tuple[Any, dict[str, bytes], str]] = {
    "kind-unknown": ({"$set": []}, NONE, r"value: values of the kind '\$set' are not known"),
    "kind-two": ({"$int": "1", "$float": "0"}, NONE, "value: values of the kind"),
    "kind-and-key": ({"$tuple": [], "a": 1}, NONE, "value: values of the kind"),
    "kind-behind-a-key": ({"!": 1, "$b": 1}, NONE, r"value: values of the kind '\$b'"),
    "inside": ([0, {"$tuple": [{"$no": 1}]}], NONE, r"value\[1\]\[0\]: values of the kind"),
    "int-large": (2**64, NONE, "value: an integer of more than 64 bits"),
    "int-small": ({"$int": "5"}, NONE, "value: '5' is not an integer of more than 64 bits"),
    "int-odd": ({"$int": "0x1_f"}, NONE, "value: .* is not an integer"),
    "int-zeros": ({"$int": "0" + "f" * 20}, NONE, "value: .* is not an integer"),
    "int-upper": ({"$int": "F" * 20}, NONE, "value: .* is not an integer"),
    "int-number": ({"$int": 5}, NONE, "value: an integer in hexadecimal was expected, got 5"),
    "int-5000-digits": (b"9" * 5000, NONE, r"value\.json: not canonical JSON: Exceeds the limit"),
    "int-4000-digits": (b"9" * 4000, NONE, "value: an integer of more than 64 bits"),
    "float-finite": ({"$float": "0.5"}, NONE, "value: '0.5' is none of"),
    "float-upper": ({"$float": "Inf"}, NONE, "value: 'Inf' is none of"),
    "float-list": ({"$float": []}, NONE, "value: a list is none of"),
    "fraction-terms": ({"$fraction": [2, 4]}, NONE, "value: a fraction is not in lowest"),
    "fraction-zero": ({"$fraction": [1, 0]}, NONE, "value: a fraction is not"),
    "fraction-negative": ({"$fraction": [1, -3]}, NONE, "value: a fraction is not"),
    "fraction-one": ({"$fraction": [1]}, NONE, "value: a fraction is not a list of two integers"),
    "fraction-bool": ({"$fraction": [True, 1]}, NONE, "value: a fraction is not a list of two integers"),
    "fraction-text": ({"$fraction": ["1", 1]}, NONE, "value: a fraction is not a list of two integers"),
    "fraction-decimal": ({"$fraction": [1, 10**20]}, NONE, r"value\[1\]: an integer of more than 64 bits has to be in hexadecimal"),
    "fraction-large": ({"$fraction": [1, {"$int": "1" + "0" * 20000}]}, NONE, "value: a fraction of more than"),
    "fraction-object": ({"$fraction": {}}, NONE, "value: a list was expected"),
    "tuple-text": ({"$tuple": "ab"}, NONE, "value: a list was expected"),
    "dict-odd": ({"$dict": [1]}, NONE, "value: a dict has a key without"),
    "dict-twice": ({"$dict": [1, 2, True, 3]}, NONE, "value: a dict has .* a key twice"),
    "dict-sorted": ({"$dict": ["a", 1, "b", 2]}, NONE, "value: a dict with strings in sorted order as keys has to be an object"),
    "dict-list-key": ({"$dict": [[], 1]}, NONE, "value: a key of a dict cannot be a list"),
    "dict-array-key": ({"$dict": [{"$tuple": [{"$array": ["int64", [2]]}]}, 1]}, BODY, "value: a key of a dict cannot be"),
    "dict-object": ({"$dict": {"a": 1}}, NONE, "value: a list was expected"),
    "dict-collisions": (
        {"$dict": [x for i in range(200) for x in ({"$int": f"{(i + 99) * (2**61 - 1):x}"}, 0)]},
        NONE,
        "value: more than 100",
    ),
    "record-unknown": ({"$record": "os.system"}, NONE, "value: no record is called 'os.system' here"),
    "record-list": ({"$record": []}, NONE, "value: the word of a record was expected, got a list"),
    "record-fewer": ({"$record": "test-tally", "rows": 1}, NONE, "value: the field 'counts' is missing"),
    "record-more": ({"$record": "test-slots", "a": 1, "b": 2}, NONE, "value: unknown field 'b'"),
    "record-value": (
        {"$record": "test-tally", "rows": -1, "counts": 0},
        NONE,
        "value: not a record 'test-tally': ValueError: rows",
    ),
    "record-type": ({"$record": "test-tally", "rows": "x", "counts": 0}, NONE, "value: not a record 'test-tally': TypeError"),
    "record-inside": ({"$record": "test-slots", "a": {"$x": 1}}, NONE, r"value\.a: values of the kind"),
    "array-one": ({"$array": ["int64"]}, BODY, "value: an array has to be a list of its type and its shape"),
    "array-object": ({"$array": {"int64": 1}}, BODY, "value: an array has to be a list"),
    "array-type": ({"$array": ["object", [2]]}, BODY, "value: there is no member 'object.npy'"),
    "array-type-number": ({"$array": [8, [2]]}, BODY, "value: the type of an array was expected"),
    "array-claims": ({"$array": ["int64", [10**12]]}, BODY, "value: an array of 8000000000000 bytes where only 16 are left"),
    "array-overflow": ({"$array": ["int64", [2**62, 2**62]]}, BODY, "value: an array of"),
    "array-negative": ({"$array": ["int64", [-1, -2]]}, BODY, "value: -1 is not between"),
    "array-float": ({"$array": ["int64", [2.0]]}, BODY, "value: an integer"),
    "array-shape": ({"$array": ["int64", 2]}, BODY, "value: a shape was expected"),
    "array-axes": ({"$array": ["int64", [2, *[1] * 99]]}, BODY, "value: no array has the shape"),
    "array-empty-huge": (
        [{"$array": ["int64", [2]]}, {"$array": ["int64", [0, 2**62, 2**62]]}],
        BODY,
        r"value\[1\]: no array has the shape",
    ),
    "array-fewer": ({"$array": ["int64", [1]]}, BODY, r"int64\.npy: 8 bytes belong to no array"),
    "array-none": ([], BODY, r"int64\.npy: 16 bytes"),
    "array-none-empty": ([], {"int64.npy": npy(np.arange(0))}, r"int64\.npy: 0 bytes belong to no array"),
    "array-two": ([{"$array": ["int64", [2]]}, {"$array": ["int64", [1]]}], BODY, r"value\[1\]: an array of 8 bytes where only 0"),
    "array-bool": (
        {"$array": ["bool", [2]]},
        {"bool.npy": npy(np.array([True, False]))[:-1] + b"\2"},
        "value: some of its cells are neither",
    ),
    "npy-order": (
        [{"$array": ["int64", [2]]}, {"$array": ["int8", [1]]}],
        {"int8.npy": npy(np.array([1], np.int8)), **BODY},
        r"int8\.npy: the members are not in alphabetical order",
    ),
    "npy-name": ([], {"evil.npy": b""}, r"evil\.npy: naivete writes no member of this name"),
    "npy-ending": ([], {"int8": b""}, "int8: naivete writes no member of this name"),
    "npy-empty": ({"$array": ["int64", [0]]}, {"int64.npy": b""}, r"int64\.npy: its header"),
    "npy-count": ({"$array": ["int64", [1]]}, {"int64.npy": BODY["int64.npy"][:-8]}, r"int64\.npy: its header"),
    "npy-part": ({"$array": ["int64", [1]]}, {"int64.npy": BODY["int64.npy"][:-3]}, r"int64\.npy: its header"),
    "npy-object": (
        {"$array": ["int64", [2]]},
        {"int64.npy": BODY["int64.npy"].replace(b"'<i8'", b"'|O8'")},
        r"int64\.npy: its header",
    ),
    "npy-fortran": (
        {"$array": ["int64", [2]]},
        {"int64.npy": BODY["int64.npy"].replace(b"False", b"True ")},
        r"int64\.npy: its header",
    ),
    "text-not-canonical": (b'["a", 1]', NONE, r"value\.json: not canonical JSON .* near .*, 1\]"),
    "text-escape": (rb'"\u0061"', NONE, r"value\.json: not canonical JSON"),
    "text-unsorted": (b'{"b":1,"a":2}', NONE, r"value\.json: not canonical JSON"),
    "text-nan": (b"NaN", NONE, r"value\.json: not canonical JSON: Out of range float"),
    "text-overflow": (b"1e999", NONE, r"value\.json: not canonical JSON: Out of range float"),
    "text-not-json": (b"[1,]", NONE, r"value\.json: not canonical JSON: "),
    "text-empty": (b"", NONE, r"value\.json: not canonical JSON: "),
    "text-twice": (b'{"int":"1","int":"1"}', NONE, r"value\.json: not canonical JSON .* near '.*int"),
    "text-deep": (b"[" * 200_000 + b"]" * 200_000, NONE, r"value\.json: lists and objects nested 200001 deep"),
    "text-utf8": (b'"\xff"', NONE, r"value\.json: not canonical JSON: 'utf-8' codec"),
    "field": (b'1,"w":1', NONE, r"value\.json: unknown field 'w'"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_content_with_a_fitting_checksum(name: str) -> None:
    tree, body, words = HOSTILE[name]
    with pytest.raises(CheckpointError, match=f"^m: ({words})") as caught:
        unpacked(forged(tree, body), "m")
    assert len(str(caught.value)) < 500
    assert "all checksums are correct" in str(caught.value)


def test_hostile_text_is_parsed_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts that exceed a limit are refused before they are parsed."""
    calls: list[int] = []
    monkeypatch.setattr(json, "loads", lambda *_, **__: calls.append(1))
    monkeypatch.setattr(packing, "PACKED", replace(PACKED, limits=Limits(values=1000)))
    for text in (b"[" * 200_000 + b"]" * 200_000, b"[" * 200_000, b"[" + b"[]," * 1000 + b"1]", b"]" * 100_000):
        with pytest.raises(CheckpointError):
            unpacked(forged(text))
    assert not calls


def test_the_forge_makes_valid_data_too() -> None:
    text, arrays = parts(GOOD)
    assert forged(text.removeprefix(b'{"format":[1,0],"value":').removesuffix(b"}"), arrays) == GOOD


def mutant(rng: random.Random, text: bytes, arrays: dict[str, bytes]) -> bytes:
    """The JSON or one of the arrays with a few changes, and checksums that fit."""
    tokens = [b"[", b"]", b"{", b"}", b",", b":", b'"', b"0", b"-", b"1e9", b"null", b"true", b'"$int"', b'"$tuple"', b'"$dict"']
    tokens += [
        b'"$array"',
        b'"$record"',
        b'"$float"',
        b'"int64"',
        b'{"$tuple":[]}',
        b"99999999999999999999",
        b"\xed\xa0\x80",
    ]
    name = rng.choice(list(arrays))
    changed = [bytearray(text), bytearray(arrays[name])]
    for _ in range(rng.randint(1, 3)):
        part = changed[rng.random() < 0.2]
        start = rng.randint(0, len(part))
        stop = min(len(part), start + rng.choice([0, 1, 1, 2, 5, 20]))
        cut = rng.randint(0, len(part))
        part[start:stop] = rng.choice([rng.choice(tokens), rng.randbytes(1), part[cut : cut + rng.randint(0, 30)], b""])
    return archived({"value.json": bytes(changed[0]), **arrays, name: bytes(changed[1])})


def mutated(count: int) -> None:
    rng = random.Random(5)
    corpus = [parts(data) for data in (GOOD, packed(SAMPLE), packed([Point(1, "a"), {"b": (1.5, None)}, np.array([1.5])]))]
    for _ in range(count):
        data = mutant(rng, *rng.choice(corpus))
        try:
            value = unpacked(data, "m")
        except CheckpointError:
            continue
        assert packed(value) == data


def test_mutations_are_refused_or_as_good_as_packed() -> None:
    mutated(2000)


@pytest.mark.slow
def test_many_mutations() -> None:
    mutated(200_000)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes(data: bytes) -> None:
    for tried in (data, GOOD[:40] + data, forged(data), forged(b"[]", {"int8.npy": data})):
        try:
            value = unpacked(tried)
        except CheckpointError:
            continue
        assert packed(value) == tried
