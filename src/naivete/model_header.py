"""The header of a model file: what the arrays after it mean, each field checked before it is believed.

Its keys are `kind`, `notes`, `optional`, `parameters`, `parents`, `tables` and `variables`; the contents of `optional` are for
later versions and are ignored.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from naivete.canonical_json import (
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
from naivete.errors import DataError, shown
from naivete.network import Cpt, Network, SparseCpt, topological
from naivete.variables import CLASS, Name, State, Variable, Variables, check_unique, family

__all__ = ["Block", "Header", "described", "understood"]

_AXES: Final = 64
"""What numpy can hold."""
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
class Header:
    """What a header says, checked: all but the numbers of the tables, whose arrays are listed for each variable."""

    kind: str
    parameters: dict[str, Any]
    notes: dict[str, Any]
    variables: Variables
    parents: tuple[tuple[int, ...], ...]
    blocks: tuple[tuple[Block, ...], ...]


def described(kind: object, parameters: object, notes: object, network: Network) -> dict[str, Any]:
    """The header of a model, as JSON values; what JSON cannot hold exactly is refused."""
    order = (*network.features, CLASS)
    return {
        "kind": coded(kind, "kind"),
        "notes": coded_dict(notes, "notes", 1),
        "optional": {},
        "parameters": coded_dict(parameters, "parameters", 1),
        "parents": [[int(p) for p in network.parents[v]] for v in order],
        "tables": [_shapes(network.cpts[v]) for v in order],
        "variables": [_coded_variable(v, f"variables[{i}]") for i, v in enumerate(network.variables)],
    }


def _shapes(cpt: Cpt) -> dict[str, list[int]]:
    if not isinstance(cpt, SparseCpt):
        return {"table": list(cpt.shape)}
    return {"configurations": list(cpt.configurations.shape), "default": list(cpt.default.shape), "rows": list(cpt.rows.shape)}


def _coded_variable(variable: Variable, field: str) -> dict[str, Any]:
    cuts = variable.cuts
    return {
        "cuts": None if cuts is None else [coded_float(float(c), f"{field}.cuts[{i}]") for i, c in enumerate(cuts)],
        "missing": coded(variable.missing, f"{field}.missing"),
        "name": coded(variable.name, f"{field}.name"),
        "states": [coded(s, f"{field}.states[{i}]") for i, s in enumerate(variable.states)],
    }


def understood(header: Any) -> Header:
    """Check every field of a parsed header, in order, and say what it means."""
    expect_keys(header, "header", _KEYS)
    expect(header["optional"], "optional", dict, "an object")
    variables = _variables(items(header["variables"], "variables"))
    parents = _parents(items(header["parents"], "parents"), len(variables))
    return Header(
        kind=_kind(header["kind"]),
        parameters=plain_dict(header["parameters"], "parameters"),
        notes=plain_dict(header["notes"], "notes"),
        variables=variables,
        parents=parents,
        blocks=_blocks(items(header["tables"], "tables"), variables, parents),
    )


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
    expect_keys(value, field, ("cuts", "missing", "name", "states"))
    name: Name = scalar(value["name"], f"{field}.name", _NAME)
    missing: bool = expect(value["missing"], f"{field}.missing", bool, "true or false")
    states = _states(items(value["states"], f"{field}.states"), f"{field}.states")
    cuts = None if value["cuts"] is None else _cuts(items(value["cuts"], f"{field}.cuts"), f"{field}.cuts")
    if cuts is not None and states:
        raise FieldError(field, "a variable has states or cuts, not both")
    variable = Variable(name, states, cuts, missing)
    if variable.card == 0:
        raise FieldError(f"{field}.states", "a variable needs at least one state")
    return variable


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


def _blocks(values: list[Any], variables: Variables, parents: tuple[tuple[int, ...], ...]) -> tuple[tuple[Block, ...], ...]:
    expect_count(values, "tables", len(variables))
    cards = [v.card for v in variables]
    places = (*range(len(variables) - 1), CLASS)
    return tuple(_table(value, f"tables[{i}]", cards, places[i], parents[i]) for i, value in enumerate(values))


def _table(value: Any, field: str, cards: list[int], v: int, parents: tuple[int, ...]) -> tuple[Block, ...]:
    """The arrays of one variable: those its family needs, and the file has to say the same."""
    sparse = type(value) is dict and "configurations" in value
    expect_keys(value, field, ("configurations", "default", "rows") if sparse else ("table",))
    if sparse:
        needed = _sparse_blocks(value["configurations"], field, cards, v, parents)
    else:
        needed = (Block(f"{field}.table", "<f8", tuple(cards[m] for m in family(v, *parents))),)
    for block in needed:
        _expect_shape(value[block.field.rpartition(".")[2]], block)
    return needed


def _sparse_blocks(value: Any, field: str, cards: list[int], v: int, parents: tuple[int, ...]) -> tuple[Block, ...]:
    where = f"{field}.configurations"
    shape = items(value, where)
    expect_count(shape, where, 2)
    count = whole(shape[0], f"{where}[0]", 0, 2**63)
    width = sum(p != CLASS for p in parents)
    if count and not width:
        raise FieldError(where, "a table without feature parents has no configurations")
    inner = (cards[v], cards[CLASS] if CLASS in parents else 1)
    return (
        Block(where, "<i4", (count, width)),
        Block(f"{field}.rows", "<f8", (count, *inner)),
        Block(f"{field}.default", "<f8", inner),
    )


def _expect_shape(value: Any, block: Block) -> None:
    if len(block.shape) > _AXES:
        raise FieldError(block.field, f"a family of {len(block.shape)} variables is more than the {_AXES} axes of a table")
    found = tuple(whole(n, f"{block.field}[{i}]", 0, 2**63) for i, n in enumerate(items(value, block.field)))
    if found != block.shape:
        raise FieldError(block.field, f"the shape {shown(found)} is not that of the family, {shown(block.shape)}")
