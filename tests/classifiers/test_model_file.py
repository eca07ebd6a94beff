"""Model files: saving and loading is the identity, and no other file is loaded."""

from __future__ import annotations

import bz2
import cProfile
import dataclasses
import gzip
import hashlib
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
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.classifiers import model_file
from naivete.classifiers.model_file import FORMAT, Model, model_bytes, model_from_bytes, plain_variable, read_model
from naivete.errors import FileError, ModelFileError
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.derived_columns import Hierarchy, Tree
from naivete.network.network import Network
from naivete.storage.atomic import atomic_write
from naivete.storage.canonical_json import FieldError, Limits, canonical, parsed
from naivete.variables import Variable
from tests import ROOT
from tests.fuzz_model import GOLDEN, archived, corpus, forged, mutant, npy, numbers, parts, read, sample, text
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


def write_model(path: Path, model: Model) -> None:
    atomic_write(path, model_bytes(model))


def fingerprint(model: Model) -> str:
    return hashlib.sha256(model_bytes(model)).hexdigest()


def levels(cpt: Any) -> tuple[list[SparseCpt], np.ndarray]:
    found = []
    while isinstance(cpt, SparseCpt):
        found.append(cpt)
        cpt = cpt.default
    return found, cpt


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
    return [array for level in sparse for array in (level.configurations, *arrays_of_rows(level.rows))] + [last]


def arrays_of_rows(rows: Any) -> list[np.ndarray]:
    if isinstance(rows, CompressedRows):
        return [rows.starts, rows.states, rows.values, rows.factors]
    return [rows]


# Saving and loading is the identity


@given(networks(sparse=True, any_names=True) | deriving_networks(), st.dictionaries(st.text(max_size=6), plain, max_size=3))
@settings(max_examples=60, deadline=None)
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
    assert [f.name for f in dataclasses.fields(Variable)] == [
        "name",
        "states",
        "cuts",
        "missing",
        "other",
        "origin",
        "kernel",
        "left_out",
    ]
    assert [f.name for f in dataclasses.fields(Network)] == ["variables", "parents", "cpts", "derived", "densities"]
    assert [f.name for f in dataclasses.fields(Tree)] == ["features", "starts", "children", "weights"]
    assert [f.name for f in dataclasses.fields(Hierarchy)] == ["children", "features"]
    assert [f.name for f in dataclasses.fields(SparseCpt)] == ["configurations", "rows", "default", "parents"]
    assert [f.name for f in dataclasses.fields(Model)] == ["kind", "parameters", "network", "notes", "more", "optional"]


def test_a_variable_without_a_value_is_kept() -> None:
    back = model_from_bytes(model_bytes(Model("nb", {}, naive(Variable("x"), Variable("c", ("a", "b"))), {})))
    assert back.network.variables[0] == Variable("x")


def test_a_variable_that_is_left_out_is_kept_and_checked() -> None:
    left_out = Variable("x", left_out=True)
    back = model_from_bytes(model_bytes(Model("nb", {}, naive(left_out, Variable("c", ("a", "b"))), {})))
    assert back.network.variables[0] == left_out
    with pytest.raises(FieldError, match="a variable that is left out has no states"):
        plain_variable(Variable("x", ("a", "b"), left_out=True), "variables[0]")


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
        (10**90, -(10**90)),
        ({"$float": "inf"}, math.inf),
        ({"$": 1}, {"$$": 1}),
        ({}, {"dict": {}}),
    ],
    ids=str,
)
def test_different_values_have_different_files(one: Any, other: Any) -> None:
    first, second = (Model("nb", {"v": value}, coin(), {}) for value in (one, other))
    assert fingerprint(first) != fingerprint(second)
    assert exact(model_from_bytes(model_bytes(first)).parameters) == exact(first.parameters)


def test_anybody_can_open_a_model_file() -> None:
    with zipfile.ZipFile(io.BytesIO(GOOD)) as file:
        assert file.testzip() is None
        header = json.loads(file.read("model.json"))
        tables = np.load(io.BytesIO(file.read("float64.npy")), allow_pickle=False)
        for line in file.read("sha256").decode().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256(file.read(name)).hexdigest() == digest
    assert header["variables"][3] == {"cuts": None, "missing": False, "name": "play", "other": False, "states": ["no", "yes"]}
    assert tables[:8].tolist() == [0.25, 0.1, 0.25, 0.2, 0.5, 0.3, 0.0, 0.4]


