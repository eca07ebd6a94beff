"""HUGIN .net: a block for each node and one for each potential; the variable itself changes fastest, then its last parent."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete.errors import quoted
from naivete.network.formats.assembly import Declaration, Definition, Draft, Fill, flat
from naivete.network.formats.nodes import Node, nodes_of, rows_of
from naivete.network.formats.notes import KEY
from naivete.network.formats.scanner import HUGIN, Scanner, numbers_of
from naivete.network.network import Network

__all__ = ["draft", "pieces"]

_BRACKETS: Final = re.compile(r"[()]|[^()\s]+")
_KINDS: Final = ("continuous", "decision", "function", "utility")
_IGNORED: Final = ("experience", "fading")


def pieces(network: Network) -> Iterator[str]:
    """Yield the text of the network, piece by piece.

    >>> from naivete.variables import Variable
    >>> coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.25, 0.75])})
    >>> print("".join(pieces(coin)), end="")
    net {
    }
    node side {
      states = ("heads" "tails");
      naivete = "target";
    }
    potential (side) {
      data = (0.25 0.75);
    }
    """
    nodes = list(nodes_of(network))
    yield "net {\n}\n"
    for node in nodes:
        states = " ".join(f'"{state}"' for state in node.states)
        note = f'  {KEY} = "{node.note}";\n' if node.note else ""
        yield f"node {node.name} {{\n  states = ({states});\n{note}}}\n"
    for node in nodes:
        yield from _potential(node)


def _potential(node: Node) -> Iterator[str]:
    given = f" | {' '.join(node.parents)}" if node.parents else ""
    yield f"potential ({node.name}{given}) {{\n  data = "
    last = [card - 1 for card in node.table.shape[:-1]]
    for codes, numbers in rows_of(node):
        opened, closed = _trailing(codes, [0] * len(codes)), _trailing(codes, last)
        blanks = "\n    " if any(codes) else ""
        yield f"{blanks}{'(' * (opened + 1)}{' '.join(numbers)}{')' * (closed + 1)}"
    yield ";\n}\n"


def _trailing(codes: Sequence[int], bounds: Sequence[int]) -> int:
    """Return how many of the last codes are at their bounds, which is the number of brackets that open or close there.

    >>> _trailing((1, 0, 0), (0, 0, 0))
    2
    """
    return next((n for n, (code, bound) in enumerate(zip(codes[::-1], bounds[::-1], strict=True)) if code != bound), len(codes))


def draft(text: str, where: str) -> Draft:
    """Return the draft of a HUGIN text; fields other than states and probabilities are ignored.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    scanner, parsed = Scanner(text, where, HUGIN), Draft(where)
    inside = False
    while not scanner.at_end:
        line = scanner.line
        if inside and scanner.accept("}"):
            inside = False
            continue
        word = scanner.word("net, node or potential")
        if word == "net":
            for _ in _fields(scanner):
                scanner.text_until(";")
        elif word == "class" and not inside:
            scanner.word("the name of the class")
            scanner.expect("{")
            inside = True
        elif word in ("node", "discrete"):
            _node(scanner, line, parsed, word)
        elif word == "potential":
            parsed.define(_definition(scanner, line))
        elif inside and scanner.accept("="):
            scanner.text_until(";")
        elif word in _KINDS:
            raise scanner.error(f"a {word} node; only discrete ones are read", line)
        else:
            raise scanner.error(f"expected net, node or potential, found {quoted(word)}", line)
    if inside:
        raise scanner.expected("'}'")
    return parsed


def _fields(scanner: Scanner) -> Iterator[str]:
    """Yield the names of the fields of a block; the caller reads their values."""
    scanner.expect("{")
    while not scanner.accept("}"):
        key = scanner.word("a field or '}'")
        scanner.expect("=")
        yield key


def _node(scanner: Scanner, line: int, parsed: Draft, word: str) -> None:
    if word == "discrete" and scanner.word("node") != "node":
        raise scanner.error("expected a node after 'discrete'", line)
    name = scanner.word("the name of a node")
    states: dict[str, list[str]] = {}
    note = ""
    for key in _fields(scanner):
        if key in ("states", "state_values"):
            scanner.expect("(")
            states[key] = scanner.items(")")
            scanner.expect(";")
        elif key == KEY:
            note = scanner.text_until(";").strip('"')
        else:
            scanner.text_until(";")
    labels = states.get("states") or states.get("state_values") or []
    parsed.declare(Declaration(name, tuple(labels), line, note))


def _definition(scanner: Scanner, line: int) -> Definition:
    scanner.expect("(")
    children, parents = [], list[str]()
    while not scanner.accept(")"):
        if scanner.accept("|"):
            parents = scanner.items(")")
            break
        children.append(scanner.word("a name"))
    if len(children) != 1:
        raise scanner.error(f"a potential of {len(children)} variables; only conditional tables of one are read", line)
    data = None
    for key in _fields(scanner):
        if key == "data" and data is None:
            data = scanner.numbers(nested=True)
        elif key in _IGNORED:
            scanner.text_until(";")
        else:
            raise scanner.error(f"the field {quoted(key)} of a potential is not read, or stands there twice", line)
    if data is None:
        raise scanner.error(f"the potential of {quoted(children[0])} has no data", line)
    return Definition(children[0], tuple(parents), line, _fill(data, children[0], scanner, line))


def _fill(data: str, name: str, scanner: Scanner, line: int) -> Fill:
    def fill(shape: tuple[int, ...], states: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        if not _fits(data, shape):
            problem = f"the brackets of the data of {quoted(name)} do not fit {' x '.join(map(str, shape))} cells"
            raise scanner.error(problem, line)
        values = numbers_of(data.replace("(", " ").replace(")", " "))
        return flat(values, lambda problem: scanner.error(f"{quoted(name)}: {problem}", line))(shape, states)

    return fill


def _fits(data: str, shape: tuple[int, ...]) -> bool:
    """Return whether the brackets are those of a table of this shape, or one pair around all numbers.

    >>> _fits("((0.5 0.5) (1 0))", (2, 2)), _fits("(0.5 0.5 1 0)", (2, 2)), _fits("((0.5 0.5 1 0))", (2, 2))
    (True, True, False)
    """
    needed = shape if data.count("(") > 1 else (math.prod(shape),)
    counts: list[int] = []
    closed = False
    for token in _BRACKETS.finditer(data):
        word = token.group()
        if word == "(":
            if closed or len(counts) == len(needed):
                return False
            counts.append(0)
        elif word == ")":
            if not counts or counts.pop() != needed[len(counts)]:
                return False
            if counts:
                counts[-1] += 1
            closed = not counts
        elif len(counts) != len(needed):
            return False
        else:
            counts[-1] += 1
    return closed
