"""The page: one document that runs nothing and fetches nothing, whatever the names are."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naivete.display.markup import Markup
from naivete.display.network_drawing import svg
from naivete.display.page import (
    Prediction,
    bars,
    conditional_table_html,
    confusion,
    details,
    figure,
    line_chart,
    note,
    page,
    posterior_table,
    table,
    text,
)
from naivete.network.conditional_tables import SparseCpt
from naivete.network.network import Network
from naivete.variables import CLASS, Variable, family

HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)" x="',
    "' style='x' onmouseover='alert(1)",
    "</title></style></figure><img src=x onerror=alert(1)>",
    "<!--",
    "&lt;script&gt;",
    "</style><style>@import url(http://evil.example/x.css)",
    "a\x00\x1b[31m\x85\r\n",
    "\u202eevil\u2066",
    "שלום עולם",
    "x" * 10_000,
    "\ud800lone",
    "🦊" * 30,
    "Z" + "\u0301" * 5_000,
    "",
    " ",
    0,
    None,
]
ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "header",
    "nav",
    "ol",
    "li",
    "a",
    "section",
    "h1",
    "h2",
    "p",
    "div",
    "figure",
    "figcaption",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "caption",
    "span",
    "i",
    "details",
    "summary",
    "footer",
    "svg",
    "g",
    "path",
    "circle",
    "rect",
    "text",
    "polygon",
    "desc",
}
VOID = {"meta"}


class Reader(HTMLParser):
    """What a browser would find: elements, attributes, text; complains about anything that is not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.comments: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    @property
    def said(self) -> str:
        return "\n".join(self.texts)


def read(markup: str) -> Reader:
    """The markup as a browser sees it, after checking that it is inert."""
    assert isinstance(markup, Markup)
    markup.encode("utf-8")
    reader = Reader()
    reader.feed(markup)
    reader.close()
    assert not reader.open
    assert not reader.comments
    assert set(reader.tags) <= ALLOWED
    for tag, key, value in reader.attributes:
        assert not key.startswith("on")
        assert key not in ("src", "srcset", "action", "formaction", "srcdoc", "background")
        assert key != "href" or re.fullmatch(r"#s\d+", value)
        assert key not in ("style", "http-equiv") or "url(" not in value
        assert key == "xmlns" or "://" not in value or tag not in ("a", "use", "image")
    return reader


def network(names=("a", "b"), states=("x", "y", "z"), classes=("no", "yes"), kind="kind") -> Network:
    """A chain of features below the class, with tables that differ in every cell."""
    variables = (*(Variable(name, tuple(states)) for name in names), Variable(kind, tuple(classes)))
    parents = {CLASS: (), **{x: (*range(max(0, x - 1), x), CLASS) for x in range(len(names))}}
    random = np.random.default_rng(0)
    cpts = {}
    for v, own in parents.items():
        members = family(v, *own)
        cells = random.gamma(1.0, size=tuple(variables[m].card for m in members))
        cpts[v] = cells / cells.sum(axis=members.index(v), keepdims=True)
    return Network(variables, parents, cpts)


def everything(name: object, other: object) -> Markup:
    """A page that shows the two names in every place a name can go."""
    net = network(
        names=(name, f"other {other}"),
        states=(str(name), "x", f"{other}."),
        classes=(f"c{name}", f"d{other}"),
        kind=f"kind {name}",
    )
    answers = [Prediction(name, name, {name: 0.25, other: 0.75}), Prediction(other, None, {name: 1.0}), Prediction("none", "x", {})]
    parts = [
        name,
        text(other),
        note(name, text(other)),
        details(name, other, text(name)),
        table([name, other], [[other, 0.5], [name, (0.25, 0.125)]], highlight=max, caption=name),
        confusion([[1, 2], [3, 4]], [name, other], caption=other),
        bars({name: 0.5, other: (0.25, 0.125)}, caption=name),
        line_chart({name: [(0, 0.5), (1, 0.75)], other: [(0, (0.5, 0.1))]}, x=str(name), y=str(other), caption=name),
        posterior_table(answers, caption=other),
        figure(svg(net, title=name, information={0: 0.5, (0, 1): 0.25}), other),
        figure(conditional_table_html(net, 0)),
        figure(conditional_table_html(net, 1)),
    ]
    return page(name, [(name, parts), (other, [])], facts={"file": other}, footer=other)


