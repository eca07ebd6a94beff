"""Sufficient reasons and flips of classification trees, compared with the enumeration of all rows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naivete.inference.derived_predictor import predictor_of
from naivete.inference.tree_reasons import cheapest_tree_flip, is_plain_tree, sufficient_tree_reason
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.inference.test_reasons import decides, random_costs
from tests.strategies import dense_table, random_tree


def tree_network(rng: np.random.Generator, features: int, classes: int) -> Network:
    """A random tree over features with two or three states."""
    inputs = tuple(Variable(f"x{i}", tuple(range(int(rng.integers(2, 4))))) for i in range(features))
    tree = random_tree(rng, [v.card for v in inputs], depth=4)
    variables = (*inputs, Variable("leaf", tuple(range(len(tree.leaves)))), Variable("class", tuple(range(classes))))
    parents: dict[int, tuple[int, ...]] = {**dict.fromkeys(range(features + 1), ()), CLASS: (features,)}
    cpts = {v: dense_table(variables, v, p, rng) for v, p in parents.items()}
    cpts |= {x: np.full(variables[x].card, 1 / variables[x].card) for x in range(features)}
    return Network(variables, parents, cpts, {features: tree})


def all_predictions(network: Network) -> dict[tuple[int, ...], int]:
    rows = list(product(*(range(v.card) for v in network.columns)))
    codes = [np.array(column, np.uint8) for column in zip(*rows, strict=True)]
    posterior, _ = predictor_of(network).posterior(codes, np.zeros(len(codes), bool))
    return dict(zip(rows, posterior.argmax(axis=1).tolist(), strict=True))


@settings(max_examples=150)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(2, 4))
def test_reasons_and_flips_of_trees(seed: int, features: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    network = tree_network(rng, features, classes)
    assert is_plain_tree(network)
    predictions = all_predictions(network)
    row = [int(rng.integers(v.card)) for v in network.columns]
    decided = predictions[tuple(row)]
    values = {x: code for x, code in enumerate(row) if rng.random() < 0.8}
    kept, counterexample = sufficient_tree_reason(network, values, decided)
    if counterexample is not None:
        assert not decides(predictions, values, decided)
        some = [c for r, c in predictions.items() if all(r[x] == code for x, code in {**values, **counterexample}.items())]
        assert set(some) != {decided}
        assert len(set(some)) == 1
    else:
        reason = {x: values[x] for x in kept}
        assert decides(predictions, reason, decided)
        assert not any(decides(predictions, {y: c for y, c in reason.items() if y != x}, decided) for x in kept)
    costs = random_costs(network, values, rng)
    target = None if rng.random() < 0.5 else int(rng.integers(classes))
    assume(target != decided)
    flip = cheapest_tree_flip(network, costs, decided, target)
    wanted = [r for r, c in predictions.items() if (c != decided if target is None else c == target)]
    cheapest = min((sum(costs[x][code] for x, code in enumerate(r)) for r in wanted), default=np.inf)
    if flip is None:
        assert np.isinf(cheapest)
    else:
        assert float(flip.cost) == pytest.approx(cheapest, abs=1e-9)
        assert {c for r, c in predictions.items() if all(r[x] == code for x, code in flip.states.items())} == {flip.predicted}
