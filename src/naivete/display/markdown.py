"""Markdown in which names and values from data cannot become markup: escaped text and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["listed", "markdown_table", "markdown_text"]

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
LONGEST: Final = 80
"""Texts with more characters are shortened."""


def markdown_text(value: object, longest: int | None = LONGEST) -> str:
    r"""Return a value as Markdown text on one line, which shows it as it is.

    Characters with a meaning in Markdown, tables or HTML are escaped, and characters that cannot be printed, line breaks
    among them, are written as in Python. Texts that are empty or begin or end with a space are put into quotation marks.

    Parameters
    ----------
    value : object
        The value.
    longest : int or None, default=80
        Longer texts are shortened to this number of characters; None for no limit.

    Examples
    --------
    >>> print(markdown_text("a|b`c\n<d>"))
    a\|b\`c\\n&lt;d&gt;
    >>> print(markdown_text(" x"), markdown_text(1.5))
    " x" 1.5
    """
    text = str(value)
    text = text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
    text = "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
    text = text if text.strip() == text and text else f'"{text}"'
    text = re.sub(r"[\\`*_{}\[\]#|~$!]", r"\\\g<0>", text)
    return re.sub("[&<>]", lambda match: _ENTITIES[match[0]], text)


def listed(values: Sequence[object], most: int = 20) -> str:
    """Return values as Markdown text, separated by commas; after the first `most` of them, how many there are.

    >>> listed(["a", "b_c", "d"], 2), listed([])
    ('a, b\\\\_c, ... (3 in all)', 'none')
    """
    more = f", ... ({len(values):,} in all)" if len(values) > most else ""
    return ", ".join(map(markdown_text, values[:most])) + more or "none"


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table; the cells are Markdown, in which values are escaped already.

    >>> markdown_table(["class", "probability"], [["no", "0.25"]])
    ['| class | probability |', '|---|---|', '| no | 0.25 |']
    """
    lines = [_row(headers), "|" + "---|" * len(headers)]
    return [*lines, *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
