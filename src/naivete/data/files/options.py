"""Checks of the parameters of the readers of files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from naivete.data.table import Kind, Table
from naivete.errors import ParameterError, did_you_mean, quoted

__all__ = ["checked_count", "checked_kinds", "checked_only", "declared", "kinds_given"]


def checked_count(parameter: str, value: object, least: int) -> None:
    """Refuse a value that is not a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{parameter}={quoted(value)} has to be a whole number, at least {least}")


def checked_only(only: Collection[str] | None, names: Sequence[str], name: str, parameter: str = "only") -> tuple[str, ...]:
    """Return the selected columns in the order of the file.

    >>> checked_only({"c", "a"}, ("a", "b", "c"), "f.csv")
    ('a', 'c')
    """
    if only is None:
        return tuple(names)
    if isinstance(only, str):
        raise ParameterError(f"{parameter}={quoted(only)} has to be a collection of names, such as [{quoted(only)}]")
    selected = set(only)
    for column in only:
        if column not in names:
            hint = did_you_mean(column, names, "the columns are", count=3)
            raise ParameterError(f"{parameter}: {name} has no column {quoted(column)}; {hint}")
    return tuple(column for column in names if column in selected)


def kinds_given(kinds: Mapping[str, Kind] | None) -> Mapping[str, Kind]:
    """Return the declared kinds by column name; refuse a value that is not a mapping."""
    if kinds is None:
        return {}
    if not isinstance(kinds, Mapping):
        raise ParameterError(
            f"kinds={quoted(kinds)}: pass a mapping from the names of columns to 'nominal' or 'numeric'; one kind for all columns "
            "is for the encoder: Encoder(kinds='nominal')"
        )
    return kinds


def checked_kinds(kinds: Mapping[str, Kind], names: Sequence[str], name: str) -> Mapping[str, Kind]:
    """Return the declared kinds; refuse names that are no columns and values that are no kinds."""
    for column, kind in kinds.items():
        if column not in names:
            hint = did_you_mean(column, names, "the columns are", count=3)
            raise ParameterError(f"kinds: {name} has no column {quoted(column)}; {hint}")
        if kind not in ("nominal", "numeric"):
            raise ParameterError(f"kinds: column {quoted(column)} is 'nominal' or 'numeric', not {quoted(kind)}")
    return kinds


def declared(table: Table, kinds: Mapping[Any, Kind]) -> Table:
    """Return the table with these kinds in place of those that its file declares.

    >>> import numpy as np
    >>> from naivete.data.table import Column
    >>> declared(Table((Column("zip", np.array([10115, 20095])),)), {"zip": "nominal"})["zip"]
    Column('zip', nominal, 2 rows: 10115, 20095)
    """
    if not kinds:
        return table
    return replace(table, columns=tuple(replace(c, kind=kinds[c.name]) if c.name in kinds else c for c in table.columns))