def test_saving_parses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is written once and not read back; that this is right is for the tests here to show."""
    calls: list[str] = []
    monkeypatch.setattr(json, "loads", lambda *_, **__: calls.append("json"))
    monkeypatch.setattr(np, "frombuffer", lambda *_, **__: calls.append("array") or np.zeros(0))
    monkeypatch.setattr(model_file, "_model", lambda *_: calls.append("model"))
    monkeypatch.setattr("naivete.storage.canonical_json.check_extent", lambda *_: None)
    monkeypatch.setattr("naivete.storage.packed.check_extent", lambda *_: None)
    write_model(tmp_path / "m.nvt", sample())
    assert (tmp_path / "m.nvt").read_bytes() == GOOD
    assert not calls


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": math.nan}, "parameters.a: nan"),
        ({"a": [0, (1, 2)]}, r"parameters.a\[1\]: .* a value of type tuple"),
        ({"a b": {1}}, r"parameters\['a b'\]: .* a value of type set"),
        ({"a": {"b": print}}, "parameters.a.b: .* a value of type builtin_function"),
        ({"a": np.datetime64("2020-01-01")}, "type date"),
        ({"a": np.arange(2)}, "type ndarray"),
        ({"a": {1: 2}}, "parameters.a: a dict with strings as keys"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ([], "parameters: a dict with strings as keys"),
    ],
)
def test_what_cannot_be_stored_exactly_is_refused(values: Any, words: str) -> None:
    with pytest.raises(ModelFileError, match=rf"^model: .*{words}.*cannot be saved"):
        model_bytes(Model("nb", values, coin(), {}))


def test_what_cannot_be_read_back_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(model_file, "FORMAT", dataclasses.replace(FORMAT, limits=Limits(values=5)))
    with pytest.raises(ModelFileError, match="values are more than the limit of 5"):
        write_model(tmp_path / "m.nvt", sample())
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
    for data in (GOOD + b"\n", GOOD + GOOD, GOOD[:80] + GOOD[80:].replace(b"\n", b"\r\n"), GOOD[:-1], GOOD[:200]):
        with pytest.raises(ModelFileError, match="truncated or damaged"):
            model_from_bytes(data)


# M2


class Evil:
    """What runs when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


@cache
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
        "short": GOOD[:20],
        "development": b"\x8bNVT\r\n\x1a\n" + bytes(100),
        "other-zip": archived({"other.json": b"{}"}),
        "zeros": bytes(100),
    }


