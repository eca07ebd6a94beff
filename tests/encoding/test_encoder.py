"""Values become codes in one place, by one dictionary."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete import NaiveBayes
from naivete._kernels.codes import narrowest
from naivete.data.frames import table_of
from naivete.data.table import Column, Table
from naivete.encoding.column_codes import encode
from naivete.encoding.discretization import EqualFrequency, EqualWidth
from naivete.encoding.encoder import Encoder
from naivete.errors import DataError, NaiveteWarning, ParameterError, UnseenValueWarning
from naivete.variables import Variable
from tests.strategies import frames


def schema(X: Any, encoder: Encoder | None = None, labels: Any = None, weight: Any = None) -> tuple[Variable, ...]:
    table = table_of(X)
    codes = np.zeros(len(table), np.uint8) if labels is None else np.array(labels, np.uint8)
    return schema_of(table, codes, int(codes.max(initial=0)) + 1, encoder or Encoder(), weight)


def schema_of(table: Table, labels: np.ndarray, classes: int, encoder: Encoder, weight: Any = None) -> tuple[Variable, ...]:
    return encoder.schema(encoder.value_counts(table, labels, range(classes), weight))


def column(values: list[Any], dtype: Any = object) -> np.ndarray:
    cells = np.empty((len(values), 1), dtype)
    cells[:, 0] = values
    return cells


def codes_of(X: Any, *variables: Variable, unseen: str = "marginalise") -> list[list[int]]:
    return [c.tolist() for c in encode(table_of(X), variables, unseen=unseen).codes]


@given(frames(), st.sampled_from([Encoder(), Encoder(missing="state"), Encoder(unseen="smooth"), Encoder(max_integer_states=0)]))
@settings(deadline=None, max_examples=60)
def test_codes_decode_to_the_values(drawn: tuple[dict[str, list[Any]], list[str]], encoder: Encoder) -> None:
    columns, labels = drawn
    table = table_of(pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in columns.items()}))
    variables = schema_of(table, np.array([label == "yes" for label in labels], np.uint8), 2, encoder)
    encoded = encode(table, variables, unseen=encoder.unseen)
    for variable, codes, gap in zip(variables, encoded.codes, encoded.has_missing, strict=True):
        values = columns[variable.name]
        last = np.iinfo(codes.dtype).max
        assert gap == (None in values and not variable.missing)
        for value, code in zip(values, codes.tolist(), strict=True):
            if value is None:
                assert code == (variable.known if variable.missing else last)
            elif variable.cuts is None:
                state = variable.states[code]
                assert (state, isinstance(state, bool)) == (value, isinstance(value, bool))
            else:
                assert all(value > c for c in variable.cuts[:code])
                assert all(value <= c for c in variable.cuts[code:])


@pytest.mark.parametrize(
    ("values", "dtype", "states"),
    [
        ([3, 1, 3], np.int64, (1, 3)),
        ([3.0, 1.0, np.nan], np.float64, (1, 3)),
        ([0, 10**12, -5], np.int64, (-5, 0, 10**12)),
        ([-128, 127], np.int8, (-128, 127)),
        ([-30000, 30000], np.int16, (-30000, 30000)),
        ([2**63, 2**63 + 1], np.uint64, (2**63, 2**63 + 1)),
        ([2**60, 2**60 + 1], np.int64, (2**60, 2**60 + 1)),
        ([0, 255], np.uint8, (0, 255)),
        ([True, False], bool, (False, True)),
        (["b", "a", None], object, ("a", "b")),
        (["b", 2, True, 1.5, False], object, (False, True, 1.5, 2, "b")),
    ],
    ids=str,
)
def test_few_whole_numbers_booleans_and_text_are_nominal(values: list[Any], dtype: Any, states: tuple[Any, ...]) -> None:
    (variable,) = schema(column(values, dtype))
    assert variable.states == states
    assert list(map(type, variable.states)) == list(map(type, states))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (codes,) = codes_of(column(values, dtype), variable)
    missing = 255
    assert [missing if v is None or v != v else states.index(v) for v in values if not isinstance(v, bool)] == [
        c for v, c in zip(values, codes, strict=True) if not isinstance(v, bool)
    ]


def test_numbers_with_fractions_or_of_many_values_are_numeric() -> None:
    assert schema(column([0.9, 1.0, 2.0], float))[0].cuts is not None
    assert schema(column(list(range(21)), int))[0].numeric
    assert not schema(column(list(range(20)), int))[0].numeric
    assert not schema(column(list(range(21)), int), Encoder(max_integer_states=21))[0].numeric
    assert schema(column(list(range(21)), np.uint8))[0].numeric
    assert schema(column([*range(20_000)], int), Encoder(max_integer_states=5))[0].numeric
    assert schema(column([*[1] * 10_001, *range(40)], int))[0].numeric
    assert schema(column([*[1.0] * 300, 1.5], float))[0].numeric


def test_kinds_can_be_declared() -> None:
    X = pd.DataFrame({"a": [1, 2, 1], "b": [0.5, 1.5, 0.5]})
    assert [v.numeric for v in schema(X, Encoder(kinds="numeric"))] == [True, True]
    assert [v.states for v in schema(X, Encoder(kinds="nominal"))] == [(1, 2), (0.5, 1.5)]
    assert [v.numeric for v in schema(X, Encoder(kinds={"a": "numeric"}))] == [True, True]
    assert schema(column([True, False], bool), Encoder(kinds="numeric"))[0].numeric
    assert schema(column([1, None, True, 2.5]), Encoder(kinds="numeric"))[0].numeric
    declared = Table((Column("a", np.array([1, 0, -1], np.int32), ("x", "y"), "nominal", declared=True),))
    assert schema_of(declared, np.zeros(3, np.uint8), 1, Encoder())[0].states == ("x", "y")
    with pytest.raises(DataError, match="X, row 2: column 'x0': 'b' is not a number"):
        schema(column([1, "b"]), Encoder(kinds="numeric"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"missing": "x"}, "missing='x': choose one of 'omit', 'state'"),
        ({"unseen": None}, "unseen=None"),
        ({"unlabelled": "x"}, "unlabelled='x'"),
        ({"max_integer_states": -1}, "max_integer_states=-1"),
        ({"max_integer_states": True}, "max_integer_states=True"),
        ({"cut": 3}, "cut=3"),
        ({"cut": EqualWidth(0)}, "bins=0"),
        ({"cut": EqualFrequency(-1)}, "bins=-1"),
        ({"kinds": 3}, "kinds=3"),
        ({"kinds": "x"}, "column 'x0' is 'x'"),
        ({"kinds": {"y0": "nominal"}}, r"no column 'y0'; did you mean 'x0'\?"),
        ({"kinds": {"zzz": "nominal"}}, "no column 'zzz'"),
        ({"kinds": {"x0": "ordinal"}}, "column 'x0' is 'ordinal'"),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        schema(column(["a", "b"]), Encoder(**settings))
    with pytest.raises(ParameterError, match=message):
        schema(column(["a", "b"]), Encoder().set_params(**settings))


def test_settings_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Encoder(max_integer_states=3)
    monkeypatch.setattr(Encoder, "_check", None)
    NaiveBayes(encoder=encoder).fit([["a"], ["b"]], [0, 1]).predict([["a"]])


def test_missing_can_be_a_state_of_the_columns_where_it_occurs() -> None:
    X = pd.DataFrame({"a": ["x", None], "b": ["x", "y"], "c": [0.5, np.nan]})
    a, b, c = schema(X, Encoder(missing="state"))
    assert (a.missing, b.missing, c.missing) == (True, False, True)
    encoded = encode(table_of(X), (a, b, c))
    assert [codes.tolist() for codes in encoded.codes] == [[0, 1], [0, 1], [0, 1]]
    assert not encoded.has_missing.any()
    later = encode(table_of(pd.DataFrame({"a": ["x"], "b": [None], "c": [1.0]})), (a, b, c))
    assert later.has_missing.tolist() == [False, True, False]


def test_unseen_values_are_missing_with_one_warning_that_counts_them() -> None:
    variables = (Variable("x0", ("a", "b")), Variable("x1", (1, 2)), Variable("x2", (False, True)))
    X = [["a", 1, True], ["z", 7, 1], ["q", "1", "True"], [None, True, 0]]
    with pytest.warns(UnseenValueWarning, match=r"\('x0': 2, 'x1': 3, 'x2': 3\); `unseen='error'` names them") as caught:
        codes = codes_of(X, *variables)
    assert len(caught) == 1
    assert codes == [[0, 255, 255, 255], [0, 255, 255, 255], [1, 255, 255, 255]]
    many = [Variable(f"x{i}", ("a",)) for i in range(12)]
    with pytest.warns(UnseenValueWarning, match="and 2 more columns"):
        codes_of([["z"] * 12], *many)


def test_unseen_values_can_be_an_error_that_names_them() -> None:
    X = [["sunny"], [None], ["suny"]]
    with pytest.raises(DataError, match=r"X, row 3: column 'x0': value 'suny' did not occur in training \(nearest: 'sunny'\)"):
        encode(table_of(X), [Variable("x0", ("rain", "sunny"))], unseen="error")
    with pytest.raises(DataError, match="value 7 did not occur"):
        encode(table_of([[1], [7]]), [Variable("x0", (1, 2))], unseen="error")


def test_unseen_values_can_have_a_state_of_their_own() -> None:
    (variable,) = schema(column(["a", None, "b"]), Encoder(unseen="smooth", missing="state"))
    assert (variable.card, variable.labels) == (4, ("a", "b", "missing", "never seen"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert codes_of([["z"], [None], ["b"]], variable, unseen="smooth") == [[3, 2, 1]]
    assert schema(column([0.5, 1.5], float), Encoder(unseen="smooth"))[0].card == 1


def test_numbers_outside_the_training_range_are_in_the_end_intervals() -> None:
    variable = Variable("x0", cuts=(0.0, 1.0))
    assert codes_of([[-1e300], [0.0], [0.5], [1.0], [1e300], [np.nan]], variable) == [[0, 0, 1, 1, 2, 255]]
    assert codes_of(np.array([[5], [-5]], np.int8), variable) == [[2, 0]]
    assert codes_of(np.array([[5], [0]], np.uint8), variable) == [[2, 0]]
    with pytest.raises(DataError, match="'high' is not a number"):
        codes_of([["high"]], variable)


def test_numbers_are_matched_by_value_not_by_type() -> None:
    variable = Variable("x0", (0, 1, 2))
    for dtype in (np.uint8, np.int8, np.int64, np.uint64, np.float32, np.float64, object):
        assert codes_of(column([2, 0, 1], dtype), variable) == [[2, 0, 1]]
    wide = Variable("x0", (2**60, 2**60 + 1))
    for dtype in (np.int64, np.uint64):
        assert codes_of(column([2**60 + 1, 2**60], dtype), wide) == [[1, 0]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([2.0**60, 0.5, np.nan], float), wide) == [[0, 255, 255]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([-1, 3], np.int8), variable) == [[255, 255]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([0.5, 1], float), variable) == [[255, 1]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([1, np.nan], float), Variable("x0", ("1",))) == [[255, 255]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([True], bool), variable) == [[255]]
    with pytest.warns(UnseenValueWarning):
        assert codes_of(column([0, 255], np.uint8), variable) == [[0, 255]]


def test_columns_are_matched_by_name() -> None:
    variables = (Variable("b", ("x", "y")), Variable("a", (1, 2)))
    assert codes_of(pd.DataFrame({"z": [0], "a": [2], "b": ["y"]}), *variables) == [[1], [1]]
    with pytest.raises(DataError, match=r"X: columns seen in training are missing: 'b'; is 'bb' the renamed 'b'\?"):
        encode(table_of(pd.DataFrame({"a": [1], "bb": ["x"]})), variables)
    with pytest.raises(DataError, match=r"are missing: 'b1'$"):  # 'b2' was there in training: it is not the renamed 'b1'
        encode(table_of(pd.DataFrame({"b2": ["x"]})), (Variable("b1", ("x",)), Variable("b2", ("x",))))
    gone = [Variable(f"q{i}", ("x",)) for i in range(9)]
    with pytest.raises(DataError, match=r"'q0', 'q1', 'q2', 'q3', 'q4' \.\.\."):
        encode(table_of(pd.DataFrame({"zzzz": [1]})), gone)


def test_codes_are_as_narrow_as_their_states_and_missing_allow() -> None:
    assert [narrowest(card) for card in (1, 255, 256, 65535, 65536)] == [np.uint8, np.uint8, np.uint16, np.uint16, np.uint32]
    variable = Variable("x0", tuple(range(300)))
    (codes,) = encode(table_of(column([0, 299, np.nan], float)), [variable]).codes
    assert (codes.dtype, codes.tolist()) == (np.uint16, [0, 299, 65535])


def test_empty_columns_give_a_warning() -> None:
    for empty in (column([None, None]), column([np.nan, np.nan], float)):
        with pytest.warns(
            NaiveteWarning, match=r"'x0' has no value in any row .*; remove it \(from files: `ignore=`\) or fill it in"
        ):
            (variable,) = schema(empty)
        assert variable.card == 1


def test_cut_points_honour_weights_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 120)
    values = column(labels + rng.normal(0, 0.3, 120), float)
    weight = rng.integers(1, 4, 120).astype(float)
    rows = np.repeat(np.arange(120), weight.astype(int))
    once = schema(values, None, labels, weight)
    assert once == schema(values[rows], None, labels[rows])
    assert once[0].cuts
    has_missing = np.vstack([values, np.full((5, 1), np.nan)])
    assert schema(has_missing, None, np.append(labels, [0, 1, 0, 1, 1]), np.append(weight, np.ones(5))) == once
    order = rng.permutation(120)
    assert schema(values[order], None, labels[order], weight[order]) == once


def test_unseen_is_decided_when_predicting() -> None:
    fitted = [Variable("x", ("a", "b"), other=True)]
    table = table_of(pd.DataFrame({"x": ["a", "z"]}))
    smooth = encode(table, fitted, unseen="smooth")
    assert smooth.codes[0].tolist() == [0, 2]
    assert not smooth.has_missing.any()
    with pytest.warns(UnseenValueWarning, match="'x': 1"):
        marginal = encode(table, fitted, unseen="marginalise")
    assert marginal.codes[0].tolist() == [0, 255]
    assert marginal.has_missing.tolist() == [True]
    with pytest.warns(UnseenValueWarning):  # nothing was left for it in training
        assert encode(table, [Variable("x", ("a", "b"))], unseen="smooth").codes[0].tolist() == [0, 255]


@pytest.mark.parametrize("max_integer_states", [0, 1])
def test_booleans_are_nominal_for_every_limit_of_integer_states(max_integer_states: int) -> None:
    table = table_of(np.array([[True], [False], [True]]))
    (variable,) = schema_of(table, np.array([0, 1, 0], np.uint8), 2, Encoder(max_integer_states=max_integer_states))
    assert variable == Variable("x0", (False, True))


def test_the_names_of_a_wide_table_are_not_listed_for_each_column(monkeypatch: pytest.MonkeyPatch) -> None:
    names, calls = Table.names.fget, []
    monkeypatch.setattr(Table, "names", property(lambda table: calls.append(1) or names(table)))  # type: ignore[misc,func-returns-value]
    numbers = []
    for width in (4, 16):
        X, y = np.tile([[0], [1]], (20, width)).astype(np.uint8), np.arange(40) % 4 // 2
        calls.clear()
        NaiveBayes(encoder=Encoder(kinds="nominal", keep=True)).fit(X, y)
        numbers.append(len(calls))
    assert numbers[0] == numbers[1]
