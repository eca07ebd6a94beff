"""Sufficient reasons and flips, compared with the enumeration of all rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.errors import DataError, ResourceError
from naivete.inference import bucket_tree, class_ratios, flips
from naivete.inference.class_ratios import class_logs, winning
from naivete.inference.flips import cheapest_flip, whole_costs
from naivete.inference.reasons import sufficient_reason
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family
from tests import oracles
from tests.strategies import networks

Row = tuple[int, ...]


def all_predictions(network: Network) -> dict[Row, int]:
    """The predicted class of every complete row that is possible in some class; ties go to the first class."""
    rows = product(*(range(v.card) for v in network.variables[:-1]))
    predictions = {}
    for row in rows:
        joint = oracles.joint(network, list(row))
        if any(joint):
            best = max(joint)
            predictions[row] = next(c for c, p in enumerate(joint) if p >= best * Fraction(1 - 1e-9))
    return predictions


def decides(predictions: dict[Row, int], values: dict[int, int], decided: int) -> bool:
    return all(c == decided for row, c in predictions.items() if all(row[x] == code for x, code in values.items()))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Network, dict[int, int], int, np.random.Generator]:
    """A network, observed values, and the class predicted for them, missing values marginalized."""
    kind = draw(st.sampled_from(["naive", "tree", "any", "any"]))
    parents = {"naive": 0, "tree": 1}.get(kind, 2)
    with_class = True if kind != "any" or draw(st.booleans()) else None
    network = draw(networks(max_features=6, max_card=3, max_parents=parents, class_parent=with_class, sparse=kind == "any"))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):  # without zeros
        cpts = {v: smoothed(network, v) for v in network.cpts}
        network = Network(network.variables, network.parents, cpts)
    missing = 0.3 if draw(st.booleans()) else 0.0
    while True:
        values = {x: int(rng.integers(network.variables[x].card)) for x in network.features if rng.random() >= missing}
        joint = oracles.joint(network, [values.get(x) for x in network.features])
        if any(joint):
            return network, values, next(c for c, p in enumerate(joint) if p >= max(joint) * Fraction(1 - 1e-9)), rng
        missing += 0.05


def smoothed(network: Network, v: int) -> np.ndarray:
    table = network.full_table(v) + 0.1
    return table / table.sum(axis=network.family(v).index(v), keepdims=True)


@settings(max_examples=150)
@given(problems())
def test_a_reason_decides_the_class_and_no_part_of_it_does(
    problem: tuple[Network, dict[int, int], int, np.random.Generator],
) -> None:
    network, values, decided, _ = problem
    predictions = all_predictions(network)
    features, counterexample = sufficient_reason(network, values, decided)
    if counterexample is not None:
        assert not decides(predictions, values, decided)
        row = tuple({**values, **counterexample}.get(x, 0) for x in network.features)
        assert predictions.get(row, -1) != decided or any(x not in counterexample and x not in values for x in network.features)
        return
    assert set(features) <= set(values)
    reason = {x: values[x] for x in features}
    assert decides(predictions, reason, decided)
    for x in features:
        assert not decides(predictions, {y: code for y, code in reason.items() if y != x}, decided)
    naive = all(parents == (CLASS,) for x, parents in network.parents.items() if x != CLASS)
    if naive and network.variables[CLASS].card == 2 and all(not network.table(v).has_zeros for v in network.cpts):
        assert (
            not any(
                decides(predictions, {x: values[x] for x in some}, decided)
                for some in combinations(values, max(0, len(features) - 1))
            )
            or not features
        )


def random_costs(network: Network, values: dict[int, int], rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Costs of 1, of one or two decimals, infinite ones among them; missing values cost nothing."""
    style, costs = rng.integers(3), {}
    for x in network.inputs:
        card = network.variables[x].card
        state_costs = np.ones(card) if style == 0 else rng.integers(1, 40, card) / (10 if style == 1 else 4)
        state_costs[rng.random(card) < 0.15] = np.inf
        if rng.random() < 0.1:
            state_costs[:] = np.inf
        if x in values:
            state_costs[values[x]] = 0
        costs[x] = state_costs if x in values else np.zeros(card)
    return costs


