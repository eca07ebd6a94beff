"""A table as it was read: columns of values, before a schema turns them into codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, ParameterError, nearest, shown
from naivete.variables import Name, State, check_unique

__all__ = ["Column", "Kind", "Table"]

Kind = Literal["nominal", "numeric"]


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : its name.
    values : where `states` is given, integer codes into it with -1 for missing; otherwise numbers or booleans, NaN for missing.
    states : the distinct values behind the codes, in any order, without repetition.
    kind : nominal or numeric where the source declares it, None where the schema has to decide.
    declared : whether `states` is a declaration, so that states which never occur count too.
    """

    name: Name
    values: NDArray[Any]
    states: tuple[State, ...] | None = None
    kind: Kind | None = None
    declared: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[State | None]:
        """The values as Python scalars, None where missing."""
        if self.states is not None:
            return (None if code < 0 else self.states[code] for code in self.values.tolist())
        return (None if value != value else value for value in self.values.tolist())

    def to_numpy(self) -> NDArray[Any]:
        """The values as an array: of numbers or booleans, or of Python values with None where missing.

        >>> Column("play", np.array([0, -1, 1]), ("no", "yes")).to_numpy()
        array(['no', None, 'yes'], dtype=object)
        """
        if self.states is None:
            return self.values
        return np.asarray(np.array([*self.states, None], object)[self.values])

    def take(self, rows: NDArray[Any] | slice) -> Column:
        """The column with these rows only."""
        return Column(self.name, self.values[rows], self.states, self.kind, self.declared)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length with unique names, perhaps with a weight for each row.

    Parameters
    ----------
    columns : the columns.
    weight : one weight for each row, where the source has them.
    source : where the table came from, for messages.
    lines : the line of the source on which each row stands, where it has lines.
    """

    columns: tuple[Column, ...]
    weight: NDArray[np.float64] | None = None
    source: str = "table"
    lines: NDArray[np.int64] | None = field(default=None, repr=False)
    rows: int | None = None

    def __post_init__(self) -> None:
        check_unique(self.names, self.source)
        lengths = {len(column) for column in self.columns}
        if self.rows is not None:
            lengths.add(self.rows)
        if len(lengths) > 1:
            raise DataError(f"{self.source}: the columns differ in length: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else self.rows or 0

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def __getitem__(self, name: Name) -> Column:
        for column in self.columns:
            if column.name == name and isinstance(column.name, str) == isinstance(name, str):
                return column
        close = nearest(name, self.names)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else f"; the columns are {shown(list(self.names))}"
        raise ParameterError(f"{self.source}: there is no column {shown(name)}{hint}")

    def without(self, name: Name) -> Table:
        """The table without the column of this name."""
        gone = self[name]
        return Table(tuple(c for c in self.columns if c is not gone), self.weight, self.source, self.lines, len(self))

    def renamed(self, names: Sequence[Name]) -> Table:
        """The table with other names for its columns."""
        columns = tuple(replace(column, name=name) for column, name in zip(self.columns, names, strict=True))
        return Table(columns, self.weight, self.source, self.lines, len(self))

    def take(self, rows: NDArray[Any] | slice) -> Table:
        """The table with these rows only."""
        cut = tuple(column.take(rows) for column in self.columns)
        weight = None if self.weight is None else self.weight[rows]
        lines = None if self.lines is None else self.lines[rows]
        count = len(np.arange(len(self))[rows])
        return Table(cut, weight, self.source, lines, count)

    def place(self, row: int) -> str:
        """Where a row stands: `file:line` where known, else `source, row n` counted from 1."""
        if self.lines is not None:
            return f"{self.source}:{self.lines[row]}"
        return f"{self.source}, row {row + 1}"
