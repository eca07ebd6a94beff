"""Export to C99: compiled without warnings, run with sanitizers, with the probabilities of the library."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from naivete import KDB, TAN, Encoder, Full, Network, ParameterError, Variable
from naivete.classifiers.export import c_code, export
from naivete.network.derived_columns import Hidden
from tests.classifiers.export.samples import (
    Sample,
    any_network,
    classifiers,
    fitted,
    frame,
    hostile_model,
    network_sample,
    one_state_networks,
    one_state_sample,
    sample,
)

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O0", "-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
OK, IMPOSSIBLE, INEXACT, UNSEEN, INVALID = range(5)
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler (cc, gcc or clang) on the path")

MAIN = """
#include <stdio.h>

#define RUN(name, columns, classes, count, rows)                                       \\
    for (int r = 0; r < (count); r++) {                                                \\
        double p[classes];                                                             \\
        printf("%d", name##_predict_proba((rows) + r * (columns), p));                 \\
        for (int c = 0; c < (classes); c++) printf("\\t%.17g", p[c]);                  \\
        putchar('\\n');                                                                \\
    }

int main(void) {
"""


def compiled(text: str, folder: Path, *flags: str) -> Path:
    source, program = folder / "model.c", folder / "model"
    source.write_text(text, encoding="ascii")
    ran = subprocess.run([COMPILER, *FLAGS, *flags, source, "-o", program, "-lm"], capture_output=True, text=True, check=False)
    if ran.returncode and "cannot find" in ran.stderr:
        pytest.skip("the C compiler has no libraries for -fsanitize=address,undefined")
    assert ran.returncode == 0, ran.stderr
    return program


def run(program: Path, text: str = "") -> list[np.ndarray]:
    ran = subprocess.run([program], input=text.encode("utf-8", "surrogatepass"), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return [np.array(line.split(b"\t"), float) for line in ran.stdout.splitlines()]


def initializer(value: Any, name: str) -> str:
    number = isinstance(value, float) and np.isnan(value)
    return ("{$P_NUMBER, NULL, NAN}" if number else c_code.c_value(value)).replace("$P", name.upper())


def results(samples: Sequence[Sample], folder: Path) -> list[np.ndarray]:
    """The codes and probabilities of the rows of each sample: all models in one program, with the rows as constants."""
    text, calls = "", ""
    for i, one in enumerate(samples):
        name = f"model{i}"
        text += export(one.model, "c", name=name)
        cells = [initializer(value, name) for row in one.rows for value in row.values()]
        text += f"static const {name}_value rows{i}[] = {{{', '.join(cells)}}};\n"
        columns, classes = len(one.rows[0]), one.expected.shape[1]
        calls += f"    RUN({name}, {columns}, {classes}, {len(one.rows)}, rows{i})\n"
    lines = iter(run(compiled(f"{text}{MAIN}{calls}    return 0;\n}}\n", folder)))
    return [np.array([next(lines) for _ in one.rows]) for one in samples]


def check(samples: Sequence[Sample], folder: Path) -> None:
    for one, result in zip(samples, results(samples, folder), strict=True):
        assert set(result[:, 0]) <= {OK, IMPOSSIBLE}
        np.testing.assert_allclose(result[:, 1:], one.expected, rtol=0, atol=1e-15)
        np.testing.assert_allclose(result[one.complete, 1:], one.expected[one.complete], rtol=0, atol=1e-15)


def can_be_in_c(network: Network) -> bool:
    """Whether all names and states are texts without U+0000 or numbers of double precision."""
    names = [*(v.name for v in network.variables), *(s for v in network.variables for s in v.states)]
    large = [n for n in names if isinstance(n, (int, float)) and not isinstance(n, bool) and float(n) != n]
    return not large and not any("\0" in str(name) for name in names)


def check_random(networks: list[Network], seed: int, folder: Path) -> None:
    check([network_sample(network, seed) for network in networks], folder)


random_networks = given(networks=st.lists(any_network.filter(can_be_in_c), min_size=4, max_size=4), seed=st.integers(0, 999))
once = settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@once
@random_networks
def test_random_networks(networks: list[Network], seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_random(networks, seed, tmp_path_factory.mktemp("c"))


@pytest.mark.slow
@settings(once, max_examples=30)
@random_networks
def test_many_random_networks(networks: list[Network], seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    check_random(networks, seed, tmp_path_factory.mktemp("c"))


@once
@given(networks=st.lists(one_state_networks, min_size=10, max_size=10), seed=st.integers(0, 999))
def test_columns_with_one_state(networks: list[Network], seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    check([one_state_sample(), *(network_sample(network, seed) for network in networks)], tmp_path_factory.mktemp("c"))


def test_a_hidden_variable_with_one_state_needs_no_sum(tmp_path: Path) -> None:
    variables = Variable("a", ("x", "y")), Variable("hidden", (0,)), Variable("class", ("no", "yes"))
    cpts = {0: np.array([[0.3], [0.7]]), 1: np.array([[1.0, 1.0]]), -1: np.array([0.4, 0.6])}
    network = Network(variables, {0: (1,), 1: (-1,), -1: ()}, cpts, derived={1: Hidden()})
    check([network_sample(network, 0)], tmp_path)


def test_classifiers(tmp_path: Path) -> None:
    check([sample(name) for name in ("unsmoothed tan", "state", "tree")], tmp_path)


@pytest.mark.slow
def test_all_classifiers(tmp_path: Path) -> None:
    check([sample(name) for name in classifiers()], tmp_path)


def test_hostile_names_stay_texts(tmp_path: Path) -> None:
    hostile = hostile_model()
    program = export(hostile.model, "c")
    assert program.isascii()
    assert program.count("/*") == program.count("*/")
    assert "??" not in program
    assert not any(line.endswith("\\") for line in program.splitlines())
    check([hostile], tmp_path)


def test_the_program_reads_rows_of_text(tmp_path: Path) -> None:
    def cell(value: Any) -> str:
        if value is None or value != value:
            return "\\N"
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")

    hostile = hostile_model("naive")
    program = compiled(export(hostile.model, "c"), tmp_path, "-DMODEL_MAIN")
    text = "".join("\t".join(map(cell, row.values())) + "\n" for row in hostile.rows)
    text += "\\N\n"  # cells at the end of a row may be left out
    result = np.array(run(program, text))
    np.testing.assert_allclose(result[:-1, 1:], hostile.expected, rtol=0, atol=1e-15)
    assert result[:, 0].tolist() == [OK] * len(result)


def test_values_that_are_refused(tmp_path: Path) -> None:
    X, y = frame()
    model = KDB(encoder=Encoder(unseen="error")).fit(X, y)
    known = {"text": "low", "whole": 1.0, "truth": True, "number": 0.0, "other": 1000.0}
    rows = [known, {**known, "text": "new"}, {**known, "number": np.inf}, {**known, "number": "3"}]
    (result,) = results([Sample(model, rows, np.zeros((4, 3)), np.ones(4, bool))], tmp_path)
    assert result[:, 0].tolist() == [OK, UNSEEN, INVALID, INVALID]
    assert np.isnan(result[1:, 1:]).all()


def test_rows_that_cannot_be_marginalized_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_code, "MOST_MESSAGES", 2)
    monkeypatch.setattr(c_code, "MOST_CONTINUOUS", 1)
    chosen, linked = sample("tan"), sample("linked")
    assert "$P_INEXACT is returned".replace("$P", "MODEL") in export(chosen.model, "c")
    for one, result in zip((chosen, linked), results([chosen, linked], tmp_path), strict=True):
        exact = result[:, 0] < INEXACT
        assert 0 < exact.sum() < len(exact)
        assert exact[one.complete].all()
        np.testing.assert_allclose(result[exact, 1:], one.expected[exact], rtol=0, atol=1e-15)
        assert np.isnan(result[~exact, 1:]).all()
    with pytest.raises(ParameterError, match="marginalizing the hidden variables"):
        export(fitted("hidden"), "c")


def test_missing_continuous_parents_are_marginalized(tmp_path: Path) -> None:
    X, y = frame()
    rows = X[["number", "other"]].assign(third=X["number"] * 0.5 + X["other"] + np.sin(np.arange(len(X))))
    model = Full(encoder=Encoder(numbers="normal")).fit(rows, y)
    check([Sample(model, rows.to_dict("records"), model.predict_proba(rows), np.zeros(len(X), bool))], tmp_path)


def test_names_and_numbers_that_c_cannot_hold() -> None:
    with pytest.raises(ParameterError, match="name='2x'"):
        export(fitted("naive"), "c", name="2x")
    with pytest.raises(ParameterError, match="name is an option of c, not of python"):
        export(fitted("naive"), "python", name="other")
    for value, message in (("a\0b", "U\\+0000"), (2**60 + 1, "cannot be stored as a double-precision number")):
        with pytest.raises(ParameterError, match=message):
            export(TAN().fit([[value], [0], [value]], ["no", "yes", "no"]), "c")
