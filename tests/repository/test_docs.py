"""What the pages say can be done: Python blocks run, commands are understood, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shlex
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from naivete.classifiers.specification import classifier_of, parse_spec
from naivete.cli import COMMANDS, main
from naivete.cli.parsing import parse
from tests import LONG, ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
pages = pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])

NEEDS_GPU = 'use_kernels("gpu")'  # tests/_kernels/test_gpu.py runs it where torch is installed
NEEDS_SPARK = "from spark_recipe"  # tests/cases/test_spark_recipe.py runs the recipe
pytestmark = pytest.mark.skipif(not (ROOT / "dev.py").exists(), reason="the pages are those of a checkout")

RUN = (
    "README.md",
    "choose.md",
    "compare.md",
    "five-minutes.md",
    "heart-disease.md",
    "install.md",
    "larger-than-memory.md",
    "networks.md",
)
"""The pages whose commands are run; those of the others are only parsed."""

WEATHER = (
    "outlook,temperature,windy,play\n" + "sunny,30,no,no\nsunny,27,yes,no\nrain,20,no,yes\nrain,15,yes,no\novercast,28,no,yes\n" * 4
)


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of every fenced block."""
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL):
        yield match[1], match[2]


def patients(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    ill = rng.random(rows) < 0.4
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows) + 20 * ill,
            "smoker": np.where(rng.random(rows) < 0.3 + 0.4 * ill, "yes", "no"),
            "town": rng.choice(["north", "south"], rows),
            "diagnosis": np.where(ill, "ill", "well"),
        }
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as for Python started in this folder
    monkeypatch.setattr("naivete.cases.sources.resident", lambda: 150_000_000)  # not what all tests before have left behind
    frame = patients()
    frame.to_csv("patients.csv", index=False)
    frame.drop(columns="diagnosis").head(5).to_csv("new.csv", index=False)
    Path("weather.csv").write_text(WEATHER)
    shutil.copy(ROOT / "studies" / "data" / "heart-c.arff.gz", tmp_path)
    renamed = frame.rename(columns={"diagnosis": "y"})
    renamed.to_csv("a.csv", index=False)
    main(["convert", "a.csv", "b.arff"])
    for folder, own in (("big", renamed), ("rows", frame.rename(columns={"diagnosis": "class"})), ("new", renamed)):
        Path(folder).mkdir()
        own.to_parquet(Path(folder, "part.parquet"))
    return tmp_path


def what_the_reader_has(page: Path) -> dict[str, Any]:
    """Names that a page takes for granted."""
    if page.name != "larger-than-memory.md":
        return {}
    from naivete import KDB

    frame = patients()
    X, y = frame.drop(columns="diagnosis"), np.where(frame["diagnosis"] == "ill", "yes", "no")
    halves = [(X[:30], y[:30]), (X[30:], y[30:])]
    return {"batches": halves, "another": KDB(k=2).partial_fit(X, y, classes=["no", "yes"]), "X_old": X[:3], "y_old": y[:3]}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name in RUN or "```python" in page.read_text()], ids=str)
