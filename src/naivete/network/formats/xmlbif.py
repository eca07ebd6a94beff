"""XMLBIF 0.3: BIF in XML; a table lists the distributions of the variable, its last parent changing fastest."""

from __future__ import annotations

from collections.abc import Iterator

from naivete.errors import DataError, quoted
from naivete.network.formats.assembly import Declaration, Definition, Draft, flat
from naivete.network.formats.elements import Element, content, tree
from naivete.network.formats.nodes import Node, nodes_of, rows_of
from naivete.network.formats.notes import KEY
from naivete.network.formats.scanner import numbers_of
from naivete.network.network import Network

__all__ = ["draft", "pieces"]


def pieces(network: Network) -> Iterator[str]:
    """Yield the text of the network, piece by piece.

    >>> from naivete.network.formats import loads
    >>> print("".join(list(pieces(loads("[a]", "string")))[1:2]), end="")
    <VARIABLE TYPE="nature">
      <NAME>a</NAME>
      <OUTCOME>never_seen</OUTCOME>
      <PROPERTY>naivete = target name:s:a states:</PROPERTY>
    </VARIABLE>
    """
    nodes = list(nodes_of(network))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>naivete</NAME>\n'
    for node in nodes:
        outcomes = "".join(f"  <OUTCOME>{content(state)}</OUTCOME>\n" for state in node.states)
        note = f"  <PROPERTY>{KEY} = {content(node.note)}</PROPERTY>\n" if node.note else ""
        yield f'<VARIABLE TYPE="nature">\n  <NAME>{content(node.name)}</NAME>\n{outcomes}{note}</VARIABLE>\n'
    for node in nodes:
        yield from _definition(node)
    yield "</NETWORK>\n</BIF>\n"


def _definition(node: Node) -> Iterator[str]:
    given = "".join(f"  <GIVEN>{content(parent)}</GIVEN>\n" for parent in node.parents)
    yield f"<DEFINITION>\n  <FOR>{content(node.name)}</FOR>\n{given}  <TABLE>\n"
    for _, numbers in rows_of(node):
        yield f"    {' '.join(numbers)}\n"
    yield "  </TABLE>\n</DEFINITION>\n"


def draft(text: str, where: str) -> Draft:
    """Return the draft of an XMLBIF text.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    root, parsed = tree(text, where), Draft(where)
    if root.tag != "BIF":
        raise parsed.error(root.line, f"the root is {quoted(root.tag)} where XMLBIF has 'BIF'")
    networks = list(root.all("NETWORK"))
    if len(networks) != 1:
        raise parsed.error(root.line, f"{len(networks)} networks in the file where one is expected")
    for element in networks[0].all("VARIABLE"):
        parsed.declare(_declaration(element, parsed))
    for element in networks[0].all("DEFINITION", "PROBABILITY"):
        parsed.define(_definition_of(element, parsed))
    return parsed


def _declaration(element: Element, parsed: Draft) -> Declaration:
    kind = element.attributes.get("TYPE", "nature")
    if kind.lower() not in ("nature", "discrete"):
        raise parsed.error(element.line, f"a variable of type {quoted(kind)}; only those of type 'nature' are read")
    notes = [value.strip() for key, _, value in map(_parted, element.texts("PROPERTY")) if key.strip() == KEY]
    states = tuple(element.texts("OUTCOME") + element.texts("VALUE"))
    return Declaration(_one(element, "NAME", parsed), states, element.line, *notes[:1])


def _parted(text: str) -> tuple[str, str, str]:
    return text.partition("=")


def _one(element: Element, tag: str, parsed: Draft) -> str:
    texts = element.texts(tag)
    if len(texts) != 1:
        raise parsed.error(element.line, f"{len(texts)} elements {tag} where one is expected")
    return texts[0]


def _definition_of(element: Element, parsed: Draft) -> Definition:
    name = _one(element, "FOR", parsed)
    values = numbers_of(_one(element, "TABLE", parsed))

    def error(problem: str) -> DataError:
        return parsed.error(element.line, f"{quoted(name)}: {problem}")

    return Definition(name, tuple(element.texts("GIVEN")), element.line, flat(values, error))
