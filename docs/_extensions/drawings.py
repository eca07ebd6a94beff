"""Pictures of the gallery: the SVG drawings that an example makes, beside the figures of matplotlib.

The last expression of a block is shown as a picture if it is the text of an SVG drawing, or an object with a method `svg()` or
`_repr_svg_()`, or a path of an SVG file.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx_gallery.scrapers import figure_rst


def setup(app: Sphinx) -> dict[str, Any]:  # noqa: ARG001
    """Nothing to register: `sphinx_gallery_conf` names the function."""
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **options: Any) -> str:  # noqa: ARG001
    """Save the drawing of a block and return the text that shows it."""
    text = drawing(block_vars["example_globals"].get("___"))
    if text is None:
        return ""
    path = Path(next(block_vars["image_path_iterator"])).with_suffix(".svg")
    path.write_text(text, "utf-8")
    return figure_rst([str(path)], gallery_conf["src_dir"])


def drawing(value: Any) -> str | None:
    """Return the SVG text of a value, or None."""
    for method in ("_repr_svg_", "svg"):
        if callable(getattr(value, method, None)):
            return str(getattr(value, method)())
    if isinstance(value, Path) and value.suffix == ".svg":
        return value.read_text("utf-8")
    return str(value) if isinstance(value, str) and value.lstrip().startswith("<svg") else None
