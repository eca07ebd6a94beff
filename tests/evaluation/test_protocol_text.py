from __future__ import annotations

import pytest

from naivete.errors import ParameterError
from naivete.evaluation.protocol_text import protocol_of
from naivete.evaluation.protocols import KFold, LearningCurve, Protocol, Splits, TrainTest


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
