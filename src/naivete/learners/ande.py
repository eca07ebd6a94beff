"""Averaged n-dependence estimators: the average of models in which all features depend on the class and the same n features."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from naivete.counts.counts import Counts, informative_features
from naivete.errors import ParameterError, ResourceError, quoted
from naivete.learners.parameters import is_number
from naivete.network.ande import AnDE, ande_cells, ande_families
from naivete.network.smoothing import prior_probabilities, smoothing_of
from naivete.variables import CLASS

__all__ = ["ande", "checked_frequency"]


def ande(
    counts: Counts,
    *,
    n: int,
    min_frequency: float = 1,
    subsumption: float | None = None,
    smoothing: object = 1.0,
    prior: Sequence[float] | None = None,
) -> AnDE:
    """Return the joint counts of all sets of n + 1 features with the class, from which an AnDE predicts; AODE has n = 1.

    Features with a single state are left out, since they carry no information.

    Parameters
    ----------
    counts : the training cases.
    n : the number of feature parents of each model of the average.
    min_frequency : values are parents where they occur together in at least this many cases.
    subsumption : a value is left out of a row where another value of the row implies it, which is assumed where they occur
        together in all cases of the other value, and there are at least `subsumption` of these; None to keep all values.
    smoothing : pseudo-count added to every cell, or another smoothing of `naivete.network.estimation`.
    prior : P(c) for every class; by default the relative frequencies.

    >>> from naivete.cases import Block, MemoryCases
    >>> from naivete.variables import Variable
    >>> a, b = np.array([0, 0, 1, 1], np.uint8), np.array([0, 1, 0, 1], np.uint8)
    >>> cases = MemoryCases(tuple(Variable(name, (0, 1)) for name in "abc"), Block((a, b, a ^ b)), np.array([False, False]))
    >>> ande(Counts(cases), n=1).tables[0, 1, -1].tolist()
    [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]

    References
    ----------
    Webb, Boughton and Wang (2005), Not so naive Bayes: aggregating one-dependence estimators; Webb, Boughton, Zheng, Ting and Salem
    (2012), Learning by extrapolation from marginal to full-multivariate probability distributions; Zheng and Webb (2006), Efficient
    lazy elimination for averaged one-dependence estimators.
    """
    least = checked_frequency(min_frequency, "min_frequency", zero=True)
    implied = None if subsumption is None else checked_frequency(subsumption, "subsumption")
    features = tuple(informative_features(counts))
    _check_budget(counts, features, n)
    tables = {f: table.full().astype(np.float64) for f, table in counts.tables(ande_families(features, n)).items()}
    probabilities = None if prior is None else prior_probabilities(prior, counts.variables[CLASS].states)
    return AnDE(n, counts.variables, features, tables, smoothing_of(smoothing), probabilities, least, implied)


def checked_frequency(value: object, name: str, *, zero: bool = False) -> float:
    """Return a number of cases above 0; with `zero`, of at least 0."""
    if is_number(value) and 0 <= value < inf and (value > 0 or zero):
        return float(value)
    raise ParameterError(f"{name}={quoted(value)}: a number {'of at least' if zero else 'above'} 0{'' if zero else ', or None'}")


def _check_budget(counts: Counts, features: Sequence[int], n: int) -> None:
    """Raise an error if the counts and the tables of logarithms that prediction makes of them exceed the budget.

    The table of a family of f features and the class is needed 1 + max(f, 1) times: as counts and with each feature as child.
    """
    classes = counts.variables[CLASS].card
    cells_by_size = ande_cells(counts.cards(features), classes, n)
    needed = 8 * sum((1 + max(size, 1)) * cells for size, cells in enumerate(cells_by_size))
    if needed <= counts.budget:
        return
    largest = sorted(features, key=lambda x: -counts.variables[x].card)[: n + 1]
    names = ", ".join(f"{quoted(counts.variables[x].name)} ({counts.variables[x].card} states)" for x in largest)
    raise ResourceError(
        f"the joint tables of all sets of {n + 1} of {len(features):,} features need {needed:,} bytes; the largest, over {names}, "
        f"has {prod(counts.cards(largest)) * classes:,} cells; the budget is {counts.budget:,} bytes: "
        f"{'use AODE, ' if n > 1 else ''}leave out features, merge rare states, or raise `budget=`"
    )
