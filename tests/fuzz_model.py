"""The model loader as the fuzzer sees it: some good files, and a reader that also forges the checksum."""

from __future__ import annotations

import hashlib
import json
import math
import random
import struct
import warnings
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from naivete.classifiers.augmented import KDB, Full, NaiveBayes
from naivete.classifiers.model_file import Model, model_bytes, model_from_bytes, read_model
from naivete.classifiers.naive_variants import HiddenNaive, Recursive
from naivete.classifiers.saving import classifier_of, model_of
from naivete.classifiers.trees import C45
from naivete.encoding.encoder import Encoder
from naivete.errors import ModelFileError
from naivete.network.conditional_tables import SparseCpt
from naivete.network.network import Network
from naivete.variables import Variable

GOLDEN = Path(__file__).parent / "golden"
PREFIX = struct.Struct("<8sHHIQ")
TOKENS = (
    *(b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"null", b"true", b"NaN", b"Infinity", b"-1", b"1e999", b"-0.0", b"1.0"),
    *(b"99999999999999999999", b'"\\ud800"', b'{"float":"inf"}', b'{"dict":{}}', b"[" * 200, b"9" * 5000, b"\xff", b"\x00"),
)
VALUES = (
    None,
    True,
    -1,
    0,
    1,
    2,
    3,
    10**12,
    2**63,
    10**79,
    0.0,
    -0.0,
    0.5,
    1.0,
    "",
    "x",
    "inf",
    [],
    [0],
    [-1],
    {},
    {"float": "inf"},
    {"dict": {}},
)


def sample() -> Model:
    """A small model with a nominal, a numeric and a boolean feature, and a dense and a two-level sparse table of two parents."""
    variables = (
        Variable("outlook", ("sunny", "rain", 1, "1")),
        Variable(7, cuts=(-0.5, 1e300), missing=True),
        Variable(None, (True,), other=True),
        Variable("play", ("no", "yes")),
    )
    nominal = np.array([[0.25, 0.1], [0.25, 0.2], [0.5, 0.3], [0.0, 0.4]])
    numeric = np.full((4, 4, 2), 0.25)
    rows = np.array([[[0.5, 1.0], [0.5, 0.0]], [[0.125, 0.25], [0.875, 0.75]]])
    fewer = SparseCpt(np.array([[1]], dtype=np.int32), rows[:1], np.full((2, 2), 0.5), (1,))
    windy = SparseCpt(np.array([[0, 3], [2, 1]], dtype=np.int32), rows, fewer, (0, 1))
    parents = {0: (-1,), 1: (0, -1), 2: (1, 0, -1), -1: ()}
    network = Network(variables, parents, {0: nominal, 1: numeric, 2: windy, -1: np.array([0.375, 0.625])})
    return Model("kdb", {"k": 2, "theta": -math.inf, "smoothing": 1.0, "also": [{"a": "b"}]}, network, {"rows": 14, "weight": 14.0})


def corpus() -> list[bytes]:
    """Good files to begin with."""
    coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.5, 0.5])})
    golden = [path.read_bytes() for path in sorted(GOLDEN.glob("*.nvt"))]
    rows = [[a, b, c] for a in "xyz" for b in (0, 1) for c in (0.5, 1.5, 2.5)]
    encoder = Encoder(kinds={"x1": "nominal"}, missing="state", unseen="error")
    fitted = KDB(k=1, encoder=encoder).fit(rows, [str(row[0] + "z" > "y" + "z") for row in rows])
    labels = [str(row[0] + "z" > "y" + "z") for row in rows]
    more = [
        C45(min_rows=1, prune=False).fit(rows, labels),
        Recursive(parity="split", min_rows=0, encoder=Encoder(numbers="normal")).fit(rows, [str(row[1]) for row in rows]),
        HiddenNaive(groups=[[0, 1]], states=2, starts=1).fit(rows, labels),
        Full(encoder=Encoder(numbers="normal", kinds={"x1": "numeric", "x2": "numeric"})).fit(rows, labels),
        NaiveBayes(encoder=Encoder(numbers="kernel")).fit(rows, labels),
    ]
    made = [sample(), model_of(fitted), Model("majority", {}, coin, {}), *map(model_of, more)]
    return [*map(model_bytes, made), *golden]


