"""Names that every format accepts: letters, digits and underscores, unique regardless of case, no reserved words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

__all__ = ["Spelling", "legal", "plain", "spelled", "unique"]

Spelling = Callable[[str, str], str]
"""(text, prefix for texts that are not valid names) -> the written name."""

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
    """Return the text as an identifier of at most a hundred letters, digits and underscores that starts with a letter.

    >>> legal("petal width", "v"), legal("2", "s"), legal("Table", "s"), legal("", "v")
    ('petal_width', 's_2', 's_Table', 'v_')
    """
    word = _ODD.sub("_", text[:_LONGEST])
    valid = word[:1].isalpha() and word.casefold() not in _RESERVED
    return word if valid else f"{prefix}_{word}"


def plain(text: str, prefix: str) -> str:
    """Return the text itself, for libraries that accept any text that is not empty and has no null characters.

    >>> plain("petal width", "v"), plain("", "v")
    ('petal width', 'v')
    """
    return text.replace("\0", "_") or prefix


def spelled(texts: Iterable[str], prefix: str, spelling: Spelling) -> list[str]:
    """Return the written names of texts, in their order and all different.

    >>> spelled(["a b", "A_B", "c"], "v", legal)
    ['a_b', 'A_B_2', 'c']
    """
    return unique(spelling(text, prefix) for text in texts)


def unique(words: Iterable[str]) -> list[str]:
    """Return the words, with a number appended to those that occurred before, regardless of case.

    >>> unique(["x", "X", "x", "x_2"])
    ['x', 'X_2', 'x_3', 'x_2_2']
    """
    taken: set[str] = set()
    counts: dict[str, int] = {}
    names = []
    for word in words:
        name = word
        while name.casefold() in taken:
            counts[word.casefold()] = counts.get(word.casefold(), 1) + 1
            name = f"{word}_{counts[word.casefold()]}"
        taken.add(name.casefold())
        names.append(name)
    return names
