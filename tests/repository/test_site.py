"""The sources of the documentation site fit together; `python3 dev.py docs` builds it and checks all links."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import naivete
from naivete.classifiers.registry import REGISTRY
from tests import ROOT

DOCS = ROOT / "docs"
GENERATED = {"api/generated/classifiers", "gallery/index"}
pytestmark = pytest.mark.skipif(not (ROOT / "dev.py").exists(), reason="the site is that of a checkout")


def sources() -> list[Path]:
    """The pages that are written by hand."""
    folders = ("_build", "gallery", "api/generated", "_templates")
    pages = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    return [page for page in pages if not page.relative_to(DOCS).as_posix().startswith(folders)]


def listed(page: Path) -> set[str]:
    """The pages that the tables of contents of a page name, relative to docs/."""
    names: set[str] = set()
    for options in re.findall(r"(?:^:::\{toctree\}\n(.*?)^:::$)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        names |= {line for line in options.splitlines() if line and not line.startswith(":")}
    for options in re.findall(r"^\.\. toctree::\n((?:   .*\n|\n)*)", page.read_text("utf-8"), re.MULTILINE):
        names |= {line.strip() for line in options.splitlines() if line.strip() and ":" not in line}
    folder = page.parent
    globbed = {
        path.relative_to(folder).with_suffix("").as_posix() for name in names if "*" in name for path in folder.glob(f"{name}.md")
    }
    return {(folder / name).relative_to(DOCS).as_posix() for name in {name for name in names if "*" not in name} | globbed}


def test_every_page_is_in_a_table_of_contents_and_every_entry_is_a_page() -> None:
    pages = {page.relative_to(DOCS).with_suffix("").as_posix() for page in sources()}
    entries = set().union(*map(listed, sources()))
    assert pages - entries == {"index"}
    assert entries - pages == GENERATED


def test_included_files_exist() -> None:
    included = [
        (page, name) for page in sources() for name in re.findall(r"^:::\{include\} (.*)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(included) >= 8
    for page, name in included:
        assert (page.parent / name).is_file(), name
    papers = {path.stem for path in (ROOT / "studies" / "pages").glob("*.md")}
    assert {path.stem for path in (DOCS / "papers").glob("*-*.md")} == papers


def test_the_reference_lists_every_public_name_once() -> None:
    """The page of the classifiers is made from the registry when the site is built."""
    names = re.findall(r"^   (\w+)$", (DOCS / "api" / "index.rst").read_text(), re.MULTILINE)
    names += [entry.name for entry in REGISTRY]
    assert sorted([*names, "__version__"]) == naivete.__all__


def test_extensions_are_installed_by_the_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["docs"]
    packages = {"pydata_sphinx_theme", "myst_parser", "numpydoc", "sphinx_gallery"}
    text = (DOCS / "conf.py").read_text()
    for package in packages:
        assert package in text
        assert any(line.startswith(package.replace("_", "-")) for line in extras), package
    for module in re.findall(r'^    "(\w+)",$', text.partition("exclude_patterns")[0], re.MULTILINE):
        assert module in packages or (DOCS / "_extensions" / f"{module}.py").exists(), module


def test_the_members_left_out_of_the_reference_exist() -> None:
    helpers = re.findall(r"^HELPERS = \{\n(.*?)^\}", (DOCS / "conf.py").read_text(), re.MULTILINE | re.DOTALL)[0]
    for name in re.findall(r"\w+", helpers):
        assert hasattr(naivete.NetworkClassifier, name), name


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The module that checks the built site."""
    specification = importlib.util.spec_from_file_location("check_site", DOCS / "check.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_links_without_target_and_addresses_elsewhere_are_faults(check: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="one">A</h1><a href="b.html#two">b</a><a href="https://example.org">elsewhere</a>')
    (tmp_path / "b.html").write_text('<a href="a.html#one">a</a><img src="picture.svg">')
    (tmp_path / "style.css").write_text("@import 'https://example.org/x.css'; b { background: url(//example.org/y.png) }")
    assert list(check.faults(tmp_path)) == [
        "a.html: no anchor for b.html#two",
        "b.html: no file for picture.svg",
        "style.css: loads https://example.org/x.css",
        "style.css: loads //example.org/y.png",
    ]
    (tmp_path / "c.html").write_text(
        '<script src="https://example.org/z.js"></script><link rel="stylesheet" href="//example.org/s.css">'
    )
    assert [line for line in check.faults(tmp_path) if line.startswith("c.html")] == [
        "c.html: loads https://example.org/z.js",
        "c.html: loads //example.org/s.css",
    ]
