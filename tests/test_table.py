"""Tables as they were read."""

from __future__ import annotations

import numpy as np
import pytest

from naivete.errors import DataError, ParameterError
from naivete.table import Column, Table

WORDS = Column("word", np.array([1, -1, 0], np.int32), ("a", "b"), "nominal")
NUMBERS = Column("number", np.array([1.5, np.nan, 2.0]))
TABLE = Table((WORDS, NUMBERS), np.array([1.0, 2.0, 3.0]), "file.csv", np.array([2, 3, 5]))


def test_columns_give_their_values() -> None:
    assert list(WORDS) == ["b", None, "a"]
    assert list(NUMBERS) == [1.5, None, 2.0]
    assert list(Column("flag", np.array([True, False]))) == [True, False]
    assert WORDS.to_numpy().tolist() == ["b", None, "a"]
    assert NUMBERS.to_numpy() is NUMBERS.values
    assert (len(WORDS), list(WORDS.take(slice(1, 3)))) == (3, [None, "a"])


def test_tables_know_their_columns_and_rows() -> None:
    assert TABLE.names == ("word", "number")
    assert TABLE["number"] is NUMBERS
    assert (len(TABLE), TABLE.place(2)) == (3, "file.csv:5")
    assert Table((WORDS,)).place(0) == "table, row 1"
    some = TABLE.take(np.array([2, 0]))
    assert [list(c) for c in some.columns] == [["a", "b"], [2.0, 1.5]]
    assert some.weight is not None
    assert (some.weight.tolist(), some.place(0)) == ([3.0, 1.0], "file.csv:5")
    assert TABLE.renamed(["x", None]).names == ("x", None)
    left = TABLE.without("word").without("number")
    assert (left.columns, len(left)) == ((), 3)
    assert len(left.take(np.array([0]))) == 1
    assert len(Table(())) == 0


def test_columns_are_found_by_name_and_type() -> None:
    both = Table((Column(0, np.array([1])), Column("0", np.array([2]))))
    assert both["0"].values.tolist() == [2]
    assert both[0].values.tolist() == [1]
    with pytest.raises(ParameterError, match=r"file.csv: there is no column 'numbr'; did you mean 'number'\?"):
        TABLE["numbr"]
    with pytest.raises(ParameterError, match=r"the columns are \['word', 'number'\]"):
        TABLE["zzz"]


def test_tables_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match="'word' at positions 1, 2"):
        Table((WORDS, WORDS))
    with pytest.raises(DataError, match=r"differ in length: \[1, 3\]"):
        Table((WORDS, Column("x", np.array([1]))))
    with pytest.raises(DataError, match="differ in length"):
        Table((WORDS,), rows=2)
