"""The model strings of bnlearn, such as [A][B|A][C|A:B]: names and parents, no states and no tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from naivete.errors import DataError, quoted
from naivete.network.formats.arcs import arcs_draft
from naivete.network.formats.assembly import Draft
from naivete.network.network import Network
from naivete.variables import CLASS

__all__ = ["draft", "pieces"]

_ODD: Final = re.compile(r"[\[\]|:\r\n]")


def pieces(network: Network) -> Iterator[str]:
    """Yield the model string, the class last; raise an error for names that are not texts or contain brackets, bars or colons.

    >>> from naivete.network.formats import loads
    >>> "".join(pieces(loads("[C][A|C][B|C:A]", "string", target="C")))
    '[A|C][B|A:C][C]\\n'
    """
    for name in (variable.name for variable in network.variables):
        if type(name) is not str or _ODD.search(name) or name != name.strip() or not name:
            raise DataError(f"network: the name {quoted(name)} cannot be written in a model string; rename it, or write BIF")
    for v in (*network.features, CLASS):
        given = ":".join(str(network.name(p)) for p in network.parents[v])
        yield f"[{network.name(v)}{'|' if given else ''}{given}]"
    yield "\n"


def draft(text: str, where: str) -> Draft:
    """Return the draft of a model string. It has no end mark: a string that is cut off after a bracket is a smaller network.

    Parameters
    ----------
    text : the text of a file.
    where : the name of the text in error messages.
    """
    parents: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int] = {}
    line = 1
    pieces = text.split("]")
    for piece in pieces[:-1]:
        line += piece.count("\n")
        start, bracket, inner = piece.partition("[")
        if start.strip() or not bracket:
            raise DataError(f"{where}:{line}: expected '[', found {quoted(piece.strip()[:20])}")
        name, bar, given = inner.partition("|")
        if "[" in inner or "|" in given or not name.strip() or (bar and not all(p.strip() for p in given.split(":"))):
            raise DataError(f"{where}:{line}: {quoted(f'[{inner[:40]}]')} is not [name] or [name|parent:parent]")
        if name.strip() in parents:
            raise DataError(f"{where}:{line}: the variable {quoted(name.strip())} is declared twice")
        parents[name.strip()] = tuple(p.strip() for p in given.split(":")) if bar else ()
        lines[name.strip()] = line
    if pieces[-1].strip():
        raise DataError(f"{where}:{line}: expected '[' or the end, found {quoted(pieces[-1].strip()[:20])}; is the file complete?")
    return arcs_draft(parents, lines, {}, where)
