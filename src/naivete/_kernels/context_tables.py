"""Probabilities of a feature in all its contexts, computed once, so that many rows are predicted faster and with the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import ContextEstimate, ContextFamily
from naivete._kernels.dispatch import address, compiled, require_memory

__all__ = ["ContextTables", "FamilyRecords", "context_tables"]

FAMILY = np.dtype(
    [(name, np.int64) for name in ("margin", "members", "levels", "parents")]
    + [(name, np.float64) for name in ("states", "total")]
    + [(name, np.int64) for name in ("tables", "next", "cards", "logs")]
)
"""The C struct `family`."""
SPARSE = 4
"""Tables with more cells than so many times the cells that occur are not made."""
SMALL = 1 << 12
"""Tables with at most so many cells are always made."""


@dataclass(frozen=True, eq=False)
class ContextTables:
    """P(x | class, context) of a family in all its contexts.

    Parameters
    ----------
    tables : for each depth the probabilities.  # (context, x, class)
    following : for each depth but the last the context of the next depth that extends each context, or -1.  # (context, code)
    logs : the logarithms of the first table.  # (x, class)
    """

    tables: tuple[Numbers, ...]
    following: tuple[NDArray[np.int32], ...]
    logs: Numbers

    @property
    def addresses(self) -> tuple[Integers, Integers]:
        """The addresses of the tables and of the following contexts."""
        return np.array([*map(address, self.tables)], np.int64), np.array([*map(address, self.following)], np.int64)


class FamilyRecords:
    """The C structs of some families, and the arrays to which they point.

    Parameters
    ----------
    families : features with their parents.
    total : the weight of all cases.
    tables : the probabilities of the families in all contexts, where they are known.
    """

    def __init__(self, families: Sequence[ContextFamily], total: float, tables: Sequence[ContextTables | None] = ()) -> None:
        self.families, self.total = families, total
        self.records = np.zeros(len(families), FAMILY)
        self.kept_alive: list[Any] = []
        for i, (family, known) in enumerate(zip_longest(families, tables)):
            members, margin = np.array([family.x, *family.parents], np.int64), np.ascontiguousarray(family.margin, np.float64)
            cards, places = np.array(family.tree.cards, np.int64), () if known is None else known.addresses
            prepared = (0, 0, 0, 0) if known is None else (*map(address, (*places, cards, known.logs)),)
            counts = address(margin), address(members), address(family.tree.struct), family.tree.depth, family.states, total
            self.records[i] = *counts, *prepared
            self.kept_alive.append((members, margin, cards, places, known))


def context_tables(family: ContextFamily, total: float, rule: ContextEstimate) -> ContextTables | None:
    """Return the probabilities of a family in all contexts; None where most cells would be of values that do not occur.

    The NumPy kernels do not use such tables: None.

    Parameters
    ----------
    family : the feature with its parents.
    total : the weight of all cases.
    rule : the estimate.
    """
    library, tree = compiled(), family.tree
    *parents, values, classes = tree.cards
    contexts = tree.sizes[:, 0].tolist()
    cells = sum(contexts) * values * classes + sum(n * card for n, card in zip(contexts, parents, strict=False))
    if library is None or cells > max(SMALL, SPARSE * int(tree.sizes[:, 2].sum())):
        return None
    tables = tuple(np.empty((n, values, classes)) for n in contexts)
    following = tuple(np.empty((n, card), np.int32) for n, card in zip(contexts, parents, strict=False))
    result = ContextTables(tables, following, np.empty((values, classes)))
    record, written = FamilyRecords([family], total, [result]), result.addresses
    places = (*map(address, (*written, result.logs)),)
    require_memory(library.naivete_context_tables(address(record.records), address(tree.sizes), classes, *rule, *places))
    return result