@pytest.fixture(scope="module")
def marker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that hostile files create when they are executed."""
    return tmp_path_factory.mktemp("marker") / "marker"


@pytest.mark.parametrize("name", list(strangers(Path("nowhere"))), ids="M2-{}".format)
def test_m2_other_files_are_refused_by_content(name: str, tmp_path: Path, marker: Path) -> None:
    path = tmp_path / "model.nvt"
    path.write_bytes(strangers(marker)[name])
    with pytest.raises(ModelFileError, match=r"model\.nvt: not a model file of naivete"):
        read_model(path)
    assert os.listdir(tmp_path) == ["model.nvt"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("pickle-4", "a pickle, which naivete never opens"),
        ("pickle-0", "a pickle, which naivete never opens"),
        ("zip", "a ZIP archive that naivete did not write"),
        ("pickle-gzip", "a compressed file"),
        ("npy", "numpy"),
        ("development", "a development version of naivete, whose format is no longer read: fit again"),
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


def array(*shape: int, kind: str = "float64") -> dict[str, Any]:
    return {"$array": [kind, list(shape)]}


BARE = {"default": array(4, 2), "levels": [{"configurations": array(1, 0, kind="int32"), "parents": [], "rows": array(0, 4, 2)}]}
HOSTILE: dict[str, tuple[Change, str]] = {
    "index-out-of-range": (put(3, "parents", 1, 0), r"parents\[1\]\[0\]: 3 is not between -1 and 2"),
    "index-negative": (put(-2, "parents", 1, 0), r"parents\[1\]\[0\]: -2"),
    "index-huge": (put(2**70, "parents", 1, 0), r"parents\[1\]\[0\]: "),
    "index-float": (put(0.0, "parents", 1, 0), r"parents\[1\]\[0\]: an integer was expected, got 0.0"),
    "index-bool": (put(True, "parents", 1, 0), r"parents\[1\]\[0\]: an integer"),
    "own-parent": (put([0], "parents", 0), "parents: the arcs form a cycle"),
    "class-own-parent": (put([-1], "parents", 3), "parents: the arcs form a cycle"),
    "parent-twice": (put([0, 0], "parents", 1), "network: variable 7 .* has a parent twice"),
    "cycle": (put([2, -1], "parents", 0), "parents: the arcs form a cycle: 3 variables"),
    "cycle-class": (put([0], "parents", 3), "parents: the arcs form a cycle"),
    "parents-too-few": (lambda h: h["parents"].pop(), "parents: 3 entries, where 4"),
    "parents-object": (put({}, "parents"), "parents: a list was expected, got an object"),
    "tables-too-many": (lambda h: h["tables"].append([]), "tables: 5 entries"),
    "shape-lie": (put(array(2, 4), "tables", 0), r"network: table of 'outlook' has shape \(2, 4\) where its family has \(4, 2\)"),
    "shape-negative": (put(array(-4, -2), "tables", 0), r"tables\[0\]: -4"),
    "shape-text": (put({"$array": ["float64", ["4", 2]]}, "tables", 0), r"tables\[0\]: an integer was expected, got '4'"),
    "type-lie": (put(array(4, 2, kind="int32"), "tables", 0), r"tables\[0\]: an array of 32 bytes where only 20 are left"),
    "type-other": (put(array(4, 1, kind="int32"), "tables", 0), r"tables\[2\].levels\[0\].configurations: an array of 16 bytes"),
    "type-unknown": (put(array(4, 2, kind="object"), "tables", 0), r"tables\[0\]: there is no member 'object.npy'"),
    "sparse-lie": (put(array(1, 2, 2), *LEVEL, "rows"), r"float64\.npy: 32 bytes belong to no array"),
    "sparse-count-lie": (
        put(array(3, 2, kind="int32"), *LEVEL, "configurations"),
        r"tables\[2\]\.levels\[0\]\.configurations: an array of 24",
    ),
    "sparse-axes": (
        put(array(4, kind="int32"), *LEVEL, "configurations"),
        r"tables\[2\]\.levels\[0\]\.configurations: an array of int32 with 2",
    ),
    "sparse-no-parents": (put(BARE, "tables", 0), "network: table of 'outlook'"),
    "sparse-default": (put(array(4, 1), "tables", 2, "default"), "network: .* shapes of the sparse table do not agree"),
    "sparse-default-axes": (put(array(4), "tables", 2, "default"), r"tables\[2\]\.default: an array of float64 with 2 axes"),
    "levels-none": (put([], "tables", 2, "levels"), r"float64\.npy: 96 bytes belong to no array"),
    "levels-many": (lambda h: h["tables"][2]["levels"].extend([{}] * 2000), r"tables\[2\]\.levels: 2002 entries, where 1 to 64"),
    "level-unknown": (put(1, *LEVEL, "path"), r"tables\[2\]\.levels\[0\]: unknown field 'path'"),
    "level-parents-fewer": (put([0], *LEVEL, "parents"), r"network: .* got \(0,\)"),
    "level-parents-order": (put([1, 0], *LEVEL, "parents"), r"network: .* got \(1, 0\)"),
    "level-parents-again": (put([0, 1], "tables", 2, "levels", 1, "parents"), r"network: .* not to \(0, 1\)"),
    "level-parents-other": (put([2], "tables", 2, "levels", 1, "parents"), r"network: .* not to \(2,\)"),
    "level-parents-twice": (put([1, 1], "tables", 2, "levels", 1, "parents"), "network: "),
    "level-parents-range": (put([9], "tables", 2, "levels", 1, "parents"), r"tables\[2\]\.levels\[1\]\.parents: 9 is not between"),
    "level-parents-class": (
        put([-1], "tables", 2, "levels", 1, "parents"),
        r"tables\[2\]\.levels\[1\]\.parents: -1 is not between",
    ),
    "table-list": (put([4, 2], "tables", 3), r"float64\.npy: 16 bytes"),
    "table-number": (
        lambda h: (put(array(4, 2), "parameters", "k")(h), put(1, "tables", 0)(h)),
        r"parameters\.k: .* got a value of type ndarray",
    ),
    "array-behind": (put(array(0), "notes", "rows"), r"notes\.rows: .* got a value of type ndarray"),
    "states-fewer": (lambda h: h["variables"][0]["states"].pop(), "network: table of 'outlook' has shape"),
    "states-twice": (put(1.0, "variables", 0, "states", 3), r"variables\[0\]\.states\[3\]: the state 1.0 occurs twice"),
    "states-null": (
        put(None, "variables", 0, "states", 2),
        r"variables\[0\]\.states\[2\]: one of str, int, float, bool was expected, got .* NoneType",
    ),
    "states-list": (put([1], "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: .* type list"),
    "states-nan": (put({"$float": "nan"}, "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: nan"),
    "states-float-list": (put({"$float": []}, "variables", 0, "states", 2), r"variables\[0\]\.states\[2\]: a list is none of"),
    "states-surrogate": (put("\ud800", "variables", 0, "states", 2), r"model\.json: not canonical JSON: 'utf-8' codec"),
    "states-and-cuts": (put(["a"], "variables", 1, "states"), r"variables\[1\]: a variable has states or cut points"),
    "cuts-decreasing": (put([1.0, 0.5], "variables", 1, "cuts"), r"variables\[1\]\.cuts: the cut points do not increase"),
    "cuts-integer": (put([0, 1], "variables", 1, "cuts"), r"variables\[1\]\.cuts\[0\]: one of float"),
    "cuts-text": (put("ab", "variables", 1, "cuts"), r"variables\[1\]\.cuts: a list"),
    "missing-number": (put(1, "variables", 1, "missing"), r"variables\[1\]\.missing: true or false was expected"),
    "origin-with-states": (put(0.0, "variables", 0, "origin"), r"variables\[0\]: a variable with a density has neither"),
    "origin-infinite": (put({"$float": "inf"}, "variables", 1, "origin"), r"variables\[1\]"),
    "kernel-false": (put(False, "variables", 1, "kernel"), r"variables\[1\]\.kernel: only true"),
    "kernel-alone": (put(True, "variables", 1, "kernel"), r"variables\[1\]\.origin: a density needs a finite origin"),
    "name-list": (put(["x"], "variables", 0, "name"), r"variables\[0\]\.name: .* type list"),
    "name-object": (put({"a": 1}, "variables", 0, "name"), r"variables\[0\]\.name: .* type dict"),
    "name-bool": (put(True, "variables", 0, "name"), r"variables\[0\]\.name: "),
    "name-twice": (put("play", "variables", 0, "name"), "network: duplicate column names: 'play' at positions 1, 4"),
    "variables-none": (put([], "variables"), "variables: 0 entries"),
    "variables-text": (put("abc", "variables"), "variables: a list was expected, got 'abc'"),
    "variable-null": (put(None, "variables", 0), r"variables\[0\]: an object was expected, got None"),
    "densities": (put([], "densities"), "densities: 0 entries"),
    "derived-empty": (put([], "derived"), "derived: 0 entries"),
    "derived-kind": (put([{"kind": "lambda"}], "derived"), r"derived\[0\]\.kind: 'lambda' is none of hidden, tree, hierarchy"),
    "derived-arrays": (put([{"kind": "tree"}], "derived"), r"derived\[0\]: the field 'children' is missing"),
    "kind-upper": (put("KDB", "kind"), "kind: 'KDB' is not a short word"),
    "kind-newline": (put("kdb\n", "kind"), "kind: "),
    "kind-long": (put("k" * 100_000, "kind"), "kind: "),
    "kind-number": (put(1, "kind"), "kind: a string was expected"),
    "parameters-list": (put([], "parameters"), "parameters: a dict with strings as keys"),
    "parameters-tuple": (put({"$tuple": []}, "parameters", "k"), r"parameters\.k: values of the kind '\$tuple' are not known here"),
    "parameters-dict": (put({"$dict": ["b", 1, "a", 2]}, "parameters", "k"), r"parameters\.k: values of the kind '\$dict'"),
    "parameters-record": (put({"$record": "tally"}, "parameters", "k"), r"parameters\.k: values of the kind '\$record'"),
    "notes-null": (put(None, "notes"), "notes: a dict with strings as keys"),
    "optional-list": (put([], "optional"), "optional: an object was expected"),
    "key-missing": (lambda h: h.pop("notes"), r"model\.json: the field 'notes' is missing"),
    "key-unknown": (put(1, "counts"), r"model\.json: unknown field 'counts'"),
    "version-text": (put("1.0", "format"), "format: a list of two version numbers"),
    "version-absent": (lambda h: h.pop("format"), "format: a list of two version numbers"),
}


def opened(data: bytes) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model_from_bytes(data, "m.nvt")


@pytest.mark.parametrize("name", list(HOSTILE), ids="M3-{}".format)
def test_m3_hostile_fields(name: str) -> None:
    change, words = HOSTILE[name]
    header, arrays = parts(GOOD)
    value = json.loads(header)
    change(value)
    with pytest.raises(ModelFileError, match=rf"^m\.nvt: {words}") as caught:
        opened(forged(text(value), arrays))
    assert len(str(caught.value)) < 400
    assert "do not use it" in str(caught.value)


NOT_CANONICAL = r"model\.json: not canonical JSON"
TEXTS: dict[str, tuple[bytes, bytes, str]] = {
    "duplicate-key": (b'"k":2', b'"k":2,"k":3', NOT_CANONICAL + r" .* near '.*\"k\":2,\"k\":3"),
    "duplicate-key-top": (b'"kind":"kdb"', b'"kind":"kdb","kind":"kdb"', NOT_CANONICAL + " .* near '.*kind"),
    "nan-literal": (b"14.0", b"NaN", NOT_CANONICAL + ": Out of range float"),
    "infinity-literal": (b"-0.5", b"-Infinity", NOT_CANONICAL + ": Out of range float"),
    "float-overflow": (b"1e+300", b"1e999", NOT_CANONICAL + ": Out of range float"),
    "float-long": (b"14.0", b"14." + b"0" * 100_000, NOT_CANONICAL + r" .* near '.*14\.000"),
    "float-other-text": (b"14.0", b"14.00", NOT_CANONICAL + r" .* near '.*14\.00"),
    "blank": (b'"k":2', b'"k": 2', NOT_CANONICAL + r" .* near '.*\"k\": 2"),
    "unsorted": (b'"a":"b"', b'"b":1,"a":"b"', NOT_CANONICAL + r" .* near"),
    "escaped": (b'"sunny"', rb'"\u0073unny"', NOT_CANONICAL + " .* near '.*u0073unny"),
    "surrogate-escape": (b'"sunny"', rb'"\ud800"', r"model\.json: a string is not Unicode.*ud800"),
    "surrogate-key": (b'"k":2', rb'"\ud800":2', r"model\.json: a string is not Unicode"),
    "not-utf8": (b"sunny", b"sunn\xff", NOT_CANONICAL + ": 'utf-8' codec"),
    "not-json": (b'"k":2', b'"k"2', NOT_CANONICAL + ": Expecting ':' delimiter"),
    "control-character": (b"sunny", b"sun\ny", NOT_CANONICAL + ": Invalid control character"),
    "brackets": (b"[1,0]", b"[1,0]]", r"model\.json: not JSON: its brackets"),
    "trailing": (b'"yes"]}]}', b'"yes"]}]}{}', NOT_CANONICAL + ": Extra data"),
    "byte-order-mark": (b'{"format"', b'\xef\xbb\xbf{"format"', NOT_CANONICAL),
    "int-5000-digits": (b'"k":2', b'"k":' + b"9" * 5000, NOT_CANONICAL + ": Exceeds the limit"),
    "int-100-digits": (b'"k":2', b'"k":' + b"9" * 100, r"parameters\.k: an integer of more than 64 bits"),
    "state-100-digits": (b'1,"1"', b"9" * 100 + b',"1"', r"variables\[0\]\.states\[2\]: an integer of more than 64 bits"),
}


@pytest.mark.parametrize("name", list(TEXTS), ids="M3-{}".format)
def test_m3_hostile_text(name: str) -> None:
    old, new, words = TEXTS[name]
    header, arrays = parts(GOOD)
    assert header.count(old) == 1
    with pytest.raises(ModelFileError, match=rf"^m\.nvt: {words}"):
        opened(forged(header.replace(old, new), arrays))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, -0.25, -5e-324, 1.5, 1e308, 0.3], ids="M3-cell-{}".format)
def test_m3_cells_that_are_no_probabilities(bad: float) -> None:
    header, arrays = parts(GOOD)
    cells = numbers(arrays["float64.npy"])
    cells[[0, 2]] = bad
    with pytest.raises(ModelFileError, match=r"^m\.nvt: network: table of 'outlook' has negative or .* do not sum to 1"):
        opened(forged(header, {**arrays, "float64.npy": npy(cells)}))


@pytest.mark.parametrize(
    "configurations", [[3, 3, 2, 1, 1], [0, 4, 2, 1, 1], [0, 3, 0, 3, 1], [-1, 3, 2, 1, 1]], ids="M3-{}".format
)
def test_m3_configurations_that_contradict_their_family(configurations: list[int]) -> None:
    header, arrays = parts(GOOD)
    assert numbers(arrays["int32.npy"], "<i4").tolist() == [0, 3, 2, 1, 1]
    with pytest.raises(ModelFileError, match=r"^m\.nvt: network: table of None: .* configuration"):
        opened(forged(header, {**arrays, "int32.npy": npy(np.array(configurations, np.int32))}))


# M4: bounded by limits that are checked before anything is allocated


def grown(change: Change) -> bytes:
    header, arrays = parts(GOOD)
    value = json.loads(header)
    change(value)
    return forged(text(value), arrays)


def spliced(new: bytes, old: bytes = b'"k":2') -> bytes:
    header, arrays = parts(GOOD)
    return forged(header.replace(old, b'"k":' + new if old == b'"k":2' else new), arrays)


def chained(count: int, parents: list[list[int]], tables: list[Any]) -> bytes:
    variable = {"cuts": None, "missing": False, "other": False, "states": ["a"]}
    variables = [{**variable, "name": i} for i in range(count)]
    fields = {"format": [1, 0], "kind": "nb", "notes": {}, "parameters": {}, "parents": parents, "tables": tables}
    return forged(text({**fields, "variables": variables}), {"float64.npy": npy(np.ones(max(1, len(tables))))})


def many_axes() -> bytes:
    tables = [array(1, 1)] * 98 + [array(*[1] * 100), array(1)]
    return chained(100, [[-1]] * 98 + [[*range(98), -1], []], tables)


def long_cycle(count: int = 3000) -> bytes:
    return chained(count, [[i + 1] for i in range(count - 2)] + [[0], []], [array(1)])


UNPARSED: dict[str, Callable[[], bytes]] = {
    "depth-200000": lambda: spliced(b"[" * 200_000 + b"]" * 200_000),
    "depth-200000-objects": lambda: spliced(b'{"dict":' * 200_000 + b"1" + b"}" * 200_000),
    "depth-200000-open": lambda: spliced(b"[" * 200_000),
    "depth-33": lambda: spliced(b"[" * 31 + b"]" * 31),
    "depth-behind-escapes": lambda: spliced(rb'"\\\"","\\",' + b"[" * 200_000 + b"]" * 200_000, b'"sunny"'),
    "values": lambda: spliced(b"[" + b"[]," * 1_600_000 + b"[]]"),
    "closing-brackets": lambda: spliced(b"]" * 2_000_000),
    "json-limit": lambda: spliced(b'"' + b"k" * 2**25 + b'"'),
    "dicts": lambda: spliced(b"[" + b'{"a":1},' * 800_000 + b"1]"),
}
SMALL: dict[str, Callable[[], bytes]] = {
    "10^12-cells": lambda: grown(put(array(10**12), "tables", 0)),
    "2^63-cells": lambda: grown(put(array(2**62, 2), "tables", 0)),
    "10^70-cells": lambda: grown(put(array(10**35, 10**35), "tables", 0)),
    "no-cells-of-2^124": lambda: grown(put(array(0, 2**62, 2**62), "tables", 0)),
    "int-5000-digits": lambda: spliced(b"9" * 5000),
    "int-10^6-digits": lambda: spliced(b"9" * 10**6),
    "axes-100": many_axes,
    "cycle-3000": long_cycle,
    "quotes": lambda: spliced(b'"' * 1_000_000),
    "backslashes": lambda: spliced(b'"' + b"\\" * 1_000_001),
}


@pytest.mark.parametrize("name", [*UNPARSED, *SMALL], ids="M4-{}".format)
def test_m4_hostile_files_are_refused_before_anything_large_is_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peak of memory is bounded by the size of the file; JSON that exceeds a limit is not even parsed."""
    data = {**UNPARSED, **SMALL}[name]()
    if name in UNPARSED:
        monkeypatch.setattr(json, "loads", None)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            opened(data)
        assert tracemalloc.get_traced_memory()[1] < 40e6 + 8 * len(data)
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 400


