"""Conditional tables: sparse look-ups, and the same results from dense and sparse tables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from naivete.errors import DataError
from naivete.network.compressed_rows import CompressedRows
from naivete.network.conditional_tables import SparseCpt
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.oracles import identical
from tests.strategies import networks


@given(networks(sparse=True, max_features=5, max_parents=3))
@settings(deadline=None, max_examples=60)
def test_dense_and_sparse_tables_have_the_same_methods(network: Network) -> None:
    dense = replace(network, cpts={v: network.full_table(v) for v in network.parents})
    rng = np.random.default_rng(0)
    codes = {v: rng.integers(0, network.variables[v].card, 30) for v in network.parents}
    assert dense.sparse == frozenset()
    for v in network.parents:
        one, two = network.table(v), dense.table(v)
        configurations = one.configurations(codes, 30)
        assert one.parents == two.parents
        assert np.array_equal(one.at(configurations), two.at(configurations))
        assert np.array_equal(one.probability(codes, 30), two.probability(codes, 30))
        (rows, context), (other_rows, other_context) = one.contexts(codes, 30), two.contexts(codes, 30)
        assert np.array_equal(rows[context], other_rows[other_context])
        assert one.smallest_positive <= two.smallest_positive
        assert one.has_zeros >= two.has_zeros
        for parents, distribution in two.distributions():
            labels = {**dict.fromkeys(codes, np.zeros(1, np.int64)), **{p: np.array([c]) for p, c in parents.items()}}
            row = two.at(two.configurations(labels, 1))[0]
            assert np.array_equal(row[:, parents.get(CLASS, 0)], distribution)
        assert len(list(one.distributions())) * network.variables[v].card == one.size


@given(networks(sparse=True))
@settings(deadline=None, max_examples=30)
def test_tables_for_other_positions_have_the_same_probabilities(network: Network) -> None:
    moved = {CLASS: CLASS, **{x: x + 3 for x in network.features}}
    back = {position: v for v, position in moved.items()}
    for v in network.parents:
        cpt = network.table(v).renumbered(moved)
        if isinstance(cpt, SparseCpt):
            assert cpt.parents == tuple(p + 3 for p in network.table(v).parents)
            cpt = replace(network, cpts={**network.cpts, v: _renumbered(cpt, back)}).cpts[v]
        assert identical(cpt, network.cpts[v])


def _renumbered(cpt: SparseCpt, positions: dict[int, int]) -> SparseCpt:
    default = _renumbered(cpt.default, positions) if isinstance(cpt.default, SparseCpt) else cpt.default
    return SparseCpt(cpt.configurations, cpt.rows, default, tuple(positions[p] for p in cpt.parents))


def test_sparse_tables_are_searched_by_keys_of_more_than_64_bits() -> None:
    rng = np.random.default_rng(0)
    configurations = np.unique(rng.integers(0, 2**31 - 1, (40, 5)).astype(np.int32), axis=0)
    rows = rng.random((len(configurations), 2, 1))
    cpt = SparseCpt(configurations, rows, np.zeros((2, 1)), tuple(range(5)))
    order = rng.permutation(len(configurations))
    assert (cpt.at(configurations[order].astype(np.int64)) == rows[order]).all()
    other = configurations.astype(np.int64)
    other[:, 4] += 1
    assert (cpt.at(other) == 0).all()


def test_an_empty_sparse_table_returns_its_default() -> None:
    cpt = SparseCpt(np.empty((0, 1), np.int32), np.empty((0, 2, 1)), np.array([[0.25], [0.75]]), (0,))
    assert cpt.at(np.array([[0], [3]])).tolist() == [[[0.25], [0.75]]] * 2


def test_states_that_do_not_occur_have_the_default_times_a_factor() -> None:
    rows = CompressedRows(np.array([0, 2, 2]), np.array([0, 3], np.int32), np.array([[0.5], [0.2]]), np.array([[0.6], [1.0]]))
    cpt = SparseCpt(np.array([[1], [4]], np.int32), rows, np.array([[0.25], [0.3], [0.2], [0.25]]), (0,))
    expected = [[0.5, 0.18, 0.12, 0.2], [0.25, 0.3, 0.2, 0.25], [0.25, 0.3, 0.2, 0.25]]
    assert np.allclose(cpt.at(np.array([[1], [4], [2]]))[..., 0], expected)
    pairs = [(i, state) for i in range(3) for state in range(4)]
    found = cpt.probability(np.array([[(1, 4, 2)[i]] for i, _ in pairs]), np.array([state for _, state in pairs]))
    assert np.allclose(found[:, 0].reshape(3, 4), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starts": np.array([0, 1, 1])}, "do not follow one another"),
        ({"starts": np.array([0, 3, 2])}, "do not follow one another"),
        ({"starts": np.array([0, 2])}, "shapes"),
        ({"states": np.array([3, 0], np.int32)}, "increasing order, or out of range"),
        ({"states": np.array([0, 4], np.int32)}, "increasing order, or out of range"),
        ({"states": np.array([-1, 3], np.int32)}, "increasing order, or out of range"),
        ({"values": np.array([[-0.5], [1.2]])}, "negative"),
        ({"values": np.array([[np.nan], [0.2]])}, "negative"),
        ({"values": np.array([[0.5], [0.3]])}, "do not sum to 1"),
        ({"values": np.array([[0.5, 0.5], [0.2, 0.2]])}, "shapes"),
        ({"factors": np.array([[0.5], [1.0]])}, "do not sum to 1"),
        ({"factors": np.array([[np.inf], [1.0]])}, "do not sum to 1"),
    ],
)
def test_compressed_tables_are_checked(change: dict[str, np.ndarray], message: str) -> None:
    variables = Variable("a", (0, 1, 2, 3, 4)), Variable("x", (0, 1, 2, 3)), Variable("c", ("no",))
    rows = CompressedRows(np.array([0, 2, 2]), np.array([0, 3], np.int32), np.array([[0.5], [0.2]]), np.array([[0.6], [1.0]]))
    cpts = {0: np.full((5, 1), 0.2), CLASS: np.ones(1)}
    default = np.array([[0.25], [0.3], [0.2], [0.25]])

    def network(some: CompressedRows) -> Network:
        table = SparseCpt(np.array([[1], [4]], np.int32), some, default, (0,))
        return Network(variables, {0: (CLASS,), 1: (0, CLASS), CLASS: ()}, {**cpts, 1: table})

    assert network(rows).sparse == {1}
    with pytest.raises(DataError, match=message):
        network(replace(rows, **change))
