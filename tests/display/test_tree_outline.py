"""What a tree or hierarchy looks like: going down the outline gives the answers of the network."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.classifiers.naive_variants import Recursive
from naivete.classifiers.trees import C45, ID3
from naivete.display.class_summaries import ClassSummary, summary_lines
from naivete.display.tree_outline import (
    Node,
    Outline,
    branch_label,
    has_outline,
    heading,
    node_summaries,
    outline,
    relevant_columns,
)
from naivete.encoding.encoder import Encoder
from naivete.errors import ParameterError
from naivete.inference.derived_predictor import predictor_of
from naivete.network.densities import Normal
from naivete.network.derived_columns import Hidden, Hierarchy, Tree
from naivete.network.graphs import d_separated, markov_blanket
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.strategies import deriving_networks, networks

DISEASES = [  # two, tails, colour and wall of cells like those of Langley's figure 1
    *[("2", "1", "light", "thin", "lethargia")] * 3,
    ("2", "1", "dark", "thin", "lethargia"),
    ("2", "1", "light", "thick", "lethargia"),
    *[("1", "1", "light", "thin", "healthy")] * 2,
    *[("2", "2", "dark", "thick", "healthy")] * 2,
    ("1", "2", "dark", "thick", "burpoma"),
    ("1", "2", "dark", "thin", "burpoma"),
    ("1", "2", "light", "thick", "burpoma"),
]


def diseases(**parameters: Any) -> Network:
    rows = [row[:-1] for row in DISEASES]
    return Recursive(**parameters).fit(np.array(rows, object), [row[-1] for row in DISEASES]).network_


def rows_of(network: Network, seed: int, count: int = 30) -> list[np.ndarray]:
    """Random codes of the columns of the table, all known."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, network.variables[x].card, count).astype(np.uint8) for x in network.inputs]


class UnclearError(Exception):
    """A row of probability zero, or one on the border between two classes, which rounding decides."""


def classified(summary: ClassSummary, codes: list[np.ndarray], row: int) -> np.ndarray:
    """P(class | row) by Bayes' rule with the tables of a summary."""
    joint = summary.rates.copy()
    for x, table in summary.tables.items():
        joint = joint * table[codes[x][row]]
    if not joint.any():
        raise UnclearError
    return joint / joint.sum()


def decided(posterior: np.ndarray) -> int:
    """The most probable class."""
    if len(posterior) > 1 and np.ptp(np.sort(posterior)[-2:]) < 1e-9:
        raise UnclearError
    return int(np.argmax(posterior))


def check_answers(network: Network, seed: int) -> None:
    """Going down the outline leads to the answers of the network."""
    if all(network.variables[x].card == 1 for x in network.inputs):
        return  # a row that tells nothing is answered by the prior
    found, codes = outline(network), rows_of(network, seed)
    expected, _ = predictor_of(network).posterior(codes, np.zeros(len(codes), bool))
    for row, predicting in enumerate(expected):
        with contextlib.suppress(UnclearError):
            assert answered(found, codes, row) == pytest.approx(predicting, abs=1e-9)


def answered(found: Outline, codes: list[np.ndarray], row: int) -> np.ndarray:
    """The answer about a row to which going down the outline leads."""
    at = 0
    while True:
        node = found.nodes[at]
        if node.feature >= 0:
            code = int(codes[node.feature][row])
        else:
            classifier = node.sorting or node.predicting
            assert classifier is not None
            code = decided(classified(classifier, codes, row))
        below = [child for child in found.children[at] if code in found.nodes[child].states]
        if not below:
            assert node.predicting is not None
            return classified(node.predicting, codes, row)
        (at,) = below


def check_order(found: Outline) -> None:
    """Every node before its children, siblings with states of their own, levels counted from the root."""
    assert (found.nodes[0].parent, found.nodes[0].depth, found.nodes[0].branch) == (-1, 0, "")
    waiting = [0]
    for i, node in enumerate(found.nodes):
        assert waiting.pop() == i
        waiting += reversed(found.children[i])
        codes = [code for child in found.children[i] for code in found.nodes[child].states]
        assert len(set(codes)) == len(codes)
        assert all(found.nodes[child].depth == node.depth + 1 for child in found.children[i])
    assert not waiting


