"""BIF, the interchange format of the bnlearn repository: a block for each variable and one for each table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from naivete.errors import quoted
from naivete.network.formats.assembly import Declaration, Definition, Draft, Fill
from naivete.network.formats.nodes import Node, nodes_of, rows_of
from naivete.network.formats.notes import KEY
from naivete.network.formats.scanner import BIF, Scanner, numbers_of
from naivete.network.network import Network

__all__ = ["draft", "pieces"]


def pieces(network: Network) -> Iterator[str]:
    """Yield the text of the network, piece by piece.

    >>> from naivete.variables import Variable
    >>> coin = Network((Variable("side", ("heads", "tails")),), {-1: ()}, {-1: np.array([0.25, 0.75])})
    >>> print("".join(pieces(coin)), end="")
    network naivete {
    }
    variable side {
      type discrete [ 2 ] { heads, tails };
      property naivete = target ;
    }
    probability ( side ) {
      table 0.25, 0.75;
    }
    """
    nodes = list(nodes_of(network))
    states_of = {node.name: node.states for node in nodes}
    yield "network naivete {\n}\n"
    for node in nodes:
        note = f"  property {KEY} = {node.note} ;\n" if node.note else ""
        states = ", ".join(node.states)
        yield f"variable {node.name} {{\n  type discrete [ {len(node.states)} ] {{ {states} }};\n{note}}}\n"
    for node in nodes:
        yield from _probability(node, states_of)


def _probability(node: Node, states: dict[str, tuple[str, ...]]) -> Iterator[str]:
    parents = f" | {', '.join(node.parents)}" if node.parents else ""
    yield f"probability ( {node.name}{parents} ) {{\n"
    for codes, numbers in rows_of(node):
        labels = ", ".join(states[p][code] for p, code in zip(node.parents, codes, strict=True))
        yield f"  {f'({labels})' if codes else 'table'} {', '.join(numbers)};\n"
    yield "}\n"


def draft(text: str, where: str) -> Draft:
    """Return the draft of a BIF text.

    The rows of a table may have any order, `default` gives the rows that are not listed, and in a `table` with parents the
    variable itself changes slowest. Properties other than the note of this library are ignored.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    scanner, parsed = Scanner(text, where, BIF), Draft(where)
    while not scanner.at_end:
        line, word = scanner.line, scanner.word("a block")
        if word == "network":
            _network(scanner)
        elif word == "variable":
            parsed.declare(_variable(scanner, line))
        elif word == "probability":
            parsed.define(_definition(scanner, line, parsed))
        elif word == "property":
            scanner.text_until(";")
        else:
            raise scanner.error(f"expected network, variable or probability, found {quoted(word)}", line)
    return parsed


def _network(scanner: Scanner) -> None:
    while not scanner.accept("{"):
        scanner.word("'{'")
    while not scanner.accept("}"):
        scanner.text_until(";")


def _variable(scanner: Scanner, line: int) -> Declaration:
    words = []
    while not scanner.accept("{"):
        words.append(scanner.word("a name or '{'"))
    name, note, states = " ".join(words), "", list[str]()
    while not scanner.accept("}"):
        key = scanner.word("type or property")
        if key == "property":
            note = _note(scanner.text_until(";")) or note
        elif key == "type" and not states:
            states = _states(scanner, name)
        else:
            raise scanner.error(f"expected one type of {quoted(name)}, or a property, found {quoted(key)}")
    return Declaration(name, tuple(states), line, note)


def _note(text: str) -> str | None:
    """Return the note in the text of a property, None if it is another property."""
    key, equals, value = text.strip('" ').partition("=")
    return value.strip() if equals and key.strip() == KEY else None


def _states(scanner: Scanner, name: str) -> list[str]:
    kind = scanner.word("discrete")
    if kind != "discrete":
        raise scanner.error(f"the variable {quoted(name)} is {quoted(kind)}; only discrete variables are read")
    scanner.expect("[")
    announced = scanner.word("the number of states")
    scanner.expect("]")
    scanner.expect("{")
    line, states = scanner.line, scanner.items("}")
    scanner.expect(";")
    if announced != str(len(states)):
        raise scanner.error(f"{quoted(name)} has {len(states)} states where {quoted(announced)} are announced", line)
    return states


