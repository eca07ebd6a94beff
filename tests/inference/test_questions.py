"""Expected information and expected reduction of the loss, compared with enumeration and numeric integration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from naivete.errors import DataError
from naivete.inference.class_conditionals import class_conditionals
from naivete.inference.junction import JunctionTree
from naivete.inference.questions import answers, expected_information, expected_loss_reduction, predicted_answers
from naivete.network.densities import Kernel, Normal
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family
from tests import oracles
from tests.strategies import dense_table, networks


def entropy(p: np.ndarray) -> float:
    return -math.fsum(float(q) * math.log2(float(q)) for q in np.ravel(p) if q > 0)


def random_row(network: Network, rng: np.random.Generator) -> list[int | None]:
    return [None if rng.random() < 0.5 else int(rng.integers(v.card)) for v in network.variables[:-1]]


def enumerated(network: Network, row: list[int | None]) -> dict[int, np.ndarray] | None:
    """P(x, class | observed) of every unobserved feature, by enumeration; None where the row is impossible."""
    total = sum(oracles.joint(network, row))
    if not total:
        return None
    tables = {}
    for x, code in enumerate(row):
        if code is None:
            states = range(network.variables[x].card)
            cells = [oracles.joint(network, [*row[:x], state, *row[x + 1 :]]) for state in states]
            tables[x] = np.array([[float(cell / total) for cell in line] for line in cells])
    return tables


@st.composite
def any_networks(draw: st.DrawFn) -> Network:
    """Naive Bayes, TAN, KDB or any structure, also with sparse tables and with the class as a child."""
    kind = draw(st.sampled_from(["naive", "tree", "any", "child"]))
    parents = {"naive": 0, "tree": 1}.get(kind, 2)
    network = draw(
        networks(
            max_features=5, max_card=3, max_parents=parents, class_parent=True if kind == "naive" else None, sparse=kind == "any"
        )
    )
    if kind != "child" or len(network.variables) < 3:
        return network
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    roots = tuple(x for x in network.features if CLASS not in network.parents[x] and not ancestor_is_class(network, x))[:2]
    cpts = {**network.cpts, CLASS: dense_table(network.variables, CLASS, roots, rng)}
    return Network(network.variables, {**network.parents, CLASS: roots}, cpts)


def ancestor_is_class(network: Network, x: int) -> bool:
    return any(p == CLASS or ancestor_is_class(network, p) for p in network.parents[x])


@given(any_networks(), st.integers(0, 2**32 - 1))
def test_gains_equal_enumeration(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = random_row(network, rng)
    expected, observed = enumerated(network, row), {x: code for x, code in enumerate(row) if code is not None}
    if expected is None:
        with pytest.raises(DataError, match="probability 0 in every class"):
            answers(network, observed)
        return
    result = answers(network, observed)
    assert result.posterior == pytest.approx(oracles.posterior(network, row), abs=1e-12)
    assert list(result.tables) == list(expected)
    for x, table in expected.items():
        assert result.tables[x] == pytest.approx(table, abs=1e-12)
    if not expected:
        return
    loss = rng.random((3, len(result.posterior)))
    tables = list(result.tables.values())
    for table, bits, saved in zip(
        expected.values(), expected_information(tables), expected_loss_reduction(tables, loss), strict=True
    ):
        assert bits == pytest.approx(entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table), abs=1e-9)
        after = sum(min(float(costs @ line) for costs in loss) for line in table)
        assert saved == pytest.approx(min(float(costs @ table.sum(axis=0)) for costs in loss) - after, abs=1e-12)


def chain(features: int, rng: np.random.Generator) -> Network:
    """A TAN in which each feature is the parent of the next."""
    variables = (*(Variable(i, (0, 1, 2)) for i in range(features)), Variable("class", (0, 1)))
    parents: dict[int, tuple[int, ...]] = {CLASS: (), **{x: (x - 1, CLASS) if x else (CLASS,) for x in range(features)}}
    return Network(variables, parents, {v: dense_table(variables, v, p, rng) for v, p in parents.items()})


def test_a_forest_does_not_need_the_junction_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(JunctionTree, "__init__", refuse)
    network = chain(50, np.random.default_rng(1))
    assert len(answers(network, {10: 1}).tables) == 49


def test_thousands_of_observations_do_not_underflow() -> None:
    rng = np.random.default_rng(0)
    features, card = 3000, 3
    variables = (*(Variable(i, tuple(range(card))) for i in range(features)), Variable("class", (0, 1)))
    star: dict[int, tuple[int, ...]] = {CLASS: (), 0: (CLASS,), **dict.fromkeys(range(1, features), (0, CLASS))}
    cpts = {v: rng.dirichlet(np.ones(variables[v].card), tuple(variables[p].card for p in p_)) for v, p_ in star.items()}
    cpts = {v: np.moveaxis(table, -1, network_axis(v, star[v])) for v, table in cpts.items()}
    network = Network(variables, star, cpts)
    logs, tables = class_conditionals(network, dict.fromkeys(range(1, features - 1), 0))
    assert np.isfinite(logs).all()
    assert tables[0].sum(axis=1) == pytest.approx(1.0)
    assert tables[features - 1].sum(axis=1) == pytest.approx(1.0)


def network_axis(v: int, parents: tuple[int, ...]) -> int:
    return sorted([*(p for p in parents if p != CLASS), v]).index(v) if v != CLASS else 0


def mixed(densities: dict[int, Normal], rng: np.random.Generator, parents: dict[int, tuple[int, ...]] | None = None) -> Network:
    """A naive Bayes with two discrete features, and continuous ones from position 2 on, which may depend on one another."""
    variables = (Variable("a", (0, 1)), Variable("b", (0, 1, 2)))
    variables += tuple(Variable(f"n{x}", origin=1.0, kernel=isinstance(d, Kernel)) for x, d in densities.items())
    variables += (Variable("class", ("no", "maybe", "yes")),)
    structure = {0: (CLASS,), 1: (CLASS,), CLASS: (), **dict.fromkeys(densities, (CLASS,)), **(parents or {})}
    cpts: dict[int, Any] = {v: dense_table(variables, v, structure[v], rng) for v in (0, 1, CLASS)}
    cpts |= {x: np.ones([variables[m].card for m in family(x, *structure[x])]) for x in densities}
    return Network(variables, structure, cpts, densities=densities)


def integrated(weights: np.ndarray, density: Any, low: float, high: float, points: list[float]) -> float:
    """The information of a continuous feature in bits, by adaptive quadrature."""

    def term(value: float) -> float:
        parts = weights * density(value)
        total = parts.sum()
        return sum(p * math.log2(p / total / w) for p, w in zip(parts, weights, strict=True) if p > 0)

    return float(quad(term, low, high, points=points, limit=2000, epsabs=1e-11)[0])


def test_information_of_a_normal_density() -> None:
    rng = np.random.default_rng(5)
    density = Normal(np.array([0.0, 1.0, 4.0]), np.array([1.0, 0.01, 2.0]))
    result = answers(mixed({2: density}, rng), {0: 1})
    bits = expected_information([result.tables[2]])[0]
    points = [-1.0, 0.0, 0.7, 0.9, 1.0, 1.1, 1.3, 4.0]
    expected = integrated(result.posterior, lambda v: np.exp(density.logs(np.array([v]), (slice(None),))), -9, 17, points)
    assert bits == pytest.approx(expected, abs=1e-8)
    assert result.tables[2].sum(axis=0) == pytest.approx(result.posterior)
    loss = 1 - np.eye(3)
    saved = expected_loss_reduction([result.tables[2]], loss)[0]
    best = quad(
        lambda v: max(result.posterior * np.exp(density.logs(np.array([v]), (slice(None),)))), -9, 17, points=points, limit=2000
    )[0]
    assert saved == pytest.approx(best - result.posterior.max(), abs=1e-5)


def test_information_of_a_kernel_density() -> None:
    rng = np.random.default_rng(6)
    points = np.sort(np.concatenate([rng.normal(size=20), [300.0]]))
    weights = rng.dirichlet(np.ones(21), 3).T
    kernel = Kernel(means=np.zeros(3), variances=np.ones(3), points=points, weights=weights, widths=np.array([0.3, 0.5, 0.2]))
    result = answers(mixed({2: kernel}, rng), {1: 2})
    bits = expected_information([result.tables[2]])[0]
    density = lambda v: np.exp(kernel.logs(np.array([v]), None)[0])  # noqa: E731
    expected = integrated(result.posterior, density, -8, 8, points[:-1].tolist())
    expected += integrated(result.posterior, density, 290, 310, [300.0])
    assert bits == pytest.approx(expected, abs=1e-7)


def test_observed_continuous_features_count_for_linked_ones() -> None:
    rng = np.random.default_rng(7)
    first = Normal(np.array([0.0, 1.0, 2.0]), np.ones(3))
    second = Normal(np.array([0.0, 1.0, -1.0]), np.array([1.0, 2.0, 1.0]), np.array([[0.5], [1.0], [-1.0]]))
    network = mixed({2: first, 3: second}, rng, {3: (2, CLASS)})
    result = answers(network, {2: 0.3})
    alone = mixed({2: first, 3: Normal(second.means + 0.3 * second.slopes[:, 0], second.variances)}, rng)  # type: ignore[index]
    alone = Network(
        alone.variables,
        alone.parents,
        {**alone.cpts, 0: network.cpts[0], 1: network.cpts[1], CLASS: network.cpts[CLASS]},
        densities=alone.densities,
    )
    expected = answers(alone, {2: 0.3})
    assert result.posterior == pytest.approx(expected.posterior)
    assert expected_information([result.tables[3]]) == pytest.approx(expected_information([expected.tables[3]]), abs=1e-9)
    unknown = answers(network, {3: 0.7})  # the parent given its child
    logs = [
        -0.5 * (0.7 - m - s * mean) ** 2 / (v + s * s) - 0.5 * math.log(v + s * s)
        for m, s, v, mean in zip(second.means, second.slopes[:, 0], second.variances, first.means, strict=True)
    ]  # type: ignore[index]
    shares = np.exp(logs) * np.asarray(network.cpts[CLASS])
    assert unknown.posterior == pytest.approx(shares / shares.sum())


def test_a_density_that_depends_on_a_discrete_feature_is_refused() -> None:
    network = mixed({2: Normal(np.zeros((2, 3)), np.ones((2, 3)))}, np.random.default_rng(0), {2: (0, CLASS)})
    with pytest.raises(DataError, match="depends on the discrete feature 'a'"):
        answers(network, {})


class _Predictor:
    """A predictor of a network that hides that it is one."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def posterior(self, codes: Any, _: Any) -> Any:
        rows = [[None if c[i] == 255 else int(c[i]) for c in codes] for i in range(len(codes[0]))]
        return np.array([oracles.posterior(self.network, row) for row in rows]), np.empty(0)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_predictor_of_a_network_gives_the_same_answers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = chain(4, rng)
    network = Network(
        network.variables,
        network.parents,
        {v: 0.9 * np.asarray(t) + 0.1 / t.shape[0 if v in (0, CLASS) else 1] for v, t in network.cpts.items()},
    )
    observed = {1: 2} if rng.random() < 0.5 else {}
    expected = answers(network, observed)
    result = predicted_answers(_Predictor(network), network, network.variables[:-1], observed)
    assert result.posterior == pytest.approx(expected.posterior)
    for x, table in expected.tables.items():
        assert result.tables[x] == pytest.approx(table)
