from __future__ import annotations

import numpy as np
import pytest

from naivete.data.table import Column, Table
from naivete.errors import DataError, ParameterError
from naivete.evaluation import label_table

X = Column("x", np.arange(4.0))


def table(target: Column, *more: Column) -> Table:
    return Table((X, *more, target), source="t.csv")


@pytest.mark.parametrize(
    ("target", "classes", "labels"),
    [
        (Column("c", np.array([1, 0, 1, 2]), ("b", "a", "d", "never")), ["a", "b", "d"], [0, 1, 0, 2]),
        (Column("c", np.array([7, 3, 7, 3])), [3, 7], [1, 0, 1, 0]),
        (Column("c", np.array([7.0, 3.0, 7.0, 3.0])), [3, 7], [1, 0, 1, 0]),
        (Column("c", np.array([True, False, True, True])), [False, True], [1, 0, 1, 1]),
        (Column("c", np.array([0, 1, 0, 1]), (2, 1)), [1, 2], [1, 0, 1, 0]),
    ],
)
def test_labels_are_the_values_that_occur(target: Column, classes: list[object], labels: list[int]) -> None:
    cases = label_table(table(target), "c")
    assert cases.classes.tolist() == classes
    assert cases.labels.tolist() == labels
    assert cases.y.tolist() == list(target)
    assert cases.features.names == ("x",)
    assert cases.take(np.array([1])).y.tolist() == [list(target)[1]]


@pytest.mark.parametrize("target", [Column("c", np.array([0, -1, 0, -1]), ("a",)), Column("c", np.array([1, np.nan, 1, np.nan]))])
def test_rows_without_a_label(target: Column) -> None:
    with pytest.raises(DataError, match=r"t.csv, row 2: column 'c': no label, as in 2 rows of 4; .*unlabelled='drop'"):
        label_table(table(target), "c")
    cases = label_table(table(target), "c", drop_unlabelled=True)
    assert cases.dropped == 2
    assert cases.features["x"].values.tolist() == [0, 2]


def test_quantities_are_not_classes() -> None:
    with pytest.raises(DataError, match=r"row 3: column 'c': 0.5 is a quantity, not a class"):
        label_table(table(Column("c", np.array([1, 2, 0.5, 3]))), "c")


def test_nothing_to_learn_from() -> None:
    with pytest.raises(DataError, match="no rows with a label"):
        label_table(table(Column("c", np.full(4, np.nan))), "c", drop_unlabelled=True)
    with pytest.raises(DataError, match="no columns beside the class"):
        label_table(Table((Column("c", np.array([1, 2])),)), "c")


def test_unknown_columns_are_listed() -> None:
    with pytest.raises(ParameterError, match=r"no column 'cc'; did you mean 'c'\? The columns are: x, c"):
        label_table(table(Column("c", np.zeros(4))), "cc")
    many = Table(tuple(Column(f"a{i}", np.zeros(1)) for i in range(40)))
    with pytest.raises(ParameterError, match="and 10 more"):
        label_table(many, "zzzz")


def test_weights_from_a_column() -> None:
    cases = label_table(table(Column("c", np.array([0, 1, 0, 1])), Column("w", np.array([1, 2, 0, 4]))), "c", weight="w")
    assert cases.weight is not None
    assert cases.weight.tolist() == [1, 2, 0, 4]
    assert cases.features.names == ("x",)
    assert cases.take(np.array([3])).weight.tolist() == [4]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (Column("w", np.array([1, -2, 0, 4])), DataError, "row 2: column 'w': -2.0 is not a weight"),
        (Column("w", np.array([1, np.nan, 0, 4])), DataError, "row 2: column 'w': nan is not a weight"),
        (Column("w", np.zeros(4, int), ("heavy",)), DataError, "holds no numbers"),
    ],
)
def test_wrong_weights(weight: Column, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        label_table(table(Column("c", np.array([0, 1, 0, 1])), weight), "c", weight="w")


def test_the_class_is_no_weight() -> None:
    with pytest.raises(ParameterError, match="cannot be both"):
        label_table(table(Column("c", np.array([0, 1, 0, 1]))), "c", weight="c")
