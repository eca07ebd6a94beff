from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from naivete.domains import corral
from naivete.files import read, write
from naivete.models import spec_of
from naivete.saving import load
from tests.cli.conftest import Run


def test_the_summary(run: Run, weather: Path) -> None:
    ran = run("fit", weather, "--target", "play", "--model", "kdb:k=1", "--out", weather.with_name("m.nvt"))
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == f"kdb:k=1 learned from {weather}"
    assert "rows      8" in ran.out
    assert "2 of play: no, yes" in ran.out


def test_the_summary_as_json(run: Run, weather: Path) -> None:
    out = weather.with_name("m.nvt")
    summary = run("fit", weather, "--target", "play", "--model", "tan", "--out", out, "--json").json
    assert summary | {"seconds": 0, "cells": 0, "passes": 0} == {
        "target": "play", "rows": 8, "features": 3, "classes": ["no", "yes"], "arcs": 2, "cells": 0, "passes": 0, "seconds": 0,
        "model": "tan", "data": str(weather), "file": str(out),
    }  # fmt: skip


def test_the_model_is_that_of_the_library(run: Run, model: Path, weather: Path) -> None:
    from naivete.classifiers import KDB

    table = read(weather)
    own = KDB(k=1).fit(table.without("play"), list(table["play"]))
    loaded = load(model)
    assert np.array_equal(loaded.predict_proba(table.without("play")), own.predict_proba(table.without("play")))
    assert loaded.network_.name(-1) == "play"
    assert str(spec_of(loaded)) == "kdb:k=1"


def test_equal_runs_give_equal_files(run: Run, model: Path, weather: Path) -> None:
    again = weather.with_name("again.nvt")
    run("fit", weather, "--target", "play", "--model", "kdb:k=1", "--out", again)
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
    assert ran.err == "naivete: note: left out, without a class: 1 row\n"
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
    assert "9 of c: 0, 1, 2, 3, 4, 5, ..." in run("fit", file, "--target", "c", "--out", tmp_path / "m.nvt").out


def test_the_columns_are_listed_when_the_class_is_not_given(run: Run, weather: Path) -> None:
    ran = run("fit", weather, "--out", "m.nvt")
    assert "Give it with --target; the columns are: outlook, temperature, windy, play" in ran.err
    near = run("fit", weather, "--target", "ply", "--out", "m.nvt")
    assert "did you mean 'play'? The columns are: outlook, temperature, windy, play" in near.err
