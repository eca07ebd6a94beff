"""The tables of very many families at once: grouped by shape, in batches that fit a budget, with arrays instead of lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Bools, Integers, Numbers
from naivete.cases.base import Block
from naivete.counts.effort import table_units
from naivete.counts.memory_budget import DENSE_CELLS, occurring_bytes
from naivete.counts.tables import DenseStack, SparseStack, TableStack
from naivete.variables import CLASS, Family, family

if TYPE_CHECKING:
    from naivete.counts.counts import Counts

__all__ = ["FEW_CELLS", "table_stacks"]

FEW_CELLS = 1 << 12
"""Up to this many cells a table is dense, whatever the number of rows."""
DENSE_ROWS = 4
"""A table is dense up to this many cells for each row."""
IN_MEMORY_BYTES = 1 << 25
"""Where the rows are in memory and a pass costs little, the tables of one pass need at most about this many bytes."""


def table_stacks(
    counts: Counts, orders: Sequence[Family], shapes: Sequence[tuple[int, ...]] | Numbers
) -> Iterator[tuple[Integers, TableStack]]:
    """Yield the tables of many families, which are not kept, in as few passes as a quarter of the budget allows.

    Parameters
    ----------
    counts : the cases.
    orders : the members of each family in the order that its axes should have.
    shapes : the shape of each table, with the same number of cells; axes that follow one another may be folded into one.
    """
    if not len(orders):
        return
    families = orders if isinstance(orders, _kernels.FamilyArray) else _kernels.FamilyArray.of(orders)
    forms = np.asarray(shapes, np.float64).reshape(len(families), -1)  # the cells of sparse tables may exceed int64
    cells = forms.prod(axis=1)
    sparse = _mostly_empty(counts, families, cells)
    order = np.lexsort(forms.T[::-1])
    needed = 8 * cells
    needed[sparse] = [occurring_bytes(counts.cards(families[i]), counts.rows) for i in np.flatnonzero(sparse).tolist()]
    for batch in _batches(needed[order], _pass_bytes(counts)):
        some = order[batch]
        yield from _pass(counts, families, forms, some[~sparse[some]], some[sparse[some]])


def _mostly_empty(counts: Counts, families: _kernels.FamilyArray, cells: Numbers) -> Bools:
    """Return which tables should be sparse: a dense one would have many more cells than there are rows."""
    cards = np.array(counts.cards([*counts.features, CLASS]))[families.members]
    largest = np.maximum.reduceat(cards, families.first[:-1])
    limit = max(FEW_CELLS, DENSE_ROWS * (counts.rows or DENSE_CELLS))
    return (cells > limit) & (cells > largest * counts.cards([CLASS])[0])


def _pass_bytes(counts: Counts) -> int:
    """Return how many bytes the tables of one pass may need."""
    in_memory = isinstance(getattr(counts.cases, "block", None), Block)
    return min(counts.budget // 4, IN_MEMORY_BYTES) if in_memory else counts.budget // 4


def _batches(sizes: Numbers, limit: int) -> Iterator[slice]:
    """Yield consecutive parts with a total size of at most `limit`; a larger item is a part of its own.

    >>> list(_batches(np.array([3.0, 1.0, 9.0, 2.0]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0.0
        end = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, end)
        start = end


def _pass(
    counts: Counts, families: _kernels.FamilyArray, forms: Numbers, dense: Integers, sparse: Integers
) -> Iterator[tuple[Integers, TableStack]]:
    """Count some families in one pass; the dense ones come sorted by shape."""
    for i in dense if len(dense) == 1 else ():
        counts.check_budget({families[i]: int(forms[i].prod())})
    some = families.take(dense)
    layout = _kernels.ArrayLayout(some, counts.cards([*counts.features, CLASS]))
    members = {int(i): family(*families[i]) for i in sparse}
    flat, configurations = counts.flat_tables(layout, {f: counts.cards(f) for f in members.values()})
    counts.effort.add(table_units(len(dense) + len(sparse), counts.rows or counts.total))
    for start, end in _runs(forms[dense]):
        shape = forms[dense[start]].astype(np.int64).tolist()
        stack: NDArray[Any] = flat[layout.offsets[start] : layout.offsets[end - 1] + layout.sizes[end - 1]]
        yield dense[start:end], DenseStack(some.between(start, end), stack.reshape(-1, *shape))
    for i, f in members.items():
        yield np.array([i]), SparseStack(families[i], counts.sparse_table(f, configurations[f]))


def _runs(rows: Numbers) -> Iterator[tuple[int, int]]:
    """Yield where runs of equal rows begin and end.

    >>> list(_runs(np.array([[1, 2], [1, 2], [2, 1]])))
    [(0, 2), (2, 3)]
    """
    if not len(rows):
        return
    changes = np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1
    yield from zip([0, *changes.tolist()], [*changes.tolist(), len(rows)], strict=True)
