"""The word - in place of a data file: the table on standard input."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Put bytes on standard input; temporary files are made in a folder of their own, which must be empty at the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def put(content: bytes, *, terminal: bool = False) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: terminal))

    yield put
    assert list(folder.iterdir()) == []


def test_the_model_is_that_of_the_file(weather: Path, run: Run, piped: Any) -> None:
    one, two = weather.with_name("one.nvt"), weather.with_name("two.nvt")
    assert run("fit", weather, "--target", "play", "--model", "tan", "--out", one).code == 0
    piped(weather.read_bytes())
    ran = run("fit", "-", "--target", "play", "--model", "tan", "--out", two, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["data"] == "-"
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize("words", [("predict",), ("explain",)], ids=str)
def test_rows_for_a_model(words: tuple[str, ...], weather: Path, model: Path, run: Run, piped: Any) -> None:
    expected = run(*words, model, weather)
    piped(weather.read_bytes())
    ran = run(*words, model, "-")
    assert (ran.code, ran.out) == (0, expected.out.replace(str(weather), "-")), ran.err


@pytest.mark.parametrize("words", [("describe", "-"), ("evaluate", "-", "--models", "nb", "--folds", "2")], ids=lambda w: w[0])
def test_tables(words: tuple[str, ...], weather: Path, run: Run, piped: Any) -> None:
    expected = run(*(weather if word == "-" else word for word in words), "--target", "play")
    piped(weather.read_bytes())
    ran = run(*words, "--target", "play")
    assert ran.code == expected.code == 0, ran.err
    assert ran.out.splitlines()[0] == expected.out.splitlines()[0].replace(str(weather), "-")


def test_another_format_and_messages_with_the_place(run: Run, piped: Any) -> None:
    piped(b"@relation r\n@attribute a {x,y}\n@attribute c {n,p}\n@data\nx,n\ny,p\n")
    assert run("describe", "-", "--format", "arff").code == 0
    piped(b"a,b\n1,2\n3\n")
    ran = run("describe", "-")
    assert ran.code == 3
    assert ran.err.startswith("naivete: -")
    assert "temporary" not in ran.err


def test_what_cannot_be_read_is_refused(weather: Path, run: Run, piped: Any) -> None:
    piped(b"", terminal=True)
    ran = run("describe", "-")
    assert (ran.code, "standard input is a terminal, not a table; pipe one" in ran.err) == (2, True)
    piped(b"")
    assert run("describe", "-").code == 3
    assert "only once" in run("evaluate", "-", "-", "--target", "play").err
    out = weather.with_name("model.nvt")
    ran = run("fit", "-", "--target", "play", "--out", out, "--checkpoint", weather.with_name("point"))
    assert (ran.code, "cannot be used with --checkpoint" in ran.err) == (2, True)


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate", "describe", "explain"])
def test_the_help_says_so(command: str, run: Run) -> None:
    assert "- for standard input" in " ".join(run(command, "--help").out.split())
