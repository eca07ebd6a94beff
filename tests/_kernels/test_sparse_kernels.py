"""Counting over the cells that hold, against the bit planes of the same table and against slow loops, in both tiers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from naivete._kernels import SparsePlanes, gram, margins, pack, sparse, sparse_planes, use
from tests.oracles import tiers


def held(codes, cards, gaps):
    """Which planes hold in each row, one column for each plane that `pack` makes.  # (row, plane)"""
    planes = [np.zeros((len(codes[0]), 0), bool)]
    for x, card, gap in zip(codes, cards, gaps, strict=True):
        planes += [(x == state)[:, None] for state in range(1, card)]
        planes += [(x != np.iinfo(x.dtype).max)[:, None]] * gap
    return np.concatenate(planes, axis=1)


def from_matrix(there, labels, classes):
    starts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    return sparse_planes(starts, np.nonzero(there)[1], labels, classes, there.shape[1])


def above(rows, columns):
    """Where the second plane does not come before the first."""
    return np.arange(columns.start, columns.stop) >= np.arange(rows.start, rows.stop)[:, None]


def some_slice(rng, height):
    return slice(*sorted(rng.integers(0, height + 1, 2).tolist()))


DTYPES = st.sampled_from([np.uint8, np.uint16, np.uint32])


@st.composite
def tables(draw):
    """(codes, cards, which have gaps, labels with or without missing ones, classes, generator)"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, n = draw(st.sampled_from([0, 1, 2, 64, 300])), draw(st.integers(1, 20))
    classes, dtype = draw(st.sampled_from([1, 2, 3, 30])), draw(DTYPES)
    cards = [int(k) for k in rng.integers(1, draw(st.sampled_from([2, 4])), n, endpoint=True)]
    gaps = [bool(g) for g in rng.random(n) < draw(st.sampled_from([0.0, 0.3]))]
    dense = draw(st.sampled_from([0.0, 0.02, 0.3, 1.0]))
    codes = [(rng.integers(0, card, rows) * (rng.random(rows) < dense)).astype(np.uint8) for card in cards]
    for x, gap in zip(codes, gaps, strict=True):
        x[(rng.random(rows) < 0.2) & gap] = 255
    labels = rng.integers(0, classes, rows).astype(dtype)
    labels[rng.random(rows) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.iinfo(dtype).max
    return codes, cards, gaps, np.repeat(labels, 2)[::2] if draw(st.booleans()) else labels, classes, rng


@tiers
@given(table=tables())
def test_sparse_planes_count_what_bit_planes_count(tier, table):
    codes, cards, gaps, labels, classes, rng = table
    with use(tier):
        dense = pack(codes, cards, gaps, labels, classes)
        planes = from_matrix(held(codes, cards, gaps), labels, classes)
        assert planes.planes == len(dense.words)
        np.testing.assert_array_equal(planes.counts, dense.counts)
        np.testing.assert_array_equal(margins(planes), margins(dense))
        assert margins(planes).dtype == np.int64
        some = [slice(0, planes.planes), *(some_slice(rng, planes.planes) for _ in range(2))]
        for rows, columns in itertools.product(some, some):
            counts, expected = gram(planes, rows, columns), gram(dense, rows, columns)
            assert (counts.shape, counts.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_array_equal(counts * above(rows, columns), expected * above(rows, columns))


@tiers
@given(table=tables())
def test_gram_is_the_product_of_the_matrix_with_itself(tier, table):
    codes, cards, gaps, labels, classes, _ = table
    there = held(codes, cards, gaps).astype(np.int64)
    with use(tier):
        counts = gram(from_matrix(there, labels, classes), slice(0, None), slice(0, None))
    for c in range(classes):
        own = there[labels == c]
        np.testing.assert_array_equal(counts[c], np.triu(own.T @ own))


@given(table=tables())
def test_transpose_holds_the_rows_of_each_plane_by_class(table):
    codes, cards, gaps, labels, classes, _ = table
    there = held(codes, cards, gaps)
    with use("numpy"):
        planes = from_matrix(there, labels, classes)
    for at in range(planes.planes * classes):
        entries = slice(*planes.column_starts[at : at + 2].tolist())
        rows, places = planes.column_rows[entries], planes.column_places[entries]
        assert rows.tolist() == np.flatnonzero(there[:, at // classes] & (labels == at % classes)).tolist()
        assert (planes.members[places] == at // classes).all()
        assert ((planes.starts[rows] <= places) & (places < planes.starts[rows + 1])).all()


@tiers
@given(table=tables())
def test_tiers_build_the_same_planes(tier, table):
    codes, cards, gaps, labels, classes, _ = table
    there = held(codes, cards, gaps)
    with use(tier):
        planes = from_matrix(there, labels, classes)
    with use("numpy"):
        expected = from_matrix(there, labels, classes)
    for name in ("starts", "members", "column_starts", "column_rows", "column_places", "counts"):
        one, two = getattr(planes, name), getattr(expected, name)
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@tiers
@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_large_tables_in_any_number_of_threads(tier, workers, monkeypatch):
    rng = np.random.default_rng(0)
    there = rng.random((3000, 400)) < 0.6 / (1 + np.arange(400) / 20)
    labels = rng.integers(0, 3, 3000).astype(np.uint8)
    labels[::17] = 255
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    with use(tier):
        planes = from_matrix(there, labels, 3)
        counts, part = gram(planes, slice(0, 400), slice(0, 400)), gram(planes, slice(20, 70), slice(50, 300))
    expected = np.stack([np.triu(x.T @ x) for x in (there[labels == c].astype(float) for c in range(3))])
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(part, expected[:, 20:70, 50:300])


@given(st.integers(1, 500), st.integers(1, 500))
@example(1, 1)
def test_numpy_counts_alike_in_pieces_of_any_size(seed, at_once):
    rng = np.random.default_rng(seed)
    there, labels = rng.random((60, 12)) < 0.3, rng.integers(0, 2, 60).astype(np.uint8)
    with use("numpy"), pytest.MonkeyPatch.context() as patch:
        planes = from_matrix(there, labels, 2)
        expected = gram(planes, slice(2, 10), slice(1, 11))
        patch.setattr(sparse, "AT_ONCE", at_once)
        np.testing.assert_array_equal(gram(planes, slice(2, 10), slice(1, 11)), expected)


@given(st.lists(st.integers(0, 2**40)))
def test_order_of_any_keys_is_stable(keys):
    key = np.array(keys, np.int64)
    assert sparse._stable_order(key, 2**40 + 1).tolist() == np.argsort(key, kind="stable").tolist()


@tiers
def test_one_plane_empty_rows_and_empty_slices(tier):
    with use(tier):
        one = sparse_planes(np.array([0, 1, 1, 2, 3]), np.zeros(3, np.int32), np.array([0, 0, 1, 255], np.uint8), 2, 1)
        assert isinstance(one, SparsePlanes)
        assert margins(one).tolist() == [[1], [1]]
        assert gram(one, slice(0, 1), slice(0, 1)).tolist() == [[[1]], [[1]]]
        assert gram(one, slice(0, 0), slice(0, 1)).shape == (2, 0, 1)
        assert gram(one, slice(0, 1), slice(1, 1)).shape == (2, 1, 0)


@tiers
@pytest.mark.parametrize(("rows", "planes"), [(0, 0), (0, 3), (4, 0), (4, 3)])
def test_nothing_holds(tier, rows, planes):
    with use(tier):
        empty = sparse_planes(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(rows, np.uint8), 2, planes)
        assert empty.counts.tolist() == [rows, 0]
        assert margins(empty).tolist() == [[0] * planes] * 2
        assert not gram(empty, slice(0, None), slice(0, None)).any()
