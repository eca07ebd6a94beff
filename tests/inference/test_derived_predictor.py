"""Networks with derived columns answer as one row at a time, gone through by hand, would be answered."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from naivete.errors import DataError
from naivete.inference.derived_predictor import DerivedPredictor, predictor_of
from naivete.inference.predictor import Predictor
from naivete.network.densities import Normal
from naivete.network.derived_columns import Hidden, Hierarchy, Tree
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.strategies import dense_table, deriving_networks, random_tree

MISSING = 255


def leaves(tree: Tree, row: list[int], node: int = 0, share: float = 1.0) -> dict[int, float]:
    """The leaves of a row and their shares, by going down one branch after the other."""
    x = int(tree.features[node])
    if x < 0:
        return {int(tree.state_of[node]): share}
    if row[x] != MISSING:
        return leaves(tree, row, int(tree.children[tree.starts[node] + row[x]]), share)
    below = sorted(set(tree.children_of(node).tolist()))
    weights = [float(tree.weights[child]) for child in below]
    weights = weights if sum(weights) else [1.0] * len(below)
    found: dict[int, float] = {}
    for child, weight in zip(below, weights, strict=True):
        if weight:
            found |= leaves(tree, row, child, share * weight / sum(weights))
    return found


def cell(network: Network, cells: Hierarchy, row: list[int]) -> int:
    """The classifier that answers for a row."""
    node = 0
    while True:
        x = int(cells.features[node])
        branch = int(np.argmax(naive(network, node, row))) if x < 0 else row[x]
        child = -1 if branch == MISSING else int(cells.children[node, branch])
        if child < 0:
            return node
        node = child


def naive(network: Network, node: int, row: list[int]) -> np.ndarray:
    """P(class, row) in one of the classifiers of a hierarchy."""
    found = np.array(network.cpts[CLASS][node])
    for x in network.inputs:
        if row[x] != MISSING:
            found = found * network.cpts[x][row[x], node]
    return found


def expected(network: Network, row: list[int]) -> np.ndarray | None:
    """P(class | row), None where the rule for impossible rows decides."""
    derived = network.derived[len(network.inputs)]
    if isinstance(derived, Tree):
        shares = leaves(derived, row)
        found = sum(share * network.cpts[CLASS][leaf] for leaf, share in shares.items())
    elif isinstance(derived, Hierarchy):
        found = naive(network, cell(network, derived, row), row)
    else:
        found = np.array(network.cpts[CLASS])
        for h in network.derived:
            mine = [x for x in network.inputs if network.parents[x] == (h,) and row[x] != MISSING]
            found = found * sum(
                network.cpts[h][s] * np.prod([network.cpts[x][row[x], s] for x in mine]) for s in range(network.variables[h].card)
            )
    total = np.sum(found)
    return found / total if total > 0 else None


def possible(network: Network, row: list[int]) -> bool:
    """Whether no feature that depends on nothing forbids the row, and no classifier on the way has no answer."""
    derived = network.derived[len(network.inputs)]
    if isinstance(derived, Tree):
        return all(row[x] == MISSING or network.cpts[x][row[x]] > 0 for x in network.inputs)
    if isinstance(derived, Hierarchy):
        return all(naive(network, node, row).sum() > 0 for node in range(len(derived.children)))
    return True


@given(deriving_networks(), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_posteriors_equal_those_of_single_rows(network: Network, random: object) -> None:
    cards = [network.variables[x].card for x in network.inputs]
    rows = list(product(*([*range(card), MISSING] for card in cards)))
    random.shuffle(rows)  # type: ignore[attr-defined]
    rows = rows[:40]
    codes = [np.array([row[x] for row in rows], np.uint8) for x in network.inputs]
    has_missing = np.array([(c == MISSING).any() for c in codes])
    answers, impossible = predictor_of(network).posterior(codes, has_missing)
    alone = [predictor_of(network).posterior([c[i : i + 1] for c in codes], has_missing)[0][0] for i in range(len(rows))]
    assert np.array_equal(answers, alone)
    assert np.all(np.abs(answers.sum(axis=1) - 1) < 1e-12)
    telling = [x for x in network.inputs if cards[x] > 1]
    for i, row in enumerate(rows):
        wanted = expected(network, list(row))
        if wanted is None or not possible(network, list(row)):
            continue
        assert i not in impossible
        if any(row[x] != MISSING for x in telling):
            assert np.allclose(answers[i], wanted, atol=1e-12)
        else:
            assert np.allclose(answers[i], answers[rows.index(row)], atol=1e-12)


@given(deriving_networks())
@settings(max_examples=60, deadline=None)
def test_a_row_without_a_value_gets_the_prior(network: Network) -> None:
    codes = [np.full(2, MISSING, np.uint8) for _ in network.inputs]
    answers, _ = predictor_of(network).posterior(codes, np.ones(len(codes), bool))
    if network.parents[CLASS]:
        parent = network.parents[CLASS][0]
        prior = np.asarray(network.cpts[parent]) @ np.asarray(network.cpts[CLASS])
    else:
        prior = np.asarray(network.cpts[CLASS])
    assert np.allclose(answers, prior, atol=1e-12)


@given(deriving_networks())
@settings(max_examples=60, deadline=None)
def test_the_joint_has_the_proportions_of_the_answers(network: Network) -> None:
    """Of rows that are not divided: their log joint and log posterior differ by a constant."""
    cards = [network.variables[x].card for x in network.inputs]
    rows = list(product(*(range(card) for card in cards)))[:30]
    codes = [np.array([row[x] for row in rows], np.uint8) for x in network.inputs]
    found = predictor_of(network)
    has_missing = np.zeros(len(codes), bool)
    assume(any(card > 1 for card in cards))
    joint, (answers, impossible) = found.joint(codes, has_missing), found.posterior(codes, has_missing)
    sure = np.isfinite(joint.max(axis=1))
    sure[impossible] = False
    shares = np.exp(joint[sure] - joint[sure].max(axis=1, keepdims=True))
    assert np.allclose(shares / shares.sum(axis=1, keepdims=True), answers[sure], atol=1e-12)


def test_networks_without_derived_columns_have_the_plain_predictor() -> None:
    coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.5, 0.5])})
    assert isinstance(predictor_of(coin), Predictor)
    assert not isinstance(predictor_of(coin), DerivedPredictor)


def test_rows_without_the_derived_columns_are_refused_by_the_plain_predictor() -> None:
    variables = (Variable("x", ("a", "b")), Variable("leaf", (1, 2)), Variable("class", ("no", "yes")))
    half = np.full((2, 2), 0.5)
    network = Network(variables, {0: (), 1: (), CLASS: (1,)}, {0: half[0], 1: half[0], CLASS: half}, {1: TREE})
    with pytest.raises(DataError, match="1 columns of codes where the network has 2 features"):
        Predictor(network).posterior([np.zeros(1, np.uint8)], np.zeros(1, bool))


TREE = Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2]), np.array([2.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    ("derived", "message"),
    [
        (Tree(np.array([0, -1]), np.array([0, 0]), np.array([1, 1]), np.ones(2)), "1 leaves where the column has 2 states"),
        (Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 0]), np.ones(3)), "does not come after it"),
        (Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 3]), np.ones(3)), "none of the 3"),
        (Tree(np.array([1, -1, -1]), np.array([0, 0, 0]), np.array([1, 2]), np.ones(3)), "tests feature 1"),
        (Tree(np.array([0, -1, -1]), np.array([1, 0, 0]), np.array([1, 2]), np.ones(3)), "not listed node by node"),
        (Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2]), np.full(3, -1.0)), "at least 0"),
        (Tree(np.array([0, -1, -1]), np.array([0, 0, 0]), np.array([1, 2]), np.ones(2)), "is needed|are needed"),
        (Tree(np.array([0, 0, -1, -1]), np.array([0, 2, 0, 0]), np.array([1, 2, 2, 3]), np.ones(4)), "the child of two others"),
        (Tree(np.array([0, 0, -1, -1]), np.array([0, 1, 0, 0]), np.array([1, 2, 3]), np.ones(4)), "not listed node by node"),
        (Hierarchy(np.full((2, 2), -1), np.full(3, -1)), "for each of 2 classifiers"),
        (Hierarchy(np.full((2, 3), -1), np.full(2, -1)), "where \\(2, 2\\) is needed"),
        (Hierarchy(np.array([[1, -1], [0, -1]]), np.full(2, -1)), "does not come after it"),
    ],
)
def test_derived_columns_that_do_not_fit_are_refused(derived: Tree | Hierarchy, message: str) -> None:
    variables = (Variable("x", ("a", "b")), Variable("leaf", (1, 2)), Variable("class", ("no", "yes")))
    half = np.full((2, 2), 0.5)
    parents = {0: (), 1: (), CLASS: (1,)}
    with pytest.raises(DataError, match=message):
        Network(variables, parents, {0: half[0], 1: half[0], CLASS: half}, {1: derived})


def test_a_classifier_of_a_hierarchy_has_one_parent_and_no_continuous_feature() -> None:
    variables = (Variable("x", origin=0.0), Variable("cell", (0, 1, 2)), Variable("class", ("no", "yes")))
    tables = {0: np.ones((1, 3, 2)), 1: np.full(3, 1 / 3), CLASS: np.full((3, 2), 0.5)}
    parents = {0: (1, CLASS), 1: (), CLASS: (1,)}
    density = {0: Normal(np.zeros((3, 2)), np.ones((3, 2)))}
    for children, features, told in (
        ([[1, -1], [2, -1], [-1, -1]], [0, -1, -1], "by a continuous feature"),
        ([[1, 2], [2, -1], [-1, -1]], [-1, -1, -1], "the child of two others"),
    ):
        with pytest.raises(DataError, match=told):
            Network(variables, parents, tables, {1: Hierarchy(np.array(children), np.array(features))}, density)


def test_rows_with_missing_values_are_predicted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, [3, 3, 3])
    inputs = tuple(Variable(name, (0, 1, 2)) for name in "abc")
    variables = (*inputs, Variable("leaf", tuple(range(len(tree.leaves)))), Variable("class", ("no", "yes")))
    parents = {**dict.fromkeys(range(4), ()), CLASS: (3,)}
    cpts = {v: dense_table(variables, v, p, rng) + 0.0 for v, p in parents.items()}
    network = Network(variables, parents, cpts, {3: tree})
    codes = [np.where(rng.random(50) < 0.5, 255, rng.integers(0, 3, 50)).astype(np.uint8) for _ in range(3)]
    has_missing = np.ones(3, bool)
    whole, joint = predictor_of(network).posterior(codes, has_missing), predictor_of(network).joint(codes, has_missing)
    monkeypatch.setattr("naivete.inference.derived_predictor.FACTOR_CELLS", 8 * len(tree.leaves))
    parts = predictor_of(network).posterior(codes, has_missing)
    assert np.array_equal(whole[0], parts[0])
    assert np.array_equal(whole[1], parts[1])
    assert np.array_equal(joint, predictor_of(network).joint(codes, has_missing))


def test_derived_columns_are_the_last_ones_and_computed_ones_alone() -> None:
    variables = (Variable("x", ("a", "b")), Variable("leaf", (1, 2)), Variable("class", ("no", "yes")))
    half = np.full((2, 2), 0.5)
    parents = {0: (), 1: (), CLASS: (1,)}
    with pytest.raises(DataError, match="the last features before the class"):
        Network(variables, parents, {0: half[0], 1: half[0], CLASS: half}, {0: Hidden()})
    with pytest.raises(DataError, match="the only one"):
        Network(variables, parents, {0: half[0], 1: half[0], CLASS: half}, {0: Hidden(), 1: TREE})
