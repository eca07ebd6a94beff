"""The header of a model file: what the arrays after it mean, each field checked before it is believed.

Its keys are `kind`, `notes`, `optional`, `parameters`, `parents`, `tables` and `variables`, and where the network has derived
columns or densities `derived` or `densities`; the contents of `optional` are for later versions and are ignored.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, quoted
from naivete.network.conditional_tables import Cpt, SparseCpt
from naivete.network.densities import Kernel, Normal
from naivete.network.derived_columns import Derived, Hidden, Hierarchy, Tree
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.storage.canonical_json import (
    FieldError,
    coded,
    coded_dict,
    coded_float,
    expect,
    expect_count,
    expect_keys,
    items,
    plain_dict,
    scalar,
    seen,
    whole,
)
from naivete.variables import CLASS, Name, State, Variable, Variables, check_unique, family

__all__ = ["Block", "Column", "Header", "Table", "density_arrays", "derived_arrays", "described", "levels", "understood"]

_AXES: Final = 64
"""What numpy can hold; also the most levels of a sparse table."""
_KEYS: Final = ("kind", "notes", "optional", "parameters", "parents", "tables", "variables")
_NAME: Final[frozenset[type]] = frozenset({str, int, float, type(None)})
_STATE: Final[frozenset[type]] = frozenset({str, int, float, bool})
_CUT: Final[frozenset[type]] = frozenset({float})
_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class Block:
    """One array of the file: its field in the header, the type of its cells and its shape."""

    field: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How long it is, as a Python integer that cannot overflow."""
        return math.prod(self.shape) * int(self.dtype[-1])


@dataclass(frozen=True)
class Table:
    """The arrays of one variable; for a sparse table also the parents at each level, which has two arrays, before the default."""

    blocks: tuple[Block, ...]
    levels: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Column:
    """How a derived column comes about, and the arrays that say so, in the order of its fields."""

    kind: type[Derived]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Header:
    """What a header says, checked: all but the numbers in the tables."""

    kind: str
    parameters: dict[str, Any]
    notes: dict[str, Any]
    variables: Variables
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Table, ...]
    derived: tuple[Column, ...] = ()
    densities: tuple[tuple[int, tuple[Block, ...]], ...] = ()


_DERIVED: Final[dict[str, tuple[type[Derived], tuple[tuple[str, str, int], ...]]]] = {
    "hidden": (Hidden, ()),
    "tree": (Tree, (("features", "<i8", 1), ("starts", "<i8", 1), ("children", "<i8", 1), ("weights", "<f8", 1))),
    "cells": (Hierarchy, (("children", "<i8", 2), ("features", "<i8", 1))),
}
"""Each kind of derived column, and its arrays: name, type of the cells, number of axes."""


def derived_arrays(derived: Derived) -> tuple[str, list[tuple[str, NDArray[Any]]]]:
    """The word for a derived column, and its arrays as the file holds them, by name."""
    word = next(word for word, (kind, _) in _DERIVED.items() if type(derived) is kind)
    return word, [(name, np.asarray(getattr(derived, name), dtype)) for name, dtype, _ in _DERIVED[word][1]]


def described(kind: object, parameters: object, notes: object, network: Network) -> dict[str, Any]:
    """The header of a model, as JSON values; what JSON cannot hold exactly is refused."""
    order = (*network.features, CLASS)
    own = [_coded_derived(network.derived[v]) for v in sorted(network.derived)]
    numbers = sorted(network.densities)
    return {
        **({"derived": own} if own else {}),
        **({"densities": [_density_shape(network.densities[x]) for x in numbers]} if numbers else {}),
        "kind": coded(kind, "kind"),
        "notes": coded_dict(notes, "notes", 1),
        "optional": {},
        "parameters": coded_dict(parameters, "parameters", 1),
        "parents": [[int(p) for p in network.parents[v]] for v in order],
        "tables": [_shapes(network.cpts[v]) for v in order],
        "variables": [_coded_variable(v, f"variables[{i}]") for i, v in enumerate(network.variables)],
    }


def _density_shape(density: Normal) -> list[int]:
    """The shape of the means; of a sum of bells the number of points comes first."""
    own = list(density.means.shape)
    return [len(density.points), *own] if isinstance(density, Kernel) else own


