"""Networks check their parts and are immutable."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from naivete.errors import DataError
from naivete.network.conditional_tables import SparseCpt
from naivete.network.graphs import topological
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.oracles import identical
from tests.strategies import networks

AB = (Variable("a", (0, 1)), Variable("b", (0, 1, 2)), Variable("c", (0, 1)))
HALF = np.full(2, 0.5)
UNIFORM: dict[int, Any] = {CLASS: HALF, 0: np.full((2, 2), 0.5), 1: np.full((2, 3, 2), 1 / 3)}
ARCS = {CLASS: (), 0: (CLASS,), 1: (0, CLASS)}


def sparse(configurations: Any, rows: Any = None, default: Any = None, parents: tuple[int, ...] = (0,)) -> SparseCpt:
    codes = np.array(configurations, np.int32)
    return SparseCpt(
        codes,
        np.full((len(codes), 3, 2), 1 / 3) if rows is None else rows,
        np.full((3, 2), 1 / 3) if default is None else default,
        parents,
    )


@given(networks(sparse=True))
@settings(deadline=None, max_examples=50)
def test_parents_come_before_children_and_copies_are_identical(network: Network) -> None:
    position = {v: i for i, v in enumerate(network.order)}
    assert set(position) == {*network.features, CLASS}
    assert all(position[p] < position[v] for v, parents in network.parents.items() for p in parents)
    assert network.order[0] == CLASS
    assert {(p, x) for p, x in network.arcs} == {(p, x) for x in network.features for p in network.parents[x] if p != CLASS}
    assert identical(network, pickle.loads(pickle.dumps(network)))
    assert identical(network, copy.deepcopy(network))
    assert network.cells >= len(network.variables)


def test_the_order_takes_lower_positions_first() -> None:
    assert topological({CLASS: (), 0: (2,), 1: (CLASS,), 2: ()}) == (CLASS, 1, 2, 0)
    assert topological({CLASS: (1,), 0: (CLASS,), 1: ()}) == (1, CLASS, 0)


def test_a_network_is_immutable() -> None:
    network = Network(AB, ARCS, {**UNIFORM, 1: sparse([[0]])})
    for change in (
        lambda: network.parents.__setitem__(0, ()),
        lambda: network.cpts.__setitem__(0, HALF),
        lambda: setattr(network, "variables", ()),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    for table in (network.cpts[0], network.cpts[1].rows, network.cpts[1].default, network.cpts[1].configurations):
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0
    assert network.name(0) == "a"
    assert network.name(CLASS) == "c"
    assert network.cells == 2 + 4 + 6 + 6


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        pytest.param({CLASS: (), 0: (1, CLASS), 1: (0, CLASS)}, "cycle: a <- b <- a", id="F18-cycle"),
        pytest.param({CLASS: (0,), 0: (1,), 1: (CLASS,)}, "cycle: c <- a <- b <- c", id="F18-cycle-through-class"),
        pytest.param({CLASS: (), 0: (5, CLASS), 1: ()}, r"'a' has unknown parents \[5\]", id="F18-unknown"),
        pytest.param({0: (), 1: ()}, "class included", id="F18-class-missing"),
        pytest.param({CLASS: (), 0: (0,), 1: ()}, "'a' is its own parent", id="F18-self-loop"),
        pytest.param({CLASS: (), 0: (1, 1), 1: ()}, "parent twice", id="F18-twice"),
    ],
)
def test_an_invalid_structure_raises(parents: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Network(AB, parents, UNIFORM)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({0: None}, "table of 'a' is missing"),
        ({0: np.full((2, 3), 0.5)}, r"shape \(2, 3\) where its family has \(2, 2\)"),
        ({0: np.full((2, 2), 0.6)}, "sum to 1"),
        ({0: np.array([[1.5, 0.5], [-0.5, 0.5]])}, "negative"),
        ({0: np.full((2, 2), np.nan)}, "non-finite"),
        ({CLASS: sparse([[0]])}, "sparse table needs the feature parents"),
        ({1: sparse([[0]], parents=(1,))}, "sparse table needs the feature parents"),
        ({1: sparse([[0, 0]])}, "shapes"),
        ({1: sparse([[0]], rows=np.full((1, 2, 2), 0.5))}, "shapes"),
        ({1: sparse([[0]], default=np.full((2, 2), 0.5))}, "shapes"),
        ({1: sparse([[0]], rows=np.full((1, 3, 2), 0.5))}, "sum to 1"),
        ({1: sparse([[0]], default=np.full((3, 2), 0.5))}, "sum to 1"),
        ({1: sparse([[2]])}, "out of range"),
        ({1: sparse([[-1]])}, "out of range"),
        ({1: sparse([[1], [0]])}, "increasing order"),
        ({1: sparse([[1], [1]])}, "increasing order"),
        ({1: sparse([[0]], default=sparse([[0]]))}, "backs off to some of its own parents"),
    ],
)
def test_a_table_that_does_not_fit_raises(changed: dict[int, Any], message: str) -> None:
    cpts = {v: cpt for v, cpt in {**UNIFORM, **changed}.items() if cpt is not None}
    with pytest.raises(DataError, match=message):
        Network(AB, ARCS, cpts)


def test_two_variables_of_one_name_raise() -> None:
    with pytest.raises(DataError, match="'a' at positions 1, 2"):
        Network((AB[0], AB[0], AB[2]), ARCS, UNIFORM)
