"""Learn from a Spark DataFrame: naivete counts and merges, Spark only carries the tables.

A back end of one's own is a class with `with_roles`, `map`, `fold` and `finished`, and this is one in a page. Each partition is
counted where it is and comes back as one binary cell: packed data, not a pickle. What is wrong with a row comes back as a value
as well, so that Spark does not try it four times.

All machines need naivete and pyarrow. To try it on this one, with Java 17 or later:

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
        """The rows with these columns as class and weight; asked for by `fit_cases`."""
        return replace(self, roles=roles)

    def map(self, function: Callable[[LabelledTable], T]) -> Iterable[T]:
        """The function's value for some rows at a time, in the order of the partitions."""
        return self._cells(partial(_mapped, function=function, roles=self.roles, rows=self.rows))

    def fold(self, function: Callable[[LabelledTable], T], merge: Callable[[T, T], T]) -> T:
        """The function's values, merged on each partition there and over the partitions here, one cell at a time."""
        partitions = self._cells(partial(_folded, function=function, merge=merge, roles=self.roles, rows=self.rows))
        first = next(partitions, None)
        if first is None:
            raise errors.DataError("the cases have no rows; there is nothing to learn from")
        return reduce(merge, partitions, first)  # type: ignore[no-any-return]

    def finished(self) -> None:
        """The work is done; there is nothing to put away."""

    def _cells(self, task: Callable[[Iterator[Any]], Iterator[Any]]) -> Iterator[Any]:
        for row in self.frame.mapInArrow(task, "cell binary").toLocalIterator():
            wrong, value = unpacked(bytes(row[0]), "a partition")
            if wrong is not None:
                raise getattr(errors, wrong, errors.NaiveteError)(value)
            yield value


def _mapped(batches: Iterator[Any], **how: Any) -> Iterator[Any]:
    """On an executor: one cell for each table of a partition."""
    return map(_cell, _values(batches, **how))


def _folded(batches: Iterator[Any], merge: Callable[[Any, Any], Any], **how: Any) -> Iterator[Any]:
    """On an executor: one cell for a whole partition, none where it has no rows."""
    total: Any = None
    for wrong, value in _values(batches, **how):
        if wrong is not None:
            yield _cell((wrong, value))
            return
        total = value if total is None else merge(total, value)
    if total is not None:
        yield _cell((None, total))


def _values(
    batches: Iterator[Any], function: Callable[[LabelledTable], Any], roles: ColumnRoles, rows: int
) -> Iterator[tuple[str | None, Any]]:
    """What the tables of a partition give: None and a value for each, or the kind of an error and its message, and no more."""
    first = next(batches, None)
    if first is None:
        return
    reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
    try:
        for table in arrow_tables(reader, rows=rows, name="the Spark DataFrame"):
            yield None, function(roles.weighing(table))
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
