"""How many parents a variable may have, and structures within that limit."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Literal

import numpy as np

from naivete._kernels.codes import Integers
from naivete.counts.counts import Counts
from naivete.counts.information import information
from naivete.counts.tables import CountTable
from naivete.errors import ParameterError, quoted
from naivete.learners.parameters import is_integer
from naivete.network.graphs import ancestors
from naivete.variables import CLASS, family

__all__ = ["MaxParents", "ParentLimit", "checked_limit", "limited"]

MaxParents = int | Literal["auto"] | None
"""A number of parents, None for any number, or "auto": as many as there are cases for."""


def checked_limit(value: object, name: str = "max_parents") -> MaxParents:
    """Return the value if it is "auto", None or an integer of at least 0."""
    if value is None or value == "auto":
        return value
    if is_integer(value) and value >= 0:
        return int(value)
    raise ParameterError(f"{name}={quoted(value)}: a whole number, at least 0, 'auto', or None for any number")


class ParentLimit:
    """The check whether a variable may have some parents.

    With "auto" a single parent is always possible, and several are if the table of the family has at most one cell for each case.

    Parameters
    ----------
    counts : the training cases.
    max_parents : the limit.
    """

    def __init__(self, counts: Counts, max_parents: MaxParents) -> None:
        self.max_parents = max_parents
        self.cards = np.array(counts.cards([*counts.features, CLASS]), np.float64)
        self.total = counts.total if max_parents == "auto" else np.inf

    def __call__(self, v: int, parents: Sequence[int]) -> bool:
        """Whether a variable may have these parents."""
        if self.max_parents == "auto":
            return len(parents) < 2 or bool(self.cards[[v, *parents]].prod() <= self.total)
        return not isinstance(self.max_parents, int) or len(parents) <= self.max_parents

    def addable(self, v: int, parents: Sequence[int], candidates: Integers) -> Integers:
        """Return the candidates that a variable may have as one more parent."""
        if self.max_parents == "auto" and parents:
            cells = self.cards[[v, *parents]].prod() * self.cards[candidates]
            return np.asarray(candidates[cells <= self.total])
        allowed = not isinstance(self.max_parents, int) or len(parents) < self.max_parents
        return candidates if allowed else candidates[:0]


def limited(counts: Counts, parents: dict[int, tuple[int, ...]], allowed: ParentLimit) -> dict[int, tuple[int, ...]]:
    """Return the structure with no more parents than allowed; the class comes first, then the features as they come.

    A variable with too many parents keeps those with the most information about it. The other arcs are reversed if no cycle arises
    and the limit allows it, and left out otherwise. An arc that is reversed to begin at the class takes the place of weaker ones.

    Parameters
    ----------
    counts : the training cases.
    parents : the parents of each variable.
    allowed : the limit.
    """
    exceeding = [v for v in sorted(parents) if not allowed(v, parents[v])]
    if not exceeding:
        return parents
    concerned = {*exceeding, *(parents[CLASS] if CLASS in exceeding else ())}
    pairs = {family(v, p) for v in concerned for p in parents[v]}
    bits = {members: _information(table) for members, table in counts.tables(sorted(pairs)).items()}
    result = dict(parents)

    def strongest(v: int) -> list[int]:
        return sorted(result[v], key=lambda p: (-bits.get(family(v, p), 0.0), p))

    def fitting(v: int, candidates: Sequence[int]) -> tuple[int, ...]:
        chosen: tuple[int, ...] = ()
        for p in candidates:
            chosen = (*chosen, p) if allowed(v, (*chosen, p)) else chosen
        return chosen

    for v in exceeding:
        candidates = strongest(v)
        result[v] = fitting(v, candidates)
        for p in candidates:
            room = v == CLASS or allowed(p, (*result[p], v))
            if p not in result[v] and room and p not in ancestors(result, [v]):
                result[p] = fitting(p, [v, *strongest(p)])
    return {v: tuple(sorted(members, key=_class_last)) for v, members in result.items()}


def _information(table: CountTable) -> float:
    """Return the mutual information of two variables in bits, without its bias for finitely many cases."""
    n = np.asarray(table)
    bias: float = (n.shape[0] - 1) * (n.shape[1] - 1) / (2 * max(float(n.sum()), 1.0) * log(2))
    return float(information(n)) - bias


def _class_last(v: int) -> tuple[bool, int]:
    return v == CLASS, v
