from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from naivete.classifiers.saving import load, model_hash
from naivete.classifiers.specification import spec_of
from naivete.data.files import read, write
from naivete.data.generated import corral
from tests.cli.conftest import Run


def test_the_summary(run: Run, weather: Path) -> None:
    ran = run("fit", weather, "--target", "play", "--model", "kdb:k=1", "--out", weather.with_name("m.nvt"))
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == f"kdb:k=1 learned from {weather}"
    assert "rows      8" in ran.out
    assert "target    play, with 2 classes: no, yes" in ran.out


def test_the_summary_as_json(run: Run, weather: Path) -> None:
    out = weather.with_name("m.nvt")
    summary = run("fit", weather, "--target", "play", "--model", "tan", "--out", out, "--json").json
    assert summary | {"seconds": 0, "cells": 0, "passes": 0, "rows_per_second": 0} == {
        "target": "play", "rows": 8, "features": 3, "left_out": 0, "classes": ["no", "yes"], "arcs": 2, "cells": 0, "passes": 0, "seconds": 0,
        "rows_per_second": 0, "files": 1, "read_mb": weather.stat().st_size / 1e6,
        "model": "tan", "data": str(weather), "file": str(out),
    }  # fmt: skip


@pytest.mark.parametrize(("model", "network"), [("aode", "naive Bayes network"), ("spectrum:members=1", "summary network")])
def test_the_network_beside_a_model_is_named(run: Run, weather: Path, model: str, network: str) -> None:
    out = weather.with_name("m.nvt")
    line = f"  network   arcs and tables are those of a {network}, for drawings and queries; predictions use other tables\n"
    assert line in run("fit", weather, "--target", "play", "--model", model, "--out", out).out
    assert line in run("show", out).out
    assert run("show", out, "--json").json["network"] == network


def test_the_model_is_that_of_the_library(run: Run, model: Path, weather: Path) -> None:
    from naivete.classifiers.augmented import KDB

    table = read(weather)
    fitted = KDB(k=1, theta=-inf).fit(table.without("play"), list(table["play"]))
    loaded = load(model)
    assert np.array_equal(loaded.predict_proba(table.without("play")), fitted.predict_proba(table.without("play")))
    assert loaded.network_.name(-1) == "play"
    assert str(spec_of(loaded)) == "kdb:k=1,theta=-inf"


def test_equal_runs_give_equal_files(run: Run, model: Path, weather: Path) -> None:
    again = weather.with_name("again.nvt")
    run("fit", weather, "--target", "play", "--model", "kdb:k=1,theta=-inf", "--out", again)
    assert again.read_bytes() == model.read_bytes()


