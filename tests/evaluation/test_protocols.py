from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naivete.data.labelled_table import LabelledTable
from naivete.data.table import Column, Table
from naivete.errors import ParameterError
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest, protocol_of


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
    ("text", "protocol"),
    [
        ("10-fold", KFold(10)),
        (" 10x5-Fold:seed=3 ", KFold(5, 10, 3)),
        ("30-splits", Splits(30)),
        ("30-splits:train=1000,test=2196", Splits(30, 1000, 2196)),
        ("first:train=100,validate=50", TrainTest(100, 50)),
        ("curve:sizes=10/20,count=5,test=0.5,seed=1", LearningCurve((10, 20), 5, 0.5, 1)),
    ],
)
def test_protocols_by_name(text: str, protocol: Protocol) -> None:
    assert protocol_of(text) == protocol
    assert str(protocol)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is unknown"),
        ("10-folds", "it is unknown (did you mean 10-fold?); write"),
        ("tenfold", "it is unknown"),
        ("ten-fold", "'ten' is not a whole number"),
        ("0.5-fold", "'0.5' is not a whole number"),
        ("x-splits", "'x' is not a whole number"),
        ("10xx10-fold", "'10x' is not a whole number"),
        (f"{'9' * 5000}-fold", "is not a whole number"),
        ("10-fold:sed=1", "there is no setting 'sed' (did you mean seed?); write"),
        ("10-fold:train=5", "there is no setting 'train' (there is seed); write"),
        ("10-fold:seed", "the setting 'seed' has no value"),
        ("10-fold:seed=1,seed=2", "the setting 'seed' is there twice"),
        ("10-fold:seed=-1", "seed='-1' is not a whole number"),
        ("30-splits:train=many", "train='many' is not a number"),
        ("curve:sizes=a", "sizes: 'a' is not a whole number"),
        ("0-fold", "folds=0: a whole number, at least 2"),
        ("0x10-fold", "repeat=0: a whole number, between 1 and 10,000"),
        ("1000000x10-fold", "repeat=1000000: a whole number, between 1 and 10,000"),
        ("10001-splits", "count=10001: a whole number, between 1 and 10,000"),
        ("curve:count=10001", "count=10001: a whole number, between 1 and 10,000"),
    ],
)
def test_other_names_are_refused_with_examples(text: str, problem: str) -> None:
    with pytest.raises(ParameterError) as caught:
        protocol_of(text)
    told = str(caught.value)
    assert problem in told
    assert told.startswith("protocol '")
    assert told.count("write for instance 10-fold, 10x10-fold") == 1
    assert told.count("protocol '") == 1
    assert "literal" not in told
    assert "first" not in told  # from one division nothing can be concluded, so that it is not offered
    assert len(told) < 300


def test_the_protocol_first_needs_train_and_takes_no_seed() -> None:
    with pytest.raises(ParameterError, match=r"protocol 'first': train is missing; write for instance first:train=1000,"):
        protocol_of("first")
    with pytest.raises(
        ParameterError, match=r"there is no setting 'seed' \(there are train, validate\); write for instance first:"
    ):
        protocol_of("first:train=3,seed=1")


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
