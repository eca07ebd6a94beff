"""Counting over stored bits, compared with the bit planes of the same table and with slow loops, in both tiers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from naivete._kernels import SparsePlanes, gram, margins, pack, sparse, sparse_planes, use
from tests.oracles import tiers


def plane_matrix(codes, cards, incomplete):
    """Return which planes are set in each row, one column for each plane that `pack` makes.  # (row, plane)"""
    planes = [np.zeros((len(codes[0]), 0), bool)]
    for x, card, has_missing in zip(codes, cards, incomplete, strict=True):
        planes += [(x == state)[:, None] for state in range(1, card)]
        planes += [(x != np.iinfo(x.dtype).max)[:, None]] * has_missing
    return np.concatenate(planes, axis=1)


def from_matrix(matrix, labels, classes):
    starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=1))])
    return sparse_planes(starts, np.nonzero(matrix)[1], labels, classes, matrix.shape[1])


def above(rows, columns):
    """Return where the second plane does not precede the first."""
    return np.arange(columns.start, columns.stop) >= np.arange(rows.start, rows.stop)[:, None]


def some_slice(rng, height):
    return slice(*sorted(rng.integers(0, height + 1, 2).tolist()))


DTYPES = st.sampled_from([np.uint8, np.uint16, np.uint32])


@st.composite
def tables(draw):
    """Draw (codes, cards, which columns have missing values, labels with or without missing ones, classes, generator)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, n = draw(st.sampled_from([0, 1, 2, 64, 300])), draw(st.integers(1, 20))
    classes, dtype = draw(st.sampled_from([1, 2, 3, 30])), draw(DTYPES)
    cards = [int(k) for k in rng.integers(1, draw(st.sampled_from([2, 4])), n, endpoint=True)]
    incomplete = [bool(b) for b in rng.random(n) < draw(st.sampled_from([0.0, 0.3]))]
    dense = draw(st.sampled_from([0.0, 0.02, 0.3, 1.0]))
    codes = [(rng.integers(0, card, rows) * (rng.random(rows) < dense)).astype(np.uint8) for card in cards]
    for x, has_missing in zip(codes, incomplete, strict=True):
        x[(rng.random(rows) < 0.2) & has_missing] = 255
    labels = rng.integers(0, classes, rows).astype(dtype)
    labels[rng.random(rows) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.iinfo(dtype).max
    return codes, cards, incomplete, np.repeat(labels, 2)[::2] if draw(st.booleans()) else labels, classes, rng


@tiers
@given(table=tables())
def test_sparse_planes_count_what_bit_planes_count(tier, table):
    codes, cards, incomplete, labels, classes, rng = table
    with use(tier):
        dense = pack(codes, cards, incomplete, labels, classes)
        planes = from_matrix(plane_matrix(codes, cards, incomplete), labels, classes)
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
    codes, cards, incomplete, labels, classes, _ = table
    matrix = plane_matrix(codes, cards, incomplete).astype(np.int64)
    with use(tier):
        counts = gram(from_matrix(matrix, labels, classes), slice(0, None), slice(0, None))
    for c in range(classes):
        members = matrix[labels == c]
        np.testing.assert_array_equal(counts[c], np.triu(members.T @ members))


@given(table=tables())
def test_transpose_holds_the_rows_of_each_plane_by_class(table):
    codes, cards, incomplete, labels, classes, _ = table
    matrix = plane_matrix(codes, cards, incomplete)
    with use("numpy"):
        planes = from_matrix(matrix, labels, classes)
    for index in range(planes.planes * classes):
        plane, label = divmod(index, classes)
        entries = slice(*planes.column_starts[index : index + 2].tolist())
        rows, places = planes.column_rows[entries], planes.column_places[entries]
        assert rows.tolist() == np.flatnonzero(matrix[:, plane] & (labels == label)).tolist()
        assert (planes.members[places] == plane).all()
        assert ((planes.starts[rows] <= places) & (places < planes.starts[rows + 1])).all()


@tiers
@given(table=tables())
def test_tiers_build_the_same_planes(tier, table):
    codes, cards, incomplete, labels, classes, _ = table
    matrix = plane_matrix(codes, cards, incomplete)
    with use(tier):
        planes = from_matrix(matrix, labels, classes)
    with use("numpy"):
        expected = from_matrix(matrix, labels, classes)
    for name in ("starts", "members", "column_starts", "column_rows", "column_places", "counts"):
        one, two = getattr(planes, name), getattr(expected, name)
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


@tiers
@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_large_tables_in_any_number_of_threads(tier, workers, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = rng.random((3000, 400)) < 0.6 / (1 + np.arange(400) / 20)
    labels = rng.integers(0, 3, 3000).astype(np.uint8)
    labels[::17] = 255
    monkeypatch.setenv("NAIVETE_THREADS", workers)
    with use(tier):
        planes = from_matrix(matrix, labels, 3)
        counts, part = gram(planes, slice(0, 400), slice(0, 400)), gram(planes, slice(20, 70), slice(50, 300))
    expected = np.stack([np.triu(x.T @ x) for x in (matrix[labels == c].astype(float) for c in range(3))])
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(part, expected[:, 20:70, 50:300])


@given(st.integers(1, 500), st.integers(1, 500))
@example(1, 1)
def test_numpy_counts_do_not_depend_on_the_batch_size(seed, batch):
    rng = np.random.default_rng(seed)
    matrix, labels = rng.random((60, 12)) < 0.3, rng.integers(0, 2, 60).astype(np.uint8)
    with use("numpy"), pytest.MonkeyPatch.context() as patch:
        planes = from_matrix(matrix, labels, 2)
        expected = gram(planes, slice(2, 10), slice(1, 11))
        patch.setattr(sparse, "BATCH_PAIRS", batch)
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
def test_no_plane_is_set(tier, rows, planes):
    with use(tier):
        empty = sparse_planes(np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(rows, np.uint8), 2, planes)
        assert empty.counts.tolist() == [rows, 0]
        assert margins(empty).tolist() == [[0] * planes] * 2
        assert not gram(empty, slice(0, None), slice(0, None)).any()
