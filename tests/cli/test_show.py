from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from naivete.domains import corral
from naivete.files import write
from naivete.saving import load
from tests.cli.conftest import Run


@pytest.fixture
def corral_model(run: Run, tmp_path: Path) -> Path:
    write(corral(), tmp_path / "corral.arff")
    assert run("fit", tmp_path / "corral.arff", "--model", "kdb:k=1", "--out", tmp_path / "corral.nvt").code == 0
    return tmp_path / "corral.nvt"


def test_arcs_with_their_information(run: Run, corral_model: Path) -> None:
    ran = run("show", corral_model)
    assert ran.code == 0
    assert f"{corral_model}: kdb:k=1" in ran.out
    assert "A0 (0.16" in ran.out
    assert "P(" not in ran.out


def test_tables(run: Run, corral_model: Path) -> None:
    out = run("show", corral_model, "--tables").out
    assert "P(A1 | A0, class)" in out
    assert "P(class)\n     0       1\n0.5625  0.4375" in out


def test_as_json(run: Run, corral_model: Path) -> None:
    found = run("show", corral_model, "--json", "--tables").json
    model = load(corral_model)
    assert found["model"] == "kdb:k=1"
    assert found["target"] == "class"
    assert len(found["arcs"]) == len(model.network_.arcs)
    assert found["variables"][0]["information"] == pytest.approx(model.relevance_[0])
    assert found["variables"][-1]["table"] == [{"given": {}, "probabilities": [0.5625, 0.4375]}]
    for variable in found["variables"]:
        assert all(sum(row["probabilities"]) == pytest.approx(1) for row in variable["table"])


def test_a_drawing_and_a_page(run: Run, corral_model: Path, tmp_path: Path) -> None:
    svg, html = tmp_path / "net.svg", tmp_path / "net.html"
    assert run("show", corral_model, "--svg", svg, "--html", html).code == 0
    assert ET.fromstring(svg.read_text()).tag.endswith("svg")
    assert "Conditional tables" in html.read_text()
    assert "P(A1 | A0, class)" in html.read_text()


@pytest.mark.parametrize("model", ["kdb:k=3", "lookup", "majority", "nb"])
def test_numeric_wide_and_sparse_models(run: Run, tmp_path: Path, model: str) -> None:
    file = tmp_path / "t.csv"
    lines = [f"{i},{(i * 7) % 200},{(i * 11) % 200},{i / 3:.2f},{'ab'[i % 2]}" for i in range(200)]
    file.write_text("p,q,r,real,c\n" + "\n".join(lines) + "\n")
    kinds = "p=nominal,q=nominal,r=nominal"
    assert run("fit", file, "--target", "c", "--kinds", kinds, "--model", model, "--out", tmp_path / "m.nvt").code == 0
    ran = run("show", tmp_path / "m.nvt", "--tables", "--html", tmp_path / "m.html")
    assert ran.code == 0
    assert ("(the first 64 configurations)" in ran.out) == (model in ("kdb:k=3", "lookup"))
    assert run("show", tmp_path / "m.nvt", "--tables", "--json").code == 0


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    """The class depends on sky and wind, mood on the class, call on mood; noise stands alone."""
    rng = np.random.default_rng(0)
    sky, wind, noise = rng.integers(0, 3, 400), rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    play = (sky + wind + (rng.random(400) < 0.1) > 1).astype(int)
    mood = play ^ (rng.random(400) < 0.2)
    call = mood ^ (rng.random(400) < 0.1)
    lines = [",".join(map(str, row)) for row in np.column_stack([sky, wind, mood, call, noise, play]).tolist()]
    file = tmp_path / "weather.csv"
    file.write_text("\n".join(["sky,wind,mood,call,noise,play", *lines, ""]))
    return file


def fitted(run: Run, file: Path, model: str) -> Path:
    out = file.with_name("weather.nvt")
    assert run("fit", file, "--target", "play", "--model", model, "--out", out, "--force").code == 0
    return out


