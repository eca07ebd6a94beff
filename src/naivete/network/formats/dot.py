"""Graphviz DOT: names and arcs, no states and no tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from naivete.errors import quoted
from naivete.network.formats.arcs import arcs_draft
from naivete.network.formats.assembly import Draft
from naivete.network.formats.identifiers import legal, spelled
from naivete.network.formats.notes import KEY, Malformed, Note, note_of, note_text
from naivete.network.formats.scanner import DOT, Scanner
from naivete.network.network import Network
from naivete.variables import CLASS, Variable

__all__ = ["draft", "pieces"]

_DEFAULTS: Final = ("node", "edge", "graph")


def pieces(network: Network) -> Iterator[str]:
    """Yield a digraph with a node for each variable and an arc for each parent, in the order of the parents.

    >>> from naivete.network.formats import loads
    >>> print("".join(pieces(loads("[rainy day][play|rainy day]", "string"))), end="")
    digraph naivete {
      rainy_day [label="rainy day", naivete="name:s:rainy~20day states:"];
      play [naivete="target"];
      rainy_day -> play;
    }
    """
    places = (*network.features, CLASS)
    texts = [str(network.name(v)) for v in places]
    names = dict(zip(places, spelled(texts, "v", legal), strict=True))
    yield "digraph naivete {\n"
    for v, text in zip(places, texts, strict=True):
        same = network.name(v) == names[v]
        note = note_text(Note(None if same else Variable(network.name(v)), target=v == CLASS))
        label = [] if same else [f"label={_quoted(text)}"]
        attributes = ", ".join([*label, *([f'{KEY}="{note}"'] if note else [])])
        yield f"  {names[v]} [{attributes}];\n" if attributes else f"  {names[v]};\n"
    for v in places:
        yield from (f"  {names[p]} -> {names[v]};\n" for p in network.parents[v])
    yield "}\n"


def _quoted(text: str) -> str:
    r"""Return a text as a quoted label.

    >>> _quoted('say "a\nb"')
    '"say \\"a b\\""'
    """
    shown_text = "".join(char if char.isprintable() else " " for char in text[:200])
    return '"{}"'.format(shown_text.replace("\\", "\\\\").replace('"', '\\"'))


def draft(text: str, where: str) -> Draft:
    """Return the draft of a simple digraph: nodes and chains of arcs. Attributes are ignored; subgraphs are errors.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    return _Graph(Scanner(text, where, DOT)).draft()


class _Graph:
    """The nodes and arcs of a digraph."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.parents: dict[str, dict[str, None]] = {}
        self.lines: dict[str, int] = {}
        self.notes: dict[str, Note] = {}
        self.strict = False

    def draft(self) -> Draft:
        """Read the whole text and return its draft."""
        scanner = self.scanner
        word = scanner.word("digraph").lower()
        if word == "strict":
            self.strict, word = True, scanner.word("digraph").lower()
        if word != "digraph":
            raise scanner.error(f"expected digraph, found {quoted(word)}; only directed graphs are networks")
        if scanner.next != "{":
            scanner.word("a name or '{'")
        scanner.expect("{")
        while not scanner.accept("}"):
            self._statement()
        if not scanner.at_end:
            raise scanner.expected("the end")
        return arcs_draft({name: tuple(parents) for name, parents in self.parents.items()}, self.lines, self.notes, scanner.where)

    def _statement(self) -> None:
        scanner = self.scanner
        if scanner.accept(";"):
            return
        bare, quoted = scanner.next != '"', scanner.next == '"'
        chain = [self._name()]
        if bare and chain[0].lower() in _DEFAULTS and scanner.next == "[":
            self._attributes()
            return
        if scanner.accept("="):
            self._value()
            return
        if bare and not quoted and chain[0].lower() == "subgraph":
            raise scanner.error("a subgraph; only nodes and arcs are read")
        self._node(chain[0])
        while scanner.accept("->"):
            chain.append(self._name())
            self._node(chain[-1])
            self._arc(chain[-2], chain[-1])
        attributes = self._attributes()
        if KEY in attributes and len(chain) == 1:
            self._note(chain[0], attributes[KEY])

    def _name(self) -> str:
        if self.scanner.next == "{":
            raise self.scanner.error("a subgraph; only nodes and arcs are read")
        if self.scanner.text.startswith("--", self.scanner.position):
            raise self.scanner.error("an edge without direction; only arcs -> are read")
        negative = self.scanner.accept("-")
        name = f"{'-' * negative}{self.scanner.word('a name')}"
        while self.scanner.accept(":"):
            self.scanner.word("a port")
        return name

    def _node(self, name: str) -> None:
        if name not in self.parents:
            self.parents[name], self.lines[name] = {}, self.scanner.line

    def _arc(self, parent: str, child: str) -> None:
        if parent in self.parents[child] and not self.strict:
            raise self.scanner.error(f"the arc from {quoted(parent)} to {quoted(child)} occurs twice")
        self.parents[child][parent] = None

    def _attributes(self) -> dict[str, str]:
        attributes = {}
        while self.scanner.accept("["):
            while not self.scanner.accept("]"):
                key = self.scanner.word("an attribute")
                self.scanner.expect("=")
                attributes[key] = self._value()
                if not self.scanner.accept(","):
                    self.scanner.accept(";")
        return attributes

    def _value(self) -> str:
        if self.scanner.next == "<":
            raise self.scanner.error("a label in HTML; only plain ones are read")
        negative = self.scanner.accept("-")
        return f"{'-' * negative}{self.scanner.word('a value')}"

    def _note(self, name: str, text: str) -> None:
        try:
            self.notes[name] = note_of(text)
        except Malformed:
            raise self.scanner.error(f"the note {KEY!r} of {quoted(name)} is not what this library writes; remove it") from None
