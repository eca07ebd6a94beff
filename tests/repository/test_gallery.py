"""The gallery and the notebooks: their form is checked always, and each is run in a process of its own among the slow tests."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted((EXAMPLES / "gallery").glob("plot_*.py"))
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
LEAST, LINES = 15, 100
"""The least number of scripts, and the most lines of one."""

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are those of a checkout")
scripts = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
notebooks = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)

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


def content(notebook: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(notebook.read_text("utf-8"))
    return read


def test_there_are_two_notebooks() -> None:
    assert {"first_look", "study"} <= {notebook.stem for notebook in NOTEBOOKS}


@notebooks
def test_outputs_of_a_notebook_are_stripped(notebook: Path) -> None:
    read = content(notebook)
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5)
    assert [cell["id"] for cell in read["cells"]] == [f"cell-{number}" for number in range(1, len(read["cells"]) + 1)]
    for cell in read["cells"]:
        assert cell["metadata"] == {}
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
        assert not MACHINE.search("".join(cell["source"]))
    assert set(read["metadata"]) == {"kernelspec", "language_info"}
    assert read["cells"][0]["cell_type"] == "markdown"
    assert read["cells"][0]["source"][0].startswith("# ")


@notebooks
def test_a_notebook_is_valid(notebook: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat checks notebooks")
    nbformat.validate(nbformat.read(notebook, as_version=4))


@pytest.mark.slow
@notebooks
def test_a_notebook_runs_and_shows_a_network(notebook: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="notebooks are executed with nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="notebooks are executed with nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="notebooks are executed with nbclient and ipykernel")
    pytest.importorskip("matplotlib")
    read = nbformat.read(notebook, as_version=4)
    folder = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(read, timeout=600, startup_timeout=600, kernel_name="python3", resources=folder).execute()
    shown = [output["data"].get("text/html", "") for cell in read.cells for output in cell.get("outputs", []) if "data" in output]
    assert any(html.startswith("<svg") and "nv-net" in html for html in shown)