@given(deriving_networks(), st.integers(0, 1000))
@settings(max_examples=150, deadline=None)
def test_descending_the_outline_gives_the_predictions_of_the_network(network: Network, seed: int) -> None:
    if not has_outline(network):
        assert all(isinstance(own, Hidden) for own in network.derived.values())
        return
    found = outline(network)
    check_order(found)
    assert len(found.nodes) == found.total
    check_answers(network, seed)


@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 4, st.integers(0, 2)), min_size=4, max_size=30),
    st.booleans(),
    st.sampled_from(["stop", "split"]),
)
@settings(max_examples=60, deadline=None)
def test_learned_hierarchies_pair_sorting_and_predicting_classifiers(rows: list[tuple[int, ...]], refit: bool, parity: str) -> None:
    table = np.array(rows).astype(str).astype(object)
    network = Recursive(refit=refit, parity=parity).fit(table[:, :-1], table[:, -1]).network_
    found = outline(network)
    check_order(found)
    check_answers(network, 0)
    sorting = [node.sorting is not None for node in found.nodes]
    if refit:
        assert sorting == [node.feature < 0 and bool(below) for node, below in zip(found.nodes, found.children, strict=True)]
    elif not any(node.feature >= 0 for node in found.nodes):
        assert not any(sorting)


@given(deriving_networks(), st.integers(1, 8))
def test_what_is_left_out_is_counted(network: Network, most: int) -> None:
    if has_outline(network):
        found, whole = outline(network, max_nodes=most), outline(network)
        check_order(found)
        assert found.total == whole.total
        assert len(found.nodes) == min(most, whole.total)
        assert len(found.nodes) + sum(node.left_out for node in found.nodes) == found.total
        assert max(node.depth for node in found.nodes) <= 1 + min(
            [whole.total, *(node.depth for node in found.nodes if node.left_out)]
        )


def test_figure_2_of_langley() -> None:
    network = diseases()
    root, below = outline(network).nodes
    assert root.sorting is not None
    assert root.sorting.rates == pytest.approx([3 / 12, 2 / 12, 7 / 12])
    assert root.sorting.tables[1][:, 2] == pytest.approx([8 / 9, 1 / 9])
    assert root.predicting is not None
    assert root.predicting.rates == pytest.approx([3 / 12, 4 / 12, 5 / 12])
    assert (below.branch, below.states, below.sorting) == ("lethargia", (2,), None)
    assert below.predicting is not None
    assert below.predicting.rates == pytest.approx([0, 2 / 7, 5 / 7])
    assert below.predicting.classes(5) == [1, 2]
    assert below.predicting.ranked[0] == 0
    assert [word for word, _ in node_summaries(root)] == ["sorts into", "predicts"]
    assert [word for word, _ in node_summaries(below)] == ["classes"]
    assert [heading(network, outline(network), node) for node in (root, below)] == ["all cases", "sorted to lethargia"]


def test_without_refitting_cases_are_sorted_by_the_predictions_of_the_classifier() -> None:
    root, below = outline(diseases(refit=False)).nodes
    assert root.sorting is None
    assert below.branch == "lethargia"


def test_parity_is_split_by_a_feature() -> None:
    rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    network = Recursive(parity="split").fit(rows, ["no", "yes", "yes", "no"]).network_
    found = outline(network)
    assert (found.nodes[0].feature, found.nodes[0].sorting) == (0, None)
    assert [node.branch for node in found.nodes[1:]] == ["0", "1"]
    assert heading(network, found, found.nodes[1]) == "x0 = 0"


def hierarchy(children: list[list[int]], first: int = 0) -> Network:
    """Two classes, one feature of two states, and classifiers with these children."""
    count = len(children)
    at = (np.arange(count) == first).astype(float)
    variables = Variable("x", ("a", "b")), Variable("cell", tuple(range(count))), Variable("c", ("no", "yes"))
    cpts = {0: np.full((2, count, 2), 0.5), 1: at, CLASS: np.full((count, 2), 0.5)}
    cells = Hierarchy(np.array(children), np.full(count, -1))
    return Network(variables, {0: (1, CLASS), 1: (), CLASS: (1,)}, cpts, {1: cells})


