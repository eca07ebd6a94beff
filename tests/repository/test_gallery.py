"""The gallery: the form of each script is checked always, and each is run in a process of its own among the slow tests."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted((EXAMPLES / "gallery").glob("plot_*.py"))
LEAST, LINES = 15, 100
"""The least number of scripts, and the most lines of one."""

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are those of a checkout")
scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)

MACHINE = re.compile(r"(?<![\w.])/(tmp|work|home|root|usr|var|Users)/|[A-Z]:\\|https?://(?!doi\.org|archive\.ics\.uci\.edu)")
"""Paths of one machine, and addresses other than those of papers and data."""

RUN = """
import ast, pathlib, sys
path = pathlib.Path(sys.argv[1])
*first, last = ast.parse(path.read_text("utf-8"), path.name).body
names = {"__name__": "__main__"}
exec(compile(ast.Module(first, []), path.name, "exec"), names)
value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
from matplotlib import pyplot
assert pyplot.get_fignums() or "<svg" in value._repr_html_()
"""
"""Run a script whose last statement is an expression, as a notebook does; there has to be a figure, or a drawing as its value."""


def test_there_are_enough_scripts_under_a_header() -> None:
    assert len(SCRIPTS) >= LEAST
    assert re.match(r"\w.*\n=+\n", (EXAMPLES / "gallery" / "README.rst").read_text("utf-8"))


@scripts
def test_form_of_a_script(script: Path) -> None:
    text = script.read_text("utf-8")
    tree = ast.parse(text, script.name)
    title, underline, blank, *about = (ast.get_docstring(tree) or "").splitlines()
    assert underline == "=" * len(title)
    assert (blank, bool(about)) == ("", True)
    assert "\n# %%\n" in text
    assert len(text.splitlines()) <= LINES
    assert not MACHINE.search(text)
    assert isinstance(tree.body[-1], ast.Expr), "the last statement shows the picture: plt.show(), or an object with a drawing"


@pytest.mark.slow
@scripts
def test_a_script_runs_and_draws(script: Path) -> None:
    for needed in ("matplotlib", "pandas", *(["dask", "distributed"] if "dask" in script.stem else [])):
        pytest.importorskip(needed)
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, script.name],
        cwd=script.parent,
        env={**environment, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
