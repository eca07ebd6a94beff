from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from naivete.cli import main

WEATHER = """outlook,temperature,windy,play
sunny,30.5,no,no
sunny,27.25,yes,no
rain,20.0,no,yes
rain,15.5,yes,no
overcast,28.0,no,yes
overcast,16.5,yes,yes
sunny,18.5,no,yes
rain,19.0,no,yes
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def go(*words: object) -> Ran:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return go


def command(*words: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "naivete", *map(os.fsencode, map(os.fspath, words))],
        capture_output=True, timeout=300, env=environment, check=False, **options,
    )  # fmt: skip


@pytest.fixture
def weather(tmp_path: Path) -> Path:
    path = tmp_path / "weather.csv"
    path.write_text(WEATHER)
    return path


@pytest.fixture
def model(weather: Path, run: Run) -> Path:
    path = weather.with_name("weather.nvt")
    assert run("fit", weather, "--target", "play", "--model", "kdb:k=1,theta=-inf", "--out", path).code == 0
    return path


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo on its smallest data set with three models, without the contents of its page, which have tests of their own."""
    from naivete.evaluation.demo import models, page

    domains = models.domains(quick=True)[:1]
    monkeypatch.setattr(models, "domains", lambda *, quick: domains)
    monkeypatch.setattr(models, "models_of", lambda _: ("majority", "nb", "kdb:k=2,theta=0.03"))
    monkeypatch.setattr(page, "report", lambda *_, folds: f"<p>{folds} folds</p>")
