"""The counts from which the tables of a network were estimated, kept beside the fitted classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from naivete.network.network import Network

if TYPE_CHECKING:
    from naivete.counts.counts import Counts
    from naivete.counts.tables import CountTable

__all__ = ["MOST_CELLS", "FamilyCounts", "family_counts"]

MOST_CELLS = 1 << 20
"""Counts of networks with more cells than this are not kept."""

FamilyCounts = Mapping[int, "CountTable"]
"""The counts of the family of each variable, by position."""


def family_counts(counts: Counts, network: Network) -> FamilyCounts:
    """Return the counts of the family of each variable of a network.

    The result is empty where these counts are not those of the tables or not worth keeping: for derived columns, for columns whose
    intervals the learner chose, where another pass would be needed, and for more than `MOST_CELLS` cells.

    Parameters
    ----------
    counts : the counts from which the network was learned.
    network : the network.
    """
    if network.derived or network.variables != counts.variables or network.cells > MOST_CELLS:
        return {}
    families = {v: network.family(v) for v in network.parents if v not in network.densities}
    if counts.uncounted(families.values()):
        return {}
    tables = counts.tables(families.values())
    return {v: tables[members] for v, members in families.items()}