def test_a_class_with_parents_and_features_that_do_not_matter(run: Run, weather: Path) -> None:
    model = fitted(run, weather, "hc")
    out = run("show", model, "--tables").out
    assert "  parents   the class depends on sky, wind\n" in out
    assert "  blanket   of 5 features, 3 can matter when all are known: sky, wind, mood\n" in out
    assert "  alone     1 feature depends on nothing and influences nothing\n" in out
    rows = {line.split()[0]: line for line in run("show", model).out.splitlines() if line}
    assert rows["call"].endswith("outside the blanket")
    assert rows["noise"].endswith("alone")
    assert rows["mood"].endswith("play")
    assert "P(play | sky, wind)" in out
    assert "P(noise)" in out


def test_the_same_as_json(run: Run, weather: Path) -> None:
    found = run("show", fitted(run, weather, "hc"), "--json").json
    assert (found["parents"], found["blanket"]) == (["sky", "wind"], ["sky", "wind", "mood"])
    assert "selected" not in found
    assert [v["in_blanket"] for v in found["variables"][:-1]] == [True, True, True, False, False]
    assert [v["alone"] for v in found["variables"][:-1]] == [False, False, False, False, True]


@pytest.mark.parametrize("model", ["naive-as", "k2-as", "info-as", "info-as:stop=chi2,learner=nb"])
def test_selected_features_in_their_order(run: Run, weather: Path, model: str) -> None:
    file = fitted(run, weather, model)
    chosen = load(file)
    names = [chosen.network_.name(x) for x in chosen.selected_]
    assert names[0] == "sky"
    ran = run("show", file, "--html", file.with_suffix(".html"))
    assert f"  selected  in the order of selection: {', '.join(names)}\n" in ran.out
    assert run("show", file, "--json").json["selected"] == names
    assert f"In the order of selection: {', '.join(names)}." in file.with_suffix(".html").read_text()


@pytest.mark.parametrize("model", ["hc", "pc", "cb:class_root=false", "k2", "info-as", "k2-as", "naive-as", "majority"])
def test_every_network_is_shown_in_text_drawing_and_page(run: Run, weather: Path, model: str) -> None:
    file = fitted(run, weather, model)
    svg, html = file.with_suffix(".svg"), file.with_suffix(".html")
    ran = run("show", file, "--tables", "--svg", svg, "--html", html)
    assert (ran.code, ran.err) == (0, "")
    network = load(file).network_
    drawn = ET.fromstring(svg.read_text())
    titles = {e.text for e in drawn.iter("{http://www.w3.org/2000/svg}title")}
    framed = "class \u2192 every feature" in svg.read_text()
    arcs = {
        f"{network.name(p)} \u2192 {network.name(v)}"
        for v in network.parents
        for p in network.parents[v]
        if p != -1 or not framed
    }
    assert {t.partition(":")[0] for t in titles if t and "\u2192" in t} == arcs
    assert {f"{network.name(x)}: {network.variables[x].card} states" for x in network.features} <= titles
    assert all(f"P({network.name(x)} | " in html.read_text() for x in network.features if network.parents[x])
    told = run("show", file).out
    assert ("the class depends on" in told) == bool(network.parents[-1])


def test_of_many_features_the_first_are_named(run: Run, tmp_path: Path) -> None:
    head = [f"x{j}" for j in range(30)]
    lines = [",".join("ab"[(i * (j + 3) // 7) & 1] for j in range(30)) + "," + "ny"[i & 1] for i in range(128)]
    file = tmp_path / "wide.csv"
    file.write_text("\n".join([",".join([*head, "c"]), *lines, ""]))
    assert run("fit", file, "--target", "c", "--model", "majority", "--out", tmp_path / "m.nvt").code == 0
    assert run("show", tmp_path / "m.nvt", "--svg", tmp_path / "m.svg").out.count("\nx") == 30
    assert "left out: 30 features that depend on nothing and influence nothing" in (tmp_path / "m.svg").read_text()
    assert run("fit", file, "--target", "c", "--model", "naive-as", "--out", tmp_path / "s.nvt").code == 0
    count = len(load(tmp_path / "s.nvt").selected_)
    assert (f"... ({count} in all)" in run("show", tmp_path / "s.nvt").out) == (count > 20)


def test_an_empty_name_can_be_seen(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,,c\na,b,x\na,d,y\n")
    assert run("fit", file, "--target", "c", "--model", "tan", "--out", tmp_path / "m.nvt").code == 0
    out = run("show", tmp_path / "m.nvt", "--tables").out
    assert "\n''       " in out
    assert "P(x | '', c)" in out
