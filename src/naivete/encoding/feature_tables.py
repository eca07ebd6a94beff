"""Tables of single features with the class, taken from value counts instead of another pass over the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.exact_sums import sums_as_numbers
from naivete.encoding.value_counts import ColumnCounts, ValueCounts
from naivete.variables import CLASS, Family, Variable, state_key

__all__ = ["FeatureTables", "codes_of"]


@dataclass(frozen=True, eq=False)
class FeatureTables:
    """Tables of single features, with or without the class, equal to the tables counted from the encoded rows.

    Parameters
    ----------
    counts : the value counts of the features.
    variables : the schema of the features.
    """

    counts: ValueCounts
    variables: Sequence[Variable]

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return self.counts.rows

    def __call__(self, family: Family) -> NDArray[Any] | None:
        """Return the table of a family, None if the rows have to be counted for it.

        That is necessary for families of several features, and for a numeric column with a cut point inside a cell.
        """
        if family == (CLASS,):
            return sums_as_numbers(self.counts.weights)
        if len(family) != 1 and family[1:] != (CLASS,):
            return None
        column, variable = self.counts.columns[family[0]], self.variables[family[0]]
        if variable.left_out:
            totals = sums_as_numbers(self.counts.weights)
            return totals[None] if len(family) == 2 else totals.sum(keepdims=True)
        if len(family) == 2 and variable.cuts is None and column.states is variable.states and variable.card == variable.known:
            return sums_as_numbers(column.weights)  # the codes are the positions of the values
        codes = codes_of(column, variable)
        if codes is None:
            return None
        parts = {q: _margin(column, q, codes, variable) for q in column.weights.keys() | column.missing.keys()}
        return sums_as_numbers(parts if len(family) == 2 else {q: part.sum(axis=1) for q, part in parts.items()})


def codes_of(column: ColumnCounts, variable: Variable) -> NDArray[np.int64] | None:
    """Return the code of each value, None if values of one cell have different codes."""
    if variable.density:
        return np.zeros(len(column.values), np.int64)
    if variable.cuts is not None:
        assert not isinstance(column.values, tuple)
        assert column.tops is not None
        cuts = np.array(variable.cuts)
        low, high = (np.searchsorted(cuts, v.astype(np.float64), side="left") for v in (column.values, column.tops))
        return low if np.array_equal(low, high) else None
    if column.states is variable.states:
        return np.arange(len(column.states))
    code_of = {state_key(s): code for code, s in enumerate(variable.states)}
    return np.array([code_of[state_key(s)] for s in column.states], np.int64)


def _margin(column: ColumnCounts, q: int, codes: NDArray[np.int64], variable: Variable) -> NDArray[np.int64]:
    if variable.card == len(codes) and q in column.weights and np.array_equal(codes, np.arange(len(codes))):
        return column.weights[q]
    table = np.zeros((variable.card, next(iter(column.missing.values())).shape[-1]), np.int64)
    if q in column.weights:
        np.add.at(table, codes, column.weights[q])
    if variable.missing and q in column.missing:
        table[variable.known] += column.missing[q]
    return table
