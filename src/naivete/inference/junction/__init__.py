"""Exact inference for any query: the junction tree of a network, for many rows of evidence at once.

Observed variables are fixed in the tables before these are multiplied, so that the tree contains only the hidden variables.
Variables without an observed or queried descendant sum to one and are left out. Tables have an axis for each hidden variable and
the rows as their last axis, which has length one while the table is the same for all rows.

Sums of products are computed with probabilities if bounds from the tables show that no number can underflow or overflow, and with
logarithms otherwise; a result of zero therefore means that the network gives probability zero.
"""

from naivete.inference.junction.evidence import Evidence, Given, Value, evidence_of, position, value_of
from naivete.inference.junction.plan import BUDGET, Plan
from naivete.inference.junction.tree import (
    Collected,
    HasNetwork,
    JunctionTree,
    configuration,
    junction_tree_of,
    network_of,
    one_network_of,
)

__all__ = [
    "BUDGET",
    "Collected",
    "Evidence",
    "Given",
    "HasNetwork",
    "JunctionTree",
    "Plan",
    "Value",
    "configuration",
    "evidence_of",
    "junction_tree_of",
    "network_of",
    "one_network_of",
    "position",
    "value_of",
]
