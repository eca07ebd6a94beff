"""What importing the package costs, and that every public name is there."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naivete

OPTIONAL = ["sklearn", "pandas", "polars", "pyarrow", "matplotlib", "dask", "torch", "scipy", "narwhals", "rich"]


def run(code: str, *words: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_package_imports_nothing_optional() -> None:
    assert run(f"import naivete, sys; print([m for m in {OPTIONAL} if m in sys.modules])") == "[]"


USE = """
import json
import sys
import numpy as np
import naivete
from naivete.cli import main
from naivete.errors import FileError

found = []
def loaded(*modules):
    found.append([module for module in modules if module in sys.modules])

naivete.KDB(k=1).fit(np.array([[0, 1], [1, 1]]), [0, 1]).predict(np.array([[0, 1]]))
loaded("polars", "matplotlib", "dask")
assert main(["fit", sys.argv[1] + ".csv", "--target", "y", "--out", sys.argv[1] + ".nvt"]) == 0
loaded("sklearn.model_selection", "sklearn.datasets", "rich", "naivete.display.page", "naivete.display.network_drawing")
naivete.TAN().fit_cases(sys.argv[1] + ".parquet", "y")
from naivete.evaluation import plots
loaded("polars", "matplotlib", "dask")
sys.modules["matplotlib"] = None
try:
    plots.confusion([[1, 0], [0, 1]], "ab")
except FileError as error:
    print(json.dumps([*found, str(error)]))
"""


def test_classifiers_files_the_command_line_and_plots_import_only_what_they_need(tmp_path: Path) -> None:
    rows = pa.table({"a": [0, 1, 0], "y": [0, 1, 1]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    (tmp_path / "rows.csv").write_text("a,y\n0,no\n1,yes\n0,yes\n")
    *loaded, message = json.loads(run(USE, str(tmp_path / "rows")).splitlines()[-1])
    assert loaded == [[], [], []]
    assert message == "plots need matplotlib; install it with: pip install naivete[plot]"


COLD = """
import json
import sys
import naivete

heavy = "sklearn", "scipy", "pandas", "pyarrow", "joblib"
loaded = {}
def note(step):
    loaded[step] = [name for name in heavy if name in sys.modules]

predicted = naivete.load(sys.argv[1] + ".nvt").predict([["a", "b"], ["b", None]]).tolist()
note("load")
modules = sum(name.split(".")[0] == "naivete" for name in sys.modules)

from naivete.cli import main
for words in (["predict"], ["show"], ["query", "--given", "x0=a"], ["explain", "--row", "1"]):
    files = [sys.argv[1] + ".nvt"] + [sys.argv[1] + ".csv"] * (words[0] in ("predict", "explain"))
    assert main([words[0], *files, *words[1:]]) == 0
    note(words[0])
print(json.dumps([predicted, modules, loaded]))
"""


def test_a_saved_model_predicts_shows_and_explains_without_scikit_learn_and_scipy(tmp_path: Path) -> None:
    rows, y = [["a", "b"], ["b", "c"], ["a", "c"], ["b", "b"]] * 5, ["no", "yes", "yes", "no"] * 5
    model = naivete.TAN().fit(rows, y)
    naivete.save(model, tmp_path / "cold.nvt")
    (tmp_path / "cold.csv").write_text("x0,x1\na,b\nb,c\n")
    predicted, modules, loaded = json.loads(run(COLD, str(tmp_path / "cold")).splitlines()[-1])
    assert predicted == model.predict([["a", "b"], ["b", None]]).tolist()
    assert loaded == {step: [] for step in ("load", "predict", "show", "query", "explain")}
    assert modules < 75  # of 400; fitting imports 150


@pytest.mark.parametrize("name", naivete.__all__)
def test_public_names_are_what_they_say(name: str) -> None:
    value = getattr(naivete, name)
    assert value is not None
    assert not isinstance(value, ModuleType), f"{name} is a module once the module of that name has been imported"


def test_public_names_survive_the_import_of_every_module() -> None:
    for module in pkgutil.walk_packages(naivete.__path__, "naivete."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):
                importlib.import_module(module.name)
    assert [name for name in naivete.__all__ if isinstance(getattr(naivete, name), ModuleType)] == []


def test_there_is_no_other_name() -> None:
    assert dir(naivete) == naivete.__all__
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        naivete.nonsense  # noqa: B018


def test_every_module_defines_the_names_it_lists() -> None:
    for module in pkgutil.walk_packages(naivete.__path__, "naivete."):
        if "dask" not in module.name and not module.name.endswith(("__main__", "libkernels", "device_triton")):
            listed = importlib.import_module(module.name)
            assert all(hasattr(listed, name) for name in getattr(listed, "__all__", ())), module.name
