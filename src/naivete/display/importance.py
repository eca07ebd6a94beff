"""The importance of features and arcs, as numbers, text and HTML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from naivete.display.markup import Markup
from naivete.variables import Name

__all__ = ["Importance"]

Key = TypeVar("Key")

SHOWN = 30
"""The number of features and of arcs that are shown."""


@dataclass(frozen=True)
class Importance:
    """How much features and arcs contribute to the predictions of a classifier, in bits.

    Parameters
    ----------
    features : dict of {str: float}
        The mean absolute contribution of each feature to the log odds of the predicted class, by name.
    arcs : dict of {(str, str): float}
        The mean absolute change of the log odds by each arc between features, by (parent, child).
    note : str, default=""
        How the numbers were found, if they are estimates.
    """

    features: Mapping[Name, float]
    arcs: Mapping[tuple[Name, Name], float]
    note: str = ""

    def __str__(self) -> str:
        """Return the largest importances as text with bars."""
        blocks = [_lines("feature", {str(name): bits for name, bits in self.features.items()})]
        if self.arcs:
            blocks.append(_lines("arc", {f"{p} -> {x}": bits for (p, x), bits in self.arcs.items()}))
        return "\n\n".join([*blocks, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        return "".join(self.figures())

    def figures(self) -> list[Markup]:
        """Return a bar chart of the features and, if there are arcs, one of these.

        Returns
        -------
        list of str
            The charts as HTML.
        """
        from naivete.display.page import bars  # large, and learning does not need it

        features: dict[object, float] = dict(_largest(self.features).items())
        caption = f"Mean absolute contribution of each feature to the log odds, in bits. {self.note}".rstrip()
        charts = [bars(features, caption=caption)]
        if self.arcs:
            named: dict[object, float] = {f"{p} \u2192 {x}": bits for (p, x), bits in _largest(self.arcs).items()}
            charts.append(bars(named, caption="Mean absolute change of the log odds by each arc between features, in bits."))
        return charts


def _largest(values: Mapping[Key, float]) -> dict[Key, float]:
    """Return the largest values, in decreasing order."""
    return dict(sorted(values.items(), key=lambda item: -item[1])[:SHOWN])


def _lines(kind: str, values: Mapping[str, float]) -> str:
    largest = _largest(values)
    top = max(largest.values(), default=0.0) or 1.0
    width = max(map(len, [kind, *map(str, largest)]))
    lines = [f"{name!s:{width}}  {bits:7.3f}  {'+' * round(20 * bits / top)}".rstrip() for name, bits in largest.items()]
    more = [f"({len(values) - len(largest)} more)"] if len(values) > len(largest) else []
    return "\n".join([f"{kind:{width}}     bits", *lines, *more])