def test_the_last_column_of_arff_is_the_class(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff.gz")
    ran = run("fit", tmp_path / "corral.arff.gz", "--out", tmp_path / "m.nvt", "--json")
    assert ran.json["target"] == "class"
    other = run("fit", tmp_path / "corral.arff.gz", "--target", "A0", "--out", tmp_path / "n.nvt", "--json")
    assert other.json["target"] == "A0"


def test_options_reach_the_encoder(run: Run, weather: Path) -> None:
    out = weather.with_name("m.nvt")
    options = ["--kinds", "windy=nominal,play=nominal", "--cut", "width:3", "--missing", "state", "--unseen", "smooth"]
    assert run("fit", weather, "--target", "play", "--model", "nb", "--out", out, *options).code == 0
    encoder = load(out).encoder
    assert encoder is not None
    assert (encoder.kinds, encoder.missing, encoder.unseen) == ({"windy": "nominal"}, "state", "smooth")
    assert len(load(out).network_.variables[1].cuts or ()) == 2


@pytest.mark.parametrize("kind", ["nominal", "numeric"])
def test_one_kind_for_all_columns(run: Run, tmp_path: Path, kind: str) -> None:
    file, out = tmp_path / "t.csv", tmp_path / "m.nvt"
    file.write_text("a,b,c\n1,01,0\n2,02,1\n3,03,0\n" if kind == "nominal" else "a,b,c\n1,1,0\n2,2,1\n3,3,0\n")
    assert run("fit", file, "--target", "c", "--out", out, "--kinds", kind).code == 0
    variable = load(out).network_.variables[0]
    assert variable.numeric == (kind == "numeric")
    assert variable.states == (("1", "2", "3") if kind == "nominal" else ())


def test_one_kind_for_all_features_leaves_the_class_alone(run: Run, tmp_path: Path) -> None:
    file, out = tmp_path / "t.csv", tmp_path / "m.nvt"
    file.write_text("a,w,c\n1,1,no\n2,1,yes\n3,2,no\n")
    assert run("fit", file, "--target", "c", "--weight", "w", "--out", out, "--kinds", "numeric").code == 0
    assert run("fit", file, "--target", "c", "--weight", "w", "--out", out, "--kinds", "nominal", "--force").code == 0


def test_weights_and_rows_without_a_class(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,w,c\na,1,no\nb,3,yes\nb,1,\n")
    refused = run("fit", file, "--target", "c", "--weight", "w", "--out", tmp_path / "m.nvt")
    assert refused.code == 3
    assert f"{file}:4: column 'c': no label" in refused.err
    ran = run("fit", file, "--target", "c", "--weight", "w", "--drop-unlabelled", "--out", tmp_path / "m.nvt", "--json")
    assert ran.err == "naivete: note: 1 row without a label was left out\n"
    assert (ran.json["rows"], ran.json["features"]) == (2, 1)
    assert load(tmp_path / "m.nvt").network_.cpts[-1].tolist() == [0.25, 0.75]  # type: ignore[union-attr]


def test_missing_tokens_delimiter_and_encoding(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_bytes("x;c\nNA;\xe9\nb;e\n".encode("latin-1"))
    options = ["--format", "csv", "--encoding", "latin-1", "--delimiter", ";", "--missing-token", "NA"]
    ran = run("fit", file, "--target", "c", "--out", tmp_path / "m.nvt", *options, "--json")
    assert ran.json["classes"] == ["e", "é"]
    assert load(tmp_path / "m.nvt").network_.variables[0].states == ("b",)


def test_many_classes_are_cut_short(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"a,{i}\n" for i in range(9)))
    assert "c, with 9 classes: 0, 1, 2, 3, 4, 5, ..." in run("fit", file, "--target", "c", "--out", tmp_path / "m.nvt").out


def test_the_columns_are_listed_when_the_class_is_not_given(run: Run, weather: Path) -> None:
    ran = run("fit", weather, "--out", "m.nvt")
    assert "Name it with --target; the columns are: outlook, temperature, windy, play" in ran.err
    near = run("fit", weather, "--target", "ply", "--out", "m.nvt")
    assert "did you mean 'play'? The columns are: outlook, temperature, windy, play" in near.err


@pytest.mark.parametrize("ignore", [["id,note"], ["id", "note"]])
def test_columns_left_out(run: Run, tmp_path: Path, ignore: list[str]) -> None:
    file, out = tmp_path / "t.csv", tmp_path / "m.nvt"
    file.write_text("id,note,x,c\n" + "".join(f"p{i},{i or '?'},{'ab'[i % 2]},{i % 2}\n" for i in range(40)))
    assert "column 'note'" in run("fit", file, "--target", "c", "--out", out).err
    options = [word for name in ignore for word in ("--ignore", name)]
    ran = run("fit", file, "--target", "c", "--out", out, "--force", *options, "--kinds", "x=nominal,id=nominal")
    assert (ran.code, ran.err) == (0, "")
    assert [v.name for v in load(out).network_.variables] == ["x", "c"]
    assert run("fit", file, "--target", "c", "--out", out, "--force", *options, "--kinds", "nominal").err == ""


def test_columns_with_commas_left_out(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('"a,b",x,c\n1,2,n\n2,1,y\n')
    assert run("fit", file, "--target", "c", "--ignore", "a,b", "--out", tmp_path / "m.nvt", "--json").json["features"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ignore", "wind"], "--ignore: there is no column 'wind'; did you mean 'windy'? The columns are: outlook,"),
        (["--ignore", "zzzz"], "--ignore: there is no column 'zzzz'; the columns are: outlook,"),
        (["--ignore", "play"], "--ignore: the column 'play' is the target; leave it in"),
        (["--weight", "temperature", "--ignore", "temperature"], "the column 'temperature' is the weight"),
        (["--weight", "zzzz"], "--weight: there is no column 'zzzz'; the columns are: outlook,"),
        (["--budget", "much"], "argument --budget: 'much' is not a number of bytes; write for instance 500MB or 2GiB"),
        (["--budget", "0"], "'0' is not a number of bytes"),
        (["--model", "nb:prior=even"], "write a share for every class"),
    ],
)
def test_what_cannot_be_meant(run: Run, weather: Path, options: list[str], message: str) -> None:
    ran = run("fit", weather, "--target", "play", "--out", weather.with_name("m.nvt"), *options)
    assert ran.code == 2
    assert message in ran.err


def test_the_class_of_arff_cannot_be_left_out(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff")
    ran = run("fit", tmp_path / "corral.arff", "--ignore", "class", "--out", tmp_path / "m.nvt")
    assert (ran.code, "'class' is the target" in ran.err) == (2, True)


def test_an_identifier_is_noted_with_the_option(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,x,c\n" + "".join(f"p{i},{'ab'[i % 2]},{i % 2}\n" for i in range(2000)))
    ran = run("fit", file, "--target", "c", "--model", "nb", "--out", tmp_path / "m.nvt")
    assert "features  2, with 0 arcs between them; 1 left out" in ran.out
    err = ran.err
    assert "left out" in err
    assert "'id' (an identifier: 2,000 different values in 2,000 rows)" in err
    assert "--keep id" in err
    kept = run("fit", file, "--target", "c", "--model", "nb", "--keep", "id", "--out", tmp_path / "kept.nvt")
    assert (kept.code, kept.err) == (0, "")
    assert "left out" not in kept.out
    assert (tmp_path / "kept.nvt").stat().st_size > 10 * (tmp_path / "m.nvt").stat().st_size
    for model in ("m.nvt", "kept.nvt"):
        assert run("predict", tmp_path / model, file).code == 0
    assert run("fit", file, "--target", "c", "--keep", "idd", "--out", tmp_path / "no.nvt").code == 2


def test_a_column_that_is_nearly_numeric_is_noted_once(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"{i / 2 if i else 'NA'},{i % 2}\n" for i in range(40)))
    ran = run("fit", file, "--target", "c", "--out", tmp_path / "m.nvt")
    assert ran.err.count("39 of 40 values are numbers but 'NA' is not") == 1
    assert "--missing-token NA" in ran.err
    assert run("fit", file, "--target", "c", "--out", tmp_path / "n.nvt", "--missing-token", "NA").err == ""


def test_what_auto_chose(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff")
    words = ["fit", tmp_path / "corral.arff", "--out", tmp_path / "m.nvt", "--force", "--model"]
    model = "kdb:k=auto,theta=auto"
    chosen = run(*words, model, "--json").json["chosen"]
    assert (chosen["k"], float(chosen["theta"])) == (load(tmp_path / "m.nvt").k_, load(tmp_path / "m.nvt").theta_)  # type: ignore[attr-defined]
    assert f"  chosen    k = {chosen['k']}, theta = " in run(*words, model).out
    assert list(run(*words, "kdb:k=auto", "--json").json["chosen"]) == ["k"]
    assert "chosen" not in run(*words, "kdb:k=1").out


def test_one_pass(run: Run, weather: Path) -> None:
    out = run("fit", weather, "--target", "play", "--model", "nb", "--out", weather.with_name("m.nvt")).out
    assert " 1 pass over the rows" in out


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_folder_is_no_file(run: Run, weather: Path, force: list[str]) -> None:
    ran = run("fit", weather, "--target", "play", "--out", weather.parent, *force)
    assert ran == (5, "", f"naivete: {weather.parent}: it is a folder; give the name of a file\n")


def test_shares_of_the_classes(run: Run, weather: Path) -> None:
    out = weather.with_name("m.nvt")
    assert run("fit", weather, "--target", "play", "--model", "nb:prior=1/3", "--out", out).code == 0
    assert load(out).network_.cpts[-1].tolist() == [0.25, 0.75]  # type: ignore[union-attr]
    assert "nb:prior=0.25/0.75" in run("show", out).out


def test_the_size_of_a_tree(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff")
    words = ["fit", tmp_path / "corral.arff", "--out", tmp_path / "m.nvt", "--force", "--model", "c45"]
    size = run(*words, "--json").json["tree"]
    assert f"  tree      {size['nodes']} nodes, {size['leaves']} leaves, depth {size['depth']}\n" in run(*words).out


def test_columns_that_csv_would_read_differently_are_noted(run: Run, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"code": ["1", "2", "30"] * 8, "flag": [True, False] * 12, "zip": ["01", "02"] * 12, "y": ["no", "yes"] * 12}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    hashes, notes = [], []
    for number, (name, *options) in enumerate([("t.parquet",), ("t.csv",), ("t.parquet", "nominal"), ("t.csv", "nominal")]):
        kinds = ["--kinds", f"code={options[0]}", "--ignore", "flag"] if options else []
        ran = run("fit", tmp_path / name, "--target", "y", "--model", "nb", "--out", tmp_path / f"{number}.nvt", *kinds)
        assert ran.code == 0
        hashes.append(model_hash(load(tmp_path / f"{number}.nvt")))
        notes.append(ran.err)
    assert "'code' (numbers stored as text), 'flag' (booleans, which are texts in delimited text)" in notes[0]
    assert "other values" not in "".join(notes[1:])
    assert "'zip'" not in notes[0]
    assert hashes[0] != hashes[1]
    assert hashes[2] == hashes[3]
    described = run("describe", tmp_path / "t.parquet", "--target", "y").out
    assert "numbers stored as text" in described
    assert "numbers stored" not in run("describe", tmp_path / "t.csv", "--target", "y").out


def test_a_target_of_many_numbers(run: Run, tmp_path: Path) -> None:
    """Each number is a class, which a note says with the next step; a few numbers and texts are usual classes."""
    file, out = tmp_path / "t.csv", tmp_path / "m.nvt"
    ages = [17 + i % 68 for i in range(300)]
    file.write_text("x,age,few,text\n" + "".join(f"{age // 20},{age},{age % 20},a{age}\n" for age in ages))
    expected = "naivete: note: the target age has 68 different numbers from 17 to 84, and each is a class of its own"
    for words in (["fit", file, "--out", out], ["fit", file, "--out", out, "--memory", "9GB"], ["evaluate", file, "--folds", "2"]):
        models = ["--models", "nb"] if words[0] == "evaluate" else ["--model", "nb", "--force"]
        err = run(*words, *models, "--target", "age").err
        assert expected in err
        assert err.count("pandas.cut") == 1
        for target in ("few", "text"):
            assert "different numbers" not in run(*words, *models, "--target", target, "--ignore", "age").err


@pytest.mark.parametrize("model", ["spectrum", "nb", "kdb:k=2,theta=-inf", "tan:calibration=leave-one-out"])
def test_a_model_that_is_no_better_than_the_most_frequent_class(run: Run, tmp_path: Path, model: str) -> None:
    rng, file, out = np.random.default_rng(3), tmp_path / "t.csv", tmp_path / "m.nvt"
    table = pd.DataFrame({"a": rng.choice(list("xyz"), 300), "b": rng.random(300).round(4), "c": rng.choice(list("pq"), 300)})
    table["y"] = np.where(rng.random(300) < 0.4, "yes", "no")
    table.assign(d=table["y"].str.upper()).to_csv(file, index=False)
    expected = (
        f"naivete: note: {model} does not predict left-out cases measurably better than always 'no', the most frequent class: "
    )
    words = ["fit", file, "--target", "y", "--out", out, "--force", "--model"]
    for reading in ([], ["--memory", "9GB"]):
        err = run(*words, model, "--ignore", "d", *reading).err
        assert err.startswith(expected)
        assert "% correct, log loss " in err
        assert err.endswith("see `naivete describe`, or compare models with `naivete evaluate`\n")
        assert run(*words, model, *reading).err == ""
    assert run(*words, "majority", "--ignore", "d").err == ""
