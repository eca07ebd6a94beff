"""Exact inference for any query: the junction tree of a network, for many rows of evidence at once.

Observed variables are fixed in the tables before anything is multiplied, so that the tree has the others only; what has no
observed or asked descendant sums to one and is left out. Tables have an axis for each hidden variable and the rows as their last
axis, which has length one as long as nothing below depends on the row.

Sums of products run on probabilities where the smallest and the largest number that can occur fit, which is known from the
tables alone, and on logarithms otherwise: nothing underflows, and a zero is a zero of the network.
"""

from naivete.inference.junction.evidence import Evidence, Given, Value, evidence_of, position, value_of
from naivete.inference.junction.plan import BUDGET, Plan
from naivete.inference.junction.tree import Collected, JunctionTree, configuration

__all__ = [
    "BUDGET",
    "Collected",
    "Evidence",
    "Given",
    "JunctionTree",
    "Plan",
    "Value",
    "configuration",
    "evidence_of",
    "position",
    "value_of",
]
