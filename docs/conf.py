"""Configuration of the documentation site, which `python3 dev.py docs` builds into `docs/_build/html`."""

import shutil
import sys
from pathlib import Path
from typing import Any

import naivete
from naivete.classifiers.registry import REGISTRY

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "naivete"
author = "The naivete developers"
copyright = "The naivete developers"
release = version = naivete.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "commands",
    "drawings",
    "mathml",
    "public_names",
]
exclude_patterns = ["_build", "_templates"]
nitpicky = True
nitpick_ignore = [("py:class", "sklearn.exceptions.NotFittedError")]  # a base class; no address is looked up elsewhere
default_role = "literal"  # docstrings write names and values between single backquotes
highlight_language = "none"
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # numpydoc shows the types that the sections of a docstring name
autodoc_inherit_docstrings = True
autosummary_generate = True
toc_object_entries_show_parents = "hide"  # `fit()` instead of `TAN.fit()` in the narrow table of contents
numpydoc_show_class_members = False  # the templates of autosummary list the members
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_scrapers": ("drawings.scraper", "matplotlib"),
    "capture_repr": ("_repr_html_",),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("naivete",),
    "inspect_global_variables": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # a page that loads scripts from elsewhere
}

html_title = "naivete"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_show_search_summary = False  # a page that is opened from disk must not fetch others
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_sidebars = {"index": [], "changelog": [], "benchmarks": []}
html_theme_options = {
    "logo": {"text": "naivete"},
    "navbar_align": "left",
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


HELPERS = {
    "asks_network",
    "checked_encoder",
    "code_posteriors",
    "densities",
    "encoded",
    "ensemble",
    "fit_counts",
    "kept_counts",
    "learns_from_value_counts",
    "max_table_features",
    "more_of",
    "one_network",
    "plain_more",
    "reports_impossible",
    "routed_methods",
    "saved_attributes",
    "shares_counts",
    "training",
    "training_counts",
    "training_rows",
}
"""Members of classifiers and selectors that other modules of the library call and users do not need."""


def setup(app: Any) -> None:
    """Remove the generated pages of the last build, some of whose names may be gone; choose the members that pages show."""
    for folder in (app.srcdir, app.outdir):
        shutil.rmtree(Path(folder, "api", "generated"), ignore_errors=True)
    classifiers = Path(app.srcdir, "api", "generated", "classifiers.rst")
    classifiers.parent.mkdir(parents=True)
    classifiers.write_text(_classifiers())
    app.connect("autodoc-skip-member", _is_left_out)


def _classifiers() -> str:
    """Return the page with all classifiers of the registry, in its order."""
    names = "\n".join(f"   {entry.name}" for entry in REGISTRY)
    return (
        "Classifiers\n===========\n\nWhich one to choose: :doc:`/start/choose`.\n\n.. currentmodule:: naivete\n\n"
        f".. autosummary::\n   :toctree: .\n   :nosignatures:\n\n{names}\n"
    )


def _is_left_out(app: Any, kind: str, name: str, member: Any, *details: Any) -> bool | None:  # noqa: ARG001
    """Leave out helpers, and what is inherited from other libraries, whose documentation refers to its own pages."""
    module = getattr(member, "__module__", None)
    from_elsewhere = isinstance(module, str) and module.partition(".")[0] != "naivete"
    return True if name in HELPERS or from_elsewhere else None
