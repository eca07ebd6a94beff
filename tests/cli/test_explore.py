"""`naivete explore`."""

from __future__ import annotations

from pathlib import Path

import pytest

from naivete import AODE, NaiveBayes, Recursive, Spectrum
from naivete.classifiers.saving import save
from tests.cli.conftest import Run
from tests.display.test_explore import frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explore")
    X, y = frame(rows=60)
    save(NaiveBayes().fit(X, y), path / "nb.nvt")
    for name, estimator in {"AODE": AODE(), "Spectrum": Spectrum(members=1), "Recursive": Recursive()}.items():
        save(estimator.fit(X, y), path / f"{name}.nvt")
    return path


def test_a_page_is_written(run: Run, folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = run("explore", folder / "nb.nvt", "--html", page)
    assert (ran.code, ran.err) == (0, "")
    assert f"{page}: 7 features, " in ran.out
    text = page.read_text(encoding="utf-8")
    assert "<h1>NaiveBayes for `class`</h1>" in text
    assert "<p>nb.nvt: 7 features, learned from 60 cases</p>" in text
    again = run("explore", folder / "nb.nvt", "--html", page)
    assert (again.code, "--force" in again.err) == (5, True)
    forced = run("explore", folder / "nb.nvt", "--html", page, "--force", "--json")
    assert forced.json["bytes"] == page.stat().st_size


def test_a_network_file_can_be_explored(run: Run, folder: Path, tmp_path: Path) -> None:
    assert run("convert", folder / "nb.nvt", tmp_path / "nb.bif").code == 0
    ran = run("explore", tmp_path / "nb.bif", "--target", "a", "--html", tmp_path / "page.html", "--json")
    assert ran.json["target"] == "a"
    assert '"training":null' in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("AODE", "does not predict with one network"), ("Spectrum", "does not predict"), ("Recursive", "is a hierarchy")],
)
def test_models_that_are_not_one_network_are_refused(run: Run, folder: Path, tmp_path: Path, name: str, reason: str) -> None:
    ran = run("explore", folder / f"{name}.nvt", "--html", tmp_path / "page.html")
    assert ran.code == 2
    assert f"{name} {reason}" in ran.err
    assert "NaiveBayes, TAN, FAN, KDB" in ran.err
    assert run("explore", folder / f"{name}.nvt", "--target", "a", "--html", tmp_path / "page.html").code == 2
    assert not (tmp_path / "page.html").exists()


def test_the_page_has_to_be_named(run: Run, folder: Path) -> None:
    assert "--html" in run("explore", folder / "nb.nvt").err
