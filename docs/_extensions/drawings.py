"""Pictures of the gallery: the drawings that the examples make, beside the figures of matplotlib.

An example ends in an object that notebooks draw (`_repr_html_`) or in the text of an SVG drawing. The former is shown as it is in a
notebook, and its drawing is saved for the overview; the latter is shown as a picture.
"""

import ast
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst

_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def setup(app: Sphinx) -> dict[str, Any]:  # noqa: ARG001
    """Register nothing: `sphinx_gallery_conf` names the function."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **options: Any) -> str:  # noqa: ARG001
    """Save the drawing that a block ends in, and return the text that shows it unless the object is shown already."""
    ends_in_expression = isinstance(ast.parse(block[1]).body[-1], ast.Expr)
    value = block_vars["example_globals"].get("___") if ends_in_expression else None
    shown = callable(getattr(value, "_repr_html_", None))
    match = _SVG.search(value._repr_html_() if shown else value if isinstance(value, str) else "")
    if match is None:
        return ""
    path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
    path.write_text(match[0], "utf-8")
    return "" if shown else figure_rst([str(path)], gallery_conf["src_dir"])