@settings(max_examples=200)
@given(problems())
def test_a_flip_is_the_cheapest_row_with_another_class(problem: tuple[Network, dict[int, int], int, np.random.Generator]) -> None:
    network, values, decided, rng = problem
    predictions, costs = all_predictions(network), random_costs(network, values, rng)
    others = [None, *(c for c in range(network.variables[CLASS].card) if c != decided)]
    target = others[int(rng.integers(len(others)))]
    wanted = [row for row, c in predictions.items() if (c != decided if target is None else c == target)]
    cheapest = min((sum(costs[x][code] for x, code in enumerate(row)) for row in wanted), default=np.inf)
    flip = cheapest_flip(network, costs, decided, target)
    if flip is None:
        assert np.isinf(cheapest)
        return
    assert float(flip.cost) == pytest.approx(cheapest, abs=1e-9)
    rows = [row for row in predictions if all(row[x] == code for x, code in flip.states.items())]
    assert rows
    assert {predictions[row] for row in rows} == {flip.predicted}
    assert flip.predicted != decided
    assert sum(costs[x][code] for x, code in flip.states.items()) == pytest.approx(float(flip.cost))


def tree_network(features: int, rng: np.random.Generator, parents: int = 1, classes: int = 2, card: int = 3) -> Network:
    """A network in which every feature has the class and some earlier features as parents, without zeros."""
    variables = (*(Variable(i, tuple(range(card))) for i in range(features)), Variable("class", tuple(range(classes))))
    structure: dict[int, tuple[int, ...]] = {CLASS: ()}
    for x in range(features):
        structure[x] = (*rng.choice(x, min(parents, x), replace=False).tolist(), CLASS)
    cpts = {}
    for v, p in structure.items():
        members = family(v, *p)
        table = rng.random([variables[m].card for m in members]) + 0.2
        cpts[v] = table / table.sum(axis=members.index(v), keepdims=True)
    return Network(variables, structure, cpts)


@pytest.mark.parametrize("classes", [2, 4])
def test_large_trees(classes: int) -> None:
    rng = np.random.default_rng(classes)
    network = tree_network(60, rng, classes=classes)
    values = {x: int(rng.integers(3)) for x in network.features}
    decided = winning(class_logs(network, values))
    features, counterexample = sufficient_reason(network, values, decided)
    assert counterexample is None
    for _ in range(200):
        row = {x: values[x] if x in features else int(rng.integers(3)) for x in network.features}
        assert winning(class_logs(network, row)) == decided
    costs = {x: np.where(np.arange(3) == code, 0.0, 1.0) for x, code in values.items()}
    for target in [None, *(c for c in range(classes) if c != decided)]:
        flip = cheapest_flip(network, costs, decided, target)
        assert flip is not None
        assert winning(class_logs(network, flip.states)) == flip.predicted
        assert flip.cost == sum(state != values[x] for x, state in flip.states.items())


def test_a_reason_takes_steps_in_proportion_to_the_depth_of_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = 0
    plain = bucket_tree.Maxima._message

    def counted(self: bucket_tree.Maxima, v: int) -> np.ndarray:
        nonlocal messages
        messages += 1
        return plain(self, v)

    monkeypatch.setattr(bucket_tree.Maxima, "_message", counted)
    rng = np.random.default_rng(0)
    naive = tree_network(100, rng, parents=0)
    values = {x: int(rng.integers(3)) for x in naive.features}
    sufficient_reason(naive, values, winning(class_logs(naive, values)))
    assert messages == 200


def test_ties_go_to_the_first_class() -> None:
    even = np.array([[0.5, 0.5], [0.5, 0.5]])
    network = Network(
        (Variable("x", (0, 1)), Variable("class", (0, 1))), {0: (CLASS,), CLASS: ()}, {0: even, CLASS: np.array([0.5, 0.5])}
    )
    assert sufficient_reason(network, {0: 1}, 0) == ((), None)
    assert cheapest_flip(network, {0: np.array([0.0, 1.0])}, 0) is None
    uneven = np.array([[0.5, 0.4], [0.5, 0.6]])
    network = Network(network.variables, network.parents, {0: uneven, CLASS: np.array([6 / 11, 5 / 11])})
    assert winning(class_logs(network, {0: 1})) == 0  # 6/22 and 6/22
    assert sufficient_reason(network, {0: 1}, 0) == ((), None)


def test_a_single_class_needs_no_reason_and_has_no_flip() -> None:
    network = Network(
        (Variable("x", (0, 1)), Variable("class", (0,))), {0: (CLASS,), CLASS: ()}, {0: np.array([[0.5], [0.5]]), CLASS: np.ones(1)}
    )
    assert sufficient_reason(network, {0: 1}, 0) == ((), None)
    assert cheapest_flip(network, {0: np.array([0.0, 1.0])}, 0) is None


