"""Configurations of states that occur in the cases, and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Integers, missing
from naivete._kernels.exact_sums import LimbSums, limbs
from naivete.cases.base import Block
from naivete.variables import Family

__all__ = ["ConfigurationCounts", "configuration_counts", "grouped_rows", "merge_configurations"]

ConfigurationCounts = tuple[NDArray[np.int32], LimbSums]
"""The configurations of all members of a family but the last that occur, in increasing order, and the weight of their cases in
each state of the last member, as limbs of exact sums.  # (configuration, member), (configuration, state)"""


def configuration_counts(block: Block, members: Family, cards: Sequence[int]) -> ConfigurationCounts:
    """Count the configurations of a family that occur in a block; rows with a missing member are not counted.

    Parameters
    ----------
    block : the rows.
    members : the variables of the family.
    cards : the number of states of each member.
    """
    columns = [block.codes[v] for v in members]
    observed = ~np.logical_or.reduce([missing(column) for column in columns])
    rows, row_of = grouped_rows([column[observed] for column in columns[:-1]], cards[:-1])
    configurations = np.stack([column[observed][rows] for column in columns[:-1]], axis=1).astype(np.int32)
    layout = _kernels.Layout(((0, -1),), (max(1, len(rows)), cards[-1]))
    codes = (row_of.astype(np.uint32), columns[-1][observed])
    weight = None if block.weight is None else block.weight[observed]
    sums = {q: _kernels.scatter(codes, layout, limb) for q, limb in limbs(weight).items()}
    return configurations, {q: flat.reshape(-1, cards[-1])[: len(rows)] for q, flat in sums.items()}


def merge_configurations(one: ConfigurationCounts, two: ConfigurationCounts) -> ConfigurationCounts:
    """Return the counts of two blocks together."""
    stacked = np.concatenate([one[0], two[0]])
    rows, row_of = grouped_rows(list(stacked.T), (stacked.max(axis=0, initial=0) + 1).tolist())
    sums: LimbSums = {}
    for q in one[1].keys() | two[1].keys():
        total = np.zeros((len(rows), next(iter(one[1].values())).shape[1]), np.int64)
        for start, part in ((0, one[1].get(q)), (len(one[0]), two[1].get(q))):
            if part is not None:
                np.add.at(total, row_of[start : start + len(part)], part)
        sums[q] = total
    return stacked[rows], sums


def grouped_rows(columns: Sequence[NDArray[Any]], cards: Sequence[int]) -> tuple[Integers, Integers]:
    """Return the first row of each distinct configuration, in increasing order of configurations, and the group of every row.

    The configuration of the first columns is renumbered where the product of the cards would overflow.

    Parameters
    ----------
    columns : the codes of the rows, one array for each column.
    cards : the number of states of each column.

    >>> grouped_rows([np.array([1, 0, 1]), np.array([2, 0, 2])], [2, 3])
    (array([1, 0]), array([1, 0, 1]))
    """
    group = np.zeros(len(columns[0]), np.int64)
    count = 1
    rows = np.zeros(min(1, len(group)), np.int64)
    for column, card in zip(columns, cards, strict=True):
        if count * card >= 1 << 62:
            _, rows, group = np.unique(group, return_index=True, return_inverse=True)
            count = len(rows)
        group = group * card + column
        count *= card
    _, rows, group = np.unique(group, return_index=True, return_inverse=True)
    return rows, group