def test_page_runs(page: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the Python blocks of a page, and its commands where RUN names it, in their order; compare what they print."""
    space = {"__name__": "docs", **what_the_reader_has(page)}
    printed = ""
    for language, text in blocks(page):
        if language == "python" and NEEDS_SPARK not in text and NEEDS_GPU not in text:
            run_python(text, space, page)
        elif language == "" and page.name in RUN:
            printed = "".join([run_command(words, capsys) for words in command_lines(text)])
        elif language == "text" and page.name in RUN:
            assert doctest.OutputChecker().check_output(text, printed, doctest.ELLIPSIS), printed
    for picture in sorted(Path("pictures").glob("*.svg")):
        check_picture(picture, ROOT / "docs" / "pictures" / picture.name)


def run_python(text: str, space: dict[str, Any], page: Path) -> None:
    if ">>>" not in text:
        exec(compile(text, str(page), "exec"), space)
        return
    examples = doctest.DocTestParser().get_doctest(text, space, page.name, str(page), 0)
    failures: list[str] = []
    doctest.DocTestRunner().run(examples, out=failures.append, clear_globs=False)
    space.update(examples.globs)
    assert not failures, "".join(failures)


def run_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command and return what it prints."""
    words = words if LONG else with_fewer_folds(words)
    capsys.readouterr()
    status = main(words)
    output, errors = capsys.readouterr()
    assert status == 0, (words, errors)
    return output


def check_picture(drawn: Path, kept: Path) -> None:
    """Compare a picture that a page has drawn with the one in the repository; replace that one if NAIVETE_PICTURES=write."""
    if os.environ.get("NAIVETE_PICTURES") == "write":
        shutil.copy(drawn, kept)
    command = "NAIVETE_PICTURES=write pytest tests/repository/test_docs.py"
    assert drawn.read_text("utf-8") == kept.read_text("utf-8"), f"{kept.name} is not up to date: run {command}"


def test_every_picture_is_drawn_and_shown_by_a_page() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert f'"pictures/{picture.name}"' in text
        assert f"pictures/{picture.name})" in text
        assert picture.stat().st_size < 50_000


def command_lines(text: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in text.splitlines() if line.startswith("naivete ")]


@pages
def test_commands_are_understood(page: Path) -> None:
    for language, text in blocks(page):
        for words in command_lines(text) if language == "" else ():
            parse(COMMANDS, words)
    tool = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert tool is not None
    assert tool.loader is not None
    dev = importlib.util.module_from_spec(tool)
    tool.loader.exec_module(dev)
    for word in re.findall(r"python3 dev\.py ([a-z]\w*)", page.read_text()):
        assert word in dev.COMMANDS


def with_fewer_folds(words: list[str]) -> list[str]:
    """Return a command that does the same in less time."""
    fewer = ["--folds", "2"] if words[0] == "evaluate" else []
    return ["2x2-fold" if word == "10x10-fold" else word for word in words] + fewer


@pages
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        made = (
            page.parent / target == ROOT / "docs" / "gallery" / "index.rst"
            and (ROOT / "examples" / "gallery" / "README.rst").exists()
        )
        assert "://" in target or made or (page.parent / target).exists(), target  # the site's gallery is made from the scripts


def test_every_classifier_and_its_word_are_in_the_table_to_choose_from() -> None:
    from naivete.classifiers.registry import REGISTRY

    text = (ROOT / "docs" / "start" / "choose.md").read_text()
    for entry in REGISTRY:
        assert re.search(rf"\| `{entry.name}` \| `{entry.word}[`:]", text), entry.word


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text()
    for page in (ROOT / "docs" / "decisions").glob("0*.md"):
        assert page.name in listed


def test_every_module_is_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    for module in (ROOT / "src" / "naivete").iterdir():
        if module.name not in ("__pycache__", "py.typed", "__init__.py", "__main__.py", "_version.py"):
            assert re.search(rf"`[^`]*\b{module.stem}\b", text), module.name


def test_numbers_of_passes_are_those_of_the_guide() -> None:
    """The sections of the guide whose heading has a model state its passes on breast cancer: 'Passes, why: number'."""
    X, y = load_breast_cancer(return_X_y=True)
    stated = {}
    for page in ("learners.md", "features.md"):
        for section in (ROOT / "docs" / "guide" / page).read_text().split("\n## ")[1:]:
            models = re.findall(r"`([\w-]+)`", section.partition("\n")[0])
            passes = re.search(r"Passes(?:, [^:]*)?: (\d+)", section)
            if models and passes:
                stated[models[-1]] = int(passes[1])
    assert len(stated) > 12
    with warnings.catch_warnings(action="ignore"):
        assert {model: classifier_of(parse_spec(model)).fit(X, y).passes_ for model in stated} == stated