def test_problems_beyond_the_budget_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    network = tree_network(12, rng, parents=3, classes=4)
    values = dict.fromkeys(network.features, 0)
    costs = {x: np.array([0.0, 1.0, 1.0]) for x in network.features}
    decided = winning(class_logs(network, values))
    target = (decided + 1) % 4
    monkeypatch.setattr(bucket_tree, "MOST_NODES", 3)
    with pytest.raises(ResourceError, match="given up after 3 steps"):
        cheapest_flip(network, costs, decided, target)
    fine = {x: np.array([0.0, 1.0000001, 1.0]) for x in network.features}
    with pytest.raises(ResourceError, match="multiples of a larger unit"):
        cheapest_flip(network, fine, decided)
    monkeypatch.setattr(bucket_tree, "MOST_CELLS", 1000)
    network = tree_network(12, rng, parents=3, classes=4)  # the bucket tree of the network above is kept
    decided = winning(class_logs(network, values))
    with pytest.raises(ResourceError, match="connected features have to be compared at once"):
        cheapest_flip(network, costs, decided)
    with pytest.raises(ResourceError, match="connected features have to be compared at once"):
        sufficient_reason(network, {0: 0, 1: 0}, winning(class_logs(network, {0: 0, 1: 0})))
    monkeypatch.setattr(class_ratios, "MOST_CELLS", 100)
    with pytest.raises(ResourceError, match="limited to 100"):
        cheapest_flip(network, costs, decided)


@pytest.mark.parametrize("seed", range(4))
def test_reasons_of_networks_whose_tables_are_too_large_together(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    network = tree_network(20, rng, parents=2, classes=2 + seed % 2)
    values = {x: int(rng.integers(3)) for x in network.features if seed < 2 or x % 5}
    decided = winning(class_logs(network, values))
    expected = sufficient_reason(network, values, decided)
    pairs = [(c, decided) for c in range(network.variables[CLASS].card) if c != decided]
    monkeypatch.setattr(bucket_tree, "MOST_CELLS", bucket_tree.bucket_tree(network, pairs).cells - 1)
    same_network = Network(network.variables, network.parents, network.cpts)
    with pytest.raises(ResourceError):
        bucket_tree.bucket_tree(same_network, pairs)
    assert sufficient_reason(same_network, values, decided) == expected


@pytest.mark.parametrize("seed", range(4))
def test_flips_of_large_networks_are_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    network = tree_network(15, rng, parents=2, classes=2)
    values = {x: int(rng.integers(3)) for x in network.features}
    costs = {x: np.where(np.arange(3) == code, 0.0, np.inf if x % 3 == 0 else 1.0) for x, code in values.items()}
    decided = winning(class_logs(network, values))
    expected = cheapest_flip(network, costs, decided)
    assert expected is not None
    monkeypatch.setattr(flips, "SMALL", 0)  # features that cannot change are inserted into the tables
    monkeypatch.setattr(bucket_tree, "SMALL", 0)
    assert cheapest_flip(network, costs, decided) == expected
    cells = flips._tree(network, [(1 - decided, decided)], costs)[0].cells
    monkeypatch.setattr(flips, "MOST_CELLS", cells * int(expected.cost + 1))
    monkeypatch.setattr(bucket_tree, "MOST_CELLS", cells * int(expected.cost + 1))
    assert cheapest_flip(Network(network.variables, network.parents, network.cpts), costs, decided) == expected


def test_densities_are_refused() -> None:
    from naivete.network.densities import Normal

    variables = (Variable("x", origin=0.0), Variable("class", (0, 1)))
    network = Network(
        variables,
        {0: (CLASS,), CLASS: ()},
        {0: np.ones((1, 2)), CLASS: np.array([0.5, 0.5])},
        densities={0: Normal(np.zeros(2), np.ones(2))},
    )
    with pytest.raises(DataError, match="continuous feature 'x'"):
        sufficient_reason(network, {}, 0)


@given(st.lists(st.integers(1, 10**4), min_size=1, max_size=5), st.sampled_from([1, 4, 10, 100]))
def test_whole_costs(numbers: list[int], scale: int) -> None:
    steps, unit = whole_costs({0: np.array([0.0, np.inf, *(n / scale for n in numbers)])})
    assert steps[0].tolist()[:2] == [0, -1]
    assert [step * unit for step in steps[0].tolist()[2:]] == [Fraction(n, scale) for n in numbers]
    assert np.gcd.reduce(steps[0][2:]) == 1
