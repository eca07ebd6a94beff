"""`naivete card`."""

from __future__ import annotations

from pathlib import Path

import naivete
from tests.cli.conftest import WEATHER, Run


def test_a_card_is_printed_or_written(run: Run, model: Path, tmp_path: Path) -> None:
    card = naivete.model_card(naivete.load(model))
    assert run("card", model).out == card
    file = tmp_path / "card.md"
    ran = run("card", model, "--out", file)
    assert (ran.code, ran.err, ran.out) == (0, "", f"{file}: model card of {model}\n")
    assert file.read_text() == card
    assert run("card", model, "--out", file).code == 5
    assert run("card", model, "--out", model, "--force").code == 2


def test_a_card_with_measures(run: Run, model: Path, weather: Path) -> None:
    ran = run("card", model, "--test", weather, "--purpose", "Walks.", "--json")
    assert (ran.code, ran.err) == (0, "")
    evaluation = ran.json["evaluation"]
    accuracy = evaluation["measures"]["accuracy"]
    assert f"accuracy {100 * accuracy:.1f} % of 8 labelled rows" in run("predict", model, weather).err
    assert evaluation["rows"] == 8
    assert [entry["class"] for entry in evaluation["by_class"]] == ["no", "yes"]
    assert f"| accuracy | {accuracy:.4f} |" in ran.json["card"]
    assert "\nWalks.\n" in ran.json["card"]


def test_other_columns_missing_tokens_and_unlabelled_rows(run: Run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "test.csv"
    lines = WEATHER.splitlines()
    file.write_text("\n".join([f"{lines[0]},note,w", *(f"{line},x,2" for line in lines[1:]), "sunny,20,no,,x,1"]))
    ran = run("card", model, "--test", file)
    assert (ran.code, "no label" in ran.err) == (3, True)
    ran = run("card", model, "--test", file, "--drop-unlabelled", "--weight", "w", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert (ran.json["evaluation"]["rows"], ran.json["evaluation"]["weight"]) == (8, 16.0)


def test_wrong_usage(run: Run, model: Path, tmp_path: Path) -> None:
    assert "name them with --test" in run("card", model, "--weight", "w").err
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    ran = run("card", model, "--test", tmp_path / "other.csv")
    assert (ran.code, "there is no column 'play'" in ran.err) == (2, True)
    (tmp_path / "labels.csv").write_text("outlook,temperature,windy,play\nrain,3,no,maybe\n")
    ran = run("card", model, "--test", tmp_path / "labels.csv")
    assert (ran.code, "'maybe', which is not a class of the model" in ran.err) == (3, True)
