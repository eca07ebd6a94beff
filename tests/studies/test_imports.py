"""The reproductions use public names of the library only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import naivete
import studies

FILES = sorted(Path(studies.__file__).parent.rglob("*.py"))


def imported(file: Path) -> list[tuple[str, str]]:
    """The names that a file imports from the library, with their modules."""
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    found = [node for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "naivete"]
    return [(node.module or "", alias.name) for node in found for alias in node.names]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FILES[0].parent)))
def test_only_public_names_are_imported(file: Path) -> None:
    for module, name in imported(file):
        assert not any(part.startswith("_") for part in (*module.split("."), name.strip("_"))), f"{module}.{name} is private"
        if module != "naivete":
            assert name not in naivete.__all__, f"import {name} from naivete, not from {module}"
        assert not module.startswith("naivete.cli"), f"{module} belongs to the command line"
