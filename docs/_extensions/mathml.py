"""Formulas as MathML, which browsers draw without a script: the converter of docutils as a renderer of Sphinx."""

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml, pick_math_environment
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_math(writer: Any, node: nodes.math) -> None:
    writer.body.append(latex2mathml.tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_math_block(writer: Any, node: nodes.math_block) -> None:
    code = node.astext()
    environment = pick_math_environment(code)
    writer.body.append(latex2mathml.tex2mathml(f"\\begin{{{environment}}}{code}\\end{{{environment}}}", as_block=True))
    raise nodes.SkipNode
