"""Conditional tables of all training sets of a cross-validation, estimated together, family by family.

The models of a cross-validation need the same families in every fold. The conditional tables of a family are therefore estimated
for all training sets at once, and the cell of each row in these tables is computed once. The results are identical to the last
bit to those of each model alone: this is done only for smoothing by a pseudo-count with which all sums are exact.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete.errors import NaiveteError
from naivete.evaluation.partitioned_counts import PartitionedCounts, all_but_one
from naivete.network.network import Network
from naivete.network.smoothing import Context, Lidstone, smoothing_of
from naivete.variables import CLASS, Family

__all__ = ["FoldEstimates", "exact_pseudo_count"]


SMALL = 1 << 17
"""The maximal number of rows times classes for which the tables and the cells of the rows are kept."""
FINEST = 2.0**20
"""Multiples of one part in this many can be added exactly, in any order."""


def exact_pseudo_count(smoothing: object) -> float | None:
    """Return the pseudo-count of a smoothing if sums with it are exact in any order, else None.

    >>> exact_pseudo_count(0.5), exact_pseudo_count(0.1), exact_pseudo_count("backoff")
    (0.5, None, None)
    """
    try:
        method = smoothing_of(smoothing)
    except NaiveteError:  # the model itself reports the error
        return None
    if type(method) is not Lidstone or method.alpha >= FINEST or not (method.alpha * FINEST).is_integer():
        return None
    return method.alpha


class FoldEstimates:
    """The conditional tables of all training sets for one pseudo-count, and the posterior probabilities of all rows.

    Parameters
    ----------
    parts : the counts of the rows, which are divided into folds.
    alpha : the pseudo-count.
    """

    def __init__(self, parts: PartitionedCounts, alpha: float) -> None:
        self.parts, self.smoothing = parts, Lidstone(alpha)
        self._cpts: dict[tuple[Family, int], Numbers] = {}
        self._logs: dict[tuple[Family, int], tuple[Numbers, NDArray[np.int64]]] = {}

    @staticmethod
    def worthwhile(parts: PartitionedCounts) -> bool:
        """Whether the parts are folds, with few enough rows to keep their cells."""
        return parts.training is all_but_one and len(parts.cases) * parts.classes <= SMALL

    def cpt(self, members: Family, v: int) -> Numbers:
        """Return P(v | the other members) in all training sets; the family contains the class.  # (training set, ...)"""
        if (members, v) not in self._cpts:
            unused = Context(np.ones(1), np.ones(1), 1.0)
            counts = self.parts.tables([members])[members]
            self._cpts[members, v] = self.smoothing(counts, members.index(v) + 1, unused)
        return self._cpts[members, v]

    def _logs_and_cells(self, members: Family, v: int) -> tuple[Numbers, NDArray[np.int64]]:
        """Return the logarithms of a table and the cell of each row in it.  # (training set, cell, class), (row,)"""
        if (members, v) not in self._logs:
            with np.errstate(divide="ignore"):
                logs = np.log(self._cpts[members, v]).reshape(self.parts.count, -1, self.parts.classes)
            self._logs[members, v] = logs, self.parts.cells(members[:-1])
        return self._logs[members, v]

    @cached_property
    def _informative(self) -> bool:
        """Whether some feature has several states; otherwise the posterior is the prior itself."""
        return any(v.card > 1 for v in self.parts.shared.variables[:CLASS])

    @cached_property
    def _bounds(self) -> list[int]:
        return [int(bound) for bound in np.searchsorted(self.parts.part, np.arange(self.parts.count + 1))]

    def _has_tables_of(self, network: Network, fold: int) -> bool:
        """Whether the tables of all features of the network are those that were estimated here for the training set."""
        if network.derived or network.variables[:CLASS] != self.parts.shared.variables[:CLASS]:
            return False
        for x in network.features:
            estimated = self._cpts.get((network.family(x), x))
            if estimated is None or not np.array_equal(np.asarray(network.cpts[x]), estimated[fold]):
                return False
        return True

    def posterior(self, network: Network, fold: int) -> Numbers | None:
        """Return P(class | row) of the rows of a fold, in their order, or None where the network itself has to predict them.

        The terms are added in the same order as by `Predictor`.
        """
        if network.order[0] != CLASS or not self._informative or not self._has_tables_of(network, fold):
            return None
        rows = slice(*self._bounds[fold : fold + 2])
        terms = np.empty((len(network.order), rows.stop - rows.start, self.parts.classes))
        with np.errstate(divide="ignore"):
            terms[0] = np.log(np.asarray(network.cpts[CLASS]))
        for position, x in enumerate(network.order[1:], start=1):
            logs, cells = self._logs_and_cells(network.family(x), x)
            logs[fold].take(cells[rows], axis=0, out=terms[position], mode="clip")
        joint = np.add.reduce(terms, axis=0)
        return None if joint.min(initial=0.0) == -np.inf else _kernels.posterior(joint)
