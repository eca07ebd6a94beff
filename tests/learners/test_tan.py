"""The tree of TAN against all trees."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naivete import _kernels
from naivete.cases import MemoryCases
from naivete.counts.counts import Counts
from naivete.counts.information import dependence, relevance
from naivete.errors import ParameterError
from naivete.learners.kdb import kdb
from naivete.learners.tan import spanning_tree, tan
from naivete.network.network import Network
from naivete.variables import CLASS
from tests.oracles import cases_of, identical, labelled_trees
from tests.strategies import some_cases

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def weight_of(network: Network, dependent: np.ndarray) -> float:
    return float(sum(dependent[arc] for arc in network.arcs))


@given(training=some_cases(features=(1, 6)), bias=st.sampled_from(["plain", "corrected"]))
@quick
def test_the_tree_is_the_heaviest_of_all(training: MemoryCases, bias: Any, cases: Any) -> None:
    network = tan(Counts(cases(training)), bias=bias)
    dependent, relevant = dependence(Counts(training), bias=bias), relevance(Counts(training), bias=bias)
    n = len(training.variables) - 1
    heaviest = max(sum(dependent[edge] for edge in tree) for tree in labelled_trees(n))
    assert abs(weight_of(network, dependent) - heaviest) <= 1e-12
    assert len(network.arcs) == n - 1
    assert all(network.parents[x][-1] == CLASS for x in network.features)
    roots = [x for x in network.features if network.parents[x] == (CLASS,)]
    telling = [x for x in range(n) if training.variables[x].card > 1] or list(range(n))
    assert roots == [max(telling, key=lambda x: (relevant[x], -x))]
    assert weight_of(network, dependent) >= weight_of(kdb(Counts(training), k=1, theta=-inf, bias=bias), dependent) - 1e-12


@given(training=some_cases(features=(1, 6)))
@quick
def test_back_ends_and_kernels_give_the_same_bits(training: MemoryCases, cases: Any) -> None:
    network = tan(Counts(training))
    assert identical(network, tan(Counts(cases(training))))
    with _kernels.use("numpy"):
        assert identical(network, tan(Counts(cases(training))))


def test_any_feature_can_be_the_root() -> None:
    rng = np.random.default_rng(0)
    training = cases_of([2, 3, 2, 2], [rng.integers(0, c, 50) for c in (2, 3, 2, 2)])
    trees = [tan(Counts(training), root=root) for root in range(3)]
    assert [[x for x in t.features if t.parents[x] == (CLASS,)] for t in trees] == [[0], [1], [2]]
    assert len({frozenset(frozenset(arc) for arc in t.arcs) for t in trees}) == 1


@pytest.mark.parametrize("root", [3, -1, 1.0, 1.5, True, "x0", [0], float("nan")], ids=repr)
def test_a_root_that_is_no_feature_is_refused(root: Any) -> None:
    with pytest.raises(ParameterError, match="root="):
        tan(Counts(cases_of([2, 2, 2, 2], [[0, 1]] * 4)), root=root)


def test_equal_columns_are_children_of_the_first_of_them() -> None:
    column = [0, 1, 0, 1, 1, 0]
    training = cases_of([2, 2, 2, 2], [column, column, column, [0, 1, 0, 1, 0, 0]])
    assert dict(tan(Counts(training)).parents) == {CLASS: (), 0: (CLASS,), 1: (0, CLASS), 2: (0, CLASS)}
    assert spanning_tree(np.ones((4, 4)), 2, [0, 1, 3]) == {0: 2, 1: 0, 3: 0}


def test_constant_features_are_children_of_the_root() -> None:
    training = cases_of([1, 2, 2, 1, 2], [[0] * 4, [0, 1, 0, 1], [0, 1, 1, 1], [0] * 4, [0, 1, 0, 1]])
    assert dict(tan(Counts(training)).parents) == {CLASS: (), 1: (CLASS,), 0: (1, CLASS), 2: (1, CLASS), 3: (1, CLASS)}
    assert dict(tan(Counts(cases_of([1, 1, 2], [[0], [0], [1]]))).parents) == {CLASS: (), 0: (CLASS,), 1: (0, CLASS)}
