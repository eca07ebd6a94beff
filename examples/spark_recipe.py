"""Learn from a Spark DataFrame: naivete counts and merges, Spark only transports the tables.

A custom back end is a class with the methods `with_roles`, `map`, `fold` and `finished`; this is a short example. Each partition
is counted on its executor and returned as one binary cell: packed data, not a pickle. An invalid row is returned as a value
too, because Spark would run a task that raises an exception four times.

All machines need naivete and pyarrow. To run the example locally, with Java 17 or later:

    pip install 'naivete[parquet]' pyspark
    python examples/spark_recipe.py rows.parquet class
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from naivete import errors
from naivete.cases.files import ROWS
from naivete.data.files import arrow_tables
from naivete.data.labelled_table import ColumnRoles, LabelledTable
from naivete.storage.packed import packed, unpacked

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SparkRows:
    """The rows of a Spark DataFrame, counted partition by partition; `classifier.fit_cases(SparkRows(frame), target)`."""

    frame: Any
    roles: ColumnRoles | None = None
    rows: int = ROWS

    def with_roles(self, roles: ColumnRoles) -> SparkRows:
        """Return the rows with these columns as class and weight; called by `fit_cases`."""
        return replace(self, roles=roles)

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """Return the values of the function for blocks of rows, in the order of the partitions."""
        return self._cells(partial(_mapped, function=function, roles=self.roles, rows=self.rows))

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """Return the merged values of the function: merged within each partition by Spark, then over the partitions here."""
        partitions = self._cells(partial(_folded, function=function, merge=merge, roles=self.roles, rows=self.rows))
        first = next(partitions, None)
        if first is None:
            raise errors.DataError("the cases have no rows; there is nothing to learn from")
        return reduce(merge, partitions, first)  # type: ignore[no-any-return]

    def finished(self) -> None:
        """Called at the end of learning; there is nothing to release."""

    def _cells(self, task: Callable[[Iterator[Any]], Iterator[Any]]) -> Iterator[Any]:
        for row in self.frame.mapInArrow(task, "cell binary").toLocalIterator():
            error, value = unpacked(bytes(row[0]), "a partition")
            if error is not None:
                raise getattr(errors, error, errors.NaiveteError)(value)
            yield value


def _mapped(batches: Iterator[Any], **arguments: Any) -> Iterator[Any]:
    """Yield one cell for each block of rows of a partition; runs on an executor."""
    return map(_cell, _values(batches, **arguments))


def _folded(batches: Iterator[Any], merge: Callable[[Any, Any], Any], **arguments: Any) -> Iterator[Any]:
    """Yield one cell for a whole partition, none if it has no rows; runs on an executor."""
    total: Any = None
    for error, value in _values(batches, **arguments):
        if error is not None:
            yield _cell((error, value))
            return
        total = value if total is None else merge(total, value)
    if total is not None:
        yield _cell((None, total))


def _values(
    batches: Iterator[Any], function: Callable[[LabelledTable], Any], roles: ColumnRoles, rows: int
) -> Iterator[tuple[str | None, Any]]:
    """Yield None and the value for each block of rows of a partition; at an error its class and message, and stop."""
    first = next(batches, None)
    if first is None:
        return
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    try:
        for table in arrow_tables(reader, rows=rows, name="the Spark DataFrame"):
            yield None, function(roles.divide_weighted(table))
    except errors.NaiveteError as error:
        yield type(error).__name__, str(error)


def _cell(value: tuple[str | None, Any]) -> Any:
    return pa.record_batch([pa.array([packed(value)], pa.binary())], names=["cell"])


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    from naivete import TAN
    from naivete.classifiers.saving import model_hash

    settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    try:
        print(model_hash(TAN().fit_cases(SparkRows(spark.read.parquet(sys.argv[1])), sys.argv[2])))
    finally:
        spark.stop()