def test_m4_a_file_over_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.nvt"
    with path.open("wb") as file:
        file.write(GOOD[:64])
        file.truncate(10**12)
    with pytest.raises(ModelFileError, match="1000000000000 bytes are more than the limit"):
        read_model(path)
    write_model(path, sample())
    assert read_model(path).kind == "kdb"
    monkeypatch.setattr(model_file, "FORMAT", dataclasses.replace(FORMAT, limits=Limits(json_bytes=10)))
    with pytest.raises(ModelFileError, match=r"model\.json: .* bytes are more than the limit of 10"):
        read_model(path)


def test_m4_brackets_in_names_are_not_depth() -> None:
    model = Model("nb", {"a": "[" * 1000, "\\": '{"' * 1000}, coin(("[" * 100, "\\", '\\"[[')), {})
    assert_same(model, model_from_bytes(model_bytes(model)))


def test_the_work_of_reading_grows_linearly_with_the_features() -> None:
    """Calls of functions while reading, by the profiler: twice the features need at most twice as many, and a few more."""
    calls = []
    for count in (500, 1000):
        names = [Variable(f"word{i}", (0, 1)) for i in range(count)]
        data = model_bytes(Model("nb", {}, naive(*names, Variable("class", ("ham", "spam"))), {}))
        profile = cProfile.Profile()
        assert len(profile.runcall(model_from_bytes, data).network.variables) == count + 1
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[1] < 2.1 * calls[0]


