"""Hints at text columns that were perhaps meant otherwise: numbers with signs or units, and signs of missing values.

Such columns are used as they are, since only the user knows what the texts mean. Like the rules about unsuitable columns, the hints
look at value counts alone and concern columns with at least `ENOUGH` observed values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from naivete._kernels.exact_sums import sums_as_numbers
from naivete.encoding.unsuitable_columns import ENOUGH, FEW, LISTED, RowWeights, amount_among, listed
from naivete.encoding.value_counts import ColumnCounts
from naivete.errors import quoted
from naivete.variables import Name

__all__ = ["TextHint", "advice_on_texts", "columns_with_hints", "text_hint"]

SIGNS: Final = frozenset(("?", "-", "N/A", "n/a", "#N/A", "NA", "null", "NULL", "nan", "NaN", "None"))
"""Texts by which other programs write missing values; `None` and `nan` are what Python makes of them."""
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?([eE][-+]?\d{1,3})?")
_TWO_LETTERS: Final = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True)
class TextHint:
    """What a text column perhaps stands for.

    Parameters
    ----------
    name : the name of the column.
    reason : what was seen, as a phrase.
    signs : the values that are usual signs of missing values.
    numbers : whether the other values are numbers.
    """

    name: Name
    reason: str
    signs: tuple[str, ...] = ()
    numbers: bool = False


def text_hint(column: ColumnCounts, row_weights: RowWeights) -> TextHint | None:
    """Return a hint at a text column, None if there is nothing to say about it.

    A column whose states are declared is meant to be text; there, only "?" is taken for a sign of missing values.

    Parameters
    ----------
    column : the value counts.
    row_weights : how many rows a weight stands for.
    """
    states = column.values
    if not isinstance(states, tuple) or len(states) < 2:
        return None
    signs = _signs(column)
    if not signs and len(states) <= FEW:
        return None
    rows = row_weights.rows(column.weights)
    observed = float(rows.sum())
    if observed < ENOUGH:
        return None
    others = [str(state).strip() for state in states if state not in signs]
    amount = amount_among(others) if len(others) > FEW and column.declared is None else None
    plain = not amount and bool(signs) and all(len(text) <= 40 and _NUMBER.fullmatch(text) for text in others[:1000])
    reasons = []
    if amount:
        reasons.append(f"numbers as text, such as {quoted(amount)}")
    if signs:
        missing = float(sums_as_numbers(column.missing).sum()) / row_weights.mean
        share = sum(float(rows[states.index(sign)]) for sign in signs) / (observed + missing)
        reasons.append(f"{' and '.join(map(quoted, signs))} in {_percent(share)} of the rows")
    if plain:
        reasons.append("all other values are numbers")
    return TextHint(column.name, "; ".join(reasons), signs, bool(amount) or plain) if reasons else None


def _signs(column: ColumnCounts) -> tuple[str, ...]:
    """Return the values that are usual signs of missing values, except where others show that they have a meaning here."""
    assert isinstance(column.values, tuple)
    signs = SIGNS.intersection(column.values)
    if column.declared is not None:
        signs &= {"?"}
    if "-" in signs and "+" in column.values:
        signs -= {"-"}
    if "NA" in signs and all(_TWO_LETTERS.fullmatch(str(state)) for state in column.values):  # codes of countries
        signs -= {"NA"}
    return tuple(sorted(map(str, signs)))


def _percent(share: float) -> str:
    """Return a share in per cent.

    >>> _percent(0.9), _percent(0.0561), _percent(0.00001)
    ('90 %', '5.6 %', 'less than 0.1 %')
    """
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.3g} %" if share >= 0.1 else f"{100 * share:.2g} %"


def advice_on_texts(hints: Iterable[TextHint]) -> list[str]:
    """Return what can be done about the columns with these hints.

    >>> advice_on_texts([TextHint("x", "numbers as text, such as '4%'", numbers=True)])
    ["convert numbers as text to numbers: as text they are values without an order (to use them so: `keep=('x',)`)"]
    """
    shown = list(hints)
    numbers = tuple(hint.name for hint in shown if hint.numbers)
    signs = tuple(sorted({sign for hint in shown for sign in hint.signs}))
    advice = []
    if numbers:
        keep = f"to use them so: `keep={numbers[:LISTED]!r}`"
        advice.append(f"convert numbers as text to numbers: as text they are values without an order ({keep})")
    if signs:
        count, them = ("counts as a value", "it") if len(signs) == 1 else ("count as values", "them")
        advice.append(
            f"{' and '.join(map(quoted, signs))} {count}: if missing values are meant, replace {them} by None, or read CSV files "
            f"with `missing={('', *signs)!r}`"
        )
    return advice


def columns_with_hints(hints: Sequence[TextHint]) -> str:
    """Return the part of a warning about these columns."""
    names = listed([f"{quoted(hint.name)} ({hint.reason})" for hint in hints])
    return f"columns to check: {names}; {'; '.join(advice_on_texts(hints))}"
