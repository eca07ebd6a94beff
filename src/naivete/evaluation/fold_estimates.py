"""Estimates of all training sets of a cross-validation at once, family by family: what makes many small models quick.

Ten folds and several models ask for the same families again and again. The conditional tables of a family are therefore made for
all training sets together, and the cell of every row in them is found once. All of it is bit for bit what each model alone would
compute: only smoothing by a pseudo-count whose sums are exact is taken over, everything else is left to the models.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from naivete import _kernels
from naivete._kernels.codes import Numbers
from naivete.errors import NaiveteError
from naivete.evaluation.held_out_counts import HeldOut
from naivete.evaluation.partitioned_counts import Parts, all_but_one
from naivete.network.network import Network
from naivete.network.smoothing import Context, Lidstone, smoothing_of
from naivete.variables import CLASS, Family

__all__ = ["Estimates", "Remembered", "exact_pseudo_count"]


SMALL = 1 << 17
"""The most rows times classes for which the cells of the rows in every family are kept."""
FINEST = 2.0**20
"""Multiples of one part in so many add up exactly, in any order."""


def exact_pseudo_count(smoothing: object) -> float | None:
    """The pseudo-count that a parameter stands for, if sums with it are exact whatever their order; else None.

    >>> exact_pseudo_count(0.5), exact_pseudo_count(0.1), exact_pseudo_count("backoff")
    (0.5, None, None)
    """
    try:
        how = smoothing_of(smoothing)
    except NaiveteError:  # the model will say so itself
        return None
    exact = type(how) is Lidstone and how.alpha < FINEST and (how.alpha * FINEST).is_integer()
    return how.alpha if isinstance(how, Lidstone) and exact else None


class Estimates:
    """The tables of all training sets for one pseudo-count, and the answers to all rows.

    Parameters
    ----------
    parts : the rows, divided into folds.
    alpha : the pseudo-count.
    """

    def __init__(self, parts: Parts, alpha: float) -> None:
        self.parts, self.how = parts, Lidstone(alpha)
        self._cpts: dict[tuple[Family, int], Numbers] = {}
        self._keys: dict[int, tuple[Family, int]] = {}  # of the arrays above, by their identity
        self._logs: dict[int, tuple[Numbers, NDArray[np.int64]]] = {}  # their logarithms, and the cells of the rows in them

    @staticmethod
    def pays(parts: Parts) -> bool:
        """Whether the parts are folds, and the cells of their rows few enough to be kept."""
        return parts.training is all_but_one and len(parts.cases) * parts.classes <= SMALL

    def cpt(self, members: Family, axis: int) -> Numbers:
        """P(x | parents) of all training sets, x being the variable of this axis.  # (training set, ...)"""
        key = members, axis
        found = self._cpts.get(key)
        if found is None:
            nothing = Context(np.ones(1), np.ones(1), 1.0)
            found = self._cpts[key] = self.how(self.parts.tables([members])[members], axis + 1, nothing)
            self._keys[id(found)] = key
        return found

    def _ready(self, cpts: int) -> tuple[Numbers, NDArray[np.int64]]:
        """The logarithms of these tables, and the cell of every row in them.  # (training set, cell, class), (row,)"""
        found = self._logs.get(cpts)
        if found is None:
            key = self._keys[cpts]
            with np.errstate(divide="ignore"):
                logs = np.log(self._cpts[key]).reshape(self.parts.count, -1, self.parts.classes)
            found = self._logs[cpts] = logs, self.parts.address(key[0][:-1])
        return found

    @cached_property
    def _telling(self) -> bool:
        """Whether some feature has several states; where none has, the answer is the prior itself."""
        return any(v.card > 1 for v in self.parts.shared.variables[:CLASS])

    @cached_property
    def _bounds(self) -> list[int]:
        return [int(bound) for bound in np.searchsorted(self.parts.part, np.arange(self.parts.count + 1))]

    def posterior(self, network: Network, at: int) -> Numbers | None:
        """P(class | row) of the rows of a fold, in their order, or None where the network has to be asked itself.

        The terms are added in the order in which prediction adds them.
        """
        made = [id(getattr(network.cpts[x], "base", None)) for x in network.order]
        if network.order[0] != CLASS or not self._telling or not self._keys.keys() >= set(made[1:]):
            return None
        rows = slice(*self._bounds[at : at + 2])
        terms = np.empty((len(made), rows.stop - rows.start, self.parts.classes))
        with np.errstate(divide="ignore"):
            terms[0] = np.log(np.asarray(network.cpts[CLASS]))
        for place, own in enumerate(made[1:], start=1):
            logs, cells = self._ready(own)
            logs[at].take(cells[rows], axis=0, out=terms[place], mode="clip")
        joint = np.add.reduce(terms, axis=0)
        return None if joint.min(initial=0.0) == -np.inf else _kernels.posterior(joint)


@dataclass(frozen=True)
class Remembered(Lidstone):
    """Lidstone's pseudo-count, whose tables for one training set are looked up among those of all.

    Parameters
    ----------
    estimates : the tables of all training sets.
    held : the counts of the one.
    """

    estimates: Estimates | None = None
    held: HeldOut | None = None

    def __call__(self, n: Numbers, axis: int, context: Context) -> Numbers:
        """P(x | parents); uniform where nothing is known and nothing is added."""
        assert self.held is not None
        assert self.estimates is not None
        known = self.held.plain_tables.get(id(n))
        if known is None:
            return super().__call__(n, axis, context)
        found: Numbers = self.estimates.cpt(known[0], axis)[self.held.at]
        return found
