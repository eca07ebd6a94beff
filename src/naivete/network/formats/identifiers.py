"""Names that every format takes: letters, digits and underscores, unique whatever the case, no word of a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

__all__ = ["Spelling", "legal", "plain", "spelled", "unique"]

Spelling = Callable[[str, str], str]
"""A text and the prefix of what cannot stand alone -> how it is written."""

_ODD: Final = re.compile(r"[^A-Za-z0-9_]")
_LONGEST: Final = 100
_RESERVED: Final = frozenset(
    (
        *("class", "continuous", "data", "decision", "default", "digraph", "discrete", "domain", "edge"),
        *("function", "graph", "label", "net", "network", "node", "potential", "probability", "property"),
        *("states", "strict", "subgraph", "table", "type", "utility", "variable"),
    )
)


def legal(text: str, prefix: str) -> str:
    """The text as an identifier of at most a hundred letters, digits and underscores, a letter first.

    >>> legal("petal width", "v"), legal("2", "s"), legal("Table", "s"), legal("", "v")
    ('petal_width', 's_2', 's_Table', 'v_')
    """
    word = _ODD.sub("_", text[:_LONGEST])
    stands = word[:1].isalpha() and word.casefold() not in _RESERVED
    return word if stands else f"{prefix}_{word}"


def plain(text: str, prefix: str) -> str:
    """The text as it is, for libraries that take any but the empty one and zero characters.

    >>> plain("petal width", "v"), plain("", "v")
    ('petal width', 'v')
    """
    return text.replace("\0", "_") or prefix


def spelled(texts: Iterable[str], prefix: str, spelling: Spelling) -> list[str]:
    """The texts as different words, in their order.

    >>> spelled(["a b", "A_B", "c"], "v", legal)
    ['a_b', 'A_B_2', 'c']
    """
    return unique(spelling(text, prefix) for text in texts)


def unique(words: Iterable[str]) -> list[str]:
    """The words, those that occurred before (in any case) with a number after them.

    >>> unique(["x", "X", "x", "x_2"])
    ['x', 'X_2', 'x_3', 'x_2_2']
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    found = []
    for word in words:
        own = word
        while own.casefold() in taken:
            counts[word.casefold()] = counts.get(word.casefold(), 1) + 1
            own = f"{word}_{counts[word.casefold()]}"
        taken.add(own.casefold())
        found.append(own)
    return found
