"""XDSL, the format of GeNIe: nodes after their parents; a table lists the distributions, the last parent changing fastest.

pyAgrum writes and reads tables of several parents with the first one changing fastest. Its files name pyAgrum as their
application and are read in that order; files are written in the order of GeNIe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from naivete.errors import DataError, quoted
from naivete.network.formats.assembly import Declaration, Definition, Draft, Fill, flat
from naivete.network.formats.elements import Element, attribute, content, tree
from naivete.network.formats.nodes import Node, nodes_of, rows_of
from naivete.network.formats.notes import KEY
from naivete.network.formats.scanner import numbers_of
from naivete.network.network import Network

__all__ = ["draft", "pieces"]


def pieces(network: Network) -> Iterator[str]:
    """Yield the text of the network, piece by piece.

    >>> from naivete.network.formats import loads
    >>> next(line.strip() for line in "".join(pieces(loads("[a][b|a]", "string"))).splitlines() if "parents" in line)
    '<parents>a</parents>'
    """
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<smile version="1.0" id="naivete" numsamples="1000">\n  <nodes>\n'
    names = []
    for node in nodes_of(network, ordered=True):
        names.append(node.name)
        yield from _cpt(node)
    yield '  </nodes>\n  <extensions>\n    <genie version="1.0" app="naivete" name="naivete">\n'
    for name in names:
        yield f"      <node id={attribute(name)}>\n        <name>{content(name)}</name>\n      </node>\n"
    yield "    </genie>\n  </extensions>\n</smile>\n"


def _cpt(node: Node) -> Iterator[str]:
    yield f"    <cpt id={attribute(node.name)}>\n"
    yield from (f"      <state id={attribute(state)} />\n" for state in node.states)
    if node.parents:
        yield f"      <parents>{content(' '.join(node.parents))}</parents>\n"
    yield "      <probabilities>"
    for place, (_, numbers) in enumerate(rows_of(node)):
        yield f"{' ' if place else ''}{' '.join(numbers)}"
    note = f"      <property id={attribute(KEY)}>{content(node.note)}</property>\n" if node.note else ""
    yield f"</probabilities>\n{note}    </cpt>\n"


def draft(text: str, where: str) -> Draft:
    """Return the draft of an XDSL text; nodes are `cpt` or `deterministic`, extensions are ignored.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    root, parsed = tree(text, where), Draft(where)
    if root.tag != "smile":
        raise parsed.error(root.line, f"the root is {quoted(root.tag)} where XDSL has 'smile'")
    for element in root.all("dynamic"):
        raise parsed.error(element.line, "a dynamic network; only static ones are read")
    agrum = _by_agrum(root)
    for nodes in root.all("nodes"):
        for element in nodes.children:
            _node(element, parsed, agrum)
    return parsed


def _by_agrum(root: Element) -> bool:
    apps = (genie.attributes.get("app", "") for extension in root.all("extensions") for genie in extension.all("genie"))
    return any("agrum" in app.lower() for app in apps)


def _node(element: Element, parsed: Draft, agrum: bool) -> None:
    fills = {"cpt": _probabilities, "deterministic": _results}
    if element.tag not in fills:
        raise parsed.error(element.line, f"a node of type {quoted(element.tag)}; only 'cpt' and 'deterministic' are read")
    name = element.attributes.get("id", "")
    states = tuple(state.attributes.get("id", "") for state in element.all("state"))
    notes = [entry.text for entry in element.all("property") if entry.attributes.get("id") == KEY]
    parents = tuple(" ".join(element.texts("parents")).split())

    def error(problem: str) -> DataError:
        return parsed.error(element.line, f"{quoted(name)}: {problem}")

    parsed.declare(Declaration(name, states, element.line, *notes[:1]))
    fill = fills[element.tag](element, states, error)
    parsed.define(Definition(name, parents, element.line, _first_fastest(fill) if agrum else fill))


def _probabilities(element: Element, _: Sequence[str], error: Callable[[str], DataError]) -> Fill:
    texts = element.texts("probabilities")
    if len(texts) != 1:
        raise error(f"{len(texts)} elements 'probabilities' where one is expected")
    return flat(numbers_of(texts[0]), error)


def _results(element: Element, states: Sequence[str], error: Callable[[str], DataError]) -> Fill:
    """Return the function that fills the table of a deterministic node: one state for each configuration of its parents."""
    words = " ".join(element.texts("resultingstates")).split()
    codes = {state: code for code, state in enumerate(states)}
    unknown = next((word for word in words if word not in codes), None)
    if unknown is not None:
        raise error(f"the resulting state {quoted(unknown)} is not one of its states")

    def fill(shape: tuple[int, ...], _: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        table = np.zeros((math.prod(shape[:-1]), shape[-1]))
        if len(words) != len(table):
            raise error(f"{len(words)} resulting states where its parents have {len(table)} configurations")
        table[np.arange(len(words)), [codes[word] for word in words]] = 1
        return table.reshape(shape)

    return fill


def _first_fastest(fill: Fill) -> Fill:
    """Return the function that fills a table in which the first parent changes fastest; its axes keep the order of the parents."""

    def reversed_fill(shape: tuple[int, ...], states: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        *parents, variable = range(len(shape))
        table = fill((*reversed(shape[:-1]), shape[-1]), states)
        return table.transpose(*reversed(parents), variable)

    return reversed_fill
