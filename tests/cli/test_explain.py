from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naivete import load, read
from tests.cli.conftest import WEATHER, Run


@pytest.fixture
def files(run: Run, tmp_path: Path) -> tuple[Path, Path]:
    """A model and the table from which it was learned."""
    data, model = tmp_path / "weather.csv", tmp_path / "weather.nvt"
    data.write_text(WEATHER)
    assert run("fit", data, "--target", "play", "--model", "tan", "--out", model).code == 0
    return model, data


def test_text_names_the_row_and_what_contributes(run: Run, files: Any) -> None:
    ran = run("explain", *files, "--row", "5", "1")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("row 5: P(play = yes) = 0.")
    assert any(line.startswith("  outlook = overcast") for line in lines)
    assert any(line.startswith("row 1: P(play = ") for line in lines)
    assert "The class is 'yes' with probability" in ran.out
    assert run("explain", *files).out.startswith("row 1: ")
    assert "outlook | play" in run("explain", *files, "--by", "family").out


def test_json_has_contributions_that_add_up(run: Run, files: Any) -> None:
    result = run("explain", *files, "--row", "2", "--class", "yes", "--against", "no", "--json").json
    (row,) = result["rows"]
    assert (row["row"], row["class"], row["against"]) == (2, "yes", "no")
    for by in ("by_feature", "by_family"):
        total = row[by]["base"] + sum(entry["bits"] for entry in row[by]["contributions"])
        assert np.isclose(total, row["log_odds"], rtol=0, atol=1e-9)
    p = row["posterior"]["yes"]
    assert np.isclose(row["log_odds"], np.log2(p / (1 - p)), rtol=0, atol=1e-9)
    assert row["interval"][0] < p < row["interval"][1]
    assert np.isclose(p, load(files[0]).predict_proba(read(files[1]))[1, 1])


def test_page_has_a_chart_for_every_row(run: Run, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    assert run("explain", *files, "--row", "1", "2", "--html", page, "--background", files[1]).code == 0
    text = page.read_text()
    assert text.count("nv-waterfall") == 2
    assert "Row 2: P(play = " in text
    assert run("explain", *files, "--html", page).code == 5
    assert run("explain", *files, "--html", page, "--force").code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--row", "9"], 3, "there is no row 9; the file has 8 rows"),
        (["--row", "0"], 2, "rows are counted from 1"),
        (["--class", "maybe"], 2, "--class: 'maybe' is not a class of the model"),
        (["--class", "yes", "--against", "yes"], 2, "is the class that is explained"),
    ],
)
def test_what_is_refused(run: Run, files: Any, words: list[str], code: int, message: str) -> None:
    ran = run("explain", *files, *words)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


@pytest.fixture
def spectrum(run: Run, files: Any, tmp_path: Path) -> Path:
    """A model of the default classifier."""
    model = tmp_path / "spectrum.nvt"
    assert run("fit", files[1], "--target", "play", "--out", model).code == 0
    return model


def test_the_default_classifier_is_explained(run: Run, files: Any, spectrum: Path, tmp_path: Path) -> None:
    ran = run("explain", spectrum, files[1], "--row", "2")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("row 2: P(play = ")
    assert "(no interval for this classifier)" in ran.out
    assert "exact Shapley values on 64 rows drawn from the summary network" in ran.out
    (row,) = run("explain", spectrum, files[1], "--row", "2", "--json").json["rows"]
    by_feature = row["by_feature"]
    total = by_feature["base"] + sum(entry["bits"] for entry in by_feature["contributions"])
    assert np.isclose(total, row["log_odds"], rtol=0, atol=1e-9)
    assert (row["by_family"], row["interval"]) == (None, None)
    page = tmp_path / "why.html"
    assert run("explain", spectrum, files[1], "--html", page, "--background", files[1]).code == 0
    text = page.read_text()
    assert "exact Shapley values on 8 background rows" in text
    assert "Estimated from 32 rows drawn from the summary network" in text
    refused = run("explain", spectrum, files[1], "--by", "family")
    assert (refused.code, refused.out) == (2, "")
    assert "not a sum over families" in refused.err
    assert "an even number, at least 4" in run("explain", spectrum, files[1], "--permutations", "3").err


@pytest.mark.parametrize(("model", "weighted"), [("tan", True), ("aode", False)])
def test_pages_of_three_classes_say_what_the_base_is(run: Run, tmp_path: Path, model: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    rows = [",".join([*row, label]) for row, label in zip(rng.choice(["a", "b"], (40, 3)), rng.choice([*"uvw"], 40), strict=True)]
    data, saved, page = tmp_path / "three.csv", tmp_path / "three.nvt", tmp_path / "three.html"
    data.write_text("\n".join(["a,b,c,class", *rows]))
    assert run("fit", data, "--target", "class", "--model", model, "--out", saved).code == 0
    assert run("explain", saved, data, "--html", page).code == 0
    assert ("means over the other classes, weighted for this row" in page.read_text()) == weighted


def test_pages_show_the_standard_errors_of_estimates(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [",".join(row) for row in rng.choice(["a", "b"], (40, 10)).tolist()]
    data, model, page = tmp_path / "wide.csv", tmp_path / "wide.nvt", tmp_path / "wide.html"
    data.write_text("\n".join([",".join("abcdefghij"), *rows]))
    assert run("fit", data, "--target", "j", "--model", "aode", "--out", model).code == 0
    ran = run("explain", model, data, "--json", "--permutations", "6", "--html", page)
    (row,) = ran.json["rows"]
    assert "6 permutations" in row["note"]
    assert row["by_feature"]["contributions"][0]["standard_error"] > 0
    assert "standard error</th>" in page.read_text()
    assert "6 permutations" in page.read_text()
    assert run("show", model, "--html", page, "--force").code == 0
    assert "Importance for the predictions" in page.read_text()
    assert "nv-nomogram" not in page.read_text()


def test_the_summary_network_is_named_where_it_is_used(run: Run, spectrum: Path, tmp_path: Path) -> None:
    said = "Spectrum does not predict with one network; this is the summary network beside it"
    for words in (["query", spectrum, "--of", "play"], ["convert", spectrum, tmp_path / "network.bif"]):
        ran = run(*words)
        assert ran.code == 0
        assert ran.err.count(said) == 1
    refused = run("explore", spectrum, "--html", tmp_path / "page.html")
    assert refused.code == 2
    assert "Spectrum does not predict with one network" in refused.err
    assert "TAN" in refused.err


def test_rows_without_some_columns_are_explained(run: Run, files: Any, tmp_path: Path) -> None:
    part = tmp_path / "part.csv"
    part.write_text("windy,outlook\nno,sunny\n")
    ran = run("explain", files[0], part)
    assert ran.code == 0
    assert "windy = no" in ran.out
    assert "temperature" in ran.err


def test_the_page_of_a_model_has_importances_and_a_nomogram(run: Run, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "model.html"
    assert run("show", files[0], "--html", page).code == 0
    text = page.read_text()
    assert "Importance for the predictions" in text
    assert "nv-nomogram" in text
