from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from naivete.classifiers.saving import load
from naivete.data.files import write
from naivete.data.generated import corral
from naivete.display.rules import rules, tree_text
from naivete.inference import discrete_terms
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
    described = run("show", corral_model, "--json", "--tables").json
    model = load(corral_model)
    assert described["model"] == "kdb:k=1"
    assert described["target"] == "class"
    assert len(described["arcs"]) == len(model.network_.arcs)
    assert described["variables"][0]["information"] == pytest.approx(model.relevance_[0])
    assert described["variables"][-1]["table"] == [{"given": {}, "probabilities": [0.5625, 0.4375]}]
    for variable in described["variables"]:
        assert all(sum(row["probabilities"]) == pytest.approx(1) for row in variable["table"])


def test_a_drawing_and_a_page(run: Run, corral_model: Path, tmp_path: Path) -> None:
    svg, html = tmp_path / "net.svg", tmp_path / "net.html"
    assert run("show", corral_model, "--svg", svg, "--html", html).code == 0
    assert ET.fromstring(svg.read_text()).tag.endswith("svg")
    assert "Conditional tables" in html.read_text()
    assert "P(A1 | A0, class)" in html.read_text()


def test_the_page_says_which_section_is_too_expensive(
    run: Run, corral_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discrete_terms, "TABLE_CELLS", 1)
    assert run("show", corral_model, "--html", tmp_path / "net.html").code == 0
    assert "Not computed: the Shapley values of" in (tmp_path / "net.html").read_text()


@pytest.mark.parametrize("model", ["kdb:k=3,theta=-inf,bias=plain", "lookup", "majority", "nb"])
def test_numeric_wide_and_sparse_models(run: Run, tmp_path: Path, model: str) -> None:
    file = tmp_path / "t.csv"
    lines = [f"{i},{(i * 7) % 200},{(i * 11) % 200},{i / 3:.2f},{'ab'[i % 2]}" for i in range(200)]
    file.write_text("p,q,r,real,c\n" + "\n".join(lines) + "\n")
    kinds = "p=nominal,q=nominal,r=nominal"
    assert run("fit", file, "--target", "c", "--kinds", kinds, "--model", model, "--out", tmp_path / "m.nvt").code == 0
    ran = run("show", tmp_path / "m.nvt", "--tables", "--html", tmp_path / "m.html")
    assert ran.code == 0
    assert ("(the first 64 configurations)" in ran.out) == (model.startswith(("kdb", "lookup")))
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
    assert "  blanket   of 5 features, 3 are in the Markov blanket of the class: sky, wind, mood\n" in out
    assert "  isolated  1 feature without parents and children\n" in out
    rows = {line.split()[0]: line for line in run("show", model).out.splitlines() if line}
    assert rows["call"].endswith("outside the blanket")
    assert rows["noise"].endswith("isolated")
    assert rows["mood"].endswith("play")
    assert "P(play | sky, wind)" in out
    assert "P(noise)" in out


def test_a_network_file_is_shown_like_the_model(run: Run, weather: Path) -> None:
    model = fitted(run, weather, "hc")
    network, html, svg = (model.with_suffix(suffix) for suffix in (".bif", ".html", ".svg"))
    assert run("convert", model, network).code == 0
    ran = run("show", network, "--target", "play", "--tables", "--html", html, "--svg", svg)
    assert (ran.code, ran.err) == (0, "")
    assert f"{network}: network\n" in ran.out
    assert "  parents   the class depends on sky, wind\n" in ran.out
    assert "P(play | sky, wind)" in ran.out
    assert "<h1>Network for `play`</h1>" in html.read_text()
    described = run("show", network, "--target", "play", "--json").json
    assert described["model"] == "network"
    assert [variable.get("information") for variable in described["variables"]] == [None] * 6
    assert described["arcs"] == [arc | {"information": None} for arc in run("show", model, "--json").json["arcs"]]
    assert run("show", model, "--target", "mood", "--json").json["target"] == "mood"
    (weather.parent / "arcs.bnl").write_text("[play][sky|play]")
    assert run("show", weather.parent / "arcs.bnl", "--tables", "--html", weather.parent / "arcs.html").code == 0