def read(path: Path) -> Model:
    """Read the file as it is and, where it is refused, once more with a checksum that fits."""
    try:
        return read_model(path)
    except ModelFileError:
        return model_from_bytes(sealed(Path(path).read_bytes()[:-32]))


def load(path: Path) -> None:
    """Read the file, down to the classifier that it describes and its answer to a row of which nothing is known."""
    classifier = classifier_of(read(path), str(path))
    nothing = [[None] * classifier.n_features_in_] if classifier.n_features_in_ else []
    if nothing and classifier.network_.derived:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.predict_proba(np.array(nothing, object))


def sealed(data: bytes) -> bytes:
    """The bytes and their checksum."""
    return data + hashlib.sha256(data).digest()


def parts(data: bytes) -> tuple[bytes, bytes]:
    """The header and the arrays of a good file."""
    header, arrays = PREFIX.unpack_from(data)[3:]
    return data[PREFIX.size : PREFIX.size + header], data[len(data) - 32 - arrays : -32]


def forged(header: bytes, arrays: bytes, version: tuple[int, int] = (1, 0)) -> bytes:
    """A file of this content, hostile or not, whose lengths and checksum fit."""
    prefix = PREFIX.pack(b"\x8bNVT\r\n\x1a\n", *version, len(header), len(arrays))
    return sealed(prefix + header + bytes(-len(header) % 8) + arrays)


def text(header: Any) -> bytes:
    """The header as canonical text, whatever is in it."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def mutant(rng: random.Random, good: list[bytes]) -> bytes:
    """One of the good files, changed in its bytes, its tokens, its fields or its numbers, mostly with a checksum that fits."""
    data = rng.choice(good)
    return rng.choice((_changed_bytes, _changed_tokens, _changed_fields, _changed_fields, _changed_arrays))(rng, data)


def _changed_bytes(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) + 1)
        action = rng.randrange(4)
        if action == 0:
            del changed[at : at + rng.randint(1, 40)]
        elif action == 1:
            changed[at:at] = rng.randbytes(rng.randint(1, 16))
        else:
            changed[at : at + 1] = rng.randbytes(1)
    return bytes(changed) if rng.random() < 0.4 else sealed(bytes(changed[:-32]))


def _changed_tokens(rng: random.Random, data: bytes) -> bytes:
    header, arrays = parts(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(header) + 1)
        header = header[:at] + rng.choice(TOKENS) + header[at + rng.choice((0, 0, 1, 4)) :]
    return forged(header, arrays, rng.choice(((1, 0), (1, 0), (1, 1), (2, 0), (0, 9))))


def _changed_fields(rng: random.Random, data: bytes) -> bytes:
    header, arrays = parts(data)
    value = json.loads(header)
    for _ in range(rng.randint(1, 2)):
        _change(rng, value)
    return forged(text(value), arrays)


def _change(rng: random.Random, value: Any) -> None:
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys or rng.random() < 0.1:
            return _grow(rng, value)
        key = rng.choice(keys)
        if not isinstance(value[key], list | dict) or rng.random() < 0.2:
            break
        value = value[key]
    if rng.random() < 0.2:
        del value[key]
    else:
        value[key] = deepcopy(rng.choice(VALUES))
    return None


def _grow(rng: random.Random, value: Any) -> None:
    if isinstance(value, dict):
        value[rng.choice(("class", "path", "optional", "float", "dict"))] = deepcopy(rng.choice(VALUES))
    else:
        value.insert(rng.randrange(len(value) + 1), deepcopy(rng.choice([*VALUES, *value])))


def _changed_arrays(rng: random.Random, data: bytes) -> bytes:
    header, arrays = parts(data)
    numbers = np.frombuffer(arrays, "<f8").copy()
    for _ in range(rng.randint(1, 3)):
        numbers[rng.randrange(len(numbers))] = rng.choice((math.nan, math.inf, -math.inf, -0.0, 1e308, -1e-300, 5e-324, 1.0, 0.5))
    extra = rng.choice((b"", b"", b"", bytes(8), bytes(3)))
    return forged(header, numbers.tobytes() + extra)
