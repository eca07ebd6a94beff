"""Text that is safe in HTML and SVG: everything is escaped, whoever wrote it."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Final

__all__ = [
    "COLOURS",
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

COLOURS: Final = ("#3b7dd8", "#d9692a", "#2b9a78", "#a657b4", "#b98a12", "#5f7f95", "#d1547f", "#7a8f2d")
"""The colours of lines and classes, in their order."""

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
"""How drawings of networks look, whatever page they stand on."""

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff]"
)

_STACKED: Final = re.compile(
    r"((?:[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]){2})[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


class Markup(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


def plain(value: object) -> str:
    """The value as text that HTML and XML can hold: what has no shape or turns the line around becomes U+FFFD.

    >>> plain("a\\x00b"), plain(None), plain("")
    ('a\\ufffdb', 'None', '(empty)')
    """
    text = _UNPRINTABLE.sub("\ufffd", str(value).replace("\n", " ").replace("\t", " "))
    return _STACKED.sub(r"\1", text) if text.strip() else "(empty)" if not text else "(blank)"


def escaped(value: object) -> Markup:
    """The value as markup: a `Markup` as it is, anything else as inert text, also inside a quoted attribute.

    >>> escaped('<a href="x">'), escaped(Markup("<b>"))
    ('&lt;a href=&quot;x&quot;&gt;', '<b>')
    """
    return value if isinstance(value, Markup) else Markup(html.escape(plain(value), quote=True))


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """An element with its children; `class_` gives class, `stroke_width` gives stroke-width, None leaves an attribute out.

    >>> element("text", "a < b", x=1.0, class_="name")
    '<text x="1" class="name">a &lt; b</text>'
    """
    inside = "".join(f' {k.rstrip("_").replace("_", "-")}="{attribute(v)}"' for k, v in attributes.items() if v is not None)
    return Markup(f"<{tag}{inside}>{''.join(map(escaped, children))}</{tag}>")


def attribute(value: object) -> str:
    """A value as it stands in an attribute: numbers short, everything else as text."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escaped(plain(value))


def text_width(text: str, size: float) -> float:
    """About how wide a text is, rather too wide than too narrow, in a sans-serif font of this size."""
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
    """The value as text, with an ellipsis where it would be wider or longer than this.

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
    """The text so that letters written from right to left do not move what stands around them."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text) else text


def image(
    title: object, description: str, body: Iterable[Markup], width: float, height: float, *, class_: str = "nv-net"
) -> Markup:
    """A drawing of this size as a self-contained piece of SVG, with its title and description for those who do not see it."""
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
    """A drawing, chart or table with a caption; what is too wide for the page scrolls by itself."""
    told = [] if caption is None else [element("figcaption", caption)]
    label = "figure" if caption is None or isinstance(caption, Markup) else caption
    return element("figure", content, *told, tabindex=0, role="group", aria_label=label)
