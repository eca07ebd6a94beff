from __future__ import annotations

from pathlib import Path

import pytest

from naivete.domains import corral
from naivete.files import read, write
from tests.cli.conftest import Run


@pytest.mark.parametrize("one", ["arff", "csv", "tsv.gz", "parquet"])
@pytest.mark.parametrize("two", ["arff.gz", "csv.gz", "tsv", "parquet", "csv"])
def test_from_every_format_to_every_other(run: Run, tmp_path: Path, one: str, two: str) -> None:
    write(corral(), tmp_path / f"a.{one}")
    ran = run("convert", tmp_path / f"a.{one}", tmp_path / f"b.{two}", "--kinds", "nominal")
    assert ran.code == 0, ran.err
    assert ran.out == f"{tmp_path}/b.{two}: 128 rows, 7 columns\n"
    found = read(tmp_path / f"b.{two}", kinds=dict.fromkeys(map(str, corral().names), "nominal"))
    assert [list(column) for column in found.columns] == [list(column) for column in corral().columns]


def test_as_json_and_safe(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n=1+1,2\n")
    ran = run("convert", tmp_path / "a.csv", tmp_path / "b.csv", "--spreadsheet-safe", "--json")
    assert ran.json["rows"] == 1
    assert "'=1+1" in (tmp_path / "b.csv").read_text()
