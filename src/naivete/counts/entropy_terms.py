"""The terms p log2 p of entropies as whole numbers, whose sums do not depend on the order of rows and states."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers

__all__ = ["SCALE", "EntropyTerms", "conditional_informations", "rounded_bits"]

SCALE = 2.0**56
"""The terms are multiples of 1 / SCALE bit."""
GRID = 2.0**44
"""Informations are rounded to multiples of 1 / GRID bit."""
TABULATED = 1 << 20
"""Up to this total weight the terms of all possible counts are computed once and looked up."""


class EntropyTerms:
    """The terms p log2 p of counts, p = count / total, as whole multiples of 1 / SCALE bit.

    The sum of the terms of a table is minus its entropy; sums over a table and its margins give informations.

    Parameters
    ----------
    total : the total weight of the cases.
    """

    def __init__(self, total: Any) -> None:
        self.total = max(float(total), np.finfo(float).tiny)
        self._largest = int(total) if isinstance(total, (int, np.integer)) and total <= TABULATED else None

    @cached_property
    def _table(self) -> Integers:
        return self._computed(np.arange((self._largest or 0) + 1))

    def _computed(self, counts: NDArray[Any]) -> Integers:
        p = np.ascontiguousarray(counts, np.float64) / self.total
        return np.rint(p * np.log2(np.where(p > 0, p, 1.0)) * SCALE).astype(np.int64)

    def of(self, counts: NDArray[Any]) -> Integers:
        """Return the term of every count: looked up where there are more counts than possible values, else computed."""
        return self._table.take(counts) if self._largest is not None and counts.size > self._largest else self._computed(counts)

    def sum_of(self, counts: NDArray[Any]) -> np.int64:
        """Return the sum of the terms of all counts."""
        return np.int64(self.of(counts).sum())

    def sums(self, tables: NDArray[Any]) -> Integers:
        """Return the sum of the terms of each table: one for each entry of the first two axes, or of the first of two axes."""
        lead = min(2, tables.ndim - 1)
        number, cells = math.prod(tables.shape[:lead]), math.prod(tables.shape[lead:])
        if self._largest is None or tables.size <= self._largest or cells > number:
            return np.asarray(self.of(tables).reshape(*tables.shape[:lead], -1).sum(axis=-1))
        planes = np.moveaxis(tables, range(lead), range(-lead, 0)).reshape(-1, *tables.shape[:lead])
        total: Integers = self._table.take(planes[0], mode="clip")
        for cell in planes[1:]:
            total += self._table.take(cell, mode="clip")
        return total


def conditional_informations(terms: EntropyTerms, tables: NDArray[Any]) -> Numbers:
    """Return I(X; Y | Z) in bits of tables with the axes (i, j, x, y, z), each over its own cases.  # (i, j)"""
    x, y = tables.sum(axis=3), tables.sum(axis=2)
    z = x.sum(axis=2)
    share = np.asarray(z.sum(axis=2), np.float64) / terms.total
    sums = terms.sums(tables) - terms.sums(x) - terms.sums(y) + terms.sums(z)
    return sums / SCALE / np.where(share > 0, share, 1.0)


def rounded_bits(bits: Numbers) -> Numbers:
    """Round informations to a multiple of 1 / GRID bit, in place, and set those below zero to zero.

    Informations that are equal but for rounding errors are then equal.
    """
    bits *= GRID
    np.rint(bits, out=bits)
    bits /= GRID
    return np.maximum(bits, 0.0, out=bits)
