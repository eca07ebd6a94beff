"""The counts that a classifier keeps of its training cases, in the optional part of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete.errors import ParameterError
from naivete.network.network import Network
from naivete.storage.canonical_json import FieldError, shown
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.ages import Ages
    from naivete.classifiers.batches import KeptCases
    from naivete.encoding.value_counts import ValueCounts

__all__ = ["kept_bytes", "kept_of"]

_FIELD = "optional.counts"


def kept_bytes(kept: KeptCases) -> NDArray[np.uint8]:
    """Return the counts of some cases as bytes."""
    from naivete.storage.packed import packed

    value = _plain(kept)
    if kept.ages is not None:
        ages = kept.ages
        value["ages"] = {"window": ages.window, "half_life": ages.half_life, "learned": ages.learned, "period": ages.period}
        value["ages"]["parts"] = [_plain(part) for part in ages.parts]
    return np.frombuffer(packed(value), np.uint8)


def _plain(kept: KeptCases) -> dict[str, Any]:
    tables = kept.tables
    value: dict[str, Any] = {"value_counts": kept.value_counts}
    return value if tables is None else {**value, "members": tables.members, "sums": tables.sums}


def kept_of(content: Any, network: Network, framed: bool) -> KeptCases:
    """Return the counts that `kept_bytes` stored; a FieldError is raised about counts that do not belong to the network."""
    from naivete.storage.packed import CheckpointError, unpacked

    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        raise FieldError(_FIELD, "an array of bytes was expected")
    try:
        value = unpacked(content.tobytes(), _FIELD)
    except CheckpointError as error:
        raise FieldError(_FIELD, str(error)) from None
    kept = _checked(value, network, framed)
    return kept if value.get("ages") is None else replace(kept, ages=_ages_of(value["ages"], kept, network, framed))


def _checked(value: Any, network: Network, framed: bool) -> KeptCases:
    """Return the counts of some cases; a FieldError is raised about counts that do not belong to the network."""
    from naivete.classifiers.batches import KeptCases
    from naivete.classifiers.value_tables import ValueTables, bytes_of_tables, values_of
    from naivete.encoding.value_counts import ValueCounts

    counts = value.get("value_counts") if isinstance(value, dict) else None
    if not isinstance(counts, ValueCounts):
        raise FieldError(_FIELD, "value counts were expected")
    _check_value_counts(counts, network)
    tables = None
    if "members" in value:
        members, sums = value["members"], value.get("sums")
        if type(members) is not int or not 1 <= members <= 64:
            raise FieldError(_FIELD, f"{members!r} is not a number of features of a table")
        size = bytes_of_tables(counts, members)  # before the tables are listed, of which there may be very many
        if size is None:
            raise FieldError(_FIELD, f"the tables of {members} features have too many cells")
        _check_sums(sums, (size // 8,))
        tables = ValueTables(members, values_of(counts), counts.classes, sums)
    return KeptCases(counts, None, network.variables[CLASS].name, framed, tables)


def _ages_of(value: Any, kept: KeptCases, network: Network, framed: bool) -> Ages:
    """Return the ages of the cases; a FieldError is raised unless their parts are cases like all of them."""
    from naivete.classifiers.ages import ages_of

    fields = ("window", "half_life", "learned", "period", "parts")
    if not isinstance(value, dict) or set(value) != set(fields) or type(value["parts"]) is not list:
        raise FieldError(_FIELD, "the ages of the cases are not valid")
    window, half_life, learned, period, parts = (value[name] for name in fields)
    try:
        rule = ages_of(None, window, half_life)
    except ParameterError as error:
        raise FieldError(_FIELD, str(error)) from None
    whole = type(learned) is int and type(period) is int and learned >= 0 and 0 <= period <= learned
    cases = tuple(_checked(part, network, framed) for part in parts)
    members = None if kept.tables is None else kept.tables.members
    alike = all(members == (None if part.tables is None else part.tables.members) for part in cases)
    if rule is None or not whole or not alike or not cases:
        raise FieldError(_FIELD, "the ages of the cases are not valid")
    if sum(part.value_counts.rows for part in cases) != kept.value_counts.rows:
        raise FieldError(_FIELD, "the parts by age are not all of the cases")
    return replace(rule, parts=cases, learned=learned, period=period)


def _check_value_counts(counts: ValueCounts, network: Network) -> None:
    """Refuse value counts of other columns or classes than those of the network, and counts of other shapes."""
    from naivete.encoding.value_counts import ColumnCounts

    names = tuple(network.variables[x].name for x in network.inputs)
    classes = network.variables[CLASS].states
    columns: Any = counts.columns
    if type(columns) is not tuple or not all(isinstance(column, ColumnCounts) for column in columns):
        raise FieldError(_FIELD, "the counts of every column were expected")
    if not _equal(tuple(column.name for column in columns), names) or not _equal(counts.classes, classes):
        raise FieldError(_FIELD, "these are the counts of other columns or classes than those of the network")
    if not all(type(count) is int and count >= 0 for count in (counts.rows, counts.dropped)):
        raise FieldError(_FIELD, "the number of rows is not valid")
    _check_sums(counts.weights, (len(classes),))
    for column in columns:
        if not _is_valid(column):
            raise FieldError(_FIELD, f"the values of the column {shown(column.name)} are not valid")
        _check_sums(column.weights, (len(column.values), len(classes)))
        _check_sums(column.missing, (len(classes),))


def _is_valid(column: Any) -> bool:
    """Whether the values are distinct states, or increasing numbers with the largest value of each cell."""
    if not (column.kind is None or _equal((column.kind,), ("nominal",)) or _equal((column.kind,), ("numeric",))):
        return False
    if type(column.exact) is not bool:
        return False
    if (
        type(column.level) is not int
        or not 0 <= column.level <= 64
        or not (column.declared is None or _are_states(column.declared))
    ):
        return False
    if column.tops is None:
        return _are_states(column.values)
    values, tops = column.values, column.tops
    if not all(isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "iuf" for part in (values, tops)):
        return False
    if len(values) != len(tops):
        return False
    low, high = np.asarray(values, np.float64), np.asarray(tops, np.float64)
    return bool(np.isfinite(high).all() and (low <= high).all() and (high[:-1] < low[1:]).all())


def _equal(values: Any, expected: tuple[Any, ...]) -> bool:
    """Whether these are the same plain values of the same types; values of a file can be of any type."""
    if type(values) is not tuple or list(map(type, values)) != list(map(type, expected)):
        return False
    return values == expected


def _are_states(values: Any) -> bool:
    if type(values) is not tuple or not all(type(state) in (str, int, float, bool) and state == state for state in values):
        return False
    return len({(type(state) is bool, state) for state in values}) == len(values)


def _check_sums(sums: Any, shape: tuple[int, ...]) -> None:
    valid = isinstance(sums, Mapping) and len(sums) > 0 and all(type(q) is int and -40 <= q <= 40 for q in sums)
    parts = list(sums.values()) if valid else []
    if not valid or not all(
        isinstance(part, np.ndarray) and part.dtype == np.int64 and part.shape == shape and part.min(initial=0) >= 0
        for part in parts
    ):
        raise FieldError(_FIELD, "a table does not have the shape of its values and classes, or a count is negative")