def test_a_classifier_whose_clusters_all_have_classifiers_predicts_nothing() -> None:
    found = outline(hierarchy([[2, 3], [-1, -1], [-1, -1], [-1, -1]], first=1))
    assert found.nodes[0].sorting is not None
    assert found.nodes[0].predicting is None
    assert found.total == 3
    other = outline(hierarchy([[2, 3], [-1, -1], [-1, -1], [-1, -1]]))
    assert other.nodes[0].sorting is None


def chain(depth: int) -> Network:
    """A tree that asks again and again."""
    nodes = 2 * depth + 1
    features = np.array([0 if i % 2 == 0 and i < nodes - 1 else -1 for i in range(nodes)])
    children = np.array([own for i in range(0, nodes - 1, 2) for own in (i + 1, i + 2)])
    tree = Tree(features, np.where(features >= 0, np.arange(nodes), 0), children, np.ones(nodes))
    leaves = depth + 1
    variables = Variable("x", ("a", "b")), Variable("leaf", tuple(range(leaves))), Variable("c", ("no", "yes"))
    cpts = {0: np.full(2, 0.5), 1: np.full(leaves, 1 / leaves), CLASS: np.full((leaves, 2), 0.5)}
    return Network(variables, {0: (), 1: (), CLASS: (1,)}, cpts, {1: tree})


def test_deep_trees() -> None:
    found = outline(chain(3000))
    assert (found.total, max(node.depth for node in found.nodes)) == (6001, 3000)
    assert outline(chain(0)).nodes[0].weight == 1.0


def test_leaves_have_the_weights_and_rates_of_the_training_cases() -> None:
    numbers = [[1.5], [2.5], [3.5], [4.5], [5.5], [6.5], [6.5]]
    root, low, high = outline(C45().fit(numbers, [0, 0, 0, 1, 1, 1, 0]).network_).nodes
    assert (root.weight, low.weight, high.weight) == (7.0, 3.0, 4.0)
    assert (low.branch, high.branch) == ("<= 3.5", "> 3.5")
    assert low.predicting is not None
    assert high.predicting is not None
    assert high.predicting.rates.tolist() == [0.25, 0.75]
    assert (low.predicting.best, high.predicting.best, low.predicting.ranked) == (0, 1, ())


class TestBranches:
    PETAL = Variable("petal", cuts=(1.0, 2.5, 4.0), missing=True)

    @pytest.mark.parametrize(
        ("codes", "expected"),
        [
            ([0], "<= 1"),
            ([1], "1 .. 2.5"),
            ([1, 2], "1 .. 4"),
            ([2, 1, 0], "<= 4"),
            ([3, 1, 2], "> 1"),
            ([0, 1, 2, 3], "any number"),
            ([0, 3], "<= 1, > 4"),
            ([0, 4], "<= 1, missing"),
            ([4], "missing"),
        ],
    )
    def test_intervals_that_touch_are_one(self, codes: list[int], expected: str) -> None:
        assert branch_label(self.PETAL, codes) == expected

    def test_names_in_the_order_of_their_codes(self) -> None:
        assert branch_label(Variable("sky", ("blue", "grey", "red"), other=True), [2, 0, 3]) == "blue, red, never seen"

    def test_numbers_that_are_almost_equal_stay_apart(self) -> None:
        near = Variable("x", cuts=(1.00000001, 1.00000002, 1.00000003))
        assert branch_label(near, [0, 1]) == "<= 1.00000002"

    def test_a_numeric_column_without_cut_points(self) -> None:
        assert branch_label(Variable("x", cuts=()), [0]) == "any"