# M5


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.nvt")), ids=lambda p: f"M5-{p.name}")
def test_m5_golden_files_load(path: Path) -> None:
    assert_same(read_model(path), sample())


def test_m5_golden_file_is_what_is_written_today() -> None:
    assert (GOLDEN / "model-1.0.nvt").read_bytes() == GOOD


def with_version(version: bytes, header: bytes | None = None) -> bytes:
    good, arrays = parts(GOOD)
    return forged((header or good).replace(b'"format":[1,0]', b'"format":' + version), arrays)


def test_m5_versions() -> None:
    with pytest.raises(
        ModelFileError, match=r"m\.nvt: format: .*; the file has format 2\.3 and this naivete reads 1\.0; update naivete"
    ):
        opened(with_version(b"[2,3]"))
    with pytest.raises(ModelFileError, match=r"there is no format 0\.9"):
        opened(with_version(b"[0,9]"))
    assert_same(opened(with_version(b"[1,7]")), sample())


def test_m5_unknown_fields() -> None:
    header = json.loads(parts(GOOD)[0])
    optional = text({**header, "optional": {"colour": ["red", 1.5]}})
    assert_same(opened(with_version(b"[1,1]", optional)), sample())
    assert_same(opened(with_version(b"[1,0]", optional)), sample())
    words = r"unknown field 'invented'; the file has format 1\.1 and this naivete reads 1\.0; update"
    with pytest.raises(ModelFileError, match=words):
        opened(with_version(b"[1,1]", text({**header, "invented": []})))


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