def density_arrays(density: Normal) -> list[NDArray[np.float64]]:
    """The arrays of a density as the file holds them."""
    more = [density.points, density.weights, density.widths] if isinstance(density, Kernel) else []
    return [density.means, density.variances, *([] if density.slopes is None else [density.slopes]), *more]


def _coded_derived(derived: Derived) -> dict[str, Any]:
    word, arrays = derived_arrays(derived)
    return {"kind": word, **{name: list(array.shape) for name, array in arrays}}


def _shapes(cpt: Cpt) -> dict[str, Any]:
    backed, last = levels(cpt)
    if not backed:
        return {"table": list(last.shape)}
    return {"default": list(last.shape), "levels": [_level_shapes(level) for level in backed]}


def _level_shapes(level: SparseCpt) -> dict[str, list[int]]:
    parents = [int(p) for p in level.parents]
    return {"configurations": list(level.configurations.shape), "parents": parents, "rows": list(level.rows.shape)}


def levels(cpt: Cpt) -> tuple[list[SparseCpt], NDArray[np.float64]]:
    """A table as the sparse tables that back off to one another and the dense one at the end."""
    found = []
    while isinstance(cpt, SparseCpt):
        found.append(cpt)
        cpt = cpt.default
    return found, cpt


def _coded_variable(variable: Variable, field: str) -> dict[str, Any]:
    cuts = variable.cuts
    return {
        **({} if variable.origin is None else {"origin": coded_float(variable.origin, f"{field}.origin")}),
        **({"kernel": True} if variable.kernel else {}),
        "cuts": None if cuts is None else [coded_float(float(c), f"{field}.cuts[{i}]") for i, c in enumerate(cuts)],
        "missing": coded(variable.missing, f"{field}.missing"),
        "name": coded(variable.name, f"{field}.name"),
        "other": coded(variable.other, f"{field}.other"),
        "states": [coded(s, f"{field}.states[{i}]") for i, s in enumerate(variable.states)],
    }


def understood(header: Any) -> Header:
    """Check every field of a parsed header, in order, and say what it means."""
    given = [key for key in ("derived", "densities") if type(header) is dict and key in header]
    expect_keys(header, "header", (*_KEYS, *given))
    expect(header["optional"], "optional", dict, "an object")
    variables = _variables(items(header["variables"], "variables"))
    parents = _parents(items(header["parents"], "parents"), len(variables))
    return Header(
        kind=_kind(header["kind"]),
        parameters=plain_dict(header["parameters"], "parameters"),
        notes=plain_dict(header["notes"], "notes"),
        variables=variables,
        parents=parents,
        tables=_tables(items(header["tables"], "tables"), variables, parents),
        derived=_columns(items(header["derived"], "derived"), len(variables) - 1) if "derived" in header else (),
        densities=_densities(header.get("densities"), variables, parents),
    )


def _densities(value: Any, variables: Variables, parents: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, tuple[Block, ...]], ...]:
    """The arrays of the densities of the variables that have some: means, variances, and with numeric parents slopes."""
    numbers = [x for x, v in enumerate(variables) if v.density]
    if not numbers and value is None:
        return ()
    shapes = items(value, "densities")
    expect_count(shapes, "densities", len(numbers))
    if not numbers or numbers[-1] == len(variables) - 1:
        raise FieldError("densities", "no feature is a number that is not cut, or the class is one")
    found = []
    for i, x in enumerate(numbers):
        field = f"densities[{i}]"
        numeric = sum(variables[p].density for p in parents[x])
        needed = tuple(variables[p].card for p in family(x, *parents[x]) if p != x and not variables[p].density)
        shape = tuple(whole(n, field, 0, 2**63) for n in items(shapes[i], field))
        count, shape = (shape[0] if shape else 0, shape[1:]) if variables[x].kernel else (0, shape)
        if shape != needed:
            raise FieldError(field, f"the shape {quoted(shape)} is not that of the parents, {quoted(needed)}")
        shapes_of = {"means": shape, "variances": shape, **({"slopes": (*shape, numeric)} if numeric else {})}
        if variables[x].kernel:
            shapes_of |= {"points": (count,), "weights": (count, variables[-1].card), "widths": (variables[-1].card,)}
        found.append((x, tuple(Block(f"{field}.{name}", "<f8", own) for name, own in shapes_of.items())))
    return tuple(found)


