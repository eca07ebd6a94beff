"""Tallies: sums that do not depend on how the rows were divided, and that can be taken back."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete._kernels.exact_sums import propagate_carries, subtract_sums, sums_as_numbers
from naivete.data.frames import table_of
from naivete.data.table import Column, Table
from naivete.encoding.column_codes import encode
from naivete.encoding.encoder import Encoder
from naivete.encoding.feature_tables import FeatureTables
from naivete.encoding.value_counts import ValueCounts, cells_of
from naivete.errors import DataError, DataTypeError, NaiveteWarning
from naivete.storage.packed import packed, unpacked
from naivete.variables import CLASS

values = st.one_of(
    st.none(), st.sampled_from(["a", "b", "1"]), st.integers(-3, 3), st.sampled_from([0.5, -0.0, 1e9, 2.0**60]), st.booleans()
)
columns = st.one_of(
    st.lists(values, min_size=1, max_size=25),
    st.lists(st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)), min_size=1, max_size=25),
    st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=25),
)


def tallied(cells: list[Any], labels: np.ndarray, weight: np.ndarray | None, encoder: Encoder) -> ValueCounts:
    array = np.empty((len(cells), 1), object)
    array[:, 0] = cells
    classes, codes = np.unique(labels, return_inverse=True)
    return encoder.value_counts(table_of(array), codes.astype(np.uint8), classes.tolist(), weight)


def shape(value_counts: ValueCounts) -> Any:
    (column,) = value_counts.columns
    return (
        value_counts.classes,
        value_counts.rows,
        [(isinstance(s, bool), s) for s in column.states],
        sums_as_numbers(column.weights).tolist(),
        sums_as_numbers(column.missing).tolist(),
        column.level,
    )


def test_integers_beyond_floats_in_one_part_only() -> None:
    """The other part, without them, is one of floats."""
    cells, labels = [0, 2**53 + 1, -(2**53)], np.array([0, 1, 0])
    whole = tallied(cells, labels, None, Encoder())
    parts = [tallied(cells[i : i + 1], labels[i : i + 1], None, Encoder()) for i in range(3)]
    for i, j, k in permutations(range(3)):
        assert shape(parts[i].merged(parts[j]).merged(parts[k]).with_classes(whole.classes)) == shape(whole)


@given(columns, st.data())
@settings(deadline=None, max_examples=150)
def test_merging_the_counts_of_parts_is_counting_the_whole(cells: list[Any], data: st.DataObject) -> None:
    encoder = Encoder(kinds=data.draw(st.sampled_from([None, "nominal"])))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    labels = rng.integers(0, 3, len(cells))
    weight = data.draw(st.sampled_from([None, rng.random(len(cells)) + 1e-9, rng.integers(1, 4, len(cells)).astype(float)]))
    try:
        whole = tallied(cells, labels, weight, encoder)
    except DataError:
        return  # integers that floats cannot hold, beside a missing value
    at = data.draw(st.integers(0, len(cells)))
    parts = [
        tallied(cells[part], labels[part], None if weight is None else weight[part], encoder)
        for part in (slice(at), slice(at, None))
    ]
    assert shape(parts[0].merged(parts[1])) == shape(whole)
    assert shape(parts[1].merged(parts[0])) == shape(whole)
    assert shape(unpacked(packed(whole))) == shape(whole)
    if parts[0].rows:
        left = whole.subtract(parts[1])
        assert shape(left) == shape(parts[0].with_classes(whole.classes))
        with pytest.raises(DataError, match="more often than it was counted"):
            parts[0].subtract(whole.merged(whole))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60), st.integers(1, 12), st.data())
@settings(deadline=None, max_examples=150)
def test_cells_depend_on_the_values_alone(numbers: list[float], most: int, data: st.DataObject) -> None:
    order = np.sort(np.array(numbers) + 0.0)
    starts, level = cells_of(order, 0, most)
    assert len(starts) <= most
    lowest = [cells_of(order, lower, None)[0] for lower in range(level)]
    assert all(len(finer) > most for finer in lowest[:-1])
    at = data.draw(st.integers(0, len(order)))
    part, _ = cells_of(order[:at], 0, most)
    assert len(part) <= most
    ends = np.append(starts[1:], len(order)) - 1
    assert np.all(order[starts][1:] > order[ends][:-1])


@given(
    columns,
    st.sampled_from([Encoder(), Encoder(missing="state"), Encoder(unseen="smooth"), Encoder(max_integer_states=1)]),
    st.data(),
)
@settings(deadline=None, max_examples=100)
def test_margins_are_what_counting_the_codes_gives(cells: list[Any], encoder: Encoder, data: st.DataObject) -> None:
    labels = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 2, len(cells))
    labels[0] = 1
    array = np.empty((len(cells), 1), object)
    array[:, 0] = cells
    try:
        table = table_of(array)
    except DataError:
        return
    value_counts = encoder.value_counts(table, labels.astype(np.uint8), [0, 1], None)
    with pytest.warns(NaiveteWarning, match="no value in any row") if value_counts.columns[0].empty else nullcontext():
        features = encoder.schema(value_counts)
    codes = encode(table, features).codes[0].astype(np.int64)
    card = features[0].card
    expected = np.zeros((card, 2), np.int64)
    there = codes != np.iinfo(encode(table, features).codes[0].dtype).max
    np.add.at(expected, (codes[there], labels[there]), 1)
    margins = FeatureTables(value_counts, features)
    assert np.array_equal(margins((0, CLASS)), expected)
    assert np.array_equal(margins((0,)), expected.sum(axis=1))
    assert np.array_equal(margins((CLASS,)), np.bincount(labels, minlength=2))
    assert margins((0, 1, CLASS)) is None


def test_numbers_beside_text_are_states_unless_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    one = tallied([1.5, 2.5], np.zeros(2), None, Encoder())
    two = tallied(["a", "b"], np.zeros(2), None, Encoder())
    assert one.merged(two).columns[0].states == (1.5, 2.5, "a", "b")
    for module in ("naivete.encoding.value_counts", "naivete.encoding.counting"):
        monkeypatch.setattr(f"{module}.CELLS", 1, raising=False)
    many = tallied([1.5, 2.5], np.zeros(2), None, Encoder())
    with pytest.raises(DataTypeError, match="column 'x0': some of the rows hold text and others more than 1 distinct numbers"):
        many.merged(two)


def test_labels_of_several_types_are_refused() -> None:
    one = tallied(["a"], np.array(["yes"]), None, Encoder())
    two = tallied(["a"], np.array([1]), None, Encoder())
    with pytest.raises(DataTypeError, match="the class mixes numbers"):
        one.merged(two)


def test_declared_states_stay_in_their_order_if_all_agree() -> None:
    def declaring(*states: str) -> ValueCounts:
        column = Column("size", np.array([0]), states, "nominal", declared=True)
        return Encoder().value_counts(Table((column,)), np.zeros(1, np.uint8), ["c"], None)

    same = declaring("small", "large").merged(declaring("small", "large"))
    assert Encoder().schema(same)[0].states == ("small", "large")
    several = [declaring("small", "large"), declaring("large", "small"), declaring("tiny")]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        merged = several[order[0]].merged(several[order[1]]).merged(several[order[2]])
        assert Encoder().schema(merged)[0].states == ("large", "small", "tiny")


@given(st.lists(st.tuples(st.floats(0, 1e30), st.floats(0, 1e30)), min_size=1, max_size=8))
def test_differences_of_exact_sums_are_exact(pairs: list[tuple[float, float]]) -> None:
    from fractions import Fraction

    from naivete._kernels.exact_sums import add_sums, limbs

    one, two = (np.array(side) for side in zip(*pairs, strict=True))

    def parts(weight: np.ndarray) -> Any:
        return {q: np.zeros(len(weight), np.int64) if limb is None else limb for q, limb in limbs(weight).items()}

    left = subtract_sums(add_sums(parts(one), parts(two)), parts(two))
    total = [sum(Fraction(int(part[i])) * Fraction(2) ** (32 * q) for q, part in left.items()) for i in range(len(one))]
    assert total == [Fraction(w) for w in one]
    again = propagate_carries(left)
    assert all(np.array_equal(again[q], left[q]) for q in left)
