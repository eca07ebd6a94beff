"""Heat maps of conditional tables."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from naivete import AODE, C45, KDB, TAN, Encoder, HillClimb, NaiveBayes, NotFittedError, ParameterError, Spectrum
from naivete.display import heatmap as drawing
from naivete.display.conditional_tables_html import conditional_table_html
from naivete.errors import DataError

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ['</script><script>alert("1")</script>', "a \"b\" & 'c'", "emoji \N{FLEXED BICEPS}"]


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    first = np.where(rng.random(300) < 0.7, y, rng.integers(0, 3, 300))
    second = np.where(rng.random(300) < 0.7, (first + y) % 2, rng.integers(0, 2, 300))
    third = np.where(rng.random(300) < 0.6, (first + second) % 3, rng.integers(0, 3, 300))
    values = np.array(["<b>", '"quoted"', "\N{FLEXED BICEPS} & 'more'"])
    frame = pd.DataFrame(dict(zip(NAMES, (values[first], values[second], values[third]), strict=True)))
    return frame, np.array(["</style>", "two", "three"])[y]


def texts(svg: str) -> list[str]:
    """The texts that are drawn, without tooltips."""
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("learner", [TAN(), KDB(k=2, theta=-np.inf), HillClimb(), NaiveBayes()], ids=repr)
def test_the_cells_are_the_table(learner: Any, data: Any) -> None:
    model = learner.fit(*data)
    network = model.network_
    for v in (*network.features, -1):
        heatmap = model.heatmap(network.name(v))
        expected = [p for _, p in network.distributions(v)]
        cells = np.stack([panel.cells for panel in heatmap.panels], axis=1).reshape(-1, network.variables[v].card)
        assert np.array_equal(cells, expected)
        shown = [text for text in texts(heatmap.svg()) if re.fullmatch(r"[01]\.\d\d", text)]
        order = np.concatenate([panel.cells.ravel() for panel in heatmap.panels])
        assert shown == [f"{p:.2f}" for p in order]


def test_a_panel_for_each_class_and_a_row_for_each_configuration(data: Any) -> None:
    model = KDB(k=2, theta=-np.inf).fit(*data)
    network = model.network_
    (v,) = (x for x in network.features if len(network.parents[x]) == 3)
    first, second = (network.name(m) for m in network.family(v)[:-1] if m != v)
    heatmap = model.heatmap(network.name(v))
    assert [panel.name for panel in heatmap.panels] == [f"class = {c}" for c in model.network_.variables[-1].labels]
    assert len(heatmap.rows) == network.table(v).size // (3 * network.variables[v].card)
    assert heatmap.rows[0] == f'{first} = "quoted", {second} = "quoted"'
    assert heatmap.title == f"P({network.name(v)} | {first}, {second}, class)"
    alone = NaiveBayes().fit(*data).heatmap(NAMES[0])
    assert alone.rows == tuple(panel.name for panel in heatmap.panels)
    assert len(alone.panels) == 1


def test_names_and_values_are_escaped(data: Any) -> None:
    model = TAN().fit(*data)
    svg = "".join(model.heatmap(name).svg() for name in NAMES)
    assert "<script" not in svg
    assert "<b>" not in svg
    assert svg.count("</style>") == 3  # its own
    assert "&lt;/script&gt;" in svg
    assert "\N{FLEXED BICEPS} &amp; &#x27;more&#x27;" in svg
    for tooltip in ElementTree.fromstring(model.heatmap(NAMES[0]).svg()).iter(f"{SVG}rect"):
        assert re.search(r": P\(.*\) = [01]\.\d{4}$", tooltip[0].text or "")


def test_shades_grow_with_the_probability(data: Any) -> None:
    model = NaiveBayes().fit(*data)
    svg, table = model.heatmap(NAMES[0]).svg(), conditional_table_html(model.network_, 0)
    rectangles = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    shades = [float(rectangle.get("fill-opacity", "0")) for rectangle in rectangles]
    assert np.allclose(shades, 0.6 * model.heatmap(NAMES[0]).panels[0].cells.ravel(), atol=1e-3)
    percent = [float(p) for p in re.findall(r"var\(--nv-feature,#3b7dd8\) ([\d.]+)%", table)]
    assert np.allclose(percent, 60 * model.heatmap(NAMES[0]).panels[0].cells.T.ravel(), atol=0.1)


def test_large_tables_are_drawn_in_part(data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROWS", 2)
    monkeypatch.setattr(drawing, "STATES", 1)
    heatmap = KDB(k=2, theta=-np.inf).fit(*data).heatmap(NAMES[2])
    assert "2 of 3 rows are drawn; 1 of 3 values are drawn" in texts(heatmap.svg())
    assert len(list(ElementTree.fromstring(heatmap.svg()).iter(f"{SVG}rect"))) == 6
    assert heatmap._repr_html_() == heatmap.svg()


def test_which_classifiers_have_heat_maps(data: Any) -> None:
    X, y = data
    with pytest.raises(NotFittedError):
        TAN().heatmap(NAMES[0])
    with pytest.raises(ParameterError, match="there is no such feature"):
        TAN().fit(X, y).heatmap("nothing")
    for learner in (AODE(), Spectrum(members=1)):
        with pytest.raises(ParameterError, match="does not predict with the tables of one network"):
            learner.fit(X, y).heatmap(NAMES[0])
    with pytest.raises(DataError, match="a heat map is not possible with the derived column"):
        C45().fit(X, y).heatmap(NAMES[0])
    normal = NaiveBayes(encoder=Encoder(numbers="normal")).fit(np.random.default_rng(0).normal(size=(20, 2)), [0, 1] * 10)
    with pytest.raises(ParameterError, match="'x0' is continuous"):
        normal.heatmap("x0")
