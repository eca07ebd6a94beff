"""Drawings of networks: well-formed, inert, every arc pointing down, nothing on top of anything else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.display.layout import HEIGHT, Box, Layout, grid, layering, layout, spread
from naivete.display.markup import Markup, bidi_isolated, element, escaped, plain, shorten, text_width
from naivete.display.network_drawing import LONE_UP_TO, NODES_UP_TO, lone_features, svg
from naivete.errors import ParameterError
from naivete.network.derived_columns import Hidden
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)" x="',
    "' onmouseover='alert(1)",
    "</title></text></svg><img src=x onerror=alert(1)>",
    "]]><b>",
    "<!-- ",
    "&lt;b&gt; &#60;",
    "javascript:alert(1)",
    "</style><style>*{display:none}",
    "a\x00\x1b[31m\x07\r\nb\tc\x85\x7f",
    "\u202eevil\u202c\u2066x\u200f",
    "שלום",
    "مرحبا",
    "x" * 10_000,
    "\ud800lone\udfff",
    "🦊" * 40,
    "Z" + "\u0301\u0325" * 5_000,
    "\ufffe\uffff",
    "",
    " ",
    "0",
    0,
    None,
    float("inf"),
    "__class__",
    "café",
    "cafe\u0301",
    "{x}%s$(y)`z`\\",
]


def network(parents: dict[int, tuple[int, ...]], names: Sequence[object] | None = None, states: int = 2) -> Network:
    """A network of this structure with uniform tables."""
    count = len(parents) - 1
    labels = list(names) if names is not None else [f"feature {x}" for x in range(count)] + ["kind"]
    variables = tuple(Variable(name, tuple(f"s{i}" for i in range(states))) for name in labels)
    return Network(variables, parents, {v: np.full((states,) * len(family(v, *p)), 1 / states) for v, p in parents.items()})


def chained(count: int, k: int = 1) -> Network:
    """Every feature has the class and the k features before it as parents."""
    return network({CLASS: (), **{x: (*range(max(0, x - k), x), CLASS) for x in range(count)}})


@st.composite
def graphs(draw: st.DrawFn, most: int = 16) -> tuple[list[int], list[tuple[int, int]]]:
    count = draw(st.integers(0, most))
    possible = list(combinations(range(count), 2))
    return list(range(count)), draw(st.lists(st.sampled_from(possible), unique=True, max_size=40)) if possible else []


@st.composite
def networks(draw: st.DrawFn) -> Network:
    nodes, arcs = draw(graphs(7))
    given_class = (
        draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes))) if draw(st.booleans()) else [True] * len(nodes)
    )
    parents = {x: (*[p for p, c in arcs if c == x][:4], *([CLASS] if given_class[x] else [])) for x in nodes}
    free = [x for x in nodes if not given_class[x] and all(p in range(x) and not given_class[p] for p in parents[x])]
    ancestors_free = [x for x in free if all(not given_class[p] for p in range(x))]
    of_class = tuple(ancestors_free[:2]) if draw(st.booleans()) else ()
    names = draw(
        st.lists(
            st.one_of(st.text(max_size=20), st.sampled_from(HOSTILE)),
            min_size=len(nodes) + 1,
            max_size=len(nodes) + 1,
            unique=True,
        )
    )
    return network({CLASS: of_class, **parents}, names)


def parsed(markup: str) -> ET.Element:
    assert isinstance(markup, Markup)
    markup.encode("utf-8")
    return ET.fromstring(markup)


def texts(root: ET.Element, name: str) -> list[str]:
    return ["".join(e.itertext()) for e in root.iter(NAMESPACE + name)]


def overlap(a: Box, b: Box) -> bool:
    return a.x < b.x + b.width - 1e-6 and b.x < a.x + a.width - 1e-6 and a.y < b.bottom - 1e-6 and b.y < a.bottom - 1e-6


def check_layout(places: Layout, nodes: Sequence[int], arcs: Sequence[tuple[int, int]]) -> None:
    assert sorted(places.boxes) == sorted(nodes)
    assert sorted(places.routes) == sorted(arcs)
    assert not any(overlap(a, b) for a, b in combinations(places.boxes.values(), 2))
    for box in places.boxes.values():
        assert box.x >= -1e-6
        assert box.x + box.width <= places.width + 1e-6
        assert box.y >= 0
        assert box.bottom <= places.height + 1e-6
    for (p, c), points in places.routes.items():
        assert points[0] == pytest.approx((places.boxes[p].centre, places.boxes[p].bottom))
        x, y = points[-1]
        assert y == pytest.approx(places.boxes[c].y)
        assert places.boxes[c].x < x < places.boxes[c].x + places.boxes[c].width
        assert all(a[1] < b[1] for a, b in pairwise(points))
        assert len(points) % 2 == 0
        for (left, top), (right, bottom) in zip(points[1::2], points[2::2], strict=False):
            assert left == right
            lane = Box(left - 2, top, 4, bottom - top)
            assert not any(overlap(lane, box) for box in places.boxes.values())


class TestLayout:
    @given(graphs(), st.sampled_from([200.0, 500.0, 1000.0]))
    @settings(max_examples=120, deadline=None)
    def test_nothing_overlaps_and_arcs_point_down(self, graph, max_width):
        nodes, arcs = graph
        places = layout(nodes, arcs, max_width=max_width)
        check_layout(places, nodes, arcs)
        assert layout(nodes, list(reversed(arcs)), max_width=max_width) == places

    @given(graphs(), st.data())
    @settings(max_examples=60, deadline=None)
    def test_any_widths(self, graph, data):
        nodes, arcs = graph
        widths = {v: data.draw(st.floats(60, 160)) for v in nodes}
        check_layout(layout(nodes, arcs, widths=widths, max_width=600), nodes, arcs)

    @given(graphs())
    @settings(max_examples=60, deadline=None)
    def test_layers_are_below_all_parents_and_none_is_empty(self, graph):
        nodes, arcs = graph
        layer = layering(nodes, arcs, dict.fromkeys(nodes, 96.0), 400)
        assert all(layer[p] < layer[c] for p, c in arcs)
        assert set(layer.values()) == set(range(len(set(layer.values()))))

    def test_chain_is_straight(self):
        places = layout(range(9), pairwise(range(9)))
        assert len({box.centre for box in places.boxes.values()}) == 1
        assert len(places.layers) == 9

    def test_long_arc_goes_straight_down(self):
        points = layout(range(6), [*pairwise(range(6)), (0, 5)]).routes[0, 5]
        assert len({x for x, _ in points[1:-1]}) == 1

    def test_tree_has_its_root_in_the_middle_and_no_crossing(self):
        places = layout(range(7), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)])
        assert places.boxes[0].centre == pytest.approx(places.width / 2, abs=1)
        assert places.layers == ((0,), (1, 2), (3, 4, 5, 6))

    def test_crossings_are_removed(self):
        places = layout(range(8), [(0, 7), (1, 6), (2, 5), (3, 4), (0, 6), (1, 5), (2, 4)])
        ends = sorted((points[0][0], points[-1][0]) for points in places.routes.values())
        assert all(a[1] < b[1] for a, b in pairwise(ends) if a[0] != b[0])

    def test_exchange_of_neighbours(self):
        arcs = [(0, 5), (0, 6), (0, 8), (1, 4), (1, 7), (2, 4), (2, 8), (3, 5), (3, 7), (1, 8)]
        check_layout(layout(range(9), arcs), range(9), arcs)

    def test_sources_stand_just_above_their_children(self):
        assert layering([0, 1, 2, 3], [(0, 1), (1, 2), (3, 2)], dict.fromkeys(range(4), 96.0), 1000)[3] == 1

    def test_source_stays_where_there_is_no_room_below(self):
        assert layering([0, 1, 2, 3], [(0, 1), (1, 2), (3, 2)], dict.fromkeys(range(4), 96.0), 100)[3] in (0, 1, 2)

    def test_wide_layers_are_broken(self):
        arcs = [(0, c) for c in range(1, 31)]
        places = layout(range(31), arcs, max_width=600)
        assert places.width <= 600
        check_layout(places, range(31), arcs)

    def test_components_stand_side_by_side_and_wrap(self):
        arcs = [(2 * i, 2 * i + 1) for i in range(10)]
        places = layout(range(20), arcs, max_width=500)
        check_layout(places, range(20), arcs)
        assert places.width <= 500
        assert len(places.layers) > 2

    def test_rows_are_even(self):
        assert [len(row) for row in grid(range(13), dict.fromkeys(range(13), 96.0), 1050).layers] == [7, 6]
        assert grid([], {}, 100) == Layout(0, 0)

    @pytest.mark.parametrize("arcs", [[(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 1)], [(0, 1), (1, 1)]])
    def test_cycle_is_refused(self, arcs):
        with pytest.raises(ParameterError, match="cycle"):
            layout(range(3), arcs)

    @pytest.mark.parametrize(("count", "k"), [(200, 1), (100, 2), (60, 3)])
    def test_large_graphs(self, count, k):
        random = np.random.default_rng(k)
        arcs = [(int(p), c) for c in range(1, count) for p in random.choice(c, min(c, k), replace=False)]
        check_layout(layout(range(count), arcs), range(count), sorted(arcs))

    @given(st.lists(st.floats(-100, 100), min_size=1, max_size=12), st.data())
    def test_spread_keeps_distances(self, desired, data):
        distances = data.draw(st.lists(st.floats(0, 20), min_size=len(desired) - 1, max_size=len(desired) - 1))
        weights = data.draw(st.lists(st.floats(0.5, 4), min_size=len(desired), max_size=len(desired)))
        placed = spread(desired, weights, distances, -1000, 1000)
        assert all(b - a >= d - 1e-6 for (a, b), d in zip(pairwise(placed), distances, strict=True))
        assert sum(w * x for w, x in zip(weights, placed, strict=True)) == pytest.approx(
            sum(w * x for w, x in zip(weights, desired, strict=True)), abs=1e-6
        )

    def test_spread_keeps_bounds(self):
        assert spread([-5, 50], [1, 1], [1], 0, 10) == [0, 10]
        assert spread([0, 0, 0], [1, 1, 1], [9, 9], 0, 10) == [0, 9, 18]


class TestSvg:
    @given(networks(), st.data())
    @settings(max_examples=100, deadline=None)
    def test_well_formed_and_inert(self, net, data):
        keys = [*net.arcs, *net.features]
        bits = data.draw(st.dictionaries(st.sampled_from(keys), st.floats(), max_size=len(keys))) if keys else None
        markup = svg(net, information=bits, title=data.draw(st.sampled_from([None, *HOSTILE])))
        root = parsed(markup)
        assert {e.tag.removeprefix(NAMESPACE) for e in root.iter()} <= {
            "svg",
            "title",
            "desc",
            "style",
            "g",
            "rect",
            "text",
            "path",
            "polygon",
        }
        attributes = {key for e in root.iter() for key in e.attrib}
        assert not [a for a in attributes if a.startswith("on") or "href" in a or a in ("id", "src")]
        assert len(texts(root, "style")) == 1
        assert "nan" not in "".join(e.get("d", "") for e in root.iter())
        assert svg(net, information=bits, title=root.findtext(NAMESPACE + "title")) is not None

    @pytest.mark.parametrize("count", [0, 1, 2, 6, 36, 200, 201])
    def test_every_size(self, count):
        root = parsed(svg(chained(count)))
        nodes = [e for e in root.iter(NAMESPACE + "g") if "nv-node" in e.get("class", "")]
        assert len(nodes) == count + 1
        arrows = list(root.iter(NAMESPACE + "polygon"))
        assert len(arrows) == {0: 0, 201: 1}.get(count, count)  # one of the class, one of each arc

    def test_same_network_same_drawing(self):
        net = chained(12, 3)
        bits = {(0, 1): 0.5, 3: 0.2}
        assert svg(net, information=bits) == svg(net, information=bits)

    def test_hostile_names_are_shown_in_full_in_the_title_and_cut_in_the_box(self):
        root = parsed(svg(network({CLASS: (), **dict.fromkeys(range(len(HOSTILE)), (CLASS,))}, [*HOSTILE, "kind"])))
        titles = texts(root, "title")
        assert "x" * 10_000 + ": 2 states" in titles
        assert "<script>alert(1)</script>: 2 states" in titles
        assert "None: 2 states" in titles
        assert titles.count("0: 2 states") == 2
        assert "(empty): 2 states" in titles
        assert "(blank): 2 states" in titles
        assert all(text_width(text, 13) < 240 for text in texts(root, "text"))

    def test_texts_fit_their_boxes(self):
        root = parsed(svg(network({CLASS: (), **dict.fromkeys(range(len(HOSTILE)), (CLASS,))}, [*HOSTILE, "kind"])))
        for node in root.iter(NAMESPACE + "g"):
            if "nv-node" in node.get("class", ""):
                box = node.find(NAMESPACE + "rect")
                assert box is not None
                name, states = texts(node, "text")
                assert text_width(name, 13) <= float(box.get("width", 0)) - 8
                assert text_width(states, 10.5) <= float(box.get("width", 0)) - 4

    def test_class_above_a_frame_when_it_is_a_parent_of_all(self):
        assert "class → every feature" in texts(parsed(svg(chained(3))), "text")

    def test_class_with_arcs_of_its_own_otherwise(self):
        root = parsed(svg(network({CLASS: (0,), 0: (), 1: (CLASS,), 2: (1,)}), information={(0, CLASS): 0.4, (CLASS, 1): 0.1}))
        assert "class → every feature" not in texts(root, "text")
        titles = texts(root, "title")
        assert "feature 0 → kind: 0.4000 bits" in titles
        assert "kind → feature 1: 0.1000 bits" in titles
        assert "feature 1 → feature 2" in titles

    def test_arcs_to_the_class_have_its_colour(self):
        root = parsed(svg(network({CLASS: (0,), 0: (1,), 1: (), 2: (CLASS,)})))
        given = [e for e in root.iter(NAMESPACE + "g") if e.get("class") == "nv-arc nv-given"]
        assert sorted(t for e in given for t in texts(e, "title")) == ["feature 0 → kind", "kind → feature 2"]

    def test_outside_the_blanket_is_dashed_and_counted(self):
        root = parsed(svg(network({CLASS: (0,), 0: (), 1: (CLASS, 2), 2: (), 3: (0,), 4: (1,)})))
        dashed = [e for e in root.iter(NAMESPACE + "g") if e.get("class") == "nv-node nv-outside"]
        assert [texts(e, "text")[0] for e in dashed] == ["feature 3", "feature 4"]
        assert any(t.startswith("dashed: 2 features outside the Markov blanket of kind") for t in texts(root, "text"))
        assert not any("pale" in t for t in texts(root, "text"))

    def test_features_without_arcs_are_pale_below_the_frame(self):
        root = parsed(svg(network({CLASS: (), 0: (CLASS,), 1: (), 2: (CLASS, 0), 3: ()})))
        pale = [e for e in root.iter(NAMESPACE + "g") if e.get("class") == "nv-node nv-lone"]
        assert [texts(e, "text")[0] for e in pale] == ["feature 1", "feature 3"]
        assert "class → every feature in the frame" in texts(root, "text")
        assert "pale: 2 features without arcs" in texts(root, "text")
        assert "every feature that has arcs" in texts(root, "desc")[0]

    def test_many_features_without_arcs_are_left_out_and_counted(self):
        count = LONE_UP_TO + 1
        root = parsed(svg(network({CLASS: (), 0: (CLASS,), **dict.fromkeys(range(1, count + 1), ())})))
        assert f"left out: {count} features without arcs" in texts(root, "text")
        assert "feature 1" not in texts(root, "text")
        assert "feature 0" in texts(root, "text")
        assert lone_features(chained(3)) == []

    def test_hundreds_of_features_without_arcs_leave_room_for_the_arcs_of_the_others(self):
        root = parsed(svg(network({CLASS: (), 0: (CLASS,), 1: (0,), **dict.fromkeys(range(2, 500), ())})))
        assert {"kind → feature 0", "feature 0 → feature 1"} <= set(texts(root, "title"))

    def test_names_of_28_characters_are_not_shortened(self):
        names = ["stalk-surface-above-the-ring", "stalk-surface-below-the-ring", "kind"]
        assert {*names} <= {*texts(parsed(svg(network({CLASS: (), 0: (CLASS,), 1: (0, CLASS)}, names))), "text")}

    def test_no_feature_is_joined(self):
        root = parsed(svg(network({CLASS: (), 0: (), 1: ()})))
        assert "no informative features" in texts(root, "text")
        assert {"feature 0", "feature 1"} <= set(texts(root, "text"))
        aside = parsed(svg(network({CLASS: (), 0: (), 1: (0,)})))
        assert any(t.startswith("dashed: 2 features") for t in texts(aside, "text"))

    def test_no_features(self):
        assert "no features" in texts(parsed(svg(chained(0))), "text")

    def test_bits_are_labels_widths_and_shades(self):
        root = parsed(svg(chained(3), information={(0, 1): 0.5, (1, 2): 0.25, 0: 1.0, 1: 0.0, np.int64(2): 0.5}))
        assert {"0.50", "0.25"} <= set(texts(root, "text"))
        widths = [float(e.get("stroke-width", 0)) for e in root.iter(NAMESPACE + "path")]
        assert widths == [2.0, 4.0, 2.5]
        assert any("up to 1.000 bits" in text for text in texts(root, "text"))
        assert any("up to 0.500 bits" in text for text in texts(root, "text"))
        shades = [float(e.get("fill-opacity", 0)) for e in root.iter(NAMESPACE + "rect") if e.get("rx") == "7"]
        assert shades == pytest.approx([0.5, 0.05, 0.28], abs=0.01)

    def test_labels_stand_apart(self):
        net = network({CLASS: (), 0: (CLASS,), **dict.fromkeys(range(1, 20), (0, CLASS))})
        root = parsed(svg(net, information={(0, x): 0.01 * x for x in range(1, 20)}))
        places = [
            Box(float(e.get("x", 0)) - 12, float(e.get("y", 0)) - 10, 24, 13)
            for e in root.iter(NAMESPACE + "text")
            if re.fullmatch(r"\d\.\d\d", e.text or "")
        ]
        assert len(places) >= 12
        assert not any(overlap(a, b) for a, b in combinations(places, 2))

    def test_many_arcs_have_no_labels(self):
        net = chained(60, 2)
        assert not [t for t in texts(parsed(svg(net, information=dict.fromkeys(net.arcs, 0.5))), "text") if t == "0.50"]

    def test_label_without_room_is_left_to_the_title(self):
        net = network({CLASS: (), 0: (CLASS,), 1: (CLASS,), 2: (CLASS,), 3: (0, 1, 2, CLASS), 4: (0, 1, 2, 3, CLASS)})
        root = parsed(svg(net, information=dict.fromkeys(net.arcs, 123456789.25), max_width=200))
        assert sum("123456789.2500 bits" in t for t in texts(root, "title")) == 7

    def test_a_note_replaces_the_drawing_beyond_the_limit(self):
        root = parsed(svg(chained(230)))
        assert "229 arcs between 230 variables are not drawn" in texts(root, "text")
        assert "not drawn" in texts(root, "desc")[0]

    def test_only_the_most_relevant_of_very_many(self):
        count = NODES_UP_TO + 50
        net = network({CLASS: (), **dict.fromkeys(range(count), (CLASS,))})
        root = parsed(svg(net, information={count - 1: 1.0}))
        assert f"{NODES_UP_TO} of {count} variables are shown" in texts(root, "text")
        assert f"feature {count - 1}" in texts(root, "text")
        assert f"feature {count - 2}" not in texts(root, "text")

    def test_width(self):
        net = network({CLASS: (), 0: (CLASS,), **dict.fromkeys(range(1, 20), (0, CLASS))})
        assert float(parsed(svg(net, max_width=500)).get("width", 0)) <= 500
        for wrong in (0, -1, float("nan")):
            with pytest.raises(ParameterError, match="max_width"):
                svg(net, max_width=wrong)

    def test_accessible(self):
        root = parsed(svg(chained(2), title="Two & more"))
        assert root.get("role") == "img"
        assert root.get("aria-label") == "Two & more"
        assert [e.tag for e in root][:2] == [NAMESPACE + "title", NAMESPACE + "desc"]
        assert texts(root, "title")[0] == "Two & more"
        assert "2 features with 1 arcs" in texts(root, "desc")[0]

    def test_everything_is_inside(self):
        root = parsed(svg(chained(8, 3), title="t"))
        width, height = map(float, (root.get("viewBox") or "").split()[2:])
        assert (width, height) == (float(root.get("width", 0)), float(root.get("height", 0)))
        group = next(e for e in root.iter(NAMESPACE + "g") if e.get("transform"))
        dx, dy = map(float, re.findall(r"[\d.]+", group.get("transform", "")))
        for box in group.iter(NAMESPACE + "rect"):
            assert dx + float(box.get("x", 0)) >= 0
            assert dx + float(box.get("x", 0)) + float(box.get("width", 0)) <= width
            assert dy + float(box.get("y", 0)) + HEIGHT <= height


class TestEscaping:
    @given(st.one_of(st.text(), st.sampled_from(HOSTILE)))
    def test_any_text_survives_as_text_and_as_attribute(self, value):
        root = ET.fromstring(element("a", value, title=plain(value)))
        assert root.text == root.get("title") == plain(value)
        assert not list(root)

    def test_markup_stays_safe_and_derived_texts_do_not(self):
        assert escaped(Markup("<b>")) == "<b>"
        assert escaped(Markup("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;"
        assert element("a", title=Markup('"<b>')) == '<a title="&quot;&lt;b&gt;"></a>'

    @given(st.one_of(st.text(), st.sampled_from(HOSTILE)), st.floats(20, 300))
    def test_cut_is_as_narrow_as_asked(self, value, width):
        assert text_width(shorten(value, width, 13), 13) <= max(width, text_width("…", 13)) + 1e-9
        assert len(shorten(value, width, 13)) <= 61

    def test_right_to_left_is_isolated(self):
        assert bidi_isolated("abc") == "abc"
        assert bidi_isolated("\u05d0b") == "\u2068\u05d0b\u2069"


class TestHidden:
    def test_derived_columns_are_marked_and_are_no_features(self) -> None:
        variables = tuple(Variable(name, ("a", "b")) for name in ("x", "y", "mood", "c"))
        half = np.full((2, 2), 0.5)
        parents = {0: (2,), 1: (2,), 2: (-1,), -1: ()}
        network = Network(variables, parents, {0: half, 1: half, 2: half, -1: np.full(2, 0.5)}, {2: Hidden()})
        root = parsed(svg(network))
        shown = texts(root, "text")
        assert "hidden, 2 states" in shown
        assert "dotted: 1 hidden variable" in shown
        assert not any("dashed" in text for text in shown)
        assert "the class c and 2 features and 1 hidden variable with 2 arcs between them" in texts(root, "desc")[0]
        (marked,) = [e for e in root.iter() if "nv-hidden" in e.attrib.get("class", "")]
        assert "mood: hidden, 2 states" in texts(marked, "title")
