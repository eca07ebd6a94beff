from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_the_table_and_the_path_of_the_page(run: Run, tmp_path: Path, small_demo: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("demo", "--quick")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1] == str(tmp_path / "naivete-demo.html")
    assert "kdb:k=2,theta=0.03" in ran.out
    assert (tmp_path / "naivete-demo.html").read_text() == "<p>5 folds</p>"
    again = run("demo", "--quick", "--json", "--progress")
    assert again.json["page"] == str(tmp_path / "naivete-demo.html")
    assert "of 15" in again.err
