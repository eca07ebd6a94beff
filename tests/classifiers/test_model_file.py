"""Model files: saving and loading is the identity, and nothing else is ever loaded."""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import io
import json
import lzma
import math
import os
import pickle
import random
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.classifiers.model_file import Limits, Model, fingerprint, model_bytes, model_from_bytes, read_model, write_model
from naivete.classifiers.model_header import levels
from naivete.errors import FileError, ModelFileError
from naivete.network.conditional_tables import SparseCpt
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.network import Network
from naivete.storage.canonical_json import FieldError, canonical, coded, parsed
from naivete.variables import Variable
from tests import ROOT
from tests.fuzz_model import GOLDEN, corpus, forged, mutant, parts, read, sample, sealed, text
from tests.strategies import deriving_networks, networks, plain

AWKWARD = (
    *(
        "caf\u00e9",
        "cafe\u0301",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u05e9\u05dc\u05d5\u05dd \u202eabc",
        "a\nb\r\n\tc",
        "x" * 10_000,
        "",
        " ",
    ),
    *(
        "\0",
        "\x7f\u2028\ufeff\uffff",
        '"\\\\"',
        "[{",
        "0",
        "1",
        "True",
        "None",
        "nan",
        "__class__",
        "../../etc/passwd",
        "https://a.b/c",
        "float",
        "dict",
    ),
)
GOOD = model_bytes(sample())


def coin(states: tuple[Any, ...] = ("heads", "tails"), name: Any = "side") -> Network:
    return Network((Variable(name, states),), {-1: ()}, {-1: np.full(len(states), 1 / len(states))})


def naive(*variables: Variable) -> Network:
    classes = variables[-1].card
    cpts = {v: np.full((x.card, classes), 1 / x.card) for v, x in enumerate(variables[:-1])}
    parents = dict.fromkeys(range(len(variables) - 1), (-1,))
    return Network(variables, {**parents, -1: ()}, {**cpts, -1: np.full(classes, 1 / classes)})


def exact(value: Any) -> Any:
    """A value with the types and signs that == does not see."""
    if isinstance(value, list | tuple):
        return [exact(v) for v in value]
    if isinstance(value, dict):
        return {k: exact(v) for k, v in value.items()}
    return type(value).__name__, repr(value)


def assert_same(a: Model, b: Model) -> None:
    assert a.kind == b.kind
    assert exact(a.parameters) == exact(b.parameters)
    assert exact(a.notes) == exact(b.notes)
    assert a.network.parents == b.network.parents
    for x, y in zip(a.network.variables, b.network.variables, strict=True):
        assert exact([x.name, x.states, x.cuts, x.missing, x.other]) == exact([y.name, y.states, y.cuts, y.missing, y.other])
    assert a.network.derived.keys() == b.network.derived.keys()
    for v, own in a.network.derived.items():
        assert derived_bytes(own) == derived_bytes(b.network.derived[v])
    for v, cpt in a.network.cpts.items():
        other = b.network.cpts[v]
        assert type(cpt) is type(other)
        assert [level.parents for level in levels(cpt)[0]] == [level.parents for level in levels(other)[0]]
        for left, right in zip(arrays(cpt), arrays(other), strict=True):
            assert (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())


def derived_bytes(own: Any) -> Any:
    return type(own), [(f.name, (a := getattr(own, f.name)).dtype, a.shape, a.tobytes()) for f in dataclasses.fields(own)]


def arrays(cpt: Any) -> list[np.ndarray]:
    sparse, last = levels(cpt)
    return [array for level in sparse for array in (level.configurations, level.rows)] + [last]


# Saving and loading is the identity


@given(networks(sparse=True, any_names=True) | deriving_networks(), st.dictionaries(st.text(max_size=6), plain, max_size=3))
@settings(max_examples=150, deadline=None)
def test_round_trip(network: Network, values: dict[str, Any]) -> None:
    model = Model("kdb", values, network, {"again": values})
    data = model_bytes(model)
    back = model_from_bytes(data)
    assert_same(model, back)
    assert model_bytes(back) == data
    assert fingerprint(back) == fingerprint(model)


def test_round_trip_of_awkward_names_and_states(tmp_path: Path) -> None:
    names = (*AWKWARD, None, 0, 2.5, -7, 10**40, math.inf, -math.inf)
    network = naive(*(Variable(name, AWKWARD) for name in names), Variable("class", ("a", 1, "1", True, "True", 0.5, -math.inf)))
    model = Model("nb", {name: name for name in AWKWARD}, network, {})
    write_model(tmp_path / "m.nvt", model)
    assert_same(model, read_model(tmp_path / "m.nvt"))


def test_floats_are_bit_exact() -> None:
    floats = [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0, 0.0, 1 / 3, math.inf, -math.inf, 1e16, 123456789012345680.0]
    model = Model("nb", {"floats": floats}, naive(Variable("x", cuts=tuple(sorted(set(floats)))), Variable("c", ("a", "b"))), {})
    assert_same(model, model_from_bytes(model_bytes(model)))


