"""The terms of a comparison: its measure, levels and units, and names and scores as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["SAME", "Terms", "visible"]

SAME: Final = 1e-12
"""Scores whose relative difference is smaller are equal up to rounding errors."""


@dataclass(frozen=True)
class Terms:
    """The terms of a comparison: the measure, whether higher is better, the significance level, and the practical equivalence.

    Parameters
    ----------
    measure : str
        The measure that is compared.
    higher_is_better : bool
        Whether higher values are better.
    alpha : float
        The significance level.
    rope : float
        The largest difference that does not matter in practice.
    """

    measure: str
    higher_is_better: bool
    alpha: float
    rope: float

    def value(self, score: float) -> str:
        """Return a score as text: accuracy in per cent, other measures unchanged.

        Parameters
        ----------
        score : float
            The score.

        Returns
        -------
        str
            The text.
        """
        return f"{100 * score:.1f}" if self.measure == "accuracy" else f"{score:.4g}"

    @property
    def label(self) -> str:
        """The measure as a heading."""
        return "accuracy in per cent" if self.measure == "accuracy" else visible(self.measure)

    @property
    def unit(self) -> str:
        """The unit of a score in sentences."""
        return " per cent accuracy" if self.measure == "accuracy" else f" {visible(self.measure)}"

    @property
    def region(self) -> str:
        """The region of practical equivalence (ROPE), with its unit."""
        percent = self.measure == "accuracy"
        return f"{100 * self.rope:g} point{'s' * (self.rope != 0.01)}" if percent else f"{self.rope:g}"


def visible(value: str) -> str:
    r"""Return the text on one line, with control characters escaped, which a terminal would interpret; an empty text in quotes.

    >>> visible("a\x1b[31m\nb"), visible("")
    ('a\\x1b[31m\\nb', "''")
    """
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
    return text if text.strip() else f"'{text}'"
