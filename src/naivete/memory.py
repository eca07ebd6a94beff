"""How much memory learning will take: reckoned from the schema before the work begins, and refused where it is too much."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from naivete.pairs import Panel

__all__ = ["occurring_bytes", "panel_bytes"]


def panel_bytes(panel: Panel, classes: int) -> int:
    """The counts of a panel's pairs of planes."""
    return 4 * panel.cells * classes


def occurring_bytes(cards: Sequence[int], rows: int | None) -> int:
    """At most what the configurations of a family take that occur, the class last: their states, and a count for each class."""
    cells = prod(cards[:-1])
    return 8 * (cells if rows is None else min(cells, rows)) * (cards[-1] + 2)