def test_values_of_numpy_are_saved_as_plain_ones() -> None:
    states = (np.str_("a"), np.int64(3), np.float64(0.5), np.bool_(True))
    ours = Model("nb", {"k": np.int32(2), "s": np.float64(1)}, coin(states, np.str_("side")), {})
    plain_one = Model("nb", {"k": 2, "s": 1.0}, coin(("a", 3, 0.5, True)), {})
    assert model_bytes(ours) == model_bytes(plain_one)


def test_loaded_tables_cannot_be_written_to() -> None:
    table = model_from_bytes(GOOD).network.cpts[0]
    assert isinstance(table, np.ndarray)
    with pytest.raises(ValueError, match="WRITEABLE"):
        table.setflags(write=True)


def test_every_field_is_stored() -> None:
    """A field that is added to one of these has to be added to the format too."""
    assert [f.name for f in dataclasses.fields(Variable)] == ["name", "states", "cuts", "missing", "other", "origin", "kernel"]
    assert [f.name for f in dataclasses.fields(Network)] == ["variables", "parents", "cpts", "derived", "densities"]
    assert [f.name for f in dataclasses.fields(Tree)] == ["features", "starts", "children", "weights"]
    assert [f.name for f in dataclasses.fields(Hierarchy)] == ["children", "features"]
    assert [f.name for f in dataclasses.fields(SparseCpt)] == ["configurations", "rows", "default", "parents"]
    assert [f.name for f in dataclasses.fields(Model)] == ["kind", "parameters", "network", "notes"]


def test_a_variable_without_a_value_is_kept() -> None:
    back = model_from_bytes(model_bytes(Model("nb", {}, naive(Variable("x"), Variable("c", ("a", "b"))), {})))
    assert back.network.variables[0] == Variable("x")


# One model, one file


def test_order_and_layout_in_memory_are_irrelevant() -> None:
    model = sample()
    network = model.network
    turned = Network(
        network.variables,
        dict(reversed(network.parents.items())),
        {v: np.asfortranarray(c) if isinstance(c, np.ndarray) else c for v, c in reversed(network.cpts.items())},
    )
    other = Model(model.kind, dict(reversed(model.parameters.items())), turned, dict(reversed(model.notes.items())))
    assert model_bytes(other) == GOOD


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, "1"),
        (0.0, -0.0),
        (None, "None"),
        ([], {}),
        (math.inf, "inf"),
        ({"float": "inf"}, math.inf),
        ({}, {"dict": {}}),
    ],
    ids=str,
)
def test_different_values_have_different_files(one: Any, other: Any) -> None:
    first, second = (Model("nb", {"v": value}, coin(), {}) for value in (one, other))
    assert fingerprint(first) != fingerprint(second)
    assert exact(model_from_bytes(model_bytes(first)).parameters) == exact(first.parameters)


