"""Variables, families and names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.errors import DataError, close_matches, quoted
from naivete.variables import CLASS, Variable, check_unique, family
from tests.strategies import variables


@given(variables("x"))
def test_there_is_a_label_for_every_code(variable: Variable) -> None:
    assert len(variable.labels) == variable.card >= 1
    assert variable.card == max(1, variable.known + variable.missing + variable.other)
    assert variable.numeric == (variable.cuts is not None)


def test_labels_are_words_a_reader_understands() -> None:
    assert Variable("x", ("a", 1, True), missing=True, other=True).labels == ("a", "1", "True", "missing", "never seen")
    assert Variable("x", cuts=()).labels == ("any",)
    assert Variable("x", cuts=(1.0,), missing=True).labels == ("<= 1", "> 1", "missing")
    assert Variable("x").labels == ("never seen",)
    close = (1.0000001, 1.0000002)
    assert Variable("x", cuts=close).labels == ("<= 1.0000001", "1.0000001 .. 1.0000002", "> 1.0000002")


@given(st.sets(st.integers(-1, 9)))
def test_a_family_is_sorted_with_the_class_last(members: set[int]) -> None:
    found = family(*members)
    assert set(found) == members
    assert list(found[:-1]) == sorted(found[:-1])
    assert CLASS not in found[:-1]


def test_names_are_unique_by_value_and_type() -> None:
    check_unique([None, "", 0, "0", "__class__", "class"], "here")
    with pytest.raises(DataError, match=r"here: duplicate column names: 'a' at positions 1, 3; 1 at positions 2, 4"):
        check_unique(["a", 1, "a", 1.0], "here")


def test_messages_are_cut_and_escaped() -> None:
    assert len(quoted("x" * 500)) == 60
    assert "\n" not in quoted("a\nb")
    assert "\x1b" not in quoted("\x1b[31m")
    assert close_matches("sunny", ["suny", "rain", 3]) == ["suny"]
