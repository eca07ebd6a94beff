"""Safe parsing of XML: no entities, no external references, bounded depth and size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from naivete.errors import DataError, quoted

__all__ = ["Element", "attribute", "content", "tree"]

_DEPTH: Final = 64
_TOKEN: Final = 1 << 20
"""The largest number of bytes of a tag, a comment or a document type."""
_CHUNK: Final = 1 << 16
_ATTLISTS: Final = 1000
_ELEMENTS: Final = 1_000_000


@dataclass(slots=True)
class Element:
    """An element of a document: its tag, attributes, line, child elements and pieces of text."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside, without surrounding white space."""
        return "".join(self.pieces).strip()

    def all(self, *tags: str) -> Iterator[Element]:
        """Return the child elements with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def texts(self, tag: str) -> list[str]:
        """Return the texts of the child elements with this tag."""
        return [child.text for child in self.all(tag)]


def tree(text: str, where: str) -> Element:
    """Return the root element of a document; raise an error for entities, external references, and excessive depth or size.

    A document type may declare elements and attributes only, as that of XMLBIF does.

    >>> tree("<a x='1'><b>text</b></a>", "text").children[0].text
    'text'
    """
    return _Builder(where).root(text.encode("utf-8", "replace"))


def content(text: str) -> str:
    """Return a text escaped for use between tags.

    >>> content("a < b")
    'a &lt; b'
    """
    return escape(text)


def attribute(text: str) -> str:
    """Return a text quoted and escaped as the value of an attribute.

    >>> attribute("a & b")
    '"a &amp; b"'
    """
    return quoteattr(text)


class _Builder:
    """The handlers of a parser, and the elements built so far."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.open: list[Element] = []
        self.root_element: Element | None = None
        self.attlists, self.elements = 0, 0
        self.parser = _parser(self)

    def root(self, data: bytes) -> Element:
        """Parse the document in chunks, so that an excessively long token is detected early, and return its root."""
        try:
            for start in range(0, len(data), _CHUNK):
                self.parser.Parse(data[start : start + _CHUNK], False)
                if start + _CHUNK - max(0, self.parser.CurrentByteIndex) > _TOKEN + _CHUNK:
                    self.refuse(f"a tag, comment or document type of more than {_TOKEN} bytes")
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, str(error)) if hasattr(expat.errors, "messages") else str(error)
            raise DataError(f"{self.where}:{error.lineno}: not well-formed XML: {words}; is the file complete?") from None
        assert self.root_element is not None  # the parser refuses an empty document
        return self.root_element

    def refuse(self, problem: str) -> NoReturn:
        raise DataError(f"{self.where}:{self.parser.CurrentLineNumber}: {problem} is refused; this is not a network file")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.open) == _DEPTH:
            self.refuse(f"an element more than {_DEPTH} deep")
        self.elements += 1
        if self.elements > _ELEMENTS:
            self.refuse(f"a document of more than {_ELEMENTS:,} elements")
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root_element = element
        self.open.append(element)

    def end(self, _: str) -> None:
        self.open.pop()

    def characters(self, text: str) -> None:
        self.open[-1].pieces.append(text)

    def doctype(self, _: str, system: str | None, public: str | None, __: bool) -> None:
        if system is not None or public is not None:
            self.refuse(f"an external document type ({quoted(system or public)})")

        self.parser.DefaultHandler = self.declaration

    def declared(self) -> None:
        self.parser.DefaultHandler = None

    def declaration(self, text: str) -> None:
        if text.startswith("%"):
            self.refuse(f"the entity {quoted(text)}")

    def attlist(self, *_: Any) -> None:
        self.attlists += 1
        if self.attlists > _ATTLISTS:
            self.refuse(f"a document type with more than {_ATTLISTS} attributes")

    def entity(self, name: str, *_: Any) -> None:
        self.refuse(f"the entity {quoted(name)}")

    def external(self, *_: Any) -> int:
        self.refuse("a reference to another file")


def _parser(handlers: _Builder) -> expat.XMLParserType:
    parser = expat.ParserCreate("utf-8")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.buffer_text = True
    parser.specified_attributes = True
    parser.StartElementHandler = handlers.start
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.characters
    parser.StartDoctypeDeclHandler = handlers.doctype
    parser.EndDoctypeDeclHandler = handlers.declared
    parser.AttlistDeclHandler = handlers.attlist
    parser.EntityDeclHandler = handlers.entity
    parser.UnparsedEntityDeclHandler = handlers.entity
    parser.NotationDeclHandler = handlers.entity
    parser.SkippedEntityHandler = handlers.entity
    parser.ExternalEntityRefHandler = handlers.external
    return parser