class TestMattering:
    @given(deriving_networks(), st.integers(0, 1000))
    @settings(max_examples=100, deadline=None)
    def test_an_irrelevant_feature_does_not_change_predictions(self, network: Network, seed: int) -> None:
        matters, codes = relevant_columns(network), rows_of(network, seed)
        answers = predictor_of(network).posterior(codes, np.zeros(len(codes), bool))[0]
        for x in network.inputs:
            if x not in matters:
                other = [((c + 1) % network.variables[x].card).astype(np.uint8) if i == x else c for i, c in enumerate(codes)]
                assert predictor_of(network).posterior(other, np.zeros(len(codes), bool))[0] == pytest.approx(answers, abs=1e-9)

    @given(networks(), st.data())
    def test_relevant_columns_treat_hidden_columns_as_unobserved(self, network: Network, data: st.DataObject) -> None:
        count = data.draw(st.integers(0, len(network.features)))
        inputs = network.features[: len(network.features) - count]
        hidden = Network(network.variables, network.parents, network.cpts, {v: Hidden() for v in network.features[len(inputs) :]})
        expected = [x for x in inputs if not d_separated(network.parents, [x], [CLASS], {*inputs} - {x})]
        assert relevant_columns(hidden) == expected

    def test_children_of_a_hidden_column_are_relevant(self) -> None:
        variables = tuple(Variable(name, ("a", "b")) for name in ("x", "y", "z", "hidden", "c"))
        parents = {0: (3,), 1: (3,), 2: (0,), 3: (CLASS,), CLASS: ()}
        half = np.full(2, 0.5)
        cpts = {v: np.full((2,) * (1 + len(p)), 0.5) if p else half for v, p in parents.items()}
        assert relevant_columns(Network(variables, parents, cpts, {3: Hidden()})) == [0, 1]

    def test_only_the_features_that_a_tree_tests_are_needed(self) -> None:
        rows = [["a", "p", "u"], ["a", "q", "u"], ["b", "p", "v"], ["b", "q", "v"]] * 3
        assert relevant_columns(ID3().fit(rows, ["no", "yes", "no", "yes"] * 3).network_) == [1]

    @given(networks())
    def test_without_derived_columns_it_is_the_markov_blanket(self, network: Network) -> None:
        assert relevant_columns(network) == [*markov_blanket(network.parents, CLASS)]


class TestSummaries:
    def test_features_are_in_decreasing_order_of_information_and_ties_go_to_the_lower_column(self) -> None:
        flat, sharp = np.full((2, 2), 0.5), np.eye(2)
        assert ClassSummary(np.array([0.5, 0.5]), {0: flat, 1: sharp, 2: flat, 3: sharp}, {}).ranked == (1, 3, 0, 2)

    def test_numbers_with_densities(self) -> None:
        apart, same = np.array([[0.0, 5.0], [1.0, 1.0]]), np.array([[2.0, 2.0], [1.0, 3.0]])
        summary = ClassSummary(np.array([0.5, 0.5]), {0: np.full((2, 2), 0.5)}, {1: same, 2: apart})
        assert summary.ranked == (2, 0, 1)
        network = diseases()
        lines = [*summary_lines(network, summary, [2, 0])]
        assert [(line.feature, line.label, line.probable) for line in lines] == [
            (2, "mean", False),
            (2, "deviation", False),
            (0, "1", True),
            (0, "2", True),
        ]
        assert lines[0].values.tolist() == [0.0, 5.0]

    def test_densities_of_a_hierarchy(self) -> None:
        numbers = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]])
        model = Recursive(encoder=Encoder(numbers="normal")).fit(numbers, [0, 0, 0, 1, 1, 1])
        (root,) = outline(model.network_).nodes
        assert root.predicting is not None
        assert isinstance(model.network_.densities[0], Normal)
        assert root.predicting.normals[0][0] == pytest.approx([1.0, 11 + 1 / 6])
        assert root.predicting.tables == {}

    def test_of_many_classes_the_frequent_and_never_those_that_do_not_occur(self) -> None:
        summary = ClassSummary(np.array([0.1, 0.0, 0.5, 0.15, 0.25]), {}, {})
        assert summary.classes(2) == [2, 4]
        assert summary.classes(9) == [0, 2, 3, 4]


def test_networks_without_derived_columns_have_no_outline() -> None:
    plain = Network((Variable("c", ("no", "yes")),), {CLASS: ()}, {CLASS: np.array([0.5, 0.5])})
    assert not has_outline(plain)
    with pytest.raises(ParameterError, match="only a tree or a hierarchy"):
        outline(plain)
    with pytest.raises(ParameterError, match="max_nodes=0"):
        outline(diseases(), max_nodes=0)


def test_nodes_are_plain_data() -> None:
    node = outline(diseases()).nodes[0]
    assert isinstance(node, Node)
    assert (node.parent, node.states, node.weight, node.left_out) == (-1, (), None, 0)
