"""Plain data to bytes and back: the identity for what can be packed, and a named error for all else."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from naivete.errors import ModelFileError, ParameterError
from naivete.storage import plain
from naivete.storage.canonical_json import Limits
from naivete.storage.plain import CheckpointError, packed, pieces, record, unpacked

PREFIX = struct.Struct("<8sHHIQ")


@record("test-tally")
@dataclass(frozen=True, eq=False)
class Tally:
    rows: int
    counts: Any = None

    def __post_init__(self) -> None:
        if self.rows < 0:
            raise ValueError("rows below zero")


@record("test-point")
class Point(NamedTuple):
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
        return kind, struct.pack(">d", value)
    if isinstance(value, Point | list | tuple):
        return kind, [exact(v) for v in value]
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
dtypes = st.sampled_from(["?", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "u4", "<u8", "<f4", ">f8", "<U3", ">U1"])
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
        return Point(*map(native, value))
    if isinstance(value, list | tuple):
        return type(value)(map(native, value))
    if isinstance(value, dict):
        return {k: native(v) for k, v in value.items()}
    if isinstance(value, Tally):
        return Tally(value.rows, native(value.counts))
    return Slots(native(value.a)) if isinstance(value, Slots) else value


def parts(data: bytes) -> tuple[bytes, bytes]:
    _, _, _, length, size = PREFIX.unpack_from(data)
    start = PREFIX.size + -(-length // 8) * 8
    return data[PREFIX.size : PREFIX.size + length], data[start : start + size]


def sealed(data: bytes) -> bytes:
    return data + hashlib.sha256(data).digest()


def forged(tree: Any, body: bytes = b"") -> bytes:
    """Packed data with a fitting checksum and any content."""
    text = tree if isinstance(tree, bytes) else json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return sealed(PREFIX.pack(b"\x8bNVC\r\n\x1a\n", 1, 0, len(text), len(body)) + text + bytes(-len(text) % 8) + body)


# Packing and unpacking is the identity


@given(values)
@settings(max_examples=400, deadline=None)
def test_round_trip(value: Any) -> None:
    data = packed(value)
    back = unpacked(data)
    assert exact(back) == exact(native(value))
    assert packed(back) == data == packed(native(value))


SAMPLE = {
    "none": None,
    ("tuple", 1): [True, False, 0, -1, 2**63, 2**64 - 1, -(2**63)],
    2**64: [-(2**63) - 1, 10**5000, -(16**40)],
    0.5: [math.inf, -math.inf, math.nan, -math.nan, 0.0, -0.0, 5e-324, 1.7976931348623157e308],
    "text": ["", "é\0\u2028\U0001f600", "\ud800", "a\udfffb", "\ud83d\ude00", '"\\[{', "tuple"],
    Fraction(1, 3): Fraction(-(7**3000), 2**1074),
    "array": np.arange(6, dtype=np.int64).reshape(2, 3),
    "bool": np.array([True, False, True]),
    "texts": np.array([["a", ""], ["\ud800", "dcé"]]),
    "empty": (np.zeros((0, 3), np.float32), [], (), {}),
    "scalar": np.array(2.5),
    "record": Tally(3, {"q": np.array([1, 2], np.uint16)}),
    Point(1, (2,)): Slots(None),
    None: {1: {}},
}


def test_round_trip_of_a_sample() -> None:
    data = packed(SAMPLE)
    assert exact(unpacked(data)) == exact(SAMPLE)
    assert data == b"".join(pieces(SAMPLE))
    assert data[-32:] == list(pieces(SAMPLE))[-1] == hashlib.sha256(data[:-32]).digest()
    assert data.startswith(b"\x8bNVC\r\n\x1a\n")
    assert len(data) % 8 == 0


def test_the_bits_of_nan_are_kept() -> None:
    odd = struct.unpack(">d", bytes.fromhex("fff8000000000123"))[0]
    assert struct.pack(">d", unpacked(packed(odd))).hex() == "fff8000000000123"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((1, 1.0), (1, True), (0, False), (1, "1"), (0.0, -0.0), ([], ()), ({}, []), (math.inf, "inf"), ((1, 2), Point(1, 2))),
        *((Fraction(2), 2), ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (np.array([1]), [1]), (np.array(1), 1), (None, "")),
        (np.array([1], np.int32), np.array([1], np.int64)),
        *((["int", "5"], {"int": "5"}), (np.zeros((0, 2)), np.zeros((2, 0))), (np.array(["a"]), np.array(["a"], "U2"))),
        (math.nan, -math.nan),
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
    assert max(map(len, found)) <= 2**20
    assert exact(unpacked(b"".join(found))) == exact([array, array])


def test_arrays_come_back_as_copies_that_may_be_written_to() -> None:
    data = packed([np.arange(3), np.array(["a"])])
    numbers, texts = unpacked(data)
    numbers[0], texts[0] = 7, "b"
    assert unpacked(data)[0][0] == 0
    assert unpacked(data)[1][0] == "a"


# What cannot be packed is refused


def nested(depth: int, value: Any = 0) -> Any:
    for _ in range(depth):
        value = (value,)
    return value


def test_as_deep_as_can_be_packed_can_be_read() -> None:
    for leaf in (0, np.zeros((1, 1)), Fraction(10**30, 7), {1: 2}, Point(1, Fraction(2**70))):
        assert exact(unpacked(packed(nested(45, leaf)))) == exact(nested(45, leaf))
        with pytest.raises(CheckpointError, match="deep"):
            packed(nested(46, [leaf]))


COLLIDING = [i * (2**61 - 1) for i in range(200)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, "^value: a value of type set"),
        ([0, {"a": (b"x",)}], r"^value\[1\]\['a'\]\[0\]: a value of type bytes"),
        ({1: {2: object}}, r"^value\[entry 0\]\[entry 0\]: a value of type type"),
        ([Point(1, print)], r"^value\[0\]\[y\]: a value of type builtin"),
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
    monkeypatch.setattr(plain, "LIMITS", Limits(header_bytes=10))
    with pytest.raises(CheckpointError, match="more than 10; use arrays"):
        packed("x" * 10)


# Records


def test_words_are_short_and_stand_for_one_class() -> None:
    for word in ("", "Tally", "a b", "x" * 40, "é"):
        with pytest.raises(ParameterError, match="short word"):
            record(word)
    with pytest.raises(ParameterError, match="'test-point' stands for Point already"):
        record("test-point")(Slots)
    assert record("test-slots")(Slots) is Slots


def test_only_frozen_classes_made_from_their_fields_are_records() -> None:
    @dataclass
    class Loose:
        a: int

    @dataclass(frozen=True)
    class Derived:
        a: int = field(init=False, default=0)

    for cls in (Loose, Derived, int, tuple):
        with pytest.raises(ParameterError, match="no NamedTuple and no frozen dataclass"):
            record("test-odd")(cls)


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
    for data in (GOOD + b"\n", GOOD + GOOD, b"\x80\x04N.", b"PK\x03\x04"):
        with pytest.raises(CheckpointError, match=r"^data: "):
            unpacked(data)


def test_errors_are_those_of_model_files() -> None:
    assert issubclass(CheckpointError, ModelFileError)


def test_versions() -> None:
    for version, words in (((2, 3), r"format 2\.3, .* up to 1\.0; update"), ((0, 1), r"there is no format 0\.1")):
        data = bytearray(GOOD[:-32])
        data[8:12] = struct.pack("<HH", *version)
        with pytest.raises(CheckpointError, match=words):
            unpacked(sealed(bytes(data)))
    data = bytearray(forged({"set": []})[:-32])
    data[10] = 7
    with pytest.raises(CheckpointError, match=r"'set'; the file has format 1\.7 and this naivete reads 1\.0; update"):
        unpacked(sealed(bytes(data)))


BODY = np.arange(2, dtype="<i8").tobytes()
HOSTILE: dict[str, tuple[Any, bytes, str]] = {
    "kind-unknown": ({"set": []}, b"", "value: there are no values of the kind 'set'"),
    "kind-two": ({"int": "1", "float": "0"}, b"", "value: there are no values of the kind"),
    "kind-none": ({}, b"", "value: there are no values of the kind ''"),
    "inside": ([0, {"tuple": [{"no": 1}]}], b"", r"value\[1\]\[0\]: there are no values"),
    "int-large": (2**64, b"", "value: an integer of more than 64 bits"),
    "int-small": ({"int": "5"}, b"", "value: '5' is not a large integer"),
    "int-odd": ({"int": "0x1_f"}, b"", "value: .* is not a large integer"),
    "int-zeros": ({"int": "0" + "f" * 20}, b"", "value: .* is not a large integer"),
    "int-upper": ({"int": "F" * 20}, b"", "value: .* is not a large integer"),
    "int-number": ({"int": 5}, b"", "value: an integer in hexadecimal was expected, got 5"),
    "int-5000-digits": (b"9" * 5000, b"", "header: an integer of 5000 digits"),
    "float-finite": ({"float": "0" * 16}, b"", "value: '0+' is neither infinity nor nan"),
    "float-short": ({"float": "7ff0"}, b"", "value: '7ff0' is neither"),
    "float-upper": ({"float": "7FF0000000000000"}, b"", "value: .* is not hexadecimal"),
    "float-odd": ({"float": "7ff000000000000"}, b"", "value: .* is not hexadecimal"),
    "float-list": ({"float": []}, b"", "value: a text in hexadecimal was expected, got a list"),
    "text-plain": ({"text": "61"}, b"", "value: '61' is not a text with half"),
    "text-blank": ({"text": "ed a0 80"}, b"", "value: 'ed a0 80' is not hexadecimal"),
    "text-bytes": ({"text": "ff"}, b"", "value: 'ff' is not a text"),
    "fraction-terms": ({"fraction": [2, 4]}, b"", "value: a fraction is not in its lowest"),
    "fraction-zero": ({"fraction": [1, 0]}, b"", "value: a fraction is not"),
    "fraction-negative": ({"fraction": [1, -3]}, b"", "value: a fraction is not"),
    "fraction-one": ({"fraction": [1]}, b"", "value: 1 entries where 2"),
    "fraction-bool": ({"fraction": [True, 1]}, b"", "value: the parts of a fraction are not whole"),
    "fraction-text": ({"fraction": ["1", 1]}, b"", "value: the parts of a fraction are not whole"),
    "fraction-inside": ({"fraction": [1, {"tuple": [{"int": "f" * 9999}]}]}, b"", "value: the parts of a fraction are not"),
    "fraction-decimal": ({"fraction": [1, 10**20]}, b"", "value: an integer of more than 64 bits has to be in hexadecimal"),
    "fraction-large": ({"fraction": [1, {"int": "1" + "0" * 20000}]}, b"", "value: a fraction of more than"),
    "fraction-object": ({"fraction": {}}, b"", "value: a list was expected"),
    "tuple-text": ({"tuple": "ab"}, b"", "value: a list was expected"),
    "dict-odd": ({"dict": [1]}, b"", "value: a dict has a key without"),
    "dict-twice": ({"dict": [1, 2, True, 3]}, b"", "value: a dict has .* a key twice"),
    "dict-list-key": ({"dict": [[], 1]}, b"", "value: a key of a dict cannot be a list"),
    "dict-array-key": ({"dict": [{"tuple": [{"array": ["int64", [2]]}]}, 1]}, BODY, "value: a key of a dict cannot be"),
    "dict-object": ({"dict": {"a": 1}}, b"", "value: a list was expected"),
    "dict-collisions": (
        {"dict": [x for i in range(200) for x in ({"int": f"{(i + 99) * (2**61 - 1):x}"}, 0)]},
        b"",
        "value: more than 100",
    ),
    "record-unknown": ({"record": ["os.system"]}, b"", "value: no record goes by the word 'os.system' here"),
    "record-empty": ({"record": []}, b"", "value: the word of a record was expected, got None"),
    "record-list": ({"record": [[]]}, b"", "value: the word of a record was expected, got a list"),
    "record-fewer": (
        {"record": ["test-tally", "rows", 1]},
        b"",
        "value: the fields of a record 'test-tally' are not rows, counts",
    ),
    "record-more": ({"record": ["test-slots", "a", 1, "b", 2]}, b"", "value: the fields"),
    "record-half": ({"record": ["test-slots", "a"]}, b"", "value: the fields"),
    "record-order": ({"record": ["test-tally", "counts", 1, "rows", 1]}, b"", "value: the fields"),
    "record-names": ({"record": ["test-slots", [], 1]}, b"", "value: the fields"),
    "record-value": (
        {"record": ["test-tally", "rows", -1, "counts", 0]},
        b"",
        "value: not a record 'test-tally': ValueError: rows",
    ),
    "record-type": ({"record": ["test-tally", "rows", "x", "counts", 0]}, b"", "value: not a record 'test-tally': TypeError"),
    "record-inside": ({"record": ["test-slots", "a", {"x": 1}]}, b"", r"value\[a\]: there are no values"),
    "array-one": ({"array": ["int64"]}, BODY, "value: 1 entries where 2"),
    "array-object": ({"array": {"int64": 1}}, BODY, "value: a list was expected"),
    "array-type": ({"array": ["object", [2]]}, BODY, "value: there are no arrays of 'object'"),
    "array-type-number": ({"array": [8, [2]]}, BODY, "value: the type of an array was expected"),
    "array-type-order": ({"array": [">i8", [2]]}, BODY, "value: there are no arrays of '>i8'"),
    "array-type-width": ({"array": ["U999999999", [0]]}, b"", "value: there are no arrays of 'U999999999'"),
    "array-type-zero": ({"array": ["U0", [2]]}, b"", "value: there are no arrays of 'U0'"),
    "array-claims": ({"array": ["int64", [10**12]]}, BODY, "value: an array of 8000000000000 bytes where only 16 are left"),
    "array-claims-text": ({"array": ["U1000000", [1]]}, BODY, "value: an array of 4000000 bytes where only 16"),
    "array-overflow": ({"array": ["int64", [2**62, 2**62]]}, BODY, "value: an array of"),
    "array-negative": ({"array": ["int64", [-1, -2]]}, BODY, "value: -1 is not between"),
    "array-float": ({"array": ["int64", [2.0]]}, BODY, "value: a whole number"),
    "array-shape": ({"array": ["int64", 2]}, BODY, "value: a list was expected"),
    "array-axes": ({"array": ["int64", [2, *[1] * 99]]}, BODY, "value: no array has the shape"),
    "array-empty-huge": ({"array": ["int64", [0, 2**62, 2**62]]}, b"", "value: no array has the shape"),
    "array-fewer": ({"array": ["int64", [1]]}, BODY, "arrays: 8 bytes belong to no array"),
    "array-none": ([], BODY, "arrays: 16 bytes"),
    "array-two": ([{"array": ["int64", [2]]}, {"array": ["int64", [1]]}], BODY, r"value\[1\]: an array of 8 bytes where only 0"),
    "array-padding": ({"array": ["int8", [3]]}, b"\1\2\3\0\0\0\0\1", "value: the bytes after an array have to be zero"),
    "array-bool": ({"array": ["bool", [8]]}, b"\1\0\1\2\0\0\0\0", "value: some of its cells are neither"),
    "array-text": ({"array": ["U2", [1]]}, b"\0\0\0\0\0\0\x11\0", "value: some of its cells are not text"),
    "text-not-canonical": (b'["a", 1]', b"", "header: not in its canonical form"),
    "text-escape": (rb'"\u0061"', b"", "header: not in its canonical form"),
    "text-surrogate": (rb'"\ud800"', b"", "header: a text is not Unicode"),
    "text-nan": (b"NaN", b"", "header: the literal NaN"),
    "text-not-json": (b"[1,]", b"", "header: not JSON"),
    "text-empty": (b"", b"", "header: not JSON"),
    "text-twice": (b'{"int":"1","int":"1"}', b"", "header: the key 'int' occurs twice"),
    "text-deep": (b"[" * 200_000 + b"]" * 200_000, b"", "header: lists and objects nested 200000 deep"),
    "text-utf8": (b'"\xff"', b"", "header: not UTF-8"),
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_content_with_a_fitting_checksum(name: str) -> None:
    tree, body, words = HOSTILE[name]
    start = time.perf_counter()
    with pytest.raises(CheckpointError, match=f"^m: ({words})") as caught:
        unpacked(forged(tree, body), "m")
    assert time.perf_counter() - start < 2
    assert len(str(caught.value)) < 500
    assert "the checksum fits" in str(caught.value)


def test_the_forge_can_also_make_good_data() -> None:
    header, body = parts(GOOD)
    assert forged(header, body) == GOOD


def test_lengths_that_lie() -> None:
    raw = bytearray(GOOD[:-32])
    for at in (12, 16, 23):
        lying = bytearray(raw)
        lying[at] ^= 8
        with pytest.raises(CheckpointError, match="lengths: "):
            unpacked(sealed(bytes(lying)))
    with pytest.raises(CheckpointError, match="truncated: it has only 40 bytes"):
        unpacked(GOOD[:40])
    with pytest.raises(CheckpointError, match="more than the limit of 10; pass other limits"):
        unpacked(GOOD, limits=Limits(file_bytes=10))


def mutant(rng: random.Random, text: bytes, body: bytes) -> bytes:
    """The header or the arrays with a few changes, and a checksum that fits."""
    tokens = [b"[", b"]", b"{", b"}", b",", b":", b'"', b"0", b"-", b"1e9", b"null", b"true", b'"int"', b'"tuple"', b'"dict"']
    tokens += [
        b'"array"',
        b'"record"',
        b'"float"',
        b'"U9"',
        b'"int64"',
        b'{"tuple":[]}',
        b"99999999999999999999",
        b"\xed\xa0\x80",
    ]
    changed = [bytearray(text), bytearray(body)]
    for _ in range(rng.randint(1, 3)):
        own = changed[rng.random() < 0.2]
        start = rng.randint(0, len(own))
        stop = min(len(own), start + rng.choice([0, 1, 1, 2, 5, 20]))
        cut = rng.randint(0, len(own))
        own[start:stop] = rng.choice([rng.choice(tokens), rng.randbytes(1), own[cut : cut + rng.randint(0, 30)], b""])
    return forged(bytes(changed[0]), bytes(changed[1]))


def mutated(count: int) -> None:
    rng = random.Random(5)
    corpus = [parts(data) for data in (GOOD, packed(SAMPLE), packed([Point(1, "a"), {"b": (1.5, None)}, np.array(["a", "bc"])]))]
    for _ in range(count):
        data = mutant(rng, *rng.choice(corpus))
        try:
            value = unpacked(data, "m")
        except CheckpointError:
            continue
        assert packed(value) == data


def test_mutations_are_refused_or_as_good_as_packed() -> None:
    mutated(5000)


@pytest.mark.slow
def test_many_mutations() -> None:
    mutated(200_000)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes(data: bytes) -> None:
    for tried in (data, b"\x8bNVC\r\n\x1a\n" + data, forged(data), forged(b"[]", data)):
        try:
            value = unpacked(tried)
        except CheckpointError:
            continue
        assert packed(value) == tried