def _columns(values: list[Any], features: int) -> tuple[Column, ...]:
    if not 1 <= len(values) <= features:
        raise FieldError("derived", f"{len(values)} columns where 1 to {features} are possible")
    return tuple(_column(value, f"derived[{i}]") for i, value in enumerate(values))


def _column(value: Any, field: str) -> Column:
    found = expect(value, field, dict, "an object").get("kind")
    if type(found) is not str or found not in _DERIVED:
        raise FieldError(f"{field}.kind", f"{seen(found)} is none of {', '.join(_DERIVED)}")
    kind, arrays = _DERIVED[found]
    expect_keys(value, field, ("kind", *(name for name, _, _ in arrays)))
    blocks = []
    for name, dtype, axes in arrays:
        shape = items(value[name], f"{field}.{name}")
        expect_count(shape, f"{field}.{name}", axes)
        blocks.append(Block(f"{field}.{name}", dtype, tuple(whole(n, f"{field}.{name}", 0, 2**63) for n in shape)))
    return Column(kind, tuple(blocks))


def _kind(value: Any) -> str:
    kind: str = expect(value, "kind", str, "text")
    if not _KIND.fullmatch(kind):
        raise FieldError("kind", f"{seen(kind)} is not a short word of lowercase letters")
    return kind


def _variables(values: list[Any]) -> Variables:
    if not values:
        raise FieldError("variables", "there is no variable, not even the class")
    variables = tuple(_variable(value, f"variables[{i}]") for i, value in enumerate(values))
    try:
        check_unique([v.name for v in variables], "names")
    except DataError as error:
        raise FieldError("variables", str(error)) from None
    return variables


def _variable(value: Any, field: str) -> Variable:
    density = type(value) is dict and "origin" in value
    bells = density and "kernel" in value
    more = (*(("origin",) if density else ()), *(("kernel",) if bells else ()))
    expect_keys(value, field, ("cuts", "missing", "name", "other", "states", *more))
    if bells and value["kernel"] is not True:
        raise FieldError(f"{field}.kernel", "true was expected where it is said at all")
    origin: float | None = scalar(value["origin"], f"{field}.origin", _CUT) if density else None
    if origin is not None and not math.isfinite(origin):
        raise FieldError(f"{field}.origin", f"{seen(origin)} is not a number to measure from")
    name: Name = scalar(value["name"], f"{field}.name", _NAME)
    missing, other = (expect(value[key], f"{field}.{key}", bool, "true or false") for key in ("missing", "other"))
    states = _states(items(value["states"], f"{field}.states"), f"{field}.states")
    cuts = None if value["cuts"] is None else _cuts(items(value["cuts"], f"{field}.cuts"), f"{field}.cuts")
    if cuts is not None and states:
        raise FieldError(field, "a variable has states or cuts, not both")
    if density and (states or cuts is not None or missing or other):
        raise FieldError(field, "a variable with a density has neither states nor cuts")
    return Variable(name, states, cuts, missing, other, origin, bells)


def _states(values: list[Any], field: str) -> tuple[State, ...]:
    states = tuple(scalar(value, f"{field}[{i}]", _STATE) for i, value in enumerate(values))
    known: set[tuple[bool, State]] = set()
    for i, state in enumerate(states):
        key = (type(state) is bool, state)  # True is not 1, but 1.0 is
        if key in known:
            raise FieldError(f"{field}[{i}]", f"the state {seen(state)} occurs twice")
        known.add(key)
    return states


def _cuts(values: list[Any], field: str) -> tuple[float, ...]:
    cuts: tuple[float, ...] = tuple(scalar(value, f"{field}[{i}]", _CUT) for i, value in enumerate(values))
    for i, (low, high) in enumerate(pairwise(cuts), start=1):
        if not low < high:
            raise FieldError(f"{field}[{i}]", f"the cut point {high} does not exceed the one before, {low}")
    return cuts


