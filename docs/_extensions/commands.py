"""The directive `commands`: a section for each command of `naivete` with its help text, and one for the models."""

import io
import os
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import patch

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from naivete.cli import COMMANDS, main


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", _Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class _Commands(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        models = _help("fit").partition("\nmodels:\n")[2]
        sections = {command.name: _help(command.name).partition("\nmodels:\n")[0] for command in COMMANDS}
        return [_section(name, text) for name, text in {**sections, "models": models}.items()]


def _section(name: str, text: str) -> nodes.section:
    section = nodes.section(ids=[name], names=[name])
    section += nodes.title(text=name)
    section += nodes.literal_block(text, text, language="none")
    return section


def _help(name: str) -> str:
    text = io.StringIO()
    with patch.dict(os.environ, {"COLUMNS": "84"}), redirect_stdout(text):
        main([name, "--help"])
    return text.getvalue()
