"""Drawings of trees and hierarchies: well-formed, inert, nothing on top of anything else, everything within the picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.classifiers.naive_variants import Recursive
from naivete.classifiers.trees import C45, ID3
from naivete.display.conditional_tables_html import hierarchy_html
from naivete.display.layout import Box
from naivete.display.markup import shorten, text_width
from naivete.display.network_drawing import svg
from naivete.display.tree_drawing import BOXES_UP_TO, NODES_UP_TO, node_boxes, tree_svg
from naivete.display.tree_outline import has_outline, outline
from naivete.display.tree_panels import node_panel
from naivete.encoding.encoder import Encoder
from naivete.network.network import Network
from naivete.variables import Variable
from tests.display.test_network_drawing import HOSTILE, NAMESPACE, overlap, parsed, texts
from tests.display.test_tree_outline import chain, diseases, hierarchy
from tests.strategies import deriving_networks


def renamed(network: Network, names: list[object], states: list[object]) -> Network:
    """The network with other names, and other states of the variables that are not cut."""
    variables = [
        replace(own, name=name, states=own.states if x in network.derived else tuple(states[: len(own.states)]))
        for x, (own, name) in enumerate(zip(network.variables, names, strict=False))
    ]
    return Network(tuple(variables), network.parents, network.cpts, network.derived)


@st.composite
def hostile_networks(draw: st.DrawFn) -> Network:
    network = draw(deriving_networks().filter(has_outline))
    some = st.lists(st.sampled_from(HOSTILE), min_size=len(network.variables), max_size=12, unique_by=str)
    states = draw(st.lists(st.sampled_from(HOSTILE), min_size=6, max_size=6, unique_by=str))
    return renamed(network, draw(some), [str(state) for state in states])


def inert(root: ET.Element) -> bool:
    """Whether nothing in a drawing runs or fetches anything."""
    allowed = {"svg", "title", "desc", "style", "g", "rect", "text", "path", "polygon"}
    tags = {element.tag.removeprefix(NAMESPACE) for element in root.iter()}
    keys = {key for element in root.iter() for key in element.attrib}
    return tags <= allowed and not any(key.startswith("on") or "href" in key for key in keys)


@given(hostile_networks(), st.sampled_from([None, *HOSTILE]), st.sampled_from([1.0, 300.0, 1040.0]))
@settings(max_examples=120, deadline=None)
def test_well_formed_and_inert_whatever_the_names(network: Network, title: object, max_width: float) -> None:
    markup = tree_svg(network, title=title, max_width=max_width)
    root = parsed(markup)
    assert inert(root)
    assert markup == tree_svg(network, title=title, max_width=max_width)
    assert root.find(NAMESPACE + "title") is not None
    assert root.find(NAMESPACE + "desc") is not None
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert root.attrib["viewBox"] == f"0 0 {root.attrib['width']} {root.attrib['height']}"
    for element, x, y in shifted(root):
        if element.tag == NAMESPACE + "rect":
            assert -0.01 <= x <= x + float(element.attrib["width"]) <= width + 0.01
            assert -0.01 <= y <= y + float(element.attrib["height"]) <= height + 0.01


def shifted(element: ET.Element, x: float = 0.0, y: float = 0.0) -> list[tuple[ET.Element, float, float]]:
    """All elements with their places in the picture."""
    move = re.fullmatch(r"translate\(([-\d.]+),([-\d.]+)\)", element.attrib.get("transform", "translate(0,0)"))
    assert move is not None
    x, y = x + float(move[1]), y + float(move[2])
    place = (element, x + float(element.attrib.get("x", 0)), y + float(element.attrib.get("y", 0)))
    return [place, *(found for child in element for found in shifted(child, x, y))]


@given(hostile_networks(), st.booleans(), st.integers(1, 40))
@settings(max_examples=120, deadline=None)
def test_boxes_and_labels_do_not_overlap_and_children_come_after(network: Network, down: bool, most: int) -> None:
    found = outline(network, max_nodes=most)
    panels = [node_panel(network, found, i) for i in range(len(found.nodes))]
    labels = [shorten(node.branch, 150, 11) if node.depth else "" for node in found.nodes]
    boxes = node_boxes(found, panels, labels, down=down)
    assert boxes == node_boxes(found, panels, labels, down=down)
    taken = [*boxes, *(label_box(box, label, down) for box, label in zip(boxes, labels, strict=True) if label)]
    assert not any(overlap(a, b) for a, b in combinations(taken, 2))
    assert min(box.x for box in boxes) >= -1e-6
    assert min(box.y for box in boxes) >= -1e-6
    for box, node in zip(boxes[1:], found.nodes[1:], strict=True):
        above = boxes[node.parent]
        assert box.y >= above.bottom + 30 if down else box.x >= above.x + above.width + 30


def label_box(box: Box, label: str, down: bool) -> Box:
    width = text_width(label, 11)
    return (
        Box(box.centre - width / 2, box.y - 17, width, 14)
        if down
        else Box(box.x - 5 - width, box.y + box.height / 2 - 7, width, 14)
    )


def iris_like() -> Network:
    rows = [[x / 10, y / 10] for x in range(10, 60, 5) for y in range(10, 60, 5)]
    kinds = ["small" if x < 2.5 else "large" if y > 4 else "odd" for x, y in rows]
    return C45().fit(rows, kinds).network_


def test_a_tree_shows_tests_thresholds_and_leaves() -> None:
    network = iris_like()
    root = parsed(svg(network, title="a tree"))
    shown = texts(root, "text")
    assert shown[0] == "a tree"
    assert {"x0", "x1", "<= 2", "> 2", "<= 4", "> 4", "small", "large", "odd", "100 cases", "1.00 of 30 cases"} <= set(shown)
    assert "Classification tree for the class" in texts(root, "desc")[0]
    assert "5 nodes" in texts(root, "desc")[0]
    assert "x0: <= 2" in texts(root, "title")
    assert len([e for e in root.iter() if "nv-leaf" in e.attrib.get("class", "")]) == 3


def test_a_leaf_that_no_training_case_reached_is_dashed() -> None:
    rows = [["a", "p"], ["a", "q"], ["b", "p"], ["c", "q"]]
    network = ID3(min_rows=1).fit(rows, ["no", "yes", "yes", "no"]).network_
    empty = [node for node in outline(network).nodes if node.weight == 0]
    markup = tree_svg(network)
    assert markup.count("nv-leaf nv-empty") == len(empty)
    assert markup.count("of 0 cases") == len(empty)


def test_a_hierarchy_shows_figure_2() -> None:
    root = parsed(svg(diseases()))
    shown = texts(root, "text")
    assert shown.count("base rate") == 2
    assert {"all cases", "sorts into", "predicts", "sorted to lethargia", "classes", "0.58", "0.71", "0.89"} <= set(shown)
    assert shown.count("burpoma") == 2
    assert "Hierarchy of 2 naive Bayes classifiers" in texts(root, "desc")[0]
    assert "a cluster without a branch" in texts(root, "desc")[0]


def test_a_branch_leaves_below_the_class_it_belongs_to() -> None:
    network = diseases()
    found = outline(network)
    panel = node_panel(network, found, 0)
    assert [*panel.ports] == [0, 1, 2]
    assert panel.ports[0] < panel.ports[1] < panel.ports[2] < panel.width
    (path,) = [e.attrib["d"] for e in parsed(tree_svg(network)).iter(NAMESPACE + "path")]
    box = node_boxes(found, [node_panel(network, found, i) for i in range(2)], ["", "lethargia"], down=True)[0]
    assert float(path[1:].split()[0]) == pytest.approx(box.x + panel.ports[2], abs=0.01)


def test_where_classes_decide_themselves_the_note_says_so() -> None:
    assert "its predicted class" in tree_svg(diseases(refit=False))
    assert "predicted class" not in tree_svg(diseases(max_depth=0))


def test_splits_by_a_feature_are_named() -> None:
    rows = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]
    shown = texts(parsed(svg(Recursive(parity="split").fit(rows, ["no", "yes", "yes", "no"]).network_)), "text")
    assert "divides cases by x0" in shown
    assert not any("a case follows" in line for line in shown)
    assert "x0 = 1" in shown


def test_means_and_deviations_of_numbers() -> None:
    numbers = np.array([[0.0], [1.0], [2.0], [1000.0], [1001.0], [1002.5]])
    network = Recursive(encoder=Encoder(numbers="normal")).fit(numbers, ["few"] * 3 + ["many"] * 3).network_
    assert {"mean", "deviation", "1", "1001"} <= set(texts(parsed(svg(network)), "text"))


def test_of_many_features_and_classes_the_foot_counts_the_rest() -> None:
    rng = np.random.default_rng(0)
    classes = np.arange(400) % 9
    rows = np.column_stack([(classes + rng.integers(0, 3, 400)) % 4 for _ in range(30)]).astype(str).astype(object)
    shown = texts(parsed(svg(Recursive(max_depth=0).fit(rows, classes).network_)), "text")
    assert "and 27 more features" in shown
    assert "and 4 more classes" in shown


def test_of_many_values_the_first_are_shown() -> None:
    rows = [[f"v{i % 9}", "ab"[i % 2]] for i in range(36)]
    network = Recursive(max_depth=0).fit(rows, [i % 2 for i in range(36)]).network_
    shown = texts(parsed(svg(network)), "text")
    assert "the first 6 values of a feature" in shown
    assert "v5" in shown
    assert "v6" not in shown
    assert "of a feature the first 8 states are shown" in hierarchy_html(network, outline(network), max_states=8)
    assert "the first" not in hierarchy_html(network, outline(network), max_states=9)


def test_of_many_nodes_those_near_the_root_are_drawn() -> None:
    deep = chain(400)
    root = parsed(svg(deep))
    assert f"{NODES_UP_TO} of 801 nodes are shown" in texts(root, "text")
    assert f"{NODES_UP_TO} of 801 nodes are shown." in texts(root, "desc")[0]
    assert "651 nodes below left out" in texts(root, "text")
    count = 60
    many = hierarchy([[min(i + 1, count), -1] for i in range(count)] + [[-1, -1]])
    assert f"{BOXES_UP_TO} of 61 nodes are shown" in texts(parsed(svg(many)), "text")


def test_a_single_node() -> None:
    assert "1.00 of 3 cases" in tree_svg(ID3().fit([["a"], ["b"], ["c"]], ["same"] * 3).network_)


def test_wide_trees_grow_to_the_right_and_tall_ones_begin_on_top() -> None:
    rows = [[str(i), str(i % 7)] for i in range(60)] * 2
    network = ID3(encoder=Encoder(keep=True)).fit(rows, [i % 7 for i in range(60)] * 2).network_
    root = parsed(svg(network))
    assert float(root.attrib["height"]) > float(root.attrib["width"])
    found = outline(network)
    boxes = node_boxes(
        found, [node_panel(network, found, i) for i in range(len(found.nodes))], [n.branch for n in found.nodes], down=False
    )
    assert boxes[0].y == min(box.y for box in boxes)
    assert boxes[0].x < boxes[1].x


def test_long_names_are_cut_and_whole_under_the_pointer() -> None:
    long = "a very long name of a feature that nobody can read in a small table"
    network = diseases()
    variables = (Variable(long, network.variables[0].states), *network.variables[1:])
    root = parsed(svg(Network(variables, network.parents, network.cpts, network.derived)))
    assert not any(long in (element.text or "") for element in root.iter(NAMESPACE + "text"))
    assert long in texts(root, "title")


class TestHtml:
    def test_classifiers_are_nested_and_open_without_a_script(self) -> None:
        network = diseases()
        markup = hierarchy_html(network, outline(network))
        whole = ET.fromstring(markup)
        assert [e.text for e in whole.iter("summary")] == ["all cases", "sorted to lethargia"]
        assert whole.attrib == {"open": "open"}
        assert [child.tag for child in whole] == ["summary", "table", "table", "details"]
        assert [e.text for e in whole.iter("th") if e.attrib.get("colspan")] == [
            "sorts into", "base rate", "predicts", "base rate", "classes", "base rate",
        ]  # fmt: skip
        assert "0.583" in markup

    @given(hostile_networks(), st.integers(1, 5))
    @settings(max_examples=60, deadline=None)
    def test_any_names_and_limits(self, network: Network, most: int) -> None:
        found = outline(network, max_nodes=most)
        if not found.leaves:
            whole = ET.fromstring(hierarchy_html(network, found, max_features=1, max_classes=1, max_states=1))
            assert len([*whole.iter("details")]) == len(found.nodes)
            assert {e.tag for e in whole.iter()} <= {
                "details",
                "summary",
                "table",
                "caption",
                "thead",
                "tbody",
                "tr",
                "th",
                "td",
                "p",
            }
            left_out = [e.text for e in whole.iter("p") if "left out" in (e.text or "")]
            assert len(left_out) == sum(node.left_out > 0 for node in found.nodes)

    def test_what_is_left_out_is_counted(self) -> None:
        network = diseases()
        markup = hierarchy_html(network, outline(network), max_features=3, max_classes=2)
        assert "3 of 4 features are shown; 2 of 3 classes are shown" in markup

    def test_a_deep_chain_of_classifiers(self) -> None:
        network = hierarchy([[i + 1, -1] for i in range(1200)] + [[-1, -1]])
        assert hierarchy_html(network, outline(network)).count("<details") == 1201