class TestPage:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_names_are_inert(self, name):
        reader = read(everything(name, "plain"))
        assert reader.tags.count("h2") == 2
        assert reader.tags.count("style") == 2  # of the page and of the drawing
        assert reader.tags.count("title") > 2

    @given(st.text(max_size=12), st.text(max_size=12))
    @settings(max_examples=60, deadline=None)
    def test_any_names_give_the_same_elements(self, name, other):
        if name == other:
            other += "'"
        ordinary, own = read(everything("name", "other")), read(everything(name, other))
        assert [t for t in own.tags if t in ("script", "style", "a", "meta", "section", "table", "svg")] == [
            t for t in ordinary.tags if t in ("script", "style", "a", "meta", "section", "table", "svg")
        ]

    def test_policy_and_no_network(self):
        whole = page("Report", [("One", ["text"]), ("Two", ["more"])])
        assert whole.startswith("<!doctype html>")
        policy = whole.index("Content-Security-Policy")
        assert policy < whole.index("<style>")
        assert "default-src &#x27;none&#x27;" in whole[policy : policy + 200]
        assert "script" not in whole
        assert "http://" not in whole
        assert "https://" not in whole
        assert "url(" not in whole
        assert "@import" not in whole
        assert '<meta charset="utf-8">' in whole

    def test_contents_lead_to_sections(self):
        reader = read(page("Report", [("One", ["text"]), ("Two", [])]))
        targets = [v[1:] for _, key, v in reader.attributes if key == "href"]
        ids = [v for _, key, v in reader.attributes if key == "id"]
        assert targets == ids == ["s1", "s2"]

    def test_known_facts_are_below_the_title(self):
        whole = page("Report", [], facts={"file": "a<b.csv", "rows": 1234, "weight": 2.5, "date": None})
        assert '<h1>Report</h1><p class="muted">file: a&lt;b.csv; rows: 1,234; weight: 2.5</p>' in whole

    def test_one_section_needs_no_contents(self):
        assert "nav" not in read(page("Report", [("One", ["text"])])).tags

    def test_ids_stay_unique_with_many_drawings(self):
        drawing = figure(svg(network()))
        ids = [v for _, key, v in read(page("R", [("a", [drawing, drawing]), ("b", [drawing])])).attributes if key == "id"]
        assert len(ids) == len(set(ids))

    def test_plain_parts_become_paragraphs_and_svg_text_is_not_trusted(self):
        reader = read(page("R", [("a", ["<svg></svg>", figure(Markup("<p>x</p>"))])]))
        assert "svg" not in reader.tags
        assert reader.tags.count("p") == 2

    def test_light_dark_and_print(self):
        whole = page("R", [])
        assert "prefers-color-scheme:dark" in whole
        assert "@media print" in whole


class TestTable:
    def test_numbers_right_and_best_bold(self):
        markup = table(["data", "nb", "tan"], [["iris", (0.9, 0.01), (0.95, 0.02)], ["vote", 0.5, None]], highlight=max)
        assert '<td class="num best">0.950 ± 0.020</td>' in markup
        assert '<td class="num">0.900 ± 0.010</td>' in markup
        assert '<td class="num best">0.500</td>' in markup
        assert '<td class="num">\u2013</td>' in markup
        assert '<th scope="col" class="num">nb</th>' in markup
        assert '<th scope="col">data</th>' in markup

    def test_best_can_be_the_smallest_and_shared(self):
        markup = table(["a", "b", "c"], [[1.0, 1.0, 2.0]], highlight=min, digits=1)
        assert markup.count("best") == 2

    def test_kinds_of_cells(self):
        markup = table(
            ["n", "x", "flag", "html"], [[12345, math.nan, True, Markup("<i>s</i>")], [np.int64(2), np.float64(0.5), False, "t"]]
        )
        for shown in ("12,345", "\u2013", ">True<", "<i>s</i>", "0.500"):
            assert shown in markup
        assert "best" not in markup

    def test_no_rows_and_only_unknown(self):
        assert read(table(["a"], [])).tags.count("tr") == 1
        assert "best" not in table(["a"], [[None], [math.nan]], highlight=max)


class TestConfusion:
    def test_rows_are_true_and_columns_predicted(self):
        markup = confusion([[5, 0], [1, 3.5]], ["no", "yes"], caption="all folds")
        said = read(markup).said.split()
        assert said[:6] == ["predicted", "class", "true", "class", "no", "yes"]
        assert said[6:12] == ["no", "5", "0", "yes", "1", "3.50"]
        assert "100.0% of the row" in markup

    def test_empty_column(self):
        assert "nan" not in confusion(np.zeros((2, 2)), ["a", "b"])


class TestBarsAndAnswers:
    def test_bars_are_relative_to_the_largest(self):
        markup = bars({"a": 2.0, "b": 1.0, "c": -1.0, "d": (0.5, 0.1)})
        assert re.findall(r"width:([\d.]+)%;background", markup) == ["100.00", "50.00", "0.00", "25.00"]
        assert "-1.000" in markup
        assert re.findall(r"width:([\d.]+)%;background", bars({"a": 1.0}, maximum=4.0)) == ["25.00"]
        assert read(bars({})).tags.count("tr") == 0
        assert "0.000" in bars({"zero": 0.0})
        assert bars({"a": 1.0, "b": 1.0}, pale=["b"]).count('class="pale"') == 1

    def test_wrong_predictions_are_marked_with_a_word(self):
        markup = posterior_table([Prediction("one", "a", {"a": 0.25, "b": 0.75}), Prediction("two", "b", {"a": 0.25, "b": 0.75})])
        assert markup.count("wrong</span>") == 1
        assert "b\u00a00.750, a\u00a00.250" in markup
        assert "in numbers" in markup

    def test_many_classes(self):
        markup = posterior_table([Prediction("one", None, dict.fromkeys(range(26), 1 / 26))])
        assert "the 3 most probable" in markup
        assert markup.count('class="key"') == 8
        assert "wrong</span>" not in markup


