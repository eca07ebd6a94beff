"""Columns that carry no information for new rows are recognized by their values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from naivete.data.table import Column, Table
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.encoding.unsuitable_columns import ENOUGH
from naivete.errors import DataError, ParameterError, UnsuitableColumnWarning
from naivete.variables import Variable

N = 120
RNG = np.random.default_rng(0)


def column(values: Any, name: str = "column", kind: Any = None) -> Column:
    array = np.array([v if v is not None else "" for v in values]) if isinstance(values[0], str) else np.asarray(values)
    if array.dtype.kind in "iufb":
        return Column(name, array, kind=kind)
    states = sorted(set(array.tolist()) - {""})
    return Column(name, np.array([states.index(v) if v else -1 for v in array.tolist()]), tuple(states), kind=kind)


def value_counts(*columns: Column, weight: Any = None) -> Any:
    return Encoder().value_counts(Table(columns), np.arange(len(columns[0]), dtype=np.uint8) % 2, [0, 1], weight)


def kind_of(values: Any, name: str = "column", encoder: Encoder | None = None, weight: Any = None) -> str | None:
    found = (encoder or Encoder()).unsuitable(value_counts(column(values, name), weight=weight))
    return found[name].kind if found else None


def days(count: int) -> list[str]:
    return [str(np.datetime64("2024-01-01") + i) for i in range(count)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([f"C{i:05}" for i in range(N)], "identifier"),
        ([f"{i:05}" for i in range(N)], "identifier"),
        ([f"C{i:05}" for i in range(N - 15)] * 2, "many values"),
        ([f"C{i % 30:05}" for i in range(N)], "many values"),
        ([f"C{i % 30:05}" for i in range(30 * 5)], None),
        ([f"C{i:05}" for i in range(N)] + ["other"] * N, None),
        ([f"C{i:05}" for i in range(ENOUGH - 1)], None),
        ([f"0,{i % 30:02}" for i in range(N)], "amount"),
        ([f"0,{i % 10:02}" for i in range(N)], None),
        (days(N), "date"),
        (days(40) * 3, "date"),
        (days(20) * 6, None),
        ([f"{day} 12:0{i % 10}:00" for i, day in enumerate(days(N))], "date"),
        ([f"{1 + i % 28}/{1 + i // 28}/2024" for i in range(N)], "date"),
        ([f"{1 + i % 28} Mar {1900 + i}" for i in range(N)], "date"),
        ([f"{i // 60:02}:{i % 60:02}" for i in range(N)], "date"),
        ([f"${i * 1000:,}.50" for i in range(N)], "amount"),
        ([f"{i / 7:.3f} %" for i in range(N)], "amount"),
        ([f"the patient number {i} is well" for i in range(N // 2)] * 5, None),
        ([f"the patient number {i} is well" for i in range(N * 2 // 3)] + ["the patient did not come"] * (N // 3), "text"),
        (["USA"] * N, "constant"),
        ([7] * N, "constant"),
        (np.arange(N) + 1, "row number"),
        (RNG.permutation(2 * N)[:N], "row number"),
        (RNG.permutation(2 * N)[:N].astype(float), "row number"),
        (np.arange(N) * 7, None),
        (np.repeat(np.arange(N // 2), 2), None),
        (RNG.integers(20_000, 90_000, N), None),
        (RNG.integers(0, N, N), None),
        (np.arange(N) + 0.5, None),
        (RNG.normal(size=N), None),
        (RNG.integers(0, 3, N), None),
        ((np.arange(N) % 2).astype(bool), None),
    ],
    ids=lambda value: str(value)[:25],
)
def test_the_kind_of_a_column(values: Any, kind: str | None) -> None:
    assert kind_of(values) == kind


def test_names_tell_identifiers_and_arrays() -> None:
    numbers = RNG.permutation(90_000)[:N]
    assert [kind_of(numbers, name) for name in ("id", "ID", "customer_id", "customerId", "uuid")] == ["row number"] * 5
    assert [kind_of(numbers, name) for name in ("idle", "width", "paid", "Idaho")] == [None] * 4
    assert kind_of(np.arange(N), "x3") is None  # the name of a column of an array
    assert kind_of([f"C{i}" for i in range(N)], "x3") == "identifier"


def test_many_whole_numbers_are_row_numbers_where_cells_of_values_show_it() -> None:
    count = 40_000  # more than the cells that are kept
    assert kind_of(np.arange(count)) == "row number"
    assert kind_of(RNG.integers(0, count, count)) is None


def test_a_weight_of_two_is_a_row_twice() -> None:
    values = [f"C{i}" for i in range(N)]
    for times, kind in ((1, "identifier"), (2, "many values"), (5, None)):
        assert kind_of(values, weight=np.full(N, float(times))) == kind
        assert kind_of([v for v in values for _ in range(times)]) == kind


@pytest.mark.parametrize(
    "weight",
    [np.full(N, 0.1), np.full(N, 1 / N), np.full(N, 10.5), RNG.random(N) * 2 + 0.01, np.where(np.arange(N) % 7, 0.75, 2.5)],
    ids=["a tenth", "sum of one", "large", "random", "balanced"],
)
def test_weights_that_are_not_whole_count_by_their_mean(weight: Any) -> None:
    """The rules concern rows, so that a factor of all weights changes nothing, and messages have the number of rows."""
    identifiers, numbers = column([f"C{i}" for i in range(N)], "id"), column(RNG.permutation(N), "row")
    found = Encoder().unsuitable(value_counts(identifiers, numbers, weight=weight))
    assert found["id"].reason == "an identifier: 120 different values in 120 rows"
    assert found["row"].reason == "an identifier: 120 different whole numbers"
    other = column([f"C{i % 30:05}" for i in range(N)], "other")
    found = Encoder().unsuitable(value_counts(other, identifiers, weight=weight))
    assert found["other"].reason == "too few rows for most values: 30 different values in 120 rows; merge rare values"
    assert kind_of([f"C{i % 30:05}" for i in range(30 * 8)], weight=np.repeat(weight, 2)) is None
    assert kind_of([f"C{i}" for i in range(ENOUGH - 1)], weight=weight[: ENOUGH - 1]) is None
    assert kind_of(np.repeat(np.arange(N // 2), 2), weight=weight) is None
    half = [f"C{i}" if i % 2 else None for i in range(N)][1:]
    (reason,) = (c.reason for c in Encoder().unsuitable(value_counts(column(half, "id"), weight=weight[1:])).values())
    assert reason.startswith("an identifier: 60 different values in about ")


def test_whole_weights_are_named_as_weights() -> None:
    weight = np.where(np.arange(N) == 0, 2.0, 1.0)
    (found,) = Encoder().unsuitable(value_counts(column([f"C{i}" for i in range(N)]), weight=weight)).values()
    assert found.reason == "an identifier: 120 different values in rows of total weight 121"


def test_missing_values_do_not_count() -> None:
    assert kind_of([f"C{i}" if i % 2 else None for i in range(N)][1:]) == "identifier"
    half = ["yes" if i % 2 else None for i in range(N)][1:]
    assert kind_of(half) == "constant"
    assert kind_of(half, encoder=Encoder(missing="state")) is None


def test_one_warning_names_all_columns_with_the_reasons() -> None:
    columns = column([f"C{i}" for i in range(N)], "id"), column(days(N), "when"), column(["USA"] * N, "country")
    with pytest.warns(UnsuitableColumnWarning) as caught:
        variables = Encoder().schema(value_counts(*columns, column(RNG.integers(0, 2, N), "sex")))
    assert [v.left_out for v in variables] == [True, True, False, False]
    (message,) = (str(warning.message) for warning in caught)
    for part in (
        "'id' (an identifier: 120 different",
        "'when' (dates",
        "`keep=('id', 'when')`",
        "without effect: 'country' (a single value)",
    ):
        assert part in message


def test_the_warning_tells_what_uses_a_column_with_a_single_value_and_missing_ones() -> None:
    half = column(["yes" if i % 2 else None for i in range(N)][1:], "half")
    other = column(["ja" if i % 3 else None for i in range(N)][1:], "other")
    with pytest.warns(UnsuitableColumnWarning, match=r"'half' \(a single value or missing\), 'other' \(") as caught:
        Encoder().schema(value_counts(half, other, column(["USA"] * (N - 1), "country")))
    message = str(caught[0].message)
    assert "'country' (a single value); a single value or missing: it has an effect only where missing counts" in message
    assert message.endswith("as with `missing='state'`")
    assert message.count("only where") == 1


@pytest.mark.parametrize(
    "encoder",
    [Encoder(keep=["id"]), Encoder(keep=("id",)), Encoder(keep=True), Encoder(kinds="nominal"), Encoder(kinds={"id": "nominal"})],
)
def test_columns_that_are_kept_or_declared_are_used(encoder: Encoder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (variable,) = encoder.schema(value_counts(column([f"C{i}" for i in range(N)], "id")))
    assert len(variable.states) == N


def test_a_column_to_keep_has_to_be_there() -> None:
    with pytest.raises(ParameterError, match="keep: there is no column 'idd'; did you mean 'id'"):
        Encoder(keep=["idd"]).value_counts(Table((column(["a"], "id"),)), np.zeros(1, np.uint8), [0], None)
    for wrong in ("id", 3, None):
        with pytest.raises(ParameterError, match="keep="):
            Encoder(keep=wrong)  # type: ignore[arg-type]


def test_a_column_that_was_left_out_may_hold_anything_later_or_be_absent() -> None:
    variables = Variable("id", left_out=True), Variable("sex", ("f", "m"))
    sex = column(["m", "f"], "sex")
    for others in ([column(["new", "other"], "id")], [column([1.5, np.nan], "id")], []):
        encoded = encode(Table((*others, sex)), variables, unseen="error")
        assert ([c.tolist() for c in encoded.codes], encoded.has_missing.tolist()) == ([[0, 0], [1, 0]], [False, False])
    with pytest.raises(DataError, match="'sex'"):
        encode(Table((column(["a", "b"], "id"),)), variables)
