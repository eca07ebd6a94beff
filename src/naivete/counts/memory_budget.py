"""Memory that learning needs: estimated from the schema before the work begins, with an error where it exceeds the budget.

The maximum of what is allocated at the same time is

    columns + codes + informations + max(planes + pairs + work, tables)

columns : 4 KiB for each column, for names, states, value counts and arrays.
codes : 1, 2 or 4 bytes for each row (of a block, where rows are streamed) and column; for a sparse matrix 48 bytes for each stored
    cell, and the codes of a part that is made dense.
informations : 16 bytes for each pair of features, where dependences are learned: with their bias and without it.
planes : a bit for each row and each state of a feature but the first.
pairs : 4 bytes for each class and pair of planes of a panel, or of as many panels as a quarter of the budget holds where rows are
    streamed; for features of many states 8 bytes for each cell, likewise.
work : 16 bytes for each cell that a thread turns into information at a time, 40 for each count whose logarithm is looked up.
tables : 24 bytes for each cell of the families with the k parents of the most states, for counts, probabilities and their
    logarithms; for tables with more cells than rows, for the cells that can occur.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import prod

import numpy as np

from naivete._kernels import threads
from naivete._kernels.codes import Bools, narrowest
from naivete.cases.stored import PART_BYTES
from naivete.counts.bit_planes import STRIP_CELLS, Group, Panel, groups, panels
from naivete.counts.budget import BUDGET
from naivete.errors import ResourceError
from naivete.variables import CLASS, Variables

__all__ = ["COMPRESSED_CELLS", "DENSE_CELLS", "check_informations", "needs", "occurring_bytes", "panel_bytes", "predicted"]

DENSE_CELLS = 1 << 21
"""A table with more cells may be counted by the configurations that occur."""
COMPRESSED_CELLS = 1 << 24
"""Of a sparse conditional table with more probabilities, only those of states that occur are stored, if they are much fewer. The
limit does not depend on the budget, so that the model does not."""
COLUMN = 4096
"""The bytes of names, states, value counts and arrays of a column."""
STORED_CELL = 48
"""The bytes of a stored cell of a sparse matrix."""
LOOKED_UP = 1 << 20
"""The most counts whose logarithms are looked up."""


def predicted(
    variables: Variables,
    rows: int,
    k: int,
    *,
    has_missing: Bools,
    block_rows: int | None = None,
    cells: int | None = None,
    budget: int = BUDGET,
) -> int:
    """Return an upper bound of the bytes that learning takes beyond the caller's table, for rows without weights.

    Parameters
    ----------
    variables : the schema, the class last.
    rows : the number of rows.
    k : the maximal number of feature parents of a feature: 0 for naive Bayes, 1 for TAN.
    has_missing : which features have missing values.
    block_rows : the number of rows in memory at a time, where they are streamed.
    cells : the number of stored cells of a sparse matrix.
    budget : the maximal number of bytes of tables.
    """
    part = needs(variables, rows, k, has_missing=has_missing, block_rows=block_rows, cells=cells, budget=budget)
    counting = part["planes"] + part["pairs"] + part["work"]
    return part["columns"] + part["codes"] + part["informations"] + max(counting, part["tables"])


def needs(
    variables: Variables,
    rows: int,
    k: int,
    *,
    has_missing: Bools,
    block_rows: int | None = None,
    cells: int | None = None,
    budget: int = BUDGET,
) -> dict[str, int]:
    """Return the parts of `predicted`, by name."""
    cards = [v.card for v in variables]
    in_memory, n = rows if block_rows is None else min(rows, block_rows), len(cards) - 1
    parts = {
        "columns": COLUMN * len(cards),
        "codes": _codes_bytes(cards, in_memory, cells),
        "tables": min(sum(_family_bytes(cards, rows, k)), 3 * budget),
        **dict.fromkeys(("informations", "planes", "pairs", "work"), 0),
    }
    if k and n > 1:
        narrow = groups(range(n), cards, has_missing)
        parts["informations"] = _informations_bytes(n)
        parts["planes"] = _planes_bytes(narrow, in_memory, cards[CLASS], cells)
        parts["pairs"] = _pairs_bytes(narrow, cards, rows, block_rows is not None, budget)
        parts["work"] = 16 * STRIP_CELLS * threads() + 40 * min(rows, LOOKED_UP)
    return parts


def check_informations(features: int, upper: Sequence[Panel], classes: int, budget: int) -> None:
    """Raise an error if the informations of all pairs, with the counts of one panel, exceed the budget, before any is allocated."""
    matrix, counted = _informations_bytes(features), max((panel_bytes(panel, classes) for panel in upper), default=0)
    if matrix + counted <= budget:
        return
    largest = "the informations of all pairs" if matrix >= counted else "the counts of one panel of pairs"
    raise ResourceError(
        f"learning the dependences of {features:,} features needs {matrix + counted:,} bytes: {matrix:,} for the informations of "
        f"all pairs and {counted:,} for the counts of some of them at a time, the budget is {budget:,} bytes; most of it takes "
        f"{largest}: leave out features with little information about the class (see `relevance_` of NaiveBayes), "
        "or raise `budget=`"
    )


def panel_bytes(panel: Panel, classes: int) -> int:
    """Return the bytes of the counts of the pairs of planes of a panel."""
    return 4 * panel.cells * classes


def occurring_bytes(cards: Sequence[int], rows: int | None) -> int:
    """Return an upper bound of the bytes of the sparse table of a family: codes, and a count for each state of the last member."""
    cells = prod(cards[:-1])
    return 8 * (cells if rows is None else min(cells, rows)) * (cards[-1] + 2)


def _informations_bytes(features: int) -> int:
    """Return the bytes of the informations of all pairs of features, with their bias and without it."""
    return 16 * features**2


def _codes_bytes(cards: Sequence[int], rows: int, cells: int | None) -> int:
    widths = [np.dtype(narrowest(card)).itemsize for card in cards]
    if cells is None:
        return rows * sum(widths)
    return STORED_CELL * cells + min(2 * PART_BYTES, rows * len(cards) * max(widths))


def _planes_bytes(narrow: Sequence[Group], rows: int, classes: int, cells: int | None) -> int:
    planes = sum(group.width * len(group.features) for group in narrow)
    return max(planes * (rows // 8 + 64 * classes), 0 if cells is None else STORED_CELL * cells)


def _pairs_bytes(narrow: Sequence[Group], cards: Sequence[int], rows: int, streamed: bool, budget: int) -> int:
    """Return the bytes of the counts of pairs that exist at the same time: of planes, of dense and of sparse tables."""
    sizes = [panel_bytes(panel, cards[CLASS]) for panel in panels(narrow, cards[CLASS])]
    flat = max(sizes, default=0)
    held = max(flat, min(sum(sizes), budget // 4)) * 5 if streamed else flat * (1 + threads())
    few = {x for group in narrow for x in group.features}
    wide = sorted((cards[x] for x in range(len(cards) - 1) if cards[x] > 1 and x not in few), reverse=True)
    if not wide:
        return held
    every = sorted((card for card in cards[:CLASS] if card > 1), reverse=True)
    full = sum(wide) * sum(every) * cards[CLASS]
    largest = occurring_bytes((*islice(every, 2), cards[CLASS]), rows)
    return held + 2 * min(8 * full, budget // 4) + 3 * min(max(largest, budget // 4), largest * len(wide) * len(every))


def _family_bytes(cards: Sequence[int], rows: int, k: int) -> list[int]:
    """Return the bytes of the tables of every feature with the k parents of the most states."""
    most = sorted(cards[:CLASS], reverse=True)[: k + 1]
    sizes = []
    for card in cards[:CLASS]:
        others = most[1:] if card in most else most[:k]
        cells = card * prod(others) * cards[CLASS]
        if cells > DENSE_CELLS and others:
            full = 16 * min(prod(others), rows) * card * cards[CLASS]
            occurring = 2 * occurring_bytes((card, *others, cards[CLASS]), rows)
            stored = 3 * occurring + 16 * card * cards[CLASS]  # where only the states that occur are stored
            sizes.append(occurring + (full if full <= 16 * COMPRESSED_CELLS else min(full, stored)))
        else:
            sizes.append(24 * cells)
    return sizes
