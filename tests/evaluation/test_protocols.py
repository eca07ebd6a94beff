from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Column, Table
from naivete.errors import ParameterError
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest


def cases(rows: int) -> LabelledTable:
    return LabelledTable(Table((Column("x", np.arange(rows)),)), "c", np.array([0, 1]), np.arange(rows) % 2)


def protocols(rows: int) -> st.SearchStrategy[Protocol]:
    seeds = st.integers(0, 5)
    return st.one_of(
        st.builds(KFold, st.integers(2, rows), st.integers(1, 3), seeds),
        st.builds(Splits, st.integers(1, 4), st.floats(0.2, 0.8), st.none(), seeds),
        st.builds(TrainTest, st.integers(1, rows - 2), st.integers(0, 1)),
        st.builds(LearningCurve, st.just((1, 3)), st.integers(1, 3), st.integers(1, rows - 3).map(float), seeds),
    )


@given(st.data(), st.integers(6, 40))
def test_training_and_test_rows_are_disjoint_and_reproducible(data: st.DataObject, rows: int) -> None:
    protocol = data.draw(protocols(rows))
    first, again = (list(protocol.splits(cases(rows))) for _ in range(2))
    assert len({(s.repeat, s.fold) for s in first}) == len(first)
    for one, two in zip(first, again, strict=True):
        assert one.train.tolist() == two.train.tolist()
        assert one.test.tolist() == two.test.tolist()
        assert len(one.train)
        assert len(one.test)
        assert not set(one.train.tolist()) & set(one.test.tolist())
        assert np.all(np.diff(one.train) > 0)
        assert np.all(np.diff(one.test) > 0)


@given(st.data(), st.integers(6, 40))
def test_the_parts_define_the_training_rows(data: st.DataObject, rows: int) -> None:
    for split in data.draw(protocols(rows)).splits(cases(rows)):
        if split.parts is not None:
            chosen = (split.parts <= split.fold) & (split.parts >= 0) if split.nested else split.parts != split.fold
            assert np.flatnonzero(chosen).tolist() == split.train.tolist()


@given(st.integers(4, 40), st.integers(1, 3))
def test_every_row_is_tested_once_in_each_repetition(rows: int, repeat: int) -> None:
    splits = list(KFold(4, repeat).splits(cases(rows)))
    for again in range(repeat):
        tested = np.concatenate([s.test for s in splits if s.repeat == again])
        assert sorted(tested.tolist()) == list(range(rows))


def test_training_sets_of_a_curve_grow_and_are_tested_on_the_same_rows() -> None:
    splits = list(LearningCurve((2, 5, 9), count=2, test=0.25).splits(cases(20)))
    for again in range(2):
        own = [s for s in splits if s.repeat == again]
        assert [len(s.train) for s in own] == [2, 5, 9]
        assert set(own[0].train) < set(own[1].train) < set(own[2].train)
        assert {tuple(s.test.tolist()) for s in own} == {tuple(own[0].test.tolist())}
    assert splits[0].test.tolist() != splits[3].test.tolist()


def test_fixed_sizes_are_kept() -> None:
    splits = list(Splits(30, 12, 5).splits(cases(20)))
    assert {(len(s.train), len(s.test)) for s in splits} == {(12, 5)}
    assert len({tuple(s.train.tolist()) for s in splits}) > 20


def test_validation_comes_between_training_and_test() -> None:
    validate, test = TrainTest(10, 4).splits(cases(20))
    assert validate.train.tolist() == test.train.tolist() == list(range(10))
    assert validate.test.tolist() == [10, 11, 12, 13]
    assert test.test.tolist() == list(range(14, 20))
    (only,) = TrainTest(10).splits(cases(20))
    assert (only.fold, len(only.test)) == (0, 10)


@pytest.mark.parametrize(
    "protocol",
    [
        KFold(1),
        KFold(21),
        KFold(5, 0),
        KFold(5, 10_001),
        KFold(5, 1, -1),
        KFold(2.5),  # type: ignore[arg-type]
        Splits(10_001),
        Splits(3, random_state=-1),
        LearningCurve((5,), 10_001),
        LearningCurve((5,), random_state="a"),  # type: ignore[arg-type]
        Splits(0),
        Splits(3, 15, 6),
        Splits(3, 0),
        Splits(3, 1.5),
        Splits(3, float("nan")),
        TrainTest(20),
        TrainTest(0),
        TrainTest(15, 5),
        TrainTest(10, -1),
        LearningCurve((5, 5)),
        LearningCurve((0, 5)),
        LearningCurve((5, 19)),
        LearningCurve(()),
    ],
)
def test_what_cannot_be_divided_is_refused(protocol: Any) -> None:
    with pytest.raises(ParameterError):
        list(protocol.splits(cases(20)))
