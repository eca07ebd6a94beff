"""`python -m studies NAME`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies.command import PAPERS, main

from studies import sahami_1996


def test_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jensen-2007"]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[-1], err) == ("33 of 35 printed values reproduced, 2 misprints", "")
    assert out.isascii()


def test_json_markdown_and_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    assert main(["sahami-1996", "--quick", "--only", "Corral", "--json", "--html", str(page), "--markdown", str(text)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["name"], result["summary"][:9]) == ("sahami-1996", "8 of 8 ce")
    assert result["sheets"][0]["cells"][0]["printed"] == [88.4, 10.5]
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert text.read_text(encoding="utf-8").startswith("# sahami-1996\n")


def test_values_that_differ_are_no_failure(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    values: dict[str, Any] = sahami_1996.PRINTED["sets"]["Corral"]
    wrong = {**values, "naive": [10.0, 1.0], "KDB-orig": [[10.0, 1.0]] * 3, "KDB-theta": [[10.0, 1.0]] * 3}
    monkeypatch.setitem(sahami_1996.PRINTED["sets"], "Corral", wrong)
    assert main(["sahami-1996", "--quick", "--only", "Corral"]) == 0
    out = capsys.readouterr().out
    assert "differs (p " in out
    assert out.splitlines()[-1].startswith("0 of 8 cells within sampling error")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["sahami-1996", "--alternatives"], "--alternatives is for langley-1993, singh-provan-1995, not for sahami-1996"),
        (["jensen-2007", "--resume", "folder"], "--resume is for singh-provan-1995, not for jensen-2007"),
        (["sahami-1996", "--seed", "-1"], "argument --seed"),
        ([], "NAME"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    out, err = capsys.readouterr()
    assert (stopped.value.code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("name", PAPERS)
def test_an_unknown_data_set(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--only", "Iris"]) == 1
    assert "'Iris': choose among" in capsys.readouterr().err


def test_files_that_cannot_be_read_or_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["sahami-1996", "--only", "Text", "--data", str(tmp_path / "nowhere")]) == 1
    assert "there is no such folder; --data has to name a folder" in capsys.readouterr().err
    page = str(tmp_path / "nowhere" / "report.md")
    assert main(["sahami-1996", "--quick", "--only", "Corral", "--markdown", page]) == 1
    assert "report.md" in capsys.readouterr().err
