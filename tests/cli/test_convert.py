from __future__ import annotations

from pathlib import Path

import pytest

from naivete.classifiers.saving import load
from naivete.data.files import read, write
from naivete.data.generated import corral
from naivete.network.formats import read_network, write_network
from tests.cli.conftest import Run
from tests.network.formats import awkward, plain_network, same


@pytest.mark.parametrize("one", ["arff", "csv", "tsv.gz", "parquet"])
@pytest.mark.parametrize("two", ["arff.gz", "csv.gz", "tsv", "parquet", "csv"])
def test_from_every_format_to_every_other(run: Run, tmp_path: Path, one: str, two: str) -> None:
    write(corral(), tmp_path / f"a.{one}")
    ran = run("convert", tmp_path / f"a.{one}", tmp_path / f"b.{two}", "--kinds", "nominal")
    assert ran.code == 0, ran.err
    assert ran.out == f"{tmp_path}/b.{two}: 128 rows, 7 columns\n"
    converted = read(tmp_path / f"b.{two}", kinds=dict.fromkeys(map(str, corral().names), "nominal"))
    assert [list(column) for column in converted.columns] == [list(column) for column in corral().columns]


def test_as_json_and_safe(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n=1+1,2\n")
    ran = run("convert", tmp_path / "a.csv", tmp_path / "b.csv", "--spreadsheet-safe", "--json")
    assert ran.json["rows"] == 1
    assert "'=1+1" in (tmp_path / "b.csv").read_text()


READ, WRITTEN = ("bif", "xml", "net.gz", "xdsl"), ("bifxml", "net", "xdsl", "bif.gz")


@pytest.mark.parametrize(
    ("one", "two"),
    [
        pytest.param(one, two, marks=() if READ.index(one) == WRITTEN.index(two) else pytest.mark.slow)
        for one in READ
        for two in WRITTEN
    ],
)
def test_networks_from_every_format_to_every_other(run: Run, tmp_path: Path, one: str, two: str) -> None:
    write_network(awkward(), tmp_path / f"a.{one}")
    ran = run("convert", tmp_path / f"a.{one}", tmp_path / f"b.{two}")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{tmp_path}/b.{two}: 46 variables, 88 arcs, {awkward().cells:,} cells\n"
    assert same(read_network(tmp_path / f"b.{two}"), awkward())


def test_a_model(run: Run, model: Path, tmp_path: Path) -> None:
    ran = run("convert", model, tmp_path / "m.bif", "--json")
    assert ran.json == {"data": str(model), "file": str(tmp_path / "m.bif"), "variables": 4, "arcs": 4, "cells": 22}
    assert same(read_network(tmp_path / "m.bif"), load(model).network_)
    assert run("convert", model, tmp_path / "w.bif", "--target", "windy").code == 0
    assert read_network(tmp_path / "w.bif").name(-1) == "windy"


def test_arcs_only_are_noted(run: Run, tmp_path: Path) -> None:
    write_network(plain_network(), tmp_path / "a.bif")
    ran = run("convert", tmp_path / "a.bif", tmp_path / "a.dot")
    assert ran.code == 0
    assert "names and arcs only; states and tables are left out" in ran.err
    assert "written without states" in run("convert", tmp_path / "a.dot", tmp_path / "b.bif").err


def test_what_cannot_be_converted(run: Run, tmp_path: Path, model: Path) -> None:
    write_network(plain_network(), tmp_path / "a.bif")
    refused = {
        ("a.bif", "b.csv"): (2, "the name does not show the format of the network"),
        ("a.bif", "b.nvt"): (2, "the name does not show the format of the network"),
        ("weather.csv", "b.bif"): (2, "the name does not show the format"),
        ("a.bif", "a.bif"): (2, "would replace the input"),
        ("a.bif", "weather.nvt"): (5, "exists already"),
        ("absent.bif", "b.bif"): (5, "absent.bif"),
        ("cut.bif", "b.bif"): (3, "cut.bif:1: expected"),
        ("off.bif", "b.bif"): (3, "allow it with --tolerance, now"),
    }
    (tmp_path / "cut.bif").write_text("variable a {")
    (tmp_path / "off.bif").write_text("variable a { type discrete [ 2 ] { x, y }; }\nprobability ( a ) { table 0.3, 0.69; }\n")
    for (one, two), (code, message) in refused.items():
        ran = run("convert", tmp_path / one, tmp_path / two)
        assert (ran.code, ran.out) == (code, ""), ran.err
        assert message in ran.err
        assert ran.err.count("\n") == 1
    ran = run("convert", tmp_path / "off.bif", tmp_path / "b.bif", "--tolerance", "0.1")
    assert ran.code == 0
    assert "renormalized" in ran.err
    assert run("convert", tmp_path / "off.bif", tmp_path / "c.bif", "--tolerance", "2").code == 2
    assert run("convert", tmp_path / "a.bif", tmp_path / "c.bif", "--target", "Z").code == 2
