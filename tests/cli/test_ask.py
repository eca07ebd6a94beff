"""`naivete ask`: questions on standard output, answers from standard input."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from naivete.classifiers.saving import load
from tests.cli.conftest import WEATHER, Run


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from naivete.cli import main

    folder = tmp_path_factory.mktemp("ask")
    (folder / "weather.csv").write_text(WEATHER)
    assert (
        main(["fit", str(folder / "weather.csv"), "--target", "play", "--model", "nb", "--out", str(folder / "weather.nvt")]) == 0
    )
    return folder / "weather.nvt"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> object:
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_dialogue(run: Run, weather: Path, typed) -> None:  # type: ignore[no-untyped-def]
    best = load(weather).ask_next().best
    typed("yes\nsunny\n")
    ran = run("ask", weather, "--sure", "0.999", "--questions", "2")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"1. {best.feature} ({', '.join(best.answers)}; ? if unknown): yes"
    assert lines[1].startswith("2. ")
    assert lines[2] == "predicted class: no (the number of --questions is reached)"
    assert lines[4].split() == ["play", "probability"]


def test_an_answer_that_is_not_valid_is_asked_for_again(run: Run, weather: Path, typed) -> None:  # type: ignore[no-untyped-def]
    typed("perhaps\n\nno\n")
    ran = run("ask", weather, "--questions", "1")
    assert ran.code == 0
    assert ran.out.count("1. windy") == 3
    assert "variable 'windy' has no state 'perhaps'; it has ('no', 'yes')" in ran.err


def test_unknown_answers_and_the_end_of_the_input(run: Run, weather: Path, typed) -> None:  # type: ignore[no-untyped-def]
    typed("?\n")
    ran = run("ask", weather, "--json")
    assert ran.json["history"][0]["value"] is None
    assert ran.json["stopped"] == "end of input"
    assert ran.json["posterior"] == pytest.approx(load(weather).ask_next().posterior.tolist())
    assert "1. windy" in ran.err
    typed("")
    assert "predicted class: yes (the input has ended)" in run("ask", weather).out


def test_values_costs_and_losses(run: Run, weather: Path, typed, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    model = load(weather)
    typed("")
    ran = run("ask", weather, "--given", "temperature=18.5", "--costs", "outlook=1000", "--json")
    assert ran.json["remaining"] == model.ask_next({"temperature": 18.5}, costs={"outlook": 1000}).columns()
    (tmp_path / "loss.csv").write_text("decided,no,yes\nno,0,1\nyes,5,0\n")
    typed("")
    ran = run("ask", weather, "--loss", tmp_path / "loss.csv", "--json")
    assert ran.json["remaining"] == model.ask_next(loss=[[0, 1], [5, 0]]).columns()
    typed("")
    assert run("ask", weather, "--least-gain", "0.99", "--json").json["stopped"] == "gain"
    assert run("ask", weather, "--sure", "0.5", "--json").json["stopped"] == "posterior"


def test_wrong_options_are_refused(run: Run, weather: Path) -> None:
    for words, message in (
        (["--given", "outlok=rain"], "did you mean outlook?"),
        (["--given", "outlook"], "--given: 'outlook' names no value; write NAME=VALUE"),
        (["--costs", "outlook=dear"], "--costs: 'outlook': 'dear' is not a number"),
        (["--costs", "outlook=0"], "is not a cost"),
        (["--sure", "2"], "is not a probability"),
    ):
        ran = run("ask", weather, *words)
        assert ran.code in (2, 3)
        assert message in ran.err
        assert ran.out == ""


def test_it_works_in_a_pipe(run: Run, weather: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outlet, inlet = os.pipe()
    os.write(inlet, b"no\n?\n30\n")
    os.close(inlet)
    with open(outlet) as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        ran = run("ask", weather, "--json")
    assert ran.code == 0, ran.err
    assert [answer["value"] for answer in ran.json["history"]][:2] == ["no", None]