class TestLineChart:
    def test_lines_points_whiskers_and_names(self):
        markup = line_chart(
            {"letter": [(0, (0.7, 0.01)), (1, (0.8, 0.02))], "vote": [(0, 0.9), (1, math.nan)]}, x="k", y="accuracy"
        )
        reader = read(markup)
        assert reader.tags.count("circle") == 3 + 2
        for said in ("letter", "vote", "k", "accuracy", "accuracy against k", "letter: 0.7 at 0, 0.8 at 1; vote: 0.9 at 0"):
            assert said in reader.texts
        assert "nan" not in markup

    @given(
        st.dictionaries(
            st.text(max_size=5),
            st.lists(
                st.tuples(st.floats(-1e6, 1e6), st.one_of(st.floats(-1e6, 1e6), st.tuples(st.floats(-9, 9), st.floats(0, 9)))),
                max_size=5,
            ),
            max_size=10,
        )
    )
    @settings(max_examples=60, deadline=None)
    def test_points_are_inside(self, series):
        markup = line_chart(series, x="x", y="y")
        read(markup)
        for x, y in re.findall(r'<circle cx="([-\d.]+)" cy="([-\d.]+)"', markup):
            assert 0 <= float(x) <= 700
            assert 0 <= float(y) <= 354

    @pytest.mark.parametrize(
        "series", [{}, {"a": []}, {"a": [(1, 1)]}, {"a": [(0, 0), (1, 0)]}, {"a": [(1e300, 1e-300), (-1e300, 0)]}]
    )
    def test_few_points(self, series):
        assert "nan" not in line_chart(series)

    def test_ticks_are_round_numbers(self):
        said = read(line_chart({"a": [(0, 0.70), (5, 0.95)]}, x="k", y="y")).texts
        assert {"0.7", "0.75", "0.8", "0.85", "0.9", "0.95"} <= set(said)
        assert {"0", "1", "2", "3", "4", "5"} <= set(said)


class TestTablesHtml:
    def test_cells_are_the_probabilities(self):
        net = network()
        markup = conditional_table_html(net, 1)
        cells = [float(c) for c in re.findall(r'class="num">([\d.]+)<', markup)]
        expected = np.moveaxis(net.cpts[1], 1, 0).reshape(3, -1)  # (state, parent and class)
        assert np.array(cells).reshape(3, -1) == pytest.approx(expected, abs=5e-4)
        assert "P(b | a, kind)" in read(markup).said
        assert "are shown" not in markup

    def test_headers_span_their_columns(self):
        markup = conditional_table_html(network(), 1)
        assert markup.count('colspan="2"') == 3
        assert markup.count('colspan="1"') == 6

    def test_class_and_no_parents(self):
        assert "P(kind)" in conditional_table_html(network(), CLASS)
        assert "P(a | kind)" in conditional_table_html(network(), 0)

    def test_large_tables_are_cut_with_a_note(self):
        markup = conditional_table_html(network(), 1, max_columns=4, max_states=2)
        assert "4 of 6 columns are shown; 2 of 3 states are shown" in markup
        assert read(markup).tags.count("td") == 8

    @pytest.mark.parametrize("with_class", [True, False])
    def test_sparse(self, with_class):
        variables = (Variable("a", (0, 1, 2)), Variable("b", ("x", "y")), Variable("kind", ("no", "yes")))
        classes = 2 if with_class else 1
        rows = np.full((1, 2, classes), 0.5)
        default = np.broadcast_to(np.array([[0.25], [0.75]]), (2, classes)).copy()
        sparse = SparseCpt(np.array([[1]], dtype=np.int32), rows, default, (0,))
        parents = {CLASS: (), 0: (CLASS,), 1: (0, CLASS) if with_class else (0,)}
        net = Network(variables, parents, {CLASS: np.array([0.5, 0.5]), 0: np.full((3, 2), 1 / 3), 1: sparse})
        reader = read(conditional_table_html(net, 1))
        assert "any other" in reader.texts
        assert reader.tags.count("td") == 4 * classes
        assert reader.texts.count("0.750") == classes
        assert f"3 of {2 * classes} columns" in conditional_table_html(net, 1, max_columns=3) or not with_class
