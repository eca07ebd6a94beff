"""Words that nobody knows, and the ones that were meant."""

from __future__ import annotations

from collections.abc import Sequence

from naivete.errors import close_matches

__all__ = ["meant"]


def meant(word: object, known: Sequence[object], otherwise: str = "there are") -> str:
    """A hint for a message: the known word that looks most like this one, or else all of them.

    >>> meant("acuracy", ["accuracy", "brier"]), meant("x", ["accuracy", "brier"])
    ('did you mean accuracy?', 'there are accuracy, brier')
    """
    close = close_matches(word, known, 1)
    return f"did you mean {close[0]}?" if close else f"{otherwise} {', '.join(map(str, known)) or 'none'}"