def test_the_title_of_the_page(run: Run, weather: Path) -> None:
    model = fitted(run, weather, "kdb:k=1")
    assert run("show", model, "--html", model.with_suffix(".html")).code == 0
    assert "<h1>KDB (k=1) for `play`</h1>" in model.with_suffix(".html").read_text()


def test_the_same_as_json(run: Run, weather: Path) -> None:
    described = run("show", fitted(run, weather, "hc"), "--json").json
    assert (described["parents"], described["blanket"]) == (["sky", "wind"], ["sky", "wind", "mood"])
    assert "selected" not in described
    assert [v["in_blanket"] for v in described["variables"][:-1]] == [True, True, True, False, False]
    assert [v["isolated"] for v in described["variables"][:-1]] == [False, False, False, False, True]


@pytest.mark.parametrize("model", ["naive-as", "k2-as", "info-as", "info-as:stopping_rule=chi2,learner=nb"])
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
        f"{network.name(p)} \u2192 {network.name(v)}" for v in network.parents for p in network.parents[v] if p != -1 or not framed
    }
    assert {t.partition(":")[0] for t in titles if t and "\u2192" in t} == arcs
    assert {f"{network.name(x)}: {network.variables[x].card} states" for x in network.features} <= titles
    assert all(f"P({network.name(x)} | " in html.read_text() for x in network.features if network.parents[x])
    text = run("show", file).out
    assert ("the class depends on" in text) == bool(network.parents[-1])


