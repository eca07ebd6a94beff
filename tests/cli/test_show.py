from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

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


def test_an_empty_name_can_be_seen(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,,c\na,b,x\na,d,y\n")
    assert run("fit", file, "--target", "c", "--model", "tan", "--out", tmp_path / "m.nvt").code == 0
    out = run("show", tmp_path / "m.nvt", "--tables").out
    assert "\n''       " in out
    assert "P(x | '', c)" in out
