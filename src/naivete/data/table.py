"""Tables: columns of values as they were read, before they are encoded under a schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from naivete.data.table_views import TableViews
from naivete.errors import DataError, ParameterError, close_matches, quoted
from naivete.variables import Name, State, check_unique

__all__ = ["Column", "Kind", "Table"]

Kind = Literal["nominal", "numeric"]
HEAD = 5
"""The number of values or names that a repr shows."""


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """One column of a table, which numpy and scikit-learn accept as an array of one dimension.

    Indexing gives one value, or a column of the selected rows. `==` and `!=` compare value by value and give an array of
    booleans; a missing value equals nothing, not even another missing value. Columns have no hash, as arrays have none.

    Parameters
    ----------
    name : str
        The name of the column.
    values : ndarray of shape (n_rows,)
        Numbers or booleans, nan if missing; if `states` is given, integer codes into it, -1 if missing.
    states : tuple or None, default=None
        The distinct values of the codes, in any order.
    kind : {"nominal", "numeric"} or None, default=None
        "nominal" or "numeric" if the source declares it, None if the encoder decides.
    declared : bool, default=False
        Whether the source declares `states`, so that states that never occur are kept.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Column
    >>> play = Column("play", np.array([0, -1, 1]), ("no", "yes"))
    >>> play
    Column('play', nominal, 3 rows: 'no', None, 'yes')
    >>> play[0], play[-1], play == "yes"
    ('no', 'yes', array([False, False,  True]))
    """

    name: Name
    values: NDArray[Any]
    states: tuple[State, ...] | None = None
    kind: Kind | None = None
    declared: bool = False

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        kind = self.kind or ("nominal" if self.states is not None else self.values.dtype)
        return f"Column({quoted(self.name)}, {kind}, {len(self)} rows: {_head(self.take(slice(HEAD + 1)))})"

    def __iter__(self) -> Iterator[State | None]:
        """Iterate over the values as Python scalars, None if missing."""
        if self.states is not None:
            return (None if code < 0 else self.states[code] for code in self.values.tolist())
        return (None if value != value else value for value in self.values.tolist())

    def to_numpy(self) -> NDArray[Any]:
        """Return the values as an array of numbers or booleans, or else of Python values with None if missing.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values.

        Examples
        --------
        >>> import numpy as np
        >>> from naivete import Column
        >>> Column("play", np.array([0, -1, 1]), ("no", "yes")).to_numpy()
        array(['no', None, 'yes'], dtype=object)
        >>> Column("stage", np.array([1, 0, 1]), (10, 20)).to_numpy()
        array([20, 10, 20])
        """
        if self.states is None:
            return self.values
        types = set(map(type, self.states))
        if len(types) == 1 and str not in types and not (self.values < 0).any():
            return np.asarray(np.array(self.states)[self.values])
        return np.asarray(np.array([*self.states, None], object)[self.values])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False and self.states is not None:
            raise ValueError(f"column {quoted(self.name)} holds codes of its values; as an array it is always a copy")
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    @property
    def shape(self) -> tuple[int]:
        """The number of rows, as a tuple of one."""
        return (len(self),)

    def __eq__(self, other: object) -> NDArray[np.bool_]:  # type: ignore[override]
        known = True if self.states is None else self.values >= 0
        return np.asarray((self.to_numpy() == other) & known)

    def __ne__(self, other: object) -> NDArray[np.bool_]:  # type: ignore[override]
        return ~(self == other)

    @overload
    def __getitem__(self, key: int) -> State | None: ...
    @overload
    def __getitem__(self, key: slice | list[Any] | NDArray[Any] | Column) -> Column: ...
    def __getitem__(self, key: Any) -> State | Column | None:
        values = self.values[key]
        if np.ndim(values) > 1:
            raise IndexError(
                f"column {quoted(self.name)} has 1 dimension; its rows are chosen by a number, a slice, an array or a mask"
            )
        selected = replace(self, values=np.atleast_1d(values))
        return selected if np.ndim(values) else next(iter(selected))

    def without_blank(self) -> Column:
        """Return the column with missing values in place of empty texts; the column itself if it has none.

        Returns
        -------
        Column
            The column.

        Examples
        --------
        >>> import numpy as np
        >>> from naivete import Column
        >>> list(Column("play", np.array([0, 1, 0]), ("", "yes")).without_blank())
        [None, 'yes', None]
        """
        if self.states is None or "" not in self.states:
            return self
        blank = self.states.index("")
        code_of = np.arange(-1, len(self.states)) - (np.arange(-1, len(self.states)) > blank)
        code_of[blank + 1] = -1
        states = tuple(state for state in self.states if state != "")
        return Column(self.name, code_of[self.values + 1], states, self.kind, self.declared)

    def take(self, rows: NDArray[Any] | slice) -> Column:
        """Return the column of these rows.

        Parameters
        ----------
        rows : ndarray or slice
            The positions of the rows, or a mask.

        Returns
        -------
        Column
            The rows.
        """
        return Column(self.name, self.values[rows], self.states, self.kind, self.declared)


@dataclass(frozen=True, eq=False)
class Table(TableViews):
    """Columns of equal length with unique names, and optionally a weight for each row.

    A name in brackets gives a column, a list of names a table of these columns. A slice, an array of positions or a mask gives
    rows. A single value is always a name, never a row; a list of whole numbers selects columns if all of them are names of
    columns, otherwise rows.

    Parameters
    ----------
    columns : tuple of Column
        The columns.
    weight : ndarray of shape (n_rows,) or None, default=None
        The weight of each row, if the source has weights.
    source : str, default="table"
        The name of the source in messages.
    lines : ndarray of shape (n_rows,) or None, default=None
        The line of the source of each row, if it has lines.
    rows : int or None, default=None
        The number of rows, for a table without columns.
    first : int, default=0
        The number of rows of the source before these.

    Examples
    --------
    >>> import numpy as np
    >>> from naivete import Column, Table
    >>> weather = Table((Column("play", np.array([0, 1, 1]), ("no", "yes")), Column("wind", np.array([5, 0, 2]))), source="w.csv")
    >>> weather
    Table('w.csv', 3 rows x 2 columns: 'play', 'wind')
    >>> weather[weather["play"] == "yes"]["wind"]
    Column('wind', int64, 2 rows: 0, 2)
    """

    columns: tuple[Column, ...]
    weight: NDArray[np.float64] | None = None
    source: str = "table"
    lines: NDArray[np.int64] | None = None
    rows: int | None = None
    first: int = 0

    def __post_init__(self) -> None:
        check_unique(self.names, self.source)
        lengths = {len(column) for column in self.columns}
        if self.rows is not None:
            lengths.add(self.rows)
        if len(lengths) > 1:
            raise DataError(f"{self.source}: the columns differ in length: {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else self.rows or 0

    def __iter__(self) -> Iterator[Name]:
        """Iterate over the names of the columns."""
        return iter(self.names)

    def __repr__(self) -> str:
        return f"Table({quoted(self.source)}, {len(self)} rows x {len(self.columns)} columns: {_head(self.names)})"

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self), len(self.columns)

    @property
    def names(self) -> tuple[Name, ...]:
        """The names of the columns, in order."""
        return tuple([column.name for column in self.columns])

    @overload
    def __getitem__(self, key: Name) -> Column: ...
    @overload
    def __getitem__(self, key: slice | list[Any] | NDArray[Any] | Column) -> Table: ...
    def __getitem__(self, key: Any) -> Column | Table:
        if isinstance(key, tuple) and len(key) == 2 and key[1] is ...:
            key = key[0]  # how scikit-learn selects rows
        if isinstance(key, slice):
            return self.take(key)
        if isinstance(key, tuple) or np.ndim(key) == 0:
            return self._named(key)
        if np.ndim(key) > 1:
            raise IndexError(f"{self.source}: rows are chosen by an array of 1 dimension, not of {np.ndim(key)}")
        if self._names_all(key):
            return Table(tuple(map(self._named, key)), self.weight, self.source, self.lines, len(self), self.first)
        return self.take(np.asarray(key))

    def _names_all(self, key: Any) -> bool:
        """Return whether the key holds names of columns, not positions or a mask of rows."""
        kind = np.asarray(key).dtype.kind
        return kind not in "biu" or (kind != "b" and isinstance(key, list) and set(key) <= set(self.names))

    def _named(self, name: Any) -> Column:
        for column in self.columns:
            if column.name == name and isinstance(column.name, str) == isinstance(name, str):
                return column
        close = close_matches(name, self.names)
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else f"; the columns are {quoted(list(self.names))}"
        raise ParameterError(f"{self.source}: there is no column {quoted(name)}{hint}")

    def without(self, name: Name) -> Table:
        """Return the table without the column of this name.

        Parameters
        ----------
        name : str
            The name of the column.

        Returns
        -------
        Table
            The other columns.
        """
        removed = self._named(name)
        kept = tuple(column for column in self.columns if column is not removed)
        return Table(kept, self.weight, self.source, self.lines, len(self), self.first)

    def renamed(self, names: Sequence[Name]) -> Table:
        """Return the table with other names for its columns.

        Parameters
        ----------
        names : sequence of str
            The new names, one for each column.

        Returns
        -------
        Table
            The table.
        """
        if list(names) == list(self.names):
            return self
        columns = tuple(replace(column, name=name) for column, name in zip(self.columns, names, strict=True))
        return Table(columns, self.weight, self.source, self.lines, len(self), self.first)

    def take(self, rows: NDArray[Any] | slice) -> Table:
        """Return the table of these rows; without `lines`, only a slice of adjacent rows keeps their numbers for messages.

        Parameters
        ----------
        rows : ndarray or slice
            The positions of the rows, or a mask.

        Returns
        -------
        Table
            The rows.
        """
        columns = tuple(column.take(rows) for column in self.columns)
        weight = None if self.weight is None else self.weight[rows]
        lines = None if self.lines is None else self.lines[rows]
        count = len(np.arange(len(self))[rows])
        start, _, step = rows.indices(len(self)) if isinstance(rows, slice) else (0, 0, 0)
        return Table(columns, weight, self.source, lines, count, self.first + start if step == 1 else 0)

    def to_dict(self) -> dict[Name, NDArray[Any]]:
        """Return the columns as arrays by name, as `pandas.DataFrame` and `polars.DataFrame` accept them.

        Returns
        -------
        dict of {str: ndarray}
            The columns.
        """
        return {column.name: column.to_numpy() for column in self.columns}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(f"{self.source}: a table is kept by columns; as an array it is always a copy")
        columns = [column.to_numpy() for column in self.columns]
        values = np.stack(columns, axis=1) if columns else np.empty(self.shape)  # (row, column)
        if values.dtype == object:
            values[np.equal(values, np.array(None))] = np.nan  # the missing value of scikit-learn's transformers
        return values if dtype is None else values.astype(dtype)

    def place(self, row: int) -> str:
        """Return the place of a row for messages: `file:line` if known, else `source, row n`, counted from 1.

        Parameters
        ----------
        row : int
            The position of the row.

        Returns
        -------
        str
            The place.
        """
        if self.lines is not None:
            return f"{self.source}:{self.lines[row]}"
        return f"{self.source}, row {self.first + row + 1}"


def _head(items: Iterable[object]) -> str:
    """Return the first items as text, followed by dots if there are more."""
    first = [quoted(item) for item in islice(items, HEAD + 1)]
    return ", ".join([*first[:HEAD], *["..."] * (len(first) > HEAD)])
