from __future__ import annotations

from math import log
from pathlib import Path

import pytest

from naivete.counts.information import information
from naivete.data.files import write
from naivete.data.generated import corral
from tests.cli.conftest import Run


def test_a_table_and_its_class(run: Run, weather: Path) -> None:
    ran = run("describe", weather, "--target", "play")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == f"{weather}: 8 rows, 4 columns"
    assert lines[1] == "target play: no 3 (37.5%), yes 5 (62.5%)"
    assert lines[2].startswith("the cases are consistent")
    assert "numeric  15.5 .. 30.5" in ran.out


def test_the_information_is_that_of_the_table(run: Run, weather: Path) -> None:
    import numpy as np

    columns = run("describe", weather, "--target", "play", "--json").json["columns"]
    by_name = {column["name"]: column for column in columns}
    outlook = np.array([[0, 2], [1, 2], [2, 1]])  # overcast, rain, sunny by no, yes
    bias = (3 - 1) * (2 - 1) / (2 * 8 * log(2))
    assert by_name["outlook"]["corrected_information"] == pytest.approx(information(outlook) - bias)
    assert by_name["outlook"]["states"] == ["overcast", "rain", "sunny"]
    assert "corrected_information" not in by_name["play"]
    assert "  corrected I(X;C) bits" in run("describe", weather, "--target", "play").out


def test_without_a_class(run: Run, weather: Path) -> None:
    ran = run("describe", weather)
    assert ran.code == 0
    assert "class " not in ran.out
    assert " consistent" not in ran.out
    assert "consistent" not in run("describe", weather, "--json").json


def test_cases_that_contradict_each_other(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,n,c\na,1.5,no\nb,2,no\na,1.5,yes\n,1.5,yes\nb,2,no\n")
    ran = run("describe", file, "--target", "c")
    assert (
        "not consistent: 2 complete cases in 1 group of equal features have different classes, for instance rows 1 and 3" in ran.out
    )
    described = run("describe", file, "--target", "c", "--json").json
    assert described["consistent"] is False
    assert described["conflicts"] == {"groups": 1, "rows": 2, "example_rows": [1, 3]}


def test_rows_with_missing_values_contradict_nothing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n,no\n,yes\n")
    assert run("describe", file, "--target", "c", "--json").json["consistent"] is True


def test_corral_contradicts_nothing_and_arff_tells_its_class(run: Run, tmp_path: Path) -> None:
    write(corral(), tmp_path / "corral.arff")
    assert "target class: 0 72 (56.2%), 1 56 (43.8%)" in run("describe", tmp_path / "corral.arff").out


def test_identifiers_many_states_and_gaps(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    rows = [f"id{i:02},{i},{i / 7:.3f},{i % 7},,{i % 2}" for i in range(60)]
    file.write_text("name,number,real,few,nothing,c\n" + "\n".join(rows) + "\n")
    described = run("describe", file, "--target", "c", "--kinds", "few=nominal,c=nominal", "--json").json["columns"]
    assert [column["unsuitable"] for column in described] == ["identifier", "row number", None, None, None, None]
    assert [column["missing"] for column in described] == [0, 0, 0, 0, 60, 0]
    assert ["corrected_information" in column for column in described] == [False, False, True, True, True, False]
    text = run("describe", file, "--target", "c").out
    assert text.count("an identifier: 60 different") == 2
    assert text.endswith("to use them anyway: --keep name,number\n")
    assert "an identifier" not in run("describe", file, "--target", "c", "--keep", "name,number").out
    assert "0, 1, 2, 3, 4 ..." in text


def test_kinds_for_all_columns(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b,c\n1,,0\n2,,1\n")
    described = run("describe", file, "--kinds", "numeric", "--target", "c", "--json").json["columns"]
    assert [column["kind"] for column in described] == ["numeric"] * 3
    assert described[1]["range"] is None
    assert "numeric  -" in run("describe", file, "--kinds", "numeric", "--target", "c").out


def test_nominal_numbers_declared_numeric(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.arff"
    file.write_text("@relation t\n@attribute a {x,y}\n@attribute c {0,1}\n@data\nx,0\ny,1\n")
    ran = run("describe", file, "--kinds", "a=numeric")
    assert ran.code == 3
    assert "not a number" in ran.err


def test_many_classes_are_cut_short(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("x,c\n" + "".join(f"a,k{i}\n" for i in range(30)))
    assert "k26 1 (3.3%), ..." in run("describe", file, "--target", "c").out


def test_columns_left_out(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("name,x,c\n" + "".join(f"id{i},{i % 3},{i % 2}\n" for i in range(55)))
    assert "--keep name" in run("describe", file, "--target", "c").out
    spaced = tmp_path / "spaced.csv"
    spaced.write_text(file.read_text().replace("name,x", "customer name,x"))
    assert run("describe", spaced, "--target", "c").out.endswith("--keep 'customer name'\n")  # as a shell takes it
    ran = run("describe", file, "--target", "c", "--ignore", "name", "--kinds", "name=nominal,x=nominal")
    assert ran.code == 0
    assert "55 rows, 2 columns" in ran.out
    assert "--keep" not in ran.out


def test_an_empty_name_can_be_seen(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(",c\na,x\nb,y\n")
    assert "\n''      nominal  a, b" in run("describe", file, "--target", "c").out


def test_one_row(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("c\nx\n")
    assert run("describe", file).out.splitlines()[0] == f"{file}: 1 row, 1 column"
