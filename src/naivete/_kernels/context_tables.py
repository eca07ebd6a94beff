"""Probabilities of a feature in all its contexts, computed once, so that many rows are predicted faster and with the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete._kernels.codes import Integers, Numbers
from naivete._kernels.context_trees import ContextEstimate, ContextFamily
from naivete._kernels.dispatch import address, compiled, require_memory

__all__ = ["FAMILY", "ContextTables", "context_tables", "family_record"]

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


def family_record(family: ContextFamily, total: float, tables: ContextTables | None = None) -> tuple[NDArray[Any], Any]:
    """Return the C struct of a family, and what has to be kept alive meanwhile."""
    members, margin = np.array([family.x, *family.parents], np.int64), np.ascontiguousarray(family.margin, np.float64)
    cards = np.array(family.tree.cards, np.int64)
    places = () if tables is None else tables.addresses
    record = np.zeros(1, FAMILY)
    known = address(margin), address(members), address(family.tree.struct), family.tree.depth, family.states, total
    prepared = (0, 0, 0, 0) if tables is None else (*(address(a) for a in places), address(cards), address(tables.logs))
    record[0] = *known, *prepared
    return record, (members, margin, cards, places, tables)


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
    record, _kept_alive = family_record(family, total, result)
    written = result.addresses
    places = (*(address(a) for a in written), address(result.logs))
    require_memory(library.naivete_context_tables(address(record), address(tree.sizes), classes, *rule, *places))
    return result
