"""The counts that a classifier keeps of its training cases, in the optional part of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete.network.network import Network
from naivete.storage.canonical_json import FieldError
from naivete.variables import CLASS

if TYPE_CHECKING:
    from naivete.classifiers.batches import KeptCases

__all__ = ["kept_bytes", "kept_of"]

_FIELD = "optional.counts"


def kept_bytes(kept: KeptCases) -> NDArray[np.uint8]:
    """Return the counts of some cases as bytes."""
    from naivete.storage.packed import packed

    tables = kept.tables
    value: dict[str, Any] = {"value_counts": kept.value_counts}
    if tables is not None:
        value |= {"members": tables.members, "sums": tables.sums}
    return np.frombuffer(packed(value), np.uint8)


def kept_of(content: Any, network: Network, framed: bool) -> KeptCases:
    """Return the counts that `kept_bytes` stored; a FieldError is raised about counts that do not belong to the network."""
    from naivete.classifiers.batches import KeptCases
    from naivete.classifiers.value_tables import ValueTables, bytes_of_tables, values_of
    from naivete.encoding.value_counts import ValueCounts
    from naivete.storage.packed import CheckpointError, unpacked

    if not isinstance(content, np.ndarray) or content.dtype != np.uint8:
        raise FieldError(_FIELD, "an array of bytes was expected")
    try:
        value = unpacked(content.tobytes(), _FIELD)
    except CheckpointError as error:
        raise FieldError(_FIELD, str(error)) from None
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


def _check_value_counts(counts: Any, network: Network) -> None:
    """Refuse value counts of other columns or classes than those of the network, and counts of other shapes."""
    names = tuple(network.variables[x].name for x in network.inputs)
    classes = network.variables[CLASS].states
    columns = counts.columns if isinstance(counts.columns, tuple) else ()
    if tuple(getattr(column, "name", None) for column in columns) != names or counts.classes != classes:
        raise FieldError(_FIELD, "these are the counts of other columns or classes than those of the network")
    if type(counts.rows) is not int or counts.rows < 0:
        raise FieldError(_FIELD, "the number of rows is not valid")
    _check_sums(counts.weights, (len(classes),))
    for column in columns:
        if not isinstance(column.values, (tuple, np.ndarray)) or (
            column.tops is not None and len(column.tops) != len(column.values)
        ):
            raise FieldError(_FIELD, f"the values of the column {column.name!r} are not valid")
        _check_sums(column.weights, (len(column.values), len(classes)))
        _check_sums(column.missing, (len(classes),))


def _check_sums(sums: Any, shape: tuple[int, ...]) -> None:
    valid = isinstance(sums, Mapping) and len(sums) > 0 and all(type(q) is int and -40 <= q <= 40 for q in sums)
    parts = list(sums.values()) if valid else []
    if not valid or not all(
        isinstance(part, np.ndarray) and part.dtype == np.int64 and part.shape == shape and part.min(initial=0) >= 0
        for part in parts
    ):
        raise FieldError(_FIELD, "a table does not have the shape of its values and classes, or a count is negative")
