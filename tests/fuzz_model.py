"""Model files for the fuzzer: valid ones, changed ones with checksums that fit, and the function that loads them."""

from __future__ import annotations

import io
import json
import math
import random
import warnings
import zipfile
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from naivete.classifiers.ande import A2DE
from naivete.classifiers.augmented import KDB, TAN, Full, NaiveBayes
from naivete.classifiers.kept_file import kept_bytes
from naivete.classifiers.model_file import Model, model_bytes, model_from_bytes, read_model
from naivete.classifiers.naive_variants import HiddenNaive, Recursive
from naivete.classifiers.saving import classifier_of, model_of
from naivete.classifiers.spectrum import Spectrum
from naivete.classifiers.trees import C45
from naivete.encoding.encoder import Encoder
from naivete.errors import ModelFileError
from naivete.network.conditional_tables import SparseCpt
from naivete.network.network import Network
from naivete.storage.archive import archive_pieces
from naivete.variables import Variable

GOLDEN = Path(__file__).parent / "golden"
TOKENS = (
    *(b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"null", b"true", b"NaN", b"Infinity", b"-1", b"1e999", b"-0.0", b"1.0"),
    *(
        b"99999999999999999999",
        b'"\\ud800"',
        b'{"$float":"inf"}',
        b'{"$array":["float64",[2]]}',
        b'{"$tuple":[]}',
        b"[" * 200,
        b"9" * 5000,
        b"\xff",
        b"\x00",
    ),
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
    {"$float": "inf"},
    {"$float": "nan"},
    {"$int": "fffffffffffffffff"},
    {"$array": ["float64", []]},
    {"$array": ["float64", [2, 1]]},
    {"$array": ["int64", [0]]},
    {"$dict": ["b", 1, "a", 2]},
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
    """Return valid files."""
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
        Spectrum(members=2, trees=2, boosting=2, depth=2).fit(rows, labels),
        A2DE(prior=[0.5, 0.5]).fit(rows, labels),
    ]
    streamed = TAN().partial_fit(rows, labels)
    continued = replace(model_of(streamed), optional={"counts": kept_bytes(streamed.kept_counts())})
    made = [sample(), model_of(fitted), continued, Model("majority", {}, coin, {}), *map(model_of, more)]
    return [*map(model_bytes, made), *golden]


def read(path: Path) -> Model:
    """Read the file as it is and, if it is refused, once more with checksums that fit."""
    try:
        return read_model(path)
    except ModelFileError:
        return model_from_bytes(resealed(path.read_bytes()))


def load(path: Path) -> None:
    """Read the file and the classifier that it describes, and predict a row in which all values are missing."""
    classifier = classifier_of(read(path), str(path))
    row = [[None] * classifier.n_features_in_] if classifier.n_features_in_ else []
    if row and classifier.network_.derived:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.predict_proba(np.array(row, object))


def resealed(data: bytes) -> bytes:
    """Return the file with checksums and sizes that fit, if Python's zipfile can still find the members."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            kept = [info for info in archive.infolist()[:100] if info.filename != "sha256" and not info.compress_type]
            for info in kept:
                archive.fp.seek(info.header_offset + 30 + len(info.filename))  # type: ignore[union-attr]
                info.extra = archive.fp.read(min(info.file_size, len(data)))  # type: ignore[union-attr]
        return archived({info.filename: info.extra for info in kept})
    except Exception:  # noqa: BLE001 - zipfile raises errors of many types about a damaged file
        return data


def archived(contents: dict[str, bytes]) -> bytes:
    """Return an archive of these members, valid or not, with checksums that fit."""
    return b"".join(archive_pieces({name: lambda content=content: [content] for name, content in contents.items()}))  # type: ignore[misc]


def parts(data: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return the JSON and the arrays of a valid file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist() if name != "sha256"}
    return contents.pop("model.json"), contents


def forged(header: bytes, arrays: dict[str, bytes]) -> bytes:
    """Return a file of this JSON and these arrays, valid or not, with checksums that fit."""
    return archived({"model.json": header, **arrays})


def npy(numbers: np.ndarray) -> bytes:
    """Return the content of a .npy member."""
    kind = numbers.dtype.newbyteorder("<").str
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({numbers.size},), }}".ljust(117)
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode() + b"\n" + numbers.astype(kind).tobytes()


def numbers(content: bytes, dtype: str = "<f8") -> np.ndarray:
    """Return the numbers of a .npy member, which may be changed."""
    return np.frombuffer(content[128:], dtype).copy()


def text(header: Any) -> bytes:
    """Return the header as canonical text, whatever is in it."""
    return json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def mutant(rng: random.Random, good: list[bytes]) -> bytes:
    """Return one of the valid files, changed in its bytes, tokens, fields or arrays, mostly with checksums that fit."""
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
    return bytes(changed) if rng.random() < 0.4 else resealed(bytes(changed))


def _changed_tokens(rng: random.Random, data: bytes) -> bytes:
    header, arrays = parts(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(header) + 1)
        header = header[:at] + rng.choice(TOKENS) + header[at + rng.choice((0, 0, 1, 4)) :]
    version = rng.choice((b"[1,0]", b"[1,0]", b"[1,1]", b"[2,0]", b"[0,9]"))
    return forged(header.replace(b"[1,0]", version, 1), arrays)


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
    name = rng.choice(list(arrays))
    kind = {"float64.npy": "<f8", "int64.npy": "<i8", "int32.npy": "<i4", "uint8.npy": "|u1"}[name]
    cells = numbers(arrays[name], kind)
    floats = (math.nan, math.inf, -math.inf, -0.0, 1e308, -1e-300, 5e-324, 1.0, 0.5)
    values = floats if kind == "<f8" else (0, 1, 2, 255) if kind == "|u1" else (-2, -1, 0, 1, 2, 2**31 - 1)
    for _ in range(rng.randint(1, 3)):
        cells[rng.randrange(len(cells))] = rng.choice(values)
    content = npy(cells)
    changed = rng.choice((content, content, content, content + bytes(8), content + bytes(3), content[:-8], content[128:]))
    other = rng.choice((name, name, name, name, "int8.npy", "object.npy", "evil.py"))
    return forged(header, {**{key: value for key, value in arrays.items() if key != name}, other: changed})
