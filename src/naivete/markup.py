"""Text that is safe in HTML and SVG: everything is escaped, whoever wrote it."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

__all__ = ["COLOURS", "Number", "Safe", "attribute", "cut", "element", "escaped", "figure", "isolated", "plain", "text_width"]

Number = float | tuple[float, float]
"""A value, or a value and its deviation."""

COLOURS: Final = ("#3b7dd8", "#d9692a", "#2b9a78", "#a657b4", "#b98a12", "#5f7f95", "#d1547f", "#7a8f2d")
"""The colours of lines and classes, in their order."""


_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff]"
)

_STACKED: Final = re.compile(
    r"((?:[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]){2})[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)


class Safe(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


def plain(value: object) -> str:
    """The value as text that HTML and XML can hold: what has no shape or turns the line around becomes U+FFFD.

    >>> plain("a\\x00b"), plain(None), plain("")
    ('a\\ufffdb', 'None', '(empty)')
    """
    text = _UNPRINTABLE.sub("\ufffd", str(value).replace("\n", " ").replace("\t", " "))
    return _STACKED.sub(r"\1", text) if text.strip() else "(empty)" if not text else "(blank)"


def escaped(value: object) -> Safe:
    """The value as markup: a `Safe` as it is, anything else as inert text, also inside a quoted attribute.

    >>> escaped('<a href="x">'), escaped(Safe("<b>"))
    ('&lt;a href=&quot;x&quot;&gt;', '<b>')
    """
    return value if isinstance(value, Safe) else Safe(html.escape(plain(value), quote=True))


def element(tag: str, *children: object, **attributes: object) -> Safe:
    """An element with its children; `class_` gives class, `stroke_width` gives stroke-width, None leaves an attribute out.

    >>> element("text", "a < b", x=1.0, class_="name")
    '<text x="1" class="name">a &lt; b</text>'
    """
    inside = "".join(f' {k.rstrip("_").replace("_", "-")}="{attribute(v)}"' for k, v in attributes.items() if v is not None)
    return Safe(f"<{tag}{inside}>{''.join(map(escaped, children))}</{tag}>")


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


def cut(value: object, width: float, size: float, length: int = 60) -> str:
    """The value as text, with an ellipsis where it would be wider or longer than this.

    >>> cut("temperature", 60, 13)
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


def isolated(text: str) -> str:
    """The text so that letters written from right to left do not move what stands around them."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(char) in ("R", "AL") for char in text) else text


def figure(content: Safe, caption: object = None) -> Safe:
    """A drawing, chart or table with a caption; what is too wide for the page scrolls by itself."""
    told = [] if caption is None else [element("figcaption", caption)]
    label = "figure" if caption is None or isinstance(caption, Safe) else caption
    return element("figure", content, *told, tabindex=0, role="group", aria_label=label)