def test_the_fingerprint_is_the_sha256_of_the_file(tmp_path: Path) -> None:
    import hashlib

    write_model(tmp_path / "m.nvt", sample())
    assert hashlib.sha256((tmp_path / "m.nvt").read_bytes()).hexdigest() == fingerprint(sample())


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": math.nan}, "parameters.a: nan"),
        ({"a": [0, (1, 2)]}, r"parameters.a\[1\]: a value of type tuple"),
        ({"a b": {1}}, r"parameters\['a b'\]: a value of type set"),
        ({"a": {"b": print}}, "parameters.a.b: a value of type builtin_function"),
        ({"a": np.datetime64("2020-01-01")}, "type date"),
        ({"a": np.arange(2)}, "type ndarray"),
        ({"a": {1: 2}}, "parameters.a: the key 1 is not text"),
        ({"a": 10**80}, "more than 80 digits"),
        ({"a": -(10**5000)}, "more than 80 digits"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ([], "parameters: a dict was expected"),
    ],
)
def test_what_cannot_be_stored_exactly_is_refused(values: Any, words: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^model: .*{words}.*cannot be saved"):
        model_bytes(Model("nb", values, coin(), {}))


def test_what_cannot_be_read_back_is_not_written(tmp_path: Path) -> None:
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 0
    for _ in range(30):
        deep = [deep]
    odd = [
        Model("NB", {}, coin(), {}),
        Model("nb", {"a": endless}, coin(), {}),
        Model("nb", {"a": {"b": deep}}, coin(), {}),
        Model("nb", {}, coin((1, 1.0)), {}),
        Model("nb", {}, coin(("a", math.nan)), {}),
        Model("nb", {}, coin(name=True), {}),
        Model("nb", {}, naive(Variable("x", cuts=(1.0, 1.0)), Variable("c", ("a",))), {}),
        Model("nb", {}, naive(Variable("x", ("a",), missing=1), Variable("c", ("a",))), {}),  # type: ignore[arg-type]
    ]
    for model in odd:
        with pytest.raises(ModelFileError, match="cannot be saved"):
            write_model(tmp_path / "m.nvt", model)
    with pytest.raises(ModelFileError, match="values are more than the limit of 5"):
        write_model(tmp_path / "m.nvt", sample(), limits=Limits(values=5))
    assert os.listdir(tmp_path) == []


def test_cuts_given_as_integers_are_floats() -> None:
    back = model_from_bytes(model_bytes(Model("nb", {}, naive(Variable("x", cuts=(1, 2)), Variable("c", ("a",))), {})))
    assert exact(back.network.variables[0].cuts) == exact((1.0, 2.0))


# M1


def test_m1_truncated_at_every_byte() -> None:
    for length in range(len(GOOD)):
        with pytest.raises(ModelFileError):
            model_from_bytes(GOOD[:length], "m.nvt")


def test_m1_every_byte_changed() -> None:
    for at in range(len(GOOD)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(GOOD)
            data[at] ^= change
            with pytest.raises(ModelFileError):
                model_from_bytes(bytes(data), "m.nvt")


def test_m1_longer_files_and_text_mode() -> None:
    for data in (GOOD + b"\n", GOOD + GOOD, GOOD.replace(b"\r\n", b"\n"), GOOD[:-1], GOOD[:200]):
        with pytest.raises(ModelFileError, match=r"truncated or damaged|text mode"):
            model_from_bytes(data)


# M2


class Evil:
    """What runs when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def strangers(marker: Path) -> dict[str, bytes]:
    """Files of others, most of which would run something in a careless reader."""
    evil = Evil(marker)
    found = {f"pickle-{p}": pickle.dumps(evil, protocol=p) for p in range(6)}
    found |= {f"pickle-list-{p}": pickle.dumps([evil], protocol=p) for p in range(6)}
    joblib_file, zipped, npz = io.BytesIO(), io.BytesIO(), io.BytesIO()
    joblib.dump(evil, joblib_file)
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("model.pkl", found["pickle-4"])
    np.savez(npz, a=np.array([evil], dtype=object))
    npy = io.BytesIO()
    np.save(npy, np.array([evil], dtype=object), allow_pickle=True)
    squeezers: dict[str, Callable[[bytes], bytes]] = {
        "gzip": gzip.compress,
        "bzip2": bz2.compress,
        "xz": lzma.compress,
        "zlib": zlib.compress,
    }
    found |= {f"pickle-{name}": squeeze(found["pickle-4"]) for name, squeeze in squeezers.items()}
    return found | {
        "joblib": joblib_file.getvalue(),
        "zip": zipped.getvalue(),
        "npz": npz.getvalue(),
        "npy": npy.getvalue(),
        "bomb": gzip.compress(bytes(2**24)),
        "yaml": f"!!python/object/apply:os.system ['touch {marker}']".encode(),
        "python": f"import os; os.system('touch {marker}')".encode(),
        "json": b'{"__reduce__":"os.system"}',
        "html": b"<script>alert(1)</script>",
        "parquet": b"PAR1" + bytes(40),
        "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(40),
        "zstd": b"\x28\xb5\x2f\xfd" + bytes(40),
        "marshal": b"\xe3" + bytes(40),
        "empty": b"",
        "short": b"\x8bNVT",
        "zeros": bytes(100),
    }


@pytest.mark.parametrize("name", list(strangers(Path("nowhere"))), ids="M2-{}".format)
def test_m2_other_files_are_refused_by_content(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.nvt"
    path.write_bytes(strangers(tmp_path / "marker")[name])
    with pytest.raises(ModelFileError, match=r"model\.nvt: not a naivete model file"):
        read_model(path)
    assert os.listdir(tmp_path) == ["model.nvt"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pickle-4", "pickle; naivete never opens pickles"),
        ("pickle-0", "never opens pickles"),
        ("zip", "zip"),
        ("pickle-gzip", "gzip"),
        ("npy", "numpy"),
    ],
)
def test_m2_says_what_it_looks_like(name: str, words: str) -> None:
    with pytest.raises(ModelFileError, match=words):
        model_from_bytes(strangers(Path("nowhere"))[name])


# M3: the checksum fits and the content is hostile

Change = Callable[[dict[str, Any]], object]


def put(value: Any, *path: Any) -> Change:
    def change(header: dict[str, Any]) -> None:
        at: Any = header
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value

    return change


LEVEL = ("tables", 2, "levels", 0)
BARE = {"default": [4, 2], "levels": [{"configurations": [1, 0], "parents": [], "rows": [1, 4, 2]}]}
HOSTILE: dict[str, tuple[Change, str]] = {
    "index-out-of-range": (put(3, "parents", 1, 0), r"parents\[1\]\[0\]: 3 is not between -1 and 2"),
    "index-negative": (put(-2, "parents", 1, 0), r"parents\[1\]\[0\]: -2"),
    "index-huge": (put(2**70, "parents", 1, 0), r"parents\[1\]\[0\]: "),
    "index-float": (put(0.0, "parents", 1, 0), r"parents\[1\]\[0\]: a whole number was expected, got 0.0"),
    "index-bool": (put(True, "parents", 1, 0), r"parents\[1\]\[0\]: a whole number"),
    "own-parent": (put([0], "parents", 0), r"parents\[0\]: the variable is its own parent"),
    "class-own-parent": (put([-1], "parents", 3), r"parents\[3\]: the variable is its own parent"),
    "parent-twice": (put([0, 0], "parents", 1), r"parents\[1\]: .* parent twice"),
    "cycle": (put([2, -1], "parents", 0), r"parents\[0\]: the arcs form a cycle"),
    "cycle-class": (put([0], "parents", 3), r"parents\[3\]: the arcs form a cycle"),
    "parents-too-few": (lambda h: h["parents"].pop(), "parents: 3 entries where 4"),
    "parents-object": (put({}, "parents"), "parents: a list was expected, got an object"),
    "tables-too-many": (lambda h: h["tables"].append({"table": [1]}), "tables: 5 entries"),
    "shape-lie": (
        put([2, 4], "tables", 0, "table"),
        r"tables\[0\]\.table: the shape \(2, 4\) is not that of the family, \(4, 2\)",
    ),
    "shape-negative": (put([-4, -2], "tables", 0, "table"), r"tables\[0\]\.table\[0\]: -4"),
    "shape-text": (put("4", "tables", 0, "table", 0), r"tables\[0\]\.table\[0\]: a whole number was expected, got '4'"),
    "sparse-lie": (put([1, 2, 2], *LEVEL, "rows"), r"tables\[2\]\.levels\[0\]\.rows: the shape"),
    "sparse-count-lie": (
        lambda h: (put([3, 2], *LEVEL, "configurations")(h), put([3, 2, 2], *LEVEL, "rows")(h)),
        "tables: their shapes need",
    ),
    "sparse-axes": (put([2], *LEVEL, "configurations"), r"tables\[2\]\.levels\[0\]\.configurations: 1 entries where 2"),
    "sparse-no-parents": (put(BARE, "tables", 0), r"tables\[0\]\.levels\[0\]\.configurations: a table without"),
    "sparse-class": (
        put({**BARE, "default": [2, 1], "levels": [{"configurations": [0, 0], "parents": [], "rows": [0, 2, 1]}]}, "tables", 3),
        "tables: ",
    ),
    "sparse-default": (put([2, 1], "tables", 2, "default"), r"tables\[2\]\.default: the shape"),
    "levels-none": (put([], "tables", 2, "levels"), r"tables\[2\]\.levels: 0 levels where 1 to 64"),
    "levels-many": (
        lambda h: h["tables"][2]["levels"].extend([h["tables"][2]["levels"][1]] * 2000),
        r"tables\[2\]\.levels: 2002 levels",
    ),
    "levels-number": (put(2, "tables", 2, "levels"), r"tables\[2\]\.levels: a list was expected"),
    "level-null": (put(None, *LEVEL), r"tables\[2\]\.levels\[0\]: an object was expected"),
    "level-unknown": (put(1, *LEVEL, "path"), r"tables\[2\]\.levels\[0\]: unknown field 'path'"),
    "level-parents-fewer": (
        put([0], *LEVEL, "parents"),
        r"tables\[2\]\.levels\[0\]\.parents: \(0,\) are not all feature parents",
    ),
    "level-parents-order": (put([1, 0], *LEVEL, "parents"), r"tables\[2\]\.levels\[0\]\.parents: \(1, 0\) are not all"),
    "level-parents-again": (
        put([0, 1], "tables", 2, "levels", 1, "parents"),
        r"tables\[2\]\.levels\[1\]\.parents: .* some of the parents",
    ),
    "level-parents-other": (put([2], "tables", 2, "levels", 1, "parents"), r"tables\[2\]\.levels\[1\]\.parents: "),
    "level-parents-twice": (put([1, 1], "tables", 2, "levels", 1, "parents"), r"tables\[2\]\.levels\[1\]\.parents: "),
    "level-parents-range": (put([9], "tables", 2, "levels", 1, "parents"), r"tables\[2\]\.levels\[1\]\.parents\[0\]: 9"),
    "table-list": (put([4, 2], "tables", 0), r"tables\[0\]: an object was expected, got a list"),
    "table-dtype": (put("<f4", "tables", 0, "dtype"), r"tables\[0\]: unknown field 'dtype'"),
    "states-fewer": (lambda h: h["variables"][0]["states"].pop(), r"tables\[0\]\.table: the shape"),
    "states-twice": (put(1.0, "variables", 0, "states", 3), r"variables\[0\]\.states\[3\]: the state 1.0 occurs twice"),
    "states-null": (
        put(None, "variables", 0, "states", 2),
        r"variables\[0\]\.states\[2\]: one of bool, float, int, str was expected, got None",
    ),
    "states-list": (put([1], "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: .* got a list"),
    "states-nan": (put({"float": "nan"}, "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: 'nan' is neither"),
    "states-float-list": (put({"float": []}, "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: text was expected"),
    "states-surrogate": (put("\ud800", "variables", 0, "states", 2), "header: not UTF-8"),
    "states-and-cuts": (put(["a"], "variables", 1, "states"), r"variables\[1\]: a variable has states or cuts"),
    "cuts-decreasing": (put([1.0, 0.5], "variables", 1, "cuts"), r"variables\[1\]\.cuts\[1\]: the cut point 0.5"),
    "cuts-integer": (put([0, 1], "variables", 1, "cuts"), r"variables\[1\]\.cuts\[0\]: one of float"),
    "cuts-text": (put("ab", "variables", 1, "cuts"), r"variables\[1\]\.cuts: a list"),
    "missing-number": (put(1, "variables", 1, "missing"), r"variables\[1\]\.missing: true or false was expected"),
    "name-list": (put(["x"], "variables", 0, "name"), r"variables\[0\]\.name: .* got a list"),
    "name-object": (put({"a": 1}, "variables", 0, "name"), r"variables\[0\]\.name: .* got an object"),
    "name-bool": (put(True, "variables", 0, "name"), r"variables\[0\]\.name: "),
    "name-twice": (put("play", "variables", 0, "name"), "variables: names: duplicate column names: 'play' at positions 1, 4"),
    "variables-none": (put([], "variables"), "variables: there is no variable"),
    "variables-text": (put("abc", "variables"), "variables: a list was expected, got 'abc'"),
    "variable-null": (put(None, "variables", 0), r"variables\[0\]: an object was expected, got None"),
    "kind-upper": (put("KDB", "kind"), "kind: 'KDB' is not a short word"),
    "kind-newline": (put("kdb\n", "kind"), "kind: "),
    "kind-long": (put("k" * 100_000, "kind"), "kind: "),
    "kind-number": (put(1, "kind"), "kind: text was expected"),
    "parameters-list": (put([], "parameters"), "parameters: an object was expected"),
    "parameters-raw-object": (put({"a": 1}, "parameters", "k"), r"parameters\.k: .* got an object"),
    "parameters-dict-list": (put({"dict": []}, "parameters", "k"), r"parameters\.k: an object was expected"),
    "notes-null": (put(None, "notes"), "notes: an object was expected"),
    "optional-list": (put([], "optional"), "optional: an object was expected"),
    "key-missing": (lambda h: h.pop("notes"), "header: the field 'notes' is missing"),
    "key-unknown": (put(1, "counts"), "header: unknown field 'counts'"),
}


def opened(data: bytes) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model_from_bytes(data, "m.nvt")


@pytest.mark.parametrize("name", list(HOSTILE), ids="M3-{}".format)
def test_m3_hostile_fields(name: str) -> None:
    change, words = HOSTILE[name]
    header, body = parts(GOOD)
    value = json.loads(header)
    change(value)
    with pytest.raises(ModelFileError, match=rf"^m\.nvt: {words}") as caught:
        opened(forged(text(value), body))
    assert len(str(caught.value)) < 400
    assert "do not use it" in str(caught.value)


TEXTS: dict[str, tuple[bytes, bytes, str]] = {
    "duplicate-key": (b'"k":2', b'"k":2,"k":3', "parameters: the key 'k' occurs twice"),
    "duplicate-key-optional": (b'"optional":{}', b'"optional":{"a":{"b":1,"b":1}}', "optional: the key 'b' occurs twice"),
    "duplicate-key-top": (b'"kind":"kdb"', b'"kind":"kdb","kind":"kdb"', "header: the key 'kind' occurs twice"),
    "nan-literal": (b"14.0", b"NaN", r"notes\.weight: the literal NaN"),
    "infinity-literal": (b"-0.5", b"-Infinity", r"variables\[1\]\.cuts\[0\]: the literal -Infinity"),
    "float-overflow": (b"1e+300", b"1e999", r"variables\[1\]\.cuts\[1\]: the number '1e999' is too large"),
    "float-long": (b"14.0", b"14." + b"0" * 100_000, r"notes\.weight: the number '14\.0+\.\.\. is too large or too long"),
    "float-other-text": (b"14.0", b"14.00", "header: not in its canonical form"),
    "blank": (b'"k":2', b'"k": 2', "header: not in its canonical form"),
    "escaped": (b'"sunny"', rb'"\u0073unny"', "header: not in its canonical form"),
    "surrogate-escape": (b'"sunny"', rb'"\ud800"', r"variables\[0\]\.states\[0\]: the text '\\ud800' is not Unicode"),
    "surrogate-key": (b'"k":2', rb'"\ud800":2', r"parameters\['\\ud800'\]: the text"),
    "surrogate-optional": (b'"optional":{}', rb'"optional":{"a":"\ud800"}', "header: a text is not Unicode"),
    "not-utf8": (b"sunny", b"sunn\xff", "header: not UTF-8 at byte"),
    "not-json": (b'"k":2', b'"k"2', "header: not JSON: Expecting ':' delimiter"),
    "control-character": (b"sunny", b"sun\ny", "header: not JSON: Invalid control character"),
    "brackets": (b"[1,2,2]", b"[1,2,2]]", "header: not JSON: its brackets"),
    "trailing": (b'"yes"]}]}', b'"yes"]}]}{}', "header: not JSON: Extra data"),
    "byte-order-mark": (b'{"kind"', b'\xef\xbb\xbf{"kind"', "header: not JSON"),
    "int-5000-digits": (b'"k":2', b'"k":' + b"9" * 5000, r"parameters\.k: an integer of 5000 digits"),
    "state-5000-digits": (b'1,"1"', b"9" * 5000 + b',"1"', r"variables\[0\]\.states\[2\]: an integer of 5000 digits"),
}


@pytest.mark.parametrize("name", list(TEXTS), ids="M3-{}".format)
def test_m3_hostile_text(name: str) -> None:
    old, new, words = TEXTS[name]
    header, body = parts(GOOD)
    assert header.count(old) == 1
    with pytest.raises(ModelFileError, match=rf"^m\.nvt: {words}"):
        opened(forged(header.replace(old, new), body))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -0.25, -5e-324, 1.5, 1e308], ids="M3-cell-{}".format)
def test_m3_cells_that_are_no_probabilities(bad: float) -> None:
    header, body = parts(GOOD)
    cells = np.frombuffer(body, "<f8").copy()
    cells[0] = bad
    with pytest.raises(ModelFileError, match=r"^m\.nvt: tables\[0\]\.table: some of its cells"):
        opened(forged(header, cells.tobytes()))


@pytest.mark.parametrize(
    ("at", "cell", "words"),
    [(0, "<f8", "table of 'outlook' has .* do not sum to 1"), (160, "<i4", "configuration"), (162, "<i4", "configuration")],
    ids=["M3-unnormalised", "M3-configurations-unordered", "M3-configuration-out-of-range"],
)
def test_m3_tables_that_contradict_their_family(at: int, cell: str, words: str) -> None:
    header, body = parts(GOOD)
    cells = np.frombuffer(body, cell).copy()
    if cell == "<i4":
        start = body.index(np.array([0, 3, 2, 1], dtype="<i4").tobytes()) // 4
        cells[start + (0 if at == 160 else 1)] = 3 if at == 160 else 4
    else:
        cells[at] = 0.3
    with pytest.raises(ModelFileError, match=rf"^m\.nvt: tables: .*{words}"):
        opened(forged(header, cells.tobytes()))


def test_m3_lengths_and_padding() -> None:
    header, body = parts(GOOD)
    for data in (
        forged(header, body[:-8]),
        forged(header, body + bytes(8)),
        forged(header, body + bytes(3)),
        forged(header + b" ", body),
    ):
        with pytest.raises(ModelFileError, match=r"^m\.nvt: (tables: their shapes need|header)"):
            opened(data)
    raw = bytearray(GOOD[:-32])
    raw[16] ^= 8
    with pytest.raises(ModelFileError, match="lengths: "):
        opened(sealed(bytes(raw)))
    raw = bytearray(GOOD[:-32])
    assert raw[24 + len(header)] == 0
    raw[24 + len(header)] = 1
    with pytest.raises(ModelFileError, match="padding: "):
        opened(sealed(bytes(raw)))


# M4: bounded by limits that are checked before anything is allocated


def many_axes() -> bytes:
    variables = [{"cuts": None, "missing": False, "name": i, "other": False, "states": ["a"]} for i in range(100)]
    parents = [[-1]] * 98 + [[*range(98), -1], []]
    tables = [{"table": [1, 1]}] * 98 + [{"table": [1] * 100}, {"table": [1]}]
    header = {
        "kind": "nb",
        "notes": {},
        "optional": {},
        "parameters": {},
        "parents": parents,
        "tables": tables,
        "variables": variables,
    }
    return forged(text(header), bytes(8 * 100))


def long_cycle(count: int = 20_000) -> bytes:
    variables = [{"cuts": None, "missing": False, "name": i, "other": False, "states": ["a"]} for i in range(count)]
    parents = [[i + 1] for i in range(count - 2)] + [[0], []]
    header = {
        "kind": "nb",
        "notes": {},
        "optional": {},
        "parameters": {},
        "parents": parents,
        "tables": [],
        "variables": variables,
    }
    return forged(text(header), b"")


def grown(change: Change) -> bytes:
    header, body = parts(GOOD)
    value = json.loads(header)
    change(value)
    return forged(text(value), body)


def claims(count: int) -> Change:
    def change(header: dict[str, Any]) -> None:
        header["tables"][2]["levels"][0]["configurations"][0] = count
        header["tables"][2]["levels"][0]["rows"][0] = count

    return change


def spliced(old: bytes, new: bytes) -> bytes:
    header, body = parts(GOOD)
    return forged(header.replace(old, new), body)


BIG: dict[str, Callable[[], bytes]] = {
    "10^12-cells": lambda: grown(claims(10**12)),
    "2^63-cells": lambda: grown(claims(2**63)),
    "10^70-cells": lambda: grown(claims(10**70)),
    "dense-10^12-cells": lambda: grown(put([10**6, 10**6], "tables", 0, "table")),
    "depth-200000": lambda: spliced(b'"k":2', b'"k":' + b"[" * 200_000 + b"]" * 200_000),
    "depth-200000-objects": lambda: spliced(b'"k":2', b'"k":' + b'{"dict":' * 200_000 + b"1" + b"}" * 200_000),
    "depth-200000-open": lambda: spliced(b'"k":2', b'"k":' + b"[" * 200_000),
    "depth-33": lambda: spliced(b'"k":2', b'"k":' + b"[" * 31 + b"]" * 31),
    "depth-behind-escapes": lambda: spliced(b'"sunny"', rb'"\\\"","\\",' + b"[" * 200_000 + b"]" * 200_000),
    "int-5000-digits": lambda: spliced(b'"k":2', b'"k":' + b"9" * 5000),
    "int-10^6-digits": lambda: spliced(b'"k":2', b'"k":' + b"9" * 10**6),
    "axes-100": many_axes,
    "cycle-20000": long_cycle,
    "values": lambda: spliced(b'"k":2', b'"k":[' + b"[]," * 1_600_000 + b"[]]"),
    "closing-brackets": lambda: spliced(b'"k":2', b'"k":' + b"]" * 5_000_000),
    "quotes": lambda: spliced(b'"k":2', b'"k":' + b'"' * 5_000_000),
    "backslashes": lambda: spliced(b'"k":2', b'"k":"' + b"\\" * 5_000_001),
    "header-limit": lambda: spliced(b'"k":2', b'"k":"' + b"k" * 2**25 + b'"'),
    "dicts": lambda: spliced(b'"k":2', b'"k":[' + b'{"a":1},' * 700_000 + b"1]"),
}


@pytest.mark.parametrize("name", list(BIG), ids="M4-{}".format)
def test_m4_time_and_memory_are_bounded(name: str) -> None:
    data = BIG[name]()
    start = time.process_time()
    with pytest.raises(ModelFileError) as caught:
        opened(data)
    assert time.process_time() - start < 2
    assert len(str(caught.value)) < 400
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            opened(data)
        assert tracemalloc.get_traced_memory()[1] < 256e6
    finally:
        tracemalloc.stop()


def test_m4_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.nvt"
    with path.open("wb") as file:
        file.write(GOOD[:64])
        file.truncate(10**12)
    with pytest.raises(ModelFileError, match="1000000000000 bytes are more than the limit"):
        read_model(path)
    write_model(path, sample())
    with pytest.raises(ModelFileError, match="limit of 100"):
        read_model(path, limits=Limits(file_bytes=100))
    with pytest.raises(ModelFileError, match=r"header: .* bytes are more than the limit of 10"):
        read_model(path, limits=Limits(header_bytes=10))
    assert read_model(path).kind == "kdb"


def test_m4_brackets_in_names_are_not_depth() -> None:
    model = Model("nb", {"a": "[" * 1000, "\\": '{"' * 1000}, coin(("[" * 100, "\\", '\\"[[')), {})
    assert_same(model, model_from_bytes(model_bytes(model)))


def test_many_features_are_read_in_bounded_time() -> None:
    names = [Variable(f"word{i}", (0, 1)) for i in range(20_000)]
    model = Model("nb", {}, naive(*names, Variable("class", ("ham", "spam"))), {})
    data = model_bytes(model)
    start = time.process_time()
    assert len(model_from_bytes(data).network.variables) == 20_001
    assert time.process_time() - start < 10


# M5


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.nvt")), ids=lambda p: f"M5-{p.name}")
def test_m5_golden_files_load(path: Path) -> None:
    assert_same(read_model(path), sample())


def test_m5_golden_file_is_what_is_written_today() -> None:
    assert (GOLDEN / "model-1.0.nvt").read_bytes() == GOOD


def test_m5_versions() -> None:
    header, body = parts(GOOD)
    with pytest.raises(ModelFileError, match=r"m\.nvt: the file has format 2\.3, this naivete reads up to 1\.0; update naivete"):
        opened(forged(header, body, (2, 3)))
    with pytest.raises(ModelFileError, match=r"there is no format 0\.9"):
        opened(forged(header, body, (0, 9)))
    assert_same(opened(forged(header, body, (1, 7))), sample())


def test_m5_unknown_fields() -> None:
    header, body = parts(GOOD)
    optional = header.replace(b'"optional":{}', b'"optional":{"colour":["red",1.5]}')
    assert_same(opened(forged(optional, body, (1, 1))), sample())
    assert_same(opened(forged(optional, body)), sample())
    moved = text({**json.loads(header), "invented": []})
    with pytest.raises(
        ModelFileError, match=r"unknown field 'invented'; the file has format 1\.1 and this naivete reads 1\.0; update"
    ):
        opened(forged(moved, body, (1, 1)))


# M6


def test_m6_a_failed_save_keeps_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.nvt"
    write_model(path, sample())

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(FileError, match=r"m\.nvt: cannot be written: No space left on device; free some space"):
            write_model(path, Model("nb", {}, coin(), {}))
    assert path.read_bytes() == GOOD
    assert os.listdir(tmp_path) == ["m.nvt"]
    with pytest.raises(FileError, match="--force"):
        write_model(path, sample(), overwrite=False)


# M7


@pytest.mark.parametrize(
    "key", ["path", "url", "class", "module", "function", "__reduce__", "$ref", "include", "external", "object", "lambda", "code"]
)
@pytest.mark.parametrize("place", [(), ("variables", 0), ("tables", 0)], ids=["top", "variable", "table"])
def test_m7_there_is_no_place_for_paths_or_code(key: str, place: tuple[Any, ...]) -> None:
    for value in ("/etc/passwd", "../../x", "https://example.org/x", "os.system", {"dict": {}}):
        with pytest.raises(ModelFileError, match="unknown field"):
            opened(grown(put(value, *place, key)))


# M9


ELSEWHERE = """
import sys, locale
from tests.fuzz_model import sample
from naivete.classifiers.model_file import fingerprint, read_model
print(fingerprint(sample()), fingerprint(read_model(sys.argv[1])))
"""


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8", "de_DE.UTF-8"])
def test_m9_the_same_bytes_in_other_processes(locale: str) -> None:
    root = ROOT
    for seed in ("0", "77"):
        settings_ = {**os.environ, "LC_ALL": locale, "PYTHONHASHSEED": seed, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, str(GOLDEN / "model-1.0.nvt")],
            cwd=root,
            env=settings_,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == [fingerprint(sample())] * 2


def test_m9_byte_order_in_memory_is_irrelevant() -> None:
    model = sample()
    swapped = {v: c.astype(">f8") if isinstance(c, np.ndarray) else c for v, c in model.network.cpts.items()}
    other = Model(model.kind, model.parameters, Network(model.network.variables, model.network.parents, swapped), model.notes)
    assert model_bytes(other) == GOOD


def test_m9_readers_see_the_old_model_or_the_new_one(tmp_path: Path) -> None:
    path, done = tmp_path / "m.nvt", threading.Event()
    models = [Model("nb", {"k": k}, coin(), {"pad": "x" * 50_000 * k}) for k in range(3)]
    write_model(path, models[0])
    faults: list[object] = []

    def save(model: Model) -> None:
        for _ in range(25):
            write_model(path, model)

    def load() -> None:
        while not done.is_set():
            try:
                found = read_model(path)
            except (ModelFileError, FileError) as error:
                faults.append(error)
            else:
                faults.extend([] if len(found.notes["pad"]) == 50_000 * found.parameters["k"] else [found])

    reader, savers = threading.Thread(target=load), [threading.Thread(target=save, args=(m,)) for m in models]
    for thread in (reader, *savers):
        thread.start()
    for thread in savers:
        thread.join()
    done.set()
    reader.join()
    assert not faults
    assert os.listdir(tmp_path) == ["m.nvt"]


# Files that cannot be read at all


def test_unreadable_files_are_named_errors(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FileError, match=r"no\.nvt: cannot be read: .*; check the name"):
        read_model(tmp_path / "no.nvt")
    with pytest.raises(FileError, match="null"):
        read_model("a\0b")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_model(path)


# 40 hostile files execute nothing

WATCHED = """
import os, sys
from pathlib import Path
from naivete.errors import ModelFileError
from naivete.classifiers.model_file import read_model
good, *files = sorted(Path(sys.argv[1]).iterdir())
read_model(good)
events = []
sys.addaudithook(lambda event, args: events.append((event, str(args)[:80])))
loaded = 0
for path in files:
    try:
        read_model(path)
        loaded += 1
    except ModelFileError:
        pass
quiet = {"open", "object.__getattr__", "object.__setattr__", "sys._getframe"}
odd = [e for e in events if e[0] not in quiet or (e[0] == "open" and sys.argv[1] not in e[1])]
print(len(files), loaded, odd)
"""


def test_40_hostile_files_execute_nothing(tmp_path: Path) -> None:
    files, marker = tmp_path / "files", tmp_path / "marker"
    files.mkdir()
    payloads = [
        "__import__('os').system('touch X')",
        "!!python/object/apply:os.system",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "cos\nsystem\n(S'touch X'\ntR.",
    ]
    hostile = list(strangers(marker).values())
    for payload in payloads:
        evil = payload.replace("X", str(marker))
        hostile += [
            grown(put(evil, "parameters", "k")),
            grown(put(evil, "variables", 0, "name")),
            grown(put(evil, "kind")),
            grown(put(1, evil)),
        ]
    for i, data in enumerate([GOOD, *hostile]):
        (files / f"{i:03}.nvt").write_bytes(data)
    root = ROOT
    done = subprocess.run([sys.executable, "-c", WATCHED, str(files)], cwd=root, capture_output=True, text=True, check=True)
    assert len(hostile) >= 40
    assert done.stdout.split(maxsplit=2) == [str(len(hostile)), "10", "[]\n"]
    assert not marker.exists()


# Fuzzing


def check_mutants(count: int, seed: int) -> None:
    rng, good = random.Random(seed), corpus()
    for _ in range(count):
        data = mutant(rng, good)
        try:
            model = opened(data)
        except ModelFileError:
            continue
        if data[8:12] == b"\x01\0\0\0" and not json.loads(parts(data)[0])["optional"]:
            assert model_bytes(model) == data


def test_mutants_are_refused_or_are_models() -> None:
    check_mutants(1500, 0)


@pytest.mark.slow
def test_50000_mutants_are_refused_or_are_models() -> None:
    check_mutants(50_000, 1)


def test_the_fuzzer_reads_forged_files(tmp_path: Path) -> None:
    for data in corpus():
        (tmp_path / "m.nvt").write_bytes(data)
        read(tmp_path / "m.nvt")
    (tmp_path / "m.nvt").write_bytes(GOOD[:-1] + b"?")
    read(tmp_path / "m.nvt")


# The parts


def test_canonical_json_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(FieldError, match="surrogate"):
        canonical(["\ud800"])
    assert parsed(canonical(coded({"a": [1, 1.0, True, "1", None]}, "x")), Limits()) == {"dict": {"a": [1, 1.0, True, "1", None]}}
