"""`naivete export`."""

from __future__ import annotations

from pathlib import Path

from naivete import load
from naivete.classifiers.export import export
from tests.cli.conftest import Run


def test_a_program_is_printed_or_written(run: Run, model: Path, tmp_path: Path) -> None:
    program = export(load(model), "python")
    assert run("export", model, "--to", "python").out == program
    file = tmp_path / "model.py"
    ran = run("export", model, "--to", "python", "--out", file)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{file}: ")
    assert file.read_text() == program
    assert run("export", model, "--to", "python", "--out", file).code == 5
    forced = run("export", model, "--to", "python", "--out", file, "--force", "--json")
    assert forced.json["bytes"] == file.stat().st_size


def test_a_network_file_is_exported(run: Run, model: Path, tmp_path: Path) -> None:
    assert run("convert", model, tmp_path / "network.bif").code == 0
    ran = run("export", tmp_path / "network.bif", "--target", "windy", "--to", "python")
    assert ran.code == 0
    assert '# Class: "windy", one of "no", "yes"' in ran.out


def test_wrong_usage(run: Run, model: Path) -> None:
    assert run("export", model, "--to", "python", "--output", "model.py").code == 2
    assert run("export", model, "--to", "cobol").code == 2
    assert "table is an option of sql, not of python" in run("export", model, "--to", "python", "--table", "data").err
    assert 'FROM "my data" AS t' in run("export", model, "--to", "sql", "--table", "my data", "--keys", "id", "day").out
    assert "--out" in run("export", model, "--to", "onnx").err
    assert "--out" in run("export", model, "--to", "python", "--json").err