def _parents(values: list[Any], count: int) -> tuple[tuple[int, ...], ...]:
    expect_count(values, "parents", count)
    parents = tuple(_indices(value, f"parents[{v}]", count) for v, value in enumerate(values))
    for v, own in enumerate(parents):
        if len(set(own)) < len(own) or (v if v < count - 1 else CLASS) in own:
            raise FieldError(f"parents[{v}]", "the variable is its own parent or has a parent twice")
    structure = {**dict(enumerate(parents[:-1])), CLASS: parents[-1]}
    stuck = set(structure) - set(topological(structure))
    if stuck:
        raise FieldError(f"parents[{min(stuck) % count}]", f"the arcs form a cycle: {len(stuck)} variables have no order")
    return parents


def _indices(value: Any, field: str, count: int) -> tuple[int, ...]:
    return tuple(whole(p, f"{field}[{i}]", CLASS, count - 2) for i, p in enumerate(items(value, field)))


def _tables(values: list[Any], variables: Variables, parents: tuple[tuple[int, ...], ...]) -> tuple[Table, ...]:
    expect_count(values, "tables", len(variables))
    cards = [v.card for v in variables]
    places = (*range(len(variables) - 1), CLASS)
    return tuple(_table(value, f"tables[{i}]", cards, places[i], parents[i]) for i, value in enumerate(values))


def _table(value: Any, field: str, cards: list[int], v: int, parents: tuple[int, ...]) -> Table:
    """The arrays that the family of the variable needs; the file has to say the same."""
    if type(value) is dict and "levels" in value:
        return _sparse_table(value, field, cards, (cards[v], cards[CLASS] if CLASS in parents else 1), parents)
    expect_keys(value, field, ("table",))
    return Table((_block(value, field, "table", "<f8", tuple(cards[m] for m in family(v, *parents))),))


def _sparse_table(value: Any, field: str, cards: list[int], inner: tuple[int, int], parents: tuple[int, ...]) -> Table:
    expect_keys(value, field, ("default", "levels"))
    found = items(value["levels"], f"{field}.levels")
    if not 1 <= len(found) <= _AXES:
        raise FieldError(f"{field}.levels", f"{len(found)} levels where 1 to {_AXES} are possible")
    allowed = {p for p in parents if p != CLASS}
    blocks: list[Block] = []
    of_levels: list[tuple[int, ...]] = []
    for i, level in enumerate(found):
        where = f"{field}.levels[{i}]"
        expect_keys(level, where, ("configurations", "parents", "rows"))
        own = _indices(level["parents"], f"{where}.parents", len(cards))
        _check_level(own, f"{where}.parents", allowed, whole_family=i == 0)
        allowed = set(own)
        of_levels.append(own)
        blocks += _level_blocks(level, where, len(own), inner)
    return Table((*blocks, _block(value, field, "default", "<f8", inner)), tuple(of_levels))


def _check_level(own: tuple[int, ...], field: str, allowed: set[int], whole_family: bool) -> None:
    fits = set(own) == allowed if whole_family else set(own) < allowed
    if not fits or any(low >= high for low, high in pairwise(own)):
        needed = "all feature parents" if whole_family else "some of the parents of the level before"
        raise FieldError(field, f"{quoted(own[:10])} are not {needed}, in increasing order")


def _level_blocks(level: Any, field: str, width: int, inner: tuple[int, int]) -> tuple[Block, Block]:
    where = f"{field}.configurations"
    shape = items(level["configurations"], where)
    expect_count(shape, where, 2)
    count = whole(shape[0], f"{where}[0]", 0, 2**63)
    if count and not width:
        raise FieldError(where, "a table without feature parents has no configurations")
    return _block(level, field, "configurations", "<i4", (count, width)), _block(level, field, "rows", "<f8", (count, *inner))


def _block(value: Any, field: str, part: str, dtype: str, needed: tuple[int, ...]) -> Block:
    where = f"{field}.{part}"
    if len(needed) > _AXES:
        raise FieldError(where, f"a family of {len(needed)} variables is more than the {_AXES} axes of a table")
    found = tuple(whole(n, f"{where}[{i}]", 0, 2**63) for i, n in enumerate(items(value[part], where)))
    if found != needed:
        raise FieldError(where, f"the shape {quoted(found)} is not that of the family, {quoted(needed)}")
    return Block(where, dtype, needed)