@dataclass
class _Rows:
    """The lines of a table: rows by the states of the parents, a default for all others, or the whole table at once."""

    scanner: Scanner
    name: str
    line: int
    rows: list[tuple[int, list[str], str]] = field(default_factory=list)
    default: str | None = None
    whole: str | None = None

    def fill(self, shape: tuple[int, ...], states: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return the table.  # (parents, variable)"""
        if self.whole is not None:
            values = self._numbers(self.whole, int(np.prod(shape)), self.line)
            return np.moveaxis(values.reshape(shape[-1], *shape[:-1]), 0, -1)
        table = np.empty(shape)
        if self.default is not None:
            table[...] = self._numbers(self.default, shape[-1], self.line)
        filled = np.zeros(shape[:-1], bool)
        codes = [{state: code for code, state in enumerate(labels)} for labels in states]
        for line, labels, text in self.rows:
            index = self._index(labels, codes, line)
            if filled[index]:
                raise self.scanner.error(f"the row {quoted(labels)} of {quoted(self.name)} occurs twice", line)
            filled[index] = True
            table[index] = self._numbers(text, shape[-1], line)
        if self.default is None and not filled.all():
            absent = [labels[code] for labels, code in zip(states, np.argwhere(~filled)[0].tolist(), strict=True)]
            raise self.scanner.error(f"the table of {quoted(self.name)} has no row for {quoted(absent)}", self.line)
        return table

    def _index(self, labels: list[str], codes: list[dict[str, int]], line: int) -> tuple[int, ...]:
        if len(labels) != len(codes):
            raise self.scanner.error(f"a row of {quoted(self.name)} names {len(labels)} states for {len(codes)} parents", line)
        unknown = next((label for label, known in zip(labels, codes, strict=True) if label not in known), None)
        if unknown is not None:
            problem = f"a row of {quoted(self.name)} names {quoted(unknown)}, which is not a state of that parent"
            raise self.scanner.error(problem, line)
        return tuple(code_of[label] for label, code_of in zip(labels, codes, strict=True))

    def _numbers(self, text: str, count: int, line: int) -> NDArray[np.float64]:
        values = numbers_of(text)
        if values is None or len(values) != count:
            problem = "something that is not a number" if values is None else f"{len(values)} numbers"
            raise self.scanner.error(f"{problem} in the table of {quoted(self.name)} where {count} numbers are needed", line)
        return values


def _definition(scanner: Scanner, line: int, parsed: Draft) -> Definition:
    scanner.expect("(")
    name, parents = _heading(scanner, parsed)
    scanner.expect("{")
    rows = _Rows(scanner, name, line)
    while not scanner.accept("}"):
        _row(scanner, rows)
    if rows.whole is not None and (rows.rows or rows.default is not None):
        raise scanner.error(f"the table of {quoted(name)} is given as a whole and by rows", line)
    fill: Fill = rows.fill
    return Definition(name, tuple(parents), line, fill)


def _heading(scanner: Scanner, parsed: Draft) -> tuple[str, list[str]]:
    """Return the variable and its parents, which follow a bar or, in old files, the variable itself."""
    words: list[str] = []
    while not scanner.accept(")"):
        if scanner.accept("|"):
            return " ".join(words), scanner.items(")")
        if not scanner.accept(","):
            words.append(scanner.word("a name"))
    if not words:
        raise scanner.error("expected the name of the variable of a table")
    name = " ".join(words)
    return (name, []) if name in parsed.declared else (words[0], words[1:])


def _row(scanner: Scanner, rows: _Rows) -> None:
    line = scanner.line
    if scanner.accept("("):
        rows.rows.append((line, scanner.items(")"), scanner.numbers()))
        return
    key = scanner.word("table, default or a row")
    if key == "property":
        scanner.text_until(";")
    elif key == "table" and rows.whole is None:
        rows.whole = scanner.numbers()
    elif key == "default" and rows.default is None:
        rows.default = scanner.numbers()
    else:
        raise scanner.error(f"expected one table, one default or rows of {quoted(rows.name)}, found {quoted(key)}", line)
