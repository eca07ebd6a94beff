from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from naivete.classifiers.saving import load
from naivete.cli import main
from naivete.inference.queries import log_probability, most_probable, posterior
from naivete.network.formats import write_network
from naivete.network.network import Network
from naivete.variables import CLASS, Variable
from tests.cli.conftest import Run
from tests.network.formats import plain_network

NAMES = ("a=b", 7, "x\x1b[31m", "rain")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.bif"
    write_network(plain_network(), path)
    return path


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A network with a name that has = in it, one that is a number, one that is hostile, and a variable with cut points."""
    variables = (
        Variable(NAMES[0], (0, 1)),
        Variable(NAMES[1], cuts=(0.5, 1.5)),
        Variable(NAMES[2], ("\x1b[0m", "=1")),
        Variable(NAMES[3], ("no", "yes")),
    )
    cpts = {0: np.array([0.25, 0.75]), 1: np.array([0.5, 0.25, 0.25]), 2: np.array([0.5, 0.5]), CLASS: np.array([1.0, 0.0])}
    path = tmp_path / "odd.xdsl"
    write_network(Network(variables, dict.fromkeys((0, 1, 2, CLASS), ()), cpts), path)
    return path


def test_a_posterior(run: Run, plain: Path) -> None:
    ran = run("query", plain, "--given", "A=y", "C=k", "--of", "D", "B")
    assert (ran.code, ran.err) == (0, "")
    d, b = (posterior(plain_network(), name, {"A": "y", "C": "k"}).to_numpy() for name in "DB")
    lines = ran.out.splitlines()
    assert lines[:4] == ["P(D | A=y, C=k)", "D    probability", f"no      {d[0]:.6f}", f"yes     {d[1]:.6f}"]
    assert lines[4:6] == ["", "P(B | A=y, C=k)"]
    assert f"q     {b[1]:.6f}".split() == lines[8].split()


def test_all_that_is_not_known(run: Run, plain: Path) -> None:
    results = run("query", plain, "--given", "B=q", "--json").json
    assert results["given"] == [{"variable": "B", "value": "q"}]
    assert [entry["of"] for entry in results["posteriors"]] == ["A", "C", "D"]
    for entry in results["posteriors"]:
        assert entry["probabilities"] == pytest.approx(posterior(plain_network(), entry["of"], {"B": "q"}).to_numpy().tolist())
    assert "P(A)\n" in run("query", plain).out


def test_a_joint(run: Run, plain: Path) -> None:
    results = run("query", plain, "--given", "A=y", "--of", "D", "B", "--joint", "--json").json
    expected = posterior(plain_network(), ["D", "B"], {"A": "y"}).to_numpy()
    assert results["joint"]["of"] == ["D", "B"]
    assert np.allclose(results["joint"]["probabilities"], expected, atol=1e-15)
    lines = run("query", plain, "--given", "A=y", "--of", "D", "B", "--joint").out.splitlines()
    assert lines[:2] == ["P(D, B | A=y)", "D    B  probability"]
    assert lines[-1].split() == ["yes", "r", f"{expected[1, 2]:.6f}"]


def test_the_most_probable_states_and_the_probability_of_the_evidence(run: Run, plain: Path) -> None:
    results = run("query", plain, "--given", "D=yes", "--mpe", "--log-probability", "--json").json
    states, log = most_probable(plain_network(), {"D": "yes"})
    assert {entry["variable"]: entry["state"] for entry in results["most_probable"]["states"]} == states
    assert results["most_probable"]["log_probability"] == pytest.approx(log)
    assert results["log_probability"] == pytest.approx(log_probability(plain_network(), {"D": "yes"}))
    assert "posteriors" not in results
    out = run("query", plain, "--given", "D=yes", "--mpe", "--log-probability").out
    assert f"log P(D=yes) = {results['log_probability']:.6f}" in out
    assert "most probable states given D=yes: log P = " in out


def test_a_model(run: Run, model: Path) -> None:
    results = run("query", model, "--given", "outlook=rain", "temperature=17", "--of", "play", "--json").json
    expected = posterior(load(model).network_, "play", {"outlook": "rain", "temperature": 17.0}).to_numpy()
    assert results["posteriors"][0]["states"] == ["no", "yes"]
    assert results["posteriors"][0]["probabilities"] == pytest.approx(expected.tolist())
    other = run("query", model, "--given", "outlook=rain", "temperature=17", "--of", "play", "--target", "windy", "--json").json
    assert other["posteriors"][0]["probabilities"] == pytest.approx(expected.tolist())


def test_odd_names_and_values(run: Run, odd: Path) -> None:
    results = run("query", odd, "--given", "a=b=1", "7=0.75", f"{NAMES[2]}==1", "--log-probability", "--json").json
    assert results["log_probability"] == pytest.approx(math.log(0.75 * 0.25 * 0.5))
    out = run("query", odd, "--of", str(NAMES[2]), "7").out
    assert "\x1b" not in out
    assert "P(7)\n7           probability\n<= 0.5         0.500000" in out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--given", "A"], 2, "'A' names no state; write NAME=STATE"),
        (["--given", "A=x", "A=y"], 2, "'A' is given twice"),
        (["--given", "AA=x"], 3, "there is no variable 'AA'; did you mean A?"),
        (["--given", "A=z"], 3, "has no state 'z'"),
        (["--of", "Z"], 3, "there is no variable 'Z'"),
        (["--joint"], 2, "--joint needs the variables"),
        (["--target", "Z"], 2, "there is no variable 'Z'"),
        (["--off", "A"], 2, "there is no option '--off'; did you mean --of?"),
    ],
)
def test_what_is_wrong(run: Run, plain: Path, words: list[str], code: int, message: str) -> None:
    ran = run("query", plain, *words)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
    assert ran.err.count("\n") == 1


def test_what_is_impossible(run: Run, odd: Path) -> None:
    ran = run("query", odd, "--given", "rain=yes", "--of", "7")
    assert ran.code == 3
    assert "probability 0" in ran.err
    assert run("query", odd, "--given", "rain=yes", "--log-probability", "--json").json["log_probability"] is None


def test_files_that_are_no_networks(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    assert run("query", tmp_path / "a.csv").code == 2
    assert run("query", tmp_path / "absent.bif").code == 5
    (tmp_path / "a.nvt").write_text("a\n1\n")
    assert run("query", tmp_path / "a.nvt").code == 4


def test_a_network_without_states_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weather.bnl"
    file.write_text("[play][outlook|play]")
    assert main(["query", str(file)]) == 3
    assert "no states and no probabilities" in capsys.readouterr().err


def test_the_budget_that_a_refusal_names_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "weather.bif"
    write_network(
        Network((Variable("a", (0, 1)), Variable("b", (0, 1))), {0: (), -1: (0,)}, {0: np.full(2, 0.5), -1: np.full((2, 2), 0.5)}),
        file,
    )
    assert main(["query", str(file), "--budget", "8"]) == 5
    assert "raise --budget" in capsys.readouterr().err
    assert main(["query", str(file), "--budget", "1MB"]) == 0
