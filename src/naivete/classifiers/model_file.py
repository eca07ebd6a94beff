"""Model files: a ZIP archive of plain data with checksums, one sequence of bytes for one model; nothing in it is executed.

Anybody can open the archive with `unzip`. It holds `model.json` and, as .npy files, the numbers of all arrays of one type:

    model.json
        format        the version, [1, 0]
        kind          the word for the estimator, such as "kdb"
        parameters    what it was fitted with, by name
        notes         what else it learned: information, selected features, types of labels
        variables     name, states or cut points of each variable, the class last
        parents       the parents of each variable, by position; -1 is the class
        tables        P(variable | parents) of each variable: an array, or the levels of a sparse table and its default
        derived       the columns computed from others, such as the leaves of a tree, if there are some
        densities     the densities of continuous features, if there are some
        more          what a classifier has beside a network, such as the counts and weights of a spectrum
        optional      what is no part of the model: the counts with which learning continues, if they were saved; anything else is
                      ignored
    float64.npy, int32.npy, ...
    sha256            the SHA-256 of the other members, for `sha256sum --check`
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, ModelFileError
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Derived, Hidden, Hierarchy, Tree
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.storage.canonical_json import FieldError, Limits, expect, expect_keys, label, shown, whole
from naivete.storage.packed import Format
from naivete.variables import CLASS, Variable, Variables

__all__ = ["FORMAT", "Model", "model_bytes", "model_from_bytes", "plain_variable", "read_model", "variable_of"]

FORMAT: Final = Format("model", ModelFileError, Limits(), frozenset({"$int", "$float", "$array"}))
_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_NAME: Final = (str, int, float, type(None))
_STATE: Final = (str, int, float, bool)
_PLAIN: Final = (str, int, float, bool, type(None))
_LEVELS: Final = 64
"""The most levels of a sparse table."""
_NEW_COPY: Final = "get a new copy of a file saved by naivete"

Arrays = dict[str, tuple[str, int]]
"""The arrays of a dataclass by the names of its fields: the type and the number of axes of each."""
_DERIVED: Final[dict[str, tuple[type[Derived], Arrays]]] = {
    "hidden": (Hidden, {}),
    "tree": (Tree, {"features": ("int64", 1), "starts": ("int64", 1), "children": ("int64", 1), "weights": ("float64", 1)}),
    "hierarchy": (Hierarchy, {"features": ("int64", 1), "children": ("int64", 2)}),
}
_LEVEL: Final[Arrays] = {"configurations": ("int32", 2), "rows": ("float64", 3)}
_COMPRESSED: Final[Arrays] = {"starts": ("int64", 1), "states": ("int32", 1), "values": ("float64", 2), "factors": ("float64", 2)}


@dataclass(frozen=True, eq=False)
class Model:
    """A learned model as plain data; two models are the same if their bytes are equal.

    Parameters
    ----------
    kind : a short lowercase word for the estimator, such as "kdb".
    parameters : what it was learned with: None, bool, int, float (not nan), str, and lists and dicts of those.
    network : the variables, parents and tables.
    notes : facts about the training, of the same types as the parameters; nothing that differs between two equal runs.
    more : values and arrays beside the network; the classifier that reads them checks them.
    optional : values and arrays that are no part of the model, such as the counts with which learning continues.
    """

    kind: str
    parameters: dict[str, Any]
    network: Network
    notes: dict[str, Any]
    more: dict[str, Any] = dataclasses.field(default_factory=dict)
    optional: dict[str, Any] = dataclasses.field(default_factory=dict)


def model_bytes(model: Model) -> bytes:
    """Return the content of the model's file; equal models have equal bytes.

    >>> coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.5, 0.5])})
    >>> data = model_bytes(Model("majority", {}, coin, {"rows": 2}))
    >>> model_from_bytes(data).notes
    {'rows': 2}
    """
    try:
        return b"".join(FORMAT.pieces(_fields(model)))
    except FieldError as error:
        field = error.field.removeprefix(".") or FORMAT.member
        raise ModelFileError(f"model: {field}: {error.reason}; this model cannot be saved, and nothing was written") from None


def read_model(path: str | os.PathLike[str]) -> Model:
    """Load a model; an error is raised about a file that is not exactly as naivete writes it, whatever its name."""
    return model_from_bytes(FORMAT.read(os.fspath(path), advice=_NEW_COPY), str(path))


def model_from_bytes(data: bytes, where: str = "model") -> Model:
    """Return the model of the content of a file; `where` is what errors call it, such as the name of the file."""
    return FORMAT.built(data, _model, where=where, advice=_NEW_COPY)


def _fields(model: Model) -> dict[str, Any]:
    """The fields of model.json, with keys in sorted order and arrays in place."""
    network = model.network
    order = (*network.features, CLASS)
    derived = [_plain_derived(network.derived[v]) for v in sorted(network.derived)]
    densities = [_plain_density(network.densities[x]) for x in sorted(network.densities)]
    return {
        "kind": _kind(model.kind),
        "notes": _plain_dict(model.notes, "notes"),
        "parameters": _plain_dict(model.parameters, "parameters"),
        "parents": [[int(p) for p in network.parents[v]] for v in order],
        "tables": [_plain_table(network.cpts[v]) for v in order],
        "variables": [plain_variable(v, f"variables[{i}]") for i, v in enumerate(network.variables)],
        **({"derived": derived} if derived else {}),
        **({"densities": densities} if densities else {}),
        **({"more": model.more} if model.more else {}),
        **({"optional": model.optional} if model.optional else {}),
    }


def _model(fields: dict[str, Any]) -> Model:
    """The model of the fields, each of which is checked."""
    expect_keys(
        fields, "", ("kind", "notes", "parameters", "parents", "tables", "variables"), ("derived", "densities", "more", "optional")
    )
    optional = expect(fields.get("optional", {}), "optional", dict, "an object")
    kind = _kind(fields["kind"])
    parameters, notes = (_plain_dict(fields[name], name) for name in ("parameters", "notes"))
    more = expect(fields.get("more", {}), "more", dict, "an object")
    return Model(kind, parameters, _network(fields), notes, more, optional)


def _network(fields: dict[str, Any]) -> Network:
    """The network, which itself checks that its tables fit its variables and parents and that probabilities sum to 1."""
    variables = tuple(variable_of(value, f"variables[{i}]") for i, value in enumerate(_list(fields["variables"], "variables", 1)))
    features = len(variables) - 1
    order = (*range(features), CLASS)
    parents = dict(zip(order, _parents(_list(fields["parents"], "parents", len(order), len(order))), strict=True))
    tables = _list(fields["tables"], "tables", len(order), len(order))
    cpts = {v: _table(tables[i], f"tables[{i}]", features) for i, v in enumerate(order)}
    try:
        with np.errstate(all="ignore"):  # huge numbers overflow in sums, and are refused
            return Network(variables, parents, cpts, _derived_columns(fields, features), _densities(fields, variables))
    except DataError as error:
        raise FieldError("network", str(error).removeprefix("network: ")) from None


def _kind(value: Any) -> str:
    kind: str = expect(value, "kind", str, "a string")
    if not _KIND.fullmatch(kind):
        raise FieldError("kind", f"{shown(kind)} is not a short word of lowercase letters")
    return kind


def _plain_dict(values: Any, field: str, depth: int = 0) -> dict[str, Any]:
    """The dict with all keys in sorted order; a FieldError is raised about values of other types than JSON has."""
    if type(values) is not dict or set(map(type, values)) - {str}:
        raise FieldError(field, "a dict with strings as keys was expected")
    return {key: _plain(values[key], field + label(key), depth) for key in sorted(values)}


def _plain(value: Any, field: str, depth: int) -> Any:
    if depth > FORMAT.limits.depth:
        raise FieldError(field[:200], f"lists and dicts are nested more than {FORMAT.limits.depth} deep")
    if type(value) in (str, int, bool):
        return value
    if type(value) is list:
        return [_plain(inner, f"{field}[{i}]", depth + 1) for i, inner in enumerate(value)]
    return _plain_dict(value, field, depth + 1) if type(value) is dict else _scalar(value, field, _PLAIN)


def _scalar(value: Any, field: str, allowed: tuple[type, ...]) -> Any:
    """The value, of exactly one of the allowed types: 1, 1.0, True and "1" are four values."""
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in allowed:
        words = ", ".join("None" if kind is type(None) else kind.__name__ for kind in allowed)
        raise FieldError(field, f"one of {words} was expected, got a value of type {type(value).__name__}")
    if type(value) is float and math.isnan(value):
        raise FieldError(field, "nan is not possible here")
    return value


def _list(value: Any, field: str, least: int = 0, most: float = math.inf) -> list[Any]:
    values: list[Any] = expect(value, field, list, "a list")
    if not least <= len(values) <= most:
        raise FieldError(field, f"{len(values)} entries, where {least if least == most else f'{least} to {most}'} were expected")
    return values


def plain_variable(variable: Variable, field: str) -> dict[str, Any]:
    """Return a variable as plain data; a FieldError is raised about one that is not valid."""
    _check_variable(variable, field)
    cuts = variable.cuts
    return {
        "cuts": None if cuts is None else [float(cut) for cut in cuts],
        **({"kernel": True} if variable.kernel else {}),
        **({"left_out": True} if variable.left_out else {}),
        "missing": variable.missing,
        "name": variable.name,
        **({} if variable.origin is None else {"origin": float(variable.origin)}),
        "other": variable.other,
        "states": list(variable.states),
    }


def variable_of(value: Any, field: str) -> Variable:
    """Return the variable of plain data; a FieldError is raised about data that is not valid."""
    expect_keys(value, field, ("cuts", "missing", "name", "other", "states"), ("origin", "kernel", "left_out"))
    for name in ("kernel", "left_out"):
        if value.get(name, True) is not True:
            raise FieldError(f"{field}.{name}", "only true is possible")
    cuts = None if value["cuts"] is None else tuple(_list(value["cuts"], f"{field}.cuts"))
    origin = expect(value["origin"], f"{field}.origin", float, "a float") if "origin" in value else None
    states = tuple(_list(value["states"], f"{field}.states"))
    variable = Variable(
        value["name"], states, cuts, value["missing"], value["other"], origin, "kernel" in value, "left_out" in value
    )
    _check_variable(variable, field, cut_types=(float,))
    return variable


def _check_variable(variable: Variable, field: str, cut_types: tuple[type, ...] = (float, int)) -> None:
    """Raise a FieldError about a variable that is not valid, when saving as well as when loading."""
    _scalar(variable.name, f"{field}.name", _NAME)
    for name in ("missing", "other"):
        expect(getattr(variable, name), f"{field}.{name}", bool, "true or false")
    known: set[tuple[bool, Any]] = set()
    for i, state in enumerate(variable.states):
        plain = _scalar(state, f"{field}.states[{i}]", _STATE)
        if (type(plain) is bool, plain) in known:  # True is not 1, but 1.0 is
            raise FieldError(f"{field}.states[{i}]", f"the state {shown(plain)} occurs twice")
        known.add((type(plain) is bool, plain))
    cuts = [_scalar(cut, f"{field}.cuts[{i}]", cut_types) for i, cut in enumerate(variable.cuts or ())]
    if not all(low < high for low, high in pairwise(cuts)):
        raise FieldError(f"{field}.cuts", "the cut points do not increase")
    if variable.cuts is not None and variable.states:
        raise FieldError(field, "a variable has states or cut points, not both")
    density = variable.origin is not None
    if variable.left_out and variable != Variable(variable.name, left_out=True):
        raise FieldError(field, "a variable that is left out has no states, cut points or density")
    if density and (variable.states or variable.cuts is not None or variable.missing or variable.other):
        raise FieldError(field, "a variable with a density has neither states nor cut points")
    if (density and not math.isfinite(variable.origin or 0.0)) or (variable.kernel and not density):
        raise FieldError(f"{field}.origin", "a density needs a finite origin")


def _parents(values: list[Any]) -> list[tuple[int, ...]]:
    count = len(values)
    parents = [
        tuple(whole(p, f"parents[{v}][{i}]", CLASS, count - 2) for i, p in enumerate(_list(value, f"parents[{v}]")))
        for v, value in enumerate(values)
    ]
    structure = {**dict(enumerate(parents[:-1])), CLASS: parents[-1]}
    unordered = count - len(topological(structure))
    if unordered:
        raise FieldError("parents", f"the arcs form a cycle: {unordered} variables have no order")
    return parents


def _plain_arrays(value: Any, arrays: Arrays) -> dict[str, NDArray[Any]]:
    return {name: np.asarray(getattr(value, name), arrays[name][0]) for name in sorted(arrays)}


def _array(value: Any, field: str, dtype: str, axes: int | None = None) -> NDArray[Any]:
    array: NDArray[Any] = expect(value, field, np.ndarray, "an array")
    if array.dtype != dtype or axes not in (None, array.ndim):
        raise FieldError(field, f"an array of {dtype} with {axes or 'any number of'} axes was expected")
    return array


def _plain_table(cpt: Cpt) -> Any:
    levels = []
    while isinstance(cpt, SparseCpt):
        if isinstance(cpt.rows, CompressedRows):
            arrays = {"configurations": np.asarray(cpt.configurations, np.int32), **_plain_arrays(cpt.rows, _COMPRESSED)}
        else:
            arrays = _plain_arrays(cpt, _LEVEL)
        levels.append(dict(sorted({**arrays, "parents": [int(p) for p in cpt.parents]}.items())))
        cpt = cpt.default
    default = np.asarray(cpt, np.float64)
    return {"default": default, "levels": levels} if levels else default


def _table(value: Any, field: str, features: int) -> Cpt:
    if type(value) is not dict:
        return _array(value, field, "float64")
    expect_keys(value, field, ("default", "levels"))
    cpt: Cpt = _array(value["default"], f"{field}.default", "float64", 2)
    for i, level in reversed(list(enumerate(_list(value["levels"], f"{field}.levels", 1, _LEVELS)))):
        where = f"{field}.levels[{i}]"
        compressed = type(level) is dict and "starts" in level
        expected = {"configurations": _LEVEL["configurations"], **_COMPRESSED} if compressed else _LEVEL
        expect_keys(level, where, (*expected, "parents"))
        arrays = {name: _array(level[name], f"{where}.{name}", *expected[name]) for name in expected}
        parents = tuple(whole(p, f"{where}.parents", 0, features - 1) for p in _list(level["parents"], f"{where}.parents"))
        rows = CompressedRows(**{name: arrays[name] for name in _COMPRESSED}) if compressed else arrays["rows"]
        cpt = SparseCpt(arrays["configurations"], rows, cpt, parents)
    return cpt


def _plain_derived(derived: Derived) -> dict[str, Any]:
    kind = next(word for word, (cls, _) in _DERIVED.items() if type(derived) is cls)
    return dict(sorted({"kind": kind, **_plain_arrays(derived, _DERIVED[kind][1])}.items()))


def _derived_columns(fields: Mapping[str, Any], features: int) -> dict[int, Derived]:
    values = _list(fields["derived"], "derived", 1, features) if "derived" in fields else []
    columns = [_derived(value, f"derived[{i}]") for i, value in enumerate(values)]
    return dict(zip(range(features - len(columns), features), columns, strict=True))


def _derived(value: Any, field: str) -> Derived:
    kind = expect(value, field, dict, "an object").get("kind")
    if type(kind) is not str or kind not in _DERIVED:
        raise FieldError(f"{field}.kind", f"{shown(kind)} is none of {', '.join(_DERIVED)}")
    cls, arrays = _DERIVED[kind]
    expect_keys(value, field, ("kind", *arrays))
    return cls(**{name: _array(value[name], f"{field}.{name}", *arrays[name]) for name in arrays})


def _plain_density(density: Normal) -> dict[str, Any]:
    arrays = {field.name: getattr(density, field.name) for field in dataclasses.fields(density)}
    return {name: np.asarray(arrays[name], np.float64) for name in sorted(arrays) if arrays[name] is not None}


def _densities(fields: Mapping[str, Any], variables: Variables) -> dict[int, Normal]:
    continuous = [x for x, variable in enumerate(variables) if variable.density]
    if not continuous and "densities" not in fields:
        return {}
    values = _list(fields.get("densities"), "densities", max(1, len(continuous)), len(continuous))
    if continuous[-1] == len(variables) - 1:
        raise FieldError("densities", "the class cannot have a density")
    return {x: _density(values[i], f"densities[{i}]", variables[x].kernel) for i, x in enumerate(continuous)}


def _density(value: Any, field: str, kernel: bool) -> Normal:
    more = ("points", "weights", "widths") if kernel else ()
    expect_keys(value, field, ("means", "variances", *more), ("slopes",))
    arrays = {name: _array(value[name], f"{field}.{name}", "float64", 1 if name == "points" else None) for name in value}
    return (Kernel if kernel else Normal)(**arrays)
