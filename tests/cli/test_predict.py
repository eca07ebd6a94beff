from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from naivete.classifiers.saving import load
from naivete.cli.options import TABLE_ENDINGS
from naivete.data.files import formats, read, write
from naivete.data.generated import corral
from naivete.data.table import Column, Table
from tests.cli.conftest import Run


def test_answers_on_standard_output(run: Run, model: Path, weather: Path) -> None:
    ran = run("predict", model, weather)
    header, *lines = ran.out.splitlines()
    assert header == "predicted,P(no),P(yes)"
    table = read(weather)
    expected = load(model).predict_proba(table.without("play"))
    assert np.array_equal([[float(p) for p in line.split(",")[1:]] for line in lines], expected)
    assert [line.split(",")[0] for line in lines] == load(model).predict(table.without("play")).tolist()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "arff", "parquet"])
@pytest.mark.parametrize("append", [[], ["--append"]], ids=["alone", "append"])
def test_answers_in_a_file(run: Run, model: Path, weather: Path, ending: str, append: list[str]) -> None:
    out = weather.with_name(f"answers.{ending}")
    ran = run("predict", model, weather, "--out", out, *append)
    assert (ran.code, ran.out) == (0, "")
    predictions = read(out)
    before = read(weather).names if append else ()
    assert predictions.names == (*before, "predicted", "P(no)", "P(yes)")
    assert len(predictions) == 8
    assert set(predictions["predicted"]) <= {"no", "yes"}


def test_answers_as_json(run: Run, model: Path, weather: Path) -> None:
    predictions = run("predict", model, weather, "--json").json
    assert predictions["classes"] == ["no", "yes"]
    assert len(predictions["rows"]) == 8
    assert sum(predictions["rows"][0]["probabilities"].values()) == pytest.approx(1)
    assert predictions["rows"][0]["impossible"] is False


def test_answers_as_json_in_a_file(run: Run, model: Path, weather: Path) -> None:
    out = weather.with_name("answers.json")
    assert run("predict", model, weather, "--out", out).code == 0
    assert json.loads(out.read_text()) == run("predict", model, weather, "--json").json
    assert run("predict", model, weather, "--out", out).code == 5
    assert run("predict", model, weather, "--out", out, "--append", "--force").code == 2


@pytest.mark.parametrize("name", ["answers.txt", "answers.xyz", "answers", "answers.json.gz", "csv"])
def test_a_name_that_tells_no_format_is_refused(run: Run, model: Path, weather: Path, name: str) -> None:
    out = weather.with_name(name)
    ran = run("predict", model, weather, "--out", out)
    assert ran.code == 2
    assert "end it in .arff, .csv, .tsv, .tab, .parquet, .pq, .json" in ran.err
    assert not out.exists()


def test_the_endings_are_those_that_are_written() -> None:
    assert set(TABLE_ENDINGS) == set(formats.EXTENSIONS)


def test_json_is_not_for_files(run: Run, model: Path, weather: Path) -> None:
    assert run("predict", model, weather, "--json", "--out", weather.with_name("o.csv")).code == 2


def test_unseen_values_are_counted_or_refused(run: Run, model: Path, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("outlook,temperature,windy\nfog,20,no\nsnow,21,no\nsunny,22,\n")
    ran = run("predict", model, file)
    assert ran.code == 0
    assert "naivete: note: values that did not occur in training were treated as missing ('outlook': 2)" in ran.err
    refused = run("predict", model, file, "--unseen", "error")
    assert refused.code == 3
    assert f"{file}:2: column 'outlook': value 'fog' did not occur in training" in refused.err


def test_text_stays_text_and_numbers_numbers(run: Run, tmp_path: Path) -> None:
    train, new, model = tmp_path / "t.csv", tmp_path / "n.csv", tmp_path / "m.nvt"
    train.write_text("zip,n,c\n01,1,a\n02,2,b\n01,1,a\n02,2,b\n")
    assert run("fit", train, "--target", "c", "--out", model, "--model", "nb").code == 0
    assert load(model).network_.variables[0].states == ("01", "02")
    assert load(model).network_.variables[1].states == (1, 2)
    new.write_text("zip,n\n02,2\n02,2.0\n2,x\n")
    ran = run("predict", model, new)
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:3]] == ["b", "b"]
    assert "'zip': 1, 'n': 1" in ran.err