def test_of_many_features_the_first_are_named(run: Run, tmp_path: Path) -> None:
    head = [f"x{j}" for j in range(30)]
    lines = [",".join("ab"[(i * (j + 3) // 7) & 1] for j in range(30)) + "," + "ny"[i & 1] for i in range(128)]
    file = tmp_path / "wide.csv"
    file.write_text("\n".join([",".join([*head, "c"]), *lines, ""]))
    assert run("fit", file, "--target", "c", "--model", "majority", "--out", tmp_path / "m.nvt").code == 0
    assert run("show", tmp_path / "m.nvt", "--svg", tmp_path / "m.svg").out.count("\nx") == 30
    assert "left out: 30 features without arcs" in (tmp_path / "m.svg").read_text()
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


class TestTrees:
    def test_as_indented_text_with_the_rules_on_request(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "c45")
        network = load(file).network_
        out = run("show", file).out
        assert "  features  5\n" in out
        assert f"  tree      {network.derived[5].nodes} nodes, {len(network.derived[5].leaves)} leaves, depth " in out
        assert re.search(r"  used      of 5 features, \d are used: ", out)
        assert tree_text(network) in out
        assert "->" not in out
        assert "depends on" not in out
        assert "\n".join(rules(network)) in run("show", file, "--tables").out

    def test_features_that_are_not_asked_for(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "c45")
        tested = set(load(file).network_.derived[5].features.tolist())
        lines = {line.split()[0]: line for line in run("show", file).out.splitlines() if line and not line.startswith("|")}
        for x, name in enumerate(["sky", "wind", "mood", "call", "noise"]):
            if x not in tested:
                assert lines[name].endswith("not used")

    def test_as_json(self, run: Run, weather: Path) -> None:
        described = run("show", fitted(run, weather, "id3"), "--json", "--tables").json
        assert [variable["name"] for variable in described["variables"]] == ["sky", "wind", "mood", "call", "noise", "play"]
        assert (described["arcs"], described["parents"]) == ([], [])
        nodes = described["tree"]["outline"]
        assert described["tree"]["nodes"] == len(nodes)
        assert nodes[0] | {"feature": ""} == {"node": 0, "parent": None, "branch": "", "feature": "", "weight": 400.0}
        assert {name for node in nodes if (name := node["feature"])} == set(described["blanket"])
        for node in nodes:
            below = [child for child in nodes if child["parent"] == node["node"]]
            assert ("predicting" in node) == (not below)
            assert not below or sum(child["weight"] for child in below) == pytest.approx(node["weight"])
            assert not below or all(child["branch"] for child in below)

    def test_drawing_and_page(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "c45")
        svg, html = file.with_suffix(".svg"), file.with_suffix(".html")
        ran = run("show", file, "--svg", svg, "--html", html)
        assert (ran.code, ran.err) == (0, "")
        ET.fromstring(svg.read_text())
        assert "Classification tree for the class play" in svg.read_text()
        page = html.read_text()
        assert "Rules</h2>" in page
        assert "5 features, " in page
        assert "<script" not in page
        assert page.count("<li>") >= len(rules(load(file).network_))

    def test_the_end_of_a_huge_tree_is_counted(self, run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = fitted(run, weather, "id3")
        monkeypatch.setattr("naivete.cli.show_tree.LINES", 3)
        network = load(file).network_
        lines, leaves = len(tree_text(network).splitlines()), len(network.derived[5].leaves)
        out = run("show", file, "--tables").out
        assert f"... and {lines - 3} lines more\n" in out
        assert f"... and {leaves - 3} rules more\n" in out

    def test_names_that_a_terminal_would_obey(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "t.csv"
        file.write_text("\x1b[31mred,c\n" + "a,x\nb,y\n" * 4)
        assert run("fit", file, "--target", "c", "--model", "c45", "--out", tmp_path / "m.nvt").code == 0
        out = run("show", tmp_path / "m.nvt", "--tables").out
        assert "\x1b" not in out
        assert "\\x1b[31mred = a: x (4.0)" in out


class TestHierarchies:
    def test_as_indented_text(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "recursive")
        out = run("show", file).out
        assert "  features  5\n" in out
        assert re.search(r"  nodes     \d+ classifiers, depth \d+", out)
        assert "\nall cases\n  sorts into" in out
        assert "\n|   sorted to " in out
        assert "base rate" in out
        assert "cell" not in out.replace("cells", "")

    def test_as_json_with_all_tables_on_request(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "recursive")
        short, described = (run("show", file, "--json", *words).json for words in ((), ("--tables",)))
        assert all("tables" not in node.get("predicting", {}) for node in short["hierarchy"]["outline"])
        root = described["hierarchy"]["outline"][0]
        assert sum(root["sorting"]["rates"]) == pytest.approx(1)
        assert list(root["sorting"]["tables"]) == ["sky", "wind", "mood", "call", "noise"]
        assert [sum(column) for column in zip(*root["sorting"]["tables"]["sky"], strict=True)] == pytest.approx([1, 1])
        assert described["variables"][0]["parents"] == ["play"]
        assert [variable["name"] for variable in described["variables"]] == ["sky", "wind", "mood", "call", "noise", "play"]

    def test_drawing_and_page(self, run: Run, weather: Path) -> None:
        file = fitted(run, weather, "recursive")
        svg, html = file.with_suffix(".svg"), file.with_suffix(".html")
        assert run("show", file, "--svg", svg, "--html", html).code == 0
        assert "naive Bayes classifiers for the class play" in svg.read_text()
        page = html.read_text()
        assert "<details open=" in page
        assert "<summary>sorted to " in page
        assert "<script" not in page

    def test_of_many_states_the_first_unless_tables_are_asked_for(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "t.csv"
        file.write_text("x,c\n" + "".join(f"s{i % 30},{'ny'[i % 2]}\n" for i in range(180)))
        assert run("fit", file, "--target", "c", "--model", "recursive", "--out", tmp_path / "m.nvt").code == 0
        short, whole = run("show", tmp_path / "m.nvt").out, run("show", tmp_path / "m.nvt", "--tables").out
        assert "(the first 20 states of each feature)" in short
        assert "the first 20" not in whole
        assert whole.count("\n  x ") == short.count("\n  x ") + 10

    def test_splits_by_a_feature_and_classifiers_that_are_left_out(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "exclusive.csv"
        file.write_text("p,q,c\n" + "0,0,no\n0,1,yes\n1,0,yes\n1,1,no\n" * 2)
        words = ("--target", "c", "--kinds", "p=nominal,q=nominal", "--model", "recursive:parity=split")
        assert run("fit", file, *words, "--out", tmp_path / "m.nvt").code == 0
        out = run("show", tmp_path / "m.nvt").out
        assert "\n  splits the cases by p\n|   p = 0\n" in out
        assert "left out" not in out
        monkeypatch.setattr("naivete.cli.show_tree._NODES", 2)
        assert "\n  1 classifier below left out\n" in run("show", tmp_path / "m.nvt").out


class TestHidden:
    @pytest.fixture
    def model(self, run: Run, tmp_path: Path) -> Path:
        rng = np.random.default_rng(1)
        play = rng.integers(0, 2, 400)
        mood = play ^ (rng.random(400) < 0.3)
        seen = [mood ^ (rng.random(400) < 0.1) for _ in range(3)]
        lines = [",".join(map(str, row)) for row in np.column_stack([*seen, play ^ (rng.random(400) < 0.3), play]).tolist()]
        file = tmp_path / "moods.csv"
        file.write_text("\n".join(["smile,song,dance,sky,play", *lines, ""]))
        assert run("fit", file, "--target", "play", "--model", "hidden", "--out", tmp_path / "m.nvt").code == 0
        assert len(load(tmp_path / "m.nvt").network_.derived) == 1
        return tmp_path / "m.nvt"

    def test_it_is_no_feature_and_hides_none(self, run: Run, model: Path) -> None:
        out = run("show", model, "--tables").out
        assert "  features  4, with 0 arcs between them\n" in out
        assert "  hidden    hidden with 2 states, parent of smile, song, dance\n" in out
        assert "  blanket   every feature is in the Markov blanket of the class\n" in out
        assert "P(smile | hidden)" in out
        assert "P(hidden | play)" in out
        assert re.search(r"\nhidden +2 +- +play +hidden\n", out)

    def test_as_json_and_page(self, run: Run, model: Path) -> None:
        described = run("show", model, "--json").json
        assert [variable["kind"] for variable in described["variables"]] == ["nominal"] * 4 + ["hidden", "nominal"]
        assert described["blanket"] == ["smile", "song", "dance", "sky"]
        assert {"from": "hidden", "to": "song", "information": None} in described["arcs"]
        assert run("show", model, "--svg", model.with_suffix(".svg"), "--html", model.with_suffix(".html")).code == 0
        assert "dotted: 1 hidden variable" in model.with_suffix(".svg").read_text()
        assert "P(hidden | play)" in model.with_suffix(".html").read_text()
        assert "4 features, " in model.with_suffix(".html").read_text()


def test_numbers_with_densities_have_means_and_deviations(run: Run, weather: Path) -> None:
    table = weather.with_name("heights.csv")
    table.write_text("height,sex\n" + "1.5,f\n1.75,f\n2.0,m\n1.5,m\n" * 3)
    out = table.with_suffix(".nvt")
    assert run("fit", table, "--target", "sex", "--model", "nb", "--numbers", "normal", "--out", out).code == 0
    text = run("show", out, "--tables", "--html", out.with_suffix(".html")).out
    assert "P(height | sex)\nsex   mean  deviation\nf    1.625" in text
    described = run("show", out, "--tables", "--json").json["variables"][0]
    assert [(row["given"], row["mean"]) for row in described["normal"]] == [({"sex": "f"}, 1.625), ({"sex": "m"}, 1.75)]
    assert "table" not in described
    assert ">deviation</th>" in out.with_suffix(".html").read_text()
