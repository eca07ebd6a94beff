"""Links from names in code, such as `TAN` or `naivete.read`, to the pages of the API reference."""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

import naivete

_NAME = re.compile(r"(?:naivete\.)?(\w+)(?:\(.*\))?", re.DOTALL)
_NO_LINKS = (nodes.title, nodes.reference, addnodes.pending_xref)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(_Links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def public_name(text: str) -> str | None:
    """Return the public name that a piece of code is or calls, or None.

    Names that begin with a small letter are also words of other meaning, so they need their module.
    """
    match = _NAME.fullmatch(text)
    if match is None or match[1] not in naivete.__all__:
        return None
    return match[1] if match[1][0].isupper() or text.startswith("naivete.") else None


class _Links(SphinxPostTransform):
    default_priority = 5  # before references are resolved

    def run(self, **options: Any) -> None:  # noqa: ARG002
        for literal in list(self.document.findall(nodes.literal)):
            name = public_name(literal.astext())
            if name and not self.env.docname.endswith(f".{name}") and not isinstance(literal.parent, _NO_LINKS):
                link = addnodes.pending_xref(refdomain="py", reftype="obj", reftarget=f"naivete.{name}", refdoc=self.env.docname)
                literal.replace_self(link)
                link += literal
