"""HTML and SVG elements in which all text is escaped."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = [
    "COLORS",
    "STYLE",
    "Markup",
    "Number",
    "attribute",
    "bidi_isolated",
    "element",
    "escaped",
    "figure",
    "image",
    "plain",
    "shorten",
    "text_width",
]

Number = float | tuple[float, float]
"""A value, or a value and its deviation."""

COLORS: Final = ("#3b7dd8", "#d9692a", "#2b9a78", "#a657b4", "#b98a12", "#5f7f95", "#d1547f", "#7a8f2d")
"""The colors of lines and classes, in order."""

_FONT: Final = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
STYLE: Final = (
    f".nv-net{{font-family:{_FONT};--f:var(--nv-feature,#3b7dd8);--c:var(--nv-class,#d9692a)}}"
    ".nv-net:root{color:#1c2430;background:#fff}"
    ".nv-net text{fill:currentColor;text-anchor:middle}"
    ".nv-net .nv-small{font-size:10.5px;opacity:.78}"
    ".nv-net .nv-start{text-anchor:start}"
    ".nv-net .nv-name{font-size:13px;font-weight:500}"
    ".nv-net .nv-title{font-size:15px;font-weight:600}"
    ".nv-net .nv-node rect{fill:var(--f);stroke:var(--f);stroke-width:1.2}"
    ".nv-net .nv-class rect{fill:var(--c);stroke:var(--c);stroke-width:1.6}"
    ".nv-net .nv-outside rect{stroke-dasharray:5 4}"
    ".nv-net .nv-lone{opacity:.5}"
    ".nv-net .nv-frame{fill:none;stroke:var(--c);stroke-opacity:.55;stroke-dasharray:2 4;stroke-linecap:round}"
    ".nv-net .nv-arcs{opacity:.58}"
    ".nv-net .nv-arc{fill:none;stroke:currentColor;stroke-linecap:round}"
    ".nv-net .nv-arc polygon{fill:currentColor;stroke:none}"
    ".nv-net .nv-given{stroke:var(--c)}.nv-net .nv-given polygon{fill:var(--c)}"
    ".nv-net .nv-arc:hover{stroke:var(--c)}.nv-net .nv-arc:hover polygon{fill:var(--c)}"
    ".nv-net .nv-hidden rect{fill:none;stroke-dasharray:1.5 3.5;stroke-linecap:round;stroke-width:1.8}"
    ".nv-net .nv-leaf rect{fill:var(--k,var(--c));stroke:var(--k,var(--c));stroke-width:1.4}"
    ".nv-net .nv-empty rect{stroke-dasharray:5 4}"
    ".nv-net .nv-end{text-anchor:end}"
    ".nv-net .nv-label{font-size:11px}"
    ".nv-net .nv-cell{fill:var(--f)}.nv-net .nv-rate{fill:var(--c)}"
    ".nv-net .nv-rule{stroke:currentColor;stroke-opacity:.25}"
    "@media (prefers-color-scheme:dark){.nv-net:root{color:#e4e8ee;background:#14181e}}"
)
"""The CSS of drawings of networks, which does not depend on the page that contains them."""

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff]"
)

_STACKED: Final = re.compile(
    r"((?:[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]){2})[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


class Markup(str):
    """Text that is markup and is not escaped again; notebooks show it as the drawing or table that it describes."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def plain(value: object) -> str:
    """Return the value as text that is valid in HTML and XML: control and bidirectional characters become U+FFFD.

    >>> plain("a\\x00b"), plain(None), plain("")
    ('a\\ufffdb', 'None', '(empty)')
    """
    text = _UNPRINTABLE.sub("\ufffd", str(value).replace("\n", " ").replace("\t", " "))
    return _STACKED.sub(r"\1", text) if text.strip() else "(empty)" if not text else "(blank)"


def escaped(value: object) -> Markup:
    """Return the value as markup: a `Markup` unchanged, anything else escaped, also for use in a quoted attribute.

    >>> escaped('<a href="x">'), escaped(Markup("<b>"))
    ('&lt;a href=&quot;x&quot;&gt;', '<b>')
    """
    return value if isinstance(value, Markup) else Markup(html.escape(plain(value), quote=True))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """Return an element with its children.

    The keyword `class_` is written as class, `stroke_width` as stroke-width; an attribute that is None is left out.

    >>> element("text", "a < b", x=1.0, class_="name")
    '<text x="1" class="name">a &lt; b</text>'
    """
    inside = "".join(f' {k.rstrip("_").replace("_", "-")}="{attribute(v)}"' for k, v in attributes.items() if v is not None)
    return Markup(f"<{tag}{inside}>{''.join(map(escaped, children))}</{tag}>")


def attribute(value: object) -> str:
    """Return a value as the text of an attribute: numbers with at most two decimals, everything else escaped."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escaped(plain(value))


def text_width(text: str, size: float) -> float:
    """Return an estimate of the width of a text in a sans-serif font of this size; rather too large than too small."""
    return size * sum(map(_em, text))


def _em(char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or ord(char) > 0xFFFF:
        return 1.25
    if char in "mwMW@%\u2014\ufffd":
        return 0.98
    return 0.4 if char in "iljtfrI.,:;'|!()[] " else 0.72 if char.isupper() else 0.62


def shorten(value: object, width: float, size: float, length: int = 60) -> str:
    """Return the value as text, cut and ended with an ellipsis where it is wider or longer than allowed.

    Parameters
    ----------
    value : any value.
    width : the largest width in pixels.
    size : the size of the font.
    length : the largest number of characters.

    >>> shorten("temperature", 60, 13)
    'temper…'
    """
    text = plain(value)[: length + 1]
    if text_width(text, size) <= width and len(text) <= length:
        return text
    end, used = 0, text_width("\u2026", size)
    while end < min(len(text), length) and used + text_width(text[end], size) <= width:
        used += text_width(text[end], size)
        end += 1
    return text[:end].rstrip() + "\u2026"


def bidi_isolated(text: str) -> str:
    """Return the text, isolated if it has right-to-left letters, so that these do not change the order of the text around it."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text) else text


def image(
    title: object, description: str, body: Iterable[Markup], width: float, height: float, *, class_: str = "nv-net"
) -> Markup:
    """Return a self-contained SVG drawing of this size, with a title and a description for screen readers."""
    return element(
        "svg",
        element("title", title),
        element("desc", description),
        element("style", Markup(STYLE)),
        *body,
        xmlns="http://www.w3.org/2000/svg",
        class_=class_,
        role="img",
        aria_label=shorten(title, 900, 15),
        viewBox=f"0 0 {attribute(width)} {attribute(height)}",
        width=width,
        height=height,
        style=f"max-width:100%;height:auto;--own:{attribute(width)}px",
    )


def figure(content: Markup, caption: object = None) -> Markup:
    """Return a drawing, chart or table with a caption; content that is too wide for the page can be scrolled."""
    captions = [] if caption is None else [element("figcaption", caption)]
    label = "figure" if caption is None or isinstance(caption, Markup) else caption
    return element("figure", content, *captions, tabindex=0, role="group", aria_label=label)
