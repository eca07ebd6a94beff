"""Views of a table: its first rows, as HTML, and as data frames of other libraries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from naivete.errors import ParameterError, library, quoted

__all__ = ["TableViews"]

ROWS, COLUMNS = 10, 30
"""How many rows and columns the HTML view shows."""


class TableViews:
    """The methods of `Table` that show it or pass it to other libraries; the weights of the rows are not passed on."""

    source: str
    columns: tuple[Any, ...]

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def take(self, rows: Any) -> Any:
        """Return the table of these rows.

        Parameters
        ----------
        rows : ndarray or slice
            The positions of the rows, or a mask.

        Returns
        -------
        Table
            The rows.
        """

    @abstractmethod
    def to_dict(self) -> dict[Any, Any]:
        """Return the columns as arrays by name.

        Returns
        -------
        dict of {str: ndarray}
            The columns.
        """

    def head(self, rows: int = 5) -> Any:
        """Return the table of the first rows.

        Parameters
        ----------
        rows : int, default=5
            The number of rows.

        Returns
        -------
        Table
            The rows.

        Examples
        --------
        >>> from naivete import table_of
        >>> len(table_of([["a", 1], ["b", 2], ["c", 3]]).head(2))
        2
        """
        if type(rows) is not int or rows < 0:
            raise ParameterError(f"rows={quoted(rows)}: a whole number, at least 0")
        return self.take(slice(rows))

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame of the columns.

        Returns
        -------
        pandas.DataFrame
            The columns.
        """
        return library("pandas", "a pandas data frame").DataFrame(self.to_dict())

    def to_polars(self) -> Any:
        """Return a polars DataFrame of the columns, with null where a value is missing.

        Returns
        -------
        polars.DataFrame
            The columns.
        """
        columns = {name: _typed(values) for name, values in self.to_dict().items()}
        return library("polars", "a polars data frame").DataFrame(columns, strict=False, nan_to_null=True)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        """Return the columns for the dataframe interchange protocol; it needs pyarrow.

        Parameters
        ----------
        nan_as_null : bool, default=False
            Not used: missing values are always null.
        allow_copy : bool, default=True
            Whether the receiver may get copies of the columns.

        Returns
        -------
        object
            The columns, as the protocol describes them.
        """
        return library("pyarrow", "the dataframe interchange protocol").table(self).__dataframe__(nan_as_null, allow_copy)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return an Arrow stream of the columns, as the Arrow PyCapsule protocol describes; it needs pyarrow."""
        from naivete.data.files.parquet import arrow_stream

        return arrow_stream(self, requested_schema)

    def _repr_html_(self) -> str:
        """Return the first rows as an HTML table, for notebooks."""
        from html import escape

        shown = self.columns[:COLUMNS]
        more = ["…"] * (len(self.columns) > len(shown))
        values = [list(column) for column in self.head(ROWS).columns[:COLUMNS]]
        rows = [[*("" if value is None else value for value in row), *more] for row in zip(*values, strict=True)]
        size = f"{len(self):,} rows, {len(self.columns):,} columns"
        head = _row("th", [*(column.name for column in shown), *more])
        body = "".join(_row("td", row) for row in rows)
        return f"<table><caption>{escape(self.source)}: {size}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    from html import escape

    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _typed(values: Any) -> Any:
    """Return an array of objects that are all of one type as a list, from which polars infers the type, missing values aside."""
    objects = values.dtype == object
    return values.tolist() if objects and len({type(value) for value in values if value is not None}) == 1 else values
