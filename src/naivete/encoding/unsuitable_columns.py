"""Columns that carry no information for new rows: identifiers, dates and free text, found in their value counts.

The rules look at the values alone, not at the class, and they concern columns with at least `ENOUGH` observed values. A row whose
weight is a whole number counts as that many rows. Where some weights are not whole numbers, they are divided by their mean. See
docs/decisions/0019-columns-left-out.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Numbers
from naivete._kernels.exact_sums import LimbSums, propagate_carries, sums_as_numbers
from naivete.encoding.value_counts import ColumnCounts, ValueCounts
from naivete.errors import UnsuitableColumnWarning, quoted, warn
from naivete.variables import Name, State

__all__ = [
    "ENOUGH",
    "IF_MISSING_COUNTS",
    "OR_MISSING",
    "RowWeights",
    "Unsuitable",
    "amount_among",
    "listed",
    "unsuitable",
    "warn_unsuitable",
]

ENOUGH: Final = 50
"""With fewer observed values, different values in all rows are no reason to leave a column out."""
FEW: Final = 25
"""Text with at most this many different values is not looked at."""
NEARLY_UNIQUE: Final = 0.9
"""Text is nearly unique if there are more different values than this share of the observed ones."""
COMMON: Final = 5
"""A value that occurs less often is rare; a column is left out if most rows have a rare value."""
MOST_TEXTS_DIFFER: Final = 0.5
WORDS: Final = 4
"""Free text has at least this many words on average, and more different values than the share `MOST_TEXTS_DIFFER`."""
DENSE: Final = 2
"""Different whole numbers are row numbers if their range is at most this many times their number."""
SAMPLE: Final = 200
"""The number of values, spread over all of them, in which patterns are looked for."""
ALIKE: Final = 0.95
"""The share of the values that must have a pattern."""
LISTED: Final = 10
"""The number of columns that a warning lists."""

_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d{1,9})?)?( ?[AaPp][Mm])?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE: Final = re.compile(
    rf"(\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\3(\d{{4}}|\d{{2}})|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|"
    rf"{_MONTH} \d{{1,2}},? \d{{4}})([T ]{_CLOCK})?|{_CLOCK}",
    re.IGNORECASE,
)
_AMOUNT: Final = re.compile(r"[-+(]?([$€£¥]|[A-Z]{3})? ?[-+]?\d{1,3}([,.' ]?\d{3}){0,6}([.,]\d+)? ?([$€£¥%)]|[A-Z]{3})?")
_OF_ARRAY: Final = re.compile(r"x\d{1,9}")
"""The names of the columns of an array; an array of numbers holds measurements or codes, not identifiers."""
_ID: Final = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid)(?:$|[^a-z])|[a-z](?:Id|ID)(?:$|[^a-z])|^(?:ID|Id|UUID|GUID)s?$")


OR_MISSING: Final = "a single value or missing"
"""The reason given for a constant column with missing values."""
IF_MISSING_COUNTS: Final = f"{OR_MISSING}: it has an effect only where missing counts as a value, as with `missing='state'`"
"""What messages say once about all constant columns with missing values."""


@dataclass(frozen=True)
class Unsuitable:
    """A column that carries no information for new rows.

    Parameters
    ----------
    name : the name of the column.
    kind : "identifier", "row number", "date", "amount", "text", "many values" or "constant".
    reason : what was seen, as a phrase.
    """

    name: Name
    kind: str
    reason: str

    @property
    def left_out(self) -> bool:
        """Whether the column is left out; one with a single value has no effect anyway, except where missing is a state."""
        return self.kind != "constant"


@dataclass(frozen=True)
class RowWeights:
    """How many rows a weight stands for.

    Parameters
    ----------
    mean : the mean weight of the rows if some weights are not whole numbers, else 1: a row of weight 2 counts as two rows.
    whole : whether all weights are whole numbers.
    ones : whether all weights are 1.
    """

    mean: float = 1.0
    whole: bool = True
    ones: bool = True

    @classmethod
    def of(cls, counts: ValueCounts) -> RowWeights:
        """Return the row weights of these counts."""
        if not counts.weights:
            return cls()
        total = float(sums_as_numbers(counts.weights).sum())
        if not any(map(_has_fractions, (counts.weights, *(column.weights for column in counts.columns)))):
            return cls(ones=total == counts.rows)
        return cls(total / counts.rows if counts.rows > 0 else 1.0, whole=False, ones=False)

    def rows(self, sums: LimbSums) -> Numbers:
        """Return for how many rows the weight of each value stands; of means without the last digits, which are rounding errors."""
        weights = np.asarray(sums_as_numbers(sums).sum(axis=1), np.float64)
        return weights if self.whole else np.round(weights / self.mean, 6)

    def text(self, observed: float, column: ColumnCounts) -> str:
        """Return the number of rows with an observed value as text; it is estimated where it cannot be counted.

        >>> column = ColumnCounts("x", (), {}, {})
        >>> RowWeights().text(2500.0, column), RowWeights(0.1, whole=False, ones=False).text(2500.0, column)
        ('2,500 rows', '2,500 rows')
        """
        if self.whole:
            return f"{observed:,.10g} rows" if self.ones else f"rows of total weight {observed:,.10g}"
        return f"{'about ' if column.has_missing else ''}{observed:,.0f} rows"


def _has_fractions(sums: LimbSums) -> bool:
    """Whether some of these sums are not whole numbers."""
    return min(sums) < 0 and any(bool(part.any()) for q, part in propagate_carries(sums).items() if q < 0)


EACH_ROW_ONE: Final = RowWeights()


def unsuitable(column: ColumnCounts, few: int, row_weights: RowWeights = EACH_ROW_ONE) -> Unsuitable | None:
    """Return why a column carries no information for new rows, None if it may carry some.

    Parameters
    ----------
    column : the value counts.
    few : text with at most this many different values is not looked at.
    row_weights : how many rows a weight stands for.
    """
    distinct = len(column.values)
    if not distinct or 1 < distinct <= max(few, FEW):
        return None
    rows = row_weights.rows(column.weights)
    observed = float(rows.sum()) if row_weights.whole else round(float(rows.sum()), 3)
    if observed < ENOUGH:
        return None
    if isinstance(column.values, tuple) and distinct > 1:
        text = row_weights.text(observed, column)
        reason = _text(column.name, column.values, observed, text) or _many_values(column.name, rows, observed, text)
        amount = None if reason is None or reason.kind != "many values" else _amount(column.name, column.values)
        return amount or reason
    if isinstance(column.name, str) and _OF_ARRAY.fullmatch(column.name):
        return None
    if distinct == 1 and column.level == 0:
        some_missing = bool(sums_as_numbers(column.missing).any())
        return Unsuitable(column.name, "constant", OR_MISSING if some_missing else "a single value")
    return None if column.kind == "nominal" else _row_numbers(column, rows, row_weights)  # numbers that somebody declared nominal


def _many_values(name: Name, rows: Numbers, observed: float, text: str) -> Unsuitable | None:
    """Return the reason if nearly all values are different, or if most rows have a value that is rare."""
    size = f"{len(rows):,} different values in {text}"
    if len(rows) > NEARLY_UNIQUE * observed:
        return Unsuitable(name, "identifier", f"an identifier: {size}")
    if rows[rows < COMMON].sum() * 2 > observed:
        return Unsuitable(name, "many values", f"too few rows for most values: {size}; merge rare values")
    return None


def _text(name: Name, states: Sequence[State], observed: float, text: str) -> Unsuitable | None:
    distinct = len(states)
    sample = _sample(states)
    if _share(_DATE, sample) >= ALIKE:
        return Unsuitable(name, "date", "dates or times as text; use parts of them, such as the month, as columns")
    if distinct > MOST_TEXTS_DIFFER * observed and np.mean([example.count(" ") + 1 for example in sample]) >= WORDS:
        return Unsuitable(name, "text", f"free text: {distinct:,} different texts in {text}")
    return _amount(name, states) if distinct > NEARLY_UNIQUE * observed else None


def _amount(name: Name, states: Sequence[State]) -> Unsuitable | None:
    """Return the reason if the texts are numbers, not all of them digits alone, which may be codes."""
    example = amount_among(states)
    return (
        None
        if example is None
        else Unsuitable(name, "amount", f"numbers as text, such as {quoted(example)}; convert them to numbers")
    )


def amount_among(states: Sequence[State]) -> str | None:
    """Return an example if the texts are numbers, not all of them digits alone, which may be codes; None for other texts."""
    sample = _sample(states)
    if not all(text.isdigit() for text in sample) and _share(_AMOUNT, sample) >= ALIKE:
        return next(text for text in sample if _AMOUNT.fullmatch(text))
    return None


def _sample(states: Sequence[State]) -> list[str]:
    return [str(state).strip() for state in states[:: -(-len(states) // SAMPLE)]]


def _share(pattern: re.Pattern[str], sample: Sequence[str]) -> float:
    """Return the share of the texts that have the pattern; longer texts have none of the patterns."""
    return sum(len(text) <= 40 and pattern.fullmatch(text) is not None for text in sample) / len(sample)


def _row_numbers(column: ColumnCounts, rows: Numbers, row_weights: RowWeights) -> Unsuitable | None:
    """Return the reason if the numbers are whole and all different, and fill their range or have the name of an identifier."""
    assert not isinstance(column.values, tuple)
    assert column.tops is not None
    low, high = column.values.astype(np.float64), column.tops.astype(np.float64)
    if len(low) < ENOUGH or not (_whole(low) and _whole(high)):
        return None
    observed, span = float(rows.sum()), float(high[-1] - low[0] + 1)
    if row_weights.whole and (rows > high - low + 1).any():  # some value occurs twice
        return None
    if not row_weights.whole and (column.level or len(low) + 0.5 < observed):  # as far as their number shows
        return None
    observed = observed if row_weights.whole else float(len(low))
    named = column.level == 0 and isinstance(column.name, str) and _ID.search(column.name) is not None
    if span > DENSE * observed and not named:
        return None
    return Unsuitable(column.name, "row number", f"an identifier: {observed:,.10g} different whole numbers")


def _whole(numbers: NDArray[np.float64]) -> bool:
    return bool((numbers == np.floor(numbers)).all())


def warn_unsuitable(columns: Sequence[Unsuitable], more: str = "") -> None:
    """Name all columns that are left out or have no effect in one warning, with the reasons and with what can be done.

    Parameters
    ----------
    columns : the columns.
    more : what the warning says about other columns.
    """
    left_out = [column for column in columns if column.left_out]
    constant = [column for column in columns if not column.left_out]
    parts = []
    if left_out:
        names = tuple(column.name for column in left_out)
        with_reasons = listed([f"{quoted(column.name)} ({column.reason})" for column in left_out])
        parts.append(
            f"columns left out, since new rows have other values: {with_reasons}; remove these columns, or keep them with "
            f"the encoder setting `keep={names[:LISTED]!r}`"
        )
    if constant:
        with_reasons = listed([f"{quoted(column.name)} ({column.reason})" for column in constant])
        some_missing = any(column.reason == OR_MISSING for column in constant)
        parts.append(f"columns without effect: {with_reasons}" + (f"; {IF_MISSING_COUNTS}" if some_missing else ""))
    if more:
        parts.append(more)
    if parts:
        warn("; ".join(parts), UnsuitableColumnWarning)


def listed(items: Sequence[str]) -> str:
    """Return the first items, and how many more there are."""
    return ", ".join(items[:LISTED]) + (f" and {len(items) - LISTED:,} more" if len(items) > LISTED else "")
