from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from naivete.data.files import read, write
from naivete.data.generated import corral, led7
from naivete.evaluation.diagnosis.diagnose import diagnose
from tests.cli.conftest import Run
from tests.evaluation.test_demo import Balanced


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    write(corral(), tmp_path / "corral.arff")
    return tmp_path / "corral.arff"


def test_in_words(run: Run, pairs: Path) -> None:
    ran = run("diagnose", pairs)
    assert (ran.code, ran.err) == (0, "")
    assert f"{pairs}: kdb:k=1 compared with naive Bayes" in ran.out
    assert "leave-one-out" in ran.out
    assert "naive     84.4 % right, 108 of 128" in ran.out
    assert "network   100.0 % right, 128 of 128" in ran.out
    assert "changed   20 predictions of naive Bayes: 20 from wrong to right, 0 from right to wrong" in ran.out
    lines = ran.out.splitlines()
    feature = next(i for i, line in enumerate(lines) if line.startswith("feature "))
    assert [line.split()[0] for line in lines[feature + 1 : feature + 3]] == ["A1", "B1"]
    assert any(line.split() == ["A0", "A1", "10", "6", "4", "2"] for line in lines)
    assert any(line.startswith("28 ") and line.endswith("B1 3.288, A1 1.151, B0 0.414") for line in lines)


def test_as_json_it_is_the_diagnosis(run: Run, pairs: Path) -> None:
    report = run("diagnose", pairs, "--model", "kdb:k=2", "--json").json
    table = corral()
    from naivete import KDB

    diagnosis = diagnose(KDB(k=2), table.without("class"), table["class"])
    summary = diagnosis.summary()
    assert (report["naive"], report["network"], report["changed"]) == (summary.naive, summary.network, summary.changed)
    assert report["naive_accuracy"] == summary.naive / 128
    assert [record["feature"] for record in report["features"]] == list(diagnosis.features()["feature"])
    assert [record["net"] for record in report["arcs"]] == diagnosis.arcs()["net"].values.tolist()
    assert report["worst"][0]["terms"][0]["bits"] == pytest.approx(diagnosis.worst(1)[0].terms[0][1])
    assert len(report["worst"]) == 10


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arff"])
def test_the_table_of_cases(run: Run, pairs: Path, ending: str) -> None:
    out = pairs.with_name(f"cases{ending}")
    assert run("diagnose", pairs, "--out", out).code == 0
    table = read(out)
    assert len(table) == 128
    odds = [np.asarray(table[name], float) for name in ("naive_log_odds", "log_gdf", "network_log_odds")]
    assert np.allclose(odds[0] + odds[1], odds[2])
    again = run("diagnose", pairs, "--out", out)
    assert again.code == 5
    assert "--force" in again.err
    assert run("diagnose", pairs, "--out", out, "--force").code == 0


@pytest.mark.parametrize("errs", [False, True])
def test_the_page_is_whole_and_fetches_nothing(run: Run, tmp_path: Path, errs: bool) -> None:
    file = tmp_path / "sharp.csv"
    labels = ["<script>" if i % 2 ^ (errs and i % 11 == 0) else "b&b" for i in range(60)]
    lines = [f"{i % 2},{i % 2 ^ (i % 7 == 0)},{labels[i]}" for i in range(60)]
    file.write_text("<img src=x>,b,c\n" + "\n".join(lines) + "\n")
    html = tmp_path / "page.html"
    assert run("diagnose", file, "--target", "c", "--model", "kdb:k=1,theta=-inf", "--html", html).code == 0
    page = Balanced()
    page.feed(html.read_text())
    assert not page.open
    assert not page.fetched
    assert not {"script", "img"} & set(page.tags)
    assert page.tags.count("svg") == 1
    assert page.tags.count("table") == 2 + errs


def test_other_cases_than_those_learned_from(run: Run, tmp_path: Path) -> None:
    table = led7(300, random_state=1)
    train, test = tmp_path / "train.csv", tmp_path / "test.csv"
    write(table.take(slice(200)), train)
    write(table.take(slice(200, 300)), test)
    report = run("diagnose", train, "--test", test, "--target", "digit", "--model", "tan", "--json").json
    assert (report["cases"], report["method"]) == (100, "predictions of a model trained on 200 other cases")
    model = tmp_path / "m.nvt"
    assert run("fit", train, "--target", "digit", "--model", "tan", "--out", model).code == 0
    saved = run("diagnose", test, "--model", model, "--json").json
    assert (saved["network"], saved["model"]) == (report["network"], "tan")
    write(table.take(slice(200, 300)).without("digit"), tmp_path / "bare.csv")
    bare = run("diagnose", tmp_path / "bare.csv", "--model", model)
    assert bare.code == 0
    assert "% right" not in bare.out
    assert "predictions of naive Bayes that the network changes, the most confident first" in bare.out


def test_weights_and_densities(run: Run, weather: Path) -> None:
    text = weather.read_text().splitlines()
    weather.write_text("\n".join([f"{text[0]},w", *(f"{line},{1 + i % 2}" for i, line in enumerate(text[1:] * 3))]) + "\n")
    report = run("diagnose", weather, "--target", "play", "--weight", "w", "--numbers", "normal", "--json").json
    assert report["cases"] == 36
    assert report["method"].startswith("10-fold")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["--model", "c45"], 3, "C45 predicts by 'leaf'"),
        (["--model", "nothing"], 2, "there is no model 'nothing'"),
        (["--model", "kdb:k=1,smoothing=0"], 3, "use a smoothing above 0"),
        (["--target", "colour"], 2, "there is no column 'colour'"),
        (["--out", "cases.txt"], 2, "does not show the format"),
        (["--out", "a.csv", "--html", "a.csv"], 2, "name the same file"),
        (["--test", "none.csv"], 5, "none.csv"),
        (["--model", "none.nvt"], 5, "none.nvt"),
        (["--model", "none.nvt", "--test", "none.csv"], 2, "a saved model is already fitted"),
    ],
)
def test_refusals(run: Run, pairs: Path, words: list[str], code: int, expected: str) -> None:
    ran = run("diagnose", pairs, *words)
    assert ran.code == code
    assert expected in ran.err
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("command", ["diagnose", "predict"])
def test_a_model_of_other_columns(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "other.csv").write_text("a,b,c\n1,x,no\n2,y,yes\n")
    words = (
        ["diagnose", tmp_path / "other.csv", "--model", model]
        if command == "diagnose"
        else ["predict", model, tmp_path / "other.csv"]
    )
    ran = run(*words)
    assert ran.code == 3
    assert "other.csv: this model was trained on other columns: it needs 'outlook', 'temperature', 'windy' (3 in all)" in ran.err
