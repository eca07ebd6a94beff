"""The plan of the package: few entries at the top, one line of rooms, and no private name used outside its room."""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests import ROOT

PACKAGE = ROOT / "src" / "naivete"
ENTRIES = 18
"""The most entries at the top of the package."""


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


KINDS = (ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Attribute, ast.Name)


@cache
def nodes() -> dict[Path, list[ast.AST]]:
    """The imports, definitions and names of every module."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path: [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, KINDS)] for path in paths}


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in ("_asdict", "_fields", "_make", "_replace")


def private_imports(path: Path) -> Iterator[str]:
    """The private names that a module imports from another room."""
    for node in nodes()[path]:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("naivete."):
            assert node.module is not None
            if node.module.split(".")[1] != room(path):
                yield from (f"line {node.lineno}: {node.module}.{a.name}" for a in node.names if private(a.name))


@cache
def defined(of: str) -> frozenset[str]:
    """The private names that the modules of a room define: functions, classes, attributes, fields and slots."""
    names: set[str] = set()
    for path, of_module in nodes().items():
        if room(path) == of:
            for node in of_module:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                    names.add(node.name)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    names.add(node.attr)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
    return frozenset(filter(private, names))


@cache
def defined_elsewhere(of: str) -> frozenset[str]:
    """The private names that other rooms define, and this one does not."""
    return frozenset().union(*map(defined, {room(path) for path in nodes()})) - defined(of)


def private_attributes(path: Path) -> Iterator[str]:
    """The private attributes of objects of other rooms that a module uses."""
    elsewhere = defined_elsewhere(room(path))
    for node in nodes()[path]:
        if isinstance(node, ast.Attribute) and node.attr in elsewhere:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def test_private_names_stay_in_their_room() -> None:
    used = {str(path.relative_to(PACKAGE)): [*private_imports(path), *private_attributes(path)] for path in nodes()}
    assert {path: names for path, names in used.items() if names} == {}


def test_the_top_of_the_package_is_small() -> None:
    listed = subprocess.run(["git", "ls-files", "src/naivete"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    names = {Path(line).parts[2] for line in listed.splitlines()} or {path.name for path in PACKAGE.iterdir()} - {"__pycache__"}
    assert len(names) <= ENTRIES, sorted(names)


def test_the_contract_is_one_line_of_rooms() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()} - {"__init__", "__main__", "__pycache__", "py.typed"}
    assert set(layers) == rooms