# M7


@pytest.mark.parametrize(
    "key", ["path", "url", "class", "module", "function", "__reduce__", "$ref", "include", "external", "object", "lambda", "code"]
)
@pytest.mark.parametrize("place", [(), ("variables", 0), ("tables", 2), LEVEL], ids=["top", "variable", "table", "level"])
def test_m7_there_is_no_place_for_paths_or_code(key: str, place: tuple[Any, ...]) -> None:
    for value in ("/etc/passwd", "../../x", "https://example.org/x", "os.system", {}):
        with pytest.raises(ModelFileError, match=r"unknown field|are not known here"):
            opened(grown(put(value, *place, key)))


# M9


ELSEWHERE = """
import hashlib, sys
from tests.fuzz_model import sample
from naivete.classifiers.model_file import model_bytes, read_model
for model in (sample(), read_model(sys.argv[1])):
    print(hashlib.sha256(model_bytes(model)).hexdigest())
"""


def test_m9_the_same_bytes_in_another_process() -> None:
    settings_ = {**os.environ, "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "77", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    words = [sys.executable, "-c", ELSEWHERE, str(GOLDEN / "model-1.0.nvt")]
    done = subprocess.run(words, cwd=ROOT, env=settings_, capture_output=True, text=True, check=True)
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
        header = json.loads(parts(data)[0])
        if header["format"] == [1, 0] and "optional" not in header:
            assert model_bytes(model) == data


def test_mutants_are_refused_or_are_models() -> None:
    check_mutants(1000, 0)


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
    assert parsed(canonical({"a": [1, 1.0, True, "1", None]}), Limits()) == {"a": [1, 1.0, True, "1", None]}