def test_truth_values_in_text(run: Run, tmp_path: Path) -> None:
    table = Table((Column("x", np.array([True, False] * 4)), Column("c", np.array([0, 1] * 4), ("a", "b"))))
    write(table, tmp_path / "t.parquet")
    assert run("fit", tmp_path / "t.parquet", "--target", "c", "--model", "nb", "--out", tmp_path / "m.nvt").code == 0
    (tmp_path / "n.csv").write_text("x\nTrue\nFalse\n")
    ran = run("predict", tmp_path / "m.nvt", tmp_path / "n.csv")
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:]] == ["a", "b"]
    assert ran.err == ""


def test_a_model_of_texts_reads_numbers_of_csv_as_texts(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff")
    write(corral(), tmp_path / "corral.csv")
    run("fit", tmp_path / "corral.arff", "--out", tmp_path / "m.nvt")
    a = run("predict", tmp_path / "m.nvt", tmp_path / "corral.arff")
    b = run("predict", tmp_path / "m.nvt", tmp_path / "corral.csv")
    assert a.out == b.out
    run("fit", tmp_path / "corral.csv", "--target", "class", "--out", tmp_path / "n.nvt")
    c = run("predict", tmp_path / "n.nvt", tmp_path / "corral.arff")
    assert c.out == run("predict", tmp_path / "n.nvt", tmp_path / "corral.csv").out
    assert "did not occur" not in b.err + c.err


def test_impossible_rows_are_marked(run: Run, tmp_path: Path) -> None:
    train, new, model = tmp_path / "t.csv", tmp_path / "n.csv", tmp_path / "m.nvt"
    train.write_text("x,y,c\na,p,no\nb,q,yes\n")
    new.write_text("x,y\na,p\na,q\n")
    assert run("fit", train, "--target", "c", "--model", "nb:smoothing=0", "--out", model).code == 0
    ran = run("predict", model, new)
    assert ran.out.splitlines()[0] == "predicted,P(no),P(yes),impossible"
    assert [line.split(",")[-1] for line in ran.out.splitlines()[1:]] == ["0", "1"]
    assert "1 row with probability zero in every class (the first is row 2)" in ran.err
    assert [row["impossible"] for row in run("predict", model, new, "--json").json["rows"]] == [False, True]


def test_looking_up_is_never_impossible(run: Run, tmp_path: Path) -> None:
    train, new, model = tmp_path / "t.csv", tmp_path / "n.csv", tmp_path / "m.nvt"
    train.write_text("x,y,c\na,p,no\nb,q,yes\nb,q,yes\n")
    new.write_text("x,y\na,p\na,q\n")
    run("fit", train, "--target", "c", "--model", "lookup", "--out", model)
    ran = run("predict", model, new)
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["predicted", "no", "yes"]
    assert ran.err == ""


def test_names_that_are_taken(run: Run, tmp_path: Path) -> None:
    train, model = tmp_path / "t.csv", tmp_path / "m.nvt"
    train.write_text("predicted,P(a),c\n1,x,a\n2,y,b\n")
    run("fit", train, "--target", "c", "--out", model)
    assert run("predict", model, train, "--append").out.splitlines()[0] == "predicted,P(a),c,predicted_,P(a)_,P(b)"


def test_weights_of_the_input_are_no_matter(run: Run, tmp_path: Path, model: Path) -> None:
    arff = tmp_path / "w.arff"
    arff.write_text(
        "@relation w\n@attribute outlook {sunny,rain,overcast}\n@attribute temperature numeric\n@attribute windy {yes,no}\n@data\nsunny,20,no,{3}\n"
    )
    assert run("predict", model, arff, "--append").out.count("\n") == 2


def test_a_kind_that_is_no_column_is_an_error_of_usage(run: Run, model: Path, weather: Path) -> None:
    ran = run("predict", model, weather, "--kinds", "wind=nominal")
    assert ran.code == 2
    assert "wind" in ran.err


def test_the_accuracy_where_the_class_is_known(run: Run, model: Path, weather: Path) -> None:
    right = float(load(model).score(read(weather).without("play"), list(read(weather)["play"])))
    assert run("predict", model, weather).err == f"naivete: note: accuracy {100 * right:.1f} % of 8 labelled rows\n"
    lines = weather.read_text().splitlines()
    weather.write_text("\n".join([*lines[:2], *(f"{line.rpartition(',')[0]}," for line in lines[2:])]) + "\n")
    assert "% of 1 labelled row\n" in run("predict", model, weather).err
    weather.write_text("\n".join([lines[0], *(f"{line.rpartition(',')[0]}," for line in lines[1:])]) + "\n")
    assert run("predict", model, weather).err == ""


def test_a_class_that_the_model_does_not_know(run: Run, model: Path, weather: Path) -> None:
    weather.write_text(weather.read_text() + "rain,20,no,maybe\n")
    err = run("predict", model, weather).err
    assert err == "naivete: note: no accuracy: column 'play' has the value 'maybe', which is not a class of the model\n"


@pytest.mark.parametrize("ending", ["csv", "arff", "parquet"])
@pytest.mark.parametrize("trained", ["csv", "arff", "parquet"])
def test_the_accuracy_whatever_the_class_was_read_as(run: Run, tmp_path: Path, trained: str, ending: str) -> None:
    for extension in {trained, ending}:
        write(corral(), tmp_path / f"corral.{extension}")
    run("fit", tmp_path / f"corral.{trained}", "--target", "class", "--model", "kdb:k=3", "--out", tmp_path / "m.nvt")
    assert "accuracy 100.0 % of 128 labelled rows" in run("predict", tmp_path / "m.nvt", tmp_path / f"corral.{ending}").err


def test_a_value_that_is_no_number(run: Run, model: Path, weather: Path) -> None:
    weather.write_text(weather.read_text().replace("20.0", "NA"))
    ran = run("predict", model, weather)
    assert ran.code == 3
    assert f"{weather}:4: column 'temperature': value 'NA' is not a finite number" in ran.err
    assert "--missing-token NA" in ran.err
    assert run("predict", model, weather, "--missing-token", "NA").code == 0


def test_warnings_are_only_of_the_columns_of_the_model(run: Run, tmp_path: Path) -> None:
    train, new = tmp_path / "t.csv", tmp_path / "n.csv"
    train.write_text("n,c\n" + "".join(f"{i % 2},{'ab'[i % 2]}\n" for i in range(20)))
    run("fit", train, "--target", "c", "--out", tmp_path / "m.nvt")
    new.write_text("n,more\n" + "".join(f"{i % 2 if i else '?'},{i or '?'}\n" for i in range(20)))
    err = run("predict", tmp_path / "m.nvt", new).err
    assert "column 'n': 19 of 20 values are numbers but '?' is not" in err
    assert "column 'more'" not in err


def test_a_class_without_any_value(run: Run, model: Path, tmp_path: Path) -> None:
    columns = ("outlook string", "temperature numeric", "windy string", "play string")
    head = "".join(f"@attribute {column}\n" for column in columns)
    (tmp_path / "n.arff").write_text(f"@relation n\n{head}@data\nsunny,20,no,?\n")
    ran = run("predict", model, tmp_path / "n.arff")
    assert (ran.code, ran.err) == (0, "")


def test_texts_for_missing_values_are_stored_with_the_model(run: Run, tmp_path: Path) -> None:
    train, new, model = tmp_path / "train.csv", tmp_path / "new.csv", tmp_path / "m.nvt"
    train.write_text("x,y,c\n" + "".join(f"{'ab?'[i % 3]},{i if i % 4 else 'none'},{i % 2}\n" for i in range(24)))
    options = ["--target", "c", "--missing-token", "?", "--missing-token", "none", "--model", "nb", "--out", model]
    assert run("fit", train, *options).code == 0
    new.write_text("x,y\n?,none\na,3\n")
    assert load(model).missing_tokens_ == ("?", "none")
    ran = run("predict", model, new)
    assert (ran.code, ran.err) == (0, "")
    new.write_text("x,y\n,\na,3\n")
    assert run("predict", model, new).out == ran.out
    new.write_text("x,y\nNA,none\na,3\n")
    assert run("predict", model, new, "--missing-token", "NA").out == ran.out
